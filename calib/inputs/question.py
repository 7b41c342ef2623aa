"""A question that tables of one's own may answer, and each judge beside the labels: what the answers are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from calib.analysis.pairs.frames_preferences import in_the_order_of, preference_scores
from calib.core.check import ArgumentError
from calib.inputs.names import Columns, Data, Intake, Source
from calib.inputs.resolve import given, is_calibs, opened
from calib.scale.condensed import condensed
from calib.scale.partitions import Partitions, is_partitioned
from calib.table import TableError
from calib.table.gold import gold_pairs
from calib.table.validate import Checked, scores_in

LEAST_GOLD = 10  # of `interval` and `difference`
LEAST_ITEMS = 4  # of which a correlation has an interval


@dataclass(frozen=True, slots=True)
class Can:
    """One question that tables of one's own may answer.

    Attributes
    ----------
    what : str
        The question in words.
    verb : str
        The function of `calib` that answers it.
    possible : bool
    why : str
        What it can be computed from, or what is missing and what to do about it.
    options : mapping
        What the function is called with, beside the files.
    systems : tuple of str
        Those that a difference is of.
    criteria : tuple of str
        Those that it can be computed for; empty where it cannot.
    whole : bool
        Whether that is all of them.
    """

    what: str
    verb: str
    possible: bool
    why: str
    options: Mapping[str, Any] = field(default_factory=dict)
    systems: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    whole: bool = True

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


# --- which of two is better: tables of scores, ratings in both orders and files of one's own, all in one---------------


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """Verdicts on pairs, each a checked table of scores with a row for each pair, criterion and rater.

    Columns: `item` (the pair), `group` (the prompt; the item where none is known), `criterion`, `rater`, `score` (the
    share of A that wins: 1, 0, .5 for a tie, or between), `score_a_first`, `score_b_first` (of each order in which the
    two were shown, NaN where it was not asked), and `system_a`, `system_b` where these are known.
    """

    judges: Checked | None
    people: Checked | None

    def needed(self, side: str, argument: str) -> Checked:
        """The table of a side, "judges" or "people", which must be there."""
        found: Checked | None = getattr(self, side)
        if found is None:
            raise TableError(f"`{argument}`: must hold verdicts of {'a judge' if side == 'judges' else 'people'}.")
        return found


def preferences_in(
    scores: Data,
    people: Data,
    columns: Columns,
    *,
    names: Sequence[str] = ("scores", "gold"),
    needs: Sequence[str] = ("judge",),
) -> Preferences:
    """Verdicts of judges and of people on pairs, in one form, people's in the order of the two that the judge's have.

    Parameters
    ----------
    scores, people : table, path, frame, ...
        Scores of `summarize`, ratings in both orders, a table with `system_a`, `system_b`, `score` and `shown_first`,
        or files of one's own (model_a, model_b, winner), in which a pair may stand twice, once for each order.
    columns : dict
        What was said of the columns of files of one's own.
    names : sequence of str
        The arguments that the two came as.
    needs : sequence of str
        Which sides must be there: "judge", "label".

    Examples
    --------
    >>> mine = {"id": ["q1", "q1"], "model_a": ["x", "y"], "model_b": ["y", "x"], "judge_winner": ["model_a", "tie"]}
    >>> found = preferences_in(mine, None, {})
    >>> found.judges.frame[["item", "system_a", "system_b", "score", "score_a_first", "score_b_first"]]
      item system_a system_b  score  score_a_first  score_b_first
    0   q1        x        y   0.75            1.0            0.5
    """
    files = given(scores, people, columns, names=names, needs=needs, any_scale=True, in_pairs=True)
    judges, labels = (
        None if table is None else preference_scores(table, name)
        for table, name in zip((files.scores, files.people), names, strict=True)
    )
    if judges is not None and labels is not None:
        labels = in_the_order_of(judges, labels)
    return Preferences(judges, labels)


# --- scores in partitions beside labels: what of them a verb works with fits in memory --------------------------------


def in_memory(
    scores: Any,
    labels: Any,
    said: Mapping[str, Any],
    columns: Sequence[str | None] = (),
    groups: str | None = None,
    *,
    names: Sequence[str] = ("scores", "gold"),
) -> tuple[Any, bool]:
    """Scores that come in parts as the rows of labelled items and a few for all others; the rest as it is.

    And whether `groups` repeat, as far as that is to be known. `columns` are those that results are made by; `said` is
    what was said of files of one's own, which do not come in parts.
    """
    if not is_partitioned(scores):
        return scores, True
    rule = "must be a table of calib's (`calib.read_labels`, `calib.scores_from`) where {0} come in partitions"
    for word in said:
        raise ArgumentError(word, "describes a file of your own", f"{names[0]} come in partitions")
    beside = opened(labels, names[1])
    if beside is None or not is_calibs(beside):
        came = "is not given" if beside is None else "is a file of your own"
        raise ArgumentError(names[1], rule, came, mentions=names[:1])
    frame = beside.frame if isinstance(beside, Source | Checked) else beside
    return condensed(Partitions(scores), frame["item"], columns, groups)
