"""G8, G9: what length and the system do to judges of SummEval, by three estimators; and the simulation of these."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
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


def _effects(row: str, table: str, found: Instrumented) -> Iterator[tuple[str, str, str, float]]:
    effects = {
        "people": found.labels_alone,
        "judge": found.judge_alone,
        "difference": found.judge_less_labels,
        "control": found.control,
    }
    for name, one in (effects | {"instrument": found, "instrument, annotators centred": found.centred}).items():
        yield table, row, name, one.estimate
        yield table, row, f"{name} z", one.z
        yield table, row, f"{name} low", one.interval.low
        yield table, row, f"{name} high", one.interval.high
    yield table, row, "slope", found.slope
    yield table, row, "first-stage F", found.first_stage_f


def _length() -> Iterator[tuple[str, str, str, float]]:
    items, judges, people = _tables()
    results = calib.bias(judges[judges["rater"].isin(JUDGES)], people, ["length"], items=items)
    for label, found in zip(results.labels, results, strict=True):
        yield from _effects(f"{label['rater']} {label['criterion']}", "G8", found)


def _systems() -> Iterator[tuple[str, str, str, float]]:
    _, judges, people = _tables()
    results = calib.bias(judges[judges["rater"] == "gpt-4o"], people, ["system"])
    for criterion in ("coherence", "relevance"):
        some = results.select(criterion=criterion)
        for label, found in zip(some.labels, some, strict=True):
            yield from _effects(f"{criterion} {label['level']}", "G9", found)
        z = np.array([[one.judge_less_labels.z, one.control.z, one.z] for one in some])
        p = 2 * special.ndtr(-np.abs(z)).T
        for name, row in zip(("difference", "control", "instrument"), p, strict=True):
            yield (
                "G9",
                criterion,
                f"{name}: Holm-significant of 16",
                float((adjusted_p_values(row, "holm") <= 0.05).sum()),
            )


def _simulated() -> Iterator[tuple[str, str, str, float]]:
    """600 items in 60 groups, annotators of reliability .61, slope .6; x goes with quality (.3) and does nothing."""
    rng, ends = np.random.default_rng(0), {name: [] for name in ("difference", "control", "instrument")}
    group = np.arange(600) % 60
    for _ in range(RUNS):
        quality = rng.normal(size=600)
        x = 0.3 * quality + math.sqrt(0.91) * rng.normal(size=600)
        people = quality[:, None] + math.sqrt(1 / 0.61 - 1) * rng.normal(size=(600, 3))
        found = instrumented(0.6 * quality + 0.6 * rng.normal(size=600), people, x, groups=group)
        for name, one in zip(ends, (found.judge_less_labels, found.control, found), strict=True):
            ends[name].append((one.estimate, *one.interval))
    for name, kept in ends.items():
        estimate, low, high = np.array(kept).T
        yield "simulation", name, "mean", float(estimate.mean())
        yield "simulation", name, "sd", float(estimate.std())
        yield "simulation", name, "coverage", float(((low <= 0) & (high >= 0)).mean())
