"""Numerical helpers of all topics: ratios, jackknife, products, Wilson's interval, adjusted p-values, unit sums."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels

# multiplications that OpenBLAS leaves to one thread: of two matrices, and of a matrix and a vector (at most 9,216)
_BLOCK, _LINE = 1 << 18, 1 << 13


def ratio(top: Any, bottom: Any) -> Floats:
    """A quotient that is NaN where its denominator is not above 0."""
    top, bottom = np.broadcast_arrays(np.asarray(top, dtype=float), np.asarray(bottom, dtype=float))
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def row_means(table: Floats) -> Floats:
    """Means over the last axis of what is there; NaN where nothing is."""
    return ratio(np.nansum(table, axis=-1), np.isfinite(table).sum(axis=-1))


def jackknife_variance(without: Floats, copies: Floats | None = None) -> tuple[Floats, Floats]:
    """Of the estimates without one unit each, shape (k, ...): their variance, and how many units they stand for.

    A unit without which there is no estimate is passed over; `copies`, shape (k,), is how
    many units each estimate stands for.

    Examples
    --------
    >>> variance, n = jackknife_variance(np.array([2.5, 2.0, 1.5, np.nan]))
    >>> round(float(variance), 4), int(n)
    (0.3333, 3)
    """
    there = np.isfinite(without)
    weight, values = there * (1.0 if copies is None else copies), np.where(there, without, 0.0)
    n = weight.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.square(values - (weight * values).sum(axis=0) / n)
        return np.where(n > 1, (n - 1) / n * (weight * squares).sum(axis=0), np.nan), n


def matrix_product(a: Any, b: Any) -> Any:
    """``a @ b`` in pieces that BLAS works out with one thread; of two vectors, without it.

    OpenBLAS wakes its threads for products of a quarter of a million numbers, of vectors for ten thousand.
    There they bring little, and beside other work they wait for each other: 50 times the CPU time.

    Examples
    --------
    >>> u = np.arange(3.0)
    >>> float(matrix_product(u, u)), matrix_product(np.ones((2, 3)), u)
    (5.0, array([3., 3.]))
    """
    if a.ndim == b.ndim == 1:
        return np.einsum("i,i->", a, b)
    if a.ndim == 1:
        return matrix_product(a[None], b)[0]
    if b.ndim == 1:
        return matrix_product(a, b[:, None])[:, 0]
    (m, k), n = a.shape, b.shape[1]
    most = _LINE if 1 in (m, n) else _BLOCK
    if m * k * n <= most:
        with np.errstate(all="ignore"):  # BLAS leaves flags behind that mean nothing
            return a @ b
    deep = max(256, most // (m * n))
    if k > deep:
        return sum(matrix_product(a[:, i : i + deep], b[i : i + deep]) for i in range(0, k, deep))
    width = min(n, _LINE // k)  # so that the last piece, which may be a line, is small too
    high = max(1, most // (k * width))
    out = np.empty((m, n), np.result_type(a, b))
    with np.errstate(all="ignore"):
        for i, j in product(range(0, m, high), range(0, n, width)):
            np.matmul(a[i : i + high], b[:, j : j + width], out=out[i : i + high, j : j + width])
    return out


def recoded(codes: Codes) -> Codes:
    """Codes without gaps."""
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)


def wilson(k: ArrayLike, n: ArrayLike, quantile: ArrayLike) -> tuple[Any, Any]:
    """Wilson's interval of a share: all rates within this many standard errors, taken at that rate, of k / n.

    All of [0, 1] at n = 0; neither n nor k need be whole (Wilson 1927; Brown, Cai and DasGupta 2001).

    Examples
    --------
    >>> [round(float(end), 4) for end in wilson(27, 30, 1.959964)]
    [0.7438, 0.9654]
    """
    hits, size = np.asarray(k, float), np.asarray(n, float)
    square = np.minimum(np.asarray(quantile, float) ** 2, 1e100)  # of an infinite quantile all of [0, 1]
    centre = (hits + square / 2) / (size + square)
    half = np.sqrt(square * (hits * (size - hits) / np.maximum(size, 1e-300) + square / 4)) / (size + square)
    # rounding must not leave [0, 1], nor the observed rate
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return np.where(hits > 0, low, 0.0), np.where(hits < size, high, 1.0)


def adjusted_p_values(p_values: ArrayLike, correction: str) -> Floats:
    """P-values adjusted by Holm ("holm"), Benjamini-Hochberg ("bh") or Benjamini-Yekutieli ("by"); else as they are.

    NaN stays NaN and counts for no test.

    Examples
    --------
    >>> adjusted_p_values([0.01, 0.04, 0.03], "holm"), adjusted_p_values([0.01, 0.04, 0.03], "bh")
    (array([0.03, 0.06, 0.06]), array([0.03, 0.04, 0.04]))
    """
    p = np.asarray(p_values, dtype=float)
    out, finite = np.full(len(p), np.nan), np.flatnonzero(np.isfinite(p))
    order = finite[np.argsort(p[finite], kind="stable")]
    m = len(order)
    if correction == "holm":
        out[order] = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    elif correction in ("bh", "by"):  # Yekutieli's holds however the tests depend on each other
        harmonic = (1 / np.arange(1, m + 1)).sum() if correction == "by" else 1.0
        out[order] = np.minimum.accumulate((p[order] * harmonic * m / np.arange(1, m + 1))[::-1])[::-1]
    else:
        out[order] = p[order]
    return np.asarray(np.minimum(out, 1.0))


def units_of(groups: Labels | None, used: NDArray[np.bool_]) -> Codes:
    """The unit of each item in use, as 0..k-1: its group, or the item itself where there are no groups."""
    if groups is None:
        return np.arange(used.sum(), dtype=np.intp)
    if len(groups) != len(used):
        raise ArgumentError("groups", f"must have one label per item ({len(used)})", f"got {len(groups)}")
    return recoded(check.codes(groups, "groups")[used])


def unit_sums(rows: NDArray[Any], unit: Codes) -> Floats:
    """Sums over the rows of each unit."""
    sums = np.zeros((int(unit.max()) + 1, *rows.shape[1:]))
    np.add.at(sums, unit, rows)
    return sums
