"""Draws beside the probabilities they should come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from calib.analysis.distributions.distribution import ascending, entropy, places_of, tallied, temper
from calib.analysis.distributions.entropy import expected_entropy, sampled_entropy
from calib.analysis.distributions.temperature import draws_temperature
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.progress import progress
from calib.core.result import Result, short


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionFit(Result):
    """Whether draws are distributed as the probabilities say.

    Attributes
    ----------
    total_variation, total_variation_expected : float
        Mean over items of half the summed distance between shares of draws and probabilities; the same
        if the draws do come from the probabilities: what sampling alone gives, exactly.
    chi_square : float
        Pearson's statistic, summed over items.
    df : int
        Its mean if the draws do come from the probabilities.
    p_value : float
        Of `chi_square`, by Monte Carlo.
    tau, tau_p_value : float
        Temperature at which the probabilities fit the draws best: below 1, the draws are colder. The
        p-value of tau = 1 is by Monte Carlo, two-sided.
    entropy_exact, entropy_sampled, entropy_corrected : float
        Mean entropy in nats: of the probabilities; of the draws, as they are and after Miller and Madow.
    entropy_expected : float
        That which this many draws from the probabilities have on average, exactly.
    n, n_draws, n_unread, n_impossible, n_dropped : int
        Items with draws and mass; their draws that were used, had no score, or were of a level with
        probability 0 and left out; items without draws or without mass.
    n_resamples : int
    seed : int or None
        Where `rng` was a number.
    warnings : tuple of str
        ``impossible_draws``.
    """

    total_variation: float
    total_variation_expected: float
    chi_square: float
    df: int
    p_value: float
    tau: float
    tau_p_value: float
    entropy_exact: float
    entropy_sampled: float
    entropy_corrected: float
    entropy_expected: float
    n: int
    n_draws: int
    n_unread: int
    n_impossible: int
    n_dropped: int
    n_resamples: int
    seed: int | None
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        return [self._row(*(name for name in self.__slots__ if name not in ("seed", "n_resamples")))]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"draws-against-p": True, "n": self.n, "draws": self.n_draws}
        terms |= {"unread": self.n_unread or None, "impossible": self.n_impossible or None}
        return terms | {"rs": self.n_resamples, "seed": self.seed}

    def __str__(self) -> str:
        return (
            f"total variation {short(self.total_variation)} between {self.n_draws} draws of {self.n} items and their "
            f"probabilities, {short(self.total_variation_expected)} from sampling alone; chi-square p = "
            f"{short(self.p_value)}, draws at tau {short(self.tau)} (p = {short(self.tau_p_value)} for 1)"
            f"{self._bracketed_warnings}"
        )


def distribution_fit(
    samples: ArrayLike,
    p: ArrayLike,
    levels: ArrayLike,
    *,
    n_resamples: int = 999,
    rng: np.random.Generator | int | None = None,
) -> DistributionFit:
    r"""Compare draws with the probabilities they should come from.

    .. math:: TV = \frac1n \sum_i \frac12 \sum_k \Big|\frac{c_{ik}}{N_i} - p_{ik}\Big|, \qquad
              \chi^2 = \sum_i \sum_k \frac{(c_{ik} - N_i p_{ik})^2}{N_i p_{ik}}

    What sampling alone gives is exact for TV, from the mean absolute deviation of the binomial (De Moivre),
    :math:`E|X - Np| = 2 m \binom{N}{m} p^m (1-p)^{N-m+1}` with m = floor(Np) + 1. P-values come from multinomial
    draws: with few draws of many items the chi-square law is far off. The chi-square statistic does not see draws
    at a lower temperature, which come too often where they are expected; `tau` does, whose p-value is that of the
    log-likelihood of the draws (in simulations at tau 0.8, 20 draws of 100 items: 100 % found, against 0 %).
    Draws are taken to be independent of each other.

    Parameters
    ----------
    samples : array_like, shape (n, draws)
        Scores, each one of the levels; NaN where a reply could not be read.
    p : array_like, shape (n, K)
        Probabilities of the same items at the temperature of the draws; normalised first.
    levels : array_like, shape (K,)
    n_resamples : int, default 999
    rng : Generator or int, optional
        Default: a fresh one.

    Returns
    -------
    DistributionFit

    Raises
    ------
    ValueError
        If lengths differ, a draw is not a level, or no item has both draws and mass.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.dirichlet([1, 1, 1], 100)
    >>> samples = [rng.choice([1, 2, 3], 20, p=row) for row in p]
    >>> result = distribution_fit(samples, p, [1, 2, 3], rng=2)
    >>> print(result)
    total variation 0.09907 between 2000 draws of 100 items and their probabilities,
    0.1056 from sampling alone; chi-square p = 0.781, draws at tau 1.012 (p = 0.75 for 1)
    """
    draws = check.array(samples, "samples", ndim=2)
    share = temper(check.array(p, "p", ndim=2), 1.0)
    check.same_length(samples=draws, p=share)
    check.whole(n_resamples, "n_resamples", least=1)
    share = ascending(share, levels)
    counts = tallied(places_of(draws, levels, "samples"), share.shape[1])
    lost = int(counts[share == 0].sum())
    counts = np.where(share == 0, 0.0, counts)
    keep = (counts.sum(axis=1) > 0) & np.isfinite(share).all(axis=1)
    if not keep.any():
        raise ArgumentError("samples", "and {0} must have an item with draws on levels that have mass", mentions=("p",))
    counts, share = counts[keep], share[keep]
    total = counts.sum(axis=1)
    found = _distances(counts, share)
    expected = [expected_entropy(share[total == n], int(n), replace=True).sum() for n in np.unique(total)]
    source = np.random.default_rng(rng)
    drawn = [
        _distances(source.multinomial(total.astype(int), share), share)
        for _ in progress(range(n_resamples), "resamples")
    ]
    p_value, tau_p_value = _p_values(found, np.array(drawn))
    if lost:
        text = (
            f"impossible_draws: {lost} of {lost + int(total.sum())} draws are of levels with probability 0, so they do "
            "not come from these probabilities; they are left out of every number"
        )
        check.warn(text)
    return DistributionFit(
        total_variation=found[0],
        total_variation_expected=float(np.mean(_binomial_deviation(total[:, None], share).sum(axis=1) / 2)),
        chi_square=found[1],
        df=int((share > 0).sum() - len(share)),
        p_value=p_value,
        tau=draws_temperature(counts, share),
        tau_p_value=tau_p_value,
        entropy_exact=float(np.mean(entropy(share))),
        entropy_sampled=float(np.mean(sampled_entropy(counts, correction="none"))),
        entropy_corrected=float(np.mean(sampled_entropy(counts))),
        entropy_expected=float(sum(expected) / len(total)),
        n=int(keep.sum()),
        n_draws=int(total.sum()),
        n_unread=int(np.isnan(draws[keep]).sum()),
        n_impossible=lost,
        n_dropped=int((~keep).sum()),
        n_resamples=n_resamples,
        seed=rng if isinstance(rng, int) else None,
        warnings=(text,) if lost else (),
    )


def _distances(counts: Any, share: Floats) -> tuple[float, float, float]:
    """Mean total variation, the chi-square statistic, and the log-likelihood of the draws."""
    total = counts.sum(axis=1, keepdims=True)
    apart = counts / total - share
    squares = np.divide(total * apart**2, share, out=np.zeros_like(share), where=share > 0)
    likelihood = special.xlogy(counts, share).sum()
    return float(np.abs(apart).sum() / 2 / len(share)), float(squares.sum()), float(likelihood)


def _p_values(found: tuple[float, float, float], drawn: Floats) -> tuple[float, float]:
    """Of the chi-square statistic, and of the likelihood on both sides."""
    _, squares, likely = drawn.T
    sides = _share_as_large(likely, found[2]), _share_as_large(-likely, -found[2])
    return _share_as_large(squares, found[1]), min(1.0, 2 * min(sides))


def _share_as_large(drawn: Floats, found: float) -> float:
    """Share of resamples at least as large, what was found among them; a last digit must not decide."""
    return float((1 + (drawn >= found - 1e-12 * abs(found)).sum()) / (len(drawn) + 1))


def _binomial_deviation(n: Floats, p: Floats) -> Floats:
    """Mean absolute deviation of a binomial share."""
    m = np.floor(n * p) + 1
    return np.asarray(2 * m * (1 - p) * stats.binom.pmf(m, n, p) / n)
