"""Coverage against width of rules for a bounded mean, on populations that were made to break them.

Each row of frontier.csv is one population, a number of labels and a rule: how often its 95 % interval and each of its
one-sided 95 % limits hold the truth, and how wide it is. `--check` simulates a few cells again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
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
from former import former
from oracles import labelled
from run import SIZE, Population, classical, judge_of, latent, parts_of, probable, scored, weighted

from calib.analysis.means.moments import Moments
from calib.analysis.means.ridge import CorrectedMeans, bounded
from calib.core.gaffke import Gaffke

FOLDER = Path(__file__).parent
TWO_SIDED, ONE_SIDED = 0.025, 0.05
GOLD, REST = (20, 50), 1_000
Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Bounds = tuple[float, float]
Made = Callable[[], Population]
FIVE, SEVEN, TEN, HUNDRED = (1.0, 5.0), (1.0, 7.0), (0.0, 10.0), (0.0, 100.0)
SHAPES = {
    "mean 3.7": (0.05, 0.10, 0.20, 0.40, 0.25),
    "symmetric": (0.10, 0.20, 0.40, 0.20, 0.10),
    "U-shaped": (0.35, 0.12, 0.06, 0.12, 0.35),
    "ceiling": (0.01, 0.02, 0.05, 0.17, 0.75),
}


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

    "any passed": of all items, 5; "bad passed": of those at 1 and 2, 5; "good failed": of those at 4 and 5, 1.
    """
    z, noise, coin = latent()[:3]
    y = of_values([1, 2, 3, 4, 5], SHAPES[shape], z)
    judge = judge_of("unbiased judge", float(y.mean()), float(y.std()), 1.0, FIVE)
    f = y if rho == 1 else judge(weighted(y, z, noise, judge, rho))
    meant = {"any passed": y > 0, "bad passed": y <= 2, "good failed": y >= 4}[which]
    wrong = meant & (special.ndtr(coin) < share)
    return Population(y, np.where(wrong, 1.0 if which == "good failed" else 5.0, f), FIVE, 1.0)


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
    *(("bad passed", share, rho) for rho in (0.8, 0.95, 1.0) for share in (0.3, 0.5)),
    *(("good failed", 0.1, rho) for rho in (0.8, 0.95)),
)
Named = tuple[str, Made]


def _families() -> dict[str, list[Named]]:
    def named(text: str, made: Callable[..., Population], *values: object) -> Named:
        return text, partial(made, *values)

    three, ends = (0.3, 0.6, 0.9), ("ceiling", "floor")
    usual = product(("mean 3.7", "symmetric", "U-shaped", "0 to 100"), (0.0, *three))
    spikes = product(SPIKES, (0.0, 0.6, 0.9))
    zeros = product((0.6, 0.75, 0.85, 0.92), ("tens", "middling", "low", "all"), (0.3, 0.9))
    return {
        "ordinary": [named(f"{s}, rho {r:g}", scored, s, r) for s, r in usual],
        "spike": [named(f"{s[0]}, rho {r:g}", spike, *s[1:], r) for s, r in spikes],
        "one-sided": [
            named(f"{s}, rho {r:g}, {share:.0%} of {which}", misjudged, s, which, share, r)
            for s, (which, share, r) in product(SHAPES, ONE_SIDED_JUDGES)
        ],
        "zero-inflated": [named(f"{z:.0%} zeros, {kind}, rho {r:g}", inflated, z, kind, r) for z, kind, r in zeros],
        "half steps": [named(f"{s}, rho {r:g}", halves, s, r) for s, r in product(ends, three)],
        "means of raters": [
            named(f"{s}, rho {r:g}", raters, s, r) for s, r in product(("mean 3.7", "ceiling"), (0.3, 0.6, 0.85))
        ],
        "probability": [
            named(f"{p:.0%} yes, rho {r:g}", probable, p, r) for p, r in product((0.05, 0.1, 0.3, 0.5), three)
        ],
    }


def populations() -> Iterator[tuple[str, str, Made]]:
    """Family, name and maker of each."""
    for family, members in _families().items():
        yield from ((family, name, made) for name, made in members)


# --- rules ------------------------------------------------------------------------------------------------------

FIXED = {f"w {w:g}, {reach}": (w, float(reach == "worst")) for w in (0.25, 0.5, 1.0) for reach in ("mean", "worst")}
RULES = ("labels alone, t", "calib 0.1", *FIXED, "calib", "calib, conservative")
LIMITS = ("labels alone, t", "calib 0.1", "calib", "calib, conservative")  # whose one-sided limits are measured, too


def laws_of(parts: CorrectedMeans, bounds: Bounds, *, two: bool) -> dict[str, Gaffke]:
    """The same residuals with one unseen label of a given weight and place, as calib does it, and its full weight."""
    calib, full = (
        bounded(parts.point, parts.judge, parts.seen, bounds, full=full, two=two)[1] for full in (False, True)
    )
    plain = tuple(np.full_like(end, value) for end, value in zip(full.reach, bounds, strict=True))
    laws = {"calib": calib, "calib, conservative": full}
    for name, (w, place) in FIXED.items():
        low, high = (near + place * (far - near) for near, far in zip(plain, full.reach, strict=True))
        laws[name] = replace(full, weight=np.full_like(full.weight, w), reach=(low, high))
    return laws


def ends_of(y: Floats, f: Floats, rest: Moments, population: Population) -> dict[str, dict[float, Ends]]:
    """Ends of each rule by what is left in each tail."""
    bounds = population.bounds
    assert bounds is not None
    two = population.step == bounds[1] - bounds[0]
    laws = laws_of(parts_of(y, f, rest, population), bounds, two=two)
    found: dict[str, dict[float, Ends]] = {}
    for rule in RULES:
        for tail in (TWO_SIDED, ONE_SIDED) if rule in LIMITS else (TWO_SIDED,):
            if rule == "calib 0.1":
                ends = former(y, f, rest, bounds, population.step, tail)
            else:
                ends = laws[rule].near(tail) if rule in laws else classical(labelled(y, f), tail)
            found.setdefault(rule, {})[tail] = ends
    return found


# --- the study --------------------------------------------------------------------------------------------------


def rows_of(family: str, name: str, population: Population, gold: int, sets: int) -> Iterator[dict[str, object]]:
    """Coverage in % of each rule; seeds come from the cell alone."""
    rng = np.random.default_rng([*f"{family} {name} {gold}".encode()])
    y, f = population.draw(rng, sets, gold)
    rest = population.judged(rng, REST, sets)
    truth = population.truth
    for rule, by_tail in ends_of(y, f, rest, population).items():
        low, high = by_tail[TWO_SIDED]
        limits = by_tail.get(ONE_SIDED)
        yield {
            "family": family,
            "population": name,
            "gold": gold,
            "rule": rule,
            "sets": sets,
            "coverage": _percent((low <= truth) & (truth <= high)),
            "width": float(np.mean(high - low)),
            "lower": _percent(limits[0] <= truth) if limits else np.nan,
            "upper": _percent(limits[1] >= truth) if limits else np.nan,
        }


def _percent(held: NDArray[np.bool_]) -> float:
    return 100 * float(held.mean())


def study(sets: int) -> pd.DataFrame:
    """All cells."""
    rows: list[dict[str, object]] = []
    for i, (family, name, made) in enumerate(populations()):
        population = made()
        for gold in GOLD:
            rows += rows_of(family, name, population, gold, sets)
        print(f"{i + 1}  {family}, {name}", flush=True)
    return pd.DataFrame(rows)


def summary(results: pd.DataFrame, least: int = 20) -> pd.DataFrame:
    """By rule and family, from this many labels on: lowest and mean coverage, cells below 93, width over 0.1."""
    few = results[results["gold"] >= least]
    key = ["family", "population", "gold"]
    before = few[few["rule"] == "calib 0.1"].set_index(key)["width"]
    few = few.assign(ratio=few["width"].to_numpy() / before.loc[few.set_index(key).index].to_numpy())
    few = few.assign(limit=few[["lower", "upper"]].min(axis=1))
    return few.groupby(["rule", "family"], sort=False).agg(
        cells=("coverage", "size"),
        lowest=("coverage", "min"),
        mean=("coverage", "mean"),
        below_93=("coverage", lambda c: int((c < 93).sum())),
        width=("ratio", "mean"),
        lowest_limit=("limit", "min"),
        mean_limit=("limit", "mean"),
    )


def draw(results: pd.DataFrame, path: Path) -> None:
    """For each rule the width on ordinary cells and the coverage where it is lowest elsewhere."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    table = summary(results).reset_index()
    figure, ax = plt.subplots(figsize=(7.5, 5))
    for place, rule in enumerate(RULES[:-1]):  # the last is "w 1, worst"
        part = table[table["rule"] == rule]
        ordinary, hard = part[part["family"] == "ordinary"], part[part["family"] != "ordinary"]
        held, width = hard["lowest"].min(), float(ordinary["width"].iloc[0])
        name = f"{rule} (conservative)" if rule == "w 1, worst" else rule
        ax.plot(width, held, marker="o", color="#0072B2" if rule.startswith("calib") else "#4D4D4D")
        above = (6, 5 if place % 2 else -13)
        ax.annotate(name, (width, held), xytext=above, textcoords="offset points", fontsize=9)
    ax.axhline(93, color="black", linewidth=0.9, linestyle=":")
    ax.set_xlabel("mean width on ordinary populations, over that of calib 0.1")
    ax.set_ylabel("lowest coverage on the other populations, %")
    ax.set_title("95 % intervals at 20 and 50 labels", fontsize="medium")
    ax.margins(x=0.18)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


CHECKED = 1, 17, 45, 60, 90, 125  # places in the list of populations


def check(path: Path, sets: int) -> int:
    """Simulate a few cells again with fewer data sets; 1 if one differs from the file by more than chance."""
    stored = pd.read_csv(path).set_index(["family", "population", "gold", "rule"])
    chosen = [one for place, one in enumerate(populations()) if place in CHECKED]
    misses = 0
    for family, name, made in chosen:
        rows = list(rows_of(family, name, made(), 20, sets))
        ok = all(_agree(row, stored.loc[(family, name, 20, row["rule"])]) for row in rows)
        misses += not ok
        print(f"{'ok  ' if ok else 'MISS'} {family}, {name}, 20 labels")
    print(f"frontier: {len(chosen) - misses} of {len(chosen)} cells agree with frontier.csv.")
    return int(misses > 0)


def _agree(row: dict[str, object], before: pd.Series) -> bool:
    p = min(max(float(before["coverage"]) / 100, 0.005), 0.995)
    error = 100 * np.sqrt(p * (1 - p) * (1 / float(str(row["sets"])) + 1 / float(before["sets"])))
    return bool(abs(float(str(row["coverage"])) - before["coverage"]) <= 4 * error)


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--reps", type=int, default=2_000, help="data sets a cell")
    arguments.add_argument("--check", action="store_true", help="compare a few cells with frontier.csv; 1 on a miss")
    given = arguments.parse_args()
    path = FOLDER / "frontier.csv"
    if given.check:
        return check(path, 500)
    study(given.reps).to_csv(path, index=False, float_format="%.4g", lineterminator="\n")
    results = pd.read_csv(path)
    draw(results, FOLDER / "frontier.png")
    print(summary(results).round(3).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
