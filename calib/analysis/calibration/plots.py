"""Calibration drawn: the map, reliability of forecasts, sets, what may be accepted at which risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration.words import accept_fact
from calib.core.result import short
from calib.stats import AcceptThreshold, Escalation
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import plain_text, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- the map ---------------------------------------------------------------------------------------------------------


# --- the quality of forecasts ----------------------------------------------------------------------------------------


# --- sets ------------------------------------------------------------------------------------------------------------


# --- escalation ------------------------------------------------------------------------------------------------------


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
    >>> [text.get_text() for text in accept_risk(found).get_legend().get_texts()]
    ['errors among labels, upper band of all thresholds (90 %)', 'risk allowed: 0.1', 'accepted: 50 % from 0.9 on']
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
    drawn.set_ylim(0, min(1.0, max(0.3, 2.5 * result.risk)))
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
        words = f"{of}accepted: {100 * found.accepted:.3g} % from {short(found.threshold)} on"
        handles.append(figure.handle(words, color=colour, marker="o", markersize=8, linestyle=""))
    return handles
