"""Coefficients of many samples at once: rows, columns, a pair replaced, scores exchanged, a unit left out.

Soft pairwise accuracy, which compares whole samples of systems, is at the end.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from calib.analysis.agreement import coefficients as kernels
from calib.analysis.agreement.coefficients import AGREED_WITHIN, CHUNK, PAIR_SUMS, PRODUCTS, Sums, cuts, from_pairs
from calib.core.check import Codes, Floats
from calib.core.numeric import matrix_product, ratio
from calib.core.progress import progress

_CACHE = 16_000  # numbers that stay near the processor


def row_correlation(x: Floats, y: Floats, coefficient: str, weights: Floats | None = None) -> Floats:
    """Coefficient of each row of x with the same row of y, shape (B, m), and under multiplicities of the same shape.

    NaN where a row is constant; x and y may be NaN only where the weight is 0.
    """
    if not x.shape[1]:
        return np.full(len(x), np.nan)
    if weights is None:
        weights = np.ones_like(x)
    else:  # what has no weight takes a value that is there
        heaviest = weights.argmax(axis=1)[:, None]
        x, y = (np.where(weights > 0, v, np.take_along_axis(v, heaviest, axis=1)) for v in (x, y))
    pieces = cuts(len(x), x.shape[1] ** 2, CHUNK // 2)
    if len(pieces) != 1:
        parts = (row_correlation(x[cut], y[cut], coefficient, weights[cut]) for cut in pieces)
        return np.concatenate([np.empty(0), *parts])
    if coefficient != "spearman" and coefficient not in PAIR_SUMS:
        return kernels.moment_statistic(x.T, y.T, weights.T, coefficient)
    sx, sy = (np.sign(v[:, :, None] - v[:, None, :]) for v in (x, y))
    if coefficient == "spearman":
        a, b = ((weights[:, None, :] * s).sum(axis=2).T / 2 for s in (sx, sy))
        return kernels.product_moment(a, b, weights.T)
    both = weights[:, :, None] * weights[:, None, :]
    sums = {name: np.einsum("bij,bij->b", both, PRODUCTS[name](sx, sy)) for name in PAIR_SUMS[coefficient]}
    distinct = np.min([1 + (np.diff(np.sort(v, axis=1), axis=1) > 0).sum(axis=1) for v in (x, y)], axis=0)
    return from_pairs(coefficient, sums, weights.sum(axis=1), distinct)


def replaced_correlation(x: Floats, y: Floats, place: Codes, new: tuple[Floats, Floats], coefficient: str) -> Floats:
    """The coefficient of (x, y) with one pair replaced at a time, shape (B,).

    `place` says which pair is replaced, `new` by which x and y, shape (B,) each; NaN: it is left out.
    """
    pieces = cuts(len(place), len(x))
    if len(pieces) != 1:
        parts = ((place[cut], (new[0][cut], new[1][cut])) for cut in pieces)
        return np.concatenate([np.empty(0), *(replaced_correlation(x, y, *part, coefficient) for part in parts)])
    row = np.arange(len(place))
    gone = ~np.isfinite(new[0])
    if gone.any() or coefficient in ("pearson", "kappa", "kendall_c", *AGREED_WITHIN):
        rows = [np.tile(v, (len(place), 1)) for v in (x, y)]
        for values, other in zip(rows, new, strict=True):
            values[row, place] = other
        return row_correlation(rows[0], rows[1], coefficient, np.isfinite(rows[0]).astype(float))
    signs, fresh = [], []
    for values, other in ((x, new[0]), (y, new[1])):
        signs.append(kernels.pair_signs(values, float))
        fresh.append(np.sign(other[:, None] - values))
        fresh[-1][row, place] = 0
    if coefficient == "spearman":
        moved = []
        for old, new_signs in zip(signs, fresh, strict=True):
            # centred midranks, shape (m, B), with one item moved: the others lose its old sign and get its new one
            ranks = (old.sum(axis=1) + old[place] - new_signs) / 2
            ranks[row, place] = new_signs.sum(axis=1) / 2
            moved.append(ranks.T)
        a, b = moved
        return kernels.product_moment(a, b, np.ones_like(a))
    sums = {}
    for name in PAIR_SUMS[coefficient]:
        before, after = (PRODUCTS[name](*s).sum(axis=1) for s in (signs, fresh))
        sums[name] = before.sum() - 2 * before[place] + 2 * after
    return from_pairs(coefficient, sums, float(len(x)), None)


def column_correlation(x: Floats, y: Floats, weights: Floats, coefficient: str) -> Floats:
    """Coefficient of each column of x with the same column of y, under each row of multiplicities of the rows.

    Shapes (m, g), NaN where there is no pair, and (B, m): one set of multiplicities for all columns. The coefficients
    have shape (B, g).
    """
    cost = len(x) * (len(x) if coefficient in PAIR_SUMS or coefficient == "spearman" else 1)
    pieces = cuts(x.shape[1], cost)
    if len(pieces) != 1:
        columns = (column_correlation(x[:, cut], y[:, cut], weights, coefficient) for cut in pieces)
        return np.hstack([np.empty((len(weights), 0)), *columns])
    parts = []
    if coefficient in PAIR_SUMS:  # products of pair weights, shape (B, pairs), with pair signs, shape (pairs, g)
        first, second = np.triu_indices(len(x), 1)
        dtype = kernels.exact_type(weights.sum(axis=1).max(initial=0) ** 2)
        sx, sy = (np.nan_to_num(np.sign(v[first] - v[second])).astype(dtype) for v in (x, y))
        pairs = {name: PRODUCTS[name](sx, sy) for name in PAIR_SUMS[coefficient]}
        # 64 rows or more at a time, so that products are products of matrices, and no more than the cache holds
        for cut in cuts(len(weights), len(first), max(_CACHE, 64 * len(first))):
            part = weights[cut].astype(dtype)
            both = part[:, first] * part[:, second]
            sums = {name: 2.0 * matrix_product(both, signs) for name, signs in pairs.items()}
            distinct = np.minimum(*(_column_distinct(v, part) for v in (x, y))) if coefficient == "kendall_c" else None
            n = matrix_product(part.astype(float), np.isfinite(x).astype(float))
            parts.append(from_pairs(coefficient, sums, n, distinct))
        return np.concatenate(parts)
    for cut in cuts(len(weights), x.size, CHUNK // 16):  # what stays in the cache of the processor
        # shapes (g, m, B): every column's deviations under every row of weights
        if coefficient == "spearman":
            dtype = kernels.exact_type(weights[cut].sum(axis=1).max(initial=0) ** 3)
            w = np.ascontiguousarray(weights[cut].T, dtype=dtype)
            parts.append(kernels.product_moment(_column_midranks(x, w), _column_midranks(y, w), w).T)
        else:
            w = weights[cut].T * np.isfinite(x).T[:, :, None]
            table_x, table_y = (np.nan_to_num(v).T[:, :, None] for v in (x, y))
            parts.append(kernels.moment_statistic(table_x, table_y, w, coefficient).T)
    return np.concatenate(parts)


def _column_midranks(values: Floats, w: Floats) -> Floats:
    """Half the sums of signs; 0 where there is no pair."""
    signs = np.nan_to_num(np.sign(values.T[:, :, None] - values.T[:, None, :])).astype(w.dtype)
    return np.asarray(matrix_product(signs.reshape(-1, len(w)), w)).reshape(*signs.shape[:2], -1) / 2


def _column_distinct(values: Floats, weights: Floats) -> Floats:
    """Distinct values with a weight in each column."""
    levels = (column[:, None] == np.unique(column[np.isfinite(column)]) for column in values.T)
    return np.stack([(matrix_product(weights, one.astype(weights.dtype)) > 0).sum(axis=1) for one in levels], axis=1)


def exchanged_pairs(x1: Floats, x2: Floats, y: Floats, masks: NDArray[np.bool_], coefficient: str) -> Floats:
    """A pair statistic of (x1, y) with the scores of x2 where a mask is true, masks (B, n) -> (B,).

    With z_i = 1 where item i takes its score from x2, a sum over pairs is a quadratic form in z, made of the four ways
    in which two items can take theirs: three times as fast as weights of twice the pairs.
    """
    n = len(y)
    dtype = kernels.exact_type(4.0 * n * n)
    z = masks.astype(dtype)
    sx, sy = kernels.pair_signs(np.append(x1, x2), dtype), np.tile(kernels.pair_signs(y, dtype), (2, 2))
    sums: Sums = {}
    for name in PAIR_SUMS[coefficient]:
        form = PRODUCTS[name](sx, sy)
        neither, one, both = form[:n, :n], form[n:, :n], form[n:, n:]
        linear = 2 * (one - neither).sum(axis=1)
        sums[name] = neither.sum() + np.einsum("bi,bi->b", z, matrix_product(z, neither - one - one.T + both) + linear)
    return from_pairs(coefficient, sums, float(n), None)


def leave_out(x: Floats, y: Floats, units: Codes, coefficient: str) -> Floats:
    """The coefficient over all items without each unit in turn, shape (k,); units are 0..k-1.

    Pair sums are additive over pairs: without the unit D they are the whole less twice the sums of its members' rows,
    plus the pairs inside D. Items one by one are the case where there are no pairs inside. For midranks one item less
    moves each rank by half a sign.
    """
    k = int(units.max()) + 1
    if coefficient in PAIR_SUMS:
        return _leave_out_pairs(x, y, units, k, coefficient)
    if coefficient == "pearson":
        return _without_values(x, y, units, k)
    if coefficient == "spearman" and k == len(x):
        return _without_each_rank(x, y)[np.argsort(units)]
    cells = kernels.cells_of(kernels.levels_of(x), kernels.levels_of(y))
    first = np.unique(cells, return_index=True)[1]
    if 2 * len(first) <= len(x):  # scores on few levels: equal pairs are one with a weight, less a unit's own
        x, y = x[first], y[first]
        own = sparse.csr_array((np.ones(len(cells)), (units, cells)), shape=(k, len(first)))
        kept = (own.sum(axis=0) - own[cut].toarray() for cut in cuts(k, len(first)))
    else:
        parts = progress(cuts(k, len(x)), "left out")
        kept = ((units != np.arange(cut.start, cut.stop)[:, None]).astype(float) for cut in parts)
    return np.concatenate([kernels.weighted_correlation(x, y, weights, coefficient) for weights in kept])


def _leave_out_pairs(x: Floats, y: Floats, units: Codes, k: int, coefficient: str) -> Floats:
    first, second = kernels.levels_of(x), kernels.levels_of(y)
    rows = kernels.pair_rows(first, second)
    inside = {name: np.zeros(k) for name in PRODUCTS}  # pair sums among the members of each unit alone
    for members in kernels.members_of(units) if k < len(x) else ():
        own_rows = kernels.pair_rows(*(kernels.levels_of(c[members].astype(float)) for c in (first, second)))
        for name, values in own_rows.items():
            inside[name][units[members[0]]] = values.sum()
    used = {name: rows[name] for name in PAIR_SUMS[coefficient]}
    sums = {name: row.sum() - 2.0 * np.bincount(units, row, k) + inside[name] for name, row in used.items()}
    n = len(x) - np.bincount(units, minlength=k).astype(float)
    distinct = np.full(k, np.inf)  # levels that remain without each unit: those not wholly inside it
    for codes in (first, second):
        low, high = np.full(codes.max() + 1, k), np.full(codes.max() + 1, -1)
        np.minimum.at(low, codes, units)
        np.maximum.at(high, codes, units)
        distinct = np.minimum(distinct, len(low) - np.bincount(low[low == high], minlength=k))
    return from_pairs(coefficient, sums, n, distinct)


def _without_each_rank(x: Floats, y: Floats) -> Floats:
    """Spearman without each item: a centred midrank is half the sum of its signs, and loses half of one."""
    first, second = kernels.levels_of(x), kernels.levels_of(y)
    rows = kernels.pair_rows(first, second)
    a, b = (kernels.midranks(v, np.ones((len(x), 1)))[:, 0] for v in (x, y))

    left = []
    for codes, u, v, other, signs in (
        (first, a, b, second, rows["balance"]),
        (first, a, a, first, rows["x"]),
        (second, b, b, second, rows["y"]),
    ):
        moved = _sum_of_signs(codes, v) + _sum_of_signs(other, u)
        left.append(matrix_product(u, v) - u * v - moved / 2 + signs / 4)
    cross, square_a, square_b = left
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
        out[unit] = kernels.sample_correlation(x[keep], y[keep], "pearson")
    return np.asarray(out)


# --- soft pairwise accuracy -------------------------------------------------------------------------------------------


def soft_accuracy(x: Floats, y: Floats, groups: Floats | None = None, systems: Floats | None = None) -> float:
    """Soft pairwise accuracy of mean scores by system and group, shape (systems, groups), NaN where there are none.

    `groups` and `systems` are multiplicities; NaN with fewer than two systems.
    """
    if groups is not None:
        columns = np.repeat(np.arange(x.shape[1]), groups.astype(int))
        x, y = x[:, columns], y[:, columns]
    apart = np.abs(_p_values(x) - _p_values(y))
    copies, (first, second) = np.ones(len(x)) if systems is None else systems, np.triu_indices(len(x), 1)
    n = copies.sum()
    return float(1 - ratio(matrix_product(1.0 * copies[first] * copies[second], apart), n * (n - 1) / 2))


def _p_values(values: Floats, *, without_groups: bool = False) -> Floats:
    """P-values of pairs of systems, by flips of signs of groups, (pairs,); or without each group, (groups, pairs)."""
    first, second = np.triu_indices(len(values), 1)
    apart = np.nan_to_num(values[first] - values[second])  # in each group; 0 where one of them has no score
    n_groups = values.shape[1]
    if n_groups <= 10:  # all signs
        signs = np.array(list(product((1.0, -1.0), repeat=n_groups)))
    else:  # always the same thousand, so that the statistic is one number
        signs = np.where(np.random.default_rng(0).integers(2, size=(1000, n_groups)), 1.0, -1.0)
    flipped, observed, size = matrix_product(signs, apart.T), apart.sum(axis=1), np.abs(apart).sum(axis=1)
    if not without_groups:
        return _share_above(flipped, observed, size)
    columns = zip(signs.T, apart.T, strict=True)
    return np.array([_share_above(flipped - np.outer(sign, d), observed - d, size - np.abs(d)) for sign, d in columns])


def _share_above(flipped: Floats, observed: Floats, size: Floats) -> Floats:
    """Share of the flipped sums above the observed one, equal ones by half; last digits do not count."""
    dust = 1e-9 * size
    return np.asarray((flipped > observed + dust).mean(axis=0) + (flipped >= observed - dust).mean(axis=0)) / 2


def soft_leave_out(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Soft pairwise accuracy without each system, each group, and each cell that has scores."""
    m = len(x)
    apart = np.abs(_p_values(x) - _p_values(y))
    less = np.abs(_p_values(x, without_groups=True) - _p_values(y, without_groups=True))  # (groups, pairs)
    member = np.array([[i in pair for pair in zip(*np.triu_indices(m, 1), strict=True)] for i in range(m)], dtype=float)
    by_system = 1 - ratio(matrix_product(1 - member, apart), (1 - member).sum(axis=1))
    by_cell = 1 - (apart.sum() + matrix_product(member, (less - apart).T)) / len(apart)
    return by_system, 1 - less.mean(axis=1), by_cell[np.isfinite(x)]
