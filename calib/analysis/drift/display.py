"""Sentences, tables and pictures of drift: whether a judge changed, how far, and what that does not say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.drift.reading_change import ReadingChange
from calib.core import check
from calib.core.result import short
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
_INDEPENDENT = (
    "The test takes the readings of an item as independent of each other: what those of one session share (a server, a "
    "day) counts as a change, unless each side has several sessions and `session` names them."
)


def drift_fact(results: Results[ReadingChange]) -> str:
    """Of one judge what was seen, of several how many changed."""
    if len(results) > 1:
        return f"{sum(result.drifted for result in results)} of {len(results)} changed"
    one = results[0]
    low, high = one.interval
    ends = "" if math.isnan(low) else f" [{low:.2g}, {high:.2g}]"
    verdict = "cached copies" if one.copied else "changed" if one.drifted else "no drift seen"
    return f"{verdict}, mean shift {one.estimate:.2g}{ends}"


def drift_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[ReadingChange]) -> list[str]:
    """What may be claimed of each judge, and what may not."""
    sentences = []
    for label, change in zip(labels, results, strict=True):
        about = words({name: value for name, value in label.items() if value != ""})
        # what else changed, or may hide a change
        others = ("unread_changed", "shared_readings", "same_readings", "cached_copies", "draws_together", "runs_apart")
        texts = [text.partition(": ")[2] for text in change.warnings if text.startswith(others)]
        mark = (1 - change.confidence_level) / (1 if change.shift_alone else 2)
        times = f"read {short(change.readings_then)} times then and {short(change.readings_now)} times now"
        times += f", in {change.sessions_then} and {change.sessions_now} sessions" if change.sessions_then else ""
        p = f"p = {short(change.p_value)} of any change, {short(change.p_shift)} of a shift; {short(mark)} is the mark"
        p += ", of the shift alone as there are so few sessions" if change.shift_alone else ""
        if change.copied:
            verdict = f"A change cannot be tested with {change.n} items, {times}."
        elif change.drifted:
            verdict = f"The judge reads otherwise than it did: {change.n} items, {times} ({p})."
        else:
            seen = f"No drift seen in the scores of {change.n} items, {times}"
            verdict = f"{seen} ({p}), which is no proof that there is none."
        parts = [verdict, *(text[:1].upper() + text[1:] for text in texts)]
        # the mean shift, which one would have been seen, and how many readings differ beyond noise
        if math.isnan(change.smallest_shift):
            seen = ", alike on every item, so the noise is unknown"
        else:
            seen = f"; a shift of {short(change.smallest_shift)} would be detected with 80 % power"
        low, high = change.changed_interval
        ends = f"{100 * change.confidence_level:g} % CI [{100 * low:.3g}, {100 * high:.3g}]"
        ends = "no interval" if math.isnan(low) else ends
        less = " (it became less noisy)" if high < 0 else ""
        parts.append(
            f"Its mean moved by {short(change.estimate)}, {change.bracket}{seen}. {100 * change.differ:.3g} % of its "
            f"readings differ from those of then, {100 * change.floor:.3g} % by its own noise alone: beyond that "
            f"{100 * change.changed:.3g} points, {ends}{less}."
        )
        parts.append(_single_items(change))
        sentences.append(f"{about}{': ' * bool(about)}{' '.join(filter(None, parts))}")
    return sentences


def _single_items(change: ReadingChange) -> str:
    """Which items may be named."""
    if change.n_changed:
        return f"{change.n_changed} of these items changed significantly (Holm)."
    if change.least_p * change.n > 1 - change.confidence_level:  # none can be significant among so many
        least = f"with so few readings its p-value is at least {short(change.least_p)}"
        return f"No single item can be significant: {least}."
    return "No single item changed significantly (Holm)." if change.drifted else ""


def drift_blocks(results: Results[ReadingChange]) -> list[Block]:
    """Each item then and now, those that lie farthest apart first."""
    heads = {"then": "mean then", "now": "mean now", "energy": "energy distance"}
    heads |= {"p_item": "p alone", "p_holm": "p, Holm"}
    blocks = []
    for name, change in zip(told_apart(results.labels), results, strict=True):
        frame = change.changes.head(_ROWS).drop(columns="p_by")
        frame["item"] = [visible(item) for item in frame["item"]]
        sure = change.n_changed or change.least_p * change.n > 1 - change.confidence_level
        notes = [_single_items(change)] if sure else []
        more = [f"The first {_ROWS} of {change.n:,} items; `.changes` has all."] * (change.n > _ROWS)
        title = f"How far each item moved{f' ({visible(name)})' if name else ''}"
        blocks.append(Block(title, frame.rename(columns=heads), [*notes, *more]))
    return blocks


def drift_notes(results: Results[ReadingChange]) -> list[str]:
    """What a change does not say, and what it rests on."""
    return [_NO_VERDICT] * bool(len(results)) + [_INDEPENDENT] * any(not one.sessions_then for one in results)


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
    label, change = figure.single_pair(results, ReadingChange)
    places = np.argsort(-change.energy, kind="stable")[: check.whole(most, "most", least=1)]
    drawn = figure.axes_of(ax)
    for height, place in enumerate(places, start=1):
        then, now = change.then[place], change.now[place]
        colour = figure.GREY if then == now else _UP if now > then else _DOWN
        drawn.hlines(height, min(then, now), max(then, now), colors=colour, linewidth=1.6, zorder=2)
        drawn.plot([then], [height], "o", color=colour, mfc="white", markersize=5.5, zorder=3)
        drawn.plot([now], [height], "o", color=colour, markersize=5.5, zorder=3)
    # a row for each item, the name of one that changed in bold
    drawn.set_ylim(len(places) + 0.8, 0.2)
    drawn.set_yticks(range(1, len(places) + 1), [plain_text(change.items[place]) for place in places])
    changed = change.p_holm[places] <= 1 - change.confidence_level
    for tick, bold in zip(drawn.yaxis.get_major_ticks(), changed, strict=True):
        tick.tick1line.set_visible(False)
        tick.label1.set_fontweight("bold" if bold else "normal")
    figure.plain_frame(drawn, "x")
    part = len(places) < change.n
    number = f"{len(places)} of {change.n} items, those that differ most" if part else f"{change.n} items"
    drawn.set_xlabel(f"mean reading of an item   ({number})")
    handles = [
        figure.handle("then", color=figure.GREY, marker="o", mfc="white", linestyle="", markersize=5.5),
        figure.handle("now, higher", color=_UP, marker="o", markersize=5.5),
        figure.handle("now, lower", color=_DOWN, marker="o", markersize=5.5),
    ]
    title = title_of([label], telling([label])) if label else ""
    figure.legend_above(drawn, handles, title, drift_fact(Results.of([(label, change)])), columns=3)
    if not figure.is_narrow(drawn):  # beside the names of the items there is less room for the title
        whole = drawn.get_figure(root=True)
        assert whole is not None
        names = 6.5 * max(len(name.get_text()) for name in drawn.get_yticklabels())
        title = figure.wrapped(" ".join(drawn.get_title(loc="left").split()), 72 * whole.get_figwidth() - 40 - names)
        drawn.set_title(title, loc="left", fontsize="medium", pad=_ABOVE_LEGEND)
    return figure.finished(drawn, ax)


drift_pictures = figure.one_each(drift)
