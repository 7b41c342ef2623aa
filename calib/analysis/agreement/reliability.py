"""Reliability of people: intraclass correlations, a judge's correlation without their noise, and all in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.analysis.agreement.alpha import Alpha, OfRaters, krippendorff_alpha
from calib.analysis.agreement.ceiling import Ceiling, design_of_items, jackknife_spreads, label_ceiling
from calib.analysis.agreement.coefficients import COEFFICIENTS, NEEDS_NO_ORDER, named_coefficient
from calib.analysis.agreement.scales import interchangeable, rating_table
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import matrix_product, row_means, unit_sums
from calib.core.result import NO_INTERVAL, Estimate, Interval, Result, bracket, short

_ABOVE_ONE = (
    "above_one: no correlation is above 1; it is chance (see the interval), or the judge's errors go with people's "
    "more than people's go with each other's"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ICC(OfRaters, Result):
    """Intraclass correlations of several raters.

    Attributes
    ----------
    estimates : dict of str to float
        By name: "ICC(1)", "ICC(1,k)", "ICC(C,1)", "ICC(C,k)", "ICC(A,1)", "ICC(A,k)"; k is `n_raters`, and `per_item`
        in ICC(1,k).
    intervals : dict of str to Interval
    confidence_level : float
    n, n_dropped, n_raters : int
        Items that every rater rated, items with a rating missing, raters.
    n_one_way, per_item : int, float
        Of ICC(1) and ICC(1,k), for which it does not matter who rated: items with two ratings or more, and how many
        these have (harmonic mean).
    """

    estimates: dict[str, float]
    intervals: dict[str, Interval]
    confidence_level: float
    n: int
    n_dropped: int
    n_raters: int
    n_one_way: int
    per_item: float

    def _rows(self) -> list[dict[str, Any]]:
        rows = [self._quantity_row(name, rho, self.intervals[name], "F") for name, rho in self.estimates.items()]
        one_way = {"n": self.n_one_way, "n_dropped": self.n + self.n_dropped - self.n_one_way}
        return [row | (one_way if row["quantity"].startswith("ICC(1") else {}) for row in rows]

    def _terms(self) -> dict[str, Any]:
        return {"icc": True, **self._counted("F")}

    @property
    def raters_differ(self) -> bool:
        """Whether raters differ from item to item, so that only ICC(1) is there."""
        return bool(np.isnan(self.estimates["ICC(C,1)"]) and np.isfinite(self.estimates["ICC(1)"]))

    def __str__(self) -> str:
        words = {name: f"{short(rho)}, {bracket(self.intervals[name], self.confidence_level)}"
                 for name, rho in self.estimates.items()}  # fmt: skip
        if self.raters_differ:
            mean = f"ICC(1,{short(self.per_item)}) = {words['ICC(1,k)']}"
            return f"ICC(1) = {words['ICC(1)']}; {mean} (n = {self.n_one_way} items, whoever rated them)"
        mean = f"ICC(C,{self.n_raters}) = {short(self.estimates['ICC(C,k)'])}"
        return f"ICC(C,1) = {words['ICC(C,1)']}; {mean} (n = {self.n} items that all {self.n_raters} raters rated)"


def icc(ratings: ArrayLike, *, confidence_level: float = 0.95) -> ICC:
    r"""Intraclass correlations: the share of variance that is the items', not the raters' or noise.

    With the mean squares of items R, raters C, error E and within items W, and k raters,

    .. math:: ICC(1) = \frac{R - W}{R + (k-1) W}, \quad
              ICC(C,1) = \frac{R - E}{R + (k-1) E}, \quad
              ICC(A,1) = \frac{R - E}{R + (k-1) E + \frac{k}{n}(C - E)}.

    C is consistency (a rater may be strict throughout), A absolute agreement. The forms with k are the reliability of
    the mean of k raters, :math:`k\rho / (1 + (k-1)\rho)`.

    ICC(1) and ICC(1,k) are those of raters who differ from item to item: only how many ratings an item has counts. They
    take all items with two ratings or more; where the number differs, R is that of the unweighted item means and k
    their harmonic mean number. The F intervals take items as independent and effects as normal: where items share a
    document, `krippendorff_alpha` with `groups` is close to ICC(1) and has the honest width.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate. C and A leave items with a NaN out, and count them. Raters who differ from item
        to item may have a column each, or an item's ratings stand in any order.
    confidence_level : float, default 0.95

    References
    ----------
    McGraw and Wong (1996), Psychological Methods 1:30-46, tables 4 and 7, with the correction on page 390; Shrout and
    Fleiss (1979), Psychological Bulletin 86:420-428. Thomas and Hultquist (1978), Annals of Statistics 6:582-587, for
    unequal numbers of ratings.

    Examples
    --------
    >>> four_judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> {name: round(value, 2) for name, value in icc(four_judges).estimates.items()}
    {'ICC(1)': 0.17, 'ICC(1,k)': 0.44, 'ICC(C,1)': 0.71, 'ICC(C,k)': 0.91, 'ICC(A,1)': 0.29, 'ICC(A,k)': 0.62}
    """
    table = rating_table(ratings)
    confidence = check.probability(confidence_level, "confidence_level")
    complete = table[np.isfinite(table).all(axis=1)]
    n, k = complete.shape
    r, c, e, _ = mean_squares(complete)
    m = np.isfinite(table).sum(axis=1)
    rated, m = table[m > 1], m[m > 1]
    rho_1, limits_1, per_item, n_one_way = float("nan"), NO_INTERVAL, float("nan"), len(rated)
    if n_one_way > 1:
        rated = rated - np.nanmean(rated)
        means, per_item, df = row_means(rated), n_one_way / float(np.sum(1 / m)), int(m.sum()) - n_one_way
        inside = float(np.nansum((rated - means[:, None]) ** 2))
        within = inside / df if inside > 1e-12 * np.nansum(rated**2) else 0.0
        items = per_item * float(np.var(means, ddof=1))
        rho_1 = _divided(items - within, items + (per_item - 1) * within)
        limits_1 = _f_limits(items, within, n_one_way - 1, df, per_item, confidence)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho_c = _divided(r - e, r + (k - 1) * e)
        rho_a = _divided(r - e, r + (k - 1) * e + k * (c - e) / max(n, 1))
        limits_c = _f_limits(r, e, n - 1, (n - 1) * (k - 1), k, confidence)
        limits_a = NO_INTERVAL
        if e > 0 and n > 1 and rho_a < 1:
            a = k * rho_a / (n * (1 - rho_a))
            b = 1 + a * (n - 1)
            df = (a * c + b * e) ** 2 / ((a * c) ** 2 / (k - 1) + (b * e) ** 2 / ((n - 1) * (k - 1)))
            tail, rest = (1 + confidence) / 2, k * c + (k * n - k - n) * e
            low, high = stats.f.ppf(tail, n - 1, df), stats.f.ppf(tail, df, n - 1)
            ends = n * (r - low * e) / (low * rest + n * r), n * (high * r - e) / (rest + n * high * r)
            limits_a = Interval(*map(float, ends))
    estimates: dict[str, float] = {}
    intervals: dict[str, Interval] = {}
    kinds = {"1": (rho_1, limits_1, per_item), "C,1": (rho_c, limits_c, k), "A,1": (rho_a, limits_a, k)}
    for kind, (rho, limits, raters) in kinds.items():
        mean = f"ICC({kind[0]},k)"
        estimates |= {f"ICC({kind})": rho, mean: _stepped_up(rho, raters)}
        intervals |= {f"ICC({kind})": limits, mean: Interval(*(_stepped_up(end, raters) for end in limits))}
    return ICC(
        estimates=estimates, intervals=intervals, confidence_level=confidence, n=n, n_dropped=len(table) - n,
        n_raters=k, per_item=per_item, n_one_way=n_one_way,
    )  # fmt: skip


def mean_squares(complete: Floats) -> tuple[float, float, float, float]:
    """Mean squares of items, raters, error, within items, of ratings without gaps."""
    n, k = complete.shape
    centred = complete - complete.mean() if n else complete
    sums = np.column_stack([centred.mean(axis=1) ** 2, (centred**2).sum(axis=1), centred]).sum(axis=0)
    of_means, of_all, of_rater = sums[0], sums[1], sums[2:]
    with np.errstate(invalid="ignore", divide="ignore"):
        correction = of_rater.sum() ** 2 / (np.float64(n) * k)
        items, raters = k * of_means - correction, (of_rater**2).sum() / np.float64(n) - correction
        within = of_all - k * of_means if of_all - k * of_means > 1e-12 * of_all else 0.0
        error = within - raters if within - raters > 1e-12 * of_all else 0.0
        r, c, e, w = np.array([items, raters, error, within]) / [n - 1, k - 1, (n - 1) * (k - 1), n * (k - 1)]
    return float(r), float(c), float(e), float(w)


def _divided(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else float("nan")


def _stepped_up(rho: float, k: float) -> float:
    """Spearman-Brown: the reliability of the mean of k raters."""
    return _divided(k * rho, 1 + (k - 1) * rho)


def _f_limits(above: float, below: float, df1: float, df2: float, k: float, confidence: float) -> Interval:
    if not (below > 0 and df1 >= 1):
        return NO_INTERVAL
    tail, f = (1 + confidence) / 2, above / below
    ends = (f / stats.f.ppf(tail, df1, df2), f * stats.f.ppf(tail, df2, df1))
    return Interval(*(float((end - 1) / (end + k - 1)) for end in ends))


# --- the correlation of a judge without the noise of people ----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Disattenuated(OfRaters, Estimate):
    """Correlation of a judge with what the raters have in common.

    The estimate is NaN where it is refused; it may exceed 1, of which a warning tells, and is never clipped.

    Attributes
    ----------
    reason : str
        Why the estimate is refused, in words; empty where it is not.
    correlation, correlation_interval, reliability, reliability_interval : float and Interval
        Pearson r of the judge and the mean of `per_item` ratings, and ICC(C,k) of such a mean (ICC(1,k) where raters
        differ from item to item), for a full panel where ratings are missing; intervals by the same jackknife.
    min_reliability, interval_method, df : float, str, float
    per_item : int
        The most ratings that an item has.
    n, n_dropped, n_raters, n_groups, n_systems : int
        Items with the judge and a rating, items without, ...
    """

    reason: str
    correlation: float
    correlation_interval: Interval
    reliability: float
    reliability_interval: Interval
    min_reliability: float
    interval_method: str
    df: float
    per_item: int
    n: int
    n_dropped: int
    n_raters: int
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
        return f"disattenuated correlation = {short(self.estimate)}, {self.bracket} ({plain}){self._bracketed_warnings}"


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

    Both are made of sums over items, of raters who are first put on one mean by least squares:

    .. math:: \hat\rho = \frac{cov(\text{judge}, \bar x)}{\sqrt{var(\text{judge})\, \hat\sigma_T^2}}, \quad
              \hat\sigma_T^2 = var(\bar x_i) - \hat\sigma_E^2\, \overline{1 / m_i}

    over the items with a rating, however many (:math:`m_i`) they have, with the mean square within items
    :math:`\sigma_E^2`. Where raters differ from item to item (two who rated one together share fewer than three, on
    average) their means are part of the noise, and ICC(1,k) is meant. The interval is the jackknife of the whole over
    groups, systems, both or items, as in `label_ceiling`; it holds the uncertainty of the reliability.

    Parameters
    ----------
    judge : array_like, shape (n_items,)
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate; the ratings that there are count. Items without a rating or without the judge
        are left out.
    groups, systems : sequence, shape (n_items,), optional
    min_reliability : float, default 0.7
        Below it the estimate is refused, NaN with a `reason`: a small denominator blows up every error, and no clipping
        mends that.
    confidence_level : float, default 0.95

    Notes
    -----
    It assumes that errors of raters are independent of each other, of the judge and of the item's true score, and that
    which ratings are missing has nothing to do with what they would be: ratings that crowd at an end of the scale break
    the second, raters who share a bias the first. With two thirds of the items rated by one or two of three raters and
    8 % by all, a nominal 95 % covered 92 to 97 % (60 to 300 items; least over 20 groups).

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
    design = design_of_items(keep, groups=groups, systems=systems, level="item", coefficient="pearson")
    used, x = table[keep], scores[keep]
    m = np.isfinite(used).sum(axis=1)
    most, offsets, lost, moved = int(m.max(initial=0)), np.zeros(table.shape[1]), 0, 0.0
    if len(m) and not interchangeable(used):
        offsets, lost, moved = _raters_aligned(used)
    level = used - offsets
    level = level - np.nanmean(level) if len(m) else level
    means, x = row_means(level), x - x.mean() if len(x) else x
    inside = np.nansum((level - means[:, None]) ** 2, axis=1)
    sums = np.column_stack([np.ones(len(m)), m, 1 / m, inside, means, means**2, x, x**2, x * means])
    total, panel = sums.sum(axis=0), (lost, moved, most)
    estimates = _disattenuate(total[None, :], *panel)[0]
    bounds, reason = (np.inf, 1, 1), ""
    left = jackknife_spreads(lambda units: _disattenuate(total - unit_sums(sums, units), *panel), design, bounds)
    if design.n < 3:
        reason = f"only {design.n} items have the judge and a rating"
    elif not np.isfinite(estimates[1]):
        reason = "the judge or the mean of raters has a single value over the items, or no item has two ratings"
    elif not estimates[2] >= least:
        reached = short(float(estimates[2]))
        reason = f"the mean of {most} raters has a reliability of {reached}, below {short(least)}"
    ends = [spread.interval(v, confidence) for spread, v in zip(left, estimates, strict=True)]
    return Disattenuated(
        estimate=float("nan") if reason else float(estimates[0]), interval=NO_INTERVAL if reason else ends[0],
        reason=reason, correlation=float(estimates[1]), correlation_interval=ends[1], reliability=float(estimates[2]),
        reliability_interval=ends[2], min_reliability=least,
        warnings=(_ABOVE_ONE,) if not reason and estimates[0] > 1 else (), confidence_level=confidence, per_item=most,
        n_dropped=len(table) - design.n, n_raters=table.shape[1], **left[0].made_over(design),
    )  # fmt: skip


def _raters_aligned(table: Floats) -> tuple[Floats, int, float]:
    """How far each rater is above the others on the same items, by least squares.

    With the degrees of freedom that these offsets take, and what their errors add to the squares of item means, in
    variances of one rating: both are taken as the same whatever item is left out.
    """
    rated = np.isfinite(table).astype(float)
    shares = rated / rated.sum(axis=1)[:, None]
    normal = np.diag(rated.sum(axis=0)) - matrix_product(rated.T, shares)
    inverse = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)
    above = np.nansum(table - row_means(table)[:, None], axis=0)
    apart = shares - shares.mean(axis=0)
    moved = float(np.sum(matrix_product(apart.T, apart) * inverse))
    lost = int(np.linalg.matrix_rank(normal, tol=1e-8, hermitian=True))
    return matrix_product(inverse, above), lost, moved


def _disattenuate(totals: Floats, lost: int, moved: float, most: int) -> Floats:
    """Ratio, correlation and reliability, shape (B, 3), of totals of shape (B, 9)."""
    n, ratings, inverse, inside, mean, of_means, x, square, cross = totals.T
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = np.where(inside > 1e-12 * of_means, inside, 0.0) / (ratings - n - lost)
        spread_x, spread_y = square - x**2 / n, of_means - mean**2 / n
        varied = (n > 2) & (spread_x > 1e-12 * square) & (spread_y > 1e-12 * of_means)
        common = spread_y / (n - 1) - noise * (inverse / n + moved / (n - 1))
        of_panel = common + noise / most
        shared = np.where(varied, (cross - x * mean / n) / np.sqrt(spread_x * (n - 1)), np.nan)
        reliability = np.where(varied & (ratings - n > lost), common / of_panel, np.nan)
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
            mean = "ICC(1,k)" if self.icc.raters_differ else "ICC(C,k)"
            parts += [f"{mean} {short(self.icc.estimates[mean])}"]
            parts += [f"one person against the others {short(of_people.ceiling)}"]
        parts += [f"judge against the same {short(of_people.judge)}"] * judged
        if (value := self.disattenuated) is not None:
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

    That is `krippendorff_alpha`, `icc`, `label_ceiling` and `disattenuated`. The frame has one row per quantity; the
    items differ where ratings are missing, so each row has its own `n`, and says how its interval was made.

    Under the nominal metric nothing that needs an order is computed: no intraclass correlation and no disattenuated
    one, and the ceiling is the unweighted kappa (or the "exact" agreement) of one person with another.

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
