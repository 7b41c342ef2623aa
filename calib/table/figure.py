"""Parts of all plots: axes, rows, styles, legends, maps of cells."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from calib.core.check import ArgumentError, Floats
from calib.core.result import Interval, Result
from calib.table.results import Results
from calib.table.text import joined_words, level_words, place_of, plain_text, telling, title_of, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

R = TypeVar("R", bound=Result)
Cell = tuple[int, int]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
GREY = "#6E6E6E"
_NARROW = 4.5  # inches
_SHORT = 10  # characters of a name that has room beside its row on a phone
_FEW_LEVELS = 20  # of scores, between which points are told apart
_ROOM = 0.08  # share of a bar from which on its number fits into it
ON_LIGHT, ON_DARK = "#111111", "#FEFEFE"  # ink on a coloured area, whatever the colour of the page
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")


class Mark(NamedTuple):
    """One result in its row and series."""

    place: tuple[str, ...]  # what names the row
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

    def handle(self, *, line: bool = True) -> Line2D:
        """The style in a legend."""
        look: dict[str, Any] = {"marker": self.marker, "mfc": self.face, "linestyle": self.line if line else ""}
        return handle(self.words, color=self.colour, markersize=5, **look)


def one_each(plot: Callable[..., Axes]) -> Callable[[Results[Any]], list[Callable[..., Axes]]]:
    """The drawings of a report in which each result has a picture of its own."""
    return lambda results: [partial(plot, results[place : place + 1]) for place in range(len(results))]


def colour_and_marker(place: int) -> tuple[str, str]:
    return COLOURS[place % len(COLOURS)], _MARKERS[(place + place // len(COLOURS)) % len(_MARKERS)]


def styles_of(words: Mapping[str, str]) -> dict[str, Style]:
    """A style for each series, by what it is called in the legend."""
    return {series: Style(text, *colour_and_marker(place)) for place, (series, text) in enumerate(words.items())}


class End(NamedTuple):
    """An estimate with its interval, as `draw_interval` takes it."""

    estimate: float
    interval: Interval
    confidence_level: float


def single_pair(result: Any, kind: type[R]) -> tuple[dict[str, Any], R]:
    single = checked(kind, result)
    if len(single) > 1:
        several = f"has {len(single)}; {{0}} gives one of them"
        raise ArgumentError("result", "must hold one result", several, mentions=("select",))
    return single.labels[0], single[0]


def checked(kind: type[R], *results: Any) -> Results[R]:
    """All results in a row; one that stands alone has no label."""
    pairs: list[tuple[dict[str, Any], Any]] = []
    for one in results:
        pairs += zip(one.labels, one.results, strict=True) if isinstance(one, Results) else [({}, one)]
    if not pairs:
        raise ArgumentError("results", "must hold one result at least", "is empty")
    for _, result in pairs:
        if not isinstance(result, kind):
            raise TypeError(f"`results` must hold {kind.__name__} results, but got {type(result).__name__}.")
    return Results.of(pairs)


def axes_of(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return plt.subplots(figsize=(7, 4), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))[1]


def finished(drawn: Axes, ax: Axes | None) -> Axes:
    """A plot with rows: in a figure of its own it gets the room it needs, in that of a user it is left alone."""
    return drawn if ax is not None else fit(drawn)


def fit(ax: Axes) -> Axes:
    """Give the figure of a plot with rows the room that rows, columns, names and legend need."""
    from matplotlib.figure import Figure

    assert isinstance(ax.figure, Figure)
    longest = 0 if is_narrow(ax) else max((len(name.get_text()) for name in ax.get_yticklabels()), default=0)
    legend = ax.get_legend()
    lines = sum(1 + text.get_text().count("\n") for text in legend.get_texts()) if legend is not None else 0
    lines += max((name.get_text().count("\n") for name in ax.get_xticklabels()), default=0)
    lines += ax.get_xlabel().count("\n") + ax.get_title(loc="left").count("\n")
    columns = len(ax.get_xticks()) if ax.xaxis.get_ticks_position() == "top" else 0  # a map has names there
    bottom, top = ax.get_ylim()
    least, wanted = (ax.figure.get_figwidth(), 0.82 * columns) if is_narrow(ax) else (7.0, 2.6 + columns)
    width, height = max(least, wanted), 1.0 + 0.2 * lines + 0.26 * (bottom - top)
    ax.figure.set_size_inches(width + 0.07 * max(longest - 20, 0), height)
    return ax


def is_narrow(ax: Axes) -> bool:
    """Whether the figure is as narrow as a phone: names then stand above their rows."""
    return _points(ax)[0] < 72 * _NARROW


def _points(ax: Axes) -> tuple[float, float]:
    """Width and height of the figure."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return 72 * figure.get_figwidth(), 72 * figure.get_figheight()


def wrapped(words: str, points: float, size: float = 10.0) -> str:
    """Words on as many lines as a width in points makes of them."""
    most = max(int(points / (0.61 * size)), 12)
    return "\n".join(part for line in words.split("\n") for part in textwrap.wrap(line, most) or [""])


def wrap_words(ax: Axes) -> None:
    """Names of axes and words of the legend on as many lines as the figure's size makes of them."""
    width, height = _points(ax)
    beside = [len(tick.get_text()) for tick in ax.get_yticklabels() if tick.get_horizontalalignment() != "left"]
    ax.set_xlabel(wrapped(ax.get_xlabel(), width - 30 - 5.5 * max(beside, default=0)))
    ax.set_ylabel(wrapped(ax.get_ylabel(), 0.8 * height))
    legend = ax.get_legend()
    for text in legend.get_texts() if legend is not None else ():
        room = width - 45 - 5.5 * max(beside, default=0) - 25 * bool(ax.get_ylabel())
        text.set_text(wrapped(text.get_text(), room, 8.33))


class RowAxes(NamedTuple):
    """Axes with a row for each result: what names the rows, the results in their places, how high these are."""

    ax: Axes
    facts: Sequence[Mapping[str, Any]]
    names: list[str]
    marks: list[Mark]
    heights: dict[tuple[str, ...], float]
    alone: bool  # in a figure of its own
    styles: Mapping[str, Style]  # of the series, where these are drawn

    @property
    def heads(self) -> list[str]:
        return list(dict.fromkeys(mark.place[0] for mark in self.marks))

    @property
    def level(self) -> str:
        """The confidence level in words."""
        return level_words([mark.result for mark in self.marks])

    def finished(
        self,
        fact: str,
        handles: Sequence[Any] = (),
        against: str = "",
        *,
        title: str | None = None,
        left_out: Sequence[str] = (),
        columns: int = 1,
    ) -> Axes:
        """The axes with their legend and title: what all rows share (or `title`), and the fact that is seen in them."""
        text = title_of(self.facts, [*self.names, *left_out], against) if title is None else title
        if entries := [*(handles or self.styles.values())]:
            legend_above(self.ax, entries, text, fact, columns=columns)
        else:
            say_title(self.ax, text, fact)
        return fit(self.ax) if self.alone else self.ax


def rows_of(
    ax: Axes | None,
    facts: Sequence[Mapping[str, Any]],
    results: Sequence[Any],
    series: Sequence[str] | None = None,
    *,
    names: Sequence[str] = (),
    unnamed: str = "criterion",
    pitch: float = 0.0,
) -> RowAxes:
    """A row for what names each result; several series of one row lie side by side."""
    names = list(names) or telling(facts) or [unnamed]
    of = series or [""] * len(results)
    marks = [Mark(place_of(fact, names), s, r) for fact, s, r in zip(facts, of, results, strict=True)]
    drawn = axes_of(ax)
    heights = lay_rows(drawn, marks, names, pitch or 0.6 * _most_in_a_row(marks) + 0.4)
    return RowAxes(drawn, facts, names, marks, heights, ax is None, {})


def rows_of_series(
    ax: Axes | None,
    entries: Iterable[tuple[Mapping[str, Any], str, Any]],
    styles: Mapping[str, Style],
    *,
    step: float = 0.6,
    **options: Any,
) -> RowAxes:
    """Rows with their intervals, `step` apart: each entry is what names its row, its series, its estimate."""
    facts, series, ends = zip(*entries, strict=True)
    rows = rows_of(ax, facts, ends, series, **options)
    rows = rows._replace(styles={name: style for name, style in styles.items() if name in series})
    draw_series(rows, rows.styles, step)
    return rows


def _most_in_a_row(marks: Sequence[Mark]) -> int:
    """How many series lie side by side: one, where each row has a series of its own."""
    return len({mark.series for mark in marks}) if len({mark.place for mark in marks}) < len(marks) else 1


def draw_series(rows: RowAxes, styles: Mapping[str, Style], step: float = 0.6) -> None:
    """The interval of each mark in the style of its series, those of one row in the order of the styles."""
    order = list(styles) if _most_in_a_row(rows.marks) > 1 else [""]
    for mark in rows.marks:
        offset = step * (order.index(mark.series) - (len(order) - 1) / 2) if len(order) > 1 else 0.0
        draw_interval(rows.ax, rows.heights[mark.place] + offset, mark.result, styles[mark.series])


class Piece(NamedTuple):
    """A part of a bar, with what stands in it."""

    share: float
    colour: Any
    words: str
    ink: str


def shades(number: int, first: float = 0.2, last: float = 0.95) -> list[tuple[float, float, float, float]]:
    """Blues, by default from light to dark."""
    from matplotlib import colormaps

    return [colormaps["Blues"](x) for x in np.linspace(first, last, number)]


def shaded_pieces(shares: Iterable[float], colours: Sequence[tuple[float, float, float, float]]) -> list[Piece]:
    """Pieces with their per cent, where there is room for it."""
    inks = [ON_LIGHT if sum(colour[:3]) > 1.7 else ON_DARK for colour in colours]
    words = [(share, f"{100 * share:.0f}" if share >= _ROOM else "") for share in shares]
    return [Piece(share, c, text, ink) for (share, text), c, ink in zip(words, colours, inks, strict=True)]


def draw_pieces(ax: Axes, height: float, pieces: Iterable[Piece], thick: float, **look: Any) -> None:
    """A bar of several pieces, one behind the other."""
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
    left = 0.0
    for piece in pieces:
        ax.barh(height, piece.share, thick, left=left, color=piece.colour, zorder=2, **look)
        if piece.words:
            ax.text(left + piece.share / 2, height, piece.words, color=piece.ink, **middle)
        left += piece.share
    ax.set_xlim(0, 1)


def patches(names: Iterable[str], colours: Iterable[Any]) -> list[Patch]:
    """Areas for a legend."""
    from matplotlib.patches import Patch

    return [Patch(color=colour, label=name) for name, colour in zip(names, colours, strict=True)]


def per_cent(axis: Axis) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")


def zero_line(ax: Axes) -> None:
    ax.axvline(0, color="black", linewidth=0.8, zorder=1)


def log_ticks(ax: Axes, values: Sequence[int]) -> None:
    ax.set_xscale("log")
    named, apart = [values[0]], 1.5 if is_narrow(ax) else 1.0
    for value in values[1:]:  # those that are far enough apart for their names, and the last
        named += [value] * (value >= apart * named[-1])
    ax.set_xticks(values, [str(value) if value in named else "" for value in values])
    ax.set_xticks([], minor=True)


def say_title(ax: Axes, title: str, fact: str = "") -> None:
    """What all results of a plot share, and what is seen in it, on as many lines as the figure's width makes of it."""
    text = ": ".join(filter(None, (title, plain_text(fact, 200))))
    ax.set_title(wrapped(text, _points(ax)[0] - 60), loc="left", fontsize="medium")


def handle(words: str, **look: Any) -> Line2D:
    """A line or a marker for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=words, **look)


def legend_above(ax: Axes, handles: Sequence[Any], title: str, fact: str = "", *, columns: int = 1) -> None:
    """A legend above the plot, of styles or handles, and the title above that."""
    handles = [entry.handle() if isinstance(entry, Style) else entry for entry in handles]
    columns = 1 if is_narrow(ax) else columns
    look: dict[str, Any] = {"bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "frameon": False, "fontsize": "small"}
    ax.legend(handles=handles, loc="lower left", ncols=columns, **look)
    say_title(ax, title, fact)
    ax.set_title(ax.get_title(loc="left"), loc="left", pad=8 + 14.5 * math.ceil(len(handles) / columns))


def lay_rows(ax: Axes, marks: Sequence[Mark], names: Sequence[str], pitch: float) -> dict[tuple[str, ...], float]:
    """Heights of the rows, top down; where several things name a row, the first of them is a heading."""
    places = dict.fromkeys(mark.place for mark in marks)
    first = len(names) > 1  # what the rows do not repeat, since the heading has it
    heads = dict.fromkeys(place[:1] for place in places) if first else {(): None}
    longest = max(len(joined_words(place[first:], names[first:])) for place in places)
    above = 0.9 if is_narrow(ax) and longest > _SHORT else 0.0
    heights: dict[tuple[str, ...], float] = {}
    named: dict[tuple[str, ...], float] = {}  # where the names stand
    end = 0.0
    for head in heads:
        if head:
            named[head], end = end + 0.6, end + 1.2
        for place in (place for place in places if place[: len(head)] == head):
            heights[place], end = end + above + pitch / 2, end + above + pitch
            named[place] = heights[place] - (above + pitch) / 2 + 0.45 if above else heights[place]
    ax.set_ylim(end + 0.2, -0.2)
    is_row = [len(place) == len(names) for place in named]
    parts = [(p[first:], names[first:]) if row else (p, names[:1]) for p, row in zip(named, is_row, strict=True)]
    ax.set_yticks(list(named.values()), [joined_words(*part) for part in parts])
    for tick, row in zip(ax.yaxis.get_major_ticks(), is_row, strict=True):
        tick.tick1line.set_visible(False)
        tick.label1.set_fontweight("normal" if row else "bold")
    if above:
        _names_above(ax)
        ax.spines["left"].set_visible(False)
    plain_frame(ax, "x")
    if pitch > 1 or above:
        for height in list(heights.values())[::2]:
            ax.axhspan(height - pitch / 2 - above, height + pitch / 2, color="#F4F4F4", linewidth=0, zorder=0)
    return heights


def _names_above(ax: Axes) -> None:
    """Names of rows within the axes, from their left end on."""
    for tick in ax.yaxis.get_major_ticks():
        tick.label1.set_horizontalalignment("left")
    ax.tick_params(axis="y", pad=-3)


def plain_rows(ax: Axes, heights: Sequence[float], names: Sequence[str], ends: tuple[float, float]) -> None:
    """Names at their heights, without marks."""
    ax.set_yticks(heights, names)
    ax.set_ylim(*ends)
    ax.tick_params(axis="y", length=0)
    plain_frame(ax, "x")


def plain_frame(ax: Axes, lines: Literal["x", "y", "both"] = "both") -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=lines, color="#DDDDDD", linewidth=0.6)
    if lines == "y":
        ax.grid(axis="x", visible=False)
    ax.set_axisbelow(True)


def draw_interval(ax: Axes, height: float, result: Any, style: Style) -> None:
    low, high = result.interval
    ax.hlines(height, low, high, colors=style.colour, linewidth=1.6, linestyles=style.line, zorder=2)
    ax.plot([result.estimate], [height], style.marker, color=style.colour, mfc=style.face, markersize=5.5, zorder=3)


# --- clouds of points -------------------------------------------------------------------------------------------------


def spread_out(values: Floats, rng: np.random.Generator) -> Floats:
    """Scores on few levels moved a little; the same array where equal scores are rare."""
    levels = np.unique(values)
    if not len(levels) < len(values) or len(levels) > _FEW_LEVELS:
        return values
    gap = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
    return values + 0.3 * gap * rng.uniform(-1, 1, len(values))


def name_points(ax: Axes, x: Floats, y: Floats, names: Sequence[str]) -> None:
    """A name beside each point, on the side where it hides least of the others."""
    if not names:
        return
    ax.margins(0.12, 0.1)
    at = np.column_stack([(v - v.min()) / (np.ptp(v) or 1.0) for v in (x, y)]) * [0.7 * p for p in _points(ax)]
    boxes: list[tuple[float, float, float]] = [(px, py, 5.0) for px, py in at]  # middles and half widths in points
    sides = {"left": (7, 0), "right": (-7, 0), "center": (0, 9)}
    for place, name in enumerate(names):
        half, choices, others = 2.6 * len(name), list[Any](), [box for k, box in enumerate(boxes) if k != place]
        for side, (dx, dy) in [*sides.items(), ("center", (0, -9))]:
            mx, my = at[place] + [dx + half * np.sign(dx), dy]
            hidden = sum(max(half + w - abs(mx - px), 0) * max(10 - abs(my - py), 0) for px, py, w in others)
            choices.append((hidden, len(choices), side, (dx, dy), (mx, my, half)))
        _, _, side, offset, box = min(choices)
        boxes.append(box)
        look: dict[str, Any] = {"ha": side, "va": "center", "fontsize": "small"}
        ax.annotate(name, (x[place], y[place]), offset, textcoords="offset points", **look)


def draw_counts(ax: Axes, x: Floats, y: Floats, what: str) -> None:
    """Counts of points as colours: single marks would hide each other and make a page of megabytes."""
    edges = []
    for values in (x, y):  # a bin for each level of few, forty of equal width of many
        levels = np.unique(values)
        if len(levels) > _FEW_LEVELS:
            edges.append(np.linspace(levels[0], levels[-1], 41))
        elif len(levels) == 1:
            edges.append(np.array([levels[0] - 0.5, levels[0] + 0.5]))
        else:
            middle = (levels[1:] + levels[:-1]) / 2
            edges.append(np.concatenate([[2 * levels[0] - middle[0]], middle, [2 * levels[-1] - middle[-1]]]))
    counts = np.histogram2d(x, y, bins=edges)[0]
    shade = np.ma.masked_equal(counts, 0).T
    # from the smallest count on, so that a single one is seen
    mesh = ax.pcolormesh(*edges, shade, cmap="viridis_r", norm="log" if counts.max() > 10 else None)
    ax.figure.colorbar(mesh, ax=ax, pad=0.02, label=what)


def draw_cells(
    ax: Axes, rows: Sequence[str], columns: Sequence[str], cells: Mapping[Cell, Any], framed: Collection[Cell]
) -> None:
    """Coloured cells, two units high, with their numbers; from 0 where nothing is negative, else both ways from 0."""
    from matplotlib.patches import Rectangle

    table = np.full((len(rows), len(columns)), np.nan)
    for place, result in cells.items():
        table[place] = result.estimate
    top = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
    signed = bool((table < 0).any())
    narrow = is_narrow(ax)
    above = 0.9 if narrow else 0.0
    tops = [row * (2 + above) + above for row in range(len(rows))]
    heights = [*tops, tops[-1] + 2]
    if narrow:  # empty rows, where the names stand
        table = np.insert(table, np.arange(table.shape[0]), np.nan, axis=0)
        heights = [0.0, *(end for top in tops for end in (top, top + 2))]
    edges = np.arange(table.shape[1] + 1), np.array(heights)
    colours: dict[str, Any] = {"cmap": "RdBu" if signed else "Blues", "vmin": -top if signed else 0.0, "vmax": top}
    mesh = ax.pcolormesh(*edges, np.ma.masked_invalid(table), edgecolors="white", linewidth=1.5, **colours)
    for (row, column), result in cells.items():
        red, green, blue, alpha = mesh.to_rgba(np.ma.masked_invalid([result.estimate]))[0]
        ink = ON_DARK if alpha and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else ON_LIGHT
        middle: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
        low, high = result.interval
        number = "none" if math.isnan(result.estimate) else f"{result.estimate:.3f}"
        ax.text(column + 0.5, tops[row] + (1 if math.isnan(low) else 0.7), number, **middle)
        if not math.isnan(low):
            ends = f"{low:.2f}, {high:.2f}" if narrow else f"[{low:.2f}, {high:.2f}]"
            ax.text(column + 0.5, tops[row] + 1.45, ends, fontsize="small", **middle)
        if (row, column) in framed:
            look: dict[str, Any] = {"fill": False, "linestyle": (0, (3, 2)), "linewidth": 1.1, "edgecolor": ink}
            ax.add_patch(Rectangle((column + 0.05, tops[row] + 0.2), 0.9, 1.6, **look))
    if not narrow:  # the numbers stand in the cells
        ax.figure.colorbar(mesh, ax=ax, fraction=0.04, pad=0.02)
    ax.set_ylim(tops[-1] + 2, 0)
    ax.set_yticks([top + (-0.45 if narrow else 1) for top in tops], rows)
    most, size = (11, "small") if narrow else (14, "medium")
    lines = ["\n".join(textwrap.wrap(visible(name, 36), most)).replace("$", r"\$") for name in columns]
    ax.set_xticks([place + 0.5 for place in range(len(columns))], lines, fontsize=size)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    if narrow:
        _names_above(ax)
    ax.spines[:].set_visible(False)
