"""Score distributions: expectation, variance, entropy, mode, median, temperature, and what missing mass can do.

All functions take probabilities or weights of shape ``(..., K)`` over K levels and normalise them: only the captured
mass speaks (`expectation_bounds` says what the rest could change). A single distribution has a number (what `[()]`
makes of an array), several have an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.numeric import matrix_product
from calib.core.result import Result, short

_DUST = 1e-12


def expectation(p: ArrayLike, levels: ArrayLike) -> Floats:
    r"""Expected score of each distribution, the G-Eval score, in score points; NaN where no mass was captured.

    .. math:: E = \sum_k s_k p_k \big/ \sum_k p_k

    Parameters
    ----------
    p : array_like, shape (..., K)
        Probabilities or weights of the levels, not negative. They need not sum to 1.
    levels : array_like, shape (K,) or (..., K)
        The values of the levels, in score points.

    References
    ----------
    Liu et al. (2023), G-Eval, equation 1. arXiv:2303.16634.

    Examples
    --------
    >>> float(round(expectation([0.42, 0.40, 0.10], [3, 4, 5]), 3))
    3.652
    """
    weight, values = _token_weights(p, levels)
    mass = weight.sum(axis=-1)
    # divided last: whole counts of whole scores then give equal means to the last bit, so that ties stay ties
    return np.asarray((weight * values).sum(axis=-1) / np.where(mass > 0, mass, np.nan))[()]


def variance(p: ArrayLike, levels: ArrayLike) -> Floats:
    r"""Variance of one draw from each distribution, in squared score points.

    .. math:: V = \sum_k (s_k - E)^2 p_k \big/ \sum_k p_k

    Parameters
    ----------
    p, levels : array_like
        As for `expectation`.

    Examples
    --------
    >>> float(variance([0.5, 0.5], [3, 4]))
    0.25
    """
    share, values = _shares(p, levels)
    centre = (share * values).sum(axis=-1, keepdims=True)
    return np.asarray((share * (values - centre) ** 2).sum(axis=-1))[()]


def entropy(p: ArrayLike, *, normalized: bool = False) -> Floats:
    r"""Shannon entropy of each distribution in nats; NaN where no mass was captured.

    .. math:: H = -\sum_k p_k \log p_k

    Parameters
    ----------
    p : array_like, shape (..., K)
    normalized : bool, default False
        Divide by log K, so that the uniform distribution has 1.

    Examples
    --------
    >>> float(round(entropy([0.5, 0.5, 0.0]), 4)), float(round(entropy([1, 1, 1], normalized=True), 4))
    (0.6931, 1.0)
    """
    share, _ = _shares(p)
    nats = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=-1) + 0.0
    return np.asarray(nats / np.log(max(share.shape[-1], 2)) if normalized else nats)[()]


def mode(p: ArrayLike, levels: ArrayLike) -> Floats:
    """The most probable level; the lowest of them where several tie, NaN where no mass was captured.

    Parameters
    ----------
    p, levels : array_like
        As for `expectation`.

    Examples
    --------
    >>> float(mode([0.1, 0.45, 0.45], [3, 4, 5]))
    4.0
    """
    share, values = _shares(p, levels)
    lowest = np.min(np.where(share == share.max(axis=-1, keepdims=True), values, np.inf), axis=-1)
    return np.asarray(np.where(np.isfinite(lowest), lowest, np.nan))[()]


def median(p: ArrayLike, levels: ArrayLike) -> Floats:
    """Median of each distribution: halfway between two levels where exactly half of the mass is on either side.

    The weights of counted draws give what `numpy.median` gives for the draws themselves; NaN without mass.

    Parameters
    ----------
    p, levels : array_like
        As for `expectation`.

    Examples
    --------
    >>> float(median([0.1, 0.45, 0.45], [3, 4, 5])), float(median([2, 0, 2], [3, 4, 5]))
    (4.0, 4.0)
    """
    share, values = _shares(p, levels)
    order = np.argsort(values, axis=-1, kind="stable")
    share, values = np.take_along_axis(share, order, -1), np.take_along_axis(values, order, -1)
    reached = share.cumsum(axis=-1)
    # sums of shares are off by rounding dust, which must not decide on which side of one half they are
    ends = [np.argmax(reached > 0.5 + dust, axis=-1)[..., None] for dust in (-_DUST, _DUST)]
    low, high = (np.take_along_axis(values, end, -1)[..., 0] for end in ends)
    return np.asarray(np.where(np.isfinite(reached[..., -1]), (low + high) / 2, np.nan))[()]


def temper(p: ArrayLike, tau: float, *, source: float = 1.0, pseudocount: float = 0.0) -> Floats:
    r"""Each distribution at another temperature.

    .. math:: p_\tau(k) = (p_k + a)^{source/\tau} \Big/ \sum_l (p_l + a)^{source/\tau}

    This is what a model samples from at temperature `tau` if `p` is what it samples from at `source`, and the
    score is one token without reasoning before it, which temperature changes too. See `temperature_curve`.

    Of counted draws the pseudocount a (a symmetric Dirichlet prior) stands for levels that happened not to come:
    without it they stay at 0 at every temperature. Towards a higher temperature it moves the expectation to the
    middle of the levels, the more so the more levels there are. So try several.

    Parameters
    ----------
    p : array_like, shape (..., K)
        Probabilities, weights or counts of draws, not negative; normalised first.
    tau : float
        Not negative. 0: the mode, ties shared equally; infinity: all levels with p > 0 alike.
    source : float, default 1
        Temperature of `p`, above 0: draws at 0 show the mode alone.
    pseudocount : float, default 0
        Added to every count.

    Examples
    --------
    >>> temper([0.1, 0.3, 0.6], 0.5).round(4), temper([0.2, 0.4, 0.4], 0)
    (array([0.0217, 0.1957, 0.7826]), array([0. , 0.5, 0.5]))
    """
    for name, value in {"tau": tau, "pseudocount": pseudocount}.items():
        if not value >= 0:
            raise ArgumentError(name, "must not be negative", f"got {value!r}")
    if not 0 < source < np.inf:
        raise ArgumentError("source", "must be above 0 and finite", f"got {source!r}")
    weight, _ = _token_weights(p)
    share, _ = _shares(np.where(weight.sum(axis=-1, keepdims=True) > 0, weight + pseudocount, np.nan))
    with np.errstate(divide="ignore", over="ignore"):
        power = np.log(share) - np.log(share.max(axis=-1, keepdims=True))  # 0 at the mode: nothing can overflow there
        np.divide(power, tau / source, out=power, where=(power < 0) & (share > 0))
    weight = np.exp(power)
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def expectation_bounds(
    p: ArrayLike, levels: ArrayLike, unseen: ArrayLike, *, cap: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    r"""Lowest and highest expectation that the unreported mass allows.

    A top-k list leaves out some labels. Every level with ``p = 0`` may hold up to `cap` of the `unseen` mass (an
    unreported token is at most as probable as the least probable reported one), together at most all of it. The levels
    are filled from the outside inwards for as long as that moves the expectation outwards:

    .. math:: E(m) = \frac{\sum_k s_k p_k + \sum_{v} s_v m_v}{\sum_k p_k + \sum_v m_v}

    Parameters
    ----------
    p, levels : array_like
        As for `expectation`, not normalised: mass is compared with `unseen`.
    unseen : array_like, shape (...)
        Probability outside the reported tokens.
    cap : array_like, shape (...), optional
        The smallest reported probability. Default: no cap but `unseen`.

    Examples
    --------
    >>> low, high = expectation_bounds([0, 0, 0.42, 0.40, 0.10], [1, 2, 3, 4, 5], 0.08)
    >>> float(round(low, 4)), float(round(high, 4))
    (3.44, 3.6522)
    """
    weight, values = _token_weights(p, levels)
    outside = check.array(unseen, "unseen")
    most = outside if cap is None else check.array(cap, "cap")
    for name, value in {"unseen": outside, "cap": most}.items():
        if (value < 0).any():
            raise ArgumentError(name, "must not be negative", f"got {float(value.min())}")
    return _lowest_expectation(weight, values, outside, most), -_lowest_expectation(weight, -values, outside, most)


def _lowest_expectation(weight: Floats, values: Floats, unseen: Floats, cap: Floats) -> Floats:
    """Fill the empty levels from below while that still lowers it."""
    order = np.argsort(values, axis=-1, kind="stable")
    weight, values = np.take_along_axis(weight, order, -1), np.take_along_axis(values, order, -1)
    mass, total = weight.sum(axis=-1), (weight * values).sum(axis=-1)
    left = np.broadcast_to(unseen, mass.shape).copy()
    for k in range(weight.shape[-1]):
        helps = (weight[..., k] == 0) & (values[..., k] * mass < total)
        added = np.where(helps, np.minimum(left, cap), 0.0)
        mass, total, left = mass + added, total + added * values[..., k], left - added
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / np.where(mass > 0, mass, np.nan))[()]


def _token_weights(p: ArrayLike, levels: ArrayLike | None = None) -> tuple[Floats, Floats]:
    weight = check.array(p, "p")
    values = weight if levels is None else check.array(levels, "levels")
    if weight.ndim == 0 or not weight.shape[-1] or (weight < 0).any():
        raise ArgumentError("p", "must hold weights of one level or more that are not negative", f"got {p!r}")
    if values.ndim == 0 or values.shape[-1] != weight.shape[-1]:
        rule = f"must have one value for each of the {weight.shape[-1]} entries of {{0}}"
        raise ArgumentError("levels", rule, f"got shape {values.shape}", mentions=("p",))
    try:
        weight, values = np.broadcast_arrays(weight, values)
    except ValueError:
        rule = f"must fit {{0}} of shape {weight.shape}"
        raise ArgumentError("levels", rule, f"got shape {values.shape}", mentions=("p",)) from None
    return weight, values


def _shares(p: ArrayLike, levels: ArrayLike | None = None) -> tuple[Floats, Floats]:
    weight, values = _token_weights(p, levels)
    mass = weight.sum(axis=-1, keepdims=True)
    return weight / np.where(mass > 0, mass, np.nan), values


def places_of(y: ArrayLike, levels: ArrayLike) -> Codes:
    """The place of each label among the levels in ascending order; -1 where there is no label."""
    labels, values = check.array(y, "y"), np.sort(check.array(levels, "levels", ndim=1))
    if len(values) < 2 or not (np.diff(values) > 0).all():
        raise ArgumentError("levels", "must be two or more distinct numbers", f"got {list(map(float, values))}")
    place = np.searchsorted(values, np.where(np.isnan(labels), values[0], labels)).clip(max=len(values) - 1)
    off = ~np.isnan(labels) & (values[place] != labels)
    if off.any():
        rule = "must hold nothing but {0} and NaN"
        raise ArgumentError("y", rule, f"got {float(labels[off][0])}", mentions=("levels",))
    return np.asarray(np.where(np.isnan(labels), -1, place), dtype=np.intp)


def ranked_probability_score(p: ArrayLike, y: ArrayLike, levels: ArrayLike) -> Floats:
    r"""Distance of each distribution from the label that came; 0 is best, 1 the worst, NaN without label or mass.

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
    return np.asarray(np.where(places >= 0, np.mean((below - reached) ** 2, axis=-1), np.nan))[()]


def expected_entropy(counts: ArrayLike, n: ArrayLike) -> Floats:
    r"""Mean entropy of n of the draws: what a smaller number of draws would have given, exactly.

    .. math:: E[\hat H_n] = -\sum_k \sum_{x=1}^{n} P(X_k = x) \, \frac{x}{n} \log \frac{x}{n}

    with X hypergeometric: n of all draws, without replacement. NaN where fewer were drawn. The sizes are the last axes
    of the result.

    Parameters
    ----------
    counts : array_like, shape (..., K)
        How often each level was drawn.
    n : int or array_like of int
        Sizes, 1 or more.

    Examples
    --------
    >>> expected_entropy([2, 2], [1, 2, 4]).round(4)
    array([0.    , 0.4621, 0.6931])
    """
    drawn, sizes = check.array(counts, "counts"), np.asarray(n)
    if drawn.ndim == 0 or not drawn.shape[-1] or (drawn < 0).any() or (drawn % 1 > 0).any():
        raise ArgumentError("counts", "must hold whole numbers of draws that are not negative", f"got {counts!r}")
    if wrong := [size for size in sizes.ravel().tolist() if not (size >= 1 and size == int(size))]:
        raise ArgumentError("n", "must be whole numbers of 1 or more", f"got {wrong[0]!r}")
    # each count with its total once, and which of these each level has
    total = np.broadcast_to(drawn.sum(axis=-1, keepdims=True), drawn.shape)
    kinds, place = np.unique(np.stack([drawn, total], axis=-1).reshape(-1, 2), axis=0, return_inverse=True)
    means = []
    for size in map(int, sizes.ravel()):
        x = np.arange(1.0, size + 1)
        chance = stats.hypergeom.pmf(x, kinds[:, 1:], kinds[:, :1], size)  # NaN where fewer than `size` were drawn
        gain = -x / size * np.log(x / size)
        means.append(np.asarray(matrix_product(chance, gain))[place.reshape(drawn.shape)].sum(axis=-1))
    return np.asarray(np.stack(means, axis=-1).reshape(drawn.shape[:-1] + sizes.shape))[()]


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
        return {"temper": True, "taus": ",".join(f"{one.tau:.4g}" for one in self.forecasts), "n": self.n}

    def __str__(self) -> str:
        ends = ", ".join(f"{short(one.mean)} at tau {short(one.tau)}" for one in self.forecasts)
        return f"mean expected score of {self.n} items: {ends}"


def temperature_curve(
    p: ArrayLike, levels: ArrayLike, *, taus: Sequence[float] = (0.0, 0.5, 0.7, 1.0, 1.3, 2.0)
) -> Temperature:
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
