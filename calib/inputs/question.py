"""A question that tables of one's own may answer, and each judge beside the labels: what the answers are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from calib.inputs.names import Intake
from calib.table import TableError
from calib.table.gold import gold_pairs
from calib.table.validate import scores_in

LEAST_GOLD = 10  # of `interval` and `difference`
LEAST_ITEMS = 4  # of which a correlation has an interval


@dataclass(frozen=True, slots=True)
class Can:
    """One question that tables of one's own may answer."""

    what: str  # in words
    verb: str  # the function of `calib` that answers it
    possible: bool
    why: str  # what it can be computed from, or what is missing and what to do about it
    options: Mapping[str, Any] = field(default_factory=dict)  # what the function is called with, beside the files
    systems: tuple[str, ...] = ()  # those that a difference is of
    criteria: tuple[str, ...] = ()  # those that it can be computed for; empty where it cannot
    whole: bool = True  # whether that is all of them

    def __str__(self) -> str:
        return f"{self.what}: {'yes' if self.possible else 'no'}, {self.why}"


class Beside(NamedTuple):
    """One judge beside the labels of one criterion: a row for each item that it scored."""

    criterion: str
    rater: str
    frame: pd.DataFrame

    @property
    def labelled(self) -> pd.DataFrame:
        return self.frame[self.frame["x"].notna() & self.frame["y"].notna()]

    @property
    def scaled(self) -> bool:
        """Whether the scale is known."""
        return "scale" in self.frame and bool(self.frame["scale"].fillna("").ne("").any())

    def labels_of(self, column: str) -> pd.Series:
        """How many labels there are of each value of a column."""
        return (
            self.labelled.groupby(self.frame[column].astype(str), sort=False)["y"]
            .size()
            .reindex(self.values(column), fill_value=0)
        )

    def values(self, column: str) -> list[str]:
        return [str(value) for value in self.frame[column].dropna().unique()]

    def has(self, column: str) -> bool:
        """Whether a column is there without gaps, as levels need it."""
        return column in self.frame and bool(self.frame[column].notna().all())


Rule = Callable[[Beside], str]  # why not, or nothing
Say = Callable[[Sequence[Beside]], str]


def beside(taken: Intake) -> tuple[Beside, ...]:
    """Each judge beside the labels; none where there are no two sides, or they share nothing."""
    if taken.scores is None or taken.gold is None:
        return ()
    try:
        found = tuple(_sides(taken))
    except TableError:  # `Intake.notes` say why
        return ()
    return found if any(len(pair.labelled) for pair in found) else ()


def _sides(taken: Intake) -> Iterator[Beside]:
    assert taken.scores is not None
    place = {item: at for at, item in enumerate(taken.scores["item"].astype(object).unique())}
    for pair in gold_pairs(scores_in(taken.scores, "scores"), scores_in(taken.gold, "gold")):
        mine = pair.frame[pair.frame["_merge"] != "right_only"]
        in_order = mine.iloc[mine["item"].map(place).argsort(kind="stable")]  # as in the file, not by name
        yield Beside(str(pair.label["criterion"]), str(pair.label["rater"]), in_order)


def asked(
    what: str, verb: str, pairs: Sequence[Beside], rule: Rule, say: Say, *, some: bool = False, **more: Any
) -> Can:
    """The answer for the criteria whose judges all allow it; where one will do, some of them."""
    trouble: dict[str, list[str]] = {}
    for pair in pairs:
        trouble.setdefault(pair.criterion, []).append(rule(pair))
    whole = {pair.criterion for pair in pairs} - {pair.criterion for pair in pairs if not len(pair.labelled)}
    good = tuple(
        name for name, found in trouble.items() if not any(found) or (some and name in whole and not all(found))
    )
    bad = {name: next(filter(None, found)) for name, found in trouble.items() if name not in good}
    if not good:  # where there are no pairs `_missing` says why
        return Can(what, verb, False, next(iter(bad.values()), ""), **more)
    said = say([pair for pair in pairs if pair.criterion in good and not rule(pair)])
    not_all = "".join(f"; not for {criterion}: {text}" for criterion, text in bad.items())
    return Can(what, verb, True, said + not_all, criteria=good, whole=not bad, **more)


def few_labelled(pair: Beside, least: int) -> str:
    n = len(pair.labelled)
    return f"{number(n, 'item')} with a label, {least} are the least" if n < least else ""


def constant(of: str, values: pd.Series) -> str:
    return f"every {of} is {values.iloc[0]:g}" if is_one(values) else ""


def is_one(values: pd.Series) -> bool:
    """Whether all values are one and the same."""
    return len(values) > 0 and bool((values == values.iloc[0]).all())


def no_spread(pair: Beside) -> str:
    rows, few = pair.labelled, few_labelled(pair, LEAST_ITEMS)
    return few or constant("label", rows["y"]) or constant(f"score of {pair.rater}", rows["x"])


def labelled(pairs: Sequence[Beside]) -> str:
    return f"{span([len(pair.labelled) for pair in pairs])} items with a label"


def span(counts: Sequence[int]) -> str:
    low, high = min(counts, default=0), max(counts, default=0)
    return f"{low}" if low == high else f"{low} to {high}"


def number(n: int, of: str) -> str:
    return f"{n or 'no'} {of}{'s' * (n != 1)}"
