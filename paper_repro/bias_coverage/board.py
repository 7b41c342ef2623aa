"""Leaderboards: strengths, all ranks at once, and people's strengths with a judge beside people alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
from board_agreement import board_agreement
from covered import Row, rows
from numpy.typing import NDArray

from calib.stats import BradleyTerry, bradley_terry, ppi_bradley_terry

Floats = NDArray[np.float64]
SYSTEMS = 5
SIZES = ((30, 5), (60, 3), (100, 1), (300, 1), (30, 20))  # prompts, battles on each
GOLD = ((200, 5, 0.1), (200, 5, 0.3), (500, 2, 0.2))  # prompts, battles, share of prompts with people
SPREAD = 0.5  # of systems' strengths between prompts


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A row for each quantity and size."""
    for tie in (0.0, 0.5):
        for prompts, each in SIZES:
            yield from _strengths(tie, prompts, each, runs, rng)
    for prompts, each, share in GOLD:
        yield from _with_people(prompts, each, share, runs, rng)
    yield from _two_boards(100, 5, runs, rng)


def battles(rng: np.random.Generator, prompts: int, each: int, tie: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Random pairs of systems; those of one prompt have effects in common."""
    theta = np.linspace(1, -1, SYSTEMS)
    group = np.repeat(np.arange(prompts), each)
    a = rng.integers(0, SYSTEMS, len(group))
    b = (a + rng.integers(1, SYSTEMS, len(a))) % SYSTEMS
    own = SPREAD * rng.normal(size=(prompts, SYSTEMS))
    apart = theta[a] - theta[b] + own[group, a] - own[group, b]
    win, lose = np.exp(apart / 2), np.exp(-apart / 2)
    draw = rng.random(len(a)) * (win + lose + tie)
    return a, b, np.where(draw < win, 1.0, np.where(draw < win + tie, 0.5, 0.0)), group


@cache
def truth(tie: float) -> dict[str, float]:
    """Strengths by a very large sample: those of the model that is fitted, averaged over prompts."""
    a, b, score, _ = battles(np.random.default_rng(99), 300_000, 1, tie)
    board = bradley_terry(a, b, score)
    return dict(zip(board.system, map(float, board.strength), strict=True))


def _at(board: BradleyTerry, tie: float) -> Floats:
    return np.array([truth(tie)[name] for name in board.system])


def _strengths(tie: float, prompts: int, each: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    off, ranks = [], 0
    for _ in range(runs):
        *given, group = battles(rng, prompts, each, tie)
        board = bradley_terry(*given, groups=group)
        at = _at(board, tie)
        off += [(float(low), float(high)) for low, high in zip(board.low - at, board.high - at, strict=True)]
        rank = 1 + (at[None] > at[:, None]).sum(axis=1)
        ranks += bool(((board.rank_low <= rank) & (rank <= board.rank_high)).all())
    head = {"design": f"{each} battles on each prompt, {'ties' if tie else 'no ties'}", "n": prompts}
    for row in rows(head, {("strength", "bradley_terry"): off}, {"strength": 0.0}):
        yield row | {"runs": runs, "mc_error": math.sqrt(0.95 * 0.05 / runs)}  # those of one board go together
    row = {"quantity": "ranks of all systems at once", "estimator": "rank_sets"} | head
    yield row | {"runs": runs, "coverage": ranks / runs, "mc_error": math.sqrt(0.95 * 0.05 / runs), "nominal": 0.95}


def _with_people(prompts: int, each: int, share: float, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A judge who copies people four times in five, else prefers system 1 and dislikes system 4."""
    kinds = ("ppi_bradley_terry", "people alone", "judge alone")
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {("people's strength", kind): [] for kind in kinds}
    own = np.array([0.0, 1.0, 0.0, 0.0, -1.0])
    for _ in range(runs):
        a, b, people, group = battles(rng, prompts, each, 0.0)
        other = rng.random(len(a)) < 1 / (1 + np.exp(own[b] - own[a]))
        judge = np.where(rng.random(len(a)) < 0.8, people, other)
        known = np.isin(group, rng.choice(prompts, round(share * prompts), replace=False))
        boards = (
            ppi_bradley_terry(a, b, judge, np.where(known, people, np.nan), groups=group),
            bradley_terry(a[known], b[known], people[known], groups=group[known]),
            bradley_terry(a, b, judge, groups=group),
        )
        for kept, board in zip(ends.values(), boards, strict=True):
            at = _at(board, 0.0)
            kept += [(float(low), float(high)) for low, high in zip(board.low - at, board.high - at, strict=True)]
    design = f"{each} battles on each prompt, people on {100 * share:.0f} %"
    for row in rows({"design": design, "n": prompts}, ends, {"people's strength": 0.0}):
        yield row | {"runs": runs, "mc_error": math.sqrt(0.95 * 0.05 / runs)}


def _two_boards(prompts: int, each: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Two boards of one truth from prompts of their own; what is meant is the mean figure of such boards."""
    names = ("kendall", "separability", "agreement_with_confidence", "brier")
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for _ in range(runs):
        sides = []
        for _ in range(2):
            *given, group = battles(rng, prompts, each, 0.0)
            board = bradley_terry(*given, groups=group)
            order = np.argsort([int(name) for name in board.system])
            sides += [board.strength[order], board.covariance[np.ix_(order, order)]]
        found = board_agreement(*sides)
        for name in names:
            figure = getattr(found, name)
            figures[name].append((figure.estimate, *figure.interval))
    head = {"design": f"{each} battles on each prompt, two boards", "n": prompts}
    for name, kept in figures.items():
        estimates = [one for one, _, _ in kept]
        ends = [(low, high) for _, low, high in kept]
        yield from rows(head, {(name, "board_agreement"): ends}, {name: float(np.mean(estimates))})
