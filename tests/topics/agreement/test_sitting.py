"""Drift, runs and speed of one annotator: laws against all orders, scipy, and simulations of what is not there."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as scipy_stats

from calib.analysis.agreement import sitting as module
from calib.analysis.agreement.sitting import chance_of_run, falling_pairs, longest_run
from calib.core.numeric import adjusted
from calib.stats import ArgumentError, sitting

NAN = math.nan
COUNTS = ([2, 2], [3, 2], [4, 2, 1], [3, 3, 2], [5, 2, 1], [6, 1], [1, 1, 1, 1, 1])


def orders(counts):
    return itertools.permutations([float(value) for value, count in enumerate(counts) for _ in range(count)])


@pytest.mark.parametrize("counts", COUNTS)
def test_the_law_of_the_longest_run_counts_all_orders(counts):
    found = Counter(longest_run(np.array(order))[0] for order in orders(counts))
    for length in range(1, max(counts) + 2):
        share = sum(n for run, n in found.items() if run >= length) / sum(found.values())
        assert chance_of_run(counts, length) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("counts", COUNTS)
def test_the_law_of_falling_pairs_counts_all_orders(counts):
    found = Counter(sum(a > b for a, b in itertools.combinations(order, 2)) for order in orders(counts))
    law = falling_pairs([counts])
    assert law == pytest.approx([found[k] / sum(found.values()) for k in range(len(law))], abs=1e-12)


def test_the_law_of_two_sittings_is_that_of_both_together():
    one, two = (falling_pairs([counts]) for counts in ([2, 3], [2, 1, 2]))
    assert falling_pairs([[2, 3], [2, 1, 2]]) == pytest.approx(np.convolve(one, two), abs=1e-12)


def test_without_ties_it_is_the_exact_test_of_scipy():
    y = np.random.default_rng(1).normal(size=40)
    known = scipy_stats.kendalltau(np.arange(40), y, method="exact")
    found = sitting(y)
    assert (found.tau, found.p_drift) == pytest.approx((known.statistic, known.pvalue), rel=1e-9)


def test_of_two_values_it_is_the_exact_test_of_mann_and_whitney():
    places = np.array([0, 2, 3, 7, 8, 11, 12, 13, 17])
    y = np.zeros(25)
    y[places] = 1
    known = scipy_stats.mannwhitneyu(places, np.setdiff1d(np.arange(25), places), method="exact")
    assert sitting(y).p_drift == pytest.approx(known.pvalue, rel=1e-9)


def test_tau_with_ties_is_that_of_scipy():
    y = np.random.default_rng(2).integers(1, 4, 50)
    assert sitting(y).tau == pytest.approx(scipy_stats.kendalltau(np.arange(50), y).statistic, rel=1e-12)


def test_the_interval_is_that_of_least_squares_with_hc3():
    """Against the formula with matrices, for two sittings of different levels."""
    rng = np.random.default_rng(3)
    of = np.repeat([0, 1], [20, 12])
    place = np.concatenate([np.arange(20), np.arange(12)])
    y = rng.integers(1, 6, 32) + 2.0 * of
    design = np.column_stack([place, of == 0, of == 1]).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    left = 1 - np.einsum("ij,jk,ik->i", design, inverse, design)
    meat = design * ((y - design @ beta) / left)[:, None]
    error = math.sqrt((inverse @ meat.T @ meat @ inverse)[0, 0])
    half = scipy_stats.t.ppf(0.95, 29) * error * 19
    found = sitting(y, sittings=of, confidence_level=0.9)
    assert found.drift == pytest.approx(19 * beta[0], rel=1e-9)
    assert (found.interval.high - found.interval.low) / 2 == pytest.approx(half, rel=1e-9)


def test_drift_is_looked_for_within_sittings():
    y, of = [2, 2, 3, 2, 3, 2, 5, 4, 5, 5, 4, 5], ["one"] * 6 + ["two"] * 6
    assert sitting(y).p_drift < 0.01 < 0.5 < sitting(y, sittings=of).p_drift
    assert sitting(y, sittings=of).n_sittings == 2


def test_an_answer_without_a_label_keeps_its_place():
    found = sitting([1, NAN, NAN, 4, NAN])
    assert (found.n, found.n_missing, found.drift) == (2, 3, 4.0)  # one point an answer, four steps


def test_seconds_are_told_by_thirds():
    found = sitting([3, 4] * 3, seconds=[30, 20, 12, NAN, 8, 10])
    assert (found.seconds, found.seconds_first, found.seconds_last) == (12, 25, 9)
    assert math.isnan(sitting([3, 4]).seconds)


def test_labels_that_are_all_the_same_say_nothing():
    found = sitting([4] * 30)
    assert (found.run, found.run_value, found.p_run, found.drift) == (30, 4, 1, 0)
    assert math.isnan(found.p_drift)
    assert math.isnan(found.tau)


@pytest.mark.parametrize("labels", [[4] * 30, [1, 2, 3], [0.1, 0.2, 0.3, 0.4, 0.5]])
def test_labels_on_a_line_have_no_interval_of_no_width(labels):
    assert all(map(math.isnan, sitting(labels).interval))


@pytest.mark.parametrize(
    "labels", [range(180), range(2000), np.repeat([1, 2, 3, 4, 5], 120), np.repeat([1, 2, 3, 4, 5], 400)]
)
def test_what_is_rarer_than_a_number_can_say_is_not_impossible(labels):
    found = sitting(list(labels))
    assert 0 < found.p_drift < 1e-100
    assert 0 < found.p_run <= 1


def test_one_label():
    found = sitting([4])
    assert (found.n, found.run, found.mean) == (1, 1, 4)
    assert math.isnan(found.drift)
    assert str(found).startswith("1 label, mean 4; drift +nan, no interval")


@given(st.lists(st.sampled_from([1, 2, 3, 4, 5, NAN]), min_size=1, max_size=30))
@settings(deadline=None, derandomize=True, max_examples=150)
def test_what_holds_for_any_labels(labels):
    known = [value for value in labels if value == value]
    if not known:
        with pytest.raises(ArgumentError, match="must have a label"):
            sitting(labels)
        return
    found, turned = sitting(labels), sitting([6 - value for value in labels])
    assert 0 < found.p_run <= 1
    assert found.run <= found.n == len(known)
    assert (turned.p_run, turned.run) == (found.p_run, found.run)
    assert turned.p_drift == pytest.approx(found.p_drift, abs=1e-12, nan_ok=True)
    assert turned.tau == pytest.approx(-found.tau, abs=1e-12, nan_ok=True)
    assert sitting(labels[::-1]).p_run == found.p_run


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"y": [[1, 2]]}, "`y` must have 1 dimension"),
        ({"y": ["good"]}, "`y` must be numeric"),
        ({"y": []}, "`y` must have a label"),
        ({"y": [1, 2], "seconds": [3]}, "`seconds` must have the length of `y`"),
        ({"y": [1, 2], "sittings": ["a"]}, "`sittings` must have the length of `y`"),
        ({"y": [1, 2], "confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
    ],
)
def test_what_is_refused(given, text):
    with pytest.raises(ArgumentError) as caught:
        sitting(**given)
    assert text in str(caught.value)


def test_above_the_limits_the_laws_nearly_agree(monkeypatch):
    y = np.random.default_rng(4).integers(1, 6, 400)
    y[200:208] = 3
    exact = sitting(y)
    monkeypatch.setattr(module, "_COUNTED_PAIRS", 10)
    monkeypatch.setattr(module, "_COUNTED_LABELS", 10)
    near = sitting(y)
    assert near.p_drift == pytest.approx(exact.p_drift, abs=0.002)
    assert near.p_run == pytest.approx(exact.p_run, rel=0.05)
    assert exact.p_run < 0.05


def test_the_law_of_the_longest_run_is_that_of_shuffled_labels():
    rng = np.random.default_rng(5)
    y = np.repeat([1.0, 2, 3, 4, 5], [2, 5, 11, 20, 22])
    runs = np.array([longest_run(rng.permutation(y))[0] for _ in range(4000)])
    for length in (4, 6, 8):
        exact = chance_of_run([2, 5, 11, 20, 22], length)
        error = math.sqrt(exact * (1 - exact) / 4000)
        assert abs((runs >= length).mean() - exact) < 4 * error


# --- what is not there is not seen, and what is, how often ----------------------------------------------------------


def labels_of(rng, n, drift, cuts):
    return 1.0 + np.searchsorted(cuts, rng.normal(size=n) + drift * (np.arange(n) / (n - 1) - 0.5))


EVEN, CROWDED = (-0.84, -0.25, 0.25, 0.84), (-2, -1.4, -0.9, -0.2)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [EVEN, CROWDED, (0.5,)])
def test_no_drift_is_seen_as_often_as_it_is_said(cuts):
    """Two-sided: of so many values the exact test hardly loses any of its 5 %; runs have few values, and do."""
    rng, number = np.random.default_rng(6), 2000
    found = [sitting(labels_of(rng, 60, 0.0, cuts)) for _ in range(number)]
    drift = sum(one.p_drift < 0.05 for one in found)
    assert scipy_stats.binomtest(drift, number, 0.05).pvalue > 1e-3
    covered = sum(one.interval.low <= 0 <= one.interval.high for one in found)
    assert scipy_stats.binomtest(covered, number, 0.95).pvalue > 1e-3
    runs = sum(one.p_run < 0.05 for one in found)
    assert runs / number > 0.01
    assert scipy_stats.binomtest(runs, number, 0.05, alternative="greater").pvalue > 1e-3


@pytest.mark.slow
def test_a_panel_without_drift_is_flagged_at_most_as_often_as_it_is_said():
    """Three annotators, three criteria that go together, both tests, Holm over all: 3.6 % of 4,000 panels."""
    rng, number = np.random.default_rng(7), 1000

    def panel():
        for _ in range(3):
            common = rng.normal(size=60)
            for _ in range(3):
                y = np.searchsorted(EVEN, math.sqrt(0.6) * common + math.sqrt(0.4) * rng.normal(size=60))
                found = sitting(y)
                yield from (found.p_drift, found.p_run)

    flagged = sum(adjusted([*panel()], "holm").min() < 0.05 for _ in range(number))
    assert scipy_stats.binomtest(flagged, number, 0.05, alternative="greater").pvalue > 1e-3
    assert flagged / number > 0.015


@pytest.mark.slow
@pytest.mark.parametrize(("drift", "low", "high"), [(0.5, 0.13, 0.24), (1.0, 0.5, 0.62), (1.5, 0.83, 0.91)])
def test_how_often_a_drift_over_sixty_labels_is_seen(drift, low, high):
    rng = np.random.default_rng(8)
    seen = [sitting(labels_of(rng, 60, drift, EVEN)).p_drift < 0.05 for _ in range(1000)]
    assert low < np.mean(seen) < high
