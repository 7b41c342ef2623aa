"""Means over prompts: mean squares and t intervals by other programs, textbook ranks, simulated coverage."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from calib.stats import averaging, mean_interval, ppi_mean, prompt_difference, prompt_mean, rank_stability
from calib.stats._averaging import _jackknife

NAN = math.nan


def scores(rng, n, prompts, *, prompt=0.3, item=0.7, noise=0.5, size=1):
    """Items in groups of one size, their scores under each prompt, and the groups; the true mean is 3."""
    group = np.repeat(np.arange(n // size), size)
    shared = 0.4 * rng.normal(size=n // size)[group, None] + 0.3 * rng.normal(size=(n // size, prompts))[group]
    x = 3 + item * rng.normal(size=(n, 1)) + prompt * rng.normal(size=prompts) + noise * rng.normal(size=(n, prompts))
    return x + (shared if size > 1 else 0), group


def half(result):
    return (result.interval.high - result.interval.low) / 2


def message(function, *args, **options):
    with pytest.raises(ValueError) as caught:
        function(*args, **options)
    return str(caught.value)


# --- prompt_mean ------------------------------------------------------------------------------------------------


def test_parts_and_df_are_those_of_the_analysis_of_variance():
    # Cornfield and Tukey's mean squares, by statsmodels
    pd = pytest.importorskip("pandas")
    ols = pytest.importorskip("statsmodels.formula.api").ols
    anova = pytest.importorskip("statsmodels.stats.anova").anova_lm
    n, prompts = 30, 4
    x, _ = scores(np.random.default_rng(1), n, prompts)
    table = pd.DataFrame({"score": x.ravel(), "item": np.repeat(range(n), prompts), "prompt": list(range(prompts)) * n})
    ms = anova(ols("score ~ C(item) + C(prompt)", table).fit())["mean_sq"]
    of_item, of_prompt, of_both = ms["C(item)"], ms["C(prompt)"], ms["Residual"]
    result = prompt_mean(x)
    assert_allclose(result.s2_prompt, (of_prompt - of_both) / n)
    assert_allclose(result.noise_variance, of_both / n)
    assert_allclose(result.item_variance, (of_item - of_both) / (n * prompts))
    assert_allclose(result.std_error**2, (of_prompt - of_both + of_item) / (n * prompts))
    spread = of_prompt**2 / (prompts - 1) + of_both**2 / ((prompts - 1) * (n - 1)) + of_item**2 / (n - 1)
    assert_allclose(result.df, (of_prompt - of_both + of_item) ** 2 / spread)
    t_prompt, t_item = stats.t.ppf(0.975, [prompts - 1, n - 1])
    square = t_prompt**2 * of_prompt / (n * prompts) + t_item**2 * (of_item - of_both) / (n * prompts)
    assert_allclose(half(result), math.sqrt(square))
    chi2 = stats.chi2.ppf([0.975, 0.025], prompts - 1)
    wanted = (prompts - 1) * of_prompt / n / chi2 - of_both / n
    assert_allclose(result.s2_prompt_interval, np.maximum(wanted, 0))


def test_groups_of_one_size_count_as_their_means():
    x, group = scores(np.random.default_rng(2), 60, 5, size=4)
    grouped, means = prompt_mean(x, groups=group), prompt_mean(x.reshape(15, 4, 5).mean(axis=1))
    assert_allclose(grouped.interval, means.interval)
    assert_allclose(grouped.prompt_intervals, means.prompt_intervals)
    assert_allclose([grouped.s2_prompt, grouped.df], [means.s2_prompt, means.df])
    assert (grouped.n, grouped.n_groups) == (60, 15)
    assert "|groups:15|" in grouped.signature


def test_each_prompts_own_interval_is_that_of_the_mean_of_its_scores():
    x, _ = scores(np.random.default_rng(3), 40, 3)
    for column, ends in zip(x.T, prompt_mean(x).prompt_intervals, strict=True):
        assert_allclose(ends, stats.ttest_1samp(column, 0).confidence_interval(0.95))
    sizes = np.repeat(range(10), [1, 2, 3, 4, 5, 5, 5, 5, 5, 5])
    for column, ends in zip(x.T, prompt_mean(x, groups=sizes).prompt_intervals, strict=True):
        assert_allclose(ends, mean_interval(column, groups=sizes).interval)


def test_prompts_that_shift_all_items_alike_are_a_sample_of_means():
    # no item x prompt part: the interval is that of the prompts' means plus the items' own part
    shift, item = np.array([0.0, 0.4, -0.3, 0.9]), np.linspace(-1, 1, 21)[:, None]
    result = prompt_mean(item + shift)
    low, high = stats.ttest_1samp(shift, 0).confidence_interval(0.95)
    of_items = stats.t.ppf(0.975, 20) * stats.sem(item.ravel())
    assert_allclose(half(result), math.hypot((high - low) / 2, of_items))
    assert_allclose(result.floor, (high - low) / 2)
    assert not result.clipped


def test_one_prompt_is_conditional_and_says_so_everywhere():
    x, _ = scores(np.random.default_rng(4), 25, 1)
    result = prompt_mean(x)
    assert result.conditional
    assert_allclose(result.interval, stats.ttest_1samp(x[:, 0], 0).confidence_interval(0.95))
    assert str(result).startswith("conditional on this prompt: judge mean = ")
    assert "conditional-on-this-prompt" in result.signature
    assert result.warnings[0].startswith("conditional: ")
    assert "quality" not in str(result)
    assert np.isnan([result.s2_prompt, result.floor, *result.s2_prompt_interval]).all()
    assert message(result.prompts_needed, 0.1) == (
        "`prompts_needed` needs a result of two prompts at least, but this one is of 1."
    )


def test_never_narrower_than_the_items_alone_nor_shifted_by_units():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, group = scores(rng, 24, int(rng.integers(2, 6)), prompt=0.1, size=int(rng.choice([1, 2, 4])))
        result = prompt_mean(x, groups=group)
        by_item = prompt_mean(x.mean(axis=1, keepdims=True), groups=group)
        assert half(result) >= half(by_item) - 1e-12
        assert result.std_error >= by_item.std_error - 1e-12
        other = prompt_mean(2 * x[::-1, ::-1] - 7, groups=group[::-1])
        assert_allclose(other.interval, np.array(result.interval) * 2 - 7)
        assert result.clipped == other.clipped == (result.s2_prompt == 0)
        assert result.clipped == any(text.startswith("clipped: ") for text in result.warnings)


@pytest.mark.parametrize(("prompts", "prompt", "size"), [(2, 0.2, 1), (3, 0.5, 1), (5, 0.1, 4), (8, 0.3, 4)])
def test_intervals_cover_the_mean_over_prompts_and_items(prompts, prompt, size):
    rng, hits, alone, runs = np.random.default_rng(5), 0, 0, 1200
    for _ in range(runs):
        x, group = scores(rng, 80, prompts, prompt=prompt, size=size)
        result = prompt_mean(x, groups=group)
        hits += result.interval.low <= 3 <= result.interval.high
        alone += result.prompt_intervals[0].low <= 3 <= result.prompt_intervals[0].high
    # at least 95 %, at most what two prompts cost (98.9 % by the law of the mean squares); noise is .006
    assert 0.932 < hits / runs < 0.993
    assert alone / runs < 0.9


def test_what_is_said_of_satterthwaites_interval():
    # two prompts, n = 300, s2_p = 20 times the items' part: .873 by the chi-square laws of the mean squares
    rng, runs = np.random.default_rng(6), 20_000
    spread, noise = 10.05 * rng.chisquare(1, runs), 0.05 * rng.chisquare(299, runs) / 299
    items = rng.chisquare(299, runs) / 299
    variance = np.maximum(spread - noise, 0) + items
    df = variance**2 / (spread**2 + noise**2 / 299 + items**2 / 299)
    miss = np.abs(rng.normal(0, math.sqrt(11), runs))
    assert np.mean(miss <= stats.t.ppf(0.975, df) * np.sqrt(variance)) == pytest.approx(0.873, abs=0.008)
    ours = stats.t.ppf(0.975, 1) ** 2 * spread + stats.t.ppf(0.975, 299) ** 2 * np.maximum(items - noise, 0)
    assert 0.95 < np.mean(miss <= np.sqrt(ours)) < 0.97


def test_what_a_group_shares_under_a_prompt_is_no_prompt_effect():
    rng = np.random.default_rng(7)
    found = [prompt_mean(x, groups=g) for x, g in (scores(rng, 80, 5, prompt=0, size=8) for _ in range(400))]
    ignored = [prompt_mean(x) for x, _ in (scores(rng, 80, 5, prompt=0, size=8) for _ in range(400))]
    unclipped = [np.var(r.prompt_means, ddof=1) - r.noise_variance for r in found]
    assert abs(np.mean(unclipped)) < 3.5 * stats.sem(unclipped)
    wrong = [np.var(r.prompt_means, ddof=1) - r.noise_variance for r in ignored]
    assert np.mean(wrong) > 10 * stats.sem(wrong)


@pytest.mark.parametrize("prompts", [2, 5])
def test_the_interval_of_the_prompt_variance_covers_it(prompts):
    rng, runs = np.random.default_rng(8), 800
    found = [prompt_mean(scores(rng, 50, prompts)[0]).s2_prompt_interval for _ in range(runs)]
    hits = sum(ends.low <= 0.09 <= ends.high for ends in found)
    assert stats.binomtest(hits, runs, 0.95).pvalue > 0.001


def test_incomplete_items_are_left_out_and_counted():
    x, _ = scores(np.random.default_rng(9), 30, 3)
    gaps = x.copy()
    gaps[[2, 7, 7], [0, 1, 2]] = NAN
    result = prompt_mean(gaps, groups=np.arange(30))
    assert result.n_dropped == 2
    assert_allclose(result.interval, prompt_mean(np.delete(x, [2, 7], axis=0)).interval)
    assert "dropped" in result.to_frame()["warnings"][0]
    assert "dropped:2" in result.signature


def test_scores_that_do_not_vary_give_no_interval():
    result = prompt_mean(np.full((6, 3), 4.0))
    assert result.estimate == 4
    assert np.isnan(result.interval).all()
    assert any(text.startswith("no_spread: ") for text in result.warnings)
    assert "no interval" in str(result)


def test_prompts_needed_is_the_first_number_whose_expected_half_width_is_small_enough():
    x, _ = scores(np.random.default_rng(10), 200, 5)
    result = prompt_mean(x)
    spread = np.var(result.prompt_means, ddof=1)
    expected = {
        p: math.sqrt(stats.t.ppf(0.975, p - 1) ** 2 * spread / p + stats.t.ppf(0.975, 199) ** 2 * result.item_variance)
        for p in range(2, 2000)
    }
    assert expected[5] == pytest.approx(half(result))
    for wanted in (0.11, 0.15, 0.2, 0.4, 1.0, 2.0, 3.0):
        assert result.prompts_needed(wanted) == next(p for p, width in expected.items() if width <= wanted)
    least = stats.t.ppf(0.975, 199) * math.sqrt(result.item_variance)
    assert "which these items leave with prompts without end" in message(result.prompts_needed, least)
    assert result.prompts_needed(1.01 * least) > 100
    assert not result.warnings
    assert prompt_mean(x[:, :2]).warnings[0].startswith("few_prompts: with 2 prompts the t quantile is 12.71;")


@pytest.mark.parametrize(
    ("args", "options", "wanted"),
    [
        (([1, 2],), {}, "`x` must have 2 dimensions, but got shape (2,)."),
        (([[1, 2]],), {}, "`x` must have a score under every prompt for two items at least, but got 1."),
        (([[1, NAN]] * 5,), {}, "`x` must have a score under every prompt for two items at least, but got 0."),
        (([[1, 2]] * 3,), {"groups": [1, 1, 1]}, "`x` must have a score under every prompt for two groups at least,"),
        (([[1, 2]] * 3,), {"groups": [1, 2]}, "`groups` must have the length of `x` (3), but got 2."),
        ((np.empty((3, 0)),), {}, "`x` must have one prompt at least, but got shape (3, 0)."),
        (([[1, 2]] * 3,), {"confidence_level": 95}, "`confidence_level` must be between 0 and 1, but got 95."),
    ],
)
def test_wrong_scores_are_refused(args, options, wanted):
    assert message(prompt_mean, *args, **options).startswith(wanted)


# --- prompt_difference ------------------------------------------------------------------------------------------


def test_a_shared_prompt_effect_cancels_and_one_of_a_system_does_not():
    rng = np.random.default_rng(11)
    a, b = (scores(rng, 60, 4)[0] for _ in "ab")
    shared, own = rng.normal(0, 5, 4), rng.normal(0, 5, 4)
    plain = prompt_difference(a, b)
    assert plain.estimand == "difference of judge means"
    assert_allclose(prompt_difference(a + shared, b + shared).interval, plain.interval)
    assert half(prompt_difference(a + own, b)) > 5 * half(plain)
    assert_allclose(plain.interval, prompt_mean(a - b).interval)
    assert message(prompt_difference, a, b[1:]) == "`b` must have the shape of `a` (60, 4), but got (59, 4)."


def test_differences_are_covered_where_prompts_favor_systems():
    rng, hits, width, one, runs = np.random.default_rng(12), 0, 0.0, 0.0, 1000
    for _ in range(runs):
        harsh, document = rng.normal(0, 1, 4), rng.normal(0, 0.7, (50, 1))
        first, second = (
            mean + harsh + document + rng.normal(0, 0.1, 4) + rng.normal(0, 0.5, (50, 4)) for mean in (3.4, 3.0)
        )
        found = prompt_difference(first, second)
        hits += found.interval.low <= 0.4 <= found.interval.high
        width, one = width + half(found) / runs, one + half(prompt_mean(first)) / runs
    assert 0.936 < hits / runs < 0.985
    assert width < one / 4  # the harshness of a prompt is in each mean and not in the difference


# --- averaging --------------------------------------------------------------------------------------------------


def judged(rng, n, n_gold, *, sd=1.0, prompts=4):
    quality = rng.normal(3, 1, n)
    f = quality[:, None] + sd * rng.normal(size=(n, prompts)) + rng.normal(size=prompts)
    return np.where(np.arange(n) < n_gold, quality + 0.5 * rng.normal(size=n), NAN), f


def test_each_interval_is_that_of_ppi_mean():
    y, f = judged(np.random.default_rng(13), 400, 60)
    result = averaging(y, f)
    assert result.average == ppi_mean(y, f.mean(axis=1))
    assert result.alone == tuple(ppi_mean(y, one) for one in f.T)
    grouped = averaging(y, f, groups=np.arange(400) // 3, bounds=(-1, 8), step=4)
    assert grouped.average == ppi_mean(y, f.mean(axis=1), groups=np.arange(400) // 3, bounds=(-1, 8), step=4)
    assert result.half_width == half(result.average)
    assert result.half_widths == tuple(map(half, result.alone))
    gold = ~np.isnan(y)
    assert_allclose(result.r_alone, [np.corrcoef(y[gold], one[gold])[0, 1] for one in f.T])
    assert_allclose(result.r, np.corrcoef(y[gold], f[gold].mean(axis=1))[0, 1])
    assert result.best == int(np.argmax(np.abs(result.r_alone)))
    frame = result.to_frame()
    assert list(frame["prompt"]) == ["average", "0", "1", "2", "3"]
    assert frame["half_width"][0] == result.half_width


@pytest.mark.parametrize("size", [1, 3])
def test_the_interval_of_the_ratio_is_a_jackknife_over_labelled_units(size):
    y, f = judged(np.random.default_rng(14), 300, 60)
    group = np.arange(300) // size
    result = averaging(y, f, groups=group)

    def logs(keep):
        left = np.log([1 - np.corrcoef(y[keep], x[keep])[0, 1] ** 2 for x in (f.mean(axis=1), *f.T)])
        return left[0] - left[1:].mean(), left[0] - left[1 + result.best]

    gold = ~np.isnan(y)
    units = np.unique(group[gold])
    without = np.array([logs(gold & (group != unit)) for unit in units])
    error = np.sqrt((len(units) - 1) ** 2 / len(units) * without.var(axis=0, ddof=1))
    center, reach = np.array(logs(gold)), stats.t.ppf(0.975, len(units) - 1) * error
    assert_allclose([result.labels_ratio, result.labels_ratio_best], np.exp(center))
    ends = (result.labels_ratio_interval, result.labels_ratio_best_interval)
    assert_allclose(ends, np.exp([center - reach, center + reach]).T)


def test_the_ratio_is_that_of_the_residual_variances_and_is_covered():
    # quality q, label q + e, score q + sd u: r^2 = 1 / (1.25 (1 + sd^2)) alone, 1 / (1.25 (1 + sd^2 / 4)) on average
    true = (1 - 0.8 / 1.25) / (1 - 0.8 / 2)
    rng, runs = np.random.default_rng(15), 300
    found = [averaging(*judged(rng, 80, 80)) for _ in range(runs)]
    assert np.mean([np.log(r.labels_ratio) for r in found]) == pytest.approx(math.log(true), abs=0.02)
    hits = sum(r.labels_ratio_interval.low <= true <= r.labels_ratio_interval.high for r in found)
    assert 0.9 < hits / runs < 0.985


def test_the_three_verdicts():
    rng = np.random.default_rng(16)
    y, f = judged(rng, 300, 150, sd=1.5)
    assert averaging(y, f).verdict == "helped"
    noise = rng.normal(3, 6, (300, 1))
    bad = averaging(y, np.column_stack([f[:, :1], noise, noise]))  # one good prompt, drowned
    assert (bad.verdict, bad.verdict_best, bad.best) == ("did not help", "did not help", 0)
    same = averaging(y, f[:, [0, 0, 0]])
    assert (same.verdict, same.labels_ratio) == ("cannot be said", pytest.approx(1))
    assert_allclose(same.labels_ratio_interval, 1)
    assert any(text.startswith("optimistic_best: prompt 0") for text in bad.warnings)
    assert "averaging: did not help" in str(bad)
    assert averaging(y, np.column_stack([noise, -f[:, 0]])).best == 1  # a score turned upside down serves as well


def test_a_prompt_that_says_nothing_and_gaps_are_counted():
    y, f = judged(np.random.default_rng(17), 200, 80)
    f[:, 1], f[[0, 150], 2] = 0.1, NAN
    result = averaging(y, f)
    assert result.r_alone[1] == 0
    assert (result.n, result.n_gold, result.n_dropped) == (198, 79, 2)
    assert [text.partition(":")[0] for text in result.warnings[-2:]] == ["constant", "dropped"]
    assert message(averaging, y, f[:, :1]) == "`f` must have two prompts at least, but got shape (200, 1)."
    assert message(averaging, y[1:], f) == "`y` must have the length of `f` (200), but got 199."


def test_a_prompt_with_one_other_score_explains_nothing_without_it():
    y, f = judged(np.random.default_rng(22), 60, 60, prompts=2)
    f[:, 1] = 0.1
    f[7, 1] = 0.7
    without = np.arange(60) != 7
    log = [np.log(1 - np.corrcoef(y[without], x[without])[0, 1] ** 2) for x in (f.mean(axis=1), f[:, 0])]
    _, left = _jackknife(y, np.column_stack([f.mean(axis=1), f]), np.arange(60))
    assert_allclose(left[8], [*log, 0], atol=1e-12)


# --- rank_stability ---------------------------------------------------------------------------------------------

# Siegel (1956), Nonparametric Statistics, pp. 229-239: three executives rank six applicants (s = 25.5, W = .16), and
# ten objects with ties (s = 591, W = .828); his 1 is the best, which leaves W as it is
APPLICANTS = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]]
TIED = [
    [1, 4.5, 2, 4.5, 3, 7.5, 6, 9, 7.5, 10],
    [2.5, 1, 2.5, 4.5, 4.5, 8, 9, 6.5, 10, 6.5],
    [2, 1, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10],
]


@pytest.mark.parametrize(("ranks", "w"), [(APPLICANTS, 25.5 / 157.5), (TIED, 591 / 714)])
def test_concordance_is_that_of_the_textbook_and_of_scipy(ranks, w):
    result = rank_stability(np.transpose(ranks))
    assert_allclose(result.w, w)
    friedman = stats.friedmanchisquare(*np.transpose(ranks))
    assert_allclose([result.chi2, result.p_value], friedman)
    assert result.df == len(ranks[0]) - 1


def test_swaps_are_what_kendalls_tau_counts():
    x = np.random.default_rng(18).normal(size=(7, 5))
    taus = [stats.kendalltau(a, b)[0] for a, b in itertools.combinations(x.T, 2)]
    assert_allclose(rank_stability(x).swap, (1 - np.mean(taus)) / 2)


def test_pairs_winners_and_ties_by_hand():
    #            p0 p1 p2 p3
    x = np.array([[3, 2, 1, 5], [1, 2, 2, 4], [0, 0, 0, 0]])
    result = rank_stability(x, names=["A", "B", "C"])
    first, *others = result.pairs
    # A before B twice, a tie, B before A once; of the six pairs of prompts two disagree and three have one tie
    assert first[:4] == ("A", "B", (1 + 0.5) / 4, (2 + 3 / 2) / 6)
    assert [pair[2:4] for pair in others] == [(0, 0), (0, 0)]
    assert_allclose(result.swap, 3.5 / 18)
    assert result.winners == ("A", "A = B", "B", "A")
    assert np.isnan(result.swap_noise)
    assert str(result).endswith("first: A (2), A = B (1), B (1)")
    assert list(result.to_frame().columns) == ["first", "second", "minority", "swap", "swap_noise"]
    assert rank_stability(x, names="ABC").names == ("A", "B", "C")


@pytest.mark.parametrize("prompts", [2, 5])
def test_noise_alone_swaps_systems_as_often_as_said(prompts):
    rng, gaps = np.random.default_rng(19), np.array([0, 0.05, 0.1, 0.3])[:, None, None]

    def found(favor):
        means = gaps + rng.normal(size=prompts) + favor * rng.normal(size=(4, 1, prompts))
        x = means + 0.4 * rng.normal(size=(4, 60, 1))
        return rank_stability(x + 0.8 * rng.normal(size=(4, 60, prompts)))

    none = np.array([(r.swap, r.swap_noise) for r in (found(0) for _ in range(300))])
    assert abs(np.mean(none[:, 0] - none[:, 1])) < 3.5 * stats.sem(none[:, 0] - none[:, 1])
    some = np.array([(r.swap, r.swap_noise) for r in (found(0.4) for _ in range(300))])
    assert np.mean(some[:, 0] - some[:, 1]) > 5 * stats.sem(some[:, 0] - some[:, 1])


def test_noise_swaps_are_the_orthants_of_the_conditional_normal_law():
    x = np.random.default_rng(20).normal(size=(2, 40, 5)) + np.array([0, 0.1])[:, None, None]
    result, difference = rank_stability(x), prompt_difference(x[0], x[1])
    mean, noise = difference.estimate, difference.noise_variance
    cov = noise * (np.eye(2) - 1 / 5)
    differ = stats.multivariate_normal([mean, -mean], cov * [[1, -1], [-1, 1]]).cdf([0, 0], rng=0)
    assert_allclose(result.swap_noise, 2 * differ, atol=1e-6)


def test_scores_and_their_means_give_the_same_order():
    x = np.random.default_rng(21).normal(size=(5, 30, 4))
    x[2, 7, 1] = NAN
    group = np.arange(30) // 3
    result, means = rank_stability(x, groups=group), rank_stability(np.delete(x, 7, axis=1).mean(axis=1))
    assert (result.swap, result.w, result.winners) == (means.swap, means.w, means.winners)
    assert (result.n, result.n_dropped, means.n) == (29, 1, 0)
    pair = prompt_difference(x[0], x[3], groups=group)  # item 7 is complete for these two
    assert math.isfinite(result.pairs[2].swap_noise)
    assert pair.n == 30
    assert any(text.startswith("dropped: 1 items") for text in result.warnings)


def test_systems_that_all_tie_have_no_concordance():
    result = rank_stability(np.ones((3, 2)))
    assert math.isnan(result.w)
    assert math.isnan(result.p_value)
    assert result.swap == 0
    assert result.winners == ("0 = 1 = 2",) * 2


@pytest.mark.parametrize(
    ("x", "options", "wanted"),
    [
        ([[1, 2]], {}, "`x` must have shape (systems, prompts) or (systems, items, prompts) with two systems"),
        ([[1], [2]], {}, "`x` must have shape (systems, prompts) or (systems, items, prompts) with two systems"),
        ([1, 2], {}, "`x` must have shape (systems, prompts) or"),
        ([[1, NAN], [2, 3]], {}, "`x` must have the mean of every system under every prompt, but got NaN."),
        ([[1, 2], [2, 3]], {"groups": [1, 2]}, "`groups` must come with scores of items, but got means in `x`."),
        ([[1, 2], [2, 3]], {"names": "A"}, "`names` must have the length of `x` (2), but got 1."),
    ],
)
def test_wrong_means_are_refused(x, options, wanted):
    assert message(rank_stability, x, **options).startswith(wanted)
