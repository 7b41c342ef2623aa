"""Energy distances between two sets of readings of each item, and the same with the readings dealt out anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.core.check import Codes, Floats

_BLOCK = 1 << 17  # numbers that are held at once: what a processor keeps near
_ALIKE = 1e-9  # relative: sums that differ by rounding alone are equal


class Dealt(NamedTuple):
    """The distance of each item, and how often readings that were dealt out anew lay as far apart."""

    energy: Floats
    as_far: Codes  # of each item
    as_far_in_all: int  # of the sum over items


def energies(then: Floats, now: Floats) -> Floats:
    """Energy distance of each row's readings: 2 E|a - b| - E|a - a'| - E|b - b'|, NaN left out."""
    gaps, sides, _ = _sorted(then, now)
    return _energies(gaps, sides)


def dealt_anew(then: Floats, now: Floats, n_permutations: int, rng: np.random.Generator) -> Dealt:
    """Within each item every reading is as likely to be one of then as one of now, whatever the others are."""
    gaps, sides, counts = _sorted(then, now)
    energy = _energies(gaps, sides)
    as_far, total = np.full(len(gaps), n_permutations, dtype=np.intp), np.zeros(n_permutations)
    moving = np.flatnonzero(energy.astype(bool) | (gaps > 0).any(axis=1))  # of others nothing can change
    rows = max(1, _BLOCK // (8 * n_permutations))
    for start in range(0, len(moving), rows):
        block = moving[start : start + rows]
        drawn = _drawn(gaps[block], counts[block], n_permutations, rng)
        as_far[block] = _not_below(drawn, energy[block, None]).sum(axis=1)
        total += drawn.sum(axis=0)
    return Dealt(energy, as_far, int(_not_below(total, energy.sum()).sum()))


def _not_below(drawn: Floats, seen: Floats) -> NDArray[np.bool_]:
    return np.asarray(drawn >= seen * (1 - _ALIKE))


def _sorted(then: Floats, now: Floats) -> tuple[Floats, Floats, Codes]:
    """Of each item: gaps between its sorted readings, which of them are of then (NaN: none), how many of each side."""
    values = np.concatenate([then, now], axis=1)
    there = ~np.isnan(values)
    side = np.where(there, np.arange(values.shape[1]) < then.shape[1], np.nan)
    order = np.argsort(np.where(there, values, np.inf), axis=1, kind="stable")
    values, side = (np.take_along_axis(one, order, axis=1) for one in (values, side))
    counts = np.stack([(side == 1).sum(axis=1), (side == 0).sum(axis=1)], axis=1)
    return np.nan_to_num(np.diff(values, axis=1)), side, counts


def _energies(gaps: Floats, sides: Floats) -> Floats:
    r"""In one dimension the energy distance is :math:`2 \int (F - G)^2`: a sum over the gaps."""
    shares = [np.cumsum(sides == one, axis=1) / (sides == one).sum(axis=1, keepdims=True) for one in (1, 0)]
    return np.asarray(2 * (gaps * (shares[0] - shares[1])[:, :-1] ** 2).sum(axis=1))


def _drawn(gaps: Floats, counts: Codes, n_permutations: int, rng: np.random.Generator) -> Floats:
    """Distances, shape (items, permutations), of readings dealt out one after the other from the lowest on."""
    then, now = (counts[:, side, None].astype(float) for side in (0, 1))
    taken, energy = np.zeros((len(gaps), n_permutations)), np.zeros((len(gaps), n_permutations))
    for place in range(gaps.shape[1]):
        left = then + now - place
        # with this chance the next one is of then; beyond the last reading of an item nothing is left
        taken += rng.random(taken.shape) * left < then - taken
        apart = taken * (1 / then + 1 / now) - (place + 1) / now
        energy += gaps[:, place, None] * apart * apart
    return 2 * energy
