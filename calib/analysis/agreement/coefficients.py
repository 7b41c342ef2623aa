"""Coefficients of many weighted copies of one sample: the kernels under jackknife, bootstrap and permutation.

A resample is a vector of multiplicities `w` (0 = left out); a duplicate is a tie with
itself. Two families cover every coefficient here. Pair statistics are sums over ordered
pairs, quadratic forms in w. Moment statistics are weighted sums of deviations, for ranks
of midranks, which are cumulative sums of w.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.analysis.agreement.pairs import (
    DIRECT,
    PAIR_SUMS,
    from_pairs,
    pair_rows,
    weight_by_level,
    weighted_pair_sums,
)
from calib.core.check import ArgumentError, Codes, Floats, choice
from calib.core.numeric import ratio

COEFFICIENTS = {
    "spearman": "Spearman rho",
    "pearson": "Pearson r",
    "kendall": "Kendall tau-b",
    "kendall_a": "Kendall tau-a",
    "kendall_c": "Kendall tau-c",
    "gamma": "Goodman-Kruskal gamma",
    "pairs": "pairwise accuracy",
    "kappa": "quadratic weighted kappa",
    "exact": "exact agreement",
    "adjacent": "agreement within 1",
    "spa": "soft pairwise accuracy",
}
PRODUCT_MOMENTS = ("spearman", "pearson", "kappa")
AGREED_WITHIN = {"exact": 1e-9, "adjacent": 1 + 1e-9}  # how far apart two scores may be, and a last digit
SHARES = ("pairs", *AGREED_WITHIN, "spa")  # from 0 to 1; nothing in them is "no correlation"
OF_ONE_SAMPLE = (*PRODUCT_MOMENTS, *PAIR_SUMS, *AGREED_WITHIN)  # the others compare whole samples of systems

CHUNK = 4_000_000  # numbers that a temporary array may hold


def named_coefficient(method: str, coefficient: str | None) -> str:
    """The coefficient under its own name or, where that is not given, under pandas' `method`.

    Examples
    --------
    >>> named_coefficient("spearman", "kendall"), named_coefficient("pearson", None)
    ('kendall', 'pearson')
    """
    if coefficient is None:
        return choice(method, "method", tuple(COEFFICIENTS))
    if method not in ("spearman", coefficient):
        raise ArgumentError(
            "method", f"must be that of {{0}} ({coefficient!r})", f"got {method!r}", mentions=("coefficient",)
        )
    return choice(coefficient, "coefficient", tuple(COEFFICIENTS))


class WithCoefficient:
    """A result that names its coefficient; `method` is the same under pandas' name."""

    __slots__ = ()
    coefficient: str

    @property
    def method(self) -> str:
        return self.coefficient


def cuts(n: int, width: int, most: int = CHUNK) -> list[slice]:
    """0..n in parts, so that so many rows of `width` numbers are no more than `most`."""
    step = max(1, most // max(width, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def weighted_correlation(x: Floats, y: Floats, weights: Floats, coefficient: str) -> Floats:
    """Coefficient of (x, y) under each row of multiplicities.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
    weights : ndarray, shape (B, n)
        Multiplicities, whole numbers.
    coefficient : str
        One of `OF_ONE_SAMPLE`.

    Returns
    -------
    ndarray, shape (B,)
        NaN where it is not defined, above all where x or y is constant under the weights.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])
    >>> weighted_correlation(x, y, np.array([[1.0, 1, 1, 1], [1, 1, 1, 0]]), "spearman")
    array([0.8, 0.5])
    """
    parts = [_weighted_statistic(x, y, weights[cut], coefficient) for cut in cuts(len(weights), len(x))]
    return np.concatenate(parts) if parts else np.empty(0)


def sample_correlation(x: Floats, y: Floats, coefficient: str) -> float:
    """The coefficient of one sample; NaN where it is not defined."""
    if not len(x):
        return float("nan")
    if coefficient not in PAIR_SUMS:
        return float(_weighted_statistic(x, y, np.ones((1, len(x))), coefficient)[0])
    first, second = levels_of(x), levels_of(y)
    sums = {name: np.array(rows.sum()) for name, rows in pair_rows(first, second).items()}
    distinct = min(int(codes.max()) + 1 for codes in (first, second))
    return float(from_pairs(coefficient, sums, float(len(x)), distinct))


def _weighted_statistic(x: Floats, y: Floats, weights: Floats, coefficient: str) -> Floats:
    w = np.ascontiguousarray(weights.T)  # one column per resample: items are picked as whole rows
    if coefficient == "spearman":
        return product_moment(midranks(x, w), midranks(y, w), w)
    if coefficient not in PAIR_SUMS:
        return moment_statistic(x[:, None], y[:, None], w, coefficient)
    first, second = levels_of(x), levels_of(y)
    sums = weighted_pair_sums(first, second, w, PAIR_SUMS[coefficient])
    distinct = np.minimum(*((weight_by_level(w, c) > 0).sum(axis=0) for c in (first, second)))
    return from_pairs(coefficient, sums, w.sum(axis=0), distinct)


def levels_of(values: Floats) -> Codes:
    """The place of each value among the distinct ones in ascending order; few whole numbers need no sorting.

    Examples
    --------
    >>> levels_of(np.array([0.5, 2.0, 0.5])), levels_of(np.array([3.0, 5.0, 3.0]))
    (array([0, 1, 0]), array([0, 1, 0]))
    """
    if len(values) > DIRECT and np.ptp(values) < DIRECT:
        whole = values.astype(np.intp)
        if (whole == values).all():
            whole -= whole.min()
            return np.asarray((np.cumsum(np.bincount(whole) > 0) - 1)[whole], dtype=np.intp)
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def moment_statistic(x: Floats, y: Floats, w: Floats, coefficient: str) -> Floats:
    """Pearson, kappa and the shares, along the axis before the last, of values and weights that broadcast."""
    n = w.sum(axis=-2)
    if coefficient in AGREED_WITHIN:
        return ratio((w * (np.abs(x - y) <= AGREED_WITHIN[coefficient])).sum(axis=-2), n)
    shift = ratio((w * (x - y)).sum(axis=-2), n) if coefficient == "kappa" else None
    return product_moment(_deviations(x, w), _deviations(y, w), w, shift=shift)


def product_moment(a: Floats, b: Floats, w: Any, *, shift: Any = None) -> Floats:
    """Correlation along the axis before the last, from deviations that are exactly 0 where the sample is constant.

    With `shift`, the weighted mean of x - y: quadratic weighted kappa, one less the mean
    squared difference over what it would be were x and y independent.
    """
    weighted = w * a
    cross, square_a = ((weighted * u).sum(axis=-2, dtype=float) for u in (b, a))
    square_b = (w * b * b).sum(axis=-2, dtype=float)
    if shift is not None:
        return ratio(2 * cross, square_a + square_b + w.sum(axis=-2) * shift**2)
    r = ratio(cross, np.sqrt(square_a * square_b))
    return np.asarray(np.clip(r, -1, 1))  # a last digit above 1 has no Fisher z


def midranks(values: Floats, w: Floats) -> Floats:
    """Centred midranks of every item under each column of weights, shape (n, B)."""
    codes = levels_of(values)
    share = weight_by_level(w, codes)
    upper = share.cumsum(axis=0)
    return np.asarray((upper - share / 2 - upper[-1] / 2)[codes])


def _deviations(values: Floats, w: Floats) -> Floats:
    """0 where the weighted values do not differ: rounding dust of a constant must not pass for variance."""
    values = values - values.mean(axis=-2, keepdims=True)  # keeps that of a large common offset out of the sums
    with np.errstate(invalid="ignore"):
        centred = values - (values * w).sum(axis=-2, keepdims=True) / w.sum(axis=-2, keepdims=True)
    low = np.where(w > 0, values, np.inf).min(axis=-2, keepdims=True)
    high = np.where(w > 0, values, -np.inf).max(axis=-2, keepdims=True)
    return np.where(low < high, centred, 0.0)


def settled(means: Floats, scale: float | None = None) -> Floats:
    """Means without the rounding dust of their last digits: equal means that were summed in another order tie.

    `scale` is that of the numbers that were averaged. Default: the largest of the means.

    Examples
    --------
    >>> a, b = (0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3
    >>> bool(a == b), bool(np.diff(settled(np.array([a, b, 0.5])))[0] == 0)
    (False, True)
    """
    flat = means.ravel()
    dust = 1e-13 * (np.nanmax(np.abs(flat), initial=0.0) if scale is None else scale)
    order = np.argsort(flat)
    ranked = flat[order]
    new = np.append(True, ~(np.diff(ranked) <= dust))[: len(flat)]
    out = np.empty_like(flat)
    out[order] = ranked[np.maximum.accumulate(np.where(new, np.arange(len(flat)), 0))]
    return np.asarray(out.reshape(means.shape))
