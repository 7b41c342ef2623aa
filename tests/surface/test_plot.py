"""Plots: what they draw is what the results hold, and what they say comes from the results."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import cbook, pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import calib
from calib import Results, plot
from calib.stats import (
    CalibWarning,
    agreement,
    compare,
    convergence,
    labels_needed,
    mean_interval,
    ppi_difference,
    ppi_mean,
    rank_judges,
    reliability,
)

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
    results = [
        ppi_mean(np.where(np.arange(12) < 8, row, NAN), g, estimator=method) for row, g in zip(y, f, strict=True)
    ]
    labels = [
        {"criterion": "coherence", "rater": "judge", "against": "ann", "system": f"M{i}"} for i in range(n_systems)
    ]
    return Results(tuple(labels), tuple(results))


def three(n_systems=3):
    return [estimates(n_systems, method) for method in ("classical", "judge_only", "ppi++")]


def points(ax):
    """Single points that were drawn, as (x, y)."""
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks(ax)]


def segments(ax, upright=False):
    """Horizontal (or upright) lines that were drawn, as ends."""
    axis = 1 if upright else 0
    lines = [c.get_segments()[0] for c in ax.collections if isinstance(c, LineCollection)]
    return [tuple(line[:, axis]) for line in lines if (line[0, 0] == line[1, 0]) == upright]


def span(values):
    return f"{min(values):.3g} to {max(values):.3g}"


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def title(ax):
    return ax.get_title(loc="left").replace("\n", " ")


def marks(ax):
    """Lines of a single point."""
    return [line for line in ax.lines if len(line.get_xdata()) == 1]


def hollow(ax):
    return [line.get_markerfacecolor() == "white" for line in marks(ax)]


def names(ax):
    """What names the rows."""
    return [text.get_text() for text in ax.get_yticklabels()]


def ticks(ax):
    return {text.get_text(): y for text, y in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)}


# --- agreement --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_agreement_draws_each_estimate_with_its_interval_in_its_row(agreed, ax):
    assert plot.agreement(agreed, ax=ax) is ax
    assert len(agreed) == 8
    assert sorted(x for x, _ in points(ax)) == sorted(result.estimate for result in agreed)
    assert sorted(segments(ax)) == sorted(tuple(result.interval) for result in agreed)


def test_agreement_groups_rows_under_headings_and_colours_by_criterion(agreed, ax):
    criteria = ["coherence", "consistency", "fluency", "relevance"]
    assert "(90 % CI)" in plot.agreement(agreed, ax=ax).get_xlabel()
    assert names(ax) == [part for name in criteria for part in (name, "vs simulated-2", "vs simulated-3")]
    assert [text.get_text() for text in ax.get_yticklabels() if text.get_fontweight() == "bold"] == criteria
    first = agreed.select(criterion="consistency", against="simulated-3").one()
    assert dict(points(ax))[first.estimate] == ax.get_yticks()[5]
    assert sorted(Counter(to_hex(line.get_color()) for line in marks(ax)).values()) == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("level", "method", "expected"),
    [("group", "spearman", "Spearman rho within groups (95 % CI)\nn = 24 groups"),
     ("item", "pearson", "Pearson r over items (95 % CI)\nn = 312 items"),
     ("system", "kendall", "Kendall tau-b over systems (95 % CI)\nn = 13 systems")],
)  # fmt: skip
def test_agreement_says_level_coefficient_confidence_and_n(humans, level, method, expected):
    fluency = humans[humans["criterion"] == "fluency"]
    raters = [fluency[fluency["rater"] == f"simulated-{i}"] for i in (1, 2)]
    drawn = plot.agreement(calib.agreement(*raters, level=level, method=method))
    assert drawn.get_xlabel() == expected
    assert drawn.get_title(loc="left").startswith(f"simulated-1, against simulated-2: {expected[:9]}")
    assert list(ticks(drawn)) == ["fluency"]


def test_agreement_without_an_interval_claims_none(ax):
    result = agreement([1, 2, 3, 4], [1, 3, 2, 4], interval="none")
    assert "CI" not in plot.agreement(result, ax=ax).get_xlabel()
    assert [x for x, _ in points(ax)] == [result.estimate]
    undefined = plot.agreement(replace(result, estimate=NAN, interval=calib.stats.Interval(NAN, NAN)))
    assert "CI" not in undefined.get_xlabel()
    undefined.figure.canvas.draw()


def test_agreement_at_several_levels_names_the_level_in_the_rows(humans, ax):
    raters = [humans[(humans["rater"] == f"simulated-{i}") & (humans["criterion"] == "fluency")] for i in (1, 2)]
    plot.agreement(calib.agreement(*raters) + calib.agreement(*raters, level="system"), ax=ax)
    assert names(ax) == ["over items", "over systems"]
    assert ax.get_xlabel().endswith("n = 312 items, 13 systems")


# --- pairs ------------------------------------------------------------------------------------------------------


def designed(n_groups=12, n_systems=5, seed=0, level="group", **options):
    """Scores from 1 to 5 of a judge and a human on n_groups documents x n_systems systems."""
    rng = np.random.default_rng(seed)
    group, system = (v.ravel() for v in np.meshgrid(np.arange(n_groups), np.arange(n_systems), indexing="ij"))
    truth = rng.normal(3, 1, n_groups * n_systems) + 0.5 * system / n_systems
    x, y = (np.clip(np.round(truth + rng.normal(0, 0.7, len(truth))), 1, 5) for _ in range(2))
    groups, systems = [f"d{g}" for g in group], [f"M{s}" for s in system]
    return agreement(x, y, groups=groups, systems=systems, level=level, **options)


def labelled(*results, **columns):
    """Results with one label each; a name has a value for all or a list."""
    every = [{k: v[i] if isinstance(v, list) else v for k, v in columns.items()} for i in range(len(results))]
    return Results(tuple(every), results)


def dots(ax):
    """Where markers without a line are, as an array of pairs."""
    clouds = [np.column_stack(line.get_data()) for line in ax.lines if line.get_linestyle() == "None"]
    return np.concatenate([*clouds, np.empty((0, 2))])


def test_scatter_puts_the_labels_across_and_the_judge_up(ax):
    found = agreement([1.1, 2.7, 3.2, 4.9], [2, 1, 3.5, 4])
    assert plot.scatter(labelled(found, criterion="fluency", rater="robot", against="ann"), ax=ax) is ax
    assert dots(ax).tolist() == [[2, 1.1], [1, 2.7], [3.5, 3.2], [4, 4.9]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ann", "robot")
    assert title(ax) == f"fluency: {found}"


def test_scatter_spreads_equal_scores_a_little_and_says_so(ax):
    found = designed()
    plot.scatter(found, ax=ax)
    drawn = dots(ax)
    assert len(np.unique(drawn, axis=0)) == found.n == 60
    assert sorted(map(tuple, np.round(drawn))) == sorted(zip(found.sample.y, found.sample.x, strict=True))
    assert 0.2 < np.abs(drawn - np.round(drawn)).max() <= 0.3
    assert ax.get_xlabel() == "labels\n(equal scores spread a little)"
    fine = plot.scatter(agreement(np.arange(40) % 37 + 0.5, np.repeat([1, 2], 20)))
    assert (fine.get_xlabel(), fine.get_ylabel()) == ("labels\n(equal scores spread a little)", "judge")


@pytest.mark.slow
def test_scatter_counts_many_pairs_in_bins(ax):
    rng = np.random.default_rng(0)
    y = rng.integers(1, 6, 2500).astype(float)
    found = agreement(y + rng.normal(size=2500), y, interval="none")
    plot.scatter(found, ax=ax)
    assert not len(dots(ax))
    counts = ax.collections[0].get_array()
    assert counts.sum() == 2500
    assert counts.shape == (40, 5)  # a bin for each level of few
    few = plot.scatter(agreement(found.sample.x[:2000], found.sample.y[:2000], interval="none"))
    assert len(dots(few)) == 2000


def test_forest_of_very_many_groups_is_a_curve_through_some(ax):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 6300))
    found = agreement(x, y, groups=np.arange(6300) // 3, level="group", interval="none")
    plot.forest(found, ax=ax)
    [curve] = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert len(curve.get_xdata()) == 500
    assert set(curve.get_xdata()) <= set(found.sample.within.values())


def test_a_narrow_figure_has_long_names_above_their_rows():
    names = [f"a-long-name-{place}" for place in range(3)]
    wide, narrow = (plt.subplots(figsize=(width, 4), layout="constrained")[1] for width in (7, 3.5))
    heights = []
    for drawn in (wide, narrow):
        named = [{"system": name} for name in names]
        plot.interval(Results(tuple(named), estimates().results), ax=drawn)
        places = [ticks(drawn)[name] for name in names]
        heights.append([(name, y) for name, (_, y) in zip(places, points(drawn), strict=True)])
    assert all(name == y for name, y in heights[0])
    assert all(name < y for name, y in heights[1])


def test_scatter_is_the_same_each_time_and_leaves_the_random_state_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - the global state is what must not move
    first, second = (dots(plot.scatter(designed())).tolist() for _ in range(2))
    assert first == second
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("shape", "unit", "kinds"),
    [((4, 9), "group", ["d0", "d1", "d2", "d3"]), ((12, 5), "system", ["M0", "M1", "M2", "M3", "M4"])],
)
def test_scatter_is_coloured_by_what_there_is_little_of(shape, unit, kinds):
    drawn = plot.scatter(designed(*shape))
    assert drawn.get_legend().get_title().get_text() == unit
    assert words(drawn) == kinds
    assert len({to_hex(line.get_color()) for line in drawn.lines}) == len(kinds)
    for shape, level in (((12, 9), "group"), ((1, 9), "item")):  # one colour where more could not be told apart
        plain = plot.scatter(designed(*shape, level=level))
        assert plain.get_legend() is None
        assert len(plain.lines) == 1


def test_scatter_over_systems_shows_their_means(ax):
    found = designed(level="system")
    plot.scatter(labelled(found, rater="robot"), ax=ax)
    table = np.array([found.sample.y, found.sample.x]).reshape(2, 12, 5)
    assert np.allclose(np.sort(dots(ax), axis=0), np.sort(table.mean(axis=1).T, axis=0))
    assert ax.get_xlabel() == "labels, means of systems"
    assert ax.get_ylabel() == "robot, means of systems"
    assert [text.get_text() for text in ax.texts] == ["M0", "M1", "M2", "M3", "M4"]  # beside their points
    assert ax.get_legend() is None
    assert plot.scatter(designed(4, 30, level="system")).get_legend() is None


# --- groups -----------------------------------------------------------------------------------------------------


def test_forest_draws_each_group_in_order_with_the_mean_as_a_band(ax):
    found = designed()
    assert plot.forest(found, ax=ax) is ax
    drawn = dots(ax)
    assert drawn[:, 0].tolist() == sorted(found.sample.within.values(), reverse=True)
    inside = found.sample.within
    assert [inside[name] for name in names(ax)] == drawn[:, 0].tolist()
    assert ax.get_yticks().tolist() == drawn[:, 1].tolist()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the highest is above
    assert [line.get_xdata()[0] for line in ax.lines if line.get_label() == "mean"] == [found.estimate]
    box = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (box.x0, box.x1) == pytest.approx(tuple(found.interval))
    assert words(ax) == ["mean", "95 % CI of the mean"]
    assert ax.get_xlabel() == "Spearman rho inside each group"


@pytest.mark.parametrize(("constant", "said"), [("skip", "left out of the mean"), ("zero", "0 in the mean")])
def test_forest_says_how_many_groups_had_none(constant, said, ax):
    x, y = [1, 2, 3, 1, 3, 2, 5, 5, 5, 5, 5, 5], [1, 2, 3] * 4
    found = agreement(x, y, groups=[*"aaabbbcccddd"], level="group", constant=constant)
    plot.forest(found, ax=ax)
    assert ax.get_xlabel().endswith(f"2 of 4 groups have none: a rater gives it a single value; {said}")
    assert len(dots(ax)) == 2


def test_forest_of_many_groups_has_no_names_and_of_one_its_name(ax):
    drawn = plot.forest(designed(100, 4))
    assert len(drawn.get_yticks()) == 0
    assert drawn.get_ylabel() == f"{len(dots(drawn))} groups, in order"
    assert drawn.figure.get_size_inches()[1] < 7  # it stays on a page
    assert plot.forest(designed(40, 4)).get_ylabel() == ""
    plot.forest(agreement([1, 2, 3, 5, 5], [1, 3, 2, 1, 2], groups=[7, 7, 7, 8, 8], level="group"), ax=ax)
    assert dots(ax).tolist() == [[0.5, 0.5]]
    assert names(ax) == ["7"]
    assert words(ax)[0] == "mean"
    assert "1 of 2 groups has none" in ax.get_xlabel()


def test_some_plots_take_one_result_and_forest_groups_only():
    for draw in (plot.scatter, plot.forest):
        with pytest.raises(ValueError, match="`result` must hold one result, but has 2"):
            draw(labelled(designed(), designed(), criterion=["a", "b"]))
    with pytest.raises(ValueError, match=r"`result` must be of level 'group', but is of level 'item'\."):
        plot.forest(designed(level="item"))


# --- a map ------------------------------------------------------------------------------------------------------


SURE = calib.stats.Interval(0.1, 0.8)


def mapped(**options):
    results = [replace(designed(seed=seed, **options), interval=SURE) for seed in range(6)]
    return labelled(*results, criterion=["c1", "c2", "c3"] * 2, rater=["a"] * 3 + ["b"] * 3, against="ann")


def cell_texts(ax):
    return [(*np.floor(text.get_position()), text.get_text()) for text in ax.texts]


def test_heatmap_writes_estimate_and_interval_into_each_cell(ax):
    results = mapped()
    assert plot.heatmap(results, ax=ax) is ax
    assert [text.get_text() for text in ax.get_xticklabels()] == ["c1", "c2", "c3"]
    assert names(ax) == ["a", "b"]
    for place, result in enumerate(results):
        column, row = place % 3, 2 * (place // 3)
        here = [text for x, y, text in cell_texts(ax) if (x, y // 2 * 2) == (column, row)]
        assert here == [f"{result.estimate:.3f}", "[0.10, 0.80]"]
    colours = ax.collections[0].get_array()
    assert colours.tolist() == np.reshape([result.estimate for result in results], (2, 3)).tolist()
    assert title(ax) == "against ann: Spearman rho from 0.41 (c3, a) to 0.54 (c2, b); 6 of 6 intervals exclude 0"
    assert ax.get_xlabel() == "Spearman rho within groups (95 % CI)\nn = 12 groups"


def test_heatmap_frames_the_cells_whose_interval_covers_zero_but_no_share(ax):
    first, *more = mapped()
    doubtful = replace(first, interval=calib.stats.Interval(-0.1, 0.8))
    unsaid = replace(first, interval=calib.stats.Interval(NAN, NAN))
    plot.heatmap(labelled(*more, doubtful, unsaid, criterion=list("abcdefg"), rater="r"), ax=ax)
    assert [patch.get_x() for patch in ax.patches] == [pytest.approx(5.05)]
    assert ax.get_xlabel().endswith("\ndashed: the interval covers 0")
    share = replace(mapped(method="exact")[0], interval=calib.stats.Interval(0.0, 0.8))
    of_share = plot.heatmap(labelled(share, criterion="a"))
    assert not of_share.patches
    assert "dashed" not in of_share.get_xlabel()


@pytest.mark.parametrize(("worst", "ends"), [(0.2, (0, 0.8)), (-0.9, (-0.9, 0.9))])
def test_heatmap_colours_from_zero(worst, ends, ax):
    best, bad = (replace(designed(), estimate=value) for value in (0.8, worst))
    plot.heatmap(labelled(best, bad, criterion=["a", "b"]), ax=ax)
    assert ax.collections[0].get_clim() == ends


def test_heatmap_says_where_there_is_no_estimate_and_keeps_two_results_of_one_cell_apart(ax):
    gone = replace(designed(), estimate=NAN, interval=calib.stats.Interval(NAN, NAN))
    plot.heatmap(labelled(designed(), gone, criterion=["a", "b"], rater=["x", "y"]), ax=ax)
    assert (1.0, 3.0, "none") in cell_texts(ax)
    assert len(ax.texts) == 3
    twice = labelled(designed(), designed(seed=1), designed(seed=2), rater="x", criterion=["a", "a", "b"])
    drawn = plot.heatmap(twice)
    assert names(drawn) == ["x", "x #2"]
    assert len(drawn.texts) == 6


@pytest.mark.slow
def test_heatmap_has_room_for_many_criteria():
    wide = plot.heatmap(labelled(*[designed()] * 12, criterion=[f"criterion {i}" for i in range(12)]))
    wide.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in wide.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


# --- ties -------------------------------------------------------------------------------------------------------


def test_ties_draws_judge_and_labels_in_one_row(ax):
    results = mapped()
    plot.ties(results, ax=ax)
    rows = ax.get_yticks()
    assert names(ax) == ["c1", "a", "b", "c2", "a", "b", "c3", "a", "b"]
    first = {x for x, y in points(ax) if y == rows[1]}
    assert first == {results[0].ties_x, results[0].ties_y}
    assert set(segments(ax)[0]) == first
    assert words(ax) == ["judge", "labels"]
    empty = {line.get_xdata()[0] for line in ax.lines if line.get_markerfacecolor() == "white"}
    assert empty == {result.ties_y for result in results}
    assert ax.get_xlabel() == "share of tied pairs, within groups\nn = 12 groups"
    assert ax.get_xlim()[0] <= 0


# --- one judge against another ----------------------------------------------------------------------------------


def trial(seed=0, spread=(0.4, 1.0), **options):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=80)
    scores = [y + sd * rng.normal(size=80) for sd in spread]
    judges = {f"judge-{i}": one for i, one in enumerate(scores)}
    return (
        compare(*scores, y, names=tuple(judges), **options) if len(spread) == 2 else rank_judges(judges, y, **options)
    )


def test_compare_draws_differences_and_hollow_what_is_not_told_apart(ax):
    apart, alike = trial(), trial(spread=(0.5, 0.5))
    assert apart.p_value < 0.05 < alike.p_value
    results = labelled(apart, alike, criterion=["a", "b"], rater="judge-0", versus="judge-1", against="ann")
    assert plot.compare(results, ax=ax) is ax
    assert [x for x, _ in points(ax)] == [apart.estimate, alike.estimate]
    assert segments(ax) == [tuple(apart.interval), tuple(alike.interval)]
    assert hollow(ax) == [False, True]
    assert [0, 0] in [list(line.get_xdata()) for line in ax.lines]
    assert list(ticks(ax)) == ["a", "b"]
    assert title(ax) == "against ann, judge-0 minus judge-1: 1 of 2 differences differ from 0"
    expected = "difference, Spearman rho over items (95 % CI)\nn = 80 items\nhollow: no clear difference (jackknife)"
    assert ax.get_xlabel() == expected
    # it goes by the test and its level
    near = replace(apart, p_value=0.08, confidence_level=0.9)
    drawn = plot.compare(labelled(near, replace(near, confidence_level=0.95), criterion=["a", "b"]))
    assert hollow(drawn) == [False, True]


def test_ranking_draws_judges_in_order_with_their_clusters(ax):
    result = trial(spread=(2.0, 0.3, 0.31, 0.3), test="jackknife")
    assert len(set(result.clusters)) > 1
    assert plot.ranking(labelled(result, criterion="fluency", against="ann"), ax=ax) is ax
    assert names(ax) == list(result.names)
    assert [x for x, _ in points(ax)] == [one.estimate for one in result.agreements]
    assert segments(ax) == [tuple(one.interval) for one in result.agreements]
    colours = [to_hex(line.get_color()) for line in marks(ax)]
    assert [colours.index(c) for c in colours] == [result.clusters.index(c) for c in result.clusters]
    assert words(ax) == [f"cluster {c}" for c in sorted(set(result.clusters))]
    assert ax.get_xlabel().endswith("\nclusters differ from each other (jackknife, Holm)")
    assert title(ax) == "fluency, against ann: judge-3 leads, but does not differ clearly from judge-2 and judge-1"
    rankings = [trial(seed, (2.0, 0.3, 0.31), correction="bh") for seed in (1, 2)]
    drawn = plot.ranking(labelled(*rankings, criterion=["a", "b"]))  # which are headings
    assert names(drawn) == ["a", *rankings[0].names, "b", *rankings[1].names]
    assert "Benjamini-Hochberg" in drawn.get_xlabel()


# --- people -----------------------------------------------------------------------------------------------------


def panel(seed=0, judge=True, **options):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(30, 1))
    scores = (truth + rng.normal(size=(30, 1)))[:, 0] if judge else None
    return reliability(truth + rng.normal(size=(30, 3)), scores, **options)


@pytest.mark.slow
def test_a_ranking_of_one_cluster_says_who_is_told_apart_from_the_first(ax):
    rng = np.random.default_rng(0)
    y = rng.normal(size=150)
    found = rank_judges({f"judge-{i}": y + (0.8 + 0.35 * i) * rng.normal(size=150) for i in range(5)}, y)
    assert set(found.clusters) == {1}
    assert found.distinct.any()
    plot.ranking(found, ax=ax)
    assert words(ax) == ["differs from the first", "the first, or not clearly different"]
    alike = [name for place, name in enumerate(found.names) if place and not found.distinct[0, place]]
    assert title(ax).startswith(f"{found.names[0]} leads, but does not differ clearly from ")
    assert {name for name in found.names[1:] if name in title(ax)} == set(alike)


def test_reliability_draws_people_and_judge_in_one_row(ax):
    results = labelled(panel(0), panel(1), criterion=["a", "b"], rater="robot", raters="3 raters")
    assert plot.reliability(results, ax=ax) is ax
    assert list(ticks(ax)) == ["a", "b"]
    row = ticks(ax)["a"]
    ceiling = results[0].ceiling
    assert {(x, round(y - row, 6)) for x, y in points(ax)[:2]} == {(ceiling.ceiling, -0.3), (ceiling.judge, 0.3)}
    assert segments(ax)[:2] == [tuple(ceiling.ceiling_interval), tuple(ceiling.judge_interval)]
    assert words(ax) == ["one person", "judge"]
    assert ax.get_xlabel() == "Spearman rho over items, with the mean of the other people (95 % CI)\nn = 30 items"
    assert (
        title(ax)
        == "robot, 3 raters: one person reaches 0.254 to 0.523 with the other people, the judge 0.282 to 0.426"
    )
    alone = plot.reliability(panel(judge=False, method="kendall", confidence_level=0.8))
    assert words(alone) == ["one person"]
    assert len(points(alone)) == 1
    assert alone.get_xlabel().startswith("Kendall tau-b over items, with the mean of the other people (80 % CI)")


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
    for line in marks(ax):
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
    twice = plot.interval(estimates(seed=0), estimates(seed=1))  # two series of one method
    assert len({to_hex(handle.get_color()) for handle in twice.get_legend().legend_handles}) == 2
    assert len({y for _, y in points(twice)}) == 6


@pytest.mark.parametrize("key", [str, lambda name: (name,)])
def test_interval_draws_the_truth_through_its_row(key, ax):
    plot.interval(*three(), truth={key("M0"): 3.25, key("M2"): 4.5}, ax=ax)
    upright = [c.get_segments()[0] for c in ax.collections if isinstance(c, LineCollection) and len(segments(ax, True))]
    lines = [line for line in upright if line[0, 0] == line[1, 0]]
    assert [line[0, 0] for line in lines] == [3.25, 4.5]
    assert [np.mean(line[:, 1]) for line in lines] == pytest.approx([ticks(ax)["M0"], ticks(ax)["M2"]])
    assert words(ax)[-1] == "truth"
    with pytest.raises(ValueError) as error:
        plot.interval(estimates(), truth={"N0": 3.0})
    assert str(error.value) == "`truth` must know some of the rows (such as 'M0', 'M1', 'M2'), but has ['N0']."


@pytest.mark.slow
def test_rows_of_sixteen_systems_and_three_methods_are_legible():
    drawn = plot.interval(*three(16), truth={"M3": 3.0})
    drawn.figure.dpi = 100
    drawn.figure.canvas.draw()
    page = drawn.figure.bbox
    texts = [
        *drawn.get_yticklabels(), drawn.xaxis.label, drawn.title, *drawn.get_legend().get_texts(), drawn._left_title,
    ]  # fmt: skip
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert all(box.x0 >= page.x0 and box.x1 <= page.x1 and box.y0 >= page.y0 and box.y1 <= page.y1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    rows = sorted(y for _, y in points(drawn))
    a_pixel = abs(drawn.transData.transform((0, 1)) - drawn.transData.transform((0, 0)))[1]
    assert min(np.diff(rows)) * a_pixel > 8  # a marker of 5.5 points is 7.6 pixels high


def test_difference_draws_a_line_at_zero(ax):
    y_a, y_b = [4, 5, 4, NAN, NAN], [3, 3, 4, NAN, NAN]
    f_a, f_b = [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3]
    result = ppi_difference(y_a, y_b, f_a, f_b, estimator="ppi", confidence_level=0.9)
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
        human, options = truth + rng.normal(size=60), {"coefficient": "kendall", "n_subsets": 20, "rng": i}
        results.append(convergence(draws, exact=truth, labels=human, **options))
        labels.append({"criterion": f"c{i}", "rater": "judge", "prompt": f"c{i}-form", "method": "sample"})
    return Results(tuple(labels), tuple(results))


def curves(ax):
    return [(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in ax.lines]


@pytest.mark.slow
def test_convergence_draws_measured_points_and_the_predicted_line(converged, ax):
    assert plot.convergence(converged, ax=ax) is ax
    lines = {tuple(line.get_ydata()): line for line in ax.lines}
    smooth = [line for line in ax.lines if len(line.get_xdata()) > 100]
    for result, law in zip(converged, smooth, strict=True):
        assert lines[result.rmse].get_linestyle() == "None"
        # apart from each other on the log axis by a few percent
        assert np.allclose(lines[result.rmse].get_xdata(), result.sizes, rtol=0.03)
        assert np.allclose(np.interp(result.sizes, law.get_xdata(), law.get_ydata()), result.rmse_predicted, rtol=1e-3)
    assert words(ax)[:2] == ["c0", "c1"]
    most, first = (span([r.rmse[place] for r in converged]) for place in (-1, 0))
    assert title(ax) == f"judge: the mean of 20 draws is {most} points from the exact expectation, one draw {first}"


def test_convergence_axis_is_logarithmic_with_ticks_at_the_sizes_and_an_axis_of_cost(converged, ax):
    plot.convergence(converged, cost=0.02, ax=ax)
    assert ax.get_xscale() == "log"
    assert list(ax.get_xticks()) == [1, 2, 3, 5, 8, 10, 15, 20]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3", "5", "8", "10", "15", "20"]
    assert not len(ax.get_xticks(minor=True))
    assert "n = 60 items" in ax.get_xlabel()
    assert ax.get_ylabel() == "RMSE from the exact expectation (score points)"
    assert "all draws" in plot.convergence(convergence(np.eye(5), rng=1)).get_ylabel()
    above = ax.child_axes[0]
    assert above.get_xlabel() == "cost per item"
    assert [text.get_text() for text in above.get_xticklabels()][:3] == ["0.02", "0.04", "0.06"]
    assert not plot.convergence(converged).child_axes
    with pytest.raises(ValueError, match=r"`cost` must be a finite number above 0, but got 0\."):
        plot.convergence(converged, cost=0)


def test_convergence_with_people_draws_band_and_reference(converged, ax):
    plot.convergence(converged, show="agreement", ax=ax)
    assert ax.get_ylabel() == "Kendall tau-b with people"
    flat = [y for x, y in curves(ax) if tuple(x) == (0, 1)]
    assert flat == [(result.agreement_reference,) * 2 for result in converged]
    for band, result in zip(ax.collections, converged, strict=True):
        box = band.get_datalim(ax.transData)
        assert (box.y0, box.y1) == pytest.approx((min(result.agreement_low), max(result.agreement_high)))
    assert {result.agreement for result in converged} <= {y for _, y in curves(ax)}
    with pytest.raises(ValueError, match="needs results that were computed with `labels`"):
        plot.convergence(convergence(np.eye(5), rng=1), show="agreement")
    with pytest.raises(ValueError, match=r"`show` must be 'error' or 'agreement', but got 'both'."):
        plot.convergence(convergence(np.eye(5), rng=1), show="both")


# --- all of them ------------------------------------------------------------------------------------------------


EVERY = [getattr(plot, name) for name in plot.__all__]


@pytest.mark.parametrize("draw", EVERY)
def test_a_plot_refuses_nothing_and_the_wrong_kind(draw):
    with pytest.raises(ValueError, match=r"`results` must hold one result at least, but is empty."):
        draw(Results((), ()))
    mean = draw not in (plot.interval, plot.difference)
    other = mean_interval([1, 2, 3]) if mean else agreement([1, 2, 3], [1, 3, 2])
    with pytest.raises(TypeError, match=f"but got {type(other).__name__}"):
        draw(other)
    assert plt.get_fignums() == []


def test_a_plot_makes_a_figure_only_when_it_must(agreed, ax):
    plot.agreement(agreed, ax=ax)
    assert plt.get_fignums() == [ax.figure.number]
    assert plot.agreement(agreed).figure is not ax.figure
    assert len(plt.get_fignums()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_as_they_stand(name, agreed, converged):
    labels = tuple({"criterion": c, "rater": name, "against": a} for c in ("x", name) for a in ("p", "q", "r", "s"))
    means = estimates(2)
    systems = tuple(one | {"system": f"{name}{i}", "rater": name} for i, one in enumerate(means.labels))
    criteria = tuple(one | {"criterion": f"{name}{i}"} for i, one in enumerate(converged.labels))
    x, y = np.arange(12.0) % 5, np.arange(12.0) % 7
    units = [f"{name}{i % 3}" for i in range(12)]
    grouped = agreement(x, y, groups=units, level="group")
    over = agreement(x, y, groups=[f"{i % 4}" for i in range(12)], systems=units, level="system")
    pair = compare(x, -x, y, names=(f"{name}1", f"{name}2"))
    order = rank_judges({f"{name}1": x, f"{name}2": -x}, y)
    label = {"criterion": [f"{name}1", f"{name}2"], "rater": name, "against": name}
    rows = [plot.agreement(Results(labels, agreed.results)), plot.interval(Results(systems, means.results))]
    legends = [
        plot.convergence(Results(criteria, converged.results)),
        plot.scatter(labelled(grouped, **label)),
        plot.scatter(labelled(over, **label)),
    ]
    others = [
        plot.forest(labelled(grouped, **label)),
        plot.heatmap(labelled(grouped, over, **label | {"rater": [f"{name}1", f"{name}2"]})),
        plot.ties(labelled(grouped, grouped, **label)),
        plot.compare(labelled(pair, pair, **label, versus=name)),
        plot.ranking(labelled(order, order, **label)),
        plot.reliability(labelled(panel(), panel(1), **label)),
    ]
    draws = 3 + np.random.default_rng(1).normal(size=(60, 1, 1)) + np.random.default_rng(2).normal(size=(60, 5, 4))
    study, curve = calib.stats.g_study(draws), convergence(draws[:, 0], rng=1)
    prompts = calib.stats.prompt_mean(draws.mean(axis=2), names=[f"{name}{i}" for i in range(5)])
    others += [
        plot.prompt_means(labelled(prompts, **label)),
        plot.components(labelled(study, study, **label)),
        plot.gain(labelled(curve, curve, **label)),
    ]
    start = name.replace("\n", " ").replace("\x1b", "").replace("$", r"\$")[:6]
    for each in (*rows, *legends, *others):
        each.figure.canvas.draw()
        shown = [*names(each), *([] if each.get_legend() is None else words(each))]
        shown += [text.get_text() for text in (*each.get_xticklabels(), *each.texts)]
        lines = [line for text in (title(each), each.get_xlabel(), each.get_ylabel()) for line in text.split("\n")]
        assert not any(cbook.is_math_text(text) or "\x1b" in text for text in (*shown, *lines))
        assert not any("\n" in text or text.startswith("_") for text in names(each))
        assert each not in (*rows, *legends) or not any(text.startswith("_") for text in (*shown, title(each)))
        assert any(start in text.replace("\n", " ") for text in (*shown, *lines))
    assert max(len(text.replace("\\", "").strip()) for each in rows for text in names(each)) <= 40
    assert words(legends[0])[0].strip().startswith(start)
    assert len(words(legends[1])) == len(legends[2].texts) == 3


@pytest.mark.slow
def test_what_is_undefined_everywhere_is_drawn_as_nothing():
    flat = [2.0] * 6
    none = agreement(flat, [1, 2, 3, 1, 2, 3], groups=[*"aaabbb"], systems=[*"xyzxyz"], level="group")
    over = agreement(flat, [1, 2, 3, 1, 2, 3], groups=[*"aaabbb"], systems=[*"xyzxyz"], level="system")
    with pytest.warns(CalibWarning):
        pair = compare(flat, [1, 2, 3, 3, 2, 1], [1, 2, 3, 1, 2, 3], method="kendall")
    order = rank_judges({"p": flat, "q": flat}, [1, 2, 3, 1, 2, 3])
    people = reliability(np.full((6, 3), 2.0), flat)
    drawn = [plot.scatter(none), plot.scatter(over), plot.forest(none), plot.heatmap(none), plot.ties(none)]
    drawn += [plot.compare(pair), plot.ranking(order), plot.reliability(people), plot.agreement(none)]
    for each in drawn:
        each.figure.canvas.draw()
        assert "CI" not in each.get_xlabel()
    assert not len(dots(drawn[2]))
    assert "2 of 2 groups have none" in drawn[2].get_xlabel()
    assert cell_texts(drawn[3]) == [(0.0, 1.0, "none")]
    empty = agreement([], [], groups=[], systems=[], level="group")
    for draw in (plot.scatter, plot.forest, plot.heatmap, plot.ties):
        draw(empty).figure.canvas.draw()
    plot.scatter(agreement([], [], systems=[], level="system")).figure.canvas.draw()


# --- labels needed ----------------------------------------------------------------------------------------------


def test_width_against_labels_marks_where_the_target_is_reached(ax):
    needed = labels_needed(rho=0.8, sd=1.1, n_items=2000, half_width=0.2)
    plot.labels_needed(needed, ax=ax)
    curves, dots = (
        [line for line in ax.lines if len(line.get_xdata()) > 2],
        [line for line in ax.lines if line.get_marker() == "o"],
    )
    assert [len(line.get_xdata()) for line in curves] == [len(needed.curve)] * 2
    assert [float(dot.get_xdata()[0]) for dot in dots] == [needed.n_labels, needed.n_labels_alone]
    # where the target is just reached
    assert all(0.19 < float(dot.get_ydata()[0]) <= 0.201 for dot in dots)
    assert ax.get_xlabel() == "labels"
    assert "95 % interval" in ax.get_ylabel()


def test_several_plans_are_told_apart(ax):
    results = Results(
        ({"criterion": "fluency"}, {"criterion": "coherence"}),
        tuple(labels_needed(rho=r, sd=1.0, n_items=500, half_width=0.2) for r in (0.5, 0.9)),
    )
    plot.labels_needed(results, ax=ax)
    assert [word.split(":")[0] for word in words(ax)] == ["fluency", "fluency", "coherence", "coherence"]


# --- designs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [0, 2])
def test_a_design_is_titled_with_what_it_is_worth_also_where_draws_are_missing(lost, ax):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 1, 1)) + 0.3 * rng.normal(size=(20, 3, 1)) + 0.5 * rng.normal(size=(20, 3, 4))
    scores[:lost, 0, 3] = NAN
    study = calib.stats.g_study(scores)
    assert (study.n_draws < 4) == (lost > 0)
    plot.d_study(study, ax=ax)
    worth = study.d_study([3], [4]).phi[0]
    assert title(ax) == f"Phi (dependability of the value) is {worth:.2f} with 3 prompts x 4 draws"
