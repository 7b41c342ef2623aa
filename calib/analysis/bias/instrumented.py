"""Effects of x on a judge at equal quality: one annotator's labels instrumented by the others', or a bracket."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import unit_sums, units_of
from calib.core.result import NO_INTERVAL, Estimate, Interval, bracket, short
from calib.core.text import printable, shortlist

WEAK_F = 10.0  # of the first stage; Staiger and Stock 1997
_FEW_APART = 3  # groups in which x must differ from its usual value; with 2, 3, 5 of 100: 91, 95, 97 % covered
_LEAST_OWN = 30, 10  # labels of an annotator with a slope of her own, and groups of these if there are as many
_MOST_NAMED = 6
_LIKE_COPIES, _MOST_COMPARED = 20, 30  # items (twice as many of pass and fail); annotators
_PILED = 0.4  # of labels at the two ends
_SINGULAR = 1e10  # condition from which on columns are sums of each other
_LITTLE_LEFT = 0.01  # of quality beyond x, below which leaving out a group must not push it


class Effect(NamedTuple):
    """A coefficient with its error.

    Attributes
    ----------
    estimate, std_error, z : float
        Judge points per unit of x, its clustered error (sandwich), their ratio.
    p_value : float
    interval : Interval
        By t and the error of the jackknife over groups, which is larger than the sandwich where groups are few.
    """

    estimate: float
    std_error: float
    z: float
    p_value: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrumented(Estimate):
    """What one unit of x moves the judge by at equal quality, and what it seems to by two usual regressions.

    The estimate is the mean over annotators of what each says, instrumented by the others; NaN with one annotator, or
    if they agree too little. With one the interval is the bracket over `reliability`, with its sampling error.

    Attributes
    ----------
    std_error, z, p_value, df : float
        Of the estimate; degrees of freedom of all intervals and p-values.
    judge_less_labels : Effect
        Of judge less mean of people on x: what is added to differences of means on a leaderboard.
    control : Effect
        Of x in the judge on the mean of people and x, as if that mean had no error.
    labels_alone, judge_alone : Effect
        Of x in the mean of the labels, and in the judge, each alone.
    slope, first_stage_f : float
        Points of the judge for one point of quality, the mean over annotators; how well annotators foretell each other
        given x, clustered, lowest of all that count (NaN with one).
    bracket_interval : Interval
        With one annotator the estimates at the two ends of `reliability`, else NaN.
    reliability : tuple of float
        Of one annotator's labels, lowest and highest thought possible; NaN where several annotators tell.
    n, n_groups, n_raters : int
        Items, groups of them, annotators.
    p_adjusted, difference_p_adjusted, n_claims, correction : float, float, int, str
        From `calib.bias`, each p-value for all claims of the call, how many these are, and how. NaN from arrays.
    unit : str
        What one unit of x is.
    """

    std_error: float = math.nan
    z: float = math.nan
    p_value: float = math.nan
    judge_less_labels: Effect
    control: Effect
    labels_alone: Effect
    judge_alone: Effect
    slope: float
    first_stage_f: float = math.nan
    df: float
    bracket_interval: Interval = NO_INTERVAL
    reliability: tuple[float, float] = (math.nan, math.nan)
    n: int
    n_groups: int
    n_raters: int
    p_adjusted: float = math.nan
    difference_p_adjusted: float = math.nan
    n_claims: int = 1
    correction: str = "none"
    unit: str = "1"

    def _rows(self) -> list[dict[str, Any]]:
        row = self._row("estimate", "std_error", "z", "p_value", "interval")
        row |= self._row("p_adjusted") if self.n_claims > 1 else {}
        row |= self._effect_row("judge_less_labels", self.judge_less_labels, "difference_p_adjusted")
        row |= self._effect_row("control", self.control)
        row |= {"labels_alone": self.labels_alone.estimate, "labels_alone_z": self.labels_alone.z}
        row |= {"judge_alone": self.judge_alone.estimate}
        row |= self._row("slope", "first_stage_f", "df", "unit", *["bracket_interval"] * (self.n_raters == 1))
        return [row | self._row("n", "n_groups", "n_raters", "n_claims", "warnings")]

    def _effect_row(self, name: str, effect: Effect, p_adjusted: str = "") -> dict[str, Any]:
        row = {name: effect.estimate, f"{name}_z": effect.z, f"{name}_p": effect.p_value}
        row |= {f"{name}_low": effect.interval.low, f"{name}_high": effect.interval.high}
        return row | (self._row(p_adjusted) if p_adjusted and self.n_claims > 1 else {})

    def _terms(self) -> dict[str, Any]:
        name = "instrumented" if self.n_raters > 1 else "errors-in-variables"
        terms: dict[str, Any] = {name: True, "annotators": self.n_raters, "groups": self.n_groups, "n": self.n}
        low, high = self.reliability
        terms |= {"rel": None if math.isnan(low) else f"{low:g}-{high:g}", "cl": self.confidence_level}
        return terms | ({self.correction: f"{self.n_claims} claims"} if self.n_claims > 1 else {})

    def __str__(self) -> str:
        per = f" per {self.unit}" * self.unit.startswith(("doubling", "1 sd"))
        favour = f"at equal quality {short(self.estimate)}{per}, {self.bracket}"
        if self.n_raters == 1:
            between = " and ".join(map(short, self.bracket_interval))
            reliability = "reliability {:g} to {:g}".format(*self.reliability)
            favour = f"at equal quality between {between}{per} (one annotator, {reliability}), {self.bracket}"
        apart = bracket(self.judge_less_labels.interval, self.confidence_level)
        less = f"judge less people {short(self.judge_less_labels.estimate)}, {apart}"
        return f"{favour}; {less}; n = {self.n} in {self.n_groups} groups{self._bracketed_warnings}"


def instrumented(
    judge: ArrayLike,
    labels: ArrayLike,
    x: ArrayLike,
    *,
    groups: Labels | None = None,
    annotators: Sequence[str] | None = None,
    reliability: tuple[float, float] = (0.5, 1.0),
    confidence_level: float = 0.95,
) -> Instrumented:
    r"""Whether x moves the judge at equal quality, and what judge less people makes of it.

    .. math:: j_i = a_k + b_k\,e_{ik} + g\,x_i + u_{ik}, \qquad
              \hat g = \sum_k w_k\,\hat\theta_{k,x} \Big/ \sum_k w_k, \quad
              \hat\theta_k = (Z_k'X_k)^{-1} Z_k'j, \quad w_k = \sum_i (x_i - \bar x_k)^2

    over the items i that annotator k labelled, :math:`X_k = (1, e_{ik}, x_i)`, and :math:`Z_k` the same with the mean
    of the other annotators in place of :math:`e_{ik}`. Annotators err, so people's mean in a regression leaves some of
    the quality in x, and judge less people takes b for 1; the others' mean has errors of its own, which do not matter
    if they have nothing to do with hers. Annotators who labelled too little (fewer than 30 items, or in fewer than 10
    groups, or whom the others foretell too little) have an intercept each and share one slope.

    Intervals and p-values are by the jackknife over groups d, :math:`\sum_d (\hat g_{(d)} - \hat g)^2 (G-1)/G`, and by
    t with :math:`(\sum_d v_d)^2 / \sum_d v_d^2` degrees of freedom, G - 1 at most, where :math:`v_d` is the sum of
    :math:`(x_i - \bar x)^2` over group d. The error beside them is the clustered sandwich.

    With one annotator the variance of labels is shrunk to the share that may be quality (`reliability`), and the
    estimate lies between those of the lowest and the highest.

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
    annotators : sequence of str, optional
        What the columns of the labels are called, for warnings; default: their numbers.
    reliability : pair of float, default (0.5, 1.0)
        Of one annotator's labels, used with one annotator only.
    confidence_level : float, default 0.95

    References
    ----------
    Wooldridge (2010), Econometric Analysis of Cross Section and Panel Data, ch. 5 (instruments against errors of
    measurement); Staiger and Stock (1997), Econometrica 65:557-586 (F below 10); Fuller (1987), Measurement Error
    Models; MacKinnon, Nielsen and Webb (2023), J. Econometrics 232:272-299 (jackknife over clusters); Imbens and
    Kolesar (2016), REStat 98:701-712 (degrees of freedom).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality, noise = rng.normal(size=400), rng.normal(size=(400, 3))
    >>> x = 0.3 * quality + rng.normal(size=400)
    >>> judge = 0.6 * quality + 0.2 * x + rng.normal(size=400) / 2
    >>> result = instrumented(judge, quality[:, None] + 0.8 * noise, x)
    >>> round(result.estimate, 3), round(result.judge_less_labels.estimate, 3), round(result.control.estimate, 3)
    (0.244, 0.144, 0.266)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    ends = (reliability, reliability) if isinstance(reliability, float | int) else tuple(reliability)
    low, high = ends if len(ends) == 2 else (math.nan, math.nan)
    if not 0 < low <= high <= 1:
        rule = "must be two numbers above 0 and up to 1, lower first"
        raise ArgumentError("reliability", rule, f"got {reliability!r}")
    j, e, at, group, names = _checked_items(judge, labels, x, groups, annotators)
    mean, one = np.nanmean(e, axis=1), np.ones(len(at))
    warnings, n_groups, ratings = [], int(group.max()) + 1, e[~np.isnan(e)]
    share = float(np.isin(ratings, (ratings.min(), ratings.max())).mean())
    if share > _PILED and len(np.unique(ratings)) > 2:
        what = f"{100 * share:.0f} % of the labels are at an end of their scale, beyond which they cannot go"
        warnings.append(f"ceiling: {what}: a part of an estimate may be that.")
    if n_groups < 10:
        warnings.append(f"few_groups: {n_groups} groups carry the interval.")
    # where x differs from its most frequent value in few of the groups, whatever the number of items
    values, counts = np.unique(at, return_counts=True)
    apart = len(np.unique(group[at != values[counts.argmax()]]))
    if apart < _FEW_APART:
        so = "so the interval is too short" if apart > 1 else "so that no interval can be computed"
        warnings.append(f"one_sided: x differs in {apart} of {n_groups} groups only, {so}.")
    weight = np.bincount(group, (at - at.mean()) ** 2)  # of each group in the effect of x
    df = max(min(float(weight.sum() ** 2 / (weight**2).sum()), n_groups - 1), 1)
    law = confidence, df
    # effects of x without an instrument
    alone, beside = np.c_[one, at], np.c_[one, mean, at]
    less, of_labels, of_judge = (_effect(_solved(y, alone, alone, group), law) for y in (j - mean, mean, j))
    control = _effect(_solved(j, beside, beside, group), law)
    if e.shape[1] > 1:
        answer, more = _by_instrument(j, e, at, group, names, law)
    else:
        answer, more = _bracketed(j, mean, at, group, (float(low), float(high)), law)
    return Instrumented(
        **answer, judge_less_labels=less, control=control, labels_alone=of_labels, judge_alone=of_judge, n=len(at),
        n_groups=n_groups, n_raters=e.shape[1], df=df, confidence_level=confidence,
        warnings=check.warn_all([*warnings, *more]),
    )  # fmt: skip


def _checked_items(
    judge: ArrayLike, labels: ArrayLike, x: ArrayLike, groups: Labels | None, annotators: Sequence[str] | None
) -> tuple[Floats, Floats, Floats, Codes, list[str]]:
    """Judge, labels (n, R), x and groups of the items with a judge, an x and labels enough; who the annotators are."""
    j, at = check.array(judge, "judge", ndim=1), check.array(x, "x", ndim=1)
    e = check.array(labels, "labels")
    e = e[:, None] if e.ndim == 1 else check.array(e, "labels", ndim=2)
    check.same_length(judge=j, labels=e, x=at, groups=groups)
    names = [str(k) for k in range(e.shape[1])] if annotators is None else [str(name) for name in annotators]
    if len(names) != e.shape[1]:
        raise ArgumentError("annotators", f"must name {e.shape[1]}", f"got {len(names)}")
    there = np.flatnonzero(~np.isnan(e).all(axis=0))
    e, names = e[:, there], [names[k] for k in there]
    several = e.shape[1] > 1
    kept = ~np.isnan(j) & ~np.isnan(at) & ((~np.isnan(e)).sum(axis=1) >= (2 if several else 1))
    j, e, at, group = j[kept], e[kept], at[kept], units_of(groups, kept)
    if len(j) < 4:  # the regression has three coefficients
        kind = "two labels" if several else "a label"
        raise ArgumentError("labels", f"must leave 4 items with a score, {kind} and an x", f"left {len(j)}")
    # annotators who never differ are one: the other's mean has the errors of hers, and is no instrument
    for k, m in combinations(range(e.shape[1]), 2) if e.shape[1] <= _MOST_COMPARED else ():
        one, two = e[~np.isnan(e[:, k]) & ~np.isnan(e[:, m])][:, [k, m]].T
        least = _LIKE_COPIES if len(np.unique(one)) > 2 else 2 * _LIKE_COPIES
        if len(one) >= least and np.ptp(one) > 0 and np.array_equal(one, two):
            rule = "must be of annotators who rated by themselves (take one of two copies out)"
            raise ArgumentError("labels", rule, f"{names[k]} and {names[m]} are the same on all {len(one)} items")
    if group.max() < 1:
        raise ArgumentError("groups", "must be two or more", "all items are in one")
    for name, column in {"judge": j, "x": at, "labels": e[~np.isnan(e)]}.items():
        if np.ptp(column) == 0:
            raise ArgumentError(name, "must vary", f"is {column[0]:g} throughout")
    return j, e, at, group, names


_Law = tuple[float, float]  # confidence level and degrees of freedom of intervals and p-values
# coefficients; what each group adds to them (its squares are the sandwich); coefficients without each group: (G, k)
_Regression = tuple[Floats, Floats, Floats]


def _solved(y: Floats, x: Floats, z: Floats, group: Codes) -> _Regression:
    """Two-stage least squares with as many instruments as columns."""
    n, k, g = len(y), x.shape[1], int(group.max()) + 1
    zx, zy = (unit_sums(z[:, :, None] * side, group) for side in (x[:, None, :], y[:, None, None]))
    whole = zx.sum(axis=0)
    size = np.sqrt(np.outer((z**2).sum(axis=0), (x**2).sum(axis=0)))
    if not size.all() or not np.linalg.cond(whole / size) < _SINGULAR:
        return np.full(k, np.nan), np.full((g, k), np.nan), np.full((g, k), np.nan)
    inverse = np.linalg.inv(whole)
    theta = inverse @ zy.sum(axis=0)[:, 0]
    sums = zy[:, :, 0] - zx @ theta  # of instrument times residual
    parts = math.sqrt(g / max(g - 1, 1) * (n - 1) / max(n - k, 1)) * sums @ inverse.T
    # without each group; NaN where the rest does not tell the coefficients
    rest = whole - zx
    size = np.sqrt(np.abs(np.einsum("gii->gi", rest)))
    size[size == 0] = 1.0
    good = np.abs(np.linalg.det(rest / (size[:, :, None] * size[:, None, :]))) > 1 / _SINGULAR
    left_out = np.full((g, k), np.nan)
    left_out[good] = np.linalg.solve(rest[good], (zy.sum(axis=0) - zy)[good])[:, :, 0]
    return theta, parts, left_out


def _effect(fit: _Regression, law: _Law) -> Effect:
    """Of x, the last column."""
    theta, parts, left_out = fit
    return _tested(float(theta[-1]), math.sqrt(float((parts[:, -1] ** 2).sum())), left_out[:, -1], law)


def _tested(estimate: float, std_error: float, left_out: Floats, law: _Law) -> Effect:
    """By t with the jackknife's error: the sandwich is too small where groups are few."""
    (confidence, df), g = law, len(left_out)
    z = estimate / std_error if std_error > 0 else math.nan
    error = math.sqrt((g - 1) / g * float(((left_out - estimate) ** 2).sum()))
    half = float(special.stdtrit(df, (1 + confidence) / 2)) * error
    p_value = float(2 * special.stdtr(df, -abs(estimate) / error)) if error > 0 else math.nan
    return Effect(estimate, std_error, z, p_value, Interval(estimate - half, estimate + half))


class _Panel(NamedTuple):
    """What some annotators say, with an intercept for each and one slope."""

    fit: _Regression
    groups: Codes  # in which they labelled, of which the fit is
    f: float  # of the first stage
    weight: float
    n_labels: int
    reason: str  # why there is no effect

    @property
    def whole(self) -> bool:
        """Whether no group is needed for the fit."""
        return bool(np.isfinite(self.fit[2]).all())


def _by_instrument(
    judge: Floats, e: Floats, x: Floats, group: Codes, names: Sequence[str], law: _Law
) -> tuple[dict[str, Any], list[str]]:
    """The mean over annotators, weighted by how much x varies in what each labelled."""
    item, who = np.nonzero(~np.isnan(e))
    n = np.bincount(item)[item]
    own, total = e[item, who], np.bincount(item, e[item, who])[item]
    panels, warnings = _panels(np.stack([judge[item], own, (total - own) / (n - 1), x[item]]), who, group[item], names)
    fields: dict[str, Any] = {"first_stage_f": min(one.f for one in panels)}
    if reason := panels[0].reason:
        fields |= {"estimate": math.nan, "interval": NO_INTERVAL, "slope": float(panels[0].fit[0][1])}
        return fields, [f"{reason}, so there is no estimate."]
    share = np.array([one.weight for one in panels]) / sum(one.weight for one in panels)
    theta = share @ np.stack([one.fit[0] for one in panels])
    parts, left_out = np.zeros((int(group.max()) + 1, 3)), np.tile(theta, (int(group.max()) + 1, 1))
    for one, weight in zip(panels, share, strict=True):
        parts[one.groups] += weight * one.fit[1]
        left_out[one.groups] += weight * (one.fit[2] - one.fit[0])
    return fields | _effect((theta, parts, left_out), law)._asdict() | {"slope": float(theta[1])}, warnings


def _panels(columns: Floats, who: Codes, group: Codes, names: Sequence[str]) -> tuple[list[_Panel], list[str]]:
    """One for each annotator who labelled enough, and one for all others; of these alone where there is no other."""
    enough, in_groups = _LEAST_OWN[0], min(_LEAST_OWN[1], len(np.unique(group)))
    panels: list[_Panel] = []
    rest, causes = np.ones(len(names), dtype=bool), set()
    for k in range(len(names)):
        hers = who == k
        if hers.sum() >= enough and len(np.unique(group[hers])) >= in_groups:
            panel = _panel(columns[:, hers], who[hers], group[hers])
            if not panel.reason and panel.whole:
                panels, rest[k] = [*panels, panel], False
            else:
                causes.add("tell too little by themselves")
        else:
            causes.add("labelled too little")
    if not rest.any():
        return panels, []
    theirs, left = rest[who], [printable(name) for name in compress(names, rest)]
    others = _panel(columns[:, theirs], who[theirs], group[theirs])
    whose = shortlist(left, _MOST_NAMED)
    if panels and (others.reason or others.n_labels < enough or not others.whole):
        why = others.reason.partition(": ")[2] or f"{others.n_labels} labels in all"
        return panels, [f"weak_annotator: {whose} left out of the mean over annotators: {why}."]
    little = " or ".join(sorted(causes))
    share = f"{whose} {little} for slopes of their own and share one, as if they used the scale alike"
    return [*panels, others], [f"shared_slope: {share}."] * (len(left) > 1 and others.whole)


def _panel(columns: Floats, who: Codes, group: Codes) -> _Panel:
    """Two stages, of rows of judge, her label, the mean of the others (which instruments it), and x."""
    # less the means of each annotator's rows, which is an intercept for each
    n_labels = np.bincount(who)[who]
    judge, own, others, x = (column - np.bincount(who, column)[who] / n_labels for column in columns)
    one, (groups, group) = np.ones(len(x)), np.unique(group, return_inverse=True)
    before = np.c_[one, x, others]
    theta, parts, _ = _solved(own, before, before, group)
    fit = _solved(judge, np.c_[one, own, x], np.c_[one, others, x], group)
    spread = float((parts[:, -1] ** 2).sum())
    f, reason = float(theta[-1] ** 2 / spread) if spread > 0 else math.nan, ""
    if math.isnan(fit[0][-1]):
        reason = "confounded: x cannot be separated from the labels or from who labelled"
    elif not f >= WEAK_F:
        reason = f"weak_instrument: annotators predict each other too little (F {f:.2g}, {WEAK_F:g} is the least)"
    elif theta[-1] < 0:
        reason = "weak_instrument: annotators contradict each other, where x is the same"
    return _Panel(fit, groups, f, float((x**2).sum()), len(x), reason)


def _bracketed(
    judge: Floats, label: Floats, x: Floats, group: Codes, reliability: tuple[float, float], law: _Law
) -> tuple[dict[str, Any], list[str]]:
    """Errors in variables at both ends of what the reliability may be; no sandwich, as a variance is estimated."""
    columns = np.c_[np.ones(len(x)), label, x, judge]
    each = unit_sums(columns[:, :, None] * columns[:, None, :], group)
    sums = np.concatenate([each.sum(axis=0)[None], each.sum(axis=0) - each])  # of all, and without each group
    if (sums[1:, 2, 2] - sums[1:, 0, 2] ** 2 / sums[1:, 0, 0] <= sums[1:, 2, 2] / _SINGULAR).any():
        came = f"without one of {len(each)} it is constant, collinear with the intercept: label more where it differs"
        raise ArgumentError("x", "must vary in two groups or more", came)
    thetas = [_errors_in_variables(sums, share) for share in reliability]
    ends = [_tested(float(theta[0, 2]), math.nan, theta[1:, 2], law) for theta in thetas]
    estimates, spans = [one.estimate for one in ends], [one.interval for one in ends]
    warnings = ["one_annotator: her errors are unknown, so the estimate is a range over her reliability."]
    interval = between = NO_INTERVAL
    if any(map(math.isnan, estimates)):
        warnings.append("confounded: at the lower reliability x alone would explain all of quality.")
    else:
        interval = Interval(min(low for low, _ in spans), max(high for _, high in spans))
        between = Interval(min(estimates), max(estimates))
    fields = {"estimate": math.nan, "interval": interval, "slope": float(np.mean([theta[0, 1] for theta in thetas]))}
    return fields | {"bracket_interval": between, "reliability": reliability}, warnings


def _errors_in_variables(sums: Floats, reliability: float) -> Floats:
    """Coefficients of (1, label, x) from sums of products of these and the judge, shape (..., 4, 4)."""
    n = sums[:, 0, 0]
    variance = sums[:, 1, 1] - sums[:, 0, 1] ** 2 / n
    xx = sums[:, :3, :3].copy()
    xx[:, 1, 1] -= (1 - reliability) * variance
    of_x, shared = sums[:, 2, 2] - sums[:, 0, 2] ** 2 / n, sums[:, 1, 2] - sums[:, 0, 1] * sums[:, 0, 2] / n
    rest = variance * reliability - shared**2 / of_x
    if rest[0] <= 0 or (rest < _LITTLE_LEFT * rest[0]).any():  # x would explain more than all of quality
        return np.full((len(sums), 3), np.nan)
    return np.asarray(np.linalg.solve(xx, sums[:, :3, 3:])[:, :, 0], dtype=float)
