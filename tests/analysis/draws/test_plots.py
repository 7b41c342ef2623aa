"""Plots of draws and prompts: what they show is what the results say."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

from calib import Results, plot
from calib.stats import budget_plan, convergence, g_study, precision_gain, prompt_mean, variance_components


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def scores(seed=1):
    rng = np.random.default_rng(seed)
    return 3 + rng.normal(size=(60, 1, 1)) + 0.5 * rng.normal(size=(1, 5, 1)) + rng.normal(size=(60, 5, 4))


def several(*results, **label):
    labels = tuple({"criterion": f"c{i}", "rater": "judge"} | label for i in range(len(results)))
    return Results(labels, results)


def texts(ax):
    legend = [] if ax.get_legend() is None else ax.get_legend().get_texts()
    ax.figure.canvas.draw()
    return [text.get_text() for text in (*ax.get_yticklabels(), *legend, ax._left_title, *ax.texts)]


def test_gain_draws_a_curve_for_each_judge_beside_the_known_ratios():
    found = variance_components(scores()[:, 0, :])
    ax = plot.gain(several(found))
    curves = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 200]
    assert len(curves) == 6
    for r, curve in zip((0.04, 0.5, 1.5, 5.7, 20.0, found.r), curves, strict=True):
        assert np.allclose(curve, precision_gain(r, np.geomspace(1, 20, 200)))
    assert any(f"r = {found.r:.3g}" in text for text in texts(ax))
    assert len(plot.gain().lines) == 5


def test_gain_takes_convergence_too():
    curve = convergence(scores()[:, 0, :], rng=1)
    assert any(f"r = {curve.r:.3g}" in text for text in texts(plot.gain(curve)))


def test_components_are_as_wide_as_their_shares():
    study = g_study(scores())
    ax = plot.components(several(study, study))
    widths = [patch.get_width() for patch in ax.patches if patch.get_height() < 1.5 and patch.get_width() < 1]
    wanted = [part.share for part in study.components if part.share]
    for share in wanted:
        assert sum(math.isclose(share, width, abs_tol=1e-9) for width in widths) >= 2
    assert {"c0", "c1"} <= set(texts(ax))


@pytest.mark.parametrize("coefficient", ["phi", "e_rho2"])
def test_d_study_marks_what_was_measured(coefficient):
    ax = plot.d_study(g_study(scores()), coefficient=coefficient)
    points = [tuple(np.ravel(line.get_xydata())) for line in ax.lines if len(line.get_xdata()) == 1]
    assert (5.0, 4.0) in points
    with pytest.raises(ValueError, match="must be"):
        plot.d_study(g_study(scores()), coefficient="rho")


def test_d_study_needs_repeated_draws():
    with pytest.raises(ValueError, match="`draws` must be 1"):
        plot.d_study(g_study(scores()[:, :, 0]))


def test_prompt_means_show_each_prompt_and_all():
    result = prompt_mean(scores().mean(axis=2), names=["a", "b", "c", "d", "e"])
    ax = plot.prompt_means(result)
    drawn = {round(float(line.get_xdata()[0]), 9) for line in ax.lines if len(line.get_xdata()) == 1}
    assert {round(mean, 9) for mean in (*result.prompt_means, result.estimate)} <= drawn
    assert {"a", "b", "c", "d", "e"} <= set(texts(ax))


def test_all_draws_beside_themselves_are_no_point_at_zero():
    draws = scores()[:, 0, :]
    result = convergence(draws, rng=1)
    ax = plot.convergence(result)
    marked = next(line for line in ax.lines if len(line.get_xdata()) == len(result.sizes))
    assert np.isnan(marked.get_xdata()[-1]) and np.isfinite(marked.get_xdata()[:-1]).all()
    dotted = next(line for line in ax.lines if line.get_linestyle() == ":")
    assert np.allclose(np.interp(result.sizes, *dotted.get_data()), result.rmse_limit, rtol=1e-3)
    assert "predicted, from the mean of endless draws" in texts(ax)
    exact = plot.convergence(convergence(draws, exact=draws.mean(axis=1), rng=1))
    assert not any(line.get_linestyle() == ":" for line in exact.lines)


def test_plan_shows_the_next_step_first():
    facts = {"rho": 0.6, "sd": 1.0, "item": 0.5, "item_prompt": 0.2, "draw": 0.3, "n_labels": 40, "n_items": 400}
    found = budget_plan(**facts, prompts=2, draws=1, prices={"label": 2, "judge": 0.01}, budget=200)
    shown = " ".join(texts(plot.plan(found)))
    assert found.next in shown
    assert all(step.what in shown for step in found.steps)
