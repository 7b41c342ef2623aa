"""Small numerics that every topic uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.core.check import Codes, Floats


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


def recoded(codes: Codes) -> Codes:
    """Codes without gaps."""
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)


def adjusted(p_values: ArrayLike, correction: str) -> Floats:
    """P-values for many tests; NaN stays NaN and is not counted.

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03], "holm"), adjusted([0.01, 0.04, 0.03], "bh")
    (array([0.03, 0.06, 0.06]), array([0.03, 0.04, 0.04]))
    """
    p = np.asarray(p_values, dtype=float)
    out, known = np.full(len(p), np.nan), np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    m = len(order)
    if correction == "holm":
        out[order] = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    elif correction == "bh":
        out[order] = np.minimum.accumulate((p[order] * m / np.arange(1, m + 1))[::-1])[::-1]
    else:
        out[order] = p[order]
    return np.asarray(np.minimum(out, 1.0))
