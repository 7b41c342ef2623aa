"""Quantiles, shares, win rates, ratios, any statistic: ppi_py and scipy as oracles, identities, simulated coverage."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from calib.analysis.means.proportion import post_stratified
from calib.stats import Moments, ppi_bootstrap, ppi_mean, ppi_proportion, ppi_quantile, ppi_ratio, ppi_win_rate

NAN = float("nan")
quick = settings(deadline=None, derandomize=True, max_examples=40)


def message(function, *args, **options):
    with pytest.raises(ValueError) as caught:
        function(*args, **options)
    return str(caught.value)


def continuous(seed, n=60, rest=500):
    """Legacy generator, so that ppi_py saw the same numbers."""
    rng = np.random.RandomState(seed)
    z, e = rng.standard_normal(n + rest), rng.standard_normal(n + rest)
    f = z + 0.3 + 0.5 * e
    return z[:n], f[:n], f[n:]


def ordinal(rng, n=60, rest=500):
    y = rng.choice(np.arange(1.0, 6), n + rest, p=[0.05, 0.1, 0.2, 0.4, 0.25])
    f = np.clip(y + 0.4 + 0.8 * rng.standard_normal(n + rest), 1, 5)
    return y[:n], f[:n], f[n:]


def verdict(held, sets, nominal=0.95):
    return stats.binomtest(int(held), sets, nominal).pvalue > 1e-3


# --- shares and win rates ---------------------------------------------------------------------------------------


def test_a_share_is_post_stratified_by_the_judge():
    y, f, rest = ordinal(np.random.default_rng(0))
    result = ppi_proportion(y, f, rest, above=4, judge_above=4.2)
    yes, said = y >= 4, f >= 4.2
    counts = (yes & said).sum(), said.sum(), (yes & ~said).sum(), (~said).sum(), (rest >= 4.2).sum(), (rest < 4.2).sum()
    estimate, low, high, *_ = post_stratified(*counts, 0.95)
    assert_allclose((result.estimate, *result.interval), (estimate, low, high))
    assert (result.method, result.estimand) == ("mover-jeffreys", "human share of scores from 4 up")


def test_a_share_takes_one_table_too():
    y, f, rest = ordinal(np.random.default_rng(1))
    labels = np.concatenate([y, np.full(len(rest), NAN)])
    one, two = ppi_proportion(labels, np.concatenate([f, rest]), above=3), ppi_proportion(y, f, rest, above=3)
    assert (one.estimate, one.interval, one.n) == (two.estimate, two.interval, two.n)


def test_all_labels_above_give_a_width_all_the_same():
    result = ppi_proportion([5] * 20, [4.9] * 20, [4.9] * 500, above=4)
    assert result.estimate == 1
    assert 0.8 < result.interval.low < 0.95


def test_a_missing_judge_score_is_no_no():
    y, f, rest = ordinal(np.random.default_rng(2))
    rest[7] = NAN
    assert message(ppi_proportion, y, f, rest, above=3) == (
        "`f_unlabeled` must have a judge score for each item, but got nan at 7."
    )


def test_shares_and_win_rates_from_moments():
    y, f, rest = ordinal(np.random.default_rng(21))
    said = Moments.from_chunks([rest[:200] >= 4, rest[200:] >= 4])
    one, two = ppi_proportion(y, f, said, above=4), ppi_proportion(y, f, rest, above=4)
    assert one.interval == two.interval
    assert message(ppi_proportion, y, f, Moments.from_chunks([rest]), above=4).startswith(
        "`f_unlabeled` must be moments"
    )
    y, f = verdicts(np.random.default_rng(22), 400, ties=True)
    one, two = (ppi_win_rate(y[:50], f[:50], v) for v in (f[50:], Moments.from_chunks([f[50:]])))
    assert_allclose(one.interval, two.interval)


def verdicts(rng, size, ties):
    y = rng.choice([0, 0.5, 1], size, p=[0.3, 0.2 * ties, 0.7 - 0.2 * ties])
    return y, np.where(rng.random(size) < 0.8, y, 0.5)


def test_a_win_rate_is_a_mean_on_the_unit_scale():
    y, f = verdicts(np.random.default_rng(3), 400, ties=True)
    result, mean = (
        ppi_win_rate(y[:50], f[:50], f[50:]),
        ppi_mean(y[:50], f[:50], f[50:], bounds=(0, 1), step=0.5, null=0.5),
    )
    assert (result.estimate, result.interval, result.p_value) == (mean.estimate, mean.interval, mean.p_value)
    assert (result.null, result.estimand) == (0.5, "human win rate")


def test_a_win_rate_without_ties_is_a_share():
    y, f = verdicts(np.random.default_rng(4), 400, ties=False)
    result = ppi_win_rate(y[:50], f[:50], f[50:], ties=False)
    share = ppi_proportion(y[:50], f[:50], f[50:], above=1, judge_above=0.5)
    assert (result.estimate, result.interval) == (share.estimate, share.interval)
    assert message(ppi_win_rate, [1, 0.5] * 10, [1, 0] * 10, [1, 0, 1], ties=False) == (
        "`y` must be one of 0, 1, but got 0.5 at 1."
    )
    assert message(ppi_win_rate, [1, 0.5] * 10, [1, 2] * 10, [1, 0, 1]) == (
        "`f` must be within [0, 1], but goes from 1 to 2."
    )


# --- ratios -----------------------------------------------------------------------------------------------------


def pairs(rng, n, rest):
    size = n + rest
    z = rng.standard_normal(size)
    top = 3.8 + 0.8 * z + 0.7 * rng.standard_normal(size)
    bottom = 2.3 + 0.8 * z + 0.7 * rng.standard_normal(size)
    f_top, f_bottom = top + 0.5 * rng.standard_normal(size), bottom + 0.5 * rng.standard_normal(size)
    top[n:] = NAN
    return top, bottom, f_top, f_bottom


def fieller(a, b, level=0.95):
    """The quadratic of Fieller (1954) for paired means."""
    n = len(a)
    t2 = stats.t.ppf((1 + level) / 2, n - 1) ** 2
    (aa, ab), (_, bb) = np.cov(a, b) / n
    roots = np.roots([b.mean() ** 2 - t2 * bb, -2 * (a.mean() * b.mean() - t2 * ab), a.mean() ** 2 - t2 * aa])
    return sorted(roots)


def test_a_ratio_of_labels_alone_is_fiellers():
    top, bottom, f_top, f_bottom = (v[:25] for v in pairs(np.random.default_rng(5), 25, 0))
    result = ppi_ratio(top, bottom, f_top, f_bottom)
    assert_allclose(result.estimate, top.mean() / bottom.mean(), rtol=1e-10)
    # calib takes the larger of the usual and the HC3 variance, which for a mean alone are the same
    assert_allclose(result.interval, fieller(top, bottom), rtol=1e-6)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_an_end_of_the_ratios_interval_has_the_p_value_alpha(side):
    data = pairs(np.random.default_rng(6), 30, 300)
    interval = ppi_ratio(*data, alternative=side).interval
    end = interval.high if side == "less" else interval.low
    assert_allclose(ppi_ratio(*data, alternative=side, null=end).p_value, 0.05, rtol=1e-6)
    # turned round, the ratio is the inverse
    top, bottom, f_top, f_bottom = data
    turned = {"greater": "less", "less": "greater"}.get(side, side)
    inverse = ppi_ratio(bottom, top, f_bottom, f_top, alternative=turned).interval
    assert_allclose(1 / (inverse.low if side == "less" else inverse.high), end, rtol=1e-6)


def test_the_sign_of_the_lower_mean_does_not_matter():
    top, bottom, f_top, f_bottom = pairs(np.random.default_rng(7), 30, 300)
    one = ppi_ratio(top, bottom, f_top, f_bottom, alternative="greater", null=1.5)
    two = ppi_ratio(-top, -bottom, -f_top, -f_bottom, alternative="greater", null=1.5)
    assert_allclose((one.estimate, one.interval.low, one.p_value), (two.estimate, two.interval.low, two.p_value))


def test_a_lower_mean_that_may_be_0_leaves_no_bound():
    rng = np.random.default_rng(8)
    noise = rng.standard_normal((4, 200))
    noise[0, 20:] = NAN
    result = ppi_ratio(noise[0] + 3, noise[1], noise[2], noise[3])
    assert result.interval == (-np.inf, np.inf)
    assert result.warnings[-1].startswith("unbounded: the labels do not tell the lower mean from 0")


@pytest.mark.slow
def test_coverage_of_a_ratio_with_few_labels():
    rng, sets = np.random.default_rng(9), 100
    intervals = [ppi_ratio(*pairs(rng, 15, 300)).interval for _ in range(sets)]
    assert verdict(sum(low <= 3.8 / 2.3 <= high for low, high in intervals), sets)


# --- quantiles --------------------------------------------------------------------------------------------------

# seed, q, low and high of ppi_quantile_ci(alpha=.05, exact_grid=True) and its point, ppi-python 0.2.3
PPI_PY = [
    (0, 0.25, -0.977277879876411, -0.3483039395256795, -0.7148790320997714),
    (0, 0.5, -0.2520938994918731, 0.30912750159649466, -0.1513572082976979),
    (0, 0.8, 0.386902497859262, 1.4804334339615437, 0.9889085810893614),
    (1, 0.25, -1.0729686221561705, -0.22688676969915036, -0.8074745972464972),
    (1, 0.5, -0.6117564136500754, 0.47543286421645725, 0.10293218920688667),
    (1, 0.8, 0.5820625782466906, 1.2026267991074073, 0.8915511640227292),
]


@pytest.mark.parametrize(("seed", "q", "low", "high", "point"), PPI_PY)
def test_quantiles_as_in_ppi_py(seed, q, low, high, point):
    result = ppi_quantile(*continuous(seed), q=q, method="ppi_py")
    assert_allclose((*result.interval, result.estimate), (low, high, point), rtol=1e-12)


@pytest.mark.slow
@quick
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.sampled_from([10, 17, 40, 400]))
def test_halving_finds_what_trying_every_score_finds(seed, q, n):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n + 80)
    f = z + 0.2 + rng.standard_normal(n + 80)
    y, own, rest = z[:n], f[:n], f[n:]
    grid = np.unique(np.concatenate([y, own, rest]))
    found = []
    for g in grid:
        yes, said = y <= g, own <= g
        counts = (yes & said).sum(), said.sum(), (yes & ~said).sum(), (~said).sum(), (rest <= g).sum(), (rest > g).sum()
        found.append(post_stratified(*counts, 0.95)[:3])
    share, low, high = np.array(found).T
    after = np.append(grid, np.inf)[np.flatnonzero(low < q)[-1] + 1] if (low < q).any() else grid[0]
    result = ppi_quantile(y, own, rest, q=q)
    # in each stretch between gold scores the shares rise with the rest's count, if the judge is any good
    assert result.estimate == grid[np.argmax(share >= q)]
    none = post_stratified(0, 0, 0, n, 0, 80, 0.95)[2]
    assert result.interval == (-np.inf if none >= q else grid[np.argmax(high >= q)], after)


@pytest.mark.parametrize("q", [0.25, 0.5, 0.75])
def test_a_quantile_of_labels_alone_is_the_binomial_one(q):
    y = np.random.default_rng(10).standard_normal(57)
    wanted = stats.quantile_test(y, p=q).confidence_interval(0.95)
    found = ppi_quantile(y, y, q=q, conservative=True)
    assert_allclose(found.interval, wanted)
    assert_allclose(found.estimate, np.quantile(y, q, method="inverted_cdf"))


def test_ends_on_an_ordinal_scale_are_on_it():
    y, f, rest = ordinal(np.random.default_rng(11), n=20)
    seen = ppi_quantile(y, f, rest)
    scale = ppi_quantile(y, f, rest, bounds=(1, 5), step=1)
    assert seen.support == scale.support == "levels"
    assert {*scale.interval, scale.estimate} <= {1, 2, 3, 4, 5}
    assert seen.interval.low in y


def test_a_tail_that_no_label_reaches():
    y, f, rest = continuous(2, n=20)
    result = ppi_quantile(y, f, rest, q=0.99)
    assert result.interval.high == np.inf
    assert result.warnings[0].startswith("tail: about 0.2 of 20 labels")
    assert ppi_quantile(y, f, rest, q=0.99, bounds=(-5, 5)).interval.high == 5


def test_a_tail_on_an_ordinal_scale():
    """Of 20 labels none is below 2: a scale that was not declared may go on, one that was goes to 1."""
    y, f, rest = np.repeat([2.0, 3, 4, 5], 5), np.repeat([2.0, 3, 4, 5], 5), np.repeat([2.0, 3, 4, 5], 50)
    assert ppi_quantile(y, f, rest, q=0.02).interval.low == -np.inf
    assert ppi_quantile(y, f, rest, q=0.99).interval.high == np.inf
    scale = {"bounds": (1, 5), "step": 1}
    assert ppi_quantile(y, f, rest, q=0.02, **scale).interval.low == 1
    assert ppi_quantile(y, f, rest, q=0.99, **scale).interval == (5, 5)


def test_one_sided_quantiles():
    data = continuous(3)
    both = ppi_quantile(*data, confidence_level=0.9).interval
    assert ppi_quantile(*data, alternative="greater").interval == (both.low, np.inf)
    assert ppi_quantile(*data, alternative="less", bounds=(-9, 9)).interval == (-9, both.high)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "noise"), [(20, 0.5), (20, 1.5), (60, 1.5)])
def test_coverage_of_a_median_with_few_labels(n, noise):
    """Between 95 % and what the labels' grain adds."""
    rng, sets, held = np.random.default_rng(12), 300, 0
    for _ in range(sets):
        z = rng.standard_normal(n + 500)
        f = z + 0.3 + noise * rng.standard_normal(n + 500)
        low, high = ppi_quantile(z[:n], f[:n], f[n:]).interval
        held += low <= 0 <= high
    assert stats.binomtest(held, sets, 0.95, alternative="less").pvalue > 1e-3
    assert np.isfinite([low, high]).all()


def test_coverage_of_a_quantile_of_a_scale():
    """35 % are up to 3, so the 36 % quantile is 4; 3 is ruled out, or not, by a hair."""
    rng, sets, held = np.random.default_rng(13), 300, 0
    for _ in range(sets):
        low, high = ppi_quantile(*ordinal(rng, 30, 400), q=0.36, bounds=(1, 5), step=1).interval
        held += low <= 4 <= high
    assert stats.binomtest(held, sets, 0.95, alternative="less").pvalue > 1e-3


def test_refusals_of_quantiles():
    y, f, rest = continuous(0)
    assert message(ppi_quantile, y, f, rest, q=3) == "`q` must be between 0 and 1, but got 3."
    assert message(ppi_quantile, y[:5], f[:5], rest).startswith("`y` must have 10 gold labels at least, but got 5")
    assert message(ppi_quantile, y, f, rest, step=1).startswith("`step` must be above 0 and come with `bounds`")
    assert message(ppi_quantile, y, f, rest, bounds=(0, 5)).startswith(
        "`y` must lie within `bounds` (0 to 5), but got "
    )
    assert message(ppi_quantile, y, f, method="ppi_py").startswith("method 'ppi_py' needs items without a label")


# --- any statistic ----------------------------------------------------------------------------------------------


def gold(rng, n=40, rest=1000, noise=0.6):
    y = rng.gamma(4, 0.5, n + rest)
    f = y + 0.3 + noise * rng.standard_normal(n + rest)
    return y[:n], f[:n], f[n:]


def test_the_mean_is_ppi_with_its_own_weight():
    y, f, rest = gold(np.random.default_rng(14))
    result = ppi_bootstrap(np.mean, y, f, rest, rng=1)
    assert_allclose(result.estimate, np.mean(y - result.lam * f) + result.lam * np.mean(rest))
    tuned = np.cov(y, f)[0, 1] / np.var(f, ddof=1) / (1 + len(y) / len(rest))
    assert_allclose(result.lam, tuned, rtol=0.15)
    variance = np.var(y - tuned * f, ddof=1) / len(y) + tuned**2 * np.var(f, ddof=1) / len(rest)
    assert_allclose(result.std_error, np.sqrt(variance), rtol=0.15)


def test_with_or_without_an_axis_it_is_the_same():
    data = gold(np.random.default_rng(15))

    def slow(scores):
        return float(np.median(scores) + scores.std())

    def fast(scores, axis):
        return np.median(scores, axis=axis) + scores.std(axis=axis)

    one, two = (ppi_bootstrap(function, *data, n_resamples=150, rng=2) for function in (slow, fast))
    assert_allclose((one.estimate, one.std_error, *one.interval), (two.estimate, two.std_error, *two.interval))
    assert (one.statistic, two.statistic) == ("slow", "fast")


def correlation(scores, x, axis):
    a, b = (v - v.mean(axis=axis, keepdims=True) for v in (scores, x))
    return (a * b).sum(axis=axis) / np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 40])
@pytest.mark.parametrize("name", ["mean", "correlation"])
def test_coverage_of_a_bootstrap_with_few_labels(name, n):
    rng, sets, held = np.random.default_rng(16), 300, 0
    for i in range(sets):
        z = rng.standard_normal((3, n + 500))
        y, x = z[0], (z[0] + z[1]) / np.sqrt(2)
        f = y + 0.7 * z[2]
        covariates = {"X": x[:n], "X_unlabeled": x[n:]} if name == "correlation" else {}
        statistic, truth = (correlation, np.sqrt(0.5)) if covariates else (np.mean, 0)
        low, high = ppi_bootstrap(statistic, y[:n], f[:n], f[n:], n_resamples=300, rng=i, **covariates).interval
        held += low <= truth <= high
    assert verdict(held, sets)


def test_labels_that_do_not_vary_have_no_interval():
    _, f, rest = gold(np.random.default_rng(17))
    result = ppi_bootstrap(np.mean, np.ones(40), f, rest, rng=0)
    assert np.isnan(result.interval).all()
    assert "no interval" in str(result)


def test_resamples_on_which_the_statistic_is_not_defined():
    y, f, rest = gold(np.random.default_rng(18))

    def share_of_large(scores, axis):
        some = np.sum(scores > np.sort(y)[-2], axis=axis)
        return np.where(some > 0, some / scores.shape[axis], NAN)

    result = ppi_bootstrap(share_of_large, y, f, rest, rng=0)
    assert 0 < result.n_undefined < 500
    assert result.warnings[0].startswith(f"undefined: the statistic is not defined on {result.n_undefined} of 1000")


def test_refusals_of_the_bootstrap():
    y, f, rest = gold(np.random.default_rng(19))
    assert message(ppi_bootstrap, np.mean, y[:9], f[:9], rest).startswith("`y` must have 10 gold labels at least")
    assert message(ppi_bootstrap, np.mean, y, f, rest, X=y).startswith("`X_unlabeled` must be given exactly when")
    assert message(ppi_bootstrap, np.mean, y, f, rest, X=y[:3], X_unlabeled=rest) == (
        "`X` must have the length of `y` (40), but got 3."
    )
    assert message(ppi_bootstrap, lambda scores, axis: scores.mean(), y, f, rest) == (
        "`statistic` must give (1000,) numbers with axis=-1, but gave ()."
    )
    assert message(ppi_bootstrap, lambda scores: NAN, y, f, rest).startswith("`statistic` must be a finite number")


def test_results_as_rows_and_signatures():
    pytest.importorskip("pandas")
    data = gold(np.random.default_rng(20))
    boot, quantile = ppi_bootstrap(np.mean, *data, rng=0), ppi_quantile(*data)
    assert boot.to_frame().loc[0, "statistic"] == "mean"
    assert quantile.to_frame().loc[0, "q"] == 0.5
    assert boot.signature.startswith("ppi-bootstrap|of:mean|rs:1000|cl:0.95|gold:40|n:1040|lam:")
    assert quantile.signature.startswith("quantile|q:0.5|method:mover-jeffreys|support:scores|alt:two-sided|")
    assert str(quantile).startswith("human 0.5 quantile = ")


@pytest.mark.parametrize("design", ["groups", "strata"])
def test_shares_and_win_rates_take_a_design(design):
    rng = np.random.default_rng(3)
    y, u = rng.integers(1, 6, 40), rng.uniform(1, 5, 200)
    f = y + rng.normal(0, 0.5, 40)
    parts = (
        (np.arange(40) // 2, 100 + np.arange(200) // 2)
        if design == "groups"
        else (np.arange(40) % 2, np.arange(200) % 2)
    )
    options = dict(zip((design, f"{design}_unlabeled"), parts, strict=True))
    found = ppi_proportion(y, f, u, above=4, **options)
    wanted = ppi_mean(y >= 4, f >= 4, u >= 4, bounds=(0, 1), step=1, **options)
    assert (found.design, found.interval) == (design, wanted.interval)
    if design == "groups":
        won = ppi_win_rate(y >= 4, f >= 4, u >= 4, ties=False, null=0.5, **options)
        assert won.interval == wanted.interval
