"""How often a gate for a judge trusts one that is at the bar, and one that is above it, beside judgegate 0.1.0.

Each row of results.csv is the rate of one outcome in one design. `--check` simulates each again with few data sets,
and fails where one cannot be of the same rate. Without judgegate its rows are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np
from rates import study

from calib.gate.judge_bars import score_of
from calib.stats import judge_bar

try:
    from judgegate.stats.bootstrap import kappa_interval
except ImportError:
    kappa_interval = None

FOLDER = Path(__file__).parent
RUNS = {"level": 2000, "power": 1000, "scales": 1000, "rates": 2000, "labels": 2000, "bars": 2000, "uneven": 2000}
FEW = 40
OF_SCALES = 200  # data sets of several values for judgegate, whose bootstrap is slow there
ERROR = 0.025
KEY = ["part", "figure", "design", "true", "groups", "n", "tool", "outcome"]
SHARES, SIZES, GROUPS, ICC = (0.5, 0.8, 0.9, 0.95), (20, 30, 50, 100, 200), (1, 5), 0.3
SCALES = {"even": [0.2] * 5, "mostly 5": [0.02, 0.05, 0.1, 0.25, 0.58], "three values": [0.1, 0.3, 0.6]}
HIGH = ((0.9, 0.5, 60), (0.9, 0.5, 61), (0.9, 0.8, 80), (0.9, 0.5, 130), (0.8, 0.5, 50), (0.8, 0.5, 80),
        (0.95, 0.5, 200))  # fmt: skip
UNEVEN = {
    "3 of 10, 30 of 1": [10] * 3 + [1] * 30,
    "10 of 20, 100 of 1": [20] * 10 + [1] * 100,
    "1 of 60, 60 of 1": [60] + [1] * 60,
    "2 of 30, 200 of 1": [30] * 2 + [1] * 200,
    "100 lognormal": np.maximum(1, np.round(2 * np.random.default_rng(9).lognormal(0, 1.3, 100))).astype(int),
}
Row = dict[str, Any]


# --- judges and people ------------------------------------------------------------------------------------------


def two_sided(share: float, kappa: float) -> Any:
    """Chances of each pair (judge, people) of 0 and 1, both of which pass this share, at a true kappa."""
    both = kappa * share * (1 - share)
    return np.array([(1 - share) ** 2, share * (1 - share), share * (1 - share), share**2]) + both * np.array(
        [1, -1, -1, 1]
    )


def drawn(rng: np.random.Generator, pairs: Any, runs: int, n: int, size: int) -> Any:
    """Pairs as codes; in groups of `size` each copies the group's with chance sqrt(ICC), which leaves the margins."""
    code = rng.choice(len(pairs), p=pairs / pairs.sum(), size=(runs, n))
    if size > 1:
        group = np.arange(n) // size
        shared = rng.choice(len(pairs), p=pairs / pairs.sum(), size=(runs, group.max() + 1))
        code = np.where(rng.random((runs, n)) < np.sqrt(ICC), shared[:, group], code)
    return code


@cache
def graded(scale: str, noise: float) -> Any:
    """Chances of each pair of values of a scale, of a judge with this noise; people's is .5."""
    rng, shares = np.random.default_rng(0), SCALES[scale]
    quality = rng.normal(size=2_000_000)
    sides = [quality + spread * rng.normal(size=len(quality)) for spread in (noise, 0.5)]
    judge, people = (np.searchsorted(np.quantile(side, np.cumsum(shares)[:-1]), side) for side in sides)
    return np.bincount(judge * len(shares) + people, minlength=len(shares) ** 2) / len(quality)


def truth(pairs: Any, figure: str) -> float:
    """The figure of a population."""
    x, y = sides_of(np.repeat(np.arange(len(pairs)), np.round(pairs * 400_000).astype(int)), len(pairs))
    return score_of(x, y, figure, np.arange(len(x))).estimate


def sides_of(code: Any, pairs: int) -> tuple[Any, Any]:
    x, y = np.divmod(code, round(pairs**0.5))
    return x.astype(float), y.astype(float)


# --- verdicts ---------------------------------------------------------------------------------------------------


def calib_of(code: Any, pairs: int, figure: str, bar: float, size: int) -> tuple[bool, bool]:
    """Trusted, untrusted: the p-values of `calib.stats.judge_bar` at the bar, without its interval."""
    x, y = sides_of(code, pairs)
    kind = {"tpr": y == 1, "tnr": y == 0}.get(figure, np.ones(len(y), dtype=bool))
    constant = np.ptp(y) == 0 and figure not in ("tpr", "tnr")
    if not kind.any() or np.ptp(x) == 0 or constant:
        return False, False
    unit = np.unique(np.arange(len(x))[kind] // size, return_inverse=True)[1]
    above, below = score_of(x[kind], y[kind], figure, unit).tails(bar)
    return above <= ERROR, below <= ERROR


def judgegate_of(code: Any, pairs: int, figure: str, bar: float) -> tuple[bool, bool, bool]:
    """Trusted, untrusted by the gate; trusted by its interval, which the gate sets aside if labels are all alike."""
    k = round(pairs**0.5)
    ends = _judgegate(tuple(np.bincount(code, minlength=pairs).tolist()), figure)
    labels = np.bincount(code % k, minlength=k)
    measured = np.count_nonzero(labels) > 1
    return measured and ends[0] > bar, measured and ends[1] < bar, ends[0] > bar


@cache
def _judgegate(counts: tuple[int, ...], figure: str) -> tuple[float, float]:
    k = round(len(counts) ** 0.5)
    weights = "quadratic" if figure == "weighted_kappa" else "none"
    found = kappa_interval(np.reshape(counts, (k, k)).T, weighting=weights, seed=1)  # its 10,000 resamples
    return found.low, found.high


def outcomes(
    part: str, figure: str, design: str, pairs: Any, true: float, bar: float, n: int, size: int, runs: int,
    rng: np.random.Generator,
) -> Iterator[Row]:  # fmt: skip
    """Rates of both outcomes, of both tools, in the same data sets."""
    codes = drawn(rng, pairs, runs, n, size)
    at = {"part": part, "figure": figure, "design": design, "true": round(true, 3), "groups": size, "n": n}
    mine: dict[bytes, tuple[bool, bool]] = {}  # of independent items the order says nothing
    found = []
    for code in np.sort(codes, axis=1) if size == 1 else codes:
        key = code.tobytes()
        if key not in mine:
            mine[key] = calib_of(code, len(pairs), figure, bar, size)
        found.append(mine[key])
    yield from rows_of(at | {"tool": "calib"}, ("trusted", "untrusted"), found)
    if kappa_interval is not None and figure in ("kappa", "weighted_kappa"):
        some = codes[:OF_SCALES] if part == "scales" else codes
        theirs = [judgegate_of(code, len(pairs), figure, bar) for code in some]
        names = ("trusted", "untrusted", "interval alone")[: 3 if part == "level" else 2]
        yield from rows_of(at | {"tool": "judgegate"}, names, theirs)


def rows_of(at: Row, names: tuple[str, ...], found: Any) -> Iterator[Row]:
    """A row for each outcome."""
    for name, rate in zip(names, np.mean(found, axis=0), strict=False):
        yield at | {"outcome": name, "rate": float(rate), "runs": len(found)}


# --- the parts --------------------------------------------------------------------------------------------------


def level(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Kappa exactly at the bar of .6, in 40 cells."""
    for size in GROUPS:
        for share in SHARES:
            for n in SIZES:
                yield from outcomes(
                    "level", "kappa", f"{share:g} pass", two_sided(share, 0.6), 0.6, 0.6, n, size, runs, rng
                )


def power(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Kappa above the bar of .6, independent items: where judgegate holds its level."""
    for true in (0.75, 0.85):
        for share in SHARES:
            for n in SIZES:
                yield from outcomes(
                    "power", "kappa", f"{share:g} pass", two_sided(share, true), true, 0.6, n, 1, runs, rng
                )


def scales(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Weighted kappa, Spearman's rho and kappa of several values, exactly at the bar."""
    for figure in ("weighted_kappa", "spearman", "kappa"):
        for scale in SCALES:
            pairs = graded(scale, 0.7)
            true = truth(pairs, figure)
            for size in GROUPS:
                for n in (20, 50, 200):
                    yield from outcomes("scales", figure, scale, pairs, true, true, n, size, runs, rng)


def rates(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """TPR and TNR exactly at a bar of .9, and .97; where few items are of the kind there is no power."""
    for share in (0.5, 0.9):
        for true in (0.9, 0.97):
            pairs = np.array([(1 - share) * true, share * (1 - true), (1 - share) * (1 - true), share * true])
            for figure in ("tpr", "tnr"):
                for size in GROUPS:
                    for n in (50, 100, 200):
                        yield from outcomes("rates", figure, f"{share:g} pass", pairs, true, 0.9, n, size, runs, rng)


def labels(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """How often as many labels as `labels_to_decide` decide, of a judge whose true kappa is the estimate."""
    for share, true in ((0.5, 0.7), (0.8, 0.75), (0.9, 0.8), (0.8, 0.45)):
        pairs = two_sided(share, true)
        counts = np.round(pairs * 60).astype(int)
        code = np.repeat(np.arange(4), counts)
        check_of = judge_bar(*sides_of(code, 4), "kappa", 0.6)
        more = int(check_of.labels_to_decide)
        pairs, seen = counts / counts.sum(), check_of.estimate
        for row in outcomes("labels", "kappa", f"{share:g} pass", pairs, seen, 0.6, more, 1, runs, rng):
            if row["tool"] == "calib":
                yield row


def bars(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Kappa exactly at a high bar, where few verdicts disagree."""
    for bar, share, n in HIGH:
        for row in outcomes("bars", "kappa", f"{share:g} pass", two_sided(share, bar), bar, bar, n, 1, runs, rng):
            if row["tool"] == "calib":
                yield row


def uneven(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Kappa exactly at the bar of .6, in groups of very different sizes; at last all items of one are alike."""
    for icc in (ICC, 1.0):
        for design, sizes in UNEVEN.items():
            unit, pairs = np.repeat(np.arange(len(sizes)), sizes), two_sided(0.5, 0.6)
            found = []
            for _ in range(runs):
                alone, shared = (rng.choice(4, p=pairs, size=size) for size in (len(unit), len(sizes)))
                code = np.where(rng.random(len(unit)) < np.sqrt(icc), shared[unit], alone)
                above, below = score_of(*sides_of(code, 4), "kappa", unit).tails(0.6)
                found.append((above <= ERROR, below <= ERROR))
            at = {"part": "uneven", "figure": "kappa", "design": f"{design}, ICC {icc:g}", "true": 0.6, "groups": 0}
            yield from rows_of(at | {"n": len(unit), "tool": "calib"}, ("trusted", "untrusted"), found)


PARTS = {part.__name__: part for part in (level, power, scales, rates, labels, bars, uneven)}


if __name__ == "__main__":
    sys.exit(study(FOLDER, __doc__, PARTS, KEY, runs=RUNS, few=FEW))
