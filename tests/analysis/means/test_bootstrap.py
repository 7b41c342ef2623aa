"""Any statistic: identities, and simulated coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.stats import ppi_bootstrap, ppi_quantile

NAN = float("nan")


def verdict(held, sets, nominal=0.95):
    return stats.binomtest(int(held), sets, nominal).pvalue > 1e-3


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
    assert message(ppi_bootstrap, np.mean, y[:9], f[:9], rest).startswith("`y` must have 10 labels at least")
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
    assert boot.signature.startswith("ppi-bootstrap|of:mean|rs:1000|cl:0.95|labels:40|n:1040|lam:")
    assert quantile.signature.startswith(
        "quantile|q:0.5|method:mover-jeffreys-clopper-pearson|support:scores|alt:two-sided|"
    )
    assert str(quantile).startswith("human 0.5 quantile = ")
