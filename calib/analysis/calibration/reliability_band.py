"""What calibrated forecasts look like with as many labels: the null of miscalibration, and the band of its curves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

from calib.analysis.calibration.corp import Ordered, monotone, ordered
from calib.core.check import Codes, Floats
from calib.core.result import Interval

_BINS, _POINTS = 10, 50
_FAR, _ALIKE = 3.0, 0.95  # normal score of a label that had no chance; correlation at most


class ReliabilityCurve(NamedTuple):
    """What came beside what was forecast, after isotonic regression.

    Attributes
    ----------
    above : float
        The curve is of the chance of a label above this level; NaN: of the mean label.
    forecast, observed : ndarray
        Ascending; at 50 places at most.
    share : ndarray
        Of the labels, up to each of these places from the one before.
    low, high : ndarray
        Where `observed` lies, place by place, if labels come with the forecast chances; NaN where nothing was drawn.
    """

    above: float
    forecast: Floats
    observed: Floats
    share: Floats
    low: Floats
    high: Floats


class Null(NamedTuple):
    """Miscalibration and calibration error beside those of calibrated forecasts, and the curves."""

    mcb: Interval
    p_value: float
    ece: float
    ece_null: float
    curves: tuple[ReliabilityCurve, ...]
    n_resamples: int


class Forecasts(NamedTuple):
    """Chances of a label up to each level but the last, weights, levels, and the rows by each thing to learn from."""

    below: Floats
    weight: Floats
    levels: Floats
    by: tuple[Ordered, ...]  # by each chance above a level, then by the mean
    cell: Codes  # the bin of each chance, for the calibration error

    def targets(self, place: Codes) -> Iterator[Floats]:
        """What each curve is learned on: whether a label is above the level, and its value."""
        for k in range(self.below.shape[1]):
            yield (place > k).astype(float)
        yield self.levels[place]

    def fits(self, place: Codes) -> list[Floats]:
        """What came, at each distinct forecast, isotonic."""
        targets = zip(self.by, self.targets(place), strict=True)
        return [monotone(at.mean(came, self.weight), at.weight) for at, came in targets]

    def mcb(self, place: Codes, fits: list[Floats]) -> float:
        """What recalibration takes off the score: its parts are orthogonal."""
        came = place[:, None] <= np.arange(self.below.shape[1])
        score = self.weight @ ((self.below - came) ** 2).sum(axis=1)
        for k, (at, fit) in enumerate(zip(self.by, fits[:-1], strict=False)):
            score -= self.weight @ (place > k) - at.weight @ fit**2
        return float(score / (self.weight.sum() * self.below.shape[1]))

    def ece(self, place: Codes) -> float:
        """Of 10 bins of one width, the last with both its ends; the mean over the levels."""
        k = self.below.shape[1]
        gap = self.weight[:, None] * ((place[:, None] <= np.arange(k)) - self.below)
        return float(np.abs(np.bincount(self.cell, gap.ravel(), minlength=_BINS * k)).sum() / self.weight.sum() / k)


def forecasts_of(below: Floats, weight: Floats, levels: Floats, number: Floats | None) -> Forecasts:
    """Distributions are ordered by each of their chances and their mean, numbers by themselves."""
    k = below.shape[1]
    bins = np.minimum((np.round(1 - below, 12) * _BINS).astype(np.intp), _BINS - 1)
    if number is not None:
        return Forecasts(below, weight, levels, (ordered(number, weight),) * (k + 1), (bins * k + np.arange(k)).ravel())
    mean = levels[-1] - below @ np.diff(levels)
    by = tuple(ordered(x, weight) for x in (*(1 - below).T, mean))
    return Forecasts(below, weight, levels, by, (bins * k + np.arange(k)).ravel())


class Kin(NamedTuple):
    """Labels of one item, and of other items of one group, are alike beyond what their forecasts say: how far."""

    item: Codes
    unit: Codes
    same: float  # correlation of the normal scores of two labels of one item
    near: float  # of two items of one group
    errors: tuple[float, float]  # standard errors of both

    def draw(self, below: Floats, rng: np.random.Generator) -> Codes:
        """Labels with the chances that the forecasts say, as much alike as those that came, as far as that is known."""
        n, likely = len(below), np.array([self.same, self.near])
        if not likely.any():
            return np.asarray((rng.random((n, 1)) > below).sum(axis=1))
        same, near = np.clip(likely + rng.standard_normal(2) * self.errors, 0.0, _ALIKE)
        same = max(same, near)
        shared = [(near, self.unit), (same - near, self.item), (1 - same, np.arange(n))]
        z = sum(np.sqrt(part) * rng.standard_normal(code.max() + 1)[code] for part, code in shared)
        return np.asarray((special.ndtr(z)[:, None] > below).sum(axis=1))


def kin_of(below: Floats, place: Codes, weight: Floats, item: Codes, unit: Codes) -> Kin:
    """From products of the labels' normal scores over pairs, beside those of labels that are wholly alike.

    A label stands for the part of the normal law that its chance makes up, with mean m; to first order the
    product of two such means is the correlation times their variances (Hermite's expansion).
    """
    edge = special.ndtri(np.column_stack([np.zeros(len(below)), below, np.ones(len(below))]).clip(0, 1))
    chance, density = np.diff(special.ndtr(edge), axis=1), np.exp(-(edge**2) / 2) / np.sqrt(2 * np.pi)
    middle = np.where(chance > 0, -np.diff(density, axis=1) / np.where(chance > 0, chance, 1.0), edge[:, :-1])
    own = middle[np.arange(len(place)), place].clip(-_FAR, _FAR)
    told = (own - np.average(own, weights=weight), (chance * middle.clip(-_FAR, _FAR) ** 2).sum(axis=1))
    by_item = [_pairs(weight * one, item) for one in told]
    within = [np.bincount(_first_of(unit, item), part, unit.max() + 1) for part in by_item]
    beside = [_pairs(weight * one, unit) - part for one, part in zip(told, within, strict=True)]
    (same, error), (near, doubt) = _alike(*by_item), _alike(*beside)
    return Kin(item, unit, same, min(near, same) if by_item[1].sum() > 0 else near, (error, doubt))


def _first_of(unit: Codes, item: Codes) -> Codes:
    """The group of each item."""
    return unit[np.unique(item, return_index=True)[1]]


def _alike(top: Floats, bottom: Floats) -> tuple[float, float]:
    """The ratio of both sums over independent parts, from 0 to nearly 1, and its standard error."""
    if not (total := bottom.sum()) > 0:
        return 0.0, 0.0
    found = float(np.clip(top.sum() / total, 0.0, _ALIKE))
    return found, float(np.sqrt(np.sum((top - found * bottom) ** 2)) / total)


def _pairs(values: Floats, code: Codes) -> Floats:
    """For each code the sum of the products of all pairs that have it."""
    return np.asarray(np.bincount(code, values) ** 2 - np.bincount(code, values**2))


def null_of(
    seen: Forecasts, place: Codes, kin: Kin | None, n_resamples: int, level: float, rng: np.random.Generator
) -> Null:
    """Labels drawn with the chances that the forecasts say; of numbers, which say none (no kin), nothing is drawn."""
    fits = seen.fits(place)
    mcb = seen.mcb(place, fits)
    grid = [_grid(at) for at in seen.by]
    n_resamples = 0 if kin is None else n_resamples
    drawn, errors = np.empty(n_resamples), np.empty(n_resamples)
    paths = [np.empty((n_resamples, len(at))) for at in grid]
    for i in range(n_resamples):
        assert kin is not None
        other = kin.draw(seen.below, rng)
        again = seen.fits(other)
        drawn[i], errors[i] = seen.mcb(other, again), seen.ece(other)
        for path, fit, at in zip(paths, again, grid, strict=True):
            path[i] = fit[at]
    tails = (1 - level) / 2, (1 + level) / 2
    above = (*seen.levels[:-1], np.nan)
    curves = tuple(
        ReliabilityCurve(float(name), by.x[at], fit[at], _shares(by, at), *_ends(path, tails))
        for name, by, fit, at, path in zip(above, seen.by, fits, grid, paths, strict=True)
    )
    if not n_resamples:
        return Null(Interval(np.nan, np.nan), np.nan, np.nan, np.nan, curves, 0)
    p_value = float((1 + (drawn >= mcb - 1e-12).sum()) / (1 + n_resamples))
    band = Interval(*map(float, np.quantile(drawn, tails)))
    return Null(band, p_value, seen.ece(place), float(errors.mean()), curves, n_resamples)


def _grid(at: Ordered) -> Codes:
    """Places among the distinct forecasts: all, or of many as many as are drawn, each for as many rows."""
    if len(at.x) <= _POINTS:
        return np.arange(len(at.x))
    share = np.cumsum(at.weight) / at.weight.sum()
    inner = np.searchsorted(share, np.linspace(0, 1, _POINTS)[1:-1]).clip(0, len(at.x) - 1)
    return np.unique(np.concatenate([[0], inner, [len(at.x) - 1]]))


def _shares(at: Ordered, grid: Codes) -> Floats:
    upto = np.cumsum(at.weight) / at.weight.sum()
    return np.diff(upto[grid], prepend=0.0)


def _ends(path: Floats, tails: tuple[float, float]) -> tuple[Floats, Floats]:
    if not len(path):
        nothing = np.full(path.shape[1], np.nan)
        return nothing, nothing
    low, high = np.quantile(path, tails, axis=0)
    return low, high
