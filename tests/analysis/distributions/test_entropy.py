"""Entropy from few draws: scipy, every subset and every sequence."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.stats import entropy, expected_entropy, sampled_entropy


def test_sampled_entropy_by_hand():
    plug_in = -(0.6 * np.log(0.6) + 0.4 * np.log(0.4))
    assert sampled_entropy([3, 2, 0], correction="none") == pytest.approx(plug_in)
    assert sampled_entropy([3, 2, 0]) == pytest.approx(plug_in + 1 / 10)  # two levels came: (2 - 1) / (2 * 5)
    assert sampled_entropy([5, 0, 0]) == 0
    assert np.isnan(sampled_entropy([[0, 0], [0, 0]])).all()


def test_sampled_entropy_equals_scipy():
    counts = np.random.default_rng(1).integers(1, 9, (20, 4))
    assert_allclose(sampled_entropy(counts, correction="none"), stats.entropy(counts, axis=1))


@pytest.mark.parametrize("correction", ["none", "miller-madow"])
@pytest.mark.parametrize("counts", [[3, 2, 1], [6, 0, 0], [1, 1, 4], [2, 0, 4]])
def test_expected_entropy_by_all_subsets(counts, correction):
    draws = np.repeat(np.arange(3), counts)
    for n in range(1, 7):
        subsets = [np.bincount(subset, minlength=3) for subset in itertools.combinations(draws, n)]
        wanted = np.mean(sampled_entropy(subsets, correction=correction))
        assert expected_entropy(counts, n, correction=correction) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("correction", ["none", "miller-madow"])
@pytest.mark.parametrize("p", [[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [1.0, 0.0, 0.0]])
def test_expected_entropy_of_new_draws_by_all_sequences(p, correction):
    for n in (1, 2, 5):
        sequences = np.array(list(itertools.product(range(3), repeat=n)))
        chance = np.prod(np.array(p)[sequences], axis=1)
        counts = [np.bincount(row, minlength=3) for row in sequences]
        wanted = chance @ sampled_entropy(counts, correction=correction)
        assert expected_entropy(p, n, replace=True, correction=correction) == pytest.approx(wanted, abs=1e-12)


def test_expected_entropy_takes_many_items_and_sizes():
    counts = np.random.default_rng(3).multinomial([[20], [10]], [0.6, 0.3, 0.1], (2, 4))
    table = expected_entropy(counts, [[1, 2, 5], [10, 11, 20]])
    assert table.shape == (2, 4, 2, 3)
    for i in np.ndindex(2, 4):
        assert_allclose(table[i][0], [expected_entropy(counts[i], n) for n in (1, 2, 5)], atol=1e-14)
    # an item with 10 draws has no subset of 11 or 20
    assert np.isnan(table[1, :, 1, 1:]).all()
    assert np.isfinite(table[0]).all()


def test_expected_entropy_grows_with_the_draws_to_that_of_the_distribution():
    p = [0.5, 0.3, 0.15, 0.05]
    sizes = np.array([1, 2, 5, 20, 100, 1000])
    values = expected_entropy(p, sizes, replace=True)
    assert (np.diff(values) > 0).all()
    # to first order the bias is (K - 1) / 2n; Miller and Madow take it away
    assert (entropy(p) - values[-1]) * 1000 == pytest.approx(1.5, rel=0.02)
    assert abs(expected_entropy(p, 1000, replace=True, correction="miller-madow") - entropy(p)) < 1e-5


def test_messages_of_entropy():
    rule = "`counts` must hold numbers of draws that are not negative, but got "
    assert message(sampled_entropy, [-1, 2]) == f"{rule}[-1, 2]."
    assert message(sampled_entropy, [1, 2], correction="chao") == (
        "`correction` must be one of 'miller-madow', 'none', but got 'chao'."
    )
    assert message(expected_entropy, [1, 2], 0) == "`n` must be whole numbers of 1 or more, but got 0."
    assert message(expected_entropy, [1, 2], [1, 1.5]) == "`n` must be whole numbers of 1 or more, but got 1.5."
    assert (
        message(expected_entropy, [0.5, 0.5], 1) == "`counts` must be whole numbers without replacement, but got 0.5."
    )
    assert message(expected_entropy, [-1, 2], 1) == f"{rule}[-1, 2]."
    assert message(expected_entropy, [], 1) == f"{rule}[]."
