"""Rates from counts: statsmodels and published numbers as oracles, identities, and simulated coverage."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import special, stats

from calib.analysis.means.rates import clopper_pearson, jeffreys, jeffreys_clopper_pearson, post_stratified
from calib.core.numeric import wilson

quick = settings(deadline=None, derandomize=True)
counts = st.integers(0, 30)
JUDGES = {"poor": (0.7, 0.2), "good": (0.9, 0.05), "excellent": (0.98, 0.01)}
ODD_JUDGES = {"misses": (0.5, 0.0), "invents": (1.0, 0.1), "useless": (0.5, 0.5), "reversed": (0.3, 0.7)}


def draws(seed, reps, p, judge, n, rest):
    """Gold counts k1, n1, k0, n0 and unlabelled counts N1, N0 of many data sets."""
    sens, fpr = (JUDGES | ODD_JUDGES)[judge]
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
    assert_allclose(jeffreys_clopper_pearson(0, 10, 0.95), (0, 1 - 0.035**0.1))
    assert [float(end.round(4)) for end in wilson(8, 10, 1.959964)] == [0.4902, 0.9433]
    estimate, low, high, *_ = post_stratified(44, 45, 1, 5, 8_900, 1_100, 0.95)
    assert [round(float(end), 3) for end in (estimate, low, high)] == [0.892, 0.817, 0.947]


@pytest.mark.parametrize("interval", [jeffreys, clopper_pearson, jeffreys_clopper_pearson, wilson])
def test_ends_at_no_hits_only_hits_and_no_labels(interval):
    low, high = interval([0, 20, 0], [20, 20, 0], 0.95)
    assert (low[0], high[1], low[2], high[2]) == (0, 1, 0, 1)
    assert 0 < high[0] < 0.2
    assert_allclose(low[1], 1 - high[0])


@pytest.mark.parametrize("tail", [0.05, 0.025, 0.005, 0.0005])
@pytest.mark.parametrize("n", [1, 5, 20, 50, 200])
def test_a_limit_fails_at_no_rate_more_than_1_4_times_as_often_as_it_says(n, tail):
    k, rates = np.arange(n + 1), np.concatenate([np.geomspace(1e-5, 0.05, 1000), np.linspace(0.05, 0.95, 1000)])
    low, high = (end[:, None] for end in jeffreys_clopper_pearson(k, n, 1 - 2 * tail))
    chance = stats.binom.pmf(k[:, None], n, rates)
    worst = [np.max(np.sum(chance * missed, axis=0)) for missed in (low > rates, high < rates)]
    assert np.all(np.array(worst) <= 1.4 * tail * (1 + 1e-9))
    if n == 200:  # and where it is not needed there is no more width than Jeffreys' interval has
        usual, exact = jeffreys(k, n, 1 - 2 * tail), clopper_pearson(k, n, 1 - 2 * tail)
        assert_allclose((low[60:141, 0], high[60:141, 0]), np.array(usual)[:, 60:141])
        assert np.all((exact[0] <= low[:, 0]) & (low[:, 0] <= usual[0]))


# --- stratified by what the judge says --------------------------------------------------------------------------


@quick
@given(counts, counts, st.integers(0, 500), st.booleans())
def test_a_judge_who_always_says_the_same_leaves_the_labels_alone(k, other, rest, says_yes):
    n = k + other + 1
    gold = (k, n, 0, 0, rest, 0) if says_yes else (0, 0, k, n, 0, rest)
    errors = 0.045 if k in {0, n} else 0.035  # labels that are all alike have no variance to show
    for ends, conservative in (
        (jeffreys_clopper_pearson(k, n, 0.95, errors), False),
        (clopper_pearson(k, n, 0.95), True),
    ):
        estimate, low, high, *_ = post_stratified(*gold, 0.95, conservative=conservative)
        assert_allclose((estimate, low, high), (k / n, *ends), atol=1e-12)


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
    ends = np.array(jeffreys_clopper_pearson(9, 10, 0.95))
    assert_allclose((low, high), np.minimum(estimate + (ends - 0.9) * np.sqrt(0.5), 1))


@pytest.mark.parametrize(
    ("gold", "wide"), [((9, 10, 2, 30), "no"), ((18, 20, 1, 20), "no"), ((0, 4, 12, 36), "yes"), ((7, 7, 0, 33), "no")]
)
def test_the_upper_limit_by_hand(gold, wide):
    """Zou and Donner (2008), with a wider interval where the judge says yes or where it says no."""
    k, n, rest = np.array(gold[::2]), np.array(gold[1::2]), np.array([300, 700])
    share, pi, q = (n + rest) / 1040, k / n, (n[0] + 300) / 1040
    ends = np.where(
        np.array(["yes", "no"]) == wide, jeffreys_clopper_pearson(k, n, 0.9, 0.07)[1], jeffreys(k, n, 0.9)[1]
    )
    of_q = (pi[0] - pi[1]) * (wilson(n[0] + 300, 1040, stats.norm.ppf(0.95))[int(pi[0] > pi[1])] - q)
    estimate, _, high, *_ = post_stratified(*gold, *rest, 0.9)
    assert_allclose(high - estimate, np.sqrt(np.sum((share * (ends - pi)) ** 2) + of_q**2), rtol=1e-9)


def test_one_yes_in_each_stratum_of_a_useless_judge_is_two_of_all():
    """The distances put together say .0033 at 95 % (Clopper and Pearson's for 2 of 200: .0018), at 99.9 % .003."""
    for level in (0.9, 0.99, 0.998):
        _, low, *_ = post_stratified(1, 100, 1, 100, 500, 500, level)
        assert_allclose(low, jeffreys_clopper_pearson(2, 200, level)[0], rtol=1e-9)


@quick
@given(counts, counts, counts, counts, st.integers(0, 300), st.integers(0, 300), st.booleans())
def test_the_conservative_interval_holds_the_other_one(a, b, c, d, rest1, rest0, finite):
    gold = (a, a + b, c, c + d, rest1, rest0, 0.95)
    one, other = (post_stratified(*gold, conservative=wide, finite=finite) for wide in (False, True))
    assert other[1] <= one[1] + 1e-12
    assert other[2] >= one[2] - 1e-12


@pytest.mark.parametrize("judge", JUDGES | ODD_JUDGES)
@pytest.mark.parametrize("p", [0.003, 0.02, 0.1, 0.5, 0.8, 0.95, 0.99])
@pytest.mark.slow
def test_coverage_is_at_least_93_and_so_is_that_of_each_limit(p, judge):
    for n, rest in ((20, 1000), (30, 10_000), (50, 200), (200, 10_000)):
        drawn = draws(3, 4000, p, judge, n, rest)
        for level in (0.95, 0.9):
            _, low, high, *_ = post_stratified(*drawn, level)
            missed = (low > p).sum(), (high < p).sum()
            for count in missed if level == 0.9 else [sum(missed)]:
                assert stats.binomtest(int(count), 4000, 0.07, alternative="greater").pvalue > 1e-4, (n, level)


@pytest.mark.parametrize("conservative", [False, True])
def test_high_confidence_holds_at_rare_rates_too(conservative):
    """At 99 % a limit put together from both strata's distances alone failed ten times as often as it says."""
    drawn = draws(4, 20_000, 0.004, "useless", 150, 1000)
    _, low, *_ = post_stratified(*drawn, 0.99, conservative=conservative)
    assert stats.binomtest(int(np.sum(low > 0.004)), 20_000, 1.4 * 0.005, alternative="greater").pvalue > 1e-3


def test_coverage_of_many_labels_is_95():
    _, low, high, *_ = post_stratified(*draws(5, 4000, 0.5, "good", 300, 10_000), 0.95)
    assert stats.binomtest(int(np.sum((low <= 0.5) & (high >= 0.5))), 4000, 0.95).pvalue > 1e-3
