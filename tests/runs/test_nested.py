"""Variance components of tasks, trials and judge draws."""

import warnings

import numpy as np
import pandas as pd
import pytest

from calib.stats import ArgumentError, nested_components


def drawn(tasks=30, trials=4, draws=3, seed=0):
    rng = np.random.default_rng(seed)
    parts = ((tasks, 1, 1), 1.0), ((tasks, trials, 1), 0.7), ((tasks, trials, draws), 0.5)
    return sum(spread * rng.normal(size=shape) for shape, spread in parts)


def test_balanced_components_are_those_of_mixedlm():
    formula = pytest.importorskip("statsmodels.formula.api")
    x = drawn()
    task, trial, _ = np.indices(x.shape)
    frame = pd.DataFrame({"y": x.ravel(), "task": task.ravel(), "trial": (task * 100 + trial).ravel()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = formula.mixedlm("y ~ 1", frame, groups="task", re_formula="1", vc_formula={"trial": "0 + C(trial)"})
        fit = fit.fit(reml=True)
    got = nested_components(x)
    assert [got.task, got.trial, got.draw] == pytest.approx(
        [float(fit.cov_re.iloc[0, 0]), float(fit.vcomp[0]), fit.scale], rel=2e-4
    )
    assert got.mean == pytest.approx(float(fit.params["Intercept"]))


def test_two_levels_are_the_mean_squares_of_a_one_way_analysis():
    x = drawn(draws=1)[:, :, 0]
    within = x.var(axis=1, ddof=1).mean()
    got = nested_components(x)
    assert got.trial == pytest.approx(within)
    assert got.task == pytest.approx(x.mean(axis=1).var(ddof=1) - within / 4)
    assert np.isnan(got.draw) and np.isnan(got.draw_interval.low)


def test_one_trial_leaves_one_component_the_variance():
    x = drawn(trials=1, draws=1).ravel()
    got = nested_components(x)
    assert got.task == pytest.approx(x.var(ddof=1)) and np.isnan(got.trial)


def test_unbalanced_components_have_no_bias():
    rng = np.random.default_rng(1)
    sizes = rng.random((40, 5, 3)) < rng.uniform(0.3, 1, (40, 1, 1))
    sizes[:, 0, 0] = True
    each = []
    for seed in range(300):
        got = nested_components(np.where(sizes, drawn(40, 5, 3, seed), np.nan))
        each.append([got.task, got.trial, got.draw])
    error = np.std(each, axis=0) / np.sqrt(len(each))
    assert (np.abs(np.mean(each, axis=0) - [1, 0.49, 0.25]) < 4 * error).all()


def test_a_component_below_zero_is_zero_without_an_interval():
    x = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    got = nested_components(x)
    assert got.task == 0 and np.isnan(got.task_interval.low) and got.trial == 0.5


def test_a_shift_far_from_zero_costs_no_digits():
    x = drawn()
    near, far = nested_components(x), nested_components(x + 1e7)
    assert [far.task, far.trial, far.draw] == pytest.approx([near.task, near.trial, near.draw], rel=1e-6)


def test_intervals_of_groups_are_wider_where_tasks_of_a_group_are_alike():
    x = np.repeat(drawn(12, draws=1)[:, :, 0], 5, axis=0)
    alone, together = nested_components(x), nested_components(x, groups=np.arange(60) // 5)
    assert together.task == alone.task and together.n_groups == 12
    assert together.task_interval.high > alone.task_interval.high


@pytest.mark.parametrize(
    ("x", "options", "words"),
    [
        ([1.0], {}, "`x` must have scores of two tasks at least, but got 1"),
        ([[np.nan, np.nan], [1, 2]], {}, "`x` must have scores of two tasks at least, but got 1"),
        (np.ones((2, 2, 2, 2)), {}, "`x` must have the axes .*, but got 4 axes"),
        ([1, 2, 3], {"groups": ["a", "b"]}, "`groups` must have one label for each of 3 tasks, but got 2"),
    ],
)
def test_what_cannot_be_taken_apart_is_refused(x, options, words):
    with pytest.raises(ArgumentError, match=words):
        nested_components(x, **options)
