"""Coverage of the intervals about pairs, and how often the tests of position bias reject, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from calib.stats import length_controlled, pairwise_agreement, position_bias

Floats = NDArray[np.float64]
Row = dict[str, Any]
LEVEL = 0.95
SIZES = ((30, 0), (100, 0), (300, 0), (40, 10), (100, 20), (300, 30))  # pairs, groups (0: each on its own)
_LARGE = 2_000_000
KINDS = ("winners", "ties", "probabilities")


class Cell(NamedTuple):
    """What is drawn, what is estimated from it, and what the truth is."""

    quantity: str
    design: str
    n: int
    groups: int
    draw: Callable[[np.random.Generator, int, int], tuple[Floats, Floats]]
    found: Callable[[Floats, Floats, Any], Any]
    intervals: dict[str, Callable[[Any], Any]]
    truth: dict[str, float]


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """One row per quantity, design and size: coverage with its Monte Carlo error, and the mean width."""
    for n, groups in SIZES:
        for kind in KINDS:
            yield from _covered(_position_cell(kind, n, groups), runs, rng)
        yield from _covered(_agreement_cell(n, groups), runs, rng)
        for kind in ("winners", "probabilities")[: 1 if groups else 2]:
            yield from _covered(_length_cell(kind, n, groups), runs, rng)
    for n in (30, 100, 300):
        for shift in (0.0, 0.5):
            yield from _rejections(n, shift, runs, rng)


def _covered(cell: Cell, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    unit = np.arange(cell.n) % cell.groups if cell.groups else None
    ends: dict[str, list[Any]] = {name: [] for name in cell.intervals}
    for _ in range(runs):
        try:
            found = cell.found(*cell.draw(rng, cell.n, cell.groups), unit)
        except ValueError:
            continue  # no fit in this draw: counted by `runs`
        for name, interval_of in cell.intervals.items():
            ends[name].append(interval_of(found))
    for name, kept in ends.items():
        low, high = np.array(kept, dtype=float).T
        inside = (low <= cell.truth[name]) & (cell.truth[name] <= high)
        yield _row(f"{cell.quantity}: {name}" if name else cell.quantity, "calib", cell, inside, np.mean(high - low))


def _row(quantity: str, estimator: str, cell: Cell, inside: NDArray[np.bool_], width: float) -> Row:
    coverage, runs = float(np.mean(inside)), len(inside)
    error = float(np.sqrt(LEVEL * (1 - LEVEL) / runs))
    design = f"{cell.design}, {cell.groups} groups" if cell.groups else cell.design
    head = {"quantity": quantity, "estimator": estimator, "design": design, "n": cell.n}
    return head | {"runs": runs, "coverage": coverage, "mc_error": error, "width": float(width), "nominal": LEVEL}


# --- designs --------------------------------------------------------------------------------------------------------


def _shared(rng: np.random.Generator, n: int, groups: int, size: float) -> Floats:
    """A normal part of each pair, half of its variance that of its group."""
    own = rng.normal(size=n)
    if not groups:
        return size * own
    return np.asarray(size * np.sqrt(0.5) * (rng.normal(size=groups)[np.arange(n) % groups] + own))


def _outcome(z: Floats, kind: str) -> Floats:
    if kind == "probabilities":
        return np.asarray(special.expit(z))
    return np.asarray((np.sign(np.where(np.abs(z) < (1 if kind == "ties" else 0), 0, z)) + 1) / 2)


def _orders(kind: str, shift: float) -> Callable[[np.random.Generator, int, int], tuple[Floats, Floats]]:
    """Both orders: quality, a pull of the place that differs between groups, and noise of each reading."""

    def draw(rng: np.random.Generator, n: int, groups: int) -> tuple[Floats, Floats]:
        quality = _shared(rng, n, groups, 2.0)
        pull = shift + (0.5 * rng.normal(size=groups)[np.arange(n) % groups] if groups else 0.0)
        return _outcome(quality + pull + rng.logistic(size=n), kind), _outcome(
            quality - pull + rng.logistic(size=n), kind
        )

    return draw


def _position_cell(kind: str, n: int, groups: int) -> Cell:
    draw = _orders(kind, 0.5)
    first, second = draw(np.random.default_rng(1), _LARGE, groups and _LARGE // (n // groups))
    same = np.sign(first - 0.5) == np.sign(second - 0.5)
    truth = {"net share": float(np.mean(first - second)), "consistency": float(np.mean(same))}
    ends = {"net share": lambda r: r.interval, "consistency": lambda r: r.consistency_interval}
    return Cell("position bias", kind, n, groups, draw, lambda a, b, g: position_bias(a, b, groups=g), ends, truth)


def _agreement_cell(n: int, groups: int) -> Cell:
    def draw(rng: np.random.Generator, n: int, groups: int) -> tuple[Floats, Floats]:
        quality = _shared(rng, n, groups, 1.5)
        judge, people = (_outcome(2 * (quality + 0.6 * rng.logistic(size=n)), "ties") for _ in range(2))
        return judge, people

    large = pairwise_agreement(*draw(np.random.default_rng(1), _LARGE // 4, groups and _LARGE // 4 // (n // groups)))
    names = ("with_ties", "without_ties", "kappa")
    truth = {name: getattr(large, name).estimate for name in names}
    ends = {name: (lambda r, name=name: getattr(r, name).interval) for name in names}
    found = lambda a, b, g: pairwise_agreement(a, b, groups=g)  # noqa: E731
    return Cell("pairwise agreement", "three answers", n, groups, draw, found, ends, truth)


def _length_cell(kind: str, n: int, groups: int) -> Cell:
    intercept, slope = -0.8, 1.2

    def draw(rng: np.random.Generator, n: int, groups: int) -> tuple[Floats, Floats]:
        d = 100 + 300 * rng.normal(size=n)
        p = special.expit(intercept + slope * np.tanh(d / d.std()))
        if kind == "probabilities":
            return rng.beta(2 * p, 2 * (1 - p)), d
        return (stats.norm.cdf(_shared(rng, n, groups, 1.0)) < p).astype(float), d

    truth = {"win rate": float(special.expit(intercept)), "slope": slope}
    ends = {"win rate": lambda r: r.interval, "slope": lambda r: r.slope_interval}
    found = lambda y, d, g: length_controlled(y, d, groups=g)  # noqa: E731
    return Cell("length controlled", kind, n, groups, draw, found, ends, truth)


# --- tests ----------------------------------------------------------------------------------------------------------


def _rejections(n: int, shift: float, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """How often a bias is claimed at .05: by the sign test, and where 2n verdicts are pooled as independent."""
    draw = _orders("winners", shift)
    p = []
    for _ in range(runs):
        found = position_bias(*draw(rng, n, 0))
        won = found.n + found.n_first - found.n_second
        p.append((found.p_value, stats.binomtest(won, 2 * n).pvalue))
    for place, estimator in enumerate(("calib", "2n pooled verdicts (as truescore)")):
        claimed = float(np.mean(np.array(p)[:, place] <= 1 - LEVEL))
        head = {"quantity": "position bias: claimed", "estimator": estimator, "n": n, "runs": runs}
        error = float(np.sqrt(max(claimed * (1 - claimed), 0.05 * 0.95) / runs))
        yield head | {"design": "no bias" if shift == 0 else "bias", "coverage": claimed, "mc_error": error}
