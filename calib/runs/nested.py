"""Variance components of tasks, trials of a task, and judge draws of a trial (a nested design)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.laws import two_sided
from calib.core.numeric import jackknife_variance, ratio, recoded, unit_sums
from calib.core.result import NO_INTERVAL, Interval, Result, short, term

LEVELS = ("task", "trial", "draw")
_FARTHEST = 50.0  # exponent beyond which an upper end is no number worth reading


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedComponents(Result):
    """Variance of one score by where it comes from: the task, the trial of the task, the judge's draw on the trial.

    What was measured once cannot be told from the level above: with one draw a trial the variance of trials holds that
    of the judge, with one trial a task that of tasks holds both; the component is then NaN.

    Attributes
    ----------
    task, trial, draw : float
        Not below 0.
    task_interval, trial_interval, draw_interval : Interval
        NaN where the component is, and where it is 0 by clipping.
    mean : float
        Mean over tasks of their mean over trials.
    n_tasks, n_groups, n_trials, n_scores : int
    confidence_level : float
    """

    task: float
    task_interval: Interval
    trial: float
    trial_interval: Interval
    draw: float
    draw_interval: Interval
    mean: float
    n_tasks: int
    n_groups: int
    n_trials: int
    n_scores: int
    confidence_level: float = term("cl", column=False)
    _kind = "nested-anova"

    @property
    def total(self) -> float:
        """The variance of one score."""
        return float(np.nansum([self.task, self.trial, self.draw]))

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for name in LEVELS:
            value, ends = getattr(self, name), getattr(self, f"{name}_interval")
            if not math.isnan(value):
                parts = {"component": name, "estimate": value, "conf_low": ends.low, "conf_high": ends.high}
                rows.append(parts | {"share": float(ratio(value, self.total))})
        return rows

    def __str__(self) -> str:
        parts = [f"{name} {short(getattr(self, name))}" for name in LEVELS if not math.isnan(getattr(self, name))]
        return f"variance of one score: {', '.join(parts)} ({self.n_tasks} tasks, {self.n_trials} trials)"


def scores_by_trial(x: ArrayLike, name: str) -> Floats:
    """Scores with the axes task, trial and draw; an axis that is missing has one place."""
    array = check.array(x, name)
    if not 1 <= array.ndim <= len(LEVELS):
        rule = "must have the axes (tasks), (tasks, trials) or (tasks, trials, draws)"
        raise ArgumentError(name, rule, f"got {array.ndim} axes")
    return array.reshape(array.shape + (1,) * (len(LEVELS) - array.ndim))


def nested_components(
    x: ArrayLike, *, groups: Labels | None = None, confidence_level: float = 0.95
) -> NestedComponents:
    r"""Variance components of tasks x trials x judge draws, by the sums of squares of a nested analysis of variance.

    Of I tasks, J trials and N scores, :math:`n_{it}` of them in trial t of task i,

    .. math:: \sigma^2_{draw} = MS_{draw}, \quad
              \sigma^2_{trial} = (MS_{trial} - \sigma^2_{draw}) / k_1, \quad
              \sigma^2_{task} = (MS_{task} - \sigma^2_{draw} - k_2 \sigma^2_{trial}) / k_3

    with :math:`k_1 = (N - A) / (J - I)`, :math:`k_2 = (A - B) / (I - 1)` and :math:`k_3 = (N - C) / (I - 1)`, where
    :math:`A = \sum_i \sum_t n_{it}^2 / n_i`, :math:`B = \sum n_{it}^2 / N` and :math:`C = \sum n_i^2 / N`. With equal
    numbers and no component below 0 this is restricted maximum likelihood. Intervals are by leaving out one task (or
    group of tasks) at a time, on the scale of the logarithm of the mean square, so that they suit pass or fail, too.

    Parameters
    ----------
    x : array_like, shape (tasks,), (tasks, trials) or (tasks, trials, draws)
        NaN where a trial or a draw is missing.
    groups : sequence, shape (tasks,), optional
        Tasks of one group are not independent.
    confidence_level : float, default 0.95

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, section 5.3; Miller (2024), arXiv:2411.00640, for the
    split into tasks and trials.

    Examples
    --------
    >>> found = nested_components([[1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]])
    >>> round(found.task, 4), round(found.trial, 4), found.n_trials
    (0.1042, 0.1667, 12)
    """
    scores = scores_by_trial(x, "x")
    confidence = check.probability(confidence_level, "confidence_level")
    owners = np.arange(len(scores)) if groups is None else check.codes(groups, "groups")
    if len(owners) != len(scores):
        raise ArgumentError("groups", f"must have one label for each of {len(scores)} tasks", f"got {len(owners)}")
    there = np.isfinite(scores)
    used = there.any(axis=(1, 2))
    if used.sum() < 2:
        raise ArgumentError("x", "must have scores of two tasks at least", f"got {int(used.sum())}")
    scores, there, unit = scores[used], there[used], recoded(owners[used])
    sums = _task_sums(scores, there)
    whole, without = sums.sum(axis=0), sums.sum(axis=0) - unit_sums(sums, unit)
    parts, squares = _components(whole[None])
    left_out, _ = _components(without)
    kept = [0, *(place for place in (1, 2) if np.isfinite(parts[0, place]))]
    value = {LEVELS[place]: float(max(parts[0, place], 0.0)) for place in kept}
    n_units = int(unit.max()) + 1
    ends = {
        LEVELS[place]: _interval(parts[0, place], float(squares[0, place]), left_out[:, place], n_units, confidence)
        for place in kept
    }
    n_trials, n_scores = int(there.any(axis=2).sum()), int(there.sum())
    return NestedComponents(
        task=value["task"],
        task_interval=ends["task"],
        trial=value.get("trial", math.nan),
        trial_interval=ends.get("trial", NO_INTERVAL),
        draw=value.get("draw", math.nan),
        draw_interval=ends.get("draw", NO_INTERVAL),
        mean=float(trial_means(scores).mean()),
        n_tasks=len(scores),
        n_groups=n_units,
        n_trials=n_trials,
        n_scores=n_scores,
        confidence_level=confidence,
    )


def trial_means(scores: Floats) -> Floats:
    """Mean of each task over its trials, of the mean over a trial's draws; NaN where nothing was scored."""
    each = _mean(scores, axis=2)
    return _mean(each, axis=1)


def _mean(values: Floats, axis: int) -> Floats:
    return ratio(np.nansum(values, axis=axis), np.isfinite(values).sum(axis=axis))


def _task_sums(scores: Floats, there: Any) -> Floats:
    """What the sums of squares are made of, for each task: counts, sums, and squares at each level."""
    centre = float(np.mean(scores[there]))
    values = np.where(there, scores - centre, 0.0)
    n_it, s_it = there.sum(axis=2).astype(float), values.sum(axis=2)
    n_i, s_i = n_it.sum(axis=1), s_it.sum(axis=1)
    columns = (
        np.ones(len(n_i)), (n_it > 0).sum(axis=1), n_i, s_i, (values**2).sum(axis=(1, 2)),
        np.nan_to_num(ratio(s_it**2, n_it)).sum(axis=1), ratio(s_i**2, n_i),
        ratio((n_it**2).sum(axis=1), n_i), (n_it**2).sum(axis=1), n_i**2,
    )  # fmt: skip
    return np.column_stack(columns)


def _components(sums: Floats) -> tuple[Floats, Floats]:
    """Components of task, trial and draw, not clipped, and the mean squares over what one unit of each adds to it."""
    tasks, trials, n, total, squares, by_trial, by_task, a, b, c = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        ms_draw = np.where(n > trials, (squares - by_trial) / (n - trials), np.nan)
        ms_trial = np.where(trials > tasks, (by_trial - by_task) / (trials - tasks), np.nan)
        ms_task = (by_task - total**2 / n) / (tasks - 1)
        draw = np.nan_to_num(ms_draw)  # of one draw it is part of the trial
        k1, k2, k3 = (n - a) / (trials - tasks), (a - b / n) / (tasks - 1), (n - c / n) / (tasks - 1)
        trial = np.where(trials > tasks, (ms_trial - draw) / k1, np.nan)
        task = (ms_task - draw - k2 * np.nan_to_num(trial)) / k3
        return np.stack([task, trial, ms_draw], axis=1), np.stack([ms_task / k3, ms_trial / k1, ms_draw], axis=1)


def _interval(value: float, square: float, without: Floats, n_units: int, confidence: float) -> Interval:
    """By leaving out units, on the logarithm of the component with what the levels below add to its mean square."""
    variance = float(jackknife_variance(without)[0]) if n_units > 2 else math.nan
    if not (value > 0 and square > 0 and math.isfinite(variance) and variance > 0):
        return NO_INTERVAL
    reach = two_sided(n_units - 1, confidence) * math.sqrt(variance) / square
    floor = square - value
    low, high = (square * math.exp(end) - floor for end in (-reach, min(reach, _FARTHEST)))
    return Interval(max(low, 0.0), max(high, 0.0))
