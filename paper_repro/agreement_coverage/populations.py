"""Populations in which systems are not a sample: independent pairs, and systems that stay the same.

Their truth is known, or as good as known: the coefficient of very many pairs, or documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calib.stats import agreement

Floats = NDArray[np.float64]
_MANY = 400_000  # pairs, or scores of documents, that stand for the population


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Independent pairs: normal or Student's t, rounded to levels by cuts; or cells of a table with given chances."""

    n: int
    correlation: float = 0.5
    tails: float = np.inf
    judge_cuts: tuple[float, ...] = ()
    human_cuts: tuple[float, ...] = ()
    table: tuple[tuple[float, ...], ...] = ()
    values: tuple[float, ...] = ()

    def scores(self, rng: np.random.Generator, n: int | None = None) -> tuple[Floats, Floats]:
        """One data set: the judge's and the human's scores, each (1, n)."""
        shape = 1, n or self.n
        if self.table:
            chances = np.array(self.table) / np.sum(self.table)
            place = rng.choice(chances.size, shape, p=chances.ravel())
            return np.array(self.values)[place // len(self.table)], np.array(self.values)[place % len(self.table)]
        judge, human = _pair(rng, shape, self.correlation)
        if np.isfinite(self.tails):
            heavy = np.sqrt(rng.chisquare(self.tails, shape) / self.tails)
            judge, human = judge / heavy, human / heavy
        return _rounded(judge, self.judge_cuts), _rounded(human, self.human_cuts)

    def truth(self, level: str, coefficient: str) -> float:
        """The coefficient of the population."""
        judge, human = self.scores(np.random.default_rng(0), _MANY)
        return agreement(judge[0], human[0], level=level, method=coefficient, interval="none").estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Systems that are the same in all data sets; only the documents are drawn."""

    systems: int
    documents: int
    system_sd: float = 0.35
    judge_cuts: tuple[float, ...] = ()
    human_cuts: tuple[float, ...] = ()

    def scores(self, rng: np.random.Generator, documents: int | None = None) -> tuple[Floats, Floats]:
        """One data set: the judge's and the human's scores, each (systems, documents)."""
        n = documents or self.documents
        system = _pair(np.random.default_rng(self.systems), (self.systems, 1), 0.6)
        effects = self.system_sd * system + 0.5 * _pair(rng, (1, n), 0.5) + _pair(rng, (self.systems, n), 0.4)
        judge, human = effects / np.sqrt(1.25 + self.system_sd**2)
        return _rounded(judge, self.judge_cuts), _rounded(human, self.human_cuts)

    def truth(self, level: str, coefficient: str) -> float:
        """The agreement over very many documents."""
        judge, human = self.scores(np.random.default_rng(0), _MANY // (10 if level == "group" else 1) // self.systems)
        system, document = np.indices(judge.shape)
        labels = {"systems": system.ravel(), "groups": document.ravel()} if level != "item" else {}
        options = {"level": level, "method": coefficient, "interval": "none"}
        return agreement(judge.ravel(), human.ravel(), **labels, **options).estimate


def _pair(rng: np.random.Generator, shape: tuple[int, ...], correlation: float) -> Floats:
    first, second = rng.standard_normal((2, *shape))
    return np.stack([first, correlation * first + np.sqrt(1 - correlation**2) * second])


def _rounded(values: Floats, cuts: tuple[float, ...]) -> Floats:
    return np.searchsorted(cuts, values).astype(float) if cuts else values


_FIVE = {"judge_cuts": (-1.5, -0.5, 0.3, 1.0), "human_cuts": (-1.5, -0.5, 0.3, 1.0)}
_CEILING = {"judge_cuts": (-2.0, -1.5, -1.2, -0.9), "human_cuts": (-2.2, -1.8, -1.5, -1.0)}  # 82 and 84 % at the top
# a judge that says 5 to nearly all, and fails grossly now and then: 84 % of the pairs are (5, 5)
_COPIES = ((3.0, 1, 1, 0, 0), (0, 1, 1, 0, 2), (0, 0, 2, 1, 1), (0, 0, 0, 3, 3), (1, 0, 1, 2, 77))
_RARE = ((3.0, 0, 1), (0, 1, 1), (1, 1, 92))
KINDS_OF_PAIRS = {
    "normal, .5": {},
    "normal, .95": {"correlation": 0.95},
    "t of 3 df, .5": {"tails": 3.0},
    "five levels": _FIVE,
    "ceiling": _CEILING,
    "ceiling, close judge": _CEILING | {"correlation": 0.8},
    "yes and no, 10 % no": {"correlation": 0.6, "judge_cuts": (-1.3,), "human_cuts": (-1.3,)},
    "gross failures": {"table": _COPIES, "values": (1.0, 2, 3, 4, 5)},
    "rare failures": {"table": _RARE, "values": (1.0, 3, 5)},
}
PAIRS = {f"{name}: {n}": Pairs(n=n, **kind) for name, kind in KINDS_OF_PAIRS.items() for n in (10, 20, 50, 150, 500)}

KINDS_OF_SYSTEMS = {
    "these systems": {},
    "these strong systems": {"system_sd": 1.0},
    "these systems, ties": {"judge_cuts": (-0.6, 0.6), "human_cuts": (-2.0, -1.3, -0.7, -0.1)},
    "these systems, ceiling": {"judge_cuts": (-1.6, -1.0), "human_cuts": (-2.0, -1.6, -1.3, -0.9)},
}
FIXED = {
    f"{name} {m} x {n}": Fixed(systems=m, documents=n, **kind)
    for name, kind in KINDS_OF_SYSTEMS.items()
    for m in (2, 3, 5, 8, 16)
    for n in (20, 100)
}
