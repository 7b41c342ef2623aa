"""Shares of pairs with intervals that know of groups: Wilson's, for as many pairs as the spread over groups leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.rates import wilson
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.numeric import recoded
from calib.core.result import Interval

TIE = 0.5
_LEAST_GROUPS = 10
_FLOOR = 0.25  # of the variance of independent pairs
_NONE = Interval(np.nan, np.nan)


class PairShare(NamedTuple):
    """A share of pairs, or kappa, with its interval.

    Attributes
    ----------
    estimate, std_error : float
    interval : Interval
        NaN ends where there is none.
    n : int
        Pairs that it is of.
    """

    estimate: float
    std_error: float
    interval: Interval
    n: int


def win_shares(values: ArrayLike, name: str) -> Floats:
    """Outcomes of pairs: 1, 0, .5 for a tie, or between; NaN where there is none."""
    out = check.array(values, name, ndim=1)
    off = (out < 0) | (out > 1)
    if off.any():
        row = int(np.argmax(off))
        rule = "must be the share of A that wins: 1, 0, 0.5 for a tie, or between"
        raise ArgumentError(name, rule, f"got {out[row]:g} at {row}")
    return out


def verdicts_of(shares: Floats) -> Floats:
    """Who wins: 1 where A has more than half, 0 where less, .5 for a tie."""
    return np.asarray((np.sign(np.round(shares - TIE, 9)) + 1) / 2)


def units_of(groups: Labels | None, keep: NDArray[np.bool_], n: int) -> Codes | None:
    """The group of each pair that is kept; None where each pair is on its own."""
    if groups is None:
        return None
    codes = check.codes(groups, "groups")
    if len(codes) != n:
        raise ArgumentError("groups", f"must have one label for each of the {n} pairs", f"got {len(codes)}")
    unit = recoded(codes[keep])
    return None if len(np.unique(unit)) == len(unit) else unit


def sums_by(unit: Codes | None, values: Floats) -> Floats:
    """Sums over the pairs of each group."""
    return values if unit is None else np.asarray(np.bincount(unit, values), dtype=float)


def mean_variance(values: Floats, unit: Codes | None) -> float:
    """Variance of a mean of pairs; over few groups it may be very small by luck, and has a floor."""
    off, n = values - values.mean(), len(values)
    alone = float(np.sum(off**2)) / n**2
    if unit is None:
        return alone
    k = int(unit.max()) + 1
    return max(_FLOOR * alone, k / (k - 1) * float(np.sum(sums_by(unit, off) ** 2)) / n**2) if k > 1 else np.nan


def wilson_ends(values: Floats, unit: Codes | None, confidence_level: float) -> tuple[float, Interval]:
    """A mean of values of [0, 1], and Wilson's interval of as many answers as have its variance.

    With groups, or values that are no plain yes and no, the normal quantile gives way to Student's with one less than
    the units as degrees of freedom.
    """
    p, variance = float(values.mean()), mean_variance(values, unit)
    n_units = len(values) if unit is None else int(unit.max()) + 1
    if np.isnan(variance) or n_units < 2:
        return p, _NONE
    size = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(n_units)
    plain = unit is None and bool(np.isin(values, (0.0, 1.0)).all())
    level = confidence_level if plain else 2 * float(special.ndtr(two_sided(n_units - 1, confidence_level))) - 1
    low, high = wilson(p * size, size, level)
    return p, Interval(float(low), float(high))


def share_of(values: Floats, unit: Codes | None, confidence_level: float) -> PairShare:
    """A share with its interval; NaN of nothing."""
    if not len(values):
        return PairShare(np.nan, np.nan, _NONE, 0)
    unit = None if unit is None else recoded(unit)
    p, interval = wilson_ends(values, unit, confidence_level)
    return PairShare(p, float(np.sqrt(mean_variance(values, unit))), interval, len(values))


def few_groups(unit: Codes | None) -> tuple[str, ...]:
    """A warning, if groups are few."""
    n = 0 if unit is None else int(unit.max()) + 1
    text = "few_groups: an interval over {} groups holds less often than it says; {} or more would be better"
    return (text.format(n, _LEAST_GROUPS),) if 0 < n < _LEAST_GROUPS else ()
