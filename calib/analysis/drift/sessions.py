"""Readings that were made in sessions: these are compared whole, as what one shares is noise of the judge, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.laws import upper

_ALIKE, _DUST = 1e-9, 1e-12  # sums that differ by rounding alone are equal
_AT_ONCE = 1 << 21  # numbers that are held at once


class Dealt(NamedTuple):
    """The distance of each item, and how often readings that were dealt out anew lay as far apart."""

    energy: Floats
    as_far: Codes  # of each item
    as_far_in_all: int  # of the sum over items
    shifted_as_far: int  # of the sum over items of now less then, up or down


def not_below(drawn: Floats, seen: Floats) -> NDArray[np.bool_]:
    return np.asarray(drawn >= seen * (1 - _ALIKE) - _DUST)


def session_codes(sessions: Sequence[Any], then: Floats, now: Floats) -> Codes:
    """The number of the session of each reading of then, and of now from there on; -1 where there is no reading."""
    if len(sessions) != 2:
        raise ArgumentError("sessions", "must be a pair, of the readings then and of those now", f"has {len(sessions)}")
    sides = []
    for labels, readings, name in zip(sessions, (then, now), ("then", "now"), strict=True):
        cells, there = np.asarray(labels, dtype=object), np.isfinite(readings)
        if cells.shape not in (readings.shape, readings.shape[1:]):
            rule = "must have a session for each reading, or for each column, of {0}"
            raise ArgumentError("sessions", rule, f"got shape {cells.shape}", mentions=(name,))
        code = np.full(readings.shape, -1)
        code[there] = check.codes(np.broadcast_to(cells, readings.shape)[there].tolist(), "sessions")
        sides.append(code)
    n_then, n_now = (int(code.max(initial=-1)) + 1 for code in sides)
    if n_then < 2 or not n_now:
        rule = "must be two at least then, and one now: of one their noise is not seen"
        raise ArgumentError("sessions", rule, f"got {n_then} then and {n_now} now")
    return np.hstack([sides[0], np.where(sides[1] < 0, -1, sides[1] + n_then)])


def read_in_all(codes: Codes) -> NDArray[np.bool_]:
    """Which items every session read."""
    used = (codes[:, :, None] == np.arange(codes.max() + 1)).any(axis=1).all(axis=1)
    if not used.any():
        raise ArgumentError("sessions", "must share items that each of them read", "there is none")
    return np.asarray(used)


def sessions_dealt(
    values: Floats, codes: Codes, n_then: int, n_deals: int, rng: np.random.Generator
) -> tuple[Dealt, Floats]:
    """Each session, with all its readings of all items, is as likely to be one of then as one of now; and its means."""
    number = int(codes.max()) + 1
    side = np.full((1 + n_deals, number), -1 / (number - n_then))
    chosen = np.argsort(rng.random((n_deals, number)), axis=1)[:, :n_then]
    side[0, :n_then] = 1 / n_then  # as they were
    np.put_along_axis(side[1:], chosen, 1 / n_then, axis=1)
    pairs = (side[:, :, None] * side[:, None, :]).reshape(len(side), -1)
    weight = (codes[:, :, None] == np.arange(number)).astype(float)
    weight /= weight.sum(axis=1, keepdims=True)
    energy, as_far, total = np.empty(len(values)), np.empty(len(values), dtype=np.intp), np.zeros(len(side))
    rows = max(1, _AT_ONCE // max(len(side), values.shape[1] ** 2))
    for start in range(0, len(values), rows):
        x, w = np.nan_to_num(values[start : start + rows]), weight[start : start + rows]
        gaps = np.swapaxes(w, 1, 2) @ np.abs(x[:, :, None] - x[:, None, :]) @ w  # of any two sessions, on average
        drawn = -gaps.reshape(len(x), -1) @ pairs.T
        energy[start : start + rows] = drawn[:, 0]
        as_far[start : start + rows] = not_below(drawn[:, 1:], drawn[:, :1]).sum(axis=1)
        total += drawn.sum(axis=0)
    dealt = Dealt(energy, as_far, int(not_below(total[1:], total[:1]).sum()), 0)
    return dealt, np.einsum("ir,irs->is", np.nan_to_num(values), weight)


def shift_between(means: Floats, n_then: int) -> tuple[float, int, float]:
    """Standard error of the mean shift by the spread of the sessions' means, its df, and the p-value by t."""
    sides, df = (means[:n_then], means[n_then:]), len(means) - 2
    spread = sum(float(((side - side.mean()) ** 2).sum()) for side in sides) / df
    error, shift = math.sqrt(spread * sum(1 / len(side) for side in sides)), float(sides[1].mean() - sides[0].mean())
    p_shift = 2 * float(upper(df, abs(shift) / error)) if error > _DUST else float(abs(shift) <= _DUST)
    return error, df, p_shift


def draw_effect(readings: Floats) -> float:
    r"""P-value of no effect of a draw (a column) that items share; NaN where no item without gaps has any spread.

    .. math:: Q = \sum_k \Big(\sum_i x_{ik} - \bar x_i\Big)^2 \Big/ \sum_i s_i^2 \sim \chi^2_{K - 1}

    over many items, with the variance :math:`s_i^2` of each item's readings.
    """
    whole = readings[np.isfinite(readings).all(axis=1)]
    if whole.shape[1] < 2 or not len(whole) or not (spread := float(whole.var(axis=1, ddof=1).sum())):
        return math.nan
    sums = (whole - whole.mean(axis=1, keepdims=True)).sum(axis=0)
    return float(stats.chi2.sf((sums**2).sum() / spread, whole.shape[1] - 1))
