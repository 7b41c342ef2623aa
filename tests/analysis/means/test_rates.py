"""Rates from counts: statsmodels and published numbers as oracles, identities, and simulated coverage."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import special, stats

from calib.analysis.means.rates import clopper_pearson, jeffreys, post_stratified
from calib.core.numeric import wilson

quick = settings(deadline=None, derandomize=True)
counts = st.integers(0, 30)
JUDGES = {"poor": (0.7, 0.2), "good": (0.9, 0.05), "excellent": (0.98, 0.01)}


def draws(seed, reps, p, judge, n, rest):
    """Gold counts k1, n1, k0, n0 and unlabelled counts N1, N0 of many data sets."""
    sens, fpr = JUDGES[judge]
    cells = [p * sens, p * (1 - sens), (1 - p) * fpr, (1 - p) * (1 - fpr)]
    rng = np.random.default_rng(seed)
    gold = rng.multinomial(n, cells, size=reps).T
    yes = rng.binomial(rest, cells[0] + cells[2], size=reps)
    return gold[0], gold[0] + gold[2], gold[1], gold[1] + gold[3], yes, rest - yes


# --- labels alone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ours", "theirs"), [(jeffreys, "jeffreys"), (clopper_pearson, "beta"), (wilson, "wilson")])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_label_only_intervals_equal_statsmodels(ours, theirs, level):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    k, n = np.arange(1, 20), 20  # statsmodels has other ends for Jeffreys at 0 and n
    wanted = proportion.proportion_confint(k, n, 1 - level, theirs)
    assert_allclose(ours(k, n, special.ndtri((1 + level) / 2) if ours is wilson else level), wanted, rtol=1e-10)


def test_intervals_in_numbers():
    low, high = jeffreys([0, 8, 10], 10, 0.95)
    assert low.round(4).tolist() == [0, 0.4972, 0.7828]
    assert high.round(4).tolist() == [0.2172, 0.9559, 1]
    assert [float(end.round(4)) for end in clopper_pearson(8, 10, 0.95)] == [0.4439, 0.9748]
    assert [float(end.round(4)) for end in wilson(8, 10, 1.959964)] == [0.4902, 0.9433]
    estimate, low, high, *_ = post_stratified(44, 45, 1, 5, 8_900, 1_100, 0.95)
    assert [round(float(end), 3) for end in (estimate, low, high)] == [0.892, 0.821, 0.943]


@pytest.mark.parametrize("interval", [jeffreys, clopper_pearson, wilson])
def test_ends_at_no_hits_only_hits_and_no_labels(interval):
    low, high = interval([0, 20, 0], [20, 20, 0], 0.95)
    assert (low[0], high[1], low[2], high[2]) == (0, 1, 0, 1)
    assert 0 < high[0] < 0.2
    assert_allclose(low[1], 1 - high[0])


# --- stratified by what the judge says --------------------------------------------------------------------------


@quick
@given(counts, counts, st.integers(0, 500), st.booleans())
def test_a_judge_who_always_says_the_same_leaves_the_labels_alone(k, other, rest, says_yes):
    n = k + other + 1
    gold = (k, n, 0, 0, rest, 0) if says_yes else (0, 0, k, n, 0, rest)
    for bounds, conservative in ((jeffreys, False), (clopper_pearson, True)):
        estimate, low, high, *_ = post_stratified(*gold, 0.95, conservative=conservative)
        assert_allclose((estimate, low, high), (k / n, *bounds(k, n, 0.95)), atol=1e-12)


@quick
@given(counts, counts, counts, counts, st.integers(0, 300), st.integers(0, 300), st.booleans())
def test_the_interval_holds_the_estimate_within_the_scale_and_is_never_a_point(a, b, c, d, rest1, rest0, finite):
    n1, n0 = a + b, c + d
    if n1 + n0 == 0:
        return
    estimate, low, high, *_ = post_stratified(a, n1, c, n0, rest1, rest0, 0.95, finite=finite)
    assert 0 <= low <= estimate <= high <= 1
    assert (high > low) == (not finite or rest1 + rest0 > 0)


@quick
@given(counts, counts, counts, counts, st.integers(1, 300), st.integers(0, 300))
def test_yes_and_no_may_change_places(a, b, c, d, rest1, rest0):
    """Of the human: the interval is mirrored. Of the judge: it stays, whichever of its words means yes."""
    if a + b + c + d == 0:
        return
    one = np.array(post_stratified(a, a + b, c, c + d, rest1, rest0, 0.95)[:3])
    human = np.array(post_stratified(b, a + b, d, c + d, rest1, rest0, 0.95)[:3])
    judge = np.array(post_stratified(c, c + d, a, a + b, rest0, rest1, 0.95)[:3])
    assert_allclose(one[[0, 2, 1]], 1 - human, atol=1e-12)
    assert_allclose(one, judge, atol=1e-12)


def test_a_benchmark_of_which_a_half_is_labelled():
    """q is known and each distance shrinks by the square root of a half: Cochran (1977), section 2.6."""
    estimate, low, high, *_ = post_stratified(9, 10, 0, 0, 10, 0, 0.95, finite=True)
    ends = np.array(jeffreys(9, 10, 0.95))
    assert_allclose((low, high), np.minimum(estimate + (ends - 0.9) * np.sqrt(0.5), 1))


def test_the_published_cells_of_an_excellent_judge():
    """Width .100 at coverage 99.4 % with 50 labels; .062 at 98.1 with 100: measured with other code, 10,000 draws."""
    for n, width, coverage in ((50, 0.100, 0.994), (100, 0.062, 0.981)):
        _, low, high, *_ = post_stratified(*draws(7, 10_000, 0.9, "excellent", n, 10_000), 0.95)
        assert_allclose(np.mean(high - low), width, atol=6e-4)
        held = np.sum((low <= 0.9) & (high >= 0.9))
        # both sides of the comparison are simulated
        assert abs(held / 10_000 - coverage) < 3 * np.sqrt(2 * coverage * (1 - coverage) / 10_000)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("p", [0.02, 0.1, 0.5, 0.9])
@pytest.mark.slow
def test_coverage_with_few_labels_is_at_least_93(p, judge):
    for n in (10, 20, 30, 50):
        _, low, high, *_ = post_stratified(*draws(3, 4000, p, judge, n, 1000), 0.95)
        held = int(np.sum((low <= p) & (high >= p)))
        assert stats.binomtest(held, 4000, 0.93, alternative="less").pvalue > 1e-3


def test_coverage_of_many_labels_is_95():
    _, low, high, *_ = post_stratified(*draws(5, 4000, 0.5, "good", 300, 10_000), 0.95)
    assert stats.binomtest(int(np.sum((low <= 0.5) & (high >= 0.5))), 4000, 0.95).pvalue > 1e-3
