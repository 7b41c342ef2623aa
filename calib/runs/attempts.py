"""Agents that try a task several times: pass@k, pass^k, and how often two trials of a task disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import ColumnarResult, short, term


class Passes(NamedTuple):
    """Of each task of one run: successes, and trials."""

    c: Floats
    n: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAtK(ColumnarResult):
    """pass@k and pass^k of two runs and their differences, a row for each measure and k.

    Attributes
    ----------
    measure : ndarray of str
        "pass@k": one of k trials at least succeeds; "pass^k": all of k do.
    k : ndarray of int
    a, b : ndarray of float
        Of each run, over the tasks with k trials in both.
    a_low, a_high, b_low, b_high : ndarray of float
        Intervals of each, for tasks to come.
    difference, low, high : ndarray of float
        b less a, with its interval.
    n_tasks : ndarray of int
    confidence_level : float
    """

    measure: Any
    k: Any
    a: Floats
    a_low: Floats
    a_high: Floats
    b: Floats
    b_low: Floats
    b_high: Floats
    difference: Floats
    low: Floats
    high: Floats
    n_tasks: Any
    confidence_level: float = term("cl", column=False)
    _kind = "pass-at-k"
    _cells = "measure k a a_low a_high b b_low b_high difference low high n_tasks"

    def __str__(self) -> str:
        parts = [
            f"{self.measure[at].replace('k', str(self.k[at]))} {short(self.a[at])} -> {short(self.b[at])}"
            for at in np.flatnonzero(np.asarray(self.k) == np.max(self.k))
        ]
        return ", ".join(parts)


def pass_at_k(successes: ArrayLike, trials: ArrayLike, k: int) -> Floats:
    r"""Chance that one of k trials of a task succeeds, without bias: :math:`1 - \binom{n-c}{k} / \binom{n}{k}`.

    Parameters
    ----------
    successes, trials : array_like, shape (tasks,)
        Of each task c successes in n trials.
    k : int

    Returns
    -------
    ndarray, shape (tasks,)
        NaN where a task has fewer than k trials.

    References
    ----------
    Chen et al. (2021), Evaluating large language models trained on code, arXiv:2107.03374.

    Examples
    --------
    >>> pass_at_k([0, 2, 4], [4, 4, 4], 2).round(4).tolist()
    [0.0, 0.8333, 1.0]
    """
    c, n, size = _checked(successes, trials, k)
    return np.where(n >= size, 1 - _share(n - c, n, size), np.nan)


def pass_hat_k(successes: ArrayLike, trials: ArrayLike, k: int) -> Floats:
    r"""Chance that all of k trials of a task succeed (pass^k), without bias: :math:`\binom{c}{k} / \binom{n}{k}`.

    Parameters
    ----------
    successes, trials : array_like, shape (tasks,)
    k : int

    Returns
    -------
    ndarray, shape (tasks,)
        NaN where a task has fewer than k trials.

    References
    ----------
    Yao et al. (2024), tau-bench, arXiv:2406.12045.

    Examples
    --------
    >>> pass_hat_k([0, 2, 4], [4, 4, 4], 2).round(4).tolist()
    [0.0, 0.1667, 1.0]
    """
    c, n, size = _checked(successes, trials, k)
    return np.where(n >= size, _share(c, n, size), np.nan)


def flip_rate(successes: ArrayLike, trials: ArrayLike) -> Floats:
    """Chance that two trials of a task disagree, without bias: 2 c (n - c) / n (n - 1); NaN with one trial.

    Parameters
    ----------
    successes, trials : array_like, shape (tasks,)

    Examples
    --------
    >>> flip_rate([0, 2, 4], [4, 4, 4]).round(4).tolist()
    [0.0, 0.6667, 0.0]
    """
    c, n, _ = _checked(successes, trials, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(n > 1, 2 * c * (n - c) / (n * (n - 1)), np.nan)


def _checked(successes: ArrayLike, trials: ArrayLike, k: int) -> tuple[Floats, Floats, int]:
    c, n = check.array(successes, "successes", ndim=1), check.array(trials, "trials", ndim=1)
    check.same_length(successes=c, trials=n)
    if ((c < 0) | (c > n) | (c % 1 != 0) | (n % 1 != 0)).any():
        raise ArgumentError("successes", "must be whole numbers from 0 to {0}", mentions=("trials",))
    return c, n, check.whole(k, "k", least=1)


def _share(part: Floats, whole: Floats, k: int) -> Floats:
    """Of all choices of k, those within a part: a product of ratios, which no large number spoils."""
    steps = np.arange(k)
    with np.errstate(invalid="ignore", divide="ignore"):
        factors = np.maximum(part[:, None] - steps, 0) / np.where(
            whole[:, None] > steps, whole[:, None] - steps, np.nan
        )
    return np.asarray(factors.prod(axis=1))
