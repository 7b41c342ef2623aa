"""People as raters: what agreement among them leaves for a judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from calib.analysis.agreement.agreement import agreement
from calib.analysis.agreement.alpha import (
    ICC,
    NO_INTERVAL,
    Alpha,
    icc,
    krippendorff_alpha,
    mean_squares,
    quantity_row,
    rating_sums,
    rating_table,
)
from calib.analysis.agreement.coefficients import cells_of, row_correlation, settled, weighted_correlation
from calib.analysis.agreement.leave_out import leave_out
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import recoded, row_means
from calib.core.result import Interval, Result, bracket, short

# --- the ceiling ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling(Result):
    """How well one person agrees with the mean of the others, and a judge with the same means.

    Attributes
    ----------
    ceiling, judge, difference : float
        Means over raters; the difference is judge - ceiling. NaN without a judge.
    ceiling_interval, judge_interval, difference_interval : Interval
    by_rater, judge_by_rater : tuple of float
        The parts of these means, one for each rater; NaN for a rater without a correlation,
        who is in none of the means.
    confidence_level : float
    level, method, interval_method : str
    df : float
        Degrees of freedom of the t quantile.
    n, n_dropped : int
        Items in use; items left out (fewer than two ratings, or none by the judge).
    n_raters, n_groups, n_systems : int
    """

    ceiling: float
    judge: float
    difference: float
    ceiling_interval: Interval
    judge_interval: Interval
    difference_interval: Interval
    by_rater: tuple[float, ...]
    judge_by_rater: tuple[float, ...]
    confidence_level: float
    level: str
    method: str
    interval_method: str
    df: float
    n: int
    n_dropped: int
    n_raters: int
    n_groups: int
    n_systems: int

    def _rows(self) -> list[dict[str, Any]]:
        made = {"interval_method": self.interval_method, "n_dropped": self.n_dropped, "n_raters": self.n_raters}
        shown = list(zip(("ceiling", "judge", "difference"), *self._values(), strict=True))[: self._shown()]
        return [quantity_row(name, value, interval, self.n) | made for name, value, interval in shown]

    def _values(self) -> tuple[tuple[float, ...], tuple[Interval, ...]]:
        intervals = (self.ceiling_interval, self.judge_interval, self.difference_interval)
        return (self.ceiling, self.judge, self.difference), intervals

    def _shown(self) -> int:
        return 3 if self.judge_by_rater else 1

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {
            "ceiling": self.method,
            "level": self.level,
            "ci": self.interval_method.replace(" ", "-"),
        }
        terms |= {"cl": self.confidence_level, "n": self.n, "dropped": self.n_dropped, "raters": self.n_raters}
        return terms | {"groups": self.n_groups or None, "systems": self.n_systems or None}

    def __str__(self) -> str:
        words = ("one person against the others", "judge against the same", "difference")
        parts = [
            f"{word} {short(value)}, {bracket(interval, self.confidence_level)}"
            for word, value, interval in zip(words, *self._values(), strict=True)
        ]
        return f"{self.method} at level {self.level}: {'; '.join(parts[: self._shown()])} (n = {self.n})"


def human_ceiling(
    ratings: ArrayLike,
    judge: ArrayLike | None = None,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    level: str = "item",
    method: str = "spearman",
    confidence_level: float = 0.95,
) -> Ceiling:
    """What agreement one person reaches with the mean of the others: the bar for a judge.

    Each rater in turn is set against the mean of the other raters, never against a mean
    that contains him, which would flatter him. A judge is set against exactly the same
    means over the same items, so that the two numbers differ only in who is compared. All
    are averaged over raters.

    The intervals are made by the jackknife over the units of the design: groups, systems,
    both (two-way: the sum of the two variances less that of the cells, at least the smaller
    of the two, with t quantiles of min(m, n) - 1 degrees of freedom, see `agreement`), or
    items. All three numbers are recomputed without each unit, so that the interval of the
    difference knows that judge and people were compared on the same items. Raters are taken
    as fixed: three people say little about other people.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate; the mean is over the others who did.
    judge : array_like, shape (n_items,), optional
        Items without its score are left out for people as well.
    groups, systems : sequence, shape (n_items,), optional
    level : {"item", "group", "system"}, default "item"
    method : str, default "spearman"
        Of `agreement`, but not "spa".
    confidence_level : float, default 0.95

    Returns
    -------
    Ceiling

    Raises
    ------
    ValueError
        If there is one rater only, lengths differ, an option is unknown, or `level` needs
        labels that were not given.

    Notes
    -----
    The mean of k - 1 people is a noisier yardstick than the mean of all k: both numbers
    are lower than the judge's agreement with that mean.

    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> result = human_ceiling(people, judge=[1, 2, 2, 3, 5])
    >>> round(result.ceiling, 3), round(result.judge, 3), round(result.difference, 3)
    (0.923, 0.956, 0.034)
    """
    table = rating_table(ratings, judge=judge, groups=groups, systems=systems)
    scores = None if judge is None else check.array(judge, "judge", ndim=1)
    cl = check.probability(confidence_level, "confidence_level")
    if method == "spa":
        raise ArgumentError(
            "method", "must not be 'spa', which compares whole samples of systems, not one score of each"
        )
    keep = np.isfinite(table).sum(axis=1) > 1
    if scores is not None:
        keep &= np.isfinite(scores)
    design = _design(groups, systems, keep)
    pairs = _pairs(table[keep], None if scores is None else scores[keep], design, level, method)
    values = np.array([pair.estimate() for pair in pairs]).reshape(-1, table.shape[1])
    used = np.isfinite(values[0])  # raters
    estimates = _ceiling_row(values[None, :, used])[0].tolist()
    compared = [pair for pair, in_use in zip(pairs, np.tile(used, len(values)), strict=True) if in_use]
    spread = _spread(lambda units: _without(compared, units, len(values)), design)
    intervals = [
        spread.interval(v, se, cl, bound) for v, se, bound in zip(estimates, spread.std_error, (1, 1, 2), strict=True)
    ]
    return Ceiling(
        ceiling=estimates[0],
        judge=estimates[1],
        difference=estimates[2],
        ceiling_interval=intervals[0],
        judge_interval=intervals[1],
        difference_interval=intervals[2],
        by_rater=tuple(values[0].tolist()),
        judge_by_rater=tuple(values[1].tolist()) if scores is not None else (),
        confidence_level=cl,
        level=level,
        method=method,
        interval_method=spread.name,
        df=spread.df,
        n=int(keep.sum()),
        n_dropped=int((~keep).sum()),
        n_raters=table.shape[1],
        n_groups=design.n_groups,
        n_systems=design.n_systems,
    )


class _Pair(NamedTuple):
    """One rater (or the judge) and the mean of the others, over the items that have both."""

    x: Floats
    y: Floats
    place: Codes  # among the items in use
    group: Codes | None
    system: Codes | None
    level: str
    method: str

    def estimate(self) -> float:
        design: dict[str, Any] = {"groups": self.group, "systems": self.system, "level": self.level}
        return agreement(self.x, self.y, method=self.method, interval="none", **design).estimate

    def without(self, units: Codes, k: int) -> Floats:
        """The estimate without each of k units, shape (k,)."""
        own = units[self.place]
        if self.level == "system":
            return self._systems_without(own, k)
        if self.level == "group":
            return self._groups_without(own, k)
        out = np.full(k, self.estimate())
        out[np.unique(own)] = leave_out(self.x, self.y, recoded(own), self.method)
        return out

    def _groups_without(self, own: Codes, k: int) -> Floats:
        """A unit changes only the groups that it touches."""
        assert self.group is not None
        table = np.full((k, int(self.group.max(initial=-1)) + 1), np.nan)
        for g in np.unique(self.group):
            members = np.flatnonzero(self.group == g)
            inside = np.append(np.unique(own[members]), -1)  # the last one leaves nobody out
            weights = (own[members] != inside[:, None]).astype(float)
            *changed, table[:, g] = weighted_correlation(self.x[members], self.y[members], weights, self.method)
            table[inside[:-1], g] = changed
        return row_means(table)

    def _systems_without(self, own: Codes, k: int) -> Floats:
        """A unit changes only the means of the systems that it touches."""
        assert self.system is not None
        # a large offset would eat the digits of the means; it is the same for both, as kappa looks at their gap
        offsets = [v - self.y.mean() if len(v) else v for v in (self.x, self.y)]
        count, x, y = (_sums_without(v, own, k, self.system) for v in (np.ones_like(self.x), *offsets))
        seen, out = np.round(count) > 0, np.full(k, np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            x, y = settled(np.where(seen, x / count, np.nan)), settled(np.where(seen, y / count, np.nan))
        for kept in np.unique(seen, axis=0):  # few patterns: all systems, or all but one
            rows = (seen == kept).all(axis=1)
            if kept.sum() > 1:
                out[rows] = row_correlation(x[rows][:, kept], y[rows][:, kept], self.method)
        return out


def _sums_without(values: Floats, own: Codes, k: int, system: Codes) -> Floats:
    """Sums of each system without each of k units, shape (k, systems)."""
    m = int(system.max(initial=-1)) + 1
    gone = np.bincount(own * m + system, values, k * m).reshape(k, m)
    return np.asarray(np.bincount(system, values, m) - gone, dtype=np.float64)


def _pairs(table: Floats, scores: Floats | None, design: _Design, level: str, method: str) -> list[_Pair]:
    """Each rater, then the judge, with the mean of the raters other than this one."""
    pairs = []
    for first in (table,) if scores is None else (table, np.tile(scores[:, None], table.shape[1])):
        for j in range(table.shape[1]):
            place = np.flatnonzero(np.isfinite(table[:, j]))
            # sorted, so that the same ratings given by other people have the same mean to the last digit
            others = np.nanmean(np.sort(np.delete(table[place], j, axis=1), axis=1), axis=1)
            group, system = (None if code is None else code[place] for code in (design.group, design.system))
            pairs.append(_Pair(first[place, j], others, place, group, system, level, method))
    return pairs


def _without(pairs: list[_Pair], units: Codes, n_kinds: int) -> Floats:
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


class _Design(NamedTuple):
    group: Codes | None
    system: Codes | None
    n: int

    @property
    def n_groups(self) -> int:
        return 0 if self.group is None else int(self.group.max(initial=-1)) + 1

    @property
    def n_systems(self) -> int:
        return 0 if self.system is None else int(self.system.max(initial=-1)) + 1


def _design(groups: Labels | None, systems: Labels | None, keep: NDArray[np.bool_]) -> _Design:
    group = None if groups is None else recoded(check.codes(groups, "groups")[keep])
    system = None if systems is None else recoded(check.codes(systems, "systems")[keep])
    return _Design(group, system, int(keep.sum()))


class _Spread(NamedTuple):
    name: str
    std_error: Floats
    df: float

    def interval(self, estimate: float, std_error: float, confidence_level: float, bound: float) -> Interval:
        if not (self.df >= 1 and std_error >= 1e-12 and np.isfinite(estimate)):
            return NO_INTERVAL  # no spread among the units says nothing about others
        half = stats.t.ppf((1 + confidence_level) / 2, self.df) * std_error
        return Interval(float(max(estimate - half, -bound)), float(min(estimate + half, bound)))


def _spread(without: Callable[[Codes], Floats], design: _Design) -> _Spread:
    """Standard errors of several estimates at once; `without(units)` gives them without each unit, shape (k, q)."""
    # one group or one system alone says nothing about others
    group = design.group if design.n_groups > 1 else None
    system = design.system if design.n_systems > 1 else None
    if group is None or system is None:
        name = "item" if group is system else "system" if group is None else "group"
        return _one_way(without, {"item": np.arange(design.n), "group": group, "system": system}[name], name)
    rows, columns, df = (
        _variance(without(system)),
        _variance(without(group)),
        min(design.n_groups, design.n_systems) - 1,
    )
    cells = _variance(without(cells_of(group, system)))
    return _Spread("two-way jackknife", np.sqrt(np.maximum(rows + columns - cells, np.minimum(rows, columns))), df)


def _one_way(without: Callable[[Codes], Floats], units: Codes | None, name: str) -> _Spread:
    if units is None or len(units) < 2:
        return _Spread("none", np.full(3, np.nan), float("nan"))
    return _Spread(f"{name} jackknife", np.sqrt(_variance(without(units))), int(units.max()))


def _variance(without: Floats) -> Floats:
    """Jackknife variance of each column; a unit without which there is no estimate is passed over."""
    used = np.isfinite(without)
    k = used.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(used, without, 0.0).sum(axis=0) / k
        squares = (np.where(used, without - mean, 0.0) ** 2).sum(axis=0)
        return np.where(k > 1, (k - 1) / k * squares, np.nan)


# --- without the noise of people --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Disattenuated(Result):
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
    min_reliability, confidence_level : float
    interval_method : str
    df : float
    n, n_dropped : int
        Items with the judge and all raters; items without.
    n_raters, n_groups, n_systems : int
    """

    estimate: float
    interval: Interval
    reason: str
    correlation: float
    correlation_interval: Interval
    reliability: float
    reliability_interval: Interval
    min_reliability: float
    confidence_level: float
    interval_method: str
    df: float
    n: int
    n_dropped: int
    n_raters: int
    n_groups: int
    n_systems: int

    def _rows(self) -> list[dict[str, Any]]:
        values = {
            "disattenuated": (self.estimate, self.interval),
            "pearson": (self.correlation, self.correlation_interval),
        }
        values |= {"reliability of the mean": (self.reliability, self.reliability_interval)}
        made = {"interval_method": self.interval_method, "n_dropped": self.n_dropped, "n_raters": self.n_raters}
        return [quantity_row(name, value, ends, self.n) | made for name, (value, ends) in values.items()]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {
            "disattenuated": True,
            "min": self.min_reliability,
            "refused": bool(self.reason) or None,
        }
        terms |= {"ci": self.interval_method.replace(" ", "-"), "cl": self.confidence_level, "n": self.n}
        terms |= {"dropped": self.n_dropped, "raters": self.n_raters}
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
    cl = check.probability(confidence_level, "confidence_level")
    keep = np.isfinite(table).all(axis=1) & np.isfinite(scores)
    design = _design(groups, systems, keep)
    sums, k = _disattenuation_sums(scores[keep], table[keep]), table.shape[1]
    estimates = _disattenuate(sums.sum(axis=0)[None, :], k)[0]
    spread = _spread(lambda units: _disattenuate(sums.sum(axis=0) - _unit_sums(sums, units), k), design)
    reason = _refusal(float(estimates[1]), float(estimates[2]), least, design.n, k)
    ends = [spread.interval(v, se, cl, b) for v, se, b in zip(estimates, spread.std_error, (np.inf, 1, 1), strict=True)]
    return Disattenuated(
        estimate=float("nan") if reason else float(estimates[0]),
        interval=NO_INTERVAL if reason else ends[0],
        reason=reason,
        correlation=float(estimates[1]),
        correlation_interval=ends[1],
        reliability=float(estimates[2]),
        reliability_interval=ends[2],
        min_reliability=least,
        confidence_level=cl,
        interval_method=spread.name,
        df=spread.df,
        n=design.n,
        n_dropped=len(table) - design.n,
        n_raters=k,
        n_groups=design.n_groups,
        n_systems=design.n_systems,
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


def _unit_sums(sums: Floats, units: Codes) -> Floats:
    k = int(units.max()) + 1
    return np.column_stack([np.bincount(units, column, k) for column in sums.T])


# --- all of it --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability(Result):
    """How far people agree, and what that allows a judge.

    Attributes
    ----------
    alpha : Alpha
    icc : ICC
    ceiling : Ceiling
    disattenuated : Disattenuated or None
        None without a judge.
    """

    alpha: Alpha
    icc: ICC
    ceiling: Ceiling
    disattenuated: Disattenuated | None

    def _rows(self) -> list[dict[str, Any]]:
        parts = (self.alpha, self.icc, self.ceiling, self.disattenuated)
        return [row for part in parts if part is not None for row in part._rows()]  # noqa: SLF001 - results of one family

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"reliability": True, "metric": self.alpha.metric, "level": self.ceiling.level}
        terms |= {"method": self.ceiling.method, "ci": self.ceiling.interval_method.replace(" ", "-")}
        terms |= {"cl": self.alpha.confidence_level, "n": self.alpha.n}
        terms |= {"raters": self.alpha.n_raters, "groups": self.ceiling.n_groups or None}
        return terms | {"systems": self.ceiling.n_systems or None}

    def __str__(self) -> str:
        parts = [f"alpha {short(self.alpha.estimate)}", f"ICC(C,k) {short(self.icc.estimates['ICC(C,k)'])}"]
        parts += [f"one person against the others {short(self.ceiling.ceiling)}"]
        if self.disattenuated is not None:
            value = self.disattenuated
            parts += [f"judge against the same {short(self.ceiling.judge)}"]
            parts += ["disattenuated " + ("refused" if value.reason else short(value.estimate))]
        return f"{self.alpha.n_raters} raters, {self.alpha.n} items: {', '.join(parts)}"


def reliability(
    ratings: ArrayLike,
    judge: ArrayLike | None = None,
    *,
    metric: str = "interval",
    groups: Labels | None = None,
    systems: Labels | None = None,
    level: str = "item",
    method: str = "spearman",
    min_reliability: float = 0.7,
    confidence_level: float = 0.95,
) -> Reliability:
    """Krippendorff's alpha, intraclass correlations, the ceiling for a judge and the disattenuated correlation.

    Parameters are those of `krippendorff_alpha`, `icc`, `human_ceiling` and `disattenuated`.
    The frame has one row per quantity; the items differ where ratings are missing, so each
    row has its own `n`, and says how its interval was made.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
    judge : array_like, shape (n_items,), optional
    metric : {"interval", "nominal", "ordinal", "ratio"}, default "interval"
    groups, systems : sequence, shape (n_items,), optional
    level : {"item", "group", "system"}, default "item"
    method : str, default "spearman"
    min_reliability : float, default 0.7
    confidence_level : float, default 0.95

    Returns
    -------
    Reliability

    Raises
    ------
    ValueError
        As the four functions.

    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> print(reliability(people))
    3 raters, 5 items: alpha 0.8232, ICC(C,k) 0.9364, one person against the others 0.9228
    """
    design: dict[str, Any] = {"groups": groups, "systems": systems, "confidence_level": confidence_level}
    cl: dict[str, Any] = {"confidence_level": confidence_level}
    least: dict[str, Any] = {"min_reliability": check.probability(min_reliability, "min_reliability")}
    return Reliability(
        alpha=krippendorff_alpha(ratings, metric=metric, groups=groups, **cl),
        icc=icc(ratings, **cl),
        ceiling=human_ceiling(ratings, judge, level=level, method=method, **design),
        disattenuated=None if judge is None else disattenuated(judge, ratings, **least, **design),
    )
