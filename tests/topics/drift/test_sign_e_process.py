"""Watching: products by hand, false alarms, what restarts."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from calib.stats import sign_e_process

BETS = (0.15, 0.3, 0.6, -0.15, -0.3, -0.6)


def by_hand(differences):
    """The mean over bets of products over signs."""
    return np.mean([np.cumprod(1 + bet * np.sign(differences)) for bet in BETS], axis=0)


def restarted_by_hand(differences):
    """Each player's fortune is that of all who joined so far, from the recursion M = (M + 1) (1 + bet sign)."""
    fortunes, path = np.zeros(len(BETS)), []
    for sign in np.sign(differences):
        if sign:
            fortunes = (fortunes + 1) * (1 + np.array(BETS) * sign)
        path.append(fortunes.mean())
    return np.array(path)


def differences(n=300, up=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.3, 0.0, np.where(rng.random(n) < up, 1.0, -1.0))


def test_evidence_is_the_mean_of_products():
    moves = differences()
    found = sign_e_process(moves)
    assert_allclose(found.evidence, by_hand(moves))
    assert (found.up, found.down, found.ties) == ((moves > 0).sum(), (moves < 0).sum(), (moves == 0).sum())
    assert found.p_value == pytest.approx(min(1, 1 / by_hand(moves).max()))


def test_the_alarm_is_at_the_first_crossing():
    moves = differences(up=0.75)
    path = by_hand(moves)
    found = sign_e_process(moves, error=0.01)
    assert found.alarm
    assert found.first == int(np.argmax(path >= 100)) + 1
    assert sign_e_process(moves[: found.first - 1], error=0.01).first is None
    assert sign_e_process(moves, error=0.2).first < found.first


def test_size_of_differences_ties_and_gaps_do_not_matter():
    moves = differences(up=0.7)
    found = sign_e_process(moves)
    assert_allclose(sign_e_process(5 * moves).log_evidence, found.log_evidence)
    assert_allclose(sign_e_process(moves[moves != 0]).log_evidence[-1], found.log_evidence[-1])
    gap = sign_e_process([*moves, math.nan])
    assert gap.missing == 1
    assert gap.log_evidence[-1] == found.log_evidence[-1]


def test_restarting_follows_the_recursion():
    moves = differences(up=0.55)
    assert_allclose(sign_e_process(moves, restart=True).evidence, restarted_by_hand(moves), atol=1e-12)


def test_a_shift_after_a_long_quiet_time_is_found_by_what_restarts():
    quiet, loud = np.tile([1.0, -1.0], 1000), np.ones(40)
    moves = np.concatenate([quiet, loud])
    assert not sign_e_process(moves).alarm
    found = sign_e_process(moves, error=0.001, restart=True)
    assert 2000 < found.first <= 2040
    assert math.isnan(found.p_value)


def test_a_long_run_one_way_stays_finite_where_it_is_kept():
    found = sign_e_process(np.ones(10_000))
    assert np.isfinite(found.log_evidence).all()
    assert np.isinf(found.evidence[-1])


def test_it_says_itself_and_has_a_row_for_each_difference():
    pytest.importorskip("pandas")
    found = sign_e_process([-1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1])
    assert str(found).startswith("alarm at reading")
    assert "mostly down" in str(found)
    assert len(found.to_frame()) == 14
    assert "error:0.05" in found.signature
    assert str(sign_e_process([0.0, 1.0])).startswith("no alarm after 2 readings (1 readings up")


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ([], {}, "must hold one difference at least"),
        ([math.nan], {}, "must hold one difference at least"),
        ([[1.0]], {}, "must have 1 dimension"),
        ([math.inf], {}, "must be finite"),
        ([1.0], {"error": 0.0}, "`error` must be between 0 and 1"),
    ],
)
def test_wrong_arguments_say_which_and_why(given, options, said):
    with pytest.raises(ValueError, match=said):
        sign_e_process(given, **options)


@pytest.mark.slow
def test_false_alarms_ever_are_at_most_as_many_as_promised():
    runs = 3000
    alarms = sum(sign_e_process(differences(500, seed=seed)).alarm for seed in range(runs))
    assert stats.binomtest(alarms, runs, 0.05, alternative="greater").pvalue > 0.001
    assert alarms > 0.01 * runs  # and it is no test that never alarms


@pytest.mark.slow
def test_false_alarms_of_what_restarts_are_as_far_apart_as_promised():
    times = []
    for seed in range(400):
        moves = np.random.default_rng(seed).choice([-1.0, 1.0], 2000)
        times.append(sign_e_process(moves, error=0.02, restart=True).first or 2000)
    mean = np.mean(times)
    assert mean > 50 - 3 * stats.sem(times)
