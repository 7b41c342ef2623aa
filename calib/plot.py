"""Result -> matplotlib Axes. One function per kind of result; they draw and compute nothing.

Each takes the `Results` of the verb of the same name (or a single result) and `ax=None`,
and returns the Axes. What an axis shows is read from the results: level, coefficient,
confidence level, n. Colours are those of Okabe and Ito, which colour-blind readers can tell
apart; markers and line styles say the same once more.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from calib._results import Results
from calib.stats import Agreement, Convergence, MeanEstimate, Result
from calib.stats._agreement import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["agreement", "convergence", "difference", "interval"]

R = TypeVar("R", bound=Result)

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_WHERE = {"item": "over items", "group": "within groups", "system": "over systems"}
_COUNTS = {"item": ("n", "items"), "group": ("n_groups", "groups"), "system": ("n_systems", "systems")}
_INCHES_PER_ROW = 0.26


def agreement(results: Results | Agreement, *, ax: Axes | None = None) -> Axes:
    """Correlations with their intervals, one row each, grouped and coloured by criterion.

    Parameters
    ----------
    results : Results of `calib.agreement`, or Agreement
        Rows are named by what tells the results apart.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items)
    >>> results = calib.agreement(human, human, level="group").select(rater="simulated-1")
    >>> print(agreement(results).get_xlabel())
    Spearman rho within groups (95 % CI)
    n = 24 groups
    """
    pairs = _checked([results], Agreement)
    facts = [label | {"coefficient": METHODS[r.method], "level": _WHERE[r.level]} for label, r in pairs]
    names = telling(facts) or ["criterion"]
    marks = [_Mark(_place(fact, names), "", r) for fact, (_, r) in zip(facts, pairs, strict=True)]
    drawn = _axes(ax)
    drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    rows = _rows(drawn, marks, names, 1)
    heads = list(dict.fromkeys(mark.place[0] for mark in marks))
    for mark in marks:
        _draw(drawn, rows[mark.place], mark.result, _Style("", *_look(heads.index(mark.place[0]))))
    drawn.set_xlabel(_agreement_words([r for _, r in pairs]))
    drawn.set_title(_title(facts, names, "against "), loc="left", fontsize="medium")
    return drawn if ax is not None else fit(drawn)


def interval(
    *results: Results | MeanEstimate, truth: Mapping[Any, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Means with their intervals, one row per system or criterion, the methods side by side.

    The judge alone is drawn hollow and dashed: its interval is not one for the human mean.

    Parameters
    ----------
    *results : Results of `calib.interval`, or MeanEstimate
        One or more, such as gold only, judge only and PPI++ of the same rows.
    truth : mapping or Series, optional
        What the mean is known to be, by row: by what names the row (a system, say), or by a
        tuple of all that does. Drawn as a line through the row.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result, or `truth` knows none of the rows.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> from calib.stats import ppi_mean
    >>> y, f = [4, 3, 5, 4, 2, 4], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8]
    >>> rest = [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3]
    >>> ax = interval(*(ppi_mean(y, f, rest, method=method) for method in ("classical", "judge_only", "ppi++")))
    >>> for text in ax.get_legend().get_texts():
    ...     print(text.get_text())
    people alone: 6 labels
    judge alone (not an interval for the human mean): 14 scores
    PPI++: 6 labels, 14 judge scores
    """
    return _means(_checked(results, MeanEstimate), truth, ax)


def difference(results: Results | MeanEstimate, *, ax: Axes | None = None) -> Axes:
    """Differences of two systems with their intervals, and a line where there is none.

    Parameters
    ----------
    results : Results of `calib.difference`, or MeanEstimate
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> from calib.stats import ppi_difference
    >>> nan = float("nan")
    >>> y_a, y_b = [4, 5, 4, nan, nan], [3, 3, 4, nan, nan]
    >>> f_a, f_b = [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3]
    >>> difference(ppi_difference(y_a, y_b, f_a, f_b, method="ppi")).get_xlabel()
    'human mean difference (95 % CI)'
    """
    drawn = _means(_checked([results], MeanEstimate), None, ax)
    drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    return drawn


def convergence(results: Results | Convergence, *, show: str = "error", ax: Axes | None = None) -> Axes:
    """What N draws give, N on a log axis.

    Parameters
    ----------
    results : Results of `calib.convergence`, or Convergence
    show : {"error", "human"}, default "error"
        "error": measured distance (RMSE) of N-draw means from the reference as points, and
        the predicted one as a line. "human": their correlation with people, the middle
        95 % over the draws as a band, the reference's own correlation as a dashed line.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result, `show` is another word, or there are no human scores to show.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import convergence as converge
    >>> draws = np.random.default_rng(1).integers(1, 6, size=(50, 10))
    >>> convergence(converge(draws, rng=1)).get_ylabel()
    'RMSE from the mean of all draws (score points)'
    """
    if show not in ("error", "human"):
        raise ValueError(f"`show` must be 'error' or 'human', but got {show!r}.")
    pairs = _checked([results], Convergence)
    if show == "human" and not any(r.human_reference == r.human_reference for _, r in pairs):
        raise ValueError("`show` 'human' needs results that were computed with `human`, but these were not.")
    drawn = _axes(ax)
    facts = [label for label, _ in pairs]
    names = telling(facts)
    for place, (label, result) in enumerate(pairs):
        curve = _error_curve if show == "error" else _human_curve
        curve(drawn, result, _Style(_joined(_place(label, names), names), *_look(place)))
    _draws_axis(drawn, [r for _, r in pairs], show)
    drawn.set_title(_title(facts, names), loc="left", fontsize="medium")
    return drawn


# --- words ------------------------------------------------------------------------------------------------------


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
        if len({_place(label, [*names, name]) for label in labels}) > len({_place(label, names) for label in labels}):
            names.append(name)
    return names


def _place(label: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(label.get(name, "")) for name in names)


def _plain(text: object, most: int = 40) -> str:
    """A label that matplotlib takes as it stands: no formula, and no leading underscore, which would hide it."""
    shown = visible(text, most).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


_PREFIXES = {"against": "vs ", "temperature": "T = "}


def _joined(place: Sequence[str], names: Sequence[str]) -> str:
    words = zip(names, place, strict=True)
    return _plain(" · ".join(f"{_PREFIXES.get(name, '')}{value}" for name, value in words if value not in ("", "nan")))


def _title(labels: Sequence[Mapping[str, Any]], names: Sequence[str], against: str = "") -> str:
    """What all results share: criterion, rater and the like."""
    told = {*names, "prompt", "method", "temperature", "coefficient", "level"}
    words = [
        f"{against if name == 'against' else ''}{_plain(value)}"
        for name, value in labels[0].items()
        if name not in told and not name.startswith("n_") and value != ""
        if all(label.get(name) == value for label in labels)
    ]
    return ", ".join(words)


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def _level_words(results: Sequence[Agreement] | Sequence[MeanEstimate]) -> str:
    levels = sorted({r.confidence_level for r in results if r.interval.low == r.interval.low})
    return f" ({', '.join(f'{100 * level:g}' for level in levels)} % CI)" if levels else ""


def _agreement_words(results: Sequence[Agreement]) -> str:
    heads = dict.fromkeys(f"{METHODS[r.method]} {_WHERE[r.level]}" for r in results)
    counts = [
        f"{_span([getattr(r, field) for r in results if r.level == level])} {unit}"
        for level, (field, unit) in _COUNTS.items()
        if any(r.level == level for r in results)
    ]
    return f"{'; '.join(heads)}{_level_words(results)}\nn = {', '.join(counts)}"


# --- rows -------------------------------------------------------------------------------------------------------


class _Mark(NamedTuple):
    """One result in its row (`place`: what names it) and series."""

    place: tuple[str, ...]
    series: str
    result: Any


class _Style(NamedTuple):
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


_ALONE = "judge alone (not an interval for the human mean)"
_METHOD_STYLES = {
    "classical": _Style("people alone", "#0072B2", "s"),
    "judge_only": _Style(_ALONE, "#6E6E6E", "o", hollow=True),
    "ppi": _Style("PPI", "#009E73", "D"),
    "ppi++": _Style("PPI++", "#D55E00", "o"),
}


def _look(place: int) -> tuple[str, str]:
    return _COLOURS[place % len(_COLOURS)], _MARKERS[(place + place // len(_COLOURS)) % len(_MARKERS)]


def _checked(given: Sequence[Any], kind: type[R]) -> list[tuple[dict[str, Any], R]]:
    pairs = [pair for one in given for pair in _labelled(one)]
    if not pairs:
        raise ValueError("`results` must hold one result at least, but is empty.")
    for _, result in pairs:
        if not isinstance(result, kind):
            raise TypeError(f"`results` must hold {kind.__name__} results, but got {type(result).__name__}.")
    return pairs


def _labelled(given: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    if isinstance(given, Results):
        yield from zip(given.labels, given.results, strict=True)
    else:
        yield {}, given


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return plt.subplots(figsize=(7, 4), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))[1]


def fit(ax: Axes) -> Axes:
    """Give the figure of a plot with rows the room that rows, names and legend need."""
    from matplotlib.figure import Figure

    assert isinstance(ax.figure, Figure)
    longest = max(len(name.get_text()) for name in ax.get_yticklabels())
    legend = ax.get_legend()
    lines = len(legend.get_texts()) if legend is not None else 0
    bottom, top = ax.get_ylim()
    ax.figure.set_size_inches(7 + 0.07 * max(longest - 20, 0), 1.1 + 0.2 * lines + _INCHES_PER_ROW * (bottom - top))
    return ax


def _rows(ax: Axes, marks: Sequence[_Mark], names: Sequence[str], pitch: float) -> dict[tuple[str, ...], float]:
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
    words = [_joined(p[first:], names[first:]) if p in rows else _joined(p, names[:1]) for p in heights]
    ax.set_yticks(list(heights.values()), words)
    for tick, place in zip(ax.yaxis.get_major_ticks(), heights, strict=True):
        tick.tick1line.set_visible(False)
        tick.label1.set_fontweight("normal" if place in rows else "bold")
    if pitch > 1:
        for height in list(rows.values())[::2]:
            ax.axhspan(height - pitch / 2, height + pitch / 2, color="#F4F4F4", linewidth=0, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)


def _draw(ax: Axes, height: float, result: Any, style: _Style) -> None:
    low, high = result.interval
    ax.hlines(height, low, high, colors=style.colour, linewidth=1.6, linestyles=style.line, zorder=2)
    ax.plot([result.estimate], [height], style.marker, color=style.colour, mfc=style.face, markersize=5.5, zorder=3)


# --- means ------------------------------------------------------------------------------------------------------


def _means(
    pairs: Sequence[tuple[dict[str, Any], MeanEstimate]], truth: Mapping[Any, float] | None, ax: Axes | None
) -> Axes:
    facts, results = [label for label, _ in pairs], [r for _, r in pairs]
    names = telling(facts) or ["criterion"]
    series = _series(pairs, names)
    marks = [_Mark(_place(fact, names), s, r) for fact, s, r in zip(facts, series, results, strict=True)]
    styles = _series_styles(marks)
    drawn = _axes(ax)
    rows = _rows(drawn, marks, names, 0.6 * len(styles) + 0.4)
    for mark in marks:
        offset = 0.6 * (list(styles).index(mark.series) - (len(styles) - 1) / 2)
        _draw(drawn, rows[mark.place] + offset, mark.result, styles[mark.series])
    if truth is not None:
        _truth(drawn, rows, truth, 0.3 * len(styles) + 0.1)
    estimands = dict.fromkeys(r.estimand for r in sorted(results, key=lambda r: r.method == "judge_only"))
    drawn.set_xlabel(f"{next(iter(estimands))}{_level_words(results)}")
    _legend_above(drawn, list(styles.values()), truth is not None, _title(facts, names, "gold by "))
    return drawn if ax is not None else fit(drawn)


def _series(pairs: Sequence[tuple[dict[str, Any], MeanEstimate]], names: Sequence[str]) -> list[str]:
    """Which series each result is of: its method, and the number of it where a row has several of one method."""
    seen: dict[tuple[Any, ...], int] = {}
    series = []
    for label, result in pairs:
        key = (_place(label, names), result.method)
        seen[key] = seen.get(key, 0) + 1
        series.append(f"{result.method} {seen[key]}")
    return series


def _series_styles(marks: Sequence[_Mark]) -> dict[str, _Style]:
    styles: dict[str, _Style] = {}
    for mark in sorted(marks, key=lambda m: list(_METHOD_STYLES).index(m.result.method)):
        again = int(mark.series.rpartition(" ")[2]) - 1
        style = _METHOD_STYLES[mark.result.method]
        colour, marker = (style.colour, style.marker) if not again else _look(again + 2)
        results = [m.result for m in marks if m.series == mark.series]
        styles[mark.series] = _Style(f"{style.words}: {_material(results)}", colour, marker, style.hollow)
    return styles


def _material(results: Sequence[MeanEstimate]) -> str:
    labels, scores = (_span([getattr(r, name) for r in results]) for name in ("n_gold", "n"))
    return {"classical": f"{labels} labels", "judge_only": f"{scores} scores"}.get(
        results[0].method, f"{labels} labels, {scores} judge scores"
    )


def _truth(ax: Axes, rows: dict[tuple[str, ...], float], truth: Mapping[Any, float], half: float) -> None:
    known = {tuple(map(str, key)) if isinstance(key, tuple) else str(key): value for key, value in truth.items()}
    found = {height: known.get(place, known.get(place[-1])) for place, height in rows.items()}
    drawn = {height: float(value) for height, value in found.items() if value is not None}
    if not drawn:
        there = ", ".join(repr(place[-1]) for place in list(rows)[:5])
        raise ValueError(f"`truth` must know some of the rows (such as {there}), but has {list(known)[:5]}.")
    for height, value in drawn.items():
        ax.vlines(value, height - half, height + half, colors="black", linewidth=1.4, zorder=4)


def _legend_above(ax: Axes, styles: Sequence[_Style], known: bool, title: str) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=s.colour, marker=s.marker, mfc=s.face, markersize=5, linestyle=s.line, label=s.words)
        for s in styles
    ]
    handles += [Line2D([], [], color="black", marker="|", linestyle="", markersize=9, label="truth")] * known
    above = {"bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "frameon": False, "fontsize": "small"}
    ax.legend(handles=handles, loc="lower left", **above)
    ax.set_title(title, loc="left", fontsize="medium", pad=8 + 14.5 * len(handles))


# --- draws ------------------------------------------------------------------------------------------------------

_REFERENCES = {"exact": "the exact expectation", "all draws": "the mean of all draws"}


def _error_curve(ax: Axes, result: Convergence, style: _Style) -> None:
    ax.plot(result.sizes, result.rmse_predicted, color=style.colour, linewidth=1.2)
    ax.plot(result.sizes, result.rmse, style.marker, color=style.colour, markersize=5, label=style.words)


def _human_curve(ax: Axes, result: Convergence, style: _Style) -> None:
    ax.fill_between(result.sizes, result.human_low, result.human_high, color=style.colour, alpha=0.15, linewidth=0)
    ax.axhline(result.human_reference, color=style.colour, linewidth=1, linestyle="--")
    ax.plot(
        result.sizes, result.human, style.marker, color=style.colour, linestyle="-", markersize=5, label=style.words
    )


def _draws_axis(ax: Axes, results: Sequence[Convergence], show: str) -> None:
    sizes = sorted({size for r in results for size in r.sizes})
    ax.set_xscale("log")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(f"draws per item, N   (n = {_span([r.n for r in results])} items)")
    reference = " or ".join(dict.fromkeys(_REFERENCES[r.reference] for r in results))
    if show == "error":
        ax.set_ylabel(f"RMSE from {reference} (score points)")
        ax.set_ylim(bottom=0)
    else:
        ax.set_ylabel(f"{' or '.join(dict.fromkeys(METHODS[r.method] for r in results))} with people")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E4E4E4", linewidth=0.6)
    _draws_legend(ax, reference, show)


def _draws_legend(ax: Axes, reference: str, show: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    grey = "#6E6E6E"
    handles = [handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True) if label]
    if show == "error":
        handles += [
            Line2D([], [], color=grey, marker="o", linestyle="", markersize=5, label="measured"),
            Line2D([], [], color=grey, linewidth=1.2, label="predicted from the variance of a draw"),
        ]
    else:
        handles += [
            Patch(color=grey, alpha=0.25, linewidth=0, label="middle 95 % over the draws"),
            Line2D([], [], color=grey, linewidth=1, linestyle="--", label=f"{reference} itself"),
        ]
    ax.legend(handles=handles, frameon=False, fontsize="small", ncols=1 + len(handles) // 12)
