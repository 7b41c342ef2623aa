"""Two systems compared: the difference and the ratio of their mean human scores, paired on what both answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from calib.analysis.means.gold import Asked
from calib.analysis.means.guards import bounds_of, on_scale
from calib.analysis.means.mean import MeanEstimate, ppi_mean
from calib.analysis.means.moments import Moments
from calib.core import check
from calib.core.check import ArgumentError, Labels
from calib.core.laws import ALTERNATIVES
from calib.core.result import Interval

_DOUBLINGS = 40


def ppi_difference(
    y_a: ArrayLike,
    y_b: ArrayLike,
    f_a: ArrayLike,
    f_b: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    null: float = 0.0,
    **options: Unpack[Asked],
) -> MeanEstimate:
    """Mean human score of A less that of B, paired on what both answered.

    `ppi_mean` of the differences: what a group (a source document) does to both
    systems alike, and what the judge gets wrong on both alike, cancels.

    Parameters
    ----------
    y_a, y_b : array_like, shape (n,)
        Human labels of the two systems (or versions) on the same n inputs, NaN where
        unlabelled; a pair counts as gold where both have a label.
    f_a, f_b : array_like, shape (n,)
        Judge scores of the same.
    f_unlabeled : array_like, shape (N,), or Moments, optional
        The judge's differences f_a - f_b on the inputs without labels, if `y_a` and `y_b` are whole.
    bounds, step
        Of one score, as for `ppi_mean`; differences then lie within plus and minus their distance.
    null : float, default 0.0
        `p_value` is for this difference.
    **options
        As for `ppi_mean`: `design` or its fields, `target`, `estimator`, `alternative`, `min_gold`, `confidence_level`.

    Returns
    -------
    MeanEstimate

    Examples
    --------
    >>> nan = float("nan")
    >>> result = ppi_difference([4, 5, 4, nan, nan], [3, 3, 4, nan, nan],
    ...                         [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3], estimator="ppi")
    >>> print(result)
    human mean difference = 1.067, 95 % CI [-0.2189, 2.352], from 3 human labels and 5 judge scores (PPI)
    [warnings: few_labels, weak_judge]
    """
    first, second = check.array(y_a, "y_a", ndim=1), check.array(y_b, "y_b", ndim=1)
    judge_a, judge_b = check.array(f_a, "f_a", ndim=1), check.array(f_b, "f_b", ndim=1)
    check.same_length(y_a=first, y_b=second, f_a=judge_a, f_b=judge_b)
    ends = bounds_of(bounds, step)
    for labels, name in ((first, "y_a"), (second, "y_b")):
        on_scale(labels, ends, name)
    width = None if ends is None else ends[1] - ends[0]
    result = ppi_mean(
        first - second,
        judge_a - judge_b,
        f_unlabeled,
        bounds=None if width is None else (-width, width),
        step=step,
        binary=False,
        null=null,
        **options,
    )
    return replace(result, estimand=f"{result.estimand} difference")


def ppi_ratio(
    y_top: ArrayLike,
    y_bottom: ArrayLike,
    f_top: ArrayLike,
    f_bottom: ArrayLike,
    *,
    groups: Labels | None = None,
    alternative: str = "two-sided",
    null: float = 1.0,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean human score of A over that of B, paired on what both answered.

    All :math:`\theta` for which `ppi_mean` of :math:`y_{top} - \theta y_{bottom}` does not reject a mean of 0
    (Fieller's interval, with the judge's weight tuned anew for each). It holds with few labels, where a
    standard error of the ratio (the delta method) is too short; and it has no end where the labels cannot tell
    the lower mean from 0, because no interval that holds has one.

    Parameters
    ----------
    y_top, y_bottom : array_like, shape (n,)
        Human labels on the same n inputs, NaN where unlabelled; a pair counts as gold where both have a label.
    f_top, f_bottom : array_like, shape (n,)
        Judge scores of the same.
    groups : sequence, shape (n,), optional
    alternative, min_gold, confidence_level
        As for `ppi_mean`.
    null : float, default 1.0
        `p_value` is for this ratio.

    Returns
    -------
    MeanEstimate
        `std_error` is that of the delta method.

    Raises
    ------
    ValueError
        As `ppi_mean`; or if the lower mean is 0.

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
        return ppi_mean(y, f, groups=groups, null=0, alternative=side, min_gold=min_gold)

    both = ~np.isnan(y_a + y_b)
    bottom = ppi_mean(np.where(both, y_b, np.nan), f_b, groups=groups, min_gold=min_gold).estimate
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
    low, high = (_crossing(lambda theta: at(theta).p_value - tail, estimate, sign * error) for sign in (-1, 1))
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = -np.inf, np.inf  # a set with a hole, of which only the whole line is an interval
    # where the lower mean is negative, a larger ratio is a smaller difference
    p_side = side if bottom > 0 or side == "two-sided" else {"greater": "less", "less": "greater"}[side]
    text = "unbounded: the labels do not tell the lower mean from 0, so the ratio has no interval"
    return replace(
        here,
        estimate=estimate,
        std_error=error,
        interval=Interval(low if side != "less" else -np.inf, high if side != "greater" else np.inf),
        confidence_level=confidence,
        alternative=side,
        estimand="human ratio of means",
        null=float(null),
        p_value=at(null, p_side).p_value,
        warnings=here.warnings if np.isfinite(low) else (*here.warnings, text),
    )


def _crossing(kept: Callable[[float], float], start: float, step: float) -> float:
    """Where `kept` falls through 0 on the way from `start`, or infinity."""
    if not step or not np.isfinite(step):
        return np.nan
    inner, outer = start, start + step
    for _ in range(_DOUBLINGS):
        if kept(outer) < 0:
            return float(optimize.brentq(kept, inner, outer, xtol=1e-10 * abs(step), rtol=1e-12))
        inner, outer, step = outer, outer + 2 * step, 2 * step
    return float(np.copysign(np.inf, step))
