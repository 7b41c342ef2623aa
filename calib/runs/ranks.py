"""Ranks of several runs, with sets that hold all true ranks at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.pairs.bradley_terry import rank_sets
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import ColumnarResult, short, term


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRanks(ColumnarResult):
    """Ranks of several runs by their mean score, 1 the highest, with sets that hold all true ranks at once.

    Attributes
    ----------
    run : ndarray of str
    mean : ndarray of float
        Over the tasks that all runs have.
    rank, low, high : ndarray of int
        The rank, and the best and the worst that it may be.
    n : int
        Tasks.
    confidence_level : float
    """

    run: Any
    mean: Floats
    rank: Any
    low: Any
    high: Any
    n: int = term("tasks", column=False)
    confidence_level: float = term("cl", column=False)
    _kind = "run-ranks"
    _cells = "run mean rank low high"

    def __str__(self) -> str:
        order = np.argsort(self.rank, kind="stable")
        parts = [f"{self.run[at]} {short(self.mean[at])} (rank {self.low[at]} to {self.high[at]})" for at in order]
        return f"{', '.join(parts)}; all ranks at once at {100 * self.confidence_level:g} %, {self.n} tasks"


def rank_runs(scores: ArrayLike, *, names: Sequence[str] | None = None, confidence_level: float = 0.95) -> RunRanks:
    """Ranks of runs by their mean over the tasks that all have. See `rank_sets`.

    Parameters
    ----------
    scores : array_like, shape (tasks, runs)
        Mean score of each task in each run; a task with a NaN is left out.
    names : sequence of str, optional
    confidence_level : float, default 0.95

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal([0.0, 0.0, 1.0], 0.5, (60, 3))
    >>> print(rank_runs(scores, names=["v1", "v2", "v3"]))
    v3 1.093 (rank 1 to 1), v2 0.03792 (rank 2 to 3), v1 -0.08376 (rank 2 to 3); all ranks at once at 95 %, 60 tasks
    """
    table = check.array(scores, "scores", ndim=2)
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) < 2:
        raise ArgumentError("scores", "must hold runs with two tasks in common at least", f"got {len(table)}")
    covariance = np.cov(table.T).reshape(table.shape[1], table.shape[1]) / len(table)
    sets = rank_sets(table.mean(axis=0), covariance, confidence_level=confidence_level)
    return RunRanks(
        run=np.array(names or [f"run {at + 1}" for at in range(table.shape[1])], dtype=object), mean=sets.estimate,
        rank=sets.rank, low=sets.low, high=sets.high, n=len(table), confidence_level=confidence_level,
    )  # fmt: skip
