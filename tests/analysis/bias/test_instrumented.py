"""Effects at equal quality: reference values, another package, simulation, and what cannot be said."""

import math
import warnings

import numpy as np
import pytest
from scipy import special

import calib
from calib.core.check import ArgumentError
from calib.core.numeric import adjusted_p_values
from calib.stats import CalibWarning, instrumented

# calibration.md, G8: estimate and z per sd of log words of people, judge, difference, control; paper_repro/bias has its
# instrument, which takes annotators for equally lenient
LENGTH = {
    ("gpt-4o", "coherence"): ((0.0348, 1.27), (0.1783, 9.06), (0.1435, 5.39), (0.1640, 8.91)),
    ("gpt-4o", "consistency"): ((0.0684, 3.08), (0.2182, 8.81), (0.1499, 7.19), (0.1709, 8.66)),
    ("gpt-4o", "fluency"): ((-0.0274, -1.70), (-0.0093, -0.51), (0.0181, 1.07), (0.0038, 0.24)),
    ("gpt-4o", "relevance"): ((0.2115, 8.27), (0.2660, 14.3), (0.0545, 1.99), (0.1982, 10.7)),
    ("gemini_pro", "relevance"): (None, (0.1833, 7.90), (-0.0282, -0.97), (0.1065, 5.02)),
    ("mistral-v03", "relevance"): (None, (0.0045, 0.44), (-0.2070, -7.93), (-0.0194, -1.81)),
}
# G9: estimate and z of difference and control where they are printed
SYSTEMS = {
    ("coherence", "M11"): ((0.209, 3.07), (-0.540, -9.87)),
    ("coherence", "M9"): ((0.600, 8.65), (-0.045, None)),
    ("coherence", "M23"): ((-0.360, -4.7), (0.112, None)),
    ("coherence", "M20"): ((-1.075, None), (-0.940, None)),
    ("coherence", "M17"): ((-0.033, None), (0.338, None)),
    ("coherence", "M1"): ((0.315, None), (0.196, None)),
    ("relevance", "M11"): ((0.369, 5.29), (-0.045, None)),
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


@pytest.mark.filterwarnings("ignore:ceiling")  # 90 and 84 % of consistency and fluency
@pytest.mark.parametrize("case", LENGTH)
def test_length_on_summeval_is_the_reference(summeval, case):
    items, tables = summeval
    table = tables[case[1]]
    x = np.log(items.loc[table.index, "output"].str.split().str.len())
    x = (x - x.mean()) / x.std(ddof=0)
    found = instrumented(table[case[0]], table[["e0", "e1", "e2"]], x, groups=items.loc[table.index, "group"])
    effects = found.labels_alone, found.judge_alone, found.judge_less_labels, found.control
    for effect, values in zip(effects, LENGTH[case], strict=True):
        if values is not None:
            near(effect, values, 4)


@pytest.mark.parametrize("case", SYSTEMS)
def test_systems_on_summeval_are_the_reference(summeval, case):
    items, tables = summeval
    table = tables[case[0]]
    x = (items.loc[table.index, "system"] == case[1]).astype(float)
    found = instrumented(table["gpt-4o"], table[["e0", "e1", "e2"]], x, groups=items.loc[table.index, "group"])
    for effect, values in zip((found.judge_less_labels, found.control), SYSTEMS[case], strict=True):
        near(effect, values, 3)


def test_holm_over_sixteen_systems_is_the_reference(summeval):
    """By the normal law, as there: 8 and 9."""
    items, tables = summeval
    table, z = tables["coherence"], []
    for system in items["system"].unique():
        x = (items.loc[table.index, "system"] == system).astype(float)
        one = instrumented(table["gpt-4o"], table[["e0", "e1", "e2"]], x, groups=items.loc[table.index, "group"])
        z.append([one.judge_less_labels.z, one.control.z])
    p = 2 * special.ndtr(-np.abs(z)).T
    assert [int((adjusted_p_values(row, "holm") <= 0.05).sum()) for row in p] == [8, 9]


# --- another package --------------------------------------------------------------------------------------------


def panel(rng, n=400, n_groups=40, effect=0.0, reliability=0.61, raters=3):
    """Judge, annotators, x and groups: quality and x go together, people err, judges compress."""
    group = np.arange(n) % n_groups
    quality = rng.normal(size=n)
    x = 0.3 * quality + math.sqrt(1 - 0.3**2) * rng.normal(size=n)
    labels = quality[:, None] + math.sqrt(1 / reliability - 1) * rng.normal(size=(n, raters))
    return 0.6 * quality + effect * x + 0.6 * rng.normal(size=n), labels, x, group


def mean_of_annotators(judge, labels, x):
    """Coefficients of statsmodels' IV2SLS for each annotator, weighted by how much x varies in what she labelled."""
    gmm = pytest.importorskip("statsmodels.sandbox.regression.gmm")
    params, weights = [], []
    for k, own in enumerate(labels.T):
        hers = ~np.isnan(own)
        one, others = np.ones(hers.sum()), np.nanmean(np.delete(labels, k, axis=1)[hers], axis=1)
        fit = gmm.IV2SLS(judge[hers], np.c_[one, own[hers], x[hers]], np.c_[one, others, x[hers]]).fit()
        params.append(fit.params[1:])
        weights.append(np.var(x[hers]) * hers.sum())
    return np.average(params, axis=0, weights=weights)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_estimate_is_the_mean_of_statsmodels_instruments(missing):
    judge, labels, x, group = panel(np.random.default_rng(1), raters=4)
    labels = uneven(np.where(np.random.default_rng(20).random(labels.shape) < missing, np.nan, labels))
    judge, labels, x, group = (part[(~np.isnan(labels)).sum(axis=1) > 1] for part in (judge, labels, x, group))
    found = instrumented(judge, labels, x, groups=group)
    assert (found.slope, found.estimate) == pytest.approx(tuple(mean_of_annotators(judge, labels, x)), rel=1e-9)
    assert found.warnings == ()
    left = [group != g for g in range(40)]
    without = np.array([mean_of_annotators(judge[rest], labels[rest], x[rest])[1] for rest in left])
    if not missing:  # where labels are missing the weights stay those of the whole
        weight = np.bincount(group, (x - x.mean()) ** 2)
        df = weight.sum() ** 2 / (weight**2).sum()
        half = special.stdtrit(df, 0.975) * math.sqrt(39 / 40 * ((without - found.estimate) ** 2).sum())
        assert (found.df, found.interval.high - found.estimate) == pytest.approx((df, half), rel=1e-9)


def uneven(labels):
    """The same of annotators who use more or less of the scale, and are more or less lenient."""
    k = np.linspace(-1, 1, labels.shape[1])
    return labels * (1 + 0.4 * k) + 0.5 * k


@pytest.mark.parametrize("who", ["M11", "M20"])
def test_on_summeval_it_is_the_mean_of_statsmodels_instruments(summeval, who):
    items, tables = summeval
    table, x = tables["coherence"], (items["system"] == who).astype(float)
    given = table["gpt-4o"].to_numpy(), table[["e0", "e1", "e2"]].to_numpy(), x.loc[table.index].to_numpy()
    found = instrumented(*given, groups=items.loc[table.index, "group"])
    assert (found.slope, found.estimate) == pytest.approx(tuple(mean_of_annotators(*given)), rel=1e-9)


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


# --- annotators who are more lenient, or use more of the scale ----------------------------------------------------


def test_of_two_annotators_neither_leniency_nor_spread_matters():
    judge, labels, x, group = panel(np.random.default_rng(22), raters=2)
    one, other = (instrumented(judge, each, x, groups=group) for each in (labels, uneven(labels)))
    assert (other.estimate, *other.interval) == pytest.approx((one.estimate, *one.interval), rel=1e-9)
    assert other.warnings == ()


def covered(rng, runs, draw, truth=0.0):
    """How often the interval holds the truth, of those that there are."""
    held = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for _ in range(runs):
            judge, labels, x, group = draw(rng)
            found = instrumented(judge, labels, x, groups=group)
            held += [] if math.isnan(found.estimate) else [found.interval.low <= truth <= found.interval.high]
    assert len(held) > 0.9 * runs
    return np.mean(held), 4 * math.sqrt(0.95 * 0.05 / len(held))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raters", "missing", "n_groups"),
    [pytest.param(2, 0.0, 1000, marks=pytest.mark.long), (3, 0.0, 100), (5, 0.5, 1000)],
)
def test_the_interval_holds_where_annotators_use_more_or_less_of_the_scale(raters, missing, n_groups):
    def draw(rng):
        judge, labels, x, group = panel(rng, n=1000, n_groups=n_groups, raters=raters)
        return judge, uneven(np.where(rng.random(labels.shape) < missing, np.nan, labels)), x, group

    share, error = covered(np.random.default_rng(24), 500, draw)
    assert abs(share - 0.95) < error


def test_annotators_who_labelled_too_little_share_a_slope_and_are_named():
    judge, labels, x, group = panel(np.random.default_rng(25), raters=5)
    labels[15:, 3], labels[:380, 4] = np.nan, np.nan
    labels[:385, 4] = np.nan
    names = ["ann", "bea", "cyd", "dot", "eve\n"]
    with pytest.warns(CalibWarning, match=r"shared_slope: dot, eve\\n labelled too little for slopes of their own"):
        found = instrumented(judge, labels, x, groups=group, annotators=names)
    assert found.interval.low < 0 < found.interval.high
    with pytest.warns(CalibWarning, match=r"shared_slope: 0, 1, 2, 3, 4, 5 and 14 more"):  # 20 with 15 labels each
        instrumented(judge[:150], crowd(labels[:150, :2], 20), x[:150])


def test_who_labelled_all_is_not_called_one_who_labelled_too_little():
    rng = np.random.default_rng(0)
    quality, x = rng.normal(size=60), rng.normal(size=60)
    labels = quality[:, None] + 3 * rng.normal(size=(60, 8))  # each foretold too little alone, all together enough
    with pytest.warns(CalibWarning, match="shared_slope: .* tell too little by themselves for slopes of their own"):
        instrumented(quality + rng.normal(size=60), labels, x)


def crowd(labels, raters):
    """Pairs of annotators, each with a part of the items."""
    pair = np.arange(len(labels)) % (raters // 2)
    out = np.full((len(labels), raters), np.nan)
    for k in range(2):
        out[np.arange(len(labels)), 2 * pair + k] = labels[:, k]
    return out


def test_in_a_crowd_it_is_one_slope_with_an_intercept_for_each():
    gmm = pytest.importorskip("statsmodels.sandbox.regression.gmm")
    judge, labels, x, _ = panel(np.random.default_rng(20), n=150, raters=2)
    wide, item = crowd(labels, 20), np.tile(np.arange(150), 2)
    who = np.nonzero(~np.isnan(wide))[1].reshape(150, 2).T.ravel()
    own, others, each = labels.T.ravel(), labels[:, ::-1].T.ravel(), np.eye(20)[who]
    theirs = gmm.IV2SLS(judge[item], np.c_[each, own, x[item]], np.c_[each, others, x[item]]).fit()
    with pytest.warns(CalibWarning, match="shared_slope"):
        assert instrumented(judge, wide, x).estimate == pytest.approx(theirs.params[-1], rel=1e-9)


def test_an_annotator_who_says_nothing_is_left_out_and_named():
    rng = np.random.default_rng(26)
    judge, labels, x, group = panel(rng)
    labels[:, 1] = rng.normal(size=400)
    with pytest.warns(CalibWarning, match="weak_annotator: bea left out of .* too little .F .*10 is the least"):
        found = instrumented(judge, labels, x, groups=group, annotators=["ann", "bea", "cyd"])
    assert found.interval.low < 0 < found.interval.high


def test_who_labelled_each_system_must_not_tell_which_it_is():
    judge, labels, _, group = panel(np.random.default_rng(27), raters=4)
    x = (np.arange(400) < 200).astype(float)
    labels[:200, :2], labels[200:, 2:] = np.nan, np.nan
    with pytest.warns(CalibWarning, match="confounded: x cannot be separated from the labels or from who labelled"):
        assert math.isnan(instrumented(judge, labels, x, groups=group).estimate)


# --- few items of a kind ------------------------------------------------------------------------------------------


def test_degrees_of_freedom_are_those_of_the_rarer_kind():
    judge, labels, _, _ = panel(np.random.default_rng(28), n=200)
    found = instrumented(judge, labels, (np.arange(200) < 12).astype(float))
    exact = (12 * 0.94**2 + 188 * 0.06**2) ** 2 / (12 * 0.94**4 + 188 * 0.06**4)
    assert found.df == pytest.approx(exact, rel=1e-9)
    assert 13 < found.df < 14
    documents = instrumented(judge, labels, np.arange(200) % 2 == 0, groups=np.arange(200) // 10)
    assert documents.df == pytest.approx(19)


@pytest.mark.slow
@pytest.mark.parametrize(("flagged", "groups"), [(3, 100), (5, 30)])
def test_the_interval_of_a_rare_flag_holds(flagged, groups):
    def draw(rng):
        judge, labels, _, group = panel(rng, n=3 * groups, n_groups=groups)
        return judge, labels, (np.arange(3 * groups) < flagged).astype(float), group

    share, error = covered(np.random.default_rng(29), 800, draw)
    assert abs(share - 0.95) < error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "systems"),
    [pytest.param(100, 16, marks=pytest.mark.long), pytest.param(200, 16, marks=pytest.mark.long), (200, 4)],
)
def test_one_of_many_systems_is_favoured_by_chance_in_five_of_a_hundred(n, systems):
    """By t with as many degrees of freedom as groups less one: .20 and .10 of 16 systems."""
    rng, runs, alarms = np.random.default_rng(30), 300, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for _ in range(runs):
            system = rng.permutation(np.arange(n) % systems)
            quality = 0.7 * np.linspace(1, -1, systems)[system] + 0.8 * rng.normal(size=n)
            labels = quality[:, None] + 0.8 * rng.normal(size=(n, 2))
            judge = 0.6 * quality + 0.5 * rng.normal(size=n)
            p = [instrumented(judge, labels, (system == k).astype(float)).p_value for k in range(systems)]
            alarms += np.nanmin(adjusted_p_values(p, "holm")) <= 0.05
    assert alarms / runs < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


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
    with pytest.warns(CalibWarning, match="one_sided: x differs in 1 of 40 groups only, so that no interval"):
        found = instrumented(judge, labels, (group == 3).astype(float), groups=group)
    assert math.isnan(found.interval.low)


@pytest.mark.filterwarnings("ignore:one_sided")
@pytest.mark.parametrize("away", [0.0, 1.0])
def test_one_annotator_and_x_that_differs_in_one_group_alone_are_refused(away):
    judge, labels, _, group = panel(np.random.default_rng(9))
    x = np.where(group == 3, away, 1 - away)
    with pytest.raises(ArgumentError, match="without one of 40 it is constant, collinear with the intercept"):
        instrumented(judge, labels[:, 0], x, groups=group)


def test_x_that_differs_in_few_groups_is_said_where_these_hold_both_kinds():
    judge, labels, _, group = panel(np.random.default_rng(15))
    rare = np.isin(np.arange(400), (0, 1)).astype(float)
    with pytest.warns(CalibWarning, match="one_sided: x differs in 2 of 40 groups only, so the interval is too short"):
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
        ({"annotators": ["a"]}, "`annotators` must name 3, but got 1"),
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


def test_copies_of_an_annotator_are_refused():
    rng = np.random.default_rng(7)
    quality = rng.normal(size=200)
    one = np.rint(3 + quality + rng.normal(size=200) / 2).clip(1, 5)
    x, judge = 0.5 * quality + rng.normal(size=200), 0.6 * quality + rng.normal(size=200) / 2
    with pytest.raises(ArgumentError, match="anna and ben are the same on all 200 items"):
        instrumented(judge, np.c_[one, one, one], x, annotators=["anna", "ben", "chen"])


@pytest.mark.parametrize(("spread", "warned"), [(1.8, True), (0.8, False)])
def test_labels_that_are_piled_at_the_ends(spread, warned):
    rng = np.random.default_rng(8)
    quality = spread * rng.normal(size=400)
    labels = np.rint(3 + quality[:, None] + 0.6 * rng.normal(size=(400, 2))).clip(1, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = instrumented(0.6 * quality + rng.normal(size=400) / 2, labels, rng.normal(size=400))
    assert any(text.startswith("ceiling") for text in found.warnings) == warned
