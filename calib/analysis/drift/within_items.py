"""Energy distances between two sets of readings of each item, and the same with the readings dealt out anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.core.check import Codes, Floats

_BLOCK = 1 << 17  # numbers that are held at once: what a processor keeps near
_ALIKE, _DUST = 1e-9, 1e-12  # sums that differ by rounding alone are equal


class Dealt(NamedTuple):
    """The distance of each item, and how often readings that were dealt out anew lay as far apart."""

    energy: Floats
    as_far: Codes  # of each item
    as_far_in_all: int  # of the sum over items
    shifted_as_far: int  # of the sum over items of now less then, up or down


def dealt_anew(then: Floats, now: Floats, n_permutations: int, rng: np.random.Generator) -> Dealt:
    """Within each item every reading is as likely to be one of then as one of now, whatever the others are."""
    gaps, sides, counts = _sorted(then, now)
    shift, energy = _apart(gaps, sides)
    as_far, total = np.full(len(gaps), n_permutations, dtype=np.intp), np.zeros((2, n_permutations))
    moving = np.flatnonzero((gaps > 0).any(axis=1))  # of others nothing can change
    rows = max(1, _BLOCK // (8 * n_permutations))
    for start in range(0, len(moving), rows):
        block = moving[start : start + rows]
        drawn = _drawn(gaps[block], counts[block], n_permutations, rng)
        as_far[block] = _not_below(drawn[1], energy[block, None]).sum(axis=1)
        total += drawn.sum(axis=1)
    reached = _not_below(np.abs(total), np.abs([[shift.sum()], [energy.sum()]])).sum(axis=1)
    return Dealt(energy, as_far, int(reached[1]), int(reached[0]))


def _not_below(drawn: Floats, seen: Floats) -> NDArray[np.bool_]:
    return np.asarray(drawn >= seen * (1 - _ALIKE) - _DUST)


def _sorted(then: Floats, now: Floats) -> tuple[Floats, Floats, Codes]:
    """Of each item: gaps between its sorted readings, which of them are of then (NaN: none), how many of each side."""
    values = np.concatenate([then, now], axis=1)
    there = ~np.isnan(values)
    side = np.where(there, np.arange(values.shape[1]) < then.shape[1], np.nan)
    order = np.argsort(np.where(there, values, np.inf), axis=1, kind="stable")
    values, side = (np.take_along_axis(one, order, axis=1) for one in (values, side))
    counts = np.stack([(side == 1).sum(axis=1), (side == 0).sum(axis=1)], axis=1)
    return np.nan_to_num(np.diff(values, axis=1)), side, counts


def _apart(gaps: Floats, sides: Floats) -> tuple[Floats, Floats]:
    """Of each item the mean of now less that of then, the integral of F - G, and the distance, 2 of (F - G)**2."""
    shares = [np.cumsum(sides == one, axis=1) / (sides == one).sum(axis=1, keepdims=True) for one in (1, 0)]
    apart = (shares[0] - shares[1])[:, :-1]
    return (gaps * apart).sum(axis=1), 2 * (gaps * apart**2).sum(axis=1)


def _drawn(gaps: Floats, counts: Codes, n_permutations: int, rng: np.random.Generator) -> Floats:
    """Shifts and distances, shape (2, items, permutations), of readings dealt out in turn from the lowest on."""
    then, now = (counts[:, side, None].astype(float) for side in (0, 1))
    taken, out = np.zeros((len(gaps), n_permutations)), np.zeros((2, len(gaps), n_permutations))
    for place in range(gaps.shape[1]):
        left = then + now - place
        # with this chance the next one is of then; beyond the last reading of an item there is no gap
        taken += rng.random(taken.shape) * left < then - taken
        apart = taken * (1 / then + 1 / now) - (place + 1) / now
        step = gaps[:, place, None] * apart
        out[0] += step
        out[1] += 2 * step * apart
    return out
