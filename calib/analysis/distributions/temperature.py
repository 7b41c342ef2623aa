"""Temperature: what it does to scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.distributions.distribution import entropy, expectation, places_of, temper
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Result, short

_TAUS = (0.0, 0.5, 0.7, 1.0, 1.3, 2.0)


def ranked_probability_score(p: ArrayLike, y: ArrayLike, levels: ArrayLike) -> Floats:
    r"""Distance of each distribution from the label that came; 0 is best, 1 the worst there is.

    .. math:: RPS = \frac{1}{K-1} \sum_{k=1}^{K-1} (F_k - 1\{Y \le k\})^2

    with F the cumulative probabilities. Mass close to the label costs less than mass far from
    it, and the expected score is least for the distribution that labels really have.

    Parameters
    ----------
    p : array_like, shape (..., K)
        Probabilities or weights, not negative; normalised first.
    y : array_like, shape (...)
        Labels, each one of the levels; NaN where there is none.
    levels : array_like, shape (K,)
        In any order; places count, not distances.

    Returns
    -------
    ndarray, shape (...)
        NaN where there is no label or no mass.

    References
    ----------
    Epstein (1969), A scoring system for probability forecasts of ranked categories, Journal of Applied Meteorology 8.

    Examples
    --------
    >>> ranked_probability_score([[0, 0, 1, 0], [0, 1, 0, 0]], [3, 3], [1, 2, 3, 4]).round(4)
    array([0.    , 0.3333])
    """
    share, places = temper(p, 1.0), places_of(y, levels)
    values = check.array(levels, "levels", ndim=1)
    if share.shape[-1] != len(values):
        rule = f"must have one value for each of {share.shape[-1]} entries"
        raise ArgumentError("levels", rule, f"got {len(values)}")
    below = np.cumsum(share[..., np.argsort(values)], axis=-1)[..., :-1]
    reached = places[..., None] <= np.arange(len(values) - 1)
    score = np.mean((below - reached) ** 2, axis=-1)
    return np.asarray(np.where(places >= 0, score, np.nan))[()]


class Forecast(NamedTuple):
    """A judge's probabilities at one temperature, averaged over items.

    Attributes
    ----------
    tau, mean, entropy : float
        Temperature; expected score, score points; entropy, nats.
    """

    tau: float
    mean: float
    entropy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperature(Result):
    """What temperature does to a judge's scores.

    Attributes
    ----------
    forecasts : tuple of Forecast
        One for each temperature.
    n : int
        Items with mass.
    """

    forecasts: tuple[Forecast, ...]
    n: int

    def _rows(self) -> list[dict[str, Any]]:
        return [{"tau": one.tau, "expectation": one.mean, "entropy": one.entropy} for one in self.forecasts]

    def _terms(self) -> dict[str, Any]:
        return {"temper": True, "taus": ",".join(short(one.tau) for one in self.forecasts), "n": self.n}

    def __str__(self) -> str:
        ends = ", ".join(f"{short(one.mean)} at tau {short(one.tau)}" for one in self.forecasts)
        return f"mean expected score of {self.n} items: {ends}"


def temperature_curve(p: ArrayLike, levels: ArrayLike, *, taus: Sequence[float] = _TAUS) -> Temperature:
    """Mean expected score and mean entropy of the same judge at several temperatures.

    A temperature changes the average that is reported, not only its noise: where probability is skewed, low
    ones move the expectation to the mode and high ones to the middle of the levels. So averages, entropies
    and shares of items without entropy from different temperatures cannot be compared.

    Parameters
    ----------
    p, levels : array_like
        As for `expectation`: probabilities at temperature 1; of draws, see `temper`.
    taus : sequence of float, optional
        As for `temper`.

    Examples
    --------
    >>> print(temperature_curve([[0.1, 0.3, 0.6], [0.0, 0.2, 0.8]], [1, 2, 3], taus=[0, 1, 2]))
    mean expected score of 2 items: 3 at tau 0, 2.65 at tau 1, 2.473 at tau 2
    """
    n = int(np.isfinite(expectation(p, levels)).sum())
    if not n:
        raise ArgumentError("p", "must have mass for some item")
    forecasts = []
    for tau in taus:
        q = temper(p, tau)
        mean, nats = float(np.nanmean(expectation(q, levels))), float(np.nanmean(entropy(q)))
        forecasts.append(Forecast(float(tau), mean, nats))
    return Temperature(forecasts=tuple(forecasts), n=n)
