"""G8, G9: what length and the system do to judges of SummEval, by three estimators; and the simulation of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from one_slope import OneSlope, one_slope
from scipy import special

import calib
from calib import datasets
from calib.core.numeric import adjusted_p_values
from calib.stats import Instrumented, instrumented

EXPERTS = ["e0", "e1", "e2"]
JUDGES = ("gpt-4o", "gemini_pro", "mistral-v03")
RUNS = 500


def values() -> pd.DataFrame:
    """All values of this part: table, row, measure, value."""
    rows = [*_length(), *_systems(), *_simulated()]
    return pd.DataFrame(rows, columns=["table", "row", "measure", "value"])


def _tables() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    items, ratings = datasets.load_summeval_judges()
    people = ratings["rater"].isin(EXPERTS)
    return items, calib.summarize(ratings[~people], items), calib.summarize(ratings[people], items)


def _effects(
    row: str, table: str, found: Instrumented, plain: OneSlope, unit: float = 1.0
) -> Iterator[tuple[str, str, str, float]]:
    """By five regressions; `plain` and what is printed are per `unit` of what `found` is of."""
    effects = {
        "people": found.labels_alone,
        "judge": found.judge_alone,
        "difference": found.judge_less_labels,
        "control": found.control,
        "a slope for each annotator": found,
    }
    for name, one in effects.items():
        yield from _effect(table, row, name, one.estimate * unit, one.z, [end * unit for end in one.interval])
    yield from _effect(table, row, "instrument", plain.estimate, plain.z, plain.interval)
    yield table, row, "slope", plain.slope
    yield table, row, "first-stage F", found.first_stage_f


def _effect(
    table: str, row: str, name: str, estimate: float, z: float, interval: Sequence[float]
) -> Iterator[tuple[str, str, str, float]]:
    numbers = {"": estimate, " z": z, " low": interval[0], " high": interval[1]}
    yield from ((table, row, f"{name}{which}", value) for which, value in numbers.items())


def _plain(judges: pd.DataFrame, people: pd.DataFrame, rater: str, criterion: str, x: pd.Series) -> OneSlope:
    mine = judges[(judges["rater"] == rater) & (judges["criterion"] == criterion)].set_index("item")
    labels = people[people["criterion"] == criterion].pivot_table(
        index="item", columns="rater", values="score", observed=True
    )
    of = mine.index
    return one_slope(mine["score"], labels.loc[of, EXPERTS], x.loc[of], mine["group"].astype(str))


def _length() -> Iterator[tuple[str, str, str, float]]:
    items, judges, people = _tables()
    results = calib.bias(judges[judges["rater"].isin(JUDGES)], people, ["length"], items=items)
    doublings = np.log2(items.set_index("item")["output"].str.split().str.len())
    sd = float(doublings.std(ddof=0))  # the reference is per standard deviation
    for label, found in zip(results.labels, results, strict=True):
        rater, criterion = label["rater"], label["criterion"]
        plain = _plain(judges, people, rater, criterion, doublings / sd)
        yield from _effects(f"{rater} {criterion}", "G8", found, plain, sd)


def _systems() -> Iterator[tuple[str, str, str, float]]:
    items, judges, people = _tables()
    results, system = (
        calib.bias(judges[judges["rater"] == "gpt-4o"], people, ["system"]),
        items.set_index("item")["system"],
    )
    for criterion in ("coherence", "relevance"):
        some, z = results.select(criterion=criterion), []
        for label, found in zip(some.labels, some, strict=True):
            plain = _plain(judges, people, "gpt-4o", criterion, (system == label["level"]).astype(float))
            yield from _effects(f"{criterion} {label['level']}", "G9", found, plain)
            z.append([found.judge_less_labels.z, found.control.z, plain.z, found.z])
        p = 2 * special.ndtr(-np.abs(z)).T
        names = ("difference", "control", "instrument", "a slope for each annotator")
        for name, row in zip(names, p, strict=True):
            significant = float((adjusted_p_values(row, "holm") <= 0.05).sum())
            yield "G9", criterion, f"{name}: Holm-significant of 16", significant


def _simulated() -> Iterator[tuple[str, str, str, float]]:
    """600 items in 60 groups, annotators of reliability .61, slope .6; x goes with quality (.3) and does nothing."""
    names = ("difference", "control", "instrument", "a slope for each annotator")
    rng, ends = np.random.default_rng(0), {name: [] for name in names}
    group = np.arange(600) % 60
    for _ in range(RUNS):
        quality = rng.normal(size=600)
        x = 0.3 * quality + math.sqrt(0.91) * rng.normal(size=600)
        people = quality[:, None] + math.sqrt(1 / 0.61 - 1) * rng.normal(size=(600, 3))
        judge = 0.6 * quality + 0.6 * rng.normal(size=600)
        found, plain = instrumented(judge, people, x, groups=group), one_slope(judge, people, x, group)
        for name, one in zip(ends, (found.judge_less_labels, found.control, plain, found), strict=True):
            ends[name].append((one.estimate, *one.interval))
    for name, kept in ends.items():
        estimate, low, high = np.array(kept).T
        yield "simulation", name, "mean", float(estimate.mean())
        yield "simulation", name, "sd", float(estimate.std())
        yield "simulation", name, "coverage", float(((low <= 0) & (high >= 0)).mean())
