"""What draws vary by: other programs, closed theory, brute force, simulation."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.stats import CalibWarning, icc, spearman_brown, variance_components

NAN = math.nan
# `Dyestuff` and `Dyestuff2` of the R package lme4: six batches, five samples of each, from Davies and Goldsmith (1972),
# Statistical Methods in Research and Production, and from Box and Tiao (1973), Bayesian Inference (simulated)
DYESTUFF = [
    [1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495], [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545], [1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445],
]  # fmt: skip
DYESTUFF_2 = [
    [7.298, 3.846, 2.434, 9.566, 7.990], [5.220, 6.556, 0.608, 11.788, -0.892], [0.110, 10.386, 13.434, 5.510, 8.166],
    [2.212, 4.852, 7.092, 9.288, 4.980], [0.282, 9.014, 4.458, 9.446, 7.198], [1.722, 4.782, 8.106, 0.758, 3.758],
]  # fmt: skip
# Shrout and Fleiss (1979), table 2: six targets, four judges
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def normal(rng, n, k, r, unread=0.0):
    x = rng.normal(size=(n, 1)) + math.sqrt(r) * rng.normal(size=(n, k))
    return np.where(rng.random(x.shape) < unread, NAN, x)


def unbalanced(seed=0, n=30, k=7, r=1.5):
    """Some items with one draw, one with none; items in groups of different sizes."""
    x = normal(np.random.default_rng(seed), n, k, r, unread=0.5)
    x[3], x[4, 1:] = NAN, NAN
    return x, np.random.default_rng(seed + 1).integers(0, 9, n)


def f_ratio(x):
    """From scipy."""
    read = [row[np.isfinite(row)] for row in np.asarray(x, dtype=float)]
    return stats.f_oneway(*[row for row in read if len(row)]).statistic


def n_zero(x):
    m = np.isfinite(x).sum(axis=1)
    return (m.sum() - (m**2).sum() / m.sum()) / (np.sum(m > 0) - 1)


# --- the components against other programs ----------------------------------------------------------------------


def test_dyestuff_as_lme4_has_it():
    # lmer(Yield ~ 1 + (1 | Batch), Dyestuff): Batch 1764, Residual 2451 (Bates et al. 2015, and ?Dyestuff)
    result = variance_components(DYESTUFF)
    assert_allclose([result.between, result.within], [1764.05, 2451.25], atol=0.005)
    assert result.clipped is False
    assert result.warnings == ()


def test_dyestuff_2_has_no_batches():
    # lmer(Yield ~ 1 + (1 | Batch), Dyestuff2): Batch 0
    with pytest.warns(CalibWarning, match="`between` was set to 0"):
        result = variance_components(DYESTUFF_2)
    assert (result.between, result.r, result.icc, result.clipped) == (0, math.inf, 0, True)
    assert_allclose(result.within, np.var(DYESTUFF_2, axis=1, ddof=1).mean())
    assert result.interval.high == math.inf
    assert result.icc_interval.low == 0
    assert result.warnings[0].startswith("clipped: ")


def test_shrout_and_fleiss_have_these_reliabilities():
    # their table 4: ICC(1,1) = .17, ICC(1,4) = .44
    result = variance_components(SHROUT_FLEISS)
    assert_allclose([result.icc, spearman_brown(result.icc, 4)], [0.17, 0.44], atol=0.005)
    assert_allclose(result.icc, icc(SHROUT_FLEISS).estimates["ICC(1)"], rtol=1e-12)


def test_moments_give_the_f_ratio_of_scipy():
    x, _ = unbalanced()
    result = variance_components(x)
    assert_allclose(1 + n_zero(x) / result.r, f_ratio(x), rtol=1e-12)
    noise = [((row - np.nanmean(row)) ** 2)[np.isfinite(row)].sum() for row in x if np.isfinite(row).any()]
    assert_allclose(result.within, sum(noise) / (np.isfinite(x).sum() - 29), rtol=1e-12)


@pytest.mark.slow
def test_components_are_unbiased_with_unread_draws():
    rng = np.random.default_rng(11)
    found = []
    for _ in range(150):
        result = variance_components(2 * normal(rng, 60, 5, 0.7, unread=0.4))
        found.append((result.within, result.between))
    error = np.std(found, axis=0, ddof=1) / math.sqrt(150)
    assert (np.abs(np.mean(found, axis=0) - [2.8, 4.0]) < 3.5 * error).all()
    assert (error < 0.09).all()


def test_noise_that_differs_by_item_is_averaged():
    # with equal counts the moments need no equal variances
    rng = np.random.default_rng(12)
    sd = np.where(np.arange(4000) % 2, 0.2, 2.0)[:, None]
    result = variance_components(rng.normal(size=(4000, 1)) + sd * rng.normal(size=(4000, 6)))
    assert_allclose([result.within, result.between], [(0.04 + 4) / 2, 1], rtol=0.06)


def test_counts():
    x, groups = unbalanced()
    result = variance_components(x, groups=groups)
    m = np.isfinite(x).sum(axis=1)
    assert (result.n, result.n_dropped, result.n_groups) == (29, 1, len(set(np.delete(groups, 3))))
    assert result.n_unread == np.isnan(np.delete(x, 3, axis=0)).sum()
    assert_allclose(result.n_draws, stats.hmean(m[m > 0]))
    assert variance_components(x).n_groups == 29


def test_only_the_interval_knows_of_groups():
    x, groups = unbalanced()
    alone, together = variance_components(x), variance_components(x, groups=groups)
    assert (alone.r, alone.within) == (together.r, together.within)
    assert alone.interval != together.interval


def test_units_of_measurement_do_not_matter():
    x, _ = unbalanced(2)
    first, second = variance_components(x), variance_components(1e6 - 250 * x)
    assert_allclose([second.r, *second.interval], [first.r, *first.interval], rtol=1e-6)
    assert_allclose(second.between, 62500 * first.between, rtol=1e-6)


# --- the interval -----------------------------------------------------------------------------------------------


def by_hand(point, without, level=0.95):
    """A jackknife interval from its values."""
    k, off = len(without), np.asarray(without) - np.mean(without)
    error = math.sqrt((k - 1) / k * np.sum(off**2))
    df = min(2 * k / (np.mean(off**4) / np.mean(off**2) ** 2 - (k - 3) / (k - 1)), k - 1)
    half = stats.t.ppf((1 + level) / 2, df) * error
    return point - half, point + half


@pytest.mark.parametrize("grouped", [False, True])
def test_the_interval_leaves_out_one_unit_at_a_time(grouped):
    x, groups = unbalanced(4, r=0.4)
    unit = groups if grouped else np.arange(len(x))
    kept = [u for u in np.unique(unit) if np.isfinite(x[unit == u]).any()]
    values = [math.log(f_ratio(x[unit != u])) for u in kept]
    low, high = by_hand(math.log(f_ratio(x)), values, 0.9)
    result = variance_components(x, groups=groups if grouped else None, confidence_level=0.9)
    assert_allclose(result.interval, [n_zero(x) / math.expm1(end) for end in (high, low)], rtol=1e-9)
    assert_allclose(result.icc_interval, [1 / (1 + r) for r in result.interval[::-1]], rtol=1e-9)
    assert result.confidence_level == 0.9


def hits(draw, r, reps=2000, ends=lambda x: variance_components(x).interval):
    inside = 0
    for _ in range(reps):
        low, high = ends(draw())
        inside += low <= r <= high
    return inside


def whole_scores(rng, n, k):
    """Scores 1 to 5 whose spread differs by item; a third of the items never vary."""
    p = rng.dirichlet([0.4, 0.8, 1, 0.8, 0.4], size=n)
    sure = rng.random(n) < 1 / 3
    p[sure] = np.eye(5)[rng.integers(0, 5, sure.sum())]
    return (rng.random((n, k))[:, :, None] > p.cumsum(axis=1)[:, None, :4]).sum(axis=2) + 1.0


def ratio_of_whole_scores():
    """From the moments of Dirichlet and uniform distributions."""
    a, levels = np.array([0.4, 0.8, 1, 0.8, 0.4]), np.arange(1, 6)
    spread = a @ (levels - 3) ** 2 / a.sum()
    between = 2 / 3 * spread / (a.sum() + 1) + 1 / 3 * 2
    return 2 / 3 * spread * a.sum() / (a.sum() + 1) / between


@pytest.mark.slow
def test_coverage_with_normal_draws():
    rng = np.random.default_rng(21)
    count = hits(lambda: normal(rng, 100, 4, 1.5), 1.5)
    assert stats.binomtest(count, 2000, 0.95).pvalue > 0.01


@pytest.mark.slow
def test_coverage_with_whole_scores_and_where_the_f_interval_fails():
    r, rng = ratio_of_whole_scores(), np.random.default_rng(22)
    count = hits(lambda: whole_scores(rng, 150, 3), r)
    assert stats.binomtest(count, 2000, 0.95).pvalue > 0.01

    def exact_f(x):
        low, high = icc(x).intervals["ICC(1)"]
        return 1 / high - 1, 1 / low - 1

    rng = np.random.default_rng(22)
    assert hits(lambda: whole_scores(rng, 150, 3), r, reps=300, ends=exact_f) < 0.9 * 300


def test_items_that_may_not_differ_have_an_r_without_end():
    rng = np.random.default_rng(3)
    result = variance_components(normal(rng, 30, 2, 20.0))
    assert 0 < result.interval.low < 20
    assert result.interval.high == math.inf
    assert result.icc_interval.low == 0


# --- nothing to learn from --------------------------------------------------------------------------------------


def test_equal_draws_have_no_noise():
    with pytest.warns(CalibWarning, match="all draws of each item are equal"):
        result = variance_components([[0.1, 0.1, 0.1], [0.7, 0.7, 0.7], [1.3, 1.3, 1.3]])
    assert (result.within, result.r, result.icc) == (0, 0, 1)
    assert_allclose(result.between, 0.36)
    assert np.isnan([*result.interval, *result.icc_interval, result.df]).all()
    assert "no interval" in str(result)


def test_equal_means_do_not_differ():
    with pytest.warns(CalibWarning):
        result = variance_components([[1.1, 3.1], [0.1, 4.1], [2.1, 2.1]])
    assert (result.between, result.r, result.clipped) == (0, math.inf, True)


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (([[1, 1], [2, 2], [3, 3], [4, 5]],), {}),  # one noisy item does not say how noisy others are
        (([[1, 2], [4, 6]],), {}),
        ((DYESTUFF,), {"groups": [1] * 6}),
        (([1, 2, 4], [1, 1, 2]), {"groups": [1] * 3}),
    ],
)
def test_one_unit_says_nothing_of_others(args, options):
    result = variance_components(*args, **options)
    assert (result.interval, result.icc_interval) == ((0, math.inf), (0, 1))


def test_where_nothing_varies_nothing_is_known():
    with pytest.warns(CalibWarning):
        result = variance_components([[2, 2], [2, 2]])
    assert np.isnan([result.r, result.icc]).all()


FEW = "`samples` must have values for two items, and two for one of them, but has fewer."
X = [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("args", "options", "wanted"),
    [
        (([1, 2],), {}, "`samples` must have 2 dimensions, but got shape (2,)."),
        (([[1], [2]],), {}, FEW),
        (([[1, 2], [NAN, NAN]],), {}, FEW),
        ((X,), {"groups": "a"}, "`groups` must have one label per item (2), but got 1."),
        ((X,), {"confidence_level": 95}, "`confidence_level` must be between 0 and 1, but got 95."),
        (([1, 2], [1]), {}, "`variances` must have the shape of `samples` (2,), but got (1,)."),
        (([1, 2], [1, -1]), {}, "`variances` must not be negative, but got -1."),
        (([1, 2], [1, NAN]), {}, "`samples` and `variances` must be known for two items at least, but got 1."),
        ((np.ones((2, 2, 2)), np.ones((2, 2, 2))), {}, "`samples` must have 2 dimensions, but got shape (2, 2, 2)."),
    ],
)
def test_messages_of_components(args, options, wanted):
    assert message(variance_components, *args, **options) == wanted


# --- exact distributions ----------------------------------------------------------------------------------------


def test_exact_components_are_what_draws_estimate():
    rng = np.random.default_rng(30)
    p = rng.dirichlet([0.5, 1, 1.5, 1, 0.5], size=300)
    levels = np.arange(1, 6)
    mean = p @ levels
    variance = p @ levels**2 - mean**2
    exact = variance_components(mean, variance)
    assert_allclose([exact.within, exact.between], [variance.mean(), np.var(mean, ddof=1)])
    assert (exact.estimator, exact.n_draws, exact.n_unread) == ("logprob", math.inf, 0)
    x = (rng.random((300, 500))[:, :, None] > p.cumsum(axis=1)[:, None, :4]).sum(axis=2) + 1.0
    drawn = variance_components(x)
    assert_allclose([drawn.r, *drawn.interval], [exact.r, *exact.interval], rtol=0.03)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_interval_of_exact_components(grouped):
    rng = np.random.default_rng(31)
    mean, variance, groups = rng.normal(size=40), rng.exponential(size=40), rng.integers(0, 8, 40)
    unit = groups if grouped else np.arange(40)
    keep = [unit != u for u in np.unique(unit)]
    values = [math.log(variance[k].mean() / np.var(mean[k], ddof=1)) for k in keep]
    ends = by_hand(math.log(variance.mean() / np.var(mean, ddof=1)), values)
    result = variance_components([*mean, NAN], [*variance, 1], groups=[*groups, 0] if grouped else None)
    assert_allclose(result.interval, np.exp(ends), rtol=1e-9)
    assert (result.n, result.n_dropped) == (40, 1)


def test_a_variance_may_be_rounded_below_zero():
    assert variance_components([1, 2, 4], [1, -1e-15, 2]).within == 1


def test_equal_expectations_have_an_infinite_r():
    result = variance_components([0.1 + 0.2, 0.3 + 5e-17, 0.1 + 0.2], [1, 2, 3])
    assert (result.between, result.r, result.clipped) == (0, math.inf, False)


# --- surface ----------------------------------------------------------------------------------------------------


def test_results_print_and_tabulate():
    result = variance_components(DYESTUFF, groups=[0, 0, 1, 1, 2, 2])
    assert str(result).startswith("r = 1.39, 95 % CI [")
    assert str(result).endswith("a single draw has reliability 0.4185 (6 items, 5 draws each)")
    assert result.signature.startswith(
        "components:moments|ci:jackknife|cl:0.95|n:6|dropped:0|draws:5|unread:0|groups:3"
    )
    assert [row["quantity"] for row in result._rows()] == ["within", "between", "r", "icc"]
    assert {len(row) for row in result._rows()} == {5}
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.r = 0
    exact = variance_components([1, 2, 4], [1, 1, 2])
    assert str(exact).endswith("(3 items, exact distributions)")
