"""Means over prompts: mean squares and t intervals by other programs, simulated coverage."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.stats import mean_interval, prompt_mean, reading_change, variance_components

NAN = math.nan


def scores(rng, n, prompts, *, prompt=0.3, item=0.7, noise=0.5, size=1):
    """Items in groups of one size, their scores under each prompt, and the groups; the true mean is 3."""
    group = np.repeat(np.arange(n // size), size)
    shared = 0.4 * rng.normal(size=n // size)[group, None] + 0.3 * rng.normal(size=(n // size, prompts))[group]
    x = 3 + item * rng.normal(size=(n, 1)) + prompt * rng.normal(size=prompts) + noise * rng.normal(size=(n, prompts))
    return x + (shared if size > 1 else 0), group


def half(result):
    return (result.interval.high - result.interval.low) / 2


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


@pytest.mark.slow
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


@pytest.mark.slow
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
    pytest.importorskip("pandas")
    assert "dropped" in result.to_frame()["warnings"][0]
    assert "dropped:2" in result.signature


def test_scores_that_do_not_vary_give_no_interval():
    result = prompt_mean(np.full((6, 3), 4.0))
    assert result.estimate == 4
    assert np.isnan(result.interval).all()
    assert any(text.startswith("no_spread: ") for text in result.warnings)
    assert "no interval" in str(result)


def test_two_prompts_are_few():
    x, _ = scores(np.random.default_rng(10), 200, 5)
    assert not prompt_mean(x).warnings
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


DRAWS = np.arange(20.0)[:, None] / 4 + np.random.default_rng(1).normal(size=(20, 6))


@pytest.mark.parametrize("result", [prompt_mean(DRAWS), variance_components(DRAWS), reading_change(DRAWS, DRAWS + 1)])
def test_the_ends_of_an_interval_have_names(result):
    assert (result.conf_low, result.conf_high) == tuple(result.interval)
