"""Coverage by simulation with a two-sided verdict; the table of all cells is paper_repro/bias_coverage."""

import numpy as np
import pytest
from scipy import special, stats

from calib.stats import length_controlled, pairwise_agreement, position_bias

RUNS = 500


def verdict(hits, level=0.95):
    """That the rate is the level, at one error in a thousand."""
    return stats.binomtest(int(np.sum(hits)), len(hits), level).pvalue > 0.001


def both_orders(rng, n, groups):
    part = rng.normal(size=groups or n)[np.arange(n) % (groups or n)]
    quality = 1.4 * (part + rng.normal(size=n))
    return ((quality + pull + rng.logistic(size=n) > 0).astype(float) for pull in (0.5, -0.5))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "groups"), [(60, 0), (300, 0), (100, 20)])
def test_net_share_and_consistency(n, groups):
    first, second = both_orders(np.random.default_rng(1), 1_000_000, groups and 1_000_000 // (n // groups))
    net, same = np.mean(first - second), np.mean(first == second)
    rng, unit = np.random.default_rng(2), np.arange(n) % groups if groups else None
    found = [position_bias(*both_orders(rng, n, groups), groups=unit) for _ in range(RUNS)]
    assert verdict([r.interval.low <= net <= r.interval.high for r in found])
    assert verdict([r.consistency_interval.low <= same <= r.consistency_interval.high for r in found])


@pytest.mark.slow
def test_the_sign_test_keeps_its_level_and_whole_groups_do_too():
    rng, unit = np.random.default_rng(3), np.arange(120) % 30
    rejected = []
    for _ in range(RUNS):
        pull = rng.normal(size=30)[unit]  # each prompt pulls to one place: pairs of it move together
        quality = rng.normal(size=120)
        first, second = ((quality + s * pull + rng.logistic(size=120) > 0).astype(float) for s in (1, -1))
        rejected.append([position_bias(first, second, groups=g).p_value <= 0.05 for g in (unit, None)])
    grouped, alone = np.mean(rejected, axis=0)
    assert grouped <= stats.binom.ppf(0.999, RUNS, 0.05) / RUNS
    assert alone > grouped + 0.05  # pairs of one prompt are not independent


@pytest.mark.slow
@pytest.mark.parametrize("groups", [0, 20])
def test_agreement_and_length(groups):
    rng, n = np.random.default_rng(4), 200
    unit = np.arange(n) % groups if groups else None
    hits = []
    for _ in range(RUNS):
        part = rng.normal(size=groups)[unit] if groups else rng.normal(size=n)
        d = 100 + 300 * rng.normal(size=n)
        p = special.expit(-0.8 + 1.2 * np.tanh(d / d.std()))
        share = stats.norm.cdf(np.sqrt(0.5) * (part + rng.normal(size=n)))
        found = length_controlled((share < p).astype(float), d, groups=unit)
        same = pairwise_agreement((share < 0.7).astype(float), np.ones(n), groups=unit).with_ties
        hits.append(
            [
                found.interval.low <= special.expit(-0.8) <= found.interval.high,
                found.slope_interval.low <= 1.2 <= found.slope_interval.high,
                same.interval.low <= 0.7 <= same.interval.high,
            ]
        )
    assert all(verdict(column) for column in np.transpose(hits))
