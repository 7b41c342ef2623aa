"""Entropy from few draws: mended, and what a smaller number of them would have given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.analysis.distributions.distribution import entropy
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.numeric import matrix_product, ratio

CORRECTIONS = ("miller-madow", "none")


def sampled_entropy(counts: ArrayLike, *, correction: str = "miller-madow") -> Floats:
    r"""Entropy of the distribution that draws come from, in nats.

    .. math:: \hat H = -\sum_k \frac{c_k}{N} \log \frac{c_k}{N} + \frac{\hat K - 1}{2 N}

    The first term, the entropy of the draws themselves, is too low on average, the more so the
    fewer they are; the second, with the number of levels that came, mends most of that.

    Parameters
    ----------
    counts : array_like, shape (..., K)
        How often each level was drawn.
    correction : {"miller-madow", "none"}

    Returns
    -------
    ndarray, shape (...)
        NaN where nothing was drawn.

    Raises
    ------
    ValueError
        If a count is negative or `correction` is another one.

    References
    ----------
    Miller (1955), Note on the bias of information estimates.

    Examples
    --------
    >>> [float(round(sampled_entropy([3, 2, 0], correction=c), 4)) for c in ("none", "miller-madow")]
    [0.673, 0.773]
    """
    drawn = _counts_of(counts)
    plug_in = entropy(drawn)
    if check.choice(correction, "correction", CORRECTIONS) == "none":
        return plug_in
    return np.asarray(plug_in + ratio((drawn > 0).sum(axis=-1) - 1, 2 * drawn.sum(axis=-1)))[()]


def expected_entropy(counts: ArrayLike, n: ArrayLike, *, replace: bool = False, correction: str = "none") -> Floats:
    r"""Mean entropy of n of the draws: what a smaller number of draws would have given, exactly.

    .. math:: E[\hat H_n] = -\sum_k \sum_{x=1}^{n} P(X_k = x) \, \frac{x}{n} \log \frac{x}{n}

    with X hypergeometric (n of all draws, without replacement) or binomial (n new draws from
    the shares). No subsets are drawn.

    Parameters
    ----------
    counts : array_like, shape (..., K)
        How often each level was drawn; with ``replace=True`` probabilities or weights.
    n : int or array_like of int
        Sizes, 1 or more.
    replace : bool, default False
        Draw with replacement, that is, from the shares of `counts`.
    correction : {"none", "miller-madow"}
        As for `sampled_entropy`, before the mean is taken.

    Returns
    -------
    ndarray, shape (...) + shape of `n`
        NaN where fewer than n were drawn, without replacement.

    Raises
    ------
    ValueError
        If a count is negative or, without replacement, not whole, or a size is not whole.

    Examples
    --------
    >>> expected_entropy([2, 2], [1, 2, 4]).round(4), expected_entropy([1, 1], [1, 2, 4], replace=True).round(4)
    (array([0.    , 0.4621, 0.6931]), array([0.    , 0.3466, 0.5411]))
    """
    drawn, sizes = _counts_of(counts), np.asarray(n)
    check.choice(correction, "correction", CORRECTIONS)
    if wrong := [size for size in sizes.ravel().tolist() if not (size >= 1 and size == int(size))]:
        raise ArgumentError("n", "must be whole numbers of 1 or more", f"got {wrong[0]!r}")
    if not replace and (drawn % 1 > 0).any():
        raise ArgumentError("counts", "must be whole numbers without replacement", f"got {float(drawn.max())}")
    kinds, place = _distinct_shares(drawn, replace)
    means = [_entropy_parts(kinds, int(size), correction)[place].sum(axis=-1) for size in sizes.ravel()]
    out = np.stack(means, axis=-1).reshape(drawn.shape[:-1] + sizes.shape)
    return np.asarray(out - 1 / (2 * sizes) if correction == "miller-madow" else out)[()]


def _distinct_shares(drawn: Floats, replace: bool) -> tuple[Floats, Codes]:
    """Each share (or each count with its total, where draws are not replaced) once, and which one each level has."""
    total = drawn.sum(axis=-1, keepdims=True)
    if replace:
        share, place = np.unique(drawn / np.where(total > 0, total, np.nan), return_inverse=True)
        return share[:, None], place.reshape(drawn.shape)
    both = np.stack([drawn, np.broadcast_to(total, drawn.shape)], axis=-1).reshape(-1, 2)
    kinds, place = np.unique(both, axis=0, return_inverse=True)
    return kinds, place.reshape(drawn.shape)


def _entropy_parts(kinds: Floats, size: int, correction: str) -> Floats:
    """What a level of each kind adds to the expected entropy of `size` draws."""
    x = np.arange(1.0, size + 1)
    if kinds.shape[1] == 1:
        chance = stats.binom.pmf(x, size, kinds)
    else:
        chance = stats.hypergeom.pmf(x, kinds[:, 1:], kinds[:, :1], size)  # NaN where fewer than `size` were drawn
    gain = -x / size * np.log(x / size) + (1 / (2 * size) if correction == "miller-madow" else 0.0)
    return np.asarray(matrix_product(chance, gain))


def _counts_of(counts: ArrayLike) -> Floats:
    draws = check.array(counts, "counts")
    if draws.ndim == 0 or not draws.shape[-1] or (draws < 0).any():
        raise ArgumentError("counts", "must hold numbers of draws that are not negative", f"got {counts!r}")
    return draws
