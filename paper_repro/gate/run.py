"""How often a gate passes, fails or cannot tell, beside plain thresholds, re-runs and nightly looks, in simulation.

Each row of results.csv is the rate of one outcome in one design. `--check` simulates each again with few data sets,
and fails where one cannot be of the same rate.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from rates import study
from scipy import special
from transported_mean import transported_mean

from calib.stats import confidence_sequence, gate_outcomes, ppi_difference, ppi_mean

FOLDER = Path(__file__).parent
RUNS, FEW = 4000, 100
KEY = ["table", "design", "at", "outcome"]
SIZES = ((40, 20), (100, 40), (200, 100))
GAPS = (-0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4)
ON_SCALE: dict[str, Any] = {  # as the gate has them
    "bounds": (1, 5), "step": 1, "conservative": "gross errors", "confidence_level": 0.9,
}  # fmt: skip
Row = dict[str, Any]


# --- people and judge -------------------------------------------------------------------------------------------


def scores(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """People 1 to 5 (mean 3.7, sd .99), a judge with r = .5 who is .38 too generous; 30 % of it is draw noise."""
    quality = rng.normal(size=shape)
    people = np.clip(np.round(3.76 + 0.88 * quality + 0.58 * rng.normal(size=shape)), 1, 5)
    judge = np.clip(4.14 + _stable(quality, rng) + 0.45 * rng.normal(size=shape), 1, 5)
    return people, judge


def _stable(quality: Any, rng: np.random.Generator) -> Any:
    """What a judge gives an item again and again."""
    return 0.52 * quality + 0.45 * rng.normal(size=quality.shape)


def true_means() -> tuple[float, float]:
    """The population's mean of people and by how much the judge's is above it."""
    people, judge = scores(np.random.default_rng(0), (4_000_000,))
    return float(people.mean()), float(judge.mean() - people.mean())


# --- one line ---------------------------------------------------------------------------------------------------


def lines(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Pass and fail of plain thresholds and of the interval, by how far the true mean lies from the line."""
    truth, bias = true_means()
    for items, labels in SIZES:
        people, judge = scores(rng, (runs, items))
        low, high = np.array([_ends(y[:labels], f, labels) for y, f in zip(people, judge, strict=True)]).T
        shared = {"judge mean": judge.mean(axis=1), "judge mean less its bias": judge.mean(axis=1) - bias,
                  "mean of the labels": people[:, :labels].mean(axis=1)}  # fmt: skip
        for gap in GAPS:
            line, design = truth - gap, f"{items} items, {labels} labels"
            for name, mean in shared.items():
                yield _row("line", f"{design}: {name}", gap, "pass", mean >= line)
            yield _row("line", f"{design}: interval", gap, "pass", low > line)
            yield _row("line", f"{design}: interval", gap, "fail", high < line)


def _ends(y: Any, f: Any, labels: int) -> tuple[float, float]:
    return ppi_mean(y, f[:labels], f[labels:], **ON_SCALE).interval


def margins(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Not worse than a baseline by .2, paired; half of what moves a score is shared by both builds."""
    differences = (-0.5, -0.35, -0.2, -0.1, 0.0, 0.1)
    for items, labels in SIZES[1:]:
        for shift in differences:
            some = runs if shift in (-0.2, 0.0) else max(runs // 4, 2)
            found = np.array([_difference(rng, items, labels, shift) for _ in range(some)])
            design = f"{items} items, {labels} labels"
            yield _row("margin", f"{design}: judge mean not lower", shift, "pass", found[:, 2] >= 0)
            yield _row("margin", f"{design}: judge mean not lower by .2", shift, "pass", found[:, 2] >= -0.2)
            yield _row("margin", f"{design}: interval", shift, "pass", found[:, 0] > -0.2)
            yield _row("margin", f"{design}: interval", shift, "fail", found[:, 1] < -0.2)


def _difference(rng: np.random.Generator, items: int, labels: int, shift: float) -> tuple[float, float, float]:
    """Scores of two builds, not rounded: their difference has sd .98, and correlation .34 with the judge's."""
    moved = np.array([[shift], [0.0]])
    quality = 0.55 * rng.normal(size=items) + 0.69 * rng.normal(size=(2, items))
    people = 3.5 + quality + moved
    judge = 3.9 + 0.4 * quality + moved + 0.76 * rng.normal(size=(2, items))
    y = np.where(np.arange(items) < labels, people, np.nan)
    ends = ppi_difference(y[0], y[1], judge[0], judge[1], confidence_level=0.9).interval
    return (*ends, float(judge[0].mean() - judge[1].mean()))


# --- again and again --------------------------------------------------------------------------------------------


def reruns(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A plain threshold on the same items, judged again: best of k, the mean of three, verdicts that flip."""
    truth, bias = true_means()
    for gap in (-0.1, -0.05, 0.0, 0.1):
        line = truth + bias - gap
        means = np.array([_redrawn(rng, 100, 60) for _ in range(runs)])
        at = f"{100} items"
        yield _row("re-runs", f"{at}: one run", gap, "pass", means[:, 0] >= line)
        for k in (3, 5):
            yield _row("re-runs", f"{at}: best of {k}", gap, "pass", means[:, :k].max(axis=1) >= line)
        yield _row("re-runs", f"{at}: mean of 3", gap, "pass", means[:, :3].mean(axis=1) >= line)
        passes = means >= line
        yield _row("re-runs", f"{at}: flips within 60 nights", gap, "flip", passes.any(axis=1) & ~passes.all(axis=1))


def _redrawn(rng: np.random.Generator, items: int, nights: int) -> Any:
    """Judge means of the same items, with fresh draw noise each night."""
    stable = 4.14 + _stable(rng.normal(size=items), rng)
    return np.clip(stable + 0.45 * rng.normal(size=(nights, items)), 1, 5).mean(axis=1)


def nights(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The interval gate at the line with the same 40 labels and a judge drawn anew each night: one draw of luck."""
    truth, _ = true_means()
    some = max(runs // 10, 5)
    found = np.array([_nightly(rng, truth) for _ in range(some)])
    for name, passes in (("one run", found[:, 0]), ("best of 3", found[:, :3].any(axis=1)),
                         ("ever in 60 nights", found.any(axis=1))):  # fmt: skip
        yield _row("nights", f"100 items, the same 40 labels: {name}", 0.0, "pass", passes)


def _nightly(rng: np.random.Generator, line: float) -> Any:
    quality = rng.normal(size=100)
    people = np.clip(np.round(3.76 + 0.88 * quality + 0.58 * rng.normal(size=100)), 1, 5)
    stable = 4.14 + _stable(quality, rng)
    judged = (np.clip(stable + 0.45 * rng.normal(size=100), 1, 5) for _ in range(60))
    return [_ends(people[:40], f, 40)[0] > line for f in judged]


def looks(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """False fails at the line with fresh labels at every look, and with labels that add up."""
    z = rng.normal(size=(runs * 5, 60))
    fresh, summed = special.ndtr(z), special.ndtr(np.cumsum(z, axis=1) / np.sqrt(np.arange(1, 61)))
    spent = np.array([0.05 * 6 / (np.pi * t) ** 2 for t in range(1, 61)])
    for k in (5, 20, 60):
        yield _row("looks", "fresh labels, 5 % each", k, "fail", (fresh[:, :k] <= 0.05).any(axis=1))
        yield _row("looks", "labels that add up, 5 % each", k, "fail", (summed[:, :k] <= 0.05).any(axis=1))
        yield _row("looks", "fresh labels, error spent", k, "fail", (fresh[:, :k] <= spent[:k]).any(axis=1))
    some = max(runs // 10, 20)
    pool = np.zeros(400) + np.tile([-1e-9, 1e-9], 200)  # a judge that says nothing
    high = np.array([_sequence(rng.normal(size=600), pool) for _ in range(some)])
    for k in (5, 20, 60):
        yield _row("looks", "labels that add up, sequential", k, "fail", (high[:, :k] < 0).any(axis=1))


def _sequence(y: Any, pool: Any) -> Any:
    """Upper ends after every tenth label."""
    found = confidence_sequence(y, np.zeros(len(y)), pool, bounds=None, confidence_level=0.9)
    return found.high[::10]


# --- several checks, other builds -------------------------------------------------------------------------------


def metrics(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Several criteria, all at the line: any false fail with 5 % each and by Holm, and all passing falsely."""
    for n, rho in ((2, 0.0), (2, 0.5), (4, 0.0), (4, 0.5), (8, 0.0), (8, 0.5)):
        z = np.sqrt(rho) * rng.normal(size=(runs, 1)) + np.sqrt(1 - rho) * rng.normal(size=(runs, n))
        found = [gate_outcomes(one - 1.6449, one + 1.6449, special.ndtr(one), threshold=0.0).outcome for one in z]
        design = f"{n} criteria, correlation {rho:g}"
        yield _row("criteria", f"{design}: 5 % each", 0.0, "fail", (special.ndtr(z) <= 0.05).any(axis=1))
        yield _row("criteria", f"{design}: gate", 0.0, "fail", [one == "fail" for one in found])
        yield _row("criteria", f"{design}: gate", 0.0, "pass", [one == "pass" for one in found])


def copies(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Two builds that are one, each judged anew and its people the same: a fail is wrong."""
    fails = []
    for _ in range(max(runs // 10, 20)):
        people, judge = scores(rng, (100,))
        again = np.clip(judge + 0.4 * rng.normal(size=100), 1, 5)
        y = np.where(np.arange(100) < 40, people, np.nan)
        fails.append(ppi_difference(y, y, judge, again, **ON_SCALE).interval.high < -0.2)
    yield _row("copies", "100 items, 40 labels: margin .2", 0.0, "fail", fails)


def transport(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """SummEval, one system left out: 20 labels of each of K others, and how often the interval holds its mean."""
    from calib.datasets import load_summeval_judges
    from calib.table import check_ratings

    _, ratings = load_summeval_judges()
    table = check_ratings(ratings).astype({"item": object, "rater": object, "criterion": object})
    for rater, criterion in (("gpt-4o", "coherence"), ("gpt-4o-mini", "coherence"), ("gpt-4o", "relevance")):
        frame = _people_and_judge(table, rater, criterion)
        for k in (3, 8):
            hits = [_left_out(frame, k, rng) for _ in range(max(runs // 20, 5))]
            yield _row("transport", f"{rater}, {criterion}: {k} labelled systems", 0.95, "holds", hits)


def _people_and_judge(table: pd.DataFrame, rater: str, criterion: str) -> pd.DataFrame:
    rows = table[table["criterion"] == criterion]
    people = rows[rows["method"] == "human"].groupby("item")["score"].mean()
    judged = rows[rows["rater"] == rater]
    judge = judged.groupby("item")["score"].mean()
    frame = pd.DataFrame({"y": people, "f": judge}).dropna()
    return frame.assign(system=[str(item).rpartition("__")[2] for item in frame.index])


def _left_out(frame: pd.DataFrame, k: int, rng: np.random.Generator) -> bool:
    systems = rng.permutation(frame["system"].unique())
    new = frame[frame["system"] == systems[0]]
    biases = []
    for name in systems[1 : k + 1]:
        rows = frame[frame["system"] == name]
        few = rows.iloc[rng.permutation(len(rows))[:20]]
        biases.append(float((few["y"] - few["f"]).mean()))
    ends = transported_mean(new["f"], biases, confidence_level=0.95).interval
    return bool(ends.low <= new["y"].mean() <= ends.high)


# --- all of it --------------------------------------------------------------------------------------------------


def _row(table: str, design: str, at: float, outcome: str, hits: Any) -> Row:
    found = np.asarray(hits, dtype=bool)
    return {"table": table, "design": design, "at": at, "outcome": outcome, "rate": found.mean(), "runs": len(found)}


PARTS = {part.__name__: part for part in (lines, margins, reruns, nights, looks, metrics, copies, transport)}


if __name__ == "__main__":
    runs = dict.fromkeys(PARTS, RUNS)
    sys.exit(study(FOLDER, __doc__, PARTS, KEY, runs=runs, few=FEW))
