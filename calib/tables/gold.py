"""A judge's scores beside the labels of people on some of the same items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calib.core.progress import progress
from calib.core.result import Result
from calib.table import TableArgumentError, TableError, parse_scale
from calib.tables.door import Checked, by_criterion, items_in, slices
from calib.tables.pairs import FOLDED, Pair, labels_in, pairs_of
from calib.tables.pooled import mean_of_people
from calib.tables.results import words

Kept = TypeVar("Kept", bound=Result)
# what the arrays call the columns of these tables
NAMES = dict.fromkeys(("y", "y_a", "y_b"), "gold") | dict.fromkeys(("f", "f_unlabeled", "f_a", "f_b"), "scores")

# columns that a judge's scores and people's have side by side
_TAKEN = frozenset(("x", "y", "_merge", "item", "score", "scale_y", "group_y", "system_y"))


def gold_pairs(scores: Checked, gold: Checked, columns: Sequence[str | None] = ()) -> Iterator[Pair]:
    """Each judge beside the people of `gold`, pooled, on the same criterion; `columns` of the scores ride along."""
    gold = mean_of_people(gold)
    for criterion, rows in by_criterion(gold.frame):
        raters = [label["rater"] for label, _ in slices(rows)]
        if len(raters) > 1:
            known = ", ".join(map(repr, raters))
            people = " (people's have the method 'human', and are pooled)"
            rule, given = "must have one rater per criterion", f"{criterion!r} has {known}; pool them first{people}"
            raise TableArgumentError(gold.argument, rule, given)
    asked = [name for name in columns if name is not None]
    for name in _TAKEN.intersection(asked):
        raise TableError(f"a column called {name!r} cannot be used here, as calib has one of that name: rename it.")
    yield from pairs_of(scores, gold, asked)


def ends_of(judged: pd.DataFrame, label: dict[str, Any], *, apart: bool = False) -> dict[str, Any]:
    """Bounds of the scale and the distance of its values, as the arrays want them; nothing where none is known.

    `apart` lets the judge have a scale of its own, such as 0 to 1: the ends are then those of people's.
    """
    sides = [_texts_in(judged[name]) for name in ("scale", "scale_y") if name in judged]
    if apart and len(sides) > 1 and len({_ends_in(text) for text in set().union(*sides)} - {None}) > 1:
        theirs = judged.loc[judged["scale_y"].notna(), ["scale_y"]]
        return ends_of(theirs, label) | {"same_scale": False}
    known = [scale for text in sorted(set().union(*sides)) if (scale := parse_scale(text))]
    named = sorted({f"{scale.low:g} to {scale.high:g}" for scale in known})
    if len(named) > 1:
        raise TableError(f"{words(label)}: scores and gold must be on one scale, but are on {' and '.join(named)}.")
    if not known:
        return {}
    values = max((scale.values for scale in known), key=len)  # noqa: PD011 - of a scale, not of a Series
    return {"bounds": (known[0].low, known[0].high), "step": min(np.diff(values)) if len(values) > 1 else None}


def _texts_in(column: pd.Series) -> set[str]:
    """The different texts; to look for gaps among these alone is a fraction of the work."""
    return {str(text) for text in pd.Series(column.unique(), dtype=object).dropna()}


def _ends_in(text: str) -> tuple[float, float] | None:
    scale = parse_scale(text)
    return None if scale is None else (scale.low, scale.high)


def parts_of(frame: pd.DataFrame, by: str | None) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each value of a column, with that as label; all of them where no column is named."""
    if by is None:
        yield {}, frame
        return
    whole_column(frame, by, "by")
    parts = frame.groupby(by, sort=False, observed=True)
    for value, rows in progress(parts, by, total=parts.ngroups):
        yield {by: value}, rows


def whole_column(frame: pd.DataFrame, name: str, argument: str) -> Any:
    """A column of the scores that an argument names, which has no gaps."""
    if name not in frame:
        there = ", ".join(repr(name) for name in ("group", "system") if name in frame) or "neither group nor system"
        raise TableArgumentError(argument, "must be a column of the scores", f"got {name!r}; there are {there}")
    if frame[name].isna().any():
        gaps = int(frame[name].isna().sum())
        raise TableArgumentError(argument, "must be a column without gaps", f"{name!r} has {gaps}")
    return frame[name].to_numpy()


def groups_of(part: pd.DataFrame, groups: str) -> Any:
    """What the items share; None where nothing is known of that."""
    if groups != "group":
        return whole_column(part, groups, "groups")
    if "group" in part and part["group"].isna().any() and not part["group"].isna().all():
        raise TableError(
            "some scores have a `group` and some have none: give the items to `summarize` (--items) on both sides."
        )
    return labels_in(part, "group")


def folds_of(part: pd.DataFrame, groups: Any = None) -> tuple[int, list[str]]:
    """In how many folds of these labels the scores were calibrated, and what does not fit.

    `groups` are what the items share, if that is known.
    """
    fold, calibration = FOLDED
    if calibration not in part or part[calibration].isna().all():
        return 0, []
    made = part[calibration].astype(object)
    said = []
    if len(made.unique()) > 1:
        names = ", ".join(repr(str(name)) for name in made.dropna().unique()[:5])
        rest = f", {items_in(part[made.isna()])} scores by none" if made.isna().any() else ""
        said.append(f"several_calibrations: the scores are calibrated by {names}{rest}: apply one to all of them")
    if fold not in part:
        text = "the scores were calibrated, and the column `fold` is missing; if these labels were used, the interval"
        return 0, [*said, f"tuned_on_gold: {text} is too short: apply the calibration again and keep the column"]
    held = _numbers(part[fold])
    if groups is not None:
        each = held.groupby(np.asarray(groups))
        split = each.max() > each.min()
        if split.any():
            text = "are in several folds, so that maps have seen labels of them: calibrate with these as `groups`"
            name = str(split.index[split][0])
            said.append(f"split_groups: {int(split.sum())} of {len(split)} groups, such as {name!r}, {text}")
    number = int(held[part["y"].notna()].nunique())
    if number == 1:
        said.append("tuned_on_gold: all labels are in one fold, so that the map has seen them if these are all it had")
    return number, said


def _numbers(fold: pd.Series) -> pd.Series:
    try:
        return fold.astype(object).where(fold.notna(), np.nan).astype(float)
    except (TypeError, ValueError):
        raise TableError("column `fold`: must be the numbers that `apply` of a calibration wrote, or empty.") from None


def with_warnings(result: Kept, said: Sequence[str]) -> Kept:
    """The result, with what was found before it was computed in front of its own warnings."""
    if not said or not hasattr(result, "warnings"):
        return result
    return replace(result, warnings=(*said, *result.warnings))  # type: ignore[type-var]
