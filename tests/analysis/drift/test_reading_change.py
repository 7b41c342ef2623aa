"""Readings then and now: numbers by hand and by other programs, options, what is refused, how often it alarms."""

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.drift.reading_change import dealt_anew
from calib.stats import CalibWarning, mean_interval, reading_change

NAN = np.nan


def read(n=40, r=4, s=4, shift=0.0, spread=0.7, seed=0):
    """Whole scores of items of unlike quality, read r times then and s times now."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(1, 9, (n, 1))
    return np.rint(quality + spread * rng.normal(size=(n, r))), np.rint(
        quality + shift + spread * rng.normal(size=(n, s))
    )


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        return reading_change(*args, **options)


# --- numbers ----------------------------------------------------------------------------------------------------


def test_shares_are_those_of_all_pairs():
    then, now = read()
    then[3, 1] = now[4, :2] = NAN
    floor, differ, gap = [], [], []
    for row, later in zip(then, now, strict=True):
        a, b = row[~np.isnan(row)], later[~np.isnan(later)]
        pairs = [(x, y) for i, x in enumerate(a) for y in a[i + 1 :]]
        floor.append(np.mean([x != y for x, y in pairs]))
        gap.append(np.mean([abs(x - y) for x, y in pairs]))
        differ.append(np.mean([x != y for x in a for y in b]))
    found = reading_change(then, now)
    assert_allclose([found.floor, found.differ, found.floor_gap], [np.mean(floor), np.mean(differ), np.mean(gap)])
    assert_allclose(found.changed, np.mean(differ) - np.mean(floor))
    assert_allclose(found.beyond, np.subtract(differ, floor))


def test_shares_of_many_items_are_those_of_each():
    then, now = read(n=30, r=300, s=200)  # several blocks
    one = quiet(then[:2], now[:2], n_permutations=99)
    assert_allclose(quiet(then, now, n_permutations=99).beyond[:2], one.beyond)


def test_the_statistic_is_scipys_energy_distance():
    then, now = read()
    expected = [stats.energy_distance(a, b) ** 2 for a, b in zip(then, now, strict=True)]  # scipy has its root
    found = reading_change(then, now)
    assert_allclose(found.energy, expected, atol=1e-9)
    assert_allclose(found.statistic, np.mean(expected))


def test_the_shift_has_scipys_t_interval():
    then, now = read(shift=-0.3)
    apart = now.mean(axis=1) - then.mean(axis=1)
    low, high = stats.ttest_1samp(apart, 0).confidence_interval(0.9)
    found = reading_change(then, now, confidence_level=0.9)
    assert_allclose([found.estimate, *found.interval], [apart.mean(), low, high])
    reach = stats.t.ppf(0.95, 39) + stats.norm.ppf(0.8)
    assert_allclose(found.smallest_shift, reach * stats.sem(apart))


def test_groups_widen_the_intervals_and_leave_the_tests():
    then, now = read()
    groups = np.repeat(np.arange(10), 4)
    moved = np.repeat(np.arange(10) % 2, 4)[:, None]  # whole groups change together
    alone, shared = reading_change(then, now + moved), reading_change(then, now + moved, groups=groups)
    assert shared.p_value == alone.p_value
    assert shared.p_shift == alone.p_shift
    assert (shared.n_groups, alone.n_groups) == (10, 40)
    expected = mean_interval(shared.now - shared.then, groups=groups, estimator="classical").interval
    assert_allclose(shared.interval, expected)
    assert np.diff(shared.interval) > np.diff(alone.interval)
    clustered = mean_interval(shared.beyond, groups=groups, estimator="classical").interval
    assert_allclose(shared.changed_interval, clustered)


def test_the_changed_share_has_gaffkes_interval():
    then, now = read()
    found = reading_change(then, now)
    assert_allclose(found.changed_interval, mean_interval(found.beyond, bounds=(-1, 1)).interval)


def test_the_p_value_of_a_shift_is_that_of_all_ways_to_deal():
    then, now = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 3.0], [4.0, 6.0]])
    each = []
    for a, b in zip(then, now, strict=True):
        four = np.concatenate([a, b])
        pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
        each.append([np.delete(four, pair).mean() - four[list(pair)].mean() for pair in pairs])
    sums = np.add.outer(*each)
    exact = np.mean(np.abs(sums) >= abs((now.mean(axis=1) - then.mean(axis=1)).sum()) - 1e-9)
    found = quiet(then, now, n_permutations=40_000)
    assert abs(found.p_shift - exact) < 5 * np.sqrt(exact * (1 - exact) / 40_000)


def test_single_items_are_corrected_as_statsmodels_does():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    then, now = read(r=8, s=8)
    now[:3] += 4
    found = reading_change(then, now)
    assert_allclose(found.p_holm, multitest.multipletests(found.p_items, method="holm")[1])
    assert_allclose(found.p_by, multitest.multipletests(found.p_items, method="fdr_by")[1])
    assert found.n_changed == 3
    assert set(np.argsort(-found.energy)[:3]) == {0, 1, 2}


@pytest.mark.parametrize(("r", "s", "least"), [(4, 4, 2 / 70), (4, 1, 1 / 5), (6, 6, 2 / 924), (2, 2, 2 / 6)])
def test_no_item_has_a_smaller_p_value_than_the_ways_to_deal_allow(r, s, least):
    then, now = np.tile(np.arange(r, dtype=float), (5, 1)), np.tile(100 + np.arange(s, dtype=float), (5, 1))
    found = quiet(then, now)
    assert found.least_p == pytest.approx(least)
    assert_allclose(found.p_items, least, atol=5 * np.sqrt(least / 9999))
    assert found.n_changed == (5 if 5 * least <= 0.05 else 0)


def test_many_readings_have_a_p_value_of_one_more_than_the_permutations():
    then, now = np.zeros((5, 20)), np.ones((5, 20))
    assert quiet(then, now, n_permutations=199).least_p == 1 / 200


# --- the permutation within items against what can be counted ---------------------------------------------------


def energies(then, now):
    """Energy distance of each row's readings."""
    return dealt_anew(then, now, 99, np.random.default_rng(0)).energy


def present(readings):
    return readings[~np.isnan(readings)]


def by_pairs(a, b):
    """2 E|a - b| - E|a - a'| - E|b - b'| as it is defined, over all pairs."""

    def mean(x, y):
        return np.abs(np.subtract.outer(x, y)).mean()

    return 2 * mean(a, b) - mean(a, a) - mean(b, b)


def ragged(seed, then=4, now=3):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, 6, (40, then)).astype(float), rng.integers(1, 6, (40, now)).astype(float)
    a[3, -1] = b[7, :-1] = NAN
    if then > 2:
        a[7, 0] = a[3, 1] = NAN
    return a, b


def test_a_sum_over_gaps_is_the_mean_over_pairs():
    a, b = ragged(0)
    expected = [by_pairs(present(x), present(y)) for x, y in zip(a, b, strict=True)]
    assert_allclose(energies(a, b), expected, atol=1e-12)


@pytest.mark.parametrize(("then", "now"), [(4, 3), (4, 1), (2, 2), (5, 4)])
def test_shares_as_far_are_those_of_all_ways_to_deal(then, now):
    a, b = ragged(1, then, now)
    draws = 20_000
    found = dealt_anew(a, b, draws, np.random.default_rng(2)).as_far / draws
    for i in range(12):
        values, size = np.concatenate([present(a[i]), present(b[i])]), len(present(a[i]))
        ways = [by_pairs(values[list(c)], np.delete(values, c)) for c in combinations(range(len(values)), size)]
        exact = np.mean(np.array(ways) >= by_pairs(present(a[i]), present(b[i])) - 1e-9)
        assert abs(found[i] - exact) < 5 * np.sqrt(0.25 / draws)


def test_the_sum_is_as_far_as_often_as_all_ways_of_two_items_say():
    a, b = np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([[4.0, 2.0], [5.0, 1.0]])
    each = []
    for x, y in zip(a, b, strict=True):
        values = np.concatenate([x, y])
        each.append([by_pairs(values[list(c)], np.delete(values, c)) for c in combinations(range(4), 2)])
    exact = np.mean(np.add.outer(*each) >= energies(a, b).sum() - 1e-9)
    draws = 40_000
    found = dealt_anew(a, b, draws, np.random.default_rng(3)).as_far_in_all / draws
    assert abs(found - exact) < 5 * np.sqrt(0.25 / draws)


def test_readings_that_are_all_alike_say_nothing():
    dealt = dealt_anew(np.full((5, 3), 2.0), np.full((5, 2), 2.0), 99, np.random.default_rng(0))
    assert dealt.energy.tolist() == [0.0] * 5
    assert dealt.as_far.tolist() == [99] * 5
    assert dealt.as_far_in_all == 99


# --- what is seen -----------------------------------------------------------------------------------------------


def test_it_sees_items_that_move_apart_though_the_mean_stays():
    then, now = read(n=60)
    found = reading_change(then, now + np.where(np.arange(60) % 2, 1.0, -1.0)[:, None])
    assert found.p_value < 0.001
    assert found.p_shift > 0.05
    assert found.drifted


def test_a_rare_error_more_is_seen_by_the_shift_alone():
    then, now = np.ones((100, 4)), np.ones((100, 4))
    now[:15, 0] = 0  # one reading of an item: as far from the others, whichever side it is on
    found = quiet(then, now)
    assert found.p_value == 1
    assert found.p_shift < 0.001
    assert found.drifted


def test_a_judge_without_noise_or_change():
    found = quiet(np.full((20, 4), 3.0), np.full((20, 4), 3.0))
    assert (found.p_value, found.p_shift, found.floor, found.changed) == (1, 1, 0, 0)
    assert "no_noise" in found.warnings[0]
    assert np.isnan(found.interval.low)
    assert np.isnan(found.smallest_shift)
    low, high = found.changed_interval
    assert low < 0 < high  # twenty items do not show that none changed


def test_items_without_enough_readings_are_left_out_and_said():
    then, now = read()
    then[0, 1:] = now[1] = NAN
    with pytest.warns(CalibWarning, match="items_dropped: 2 of 40 items"):
        found = reading_change(then, now)
    assert found.n == 38
    assert found.n_dropped == 2
    assert found.items.tolist() == list(range(2, 40))
    same = reading_change(then[2:], now[2:])
    assert found.p_value == same.p_value


def test_few_groups_are_said():
    then, now = read()
    with pytest.warns(CalibWarning, match="few_groups: only 5"):
        reading_change(then, now, groups=np.repeat(range(5), 8))


def test_items_in_a_frame_begin_with_those_farthest_apart():
    pytest.importorskip("pandas")
    then, now = read()
    now[7] += 5
    frame = reading_change(then, now).changes
    assert frame["item"][0] == 7
    assert list(frame) == ["item", "then", "now", "shift", "energy", "p_item", "p_holm", "p_by"]
    assert frame["energy"].is_monotonic_decreasing


def test_to_exchange_then_and_now_turns_the_shift_round_and_leaves_the_distance():
    then, now = read(shift=-0.4)
    there, back = reading_change(then, now), reading_change(now, then)
    assert back.statistic == pytest.approx(there.statistic)
    assert back.estimate == pytest.approx(-there.estimate)
    assert_allclose(back.p_items, there.p_items, atol=0.03)
    assert back.differ == there.differ


def test_the_order_of_readings_and_the_zero_of_the_scale_do_not_matter():
    then, now = read(shift=-0.4)
    expected = reading_change(then, now)
    found = reading_change(then[:, ::-1] + 100, now[:, [2, 0, 3, 1]] + 100)
    assert found.statistic == pytest.approx(expected.statistic)
    assert (found.p_value, found.p_shift, found.floor) == (expected.p_value, expected.p_shift, expected.floor)


def test_a_seed_gives_the_same_and_another_one_another():
    then, now = read()
    first, second, third = (reading_change(then, now, rng=seed).p_value for seed in (0, 0, 1))
    assert first == second
    assert first != third
    assert reading_change(then, now, n_permutations=99).p_value * 100 % 1 == pytest.approx(0)


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "now", "options", "said"),
    [
        (np.ones((9, 1)), np.ones((9, 4)), {}, "`then` must have 2 readings of an item at least (4 are recommended)"),
        (np.ones((9, 1)), np.ones((9, 4)), {}, "the statistic is the same if the two are exchanged"),
        ([1.0, 2.0], [1.0, 2.0], {}, "`then` must have two dimensions"),
        (np.ones((3, 2)), np.ones((2, 2)), {}, "`now` must have the length of `then` (3), but got 2"),
        (np.ones((3, 2)), np.full((3, 2), NAN), {}, "`now` must have a reading of an item that `then` read twice"),
        (np.ones((1, 2)), np.ones((1, 2)), {}, "must have two items at least"),
        (np.ones((3, 2)), np.ones((3, 2)), {"groups": ["a"] * 3}, "`groups` must have two groups at least"),
        (np.ones((3, 2)), np.ones((3, 2)), {"groups": ["a"]}, "`groups` must have the length of `then`"),
        (np.ones((3, 2)), np.ones((3, 2)), {"n_permutations": 10}, "`n_permutations` must be a whole number of 99"),
        (np.ones((3, 2)), np.ones((3, 2)), {"confidence_level": 1.5}, "`confidence_level` must be between 0 and 1"),
        (np.full((3, 2), np.inf), np.ones((3, 2)), {}, "`then` must be finite or NaN"),
        (np.empty((0, 4)), np.empty((0, 4)), {}, "`then` must have 2 readings"),
    ],
)
def test_wrong_arguments_say_which_and_why(then, now, options, said):
    assert said in message(reading_change, then, now, **options)


# --- sessions ---------------------------------------------------------------------------------------------------


def by_sessions(n_then, n_now, draws, *, n=30, shift=0.0, seed=0, over_items=True, rho=0.3):
    """Readings that share a part of their variance within a session: over all items, or within each."""
    rng, sides = np.random.default_rng(seed), []
    quality = rng.normal(5.5, 1.5, (n, 1))
    for number, move in ((n_then, 0), (n_now, shift)):
        shared = np.repeat(rng.normal(size=(1 if over_items else n, number)), draws, axis=1)
        noise = math.sqrt(rho) * shared + math.sqrt(1 - rho) * rng.normal(size=(n, number * draws))
        sides.append(np.rint(quality + move + noise))
    return sides, [np.repeat(range(number), draws) for number in (n_then, n_now)]


def test_sessions_are_dealt_out_whole():
    """All ways to deal out 5 sessions, each by scipy's energy distance of the readings of an item."""

    def distance(item, way):
        return stats.energy_distance(item[list(way)].ravel(), np.delete(item, way, axis=0).ravel()) ** 2

    (then, now), sessions = by_sessions(3, 2, 2, n=8, shift=1)
    found = quiet(then, now, sessions=sessions, n_permutations=9_999)
    together, ways = np.hstack([then, now]).reshape(8, 5, 2), [*combinations(range(5), 3)]
    far = np.array([[distance(item, way) for item in together] for way in ways])
    assert_allclose(found.energy, far[ways.index((0, 1, 2))])
    totals = far.sum(axis=1)
    assert found.p_value == pytest.approx((totals >= totals[ways.index((0, 1, 2))] - 1e-9).mean(), abs=0.02)
    assert found.least_p == pytest.approx(0.1)


def test_the_shift_of_sessions_is_students():
    (then, now), sessions = by_sessions(4, 3, 2)
    found = quiet(then, now, sessions=sessions)
    means = [side.reshape(30, -1, 2).mean(axis=(0, 2)) for side in (then, now)]
    theirs = stats.ttest_ind(*means[::-1])
    assert found.p_shift == pytest.approx(theirs.pvalue)
    assert found.estimate == pytest.approx(means[1].mean() - means[0].mean())
    ends = theirs.confidence_interval()
    assert found.interval.high - found.interval.low > ends.high - ends.low
    # noise is what readings of two sessions of then differ by
    pairs = [(a, b) for a, b in combinations(range(8), 2) if a // 2 != b // 2]
    assert found.floor == pytest.approx(np.mean([then[:, a] != then[:, b] for a, b in pairs]))
    assert np.isnan(found.changed_interval.low)


def test_sessions_too_few_to_be_dealt_out_leave_the_shift():
    (then, now), sessions = by_sessions(3, 3, 2, shift=3)
    found = quiet(then, now, sessions=sessions)
    assert found.p_value > 0.05
    assert found.p_shift < 0.05
    assert found.drifted
    assert "sessions:3+3" in found.signature
    with pytest.warns(CalibWarning, match="items_dropped: 1 of 30 items have no reading in one of the sessions"):
        reading_change(np.where(np.arange(30)[:, None] + np.arange(6) // 2 < 1, np.nan, then), now, sessions=sessions)


def test_draws_that_rise_and_fall_together_are_said():
    (then, now), _ = by_sessions(4, 4, 1, n=60)
    with pytest.warns(CalibWarning, match="draws_together"):
        reading_change(then, now)
    assert not any(text.startswith("draws_together") for text in quiet(*read(n=60, s=4, seed=1)).warnings)


@pytest.mark.parametrize(
    ("sessions", "said"),
    [
        ([[0, 1]], "`sessions` must be a pair"),
        ([[0, 1, 2], [0, 1]], "must have a session for each reading, or for each column, of `then`"),
        ([[0, 0], [0, 1]], "must be two at least then, and one now: of one their noise is not seen, but got 1 then"),
        ([[0, None], [0, 1]], "`sessions` must have no missing label"),
    ],
)
def test_sessions_that_cannot_be_compared(sessions, said):
    assert said in message(reading_change, np.ones((9, 2)), np.ones((9, 2)), sessions=sessions)


@pytest.mark.slow
@pytest.mark.parametrize("over_items", [True, False])
@pytest.mark.parametrize("n", [2, 4, 8])
def test_with_sessions_alarms_come_as_often_as_they_may(n, over_items):
    """Readings of a session share .3 of their variance; taken as independent they alarm most of the time."""
    runs, alarms = 400, np.zeros(4, dtype=int)
    for seed in range(runs):
        (then, now), sessions = by_sessions(n, n, 4 if n == 2 else 2, seed=seed, over_items=over_items)
        found = quiet(then, now, sessions=sessions, n_permutations=199, rng=seed)
        alone = seed < 60 and quiet(then, now, n_permutations=199).drifted
        alarms += found.p_shift <= 0.05, found.p_value <= 0.05, found.drifted, alone
    assert stats.binomtest(int(alarms[0]), runs, 0.05).pvalue > 0.001
    # of few sessions there are few ways to deal them out; two tests at half the level are one at less than the level
    assert stats.binomtest(int(alarms[1]), runs, 0.05, "greater" if n < 8 else "two-sided").pvalue > 0.001
    assert stats.binomtest(int(alarms[2]), runs, 0.05, "greater" if n == 8 else "two-sided").pvalue > 0.001
    assert stats.binomtest(int(alarms[3]), 60, 0.05, "greater").pvalue < 0.001


# --- how often it alarms ----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("s", [1, 4])
def test_without_a_change_alarms_come_as_often_as_they_may(s):
    runs, alarms = 1000, np.zeros(3, dtype=int)
    for seed in range(runs):
        found = quiet(*read(n=40, s=s, seed=seed), n_permutations=199, rng=seed)
        alarms += found.p_value <= 0.05, found.p_shift <= 0.05, found.drifted
    for count in alarms[:2]:
        assert stats.binomtest(int(count), runs, 0.05).pvalue > 0.001
    assert stats.binomtest(int(alarms[2]), runs, 0.05, alternative="greater").pvalue > 0.001
