"""Correlations at three levels: scipy as oracle, a jackknife written out, theory, and simulated coverage."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from numpy.testing import assert_allclose
from refusal import message
from scipy import optimize, stats

from calib.analysis.agreement.coefficients import weighted_correlation
from calib.analysis.agreement.levels import condensed_groups, design_of, left_out
from calib.analysis.agreement.many_samples import row_correlation
from calib.core.result import short
from calib.stats import agreement

METHODS = ("pearson", "spearman", "kendall", "kendall_c")
LEVELS = ("item", "group", "system")
SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
    "kendall_c": lambda x, y: stats.kendalltau(x, y, variant="c"),
}
quick = settings(deadline=None, derandomize=True)
each_method = pytest.mark.parametrize("method", METHODS)
each_level = pytest.mark.parametrize("level", LEVELS)


# --- scipy, level by level --------------------------------------------------------------------------------------


def oracle(x, y, method):
    """scipy's coefficient; NaN where one side has a single value."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan
    return float(SCIPY[method](x, y).statistic)


def mean_of_defined(values, constant):
    values = np.nan_to_num(values) if constant == "zero" else np.asarray(values)
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else math.nan


def by_hand(x, y, groups, systems, level, method, constant="skip"):
    """The estimate at each level, straight from its definition."""
    if level == "item":
        return oracle(x, y, method)
    if level == "group":
        within = [oracle(x[groups == g], y[groups == g], method) for g in np.unique(groups)]
        return mean_of_defined(within, constant)
    means = [(x[systems == s].mean(), y[systems == s].mean()) for s in np.unique(systems)]
    return oracle(*np.array(means).reshape(-1, 2).T, method)


def close(found, wanted, tolerance=1e-12):
    assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


rows = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from("abcd"), st.sampled_from("uvwxy")),
    min_size=2,
    max_size=40,
)


def columns(table):
    x, y, groups, systems = zip(*table, strict=True)
    return np.array(x, dtype=float), np.array(y, dtype=float), np.array(groups), np.array(systems)


@quick
@given(rows, st.sampled_from(METHODS), st.sampled_from(LEVELS), st.sampled_from(["skip", "zero"]))
def test_estimates_equal_scipy(table, method, level, constant):
    x, y, groups, systems = columns(table)
    assume(level != "group" or len(set(groups)) > 1)  # one group is refused
    options = {"level": level, "method": method, "interval": "none"}
    result = agreement(x, y, groups=groups, systems=systems, constant=constant, **options)
    close(result.estimate, by_hand(x, y, groups, systems, level, method, constant))
    if level == "group":
        other = {"skip": "zero", "zero": "skip"}[constant]
        close(result.estimate_other, by_hand(x, y, groups, systems, level, method, other))


@quick
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(1, 5)), min_size=3, max_size=30), st.sampled_from(METHODS))
def test_continuous_scores_equal_scipy(pairs, method):
    x, y = np.round(np.array(pairs).T, 3)
    close(agreement(x, y, method=method, interval="none").estimate, oracle(x, y, method))


@quick
@given(rows.filter(lambda table: len(table) > 2), st.sampled_from(METHODS))
def test_p_values_of_independent_pairs_are_those_of_scipy(table, method):
    x, y, *_ = columns(table)
    wanted = math.nan if math.isnan(oracle(x, y, method)) else SCIPY[method](x, y).pvalue
    close(agreement(x, y, method=method).p_value, wanted)


def test_unit_values_of_other_programs():
    # the unit tests of mt-metrics-eval 0.0.3 (tau-b, tau-c)
    gold, metric = [1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3]
    assert round(agreement(metric, gold, method="kendall").estimate, 9) == 0.316227766
    close(agreement(metric, gold, method="kendall_c").estimate, 0.32)
    # scipy 1.17, documentation of spearmanr
    five = agreement([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], method="spearman")
    close(five.estimate, 0.8207826816681233)
    close(five.p_value, 0.08858700531354381)
    # scipy 1.17, documentation of kendalltau
    close(agreement([12, 2, 1, 12, 2], [1, 4, 7, 1, 0], method="kendall").estimate, -0.47140452079103173)


# --- options and invariances ------------------------------------------------------------------------------------


def design():
    """Unbalanced: 7 groups, 5 systems, empty cells, cells of two, a constant group, a group of one item."""
    rng = np.random.default_rng(70)
    cells = [(g, s) for g in range(6) for s in range(5) if rng.random() < 0.8] + [(0, 1), (2, 4), (6, 3)]
    groups, systems = np.array(cells).T
    y = rng.integers(1, 6, len(cells)).astype(float)
    x = np.clip(y + rng.integers(-1, 2, len(cells)) + np.array([0, 2, 0, -2, 1])[systems], 1, 6)
    x[groups == 4] = 3
    return x, y, np.array([f"doc {g}" for g in groups]), np.array([f"sys {s}" for s in systems])


def test_the_design_is_as_nasty_as_it_says():
    x, _, groups, systems = design()
    cells = [f"{g} {s}" for g, s in zip(groups, systems, strict=True)]
    assert (len(set(groups)), len(set(systems))) == (7, 5)
    assert len(set(cells)) < min(7 * 5, len(cells))
    assert min(np.unique(groups, return_counts=True)[1]) == 1
    assert np.ptp(x[groups == "doc 4"]) == 0


def test_every_option_changes_the_answer():
    x, y, groups, systems = design()
    base = agreement(x, y, groups=groups, systems=systems, systems_are="random", level="group")
    changed = {
        "groups": agreement(x, y, groups=groups[::-1], systems=systems, level="group").estimate,
        "level": agreement(x, y, groups=groups, systems=systems, level="item").estimate,
        "system": agreement(x, y, groups=groups, systems=systems, level="system").estimate,
        "method": agreement(x, y, groups=groups, systems=systems, level="group", method="kendall").estimate,
        "kendall_c": agreement(x, y, groups=groups, systems=systems, level="group", method="kendall_c").estimate,
        "pearson": agreement(x, y, groups=groups, systems=systems, level="group", method="pearson").estimate,
        "constant": agreement(x, y, groups=groups, systems=systems, level="group", constant="zero").estimate,
    }
    assert len({base.estimate, *changed.values()}) == 8
    assert agreement(x, y, groups=groups, level="group").std_error != base.std_error
    rest = {"groups": groups, "level": "group", "systems_are": "random"}
    assert agreement(x, y, systems=systems[::-1], **rest).std_error != base.std_error
    assert agreement(x, y, systems=systems, **rest | {"systems_are": "fixed"}).std_error != base.std_error
    wide = agreement(x, y, systems=systems, **rest, confidence_level=0.99).interval
    assert wide.low < base.interval.low
    bare = agreement(x, y, groups=groups, systems=systems, level="group", interval="none")
    assert bare.estimate == base.estimate
    assert (bare.interval_method, base.interval_method) == ("none", "two-way jackknife")
    assert np.isnan([bare.std_error, *bare.interval, bare.p_value]).all()


@each_method
@each_level
def test_order_sides_direction_and_offset_of_scores(level, method):
    x, y, groups, systems = design()
    options, labels = {"level": level, "method": method}, {"groups": groups, "systems": systems}
    one, other = agreement(x, y, **labels, **options), agreement(y, x, **labels, **options)
    close(other.estimate, one.estimate)
    close([other.std_error, other.p_value], [one.std_error, one.p_value], 1e-9)
    if level == "group":
        assert one.n_skipped == other.n_skipped == 2
    turned = agreement(-x, y, **labels, **options)
    close(turned.estimate, -one.estimate)
    close([turned.interval.low, turned.interval.high], [-one.interval.high, -one.interval.low], 1e-9)
    # tenths: sums depend on the order in the last bit, ties of means must not
    order = np.random.default_rng(0).permutation(len(x))
    one, other = (
        agreement(x[rows] / 10, y[rows], groups=groups[rows], systems=systems[rows], **options)
        for rows in (slice(None), order)
    )
    close(other.estimate, one.estimate)
    close([other.std_error, *other.interval, other.p_value], [one.std_error, *one.interval, one.p_value], 1e-9)
    x = np.round(x + np.random.default_rng(1).normal(0, 0.1, len(x)), 3)
    one, far = (agreement(x + offset, y, **labels, **options) for offset in (0, 1e9))
    close([far.estimate, far.std_error, *far.interval], [one.estimate, one.std_error, *one.interval], 1e-6)


@pytest.mark.parametrize("method", ["spearman", "kendall", "kendall_c"])
@pytest.mark.parametrize("level", ["item", "group"])
def test_ranks_see_only_the_order(level, method):
    x, y, groups, systems = design()
    options = {"groups": groups, "systems": systems, "level": level, "method": method}
    assert agreement(np.exp(3 * x), y**3 + 1e6, **options) == agreement(x, y, **options)


def test_equal_means_of_systems_are_ties_however_they_are_summed():
    # .1 + .2 + .3 is not .3 + .2 + .1 in binary
    x, y = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.9, 0.9, 0.9], [1, 1, 1, 2, 2, 2, 3, 3, 3]
    result = agreement(x, y, systems=list("aaabbbccc"), level="system", method="kendall")
    close(result.estimate, stats.kendalltau([1, 1, 2], [1, 2, 3]).statistic)


@each_level
def test_pairs_with_a_missing_score_are_left_out_and_counted(level):
    x, y, groups, systems = design()
    x[2], y[5], y[2], x[9] = (np.nan,) * 4
    x[groups == "doc 6"] = np.nan  # a group of one item is gone altogether
    keep = np.isfinite(x + y)
    rules = {"level": level, "systems_are": "random"}
    whole = agreement(x, y, groups=groups, systems=systems, **rules)
    rest = agreement(x[keep], y[keep], groups=groups[keep], systems=systems[keep], **rules)
    assert (whole.n, whole.n_missing, rest.n_missing) == (keep.sum(), 4, 0)
    for name in ("estimate", "std_error", "interval", "p_value", "ties_x", "ties_y"):
        close(getattr(whole, name), getattr(rest, name))
    same = ("n_groups", "n_systems", "n_skipped", "df", "levels_x", "levels_y")
    assert all(getattr(whole, name) == getattr(rest, name) for name in same)


def test_lists_integers_masked_arrays_and_any_labels_are_read_alike():
    x, y, groups, systems = design()
    wanted = agreement(x, y, groups=groups, systems=systems, level="group")
    numbers = [int(g.split()[1]) for g in groups], [int(s.split()[1]) for s in systems]
    masked = np.ma.array(np.append(x, 5).astype(int), mask=[*[False] * len(x), True])
    tail = agreement(masked, [*y.tolist(), 2], groups=[*numbers[0], 0], systems=[*numbers[1], 0], level="group")
    assert (tail.estimate, tail.interval, tail.n_missing) == (wanted.estimate, wanted.interval, 1)
    assert (
        agreement(x.astype(int), y.astype(int).tolist(), groups=numbers[0], systems=numbers[1], level="group") == wanted
    )


def test_the_input_is_left_as_it_was():
    x, y, groups, systems = design()
    before = x.copy(), y.copy()
    for level in LEVELS:
        agreement(x, y, groups=groups, systems=systems, level=level, constant="zero")
    assert np.array_equal((x, y), before)


@each_method
@each_level
@pytest.mark.parametrize(
    ("x", "y", "groups", "systems"),
    [
        ([], [], [], []),
        ([1], [2], ["a"], ["b"]),
        ([np.nan, 1], [1, np.nan], ["a", "b"], ["c", "d"]),
        ([2, 2, 2, 2], [1, 2, 3, 4], list("aabb"), list("cdcd")),
        ([0.1, 0.1, 0.1, 0.1], [4, 4, 4, 4], list("aabb"), list("cdcd")),
    ],
)
def test_nothing_to_correlate_is_nan_without_a_warning(x, y, groups, systems, level, method):
    for labels in ({"groups": groups, "systems": systems}, {level + "s": groups} if level != "item" else {}):
        if level == "group" and groups == ["a"]:
            continue  # an error, below
        result = agreement(x, y, level=level, method=method, **labels)
        assert np.isnan([result.estimate, result.std_error, *result.interval, result.p_value]).all()
        assert result.interval_method == "none"


# --- the kernel under the jackknife -----------------------------------------------------------------------------


weighted_rows = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 4), *[st.integers(0, 3)] * 3), min_size=2, max_size=25
)


@quick
@given(weighted_rows, st.sampled_from(METHODS))
def test_multiplicities_equal_repeated_rows(table, method):
    x, y, *weights = np.array(table, dtype=float).T
    found = weighted_correlation(x, y, np.array(weights), method)
    for value, w in zip(found, np.array(weights, dtype=int), strict=True):
        close(value, oracle(np.repeat(x, w), np.repeat(y, w), method), 1e-9)


@each_method
def test_multiplicities_of_continuous_scores(method):
    rng = np.random.default_rng(8)
    x, y, weights = rng.normal(size=60), rng.normal(size=60), rng.integers(0, 4, (9, 60))
    wanted = [oracle(np.repeat(x, w), np.repeat(y, w), method) for w in weights]
    close(weighted_correlation(x, y, weights.astype(float), method), wanted, 1e-9)
    shifted = weighted_correlation(x + 1e9, y, weights.astype(float), method)
    close(shifted, wanted, 1e-6)


@quick
@given(
    st.lists(st.lists(st.integers(1, 4), min_size=10, max_size=10), min_size=1, max_size=4), st.sampled_from(METHODS)
)
def test_rows_at_once_equal_scipy(table, method):
    x, y = np.array(table, dtype=float)[:, :5], np.array(table, dtype=float)[:, 5:]
    close(row_correlation(x, y, method), [oracle(*pair, method) for pair in zip(x, y, strict=True)], 1e-10)


@each_method
@pytest.mark.parametrize("value", [0.1, 1 / 3, 4.3, 1e9 + 0.1])
def test_a_constant_in_decimals_is_still_a_constant(value, method):
    y = np.random.default_rng(2).normal(size=17)
    assert np.isnan(weighted_correlation(np.full(17, value), y, np.ones((1, 17)), method)).all()
    x = np.full(17, value)
    x[3] += 1  # constant only under the second row of weights
    weights = np.ones((2, 17))
    weights[1, 3] = 0
    assert np.isnan(weighted_correlation(x, y, weights, method)).tolist() == [False, True]


@each_method
def test_an_outlier_that_is_left_out_does_not_count(method):
    x, y = np.array([1e8, 0, 1, 2, 3.0]), np.array([5.0, 1, 2, 3, 5])
    close(weighted_correlation(x, y, np.array([[0.0, 1, 1, 1, 1]]), method), [oracle(x[1:], y[1:], method)], 1e-6)


# --- the jackknife, written out ---------------------------------------------------------------------------------


def jackknife(units, estimate):
    """(k - 1) / k times the sum of squares of the estimates without one unit each, about their mean."""
    deleted = np.array([estimate(units != u) for u in np.unique(units)])
    used = deleted[np.isfinite(deleted)]
    k = len(used)
    return (k - 1) / k * np.sum((used - used.mean()) ** 2), k


def two_way(groups, systems, estimate):
    """The three terms of the docstring, and the degrees of freedom."""
    cells = np.unique([f"{g} {s}" for g, s in zip(groups, systems, strict=True)], return_inverse=True)[1]
    (by_system, m), (by_group, n) = jackknife(systems, estimate), jackknife(groups, estimate)
    return by_system, by_group, jackknife(cells, estimate)[0], min(m, n) - 1


def together(by_system, by_group, by_cell, level):
    """At least the smaller of the first two terms; at level system at least the first."""
    return max(by_system + by_group - by_cell, by_system if level == "system" else min(by_system, by_group))


def with_a_correlation(x, y, groups):
    """Which rows belong to a group that has a correlation: neither rater gives a single value there."""
    return np.array([len(set(x[groups == g])) > 1 and len(set(y[groups == g])) > 1 for g in groups])


def check_interval(result, variance, df):
    error = math.sqrt(variance)
    close([result.std_error, result.df], [error, df], 1e-9)
    half = stats.t.ppf((1 + result.confidence_level) / 2, df) * error
    alone = result.level == "group" and result.interval_method == "group jackknife"
    if result.method in ("pearson", "spearman") and not alone:  # on Fisher's z scale: the error of r over 1 - r^2
        centre, slope = math.atanh(result.estimate), 1 / (1 - result.estimate**2)
        wanted, t = np.tanh([centre - half * slope, centre + half * slope]), centre / (error * slope)
    else:
        wanted, t = np.clip([result.estimate - half, result.estimate + half], -1, 1), result.estimate / error
    close(result.interval, wanted, 1e-9)
    close(result.p_value, 2 * stats.t.sf(abs(t), df), 1e-9)


@each_method
@pytest.mark.parametrize(
    ("factors", "level", "constant"),
    [
        *(
            pytest.param("groups systems", level, constant, marks=pytest.mark.slow)
            for level, constant in [("item", "skip"), ("group", "skip"), ("group", "zero"), ("system", "skip")]
        ),
        *[("groups", "item", "skip"), ("groups", "group", "skip"), ("groups", "group", "zero")],
        *[("systems", "item", "skip"), ("systems", "system", "skip")],
    ],
)
def test_jackknife_over_the_units(factors, level, constant, method):
    x, y, groups, systems = design()
    labels = {name: {"groups": groups, "systems": systems}[name] for name in factors.split()}
    options = {"systems_are": "random", "level": level, "method": method, "constant": constant}
    result = agreement(x, y, **labels, **options, confidence_level=0.9)
    if level == "group" and constant == "skip":  # groups without a correlation are no units
        keep = with_a_correlation(x, y, groups)
        x, y, groups, systems = x[keep], y[keep], groups[keep], systems[keep]
        assert len(set(groups)) == 5

    def estimate(keep):
        return by_hand(x[keep], y[keep], groups[keep], systems[keep], level, method, constant)

    if len(labels) == 2:
        by_system, by_group, by_cell, df = two_way(groups, systems, estimate)
        variance, name = together(by_system, by_group, by_cell, level), "two-way"
    else:
        variance, k = jackknife({"groups": groups, "systems": systems}[factors], estimate)
        df, name = k - 1, factors[:-1]
    check_interval(result, variance, df)
    assert result.interval_method == f"{name} jackknife"


@pytest.mark.slow
@each_method
@each_level
def test_two_way_jackknife_of_a_full_table(level, method):
    rng = np.random.default_rng(71)
    groups, systems = np.repeat(np.arange(9), 6), np.tile(np.arange(6), 9)
    y = rng.integers(1, 4, 54) + np.array([0, 1, 2, 2, 3, 4])[systems]
    x = y + rng.integers(-1, 2, 54) + np.array([1, 0, 0, 0, 0, -1])[systems]
    x, y = x.astype(float), y.astype(float)
    result = agreement(x, y, groups=groups, systems=systems, level=level, method=method)
    by_system, by_group, by_cell, df = two_way(
        groups, systems, lambda keep: by_hand(x[keep], y[keep], groups[keep], systems[keep], level, method)
    )
    check_interval(result, together(by_system, by_group, by_cell, level), df)


def moved_by_one_more(x, y, method, value):
    """What one more item that confirms the sign moves a coefficient by: both rate it lowest, or highest."""
    ends = (np.min, np.max) if value > 0 else (np.max, np.min)
    others = [
        oracle(np.append(x, f(x)), np.append(y, g(y)), method) for f, g in zip((np.min, np.max), ends, strict=True)
    ]
    return max(math.copysign(1, value) * (other - value) for other in others)


def on_z_scale(value, variances, t):
    """Ends on Fisher's z scale with one variance below and another above."""
    return np.tanh(np.arctanh(value) + np.array([-1, 1]) * t * np.sqrt(variances) / (1 - value**2))


def by_score(value, variances, t):
    """The values that lie within t of their own errors, which are those of the estimate times its share of 1 - r^2."""
    ends = []
    for side, v in zip((-1, 1), variances, strict=True):
        far = lambda r, v=v: (r - value) ** 2 - t**2 * v * (1 - r**2) / (1 - value**2)  # noqa: E731
        ends.append(optimize.brentq(far, value, side))
    return ends


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("method", ["spearman", "pearson", "kendall", "kendall_c"])
def test_jackknife_over_items(method, sign):
    x, y, *_ = design()
    x = sign * x
    result = agreement(x, y, method=method)
    variance, k = jackknife(np.arange(len(x)), lambda keep: oracle(x[keep], y[keep], method))
    close([result.std_error, result.df], [math.sqrt(variance), k - 1], 1e-9)
    more = variance + moved_by_one_more(x, y, method, result.estimate) ** 2
    variances = (variance, more) if result.estimate > 0 else (more, variance)
    t = stats.t.ppf(0.975, k - 1)
    if method in ("spearman", "pearson"):
        wanted = on_z_scale(result.estimate, variances, t)
    else:
        wanted = by_score(result.estimate, variances, t)
    close(result.interval, wanted, 1e-9)
    close(result.p_value, SCIPY[method](x, y).pvalue)
    assert result.interval_method == "item jackknife"


@pytest.mark.parametrize(
    ("seed", "larger", "taken"),
    [
        # the sum of the three terms is negative, or positive and less than both of the first two
        (0, "groups", "smaller"), (38, "systems", "smaller"), (22, "groups", "smaller"), (28, "systems", "smaller"),
        # it lies between the first two, or above them
        (5, "groups", "sum"), (4, "systems", "sum"), (1, "groups", "sum"), (3, "systems", "sum"),
    ],
)  # fmt: skip
def test_the_variance_is_at_least_the_smaller_of_its_first_two_terms(seed, larger, taken):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(1, 4, (2, 12)).astype(float)
    groups, systems = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    by_system, by_group, by_cell, df = two_way(groups, systems, lambda keep: oracle(x[keep], y[keep], "kendall"))
    whole, least = by_system + by_group - by_cell, min(by_system, by_group)
    assert (by_group > by_system) == (larger == "groups")
    assert (whole < least) == (taken == "smaller")
    result = agreement(x, y, groups=groups, systems=systems, systems_are="random", method="kendall")
    check_interval(result, {"smaller": least, "sum": whole}[taken], df)


@pytest.mark.parametrize(
    ("level", "given"),
    [
        *[("item", given) for given in (["groups"], ["systems"], ["groups", "systems"])],
        *[("group", given) for given in (["groups"], ["groups", "systems"])],
        *[("system", given) for given in (["systems"], ["groups", "systems"])],
    ],
)
def test_the_p_value_is_that_of_the_interval(level, given):
    # an interval at confidence 1 - p ends at 0
    rng = np.random.default_rng(18)
    groups, systems = np.repeat(np.arange(8), 6), np.tile(np.arange(6), 8)
    y = rng.normal(size=48) + rng.normal(size=6)[systems]
    x = 0.7 * y + rng.normal(size=48)
    labels = {name: {"groups": groups, "systems": systems}[name] for name in given}
    p_value = agreement(x, y, level=level, method="pearson", **labels).p_value
    assert 1e-6 < p_value < 0.5
    ends = agreement(x, y, level=level, method="pearson", confidence_level=1 - p_value, **labels).interval
    # 1 - p holds p to some ten digits only
    assert_allclose(np.abs(ends).min(), 0, atol=1e-8)


def test_over_groups_without_constants_it_is_the_t_interval_of_the_mean_correlation():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(2, 9, 5))
    within = [stats.kendalltau(*pair).statistic for pair in zip(x, y, strict=True)]
    result = agreement(x.ravel(), y.ravel(), groups=np.repeat(np.arange(9), 5), level="group", method="kendall")
    wanted = stats.ttest_1samp(within, 0)
    close([result.std_error, result.p_value, result.df], [stats.sem(within), wanted.pvalue, 8], 1e-9)


def test_constant_groups_bring_no_degrees_of_freedom():
    rng = np.random.default_rng(12)
    x, y = rng.normal(size=(2, 3, 5))
    groups = np.repeat(np.arange(3), 5)
    few = agreement(x.ravel(), y.ravel(), groups=groups, level="group")
    padded_x, padded_y = np.append(x, np.ones(40 * 2)), np.append(y, rng.normal(size=40 * 2))
    many = agreement(padded_x, padded_y, groups=np.append(groups, np.repeat(np.arange(3, 43), 2)), level="group")
    assert (many.estimate, many.n_groups, many.n_skipped) == (few.estimate, 3, 40)
    assert many.df == few.df == 2
    wanted = stats.ttest_1samp([stats.spearmanr(*pair).statistic for pair in zip(x, y, strict=True)], 0)
    close([many.p_value, *many.interval], [wanted.pvalue, *np.clip(wanted.confidence_interval(), -1, 1)], 1e-9)


def test_constant_groups_bring_no_degrees_of_freedom_to_the_two_way_jackknife():
    x, y, groups, systems = design()
    keep = with_a_correlation(x, y, groups)
    labels = {"level": "group", "systems_are": "random"}
    whole = agreement(x, y, groups=groups, systems=systems, **labels)
    rest = agreement(x[keep], y[keep], groups=groups[keep], systems=systems[keep], **labels)
    for name in ("estimate", "std_error", "interval", "p_value", "df", "n_groups"):
        assert getattr(whole, name) == getattr(rest, name), name
    assert (whole.n_skipped, rest.n_skipped) == (2, 0)
    zero = agreement(x, y, groups=groups, systems=systems, level="group", constant="zero")
    assert (zero.n_groups, zero.n_skipped) == (7, 2)


@each_method
def test_the_only_group_with_a_correlation_says_nothing_about_others(method):
    x, y = [1, 2, 3, 5, 4, 7, 2, 2, 2], [1, 3, 2, 4, 6, 5, 1, 2, 3]
    result = agreement(x, y, groups=list("aaaaaabbb"), level="group", method=method)
    assert (result.n_groups, result.n_skipped) == (1, 1)
    close(result.estimate, SCIPY[method](x[:6], y[:6]).statistic)
    assert np.isnan([result.std_error, *result.interval, result.p_value]).all()
    assert (result.interval_method, result.reason) == ("none", "one group alone says nothing about others")


def two_systems(n=7, seed=13):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=2 * n)
    return x, x + rng.normal(size=2 * n), np.repeat(np.arange(n), 2), np.tile(["a", "b"], n)


@each_level
def test_two_systems_as_a_sample(level):
    x, y, groups, systems = two_systems()
    result = agreement(x, y, groups=groups, systems=systems, systems_are="random", level=level)
    assert (result.n_systems, result.n_groups, result.systems_are) == (2, 7, "random")
    if level == "item":  # one degree of freedom
        by_system, by_group, by_cell, df = two_way(groups, systems, lambda keep: oracle(x[keep], y[keep], "spearman"))
        assert df == 1
        check_interval(result, together(by_system, by_group, by_cell, level), 1)
        assert result.generalises_to == "new groups and new systems"
    else:  # without one of the two systems there is nothing to correlate
        assert np.isfinite(result.estimate)
        assert np.isnan([result.std_error, *result.interval, result.p_value]).all()
        assert result.reason == "without one of 2 systems nothing is left to correlate; take them as fixed"
        assert result.reason in str(result)


@each_method
@pytest.mark.parametrize("level", ["item", "group"])
def test_few_systems_are_the_ones_in_question(level, method):
    """Then only groups are a sample: the interval is that of the design without systems."""
    x, y, groups, systems = two_systems(30)
    result = agreement(x, y, groups=groups, systems=systems, level=level, method=method)
    assert (result.generalises_to, result.systems_are) == ("new groups, these systems", "fixed")
    assert "these 2 systems" in str(result)
    assert "|systems:2|systems-are:fixed|" in result.signature
    assert result == agreement(x, y, groups=groups, systems=systems, systems_are="fixed", level=level, method=method)
    if level == "item":
        alone = agreement(x, y, groups=groups, level=level, method=method)
        assert (result.interval, result.p_value, result.df) == (alone.interval, alone.p_value, 29)


def test_within_groups_of_two_systems_it_is_wilsons_interval_of_a_share():
    """Each correlation is 1 or -1: their mean is a share of the groups, mapped to -1 to 1."""
    x, y, groups, systems = two_systems(40)
    result = agreement(x, y, groups=groups, systems=systems, level="group", method="kendall")
    agreed = round(40 * (1 + result.estimate) / 2)
    assert 20 < agreed < 40
    wanted = stats.binomtest(agreed, 40).proportion_ci(method="wilson")
    close(result.interval, [2 * wanted.low - 1, 2 * wanted.high - 1], 1e-9)
    z = (2 * agreed - 40) / math.sqrt(40)
    close(result.p_value, 2 * stats.norm.sf(z), 1e-9)
    # where all agree there is an interval, too
    full = agreement(x, np.exp(x), groups=groups, systems=systems, level="group")
    close(full.interval, [2 * stats.binomtest(40, 40).proportion_ci(method="wilson").low - 1, 1])


@pytest.mark.parametrize("n_systems", [2, 3, 5, 6, 8])
def test_auto_takes_systems_as_fixed_below_six(n_systems):
    rng = np.random.default_rng(n_systems)
    y = rng.normal(size=(n_systems, 20)) + rng.normal(size=(n_systems, 1))
    x = y + rng.normal(size=y.shape)
    systems, groups = (index.ravel() for index in np.indices(y.shape))
    options = {"groups": groups, "systems": systems, "method": "pearson"}
    auto, fixed, random = (
        agreement(x.ravel(), y.ravel(), **options, systems_are=are) for are in ("auto", "fixed", "random")
    )
    assert auto == (fixed if n_systems < 6 else random)
    assert fixed.df == 19
    assert random.df == min(n_systems, 20) - 1
    assert fixed.generalises_to == "new groups, these systems"
    assert random.generalises_to == "new groups and new systems"


def test_only_systems_with_scores_are_counted():
    x, y, groups, systems = two_systems(30)
    gone = np.concatenate([x, np.full(120, np.nan)])
    more = {
        "groups": np.append(groups, np.tile(np.arange(30), 4)),
        "systems": np.append(systems, np.repeat(list("cdef"), 30)),
    }
    result = agreement(gone, np.append(y, np.ones(120)), **more)
    assert (result.n_systems, result.systems_are) == (2, "fixed")
    assert result.interval == agreement(x, y, groups=groups, systems=systems).interval


def test_fixed_systems_without_groups_leave_the_items():
    x, y, _, systems = two_systems(30)
    result = agreement(x, y, systems=systems)
    assert result.generalises_to == "new items of these systems, each independent of the others"
    alone = agreement(x, y)
    assert (result.interval, result.p_value) == (alone.interval, alone.p_value)


@pytest.mark.parametrize("grouped", [False, True])
def test_over_fixed_systems_pearson_is_left_to_the_groups(grouped):
    rng = np.random.default_rng(15)
    groups, systems = np.repeat(np.arange(9), 8), np.tile(np.arange(8), 9)
    y = rng.normal(size=72) + rng.normal(size=8)[systems]
    x = y + rng.normal(size=72)
    units = groups if grouped else np.arange(len(x))
    labels = {"groups": groups} if grouped else {}
    result = agreement(x, y, systems=systems, systems_are="fixed", **labels, level="system", method="pearson")
    variance, k = jackknife(
        units, lambda keep: by_hand(x[keep], y[keep], groups[keep], systems[keep], "system", "pearson")
    )
    check_interval(result, variance, k - 1)
    assert result.generalises_to.startswith("new groups, these systems" if grouped else "new items of these systems")


@pytest.mark.parametrize("method", ["spearman", "kendall", "gamma", "pairs"])
@pytest.mark.parametrize("n_systems", [3, 5, 8])
def test_the_order_of_fixed_systems_has_no_jackknife(method, n_systems):
    rng = np.random.default_rng(16)
    groups, systems = np.repeat(np.arange(9), n_systems), np.tile(np.arange(n_systems), 9)
    y = rng.normal(size=9 * n_systems) + np.arange(n_systems)[systems]
    x = y + 2 * rng.normal(size=len(y))
    result = agreement(x, y, groups=groups, systems=systems, systems_are="fixed", level="system", method=method)
    assert np.isnan(result.interval).all()
    few = f"over {n_systems} systems that are fixed no interval was found to hold"
    assert result.reason.startswith(few if n_systems < 6 else "the order of systems that are fixed changes in jumps")
    labels = {"groups": groups, "systems": systems, "level": "system", "method": method, "systems_are": "fixed"}
    drawn = agreement(x, y, **labels, interval="boot-groups", n_resamples=199, rng=0)
    assert drawn.interval.low <= drawn.estimate <= drawn.interval.high
    assert (drawn.reason, drawn.systems_are) == ("", "fixed")


def test_a_bootstrap_says_what_it_took_the_systems_as():
    x, y, groups, systems = two_systems(30)
    options = {"groups": groups, "systems": systems, "n_resamples": 99, "rng": 0}
    found = {name: agreement(x, y, **options, interval=name).systems_are for name in ("boot-groups", "boot-both")}
    assert found == {"boot-groups": "fixed", "boot-both": "random"}
    for name in ("boot-both", "boot-systems"):
        said = message(agreement, x, y, **options, interval=name, systems_are="fixed")
        assert said == f"`interval` {name!r} draws systems, so `systems_are` must not be 'fixed'."
    assert "`systems_are` must be one of 'auto', 'fixed', 'random'" in message(agreement, x, y, systems_are="two")


@pytest.mark.parametrize("level", ["item", "system"])
def test_one_group_says_nothing_about_other_groups(level):
    rng = np.random.default_rng(14)
    x, y = rng.normal(size=(2, 12))
    systems = np.arange(12) % 6
    result = agreement(x, y, groups=["a"] * 12, systems=systems, level=level)
    alone = agreement(x, y, systems=systems, level=level)
    close([result.estimate, result.std_error, *result.interval], [alone.estimate, alone.std_error, *alone.interval])
    assert result.df == alone.df == 5
    assert result.interval_method == "system jackknife"
    assert (result.generalises_to, alone.generalises_to) == ("new systems, this group", "new systems")


@pytest.mark.parametrize("systems", [None, list("uvwxyz") * 2])
@pytest.mark.parametrize("constant", ["skip", "zero"])
def test_one_group_at_level_group_is_an_error(systems, constant):
    x, y = np.random.default_rng(14).normal(size=(2, 12))
    said = "`groups` must hold two groups or more with scores at level 'group', but holds one."
    assert message(agreement, x, y, groups=["a"] * 12, systems=systems, level="group", constant=constant) == said
    labels = np.repeat(["a", "b"], [11, 1])
    gap = np.append(x[:11], np.nan)  # the other group has no score
    assert message(agreement, gap, y, groups=labels, systems=systems, level="group", constant=constant) == said


@each_level
def test_one_system_says_nothing_about_other_systems(level):
    rng = np.random.default_rng(14)
    x, y = rng.normal(size=(2, 12))
    groups = np.arange(12) % 4
    result = agreement(x, y, groups=groups, systems=["a"] * 12, level=level)
    if level == "system":  # one mean alone has no correlation
        assert np.isnan([result.estimate, result.std_error, *result.interval, result.p_value]).all()
        assert result.interval_method == "none"
    else:
        assert result.estimate == agreement(x, y, groups=groups, level=level).estimate
        assert result.generalises_to == "new groups, this system"
        assert "this system" in str(result)
        assert (result.n_systems, result.df) == (1, 3)


@each_method
def test_a_single_group_and_system_give_the_interval_of_their_items(method):
    x, y = [1, 2, 3, 5, 4, 7], [1, 3, 2, 4, 6, 5]
    alone, labels = agreement(x, y, method=method), ["a"] * 6
    result = agreement(x, y, groups=labels, systems=labels, method=method)
    assert (result.n_groups, result.n_skipped) == (1, 0)
    assert (result.interval_method, result.df) == (alone.interval_method, alone.df)
    close([result.estimate, result.std_error, *result.interval], [alone.estimate, alone.std_error, *alone.interval])
    close(result.p_value, SCIPY[method](x, y).pvalue)
    single = agreement(x, y, systems=labels, level="system", method=method)
    assert np.isnan([single.estimate, single.std_error, *single.interval, single.p_value]).all()
    assert single.interval_method == "none"


# --- what to know before trusting the number --------------------------------------------------------------------


@pytest.mark.parametrize(("slope", "hint"), [(1, False), (-1, True)])
@pytest.mark.parametrize("method", [*METHODS, "kappa", "gamma"])
def test_a_negative_agreement_hints_at_a_reversed_scale(method, slope, hint):
    y = np.random.default_rng(3).integers(1, 6, 80)
    x = 3 + slope * (y - 3)
    x[::5] = 3
    said = agreement(x, y, method=method).warnings
    assert any("run the other way" in text for text in said) == hint


@pytest.mark.parametrize(("estimate", "hint"), [(-0.31, True), (-0.3, True), (-0.29, False), (0.3, False)])
def test_from_which_agreement_on(estimate, hint):
    a, b = np.linalg.qr(np.column_stack([np.ones(50), *np.random.default_rng(1).normal(size=(2, 50))]))[0][:, 1:].T
    found = agreement(a, estimate * a + math.sqrt(1 - estimate**2) * b, method="pearson")
    close(found.estimate, estimate)
    assert any("run the other way" in text for text in found.warnings) == hint


def test_items_without_a_score_are_said():
    rng = np.random.default_rng(4)
    y = rng.normal(size=200)
    x = y + rng.normal(size=200)
    few, many, human = x.copy(), x.copy(), y.copy()
    few[:10], many[:188], human[:188] = np.nan, np.nan, np.nan
    assert not agreement(few, y).warnings  # one in twenty
    said = agreement(many, y).warnings
    assert said == ("items_left_out: the judge has no score for 188 of 200 labelled items",)
    assert not agreement(x, human).warnings  # no label is lost
    assert not any("left out" in text for text in agreement(many, y, missing="zero").warnings)


def test_few_items_off_the_commonest_score_are_said():
    rng = np.random.default_rng(5)
    y = np.full(60, 5.0)
    y[:12] = rng.integers(1, 5, 12)
    x = y + 0.1 * rng.normal(size=60)
    said, _ = agreement(x, y, method="pearson").warnings
    assert said.startswith("few_that_differ: all but 12 items have the commonest score")
    for again in (np.tile(y, 2), np.linspace(1, 5, 60)):  # more of them, and no score that most have
        assert "few_that_differ" not in str(agreement(np.resize(x, len(again)), again, method="pearson").warnings)


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall", "kappa"])
def test_a_sample_without_a_failure_says_that_it_shows_none(method):
    rng = np.random.default_rng(7)
    y = rng.integers(1, 6, 60).astype(float)
    x = np.where(rng.random(60) < 0.1, np.clip(y + 1, 1, 5), y)
    result = agreement(x, y, method=method)
    (said,) = result.warnings
    worst = min(agreement(np.append(x, a), np.append(y, 6 - a), method=method).estimate for a in (1, 5))
    assert worst < result.interval.low
    assert said.startswith(f"rare_failures: one more item, as wrong as can be, would make it {short(worst)}, below the")
    x[:3] = 6 - y[:3]  # where there are some the interval is as wide as they make it
    assert agreement(x, y, method=method).warnings == ()


def test_of_thousands_of_items_one_more_is_not_counted():
    rng = np.random.default_rng(8)
    y = rng.normal(size=2001)
    x = y + 0.2 * rng.normal(size=2001)
    result = agreement(x, y, method="pearson")
    low, high = (math.atanh(end) for end in result.interval)
    close(math.atanh(result.estimate) - low, high - math.atanh(result.estimate), 1e-9)
    assert result.warnings == ()


@pytest.mark.parametrize(
    ("x", "y", "options", "reason"),
    [
        ([3, 3, 3, 3], [1, 2, 3, 4], {}, "the judge gave one value only"),
        ([1, 2, 3, 4], [5, 5, 5, 5], {}, "people gave one value only"),
        ([1, 2, 3], [1, 3, 2], {}, "3 items are too few"),
        ([1, 2, 3, 4, 5], [2, 4, 6, 8, 10], {"method": "pearson"}, "it is the same without any of the items"),
        ([1, 2, 3, 4], [2, 1, 4, 3], {"interval": "none"}, ""),
        ([1, 2, 4, 5], [2, 3, 4, 7], {"groups": "aabb", "systems": "stst", "level": "system"}, "2 systems agree"),
    ],
)
def test_where_there_is_no_interval_it_says_why(x, y, options, reason):
    labels = {name: list(v) if name in ("groups", "systems") else v for name, v in options.items()}
    result = agreement(x, y, **labels)
    assert np.isnan(result.interval).all()
    assert result.reason.startswith(reason)
    assert bool(result.reason) == bool(reason)
    if reason:
        assert f"no interval: {reason}" in str(result)


# --- other intervals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence_level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [4, 9, 200])
def test_pearson_over_items_is_the_jackknife_on_the_z_scale(n, confidence_level):
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    result = agreement(x, y, method="pearson", confidence_level=confidence_level)
    variance, k = jackknife(np.arange(n), lambda keep: oracle(x[keep], y[keep], "pearson"))
    variances = variance, variance + moved_by_one_more(x, y, "pearson", result.estimate) ** 2
    low, high = on_z_scale(result.estimate, variances, stats.t.ppf((1 + confidence_level) / 2, k - 1))
    if n < 10:  # a jackknife of so few may find all estimates alike: at least Fisher's
        half = stats.norm.ppf((1 + confidence_level) / 2) / math.sqrt(n - 3)
        fisher = np.tanh(math.atanh(result.estimate) + np.array([-half, half]))
        low, high = min(low, fisher[0]), max(high, fisher[1])
    close(result.interval, (low, high), 1e-9)
    assert (result.interval_method, result.df) == ("item jackknife", n - 1)
    close(result.p_value, stats.pearsonr(x, y).pvalue)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_where_few_items_differ_it_is_fishers_interval_at_least(method):
    y = np.full(15, 5.0)
    y[:3] = 1, 2, 2
    x = np.full(15, 5.0)
    x[[7, 9]] = 4, 3
    result = agreement(x, y, method=method)
    centre, t = math.atanh(result.estimate), stats.t.ppf(0.975, 14)
    half = t / math.sqrt(12)
    assert result.std_error < 0.5 * half / t  # the jackknife sees next to nothing
    close(result.interval, np.tanh([centre - half, centre + half]))


def test_of_many_normal_pairs_it_is_fishers_interval():
    x, y = np.random.default_rng(8).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 20_000).T
    found = agreement(x, y, method="pearson").interval
    wanted = stats.pearsonr(x, y).confidence_interval()
    assert_allclose(found, wanted, atol=0.03 * (wanted.high - wanted.low))


def test_of_yes_and_no_all_four_are_one():
    """Tau-b, Spearman and Pearson of two values are the same number, with the same interval."""
    rng = np.random.default_rng(6)
    y = rng.random(150) < 0.08
    x = np.where(rng.random(150) < 0.06, ~y, y)
    results = [agreement(x, y, method=method) for method in ("pearson", "spearman", "kendall")]
    for result in results[1:]:
        close([result.estimate, *result.interval], [results[0].estimate, *results[0].interval], 1e-9)


def test_perfect_correlation_and_three_pairs_have_no_interval():
    # nothing differs between the pairs: no spread
    assert np.isnan(agreement([1, 2, 3, 4, 5], [2, 4, 6, 8, 10], method="pearson").interval).all()
    assert np.isnan(agreement([1, 2, 3, 4, 5], [9, 7, 5, 3, 1], method="kendall").interval).all()
    result = agreement([1, 2, 3], [1, 3, 2], method="pearson")
    close(result.estimate, 0.5)
    assert result.interval_method == "none"
    assert np.isnan(result.interval).all()


@each_method
@pytest.mark.parametrize("sign", [-1, 1])
def test_perfect_correlation_of_systems(sign, method):
    # the deleted estimates are 1 but for their last bit, which is no spread
    rng = np.random.default_rng(17)
    for n_systems in range(4, 24):
        systems = np.repeat(np.arange(n_systems), 3)
        x = np.sort(rng.normal(size=3 * n_systems))
        result = agreement(x, sign * (2 * x + 1), systems=systems, level="system", method=method)
        assert_allclose(result.estimate, sign, rtol=1e-9)
        assert np.isnan(result.interval).all()


@pytest.mark.parametrize("method", ["spearman", "kendall", "pearson"])
@pytest.mark.parametrize("levels", [5, None])
def test_many_items_are_left_out_one_by_one_all_the_same(method, levels):
    rng = np.random.default_rng(15)
    y = rng.normal(size=3107) if levels is None else rng.integers(1, levels + 1, 3107).astype(float)
    x = y + (rng.normal(size=3107) if levels is None else rng.integers(-2, 3, 3107))
    found = left_out(
        condensed_groups(
            design_of(x, y, groups=None, systems=None, level="item", coefficient=method, constant="skip")[0]
        )
    )
    some = rng.choice(3107, 20, replace=False)
    wanted = [SCIPY[method](np.delete(x, i), np.delete(y, i)).statistic for i in some]
    if found.copies is None:
        close(found.item[some], wanted)
    else:
        assert found.copies.sum() == 3107
        assert np.abs(found.item[:, None] - wanted).min(axis=0).max() < 1e-12
    if method != "pearson":
        k, copies = 3107, np.ones(len(found.item)) if found.copies is None else found.copies
        mean = copies @ found.item / k
        close(agreement(x, y, method=method).std_error, math.sqrt((k - 1) / k * (copies @ (found.item - mean) ** 2)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_the_cell_term_of_many_cells(method):
    rng = np.random.default_rng(16)
    groups, systems = np.repeat(np.arange(450), 7), np.tile(np.arange(7), 450)
    y = rng.integers(1, 6, 3150)
    x = np.clip(y + rng.integers(-2, 3, 3150), 1, 5)
    result = agreement(x, y, groups=groups, systems=systems, method=method)

    def estimate(keep):
        return SCIPY[method](x[keep], y[keep]).statistic

    (by_system, m), (by_group, n) = jackknife(systems, estimate), jackknife(groups, estimate)
    by_cell, _ = jackknife(np.arange(3150), estimate)
    assert (m, n, result.df) == (7, 450, 6)
    close(result.std_error, math.sqrt(together(by_system, by_group, by_cell, "item")), 1e-9)
    assert result.interval_method == "two-way jackknife"


@pytest.mark.slow
def test_memory_of_many_systems_and_groups_is_bounded():
    rng, m, g = np.random.default_rng(17), 200, 2000
    systems, groups = np.repeat(np.arange(m), g), np.tile(np.arange(g), m)
    y = np.round(rng.normal(size=m * g) + rng.normal(size=m)[systems])
    x = y + rng.normal(size=m * g)
    tracemalloc.start()
    options = {"level": "group", "method": "kendall", "interval": "boot-both", "n_resamples": 20, "rng": 1}
    result = agreement(x, y, groups=groups, systems=systems, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.interval.low < result.estimate < result.interval.high
    # the signs of all pairs of systems in all groups would be 80 million numbers for each of three sums
    assert peak < 200e6


# --- messages ---------------------------------------------------------------------------------------------------


ORDER = "must be numeric for 'spearman', which needs their order (for names there are 'kappa_nominal' and 'exact')"
METHOD_NAMES = (
    "'spearman', 'pearson', 'kendall', 'kendall_a', 'kendall_c', 'gamma', 'pairs', 'kappa', 'kappa_nominal', 'exact', "
    "'adjacent', 'spa'"
)
INTERVALS = "'auto', 'none', 'boot-both', 'boot-groups', 'boot-systems', 'boot-items'"


@pytest.mark.parametrize(
    ("x", "y", "options", "said"),
    [
        (["a"], [1], {}, f"`x` {ORDER}, but got ['a']."),
        ([[1]], [1], {}, "`x` must have 1 dimension, but got shape (1, 1)."),
        ([1], [[1]], {}, "`y` must have 1 dimension, but got shape (1, 1)."),
        ([1, np.inf], [1, 2], {}, "`x` must be finite or NaN, but got inf at (1,)."),
        ([1, 2, 3], [1, 2], {}, "`y` must have the length of `x` (3), but got 2."),
        ([1, 2], [1, 2], {"groups": ["a"]}, "`groups` must have the length of `x` (2), but got 1."),
        ([1, 2], [1, 2], {"systems": ["a"]}, "`systems` must have the length of `x` (2), but got 1."),
        (
            [1, 2],
            [1, 2],
            {"level": "document"},
            "`level` must be one of 'item', 'group', 'system', but got 'document'.",
        ),
        ([1, 2], [1, 2], {"level": "group"}, "`groups` must be given for level 'group', but got None."),
        ([1, 2], [1, 2], {"level": "system"}, "`systems` must be given for level 'system', but got None."),
        (
            [1, 2],
            [1, 2],
            {"method": "tau"},
            f"`method` must be one of {METHOD_NAMES}, but got 'tau', which is called 'kendall' here.",
        ),
        ([1, 2], [1, 2], {"interval": "bootstrap"}, f"`interval` must be one of {INTERVALS}, but got 'bootstrap'."),
        ([1, 2], [1, 2], {"constant": "raise"}, "`constant` must be one of 'skip', 'zero', but got 'raise'."),
        ([1, 2], [1, 2], {"confidence_level": 95}, "`confidence_level` must be between 0 and 1, but got 95."),
        ([1, 2], [1, 2], {"systems": ["a", None]}, "`systems` must have no missing label, but got one at 1."),
        # the position is that of the input
        (
            [np.nan, 1, 2],
            [1, 2, 3],
            {"groups": ["a", "b", None]},
            "`groups` must have no missing label, but got one at 2.",
        ),
        ([1, 2], [1, 2], {"groups": "ab"}, "`groups` must be a sequence of labels, but got the text 'ab'."),
        ([1, 2], [1, 2], {"systems": [["a"], ["b"]]}, "`systems` must have 1 dimension, but got a list at 0."),
    ],
)
def test_messages(x, y, options, said):
    assert message(agreement, x, y, **options) == said


@each_level
@pytest.mark.parametrize("name", ["groups", "systems"])
def test_a_label_is_needed_where_a_score_is_missing_too(level, name):
    labels = {"groups": list("abcd"), "systems": list("abcd")} | {name: [None, "a", "b", "c"]}
    said = message(agreement, [np.nan, 1, 2, 3], [1, 2, 3, 4], **labels, level=level)
    assert said == f"`{name}` must have no missing label, but got one at 0."


def test_tuples_are_labels():
    x, y, groups, systems = design()
    pairs = [(g, 1) for g in groups]
    assert agreement(x, y, groups=pairs, systems=systems) == agreement(x, y, groups=groups, systems=systems)


# --- coverage ---------------------------------------------------------------------------------------------------


def homogeneous(rng, n_systems, n_groups):
    """Systems and groups at random; the correlation of two raters is the same in every group."""
    system = rng.multivariate_normal([0, 0], [[0.1, 0.08], [0.08, 0.1]], n_systems)
    cell = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], (n_groups, n_systems))
    return np.moveaxis(cell + system, -1, 0).reshape(2, -1)


# two systems in one group differ by two normals of this correlation; tau = 2 / pi arcsin
TAU = 2 / np.pi * np.arcsin((0.08 + 0.3) / (0.1 + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_systems", "n_groups", "n_sets", "nominal", "width"),
    [
        # measured elsewhere with this rule on this population: coverage, mean width
        (16, 100, 60, 0.960, 0.093), (6, 30, 250, 0.965, 0.344), (6, 60, 120, 0.968, 0.255),
        (8, 40, 150, 0.956, None),
    ],
)  # fmt: skip
def test_coverage_of_the_two_way_jackknife(n_systems, n_groups, n_sets, nominal, width):
    rng = np.random.default_rng(2021)
    groups, systems = np.repeat(np.arange(n_groups), n_systems), np.tile(np.arange(n_systems), n_groups)
    results = [
        agreement(
            *homogeneous(rng, n_systems, n_groups), groups=groups, systems=systems, level="group", method="kendall"
        )
        for _ in range(n_sets)
    ]
    hits = sum(r.interval.low <= TAU <= r.interval.high for r in results)
    assert stats.binomtest(hits, n_sets, nominal).pvalue > 0.001
    if width is not None:
        assert_allclose(np.mean([r.interval.high - r.interval.low for r in results]), width, rtol=0.08)
    # neither too short nor too wide: the standard error against the spread of the estimates
    error, spread = math.sqrt(np.mean([r.std_error**2 for r in results])), np.std([r.estimate for r in results])
    assert 0.8 < error / spread < 1.25


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pearson", "kendall"])
def test_coverage_of_independent_pairs(method):
    rng = np.random.default_rng(2022)
    truth = {"pearson": 0.6, "kendall": 2 / np.pi * np.arcsin(0.6)}[method]
    hits = 0
    for _ in range(1500):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 30).T
        low, high = agreement(x, y, method=method).interval
        hits += low <= truth <= high
    assert stats.binomtest(hits, 1500, 0.95).pvalue > 0.001


@pytest.mark.parametrize("n_groups", [8, 30])  # all flips of signs, and a thousand of them
def test_soft_pairwise_accuracy_of_a_judge_that_tells_apart_what_people_do_not(n_groups):
    """The judge's p-value is next to 0, that of people 1/2, of whom one group is as far above as the next below."""
    judge = np.column_stack([np.arange(n_groups), np.arange(n_groups) + 3.0]).ravel()
    people = np.column_stack([np.arange(n_groups) % 2, np.arange(1, n_groups + 1) % 2]).ravel()
    groups, systems = np.repeat(np.arange(n_groups), 2), np.tile([0, 1], n_groups)
    found = agreement(judge, people, groups=groups, systems=systems, level="system", method="spa", interval="none")
    assert found.estimate == pytest.approx(0.5, abs=0.02)
