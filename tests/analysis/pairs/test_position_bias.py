"""Position bias: exact tests, Newcombe's interval, what ties, probabilities and groups change."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as reference

from calib.core.check import ArgumentError
from calib.stats import position_bias


def pairs(both, first, second, neither):
    """Outcomes of A when first and when second: of 2 x 2 counts."""
    counts = (both, first, second, neither)
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


# golden numbers of LLMBar's 419 pairs: 20:10, 32:13 and 133:10 of the inconsistent ones
@pytest.mark.parametrize(
    ("f", "s", "p", "consistency"),
    [(20, 10, 0.098737, 0.9284), (32, 13, 0.0066088, 0.8926), (133, 10, 1.383e-28, 0.6587)],
)
def test_golden_counts(f, s, p, consistency):
    same = 419 - f - s
    found = position_bias(*pairs(same // 2, f, s, same - same // 2))
    assert (found.n_first, found.n_second, found.n) == (f, s, 419)
    assert found.p_value == pytest.approx(p, rel=5e-5 if p > 1e-6 else 5e-4)
    assert found.consistency == pytest.approx(consistency, abs=5e-5)
    assert found.estimate == pytest.approx((f - s) / 419)


# Newcombe (1998), Statistics in Medicine 17, 2635-2650, Table II: method 10 on a, b, c, d
@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [((36, 12, 2, 0), 0.0569, 0.3404), ((20, 12, 2, 16), 0.0562, 0.3292), ((54, 0, 0, 0), -0.0664, 0.0664)],
)
def test_newcombes_method_10(counts, low, high):
    assert position_bias(*pairs(*counts)).interval == pytest.approx((low, high), abs=2e-4)


@settings(deadline=None)
@given(st.lists(st.sampled_from([(1, 1), (1, 0), (0, 1), (0, 0), (0.5, 0), (0.5, 0.5)]), min_size=2, max_size=40))
def test_the_sign_test_is_scipys_and_turning_the_orders_turns_the_answer(outcomes):
    first, second = np.array(outcomes, float).T
    one, two = position_bias(first, second), position_bias(second, first)
    moved = int(np.sum(first != second))
    expected = reference.binomtest(int(np.sum(first > second)), moved).pvalue if moved else 1.0
    assert one.p_value == pytest.approx(expected, rel=1e-9)
    assert two.estimate == pytest.approx(-one.estimate)
    assert two.interval == pytest.approx((-one.interval.high, -one.interval.low))
    assert (two.n_first, two.n_second) == (one.n_second, one.n_first)
    assert -1 <= one.interval.low <= one.estimate + 1e-12 <= one.interval.high + 2e-12 <= 1 + 3e-12


def test_groups_are_turned_as_a_whole_exactly():
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(9), [1, 2, 3, 1, 2, 4, 1, 1, 3])
    first, second = (rng.random(len(group)) < 0.7).astype(float), (rng.random(len(group)) < 0.35).astype(float)
    sums = np.bincount(group, np.sign(first - second))
    every = [abs(np.dot(signs, sums)) for signs in itertools.product((-1, 1), repeat=len(sums))]
    expected = np.mean(np.array(every) >= abs(sums.sum()) - 1e-9)
    found = position_bias(first, second, groups=group)
    assert found.p_value == pytest.approx(expected, rel=1e-12)
    assert found.n_groups == 9
    assert any(text.startswith("few_groups") for text in found.warnings)


def test_groups_of_one_are_no_groups_and_copies_of_pairs_say_nothing_more():
    first, second = pairs(20, 9, 3, 18)
    alone = position_bias(first, second)
    assert position_bias(first, second, groups=range(50)) == alone
    copied = position_bias(np.repeat(first, 4), np.repeat(second, 4), groups=np.repeat(range(50), 4))
    assert copied.p_value == pytest.approx(alone.p_value)
    width = alone.interval.high - alone.interval.low
    assert copied.interval.high - copied.interval.low == pytest.approx(width, rel=0.06)
    naive = position_bias(np.repeat(first, 4), np.repeat(second, 4))
    assert naive.interval.high - naive.interval.low < 0.6 * width


def test_probabilities_have_a_mean_shift_and_verdicts_by_more_than_half():
    first, second = np.array([0.9, 0.6, 0.2, 0.7] * 10), np.array([0.8, 0.4, 0.1, 0.6] * 10)
    found = position_bias(first, second)
    assert found.estimate == pytest.approx(0.125)
    assert (found.n_first, found.n_second, found.consistency) == (10, 0, 0.75)
    assert found.interval.low > 0


def test_ties_in_both_orders_are_consistent():
    found = position_bias([0.5, 0.5, 1, 0], [0.5, 1, 1, 0])
    assert (found.n_ties, found.n_first, found.n_second, found.consistency) == (1, 0, 1, 0.75)


def test_what_is_missing_is_counted_and_unlike_orders_are_doubted():
    found = position_bias([1, np.nan, 0, 1], [1, 1, np.nan, 1])
    assert (found.n, found.n_one_order) == (2, 2)
    turned = position_bias([1] * 10 + [0] * 10, [0] * 9 + [1] * 11)
    assert [text.partition(":")[0] for text in turned.warnings] == ["turned"]


def test_all_alike_pairs_have_an_interval_that_is_not_a_point():
    found = position_bias([1, 0] * 30, [1, 0] * 30)
    assert found.p_value == 1
    assert found.interval.low < -0.01 < 0.01 < found.interval.high


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([1, 2], [1, 0], {}, "`first` must be the share of A"),
        ([1, 0], [1], {}, "`second` must have the length of `first`"),
        ([np.nan, 1], [1, np.nan], {}, "no pair is in both"),
        ([1, 0], [1, 0], {"groups": ["a"]}, "`groups` must have one label"),
        ([1, 0], [1, 0], {"confidence_level": 95}, "confidence_level"),
        (["x"], [1], {}, "`first` must be numeric"),
    ],
)
def test_refusals(first, second, options, message):
    with pytest.raises(ArgumentError, match=message):
        position_bias(first, second, **options)


def test_level_changes_the_interval():
    first, second = pairs(20, 9, 3, 18)
    wide, narrow = (position_bias(first, second, confidence_level=level).interval for level in (0.99, 0.8))
    assert wide.low < narrow.low < narrow.high < wide.high
