"""How often a gate passes or fails a build whose true mean is exactly the threshold, on many kinds of builds.

Each row of threshold.csv is one kind of build, so many labels and items, and a rule: the gate's interval, or that of
`interval` and `difference` at the same confidence. `--check` simulates every tenth row again with few data sets.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rates import differing

sys.path.insert(0, str(Path(__file__).resolve().parent))
from builds import UNIT, Bounds, Build, Floats, Pair, builds, clusters, pairs

from calib.analysis.means.contrast import _correlation, _side
from calib.analysis.means.design import Design, mean_data
from calib.analysis.means.guards import options_of
from calib.analysis.means.methods import GROSS, METHODS, labels_alone, law_on_scale
from calib.analysis.means.moments import Moments
from calib.analysis.means.rates import post_stratified
from calib.analysis.means.ridge import SlopePrior, ridge
from calib.core.gaffke import Gaffke, gaffke_ends
from calib.stats import CalibWarning

FOLDER = Path(__file__).parent
ERROR = 0.05
SIZES = ((20, 40), (20, 1000), (40, 100), (40, 1000), (100, 200), (100, 1000))  # labels (of each build), items
SETS = {"gate": 800, "interval": 400}  # half of them where sets are computed one by one
HIGH, AGAIN, FEW = 0.06, 4000, 100  # cells above are simulated again, with so many new sets that replace the first
RULES: dict[str, bool | str] = {"gate": GROSS, "interval": False}  # what `conservative` is
KEY = ["family", "build", "labels", "items", "rule", "outcome"]
Ends = tuple[Floats, Floats]
Case = Build | Pair


# --- many sets at once ------------------------------------------------------------------------------------------


def moments(f: Floats) -> Moments:
    """Of the judge's scores in each row."""
    sets, n = f.shape
    if not n:
        return Moments(*np.zeros((3, sets)), np.full(sets, np.inf), np.full(sets, -np.inf))
    mean = f.mean(axis=1)
    squares = np.sum((f - mean[:, None]) ** 2, axis=1)
    return Moments(np.full(sets, float(n)), mean, squares, f.min(axis=1), f.max(axis=1))


def narrower(judged: Ends, alone: Ends) -> Ends:
    """The interval with the judge or, where that is no narrower, that of the labels alone."""
    wide, short = (high - low for low, high in (judged, alone))
    low, high = (np.where((short > 0) & (wide >= short), a, j) for a, j in zip(alone, judged, strict=True))
    return low, high


def of_items(y: Floats, f: Floats, rest: Moments, bounds: Bounds, rule: str, *, rate: bool, ends: Any = None) -> Ends:
    """As `ppi_mean` has them for independent items; labels of shape (sets, n)."""
    nothing = Moments(rest.n, *np.zeros((4, len(y))))
    if not rate:
        how = {"gross": RULES[rule] == GROSS, "ends": ends}
        return narrower(_gaffke(y, f, rest, bounds, **how), _gaffke(y, 0 * f, nothing, bounds, **how))
    alone = _rates(y, np.zeros(y.shape, dtype=bool), nothing, rule)
    if np.isin(f, UNIT).all() and np.isin([*rest.low, *rest.high], (*UNIT, np.inf, -np.inf)).all():
        return narrower(_rates(y, f == 1, rest, rule), alone)
    return narrower(_gaffke(y, f, rest, bounds, gross=RULES[rule] == GROSS, two=True), alone)


def _gaffke(y: Floats, f: Floats, rest: Moments, bounds: Bounds, **how: Any) -> Ends:
    code = np.repeat(np.arange(len(y)), y.shape[1])
    parts = ridge(y.ravel(), f.ravel(), code, rest, SlopePrior.on(bounds, same_scale=True))
    law = law_on_scale(parts, bounds, **how)[1]
    return law.low(ERROR), law.high(ERROR)


def _rates(y: Floats, said: NDArray[np.bool_], rest: Moments, rule: str) -> Ends:
    yes, judged = y == 1, np.round(rest.mean * rest.n)
    counts = [np.sum(cell, axis=1) for cell in (yes & said, said, yes & ~said, ~said)]
    tables, place = np.unique(np.stack([*counts, judged, rest.n - judged], axis=1), axis=0, return_inverse=True)
    low, high = post_stratified(*tables.T, 1 - 2 * ERROR, conservative=bool(RULES[rule]))[1:3]
    return low[place], high[place]


def of_pairs(pair: Pair, drawn: list[Floats], n: int, rule: str) -> Ends:
    """As `ppi_difference` has them for n pairs of labels."""
    y_a, y_b, f_a, f_b = drawn
    low, high = pair.new.bounds
    a, b = y_a[:, :n].mean(axis=1), y_b[:, :n].mean(axis=1)
    ends = np.minimum(low - b, a - high), np.maximum(high - b, a - low)
    y, f = (y_a - y_b)[:, :n], f_a - f_b
    return of_items(y, f[:, :n], moments(f[:, n:]), (low - high, high - low), rule, rate=False, ends=ends)


# --- one set after the other, where the package has them so -------------------------------------------------------


def _options(case: Build, rule: str) -> dict[str, Any]:
    """As `options_of` wants them, but for `binary`."""
    return {
        "bounds": case.bounds, "step": case.step, "same_scale": None, "conservative": RULES[rule], "null": None,
        "target": "population", "estimator": "auto", "alternative": "two-sided", "min_labels": 10,
        "confidence": 1 - 2 * ERROR,
    }  # fmt: skip


def of_groups(build: Build, y: Floats, f: Floats, n: int, rule: str) -> Ends:
    """As `ppi_mean` has them for groups of which some are labelled."""
    group, place = np.divmod(np.arange(y.shape[1]), build.size)
    each = build.each or build.size
    labels, laws = np.where((place < each) & (group < n // each), y, np.nan), []
    for one, scores in zip(labels, f, strict=True):
        data = mean_data(one, scores, None, Design(groups=group))
        options = options_of(data, binary=None, **_options(build, rule))
        mean = METHODS["auto"].law(data, options)
        laws += [mean.law, labels_alone(data, options, mean.estimator).law]
    return narrower(*_in_turn(laws))


def _in_turn(laws: list[Any]) -> tuple[Ends, Ends]:
    """Ends of the first, third, ... law, and those of the others."""
    if all(isinstance(law, Gaffke) for law in laws):
        ends = np.array(gaffke_ends(laws, ERROR))
    else:
        ends = np.array([(law.low(ERROR), law.high(ERROR)) for law in laws])
    return (ends[::2, 0], ends[::2, 1]), (ends[1::2, 0], ends[1::2, 1])


def of_two(pair: Pair, drawn: list[Floats], n: int, rule: str) -> Ends:
    """As `ppi_difference` has them for n labels of each build, of different inputs."""
    y_a, y_b, *scores = drawn
    at = np.arange(y_a.shape[1])
    labels = np.where(at < n, y_a, np.nan), np.where((at >= n) & (at < 2 * n), y_b, np.nan)
    options, laws, points, r = _options(pair.new, rule), [], [], []
    for arrays in zip(*labels, *scores, strict=True):
        named = dict(zip(("y_a", "y_b", "f_a", "f_b"), arrays, strict=True))
        sides = [_side(named, which, None, Design(), options) for which in "ab"]
        if sides[0].options.binary != sides[1].options.binary:
            sides = [_side(named, which, False, Design(), options) for which in "ab"]
        silent = [side._replace(mean=labels_alone(side.data, side.options, side.mean.estimator)) for side in sides]
        for both in (sides, silent):
            laws += [side.mean.law for side in both]
            points.append([side.mean.point for side in both])
            r.append(_correlation(*both))
    (a, b), rho, length = np.array(points).T, np.array(r), pair.new.bounds[1] - pair.new.bounds[0]
    (low_a, high_a), (low_b, high_b) = _in_turn(laws)

    def reach(one: Floats, other: Floats) -> Floats:
        one, other = np.maximum(one, 0), np.maximum(other, 0)
        return np.sqrt(np.maximum(one**2 + other**2 - 2 * rho * one * other, 0))

    low = np.clip(a - b - reach(a - low_a, high_b - b), -length, length)
    high = np.clip(a - b + reach(high_a - a, b - low_b), -length, length)
    return narrower((low[::2], high[::2]), (low[1::2], high[1::2]))


def ends_of(case: Case, rng: np.random.Generator, sets: int, n: int, items: int, rule: str) -> Ends:
    """Ends of the interval in many sets of data."""
    drawn = case.draw(rng, sets, items)
    if isinstance(case, Pair):
        return (of_two if case.apart else of_pairs)(case, drawn, n, rule)
    y, f = drawn
    if case.size > 1:
        return of_groups(case, y, f, n, rule)
    return of_items(y[:, :n], f[:, :n], moments(f[:, n:]), case.bounds, rule, rate=case.bounds == UNIT)


# --- the grid -----------------------------------------------------------------------------------------------------


def cells() -> Iterator[tuple[Case, int, int]]:
    """Each kind of build with each number of labels and items that it can have."""
    for case in (*builds(), *clusters(), *pairs()):
        yield from ((case, n, items) for n, items in SIZES if case.items_for(n) <= items)


def rows_of(case: Case, n: int, items: int, rule: str, sets: int) -> list[dict[str, Any]]:
    """Rates of false passes and fails; the seed comes from the cell alone."""
    seed = [*f"{case.family} {case.name} {n} {items}".encode()]
    sets //= 1 + case.slow
    shares = _rates_at(case, np.random.default_rng(seed), sets, n, items, rule)
    if sets > FEW and rule == "gate" and max(shares) > HIGH:
        sets = AGAIN // (1 + case.slow)
        parts = [_rates_at(case, np.random.default_rng([*seed, k]), sets // 4, n, items, rule) for k in range(4)]
        shares = tuple(np.mean(parts, axis=0))
    cell = {"family": case.family, "build": case.name, "labels": n, "items": items, "rule": rule}
    pairs_ = zip(("false pass", "false fail"), shares[:2], strict=True)
    return [cell | {"outcome": name, "rate": float(share), "runs": sets} for name, share in pairs_]


def _rates_at(case: Case, rng: np.random.Generator, sets: int, n: int, items: int, rule: str) -> tuple[float, float]:
    low, high = ends_of(case, rng, sets, n, items, rule)
    return float(np.mean(low > case.mean)), float(np.mean(high < case.mean))


def study(families: list[str] | None, *, few: bool) -> pd.DataFrame:
    """All cells, or every tenth with few sets."""
    rows: list[dict[str, Any]] = []
    chosen = ((*cell, rule) for cell in cells() for rule in RULES if not families or cell[0].family in families)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for case, n, items, rule in islice(chosen, 0, None, 21 if few else 1):
            rows += rows_of(case, n, items, rule, FEW if few else SETS[rule])
    return pd.DataFrame(rows)


def table(found: pd.DataFrame) -> str:
    """Mean and highest rate of each family, in %, as Markdown; of `interval` over all numbers of labels."""
    sizes, outcomes = sorted({labels for labels, _ in SIZES}), ("false pass", "false fail")
    names = [f"{outcome}, {labels} labels" for outcome in outcomes for labels in sizes]
    names += [f"`interval`: {outcome}" for outcome in outcomes]
    lines = [" | ".join(["| builds", "cells", *names]) + " |", "|---" * (2 + len(names)) + "|"]
    for family, part in found.groupby("family", sort=False):
        gate = part[part["rule"] == "gate"]
        cells_ = [
            gate.loc[(gate["outcome"] == outcome) & (gate["labels"] == labels), "rate"]
            for outcome in outcomes
            for labels in sizes
        ]
        cells_ += [
            part.loc[(part["rule"] == "interval") & (part["outcome"] == outcome), "rate"] for outcome in outcomes
        ]
        texts = [f"{100 * rates.mean():.1f} ({100 * rates.max():.1f})" for rates in cells_]
        lines.append(" | ".join([f"| {family}", str(len(gate) // 2), *texts]) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = check.parser(__doc__)
    arguments.add_argument("--family", action="append", help="this family of builds alone")
    given = arguments.parse_args()
    path = FOLDER / "threshold.csv"
    found = study(given.family, few=given.check)
    if given.check:
        stored = pd.read_csv(path)
        off = differing(stored, found, KEY, "rate")
        told = table(stored) in (FOLDER / "README.md").read_text()
        print(off.to_string() if len(off) else "", end="")
        print(f"threshold: {len(found) - len(off)} of {len(found)} rows agree with threshold.csv;", end=" ")
        print(f"the table in README.md is {'the same' if told else 'ANOTHER'}.", end=" ")
    else:
        off, told = found[:0], True
        if given.family and path.exists():
            stored = pd.read_csv(path)
            found = pd.concat([stored[~stored["family"].isin(given.family)], found], ignore_index=True)
        found.to_csv(path, index=False, float_format="%.5g", lineterminator="\n")
        print(table(found))
    print(f"{time.process_time():.0f} s of CPU.")
    return int(len(off) > 0 or not told)


if __name__ == "__main__":
    sys.exit(main())
