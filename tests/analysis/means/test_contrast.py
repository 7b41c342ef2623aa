"""Ratios of means: Fieller's interval as oracle, identities, and simulated coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from calib.stats import ppi_ratio

NAN = float("nan")


def verdict(held, sets, nominal=0.95):
    return stats.binomtest(int(held), sets, nominal).pvalue > 1e-3


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
    assert result.warnings[-1].startswith("unbounded: the labels do not separate the lower mean from 0")


@pytest.mark.slow
def test_coverage_of_a_ratio_with_few_labels():
    rng, sets = np.random.default_rng(9), 100
    intervals = [ppi_ratio(*pairs(rng, 15, 300)).interval for _ in range(sets)]
    assert verdict(sum(low <= 3.8 / 2.3 <= high for low, high in intervals), sets)
