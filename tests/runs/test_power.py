"""Power before the run, and what to buy."""

import math

import numpy as np
import pytest
from scipy import stats

from calib.stats import ArgumentError, cheapest_runs, compare_runs, rank_runs, run_power


@pytest.mark.parametrize(("difference", "n", "variance"), [(0.1, 20, 0.09), (0.05, 200, 0.2), (0.3, 5, 0.04)])
def test_one_trial_has_the_power_of_the_paired_t_test(difference, n, variance):
    power = pytest.importorskip("statsmodels.stats.power")
    want = power.TTestPower().power(difference / math.sqrt(variance), n, 0.05)
    assert run_power(difference, n, task=variance) == pytest.approx(want, rel=1e-6)
    parts = run_power(difference, n, task=variance / 2, trial=variance / 3, draw=variance / 6)
    assert parts == pytest.approx(want, rel=1e-6)


def test_power_is_how_often_the_test_shows_the_difference():
    rng, n, trials, draws = np.random.default_rng(0), 30, 3, 2
    shape, runs = (2000, n), 2000
    task = rng.normal(0.2, math.sqrt(0.1), shape)
    trial = rng.normal(0, math.sqrt(0.3 / trials), shape)
    draw = rng.normal(0, math.sqrt(0.2 / (trials * draws)), shape)
    shown = (stats.ttest_1samp(task + trial + draw, 0, axis=1).pvalue < 0.05).mean()
    wanted = run_power(0.2, n, trials, draws, task=0.1, trial=0.3, draw=0.2)
    assert shown == pytest.approx(wanted, abs=4 * math.sqrt(0.25 / runs))


def test_the_noise_of_a_comparison_is_what_its_difference_varies_by():
    rng = np.random.default_rng(1)
    base = rng.normal(size=(4000, 1, 1))
    change = rng.normal(0.2, 0.4, (4000, 1, 1))
    sides = [base + more + rng.normal(0, 0.6, (4000, 3, 1)) + rng.normal(0, 0.5, (4000, 3, 2)) for more in (0, change)]
    got = compare_runs(*sides)
    assert tuple(got.noise) == pytest.approx((0.16, 0.72, 0.5), rel=0.08)
    at_hand = got.power(0.02, trials=3, draws=2)
    law = stats.nct(3999, 0.02 / got.std_error)
    assert at_hand == pytest.approx(law.sf(stats.t.ppf(0.975, 3999)), abs=0.01)
    a, b = sides
    for one, other, wanted in (  # what was measured once is part of the level above, in both runs
        (a, b[:, :1, :1], (0.16 + 0.72 + 0.5, np.nan, np.nan)),
        (a, b[:, :, :1], (0.16, 0.72 + 0.5, np.nan)),
        (a[:, :1], b[:, :1], (0.16 + 0.72, np.nan, 0.5)),
    ):
        assert tuple(compare_runs(one, other).noise) == pytest.approx(wanted, rel=0.08, nan_ok=True)


def test_the_cheapest_design_reaches_the_power_and_no_smaller_one_does():
    noise = {"task": 0.02, "trial": 0.3, "draw": 0.05}
    plan = cheapest_runs(0.05, **noise, price_task=3, price_trial=1, price_draw=0.1)
    assert (np.diff(plan.cost) >= 0).all() and (plan.power >= 0.8).all()
    for tasks, trials, draws, cost in zip(plan.tasks, plan.trials, plan.draws, plan.cost, strict=True):
        assert run_power(0.05, tasks - 1, trials, draws, **noise) < 0.8
        assert cost == pytest.approx(tasks * (3 + 2 * trials * (1 + 0.1 * draws)))
    assert len(plan.tasks) == 20


def test_limits_that_no_design_meets_leave_none():
    plan = cheapest_runs(0.01, task=0.5, trial=0.1, most_tasks=100)
    assert not len(plan.tasks) and "no design within these limits" in str(plan)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: run_power(0.1, 1, task=0.1), "`tasks` must be"),
        (lambda: run_power(0.1, 10, task=-0.1), "`task` must be a variance"),
        (lambda: run_power(0.1, 10, 2, task=0.1, trial=math.nan), "`trials` must be 1 where their variance"),
        (lambda: cheapest_runs(0, task=0.1), "`difference` must be a number other than 0"),
        (lambda: cheapest_runs(math.nan, task=0.1), "`difference` must be a number other than 0"),
        (lambda: cheapest_runs(0.1, task=0.1, power=2), "`power` must be"),
        (lambda: cheapest_runs(0.1, task=math.nan), "`task` must be a variance"),
        (lambda: run_power(math.nan, 10, task=0.1), "`difference` must be"),
    ],
)
def test_plans_that_cannot_be_are_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def test_ranks_of_two_runs_are_decided_where_their_difference_is():
    rng = np.random.default_rng(0)
    scores = rng.normal([0, 0.5, 0.5], 1, (200, 3)) + rng.normal(size=(200, 1))
    scores[0, 1] = np.nan
    got = rank_runs(scores, names=["x", "y", "z"])
    assert got.n == 199 and list(got.mean) == pytest.approx(scores[1:].mean(axis=0))
    assert (got.low <= got.rank).all() and (got.rank <= got.high).all()
    assert (got.low[0], got.high[0]) == (3, 3) and list(got.low[1:]) == [1, 1] and list(got.high[1:]) == [2, 2]
