"""The permutation within items against what can be counted by hand."""

from itertools import combinations

import numpy as np
import pytest

from calib.analysis.drift.reading_change import _apart, _sorted, dealt_anew


def energies(then, now):
    """Energy distance of each row's readings."""
    gaps, sides, _ = _sorted(then, now)
    return _apart(gaps, sides)[1]


def present(readings):
    return readings[~np.isnan(readings)]


def by_pairs(a, b):
    """2 E|a - b| - E|a - a'| - E|b - b'| as it is defined, over all pairs."""

    def mean(x, y):
        return np.abs(np.subtract.outer(x, y)).mean()

    return 2 * mean(a, b) - mean(a, a) - mean(b, b)


def ragged(seed, then=4, now=3):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, 6, (40, then)).astype(float), rng.integers(1, 6, (40, now)).astype(float)
    a[3, -1] = b[7, :-1] = np.nan
    if then > 2:
        a[7, 0] = a[3, 1] = np.nan
    return a, b


def test_a_sum_over_gaps_is_the_mean_over_pairs():
    a, b = ragged(0)
    expected = [by_pairs(present(x), present(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(energies(a, b), expected, atol=1e-12)


@pytest.mark.parametrize(("then", "now"), [(4, 3), (4, 1), (2, 2), (5, 4)])
def test_shares_as_far_are_those_of_all_ways_to_deal(then, now):
    a, b = ragged(1, then, now)
    draws = 20_000
    found = dealt_anew(a, b, draws, np.random.default_rng(2)).as_far / draws
    for i in range(12):
        values, size = np.concatenate([present(a[i]), present(b[i])]), len(present(a[i]))
        ways = [by_pairs(values[list(c)], np.delete(values, c)) for c in combinations(range(len(values)), size)]
        exact = np.mean(np.array(ways) >= by_pairs(present(a[i]), present(b[i])) - 1e-9)
        assert abs(found[i] - exact) < 5 * np.sqrt(0.25 / draws)


def test_the_sum_is_as_far_as_often_as_all_ways_of_two_items_say():
    a, b = np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([[4.0, 2.0], [5.0, 1.0]])
    each = []
    for x, y in zip(a, b, strict=True):
        values = np.concatenate([x, y])
        each.append([by_pairs(values[list(c)], np.delete(values, c)) for c in combinations(range(4), 2)])
    exact = np.mean(np.add.outer(*each) >= energies(a, b).sum() - 1e-9)
    draws = 40_000
    found = dealt_anew(a, b, draws, np.random.default_rng(3)).as_far_in_all / draws
    assert abs(found - exact) < 5 * np.sqrt(0.25 / draws)


def test_readings_that_are_all_alike_say_nothing():
    dealt = dealt_anew(np.full((5, 3), 2.0), np.full((5, 2), 2.0), 99, np.random.default_rng(0))
    assert dealt.energy.tolist() == [0.0] * 5
    assert dealt.as_far.tolist() == [99] * 5
    assert dealt.as_far_in_all == 99
