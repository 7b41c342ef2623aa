"""What all plots share: axes, rows, styles, and texts that a picture can take."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from calib.core.check import ArgumentError
from calib.stats import Interval, Result
from calib.tables.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

R = TypeVar("R", bound=Result)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
INCHES_PER_ROW = 0.26


def visible(text: object, most: int | None = None) -> str:
    r"""A text on one line, without what would steer a terminal or turn the reading order.

    Examples
    --------
    >>> visible("a\x1b[31mb\nc\u202ed"), visible("a-rather-long-name-of-a-system", 16)
    ('a[31mb c\ufffdd', 'a-rather…-system')
    """
    spaced = "".join(" " if char in "\n\r\t\u2028\u2029" else char for char in str(text))
    kept = "".join(_harmless(char) for char in spaced)
    if most is None or len(kept) <= most:
        return kept
    return f"{kept[: most // 2]}…{kept[-(most - most // 2 - 1) :]}"


def _harmless(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cc":
        return ""
    # a lone surrogate cannot be written; a direction mark shows other words than are there
    return "\ufffd" if category == "Cs" or unicodedata.bidirectional(char) in _DIRECTIONS else char


_DIRECTIONS = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


def telling(labels: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names that tell labels apart; one that says nothing beyond those before it is left out.

    Examples
    --------
    >>> telling([{"criterion": "fluency", "prompt": "f-1", "rater": "a", "n_unmatched": 0},
    ...          {"criterion": "relevance", "prompt": "r-2", "rater": "a", "n_unmatched": 2}])
    ['criterion']
    """
    names: list[str] = []
    for name in dict.fromkeys(name for label in labels for name in label if not name.startswith("n_")):
        if len({place_of(label, [*names, name]) for label in labels}) > len(
            {place_of(label, names) for label in labels}
        ):
            names.append(name)
    return names


def place_of(label: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(label.get(name, "")) for name in names)


def plain_text(text: object, most: int = 40) -> str:
    """A label that matplotlib takes as it stands: no formula, and no leading underscore, which would hide it."""
    shown = visible(text, most).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


_PREFIXES = {"against": "vs ", "temperature": "T = "}


def joined_words(place: Sequence[str], names: Sequence[str]) -> str:
    words = zip(names, place, strict=True)
    return plain_text(
        " · ".join(f"{_PREFIXES.get(name, '')}{value}" for name, value in words if value not in ("", "nan"))
    )


def title_of(labels: Sequence[Mapping[str, Any]], names: Sequence[str], against: str = "") -> str:
    """What all results share: criterion, rater and the like."""
    told = {*names, "prompt", "method", "temperature", "coefficient", "level"}
    words = [
        f"{against if name == 'against' else ''}{plain_text(value)}"
        for name, value in labels[0].items()
        if name not in told and not name.startswith("n_") and value != ""
        if all(label.get(name) == value for label in labels)
    ]
    return ", ".join(words)


def span_of(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def level_words(results: Sequence[Any]) -> str:
    levels = sorted({r.confidence_level for r in results if r.interval.low == r.interval.low})
    return f" ({', '.join(f'{100 * level:g}' for level in levels)} % CI)" if levels else ""


class Mark(NamedTuple):
    """One result in its row (`place`: what names it) and series."""

    place: tuple[str, ...]
    series: str
    result: Any


class Style(NamedTuple):
    words: str
    colour: str
    marker: str
    hollow: bool = False

    @property
    def line(self) -> Literal["-", "--"]:
        return "--" if self.hollow else "-"

    @property
    def face(self) -> str:
        return "white" if self.hollow else self.colour


def look_of(place: int) -> tuple[str, str]:
    return COLOURS[place % len(COLOURS)], _MARKERS[(place + place // len(COLOURS)) % len(_MARKERS)]


class End(NamedTuple):
    """An estimate with its interval, as `draw_interval` takes it."""

    estimate: float
    interval: Interval
    confidence_level: float


def single_pair(given: Any, kind: type[R]) -> tuple[dict[str, Any], R]:
    pairs = checked_pairs([given], kind)
    if len(pairs) > 1:
        raise ArgumentError(
            "result", "must hold one result", f"has {len(pairs)}; {{0}} gives one of them", mentions=("select",)
        )
    return pairs[0]


def checked_pairs(given: Sequence[Any], kind: type[R]) -> list[tuple[dict[str, Any], R]]:
    pairs = [pair for one in given for pair in labelled_pairs(one)]
    if not pairs:
        raise ArgumentError("results", "must hold one result at least", "is empty")
    for _, result in pairs:
        if not isinstance(result, kind):
            raise TypeError(f"`results` must hold {kind.__name__} results, but got {type(result).__name__}.")
    return pairs


def labelled_pairs(given: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    if isinstance(given, Results):
        yield from zip(given.labels, given.results, strict=True)
    else:
        yield {}, given


def axes_of(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return plt.subplots(figsize=(7, 4), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))[1]


def fit(ax: Axes, *, columns: int = 0) -> Axes:
    """Give the figure of a plot with rows the room that rows (and columns), names and legend need."""
    from matplotlib.figure import Figure

    assert isinstance(ax.figure, Figure)
    longest = max((len(name.get_text()) for name in ax.get_yticklabels()), default=0)
    legend = ax.get_legend()
    lines = len(legend.get_texts()) if legend is not None else 0
    lines += max((name.get_text().count("\n") for name in ax.get_xticklabels()), default=0)
    bottom, top = ax.get_ylim()
    ax.figure.set_size_inches(
        max(2.6 + columns, 7) + 0.07 * max(longest - 20, 0), 1.1 + 0.2 * lines + INCHES_PER_ROW * (bottom - top)
    )
    return ax


def lay_rows(ax: Axes, marks: Sequence[Mark], names: Sequence[str], pitch: float) -> dict[tuple[str, ...], float]:
    """Heights of the rows, top down; where several things name a row, the first of them is a heading."""
    places = dict.fromkeys(mark.place for mark in marks)
    heads = dict.fromkeys(place[:1] for place in places) if len(names) > 1 else {(): None}
    heights: dict[tuple[str, ...], float] = {}
    end = 0.0
    for head in heads:
        lines = [head] * bool(head) + [place for place in places if place[: len(head)] == head]
        for line in lines:
            size = 1.2 if line == head else pitch
            heights[line], end = end + size / 2, end + size
    ax.set_ylim(end + 0.2, -0.2)
    _name_rows(ax, heights, names, pitch)
    return heights


def _name_rows(ax: Axes, heights: dict[tuple[str, ...], float], names: Sequence[str], pitch: float) -> None:
    rows = {place: height for place, height in heights.items() if len(place) == len(names)}
    first = len(names) > 1  # what the rows do not repeat, since the heading says it
    words = [joined_words(p[first:], names[first:]) if p in rows else joined_words(p, names[:1]) for p in heights]
    ax.set_yticks(list(heights.values()), words)
    for tick, place in zip(ax.yaxis.get_major_ticks(), heights, strict=True):
        tick.tick1line.set_visible(False)
        tick.label1.set_fontweight("normal" if place in rows else "bold")
    if pitch > 1:
        for height in list(rows.values())[::2]:
            ax.axhspan(height - pitch / 2, height + pitch / 2, color="#F4F4F4", linewidth=0, zorder=0)
    plain_frame(ax, "x")


def plain_frame(ax: Axes, lines: Literal["x", "both"] = "both") -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=lines, color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)


def draw_interval(ax: Axes, height: float, result: Any, style: Style) -> None:
    low, high = result.interval
    ax.hlines(height, low, high, colors=style.colour, linewidth=1.6, linestyles=style.line, zorder=2)
    ax.plot([result.estimate], [height], style.marker, color=style.colour, mfc=style.face, markersize=5.5, zorder=3)
