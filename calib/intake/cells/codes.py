"""Numbers and rows that stand for no score: -1, 99 and their like, zeros that may be none, a row of means below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.core.check import Floats
from calib.intake.cells.words import folded
from calib.table import TableArgumentError, parse_scale

# ends of the usual scales, shortest first; those in _BOTH only where both ends are there
_USUAL = ((0, 1), (-1, 1), (0, 2), (1, 3), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))
_BOTH = ((-1, 1), (0, 2), (1, 3))
_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
_FAR = 5.0  # times as high as the scale of the others
_SUMMARIES = frozenset((
    "mean", "average", "avg", "total", "totals", "grand total", "sum", "median", "std", "sd", "count", "min", "max",
    "mittelwert", "summe", "moyenne", "promedio",
))  # fmt: skip


def guessed_scale(*columns: pd.Series) -> str:
    """The smallest of the usual scales that holds all numbers of all columns, or "" where none does.

    The usual ones are 0|1, -1|0|1, 0|1|2, 1|2|3, 1 to 5, 0 to 5, 1 to 7, 1 to 10, 0 to 10, 0..100. The second to the
    fourth are taken only where both ends are seen: values from 1 to 3 in ten rows may well be of 1 to 5, and a scale
    that is too long makes an interval wider, one that is too short makes it wrong. Where no column is of whole numbers
    alone, the scale is continuous ("0..1"); a judge's expectations between the values of people's labels are on the
    scale of these.

    Examples
    --------
    >>> guessed_scale(pd.Series([1, 4, 5]), pd.Series([3.7, 2.2, 4.9]))
    '1|2|3|4|5'
    >>> guessed_scale(pd.Series([0.1, 0.93])), guessed_scale(pd.Series([-3.0, 250.0]))
    ('0..1', '')
    """
    held = [values[np.isfinite(values)] for values in (np.asarray(column, dtype=float) for column in columns)]
    held = [values for values in held if len(values)]
    if not held:
        return ""
    low, high = min(values.min() for values in held), max(values.max() for values in held)
    whole = any((values % 1 == 0).all() for values in held)
    for ends in _USUAL:
        seen = (low, high) == ends or ends not in _BOTH or (not whole and ends == (-1, 1))
        if ends[0] <= low and high <= ends[1] and seen:
            listed = whole and ends[1] - ends[0] <= 10
            return "|".join(map(str, range(ends[0], ends[1] + 1))) if listed else f"{ends[0]}..{ends[1]}"
    return ""


def are_codes(numbers: Floats, scale: str) -> NDArray[np.bool_]:
    """Which numbers say that there is none: -1, 99 and their like, and 0, that are off the scale which was said.

    Where none was said, those that are far from the usual scale of all others.

    Examples
    --------
    >>> are_codes(np.array([4, 99, 2, 5.0]), "").tolist(), are_codes(np.array([-1, 0, 1, 1.0]), "").tolist()
    ([False, True, False, False], [False, False, False, False])
    >>> are_codes(np.array([4, 0, 2]), "1|2|3|4|5").tolist()
    [False, True, False]
    """
    coded, ends = np.isin(numbers, _CODES), parse_scale(scale)
    if ends is not None:
        off: NDArray[np.bool_] = (numbers < ends.low) | (numbers > ends.high)
        return off & np.isin(numbers, (*_CODES, 0.0))
    rest = numbers[~coded]
    usual = parse_scale(guessed_scale(pd.Series(rest)))
    if usual is None or not coded.any() or len(set(rest)) < 2:
        return np.zeros(len(numbers), dtype=bool)
    fine = usual.high > 10 or (usual.high == 1 and bool((rest % 1).any()))  # -1 is no step of such a scale
    near = 0.0 if fine else 2.0 if rest.max() <= 2 else 1.0
    far: NDArray[np.bool_] = (numbers < usual.low - near) | (numbers > _FAR * usual.high)
    return far & coded


def refuse_unclear_low(f: pd.Series, y: pd.Series, criterion: str, notes: list[str]) -> None:
    """A lowest value, 0 or -1, that one side alone has: no label, or the lowest? Asked where it is the commonest."""
    for mine, other, what in ((y, f, "labels"), (f, y, "scores of the judge")):
        low, rest = mine.min(), mine[mine > mine.min()]
        if not len(other) or low not in (0, -1) or rest.nunique() < 2 or not _are_of_one(rest, other):
            continue
        many = f"{int((mine == low).sum())} of {len(mine)} {what} of {criterion} are {low:g}, and none of the others"
        without, within = guessed_scale(rest, other), guessed_scale(mine, other)
        if what == "labels" and mine.value_counts().idxmax() == low:
            rule = f"must say whether {low:g} is a score: {without!r} takes it for none, {within!r} for the lowest"
            raise TableArgumentError("scale", rule, f"says nothing, and {many}")
        if rest.max() >= other.max():  # else it may be 0 to 4 beside 1 to 5
            notes.append(f"{many}: scale={without!r} takes {low:g} for no score.")


def _are_of_one(rest: pd.Series, other: pd.Series) -> bool:
    """Whether both are on one scale, of which the other side uses no more than the rest."""
    whole, scale = bool((rest % 1 == 0).all()), guessed_scale(rest)
    return bool(whole and scale and scale == guessed_scale(other) and other.min() >= rest.min())


def n_summaries(ids: Sequence[object]) -> int:
    """How many of the last rows are no items but their means and sums.

    Examples
    --------
    >>> n_summaries(["a", "b", "c", "Average", "std"]), n_summaries(["a", "total", "b"])
    (2, 0)
    """
    names = [folded(str(name)).rstrip(":") for name in ids]
    last = next((place for place, name in enumerate(reversed(names)) if name not in _SUMMARIES), len(names))
    return last if 2 * last < len(names) else 0
