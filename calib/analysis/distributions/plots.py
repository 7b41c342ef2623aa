"""A judge's own page, drawn: how it uses its scale beside people, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.core.check import ArgumentError
from calib.core.result import short
from calib.stats import Histogram, Profile
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_JUDGE, _PEOPLE = figure.COLOURS[0], figure.COLOURS[1]


def profile(results: Results[Any] | Profile, *, show: str = "scores", ax: Axes | None = None) -> Axes:
    """How a judge uses its scale, beside people; or how sure it is of each item.

    One result is drawn as bars, several as a row each.

    Parameters
    ----------
    show : {"scores", "entropy"}, default "scores"

    Raises
    ------
    ValueError
        If `show` is another word, or there is no entropy to show.

    Examples
    --------
    >>> from calib.stats import profile as profiled
    >>> ax = profile(profiled([1, 2, 3, 3, 3, 3], [1, 1, 2, 3, 3, 3], scale=[1, 2, 3]))
    >>> ax.get_title(loc="left")
    "67 % of the judge's scores are 3 (people's: 50 %)"
    """
    if show not in ("scores", "entropy"):
        raise ArgumentError("show", "must be 'scores' or 'entropy'", f"got {show!r}")
    pairs = figure.checked_pairs([results], Profile)
    if show == "entropy":
        pairs = [(label, result) for label, result in pairs if result.entropy is not None]
        if not pairs:
            raise ArgumentError("show", "'entropy' needs distributions of scores", "these results have none")
    if len(pairs) > 1:
        return _rows_of_scores(pairs, ax) if show == "scores" else _rows_of_entropy(pairs, ax)
    drawn, (label, result) = figure.axes_of(ax), pairs[0]
    if show == "scores":
        _bars(drawn, result)
        title = result.shares.most
    else:
        _histogram(drawn, result.entropy)
        title = f"half of the items have an entropy above {short(result.entropy.median)} nats"
    head = title_of([label], [])
    figure.say_title(drawn, f"{head}\n{title}" if head else title)
    return drawn


def _bars(ax: Axes, result: Profile) -> None:
    """Judge and people side by side at each value."""
    levels, sides = np.array(result.shares.levels), [("judge", result.shares.judge, _JUDGE)]
    if result.shares.human:
        sides.append(("people", result.shares.human, _PEOPLE))
    pitch = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
    wide = (0.96 if result.shares.width else 0.8) * pitch / len(sides)
    for place, (name, shares, colour) in enumerate(sides):
        at = levels + wide * (place - (len(sides) - 1) / 2)
        ax.bar(at, shares, wide, color=colour, label=name)
    if not result.shares.width:
        ax.set_xticks(levels, list(map(short, levels)))
    _percent_axis(ax.yaxis)
    ax.set_xlabel(f"score   (n = {result.n - result.n_missing} items" + f", {result.n_human} with people" * bool(result.shares.human) + ")")
    ax.set_ylabel("share of the scores")
    figure.plain_frame(ax)
    ax.grid(axis="x", visible=False)
    if len(sides) > 1:
        ax.legend(frameon=False, fontsize="small")


def _percent_axis(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")


def _histogram(ax: Axes, entropy: Histogram) -> None:
    edges = np.array(entropy.edges)
    ax.bar(edges[:-1], entropy.counts, np.diff(edges), align="edge", color=_JUDGE, edgecolor="white", linewidth=0.5)
    ax.set_xlim(0, edges[-1] * 1.02)
    ax.set_xlabel("entropy of an item's scores, in nats: 0 sure; at the right end, all values alike")
    ax.set_ylabel("items")
    figure.plain_frame(ax, "both")
