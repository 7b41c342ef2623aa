"""Labels and draws on a scale: the place of each among the levels, and how often each level came."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.distributions.distribution import expectation
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats


def places_of(y: ArrayLike, levels: ArrayLike, name: str = "y") -> Codes:
    """The place of each label among the levels in ascending order; -1 where there is no label.

    Examples
    --------
    >>> places_of([3, np.nan, 1], [3, 2, 1])
    array([ 2, -1,  0])
    """
    labels, values = check.array(y, name), np.sort(check.array(levels, "levels", ndim=1))
    if len(values) < 2 or not (np.diff(values) > 0).all():
        raise ArgumentError("levels", "must be two or more distinct numbers", f"got {list(map(float, values))}")
    place = np.searchsorted(values, np.where(np.isnan(labels), values[0], labels)).clip(max=len(values) - 1)
    off = ~np.isnan(labels) & (values[place] != labels)
    if off.any():
        raise ArgumentError(
            name, "must hold nothing but {0} and NaN", f"got {float(labels[off][0])}", mentions=("levels",)
        )
    return np.asarray(np.where(np.isnan(labels), -1, place), dtype=np.intp)


def ascending(p: Floats, levels: ArrayLike) -> Floats:
    """The columns of `p` in ascending order of their levels."""
    expectation(p, levels)  # whose checks of `p` and `levels` are the ones that are wanted
    return p[:, np.argsort(check.array(levels, "levels", ndim=1))]


def tallied(places: Codes, k: int) -> Floats:
    """How often each of k places came in each row; -1 is no place.

    Examples
    --------
    >>> tallied(np.array([[2, -1, 0], [0, 0, 0]]), 3)
    array([[1., 0., 1.],
           [3., 0., 0.]])
    """
    return np.asarray((places[..., None] == np.arange(k)).sum(axis=-2), dtype=float)


def counts_of(counts: ArrayLike) -> Floats:
    """Numbers of draws of each level, in the last axis."""
    draws = check.array(counts, "counts")
    if draws.ndim == 0 or not draws.shape[-1] or (draws < 0).any():
        raise ArgumentError("counts", "must hold numbers of draws that are not negative", f"got {counts!r}")
    return draws
