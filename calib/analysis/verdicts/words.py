"""Verdicts in words: what may be claimed of a judge that says pass or fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from calib.analysis.verdicts.confusion import Figure
from calib.analysis.verdicts.pass_fail import PassFail
from calib.core.result import bracket, short
from calib.tables.results import Results
from calib.tables.text import each_once, number_span

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "tpr": "TPR (sensitivity)", "tnr": "TNR (specificity)", "precision": "precision", "npv": "NPV",
    "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "f1": "F1", "mcc": "MCC",
    "kappa": "Cohen's kappa", "ac1": "Gwet's AC1", "ac2": "Gwet's AC2",
    "auc": "area below ROC",
    "judge_rate": "judge's pass rate", "people_rate": "people's pass rate",
    "corrected": "pass rate (Rogan-Gladen)", "ppi": "pass rate (PPI)",
    "macro_recall": "macro recall", "macro_precision": "macro precision", "macro_f1": "macro F1", "recall": "recall",
}  # fmt: skip


def pass_sentences(labels: Sequence[Mapping[str, object]], results: Sequence[PassFail]) -> list[str]:
    """For each judge how often it is right about pass and about fail, and the pass rate that may be reported."""
    return each_once(labels, results, lambda one: [" ".join(filter(None, _told_of(one)))])


def _told_of(one: PassFail) -> list[str]:
    level = one.confidence_level
    said = [
        f"Of what people pass the judge passes {_in_full(one.tpr, level)}; of what they fail it fails "
        f"{_in_full(one.tnr, level)} (from {one.n_labelled} labels, {one.tp + one.fn} of them pass).",
        f"The cut at {short(one.cut)} was chosen by the labels; each figure is of cuts that had not seen the item."
        if one.chosen
        else "",
    ]
    return [*said, *_of_the_rate(one)]


def _of_the_rate(one: PassFail) -> list[str]:
    level, judge = (
        one.confidence_level,
        f"The judge itself passes {one.judge_rate.estimate:.3g}, which is no estimate of it.",
    )
    if one.n_production:
        told = f"Of the {one.n_production} production items people would pass {_in_full(one.corrected, level)}"
        return [f"{told}, if the judge errs there as often on what passes and on what fails as in the test set.", judge]
    if not math.isnan(one.ppi.estimate):
        told = f"Of all {one.n} items people would pass {_in_full(one.ppi, level)}"
        return [f"{told}, as the labelled items are a random part of them (if they are not: {_other(one)}).", judge]
    if one.n_labelled == one.n:
        return [f"All items have a label: people pass {_in_full(one.people_rate, level)}."]
    return [f"Of all {one.n} items people would pass {_other(one)}.", judge]


def _other(one: PassFail) -> str:
    told = _in_full(one.corrected, one.confidence_level)
    return f"{told} by Rogan-Gladen, if the judge errs as often elsewhere on what passes and on what fails"


def _in_full(figure: Figure, level: float) -> str:
    return f"{short(figure.estimate)} ({bracket(figure.interval, level)})"


def pass_notes(results: Results[PassFail]) -> list[str]:
    """What must not be claimed."""
    skewed = any(min(one.tp + one.fn, one.tn + one.fp) < 0.1 * one.n_labelled for one in results)
    said = [
        "Accuracy, precision and NPV hold for items of which as many pass as of the labelled ones; TPR and TNR do not "
        "depend on that."
    ]
    paradox = (
        "Nearly all labels are one: kappa is then near 0 however often both agree; AC1 is not, and neither is TNR."
    )
    return [*said, *[paradox] * skewed]


def pass_fact(results: Results[PassFail]) -> str:
    """TPR and TNR of one judge, their ranges of several."""
    if len(results) == 1:
        return f"TPR {short(results[0].tpr.estimate)}, TNR {short(results[0].tnr.estimate)}"
    spans = {name: [getattr(one, name).estimate for one in results] for name in ("tpr", "tnr")}
    return ", ".join(f"{name.upper()} {number_span(v)}" for name, v in spans.items())


def figures_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Figures by the names that readers know."""
    return frame.assign(figure=frame["figure"].map(lambda name: NAMES.get(name, name))) if "figure" in frame else frame
