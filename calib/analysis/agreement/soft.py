"""The interval of a share: Wilson's, with as many answers as the groups leave of them."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.core.check import Codes, Floats
from calib.core.laws import two_sided
from calib.core.numeric import matrix_product, ratio
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


# --- soft pairwise accuracy -------------------------------------------------------------------------------------------


_FLIPS = 1000
_MOST_GROUPS = 10  # groups up to which all signs are gone through


def soft_accuracy(x: Floats, y: Floats, groups: Floats | None = None, systems: Floats | None = None) -> float:
    """Soft pairwise accuracy of mean scores by system and group, shape (systems, groups), NaN where there are none.

    `groups` and `systems` are multiplicities; NaN with fewer than two systems.

    Examples
    --------
    >>> x = np.array([[1.0, 2, 3, 4], [2, 3, 3, 5], [0, 1, 2, 2]])
    >>> soft_accuracy(x, x), round(soft_accuracy(x, x[::-1]), 3)
    (1.0, 0.667)
    """
    if groups is not None:
        columns = np.repeat(np.arange(x.shape[1]), groups.astype(int))
        x, y = x[:, columns], y[:, columns]
    apart = np.abs(_permutation_p_values(x) - _permutation_p_values(y))
    copies, (first, second) = np.ones(len(x)) if systems is None else systems, np.triu_indices(len(x), 1)
    n = copies.sum()
    return float(1 - ratio(matrix_product(1.0 * copies[first] * copies[second], apart), n * (n - 1) / 2))


def _system_differences(values: Floats) -> Floats:
    """Of each pair of systems in each group, shape (pairs, groups); 0 where one of them has no score."""
    first, second = np.triu_indices(len(values), 1)
    return np.nan_to_num(values[first] - values[second])


def _sign_flips(n_groups: int) -> Floats:
    """All signs of few groups; of many, always the same thousand, so that the statistic is one number."""
    if n_groups <= _MOST_GROUPS:
        return np.array(list(product((1.0, -1.0), repeat=n_groups)))
    return np.where(np.random.default_rng(0).integers(2, size=(_FLIPS, n_groups)), 1.0, -1.0)


def _permutation_p_values(values: Floats) -> Floats:
    apart, signs = _system_differences(values), _sign_flips(values.shape[1])
    return _share_above(matrix_product(signs, apart.T), apart.sum(axis=1), np.abs(apart).sum(axis=1))


def _share_above(flipped: Floats, seen: Floats, size: Floats) -> Floats:
    """Share of the flipped sums above the one seen, equal ones by half; last digits do not count."""
    dust = 1e-9 * size
    return np.asarray((flipped > seen + dust).mean(axis=0) + (flipped >= seen - dust).mean(axis=0)) / 2


def soft_leave_out(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Soft pairwise accuracy without each system, each group, and each cell that has scores."""
    m = len(x)
    apart = np.abs(_permutation_p_values(x) - _permutation_p_values(y))
    less = np.abs(_p_values_without_groups(x) - _p_values_without_groups(y))  # (groups, pairs)
    member = np.array([[i in pair for pair in zip(*np.triu_indices(m, 1), strict=True)] for i in range(m)], dtype=float)
    by_system = 1 - ratio(matrix_product(1 - member, apart), (1 - member).sum(axis=1))
    by_cell = 1 - (apart.sum() + matrix_product(member, (less - apart).T)) / len(apart)
    return by_system, 1 - less.mean(axis=1), by_cell[np.isfinite(x)]


def _p_values_without_groups(values: Floats) -> Floats:
    """P-values without each group, shape (groups, pairs)."""
    apart, signs = _system_differences(values), _sign_flips(values.shape[1])
    flipped, seen, size = matrix_product(signs, apart.T), apart.sum(axis=1), np.abs(apart).sum(axis=1)
    less = ((flipped - np.outer(sign, d), seen - d, size - np.abs(d)) for sign, d in zip(signs.T, apart.T, strict=True))
    return np.array([_share_above(*sums) for sums in less])
