"""Means of N draws against the exact expectation: enumeration, the laws, and random subsets that repeat."""

import dataclasses
import itertools
import math
from functools import partial

import numpy as np
import pytest
import refusal
from numpy.testing import assert_allclose
from scipy import stats

from calib.stats import agreement, convergence

NAN = math.nan


message = partial(refusal.message, convergence)


def replies(seed=0, n=40, k=7, within=1.0):
    """Truth, and k draws of it for each of n items."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, n)
    return truth, truth[:, None] + within * rng.normal(size=(n, k))


def ratings(seed=0, n=40, k=7):
    """Whole scores from 1 to 5, as a judge gives them."""
    truth, draws = replies(seed, n, k)
    return truth, np.clip(np.round(draws), 1, 5)


def same(one, other):
    """Equal, NaN to NaN."""
    return repr(one) == repr(other)


# --- the error of N draws ---------------------------------------------------------------------------------------


def test_the_prediction_is_the_mean_over_all_subsets():
    # without replacement the mean squared distance of N of K draws from all K is s^2 (1/N - 1/K), exactly
    _, draws = replies(1, 5, 6)
    sizes = [1, 2, 4, 5, 6]
    result = convergence(draws, sizes=sizes, rng=0)
    for n, predicted in zip(sizes, result.rmse_predicted, strict=True):
        subsets = [draws[:, list(chosen)].mean(axis=1) for chosen in itertools.combinations(range(6), n)]
        assert_allclose(predicted**2, np.mean((np.array(subsets) - draws.mean(axis=1)) ** 2), rtol=1e-10, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["exact", "all draws"])
def test_error_follows_the_law(reference):
    truth, draws = replies(2, 3000, 12, within=0.7)
    options = {"exact": truth} if reference == "exact" else {}
    result = convergence(draws, sizes=[1, 2, 4, 8, 12], n_subsets=20, rng=0, **options)
    assert result.reference == reference
    # within 3 %: sqrt of a variance with 33 000 degrees of freedom, and 3000 items
    assert_allclose(result.rmse, result.rmse_predicted, rtol=0.03, atol=1e-12)
    spared = 0 if reference == "exact" else 1 / 12
    law = [0.7 * math.sqrt(1 / n - spared) for n in (1, 2, 4, 8, 12)]
    assert_allclose(result.rmse_predicted, law, rtol=0.02, atol=1e-12)


def test_a_judge_without_spread_is_exact_at_once():
    result = convergence(np.repeat([[1.0], [3.0], [4.0]], 5, axis=1), rng=0)
    assert set(result.rmse) == set(result.rmse_predicted) == {0.0} == {result.r}
    assert_allclose(result.correlation, 1)


# --- correlations -----------------------------------------------------------------------------------------------


def test_attenuation_is_that_of_spearman_and_brown():
    rng = np.random.default_rng(4)
    truth, draws = replies(5, 20_000, 9, within=1.5)
    labels = truth + rng.normal(size=20_000)
    sizes = [1, 2, 3, 6, 9]
    result = convergence(draws, exact=truth, labels=labels, coefficient="pearson", sizes=sizes, n_subsets=3, rng=0)
    alone = np.corrcoef(truth, labels)[0, 1]
    icc = 1 / (1 + 1.5**2)
    law = [math.sqrt(n * icc / (1 + (n - 1) * icc)) for n in sizes]
    assert_allclose(result.correlation, law, atol=0.01)
    assert_allclose(result.agreement, np.multiply(alone, law), atol=0.01)
    assert_allclose(result.agreement_reference, alone, rtol=1e-12)
    assert_allclose(result.r, 1.5**2, rtol=0.05)


def test_r_is_the_ratio_of_the_variance_components():
    _, draws = replies(6, 11, 4)
    # one-way analysis of variance: within-item mean square; (between mean square - within) / K
    within = np.var(draws, axis=1, ddof=1).mean()
    between = np.var(draws.mean(axis=1), ddof=1) - within / 4
    assert_allclose(convergence(draws, rng=0).r, within / between, rtol=1e-12)


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall", "kendall_c"])
def test_the_last_size_correlates_as_scipy_says(method):
    truth, draws = ratings(7)
    labels = np.round(truth)
    function = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}.get(method, stats.kendalltau)
    options = {"variant": "c"} if method == "kendall_c" else {}
    result = convergence(draws, labels=labels, coefficient=method, rng=0)
    assert result.coefficient == method
    assert_allclose(result.agreement[-1], function(draws.mean(axis=1), labels, **options).statistic, rtol=1e-12)
    assert_allclose(result.agreement_reference, result.agreement[-1], rtol=1e-12)
    assert_allclose(result.agreement_interval, (result.agreement_low[-1], result.agreement_high[-1]), rtol=1e-9)
    exact = convergence(draws, exact=truth, labels=labels, coefficient=method, rng=0)
    assert_allclose(exact.correlation[-1], function(draws.mean(axis=1), truth, **options).statistic, rtol=1e-12)
    assert_allclose(exact.agreement_reference, function(truth, labels, **options).statistic, rtol=1e-12)


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("repeated", [False, True])
def test_the_interval_at_all_draws_is_that_of_agreement(method, repeated):
    truth, draws = ratings(8, 60)
    groups = {"groups": np.repeat(np.arange(20), 3)} if repeated else {}
    result = convergence(draws, labels=truth, sizes=[7], coefficient=method, rng=0, **groups)
    peer = agreement(draws.mean(axis=1), truth, coefficient=method, **groups)
    # agreement leaves out whole groups (or takes Fisher's law), this adds up what their items do: alike, not equal
    assert_allclose(np.ptp(result.agreement_interval), np.ptp(peer.interval), rtol=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_the_interval_is_as_wide_as_other_items_make_it(method):
    rng, ends, means = np.random.default_rng(20), [], []
    for _ in range(300):
        truth = rng.normal(size=60)
        draws = np.round(truth[:, None] + rng.normal(size=(60, 8)))
        result = convergence(
            draws, labels=truth + rng.normal(size=60), sizes=[2], coefficient=method, n_subsets=30, rng=rng
        )
        ends.append((result.agreement_low[0], result.agreement_high[0]))
        means.append(result.agreement[0])
    low, high = np.transpose(ends)
    covered = np.mean((low <= np.mean(means)) & (np.mean(means) <= high))
    assert 0.91 <= covered <= 0.985  # 95 %, +- 2.5 points of 300 data sets and a bit for small samples


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["exact", "all draws"])
def test_the_interval_of_the_error_is_as_wide_as_other_items_make_it(reference):
    rng, hits = np.random.default_rng(21), []
    for _ in range(400):
        truth, noise = rng.normal(size=80), rng.uniform(0.2, 1.5, size=(80, 1))  # items differ in their noise
        draws = truth[:, None] + noise * rng.normal(size=(80, 6))
        options = {"exact": truth} if reference == "exact" else {}
        result = convergence(draws, sizes=[2], n_subsets=1, rng=rng, **options)
        law = math.sqrt(((1.5**3 - 0.2**3) / (3 * 1.3)) * (1 / 2 - (0 if options else 1 / 6)))
        hits.append(result.rmse_low[0] <= law <= result.rmse_high[0])
    assert 0.915 <= np.mean(hits) <= 0.985


@pytest.mark.parametrize("unread", [0, 60, 180])
def test_items_without_a_read_draw_do_not_narrow_the_interval(unread):
    truth, draws = ratings(26, 60, 5)
    plain = convergence(draws, labels=truth, sizes=[2, 5], rng=0)
    more = np.vstack([draws, np.full((unread, 5), NAN)])
    result = convergence(more, labels=np.concatenate([truth, np.ones(unread)]), sizes=[2, 5], rng=0)
    assert_allclose(result.agreement_interval, plain.agreement_interval)
    assert_allclose(
        np.subtract(result.agreement_high, result.agreement_low),
        np.subtract(plain.agreement_high, plain.agreement_low),
        rtol=0.1,
    )


def test_the_error_is_that_of_all_subsets_even_where_draws_are_missing():
    _, draws = replies(22, 4, 6)
    draws[0, 1], draws[1, [0, 2, 5]], draws[2, 1:] = NAN, NAN, NAN
    exact = np.array([3.0, 2.5, 3.5, 3.1])
    for options, target in (({}, np.nanmean(draws, axis=1)), ({"exact": exact}, exact)):
        for n in (1, 2, 4, 6):
            off = []
            for row, aim in zip(draws, target, strict=True):
                means = [row[list(c)] for c in itertools.combinations(range(6), n)]
                off.append(np.mean([(np.nanmean(m) - aim) ** 2 for m in means if np.isfinite(m).any()]))
            result = convergence(draws, sizes=[n], n_subsets=1, rng=0, **options)
            assert_allclose(result.rmse[0] ** 2, np.mean(off), rtol=1e-9, atol=1e-14)


def test_scores_that_lie_on_no_scale_give_the_same_as_those_that_do():
    # thirds as fractions are on a scale; a hair off they are not, and every mean is sorted for itself
    truth, draws = ratings(23, 30, 5)
    draws[3, 2] = NAN
    crooked = draws + np.where(draws == 3, 1e-7, 0)
    for method in ("pearson", "spearman", "kendall"):
        plain = convergence(draws, labels=truth, sizes=[1, 2], coefficient=method, n_subsets=2000, rng=0)
        other = convergence(crooked, labels=truth, sizes=[1, 2], coefficient=method, n_subsets=2000, rng=1)
        assert_allclose(plain.agreement, other.agreement, atol=0.02)
        assert_allclose(plain.agreement[0], other.agreement[0], atol=0.004)


def test_entropy_is_that_of_all_subsets():
    draws = np.array([[1.0, 1, 2, 3], [2, 2, 2, 2], [1, 2, 1, 2]])
    result = convergence(draws, sizes=[1, 2, 3, 4], n_subsets=1, rng=0)
    for n, value in zip(result.sizes, result.entropy, strict=True):
        each = [
            stats.entropy(np.unique(row[list(c)], return_counts=True)[1])
            for row in draws
            for c in itertools.combinations(range(4), n)
        ]
        assert_allclose(value, np.mean(each), atol=1e-12)
    assert np.isnan(convergence(replies(24)[1], rng=0).entropy).all()


def test_only_pearson_has_a_law():
    truth, draws = ratings(25)
    assert np.isnan(convergence(draws, labels=truth, rng=0).agreement_predicted).all()
    result = convergence(draws, labels=truth, coefficient="pearson", rng=0)
    assert_allclose(result.agreement_predicted[-1], result.agreement_reference)
    assert_allclose(result.correlation_predicted[-1], 1)
    icc = 1 / (1 + result.r)
    brown = [n * icc / (1 + (n - 1) * icc) for n in result.sizes]
    assert_allclose(result.agreement_predicted, result.agreement_reference * np.sqrt(np.array(brown) / brown[-1]))


def test_tied_means_in_tenths_stay_tied():
    # the mean of all draws depends on their order in the last bit
    rng = np.random.default_rng(9)
    draws = rng.integers(1, 6, (40, 6)) / 10
    assert_allclose(convergence(draws, coefficient="kendall", sizes=[6], rng=0).correlation, 1)


def test_without_labels_there_is_no_agreement():
    result = convergence(ratings(10)[1], rng=0)
    curves = (result.agreement, result.agreement_low, result.agreement_high)
    assert np.isnan([*np.ravel(curves), result.agreement_reference]).all()


# --- draws that could not be read -------------------------------------------------------------------------------


def test_unread_draws_are_counted_and_left_out():
    truth, draws = ratings(11)
    draws[0, :], draws[1, 2:], draws[5, 4] = NAN, NAN, NAN
    result = convergence(draws, labels=truth, sizes=[7], rng=0)
    assert (result.n_unread, result.n, result.n_draws) == (13, 40, 7)
    read = np.array([row[np.isfinite(row)].mean() for row in draws[1:]])
    assert_allclose(result.agreement, stats.spearmanr(read, truth[1:]).statistic)
    # 267 draws were read, of 39 items
    within = sum(np.nansum((row - np.nanmean(row)) ** 2) for row in draws[1:]) / (267 - 39)
    spared = (37 / 7 + 1 / 2 + 1 / 6) / 39  # of 7, 2 and 6 draws
    assert_allclose(convergence(draws, sizes=[1], rng=0).rmse_predicted, math.sqrt(within * (1 - spared)))


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["exact", "all draws"])
def test_the_law_holds_where_replies_are_unread(reference):
    rng = np.random.default_rng(27)
    truth, draws = replies(28, 4000, 12, within=1.0)
    draws[rng.random(draws.shape) < 0.3] = NAN
    options = {"exact": truth} if reference == "exact" else {}
    labels = truth + rng.normal(size=4000)
    result = convergence(draws, labels=labels, coefficient="pearson", sizes=[1, 4, 8], n_subsets=20, rng=0, **options)
    assert_allclose(result.rmse, result.rmse_predicted, rtol=0.03)
    assert_allclose(result.agreement, result.agreement_predicted, atol=0.01)
    assert_allclose(result.correlation, result.correlation_predicted, atol=0.01)


def test_people_may_have_gaps():
    truth, draws = ratings(12)
    labels = truth.copy()
    labels[[3, 8]] = NAN
    keep = np.isfinite(labels)
    result = convergence(draws, labels=labels, sizes=[7], rng=0)
    assert_allclose(result.agreement, stats.spearmanr(draws[keep].mean(axis=1), truth[keep]).statistic)
    masked = convergence(draws, labels=np.ma.array(truth, mask=~keep), sizes=[7], rng=0)
    assert masked.agreement == result.agreement


# --- options ----------------------------------------------------------------------------------------------------


def test_the_same_generator_gives_the_same_answer():
    truth, draws = ratings(13)
    options = {"exact": truth, "labels": truth}
    one = convergence(draws, rng=5, **options)
    assert same(convergence(draws, rng=5, **options), one)
    # a generator has no seed to tell
    assert same(convergence(draws, rng=np.random.default_rng(5), **options), dataclasses.replace(one, seed=None))
    other = convergence(draws, rng=6, **options)
    assert (one.seed, other.seed, convergence(draws).seed) == (5, 6, None)
    assert not same(dataclasses.replace(other, seed=5), one)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    convergence(draws)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_every_option_changes_the_answer():
    truth, draws = ratings(14)
    base = convergence(draws, labels=truth, rng=0)
    assert convergence(draws, exact=truth, labels=truth, rng=0).rmse != base.rmse
    assert convergence(draws, labels=truth[::-1], rng=0).agreement != base.agreement
    assert convergence(draws, labels=truth, coefficient="kendall", rng=0).agreement != base.agreement
    assert convergence(draws, labels=truth, sizes=[2, 3], rng=0).sizes == (2, 3)
    assert convergence(draws, labels=truth, n_subsets=50, rng=0).agreement != base.agreement
    assert convergence(draws, labels=truth, confidence_level=0.8, rng=0).rmse_low != base.rmse_low
    assert convergence(draws, labels=truth, groups=np.arange(40) // 4, rng=0).agreement_low != base.agreement_low
    assert base.n_subsets == 200


def test_the_draws_are_left_as_they_were():
    _, draws = ratings(15)
    before = draws.copy()
    convergence(draws, rng=0)
    assert np.array_equal(draws, before)


@pytest.mark.parametrize(
    ("k", "sizes"),
    [
        (2, (1, 2)),
        (4, (1, 2, 3, 4)),
        (20, (1, 2, 3, 5, 8, 10, 15, 20)),
        (60, (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 60)),
        (130, (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100)),
    ],
)
def test_default_sizes(k, sizes):
    assert convergence(ratings(16, 5, k)[1], n_subsets=2, rng=0).sizes == sizes


def test_one_row_for_each_size():
    result = convergence(ratings(17)[1], sizes=(5, 2, 2), n_subsets=3, rng=0)
    assert [row["draws"] for row in result._rows()] == [*result.sizes] == [5, 2, 2]


# --- messages and words -----------------------------------------------------------------------------------------


DRAWS = ratings(18, 6, 4)[1]
FEW = "`samples` must have two items and two draws at least, but got shape "
SIZES = "`sizes` must be whole numbers from 1 to 4 (the draws there are), but got "
COUNT = "`n_subsets` must be a whole number of 1 or more, but got "
TAU = (
    "`coefficient` must be one of 'spearman', 'pearson', 'kappa', 'kendall', 'kendall_a', 'kendall_c', 'gamma', "
    "'pairs', 'exact', 'adjacent', but got 'tau', which is called 'kendall' here."
)


@pytest.mark.parametrize(
    ("draws", "options", "wanted"),
    [
        (DRAWS[:, :1], {}, f"{FEW}(6, 1)."),
        (DRAWS[:1], {}, f"{FEW}(1, 4)."),
        (np.empty((0, 4)), {}, f"{FEW}(0, 4)."),
        (DRAWS[0], {}, "`samples` must have 2 dimensions, but got shape (4,)."),
        ([["a", "b"]], {}, "`samples` must be numeric, but got [['a', 'b']]."),
        (DRAWS, {"exact": [1, 2]}, "`exact` must have the length of `samples` (6), but got 2."),
        (DRAWS, {"labels": [1, 2, 3]}, "`labels` must have the length of `samples` (6), but got 3."),
        (DRAWS, {"labels": DRAWS}, "`labels` must have 1 dimension, but got shape (6, 4)."),
        (DRAWS, {"coefficient": "tau"}, TAU),
        *[(DRAWS, {"sizes": wrong}, f"{SIZES}{wrong}.") for wrong in ([1, 5], [0], [1.5], [])],
        *[(DRAWS, {"n_subsets": wrong}, f"{COUNT}{wrong}.") for wrong in (0, -1)],
        *[
            (wrong, {}, "`samples` must have a readable draw for two items at least.")
            for wrong in (np.full((3, 4), NAN), [[1, 2, 3], [NAN] * 3])
        ],
    ],
)
def test_messages(draws, options, wanted):
    assert message(draws, **options) == wanted


def test_the_line_of_text_names_the_sizes():
    truth, draws = ratings(20)
    for sizes, last, first in (
        ([3, 7], "7 draws", "3 draws"),
        ([1, 2], "2 draws", "1 draw"),
        ([7, 1], "1 draw", "7 draws"),
    ):
        result = convergence(draws, exact=truth, sizes=sizes, rng=0)
        start = f"the mean of {last} is {result.rmse[1]:.4g} points (RMSE) from the exact expectation, of {first} "
        assert str(result).startswith(f"{start}{result.rmse[0]:.4g}; r = ")


@pytest.mark.parametrize(
    ("k", "sizes", "shown"),
    [(20, None, 10), (20, [5, 20], 5), (7, None, 3), (2, None, 1), (6, [4, 6], None), (6, [6], None)],
)
def test_all_draws_beside_themselves_are_no_convergence(k, sizes, shown):
    truth, draws = ratings(31, 60, k)
    result = convergence(draws, labels=truth, coefficient="pearson", sizes=sizes, rng=0)
    text = str(result)
    if shown is None:
        assert text.startswith(f"the mean of all {k} is itself about ")
    else:
        near = result.rmse[result.sizes.index(shown)]
        assert text.startswith(
            f"the mean of {shown} draw{'s' * (shown > 1)} is {near:.4g} points (RMSE) from the mean of all {k}"
        )
    assert " 0 points" not in text
    assert f"is itself about {result.rmse_of_all:.4g} from that of endless draws (extrapolated)" in text
    assert f"{result.agreement_reference:.4g} of all {k}, about {result.agreement_limit:.4g} of endless draws" in text
    for row in result._rows():
        itself = row["draws"] == k
        assert all(math.isnan(row[name]) == itself for name in ("rmse", "rmse_low", "rmse_predicted", "correlation"))
        assert row["rmse_limit"] > 0 and math.isfinite(row["agreement"])


@pytest.mark.slow
@pytest.mark.parametrize("unread", [0.0, 0.25])
@pytest.mark.parametrize("within", [0.4, 1.5])
def test_the_limit_is_the_distance_from_the_truth(within, unread):
    # the truth, which the function is not told, is what endless draws would have as their mean
    truth, draws = replies(33, 4000, 10, within)
    rng = np.random.default_rng(34)
    draws[rng.random(draws.shape) < unread] = NAN
    labels = truth + rng.normal(size=4000)
    result = convergence(draws, labels=labels, coefficient="pearson", sizes=[2, 10], n_subsets=2, rng=0)
    distance = np.sqrt(np.nanmean((np.nanmean(draws, axis=1) - truth) ** 2))
    assert_allclose(result.rmse_of_all, distance, rtol=0.04)
    assert result.rmse_limit[1] == result.rmse_of_all
    told = convergence(draws, exact=truth, labels=labels, coefficient="pearson", sizes=[2, 10], n_subsets=2, rng=0)
    assert_allclose(result.rmse_limit, told.rmse, rtol=0.04)
    assert_allclose(result.agreement_limit, np.corrcoef(truth, labels)[0, 1], atol=0.02)
    assert result.agreement_limit > result.agreement_reference
    assert told.agreement_limit == told.agreement_reference
    assert math.isnan(convergence(draws, labels=labels, sizes=[2], n_subsets=1, rng=0).agreement_limit)


def test_items_without_a_reference_are_left_out():
    truth, draws = ratings(30, 50, 5)
    exact, labels = truth.copy(), np.round(truth)
    exact[::3] = NAN
    kept = np.isfinite(exact)
    options = {"sizes": [1, 5], "coefficient": "pearson", "n_subsets": 30}
    gaps = convergence(draws, exact=exact, labels=labels, groups=np.arange(50) // 2, rng=0, **options)
    plain = convergence(
        draws[kept], exact=exact[kept], labels=labels[kept], groups=(np.arange(50) // 2)[kept], rng=0, **options
    )
    assert same(gaps, plain)
    assert gaps.n == kept.sum()
    assert message(draws, exact=np.full(50, NAN)).startswith("`samples` and `exact` must have two items")


def test_a_great_many_draws():
    result = convergence(np.random.default_rng(1).normal(size=(5, 1200)), sizes=[1, 1200], n_subsets=2, rng=1)
    assert_allclose(result.rmse, result.rmse_predicted, rtol=1e-6, atol=1e-9)


def test_a_size_at_which_some_subsets_are_constant_has_a_mean():
    # of 20 items 17 are always right: in some subsets of one draw all are
    rng = np.random.default_rng(1)
    draws = np.where(np.arange(20)[:, None] < 17, 1.0, rng.integers(0, 2, (20, 6)))
    labels = (np.arange(20) < 15).astype(float)
    assert np.isfinite(convergence(draws, labels=labels, sizes=[1, 3], rng=0).agreement).all()
