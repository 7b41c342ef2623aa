"""Two runs on arrays, against scipy, statsmodels and Inspect's formula."""

import numpy as np
import pytest
from scipy import stats

from calib.stats import ArgumentError, compare_runs


def ratings(tasks=40, trials=3, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(1, 6, (tasks, trials)).astype(float)
    return a, np.clip(a + rng.integers(-1, 3, (tasks, trials)), 1, 5)


def passes(tasks=40, trials=4, seed=0, better=0.1):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, (tasks, 1))
    sides = (rng.random((tasks, trials)) < p + more for more in (0, better))
    return tuple(side.astype(float) for side in sides)


def test_the_difference_is_the_paired_t_test_of_task_means():
    a, b = ratings()
    got, want = compare_runs(a, b), stats.ttest_rel(b.mean(axis=1), a.mean(axis=1))
    assert got.p_value == pytest.approx(want.pvalue, rel=1e-9)
    assert tuple(got.interval) == pytest.approx(tuple(want.confidence_interval()), rel=1e-9)
    assert (got.df, got.n, got.n_trials_a) == (pytest.approx(39), 40, 120)


def test_a_null_and_a_level_are_those_of_the_t_test():
    a, b = ratings()
    got = compare_runs(a, b, null=0.2, confidence_level=0.8)
    want = stats.ttest_1samp(b.mean(axis=1) - a.mean(axis=1), 0.2)
    assert got.p_value == pytest.approx(want.pvalue, rel=1e-9)
    assert tuple(got.interval) == pytest.approx(tuple(want.confidence_interval(0.8)), rel=1e-9)


def inspect_stderr(x, groups):
    """Inspect AI's `stderr(cluster=)`, 0.3.285: equation 4 of Miller (2024) with the factor G / (G - 1)."""
    sums = [np.outer(x[groups == g] - x.mean(), x[groups == g] - x.mean()).sum() for g in np.unique(groups)]
    return np.sqrt(sum(sums) * len(sums) / (len(sums) - 1)) / len(x)


def test_clusters_of_one_size_have_the_standard_error_of_inspect():
    a, b = ratings(60)
    groups = np.arange(60) // 5
    got = compare_runs(a, b, groups=groups)
    assert got.std_error == pytest.approx(inspect_stderr(b.mean(axis=1) - a.mean(axis=1), groups), rel=1e-12)
    assert (got.df, got.n_groups) == (pytest.approx(11), 12)


def test_one_trial_has_mcnemars_exact_test():
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    a, b = (side[:, 0] for side in passes(80, better=0.2))
    table = [[((a == i) & (b == j)).sum() for j in (0, 1)] for i in (0, 1)]
    got = compare_runs(a, b)
    assert got.exact_p_value == pytest.approx(contingency.mcnemar(table, exact=True).pvalue, rel=1e-9)
    assert got.exact_p_value == pytest.approx(stats.binomtest(table[0][1], table[0][1] + table[1][0]).pvalue)
    assert (got.n_better, got.n_worse) == (table[0][1], table[1][0])
    assert np.isnan(compare_runs(*passes()).exact_p_value), "of several trials there is none"


def test_each_task_has_fishers_test_and_holm():
    a, b = passes(12, 8, better=0.3)
    got = compare_runs(a, b).changes
    counts = [(int(x.sum()), int(y.sum())) for x, y in zip(a, b, strict=True)]
    want = np.array([stats.fisher_exact([[x, 8 - x], [y, 8 - y]]).pvalue for x, y in counts])
    assert got.p_value == pytest.approx(want[got.task.astype(int)], rel=1e-9)
    order = np.argsort(want)
    holm = np.minimum(np.maximum.accumulate(want[order] * np.arange(12, 0, -1)), 1)
    assert np.sort(got.p_adjusted) == pytest.approx(holm, rel=1e-9)
    benjamini = compare_runs(a, b, adjust="bh").changes
    assert np.sort(benjamini.p_adjusted) == pytest.approx(np.sort(stats.false_discovery_control(want)), rel=1e-9)


def test_each_task_of_ratings_has_welchs_test():
    a, b = ratings(10, 6)
    got = compare_runs(a, b).changes
    want = [stats.ttest_ind(y, x, equal_var=False).pvalue for x, y in zip(a, b, strict=True)]
    assert got.p_value == pytest.approx(np.array(want)[got.task.astype(int)], rel=1e-9)


def test_the_worst_change_stands_first_and_totals_are_the_tables():
    got = compare_runs(*passes(50, 8, better=0.4))
    assert (np.diff(got.changes.change) >= 0).all()
    assert got.n_real == int(got.changes.is_real.sum())
    assert got.estimate == pytest.approx(got.changes.change.mean())
    assert got.estimate == pytest.approx(got.mean_b - got.mean_a)


def test_exactly_these_tasks_vary_by_trials_alone():
    a, b = ratings(20, 4)
    got = compare_runs(a, b)
    error = np.sqrt(sum(x.var(axis=1, ddof=1).sum() / 4 for x in (a, b))) / 20
    want = stats.t.interval(0.95, 20 * 3 * 2, got.estimate, error)
    assert tuple(got.these_interval) == pytest.approx(want, rel=1e-9)
    assert np.isnan(compare_runs(a[:, 0], b[:, 0]).these_interval.low)


def test_rare_differences_have_an_interval_with_two_more_tasks():
    a = np.ones(50)
    b = np.where(np.arange(50) == 0, 0.0, 1.0)
    got = compare_runs(a, b)
    d = np.append(b - a, [-1, 1])
    want = stats.t.interval(0.95, 51, d.mean(), d.std(ddof=1) / np.sqrt(52))
    plain = stats.t.interval(0.95, 49, (b - a).mean(), (b - a).std(ddof=1) / np.sqrt(50))
    assert tuple(got.interval) == pytest.approx((min(want[0], plain[0]), max(want[1], plain[1])))
    assert got.warnings[0].startswith("few_differences: only 1 of 50 tasks differ")


def test_no_difference_at_all_has_an_interval_of_the_scale():
    got = compare_runs(np.ones(20), np.ones(20))
    assert got.estimate == 0 and got.conf_low < 0 < got.conf_high and got.p_value == 1


def test_equal_ratings_without_ends_of_the_scale_have_no_interval():
    bare, bounded = (compare_runs([3.0] * 9, [3.0] * 9, bounds=ends) for ends in (None, (1, 5)))
    assert np.isnan(bare.conf_low) and "give the ends of the scale" in bare.warnings[0]
    assert bounded.conf_low < 0 < bounded.conf_high


def test_a_swap_of_the_runs_turns_the_answer_round():
    a, b = passes(30, 5)
    one, two = compare_runs(a, b), compare_runs(b, a)
    assert two.estimate == -one.estimate and two.p_value == pytest.approx(one.p_value)
    assert (two.conf_low, two.conf_high) == pytest.approx((-one.conf_high, -one.conf_low))
    assert two.attempts.difference == pytest.approx(-one.attempts.difference)
    assert (two.flip_a, two.flip_b) == (one.flip_b, one.flip_a)


def test_attempts_are_the_means_over_tasks():
    from calib.stats import flip_rate, pass_at_k, pass_hat_k

    a, b = passes(25, 4)
    got = compare_runs(a, b)
    n = np.full(25, 4)
    for row in range(len(got.attempts.k)):
        of = pass_at_k if got.attempts.measure[row] == "pass@k" else pass_hat_k
        one, two = (of(x.sum(axis=1), n, got.attempts.k[row]) for x in (a, b))
        assert (got.attempts.a[row], got.attempts.b[row]) == pytest.approx((one.mean(), two.mean()))
        assert got.attempts.low[row] <= got.attempts.difference[row] <= got.attempts.high[row]
    assert list(got.attempts.k) == [1, 2, 3, 4] * 2
    assert got.flip_a == pytest.approx(flip_rate(a.sum(axis=1), n).mean())


def test_missing_trials_and_tasks_are_left_out():
    a, b = passes(20, 3)
    a[0], b[1, 1:] = np.nan, np.nan
    got = compare_runs(a, b, tasks=[f"t{k}" for k in range(20)])
    assert (got.n, got.n_trials_a, got.n_trials_b) == (19, 57, 55) and "t0" not in set(got.changes.task)
    assert got.estimate == pytest.approx(np.nanmean(b[1:], axis=1).mean() - a[1:].mean())


def test_draws_of_a_trial_are_averaged_first():
    a, b = passes(20, 6)
    got, want = compare_runs(a.reshape(20, 3, 2), b.reshape(20, 3, 2)), compare_runs(a, b)
    assert got.estimate == pytest.approx(want.estimate) and tuple(got.interval) == pytest.approx(tuple(want.interval))
    assert (got.n_trials_a, want.n_trials_a) == (60, 120)


def test_a_pass_mark_makes_ratings_pass_or_fail():
    a, b = ratings(20, 4)
    got, binary = compare_runs(a, b, pass_mark=4), compare_runs(a >= 4, b >= 4)
    assert got.attempts.to_frame().equals(binary.attempts.to_frame())
    assert got.estimate == pytest.approx((b - a).mean()), "the difference stays that of the ratings"
    assert compare_runs(a, b).attempts is None


def test_labels_to_decide_give_their_power():
    a, b = ratings(40)
    got = compare_runs(a, b)
    n = got.labels_to_decide()
    law = stats.norm(got.estimate / (got.std_error * np.sqrt(got.n / n)))
    assert law.sf(stats.norm.ppf(0.975)) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        ([1, 0], [1, 0, 1], {}, "`b` must have the tasks of `a`, but got 3 and 2"),
        ([1.0, np.nan], [1, 0], {}, "`b` must have scores of two tasks of `a` at least, but got 1"),
        ([np.nan] * 3, [np.nan] * 3, {}, "`b` must have scores of two tasks of `a` at least, but got 0"),
        ([1, 2, 3], [1, 2, 9], {"bounds": (1, 5)}, "`bounds` must hold all scores"),
        ([1, 2, 3], [1, 2, 3], {"bounds": (5, 1)}, "`bounds` must hold all scores"),
        ([1, 2, 3], [1, 2, 3], {"groups": [1, 2]}, "`groups` must have one entry for each of 3 tasks, but got 2"),
        ([1, 2, 3], [1, 2, 3], {"tasks": ["x"]}, "`tasks` must have one entry for each of 3 tasks, but got 1"),
        ([1, 2, 3], [1, 2, 3], {"adjust": "none"}, "`adjust` must be"),
        ([1, 2, np.inf], [1, 2, 3], {}, "`a` must"),
    ],
)
def test_what_cannot_be_compared_is_refused(a, b, options, words):
    with pytest.raises(ArgumentError, match=words):
        compare_runs(a, b, **options)


def test_mcnemar_counts_passes_and_no_ratings():
    a, b = (x[:, 0] for x in ratings(60))
    got, want = compare_runs(a, b, pass_mark=4), compare_runs(a >= 4, b >= 4)
    assert got.exact_p_value == want.exact_p_value < 1


def test_what_rounding_leaves_of_equal_means_is_no_difference():
    a = [[0.1, 0.2, 0.3], [1, 0, 1], [1, 1, 0], [0, 0, 0]]
    b = [[0.3, 0.2, 0.1], [0, 1, 1], [1, 0, 0], [1, 0, 0]]
    got = compare_runs(a, b)
    assert (got.estimate, got.n_better, got.n_worse) == (0, 1, 1) and list(got.changes.change[1:3]) == [0, 0]
    thirds = compare_runs([[1, 1, 0], [1, 0, 0], [0, 1, 1]], [[1, 0, 0], [1, 1, 1], [0, 1, 0]])
    assert thirds.estimate == 0 and (thirds.attempts.difference[0], thirds.labels_to_decide()) == (0, np.inf)


def test_an_interval_stays_within_the_scale():
    apart = compare_runs(np.zeros((20, 4)), np.ones((20, 4)))
    assert (apart.conf_high, apart.these_interval.high) == (1, 1)
    got = compare_runs([0, 0, 1], [1, 1, 1])
    assert -1 <= got.conf_low <= got.conf_high <= 1
    assert compare_runs([1, 5, 3], [5, 5, 1], bounds=(1, 5)).conf_high <= 4


def test_many_trials_have_some_k_and_few_groups_none_of_their_own():
    a, b = passes(6, 70)
    got = compare_runs(a, b).attempts
    assert list(got.k[: len(got.k) // 2]) == [*range(1, 17), 32, 64, 70]
    a[2:, 1:] = np.nan  # two tasks of one group have several trials
    one = compare_runs(a[:, :3], b[:, :3], groups=[0, 0, 1, 1, 2, 2])
    assert list(one.attempts.k) == [1, 1]
