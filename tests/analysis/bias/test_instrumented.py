"""Effects at equal quality: reference values, another package, simulation, and what cannot be said."""

import math
import warnings

import numpy as np
import pytest

import calib
from calib.core.check import ArgumentError
from calib.stats import CalibWarning, instrumented

# calibration.md, G8: estimate and z per sd of log words of people, judge, difference, control, instrument; slope
LENGTH = {
    ("gpt-4o", "coherence"): ((0.0348, 1.27), (0.1783, 9.06), (0.1435, 5.39), (0.1640, 8.91), (0.1603, 8.34), 0.518),
    ("gpt-4o", "consistency"): ((0.0684, 3.08), (0.2182, 8.81), (0.1499, 7.19), (0.1709, 8.66), (0.1691, 8.56), 0.719),
    ("gpt-4o", "fluency"): ((-0.0274, -1.70), (-0.0093, -0.51), (0.0181, 1.07), (0.0038, 0.24), (0.0054, 0.35), 0.539),
    ("gpt-4o", "relevance"): ((0.2115, 8.27), (0.2660, 14.3), (0.0545, 1.99), (0.1982, 10.7), (0.1679, 8.34), 0.464),
    ("gemini_pro", "relevance"): (None, (0.1833, 7.90), (-0.0282, -0.97), (0.1065, 5.02), (0.0722, 3.28), 0.525),
    ("mistral-v03", "relevance"): (None, (0.0045, 0.44), (-0.2070, -7.93), (-0.0194, -1.81), (-0.0302, -2.35), 0.164),
}
# G9: estimate and z of difference, control, instrument where they are printed
SYSTEMS = {
    ("coherence", "M11"): ((0.209, 3.07), (-0.540, -9.87), (-0.406, -6.70)),
    ("coherence", "M9"): ((0.600, 8.65), (-0.045, None), (0.085, 1.44)),
    ("coherence", "M23"): ((-0.360, -4.7), (0.112, None), (0.021, 0.36)),
    ("coherence", "M20"): ((-1.075, None), (-0.940, None), (-0.967, -12.3)),
    ("coherence", "M17"): ((-0.033, None), (0.338, None), (0.270, 4.46)),
    ("coherence", "M1"): ((0.315, None), (0.196, None), (0.218, 3.89)),
    ("relevance", "M11"): ((0.369, 5.29), (-0.045, None), (0.065, 1.14)),
}


@pytest.fixture(scope="module")
def summeval():
    pytest.importorskip("pandas")
    try:
        items, ratings = calib.load_summeval_judges()
    except calib.datasets.DatasetError as error:
        pytest.skip(str(error))
    items = items.astype({"item": str}).set_index("item")
    plain = ratings.astype({"item": str, "criterion": str, "rater": str})
    tables = {
        name: rows.pivot(index="item", columns="rater", values="score") for name, rows in plain.groupby("criterion")
    }
    return items, tables


def near(found, printed, digits):
    value, z = printed
    assert found.estimate == pytest.approx(value, abs=0.51 * 10**-digits)
    if z is not None:
        text = f"{z:.3g}".lstrip("-")
        assert found.z == pytest.approx(z, abs=0.51 * 10 ** -len(text.partition(".")[2].ljust(1, "0")))


@pytest.mark.parametrize("case", LENGTH)
def test_length_on_summeval_is_the_reference(summeval, case):
    items, tables = summeval
    table = tables[case[1]]
    x = np.log(items.loc[table.index, "output"].str.split().str.len())
    x = (x - x.mean()) / x.std(ddof=0)
    found = instrumented(table[case[0]], table[["e0", "e1", "e2"]], x, groups=items.loc[table.index, "group"])
    *printed, slope = LENGTH[case]
    for effect, values in zip(
        (found.labels_alone, found.judge_alone, found.judge_less_labels, found.control, found), printed, strict=True
    ):
        if values is not None:
            near(effect, values, 4)
    assert found.slope == pytest.approx(slope, abs=5.1e-4)


@pytest.mark.filterwarnings("ignore:uneven_annotators")  # M11 and M9; the experts lie .75 apart
@pytest.mark.parametrize("case", SYSTEMS)
def test_systems_on_summeval_are_the_reference(summeval, case):
    items, tables = summeval
    table = tables[case[0]]
    x = (items.loc[table.index, "system"] == case[1]).astype(float)
    found = instrumented(table["gpt-4o"], table[["e0", "e1", "e2"]], x, groups=items.loc[table.index, "group"])
    for effect, values in zip((found.judge_less_labels, found.control, found), SYSTEMS[case], strict=True):
        near(effect, values, 3)


@pytest.mark.filterwarnings("ignore:uneven_annotators")
def test_holm_over_sixteen_systems_is_the_reference(summeval):
    """By the normal law, as there: 8, 9 and 7."""
    from scipy import special

    from calib.core.numeric import adjusted_p_values

    items, tables = summeval
    table, z = tables["coherence"], []
    for system in items["system"].unique():
        x = (items.loc[table.index, "system"] == system).astype(float)
        one = instrumented(table["gpt-4o"], table[["e0", "e1", "e2"]], x, groups=items.loc[table.index, "group"])
        z.append([one.judge_less_labels.z, one.control.z, one.z])
    p = 2 * special.ndtr(-np.abs(z)).T
    assert [int((adjusted_p_values(row, "holm") <= 0.05).sum()) for row in p] == [8, 9, 7]


# --- another package --------------------------------------------------------------------------------------------


def panel(rng, n=400, n_groups=40, effect=0.0, reliability=0.61, raters=3):
    """Judge, annotators, x and groups: quality and x go together, people err, judges compress."""
    group = np.arange(n) % n_groups
    quality = rng.normal(size=n)
    x = 0.3 * quality + math.sqrt(1 - 0.3**2) * rng.normal(size=n)
    labels = quality[:, None] + math.sqrt(1 / reliability - 1) * rng.normal(size=(n, raters))
    return 0.6 * quality + effect * x + 0.6 * rng.normal(size=n), labels, x, group


def test_the_instrument_is_that_of_statsmodels():
    """Coefficients of IV2SLS on the stacked rows; the sandwich of its scores."""
    gmm = pytest.importorskip("statsmodels.sandbox.regression.gmm")
    judge, labels, x, group = panel(np.random.default_rng(1))
    others = (labels.sum(axis=1, keepdims=True) - labels) / 2
    one, xs = np.ones(3 * len(x)), np.repeat(x, 3)
    regressors, instruments = np.c_[one, labels.ravel(), xs], np.c_[one, others.ravel(), xs]
    theirs = gmm.IV2SLS(np.repeat(judge, 3), regressors, instruments).fit()
    found = instrumented(judge, labels, x, groups=group)
    assert (found.slope, found.estimate) == pytest.approx(tuple(theirs.params[1:]), rel=1e-9)


def test_regressions_are_those_of_statsmodels_with_clusters():
    api = pytest.importorskip("statsmodels.api")
    judge, labels, x, group = panel(np.random.default_rng(2))
    found, mean, one = instrumented(judge, labels, x, groups=group), labels.mean(axis=1), np.ones(len(x))
    cases = {
        "judge_less_labels": (judge - mean, [one, x]),
        "control": (judge, [one, mean, x]),
        "labels_alone": (mean, [one, x]),
    }
    for name, (outcome, columns) in cases.items():
        theirs = api.OLS(outcome, np.c_[*columns]).fit(cov_type="cluster", cov_kwds={"groups": group})
        mine = getattr(found, name)
        assert (mine.estimate, mine.std_error) == pytest.approx((theirs.params[-1], theirs.bse[-1]), rel=1e-9)


# --- simulation -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_of_three_estimators_one_covers():
    """calibration.md 4.1, with documents that have nothing in common: 6.8, 75 and 95.4 % of 500."""
    rng, runs, names = np.random.default_rng(3), 500, ("difference", "control", "instrument")
    estimates, held = {name: [] for name in names}, dict.fromkeys(names, 0)
    for _ in range(runs):
        judge, labels, x, group = panel(rng, n=600, n_groups=60)
        found = instrumented(judge, labels, x, groups=group)
        for name, one in zip(names, (found.judge_less_labels, found.control, found), strict=True):
            estimates[name].append(one.estimate)
            held[name] += one.interval.low <= 0 <= one.interval.high
    means = {name: np.mean(values) for name, values in estimates.items()}
    assert means == pytest.approx({"difference": -0.120, "control": 0.034, "instrument": 0.0}, abs=0.006)
    shares = {name: count / runs for name, count in held.items()}
    assert shares["difference"] < 0.15
    assert 0.65 < shares["control"] < 0.85
    assert abs(shares["instrument"] - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_groups"), [(30, 30), (60, 10), (100, 20)])
def test_the_interval_holds_with_few_groups(n, n_groups):
    rng, runs, held, of = np.random.default_rng(4), 800, 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for _ in range(runs):
            judge, labels, x, group = panel(rng, n=n, n_groups=n_groups, effect=0.1)
            found = instrumented(judge, labels, x, groups=group)
            of += not math.isnan(found.estimate)
            held += found.interval.low <= 0.1 <= found.interval.high
    assert of > 0.95 * runs
    assert abs(held / of - 0.95) < 4 * math.sqrt(0.95 * 0.05 / of)


# --- annotators of whom some are more lenient --------------------------------------------------------------------


def test_with_an_intercept_for_each_annotator_it_is_that_of_statsmodels():
    """Coefficients of IV2SLS with a dummy for each annotator, half of the labels missing."""
    gmm = pytest.importorskip("statsmodels.sandbox.regression.gmm")
    rng = np.random.default_rng(20)
    judge, labels, x, group = panel(rng, raters=4)
    labels = np.where(rng.random(labels.shape) < 0.5, np.nan, labels + np.array([0.8, 0.2, -0.3, -0.7]))
    judge, labels, x, group = (part[(~np.isnan(labels)).sum(axis=1) > 1] for part in (judge, labels, x, group))
    item, who = np.nonzero(~np.isnan(labels))
    own, n = labels[item, who], (~np.isnan(labels)).sum(axis=1)[item]
    others, each = (np.nansum(labels, axis=1)[item] - own) / (n - 1), np.eye(4)[who]
    theirs = gmm.IV2SLS(judge[item], np.c_[each, own, x[item]], np.c_[each, others, x[item]]).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        found = instrumented(judge, labels, x, groups=group)
    assert found.centred.estimate == pytest.approx(theirs.params[-1], rel=1e-9)


def test_annotators_as_lenient_as_each_other_need_no_intercepts():
    judge, labels, x, group = panel(np.random.default_rng(21))
    found = instrumented(judge, labels, x, groups=group)
    assert found.warnings == ()
    assert found.centred.estimate == pytest.approx(found.estimate, abs=found.std_error / 20)
    same = instrumented(judge, labels - labels.mean(axis=0), x, groups=group)
    assert same.estimate == pytest.approx(same.centred.estimate, rel=1e-9)


def test_leniency_that_moves_the_estimate_is_said():
    judge, labels, x, group = panel(np.random.default_rng(22), n=4000, raters=2)
    with pytest.warns(CalibWarning, match="uneven_annotators: .*moves the estimate by"):
        found = instrumented(judge, labels + np.array([0.5, -0.5]), x, groups=group)
    assert found.interval.high < 0 < found.centred.interval.high  # nothing is favoured
    even = instrumented(judge, labels, x, groups=group)
    assert tuple(found.centred)[:4] == pytest.approx(tuple(even.centred)[:4], rel=1e-9)


def test_leniency_that_hides_that_annotators_agree_is_said():
    judge, labels, x, group = panel(np.random.default_rng(23), raters=2)
    with (
        pytest.warns(CalibWarning, match="weak_instrument"),
        pytest.warns(CalibWarning, match="uneven_annotators: .*is why there is no estimate"),
    ):
        found = instrumented(judge, labels + np.array([1.0, -1.0]), x, groups=group)
    assert math.isnan(found.estimate)
    assert found.centred.interval.low < 0 < found.centred.interval.high


@pytest.mark.slow
def test_with_an_intercept_for_each_annotator_the_interval_holds_where_the_plain_one_does_not():
    rng, runs, held = np.random.default_rng(24), 400, np.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for _ in range(runs):
            judge, labels, x, group = panel(rng, n=600, n_groups=60, raters=2)
            found = instrumented(judge, labels + np.array([0.5, -0.5]), x, groups=group)
            held += [one.interval.low <= 0 <= one.interval.high for one in (found, found.centred)]
    assert held[0] / runs < 0.75
    assert abs(held[1] / runs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)


# --- one annotator ----------------------------------------------------------------------------------------------


def test_with_one_annotator_there_is_a_bracket_that_holds_the_truth():
    judge, labels, x, group = panel(np.random.default_rng(5), n=20_000, n_groups=200, effect=0.1)
    with pytest.warns(CalibWarning, match="one_annotator"):
        found = instrumented(judge, labels[:, 0], x, groups=group, reliability=(0.61, 0.61))
    assert found.bracket_interval.low == pytest.approx(0.1, abs=0.02)  # the reliability of the labels is .61
    with pytest.warns(CalibWarning, match="one_annotator"):
        wide = instrumented(judge, labels[:, :1], x, groups=group, reliability=(0.5, 1.0))
    assert math.isnan(wide.estimate)
    assert math.isnan(wide.p_value)
    assert wide.interval.low < wide.bracket_interval.low < 0.1 < wide.bracket_interval.high < wide.interval.high
    assert wide.bracket_interval.high == pytest.approx(wide.control.estimate)  # reliability 1: labels without error


def test_reliability_that_leaves_nothing_to_quality_is_said():
    rng = np.random.default_rng(6)
    x = rng.normal(size=300)
    with pytest.warns(CalibWarning, match="one_annotator"), pytest.warns(CalibWarning, match="confounded"):
        found = instrumented(x + rng.normal(size=300), x + 0.3 * rng.normal(size=300), x, reliability=(0.1, 1.0))
    assert math.isnan(found.bracket_interval.low)


# --- what cannot be said ----------------------------------------------------------------------------------------


def test_annotators_who_do_not_foretell_each_other_are_refused():
    rng = np.random.default_rng(7)
    with pytest.warns(CalibWarning, match="weak_instrument"):
        found = instrumented(rng.normal(size=200), rng.normal(size=(200, 2)), rng.normal(size=200))
    assert found.first_stage_f < 10
    assert math.isnan(found.estimate)
    assert math.isnan(found.interval.low)
    assert not math.isnan(found.judge_less_labels.estimate)  # which needs no instrument


def test_annotators_who_contradict_each_other_are_refused_however_large_f_is():
    rng = np.random.default_rng(8)
    first = rng.normal(size=200)
    with pytest.warns(CalibWarning, match="weak_instrument: annotators contradict each other"):
        found = instrumented(first, np.c_[first, -first + 0.1 * rng.normal(size=200)], rng.normal(size=200))
    assert math.isnan(found.estimate)


def test_x_that_differs_in_one_group_alone_has_no_interval():
    judge, labels, _, group = panel(np.random.default_rng(9))
    with pytest.warns(CalibWarning, match="one_sided: x differs in 1 of 40 groups"):
        found = instrumented(judge, labels, (group == 3).astype(float), groups=group)
    assert math.isnan(found.interval.low)


def test_x_that_differs_in_few_groups_is_said_where_these_hold_both_kinds():
    judge, labels, _, group = panel(np.random.default_rng(15))
    rare = np.isin(np.arange(400), (0, 1, 2)).astype(float)
    with pytest.warns(CalibWarning, match="one_sided: x differs in 3 of 40 groups"):
        instrumented(judge, labels, rare, groups=group)
    assert instrumented(judge, labels, (np.arange(400) < 40).astype(float), groups=group).warnings == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": np.ones(400)}, "`x` must vary"),
        ({"judge": np.ones(400)}, "`judge` must vary"),
        ({"labels": np.ones((400, 3))}, "`labels` must vary"),
        ({"groups": ["a"] * 400}, "`groups` must be two or more"),
        ({"x": np.ones(3)}, "`x` must have the length of `judge`"),
        ({"labels": np.full((400, 2), np.nan)}, "must leave 4 items"),
        ({"reliability": (0.9, 0.5)}, "`reliability` must be two numbers"),
        *(({"reliability": r}, "`reliability` must be two numbers") for r in ((0.0, 1.0), (0.2, 0.5, 0.9), (2.0, 3.0))),
        ({"confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
    ],
)
def test_what_has_no_answer_is_refused_by_name(change, words):
    judge, labels, x, group = panel(np.random.default_rng(10))
    with pytest.raises(ArgumentError, match=words):
        instrumented(**{"judge": judge, "labels": labels, "x": x, "groups": group} | change)


# --- what must not matter ---------------------------------------------------------------------------------------


def test_missing_values_are_as_if_they_were_not_there():
    judge, labels, x, group = panel(np.random.default_rng(11))
    whole = instrumented(judge[50:], labels[50:], x[50:], groups=group[50:])
    judge[:20], x[20:30], labels[30:50, 1:] = np.nan, np.nan, np.nan
    found = instrumented(judge, labels, x, groups=group)
    assert (found.n, found.n_groups) == (whole.n, whole.n_groups) == (350, 40)
    assert (found.estimate, *found.interval) == pytest.approx((whole.estimate, *whole.interval), rel=1e-9)


def test_of_an_item_with_two_labels_both_count():
    judge, labels, x, group = panel(np.random.default_rng(12), n=4000)
    labels[::2, 2] = np.nan
    assert instrumented(judge, labels, x, groups=group).n == 4000


def test_order_of_items_and_annotators_does_not_matter():
    judge, labels, x, group = panel(np.random.default_rng(13))
    order = np.random.default_rng(0).permutation(len(x))
    one = instrumented(judge, labels, x, groups=group)
    other = instrumented(judge[order], labels[order][:, ::-1], x[order], groups=group[order])
    assert (one.estimate, *one.interval) == pytest.approx((other.estimate, *other.interval), rel=1e-9)


def test_units_scale_the_estimate():
    judge, labels, x, group = panel(np.random.default_rng(14), effect=0.2)
    one, other = instrumented(judge, labels, x, groups=group), instrumented(10 * judge + 3, labels, x / 2, groups=group)
    assert (other.estimate, other.z) == pytest.approx((20 * one.estimate, one.z), rel=1e-9)
