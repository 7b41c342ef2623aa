"""Readings that were made in sessions: whole sessions are compared, as what one shares is noise of the judge, too."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.laws import upper

_AT_ONCE = 1 << 22  # numbers that are held at once
_ALIKE, _DUST = 1e-9, 1e-12  # sums that differ by rounding alone are equal


class Sessions(NamedTuple):
    """Readings then and now by session: of each item its distances between any two sessions, and its means."""

    gaps: Floats  # (n, S, S): the mean distance of a reading of the one and a reading of the other
    unlike: Floats  # (n, S, S): the share of these pairs that differ
    means: Floats  # (n, S)
    n_then: int  # sessions; those of now follow

    @property
    def side_means(self) -> tuple[Floats, Floats]:
        """Of each item the mean over sessions, each with the same weight."""
        return self.means[:, : self.n_then].mean(axis=1), self.means[:, self.n_then :].mean(axis=1)

    def between(self, gaps: Floats) -> tuple[Floats, Floats]:
        """Of each item the mean over pairs of a session then and one now, and over pairs of two sessions then."""
        k = self.n_then
        own = gaps[:, :k, :k]
        return gaps[:, :k, k:].mean(axis=(1, 2)), (own.sum(axis=(1, 2)) - np.trace(own, axis1=1, axis2=2)) / (k * k - k)


def session_codes(sessions: Sequence[Any], then: Floats, now: Floats) -> tuple[Codes, Codes]:
    """The number of the session of each reading, as the readings are."""
    if len(sessions) != 2:
        raise ArgumentError(
            "sessions", "must be a pair: of the readings then, and of those now", f"has {len(sessions)}"
        )
    codes = []
    for labels, readings, name in zip(sessions, (then, now), ("then", "now"), strict=True):
        cells = np.asarray(labels, dtype=object)
        if cells.shape not in (readings.shape, readings.shape[1:]):
            rule = "must have a session for each reading, or for each column, of {0}"
            raise ArgumentError("sessions", rule, f"got shape {cells.shape}", mentions=(name,))
        each = np.broadcast_to(cells, readings.shape)
        code = np.full(readings.shape, -1)
        code[np.isfinite(readings)] = check.codes(each[np.isfinite(readings)].tolist(), "sessions")
        codes.append(code)
    if codes[0].max(initial=-1) < 1 or codes[1].max(initial=-1) < 0:
        got = f"{codes[0].max(initial=-1) + 1} then and {codes[1].max(initial=-1) + 1} now"
        raise ArgumentError(
            "sessions", "must be two at least then and one now: of one its noise is not seen", f"got {got}"
        )
    return codes[0], codes[1]


def by_session(then: Floats, now: Floats, codes: tuple[Codes, Codes]) -> Sessions:
    """Distances and means of items that every session read; `codes` are -1 where there is no reading."""
    n_then, n_now = (int(code.max()) + 1 for code in codes)
    values = np.nan_to_num(np.concatenate([then, now], axis=1))
    code = np.concatenate([codes[0], np.where(codes[1] < 0, -1, codes[1] + n_then)], axis=1)
    weight = (code[:, :, None] == np.arange(n_then + n_now)).astype(float)
    weight /= weight.sum(axis=1, keepdims=True)
    parts: tuple[list[Floats], list[Floats]] = [], []
    rows = max(1, _AT_ONCE // values.shape[1] ** 2)
    for start in range(0, len(values), rows):
        w, x = weight[start : start + rows], values[start : start + rows]
        apart = np.abs(x[:, :, None] - x[:, None, :])
        for part, gap in zip(parts, (apart, (apart > 0).astype(float)), strict=True):
            part.append(np.swapaxes(w, 1, 2) @ gap @ w)
    return Sessions(*map(np.concatenate, parts), (values[:, :, None] * weight).sum(axis=1), n_then)


def sessions_dealt(sessions: Sessions, n_permutations: int, rng: np.random.Generator) -> tuple[Floats, Codes, int, int]:
    """Energy distances, how often sessions that were dealt out anew lay as far apart (of each item, in all), how many.

    All ways to deal them out where they are no more than `n_permutations`.
    """
    n, number = sessions.means.shape
    k = sessions.n_then
    if math.comb(number, k) - 1 <= n_permutations:
        chosen = np.array([*itertools.combinations(range(number), k)][1:])
    else:
        chosen = np.argsort(rng.random((n_permutations, number)), axis=1)[:, :k]
    side = np.full((len(chosen) + 1, number), -1 / (number - k))
    side[0, :k] = 1 / k  # as they were
    np.put_along_axis(side[1:], chosen, 1 / k, axis=1)
    pairs = (side[:, :, None] * side[:, None, :]).reshape(len(side), -1)
    energy, as_far, total = np.empty(n), np.empty(n, dtype=np.intp), np.zeros(len(side))
    rows = max(1, _AT_ONCE // len(side))
    for start in range(0, n, rows):
        drawn = -(sessions.gaps[start : start + rows].reshape(-1, number**2) @ pairs.T)
        energy[start : start + rows] = drawn[:, 0]
        as_far[start : start + rows] = not_below(drawn[:, 1:], drawn[:, :1]).sum(axis=1)
        total += drawn.sum(axis=0)
    return energy, as_far, int(not_below(total[1:], total[:1]).sum()), len(chosen)


def not_below(drawn: Floats, seen: Floats) -> NDArray[np.bool_]:
    return np.asarray(drawn >= seen * (1 - _ALIKE) - _DUST)


def shift_between(sessions: Sessions) -> tuple[float, float, float]:
    """Standard error of the mean shift by the spread of the sessions' means, its df, and the p-value by t."""
    means, k = sessions.means.mean(axis=0), sessions.n_then
    sides, df = (means[:k], means[k:]), len(means) - 2
    spread = sum(float(((side - side.mean()) ** 2).sum()) for side in sides) / df
    error, shift = math.sqrt(spread * (1 / k + 1 / (len(means) - k))), float(sides[1].mean() - sides[0].mean())
    if error <= _DUST:
        return error, df, float(abs(shift) <= _DUST)
    return error, df, 2 * float(upper(df, abs(shift) / error))


def draw_effect(readings: Floats) -> float:
    r"""P-value of no effect of a draw (a column) that all items share, of readings without gaps.

    .. math:: Q = \frac{\sum_k (\sum_i x_{ik} - \bar x_i)^2}{\sum_i s_i^2} \sim \chi^2_{K - 1}

    over many items, with the variance :math:`s_i^2` of each item's readings; NaN where no reading varies.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(100, 4))
    >>> draw_effect(noise) > 0.05, draw_effect(noise + [0, 1, 0, 1]) < 0.001
    (True, True)
    """
    whole = readings[np.isfinite(readings).all(axis=1)]
    if whole.shape[1] < 2 or not len(whole) or not (spread := float(whole.var(axis=1, ddof=1).sum())):
        return math.nan
    sums = (whole - whole.mean(axis=1, keepdims=True)).sum(axis=0)
    return float(stats.chi2.sf((sums**2).sum() / spread, whole.shape[1] - 1))
