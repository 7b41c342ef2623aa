"""Calibration drawn: the map, reliability of forecasts, sets, what may be accepted at which risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration.words import accept_fact, curve_fact, forecast_fact, map_fact, pit_fact, sets_fact
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.stats import AcceptThreshold, CalibrationMap, Escalation, ForecastQuality, ScoreSets
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import plain_text, title_of, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calib.analysis.calibration.reliability_band import ReliabilityCurve

_ROOM = 0.08


# --- the map --------------------------------------------------------------------------------------------------------


def calibration(result: Results[Any] | CalibrationMap, *, ax: Axes | None = None) -> Axes:
    """What people say on average at each score of a judge: the map with the interval of it, and the labels.

    The area of a dot is the number of labels of that value at that score. Where the map reads more than the judge's
    own score, its line is the average over what else it read.

    Parameters
    ----------
    result : Results or CalibrationMap
        One map, such as ``calibration["fluency"]``.

    Examples
    --------
    >>> from calib.stats import calibration_map
    >>> ax = calibration(calibration_map([1, 2, 3, 4] * 5, [1, 3, 2, 4, 2] * 4, levels=[1, 2, 3, 4]))
    >>> ax.get_ylabel()
    "people's label"
    """
    label, found = figure.single_pair(result, CalibrationMap)
    drawn, colour = figure.axes_of(ax), figure.COLOURS[0]
    at, low, mean, high = _map_line(found)
    _label_dots(drawn, found)
    if not np.isnan(low).any():
        drawn.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0, zorder=2)
    drawn.plot(at, mean, color=colour, zorder=3)
    drawn.set_xlabel("judge's score")
    drawn.set_ylabel("people's label")
    if len(found.levels) <= 11:
        drawn.set_yticks(found.levels)
    margin = 0.06 * np.ptp(found.levels)
    drawn.set_ylim(found.levels[0] - margin, found.levels[-1] + margin)
    if len(scores := np.unique(found.x[:, 0])) <= _MOST_SHADES and len(found.x[0]) == 1:
        drawn.set_xticks(scores, list(map(short, scores)))
    handles = [
        figure.handle(f"mean of people, {100 * found.confidence_level:g} % band of the map", color=colour),
        figure.handle(f"labels (area: how many; {short(found.n)} items)", color=figure.GREY, marker="o", linestyle=""),
    ]
    figure.legend_above(drawn, handles, title_of([label], []), map_fact(Results.of([(label, found)])))
    return drawn


def _map_line(found: CalibrationMap) -> tuple[Floats, Floats, Floats, Floats]:
    """Scores of the judge, and at each the ends of the band around the mean of people."""
    if len(found.slopes) > 1 and not found.own_only:
        shown = found.shown
        return shown.x, shown.low, shown.mean, shown.high
    at = np.zeros((101, len(found.slopes)))
    at[:, 0] = np.linspace(found.x[:, 0].min(), found.x[:, 0].max(), 101)
    mean = found.predict(at) @ found.levels
    low, high = found.band(at, mean)
    return at[:, 0], np.asarray(low), mean, np.asarray(high)


def _label_dots(ax: Axes, found: CalibrationMap) -> None:
    """One dot for each score and label that came together."""
    row, place = np.nonzero(found.counts)
    at, where = np.unique(np.c_[found.x[row, 0], found.levels[place]], axis=0, return_inverse=True)
    n = np.bincount(where.ravel(), found.counts[row, place])
    ax.scatter(at[:, 0], at[:, 1], s=4 + 250 * n / n.max(), color=figure.GREY, alpha=0.45, linewidths=0, zorder=1)


# --- the quality of forecasts ---------------------------------------------------------------------------------------

_CURVES = 7  # curves in one picture
_MARKED = 12  # forecasts that are marked one by one


def corp(results: Results[Any] | ForecastQuality, *, above: float | None = None, ax: Axes | None = None) -> Axes:
    """What people said beside what was forecast: the reliability diagram of CORP, which has no bins.

    The line is the isotonic regression of the labels on the forecasts; the band is where it lies in most draws (the
    confidence level, place by place) if the forecasts are calibrated. Of several results there is a line each, without
    bands.

    Parameters
    ----------
    above : float, optional
        Draw the chance of a label above this level. Default: of two levels that chance, else the mean label.

    Raises
    ------
    ValueError
        If there is no such level, or there are more than seven results.

    Examples
    --------
    >>> from calib.stats import forecast_quality
    >>> ax = corp(forecast_quality([0.1, 0.4, 0.4, 0.8] * 20, [0, 0, 1, 1] * 20))
    >>> ax.get_xlabel()
    'chance of a label above 0, as forecast   (n = 80 labels)'
    """
    pairs = figure.checked_pairs([results], ForecastQuality)
    curves = [_curve_of(result, above) for _, result in pairs]
    if len(pairs) > _CURVES:
        raise ArgumentError("results", f"must hold {_CURVES} results at most to be drawn as lines", f"has {len(pairs)}")
    drawn = figure.axes_of(ax)
    names = told_apart([label for label, _ in pairs])
    for place, (curve, name) in enumerate(zip(curves, names, strict=True)):
        _draw_curve(drawn, curve, figure.COLOURS[place], plain_text(name) if len(pairs) > 1 else "")
    _draw_diagonal(drawn, pairs[0][1], curves[0])
    _name_axes(drawn, pairs[0][1], curves[0], len(pairs))
    fact = curve_fact(pairs[0][1], curves[0]) if len(pairs) == 1 else forecast_fact(Results.of(pairs))
    if len(pairs) > 1:
        drawn.legend(frameon=False, fontsize="small")
    figure.say_title(drawn, title_of([label for label, _ in pairs], []), fact)
    figure.plain_frame(drawn)
    return drawn


def _curve_of(result: ForecastQuality, above: float | None) -> ReliabilityCurve:
    """The curve that is asked for."""
    if above is None:
        return result.curves[0 if len(result.levels) == 2 else -1]
    for curve in result.curves:
        if curve.above == above:
            return curve
    there = ", ".join(map(short, result.levels[:-1]))
    raise ArgumentError("above", f"must be a level of the labels but the last ({there})", f"got {above!r}")


def _draw_curve(ax: Axes, curve: ReliabilityCurve, colour: str, name: str) -> None:
    if not name and not math.isnan(curve.low[0]):
        ax.fill_between(curve.forecast, curve.low, curve.high, color=figure.GREY, alpha=0.25, linewidth=0, zorder=0,
                        label="calibrated forecasts")  # fmt: skip
        ax.legend(frameon=False, fontsize="small", loc="upper left")
    ax.plot(curve.forecast, curve.observed, color=colour, linewidth=1.6, zorder=2, label=name)
    if len(curve.forecast) <= _MARKED:
        ax.scatter(curve.forecast, curve.observed, 12 + 250 * curve.share, color=colour, alpha=0.8, zorder=3)
    else:
        ax.plot(curve.forecast, np.full(len(curve.forecast), ax.get_ylim()[0]), "|", color=colour, alpha=0.5)


def _draw_diagonal(ax: Axes, result: ForecastQuality, curve: ReliabilityCurve) -> None:
    """Where what comes is what was forecast; a number forecasts no chance."""
    mean = math.isnan(curve.above)
    if mean or result.kind == "distribution":
        ends = [result.levels[0], result.levels[-1]] if mean else [0.0, 1.0]
        ax.plot(ends, ends, color=figure.GREY, linestyle="--", linewidth=1, zorder=1)


def _name_axes(ax: Axes, result: ForecastQuality, curve: ReliabilityCurve, n_results: int) -> None:
    n = f"   (n = {result.n} labels)" * (n_results == 1)
    if math.isnan(curve.above):
        ax.set_xlabel(f"{'mean label, as forecast' if result.kind == 'distribution' else 'score'}{n}")
        ax.set_ylabel("mean label that came")
        return
    chance = f"chance of a label above {short(curve.above)}, as forecast"
    ax.set_xlabel(f"{chance if result.kind == 'distribution' else 'score'}{n}")
    ax.set_ylabel(f"share of labels above {short(curve.above)}")


def pit(results: Results[Any] | ForecastQuality, *, ax: Axes | None = None) -> Axes:
    """Where people's labels lie in their forecasts: flat, if the forecasts are calibrated.

    Each label is spread evenly over the part of its forecast that is its own (Czado, Gneiting and Held 2009), so
    that a histogram of few levels is flat, too.

    Examples
    --------
    >>> from calib.stats import forecast_quality
    >>> ax = pit(forecast_quality([[0.8, 0.2, 0.0]] * 50, [0, 1, 2, 2, 1] * 10))
    >>> ax.get_ylabel()
    'share of the labels'
    """
    label, result = figure.single_pair(results, ForecastQuality)
    drawn = figure.axes_of(ax)
    drawn.stairs(result.pit, np.linspace(0, 1, len(result.pit) + 1), fill=True, color=figure.COLOURS[0])
    drawn.axhline(1 / len(result.pit), color=figure.GREY, linestyle="--", linewidth=1)
    drawn.set_xlim(0, 1)
    drawn.set_ylabel("share of the labels")
    drawn.set_xlabel(f"place of the label in its forecast   (n = {result.n} labels)")
    figure.say_title(drawn, title_of([label], []), pit_fact(result))
    figure.plain_frame(drawn)
    drawn.grid(axis="x", visible=False)
    return drawn


def forecast_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The reliability diagram, and of a single distribution where labels lie in it."""
    if len(results) <= _CURVES:
        yield partial(corp, results)
    if len(results) == 1 and results[0].kind == "distribution":
        yield partial(pit, results)


# --- sets -----------------------------------------------------------------------------------------------------------


_MOST_SHADES = 11  # sizes of sets that a legend names one by one


def score_sets(results: Results[Any] | ScoreSets, *, ax: Axes | None = None) -> Axes:
    """The labels that people may give, along the judge's score; of several results how large their sets are.

    A bar is the set at one score, a dot the label nearest to the middle of what people say. Of several judges
    or criteria each is a row: which share of its sets has one label, two, and so on.

    Parameters
    ----------
    results : Results or ScoreSets

    Examples
    --------
    >>> from calib.stats import full_conformal
    >>> ax = score_sets(full_conformal([1, 2, 3, 4] * 5, [1, 3, 2, 4, 2] * 4, levels=[1, 2, 3, 4]))
    >>> ax.get_ylabel()
    "people's label"
    """
    pairs = figure.checked_pairs([results], ScoreSets)
    return _rows_of_sizes(pairs, ax) if len(pairs) > 1 else _bars_of_sets(*pairs[0], ax)


def _bars_of_sets(label: dict[str, Any], found: ScoreSets, ax: Axes | None) -> Axes:
    drawn, several = figure.axes_of(ax), len(found.cells) > 1
    values = np.unique(found.score)
    pitch = float(np.diff(values).min()) if len(values) > 1 else 1.0
    if len(values) > 2 * _MOST_SHADES:  # many scores: a hair each
        pitch = float(np.ptp(values)) / 200
    step = float(np.diff(found.levels).min())
    shown = [c for c in range(len(found.cells)) if (found.cell == c).any()]
    beside = len(shown) if len(values) < len(found.score) else 1  # cells that share a score lie side by side
    for place, cell in enumerate(shown):
        here, colour = found.cell == cell, figure.look_of(place)[0]
        wide = 0.7 * pitch / beside
        at = found.score[here] + ((place - (beside - 1) / 2) * wide * 1.1 if beside > 1 else 0.0)
        height = found.high[here] - found.low[here] + 0.8 * step
        drawn.bar(at, height, wide, bottom=found.low[here] - 0.4 * step, color=colour, alpha=0.35, linewidth=0)
        drawn.plot(at, found.nearest[here], "o", color=colour, markersize=4 if len(values) <= 30 else 1.5)
    drawn.set_xlabel(f"judge's score   (n = {len(found.row)} items, {found.n} labels)")
    drawn.set_ylabel("people's label")
    drawn.set_yticks(found.levels if len(found.levels) <= _MOST_SHADES else drawn.get_yticks(), None)
    drawn.set_ylim(found.levels[0] - 0.6 * step, found.levels[-1] + 0.6 * step)
    if len(values) <= _MOST_SHADES:
        drawn.set_xticks(values, list(map(short, values)))
    figure.plain_frame(drawn)
    colours = [figure.look_of(place)[0] for place in range(len(shown))]
    names = [plain_text(found.cells[cell].name) for cell in shown] if several else [f"{100 * found.level:g} % set"]
    handles = [figure.handle(name, color=c, linewidth=7, alpha=0.35) for name, c in zip(names, colours, strict=True)]
    handles.append(figure.handle("nearest label", color=figure.GREY if several else colours[0], marker="o",
                                 linestyle=""))  # fmt: skip
    fact = sets_fact(Results.of([(label, found)]))
    figure.legend_above(drawn, handles, title_of([label], []), fact, columns=min(len(handles), 4))
    return drawn


def _rows_of_sizes(pairs: list[tuple[dict[str, Any], ScoreSets]], ax: Axes | None) -> Axes:
    """Each result a row, piece by piece its sets with one label, with two, and so on."""
    from matplotlib import colormaps
    from matplotlib.patches import Patch

    facts, most = [label for label, _ in pairs], max(len(found.levels) for _, found in pairs)
    rows = figure.rows_of(ax, facts, [found for _, found in pairs], pitch=1.2)
    shades = [colormaps["Blues"](x) for x in np.linspace(0.95, 0.2, most)]
    for mark in rows.marks:
        share = _shares_of_sizes(mark.result, most)
        for part, left, colour in zip(share, np.cumsum(share) - share, shades, strict=True):
            rows.ax.barh(rows.heights[mark.place], part, 0.6, left=left, color=colour, edgecolor="white", zorder=2)
            if part >= _ROOM:
                ink = figure.ON_LIGHT if sum(colour[:3]) > 1.7 else figure.ON_DARK
                middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small", "color": ink}
                rows.ax.text(left + part / 2, rows.heights[mark.place], f"{100 * part:.0f}", **middle)
    rows.ax.set_xlim(0, 1)
    rows.ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    rows.ax.set_xlabel("share of the items, by how many labels their sets have")
    ends = {0: "1 label", most - 1: f"{most} labels"}
    named = range(most) if most <= 7 else ends
    handles = [Patch(color=shades[i], label=ends.get(i, str(i + 1))) for i in named]
    title, fact = title_of(facts, rows.names), sets_fact(Results.of(pairs))
    figure.legend_above(rows.ax, handles, title, fact, columns=len(handles))
    return figure.finished(rows.ax, ax)


def _shares_of_sizes(found: ScoreSets, most: int) -> Floats:
    """Share of the items whose set has 1, 2, ... labels; of an item without a score it is the whole scale."""
    n = np.bincount(found.size - 1, found.n_items, minlength=most)
    n[len(found.levels) - 1] += found.n_unread
    return np.asarray(n / max(n.sum(), 1))


# --- escalation -----------------------------------------------------------------------------------------------------


def accept_risk(results: Results[Any] | Escalation | AcceptThreshold, *, ax: Axes | None = None) -> Axes:
    """Errors among the accepted items against their share, with the band that holds for all thresholds together.

    A line is the risk that was allowed, a filled dot the threshold that was taken; of a cascade each judge has a curve,
    against the items that came to it.

    Parameters
    ----------
    results : Results, Escalation or AcceptThreshold
        A single one.

    Examples
    --------
    >>> from calib.stats import accept_threshold
    >>> found = accept_threshold([0.9] * 60 + [0.6] * 60, [0] * 60 + [0, 1] * 30)
    >>> accept_risk(found).get_legend().get_texts()[-1].get_text()
    'accepted: 50 %, from confidence 0.9 on'
    """
    kind: Any = AcceptThreshold if isinstance(results, AcceptThreshold) else Escalation
    label, result = figure.single_pair(results, kind)
    stages = [("", result)] if kind is AcceptThreshold else [(stage.judge, stage.found) for stage in result.stages]
    drawn, several = figure.axes_of(ax), len(stages) > 1
    handles = []
    for place, (judge, found) in enumerate(stages):
        handles += _accept_curve(drawn, found, f"{plain_text(judge)}: " * several, figure.look_of(place)[0])
    drawn.axhline(result.risk, color="black", linewidth=1.0, linestyle="--")
    allowed = figure.handle(f"risk allowed: {short(result.risk)}", color="black", linestyle="--")
    drawn.set_xlim(0, 1.02)
    most = max((point.risk for _, found in stages for point in found.curve if point.risk == point.risk), default=0.0)
    drawn.set_ylim(0, min(1.02, max(0.3, 2.5 * result.risk, 1.15 * most)))
    drawn.set_xlabel(f"share of the items{' that come to the judge' * several} accepted")
    drawn.set_ylabel("verdicts that differ from people's")
    for axis in (drawn.xaxis, drawn.yaxis):
        axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    figure.plain_frame(drawn, "both")
    title = title_of([label], [])
    figure.legend_above(drawn, [handles[0], allowed, *handles[1:]], title, accept_fact([result]))
    return drawn


def _accept_curve(ax: Axes, found: AcceptThreshold, of: str, colour: str) -> list[Any]:
    share, risk, upper = (np.array([getattr(p, name) for p in found.curve]) for name in ("accepted", "risk", "upper"))
    ax.fill_between(share, np.nan_to_num(risk), upper, color=colour, alpha=0.15, linewidth=0)
    ax.plot(share, risk, "-o", color=colour, markersize=4, mfc="white", linewidth=1.4)
    words = f"{of}errors among labels, upper band of all thresholds ({100 * found.confidence_level:.4g} %)"
    handles = [figure.handle(words, color=colour, marker="o", mfc="white")]
    if found.accepted:
        rate = found.errors / found.m
        ax.plot([found.accepted], [rate], "o", color=colour, markersize=8, zorder=5)
        words = f"{of}accepted: {100 * found.accepted:.3g} %, from confidence {found.threshold:.3g} on"
        handles.append(figure.handle(words, color=colour, marker="o", markersize=8, linestyle=""))
    return handles
