"""Calibration in words: sentences, heads, parts of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration.calibration_map import CalibrationMap
from calib.core.result import Interval, bracket, short
from calib.tables.results import Results, words
from calib.tables.text import each_once, told_apart, visible

if TYPE_CHECKING:
    from calib.analysis.calibration.forecast_quality import ForecastQuality
    from calib.analysis.calibration.reliability_band import Curve
    from calib.tables.results import Results


# --- the map --------------------------------------------------------------------------------------------------------


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


# --- the quality of forecasts ---------------------------------------------------------------------------------------


def forecast_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[ForecastQuality]) -> list[str]:
    """For each what it brings beyond no judge, whether its chances are right, and what recalibration would bring."""
    return each_once(labels, results, lambda result: [" ".join(filter(None, _told_of(result)))])


def _told_of(result: ForecastQuality) -> list[str]:
    what = "The judge's number as a forecast" if result.kind == "number" else "The forecast"
    ends = bracket(result.interval, result.confidence_level)
    return [f"{what} of what people say {beside_no_judge(result)}: skill {short(result.skill)}, {ends}.",
            _recalibrated(result), _calibrated(result), _log(result)]  # fmt: skip


def beside_no_judge(result: ForecastQuality) -> str:
    """Better or worse than the shares of other labels, the same for every item."""
    low, high = result.interval
    if math.isnan(low):
        return "cannot be compared with no judge from a single group of labels"
    if low > 0:
        return "is better than no judge (the labels' shares)"
    return "is worse than no judge (the labels' shares)" if high < 0 else "is not told apart from no judge"


def _recalibrated(result: ForecastQuality) -> str:
    """What is in the forecasts, if their chances are put right."""
    parts = result.crossfitted
    if not parts.unc > 0 or math.isnan(parts.mcb):
        return ""
    if parts.mcb <= 0:
        return "Recalibrated on other groups' labels it would be no better."
    return f"Recalibrated on other groups' labels it would have a skill of {short(parts.dsc / parts.unc)}."


def _calibrated(result: ForecastQuality) -> str:
    if result.kind == "number":
        return "A number speaks of no chance: calibrate it to have some."
    if math.isnan(result.p_value):
        return ""
    fits = "do not fit" if result.p_value <= 1 - result.confidence_level else "fit"
    ends = f"{short(result.mcb_null.low)} to {short(result.mcb_null.high)}"
    return (
        f"Its chances {fits} the labels: miscalibration {short(result.corp.mcb)}, of calibrated forecasts {ends} "
        f"(p = {result.p_value:.2g}; calibration error {result.ece:.2g}, of calibrated ones {result.ece_null:.2g})."
    )


def _log(result: ForecastQuality) -> str:
    if not result.n_impossible or result.kind == "number":
        return ""
    made = "the log score is infinite" if math.isinf(result.log_score) else f"a floor of {result.floor:g} hides it"
    return f"{result.n_impossible} of {result.n} labels had no chance at all: {made}."


def forecast_fact(results: Results[ForecastQuality]) -> str:
    """The skill, or the lowest and the highest of several."""
    if len(results) == 1:
        return f"it {beside_no_judge(results[0])}, skill {results[0].skill:.2f}"
    order = sorted(range(len(results)), key=lambda i: results[i].skill)
    names = told_apart(results.labels)
    ends = " to ".join(f"{results[i].skill:.2f} ({visible(names[i], 30)})" for i in (order[0], order[-1]))
    return f"skill from {ends}"


def curve_fact(result: ForecastQuality, curve: Curve) -> str:
    """Where what came is farthest from what was forecast, and how much of the labels lies out of the band."""
    mean = math.isnan(curve.above)
    gap = (curve.observed - curve.forecast) * curve.share**0.5
    far = max(range(len(gap)), key=lambda i: abs(gap[i]))
    told = (curve.forecast[far], curve.observed[far])
    said, came = (f"{value:.2f}" if mean else f"{value:.0%}".replace("%", " %") for value in told)
    what = f"where {said} is forecast people give {came}" if mean else f"where {said} is forecast {came} came"
    if math.isnan(curve.low[0]):
        return what
    out = float(curve.share[(curve.observed < curve.low) | (curve.observed > curve.high)].sum())
    return f"{what}; {f'{100 * out:.0f} % of the labels' if out else 'nothing'} lies out of the band"


def pit_fact(result: ForecastQuality) -> str:
    """Which way the labels lie in their forecasts."""
    pit = result.pit
    low, high, ends = pit[:3].sum(), pit[-3:].sum(), (pit[0] + pit[-1]) / 2
    if max(abs(low - 0.3), abs(high - 0.3), abs(ends - 0.1)) < 0.05:
        return "labels lie evenly in their forecasts"
    if low - high > 0.1:
        return f"the forecasts are too high: {low:.0%} of the labels lie in their lowest 30 %".replace("%", " %", 1)
    if high - low > 0.1:
        return f"the forecasts are too low: {high:.0%} of the labels lie in their highest 30 %".replace("%", " %", 1)
    return "the forecasts are too sure" if ends > 0.1 else "the forecasts are not sure enough"


# --- sets -----------------------------------------------------------------------------------------------------------


# --- escalation -----------------------------------------------------------------------------------------------------
