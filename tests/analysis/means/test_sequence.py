"""A mean watched label by label: the published boundary, an integrated likelihood ratio, and peeking simulated."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize, stats

from calib.analysis.means.moments import Moments
from calib.analysis.means.sequence import (
    JudgePool,
    betting,
    confidence_sequence,
    fortune,
    reach,
    reached,
    rectified,
    sequence,
    spread_best_at,
    stakes,
)

NAN = math.nan


def message(*args, **options):
    with pytest.raises(ValueError) as caught:
        confidence_sequence(*args, **{"bounds": (1, 5)} | options)
    return str(caught.value)


def stream(seed=0, n=200, pool=3000):
    """Labels 1 to 5 in random order, judge scores of the same, and of all."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 6, pool).astype(float)
    f = 0.7 * y + 0.5 + rng.normal(size=pool)
    return y[:n], f[:n], f


# --- the boundary -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [12, 30, 60])
@pytest.mark.parametrize("pool", [0.0, 0.004])
def test_the_boundary_is_where_the_bayes_factor_is_one_over_alpha(t, pool):
    # the t statistic integrated over a normal effect size, by the trapezoid rule: an effect of variance pool + spread
    # against one of variance pool (a point at 0 if there is no pool error)
    spread, alpha = 0.2, 0.05
    statistic = math.sqrt(float(reach(np.array([float(t)]), pool, spread, alpha)[0]) * (t - 1))

    def marginal(variance):
        if variance == 0:
            return stats.t.pdf(statistic, t - 1)
        effect = (statistic + np.linspace(-12, 12, 1201)) / math.sqrt(t)
        density = stats.nct.pdf(statistic, t - 1, effect * math.sqrt(t)) * stats.norm.pdf(
            effect, 0, math.sqrt(variance)
        )
        return integrate.trapezoid(density, effect)

    assert_allclose(marginal(pool + spread) / marginal(pool), 1 / alpha, rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_it_becomes_the_asymptotic_confidence_sequence(alpha):
    # Waudby-Smith et al. (2024), equation (10): sqrt(2 (t rho^2 + 1) / (t^2 rho^2) log(sqrt(t rho^2 + 1) / alpha))
    spread, t = 0.03, np.array([1e5, 1e6])
    published = np.sqrt(2 * (t * spread + 1) / (t**2 * spread) * np.log(np.sqrt(t * spread + 1) / alpha))
    found = np.sqrt(reach(t, 0.0, spread, alpha) * (t - 1) / t)
    assert_allclose(found, published, rtol=3e-4)  # the difference is of order log(t) / t


@pytest.mark.parametrize("target_n", [20, 500])
def test_it_is_narrowest_where_it_is_asked_to_be(target_n):
    alpha, t = 0.05, float(target_n)

    def width(spread):  # of the published boundary
        return (t * spread + 1) / (t**2 * spread) * np.log(np.sqrt(t * spread + 1) / alpha)

    best = optimize.minimize_scalar(lambda s: width(math.exp(s)), bounds=(-12, 3), method="bounded").x
    assert_allclose(spread_best_at(target_n, alpha), math.exp(best), rtol=1e-3)


def test_few_labels_exclude_nothing():
    assert np.isinf(reach(np.array([2.0, 5.0, 8.0]), 0.0, spread_best_at(100, 0.05), 0.05)).all()
    y, f, pool = stream()
    assert confidence_sequence(y, f, pool, bounds=None).at(10) == (-math.inf, math.inf)
    # twelve labels could be the mildest of a scale that is wider than they show
    wide = confidence_sequence(y[:12], f[:12], pool, bounds=(-1000, 1000)).at(12)
    assert wide.high - wide.low > 500


# --- the sequence -----------------------------------------------------------------------------------------------


def test_an_interval_knows_no_later_label():
    y, f, pool = stream()
    long, short = (confidence_sequence(y[:n], f[:n], pool, bounds=(1, 5)) for n in (200, 60))
    assert (short.n_labels == np.arange(10, 61)).all()
    for name in ("estimate", "low", "high", "lam"):
        assert_allclose(getattr(short, name), getattr(long, name)[:51], rtol=1e-12)


def test_lambda_is_the_slope_of_the_labels_before():
    y, f, pool = stream()
    found = confidence_sequence(y, f, pool, bounds=None)
    for n in (10, 50, 200):
        before = slice(n - 1)
        x = f[before] - f[before].mean()
        slope = np.sum(x * y[before]) / (np.sum(x**2) + 4 * pool.var(ddof=1))
        assert_allclose(found.lam[n - 10], slope, rtol=1e-10)
        z = y[:n] - np.array([0.0 if i == 0 else learnt(y[:i], f[:i], pool) for i in range(n)]) * (f[:n] - pool.mean())
        assert_allclose(found.estimate[n - 10], z.mean(), rtol=1e-12)


def learnt(y, f, pool):
    x = f - f.mean()
    return min(max(np.sum(x * y) / (np.sum(x**2) + 4 * pool.var(ddof=1)), 0.0), 1.0)


def test_a_judge_without_weight_leaves_the_labels():
    y, f, pool = stream()
    alone = confidence_sequence(y, f, pool, bounds=None, lam=0)
    assert_allclose(alone.estimate, (np.cumsum(y) / np.arange(1, 201))[9:])
    n, t = 80, 80.0
    half = np.sqrt(
        reach(np.array([t]), 0.0, spread_best_at(100, 0.05), 0.05)[0] * np.sum((y[:n] - y[:n].mean()) ** 2) / t
    )
    assert_allclose(alone.at(n), (y[:n].mean() - half, y[:n].mean() + half))
    assert_allclose(confidence_sequence(y, np.ones(200), np.ones(50), bounds=None).low, alone.low)


def test_a_biased_judge_changes_nothing():
    y, f, pool = stream()
    one, two = (confidence_sequence(y, f + bias, pool + bias, bounds=(1, 5)) for bias in (0, 0.8))
    assert_allclose(one.low, two.low, rtol=1e-10)


def test_the_benchmark_itself_has_no_error_of_the_pool():
    y, f, pool = stream(pool=400)
    item, whole = (confidence_sequence(y, f, pool, bounds=(1, 5), target=t) for t in ("population", "benchmark"))
    assert (whole.high - whole.low <= item.high - item.low).all()
    assert whole.at(200).high - whole.at(200).low < 0.97 * (item.at(200).high - item.at(200).low)
    many = confidence_sequence(y, f, np.tile(pool, 5000), bounds=(1, 5))
    assert_allclose(many.low, whole.low, atol=0.01)  # even an error that cannot be seen has a multiplier below 1


def test_moments_stand_for_the_pool():
    y, f, pool = stream()
    chunks = Moments.from_chunks([pool[:1000], pool[1000:]])
    assert_allclose(
        confidence_sequence(y, f, chunks, bounds=(1, 5)).low, confidence_sequence(y, f, pool, bounds=(1, 5)).low
    )


def test_intervals_stay_on_the_scale_and_never_have_no_width():
    rng = np.random.default_rng(2)
    f = rng.normal(size=500)
    for y in (np.full(300, 5.0), np.full(300, 1.0), np.where(np.arange(300) == 40, 1.0, 5.0)):
        found = confidence_sequence(y, f[:300], f, bounds=(1, 5))
        assert found.low.min() >= 1
        assert found.high.max() <= 5
        assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()
        assert (found.high - found.low).min() > 0.05
    # nothing is known of the spread of labels that never varied
    constant = confidence_sequence(np.full(30, 5.0), f[:30], f, bounds=None)
    assert constant.at(30) == (-math.inf, math.inf)


# --- peeking ----------------------------------------------------------------------------------------------------


LOOKS = slice(9, None, 10)


def peeked(y, f, truth, bounds, pool):
    """Runs that miss the truth at some look (every tenth label): the bets, and the fixed t interval."""
    judge = JudgePool(pool.mean(), pool.var(), math.inf, (min(pool.min(), f.min()), max(pool.max(), f.max())))
    moving, t = rectified(y, f, judge, None), np.arange(1, y.shape[1] + 1)
    stake, (low, high) = stakes(moving, bounds, 100, 0.05), reached(moving, judge, bounds)
    missed = fortune(moving.z, low, stake, truth) >= math.log(40)
    missed |= fortune(-moving.z, -high, stake, -truth) >= math.log(40)
    error = np.sqrt(moving.squares / np.maximum(t - 1, 1) / t)
    fixed = np.abs(moving.mean - truth) > stats.t.ppf(0.975, np.maximum(t - 1, 1)) * error
    return int(missed[:, LOOKS].any(axis=1).sum()), int(fixed[:, LOOKS].any(axis=1).sum())


MILD, CEILING = (0.05, 0.10, 0.20, 0.40, 0.25), (0.01, 0.02, 0.05, 0.17, 0.75)


def ordinal(rng, shares, runs, r):
    latent = rng.normal(size=runs)
    y = np.searchsorted(stats.norm.ppf(np.cumsum(shares)[:-1]), latent).astype(float)
    return y, r * latent + math.sqrt(1 - r * r) * rng.normal(size=runs)


def copied(rng, y, share, passed, failed):
    """A judge who copies people but passes a share of items that fail."""
    fails = rng.random(y.shape) < share
    return np.where(fails, failed, y), np.where(fails, passed, y)


def drawn_from(name, rng, size):
    """Labels and judge scores of a population, and the ends of its scale."""
    if name in {"ordinary", "ceiling"}:
        y, f = ordinal(rng, MILD if name == "ordinary" else CEILING, size, 0.7)
        return y + 1, f, (1, 5)
    if name == "yes in nine of ten":
        return (*ordinal(rng, (0.1, 0.9), size, 0.7), (0, 1))
    if name.startswith("copies on 1 to 5, passes"):
        y = ordinal(rng, MILD, size, 1)[0] + 1
        return (*copied(rng, y, float(name.split()[-1]) / 100, 5, 1), (1, 5))
    if name.startswith("copies yes or no"):
        return (*copied(rng, (rng.random(size) < 0.9).astype(float), 0.03, 1, 0), (0, 1))
    if name == "constant judge":
        return ordinal(rng, MILD, size, 0)[0] + 1, np.full(size, 4.0), (1, 5)
    if name == "spike":
        y = np.where(rng.random(size) < 0.9, 6.0, np.where(rng.random(size) < 0.5, 1.0, 7.0))
        return y, np.clip(y + rng.normal(size=size), 1, 7), (1, 7)
    y = np.where(rng.random(size) < 0.6, 0, np.clip(np.round(40 + 20 * rng.normal(size=size)), 0, 100))
    return y, np.clip(y + 15 * rng.normal(size=size) * (y > 0), 0, 100), (0, 100)


POPULATIONS = (
    "ordinary",
    "ceiling",
    "yes in nine of ten",
    "copies on 1 to 5, passes 1",
    "copies on 1 to 5, passes 3",
    "copies on 1 to 5, passes 10",
    "copies yes or no",
    "constant judge",
    "spike",
    "zero-inflated",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_peeking_up_to_1000_labels_keeps_the_level(name):
    rng, runs = np.random.default_rng(31), 600
    y, f, bounds = drawn_from(name, rng, (runs, 1000))
    truth, pool, _ = drawn_from(name, rng, 1_000_000)
    bet_misses, fixed_misses = peeked(y, f, truth.mean(), bounds, pool)
    assert stats.binomtest(bet_misses, runs, 0.05, alternative="greater").pvalue > 0.01
    assert bet_misses > 0
    # 15 % is far below what was measured over 3,000 runs
    assert stats.binomtest(fixed_misses, runs, 0.15, alternative="less").pvalue > 0.01


def test_no_bet_wins_on_average():
    # every sequence of three labels that can come, with its chance: the players' expected fortune is their stake
    rng = np.random.default_rng(4)
    values, judged = np.array([1.0, 2.0, 5.0]), np.array([1.0, 5.0])
    joint = rng.dirichlet(np.ones(6)).reshape(3, 2)
    judge = JudgePool(float(joint.sum(axis=0) @ judged), 3.0, math.inf, (1, 5))
    ways = np.array(np.meshgrid(*[np.arange(6)] * 3)).reshape(3, -1).T
    y, f, chance = values[ways // 2], judged[ways % 2], joint.ravel()[ways].prod(axis=1)
    moving, truth = rectified(y, f, judge, None), float(joint.sum(axis=1) @ values)
    stake, (low, high) = stakes(moving, (1, 5), 5, 0.05), reached(moving, judge, (1, 5))
    for held in (fortune(moving.z, low, stake, truth), fortune(-moving.z, -high, stake, -truth)):
        assert_allclose(chance @ np.exp(held), 1, rtol=1e-12)
        assert np.ptp(held[:, -1]) > 0.1


def test_an_end_is_where_the_bets_win_forty_times_the_stake():
    y, f, pool = stream()
    judge = JudgePool(pool.mean(), pool.var(ddof=1), math.inf, (min(pool.min(), f.min()), max(pool.max(), f.max())))
    moving = rectified(y, f, judge, None)
    found = confidence_sequence(y, f, pool, bounds=(1, 5), target="benchmark")
    stake, (low, high) = stakes(moving, (1, 5), 100, 0.05), reached(moving, judge, (1, 5))
    for n in (40, 120, 200):
        mirrored = (-moving.z, -high, stake, -found.at(n).high)
        for held in (fortune(moving.z, low, stake, found.at(n).low), fortune(*mirrored)):
            assert_allclose(held[n - 1], math.log(40), atol=0.002)


def test_labels_that_are_all_alike_leave_what_the_largest_bet_leaves():
    # n labels at the top, no judge: each won at most 0.9 (5 - m) / (m - 1), and soon one player bet as much each time
    n, f = 200, np.zeros(200)
    found = confidence_sequence(np.full(n, 5.0), f, f, bounds=(1, 5)).at(n)
    assert found.high == 5
    one_of_four, all_four = (1 + 0.9 * 4 / ((40 * share) ** (1 / n) - 0.1) for share in (4, 1))
    assert one_of_four - 0.01 < found.low < all_four


@pytest.mark.slow
def test_normal_scores_use_up_some_of_the_level_and_no_more():
    # exact for normal labels of unknown variance: every look from 10 to 1,000, no bounds
    rng, runs = np.random.default_rng(32), 1500
    y = 3 + rng.normal(size=(runs, 1000))
    judge = JudgePool(0.0, 1.0, math.inf)
    _, low, high = sequence(rectified(y, np.zeros_like(y), judge, 0.0), judge, 100, 0.05)
    misses = int(((low > 3) | (high < 3)).any(axis=1).sum())
    assert stats.binomtest(misses, runs, 0.05, alternative="greater").pvalue > 0.01
    assert stats.binomtest(misses, runs, 0.015, alternative="less").pvalue > 0.01


def test_the_error_of_a_small_pool_is_paid_for():
    # 600 labels lean on a pool of 300: the pool's error is most of it
    rng, runs = np.random.default_rng(33), 800
    f = rng.normal(size=(runs, 600))
    y = f + 0.3 * rng.normal(size=(runs, 600))
    mean = rng.normal(size=(runs, 1)) / math.sqrt(300)
    moving = rectified(y, f, JudgePool(mean, 1.0, 300), 1.0)
    missed = {}
    for n in (300, math.inf):
        _, low, high = sequence(moving, JudgePool(mean, 1.0, n), 100, 0.05)
        missed[n] = int(((low > 0) | (high < 0))[:, 9:].any(axis=1).sum())
    assert stats.binomtest(missed[300], runs, 0.05, alternative="greater").pvalue > 0.01
    assert missed[math.inf] > 0.2 * runs


@pytest.mark.long
@pytest.mark.slow
def test_bets_pay_for_the_error_of_a_small_pool():
    # 300 labels of a pool of 300 whose judge is nearly right: the pool's error is most of it
    rng, runs = np.random.default_rng(34), 400
    f = np.clip(3 + 0.8 * rng.normal(size=(runs, 300)), 1, 5)
    y = np.clip(f + 0.1 * rng.normal(size=f.shape), 1, 5)
    truth = float(np.clip(3 + 0.8 * rng.normal(size=1_000_000), 1, 5).mean())
    missed = dict.fromkeys((300, math.inf), 0)
    for one, other in zip(y, f, strict=True):
        for n in missed:
            judge = JudgePool(other.mean(), other.var(ddof=1), n, (1, 5))
            _, low, high = betting(rectified(one, other, judge, None), judge, (1, 5), 100, 0.05)
            missed[n] += bool(((low > truth) | (high < truth))[LOOKS].any())
    assert stats.binomtest(missed[300], runs, 0.05, alternative="greater").pvalue > 0.01
    assert missed[math.inf] > 0.2 * runs


# --- what it says -----------------------------------------------------------------------------------------------


def test_it_tells_itself():
    found = confidence_sequence(*stream(), bounds=(1, 5))
    low, high = found.at(200)
    assert str(found) == (
        f"after 200 labels the human mean = {found.estimate[-1]:.4g}, 95 % CI [{low:.4g}, {high:.4g}], at every look"
    )
    assert found.signature.startswith(
        "confidence-sequence|of:human-mean|cl:0.95|target:population|best-at:100|labels:200"
    )
    assert found._rows()[0]["n_labels"] == 10


def test_the_frame_has_a_row_per_look():
    pytest.importorskip("pandas")
    frame = confidence_sequence(*stream(), bounds=(1, 5)).to_frame()
    assert list(frame) == ["n_labels", "estimate", "conf_low", "conf_high", "lam"]
    assert len(frame) == 191


def test_messages():
    y, f, pool = stream()
    assert message(y[:9], f[:9], pool) == "`y` must have 10 values or more, but got 9."
    assert message(y, f, pool[:1]) == "`f_pool` must have 2 values or more, but got 1."
    assert message(y, f[:50], pool) == "`f` must have the length of `y` (200), but got 50."
    assert message([*y[:20], NAN], f[:21], pool) == "`y` must have a score for each item, but got NaN at 20."
    assert message(y, f, pool, bounds=(2, 5)).startswith("`y` must lie within `bounds` (2 to 5), but got 1 at ")
    assert message(y, f, pool, bounds=(5, 1)) == (
        "`bounds` must be two finite numbers, the smaller first, but got (5, 1)."
    )
    assert message(y, f, pool, target="pool") == "`target` must be one of 'population', 'benchmark', but got 'pool'."
    with pytest.raises(ValueError, match=r"^`n` must be from 10 to 200, but got 9\.$"):
        confidence_sequence(y, f, pool, bounds=(1, 5)).at(9)


def test_without_bounds_an_end_lies_where_the_likelihood_ratio_is_1_over_alpha():
    """The equation of the docstring, with g by numpy's variances; of a small pool, whose error counts."""
    rng = np.random.default_rng(2)
    pool = rng.normal(size=40)
    f = pool[:14]
    y, lam, alpha = f + rng.normal(size=14), 0.8, 0.1
    found = confidence_sequence(y, f, pool, bounds=None, lam=lam, target_n=14, confidence_level=1 - alpha)
    z = y - lam * (f - pool.mean())
    for t, estimate, high in zip(found.n_labels, found.estimate, found.high, strict=True):
        variance = np.var(z[:t], ddof=1)
        x = (high - estimate) ** 2 * t / (variance * (t - 1))
        a0 = 1 + lam**2 * np.var(pool, ddof=1) / len(pool) / variance * t
        a1 = a0 + spread_best_at(14, alpha) * t
        ratio = ((1 + x / a0) / (1 + x / a1)) ** (t / 2)
        assert ratio == pytest.approx(math.sqrt(a1 / a0) / alpha, rel=1e-9)
