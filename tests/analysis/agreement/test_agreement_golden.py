"""Numbers of other programs, coefficients written as double loops, and resampling with every resample enumerated."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

import calib.stats
from calib.analysis.agreement.levels import condensed_groups, design_of, exchanged, left_out, under
from calib.stats import agreement

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "agreement.json").read_text())
quick = settings(deadline=None, derandomize=True)


# --- the definitions --------------------------------------------------------------------------------------------


def sign(value):
    return (value > 0) - (value < 0)


def orders(x, y):
    """How x and how y order each pair of items: -1, 0, 1."""
    return [(sign(a - b), sign(c - d)) for (a, c), (b, d) in itertools.combinations(zip(x, y, strict=True), 2)]


def kendall_a(x, y):
    """Of a constant there is none, as of the other forms of tau."""
    constant = len(set(x)) < 2 or len(set(y)) < 2
    return math.nan if constant else sum(a * b for a, b in orders(x, y)) / math.comb(len(x), 2)


def gamma(x, y):
    untied = [a * b for a, b in orders(x, y) if a * b]
    return sum(untied) / len(untied) if untied else math.nan


def pairs_accuracy(x, y, epsilon=0.0):
    """Share of pairs that x and y order alike, where x counts as tied within epsilon; constants have one, too."""
    alike = [
        (0 if abs(a - b) <= epsilon else sign(a - b)) == sign(c - d)
        for (a, c), (b, d) in itertools.combinations(zip(x, y, strict=True), 2)
    ]
    return sum(alike) / len(alike) if alike else math.nan


def kappa(x, y):
    """Observed over expected squared distance; expected by pairing every x with every y."""
    expected = sum((a - b) ** 2 for a in x for b in y)
    return 1 - len(x) * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / expected if expected else math.nan


def within(distance):
    def share(x, y):
        return sum(abs(a - b) <= distance for a, b in zip(x, y, strict=True)) / len(x) if x else math.nan

    return share


def scipys(function):
    def value(x, y):
        return math.nan if len(set(x)) < 2 or len(set(y)) < 2 else float(function(x, y).statistic)

    return value


LOOPS = {"kendall_a": kendall_a, "gamma": gamma, "pairs": pairs_accuracy, "kappa": kappa}
LOOPS |= {"exact": within(0), "adjacent": within(1)}
SCIPY = {"pearson": scipys(stats.pearsonr), "spearman": scipys(stats.spearmanr), "kendall": scipys(stats.kendalltau)}
SCIPY["kendall_c"] = scipys(lambda x, y: stats.kendalltau(x, y, variant="c"))
DEFINED = LOOPS | SCIPY


def close(found, wanted, tolerance=1e-12):
    assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


# --- numbers of other programs ----------------------------------------------------------------------------------


def flat(inputs):
    """The arrays of a record by name, and what labels go with them."""
    if "random_state" in inputs:
        draw = np.random.RandomState(inputs["random_state"])
        inputs = {name: draw.random_sample(inputs["shape"]) for name in inputs["names"]}
    if "table" in inputs:
        counts = np.array(inputs["table"])
        x, y = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
        return {"x": x, "y": y}, {}
    if "correlations" in inputs:
        return correlated(*inputs["correlations"], inputs["n"]), {}
    arrays = {name: np.array(values, dtype=float) for name, values in inputs.items()}
    shape = arrays["y"].shape
    if len(shape) == 1:
        return arrays, {}
    systems, groups = np.indices(shape).reshape(2, -1)
    return {name: values.ravel() for name, values in arrays.items()}, {"groups": groups, "systems": systems}


def correlated(r1, r2, r12, n):
    """Scores of two judges and labels with exactly these correlations."""
    base = np.linalg.qr(np.column_stack([np.ones(n), np.random.default_rng(0).normal(size=(n, 3))]))[0][:, 1:]
    matrix = np.array([[1, r12, r1], [r12, 1, r2], [r1, r2, 1]])
    return dict(zip(("x1", "x2", "y"), np.linalg.cholesky(matrix) @ base.T, strict=True))


def curve(x, y, *, epsilon, groups=None, systems=None):
    """The accuracy at each epsilon, averaged over the groups that have a pair."""
    present = np.isfinite(x + y)
    groups = np.zeros(len(x)) if groups is None else groups
    members = [present & (groups == g) for g in np.unique(groups)]
    parts = [(x[m].tolist(), y[m].tolist()) for m in members if m.sum() > 1]
    return [float(np.mean([pairs_accuracy(*part, e) for part in parts])) for e in np.atleast_1d(epsilon)]


def outcome(record):
    arrays, labels = flat(record["inputs"])
    options = dict(record["options"])
    if not options.pop("design", True):
        labels = {}
    scores = [np.asarray(arrays[name], dtype=float) for name in ("x", "x1", "x2", "y") if name in arrays]
    level = options.get("level")
    if record["function"] == "pairs_accuracy":
        options.pop("level", None)
        return curve(*scores, **options, **({"groups": labels["groups"]} if level == "group" else {}))
    if record["function"] == "compare":
        return getattr(calib.stats.compare(*scores, **labels, **options), record["quantity"])
    return getattr(agreement(*scores, **labels, **{"interval": "none", **options}), record["quantity"])


def name_of(record):
    options = record["options"]
    parts = [record["function"], options.get("method"), options.get("level"), options.get("interval")]
    return "-".join(part for part in [*parts, options.get("test"), record["quantity"]] if part)


@pytest.mark.filterwarnings("ignore:.*resamples had no coefficient")
@pytest.mark.parametrize("record", GOLDEN, ids=name_of)
def test_number_of_another_program(record):
    wanted = np.array(record["expected"], dtype=float)
    assert_allclose(outcome(record), wanted, rtol=0, atol=record["tolerance"], err_msg=record["source"])


# --- coefficients that scipy does not have ----------------------------------------------------------------------


cells = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 4, 5, 2.5, math.nan]),
        st.integers(1, 4),
        st.sampled_from("abcd"),
        st.sampled_from("uvw"),
    ),
    min_size=1,
    max_size=30,
)


def columns(table):
    x, y, groups, systems = zip(*table, strict=True)
    return np.array(x, dtype=float), np.array(y, dtype=float), np.array(groups), np.array(systems)


def mean(values):
    """Rounded once, so that equal means are equal in whatever order they are summed."""
    return float(sum(map(Fraction, values)) / len(values))


def estimate(x, y, groups, systems, level, coefficient, constant="skip"):
    """The estimate at each level, straight from its definition; pairs with a missing score are left out."""
    keep = np.isfinite(x + y)
    x, y, groups, systems = x[keep], y[keep], groups[keep], systems[keep]
    if level == "system":
        names = np.unique(systems)
        x, y = (np.array([mean(side[systems == s].tolist()) for s in names]) for side in (x, y))
    if level != "group":
        return coefficient(x.tolist(), y.tolist())
    within = [(x[groups == g].tolist(), y[groups == g].tolist()) for g in np.unique(groups)]
    values = np.array([coefficient(*sides) for sides in within])
    values = np.nan_to_num(values) if constant == "zero" else values[np.isfinite(values)]
    return float(values.mean()) if len(values) else math.nan


# exact and adjacent are shares of single scores, and only groups can be left out for being constant
CASES = [(m, "group", constant) for m in sorted(DEFINED) for constant in ("skip", "zero")]
CASES += [(m, "item", "skip") for m in sorted(DEFINED)]
CASES += [(m, "system", "skip") for m in sorted(DEFINED) if m not in ("exact", "adjacent")]
each_case = pytest.mark.parametrize(("method", "level", "constant"), CASES)


@pytest.mark.long
@pytest.mark.slow
@quick
@given(table=cells)
@each_case
def test_estimates_follow_the_definition(method, level, constant, table):
    x, y, groups, systems = columns(table)
    assume(level != "group" or len(set(groups[np.isfinite(x + y)])) != 1)  # an error
    options = {"level": level, "method": method, "constant": constant, "interval": "none"}
    found = agreement(x, y, groups=groups, systems=systems, **options)
    close(found.estimate, estimate(x, y, groups, systems, level, DEFINED[method], constant))
    zeros = estimate(np.nan_to_num(x), y, groups, systems, level, DEFINED[method], constant)
    close(found.estimate_other_missing, zeros)


@pytest.mark.parametrize("noise", [1, 12])
@pytest.mark.parametrize("method", sorted(SCIPY))
def test_p_values_of_many_items_on_few_levels_are_those_of_scipy(method, noise):
    rng = np.random.default_rng(noise)
    y = rng.integers(1, 6, 2400).astype(float)
    x = np.clip(np.round(y + rng.normal(0, 10 * noise, len(y))), 1, 5)
    function = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}.get(method, stats.kendalltau)
    assert_allclose(agreement(x, y, method=method).p_value, function(x, y).pvalue, rtol=1e-9)


# --- every resample enumerated ----------------------------------------------------------------------------------

SHAPE = (3, 3)  # systems, groups: 27 x 27 draws of both, 2^9 swaps of cells, 2^3 x 2^3 swaps of rows and columns
MANY = 9999
LABELS = dict(zip(("systems", "groups"), np.indices(SHAPE).reshape(2, -1), strict=True))


def small(seed, *, levels):
    """Two judges and labels, systems by groups: of five levels with ties, or continuous."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, SHAPE).astype(float)
    judges = [human + rng.normal(0, spread, SHAPE) for spread in (0.8, 2)]
    return (*(np.clip(np.round(j), 1, 5) if levels else j for j in judges), human)


def value(x, y, level, coefficient, constant="skip"):
    """The estimate from matrices of systems by groups, NaN where there is no pair; a unit drawn twice is two units."""
    systems, groups = np.indices(x.shape).reshape(2, -1)
    return estimate(x.ravel(), y.ravel(), groups, systems, level, coefficient, constant)


def draws(n, *, drawn):
    """Each set that n draws of n can give, and in how many orders."""
    return Counter(tuple(sorted(d)) for d in itertools.product(range(n), repeat=n)) if drawn else {tuple(range(n)): 1}


def all_resamples(interval):
    rows = draws(SHAPE[0], drawn=interval in ("boot-systems", "boot-both"))
    cols = draws(SHAPE[1], drawn=interval in ("boot-groups", "boot-both"))
    return [(np.ix_(i, j), rows[i] * cols[j]) for i in rows for j in cols]


def all_swaps(test):
    if test == "perm-cells":
        return [np.array(mask).reshape(SHAPE) for mask in itertools.product([False, True], repeat=9)]
    halves = list(itertools.product([False, True], repeat=3))
    return [np.logical_xor.outer(rows, cols) for rows in halves for cols in halves]


def standardised(x):
    return (x - x.mean()) / x.std()


def slack(p, n):
    """Four and a half standard errors of a share p among n draws, and the one that is counted in addition."""
    return 4.5 * math.sqrt(p * (1 - p) / n) + 1 / n


each_level = pytest.mark.parametrize("level", ["item", "group", "system"])
each_scale = pytest.mark.parametrize("levels", [True, False], ids=["levels", "continuous"])


@pytest.mark.slow
@each_scale
@each_case
def test_multiplicities_of_both_factors_are_repeated_rows_and_columns(method, constant, level, levels):
    x, _, y = small(3, levels=levels)
    x[0, 1] = x[2, 2] = math.nan
    rows, cols = (list(draws(n, drawn=True)) for n in SHAPE)
    both = list(itertools.product(rows, cols))
    wanted = [value(x[np.ix_(*where)], y[np.ix_(*where)], level, DEFINED[method], constant) for where in both]
    systems, groups = (
        np.array([[d.count(k) for k in range(3)] for d in side], float) for side in zip(*both, strict=True)
    )
    options = {"level": level, "coefficient": method, "constant": constant}
    design, _ = design_of(x.ravel(), y.ravel(), **LABELS, **options)
    close(under(design, groups, systems), wanted, 1e-11)


# --- every unit left out ----------------------------------------------------------------------------------------


def unbalanced(levels):
    """Four systems, five groups: missing cells, two items in a cell, a group of one item, a constant group."""
    rng = np.random.default_rng(12)
    systems, groups = np.indices((4, 5)).reshape(2, -1)
    keep = ~((groups == 4) & (systems > 0)) & ~((groups == 1) & (systems == 2))
    systems, groups = np.append(systems[keep], [1, 3]), np.append(groups[keep], [0, 2])
    y = rng.integers(1, 6, len(groups)).astype(float)
    x = y + rng.normal(0, 1.5, len(y))
    x = np.clip(np.round(x), 1, 5) if levels else x
    x[groups == 3] = 2
    return x, y, groups, systems


@pytest.mark.slow
@each_scale
@each_case
def test_leaving_out_each_system_group_and_cell(method, level, constant, levels):
    x, y, groups, systems = unbalanced(levels)

    def without(gone):
        return estimate(x[~gone], y[~gone], groups[~gone], systems[~gone], level, DEFINED[method], constant)

    labels = {"groups": groups, "systems": systems}
    design, _ = design_of(x, y, **labels, level=level, coefficient=method, constant=constant)
    found = left_out(design)
    close(found.system, [without(systems == s) for s in range(4)], 1e-11)
    close(found.group, [without(groups == g) for g in range(5)], 1e-11)
    cells = [(s, g) for s in range(4) for g in range(5) if ((systems == s) & (groups == g)).any()]
    close(np.sort(found.cell), np.sort([without((systems == s) & (groups == g)) for s, g in cells]), 1e-11)


@pytest.mark.slow
@each_scale
@pytest.mark.parametrize("n", [7, 300])
@pytest.mark.parametrize("method", sorted(DEFINED))
def test_leaving_out_each_item(method, n, levels):
    rng = np.random.default_rng(n)
    y = rng.integers(1, 6, n).astype(float)
    x = y + rng.normal(0, 1, n)
    x = np.round(x) if levels else x
    design, _ = design_of(x, y, groups=None, systems=None, level="item", coefficient=method, constant="skip")
    found = left_out(design).item
    for k in rng.permutation(n)[:7]:
        close(found[k], DEFINED[method](np.delete(x, k).tolist(), np.delete(y, k).tolist()), 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(DEFINED))
def test_a_table_of_equal_pairs_stands_for_the_items(method):
    rng = np.random.default_rng(9)
    y = rng.integers(1, 4, 2100).astype(float)
    x = np.clip(y + rng.integers(-1, 2, len(y)), 1, 3)
    design, _ = design_of(x, y, groups=None, systems=None, level="item", coefficient=method, constant="skip")
    found, single = left_out(condensed_groups(design)), left_out(design)
    assert len(found.item) <= 9
    close(np.sort(np.repeat(found.item, found.copies.astype(int))), np.sort(single.item), 1e-11)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*resamples had no coefficient")
@each_scale
@each_level
@pytest.mark.parametrize("interval", ["boot-systems", "boot-groups", "boot-both"])
@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall", "gamma", "pairs"])
def test_quantiles_are_those_of_all_resamples(method, interval, level, levels):
    x, _, y = small(5, levels=levels)
    resamples, times = zip(*all_resamples(interval), strict=True)
    values = np.repeat([value(x[where], y[where], level, DEFINED[method]) for where in resamples], times)
    values = values[np.isfinite(values)]
    options = {"level": level, "method": method, "interval": interval, "n_resamples": MANY, "rng": 1}
    found = agreement(x.ravel(), y.ravel(), **LABELS, confidence_level=0.6, **options)
    for end, p in zip(found.interval, (0.2, 0.8), strict=True):  # well inside: the tails of so few cells are all 1
        assert (values < end - 1e-9).mean() <= p + slack(p, MANY)
        assert (values <= end + 1e-9).mean() >= p - slack(p, MANY)


SWAPPED = [
    (m, level) for m in ("pearson", "spearman", "kendall", "pairs", "kappa") for level in ("item", "group", "system")
]
SWAPPED += [("adjacent", "item"), ("adjacent", "group")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unequal_ties")
@pytest.mark.filterwarnings("ignore:unlike_ranges")
@each_scale
@pytest.mark.parametrize("test", ["perm-cells", "perm-axes"])
@pytest.mark.parametrize(("method", "level"), SWAPPED)
def test_p_value_is_that_of_all_swaps(method, level, test, levels):
    x1, x2, y = small(8, levels=levels)
    # what compares the judge's numbers with the labels has them on one scale already
    one, two = (x if method in ("kappa", "adjacent") else standardised(x) for x in (x1, x2))
    masks = all_swaps(test)
    swapped = {m.tobytes(): value(np.where(m, two, one), y, level, DEFINED[method]) for m in masks}
    null = np.array([swapped[m.tobytes()] - swapped[(~m).tobytes()] for m in masks])
    assert np.isfinite(null).all()
    wanted = (np.abs(null) >= abs(null[0]) - 1e-9).mean()
    options = {"level": level, "method": method, "test": test, "n_resamples": MANY, "rng": 2}
    found = calib.stats.compare(x1.ravel(), x2.ravel(), y.ravel(), **LABELS, **options)
    close(found.estimate, null[0])
    assert abs(found.p_value - wanted) <= slack(wanted, MANY)


@pytest.mark.slow
@each_scale
@each_case
def test_exchanged_scores_are_scores_put_in_each_others_place(method, level, constant, levels):
    one, two, y = small(4, levels=levels)
    two[:, 1] = two[0, 1]
    wanted = [value(np.where(m, two, one), y, level, DEFINED[method], constant) for m in all_swaps("perm-cells")]
    options = {"level": level, "coefficient": method, "constant": constant}
    first, second = (design_of(x.ravel(), y.ravel(), **LABELS, **options)[0] for x in (one, two))
    masks = np.array(all_swaps("perm-cells")).reshape(-1, one.size)
    close(exchanged(first, second, masks), wanted, 1e-11)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")  # some resamples are constant
@pytest.mark.filterwarnings("ignore:unequal_ties")
@each_level
@pytest.mark.parametrize("test", ["boot-systems", "boot-groups", "boot-both"])
@pytest.mark.parametrize("method", ["pearson", "kendall"])
def test_bootstrap_p_value_is_that_of_all_resamples(method, test, level):
    one, two, y = small(11, levels=False)
    resamples, times = zip(*all_resamples(test), strict=True)
    first, second = (
        np.array([value(x[where], y[where], level, DEFINED[method]) for where in resamples]) for x in (one, two)
    )
    null = np.repeat(first - second, times)
    null = null[np.isfinite(null)]
    tail = min((null <= 1e-12).mean(), (null >= -1e-12).mean())
    options = {"level": level, "method": method, "test": test, "n_resamples": MANY, "rng": 3}
    found = calib.stats.compare(one.ravel(), two.ravel(), y.ravel(), **LABELS, **options)
    assert abs(found.p_value - min(1, 2 * tail)) <= 2 * slack(tail, 0.7 * MANY)  # some resamples have no coefficient
