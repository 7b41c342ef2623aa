"""Drift in words: whether a judge changed, how far, and what that does not say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.drift.reading_change import ReadingChange
from calib.core import check
from calib.core.result import bracket, short
from calib.table import figure
from calib.table.results import Results, words
from calib.table.text import Block, plain_text, telling, title_of, told_apart, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ROWS = 300  # items of a page that can be sent
_NO_VERDICT = (
    "Drift is no verdict on quality: a judge may have changed and be as good, or read as ever and be wrong. "
    "Whether a correction or a calibration by old labels still holds, fresh labels of a few items decide "
    "(`transport_test`)."
)


def drift_fact(results: Results[ReadingChange]) -> str:
    """Of one judge what was seen, of several how many changed."""
    if len(results) > 1:
        return f"{sum(result.drifted for result in results)} of {len(results)} changed"
    one = results[0]
    low, high = one.interval
    ends = "" if math.isnan(low) else f" [{low:.2g}, {high:.2g}]"
    return f"{'changed' if one.drifted else 'no drift seen'}, mean shift {one.estimate:.2g}{ends}"


def drift_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[ReadingChange]) -> list[str]:
    """What may be claimed of each judge, and what may not."""
    return list(map(_drift_sentence, labels, results))


def _drift_sentence(label: Mapping[str, Any], found: ReadingChange) -> str:
    about = words({name: value for name, value in label.items() if value != ""})
    parts = [_verdict(found), _lost(found), _moved(found), _beyond_noise(found), _single_items(found)]
    return f"{about}{': ' * bool(about)}{' '.join(filter(None, parts))}"


def _verdict(found: ReadingChange) -> str:
    mark = (1 - found.confidence_level) / 2
    read = f"{found.n} items, read {short(found.readings_then)} times then and {short(found.readings_now)} times now"
    tests = f"p = {short(found.p_value)} of any change, {short(found.p_shift)} of a shift; {short(mark)} is the mark"
    if found.drifted:
        return f"The judge reads otherwise than it did: {read} ({tests})."
    return f"No drift seen in the scores of {read} ({tests}), which is no proof that there is none."


def _moved(found: ReadingChange) -> str:
    """The mean shift, and which one would have been seen."""
    moved = f"Its mean moved by {short(found.estimate)}, {bracket(found.interval, found.confidence_level)}"
    if math.isnan(found.smallest_shift):
        return f"{moved}, alike on every item, so that no spread is known."
    seen = f"a shift of {short(found.smallest_shift)} is seen four times in five, a smaller one less often"
    return f"{moved}; with so many items {seen}."


def _beyond_noise(found: ReadingChange) -> str:
    shares = f"{_in_percent(found.differ)} of its readings differ from those of then"
    change = f"{100 * found.changed:.3g} points, {_ends(found)}"
    less = " (it became less noisy)" if found.changed_interval.high < 0 else ""
    return f"{shares}, {_in_percent(found.floor)} by its own noise alone: beyond that {change}{less}."


def _ends(found: ReadingChange) -> str:
    low, high = found.changed_interval
    if math.isnan(low):
        return "no interval"
    return f"{100 * found.confidence_level:g} % CI [{100 * low:.3g}, {100 * high:.3g}]"


def _in_percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _single_items(found: ReadingChange) -> str:
    """Which items may be named."""
    if found.n_changed:
        return f"{found.n_changed} of them may each be said to have changed (Holm)."
    if _never_one(found):
        least = f"with so few readings an item's p-value is {short(found.least_p)} at least"
        return f"Of no single item a change can be claimed, whatever it did: {least}."
    return "Of no single item a change may be claimed (Holm)." if found.drifted else ""


def _never_one(found: ReadingChange) -> bool:
    """Whether no item can be significant among so many, whatever it does."""
    return found.least_p * found.n > 1 - found.confidence_level


def _lost(found: ReadingChange) -> str:
    """What else changed, or may hide a change."""
    telling = ("unread_changed", "shared_readings", "same_readings")
    told = [text.partition(": ")[2] for text in found.warnings if text.startswith(telling)]
    return " ".join(text[:1].upper() + text[1:] for text in told)


def drift_blocks(results: Results[ReadingChange]) -> list[Block]:
    """Each item then and now, those that lie farthest apart first."""
    names = told_apart(results.labels)
    return [
        _moved_items(f" ({visible(name)})" if name else "", found) for name, found in zip(names, results, strict=True)
    ]


def _moved_items(name: str, found: ReadingChange) -> Block:
    frame = found.changes.head(_ROWS).drop(columns="p_by")
    frame["item"] = [visible(item) for item in frame["item"]]
    heads = {
        "then": "mean then",
        "now": "mean now",
        "energy": "energy distance",
        "p_item": "p alone",
        "p_holm": "p, Holm",
    }
    says = [_single_items(found)] if found.n_changed or _never_one(found) else []
    more = [f"The first {_ROWS} of {found.n:,} items; `.changes` has all."] * (found.n > _ROWS)
    return Block(f"How far each item moved{name}", frame.rename(columns=heads), [*says, *more])


def drift_notes(results: Results[ReadingChange]) -> list[str]:
    """What a change does not say."""
    return [_NO_VERDICT] * bool(len(results))


# --- drift ------------------------------------------------------------------------------------------------------------


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
