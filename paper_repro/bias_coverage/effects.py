"""Effects at equal quality: few items and groups; annotators unlike each other; rare flags; systems; missing labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from covered import Row, rows
from numpy.typing import NDArray
from one_slope import one_slope

from calib.stats import instrumented

Floats = NDArray[np.float64]
SIZES = ((30, 30), (60, 10), (60, 60), (100, 20), (300, 30), (300, 100))  # items, groups
RELIABILITY, SLOPE, EFFECT = 0.61, 0.6, 0.1
# annotators, items, groups, share of labels missing
UNLIKE = (
    (2, 200, 200, 0),
    (2, 1000, 1000, 0),
    (2, 1000, 100, 0),
    (3, 1000, 100, 0.4),
    (5, 200, 20, 0),
    (5, 1000, 1000, 0.4),
)


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A row for each estimator and size."""
    for n, groups in SIZES:
        for design, shared in (("items of their own", 0.0), ("a third of all variance in groups", 1 / 3)):
            yield from _cell(design, shared, n, groups, runs, rng)
    for design, n, draw in _harder(rng):
        yield from _both(design, n, draw, runs)


def _harder(rng: np.random.Generator) -> Iterator[tuple[str, int, Callable[[], tuple[Floats, ...]]]]:
    """Design, items, and a draw of judge, people, x and groups."""
    for apart in (0.6, 1.0):
        for n, groups in ((100, 20), (300, 100)):
            draw = partial(_lenient, rng, n, groups, apart)
            yield f"two annotators, {apart:g} sd of quality apart, {groups} groups", n, draw
    for raters, n, groups, missing in UNLIKE:
        kind = f"{raters} annotators of spread .6 to 1.4, {groups} groups" + ", .4 of the labels missing" * bool(
            missing
        )
        yield kind, n, partial(_unlike, rng, n, groups, raters, missing)
    for n in (60, 300):
        yield "four annotators -.6 to .6, half of the labels missing", n, partial(_missing, rng, n)
    for documents, systems in ((10, 3), (10, 16), (30, 10)):
        draw = partial(_of_systems, rng, documents, systems)
        yield f"one of {systems} systems, {documents} documents", documents * systems, draw
    for documents, flagged in ((30, 2), (30, 3), (30, 10), (100, 3), (100, 8), (100, 12)):
        draw = partial(_flagged, rng, documents, flagged)
        yield f"a flag in {flagged} of {documents} documents of 3", documents * 3, draw


def _both(design: str, n: int, draw: Callable[[], tuple[Floats, ...]], runs: int) -> Iterator[Row]:
    """The instrument, and the same with one intercept and slope for all annotators."""
    names = ("instrument", "one slope for all annotators")
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {("effect at equal quality", name): [] for name in names}
    for _ in range(runs):
        judge, people, x, group = draw()
        found, plain = instrumented(judge, people, x, groups=group), one_slope(judge, people, x, group)
        for kept, one in zip(ends.values(), (found, plain), strict=True):
            kept.append(tuple(one.interval))
    yield from rows({"design": design, "n": n}, ends, {"effect at equal quality": EFFECT})


def _lenient(rng: np.random.Generator, n: int, groups: int, apart: float) -> tuple[Floats, ...]:
    judge, people, x, group = drawn(rng, n, groups, 0.0)
    return judge, people[:, :2] + np.array([apart / 2, -apart / 2]), x, group


def _unlike(rng: np.random.Generator, n: int, groups: int, raters: int, missing: float) -> tuple[Floats, ...]:
    """Annotators who use more or less of the scale, and are more or less lenient."""
    quality, own = rng.normal(size=n), rng.normal(size=n)
    x = 0.3 * quality + math.sqrt(0.91) * rng.normal(size=n)
    k = np.linspace(-1, 1, raters)
    people = quality[:, None] * (1 + 0.4 * k) + 0.5 * k + math.sqrt(1 / RELIABILITY - 1) * rng.normal(size=(n, raters))
    people[rng.random((n, raters)) < missing] = np.nan
    return SLOPE * quality + EFFECT * x + 0.6 * own, people, x, np.arange(n) % groups


def _missing(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    judge, people, x, group = drawn(rng, n, n, 0.0, annotators=4)
    return judge, np.where(rng.random((n, 4)) < 0.5, np.nan, people + np.linspace(-0.6, 0.6, 4)), x, group


def _of_systems(rng: np.random.Generator, documents: int, systems: int) -> tuple[Floats, ...]:
    """Systems of several qualities, all on each document; the judge favours the best."""
    document, system = np.repeat(np.arange(documents), systems), np.tile(np.arange(systems), documents)
    best = 0.7 * np.linspace(1, -1, systems)[system]
    return _judged(rng, best + 0.8 * rng.normal(size=len(system)), (system == 0).astype(float), document)


def _flagged(rng: np.random.Generator, documents: int, flagged: int) -> tuple[Floats, ...]:
    """Three items a document, the first of a few has what the judge favours."""
    document = np.repeat(np.arange(documents), 3)
    x = ((document < flagged) & (np.arange(len(document)) % 3 == 0)).astype(float)
    return _judged(rng, rng.normal(size=len(document)), x, document)


def _judged(rng: np.random.Generator, quality: Floats, x: Floats, document: Floats) -> tuple[Floats, ...]:
    n, own = len(x), 0.3 * rng.normal(size=int(document.max()) + 1)[document.astype(int)]
    people = quality[:, None] + math.sqrt(1 / RELIABILITY - 1) * rng.normal(size=(n, 3))
    return SLOPE * quality + EFFECT * x + own + 0.5 * rng.normal(size=n), people, x, document


def _cell(design: str, shared: float, n: int, groups: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    names = ("difference", "control", "instrument", "bracket, one annotator")
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {("effect at equal quality", name): [] for name in names}
    for _ in range(runs):
        judge, people, x, group = drawn(rng, n, groups, shared)
        found = instrumented(judge, people, x, groups=group)
        single = instrumented(judge, people[:, 0], x, groups=group, reliability=(0.5, 0.8))
        intervals = (found.judge_less_labels.interval, found.control.interval, found.interval, single.interval)
        for kept, interval in zip(ends.values(), intervals, strict=True):
            kept.append(tuple(interval))
    head = {"design": f"{design}, {groups} groups", "n": n}
    yield from rows(head, ends, {"effect at equal quality": EFFECT})


def drawn(
    rng: np.random.Generator, n: int, groups: int, shared: float, annotators: int = 3
) -> tuple[Floats, Floats, Floats, Floats]:
    """A judge who compresses quality and adds an effect of x, which goes with quality; annotators who err."""
    group = np.arange(n) % groups

    def normal() -> Floats:
        own = rng.normal(size=n)
        return np.asarray(math.sqrt(1 - shared) * own + math.sqrt(shared) * rng.normal(size=groups)[group])

    quality = normal()
    x = 0.3 * quality + math.sqrt(0.91) * normal()
    people = quality[:, None] + math.sqrt(1 / RELIABILITY - 1) * rng.normal(size=(n, annotators))
    return SLOPE * quality + EFFECT * x + 0.6 * normal(), people, x, group
