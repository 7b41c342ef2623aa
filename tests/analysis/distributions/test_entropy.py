"""Entropy from fewer draws: scipy and every subset."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message

from calib.stats import entropy, expected_entropy


@pytest.mark.parametrize("counts", [[3, 2, 1], [6, 0, 0], [1, 1, 4], [2, 0, 4]])
def test_expected_entropy_by_all_subsets(counts):
    draws = np.repeat(np.arange(3), counts)
    for n in range(1, 7):
        subsets = [np.bincount(subset, minlength=3) for subset in itertools.combinations(draws, n)]
        assert expected_entropy(counts, n) == pytest.approx(np.mean(entropy(subsets)), abs=1e-12)


def test_expected_entropy_takes_many_items_and_sizes():
    counts = np.random.default_rng(3).multinomial([[20], [10]], [0.6, 0.3, 0.1], (2, 4))
    table = expected_entropy(counts, [[1, 2, 5], [10, 11, 20]])
    assert table.shape == (2, 4, 2, 3)
    for i in np.ndindex(2, 4):
        assert_allclose(table[i][0], [expected_entropy(counts[i], n) for n in (1, 2, 5)], atol=1e-14)
    # an item with 10 draws has no subset of 11 or 20
    assert np.isnan(table[1, :, 1, 1:]).all()
    assert np.isfinite(table[0]).all()


def test_expected_entropy_grows_with_the_draws():
    values = expected_entropy([50, 30, 15, 5], [1, 2, 5, 20, 100])
    assert (np.diff(values) > 0).all()
    assert values[-1] == pytest.approx(entropy([50, 30, 15, 5]), abs=1e-12)


def test_messages_of_entropy():
    rule = "`counts` must hold whole numbers of draws that are not negative, but got "
    assert message(expected_entropy, [1, 2], 0) == "`n` must be whole numbers of 1 or more, but got 0."
    assert message(expected_entropy, [1, 2], [1, 1.5]) == "`n` must be whole numbers of 1 or more, but got 1.5."
    for counts in ([0.5, 0.5], [-1, 2], []):
        assert message(expected_entropy, counts, 1) == f"{rule}{counts}."
