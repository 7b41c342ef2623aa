"""Acceptance thresholds: from which confidence on a judge may decide alone, with a guarantee on its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.gaffke import Gaffke
from calib.core.numeric import units_of
from calib.core.result import Result, short, term

_QUANTILES = 10  # of the pool's confidences, which are the thresholds
_STARTS = (0.0, 0.25, 0.5)  # errors as a share of the risk, with which a start would just pass


class AcceptPoint(NamedTuple):
    """One threshold of the accept-risk curve.

    Attributes
    ----------
    threshold, accepted : float
        The confidence, and the share of the pool that has this confidence or more.
    m, errors : int
        Labels there, and how many of these verdicts differ from people's.
    risk, bound, upper : float
        Share of errors (NaN without a label); its upper end at this threshold alone, and for all thresholds together.
    tested_at, tested_bound : float
        What of 1 - confidence_level it was tested with (0: the sequence did not come to it), and the upper end for the
        risk at that level (1: not tested).
    p_rival : float
        Of the test that these verdicts err less than a rival does on all items: 0 without a rival; 1, untested, where
        the risk is too high.
    passed : bool
    """

    threshold: float
    accepted: float
    m: int
    errors: int
    risk: float
    bound: float
    upper: float
    tested_at: float
    tested_bound: float
    p_rival: float
    passed: bool


class Rival(NamedTuple):
    """The best of the verdicts that need no judge, such as one for all items.

    Attributes
    ----------
    place, errors, m : int
        Which of them errs least on the labels; its errors, in all labels.
    bound : float
        Upper end for its risk, of all rivals together.
    """

    place: int
    errors: int
    m: int
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcceptThreshold(Result):
    """The confidence from which on verdicts may be accepted.

    Attributes
    ----------
    threshold, accepted, bound : float
        Items with this confidence or more are accepted (infinite where nothing passed); the share of the pool that has
        it; the upper end for the risk among them, at most `risk` (NaN where nothing is accepted).
    m, errors : int
        Labels among the accepted, and how many of these verdicts differ from people's.
    n, n_pool, n_missing, n_groups : int
        Labels; items of the pool; those without a confidence, which are never accepted; independent groups of labels.
    risk, confidence_level : float
        What was promised: a risk above `risk` at most this often.
    aurc : float
        Area under the risk of the most confident labels against their share: lower is better, a confidence that
        says nothing has the error rate.
    curve : tuple of AcceptPoint
        All thresholds, the strictest first.
    rival : Rival or None
        What verdicts that need no judge would do.
    method : str
        Bound and number of starts of the tests: "clopper-pearson" or "gaffke-groups", and "starts:1" to "starts:3".
    warnings : tuple of str
    """

    threshold: float
    accepted: float
    bound: float
    m: int
    errors: int
    n: int
    n_pool: int
    n_groups: int
    n_missing: int
    risk: float = term("risk", column=False)
    confidence_level: float = term("level", column=False)
    aurc: float
    method: str = term("method", column=False)
    warnings: tuple[str, ...] = ()
    curve: tuple[AcceptPoint, ...] = field(repr=False)
    rival: Rival | None = field(default=None, metadata={"column": False})

    _kind = "accept_threshold"

    def accepts(self, confidence: ArrayLike) -> NDArray[np.bool_]:
        """Whether items of these confidences are accepted."""
        return np.asarray(check.array(confidence, "confidence") >= self.threshold)

    @property
    def needless(self) -> bool:
        """Whether a rival keeps the risk on all items, so that nothing is accepted."""
        return self.rival is not None and self.rival.bound <= self.risk

    @property
    def unbeaten(self) -> AcceptPoint | None:
        """Of the thresholds that kept the risk, but are not shown to err less than a rival, the last; None: none."""
        kept = [] if self.accepted else [point for point in self.curve if point.tested_bound <= self.risk]
        return kept[-1] if kept else None

    @property
    def nearest(self) -> AcceptPoint | None:
        """Where nothing is accepted, the threshold that came nearest to it; None if none could be tested."""
        tested = [] if self.accepted else [point for point in self.curve if point.tested_at > 0]
        return min(tested, key=lambda point: point.tested_bound, default=None)

    @property
    def nearest_words(self) -> str:
        """What the nearest threshold has shown; empty where there is none."""
        if (point := self.nearest) is None:
            return ""
        errors = f"{point.errors} error{'s' * (point.errors != 1)} in {point.m} labels"
        share = f"the {100 * point.accepted:.3g} % from confidence {short(point.threshold)} on"
        return f"nearest to it came {share}, of which {errors} show a risk of {short(point.tested_bound)} at most"

    def _terms(self) -> dict[str, Any]:
        return super(AcceptThreshold, self)._terms() | {"thresholds": len(self.curve)}

    def __str__(self) -> str:
        promised = f"risk at most {short(self.risk)} with {100 * self.confidence_level:g} % confidence"
        if not self.accepted:
            near = f"; {self.nearest_words}" if self.nearest else ""
            return f"nothing is accepted: no {promised}, from {self.n} labels{near}{self._bracketed_warnings}"
        share, of = f"{100 * self.accepted:.3g} % of {self.n_pool} items", f"{self.m} of {self.n} labels"
        start = f"{share} accepted, from confidence {short(self.threshold)} on"
        return f"{start}: {promised} ({self.errors} errors in {of}){self._bracketed_warnings}"


def accept_threshold(
    confidence: ArrayLike,
    errors: ArrayLike,
    *,
    pool: ArrayLike | None = None,
    rivals: ArrayLike | None = None,
    risk: float = 0.1,
    confidence_level: float = 0.9,
    groups: Labels | None = None,
) -> AcceptThreshold:
    r"""From which confidence on verdicts may be accepted, so that few of those differ from what people would say.

    Thresholds are the distinct ones of ten quantiles of the pool's confidences, where no label is looked at; all items
    of one confidence go together. With e errors in m labels at or above one, its risk is tested by

    .. math:: U = B^{-1}(1 - \delta;\ e + 1,\ m - e) \le \alpha

    (Clopper and Pearson), in a fixed order, so that P(risk of the accepted > alpha) <= delta: from a start on to lower
    thresholds, as long as they pass. The strictest has too few labels to pass even without an error. So there are three
    starts, each with a third of delta: the strictest thresholds that would pass without an error, with errors at a
    quarter and at half of `risk`, in as many labels as are to be expected there, which depends on confidences alone.
    What a sequence did not lose goes on to the next start that it reaches (a fallback procedure); where there are too
    few labels for a start, the first has its part.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        How sure each verdict is; any number of which more is surer. It may not have been fitted on these labels, or
        the guarantee holds for many labels only. NaN where unknown: never accepted.
    errors : array_like, shape (n,)
        1 where the verdict differs from people's, 0 where it does not; NaN without a label.
    pool : array_like, shape (N,), optional
        Confidences of all items that are to be decided, of which the labels are a random sample. Default: `confidence`.
    rivals : array_like, shape (n, C), optional
        Errors of verdicts that need no judge, such as one for all items. Nothing is accepted where the best of them
        keeps the risk on all items; and a threshold passes if labels show, too, at the level of its own test, that the
        accepted err less than each of them does on all items (Gaffke's bound for the mean of the difference).
    risk : float, default 0.1
        The highest share of errors among the accepted that is allowed (alpha).
    confidence_level : float, default 0.9
        How often, over drawings of the labels, the accepted hold that at least (1 - delta).
    groups : sequence, shape (n,), optional
        The document of each label, where documents were drawn rather than items. Labels of one count together, and the
        bound is Gaffke's, which on one label per group is Clopper and Pearson's. Where `confidence` also has the items
        without labels, it allows for documents as large as the largest of these.

    References
    ----------
    Angelopoulos, Bates, Candes, Jordan and Lei (2021), Learn then Test, arXiv:2110.01052; Jung, Brahman and Choi
    (2025), Trust or Escalate, ICLR; Wiens and Dmitrienko (2005), J. Biopharm. Stat. 15:929-942 (fallback).

    Examples
    --------
    >>> confidence = [0.9] * 60 + [0.7] * 60 + [0.5] * 30
    >>> errors = [0] * 59 + [1] + [0] * 57 + [1] * 3 + [0, 1] * 15
    >>> result = accept_threshold(confidence, errors, pool=confidence * 10)
    >>> result.threshold, result.accepted, result.m, result.errors, round(result.bound, 4)
    (0.7, 0.8, 120, 4, 0.071)
    """
    sure, wrong = check.array(confidence, "confidence", ndim=1), check.array(errors, "errors", ndim=1)
    others = None if rivals is None else check.array(rivals, "rivals", ndim=2)
    check.same_length(confidence=sure, errors=wrong, groups=groups, rivals=others)
    alpha, level = check.probability(risk, "risk"), check.probability(confidence_level, "confidence_level")
    delta = 1 - level
    if (odd := np.isfinite(wrong) & (wrong != 0) & (wrong != 1)).any():
        raise ArgumentError("errors", "must be 0, 1 or missing", f"got {short(wrong[odd][0])}")
    everything = sure if pool is None else check.array(pool, "pool", ndim=1)
    if not np.isfinite(everything).any():
        raise ArgumentError("confidence" if pool is None else "pool", "must have a confidence at least", "has none")
    labels = _Labels(sure, wrong, groups, everything, others)
    weights = spent(labels.accepted * labels.units if groups is None else labels.worth(alpha), alpha, delta)
    curve = labels.curve(alpha, delta, weights)
    nan = math.nan
    nothing = AcceptPoint(math.inf, 0.0, 0, 0, nan, nan, nan, nan, nan, nan, passed=False)
    last = next((point for point in reversed(curve) if point.passed), nothing)
    texts = {
        f"few_labels: a risk of {short(alpha)} takes {zero_error_labels(alpha, level)} labels without an error among "
        f"the accepted; there are {labels.units}, so that nothing can be accepted": not weights.any(),
        "constant_confidence: all items are equally sure: they are accepted together or not at all": (len(curve) == 1),
    }
    return AcceptThreshold(
        threshold=last.threshold, accepted=last.accepted, bound=last.tested_bound, m=last.m, errors=last.errors,
        n=int(labels.used.sum()), n_pool=len(everything), n_groups=labels.units,
        n_missing=int((~np.isfinite(everything)).sum()), risk=alpha, confidence_level=level,
        aurc=labels.aurc(sure, wrong), method=f"{labels.law}, starts:{np.count_nonzero(weights)}",
        warnings=tuple(text for text, holds in texts.items() if holds), curve=curve, rival=labels.rival(delta),
    )  # fmt: skip


def zero_error_labels(risk: float, confidence_level: float) -> int:
    """Labels without a single error that prove a risk: the least m with (1 - risk) ** m <= 1 - confidence_level.

    Examples
    --------
    >>> [zero_error_labels(risk, 0.9) for risk in (0.05, 0.1, 0.15, 0.2)]
    [45, 22, 15, 11]
    """
    return int(np.ceil(np.log1p(-confidence_level) / np.log1p(-risk) - 1e-9))


def clopper_pearson_end(errors: ArrayLike, m: ArrayLike, delta: float | Floats) -> Floats:
    """Clopper and Pearson's upper end of a share; 1 without a label."""
    e, n = np.asarray(errors, dtype=float), np.asarray(m, dtype=float)
    end = special.betaincinv(e + 1, np.where(n > e, n - e, 1.0), 1 - delta)
    return np.asarray(np.where(n > e, end, 1.0))


def spent(expected: Floats, alpha: float, delta: float) -> Floats:
    """The part of delta that each threshold starts with, from the labels that are to be expected at or above each."""
    weights = np.zeros(len(expected))
    starts = [_strictest(expected, alpha, delta / len(_STARTS), share) for share in _STARTS]
    if starts[0] is None:  # so few labels that all of delta is needed
        starts = [_strictest(expected, alpha, delta, 0.0)]
    if (first := starts[0]) is not None:
        for start in starts:
            weights[first if start is None else start] += delta / len(starts)
    return weights


def _strictest(expected: Floats, alpha: float, delta: float, share: float) -> int | None:
    """The strictest threshold that would pass with errors at this share of the risk."""
    would = clopper_pearson_end(np.floor(expected * alpha * share + 1e-9), expected, delta) <= alpha
    return int(would.argmax()) if would.any() else None


def fallback(p: Floats, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The level of each test, the strictest first, and whether it passes; one that passes hands its level on."""
    level, passed, inherited = np.zeros(len(p)), np.zeros(len(p), dtype=bool), 0.0
    for place, weight in enumerate(weights):
        level[place] = inherited + weight
        passed[place] = level[place] > 0 and p[place] <= level[place]
        inherited = level[place] if passed[place] else 0.0
    return level, passed


class _Labels:
    """The labels at or above each threshold, and the law of their errors: of single labels, or of sums over groups."""

    def __init__(
        self, sure: Floats, wrong: Floats, groups: Labels | None, pool: Floats, rivals: Floats | None = None
    ) -> None:
        # thresholds, the strictest first, and the share of the pool at or above each: no label is looked at
        finite = pool[np.isfinite(pool)]
        thresholds = np.unique(np.quantile(finite, np.arange(_QUANTILES) / _QUANTILES, method="lower"))[::-1]
        self.thresholds, self.accepted = thresholds, (finite >= thresholds[:, None]).sum(axis=1) / len(pool)
        self._share = self.accepted * (len(pool) / len(finite))
        used = self.used = np.isfinite(sure) & np.isfinite(wrong)
        unit = None if groups is None else units_of(groups, np.ones(len(sure), dtype=bool))
        inside, n = sure >= thresholds[:, None], int(used.sum())
        labelled = inside[:, used]
        self._errs = labelled & (wrong[used] > 0)
        self.m, self.errors = labelled.sum(axis=1), self._errs.sum(axis=1)
        self.units = n if unit is None else len(np.unique(unit[used]))
        self._sums = None
        self._unit, self._largest = None if unit is None else np.unique(unit[used], return_inverse=True)[1], 1
        self._rivals, self._groups = None if rivals is None else rivals[used], groups
        if unit is not None:
            size, there = np.bincount(unit), np.bincount(unit[used], minlength=unit.max() + 1)
            whole = 2 * n > size[there > 0].sum()  # documents that were not drawn may be larger
            row, most = np.flatnonzero(there), size.max() if whole else there.max(initial=0)
            self._largest = max(int(most), 1)
            if most > 1:
                each = [np.bincount(unit[used], part, len(size))[row] for part in (*labelled, *labelled * wrong[used])]
                self._sums = np.array(each).reshape(2, len(thresholds), -1)
                everywhere = [np.bincount(unit, part).max() for part in inside]
                self._most = np.array(everywhere) if whole else self._sums[0].max(axis=1, initial=0.0)
        self.law = "clopper-pearson" if self._sums is None else "gaffke-groups"

    def curve(self, alpha: float, delta: float, weights: Floats) -> tuple[AcceptPoint, ...]:
        """All thresholds with their tests, the strictest first."""
        m, n = self.m, len(self.m)
        # p-values of the risk being as high as alpha, at each threshold
        if self._sums is None:
            p = np.where(m > 0, special.bdtr(self.errors, np.maximum(m, 1), alpha), 1.0)
        else:
            p = self._group_p(np.full(n, alpha))
        p_rival, rival = self._rival_p(p <= delta), self.rival(delta)
        tested_at, passed = fallback(np.maximum(p, p_rival), weights)
        passed &= rival is None or rival.bound > alpha
        share = np.divide(self.errors, m, out=np.full(n, np.nan), where=m > 0)
        tested_bound = np.where(tested_at > 0, self.bound(tested_at), 1.0)
        bounds = self.bound(delta), self.bound(delta / n), tested_at, tested_bound, p_rival
        columns = self.thresholds, self.accepted, m, self.errors, share, *bounds, passed
        return tuple(AcceptPoint(*row) for row in zip(*(column.tolist() for column in columns), strict=True))

    def _rival_p(self, kept: NDArray[np.bool_]) -> Floats:
        """Sums over units of (accepted error - share accepted * rival's error): Gaffke's tail, of the best rival."""
        if self._rivals is None:
            return np.zeros(len(self.m))
        p = np.ones(len(self.m))
        for place in np.flatnonzero(kept):
            gaps = self._errs[place] - self._share[place] * self._rivals.T
            sums = gaps if self._unit is None else [np.bincount(self._unit, gap) / self._largest for gap in gaps]
            n_rivals, n = np.shape(sums)
            p[place] = _chance_of_less(np.ravel(sums), np.repeat(np.arange(n_rivals), n), np.ones(n_rivals)).max()
        return p

    def rival(self, delta: float) -> Rival | None:
        """The rival that errs least: a verdict that is equally sure of all items."""
        if self._rivals is None or not len(self._rivals):
            return None
        errors = self._rivals.sum(axis=0)
        best, one = int(errors.argmin()), np.ones(len(self.used))
        wrong = np.full(len(one), np.nan)
        wrong[self.used] = self._rivals[:, best]
        bound = _Labels(one, wrong, self._groups, one).bound(delta / len(errors))
        return Rival(best, int(errors[best]), len(self._rivals), float(bound[0]))

    def worth(self, risk: float) -> Floats:
        """How many single labels would prove as much, if there were no error."""
        if self._sums is None:
            return np.asarray(self.m, dtype=float)
        p = self._group_p(np.full(len(self.m), risk), errors=False)
        return np.asarray(np.log(np.maximum(p, 1e-300)) / np.log1p(-risk) + 0.0)

    def _group_p(self, risk: Floats, *, errors: bool = True) -> Floats:
        """Sums over groups of (error - risk) have a mean of 0 at most, where the risk is lower: Gaffke's tail."""
        assert self._sums is not None
        p = np.ones(len(self.m))
        some = np.flatnonzero(self.m > 0)
        count, wrong = self._sums[0, some], self._sums[1, some] * errors
        there = count > 0
        value = (wrong - risk[some, None] * count) / self._most[some, None]
        p[some] = _chance_of_less(value[there], np.nonzero(there)[0], 1 - risk[some])
        return p

    def aurc(self, sure: Floats, wrong: Floats) -> float:
        """Mean risk of the k most confident labels over all k; labels of one confidence come in no order."""
        if not self.used.any():
            return math.nan
        block = np.unique(-sure[self.used], return_inverse=True)[1]
        size = np.bincount(block)
        rate = np.repeat(np.bincount(block, wrong[self.used]) / size, size)
        return float(np.mean(np.cumsum(rate) / np.arange(1, len(rate) + 1)))

    def bound(self, delta: float | Floats) -> Floats:
        """Upper end for the risk at each threshold alone."""
        if self._sums is None:
            return clopper_pearson_end(self.errors, self.m, delta)
        low, high = np.zeros(len(self.m)), np.ones(len(self.m))
        for _ in range(22):  # to 2e-7
            middle = (low + high) / 2
            below = self._group_p(middle) <= delta
            low, high = np.where(below, low, middle), np.where(below, middle, high)
        return high


def _chance_of_less(values: Floats, code: Codes, highest: Floats) -> Floats:
    """P-value of each code's mean being 0 or more, where its values lie between -1 and `highest`: Gaffke's tail."""
    mean, one = np.bincount(code, values) / np.bincount(code), np.ones(len(highest))
    law = Gaffke(mean, values - mean[code], np.ones(len(code)), code, 0 * one, one, (-one, highest), (-1.0, 1.0))
    return np.where(mean < 0, law.tails(0.0)[1], 1.0)
