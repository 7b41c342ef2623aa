"""A gate that one may look at after every label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.core.result import Interval
from calib.table import TableError, parse_scale
from calib.tables.gate_build import AskedOfGate, Build, differences_of

_HALVINGS = 30


def mean_at_any_look(build: Build, read: pd.DataFrame, line: float, asked: AskedOfGate) -> dict[str, Any]:
    """The mean with an interval that holds however often one looked."""
    if "design" in read and read["design"].isin(["strata", "active"]).any():
        raise TableError("looks='any' needs labels that were drawn simply, but they were drawn by strata or chances.")
    labelled = read[read["y"].notna()]
    labelled = labelled.loc[labelled["item"].map(build.order).sort_values(kind="stable").index]
    scaled = _on_scale_of_people(build, read["x"].astype(float))
    y, f = labelled["y"].to_numpy(float), scaled[labelled.index].to_numpy(float)
    return _sequence(y, f, scaled.to_numpy(float), build.ends.get("bounds"), line, asked)


def difference_at_any_look(
    build: Build,
    frame: pd.DataFrame,
    inputs: str,
    line: float,
    share: float,
    asked: AskedOfGate,
    ends: Mapping[str, Any],
) -> dict[str, Any]:
    """The difference, of outputs that changed times their share, with such an interval."""
    place = frame["item"].map(build.order)
    last = place.groupby(frame[inputs]).max().sort_values(kind="stable")
    scaled = frame.assign(x=_on_scale_of_people(build, frame["x"].astype(float)))
    rows = scaled.assign(at=frame[inputs].map({group: k for k, group in enumerate(last.index)})).sort_values("at")
    y, f = differences_of(rows, build, inputs)
    both = np.isfinite(y)
    found = _sequence(y[both], f[both], f, ends.get("bounds"), line / share, asked)
    interval = Interval(*(share * end for end in found["interval"]))
    return found | {"interval": interval, "estimate": share * found["estimate"]}


def _on_scale_of_people(build: Build, f: pd.Series) -> pd.Series:
    """A judge with a scale of its own, stretched to people's."""
    if build.ends.get("same_scale") is not False:
        return f
    frame, (low, high) = build.pair.frame, build.ends["bounds"]
    judged = frame.loc[frame["_merge"] != "right_only", "scale"].dropna().astype(str)
    ends = parse_scale(judged.iloc[0]) if len(judged) else None
    bottom, top = (f.min(), f.max()) if ends is None else (ends.low, ends.high)
    return low + (f - bottom) / max(top - bottom, 1e-12) * (high - low)


def _sequence(y: Any, f: Any, pool: Any, bounds: Any, line: float, asked: AskedOfGate) -> dict[str, Any]:
    def at(tail: float) -> stats.ConfidenceSequence:
        return stats.confidence_sequence(y, f, pool, bounds=bounds, confidence_level=1 - 2 * tail)

    found = at(asked.error)
    low, high = -np.log(1e9), np.log(0.5 - 1e-9)
    for _ in range(_HALVINGS if found.estimate[-1] < line else 0):  # the least error at which the line is above
        middle = (low + high) / 2
        below = at(float(np.exp(middle))).high[-1] < line
        low, high = (low, middle) if below else (middle, high)
    p_below = float(np.exp(high)) if found.estimate[-1] < line else 0.5
    ends = Interval(float(found.low[-1]), float(found.high[-1]))
    return {"estimate": float(found.estimate[-1]), "interval": ends, "p_below": p_below}
