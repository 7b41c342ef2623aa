"""Shifts of persons in proportional odds: each row of a table is one person's alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from calib.core.check import Codes, Floats


class Persons(NamedTuple):
    """Whose labels each row of a table has, and how far shifts are spread.

    A shift is tau v, with v penalised as a standard normal, so that tau = 0 is a value like any other. One more row,
    of pseudo-labels, is nobody's.
    """

    row: Codes  # (R,), from 0 to J - 1
    tau: Floats  # (...)

    def at(self, v: Floats) -> Floats:
        """Shift of each row and of nobody's, (..., R + 1), from (..., J)."""
        shift = self.tau[..., None] * v
        return np.concatenate([shift[..., self.row], np.zeros((*shift.shape[:-1], 1))], axis=-1)

    def sums(self, values: Floats) -> Floats:
        """Over each person's rows, (..., J, m) from (..., R + 1, m)."""
        n = len(self.row)
        whose = sparse.csr_matrix((np.ones(n), (self.row, np.arange(n))), shape=(int(self.row.max()) + 1, n))
        first = np.moveaxis(values[..., :-1, :], -2, 0)
        total = (whose @ first.reshape(n, -1)).reshape(-1, *first.shape[1:])
        return np.asarray(np.moveaxis(total, 0, -2))


class Arrow(NamedTuple):
    """A symmetric matrix: a block that is dense, and a diagonal of persons, each of whom is tied to the block alone."""

    head: Floats  # (..., h, h)
    side: Floats  # (..., J, h)
    own: Floats  # (..., J)

    def solved(self, right: Floats) -> Floats:
        """The solution for (..., h + J), by way of the block."""
        h = self.head.shape[-1]
        share = self.side / self.own[..., None]
        block, persons = right[..., :h], right[..., h:]
        left = block - (persons[..., None, :] @ share)[..., 0, :]
        first = np.linalg.solve(self._rest, left[..., None])
        rest = persons / self.own - (share @ first)[..., 0]
        return np.concatenate([first[..., 0], rest], axis=-1)

    @property
    def log_determinant(self) -> Floats:
        return np.asarray(np.linalg.slogdet(self._rest)[1] + np.log(self.own).sum(axis=-1))

    @property
    def variances(self) -> Floats:
        """Of the persons: their part of the diagonal of the inverse, (..., J)."""
        share = self.side / self.own[..., None]
        return np.asarray(1 / self.own + ((share @ np.linalg.inv(self._rest)) * share).sum(axis=-1))

    @property
    def _rest(self) -> Floats:
        """The block without what the persons take of it."""
        return np.asarray(self.head - np.swapaxes(self.side, -1, -2) @ (self.side / self.own[..., None]))
