"""The alternative annotator test: whether a judge may stand in for a person, beside a judge that never looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.analysis.agreement import scales
from calib.analysis.agreement.agreement import agreement
from calib.analysis.agreement.coefficients import sample_correlation
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import row_means
from calib.core.result import Result, short

_FEW_ITEMS = 30  # items below which the t test of 0s and 1s is not to be trusted (section 3 of Calderon et al.)


class ExcludedAnnotator(NamedTuple):
    """The judge against one annotator by the others: shares of n items, which both count a tie, and the test."""

    annotator: int
    n: int
    judge_wins: float
    annotator_wins: float
    p_value: float
    p_adjusted: float
    rejected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AltTest(Result):
    """Alternative annotator test of a judge, and the numbers without which it misleads.

    Attributes
    ----------
    winning_rate, passes : float, bool
        Share of the annotators against whom the judge holds, omega; whether that is at least one half.
    advantage : float
        How often the judge is as close to the others as the excluded annotator, or closer; the mean over annotators.
    constant, constant_winning_rate, constant_advantage : float or str, float, float
        The label that has the largest advantage where all items get it, and what a judge has that gives it to all.
    rank_agreement, kappa : float
        Spearman rho of the judge with the mean of annotators (NaN for a constant judge); under "accuracy", where labels
        are names, unweighted kappa of the judge with an annotator, the mean over annotators.
    verdict : str
        All of it in words.
    warnings : tuple of str
    annotators : tuple of ExcludedAnnotator
    epsilon, q : float
    score : str
        "accuracy" or "rmse".
    n, n_dropped, n_groups : int
        Items with the judge and two or more annotators; items without.
    """

    winning_rate: float
    passes: bool
    advantage: float
    constant: float | str
    constant_winning_rate: float
    constant_advantage: float
    rank_agreement: float
    kappa: float
    verdict: str
    warnings: tuple[str, ...]
    annotators: tuple[ExcludedAnnotator, ...]
    epsilon: float
    q: float
    score: str
    n: int
    n_dropped: int
    n_groups: int

    def _rows(self) -> list[dict[str, Any]]:
        judge = {"judge": "judge", "winning_rate": self.winning_rate, "advantage": self.advantage}
        name, value = ("spearman", self.rank_agreement) if self.score == "rmse" else ("unweighted_kappa", self.kappa)
        judge |= {"passes": self.passes, name: value, "n": self.n}
        label = self.constant if isinstance(self.constant, str) else short(self.constant)
        constant = {"judge": f"always {label}", "winning_rate": self.constant_winning_rate}
        constant |= {"advantage": self.constant_advantage, "passes": self.constant_winning_rate >= 0.5}
        return [judge, constant | {name: float("nan"), "n": self.n}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"alt-test": True, "score": self.score, "epsilon": self.epsilon, "by": self.q}
        terms |= {"annotators": len(self.annotators), "n": self.n, "dropped": self.n_dropped}
        return terms | {"groups": self.n_groups or None}

    def __str__(self) -> str:
        rank = "" if np.isnan(self.rank_agreement) else f"; Spearman with people {short(self.rank_agreement)}"
        rank += "" if np.isnan(self.kappa) else f"; unweighted kappa with a person {short(self.kappa)}"
        return f"{self.verdict} (epsilon {short(self.epsilon)}, n = {self.n}{rank})"


def alternative_annotator_test(
    judge: ArrayLike,
    ratings: ArrayLike,
    *,
    epsilon: float = 0.2,
    score: str = "auto",
    groups: Labels | None = None,
    q: float = 0.05,
) -> AltTest:
    r"""Whether a judge may stand in for an annotator (Calderon, Reichart and Dror, 2025).

    Each annotator j is left out in turn. On every item the judge f and j are compared with the remaining annotators by
    S, the share of equal labels (accuracy) or minus the root mean squared difference (rmse):
    :math:`W^f = 1\{S_f \ge S_j\}`, :math:`W^j = 1\{S_j \ge S_f\}`. A one-sided t test over items asks whether
    :math:`E(W^j - W^f) < \varepsilon`; Benjamini-Yekutieli at level q goes over the annotators. The winning rate is the
    share of rejections; one half passes. The advantage is the mean of :math:`W^f` over items, then over annotators.

    **Never read it alone.** Where most labels are the same, a judge that gives this one label to everything is as close
    to people as people are. So the best constant judge is tested along, and the rank agreement (for names an unweighted
    kappa) shows whether the judge tells items apart at all. Both want one criterion at a time: over pooled criteria
    every constant is bad and every rank agreement good.

    Parameters
    ----------
    judge : array_like, shape (n_items,)
        Numbers, or names as strings; items where it is missing (NaN, None) are left out.
    ratings : array_like, shape (n_items, n_annotators)
        Of the same kind; NaN or None where an annotator did not rate.
    epsilon : float, default 0.2
        What the judge saves, as a handicap for people: .2 against experts, .15 against skilled annotators, .1 against a
        crowd.
    score : {"auto", "accuracy", "rmse"}, default "auto"
        ``"auto"`` is accuracy for names, rmse for numbers. Numbers that only stand for names need ``"accuracy"``, under
        which nothing is said of an order.
    groups : sequence, shape (n_items,), optional
        Which items belong together. The paper's test takes items as independent; where they share a document or a
        system the p-values are too small. With `groups` the standard error is that of clusters, with (number of groups)
        - 1 degrees of freedom.
    q : float, default 0.05

    Raises
    ------
    ValueError
        If an annotator shares fewer than two items (or groups) with judge and others, or judge and people cannot be on
        one scale or have no name in common.

    References
    ----------
    Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, ACL, section 3. Benjamini and
    Yekutieli (2001), Annals of Statistics 29:1165-1188.

    Examples
    --------
    >>> people = [[5, 5, 4]] * 20 + [[5, 5, 5]] * 20
    >>> result = alternative_annotator_test([5] * 39 + [4], people)
    >>> result.winning_rate, round(result.advantage, 4), result.constant
    (1.0, 0.975, 5.0)
    >>> print(result.verdict.partition(": ")[2])
    the test says nothing for this judge.
    """
    labels, names = scales.coded({"judge": judge, "ratings": ratings})
    scores, table = check.array(labels["judge"], "judge", ndim=1), check.array(labels["ratings"], "ratings", ndim=2)
    if names:
        scales.refuse_other_names("judge", scores, "ratings", table, names)
    else:
        scales.refuse_scales_of_raters(table)
        scales.refuse_other_scale("judge", scores, "ratings", table, "to be as close as people are")
    check.same_length(ratings=table, judge=scores, groups=groups)
    if table.shape[1] < 3:
        raise ArgumentError("ratings", "must have at least 3 columns, one for each annotator", f"got {table.shape[1]}")
    check.choice(score, "score", ("auto", "accuracy", "rmse"))
    if names and score == "rmse":
        raise ArgumentError("score", "must be 'accuracy' for names", "got 'rmse'")
    kind = score if score != "auto" else "accuracy" if names else "rmse"
    if not 0 <= epsilon < 1:
        raise ArgumentError("epsilon", "must be at least 0 and below 1", f"got {epsilon!r}")
    group = None if groups is None else check.codes(groups, "groups")
    keep = np.isfinite(scores) & (np.isfinite(table).sum(axis=1) > 1)
    judged, table, group = scores[keep], table[keep], None if group is None else group[keep]
    options: dict[str, Any] = {"score": kind, "epsilon": float(epsilon), "q": check.probability(q, "q"), "group": group}
    rate, advantage, annotators = _against_each(judged, table, **options)
    labels_used = np.unique(table[np.isfinite(table)]).tolist()
    constants = [(label, *_against_each(np.full(len(table), label), table, **options)[:2]) for label in labels_used]
    constant, constant_rate, constant_advantage = max(constants, key=lambda one: one[2])
    label = names[int(constant)] if names else constant
    rank = kappa = float("nan")
    if kind == "rmse":
        rank = agreement(judged, np.nanmean(table, axis=1), interval="none").estimate
    else:
        pairs = [(judged[rated], column[rated]) for rated, column in zip(np.isfinite(table.T), table.T, strict=True)]
        kappa = float(row_means(np.array([sample_correlation(*pair, "kappa_nominal") for pair in pairs])))
    doubt = () if names else scales.unlike_ranges("the test", scores, table)
    few = f"items to compare, below {_FEW_ITEMS}: the t test is not to be trusted"
    thin = tuple(f"few_items: annotator {a.annotator} has {a.n} {few}" for a in annotators if a.n < _FEW_ITEMS)
    rates = (rate, advantage), (constant_rate, constant_advantage)
    here, there = (f"(winning rate {short(won)}, advantage {short(ahead)})" for won, ahead in rates)
    verdict = f"The judge {'passes' if rate >= 0.5 else 'does not pass'} {here}"
    always = label if isinstance(label, str) else short(label)
    if constant_advantage >= advantage:
        joint = "but" if rate >= 0.5 else "and"
        verdict += f", {joint} a judge that always says {always} does as well or better {there}: "
        verdict += "the test says nothing for this judge."
    elif constant_rate >= 0.5:
        verdict += f", and so does always {always} {there}: to pass says little here."
    else:
        verdict += f"; always {always} does worse {there}."
    return AltTest(
        winning_rate=rate, passes=rate >= 0.5, advantage=advantage, constant=label, constant_winning_rate=constant_rate,
        constant_advantage=constant_advantage, rank_agreement=rank, kappa=kappa, verdict=verdict, warnings=doubt + thin,
        annotators=annotators, epsilon=float(epsilon), q=float(q), score=kind, n=len(table),
        n_dropped=int((~keep).sum()), n_groups=0 if group is None else len(np.unique(group)),
    )  # fmt: skip


def _against_each(
    judge: Floats, table: Floats, *, score: str, epsilon: float, q: float, group: Codes | None
) -> tuple[float, float, tuple[ExcludedAnnotator, ...]]:
    """Winning rate, advantage, and the test against each annotator: how likely so small a mean loss is at epsilon."""
    # equal distances that were rounded differently tie
    dust = 1e-12 * float(np.nanmax(table) - np.nanmin(table)) ** 2 if len(table) else 0.0
    rows = []
    for j, column in enumerate(table.T):
        place = np.flatnonzero(np.isfinite(column))
        others = np.delete(table[place], j, axis=1)
        # S up to what is the same for judge and annotator: the number of others, and the root
        gaps = [others - labels[place, None] for labels in (judge, column)]
        close = [(gap == 0).sum(axis=1) if score == "accuracy" else -np.nansum(gap**2, axis=1) for gap in gaps]
        lead = close[0].astype(float) - close[1]
        judge_wins, annotator_wins = lead >= -dust, lead <= dust
        loss, n = annotator_wins.astype(float) - judge_wins, len(lead)
        parts = loss - loss.mean() if n else loss
        if group is not None:
            parts = np.bincount(np.unique(group[place], return_inverse=True)[1], parts)
        k = len(parts)
        if k < 2:
            rule = f"must have at least 2 {'items' if group is None else 'groups'} in each column"
            raise ArgumentError("ratings", rule, f"column {j} has {k} to compare")
        std_error, mean = float(np.sqrt(k / (k - 1) * (parts**2).sum())) / n, loss.mean()
        p = float(mean >= epsilon) if std_error < 1e-12 else float(stats.t.cdf((mean - epsilon) / std_error, k - 1))
        rows.append((j, n, float(judge_wins.mean()), float(annotator_wins.mean()), p))
    adjusted = stats.false_discovery_control([row[-1] for row in rows], method="by")
    each = tuple(ExcludedAnnotator(*row, float(p), bool(p <= q)) for row, p in zip(rows, adjusted, strict=True))
    return float(np.mean([one.rejected for one in each])), float(np.mean([one.judge_wins for one in each])), each
