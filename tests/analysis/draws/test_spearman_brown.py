"""What a mean of draws is worth: simulated means, closed theory, fewest draws by trial."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message

from calib.stats import attenuation, draws_needed, precision_gain, spearman_brown


def test_reliability_is_the_correlation_of_two_means():
    rng = np.random.default_rng(40)
    x = rng.normal(size=(20000, 1)) + math.sqrt(1.5) * rng.normal(size=(20000, 10))
    pair = np.corrcoef(x[:, :5].mean(axis=1), x[:, 5:].mean(axis=1))[0, 1]
    assert_allclose(spearman_brown(1 / 2.5, 5), pair, atol=0.006)


def test_attenuation_is_the_correlation_with_the_exact_expectation():
    rng = np.random.default_rng(41)
    truth = rng.normal(size=20000)
    mean = truth + math.sqrt(5.71 / 20) * rng.normal(size=20000)
    assert_allclose(attenuation(5.71, 20), np.corrcoef(truth, mean)[0, 1], atol=0.006)


def test_attenuation_is_the_root_of_reliability():
    r, n = np.array([0, 0.04, 1.5, 20])[:, None], np.array([1, 2.5, 100])
    assert_allclose(attenuation(r, n) ** 2, spearman_brown(1 / (1 + r), n), rtol=1e-12)


def test_ends_of_the_scale():
    assert spearman_brown(0, 7) == 0
    assert spearman_brown(1, 7) == 1
    assert spearman_brown(0.1, math.inf) == 1
    assert attenuation(math.inf, 20) == 0
    assert attenuation(0, 1) == attenuation(3, math.inf) == 1
    assert np.isnan(attenuation(math.nan, 2))


@pytest.mark.parametrize(
    ("rho", "r", "factors"),
    [
        # effective sample sizes 1 / (1 - rho_N^2) for N = 1, 2, 5, 20 and without end, computed independently
        (0.55, 1.5, [1.138, 1.209, 1.303, 1.392, 1.434]),
        (0.65, 0.04, [1.684, 1.707, 1.722, 1.729, 1.732]),
    ],
)
def test_what_draws_are_worth_in_labels(rho, r, factors):
    reached = rho * attenuation(r, [1, 2, 5, 20, math.inf])
    assert_allclose(1 / (1 - reached**2), factors, atol=6e-4)


def test_gain_of_twenty_draws_depends_on_the_judge():
    # computed independently; "20 draws recover 80 %" holds for r near 5.9 alone
    gain = precision_gain([0.5, 1.5, 5.71, 11.25, 20], 20)
    assert_allclose(gain, [0.933, 0.903, 0.808, 0.720, 0.625], atol=6e-4)


def test_gain_is_a_share_of_the_way():
    r, n = np.array([0.04, 1.5, 20])[:, None], np.array([1, 3, 20, 1e9])
    way = (attenuation(r, n) - attenuation(r, 1)) / (1 - attenuation(r, 1))
    assert_allclose(precision_gain(r, n), way, atol=1e-9)
    assert_allclose(precision_gain(1e-12, 20), 0.95, rtol=1e-9)  # its limit, 1 - 1/n
    assert precision_gain(0, 20) == 0.95
    assert precision_gain(math.inf, 20) == 0
    assert precision_gain(2, math.inf) == 1
    assert isinstance(precision_gain(2, 3), float)


@pytest.mark.parametrize("target", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("r", [0, 0.04, 0.5, 1.51, 5.71, 20.74])
def test_draws_needed_are_the_fewest(r, target):
    n = draws_needed(r, target)
    assert isinstance(n, int)
    assert attenuation(r, n) >= target
    assert n == 1 or attenuation(r, n - 1) < target


@pytest.mark.parametrize("target", [0.3, 0.6, 0.8, 0.9, 0.95, 0.999])
def test_rounding_error_costs_no_draw(target):
    ratio = target**2 / (1 - target**2)
    assert [draws_needed(n / ratio, target) for n in range(1, 300)] == list(range(1, 300))
    assert draws_needed(7 / ratio * (1 + 1e-7), target) == 8


def test_messages_of_a_mean():
    assert message(spearman_brown, 1.2, 3) == "`icc` must be from 0 to 1, but got 1.2."
    assert message(spearman_brown, 0.2, 0) == "`n` must be above 0, but got 0."
    assert message(attenuation, -1, 3) == "`r` must not be negative, but got -1."
    assert message(attenuation, 1, [2, math.nan]) == "`n` must be above 0, but got [2, nan]."
    assert message(precision_gain, 1, 0.5) == "`n` must be at least 1, but got 0.5."
    assert message(draws_needed, 1, 1) == "`target` must be between 0 and 1, but got 1."
    assert message(draws_needed, math.inf, 0.9) == "`r` must be finite, but got inf: no number of draws is enough."
    assert message(draws_needed, math.nan, 0.9) == "`r` must be finite, but got nan: no number of draws is enough."
