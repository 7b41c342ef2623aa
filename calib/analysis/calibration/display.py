"""The display of calibrations, forecasts, sets and escalations: pictures, and the sentences beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration import display_sentences as sentences
from calib.core.check import ArgumentError
from calib.core.result import short
from calib.stats import AcceptThreshold, CalibrationMap, Escalation, ForecastQuality, ScoreSets
from calib.table import figure
from calib.table.results import Results
from calib.table.text import plain_text, title_of, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = 7  # curves in one picture
_MARKED = 12  # forecasts that are marked one by one
_MOST_SHADES = 11  # sizes of sets that a legend names one by one


def calibration(result: Results[Any] | CalibrationMap, *, ax: Axes | None = None) -> Axes:
    """What people say on average at each score of a judge: the map with the interval of it, and the labels.

    The area of a dot is the number of labels of that value at that score. Where the map reads more than the judge's
    own score, its line is the average over what else it read; of a judge with two scores it has two points.

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
    label, single = figure.single_pair(result, CalibrationMap)
    axes, colour = figure.axes_of(ax), figure.COLOURS[0]
    two = len(np.unique(single.x[:, 0])) <= 2
    if two or (len(single.slopes) > 1 and not single.own_only):
        at, mean, low, high = single.shown[:4]
    else:
        x = np.zeros((101, len(single.slopes)))
        at = x[:, 0] = np.linspace(single.x[:, 0].min(), single.x[:, 0].max(), 101)
        mean = single.predict(x) @ single.levels
        low, high = single.band(x, mean)
    # one dot for each score and label that came together
    row, place = np.nonzero(single.counts)
    dots, which = np.unique(np.c_[single.x[row, 0], single.levels[place]], axis=0, return_inverse=True)
    n = np.bincount(which.ravel(), single.counts[row, place])
    axes.scatter(dots[:, 0], dots[:, 1], 4 + 250 * n / n.max(), color=figure.GREY, alpha=0.45, linewidths=0, zorder=1)
    if two:
        axes.vlines(at, low, high, colors=colour, linewidth=1.6, zorder=3)
        axes.set_xlim(at.min() - 0.5, at.max() + 0.5)
    elif not np.isnan(low).any():
        axes.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0, zorder=2)
    look: dict[str, Any] = {"color": colour, "linestyle": "" if two else "-", "marker": "D" if two else ""}
    axes.plot(at, mean, zorder=3, **look)
    axes.set(xlabel="judge's score", ylabel="people's label")
    if len(single.levels) <= 11:
        axes.set_yticks(single.levels)
    margin = 0.06 * np.ptp(single.levels)
    axes.set_ylim(single.levels[0] - margin, single.levels[-1] + margin)
    if len(scores := np.unique(single.x[:, 0])) <= _MOST_SHADES and len(single.x[0]) == 1:
        axes.set_xticks(scores, list(map(short, scores)))
    mean_words = f"mean of people, {100 * single.confidence_level:g} % {'CI' if two else 'band of the map'}"
    dot_words = f"labels (area: how many; {short(single.n)} items)"
    handles = [figure.handle(mean_words, **look), figure.handle(dot_words, color=figure.GREY, marker="o", linestyle="")]
    figure.legend_above(axes, handles, title_of([label], []), sentences.map_fact(Results.of([(label, single)])))
    return axes


map_pictures = figure.one_each(calibration)


def corp(results: Results[Any] | ForecastQuality, *, above: float | None = None, ax: Axes | None = None) -> Axes:
    """What people said beside what was forecast: the reliability diagram of CORP, which has no bins.

    The line is the isotonic regression of the labels on the forecasts. Of several results there is a line each.

    Parameters
    ----------
    above : float, optional
        Draw the chance of a label above this level. Default: of two levels that chance, else the mean label.

    Examples
    --------
    >>> from calib.stats import forecast_quality
    >>> ax = corp(forecast_quality([0.1, 0.4, 0.4, 0.8] * 20, [0, 0, 1, 1] * 20))
    >>> ax.get_xlabel()
    'chance of a label above 0, as forecast   (n = 80 labels)'
    """
    results = figure.checked(ForecastQuality, results)
    one, curves = results[0], []
    for result in results:
        usual = result.curves[0 if len(result.levels) == 2 else -1]
        same = [usual] if above is None else [curve for curve in result.curves if curve.above == above]
        if not same:
            there = ", ".join(map(short, result.levels[:-1]))
            raise ArgumentError("above", f"must be a level of the labels but the last ({there})", f"got {above!r}")
        curves.append(same[0])
    if len(results) > _CURVES:
        rule = f"must hold {_CURVES} results at most to be drawn as lines"
        raise ArgumentError("results", rule, f"has {len(results)}")
    axes = figure.axes_of(ax)
    for curve, name, colour in zip(curves, told_apart(results.labels), figure.COLOURS, strict=False):
        label = plain_text(name) if len(results) > 1 else ""
        axes.plot(curve.forecast, curve.observed, color=colour, linewidth=1.6, zorder=2, label=label)
        if len(curve.forecast) <= _MARKED:
            axes.scatter(curve.forecast, curve.observed, 12 + 250 * curve.share, color=colour, alpha=0.8, zorder=3)
        else:
            axes.plot(curve.forecast, np.full(len(curve.forecast), axes.get_ylim()[0]), "|", color=colour, alpha=0.5)
    mean, chances, level = math.isnan(curves[0].above), one.kind == "distribution", short(curves[0].above)
    if mean or chances:  # on the diagonal what comes is what was forecast; a number forecasts no chance
        ends = [one.levels[0], one.levels[-1]] if mean else [0.0, 1.0]
        axes.plot(ends, ends, color=figure.GREY, linestyle="--", linewidth=1, zorder=1)
    forecast = f"{'mean label' if mean else f'chance of a label above {level}'}, as forecast" if chances else "score"
    axes.set_xlabel(forecast + f"   (n = {one.n} labels)" * (len(results) == 1))
    axes.set_ylabel("mean label that came" if mean else f"share of labels above {level}")
    if len(results) > 1:
        axes.legend(frameon=False, fontsize="small")
    fact = sentences.curve_fact(one, curves[0]) if len(results) == 1 else sentences.forecast_fact(results)
    figure.say_title(axes, title_of(results.labels, []), fact)
    figure.plain_frame(axes)
    return axes


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
    axes = figure.axes_of(ax)
    axes.stairs(result.pit, np.linspace(0, 1, len(result.pit) + 1), fill=True, color=figure.COLOURS[0])
    axes.axhline(1 / len(result.pit), color=figure.GREY, linestyle="--", linewidth=1)
    words = f"place of the label in its forecast   (n = {result.n} labels)"
    axes.set(xlim=(0, 1), xlabel=words, ylabel="share of the labels")
    figure.say_title(axes, title_of([label], []), sentences.pit_fact(result))
    figure.plain_frame(axes, "y")
    return axes


def forecast_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The reliability diagram, and of a single distribution where labels lie in it."""
    if len(results) <= _CURVES:
        yield partial(corp, results)
    if len(results) == 1 and results[0].kind == "distribution":
        yield partial(pit, results)


def score_sets(results: Results[Any] | ScoreSets, *, ax: Axes | None = None) -> Axes:
    """The labels that people may give, along the judge's score; of several results how large their sets are.

    A bar is the set at one score, a dot the label nearest to the middle of what people say. Of several judges
    or criteria each is a row: which share of its sets has one label, two, and so on; of labels with two values which
    share is the one alone, either, and the other alone.

    Examples
    --------
    >>> from calib.stats import full_conformal
    >>> ax = score_sets(full_conformal([1, 2, 3, 4] * 5, [1, 3, 2, 4, 2] * 4, levels=[1, 2, 3, 4]))
    >>> ax.get_ylabel()
    "people's label"
    """
    results = figure.checked(ScoreSets, results)
    if len(results) > 1 or len(results[0].levels) == 2:
        return _rows_of_sizes(results, ax)
    sets, axes = results[0], figure.axes_of(ax)
    values = np.unique(sets.score)
    pitch = float(np.diff(values).min()) if len(values) > 1 else 1.0
    if len(values) > 2 * _MOST_SHADES:  # many scores: a hair each
        pitch = float(np.ptp(values)) / 200
    step = float(np.diff(sets.levels).min())
    cells = [c for c in range(len(sets.cells)) if (sets.cell == c).any()]
    beside = len(cells) if len(values) < len(sets.score) else 1  # cells that share a score lie side by side
    wide, handles = 0.7 * pitch / beside, []
    for place, cell in enumerate(cells):
        here, colour = sets.cell == cell, figure.colour_and_marker(place)[0]
        at = sets.score[here] + ((place - (beside - 1) / 2) * wide * 1.1 if beside > 1 else 0.0)
        height = sets.high[here] - sets.low[here] + 0.8 * step
        axes.bar(at, height, wide, bottom=sets.low[here] - 0.4 * step, color=colour, alpha=0.35, linewidth=0)
        axes.plot(at, sets.nearest[here], "o", color=colour, markersize=4 if len(values) <= 30 else 1.5)
        name = plain_text(sets.cells[cell].name) if len(sets.cells) > 1 else f"{100 * sets.level:g} % set"
        handles.append(figure.handle(name, color=colour, linewidth=7, alpha=0.35))
    axes.set(xlabel=f"judge's score   (n = {len(sets.row)} items, {sets.n} labels)", ylabel="people's label")
    axes.set_yticks(sets.levels if len(sets.levels) <= _MOST_SHADES else axes.get_yticks(), None)
    axes.set_ylim(sets.levels[0] - 0.6 * step, sets.levels[-1] + 0.6 * step)
    if len(values) <= _MOST_SHADES:
        axes.set_xticks(values, list(map(short, values)))
    figure.plain_frame(axes)
    colour = figure.GREY if len(sets.cells) > 1 else figure.COLOURS[0]
    handles.append(figure.handle("nearest label", color=colour, marker="o", linestyle=""))
    title, fact = title_of(results.labels, []), sentences.sets_fact(results)
    figure.legend_above(axes, handles, title, fact, columns=min(len(handles), 4))
    return axes


def _rows_of_sizes(results: Results[ScoreSets], ax: Axes | None) -> Axes:
    """Each result a row, piece by piece its sets with one label, with two, and so on."""
    most, scales = max(len(sets.levels) for sets in results), {tuple(sets.levels) for sets in results}
    two = most == 2 and len(scales) == 1  # then a set is one label, the other, or both
    parts = 3 if two else most
    rows, shades = figure.rows_of(ax, results.labels, results, pitch=1.2), figure.shades(parts, 0.95, 0.2)
    for mark in rows.marks:
        sets = mark.result
        kind = np.where(sets.size == 2, 1, 2 * (sets.low > sets.levels[0])) if two else sets.size - 1
        n = np.bincount(kind, sets.n_items, minlength=parts)
        n[1 if two else len(sets.levels) - 1] += sets.n_unread  # of an item without a score the set is the whole scale
        pieces = figure.shaded_pieces(n / max(n.sum(), 1), shades)
        figure.draw_pieces(rows.ax, rows.heights[mark.place], pieces, 0.6, edgecolor="white")
    figure.per_cent(rows.ax.xaxis)
    rows.ax.set_xlabel(f"share of the items, by {'the labels' if two else 'how many labels'} their sets have")
    ends = {0: "1 label", most - 1: f"{most} labels"}
    if two:
        one, other = map(short, results[0].levels)
        ends = {0: f"{one} alone", 1: f"{one} or {other}", 2: f"{other} alone"}
    named = range(parts) if parts <= 7 else ends
    handles = figure.patches([ends.get(i, str(i + 1)) for i in named], [shades[i] for i in named])
    return rows.finished(sentences.sets_fact(results), handles, columns=len(handles))


def accept_risk(results: Results[Any] | Escalation | AcceptThreshold, *, ax: Axes | None = None) -> Axes:
    """Errors among the accepted items against their share, with the band that holds for all thresholds together.

    A line is the risk that was allowed, a filled dot the threshold that was taken. It draws a single result.

    Examples
    --------
    >>> from calib.stats import accept_threshold
    >>> result = accept_threshold([0.9] * 60 + [0.6] * 60, [0] * 60 + [0, 1] * 30)
    >>> accept_risk(result).get_legend().get_texts()[-1].get_text()
    'accepted: 50 %, from confidence 0.9 on'
    """
    kind: Any = AcceptThreshold if isinstance(results, AcceptThreshold) else Escalation
    label, result = figure.single_pair(results, kind)
    test: AcceptThreshold = result if kind is AcceptThreshold else result.test
    axes, colour = figure.axes_of(ax), figure.colour_and_marker(0)[0]
    share, risk, upper = (np.array([getattr(p, name) for p in test.curve]) for name in ("accepted", "risk", "upper"))
    axes.fill_between(share, np.nan_to_num(risk), upper, color=colour, alpha=0.15, linewidth=0)
    axes.plot(share, risk, "-o", color=colour, markersize=4, mfc="white", linewidth=1.4)
    axes.axhline(test.risk, color="black", linewidth=1.0, linestyle="--")
    name = f"share of errors, with its upper bound at all thresholds together ({100 * test.confidence_level:.4g} %)"
    allowed = figure.handle(f"allowed: {100 * test.risk:.3g} %", color="black", linestyle="--")
    handles = [figure.handle(name, color=colour, marker="o", mfc="white"), allowed]
    if test.accepted:
        axes.plot([test.accepted], [test.errors / test.m], "o", color=colour, markersize=8, zorder=5)
        name = f"accepted: {100 * test.accepted:.3g} %, from confidence {test.threshold:.3g} on"
        handles.append(figure.handle(name, color=colour, marker="o", markersize=8, linestyle=""))
    axes.set(xlim=(0, 1.02), ylim=(0, min(1.02, max(2 * test.risk, 1.15 * np.nanmax([0.0, *risk])))))
    axes.set_xlabel("share of the items decided without people, the surest first")
    axes.set_ylabel("of these, verdicts that\ndiffer from people's")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    figure.plain_frame(axes, "both")
    figure.legend_above(axes, handles, title_of([label], []), sentences.accept_fact([result]))
    return axes


accept_pictures = figure.one_each(accept_risk)
