"""The report of a judge that says pass or fail: how often it is right, and what share passes in truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.proportion import ppi_proportion
from calib.analysis.means.rates import rogan_gladen_from_rates
from calib.analysis.verdicts.confusion import Figure, effective_size, figures_of, proportion
from calib.analysis.verdicts.roc import Roc, chosen_threshold, roc
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Interval, Result, bracket, short

PASS = frozenset(("pass", "passed", "yes", "y", "true", "t", "1", "1.0", "good", "correct", "ok", "accept", "accepted"))
FAIL = frozenset(
    ("fail", "failed", "no", "n", "false", "f", "0", "0.0", "bad", "incorrect", "wrong", "reject", "rejected")
)
FIGURES = ("tpr", "tnr", "precision", "npv", "accuracy", "balanced_accuracy", "f1", "mcc", "kappa", "ac1")
RATES_OF_PASSING = ("judge_rate", "label_rate", "corrected", "ppi")
_FEW = 10  # items of one outcome
_LEAST_GOLD = 10  # labels, of PPI
_NONE = Interval(math.nan, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFail(Result):
    """How often a judge's pass and fail are people's, and what share of all items passes.

    Attributes
    ----------
    tp, fp, fn, tn : int
        Labelled items that both pass, the judge alone, people alone, neither.
    tpr, tnr : Figure
        Share that the judge passes of what people pass; share that it fails of what people fail.
    precision, npv : Figure
        Share that people pass of what the judge passes; share that they fail of what it fails.
    accuracy, balanced_accuracy, f1, mcc, kappa, ac1 : Figure
        Share of equal verdicts, mean of TPR and TNR, F1 of passing, Matthews' correlation, Cohen's unweighted kappa,
        Gwet's AC1.
    judge_rate : Figure
        Share of all items (of `production` where given) that the judge passes.
    label_rate : Figure
        Share of the labelled items that people pass.
    corrected : Figure
        Share that people would pass of all items, by Rogan and Gladen: from the judge's rate and both its error rates.
    ppi : Figure
        The same from labels and judge together, where the labelled items are a random part of the items.
    judge_threshold : float
        An item passes if its score is this or more; NaN where the judge said pass or fail.
    chosen : bool
        Whether the labels chose the threshold; each figure is then of thresholds that had not seen the item's group.
    cost : tuple of float
        Of a false pass and of a false fail.
    roc : Roc or None
        Of scores; None where the judge said pass or fail.
    confidence_level : float
    n, n_labelled, n_groups, n_production : int
        Items, those with a label, groups of these, items of `production`.
    warnings : tuple of str
    """

    tp: int
    fp: int
    fn: int
    tn: int
    tpr: Figure
    tnr: Figure
    precision: Figure
    npv: Figure
    accuracy: Figure
    balanced_accuracy: Figure
    f1: Figure
    mcc: Figure
    kappa: Figure
    ac1: Figure
    judge_rate: Figure
    label_rate: Figure
    corrected: Figure
    ppi: Figure
    judge_threshold: float
    chosen: bool
    cost: tuple[float, float]
    roc: Roc | None
    confidence_level: float
    n: int
    n_labelled: int
    n_groups: int
    n_production: int
    warnings: tuple[str, ...]

    @property
    def pass_rate(self) -> Figure:
        """Share that people would pass: PPI's, people's own where all items have a label, else Rogan and Gladen's."""
        if self.n_production or (math.isnan(self.ppi.estimate) and self.n_labelled < self.n):
            return self.corrected
        return self.label_rate if math.isnan(self.ppi.estimate) else self.ppi

    def _rows(self) -> list[dict[str, Any]]:
        auc = [("auc", self.roc.auc)] if self.roc is not None else []
        figures = [*((name, getattr(self, name)) for name in (*FIGURES, *RATES_OF_PASSING)), *auc]
        rows = []
        for name, (estimate, (low, high), n) in figures:
            if name != "ppi" or not math.isnan(estimate):
                rows.append({"figure": name, "estimate": estimate, "conf_low": low, "conf_high": high, "n": n})
        return [row | {"warnings": self._warned("; ")} for row in rows]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"pass-fail": True, "cl": self.confidence_level, "n": self.n, "labels": self.n_labelled}
        terms |= {"groups": self.n_groups, "production": self.n_production or None}
        return terms | {
            "cut": None if math.isnan(self.judge_threshold) else self.judge_threshold,
            "cross-fitted": self.chosen or None,
        }

    def __str__(self) -> str:
        level = self.confidence_level
        figures = (("TPR", self.tpr), ("TNR", self.tnr), ("kappa", self.kappa))
        parts = [f"{name} {short(f.estimate)}, {bracket(f.interval, level)}" for name, f in figures]
        best = self.pass_rate
        rate = f"pass rate {short(best.estimate)}, {bracket(best.interval, level)}"
        rate += f" (judge {short(self.judge_rate.estimate)})" if best is not self.label_rate else ""
        threshold = "" if math.isnan(self.judge_threshold) else f"threshold {short(self.judge_threshold)}: "
        return f"{threshold}{'; '.join([*parts, rate])}; {self.n_labelled} labels{self._bracketed_warnings}"


def pass_fail(
    judge: ArrayLike,
    labels: ArrayLike,
    *,
    judge_threshold: float | None = None,
    cost: Sequence[float] = (1.0, 1.0),
    production: ArrayLike | None = None,
    groups: Labels | None = None,
    folds: int = 10,
    confidence_level: float = 0.95,
) -> PassFail:
    r"""How often a judge's pass and fail are people's, and what share of the items people would pass.

    Rates have Wilson's interval, with as many items as the groups leave (:math:`p(1-p)` over the variance between
    groups) and by t where there are groups. F1, MCC, kappa and AC1 have the delta method's on the logit of their
    range, with half an item added to each cell, times the design effect of the groups. Balanced accuracy puts both
    rates' ends together. Where the labels chose the threshold, figures are of thresholds that had not seen the item,
    and intervals reach as far as those of the threshold in use, too. The rate that people would pass:

    .. math:: \hat\theta_{RG} = \frac{p + TNR - 1}{TPR + TNR - 1}

    with the judge's rate p, which needs that the judge errs on all items as on the labelled ones *of that outcome*,
    whatever share of these passes; and PPI, which needs that the labelled items are a random part of all.

    Parameters
    ----------
    judge : array_like, shape (n,)
        Verdicts (1 and 0, True and False, "pass" and "fail"), or scores; NaN where a reply could not be read.
    labels : array_like, shape (n,)
        Verdicts of people; NaN (or None, or an empty text) where an item has none.
    judge_threshold : float, optional
        Of scores: an item passes if its score is this or more. Default: chosen by the labels, at the least cost, and
        each labelled item is judged by a threshold chosen from other groups.
    cost : pair of float, default (1, 1)
        Of a false pass and of a false fail, for the choice of the threshold.
    production : array_like, shape (m,), optional
        The judge's verdicts (or scores) where the rate is wanted, if the items above are a test set of another make-up,
        such as half pass and half fail. The error rates are then from the one, the judge's rate from the other, and PPI
        has no place.
    groups : sequence, shape (n,), optional
        What items share; without, items are independent.
    folds : int, default 10
        Parts of the groups, for the choice of the threshold.
    confidence_level : float, default 0.95


    Warns
    -----
    CalibWarning
        "few_labels": under 10 labelled items of one outcome. "chance": the judge is no better than chance, so its rate
        says nothing. "infeasible": its rate cannot come from these error rates.

    References
    ----------
    Rogan and Gladen (1978), American Journal of Epidemiology 107:71-76; Lee et al. (2025), arXiv:2511.21140 (its
    interval); Angelopoulos et al. (2023), arXiv:2311.01453 (PPI++); Zou and Donner (2008), Statistics in Medicine
    27:1693-1702 (putting ends together); Korn and Graubard (1998), Survey Methodology 24:193-201 (shares of groups).

    Examples
    --------
    >>> judge = ["pass"] * 60 + ["fail"] * 40
    >>> labels = ["pass"] * 36 + ["fail"] * 4 + [""] * 30 + ["fail"] * 26 + ["pass"] * 4
    >>> result = pass_fail(judge, labels)
    >>> result.tp, result.fp, result.fn, result.tn
    (36, 4, 4, 26)
    >>> round(result.tpr.estimate, 3), [round(end, 3) for end in result.tpr.interval]
    (0.9, [0.769, 0.96])
    """
    confidence = check.probability(confidence_level, "confidence_level")
    if len(cost) != 2 or not all(math.isfinite(c) and c > 0 for c in cost):
        rule = "must be two positive numbers, of a false pass and of a false fail"
        raise ArgumentError("cost", rule, f"got {cost!r}")
    prices = float(cost[0]), float(cost[1])
    check.whole(folds, "folds", least=2)
    scores, label = verdicts_in(judge, "judge", scores=True), verdicts_in(labels, "labels")
    check.same_length(judge=scores, labels=label, groups=groups)
    labelled = ~np.isnan(scores) & ~np.isnan(label)
    group = np.arange(len(scores)) if groups is None else check.codes(groups, "groups")
    of_labels = np.unique(group[labelled], return_inverse=True)[1]
    yes = label[labelled] == 1
    if not 0 < yes.sum() < len(yes):
        raise ArgumentError("labels", "must pass some items and fail some", f"{int(yes.sum())} of {len(yes)} pass")
    elsewhere = None if production is None else verdicts_in(production, "production", scores=True)
    is_score = judge_threshold is not None or bool(np.setdiff1d(scores[~np.isnan(scores)], (0.0, 1.0)).size)
    curve = roc(scores[labelled], yes, groups=of_labels, confidence_level=confidence) if is_score else None
    chosen = is_score and judge_threshold is None
    # verdicts of all items, and those of the labelled ones by thresholds that have not seen them
    if chosen:
        at, by_others = chosen_threshold(scores[labelled], yes, of_labels, prices, folds)
        verdicts, held_out = _passed(scores, at), by_others == 1
    else:
        at = float(judge_threshold) if judge_threshold is not None else 0.5
        verdicts = _passed(scores, at)
        held_out = verdicts[labelled] == 1
    cell = _cells(yes, held_out)
    figures = figures_of(cell, of_labels, confidence)
    if chosen:
        figures = _with_ends_of(figures, figures_of(_cells(yes, verdicts[labelled] == 1), of_labels, confidence))
    rates, doubts = _rates(
        verdicts, held_out, yes, labelled, group, None if elsewhere is None else _passed(elsewhere, at), confidence
    )
    counts: dict[str, Any] = dict(zip(("tp", "fp", "fn", "tn"), map(int, np.bincount(cell, minlength=4)), strict=True))
    for text in doubts:
        check.warn(text)
    return PassFail(
        **counts | figures | rates,
        judge_threshold=at if is_score else math.nan,
        chosen=chosen,
        cost=prices,
        roc=curve,
        confidence_level=confidence,
        n=len(scores),
        n_labelled=int(labelled.sum()),
        n_groups=int(of_labels.max()) + 1,
        n_production=0 if elsewhere is None else len(elsewhere),
        warnings=tuple(doubts),
    )


def _cells(yes: NDArray[np.bool_], passed: NDArray[np.bool_]) -> Codes:
    return np.where(yes, np.where(passed, 0, 2), np.where(passed, 1, 3))


def _with_ends_of(figures: dict[str, Figure], others: dict[str, Figure]) -> dict[str, Figure]:
    """Intervals that hold for the threshold in use as well: those that have not seen an item lie around it."""
    out = {}
    for name, one in figures.items():
        (low, high), (other_low, other_high) = one.interval, others[name].interval
        out[name] = one._replace(interval=Interval(float(np.fmin(low, other_low)), float(np.fmax(high, other_high))))
    return out


def verdicts_in(values: ArrayLike, name: str, *, scores: bool = False) -> Floats:
    """1 and 0 from numbers, truth values or words; NaN where there is nothing."""
    try:
        verdicts = check.array(values, name, ndim=1)
    except ArgumentError as error:
        if "numeric" not in error.rule:
            raise
        verdicts = np.array([_of_word(value, name) for value in np.asarray(values, dtype=object).ravel()])
    odd = np.setdiff1d(verdicts[~np.isnan(verdicts)], (0.0, 1.0))
    if len(odd) and not scores:
        raise ArgumentError(name, "must be 1 (pass) and 0 (fail), or such words", f"has {odd[0]:g}")
    return verdicts


def _of_word(value: Any, name: str) -> float:
    if value is None or value != value or (isinstance(value, str) and not value.strip()):  # noqa: PLR0124 - NaN
        return math.nan
    word = str(value).strip().casefold()
    if word in PASS or word in FAIL:
        return float(word in PASS)
    raise ArgumentError(name, "must be verdicts such as 'pass' and 'fail', or numbers", f"has {str(value)[:40]!r}")


def _passed(scores: Floats, threshold: float) -> Floats:
    return np.where(np.isnan(scores), np.nan, scores >= threshold)


def _rates(
    verdicts: Floats, held_out: NDArray[np.bool_], yes: NDArray[np.bool_], labelled: NDArray[np.bool_], group: Codes,
    production: Floats | None, confidence: float,
) -> tuple[dict[str, Figure], list[str]]:  # fmt: skip
    """The four shares of passing, and what is doubtful about them."""
    codes = group[labelled]
    judged, of = (verdicts, group) if production is None else (production, np.arange(len(production)))
    judged, of = judged[~np.isnan(judged)], of[~np.isnan(judged)]
    corrected, doubts = _rogan_gladen(held_out, yes, codes, judged, of, confidence)
    in_use = verdicts[labelled] == 1
    if (in_use != held_out).any():  # the judge's rate is that of the threshold in use
        other, _ = _rogan_gladen(in_use, yes, codes, judged, of, confidence)
        corrected = _with_ends_of({"": corrected}, {"": other})[""]
    ppi, blank = Figure(math.nan, _NONE, 0), ~labelled & ~np.isnan(verdicts)
    if production is None and blank.any() and labelled.sum() >= _LEAST_GOLD:  # else people's own share says it all
        options: dict[str, Any] = {"above": 0.5, "confidence_level": confidence}
        if len(np.unique(group)) < len(group):
            options |= {"groups": codes, "groups_unlabeled": group[blank]}
        rate = ppi_proportion(yes.astype(float), held_out.astype(float), verdicts[blank], **options)
        ppi = Figure(rate.estimate, rate.interval, int(blank.sum()) + len(yes))
    shares = {"judge_rate": _share(judged, of, confidence), "label_rate": _share(yes.astype(float), codes, confidence)}
    return shares | {"corrected": corrected, "ppi": ppi}, doubts


def _rogan_gladen(
    passed: NDArray[np.bool_], yes: NDArray[np.bool_], group: Codes, judged: Floats, of: Codes, confidence: float
) -> tuple[Figure, list[str]]:
    """With as many items as the groups leave of each kind; and what is doubtful about it."""
    sides = {"q1": (passed[yes], group[yes]), "q0": (~passed[~yes], group[~yes])}
    shares = {name: float(hits.mean()) for name, (hits, _) in sides.items()}
    sizes = {name: _effective(hits.astype(float), codes) for name, (hits, codes) in sides.items()}
    rate = rogan_gladen_from_rates(
        p=judged.mean(), **shares, n=_effective(judged, of), m0=sizes["q0"], m1=sizes["q1"], confidence=confidence
    )
    doubts, estimate, low, high = [], float(rate.estimate), float(rate.low), float(rate.high)
    if (fewest := int(min(yes.sum(), (~yes).sum()))) < _FEW:
        doubts.append(f"few_labels: only {fewest} labelled items of one outcome; the intervals are rough below {_FEW}.")
    if math.isnan(estimate) or math.isnan(low):
        doubts.append("chance: the judge is no better than chance on the labelled items, so its rate says nothing.")
        return Figure(math.nan, Interval(0.0, 1.0), len(judged)), doubts
    estimate, ends = float(np.clip(estimate, 0, 1)), Interval(max(low, 0.0), min(high, 1.0))
    if low >= 1 or high <= 0:
        doubts.append("infeasible: the judge's rate cannot come from these error rates: it errs otherwise elsewhere.")
        ends = _NONE
    return Figure(estimate, ends, len(judged)), doubts


def _by_group(values: Floats, group: Codes) -> tuple[Floats, Floats]:
    codes = np.unique(group, return_inverse=True)[1]
    return np.bincount(codes, values).astype(float), np.bincount(codes).astype(float)


def _effective(values: Floats, group: Codes) -> float:
    return effective_size(*_by_group(values, group))


def _share(values: Floats, group: Codes, confidence: float) -> Figure:
    return Figure(*proportion(*_by_group(values, group), confidence), len(values))
