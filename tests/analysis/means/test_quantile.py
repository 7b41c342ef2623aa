"""Quantiles: ppi_py and the binomial interval as oracles, identities, and simulated coverage."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.means.rates import post_stratified
from calib.stats import ppi_quantile

quick = settings(deadline=None, derandomize=True)


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
def test_quantiles_as_in_ppi_py(oracles, seed, q, low, high, point):
    result = oracles.quantile(*continuous(seed), q=q)
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
    yes, said, others = (scores <= grid[:, None] for scores in (y, own, rest))
    counts = yes & said, said, yes & ~said, ~said, others, ~others
    share, low, high = post_stratified(*(each.sum(axis=1) for each in counts), 0.95)[:3]
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
    assert message(ppi_quantile, y[:5], f[:5], rest).startswith("`y` must have 10 labels at least, but got 5")
    assert message(ppi_quantile, y, f, rest, step=1).startswith("`step` must come with `bounds`, but came alone")
    assert message(ppi_quantile, y, f, rest, bounds=(0, 5)).startswith(
        "`y` must lie within `bounds` (0 to 5), but got "
    )
