"""A judge that says pass or fail: rates, kappa, AC1, the pass rate by three ways and by other programs, ROC, cuts."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from class_report import class_report
from covered import Row, rows
from fleiss_kappa import fleiss_kappa
from numpy.typing import NDArray
from scipy import special

from calib.stats import gwet_ac, pass_fail, roc

Floats = NDArray[np.float64]
DESIGNS = ((30, 0.9, 0.9, 0.8), (60, 0.95, 0.9, 0.9), (100, 0.9, 0.8, 0.8), (100, 0.98, 0.95, 0.95))
MORE = ((30, 0.7, 0.7, 0.5), (300, 0.9, 0.8, 0.5))
GROUPS = ((60, 20), (100, 20), (300, 20), (300, 60))
FIGURES = ("tpr", "tnr", "precision", "npv", "accuracy", "balanced_accuracy", "f1", "mcc", "kappa", "ac1")
UNLABELLED = 1000


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A row for each figure, design and program."""
    for design in (*DESIGNS, *MORE):
        yield from _alone(*design, runs, rng, peers=design in DESIGNS)
    for n, groups in GROUPS:
        yield from _grouped(n, groups, runs, rng)
    for n in (30, 100, 300):
        yield from _production(n, runs, rng)
        yield from _curve(n, runs, rng)
        yield from _labels(n, runs, rng)
    for n in (60, 100, 300):
        yield from _chosen_cut(n, runs, rng)


def truth_of(share: float, tpr: float, tnr: float) -> dict[str, float]:
    """Figures of a table as large as one likes."""
    cells = np.array([share * tpr, (1 - share) * (1 - tnr), share * (1 - tpr), (1 - share) * tnr])
    pairs = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], np.round(1e5 * cells).astype(int), axis=0)
    found = pass_fail(pairs[:, 0], pairs[:, 1])
    return {name: getattr(found, name).estimate for name in FIGURES} | {"pass rate": share}


def drawn(rng: np.random.Generator, n: int, tpr: Any, tnr: Any, share: Any) -> tuple[Floats, Floats]:
    """Verdicts of a judge and of people."""
    yes = rng.random(n) < share
    return np.where(yes, rng.random(n) < tpr, rng.random(n) > tnr).astype(float), yes.astype(float)


def _alone(
    n: int, tpr: float, tnr: float, share: float, runs: int, rng: np.random.Generator, *, peers: bool
) -> Iterator[Row]:
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {(name, "calib"): [] for name in FIGURES}
    programs = {"calib, PPI": None, "calib, Rogan-Gladen": None, "people alone": None} | (_peers() if peers else {})
    ends |= {("pass rate", name): [] for name in programs}
    seconds = dict.fromkeys(programs, 0.0)
    for _ in range(runs):
        judge, people = drawn(rng, n + UNLABELLED, tpr, tnr, share)
        people[n:] = np.nan
        start = time.process_time()
        try:
            found = pass_fail(judge, people)
        except ValueError:  # people pass all
            continue
        seconds["calib, PPI"] += time.process_time() - start
        for name in FIGURES:
            ends[name, "calib"].append(tuple(getattr(found, name).interval))
        for name, figure in zip(programs, (found.ppi, found.corrected, found.label_rate), strict=False):
            ends["pass rate", name].append(tuple(figure.interval))
        for name, call in programs.items():
            if call is not None:
                start = time.process_time()
                ends["pass rate", name].append(call(judge, people, n))
                seconds[name] += time.process_time() - start
    design = f"TPR {tpr:g}, TNR {tnr:g}, {share:g} pass, {UNLABELLED} more without a label"
    for row in rows({"design": design, "n": n}, ends, truth_of(share, tpr, tnr)):
        spent = seconds.get(row["estimator"], 0.0) if row["quantity"] == "pass rate" else 0.0
        yield row | ({"cpu_ms": 1000 * spent / runs} if spent else {})


def _peers() -> dict[str, Callable[[Floats, Floats, int], tuple[float, float]]]:
    """Other programs where they are installed; a program that raises has no interval that holds."""
    return {name: call for name, call in (("judgy", _judgy), ("truescore", _truescore)) if find_spec(name)}


def _judgy(judge: Floats, people: Floats, n: int) -> tuple[float, float]:
    with contextlib.suppress(Exception):
        whole = [side.astype(int) for side in (people[:n], judge[:n], judge[n:])]
        return tuple(import_module("judgy").estimate_success_rate(*whole)[1:])
    return math.inf, -math.inf


def _truescore(judge: Floats, people: Floats, n: int) -> tuple[float, float]:
    with contextlib.suppress(Exception):
        found = import_module("truescore").rogan_gladen_estimate(judge, people[:n], np.arange(n))
        return found.low, found.high
    return math.inf, -math.inf


def _grouped(n: int, groups: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Groups differ in their share, TPR and TNR (Beta with an intraclass correlation of .1)."""
    means = {"share": 0.6, "tpr": 0.9, "tnr": 0.8}
    group = np.arange(n) % groups
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {
        (name, kind): [] for name in FIGURES for kind in ("calib", "as if items were independent")
    }
    for _ in range(runs):
        share, tpr, tnr = (rng.beta(9 * p, 9 * (1 - p), groups)[group] for p in means.values())
        judge, people = drawn(rng, n, tpr, tnr, share)
        try:
            found = pass_fail(judge, people, groups=group), pass_fail(judge, people)
        except ValueError:
            continue
        for (name, kind), kept in ends.items():
            kept.append(tuple(getattr(found[kind != "calib"], name).interval))
    yield from rows({"design": f"{groups} groups", "n": n}, ends, truth_of(0.6, 0.9, 0.8))


def _production(n: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Half of the test set passes, a tenth of production."""
    kinds = ("calib, error rates of the test set", "judge's own rate")
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {("pass rate", kind): [] for kind in kinds}
    for _ in range(runs):
        judge, people = drawn(rng, n, 0.9, 0.85, 0.5)
        if 0 < people.sum() < n:
            found = pass_fail(judge, people, production=drawn(rng, 5000, 0.9, 0.85, 0.1)[0])
            ends["pass rate", kinds[0]].append(tuple(found.corrected.interval))
            ends["pass rate", kinds[1]].append(tuple(found.judge_rate.interval))
    yield from rows({"design": "test set half and half, production .1", "n": n}, ends, {"pass rate": 0.1})


def _curve(n: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Normal scores, one standard deviation apart; groups in which scores go together."""
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {("area below ROC", "calib"): []}
    ends |= {("area below ROC", "calib, groups of ten"): []}
    group = np.arange(n) // 10
    for _ in range(runs):
        people = (rng.random(n) < 0.6).astype(float)
        if not 0 < people.sum() < n:
            continue
        scores = people + rng.normal(size=n)
        ends["area below ROC", "calib"].append(tuple(roc(scores, people).auc.interval))
        both = people + math.sqrt(0.7) * rng.normal(size=n) + math.sqrt(0.3) * rng.normal(size=group[-1] + 1)[group]
        found = roc(both, people, groups=group).auc.interval
        ends["area below ROC", "calib, groups of ten"].append(tuple(found) if n >= 100 else (math.nan, math.nan))
    ends = {key: kept for key, kept in ends.items() if not all(math.isnan(low) for low, _ in kept)}
    yield from rows({"design": "one sd apart", "n": n}, ends, {"area below ROC": float(special.ndtr(1 / math.sqrt(2)))})


def _chosen_cut(n: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Normal scores, 1.5 standard deviations apart: what holds at the cut that the labels chose."""
    names = ("tpr", "tnr", "accuracy", "corrected", "ppi")
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {(f"{name}, chosen cut", "calib"): [] for name in names}
    for _ in range(runs):
        people = (rng.random(n + 500) < 0.6).astype(float)
        scores = 1.5 * people + rng.normal(size=n + 500)
        people[n:] = np.nan
        found = pass_fail(scores, people)
        tpr, tnr = 1 - special.ndtr(found.judge_threshold - 1.5), special.ndtr(found.judge_threshold)
        true = {"tpr": tpr, "tnr": tnr, "accuracy": 0.6 * tpr + 0.4 * tnr, "corrected": 0.6, "ppi": 0.6}
        for name, kept in zip(names, ends.values(), strict=True):
            low, high = getattr(found, name).interval
            kept.append((low - true[name], high - true[name]))  # each cut has rates of its own
    truth = {f"{name}, chosen cut": 0.0 for name in names}
    yield from rows({"design": "1.5 sd apart, 500 more without a label", "n": n}, ends, truth)


def _labels(n: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Four labels, most of them the highest, and three raters who err one time in five."""
    shares = np.array([0.1, 0.1, 0.2, 0.6])

    def panel(size: int, raters: int, seed: np.random.Generator) -> Floats:
        label, other = seed.choice(4, (size, 1), p=shares), seed.choice(4, (size, raters), p=shares)
        return np.where(seed.random((size, raters)) < 0.8, label, other).astype(float)

    large, names = panel(300_000, 3, np.random.default_rng(1)), ("accuracy", "macro_f1", "kappa", "ac1")
    truth = {"AC1 of three": gwet_ac(large).estimate, "Fleiss' kappa of three": fleiss_kappa(large).estimate}
    pair = class_report(large[:, 0], large[:, 1])
    truth |= {f"{name} of four labels": getattr(pair, name).estimate for name in names}
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {(name, "calib"): [] for name in truth}
    for _ in range(runs):
        said = panel(n, 3, rng)
        found = {"AC1 of three": gwet_ac(said).interval, "Fleiss' kappa of three": fleiss_kappa(said).interval}
        two = class_report(said[:, 0], said[:, 1])
        found |= {f"{name} of four labels": getattr(two, name).interval for name in names}
        for name, interval in found.items():
            ends[name, "calib"].append(tuple(interval))
    yield from rows({"design": "four labels, skewed", "n": n}, ends, truth)
