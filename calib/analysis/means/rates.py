"""Rates from counts, over any leading shape: of labels alone, and with a judge that says yes or no. No checks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core.check import Floats


def jeffreys(k: ArrayLike, n: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    """Equal-tailed interval of Beta(k + 1/2, n - k + 1/2); 0 at k = 0, 1 at k = n, all of [0, 1] at n = 0."""
    return _beta_interval(k, n, confidence, 0.5, 0.5)


def clopper_pearson(k: ArrayLike, n: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    """All rates that a binomial test of size 1 - confidence does not reject in either tail."""
    return _beta_interval(k, n, confidence, 0.0, 1.0)


def _beta_interval(k: ArrayLike, n: ArrayLike, confidence: ArrayLike, down: float, up: float) -> tuple[Floats, Floats]:
    hits, size, tail = np.asarray(k, float), np.asarray(n, float), (1 - np.asarray(confidence, float)) / 2
    misses = size - hits
    # where an end is fixed the quantile is of Beta(1, 1), so that nothing is asked of Beta(0, .)
    low = special.betaincinv(np.where(hits > 0, hits + down, 1), np.where(hits > 0, misses + up, 1), tail)
    high = special.betaincinv(np.where(misses > 0, hits + up, 1), np.where(misses > 0, misses + down, 1), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def wilson(k: ArrayLike, n: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    """All rates within z standard errors, taken at that rate, of k / n; all of [0, 1] at n = 0."""
    hits, size = np.asarray(k, float), np.asarray(n, float)
    square = np.minimum(special.ndtri((1 + np.asarray(confidence, float)) / 2) ** 2, 1e100)  # of 1 all of [0, 1]
    centre = (hits + square / 2) / (size + square)
    half = np.sqrt(square * (hits * (size - hits) / np.maximum(size, 1) + square / 4)) / (size + square)
    # rounding must not leave [0, 1], nor the observed rate
    return np.where(hits > 0, centre - half, 0.0), np.where(hits < size, centre + half, 1.0)


def post_stratified(
    k1: ArrayLike,
    n1: ArrayLike,
    k0: ArrayLike,
    n0: ArrayLike,
    N1: ArrayLike,  # noqa: N803 - the formula's
    N0: ArrayLike,  # noqa: N803
    confidence: ArrayLike,
    *,
    conservative: bool = False,
    finite: bool = False,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    r"""Rate of human yes, with the items stratified by what the judge says of them.

    .. math:: \hat\theta = q \pi_1 + (1 - q) \pi_0, \qquad
              L = \hat\theta - \sqrt{(q (\pi_1 - l_1))^2 + ((1-q)(\pi_0 - l_0))^2 + ((\pi_1 - \pi_0)(q - q_l))^2}

    and U is its mirror image. q is the share of all items of which the judge says yes, with Wilson's interval;
    \pi_1 and \pi_0 are the shares of human yes where the judge says yes and no, from the gold items, with
    Jeffreys' intervals (`conservative`: Clopper and Pearson's). A stratum without gold has [0, 1] and the rate of
    the other one. The width never is 0 by luck: that the judge made no mistake in n items does not say that it
    makes none, and the intervals of \pi know.

    Parameters
    ----------
    k1, n1, k0, n0 : array_like
        Gold items with a human yes, and all gold items, where the judge says yes (1) and no (0).
    N1, N0 : array_like
        Items without a label of which it says so.
    conservative : bool
        At least that confidence in nearly all cases, for a fifth to a third more width.
    finite : bool
        The target is the rate of just these items: q is known, and only the unlabelled share of each stratum is
        not, which shortens its distances by sqrt(N_g / (n_g + N_g)).

    Returns
    -------
    estimate, low, high, pi1, pi0, q : ndarray

    References
    ----------
    Hofer et al. (2024), arXiv:2405.06034, for the chain rule; for the sum Zou and Donner, as in `ppi_mean`.
    """
    yes, no = (np.asarray(k, float) for k in (k1, k0))
    gold_yes, gold_no, rest_yes, rest_no = (np.asarray(n, float) for n in (n1, n0, N1, N0))
    said_yes, every = gold_yes + rest_yes, gold_yes + rest_yes + gold_no + rest_no
    pooled = (yes + no) / np.maximum(gold_yes + gold_no, 1)
    pi1, pi0 = (np.where(n > 0, k / np.maximum(n, 1), pooled) for k, n in ((yes, gold_yes), (no, gold_no)))
    q = said_yes / np.maximum(every, 1)
    bounds = clopper_pearson if conservative else jeffreys
    parts = ((pi1, yes, gold_yes, rest_yes), (pi0, no, gold_no, rest_no))
    (down1, up1), (down0, up0) = (
        _distances(pi, bounds(k, n, confidence), np.sqrt(rest / np.maximum(n + rest, 1)) if finite else 1.0)
        for pi, k, n, rest in parts
    )
    less, more = _distances(q, wilson(said_yes, every, confidence), 0.0 if finite else 1.0)
    gap, falls = pi1 - pi0, pi1 < pi0  # where yes of the judge speaks for no, a larger q lowers the rate
    estimate = q * pi1 + (1 - q) * pi0
    low = estimate - np.sqrt((q * down1) ** 2 + ((1 - q) * down0) ** 2 + (gap * np.where(falls, more, less)) ** 2)
    high = estimate + np.sqrt((q * up1) ** 2 + ((1 - q) * up0) ** 2 + (gap * np.where(falls, less, more)) ** 2)
    return estimate, np.clip(low, 0, 1), np.clip(high, 0, 1), pi1, pi0, q


def _distances(rate: Floats, ends: tuple[Floats, Floats], unknown: Floats | float) -> tuple[Floats, Floats]:
    """How far the ends are from the rate; at levels near 0 Jeffreys' ends may both be on one side of it."""
    return np.maximum(rate - ends[0], 0) * unknown, np.maximum(ends[1] - rate, 0) * unknown


def posterior_error(
    k1: ArrayLike, n1: ArrayLike, k0: ArrayLike, n0: ArrayLike, rest1: ArrayLike, rest0: ArrayLike, *, finite: bool
) -> Floats:
    """Standard deviation with Jeffreys' posterior for both rates: not 0 where the judge made no error yet."""
    yes, gold, rest = (np.stack(pair).astype(float) for pair in ((k1, k0), (n1, n0), (rest1, rest0)))
    n = (gold + rest).sum(axis=0)
    share = (gold + rest) / n
    a, b = yes + 0.5, gold - yes + 0.5
    spread, rates = a * b / (a + b) ** 2 / (a + b + 1), a / (a + b)
    unknown = rest / np.maximum(gold + rest, 1) if finite else 1.0
    drawn = 0.0 if finite else (rates[0] - rates[1]) ** 2 * share[0] * share[1] / n
    return np.asarray(np.sqrt((share**2 * spread * unknown).sum(axis=0) + drawn))
