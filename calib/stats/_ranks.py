"""Correlations of many weighted copies of one sample: the kernel under jackknife and bootstrap.

A resample is a vector of multiplicities `w` (0 = left out). With S the matrix of
signs of all pairs, centred midranks are half S w, and Kendall's sums are quadratic
forms in w: both are matrix products over all resamples at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calib.stats._check import Floats

Signs = NDArray[np.float32]  # sums of signs are whole numbers, exact in float32 up to 2**24


def weighted_correlation(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    """Coefficient of (x, y) under each row of multiplicities.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
    weights : ndarray, shape (B, n)
        Multiplicities.
    method : {"pearson", "spearman", "kendall", "kendall_c"}

    Returns
    -------
    ndarray, shape (B,)
        NaN where x or y is constant under the weights.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])
    >>> weighted_correlation(x, y, np.array([[1.0, 1, 1, 1], [1, 1, 1, 0]]), "spearman")
    array([0.8, 0.5])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if method in ("pearson", "spearman"):
            rank = method == "spearman"
            return _product_moment(_centred(x, weights, rank), _centred(y, weights, rank), weights)
        return _kendall(x, y, weights, method)


def row_correlation(x: Floats, y: Floats, method: str) -> Floats:
    """Coefficient of each row of x with the same row of y.

    Parameters
    ----------
    x, y : ndarray, shape (B, m)
        Without NaN.
    method : {"pearson", "spearman", "kendall", "kendall_c"}

    Returns
    -------
    ndarray, shape (B,)
        NaN where a row is constant.

    Examples
    --------
    >>> row_correlation(np.array([[1.0, 2, 3], [1, 1, 1]]), np.array([[1.0, 3, 2], [1, 2, 3]]), "kendall")
    array([0.33333333,        nan])
    """
    step = max(1, 2_000_000 // x.shape[1] ** 2)  # rows at a time, so that the pairs of all of them fit
    parts = [_rows_at_once(x[i : i + step], y[i : i + step], method) for i in range(0, len(x), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _rows_at_once(x: Floats, y: Floats, method: str) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        if method == "pearson":
            a, b = (np.where(np.ptp(v, axis=1) > 0, (v.T - v.mean(axis=1)), 0.0).T for v in (x, y))
            return _product_moment(a, b, np.ones_like(x))
        sx, sy = (np.sign(v[:, :, None] - v[:, None, :]) for v in (x, y))
        if method == "spearman":
            return _product_moment(sx.sum(axis=2) / 2, sy.sum(axis=2) / 2, np.ones_like(x))
        balance, untied_x, untied_y = (s.sum(axis=(1, 2)) for s in (sx * sy, np.abs(sx), np.abs(sy)))
        if method == "kendall":
            return np.asarray(balance / np.sqrt(untied_x * untied_y))
        levels = np.min([1 + (np.diff(np.sort(v, axis=1), axis=1) > 0).sum(axis=1) for v in (x, y)], axis=0)
        return np.where(levels > 1, balance / (x.shape[1] ** 2 * (levels - 1) / levels), np.nan)


def settled(means: Floats) -> Floats:
    """Means without the rounding dust of their last digits: equal means that were summed in another order tie.

    Examples
    --------
    >>> a, b = (0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3
    >>> bool(a == b), bool(np.diff(settled(np.array([a, b, 0.5])))[0] == 0)
    (False, True)
    """
    step = 1e-13 * np.nanmax(np.abs(means), initial=0.0)
    return np.asarray(np.round(means / step) * step) if step > 0 else means


def _signs(values: Floats) -> Signs:
    return np.sign(np.subtract.outer(values, values)).astype(np.float32)


def _centred(values: Floats, weights: Floats, rank: bool) -> Floats:
    if rank:
        return (weights.astype(np.float32) @ _signs(values).T).astype(float) / 2
    used = weights > 0
    values = values - values.mean()  # keeps the rounding error of a large common offset out of the sums
    centred = values - (weights @ values / weights.sum(axis=1))[:, None]
    # a constant leaves rounding dust, which must not pass for variance
    low, high = (end(np.where(used, values, blank), axis=1) for end, blank in ((np.min, np.inf), (np.max, -np.inf)))
    return np.where((low < high)[:, None], centred, 0.0)


def _product_moment(a: Floats, b: Floats, weights: Floats) -> Floats:
    cross, square_a, square_b = ((weights * u).sum(axis=1) for u in (a * b, a * a, b * b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((square_a > 0) & (square_b > 0), cross / np.sqrt(square_a * square_b), np.nan)


def _kendall(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    w = weights.astype(np.float32)
    sx, sy = _signs(x), _signs(y)
    balance = _quadratic(w, sx * sy)
    untied_x, untied_y = _quadratic(w, np.abs(sx)), _quadratic(w, np.abs(sy))
    if method == "kendall":
        return np.where(untied_x * untied_y > 0, balance / np.sqrt(untied_x * untied_y), np.nan)
    levels = np.minimum(_distinct(x, weights), _distinct(y, weights))
    return np.where(levels > 1, balance / (weights.sum(axis=1) ** 2 * (levels - 1) / levels), np.nan)


def _quadratic(w: Signs, pairs: Signs) -> Floats:
    return np.asarray(np.einsum("bi,bi->b", w, w @ pairs, dtype=float))


def _distinct(values: Floats, weights: Floats) -> Floats:
    present = weights @ (values[:, None] == np.unique(values)) > 0
    return np.asarray(present.sum(axis=1), dtype=float)
