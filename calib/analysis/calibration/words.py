"""Calibration in words: sentences, heads, parts of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib.analysis.calibration.calibration_map import CalibrationMap
from calib.core.result import Interval, bracket, short
from calib.tables.results import Results, words

# --- the map ---------------------------------------------------------------------------------------------------------


def map_sentences(labels: Sequence[dict[str, Any]], results: Sequence[CalibrationMap]) -> list[str]:
    """What the most frequent score of each judge means, what its lowest and highest do, and what has to be minded."""
    return [_map_sentence(label, found) for label, found in zip(labels, results, strict=True)]


def _map_sentence(label: dict[str, Any], found: CalibrationMap) -> str:
    shown = found.shown
    often, last = int(np.argmax(shown.n)), len(shown.x) - 1
    about = f"{words({k: v for k, v in label.items() if k != 'against'})}: " if label else ""
    interval = bracket(Interval(shown.low[often], shown.high[often]), found.confidence_level)
    known = f"({interval} of the map)" if interval != "no interval" else "(no interval: one group of labels)"
    ends = [f"{short(shown.x[i])} means {short(shown.mean[i])}" for i in dict.fromkeys((0, last)) if i != often]
    top = found.levels[-2:] if len(found.levels) > 2 else found.levels[-1:]
    share = f"{100 * shown.p[often, -len(top) :].sum():.0f} % of them {' or '.join(map(short, top))}"
    others = "; ".join(["", *ends]) if ends else ""
    beside = " (on average over what else the map reads)" if len(found.slopes) > 1 and not found.own_only else ""
    said = f"a judge score of {short(shown.x[often])}{beside} means: people would say {short(shown.mean[often])}"
    labels = f"from {found.n} labelled items"
    return f"{about}{said} on average {known}, {share}{others}; {labels}."


def map_fact(results: Results[CalibrationMap]) -> str:
    """How far the mean of people goes while the judge goes from one end to the other."""
    spans = [one.shown for one in results]
    told = [
        f"judge {short(s.x[0])} to {short(s.x[-1])}, people on average {short(s.mean[0])} to {short(s.mean[-1])}"
        for s in spans
    ]
    return "; ".join(told)


# --- the quality of forecasts ----------------------------------------------------------------------------------------


# --- sets ------------------------------------------------------------------------------------------------------------


# --- escalation ------------------------------------------------------------------------------------------------------
