"""Items that belong together: the independent units of a sample, and sums over each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import recoded


def units_of(groups: Labels | None, used: NDArray[np.bool_]) -> Codes:
    """The unit of each item in use, as 0..k-1: its group, or the item itself where there are no groups.

    Examples
    --------
    >>> units_of(["a", "b", "c", "c"], np.array([True, False, True, True]))
    array([0, 1, 1])
    """
    if groups is None:
        return np.arange(used.sum(), dtype=np.intp)
    if len(groups) != len(used):
        raise ArgumentError("groups", f"must have one label per item ({len(used)})", f"got {len(groups)}")
    return recoded(check.codes(groups, "groups")[used])


def unit_sums(rows: NDArray[Any], unit: Codes) -> Floats:
    """Sums over the rows of each unit.

    Examples
    --------
    >>> unit_sums(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0, 1, 0]))
    array([[6., 8.],
           [3., 4.]])
    """
    sums = np.zeros((int(unit.max()) + 1, *rows.shape[1:]))
    np.add.at(sums, unit, rows)
    return sums
