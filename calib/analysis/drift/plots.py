"""Drift, drawn: items as they were read then and now, those that changed most at the top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.drift.words import drift_fact
from calib.core import check
from calib.stats import ReadingChange
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import plain_text, telling, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ABOVE_LEGEND = 22.5  # points: of one line
_UP, _DOWN = figure.COLOURS[1], figure.COLOURS[0]


def drift(results: Results[Any] | ReadingChange, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """The mean readings of each item then and now, the items whose readings lie farthest apart first.

    A hollow mark is the mean of then, a full one that of now; the colour says whether it rose or fell. Items that may
    each be said to have changed (Holm) have a bold name: the order alone is no claim about any of them.

    Parameters
    ----------
    results : Results or ReadingChange
        One result.
    most : int, default 20
        Items that are shown.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import reading_change
    >>> readings = np.random.default_rng(1).integers(1, 6, size=(30, 8))
    >>> drift(reading_change(readings[:, :4], readings[:, 4:])).get_xlabel()
    'mean reading of an item   (20 of 30 items, those that differ most)'
    """
    label, found = figure.single_pair(results, ReadingChange)
    shown = np.argsort(-found.energy, kind="stable")[: check.whole(most, "most", least=1)]
    drawn = figure.axes_of(ax)
    for height, place in enumerate(shown, start=1):
        then, now = found.then[place], found.now[place]
        colour = figure.GREY if then == now else _UP if now > then else _DOWN
        drawn.hlines(height, min(then, now), max(then, now), colors=colour, linewidth=1.6, zorder=2)
        drawn.plot([then], [height], "o", color=colour, mfc="white", markersize=5.5, zorder=3)
        drawn.plot([now], [height], "o", color=colour, markersize=5.5, zorder=3)
    _name_items(drawn, found, shown)
    number = f"{len(shown)} of {found.n} items, those that differ most" if len(shown) < found.n else f"{found.n} items"
    drawn.set_xlabel(f"mean reading of an item   ({number})")
    handles = [
        figure.handle("then", color=figure.GREY, marker="o", mfc="white", linestyle="", markersize=5.5),
        figure.handle("now, higher", color=_UP, marker="o", markersize=5.5),
        figure.handle("now, lower", color=_DOWN, marker="o", markersize=5.5),
    ]
    title = title_of([label], telling([label])) if label else ""
    figure.legend_above(drawn, handles, title, drift_fact(Results.of([(label, found)])), columns=3)
    if not figure.is_narrow(drawn):
        _wrap_title(drawn)
    return figure.finished(drawn, ax)


def _wrap_title(ax: Axes) -> None:
    """Beside the names of the items there is less room for it."""
    whole = ax.get_figure(root=True)
    assert whole is not None
    names = 6.5 * max(len(name.get_text()) for name in ax.get_yticklabels())
    title = " ".join(ax.get_title(loc="left").split())
    room = figure.wrapped(title, 72 * whole.get_figwidth() - 40 - names)
    ax.set_title(room, loc="left", fontsize="medium", pad=_ABOVE_LEGEND)


def _name_items(ax: Axes, found: ReadingChange, shown: Any) -> None:
    """A row for each item, the name of one that changed in bold."""
    ax.set_ylim(len(shown) + 0.8, 0.2)
    ax.set_yticks(range(1, len(shown) + 1), [plain_text(found.items[place]) for place in shown])
    changed = found.p_holm[shown] <= 1 - found.confidence_level
    for tick, bold in zip(ax.yaxis.get_major_ticks(), changed, strict=True):
        tick.tick1line.set_visible(False)
        tick.label1.set_fontweight("bold" if bold else "normal")
    figure.plain_frame(ax, "x")
