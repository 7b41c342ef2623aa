"""How sure a judge is of each verdict and how often it errs, as far as that is known before labels are bought."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.core.check import ArgumentError, Floats
from calib.table import TableArgumentError
from calib.tables.door import in_the_names_of
from calib.tables.escalation import Decider, decided, rule_of
from calib.tables.forecasts import chance_columns

Told = tuple[Floats, Floats | None, str]  # confidences, chances of an error, and what says so


def told_by_labels(one: Decider, *, probabilities: bool) -> Told:
    """By labels of some items: a calibrated confidence is a chance itself, of another one a map says what it means."""
    sure, errors = one.said.confidence, one.said.errors
    n = int(np.isfinite(errors).sum())
    told = f"{n} label{'s' * (n != 1)}"
    if probabilities:
        return sure, 1 - sure, "the confidences"
    if one.said.source == "calibrated":
        return sure, 1 - sure, told
    with in_the_names_of(one.judged.label, y="gold", x="confidence"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would speak of labels where this is about errors
        right = stats.calibration_map(sure, 1 - errors, levels=(0.0, 1.0), n_resamples=2)
    return sure, right.predict(sure)[:, 0], told


def told_by_scores(
    rows: pd.DataFrame,
    label: dict[str, Any],
    cut: float | None,
    within: float | None,
    confidence: str | None,
    *,
    probabilities: bool,
) -> Told:
    """By the scores alone: a column, the chances of calibrated scores, or nothing."""
    if confidence is not None:
        return _told_by_column(rows, confidence, probabilities=probabilities)
    if probabilities:
        raise ArgumentError("probabilities", "needs the column of them as {0}", mentions=("confidence",))
    chances = chance_columns(rows)
    if not chances or rows[list(chances)].isna().all(axis=None):
        return np.where(rows["score"].notna(), 1.0, np.nan), None, "nothing"
    levels = np.array(list(chances.values()))
    rule = rule_of(levels, cut, within, label)
    sure = decided(rows[list(chances)].to_numpy(dtype=float), levels, levels, rule.cut, rule.within)[1]
    return np.round(sure, 10), 1 - sure, "the calibrated scores"


def _told_by_column(rows: pd.DataFrame, name: str, *, probabilities: bool) -> Told:
    if name not in rows:
        rule = "must be a column of the scores where there are no labels"
        raise TableArgumentError("confidence", rule, f"got {name!r}")
    sure = pd.to_numeric(rows[name], errors="coerce").to_numpy(dtype=float)
    return sure, 1 - sure if probabilities else None, "the confidences" if probabilities else "nothing"
