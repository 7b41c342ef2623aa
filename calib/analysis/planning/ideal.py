"""Scores as they ideally are: normal, cut at the ends of the scale and, where they are whole, rounded to its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.core.check import Floats

_DEVIATES = np.linspace(-4.5, 4.5, 91)
_CHANCES = np.exp(-(_DEVIATES**2) / 2) / np.exp(-(_DEVIATES**2) / 2).sum()
_CLOSENESS = np.append(np.sin(np.linspace(0, 1.52, 24)), 0.9999)  # correlations, dense where they are high
_FITTINGS = 60


class Spread(NamedTuple):
    r"""How deviations are spread, whatever their size.

    `even` is :math:`\frac\pi2 (E|d|)^2 / E d^2` (1 if they are normal, near 0 if all but a few are the same), `scatter`
    how much the logarithm of its estimate scatters, times the root of n; `kurtosis` is 3 if they are normal.
    """

    even: Floats
    scatter: Floats
    kurtosis: Floats

    def at(self, rho: Floats, known: Floats) -> Spread:
        return Spread(*(np.interp(rho, known, part) for part in self))


@dataclass(frozen=True, slots=True)
class Ideal:
    """Labels on a scale, and the errors of a judge whose correlations with them are `rho`.

    `single` are the errors of one whole reply, `averaged` those of a score between the steps.
    """

    bounds: tuple[float, float]
    labels: Spread
    single: tuple[Floats, Spread]
    averaged: tuple[Floats, Spread]

    def errors(self, rho: Floats, *, single: ArrayLike) -> Spread:
        alone, together = (spread.at(np.abs(rho), known) for known, spread in (self.single, self.averaged))
        return Spread(*(np.where(single, one, other) for one, other in zip(alone, together, strict=True)))


def ideal(bounds: tuple[float, float], step: float | None, mean: float, sd: float, *, same_scale: bool) -> Ideal:
    """Of labels with this mean and standard deviation; a judge on another scale is normal."""
    whole = _Scale(*bounds, step or 0.0)
    centre, width = _fitted(whole, mean, sd)
    y = whole.cut(centre + width * _DEVIATES)

    def errors(scale: _Scale | None) -> tuple[Floats, Spread]:
        found = [_errors(y, centre, width, rho, scale) for rho in _CLOSENESS]
        return np.array([rho for rho, _ in found]), Spread(*map(np.array, zip(*(s for _, s in found), strict=True)))

    two_valued = step is not None and step == bounds[1] - bounds[0]
    averaged = errors(_Scale(*bounds, 0.0) if same_scale and not two_valued else None)
    single = errors(whole) if same_scale and step is not None and not two_valued else averaged
    return Ideal(bounds, _spread(y, _CHANCES), single, averaged)


def is_whole(scores: Floats, bounds: tuple[float, float] | None, step: float | None) -> bool:
    """Whether all scores are values of a scale that has steps."""
    if bounds is None or step is None:
        return False
    return bool(np.allclose(_Scale(*bounds, step).cut(scores), scores, rtol=0, atol=1e-9 * step))


class _Scale(NamedTuple):
    low: float
    high: float
    step: float

    def cut(self, values: Floats) -> Floats:
        if self.step:
            values = self.low + np.round((values - self.low) / self.step) * self.step
        return np.clip(values, self.low, self.high)


def _fitted(scale: _Scale, mean: float, sd: float) -> tuple[float, float]:
    """Mean and standard deviation of the normal that has these on the scale, as nearly as one can."""
    centre, width, length = mean, sd, scale.high - scale.low
    for _ in range(_FITTINGS):
        y = scale.cut(centre + width * _DEVIATES)
        got = float(_CHANCES @ y)
        centre = min(max(centre + mean - got, scale.low - 9 * length), scale.high + 9 * length)
        width = min(width * sd / max(float(np.sqrt(_CHANCES @ (y - got) ** 2)), sd / 2), 9 * length)
    return centre, width


def _errors(y: Floats, centre: float, width: float, rho: float, scale: _Scale | None) -> tuple[float, Spread]:
    """Correlation with the labels and the spread of errors where the normal scores behind have this correlation."""
    judge = centre + width * (rho * _DEVIATES[:, None] + np.sqrt(1 - rho**2) * _DEVIATES)
    f, chance = judge if scale is None else scale.cut(judge), _CHANCES[:, None] * _CHANCES
    dy, df = y[:, None] - _CHANCES @ y, f - np.sum(chance * f)
    square, cross = float(np.sum(chance * df**2)), float(np.sum(chance * dy * df))
    error = dy - (cross / square if square else 0.0) * df
    whole = square * float(_CHANCES @ dy[:, 0] ** 2)
    return (cross / np.sqrt(whole) if whole else 0.0), _spread(error, chance)


def _spread(values: Floats, chance: Floats) -> Spread:
    off = np.abs(values - np.sum(chance * values))
    size, square = float(np.sum(chance * off)), float(np.sum(chance * off**2))
    if square <= 1e-12 * max(float(np.max(off)), 1e-300) ** 2:
        return Spread(*(np.array(value) for value in (1.0, 0.0, 3.0)))
    scatter = np.sum(chance * (2 * off / size - off**2 / square) ** 2) - 1
    fourth = np.sum(chance * off**4) / square**2
    return Spread(np.array(np.pi / 2 * size**2 / square), np.sqrt(np.maximum(scatter, 0.0)), np.array(fourth))
