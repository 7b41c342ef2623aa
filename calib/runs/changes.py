"""What became of each task from one run to the other, and which changes are beyond chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from calib.core.check import Floats
from calib.core.numeric import adjusted_p_values
from calib.core.result import ColumnarResult, term
from calib.runs.attempts import Passes


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChanges(ColumnarResult):
    """What became of each task from the first run to the second, the most worsened first.

    Attributes
    ----------
    task : ndarray
    a, b : ndarray of float
        Mean over the trials of each run.
    change : ndarray of float
        b less a.
    trials_a, trials_b : ndarray of int
    p_value, p_adjusted : ndarray of float
        That the task has not changed: Fisher's exact test of its passes, else Welch's t test of its trials; NaN with
        one trial. Adjusted over all tasks.
    is_real : ndarray of bool
        Whether the adjusted one is below 1 less the confidence level.
    adjust : str
    """

    task: Any
    a: Floats
    b: Floats
    change: Floats
    trials_a: Any
    trials_b: Any
    p_value: Floats
    p_adjusted: Floats
    is_real: NDArray[np.bool_]
    adjust: str = term("adjust", column=False)
    _kind = "task-changes"
    _cells = "task a b change trials_a trials_b p_value p_adjusted is_real"

    def __str__(self) -> str:
        worse, better, real = (int(part.sum()) for part in (self.change < 0, self.change > 0, self.is_real))
        return f"{worse} tasks scored lower, {better} higher; {real} by more than chance ({self.adjust})"


def task_changes_of(
    names: Any, trials: list[Floats], means: list[Floats], passes: list[Passes] | None, adjust: str, confidence: float
) -> TaskChanges:
    """The table of tasks, the most worsened first."""
    p = _fisher(*passes) if passes else _welch(*trials)
    adjusted = adjusted_p_values(p, adjust)
    change = means[1] - means[0]
    order = np.argsort(change, kind="stable")
    counts = [np.isfinite(each).sum(axis=1)[order] for each in trials]
    real = (adjusted <= 1 - confidence)[order]
    return TaskChanges(
        task=names[order], a=means[0][order], b=means[1][order], change=change[order], trials_a=counts[0],
        trials_b=counts[1], p_value=p[order], p_adjusted=adjusted[order], is_real=real, adjust=adjust,
    )  # fmt: skip


def _fisher(a: Passes, b: Passes) -> Floats:
    """Fisher's exact test of each task, once for each table that occurs; NaN with one trial."""
    tables = np.column_stack([a.c, a.n - a.c, b.c, b.n - b.c]).astype(int)
    kinds, place = np.unique(tables, axis=0, return_inverse=True)
    p = np.array([float(stats.fisher_exact(kind.reshape(2, 2)).pvalue) for kind in kinds])
    return np.where((a.n > 1) & (b.n > 1), p[place.reshape(-1)], np.nan)


def _welch(a: Floats, b: Floats) -> Floats:
    """Welch's t test of each task; trials that do not vary decide nothing."""
    n, mean, variance = (np.empty((2, len(a))) for _ in range(3))
    for at, x in enumerate((a, b)):
        n[at] = np.isfinite(x).sum(axis=1)
        mean[at] = np.nansum(x, axis=1) / n[at]
        variance[at] = np.nansum((x - mean[at][:, None]) ** 2, axis=1) / np.maximum(n[at] - 1, 1)
    part = variance / n
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (mean[1] - mean[0]) / np.sqrt(part.sum(axis=0))
        df = part.sum(axis=0) ** 2 / (part**2 / (n - 1)).sum(axis=0)
        p = 2 * special.stdtr(df, -np.abs(t))
    usable = (n > 1).all(axis=0)
    return np.where(usable, np.where(part.sum(axis=0) > 0, p, 1.0), np.nan)
