"""The interval of a share: Wilson's, with as many answers as the groups leave of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.core.check import Codes
from calib.core.laws import two_sided
from calib.core.result import Interval


class Answers(NamedTuple):
    """What a share is made of: n answers in so many units, of which `split` are not all yes or all no."""

    n: int
    units: int
    split: int


def answers_of(yes: NDArray[np.bool_], unit: Codes) -> Answers:
    """The answers of units 0..k-1, whose split ones are those that the rarer answer is in.

    Examples
    --------
    >>> answers_of(np.array([True, True, False, True]), np.array([0, 0, 1, 1]))
    Answers(n=4, units=2, split=1)
    """
    size, agreed = np.bincount(unit), np.bincount(unit, yes)
    return Answers(len(yes), len(size), int(min((agreed > 0).sum(), (agreed < size).sum())))


def share_interval(share: float, variance: float, answers: Answers, df: float, level: float) -> Interval:
    r"""Wilson's interval with an effective number of answers, which stays within 0 and 1 and holds at 100 %.

    The design effect is d = n V / (p (1 - p)), from 1 to n. Where few units hold the rarer answer they say little
    of it, and where none does, nothing; so one more unit, whose answers would all be alike, is averaged in:
    :math:`d^* = (s d + n / k) / (s + 1)` with s split units of k. The share is worth n / d* answers.

    Examples
    --------
    >>> [round(end, 3) for end in share_interval(1.0, 0.0, Answers(40, 40, 0), np.inf, 0.95)]
    [0.912, 1.0]
    """
    if not np.isfinite(share * variance):
        return Interval(float("nan"), float("nan"))
    effect = per_unit = answers.n / answers.units
    if 0 < share < 1 and variance > 0 and per_unit > 1:
        found = min(max(answers.n * variance / (share * (1 - share)), 1.0), answers.n)
        effect = max(found, (answers.split * found + per_unit) / (answers.split + 1))
    t2 = two_sided(df, level) ** 2 * effect / answers.n
    half = np.sqrt(t2 * (share * (1 - share) + t2 / 4))
    low, high = ((share + t2 / 2 + side * half) / (1 + t2) for side in (-1, 1))
    return Interval(float(max(low, 0.0)), float(min(high, 1.0)))
