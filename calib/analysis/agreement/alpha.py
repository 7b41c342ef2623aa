"""How far several raters agree among themselves: Krippendorff's alpha, and what every such number has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from calib.analysis.agreement.coefficients import cuts
from calib.analysis.agreement.levels import multiplicities, resamples_at_once
from calib.analysis.agreement.scales import coded, refuse_scales_of_raters
from calib.analysis.agreement.spread import Spread
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import jackknife_variance, matrix_product, recoded
from calib.core.result import Interval, Result, bracket, short

_TOGETHER = 3  # items that raters must share for one to be told from another
METRICS = ("interval", "nominal", "ordinal", "ratio")
Totals = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatersResult(Result):
    """What every number about several raters has.

    Attributes
    ----------
    confidence_level : float
    n, n_dropped : int
        Items in use; items left out, for a rating that is missing.
    n_raters : int
    """

    confidence_level: float
    n: int
    n_dropped: int
    n_raters: int

    def _quantity_row(self, quantity: str, estimate: float, interval: Interval, interval_method: str) -> dict[str, Any]:
        row: dict[str, Any] = {"quantity": quantity, "estimate": estimate}
        row |= {"conf_low": interval.low, "conf_high": interval.high, "n": self.n, "interval_method": interval_method}
        return row | {"n_dropped": self.n_dropped, "n_raters": self.n_raters}

    def _counted(self, interval_method: str) -> dict[str, Any]:
        terms: dict[str, Any] = {"ci": interval_method.replace(" ", "-"), "cl": self.confidence_level, "n": self.n}
        return terms | {"dropped": self.n_dropped, "raters": self.n_raters}


def rating_table(ratings: ArrayLike, *, for_names: str = "", **others: Any) -> Floats:
    """Ratings as items x raters; `for_names` says what there is for names, which are refused."""
    try:
        table = check.array(ratings, "ratings", ndim=2)
    except ArgumentError as error:
        if not for_names or not coded({"ratings": ratings})[1]:
            raise
        raise ArgumentError("ratings", f"must be numeric (for names there is {for_names})", error.given) from None
    if table.shape[1] < 2:
        raise ArgumentError("ratings", "must have at least 2 columns, one for each rater", f"got {table.shape[1]}")
    check.same_length(ratings=table, **others)
    refuse_scales_of_raters(table)
    return table


def interchangeable(table: Floats) -> bool:
    """Whether raters differ from item to item: two who rated one together share fewer than three, on average.

    Examples
    --------
    >>> nan = float("nan")
    >>> interchangeable(np.array([[1, 2, nan, nan], [nan, nan, 3, 3], [2, nan, nan, 2]]))
    True
    """
    rated = np.isfinite(table).astype(float)
    shared = matrix_product(rated.T, rated)
    np.fill_diagonal(shared, 0)
    return bool((shared**2).sum() < _TOGETHER * shared.sum()) or not shared.any()


def in_slots(table: Floats) -> Floats:
    """Each item's ratings in the first columns, whoever gave them."""
    rated = np.isfinite(table)
    order = np.argsort(~rated, axis=1, kind="stable")
    return np.take_along_axis(table, order, axis=1)[:, : max(int(rated.sum(axis=1).max(initial=0)), 2)]


# --- Krippendorff's alpha ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Alpha(RatersResult):
    """Krippendorff's alpha of several raters.

    Attributes
    ----------
    estimate : float
        1 is perfect agreement, 0 what chance gives; NaN where all ratings are equal.
    interval : Interval
        NaN ends with fewer than two units, or where they do not differ.
    metric, interval_method : str
    n, n_dropped : int
        Items with two or more ratings, items with fewer.
    n_ratings, n_groups : int
    n_resamples, n_undefined : int
        Resamples (0 for the jackknife), and how many of them had no alpha because all
        ratings were equal.
    """

    estimate: float
    interval: Interval
    metric: str
    interval_method: str
    n_ratings: int
    n_groups: int
    n_resamples: int
    n_undefined: int

    def _rows(self) -> list[dict[str, Any]]:
        return [self._quantity_row(f"alpha ({self.metric})", self.estimate, self.interval, self.interval_method)]

    def _terms(self) -> dict[str, Any]:
        terms = {"alpha": True, "metric": self.metric, **self._counted(self.interval_method)}
        return terms | {"groups": self.n_groups or None, "resamples": self.n_resamples or None}

    def __str__(self) -> str:
        return (
            f"Krippendorff's alpha ({self.metric}) = {short(self.estimate)}, "
            f"{bracket(self.interval, self.confidence_level)} (n = {self.n}, {self.n_raters} raters)"
        )


def krippendorff_alpha(
    ratings: ArrayLike,
    *,
    metric: str = "interval",
    groups: Labels | None = None,
    interval: str = "jackknife",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
) -> Alpha:
    r"""Krippendorff's alpha: any number of raters, missing ratings, four ways to measure a disagreement.

    .. math:: \alpha = 1 - (n - 1) \frac{\sum_u \frac{1}{m_u - 1} \sum_{i \ne j} \delta^2(x_{ui}, x_{uj})}
                {\sum_c \sum_k n_c n_k \delta^2(c, k)}

    over the items u with :math:`m_u \ge 2` ratings; :math:`n_c` counts the value c, n all
    ratings. The difference is :math:`c \ne k` (nominal), :math:`c - k` (interval),
    :math:`(c - k) / (c + k)` (ratio), or that of the midranks (ordinal: the ratings from c
    to k, of c and k themselves one half).

    The interval leaves out items, or whole groups, one at a time (jackknife, t quantiles),
    or draws them anew (percentile bootstrap). Each time the expected disagreement and, for
    the ordinal metric, the midranks are those of what is left or drawn.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate. Names, as strings, for the nominal metric.
    metric : {"interval", "nominal", "ordinal", "ratio"}, default "interval"
    groups : sequence, shape (n_items,), optional
        Which items belong together, such as the outputs for one document.
    interval : {"jackknife", "bootstrap"}, default "jackknife"
    confidence_level : float, default 0.95
    n_resamples : int, default 9999
    rng : Generator or int, optional
        For the bootstrap.

    Raises
    ------
    ValueError
        If there is one rater only, an option is unknown, lengths differ, or a rating is
        negative under the ratio metric.

    Notes
    -----
    The percentile interval, which is the usual one, is a little short: in simulations a
    nominal 95 % covered 93.2 and 94.1 % with 50 and 200 items, 90.4 and 93.2 % with 30 and
    100 groups; the jackknife covered 95.0, 94.7, 94.3 and 94.6 %.

    References
    ----------
    Krippendorff (2004), Content Analysis, 2nd ed., chapter 11; Hayes and Krippendorff
    (2007), Communication Methods and Measures 1:77-89, for a bootstrap (they resample
    disagreements; here it is items, which are what was sampled).

    Examples
    --------
    >>> result = krippendorff_alpha([[1, 1], [2, 2], [3, 4], [4, 4], [5, np.nan]])
    >>> round(result.estimate, 3), result.n, result.n_dropped
    (0.926, 4, 1)
    """
    check.choice(metric, "metric", METRICS)
    numbers = coded({"ratings": ratings})[0]["ratings"] if metric == "nominal" else ratings
    table = rating_table(numbers, groups=groups, for_names="metric 'nominal'")
    check.choice(interval, "interval", ("jackknife", "bootstrap"))
    confidence = check.probability(confidence_level, "confidence_level")
    if metric == "ratio" and (table < 0).any():
        raise ArgumentError("ratings", "must not be negative for metric 'ratio'", f"got {np.nanmin(table):g}")
    check.whole(n_resamples, "n_resamples", least=1)
    paired = np.isfinite(table).sum(axis=1) > 1
    used = table[paired]
    group = None if groups is None else recoded(check.codes(groups, "groups")[paired])
    sums, alpha_of = _alpha_sums(used, metric)
    units = sums if group is None else _sum_within(sums, group)
    estimate = float(alpha_of(np.asarray(sums.sum(axis=0)).reshape(1, -1))[0])
    drawn = n_resamples if interval == "bootstrap" else 0
    resampled = _resampled_alphas(units, alpha_of, drawn, np.random.default_rng(rng))
    spread = _alpha_percentiles(resampled) if drawn else _alpha_jackknife(units, alpha_of)
    return Alpha(
        estimate=estimate,
        interval=spread.interval(estimate, confidence),
        confidence_level=confidence,
        metric=metric,
        interval_method=f"{'item' if group is None else 'group'} {interval}",
        n=len(used),
        n_dropped=len(table) - len(used),
        n_ratings=int(np.isfinite(used).sum()),
        n_raters=table.shape[1],
        n_groups=0 if group is None else units.shape[0],
        n_resamples=drawn,
        n_undefined=int(np.isnan(resampled).sum()),
    )


def _alpha_sums(used: Floats, metric: str) -> tuple[sparse.csr_array, Totals]:
    """Sums of each item, shape (n, columns), and alpha as a function of totals of them, shape (B, columns)."""
    if metric == "interval":
        return _interval_metric(used)
    item, rater = np.nonzero(np.isfinite(used))
    values, code = np.unique(used[item, rater], return_inverse=True)
    counts = sparse.csr_array((np.ones(len(item)), (item, code)), shape=(len(used), len(values)))
    if metric == "ordinal":
        return _ordinal_metric(used, values, counts)
    distance = _distances(values, metric)
    observed = (counts @ distance * counts.toarray()).sum(axis=1) / (np.isfinite(used).sum(axis=1) - 1.0)

    def alpha_of(totals: Floats) -> Floats:
        of_value = totals[:, 1:]
        n = of_value.sum(axis=1)
        return _one_less(n, totals[:, 0], (matrix_product(of_value, distance) * of_value).sum(axis=1), n**2)

    return sparse.csr_array(sparse.hstack([sparse.csr_array(observed[:, None]), counts])), alpha_of


def _distances(values: Floats, metric: str) -> Floats:
    gap = np.abs(np.subtract.outer(values, values))
    if metric == "nominal":
        return (gap > 0).astype(float)
    both = np.add.outer(values, values)
    return np.asarray(np.divide(gap, both, out=np.zeros_like(gap), where=both > 0) ** 2)


def _interval_metric(used: Floats) -> tuple[sparse.csr_array, Totals]:
    """The interval metric, from sums and sums of squares alone."""
    rated = np.isfinite(used)
    m = rated.sum(axis=1).astype(float)
    # one of the values, not the mean: differences of whole numbers stay whole
    middle = np.sort(used[rated])[rated.sum() // 2] if rated.any() else 0.0
    shifted = np.where(rated, used - middle, 0.0)
    total, square = shifted.sum(axis=1), (shifted**2).sum(axis=1)
    own = np.where(rated, shifted - (total / np.maximum(m, 1))[:, None], 0.0)
    observed = 2 * m * (own**2).sum(axis=1) / (m - 1)

    def alpha_of(totals: Floats) -> Floats:
        d, n, s, q = totals.T
        return _one_less(n, d, 2 * (n * q - s**2), n * q)

    return sparse.csr_array(np.column_stack([observed, m, total, square])), alpha_of


def _ordinal_metric(used: Floats, values: Floats, counts: sparse.csr_array) -> tuple[sparse.csr_array, Totals]:
    """The ordinal metric: midranks change with the resample, so each pair of values keeps its own sum."""
    m, (first, second) = np.isfinite(used).sum(axis=1), np.triu_indices(used.shape[1], 1)
    a, b = np.minimum(used[:, first], used[:, second]), np.maximum(used[:, first], used[:, second])
    item, pair = np.nonzero(a < b)
    low, high = np.searchsorted(values, a[item, pair]), np.searchsorted(values, b[item, pair])
    kinds, kind = np.unique(low * len(values) + high, return_inverse=True)
    low, high = np.divmod(kinds, max(len(values), 1))
    together = sparse.csr_array((1 / (m[item] - 1), (item, kind)), shape=(len(used), len(kinds)))

    def alpha_of(totals: Floats) -> Floats:
        of_value, of_pair = totals[:, : len(values)], totals[:, len(values) :]
        n, rank = of_value.sum(axis=1), np.cumsum(of_value, axis=1) - of_value / 2
        observed = 2 * (of_pair * (rank[:, high] - rank[:, low]) ** 2).sum(axis=1)
        s, q = (of_value * rank).sum(axis=1), (of_value * rank**2).sum(axis=1)
        return _one_less(n, observed, 2 * (n * q - s**2), n * q)

    return sparse.csr_array(sparse.hstack([counts, together])), alpha_of


def _one_less(n: Floats, observed: Floats, expected: Floats, scale: Floats) -> Floats:
    """1 - (n - 1) observed / expected; NaN where nothing was expected, up to the rounding of `scale`."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 1e-12 * scale, 1 - (n - 1) * observed / expected, np.nan))


def _sum_within(sums: sparse.csr_array, unit: Codes) -> sparse.csr_array:
    shape = (int(unit.max(initial=-1)) + 1, len(unit))
    return sparse.csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=shape) @ sums


def _alpha_jackknife(units: sparse.csr_array, statistic: Totals) -> Spread:
    total = np.asarray(units.sum(axis=0)).reshape(1, -1)
    without = [statistic(total - units[cut].toarray()) for cut in cuts(*units.shape)]
    variance, k = jackknife_variance(np.concatenate([np.empty(0), *without]))
    return Spread("jackknife", float(np.sqrt(variance)), int(k) - 1, bounds=(-np.inf, 1.0))


def _resampled_alphas(units: sparse.csr_array, statistic: Totals, n_resamples: int, rng: np.random.Generator) -> Floats:
    k, columns = units.shape
    if k < 2:
        return np.full(n_resamples, np.nan)
    totals_of = sparse.csr_array(units.T)
    weights = (multiplicities(k, size, rng) for size in resamples_at_once(n_resamples, max(k, columns)))
    return np.concatenate([np.empty(0), *(statistic((totals_of @ w.T).T) for w in weights)])


def _alpha_percentiles(resampled: Floats) -> Spread:
    defined = resampled[np.isfinite(resampled)]
    varied = len(defined) and np.ptp(defined) >= 1e-12  # no spread among the units says nothing about others
    return Spread("bootstrap", float("nan"), resamples=defined if varied else np.empty(0))
