"""How often the interval of sessions holds, of 100 made-up sessions of which 10 to 50 have labels of all turns.

Each row of interval.csv is a rate in one design. `--check` simulates each again with few samples, and fails where one
cannot be of the same rate.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
from numpy.typing import NDArray
from rates import study

from calib.stats import ppi_mean

FOLDER = Path(__file__).parent
RUNS, FEW, MANY = 2000, 100, 200_000
KEY = ["part", "design", "correlation", "labelled"]
CORRELATIONS, LABELLED, SESSIONS = (0.0, 0.3, 0.6), (10, 25, 50), 100
Row = dict[str, Any]
Floats = NDArray[np.float64]


def turns_of(rng: np.random.Generator, n_sessions: int, correlation: float) -> tuple[Any, Floats, Floats]:
    """Scores 1 to 5 of 1 to 8 turns of each session: people's and a judge's, who is .3 too mild and errs by .8."""
    session = np.repeat(np.arange(n_sessions), rng.integers(1, 9, n_sessions))
    shared, own = rng.normal(size=n_sessions)[session], rng.normal(size=len(session))
    quality = 3.4 + np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    judge = quality + 0.3 + 0.8 * rng.normal(size=len(session))
    people, scores = (np.clip(np.rint(values), 1, 5) for values in (quality, judge))
    return session, people, scores


def of_sessions(values: Floats, session: Any, turns: str) -> Floats:
    """One score of each session."""
    first = np.flatnonzero(np.diff(session, prepend=-1))
    size = np.diff(np.append(first, len(session)))
    worst, last = np.minimum.reduceat(values, first), values[first + size - 1]
    return {"mean": np.add.reduceat(values, first) / size, "worst": worst, "last": last}[turns]


@cache
def truth(correlation: float, turns: str) -> float:
    """Of a population: of its sessions, or of all turns."""
    session, people, _ = turns_of(np.random.default_rng(1), MANY, correlation)
    return float((people if turns == "turns" else of_sessions(people, session, turns)).mean())


def holds(y: Floats, f: Floats, value: float, **options: Any) -> bool:
    """Whether the interval of `calib.interval` does."""
    ends = ppi_mean(y, f, bounds=(1, 5), step=1, **options).interval
    return bool(ends.low <= value <= ends.high)


def rated(runs: int, rng: np.random.Generator, held: Any) -> Iterator[Row]:
    """A row for each design, correlation and number of labelled sessions: how often."""
    for correlation in CORRELATIONS:
        for labelled in LABELLED:
            hits: dict[str, list[bool]] = {}
            for _ in range(runs):
                sample = turns_of(rng, SESSIONS, correlation)
                for design, hit in held(*sample, correlation, labelled):
                    hits.setdefault(design, []).append(hit)
            for design, each in hits.items():
                at = {"design": design, "correlation": correlation, "labelled": labelled}
                yield at | {"rate": float(np.mean(each)), "runs": runs}


def sessions(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The mean of sessions by their mean, worst and last turn."""

    def held(session: Any, people: Floats, judge: Floats, correlation: float, labelled: int) -> Iterator[Any]:
        for turns in ("mean", "worst", "last"):
            y, f = (of_sessions(values, session, turns) for values in (people, judge))
            y[labelled:] = np.nan
            yield turns, holds(y, f, truth(correlation, turns))

    return rated(runs, rng, held)


def all_turns(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The mean of all turns: a session is one cluster, or its turns are taken as independent."""

    def held(session: Any, people: Floats, judge: Floats, correlation: float, labelled: int) -> Iterator[Any]:
        y, value = np.where(session < labelled, people, np.nan), truth(correlation, "turns")
        yield "clusters", holds(y, judge, value, groups=session)
        yield "independent", holds(y, judge, value)

    return rated(runs, rng, held)


PARTS = {"sessions": sessions, "turns": all_turns}


if __name__ == "__main__":
    sys.exit(study(FOLDER, __doc__, PARTS, KEY, runs=dict.fromkeys(PARTS, RUNS), few=FEW, file="interval.csv"))
