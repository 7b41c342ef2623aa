"""How often a gate passes or fails a build whose true mean is exactly the threshold, on many kinds of builds."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))
from builds import FIVE, UNIT, Build, Pair, builds, clusters, pairs

from calib.analysis.means.contrast import Apart, Side, _correlation, _side, _without_judge
from calib.analysis.means.design import Design, MeanData, mean_data
from calib.analysis.means.guards import options_of
from calib.analysis.means.methods import METHODS, CheckedOptions, labels_alone, law_on_scale
from calib.analysis.means.moments import Moments
from calib.analysis.means.rates import post_stratified
from calib.analysis.means.ridge import SlopePrior, ridge
from calib.core.gaffke import Gaffke, gaffke_ends

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Bounds = tuple[float, float]
FOLDER = Path(__file__).parent
TAIL = 0.05
SIZES = ((20, 40), (20, 1000), (40, 100), (40, 1000), (100, 200), (100, 1000))  # labels, items
OPTIONS: dict[str, Any] = {
    "same_scale": None, "binary": None, "conservative": False, "target": "population", "estimator": "auto",
    "alternative": "two-sided", "null": None, "min_labels": 10, "confidence": 1 - 2 * TAIL,
}  # fmt: skip


def moments(f: Floats) -> Moments:
    """Of each row."""
    sets, n = f.shape
    if not n:
        return Moments(*np.zeros((3, sets)), np.full(sets, np.inf), np.full(sets, -np.inf))
    mean = f.mean(axis=1)
    return Moments(np.full(sets, float(n)), mean, np.sum((f - mean[:, None]) ** 2, axis=1), f.min(axis=1), f.max(axis=1))


def narrower(judged: Ends, alone: Ends) -> Ends:
    """As `judge_or_labels` chooses."""
    wide, short = (high - low for low, high in (judged, alone))
    low, high = (np.where((short > 0) & (wide >= short), a, j) for a, j in zip(alone, judged, strict=True))
    return low, high


def of_items(y: Floats, f: Floats, rest: Moments, bounds: Bounds, *, rate: bool, ends: Any = None) -> Ends:
    """Ends of `ppi_mean` for independent items, labels of shape (sets, n)."""
    sets, n = y.shape
    if rate and np.isin(f, UNIT).all() and np.isin(np.append(rest.low, rest.high), (*UNIT, np.inf, -np.inf)).all():
        yes = np.round(rest.mean * rest.n)
        return narrower(*(_rates(y, said > 0.5, count, rest.n) for said, count in ((f, yes), (0 * f, 0 * yes))))
    silent = Moments(rest.n, *np.zeros((4, sets)))
    judged = _gaffke(y, f, rest, bounds, two=rate, ends=ends)
    if rate:
        return narrower(judged, _rates(y, np.zeros(y.shape, dtype=bool), 0 * rest.n, rest.n))
    return narrower(judged, _gaffke(y, 0 * f, silent, bounds, two=False, ends=ends))


def _gaffke(y: Floats, f: Floats, rest: Moments, bounds: Bounds, **how: Any) -> Ends:
    code = np.repeat(np.arange(len(y)), y.shape[1])
    parts = ridge(y.ravel(), f.ravel(), code, rest, SlopePrior.on(bounds, same_scale=True))
    law = law_on_scale(parts, bounds, **how)[1]
    return law.low(TAIL), law.high(TAIL)


def _rates(y: Floats, said: NDArray[np.bool_], yes: Floats, rest: Floats) -> Ends:
    counts = (np.sum(v, axis=1) for v in ((y == 1) & said, said, (y == 1) & ~said, ~said))
    tables, place = np.unique(np.stack([*counts, yes, rest - yes], axis=1), axis=0, return_inverse=True)
    low, high = post_stratified(*tables.T, 1 - 2 * TAIL)[1:3]
    return low[place], high[place]


# --- one set after the other, where that is how the package computes it ------------------------------------------


def of_groups(build: Build, y: Floats, f: Floats, n: int) -> Ends:
    """Ends of `ppi_mean` with groups of which some are labelled."""
    items = y.shape[1]
    group, place = np.divmod(np.arange(items), build.size)
    each = build.each or build.size
    labelled = (place < each) & (group < n // each)
    options, laws = None, []
    for labels, scores in zip(np.where(labelled, y, np.nan), f, strict=True):
        data = mean_data(labels, scores, None, Design(groups=group))
        options = options_of(data, bounds=build.bounds, step=build.step, **OPTIONS)
        laws += _both(data, options)
    return narrower(*_by_two(laws))


def _both(data: MeanData, options: CheckedOptions) -> list[Any]:
    """The law with the judge and that of labels alone."""
    mean = METHODS["auto"].law(data, options)
    return [mean.law, labels_alone(data, options, METHODS[mean.estimator].alone).law]


def _by_two(laws: list[Any]) -> tuple[Ends, Ends]:
    if all(isinstance(law, Gaffke) for law in laws):
        ends = np.array(gaffke_ends(laws, TAIL))
    else:
        ends = np.array([(law.low(TAIL), law.high(TAIL)) for law in laws])
    return tuple(ends[::2].T), tuple(ends[1::2].T)


def of_pairs(pair: Pair, y_a: Floats, y_b: Floats, f_a: Floats, f_b: Floats, n: int) -> Ends:
    """Ends of `ppi_difference` with n pairs of labels."""
    low, high = pair.new.bounds
    means = y_a[:, :n].mean(axis=1), y_b[:, :n].mean(axis=1)
    ends = np.minimum(low - means[1], means[0] - high), np.maximum(high - means[1], means[0] - low)
    f = f_a - f_b
    bounds = low - high, high - low
    return of_items((y_a - y_b)[:, :n], f[:, :n], moments(f[:, n:]), bounds, rate=False, ends=ends)


def of_two(pair: Pair, y_a: Floats, y_b: Floats, f_a: Floats, f_b: Floats, n: int) -> Ends:
    """Ends of `ppi_difference` with n labels of each build, of different inputs."""
    at = np.arange(y_a.shape[1])
    first, second = np.where(at < n, y_a, np.nan), np.where((at >= n) & (at < 2 * n), y_b, np.nan)
    common = OPTIONS | {"bounds": pair.new.bounds, "step": pair.new.step}
    del common["binary"]
    laws, points, r = [], [], []
    for arrays in zip(first, second, f_a, f_b, strict=True):
        named = dict(zip(("y_a", "y_b", "f_a", "f_b"), arrays, strict=True))
        sides = [_side(named, which, None, Design(), common) for which in "ab"]
        if sides[0].options.binary != sides[1].options.binary:
            sides = [_side(named, which, False, Design(), common) for which in "ab"]
        silent = [_without_judge(side) for side in sides]
        for two in (sides, silent):
            laws += [side.mean.law for side in two]
            points.append([side.mean.point for side in two])
            r.append(_correlation(*two))
    (low_a, high_a), (low_b, high_b) = _by_two(laws)
    (a, b), r, length = np.array(points).T, np.array(r), pair.new.bounds[1] - pair.new.bounds[0]

    def reach(one: Floats, other: Floats) -> Floats:
        one, other = np.maximum(one, 0), np.maximum(other, 0)
        return np.sqrt(np.maximum(one**2 + other**2 - 2 * r * one * other, 0))

    low = np.clip(a - b - reach(a - low_a, high_b - b), -length, length)
    high = np.clip(a - b + reach(high_a - a, b - low_b), -length, length)
    return narrower((low[::2], high[::2]), (low[1::2], high[1::2]))


# --- the grid -----------------------------------------------------------------------------------------------------

Any_ = Build | Pair


def ends_of(build: Any_, rng: np.random.Generator, sets: int, n: int, items: int) -> Ends:
    """Ends of the gate's interval in many sets of data."""
    drawn = build.draw(rng, sets, items)
    if isinstance(build, Pair):
        return (of_two if build.apart else of_pairs)(build, *drawn, n)
    y, f = drawn
    if build.size > 1:
        return of_groups(build, y, f, n)
    return of_items(y[:, :n], f[:, :n], moments(f[:, n:]), build.bounds, rate=build.bounds == UNIT)


def possible(build: Any_, n: int, items: int) -> bool:
    """Whether so many labels can be drawn."""
    if isinstance(build, Pair):
        return items >= (2 if build.apart else 1) * n
    return n // (build.each or build.size) * build.size <= items


def cells() -> Iterator[tuple[Any_, int, int]]:
    for build in (*builds(), *clusters(), *pairs()):
        yield from ((build, n, items) for n, items in SIZES if possible(build, n, items))


def sets_of(build: Any_, sets: int) -> int:
    slow = (isinstance(build, Pair) and build.apart) or (isinstance(build, Build) and build.size > 1)
    return sets // 2 if slow else sets


def row_of(build: Any_, n: int, items: int, sets: int) -> dict[str, Any]:
    rng = np.random.default_rng([*f"{build.family} {build.name} {n} {items}".encode()])
    many = sets_of(build, sets)
    low, high = ends_of(build, rng, many, n, items)
    line = build.mean
    return {
        "family": build.family, "build": build.name, "labels": n, "items": items, "sets": many,
        "false_pass": float(np.mean(low > line)), "false_fail": float(np.mean(high < line)),
        "width": float(np.mean(high - low)),
    }  # fmt: skip


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--sets", type=int, default=2000)
    arguments.add_argument("--family", action="append")
    arguments.add_argument("--out", default=str(FOLDER / "threshold.csv"))
    given = arguments.parse_args()
    rows, families = [], {}
    for build, n, items in cells():
        if given.family and build.family not in given.family:
            continue
        start = time.process_time()
        rows.append(row_of(build, n, items, given.sets))
        families[build.family] = families.get(build.family, 0) + time.process_time() - start
    found = pd.DataFrame(rows)
    found.to_csv(given.out, index=False, float_format="%.5g")
    pd.set_option("display.width", 200, "display.max_rows", 1000)
    print({k: round(v, 1) for k, v in families.items()}, len(found))
    worst = found[(found[["false_pass", "false_fail"]] > 0.055).any(axis=1)]
    print(len(worst), "cells")
    return 0


if __name__ == "__main__":
    sys.exit(main())
