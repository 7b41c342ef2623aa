"""Ranked probability scores, temperature curves, and draws at another temperature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message

from calib.stats import ranked_probability_score, temper, temperature_curve

LEVELS = [1, 2, 3, 4]


def judged(n, tau, seed, k=4):
    """Probabilities of a judge, and labels that follow them at temperature `tau`."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return p, drawn(temper(p, tau), rng)


def drawn(p, rng):
    return 1 + (rng.random(len(p))[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)


# --- ranked probability score -----------------------------------------------------------------------------------


def test_ranked_probability_score_of_point_masses():
    # F is 0 or 1 at each of the K - 1 cuts: the score is the number of levels between, over K - 1
    points, labels = np.eye(4)[[0, 1, 2, 3, 0, 1]], [1, 2, 4, 1, 4, 3]
    assert_allclose(ranked_probability_score(points, labels, LEVELS), [0, 0, 1 / 3, 1, 1, 1 / 3])


def test_ranked_probability_score_of_two_levels_is_the_brier_score():
    p = np.linspace(0, 1, 11)
    forecasts = np.column_stack([1 - p, p])
    assert_allclose(ranked_probability_score(forecasts, np.ones(11), [0, 1]), (1 - p) ** 2)


def test_ranked_probability_score_by_its_integral():
    """The distance between distribution functions over scores 1 to K, where each cut is one unit wide."""
    p, y = judged(20, 1.0, 1, k=5)
    points = np.linspace(1, 5, 4001)[:-1]
    reached = (p[:, :, None] * (np.arange(1, 6)[:, None] <= points)).sum(axis=1)
    wanted = np.mean((reached - (y[:, None] <= points)) ** 2, axis=1)
    assert_allclose(ranked_probability_score(p, y, range(1, 6)), wanted, atol=1e-12)


def test_ranked_probability_score_is_proper():
    truth, others = np.array([0.1, 0.2, 0.4, 0.3]), np.random.default_rng(2).dirichlet(np.ones(4), 200)

    def risk(q):
        return sum(
            share * ranked_probability_score(q, level, LEVELS) for share, level in zip(truth, LEVELS, strict=True)
        )

    assert min(risk(q) for q in others) > risk(truth)


def test_ranked_probability_score_follows_the_levels_not_their_order():
    p, y = judged(30, 1.0, 3)
    order = [2, 0, 3, 1]
    straight = ranked_probability_score(p, y, LEVELS)
    assert_allclose(ranked_probability_score(p[:, order], y, np.array(LEVELS)[order]), straight)
    assert_allclose(ranked_probability_score(7 * p, 10.0 * y, [10, 20, 30, 40]), straight)
    missing = ranked_probability_score([[0.5, 0.5], [0, 0]], [np.nan, 1], [1, 2])
    assert np.isnan(missing).all()


# --- curve and conversion ---------------------------------------------------------------------------------------


def test_curve_is_the_mean_at_each_temperature():
    p, _ = judged(50, 1.0, 20)
    p[3] = 0
    result = temperature_curve(p, LEVELS, taus=[0, 0.5, 1, 2, np.inf])
    rest = np.delete(p, 3, axis=0)
    assert result.n == 49
    assert result.forecasts[0].mean == pytest.approx(1 + rest.argmax(axis=1).mean())
    assert result.forecasts[1].mean == pytest.approx((rest**2 @ LEVELS / (rest**2).sum(axis=1)).mean())
    assert result.forecasts[2].mean == pytest.approx((rest @ LEVELS).mean())
    assert (result.forecasts[4].mean, result.forecasts[4].entropy) == pytest.approx((2.5, np.log(4)))
    assert result.forecasts[0].entropy == 0
    assert (np.diff([one.entropy for one in result.forecasts]) > 0).all()


def test_temper_of_many_draws_gives_the_probabilities_at_the_other_temperature():
    rng = np.random.default_rng(21)
    truth = np.array([[0.02, 0.18, 0.5, 0.3], [0.25, 0.25, 0.4, 0.1]])
    counts = rng.multinomial(200_000, temper(truth, 0.7))
    assert_allclose(temper(counts, 1, source=0.7, pseudocount=0.1), truth, atol=0.005)
    assert_allclose(temper(counts, 2, source=0.7, pseudocount=0.1), temper(truth, 2), atol=0.005)
    assert_allclose(temper(counts, 0, source=0.7, pseudocount=0.1), temper(truth, 0))


def test_temper_adds_the_pseudocount_first():
    # (1.1, .1, 3.1) to the power of 2, by hand
    squares = np.array([1.21, 0.01, 9.61])
    assert_allclose(temper([1, 0, 3], 0.5, source=1, pseudocount=0.1), squares / 10.83)
    assert_allclose(temper([1, 0, 3], 1, source=2, pseudocount=1), np.array([4, 1, 16]) / 21)
    unsmoothed = temper([1, 0, 3], 100, source=1)
    assert unsmoothed[1] == 0  # however high the temperature
    assert np.isnan(temper([0, 0], 1, pseudocount=0.1)).all()


# --- messages ---------------------------------------------------------------------------------------------------


def test_other_messages():
    assert message(ranked_probability_score, [0.5, 0.5], 1, [1]) == (
        "`levels` must be two or more distinct numbers, but got [1.0]."
    )
    assert message(ranked_probability_score, [0.5, 0.5], 1, [1, 2, 3]) == (
        "`levels` must have one value for each of 2 entries, but got 3."
    )
    assert message(temperature_curve, [[0, 0]], [1, 2]) == "`p` must have mass for some item."
    assert message(temperature_curve, [[1, 0]], [1, 2], taus=[-1]) == "`tau` must not be negative, but got -1."
