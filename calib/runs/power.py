"""How many tasks, trials and judge draws show a difference of two runs, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.laws import two_sided
from calib.core.result import ColumnarResult, short, term

_TRIALS, _DRAWS = (1, 2, 4, 8, 16), (1, 2, 4, 8)
_MOST_TASKS = 10_000_000


class TaskNoise(NamedTuple):
    """Variances of a task's difference between two runs; trial and draw are the sums over both runs."""

    task: float  # of the true difference, over tasks
    trial: float
    draw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan(ColumnarResult):
    """Designs that show a difference with the wanted power, the cheapest first.

    Attributes
    ----------
    tasks, trials, draws : ndarray of int
        Tasks, trials of each in each run, judge draws of each trial.
    power : ndarray of float
    cost : ndarray of float
        Of both runs, in the unit of the prices.
    difference : float
    confidence_level : float
    """

    tasks: Any
    trials: Any
    draws: Any
    power: Floats
    cost: Floats
    difference: float = term("difference", column=False)
    confidence_level: float = term("cl", column=False)
    _kind = "run-plan"
    _cells = "tasks trials draws power cost"

    def __str__(self) -> str:
        if not len(self.tasks):
            return f"no design within these limits shows a difference of {short(self.difference)}"
        best = f"{self.tasks[0]} tasks x {self.trials[0]} trials x {self.draws[0]} judge draws"
        return f"for a difference of {short(self.difference)} the cheapest design is {best}, cost {short(self.cost[0])}"


def run_power(
    difference: float,
    tasks: int,
    trials: int = 1,
    draws: int = 1,
    *,
    task: float,
    trial: float = 0.0,
    draw: float = 0.0,
    confidence_level: float = 0.95,
) -> float:
    r"""Chance that the paired t test of two runs shows a difference.

    By the noncentral t with n - 1 degrees of freedom and the noncentrality :math:`d / \sqrt{v / n}`,

    .. math:: v = \sigma^2_{task} + \frac{1}{T} \Big(\sigma^2_{trial} + \frac{\sigma^2_{draw}}{R}\Big)

    Parameters
    ----------
    difference : float
        The true difference.
    tasks, trials, draws : int
        n tasks, T trials of each in each run, R judge draws of each trial.
    task, trial, draw : float
        Variance over tasks of the true difference of a task; of trials and of draws, summed over both runs.
    confidence_level : float, default 0.95

    References
    ----------
    Miller (2024), Adding error bars to evals, arXiv:2411.00640, section 5.

    Examples
    --------
    >>> round(run_power(0.05, 200, task=0.02, trial=0.3), 3), round(run_power(0.05, 200, 4, task=0.02, trial=0.3), 3)
    (0.238, 0.627)
    """
    n = check.whole(tasks, "tasks", least=2)
    t, r = check.whole(trials, "trials", least=1), check.whole(draws, "draws", least=1)
    if not math.isfinite(difference):
        raise ArgumentError("difference", "must be a number", f"got {difference!r}")
    for name, value in (("task", task), ("trial", trial), ("draw", draw)):
        if value < 0 or (name == "task" and math.isnan(value)):
            raise ArgumentError(name, "must be a variance, 0 or more", f"got {value!r}")
    for name, value, number in (("trials", trial, t), ("draws", draw, r)):
        if math.isnan(value) and number > 1:
            raise ArgumentError(name, "must be 1 where their variance was not measured", f"got {number}")
    error = math.sqrt((task + (np.nan_to_num(trial) + np.nan_to_num(draw) / r) / t) / n)
    if error == 0:
        return float(difference != 0)
    mark = two_sided(n - 1, check.probability(confidence_level, "confidence_level"))
    away = stats.nct(n - 1, abs(difference) / error)
    with np.errstate(divide="ignore"):  # scipy 1.12 divides by zero on its way
        return float(np.clip(np.nan_to_num(away.sf(mark), nan=1.0) + np.nan_to_num(away.cdf(-mark)), 0.0, 1.0))


def cheapest_runs(
    difference: float,
    *,
    task: float,
    trial: float = math.nan,
    draw: float = math.nan,
    power: float = 0.8,
    price_task: float = 0.0,
    price_trial: float = 1.0,
    price_draw: float = 0.0,
    most_tasks: int | None = None,
    confidence_level: float = 0.95,
) -> RunPlan:
    """Designs that show a difference with this power, for 1 to 16 trials and 1 to 8 judge draws, the cheapest first.

    Parameters
    ----------
    difference : float
    task, trial, draw : float
        As for `run_power`; a variance that is NaN was not measured, and its number stays 1.
    power : float, default 0.8
    price_task, price_trial, price_draw : float
        Of making one task, of one trial (the agent's run), of one judge draw.
    most_tasks : int, optional
        There are no more tasks than these.
    confidence_level : float, default 0.95

    Examples
    --------
    >>> print(cheapest_runs(0.05, task=0.02, trial=0.3, most_tasks=300))
    for a difference of 0.05 the cheapest design is 183 tasks x 8 trials x 1 judge draws, cost 2928
    """
    wanted = check.probability(power, "power")
    if not (math.isfinite(difference) and difference != 0):
        raise ArgumentError("difference", "must be a number other than 0", f"got {difference!r}")
    noise = {"task": task, "trial": trial, "draw": draw}
    most = _MOST_TASKS if most_tasks is None else check.whole(most_tasks, "most_tasks", least=2)
    rows = []
    for trials in _TRIALS if trial > 0 else (1,):
        for draws in _DRAWS if draw > 0 else (1,):

            def reached(n: int, trials: int = trials, draws: int = draws) -> float:
                return run_power(difference, n, trials, draws, **noise, confidence_level=confidence_level)

            low, high = 1, 2
            while high < most and reached(high) < wanted:
                low, high = high, min(2 * high, most)
            if reached(high) < wanted:
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if reached(middle) >= wanted else (middle, high)
            cost = high * (price_task + 2 * trials * (price_trial + draws * price_draw))
            rows.append((cost, high, trials, draws, reached(high)))
    table = np.array(sorted(rows), dtype=float).reshape(-1, 5)
    whole = table[:, 1:4].astype(int)
    return RunPlan(
        tasks=whole[:, 0], trials=whole[:, 1], draws=whole[:, 2], power=table[:, 4], cost=table[:, 0],
        difference=float(difference), confidence_level=confidence_level,
    )  # fmt: skip
