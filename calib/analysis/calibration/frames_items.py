"""Tables for readers: the persons of a map, what is known of each item, frames without what few want."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from calib.analysis.calibration.calibration_map import CalibrationMap
from calib.analysis.calibration.conformal import ScoreSets
from calib.analysis.calibration.frames_calibration import CALIBRATED, Calibration
from calib.core.result import short
from calib.stats import Escalation
from calib.table.results import Results
from calib.table.text import Block, told_apart, visible

_IN_FULL = 25  # rows, from which on scores with the same set are one
_KEYS = ("criterion", "prompt", "method", "temperature")


def map_blocks(results: Results[CalibrationMap]) -> list[Block]:
    """Where a map knows persons: what is forecast without the judge, and each person's shift."""
    blocks = []
    for judge, result in zip(told_apart(results.labels), results, strict=True):
        if not result.shifts:
            continue
        name = f" ({visible(judge)})" if judge else ""
        skills = [(one.forecast, one.skill, one.rps, one.log_score) for one in result.forecasters]
        frame = pd.DataFrame(skills, columns=["known", "skill", "RPS", "log score"])
        blocks.append(Block(f"What labels of other texts are forecast by{name}", frame))
        shifts = [(visible(one.annotator), one.shift, one.std_error, one.n) for one in result.shifts]
        frame = pd.DataFrame(shifts, columns=["annotator", "shift", "std. error", "labels"])
        says = ["On the log-odds of a higher label: above 0 she gives higher labels than the average person."]
        blocks.append(Block(f"How each person differs{name}", frame, says))
    return blocks


def what_readers_want(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame without the ends of a second interval, and scores with the same set as one row; `to_frame` has all.

    In an escalation labels may count.
    """
    frame = frame.rename(columns={"n_groups": "n_counting"}) if "accepted_share" in frame else frame
    frame = frame.drop(columns=["rps_low", "rps_high", "form"], errors="ignore")
    if not {"nearest", "n_items"} <= set(frame) or len(frame) <= _IN_FULL:
        return frame
    # scores in order, a row for each run of those that have the same set, at the place of its first
    same = frame.drop(columns=["score", "nearest", "n_items"]).astype(object).fillna("")
    begins = (same != same.shift()).any(axis=1)
    rows = frame.drop(columns="nearest").groupby(begins.cumsum())
    ends = rows["score"].last().rename("score_to")
    runs = rows.first().assign(n_items=rows["n_items"].sum())
    runs.insert(runs.columns.get_loc("score") + 1, "score_to", ends)
    return runs.set_axis(frame.index[begins])


def said_of_items(thing: Any) -> pd.DataFrame | None:
    """What calibrated scores, sets and escalations say of each item; None for other things of a report."""
    if not isinstance(thing, Results):
        calibrated = isinstance(thing, pd.DataFrame) and {"item", "criterion", "rater", "calibration"} <= set(thing)
        return _calibrated_items(thing) if calibrated else None
    if isinstance(thing, Calibration) and thing.scores is not None:
        return _calibrated_items(thing.apply(thing.scores))
    frames = []
    for label, result in zip(thing.labels, thing, strict=True):
        if isinstance(result, Escalation | ScoreSets):
            keys = {name: _text_of(label.get(name, "")) for name in _KEYS}  # by which rows of several are joined
            named = pd.DataFrame({"item": result.items["item"], "judge": str(label.get("rater", "")), **keys})
            columns = _decisions(result.items) if isinstance(result, Escalation) else _sets(result.items)
            frames.append(named.assign(**columns))
    return pd.concat(frames, ignore_index=True) if frames else None


def _calibrated_items(scores: pd.DataFrame) -> pd.DataFrame:
    """The chance of each label, the mean and its interval; those of which least is known first."""
    chances = {name: f"chance of {name[2:]}" for name in scores if name.startswith("p_")}
    about = {name: list(map(_text_of, scores[name])) for name in _KEYS}
    frame = scores[["item", *chances, "score", "sd", "conf_low", "conf_high"]].assign(**about)
    frame = frame.assign(judge=scores["rater"].astype(str).str.removesuffix(CALIBRATED))
    frame = frame.assign(**{"judge's score": scores["judge"]} if "judge" in scores else {})
    return frame.rename(columns={**chances, "score": "mean"}).assign(sort=-scores["sd"])


def _decisions(items: pd.DataFrame) -> dict[str, Any]:
    """Whom each item is for, the judge's score and how sure the verdict is; items for people first."""
    judge = np.where(items["decided_by"] != "", "the judge", "people")
    whom = np.where(items["label"].notna() & (judge == "people"), "people (labelled)", judge)
    first = pd.Series(whom).map({"people": 0.0, "people (labelled)": 1.0, "the judge": 2.0}).to_numpy()
    sort = first + items["confidence"].rank(pct=True).fillna(0.0).to_numpy() / 2
    return {"for": whom, "judge's score": items["score"], "confidence": items["confidence"], "sort": sort}


def _sets(items: pd.DataFrame) -> dict[str, Any]:
    """The labels that people may give each item; the widest sets first."""
    ends = zip(items["low"], items["high"], strict=True)
    sets = [short(low) if low == high else f"{short(low)} to {short(high)}" for low, high in ends]
    return {"judge's score": items["score"], "set": sets, "sort": -items["size"].to_numpy(dtype=float)}


def _text_of(value: Any) -> str:
    """A value of a key; no temperature is an empty text."""
    return "" if str(value) == "nan" else str(value)
