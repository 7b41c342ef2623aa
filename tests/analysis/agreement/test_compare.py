"""Two judges, and many: the jackknife of a difference written out, tests by definition, what a ranking says."""

import dataclasses
import itertools
import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.agreement.compare import CORRECTIONS, TESTS
from calib.analysis.agreement.many_samples import soft_leave_out
from calib.core.numeric import adjusted_p_values
from calib.stats import CalibWarning, agreement, compare, rank_judges

NAN = math.nan
DUST = 1e-12
METHODS = ("pearson", "spearman", "kendall")
LEVELS = ("item", "group", "system")
TESTS_AT = [(t, level) for t in TESTS for level in LEVELS if level == "item" or t not in ("boot-items", "williams")]
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
each_method = pytest.mark.parametrize("method", METHODS)
each_level = pytest.mark.parametrize("level", LEVELS)
each_test = pytest.mark.parametrize(("test", "level"), TESTS_AT)
no_warnings_of_use = pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")


def close(found, wanted, tolerance=1e-10):
    assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


# --- a nasty design ---------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Data:
    """Columns of two judges, of labels and of the factors."""

    x1: np.ndarray
    x2: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    systems: np.ndarray

    def only(self, keep):
        return Data(*(values[keep] for values in self.columns()))

    def columns(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def scores(self):
        return self.x1, self.x2, self.y

    def labels(self):
        return {"groups": self.groups, "systems": self.systems}


def nasty():
    """Unbalanced: 9 groups, 6 systems, empty cells, two items in a cell, gaps in each column, a group of one item,
    a group that is constant in the second judge only, one that is constant in the labels."""
    rng = np.random.default_rng(41)
    cells = [(g, s) for g in range(8) for s in range(6) if rng.random() < 0.9] + [(0, 1), (2, 4), (8, 3)]
    groups, systems = np.array(cells).T
    y = rng.normal(size=len(cells)) + rng.normal(size=6)[systems]
    x1, x2 = y + rng.normal(size=len(y)), y + 2 * rng.normal(size=len(y)) + rng.normal(size=9)[groups]
    x2[groups == 4], y[groups == 6] = 3, 2
    x1[5], x2[11], y[17] = NAN, NAN, NAN
    return Data(x1, x2, y, np.array([f"doc {g}" for g in groups]), np.array([f"sys {s}" for s in systems]))


def varied(values):
    return len(set(values)) > 1


def common(data, level):
    """What both have: items that all three scored; at level group, groups that all three vary in."""
    data = data.only(np.isfinite(data.x1 + data.x2 + data.y))
    if level != "group":
        return data
    good = [g for g in set(data.groups) if all(varied(v[data.groups == g]) for v in data.scores())]
    return data.only(np.isin(data.groups, good))


def coefficient(x, y, method):
    return float(SCIPY[method](x, y).statistic) if varied(x) and varied(y) else NAN


def one_agreement(x, data, level, method):
    """Straight from the definition of the level."""
    if level == "item":
        return coefficient(x, data.y, method)
    if level == "group":
        inside = [coefficient(x[data.groups == g], data.y[data.groups == g], method) for g in np.unique(data.groups)]
        inside = [r for r in inside if math.isfinite(r)]
        return float(np.mean(inside)) if inside else NAN
    members = [data.systems == s for s in np.unique(data.systems)]
    return coefficient([x[m].mean() for m in members], [data.y[m].mean() for m in members], method)


def difference(data, level, method):
    return one_agreement(data.x1, data, level, method) - one_agreement(data.x2, data, level, method)


def jackknife(data, units, level, method):
    deleted = np.array([difference(data.only(units != u), level, method) for u in np.unique(units)])
    deleted = deleted[np.isfinite(deleted)]
    k = len(deleted)
    return (k - 1) / k * np.sum((deleted - deleted.mean()) ** 2), k


# --- the jackknife, written out ---------------------------------------------------------------------------------


@pytest.mark.slow
@no_warnings_of_use
@each_level
@each_method
def test_two_way_jackknife_of_the_difference(level, method):
    data = common(nasty(), level)
    cells = np.array([f"{g} {s}" for g, s in zip(data.groups, data.systems, strict=True)])
    (rows, m), (columns, n), (both, _) = (
        jackknife(data, units, level, method) for units in (data.systems, data.groups, cells)
    )
    wanted = max(rows + columns - both, rows if level == "system" else min(rows, columns))
    found = compare(*nasty().scores(), **nasty().labels(), level=level, method=method)
    close([found.estimate, found.std_error], [difference(data, level, method), math.sqrt(wanted)])
    assert (found.interval_method, found.df) == ("two-way jackknife", min(m, n) - 1)


@no_warnings_of_use
@pytest.mark.parametrize(
    ("level", "factor"),
    [("item", "groups"), ("group", "groups"), ("item", "systems"), ("system", "systems"), ("item", None)],
)
@each_method
def test_one_way_jackknife_of_the_difference(level, factor, method):
    data = common(nasty(), level)
    labels = {factor: getattr(nasty(), factor)} if factor else {}
    units = getattr(data, factor) if factor else np.arange(len(data.y))
    variance, k = jackknife(data, units, level, method)
    found = compare(*nasty().scores(), **labels, level=level, method=method)
    close([found.std_error, found.df], [math.sqrt(variance), k - 1])
    assert found.interval_method == f"{factor[:-1] if factor else 'item'} jackknife"


@no_warnings_of_use
@each_level
@each_method
def test_the_interval_and_the_p_value_say_the_same(level, method):
    options = {**nasty().labels(), "level": level, "method": method}
    p = compare(*nasty().scores(), **options).p_value
    assert 0.001 < p < 0.999
    longer, shorter = (
        compare(*nasty().scores(), **options, confidence_level=c).interval for c in (1 - p + 1e-6, 1 - p - 1e-6)
    )
    assert longer.low < 0 < longer.high
    assert shorter.low > 0 or shorter.high < 0


@no_warnings_of_use
@pytest.mark.parametrize("labelled", [True, False])
@each_level
@pytest.mark.parametrize("method", ["pearson", "spearman", "kappa", "kendall", "pairs"])
def test_the_interval_of_a_difference_is_made_of_those_of_both(labelled, level, method):
    """The least and the largest difference on the ellipse of t standard errors of both, on Fisher's z scale."""
    if not labelled and level != "item":
        return
    labels = nasty().labels() if labelled else {}
    data = common(nasty(), level)
    options = {"level": level, "method": method, "confidence_level": 0.9}
    own = {name: getattr(data, name) for name in labels}
    one, two = (agreement(x, data.y, **own, **options | {"interval": "auto"}) for x in (data.x1, data.x2))
    found = compare(*data.scores(), **own, **options)
    assert (found.first, found.second) == (pytest.approx(one.estimate), pytest.approx(two.estimate))
    t = stats.t.ppf(0.95, found.df)
    if method in ("kendall", "pairs"):
        close(found.interval, [found.estimate - t * found.std_error, found.estimate + t * found.std_error])
        return
    # Fisher's interval for independent Pearson pairs has an error of its own: the jackknife's is taken here
    errors = [one.std_error, two.std_error]
    if not labelled and method == "pearson":
        errors = [jackknife_error(x, data.y) for x in (data.x1, data.x2)]
    r1, r2 = found.first, found.second
    shared = (errors[0] ** 2 + errors[1] ** 2 - found.std_error**2) / (2 * errors[0] * errors[1])
    shared = np.clip(shared, -1, 1)
    e1, e2 = errors[0] / (1 - r1**2), errors[1] / (1 - r2**2)
    turn = np.linspace(0, 2 * np.pi, 200_001)
    second = np.arctanh(r2) + t * e2 * np.cos(turn)
    first = np.arctanh(r1) + t * e1 * (shared * np.cos(turn) + math.sqrt(1 - shared**2) * np.sin(turn))
    apart = np.tanh(first) - np.tanh(second)
    close(found.interval, [apart.min(), apart.max()], 1e-5)


def jackknife_error(x, y):
    deleted = np.array([coefficient(np.delete(x, k), np.delete(y, k), "pearson") for k in range(len(x))])
    return math.sqrt((len(x) - 1) / len(x) * np.sum((deleted - deleted.mean()) ** 2))


@pytest.mark.parametrize("constant", ["skip", "zero"])
def test_counts_of_groups_and_constant_groups_as_zero(constant):
    found = compare(*nasty().scores(), **nasty().labels(), level="group", constant=constant)
    data = common(nasty(), "group" if constant == "skip" else "item")
    assert (found.n, found.n_missing, found.n_systems) == (len(data.y), 3, 6)
    # two constant groups, one of one item
    assert (found.n_groups, found.n_skipped) == ((6, 3) if constant == "skip" else (9, 0))
    for value, x in ((found.first, data.x1), (found.second, data.x2)):
        inside = [coefficient(x[data.groups == g], data.y[data.groups == g], "spearman") for g in set(data.groups)]
        close(value, np.nan_to_num(inside).sum() / found.n_groups)


@each_level
def test_missing_scores_as_zero(level):
    pytest.importorskip("pandas")
    data = nasty()
    filled = np.nan_to_num(data.x1), np.nan_to_num(data.x2), data.y
    found = compare(*data.scores(), **data.labels(), level=level, missing="zero")
    wanted = compare(*filled, **data.labels(), level=level)
    same = {"missing": "drop", "n_missing": 1, "n_missing_first": 0, "n_missing_second": 0}
    assert dataclasses.replace(found, **same).to_frame().equals(wanted.to_frame())
    assert (found.n_missing, wanted.n_missing) == (3, 1)  # a gap of labels is never 0
    assert (found.n_missing_first, found.n_missing_second) == (1, 1)
    assert found.estimate != compare(*data.scores(), **data.labels(), level=level).estimate


# --- every test -------------------------------------------------------------------------------------------------


def options_of(test, level):
    """Williams's test wants Pearson and no repeats."""
    labels = {} if test in ("williams", "boot-items") else nasty().labels()
    return {**labels, "test": test, "level": level, "method": "pearson", "n_resamples": 499, "rng": 5}


@each_test
def test_order_of_judges_scale_and_order_of_rows(test, level):
    options = options_of(test, level)
    x1, x2, y = nasty().scores()
    there, back = compare(x1, x2, y, **options), compare(x2, x1, y, **options)
    close([there.estimate, there.std_error], [-back.estimate, back.std_error])
    close([*there.interval, there.p_value], [-back.interval.high, -back.interval.low, back.p_value], 1e-5)
    assert (there.first, there.ties_first, there.n) == (back.second, back.ties_second, back.n)
    assert there.conclusion == compare(x2, x1, y, names=("second", "first"), **options).conclusion
    scaled = compare(1e6 + 1e-3 * x1, 1e-4 * x2, 50 * y - 1e5, **options)
    numbers = [[one.estimate, one.std_error, *one.interval, one.p_value] for one in (scaled, there)]
    close(*numbers, 1e-6)
    data = nasty().only(np.random.default_rng(0).permutation(len(y)))
    labels = data.labels() if test not in ("williams", "boot-items") else {}
    shuffled = compare(*data.scores(), **options | labels)
    close(shuffled.estimate, there.estimate)
    if test in ("jackknife", "williams"):
        close([shuffled.p_value, *shuffled.interval], [there.p_value, *there.interval])
    else:  # other draws of the same resamples
        assert abs(shuffled.p_value - there.p_value) < 0.15


@each_test
def test_one_seed_one_answer_and_no_judge_differs_from_itself(test, level):
    first, again = (compare(*nasty().scores(), **options_of(test, level)) for _ in range(2))
    assert first == again
    other = compare(*nasty().scores(), **options_of(test, level) | {"rng": 6})
    drawn = test.startswith(("boot", "perm"))
    assert (first != other) == drawn
    assert first.n_resamples == (499 if drawn else 0)
    x, _, y = nasty().scores()
    same = compare(x, x, y, **options_of(test, level))
    assert (same.estimate, same.p_value) == (0, 1)
    assert same.conclusion == "There is no difference between first and second in these data."


@each_test
@pytest.mark.parametrize("blank", [NAN, 3.0])
@pytest.mark.filterwarnings("ignore:items_left_out")
def test_nothing_to_compare_is_nan_and_says_why(test, level, blank):
    x1, x2, y = nasty().scores()
    for scores in ((np.full_like(y, blank), x2, y), (x1, x2, np.full_like(y, blank)), (x1 * NAN, x2 * NAN, y * NAN)):
        found = compare(*scores, **options_of(test, level))
        assert np.isnan([found.estimate, found.p_value, found.std_error, *found.interval]).all()
        assert found.reason
        assert found.conclusion == f"Whether second and first differ cannot be said from these data: {found.reason}."
    if blank == 3:  # a judge that says 3 to all
        one = "there is no group in which both have a coefficient" if level == "group" else "first has no coefficient"
        assert compare(np.full_like(y, 3), x2, y, **options_of(test, level)).reason == one


@pytest.mark.slow
def test_a_clear_difference_is_seen_by_every_test():
    rng = np.random.default_rng(1)
    systems, groups = np.indices((10, 30)).reshape(2, -1)
    y = rng.normal(size=300) + rng.normal(size=10)[systems]
    x1, x2 = y + 0.3 * rng.normal(size=300), rng.normal(size=300)
    for test, level in TESTS_AT:
        labels = {} if test in ("williams", "boot-items") else {"groups": groups, "systems": systems}
        found = compare(
            x1, x2, y, **labels, test=test, level=level, method="pearson", names=("near", "far"), n_resamples=999, rng=0
        )
        assert found.p_value < 0.02, (test, level)
        assert found.conclusion.startswith("near agrees with the labels more than far does (about ")


@pytest.mark.parametrize("test", ["perm-cells", "perm-axes"])
def test_the_scores_as_they_are_count_among_the_exchanges(test):
    systems, groups = np.indices((8, 20)).reshape(2, -1)
    y, far = np.random.default_rng(0).normal(size=(2, 160))
    found = compare(y, far, y, groups=groups, systems=systems, test=test, n_resamples=99, rng=0)
    assert found.p_value == pytest.approx(1 / 100)


# --- bootstraps -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_cluster_bootstrap_is_explicit_resampling_of_unbalanced_groups(level):
    data = nasty()
    data = common(data.only(np.isin(data.groups, ["doc 0", "doc 1", "doc 2", "doc 3"])), level)
    members = [np.flatnonzero(data.groups == g) for g in np.unique(data.groups)]
    values = []
    for drawn in itertools.product(range(4), repeat=4):
        rows = np.concatenate([members[g] for g in drawn])
        names = np.concatenate([np.full(len(members[g]), place) for place, g in enumerate(drawn)])
        again = Data(*(v[rows] for v in data.columns()))
        values.append(difference(dataclasses.replace(again, groups=names), level, "pearson"))
    values = np.array(values)
    found = compare(
        *data.scores(), **data.labels(), level=level, method="pearson", test="boot-groups", confidence_level=0.5, rng=1
    )
    for end, p in zip(found.interval, (0.25, 0.75), strict=True):  # 4.5 standard errors of a share among 9,999
        assert (values < end - 1e-9).mean() <= p + 0.02
        assert (values <= end + 1e-9).mean() >= p - 0.02
    assert abs(found.std_error - values.std()) < 0.05 * values.std()
    assert abs(found.p_value - min(1, 2 * min((values <= 0).mean(), (values >= 0).mean()))) < 0.04


@no_warnings_of_use
@pytest.mark.parametrize(("test", "level"), [(t, level) for t, level in TESTS_AT if t.startswith("boot")])
def test_bootstrap_p_values_invert_the_interval(test, level):
    x1, x2, y = nasty().scores()
    options = {**nasty().labels(), "test": test, "level": level, "method": "pearson", "n_resamples": 1999, "rng": 3}
    p = compare(x1, x2, y, **options).p_value
    assert 0.01 < p < 0.99
    step = 3 / 1000  # three draws in each tail
    longer, shorter = (compare(x1, x2, y, **options, confidence_level=1 - q).interval for q in (p - step, p + step))
    assert longer.low <= DUST
    assert longer.high >= -DUST
    assert shorter.low >= -DUST or shorter.high <= DUST


def test_ends_of_a_bootstrap_interval_are_free_of_dust():
    options = {**nasty().labels(), "level": "system", "method": "pearson", "n_resamples": 1999, "rng": 3}
    for test in ("boot-both", "boot-systems"):
        p = compare(*nasty().scores(), **options, test=test).p_value
        found = compare(*nasty().scores(), **options, test=test, confidence_level=1 - p + 0.003)
        assert all(end == 0 or abs(end) > DUST for end in found.interval)


@pytest.mark.parametrize("test", ["boot-groups", "boot-systems", "boot-both"])
def test_a_single_group_or_system_says_nothing_about_others(test):
    x1, x2, y = nasty().scores()
    found = compare(x1, x2, y, groups=np.zeros(len(y)), systems=np.zeros(len(y)), test=test, n_resamples=99)
    assert math.isnan(found.p_value)
    assert math.isnan(found.interval.low)


# --- Williams ---------------------------------------------------------------------------------------------------


def with_correlations(r1, r2, r12, n):
    """Three columns with exactly these correlations: x1, x2, y."""
    wanted = np.array([[1, r12, r1], [r12, 1, r2], [r1, r2, 1]])
    raw = np.random.default_rng(0).normal(size=(n, 3))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw.T)).T)
    return (white @ np.linalg.cholesky(wanted).T).T


@pytest.mark.parametrize(
    ("r1", "r2", "r12", "n", "p"),
    [
        # R psych, r.test, two-tailed, as in the tests of nlpstats 0.0.1, which has the correlations to four digits
        (0.2858, 0.1595, 0.0266, 45, 0.5433956),
        (0.05, 0.10, 0.05, 9, 0.9317423),
    ],
)
def test_williams(r1, r2, r12, n, p):
    """The matrix of correlations and its determinant in full."""
    columns = with_correlations(r1, r2, r12, n)
    determinant = np.linalg.det(np.corrcoef(columns))
    t = (r1 - r2) * math.sqrt(
        (n - 1) * (1 + r12) / (2 * determinant * (n - 1) / (n - 3) + ((r1 + r2) / 2) ** 2 * (1 - r12) ** 3)
    )
    found = compare(*columns, method="pearson", test="williams")
    close(found.p_value, 2 * stats.t.sf(abs(t), n - 3))
    assert found.p_value == pytest.approx(p, abs=2e-4)
    assert found.interval_method == "item jackknife"


def test_williams_of_signs_of_independent_items_of_two_scales_and_of_three_items():
    """With |r| the first two would be equal, and p 1."""
    assert compare(*with_correlations(-0.5, 0.5, 0.0, 30), method="pearson", test="williams").p_value < 0.01
    rng = np.random.default_rng(7)
    for _ in range(5):  # of independent items it is nearly the jackknife
        y = rng.normal(size=600)
        x1, x2 = y + rng.normal(size=600), y + 1.2 * rng.normal(size=600)
        one, other = (compare(x1, x2, y, method="pearson", test=t).p_value for t in ("williams", "jackknife"))
        assert one == pytest.approx(other, rel=0.35, abs=0.02)
    for seed in (2, 4, 22):  # one judge on two scales
        y, noise = np.random.default_rng(seed).normal(size=(2, 8))
        found = compare(y + noise, 3 * (y + noise) + 0.1, y, method="pearson", test="williams")
        assert not found.p_value < 0.5
    assert math.isnan(compare([1, 2, 3], [2, 1, 3], [1, 2, 4], method="pearson", test="williams").p_value)


@pytest.mark.parametrize(
    ("labels", "name"),
    [({"groups": 5}, "groups"), ({"systems": 10}, "systems"), ({"groups": 4, "systems": 8}, "groups")],
)
def test_williams_is_refused_where_items_are_not_independent(labels, name):
    x1, x2, y = np.random.default_rng(0).normal(size=(3, 40))
    options = {key: np.arange(40) % k for key, k in labels.items()}
    said = message(compare, x1, x2, y, **options, method="pearson", test="williams")
    assert said == f"`test` 'williams' takes items as independent: 'jackknife' is for items that share `{name}`."


def test_williams_is_for_groups_of_one_and_for_systems_that_are_fixed():
    x1, x2, y = np.random.default_rng(0).normal(size=(3, 40))
    alone = compare(x1, x2, y, method="pearson", test="williams")
    for labels in ({"groups": np.arange(40)}, {"systems": np.arange(40) % 4}):
        found = compare(x1, x2, y, **labels, method="pearson", test="williams")
        assert found.p_value == alone.p_value
        assert "new systems" not in found.generalises_to


@pytest.mark.slow
def test_williams_among_groups_finds_what_is_not_there():
    """Why it is refused: two judges that favour some systems, each in its own way, agree equally well."""
    systems, groups = np.indices((8, 30)).reshape(2, -1)
    rejected = {"independent": 0, "jackknife": 0}
    for i in range(300):
        rng = np.random.default_rng([7, i])
        y = rng.normal(size=240) + rng.normal(size=8)[systems]
        x1, x2 = (y + 0.8 * rng.normal(size=8)[systems] + rng.normal(size=240) for _ in range(2))
        rejected["independent"] += compare(x1, x2, y, method="pearson", test="williams").p_value <= 0.05
        labels = {"groups": groups, "systems": systems}
        rejected["jackknife"] += compare(x1, x2, y, **labels, method="pearson").p_value <= 0.05
    assert rejected["independent"] > 0.2 * 300
    assert stats.binomtest(rejected["jackknife"], 300, 0.05).pvalue > 0.001, rejected


# --- few systems ------------------------------------------------------------------------------------------------


def two_systems(n=40, seed=0):
    rng = np.random.default_rng(seed)
    systems, groups = np.indices((2, n)).reshape(2, -1)
    y = rng.normal(size=2 * n)
    x1, x2 = y + 0.7 * rng.normal(size=2 * n), y + 2 * rng.normal(size=2 * n)
    return (x1, x2, y), {"groups": groups, "systems": systems}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", ["item", "group"])
def test_two_systems_are_compared_on_new_groups(level, method):
    scores, labels = two_systems()
    found = compare(*scores, **labels, level=level, method=method)
    assert (found.generalises_to, found.systems_are, found.reason) == ("new groups, these systems", "fixed", "")
    assert "these 2 systems" in str(found)
    assert "|systems-are:fixed|" in found.signature
    alone = compare(*scores, groups=labels["groups"], level=level, method=method)
    assert (found.interval, found.p_value) == (alone.interval, alone.p_value)
    random = compare(*scores, **labels, level=level, method=method, systems_are="random")
    if level == "item":
        assert random.interval.high - random.interval.low > 2 * (found.interval.high - found.interval.low)
    else:
        assert math.isnan(random.p_value)
        assert random.conclusion.endswith("without one of 2 systems nothing is left to correlate; take them as fixed.")


def test_few_fixed_systems_have_no_jackknife_of_their_order_and_are_not_drawn():
    scores, labels = two_systems()
    found = compare(*scores, **labels, level="system")
    assert math.isnan(found.interval.low)
    assert found.reason
    said = message(compare, *scores, **labels, test="boot-both", systems_are="fixed")
    assert said == "`test` 'boot-both' draws systems, so `systems_are` must not be 'fixed'."


# --- warnings and refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unread", "said"), [(188, True), (11, True), (10, False), (0, False)])
@pytest.mark.parametrize("place", [0, 1])
def test_what_each_judge_left_unread_is_said(unread, said, place):
    pytest.importorskip("pandas")  # to_frame
    rng = np.random.default_rng(3)
    y = rng.normal(size=200)
    scores = [y + rng.normal(size=200) for _ in range(2)]
    scores[place][:unread] = NAN
    if said:
        name = ("one", "two")[place]
        with pytest.warns(CalibWarning, match=f"{name} has no score for {unread} of 200 labelled items$"):
            found = compare(*scores, y, names=("one", "two"))
        assert name in found.warnings[0]
    else:
        found = compare(*scores, y, names=("one", "two"))
        assert not found.warnings
    counts = [0, 0]
    counts[place] = unread
    assert [found.n_missing_first, found.n_missing_second] == counts
    assert (found.n, found.n_missing) == (200 - unread, unread)
    assert f"n = {200 - unread}" in str(found)
    row = found.to_frame().iloc[0]
    assert [row["n_missing_first"], row["n_missing_second"]] == counts


def test_gaps_of_people_are_no_gaps_of_a_judge():
    x1, x2, y = np.random.default_rng(3).normal(size=(3, 60))
    y[:30], x1[:20] = NAN, NAN
    found = compare(x1, x2, y)
    assert (found.n_missing, found.n_missing_first, found.n_missing_second) == (30, 0, 0)
    assert not found.warnings


def test_a_difference_of_exactly_0():
    rng = np.random.default_rng(4)
    y = rng.normal(size=50)
    x = y + rng.normal(size=50)
    for other in (x, 2 * x + 1, np.exp(x)):  # the same order
        found = compare(x, other, y)
        assert (found.estimate, found.p_value) == (0, 1)
        assert found.conclusion == "There is no difference between first and second in these data."
    # equal agreement of judges that are not alike is no certainty: the interval stays
    a, b, y = [1, 2, 3, 4, 6, 5, 7, 8], [2, 1, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8]
    found = compare(a, b, y)
    assert found.estimate == 0
    assert found.interval.low < 0 < found.interval.high
    assert found.conclusion == "There is no difference between first and second in these data."


def test_a_reversed_scale_is_hinted_at():
    rng = np.random.default_rng(5)
    y = rng.normal(size=60)
    x = y + rng.normal(size=60)
    found = compare(x, -x, y, names=("up", "down"))
    assert any(text.startswith("negative_agreement: down -0.") for text in found.warnings)
    assert not compare(x, y, y).warnings
    ranked = rank_judges({"up": x, "down": -x, "also": y + rng.normal(size=60)}, y)
    assert sum("run the other way" in text for text in ranked.warnings) >= 1


def test_tau_b_warns_of_unlike_ties():
    rng = np.random.default_rng(2)
    y, fine = rng.normal(size=(2, 80))
    coarse = np.round(y)
    with pytest.warns(
        CalibWarning, match="coarse ties .* of the pairs, fine 0 %; tau-b favours the one that ties more"
    ):
        found = compare(coarse, fine, y, method="kendall", names=("coarse", "fine"))
    assert len(found.warnings) == 1
    with pytest.warns(CalibWarning, match="coarse ties"):
        compare(fine, coarse, y, method="kendall", names=("fine", "coarse"))
    # twice as many tied pairs, and not one in twenty, are no reason
    less = np.round(1.6 * y)
    ratio = compare(coarse, less, y, method="spearman")
    assert 1 < ratio.ties_first / ratio.ties_second < 2
    assert not compare(coarse, less, y, method="kendall").warnings
    more = np.round(3 * y)
    ratio = compare(coarse, more, y, method="spearman")
    assert 2 < ratio.ties_first / ratio.ties_second < 5
    with pytest.warns(CalibWarning, match="first ties"):
        compare(coarse, more, y, method="kendall")
    rare = compare(np.round(30 * y), fine, y, method="kendall")
    assert 0 < rare.ties_first < 0.05
    assert not rare.warnings
    for method in ("spearman", "kendall_a", "pairs"):
        assert not compare(coarse, fine, y, method=method).warnings
    assert not compare(fine, y, y, method="kendall").warnings


def test_a_bootstrap_of_items_that_repeat_warns():
    with pytest.warns(CalibWarning, match="boot-items takes"):
        found = compare(*nasty().scores(), **nasty().labels(), method="pearson", test="boot-items", n_resamples=99)
    assert found.warnings[0].startswith("repeated_groups: boot-items takes")
    alone = compare(*nasty().scores(), groups=np.arange(len(nasty().y)), test="boot-items", n_resamples=9)
    assert not alone.warnings


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"test": "t"}, "`test` must be one of 'auto', 'jackknife'"),
        ({"method": "rho"}, "`method` must be one of"),
        ({"level": "summary"}, "`level` must be one of"),
        ({"constant": "one"}, "`constant` must be one of"),
        ({"missing": "mean"}, "`missing` must be one of"),
        ({"confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
        ({"n_resamples": 0}, "`n_resamples` must be a whole number"),
        ({"level": "group"}, "`groups` must be given for level 'group'"),
        ({"level": "system"}, "`systems` must be given for level 'system'"),
        ({"test": "boot-groups"}, "`groups` must be given for 'boot-groups'"),
        ({"test": "boot-both", "groups": "g"}, "`systems` must be given for 'boot-both'"),
        ({"test": "boot-systems", "groups": "g"}, "`systems` must be given for 'boot-systems'"),
        ({"test": "perm-axes", "groups": "g"}, "`systems` must be given for 'perm-axes'"),
        ({"test": "perm-axes", "systems": "g"}, "`groups` must be given for 'perm-axes'"),
        ({"test": "williams"}, "`test` 'williams' must go with level 'item' and method 'pearson'"),
        ({"test": "williams", "level": "group", "groups": "g", "method": "pearson"}, "`test` 'williams' must go with"),
        ({"test": "boot-items", "level": "group", "groups": "g"}, "'boot-items' must go with level 'item'"),
        ({"test": "perm-cells", "method": "spa", "level": "system", "groups": "g", "systems": "g"}, "another method"),
        ({"method": "spa", "level": "group", "groups": "g"}, "`method` 'spa' must go with level 'system'"),
        ({"method": "exact", "level": "system", "systems": "g"}, "compares single scores"),
    ],
)
def test_refusals(options, says):
    rng = np.random.default_rng(0)
    labels = {name: np.arange(12) % 4 if value == "g" else value for name, value in options.items()}
    if "systems" in labels and "groups" in labels:
        labels["systems"] = np.arange(12) // 4
    assert says in message(compare, *rng.normal(size=(3, 12)), **labels)


@pytest.mark.parametrize(("place", "name"), [(0, "x1"), (1, "x2"), (2, "y")])
def test_messages_name_the_argument(place, name):
    scores = [np.arange(4.0) for _ in range(3)]
    scores[place] = ["a", "b", "c", "d"]
    assert message(compare, *scores).startswith(f"`{name}` must be numeric")
    scores[place] = np.ones((2, 2))
    assert message(compare, *scores).startswith(f"`{name}` must have 1 dimension")
    scores[place] = [1, 2, 3, math.inf]
    assert message(compare, *scores).startswith(f"`{name}` must be finite")
    scores[place] = [1, 2, 3]
    assert "length" in message(compare, *scores)


def test_the_default_is_the_jackknife():
    found, auto, named = (
        compare(*nasty().scores(), **nasty().labels(), **test) for test in ({}, {"test": "auto"}, {"test": "jackknife"})
    )
    assert found == auto == named


def test_every_option_changes_the_answer():
    pytest.importorskip("pandas")
    data = nasty()
    base = {**data.labels(), "level": "group", "test": "jackknife"}
    changes = [
        {"level": "item"},
        {"level": "system"},
        {"method": "pearson"},
        {"method": "gamma"},
        {"constant": "zero"},
        {"missing": "zero"},
        {"confidence_level": 0.9},
        {"groups": data.groups[::-1]},
        {"systems": None},
        *({"test": t, "n_resamples": 199, "rng": 0} for t in TESTS if t not in ("jackknife", "williams", "boot-items")),
    ]
    frames = [compare(*data.scores(), **base | change).to_frame().to_csv() for change in [{}, *changes]]
    assert len(set(frames)) == len(frames)


# --- shapes of data ---------------------------------------------------------------------------------------------


def test_lists_integers_masked_arrays_and_odd_indexes_are_read_alike():
    pd = pytest.importorskip("pandas")
    x1, x2, y = [3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8], [1, 1, 2, 3, 5, 8, 13, 21]
    groups, systems = list("aabbccdd"), [1, 2] * 4
    wanted = compare(x1, x2, y, groups=groups, systems=systems)
    index = [9, 9, "a", None, 3.5, -1, 0, 2]
    forms = [
        [pd.Series(v, index=index) for v in (x1, x2, y, groups, systems)],
        [np.ma.masked_array(v) for v in (x1, x2, y)] + [pd.Categorical(groups), np.array(systems)],
        [np.array(v, dtype=np.int8) for v in (x1, x2, y)] + [tuple(groups), pd.Series(systems, dtype="Int64")],
    ]
    for a, b, c, g, s in forms:
        assert compare(a, b, c, groups=g, systems=s) == wanted
    masked = np.ma.masked_array(x1, mask=[1, 0, 0, 0, 0, 0, 0, 0])
    with pytest.warns(CalibWarning, match="first has no score for 1 of 8"):
        assert compare(masked, x2, y) == compare([NAN, *x1[1:]], x2, y)


@each_level
@each_method
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 2), (2, 6), (6, 2)])
@pytest.mark.parametrize("systems_are", ["auto", "random"])
def test_small_designs_are_no_crash(level, method, shape, systems_are):
    pytest.importorskip("pandas")
    systems, groups = np.indices(shape).reshape(2, -1)
    x1, x2, y = np.random.default_rng(3).normal(size=(3, systems.size))
    options = {"groups": groups, "systems": systems, "level": level, "method": method, "systems_are": systems_are}
    if level == "group" and shape[1] == 1:
        assert "`groups` must hold two groups or more" in message(compare, x1, x2, y, **options)
        return
    found = compare(x1, x2, y, **options)
    low, high = found.interval
    assert math.isnan(low) == math.isnan(high)
    assert math.isnan(low) or low <= found.estimate <= high
    if shape[0] < 2 and level == "system":
        assert math.isnan(found.estimate)
    str(found), found.signature, found.conclusion, found._repr_html_()


def test_the_input_is_left_as_it_was():
    data = nasty()
    compare(*data.scores(), **data.labels(), missing="zero", test="perm-axes", n_resamples=9)
    for after, before in zip(data.columns(), nasty().columns(), strict=True):
        assert list(map(str, after)) == list(map(str, before))


# --- soft pairwise accuracy -------------------------------------------------------------------------------------


def soft_p(scores, i, j):
    """One-sided p over all exchanges of two systems in the groups that both have, equal sums by half."""
    apart = scores[i] - scores[j]
    apart = apart[np.isfinite(apart)]
    flipped = [
        round(float(np.dot(signs, apart) - apart.sum()), 9) for signs in itertools.product([1, -1], repeat=len(apart))
    ]
    return (np.mean([f > 0 for f in flipped]) + np.mean([f >= 0 for f in flipped])) / 2


def soft_accuracy(x, y):
    pairs = list(itertools.combinations(range(len(x)), 2))
    return 1 - float(np.mean([abs(soft_p(x, i, j) - soft_p(y, i, j)) for i, j in pairs])) if pairs else NAN


def soft_tables(*, gaps=False, rounded=True):
    rng = np.random.default_rng(9)
    y = rng.integers(1, 6, (4, 6)).astype(float)
    x = y + rng.normal(0, 1.5, y.shape)
    x = np.round(x) if rounded else x
    if gaps:
        x[0, 1] = x[2, 5] = x[2, 1] = NAN
        y[np.isnan(x)] = NAN
    return x, y


def without(table, rows=(), columns=(), cells=()):
    out = table.copy()
    for cell in cells:
        out[cell] = NAN
    return np.delete(np.delete(out, rows, axis=0), columns, axis=1)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_soft_accuracy_and_its_jackknife(gaps, rounded):
    x, y = soft_tables(gaps=gaps, rounded=rounded)
    systems, groups = np.indices(x.shape).reshape(2, -1)
    labels = {"groups": groups, "systems": systems, "systems_are": "random"}
    found = agreement(x.ravel(), y.ravel(), **labels, level="system", method="spa")
    close(found.estimate, soft_accuracy(x, y))
    cells = list(zip(*np.nonzero(np.isfinite(x)), strict=True))
    parts = [
        [soft_accuracy(*(without(v, rows=[i]) for v in (x, y))) for i in range(4)],
        [soft_accuracy(*(without(v, columns=[j]) for v in (x, y))) for j in range(6)],
        [soft_accuracy(*(without(v, cells=[c]) for v in (x, y))) for c in cells],
    ]
    for values, wanted in zip(soft_leave_out(x, y), parts, strict=True):
        close(values, wanted)
    rows, columns, both = ((len(p) - 1) / len(p) * np.sum((np.array(p) - np.mean(p)) ** 2) for p in parts)
    close(found.std_error**2, max(rows + columns - both, rows))
    assert found.interval.high <= 1
    assert math.isnan(found.p_value)


def test_soft_accuracy_of_shuffled_rows_and_of_two_judges():
    x, y = (v.ravel() for v in soft_tables(gaps=True))
    systems, groups = np.indices((4, 6)).reshape(2, -1)
    options, values = {"level": "system", "method": "spa"}, []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(24)
        labels = {"groups": groups[order], "systems": systems[order]}
        values.append(agreement(x[order], y[order], **labels, **options).estimate)
    close(values, values[0])
    x, y = soft_tables()
    found = compare(y.ravel(), x.ravel(), y.ravel(), groups=groups, systems=systems, **options)
    close([found.first, found.second], [1, soft_accuracy(x, y)])


# --- how a result shows itself ----------------------------------------------------------------------------------


def test_a_comparison_shows_itself():
    pytest.importorskip("pandas")
    names = ("<b>one</b>", "deux|x\n")
    found = compare(*nasty().scores(), **nasty().labels(), level="group", names=names)
    assert str(found).startswith("Spearman rho within groups: <b>one</b> ")
    assert "<b>one" not in found._repr_html_()
    assert "deux" not in found.signature
    assert found.signature.startswith("spearman|difference|level:group|test:jackknife|ci:two-way-jackknife|cl:0.95|")
    assert "|constant:skip|skipped:3|" in found.signature
    assert "missing-as-zero" not in found.signature
    assert "missing-as-zero" in compare(*nasty().scores(), missing="zero").signature
    row = found.to_frame().iloc[0]
    assert (row["first"], row["second"], row["estimate"]) == (*names, found.estimate)
    assert list(row.index) == list(dict.fromkeys(row.index))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.estimate = 1.0
    assert pickle.loads(pickle.dumps(found)) == found


# --- how often the interval holds the truth ---------------------------------------------------------------------


def quality(rng, people, noise, shared):
    """A judge that sees people's system, group and cell effects through noise, part of which both judges share."""
    return sum(h + noise * (0.5 * s + rng.normal(size=h.shape)) for h, s in zip(people, shared, strict=True))


def simulated(seed, shape, noises, sets=400, **options):
    """Estimate, interval and p-value of each set; systems and groups are drawn anew."""
    systems, groups = np.indices(shape).reshape(2, -1)
    rows = []
    for i in range(sets):
        rng = np.random.default_rng([seed, i])
        people, shared = (
            [sd * rng.normal(size=s) for sd, s in ((0.5, (shape[0], 1)), (0.5, (1, shape[1])), (1, shape))]
            for _ in range(2)
        )
        x1, x2 = (quality(rng, people, noise, shared).ravel() for noise in noises)
        y = sum(people).ravel()
        found = compare(x1, x2, y, groups=groups, systems=systems, **options)
        rows.append((found.estimate, *found.interval, found.p_value))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "method", "power"),
    [
        ("group", "spearman", 0.5), ("group", "kendall", 0.5), ("item", "pearson", 0.5), ("item", "spearman", 0.5),
        ("system", "pearson", 0.07),
    ],
)  # fmt: skip
def test_the_interval_of_a_difference_holds_its_level(level, method, power):
    estimate, low, high, _ = simulated(0, (16, 30), (1.0, 2.0), level=level, method=method).T
    held = int(((low <= estimate.mean()) & (estimate.mean() <= high)).sum())
    assert stats.binomtest(held, len(low), 0.95).pvalue > 0.001, held
    assert (low > 0).mean() > power  # and it sees the difference


@pytest.mark.slow
@pytest.mark.parametrize(("level", "method"), [("group", "kendall"), ("item", "pearson"), ("system", "pearson")])
def test_like_judges_are_told_apart_in_five_of_a_hundred_sets(level, method):
    rejected = int((simulated(1, (12, 30), (1.5, 1.5), level=level, method=method)[:, 3] <= 0.05).sum())
    assert stats.binomtest(rejected, 400, 0.05).pvalue > 0.001, rejected


@pytest.mark.slow
@pytest.mark.parametrize("test", ["perm-cells", "perm-axes"])
def test_permutation_tests_hold_their_level_where_scores_may_be_exchanged(test):
    """The judges' errors are those of single scores."""
    systems, groups = np.indices((6, 12)).reshape(2, -1)
    rejected = 0
    for i in range(300):
        rng = np.random.default_rng([2, i])
        y = rng.normal(size=72) + 0.5 * rng.normal(size=6)[systems]
        x1, x2 = y + 1.5 * rng.normal(size=(2, 72))
        options = {"level": "group", "method": "pearson", "n_resamples": 99, "rng": i}
        rejected += compare(x1, x2, y, groups=groups, systems=systems, test=test, **options).p_value <= 0.05
    assert stats.binomtest(rejected, 300, 0.05).pvalue > 0.001, rejected


@pytest.mark.slow
@pytest.mark.parametrize("test", ["perm-cells", "perm-axes"])
def test_permutation_tests_say_nothing_about_other_systems(test):
    """Like judges that each favour some systems: told apart far too often, by whole axes too."""
    rows = simulated(2, (6, 12), (1.5, 1.5), sets=300, level="group", method="pearson", test=test, n_resamples=99)
    assert (rows[:, 3] <= 0.05).mean() > 0.09


# --- many judges ------------------------------------------------------------------------------------------------


def panel(k, n=240, seed=0):
    """k judges of falling quality."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return {f"judge {i}": y + (0.4 + 0.35 * i) * rng.normal(size=n) for i in range(k)}, y


P_VALUES = [[0.01, 0.04, 0.03], [0.5], [0.2, 0.2, 0.01, 0.9, 0.9], [0.0, 1.0, 0.04, 0.04, 0.04, 0.011], []]


@pytest.mark.slow
@pytest.mark.parametrize("p_values", P_VALUES)
@pytest.mark.parametrize(("correction", "name"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_are_those_of_statsmodels(p_values, correction, name):
    peer = pytest.importorskip("statsmodels.stats.multitest")
    wanted = peer.multipletests(p_values, method=name)[1] if p_values else []
    close(adjusted_p_values(p_values, correction), wanted, 1e-15)
    gaps = adjusted_p_values([NAN, *p_values, NAN], correction)  # a test that is not defined is no test
    assert np.isnan(gaps[[0, -1]]).all()
    close(gaps[1:-1], wanted, 1e-15)


def test_corrections_by_hand():
    assert adjusted_p_values([0.01, 0.04, 0.03, 0.5], "holm").tolist() == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert adjusted_p_values([0.01, 0.04, 0.03, 0.5], "bh").tolist() == pytest.approx(
        [0.04, 0.04 * 4 / 3, 0.04 * 4 / 3, 0.5]
    )
    assert adjusted_p_values([0.01, 0.04], "none").tolist() == [0.01, 0.04]


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5, 12])
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_ranking_is_made_of_its_parts(k, correction):
    judges, y = panel(k)
    shuffled = dict(sorted(judges.items(), key=lambda item: hash(item[1].tobytes())))
    found = rank_judges(shuffled, y, correction=correction)
    alone = {name: agreement(x, y) for name, x in judges.items()}
    assert list(found.names) == sorted(judges, key=lambda name: -alone[name].estimate)
    assert [a.estimate for a in found.agreements] == sorted((a.estimate for a in alone.values()), reverse=True)
    pairs = list(itertools.combinations(range(k), 2))
    raw = []
    for (i, j), pair in zip(pairs, found.comparisons, strict=True):
        assert pair.names == (found.names[i], found.names[j])
        wanted = compare(judges[found.names[i]], judges[found.names[j]], y, names=pair.names)
        assert pair == wanted
        raw.append(wanted.p_value)
    wanted = adjusted_p_values(raw, correction)
    for (i, j), p in zip(pairs, wanted, strict=True):
        assert found.p_values[i, j] == found.p_values[j, i] == p
        assert found.distinct[i, j] == found.distinct[j, i] == (p <= 0.05)
    assert np.isnan(np.diag(found.p_values)).all()
    assert not np.diag(found.distinct).any()


@pytest.mark.parametrize("k", [2, 5, 12])
def test_clusters_hold_what_they_say(k):
    judges, y = panel(k, seed=3)
    found = rank_judges(judges, y)
    numbers = np.array(found.clusters)
    assert numbers[0] == 1
    assert set(np.diff(numbers)) <= {0, 1}
    apart = numbers[:, None] != numbers[None, :]
    assert found.distinct[apart].all()
    for cut in range(1, k):  # and no cut was left out
        if found.distinct[:cut, cut:].all():
            assert numbers[cut] > numbers[cut - 1]


def test_clusters_and_sentence_of_known_p_values():
    judges, y = panel(4)
    found = rank_judges(judges, y)
    apart = np.ones((4, 4), dtype=bool) ^ np.eye(4, dtype=bool)
    apart[1, 2] = apart[2, 1] = False
    said = dataclasses.replace(found, distinct=apart)
    assert said.like(1) == ["judge 2"]
    assert said.conclusion == "judge 0 is ahead of all others; 5 of 6 pairs differ (Holm)."
    apart[0, 3] = apart[3, 0] = False
    said = dataclasses.replace(found, distinct=apart, correction="bh")
    assert said.conclusion == "judge 0 does not differ clearly from judge 3; 4 of 6 pairs differ (Benjamini-Hochberg)."


def test_equal_judges_and_judges_without_a_coefficient():
    pytest.importorskip("pandas")  # to_frame
    judges, y = panel(2)
    judges |= {"twin": judges["judge 0"], "constant": np.ones_like(y)}
    found = rank_judges(judges, y)
    assert found.names == ("judge 0", "twin", "judge 1", "constant")  # ties in the order given
    assert np.isnan([a.estimate for a in found.agreements]).tolist() == [False] * 3 + [True]
    assert np.isnan(found.p_values[3:]).all()
    assert not found.distinct[3:].any()
    assert found.p_values[0, 1] == 1
    assert found.conclusion == (
        "judge 0 does not differ clearly from twin; 2 of 3 pairs differ (Holm); constant has no coefficient."
    )
    assert found.clusters == (1, 1, 2, 0)
    assert found.like(0) == ["twin"]
    assert found.like(3) == []
    assert not any("constant" in text for text in found.to_frame()["not_distinguishable"])
    # three tests: of the twins, and of one judge with each of them
    p = found.comparisons[1].p_value
    assert found.p_values[0, 2] == pytest.approx(min(1, 3 * p))


@pytest.mark.parametrize("flat", [{"flat": 2.0}, {"flat": 2.0, "also flat": 5.0}])
@pytest.mark.parametrize("level", ["item", "group"])
def test_a_constant_judge_changes_nothing_for_the_others(flat, level):
    judges, y = panel(3)
    options = {"groups": np.repeat(np.arange(60), 4), "level": level}
    alone = rank_judges(judges, y, **options)
    more = rank_judges({name: np.full_like(y, value) for name, value in flat.items()} | judges, y, **options)
    assert more.names == (*alone.names, *flat)
    assert more.clusters == (*alone.clusters, *[0] * len(flat))
    assert (more.p_values[:3, :3] == alone.p_values)[np.triu_indices(3, 1)].all()
    verb = "has" if len(flat) == 1 else "have"
    assert more.conclusion == f"{alone.conclusion[:-1]}; {', '.join(flat)} {verb} no coefficient."


def test_no_judge_has_a_coefficient():
    found = rank_judges({"a": np.ones(5), "b": np.zeros(5)}, np.arange(5.0))
    assert found.names == ("a", "b")
    assert found.clusters == (0, 0)
    assert found.conclusion == "There are not two judges to compare; a, b have no coefficient."


def test_a_ranking_does_not_contradict_its_tests():
    rng = np.random.default_rng(1)
    y = rng.normal(size=400) * np.repeat([3, 1], 200)
    noise = rng.normal(size=(2, 400))
    easy, whole = y + 1.5 * noise[0], y + 1.2 * noise[1]
    easy[200:] = NAN  # this judge scored the easy half only
    assert agreement(easy, y, method="pearson").estimate > agreement(whole, y, method="pearson").estimate
    with pytest.warns(CalibWarning, match="200 of 400 items are left out .* no score there .easy for 200."):
        found = rank_judges({"easy": easy, "whole": whole}, y, method="pearson")
    assert found.comparisons[0].names == found.names == ("whole", "easy")
    assert found.comparisons[0].p_value < 0.05
    assert found.conclusion.startswith("whole is ahead of all others.")
    assert found.clusters == (1, 2)


def test_a_ranking_is_that_of_the_items_that_all_scored():
    judges, y = panel(3)
    judges["judge 0"][:50] = NAN
    judges["judge 2"][200:] = NAN
    y[100:110] = NAN
    with pytest.warns(CalibWarning, match="90 of 230 items are left out"):
        found = rank_judges(judges, y)
    kept = slice(50, 200)
    wanted = rank_judges({name: x[kept] for name, x in judges.items()}, y[kept])
    assert (found.n_missing, found.n_missing_alone) == (90, (50, 0, 40))
    assert "(judge 0 for 50)" in found.warnings[0]
    assert [a.estimate for a in found.agreements] == [a.estimate for a in wanted.agreements]
    assert (found.p_values == wanted.p_values)[np.triu_indices(3, 1)].all()


@pytest.mark.parametrize("names", [(1, 0), ("y", "x")])
def test_judges_may_have_any_name(names):
    judges, y = panel(2)
    found = rank_judges(dict(zip(names, judges.values(), strict=True)), y)
    assert found.conclusion.startswith(f"{names[0]} is ahead of all others")


def test_options_of_a_ranking_are_handed_on():
    pytest.importorskip("pandas")
    data = nasty()
    judges = {"a": data.x1, "b": data.x2}
    options = {**data.labels(), "level": "group", "method": "pearson", "constant": "zero", "missing": "zero"}
    options |= {"confidence_level": 0.8}
    options |= {"test": "boot-groups", "n_resamples": 99}
    found = rank_judges(judges, data.y, **options, rng=4)
    pair = [judges[name] for name in found.names]
    wanted = compare(*pair, data.y, **options, names=found.names, rng=np.random.default_rng(4))
    assert found.comparisons == (wanted,)
    alone = {name: value for name, value in options.items() if name not in ("test", "n_resamples")}
    assert found.agreements[0].to_frame().equals(agreement(pair[0], data.y, **alone).to_frame())
    assert (found.level, found.method, found.test, found.confidence_level) == ("group", "pearson", "boot-groups", 0.8)


def test_warnings_of_a_ranking_are_kept_once():
    data = nasty()
    with pytest.warns(CalibWarning, match="boot-items"):
        found = rank_judges(
            {"a": data.x1, "b": data.x2, "c": data.y}, data.y, **data.labels(), test="boot-items", n_resamples=9
        )
    assert len(found.warnings) == 1


TWO = {"a": [1, 2, 3], "b": [1, 2, 3]}


@pytest.mark.parametrize(
    ("judges", "options", "says"),
    [
        ({}, {}, "`judges` must hold two judges or more, but got 0."),
        ({"a": [1, 2, 3]}, {}, "but got 1."),
        (TWO, {"correction": "bonferroni"}, "`correction` must be one of 'holm', 'bh', 'none'"),
        ({"a": [1, 2, 3], "b": [1, 2]}, {}, "length"),
        (TWO, {"level": "group"}, "`groups` must be given"),
        (TWO | {"empty": [NAN] * 3}, {}, "`judges['empty']` must have a score, but all are missing."),
        ({1: [1, 2, 3], "1": [1, 2, 3]}, {}, "names that differ as text"),
    ],
)
def test_refusals_of_a_ranking(judges, options, says):
    assert says in message(rank_judges, judges, [1, 2, 4], **options)


def test_a_ranking_shows_itself():
    pytest.importorskip("pandas")
    judges, y = panel(3)
    judges = {"<i>a</i>": judges["judge 0"], "b, c": judges["judge 1"], "d": judges["judge 2"]}
    found = rank_judges(judges, y, groups=np.repeat(np.arange(60), 4), level="group")
    frame = found.to_frame()
    assert list(frame["judge"]) == list(found.names)
    assert list(frame["cluster"]) == list(found.clusters)
    assert frame["estimate"].tolist() == [a.estimate for a in found.agreements]
    assert "<i>a" not in found._repr_html_()
    assert found.signature.startswith("spearman|ranking|level:group|judges:3|test:jackknife|correction:holm|cl:0.95")
    assert str(found).startswith("Spearman rho within groups: <i>a</i> ")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.names = ()
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.distinct.tolist() == found.distinct.tolist()


@pytest.mark.parametrize(
    "change", [{"missing": "zero"}, {"constant": "zero"}, {"test": "boot-groups", "n_resamples": 98}]
)
def test_the_signature_of_a_ranking_tells_the_rules_apart(change):
    data = nasty()
    base = {**data.labels(), "level": "group", "test": change.get("test", "jackknife"), "n_resamples": 99}
    one, two = (rank_judges({"a": data.x1, "b": data.x2}, data.y, **base | c) for c in ({}, change))
    assert one.signature != two.signature
