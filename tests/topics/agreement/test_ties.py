"""Tie calibration: the definition as a double loop, decimals, what a user can do with the epsilon, shapes of data."""

import dataclasses
import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from calib.stats import agreement, tie_calibration

NAN = math.nan
quick = settings(deadline=None, derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.filter_too_much])


def sign(value):
    return int(value > 0) - int(value < 0)


def groups_of(x, y, groups):
    """The scored items of each group with two or more."""
    table = {}
    for a, b, g in zip(x, y, groups, strict=True):
        if math.isfinite(a) and math.isfinite(b):
            table.setdefault(g, []).append((a, b))
    return [members for members in table.values() if len(members) > 1]


def accuracy(parts, epsilon):
    """Mean over groups of the share of pairs that are ordered alike, distances up to epsilon being ties."""
    shares = []
    for members in parts:
        alike = [
            (0 if abs(a - c) <= epsilon else sign(a - c)) == sign(b - d)
            for (a, b), (c, d) in itertools.combinations(members, 2)
        ]
        shares.append(sum(alike) / len(alike))
    return sum(shares) / len(shares)


def distances(parts):
    return sorted({0.0, *(abs(a - c) for members in parts for (a, _), (c, _) in itertools.combinations(members, 2))})


def best(parts):
    """The smallest epsilon with the highest accuracy, up to rounding."""
    curve = [(epsilon, accuracy(parts, epsilon)) for epsilon in distances(parts)]
    top = max(value for _, value in curve)
    return next((epsilon, value) for epsilon, value in curve if value >= top - 1e-12)


def columns(table):
    x, y, groups = zip(*table, strict=True)
    return np.array(x, dtype=float), np.array(y, dtype=float), np.array(groups)


gaps = st.just(NAN)
binary = st.integers(0, 12).map(lambda k: k / 8)  # differences without rounding
decimal = st.integers(0, 12).map(lambda k: k / 10)  # .3 - .2 is not .2 - .1


def tables(scores):
    return st.lists(st.tuples(scores | gaps, st.integers(1, 4) | gaps, st.sampled_from("aaabcde")), max_size=25)


@pytest.mark.slow
@quick
@given(tables(binary), st.booleans())
def test_all_distances_are_searched(table, grouped):
    assume(table)
    x, y, groups = columns(table)
    parts = groups_of(x, y, groups if grouped else [0] * len(x))
    assume(parts)
    found = tie_calibration(x, y, groups=groups if grouped else None)
    epsilon, value = best(parts)
    assert (found.epsilon, found.accuracy) == (epsilon, pytest.approx(value, abs=1e-12))
    assert found.accuracy_uncalibrated == pytest.approx(accuracy(parts, 0.0), abs=1e-12)
    assert found.curve[0].tolist() == distances(parts)
    assert found.curve[1] == pytest.approx([accuracy(parts, e) for e in found.curve[0]], abs=1e-12)


@pytest.mark.slow
@quick
@given(tables(decimal), st.booleans())
def test_the_accuracy_is_that_of_the_epsilon_in_decimals_too(table, grouped):
    """Who ties all differences up to the epsilon that is reported gets the accuracy that is reported."""
    assume(table)
    x, y, groups = columns(table)
    parts = groups_of(x, y, groups if grouped else [0] * len(x))
    assume(parts)
    found = tie_calibration(x, y, groups=groups if grouped else None)
    assert accuracy(parts, found.epsilon) == pytest.approx(found.accuracy, abs=1e-12)
    tenths = [[(round(10 * a), b) for a, b in members] for members in parts]
    epsilon, value = best(tenths)
    assert found.accuracy == pytest.approx(value, abs=1e-12)
    assert found.epsilon == pytest.approx(epsilon / 10, abs=1e-12)


def test_tenths_by_hand():
    found = tie_calibration([0.3, 0.2, 0.1, 0.5], [2, 2, 2, 3])
    assert 0.3 - 0.2 < 0.2 - 0.1 == 0.1
    assert found.epsilon == 0.1  # the larger of the two; .2 wins one pair and loses another
    x = np.array([0.1, 0.2, 0.3, 0.9])
    found = tie_calibration(x, [1, 1, 1, 2])
    assert found.accuracy == 1
    apart = np.abs(x[:, None] - x)
    assert (apart <= found.epsilon).tolist() == (apart < 0.25).tolist()
    # .1 + .2 and .3 are two numbers, a last digit apart
    found = tie_calibration([0.1 + 0.2, 0.3, 1.0], [1, 1, 2])
    assert found.accuracy == 1
    assert found.epsilon == pytest.approx(0, abs=1e-15)


@pytest.mark.slow
@quick
@given(tables(decimal))
def test_epsilon_zero_is_pairwise_accuracy(table):
    assume(table)
    x, y, groups = columns(table)
    assume(groups_of(x, y, groups))
    scored = np.isfinite(np.asarray(x, dtype=float) + np.asarray(y, dtype=float))
    assume(len({group for group, there in zip(groups, scored, strict=True) if there}) > 1)  # one is an error there
    found = tie_calibration(x, y, groups=groups)
    plain = agreement(x, y, groups=groups, level="group", method="pairs", interval="none")
    assert found.curve[0, 0] == 0 or found.accuracy_uncalibrated == found.curve[1, 0]
    assert found.accuracy_uncalibrated == pytest.approx(plain.estimate, abs=1e-12)


def test_groups_count_alike_whatever_their_size():
    x = [0, 1, *range(10)]
    y = [1, 1, *range(10)]
    groups = ["small"] * 2 + ["large"] * 10
    # the tie of two items is worth as much as all 45 pairs of the large group, of which 9 are lost at 1
    found = tie_calibration(x, y, groups=groups)
    assert (found.epsilon, found.accuracy) == (1, pytest.approx((1 + 36 / 45) / 2))
    assert found.accuracy_uncalibrated == pytest.approx(0.5)
    assert tie_calibration(x, y).epsilon == 0
    assert (found.n, found.n_groups) == (12, 2)
    assert tie_calibration(x, y).n_groups == 0


def test_the_smallest_of_equal_epsilons():
    assert tie_calibration([1, 2, 3], [1, 2, 3]).epsilon == 0
    assert tie_calibration([1, 1, 1], [1, 2, 3]).epsilon == 0  # nothing helps
    assert tie_calibration([1, 2, 4], [1, 1, 1]).epsilon == 3
    assert tie_calibration([1, 2, 4], [1, 1, 2]).epsilon == 1


def test_counts_and_shares():
    x = [1, 2, 3, NAN, 5, 7, 1]
    y = [1, 1, 2, 2, NAN, 3, 1]
    found = tie_calibration(x, y, groups=list("aaabbcc"))
    assert (found.n, found.n_missing, found.n_groups) == (5, 2, 2)
    # pairs: (1, 2) tied by the human, (1, 3), (2, 3), and (7, 1) of group c
    assert found.ties_y == 0.25
    assert found.ties_uncalibrated == 0
    assert (found.epsilon, found.ties_x) == (0, 0)
    forced = tie_calibration([1, 2, 9], [1, 1, 2])
    assert (forced.epsilon, forced.ties_x, forced.ties_y) == (1, pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_only_the_judge_is_calibrated():
    x, y = [1.0, 2, 3, 4], [1, 1.5, 3, 4]
    assert tie_calibration(x, y).epsilon == 0
    assert tie_calibration(y, np.round(x)).accuracy == tie_calibration(np.array(y) + 100, x).accuracy


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_scale_of_the_judge_is_that_of_epsilon(scale):
    rng = np.random.default_rng(4)
    x, y, groups = rng.normal(size=60), rng.integers(1, 4, 60), rng.integers(0, 6, 60)
    one, other = tie_calibration(x, y, groups=groups), tie_calibration(scale * x, y, groups=groups)
    assert one.epsilon > 0
    assert other.epsilon == pytest.approx(scale * one.epsilon, rel=1e-9)
    assert other.accuracy == pytest.approx(one.accuracy)


def test_rows_and_labels_in_any_order_and_type():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    x, y, groups = rng.integers(0, 9, 40), rng.integers(1, 4, 40), rng.integers(0, 5, 40)
    wanted = tie_calibration(x, y, groups=groups)
    order = rng.permutation(40)
    shuffled = tie_calibration(x[order], y[order], groups=groups[order])
    assert (shuffled.epsilon, shuffled.n, shuffled.n_groups) == (wanted.epsilon, wanted.n, wanted.n_groups)
    # sums in another order differ in the last bit
    for name in ("accuracy", "accuracy_uncalibrated", "ties_x", "ties_y", "ties_uncalibrated"):
        assert getattr(shuffled, name) == pytest.approx(getattr(wanted, name), abs=1e-13)
    index = [f"row {i % 7}" for i in range(40)]
    series = (pd.Series(v, index=index) for v in (x, y))
    text = [f"doc {g}" for g in groups]
    assert tie_calibration(*series, groups=pd.Categorical(text)) == wanted
    assert tie_calibration(x.tolist(), np.ma.masked_array(y), groups=tuple(text)) == wanted


@pytest.mark.parametrize(
    ("x", "y", "groups"),
    [
        ([], [], None),
        ([], [], []),
        ([1], [1], None),
        ([1], [1], ["a"]),
        ([1, 2, 3], [1, 2, 3], list("abc")),
        ([1, NAN, 3], [NAN, 2, 3], None),
        ([NAN] * 3, [1, 2, 3], list("aab")),
    ],
)
def test_no_pair_is_refused(x, y, groups):
    with pytest.raises(ValueError, match="`x` must hold two scored items in some group, but has no pair among"):
        tie_calibration(x, y, groups=groups)


@pytest.mark.parametrize(
    ("x", "y", "groups", "says"),
    [
        ([1, 2], [1], None, "length"),
        ([1, 2], [1, 2], ["a"], "length"),
        ([[1, 2]], [1, 2], None, "`x` must have 1 dimension"),
        (["a", "b"], [1, 2], None, "`x` must be numeric"),
        ([1, math.inf], [1, 2], None, "`x` must be finite"),
        ([1, 2], [1, 2], ["a", None], "`groups` must have no missing label"),
        (np.arange(7000), np.arange(7000), None, "`x` must have at most 20,000,000 pairs"),
    ],
)
def test_what_else_is_refused(x, y, groups, says):
    with pytest.raises(ValueError, match=says):
        tie_calibration(x, y, groups=groups)


def test_one_group_of_one_item_does_not_count():
    pair, alone = [1, 2], [9]
    found = tie_calibration(pair + alone, [1, 1, 5], groups=list("aab"))
    assert (found.n_groups, found.accuracy, found.epsilon, found.n) == (1, 1, 1, 3)


@pytest.mark.slow
def test_many_items_in_groups_take_few_steps_and_little_memory(count_calls):
    """12,000 items in 750 groups: 90,000 pairs; and 12,000 in two groups of unlike size."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=12_000), rng.integers(1, 6, 12_000)
    for groups in (np.arange(12_000) % 750, np.where(np.arange(12_000) < 1_000, 0, np.arange(12_000))):
        tracemalloc.start()
        found = tie_calibration(x, y, groups=groups)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3e8
        steps = count_calls(lambda by=groups: tie_calibration(x, y, groups=by)).total()
        assert steps < 150 * len(set(groups))  # some for each group, none for each pair
        assert found.n_groups == (750 if groups[-1] < 750 else 1)


def test_a_result_shows_itself():
    pytest.importorskip("pandas")
    found = tie_calibration([2, 1, 1.5, 5, 3], [1, 2, 2, 3, 4])
    assert str(found) == "pairwise accuracy 0.7 where scores within 0.5 are ties (0.6 where only equal ones are)"
    assert found.signature.startswith("pairs|ties:calibrated|epsilon:0.5|n:5|missing:0|v:")
    grouped = tie_calibration([2, 1, 1.5, 5, 3], [1, 2, 2, 3, 4], groups=list("aabbb"))
    assert "|groups:2|" in grouped.signature
    row = found.to_frame().iloc[0]
    assert (row["epsilon"], row["accuracy"], row["n_groups"]) == (0.5, 0.7, 0)
    assert "0.5" in found._repr_html_()
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.epsilon = 0.0
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.curve.tolist() == found.curve.tolist()
