"""Soft pairwise accuracy: do two raters agree on how sure one may be that one system beats another.

For each pair of systems each rater has a one-sided p-value, that of the paired permutation
test: the scores of the two systems change places in each group or not. Soft pairwise
accuracy is one less the mean distance of the two p-values (Thompson, Mathur, Deutsch and
Khayrallah 2024, "Improving statistical significance in human evaluation of automatic
metrics via soft pairwise accuracy", WMT). Equal sums count half here, so that the order of
the systems does not matter.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from calib.core.check import Floats
from calib.core.numeric import matrix_product, ratio

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
