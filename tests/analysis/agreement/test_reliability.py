"""People as raters: published values, definitions written out, peers' numbers, simulated coverage, real data."""

import dataclasses
import functools
import itertools
import math
import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.agreement import alpha
from calib.analysis.agreement.alpha import krippendorff_alpha
from calib.analysis.agreement.annotator import alternative_annotator_test
from calib.analysis.agreement.ceiling import label_ceiling
from calib.analysis.agreement.levels import multiplicities
from calib.analysis.agreement.reliability import disattenuated, icc, mean_squares, reliability
from calib.stats import agreement

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")
quick = settings(deadline=None, derandomize=True)
NAN = math.nan
METRICS = ("nominal", "ordinal", "interval", "ratio")


def close(found, wanted, tolerance=1e-12):
    assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


# --- Krippendorff's alpha ---------------------------------------------------------------------------------------

# four observers, twelve units: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, sections C and E
TEXTBOOK = [
    [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1], [NAN, NAN, 3, NAN],
]  # fmt: skip
# made at random: twenty items, four raters, 0 is missing
RAGGED = [
    [2, 3, 2, 3], [3, 3, 1, 3], [3, 3, 2, 0], [1, 0, 3, 1], [0, 3, 2, 0], [2, 2, 1, 2], [0, 0, 4, 0],
    [4, 5, 5, 3], [3, 3, 2, 3], [2, 3, 4, 2], [4, 3, 4, 3], [3, 0, 4, 4], [2, 2, 4, 2], [2, 2, 3, 3],
    [3, 0, 0, 0], [3, 3, 0, 4], [1, 1, 2, 1], [3, 3, 3, 3], [0, 0, 1, 2], [1, 2, 0, 1],
]  # fmt: skip


def ragged():
    table = np.array(RAGGED, dtype=float)
    return np.where(table == 0, np.nan, table)


def difference(c, k, metric, counts):
    """Squared difference of two values; `counts` of all values for the ordinal one."""
    if metric == "nominal":
        return float(c != k)
    if metric == "interval":
        return (c - k) ** 2
    if metric == "ratio":
        return ((c - k) / (c + k)) ** 2 if c + k else 0.0
    low, high = min(c, k), max(c, k)
    between = sum(count for value, count in counts.items() if low <= value <= high)
    return (between - (counts[c] + counts[k]) / 2) ** 2


def alpha_by_definition(table, metric):
    units = [[value for value in row if value == value] for row in np.asarray(table).tolist()]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    counts = {value: values.count(value) for value in values}
    n = len(values)
    observed = sum(
        difference(a, b, metric, counts) / (len(unit) - 1) for unit in units for a, b in itertools.permutations(unit, 2)
    )
    expected = sum(difference(a, b, metric, counts) for a, b in itertools.permutations(values, 2)) / max(n - 1, 1)
    return 1 - observed / expected if expected else math.nan


@pytest.mark.parametrize(
    ("metric", "published", "peer", "of_ragged"),
    # three decimals: Krippendorff (2011); all of them, and those of the ragged table: krippendorff 0.9.0 on PyPI
    [
        ("nominal", 0.743, 0.743421052631579, 0.15942028985507228),
        ("ordinal", 0.815, 0.8153875037548814, 0.4771822688059971),
        ("interval", 0.849, 0.8491071428571428, 0.497073089145342),
        ("ratio", 0.797, 0.7974027747116121, 0.44176223283317495),
    ],
)
def test_alpha_of_the_textbook_and_of_ragged_ratings(metric, published, peer, of_ragged):
    result = krippendorff_alpha(TEXTBOOK, metric=metric)
    assert round(result.estimate, 3) == published
    close(result.estimate, peer)
    assert (result.n, result.n_dropped, result.n_ratings, result.n_raters) == (11, 1, 40, 4)
    close(krippendorff_alpha(ragged(), metric=metric).estimate, of_ragged)


tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0, NAN]), min_size=k, max_size=k), min_size=2, max_size=9
    )
)


@quick
@given(tables, st.sampled_from(METRICS))
def test_alpha_equals_its_definition(table, metric):
    close(krippendorff_alpha(table, metric=metric).estimate, alpha_by_definition(table, metric), 1e-10)


@pytest.mark.parametrize("metric", METRICS)
def test_alpha_of_continuous_ratings(metric):
    table = np.random.default_rng(5).gamma(3, size=(30, 3))
    close(krippendorff_alpha(table, metric=metric).estimate, alpha_by_definition(table, metric), 1e-10)


@quick
@given(tables, st.sampled_from(METRICS), st.integers(0, 1000))
def test_a_resample_is_the_table_with_repeated_items(table, metric, seed):
    table = np.array(table)
    table = table[np.isfinite(table).sum(axis=1) > 1]
    weights = np.random.default_rng(seed).integers(0, 4, len(table))
    sums, alpha_of = alpha._alpha_sums(table, metric)
    found = alpha_of((weights @ sums)[None, :])[0] if len(table) else math.nan
    close(found, alpha_by_definition(np.repeat(table, weights, axis=0), metric), 1e-10)


def test_multiplicities_are_draws_with_replacement():
    weights = multiplicities(8, 4000, np.random.default_rng(3))
    assert weights.shape == (4000, 8)
    assert (weights.sum(axis=1) == 8).all()
    # multinomial: mean 1, variance 1 - 1/8, covariance -1/8; standard errors about .016, .025
    close(weights.mean(), 1)
    covariance = np.cov(weights.T)
    assert_allclose(np.diag(covariance), 7 / 8, atol=0.1)
    assert_allclose(covariance[np.triu_indices(8, 1)], -1 / 8, atol=0.07)


def test_the_order_of_raters_and_items_and_the_unit_do_not_matter():
    table = ragged()
    for metric in METRICS:
        wanted = krippendorff_alpha(table, metric=metric).estimate
        close(krippendorff_alpha(table[::-1, ::-1], metric=metric).estimate, wanted)
        close(krippendorff_alpha(10 * table, metric=metric).estimate, wanted)
    far = krippendorff_alpha(table + 1e6).estimate
    close(far, krippendorff_alpha(table).estimate)
    cubes = krippendorff_alpha(table**3, metric="ordinal").estimate
    close(cubes, krippendorff_alpha(table, metric="ordinal").estimate)


def test_alpha_where_nothing_differs():
    for metric in METRICS:
        result = krippendorff_alpha([[3, 3], [3, 3], [3, NAN]], metric=metric)
        assert math.isnan(result.estimate) and math.isnan(result.interval.low)
        assert (result.n, result.n_dropped) == (2, 1)
        nobody = krippendorff_alpha([[3, NAN], [NAN, 1]], metric=metric)
        assert math.isnan(nobody.estimate) and nobody.n == 0
        perfect = krippendorff_alpha([[1, 1], [2, 2], [3, 3]], metric=metric)
        assert perfect.estimate == 1 and math.isnan(perfect.interval.low)
        assert math.isnan(krippendorff_alpha([[3, 3], [3, 3]], metric=metric).interval.low)
    dusty = krippendorff_alpha([[0.1, 0.1], [0.1, 0.1], [0.1, 0.1]])
    assert math.isnan(dusty.estimate)


def test_alpha_says_itself():
    result = krippendorff_alpha(TEXTBOOK, metric="ordinal")
    assert str(result).startswith("Krippendorff's alpha (ordinal) = 0.8154, 95 % CI [")
    assert "alpha|metric:ordinal|ci:item-jackknife|cl:0.95|n:11|dropped:1|raters:4|" in result.signature
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.estimate = 1


def binomial_verdict(hits, n, level=0.95):
    """The nominal coverage is not refuted: two-sided, one simulation in a thousand fails by chance."""
    assert stats.binomtest(hits, n, level).pvalue > 0.001, f"covered {hits} of {n}"


def covers(interval, truth):
    return interval.low <= truth <= interval.high


@pytest.mark.slow
def test_coverage_of_alpha_over_items():
    # random effects of variance 1 and .64: alpha of the population is ICC(1) = 1 / 1.64
    rng = np.random.default_rng(11)
    drawn = (rng.normal(size=(50, 1)) + 0.8 * rng.normal(size=(50, 3)) for _ in range(2000))
    hits = sum(covers(krippendorff_alpha(x).interval, 1 / 1.64) for x in drawn)
    binomial_verdict(hits, 2000)


@pytest.mark.slow
def test_coverage_of_alpha_over_groups():
    rng, groups = np.random.default_rng(12), np.repeat(np.arange(40), 5)
    alpha, hits = 0.97 / (0.97 + 0.64), {"jackknife": 0, "items": 0}
    for _ in range(1000):
        truth = 0.9 * rng.normal(size=40)[groups] + 0.4 * rng.normal(size=200)
        table = truth[:, None] + 0.8 * rng.normal(size=(200, 3))
        hits["jackknife"] += covers(krippendorff_alpha(table, groups=groups).interval, alpha)
        hits["items"] += covers(krippendorff_alpha(table).interval, alpha)
    binomial_verdict(hits["jackknife"], 1000)
    assert hits["items"] < 900  # items of one group are not independent


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("grouped", [False, True])
def test_jackknife_of_alpha_leaves_out_unit_by_unit(metric, grouped):
    table = ragged()
    table = table[np.isfinite(table).sum(axis=1) > 1]
    units = np.arange(len(table)) // 3 if grouped else np.arange(len(table))
    result = krippendorff_alpha(table, metric=metric, groups=units if grouped else None, confidence_level=0.9)
    without = np.array([alpha_by_definition(table[units != u], metric) for u in np.unique(units)])
    k = len(without)
    half = stats.t.ppf(0.95, k - 1) * math.sqrt((k - 1) / k * ((without - without.mean()) ** 2).sum())
    close(result.interval, [result.estimate - half, min(result.estimate + half, 1)], 1e-9)
    assert result.interval_method == ("group jackknife" if grouped else "item jackknife")


# --- intraclass correlations ------------------------------------------------------------------------------------

# Shrout and Fleiss (1979), table 2
FOUR_JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
THREE_JUDGES = [
    [-1.3, -0.5, -2.3], [-1.0, -0.9, -0.8], [-1.8, -1.0, -1.4], [-0.2, -0.7, -0.4],
    [-2.4, -1.9, -2.6], [-0.1, -0.6, 0.4], [-1.4, -1.6, -1.2], [1.6, 1.1, 1.5],
    [1.7, 1.0, -0.5], [0.8, 2.5, 0.8], [0.0, 0.6, 0.6], [-0.1, 0.9, 0.2],
]  # fmt: skip


KINDS = ("ICC(1)", "ICC(1,k)", "ICC(A,1)", "ICC(C,1)", "ICC(A,k)", "ICC(C,k)")


def test_icc_of_shrout_and_fleiss():
    result = icc(FOUR_JUDGES)
    # table 4; the names of McGraw and Wong
    assert [round(result.estimates[kind], 2) for kind in KINDS] == [0.17, 0.44, 0.29, 0.71, 0.62, 0.91]
    # table 3: between targets 11.24, within 6.26, between judges 32.49, residual 1.02
    items, raters, error, within = mean_squares(np.array(FOUR_JUDGES, dtype=float))
    assert [round(value, 2) for value in (items, within, raters, error)] == [11.24, 6.26, 32.49, 1.02]
    assert (result.n, result.n_dropped, result.n_raters) == (6, 0, 4)
    # R package psych, ICC() of the same table, as printed in the RExRepos notes on interRaterICC
    printed = [(-0.133, 0.72), (-0.884, 0.91), (0.019, 0.76), (0.342, 0.95), (0.071, 0.93), (0.676, 0.99)]
    ends = [result.intervals[kind] for kind in KINDS]
    assert [(round(one.low, 3), round(one.high, 2)) for one in ends] == printed


@pytest.mark.parametrize(
    ("table", "peer"),
    # pingouin 0.7.0, intraclass_corr without rounding: estimate, ends
    [
        (
            FOUR_JUDGES,
            [
                (0.165741768405, -0.132932324875, 0.722560062328),
                (0.442797133679, -0.884442155238, 0.912415420341),
                (0.289763779528, 0.0187865133747, 0.761084369649),
                (0.714840714841, 0.342464765034, 0.945858259955),
                (0.620050547599, 0.0711368153025, 0.927232040168),
                (0.909315542377, 0.675674713816, 0.985891678169),
            ],
        ),
        (
            THREE_JUDGES,
            [
                (0.79040986787, 0.556262449559, 0.926945600932),
                (0.918789317507, 0.789949197462, 0.974401827575),
                (0.79084447841, 0.557851325333, 0.927025182604),
                (0.795795010612, 0.558485737152, 0.929534622898),
                (0.918985003582, 0.791015682413, 0.974431138887),
                (0.921204747774, 0.791440617785, 0.975353735414),
            ],
        ),
    ],
)
def test_icc_equals_pingouin(table, peer):
    result = icc(table)
    close([(result.estimates[kind], *result.intervals[kind]) for kind in KINDS], peer, 2e-11)


def test_icc_takes_complete_items_and_counts_the_others():
    table = np.array([*FOUR_JUDGES, [1, NAN, 2, 3], [NAN] * 4, [NAN, 4, NAN, NAN]])
    result, whole = icc(table), icc(FOUR_JUDGES)
    crossed_only = [name for name in whole.estimates if not name.startswith("ICC(1")]
    assert all(result.estimates[name] == whole.estimates[name] for name in crossed_only)
    assert (result.n, result.n_dropped, result.n_one_way) == (6, 3, 7)
    close(result.per_item, 7 / (6 / 4 + 1 / 3))
    assert {row["quantity"]: (row["n"], row["n_dropped"]) for row in result._rows()} == {
        name: (7, 2) if name.startswith("ICC(1") else (6, 3) for name in whole.estimates
    }


@pytest.mark.parametrize("people", [4, 9, 24])
def test_one_way_icc_is_the_same_whoever_rated(people):
    # each item has four ratings, by other people: the columns are people, or the places of a shorter table
    rng = np.random.default_rng(people)
    wide = np.full((6, people), NAN)
    for row, ratings in zip(wide, FOUR_JUDGES, strict=True):
        row[rng.permutation(people)[:4]] = ratings
    found, whole = icc(wide), icc(FOUR_JUDGES)
    assert (found.n_one_way, found.per_item) == (6, 4)
    for name in ("ICC(1)", "ICC(1,k)"):
        close([found.estimates[name], *found.intervals[name]], [whole.estimates[name], *whole.intervals[name]])
    if people > 4:
        assert math.isnan(found.estimates["ICC(C,k)"])
        assert str(found) == (
            "ICC(1) = 0.1657, 95 % CI [-0.1329, 0.7226]; ICC(1,4) = 0.4428, 95 % CI [-0.8844, 0.9124] "
            "(n = 6 items, whoever rated them)"
        )


@pytest.mark.slow
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize(("n", "noise"), [(20, 1.5), (60, 0.8)])
def test_coverage_of_the_one_way_icc(n, noise, unequal):
    # nested: every rating by another person, whose severity is part of the noise
    rng, hits, means = np.random.default_rng(61), 0, 0
    for _ in range(2000):
        m = rng.integers(2, 6, n) if unequal else np.full(n, 3)
        table = rng.normal(size=(n, 1)) + noise * rng.normal(size=(n, 5))
        table[np.arange(5) >= m[:, None]] = NAN
        result = icc(table)
        hits += covers(result.intervals["ICC(1)"], 1 / (1 + noise**2))
        means += covers(result.intervals["ICC(1,k)"], 1 / (1 + noise**2 / result.per_item))
    binomial_verdict(hits, 2000)
    binomial_verdict(means, 2000)


def test_icc_knows_consistency_from_agreement():
    strict = np.array([[1.0, 3.0], [2.0, 4.0], [4.0, 6.0], [5.0, 7.0]])
    result = icc(strict)
    assert result.estimates["ICC(C,1)"] == 1
    # by hand: R = 20/3, C = 8, E = 0: (20/3) / (20/3 + 2 * 8 / 4)
    close(result.estimates["ICC(A,1)"], (20 / 3) / (20 / 3 + 4))
    far = icc(strict + 1e6)
    close(far.estimates["ICC(A,1)"], result.estimates["ICC(A,1)"])


@pytest.mark.parametrize("table", [[[1, 2]], [[3, 3], [3, 3]], [[1, NAN], [NAN, 2]]])
def test_icc_without_items_or_differences(table):
    result = icc(table)
    assert all(math.isnan(value) for value in result.estimates.values())
    assert all(math.isnan(end) for ends in result.intervals.values() for end in ends)


def test_icc_says_itself():
    assert str(icc(FOUR_JUDGES)) == (
        "ICC(C,1) = 0.7148, 95 % CI [0.3425, 0.9459]; ICC(C,4) = 0.9093 (n = 6 items that all 4 raters rated)"
    )


# --- the ceiling ------------------------------------------------------------------------------------------------


def crossed(n_groups=7, n_systems=4, n_raters=3, seed=21, missing=0.0):
    """A small crossed design with rounded ratings: ratings, judge, groups, systems."""
    rng = np.random.default_rng(seed)
    groups, systems = np.repeat(np.arange(n_groups), n_systems), np.tile(np.arange(n_systems), n_groups)
    truth = rng.normal(size=n_groups * n_systems) + 0.5 * systems
    ratings = np.round(2 * (truth[:, None] + 0.7 * rng.normal(size=(len(truth), n_raters))))
    ratings[rng.random(ratings.shape) < missing] = np.nan
    judge = np.round(2 * (truth + rng.normal(size=len(truth))))
    judge[rng.random(len(judge)) < missing / 2] = np.nan
    return ratings, judge, groups, systems


def ceiling_by_hand(ratings, judge, groups, systems, level, method):
    """Ceiling, judge and difference from the definition, one rater after the other."""
    people, machine = [], []
    for j in range(ratings.shape[1]):
        rows = [
            i
            for i in range(len(ratings))
            if np.isfinite(ratings[i, j]) and np.isfinite(np.delete(ratings[i], j)).any() and np.isfinite(judge[i])
        ]
        others = np.array([np.nanmean(np.delete(ratings[i], j)) for i in rows])
        options = {"groups": groups[rows], "systems": systems[rows], "level": level, "method": method}
        people.append(agreement(ratings[rows, j], others, interval="none", **options).estimate)
        machine.append(agreement(judge[rows], others, interval="none", **options).estimate)
    ceiling, against = np.mean(people), np.mean(machine)
    return np.array([ceiling, against, against - ceiling])


def jackknife_by_hand(estimate, units):
    """Jackknife variance of each entry of `estimate(rows)`."""
    left = np.array([estimate(units != unit) for unit in np.unique(units)])
    k = len(left)
    return (k - 1) / k * ((left - left.mean(axis=0)) ** 2).sum(axis=0), k


def variance_by_hand(by_hand, used, groups, systems):
    """Variance and degrees of freedom of the jackknife over what a design uses."""
    by_system, m = jackknife_by_hand(by_hand, systems)
    by_group, n = jackknife_by_hand(by_hand, groups)
    by_item, n_items = jackknife_by_hand(by_hand, np.arange(len(groups)))
    return {
        ("groups", "systems"): (
            np.maximum(by_system + by_group - by_item, np.minimum(by_system, by_group)),
            min(m, n) - 1,
        ),
        ("groups",): (by_group, n - 1),
        ("systems",): (by_system, m - 1),
        (): (by_item, n_items - 1),
    }[used]


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.12])
@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall", "gamma", "pairs", "kappa"])
@pytest.mark.parametrize(
    ("level", "used"),
    [
        ("item", ("groups", "systems")), ("item", ("groups",)), ("item", ("systems",)), ("item", ()),
        ("group", ("groups", "systems")), ("group", ("groups",)), ("system", ("groups", "systems")),
        ("system", ("systems",)),
    ],
)  # fmt: skip
def test_ceiling_equals_its_definition(level, used, method, missing):
    ratings, judge, groups, systems = crossed(missing=missing)
    given = {name: value for name, value in {"groups": groups, "systems": systems}.items() if name in used}
    result = label_ceiling(ratings, judge, level=level, method=method, **given)

    def by_hand(keep):
        return ceiling_by_hand(ratings[keep], judge[keep], groups[keep], systems[keep], level, method)

    keep = np.isfinite(judge) & (np.isfinite(ratings).sum(axis=1) > 1)
    ratings, judge, groups, systems = ratings[keep], judge[keep], groups[keep], systems[keep]
    wanted = by_hand(slice(None))
    close((result.ceiling, result.judge, result.difference), wanted, 1e-10)
    assert (result.n, result.n_dropped) == (keep.sum(), (~keep).sum())
    variance, df = variance_by_hand(by_hand, used, groups, systems)
    assert result.df == df
    half = stats.t.ppf(0.975, df) * np.sqrt(variance)
    intervals = (result.ceiling_interval, result.judge_interval, result.difference_interval)
    for interval, value, width, bound in zip(intervals, wanted, half, (1, 1, 2), strict=True):
        if method == "pairs" and bound == 1:
            close(interval, wilson(value, width / stats.t.ppf(0.975, df), df), 1e-8)
        else:
            close(interval, (max(value - width, -bound), min(value + width, bound)), 1e-8)


def wilson(p, error, df):
    """Of a share whose n answers, the pairs of the units, are worth p (1 - p) / error^2 answers, or nearly."""
    units = df + 1
    n = units * (units - 1) // 2
    found = max(n * error**2 / (p * (1 - p)), 1)
    worth = n / max(found, (units * found + n / units) / (units + 1))
    t2 = stats.t.ppf(0.975, df) ** 2 / worth
    roots = np.roots([1 + t2, -(2 * p + t2), p**2])  # (p - m)^2 = t^2 m (1 - m) / worth
    return sorted(np.real(roots))


def test_nobody_is_compared_with_himself_and_a_copy_of_a_rater_has_his_numbers():
    # three raters who answer at random agree with each other at 0, with a mean of all three at .58
    noise = np.random.default_rng(5).normal(size=(4000, 3))
    result = label_ceiling(noise, noise[:, 1], method="pearson")
    assert max(abs(value) for value in result.by_rater) < 0.05  # three standard errors of .016
    assert np.corrcoef(noise[:, 0], noise.mean(axis=1))[0, 1] > 0.5
    assert result.by_rater[1] == result.judge_by_rater[1]


def test_ceiling_without_a_judge():
    ratings, judge, *_ = crossed()
    result = label_ceiling(ratings)
    assert result.judge_by_rater == () and math.isnan(result.judge) and math.isnan(result.difference)
    assert result.ceiling == label_ceiling(ratings, judge).ceiling
    assert [row["quantity"] for row in result._rows()] == ["ceiling"]
    assert "judge" not in str(result)


def test_the_same_ratings_by_other_people_tie():
    # .1 + .2 + .7 and .7 + .2 + .1 differ in the last digit
    assert 0.1 + 0.2 + 0.7 != 0.7 + 0.2 + 0.1
    ratings = [[1.0, 0.1, 0.2, 0.7], [2.0, 0.7, 0.2, 0.1], [3.0, 0.9, 0.9, 0.9]]
    close(label_ceiling(ratings, method="kendall").by_rater[0], stats.kendalltau([1, 2, 3], [1, 1, 2]).statistic)


def test_a_rater_without_a_correlation_is_in_no_mean():
    ratings, judge, *_ = crossed()
    ratings = np.column_stack([ratings, np.full(len(ratings), 3.0)])
    result = label_ceiling(ratings, judge)
    assert math.isnan(result.by_rater[3])
    close(result.ceiling, np.mean(result.by_rater[:3]))
    close(result.judge, np.mean(result.judge_by_rater[:3]))
    absent = label_ceiling(np.column_stack([ratings[:, :3], np.full(len(ratings), np.nan)]), judge)
    assert absent.ceiling == label_ceiling(ratings[:, :3], judge).ceiling
    flat = label_ceiling(np.full((5, 2), 2.0), [1, 2, 3, 4, 5])
    assert math.isnan(flat.ceiling) and math.isnan(flat.ceiling_interval.low)


# --- the disattenuated correlation ------------------------------------------------------------------------------


def ratio_by_hand(judge, ratings):
    r = float(stats.pearsonr(judge, ratings.mean(axis=1)).statistic)
    reliable = icc(ratings).estimates["ICC(C,k)"]
    return np.array([r / math.sqrt(reliable), r, reliable])


def raters_by_least_squares(ratings):
    """Rater effects beside item effects, from the whole design matrix; their covariance over that of one rating."""
    item, rater = np.nonzero(np.isfinite(ratings))
    n, k = ratings.shape
    matrix = np.hstack([np.eye(n)[item], np.eye(k)[rater]])
    inverse = np.linalg.pinv(matrix.T @ matrix)
    effects = inverse @ matrix.T @ ratings[item, rater]
    return effects[n:] - effects[n:].mean(), inverse[n:, n:], np.linalg.matrix_rank(matrix) - n


def common_by_hand(judge, ratings, offsets, lost, moved, k):
    """Ratio, correlation and reliability, item by item, of ratings less what is known of their raters."""
    level = ratings - offsets
    m, means = np.isfinite(level).sum(axis=1), np.nanmean(level, axis=1)
    error = np.nansum((level - means[:, None]) ** 2) / (m.sum() - len(m) - lost)
    common = means.var(ddof=1) - error * (np.mean(1 / m) + moved / (len(m) - 1))
    shared = np.cov(judge, means)[0, 1] / judge.std(ddof=1)
    with np.errstate(invalid="ignore"):
        ratio, shared_with_panel = shared / np.sqrt([common, common + error / k])
    return np.array([ratio, shared_with_panel, common / (common + error / k)])


@pytest.mark.parametrize("used", [("groups", "systems"), ("groups",), ("systems",), ()])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_disattenuated_equals_its_definition(used, missing):
    ratings, judge, groups, systems = crossed(missing=missing, seed=3)
    given = {name: value for name, value in {"groups": groups, "systems": systems}.items() if name in used}
    result = disattenuated(judge, ratings, min_reliability=0.1, **given)
    keep = np.isfinite(judge) & np.isfinite(ratings).any(axis=1)
    assert (result.n, result.n_dropped, result.per_item) == (keep.sum(), (~keep).sum(), 3)
    assert (result.n_dropped > 0) == (missing > 0)
    ratings, judge, groups, systems = ratings[keep], judge[keep], groups[keep], systems[keep]
    offsets, inverse, lost = raters_by_least_squares(ratings)
    shares = np.isfinite(ratings) / np.isfinite(ratings).sum(axis=1)[:, None]
    moved = float(np.trace(inverse @ np.cov(shares.T))) * (len(judge) - 1)

    def by_hand(keep):
        return common_by_hand(judge[keep], ratings[keep], offsets, lost, moved, 3)

    wanted = by_hand(slice(None))
    close((result.estimate, result.correlation, result.reliability), wanted, 1e-9)
    if not missing:
        close(wanted, ratio_by_hand(judge, ratings), 1e-9)
    variance, df = variance_by_hand(by_hand, used, groups, systems)
    half = stats.t.ppf(0.975, df) * np.sqrt(variance)
    intervals = (result.interval, result.correlation_interval, result.reliability_interval)
    for interval, value, width, bound in zip(intervals, wanted, half, (np.inf, 1, 1), strict=True):
        close(interval, (max(value - width, -bound), min(value + width, bound)), 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_noise_of_raters_is_taken_from_the_means_without_bias(seed):
    # the mean over many tables of one pattern of gaps is the variance that was put in
    rng = np.random.default_rng(seed)
    gaps = rng.random((12, 5)) < 0.5
    gaps[np.arange(12), rng.integers(0, 5, 12)] = False
    found = []
    for _ in range(1500):
        truth = rng.normal(size=12)
        ratings = truth[:, None] + np.array([3.0, 0, -2, 1, 5]) + rng.normal(size=(12, 5))
        ratings[gaps] = NAN
        offsets, inverse, lost = raters_by_least_squares(ratings)
        shares = ~gaps / (~gaps).sum(axis=1)[:, None]
        moved = float(np.trace(inverse @ np.cov(shares.T))) * 11
        ratio, shared, _ = common_by_hand(truth, ratings, offsets, lost, moved, 5)
        result = disattenuated(truth, ratings, min_reliability=0.001)
        if not result.reason:
            close((result.estimate, result.correlation), (ratio, shared), 1e-8)
        means, m = np.nanmean(ratings - offsets, axis=1), (~gaps).sum(axis=1)
        error = np.nansum((ratings - offsets - means[:, None]) ** 2) / (m.sum() - 12 - lost)
        found.append((means.var(ddof=1) - error * (np.mean(1 / m) + moved / 11), error))
    for values in np.transpose(found):
        assert abs(values.mean() - 1) < 3.5 * values.std() / math.sqrt(1500)


def test_disattenuated_may_exceed_one():
    rng = np.random.default_rng(8)
    truth = rng.normal(size=200)
    result = disattenuated(truth, truth[:, None] + 0.9 * rng.normal(size=(200, 3)))
    assert result.correlation < 0.95
    assert result.interval.high > 1


def test_disattenuated_is_refused_in_words():
    rng = np.random.default_rng(9)
    truth = rng.normal(size=100)
    noisy = truth[:, None] + 3 * rng.normal(size=(100, 2))
    result = disattenuated(truth, noisy)
    assert math.isnan(result.estimate) and math.isnan(result.interval.low)
    assert result.reason == f"the mean of 2 raters has a reliability of {result.reliability:.4g}, below 0.7"
    assert str(result).startswith("disattenuated correlation refused: the mean of 2 raters")
    assert math.isfinite(result.correlation)
    assert "|refused|" in result.signature
    lower = disattenuated(truth, noisy, min_reliability=0.01)
    assert lower.reason == "" and math.isfinite(lower.estimate)
    flat = disattenuated(np.ones(100), noisy)
    single = "the judge or the mean of raters has a single value over the items, or no item has two ratings"
    assert flat.reason == single
    nobody = disattenuated([1, 2], [[NAN, NAN], [NAN, 2]])
    assert (nobody.reason, nobody.n) == ("only 1 items have the judge and a rating", 1)
    alone = disattenuated([1, 2, 3, 5], [[1, NAN], [NAN, 2], [2, NAN], [NAN, 4]])
    assert (alone.reason, alone.n) == (single, 4)


def test_a_disattenuated_correlation_above_one_has_a_caution():
    rng = np.random.default_rng(8)
    truth = rng.normal(size=60)
    people = truth[:, None] + 0.9 * rng.normal(size=(60, 3))
    cautious = disattenuated(people.mean(axis=1), people)  # its errors are those of people
    assert cautious.estimate > 1
    assert [text.partition(":")[0] for text in cautious.warnings] == ["above_one"]
    assert str(cautious).endswith("[warnings: above_one]")
    assert f"disattenuated {cautious.estimate:.4g} (above 1)" in str(reliability(people, people.mean(axis=1)))
    assert disattenuated(rng.normal(size=60) + truth, people).warnings == ()
    assert disattenuated(people.mean(axis=1), people, min_reliability=0.99).warnings == ()  # refused is enough


GAPS = {"mcar": (300, 3), "three of six": (200, 6), "a crowd": (300, 40), "nobody twice": (150, 450)}


@pytest.mark.slow
@pytest.mark.parametrize("rho", [pytest.param(0.6, marks=pytest.mark.long), 0.9])
@pytest.mark.parametrize("kind", sorted(GAPS))
def test_coverage_of_the_disattenuated_correlation_with_gaps(kind, rho):
    """Raters differ in severity and noise; complete items are 8 % (mcar) or none."""
    rng, hits, complete = np.random.default_rng(67), 0, 0
    n, k = GAPS[kind]
    for _ in range(500):
        truth = rng.normal(size=n)
        people = truth[:, None] + 0.5 * rng.normal(size=k) + 0.8 * rng.normal(size=(n, k))
        there = rng.random((n, k)) < 0.43 if kind == "mcar" else np.argsort(rng.random((n, k)), axis=1) < 3
        if kind == "nobody twice":
            there = np.repeat(np.eye(n, dtype=bool), 3, axis=1)
        people[~there] = NAN
        judge = rho * truth + math.sqrt(1 - rho**2) * rng.normal(size=n)
        result = disattenuated(judge, people, min_reliability=0.3)
        hits += covers(result.interval, rho)
        complete += np.isfinite(people).all(axis=1).sum()
    binomial_verdict(hits, 500)
    assert complete < 0.09 * n * 500


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
def test_coverage_of_the_disattenuated_correlation(clustered):
    """Judge and true score correlate at .6, people add noise of variance .64 each."""
    rng, groups, hits = np.random.default_rng(31), np.repeat(np.arange(60), 5), 0
    noise = functools.partial(rng.normal, size=300)
    for _ in range(600):
        truth, own = (0.7 * rng.normal(size=60)[groups] + math.sqrt(0.51) * noise() for _ in range(2))
        people = truth[:, None] + 0.8 * rng.normal(size=(300, 3))
        if not clustered:
            truth, own = noise(), noise()
            people = truth[:, None] + 0.8 * rng.normal(size=(300, 3))
        judge = 0.6 * truth + 0.8 * own
        hits += covers(disattenuated(judge, people, groups=groups if clustered else None).interval, 0.6)
    binomial_verdict(hits, 600)


# --- all of it --------------------------------------------------------------------------------------------------


def test_reliability_is_its_parts():
    ratings, judge, groups, systems = crossed()
    design = {"groups": groups, "systems": systems}
    result = reliability(ratings, judge, metric="ordinal", method="pearson", **design)
    assert result.alpha == krippendorff_alpha(ratings, metric="ordinal", groups=groups)
    assert result.icc == icc(ratings)
    assert result.ceiling == label_ceiling(ratings, judge, method="pearson", **design)
    assert result.disattenuated == disattenuated(judge, ratings, **design)
    quantities = [
        "alpha (ordinal)", "ICC(1)", "ICC(1,k)", "ICC(C,1)", "ICC(C,k)", "ICC(A,1)", "ICC(A,k)", "ceiling", "judge",
        "difference", "disattenuated", "pearson", "reliability of the mean",
    ]  # fmt: skip
    rows = result._rows()
    assert [row["quantity"] for row in rows] == quantities
    assert {"estimate", "conf_low", "conf_high", "n", "interval_method"} <= rows[0].keys()
    assert str(result).count("\n") == 0


def test_reliability_without_a_judge_and_as_a_frame():
    pytest.importorskip("pandas")
    ratings, judge, *_ = crossed()
    result = reliability(ratings)
    assert result.disattenuated is None
    assert [row["quantity"] for row in result._rows()][-1] == "ceiling"
    assert "judge" not in str(result)
    frame = reliability(ratings, judge).to_frame()
    assert list(frame)[:5] == ["quantity", "estimate", "conf_low", "conf_high", "n"]
    assert len(frame) == 13


# --- the alternative annotator test -----------------------------------------------------------------------------


def labelled(n=80, k=4, seed=41):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, n)
    ratings = np.clip(truth[:, None] + rng.integers(-1, 2, (n, k)), 1, 5).astype(float)
    ratings[rng.random((n, k)) < 0.15] = np.nan
    return np.clip(truth + rng.integers(-2, 3, n), 1, 5).astype(float), ratings


def alt_test_by_hand(judge, ratings, epsilon, q, score):
    """Winning rate and advantage, item by item; Benjamini-Yekutieli from its definition."""
    p_values, wins = [], []
    for j in range(ratings.shape[1]):
        own_wins, judge_wins = [], []
        for i in range(len(ratings)):
            others = [v for k, v in enumerate(ratings[i]) if k != j and v == v]
            if ratings[i, j] != ratings[i, j] or not others or judge[i] != judge[i]:
                continue
            closeness = {
                "rmse": lambda v, others=others: -math.sqrt(sum((v - o) ** 2 for o in others) / len(others)),
                "accuracy": lambda v, others=others: sum(v == o for o in others) / len(others),
            }[score]
            judge_wins.append(closeness(judge[i]) >= closeness(ratings[i, j]))
            own_wins.append(closeness(ratings[i, j]) >= closeness(judge[i]))
        loss = np.array(own_wins, dtype=float) - np.array(judge_wins)
        p_values.append(stats.ttest_1samp(loss, epsilon, alternative="less").pvalue)
        wins.append(np.mean(judge_wins))
    m = len(p_values)
    order = np.argsort(p_values)
    bound = q / (m * sum(1 / i for i in range(1, m + 1)))
    passed = [rank for rank, j in enumerate(order, 1) if p_values[j] <= rank * bound]
    return max(passed, default=0) / m, float(np.mean(wins)), p_values


@pytest.mark.parametrize("score", ["rmse", "accuracy"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2, 0.4])
def test_alt_test_equals_its_definition(score, epsilon):
    judge, ratings = labelled()
    judge[:3] = np.nan
    result = alternative_annotator_test(judge, ratings, epsilon=epsilon, score=score)
    omega, advantage, p_values = alt_test_by_hand(judge, ratings, epsilon, 0.05, score)
    assert result.winning_rate == omega
    close(result.advantage, advantage)
    close([annotator.p_value for annotator in result.annotators], p_values, 1e-10)
    assert result.n_dropped == 3 + (np.isfinite(ratings[3:]).sum(axis=1) < 2).sum()


@pytest.mark.parametrize("score", ["rmse", "accuracy"])
def test_the_best_constant_judge(score):
    judge, ratings = labelled()
    result = alternative_annotator_test(judge, ratings, score=score)
    of_constant = {c: alt_test_by_hand(np.full(len(judge), c), ratings, 0.2, 0.05, score) for c in (1.0, 2, 3, 4, 5)}
    best = max(of_constant, key=lambda c: of_constant[c][1])
    assert result.constant == best
    close((result.constant_winning_rate, result.constant_advantage), of_constant[best][:2])


def test_alt_test_of_names_equals_that_of_codes():
    judge, ratings = labelled()
    names = dict(zip((1.0, 2.0, 3.0, 4.0, 5.0), "abcde", strict=True))

    def named(values):
        return np.array([names.get(v) for v in values.ravel()], dtype=object).reshape(values.shape)

    coded = alternative_annotator_test(judge, ratings, score="accuracy")
    plain = alternative_annotator_test(named(judge), named(ratings))
    assert plain.score == "accuracy"
    assert plain.annotators == coded.annotators
    assert plain.constant == names[coded.constant]
    assert math.isnan(plain.rank_agreement)
    assert f"always says {plain.constant}" in plain.verdict or f"always {plain.constant} does worse" in plain.verdict


def test_rank_agreement_is_beside_it():
    judge, ratings = labelled()
    result = alternative_annotator_test(judge, ratings)
    mean = np.nanmean(ratings, axis=1)
    keep = np.isfinite(ratings).sum(axis=1) > 1
    close(result.rank_agreement, stats.spearmanr(judge[keep], mean[keep]).statistic)
    assert [row["judge"] for row in result._rows()] == ["judge", f"always {result.constant:g}"]
    assert "Spearman with people" in str(result)


def test_a_judge_like_people_passes_and_a_bad_one_does_not():
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, 200)
    people = truth[:, None] + rng.integers(-1, 2, (200, 3))
    good = alternative_annotator_test(truth + rng.integers(-1, 2, 200), people)
    bad = alternative_annotator_test(rng.permutation(truth), people)
    assert good.passes and good.winning_rate == 1 and good.constant_advantage < good.advantage
    assert good.verdict.startswith("The judge passes (winning rate 1, advantage ")
    assert "does worse" in good.verdict
    assert not bad.passes and bad.winning_rate == 0
    assert bad.verdict.startswith("The judge does not pass")


def test_the_verdict_says_that_a_constant_does_as_well():
    people = np.array([[5, 5, 4]] * 20 + [[5, 5, 5]] * 20)
    result = alternative_annotator_test(np.r_[np.full(39, 5), 4], people)
    assert result.passes and result.constant == 5
    assert result.verdict == (
        "The judge passes (winning rate 1, advantage 0.975), but a judge that always says 5 does as well or better "
        "(winning rate 1, advantage 1): the test says nothing for this judge."
    )


@pytest.mark.parametrize("unit", [1.0, 1e-8, 1e8])
def test_equal_distances_tie_whatever_their_rounding(unit):
    assert 0.3 - 0.2 != 0.4 - 0.3
    people = unit * np.column_stack([np.full(40, 0.4), np.full(40, 0.3), np.full(40, 0.3)])
    first, second, _ = alternative_annotator_test(np.full(40, 0.2 * unit), people).annotators
    assert (first.judge_wins, first.annotator_wins) == (1.0, 1.0)
    assert (second.judge_wins, second.annotator_wins) == (0.0, 1.0)


def test_groups_make_the_t_test_one_of_clusters():
    judge, ratings = labelled(n=60, k=3)
    ratings = np.nan_to_num(ratings, nan=3.0)
    groups = np.repeat(np.arange(12), 5)
    result = alternative_annotator_test(judge, ratings, groups=groups)
    plain = alternative_annotator_test(judge, ratings)
    singles = alternative_annotator_test(judge, ratings, groups=np.arange(60))
    close([a.p_value for a in singles.annotators], [a.p_value for a in plain.annotators])
    # equal clusters: the t test of the cluster means
    for j, found in enumerate(result.annotators):
        others = np.delete(ratings, j, axis=1)
        far, own = (((others - v[:, None]) ** 2).sum(axis=1) for v in (judge, ratings[:, j]))
        loss = (own <= far).astype(float) - (far <= own)
        wanted = stats.ttest_1samp(loss.reshape(12, 5).mean(axis=1), 0.2, alternative="less").pvalue
        close(found.p_value, wanted, 1e-10)
    assert (result.n_groups, plain.n_groups) == (12, 0)


def test_few_items_are_a_warning():
    judge, ratings = labelled(n=29, k=3)
    ratings = np.nan_to_num(ratings, nan=3.0)
    result = alternative_annotator_test(judge, ratings)
    few = "few_items: annotator 0 has 29 items to compare, below 30: the t test is not to be trusted"
    assert result.warnings[0] == few
    assert len(result.warnings) == 3
    assert alternative_annotator_test(*labelled(n=120)).warnings == ()


# --- messages ---------------------------------------------------------------------------------------------------------

(RATINGS, JUDGE, *_), (SCORES, LABELLED) = crossed(), labelled()
MESSAGES = [
    (krippendorff_alpha, {"ratings": TEXTBOOK}, [
        ({"ratings": [[1], [2]]}, "`ratings` must have at least 2 columns, one for each rater, but got 1."),
        ({"ratings": [1, 2]}, "`ratings` must have 2 dimensions, but got shape (2,)."),
        ({"ratings": [["a"]]}, "`ratings` must be numeric (for names there is metric 'nominal'), but got [['a']]."),
        ({"metric": "linear"}, "`metric` must be one of 'interval', 'nominal', 'ordinal', 'ratio', but got 'linear'."),
        ({"ratings": [[1, -1]], "metric": "ratio"}, "`ratings` must not be negative for metric 'ratio', but got -1."),
        ({"groups": ["a", "b"]}, "`groups` must have the length of `ratings` (12), but got 2."),
        ({"confidence_level": 95}, "`confidence_level` must be between 0 and 1, but got 95."),
    ]),
    (icc, {"ratings": FOUR_JUDGES}, [
        ({"ratings": [[1], [2]]}, "`ratings` must have at least 2 columns, one for each rater, but got 1."),
        ({"confidence_level": 1}, "`confidence_level` must be between 0 and 1, but got 1."),
    ]),
    (label_ceiling, {"ratings": RATINGS}, [
        ({"ratings": RATINGS[:, :1]}, "`ratings` must have at least 2 columns, one for each rater, but got 1."),
        ({"judge": JUDGE[:3]}, "`judge` must have the length of `ratings` (28), but got 3."),
        ({"groups": [1, 2, 3]}, "`groups` must have the length of `ratings` (28), but got 3."),
        ({"level": "group"}, "`groups` must be given for level 'group', but got None."),
        ({"method": "spa"},
         "`method` must not be 'spa', which compares whole samples of systems, not one score of each."),
        ({"method": "rho"}, "`method` must be one of "),
        ({"confidence_level": 0}, "`confidence_level` must be between 0 and 1, but got 0."),
    ]),
    (disattenuated, {"judge": JUDGE, "ratings": RATINGS}, [
        ({"judge": JUDGE[:3]}, "`judge` must have the length of `ratings` (28), but got 3."),
        ({"min_reliability": 1}, "`min_reliability` must be between 0 and 1, but got 1."),
        ({"ratings": RATINGS[:, 0]}, "`ratings` must have 2 dimensions, but got shape (28,)."),
    ]),
    (alternative_annotator_test, {"judge": SCORES, "ratings": LABELLED}, [
        ({"ratings": LABELLED[:, :2]}, "`ratings` must have at least 3 columns, one for each annotator, but got 2."),
        ({"score": "f1"}, "`score` must be one of 'auto', 'accuracy', 'rmse', but got 'f1'."),
        ({"epsilon": -0.1}, "`epsilon` must be at least 0 and below 1, but got -0.1."),
        ({"epsilon": 1}, "`epsilon` must be at least 0 and below 1, but got 1."),
        ({"q": 0}, "`q` must be between 0 and 1, but got 0."),
        ({"judge": SCORES[:5]}, "`judge` must have the length of `ratings` (80), but got 5."),
        ({"groups": np.zeros(80)},
         "`ratings` must have at least 2 groups in each column, but column 0 has 1 to compare."),
    ]),
    (alternative_annotator_test, {"judge": ["a", "b"], "ratings": [["a", "b", "a"], ["b", "b", None]]}, [
        ({"score": "rmse"}, "`score` must be 'accuracy' for names, but got 'rmse'."),
        ({"judge": [1, 2]}, "`judge` must be all names or all numbers, as the other, but got 1."),
        ({}, "`ratings` must have at least 2 items in each column, but column 2 has 1 to compare."),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [(function, base | change, said) for function, base, cases in MESSAGES for change, said in cases],
)
def test_messages(function, options, said):
    text = message(function, **options)
    assert text == said or (said.endswith(" ") and text.startswith(said))


# --- real data --------------------------------------------------------------------------------------------------

EXPERTS = ["e0", "e1", "e2"]


@functools.cache
def loaded(name):
    pytest.importorskip("pandas")
    from calib import datasets

    load = getattr(datasets, f"load_{name}", None) or getattr(pytest.importorskip("data_sets"), f"load_{name}")
    return load()


def wide(name, value="score", criterion=None):
    """One row per item (and criterion), one column per rater."""
    _, ratings = loaded(name)
    if criterion is not None:
        ratings = ratings[ratings["criterion"] == criterion]
    rows = ratings.assign(key=ratings["item"].astype(str) + "__" + ratings["criterion"].astype(str))
    return rows.astype({"rater": str}).pivot(index="key", columns="rater", values=value)


def experts(criterion):
    """Ratings, GPT-4o, groups, systems of SummEval."""
    table = wide("summeval_judges", criterion=criterion)
    items = loaded("summeval_judges")[0].set_index("item").loc[[key.rpartition("__")[0] for key in table.index]]
    return table[EXPERTS].to_numpy(), table["gpt-4o"].to_numpy(), items["group"].tolist(), items["system"].tolist()


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("criterion", "interval", "ordinal"),
    # computed once with other code on the three experts of SummEval
    [
        ("coherence", 0.5591, 0.5537), ("consistency", 0.8993, 0.7964), ("fluency", 0.7262, 0.5878),
        ("relevance", 0.4526, 0.3967),
    ],
)  # fmt: skip
def test_alpha_of_the_experts_of_summeval(criterion, interval, ordinal):
    ratings, *_ = experts(criterion)
    found = {m: krippendorff_alpha(ratings, metric=m).estimate for m in ("interval", "ordinal")}
    assert {metric: round(value, 4) for metric, value in found.items()} == {"interval": interval, "ordinal": ordinal}


@needs_data
@pytest.mark.parametrize(
    ("criterion", "one", "three", "corrected"),
    # computed once with other code on the three experts of SummEval, and GPT-4o
    [
        ("coherence", 0.631, 0.837, 0.602), ("consistency", 0.902, 0.965, 0.655), ("fluency", 0.734, 0.892, 0.504),
        ("relevance", 0.512, 0.759, 0.534),
    ],
)  # fmt: skip
def test_reliability_of_the_experts_of_summeval(criterion, one, three, corrected):
    ratings, judge, groups, systems = experts(criterion)
    estimates = icc(ratings).estimates
    assert (round(estimates["ICC(C,1)"], 3), round(estimates["ICC(C,k)"], 3)) == (one, three)
    result = disattenuated(judge, ratings, groups=groups, systems=systems)
    assert round(result.estimate, 3) == corrected
    assert (result.n, result.n_groups, result.n_systems) == (1600, 100, 16)


@needs_data
@pytest.mark.parametrize(
    ("criterion", "people", "judge"),
    # computed once with other code: each expert, then GPT-4o, against the mean of the two others, Pearson r
    [
        ("coherence", (0.75, 0.75, 0.66), (0.51, 0.50, 0.58)),
        ("consistency", (0.91, 0.94, 0.95), (0.63, 0.63, 0.65)), ("fluency", (0.79, 0.79, 0.80), (0.46, 0.45, 0.48)),
        ("relevance", (0.62, 0.63, 0.54), (0.46, 0.36, 0.49)),
    ],
)  # fmt: skip
def test_ceiling_of_the_experts_of_summeval(criterion, people, judge):
    ratings, scores, *_ = experts(criterion)
    result = label_ceiling(ratings, scores, method="pearson")
    assert tuple(round(value, 2) for value in result.by_rater) == people
    assert tuple(round(value, 2) for value in result.judge_by_rater) == judge


@needs_data
@pytest.mark.parametrize(
    ("name", "value", "judge", "epsilon", "omega", "advantage"),
    # computed once with other code, equal to the notebook of the paper's repository. All criteria pooled; rmse
    # for SummEval and Lesion, accuracy for the names of WAX; epsilon of experts, skilled people, a crowd
    [
        ("summeval_judges", "score", "gpt-4o", 0.2, 0.0, 0.475729),
        ("summeval_judges", "score", "mistral-v03", 0.2, 0.0, 0.622969),
        ("lesion", "score", "gemini_pro", 0.15, 1.0, 0.809751),
        ("wax", "label", "gemini_pro", 0.1, 0.5, 0.737148),
    ],
)
def test_published_alt_tests(name, value, judge, epsilon, omega, advantage):
    table = wide(name, value)
    people = [rater for rater in table if rater in EXPERTS or rater.isdigit() or rater.startswith("student")]
    result = alternative_annotator_test(table[judge].to_numpy(), table[people].to_numpy(), epsilon=epsilon)
    assert result.score == ("accuracy" if name == "wax" else "rmse")
    assert (result.winning_rate, round(result.advantage, 6)) == (omega, advantage)
    assert result.passes == (omega >= 0.5)
    assert result.warnings == ()


@needs_data
def test_the_plain_test_ranks_the_worst_judge_of_summeval_first():
    table = wide("summeval_judges")
    people = table[EXPERTS].to_numpy()
    results = {
        judge: alternative_annotator_test(table[judge].to_numpy(), people) for judge in table if judge not in EXPERTS
    }
    assert max(results, key=lambda judge: results[judge].advantage) == "mistral-v03"
    assert min(results, key=lambda judge: results[judge].rank_agreement) == "mistral-v03"
    assert results["mistral-v03"].rank_agreement < 0.1 < 0.6 < results["gpt-4o"].rank_agreement
    for result in results.values():  # most labels are 5
        assert result.constant == 5
        assert result.constant_advantage > result.advantage
        assert "a judge that always says 5 does as well or better" in result.verdict


def test_a_judge_that_wins_against_fewer_than_half_does_not_pass():
    rng = np.random.default_rng(5)
    truth = rng.integers(1, 6, 300)
    people = np.column_stack([truth, truth, rng.permutation(truth)])
    result = alternative_annotator_test(truth + rng.integers(-1, 2, 300), people, epsilon=0.0)
    assert result.winning_rate == pytest.approx(1 / 3)
    assert not result.passes
    assert result.verdict.startswith("The judge does not pass")
