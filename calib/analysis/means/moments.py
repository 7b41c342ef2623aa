"""Moments of judge scores, which merge exactly: count, mean and spread of the items without a label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.numeric import matrix_product

_BLOCK = 1 << 16  # scores that fit the processor's cache, so that centring them makes no copy of the whole
_LINE = 1 << 13


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    r"""Count, mean and spread of judge scores, for one set of items or for many systems at once.

    Two sets merge exactly, with D the difference of their means:

    .. math:: M = M_1 + M_2 + \frac{n_1 n_2}{n_1 + n_2} D^2, \qquad
              \bar f = \bar f_1 + \frac{n_2}{n_1 + n_2} D

    so a data set larger than memory takes one pass, in any order and on any number of machines.

    Attributes
    ----------
    n, mean, squares, low, high : ndarray, shape () or (systems,)
        Number of scores, their mean, sum of squared deviations from it, smallest and
        largest. Without a score the mean is 0.

    References
    ----------
    Chan, Golub and LeVeque (1983), The American Statistician 37:242-247.

    Examples
    --------
    >>> parts = Moments.from_chunks([[4.0, 3.5], [4.4, 2.9, 4.1]])
    >>> int(parts.n), round(float(parts.mean), 3), round(float(parts.variance), 3)
    (5, 3.78, 0.347)
    >>> parts == Moments.from_chunks([[4.0, 3.5, 4.4, 2.9, 4.1]])
    True
    """

    n: NDArray[Any]
    mean: NDArray[Any]
    squares: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]

    @classmethod
    def from_chunks(cls, chunks: Iterable[Any], *, n_systems: int | None = None) -> Moments:
        """Moments of scores that come in pieces.

        Parameters
        ----------
        chunks : iterable
            Arrays of scores; with `n_systems`, pairs of scores and of the numbers
            (0 .. n_systems - 1) of the systems that they belong to.
        n_systems : int, optional
        """
        if n_systems is None:
            return reduce(Moments.merge, (moments_of(chunk, "chunks") for chunk in chunks), _nothing(()))
        count = check.whole(n_systems, "n_systems", least=1)
        every = _nothing((count,))
        for scores, systems in chunks:
            values, codes = check.array(scores, "chunks", ndim=1), system_codes(systems, count)
            refuse_missing(values, "chunks")
            check.same_length(scores=values, systems=codes)
            every = every.merge(Moments.one_by_one(values).within(codes, count))
        return every

    @classmethod
    def one_by_one(cls, scores: ArrayLike) -> Moments:
        """A set for each score."""
        each = np.asarray(scores, dtype=float)
        return cls(np.ones(len(each), dtype=int), each, np.zeros(len(each)), each, each)

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets together."""
        if np.shape(self.n) != np.shape(other.n):
            raise ArgumentError("other", f"must hold {np.shape(self.n)} systems", f"holds {np.shape(other.n)}")
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n, dtype=float), where=n > 0)
        gap = other.mean - self.mean
        return Moments(
            n,
            self.mean + share * gap,
            self.squares + other.squares + self.n * share * gap**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def within(self, codes: ArrayLike, count: int) -> Moments:
        """Sets put together to fewer, in one step: those with the same number from 0 to `count` - 1."""
        place = system_codes(codes, count)
        n = np.bincount(place, self.n, count).astype(np.asarray(self.n).dtype)
        mean = np.bincount(place, self.n * self.mean, count) / np.maximum(n, 1)
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(low, place, self.low)
        np.maximum.at(high, place, self.high)
        # where all are equal the mean's rounding is no spread
        mean = np.where((low == high) & (n > 0), low, mean)
        squares = np.bincount(place, self.squares + self.n * (self.mean - mean[place]) ** 2, count)
        return Moments(n, mean, np.where(low == high, 0.0, squares), low, high)

    def as_sets(self) -> Moments:
        """One set as an array of one."""
        return Moments(*(np.atleast_1d(getattr(self, name)) for name in self.__slots__))

    def whole(self) -> Moments:
        """All sets together."""
        one = self.within(np.zeros(len(self.n), dtype=np.intp), 1) if np.ndim(self.n) else self
        return Moments(*(np.asarray(np.ravel(getattr(one, name))[0]) for name in self.__slots__))

    @property
    def variance(self) -> NDArray[Any]:
        """Variance with n - 1; NaN for fewer than two scores."""
        return np.asarray(np.where(self.n > 1, self.squares / np.maximum(self.n - 1, 1), np.nan))

    @property
    def binary(self) -> bool:
        """Whether all scores are 0 or 1."""
        return self.only(0.0, 1.0)

    def only(self, low: float, high: float) -> bool:
        """Whether all scores are one of these two: only then the spread is that of a share."""
        inside = np.all((self.low >= low) & (self.high <= high) | (self.n == 0))
        share = self.n * (self.mean - low) * (high - self.mean)
        return bool(inside and np.allclose(self.squares, share, rtol=1e-9, atol=1e-9))

    def __repr__(self) -> str:
        if np.ndim(self.n):
            return f"Moments of {len(self.n)} systems ({int(self.n.sum())} scores)"
        return f"Moments of {int(self.n)} scores (mean {float(self.mean):.4g}, variance {float(self.variance):.4g})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]  # equality within rounding has no hash


def moments_of(scores: ArrayLike, name: str) -> Moments:
    """Moments of an array, block by block."""
    values = flat(scores, name)
    if not len(values):
        return _nothing(())
    # sums of the distances from a point near the mean, in one pass over blocks
    room, total, squares, low, high = np.empty(min(_BLOCK, len(values))), 0.0, 0.0, np.inf, -np.inf
    with np.errstate(invalid="ignore", over="ignore"):  # of inf - inf; it is refused below
        near = values[:_BLOCK].mean(dtype=float)
        for start in range(0, len(values), _BLOCK):
            block = values[start : start + _BLOCK]
            off = np.subtract(block, near, out=room[: len(block)])
            # squares by BLAS, in pieces that it leaves to one thread
            lines = off[: len(off) // _LINE * _LINE].reshape(-1, 1, _LINE)
            rest = off[lines.size :]
            squares += float((lines @ lines.transpose(0, 2, 1)).sum() + matrix_product(rest, rest))
            total += float(off.sum())
            low, high = min(low, float(block.min())), max(high, float(block.max()))
    if not np.isfinite(total):
        refuse_missing(np.asarray(values, dtype=float), name)
    n = len(values)
    if low == high:  # the mean's rounding is no spread
        return Moments(*(np.asarray(part) for part in (n, low, 0.0, low, high)))
    squares = max(squares - total**2 / n, 0.0)
    return Moments(*(np.asarray(part) for part in (n, float(near) + total / n, squares, low, high)))


def flat(scores: ArrayLike, name: str) -> NDArray[Any]:
    """A numeric array of one dimension, not copied if it is one already."""
    if isinstance(scores, np.ma.MaskedArray):
        return check.array(scores, name, ndim=1)
    values = np.asarray(scores)
    return values if values.dtype.kind in "fiub" and values.ndim == 1 else check.array(scores, name, ndim=1)


def refuse_missing(values: Floats, name: str) -> None:
    """Every item needs a finite score."""
    refuse_where(~np.isfinite(values), values, name, "must have a score for each item")


def refuse_where(bad: NDArray[np.bool_], values: Floats, name: str, rule: str, mentions: tuple[str, ...] = ()) -> None:
    """Name the first value that breaks a rule."""
    if bad.any():
        place = int(np.argmax(bad))
        came = "NaN" if np.isnan(values[place]) else f"{values[place]:g}"
        raise ArgumentError(name, rule, f"got {came} at {place}", mentions=mentions)


def system_codes(systems: ArrayLike, count: int) -> Codes:
    codes = np.asarray(systems)
    if codes.dtype.kind not in "iu" or (len(codes) and not (codes.min() >= 0 and codes.max() < count)):
        raise ArgumentError("systems", f"must be whole numbers from 0 to {count - 1}", "are not all")
    return codes.astype(np.intp, copy=False)


def _nothing(shape: tuple[int, ...]) -> Moments:
    zero = np.zeros(shape)
    return Moments(np.zeros(shape, dtype=int), zero, zero, np.full(shape, np.inf), np.full(shape, -np.inf))
