"""Correlations of means of N draws with other scores, over random subsets of the draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from calib.analysis.agreement import coefficients
from calib.analysis.agreement.coefficients import CHUNK, PAIR_SUMS, sample_correlation, settled
from calib.analysis.agreement.many_samples import leave_out
from calib.core.check import Codes, Floats
from calib.core.laws import two_sided
from calib.core.numeric import row_means
from calib.core.progress import progress
from calib.core.result import NO_INTERVAL, Interval

Coded = tuple[Floats, Codes]  # levels in ascending order, and which of them each score is, -1 for none
_OF_ORDER = frozenset(("spearman", *PAIR_SUMS))  # coefficients of the order alone
_FOR_SPREAD = 16  # subsets in which each item is left out: its influence on their mean is what counts


class MeanCorrelation(NamedTuple):
    """A mean correlation with labels, and its squared standard error over units."""

    value: float
    variance: float
    units: int

    def interval(self, kind: str, level: float) -> Interval:
        """Symmetric, for product moments on Fisher's scale."""
        if not self.variance > 0 or not abs(self.value) < 1:
            return NO_INTERVAL
        reach = two_sided(self.units - 1, level) * math.sqrt(self.variance)
        if kind not in coefficients.PRODUCT_MOMENTS:
            return Interval(max(self.value - reach, -1.0), min(self.value + reach, 1.0))
        centre, half = math.atanh(self.value), reach / (1 - self.value**2)
        return Interval(math.tanh(centre - half), math.tanh(centre + half))


def subset_correlations(
    draws: Floats, sizes: tuple[int, ...], against: tuple[Floats, Floats], kind: str, n_subsets: int, owners: Codes,
    rng: np.random.Generator,
) -> list[tuple[float, MeanCorrelation]]:  # fmt: skip
    """For each N the mean correlation of random N-draw means with the reference, and with labels."""
    correlations: list[list[Floats]] = [[] for _ in sizes]
    first: list[Floats] = []
    others = [_levels_and_places(y) for y in against]
    step = max(min(n_subsets, _FOR_SPREAD), CHUNK // draws.size)
    for start in progress(range(0, n_subsets, step), "subsets"):
        for place, (levels, codes) in enumerate(_drawn_means(draws, sizes, min(step, n_subsets - start), rng)):
            correlations[place].append(np.array([_row_correlations(levels, codes, y, kind) for y in others]))
            if not start:
                first.append(_influences(levels, codes[:_FOR_SPREAD], others[1], kind))
    # over the subsets in which they are defined
    both = [row_means(np.concatenate(parts, axis=1)).tolist() for parts in correlations]
    return [(near, with_variance(toward, each, owners)) for (near, toward), each in zip(both, first, strict=True)]


def _drawn_means(
    draws: Floats, sizes: tuple[int, ...], n_subsets: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Codes]]:
    """Means of the first N of the draws in random order, for each N: their levels and which, -1 for none."""
    read = np.isfinite(draws)
    scale = np.unique(draws[read])
    start, step = float(scale[0]), 1.0
    if len(scale) > 1:  # a step of 0 where the draws are on no scale
        places = (scale - start) / float(np.diff(scale).min())
        even = bool((np.abs(places - np.round(places)) < 1e-9).all()) and places[-1] < 1000
        step = float(np.diff(scale).min()) if even else 0.0
    steps = np.where(read, np.round((np.nan_to_num(draws) - start) / step), -1) if step else draws
    rows = np.broadcast_to(steps.astype(np.int16 if step else float), (n_subsets, *draws.shape))
    shuffled = rng.permuted(rows, axis=2)
    if not step:
        yield from (_levels_and_places(settled(row_means(shuffled[:, :, :size]))) for size in sizes)
        return
    # draw by draw, which is quick where the draws of one place lie side by side, and each is added once
    places, is_whole = np.ascontiguousarray(shuffled.transpose(2, 0, 1)), bool(read.all())
    del shuffled
    total, seen = np.zeros(places.shape[1:], dtype=np.int64), np.zeros(places.shape[1:], dtype=np.int64)
    sums, done = {}, 0
    for size in sorted(set(sizes)):
        for one in places[done:size]:
            total += one if is_whole else np.maximum(one, 0)
            seen += True if is_whole else one >= 0
        done = size
        # as places among all that sums of whole steps can give: equal means are equal, and nothing is sorted
        width = int(total.max()) + 1
        pairs = seen * width + total
        there = np.flatnonzero(np.bincount(pairs.ravel()))
        count, whole = there // width, there % width
        levels, place = np.unique(settled(whole[count > 0] / count[count > 0]), return_inverse=True)
        table = np.full(int(pairs.max()) + 1, -1)
        table[there[count > 0]] = place.reshape(-1)
        sums[size] = start + step * levels, table[pairs]
    yield from map(sums.__getitem__, sizes)


def _levels_and_places(scores: Floats) -> Coded:
    read = np.isfinite(scores)
    levels, place = np.unique(scores[read], return_inverse=True)
    codes = np.full(scores.shape, -1)
    codes[read] = place.reshape(-1)
    return levels, codes


def _row_correlations(levels: Floats, codes: Codes, y: Coded, kind: str) -> Floats:
    """Coefficient of each row of scores with y. Rows differ only in how often they hold each pair of levels."""
    others, label = y
    if not len(others):
        return np.full(len(codes), np.nan)
    if len(levels) * len(others) * len(codes) <= codes.size:  # fewer pairs of levels than items: count their table
        wide = len(others) + 1
        size = (len(levels) + 1) * wide  # with a row and a column for none
        counts = np.empty((len(codes), size), dtype=np.int64)
        for row, code in zip(counts, codes, strict=True):
            row[:] = np.bincount((code + 1) * wide + (label + 1), minlength=size)
        table = counts.reshape(len(codes), -1, wide)[:, 1:, 1:].reshape(len(codes), -1)
        used = np.flatnonzero(table.any(axis=0))
        x, z = levels[used // (wide - 1)], others[used % (wide - 1)]
        return coefficients.weighted_correlation(x, z, table[:, used].astype(float), kind)
    first, second = codes[:, label >= 0], label[label >= 0]
    pairs = np.where(first >= 0, first * len(others) + second, -1)
    if len(levels) * len(others) > CHUNK:
        used, cells = np.unique(pairs, return_inverse=True)
    else:  # the same without a sort
        seen = np.bincount(pairs.ravel() + 1) > 0
        used, cells = np.flatnonzero(seen) - 1, (np.cumsum(seen) - 1)[pairs + 1]
    if len(used) * len(codes) > 4 * max(codes.size, CHUNK // 4):  # hardly two pairs alike
        # where levels alone count, whole numbers stand for them, which need no sorting
        x, z = (np.arange(len(of), dtype=float) if kind in _OF_ORDER else of for of in (levels, others))
        return np.array([sample_correlation(x[row[row >= 0]], z[second[row >= 0]], kind) for row in first])
    cells = cells.reshape(pairs.shape)
    flat = cells + np.arange(len(codes))[:, None] * len(used)
    counts = np.bincount(flat.ravel(), minlength=len(codes) * len(used)).reshape(len(codes), -1)
    real = used >= 0
    x, z = levels[used[real] // len(others)], others[used[real] % len(others)]
    return coefficients.weighted_correlation(x, z, counts[:, real].astype(float), kind)


def _influences(levels: Floats, codes: Codes, labels: Coded, kind: str) -> Floats:
    """What each item adds to the error of the correlation with the labels, in each of some subsets: (subsets, n)."""
    out, (scores, label) = np.zeros(codes.shape), labels
    for row, place in zip(out, codes, strict=True):
        used = np.flatnonzero((place >= 0) & (label >= 0))
        if len(used) < 3:
            return np.full(codes.shape, np.nan)
        x, y = levels[place[used]], scores[label[used]]
        if kind in _OF_ORDER:
            x, y = place[used].astype(float), label[used].astype(float)
        without = leave_out(x, y, np.arange(len(used)), kind)
        row[used] = (1 - 1 / len(used)) * (sample_correlation(x, y, kind) - without)
    return out


def with_variance(value: float, influences: Floats, owners: Codes) -> MeanCorrelation:
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


def correlation_with_labels(target: Floats, y: Floats, kind: str, owners: Codes) -> MeanCorrelation:
    (levels, codes), labels = _levels_and_places(settled(target[None, :])), _levels_and_places(y)
    value = float(_row_correlations(levels, codes, labels, kind)[0])
    return with_variance(value, _influences(levels, codes, labels, kind), owners)
