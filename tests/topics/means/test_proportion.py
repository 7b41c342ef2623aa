"""Proportions: statsmodels and published numbers as oracles, identities, and simulated coverage."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from calib.analysis.means.proportion import (
    clopper_pearson,
    jeffreys,
    post_stratified,
    rogan_gladen,
    rogan_gladen_from_rates,
    wilson,
)
from calib.stats import CalibWarning

quick = settings(deadline=None, derandomize=True, max_examples=100)
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


def flags(y_gold, f_gold, **options):
    with pytest.warns(CalibWarning) as caught:
        result = rogan_gladen([1, 0, 1, 0], y_gold, f_gold, **options)
    assert [str(w.message) for w in caught] == list(result.warnings)
    return result


# --- labels alone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ours", "theirs"), [(jeffreys, "jeffreys"), (clopper_pearson, "beta"), (wilson, "wilson")])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_label_only_intervals_equal_statsmodels(ours, theirs, level):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    k, n = np.arange(1, 20), 20  # statsmodels has other ends for Jeffreys at 0 and n
    wanted = proportion.proportion_confint(k, n, 1 - level, theirs)
    assert_allclose(ours(k, n, level), wanted, rtol=1e-10)


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


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("p", [0.02, 0.1, 0.5, 0.9])
def test_coverage_with_few_labels_is_at_least_93(p, judge):
    for n in (10, 20, 30, 50):
        _, low, high, *_ = post_stratified(*draws(3, 4000, p, judge, n, 1000), 0.95)
        held = int(np.sum((low <= p) & (high >= p)))
        assert stats.binomtest(held, 4000, 0.93, alternative="less").pvalue > 1e-3


def test_coverage_of_many_labels_is_95():
    _, low, high, *_ = post_stratified(*draws(5, 4000, 0.5, "good", 300, 10_000), 0.95)
    assert stats.binomtest(int(np.sum((low <= 0.5) & (high >= 0.5))), 4000, 0.95).pvalue > 1e-3


# --- gold sampled by outcome ------------------------------------------------------------------------------------


def test_lee_et_al():
    """Values of the authors' program: github.com/UW-Madison-Lee-Lab/LLM-judge-reporting."""
    found = rogan_gladen_from_rates([0.4, 0.8], [0.7, 0.85], 0.9, [1000, 500], [200, 50], [200, 50], 0.95)
    assert_allclose(found.estimate, [0.166667, 0.866667], atol=5e-7)
    assert_allclose(found.low, [0.056351, 0.772583], atol=5e-7)
    assert_allclose(np.minimum(found.high, 1), [0.262733, 1], atol=5e-7)


@pytest.mark.parametrize("theta", [0.1, 0.5, 0.8])
def test_coverage_where_gold_was_sampled_by_outcome(theta):
    """Half of gold is human yes whatever the rate; the target's rate is found all the same."""
    rng, reps, q0, q1 = np.random.default_rng(11), 4000, 0.8, 0.9
    n, m = 500, 60
    p = rng.binomial(n, theta * q1 + (1 - theta) * (1 - q0), reps) / n
    found = rogan_gladen_from_rates(p, rng.binomial(m, q0, reps) / m, rng.binomial(m, q1, reps) / m, n, m, m, 0.95)
    low, high = np.clip([found.low, found.high], 0, 1)
    held = int(np.sum((low <= theta) & (high >= theta)))
    assert stats.binomtest(held, reps, 0.94, alternative="less").pvalue > 1e-3
    assert held < 0.985 * reps
    assert_allclose(found.estimate.mean(), theta, atol=0.01)


def test_the_same_errors_in_all_systems_are_no_news():
    y_gold, f_gold = [1] * 40 + [0] * 40, ([1] * 9 + [0]) * 4 + ([0] * 4 + [1]) * 8
    result = rogan_gladen([1, 0, 1, 0], y_gold, f_gold, systems=(["a"] * 20 + ["b"] * 20) * 2)
    assert (result.sensitivity, result.specificity, result.warnings) == (0.9, 0.8, ())
    assert result.p_transport > 0.5


def test_errors_that_differ_between_systems_are_told():
    """Answers wrong by the human, and of these the ones that Llama-2-7B rejected, for the eight systems of the
    TriviaQA judge data of arXiv:2406.12624 (specificity .322 to .551).
    """
    wrong, rejected = [59, 143, 178, 89, 133, 165, 210, 184], [19, 63, 98, 40, 50, 76, 93, 65]
    f_wrong = np.concatenate([[0] * k + [1] * (n - k) for n, k in zip(wrong, rejected, strict=True)])
    y_gold = np.repeat([1, 0], [80, sum(wrong)])
    systems = np.concatenate([np.repeat(np.arange(8), 10), np.repeat(np.arange(8), wrong)])
    result = flags(y_gold, np.concatenate([np.ones(80), f_wrong]), systems=systems)
    assert result.warnings[0].startswith("transport: the judge's specificity runs from 0.322 to 0.551 over 8 systems")
    chi2 = stats.chi2_contingency([rejected, np.subtract(wrong, rejected)]).pvalue
    assert_allclose(result.p_transport, 2 * chi2, atol=0.005)


def test_a_permutation_p_value_is_fishers():
    """Equal groups of equal margins: chi-square orders the tables as their probability does."""
    y_gold, f_gold = [1] * 24 + [0] * 24, [1] * 10 + [0] * 2 + [1] * 5 + [0] * 7 + [0] * 24
    result = rogan_gladen([1, 0, 1, 0], y_gold, f_gold, systems=(["a"] * 12 + ["b"] * 12) * 2)
    wanted = 2 * stats.fisher_exact([[10, 2], [5, 7]])[1]
    assert_allclose(result.p_transport, wanted, atol=0.02)


def test_a_judge_no_better_than_chance_leaves_the_whole_scale():
    result = flags([1] * 20 + [0] * 20, [1] * 10 + [0] * 10 + [1] * 12 + [0] * 8)
    assert np.isnan(result.estimate)
    assert result.interval == (0, 1)
    assert result.warnings[0].startswith("chance: sensitivity 0.5 + specificity 0.4 is not above 1")


def test_an_impossible_rate_has_no_interval_rather_than_a_point():
    y_gold, f_gold = [1] * 500 + [0] * 500, [1] * 250 + [0] * 750
    with pytest.warns(CalibWarning, match="^infeasible: a judge rate of 0.95 cannot come from sensitivity 0.5"):
        result = rogan_gladen([1] * 950 + [0] * 50, y_gold, f_gold)
    assert np.isnan(result.interval).all()
    assert "no interval" in str(result)


def test_few_gold_of_one_outcome_are_told():
    assert flags([1] * 30 + [0] * 4, [1] * 30 + [0] * 4).warnings[0].startswith("few_gold: only 4 gold items")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (([0.5], [0, 1], [0, 1]), "`f` must be 0 or 1 everywhere, but got 0.5 at 0."),
        (([], [0, 1], [0, 1]), "`f` must hold one item at least, but is empty."),
        (([1], [0, None], [0, 1]), "`y_gold` must be 0 or 1 everywhere, but got nan at 1."),
        (([1], [1, 1], [0, 1]), "`y_gold` must hold human yes and human no, but got 2 yes in 2."),
        (([1], [0, 1], [0, 1, 1]), "`f_gold` must have the length of `y_gold` (2), but got 3."),
    ],
)
def test_refusals(args, text):
    with pytest.raises(ValueError) as caught:
        rogan_gladen(*args)
    assert str(caught.value) == text


def test_the_result_as_a_line_a_row_and_a_signature():
    pytest.importorskip("pandas")
    result = rogan_gladen([1] * 4 + [0] * 6, [1] * 20 + [0] * 20, [1] * 18 + [0] * 2 + [1] * 6 + [0] * 14)
    assert str(result).startswith("human rate = 0.1667, 95 % CI [0, ")
    assert result.to_frame().loc[0, ["sensitivity", "specificity", "n"]].tolist() == [0.9, 0.7, 10]
    assert result.signature.startswith("rogan-gladen|lee|cl:0.95|pos:20|neg:20|n:10|v:")
