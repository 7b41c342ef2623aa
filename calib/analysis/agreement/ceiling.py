"""The bar that people set: how well one of them agrees with the others, and a judge without their noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.agreement.alpha import RatersResult, mean_squares, rating_sums, rating_table
from calib.analysis.agreement.coefficients import WithCoefficient, cells_of, members_of, named_coefficient, settled
from calib.analysis.agreement.levels import Design, check_level, condensed, design_of, estimate
from calib.analysis.agreement.many_samples import row_correlation
from calib.analysis.agreement.spread import NO_INTERVAL, NO_SPREAD, Spread
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import jackknife_variance, recoded, row_means
from calib.core.result import Interval, bracket, short
from calib.core.units import unit_sums

# --- the ceiling ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling(WithCoefficient, RatersResult):
    """How well one person agrees with the mean of the others, and a judge with the same means.

    Attributes
    ----------
    ceiling, judge, difference : float
        Means over raters; the difference is judge - ceiling. NaN without a judge.
    ceiling_interval, judge_interval, difference_interval : Interval
    by_rater, judge_by_rater : tuple of float
        The parts of these means, one for each rater; NaN for a rater without a correlation,
        who is in none of the means.
    level, coefficient, interval_method : str
    df : float
        Degrees of freedom of the t quantile.
    n, n_dropped, ...
        Those of `RatersResult`; items with fewer than two ratings, or none by the judge, are left out.
    n_groups, n_systems : int
    """

    ceiling: float
    judge: float
    difference: float
    ceiling_interval: Interval
    judge_interval: Interval
    difference_interval: Interval
    by_rater: tuple[float, ...]
    judge_by_rater: tuple[float, ...]
    level: str
    coefficient: str
    interval_method: str
    df: float
    n_groups: int
    n_systems: int

    @property
    def _shown(self) -> list[tuple[str, str, float, Interval]]:
        shown = [("ceiling", "one person against the others", self.ceiling, self.ceiling_interval)]
        if self.judge_by_rater:
            shown += [("judge", "judge against the same", self.judge, self.judge_interval)]
            shown += [("difference", "difference", self.difference, self.difference_interval)]
        return shown

    def _rows(self) -> list[dict[str, Any]]:
        return [self._quantity_row(name, value, ends, self.interval_method) for name, _, value, ends in self._shown]

    def _terms(self) -> dict[str, Any]:
        terms = {"ceiling": self.coefficient, "level": self.level, **self._counted(self.interval_method)}
        return terms | {"groups": self.n_groups or None, "systems": self.n_systems or None}

    def __str__(self) -> str:
        parts = [f"{words} {short(v)}, {bracket(ends, self.confidence_level)}" for _, words, v, ends in self._shown]
        return f"{self.coefficient} at level {self.level}: {'; '.join(parts)} (n = {self.n})"


def human_ceiling(
    ratings: ArrayLike,
    judge: ArrayLike | None = None,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    level: str = "item",
    method: str = "spearman",
    confidence_level: float = 0.95,
    coefficient: str | None = None,
) -> Ceiling:
    """What agreement one person reaches with the mean of the others: the bar for a judge.

    Each rater in turn is set against the mean of the other raters, never against a mean
    that contains him, which would flatter him; the mean of k - 1 people is a noisier
    yardstick than that of all k, so the numbers are lower. A judge is set against exactly the same
    means over the same items, so that the two numbers differ only in who is compared. All
    are averaged over raters.

    The intervals are made by the jackknife over the units of the design, as in `agreement`,
    on the plain scale. All three numbers are recomputed without each unit, so that the
    interval of the difference knows that judge and people were compared on the same items.
    Raters are taken as fixed: three people say little about other people.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate; the mean is over the others who did.
    judge : array_like, shape (n_items,), optional
        Items without its score are left out for people as well.
    groups, systems : sequence, shape (n_items,), optional
    level : {"item", "group", "system"}, default "item"
    method, coefficient : str
        As for `agreement`, but not "spa".
    confidence_level : float, default 0.95

    Returns
    -------
    Ceiling

    Raises
    ------
    ValueError
        If there is one rater only, lengths differ, an option is unknown, or `level` needs
        labels that were not given.

    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> result = human_ceiling(people, judge=[1, 2, 2, 3, 5])
    >>> round(result.ceiling, 3), round(result.judge, 3), round(result.difference, 3)
    (0.923, 0.956, 0.034)
    """
    table = rating_table(ratings, judge=judge, groups=groups, systems=systems)
    scores = None if judge is None else check.array(judge, "judge", ndim=1)
    named = named_coefficient(method, coefficient)
    confidence = check.probability(confidence_level, "confidence_level")
    argument = "method" if coefficient is None else "coefficient"
    if named == "spa":
        why = "which compares whole samples of systems, not one score of each"
        raise ArgumentError(argument, f"must not be 'spa', {why}")
    keep = (np.isfinite(table).sum(axis=1) > 1) & (True if scores is None else np.isfinite(scores))
    rules: dict[str, Any] = {"level": level, "coefficient": named}
    design = _design_of_items(keep, groups, systems, **rules)
    check_level(design, argument)
    pairs = _against_others(table[keep], None if scores is None else scores[keep], design)
    values = np.array([pair.estimate() for pair in pairs]).reshape(-1, table.shape[1])
    used = np.isfinite(values[0])  # raters
    estimates = _ceiling_row(values[None, :, used])[0].tolist()
    compared = [pair for pair, in_use in zip(pairs, np.tile(used, len(values)), strict=True) if in_use]
    spreads = _jackknife_spreads(lambda units: _ceiling_without(compared, units, len(values)), design, (1, 1, 2))
    intervals = [spread.interval(v, confidence) for spread, v in zip(spreads, estimates, strict=True)]
    return Ceiling(
        ceiling=estimates[0],
        judge=estimates[1],
        difference=estimates[2],
        ceiling_interval=intervals[0],
        judge_interval=intervals[1],
        difference_interval=intervals[2],
        by_rater=tuple(values[0].tolist()),
        judge_by_rater=tuple(values[1].tolist()) if scores is not None else (),
        confidence_level=confidence,
        n_dropped=int((~keep).sum()),
        n_raters=table.shape[1],
        **rules,
        **spreads[0].made_over(design),
    )


class _AgainstOthers(NamedTuple):
    """One rater (or the judge) and the mean of the others, over the items that have both."""

    design: Design
    place: Codes  # among the items in use

    def estimate(self) -> float:
        return estimate(condensed(self.design))

    def without(self, units: Codes, k: int) -> Floats:
        """The estimate without each of k units, shape (k,)."""
        own, design = units[self.place], self.design
        if design.level == "system":
            return self._systems_without(own, k)
        if design.level == "group":
            return self._groups_without(own, k)
        out = np.full(k, self.estimate())
        out[np.unique(own)] = design.without(recoded(own))
        return out

    def _groups_without(self, own: Codes, k: int) -> Floats:
        """A unit changes only the groups that it touches."""
        design = self.design
        table = np.full((k, design.n_groups), np.nan)
        for g, members in enumerate(members_of(design.group)):
            inside = np.append(np.unique(own[members]), -1)  # the last one leaves nobody out
            weights = (own[members] != inside[:, None]).astype(float)
            *changed, table[:, g] = design.weighted(weights, members)
            table[inside[:-1], g] = changed
        return row_means(table)

    def _systems_without(self, own: Codes, k: int) -> Floats:
        """A unit changes only the means of the systems that it touches."""
        design = self.design
        assert design.system is not None
        # a large offset would eat the digits of the means; it is the same for both, as kappa looks at their gap
        offsets = [v - design.y.mean() if len(v) else v for v in (design.x, design.y)]
        count, x, y = (_sums_without(v, own, k, design.system) for v in (np.ones_like(design.x), *offsets))
        seen, out = np.round(count) > 0, np.full(k, np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            x, y = settled(np.where(seen, x / count, np.nan)), settled(np.where(seen, y / count, np.nan))
        for kept in np.unique(seen, axis=0):  # few patterns: all systems, or all but one
            rows = (seen == kept).all(axis=1)
            if kept.sum() > 1:
                out[rows] = row_correlation(x[rows][:, kept], y[rows][:, kept], design.coefficient)
        return out


def _sums_without(values: Floats, own: Codes, k: int, system: Codes) -> Floats:
    """Sums of each system without each of k units, shape (k, systems)."""
    m = int(system.max(initial=-1)) + 1
    gone = np.bincount(own * m + system, values, k * m).reshape(k, m)
    return np.asarray(np.bincount(system, values, m) - gone, dtype=np.float64)


def _against_others(table: Floats, scores: Floats | None, design: Design) -> list[_AgainstOthers]:
    """Each rater, then the judge, with the mean of the raters other than this one."""
    pairs = []
    for first in (table,) if scores is None else (table, np.tile(scores[:, None], table.shape[1])):
        for j in range(table.shape[1]):
            rated = np.isfinite(table[:, j])
            # sorted, so that the same ratings given by other people have the same mean to the last digit
            others = np.nanmean(np.sort(np.delete(table[rated], j, axis=1), axis=1), axis=1)
            pair = replace(design.only(rated), x=first[rated, j], y=others)
            pairs.append(_AgainstOthers(pair, np.flatnonzero(rated)))
    return pairs


def _ceiling_without(pairs: list[_AgainstOthers], units: Codes, n_kinds: int) -> Floats:
    """Ceiling, judge and difference without each unit, shape (k, 3)."""
    k = int(units.max()) + 1
    parts = np.array([pair.without(units, k) for pair in pairs]).reshape(n_kinds, -1, k)
    return _ceiling_row(np.moveaxis(parts, 2, 0))


def _ceiling_row(parts: Floats) -> Floats:
    """Ceiling, judge and difference, shape (B, 3), of the parts of people and judge, (B, 1 or 2, raters)."""
    if not parts.size:
        return np.full((len(parts), 3), np.nan)
    means = parts.mean(axis=2)
    ceiling, judge = means[:, 0], means[:, 1] if means.shape[1] > 1 else np.full(len(means), np.nan)
    return np.column_stack([ceiling, judge, judge - ceiling])


# --- the jackknife over a design --------------------------------------------------------------------------------


def _design_of_items(keep: NDArray[np.bool_], groups: Labels | None, systems: Labels | None, **rules: str) -> Design:
    """The design of the items in use, without scores."""
    blank = np.where(keep, 0.0, np.nan)
    return design_of(blank, blank, groups=groups, systems=systems, constant="skip", **rules)[0]


def _jackknife_spreads(without: Callable[[Codes], Floats], design: Design, bounds: Sequence[float]) -> list[Spread]:
    """The jackknife of several estimates at once; `without(units)` gives them without each unit, shape (k, q)."""
    group, system = design.units
    if group is not None and system is not None:
        units = (system, group, cells_of(group, system))
        rows, columns, cells = (jackknife_variance(without(unit))[0] for unit in units)
        variance = np.maximum(rows + columns - cells, np.minimum(rows, columns))
        name, df = "two-way jackknife", min(design.n_groups, design.n_systems) - 1
    else:
        name, unit = ("group", group) if system is None else ("system", system)
        name, unit = (name, unit) if unit is not None else ("item", np.arange(design.n))
        if len(unit) < 2:
            return [NO_SPREAD] * len(bounds)
        variance, name, df = jackknife_variance(without(unit))[0], f"{name} jackknife", int(unit.max())
    return [Spread(name, float(np.sqrt(v)), df, bounds=(-b, b)) for v, b in zip(variance, bounds, strict=True)]


# --- without the noise of people --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Disattenuated(RatersResult):
    """Correlation of a judge with what the raters have in common.

    Attributes
    ----------
    estimate : float
        NaN where it is refused; may exceed 1, it is never clipped.
    interval : Interval
    reason : str
        Why the estimate is refused, in words; empty where it is not.
    correlation, reliability : float
        Pearson r of judge and mean rating, and ICC(C,k) of that mean.
    correlation_interval, reliability_interval : Interval
        By the same jackknife.
    min_reliability : float
    interval_method : str
    df : float
    n, n_dropped, ...
        Those of `RatersResult`: items with the judge and all raters, items without.
    n_groups, n_systems : int
    """

    estimate: float
    interval: Interval
    reason: str
    correlation: float
    correlation_interval: Interval
    reliability: float
    reliability_interval: Interval
    min_reliability: float
    interval_method: str
    df: float
    n_groups: int
    n_systems: int

    def _rows(self) -> list[dict[str, Any]]:
        shown = [("disattenuated", self.estimate, self.interval)]
        shown += [("pearson", self.correlation, self.correlation_interval)]
        shown += [("reliability of the mean", self.reliability, self.reliability_interval)]
        return [self._quantity_row(*one, self.interval_method) for one in shown]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"disattenuated": True, "min": self.min_reliability}
        terms |= {"refused": bool(self.reason) or None, **self._counted(self.interval_method)}
        return terms | {"groups": self.n_groups or None, "systems": self.n_systems or None}

    def __str__(self) -> str:
        plain = f"Pearson r = {short(self.correlation)}, reliability of people {short(self.reliability)}, n = {self.n}"
        if self.reason:
            return f"disattenuated correlation refused: {self.reason} ({plain})"
        interval = bracket(self.interval, self.confidence_level)
        return f"disattenuated correlation = {short(self.estimate)}, {interval} ({plain})"


def disattenuated(
    judge: ArrayLike,
    ratings: ArrayLike,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    min_reliability: float = 0.7,
    confidence_level: float = 0.95,
) -> Disattenuated:
    r"""Correlation of a judge with people, less the part that the noise of people takes away.

    .. math:: \hat\rho = \frac{r(\text{judge}, \text{mean of raters})}{\sqrt{ICC(C,k)}}

    The interval is the jackknife of the whole ratio over groups, systems, both or items, as
    in `human_ceiling`; it holds the uncertainty of the reliability. Everything in it is a
    function of sums over items, so that leaving a unit out is a subtraction.

    Parameters
    ----------
    judge : array_like, shape (n_items,)
    ratings : array_like, shape (n_items, n_raters)
        Items with a NaN in either are left out and counted: the reliability belongs to the
        mean of all k raters.
    groups, systems : sequence, shape (n_items,), optional
    min_reliability : float, default 0.7
        Below it the estimate is refused, NaN with a `reason`: a small denominator blows up
        every error, and no clipping mends that.
    confidence_level : float, default 0.95

    Returns
    -------
    Disattenuated

    Raises
    ------
    ValueError
        If there is one rater only, lengths differ, or a number is not between 0 and 1.

    Notes
    -----
    It assumes that errors of raters are independent of each other, of the judge and of the
    item's true score. Ratings that crowd at an end of the scale break the last of these, raters
    who share a bias the first. The result is the agreement with what *these* raters have in common.

    References
    ----------
    Spearman (1904), American Journal of Psychology 15:72-101.

    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> result = disattenuated([2, 1, 3, 3, 5], people)
    >>> round(result.correlation, 3), round(result.reliability, 3), round(result.estimate, 3)
    (0.794, 0.936, 0.821)
    """
    table = rating_table(ratings, judge=judge, groups=groups, systems=systems)
    scores = check.array(judge, "judge", ndim=1)
    least = check.probability(min_reliability, "min_reliability")
    confidence = check.probability(confidence_level, "confidence_level")
    keep = np.isfinite(table).all(axis=1) & np.isfinite(scores)
    design = _design_of_items(keep, groups, systems, level="item", coefficient="pearson")
    sums, k = _disattenuation_sums(scores[keep], table[keep]), table.shape[1]
    total, bounds = sums.sum(axis=0), (np.inf, 1, 1)
    estimates = _disattenuate(total[None, :], k)[0]
    spreads = _jackknife_spreads(lambda units: _disattenuate(total - unit_sums(sums, units), k), design, bounds)
    reason = _refusal(float(estimates[1]), float(estimates[2]), least, design.n, k)
    ends = [spread.interval(v, confidence) for spread, v in zip(spreads, estimates, strict=True)]
    return Disattenuated(
        estimate=float("nan") if reason else float(estimates[0]),
        interval=NO_INTERVAL if reason else ends[0],
        reason=reason,
        correlation=float(estimates[1]),
        correlation_interval=ends[1],
        reliability=float(estimates[2]),
        reliability_interval=ends[2],
        min_reliability=least,
        confidence_level=confidence,
        n_dropped=len(table) - design.n,
        n_raters=k,
        **spreads[0].made_over(design),
    )


def _refusal(correlation: float, reliability: float, least: float, n: int, k: int) -> str:
    if n < 3:
        return f"only {n} items have the judge and all {k} raters"
    if not np.isfinite(correlation):
        return "the judge or the mean of raters has a single value over the items that all raters rated"
    if not np.isfinite(reliability) or reliability < least:
        return f"the mean of {k} raters has a reliability ICC(C,{k}) of {short(reliability)}, below {short(least)}"
    return ""


def _disattenuation_sums(scores: Floats, complete: Floats) -> Floats:
    x = scores - scores.mean() if len(scores) else scores
    ratings = rating_sums(complete)
    return np.column_stack([ratings, x, x**2, x * ratings[:, 3:].mean(axis=1)])


def _disattenuate(totals: Floats, k: int) -> Floats:
    """Ratio, correlation and reliability, shape (B, 3), of totals of shape (B, 6 + k)."""
    items, _, error, _ = mean_squares(totals[:, :-3], k)
    n, of_means, mean = totals[:, 0], totals[:, 1], totals[:, 3:-3].mean(axis=1)
    x, square, cross = totals[:, -3:].T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = n * square - x**2, n * of_means - mean**2
        varied = (n > 2) & (spread_x > 1e-12 * n * square) & (spread_y > 1e-12 * n * of_means)
        r = np.where(varied, (n * cross - x * mean) / np.sqrt(spread_x * spread_y), np.nan)
        reliability = np.where(varied, (items - error) / items, np.nan)
        return np.column_stack([r / np.sqrt(reliability), r, reliability])
