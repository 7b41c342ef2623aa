"""What can be seen in a text without reading it: how long it is, and how it is laid out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError, Floats
from calib.core.text import printable
from calib.table import TableArgumentError
from calib.table.pairs import factors_of, raters_side_by_side
from calib.table.validate import Checked, slices

_HEDGES = (
    "maybe", "perhaps", "possibly", "probably", "might", "could", "likely", "unlikely", "seems", "seem",
    "appears", "appear", "suggests", "suggest", "i think", "i believe", "it is possible", "in my opinion", "not sure",
    "unclear", "generally", "typically", "tend to", "tends to", "somewhat", "arguably",
)  # fmt: skip
FLAGS: dict[str, re.Pattern[str]] = {
    # a line that starts as an item of a list does: -, *, +, a bullet, 1. or 1)
    "lists": re.compile(r"^[ \t]{0,8}(?:[-*+\u2022\u2023\u25aa]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE),
    # a line of Markdown's or HTML's headings, or one that is bold and nothing else
    "headings": re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+\S|<h[1-6][ >]|\*\*[^*\n]{1,120}\*\*:?[ \t]*$)", re.MULTILINE),
    # a block between fences, a word between backticks, or HTML's <code>
    "code": re.compile(r"^[ \t]{0,3}(?:```|~~~)|`[^`\n]+`|<code[ >]|<pre[ >]", re.MULTILINE),
    # a word by which a writer is not held to what follows; May is a month
    "hedges": re.compile(rf"\b(?:may|(?i:{'|'.join(_HEDGES)}))\b"),
}


def n_words(text: str) -> int:
    """Stretches between blanks.

    Examples
    --------
    >>> n_words("Two words, or five.")
    4
    """
    return len(text.split())


_LENGTHS: dict[str, Callable[[str], int]] = {"words": n_words, "characters": len}


def log_length(texts: pd.Series, unit: str = "words") -> Floats:
    """The logarithm of one more than the words or characters of each text where one is empty; NaN without a text.

    Examples
    --------
    >>> log_length(pd.Series(["a b c", None])).round(3)
    array([1.099,   nan])
    """
    sizes = np.array([_LENGTHS[unit](text) if isinstance(text, str) else np.nan for text in texts], dtype=float)
    empty = (sizes == 0).any()
    return np.asarray(np.log(sizes + empty), dtype=float)


def flag(texts: pd.Series, name: str) -> Floats:
    r"""1 where a text has lists, headings, code or hedges, else 0; NaN without a text.

    Examples
    --------
    >>> flag(pd.Series(["- one\n- two", "none - here"]), "lists"), flag(pd.Series(["Perhaps so."]), "hedges")
    (array([1., 0.]), array([1.]))
    """
    found = [bool(FLAGS[name].search(text)) if isinstance(text, str) else np.nan for text in texts]
    return np.array(found, dtype=float)


# --- what may move a judge --------------------------------------------------------------------------------------------


MOST_LEVELS = 60  # of a column whose values are held against each other


@dataclass(frozen=True, slots=True)
class Judged:
    """Scores of one judge on one criterion, what each person said of the same items, and what is known of these."""

    label: dict[str, Any]
    frame: pd.DataFrame  # by item: score, and whatever columns scores and items have
    people: Floats  # (items, annotators)
    names: list[str]
    n_unmatched: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that may move a judge: a number for each item, NaN where it is not known."""

    feature: str
    level: str  # which value of a column; empty where the column is a number
    unit: str
    x: Floats


class LackingError(ValueError):
    """What a feature is made of is not there."""


def judged_items(scores: Checked, people: Checked, items: pd.DataFrame | None) -> Iterator[Judged]:
    """Each judge beside people one by one, on the same criterion; whoever is a judge there is no person here."""
    found = matched = False
    for criterion, rows in people.frame.groupby("criterion", observed=True, sort=False):
        for who, mine in slices(scores.frame[scores.frame["criterion"] == criterion]):
            theirs = rows[~_is(rows, who)]
            table, names = raters_side_by_side(theirs) if len(theirs) else (pd.DataFrame(), [])
            if not len(table):
                continue
            found = True
            frame = _known_of_items(mine, theirs, items)
            told = table.reindex(frame.index)
            against = names[0] if len(names) == 1 else f"{len(names)} annotators"
            strangers = int((~table.index.isin(frame.index)).sum())
            matched |= strangers < len(table)
            yield Judged(who | {"against": against}, frame, told.to_numpy(dtype=float), names, strangers)
    if not found:
        held = f"have {people.holds} and {scores.holds}"
        raise TableArgumentError(people.argument, "and {0} must share a criterion", held, mentions=(scores.argument,))
    if not matched:
        none = "no item that people labelled was scored by a judge"
        raise TableArgumentError(people.argument, "and {0} must share items", none, mentions=(scores.argument,))


def _is(rows: pd.DataFrame, who: Mapping[str, Any]) -> pd.Series:
    return (rows["rater"].astype(str) == str(who["rater"])) & (rows["prompt"].astype(str) == str(who["prompt"]))


def _known_of_items(mine: pd.DataFrame, theirs: pd.DataFrame, items: pd.DataFrame | None) -> pd.DataFrame:
    """The judge's rows by item, with group and system from people, too, and what the items have besides."""
    frame = mine.astype({"item": object}).set_index("item")
    for name, column in factors_of(pd.concat([mine, theirs]), frame.index).items():
        frame[name] = column
    if items is None:
        return frame
    texts = items.astype({"item": object}).set_index("item")
    new = [name for name in texts if name not in frame or frame[name].isna().all()]
    return frame.drop(columns=[name for name in new if name in frame]).join(texts[new])


# --- features -------------------------------------------------------------------------------------------------------


def claims_of(judged: Judged, feature: str, unit: str, family: Mapping[str, str] | None) -> list[Claim]:
    """The numbers of one feature: one for a number or a flag, one for each value of a column of names."""
    frame = judged.frame
    if feature == "family":
        return [Claim(feature, "", "1 = the judge's own family", _own_family(judged, family))]
    if feature == "score":
        raise LackingError("'score' is the judge's own score, which everything moves with")
    if feature in frame and not frame[feature].isna().all():
        return _of_column(frame[feature], feature)
    if feature == "length":
        x = log_length(_outputs(frame, feature), unit)
        return [Claim(feature, "", f"1 sd of log {unit} ({np.nanstd(x):.2g})", _in_sd(x))]
    if feature in FLAGS:
        return [Claim(feature, "", f"1 = has {feature}", flag(_outputs(frame, feature), feature))]
    there = ", ".join(repr(str(name)) for name in frame if name not in _OF_SCORES) or "none"
    raise LackingError(f"{feature!r} is no column of scores or items (there are {there}), nor one of {_ALL}")


_ALL = f"'length', 'system', 'family', {', '.join(map(repr, FLAGS))}"
_OF_SCORES = frozenset(
    ("criterion", "rater", "prompt", "method", "temperature", "score", "scale", "n", "n_unread", "mass", "low", "high",
     "entropy", "mode", "sd", "std_error", "source", "output", "reference", "references")
)  # fmt: skip


def _outputs(frame: pd.DataFrame, feature: str) -> pd.Series:
    if "output" not in frame or frame["output"].isna().all():
        raise LackingError(f"{feature!r} is of the texts: give the items, with a column `output` (items=, --items)")
    return frame["output"].astype(object)


def _in_sd(x: Floats) -> Floats:
    spread = float(np.nanstd(x))
    return (x - np.nanmean(x)) / spread if spread > 0 else x


def _own_family(judged: Judged, family: Mapping[str, str] | None) -> Floats:
    if family is None:
        raise LackingError(
            "'family' needs to know who made what: family={'gpt-4o': 'openai', ...} of systems and judges"
        )
    judge = str(judged.label["rater"])
    if judge not in family:
        known = ", ".join(map(repr, list(family)[:6]))
        raise ArgumentError("family", f"must say of which family the judge {judge!r} is", f"says it of {known}")
    if "system" not in judged.frame:
        raise LackingError("'family' needs a column `system`")
    systems = judged.frame["system"].astype(object)
    known_systems = systems.map(lambda name: family.get(name, family.get(str(name))), na_action="ignore")
    if missing := sorted(set(systems[known_systems.isna()].dropna().astype(str))):
        raise ArgumentError("family", "must say of which family each system is", f"lacks {', '.join(missing[:6])}")
    own = (known_systems == family[judge]).to_numpy(dtype=float)
    return np.where(systems.isna(), np.nan, own)


def _of_column(column: pd.Series, feature: str) -> list[Claim]:
    if pd.api.types.is_bool_dtype(column):
        column = column.astype(float)
    values = _values(column, feature)
    numbers = pd.to_numeric(column, errors="coerce")
    is_number = feature != "system" and not (numbers.isna() & column.notna()).any()
    if is_number and np.isinf(numbers.to_numpy(dtype=float, na_value=np.nan)).any():
        raise LackingError(f"{feature!r} has numbers without end (inf)")
    if is_number and len(values) == 2:
        low, high = sorted(numbers.dropna().unique())
        x = (numbers.to_numpy(dtype=float) - low) / (high - low)
        return [Claim(feature, "", f"{high:g} against {low:g}", x)]
    if is_number:
        x = numbers.to_numpy(dtype=float)
        return [Claim(feature, "", f"1 sd ({np.nanstd(x):.2g})", _in_sd(x))]
    return _of_names(column, values, feature)


def _values(column: pd.Series, feature: str) -> list[Any]:
    """What is in a column, each once."""
    try:
        return list(dict.fromkeys(column.dropna().astype(object)))
    except TypeError:
        kind = type(column.dropna().iloc[0]).__name__
        raise LackingError(f"{feature!r} must hold numbers or names, and holds a {kind}") from None


def _of_names(column: pd.Series, values: Sequence[Any], feature: str) -> list[Claim]:
    """Each value against all others; of two values one says it all."""
    if len(values) > MOST_LEVELS:
        raise LackingError(f"{feature!r} has {len(values)} values, {MOST_LEVELS} are the most")
    claims = []
    for value in values[:1] if len(values) == 2 else values:
        x = np.where(column.isna(), np.nan, (column.astype(object) == value).to_numpy(dtype=float))
        rest = printable(str(values[1])) if len(values) == 2 else "all others"
        claims.append(Claim(feature, str(value), f"against {rest}", x))
    return claims
