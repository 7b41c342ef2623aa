"""Chains of reasoning: simulated chains and labels, the jackknife by hand, every plan by trial."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.stats import CalibWarning, chain_plan, variance_components

NAN = math.nan
COSTS = {"tokens_chain": 300.0, "tokens_label": 7.0}


def by_hand(point, without, level=0.95):
    """A jackknife interval from its values."""
    k, off = len(without), np.asarray(without) - np.mean(without)
    error = math.sqrt((k - 1) / k * np.sum(off**2))
    df = min(2 * k / (np.mean(off**4) / np.mean(off**2) ** 2 - (k - 3) / (k - 1)), k - 1)
    half = stats.t.ppf((1 + level) / 2, df) * error
    return point - half, point + half


def reasoning(rng, n=400, c=6, between=0.3, labels=1):
    """Yes or no after a chain: p given the chain, and labels drawn after it."""
    p = np.clip(rng.normal(rng.uniform(0.3, 0.7, size=(n, 1)), between, size=(n, c)), 0, 1)
    return p, p * (1 - p), (rng.random((labels, n, c)) < p).astype(float)


def test_chains_add_up_to_the_variance_of_a_draw():
    rng = np.random.default_rng(50)
    p, variance, labels = reasoning(rng, n=20000)
    result = variance_components(p, variance)
    drawn = variance_components(labels[0])
    assert_allclose(result.within + result.label, drawn.within, rtol=0.01)
    assert_allclose(result.between, drawn.between, rtol=0.1)
    assert_allclose(result.r_label, drawn.r, rtol=0.1)
    assert_allclose(result.share, result.label / drawn.within, rtol=0.01)
    assert_allclose(result.r, result.within / result.between, rtol=1e-12)
    assert np.isnan([drawn.label, drawn.share, *drawn.share_interval, drawn.r_label]).all()


def test_chains_are_the_draws_of_the_items():
    rng = np.random.default_rng(51)
    p, variance, _ = reasoning(rng, n=30)
    p[2], variance[3, 1:], p[4, 0] = NAN, NAN, NAN
    result = variance_components(p, variance)
    other = variance_components(np.where(np.isnan(variance), NAN, p))
    for name in ("within", "between", "r", "interval", "icc", "icc_interval", "df", "n_draws", "n_unread", "estimator"):
        assert getattr(result, name) == getattr(other, name)
    assert (result.n, result.n_dropped, result.n_groups) == (29, 1, 29)
    read = np.isfinite(p) & np.isfinite(variance)
    assert_allclose(result.label, variance[read].mean(), rtol=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_interval_of_the_share(grouped):
    rng = np.random.default_rng(52)
    p, variance, _ = reasoning(rng, n=30)
    groups = rng.integers(0, 7, 30)
    unit = groups if grouped else np.arange(30)

    def log_ratio(keep):
        return math.log(p[keep].var(axis=1, ddof=1).mean() / variance[keep].mean())

    low, high = by_hand(log_ratio(unit >= 0), [log_ratio(unit != u) for u in np.unique(unit)])
    result = variance_components(p, variance, groups=groups if grouped else None)
    assert_allclose(result.share_interval, [1 / (1 + math.exp(end)) for end in (high, low)], rtol=1e-9)
    assert result.share_interval.low < result.share < result.share_interval.high


def test_chains_that_say_the_same_leave_all_to_the_label():
    result = variance_components([[0.5, 0.5], [0.7, 0.7]], [[0.25, 0.25], [0.21, 0.21]])
    assert (result.within, result.share, result.r) == (0, 1, 0)
    assert_allclose(result.r_label, 0.23 / 0.02)


def test_chains_that_decide_leave_nothing_to_the_label():
    assert variance_components([[1, 2], [5, 5], [3, 4]], np.zeros((3, 2))).share == 0


def test_items_may_not_differ_over_chains():
    with pytest.warns(CalibWarning, match="`between` was set to 0"):
        result = variance_components([[0.2, 0.8], [0.9, 0.3], [0.4, 0.6]], np.full((3, 2), 0.2), groups=[0, 0, 1])
    assert (result.between, result.r, result.r_label, result.clipped) == (0, math.inf, math.inf, True)
    assert result.warnings[0].startswith("clipped: ")
    assert "|chains:2|clipped|groups:2|" in result.signature


@pytest.mark.slow
@pytest.mark.parametrize("between", [0, 0.01, 0.2, 1])
@pytest.mark.parametrize("within", [0, 0.05, 0.8])
@pytest.mark.parametrize("chain", [3.0, 40.0, 500.0])
def test_the_plan_is_the_best_of_all(between, within, chain):
    grid = list(itertools.product(range(1, 60), range(1, 320)))
    error = {(c, d): math.sqrt(between / c + within / (c * d)) for c, d in grid}
    cost = {(c, d): c * (chain + 7 * d) for c, d in grid}
    wanted = 0.21
    plan = chain_plan(between, within, tokens_chain=chain, tokens_label=7, std_error=wanted)
    best = min(cost[cell] for cell in grid if error[cell] <= wanted)
    assert plan.tokens == cost[plan.chains, plan.draws] == best
    assert_allclose(plan.std_error, error[plan.chains, plan.draws], rtol=1e-12)
    budget = 2000.0 if chain > 3 else 300.0
    plan = chain_plan(between, within, tokens_chain=chain, tokens_label=7, budget=budget)
    lowest = min(error[cell] for cell in grid if cost[cell] <= budget)
    assert plan.tokens <= budget
    assert_allclose(plan.std_error, lowest, rtol=1e-12, atol=1e-15)


def test_labels_per_chain_by_cochrans_rule():
    # sqrt(0.9 / 0.1 * 400 / 4) = 30
    plan = chain_plan(0.1, 0.9, tokens_chain=400, tokens_label=4, std_error=0.01)
    assert abs(plan.draws - 30) <= 1
    # the cost of the best design in real numbers: (sqrt(b c) + sqrt(w t))^2 / variance
    assert_allclose(plan.tokens, (math.sqrt(40) + math.sqrt(3.6)) ** 2 / 1e-4, rtol=1e-3)


def test_token_probabilities_leave_chains_alone():
    drawn = chain_plan(0.1, 0.9, **COSTS, std_error=0.2)
    read = chain_plan(0.1, 0.9, **COSTS, std_error=0.2, logprobs=True)
    assert (read.chains, read.draws) == (3, 1)
    assert_allclose(read.std_error, math.sqrt(0.1 / 3))
    assert drawn.tokens > read.tokens
    assert chain_plan(0.1, 0.9, **COSTS, budget=1000, logprobs=True).chains == 3


def test_a_whole_number_of_chains_is_not_rounded_up():
    assert [chain_plan(0.1 * c, 0, **COSTS, std_error=math.sqrt(0.1)).chains for c in range(1, 50)] == [*range(1, 50)]


def test_messages_of_chains():
    shape = "`variances` must have the shape of `samples` (2, 2), but got (2, 1)."
    assert message(variance_components, np.ones((2, 2)), np.ones((2, 1))) == shape
    negative = "`variances` must not be negative, but got -1."
    assert message(variance_components, np.ones((2, 2)), -np.ones((2, 2))) == negative
    both = "`std_error` or `budget` must be given, and not both."
    assert message(chain_plan, 1, 1, **COSTS) == message(chain_plan, 1, 1, **COSTS, std_error=1, budget=1) == both
    assert message(chain_plan, -1, 1, **COSTS, budget=9) == "`between` must be a variance, 0 or more, but got -1."
    assert message(chain_plan, 1, 1, **COSTS, std_error=0) == "`std_error` must be above 0, but got 0."
    short = "`budget` must pay for a chain and a label (307), but got 300."
    assert message(chain_plan, 1, 1, **COSTS, budget=300) == short
    many = message(chain_plan, 1, 1, **COSTS, std_error=1e-4)
    assert many == "the target must not take more than 1000000 chains, but may take 200000001."


def test_a_plan_takes_the_components():
    chains = variance_components([[1, 2], [3, 3], [5, 4]], np.full((3, 2), 0.2))
    assert chain_plan(chains, **COSTS, budget=1000) == chain_plan(chains.within, chains.label, **COSTS, budget=1000)
    drawn = variance_components([[1, 2], [3, 3], [5, 4]])
    assert message(chain_plan, drawn, **COSTS, budget=1000) == "`within` must be a variance, 0 or more, but got nan."


def test_chains_print_and_tabulate():
    chains = variance_components([[1, 2], [3, 3], [5, 4]], np.full((3, 2), 0.2))
    assert [row["quantity"] for row in chains._rows()] == [
        *("within", "between", "r", "icc", "label", "share", "r_label")
    ]
    assert str(chains).startswith("token probabilities after a chain remove 37.5 % of the variance of a draw, 95 % CI")
    assert chains.signature.startswith("chain-components|ci:jackknife|cl:0.95|n:3|dropped:0|chains:2")
    plan = chain_plan(0.1, 0.9, **COSTS, budget=1000)
    assert plan._rows() == [dataclasses.asdict(plan)]
    assert str(plan).startswith(f"{plan.chains} chains with {plan.draws} labels each: standard error ")
    assert plan.signature.startswith("chain-plan|chains:")
