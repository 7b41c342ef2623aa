"""From which confidence on a judge may decide alone: reference values, the guarantee, odd input."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as laws

from calib.analysis.calibration.accept_threshold import clopper_pearson_end, fallback, spent, zero_error_labels
from calib.stats import ArgumentError, accept_threshold


@pytest.fixture(scope="module")
def jury(loaded):
    """Agreement of nine judges about 3,200 answers, the error of their majority, and the question of each."""
    items, ratings = loaded("load_triviaqa_judges")
    wide = ratings.pivot(index="item", columns="rater", values="score")
    votes = wide.drop(columns="human").sum(axis=1)
    question = items.set_index("item")["group"].reindex(wide.index)
    return np.maximum(votes, 9 - votes).to_numpy(), ((votes >= 5) != (wide["human"] == 1)).to_numpy(), question


def test_triviaqa_has_the_reference_values(jury):
    """Reference: calibration.md G7, the 400 answers to the first 50 questions by id."""
    sure, wrong, question = jury
    first = question.isin(sorted(set(question))[:50]).to_numpy()
    result = accept_threshold(sure[first], wrong[first], pool=sure)
    at = {point.threshold: point for point in result.curve}
    assert [(at[a].m, at[a].errors) for a in (9, 8, 6, 5)] == [(77, 2), (239, 12), (354, 53), (400, 78)]
    np.testing.assert_allclose([at[a].bound for a in (9, 8, 6, 5)], [0.06764, 0.07350, 0.17691, 0.22275], atol=5.1e-6)
    rest = [(wrong[~first][sure[~first] >= a]) for a in (9, 8, 6, 5)]
    assert [(len(part), part.sum()) for part in rest] == [(542, 13), (1927, 55), (2639, 196), (2800, 264)]


def test_bounds_and_the_least_number_of_labels_have_the_reference_values():
    """Reference: calibration.md 3.1; the bound solves P(Bin(m, U) <= e) = delta."""
    np.testing.assert_allclose(
        clopper_pearson_end([2, 5, 0], [60, 100, 30], 0.1), [0.086278, 0.090771, 0.073881], atol=5.1e-7
    )
    assert laws.binom.cdf(5, 100, clopper_pearson_end(5, 100, 0.1)) == pytest.approx(0.1)
    assert [zero_error_labels(risk, 0.9) for risk in (0.05, 0.1, 0.15, 0.2)] == [45, 22, 15, 11]
    assert [zero_error_labels(risk, 0.95) for risk in (0.05, 0.1, 0.15, 0.2)] == [59, 29, 19, 14]


def test_three_starts_share_what_may_go_wrong():
    # bounds at .1 / 3: 0 of 40 .0815; 2 of 100 .0668 and 5 of 100 .1085; 8 of 160 .0930
    np.testing.assert_allclose(spent(np.array([20.0, 40, 100, 160]), 0.1, 0.1), np.array([0, 0.1, 0.1, 0.1]) / 3)
    # 30 are too few for a third, and enough for all; 36 for no start but the first; 20 for none
    for n, weight in ((30, 0.1), (36, 0.1), (20, 0.0)):
        np.testing.assert_allclose(spent(np.array([10.0, n]), 0.1, 0.1), [0, weight])


def test_what_passed_hands_its_level_to_the_next_start():
    level, passed = fallback(np.array([0.02, 0.06, 0.2, 0.03]), np.array([0.03, 0.03, 0.0, 0.03]))
    np.testing.assert_allclose(level, [0.03, 0.06, 0.06, 0.03])
    np.testing.assert_array_equal(passed, [True, True, False, True])


def test_a_judge_that_errs_at_every_confidence_is_never_accepted_for_a_threshold_that_failed():
    """The published code gives back the strictest threshold where none passes: 12 % accepted, in every run."""
    rng, runs, violations = np.random.default_rng(5), 300, 0
    for _ in range(runs):
        sure, wrong = rng.random(250), rng.random(250) < 0.3
        result = accept_threshold(sure, wrong, risk=0.15)
        violations += result.accepted > 0
        assert all(point.bound <= 0.15 for point in result.curve if point.passed)
    assert laws.binomtest(violations, runs, 0.1, alternative="greater").pvalue > 0.001
    assert violations < runs / 20


@pytest.mark.parametrize(("n", "share"), [(100, 0.643), (200, 0.738), (400, 0.857)])
@pytest.mark.slow
def test_triviaqa_accepts_what_the_reference_does_and_errs_no_more_than_promised(jury, n, share):
    """Reference: calibration.md 3.3, the recommended columns; 1,000 drawings, risk over all 3,200 items."""
    sure, wrong, _ = jury
    rng, accepted, violations = np.random.default_rng(3), [], 0
    for _ in range(1000):
        errors = np.full(len(sure), np.nan)
        drawn = rng.choice(len(sure), n, replace=False)
        errors[drawn] = wrong[drawn]
        result = accept_threshold(sure, errors)
        accepted.append(result.accepted)
        violations += result.accepted > 0 and wrong[result.accepts(sure)].mean() > 0.1
    assert np.mean(accepted) > share - 2.6 * np.std(accepted) / np.sqrt(1000)
    assert laws.binomtest(violations, 1000, 0.1, alternative="greater").pvalue > 0.01


@pytest.mark.slow
def test_the_guarantee_holds_where_it_is_hardest_to_keep():
    """The risk of every threshold is just above what is allowed, so that to accept anything is a violation."""
    rng, runs = np.random.default_rng(11), 2000
    for n in (60, 150, 250, 500):
        sure = rng.random(4000)
        violations = 0
        for _ in range(runs):
            drawn = rng.choice(4000, n, replace=False)
            violations += accept_threshold(sure[drawn], rng.random(n) < 0.101, pool=sure).accepted > 0
        assert laws.binomtest(violations, runs, 0.1, alternative="greater").pvalue > 0.001, n


@pytest.mark.long
@pytest.mark.slow
def test_labels_of_whole_documents_count_as_documents():
    """Errors that a document's items share: as single labels the promise breaks, as groups it holds."""
    rng, runs = np.random.default_rng(2), 150
    group = np.repeat(np.arange(30), 8)
    broken = {"groups": 0, "labels": 0}
    for _ in range(runs):
        wrong = np.repeat(rng.random(30) < 0.16, 8)
        for name, groups in (("groups", group), ("labels", None)):
            broken[name] += accept_threshold(np.ones(240), wrong, risk=0.15, groups=groups).accepted > 0
    assert laws.binomtest(broken["groups"], runs, 0.1, alternative="greater").pvalue > 0.001
    assert broken["labels"] > 0.15 * runs


def test_groups_of_one_label_are_labels():
    rng = np.random.default_rng(4)
    sure, wrong = rng.random(150), rng.random(150) < 0.04
    alone, grouped = accept_threshold(sure, wrong), accept_threshold(sure, wrong, groups=np.arange(150))
    assert alone.curve == grouped.curve


def test_gaffkes_bound_of_groups_is_clopper_pearson_where_each_accepted_group_has_one_label():
    """One group has two labels, neither of them accepted: the law of the others is the binomial."""
    sure = np.array([1.0] * 60 + [0.0, 0.0])
    wrong = np.array([1.0] * 2 + [0.0] * 58 + [1.0, 1.0])
    result = accept_threshold(sure, wrong, groups=[*range(61), 60], pool=[1.0] * 60 + [0.0])
    assert result.method.startswith("gaffke-groups")
    assert result.curve[0].bound == pytest.approx(clopper_pearson_end(2, 60, 0.1), abs=5e-7)


def test_ties_go_together():
    sure = np.repeat([0.9, 0.8, 0.7], [70, 50, 30])
    wrong = np.concatenate([np.zeros(70), np.arange(50) < 5, np.ones(30)])
    result = accept_threshold(sure, wrong)
    assert [point.m for point in result.curve] == [70, 120, 150]
    assert result.accepted in (70 / 150, 120 / 150)
    assert result.accepts(sure).sum() == round(result.accepted * 150)


def test_all_and_no_errors():
    sure = np.linspace(0, 1, 60)
    everything, nothing = accept_threshold(sure, np.zeros(60)), accept_threshold(sure, np.ones(60))
    assert (everything.accepted, everything.aurc) == (1.0, 0.0)
    assert (nothing.accepted, nothing.threshold, nothing.aurc, nothing.m) == (0.0, np.inf, 1.0, 0)
    assert np.isnan(nothing.bound)
    assert not nothing.accepts(sure).any()


@pytest.mark.parametrize("n", [21, 22])
def test_below_the_least_number_of_labels_nothing_is_accepted(n):
    result = accept_threshold(np.ones(n), np.zeros(n), pool=np.ones(500))
    assert (result.accepted == 1.0) == (n == 22)
    assert ("few_labels" in str(result)) == (n == 21)


def test_what_has_no_confidence_or_no_label_counts_in_the_pool_alone():
    sure = np.array([0.9] * 60 + [np.nan] * 40)
    result = accept_threshold(sure, np.zeros(100))
    assert (result.accepted, result.n, result.n_missing, result.n_pool) == (0.6, 60, 40, 100)
    assert result.accepts(sure).sum() == 60
    result = accept_threshold(np.ones(200), [0.0] * 40 + [np.nan] * 160)
    assert (result.n, result.m, result.n_pool, result.accepted) == (40, 40, 200, 1.0)
    assert accept_threshold(np.ones(5), [np.nan] * 5).accepted == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": 0}, "`risk` must be between 0 and 1"),
        ({"risk": 1.0}, "`risk` must be between 0 and 1"),
        ({"risk": float("nan")}, "`risk`"),
        ({"confidence_level": 90}, "`confidence_level` must be between 0 and 1"),
        ({"errors": [0, 2]}, "`errors` must be 0, 1 or missing, but got 2"),
        ({"errors": [0]}, "`errors` must have the length of `confidence`"),
        ({"confidence": [np.inf, 1]}, "`confidence` must be finite"),
        ({"confidence": [np.nan, np.nan]}, "must have a confidence"),
        ({"pool": []}, "`pool` must have a confidence"),
        ({"groups": ["a"]}, "`groups` must have the length"),
    ],
)
def test_bad_input_is_refused(change, message):
    asked = {"confidence": [0.5, 0.6], "errors": [0, 1]} | change
    with pytest.raises(ArgumentError, match=message):
        accept_threshold(**asked)


@st.composite
def labelled(draw):
    n = draw(st.integers(1, 120))
    sure = draw(st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 1.0]), min_size=n, max_size=n))
    wrong = draw(st.lists(st.sampled_from([0, 0, 0, 0, 0, 1]), min_size=n, max_size=n))
    return np.array(sure), np.array(wrong, dtype=float)


@settings(deadline=None)
@given(labelled(), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_the_accepted_are_the_surest(data, random):
    sure, wrong = data
    order = np.array(random.sample(range(len(sure)), len(sure)))
    one, two = accept_threshold(sure, wrong, risk=0.2), accept_threshold(sure[order], wrong[order], risk=0.2)
    assert (one.threshold, one.accepted, one.curve[0].m) == (two.threshold, two.accepted, two.curve[0].m)
    accepted = one.accepts(sure)
    assert not accepted.any() or sure[accepted].min() > sure[~accepted].max(initial=-np.inf)
    assert not one.accepted or one.bound <= 0.2 + 1e-12


@settings(deadline=None)
@given(labelled(), st.integers(0, 119))
def test_more_errors_never_accept_more(data, place):
    sure, wrong = data
    more = wrong.copy()
    more[place % len(more)] = 1
    assert accept_threshold(sure, more, risk=0.2).accepted <= accept_threshold(sure, wrong, risk=0.2).accepted


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_what_passed_is_what_has_a_bound_below_the_risk_at_its_own_level(grouped):
    rng, both = np.random.default_rng(2), set()
    for _ in range(40):
        sure, rate = rng.choice(8, 200) / 8, rng.uniform(0.02, 0.4)
        groups = np.arange(200) // 2 if grouped else None
        result = accept_threshold(sure, rng.random(200) < rate * (1 - sure), groups=groups)
        for point in result.curve:
            assert point.passed == (point.tested_bound <= 0.1 + 1e-6)
            assert point.tested_bound == 1 or point.tested_at > 0
        tested = [point.tested_bound for point in result.curve if point.tested_at]
        both.add(result.nearest is None)
        assert result.nearest is None if result.accepted else result.nearest.tested_bound == min(tested) > 0.1
    assert both == {True, False}, "both accepted and not"
