"""Estimators of a mean: how the interval of each is computed, what data it needs, and what it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.analysis.means.design import MeanData
from calib.analysis.means.moments import Moments, moments_of
from calib.analysis.means.rates import post_stratified, posterior_error
from calib.analysis.means.ridge import CorrectedMeans, GroupedItems, SlopePrior, bounded, clustered, different, ridge
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.laws import Law, Numeric, Student

GROSS = "gross errors"  # a way to be conservative
CUT = 0.5  # a judge's probability from which on it says yes


@dataclass(frozen=True, slots=True)
class CheckedOptions:
    """The options of a mean, checked, with what they mean for these data."""

    bounds: tuple[float, float] | None
    same_scale: bool
    binary: bool
    conservative: bool | str
    finite: bool
    estimator: str
    alternative: str
    null: float
    confidence: float
    yes_or_no: bool  # of people; `binary` also looks at the judge and the design
    ends: tuple[float, float] | None = None  # where a label that was not seen may lie, if not anywhere on the scale


class MeanLaw(NamedTuple):
    """A point with its standard error, and the law that its interval is read from."""

    point: float
    error: float
    df: float
    lam: float
    law: Law
    estimator: str = ""  # what "auto" became

    def has_interval(self, *, complete: bool) -> bool:
        """Whether there is one: on a scale without ends labels that do not vary say nothing of their spread."""
        return bool(self.error > 0 or complete or np.isfinite(self.law.support).all())


class Requirements(NamedTuple):
    """What data an estimator needs at least, and which parts of a design it can take."""

    labels: int = 2
    min_labels: bool = False  # refuses fewer labels than `min_labels`
    rest: int = 0  # items without a label
    takes: tuple[str, ...] = ("groups", "strata", "weights", "inclusion", "target='benchmark'")


class Method(NamedTuple):
    """One estimator."""

    law: Callable[[MeanData, CheckedOptions], MeanLaw]
    needs: Requirements
    words: str
    alone: str = "classical"  # the same kind from the labels alone, which its width is compared with
    guarantee: str = "asymptotic"  # what its interval is: "proved", "measured" or "asymptotic"

    @property
    def judged(self) -> bool:
        """Whether judge scores go into it."""
        return METHODS.get(self.alone) is not self


def _by_kind(data: MeanData, options: CheckedOptions) -> MeanLaw:
    name = _kind(data, options)
    return METHODS[name].law(data, options)._replace(estimator=name)


def _kind(data: MeanData, options: CheckedOptions) -> str:
    bounded, judged = options.bounds is not None, data.n_rest > 0
    return kind_of(bounded=bounded, binary=options.binary, conservative=bool(options.conservative), judged=judged)


def kind_of(*, bounded: bool, binary: bool, conservative: bool = False, judged: bool = True) -> str:
    """What "auto" becomes."""
    kind = "t-ppi"
    if binary:
        kind = "mover-clopper-pearson" if conservative else "mover-jeffreys-clopper-pearson"
    elif bounded:
        kind = "gaffke-ppi-conservative" if conservative else "gaffke-ppi"
    return kind if judged else METHODS[kind].alone


def _by_slope(data: MeanData, options: CheckedOptions) -> MeanLaw:
    """The judge's mean over all items, less its error on the labelled ones."""
    rule = SlopePrior.on(options.bounds, same_scale=options.same_scale, calibrated=data.calibrated_folds > 0)
    if data.design == "strata":
        parts = stratified(data, rule, finite=options.finite)
    elif data.design == "items":
        parts = _independent_items(data, rule, robust=True, finite=options.finite)
    else:
        n, rest = len(data.y), data.rest_sets()
        group = np.arange(n) if data.group is None else data.group
        weight = np.ones(n) if data.weight is None else data.weight
        weight_rest = np.ones(len(rest.n)) if data.weight_rest is None else data.weight_rest
        share = np.concatenate([weight, weight_rest])
        sample = GroupedItems(data.y, data.f, rest, group, data.group_rest, data.label_weight, share)
        parts = clustered(sample, rule, finite=options.finite)
    two = options.yes_or_no and data.design == "items"
    gross = options.conservative == GROSS
    full = bool(options.conservative) and not gross
    return _from_parts(parts, options.bounds, full=full, gross=gross, two=two, ends=options.ends)


def _by_rates(data: MeanData, options: CheckedOptions) -> MeanLaw:
    """Yes or no: the rate where the judge says yes and the rate where it says no, by their shares."""
    assert options.bounds is not None
    low, high = options.bounds
    cut = low + CUT * (high - low)
    yes, judged_yes = data.y == high, data.f >= cut
    if data.scores_rest is not None:
        rest_yes = int(np.count_nonzero(data.scores_rest >= cut))
    else:  # of moments all are at one end or the other
        if data.n_rest and not data.rest.only(low, high):
            rule = f"must be moments of {low:g} and {high:g} for a proportion: cut the scores at {cut:g}"
            raise ArgumentError("f_unlabeled", rule)
        rest_yes = round((float(data.rest.mean) - low) / (high - low) * data.n_rest)
    k1, n1, k0, n0 = (int(part.sum()) for part in (yes & judged_yes, judged_yes, yes & ~judged_yes, ~judged_yes))
    counts = (k1, n1, k0, n0, rest_yes, data.n_rest - rest_yes)

    def ends(tail: float) -> tuple[float, float]:
        rates = post_stratified(*counts, 1 - 2 * tail, conservative=bool(options.conservative), finite=options.finite)
        return low + (high - low) * float(rates[1]), low + (high - low) * float(rates[2])

    point = float(post_stratified(*counts, options.confidence, finite=options.finite)[0])
    error = (high - low) * float(posterior_error(*counts, finite=options.finite))
    return MeanLaw(low + (high - low) * point, error, np.nan, np.nan, Numeric(ends, options.bounds))


def _independent_items(data: MeanData, rule: SlopePrior, *, robust: bool, finite: bool) -> CorrectedMeans:
    judge = data.f if data.n_rest else np.zeros_like(data.y)  # nothing to correct: the labels alone
    one = np.zeros(len(data.y), dtype=np.intp)
    return ridge(data.y, judge, one, data.rest.as_sets(), rule, robust=robust, finite=finite)


def stratified(data: MeanData, rule: SlopePrior, *, finite: bool) -> CorrectedMeans:
    """The strata's corrected means, weighted by their sizes."""
    assert data.stratum is not None
    assert data.stratum_rest is not None
    sets = 1 + int(max(data.stratum.max(initial=-1), data.stratum_rest.max(initial=-1)))
    labels = np.bincount(data.stratum, minlength=sets)
    if labels.min() < 2:
        raise ArgumentError("strata", "must have two labels each at least", f"one has {labels.min()}: merge it")
    rest = data.rest_sets().within(data.stratum_rest, sets)
    each = ridge(data.y, data.f, data.stratum, rest, rule, strata=True, finite=finite)
    share = (each.n + each.rest) / data.n
    point = float(share @ each.point)
    # a sample of the population also has its strata's sizes by chance
    between = 0.0 if finite else float(share @ (each.point - point) ** 2) / data.n
    residual, judge = float(share**2 @ each.residual), float(share**2 @ each.judge) + between
    spread = np.sum(share**4 * (each.residual**2 / each.df + each.judge**2 / (each.n + each.rest - 1)))
    df = (residual + judge) ** 2 / float(spread) if spread > 0 else float(len(data.y) - sets)
    slope, lam = (float(share @ part) for part in (each.slope, each.lam))
    seen, n = each.seen, len(data.y)
    count, one = (share * n / each.n)[data.stratum], np.zeros(n, dtype=np.intp)
    means = {name: np.array([share @ getattr(seen, name)]) for name in ("low", "high", "part", "predicted", "sampled")}
    whole = replace(seen, count=count, code=one, in_squares=count, values=different(data.y, one, 1), **means)
    return CorrectedMeans.of_one(point, residual, judge, df, slope, lam, n, data.n_rest, seen=whole)


def _from_parts(parts: CorrectedMeans, bounds: tuple[float, float] | None, **how: Any) -> MeanLaw:
    point, law = law_on_scale(parts, bounds, **how)
    (point,), (error,), (lam,) = point, np.sqrt(parts.variance), parts.lam
    if bounds is None:
        return MeanLaw(float(point), float(error), float(law.df[0]), float(lam), Student(point, error, law.df[0]))
    return MeanLaw(float(point), float(error), np.nan, float(lam), replace(law, point=float(point)))


def law_on_scale(parts: CorrectedMeans, bounds: tuple[float, float] | None, **how: Any) -> tuple[Floats, Any]:
    """Student's or, where the scale has ends, Gaffke's (`bounded`), with the point on the scale; of one set or many."""
    if bounds is None:
        return parts.point, Student(parts.point, np.sqrt(parts.variance), parts.satterthwaite)
    return bounded(parts.point, parts.judge, parts.seen, bounds, **how)


def _by_labels(data: MeanData, options: CheckedOptions) -> MeanLaw:
    """Labels alone, t, whatever the scale."""
    if options.finite or data.design in {"strata", "weighted"}:
        return _by_slope(with_silent_judge(data), replace(options, bounds=None))._replace(lam=0.0)
    return _by_rectified(data, 0.0)


def _by_rectified(data: MeanData, lam: Floats | float) -> MeanLaw:
    """The mean of y - lam (f - mean of f), with a lam for each labelled item; 0 is the labels alone."""
    each, n = np.broadcast_to(lam, len(data.y)), len(data.y)
    mean_lam, rectified = float(each.mean()), data.y - each * (data.f - float(data.rest.mean))
    if data.group is None:
        own = float(np.sum(centred(rectified) ** 2)) / (n - 1) / n
        judge = mean_lam**2 * float(data.rest.squares) / (data.n_rest - 1) / data.n_rest if mean_lam else 0.0
        parts = [(own, n - 1), (judge, data.n_rest - 1)]
    else:  # errors are summed over a group before the square
        n_groups, error, in_rest = _rest_by_group(data, mean_lam)
        error = np.bincount(data.group, centred(rectified) / n, n_groups) + error
        labelled = np.bincount(data.group, minlength=n_groups) > 0
        in_rest &= ~labelled
        if in_rest.sum() == 1:
            labelled, in_rest = labelled | in_rest, in_rest & ~in_rest  # one group alone has no spread
        sides = [(int(side.sum()), error[side]) for side in (labelled, in_rest)]
        parts = [(float(k / (k - 1) * np.sum(errors**2)), k - 1) for k, errors in sides if k > 1]
    point, variance, df = float(rectified.mean()), np.nan, np.nan
    if parts:  # by Satterthwaite; none where there is one group
        variance = sum(part for part, _ in parts)
        spread = sum(part**2 / own_df for part, own_df in parts if part)
        df = variance**2 / spread if spread else float(parts[0][1])
    law = Student(point, np.sqrt(variance), df)
    return MeanLaw(point, float(law.error), df, float(np.mean(lam)), law)


def _by_judge(data: MeanData, _: CheckedOptions) -> MeanLaw:
    """The judge's own mean, over all items."""
    if data.group is not None and data.group_rest is not None:
        scores = np.concatenate([data.f, np.asarray(data.loose(), dtype=float)])
        group: Codes = np.concatenate([data.group, data.group_rest])
        people = MeanData(scores, scores, moments_of([], "f"), np.empty(0), group, np.empty(0, dtype=np.intp))
        return _by_rectified(people, 0.0)._replace(lam=1.0)
    everywhere = data.rest.merge(moments_of(data.f, "f"))
    if not (n := int(everywhere.n)):
        raise ArgumentError("f", "must have a score at least", "has none")
    law = Student(float(everywhere.mean), np.sqrt(float(everywhere.variance) / n), n - 1)
    return MeanLaw(law.point, float(law.error), float(law.df), 1.0, law)


def with_silent_judge(data: MeanData) -> MeanData:
    """The labels and design of `data` with a judge that scores every item 0."""
    rest = Moments(data.rest.n, *(np.zeros(()) for _ in range(4)))
    loose = None if data.scores_rest is None else np.broadcast_to(0.0, data.n_rest)
    nothing = np.zeros(0 if data.sets is None else len(data.sets.n))
    sets = None if data.sets is None else Moments(data.sets.n, *(nothing for _ in range(4)))
    return replace(data, f=np.zeros_like(data.f), rest=rest, scores_rest=loose, sets=sets)


def labels_alone(data: MeanData, options: CheckedOptions, estimator: str) -> MeanLaw:
    """What the labels say without the judge, by the same kind of estimator (`Method.alone`)."""
    alone = METHODS[estimator].alone
    if options.yes_or_no and data.design == "items" and alone.startswith("gaffke"):  # as `mean_interval` has them
        alone = kind_of(bounded=True, binary=True, conservative=bool(options.conservative), judged=False)
    return METHODS[alone].law(with_silent_judge(data), options)._replace(estimator=alone, lam=0.0)


def _by_labels_of_kind(data: MeanData, options: CheckedOptions) -> MeanLaw:
    return labels_alone(data, options, _kind(data, options))


def _lam_without_each(data: MeanData) -> Floats:
    """PPI++'s lambda for each labelled item, tuned on the others; of groups, without the item's group.

    There it minimises the sum over groups of (A - lambda B)^2: with k labelled items in a group, a and b the sums of
    their deviations in y and f, and r the group's share of the error of the unlabelled mean, A = a / n and B = b / n -
    r. Leaving a group out moves the means that the deviations are taken from, by s and t.
    """
    y, f = centred(data.y), centred(data.f)

    def others(values: Floats) -> Floats:
        return np.asarray(values.sum() - values)

    with np.errstate(invalid="ignore", divide="ignore"):
        if data.group is None:  # covariance without each item, over the variance of all judge scores, as in PPI++
            n_labels, rest, gap = len(y), data.n_rest, float(data.f.mean() - data.rest.mean)
            squares = float(np.sum(f**2) + data.rest.squares) + n_labels * rest / (n_labels + rest) * gap**2
            covariance = (np.sum(y * f) - n_labels / (n_labels - 1) * y * f) / (n_labels - 2)
            slope = covariance / ((1 + n_labels / rest) * (squares / (n_labels + rest - 1)))
        else:
            n_groups, r, _ = _rest_by_group(data)
            k, a, b = (np.bincount(data.group, part, n_groups).astype(float) for part in (np.ones_like(y), y, f))
            n = others(k)
            s, t = others(a) / n, others(b) / n
            cross = (others(a * b) - t * others(a * k) - s * others(b * k) + s * t * others(k * k)) / n
            square = (others(b * b) - 2 * t * others(b * k) + t * t * others(k * k)) / n
            cross -= others(a * r) - s * others(k * r)
            square += n * others(r * r) - 2 * (others(b * r) - t * others(k * r))
            slope = np.asarray((cross / square)[data.group])
    return np.clip(np.where(np.isfinite(slope), slope, 0.0), 0.0, 1.0)


def _rest_by_group(data: MeanData, lam: float = 1.0) -> tuple[int, Floats, NDArray[np.bool_]]:
    """The number of groups, what each adds to `lam` times the error of the rest's mean, and which have such items."""
    assert data.group is not None
    assert data.group_rest is not None
    code, rest = data.group_rest, data.rest_sets()
    n_groups = int(max(data.group.max(initial=-1), code.max(initial=-1))) + 1
    errors = lam * (rest.n * (rest.mean - float(data.rest.mean)) / max(data.n_rest, 1))
    return n_groups, np.bincount(code, errors, n_groups).astype(float), np.bincount(code, minlength=n_groups) > 0


def centred(values: Floats) -> Floats:
    """Deviations from the mean; of a constant exactly 0, without the mean's rounding dust."""
    return np.asarray(values - values.mean()) if np.ptp(values) > 0 else np.zeros_like(values)


_FIT = Requirements(min_labels=True)
_PAIRED = Requirements(rest=2, takes=("groups",))
_CHOICES = {  # those that one can ask for
    "auto": Method(_by_kind, _FIT, "by the kind of the scores"),
    "regression": Method(
        lambda data, _: _from_parts(_independent_items(data, SlopePrior(0, 0), robust=False, finite=False), None),
        Requirements(labels=4, min_labels=True, takes=()),
        "regression estimator",
    ),
    "labels": Method(_by_labels_of_kind, Requirements(), "people alone", alone="labels"),
    "classical": Method(_by_labels, Requirements(), "people alone"),
    "ppi": Method(lambda data, _: _by_rectified(data, 1.0), _PAIRED, "PPI"),
    "ppi++": Method(lambda data, _: _by_rectified(data, _lam_without_each(data)), _PAIRED, "PPI++"),
    "judge_only": Method(_by_judge, Requirements(labels=0), "judge alone: not an interval for the human mean", ""),
}
METHODS = _CHOICES | {  # and what "auto" becomes
    "gaffke-ppi": Method(_by_slope, _FIT, "people and judge", "gaffke", "measured"),
    "gaffke-ppi-conservative": Method(
        _by_slope, _FIT, "people and judge, conservative", "gaffke-conservative", "measured"
    ),
    "t-ppi": Method(_by_slope, _FIT, "people and judge", "t"),
    "mover-jeffreys-clopper-pearson": Method(
        _by_rates, _FIT, "people and judge", "jeffreys-clopper-pearson", "measured"
    ),
    "mover-clopper-pearson": Method(_by_rates, _FIT, "people and judge, conservative", "clopper-pearson", "measured"),
    "gaffke": Method(_by_slope, _FIT, "people alone", "gaffke", "measured"),
    "gaffke-conservative": Method(_by_slope, _FIT, "people alone, conservative", "gaffke-conservative", "measured"),
    "t": Method(_by_slope, _FIT, "people alone", "t"),
    "jeffreys-clopper-pearson": Method(_by_rates, _FIT, "people alone", "jeffreys-clopper-pearson", "measured"),
    "clopper-pearson": Method(_by_rates, _FIT, "people alone, conservative", "clopper-pearson", "proved"),
}
ESTIMATORS = tuple(_CHOICES)
PEERS = ("ppi_py", "ares", "glide")


def estimator_of(estimator: str, choices: Sequence[str] = ESTIMATORS) -> str:
    """The estimator, one of the choices; for those of other programs the error says where they are computed."""
    if estimator in PEERS:
        came = f"got {estimator!r}: what other programs compute is in `paper_repro/oracles.py`"
        raise ArgumentError("estimator", f"must be one of {', '.join(map(repr, choices))}", came)
    return check.choice(estimator, "estimator", choices)
