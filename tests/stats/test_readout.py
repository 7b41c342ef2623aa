"""Draws beside their probabilities, entropy from few draws, and which number to read."""

import itertools
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from calib.stats import (
    CalibWarning,
    agreement,
    distribution_fit,
    entropy,
    expected_entropy,
    fit_temperature,
    mode,
    point_scores,
    sampled_entropy,
    temper,
)

LEVELS = [1, 2, 3]


def drawn(p, n_draws, rng):
    """Draws of each row of p, as levels 1, 2, ..."""
    upper = np.cumsum(p, axis=1)[:, None, :-1]
    return 1.0 + (rng.random((len(p), n_draws, 1)) > upper).sum(axis=2)


# --- entropy of draws -------------------------------------------------------------------------------------------


def test_sampled_entropy_by_hand():
    plug_in = -(0.6 * np.log(0.6) + 0.4 * np.log(0.4))
    assert sampled_entropy([3, 2, 0], correction="none") == pytest.approx(plug_in)
    assert sampled_entropy([3, 2, 0]) == pytest.approx(plug_in + 1 / 10)  # two levels came: (2 - 1) / (2 * 5)
    assert sampled_entropy([5, 0, 0]) == 0
    assert np.isnan(sampled_entropy([[0, 0], [0, 0]])).all()


def test_sampled_entropy_equals_scipy():
    counts = np.random.default_rng(1).integers(1, 9, (20, 4))
    assert_allclose(sampled_entropy(counts, correction="none"), stats.entropy(counts, axis=1))


@pytest.mark.parametrize("correction", ["none", "miller-madow"])
@pytest.mark.parametrize("counts", [[3, 2, 1], [6, 0, 0], [1, 1, 4], [2, 0, 4]])
def test_expected_entropy_by_all_subsets(counts, correction):
    draws = np.repeat(np.arange(3), counts)
    for n in range(1, 7):
        subsets = [np.bincount(subset, minlength=3) for subset in itertools.combinations(draws, n)]
        wanted = np.mean(sampled_entropy(subsets, correction=correction))
        assert expected_entropy(counts, n, correction=correction) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("correction", ["none", "miller-madow"])
@pytest.mark.parametrize("p", [[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [1.0, 0.0, 0.0]])
def test_expected_entropy_of_new_draws_by_all_sequences(p, correction):
    for n in (1, 2, 5):
        sequences = np.array(list(itertools.product(range(3), repeat=n)))
        chance = np.prod(np.array(p)[sequences], axis=1)
        counts = [np.bincount(row, minlength=3) for row in sequences]
        wanted = chance @ sampled_entropy(counts, correction=correction)
        assert expected_entropy(p, n, replace=True, correction=correction) == pytest.approx(wanted, abs=1e-12)


def test_expected_entropy_of_all_draws_is_their_entropy():
    counts = np.random.default_rng(2).multinomial(30, [0.4, 0.3, 0.2, 0.1], 50)
    assert_allclose(expected_entropy(counts, 30), sampled_entropy(counts, correction="none"))
    assert_allclose(expected_entropy(counts, 30, correction="miller-madow"), sampled_entropy(counts))
    assert_allclose(expected_entropy(counts, 1), 0, atol=1e-14)


def test_expected_entropy_takes_many_items_and_sizes():
    counts = np.random.default_rng(3).multinomial([[20], [10]], [0.6, 0.3, 0.1], (2, 4))
    table = expected_entropy(counts, [[1, 2, 5], [10, 11, 20]])
    assert table.shape == (2, 4, 2, 3)
    for i in np.ndindex(2, 4):
        assert_allclose(table[i][0], [expected_entropy(counts[i], n) for n in (1, 2, 5)], atol=1e-14)
    # an item with 10 draws has no subset of 11 or 20
    assert np.isnan(table[1, :, 1, 1:]).all()
    assert np.isfinite(table[0]).all()


def test_expected_entropy_grows_with_the_draws_to_that_of_the_distribution():
    p = [0.5, 0.3, 0.15, 0.05]
    sizes = np.array([1, 2, 5, 20, 100, 1000])
    values = expected_entropy(p, sizes, replace=True)
    assert (np.diff(values) > 0).all()
    # to first order the bias is (K - 1) / 2n; Miller and Madow take it away
    assert (entropy(p) - values[-1]) * 1000 == pytest.approx(1.5, rel=0.02)
    assert abs(expected_entropy(p, 1000, replace=True, correction="miller-madow") - entropy(p)) < 1e-5


# --- draws against probabilities --------------------------------------------------------------------------------


def test_total_variation_and_chi_square_by_hand():
    samples, p = [[1, 1, 2, 2], [1, 3, 3, np.nan]], [[0.5, 0.25, 0.25], [0.5, 0.0, 0.5]]
    result = distribution_fit(samples, p, LEVELS, n_resamples=9, rng=1)
    # item 1: (.5, .5, 0) against p; item 2: (1/3, 0, 2/3)
    assert result.total_variation == pytest.approx((0.25 + 1 / 6) / 2)
    assert result.chi_square == pytest.approx((2 - 1) ** 2 + (0 - 1) ** 2 + 2 * 0.5**2 / 1.5)
    assert (result.n, result.n_draws, result.n_unread, result.df) == (2, 7, 1, 3)
    assert result.entropy_exact == pytest.approx((1.5 * np.log(2) + np.log(2)) / 2)
    assert result.entropy_sampled == pytest.approx((np.log(2) + stats.entropy([1, 2])) / 2)
    assert result.entropy_corrected == pytest.approx(result.entropy_sampled + (1 / 8 + 1 / 6) / 2)


@pytest.mark.parametrize("n_draws", [1, 2, 5])
def test_what_sampling_alone_gives_by_all_outcomes(n_draws):
    p = np.array([[0.5, 0.3, 0.2], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]])
    counts = [c for c in itertools.product(range(n_draws + 1), repeat=3) if sum(c) == n_draws]
    distance, nats = 0.0, 0.0
    for row in p:
        chance = [comb(n_draws, a) * comb(n_draws - a, b) * np.prod(row ** np.array([a, b, c])) for a, b, c in counts]
        distance += np.dot(chance, [np.abs(np.array(c) / n_draws - row).sum() / 2 for c in counts]) / 3
        nats += np.dot(chance, sampled_entropy(counts, correction="none")) / 3
    samples = np.tile([[2], [3], [1]], n_draws)
    result = distribution_fit(samples, p, LEVELS, n_resamples=1)
    assert result.total_variation_expected == pytest.approx(distance, abs=1e-12)
    assert result.entropy_expected == pytest.approx(nats, abs=1e-12)


def test_p_values_are_uniform_where_draws_come_from_the_probabilities():
    """Three draws of skewed items, where the chi-square law fails."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet([0.3, 0.3, 0.3], 30)
    found = [distribution_fit(drawn(p, 3, rng), p, LEVELS, n_resamples=99, rng=rng) for _ in range(300)]
    for name in ("p_value", "tau_p_value"):
        assert stats.kstest([getattr(r, name) for r in found], "uniform").pvalue > 0.01
    mean = np.mean([r.total_variation - r.total_variation_expected for r in found])
    assert abs(mean) < 4 * np.std([r.total_variation for r in found]) / np.sqrt(300)
    entropies = np.array([r.entropy_sampled - r.entropy_expected for r in found])
    assert abs(entropies.mean()) < 4 * entropies.std() / np.sqrt(300)
    by_law = [stats.chi2.sf(r.chi_square, r.df) for r in found]
    assert stats.kstest(by_law, "uniform").pvalue < 1e-6


def test_draws_of_another_temperature_are_found_out():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 200)
    same = distribution_fit(drawn(p, 10, rng), p, LEVELS, rng=1)
    assert same.tau_p_value > 0.05
    assert (distribution_fit(np.ones((9, 3)), [[1, 0, 0]] * 9, LEVELS).tau_p_value) == 1
    for tau in (0.7, 1.4):
        other = distribution_fit(drawn(temper(p, tau), 10, rng), p, LEVELS, rng=1)
        assert other.tau == pytest.approx(tau, abs=0.15)
        assert other.tau_p_value == 0.002  # the least that 999 resamples can give
        assert other.total_variation > other.total_variation_expected
        assert (other.entropy_sampled < other.entropy_expected) == (tau < 1)
    # which a chi-square statistic does not see: colder draws come where they are expected
    assert distribution_fit(drawn(temper(p, 0.7), 10, rng), p, LEVELS, rng=1).p_value > 0.05


def test_temperature_of_draws_is_that_of_labels():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1, 1, 1], 50)
    samples = drawn(p, 4, rng)
    rows = np.repeat(np.arange(50), 4)
    wanted = fit_temperature(p[rows], samples.ravel(), LEVELS, groups=rows).tau
    assert distribution_fit(samples, p, LEVELS, n_resamples=9).tau == pytest.approx(wanted)


def test_impossible_draws_are_counted_and_left_out():
    samples, p = [[1, 2, 3, 3], [1, 2, 2, 1], [3, 3, 3, 3]], [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.5, 0.5, 0.0]]
    with pytest.warns(CalibWarning, match="impossible_draws: 6 of 12 draws are of levels with probability 0"):
        result = distribution_fit(samples, p, LEVELS, n_resamples=9)
    assert (result.n, result.n_draws, result.n_impossible, result.n_dropped) == (2, 6, 6, 1)
    rest = distribution_fit([[1, 2, np.nan, np.nan], [1, 2, 2, 1]], p[:2], LEVELS, n_resamples=9)
    assert result.total_variation == rest.total_variation
    assert result.chi_square == rest.chi_square


def test_fit_follows_the_levels_not_their_order():
    rng = np.random.default_rng(6)
    p = rng.dirichlet([1, 1, 1], 40)
    samples = drawn(p, 6, rng)
    straight = distribution_fit(samples, p, LEVELS, n_resamples=9, rng=1)
    turned = distribution_fit(10 * samples, 7 * p[:, [2, 0, 1]], [30, 10, 20], n_resamples=9, rng=1)
    assert turned.total_variation == pytest.approx(straight.total_variation)
    assert turned.chi_square == pytest.approx(straight.chi_square)


def test_same_seed_same_p_value():
    rng = np.random.default_rng(7)
    p = rng.dirichlet([1, 1, 1], 30)
    samples = drawn(p, 5, rng)
    assert distribution_fit(samples, p, LEVELS, rng=3) == distribution_fit(samples, p, LEVELS, rng=3)
    assert distribution_fit(samples, p, LEVELS, rng=3).signature.startswith(
        "draws-against-p|n:30|draws:150|rs:999|seed:3"
    )


# --- which number to read ---------------------------------------------------------------------------------------


def rated(seed, n=120, n_draws=9):
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, n)
    draws = np.clip(np.round(truth[:, None] + rng.normal(0, 1, (n, n_draws))), 1, 5)
    return draws, np.clip(np.round(truth), 1, 5)


METHODS = ("pearson", "spearman", "kendall_a", "kendall", "kendall_c", "gamma", "pairs", "kappa")


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_readings_equal_agreement_of_each():
    draws, human = rated(1)
    result = point_scores(draws, human, methods=METHODS)
    modes = [
        np.mean([v for v in np.unique(row) if (row == v).sum() == max((row == u).sum() for u in row)]) for row in draws
    ]
    read = {"mean": draws.mean(axis=1), "median": np.median(draws, axis=1), "mode": np.array(modes)}
    for name, x in read.items():
        for method in METHODS:
            wanted = agreement(x, human, method=method, interval="none")
            assert result.value(name, method) == pytest.approx(wanted.estimate, abs=1e-12)
        assert result.readings[["mean", "median", "mode"].index(name)].ties == pytest.approx(wanted.ties_x)
    assert result.ties_human == pytest.approx(wanted.ties_y)
    for method in METHODS:
        singles = [agreement(x, human, method=method, interval="none").estimate for x in draws.T]
        assert result.value("draw", method) == pytest.approx(np.mean(singles))
    assert (result.n, result.n_draws, result.n_missing) == (120, 9, 0)


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_probabilities_read_as_the_draws_that_they_are_the_shares_of():
    draws, human = rated(2)
    p = (draws[:, :, None] == np.arange(1, 6)).mean(axis=1)
    by_draws, by_shares = point_scores(draws, human), point_scores(p, human, levels=range(1, 6), rng=3)
    assert by_shares.n_draws == 200
    for one, two in zip(by_draws.readings[:3], by_shares.readings[:3], strict=True):
        assert one.ties == pytest.approx(two.ties)
        assert one.estimates == pytest.approx(two.estimates)
    # the 200 readings of one new draw scatter by some .07 each
    for method in by_draws.methods:
        assert by_shares.value("draw", method) == pytest.approx(by_draws.value("draw", method), abs=0.03)
    assert by_shares == point_scores(p, human, levels=range(1, 6), rng=3)


def test_several_modes_are_averaged():
    human = [1, 2, 3, 4]
    draws = [[1, 1, 2, 2], [2, 2, 2, 1], [2, 4, 4, 2], [4, 4, 4, 5]]
    result = point_scores(draws, human, methods=["pearson"])
    assert result.value("mode", "pearson") == pytest.approx(np.corrcoef([1.5, 2, 3, 4], human)[0, 1])
    counts = [[2, 2], [1, 3]]
    assert_allclose(mode(counts, [1, 2]), [1, 2])  # which takes the lowest


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_unread_draws_and_items_without_a_score():
    draws, human = rated(3, n=40, n_draws=4)
    holes, blank = draws.copy(), human.copy()
    holes[:5, 0], holes[5], blank[6] = np.nan, np.nan, np.nan
    result = point_scores(holes, blank)
    assert (result.n, result.n_missing) == (38, 2)
    keep = np.delete(np.arange(40), [5, 6])
    means = np.nanmean(holes[keep], axis=1)
    wanted = agreement(means, human[keep], method="spearman", interval="none").estimate
    assert result.value("mean", "spearman") == pytest.approx(wanted)
    firsts = [agreement(column, blank, method="spearman", interval="none").estimate for column in holes.T]
    assert result.value("draw", "spearman") == pytest.approx(np.mean(firsts))


def test_unlike_ties_warn_where_tau_b_or_gamma_is_asked_for():
    draws, human = rated(4)
    with pytest.warns(CalibWarning, match=r"unequal_ties: the m\w+ ties .* tau-b and gamma favor") as caught:
        result = point_scores(draws, human)
    assert result.warnings == (str(caught[0].message),)
    with pytest.warns(CalibWarning, match="; tau-b favor"):
        point_scores(draws, human, methods=["kendall"])
    assert point_scores(draws, human, methods=["spearman", "pairs"]).warnings == ()
    assert point_scores(draws[:, :1], human).warnings == ()  # one draw: every reading is the same
    # of three draws on two levels the mode ties 1.6 times as many pairs as the mean does
    result = point_scores(drawn([[0.5, 0.5]] * 200, 3, np.random.default_rng(9)), np.arange(200))
    assert 1.4 < result.readings[2].ties / result.readings[0].ties < 1.8
    assert result.warnings == ()


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_words_of_point_scores():
    draws, human = rated(5)
    result = point_scores(draws, human)
    assert str(result).startswith(f"pearson with people, 120 items: mean {result.value('mean', 'pearson'):.4g} (")
    frame = pytest.importorskip("pandas") and result.to_frame()
    assert list(frame.columns) == ["reading", "ties", "ties_human", *result.methods]
    assert list(frame["reading"]) == ["mean", "median", "mode", "draw"]


# --- messages ---------------------------------------------------------------------------------------------------


def message(function, *args, **options):
    with pytest.raises(ValueError) as caught:
        function(*args, **options)
    return str(caught.value)


def test_messages_of_entropy():
    rule = "`counts` must hold numbers of draws that are not negative, but got "
    assert message(sampled_entropy, [-1, 2]) == f"{rule}[-1, 2]."
    assert message(sampled_entropy, [1, 2], correction="chao") == (
        "`correction` must be one of 'miller-madow', 'none', but got 'chao'."
    )
    assert message(expected_entropy, [1, 2], 0) == "`n` must be whole numbers of 1 or more, but got 0."
    assert message(expected_entropy, [1, 2], [1, 1.5]) == "`n` must be whole numbers of 1 or more, but got 1.5."
    assert (
        message(expected_entropy, [0.5, 0.5], 1) == "`counts` must be whole numbers without replacement, but got 0.5."
    )
    assert message(expected_entropy, [-1, 2], 1) == f"{rule}[-1, 2]."
    assert message(expected_entropy, [], 1) == f"{rule}[]."


def test_messages_of_distribution_fit():
    p = [[0.5, 0.5], [0.2, 0.8]]
    assert message(distribution_fit, [[1, 2]], p, [1, 2]) == "`p` must have the length of `samples` (1), but got 2."
    assert message(distribution_fit, [[1, 2], [1, 5]], p, [1, 2]) == (
        "`samples` must hold nothing but `levels` and NaN, but got 5.0."
    )
    assert message(distribution_fit, [[np.nan], [np.nan]], p, [1, 2]) == (
        "`samples` and `p` must have an item with draws on levels that have mass."
    )
    assert message(distribution_fit, [[1], [1]], p, [1, 2], n_resamples=0) == (
        "`n_resamples` must be a whole number of 1 or more, but got 0."
    )


def test_messages_of_point_scores():
    draws, human = rated(6, n=5)
    assert message(point_scores, draws, human[:4]) == "`human` must have the length of `scores` (5), but got 4."
    assert message(point_scores, draws, human, methods=[]) == "`methods` must name one coefficient at least."
    assert message(point_scores, draws, human, methods=["rho"]).startswith("`methods` must be one of 'spearman', ")
    assert message(point_scores, draws, [1, *[np.nan] * 4]) == (
        "`scores` and `human` must both be there for two items at least, but are for 1."
    )
    assert message(point_scores, draws, human, levels=[1, 2]) == (
        "`levels` must have one value for each column of `scores` (9), but got 2."
    )
    assert message(point_scores, -draws, human, levels=range(9)) == (
        f"`scores` must not be negative with `levels`, but got {-draws.max()}."
    )
    result = point_scores(draws[:, :1], human, methods=["pearson"])
    assert message(result.value, "best", "pearson").startswith("`reading` must be one of 'mean', 'median', ")
    assert message(result.value, "mean", "gamma") == "`method` must be one of 'pearson', but got 'gamma'."
