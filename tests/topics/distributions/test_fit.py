"""Draws beside their probabilities: every outcome, p-values under both hypotheses, the temperature of labels."""

import itertools
from math import comb

import numpy as np
import pytest
from refusal import message
from scipy import stats

from calib.stats import CalibWarning, distribution_fit, fit_temperature, sampled_entropy, temper

LEVELS = [1, 2, 3]


def drawn(p, n_draws, rng):
    """Draws of each row of p, as levels 1, 2, ..."""
    upper = np.cumsum(p, axis=1)[:, None, :-1]
    return 1.0 + (rng.random((len(p), n_draws, 1)) > upper).sum(axis=2)


def test_total_variation_and_chi_square_by_hand():
    samples, p = [[1, 1, 2, 2], [1, 3, 3, np.nan]], [[0.5, 0.25, 0.25], [0.5, 0.0, 0.5]]
    result = distribution_fit(samples, p, LEVELS, n_resamples=9, rng=1)
    # item 1: (.5, .5, 0) against p; item 2: (1/3, 0, 2/3)
    assert result.total_variation == pytest.approx((0.25 + 1 / 6) / 2)
    assert result.chi_square == pytest.approx((2 - 1) ** 2 + (0 - 1) ** 2 + 2 * 0.5**2 / 1.5)
    assert (result.n, result.n_draws, result.n_unread, result.df) == (2, 7, 1, 3)
    assert result.entropy_exact == pytest.approx((1.5 * np.log(2) + np.log(2)) / 2)
    assert result.entropy_sampled == pytest.approx((np.log(2) + stats.entropy([1, 2])) / 2)
    assert result.entropy_corrected == pytest.approx(result.entropy_sampled + (1 / 8 + 1 / 6) / 2)


@pytest.mark.parametrize("n_draws", [1, 2, 5])
def test_what_sampling_alone_gives_by_all_outcomes(n_draws):
    p = np.array([[0.5, 0.3, 0.2], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]])
    counts = [c for c in itertools.product(range(n_draws + 1), repeat=3) if sum(c) == n_draws]
    distance, nats = 0.0, 0.0
    for row in p:
        chance = [comb(n_draws, a) * comb(n_draws - a, b) * np.prod(row ** np.array([a, b, c])) for a, b, c in counts]
        distance += np.dot(chance, [np.abs(np.array(c) / n_draws - row).sum() / 2 for c in counts]) / 3
        nats += np.dot(chance, sampled_entropy(counts, correction="none")) / 3
    samples = np.tile([[2], [3], [1]], n_draws)
    result = distribution_fit(samples, p, LEVELS, n_resamples=1)
    assert result.total_variation_expected == pytest.approx(distance, abs=1e-12)
    assert result.entropy_expected == pytest.approx(nats, abs=1e-12)


@pytest.mark.slow
def test_p_values_are_uniform_where_draws_come_from_the_probabilities():
    """Three draws of skewed items, where the chi-square law fails."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet([0.3, 0.3, 0.3], 30)
    found = [distribution_fit(drawn(p, 3, rng), p, LEVELS, n_resamples=99, rng=rng) for _ in range(300)]
    for name in ("p_value", "tau_p_value"):
        assert stats.kstest([getattr(r, name) for r in found], "uniform").pvalue > 0.01
    mean = np.mean([r.total_variation - r.total_variation_expected for r in found])
    assert abs(mean) < 4 * np.std([r.total_variation for r in found]) / np.sqrt(300)
    entropies = np.array([r.entropy_sampled - r.entropy_expected for r in found])
    assert abs(entropies.mean()) < 4 * entropies.std() / np.sqrt(300)
    by_law = [stats.chi2.sf(r.chi_square, r.df) for r in found]
    assert stats.kstest(by_law, "uniform").pvalue < 1e-6


def test_draws_of_another_temperature_are_found_out():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 200)
    same = distribution_fit(drawn(p, 10, rng), p, LEVELS, rng=1)
    assert same.tau_p_value > 0.05
    assert (distribution_fit(np.ones((9, 3)), [[1, 0, 0]] * 9, LEVELS).tau_p_value) == 1
    for tau in (0.7, 1.4):
        other = distribution_fit(drawn(temper(p, tau), 10, rng), p, LEVELS, rng=1)
        assert other.tau == pytest.approx(tau, abs=0.15)
        assert other.tau_p_value == 0.002  # the least that 999 resamples can give
        assert other.total_variation > other.total_variation_expected
        assert (other.entropy_sampled < other.entropy_expected) == (tau < 1)
    # which a chi-square statistic does not see: colder draws come where they are expected
    assert distribution_fit(drawn(temper(p, 0.7), 10, rng), p, LEVELS, rng=1).p_value > 0.05


def test_temperature_of_draws_is_that_of_labels():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1, 1, 1], 50)
    samples = drawn(p, 4, rng)
    rows = np.repeat(np.arange(50), 4)
    wanted = fit_temperature(p[rows], samples.ravel(), LEVELS, groups=rows).tau
    assert distribution_fit(samples, p, LEVELS, n_resamples=9).tau == pytest.approx(wanted)


def test_impossible_draws_are_counted_and_left_out():
    samples, p = [[1, 2, 3, 3], [1, 2, 2, 1], [3, 3, 3, 3]], [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.5, 0.5, 0.0]]
    with pytest.warns(CalibWarning, match="impossible_draws: 6 of 12 draws are of levels with probability 0"):
        result = distribution_fit(samples, p, LEVELS, n_resamples=9)
    assert (result.n, result.n_draws, result.n_impossible, result.n_dropped) == (2, 6, 6, 1)
    rest = distribution_fit([[1, 2, np.nan, np.nan], [1, 2, 2, 1]], p[:2], LEVELS, n_resamples=9)
    assert result.total_variation == rest.total_variation
    assert result.chi_square == rest.chi_square


def test_fit_follows_the_levels_not_their_order():
    rng = np.random.default_rng(6)
    p = rng.dirichlet([1, 1, 1], 40)
    samples = drawn(p, 6, rng)
    straight = distribution_fit(samples, p, LEVELS, n_resamples=9, rng=1)
    turned = distribution_fit(10 * samples, 7 * p[:, [2, 0, 1]], [30, 10, 20], n_resamples=9, rng=1)
    assert turned.total_variation == pytest.approx(straight.total_variation)
    assert turned.chi_square == pytest.approx(straight.chi_square)


def test_same_seed_same_p_value():
    rng = np.random.default_rng(7)
    p = rng.dirichlet([1, 1, 1], 30)
    samples = drawn(p, 5, rng)
    assert distribution_fit(samples, p, LEVELS, rng=3) == distribution_fit(samples, p, LEVELS, rng=3)
    assert distribution_fit(samples, p, LEVELS, rng=3).signature.startswith(
        "draws-against-p|n:30|draws:150|rs:999|seed:3"
    )


def test_messages_of_distribution_fit():
    p = [[0.5, 0.5], [0.2, 0.8]]
    assert message(distribution_fit, [[1, 2]], p, [1, 2]) == "`p` must have the length of `samples` (1), but got 2."
    assert message(distribution_fit, [[1, 2], [1, 5]], p, [1, 2]) == (
        "`samples` must hold nothing but `levels` and NaN, but got 5.0."
    )
    assert message(distribution_fit, [[np.nan], [np.nan]], p, [1, 2]) == (
        "`samples` and `p` must have an item with draws on levels that have mass."
    )
    assert message(distribution_fit, [[1], [1]], p, [1, 2], n_resamples=0) == (
        "`n_resamples` must be a whole number of 1 or more, but got 0."
    )
