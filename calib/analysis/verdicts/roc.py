"""The ROC curve of a judge's score with its area, and the threshold at which errors cost least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from calib.analysis.verdicts.confusion import Figure, proportion
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import units_of, wilson
from calib.core.result import ColumnarResult, Interval, bracket, short


@dataclass(frozen=True, slots=True, kw_only=True)
class Roc(ColumnarResult):
    """Rates at each threshold, and the area below them.

    Attributes
    ----------
    judge_threshold : ndarray, shape (c,)
        Between each two neighbouring scores, rising: an item passes if its score is this or more.
    tpr, fpr : ndarray, shape (c,)
        Share that passes of the items that people pass, and of those that they fail.
    tpr_low, tpr_high, fpr_low, fpr_high : ndarray, shape (c,)
        Their intervals, each at its own threshold (pointwise).
    auc : Figure
        The chance that of an item that people pass and one that they fail the judge scores the first higher.
    confidence_level : float
    n, n_pass, n_groups : int
        Labelled items, those that people pass, groups.
    """

    judge_threshold: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    fpr: Floats
    fpr_low: Floats
    fpr_high: Floats
    auc: Figure
    confidence_level: float
    n: int
    n_pass: int
    n_groups: int
    _cells = "judge_threshold tpr tpr_low tpr_high fpr fpr_low fpr_high"

    def _terms(self) -> dict[str, Any]:
        return {"roc": True, "cl": self.confidence_level, "n": self.n, "pass": self.n_pass, "groups": self.n_groups}

    def __str__(self) -> str:
        ends = bracket(self.auc.interval, self.confidence_level)
        return f"AUC = {short(self.auc.estimate)}, {ends}; {self.n_pass} of {self.n} labelled items pass"


def roc(scores: ArrayLike, labels: ArrayLike, *, groups: Labels | None = None, confidence_level: float = 0.95) -> Roc:
    r"""ROC curve of a judge's scores for what people pass, with the area below it.

    .. math:: AUC = \frac{1}{m_1 m_0} \sum_{y_i = 1} \sum_{y_j = 0} \big(1\{s_i > s_j\} + \tfrac12 1\{s_i = s_j\}\big)

    with DeLong's variance, summed over groups as Obuchowski's, on the logit scale by t. The bands of the curve are
    Wilson's at each threshold.

    Parameters
    ----------
    scores : array_like, shape (n,)
    labels : array_like, shape (n,)
        1 where people pass the item, 0 where they fail it.
    groups : sequence, shape (n,), optional
        What items share; without, items are independent.
    confidence_level : float, default 0.95


    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44:837-845; Obuchowski (1997), Biometrics 53:567-578.

    Examples
    --------
    >>> result = roc([1, 2, 3, 4, 5, 2, 4, 5], [0, 0, 0, 1, 1, 1, 0, 1])
    >>> round(result.auc.estimate, 4), result.judge_threshold.tolist()
    (0.8125, [1.5, 2.5, 3.5, 4.5])
    """
    confidence = check.probability(confidence_level, "confidence_level")
    at, yes, group = scored(scores, labels, groups)
    thresholds = thresholds_between(at)
    rates: dict[str, Floats] = {}
    for name, mask in (("tpr", yes), ("fpr", ~yes)):
        codes = np.unique(group[mask], return_inverse=True)[1]
        sizes = np.bincount(codes).astype(float)
        hits = (np.bincount(codes, at[mask] >= threshold, len(sizes)).astype(float) for threshold in thresholds)
        shares = [proportion(hit, sizes, confidence) for hit in hits]
        low, high = (np.array([interval[end] for _, interval in shares]) for end in (0, 1))
        rates |= {name: np.array([share for share, _ in shares]), f"{name}_low": low, f"{name}_high": high}
    return Roc(
        judge_threshold=thresholds,
        **rates,
        auc=_area(at, yes, group, confidence),
        confidence_level=confidence,
        n=len(at),
        n_pass=int(yes.sum()),
        n_groups=int(group.max()) + 1,
    )


def scored(scores: ArrayLike, labels: ArrayLike, groups: Labels | None) -> tuple[Floats, NDArray[np.bool_], Codes]:
    """Scores, what people pass, and groups of the items that have both."""
    at, yes = check.array(scores, "scores", ndim=1), check.array(labels, "labels", ndim=1)
    check.same_length(scores=at, labels=yes, groups=groups)
    kept = ~np.isnan(at) & ~np.isnan(yes)
    at, yes, group = at[kept], yes[kept], units_of(groups, kept)
    if odd := sorted(set(yes.tolist()) - {0.0, 1.0}):
        raise ArgumentError("labels", "must be 1 (pass) or 0 (fail)", f"has {odd[0]:g}")
    if not 0 < yes.sum() < len(yes):
        raise ArgumentError("labels", "must pass some items and fail some", f"{int(yes.sum())} of {len(yes)} pass")
    if np.ptp(at) == 0:
        raise ArgumentError("scores", "must differ", f"all are {at[0]:g}")
    return at, yes == 1, group


def thresholds_between(scores: Floats) -> Floats:
    """Between each two neighbouring values, so that no rounding moves an item across."""
    values = np.unique(scores)
    return np.asarray((values[1:] + values[:-1]) / 2)


def _area(scores: Floats, yes: NDArray[np.bool_], group: Codes, confidence: float) -> Figure:
    """By midranks, each item's share of the other side that it is on the right side of; interval on the logit scale."""
    ranks = stats.rankdata(scores)
    own = np.zeros(len(scores))
    own[yes], own[~yes] = stats.rankdata(scores[yes]), stats.rankdata(scores[~yes])
    m1, m0, g = int(yes.sum()), int((~yes).sum()), int(group.max()) + 1
    right = np.where(yes, (ranks - own) / m0, 1 - (ranks - own) / m1)
    area = float(right[yes].mean())
    parts = np.where(yes, (right - area) / m1, (right - area) / m0)
    sums = np.bincount(group, parts)
    variance = g / (g - 1) * float((sums**2).sum()) if g > 1 else math.nan
    quantile = float(special.stdtrit(max(g - 1, 1), (1 + confidence) / 2))
    if math.isnan(variance):
        return Figure(area, Interval(math.nan, math.nan), len(scores))
    if area in (0.0, 1.0) or variance == 0:  # as a share of the smaller side
        n = min(m1, m0, g)
        return Figure(area, Interval(*map(float, wilson(area * n, n, quantile))), len(scores))
    half = quantile * math.sqrt(variance) / (area * (1 - area))
    low, high = (float(special.expit(special.logit(area) + sign * half)) for sign in (-1, 1))
    return Figure(area, Interval(low, high), len(scores))


# --- the threshold --------------------------------------------------------------------------------------------------


def chosen_threshold(
    scores: Floats, yes: NDArray[np.bool_], group: Codes, cost: tuple[float, float], folds: int
) -> tuple[float, Floats]:
    """The cheapest threshold, and the verdict of each labelled item by one that has not seen its group."""
    verdicts = np.zeros(len(scores))
    places = group % min(folds, int(group.max()) + 1)
    for fold in np.unique(places):
        mine = places == fold
        rest = yes[~mine]
        # without both kinds of items no threshold can be chosen: that of all labels
        others = ~mine if 0 < rest.sum() < len(rest) and np.ptp(scores[~mine]) > 0 else np.ones(len(mine), dtype=bool)
        verdicts[mine] = scores[mine] >= _cheapest(scores[others], yes[others], cost)
    return _cheapest(scores, yes, cost), verdicts


def _cheapest(scores: Floats, yes: NDArray[np.bool_], cost: tuple[float, float]) -> float:
    """The threshold at which errors cost least; of several the middle one."""
    thresholds = thresholds_between(scores)
    order = np.argsort(scores, kind="stable")
    below = np.searchsorted(scores[order], thresholds)
    passed = np.concatenate([[0], np.cumsum(yes[order])])
    missed = passed[below]  # people pass, the judge does not
    let_through = (len(yes) - passed[-1]) - (below - missed)
    price = cost[0] * let_through + cost[1] * missed
    best = np.flatnonzero(price == price.min())
    return float(thresholds[best[len(best) // 2]])
