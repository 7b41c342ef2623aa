"""How far a mean of N draws is from the exact expectation, and from people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.stats import _check
from calib.stats._check import Floats
from calib.stats._estimate import Result, short
from calib.stats._ranks import METHODS as COEFFICIENTS
from calib.stats._ranks import coefficient, settled

SIZES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence(Result):
    """Monte Carlo means of N draws against a reference and against people, as N grows.

    Attributes
    ----------
    sizes : tuple of int
        N, the draws that were asked for.
    rmse : tuple of float
        Root mean squared distance from the reference over items and subsets, score points.
    rmse_predicted : tuple of float
        The same from the within-item variance alone.
    correlation : tuple of float
        Mean correlation with the reference.
    human, human_low, human_high : tuple of float
        Mean correlation with people, and the middle 95 % over random subsets of draws
        (what the draws alone move, for these items); NaN when no labels were given.
    human_reference : float
        Correlation of the reference itself with people.
    reference : str
        "exact" (the logprob expectation) or "all draws".
    method : str
        The coefficient.
    r : float
        Within-item over between-item variance of single draws.
    n, n_draws, n_unread : int
        Items; draws per item; draws without a score.
    n_subsets : int
    seed : int or None
        Where `rng` was a number.
    """

    sizes: tuple[int, ...]
    rmse: tuple[float, ...]
    rmse_predicted: tuple[float, ...]
    correlation: tuple[float, ...]
    human: tuple[float, ...]
    human_low: tuple[float, ...]
    human_high: tuple[float, ...]
    human_reference: float
    reference: str
    method: str
    r: float
    n: int
    n_draws: int
    n_unread: int
    n_subsets: int
    seed: int | None

    def _rows(self) -> list[dict[str, Any]]:
        names = ("sizes", "rmse", "rmse_predicted", "correlation", "human", "human_low", "human_high")
        columns = ("draws", *names[1:])
        return [dict(zip(columns, row, strict=True)) for row in zip(*(getattr(self, n) for n in names), strict=True)]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"convergence": True, "to": self.reference.replace(" ", "-"), "coef": self.method}
        return terms | {
            "n": self.n,
            "draws": self.n_draws,
            "unread": self.n_unread,
            "subsets": self.n_subsets,
            "seed": self.seed,
        }

    def __str__(self) -> str:
        to = "the exact expectation" if self.reference == "exact" else f"the mean of all {self.n_draws}"
        last, first = (f"{n} draw{'s' * (n > 1)}" for n in (self.sizes[-1], self.sizes[0]))
        people = f", agreement with people {short(self.human[-1])} (reference {short(self.human_reference)})"
        return (
            f"the mean of {last} is {short(self.rmse[-1])} points (RMSE) from {to}, of {first} {short(self.rmse[0])}"
            f"{people if np.isfinite(self.human_reference) else ''}; r = {short(self.r)}"
        )


def convergence(
    samples: ArrayLike,
    *,
    exact: ArrayLike | None = None,
    human: ArrayLike | None = None,
    method: str = "spearman",
    sizes: Sequence[int] | None = None,
    n_subsets: int = 100,
    rng: np.random.Generator | int | None = None,
) -> Convergence:
    r"""Means of N draws against the exact expectation, for N = 1, 2, 3, ...

    For each N, random subsets of the draws (without replacement, anew for each item)
    give Monte Carlo means. Their error is measured, and predicted by

    .. math:: RMSE_N = \sqrt{\bar s^2_{within} \, (1/N - c)}

    with c = 0 against the exact expectation and c = 1/K against the mean of all K draws.

    Parameters
    ----------
    samples : array_like, shape (n, K)
        K draws for each of n items; NaN where a reply could not be read. A draw that was
        paid for counts towards N whether it could be read or not.
    exact : array_like, shape (n,), optional
        Expectations from token probabilities. Default: the mean of all draws.
    human : array_like, shape (n,), optional
        Human scores of the same items, NaN where there is none.
    method : str, default "spearman"
        The coefficient of the two correlations, as for `agreement`, but not "spa".
    sizes : sequence of int, optional
        Default: 1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100, up to K.
    n_subsets : int, default 100
        Random subsets per N.
    rng : Generator or int, optional
        Source of the subsets; default a fresh one.

    Returns
    -------
    Convergence

    Raises
    ------
    ValueError
        If `samples` has fewer than two draws or items, a size is not in 1..K, or lengths differ.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.uniform(1, 5, 400)
    >>> result = convergence(truth[:, None] + rng.normal(size=(400, 20)), exact=truth, sizes=[1, 4, 16], rng=2)
    >>> [round(v, 2) for v in result.rmse], [round(v, 2) for v in result.rmse_predicted]
    ([0.99, 0.49, 0.24], [1.0, 0.5, 0.25])
    """
    draws = _check.array(samples, "samples", ndim=2)
    if min(draws.shape) < 2:
        raise ValueError(f"`samples` must have two items and two draws at least, but got shape {draws.shape}.")
    _check.choice(method, "method", COEFFICIENTS)
    if n_subsets < 1:
        raise ValueError(f"`n_subsets` must be at least 1, but got {n_subsets!r}.")
    if np.isfinite(draws).any(axis=1).sum() < 2:
        raise ValueError("`samples` must have a readable draw for two items at least.")
    wanted = _sizes(sizes, draws.shape[1])
    whole = settled(_row_means(draws))
    target = whole if exact is None else _check.array(exact, "exact", ndim=1)
    people = np.full(len(draws), np.nan) if human is None else _check.array(human, "human", ndim=1)
    _check.same_length(samples=draws, exact=target, human=people)
    means = _subset_means(draws, wanted, n_subsets, np.random.default_rng(rng))
    within = _within_variance(draws)
    spared = 0.0 if exact is not None else 1 / draws.shape[1]
    near = _correlations(means, target, method)
    toward = _correlations(means, people, method)
    low, high = (_middle(toward, q) for q in (0.025, 0.975))
    return Convergence(
        sizes=wanted,
        rmse=tuple(float(np.sqrt(np.nanmean((m - target) ** 2))) for m in means),
        rmse_predicted=tuple(float(np.sqrt(within * max(1 / n - spared, 0.0))) for n in wanted),
        correlation=tuple(float(np.mean(row)) for row in near),
        human=tuple(float(np.mean(row)) for row in toward),
        human_low=low,
        human_high=high,
        human_reference=_paired(target, people, method),
        reference="all draws" if exact is None else "exact",
        method=method,
        r=within / _between_variance(whole, draws, within),
        n=len(draws),
        n_draws=draws.shape[1],
        n_unread=int(np.isnan(draws).sum()),
        n_subsets=n_subsets,
        seed=rng if isinstance(rng, int) else None,
    )


def _sizes(sizes: Sequence[int] | None, k: int) -> tuple[int, ...]:
    if sizes is None:
        return tuple(dict.fromkeys([n for n in SIZES if n < k] + [k])) if k <= SIZES[-1] else SIZES
    wrong = [n for n in sizes if not 1 <= int(n) <= k or int(n) != n]
    if wrong or not len(sizes):
        raise ValueError(f"`sizes` must be whole numbers from 1 to {k} (the draws there are), but got {list(sizes)}.")
    return tuple(int(n) for n in sizes)


def _row_means(draws: Floats) -> Floats:
    count = np.isfinite(draws).sum(axis=-1)
    return np.asarray(np.where(count, np.nansum(draws, axis=-1) / np.maximum(count, 1), np.nan))


def _subset_means(draws: Floats, sizes: tuple[int, ...], n_subsets: int, rng: np.random.Generator) -> list[Floats]:
    """Means of the first N of the draws in random order, shape (n_subsets, items) for each N."""
    means = np.empty((len(sizes), n_subsets, len(draws)))
    for b in range(n_subsets):
        shuffled = rng.permuted(draws, axis=1)
        means[:, b] = [settled(_row_means(shuffled[:, :n])) for n in sizes]
    return list(means)


def _within_variance(draws: Floats) -> float:
    centred = draws - _row_means(draws)[:, None]
    spare = np.maximum(np.isfinite(draws).sum(axis=1) - 1, 0).sum()
    return float(np.nansum(centred**2) / spare) if spare else float("nan")


def _between_variance(whole: Floats, draws: Floats, within: float) -> float:
    """Variance of the items' true means: that of the observed means less its share of sampling noise."""
    count = np.isfinite(draws).sum(axis=1)
    noise = within * float(np.mean(1 / count[count > 0]))
    spread = float(np.nanvar(whole, ddof=1)) - noise
    return spread if spread > 0 else float("nan")


def _correlations(means: list[Floats], target: Floats, method: str) -> list[Floats]:
    return [np.array([_paired(row, target, method) for row in table]) for table in means]


def _paired(x: Floats, y: Floats, method: str) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    return coefficient(x[both], y[both], method)


def _middle(table: list[Floats], q: float) -> tuple[float, ...]:
    return tuple(float(np.quantile(row, q)) for row in table)
