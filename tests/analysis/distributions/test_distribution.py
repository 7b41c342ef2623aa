"""Expectation, variance, entropy, mode and bounds: textbook values, theory, scipy, and brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from refusal import message
from scipy import optimize, special, stats

from calib.analysis.distributions.distribution import median, temper
from calib.stats import entropy, expectation, expectation_bounds, mode, variance

LEVELS = [1, 2, 3, 4, 5]
quick = settings(deadline=None, derandomize=True)
weights = st.lists(st.integers(0, 20), min_size=2, max_size=7).filter(any).map(lambda w: [v / 40 for v in w])


# --- expectation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "to_three_places", "exact"),
    [
        # the worked examples of G-Eval scoring: mass .92, mass .90, an even split
        ([0, 0, 0.42, 0.40, 0.10], 3.652, 3.36 / 0.92),
        ([0, 0, 0.10, 0.55, 0.25], 4.167, 3.75 / 0.90),
        ([0, 0, 0.50, 0.50, 0.00], 3.500, 3.5),
    ],
)
def test_textbook_expectations(p, to_three_places, exact):
    assert round(float(expectation(p, LEVELS)), 3) == to_three_places
    assert_allclose(expectation(p, LEVELS), exact, rtol=1e-14)


@pytest.mark.parametrize(
    ("raw", "normalised"),
    [
        # OpinSummEval stores both forms of a score: the sum of s p, and the same over the captured mass
        (3.16, 4.28),
        (0.12, 4.81),
    ],
)
def test_captured_mass_is_divided_out(raw, normalised):
    mass = raw / normalised
    p = [0, 0, 0, 5 * mass - raw, raw - 4 * mass]
    assert_allclose(np.dot(p, LEVELS), raw)
    assert_allclose(expectation(p, LEVELS), normalised, rtol=1e-12)


@quick
@given(weights, st.floats(1e-6, 1e6))
def test_only_the_shares_matter(p, scale):
    levels = np.arange(len(p)) ** 2
    scaled = np.multiply(p, scale)
    assert_allclose(expectation(scaled, levels), expectation(p, levels), rtol=1e-12)
    assert_allclose(variance(scaled, levels), variance(p, levels), rtol=1e-9, atol=1e-9)
    assert_allclose(entropy(scaled), entropy(p), rtol=1e-12, atol=1e-15)


@quick
@given(weights)
def test_expectation_and_variance_equal_numpy(p):
    levels = np.arange(len(p)) * 1.5 - 2
    centre = np.average(levels, weights=p)
    assert_allclose(expectation(p, levels), centre, rtol=1e-12, atol=1e-12)
    assert_allclose(variance(p, levels), np.average((levels - centre) ** 2, weights=p), rtol=1e-12, atol=1e-12)


def test_equal_means_of_whole_counts_are_ties():
    counts = np.array([[0, 3, 0, 3, 0], [1, 0, 10, 0, 1], [7, 0, 0, 0, 7], [0, 0, 1, 0, 0]])
    assert len(set(expectation(counts, LEVELS).tolist())) == 1


@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_variance_of_the_uniform_distribution(k):
    # (k^2 - 1) / 12, the variance of a die
    assert_allclose(variance(np.full(k, 0.3), np.arange(k)), (k * k - 1) / 12, atol=1e-15)


def test_a_huge_common_offset_moves_the_expectation_and_not_the_variance():
    p = [0.1, 0.2, 0.3, 0.4]
    near, far = [1, 2, 3, 4], [1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4]
    assert_allclose(expectation(p, far) - 1e9, expectation(p, near), atol=1e-6)
    assert_allclose(variance(p, far), variance(p, near), rtol=1e-6)


# --- entropy and mode -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4, 10])
def test_entropy_of_the_uniform_distribution_is_log_k(k):
    assert_allclose(entropy(np.full(k, 0.07)), math.log(k), rtol=1e-14)
    assert_allclose(entropy(np.full(k, 0.07), normalized=True), 1, rtol=1e-14)


def test_entropy_of_certainty_is_zero():
    assert entropy([0, 0, 0.8, 0]) == 0
    assert entropy([1.0]) == 0
    assert not np.signbit(entropy([0, 1.0]))


def test_normalized_entropy_of_a_single_level_is_zero():
    assert entropy([1.0], normalized=True) == 0
    assert_allclose(entropy([[0.3], [0.0]], normalized=True), [0, np.nan])


@quick
@given(weights)
def test_entropy_equals_scipy(p):
    assert_allclose(entropy(p), stats.entropy(p), rtol=1e-12, atol=1e-14)
    assert_allclose(entropy(p, normalized=True), stats.entropy(p, base=len(p)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("p", "levels", "most_probable"),
    [
        ([0.1, 0.2, 0.3], [1, 2, 3], 3),
        ([0.1, 0.45, 0.45], [3, 4, 5], 4),
        ([0.45, 0.45, 0.1], [5, 4, 3], 4),  # the lowest level, not the first
        ([0.2, 0.2], [-1, -2], -2),
    ],
)
def test_mode(p, levels, most_probable):
    assert mode(p, levels) == most_probable


# --- shapes and nasty input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [expectation, variance, mode, lambda p, levels: entropy(p)])
@pytest.mark.parametrize("p", [[0, 0, 0], [np.nan, 0.5, 0.2], np.ma.array([0.1, 0.2, 0.7], mask=[0, 1, 0])])
def test_no_mass_or_missing_mass_is_nan(function, p):
    assert np.isnan(function(p, [1, 2, 3]))


@pytest.mark.parametrize("function", [expectation, variance, mode, lambda p, levels: entropy(p)])
def test_no_distributions_give_no_numbers(function):
    assert function(np.empty((0, 5)), LEVELS).shape == (0,)


def test_integers_lists_and_masked_arrays_are_read_alike():
    wanted = expectation(np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    assert expectation([0, 1, 3], (1, 2, 3)) == wanted
    assert expectation(np.ma.array([0, 1, 3]), np.array([1, 2, 3])) == wanted


@pytest.mark.parametrize(
    ("shape_p", "shape_levels"),
    [((4, 3), (3,)), ((3,), (4, 3)), ((2, 1, 3), (4, 3)), ((4, 3), (2, 1, 3)), ((2, 4, 3), (4, 3)), ((4, 3), (4, 3))],
)
def test_leading_axes_are_broadcast_both_ways(shape_p, shape_levels):
    rng = np.random.default_rng(5)
    p, levels = rng.integers(0, 4, shape_p) / 8, rng.permutation(np.prod(shape_levels)).reshape(shape_levels)
    p[..., 1] = 0.3
    shape = np.broadcast_shapes(shape_p, shape_levels)
    every_p, every_level = np.broadcast_to(p, shape), np.broadcast_to(levels, shape)
    functions = (expectation, variance, mode, lambda *of: expectation_bounds(*of, 0.4, cap=0.3))
    for function in functions:
        whole = np.asarray(function(p, levels))
        assert whole.shape[-len(shape) + 1 :] == shape[:-1]
        for i in np.ndindex(shape[:-1]):
            assert_allclose(whole[(..., *i)], function(every_p[i], every_level[i]), rtol=1e-12, atol=1e-12)


# --- bounds -----------------------------------------------------------------------------------------------------


def corners(empty, unseen, cap):
    """All corners of 0 <= m <= cap, sum m <= unseen: every slot is empty or full, but for at most one."""
    for full in itertools.product([0.0, cap], repeat=empty):
        left = unseen - sum(full)
        if left >= -1e-15:
            yield np.array(full)
        for slot in range(empty):
            rest = unseen - (sum(full) - full[slot])
            if 0 <= rest <= cap:
                yield np.array([*full[:slot], rest, *full[slot + 1 :]])


def by_corners(p, levels, unseen, cap):
    """A ratio of two linear functions has its extremes in corners."""
    p, levels = np.asarray(p), np.asarray(levels, dtype=float)
    slots = levels[p == 0]
    values = [(p @ levels + m @ slots) / (p.sum() + m.sum()) for m in corners(len(slots), unseen, min(cap, unseen))]
    return min(values), max(values)


def by_charnes_cooper(p, levels, unseen, cap, sign):
    """The same as a linear programme in y = m t, t = 1 / (total mass)."""
    p, levels = np.asarray(p), np.asarray(levels, dtype=float)
    slots = levels[p == 0]
    k = len(slots)
    cost = sign * np.append(slots, p @ levels)
    below_cap = np.column_stack([np.eye(k), np.full(k, -cap)])
    result = optimize.linprog(
        cost,
        A_ub=np.vstack([below_cap, np.append(np.ones(k), -unseen)]),
        b_ub=np.zeros(k + 1),
        A_eq=[np.append(np.ones(k), p.sum())],
        b_eq=[1],
    )
    return sign * result.fun


cases = st.tuples(
    st.lists(st.sampled_from([0.0, 0.0, 0.05, 0.1, 0.3]), min_size=2, max_size=6).filter(any),
    st.permutations([1, 2, 3, 4.5, 7, 10]),
    st.floats(0, 1),
    st.floats(0.001, 1),
)


@quick
@given(cases)
def test_bounds_equal_the_best_corner(case):
    p, order, unseen, cap = case
    levels = order[: len(p)]
    assert_allclose(expectation_bounds(p, levels, unseen, cap=cap), by_corners(p, levels, unseen, cap), rtol=1e-12)
    assert_allclose(expectation_bounds(p, levels, unseen), by_corners(p, levels, unseen, unseen), rtol=1e-12)


@settings(deadline=None, derandomize=True)
@given(cases)
def test_bounds_equal_the_linear_programme(case):
    p, order, unseen, cap = case
    levels = order[: len(p)]
    low, high = expectation_bounds(p, levels, unseen, cap=cap)
    assert_allclose(low, by_charnes_cooper(p, levels, unseen, cap, 1), atol=1e-6)
    assert_allclose(high, by_charnes_cooper(p, levels, unseen, cap, -1), atol=1e-6)


@quick
@given(cases)
def test_bounds_hold_the_expectation_and_grow_with_unseen_and_cap(case):
    p, order, unseen, cap = case
    levels = order[: len(p)]
    point = expectation(p, levels)
    assert_allclose(expectation_bounds(p, levels, 0.0), [point, point], rtol=1e-12)
    inner, outer = expectation_bounds(p, levels, unseen, cap=cap), expectation_bounds(p, levels, unseen + 0.1)
    assert outer[0] <= inner[0] + 1e-12
    assert inner[0] <= point + 1e-12
    assert point <= inner[1] + 1e-12
    assert inner[1] <= outer[1] + 1e-12


def test_unseen_and_cap_change_the_bounds():
    p = [0, 0, 0.42, 0.40, 0.10]
    # by hand: (3.36 + .08 * 1) / 1, nothing above the mean is empty
    assert_allclose(expectation_bounds(p, LEVELS, 0.08), [3.44, 3.36 / 0.92], rtol=1e-12)
    assert_allclose(expectation_bounds(p, LEVELS, 0.05), [(3.36 + 0.05) / 0.97, 3.36 / 0.92], rtol=1e-12)
    # a cap of .05: .05 on the 1 and what is left, .03, on the 2
    assert_allclose(expectation_bounds(p, LEVELS, 0.08, cap=0.05), [3.36 + 0.05 + 0.06, 3.36 / 0.92], rtol=1e-12)


def test_bounds_of_a_batch_equal_rows():
    rng = np.random.default_rng(4)
    p = rng.random((2, 3, 5)) * (rng.random((2, 3, 5)) < 0.5)
    p[..., 2] = 0.2
    unseen, cap = rng.random((2, 3)), rng.random((2, 3))
    low, high = expectation_bounds(p, LEVELS, unseen, cap=cap)
    assert low.shape == high.shape == (2, 3)
    for i in np.ndindex(2, 3):
        assert_allclose((low[i], high[i]), expectation_bounds(p[i], LEVELS, unseen[i], cap=cap[i]), rtol=1e-14)


# --- median -----------------------------------------------------------------------------------------------------


@quick
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.permutations(range(6)))
def test_median_of_counts_is_that_of_the_draws(counts, order):
    levels = np.array(order[: len(counts)]) * 0.7
    assert median(counts, levels) == pytest.approx(np.median(np.repeat(levels, counts)))
    assert median(np.divide(counts, 30), levels) == pytest.approx(np.median(np.repeat(levels, counts)))


def test_median_of_a_batch_and_of_no_mass():
    assert_allclose(median([[0.2, 0.3, 0.5], [0.2, 0.2, 0.6], [0, 0, 0]], [1, 2, 3]), [2.5, 3, np.nan])
    # halfway to the next level that has mass
    assert median([0.5, 0, 0, 0.5], [1, 2, 3, 4]) == 2.5
    # ten tenths do not sum to one half after five by the last digit
    assert median([0.1] * 10, range(10)) == 4.5


# --- temperature ------------------------------------------------------------------------------------------------


@quick
@given(weights, st.floats(0.05, 50))
def test_temper_is_a_power(p, tau):
    power = np.power(p, 1 / tau) * (np.array(p) > 0)
    if power.sum() > 0:
        assert_allclose(temper(p, tau), power / power.sum(), rtol=1e-9, atol=1e-300)


@quick
@given(weights, st.floats(0.1, 10), st.floats(0.1, 10))
def test_temper_twice_is_temper_by_the_product(p, first, second):
    assert_allclose(temper(temper(p, first), second), temper(p, first * second), rtol=1e-8, atol=1e-12)


def test_temper_is_what_a_softmax_with_that_temperature_gives():
    logits = np.random.default_rng(6).normal(0, 5, (4, 7))
    for tau in (0.1, 1.0, 3.0):
        assert_allclose(temper(special.softmax(logits, axis=1), tau), special.softmax(logits / tau, axis=1), rtol=1e-9)


def test_ends_of_temper():
    p = [[0.2, 0.4, 0.4, 0.0], [0.1, 0.2, 0.7, 0.0]]
    assert_allclose(temper(p, 0), [[0, 0.5, 0.5, 0], [0, 0, 1, 0]])
    assert_allclose(temper(p, np.inf), [[1 / 3, 1 / 3, 1 / 3, 0]] * 2)
    assert_allclose(temper(p, 1), p)


def test_temper_neither_overflows_nor_vanishes():
    # the pytest settings make an overflow an error
    assert_allclose(temper([1e-300, 1e-299], 0.01), [0, 1], atol=1e-99)
    assert_allclose(temper([0.5, 0.5 * math.exp(-0.01), 0], 0.01), [1 / (1 + math.exp(-1)), 1 / (1 + math.e), 0])
    assert_allclose(temper([0.4, 0.4, 0.2], 1e-320), [0.5, 0.5, 0])
    assert_allclose(temper([1e-300, 1.0], 300 * math.log(10)), [1 / (1 + math.e), math.e / (1 + math.e)])
    assert np.isnan(temper([[0, 0], [np.nan, 1]], 0.5)).all()


def test_temper_moves_the_expectation_between_the_mode_and_the_middle():
    p, taus = [0.05, 0.05, 0.1, 0.2, 0.6], [0, 0.5, 1, 2, 10, np.inf]
    values = [float(expectation(temper(p, tau), LEVELS)) for tau in taus]
    assert values == sorted(values, reverse=True)
    assert (values[0], values[-1]) == pytest.approx((5, 3))
    nats = [float(entropy(temper(p, tau))) for tau in taus]
    assert nats == sorted(nats)


# --- messages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [expectation, variance, mode, median])
def test_messages_about_p_and_levels(function):
    for wrong, levels in (([0.5, -0.1], [1, 2]), (0.5, [1, 2]), ([], [])):
        assert message(function, wrong, levels) == f"{RULE}{wrong}."
    assert message(function, [[0.5, 0.2], [0.1, 0.9]], np.ones((3, 2))) == (
        "`levels` must fit `p` of shape (2, 2), but got shape (3, 2)."
    )
    assert message(function, [0.5, 0.2, 0.1], [1, 2]) == (
        "`levels` must have one value for each of the 3 entries of `p`, but got shape (2,)."
    )


@pytest.mark.parametrize(
    "function", [expectation, variance, mode, lambda p, levels: expectation_bounds(p, levels, 0.1)]
)
@pytest.mark.parametrize(
    ("p", "levels", "entries", "shape"),
    [([0.2, 0.3, 0.5], [7], 3, "(1,)"), ([0.2, 0.3, 0.5], 7, 3, "()"), ([[0.5], [0.5]], [1, 2], 1, "(2,)")],
)
def test_levels_are_not_stretched(function, p, levels, entries, shape):
    assert message(function, p, levels) == (
        f"`levels` must have one value for each of the {entries} entries of `p`, but got shape {shape}."
    )


RULE = "`p` must hold weights of one level or more that are not negative, but got "


@pytest.mark.parametrize(
    ("function", "args", "options", "wanted"),
    [
        (entropy, ([-1],), {}, f"{RULE}[-1]."),
        (entropy, ([],), {}, f"{RULE}[]."),
        (temper, ([0.5, 0.5], -0.1), {}, "`tau` must not be negative, but got -0.1."),
        (temper, ([0.5, 0.5], np.nan), {}, "`tau` must not be negative, but got nan."),
        (temper, ([0.5, -0.5], 1), {}, f"{RULE}[0.5, -0.5]."),
        (temper, ([1, 2], 1), {"source": 0}, "`source` must be above 0 and finite, but got 0."),
        (temper, ([1, 2], 1), {"pseudocount": -1}, "`pseudocount` must not be negative, but got -1."),
        (expectation_bounds, ([0.5, 0], [1, 2], -0.5), {}, "`unseen` must not be negative, but got -0.5."),
        (expectation_bounds, ([0.5, 0], [1, 2], 0.5), {"cap": -0.1}, "`cap` must not be negative, but got -0.1."),
    ],
)
def test_messages(function, args, options, wanted):
    assert message(function, *args, **options) == wanted
