"""A judge that says pass or fail: how often it is right, and the share of items that people would pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.proportion import ppi_proportion
from calib.analysis.means.rates import rogan_gladen_from_rates
from calib.analysis.verdicts import confusion
from calib.analysis.verdicts.confusion import Figure, Roc, effective_size, figures_of, proportion, roc
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import NO_INTERVAL, Interval, Result, bracket, short

PASS_WORDS = {"pass", "passed", "yes", "y", "true", "t", "1", "1.0", "good", "correct", "ok", "accept", "accepted"}
FAIL_WORDS = {"fail", "failed", "no", "n", "false", "f", "0", "0.0", "bad", "incorrect", "wrong", "reject", "rejected"}
FIGURES = ("tpr", "tnr", "precision", "npv", "accuracy", "balanced_accuracy", "f1", "mcc", "kappa", "ac1")
RATES_OF_PASSING = ("judge_rate", "label_rate", "corrected", "ppi")
_FEW_OF_ONE_OUTCOME = 10  # labelled items
_LEAST_LABELS = 10  # of PPI


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFail(Result):
    """How often a judge's pass and fail are people's, and what share of all items passes.

    Attributes
    ----------
    tp, fp, fn, tn : int
        Labelled items that both pass, the judge alone, people alone, neither; 0 without a threshold.
    tpr, tnr, precision, npv : Figure
        Share that the judge passes of what people pass, that it fails of what they fail; that people pass of what the
        judge passes, that they fail of what it fails.
    accuracy, balanced_accuracy, f1, mcc, kappa, ac1 : Figure
        Share of equal verdicts, mean of TPR and TNR, F1 of passing, Matthews' correlation, Cohen's unweighted kappa,
        Gwet's AC1.
    judge_rate, label_rate : Figure
        Share of all items (of `production` where given) that the judge passes, of the labelled ones that people pass.
    corrected, ppi : Figure
        Share that people would pass of all items, by Rogan and Gladen from the judge's rate and both its error rates
        (where all labels are one outcome an interval alone), and from labels and judge together, where the labelled
        items are a random part.
    judge_threshold, chosen : float, bool
        An item passes if its score is this or more (NaN where the judge said so); whether the labels chose it.
    cost, roc, confidence_level : tuple of float, Roc or None, float
        Of a false pass and of a false fail; of scores.
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
        beyond = math.isnan(self.ppi.estimate) and self.n_labelled < self.n and self.has_verdicts
        if self.n_production or beyond:
            return self.corrected
        return self.label_rate if math.isnan(self.ppi.estimate) else self.ppi

    @property
    def has_verdicts(self) -> bool:
        """Whether the judge passes or fails: scores have no threshold where labels of one outcome had to choose it."""
        return not math.isnan(self.judge_rate.estimate)

    def _rows(self) -> list[dict[str, Any]]:
        figures = {name: getattr(self, name) for name in (*FIGURES, *RATES_OF_PASSING)}
        figures |= {"auc": self.roc.auc} if self.roc is not None else {}
        rows = [
            {"figure": name, "estimate": estimate, "conf_low": low, "conf_high": high, "n": n}
            for name, (estimate, (low, high), n) in figures.items()
            if name != "ppi" or not math.isnan(estimate)
        ]
        return [row | self._row("warnings") for row in rows]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"pass-fail": True, "cl": self.confidence_level, "n": self.n, "labels": self.n_labelled}
        terms |= {"groups": self.n_groups, "production": self.n_production or None}
        cut = None if math.isnan(self.judge_threshold) else self.judge_threshold
        return terms | {"cut": cut, "cross-fitted": self.chosen or None}

    def __str__(self) -> str:
        level = self.confidence_level
        if not self.has_verdicts:
            people = f"people pass {short(self.label_rate.estimate)}, {bracket(self.label_rate.interval, level)}"
            labels = f"{self.n_labelled} labels{self._bracketed_warnings}"
            return f"no threshold, so no rate of the judge; {people}; {labels}"
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
    confidence_level: float = 0.95,
) -> PassFail:
    r"""How often a judge's pass and fail are people's, and what share of the items people would pass.

    Rates have Wilson's interval, with as many items as the groups leave (:math:`p(1-p)` over the variance between
    groups), by t where there are groups; F1, MCC, kappa and AC1 the delta method's on the logit of their range, with
    half an item added to each cell, times the design effect; balanced accuracy puts both rates' ends together. Where
    the labels chose the threshold, figures are of thresholds that had not seen the item, and intervals reach as far as
    those of the threshold in use, too. The rate that people would pass:

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
        each labelled item is judged by a threshold chosen from other groups, in ten parts.
    cost : pair of float, default (1, 1)
        Of a false pass and of a false fail, for the choice of the threshold.
    production : array_like, shape (m,), optional
        The judge's verdicts (or scores) where the rate is wanted, if the items above are a test set of another make-up,
        such as half pass and half fail. The error rates are then from the one, the judge's rate from the other, and PPI
        has no place.
    groups : sequence, shape (n,), optional
        What items share; without, items are independent.
    confidence_level : float, default 0.95

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
    scores, label = _verdicts_in(judge, "judge", scores=True), _verdicts_in(labels, "labels")
    check.same_length(judge=scores, labels=label, groups=groups)
    labelled = ~np.isnan(scores) & ~np.isnan(label)
    group = np.arange(len(scores)) if groups is None else check.codes(groups, "groups")
    of_labels = np.unique(group[labelled], return_inverse=True)[1]
    yes = label[labelled] == 1
    if not len(yes):
        raise ArgumentError("labels", "must be of items that {0} scored", "none is", mentions=("judge",))
    one_outcome = yes.all() or not yes.any()
    elsewhere = None if production is None else _verdicts_in(production, "production", scores=True)
    is_score = judge_threshold is not None or bool(np.setdiff1d(scores[~np.isnan(scores)], (0.0, 1.0)).size)
    chosen = is_score and judge_threshold is None
    shape: dict[str, Any] = {"n": len(scores), "n_labelled": len(yes), "n_groups": int(of_labels.max()) + 1}
    shape |= {"n_production": 0 if elsewhere is None else len(elsewhere), "cost": prices}
    if one_outcome and chosen:
        return _people_alone(yes, of_labels, shape, confidence)
    rated = is_score and not one_outcome
    curve = roc(scores[labelled], yes, groups=of_labels, confidence_level=confidence) if rated else None
    # verdicts of all items, and those of the labelled ones by thresholds that have not seen them
    if chosen:
        at, by_others = confusion.chosen_threshold(scores[labelled], yes, of_labels, prices)
        verdicts, held_out = _passed(scores, at), by_others == 1
    else:
        at = float(judge_threshold) if judge_threshold is not None else 0.5
        verdicts = _passed(scores, at)
        held_out = verdicts[labelled] == 1
    cell = confusion.verdict_cells(yes, held_out)
    figures = figures_of(cell, of_labels, confidence)
    if chosen:
        in_use = figures_of(confusion.verdict_cells(yes, verdicts[labelled] == 1), of_labels, confidence)
        figures = {name: _wider(figure, in_use[name]) for name, figure in figures.items()}
    rates, warnings = _rates(
        verdicts, held_out, yes, labelled, group, None if elsewhere is None else _passed(elsewhere, at), confidence
    )
    counts: dict[str, Any] = dict(zip(("tp", "fp", "fn", "tn"), map(int, np.bincount(cell, minlength=4)), strict=True))
    check.warn_all(warnings)
    return PassFail(
        **counts | figures | rates | shape, judge_threshold=at if is_score else math.nan, chosen=chosen, roc=curve,
        confidence_level=confidence, warnings=tuple(warnings),
    )  # fmt: skip


def _people_alone(yes: NDArray[np.bool_], group: Codes, shape: dict[str, Any], confidence: float) -> PassFail:
    """Scores without a threshold, and labels of one outcome, which can choose none: what people pass, and no more."""
    which = "pass" if yes[0] else "fail"
    why = f"all {len(yes)} labels {which}, so they choose no threshold, and what the judge passes is open"
    check.warn(text := f"no_threshold: {why}. Set `judge_threshold`, or label items of both outcomes.")
    figures = dict.fromkeys((*FIGURES, *RATES_OF_PASSING), Figure(math.nan, NO_INTERVAL, 0))
    figures["label_rate"] = Figure(*proportion(*_hits_by_group(yes.astype(float), group), confidence), len(yes))
    return PassFail(
        **dict.fromkeys(("tp", "fp", "fn", "tn"), 0) | figures | shape, judge_threshold=math.nan, chosen=False,
        roc=None, confidence_level=confidence, warnings=(text,),
    )  # fmt: skip


def _wider(one: Figure, other: Figure) -> Figure:
    """The figure with an interval that holds for the threshold in use as well."""
    (low, high), (other_low, other_high) = one.interval, other.interval
    return one._replace(interval=Interval(float(np.fmin(low, other_low)), float(np.fmax(high, other_high))))


def _verdicts_in(values: ArrayLike, name: str, *, scores: bool = False) -> Floats:
    """1 and 0 from numbers, truth values or words; NaN where there is nothing."""
    try:
        verdicts = check.array(values, name, ndim=1)
    except ArgumentError as error:
        if "numeric" not in error.rule:
            raise
        cells = ["" if cell is None or cell != cell else str(cell) for cell in np.asarray(values, dtype=object).ravel()]  # noqa: PLR0124 - NaN
        texts = [cell.strip().casefold() for cell in cells]
        for cell, text in zip(cells, texts, strict=True):
            if text and text not in PASS_WORDS | FAIL_WORDS:
                rule = "must be verdicts such as 'pass' and 'fail', or numbers"
                raise ArgumentError(name, rule, f"has {cell[:40]!r}") from None
        verdicts = np.array([float(text in PASS_WORDS) if text else math.nan for text in texts])
    odd = np.setdiff1d(verdicts[~np.isnan(verdicts)], (0.0, 1.0))
    if len(odd) and not scores:
        raise ArgumentError(name, "must be 1 (pass) and 0 (fail), or such words", f"has {odd[0]:g}")
    return verdicts


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
    if yes.all() or not yes.any():
        corrected = _bounded(held_out == yes[0], yes[0], codes, judged == yes[0], of, confidence)
        # what labels of one outcome leave open, and which labels would say it
        words = ("pass", "TNR", "NPV", "fails") if yes[0] else ("fail", "TPR", "precision", "passes")
        verb, rate_open, share, others = words
        n_blank = int((verdicts[~labelled] == (not yes[0])).sum())
        more = f" ({n_blank} more are there)" * bool(n_blank)
        warnings = [
            f"one_outcome: all {len(yes)} labels {verb}, so {rate_open} and kappa have no estimate and the corrected "
            f"rate has only bounds. Label items that the judge {others}{more}: people's {others} are likeliest there. "
            f"A random part of these gives {share}; {rate_open} needs a random part of all items."
        ]
    else:
        corrected, warnings = _rogan_gladen(held_out, yes, codes, judged, of, confidence)
    in_use = verdicts[labelled] == 1
    if (in_use != held_out).any():  # the judge's rate is that of the threshold in use
        other, _ = _rogan_gladen(in_use, yes, codes, judged, of, confidence)
        corrected = _wider(corrected, other)
    ppi, blank = Figure(math.nan, NO_INTERVAL, 0), ~labelled & ~np.isnan(verdicts)
    if production is None and blank.any() and labelled.sum() >= _LEAST_LABELS:  # else people's own share says it all
        options: dict[str, Any] = {"above": 0.5, "confidence_level": confidence}
        if len(np.unique(group)) < len(group):
            options |= {"groups": codes, "groups_unlabeled": group[blank]}
        rate = ppi_proportion(yes.astype(float), held_out.astype(float), verdicts[blank], **options)
        ppi = Figure(rate.estimate, rate.interval, int(blank.sum()) + len(yes))
        warnings += [text for text in rate.warnings if text.startswith("labels_unlike_rest")]
    sides = {"judge_rate": (judged, of), "label_rate": (yes.astype(float), codes)}
    shares = {
        name: Figure(*proportion(*_hits_by_group(*side), confidence), len(side[0])) for name, side in sides.items()
    }
    return shares | {"corrected": corrected, "ppi": ppi}, warnings


def _rogan_gladen(
    passed: NDArray[np.bool_], yes: NDArray[np.bool_], group: Codes, judged: Floats, of: Codes, confidence: float
) -> tuple[Figure, list[str]]:
    """Rogan and Gladen's rate, with as many items of each kind as the groups leave; what is doubtful about it."""
    sides = {"q1": (passed[yes], group[yes]), "q0": (~passed[~yes], group[~yes])}
    shares = {name: float(hits.mean()) for name, (hits, _) in sides.items()}
    sizes = {name: effective_size(*_hits_by_group(hits.astype(float), codes)) for name, (hits, codes) in sides.items()}
    n = effective_size(*_hits_by_group(judged, of))
    sizes = {"n": n, "m0": sizes["q0"], "m1": sizes["q1"]}
    rate = rogan_gladen_from_rates(p=judged.mean(), **shares, **sizes, confidence=confidence)
    warnings, estimate, low, high = [], float(rate.estimate), float(rate.low), float(rate.high)
    if (fewest := int(min(yes.sum(), (~yes).sum()))) < _FEW_OF_ONE_OUTCOME:
        rough = f"the intervals are rough below {_FEW_OF_ONE_OUTCOME}"
        warnings.append(f"few_labels: only {fewest} labelled items of one outcome; {rough}.")
    if math.isnan(estimate) or math.isnan(low):
        warnings.append("chance: the judge is no better than chance on the labelled items, so its rate says nothing.")
        return Figure(math.nan, Interval(0.0, 1.0), len(judged)), warnings
    estimate, ends = float(np.clip(estimate, 0, 1)), Interval(max(low, 0.0), min(high, 1.0))
    if low >= 1 or high <= 0:
        warnings.append("infeasible: the judge's rate cannot come from these error rates: it errs otherwise elsewhere.")
        ends = NO_INTERVAL
    return Figure(estimate, ends, len(judged)), warnings


def _bounded(
    right: NDArray[np.bool_], outcome: Any, group: Codes, called: NDArray[np.bool_], of: Codes, confidence: float
) -> Figure:
    """Labels of one outcome alone: whatever the judge does with the other, it is at most this share of all items.

    With the share t of it that the judge is right about and the share p that the judge calls so, p = st + (1 - s)f for
    some f from 0 to 1, so that s is at most p / t and (1 - p) / (1 - t). Both have intervals by Bonferroni.
    """
    halves = (1 + confidence) / 2
    (_, t), (_, p) = (proportion(*_hits_by_group(hits.astype(float), codes), halves)
                      for hits, codes in ((right, group), (called, of)))  # fmt: skip
    most = p.high / t.low if p.high < t.low else (1 - p.low) / (1 - t.high) if p.low > t.high else 1.0
    return Figure(math.nan, Interval(0.0, most) if outcome else Interval(1 - most, 1.0), len(called))


def _hits_by_group(values: Floats, group: Codes) -> tuple[Floats, Floats]:
    codes = np.unique(group, return_inverse=True)[1]
    return np.bincount(codes, values).astype(float), np.bincount(codes).astype(float)
