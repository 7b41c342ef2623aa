"""Odds ratios of Mantel and Haenszel, the level of Mantel's test, and habits of a judge."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from covered import Row, rows
from mantel_haenszel import mantel, mantel_haenszel

from calib.stats import rater_effects

SIZES = (30, 100, 300)


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A row for each quantity and size."""
    for n in SIZES:
        yield from _odds(n, runs, rng)
        yield _level(n, runs, rng)
        for groups in (n, max(n // 10, 10)):
            yield from _habits(n, groups, runs, rng)


def _odds(n: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A judge whose odds of yes are twice as high for one half of the items, within each verdict of people."""
    ends: list[tuple[float, float]] = []
    for _ in range(runs):
        people, own = rng.random(n) < 0.5, rng.random(n) < 0.5
        odds = np.where(people, 4.0, 0.4) * np.where(own, 2.0, 1.0)
        yes = rng.random(n) < odds / (1 + odds)
        t = [[[(yes & own & s).sum(), (~yes & own & s).sum()], [(yes & ~own & s).sum(), (~yes & ~own & s).sum()]]
             for s in (people, ~people)]  # fmt: skip
        try:
            ends.append(tuple(mantel_haenszel(t).interval))
        except ValueError:  # a kind of items that is not there
            ends.append((math.nan, math.nan))
    quantity = "odds ratio of Mantel and Haenszel"
    yield from rows({"design": "two strata", "n": n}, {(quantity, "calib"): ends}, {quantity: 2.0})


def _level(n: int, runs: int, rng: np.random.Generator) -> Row:
    """How often Mantel's test finds favour where there is none."""
    found = []
    for _ in range(runs):
        label = rng.integers(1, 6, n)
        score = np.clip(label + rng.integers(-1, 2, n), 1, 5)
        found.append(mantel(score, rng.random(n) < 0.3, label).p_value <= 0.05)
    row = {"quantity": "alarms of Mantel's test", "estimator": "calib", "design": "five labels, no favour", "n": n}
    error = math.sqrt(0.05 * 0.95 / runs)
    return row | {"runs": runs, "coverage": float(np.mean(found)), "mc_error": error, "nominal": 0.05}


def _habits(n: int, groups: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Two criteria; a judge that is lenient, compresses, and carries one impression over to both."""
    truth = {"leniency": 0.3, "centrality": math.sqrt((0.64 + 0.25 + 0.09) / 1.25), "halo": 0.25 / 0.98}
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {(name, "calib"): [] for name in truth}
    group = np.arange(n) % groups
    for _ in range(runs):
        quality = math.sqrt(0.7) * rng.normal(size=(n, 2)) + math.sqrt(0.3) * rng.normal(size=(groups, 2))[group]
        people = quality[:, None] + 0.5 * rng.normal(size=(n, 3, 2))
        judge = 0.3 + 0.8 * quality + 0.5 * rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 2))
        found = rater_effects(judge, people, groups=group)
        for name, _ in ends:
            ends[name, "calib"].append(tuple(found.one(name).interval))
    yield from rows({"design": f"two criteria, {groups} groups", "n": n}, ends, truth)
