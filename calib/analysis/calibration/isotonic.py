"""Isotonic regression: chances that go one way with what they are learned from, with no bins to choose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from calib.core.check import Codes, Floats

_DIGITS = 12  # sums of the same shares in another order differ in the digits behind
_TINY = 1e-9  # of a weight: nothing is left


class Ordered(NamedTuple):
    """The distinct values of an input, and which rows have each: what every fit on that input starts from."""

    x: Floats  # ascending, shape (u,)
    order: Codes  # the rows by their input, shape (n,)
    start: Codes  # where each value begins among these, shape (u,)
    weight: Floats  # of the rows of each value, shape (u,)

    def mean(self, y: Floats, weight: Floats) -> Floats:
        """The mean of the rows of each value."""
        return np.asarray(np.add.reduceat((weight * y)[self.order], self.start) / self.weight)


def ordered(x: Floats, weight: Floats) -> Ordered:
    """Rows by their input; what differs by rounding alone is one value. Weights are above 0."""
    value = np.round(x, _DIGITS)
    order = np.argsort(value)
    value = value[order]
    start = np.flatnonzero(np.concatenate([[True], value[1:] > value[:-1]]))
    return Ordered(value[start], order, start, np.add.reduceat(weight[order], start))


def monotone(mean: Floats, weight: Floats, *, increasing: bool = True) -> Floats:
    """The values nearest to `mean`, by weighted squares, that go one way: pool adjacent violators.

    Examples
    --------
    >>> monotone(np.array([1.0, 3.0, 2.0]), np.ones(3))
    array([1. , 2.5, 2.5])
    """
    return np.asarray(isotonic_regression(mean, weights=weight, increasing=increasing).x)


def learned_elsewhere(at: Ordered, y: Floats, weight: Floats, fold: Codes) -> Floats:
    """For each row the increasing fit of the rows of other folds, on the line between its neighbours there."""
    row = np.empty(len(y), dtype=np.intp)
    row[at.order] = np.repeat(np.arange(len(at.x)), np.diff(at.start, append=len(y)))
    total, out = np.bincount(row, weight * y), np.empty(len(y))
    for one in range(int(fold.max()) + 1):
        own = fold == one
        mine = np.bincount(row[own], weight[own], minlength=len(at.x))
        left = at.weight - mine
        known = left > _TINY * at.weight
        mean = (total - np.bincount(row[own], (weight * y)[own], minlength=len(at.x)))[known] / left[known]
        out[own] = np.interp(at.x[row[own]], at.x[known], monotone(mean, left[known]))
    return out
