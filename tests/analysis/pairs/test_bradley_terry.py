"""Leaderboards: published strengths, a likelihood by hand, coverage of intervals and ranks, people with a judge."""

import math
import warnings

import numpy as np
import pytest
from scipy import optimize

from calib.core.check import ArgumentError
from calib.stats import CalibWarning, bradley_terry, ppi_bradley_terry, rank_sets

# Stigler (1994), Statistical Science 9:94-108: citations between four journals, cited (rows) by citing (columns)
JOURNALS = ("Biometrika", "Comm Statist", "JASA", "JRSS-B")
CITED = np.array([[714, 730, 498, 221], [33, 425, 68, 17], [320, 813, 1072, 142], [284, 276, 325, 188]])
# log-odds against Biometrika and their errors, as R's BradleyTerry2 prints them
STRENGTHS = {"Comm Statist": (-2.94907, 0.10255), "JASA": (-0.47957, 0.06059), "JRSS-B": (0.26895, 0.07083)}


def citations():
    found = [(i, j) for i in range(4) for j in range(4) if i != j for _ in range(CITED[i, j])]
    a, b = np.array(found).T
    return np.array(JOURNALS)[a], np.array(JOURNALS)[b], np.ones(len(found))


def test_strengths_of_journals_are_those_of_r():
    board = bradley_terry(*citations())
    at = {name: k for k, name in enumerate(board.system)}
    base, cov = at["Biometrika"], board.covariance
    for name, (strength, error) in STRENGTHS.items():
        k = at[name]
        assert board.strength[k] - board.strength[base] == pytest.approx(strength, abs=5.1e-6)
        # R's errors take the model as right; the sandwich does not, and is near where it is
        spread = cov[k, k] + cov[base, base] - 2 * cov[k, base]
        assert math.sqrt(spread) == pytest.approx(error, rel=0.03)


def test_it_is_choix():
    choix = pytest.importorskip("choix")
    a, b, score, _ = battles(np.random.default_rng(0), 6, 200, 3)
    won = [(i, j) if s == 1 else (j, i) for i, j, s in zip(a, b, score, strict=True)]
    theirs = choix.ilsr_pairwise(6, won)
    board = bradley_terry(a, b, score)
    mine = dict(zip(board.system, board.strength, strict=True))
    assert [mine[str(k)] for k in range(6)] == pytest.approx(list(theirs - theirs.mean()), abs=1e-6)


def battles(rng, k, n_groups, each, tie=0.0, spread=0.0, strength=None):
    """Battles of random systems, those of one prompt with effects in common."""
    theta = np.linspace(1, -1, k) if strength is None else strength
    a = rng.integers(0, k, n_groups * each)
    b = (a + rng.integers(1, k, len(a))) % k
    group = np.repeat(np.arange(n_groups), each)
    own = spread * rng.normal(size=(n_groups, k))
    apart = theta[a] - theta[b] + own[group, a] - own[group, b]
    win, lose = np.exp(apart / 2), np.exp(-apart / 2)
    draw = rng.random(len(a)) * (win + lose + tie)
    return a, b, np.where(draw < win, 1.0, np.where(draw < win + tie, 0.5, 0.0)), group


def test_davidsons_ties_are_the_likelihood_by_hand():
    a, b, score, _ = battles(np.random.default_rng(1), 4, 400, 1, tie=0.7)

    def negative(at):
        theta, eta = np.r_[at[:3], -at[:3].sum()], at[3]
        logs = np.stack([theta[a], theta[b], eta + (theta[a] + theta[b]) / 2])
        said = np.select([score == 1, score == 0], [logs[0], logs[1]], logs[2])
        return -(said - np.logaddexp.reduce(logs, axis=0)).sum()

    best = optimize.minimize(negative, np.zeros(4), tol=1e-10).x
    board = bradley_terry(a, b, score)
    mine = dict(zip(board.system, board.strength, strict=True))
    assert [mine[str(k)] for k in range(3)] == pytest.approx(list(best[:3]), abs=1e-4)
    assert board.tie == pytest.approx(math.exp(best[3]), rel=1e-4)


def test_ties_as_halves_and_shares_are_one_equation():
    a, b, score, _ = battles(np.random.default_rng(2), 4, 300, 1, tie=0.7)
    half = bradley_terry(a, b, score, ties="half")
    twice = bradley_terry(np.r_[a, a], np.r_[b, b], np.r_[np.ceil(score), np.floor(score)])
    assert math.isnan(half.tie)
    assert half.strength == pytest.approx(twice.strength)
    with pytest.raises(ArgumentError, match=r"`score` must be 0, 0\.5 and 1 for Davidson's ties"):
        bradley_terry(a, b, 0.25 + score / 2, ties="davidson")


def test_order_within_battles_and_names_do_not_matter():
    a, b, score, group = battles(np.random.default_rng(3), 4, 100, 2, tie=0.4)
    one = bradley_terry(a, b, score, groups=group)
    other = bradley_terry([f"s{k}" for k in b], [f"s{k}" for k in a], 1 - score, groups=[f"g{k}" for k in group])
    assert [f"s{name}" for name in one.system] == list(other.system)
    assert one.low == pytest.approx(other.low)


def test_groups_widen_what_goes_together():
    a, b, score, group = battles(np.random.default_rng(4), 4, 40, 20, spread=1.5)
    assert (bradley_terry(a, b, score, groups=group).std_error > 1.3 * bradley_terry(a, b, score).std_error).all()


def test_win_rates_are_against_the_others():
    board = bradley_terry(["x"] * 4 + ["y"] * 4, ["y"] * 4 + ["x"] * 4, [1, 1, 1, 0, 0, 0, 0, 1], ties="half")
    assert board.win_rate.tolist() == pytest.approx([0.75, 0.25])
    assert board.system == ("x", "y")


# --- coverage ---------------------------------------------------------------------------------------------------


def truth(k, tie, spread):
    a, b, score, _ = battles(np.random.default_rng(99), k, 200_000, 1, tie=tie, spread=spread)
    board = bradley_terry(a, b, score)
    return dict(zip(board.system, board.strength, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "each", "tie"), [(30, 5, 0.0), (100, 1, 0.5), (300, 1, 0.0)])
def test_intervals_and_ranks_hold(n_groups, each, tie):
    """At length: paper_repro/bias_coverage."""
    rng, runs, true = np.random.default_rng(5), 300, truth(5, tie, 0.5)
    held, ranks = 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for _ in range(runs):
            *given, group = battles(rng, 5, n_groups, each, tie=tie, spread=0.5)
            board = bradley_terry(*given, groups=group)
            at = np.array([true[name] for name in board.system])
            held += ((board.low <= at) & (at <= board.high)).mean()
            rank = 1 + (at[None] > at[:, None]).sum(axis=1)
            ranks += ((board.rank_low <= rank) & (rank <= board.rank_high)).all()
    assert abs(held / runs - 0.95) < 0.025
    assert ranks / runs > 0.93


def judged(rng, n_groups, each, gold):
    """A judge who copies people four times in five and else prefers system 1 and dislikes system 4."""
    a, b, labels, group = battles(rng, 5, n_groups, each, spread=0.5)
    own = np.array([0.0, 1.0, 0.0, 0.0, -1.0])
    judge = np.where(rng.random(len(a)) < 0.8, labels, rng.random(len(a)) < 1 / (1 + np.exp(own[b] - own[a])))
    return a, b, judge, np.where(rng.random(n_groups)[group] < gold, labels, np.nan), group


@pytest.mark.slow
def test_people_with_a_judge_cover_and_are_narrower():
    rng, runs, true = np.random.default_rng(6), 300, truth(5, 0.0, 0.5)
    held, ratio, alone = 0.0, [], 0.0
    for _ in range(runs):
        *given, group = judged(rng, 300, 4, gold=0.2)
        board = ppi_bradley_terry(*given, groups=group)
        at = np.array([true[name] for name in board.system])
        held += ((board.low <= at) & (at <= board.high)).mean()
        ratio.append(board.width_ratio)
        judge = bradley_terry(given[0], given[1], given[2], groups=group)
        at = np.array([true[name] for name in judge.system])
        alone += ((judge.low <= at) & (at <= judge.high)).mean()
    assert abs(held / runs - 0.95) < 0.03
    assert np.mean(ratio) < 0.75
    assert alone / runs < 0.85  # the judge alone is not people


def test_the_weight_of_a_judge_who_knows_nothing_is_near_nothing():
    rng = np.random.default_rng(7)
    a, b, labels, group = battles(rng, 4, 400, 2)
    board = ppi_bradley_terry(a, b, rng.random(800), np.where(group < 100, labels, np.nan), groups=group)
    assert board.lam < 0.3
    assert board.width_ratio < 1.02


def test_without_weight_it_is_people_alone():
    rng = np.random.default_rng(8)
    a, b, judge, labels, group = judged(rng, 200, 4, gold=0.3)
    known = ~np.isnan(labels)
    alone = bradley_terry(a[known], b[known], labels[known], groups=group[known], ties="half")
    board = ppi_bradley_terry(a, b, judge, labels, groups=group, lam=0.0)
    assert board.strength == pytest.approx(alone.strength)
    assert board.std_error == pytest.approx(alone.std_error, rel=1e-6)


# --- ranks and boards -------------------------------------------------------------------------------------------


def test_ranks_of_two_are_those_of_the_normal_test():
    apart = 1.96 * math.sqrt(2) * 0.1
    near, far = (rank_sets([f * apart, 0.0], 0.01 * np.eye(2), rng=1) for f in (0.9, 1.1))
    assert near.critical == pytest.approx(1.96, abs=0.06)
    assert (near.low.tolist(), near.high.tolist()) == ([1, 1], [2, 2])
    assert (far.low.tolist(), far.high.tolist()) == ([1, 2], [1, 2])


def test_the_critical_value_is_tukeys():
    from scipy.stats import studentized_range

    assert rank_sets(np.zeros(8), np.eye(8), rng=2).critical == pytest.approx(
        studentized_range.ppf(0.95, 8, np.inf) / math.sqrt(2), abs=0.05
    )


# --- what has no answer -----------------------------------------------------------------------------------------


def test_a_system_that_never_loses_is_named():
    a, b, score = ["x"] * 6 + ["y"] * 4, ["y"] * 6 + ["z"] * 4, [1] * 6 + [1, 0, 1, 0]
    with pytest.warns(CalibWarning, match="one_sided_record: 'x' won all or lost all"):
        board = bradley_terry(a, b, score)
    assert board.system[0] == "x"
    assert np.isfinite(board.strength).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": [1, 2]}, "`score` must be the share of A that wins, 0 to 1, but got 2 at 1"),
        ({"b": ["x", "x"]}, "`b` must be another system than `a`, but is 'x' at 0"),
        ({"b": ["y"]}, "`b` must have the length of `score`"),
        ({"groups": ["g", "g"]}, "`groups` must be two or more"),
        ({"score": [math.nan, math.nan]}, "two systems or more"),
        ({"a": ["x", "z"], "b": ["y", "w"]}, "'x' and 'z' never did"),
        ({"ties": "rao"}, "`ties` must be one of"),
    ],
)
def test_what_has_no_answer_is_refused(change, words):
    with pytest.raises(ArgumentError, match=words):
        bradley_terry(**{"a": ["x", "y"], "b": ["y", "x"], "score": [1, 1]} | change)


def test_people_must_judge_some_and_not_all():
    a, b, score, group = battles(np.random.default_rng(10), 3, 50, 2)
    for labels in (score, np.full(100, np.nan)):
        with pytest.raises(ArgumentError, match="`labels` must be of some of the battles and not of all"):
            ppi_bradley_terry(a, b, score, labels, groups=group)
    with pytest.warns(CalibWarning, match="few_groups: people's verdicts are in 4 groups"):
        ppi_bradley_terry(a, b, score, np.where(group < 4, score, np.nan), groups=group)
