"""Slices of a view: for each value of a column the human mean with its interval, as `calib.interval` computes it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pandas as pd

from calib.analysis.means.frames import interval
from calib.core.check import CalibWarning
from calib.view.talks import BEFORE, TALK

MOST = 30  # values of a column that is cut into slices
_LEAST = 10  # labels of a slice with an interval
_APART = ["criterion", "judge", "prompt"]  # of which scores have no mean together, as in slices.js


def slice_columns(rows: pd.DataFrame) -> list[str]:
    """The columns with few values, all short."""
    there = []
    for name in rows:
        cells = rows[name].dropna()
        if name in ("item", *_APART, TALK, BEFORE) or pd.api.types.is_float_dtype(cells.dtype):
            continue
        values = cells.astype(str).unique()
        if 1 < len(values) <= MOST and max(map(len, values)) <= 100:
            there.append(str(name))
    return there


def intervals(
    rows: pd.DataFrame, scores: pd.DataFrame | None, pooled: pd.DataFrame | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The human mean of all and of each slice with ten labels, by criterion, judge, prompt; and why there is none."""
    answers: list[dict[str, Any]] = []
    reasons: list[str] = []
    if scores is None or pooled is None:
        return answers, reasons
    plain = scores.reset_index(drop=True).astype({"item": object})
    apart = rows.reindex(columns=_APART).astype(object).fillna("").astype(str)
    for of, at in apart.groupby(_APART, sort=False).groups.items():
        labels = pooled[pooled["criterion"].astype(str) == of[0]].astype({"item": object})
        labelled = set(labels.loc[labels["score"].notna(), "item"])
        mine, table = plain.loc[at], rows.loc[at]
        for column in ("", *(name for name in slice_columns(rows) if name != "group")):  # one is no sample of groups
            part = mine if not column else mine.assign(_slice=table[column].astype(object))
            counts = part[part["item"].isin(labelled) & part["score"].notna()]  # as `interval` counts labels
            if column:
                enough = counts.groupby("_slice")["item"].nunique()
                part = part[part["_slice"].isin(enough[enough >= _LEAST].index)]
            if not len(part) or counts["item"].nunique() < _LEAST:
                continue
            results, why = _results(part, labels, "_slice" if column else None)
            reasons += [f"{column or 'all items'}: {why}"] * bool(why)
            for label, result in results:
                low, high = result.interval
                if math.isfinite(low) and math.isfinite(high):
                    answers.append({
                        "column": column, "value": str(label["_slice"]) if column else "",
                        **dict(zip(_APART, of, strict=True)), "estimate": float(result.estimate),
                        "low": float(low), "high": float(high), "signature": result.signature,
                    })  # fmt: skip
    return answers, list(dict.fromkeys(reasons))


def _results(scores: pd.DataFrame, labels: pd.DataFrame, by: str | None) -> tuple[list[Any], str]:
    labels = labels[labels["item"].isin(set(scores["item"]))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)  # of slices: `interval` on one of them gives them
        try:
            results = interval(scores, labels, by=by)
        except ValueError as error:
            return [], str(error)
    return list(zip(results.labels, results, strict=True)), ""
