"""Bias of the variance components of items, prompts and draws, and coverage of their 95 % intervals.

Each row of results.csv is one design, one component and one interval: how many of the simulated
data sets have an interval that holds the truth, and what the estimates are on average. Designs
that are there already are kept, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from calib.analysis.prompts.crossed import Cells, cells_of_array, moments
from calib.stats import g_study

FOLDER = Path(__file__).parent
Floats = NDArray[np.float64]
CUTS = np.array([1.5, 2.5, 3.5, 4.5])
CENTRE = 3.3  # of the latent scores that are rounded to 1..5


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How scores come about: item + prompt + item x prompt + draw, by their variances.

    `noise_sd` is the standard deviation of the logarithm of the prompts' draw variances;
    `missing` the share of cells without scores, `unread` the share of draws in the others.
    """

    items: int
    prompts: int
    draws: int = 3
    item: float = 1.0
    prompt: float = 0.15
    item_prompt: float = 0.25
    draw: float = 0.5
    heavy: bool = False
    rounded: bool = False
    noise_sd: float = 0.0
    missing: float = 0.0
    unread: float = 0.0

    @property
    def balanced(self) -> bool:
        """Whether every cell has a score."""
        return self.missing == 0

    def facets(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Effects and draw variances of a new set of prompts."""
        noise = np.exp(self.noise_sd * rng.standard_normal(self.prompts) - self.noise_sd**2 / 2)
        return np.sqrt(self.prompt) * self.effects(rng, (self.prompts,)), self.draw * noise

    def effects(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Of variance 1: normal, or Student's t with 5 degrees of freedom."""
        return rng.standard_t(5, shape) * np.sqrt(3 / 5) if self.heavy else rng.standard_normal(shape)

    def scores(self, rng: np.random.Generator, shift: Floats, noise: Floats) -> Floats:
        """One data set, (items, prompts, draws)."""
        shape = self.items, self.prompts
        cells = np.sqrt(self.item) * self.effects(rng, (self.items, 1)) + shift
        cells = cells + np.sqrt(self.item_prompt) * self.effects(rng, shape)
        x = cells[..., None] + np.sqrt(noise)[:, None] * rng.standard_normal((*shape, self.draws))
        if self.rounded:
            x = 1.0 + np.searchsorted(CUTS, CENTRE + x)
        unread = rng.random(x.shape) < self.unread
        unread[..., 0] = False
        return np.where(unread | (rng.random(shape) < self.missing)[..., None], np.nan, x)

    def truth(self, shift: Floats, noise: Floats) -> dict[str, float]:
        """Of all items there could be under these very prompts."""
        if self.rounded:
            found = self._rounded_truth(shift)
        else:
            found = {
                "item": self.item,
                "prompt": float(shift.var(ddof=1)),
                "item_prompt": self.item_prompt,
                "draw": float(noise.mean()),
            }
        if self.draws == 1:
            found["residual"] = found.pop("item_prompt") + found.pop("draw")
        return found

    def _rounded_truth(self, shift: Floats) -> dict[str, float]:
        """By quadrature: a score is 1 + the number of cuts below the latent one."""
        z, weight = np.polynomial.hermite_e.hermegauss(61)
        weight = weight / weight.sum()
        above = CENTRE + shift[:, None, None] - CUTS  # (prompts, 1, cuts)
        own, all_three = self.item + self.item_prompt, self.item + self.item_prompt + self.draw
        shares = special.ndtr(above[:, 0] / np.sqrt(all_three))  # of scores beyond each cut
        means = shares.sum(axis=1)
        squares = (shares * (2 * np.arange(len(CUTS)) + 1)).sum(axis=1)
        cell = special.ndtr((above + np.sqrt(own) * z[:, None]) / np.sqrt(self.draw)).sum(axis=2)
        of_item = special.ndtr((above + np.sqrt(self.item) * z[:, None]) / np.sqrt(all_three - self.item)).sum(axis=2)
        off = of_item - means[:, None]
        together = (off * weight) @ off.T
        pairs = len(shift) * (len(shift) - 1)
        shared = float((together.sum() - np.trace(together)) / pairs)
        within = float(np.mean(cell**2 @ weight - means**2))
        return {
            "item": shared,
            "prompt": float(means.var(ddof=1)),
            "item_prompt": within - shared,
            "draw": float(np.mean(squares - cell**2 @ weight)),
        }


_UNBALANCED = {"missing": 0.15, "unread": 0.25}
DESIGNS = (
    {f"normal {n} x {p} x 3": Design(items=n, prompts=p) for p in (3, 5, 10) for n in (30, 100, 300)}
    | {f"normal 100 x {p} x {k}": Design(items=100, prompts=p, draws=k) for k in (1, 8) for p in (3, 5)}
    | {f"t5 100 x {p} x 3": Design(items=100, prompts=p, heavy=True) for p in (3, 5, 10)}
    | {"t5 300 x 5 x 3": Design(items=300, prompts=5, heavy=True)}
    | {f"1 to 5 100 x {p} x 3": Design(items=100, prompts=p, rounded=True) for p in (3, 5, 10)}
    | {f"noise differs 100 x {p} x 3": Design(items=100, prompts=p, noise_sd=0.5) for p in (3, 5, 10)}
    | {
        "weak prompts 100 x 5 x 3": Design(items=100, prompts=5, prompt=0.005, item_prompt=0.03),
        "weak prompts 30 x 3 x 3": Design(items=30, prompts=3, prompt=0.005, item_prompt=0.03),
        "unequal draws 100 x 5 x 3": Design(items=100, prompts=5, unread=0.3),
        "unequal draws, noise differs 100 x 5 x 3": Design(items=100, prompts=5, unread=0.3, noise_sd=0.5),
    }
    | {
        f"cells missing {n} x {p} x 3": Design(items=n, prompts=p, **_UNBALANCED)
        for n, p in ((30, 3), (30, 5), (30, 10), (60, 5))
    }
    | {
        "cells missing, t5, noise differs 30 x 5 x 3": Design(
            items=30, prompts=5, heavy=True, noise_sd=0.5, **_UNBALANCED
        )
    }
)
INTERVALS = ("interval", "interval_items", "boot-prompts", "boot-items")
OF_ITEMS = ("interval_items", "boot-items")  # they speak of the very prompts
RESAMPLES = 299
KEY = ["design", "component", "interval"]


# --- one data set -----------------------------------------------------------------------------------------------


def components(name: str) -> list[str]:
    """What a design has, in the order of the result."""
    return ["item", "prompt", *(["residual"] if DESIGNS[name].draws == 1 else ["item_prompt", "draw"])]


def simulated(name: str, n: int) -> dict[str, Floats]:
    """Estimates (sets, components), truths under the prompts, and ends of each interval (sets, components, 2).

    Seeds come from the name of the design and the number of the set alone.
    """
    rows = [_one(name, np.random.default_rng([*name.encode(), i])) for i in range(n)]
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def _one(name: str, rng: np.random.Generator) -> dict[str, object]:
    design, names = DESIGNS[name], components(name)
    shift, noise = design.facets(rng)
    x = design.scores(rng, shift, noise)
    study, cells = g_study(x), cells_of_array(x, None)
    truth = design.truth(shift, noise)
    raw = moments(cells) if design.balanced else {part.name: part.estimate for part in study.components}
    out = {
        "estimate": [raw[part] for part in names],
        "truth": [truth[part] for part in names],
        "interval": [part.interval for part in study.components],
        "interval_items": [part.interval_items for part in study.components],
    }
    if design.balanced and design.unread == 0:
        flipped = Cells(*(values.T for values in cells))
        out["boot-items"] = bootstrap(cells, rng, names)
        out["boot-prompts"] = bootstrap(flipped, rng, [{"item": "prompt", "prompt": "item"}.get(c, c) for c in names])
    return out


def bootstrap(cells: Cells, rng: np.random.Generator, names: list[str]) -> Floats:
    """Percentiles of the components over resampled rows, by sums over rows with the times each was drawn."""
    y = cells.means - cells.means.mean()
    n, p = y.shape
    times = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(float)
    columns, rows = times @ y / n, y.mean(axis=1)
    centre = columns.mean(axis=1)
    of_rows = p * (times @ rows**2 - n * centre**2)
    of_columns = n * (np.sum(columns**2, axis=1) - p * centre**2)
    rest = times @ np.sum(y**2, axis=1) - n * p * centre**2 - of_rows - of_columns
    ms_rows, ms_columns, ms = of_rows / (n - 1), of_columns / (p - 1), rest / ((n - 1) * (p - 1))
    free = times @ cells.freedom.sum(axis=1)
    draw = times @ cells.squares.sum(axis=1) / np.where(free, free, 1)
    found = {"item": (ms_rows - ms) / p, "prompt": (ms_columns - ms) / n, "residual": ms, "draw": draw}
    found["item_prompt"] = ms - draw / cells.counts[0, 0]
    return np.quantile([np.maximum(found[c], 0) for c in names], [0.025, 0.975], axis=1).T


# --- one design -------------------------------------------------------------------------------------------------


def population(name: str) -> list[float]:
    """Truth over all items and prompts there could be, in the order of the result."""
    design = DESIGNS[name]
    if design.rounded:  # the quantiles of very many normal prompts
        many = special.ndtri((np.arange(4000) + 0.5) / 4000)
        parts = design.truth(np.sqrt(design.prompt) * many, np.full(4000, design.draw))
    else:
        parts = {"item": design.item, "prompt": design.prompt, "item_prompt": design.item_prompt, "draw": design.draw}
        parts["residual"] = design.item_prompt + design.draw
    return [parts[c] for c in components(name)]


def summary(found: dict[str, Floats], place: int, interval: str, truth: float) -> dict[str, float]:
    """Coverage in % and median width among the intervals that are defined, bias, with Monte Carlo standard errors."""
    estimate, ends = found["estimate"][:, place], found[interval][:, place]
    target = found["truth"][:, place] if interval in OF_ITEMS else np.full(len(estimate), truth)
    defined = np.isfinite(ends).all(axis=1)
    low, high, target = ends[defined, 0], ends[defined, 1], target[defined]
    share = float(np.mean((low <= target) & (target <= high)))
    return {
        "truth": truth,
        "mean": float(estimate.mean()),
        "mean_se": float(estimate.std(ddof=1) / np.sqrt(len(estimate))),
        "mean_clipped": float(np.maximum(estimate, 0).mean()),
        "clipped": 100 * float(np.mean(estimate <= 0)),
        "sets": len(estimate),
        "defined": int(defined.sum()),
        "coverage": 100 * share,
        "coverage_se": 100 * float(np.sqrt(share * (1 - share) / len(target))),
        "too_low": 100 * float(np.mean(high < target)),
        "too_high": 100 * float(np.mean(low > target)),
        "width": float(np.median(high - low)),
    }


def rows_of(name: str, n: int) -> Iterator[dict[str, object]]:
    """All components and intervals of a design, from n data sets."""
    found, truths = simulated(name, n), population(name)
    for place, (component, truth) in enumerate(zip(components(name), truths, strict=True)):
        for interval in INTERVALS:
            if interval in found:
                key = dict(zip(KEY, (name, component, interval), strict=True))
                yield key | summary(found, place, interval, truth)


# --- the whole study --------------------------------------------------------------------------------------------


def study(path: Path, sets: int, reml_sets: int) -> pd.DataFrame:
    """Simulate the designs that are not yet in the file, saving after each."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    have = {row["design"] for row in rows}
    for name in (name for name in DESIGNS if name not in have):
        start = time.process_time()
        rows += rows_of(name, sets if DESIGNS[name].balanced else reml_sets)
        pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
        print(f"{name}: {time.process_time() - start:.1f} s of CPU", flush=True)
    return pd.read_csv(path)


def table(results: pd.DataFrame) -> str:
    """Coverage by design and component, one column each interval."""
    wide = results.pivot_table(index=KEY[:2], columns="interval", values="coverage", sort=False)
    return wide.reindex(columns=list(INTERVALS)).round(1).to_string(na_rep="")


# --- the check --------------------------------------------------------------------------------------------------

CHECKED = {
    "normal 30 x 3 x 3": 500,
    "normal 100 x 5 x 3": 500,
    "t5 100 x 10 x 3": 300,
    "1 to 5 100 x 5 x 3": 300,
    "weak prompts 100 x 5 x 3": 300,
    "cells missing 30 x 3 x 3": 25,
}


def check(path: Path) -> int:
    """Simulate a few designs again with few data sets; 1 if one differs from the file by more than chance."""
    stored = pd.read_csv(path).set_index(KEY)
    misses = 0
    for name, sets in CHECKED.items():
        rows = list(rows_of(name, sets))
        bad = [row for row in rows if not _alike(row, stored.loc[tuple(row[k] for k in KEY)])]
        misses += bool(bad)
        said = "; ".join(f"{row['component']}, {row['interval']}: {row['coverage']:.1f} %" for row in bad)
        print(f"{'MISS' if bad else 'ok  '} {name}, {len(rows)} rows of {sets} data sets {said}")
    print(f"prompt_coverage: {len(CHECKED) - misses} of {len(CHECKED)} designs agree with results.csv.")
    return int(misses > 0)


def _alike(row: dict[str, object], stored: pd.Series) -> bool:
    p = min(stored["coverage"] / 100, 0.99)
    error = 100 * np.sqrt(p * (1 - p) / row["defined"])
    drift = abs(row["mean"] - stored["mean"]) / row["mean_se"]
    return bool(abs(row["coverage"] - stored["coverage"]) <= 4 * error and drift <= 4)


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=int, default=1200, help="data sets of a design with scores in all cells")
    arguments.add_argument("--reml-sets", type=int, default=600, help="data sets of a design with cells missing")
    arguments.add_argument("--fresh", action="store_true", help="forget the rows that are there")
    arguments.add_argument("--check", action="store_true", help="compare a few designs with results.csv; 1 on a miss")
    given = arguments.parse_args()
    path = FOLDER / "results.csv"
    if given.check:
        return check(path)
    if given.fresh:
        path.unlink(missing_ok=True)
    print(table(study(path, given.sets, given.reml_sets)))
    print(f"{time.process_time():.0f} s of CPU.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
