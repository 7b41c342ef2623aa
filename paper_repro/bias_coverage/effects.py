"""Effects at equal quality: three estimators, with few items and few groups; and the bracket of one annotator."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from covered import Row, rows
from numpy.typing import NDArray

from calib.stats import instrumented

Floats = NDArray[np.float64]
SIZES = ((30, 30), (60, 10), (60, 60), (100, 20), (300, 30), (300, 100))  # items, groups
RELIABILITY, SLOPE, EFFECT = 0.61, 0.6, 0.1


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A row for each estimator and size."""
    for n, groups in SIZES:
        for design, shared in (("items of their own", 0.0), ("a third of all variance in groups", 1 / 3)):
            yield from _cell(design, shared, n, groups, runs, rng)


def _cell(design: str, shared: float, n: int, groups: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    names = ("difference", "control", "instrument", "bracket, one annotator")
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {("effect at equal quality", name): [] for name in names}
    for _ in range(runs):
        judge, people, x, group = drawn(rng, n, groups, shared)
        found = instrumented(judge, people, x, groups=group)
        single = instrumented(judge, people[:, 0], x, groups=group, reliability=(0.5, 0.8))
        intervals = (found.difference.interval, found.control.interval, found.interval, single.interval)
        for kept, interval in zip(ends.values(), intervals, strict=True):
            kept.append(tuple(interval))
    head = {"design": f"{design}, {groups} groups", "n": n}
    yield from rows(head, ends, {"effect at equal quality": EFFECT})


def drawn(rng: np.random.Generator, n: int, groups: int, shared: float) -> tuple[Floats, Floats, Floats, Floats]:
    """A judge who compresses quality and adds an effect of x, which goes with quality; three annotators who err."""
    group = np.arange(n) % groups

    def normal() -> Floats:
        own = rng.normal(size=n)
        return np.asarray(math.sqrt(1 - shared) * own + math.sqrt(shared) * rng.normal(size=groups)[group])

    quality = normal()
    x = 0.3 * quality + math.sqrt(0.91) * normal()
    people = quality[:, None] + math.sqrt(1 / RELIABILITY - 1) * rng.normal(size=(n, 3))
    return SLOPE * quality + EFFECT * x + 0.6 * normal(), people, x, group
