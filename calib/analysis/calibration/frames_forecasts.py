"""What a judge's scores say of people's labels: chances of their values, or a number that is sure of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.analysis.calibration.conformal import one_of_each, sets_of
from calib.analysis.calibration.frames_calibration import CALIBRATED, Calibration
from calib.analysis.calibration.frames_file import scale_text
from calib.analysis.calibration.ordered_logit import sha
from calib.core.check import Floats
from calib.core.result import short
from calib.stats import CalibrationMap, ScoreSets
from calib.table import TableArgumentError, TableError, check_scores, parse_scale
from calib.table.gold import Labelled, groups_of, whole_column, with_warnings
from calib.table.results import words
from calib.table.validate import Who, in_the_names_of

CHANCE = "p_"  # what the columns of calibrated scores begin with
_MEAN_LABELS = (
    "mean_labels: the calibration keeps the mean of each item's labels, which is easier to foretell than what one "
    "person says; give the labels as `gold` to have each of them count"
)
_FIRST = (
    "calibrate it first, and judge the calibration, which forecasts each label by a map that has not seen it: "
    "calib.forecast_quality(calib.calibrate(scores, gold)), or in a shell `calib calibrate FILE --save judge.json` and "
    "`calib forecast-quality judge.json`"
)


def chance_columns(frame: pd.DataFrame) -> dict[str, float]:
    """The columns that hold the chance of a label, with that label."""
    found = {}
    for name in frame:
        text = str(name)
        try:
            found[text] = float(text.removeprefix(CHANCE)) if text.startswith(CHANCE) else np.nan
        except ValueError:
            continue
    return {name: level for name, level in found.items() if np.isfinite(level)}


def forecasts_of(judged: Labelled, told: tuple[pd.DataFrame, Any] | None) -> Floats:
    """For each row of `judged.frame` the chance of each level, (n, K), or a number, (n,).

    Of calibrated scores their chances, of draws and token probabilities (`told`: weights by item, and their levels)
    the shares, and of other scores, or where every item has all its weight on one level, the score itself.
    """
    names = chance_columns(judged.frame)
    if names and judged.frame[list(names)].notna().any(axis=None):
        chances = judged.frame[list(names)].astype(float).to_numpy()
        return _at_levels(judged, chances, np.array(list(names.values())))
    _need_one_scale(judged)
    if told is not None:
        weights, levels = told
        shares = weights.reindex(judged.frame["item"]).to_numpy(dtype=float)
        if ((shares > 0).sum(axis=1) > 1).any():
            return _at_levels(judged, shares, levels)
    return np.asarray(judged.frame["x"], dtype=float)


def _at_levels(judged: Labelled, shares: Floats, levels: Floats) -> Floats:
    """The shares of people's values, which must be all that have some."""
    used = np.nansum(shares, axis=0) > 0
    off = used & ~np.isin(levels, judged.levels)
    if off.any():
        known = ", ".join(map(short, judged.levels))
        raise TableError(
            f"{words(judged.label)}: scores must give chances to values of people's scale ({known}), but give some to "
            f"{short(levels[off][0])}; {_FIRST}."
        )
    out = np.zeros((len(shares), len(judged.levels)))
    out[:, np.searchsorted(judged.levels, levels[used])] = shares[:, used]
    out[np.isnan(shares).any(axis=1)] = np.nan
    return out


def labels_beside(
    judged: Labelled, forecasts: Any, part: pd.DataFrame, groups: str | None, label: dict[str, Any]
) -> tuple[dict[str, Any], int]:
    """Each label of a part, with the forecast of its item, its group and its weight; how many these are.

    A mean between two values is one label, of which either value has a part.
    """
    rows = judged.given[judged.given["row"].isin(part.index)]
    if not len(rows):
        raise TableError(f"{words(label)}: scores and gold must share items, but no gold item was scored by the judge.")
    place = rows["row"].to_numpy()
    owner = None if groups is None else groups_of(part, groups)
    unit = place if owner is None else pd.Series(owner, index=part.index).loc[place].tolist()
    read = rows[judged.frame["x"].notna().to_numpy()[place]]
    n = len(read[["row", "annotator"]].drop_duplicates())
    sample = {"p": forecasts[place], "y": rows["y"], "levels": judged.levels}
    return sample | {"groups": unit, "weights": rows["weight"].to_numpy()}, n


def _need_one_scale(judged: Labelled) -> None:
    """A number on another scale than people's is no forecast of what they say."""
    low, high = judged.levels[[0, -1]]
    scale, x = parse_scale(judged.scale) if judged.scale else None, judged.frame["x"].dropna().astype(float)
    off = x[~x.between(low, high)]
    if scale is not None and (scale.low, scale.high) != (low, high):
        given = f"are on {judged.scale!r}"
    elif len(off):
        given = f"have {short(off.iloc[0])}"
    else:
        return
    rule = f"scores must be on people's scale, {short(low)} to {short(high)}"
    raise TableError(f"{words(judged.label)}: {rule}, but {given}; {_FIRST}.")


# --- a calibration's own ----------------------------------------------------------------------------------------------


def kept_forecasts(
    calibration: Calibration, people: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Cross-fitted forecasts of the items that a calibration was fitted to, their labels, and what to mind of these.

    It keeps hashes of items, which `people` name, and of each item the mean label, which does where there are none.
    """
    parts = [_kept_of(label, found) for label, found in zip(calibration.labels, calibration, strict=True)]
    forecasts = pd.concat([scores for scores, _ in parts], ignore_index=True)
    if people is None:
        labels = pd.concat([labels for _, labels in parts], ignore_index=True)
        several = any(found.n_labels > found.n for found in calibration)
        return check_scores(forecasts), check_scores(labels), (_MEAN_LABELS,) * several
    names = {sha(item): item for item in people["item"].unique()}
    if not forecasts["item"].isin(names).any():
        raise TableError(
            "the labels must be of items that the calibration was fitted to, but none is; of other items judge what it "
            "makes of their scores: calib.forecast_quality(calibration.apply(scores), gold)."
        )
    return check_scores(forecasts.assign(item=forecasts["item"].map(lambda item: names.get(item, item)))), people, ()


def _kept_of(label: dict[str, Any], found: CalibrationMap) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of one map the forecast of each labelled item by the map that has not seen its fold, and the mean label."""
    if len(found.slopes) > 1:
        raise TableError(
            f"{words(label)}: the calibration must read one score, but it reads {len(found.slopes)}, which it does not "
            "keep; judge what it makes of the scores: calib.forecast_quality(calibration.apply(scores), gold)."
        )
    pairs, folds = pd.DataFrame(found.record["pairs"]), found.record["summary"]["map"]["folds"]
    unit = pairs["group"].where(pairs["group"].notna(), pairs["item"])
    fold = unit.map(folds).fillna(-1).astype(int).to_numpy()
    p = found.predict(pairs["f"].to_numpy(dtype=float), fold=fold)
    texts = scale_text(found.levels).split("|")
    who = Who.of(label).label
    shared = {"item": pairs["item"], "group": unit, "system": pairs["system"], "scale": "|".join(texts)}
    known = {name: values for name, values in shared.items() if name == "scale" or values.notna().all()}
    own = pd.DataFrame(known | who | {"rater": f"{who['rater']}{CALIBRATED}", "score": p @ found.levels})
    own = own.assign(fold=fold, **{f"{CHANCE}{text}": column for text, column in zip(texts, p.T, strict=True)})
    theirs = {"criterion": who["criterion"], "rater": "people", "method": "human", "score": pairs["y"].to_numpy()}
    return own, pd.DataFrame(known | theirs)


# --- what sets of labels need of tables -------------------------------------------------------------------------------


Rng = np.random.Generator | int | None


def labelled_sets(
    judged: Labelled, items: pd.Series, by: str | None, groups: str | None, one_per_group: bool, level: float, rng: Rng
) -> tuple[dict[str, Any], ScoreSets]:
    """The sets of one judge's items, in the order of `items`, and what they are of."""
    place = pd.Index(items.astype(object).unique()).get_indexer(judged.frame["item"])
    frame = judged.frame.iloc[np.argsort(place, kind="stable")]
    cell = cells_of(frame, by)
    need_one_chance(frame, cell, judged.label)
    units = None if groups is None else groups_of(frame, groups)
    y = one_label_per_group(frame, units, rng) if one_per_group else frame["y"]
    with in_the_names_of(judged.label, y="gold", x="scores"):
        found = sets_of(frame["x"], y, level=level, levels=judged.levels, groups=units, by=cell, rng=rng)
    about = {"item": frame["item"].to_numpy(), "criterion": judged.label["criterion"], "rater": judged.label["rater"]}
    about |= {name: frame[name].to_numpy() for name in ("group", "system") if name in frame}
    found = replace(found, columns=about | {"label": frame["y"].to_numpy()})
    counts = {"n_unmatched": judged.n_unmatched, "n_unread": found.n_unread}
    return judged.label | counts, with_warnings(found, (*judged.warnings, *_unsaid_scale(judged)))


def _unsaid_scale(judged: Labelled) -> tuple[str, ...]:
    """Labels beyond those that came are in no set, unless a scale says that they can be."""
    texts = [judged.frame[name].dropna() for name in ("scale", "scale_y") if name in judged.frame]
    if any(parse_scale(str(text)) for column in texts for text in column.unique()):
        return ()
    ends = f"{short(judged.levels[0])} to {short(judged.levels[-1])}"
    return (f"unsaid_scale: no scale is known, so that sets end where labels do ({ends}); of few labels they may miss "
            "what lies beyond: give people's scores the column `scale`",)  # fmt: skip


def cells_of(frame: pd.DataFrame, by: str | None) -> Any:
    """What has a quantile of its own; an item without a score is in none, and gets the whole scale."""
    if by == "score":
        return frame["x"].fillna(frame["x"].min()).fillna(0.0).to_numpy()
    return None if by is None else whole_column(frame, by, "by")


def need_one_chance(frame: pd.DataFrame, cell: Any, label: dict[str, Any]) -> None:
    """Labelled items must come in no particular order among the others, within each cell."""
    if "inclusion" not in frame or frame["inclusion"].isna().all() or frame["y"].notna().all():
        return
    chance = frame["inclusion"].astype(float).groupby(np.zeros(len(frame)) if cell is None else cell)
    if ((chance.max() - chance.min()) > 1e-6 * chance.max()).any():
        design = ", ".join(sorted(set(frame["design"].dropna().astype(str)))) if "design" in frame else ""
        raise TableError(
            f"{words(label)}: sets take labels of items that were drawn with one probability, but `choose_items` drew "
            f"these with several (design {design!r}). Draw with choose_items(scores, n) or design='groups'; for labels "
            f"of strata type by='stratum'."
        )


def one_label_per_group(frame: pd.DataFrame, units: Any, rng: Rng) -> pd.Series:
    """The labels, one of each document that has any."""
    if units is None:
        rule = "needs a column of documents (groups=, in a shell --groups)"
        raise TableArgumentError("one_per_group", rule, "there is none")
    return frame["y"].where(one_of_each(units, frame["y"].notna() & frame["x"].notna(), rng))
