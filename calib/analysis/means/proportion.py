"""Shares of items above a threshold, and the ratio of two means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from calib.analysis.means.design import MeanOptions
from calib.analysis.means.mean import MeanEstimate, ppi_mean
from calib.analysis.means.moments import Moments, flat, refuse_missing
from calib.core import check
from calib.core.check import ArgumentError, Labels
from calib.core.laws import ALTERNATIVES
from calib.core.result import Interval

_DOUBLINGS = 40


def ppi_proportion(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    above: float,
    judge_above: float | None = None,
    conservative: bool = False,
    null: float | None = None,
    **options: Unpack[MeanOptions],
) -> MeanEstimate:
    """Share of items that people score `above` or higher.

    `ppi_mean` of yes and no, from the rates where the judge says yes and where it says no: the interval stays within
    [0, 1] and has a width even if the judge never erred on the labelled items.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        As for `ppi_mean`.
    f_unlabeled : array_like, shape (N,), or Moments of the judge's yes (1) and no (0), optional
    above : float
        A label counts if it is this or more.
    judge_above : float, optional
        The same for the judge, `above` if not given. Any threshold gives a valid interval; that of a judge who is
        stricter than people should be lower.
    conservative, null, **options
        As for `ppi_mean`.

    Examples
    --------
    >>> y, f = [5, 4, 2, 4, 3, 5, 1, 4, 4, 5, 2, 4], [4.8, 4.1, 2.6, 4.4, 3.2, 4.9, 1.9, 4.2, 3.8, 4.7, 2.2, 4.3]
    >>> result = ppi_proportion(y, f, [4.2, 3.1, 4.8, 2.2, 4.5, 4.1, 3.7, 4.4] * 20, above=4)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (0.698, [0.458, 0.883])
    """
    cut = above if judge_above is None else judge_above
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    rest: ArrayLike | Moments | None = f_unlabeled
    if isinstance(f_unlabeled, Moments):
        if not f_unlabeled.binary:
            rule = f"must be moments of 0 and 1 for a share: cut the scores at {cut:g} first"
            raise ArgumentError("f_unlabeled", rule)
    elif f_unlabeled is not None:
        values = flat(f_unlabeled, "f_unlabeled")
        if not np.isfinite(values.sum()):  # a missing score would pass for a no
            refuse_missing(np.asarray(values, dtype=float), "f_unlabeled")
        rest = np.asarray(values >= cut)
    result = ppi_mean(
        np.where(np.isnan(labels), np.nan, labels >= above), np.where(np.isnan(scores), np.nan, scores >= cut), rest,
        bounds=(0, 1), step=1, conservative=conservative, null=null, **options,
    )  # fmt: skip
    return replace(result, estimand=f"{result.estimand.split()[0]} share of scores from {above:g} up")


def ppi_ratio(
    y_top: ArrayLike,
    y_bottom: ArrayLike,
    f_top: ArrayLike,
    f_bottom: ArrayLike,
    *,
    groups: Labels | None = None,
    alternative: str = "two-sided",
    null: float = 1.0,
    min_labels: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean human score of A over that of B, paired on what both answered.

    All :math:`\theta` for which `ppi_mean` of :math:`y_{top} - \theta y_{bottom}` does not reject a mean of 0
    (Fieller's interval, with the judge's weight tuned anew for each). It holds with few labels, where a
    standard error of the ratio (the delta method) is too short; and it has no end where the labels cannot tell
    the lower mean from 0, because no interval that holds has one.

    Parameters
    ----------
    y_top, y_bottom, f_top, f_bottom : array_like, shape (n,)
        Labels of both on the same n inputs, NaN where unlabelled (a pair is labelled where both are); judge scores.
    groups : sequence, shape (n,), optional
    alternative, min_labels, confidence_level
        As for `ppi_mean`.
    null : float, default 1.0
        `p_value` is for this ratio.

    References
    ----------
    Fieller (1954), Journal of the Royal Statistical Society B 16:175-185.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_a, y_b = rng.integers(2, 6, 200).astype(float), rng.integers(1, 5, 200).astype(float)
    >>> f_a, f_b = y_a + rng.normal(size=200), y_b + rng.normal(size=200)
    >>> y_a[40:] = y_b[40:] = float("nan")
    >>> result = ppi_ratio(y_a, y_b, f_a, f_b)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (1.43, [1.257, 1.641])
    """
    side = check.choice(alternative, "alternative", ALTERNATIVES)
    confidence = check.probability(confidence_level, "confidence_level")
    columns = {"y_top": y_top, "y_bottom": y_bottom, "f_top": f_top, "f_bottom": f_bottom}
    arrays = {name: check.array(value, name, ndim=1) for name, value in columns.items()}
    check.same_length(**arrays, groups=groups)
    y_a, y_b, f_a, f_b = arrays.values()

    def at(theta: float, side: str = "two-sided") -> MeanEstimate:
        y, f = y_a - theta * y_b, f_a - theta * f_b
        return ppi_mean(y, f, groups=groups, null=0, alternative=side, min_labels=min_labels)

    both = ~np.isnan(y_a + y_b)
    bottom = ppi_mean(np.where(both, y_b, np.nan), f_b, groups=groups, min_labels=min_labels).estimate
    if bottom == 0:
        raise ArgumentError("y_bottom", "must have a mean that is not 0 to divide by")
    estimate = float(np.mean(y_a[both]) / np.mean(y_b[both]))
    for _ in range(_DOUBLINGS):  # towards the ratio at which the difference is 0
        move = at(estimate).estimate / bottom
        estimate += move
        if abs(move) <= 1e-12 * (1 + abs(estimate)):
            break
    here = at(estimate)
    error = here.std_error / abs(bottom)
    tail = (1 - confidence) if side == "two-sided" else 2 * (1 - confidence)
    low, high = (_end_of_ratio(lambda theta: at(theta).p_value - tail, estimate, sign * error) for sign in (-1, 1))
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = -np.inf, np.inf  # a set with a hole, of which only the whole line is an interval
    # where the lower mean is negative, a larger ratio is a smaller difference
    p_side = side if bottom > 0 or side == "two-sided" else {"greater": "less", "less": "greater"}[side]
    text = "unbounded: the labels do not separate the lower mean from 0, so the ratio has no interval"
    return replace(
        here, estimate=estimate, std_error=error,
        interval=Interval(low if side != "less" else -np.inf, high if side != "greater" else np.inf),
        confidence_level=confidence, alternative=side, estimand="human ratio of means", null=float(null),
        p_value=at(null, p_side).p_value, warnings=here.warnings if np.isfinite(low) else (*here.warnings, text),
    )  # fmt: skip


def _end_of_ratio(kept: Callable[[float], float], start: float, step: float) -> float:
    """Where `kept` falls through 0 on the way from `start`, or infinity."""
    if not step or not np.isfinite(step):
        return np.nan
    inner, outer = start, start + step
    for _ in range(_DOUBLINGS):
        if kept(outer) < 0:
            return float(optimize.brentq(kept, inner, outer, xtol=1e-10 * abs(step), rtol=1e-12))
        inner, outer, step = outer, outer + 2 * step, 2 * step
    return float(np.copysign(np.inf, step))
