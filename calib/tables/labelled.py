"""A judge's scores beside the label of each person, as values of people's scale: what a calibration learns from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import Floats
from calib.core.result import short
from calib.table import TableArgumentError, parse_scale
from calib.tables.door import Checked
from calib.tables.gold import gold_pairs
from calib.tables.pairs import Pair
from calib.tables.results import words

MOST_VALUES = 25  # values of a scale whose labels are counted one by one


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """The scores of one judge on one criterion, and what people said of some of the items.

    `frame` has one row per scored item: `item`, `x` (the score; NaN where it could not be read), `y` (one label of
    people, a value of `levels`: their median, the one nearer to their mean where it lies between two; NaN without a
    label), `group` and `system` where these are known, and columns that ride along. `given` has one row per label:
    `row` (the place in `frame`), `annotator`, `y` (a value of `levels`), `weight` (those of an item sum to 1; a mean
    between two values counts for both, so that it stays the mean).
    """

    label: dict[str, Any]
    frame: pd.DataFrame
    given: pd.DataFrame
    levels: Floats
    scale: str  # of the judge; empty where it is not known
    n_unmatched: int
    warnings: tuple[str, ...] = ()


def labelled_pairs(scores: Checked, people: Checked, columns: Sequence[str | None] = ()) -> Iterator[Labelled]:
    """Each judge beside what people said on the same criterion; `columns` of the scores ride along."""
    if bare := sorted(set(scores.frame["criterion"].astype(str)) - set(people.frame["criterion"].astype(str))):
        check.warn(f"unlabelled: no label is of {', '.join(map(repr, bare))}; the scores on it are left out")
    for pair in gold_pairs(scores, people, columns):
        rows = people.frame[people.frame["criterion"] == pair.label["criterion"]]
        rows = rows[rows["score"].notna()].astype({"item": object, "rater": object})
        levels = _levels(rows, pair, people.argument)
        judged = pair.frame[pair.frame["_merge"] != "right_only"].reset_index(drop=True)
        given = _given(rows, judged, levels)
        judged = judged.assign(y=_one_label(given, judged["y"], levels))
        strangers = int((pair.frame["_merge"] == "right_only").sum())
        scale = next((str(text) for text in judged.get("scale", ()) if isinstance(text, str) and text), "")
        label = (
            pair.label | {"against": f"{several} annotators"}
            if (several := rows["rater"].nunique()) > 1
            else pair.label
        )
        yield Labelled(label, judged, given, levels, scale, strangers, pair.warnings)


def _levels(rows: pd.DataFrame, pair: Pair, argument: str) -> Floats:
    """Values that people could give, of which there must be some and not very many."""
    labels = rows["score"].to_numpy(dtype=float)
    if not len(labels):
        raise TableArgumentError(argument, "must have labels", f"all of {words(pair.label)} are missing")
    values = values_of(labels, rows.get("scale", []), pair.frame.get("scale", []))
    if not 1 < len(values) <= MOST_VALUES:
        rule = f"must be labels on a scale of 2 to {MOST_VALUES} values (say which: scale=, in a shell --scale)"
        given = f"has {len(values)} of {words(pair.label)}" + (f", {short(values[0])} to {short(values[-1])}")
        raise TableArgumentError(argument, rule, given)
    return values


def values_of(labels: Floats, own: Any, judges: Any) -> Floats:
    """Of the scale that is written beside labels, of the judge's where it has their labels, else those between."""
    for texts in (own, judges):
        known = [scale for text in dict.fromkeys(map(str, pd.Series(texts).dropna())) if (scale := parse_scale(text))]
        values = np.unique([value for scale in known for value in scale.values])  # noqa: PD011 - of a scale, not of a Series
        if len(values) > 1 and values[0] <= labels.min() and labels.max() <= values[-1]:
            return np.asarray(values)
        if texts is own and known and (labels == labels.round()).all() and known[0].high - known[0].low < MOST_VALUES:
            return np.arange(known[0].low, known[0].high + 1)
    whole = bool((labels == labels.round()).all())
    between = np.arange(labels.min(), labels.max() + 1) if whole and np.ptp(labels) < MOST_VALUES else labels
    return np.unique(between)


def _given(rows: pd.DataFrame, judged: pd.DataFrame, levels: Floats) -> pd.DataFrame:
    """Each label of a scored item, by whom, at the values of the scale."""
    place = pd.Series(judged.index, index=judged["item"]).reindex(rows["item"]).to_numpy(dtype=float)
    rows, place = rows[~np.isnan(place)], place[~np.isnan(place)].astype(int)
    y = rows["score"].to_numpy(dtype=float)
    above = np.searchsorted(levels, y).clip(0, len(levels) - 1)
    below = np.where(levels[above] == y, above, (above - 1).clip(0))
    share = np.where(above > below, (y - levels[below]) / np.maximum(levels[above] - levels[below], 1e-300), 1.0)
    weight = 1 / np.bincount(place, minlength=len(judged))[place]
    both = {"row": np.tile(place, 2), "annotator": np.tile(rows["rater"].to_numpy(), 2)}
    both |= {
        "y": levels[np.concatenate([above, below])],
        "weight": np.concatenate([share, 1 - share]) * np.tile(weight, 2),
    }
    frame = pd.DataFrame(both)
    return frame[frame["weight"] > 0].sort_values("row", kind="stable", ignore_index=True)


def _one_label(given: pd.DataFrame, mean: pd.Series, levels: Floats) -> Floats:
    """The median of each item's labels as a value of the scale: of two middle values the one nearer to the mean."""
    label = np.full(len(mean), np.nan)
    ordered = given.sort_values(["row", "y"], kind="stable")
    reached = ordered.groupby("row")["weight"].cumsum()
    low = ordered[reached >= 0.5 - 1e-9].groupby("row")["y"].first()
    high = ordered[reached > 0.5 + 1e-9].groupby("row")["y"].first().reindex(low.index).fillna(low)
    centre = mean.to_numpy(dtype=float)[low.index]
    between = [levels[(levels >= a) & (levels <= b)] for a, b in zip(low, high, strict=True)]
    label[low.index] = [at[np.argmin(np.abs(at - m))] for at, m in zip(between, centre, strict=True)]
    return label
