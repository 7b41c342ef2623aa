"""Figures of a confusion table with intervals that know of groups, the ROC curve, and the threshold of least cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import ratio, units_of, wilson
from calib.core.result import NO_INTERVAL, ColumnarResult, Interval, bracket, short, term

TP, FP, FN, TN = range(4)
Measure = Callable[[Floats], Floats]  # of tables (..., 4): judge and people pass, judge alone, people alone, neither
_STEP = 1e-6  # of a share, for derivatives
_FOLDS = 10  # of the groups at most, for the choice of a threshold


class Figure(NamedTuple):
    """One figure of a table.

    Attributes
    ----------
    estimate : float
        NaN where it divides by nothing.
    interval : Interval
        0 to 1 where no item says anything of a share.
    n : int
        Labelled items that it rests on.
    """

    estimate: float
    interval: Interval
    n: int


# shares of a total, whose intervals are a proportion's: what is counted, and of which cells
RATES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "tpr": ((TP,), (TP, FN)), "tnr": ((TN,), (TN, FP)), "precision": ((TP,), (TP, FP)), "npv": ((TN,), (TN, FN)),
    "accuracy": ((TP, TN), (TP, FP, FN, TN)),
}  # fmt: skip


def f1(t: Floats) -> Floats:
    """F1 of passing; NaN where people pass nothing."""
    a, b, c, _ = (t[..., k] for k in range(4))
    return np.where(a + c > 0, ratio(2 * a, 2 * a + b + c), np.nan)


def mcc(t: Floats) -> Floats:
    """Matthews' correlation, the correlation of two yes-or-no columns."""
    a, b, c, d = (t[..., k] for k in range(4))
    return ratio(a * d - b * c, np.sqrt((a + b) * (a + c) * (d + b) * (d + c)))


def kappa(t: Floats) -> Floats:
    """Cohen's kappa of two labels; NaN where people have one verdict for all."""
    a, b, c, d = (t[..., k] for k in range(4))
    varied = (a + c) * (b + d) > 0
    return np.where(varied, ratio(2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d)), np.nan)


def ac1(t: Floats) -> Floats:
    """Gwet's AC1 of two labels."""
    a, b, c, d = (t[..., k] for k in range(4))
    observed, yes = ratio(a + d, a + b + c + d), ratio(2 * a + b + c, 2 * (a + b + c + d))
    chance = 2 * yes * (1 - yes)
    return ratio(observed - chance, 1 - chance)


# the others, and the least that each can be
COMPOSITES: dict[str, tuple[Measure, float]] = {
    "f1": (f1, 0.0), "mcc": (mcc, -1.0), "kappa": (kappa, -1.0), "ac1": (ac1, -1.0),
}  # fmt: skip


def verdict_cells(yes: NDArray[np.bool_], passed: NDArray[np.bool_]) -> Codes:
    """The cell of each item, from people's verdict and the judge's."""
    return np.where(yes, np.where(passed, TP, FN), np.where(passed, FP, TN))


def figures_of(cell: Codes, group: Codes, confidence: float) -> dict[str, Figure]:
    """All figures, from the cell and the group of each item."""
    tables = np.bincount(4 * group + cell, minlength=4 * (int(group.max()) + 1)).reshape(-1, 4).astype(float)
    figures = {}
    for name, parts in RATES.items():
        hits, sizes = (tables[:, list(cells)].sum(axis=1) for cells in parts)
        figures[name] = Figure(*proportion(hits, sizes, confidence), int(sizes.sum()))
    # from the intervals of both (Zou and Donner 2008): the far ends of one are not those of the other
    one, other = figures["tpr"], figures["tnr"]
    mean, ends = (one.estimate + other.estimate) / 2, list(zip(one.interval, other.interval, strict=True))
    low, high = (math.hypot(one.estimate - a, other.estimate - b) / 2 for a, b in ends)
    whole = Interval(*(sum(pair) / 2 for pair in ends)) if math.isnan(mean) else Interval(mean - low, mean + high)
    figures["balanced_accuracy"] = Figure(mean, whole, one.n + other.n)
    return figures | {name: _of_composite(tables, *parts, confidence) for name, parts in COMPOSITES.items()}


def proportion(hits: Floats, sizes: Floats, confidence: float) -> tuple[float, Interval]:
    """A share of items that come in groups, by Wilson with as many as the groups leave: hits and items of each."""
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    n, g = float(sizes.sum()), len(sizes)
    if g == 0:
        return math.nan, Interval(0.0, 1.0)
    p = float(hits.sum()) / n
    effective, df = effective_size(hits, sizes), max(g - 1, 1)
    quantile = float(special.stdtrit(df, (1 + confidence) / 2)) if g < n else float(special.ndtri((1 + confidence) / 2))
    return p, Interval(*map(float, wilson(p * effective, effective, quantile)))


def effective_size(hits: Floats, sizes: Floats) -> float:
    """The number of independent items that would show the share of hits as well as these groups do."""
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    n, g, total = float(sizes.sum()), len(sizes), float(hits.sum())
    if g == n:
        return n
    if g < 2 or total in (0.0, n):  # how far items of a group go together is not seen
        return float(g)
    p = total / n
    variance = g / (g - 1) * float(((hits - p * sizes) ** 2).sum()) / n**2
    return min(p * (1 - p) / max(variance, 1e-300), n)


def _of_composite(tables: Floats, measure: Measure, least: float, confidence: float) -> Figure:
    """One of `COMPOSITES`: delta method on the logit, half an item added to each cell, times the design effect."""
    whole = tables.sum(axis=0)
    estimate, n, g = float(measure(whole)), float(whole.sum()), len(tables)
    smoothed = (whole + 0.5) / (n + 2)
    steps = _STEP * np.eye(4)
    centre, gradient = float(measure(smoothed)), (measure(smoothed + steps) - measure(smoothed - steps)) / (2 * _STEP)
    variance = float(smoothed @ (gradient - smoothed @ gradient) ** 2) / (n + 2)
    sizes = tables.sum(axis=1)
    if g not in (1, n):  # the design effect: how much more the figure varies than if items were independent, 1 at least
        mean = float(whole @ gradient) / n
        alone = float(whole @ (gradient - mean) ** 2)
        apart = g / (g - 1) * float(((tables @ gradient - mean * sizes) ** 2).sum())
        variance *= max(apart / alone, 1.0) if alone > 0 else n / g
    quantile = float(special.stdtrit(max(g - 1, 1), (1 + confidence) / 2))
    if math.isnan(estimate) or g < 2:
        return Figure(estimate, NO_INTERVAL, int(n))
    span = 1 - least
    share = (centre - least) / span
    half = quantile * math.sqrt(variance) / span / (share * (1 - share))
    middle = special.logit(share)
    low, high = (least + span * float(special.expit(middle + sign * half)) for sign in (-1, 1))
    return Figure(estimate, Interval(min(low, estimate), max(high, estimate)), int(n))


@dataclass(frozen=True, slots=True, kw_only=True)
class Roc(ColumnarResult):
    """Rates at each threshold, and the area below them.

    Attributes
    ----------
    judge_threshold : ndarray, shape (c,)
        Between each two neighbouring scores, rising: an item passes if its score is this or more.
    tpr, fpr, tpr_low, tpr_high, fpr_low, fpr_high : ndarray, shape (c,)
        Share that passes of the items that people pass, and of those that they fail, with pointwise intervals.
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
    confidence_level: float = term("cl")
    n: int = term("n")
    n_pass: int = term("pass")
    n_groups: int = term("groups")
    _kind = "roc"
    _cells = "judge_threshold tpr tpr_low tpr_high fpr fpr_low fpr_high"

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
    thresholds = _thresholds_between(at)
    rates: dict[str, Floats] = {}
    for name, mask in (("tpr", yes == 1), ("fpr", yes == 0)):
        codes = np.unique(group[mask], return_inverse=True)[1]
        sizes = np.bincount(codes).astype(float)
        hits = (np.bincount(codes, at[mask] >= threshold, len(sizes)).astype(float) for threshold in thresholds)
        shares = [proportion(hit, sizes, confidence) for hit in hits]
        low, high = (np.array([interval[end] for _, interval in shares]) for end in (0, 1))
        rates |= {name: np.array([share for share, _ in shares]), f"{name}_low": low, f"{name}_high": high}
    return Roc(
        judge_threshold=thresholds, **rates, auc=_area(at, yes == 1, group, confidence), confidence_level=confidence,
        n=len(at), n_pass=int(yes.sum()), n_groups=int(group.max()) + 1,
    )  # fmt: skip


def _thresholds_between(scores: Floats) -> Floats:
    """Between each two neighbouring values, so that no rounding moves an item across."""
    values = np.unique(scores)
    return np.asarray((values[1:] + values[:-1]) / 2)


def _area(scores: Floats, yes: NDArray[np.bool_], group: Codes, confidence: float) -> Figure:
    """The area below the curve by midranks, with an interval on the logit scale."""
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
        return Figure(area, NO_INTERVAL, len(scores))
    if area in (0.0, 1.0) or variance == 0:  # as a share of the smaller side
        n = min(m1, m0, g)
        return Figure(area, Interval(*map(float, wilson(area * n, n, quantile))), len(scores))
    half = quantile * math.sqrt(variance) / (area * (1 - area))
    low, high = (float(special.expit(special.logit(area) + sign * half)) for sign in (-1, 1))
    return Figure(area, Interval(low, high), len(scores))


def chosen_threshold(
    scores: Floats, yes: NDArray[np.bool_], group: Codes, cost: tuple[float, float]
) -> tuple[float, Floats]:
    """The cheapest threshold, and the verdict of each labelled item by one that has not seen its group."""
    verdicts = np.zeros(len(scores))
    places = group % min(_FOLDS, int(group.max()) + 1)
    for fold in np.unique(places):
        mine = places == fold
        rest = yes[~mine]
        # without both kinds of items no threshold can be chosen: that of all labels
        others = ~mine if 0 < rest.sum() < len(rest) and np.ptp(scores[~mine]) > 0 else np.ones(len(mine), dtype=bool)
        verdicts[mine] = scores[mine] >= _cheapest(scores[others], yes[others], cost)
    return _cheapest(scores, yes, cost), verdicts


def _cheapest(scores: Floats, yes: NDArray[np.bool_], cost: tuple[float, float]) -> float:
    """The threshold at which errors cost least; of several the middle one."""
    thresholds = _thresholds_between(scores)
    order = np.argsort(scores, kind="stable")
    below = np.searchsorted(scores[order], thresholds)
    passed = np.concatenate([[0], np.cumsum(yes[order])])
    missed = passed[below]  # people pass, the judge does not
    let_through = (len(yes) - passed[-1]) - (below - missed)
    price = cost[0] * let_through + cost[1] * missed
    best = np.flatnonzero(price == price.min())
    return float(thresholds[best[len(best) // 2]])
