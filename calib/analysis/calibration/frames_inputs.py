"""What the verbs read of tables: the inputs of a map, and scores as forecasts of people's labels."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.table import TableError, parse_scale
from calib.table.labelled import Labelled, groups_of, mean_of_raters
from calib.table.results import words
from calib.table.validate import SliceKey, ValidatedTable

KINDS = ("score", "criteria", "raters")
_FIRST = (
    "calibrate it first, and judge the calibration, which forecasts each label by a map that has not seen it: "
    "calib.forecast_quality(calib.calibrate(scores, gold)), or in a shell `calib calibrate FILE --save judge.json` and "
    "`calib forecast-quality judge.json`"
)


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a map: whose scores, their scale where it is known, the lowest and highest that were seen."""

    who: SliceKey
    scale: str
    low: float
    high: float

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Input:
        """From the scores of one slice."""
        label = label_of(rows)
        texts = sorted({str(text) for text in rows["scale"].dropna().unique()} - {""})
        return cls(
            SliceKey.of(label), texts[0] if texts else "", float(rows["score"].min()), float(rows["score"].max())
        )


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """The inputs of some items, (n, p), and what they are."""

    x: Floats
    inputs: tuple[Input, ...]


def label_of(rows: pd.DataFrame) -> dict[str, Any]:
    """Whose scores on what a slice holds."""
    return {name: rows[name].iloc[0] for name in SliceKey._fields}


def judges_of(table: ValidatedTable, kind: str) -> ValidatedTable:
    """The scores that are calibrated: of each judge, or of the mean of all of them."""
    return mean_of_raters(table) if kind == "raters" else table


def beside(own: pd.DataFrame, table: ValidatedTable, kind: str, wanted: tuple[Input, ...] = ()) -> Beside:
    """A slice of `judges_of` and what else is read for its items; of all there is, or what a map wants to have."""
    label = label_of(own)
    others = [] if kind == "score" else [rows for rows in _others(table, label, kind) if len(rows)]
    if wanted:
        others = [_of_wanted(one, others, label) for one in wanted[1:]]
    elif kind == "criteria":
        others = _one_prompt_each(others, label)
    items = own["item"].astype(object)
    x = [rows.set_index(rows["item"].astype(object))["score"].reindex(items).to_numpy(float) for rows in others]
    x = [own["score"].to_numpy(dtype=float), *x]
    return Beside(np.stack(x, axis=1), tuple(map(Input.of, (own, *others))))


def _others(table: ValidatedTable, label: dict[str, Any], kind: str) -> list[pd.DataFrame]:
    """The slices that can be read beside one, in an order of their own."""
    own, slices = SliceKey.of(label), []
    for other, rows in table.slices():
        who = SliceKey.of(other)
        if kind == "raters" and who.criterion == own.criterion:
            slices.append((str(who), rows))
        same = (who.rater, who.method, who.temperature) == (own.rater, own.method, own.temperature)
        if kind == "criteria" and who.criterion != own.criterion and same:
            slices.append((str(who), rows))
    return [rows for _, rows in sorted(slices, key=lambda pair: pair[0])]


def _one_prompt_each(others: list[pd.DataFrame], label: dict[str, Any]) -> list[pd.DataFrame]:
    """Of each other criterion the scores by the same prompt, or those by the only one."""
    by_criterion: dict[str, list[pd.DataFrame]] = {}
    for rows in others:
        by_criterion.setdefault(str(rows["criterion"].iloc[0]), []).append(rows)
    chosen = []
    for criterion, several in by_criterion.items():
        same = [rows for rows in several if str(rows["prompt"].iloc[0]) == label["prompt"]]
        if len(several) > 1 and len(same) != 1:
            prompts = ", ".join(repr(str(rows["prompt"].iloc[0])) for rows in several)
            raise TableError(
                f"{words(label)}: inputs='criteria' must have one prompt for each other criterion, but {criterion!r} "
                f"has {prompts}: keep one of them, or pool them (pool='prompt')."
            )
        chosen.append(several[0] if len(several) == 1 else same[0])
    return chosen


def _of_wanted(wanted: Input, others: list[pd.DataFrame], label: dict[str, Any]) -> pd.DataFrame:
    """The slice that is, or is nearest to, what a map wants to have."""
    there = [rows for rows in others if str(rows["criterion"].iloc[0]) == wanted.who.criterion]
    if wanted.who.criterion == label["criterion"]:  # of several judges each is itself
        there = [rows for rows in there if str(rows["rater"].iloc[0]) == wanted.who.rater]
    if not there:
        who = f"{wanted.who.criterion!r} by {wanted.who.rater!r}"
        raise TableError(
            f"{words(label)}: the scores must hold all inputs of the calibration, but lack those of {who}."
        )
    return min(there, key=lambda rows: len(unlike(wanted, Input.of(rows))))


def unlike(had: Input, has: Input) -> list[str]:
    """What differs between what a map was fitted to and what it is to be applied to.

    Where nobody said the scale of the scores they must lie on the map's.
    """
    pairs = [(name, getattr(had.who, name), getattr(has.who, name)) for name in ("rater", "prompt", "method")]
    differs = [f"{name} was {was!r} and is {now!r}" for name, was, now in pairs if was != now]
    if had.who.temperature != has.who.temperature:
        was, now = ("not known" if t is None else f"{t:g}" for t in (had.who.temperature, has.who.temperature))
        differs.append(f"temperature was {was} and is {now}")
    if had.scale and has.scale:
        return differs + [f"scale was {had.scale!r} and is {has.scale!r}"] * (had.scale != has.scale)
    width, ends = had.high - had.low, parse_scale(had.scale)
    low, high = (ends.low, ends.high) if ends is not None else (had.low - width, had.high + width)
    if has.low < low or has.high > high:
        differs.append(f"scores were {had.low:g} to {had.high:g} and are {has.low:g} to {has.high:g}")
    return differs


def beyond(had: Input, x: Floats) -> int:
    """How many scores lie off the range that the map has seen, within a hair."""
    hair = 1e-9 * max(1.0, abs(had.low), abs(had.high))
    return int(((x < had.low - hair) | (x > had.high + hair)).sum())


def judges_alone(judges: ValidatedTable, people: ValidatedTable) -> ValidatedTable:
    """Without people, who are no judges of themselves; what was calibrated before is said."""
    theirs = {(label["criterion"], label["rater"]) for label, _ in people.slices()}
    own = [pair not in theirs for pair in zip(judges.frame["criterion"], judges.frame["rater"], strict=True)]
    if "calibration" in judges.frame and judges.frame["calibration"].notna().any():
        check.warn(
            "calibrated_again: these scores are calibrated already; labels that were used then say little now, and the "
            "folds of then are not those of now; give the judge's own scores"
        )
    return judges.only(own)


def prompts_of(prompt: Any, table: ValidatedTable) -> tuple[Any, ...]:
    """The prompts that were sent, each of which some scores must be by."""
    prompts = () if prompt is None else tuple(prompt) if isinstance(prompt, Iterable) else (prompt,)
    ids = set(table.frame["prompt"].astype(str))
    for one in prompts:
        if not hasattr(one, "sha256"):
            raise ArgumentError("prompt", "must be a calib.Prompt or several", f"got {one!r:.60}")
        if one.id not in ids:
            got = f"it is {one.id!r}, and the scores are by {', '.join(map(repr, sorted(ids)))}"
            raise ArgumentError("prompt", "must be what the scores were asked with", got)
    return prompts


def group_of_rows(judged: Labelled, group: str | None) -> Any:
    """The group of each labelled item, at its row; None where nothing is known of groups."""
    rows = judged.labels["row"].unique()
    groups = None if group is None else groups_of(judged.frame.iloc[rows], group)
    if groups is None:
        return None
    whole = np.full(len(judged.frame), None, dtype=object)
    whole[rows] = groups
    return whole


def inputs_beside(read: Beside, own: pd.DataFrame, judged: Labelled) -> Any:
    """The inputs in the order of the items beside their labels."""
    place = pd.Index(own["item"].astype(object)).get_indexer(judged.frame["item"])
    return read.x[place]


# --- scores as forecasts ----------------------------------------------------------------------------------------------


def chance_columns(frame: pd.DataFrame) -> dict[str, float]:
    """The columns that hold the chance of a label, with that label."""
    levels = {}
    for name in map(str, frame):
        with suppress(ValueError):
            levels[name] = float(name.removeprefix("p_")) if name.startswith("p_") else np.nan
    return {name: level for name, level in levels.items() if np.isfinite(level)}


def forecasts_of(judged: Labelled, replies: tuple[pd.DataFrame, Any] | None) -> Floats:
    """For each row of `judged.frame` the chance of each level, (n, K), or a number, (n,).

    Of calibrated scores their chances, of draws and token probabilities (`replies`: weights by item, and their levels)
    the shares, and of other scores, or where every item has all its weight on one level, the score itself.
    """
    names = chance_columns(judged.frame)
    if names and judged.frame[list(names)].notna().any(axis=None):
        chances = judged.frame[list(names)].astype(float).to_numpy()
        return _at_levels(judged, chances, np.array(list(names.values())))
    # a number on another scale than people's is no forecast of what they say
    low, high = judged.levels[[0, -1]]
    scale, x = parse_scale(judged.scale) if judged.scale else None, judged.frame["x"].astype(float)
    off, rule = x[(x < low) | (x > high)], f"scores must be on people's scale, {short(low)} to {short(high)}"
    if scale is not None and (scale.low, scale.high) != (low, high):
        raise TableError(f"{words(judged.label)}: {rule}, but are on {judged.scale!r}; {_FIRST}.")
    if len(off):
        raise TableError(f"{words(judged.label)}: {rule}, but have {short(off.iloc[0])}; {_FIRST}.")
    if replies is not None:
        weights, levels = replies
        shares = weights.reindex(judged.frame["item"]).to_numpy(dtype=float)
        if ((shares > 0).sum(axis=1) > 1).any():
            return _at_levels(judged, shares, levels)
    return np.asarray(x)


def _at_levels(judged: Labelled, shares: Floats, levels: Floats) -> Floats:
    """The shares of people's values, which must be all that have some."""
    used = np.nansum(shares, axis=0) > 0
    off = used & ~np.isin(levels, judged.levels)
    if off.any():
        values = ", ".join(map(short, judged.levels))
        raise TableError(
            f"{words(judged.label)}: scores must give chances to values of people's scale ({values}), but give some to "
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
    rows = judged.labels[judged.labels["row"].isin(part.index)]
    if not len(rows):
        raise TableError(f"{words(label)}: scores and gold must share items, but no gold item was scored by the judge.")
    place = rows["row"].to_numpy()
    owner = None if groups is None else groups_of(part, groups)
    unit = place if owner is None else pd.Series(owner, index=part.index).loc[place].tolist()
    read = rows[judged.frame["x"].notna().to_numpy()[place]]
    n = len(read[["row", "annotator"]].drop_duplicates())
    sample = {"p": forecasts[place], "y": rows["y"], "levels": judged.levels}
    return sample | {"groups": unit, "weights": rows["weight"].to_numpy()}, n
