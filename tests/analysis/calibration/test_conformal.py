"""Sets of labels: reference values, refits one by one, coverage by simulation, what no order and no unit may change."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from calib.analysis.calibration.conformal import coverage_point, least_labels, quantile_place, sets_of
from calib.core.check import ArgumentError
from calib.stats import full_conformal, ordered_logit, split_conformal

pytestmark = pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
FIVE = [1, 2, 3, 4, 5]


def coverage_on_summeval(summeval, criterion, n, n_draws=200, level=0.9, form=full_conformal, seed=0):
    """Coverage and mean size of each draw: n labels of 50 documents drawn at random, tested on the other 50."""
    x, y, document = summeval(criterion)
    rng, documents = np.random.default_rng(seed), np.unique(document)
    found = []
    for _ in range(n_draws):
        first = np.isin(document, rng.permutation(documents)[:50])
        pick = rng.choice(np.flatnonzero(first), n, replace=False)
        sets = form(x[pick], y[pick], levels=FIVE, x_new=x[~first], level=level)
        found.append((covered(sets, y[~first]), sets.mean_size))
    return np.array(found)


def covered(sets, y):
    return float(((sets.low[sets.row] <= y) & (y <= sets.high[sets.row])).mean())


# --- reference values -------------------------------------------------------------------------------------------------


def test_law_of_the_coverage_has_the_reference_values():
    """Reference: calibration.md 2.1, Beta(k, n + 1 - k)."""
    assert [round(coverage_point(n, 0.9), 4) for n in (25, 50, 100, 200)] == [0.8239, 0.8262, 0.8482, 0.8637]
    assert coverage_point(8, 0.9) == 1.0


@pytest.mark.parametrize(("level", "least"), [(0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_so_many_labels_take_a_set_that_is_not_the_whole_scale(level, least):
    assert least_labels(level) == least
    assert quantile_place(least, level) == least
    assert quantile_place(least - 1, level) > least - 1


G6 = {
    ("coherence", 0.9): (145, 2, 0.98889, 4.37431),
    ("coherence", 0.8): (129, 1, 0.87847, 2.98472),
    ("consistency", 0.9): (145, 2, 0.96597, 3.75833),
    ("consistency", 0.8): (129, 1, 0.84722, 2.63750),
    ("coherence", "signed"): (-1, 2, 0.95764, 3.58125),
    ("consistency", "signed"): (-1, 2, 0.96181, 2.87222),
}


@pytest.mark.parametrize(("case", "reference"), G6.items())
def test_quantiles_of_errors_have_the_reference_values(summeval, case, reference):
    """Reference: calibration.md G6; the 160 summaries of the 10 first documents by id, tested on the 1,440 others."""
    x, y, document = summeval(case[0])
    first = np.isin(document, np.unique(document)[:10])
    error, n = (y - x)[first], int(first.sum())
    if case[1] == "signed":  # equal tails of 90 %
        up = quantile_place(n, 0.95)
        found = below, above = tuple(np.sort(error)[[n - up, up - 1]])
    else:
        k = quantile_place(n, case[1])
        above = np.sort(np.abs(error))[k - 1]
        below, found = -above, (k, above)
    low, high = (x[~first] + below).clip(1, 5), (x[~first] + above).clip(1, 5)
    inside = ((low <= y[~first]) & (y[~first] <= high)).mean()
    assert found == reference[:2]
    assert (round(inside, 5), round(float((high - low + 1).mean()), 5)) == reference[2:]


SIZES = {  # calibration.md 2.2, row "full, mid-CDF", at n = 25, 50, 100, 200
    "coherence": (3.64, 3.39, 3.37, 3.38),
    "consistency": (1.53, 1.23, 1.20, 1.16),
    "fluency": (1.80, 1.44, 1.32, 1.37),
    "relevance": (3.20, 2.86, 2.85, 2.85),
}


@pytest.mark.slow
@pytest.mark.long  # paper_repro/calibration checks coverage and size of the same sets at every run of the gate
@pytest.mark.parametrize("criterion", SIZES)
def test_summeval_is_covered_by_sets_of_the_reference_size(summeval, criterion):
    """Those were measured in 40 draws, these in 200: two standard errors of their difference are allowed for."""
    for n, size in zip((25, 50, 100, 200), SIZES[criterion], strict=True):
        found = coverage_on_summeval(summeval, criterion, n)
        error = found.std(axis=0) / np.sqrt(len(found))
        assert found[:, 0].mean() >= 0.9 - 3 * error[0]
        assert found[:, 1].mean() <= size + 0.05 + 2 * error[1] * np.sqrt(1 + 200 / 40)


# --- the refits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("levels", [[0, 1], [1, 2, 3, 4, 5]])
def test_p_values_are_those_of_refits_one_by_one(continuous, levels):
    """Each label at each score: `ordered_logit` of n + 1 rows, whose scores are compared one by one."""
    rng = np.random.default_rng(3)
    y = rng.choice(levels, 20)
    x = y + rng.normal(0, 1.0, 20)
    x = x if continuous else x.round()
    found = full_conformal(x, y, levels=levels)
    for score, p in zip(found.score, found.p_values, strict=True):
        for place, label in enumerate(levels):
            both = np.append(x, score), np.append(y, label)
            chance = ordered_logit(*both, levels=levels).predict(both[0])
            middle = np.abs(np.cumsum(chance, axis=1) - chance / 2 - 0.5)
            strange = middle[np.arange(21), np.searchsorted(levels, both[1])]
            assert p[place] == pytest.approx((strange >= strange[-1] - 1e-7).mean())


def test_cells_have_quantiles_of_their_own():
    """p-values of a cell count the labels of the cell alone."""
    rng = np.random.default_rng(4)
    x, cell = rng.integers(1, 6, 80), np.repeat(["a", "b"], 40)
    y = np.clip(x + np.where(cell == "a", 0, rng.integers(-2, 3, 80)), 1, 5)
    found = full_conformal(x, y, levels=FIVE, by=cell)
    assert [(one.name, one.n, one.k) for one in found.cells] == [("a", 40, 37), ("b", 40, 37)]
    assert found.size[found.cell == 0].mean() < found.size[found.cell == 1].mean()
    rounded = found.p_values * 41
    np.testing.assert_allclose(rounded, rounded.round(), atol=1e-9)


def test_small_cells_are_taken_together_and_that_is_said():
    x, y = [1, 2, 3] * 10, [1, 2, 2] * 10
    found = full_conformal(x, y, levels=[1, 2, 3], by=["a"] * 20 + ["b"] * 5 + ["c"] * 5)
    assert [(one.name, one.n) for one in found.cells] == [("a", 20), ("all others", 10)]
    assert "pooled_cells: 'b', 'c'" in found.warnings[0]
    found = full_conformal(x, y, levels=[1, 2, 3], by=["a"] * 25 + ["b"] * 5)
    assert [(one.name, one.n) for one in found.cells] == [("all others", 30)]


# --- coverage ---------------------------------------------------------------------------------------------------------


def world(name, rng, n, k=5):
    """Scores and labels of items that come in no order."""
    quality = rng.normal(0, 1, n)
    y = np.clip(np.round((k + 1) / 2 + k / 5 * (quality + rng.normal(0, 0.5, n))), 1, k)
    x = (k + 1) / 2 + k / 5 * (quality + rng.normal(0, 0.7, n))
    whole = np.clip(np.round(x), 1, k)
    judges = {
        "good": whole,
        "lenient": np.clip(whole + 2, 1, k),
        "reversed": k + 1 - whole,
        "constant": np.full(n, 3.0),
        "two levels": (x > (k + 1) / 2).astype(float),
        "continuous": x,
        "ceiling": whole,
    }
    return judges[name], np.clip(y + 2, 1, k) if name == "ceiling" else y


WORLDS = [
    *((name, n, 0.9, 5) for name in ("good", "lenient", "reversed", "constant", "two levels") for n in (9, 10, 25, 50)),
    *(("continuous", n, 0.9, 5) for n in (9, 25, 50)),
    *(("ceiling", n, 0.9, 5) for n in (9, 25, 50)),
    *(("good", 25, level, 5) for level in (0.8, 0.95)),
    *(("good", 25, 0.9, k) for k in (2, 10)),
]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("name", "n", "level", "k"), WORLDS)
def test_full_sets_hold_as_often_as_they_say(name, n, level, k):
    """Never less often, and not always: the share of one new item a draw, 600 draws, within 3.3 standard errors.

    Exact sets hold at most 1 / (n + 1) more often where scores have no ties; ties, and whole labels, add to that.
    """
    rng = np.random.default_rng(100 * n + k)
    inside, draws = 0, 600
    for _ in range(draws):
        x, y = world(name, rng, n + 1, k)
        sets = full_conformal(x[:n], y[:n], levels=np.arange(1, k + 1), x_new=x[n:], level=level)
        inside += covered(sets, y[n:])
    error = np.sqrt(level * (1 - level) / draws)
    assert inside / draws >= level - 3.3 * error
    assert inside < draws or quantile_place(n, level) >= n


@pytest.mark.slow
@pytest.mark.long
def test_sets_cover_hardly_more_than_asked_where_ties_are_few():
    """Of a continuous judge and ten levels: between the level and 1 / (n + 1) above it, but for labels being whole."""
    rng, n, draws, k = np.random.default_rng(8), 25, 1500, 10
    tried = 0
    for _ in range(draws):
        x, y = world("continuous", rng, n + 1, k)
        p = full_conformal(x[:n], y[:n], levels=np.arange(1, k + 1), x_new=x[n:]).p_values[0, int(y[n]) - 1]
        tried += p * (n + 1) > (n + 1) - quantile_place(n, 0.9)
    error = 3.3 * np.sqrt(0.09 / draws)
    assert 0.9 - error <= tried / draws <= 0.9 + 1 / (n + 1) + error


@pytest.mark.slow
def test_full_sets_are_shorter_than_split_ones():
    rng, sizes = np.random.default_rng(5), []
    for _ in range(200):
        x, y = world("good", rng, 25)
        sizes.append([form(x, y, levels=FIVE).mean_size for form in (full_conformal, split_conformal)])
    spared = np.diff(sizes, axis=1)[:, 0]
    assert spared.mean() > 3 * spared.std() / np.sqrt(len(spared))


# --- what may change nothing, and what must hold ----------------------------------------------------------------------

tables = st.integers(5, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 5), min_size=n, max_size=n),
        st.lists(st.integers(1, 5), min_size=n, max_size=n),
        st.integers(0, 1000),
    )
)


@settings(deadline=None)
@given(tables)
def test_order_of_rows_and_units_of_scores_do_not_matter(table):
    x, y, seed = np.array(table[0]), np.array(table[1]), table[2]
    order = np.random.default_rng(seed).permutation(len(x))
    found = full_conformal(x, y, levels=FIVE)
    np.testing.assert_allclose(full_conformal(x[order], y[order], levels=FIVE).p_values, found.p_values)
    turned = full_conformal(1000.0 - 7.0 * x, y, levels=FIVE)
    np.testing.assert_allclose(turned.p_values[::-1], found.p_values)


@settings(deadline=None)
@given(tables, st.sampled_from([full_conformal, split_conformal]))
def test_sets_are_nested_in_the_level_and_hold_the_nearest_label(table, form):
    x, y, _ = table
    narrow = None
    for level in (0.5, 0.7, 0.8, 0.9, 0.95):
        found = form(x, y, levels=FIVE, level=level)
        assert (found.low <= found.nearest).all() and (found.nearest <= found.high).all()
        assert (found.size == found.high - found.low + 1).all()
        if narrow is not None:
            assert (found.low <= narrow.low).all() and (narrow.high <= found.high).all()
        narrow = found


@settings(deadline=None)
@given(tables)
def test_split_sets_have_no_gaps(table):
    x, y, _ = table
    found = split_conformal(x, y, levels=FIVE, level=0.8)
    held = found.p_values * (found.n + 1) > found.n + 1 - found.cells[0].k
    assert (held.sum(axis=1) == np.where(found.filled, 0, found.size)).all()


def test_scores_that_are_missing_have_the_whole_scale_and_are_counted():
    pytest.importorskip("pandas")
    found = full_conformal([1, 2, 3, np.nan] * 10, [1, 2, 3, 2] * 10, levels=FIVE, x_new=[1, np.nan])
    assert (found.n, found.n_missing, found.n_unread) == (30, 10, 1)
    assert found.row.tolist() == [0, -1]
    assert found.items.loc[1, ["low", "high", "size"]].tolist() == [1, 5, 5]


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("form", [full_conformal, split_conformal])
def test_too_few_labels_give_the_whole_scale(form, n):
    found = form([3] * n, [4] * n, levels=FIVE)
    assert (found.low.tolist(), found.high.tolist(), found.coverage_low) == ([1], [5], 1.0)
    assert found.warnings[0].startswith("too_few_labels")


def test_empty_sets_are_filled_and_counted():
    """Half of the sets may miss: a judge that is mostly right has scores at which every label is odd."""
    rng = np.random.default_rng(2)
    x = rng.integers(1, 6, 200)
    y = np.where(rng.random(200) < 0.95, x, rng.integers(1, 6, 200))
    found = full_conformal(x, y, levels=FIVE, level=0.3)
    assert found.n_filled == found.n_items[found.filled].sum() > 0
    assert (found.size[found.filled] == 1).all()
    assert any(text.startswith("filled_sets") for text in found.warnings)


def test_a_judge_of_very_many_scores_gets_the_split_form_and_that_is_said():
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    y = np.clip(np.round(3 + x), 1, 5)
    found = sets_of(x, y, levels=FIVE)
    assert found.method == "split" and found.warnings[0].startswith("split_form")
    assert sets_of(x.round(), y, levels=FIVE).method == "full"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"level": 90}, "level"), ({"ridge": 0}, "ridge"), ({"pseudo": 0.0}, "pseudo"), ({"ridge": -1}, "ridge"),
        ({"levels": [1, 2]}, "y"), ({"by": ["a", "b"]}, "by"), ({"x_new": [1], "by": list("abab")}, "by"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(options, argument):
    with pytest.raises(ArgumentError) as error:
        full_conformal([1, 2, 3, 4], [1, 2, 3, 3], **options)
    assert error.value.argument == argument


def test_a_label_as_strange_as_those_that_came_counts_them_all():
    """Of a judge that says nothing the set has each label whose share is above 1 - level: ties are no stranger."""
    y = np.tile([1] * 17 + [2] * 3, 20)
    found = split_conformal(np.ones(400), y, level=0.9, x_new=[1.0])
    assert (found.low.tolist(), found.high.tolist()) == ([1], [2])
    sure = split_conformal(np.ones(400), y, level=0.8, x_new=[1.0])
    assert (sure.low.tolist(), sure.high.tolist()) == ([1], [1])
