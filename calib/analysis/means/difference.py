"""The difference of two mean human scores, paired on what both systems answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from numpy.typing import ArrayLike

from calib.analysis.means.gold import Asked
from calib.analysis.means.guards import bounds_of, on_scale
from calib.analysis.means.mean import MeanEstimate, ppi_mean
from calib.analysis.means.moments import Moments
from calib.core import check


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
    design, target, estimator, alternative, min_gold, confidence_level, groups, ...
        As for `ppi_mean`.
    null : float, default 0.0
        `p_value` is for this difference.

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
