"""Correlations of means of N draws with other scores, over random subsets of the draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from calib.analysis.agreement import coefficients
from calib.analysis.agreement.coefficients import CHUNK, sample_correlation, settled
from calib.analysis.agreement.many_samples import leave_out
from calib.core.check import Codes, Floats
from calib.core.laws import two_sided
from calib.core.numeric import row_means
from calib.core.progress import progress
from calib.core.result import Interval

_FOR_SPREAD = 16  # subsets in which each item is left out: its influence on their mean is what counts


class MeanCorrelation(NamedTuple):
    """A mean correlation with people, and its squared standard error over units."""

    value: float
    variance: float
    units: int

    def interval(self, kind: str, level: float) -> Interval:
        """Symmetric, for product moments on Fisher's scale."""
        if not self.variance > 0 or not abs(self.value) < 1:
            return Interval(math.nan, math.nan)
        reach = two_sided(self.units - 1, level) * math.sqrt(self.variance)
        if kind not in coefficients.PRODUCT_MOMENTS:
            return Interval(max(self.value - reach, -1.0), min(self.value + reach, 1.0))
        centre, half = math.atanh(self.value), reach / (1 - self.value**2)
        return Interval(math.tanh(centre - half), math.tanh(centre + half))


def subset_correlations(
    draws: Floats,
    sizes: tuple[int, ...],
    against: tuple[Floats, Floats],
    kind: str,
    n_subsets: int,
    owners: Codes,
    rng: np.random.Generator,
) -> list[tuple[float, MeanCorrelation]]:
    """For each N the mean correlation of random N-draw means with the reference, and with people."""
    found: list[list[Floats]] = [[] for _ in sizes]
    first: list[Floats] = []
    step = max(min(n_subsets, _FOR_SPREAD), CHUNK // draws.size)
    for start in progress(range(0, n_subsets, step), "subsets"):
        means = _drawn_means(draws, sizes, min(step, n_subsets - start), rng)
        for place, (levels, codes) in enumerate(means):
            found[place].append(np.array([_row_correlations(levels, codes, y, kind) for y in against]))
            if not start:
                first.append(_influences(levels, codes[:_FOR_SPREAD], against[1], kind))
    # over the subsets in which they are defined
    both = [row_means(np.concatenate(parts, axis=1)).tolist() for parts in found]
    return [(near, _with_variance(toward, each, owners)) for (near, toward), each in zip(both, first, strict=True)]


def _drawn_means(
    draws: Floats, sizes: tuple[int, ...], n_subsets: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Codes]]:
    """Means of the first N of the draws in random order, for each N: their levels and which, -1 for none."""
    start, step = _steps_of_scale(draws)
    read = np.isfinite(draws)
    steps = np.where(read, np.round((np.nan_to_num(draws) - start) / step), -1) if step else draws
    rows = np.broadcast_to(steps.astype(np.int16 if step else float), (n_subsets, *draws.shape))
    shuffled = rng.permuted(rows, axis=2)
    for part in (shuffled[:, :, :size] for size in sizes):
        if step:
            total, seen = np.maximum(part, 0).sum(axis=2, dtype=np.int64), (part >= 0).sum(axis=2)
            yield _coded_sums(total, seen, start, step)
        else:
            yield _coded_means(row_means(part))


def _steps_of_scale(draws: Floats) -> tuple[float, float]:
    """Start and step of the scale that all draws are on; a step of 0 where there is none."""
    levels = np.unique(draws[np.isfinite(draws)])
    if len(levels) < 2:
        return float(levels[0]), 1.0
    step = float(np.diff(levels).min())
    places = (levels - levels[0]) / step
    whole = bool((np.abs(places - np.round(places)) < 1e-9).all()) and places[-1] < 1000
    return float(levels[0]), step if whole else 0.0


def _coded_sums(total: Codes, seen: Codes, start: float, step: float) -> tuple[Floats, Codes]:
    """Means as places among all that sums of whole steps can give: equal means are equal, and nothing is sorted."""
    width = int(total.max()) + 1
    pairs = seen * width + total
    there = np.flatnonzero(np.bincount(pairs.ravel()))
    count, whole = there // width, there % width
    levels, place = np.unique(settled(whole[count > 0] / count[count > 0]), return_inverse=True)
    table = np.full(int(pairs.max()) + 1, -1)
    table[there[count > 0]] = place.reshape(-1)
    return start + step * levels, table[pairs]


def _coded_means(means: Floats) -> tuple[Floats, Codes]:
    there = np.isfinite(means)
    levels, place = np.unique(settled(means)[there], return_inverse=True)
    codes = np.full(means.shape, -1)
    codes[there] = place.reshape(-1)
    return levels, codes


def _row_correlations(levels: Floats, codes: Codes, y: Floats, kind: str) -> Floats:
    """Coefficient of each row of scores with y. Rows differ only in how often they hold each pair of levels."""
    known = np.isfinite(y)
    if not known.any():
        return np.full(len(codes), np.nan)
    others, second = np.unique(y[known], return_inverse=True)
    mine, second = codes[:, known], second.reshape(-1)
    pairs = np.where(mine >= 0, mine * len(others) + second, -1)
    if len(levels) * len(others) > CHUNK:
        used, cells = np.unique(pairs, return_inverse=True)
    else:  # the same without a sort
        seen = np.bincount(pairs.ravel() + 1) > 0
        used, cells = np.flatnonzero(seen) - 1, (np.cumsum(seen) - 1)[pairs + 1]
    if len(used) * len(codes) > 4 * max(codes.size, CHUNK // 4):  # hardly two pairs alike
        return np.array([sample_correlation(levels[row[row >= 0]], y[known][row >= 0], kind) for row in mine])
    cells = cells.reshape(pairs.shape)
    flat = cells + np.arange(len(codes))[:, None] * len(used)
    counts = np.bincount(flat.ravel(), minlength=len(codes) * len(used)).reshape(len(codes), -1)
    real = used >= 0
    x, z = levels[used[real] // len(others)], others[used[real] % len(others)]
    return coefficients.weighted_correlation(x, z, counts[:, real].astype(float), kind)


def _influences(levels: Floats, codes: Codes, people: Floats, kind: str) -> Floats:
    """What each item adds to the error of the correlation with people, in each of some subsets: (subsets, n)."""
    out = np.zeros(codes.shape)
    for row, place in zip(out, codes, strict=True):
        used = np.flatnonzero((place >= 0) & np.isfinite(people))
        if len(used) < 3:
            return np.full(codes.shape, np.nan)
        x, y = levels[place[used]], people[used]
        without = leave_out(x, y, np.arange(len(used)), kind)
        row[used] = (1 - 1 / len(used)) * (sample_correlation(x, y, kind) - without)
    return out


def _with_variance(value: float, influences: Floats, owners: Codes) -> MeanCorrelation:
    """Squared error of a mean over subsets: the part of the influences that subsets share, summed within units."""
    influences = influences[np.isfinite(influences).all(axis=1)]
    units = len(np.unique(owners[np.any(influences != 0, axis=0)]))
    if units < 2:
        return MeanCorrelation(value, math.nan, units)
    sums = np.array([np.bincount(owners, row) for row in influences])
    shared = float(np.sum(sums.mean(axis=0) ** 2))
    if len(sums) > 1:  # their mean square less what chance adds to it
        shared -= float(np.sum(sums.var(axis=0, ddof=1))) / len(sums)
    return MeanCorrelation(value, max(shared, 0.0) * units / (units - 1), units)


def correlation_with_people(target: Floats, people: Floats, kind: str, owners: Codes) -> MeanCorrelation:
    levels, codes = _coded_means(target[None, :])
    value = float(_row_correlations(levels, codes, people, kind)[0])
    return _with_variance(value, _influences(levels, codes, people, kind), owners)
