"""Calibration drawn: the map, reliability of forecasts, sets, what may be accepted at which risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration.words import curve_fact, forecast_fact, map_fact, pit_fact
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.stats import CalibrationMap, ForecastQuality
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import plain_text, title_of, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calib.analysis.calibration.reliability_band import Curve


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
    drawn.set_yticks(found.levels if len(found.levels) <= 11 else drawn.get_yticks(), None)
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

_MOST = 7  # curves in one picture
_FEW = 12  # forecasts that are marked one by one


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
    if len(pairs) > _MOST:
        raise ArgumentError("results", f"must hold {_MOST} results at most to be drawn as lines", f"has {len(pairs)}")
    drawn = figure.axes_of(ax)
    names = told_apart([label for label, _ in pairs])
    for place, (curve, name) in enumerate(zip(curves, names, strict=True)):
        _draw_curve(drawn, curve, figure.COLOURS[place], plain_text(name) if len(pairs) > 1 else "")
    levels = pairs[0][1].levels
    ends = [levels[0], levels[-1]] if math.isnan(curves[0].above) else [0.0, 1.0]
    drawn.plot(ends, ends, color=figure.GREY, linestyle="--", linewidth=1, zorder=1)
    _name_axes(drawn, pairs[0][1], curves[0], len(pairs))
    fact = curve_fact(pairs[0][1], curves[0]) if len(pairs) == 1 else forecast_fact(Results.of(pairs))
    if len(pairs) > 1:
        drawn.legend(frameon=False, fontsize="small")
    figure.say_title(drawn, title_of([label for label, _ in pairs], []), fact)
    figure.plain_frame(drawn)
    return drawn


def _curve_of(result: ForecastQuality, above: float | None) -> Curve:
    """The curve that is asked for."""
    if above is None:
        return result.curves[0 if len(result.levels) == 2 else -1]
    for curve in result.curves:
        if curve.above == above:
            return curve
    there = ", ".join(map(short, result.levels[:-1]))
    raise ArgumentError("above", f"must be a level of the labels but the last ({there})", f"got {above!r}")


def _draw_curve(ax: Axes, curve: Curve, colour: str, name: str) -> None:
    if not name and not math.isnan(curve.low[0]):
        ax.fill_between(curve.forecast, curve.low, curve.high, color=figure.GREY, alpha=0.25, linewidth=0, zorder=0,
                        label="calibrated forecasts")  # fmt: skip
        ax.legend(frameon=False, fontsize="small", loc="upper left")
    ax.plot(curve.forecast, curve.observed, color=colour, linewidth=1.6, zorder=2, label=name)
    if len(curve.forecast) <= _FEW:
        ax.scatter(curve.forecast, curve.observed, 12 + 250 * curve.share, color=colour, alpha=0.8, zorder=3)
    else:
        ax.plot(curve.forecast, np.full(len(curve.forecast), ax.get_ylim()[0]), "|", color=colour, alpha=0.5)


def _name_axes(ax: Axes, result: ForecastQuality, curve: Curve, n_results: int) -> None:
    n = f"   (n = {result.n} labels)" * (n_results == 1)
    if math.isnan(curve.above):
        ax.set_xlabel(f"mean label, as forecast{n}")
        ax.set_ylabel("mean label that came")
        return
    ax.set_xlabel(f"chance of a label above {short(curve.above)}, as forecast{n}")
    ax.set_ylabel("share of labels above it")


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
    drawn.set_xlabel(f"place of the label in its forecast, from the lowest to the highest   (n = {result.n} labels)")
    figure.say_title(drawn, title_of([label], []), pit_fact(result))
    figure.plain_frame(drawn)
    drawn.grid(axis="x", visible=False)
    return drawn


def forecast_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The reliability diagram, and of a single distribution where labels lie in it."""
    if len(results) <= _MOST:
        yield partial(corp, results)
    if len(results) == 1 and results[0].kind == "distribution":
        yield partial(pit, results)


# --- sets -----------------------------------------------------------------------------------------------------------


# --- escalation -----------------------------------------------------------------------------------------------------
