"""A coefficient over all items without each unit in turn: what a jackknife is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.analysis.agreement.coefficients import (
    PAIR_SUMS,
    PRODUCTS,
    Sums,
    cuts,
    from_pairs,
    levels_of,
    midranks,
    pair_rows,
    sample_correlation,
    weighted_correlation,
)
from calib.core.check import Codes, Floats
from calib.core.numeric import matrix_product, ratio


def leave_out(x: Floats, y: Floats, units: Codes, coefficient: str) -> Floats:
    """The coefficient over all items without each unit in turn, shape (k,); units are 0..k-1.

    Pair sums are additive over pairs: without the unit D they are the whole less twice the
    sums of its members' rows, plus the pairs inside D. Items one by one are the case where
    there are no pairs inside. For midranks one item less moves each rank by half a sign.

    Examples
    --------
    >>> leave_out(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]), np.array([0, 0, 1, 2]), "spearman")
    array([1. , 1. , 0.5])
    """
    k = int(units.max()) + 1
    if coefficient in PAIR_SUMS:
        return _leave_out_pairs(x, y, units, k, coefficient)
    if coefficient == "pearson":
        return _without_values(x, y, units, k)
    if k == len(x) and coefficient == "spearman":
        return _without_each_rank(x, y)[np.argsort(units)]
    rows = [np.arange(cut.start, cut.stop)[:, None] for cut in cuts(k, len(x))]
    return np.concatenate([weighted_correlation(x, y, (units != row).astype(float), coefficient) for row in rows])


def _leave_out_pairs(x: Floats, y: Floats, units: Codes, k: int, coefficient: str) -> Floats:
    first, second = levels_of(x), levels_of(y)
    rows = pair_rows(first, second)
    inside = _sums_inside(first, second, units, k)
    sums = {
        name: rows[name].sum() - 2.0 * np.bincount(units, rows[name], k) + inside[name]
        for name in PAIR_SUMS[coefficient]
    }
    n = len(x) - np.bincount(units, minlength=k).astype(float)
    distinct = np.minimum(*(_levels_left(c, units, k) for c in (first, second)))
    return from_pairs(coefficient, sums, n, distinct)


def _levels_left(codes: Codes, units: Codes, k: int) -> Floats:
    """Levels that remain without each unit: those not wholly inside it."""
    low, high = np.full(codes.max() + 1, k), np.full(codes.max() + 1, -1)
    np.minimum.at(low, codes, units)
    np.maximum.at(high, codes, units)
    return len(low) - np.bincount(low[low == high], minlength=k).astype(float)


def _sums_inside(first: Codes, second: Codes, units: Codes, k: int) -> Sums:
    """Pair sums among the members of each unit alone."""
    out = {name: np.zeros(k) for name in PRODUCTS}
    if k == len(first):
        return out
    order = np.argsort(units, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(units[order])) + 1):
        rows = pair_rows(levels_of(first[members].astype(float)), levels_of(second[members].astype(float)))
        for name, values in rows.items():
            out[name][units[members[0]]] = values.sum()
    return out


def _without_each_rank(x: Floats, y: Floats) -> Floats:
    """Spearman without each item: a centred midrank is half the sum of its signs, and loses half of one."""
    first, second = levels_of(x), levels_of(y)
    rows = pair_rows(first, second)
    a, b = (midranks(v, np.ones((len(x), 1)))[:, 0] for v in (x, y))

    def left(codes: Codes, u: Floats, v: Floats, other: Codes, signs: Any) -> Floats:
        moved = _sum_of_signs(codes, v) + _sum_of_signs(other, u)
        return np.asarray(matrix_product(u, v) - u * v - moved / 2 + signs / 4)

    cross = left(first, a, b, second, rows["balance"])
    square_a, square_b = left(first, a, a, first, rows["x"]), left(second, b, b, second, rows["y"])
    return ratio(cross, np.sqrt(square_a * square_b))


def _sum_of_signs(codes: Codes, values: Floats) -> Floats:
    """Sum over i of sign(i - k) values_i, for each k."""
    upper = np.cumsum(np.bincount(codes, values))
    lower = np.concatenate([[0.0], upper[:-1]])
    return np.asarray((upper[-1] - upper - lower)[codes])


def _without_values(x: Floats, y: Floats, units: Codes, k: int) -> Floats:
    """Pearson without each unit, by subtraction; where the unit held nearly all variance it is left out in fact."""
    a, b = x - x.mean(), y - y.mean()
    n = len(x) - np.bincount(units, minlength=k)
    gone_a, gone_b = (np.bincount(units, u, k) for u in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        cross, square_a, square_b = (
            matrix_product(u, v) - np.bincount(units, u * v, k) - p * q / n
            for u, v, p, q in ((a, b, gone_a, gone_b), (a, a, gone_a, gone_a), (b, b, gone_b, gone_b))
        )
    out = np.clip(ratio(cross, np.sqrt(np.maximum(square_a, 0) * np.maximum(square_b, 0))), -1, 1)
    whole_a, whole_b = (1e-4 * matrix_product(v, v) for v in (a, b))
    for unit in np.flatnonzero(~((square_a > whole_a) & (square_b > whole_b))):
        keep = units != unit
        out[unit] = sample_correlation(x[keep], y[keep], "pearson")
    return np.asarray(out)
