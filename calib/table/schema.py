"""What the columns of the three tables are, and how a scale is written in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from calib.core.check import ArgumentError
from calib.core.text import PrintableError, printable

# "given" is a number from elsewhere, of a judge or a person: how a judge was read is not known
METHODS = ("human", "sample", "logprob", "chain", "given")
STATUSES = (
    "ok", "off_scale", "unseen", "ambiguous", "unread", "refused", "truncated", "no_logprobs", "bad_logprobs",
    "constrained", "failed", "cannot_say",
)  # fmt: skip
ORDERS = ("a", "b")  # which output of a pair was shown first
SCORE_KEY = ("item", "criterion", "rater", "prompt", "method", "temperature")
FARTHEST = 1e15  # from 0 on any scale: beyond it numbers have no decimals, and what is computed from them breaks
OFF_ANY_SCALE = f"must lie within {FARTHEST:g} of 0, as every scale does"


class TableError(PrintableError, ValueError):
    """A table breaks a rule of its schema; the message names table, column, row and rule."""


class CellError(TableError):
    """A cell breaks a rule: of which table, in which column and row, and the rule."""

    def __init__(self, table: str, column: str, row: int, rule: str) -> None:
        super().__init__(table, column, row, rule)
        self.table, self.column, self.row, self.rule = table, column, row, rule

    def __str__(self) -> str:
        return printable(f"{self.table}: column `{self.column}`, row {self.row}: {self.rule}.")


class TableArgumentError(TableError, ArgumentError):
    """An argument does not go with a table: its name, the rule, and what came."""


class Column(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    kind : str
        "text", "label" (repeated strings, which become categoricals), "messages" (a conversation, see
        `calib.table.messages`), "number" or "count".
    default : object
        What stands there where the column is absent; None leaves it out.
    required : bool
        Whether the column must be there.
    """

    kind: str
    default: Any = None
    required: bool = False


ITEMS = {
    "item": Column("text", required=True),
    **dict.fromkeys(("source", "output", "output_a", "output_b"), Column("text")),
    **dict.fromkeys(("group", "system", "system_a", "system_b"), Column("label")),
    "reference": Column("text"),
    "messages": Column("messages"),
}
_WHO = dict.fromkeys(("item", "criterion", "rater"), Column("label", required=True)) | {"prompt": Column("label", "")}
_HOW = {"method": Column("label", "human"), "temperature": Column("number", math.nan)}
RATINGS = {
    **_WHO,
    "scale": Column("label", ""),
    **_HOW,
    "run": Column("label", ""),
    "draw": Column("count", 0),
    "score": Column("number", required=True),
    "weight": Column("number", 1.0),
    "status": Column("label", ""),
    **dict.fromkeys(("low", "high"), Column("number", math.nan)),
    "shown_first": Column("label"),
    "reply": Column("text"),
}
SCORES = {
    **_WHO,
    **_HOW,
    "score": Column("number", required=True),
    **dict.fromkeys(("entropy", "sd", "mode"), Column("number", math.nan)),
    "n": Column("count", 1),
    "n_unread": Column("count", 0),
    **dict.fromkeys(("mass", "low", "high"), Column("number", math.nan)),
    **dict.fromkeys(("var_within", "var_between", "score_a_first", "score_b_first"), Column("number")),
    "scale": Column("label", ""),
    **dict.fromkeys(("group", "system", "system_a", "system_b"), Column("label")),
}
SCHEMAS = {"items": ITEMS, "ratings": RATINGS, "scores": SCORES}


@dataclass(frozen=True, slots=True)
class ScaleRange:
    """A scale as the tables write it: its values, or only its ends where it is continuous.

    Attributes
    ----------
    low, high : float
        Its ends.
    values : tuple of float
        Its values from the lowest to the highest; empty where it is continuous.
    """

    low: float
    high: float
    values: tuple[float, ...] = ()

    def holds(self, scores: pd.Series) -> pd.Series:
        """Whether each score lies between the ends (means of several raters lie between values)."""
        return scores.between(self.low, self.high)


def parse_scale(text: str) -> ScaleRange | None:
    """Read ``1|2|3|4|5`` or ``lo..hi``; an empty text is an unknown scale, None.

    Any other text is a `TableError`.

    Examples
    --------
    >>> parse_scale("0..100")
    ScaleRange(low=0.0, high=100.0, values=())
    >>> parse_scale("1|2|3").values
    (1.0, 2.0, 3.0)
    """
    if not text:
        return None
    try:
        if ".." in text:
            low, high = map(float, text.split(".."))
            values: tuple[float, ...] = ()
        else:
            values = tuple(sorted(map(float, text.split("|"))))
            low, high = values[0], values[-1]
    except ValueError:
        raise TableError(f"a scale must read '1|2|3' or 'lo..hi', but got {text!r}.") from None
    if not low < high or not math.isfinite(high - low):
        raise TableError(f"a scale must have two different finite values, but got {text!r}.")
    return ScaleRange(low, high, values)


SCALE_FORMS = "must read '1|2|3', '1..3', 'poor|fair|good' or 'no=0|yes=1'"


def scale_words(text: str) -> list[tuple[str, float]]:
    """Words of a scale and their values: ``no=0|yes=1``, or in their order, worst first, from 0 on: ``poor|fair|good``.

    Numbers stand for themselves. A scale that mixes these, or ``lo..hi``, is a `TableError`.

    Examples
    --------
    >>> scale_words("poor|fair|good"), scale_words("1|2|3")
    ([('poor', 0.0), ('fair', 1.0), ('good', 2.0)], [('1', 1.0), ('2', 2.0), ('3', 3.0)])
    """
    words = [word.strip() for word in text.split("|")]
    if not any(map(_is_real_number, words)) and "=" not in text and len(words) > 1:
        return [(word, float(place)) for place, word in enumerate(words)]
    parts = [word.rpartition("=") for word in words]
    if not all(_is_real_number(value) and bool(label) == ("=" in text) for label, _, value in parts):
        raise TableArgumentError("scale", SCALE_FORMS, f"got {text!r}")
    return [(label.strip() or value, float(value)) for label, _, value in parts]


def _is_real_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
