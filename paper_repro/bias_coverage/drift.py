"""Drift on readings of composo: how often the intervals hold, how often the tests raise an alarm, and what peers do.

Anchors are drawn from 6,876 responses of which every run has eight readings; the truth of an interval is the mean over
all of these. "4x1" is four readings then and one now.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from composo_readings import BASE, CHANGED, complete, then_and_now
from numpy.typing import NDArray
from scipy import stats
from sign_e_process import sign_e_process

from calib.analysis.drift.reading_change import dealt_anew
from calib.stats import CalibWarning, ReadingChange, mean_interval, reading_change

Row = dict[str, Any]
PERMUTATIONS = 499
SIZES = (25, 50, 100, 200)
INTERVALS = (30, 100, 300)
BY_QUERY = (40, 100, 300)
WATCHED = 1000


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A row for each interval, test and design."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for name in (BASE, *CHANGED):
            for s in (1, 4):
                for n in SIZES:
                    yield from _alarms(name, s, n, runs, rng)
            yield from _intervals(name, 1, INTERVALS[0], runs, rng, by_query=False)
            for n in INTERVALS:
                yield from _intervals(name, 4, n, runs, rng, by_query=False)
            for n in BY_QUERY:
                yield from _intervals(name, 4, n, runs, rng, by_query=True)
            yield from _watching(name, runs, rng)
        for n in SIZES[1:]:
            yield from _peer(n, runs, rng)


def _row(quantity: str, estimator: str, design: str, n: int, hits: NDArray[Any], width: Any = math.nan) -> Row:
    rate = float(np.mean(hits))
    row = {"quantity": quantity, "estimator": estimator, "design": design, "n": n, "runs": len(hits)}
    error = math.sqrt(rate * (1 - rate) / len(hits))
    return row | {"coverage": rate, "mc_error": error, "width": float(np.mean(width))}


# --- tests ------------------------------------------------------------------------------------------------------


def _alarms(name: str, s: int, n: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Shares of alarms at 5 %: of either test, of both at half the level, and of the paired t of the means."""
    seen = np.zeros((runs, 4), dtype=bool)
    for run in range(runs):
        then, now = then_and_now(name, rng.choice(len(complete()[BASE]), n, replace=False), 4, s, rng)
        any_change, shift = _p_values(then, now, rng)
        apart = now.mean(axis=1) - then.mean(axis=1)
        paired = stats.ttest_1samp(apart, 0).pvalue if np.ptp(apart) else 1.0
        seen[run] = np.array([any_change, shift, 2 * min(any_change, shift), paired]) <= 0.05
    names = ("any change", "shift", "either, at half the level", "paired t of the means")
    for place, estimator in enumerate(names):
        yield _row("alarms of drift", estimator, f"{name}, 4x{s}", n, seen[:, place])


def _p_values(then: NDArray[Any], now: NDArray[Any], rng: np.random.Generator) -> tuple[float, float]:
    """As `reading_change` has them, without its intervals."""
    dealt = dealt_anew(then, now, PERMUTATIONS, rng)
    return (1 + dealt.as_far_in_all) / (1 + PERMUTATIONS), (1 + dealt.shifted_as_far) / (1 + PERMUTATIONS)


def _watching(name: str, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Shares of alarms within 1,000 anchors, and of those in the first 200; of what restarts, the latter at .001."""
    seen = np.zeros((runs, 3), dtype=bool)
    for run in range(runs):
        then, now = then_and_now(name, rng.choice(len(complete()[BASE]), WATCHED, replace=False), 1, 1, rng)
        moves = (now - then)[:, 0]
        once = sign_e_process(moves)
        seen[run] = once.alarm, once.first is not None and once.first <= 200, _restarted(moves)
    yield _row("alarms of watching", "sign e-process", f"{name}, within 1000", WATCHED, seen[:, 0])
    yield _row("alarms of watching", "sign e-process", f"{name}, within 200", WATCHED, seen[:, 1])
    yield _row("alarms of watching", "restarted, once in 1000 at most", f"{name}, within 1000", WATCHED, seen[:, 2])


def _restarted(moves: NDArray[np.float64]) -> bool:
    return sign_e_process(moves, error=0.001, restart=True).alarm


def _peer(n: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """What truescore 0.7.4 calls `behavior_changed`: the Clopper-Pearson interval of flips excludes 0: any flip."""
    seen = np.zeros((runs, 2), dtype=bool)
    for run in range(runs):
        then, now = then_and_now(BASE, rng.choice(len(complete()[BASE]), n, replace=False), 4, 4, rng)
        marks = (then >= 5).astype(float), (now >= 5).astype(float)
        seen[run, 0] = (marks[0][:, 0] != marks[1][:, 0]).any()
        seen[run, 1] = 2 * min(_p_values(*marks, rng)) <= 0.05
    yield _row("alarms of drift", "rule of truescore, one reading each", f"{BASE}, pass mark 5", n, seen[:, 0])
    yield _row("alarms of drift", "either, at half the level", f"{BASE}, pass mark 5", n, seen[:, 1])


# --- intervals --------------------------------------------------------------------------------------------------


def _intervals(name: str, s: int, n: int, runs: int, rng: np.random.Generator, *, by_query: bool) -> Iterator[Row]:
    """Whether they hold the mean over all responses; with groups whole queries of four responses are drawn."""
    number, truth = len(complete()[BASE]), _truth(name)
    groups = np.repeat(np.arange(n // 4), 4) if by_query else None
    hits, widths = np.zeros((runs, 3), dtype=bool), np.zeros((runs, 3))
    for run in range(runs):
        if by_query:
            items = (4 * rng.choice(number // 4, n // 4, replace=False)[:, None] + np.arange(4)).ravel()
        else:
            items = rng.choice(number, n, replace=False)
        found = reading_change(*then_and_now(name, items, 4, s, rng), groups=groups, n_permutations=99, rng=rng)
        ends = found.interval, found.changed_interval, _plain_t(found, groups)
        for place, (low, high) in enumerate(ends):
            hits[run, place], widths[run, place] = low <= truth[min(place, 1)] <= high, high - low
    design = f"{name}, 4x{s}{', by query' * by_query}"
    yield _row("mean shift", "t", design, n, hits[:, 0], widths[:, 0])
    if not by_query:
        yield _row("share changed beyond noise", "Gaffke", design, n, hits[:, 1], widths[:, 1])
    yield _row("share changed beyond noise", "t", design, n, hits[:, 2], widths[:, 2])


def _plain_t(found: ReadingChange, groups: NDArray[Any] | None) -> tuple[float, float]:
    """The other interval of the changed share, for comparison; over groups it is the one that is given."""
    if groups is not None:
        return found.changed_interval
    return mean_interval(found.beyond, estimator="classical").interval


def _truth(name: str) -> tuple[float, float]:
    """Mean shift and changed share over all responses and readings."""
    then, now = complete()[BASE], complete()[name]
    if name == BASE:
        return 0.0, 0.0
    apart = (then[:, :, None] != now[:, None, :]).mean()
    floor = (then[:, :, None] != then[:, None, :])[:, ~np.eye(8, dtype=bool)].mean()
    return float(now.mean() - then.mean()), float(apart - floor)
