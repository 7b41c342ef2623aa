"""One-way random effects: what is read of each item, two estimates of the variances, the jackknife of their ratio."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.numeric import matrix_product
from calib.core.result import Interval
from calib.core.units import unit_sums, units_of

NONE = Interval(math.nan, math.nan)
CLIPPED = "clipped: the items' means differ less than their draws alone would make them: `between` was set to 0."
_STEPS = 60  # halvings of the search for the ratio of highest likelihood: to the last bit

# --- what is read -----------------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """Sums over the items of each row, by the number of draws that were read."""

    reads: Floats  # (C,): these numbers
    items: Floats  # (rows, C)
    mean: Floats  # (rows, C)
    square: Floats  # (rows, C): of the means
    inside: Floats  # (rows,): squared distances of draws from their item's mean


class Read(NamedTuple):
    """The items with a read draw: which they are, how many draws and which unit each has, a row of sums for each."""

    used: NDArray[np.bool_]
    draws: Codes
    unit: Codes
    rows: Sums


def read_draws(draws: Floats, name: str, groups: Labels | None) -> Read:
    """Items with a read draw; there must be two, and a second draw of one of them."""
    read = np.isfinite(draws)
    count = read.sum(axis=1)
    used = count > 0
    if used.sum() < 2 or count.max() < 2:
        raise ArgumentError(name, "must have values for two items, and two for one of them", "has fewer")
    unit = units_of(groups, used)
    draws, read, count = draws[used], read[used], count[used]
    # from one of its draws, not from its mean: equal draws then have no noise to the last bit
    first = draws[np.arange(len(draws)), read.argmax(axis=1)]
    shifted = np.where(read, draws - first[:, None], 0.0)
    mean = shifted.sum(axis=1) / count
    inside = (np.where(read, shifted - mean[:, None], 0.0) ** 2).sum(axis=1)
    return Read(used, count, unit, sums_of(count, first + mean, inside))


def sums_of(count: Codes, mean: Floats, inside: Floats) -> Sums:
    values, code = np.unique(count, return_inverse=True)
    items = (code[:, None] == np.arange(len(values))).astype(float)
    shifted = (mean - np.sort(mean)[len(mean) // 2])[:, None]
    return Sums(values.astype(float), items, items * shifted, items * shifted**2, inside)


def not_negative(value: ArrayLike, name: str) -> Floats:
    out = check.array(value, name)
    if (out < -1e-9).any():  # a difference of two moments may be a hair below 0
        raise ArgumentError(name, "must not be negative", f"got {np.nanmin(out):g}")
    return np.maximum(out, 0.0)


# --- the fit ----------------------------------------------------------------------------------------------------


class Fit(NamedTuple):
    within: Floats
    between: Floats
    ratio: Floats  # between / within, not clipped
    n0: Floats  # draws per item in the F ratio 1 + n0 ratio; infinite where the ratio itself is known

    @property
    def log_f(self) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(np.isinf(self.n0), np.log(self.ratio), np.log1p(self.n0 * self.ratio)))


def fitted(fit: Callable[[Sums], Fit], rows: Sums, unit: Codes) -> tuple[Fit, Fit]:
    """The fit to all items, and those without each unit in turn."""
    whole = Sums(rows.reads, *(np.asarray(part.sum(axis=0, keepdims=True)) for part in rows[1:]))
    return fit(whole), fit(Sums(rows.reads, *(left_out(part, unit) for part in rows[1:])))


def left_out(part: Floats | Codes, unit: Codes) -> Floats:
    """Sums over all rows but those of each unit in turn."""
    rest = part.sum(axis=0) - unit_sums(part, unit)
    # what is left of a sum by rounding alone is nothing
    return np.where(np.abs(rest) > 1e-12 * np.abs(part).sum(axis=0), rest, 0.0)


@np.errstate(invalid="ignore", divide="ignore")
def moments_fit(s: Sums) -> Fit:
    n, total = s.items.sum(axis=1), matrix_product(s.items, s.reads)
    n0 = (total - matrix_product(s.items, s.reads**2) / total) / (n - 1)
    between = (matrix_product(s.square, s.reads) - matrix_product(s.mean, s.reads) ** 2 / total) / (n - 1)
    within = s.inside / (total - n)
    return Fit(within, np.maximum(between - within, 0) / n0, (between / within - 1) / n0, n0)


@np.errstate(invalid="ignore", divide="ignore")
def distributions_fit(s: Sums) -> Fit:
    n = s.items[:, 0]
    return known_fit(s.inside / n, np.maximum(s.square[:, 0] - s.mean[:, 0] ** 2 / n, 0) / (n - 1))


@np.errstate(invalid="ignore", divide="ignore")
def known_fit(within: Floats, between: Floats) -> Fit:
    """Two variances of which neither is part of the other: their ratio is that of an F with endless draws."""
    return Fit(within, between, between / within, np.full(len(within), np.inf))


@np.errstate(invalid="ignore", divide="ignore")
def reml_fit(s: Sums) -> Fit:
    """Where the profiled likelihood is flat in the ratio, by halving; the ratio may be negative down to -1/max(m)."""
    start, most = moments_fit(s), s.reads.max()
    low, high = np.full(len(start.n0), -30.0), np.full(len(start.n0), 40.0)  # of log(1 + most * ratio)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        rising = _likelihood_slope(s, np.expm1(middle) / most) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    ratio = np.expm1(low) / most
    within = _weighted_squares(s, np.maximum(ratio, 0))[0] / (matrix_product(s.items, s.reads) - 1)
    found = Fit(within, np.maximum(ratio, 0) * within, ratio, start.n0)
    noisy = s.inside > 0  # else the ratio is infinite, and the moments say so
    return Fit(*(np.where(noisy, *both) for both in zip(found, start, strict=True)))


def _weighted_squares(s: Sums, ratio: Floats) -> tuple[Floats, Floats, Floats]:
    """Within and between, the weights of the counts, and the mean."""
    weight = s.reads / (1 + ratio[:, None] * s.reads)
    mean = (s.mean * weight).sum(axis=1) / (s.items * weight).sum(axis=1)
    return s.inside + (s.square * weight).sum(axis=1) - mean * (s.mean * weight).sum(axis=1), weight, mean


def _likelihood_slope(s: Sums, ratio: Floats) -> Floats:
    """Derivative by the ratio of -2 log likelihood, restricted and profiled."""
    squares, weight, mean = _weighted_squares(s, ratio)
    m, mass = mean[:, None], (s.items * weight).sum(axis=1)
    shift = (weight**2 * (s.square - 2 * m * s.mean + m**2 * s.items)).sum(axis=1)
    fall = (s.items * weight**2).sum(axis=1) / mass
    return np.asarray(mass - fall - (matrix_product(s.items, s.reads) - 1) * shift / squares)


# --- the interval -----------------------------------------------------------------------------------------------


def jackknife(whole: Fit, without: Fit, level: float) -> tuple[Interval, float]:
    """Of between / within, not below 0, from its logarithm or that of F; and the degrees of freedom."""
    point, values = float(whole.log_f[0]), without.log_f
    if not math.isfinite(point):
        return NONE, math.nan
    if len(values) < 3 or not np.isfinite(values).all():  # all that is known hangs on one unit
        return Interval(0.0, math.inf), math.nan
    if np.ptp(values) < 1e-12:  # no spread among the units says nothing about others
        return NONE, math.nan
    k, off = len(values), values - values.mean()
    spread = float(np.mean(off**2))
    kurtosis = float(np.mean(off**4)) / spread**2
    df = float(np.clip(2 * k / (kurtosis - (k - 3) / (k - 1)), 1, k - 1))  # those of a variance of such values
    ends, n0 = point + two_sided(df, level) * math.sqrt((k - 1) * spread) * np.array([-1, 1]), whole.n0[0]
    with np.errstate(over="ignore"):
        ratios = np.exp(ends) if math.isinf(n0) else np.expm1(ends) / n0
    return Interval(*np.maximum(ratios, 0.0).tolist()), df


def quotient(top: float, bottom: float) -> float:
    return top / bottom if bottom else math.inf if top > 0 else math.nan


def share(ratio: float) -> float:
    """Of one variance in the sum of two, from their ratio."""
    return 1 - 1 / (1 + ratio)
