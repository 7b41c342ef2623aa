"""The rate behind gold that was sampled by its outcome: published numbers as oracles, and simulated coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from calib.analysis.means.rates import rogan_gladen_from_rates
from calib.stats import CalibWarning, rogan_gladen


def flags(y_labelled, f_labelled, **options):
    with pytest.warns(CalibWarning) as caught:
        result = rogan_gladen([1, 0, 1, 0], y_labelled, f_labelled, **options)
    assert [str(w.message) for w in caught] == list(result.warnings)
    return result


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
    y_labelled, f_labelled = [1] * 40 + [0] * 40, ([1] * 9 + [0]) * 4 + ([0] * 4 + [1]) * 8
    result = rogan_gladen([1, 0, 1, 0], y_labelled, f_labelled, systems=(["a"] * 20 + ["b"] * 20) * 2)
    assert (result.sensitivity, result.specificity, result.warnings) == (0.9, 0.8, ())
    assert result.p_transport > 0.5


def test_errors_that_differ_between_systems_are_told():
    """Answers wrong by the human, and of these the ones that Llama-2-7B rejected, for the eight systems of the
    TriviaQA judge data of arXiv:2406.12624 (specificity .322 to .551).
    """
    wrong, rejected = [59, 143, 178, 89, 133, 165, 210, 184], [19, 63, 98, 40, 50, 76, 93, 65]
    f_wrong = np.concatenate([[0] * k + [1] * (n - k) for n, k in zip(wrong, rejected, strict=True)])
    y_labelled = np.repeat([1, 0], [80, sum(wrong)])
    systems = np.concatenate([np.repeat(np.arange(8), 10), np.repeat(np.arange(8), wrong)])
    result = flags(y_labelled, np.concatenate([np.ones(80), f_wrong]), systems=systems)
    assert result.warnings[0].startswith("transport: the judge's specificity runs from 0.322 to 0.551 over 8 systems")
    chi2 = stats.chi2_contingency([rejected, np.subtract(wrong, rejected)]).pvalue
    assert_allclose(result.p_transport, 2 * chi2, atol=0.005)


def test_a_permutation_p_value_is_fishers():
    """Equal groups of equal margins: chi-square orders the tables as their probability does."""
    y_labelled, f_labelled = [1] * 24 + [0] * 24, [1] * 10 + [0] * 2 + [1] * 5 + [0] * 7 + [0] * 24
    result = rogan_gladen([1, 0, 1, 0], y_labelled, f_labelled, systems=(["a"] * 12 + ["b"] * 12) * 2)
    wanted = 2 * stats.fisher_exact([[10, 2], [5, 7]])[1]
    assert_allclose(result.p_transport, wanted, atol=0.02)


def test_a_judge_no_better_than_chance_leaves_the_whole_scale():
    result = flags([1] * 20 + [0] * 20, [1] * 10 + [0] * 10 + [1] * 12 + [0] * 8)
    assert np.isnan(result.estimate)
    assert result.interval == (0, 1)
    assert result.warnings[0].startswith("chance: sensitivity 0.5 + specificity 0.4 is not above 1")


def test_an_impossible_rate_has_no_interval_rather_than_a_point():
    y_labelled, f_labelled = [1] * 500 + [0] * 500, [1] * 250 + [0] * 750
    with pytest.warns(CalibWarning, match="^infeasible: a judge rate of 0.95 cannot come from sensitivity 0.5"):
        result = rogan_gladen([1] * 950 + [0] * 50, y_labelled, f_labelled)
    assert np.isnan(result.interval).all()
    assert "no interval" in str(result)


def test_few_gold_of_one_outcome_are_told():
    assert flags([1] * 30 + [0] * 4, [1] * 30 + [0] * 4).warnings[0].startswith("few_labels: only 4 labelled items")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (([0.5], [0, 1], [0, 1]), "`f` must be 0 or 1 everywhere, but got 0.5 at 0."),
        (([], [0, 1], [0, 1]), "`f` must hold one item at least, but is empty."),
        (([1], [0, None], [0, 1]), "`y_labelled` must be 0 or 1 everywhere, but got NaN at 1."),
        (([1], [1, 1], [0, 1]), "`y_labelled` must hold human yes and human no, but got 2 yes in 2."),
        (([1], [0, 1], [0, 1, 1]), "`f_labelled` must have the length of `y_labelled` (2), but got 3."),
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
