"""Judges' scores beside people's labels: raters pooled to their mean, pairs on the same items, labels one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import Floats
from calib.core.progress import progress
from calib.core.result import Result, short
from calib.table import TableArgumentError, TableError, check_scores, parse_scale
from calib.table.frames import without_categories
from calib.table.pairs import FOLDED, Pair, labels_in, pairs_of
from calib.table.results import words
from calib.table.validate import SliceKey, ValidatedTable, by_criterion, items_in, slices

_UNLIKE = 4  # times as high as another: raters that do not say their scale are then not on one
_MEANS = ("score", "mass", "low", "high")
_LIKE_A_COPY, _NEARLY = 20, 0.95  # labels; share of them


def mean_of_raters(scores: ValidatedTable) -> ValidatedTable:
    """One score per item and criterion: the mean of the raters, each with the same weight however often it scored.

    An item that some have not scored has the mean of the others; `n` says of how many.
    """
    if scores.frame.empty:
        raise TableArgumentError(scores.argument, "must have scores of a judge to be pooled", "has none but people's")
    by = scores.frame.groupby("criterion", observed=True, sort=False)
    parts = [_mean_by_item(rows, scores.argument) for _, rows in by]
    return ValidatedTable(check_scores(pd.concat(parts, ignore_index=True)), "scores", scores.argument)


def mean_of_annotators(people: ValidatedTable) -> ValidatedTable:
    """One label per item and criterion: the mean of those who gave one; others than people stay apart.

    Not everybody has to label each item: one that some have not labelled lacks nothing. An interval of such labels is
    about those who labelled, with items dealt out to them by chance, not about people in general.
    """
    parts = [rows for _, rows in people.frame.groupby("criterion", observed=True, sort=False)]
    several = [len([*slices(rows)]) > 1 and set(rows["method"]) == {"human"} for rows in parts]
    if not any(several):
        return people
    pooled = [
        _mean_by_item(rows, people.argument, people=True) if many else without_categories(rows)
        for rows, many in zip(parts, several, strict=True)
    ]
    return ValidatedTable(check_scores(pd.concat(pooled, ignore_index=True)), "scores", people.argument)


def lacking_raters(frame: pd.DataFrame) -> tuple[str, ...]:
    """A warning, if pooled items have been scored by some of their raters only."""
    lacking = int((frame["n_unread"] > 0).sum())
    text = f"raters_missing: {lacking} of {len(frame)} items were not scored by every rater and have the others' mean"
    return (text,) if lacking else ()


def _mean_by_item(rows: pd.DataFrame, argument: str, *, people: bool = False) -> pd.DataFrame:
    plain = without_categories(rows).astype({"item": object, "rater": object})
    criterion, raters = plain["criterion"].iloc[0], plain["rater"].unique()
    scale = _scale_of_all(criterion, plain, argument, people=people)
    # each rater's own mean first, then that of the raters
    each = plain.groupby(["item", "rater"], sort=False)[list(_MEANS)].mean()
    means = each.groupby("item", sort=False).agg("mean")
    read = each["score"].groupby("item", sort=False).count()
    by_item = plain.groupby("item", sort=False)
    beside = by_item[[name for name in plain if name not in {*_MEANS, "item", *SliceKey._fields}]].first()
    called = "annotators" if people else "raters"
    # what all raters have in common, and else nothing; of methods "sample", as `summarize` has it
    values = {name: plain[name].unique() for name in ("prompt", "method")}
    one = {name: str(texts[0]) if len(texts) == 1 else "" for name, texts in values.items()}
    one["method"] = one["method"] or "sample"
    one |= {"criterion": criterion, "rater": raters[0] if len(raters) == 1 else f"mean of {len(raters)} {called}"}
    counts = {"n": read, "n_unread": 0 if people else len(raters) - read, "scale": scale}
    counts |= {"n_cannot_say": by_item["n_cannot_say"].sum()} if "n_cannot_say" in plain else {}
    unknown = dict.fromkeys({"entropy", "sd", "mode", "var_within", "var_between"} & set(rows), math.nan)
    return beside.assign(**means, **unknown, **counts, **one, temperature=math.nan).reset_index()


def _scale_of_all(criterion: str, rows: pd.DataFrame, argument: str, *, people: bool) -> str:
    """The scale that all raters are on; scores of different scales have no mean."""
    texts = rows["scale"].fillna("").astype(str)
    ends = {(scale.low, scale.high): text for text in sorted(texts.unique()) if (scale := parse_scale(text))}
    if len(ends) > 1:
        _refuse_scales(criterion, argument, f"are on {' and '.join(sorted(ends.values()))}")
    # where one does not say its scale, its scores must look as if they were on that of the others
    reached = rows.dropna(subset=["score"]).groupby("rater", sort=False)["score"].agg(["min", "max"])
    for (low, high), text in ends.items():
        beyond = reached[(reached["min"] < low) | (reached["max"] > high)]
        if len(beyond):
            _refuse_scales(criterion, argument, f"are on {text} and at {_spans(beyond)}")
    tops = reached["max"].abs()
    # a person may have labelled a few bad items
    if not people and (texts == "").any() and tops.max() >= _UNLIKE * tops.min():
        _refuse_scales(criterion, argument, f"do not all say theirs and are at {_spans(reached)}")
    return next(iter(ends.values()), "")


def _spans(reached: pd.DataFrame) -> str:
    return ", ".join(f"{low:g} to {high:g} ({rater!r})" for rater, low, high in reached.itertuples())


def _refuse_scales(criterion: str, argument: str, why: str) -> None:
    rule = "must have raters on one scale for each criterion to be pooled"
    raise TableArgumentError(argument, rule, f"those of {criterion!r} {why}")


# --- A judge's scores beside the labels of people on some of the same items -------------------------------------------


AnyResult = TypeVar("AnyResult", bound=Result)
# what the arrays call the columns of these tables
NAMES = dict.fromkeys(("y", "y_a", "y_b"), "labels") | dict.fromkeys(("f", "f_unlabeled", "f_a", "f_b"), "scores")


def label_pairs(scores: ValidatedTable, labels: ValidatedTable, columns: Sequence[str | None] = ()) -> Iterator[Pair]:
    """Each judge beside the people of `labels`, pooled, on the same criterion; `columns` of the scores ride along."""
    labels = mean_of_annotators(labels)
    for criterion, rows in by_criterion(labels.frame):
        raters = [label["rater"] for label, _ in slices(rows)]
        if len(raters) > 1:
            have = f"{criterion!r} has {', '.join(map(repr, raters))}; pool them first"
            people = "(people's have the method 'human', and are pooled)"
            raise TableArgumentError(labels.argument, "must have one rater per criterion", f"{have} {people}")
    yield from pairs_of(scores, labels, columns)


def ends_of(judged: pd.DataFrame, label: dict[str, Any], *, apart: bool = False) -> dict[str, Any]:
    """Bounds and step of the scale, as arguments of statistics on arrays; nothing where no scale is known.

    `apart` lets the judge have a scale of its own, such as 0 to 1: the ends are then those of people's.
    """
    # to look for gaps among the different texts alone is quicker
    sides = [pd.Series(judged[name].unique(), dtype=object) for name in ("scale", "scale_y") if name in judged]
    texts = sorted({str(text) for side in sides for text in side.dropna()})
    scales = [scale for text in texts if (scale := parse_scale(text))]
    if apart and len(sides) > 1 and len({(scale.low, scale.high) for scale in scales}) > 1:
        return ends_of(judged.loc[judged["scale_y"].notna(), ["scale_y"]], label) | {"same_scale": False}
    named = sorted({f"{scale.low:g} to {scale.high:g}" for scale in scales})
    if len(named) > 1:
        raise TableError(f"{words(label)}: scores and labels must be on one scale, but are on {' and '.join(named)}.")
    if not scales:
        return {}
    values = max((scale.values for scale in scales), key=len)  # noqa: PD011 - of a scale, not of a Series
    return {"bounds": (scales[0].low, scales[0].high), "step": min(np.diff(values)) if len(values) > 1 else None}


def parts_of(frame: pd.DataFrame, by: str | None) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each value of a column, with that as label; all of them where no column is named."""
    if by is None:
        yield {}, frame
        return
    parts = with_value(frame, by).groupby(by, sort=False, observed=True)
    for value, rows in progress(parts, by, total=parts.ngroups):
        yield {by: value}, rows


def with_value(frame: pd.DataFrame, by: str | None) -> pd.DataFrame:
    """The rows that have a value in the column of parts; how many have none becomes a warning."""
    if by is None:
        return frame
    whole_column(frame.head(0), by, "by")
    there = frame[by].notna() & (frame[by].astype(str).str.strip() != "")
    if not there.any():
        raise TableArgumentError("by", "must be a column with values", f"{by!r} has none in {len(frame)} rows")
    if n := items_in(frame[~there]):
        check.warn(f"without_value: {n} of {items_in(frame)} items have no {by!r} and are in no part of it.")
    return frame[there]


def whole_column(frame: pd.DataFrame, name: str, argument: str) -> Any:
    """A column of the scores that an argument names, which has no gaps."""
    if name not in frame:
        there = ", ".join(repr(name) for name in ("group", "system") if name in frame) or "neither group nor system"
        hint = "a column of the labels alone has to stand beside the scores, too (in a shell --items)"
        raise TableArgumentError(argument, "must be a column of the scores", f"got {name!r}; there are {there}; {hint}")
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
    """In how many folds of these labels the scores were calibrated, and warnings.

    `groups` are what the items share, if that is known.
    """
    fold, calibration = FOLDED
    if calibration not in part or part[calibration].isna().all():
        return 0, []
    maps = part[calibration].astype(object)
    warnings = []
    if len(maps.unique()) > 1:
        names = ", ".join(repr(str(name)) for name in maps.dropna().unique()[:5])
        rest = f", {items_in(part[maps.isna()])} scores by none" if maps.isna().any() else ""
        warnings.append(f"several_calibrations: the scores are calibrated by {names}{rest}: apply one to all of them")
    if fold not in part:
        text = "the scores were calibrated, and the column `fold` is missing; if these labels were used, the interval"
        return 0, [*warnings, f"tuned_on_labels: {text} is too short: apply the calibration again and keep the column"]
    try:
        folds = part[fold].astype(object).where(part[fold].notna(), np.nan).astype(float)
    except (TypeError, ValueError):
        raise TableError("column `fold`: must be the numbers that `apply` of a calibration wrote, or empty.") from None
    if groups is not None:
        each = folds.groupby(np.asarray(groups))
        split = each.max() > each.min()
        if split.any():
            text = "are in several folds, so that maps have seen labels of them: calibrate with these as `groups`"
            name = str(split.index[split][0])
            warnings.append(f"split_groups: {int(split.sum())} of {len(split)} groups, such as {name!r}, {text}")
    number = int(folds[part["y"].notna()].nunique())
    if number == 1:
        warnings.append(
            "tuned_on_labels: all labels are in one fold, so that the map has seen them if these are all it had"
        )
    return number, warnings


def with_warnings(result: AnyResult, warnings: Sequence[str]) -> AnyResult:
    """The result, with warnings about its data in front of its own."""
    if not warnings or not hasattr(result, "warnings"):
        return result
    return replace(result, warnings=(*warnings, *result.warnings))  # type: ignore[type-var]


# --- A judge's scores beside the label of each person -----------------------------------------------------------------


MOST_VALUES = 25  # values of a scale whose labels are counted one by one


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """The scores of one judge on one criterion, and what people said of some of the items.

    `frame` has one row per scored item: `item`, `x` (the score; NaN where it could not be read), `y` (one label of
    people, a value of `levels`: their median, the one nearer to their mean where it lies between two; NaN without a
    label), `group` and `system` where these are known, and columns that ride along. `labels` has one row per label:
    `row` (the place in `frame`), `annotator`, `y` (a value of `levels`), `weight` (those of an item sum to 1; a mean
    between two values counts for both, so that it stays the mean).
    """

    label: dict[str, Any]
    frame: pd.DataFrame
    labels: pd.DataFrame
    levels: Floats
    scale: str  # of the judge; empty where it is not known
    n_unmatched: int
    warnings: tuple[str, ...] = ()


def labelled_pairs(
    scores: ValidatedTable, people: ValidatedTable, columns: Sequence[str | None] = ()
) -> Iterator[Labelled]:
    """Each judge beside what people said on the same criterion; `columns` of the scores ride along."""
    if bare := sorted(set(scores.frame["criterion"].astype(str)) - set(people.frame["criterion"].astype(str))):
        check.warn(f"unlabelled: no label is of {', '.join(map(repr, bare))}; the scores on it are left out")
    for pair in label_pairs(scores, people, columns):
        rows = people.frame[people.frame["criterion"] == pair.label["criterion"]]
        rows = rows[rows["score"].notna()].astype({"item": object, "rater": object})
        labels = rows["score"].to_numpy(dtype=float)
        if not len(labels):
            raise TableArgumentError(people.argument, "must have labels", f"all of {words(pair.label)} are missing")
        levels = scale_levels(labels, rows.get("scale", []), pair.frame.get("scale", []))
        if not 1 < len(levels) <= MOST_VALUES:
            rule = f"must be labels on a scale of 2 to {MOST_VALUES} values (say which: scale=, in a shell --scale)"
            have = f"has {len(levels)} of {words(pair.label)}, {short(levels[0])} to {short(levels[-1])}"
            raise TableArgumentError(people.argument, rule, have)
        judged = pair.scored.reset_index(drop=True)
        each = _label_weights(rows, judged, levels)
        judged = judged.assign(y=_one_label(each, judged["y"], levels))
        scale = next((str(text) for text in judged.get("scale", ()) if isinstance(text, str) and text), "")
        n_raters = rows["rater"].nunique()
        label = pair.label | ({"against": f"{n_raters} annotators"} if n_raters > 1 else {})
        yield Labelled(label, judged, each, levels, scale, pair.n_labels_unmatched, pair.warnings)


def parts_of_labelled(judged: Labelled, by: str | None) -> Iterator[tuple[Any, Labelled]]:
    """The items of each value of a column, with that in the label, and their places; all where no column is named."""
    for label, part in parts_of(judged.frame, by):
        row = part.index.get_indexer(judged.labels["row"])
        labels, frame = judged.labels.assign(row=row)[row >= 0], part.reset_index(drop=True)
        yield part.index, replace(judged, label=judged.label | label, frame=frame, labels=labels)


def scale_levels(labels: Floats, own: Any, judges: Any) -> Floats:
    """The values of the labels' own scale, of the judge's if it holds all labels, else all between the labels."""
    whole = bool((labels == labels.round()).all())
    for texts in (own, judges):
        scales = [scale for text in dict.fromkeys(map(str, pd.Series(texts).dropna())) if (scale := parse_scale(text))]
        values = np.unique([value for scale in scales for value in scale.values])  # noqa: PD011 - of a scale, not of a Series
        if len(values) > 1 and values[0] <= labels.min() and labels.max() <= values[-1]:
            return np.asarray(values)
        if texts is own and scales and whole and scales[0].high - scales[0].low < MOST_VALUES:
            return np.arange(scales[0].low, scales[0].high + 1)
    between = np.arange(labels.min(), labels.max() + 1) if whole and np.ptp(labels) < MOST_VALUES else labels
    return np.unique(between)


def _label_weights(rows: pd.DataFrame, judged: pd.DataFrame, levels: Floats) -> pd.DataFrame:
    """Each label of a scored item, by whom, at the values of the scale."""
    place = pd.Series(judged.index, index=judged["item"]).reindex(rows["item"]).to_numpy(dtype=float)
    rows, place = rows[~np.isnan(place)], place[~np.isnan(place)].astype(int)
    y = rows["score"].to_numpy(dtype=float)
    above = np.searchsorted(levels, y).clip(0, len(levels) - 1)
    below = np.where(levels[above] == y, above, (above - 1).clip(0))
    share = np.where(above > below, (y - levels[below]) / np.maximum(levels[above] - levels[below], 1e-300), 1.0)
    weight = 1 / np.bincount(place, minlength=len(judged))[place]
    frame = pd.DataFrame(
        {
            "row": np.tile(place, 2),
            "annotator": np.tile(rows["rater"].to_numpy(), 2),
            "y": levels[np.concatenate([above, below])],
            "weight": np.concatenate([share, 1 - share]) * np.tile(weight, 2),
        }
    )
    return frame[frame["weight"] > 0].sort_values("row", kind="stable", ignore_index=True)


def _one_label(labels: pd.DataFrame, mean: pd.Series, levels: Floats) -> Floats:
    """The median of each item's labels as a value of the scale: of two middle values the one nearer to the mean."""
    label = np.full(len(mean), np.nan)
    ordered = labels.sort_values(["row", "y"], kind="stable")
    reached = ordered.groupby("row")["weight"].cumsum()
    low = ordered[reached >= 0.5 - 1e-9].groupby("row")["y"].first()
    high = ordered[reached > 0.5 + 1e-9].groupby("row")["y"].first().reindex(low.index).fillna(low)
    centre = mean.to_numpy(dtype=float)[low.index]
    between = [levels[(levels >= a) & (levels <= b)] for a, b in zip(low, high, strict=True)]
    label[low.index] = [at[np.argmin(np.abs(at - m))] for at, m in zip(between, centre, strict=True)]
    return label


def copies(rows: pd.DataFrame) -> tuple[str, str]:
    """Why labels that are the judge's scores throughout decide nothing, and a warning where nearly all are.

    Scores between the values of whole labels are rounded, as somebody does who fills in a form. Of yes and no a judge
    may well be right throughout: a warning.
    """
    n_values = rows["y"].nunique()
    if len(rows) < _LIKE_A_COPY or n_values < 2:
        return "", ""
    scores = rows["x"].astype(float)
    same = int(((scores.round() if (rows["y"] % 1 == 0).all() else scores) == rows["y"]).sum())
    if same == len(rows) and n_values > 2:
        return f"all {same} labels are the judge's scores: are they of people who did not see these?", ""
    if same < (_NEARLY if n_values > 2 else 1.0) * len(rows):
        return "", ""
    return "", f"labels_like_scores: {same} of {len(rows)} labels are the judge's scores: did people see these?"
