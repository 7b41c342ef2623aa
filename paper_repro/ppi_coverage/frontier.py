"""Coverage against width of rules for a mean score, on populations that were made to break them.

Each row of frontier.csv is one population, a number of labels and a rule: how often its 95 % interval holds the truth,
how often it lies below and above it, and how wide it is; `picture.py` shows them. `--check` simulates a few again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

sys.path.insert(0, str(Path(__file__).resolve().parent))
import picture
from oracles import labelled, normal_ends
from picture import ALONE, ARES, CALIB, DOCS, PPI, SAFE, T, table
from run import (
    JUDGES,
    SIZE,
    TAIL,
    Population,
    classical,
    copied,
    cross_counts,
    judge_of,
    latent,
    narrower,
    ours,
    parts_of,
    probable,
    scored,
    silent,
    unbounded,
    weighted,
)

from calib.analysis.means import ridge
from calib.analysis.means.moments import Moments
from calib.analysis.means.rates import post_stratified

FOLDER = Path(__file__).parent
GOLD, REST = (20, 50), 1_000
Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Bounds = tuple[float, float]
Made = Callable[[], Population]
FIVE, SEVEN, TEN, HUNDRED, UNIT = (1.0, 5.0), (1.0, 7.0), (0.0, 10.0), (0.0, 100.0), (0.0, 1.0)
SHAPES = {
    "mean 3.7": (0.05, 0.10, 0.20, 0.40, 0.25),
    "symmetric": (0.10, 0.20, 0.40, 0.20, 0.10),
    "U-shaped": (0.35, 0.12, 0.06, 0.12, 0.35),
    "ceiling": (0.01, 0.02, 0.05, 0.17, 0.75),
    "94 % at 5": (0.005, 0.005, 0.018, 0.032, 0.94),
    "97 % at 5": (0.005, 0.005, 0.009, 0.011, 0.97),
    "99 % at 5": (0.0, 0.0, 0.005, 0.005, 0.99),
}
USUAL = ("mean 3.7", "symmetric", "U-shaped", "ceiling")


# --- populations ------------------------------------------------------------------------------------------------


def of_values(values: list[float], shares: tuple[float, ...], z: Floats) -> Floats:
    """These values with these shares, in the order of z."""
    cuts = special.ndtri(np.clip(np.cumsum(shares)[:-1], 0, 1))
    return np.asarray(values, dtype=float)[np.searchsorted(cuts, z)]


def with_noise(y: Floats, rho: float, bounds: Bounds, step: float) -> Population:
    """A continuous judge of this correlation, or as near as can be, .4 of a step too high."""
    z, noise = latent()[:2]
    judge = judge_of("", float(y.mean()), float(y.std()), step, bounds)
    return Population(y, judge(weighted(y, z, noise, judge, rho)), bounds, step)


def spike(values: list[float], shares: tuple[float, ...], bounds: Bounds, rho: float) -> Population:
    """Most labels at one value, the rest far from it."""
    return with_noise(of_values(values, shares, latent()[0]), rho, bounds, 1.0)


def misjudged(shape: str, which: str, share: float, rho: float) -> Population:
    """A judge of correlation rho, or one that copies people (1), that gives the far end to a share of some items.

    "any passed": of all items, 5; "bad passed": of those at 1 and 2, 5; "good failed": of those at 4 and 5, 1; "any
    misread": of all items, 1, as a reply that could not be read.
    """
    z, noise, coin = latent()[:3]
    y = of_values([1, 2, 3, 4, 5], SHAPES[shape], z)
    judge = judge_of("unbiased judge", float(y.mean()), float(y.std()), 1.0, FIVE)
    f = y if rho == 1 else judge(weighted(y, z, noise, judge, rho))
    meant = {"bad passed": y <= 2, "good failed": y >= 4}.get(which, y > 0)
    wrong = meant & (special.ndtr(coin) < share)
    return Population(y, np.where(wrong, 5.0 if "passed" in which else 1.0, f), FIVE, 1.0)


FLAGS: dict[str, tuple[Bounds, float, float, float]] = {  # scale; what the judge says of good items, +-; share at 4
    "close": (FIVE, 4.85, 0.06, 0.0),
    "loose": (FIVE, 4.6, 0.15, 0.0),
    "some at 4": (FIVE, 4.85, 0.06, 0.06),
    "probability": (UNIT, 0.96, 0.015, 0.0),
}


def flagged(kind: str, bad: float, flags: float) -> Population:
    """All good but for a rare one; the judge gives the lowest to most bad items, and to a share of the good ones."""
    (low, high), top, sd, fours = FLAGS[kind]
    z, noise, coin, other = latent()
    rank = special.ndtr(z)
    y = np.where(rank < bad, low, np.where(rank > 1 - fours, high - 1, high))
    flag = special.ndtr(coin) < np.where(rank < bad, 0.8, flags)
    low_score = low + (high - low) * (0.05 + 0.02 * other)
    return Population(y, np.clip(np.where(flag, low_score, top + sd * noise), low, high), (low, high), 1.0)


LONG: dict[str, tuple[Bounds, float, float, float]] = {  # scale, mean, standard deviation, step
    "0 to 100: 75 +- 5": (HUNDRED, 75, 5, 1),
    "0 to 100: 88 +- 4": (HUNDRED, 88, 4, 1),
    "0 to 100 in fives: 80 +- 6": (HUNDRED, 80, 6, 5),
    "1 to 10: 7 +- 1.2": ((1.0, 10.0), 7, 1.2, 1),
}


def narrow(name: str, rho: float) -> Population:
    """Normal scores that use a small part of a long scale."""
    bounds, mean, sd, step = LONG[name]
    return with_noise(np.clip(step * np.round((mean + sd * latent()[0]) / step), *bounds), rho, bounds, 1.0)


def answered(p: float, judge: str) -> Population:
    """People and judge say yes or no."""
    z, noise = latent()[:2]
    y = special.ndtr(z) < p
    said = special.ndtr(noise) < np.where(y, *JUDGES[judge])
    return Population(y.astype(float), said.astype(float), UNIT, 1.0)


def without_scale(design: str, rho: float) -> Population:
    """As if nobody knew the ends of the scale."""
    made = scored if design in SHAPES else unbounded
    return replace(made(design, rho), bounds=None)


def inflated(zeros: float, kind: str, rho: float) -> Population:
    """Zero on a share of the items, elsewhere tens, or a beta distribution of the scale to 100."""
    z = latent()[0]
    u = np.clip((special.ndtr(z) - zeros) / (1 - zeros), 0, 1)
    above = {"tens": np.ceil(10 * u) * 10, "middling": 100 * special.betaincinv(2, 2, u), "all": np.full_like(u, 100.0)}
    y = np.where(special.ndtr(z) < zeros, 0.0, above.get(kind, 100 * special.betaincinv(1, 4, u)))
    return with_noise(y, rho, HUNDRED, 10.0)


HALVES = {
    "ceiling": (0.005, 0.005, 0.01, 0.01, 0.02, 0.05, 0.1, 0.2, 0.6),
    "floor": (0.8, 0.1, 0.04, 0.02, 0.01, 0.01, 0.01, 0.005, 0.005),
}


def halves(shape: str, rho: float) -> Population:
    """Scores in half steps that crowd at an end."""
    return with_noise(of_values([1 + k / 2 for k in range(9)], HALVES[shape], latent()[0]), rho, FIVE, 0.5)


def raters(shape: str, rho: float) -> Population:
    """The mean of three people's scores, who share two thirds of their variance."""
    z, noise, *others = latent()
    each = [np.roll(e, SIZE // 3) for e in (noise, *others)]
    y = np.mean([of_values([1, 2, 3, 4, 5], SHAPES[shape], 0.8 * z + 0.6 * e) for e in each], axis=0)
    return with_noise(y, rho, FIVE, 1.0)


SPIKES: tuple[tuple[str, list[float], tuple[float, ...], Bounds], ...] = (
    ("1 to 7: 90 % at 6, 5 % at each end", [1, 6, 7], (0.05, 0.9, 0.05), SEVEN),
    ("1 to 7: 90 % at 4, 5 % at each end", [1, 4, 7], (0.05, 0.9, 0.05), SEVEN),
    ("1 to 7: 97 % at 6, 3 % at 1", [1, 6], (0.03, 0.97), SEVEN),
    ("1 to 5: 90 % at 3, 5 % at each end", [1, 3, 5], (0.05, 0.9, 0.05), FIVE),
    ("1 to 5: 92 % at 2, 8 % above", [2, 3, 4, 5], (0.92, 0.05, 0.02, 0.01), FIVE),
    ("1 to 5: 95 % at 5, 5 % at 1", [1, 5], (0.05, 0.95), FIVE),
    ("0 to 10: 95 % at 9, 5 % at 0", [0, 9], (0.05, 0.95), TEN),
    ("0 to 10: 90 % at 8, 10 % at 0", [0, 8], (0.1, 0.9), TEN),
)


ONE_SIDED_JUDGES = (  # which items are misjudged, what share of them, how well the judge does else
    *(("any passed", share, 1.0) for share in (0.01, 0.03, 0.1)),
    ("bad passed", 0.15, 0.95),
    *(("bad passed", share, rho) for rho in (0.8, 0.95, 1.0) for share in (0.3, 0.5)),
    *(("good failed", 0.1, rho) for rho in (0.8, 0.95)),
)
Named = tuple[str, Made]


def _families() -> dict[str, list[Named]]:
    def named(text: str, made: Callable[..., Population], *values: object) -> Named:
        return text, partial(made, *values)

    three, ends = (0.3, 0.6, 0.9), ("ceiling", "floor")
    usual = product(("mean 3.7", "symmetric", "U-shaped", "0 to 100"), (0.0, *three))
    spikes = product(SPIKES, (0.0, 0.9))
    zeros = product((0.6, 0.85, 0.92), ("tens", "low", "all"), (0.3, 0.9))
    read = [*product(list(SHAPES)[4:], (0.02, 0.08), (1.0, 0.7)), *product(USUAL, (0.03,), (0.9,))]
    return {
        "ordinary": [named(f"{s}, rho {r:g}", scored, s, r) for s, r in usual],
        "spike": [named(f"{s[0]}, rho {r:g}", spike, *s[1:], r) for s, r in spikes],
        "one-sided": [
            named(f"{s}, rho {r:g}, {share:.0%} of {which}", misjudged, s, which, share, r)
            for s, (which, share, r) in product(USUAL, ONE_SIDED_JUDGES)
        ],
        "false flags": [
            named(f"{kind}, {bad:.1%} bad, {flags:.0%} flagged", flagged, kind, bad, flags)
            for kind, bad, flags in product(FLAGS, (0.003, 0.01, 0.03), (0.02, 0.08))
        ],
        "misread": [
            named(f"{s}, rho {r:g}, {share:.0%} misread", misjudged, s, "any misread", share, r) for s, share, r in read
        ],
        "copies": [
            named(f"{s}, same {same:.0%}", copied, s, same) for s, same in product(("mean 3.7", *ends), (0.9, 0.98))
        ],
        "long scale": [named(f"{s}, rho {r:g}", narrow, s, r) for s, r in product(LONG, three)],
        "zero-inflated": [named(f"{z:.0%} zeros, {kind}, rho {r:g}", inflated, z, kind, r) for z, kind, r in zeros],
        "half steps": [named(f"{s}, rho {r:g}", halves, s, r) for s, r in product(ends, three)],
        "means of raters": [named(f"{s}, rho {r:g}", raters, s, r) for s, r in product(("ceiling",), (0.3, 0.6, 0.85))],
        "probability": [
            named(f"{p:.0%} yes, rho {r:g}", probable, p, r) for p, r in product((0.02, 0.1, 0.3, 0.9), three)
        ],
        "yes or no": [
            named(f"{p:.0%} yes, {judge} judge", answered, p, judge)
            for p, judge in product((0.02, 0.1, 0.3, 0.5, 0.9), JUDGES)
        ],
        "no scale": [
            named(f"{s}, rho {r:g}", without_scale, s, r)
            for s, r in product(("normal", "exponential", "mean 3.7", "ceiling"), (0.3, 0.9))
        ],
    }


def populations() -> Iterator[tuple[str, str, Made]]:
    """Family, name and maker of each."""
    for family, members in _families().items():
        yield from ((family, name, made) for name, made in members)


# --- rules ------------------------------------------------------------------------------------------------------

PEERS = {T: "t", PPI: "ppi_py", ARES: "ares"}
EVERYWHERE = 1e6  # standard deviations: the whole scale
CURVE: dict[str, dict[str, float]] = {
    **{f"place {place:g}": {"_NEAR": place} for place in (0.0, 0.15, 0.5, 1.0)},
    **{f"reach {reach:g} s": {"_REACH": reach} for reach in (1.5, 4.0)},
    "reach to the end": {"_REACH": EVERYWHERE},
}
CURVED = ("ordinary", "long scale", "spike", "one-sided", "false flags", "misread")  # families that these run on


@contextmanager
def constants(**changed: float) -> Iterator[None]:
    """The rule with other constants."""
    before = {name: getattr(ridge, name) for name in changed}
    try:
        for name, value in changed.items():
            setattr(ridge, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(ridge, name, value)


def rates(*counts: Floats, full: bool) -> Ends:
    """Of yes or no, as `ppi_mean` has it."""
    low, high = post_stratified(*counts, 1 - 2 * TAIL, conservative=full)[1:3]
    return low, high


def by_labels(y: Floats, rest: Moments, population: Population, *, full: bool = False) -> Ends:
    """The interval of the labels alone; `full` is conservative."""
    if is_rate(population):
        none = np.zeros(len(y))
        return rates(none, none, y.sum(axis=1), none + y.shape[1], none, rest.n, full=full)
    return ours(parts_of(y, np.zeros_like(y), silent(rest), population), population.bounds, full=full)


def by_judge(y: Floats, f: Floats, rest: Moments, population: Population, *, full: bool = False) -> Ends:
    """The interval with the judge."""
    if is_rate(population) and np.isin(population.f, UNIT).all():
        yes = np.round(rest.mean * rest.n)
        return rates(*cross_counts(y, f > 0.5), yes, rest.n - yes, full=full)
    return ours(parts_of(y, f, rest, population), population.bounds, full=full, two=is_rate(population))


def is_rate(population: Population) -> bool:
    """Whether people say yes or no."""
    return population.bounds == UNIT and population.step == 1


def ends_of(y: Floats, f: Floats, rest: Moments, population: Population, *, curve: bool) -> dict[str, Ends]:
    """Ends of each rule."""
    gold = labelled(y, f)
    found = {rule: normal_ends(key, gold, rest, TAIL) if key != "t" else classical(gold) for rule, key in PEERS.items()}
    alone, judged = by_labels(y, rest, population), by_judge(y, f, rest, population)
    found |= {CALIB: narrower(judged, alone)["calib"], ALONE: alone}
    if population.bounds is not None:
        full = by_judge(y, f, rest, population, full=True), by_labels(y, rest, population, full=True)
        found[SAFE] = narrower(*full)["calib"]
    for rule, changed in CURVE.items() if curve else ():
        with constants(**changed):
            other = by_labels(y, rest, population) if "_REACH" in changed else alone  # no judge, no place
            found[rule] = narrower(by_judge(y, f, rest, population), other)["calib"]
    return found


# --- the study --------------------------------------------------------------------------------------------------


def rows_of(family: str, name: str, population: Population, gold: int, sets: int) -> Iterator[dict[str, object]]:
    """Coverage in % of each rule; seeds come from the cell alone."""
    rng = np.random.default_rng([*f"{family} {name} {gold}".encode()])
    y, f = population.draw(rng, sets, gold)
    said = population.draw(rng, sets, REST)[1]
    mean = said.mean(axis=1)
    squares = np.sum((said - mean[:, None]) ** 2, axis=1)
    rest = Moments(np.full(sets, float(REST)), mean, squares, said.min(axis=1), said.max(axis=1))
    truth = population.truth
    for rule, (low, high) in ends_of(y, f, rest, population, curve=family in CURVED).items():
        yield {
            "family": family,
            "population": name,
            "gold": gold,
            "rule": rule,
            "sets": sets,
            "coverage": 100 * float(np.mean((low <= truth) & (truth <= high))),
            "too_low": 100 * float(np.mean(high < truth)),
            "too_high": 100 * float(np.mean(low > truth)),
            "width": float(np.mean(high - low)),
        }


def study(sets: int) -> pd.DataFrame:
    """All cells."""
    rows: list[dict[str, object]] = []
    for i, (family, name, made) in enumerate(populations(), start=1):
        population = made()
        for gold in GOLD:
            rows += rows_of(family, name, population, gold, sets)
        if i % 20 == 0:
            print(f"{i}  {family}, {name}: {time.process_time():.0f} s of CPU", flush=True)
    return pd.DataFrame(rows)


CHECKED = (
    "symmetric, rho 0.6",
    "1 to 5: 95 % at 5, 5 % at 1, rho 0.9",
    "U-shaped, rho 0.95, 30% of bad passed",
    "close, 1.0% bad, 2% flagged",
    "0 to 100: 75 +- 5, rho 0.9",
    "90% yes, good judge",
    "exponential, rho 0.3",
)


def check(path: Path, sets: int) -> int:
    """Simulate a few cells again with fewer data sets; 1 if one differs from the file by more than chance."""
    results = picture.read(path)
    stored, misses = results.set_index(["family", "population", "gold", "rule"]), 0
    for family, name, made in populations():
        if name not in CHECKED:
            continue
        rows = list(rows_of(family, name, made(), 20, sets))
        ok = all(_agree(row, stored.loc[(family, name, 20, row["rule"])]) for row in rows)
        misses += not ok
        print(f"{'ok  ' if ok else 'MISS'} {family}, {name}, 20 labels")
    told = table(results) in (DOCS / "intervals.md").read_text()
    print(f"{'ok  ' if told else 'MISS'} the table in docs/intervals.md")
    print(f"frontier: {len(CHECKED) - misses} of {len(CHECKED)} cells agree with frontier.csv.")
    return int(misses > 0 or not told)


def _agree(row: dict[str, object], before: pd.Series) -> bool:
    p = min(max(float(before["coverage"]) / 100, 0.005), 0.995)
    error = 100 * np.sqrt(p * (1 - p) * (1 / float(str(row["sets"])) + 1 / float(before["sets"])))
    return bool(abs(float(str(row["coverage"])) - before["coverage"]) <= 4 * error)


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--reps", type=int, default=1_000, help="data sets a cell")
    arguments.add_argument("--check", action="store_true", help="compare a few cells with frontier.csv; 1 on a miss")
    given = arguments.parse_args()
    path = FOLDER / "frontier.csv"
    if given.check:
        return check(path, 400)
    study(given.reps).to_csv(path, index=False, float_format="%.4g", lineterminator="\n")
    picture.main()
    print(f"{time.process_time():.0f} s of CPU.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
