"""Plots: what they draw is what the results hold, and what they say comes from the results."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import cbook
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import calib
from calib import Results, plot
from calib.stats import agreement, convergence, mean_interval, ppi_difference, ppi_mean

NAN = float("nan")
HOSTILE = ("<script>alert(1)</script>", r"$\frac{a}{b}$ costs $5", "_hidden", "two\nlines\x1b[31m", "a" * 90 + "-mini")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots(layout="constrained")[1]


@pytest.fixture(scope="module")
def humans():
    items, people = calib.load_planted()
    return calib.summarize(people, items)


@pytest.fixture(scope="module")
def agreed(humans):
    first = humans[humans["rater"] == "simulated-1"]
    return calib.agreement(first, humans, level="group", confidence_level=0.9)


def estimates(n_systems=3, method="ppi++", seed=0):
    rng = np.random.default_rng(seed)
    y, f = rng.uniform(1, 5, (2, n_systems, 12))
    results = [ppi_mean(np.where(np.arange(12) < 8, row, NAN), g, method=method) for row, g in zip(y, f, strict=True)]
    labels = [
        {"criterion": "coherence", "rater": "judge", "against": "ann", "system": f"M{i}"} for i in range(n_systems)
    ]
    return Results(tuple(labels), tuple(results))


def three(n_systems=3):
    return [estimates(n_systems, method) for method in ("classical", "judge_only", "ppi++")]


def points(ax):
    """Single points that were drawn, as (x, y)."""
    marks = [line for line in ax.lines if len(line.get_xdata()) == 1]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks]


def segments(ax, upright=False):
    """Horizontal (or upright) lines that were drawn, as ends."""
    axis = 1 if upright else 0
    lines = [c.get_segments()[0] for c in ax.collections if isinstance(c, LineCollection)]
    return [tuple(line[:, axis]) for line in lines if (line[0, 0] == line[1, 0]) == upright]


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ticks(ax):
    return {text.get_text(): y for text, y in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)}


# --- agreement --------------------------------------------------------------------------------------------------


def test_agreement_draws_each_estimate_with_its_interval_in_its_row(agreed, ax):
    assert plot.agreement(agreed, ax=ax) is ax
    assert len(agreed) == 8
    assert sorted(x for x, _ in points(ax)) == sorted(result.estimate for result in agreed)
    assert sorted(segments(ax)) == sorted(tuple(result.interval) for result in agreed)


def test_agreement_groups_rows_under_headings(agreed, ax):
    plot.agreement(agreed, ax=ax)
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == [
        part
        for name in ("coherence", "consistency", "fluency", "relevance")
        for part in (name, "vs simulated-2", "vs simulated-3")
    ]
    bold = [text.get_text() for text in ax.get_yticklabels() if text.get_fontweight() == "bold"]
    assert bold == ["coherence", "consistency", "fluency", "relevance"]
    heights = dict(points(ax))
    first = agreed.select(criterion="consistency", against="simulated-3").one()
    assert heights[first.estimate] == ax.get_yticks()[5]


def test_agreement_colours_by_criterion(agreed, ax):
    plot.agreement(agreed, ax=ax)
    colours = {}
    for line in ax.lines:
        if len(line.get_xdata()) == 1:
            colours.setdefault(to_hex(line.get_color()), []).append(line.get_xdata()[0])
    assert sorted(map(len, colours.values())) == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("level", "method", "expected"),
    [
        ("group", "spearman", "Spearman rho within groups (95 % CI)\nn = 24 groups"),
        ("item", "pearson", "Pearson r over items (95 % CI)\nn = 312 items"),
        ("system", "kendall", "Kendall tau-b over systems (95 % CI)\nn = 13 systems"),
    ],
)
def test_agreement_says_level_coefficient_confidence_and_n(humans, level, method, expected):
    fluency = humans[humans["criterion"] == "fluency"]
    raters = [fluency[fluency["rater"] == f"simulated-{i}"] for i in (1, 2)]
    drawn = plot.agreement(calib.agreement(*raters, level=level, method=method))
    assert drawn.get_xlabel() == expected
    assert drawn.get_title(loc="left") == "simulated-1, against simulated-2"
    assert list(ticks(drawn)) == ["fluency"]


def test_agreement_label_follows_the_confidence_level(agreed, ax):
    assert "(90 % CI)" in plot.agreement(agreed, ax=ax).get_xlabel()


def test_agreement_without_an_interval_claims_none(ax):
    result = agreement([1, 2, 3, 4], [1, 3, 2, 4], interval="none")
    assert "CI" not in plot.agreement(result, ax=ax).get_xlabel()
    assert [x for x, _ in points(ax)] == [result.estimate]


def test_agreement_at_several_levels_names_the_level_in_the_rows(humans, ax):
    raters = [humans[(humans["rater"] == f"simulated-{i}") & (humans["criterion"] == "fluency")] for i in (1, 2)]
    plot.agreement(calib.agreement(*raters) + calib.agreement(*raters, level="system"), ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["over items", "over systems"]
    assert ax.get_xlabel().endswith("n = 312 items, 13 systems")


# --- means and differences --------------------------------------------------------------------------------------


def test_interval_draws_the_methods_side_by_side(ax):
    results = three()
    assert plot.interval(*results, ax=ax) is ax
    every = [result for one in results for result in one]
    assert sorted(x for x, _ in points(ax)) == sorted(result.estimate for result in every)
    assert sorted(segments(ax)) == sorted(tuple(result.interval) for result in every)
    row = ticks(ax)["M1"]
    offsets = {x: y - row for x, y in points(ax)}
    assert [round(offsets[one[1].estimate], 6) for one in results] == [-0.6, 0.0, 0.6]


def test_interval_says_what_the_judge_alone_is_not_and_draws_it_hollow_and_dashed(ax):
    results = three()
    plot.interval(*results, ax=ax)
    assert words(ax) == [
        "people alone: 8 labels",
        "judge alone (not an interval for the human mean): 12 scores",
        "PPI++: 8 labels, 12 judge scores",
    ]
    alone = {result.estimate for result in results[1]}
    for line in (line for line in ax.lines if len(line.get_xdata()) == 1):
        assert (line.get_markerfacecolor() == "white") == (line.get_xdata()[0] in alone)
    ends = {tuple(result.interval) for result in results[1]}
    for bar in ax.collections:
        solid = bar.get_linestyle()[0][1] is None
        assert solid == (tuple(bar.get_segments()[0][:, 0]) not in ends)
    handles = ax.get_legend().legend_handles
    assert [handle.get_linestyle() for handle in handles] == ["-", "--", "-"]
    assert len({to_hex(handle.get_color()) for handle in handles}) == 3


def test_interval_label_says_estimand_and_confidence(ax):
    assert plot.interval(estimates(), ax=ax).get_xlabel() == "human mean (95 % CI)"
    assert plot.interval(mean_interval([1, 2, 4, 5], confidence_level=0.8)).get_xlabel() == "human mean (80 % CI)"
    alone = estimates(method="judge_only")
    assert plot.interval(alone).get_xlabel() == "judge mean (95 % CI)"
    assert plot.interval(alone, estimates()).get_xlabel() == "human mean (95 % CI)"


@pytest.mark.parametrize("key", [str, lambda name: (name,)])
def test_interval_draws_the_truth_through_its_row(key, ax):
    plot.interval(*three(), truth={key("M0"): 3.25, key("M2"): 4.5}, ax=ax)
    upright = [c.get_segments()[0] for c in ax.collections if isinstance(c, LineCollection) and len(segments(ax, True))]
    lines = [line for line in upright if line[0, 0] == line[1, 0]]
    assert [line[0, 0] for line in lines] == [3.25, 4.5]
    assert [np.mean(line[:, 1]) for line in lines] == pytest.approx([ticks(ax)["M0"], ticks(ax)["M2"]])
    assert words(ax)[-1] == "truth"


def test_interval_refuses_a_truth_about_other_rows(ax):
    with pytest.raises(ValueError) as error:
        plot.interval(estimates(), truth={"N0": 3.0}, ax=ax)
    assert str(error.value) == "`truth` must know some of the rows (such as 'M0', 'M1', 'M2'), but has ['N0']."


def test_two_intervals_of_one_method_are_two_series(ax):
    plot.interval(estimates(seed=0), estimates(seed=1), ax=ax)
    handles = ax.get_legend().legend_handles
    assert len({to_hex(handle.get_color()) for handle in handles}) == 2
    assert len({y for _, y in points(ax)}) == 6


def test_rows_of_sixteen_systems_and_three_methods_are_legible():
    drawn = plot.interval(*three(16), truth={"M3": 3.0})
    drawn.figure.dpi = 100
    drawn.figure.canvas.draw()
    page = drawn.figure.bbox
    texts = [
        *drawn.get_yticklabels(),
        drawn.xaxis.label,
        drawn.title,
        *drawn.get_legend().get_texts(),
        drawn._left_title,
    ]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert all(box.x0 >= page.x0 and box.x1 <= page.x1 and box.y0 >= page.y0 and box.y1 <= page.y1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    rows = sorted(y for _, y in points(drawn))
    a_pixel = abs(drawn.transData.transform((0, 1)) - drawn.transData.transform((0, 0)))[1]
    assert min(np.diff(rows)) * a_pixel > 8  # a marker of 5.5 points is 7.6 pixels high


def test_difference_draws_a_line_at_zero(ax):
    y_a, y_b = [4, 5, 4, NAN, NAN], [3, 3, 4, NAN, NAN]
    f_a, f_b = [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3]
    result = ppi_difference(y_a, y_b, f_a, f_b, method="ppi", confidence_level=0.9)
    assert plot.difference(result, ax=ax) is ax
    assert ax.get_xlabel() == "human mean difference (90 % CI)"
    assert [x for x, _ in points(ax)] == [result.estimate]
    assert [0, 0] in [list(line.get_xdata()) for line in ax.lines]
    plain = plot.interval(result)
    assert [0, 0] not in [list(line.get_xdata()) for line in plain.lines]


# --- convergence ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def converged():
    rng = np.random.default_rng(3)
    truth = rng.uniform(1, 5, 60)
    labels, results = [], []
    for i, spread in enumerate((0.5, 1.5)):
        draws = truth[:, None] + rng.normal(scale=spread, size=(60, 20))
        results.append(convergence(draws, exact=truth, human=truth + rng.normal(size=60), rng=i, method="kendall"))
        labels.append({"criterion": f"c{i}", "rater": "judge", "prompt": f"c{i}-form", "method": "sample"})
    return Results(tuple(labels), tuple(results))


def curves(ax):
    return [(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in ax.lines]


def test_convergence_draws_measured_points_and_the_predicted_line(converged, ax):
    assert plot.convergence(converged, ax=ax) is ax
    for result in converged:
        drawn = {y: line for line, (_, y) in zip(ax.lines, curves(ax), strict=True)}
        assert drawn[result.rmse].get_linestyle() == "None"
        assert drawn[result.rmse_predicted].get_marker() == "None"
        assert tuple(drawn[result.rmse].get_xdata()) == result.sizes
    assert words(ax)[:2] == ["c0", "c1"]
    assert ax.get_title(loc="left") == "judge"


def test_convergence_axis_is_logarithmic_with_ticks_at_the_sizes(converged, ax):
    plot.convergence(converged, ax=ax)
    assert ax.get_xscale() == "log"
    assert list(ax.get_xticks()) == [1, 2, 3, 5, 8, 10, 15, 20]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3", "5", "8", "10", "15", "20"]
    assert not len(ax.get_xticks(minor=True))
    assert "n = 60 items" in ax.get_xlabel()
    assert ax.get_ylabel() == "RMSE from the exact expectation (score points)"
    assert "all draws" in plot.convergence(convergence(np.eye(5), rng=1)).get_ylabel()


def test_convergence_with_people_draws_band_and_reference(converged, ax):
    plot.convergence(converged, show="human", ax=ax)
    assert ax.get_ylabel() == "Kendall tau-b with people"
    flat = [y for x, y in curves(ax) if tuple(x) == (0, 1)]
    assert flat == [(result.human_reference,) * 2 for result in converged]
    for band, result in zip(ax.collections, converged, strict=True):
        box = band.get_datalim(ax.transData)
        assert (box.y0, box.y1) == pytest.approx((min(result.human_low), max(result.human_high)))
    assert {result.human for result in converged} <= {y for _, y in curves(ax)}


def test_convergence_cannot_show_people_who_were_not_there(ax):
    with pytest.raises(ValueError, match="needs results that were computed with `human`"):
        plot.convergence(convergence(np.eye(5), rng=1), show="human", ax=ax)
    with pytest.raises(ValueError, match=r"`show` must be 'error' or 'human', but got 'both'."):
        plot.convergence(convergence(np.eye(5), rng=1), show="both", ax=ax)


# --- all of them ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [plot.agreement, plot.interval, plot.difference, plot.convergence])
def test_a_plot_refuses_nothing_and_the_wrong_kind(draw):
    with pytest.raises(ValueError, match=r"`results` must hold one result at least, but is empty."):
        draw(Results((), ()))
    other = mean_interval([1, 2, 3]) if draw in (plot.agreement, plot.convergence) else agreement([1, 2, 3], [1, 3, 2])
    with pytest.raises(TypeError, match=f"but got {type(other).__name__}"):
        draw(other)
    assert plt.get_fignums() == []


def test_a_plot_makes_a_figure_only_when_it_must(agreed, ax):
    plot.agreement(agreed, ax=ax)
    assert plt.get_fignums() == [ax.figure.number]
    assert plot.agreement(agreed).figure is not ax.figure
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_as_they_stand(name, agreed, converged):
    labels = tuple({"criterion": c, "rater": name, "against": a} for c in ("x", name) for a in ("p", "q", "r", "s"))
    means = estimates(2)
    renamed = Results(
        tuple(label | {"system": f"{name}{i}", "rater": name} for i, label in enumerate(means.labels)), means.results
    )
    curved = Results(
        tuple(label | {"criterion": f"{name}{i}"} for i, label in enumerate(converged.labels)), converged.results
    )
    drawn = [plot.agreement(Results(labels, agreed.results)), plot.interval(renamed), plot.convergence(curved)]
    shown = []
    for each in drawn:
        each.figure.canvas.draw()
        legend = [] if each.get_legend() is None else each.get_legend().get_texts()
        shown += [text.get_text() for text in (*each.get_yticklabels(), *legend, each._left_title)]
    assert not any(cbook.is_math_text(text) or "\n" in text or "\x1b" in text for text in shown)
    assert not any(text.startswith("_") for text in shown)
    bare = name.replace("\n", " ").replace("\x1b", "").replace("$", r"\$")
    assert sum(bare[:10] in text for text in shown) >= 4
    rows = [text.get_text() for each in drawn[:2] for text in each.get_yticklabels()]
    assert max(len(text.replace("\\", "").strip()) for text in rows) <= 40
    assert words(drawn[2])[0].strip().startswith(bare[:10])


def test_long_names_keep_both_ends():
    assert plot.visible("x" * 50 + "-mini", 20) == "xxxxxxxxxx…xxxx-mini"
    assert plot.visible("x" * 20, 20) == "x" * 20


def test_infinite_precision_is_not_claimed_for_an_undefined_result(ax):
    result = replace(agreement([1, 2, 3, 4], [1, 3, 2, 4]), estimate=NAN, interval=calib.stats.Interval(NAN, NAN))
    assert "CI" not in plot.agreement(result, ax=ax).get_xlabel()
    ax.figure.canvas.draw()
