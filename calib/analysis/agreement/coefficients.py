"""Coefficients of many weighted copies of one sample: the kernels under jackknife, bootstrap and permutation.

A resample is a vector of multiplicities `w` (0 = left out); a duplicate is a tie with itself. Two families cover every
coefficient here. Pair statistics are sums over ordered pairs, quadratic forms in w. Moment statistics are weighted sums
of deviations, for ranks of midranks, which are cumulative sums of w.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from calib.core.check import ArgumentError, Codes, Floats, choice
from calib.core.numeric import matrix_product, ratio

COEFFICIENTS = {
    "spearman": "Spearman rho", "pearson": "Pearson r", "kendall": "Kendall tau-b", "kendall_a": "Kendall tau-a",
    "kendall_c": "Kendall tau-c", "gamma": "Goodman-Kruskal gamma", "pairs": "pairwise accuracy",
    "kappa": "quadratic weighted kappa", "kappa_nominal": "unweighted kappa", "exact": "exact agreement",
    "adjacent": "agreement within 1", "spa": "soft pairwise accuracy",
}  # fmt: skip
LEVEL_WORDS = {"item": "over items", "group": "within groups", "system": "over systems"}
# the sums over pairs that each pair statistic is made of: concordant less discordant pairs ("balance"),
# pairs not tied in x, in y, in either
PAIR_SUMS = {
    "kendall": ("balance", "x", "y"), "kendall_a": ("balance", "x", "y"), "kendall_c": ("balance",),
    "gamma": ("balance", "both"), "pairs": ("balance", "x", "y", "both"),
}  # fmt: skip
PRODUCT_MOMENTS = ("spearman", "pearson", "kappa")
AGREED_WITHIN = {"exact": 1e-9, "adjacent": 1 + 1e-9}  # how far apart two scores may be, and a last digit
SHARES = ("pairs", *AGREED_WITHIN, "spa")  # from 0 to 1; nothing in them is "no correlation"
SINGLE_SCORES = ("kappa_nominal", *AGREED_WITHIN)  # of scores as they are: means of them say nothing
ON_ONE_SCALE = ("kappa", *SINGLE_SCORES)  # the same value, not only the same order
NEEDS_NO_ORDER = ("kappa_nominal", "exact")  # of names, too
OF_ONE_SAMPLE = (*PRODUCT_MOMENTS, *PAIR_SUMS, *AGREED_WITHIN)  # the others compare whole samples of systems

_DIRECT = 128  # up to so many items all pairs are computed one by one
CHUNK = 4_000_000  # numbers that a temporary array may hold
Sums = dict[str, Floats]
PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "balance": lambda sx, sy: sx * sy,
    "x": lambda sx, _: np.abs(sx),
    "y": lambda _, sy: np.abs(sy),
    "both": lambda sx, sy: np.abs(sx * sy),
}

# what others call them
OTHER_NAMES = {
    **dict.fromkeys(("accuracy", "acc", "exact_match", "percent_agreement", "agreement"), "exact"),
    **dict.fromkeys(("rho", "spearmanr", "spearman_rho"), "spearman"),
    **dict.fromkeys(("r", "pearsonr", "pearson_r", "correlation", "corr"), "pearson"),
    **dict.fromkeys(("tau", "kendalltau", "kendall_tau", "tau_b", "tau-b", "kendall_b"), "kendall"),
    **dict.fromkeys(("tau_a", "tau-a"), "kendall_a"),
    **dict.fromkeys(("tau_c", "tau-c"), "kendall_c"),
    **dict.fromkeys(("weighted_kappa", "qwk", "quadratic_kappa"), "kappa"),
    **dict.fromkeys(("cohen", "cohen_kappa", "cohens_kappa"), "kappa_nominal"),
    **dict.fromkeys(("within_one", "adjacent_accuracy"), "adjacent"),
    **dict.fromkeys(("pairwise", "pairwise_accuracy", "concordance"), "pairs"),
}


def named_coefficient(method: str, coefficient: str | None, options: Sequence[str] = tuple(COEFFICIENTS)) -> str:
    """The coefficient under its own name or, without one, under pandas' `method`."""
    named = coefficient or method
    if named not in options and (name := OTHER_NAMES.get(str(named).casefold())) in options:
        rule, word = f"must be one of {', '.join(map(repr, options))}", "coefficient" if coefficient else "method"
        raise ArgumentError(word, rule, f"got {named!r}, which is called {name!r} here")
    if coefficient is None:
        return choice(method, "method", options)
    if method not in ("spearman", coefficient):
        rule = f"must be that of {{0}} ({coefficient!r})"
        raise ArgumentError("method", rule, f"got {method!r}", mentions=("coefficient",))
    return choice(coefficient, "coefficient", options)


class WithCoefficient:
    """A result that names its coefficient; `method` is the same under pandas' name."""

    __slots__ = ()
    coefficient: str
    level: str

    @property
    def method(self) -> str:
        return self.coefficient

    @property
    def _weights(self) -> str | None:
        """The weights of a kappa, for its signature."""
        return {"kappa": "quadratic", "kappa_nominal": "none"}.get(self.coefficient)

    @property
    def _measured(self) -> str:
        return f"{COEFFICIENTS[self.coefficient]} {LEVEL_WORDS[self.level]}"


def cuts(n: int, width: int, most: int = CHUNK) -> list[slice]:
    """Slices of 0..n whose rows of `width` numbers hold no more than `most` numbers."""
    step = max(1, most // max(width, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def weighted_correlation(x: Floats, y: Floats, weights: Floats, coefficient: str) -> Floats:
    """Coefficient of (x, y), shape (n,), under each row of multiplicities, shape (B, n).

    Multiplicities are whole numbers, the coefficient is one of `OF_ONE_SAMPLE` or unweighted kappa. NaN where it is not
    defined, above all where x or y is constant under the weights.
    """
    pieces = cuts(len(weights), len(x))
    if len(pieces) != 1:
        parts = (weighted_correlation(x, y, weights[cut], coefficient) for cut in pieces)
        return np.concatenate([np.empty(0), *parts])
    w = np.ascontiguousarray(weights.T)  # one column per resample: items are picked as whole rows
    if coefficient == "spearman":
        return product_moment(midranks(x, w), midranks(y, w), w)
    if coefficient not in PAIR_SUMS:
        return moment_statistic(x[:, None], y[:, None], w, coefficient)
    first, second = levels_of(x), levels_of(y)
    distinct = np.minimum(*((weight_by_level(w, c) > 0).sum(axis=0) for c in (first, second)))
    square, names = w.sum(axis=0) ** 2, PAIR_SUMS[coefficient]
    exact = w.astype(exact_type(square.max(initial=0)))
    sums = {"balance": _balance(first, second, exact)}
    if len(names) > 1:  # tied pairs are counted by level, only the balance needs all pairs
        sides = {"x": first, "y": second} | ({"both": cells_of(first, second)} if "both" in names else {})
        for name, codes in sides.items():
            tied = np.square(weight_by_level(exact, codes)).sum(axis=0).astype(float)
            sums[name] = sums["x"] + sums["y"] - square + tied if name == "both" else square - tied
    return from_pairs(coefficient, sums, w.sum(axis=0), distinct)


def sample_correlation(x: Floats, y: Floats, coefficient: str) -> float:
    """The coefficient of one sample; NaN where it is not defined."""
    if not len(x):
        return float("nan")
    if coefficient not in PAIR_SUMS:
        return float(weighted_correlation(x, y, np.ones((1, len(x))), coefficient)[0])
    first, second = levels_of(x), levels_of(y)
    sums = {name: np.array(rows.sum()) for name, rows in pair_rows(first, second).items()}
    distinct = min(int(codes.max()) + 1 for codes in (first, second))
    return float(from_pairs(coefficient, sums, float(len(x)), distinct))


def levels_of(values: Floats) -> Codes:
    """The place of each value among the distinct ones in ascending order; few whole numbers need no sorting."""
    if len(values) > _DIRECT and np.ptp(values) < len(values):
        whole = values.astype(np.intp)
        if (whole == values).all():
            whole -= whole.min()
            return np.asarray((np.cumsum(np.bincount(whole) > 0) - 1)[whole], dtype=np.intp)
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def moment_statistic(x: Floats, y: Floats, w: Floats, coefficient: str) -> Floats:
    """Pearson, kappa and the shares, along the axis before the last, of values and weights that broadcast."""
    n = w.sum(axis=-2)
    if coefficient == "kappa_nominal":
        # Cohen's: the share of equal labels, less that of two raters who label blindly, over one less it
        chance, weighted = np.zeros_like(n), "...ib,...ib->...b"
        for label in np.intersect1d(x, y):
            chance = chance + np.einsum(weighted, w, x == label) * np.einsum(weighted, w, y == label)
        return ratio(n * np.einsum(weighted, w, x == y) - chance, n**2 - chance)
    if coefficient in AGREED_WITHIN:
        return ratio(np.einsum("...ib,...ib->...b", w, np.abs(x - y) <= AGREED_WITHIN[coefficient]), n)
    shift = ratio((w * (x - y)).sum(axis=-2), n) if coefficient == "kappa" else None
    return product_moment(_deviations(x, w, n), _deviations(y, w, n), w, shift=shift)


def product_moment(a: Floats, b: Floats, w: Any, *, shift: Any = None) -> Floats:
    """Correlation along the axis before the last, from deviations that are exactly 0 where the sample is constant.

    With `shift`, the weighted mean of x - y: quadratic weighted kappa, one less the mean squared difference over what
    it would be were x and y independent.
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


def _deviations(values: Floats, w: Floats, n: Floats) -> Floats:
    """Deviations from the weighted mean; 0 where values do not differ, so that rounding is no variance."""
    values = values - values.mean(axis=-2, keepdims=True)  # keeps that of a large common offset out of the sums
    with np.errstate(invalid="ignore"):
        centred = values - ((values * w).sum(axis=-2) / n)[..., None, :]
    low = np.where(w > 0, values, np.inf).min(axis=-2, keepdims=True)
    high = np.where(w > 0, values, -np.inf).max(axis=-2, keepdims=True)
    return np.where(low < high, centred, 0.0)


def from_pairs(coefficient: str, sums: Sums, n: Any, distinct: Any) -> Floats:
    """A pair statistic from its sums over ordered pairs; `distinct`: levels of the side that has fewer (tau-c)."""
    sums = {name: np.asarray(values, dtype=float) for name, values in sums.items()}
    with np.errstate(invalid="ignore", divide="ignore"):
        every, balance = n * (n - 1.0), sums["balance"]
        if coefficient == "kendall":
            return ratio(balance, np.sqrt(sums["x"] * sums["y"]))
        if coefficient == "kendall_a":
            return np.where(sums["x"] * sums["y"] > 0, ratio(balance, every), np.nan)
        if coefficient == "kendall_c":
            return np.where(distinct > 1, ratio(balance, n**2 * (distinct - 1) / distinct), np.nan)
        if coefficient == "gamma":
            return ratio(balance, sums["both"])
        tied_in_both = every - sums["x"] - sums["y"] + sums["both"]
        return ratio((balance + sums["both"]) / 2 + tied_in_both, every)


def weight_by_level(w: Floats, codes: Codes) -> Floats:
    """Weight of each level, shape (levels, B)."""
    if w.shape[1] == 1:  # no need to put members side by side
        return np.asarray(np.bincount(codes, w[:, 0])[:, None], dtype=w.dtype)
    ends = np.cumsum(np.bincount(codes))
    members = np.ones(len(codes), dtype=w.dtype), np.argsort(codes, kind="stable"), np.concatenate([[0], ends])
    return np.asarray(sparse.csr_array(members, shape=(len(ends), len(codes))) @ w)


def members_of(codes: Codes | None) -> list[Codes]:
    """The items of each code."""
    assert codes is not None
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []


def cells_of(first: Codes, second: Codes) -> Codes:
    """Codes of the distinct pairs of two codes."""
    return np.asarray(np.unique(first * (second.max(initial=0) + 1) + second, return_inverse=True)[1], dtype=np.intp)


def _balance(first: Codes, second: Codes, w: Any) -> Floats:
    """Concordant less discordant ordered pairs under each column of weights.

    Items are put into bins of whole levels, some sqrt(n) of each side. Pairs in different bins on both sides are
    counted from the table of bins; the rest, in one bin of x or in one of y, are quadratic forms over the members of
    the bin.
    """
    n = len(first)
    size = n if n <= _DIRECT else 2 * math.isqrt(n)
    sides = []  # bins of neighbouring levels with about `size` items; a level that fills one has it for itself
    for codes in (first, second):
        count = np.bincount(codes)
        large = count >= size
        place = np.cumsum(np.where(large, 0, count)) // size
        new = (np.diff(place) > 0) | large[1:] | large[:-1]
        sides.append(np.asarray(np.concatenate([[0], np.cumsum(new)])[codes], dtype=np.intp))
    bins_x, bins_y = sides
    total, shape = np.zeros(w.shape[1]), (int(bins_x.max()) + 1, int(bins_y.max()) + 1)
    if min(shape) > 1:
        cells = np.append(bins_x * shape[1] + bins_y, shape[0] * shape[1] - 1)  # so that the last cell is there
        table = weight_by_level(np.vstack([w, np.zeros((1, w.shape[1]), dtype=w.dtype)]), cells).reshape(*shape, -1)
        before = np.zeros_like(table[0])  # by bins of y, of the bins of x below
        for row in table:
            under = np.cumsum(before, axis=0)
            total += 2 * np.einsum("jb,jb->b", row, 2 * under - before - under[-1])
            before += row
    for bins, codes in ((bins_x, first), (bins_y, second)):
        for members in members_of(bins):
            if (codes[members] == codes[members[0]]).all():  # a level of its own
                continue
            signs = pair_signs(first[members], w.dtype)
            if bins is bins_y:
                signs = signs * (bins_x[members][:, None] != bins_x[members])
            pairs, weights = signs * pair_signs(second[members], w.dtype), w[members]
            total += np.einsum("ib,ib->b", weights, matrix_product(pairs, weights))
    return total


def exact_type(largest: float) -> Any:
    """The smaller type that holds whole numbers up to `largest` without rounding."""
    return np.float32 if largest < 2**24 else np.float64


def pair_signs(values: Any, dtype: Any) -> Any:
    return np.sign(values[:, None] - values[None, :]).astype(dtype)


def pair_rows(first: Codes, second: Codes) -> Sums:
    """What each item adds to the sums: its pairs with all others, shape (n,) each."""
    n = len(first)
    if n <= _DIRECT:
        sx, sy = pair_signs(first, np.int64), pair_signs(second, np.int64)
        return {name: product(sx, sy).sum(axis=1) for name, product in PRODUCTS.items()}
    cells = cells_of(first, second)
    same_x, same_y, same = (np.bincount(c)[c] for c in (first, second, cells))
    lower_x, lower_y = (np.concatenate([[0], np.cumsum(np.bincount(c))])[c] for c in (first, second))
    below = _dominated(first, second)
    level = []  # items with equal x and lower y, and the other way round
    for outer, inner in ((first, second), (second, first)):
        start = outer * (int(inner.max()) + 1)
        ordered = np.sort(start + inner)
        level.append(np.searchsorted(ordered, start + inner) - np.searchsorted(ordered, start))
    above = n - lower_x - same_x - lower_y - same_y + below + level[0] + level[1] + same
    left_up, right_down = lower_x - below - level[1], lower_y - below - level[0]
    both = below + above + left_up + right_down
    return {"balance": below + above - left_up - right_down, "x": n - same_x, "y": n - same_y, "both": both}


def _dominated(first: Codes, second: Codes) -> Codes:
    """How many items are lower in both, for each item, by splitting ranks bit by bit."""
    order = np.lexsort((-second, first))  # equal x in falling y, so that none of them counts for another
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.lexsort((-np.arange(len(first)), second[order]))] = np.arange(len(first))
    # how many elements before each of this permutation are smaller: ranks are told apart from the highest bit down;
    # elements with equal higher bits stand together in their first order, and one with the bit set comes after all
    # those of its block before it that have it not
    n = len(rank)
    count, where, now = np.zeros(n, dtype=np.intp), np.arange(n), rank
    for bit in reversed(range(max(n - 1, 1).bit_length())):
        high = (now >> bit) & 1
        block = (now >> (bit + 1)) << (bit + 1)  # ranks are 0..n-1: a block starts at its lowest rank
        zeros = np.cumsum(1 - high)
        before = zeros - np.concatenate([[0], zeros])[block]
        count[where] += np.where(high == 1, before, 0)
        spot = np.where(high == 1, (now >> bit << bit) + np.arange(n) - block - before, block + before - 1)
        moved = np.empty((2, n), dtype=np.intp)
        moved[:, spot] = where, now
        where, now = moved
    out = np.empty(n, dtype=np.intp)
    out[order] = count
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
