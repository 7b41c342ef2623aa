"""Intervals of shares: Wilson's where items are independent, simulated coverage where groups repeat, and at 100 %."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from calib.analysis.agreement.spread import Answers, answers_of, share_interval
from calib.stats import agreement, label_ceiling

quick = settings(deadline=None, derandomize=True)


def scores(yes, rng, gap=1):
    """Pairs that agree where `yes`, and are `gap` apart elsewhere."""
    x = rng.integers(1, 6, len(yes)).astype(float)
    return x, np.where(yes, x, x + gap)


@pytest.mark.parametrize("method", ["exact", "adjacent"])
@pytest.mark.parametrize(("n", "hits"), [(10, 10), (40, 37), (40, 0), (40, 40), (7, 1), (3000, 2990), (3000, 3000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_independent_items_have_wilsons_interval(method, n, hits, level):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    x, y = scores(np.arange(n) < hits, np.random.default_rng(n), gap=2)
    result = agreement(x, y, method=method, confidence_level=level)
    peer = proportion.proportion_confint(hits, n, alpha=1 - level, method="wilson")
    assert_allclose(result.interval, np.clip(peer, 0, 1), rtol=1e-9, atol=1e-12)
    assert (result.estimate, result.interval_method, result.df) == (hits / n, "Wilson", math.inf)
    assert result.generalises_to == "new items, each independent of the others"


def test_groups_of_one_item_are_independent_items_with_students_law():
    x, y = scores(np.arange(30) < 26, np.random.default_rng(1))
    found = agreement(x, y, method="exact", groups=np.arange(30))
    t2 = stats.t.ppf(0.975, 29) ** 2 / 30
    p = 26 / 30
    roots = np.sort(np.roots([1 + t2, -(2 * p + t2), p**2]))  # (p - m)^2 = t^2 m (1 - m) / n
    assert_allclose(found.interval, roots, rtol=1e-9)
    assert found.interval_method == "Wilson, group jackknife"


def test_the_ends_solve_wilsons_equation():
    answers, variance, p = Answers(200, 20, 8), 0.002, 0.85
    effect = 200 * variance / (p * (1 - p))
    effect = (8 * effect + 10) / 9
    low, high = share_interval(p, variance, answers, 19, 0.9)
    for end in (low, high):
        assert_allclose((p - end) ** 2, stats.t.ppf(0.95, 19) ** 2 * end * (1 - end) * effect / 200, rtol=1e-9)


@quick
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=40))
def test_split_units_are_those_with_the_rarer_answer(pairs):
    unit = np.unique([u for u, _ in pairs], return_inverse=True)[1]
    yes = np.array([v for _, v in pairs])
    with_yes, with_no = ({int(u) for u, v in zip(unit, yes, strict=True) if bool(v) is kind} for kind in (True, False))
    found = answers_of(yes, unit)
    assert found == (len(pairs), len(set(unit.tolist())), min(len(with_yes), len(with_no)))


@quick
@given(st.floats(0, 1), st.floats(0, 0.25), st.integers(2, 60), st.integers(1, 12), st.integers(0, 60))
def test_the_interval_holds_the_share_and_stays_within_0_and_1(share, variance, units, each, split):
    ends = share_interval(share, variance, Answers(units * each, units, min(split, units)), units - 1, 0.95)
    assert 0 <= ends.low <= share + 1e-12 and share - 1e-12 <= ends.high <= 1
    assert ends.low < ends.high


@pytest.mark.parametrize("hits", ["none", "all"])
def test_0_and_100_percent_have_an_interval(hits):
    yes, groups, systems = np.full(60, hits == "all"), np.repeat(np.arange(12), 5), np.tile(np.arange(5), 12)
    x, y = scores(yes, np.random.default_rng(2), gap=3)
    both = {"groups": groups, "systems": systems, "systems_are": "random"}
    for options, units in (({}, 60), ({"groups": groups}, 12), (both, 5)):
        for level in ("item", "group") if options else ("item",):
            low, high = agreement(x, y, method="exact", level=level, **options).interval
            t2 = (stats.norm.ppf(0.975) if not options else stats.t.ppf(0.975, units - 1)) ** 2
            reach = t2 / (units + t2)  # of as many answers as there are units
            assert_allclose((low, high), (1 - reach, 1) if hits == "all" else (0, reach), atol=1e-12)
    people = np.column_stack([x, x])
    assert label_ceiling(people, x, method="exact").ceiling_interval.low > 0.9
    assert agreement(np.arange(12.0), np.arange(12.0), method="pairs").interval.low > 0.6


# --- coverage ---------------------------------------------------------------------------------------------------


def share_of_groups(p, icc, n_groups, each, rng):
    """Shares of groups from a beta law with mean p and this intraclass correlation; unequal sizes."""
    alike = 1 / icc - 1 if icc else None
    of_group = rng.beta(p * alike, (1 - p) * alike, n_groups) if icc else np.full(n_groups, p)
    size = np.maximum(1, rng.permutation(np.round(each * np.linspace(0.4, 1.6, n_groups)).astype(int)))
    group = np.repeat(np.arange(n_groups), size)
    return rng.random(len(group)) < of_group[group], group


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [10, 20, 30, 50])
@pytest.mark.parametrize("icc", [0, 0.2, 0.6])
@pytest.mark.parametrize("p", [0.7, 0.9, 0.98])
def test_coverage_over_groups(n_groups, icc, p):
    rng, hits = np.random.default_rng(71), {"item": 0, "group": 0}
    all_alike = 0
    for _ in range(600):
        yes, group = share_of_groups(p, icc, n_groups, 8, rng)
        x, y = scores(yes, rng)
        all_alike += yes.all()
        for level in hits:
            low, high = agreement(x, y, method="exact", groups=group, level=level).interval
            hits[level] += low <= p <= high
    # never short: the lowest of a thousand cells that hold 94 % is 92.0 of 100, with a data set of 600
    for level, count in hits.items():
        assert stats.binomtest(count, 600, 0.94, alternative="less").pvalue > 0.001, f"{level}: {count} of 600"
    assert all_alike > 0 or p < 0.98 or (icc == 0 and n_groups > 20) or n_groups > 30


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(30, 0.6), (150, 0.8), (150, 0.95), (400, 0.97), (40, 0.9)])
def test_coverage_over_items_is_wilsons(n, p):
    # the coverage that Wilson's interval has by enumeration, two-sided; a Wald interval has less
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    counts = np.arange(n + 1)
    low, high = proportion.proportion_confint(counts, n, method="wilson")
    exact = float(stats.binom.pmf(counts, n, p)[(low <= p) & (p <= high)].sum())
    rng, hits = np.random.default_rng(72), 0
    for _ in range(1500):
        ends = agreement(*scores(rng.random(n) < p, rng), method="exact").interval
        hits += ends.low <= p <= ends.high
    assert stats.binomtest(hits, 1500, exact).pvalue > 0.001
    assert exact > 0.93
