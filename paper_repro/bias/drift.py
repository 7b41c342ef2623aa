"""How far a judge at rest differs from itself, whether a change is found, and what watching finds (composo)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from composo_readings import BASE, CHANGED, complete, draws, then_and_now
from sign_e_process import sign_e_process

from calib.analysis.drift.reading_change import dealt_anew

Row = dict[str, Any]
RUNS, PERMUTATIONS = 300, 199
WATCHED, ANCHORS = 500, 1000
COOLER = {"temperature 1": None, "temperature .7": 0.7, "temperature .3": 0.3}
SIZES = (25, 50, 100, 200)


def values() -> pd.DataFrame:
    """Every value with its table, row and measure."""
    rng = np.random.default_rng(5)
    return pd.DataFrame([*_floor(), *_alarms(rng), *_watching(rng)], columns=["table", "row", "measure", "value"])


def _floor() -> Iterator[tuple[str, str, str, float]]:
    """The first two scores of each response by the same judge; and any two."""
    for name, temperature in COOLER.items():
        scores = draws("gpt-5.4", "base", temperature).dropna().to_numpy()
        first, second = scores[:, 0], scores[:, 1]
        yield "drift, noise floor", name, "two readings differ", float((first != second).mean())
        yield "drift, noise floor", name, "mean distance", float(np.abs(first - second).mean())
        yield "drift, noise floor", name, "pass mark 5 flips", float(((first >= 5) != (second >= 5)).mean())
        apart = scores[:, :, None] != scores[:, None, :]
        yield "drift, noise floor", name, "any two readings differ", float(apart[:, ~np.eye(8, dtype=bool)].mean())


def _alarms(rng: np.random.Generator) -> Iterator[tuple[str, str, str, float]]:
    """Share of alarms at 5 %."""
    number = len(complete()[BASE])
    for name in (BASE, *CHANGED):
        for s in (1, 4):
            for n in SIZES:
                raised = 0
                for _ in range(RUNS):
                    items = rng.choice(number, n, replace=False)
                    dealt = dealt_anew(*then_and_now(name, items, 4, s, rng), PERMUTATIONS, rng)
                    raised += (1 + dealt.as_far_in_all) / (1 + PERMUTATIONS) <= 0.05
                yield "drift, alarms at .05", f"{name}, 4x{s}", f"alarms with {n} anchors", raised / RUNS


def _watching(rng: np.random.Generator) -> Iterator[tuple[str, str, str, float]]:
    """Share of alarms within so many anchors, each read once more."""
    number = len(complete()[BASE])
    for name in (BASE, *CHANGED):
        raised = 0
        for _ in range(WATCHED):
            then, now = then_and_now(name, rng.choice(number, ANCHORS, replace=False), 1, 1, rng)
            raised += sign_e_process((now - then)[:, 0]).alarm
        yield "drift, watching", name, f"alarms within {ANCHORS} anchors", raised / WATCHED
