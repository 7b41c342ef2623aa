"""What a judge's scores say of people's labels: chances of their values, or a number that is sure of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from calib.core.check import Floats
from calib.core.result import short
from calib.table import TableError, parse_scale
from calib.tables.labelled import Labelled
from calib.tables.results import words

CHANCE = "p_"  # what the columns of calibrated scores begin with
_FIRST = "calibrate it first: calib.calibrate(scores, gold).apply(scores)"


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
    return judged.frame["x"].to_numpy(dtype=float)


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
    return np.where(np.isnan(shares).any(axis=1, keepdims=True), np.nan, out)


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
    raise TableError(
        f"{words(judged.label)}: scores must be on people's scale, {short(low)} to {short(high)}, but {given}; {_FIRST}."
    )
