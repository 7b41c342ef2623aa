"""Mergeable counts of pairs of scores: all that agreement has to know of two raters on few levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.numeric import recoded

_CHUNK = ("x", "y", "groups", "systems")


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How often each pair of scores occurs, in each group and system where these are given.

    Two sets merge exactly, in any order and on any number of machines: `calib.stats.agreement` of merged counts is
    that of all scores. On K levels there are K x K rows, in each group and system as many as occur; of a continuous
    judge each pair is a row of its own, so that nothing is saved: round its scores first, where there are too many.

    Attributes
    ----------
    x, y : ndarray, shape (rows,)
        Scores of the two raters; NaN where one has none.
    n : ndarray of int, shape (rows,)
        Items with this pair.
    groups, systems : ndarray of str, shape (rows,), or None
        Whose items these are.

    Examples
    --------
    >>> counts = Counts.from_chunks([([1, 2, 2], [1, 2, 1]), ([2, 1], [2, 1])])
    >>> counts
    Counts of 5 pairs (2 x 2 levels)
    >>> counts.n.tolist()
    [2, 1, 2]
    """

    x: Floats
    y: Floats
    n: NDArray[np.int64]
    groups: NDArray[Any] | None = None
    systems: NDArray[Any] | None = None

    @classmethod
    def from_chunks(cls, chunks: Iterable[Sequence[Any]]) -> Counts:
        """Counts of scores that come in pieces.

        Parameters
        ----------
        chunks : iterable
            Of ``(x, y)``, ``(x, y, groups)`` or ``(x, y, groups, systems)``, where groups may be None.

        Raises
        ------
        ValueError
            If lengths differ, or some chunks have groups or systems and some none.
        """
        parts = [_counted(*_columns_of(chunk)) for chunk in chunks]
        return reduce(cls.merge, parts) if parts else _counted(np.empty(0), np.empty(0), None, None)

    def merge(self, other: Counts) -> Counts:
        """The counts of both together."""
        columns: list[Any] = []
        for name in _CHUNK:
            mine, theirs = getattr(self, name), getattr(other, name)
            if (mine is None) != (theirs is None):
                raise ArgumentError("other", f"must have {name} exactly as the first", "only one of them has")
            columns.append(None if mine is None else np.concatenate([mine, theirs]))
        return _counted(columns[0], columns[1], columns[2], columns[3], np.concatenate([self.n, other.n]))

    def each(self) -> tuple[Floats, Floats, NDArray[Any] | None, NDArray[Any] | None]:
        """The items one by one, in the order of the rows."""
        sides = (getattr(self, name) for name in _CHUNK)
        x, y, groups, systems = (None if side is None else np.repeat(side, self.n) for side in sides)
        assert x is not None
        assert y is not None
        return x, y, groups, systems

    def __len__(self) -> int:
        return len(self.n)

    def __repr__(self) -> str:
        levels = " x ".join(str(len(np.unique(side[np.isfinite(side)]))) for side in (self.x, self.y))
        of = [
            f"{len(np.unique(side))} {name}"
            for name, side in (("groups", self.groups), ("systems", self.systems))
            if side is not None
        ]
        return f"Counts of {int(self.n.sum())} pairs ({', '.join([f'{levels} levels', *of])})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        sides = [(getattr(self, name), getattr(other, name)) for name in (*_CHUNK, "n")]
        if any((a is None) != (b is None) for a, b in sides):
            return False
        return all(a is None or np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in sides)

    __hash__ = None  # type: ignore[assignment]


def _columns_of(chunk: Sequence[Any]) -> tuple[Floats, Floats, Any, Any]:
    if not 2 <= len(chunk) <= len(_CHUNK):
        raise ArgumentError(
            "chunks", "must each be (x, y), (x, y, groups) or (x, y, groups, systems)", f"got {len(chunk)}"
        )
    x, y = (check.array(side, name, ndim=1) for side, name in zip(chunk[:2], "xy", strict=True))
    labels: list[Any] = [None if side is None else np.asarray(side).astype(str) for side in (*chunk[2:], None, None)][
        :2
    ]
    check.same_length(x=x, y=y, groups=labels[0], systems=labels[1])
    return x, y, labels[0], labels[1]


def _counted(x: Floats, y: Floats, groups: Any, systems: Any, n: Any = None) -> Counts:
    """Equal rows as one, in the order of systems, groups, x and y."""
    columns = [side for side in (systems, groups, x, y) if side is not None]
    place = np.zeros(len(x), dtype=np.intp)
    for side in columns:
        _, code = np.unique(side, return_inverse=True)
        place = recoded(place * (int(code.max(initial=-1)) + 1) + code)
    first = np.unique(place, return_index=True)[1]
    total = np.bincount(place, None if n is None else n, len(first)).astype(np.int64)
    return Counts(x[first], y[first], total, *(None if side is None else side[first] for side in (groups, systems)))
