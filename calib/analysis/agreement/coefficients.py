"""Coefficients of many weighted copies of one sample: the kernels under jackknife, bootstrap and permutation.

A resample is a vector of multiplicities `w` (0 = left out); a duplicate is a tie with
itself. Two families cover every coefficient here. Pair statistics are sums over ordered
pairs, quadratic forms in w. Moment statistics are weighted sums of deviations, for ranks
of midranks, which are cumulative sums of w.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from calib.core.check import Codes, Floats
from calib.core.numeric import matrix_product, ratio

# the sums over pairs that each pair statistic is made of: concordant less discordant pairs ("balance"),
# pairs not tied in x, in y, in either
PAIR_SUMS = {
    "kendall": ("balance", "x", "y"),
    "kendall_a": ("balance", "x", "y"),
    "kendall_c": ("balance",),
    "gamma": ("balance", "both"),
    "pairs": ("balance", "x", "y", "both"),
}
SHARES = {"exact": 1e-9, "adjacent": 1 + 1e-9}  # how far apart two scores may be, and a last digit
METHODS = ("spearman", "pearson", "kappa", *PAIR_SUMS, *SHARES)

CHUNK = 4_000_000  # numbers that a temporary array may hold
_CACHE = 16_000  # numbers that stay near the processor
_DIRECT = 128  # up to this many items all pairs are taken one by one
Sums = dict[str, Floats]


def weighted_correlation(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    """Coefficient of (x, y) under each row of multiplicities.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
    weights : ndarray, shape (B, n)
        Multiplicities, whole numbers.
    method : str
        One of `METHODS`.

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
    parts = [_weighted(x, y, part, method) for part in _chunks(weights, len(x))]
    return np.concatenate(parts) if parts else np.empty(0)


def coefficient(x: Floats, y: Floats, method: str) -> float:
    """The coefficient of one sample; NaN where it is not defined."""
    if not len(x):
        return float("nan")
    if method not in PAIR_SUMS:
        return float(_weighted(x, y, np.ones((1, len(x))), method)[0])
    first, second = levels_of(x), levels_of(y)
    sums = {name: np.array(rows.sum()) for name, rows in pair_rows(first, second).items()}
    distinct = min(int(codes.max()) + 1 for codes in (first, second))
    return float(from_pairs(method, sums, float(len(x)), distinct))


def _weighted(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    w = np.ascontiguousarray(weights.T)  # one column per resample: items are picked as whole rows
    n = w.sum(axis=0)
    if method in SHARES:
        hit = (np.abs(x - y) <= SHARES[method]).astype(float)
        return ratio(matrix_product(hit, w), n)
    if method not in PAIR_SUMS:
        deviations = midranks if method == "spearman" else _deviations
        shift = ratio(matrix_product(x - y, w), n) if method == "kappa" else None
        return product_moment(deviations(x, w), deviations(y, w), w, shift=shift)
    first, second = levels_of(x), levels_of(y)
    sums = _pair_sums(first, second, w, PAIR_SUMS[method])
    distinct = np.minimum(*((_by_level(w, c) > 0).sum(axis=0) for c in (first, second)))
    return from_pairs(method, sums, n, distinct)


def _chunks(rows: Floats, width: int, most: int = CHUNK) -> Iterator[Floats]:
    step = max(1, most // max(width, 1))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def levels_of(values: Floats) -> Codes:
    """The place of each value among the distinct ones in ascending order; few whole numbers need no sorting.

    Examples
    --------
    >>> levels_of(np.array([0.5, 2.0, 0.5])), levels_of(np.array([3.0, 5.0, 3.0]))
    (array([0, 1, 0]), array([0, 1, 0]))
    """
    if len(values) > _DIRECT and np.ptp(values) < _DIRECT:
        whole = values.astype(np.intp)
        if (whole == values).all():
            whole -= whole.min()
            return np.asarray((np.cumsum(np.bincount(whole) > 0) - 1)[whole], dtype=np.intp)
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


# --- moments ----------------------------------------------------------------------------------------------------


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
    share = _by_level(w, codes)
    upper = share.cumsum(axis=0)
    return np.asarray((upper - share / 2 - upper[-1] / 2)[codes])


def _deviations(values: Floats, w: Floats) -> Floats:
    values = (values - values.mean())[:, None]  # keeps the rounding error of a large common offset out of the sums
    with np.errstate(invalid="ignore"):
        centred = values - (values * w).sum(axis=0) / w.sum(axis=0)
    return np.where(varies(values, w > 0), centred, 0.0)


def varies(values: Floats, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether the used values differ: a constant leaves rounding dust, which must not pass for variance."""
    low, high = (end(np.where(used, values, blank), axis=-2) for end, blank in ((np.min, np.inf), (np.max, -np.inf)))
    return np.asarray(low < high)[..., None, :]


def _by_level(w: Floats, codes: Codes) -> Floats:
    """Weight of each level, shape (levels, B)."""
    ends = np.cumsum(np.bincount(codes))
    members = sparse.csr_array(
        (np.ones(len(codes), dtype=w.dtype), np.argsort(codes, kind="stable"), np.concatenate([[0], ends])),
        shape=(len(ends), len(codes)),
    )
    return np.asarray(members @ w)


# --- pairs ------------------------------------------------------------------------------------------------------


def from_pairs(method: str, sums: Sums, n: Any, distinct: Any) -> Floats:
    """A pair statistic from its sums over ordered pairs; `distinct`: levels of the side that has fewer (tau-c)."""
    sums = {name: np.asarray(values, dtype=float) for name, values in sums.items()}
    with np.errstate(invalid="ignore", divide="ignore"):
        every, balance = n * (n - 1.0), sums["balance"]
        if method == "kendall":
            return ratio(balance, np.sqrt(sums["x"] * sums["y"]))
        if method == "kendall_a":
            return np.where(sums["x"] * sums["y"] > 0, ratio(balance, every), np.nan)
        if method == "kendall_c":
            return np.where(distinct > 1, ratio(balance, n**2 * (distinct - 1) / distinct), np.nan)
        if method == "gamma":
            return ratio(balance, sums["both"])
        tied_in_both = every - sums["x"] - sums["y"] + sums["both"]
        return ratio((balance + sums["both"]) / 2 + tied_in_both, every)


def _pair_sums(first: Codes, second: Codes, w: Floats, names: tuple[str, ...]) -> Sums:
    """The sums under each column of weights; tied pairs are counted by level, only the balance needs all pairs."""
    square = w.sum(axis=0) ** 2
    w = w.astype(_exact(square.max(initial=0)))

    def tied(codes: Codes) -> Floats:
        return np.asarray(np.square(_by_level(w, codes)).sum(axis=0), dtype=float)

    sums = {"balance": _balance(first, second, w)}
    if "x" in names or "both" in names:
        sums |= {"x": square - tied(first), "y": square - tied(second)}
    if "both" in names:
        sums["both"] = sums["x"] + sums["y"] - square + tied(cells_of(first, second))
    return sums


def cells_of(first: Codes, second: Codes) -> Codes:
    """Codes of the distinct pairs of two codes."""
    return np.asarray(np.unique(first * (second.max(initial=0) + 1) + second, return_inverse=True)[1], dtype=np.intp)


def _balance(first: Codes, second: Codes, w: Any) -> Floats:
    """Concordant less discordant ordered pairs under each column of weights.

    Items are put into bins of whole levels, some sqrt(n) of each side. Pairs in different
    bins on both sides are counted from the table of bins; the rest, in one bin of x or in
    one of y, are quadratic forms over the members of the bin.
    """
    n = len(first)
    size = n if n <= _DIRECT else 2 * math.isqrt(n)
    bins_x, bins_y = _bins(first, size), _bins(second, size)
    total = _between(bins_x, bins_y, w)
    for members in _mixed(bins_x, first):
        total += _quadratic(w[members], _signs(first[members], w.dtype) * _signs(second[members], w.dtype))
    for members in _mixed(bins_y, second):
        apart = _signs(first[members], w.dtype) * (bins_x[members][:, None] != bins_x[members])
        total += _quadratic(w[members], apart * _signs(second[members], w.dtype))
    return total


def _exact(largest: float) -> Any:
    """The smaller type that holds whole numbers up to `largest` without rounding."""
    return np.float32 if largest < 2**24 else np.float64


def _bins(codes: Codes, size: int) -> Codes:
    """Bins of neighbouring levels with about `size` items; a level that fills one has it for itself."""
    count = np.bincount(codes)
    large = count >= size
    place = np.cumsum(np.where(large, 0, count)) // size
    new = (np.diff(place) > 0) | large[1:] | large[:-1]
    return np.asarray(np.concatenate([[0], np.cumsum(new)])[codes], dtype=np.intp)


def _mixed(bins: Codes, codes: Codes) -> Iterator[Codes]:
    """The members of each bin that holds several levels."""
    order = np.argsort(bins, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(bins[order])) + 1):
        if (codes[members] != codes[members[0]]).any():
            yield members


def _between(bins_x: Codes, bins_y: Codes, w: Any) -> Floats:
    """The balance of pairs that are in different bins of both sides."""
    shape = int(bins_x.max()) + 1, int(bins_y.max()) + 1
    if min(shape) == 1:
        return np.zeros(w.shape[1])
    cells = np.append(bins_x * shape[1] + bins_y, shape[0] * shape[1] - 1)  # so that the last cell is there
    table = _by_level(np.vstack([w, np.zeros((1, w.shape[1]), dtype=w.dtype)]), cells).reshape(*shape, -1)
    before = np.zeros_like(table[0])  # by bins of y, of the bins of x below
    total = np.zeros(w.shape[1])
    for row in table:
        under = np.cumsum(before, axis=0)
        total += 2 * np.einsum("jb,jb->b", row, 2 * under - before - under[-1])
        before += row
    return total


def _signs(values: Any, dtype: Any) -> Any:
    return np.sign(values[:, None] - values[None, :]).astype(dtype)


def _quadratic(w: Any, pairs: Any) -> Floats:
    return np.asarray(np.einsum("ib,ib->b", w, matrix_product(pairs, w)))


# --- many samples at once ---------------------------------------------------------------------------------------


def row_correlation(x: Floats, y: Floats, method: str, weights: Floats | None = None) -> Floats:
    """Coefficient of each row of x with the same row of y.

    Parameters
    ----------
    x, y : ndarray, shape (B, m)
        NaN only where the weight is 0.
    method : str
        One of `METHODS`.
    weights : ndarray, shape (B, m), optional
        Multiplicities. Default: 1.

    Returns
    -------
    ndarray, shape (B,)
        NaN where a row is constant.

    Examples
    --------
    >>> row_correlation(np.array([[1.0, 2, 3], [1, 1, 1]]), np.array([[1.0, 3, 2], [1, 2, 3]]), "kendall")
    array([0.33333333,        nan])
    """
    if not x.shape[1]:
        return np.full(len(x), np.nan)
    if weights is None:
        weights = np.ones_like(x)
    else:  # what has no weight takes a value that is there
        spare = weights.argmax(axis=1)[:, None]
        x, y = (np.where(weights > 0, v, np.take_along_axis(v, spare, axis=1)) for v in (x, y))
    step = max(1, CHUNK // 2 // max(x.shape[1], 1) ** 2)
    cuts = [slice(start, start + step) for start in range(0, len(x), step)]
    parts = [_rows(x[cut], y[cut], weights[cut], method) for cut in cuts]
    return np.concatenate(parts) if parts else np.empty(0)


def _rows(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    n = weights.sum(axis=1)
    if method in SHARES:
        return ratio((weights * (np.abs(x - y) <= SHARES[method])).sum(axis=1), n)
    if method in ("pearson", "kappa"):
        with np.errstate(invalid="ignore"):  # a resample without items
            a, b = (np.where(np.ptp(v, axis=1) > 0, v.T - (weights * v).sum(axis=1) / n, 0.0) for v in (x, y))
        shift = ratio((weights * (x - y)).sum(axis=1), n) if method == "kappa" else None
        return product_moment(a, b, weights.T, shift=shift)
    sx, sy = (np.sign(v[:, :, None] - v[:, None, :]) for v in (x, y))
    if method == "spearman":
        a, b = ((weights[:, None, :] * s).sum(axis=2).T / 2 for s in (sx, sy))
        return product_moment(a, b, weights.T)
    both: Any = weights[:, :, None] * weights[:, None, :]
    sums = {name: np.einsum("bij,bij->b", both, PRODUCTS[name](sx, sy)) for name in PAIR_SUMS[method]}
    distinct = np.min([1 + (np.diff(np.sort(v, axis=1), axis=1) > 0).sum(axis=1) for v in (x, y)], axis=0)
    return from_pairs(method, sums, n, distinct)


def replaced_correlation(x: Floats, y: Floats, place: Codes, new: tuple[Floats, Floats], method: str) -> Floats:
    """The coefficient of (x, y) with one pair replaced at a time.

    Parameters
    ----------
    x, y : ndarray, shape (m,)
    place : ndarray of int, shape (B,)
        Which pair is replaced.
    new : tuple of ndarray, each shape (B,)
        By which; NaN: the pair is left out.
    method : str

    Returns
    -------
    ndarray, shape (B,)

    Examples
    --------
    >>> x, y = np.array([1.0, 2, 3]), np.array([1.0, 3, 2])
    >>> replaced_correlation(x, y, np.array([1, 1]), (np.array([2.0, np.nan]), np.array([1.5, np.nan])), "kendall")
    array([1., 1.])
    """
    parts = []
    for start in range(0, len(place), max(1, CHUNK // len(x))):
        cut = slice(start, start + max(1, CHUNK // len(x)))
        parts.append(_replaced(x, y, place[cut], (new[0][cut], new[1][cut]), method))
    return np.concatenate(parts) if parts else np.empty(0)


def _replaced(x: Floats, y: Floats, place: Codes, new: tuple[Floats, Floats], method: str) -> Floats:
    row = np.arange(len(place))
    gone = ~np.isfinite(new[0])
    if gone.any() or method in ("pearson", "kappa", "kendall_c", *SHARES):
        rows = [np.tile(v, (len(place), 1)) for v in (x, y)]
        for values, other in zip(rows, new, strict=True):
            values[row, place] = other
        return row_correlation(rows[0], rows[1], method, np.isfinite(rows[0]).astype(float))
    signs, fresh = [], []
    for values, other in ((x, new[0]), (y, new[1])):
        signs.append(_signs(values, float))
        fresh.append(np.sign(other[:, None] - values))
        fresh[-1][row, place] = 0
    if method == "spearman":
        a, b = (_moved_ranks(s, f, place) for s, f in zip(signs, fresh, strict=True))
        return product_moment(a, b, np.ones_like(a))
    sums = {}
    for name in PAIR_SUMS[method]:
        before, after = (PRODUCTS[name](*s).sum(axis=1) for s in (signs, fresh))
        sums[name] = before.sum() - 2 * before[place] + 2 * after
    return from_pairs(method, sums, float(len(x)), None)


def _moved_ranks(signs: Floats, fresh: Floats, place: Codes) -> Floats:
    """Centred midranks, shape (m, B), with one item moved: the others lose its old sign and get its new one."""
    ranks = (signs.sum(axis=1) + signs[place] - fresh) / 2
    ranks[np.arange(len(place)), place] = fresh.sum(axis=1) / 2
    return np.asarray(ranks.T)


def column_correlation(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    """Coefficient of each column of x with the same column of y, under each row of multiplicities of the rows.

    Parameters
    ----------
    x, y : ndarray, shape (m, g)
        NaN where there is no pair.
    weights : ndarray, shape (B, m)
        One set of multiplicities for all columns.
    method : str

    Returns
    -------
    ndarray, shape (B, g)

    Examples
    --------
    >>> x, y = np.array([[1.0, 1], [2, 2], [3, 3]]), np.array([[1.0, 3], [3, 2], [2, 1]])
    >>> column_correlation(x, y, np.array([[1.0, 1, 1], [0, 1, 1]]), "kendall")
    array([[ 0.33333333, -1.        ],
           [-1.        , -1.        ]])
    """
    cost = len(x) * (len(x) if method in PAIR_SUMS or method == "spearman" else 1)
    step = max(1, CHUNK // max(cost, 1))
    columns = [slice(start, start + step) for start in range(0, x.shape[1], step)]
    if not columns:
        return np.empty((len(weights), 0))
    return np.hstack([_columns(x[:, cut], y[:, cut], weights, method) for cut in columns])


def _columns(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    if method in PAIR_SUMS:
        return _column_pairs(x, y, weights, method)
    step = max(1, CHUNK // 16 // x.size)  # what stays in the cache of the processor
    parts = [_column_moments(x, y, weights[start : start + step], method) for start in range(0, len(weights), step)]
    return np.concatenate(parts)


def _column_moments(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    """Shapes (g, m, B): every column's deviations under every row of weights."""
    if method == "spearman":
        dtype = _exact(weights.sum(axis=1).max(initial=0) ** 3)
        w = np.ascontiguousarray(weights.T, dtype=dtype)
        return product_moment(_column_midranks(x, w), _column_midranks(y, w), w).T
    w = weights.T * np.isfinite(x).T[:, :, None]
    n = w.sum(axis=1)
    first, second = (np.nan_to_num(v).T[:, :, None] for v in (x, y))
    if method in SHARES:
        return ratio((w * (np.abs(first - second) <= SHARES[method])).sum(axis=1), n).T
    shift = ratio((w * (first - second)).sum(axis=1), n) if method == "kappa" else None
    return product_moment(_column_deviations(first, w, n), _column_deviations(second, w, n), w, shift=shift).T


def _column_midranks(values: Floats, w: Floats) -> Floats:
    """Half the sums of signs; 0 where there is no pair."""
    signs = np.nan_to_num(np.sign(values.T[:, :, None] - values.T[:, None, :])).astype(w.dtype)
    return np.asarray(matrix_product(signs.reshape(-1, len(w)), w)).reshape(*signs.shape[:2], -1) / 2


def _column_deviations(values: Floats, w: Floats, n: Floats) -> Floats:
    values = values - values.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        centred = values - ((w * values).sum(axis=1) / n)[:, None, :]
    return np.where(varies(values, w > 0), centred, 0.0)


def _column_pairs(x: Floats, y: Floats, weights: Floats, method: str) -> Floats:
    """Quadratic forms as products of pair weights, shape (B, pairs), with pair signs, shape (pairs, g)."""
    first, second = np.triu_indices(len(x), 1)
    dtype = _exact(weights.sum(axis=1).max(initial=0) ** 2)
    sx, sy = (np.nan_to_num(np.sign(v[first] - v[second])).astype(dtype) for v in (x, y))
    pairs = {name: PRODUCTS[name](sx, sy) for name in PAIR_SUMS[method]}
    w, parts = weights.astype(dtype), []
    # 64 rows or more at a time, so that products are products of matrices, and no more than the cache holds
    for part in _chunks(w, len(first), most=max(_CACHE, 64 * len(first))):
        both = part[:, first] * part[:, second]
        sums = {name: 2.0 * matrix_product(both, signs) for name, signs in pairs.items()}
        distinct = np.minimum(*(_column_distinct(v, part) for v in (x, y))) if method == "kendall_c" else None
        parts.append(
            from_pairs(method, sums, matrix_product(part.astype(float), np.isfinite(x).astype(float)), distinct)
        )
    return np.concatenate(parts)


def _column_distinct(values: Floats, weights: Any) -> Floats:
    """Distinct values with a weight in each column: those that no earlier equal value stands for."""
    order = np.argsort(values, axis=0, kind="stable")
    ranked, w = np.take_along_axis(values, order, axis=0), weights[:, order] > 0
    count = np.zeros((len(weights), values.shape[1]))
    last = np.full_like(count, np.nan)
    for row in range(len(values)):
        new = w[:, row] & (ranked[row] != last) & np.isfinite(ranked[row])
        count += new
        last = np.where(new, ranked[row], last)
    return count


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "balance": lambda sx, sy: sx * sy,
    "x": lambda sx, _: np.abs(sx),
    "y": lambda _, sy: np.abs(sy),
    "both": lambda sx, sy: np.abs(sx * sy),
}


def exchanged_pairs(x1: Floats, x2: Floats, y: Floats, masks: NDArray[np.bool_], method: str) -> Floats:
    """A pair statistic of (x1, y) with scores of x2 where the masks say, shape (B, n) -> (B,).

    With z_i = 1 where item i takes its score from x2, a sum over pairs is a quadratic form
    in z, made of the four ways in which two items can take theirs.
    """
    n = len(y)
    dtype = _exact(4.0 * n * n)
    z = masks.astype(dtype)
    sx, sy = _signs(np.append(x1, x2), dtype), np.tile(_signs(y, dtype), (2, 2))
    sums: Sums = {}
    for name in PAIR_SUMS[method]:
        form = PRODUCTS[name](sx, sy)
        neither, one, both = form[:n, :n], form[n:, :n], form[n:, n:]
        linear = 2 * (one - neither).sum(axis=1)
        sums[name] = neither.sum() + np.einsum("bi,bi->b", z, matrix_product(z, neither - one - one.T + both) + linear)
    return from_pairs(method, sums, float(n), None)


# --- what each item adds ----------------------------------------------------------------------------------------


def pair_rows(first: Codes, second: Codes) -> Sums:
    """What each item adds to the sums: its pairs with all others, shape (n,) each."""
    n = len(first)
    if n <= _DIRECT:
        sx, sy = _signs(first, np.int64), _signs(second, np.int64)
        return {name: product(sx, sy).sum(axis=1) for name, product in PRODUCTS.items()}
    cells = cells_of(first, second)
    same_x, same_y, same = (np.bincount(c)[c] for c in (first, second, cells))
    lower_x, lower_y = (np.concatenate([[0], np.cumsum(np.bincount(c))])[c] for c in (first, second))
    below = _dominated(first, second)
    # items with equal x and lower y, and the other way round
    level_x, level_y = (_place_within(a, b) for a, b in ((first, second), (second, first)))
    above = n - lower_x - same_x - lower_y - same_y + below + level_x + level_y + same
    left_up, right_down = lower_x - below - level_y, lower_y - below - level_x
    both = below + above + left_up + right_down
    return {"balance": below + above - left_up - right_down, "x": n - same_x, "y": n - same_y, "both": both}


def _place_within(outer: Codes, inner: Codes) -> Codes:
    """How many items of the same outer level have a lower inner level."""
    key = outer * (int(inner.max()) + 1) + inner
    ordered = np.sort(key)
    return np.asarray(
        np.searchsorted(ordered, key) - np.searchsorted(ordered, outer * (int(inner.max()) + 1)), dtype=np.intp
    )


def _dominated(first: Codes, second: Codes) -> Codes:
    """How many items are lower in both, for each item: few cells by a table, else by splitting ranks bit by bit."""
    shape = int(first.max()) + 1, int(second.max()) + 1
    if shape[0] * shape[1] <= 4 * len(first):
        table = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)
        lower = np.zeros((shape[0] + 1, shape[1] + 1), dtype=np.intp)
        lower[1:, 1:] = table.cumsum(axis=0).cumsum(axis=1)
        return np.asarray(lower[first, second])
    order = np.lexsort((-second, first))  # equal x in falling y, so that none of them counts for another
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.lexsort((-np.arange(len(first)), second[order]))] = np.arange(len(first))
    out = np.empty(len(first), dtype=np.intp)
    out[order] = _smaller_before(rank)
    return out


def _smaller_before(rank: Codes) -> Codes:
    """For each element of a permutation, how many before it are smaller.

    Ranks are told apart from the highest bit down. Elements with equal higher bits stand
    together in their first order; one with the bit set comes after all those of its block
    before it that have it not.
    """
    n = len(rank)
    count, where, now = np.zeros(n, dtype=np.intp), np.arange(n), rank
    for bit in reversed(range(max(n - 1, 1).bit_length())):
        high = (now >> bit) & 1
        block = (now >> (bit + 1)) << (bit + 1)  # ranks are 0..n-1: a block starts at its lowest rank
        zeros = np.cumsum(1 - high)
        before = zeros - np.concatenate([[0], zeros])[block]
        count[where] += np.where(high == 1, before, 0)
        spot = np.where(high == 1, (now >> bit << bit) + np.arange(n) - block - before, block + before - 1)
        where, now = (_moved(values, spot) for values in (where, now))
    return count


def _moved(values: Codes, spot: Codes) -> Codes:
    out = np.empty_like(values)
    out[spot] = values
    return out


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
