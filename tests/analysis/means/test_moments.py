"""Mergeable moments: the parts equal the whole, and means from moments equal means from arrays."""

import dataclasses
import functools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from refusal import message

from calib.stats import Moments, ppi_difference, ppi_mean

quick = settings(deadline=None, derandomize=True)
NAN = math.nan
FIELDS = ("n", "mean", "squares", "low", "high")


def same(one, two, tolerance=1e-12):
    for name in FIELDS:
        scale = max(1.0, float(np.max(np.abs(getattr(two, name))))) if np.isfinite(getattr(two, name)).all() else 1.0
        assert_allclose(getattr(one, name), getattr(two, name), rtol=tolerance, atol=tolerance * scale, err_msg=name)


def cut(values, places):
    return np.split(values, sorted(places))


# --- parts and whole --------------------------------------------------------------------------------------------


@quick
@given(st.lists(st.floats(-1e6, 1e6), max_size=60), st.lists(st.integers(0, 60), max_size=6), st.randoms())
def test_parts_in_any_order_are_the_whole(values, places, shuffle):
    values = np.array(values)
    parts = [Moments.from_chunks([part]) for part in cut(values, [min(p, len(values)) for p in places])]
    shuffle.shuffle(parts)
    whole = Moments.from_chunks([values])
    left = functools.reduce(Moments.merge, parts)
    right = functools.reduce(lambda a, b: b.merge(a), parts)
    same(left, whole, 1e-10)
    same(right, whole, 1e-10)
    if len(values):
        assert_allclose(whole.mean, values.mean(), rtol=1e-12, atol=1e-9)
        assert_allclose(whole.squares, np.sum((values - values.mean()) ** 2), rtol=1e-10, atol=1e-6)
        assert (whole.n, whole.low, whole.high) == (len(values), values.min(), values.max())


def test_many_blocks_are_the_whole():
    values = np.random.default_rng(0).normal(3, 1, 400_000)
    one, parts = Moments.from_chunks([values]), Moments.from_chunks(np.array_split(values, 17))
    same(one, parts)
    assert one == parts
    # fsum: the exact sum
    mean = math.fsum(values) / len(values)
    assert_allclose([one.mean, one.variance], [mean, math.fsum((values - mean) ** 2) / (len(values) - 1)], rtol=1e-13)


@pytest.mark.parametrize("offset", [1e6, 1e9, -1e12])
def test_a_huge_offset_leaves_the_spread(offset):
    # the sum of squares less n mean^2 would have no digit left
    values = np.random.default_rng(1).integers(0, 8, 100_000).astype(float)
    plain, moved = Moments.from_chunks([values]), Moments.from_chunks(np.array_split(values + offset, 40))
    assert_allclose(moved.mean - offset, plain.mean, atol=abs(offset) * 1e-15)
    assert_allclose(moved.variance, plain.variance, rtol=1e-9 + abs(offset) * 1e-18)
    apart = Moments.from_chunks([values]).merge(Moments.from_chunks([values + offset]))
    both = np.append(values, values + offset)
    assert_allclose(apart.variance, both.var(ddof=1), rtol=1e-12)


def test_equal_scores_have_no_spread_not_even_of_rounding():
    for value in (0.1, 1 / 3, 1e9 + 0.1):
        found = Moments.from_chunks([np.full(99_999, value)])
        assert (found.mean, found.squares) == (value, 0)
        merged = Moments.from_chunks([np.full(k, value) for k in (3, 70_000, 1)])
        assert (merged.mean, merged.squares) == (value, 0)


def test_nothing_is_nothing():
    nothing = Moments.from_chunks([])
    assert (nothing.n, nothing.mean, nothing.squares) == (0, 0, 0)
    assert math.isnan(nothing.variance)
    values = Moments.from_chunks([[4.0, 2.0]])
    assert nothing.merge(values) == values == values.merge(nothing) == Moments.from_chunks([[], [4.0], [], [2.0], []])
    assert nothing.merge(nothing) == nothing
    assert math.isnan(Moments.from_chunks([[4.0]]).variance)


def test_a_generator_is_read_once_piece_by_piece():
    alive = []

    def pieces():
        for k in range(5):
            alive.append(k)
            yield np.full(10, float(k))

    found = Moments.from_chunks(pieces())
    assert (alive, int(found.n), float(found.mean)) == ([0, 1, 2, 3, 4], 50, 2.0)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, np.uint8, bool, int])
def test_kinds_of_numbers(kind):
    values = np.random.default_rng(2).integers(0, 2, 70_000)
    same(Moments.from_chunks([values.astype(kind)]), Moments.from_chunks([values.astype(float)]))
    assert Moments.from_chunks([values.astype(kind).tolist()]).binary


def test_whether_scores_are_yes_and_no():
    assert Moments.from_chunks([[0, 1, 1, 0]]).binary
    assert Moments.from_chunks([[1, 1]]).binary
    assert not Moments.from_chunks([[0, 1, 0.5]]).binary
    assert not Moments.from_chunks([[0.5, 0.5]]).binary
    assert not Moments.from_chunks([[-1, 1]]).binary
    assert not Moments.from_chunks([[0, 2]]).binary
    big = np.zeros(1_000_000)
    big[::3] = 1
    assert Moments.from_chunks([big]).binary
    big[5] = 0.999
    assert not Moments.from_chunks([big]).binary


def test_the_scores_are_left_alone_and_not_copied():
    tracemalloc = pytest.importorskip("tracemalloc")
    values = np.random.default_rng(3).normal(size=1_000_000)
    before = values.copy()
    Moments.from_chunks([values[:10]])
    tracemalloc.start()
    Moments.from_chunks([values])
    y, f = values[:50] + 1, values[:50]
    ppi_mean(y, f, values)
    ppi_mean(np.clip(y, -9, 9), f, values, bounds=(-9, 9))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < values.nbytes / 4
    assert (values == before).all()


def test_equality_is_that_of_numbers():
    one = Moments.from_chunks([[1.0, 2.0]])
    assert one == dataclasses.replace(one, mean=one.mean + 1e-14)
    assert one != dataclasses.replace(one, mean=one.mean + 1e-9)
    assert one != "moments"
    assert one != Moments.from_chunks([([1.0, 2.0], [0, 0])], n_systems=1)


def test_equality_within_rounding_has_no_hash():
    with pytest.raises(TypeError):
        hash(Moments.from_chunks([[1.0, 2.0]]))


# --- many systems -----------------------------------------------------------------------------------------------


@quick
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 60), st.integers(1, 5))
def test_systems_are_what_each_is_alone(seed, systems, n, chunks):
    rng = np.random.default_rng(seed)
    values, code = rng.normal(1e3, 1, n), rng.integers(0, systems, n)
    order = list(zip(np.array_split(values, chunks), np.array_split(code, chunks), strict=True))
    random.Random(seed).shuffle(order)
    many = Moments.from_chunks(order, n_systems=systems)
    for k in range(systems):
        alone = Moments.from_chunks([values[code == k]])
        same(Moments(*(getattr(many, name)[k] for name in FIELDS)), alone, 1e-10)


def test_systems_merge_one_by_one():
    one = Moments.from_chunks([([1.0, 5.0], [0, 2])], n_systems=3)
    two = Moments.from_chunks([([3.0, 4.0], [2, 1])], n_systems=3)
    found = one.merge(two)
    assert found.n.tolist() == [1, 1, 2]
    assert found.mean.tolist() == [1, 4, 4]
    assert found.squares.tolist() == [0, 0, 2]
    assert (found.low.tolist(), found.high.tolist()) == ([1, 4, 3], [1, 4, 5])
    assert message(one.merge, Moments.from_chunks([[1.0]])) == "`other` must hold (3,) systems, but holds ()."


@pytest.mark.parametrize(
    ("chunks", "options", "text"),
    [
        ([[1.0, NAN]], {}, "`chunks` must have a score for each item, but got NaN at 1"),
        ([np.array([1.0, math.inf])], {}, "`chunks` must have a score for each item, but got inf at 1"),
        ([np.array([1.0, math.inf, -math.inf])], {}, "`chunks` must have a score for each item, but got inf at 1"),
        ([1.0, 2.0], {}, "`chunks` must have 1 dimension, but got shape ()"),
        ([["a"]], {}, "`chunks` must be numeric"),
        ([([1.0], [0])], {"n_systems": 0}, "`n_systems` must be a whole number of 1 or more, but got 0"),
        ([([1.0], [2])], {"n_systems": 2}, "`systems` must be whole numbers from 0 to 1"),
        ([([1.0], [-1])], {"n_systems": 2}, "`systems` must be whole numbers from 0 to 1"),
        ([([1.0], [0.0])], {"n_systems": 2}, "`systems` must be whole numbers from 0 to 1"),
        ([([1.0, 2.0], [0])], {"n_systems": 2}, "`systems` must have the length of `scores` (2), but got 1"),
        ([([1.0, NAN], [0, 1])], {"n_systems": 2}, "`chunks` must have a score for each item, but got NaN at 1"),
    ],
)
def test_messages(chunks, options, text):
    assert text in message(Moments.from_chunks, chunks, **options)


# --- means from moments -----------------------------------------------------------------------------------------


def world(seed=0, n=25, rest=5000):
    rng = np.random.default_rng(seed)
    f = rng.normal(3.2, 0.8, n + rest).clip(1, 5)
    y = np.round(f + rng.normal(0, 0.7, n + rest)).clip(1, 5)
    return y[:n], f[:n], f[n:]


def equal(one, two):
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(two, field.name)
        if isinstance(a, str) or field.name == "warnings":
            assert a == b
        else:
            assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=field.name)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [{}, {"bounds": (1, 5)}, {"bounds": (1, 5), "step": 1}, {"target": "benchmark"}]
    + [{"estimator": m} for m in ("regression", "classical", "ppi", "ppi++", "judge_only")]
    + [{"bounds": (1, 5), "alternative": "greater", "null": 3.0}],
)
def test_means_from_moments_are_those_from_arrays(seed, options):
    y, f, u = world(seed)
    parts = Moments.from_chunks(np.array_split(np.random.default_rng(seed).permutation(u), 7))
    equal(ppi_mean(y, f, parts, **options), ppi_mean(y, f, u, **options))
    equal(ppi_difference(y, y[::-1], f, f[::-1], parts), ppi_difference(y, y[::-1], f, f[::-1], u))


@pytest.mark.parametrize("options", [{}, {"conservative": True}, {"target": "benchmark"}, {"null": 0.5}])
def test_proportions_from_moments_are_those_from_arrays(options):
    y, f, u = (v > 3 for v in world(4))
    parts = Moments.from_chunks(np.array_split(u, 6))
    equal(ppi_mean(y, f, parts, **options), ppi_mean(y, f, u, **options))


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_means_far_from_zero(offset):
    y, f, u = world(5)
    result = ppi_mean(y + offset, f + offset, Moments.from_chunks(np.array_split(u + offset, 9)))
    plain = ppi_mean(y, f, u)
    assert_allclose(result.estimate - offset, plain.estimate, atol=offset * 1e-14)
    assert_allclose([result.std_error, result.lam], [plain.std_error, plain.lam], rtol=1e-6)


def test_what_moments_cannot_do_is_said():
    y, f, u = world(6)
    parts = Moments.from_chunks([u])
    for name in ("groups", "strata", "weights"):
        values = {name: np.arange(25) % 5 + 1, f"{name}_unlabeled": np.arange(5000) % 5 + 1}
        assert f"`{name}_unlabeled` must come with an array `f_unlabeled`" in message(ppi_mean, y, f, parts, **values)
    many = Moments.from_chunks([(u, np.arange(5000) % 2)], n_systems=2)
    assert "must be the moments of one set, but holds 2 systems" in message(ppi_mean, y, f, many)


# --- very many systems at once ----------------------------------------------------------------------------------


def systems(seed, count=6, n=14, rest=60):
    rng = np.random.default_rng(seed)
    gold, others = np.repeat(np.arange(count), n), rng.integers(0, count, count * rest)
    f, u = (rng.normal(3 + 0.2 * code, 0.7).clip(1, 5) for code in (gold, others))
    y = np.round(f + rng.normal(0, 0.6, len(f))).clip(1, 5)
    order = rng.permutation(len(gold))
    return y[order], f[order], gold[order], u, others


# --- sets of one population -------------------------------------------------------------------------------------------


def test_sets_put_together_in_one_step_are_those_of_all():
    rng = np.random.default_rng(6)
    scores, group = rng.normal(3, 1, 5000), rng.integers(0, 700, 5000)
    sets = Moments.from_chunks([(scores, group)], n_systems=700)
    halves = sets.within(np.arange(700) % 2, 2)
    assert halves == Moments.from_chunks([(scores, group % 2)], n_systems=2)
    assert sets.whole() == Moments.from_chunks([scores])
    assert Moments.from_chunks([([2.1] * 9, [0, 1, 2] * 3)], n_systems=3).whole().variance == 0


@pytest.mark.parametrize("estimator", ["auto", "ppi++", "ppi", "classical"])
@pytest.mark.parametrize("bounds", [None, (1, 5)])
@pytest.mark.parametrize("design", ["groups", "strata", "weights", "groups and weights"])
def test_moments_of_sets_do_for_scores_one_by_one(design, bounds, estimator):
    if estimator in ("ppi++", "ppi") and design != "groups":
        return  # they take no other design
    rng = np.random.default_rng(12)
    f = np.clip(rng.normal(3, 1, 3060), 1, 5)
    y = np.clip(np.round(f[:60] + rng.normal(0, 0.6, 60)), 1, 5)
    columns = {"groups": rng.integers(0, 90, 3060), "strata": rng.integers(0, 3, 3060)}
    columns["weights"] = rng.choice([0.5, 1.0, 2.0], 3060)
    used = {name: columns[name] for name in design.split(" and ")}
    asked = {"bounds": bounds, "estimator": estimator}
    beside = {f"{name}_unlabeled": values[60:] for name, values in used.items()}
    gold = {name: values[:60] for name, values in used.items()}
    arrays = ppi_mean(y, f[:60], f[60:], **gold, **beside, **asked)
    kinds, code = np.unique(np.column_stack([*used.values()])[60:], axis=0, return_inverse=True)
    sets = Moments.from_chunks([(f[60:], code.ravel())], n_systems=len(kinds))
    found = ppi_mean(y, f[:60], sets, **gold, **{name: kinds[:, k] for k, name in enumerate(beside)}, **asked)
    for name in ("estimate", "std_error", "lam", "width_ratio"):
        assert getattr(found, name) == pytest.approx(getattr(arrays, name), rel=1e-10)
    assert tuple(found.interval) == pytest.approx(tuple(arrays.interval), rel=1e-10)
    assert (found.n, found.n_labels, found.n_groups, found.warnings) == (
        *(arrays.n, arrays.n_labels, arrays.n_groups, arrays.warnings),
    )


def test_moments_of_sets_come_with_what_the_sets_are():
    sets = Moments.from_chunks([([3.0, 4.0], [0, 1])], n_systems=2)
    y = f = np.arange(12.0) % 5
    with pytest.raises(ValueError, match="must be the moments of one set"):
        ppi_mean(y, f, sets)
    with pytest.raises(ValueError, match="moments of a set for each"):
        ppi_mean(y, f, sets.whole(), groups=np.arange(12) % 4, groups_unlabeled=[1, 2])
    with pytest.raises(ValueError, match="length"):
        ppi_mean(y, f, sets, groups=np.arange(12) % 4, groups_unlabeled=[1, 2, 3])


def test_moments_do_where_labels_were_drawn_with_unequal_chances():
    y, f, u = world(6)
    chance = np.linspace(0.01, 0.3, 25)
    arrays, found = (ppi_mean(y, f, rest, inclusion=chance) for rest in (u, Moments.from_chunks([u])))
    assert found.estimate == pytest.approx(arrays.estimate, rel=1e-12)
    assert tuple(found.interval) == pytest.approx(tuple(arrays.interval), rel=1e-12)
