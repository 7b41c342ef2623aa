"""What a plot looks like where results are few, many, or of two values."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt

from calib import Results, plot
from calib.analysis.draws.display import convergence_pictures
from calib.stats import calibration_map, convergence, full_conformal, instrumented, pass_fail, ppi_mean

RNG = np.random.default_rng(0)
QUALITY = RNG.normal(size=200)
JUDGE, PEOPLE = ((QUALITY + RNG.normal(size=200) > 0).astype(int) for _ in range(2))


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_one_confusion_is_a_matrix_and_several_are_rates():
    found = pass_fail(JUDGE, PEOPLE)
    ax = plot.confusion(found)
    cells = [int(text.get_text().split("\n")[0]) for text in ax.texts]
    assert cells == [found.tp, found.fn, found.fp, found.tn]
    low, high = found.tpr.interval
    assert ax.texts[0].get_text().endswith(f"TPR [{low:.2f}, {high:.2f}]")
    assert [text.get_text() for text in ax.get_xticklabels()] == [
        f"judge passes: {found.tp + found.fp}", f"judge fails: {found.fn + found.tn}",
    ]  # fmt: skip
    several = Results(({"rater": "a"}, {"rater": "b"}), (found, found))
    assert len(plot.confusion(several).get_yticklabels()) > 5


def test_a_judge_with_two_scores_has_two_points_and_another_a_curve():
    found = calibration_map(JUDGE, PEOPLE, levels=[0, 1])
    ax = plot.calibration(found)
    assert [line.get_xdata().tolist() for line in ax.lines] == [[0, 1]]
    assert np.allclose(ax.lines[0].get_ydata(), found.shown.mean)
    assert ax.lines[0].get_linestyle() == "None"
    many = calibration_map(np.round(2 * QUALITY).clip(-2, 2), PEOPLE, levels=[0, 1])
    assert len(plot.calibration(many).lines[0].get_xdata()) == 101


def test_sets_of_two_labels_are_shares_of_one_both_and_the_other():
    sets = full_conformal(JUDGE, PEOPLE, levels=[0, 1])
    ax = plot.score_sets(sets)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0 alone", "0 or 1", "1 alone"]
    n = dict.fromkeys(((0, 0), (0, 1), (1, 1)), 0)
    for low, high, items in zip(sets.low, sets.high, sets.n_items, strict=True):
        n[low, high] += items
    bars = [patch.get_width() for patch in ax.patches if patch.get_height() == 0.6]
    assert np.allclose(bars, np.array([*n.values()]) / 200)
    assert len(set(n.values())) > 1


def test_of_many_effects_those_with_the_smallest_p_are_drawn():
    people = np.stack([QUALITY + RNG.normal(size=200) for _ in range(2)], axis=1)
    one = instrumented(QUALITY, people, JUDGE)
    effects = [replace(one, p_value=(k * 7 % 40 + 1) / 50) for k in range(40)]
    labels = tuple({"criterion": f"c{k}", "feature": "words"} for k in range(40))
    ax = plot.bias(Results(labels, effects))
    wanted = [f"c{k}" for k in range(40) if effects[k].p_value <= 30 / 50]
    assert [text.get_text() for text in ax.get_yticklabels()] == wanted
    assert "the 30 of 40 with the smallest p" in ax.get_xlabel()
    assert ax.figure.get_figheight() < 14


def test_a_few_convergences_are_a_picture_each_and_many_are_one():
    draws = 3 + RNG.normal(size=(20, 1)) + RNG.normal(size=(20, 4))
    curve = convergence(draws, labels=draws.mean(axis=1), rng=1)
    for number, pictures in ((3, 6), (9, 2)):
        results = Results(tuple({"criterion": f"c{k}"} for k in range(number)), (curve,) * number)
        assert len(list(convergence_pictures(results))) == pictures
    dotted = [line for line in plot.convergence(results).lines if line.get_linestyle() == ":"]
    assert dotted == []  # of one result alone


def test_rows_with_one_method_each_are_as_close_as_rows_of_one_method():
    y, f = RNG.uniform(1, 5, (2, 12))
    y[8:] = np.nan
    one, other = (ppi_mean(y, f, estimator=name) for name in ("labels", "ppi++"))
    labels = tuple({"criterion": name} for name in "abcd")
    rows = [plot.interval(Results(labels, each)) for each in ((one, other, one, other), (one,) * 4)]
    mixed, alike = (ax.get_yticks().tolist() for ax in rows)
    assert mixed == alike
    heights = [float(line.get_ydata()[0]) for line in rows[0].lines]
    assert sorted(heights) == pytest.approx(mixed)
