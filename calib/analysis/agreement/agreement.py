"""Agreement of two raters: a coefficient over items, within groups or over systems, and its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.agreement import levels, spread as spreads
from calib.analysis.agreement.coefficients import PAIR_SUMS, SHARES, WithCoefficient, named_coefficient
from calib.analysis.agreement.levels import AgreementDesign, average, design_of, estimate
from calib.analysis.agreement.scales import comparable, scale_caution
from calib.core import check
from calib.core.check import Floats, Labels
from calib.core.result import Estimate, bracket, short

ESTIMATED = "estimate std_error interval p_value n n_missing n_groups n_systems n_skipped"
_FEW_RANKED = 10  # systems; in simulations the interval of their ranks covers 97 % and more below it
_REVERSED = -0.3  # from here down an agreement looks like one of scales that run in opposite directions
MANY_LACK = 0.05  # share of the items that a judge left without a score from which there is a warning


def _convention(level: str, missing: str, *coefficients: str) -> tuple[dict[str, str], ...]:
    return tuple({"level": level, "coefficient": c, "constant": "skip", "missing": missing} for c in coefficients)


# whole conventions of published tables: what each computes, at which level, and what it does with constants and gaps
CONVENTIONS = {
    "geval": _convention("group", "zero", "pearson", "spearman", "kendall"),
    "unieval": _convention("item", "drop", "pearson", "spearman", "kendall"),
    "bartscore": _convention("group", "drop", "spearman", "kendall"),
    "summeval": _convention("system", "drop", "kendall"),
    "chiang-lee": (*_convention("item", "drop", "pearson"), *_convention("group", "drop", "kendall")),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """The pairs of a result, for pictures: scores, labels, and the coefficient inside each group."""

    x: Floats
    y: Floats
    group: NDArray[Any] | None
    system: NDArray[Any] | None
    within: dict[Any, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementResult(WithCoefficient, Estimate):
    """What an agreement and the difference of two have in common.

    Attributes
    ----------
    std_error, p_value : float
        Two-sided, of "no correlation" or "no difference".
    level, coefficient, interval_method : str
    generalises_to : str
        What the interval speaks about: new groups and new systems, new groups and these systems, new items.
    reason : str
        Why there is no interval, in words; empty where there is one.
    df : float
        Degrees of freedom of the t quantile; infinite for a normal one, NaN without one.
    n, n_groups, n_systems : int
        Items, groups and systems in use.
    n_missing, missing : int, str
        Items in which a score was missing, and what was done with a judge's: "drop" or "zero".
    systems_are : str
        "fixed" where the systems are the ones in question, "random" where they stand for others; empty without any.
    n_skipped, constant : int, str
        Groups without a coefficient, as a rater gives a single value there, and what was done: "skip" or "zero".
    """

    std_error: float
    p_value: float
    level: str
    coefficient: str
    interval_method: str
    generalises_to: str
    reason: str
    df: float
    n: int
    n_missing: int
    missing: str
    n_groups: int
    n_systems: int
    systems_are: str
    n_skipped: int
    constant: str

    @property
    def bracket(self) -> str:
        """The interval in words, or why there is none."""
        words = bracket(self.interval, self.confidence_level)
        return f"{words}: {self.reason}" if self.reason else words

    @property
    def _design_terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"ci": self.interval_method.replace(" ", "-"), "cl": self.confidence_level, "n": self.n}
        terms |= {"missing": self.n_missing, "rule": "missing-as-zero" if self.missing == "zero" else None}
        terms |= {"groups": self.n_groups or None, "systems": self.n_systems or None}
        terms |= {"systems-are": self.systems_are or None}
        return terms | ({"constant": self.constant, "skipped": self.n_skipped} if self.level == "group" else {})

    @property
    def _fixed(self) -> str:
        """Systems that the interval takes as they are, as a part of a list."""
        if self.systems_are != "fixed" or np.isnan(self.interval.low):
            return ""
        return ", this system" if self.n_systems == 1 else f", these {self.n_systems} systems"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(AgreementResult):
    """Agreement of two raters.

    Attributes
    ----------
    p_value : float
        Of "no correlation": scipy's test where the pairs are independent, the t test that goes with the interval where
        groups or systems repeat; else NaN.
    estimate_other, estimate_other_missing : float
        The estimate under the other rule for constant groups, and under that for a judge's missing scores.
    ties_x, ties_y : float
        Share of pairs tied in x and in y: of all pairs, those within groups, or the system means, as the level is.
    levels_x, levels_y : int
        Distinct scores.
    sample : Sample
    """

    estimate_other: float
    estimate_other_missing: float
    ties_x: float
    ties_y: float
    levels_x: int
    levels_y: int
    sample: Sample = field(repr=False, compare=False)

    _cells = (
        f"level coefficient {ESTIMATED} estimate_other estimate_other_missing "
        "ties_x ties_y levels_x levels_y interval_method generalises_to"
    )

    def _terms(self) -> dict[str, Any]:
        return {self.coefficient: True, "weights": self._weights, "level": self.level, **self._design_terms}

    def __str__(self) -> str:
        unit = {"item": self.n, "group": self.n_groups, "system": self.n_systems}[self.level]
        k = self.n_skipped if self.constant == "skip" else 0
        skipped = f", {k} group{'s' * (k != 1)} without a correlation left out" if k else ""
        return f"{self._measured} = {short(self.estimate)}, {self.bracket} (n = {unit}{self._fixed}{skipped})"


def agreement(
    x: ArrayLike,
    y: ArrayLike,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    systems_are: str = "auto",
    level: str = "item",
    method: str = "spearman",
    interval: str = "auto",
    constant: str = "skip",
    missing: str = "drop",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
    coefficient: str | None = None,
) -> Agreement:
    r"""Agreement of a judge with people's labels (or of any two raters) at one of three levels.

    ``"item"`` takes all pairs; ``"group"`` takes each group (the source document) for itself and averages, the "summary
    level" of the summarisation literature; ``"system"`` takes the means of the systems.

    The interval follows from the design. With `groups` and `systems` it is the two-way jackknife, which generalises to
    new documents *and* new systems,

    .. math:: V = \frac{m-1}{m} \sum_i (\theta_{(-i)} - \bar\theta)^2
                + \frac{n-1}{n} \sum_j (\theta_{(-j)} - \bar\theta)^2
                - \frac{C-1}{C} \sum_{ij} (\theta_{(-ij)} - \bar\theta)^2

    over m systems, n groups and the C observed cells, with t quantiles of min(m, n) - 1 degrees of freedom. V is at
    least the smaller of its first two terms, each of which holds the cell noise once, and at level "system" the first,
    because system means are exchangeable given the groups. With one of the two factors it is the one-way jackknife over
    its units; with neither, the jackknife over items. Spearman, Pearson and kappa have their interval on Fisher's z
    scale, with the half-width over 1 - r^2; over items tau-b and gamma, too, where more than half of the pairs are
    tied. Where most items have one score and fewer than twenty another (with a warning), or items are fewer than ten,
    the interval of independent items is at least Fisher's. A share has Wilson's interval: of n answers where items are
    independent, else of as many as the jackknife's variance leaves of them.

    Of independent items, up to 2,000, the end away from 0 has the variance

    .. math:: V + (\theta_{(+1)} - \theta)^2,

    where :math:`\theta_{(+1)}` is the coefficient with one more item, to which both raters give the lowest score
    seen, or both the highest, whichever moves it further (below 0 one the lowest and one the highest): where most
    labels are at the top, a sample seldom has such an item. For kappa it is the upper end always, and unweighted the
    item has the rarest label. Tau, gamma and unweighted kappa hold the values :math:`\vartheta` within t errors that
    shrink towards 1, :math:`(\vartheta - \theta)^2 \le t^2 V (1 - \vartheta^2) / (1 - \theta^2)`, as Wilson's
    interval of a share does.

    No sample shows failures that it does not hold. Where one more item, to which one rater gives the lowest score and
    the other the highest, would take the coefficient below the interval, there is the warning ``rare_failures``.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Scores of the two raters; a pair with a NaN is left out and counted. Names, as strings, for the coefficients
        that need no order: "kappa_nominal" and "exact".
    groups, systems : sequence, shape (n,), optional
        Which document and which system an item belongs to. They are part of the design whatever the level: repeated
        groups make items dependent.
    systems_are : {"auto", "fixed", "random"}, default "auto"
        ``"fixed"``: the question is about these systems, and only groups (or items) are a sample; ``"random"``: they
        are a sample of such systems; ``"auto"``: fixed below six.
    level : {"item", "group", "system"}, default "item"
    method, coefficient : str, default "spearman"
        ``"spearman"``, ``"pearson"``; ``"kendall"`` (tau-b), ``"kendall_a"``, ``"kendall_c"``, ``"gamma"`` (Goodman and
        Kruskal); ``"pairs"``, the share of pairs that both order alike or both tie (acc_eq); ``"kappa"`` (quadratic
        weights), ``"kappa_nominal"`` (Cohen's, without weights, also for names), and ``"exact"`` and ``"adjacent"``,
        the shares of scores that are equal and that are at most 1 apart, for two raters on one scale; ``"spa"``, soft
        pairwise accuracy, at level "system" with `groups`. `coefficient` is the same under its own name, and wins.
    interval : str, default "auto"
        ``"auto"`` as above, ``"none"``, or a percentile bootstrap: ``"boot-both"`` draws groups and systems and speaks
        about new ones of both (it is too wide where cell noise rules), ``"boot-groups"`` ("boot-inputs") about new
        groups and these systems, ``"boot-systems"`` about new systems and these groups, ``"boot-items"`` takes items as
        independent, and warns where groups or systems repeat.
    constant : {"skip", "zero"}, default "skip"
        A group in which one rater gives a single value has no correlation: leave it out, as the published tables do, or
        count it as 0. The count and the estimate under the other rule are part of the result.
    missing : {"drop", "zero"}, default "drop"
        What a missing score in `x` is: left out, or 0, as in some published scripts.
    confidence_level : float, default 0.95
        How often the interval is to hold.
    n_resamples : int, default 9999
        How many resamples a bootstrap or a permutation test takes.
    rng : Generator or int, optional
        For the bootstraps.

    Raises
    ------
    ValueError
        If names meet a coefficient of order, or scores that are compared for the same value (kappa, exact, adjacent)
        cannot be on one scale.

    References
    ----------
    Deutsch, Dror and Roth (2021), TACL 9:1132-1146, for the levels and resampling both factors. Cameron, Gelbach and
    Miller (2011), JBES 29:238-249, for the sum of two one-way variances less the cell variance; its jackknife form is
    used here. Wilson (1927), JASA 22:209-212, for errors that shrink; Chen, Variyath and Abraham (2008), JCGS
    17:426-443, for an observation added to a small sample, there in another role. Deutsch, Foster and Freitag (2023),
    EMNLP, for pairwise accuracy with ties. Kendall (1970), Rank Correlation Methods, for the three taus. How far the
    intervals hold: paper_repro/agreement_coverage in the repository.

    Examples
    --------
    >>> result = agreement([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], method="kendall")
    >>> float(round(result.estimate, 3)), result.n
    (0.6, 6)
    >>> two = agreement([1, 2, 3, 1, 3, 2], [1, 2, 3, 1, 2, 3], groups=list("aaabbb"), level="group")
    >>> two.estimate, two.n_groups
    (0.75, 2)
    """
    named = named_coefficient(method, coefficient)
    check.choice(interval, "interval", ("auto", "none", *spreads.BOOTSTRAPS))
    spreads.refuse_new_systems(systems_are, interval, "interval")
    confidence = checked_agreement_options(constant, missing, confidence_level, n_resamples)
    rules: dict[str, Any] = {"level": level, "coefficient": named, "constant": constant, "missing": missing}
    options = rules | {"groups": groups, "systems": systems, "systems_are": systems_are}
    scores, labels = comparable(named, x=x, y=y)
    whole, keep = design_of(scores, labels, **options)
    design = levels.condensed_groups(whole)
    levels.check_level(design, "method" if coefficient is None else "coefficient")
    correlations = levels.within(design) if level == "group" else np.array([])
    value = other = average(correlations, constant) if level == "group" else estimate(design)
    if level == "group":
        other = average(correlations, "zero" if constant == "skip" else "skip")
    value_other_missing = value
    if np.isnan(scores).any():
        other_rule = {"missing": "drop" if missing == "zero" else "zero"}
        value_other_missing = estimate(levels.condensed_groups(design_of(scores, labels, **options | other_rule)[0]))
    used = design
    if level == "group" and constant == "skip" and not np.isfinite(correlations).all():
        # groups without a correlation are no part of the estimate, nor of its degrees of freedom
        used = design.only(np.isfinite(correlations)[design.group])
    spread, warnings = spreads.spread_of_estimate(used, value, interval, n_resamples, rng)
    ends = spread.interval(value, confidence)
    low = ends.low if spread.resamples is None else np.nan
    warnings += _agreement_cautions(design, value, correlations, low) + scale_caution(named, whole.x, whole.y)
    warnings += unread_cautions({"the judge": scores}, labels) if missing == "drop" else ()
    group, system = (None if v is None else np.array([*v, None], dtype=object)[:-1][keep] for v in (groups, systems))
    names = [] if group is None or level != "group" else list(dict.fromkeys(group))
    return Agreement(
        estimate=value, std_error=spread.std_error, interval=ends,
        p_value=spreads.no_correlation_test(used, value, spread), confidence_level=confidence,
        generalises_to=spread.speaks_of,
        reason=spreads.no_interval_reason(used, value, interval) if interval != "none" and np.isnan(ends.low) else "",
        systems_are=systems_role(design, interval), n_missing=int(np.isnan(scores + labels).sum()),
        n_skipped=int(np.isnan(correlations).sum()), estimate_other=other, estimate_other_missing=value_other_missing,
        warnings=warnings,
        sample=Sample(whole.x, whole.y, group, system, dict(zip(names, correlations.tolist(), strict=False))), **rules,
        **levels.ties_of(design), **spread.made_over(design) | {"n_groups": used.n_groups},
    )  # fmt: skip


def checked_agreement_options(constant: str, missing: str, confidence_level: float, n_resamples: int) -> float:
    """The confidence level, after the rules that agreement and comparison share."""
    check.choice(constant, "constant", ("skip", "zero"))
    check.choice(missing, "missing", ("drop", "zero"))
    check.whole(n_resamples, "n_resamples", least=1)
    return check.probability(confidence_level, "confidence_level")


def systems_role(design: AgreementDesign, interval: str) -> str:
    """What the interval takes the systems as: a bootstrap says which factors it draws; empty where there are none."""
    if design.system is None:
        return ""
    if interval not in spreads.BOOTSTRAPS:
        return "fixed" if design.fixed else "random"
    return "random" if "systems" in spreads.BOOTSTRAPS[interval][0] else "fixed"


def unread_cautions(judges: Mapping[str, Floats], labels: Floats) -> tuple[str, ...]:
    """How many of the labelled items each judge left without a score, if these are many."""
    labelled = np.isfinite(labels)
    n = int(labelled.sum())
    lacks = {name: int((labelled & np.isnan(x)).sum()) for name, x in judges.items()}
    some = ", ".join(f"{name} has no score for {k} of {n}" for name, k in lacks.items() if k > MANY_LACK * n)
    return (f"items_left_out: {some} labelled items",) if some else ()


def reversed_cautions(agreements: Mapping[str, float], coefficient: str) -> tuple[str, ...]:
    """Where the higher score of one may be the lower of the other."""
    if coefficient in (*SHARES, "kappa_nominal"):
        return ()
    low = ", ".join(f"{name} {short(value)}" for name, value in agreements.items() if value <= _REVERSED)
    return (f"negative_agreement: {low}; does one of the two scales run the other way?",) if low else ()


def _agreement_cautions(design: AgreementDesign, value: float, correlations: Floats, low: float) -> tuple[str, ...]:
    """Warnings that stand in the result and are not raised; `low` is the lower end of a jackknife's interval."""
    cautions = reversed_cautions({"the judge": value}, design.coefficient)
    skipped, k = int(np.isnan(correlations).sum()), len(correlations)
    if design.level == "group" and 2 * skipped > k:
        distinct = (np.unique([design.group, v], axis=1)[0].astype(int) for v in (design.x, design.y))
        judge, labels = (int((np.bincount(groups) == 1).sum()) for groups in distinct)
        text = f"constant_groups: only {k - skipped} of {k} groups have a coefficient: the judge gives one value in "
        return (*cautions, f"{text}{judge} of them, people in {labels}")
    if not np.isfinite(low):
        return cautions
    ranks = design.coefficient in ("spearman", *PAIR_SUMS)
    if design.level == "system" and ranks and design.n_systems < _FEW_RANKED:
        text = f"few_systems: ranks of {design.n_systems} systems take few values: the jackknife's interval is too "
        return (*cautions, f"{text}long; see that of Pearson, or boot-systems")
    if few := spreads.few_unlike(design):
        text = f"few_that_differ: all but {few} items have the commonest score"
        cautions += (f"{text}; the interval rests on these and is often too short",)
    if design.one_counts and value > 0 and design.coefficient != "kappa_nominal":
        # one item that the judge gets wrong in full: no sample shows what it lacks
        worst = float(levels.with_one_more(design, agreeing=False).min())
        if worst < low:
            text = f"rare_failures: one more item, as wrong as can be, would make it {short(worst)}, below the interval"
            cautions += (f"{text}, which says nothing of failures too rare to be among these items",)
    return cautions
