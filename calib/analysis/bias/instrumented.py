"""Whether something moves a judge beyond what people see: one annotator, instrumented by the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import unit_sums, units_of
from calib.core.result import Interval, Result, bracket, short

WEAK_F = 10.0  # of the first stage; Staiger and Stock 1997
_LEAST_ITEMS = 4  # items; the regression has three coefficients
_FEW_GROUPS = 10
_FEW_APART = 10  # groups in which x must differ from its usual value; with 3, 5, 8 of 100: 85, 92, 93 % covered
_UNEVEN = 0.5  # standard errors by which leniency may move an estimate: 95 % intervals then cover 92
_SINGULAR = 1e10  # condition from which on columns are sums of each other
_LITTLE_LEFT = 0.01  # of quality beyond x, below which leaving out a group must not push it
_NONE = Interval(math.nan, math.nan)


class Effect(NamedTuple):
    """A coefficient with its error.

    Attributes
    ----------
    estimate, std_error, z : float
        Judge points per unit of x, its clustered error (sandwich), their ratio.
    p_value : float
    interval : Interval
        By t with as many degrees of freedom as there are groups less one, and the error of the jackknife over groups.
    """

    estimate: float
    std_error: float
    z: float
    p_value: float
    interval: Interval


_NO_EFFECT = Effect(math.nan, math.nan, math.nan, math.nan, _NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrumented(Result):
    """What one unit of x moves the judge by, and what it seems to by two usual regressions.

    Attributes
    ----------
    estimate, std_error, z, p_value : float
        At equal quality: one annotator instrumented by the others. NaN with one annotator, or if they agree too little.
    interval : Interval
        With one annotator the bracket over `reliability`, with its sampling error.
    difference : Effect
        Of judge less mean of people on x: what is added to differences of means on a leaderboard.
    control : Effect
        Of x in the judge on the mean of people and x, as if that mean had no error.
    centred : Effect
        As `estimate`, with an intercept for each annotator, so that it holds where some are more lenient than others.
        NaN where that is refused.
    labels, judge : Effect
        Of x in the mean of the labels, and in the judge, each alone.
    slope : float
        Points of the judge for one point of quality.
    first_stage_f : float
        How well annotators foretell each other given x, clustered; NaN with one.
    bracket : Interval
        With one annotator the estimates at the two ends of `reliability`, else NaN.
    reliability : tuple of float
        Of one annotator's labels, lowest and highest thought possible; NaN where several annotators tell.
    n, n_groups, n_raters : int
        Items, groups of them, annotators.
    p_adjusted, difference_p_adjusted, centred_p_adjusted : float
        From `calib.bias`, each for all claims of the call. NaN from arrays.
    n_claims : int
        How many these are.
    correction : str
    unit : str
        What one unit of x is.
    confidence_level : float
    warnings : tuple of str
    """

    estimate: float
    std_error: float
    z: float
    p_value: float
    interval: Interval
    difference: Effect
    control: Effect
    centred: Effect
    labels: Effect
    judge: Effect
    slope: float
    first_stage_f: float
    bracket: Interval
    reliability: tuple[float, float]
    n: int
    n_groups: int
    n_raters: int
    confidence_level: float
    warnings: tuple[str, ...]
    p_adjusted: float = math.nan
    difference_p_adjusted: float = math.nan
    centred_p_adjusted: float = math.nan
    n_claims: int = 1
    correction: str = "none"
    unit: str = "1"

    def _rows(self) -> list[dict[str, Any]]:
        row = self._row("estimate", "std_error", "z", "p_value", "interval")
        row |= self._row("p_adjusted") if self.n_claims > 1 else {}
        row |= self._effect_row("judge_less_labels", self.difference, "difference_p_adjusted")
        row |= self._effect_row("control", self.control)
        row |= {"labels_alone": self.labels.estimate, "labels_alone_z": self.labels.z}
        row |= {"judge_alone": self.judge.estimate}
        row |= self._effect_row("centred", self.centred, "centred_p_adjusted") if self.n_raters > 1 else {}
        row |= self._row("slope", "first_stage_f", "unit")
        row |= {"bracket_low": self.bracket.low, "bracket_high": self.bracket.high} if self.n_raters == 1 else {}
        return [row | self._row("n", "n_groups", "n_raters", "n_claims", "warnings")]

    def _effect_row(self, name: str, effect: Effect, p_adjusted: str = "") -> dict[str, Any]:
        row = {name: effect.estimate, f"{name}_z": effect.z, f"{name}_p": effect.p_value}
        row |= {f"{name}_low": effect.interval.low, f"{name}_high": effect.interval.high}
        return row | (self._row(p_adjusted) if p_adjusted and self.n_claims > 1 else {})

    def _terms(self) -> dict[str, Any]:
        name = "instrumented" if self.n_raters > 1 else "errors-in-variables"
        terms: dict[str, Any] = {name: True, "raters": self.n_raters, "groups": self.n_groups, "n": self.n}
        low, high = self.reliability
        terms |= {"rel": None if math.isnan(low) else f"{low:g}-{high:g}", "cl": self.confidence_level}
        return terms | ({self.correction: f"{self.n_claims} claims"} if self.n_claims > 1 else {})

    def __str__(self) -> str:
        ends = bracket(self.interval, self.confidence_level)
        if self.n_raters == 1:
            low, high = map(short, self.bracket)
            favour = (
                f"at equal quality between {low} and {high} (one annotator, reliability {self.reliability[0]:g} to "
            )
            favour += f"{self.reliability[1]:g}), {ends}"
        else:
            favour = f"at equal quality {short(self.estimate)}, {ends}"
        apart = bracket(self.difference.interval, self.confidence_level)
        return (
            f"{favour}; judge less people {short(self.difference.estimate)}, {apart}; n = {self.n} in {self.n_groups} "
            f"groups{self._bracketed_warnings}"
        )


def instrumented(
    judge: ArrayLike,
    labels: ArrayLike,
    x: ArrayLike,
    *,
    groups: Labels | None = None,
    reliability: tuple[float, float] = (0.5, 1.0),
    confidence_level: float = 0.95,
) -> Instrumented:
    r"""Whether x moves the judge at equal quality, and what judge less people makes of it.

    .. math:: j_i = a + b\,e_{ik} + g\,x_i + u_{ik}, \qquad
              \hat\theta = (Z'X)^{-1} Z'j, \quad
              \widehat{Var} = c\,(Z'X)^{-1} \Big(\sum_d s_d s_d'\Big) (X'Z)^{-1}, \quad s_d = Z_d'\hat u_d

    with one row for each item i and annotator k, :math:`X = (1, e_{ik}, x_i)`, :math:`Z` the same with the mean of the
    other annotators in place of :math:`e_{ik}`, sums :math:`s_d` over the rows of group d, and
    :math:`c = G/(G-1) \cdot (n-1)/(n-3)`. Annotators err, so people's mean in a regression leaves some of the quality
    in x, and judge less people takes b for 1; the others' mean has errors of its own, which do not matter if they have
    nothing to do with hers. Interval and p-value leave out one group after the other, as the sandwich is too small
    where groups are few.

    How lenient an annotator is counts as her error, and is the opposite of the others': with two who lie d apart the
    instrument takes the variance of quality for :math:`d^2/4` less than it is, and b for too large. `centred` has an
    intercept for each annotator in X and Z (all columns less her own means), and where the two estimates differ by more
    than half an error, that is warned of.

    With one annotator the error of her labels cannot be known: for each reliability (the share of the variance of
    labels that is quality) the variance of labels is shrunk to that share, and the estimate lies between those of the
    lowest and the highest.

    Parameters
    ----------
    judge : array_like, shape (n,)
        Scores of the judge; items without one are left out.
    labels : array_like, shape (n, R) or (n,)
        People's labels, one column for each annotator, NaN where one gave none. Items with one label are left out where
        there are several annotators.
    x : array_like, shape (n,)
        What may move the judge: a length, 1 for one system and 0 for the others.
    groups : sequence, shape (n,), optional
        What items share, such as the source document; items are independent without.
    reliability : pair of float, default (0.5, 1.0)
        Of one annotator's labels, used with one annotator only.
    confidence_level : float, default 0.95


    Warns
    -----
    CalibWarning
        "weak_instrument": annotators foretell each other too little (F below 10), so there is no estimate.
        "one_annotator": a bracket in place of an estimate. "few_groups": below 10. "confounded": x is a sum of
        the others. "one_sided": x differs from its usual value in few groups only. "uneven_annotators": some are more
        lenient than others, so `centred` is to be read in place of the estimate.

    References
    ----------
    Wooldridge (2010), Econometric Analysis of Cross Section and Panel Data, ch. 5 (instruments against errors of
    measurement); Staiger and Stock (1997), Econometrica 65:557-586 (F below 10); Fuller (1987), Measurement Error
    Models; MacKinnon, Nielsen and Webb (2023), Journal of Econometrics 232:272-299 (jackknife over clusters).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> quality, noise = rng.normal(size=400), rng.normal(size=(400, 3))
    >>> x = 0.3 * quality + rng.normal(size=400)
    >>> judge = 0.6 * quality + 0.2 * x + rng.normal(size=400) / 2
    >>> result = instrumented(judge, quality[:, None] + 0.8 * noise, x)
    >>> round(result.estimate, 3), round(result.difference.estimate, 3), round(result.control.estimate, 3)
    (0.243, 0.144, 0.266)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    ends = (reliability, reliability) if isinstance(reliability, float | int) else tuple(reliability)
    low, high = ends if len(ends) == 2 else (math.nan, math.nan)
    if not 0 < low <= high <= 1:
        rule = "must be two numbers above 0 and up to 1, lower first"
        raise ArgumentError("reliability", rule, f"got {reliability!r}")
    data = _data(judge, labels, x, groups)
    # effects of x without an instrument
    one, g = np.ones(len(data.x)), data.group
    alone, beside = np.c_[one, data.x], np.c_[one, data.mean, data.x]
    outcomes = {"difference": data.judge - data.mean, "labels": data.mean, "judge": data.judge}
    effects: dict[str, Any] = {name: _effect(_solved(y, alone, alone, g), confidence) for name, y in outcomes.items()}
    effects["control"] = _effect(_solved(data.judge, beside, beside, g), confidence)
    several = data.e.shape[1] > 1
    answer = _by_instrument(data, confidence) if several else _bracketed(data, (float(low), float(high)), confidence)
    effect, more, doubts = answer
    for text in doubts:
        check.warn(text)
    return Instrumented(
        **effect._asdict(),
        **effects,
        **more,
        n=len(data.x),
        n_groups=int(data.group.max()) + 1,
        n_raters=data.e.shape[1],
        confidence_level=confidence,
        warnings=tuple(doubts),
    )


class _Data(NamedTuple):
    """What is left of the arguments: items with a judge, an x and labels enough."""

    judge: Floats
    e: Floats  # (n, R)
    mean: Floats
    x: Floats
    group: Codes
    doubts: list[str]


def _data(judge: ArrayLike, labels: ArrayLike, x: ArrayLike, groups: Labels | None) -> _Data:
    j, at = check.array(judge, "judge", ndim=1), check.array(x, "x", ndim=1)
    e = check.array(labels, "labels")
    e = e[:, None] if e.ndim == 1 else check.array(e, "labels", ndim=2)
    check.same_length(judge=j, labels=e, x=at, groups=groups)
    e = e[:, ~np.isnan(e).all(axis=0)]
    several = e.shape[1] > 1
    kept = ~np.isnan(j) & ~np.isnan(at) & ((~np.isnan(e)).sum(axis=1) >= (2 if several else 1))
    j, e, at, group = j[kept], e[kept], at[kept], units_of(groups, kept)
    if len(j) < _LEAST_ITEMS:
        kind = "two labels" if several else "a label"
        rule = f"must leave {_LEAST_ITEMS} items with a score, {kind} and an x"
        raise ArgumentError("labels", rule, f"left {len(j)}")
    n_groups = int(group.max()) + 1
    if n_groups < 2:
        raise ArgumentError("groups", "must be two or more", "all items are in one")
    for name, column in {"judge": j, "x": at, "labels": e[~np.isnan(e)]}.items():
        if np.ptp(column) == 0:
            raise ArgumentError(name, "must vary", f"is {column[0]:g} throughout")
    doubts = [] if n_groups >= _FEW_GROUPS else [f"few_groups: {n_groups} groups carry the interval."]
    # where x differs from its most frequent value in few of the groups, whatever the number of items
    values, counts = np.unique(at, return_counts=True)
    apart = len(np.unique(group[at != values[counts.argmax()]]))
    if apart < min(_FEW_APART, n_groups / 2):
        sided = f"x differs in {apart} of {n_groups} groups only, so the interval is too short."
        doubts.append(f"one_sided: {sided}")
    return _Data(j, e, np.nanmean(e, axis=1), at, group, doubts)


# --- regressions ----------------------------------------------------------------------------------------------------


class _Fit(NamedTuple):
    """Coefficients, their sandwich, and how far they move as each group is left out."""

    theta: Floats
    covariance: Floats
    left_out: Floats  # (G, k)


def _solved(y: Floats, x: Floats, z: Floats, group: Codes) -> _Fit:
    """Two-stage least squares with as many instruments as columns."""
    n, k, g = len(y), x.shape[1], int(group.max()) + 1
    zx, zy = (unit_sums(z[:, :, None] * side, group) for side in (x[:, None, :], y[:, None, None]))
    whole = zx.sum(axis=0)
    if np.linalg.cond(whole / np.sqrt(np.outer((z**2).sum(axis=0), (x**2).sum(axis=0)))) > _SINGULAR:
        return _Fit(np.full(k, np.nan), np.full((k, k), np.nan), np.full((g, k), np.nan))
    inverse = np.linalg.inv(whole)
    theta = inverse @ zy.sum(axis=0)[:, 0]
    sums = zy[:, :, 0] - zx @ theta  # of instrument times residual
    covariance = g / (g - 1) * (n - 1) / (n - k) * inverse @ (sums.T @ sums) @ inverse.T
    # without each group; NaN where the rest does not tell the coefficients
    rest = whole - zx
    size = np.sqrt(np.abs(np.einsum("gii->gi", rest)))
    size[size == 0] = 1.0
    good = np.abs(np.linalg.det(rest / (size[:, :, None] * size[:, None, :]))) > 1 / _SINGULAR
    left_out = np.full((g, k), np.nan)
    left_out[good] = np.linalg.solve(rest[good], (zy.sum(axis=0) - zy)[good])[:, :, 0]
    return _Fit(theta, covariance, left_out)


def _effect(fit: _Fit, confidence: float) -> Effect:
    """Of x, the last column."""
    return _tested(float(fit.theta[-1]), float(np.sqrt(fit.covariance[-1, -1])), fit.left_out[:, -1], confidence)


def _tested(estimate: float, std_error: float, left_out: Floats, confidence: float) -> Effect:
    """By t with the jackknife's error: the sandwich is too small where groups are few."""
    g, z = len(left_out), estimate / std_error if std_error > 0 else math.nan
    error = math.sqrt((g - 1) / g * float(((left_out - estimate) ** 2).sum()))
    half = float(special.stdtrit(g - 1, (1 + confidence) / 2)) * error
    p_value = float(2 * special.stdtr(g - 1, -abs(estimate) / error)) if error > 0 else math.nan
    return Effect(estimate, std_error, z, p_value, Interval(estimate - half, estimate + half))


class _Stack(NamedTuple):
    """A row for each item and annotator: her label, and the mean of the others'."""

    judge: Floats
    own: Floats
    others: Floats
    x: Floats
    group: Codes
    who: Codes

    def centred(self) -> _Stack:
        """Less the means of each annotator's rows, which is an intercept for each."""
        n = np.maximum(np.bincount(self.who), 1)
        columns = {name: getattr(self, name) for name in ("judge", "own", "others", "x")}
        return self._replace(**{k: v - (np.bincount(self.who, v) / n)[self.who] for k, v in columns.items()})


class _TwoStages(NamedTuple):
    """By the instrument; why not is empty where there is an answer."""

    effect: Effect
    slope: float
    f: float
    why_not: str


_Answer = tuple[Effect, dict[str, Any], list[str]]  # the effect, further fields, warnings


def _by_instrument(data: _Data, confidence: float) -> _Answer:
    labelled = ~np.isnan(data.e)
    item, who = np.nonzero(labelled)
    own, n = data.e[item, who], labelled.sum(axis=1)
    others = (data.mean[item] * n[item] - own) / (n[item] - 1)
    stack = _Stack(data.judge[item], own, others, data.x[item], data.group[item], who)
    plain, centred = _two_stages(stack, confidence), _two_stages(stack.centred(), confidence)
    doubts = [*data.doubts, *filter(None, [plain.why_not])]
    # whether leniency moves the estimate, or is why there is none
    moved = abs(plain.effect.estimate - centred.effect.estimate) / centred.effect.std_error
    if not centred.why_not and not moved <= _UNEVEN:
        what = "is why there is no estimate" if plain.why_not else f"moves the estimate by {short(moved)} of its errors"
        instead = f"with an intercept for each it is {short(centred.effect.estimate)} (`centred`)"
        doubts.append(f"uneven_annotators: some are more lenient than others, which {what}; {instead}.")
    more = {"slope": plain.slope, "first_stage_f": plain.f, "bracket": _NONE, "reliability": (math.nan, math.nan)}
    return plain.effect, more | {"centred": centred.effect}, doubts


def _two_stages(rows: _Stack, confidence: float) -> _TwoStages:
    one = np.ones(len(rows.x))
    before = np.c_[one, rows.x, rows.others]
    first = _solved(rows.own, before, before, rows.group)
    fit = _solved(rows.judge, np.c_[one, rows.own, rows.x], np.c_[one, rows.others, rows.x], rows.group)
    spread = first.covariance[-1, -1]
    f = float(first.theta[-1] ** 2 / spread) if spread > 0 else math.nan
    effect, why_not = _effect(fit, confidence), ""
    if math.isnan(effect.estimate):
        why_not = "confounded: x and the labels cannot be told apart, so there is no estimate."
    elif first.theta[-1] < 0:
        why_not = "weak_instrument: annotators contradict each other, where x is the same, so there is no estimate."
    elif not f >= WEAK_F:
        why_not = f"weak_instrument: annotators foretell each other too little (F {short(f)}, {WEAK_F:g} is the least)."
    return _TwoStages(_NO_EFFECT if why_not else effect, float(fit.theta[1]), f, why_not)


def _bracketed(data: _Data, reliability: tuple[float, float], confidence: float) -> _Answer:
    """Errors in variables at both ends of what the reliability may be; no sandwich, as a variance is estimated."""
    columns = np.c_[np.ones(len(data.x)), data.mean, data.x, data.judge]
    each = unit_sums(columns[:, :, None] * columns[:, None, :], data.group)
    sums = np.concatenate([each.sum(axis=0)[None], each.sum(axis=0) - each])  # of all, and without each group
    thetas = [_errors_in_variables(sums, share) for share in reliability]
    ends = [_tested(float(theta[0, 2]), math.nan, theta[1:, 2], confidence) for theta in thetas]
    estimates, spans = [one.estimate for one in ends], [one.interval for one in ends]
    doubts = [
        *data.doubts,
        "one_annotator: her errors are not known, so the estimate is a bracket over her reliability.",
    ]
    interval = bracket_ = _NONE
    if any(map(math.isnan, estimates)):
        doubts.append("confounded: at the lower reliability x alone would foretell all of quality.")
    else:
        interval = Interval(min(low for low, _ in spans), max(high for _, high in spans))
        bracket_ = Interval(min(estimates), max(estimates))
    more: dict[str, Any] = {"slope": float(np.mean([theta[0, 1] for theta in thetas])), "first_stage_f": math.nan}
    more |= {"bracket": bracket_, "reliability": reliability, "centred": _NO_EFFECT}
    return _NO_EFFECT._replace(interval=interval), more, doubts


def _errors_in_variables(sums: Floats, reliability: float) -> Floats:
    """Coefficients of (1, label, x) from sums of products of these and the judge, shape (..., 4, 4)."""
    n = sums[:, 0, 0]
    variance = sums[:, 1, 1] - sums[:, 0, 1] ** 2 / n
    xx = sums[:, :3, :3].copy()
    xx[:, 1, 1] -= (1 - reliability) * variance
    rest = variance * reliability - (sums[:, 1, 2] - sums[:, 0, 1] * sums[:, 0, 2] / n) ** 2 / (
        sums[:, 2, 2] - sums[:, 0, 2] ** 2 / n
    )
    if rest[0] <= 0 or (rest < _LITTLE_LEFT * rest[0]).any():  # x would explain more than all of quality
        return np.full((len(sums), 3), np.nan)
    return np.asarray(np.linalg.solve(xx, sums[:, :3, 3:])[:, :, 0], dtype=float)
