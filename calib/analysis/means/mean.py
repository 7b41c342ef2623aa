"""Intervals for a mean: people alone, the judge alone, and both together (prediction-powered)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.means.gold import Gold, gold_of, shared
from calib.analysis.means.guards import CUT, Asked, asked_for, bounds_of, on_scale, overlap, tuned
from calib.analysis.means.moments import Moments, moments_of
from calib.analysis.means.proportion import post_stratified
from calib.analysis.means.published import METHODS, published
from calib.analysis.means.ridge import Parts, Rule, Sample, clustered, ridge
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import Law, Numeric, Score, Student, interval_of, p_value_of
from calib.core.result import Interval, Result, bracket, short

_ALL_METHODS = ("auto", "regression", *METHODS, "judge_only")
WORDS = {
    "wilson-ppi": "people and judge",
    "t-ppi": "people and judge",
    "mover-jeffreys": "people and judge",
    "mover-clopper-pearson": "people and judge, conservative",
    "wilson-t": "people alone",
    "t": "people alone",
    "jeffreys": "people alone",
    "clopper-pearson": "people alone, conservative",
    "regression": "regression estimator",
    "classical": "people alone",
    "judge_only": "judge alone: not an interval for the human mean",
    "ppi": "PPI",
    "ppi++": "PPI++",
    "ppi_py": "PPI++ as in ppi_py",
    "ares": "PPI as in ARES",
    "glide": "PPI++ as in glide",
}
_ALONE = {"wilson-ppi": "wilson-t", "t-ppi": "t", "mover-jeffreys": "jeffreys"}
_ALONE |= {"mover-clopper-pearson": "clopper-pearson"}
_LABELS_ALONE = ("classical", *_ALONE.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate(Result):
    """A mean, or a difference of two means, with an interval.

    Attributes
    ----------
    estimate, std_error : float
        In score points.
    interval : Interval
        A one-sided one ends where the scale does. NaN ends where the labels do not
        vary and no scale is known, so that no spread can be estimated.
    confidence_level : float
    alternative : str
    method : str
        How it was made; "auto" became one of "wilson-ppi" (a bounded score), "t-ppi"
        (no bounds), "mover-jeffreys" or "mover-clopper-pearson" (yes or no), or, with
        labels alone, "wilson-t", "t", "jeffreys" or "clopper-pearson".
    estimand : str
        What the interval is for: "human mean", "judge mean" (the judge's own
        average, whatever people think) or the difference of either.
    target : str
        "population" (items to come) or "benchmark" (exactly these items).
    df : float
        Degrees of freedom of the t quantile; NaN where there is none.
    null, p_value : float
        P-value of the mean `null` by inverting the interval: an end of it has 1 less
        the confidence level. NaN unless asked for; a difference is compared with 0.
    lam : float
        Weight of the judge; 0 means that only the labels speak. NaN for yes or no.
    width_ratio : float
        Width over that of the same kind of interval from the labels alone.
    effective_n, labels_saved : float
        Labels that alone would give this width, n_gold / width_ratio**2; and how many
        more than `n_gold` these are (negative if the judge costs more than it gives).
    n_gold, n : int
        Items with a human label; items in all.
    n_groups : int
        Independent groups among the labelled items (= n_gold without groups).
    design : str
        How the gold items are taken to be drawn: "items", "groups", "strata" or "weighted".
    warnings : tuple of str
        What a reader should know first, each as "name: text".
    """

    estimate: float
    std_error: float
    interval: Interval
    confidence_level: float
    alternative: str
    method: str
    estimand: str
    target: str
    df: float
    null: float
    p_value: float
    lam: float
    width_ratio: float
    effective_n: float
    labels_saved: float
    n_gold: int
    n: int
    n_groups: int
    design: str
    warnings: tuple[str, ...]

    @property
    def uses_judge(self) -> bool:
        """Whether judge scores went into it."""
        return self.method not in _LABELS_ALONE

    @property
    def bracket(self) -> str:
        """The interval in words; of a one-sided one the end that it has."""
        level = f"{100 * self.confidence_level:g} % confidence"
        if self.alternative == "two-sided" or np.isnan(self.interval.low):
            return bracket(self.interval, self.confidence_level)
        if self.alternative == "greater":
            return f"at least {short(self.interval.low)} with {level}"
        return f"at most {short(self.interval.high)} with {level}"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for the interval to hold, in words."""
        return _assumptions(self)

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"estimator": self.method, "estimand": self.estimand, "estimate": self.estimate}
        row |= {"std_error": self.std_error, "conf_low": self.interval.low, "conf_high": self.interval.high}
        row |= {} if np.isnan(self.null) else {"null": self.null, "p_value": self.p_value}
        row |= {"lam": self.lam, "n_gold": self.n_gold, "n": self.n, "n_groups": self.n_groups, "df": self.df}
        row |= {"width_ratio": self.width_ratio, "effective_n": self.effective_n, "labels_saved": self.labels_saved}
        return [row | {"warnings": "; ".join(text.partition(":")[0] for text in self.warnings)}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.method: True, "loo": True if self.method == "ppi++" else None}
        terms |= {"of": self.estimand.replace(" ", "-"), "alt": self.alternative, "cl": self.confidence_level}
        terms |= {"gold": self.n_gold, "n": self.n, "lam": None if np.isnan(self.lam) else round(self.lam, 4)}
        terms |= {"target": self.target if self.target != "population" else None}
        terms |= {"design": self.design if self.design != "items" else None}
        return terms | {"groups": self.n_groups if self.n_groups != self.n_gold else None}

    def __str__(self) -> str:
        labels = f"{self.n_gold} human labels" if self.method != "judge_only" else "no human labels"
        scores = f" and {self.n} judge scores" if self.uses_judge else ""
        names = ", ".join(text.partition(":")[0] for text in self.warnings)
        return (
            f"{self.estimand} = {short(self.estimate)}, {self.bracket}, "
            f"from {labels}{scores} ({WORDS[self.method]})" + (f" [warnings: {names}]" if names else "")
        )


def _assumptions(result: MeanEstimate) -> tuple[str, ...]:
    if result.method == "judge_only":
        return ("It is about the judge's own mean: what people would say is not in it.",)
    drawn = {
        "items": "The labelled items are a simple random sample of all items.",
        "groups": "Groups are independent; the labelled items, or whole groups of them, are a random sample.",
        "strata": "Within each stratum the labelled items are a simple random sample.",
        "weighted": "The weights, or the probabilities with which items were chosen for labelling, are right.",
    }[result.design]
    drawn = "" if result.n_gold == result.n else drawn  # nothing was drawn
    fixed = "The judge, its prompt included, was fixed before anyone looked at these labels."
    items = "These items are a random sample of the items that are meant."
    alone = "Items are independent of each other." if result.design == "items" else ""
    judged = fixed if result.uses_judge else ""
    return tuple(filter(None, (drawn, judged, items if result.target == "population" else "", alone)))


def mean_interval(
    y: ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    groups: Labels | None = None,
    method: str = "auto",
    conservative: bool = False,
    alternative: str = "two-sided",
    null: float | None = None,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean of human labels alone, with an interval that fits their scale.

    Without bounds the t interval

    .. math:: \bar y \pm t_{G-1} \sqrt{V}, \qquad
              V = \frac{G}{G-1} \sum_g \Big(\sum_{i \in g} \frac{y_i - \bar y}{n}\Big)^2

    over G groups; without groups each item is its own and V is the usual variance of a mean. On a
    scale with `bounds`, Wilson's interval with that variance (see `ppi_mean`), which stays on the
    scale and holds where labels crowd at one end; for labels 0 and 1 Jeffreys' interval.

    Parameters
    ----------
    y : array_like, shape (n,)
        Labels; NaN is left out.
    bounds, step, conservative, alternative, null
        As for `ppi_mean`.
    groups : sequence, shape (n,), optional
        Items of one group are not independent.
    method : {"auto", "classical"}
        "classical" is the t interval, whatever the scale.
    confidence_level : float, default 0.95

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        If fewer than two labels (or groups) are there, or the lengths differ.

    References
    ----------
    Miller (2024), Adding error bars to evals, arXiv:2411.00640, for the clustered form; Brown, Cai
    and DasGupta (2001), Statistical Science 16:101-133, for Jeffreys' and Wilson's.

    Examples
    --------
    >>> print(mean_interval([3, 4, 4, 5, 4]))
    human mean = 4, 95 % CI [3.122, 4.878], from 5 human labels (people alone)
    >>> print(mean_interval([3, 4, 4, 5, 4], bounds=(1, 5)))
    human mean = 4, 95 % CI [2.751, 4.682], from 5 human labels (people alone)
    """
    labels = check.array(y, "y", ndim=1)
    keep = ~np.isnan(labels)
    known = None if groups is None else check.codes(groups, "groups")
    check.same_length(y=labels, groups=known)
    labels, known = labels[keep], None if known is None else shared(check.codes(known[keep], "groups"))
    data = Gold(labels, np.zeros_like(labels), moments_of([], "y"), np.empty(0), known)
    data = data if known is None else replace(data, group_rest=np.empty(0, dtype=np.intp))
    how = check.choice(method, "method", ("auto", "classical"))
    asked = asked_for(
        data,
        bounds=bounds,
        step=step,
        conservative=conservative,
        method=how,
        alternative=alternative,
        null=null,
        min_gold=2,
        confidence_level=confidence_level,
    )
    return _estimate(data, replace(asked, warnings=()), "mean")


def ppi_mean(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    same_scale: bool | None = None,
    binary: bool | None = None,
    conservative: bool = False,
    groups: Labels | None = None,
    groups_unlabeled: Labels | None = None,
    strata: Labels | None = None,
    strata_unlabeled: Labels | None = None,
    weights: ArrayLike | None = None,
    weights_unlabeled: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    folds: Labels | None = None,
    items: Labels | None = None,
    items_unlabeled: Labels | None = None,
    tuned_on_gold: bool = False,
    target: str = "population",
    method: str = "auto",
    alternative: str = "two-sided",
    null: float | None = None,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean human score from a few gold labels and many judge scores, with an interval that holds.

    The judge's mean over all items, less what the labels show it to be wrong by, with the
    judge's scores weighted by a regression slope b:

    .. math:: \hat\theta = \bar y + b \frac{N}{n+N} (\bar f_{rest} - \bar f), \qquad
              b = \frac{S_{fy} + b_0 k s_f^2}{S_{ff} + k s_f^2}

    (PPI++ with lambda = b N / (n + N)). However wrong the judge, this aims at the human mean; a
    good judge makes it precise. `method="auto"` chooses by the data:

    - a bounded score: k = 4, b_0 = 1 on a common scale (else k = 1, b_0 = 0), the larger of the
      usual and the HC3 variance, with one more label that was not seen, off by the distance to the
      farther end of the scale over sqrt(m + 2) where m labels have shown how far off labels lie
      (at least by a `step`); t quantiles by Satterthwaite; Wilson's interval mapped to the scale;
    - no bounds: the same without the unseen label, plus and minus t standard errors;
    - labels 0 and 1 (or the two ends of a scale of two values) and a judge in [0, 1], which is cut
      at .5: the rates where the judge says yes and where it says no, each with Jeffreys' interval,
      put together by the method of variance estimates recovery;
    - `groups`: errors summed over groups (CR1, or its form with leverages where that is larger), t with
      G - 1 degrees of freedom less what the slope takes;
    - `strata`: strata's means weighted by their sizes, one common slope if a stratum has fewer
      than 10 labels, Satterthwaite over strata.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Human labels and judge scores of the gold items; or, without `f_unlabeled`,
        of all items, with NaN in `y` where there is no label.
    f_unlabeled : array_like, shape (N,), or Moments, optional
        Judge scores of the items without a label, not those of the gold items.
    bounds : (float, float), optional
        Smallest and largest score of people's scale.
    step : float, optional
        Distance of neighbouring scale values.
    same_scale : bool, optional
        Whether the judge answers on people's scale. Default: whether its scores lie within `bounds`.
    binary : bool, optional
        Whether labels are yes or no. Default: whether they look so.
    conservative : bool, default False
        For yes or no: Clopper and Pearson's interval instead of Jeffreys'.
    groups, groups_unlabeled : sequence, shape (n,) and (N,), optional
        Items of one group (the source document) are not independent.
    strata, strata_unlabeled : sequence, shape (n,) and (N,), optional
        Gold items were drawn within these.
    weights, weights_unlabeled : array_like, shape (n,) and (N,), optional
        How often each item counts in the population that is meant, as against here (`shift_weights`).
    inclusion : array_like, shape (n,), optional
        Probabilities with which the gold items were chosen for labelling (`choose_items`).
    folds : sequence, shape (n,), optional
        The judge was tuned on the gold labels in folds: `f` is from the judge that did not see the
        item's fold, `f_unlabeled` has shape (N, folds), columns in the folds' sorted order.
    items, items_unlabeled : sequence, shape (n,) and (N,), optional
        Ids, to find items that are on both sides.
    tuned_on_gold : bool, default False
        Say so if the judge or its prompt was chosen with these labels: it becomes a warning.
    target : {"population", "benchmark"}
        The mean over items to come, or over exactly these n + N items (shorter).
    method : str
        "auto"; "classical" (labels alone, t); "judge_only" (its interval is for the judge's own mean);
        "regression" (k = 0, usual variance, t); "ppi" (lambda = 1, t), "ppi++" (lambda tuned without the
        item that it corrects, t); and as other programs compute them "ppi_py", "ares", "glide".
    alternative : {"two-sided", "greater", "less"}
        "greater" gives a lower bound, "less" an upper one.
    null : float, optional
        Gives `p_value`.
    min_gold : int, default 10
        "auto" and "regression" refuse fewer labels: below ten no interval was found that holds.
    confidence_level : float, default 0.95

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        If a judge score is missing, labels are too few or off the scale, lengths differ, or a method
        does not go with a design.

    References
    ----------
    Angelopoulos et al. (2023), Science 382:669-674, and (2023) PPI++, arXiv:2311.01453; Mani et al.
    (2025), arXiv:2505.20178, and Eyre and Madras (2025), arXiv:2411.12665, for few labels; Zou and
    Donner (2008), Statistics in Medicine 27:1693-1702, for variance estimates recovery.

    Examples
    --------
    >>> y = [4, 3, 5, 4, 2, 4, 5, 3, 4, 4]
    >>> f = [4.2, 3.1, 4.9, 4.4, 2.3, 3.8, 4.6, 3.3, 4.1, 3.9]
    >>> result = ppi_mean(y, f, [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3, 2.8, 3.1, 3.7, 4.4], bounds=(1, 5), step=1)
    >>> print(result)
    human mean = 3.713, 95 % CI [3.27, 4.088], from 10 human labels and 22 judge scores (people and judge)
    >>> round(result.width_ratio, 3), result.warnings
    (0.658, ())
    """
    data = gold_of(
        y,
        f,
        f_unlabeled,
        groups=(groups, groups_unlabeled),
        strata=(strata, strata_unlabeled),
        weights=(weights, weights_unlabeled),
        inclusion=inclusion,
        folds=folds,
    )
    asked = asked_for(
        data,
        bounds=bounds,
        step=step,
        same_scale=same_scale,
        binary=binary,
        conservative=conservative,
        target=target,
        method=check.choice(method, "method", _ALL_METHODS),
        alternative=alternative,
        null=null,
        min_gold=min_gold,
        confidence_level=confidence_level,
    )
    check.same_length(y=data.y if f_unlabeled is not None else np.asarray(y), items=items)
    if items_unlabeled is not None and len(items_unlabeled) != data.n_rest:
        raise ArgumentError(
            "items_unlabeled", "must have the length of {0}", f"got {len(items_unlabeled)}", mentions=("f_unlabeled",)
        )
    said = tuned(tuned_on_gold) + overlap(items, items_unlabeled)
    return _estimate(data, replace(asked, warnings=said + asked.warnings), "mean")


def ppi_difference(
    y_a: ArrayLike,
    y_b: ArrayLike,
    f_a: ArrayLike,
    f_b: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    groups: Labels | None = None,
    groups_unlabeled: Labels | None = None,
    target: str = "population",
    method: str = "auto",
    alternative: str = "two-sided",
    null: float = 0.0,
    min_gold: int = 10,
    confidence_level: float = 0.95,
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
    groups, groups_unlabeled, target, method, alternative, min_gold, confidence_level
        As for `ppi_mean`.
    null : float, default 0.0
        `p_value` is for this difference.

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        As `ppi_mean`.

    Examples
    --------
    >>> nan = float("nan")
    >>> result = ppi_difference([4, 5, 4, nan, nan], [3, 3, 4, nan, nan],
    ...                         [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3], method="ppi")
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
    data = gold_of(first - second, judge_a - judge_b, f_unlabeled, groups=(groups, groups_unlabeled))
    asked = asked_for(
        data,
        bounds=None if width is None else (-width, width),
        step=step,
        binary=False,
        target=target,
        method=check.choice(method, "method", _ALL_METHODS),
        alternative=alternative,
        null=null,
        min_gold=min_gold,
        confidence_level=confidence_level,
    )
    return _estimate(data, asked, "mean difference")


# --- from the gold and the rest to the estimate -----------------------------------------------------------------


class _Found(NamedTuple):
    point: float
    error: float
    df: float
    lam: float
    method: str
    law: Law


def _estimate(data: Gold, asked: Asked, what: str) -> MeanEstimate:
    judge_only = asked.method == "judge_only"
    found = _judge_alone(data) if judge_only else _found(data, asked)
    known = found.error > 0 or (asked.finite and not data.n_rest)
    ratio = 1.0 if asked.method == "classical" else np.nan if judge_only else _width_ratio(data, asked, found)
    n = 0 if judge_only else len(data.y)
    ask = known and not np.isnan(asked.null)
    return MeanEstimate(
        estimate=found.point,
        std_error=found.error,
        # labels that do not vary say nothing about their spread: no interval is better than one of width 0
        interval=interval_of(found.law, asked.level, asked.alternative) if known else Interval(np.nan, np.nan),
        confidence_level=asked.level,
        alternative=asked.alternative,
        method=found.method,
        estimand=f"{'judge' if judge_only else 'human'} {what}",
        target="benchmark" if asked.finite else "population",
        df=found.df,
        null=asked.null,
        p_value=p_value_of(found.law, asked.null, asked.alternative) if ask else np.nan,
        lam=found.lam,
        width_ratio=ratio,
        effective_n=n / ratio**2 if ratio else np.inf,
        labels_saved=n / ratio**2 - n if ratio else np.inf,
        n_gold=n,
        n=data.n,
        n_groups=0 if judge_only else data.n_groups,
        design=_design(data),
        warnings=asked.warnings,
    )


def _design(data: Gold) -> str:
    if data.stratum is not None:
        return "strata"
    return "weighted" if data.weighted else "groups" if data.grouped else "items"


def _found(data: Gold, asked: Asked) -> _Found:
    if asked.method == "classical" and (asked.finite or data.stratum is not None or data.weighted):
        t = replace(asked, method="auto", bounds=None, binary=False)
        return _found(_blind(data), t)._replace(method="classical", lam=0.0)
    if asked.method in METHODS:
        law, lam = published(data, asked.method)
        return _Found(float(law.point), float(law.error), float(law.df), lam, asked.method, law)
    if asked.method == "regression":
        parts = _independent(data, Rule(0, 0), robust=False, finite=False)
        return _from_parts(parts, replace(asked, bounds=None), "regression")
    if asked.binary:
        return _proportions(data, asked)
    rule = Rule.on(asked.bounds, asked.step, same_scale=asked.same_scale)
    if data.stratum is not None:
        parts = _stratified(data, rule, asked.finite)
    elif data.grouped or data.weighted:
        parts = clustered(_sample(data), rule, finite=asked.finite)
    else:
        parts = _independent(data, rule, robust=True, finite=asked.finite)
    method = "t-ppi" if asked.bounds is None else "wilson-ppi"
    return _from_parts(parts, asked, method if data.n_rest else _ALONE[method])


def _independent(data: Gold, rule: Rule, *, robust: bool, finite: bool) -> Parts:
    one = Moments(*(np.atleast_1d(getattr(data.rest, name)) for name in Moments.__slots__))
    judge = data.f if data.n_rest else np.zeros_like(data.y)  # nothing to correct: the labels alone
    return ridge(data.y, judge, np.zeros(len(data.y), dtype=np.intp), one, rule, robust=robust, finite=finite)


def _from_parts(parts: Parts, asked: Asked, method: str) -> _Found:
    point, variance = float(parts.point[0]), float(parts.variance[0])
    df = float(parts.satterthwaite[0])
    if asked.bounds is None:
        law: Law = Student(point, np.sqrt(variance), df)
    else:
        point = float(np.clip(point, *asked.bounds))
        law = Score(point, variance, df, float(parts.n[0]), asked.bounds)
    return _Found(point, float(np.sqrt(variance)), df, float(parts.weight[0]), method, law)


def _sample(data: Gold) -> Sample:
    n, rest = len(data.y), np.asarray(data.loose(), dtype=float)
    group = np.arange(n) if data.group is None else data.group
    group_rest = n + np.arange(len(rest)) if data.group_rest is None else data.group_rest
    weight = np.ones(n) if data.weight is None else data.weight
    weight_rest = np.ones(len(rest)) if data.weight_rest is None else data.weight_rest
    return Sample(data.y, data.f, rest, group, group_rest, data.label_weight, np.concatenate([weight, weight_rest]))


def _stratified(data: Gold, rule: Rule, finite: bool) -> Parts:
    """The strata's corrected means, weighted by their sizes."""
    assert data.stratum is not None
    assert data.stratum_rest is not None
    sets = 1 + int(max(data.stratum.max(initial=-1), data.stratum_rest.max(initial=-1)))
    labels = np.bincount(data.stratum, minlength=sets)
    if labels.min() < 2:
        raise ArgumentError("strata", "must have two labels each at least", f"one has {labels.min()}: merge it")
    rest = Moments.from_chunks([(data.loose(), data.stratum_rest)], n_systems=sets)
    each = ridge(data.y, data.f, data.stratum, rest, rule, strata=True, finite=finite)
    share = (each.n + each.rest) / data.n
    point = float(share @ each.point)
    # a sample of the population also has its strata's sizes by chance
    between = 0.0 if finite else float(share @ (each.point - point) ** 2) / data.n
    residual, judge = float(share**2 @ each.residual), float(share**2 @ each.judge) + between
    spread = np.sum(share**4 * (each.residual**2 / each.df + each.judge**2 / (each.n + each.rest - 1)))
    df = (residual + judge) ** 2 / float(spread) if spread > 0 else float(len(data.y) - sets)
    return Parts.of_one(
        point, residual, judge, df, float(share @ each.slope), float(share @ each.weight), len(data.y), data.n_rest
    )


def _proportions(data: Gold, asked: Asked) -> _Found:
    """Yes or no: the rate where the judge says yes and the rate where it says no, by their shares."""
    assert asked.bounds is not None
    low, high = asked.bounds
    cut = low + CUT * (high - low)
    yes, said = data.y == high, data.f >= cut
    rest_yes = data.rest_above(cut)
    counts = (
        int(np.sum(yes & said)), int(said.sum()), int(np.sum(yes & ~said)), int((~said).sum()),
        rest_yes, data.n_rest - rest_yes,
    )  # fmt: skip

    def ends(tail: float) -> tuple[float, float]:
        found = post_stratified(*counts, 1 - 2 * tail, conservative=asked.conservative, finite=asked.finite)
        return low + (high - low) * float(found[1]), low + (high - low) * float(found[2])

    point = float(post_stratified(*counts, asked.level, finite=asked.finite)[0])
    error = (high - low) * float(posterior_error(*counts, finite=asked.finite))
    method = "mover-clopper-pearson" if asked.conservative else "mover-jeffreys"
    name = method if data.n_rest else _ALONE[method]
    return _Found(low + (high - low) * point, error, np.nan, np.nan, name, Numeric(ends, asked.bounds))


def posterior_error(
    k1: ArrayLike,
    n1: ArrayLike,
    k0: ArrayLike,
    n0: ArrayLike,
    rest1: ArrayLike,
    rest0: ArrayLike,
    *,
    finite: bool,
) -> Floats:
    """Standard deviation with Jeffreys' posterior for both rates: not 0 where the judge made no error yet."""
    yes, gold, rest = (np.stack(pair).astype(float) for pair in ((k1, k0), (n1, n0), (rest1, rest0)))
    n = (gold + rest).sum(axis=0)
    share = (gold + rest) / n
    a, b = yes + 0.5, gold - yes + 0.5
    spread, rates = a * b / (a + b) ** 2 / (a + b + 1), a / (a + b)
    unknown = rest / np.maximum(gold + rest, 1) if finite else 1.0
    drawn = 0.0 if finite else (rates[0] - rates[1]) ** 2 * share[0] * share[1] / n
    return np.asarray(np.sqrt((share**2 * spread * unknown).sum(axis=0) + drawn))


def _judge_alone(data: Gold) -> _Found:
    """The judge's own mean, over all items."""
    everywhere = data.rest.merge(moments_of(data.f, "f"))
    if data.group is not None and data.group_rest is not None:
        scores = np.concatenate([data.f, np.asarray(data.loose(), dtype=float)])
        group: Codes = np.concatenate([data.group, data.group_rest])
        every = Gold(scores, scores, moments_of([], "f"), np.empty(0), group, np.empty(0, dtype=np.intp))
        law, _ = published(every, "classical")
    else:
        n = int(everywhere.n)
        law = Student(float(everywhere.mean), np.sqrt(float(everywhere.variance) / n), n - 1)
    return _Found(float(law.point), float(law.error), float(law.df), 1.0, "judge_only", law)


def _blind(data: Gold) -> Gold:
    """The same labels and design with a judge that says nothing."""
    rest = Moments(data.rest.n, *(np.zeros(()) for _ in range(4)))
    loose = None if data.scores_rest is None else np.broadcast_to(0.0, data.n_rest)
    return replace(data, f=np.zeros_like(data.f), rest=rest, scores_rest=loose)


def _width_ratio(data: Gold, asked: Asked, found: _Found) -> float:
    """Width over that of the labels alone, by the same kind of interval and at the same level."""
    if not data.n_rest:
        return 1.0
    method = asked.method if asked.method == "auto" else "classical"
    tail = (1 - asked.level) / 2
    laws = (found.law, _found(_blind(data), replace(asked, method=method)).law)
    mine, theirs = (float(law.high(tail) - law.low(tail)) for law in laws)
    return mine / theirs if theirs > 0 else np.nan
