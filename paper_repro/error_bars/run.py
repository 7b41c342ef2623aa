"""How often the intervals of two runs compared hold, beside Student's t alone; p-values and power.

Each row of results.csv is a rate in one design. `--check` simulates a part of the rows again with few data sets, and
fails where one cannot be of the same rate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from rates import study
from scipy import stats

from calib.stats import compare_runs, nested_components, pass_hat_k, run_power

FOLDER = Path(__file__).parent
RUNS, FEW = 2000, 60
KEY = ["part", "design", "tasks", "trials", "method"]
TASKS, TRIALS = (10, 20, 50, 200), (1, 2, 4, 8)
SHAPES = {"Beta(.5,.5)": (0.5, 0.5), "Beta(2,1)": (2, 1), "near 1": (30, 1)}
MANY = 1_000_000  # tasks of a population
CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
Row = dict[str, Any]
Rng = np.random.Generator
Drawn = tuple[Any, Any, float, float]  # scores of both runs, the true difference, and that of exactly these tasks


# --- runs -------------------------------------------------------------------------------------------------------------


def chances(rng: Rng, shape: tuple[float, float], size: Any, gap: float = 0.4) -> tuple[Any, Any]:
    """Of each task the chance to pass in both runs: the second's differs by `gap` and by the task, in logits."""
    p = np.clip(rng.beta(*shape, size), 1e-12, 1 - 1e-12)
    return p, 1 / (1 + np.exp(-(np.log(p / (1 - p)) + gap + 0.8 * rng.normal(size=size))))


@cache
def true_difference(design: str) -> float:
    """Of a population, by a million tasks."""
    p, q = chances(np.random.default_rng(99), SHAPES[design], MANY)
    return float((q - p).mean())


def binary(rng: Rng, design: str, n: int, t: int) -> Drawn:
    """Passes and failures of tasks of one population."""
    p, q = chances(rng, SHAPES[design], (n, 1))
    a, b = ((rng.random((n, t)) < side).astype(float) for side in (p, q))
    return a, b, true_difference(design), float((q - p).mean())


def correlated(rng: Rng, n: int, t: int) -> Drawn:
    """Both runs have the same chances, and trial k of one shares half of its luck with trial k of the other."""
    p = rng.beta(2, 1, (n, 1))
    own, luck = rng.random((n, t)), rng.random((n, t))
    again = np.where(rng.random((n, t)) < 0.5, own, luck)
    return (own < p).astype(float), (again < p).astype(float), 0.0, 0.0


@cache
def rated_levels(shift: float) -> float:
    """Mean rating of the population of `ratings`."""
    z = np.random.default_rng(99).normal(shift, np.sqrt(1 + 0.3**2 + 0.6**2), 4 * MANY)
    return float(1 + np.searchsorted(CUTS, z).mean())


def ratings(rng: Rng, n: int, t: int) -> Drawn:
    """Ratings 1 to 5."""
    quality = rng.normal(size=(n, 1))
    means = [quality + 0.3 * rng.normal(size=(n, 1)) + shift for shift in (0.0, 0.3)]
    a, b = (1.0 + np.searchsorted(CUTS, m + 0.6 * rng.normal(size=(n, t))) for m in means)
    one, two = (1 + stats.norm.sf((CUTS - m) / 0.6).sum(axis=1).mean() for m in means)
    return a, b, rated_levels(0.3) - rated_levels(0.0), float(two - one)


def clusters(rng: Rng, n: int, t: int, uneven: bool) -> tuple[Any, Any, Any]:
    """Passes in clusters whose tasks share half of the variance of what the runs differ by; no true difference."""
    sizes = [5] * (n // 5)
    if uneven:
        sizes = np.clip(np.round(4 * rng.lognormal(0, 0.9, n)), 1, n // 4).astype(int)
        sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n)) + 1]
    unit = np.repeat(np.arange(len(sizes)), sizes)[:n]
    level = rng.normal(size=n)
    away = 1.5 * (np.sqrt(0.5) * rng.normal(size=unit.max() + 1)[unit] + np.sqrt(0.5) * rng.normal(size=n))
    a, b = ((rng.random((n, t)) < stats.norm.cdf(level + sign * away / 2)[:, None]).astype(float) for sign in (-1, 1))
    return a, b, unit


# --- what holds -------------------------------------------------------------------------------------------------------


def fast(a: Any, b: Any, **options: Any) -> Any:
    """The comparison of passes without pass@k and tests of single tasks, which are slow: as scores 1 and 2."""
    return compare_runs(a + 1, b + 1, bounds=(1, 2), **options)


def student(a: Any, b: Any) -> tuple[float, float]:
    """The paired t interval of task means alone."""
    d = b.mean(axis=1) - a.mean(axis=1)
    reach = stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
    return d.mean() - reach, d.mean() + reach


def holds(ends: tuple[float, float], value: float) -> bool:
    return bool(ends[0] - 1e-9 <= value <= ends[1] + 1e-9)


def rated(part: str, design: str, n: int, t: int, runs: int, one: Callable[[], dict[str, bool]]) -> Iterator[Row]:
    """A row for each method: how often."""
    found = pd.DataFrame([one() for _ in range(runs)])
    for method in found:
        some = found[method].dropna()
        at = {"part": part, "design": design, "tasks": n, "trials": t, "method": method}
        yield at | {"rate": float(some.mean()), "runs": len(some)}


def sources() -> dict[str, Callable[[Rng, int, int], Drawn]]:
    each: dict[str, Callable[[Rng, int, int], Drawn]] = {
        name: lambda rng, n, t, name=name: binary(rng, name, n, t) for name in SHAPES
    }
    return each | {"correlated": correlated, "ratings 1 to 5": ratings}


def coverage(runs: int, rng: Rng) -> Iterator[Row]:
    """The difference of tasks to come, and of exactly these tasks."""
    for design, draw in sources().items():
        for n in TASKS:
            for t in TRIALS:

                def one(n: int = n, t: int = t, draw: Any = draw, design: str = design) -> dict[str, bool]:
                    a, b, true, here = draw(rng, n, t)
                    got = compare_runs(a, b, bounds=(1, 5)) if design[0] == "r" else fast(a, b)
                    hit = {"calib": holds(got.interval, true), "Student's t": holds(student(a, b), true)}
                    return hit | ({"calib, these tasks": holds(got.these_interval, here)} if t > 1 else {})

                yield from rated("coverage", design, n, t, runs, one)


def clustered(runs: int, rng: Rng) -> Iterator[Row]:
    """The difference of tasks to come in clusters of 5, and of uneven sizes."""
    for design in ("clusters of 5", "uneven clusters"):
        for n in (50, 100, 200):
            for t in (1, 4):

                def one(n: int = n, t: int = t, uneven: bool = design[0] == "u") -> dict[str, bool]:
                    a, b, unit = clusters(rng, n, t, uneven)
                    got = fast(a, b, groups=unit)
                    return {"calib": holds(got.interval, 0.0), "Student's t": holds(student(a, b), 0.0)}

                yield from rated("clustered", design, n, t, runs, one)


@cache
def true_hat(design: str, k: int) -> float:
    p, q = chances(np.random.default_rng(99), SHAPES[design], MANY)
    return float((q**k - p**k).mean())


def hat_differences(runs: int, rng: Rng) -> Iterator[Row]:
    """pass^k of one run less the other's: as in `attempts`, the difference of each task's share of choices of k."""
    for design in SHAPES:
        for n in TASKS:
            for t in (2, 4, 8):

                def one(design: str = design, n: int = n, t: int = t) -> dict[str, bool]:
                    a, b, *_ = binary(rng, design, n, t)
                    hit = {}
                    for k in sorted({2, t}):
                        hats = [pass_hat_k(x.sum(axis=1), np.full(n, t), k) for x in (a, b)]
                        hit[f"pass^{k}"] = holds(fast(*hats).interval, true_hat(design, k))
                    return hit

                yield from rated("pass^k", design, n, t, runs, one)


def p_values(runs: int, rng: Rng) -> Iterator[Row]:
    """Two runs of one chance a task: how often p is below .01, .05, .1 and .5, and above .9; KS against uniform."""
    for design in (*SHAPES, "ratings 1 to 5"):
        for n, t in ((20, 4), (50, 1), (50, 4), (200, 1), (200, 4)):
            p = []
            for _ in range(runs):
                if design in SHAPES:
                    chance, other = (rng.beta(*SHAPES[design], (n, 1)) for _ in range(2))
                    flip = rng.random((n, 1)) < 0.3  # of these tasks the chances differ, either way
                    swapped = flip & (rng.random((n, 1)) < 0.5)
                    sides = np.where(swapped, other, chance), np.where(flip & ~swapped, other, chance)
                    p.append(fast(*((rng.random((n, t)) < side).astype(float) for side in sides)).p_value)
                else:
                    mean = rng.normal(size=(n, 1))
                    sides = [mean + 0.3 * rng.normal(size=(n, 1)) + 0.6 * rng.normal(size=(n, t)) for _ in range(2)]
                    p.append(compare_runs(*(1.0 + np.searchsorted(CUTS, x) for x in sides), bounds=(1, 5)).p_value)
            at = {"part": "p-values", "design": design, "tasks": n, "trials": t, "runs": runs}
            for level in (0.01, 0.05, 0.1, 0.5):
                yield at | {"method": f"p <= {level:g}", "rate": float((np.array(p) <= level).mean())}
            if runs > FEW:
                ks = stats.kstest(p, "uniform")
                yield at | {"method": "KS distance", "rate": float(ks.statistic)}
                yield at | {"method": "KS p", "rate": float(ks.pvalue)}


def power(runs: int, rng: Rng) -> Iterator[Row]:
    """How often a difference is shown, and how often `run_power` says so from the true variances."""
    for design in ("Beta(.5,.5)", "Beta(2,1)"):
        p, q = chances(np.random.default_rng(99), SHAPES[design], MANY)
        task, trial = float((q - p).var()), float((p * (1 - p) + q * (1 - q)).mean())
        for n in (20, 50, 100, 200, 400):
            for t in (1, 4):
                wanted = run_power(true_difference(design), n, t, task=task, trial=trial)

                def one(design: str = design, n: int = n, t: int = t) -> dict[str, bool]:
                    a, b, *_ = binary(rng, design, n, t)
                    return {"shown": not holds(fast(a, b).interval, 0.0)}

                yield from rated("power", design, n, t, runs, one)
                at = {"part": "power", "design": design, "tasks": n, "trials": t}
                yield at | {"method": "run_power", "rate": wanted, "runs": MANY}


def components(runs: int, rng: Rng) -> Iterator[Row]:
    """Intervals of the variance components: normal scores of tasks, trials and draws, and passes of tasks."""
    for n in TASKS:
        for t, r in ((2, 2), (4, 1), (4, 3)):

            def normal(n: int = n, t: int = t, r: int = r) -> dict[str, Any]:
                x = rng.normal(size=(n, 1, 1)) + 0.7 * rng.normal(size=(n, t, 1)) + 0.5 * rng.normal(size=(n, t, r))
                got = nested_components(x)
                lowest = {"draw": 0.25, "trial": 0.49} if r > 1 else {"trial": 0.74}
                return {name: _held(got, name, value) for name, value in ({"task": 1.0} | lowest).items()}

            yield from rated("components", f"normal, {r} draws", n, t, runs, normal)
        for design, shape in SHAPES.items():
            a, b = shape
            variance, within = stats.beta(a, b).var(), a * b / ((a + b) * (a + b + 1))

            def passes(n: int = n, a: float = a, b: float = b, v: float = variance, w: float = within) -> Row:
                got = nested_components((rng.random((n, 4)) < rng.beta(a, b, (n, 1))).astype(float))
                return {"task": _held(got, "task", v), "trial": _held(got, "trial", w)}

            yield from rated("components", design, n, 4, runs, passes)


def _held(got: Any, name: str, value: float) -> bool | None:
    """None where there is no interval, of a component that is 0."""
    ends = getattr(got, f"{name}_interval")
    return None if np.isnan(ends.low) else holds(ends, value)


PARTS = {
    "coverage": coverage, "clustered": clustered, "pass^k": hat_differences, "p-values": p_values, "power": power,
    "components": components,
}  # fmt: skip


if __name__ == "__main__":
    every = dict.fromkeys(PARTS, RUNS)
    sys.exit(study(FOLDER, __doc__, PARTS, KEY, runs=every, few=FEW, compared=lambda f: f[f["method"] != "run_power"]))
