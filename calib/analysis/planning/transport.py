"""Whether a judge errs elsewhere as at home, and weights where the mix of items differs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.analysis.means.mean import MeanEstimate, mean_interval
from calib.analysis.planning.labels import labels_and_scores, told
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.result import Interval, Result, bracket, short


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport(Result):
    """The judge's mean error on items from elsewhere, against zero or against its error at home.

    Attributes
    ----------
    residual, residual_base : float, float or None
        Mean of label - judge score on the probe; the same at home, where a base was given.
    estimate, std_error, statistic, df, p_value : float
        Of the residual, or of the probe's less the base's.
    interval : Interval
    confidence_level : float
    transports : bool
        Whether the test leaves the judge standing at this confidence level. True is no proof.
    n, n_base : int
        Labels of the probe and of the base.
    n_groups : int
        Independent groups in the probe.
    warnings : tuple of str
        ``constant_error``.
    """

    _cells = "estimate std_error statistic df p_value interval transports n n_base n_groups"
    residual: float
    residual_base: float | None
    estimate: float
    std_error: float
    statistic: float
    df: float
    p_value: float
    interval: Interval
    confidence_level: float
    transports: bool
    n: int
    n_base: int
    n_groups: int
    warnings: tuple[str, ...]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"transport": True, "t": True, "alt": "two-sided", "cl": self.confidence_level}
        terms |= {"n": self.n, "base": self.n_base or None}
        return terms | {"groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        what = "the judge's error" if self.residual_base is None else "the change of the judge's error"
        said = f"{what} is {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, on {self.n} labels"
        if not self.transports:
            return f"{said}: the judge does not transport (p = {short(self.p_value)})"
        reach = max(abs(self.interval.low), abs(self.interval.high))
        small = "" if math.isnan(reach) else f": an error of {short(reach)} would look the same"
        return f"{said}: not shown to differ, which is no proof{small}"


def transport_test(
    y: ArrayLike,
    f: ArrayLike,
    *,
    y_base: ArrayLike | None = None,
    f_base: ArrayLike | None = None,
    groups: Labels | None = None,
    groups_base: Labels | None = None,
    confidence_level: float = 0.95,
) -> Transport:
    r"""Whether the judge errs elsewhere as it does at home, from a few labels there.

    A correction learned on one system (or domain, or month) holds for another only if the
    judge's mean error is the same. Without a base the mean of y - f is held against zero
    (a calibrated judge), with a base against the mean error there (Welch):

    .. math:: t = \frac{\overline{y - f} - \overline{y - f}_{base}}{\sqrt{V + V_{base}}}

    With groups V is that of `mean_interval`, with G - 1 degrees of freedom.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Labels (NaN where there is none) and judge scores of the probe.
    y_base, f_base : array_like, shape (m,), optional
        The same at home, of other items.
    groups, groups_base : sequence, optional
        Items of one group are not independent.
    confidence_level : float, default 0.95

    References
    ----------
    The transport audit of CJE (cimo-labs), and Welch (1947).

    Examples
    --------
    >>> print(transport_test([3, 4, 2, 4, 5, 3], [3.4, 4.5, 3.1, 4.2, 4.9, 3.8]))
    the judge's error is -0.4833, 95 % CI [-0.9306, -0.03604], on 6 labels: the judge does not transport (p = 0.03901)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    here = _mean_error(y, f, groups, "")
    if (y_base is None) != (f_base is None) or (groups_base is not None and y_base is None):
        raise ArgumentError("y_base", "and {0} must be given together", "one of them came alone", mentions=("f_base",))
    if y_base is not None and (groups is None) != (groups_base is None):
        rule = "must be given exactly when {0} is"
        raise ArgumentError("groups_base", rule, "only one of them came", mentions=("groups",))
    sides = [here] if y_base is None or f_base is None else [here, _mean_error(y_base, f_base, groups_base, "_base")]
    estimate = here.estimate - (sides[1].estimate if len(sides) > 1 else 0.0)
    variance = sum(side.std_error**2 for side in sides)
    spread = sum((side.std_error**2) ** 2 / (side.n_groups - 1) for side in sides)
    df = variance**2 / spread if spread else float(here.n_groups - 1)
    error = math.sqrt(variance)
    half = float(stats.t.ppf((1 + confidence) / 2, df)) * error if error else math.nan
    p_value = float(2 * stats.t.sf(abs(estimate) / error, df)) if error else math.nan
    warned = () if error else ("constant_error: the judge's error does not vary here, so its spread is not known.",)
    return Transport(
        residual=here.estimate,
        residual_base=sides[1].estimate if len(sides) > 1 else None,
        estimate=estimate,
        std_error=error,
        statistic=estimate / error if error else math.nan,
        df=df,
        p_value=p_value,
        interval=Interval(estimate - half, estimate + half),
        confidence_level=confidence,
        transports=p_value > 1 - confidence if error else estimate == 0,
        n=here.n_gold,
        n_base=sides[1].n_gold if len(sides) > 1 else 0,
        n_groups=here.n_groups,
        warnings=told(warned),
    )


def shift_weights(categories: Labels, shares: Mapping[Any, float]) -> Floats:
    r"""Weights that give the items the mix of categories of a target.

    .. math:: w_i = \frac{\text{share of } i\text{'s category in the target}}{\text{its share here}}

    with mean 1. Within a category the target has to be like the items here: `transport_test` on a probe is the check.

    Parameters
    ----------
    categories : sequence, shape (n,)
        Category (topic, language, difficulty) of each item.
    shares : mapping
        Share of each category in the target; they sum to 1. A category that the target lacks has share 0.

    Returns
    -------
    ndarray of float, shape (n,)

    Raises
    ------
    ValueError
        If a category has no share, the target has a category that is missing here, or the
        shares are negative or do not sum to 1.

    Examples
    --------
    >>> shift_weights(["code", "code", "code", "law"], {"code": 0.5, "law": 0.5}).round(4)
    array([0.6667, 0.6667, 0.6667, 2.    ])
    """
    code = check.codes(categories, "categories")
    # in the order of the codes
    names = list(dict.fromkeys(categories.tolist() if hasattr(categories, "tolist") else categories))
    if not len(code):
        raise ArgumentError("categories", "must have one item at least", "got none")
    for name in names:
        if name not in shares:
            raise ArgumentError("shares", "must have a share for each category", f"{name!r} has none")
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ArgumentError("shares", "must be between 0 and 1", f"got {share!r} for {name!r}")
        if share > 0 and name not in names:
            raise ArgumentError("categories", "must hold each category of the target", f"none is {name!r}")
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise ArgumentError("shares", "must sum to 1", f"got {sum(shares.values()):g}")
    wanted = np.array([shares[name] for name in names], dtype=float)
    return np.asarray((wanted / wanted.sum() * len(code) / np.bincount(code))[code])


def _mean_error(y: ArrayLike, f: ArrayLike, groups: Labels | None, suffix: str) -> MeanEstimate:
    labels, scores, given = labels_and_scores(y, f, groups, suffix)
    unit = np.arange(len(labels)) if groups is None else check.codes(groups, f"groups{suffix}")
    _, unit = np.unique(unit[given], return_inverse=True)
    error, count = (labels - scores)[given], int(unit.max(initial=-1)) + 1
    if count < 2:
        raise ArgumentError(f"y{suffix}", "must have labels in two groups (or two items) at least", f"got {count}")
    return mean_interval(error, groups=unit, estimator="classical")
