"""Temperature fitted to labels, ranked probability scores, curves, and draws at another temperature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import optimize, stats

from calib.stats import (
    CalibWarning,
    entropy,
    expectation,
    fit_temperature,
    ranked_probability_score,
    temper,
    temperature_curve,
)

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


# --- the fit ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:no_skill")
def test_tau_of_two_levels_in_closed_form():
    # every item is sure by logit q, and m of n labels are the mode: tau = logit q / logit (m / n)
    q, n, m = 0.9, 40, 30
    p = np.tile([1 - q, q], (n, 1))
    y = np.repeat([1, 0], [m, n - m])
    result = fit_temperature(p, y, [0, 1])  # the same for every item: after tempering, the base rates
    assert result.tau == pytest.approx(np.log(q / (1 - q)) / np.log(m / (n - m)), rel=1e-9)
    assert result.forecasts[0].nll == pytest.approx(-(m * np.log(q) + (n - m) * np.log(1 - q)) / n)
    assert result.forecasts[1].nll == pytest.approx(result.forecasts[2].nll)
    assert (result.forecasts[0].mean, result.forecasts[1].mean, result.forecasts[2].mean) == pytest.approx(
        (0.9, 0.75, 0.75)
    )


@pytest.mark.parametrize("tau", [0.4, 1.0, 3.0])
def test_tau_maximises_the_likelihood(tau):
    p, y = judged(200, tau, 5)

    def nll(log_tau):
        return -np.mean(np.log(temper(p, np.exp(log_tau))[np.arange(200), y - 1]))

    best = optimize.minimize_scalar(nll, bounds=(-3, 4), method="bounded", options={"xatol": 1e-10})
    result = fit_temperature(p, y, LEVELS)
    assert result.tau == pytest.approx(np.exp(best.x), rel=1e-6)
    assert (result.forecasts[0].nll, result.forecasts[1].nll) == pytest.approx((nll(0.0), best.fun))


def test_two_levels_equal_logistic_regression_through_the_origin():
    sm = pytest.importorskip("statsmodels.api")
    p, y = judged(300, 1.7, 6, k=2)
    logit = np.log(p[:, 1] / p[:, 0])
    wanted = sm.Logit(y - 1, logit[:, None]).fit(disp=0, tol=1e-12)
    robust = sm.Logit(y - 1, logit[:, None]).fit(disp=0, cov_type="HC1").bse[0]
    result = fit_temperature(p, y, [1, 2])
    assert result.tau == pytest.approx(1 / wanted.params[0], rel=1e-8)
    assert result.forecasts[1].nll == pytest.approx(-wanted.llf / 300)
    # by the delta method; ours leaves each label out in turn, which differs by the order of 1 / n
    assert result.std_error == pytest.approx(robust / wanted.params[0] ** 2, rel=0.02)


def test_standard_error_is_that_of_the_jackknife_over_groups():
    p, y = judged(40, 2.0, 7)
    p, y = np.repeat(p, 3, axis=0), np.repeat(y, 3)
    groups = np.repeat(np.arange(40), 3)
    whole = fit_temperature(p, y, LEVELS, groups=groups)
    left_out = [1 / fit_temperature(p[groups != g], y[groups != g], LEVELS).tau for g in range(40)]
    jackknife = np.sqrt(39 / 40 * np.sum((left_out - np.mean(left_out)) ** 2))
    assert whole.std_error == pytest.approx(jackknife * whole.tau**2, rel=0.03)


def test_copies_of_a_label_in_one_group_add_nothing():
    p, y = judged(60, 2.0, 8)
    once = fit_temperature(p, y, LEVELS)
    copied = fit_temperature(np.repeat(p, 4, axis=0), np.repeat(y, 4), LEVELS, groups=np.repeat(range(60), 4))
    assert copied.tau == pytest.approx(once.tau)
    assert copied.interval == pytest.approx(once.interval)
    assert (copied.n, copied.n_groups, copied.estimator) == (240, 60, "likelihood-ratio, clustered")
    naive = fit_temperature(np.repeat(p, 4, axis=0), np.repeat(y, 4), LEVELS)
    assert np.diff(naive.interval)[0] < 0.6 * np.diff(once.interval)[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no_skill")
@pytest.mark.parametrize(("n", "groups", "tau"), [(40, 1, 1.0), (150, 1, 2.5), (30, 4, 2.0)])
def test_interval_covers(n, groups, tau):
    """Labels that follow the model; with groups, each label is there several times."""
    hits, runs = 0, 250
    rng = np.random.default_rng(9)
    for _ in range(runs):
        p = rng.dirichlet(np.ones(4), n)
        y = drawn(temper(p, tau), rng)
        rows = np.repeat(np.arange(n), groups)
        low, high = fit_temperature(p[rows], y[rows], LEVELS, groups=rows if groups > 1 else None).interval
        hits += low <= tau <= high
    # two-sided; with 30 or 40 independent labels the interval is known to cover 93 to 94 %
    assert stats.binomtest(hits, runs, 0.94).pvalue > 0.01
    assert hits < runs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no_skill")
def test_interval_covers_what_labels_that_follow_no_temperature_lead_to():
    """Labels of a few levels only: the likelihood alone would be wrong about its own spread."""
    rng = np.random.default_rng(10)
    source = rng.dirichlet([0.3, 0.3, 0.3, 0.3], 2000) + 0.001
    labels = np.where(rng.random(2000) < 0.3, source.argmax(axis=1) + 1, rng.integers(2, 4, 2000))
    target = fit_temperature(source, labels, LEVELS).tau
    hits = 0
    for _ in range(250):
        rows = rng.integers(2000, size=100)
        low, high = fit_temperature(source[rows], labels[rows], LEVELS).interval
        hits += low <= target <= high
    assert stats.binomtest(hits, 250, 0.945).pvalue > 0.01


def test_confidence_level_widens():
    p, y = judged(100, 1.0, 11)
    narrow, wide = (fit_temperature(p, y, LEVELS, confidence_level=c).interval for c in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_missing_rows_are_left_out():
    p, y = judged(50, 1.0, 12)
    more = np.vstack([p, [[0, 0, 0, 0]], [[0.1, 0.2, 0.3, 0.4]]])
    result = fit_temperature(more, [*y, 2, np.nan], LEVELS)
    alone = fit_temperature(p, y, LEVELS)
    assert (result.n, result.n_missing) == (50, 2)
    assert (result.tau, result.interval) == (alone.tau, alone.interval)


def test_labels_at_the_mode_alone_have_no_lower_end():
    p, _ = judged(30, 1.0, 13)
    y = p.argmax(axis=1) + 1
    with pytest.warns(CalibWarning, match="all_at_mode: every label is the judge's mode"):
        result = fit_temperature(p, y, LEVELS)
    assert (result.tau, result.interval.low, result.forecasts[1].nll, result.forecasts[1].rps) == (0, 0, 0, 0)
    assert np.isnan(result.std_error)
    with pytest.warns(CalibWarning, match="all_at_mode"):  # copies of the labels add nothing here either
        copied = fit_temperature(np.repeat(p, 4, axis=0), np.repeat(y, 4), LEVELS, groups=np.repeat(range(30), 4))
    assert copied.interval == pytest.approx(result.interval)
    # at the upper end the deviance from the best, which is 0, is the squared t quantile
    at_end = temper(p, result.interval.high)[np.arange(30), y - 1]
    assert -2 * np.log(at_end).sum() == pytest.approx(stats.t.ppf(0.975, 29) ** 2)


def test_labels_where_the_judge_does_not_expect_them_have_no_temperature():
    p, _ = judged(30, 1.0, 14)
    with pytest.warns(CalibWarning) as caught:
        result = fit_temperature(p, p.argmin(axis=1) + 1, LEVELS)
    assert (result.tau, result.interval.high) == (np.inf, np.inf)
    assert result.interval.low > 5
    assert result.forecasts[1].nll == pytest.approx(np.log(4))
    assert [str(w.message).partition(":")[0] for w in caught] == ["uninformative"]


def test_impossible_labels_are_counted_and_left_out_or_given_a_floor():
    p, y = judged(60, 1.5, 15)
    p[:3] = np.eye(4)[y[:3] % 4] * 0.6 + np.eye(4)[(y[:3] + 1) % 4] * 0.4
    with pytest.warns(CalibWarning, match="impossible_labels: 3 of 60 labels have probability 0"):
        result = fit_temperature(p, y, LEVELS)
    rest = fit_temperature(p[3:], y[3:], LEVELS)
    assert (result.n, result.n_impossible) == (60, 3)
    assert (result.tau, result.forecasts[0].nll, result.forecasts[1].nll) == (
        rest.tau,
        rest.forecasts[0].nll,
        rest.forecasts[1].nll,
    )
    assert result.forecasts[1].rps > rest.forecasts[1].rps  # where they do count
    floored = fit_temperature(5 * p, y, LEVELS, floor=0.01)  # weights are probabilities before the floor
    assert (floored.n_impossible, floored.floor, floored.warnings) == (0, 0.01, ())
    by_hand = fit_temperature(p / p.sum(axis=1, keepdims=True) + 0.01, y, LEVELS)
    assert floored.tau == pytest.approx(by_hand.tau)
    assert floored.tau > result.tau


def test_base_rates_and_skill():
    p, y = judged(300, 1.0, 16)
    result = fit_temperature(p, y, LEVELS)
    base = np.bincount(y - 1) / 300
    assert result.forecasts[2].nll == pytest.approx(entropy(base))
    assert result.forecasts[2].rps == pytest.approx(
        np.mean(ranked_probability_score(np.tile(base, (300, 1)), y, LEVELS))
    )
    assert result.forecasts[1].skill == pytest.approx(1 - result.forecasts[1].rps / result.forecasts[2].rps)
    assert result.forecasts[2].mean == pytest.approx(y.mean())
    assert result.forecasts[0].mean == pytest.approx(expectation(p, LEVELS).mean())
    assert result.forecasts[1].mean == pytest.approx(expectation(temper(p, result.tau), LEVELS).mean())
    assert result.warnings == ()


def test_fit_follows_the_levels_not_their_order():
    p, y = judged(80, 1.3, 17)
    order = [3, 1, 0, 2]
    turned, straight = fit_temperature(p[:, order], y, np.array(LEVELS)[order]), fit_temperature(p, y, LEVELS)
    for name in ("tau", "interval"):
        assert getattr(turned, name) == pytest.approx(getattr(straight, name), rel=1e-12)
    for one, other in zip(turned.forecasts, straight.forecasts, strict=True):
        assert one == pytest.approx(other, rel=1e-12, nan_ok=True)


def test_no_skill_is_measured_against_the_base_rates_of_the_other_labels():
    p, y = judged(60, 2.0, 8)
    result = fit_temperature(p, y, LEVELS)  # does not warn, although below the base rates with the label itself in
    others = [ranked_probability_score(np.bincount(np.delete(y, i) - 1), y[i], LEVELS) for i in range(60)]
    assert result.forecasts[2].rps < result.forecasts[1].rps < np.mean(others)
    y = np.where(np.arange(60) < 20, p.argmax(axis=1) + 1, 3)  # the judge knows something, base rates more
    others = [ranked_probability_score(np.bincount(np.delete(y, i) - 1), y[i], LEVELS) for i in range(60)]
    with pytest.warns(CalibWarning, match=f"no_skill: .* base rates of the other labels, {np.mean(others):.4f}"):
        result = fit_temperature(p, y, LEVELS)
    assert result.forecasts[1].rps > np.mean(others)


def test_few_groups_warn():
    p, y = judged(40, 1.0, 18)
    with pytest.warns(CalibWarning, match="few_groups: 8 independent groups"):
        fit_temperature(p, y, LEVELS, groups=np.arange(40) % 8)


def test_words_of_the_fit():
    p, y = judged(120, 2.0, 19)
    result = fit_temperature(p, y, LEVELS, groups=np.arange(120) // 2)
    assert str(result).startswith(f"tau = {result.tau:.4g}, 95 % CI [{result.interval.low:.4g}, ")
    assert "|n:120|missing:0|groups:60|" in result.signature
    frame = pytest.importorskip("pandas") and result.to_frame()
    assert list(frame["forecast"]) == ["before", "after", "climatology"]
    assert frame.loc[1, "rps"] == result.forecasts[1].rps


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


def test_messages_of_the_fit():
    p, y = judged(5, 1.0, 22)
    assert message(fit_temperature, p, y[:4], LEVELS) == "`y` must have the length of `p` (5), but got 4."
    assert message(fit_temperature, p, y, LEVELS, groups=[1]) == "`groups` must have the length of `p` (5), but got 1."
    assert message(fit_temperature, p, [1, 2, 3, 4, 5], LEVELS) == (
        "`y` must hold nothing but `levels` and NaN, but got 5.0."
    )
    assert message(fit_temperature, p, y, LEVELS, floor=1) == "`floor` must be at least 0 and below 1, but got 1."
    assert message(fit_temperature, p, y, LEVELS, confidence_level=95) == (
        "`confidence_level` must be between 0 and 1, but got 95."
    )
    assert message(fit_temperature, p, y, [1, 2, 2, 3]) == (
        "`levels` must be two or more distinct numbers, but got [1.0, 2.0, 2.0, 3.0]."
    )


@pytest.mark.parametrize(
    ("p", "y", "groups", "found"),
    [
        (np.eye(3), [1, 2, 3], None, 0),  # point masses: impossible labels, or all the same at any temperature
        (np.ones((3, 3)), [1, 2, 3], None, 0),
        ([[0.5, 0.3, 0.2]] * 3, [1, 2, 3], "aaa", 1),
        ([[0.5, 0.3, 0.2]] * 3, [1, np.nan, np.nan], None, 1),
    ],
)
def test_message_where_temperature_changes_nothing(p, y, groups, found):
    assert message(fit_temperature, p, y, [1, 2, 3], groups=groups and list(groups)) == (
        "`p` and `y` must have two independent labels at least of items with two possible levels of unlike "
        f"probability, or temperature changes nothing, but got {found}."
    )


def test_other_messages():
    assert message(ranked_probability_score, [0.5, 0.5], 1, [1]) == (
        "`levels` must be two or more distinct numbers, but got [1.0]."
    )
    assert message(ranked_probability_score, [0.5, 0.5], 1, [1, 2, 3]) == (
        "`levels` must have one value for each of 2 entries, but got 3."
    )
    assert message(temperature_curve, [[0, 0]], [1, 2]) == "`p` must have mass for some item."
    assert message(temperature_curve, [[1, 0]], [1, 2], taus=[-1]) == "`tau` must not be negative, but got -1."
    assert message(temper, [1, 2], 1, source=0) == "`source` must be above 0 and finite, but got 0."
    assert message(temper, [1, 2], -1) == "`tau` must not be negative, but got -1."
    assert message(temper, [1, 2], 1, pseudocount=-1) == ("`pseudocount` must not be negative, but got -1.")
    assert message(temper, [1, -2], 1) == (
        "`p` must hold weights of one level or more that are not negative, but got [1, -2]."
    )
