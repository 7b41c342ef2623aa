"""Gaffke's interval against Clopper and Pearson, Beta and other closed forms, an integral of its own, and draws."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from calib.core.gaffke import Gaffke, gaffke_ends
from calib.core.laws import interval_of, p_value_of


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def law(values, weight, reach, *, error=0.0, count=None, support=None):
    """Of one set of observations."""
    values = np.asarray(values, dtype=float)
    count = np.ones(len(values)) if count is None else np.asarray(count)
    point = float(np.average(values, weights=count))
    ends, code = tuple(np.array([float(end)]) for end in reach), np.zeros(len(values), dtype=np.intp)
    return Gaffke(point, values - point, count, code, np.array([error]), np.array([weight]), ends, support or reach)


def yes(k, n):
    return np.repeat([1.0, 0.0], [k, n - k])


def mirrored_beta(tail, a, b):
    """The quantile from above, without what 1 - x loses."""
    return stats.beta.isf(tail, a, b)


# --- closed forms ---------------------------------------------------------------------------------------------------

COUNTS = [(k, n) for n in (2, 5, 10, 20, 50, 200, 1000) for k in sorted({1, n // 2, n - 1})]


@pytest.mark.parametrize(("k", "n"), COUNTS)
@pytest.mark.parametrize("tail", [1e-6, 0.005, 0.025, 0.1, 0.3])
def test_with_full_weight_yes_or_no_is_clopper_and_pearson(k, n, tail):
    found = law(yes(k, n), 1.0, (0, 1))
    assert_allclose(found.low(tail), min(stats.beta.ppf(tail, k, n - k + 1), k / n), rtol=1e-7, atol=1e-9)
    assert_allclose(found.high(tail), max(mirrored_beta(tail, k + 1, n - k), k / n), rtol=1e-7, atol=1e-9)


def test_the_published_end_of_18_of_20():
    # binom.test(18, 20) of R: .6830173 to .9876515
    found = interval_of(law(yes(18, 20), 1.0, (0, 1)), 0.95, "two-sided")
    assert_allclose(found, (0.6830173, 0.9876515), atol=5e-8)


@pytest.mark.parametrize(
    ("k", "n"), [(1, 2), (3, 5), (9, 10), (19, 20), (1, 20), (199, 200), (2, 1000), (9_999, 10_000)]
)
@pytest.mark.parametrize("weight", [0.2, 0.225, 0.45])
def test_two_values_are_a_beta_variable(k, n, weight):
    # the lower end has k gammas at 1 and n - k + w at 0, also where nearly all labels are the same
    found = law(yes(k, n), weight, (0, 1))
    for tail in (0.001, 0.025, 0.2):
        end = found.low(tail)
        assert_allclose(stats.beta.cdf(end, k, n - k + weight), tail, rtol=1e-6)
        assert_allclose(found.tails(end)[0], tail, rtol=1e-6)
        end = found.high(tail)
        assert_allclose(stats.beta.sf(end, k + weight, n - k), tail, rtol=1e-6)
        assert_allclose(found.tails(end)[1], tail, rtol=1e-6)


@pytest.mark.parametrize("n", [2, 10, 1000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_labels_that_are_all_alike(n):
    # n gammas at 4, w at 1 (or 5): 4 - 3 Beta(w, n); nothing but the unseen label has a spread
    found = law(np.full(n, 4.0), 0.45, (1, 5))
    for tail in (0.005, 0.025, 0.1):
        assert_allclose(found.low(tail), 4 - 3 * stats.beta.isf(tail, 0.45, n), rtol=1e-8)
        assert_allclose(found.high(tail), 4 + stats.beta.isf(tail, 0.45, n), rtol=1e-8)
    at_the_end = law(np.full(n, 5.0), 0.45, (1, 5))
    assert at_the_end.high(0.025) == 5
    assert at_the_end.tails(5.0)[1] >= 0.5


@pytest.mark.parametrize("n", [2, 20, 200])
@pytest.mark.parametrize("tail", [0.005, 0.1, 0.3, 0.45])
def test_an_unseen_label_may_weigh_next_to_nothing(n, tail):
    found, far = law(np.full(n, 4.0), 0.05, (1, 5)), 3 * stats.beta.isf(tail, 0.05, n)
    assert_allclose(4 - found.low(tail), far, rtol=1e-6, atol=4e-14)


def test_the_judge_alone_is_normal():
    # many labels that are all the same at the end: what is left is sigma z
    found = law(np.full(100_000, 0.5), 1e-9, (0, 1), error=0.01)
    assert_allclose(found.low(0.025), 0.5 - 1.959964 * 0.01, atol=1e-6)
    assert_allclose(found.high(0.1), 0.5 + 1.281552 * 0.01, atol=1e-6)


def test_a_score_between_two_ends_by_three_exponentials():
    # P(a E1 + b E2 < c E3) = 1 / ((1 + a / c)(1 + b / c)): Laplace transform of an exponential
    found = law([2.0, 3.0], 1.0, (0, 4))
    for t in (0.5, 1.0, 1.5):
        assert_allclose(found.tails(t)[0], 1 / ((1 + (2 - t) / t) * (1 + (3 - t) / t)), rtol=1e-9)


# --- other computations -----------------------------------------------------------------------------------------------


def by_real_axis(values, count, weight, unseen, sigma, t):
    """Gil-Pelaez (1951) on the real axis, by adaptive quadrature."""
    factors = np.append(count * (values - t), unseen - t)
    shapes, sigma = np.append(np.ones(len(values)), weight), sigma * (count.sum() + weight)
    spread = np.sqrt(shapes @ factors**2 + sigma**2)

    def integrand(u):
        angle = shapes @ np.arctan(u / spread * factors)
        return (
            np.sin(angle)
            * np.exp(-shapes @ np.log1p((u / spread * factors) ** 2) / 2 - (sigma * u / spread) ** 2 / 2)
            / u
        )

    parts = [integrate.quad(integrand, *ends, epsabs=1e-12, limit=500)[0] for ends in ((0, 2), (2, 10), (10, 100))]
    return 0.5 - sum(parts) / np.pi


def samples():
    rng = np.random.default_rng(0)
    yield "even", rng.uniform(1, 5, 12), np.ones(12), 0.0
    yield "skewed", 1 + rng.exponential(0.4, 15).clip(0, 4), np.ones(15), 0.03
    yield "spike", np.r_[np.full(17, 6.0), 1, 1, 7], np.ones(20), 0.01
    yield "a spike and the judge", np.r_[np.full(11, 2.0), 6.0], np.ones(12), 0.05
    yield "groups of unequal size", rng.uniform(1, 5, 12), np.r_[np.full(10, 0.4), 3, 5], 0.02


@pytest.mark.parametrize(("name", "values", "count", "sigma"), list(samples()))
@pytest.mark.parametrize("tail", [0.005, 0.025, 0.2, 0.4])
def test_an_end_leaves_its_tail_by_another_integral(name, values, count, sigma, tail):
    found = law(values, 0.4, (-2, 9), error=sigma, count=count)
    end, other = found.low(tail), found.high(tail)
    if end < found.point:
        assert_allclose(by_real_axis(values, count, 0.4, -2.0, sigma, end), tail, atol=1e-8)
    if other > found.point:
        assert_allclose(1 - by_real_axis(values, count, 0.4, 9.0, sigma, other), tail, atol=1e-8)


@pytest.mark.parametrize(("values", "few"), [((3.0, 5.0), 7), ((1.0, 4.0), 40)])
@pytest.mark.parametrize("far", [2.0, 10.0, 25.0])
def test_ends_of_a_thousand_labels_of_which_nearly_all_are_alike(values, few, far):
    # far from the saddlepoint the integrand would grow again along a line that bends as steepest descent does there
    x, reach = np.repeat(values, (1000 - few, few)), (min(values) - far, max(values) + far)
    found = law(x, 0.3, reach)
    for tail in (0.01, 0.1, 0.3):
        low, high = found.low(tail), found.high(tail)
        assert_allclose(by_real_axis(x, np.ones(1000), 0.3, reach[0], 0.0, low), tail, atol=1e-8)
        assert_allclose(1 - by_real_axis(x, np.ones(1000), 0.3, reach[1], 0.0, high), tail, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "values", "count", "sigma"), list(samples()))
def test_an_end_leaves_its_tail_of_draws(name, values, count, sigma):
    rng, draws, found = np.random.default_rng(1), 400_000, law(values, 0.4, (-2, 9), error=sigma, count=count)
    weights = rng.exponential(size=(draws, len(values))) * count
    unseen, z = rng.gamma(0.4, size=draws), rng.normal(size=draws)
    above = weights.sum(axis=1) + unseen
    common = weights @ values + (count.sum() + 0.4) * sigma * z
    for tail in (0.025, 0.2):
        for hit in ((common - 2 * unseen) / above < found.low(tail), (common + 9 * unseen) / above > found.high(tail)):
            assert abs(hit.mean() - tail) < 4 * np.sqrt(tail * (1 - tail) / draws)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 100, 400])
@pytest.mark.parametrize("few", [(2, 0), (0, 3), (1, 2)])
def test_spikes_by_draws(n, few):
    # nearly all labels at one value, the rest at either end: there a straight line of integration would oscillate
    rng, draws, kinds = np.random.default_rng(n), 1_000_000, np.array([6.0, 1.0, 7.0])
    number = np.array([n - sum(few), *few])
    found = law(np.repeat(kinds, number), 0.4, (-0.5, 7.5), support=(1, 7))
    gammas, unseen = rng.gamma(np.maximum(number, 1e-9), size=(draws, 3)) * (number > 0), rng.gamma(0.4, size=draws)
    for t in (5.85, 5.95, 5.99, 5.997, 6.02, 6.1):
        below, above = found.tails(t)
        common = gammas @ (kinds - t)
        drawn = np.mean(common - unseen * (0.5 + t) < 0), np.mean(common + unseen * (7.5 - t) > 0)
        side = 1 if t > found.point else 0  # on the other side of the point a tail is said to be a half at least
        p, mine = drawn[side], (below, above)[side]
        assert abs(p - mine) < 4 * np.sqrt(p * (1 - p) / draws) + 1e-9


# --- many sets at once, and what every law owes -----------------------------------------------------------------------


def many(seed=3, sets=40):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 30, sets)
    code = rng.permutation(np.repeat(np.arange(sets), sizes))
    values = rng.choice([1.0, 2.0, 2.5, 5.0], len(code), p=[0.1, 0.2, 0.6, 0.1])
    values[code == 3] = 5.0  # all at the end
    point = np.bincount(code, values) / sizes
    error, weight = rng.choice([0.0, 0.05], sets), rng.uniform(0.2, 1, sets)
    reach = rng.uniform(-1, 1, sets), rng.uniform(5, 7, sets)
    return Gaffke(point, values - point[code], np.ones(len(code)), code, error, weight, reach, (1.0, 5.0))


def alone(laws, i):
    here = laws.code == i
    parts = [part[[i]] for part in (laws.error, laws.weight, *laws.reach)]
    point, code = float(laws.point[i]), np.zeros(here.sum(), dtype=np.intp)
    return Gaffke(point, laws.off[here], laws.count[here], code, *parts[:2], tuple(parts[2:]), laws.support)


def test_many_sets_at_once_are_each_alone():
    laws = many()
    for tail in (0.005, 0.025, 0.3):
        each = [(one.low(tail), one.high(tail)) for one in (alone(laws, i) for i in range(len(laws.weight)))]
        assert_allclose(np.transpose([laws.low(tail), laws.high(tail)]), each, rtol=1e-9, atol=1e-9)
    for null in (2.0, 2.5, 4.0):
        each = [alone(laws, i).tails(null) for i in range(len(laws.weight))]
        assert_allclose(np.transpose(laws.tails(null)), each, rtol=1e-10, atol=1e-12)


def test_several_laws_at_once_are_each_alone():
    laws, values = [alone(many(), i) for i in range(5)], np.random.default_rng(8).uniform(1, 5, 40)
    laws += [many(), law(values, 0.4, (0, 6), count=np.repeat([0.5, 1.5], 20))]
    for one, (low, high) in zip(laws, gaffke_ends(laws, 0.025), strict=True):
        assert_allclose(low, one.low(0.025), rtol=1e-9)
        assert_allclose(high, one.high(0.025), rtol=1e-9)


def test_ends_lie_on_the_scale_on_both_sides_of_the_point_and_go_out_with_the_level():
    laws = many(4, 60)
    tails = [0.5, 0.4, 0.2, 0.025, 1e-3, 1e-6]
    lows, highs = (np.array([getattr(laws, side)(tail) for tail in tails]) for side in ("low", "high"))
    assert np.all((lows >= 1) & (lows <= laws.point) & (laws.point <= highs) & (highs <= 5))
    assert np.all(np.diff(lows, axis=0) <= 1e-9)
    assert np.all(np.diff(highs, axis=0) >= -1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1e6, 0.0), (1e-6, 0.0), (3.0, -700.0), (-1.0, 0.0), (-2.0, 11.0)])
def test_ends_move_with_the_scale(scale, shift):
    laws = many(5)

    def turned(low, high):
        return (scale * high + shift, scale * low + shift) if scale < 0 else (scale * low + shift, scale * high + shift)

    moved = Gaffke(
        scale * laws.point + shift, scale * laws.off, laws.count, laws.code, abs(scale) * laws.error, laws.weight,
        turned(*laws.reach), turned(*laws.support),
    )  # fmt: skip
    wanted = turned(laws.low(0.025), laws.high(0.025))
    assert_allclose((moved.low(0.025), moved.high(0.025)), wanted, rtol=0, atol=1e-9 * 4 * abs(scale))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999, 0.999999])
def test_a_p_value_is_the_level_at_which_an_end_lies_there(level, alternative):
    for values, error in ((yes(14, 20), 0.0), (np.random.default_rng(6).uniform(0, 1, 30), 0.02)):
        found = law(values, 0.325, (0, 1), error=error)
        ends = interval_of(found, level, alternative)
        inner = [end for end in ends if 0 < end < 1]
        assert inner
        for end in inner:
            assert_allclose(p_value_of(found, end, alternative), 1 - level, rtol=1e-6)


def test_values_beyond_the_scale_are_left_out_at_every_level():
    found = law(yes(14, 20), 0.325, (-0.3, 1.2), error=0.3, support=(0, 1))
    assert (found.low(0.001), found.high(0.001)) == (0, 1)
    for null in (-1e-9, -3, 1.001, 40):
        assert p_value_of(found, null, "two-sided") == 0
    assert found.tails(-0.1) == (0, 1)
    assert found.tails(1.1) == (1, 0)
    assert p_value_of(found, 0.0, "two-sided") > 0
    assert p_value_of(found, found.point, "two-sided") == 1


def test_more_weight_and_more_reach_are_wider():
    values = np.random.default_rng(7).uniform(2, 4, 25)
    widths = [
        np.ptp(interval_of(law(values, weight, reach, support=(0, 6)), 0.95, "two-sided"))
        for reach, weight in itertools.product([(1, 5), (0, 6), (-1, 7)], [0.2, 0.5, 1.0])
    ]
    assert np.all(np.diff(np.reshape(widths, (3, 3)), axis=0) > 0)
    assert np.all(np.diff(np.reshape(widths, (3, 3)), axis=1) > 0)
