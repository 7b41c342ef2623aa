"""Intraclass correlations: how much of the variance of ratings is the items'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.analysis.agreement.alpha import RatersResult
from calib.analysis.agreement.scales import rating_table
from calib.analysis.agreement.spread import NO_INTERVAL
from calib.core import check
from calib.core.check import Floats
from calib.core.numeric import row_means
from calib.core.result import Interval, bracket, short


@dataclass(frozen=True, slots=True, kw_only=True)
class ICC(RatersResult):
    """Intraclass correlations of several raters.

    Attributes
    ----------
    estimates : dict of str to float
        By name: "ICC(1)", "ICC(1,k)", "ICC(C,1)", "ICC(C,k)", "ICC(A,1)", "ICC(A,k)"; k is `n_raters`,
        and `per_item` in ICC(1,k).
    intervals : dict of str to Interval
    n, n_dropped : int
        Items that every rater rated, items with a rating missing.
    n_one_way, per_item : int, float
        Of ICC(1) and ICC(1,k), for which it does not matter who rated: items with two ratings or
        more, and how many these have (harmonic mean).
    """

    estimates: dict[str, float]
    intervals: dict[str, Interval]
    n_one_way: int
    per_item: float

    def _rows(self) -> list[dict[str, Any]]:
        rows = [self._quantity_row(name, rho, self.intervals[name], "F") for name, rho in self.estimates.items()]
        one_way = {"n": self.n_one_way, "n_dropped": self.n + self.n_dropped - self.n_one_way}
        return [row | (one_way if row["quantity"].startswith("ICC(1") else {}) for row in rows]

    def _terms(self) -> dict[str, Any]:
        return {"icc": True, **self._counted("F")}

    @property
    def of_the_mean(self) -> str:
        """The reliability of the mean of an item's ratings, in words: ICC(C,k), or ICC(1,k) where raters differ."""
        name = "ICC(1,k)" if self._raters_differ else "ICC(C,k)"
        return f"{name} {short(self.estimates[name])}"

    @property
    def _raters_differ(self) -> bool:
        return bool(np.isnan(self.estimates["ICC(C,1)"]) and np.isfinite(self.estimates["ICC(1)"]))

    def __str__(self) -> str:
        if self._raters_differ:
            kinds = [("ICC(1)", "ICC(1)"), ("ICC(1,k)", f"ICC(1,{short(self.per_item)})")]
            each = [f"{name} = {short(self.estimates[key])}, {self._bracket(key)}" for key, name in kinds]
            return f"{'; '.join(each)} (n = {self.n_one_way} items, whoever rated them)"
        one, mean = self.estimates["ICC(C,1)"], self.estimates["ICC(C,k)"]
        return (
            f"ICC(C,1) = {short(one)}, {self._bracket('ICC(C,1)')}; "
            f"ICC(C,{self.n_raters}) = {short(mean)} (n = {self.n} items that all {self.n_raters} raters rated)"
        )

    def _bracket(self, name: str) -> str:
        return bracket(self.intervals[name], self.confidence_level)


def icc(ratings: ArrayLike, *, confidence_level: float = 0.95) -> ICC:
    r"""Intraclass correlations: the share of variance that is the items', not the raters' or noise.

    With the mean squares of items R, raters C, error E and within items W, and k raters,

    .. math:: ICC(1) = \frac{R - W}{R + (k-1) W}, \quad
              ICC(C,1) = \frac{R - E}{R + (k-1) E}, \quad
              ICC(A,1) = \frac{R - E}{R + (k-1) E + \frac{k}{n}(C - E)}.

    C is consistency (a rater may be strict throughout), A absolute agreement. The forms
    with k are the reliability of the mean of k raters, :math:`k\rho / (1 + (k-1)\rho)`.

    ICC(1) and ICC(1,k) are those of raters who differ from item to item: only how many ratings an item
    has counts, not whose. They take all items with two ratings or more; where the number differs, R is
    that of the unweighted item means and k their harmonic mean number.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        NaN where a rater did not rate. C and A leave items with a NaN out, and count them. Raters who
        differ from item to item may have a column each, or an item's ratings stand in any order.
    confidence_level : float, default 0.95

    Returns
    -------
    ICC
        NaN with fewer than two complete items, or where no rating differs.

    Notes
    -----
    The F intervals take items as independent and effects as normal. Where items share a
    document they are too short: there `krippendorff_alpha` with `groups`, which for
    many items is close to ICC(1) with the interval metric, gives the honest width.

    References
    ----------
    McGraw and Wong (1996), Psychological Methods 1:30-46, tables 4 and 7, with the
    correction on page 390; Shrout and Fleiss (1979), Psychological Bulletin 86:420-428. Thomas and
    Hultquist (1978), Annals of Statistics 6:582-587, for unequal numbers of ratings.

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
    rho_1, limits_1, per_item, n_one_way = _one_way(table, confidence)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho_c = _divided(r - e, r + (k - 1) * e)
        rho_a = _divided(r - e, r + (k - 1) * e + k * (c - e) / max(n, 1))
        limits_c = _f_limits(r, e, n - 1, (n - 1) * (k - 1), k, confidence)
        limits_a = _absolute_limits(r, c, e, rho_a, n, k, confidence)
    estimates: dict[str, float] = {}
    intervals: dict[str, Interval] = {}
    kinds = {"1": (rho_1, limits_1, per_item), "C,1": (rho_c, limits_c, k), "A,1": (rho_a, limits_a, k)}
    for kind, (rho, limits, raters) in kinds.items():
        mean = f"ICC({kind[0]},k)"
        estimates |= {f"ICC({kind})": rho, mean: _stepped_up(rho, raters)}
        intervals |= {f"ICC({kind})": limits, mean: Interval(*(_stepped_up(end, raters) for end in limits))}
    return ICC(
        estimates=estimates,
        intervals=intervals,
        confidence_level=confidence,
        n=n,
        n_dropped=len(table) - n,
        n_raters=k,
        per_item=per_item,
        n_one_way=n_one_way,
    )


def _one_way(table: Floats, confidence: float) -> tuple[float, Interval, float, int]:
    """ICC(1), its interval, ratings per item and number of the items with two ratings or more."""
    m = np.isfinite(table).sum(axis=1)
    table, m = table[m > 1], m[m > 1]
    n = len(table)
    if n < 2:
        return float("nan"), NO_INTERVAL, float("nan"), n
    table = table - np.nanmean(table)
    means, per_item, df = row_means(table), n / float(np.sum(1 / m)), int(m.sum()) - n
    inside = float(np.nansum((table - means[:, None]) ** 2))
    within = inside / df if inside > 1e-12 * np.nansum(table**2) else 0.0
    items = per_item * float(np.var(means, ddof=1))
    rho = _divided(items - within, items + (per_item - 1) * within)
    return rho, _f_limits(items, within, n - 1, df, per_item, confidence), per_item, n


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
        squares = np.array([items, raters, error, within]) / [n - 1, k - 1, (n - 1) * (k - 1), n * (k - 1)]
    r, c, e, w = squares.tolist()
    return r, c, e, w


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


def _absolute_limits(r: float, c: float, e: float, rho: float, n: int, k: int, confidence: float) -> Interval:
    if not (e > 0 and n > 1 and rho < 1):
        return NO_INTERVAL
    a = k * rho / (n * (1 - rho))
    b = 1 + a * (n - 1)
    df = (a * c + b * e) ** 2 / ((a * c) ** 2 / (k - 1) + (b * e) ** 2 / ((n - 1) * (k - 1)))
    tail, rest = (1 + confidence) / 2, k * c + (k * n - k - n) * e
    low, high = stats.f.ppf(tail, n - 1, df), stats.f.ppf(tail, df, n - 1)
    return Interval(float(n * (r - low * e) / (low * rest + n * r)), float(n * (high * r - e) / (rest + n * high * r)))
