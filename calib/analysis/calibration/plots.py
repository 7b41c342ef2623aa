"""Calibration drawn: the map, reliability of forecasts, sets, what may be accepted at which risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration.words import map_fact
from calib.core.check import Floats
from calib.core.result import short
from calib.stats import CalibrationMap
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- the map ---------------------------------------------------------------------------------------------------------


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


# --- the quality of forecasts ----------------------------------------------------------------------------------------


# --- sets ------------------------------------------------------------------------------------------------------------


# --- escalation ------------------------------------------------------------------------------------------------------
