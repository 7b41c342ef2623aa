"""A judge without the noise of people: its correlation with what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.agreement.alpha import Alpha, RatersResult, krippendorff_alpha
from calib.analysis.agreement.ceiling import Ceiling, design_of_items, jackknife_spreads, label_ceiling
from calib.analysis.agreement.coefficients import COEFFICIENTS, NEEDS_NO_ORDER, named_coefficient
from calib.analysis.agreement.icc import ICC, icc
from calib.analysis.agreement.scales import interchangeable, rating_table
from calib.analysis.agreement.spread import NO_INTERVAL
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import matrix_product, row_means, unit_sums
from calib.core.result import Interval, Result, bracket, short


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
        Pearson r of the judge and the mean of `per_item` ratings, and ICC(C,k) of such a mean; ICC(1,k)
        where raters differ from item to item. Estimates for a full panel where ratings are missing.
    correlation_interval, reliability_interval : Interval
        By the same jackknife.
    warnings : tuple of str
        That the estimate is above 1.
    min_reliability : float
    interval_method : str
    df : float
    per_item : int
        The most ratings that an item has.
    n, n_dropped : int
        Items with the judge and a rating, items without.
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
    warnings: tuple[str, ...]
    interval_method: str
    df: float
    per_item: int
    n_groups: int
    n_systems: int

    def _rows(self) -> list[dict[str, Any]]:
        quantities = [("disattenuated", self.estimate, self.interval)]
        quantities += [("pearson", self.correlation, self.correlation_interval)]
        quantities += [("reliability of the mean", self.reliability, self.reliability_interval)]
        return [self._quantity_row(*one, self.interval_method) for one in quantities]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"disattenuated": True, "min": self.min_reliability}
        terms |= {"refused": bool(self.reason) or None, **self._counted(self.interval_method)}
        return terms | {"groups": self.n_groups or None, "systems": self.n_systems or None}

    def __str__(self) -> str:
        plain = f"Pearson r = {short(self.correlation)}, reliability of people {short(self.reliability)}, n = {self.n}"
        if self.reason:
            return f"disattenuated correlation refused: {self.reason} ({plain})"
        interval = bracket(self.interval, self.confidence_level)
        return f"disattenuated correlation = {short(self.estimate)}, {interval} ({plain}){self._bracketed_warnings}"


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

    Both are made of sums over items. Raters are first put on one mean (by least squares, so that an item's
    ratings stand for it whoever gave them); then :math:`\sigma_T^2`, the variance that items have in common to
    their raters, is that of the item means less what :math:`\sigma_E^2`, the mean square within items, adds to it:

    .. math:: \hat\rho = \frac{cov(\text{judge}, \bar x)}{\sqrt{var(\text{judge})\, \hat\sigma_T^2}}, \quad
              \hat\sigma_T^2 = var(\bar x_i) - \hat\sigma_E^2\, \overline{1 / m_i}

    over the items with a rating, however many (:math:`m_i`) they have; with all ratings there it is the ratio
    above. Where raters differ from item to item (two who rated one together share fewer than three, on average)
    their means are part of the noise, and ICC(1,k) is meant.
    The interval is the jackknife of the whole over groups, systems, both or items, as in `label_ceiling`; it holds
    the uncertainty of the reliability.

    Parameters
    ----------
    judge : array_like, shape (n_items,)
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate; the ratings that there are count. Items without a rating or
        without the judge are left out.
    groups, systems : sequence, shape (n_items,), optional
    min_reliability : float, default 0.7
        Below it the estimate is refused, NaN with a `reason`: a small denominator blows up
        every error, and no clipping mends that.
    confidence_level : float, default 0.95


    Notes
    -----
    It assumes that errors of raters are independent of each other, of the judge and of the item's true score,
    and that which ratings are missing has nothing to do with what they would be. Ratings that crowd at an end
    of the scale break the second of these, raters who share a bias the first. The result is the agreement with
    what *these* raters have in common. With two thirds of the items rated by one or two of three raters and 8 %
    by all, a nominal 95 % covered 92 to 97 % (60 to 300 items; least over 20 groups), where the complete items
    alone covered 89 to 94 % with intervals three times as long.

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
    keep = np.isfinite(table).any(axis=1) & np.isfinite(scores)
    design = design_of_items(keep, groups, systems, level="item", coefficient="pearson")
    used, x = table[keep], scores[keep]
    m = np.isfinite(used).sum(axis=1)
    panel, most = _Panel(0.0, 0, 0.0), int(m.max(initial=0))
    if len(m) and not interchangeable(used):
        panel = _raters_aligned(used)
    level = used - panel.offsets
    level = level - np.nanmean(level) if len(m) else level
    means, x = row_means(level), x - x.mean() if len(x) else x
    inside = np.nansum((level - means[:, None]) ** 2, axis=1)
    sums = np.column_stack([np.ones(len(m)), m, 1 / m, inside, means, means**2, x, x**2, x * means])
    total, bounds = sums.sum(axis=0), (np.inf, 1, 1)
    estimates = _disattenuate(total[None, :], panel, most)[0]
    left = jackknife_spreads(lambda units: _disattenuate(total - unit_sums(sums, units), panel, most), design, bounds)
    reason = ""
    if design.n < 3:
        reason = f"only {design.n} items have the judge and a rating"
    elif not np.isfinite(estimates[1]):
        reason = "the judge or the mean of raters has a single value over the items, or no item has two ratings"
    elif not estimates[2] >= least:
        of_mean = f"the mean of {most} raters has a reliability of {short(float(estimates[2]))}"
        reason = f"{of_mean}, below {short(least)}"
    ends = [spread.interval(v, confidence) for spread, v in zip(left, estimates, strict=True)]
    return Disattenuated(
        estimate=float("nan") if reason else float(estimates[0]),
        interval=NO_INTERVAL if reason else ends[0],
        reason=reason,
        correlation=float(estimates[1]),
        correlation_interval=ends[1],
        reliability=float(estimates[2]),
        reliability_interval=ends[2],
        min_reliability=least,
        warnings=(_ABOVE_ONE,) if not reason and estimates[0] > 1 else (),
        confidence_level=confidence,
        per_item=most,
        n_dropped=len(table) - design.n,
        n_raters=table.shape[1],
        **left[0].made_over(design),
    )


_ABOVE_ONE = (
    "above_one: no correlation is above 1; it is chance (see the interval), or the judge's errors go with people's "
    "more than people's go with each other's"
)


class _Panel(NamedTuple):
    """What of the raters' means is the same whatever item is left out."""

    offsets: Floats | float  # how far each rater is above the others on the same items
    lost: int  # degrees of freedom that these took
    moved: float  # what their errors add to the squares of item means, in variances of one rating


def _raters_aligned(table: Floats) -> _Panel:
    """By least squares."""
    rated = np.isfinite(table).astype(float)
    shares = rated / rated.sum(axis=1)[:, None]
    normal = np.diag(rated.sum(axis=0)) - matrix_product(rated.T, shares)
    inverse = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)
    above = np.nansum(table - row_means(table)[:, None], axis=0)
    apart = shares - shares.mean(axis=0)
    moved = float(np.sum(matrix_product(apart.T, apart) * inverse))
    return _Panel(matrix_product(inverse, above), int(np.linalg.matrix_rank(normal, tol=1e-8, hermitian=True)), moved)


def _disattenuate(totals: Floats, panel: _Panel, most: int) -> Floats:
    """Ratio, correlation and reliability, shape (B, 3), of totals of shape (B, 9)."""
    n, ratings, inverse, inside, mean, of_means, x, square, cross = totals.T
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = np.where(inside > 1e-12 * of_means, inside, 0.0) / (ratings - n - panel.lost)
        spread_x, spread_y = square - x**2 / n, of_means - mean**2 / n
        varied = (n > 2) & (spread_x > 1e-12 * square) & (spread_y > 1e-12 * of_means)
        common = spread_y / (n - 1) - noise * (inverse / n + panel.moved / (n - 1))
        of_panel = common + noise / most
        shared = np.where(varied, (cross - x * mean / n) / np.sqrt(spread_x * (n - 1)), np.nan)
        reliability = np.where(varied & (ratings - n > panel.lost), common / of_panel, np.nan)
        return np.column_stack([shared / np.sqrt(common), shared / np.sqrt(of_panel), reliability])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability(Result):
    """How far people agree, and what that allows a judge.

    Attributes
    ----------
    alpha : Alpha
    icc : ICC or None
        None under the nominal metric: names have no variance.
    ceiling : Ceiling
    disattenuated : Disattenuated or None
        None without a judge, and under the nominal metric.
    """

    alpha: Alpha
    icc: ICC | None
    ceiling: Ceiling
    disattenuated: Disattenuated | None

    def _rows(self) -> list[dict[str, Any]]:
        parts = (self.alpha, self.icc, self.ceiling, self.disattenuated)
        return [row for part in parts if part is not None for row in part._rows()]  # noqa: SLF001 - results of one family

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"reliability": True, "metric": self.alpha.metric, "level": self.ceiling.level}
        terms |= {"method": self.ceiling.coefficient, "ci": self.ceiling.interval_method.replace(" ", "-")}
        terms |= {"cl": self.alpha.confidence_level, "n": self.alpha.n, "raters": self.alpha.n_raters}
        return terms | {"groups": self.ceiling.n_groups or None, "systems": self.ceiling.n_systems or None}

    def __str__(self) -> str:
        of_people, judged = self.ceiling, bool(self.ceiling.judge_by_rater)
        parts = [f"alpha {short(self.alpha.estimate)}"]
        if self.icc is None:
            name = COEFFICIENTS[of_people.coefficient]
            parts[0] += " (nominal)"
            parts += [f"{name} of one person with another {short(of_people.ceiling)}"]
        else:
            parts += [self.icc.of_the_mean, f"one person against the others {short(of_people.ceiling)}"]
        parts += [f"judge against the same {short(of_people.judge)}"] * judged
        if self.disattenuated is not None:
            value = self.disattenuated
            above = " (above 1)" if value.warnings else ""
            parts += ["disattenuated " + ("refused" if value.reason else short(value.estimate)) + above]
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
    coefficient: str | None = None,
) -> Reliability:
    """Krippendorff's alpha, intraclass correlations, the ceiling for a judge and the disattenuated correlation.

    That is `krippendorff_alpha`, `icc`, `label_ceiling` and `disattenuated`. The frame has
    one row per quantity; the items differ where ratings are missing, so each row has its
    own `n`, and says how its interval was made.

    Under the nominal metric nothing that needs an order is computed: no intraclass correlation and no
    disattenuated one, and the ceiling is the unweighted kappa (or the "exact" agreement) of one person with another.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        Names, as strings, for the nominal metric.
    judge : array_like, shape (n_items,), optional
    metric : {"interval", "nominal", "ordinal", "ratio"}
        Of Krippendorff's alpha.
    groups, systems, level, method, coefficient, confidence_level
        As for `calib.stats.agreement`; under the nominal metric "kappa_nominal" (the default there) or "exact".
    min_reliability : float
        Of people; below it no correlation is corrected for their noise.


    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> print(reliability(people))
    3 raters, 5 items: alpha 0.8232, ICC(C,k) 0.9364, one person against the others 0.9228
    """
    design: dict[str, Any] = {"groups": groups, "systems": systems, "confidence_level": confidence_level}
    least = check.probability(min_reliability, "min_reliability")
    nominal = metric == "nominal"
    if nominal:
        named = named_coefficient(method, coefficient)
        if named not in NEEDS_NO_ORDER and (coefficient is not None or method != "spearman"):
            rule = f"must be {' or '.join(map(repr, NEEDS_NO_ORDER))} under metric 'nominal', which knows no order"
            raise ArgumentError("method" if coefficient is None else "coefficient", rule, f"got {named!r}")
        coefficient = named if named in NEEDS_NO_ORDER else "kappa_nominal"
    return Reliability(
        alpha=krippendorff_alpha(ratings, metric=metric, groups=groups, confidence_level=confidence_level),
        icc=None if nominal else icc(ratings, confidence_level=confidence_level),
        ceiling=label_ceiling(ratings, judge, level=level, method=method, coefficient=coefficient, **design),
        disattenuated=(
            None if nominal or judge is None else disattenuated(judge, ratings, min_reliability=least, **design)
        ),
    )
