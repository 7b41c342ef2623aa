"""Shares of items above a threshold, and win rates: means of yes and no."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.gold import Asked
from calib.analysis.means.mean import MeanEstimate, ppi_mean
from calib.analysis.means.moments import Moments, flat, moments_of, refuse_missing, refuse_where
from calib.core import check
from calib.core.check import ArgumentError


def ppi_proportion(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    above: float,
    judge_above: float | None = None,
    conservative: bool = False,
    null: float | None = None,
    **options: Unpack[Asked],
) -> MeanEstimate:
    """Share of items that people score `above` or higher.

    `ppi_mean` of yes and no, with Jeffreys' intervals where the judge says yes and where it says no: it stays
    within [0, 1] and has a width even if the judge never erred on the gold items.

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
        As for `ppi_mean`: `design` or its fields, `target`, `estimator`, `alternative`, `min_gold`, `confidence_level`.

    Returns
    -------
    MeanEstimate

    Examples
    --------
    >>> y, f = [5, 4, 2, 4, 3, 5, 1, 4, 4, 5, 2, 4], [4.8, 4.1, 2.6, 4.4, 3.2, 4.9, 1.9, 4.2, 3.8, 4.7, 2.2, 4.3]
    >>> result = ppi_proportion(y, f, [4.2, 3.1, 4.8, 2.2, 4.5, 4.1, 3.7, 4.4] * 20, above=4)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (0.698, [0.495, 0.869])
    """
    cut = above if judge_above is None else judge_above
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    result = ppi_mean(
        np.where(np.isnan(labels), np.nan, labels >= above),
        np.where(np.isnan(scores), np.nan, scores >= cut),
        None if f_unlabeled is None else _said(f_unlabeled, cut),
        bounds=(0, 1),
        step=1,
        conservative=conservative,
        null=null,
        **options,
    )
    return replace(result, estimand=f"{result.estimand.split()[0]} share of scores from {above:g} up")


def _said(scores: ArrayLike | Moments, cut: float) -> NDArray[np.bool_] | Moments:
    if isinstance(scores, Moments):
        if not scores.binary:
            rule = f"must be moments of 0 and 1 for a share: cut the scores at {cut:g} first"
            raise ArgumentError("f_unlabeled", rule)
        return scores
    values = flat(scores, "f_unlabeled")
    if not np.isfinite(values.sum()):  # a missing score would pass for a no
        refuse_missing(np.asarray(values, dtype=float), "f_unlabeled")
    return np.asarray(values >= cut)


def ppi_win_rate(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    ties: bool = True,
    null: float = 0.5,
    **options: Unpack[Asked],
) -> MeanEstimate:
    """How often people prefer A to B: 1 for A, 0 for B, a tie counts one half.

    Parameters
    ----------
    y : array_like, shape (n,)
        1, 0.5 or 0; NaN where there is no label, if `f_unlabeled` is not given.
    f, f_unlabeled : array_like, shape (n,) and (N,)
        The judge's verdicts, or its probabilities that A is better, within [0, 1]. Judge both orders and take the
        mean: a judge who prefers the first answer then says one half.
    ties : bool, default True
        Whether people may say that there is no difference. Without ties the interval is that of a proportion.
    null : float, default 0.5
        `p_value` is for this win rate.
    **options
        As for `ppi_mean`: `design` or its fields, `target`, `estimator`, `alternative`, `min_gold`, `confidence_level`.

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        If a label is none of these, a verdict is not within [0, 1], and as `ppi_mean`.

    Examples
    --------
    >>> y = [1, 0, 1, 0.5, 1, 1, 0, 1, 1, 0.5, 0, 1]
    >>> f = [1, 0, 1, 0.5, 1, 0.5, 0, 1, 1, 1, 0, 1]
    >>> result = ppi_win_rate(y, f, [1, 0, 0.5, 1, 1] * 20)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (0.694, [0.484, 0.868])
    """
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    wanted = (0.0, 0.5, 1.0) if ties else (0.0, 1.0)
    rule = f"must be one of {', '.join(f'{value:g}' for value in wanted)}"
    refuse_where(~(np.isin(labels, wanted) | np.isnan(labels)), labels, "y", rule)
    rest = f_unlabeled if isinstance(f_unlabeled, Moments | None) else moments_of(f_unlabeled, "f_unlabeled")
    for name, part in (("f", moments_of(scores, "f")), ("f_unlabeled", rest)):
        if part is not None and (part.low < 0 or part.high > 1):
            raise ArgumentError(name, "must be within [0, 1]", f"goes from {part.low:g} to {part.high:g}")
    result = ppi_mean(labels, scores, f_unlabeled, bounds=(0, 1), step=0.5 if ties else 1, null=null, **options)
    return replace(result, estimand=f"{result.estimand.split()[0]} win rate")
