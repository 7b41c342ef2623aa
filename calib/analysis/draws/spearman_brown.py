"""What a mean of draws is worth: its reliability, what noise leaves of a correlation, how many draws are enough."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from calib.core import check
from calib.core.check import ArgumentError, Floats


def spearman_brown(icc: ArrayLike, n: ArrayLike) -> Floats:
    r"""Reliability of the mean of n draws from that of one.

    .. math:: \rho_n = \frac{n \rho_1}{1 + (n - 1) \rho_1}

    Parameters
    ----------
    icc, n : array_like
        Reliability of a single draw, 0 to 1; draws. They broadcast together.

    References
    ----------
    Spearman (1910), British Journal of Psychology 3:271-295; Brown (1910), ibid. 296-322.

    Examples
    --------
    >>> spearman_brown(0.4, [1, 5, 20]).round(3)
    array([0.4  , 0.769, 0.93 ])
    """
    one, draws = np.asarray(icc, dtype=float), _checked_draws(n)
    if ((one < 0) | (one > 1)).any():
        raise ArgumentError("icc", "must be from 0 to 1", f"got {icc!r}")
    return np.asarray(one / (one + (1 - one) / draws))[()]


def attenuation(r: ArrayLike, n: ArrayLike) -> Floats:
    r"""What the mean of n draws keeps of the Pearson correlation that exact expectations would have.

    .. math:: \frac{\rho_n}{\rho_\infty} = \frac{1}{\sqrt{1 + r/n}}

    Parameters
    ----------
    r, n : array_like
        Within-item over between-item variance of a single draw; draws. They broadcast together.

    References
    ----------
    Spearman (1904), American Journal of Psychology 15:72-101, for the correction that this inverts.

    Examples
    --------
    >>> attenuation([0.04, 1.5, 20], 5).round(3)
    array([0.996, 0.877, 0.447])
    """
    return np.asarray(1 / np.sqrt(1 + _checked_ratio(r) / _checked_draws(n)))[()]


def precision_gain(r: ArrayLike, n: ArrayLike) -> Floats:
    r"""Share of the way from the correlation of one draw to that of exact expectations that n draws go.

    .. math:: g = \frac{(1 + r/n)^{-1/2} - (1 + r)^{-1/2}}{1 - (1 + r)^{-1/2}}

    How much "20 draws" recover depends on the judge and the items alone: from 93 % at r = 0.5 to 63 % at 20.
    As r goes to 0 there is less and less to gain, of which n draws recover 1 - 1/n.

    Parameters
    ----------
    r, n : array_like
        As for `attenuation`; `n` at least 1.

    Examples
    --------
    >>> precision_gain([0.5, 1.5, 5.71, 11.25, 20], 20).round(3)
    array([0.933, 0.903, 0.808, 0.72 , 0.625])
    """
    noise, draws = np.broadcast_arrays(_checked_ratio(r), _checked_draws(n, least=1))
    # differences of numbers near 1 for small r: taken between their logarithms
    one, mean = (np.expm1(-np.log1p(value) / 2) for value in (noise, noise / draws))
    return np.asarray(np.divide(mean - one, -one, out=np.array(1 - 1 / draws), where=one < 0))[()]


def draws_needed(r: float, target: float) -> int:
    r"""Fewest draws whose mean keeps this share of the correlation of exact expectations.

    .. math:: N = \left\lceil \frac{r q^2}{1 - q^2} \right\rceil, \qquad \rho_N \ge q \, \rho_\infty

    Parameters
    ----------
    r, target : float
        Within-item over between-item variance of a single draw (of an infinite one no number of draws is enough); q,
        between 0 and 1.

    Examples
    --------
    >>> [draws_needed(r, 0.95) for r in (0.04, 0.5, 1.5, 5.71, 20)]
    [1, 5, 14, 53, 186]
    """
    share = check.probability(target, "target")
    noise = float(_checked_ratio(r))
    if not math.isfinite(noise):
        raise ArgumentError("r", "must be finite", f"got {r!r}: no number of draws is enough")
    # a hair above a whole number is rounding error
    return max(1, math.ceil(noise * share**2 / (1 - share**2) * (1 - 1e-9)))


def _checked_ratio(r: ArrayLike) -> Floats:
    value = np.asarray(r, dtype=float)
    if (value < 0).any():
        raise ArgumentError("r", "must not be negative", f"got {r!r}")
    return value


def _checked_draws(n: ArrayLike, least: int = 0) -> Floats:
    value = np.asarray(n, dtype=float)
    if not ((value >= least) & (value > 0)).all():
        raise ArgumentError("n", f"must be at least {least}" if least else "must be above 0", f"got {n!r}")
    return value
