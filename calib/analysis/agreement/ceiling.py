"""The ceiling that people set a judge: how well one of them agrees with the others, and a judge with the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.agreement import coefficients as kernels, scales
from calib.analysis.agreement.alpha import OfRaters
from calib.analysis.agreement.levels import AgreementDesign, check_level, condensed_groups, design_of, estimate
from calib.analysis.agreement.many_samples import row_correlation
from calib.analysis.agreement.spread import NO_SPREAD, Answers, Spread
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import jackknife_variance, recoded, row_means
from calib.core.progress import progress
from calib.core.result import Interval, Result, bracket, short


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling(kernels.WithCoefficient, OfRaters, Result):
    """How well one person agrees with the others, and a judge with the same.

    Attributes
    ----------
    ceiling, judge, difference : float
        Means over raters; the difference is judge - ceiling. NaN without a judge.
    ceiling_interval, judge_interval, difference_interval : Interval
    by_rater, judge_by_rater : tuple of float
        The parts of these means, one for each rater; NaN for a rater without a correlation, who is in none of the
        means.
    raters_differ : bool
        Whether raters differ from item to item, so that the first, second, ... rating of an item stands for a rater.
    level, coefficient, interval_method : str
    df, confidence_level : float
    n, n_dropped, n_raters, n_groups, n_systems : int
        Items in use; items with fewer than two ratings, or none by the judge, which are left out; ...
    """

    ceiling: float
    judge: float
    difference: float
    ceiling_interval: Interval
    judge_interval: Interval
    difference_interval: Interval
    by_rater: tuple[float, ...]
    judge_by_rater: tuple[float, ...]
    raters_differ: bool
    level: str
    coefficient: str
    interval_method: str
    df: float
    confidence_level: float
    n: int
    n_dropped: int
    n_raters: int
    n_groups: int
    n_systems: int

    @property
    def _measures(self) -> list[tuple[str, str, float, Interval]]:
        quantities = [("ceiling", "one person against the others", self.ceiling, self.ceiling_interval)]
        if self.judge_by_rater:
            quantities += [("judge", "judge against the same", self.judge, self.judge_interval)]
            quantities += [("difference", "difference", self.difference, self.difference_interval)]
        return quantities

    def _rows(self) -> list[dict[str, Any]]:
        return [self._quantity_row(name, value, ends, self.interval_method) for name, _, value, ends in self._measures]

    def _terms(self) -> dict[str, Any]:
        terms = {"ceiling": self.coefficient, "weights": self._weights, "level": self.level}
        terms |= self._counted(self.interval_method)
        return terms | {"groups": self.n_groups or None, "systems": self.n_systems or None}

    def __str__(self) -> str:
        parts = [f"{words} {short(v)}, {bracket(ends, self.confidence_level)}" for _, words, v, ends in self._measures]
        name, whoever = kernels.COEFFICIENTS[self.coefficient], ", whoever rated them" if self.raters_differ else ""
        return f"{name} at level {self.level}: {'; '.join(parts)} (n = {self.n}{whoever})"


def label_ceiling(
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
    """What agreement one person reaches with the others: the bar for a judge.

    Each rater in turn is set against the mean of the other raters, never against a mean that contains him. A judge is
    set against exactly the same means over the same items, so that the two numbers differ only in who is compared. All
    are averaged over raters. For names, and for the share of equal scores, there is no mean: "kappa_nominal" and
    "exact" set each rater against each other rater, and the judge against the same one. Where raters differ from item
    to item (two who rated one together share fewer than three, on average) the ratings of an item are taken as those of
    a first, a second, ... rater.

    The intervals are made by the jackknife over the units of the design, as in `agreement`, on the plain scale, of all
    three numbers without each unit. Raters are taken as fixed: three people say little about other people.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate; the mean is over the others who did. Names, as strings, for "kappa_nominal" and
        "exact".
    judge : array_like, shape (n_items,), optional
        Items without its score are left out for people as well.
    groups, systems : sequence, shape (n_items,), optional
    level : {"item", "group", "system"}, default "item"
    method, coefficient : str
        As for `agreement`, but not "spa".
    confidence_level : float, default 0.95

    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> result = label_ceiling(people, judge=[1, 2, 2, 3, 5])
    >>> round(result.ceiling, 3), round(result.judge, 3), round(result.difference, 3)
    (0.923, 0.956, 0.034)
    """
    named = kernels.named_coefficient(method, coefficient)
    columns: dict[str, Any] = {"ratings": ratings} | ({} if judge is None else {"judge": judge})
    if named in kernels.NEEDS_NO_ORDER:
        columns, _ = scales.coded(columns)
    table = scales.rating_table(columns["ratings"], for_names=" and ".join(map(repr, kernels.NEEDS_NO_ORDER)))
    scores = None if judge is None else check.array(columns["judge"], "judge", ndim=1)
    if scores is not None and named in kernels.ON_ONE_SCALE:
        scales.refuse_other_scale("judge", scores, "ratings", table, f"for {named!r}")
        scales.scale_caution(named, scores, table)
    check.same_length(ratings=table, judge=scores, groups=groups, systems=systems)
    confidence = check.probability(confidence_level, "confidence_level")
    argument = "method" if coefficient is None else "coefficient"
    if named == "spa":
        why = "which compares whole samples of systems, not one score of each"
        raise ArgumentError(argument, f"must not be 'spa', {why}")
    keep = (np.isfinite(table).sum(axis=1) > 1) & (True if scores is None else np.isfinite(scores))
    rules: dict[str, Any] = {"level": level, "coefficient": named}
    design = design_of_items(keep, groups=groups, systems=systems, **rules)
    check_level(design, argument)
    table, rated = table[keep], np.isfinite(table[keep])
    differ = scales.interchangeable(table) and not rated.all()
    if differ:  # each item's ratings in the first columns, whoever gave them
        first = np.take_along_axis(table, np.argsort(~rated, axis=1, kind="stable"), axis=1)
        table = first[:, : max(int(rated.sum(axis=1).max(initial=0)), 2)]
    pairs = _against_others(table, None if scores is None else scores[keep], design)
    values = np.array([estimate(condensed_groups(one)) for one, _ in pairs]).reshape(1 if scores is None else 2, -1)
    by_rater = row_means(values.reshape(len(values), table.shape[1], -1))
    used = np.isfinite(values[0])  # raters, or pairs of them
    estimates = _ceiling_row(values[None, :, used])[0].tolist()
    compared = [pair for pair, in_use in zip(pairs, np.tile(used, len(values)), strict=True) if in_use]

    def without(units: Codes) -> Floats:
        """Ceiling, judge and difference without each unit, shape (k, 3)."""
        k = int(units.max()) + 1
        parts = np.array([_without(one, units[place], k) for one, place in progress(compared, "raters")])
        parts = parts.reshape(len(values), -1, k)
        return _ceiling_row(np.moveaxis(parts, 2, 0))

    spreads = jackknife_spreads(without, design, (1, 1, 2))
    for place, spread in enumerate(spreads[:2] if named in kernels.SHARES else ()):
        if spread.df >= 1:  # Wilson's interval
            units = int(spread.df) + 1
            n = units * (units - 1) // 2 if named == "pairs" else design.n
            spreads[place] = replace(spread, answers=Answers(n, units, units))
    intervals = [spread.interval(v, confidence) for spread, v in zip(spreads, estimates, strict=True)]
    return Ceiling(
        ceiling=estimates[0], judge=estimates[1], difference=estimates[2], ceiling_interval=intervals[0],
        judge_interval=intervals[1], difference_interval=intervals[2], by_rater=tuple(by_rater[0].tolist()),
        judge_by_rater=tuple(by_rater[1].tolist()) if scores is not None else (), raters_differ=differ,
        confidence_level=confidence, n_dropped=int((~keep).sum()), n_raters=table.shape[1], **rules,
        **spreads[0].made_over(design),
    )  # fmt: skip


def _without(design: AgreementDesign, own: Codes, k: int) -> Floats:
    """The estimate without each of k units, shape (k,)."""
    if design.level == "item":
        out = np.full(k, estimate(condensed_groups(design)))
        out[np.unique(own)] = design.without(recoded(own))
        return out
    if design.level == "group":
        table = np.full((k, design.n_groups), np.nan)
        for g, members in enumerate(kernels.members_of(design.group)):  # a unit changes only the groups that it touches
            inside = np.append(np.unique(own[members]), -1)  # the last one leaves nobody out
            weights = (own[members] != inside[:, None]).astype(float)
            *changed, table[:, g] = design.weighted(weights, members)
            table[inside[:-1], g] = changed
        return row_means(table)
    # a unit changes only the means of the systems that it touches
    assert design.system is not None
    # a large offset would eat the digits of the means; it is the same for both, as kappa looks at their gap
    offsets = [v - design.y.mean() if len(v) else v for v in (design.x, design.y)]
    system, m = design.system, design.n_systems
    # sums of each system without each of k units, shape (k, systems)
    count, x, y = (
        np.bincount(system, v, m) - np.bincount(own * m + system, v, k * m).reshape(k, m)
        for v in (np.ones_like(design.x), *offsets)
    )
    there, out = np.round(count) > 0, np.full(k, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_x, mean_y = (kernels.settled(np.where(there, v / count, np.nan)) for v in (x, y))
    for pattern in np.unique(there, axis=0):  # few: all systems, or all but one
        rows = (there == pattern).all(axis=1)
        if pattern.sum() > 1:
            out[rows] = row_correlation(mean_x[rows][:, pattern], mean_y[rows][:, pattern], design.coefficient)
    return out


def _against_others(
    table: Floats, scores: Floats | None, design: AgreementDesign
) -> list[tuple[AgreementDesign, Codes]]:
    """Each rater, then the judge, beside the mean of the raters other than this one, or beside each of them.

    With the places of the items that have both, among those in use.
    """
    pairs = []
    for first in (table,) if scores is None else (table, np.tile(scores[:, None], table.shape[1])):
        for j in range(table.shape[1]):
            rest = np.delete(table, j, axis=1)
            # sorted, so that the same ratings given by other people have the same mean to the last digit
            each = list(rest.T) if design.coefficient in kernels.NEEDS_NO_ORDER else [row_means(np.sort(rest, axis=1))]
            for others in each:
                both = np.isfinite(table[:, j]) & np.isfinite(others)
                pair = replace(design.only(both), x=first[both, j], y=others[both])
                pairs.append((pair, np.flatnonzero(both)))
    return pairs


def _ceiling_row(parts: Floats) -> Floats:
    """Ceiling, judge and difference, shape (B, 3), of the parts of people and judge, (B, 1 or 2, raters)."""
    if not parts.size:
        return np.full((len(parts), 3), np.nan)
    means = parts.mean(axis=2)
    ceiling, judge = means[:, 0], means[:, 1] if means.shape[1] > 1 else np.full(len(means), np.nan)
    return np.column_stack([ceiling, judge, judge - ceiling])


def design_of_items(keep: NDArray[np.bool_], **rules: Any) -> AgreementDesign:
    """The design of the items in use, without scores."""
    blank = np.where(keep, 0.0, np.nan)
    return design_of(blank, blank, constant="skip", **rules)[0]


def jackknife_spreads(
    without: Callable[[Codes], Floats], design: AgreementDesign, bounds: Sequence[float]
) -> list[Spread]:
    """The jackknife of several estimates at once; `without(units)` gives them without each unit, shape (k, q)."""
    group, system = design.units
    if group is not None and system is not None:
        units = (system, group, kernels.cells_of(group, system))
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
