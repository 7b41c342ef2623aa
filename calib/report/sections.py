"""Sections of a report: results in words, tables and pictures, and a table of single items."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from calib.core.result import Interval, Result
from calib.core.topic import display_function, display_of, topic_of
from calib.report.columns import Table, informative, informative_columns, table_of
from calib.table import figure
from calib.table.results import Results, conclusions
from calib.table.text import Block, by_text, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KEYS = ("item", "criterion", "judge", "prompt", "method", "temperature")
_ROWS = 200  # of a page that can be sent
_FIRST = (*KEYS, "for", "judge's score", "the map's verdict", "the judge's verdict", "set", "mean", "conf_low",
          "conf_high", "sd", "confidence")  # fmt: skip
_FOLDS = "The map of a labelled document did not see its labels, so one judge's score may have several means."
_LAST = "sort"  # the column that says which rows come first; it is not shown
_MANY = 5  # rows that a reader may want to sort
_MOST_ROWS = 150  # of a picture; more would be minutes of drawing that nobody reads
_MOST_TOGETHER = 36  # rows of one picture; of more there is one for each criterion
_MOST_PANELS = 8
_MOST_OWNERS = 6  # rows that a caution names
_NUMBER = re.compile(r"(?<![\w.'\"`-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\w)")  # that stands alone, not part of a name
_FEW = 2  # pictures of a section as wide as the page; more stand beside each other
_WIDE, _NARROW, _SMALL = 7.0, 3.55, 2.76  # inches; a phone of 400 px has room for the second, a row of four the third
# what a dark page turns round; colours that mean something stay
_OF_THE_PAGE = {
    "#000000": "currentColor", "#ffffff": "var(--paper)", "#f4f4f4": "var(--band)", "#dddddd": "var(--rule)",
    "#4d4d4d": "var(--soft)", "#555555": "var(--soft)", "#6e6e6e": "var(--soft)", "#0072b2": "var(--blue)",
}  # fmt: skip
Thing: TypeAlias = Results[Any] | Result | pd.DataFrame | str


def item_by_item(frames: Sequence[pd.DataFrame], anchor: str) -> Section:
    """A section with a row for each item and judge; a number of items that nobody scrolls through is cut."""
    frame, *others = frames
    for other in others:  # a column of both stands once, with the values of the first
        frame = frame.merge(other, on=list(KEYS), how="outer", suffixes=("", " again"))
        for again in [name for name in frame if str(name).endswith(" again")]:
            name, values = again.removesuffix(" again"), frame.pop(again)
            # the table that says whom an item is for decides the order
            frame[name] = frame[name].fillna(values) if "for" not in other else values.fillna(frame[name])
    frame = frame.sort_values(_LAST, kind="stable", na_position="last").drop(columns=_LAST)
    first = [name for name in _FIRST if name in frame]
    frame = frame[[*first, *(name for name in frame if name not in first)]]
    kept, rest = informative(frame.head(_ROWS))
    says = ["The least certain items come first."]
    if "for" in frame:
        says = ["Items for people come first, the least sure first; then those that may be decided without them."]
    says += [_FOLDS] * ("mean" in frame)
    if len(frame) > _ROWS:
        says.append(f"These are the first {_ROWS} of {len(frame):,} rows; `to_frame()` has all.")
    if rest:
        says.append(f"The same in all rows: {', '.join(f'{name} {visible(value)}' for name, value in rest.items())}.")
    table = table_of(kept.round(3), "interval of the mean", sortable=True)
    return Section("Item by item", says, table=table, anchor=anchor, folds=True)


# --- A drawing -> two pictures of text and lines ----------------------------------------------------------------------


class Picture(NamedTuple):
    """A picture in two widths, as SVG, with its title and what it shows; a small one has no wide version."""

    title: str
    words: str
    wide: str
    narrow: str


def picture(draw: Callable[..., Axes], name: str, *, small: bool) -> Picture:
    """The picture that a function draws; `name` tells its parts from those of other pictures."""
    title, words, narrow = _svg(draw, _SMALL if small else _NARROW, f"{name}-narrow")
    return Picture(title, words, "" if small else _svg(draw, _WIDE, f"{name}-wide")[2], narrow)


def _svg(draw: Callable[..., Axes], width: float, name: str) -> tuple[str, str, str]:
    from markupsafe import escape
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # a figure of its own, not of pyplot: nothing is shown in a session or left open
    drawn = Figure(figsize=(width, min(4.0, 1.25 * width)), layout="constrained")
    ax = drawn.subplots()
    draw(ax=ax)
    title = " ".join(ax.get_title(loc="left").split()).replace(r"\$", "$")
    ax.set_title("", loc="left")  # the page has it, in its own letters
    words = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel()))).replace("\n", ", ")
    figure.wrap_words(ax)
    if ax.yaxis_inverted():  # rows, from the top down
        figure.fit(ax)
    image = io.BytesIO()
    # the salt and no metadata: the same results give the same file
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        drawn.savefig(image, format="svg", transparent=True, metadata=nothing)
    # without what a page does not need, in the colours of the page, with its size in its own units
    svg = image.getvalue().decode()
    inner = svg[svg.index("<svg") :]
    for idle in (r"<!--.*?-->", r"<metadata>.*?</metadata>", r"<style.*?</style>", r"\n *"):
        inner = re.sub(idle, "", inner, flags=re.DOTALL)
    # only within tags: texts stay as they are
    inner = re.sub(r"<[^>]+>", _tidy, inner)
    label = f'<svg role="img" aria-label="{escape(visible(f"Picture: {words}"))}"'
    return title, words, inner.replace("<svg", label, 1)


def _tidy(tag: re.Match[str]) -> str:
    """A tag in the colours and letters of the page, with coordinates as fine as an eye sees."""
    text = re.sub(r"^<g id=\"[^\"]*\"", "<g", tag[0])
    for pattern, new in ((r" ?font-family: [^;\"]*;?", ""), (r" transform=\"rotate\(-0 [^\"]*\"", "")):
        text = re.sub(pattern, new, text)
    text = re.sub(r"(\.\d\d)\d+", r"\1", text)
    return re.sub(r"#[0-9a-f]{6}\b(?=[;\"])", lambda colour: _OF_THE_PAGE.get(colour[0], colour[0]), text)


# --- results -> the sections of a report ------------------------------------------------------------------------------


class Caution(NamedTuple):
    """A caution: its name in the table, the rows that it is about, in words, and its text."""

    name: str
    of: str
    text: str
    texts: Sequence[str] = ()  # the warnings that it is made of


class Part(NamedTuple):
    """A table of a section under a heading of its own."""

    heading: str
    says: Sequence[str]
    table: Table


class Section(NamedTuple):
    """Part of a report; nothing in it is escaped yet."""

    heading: str
    paragraphs: Sequence[str] = ()
    answers: Sequence[Any] = ()
    notes: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    table: Table | None = None
    cautions: Sequence[Caution] = ()
    rest: str = ""
    parts: Sequence[Part] = ()
    signatures: Sequence[tuple[str, str]] = ()
    anchor: str = ""
    folds: bool = False  # has a heading that it can be opened by
    open: bool = True
    results: Results[Any] | None = None


def section_of(heading: str, thing: Thing, *, anchor: str = "", pictures: bool) -> Section:
    """The section of one thing."""
    if isinstance(thing, str):
        return Section(heading, paragraphs_of(thing), anchor=anchor, folds=bool(heading))
    if isinstance(thing, pd.DataFrame):
        indexed = not isinstance(thing.index, pd.RangeIndex)
        table = table_of(thing.reset_index() if indexed else thing)
        return Section(heading, table=table, anchor=anchor, folds=bool(heading))
    results = together(thing) if isinstance(thing, Results) else Results(({},), (thing,))
    if not heading:
        kinds = dict.fromkeys(display_of(type(r)).heading or type(r).__name__ for r in results)
        words = (re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).capitalize() for kind in kinds)
        heading = ", ".join(words) or "Results"
    # whether there is an estimate at all, or a range in place of one, where the results are estimates
    estimates = [getattr(result, "estimate", 0.0) for result in results]
    ranges = [ends.low for result in results if isinstance(ends := getattr(result, "bracket_interval", ""), Interval)]
    if all(isinstance(value, float) and np.isnan(value) for value in (*estimates, *ranges)):
        return Section(heading, anchor=anchor, results=results)
    rows = len({str({k: v for k, v in label.items() if k[:2] != "n_"}) for label in results.labels})
    drawings = _drawings(results) if pictures and rows <= _MOST_ROWS else []
    undrawn = [f"There is no picture of {rows} rows; the table can be sorted."] * (pictures and rows > _MOST_ROWS)
    assumed = " ".join(from_topics(results, "assumptions"))
    frame, rest = informative_columns(results)
    if "estimator" in frame:  # the method of a row says these
        frame = frame.drop(columns=["estimand", "guarantee", "df"], errors="ignore")
    blocks: list[Block] = from_topics(results, "blocks")
    parts = [Part(b.heading, b.says, table_of(b.frame, sortable=len(b.frame) >= _MANY)) for b in blocks]
    cautions, signatures = _named_cautions(results), _signatures(results)
    marked = _marked(frame, results, cautions, numbered=len(signatures) > 1) if len(frame) else frame
    if len(results) == 1:
        one = results[0]
        line = f"{str(one).removesuffix('.')}."
        # a class with a conclusion of its own may have it in its line
        apart = type(one).conclusion is not Result.conclusion and one.conclusion not in line
        sentences = [f"{line} {one.conclusion}" if apart else line]
    else:
        alone = any(display_of(type(result)).table_alone for result in results)
        sentences = [] if alone else conclusions(results)
    small = len(drawings) > _FEW
    return Section(
        heading, sentences, notes=[*from_topics(results, "notes"), *undrawn],
        pictures=[picture(draw, f"{anchor}-{place}", small=small) for place, draw in enumerate(drawings)],
        table=table_of(marked, interval_head(results)) if len(marked) else None, cautions=cautions, parts=parts,
        rest=" ".join(filter(None, (rest, f"Assumed: {assumed}" * bool(assumed)))), signatures=signatures,
        anchor=anchor, folds=True, results=results,
    )  # fmt: skip


def paragraphs_of(text: str) -> list[str]:
    """The paragraphs of a text, which empty lines separate."""
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def together(results: Results[Any]) -> Results[Any]:
    """The results, with several methods for one thing next to each other."""
    keys = [{name: str(value) for name, value in label.items() if name[:2] != "n_"} for label in results.labels]
    order = sorted(range(len(keys)), key=lambda place: keys.index(keys[place]))
    return Results.of((results.labels[i], results[i]) for i in order)


def from_topics(results: Results[Any], name: str) -> list[Any]:
    """The notes, assumptions or blocks that the topic of each type of result has."""
    pairs, made = list(zip(results.labels, results, strict=True)), []
    for kind in dict.fromkeys(map(type, results)):
        if make := display_function(kind, name):
            made += make(Results.of(pair for pair in pairs if type(pair[1]) is kind))
    return made


def _named_cautions(results: Results[Any]) -> list[Caution]:
    """Each warning once, by the name that it has before its colon; what has none is numbered."""
    alike: dict[str, list[tuple[str, str]]] = {}  # texts that differ in their numbers alone, and whose they are
    for text, names in by_text(results.labels, results, lambda result: getattr(result, "warnings", ())):
        alike.setdefault(_NUMBER.sub("#", text), []).append((text, names))
    cautions = []
    for place, texts in enumerate(alike.values(), start=1):
        text = _with_ranges([text for text, _ in texts])
        name, colon, more = text.partition(": ")
        named = bool(colon) and re.fullmatch(r"[a-z0-9_ -]{3,30}", name) is not None
        sentence = f"{(more if named else text).rstrip('.')}."
        made_of = [text for text, _ in texts]
        rows = sum(not set(made_of).isdisjoint(getattr(result, "warnings", ())) for result in results)
        owners = "; ".join(filter(None, (names for _, names in texts)))
        owners = owners if rows <= _MOST_OWNERS else f"{rows} of {len(results)} rows"
        cautions.append(Caution(name.replace("_", " ") if named else f"note {place}", owners, sentence, made_of))
    return cautions


def _with_ranges(texts: Sequence[str]) -> str:
    """Texts that differ in their numbers alone as one, with the lowest and the highest of each."""
    columns = [list(dict.fromkeys(values)) for values in zip(*map(_NUMBER.findall, texts), strict=True)]
    ends = ([end(values, key=lambda one: float(one.replace(",", ""))) for end in (min, max)] for values in columns)
    spans = (" to ".join(dict.fromkeys(pair)) for pair in ends)
    return _NUMBER.sub(lambda _: next(spans), texts[0])


def caution_names(result: Any, cautions: Sequence[Caution]) -> str:
    """The names of the cautions that are about one result."""
    texts = getattr(result, "warnings", ())
    return ", ".join(dict.fromkeys(c.name for c in cautions if any(text in c.texts for text in texts)))


def _marked(frame: pd.DataFrame, results: Results[Any], cautions: Sequence[Caution], *, numbered: bool) -> pd.DataFrame:
    """A frame with the cautions of each row behind its estimate, and its rows numbered, by their index."""
    if numbered:
        frame.insert(0, "#", frame.index + 1)
    marks = pd.Series([caution_names(result, cautions) for result in results for _ in range(len(result.to_frame()))])
    if any(marks):
        ends = [place for place, name in enumerate(frame, start=1) if name in ("estimate", "conf_high")]
        frame.insert(max(ends, default=len(frame.columns)), "caution", marks.loc[frame.index])
    return frame


def interval_head(results: Results[Any]) -> str:
    """What the column of intervals is called: by their level, if they have one."""
    parts = [getattr(result, display_of(type(result)).interval, result) for result in results]
    levels = {getattr(part, "confidence_level", None) for part in parts}
    return f"{100 * level:g} % CI" if len(levels) == 1 and (level := levels.pop()) else "interval"


def _signatures(results: Results[Any]) -> list[tuple[str, str]]:
    """Each signature once, with the rows of the table that it is of, unless that is all of them."""
    owners: dict[str, list[int]] = {}
    last = 0
    for result in results:
        first, last = last + 1, last + len(result.to_frame())
        owners.setdefault(result.signature, []).extend(range(first, last + 1))
    if len(owners) == 1:
        return [("", next(iter(owners)))]
    signatures = []
    for signature, rows in owners.items():  # runs of rows as 1-3
        breaks = [place for place in range(1, len(rows)) if rows[place] != rows[place - 1] + 1]
        runs = [rows[a:b] for a, b in zip([0, *breaks], [*breaks, len(rows)], strict=True)]
        words = ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
        signatures.append((words, signature))
    return signatures


def _drawings(results: Results[Any]) -> list[Callable[..., Axes]]:
    """What a report shows of results of one type, of many rows a picture for each criterion."""
    kind, *others = {type(result) for result in results}
    if others:
        return []
    criteria = dict.fromkeys(label.get("criterion") for label in results.labels)
    if len(results) > _MOST_TOGETHER and 1 < len(criteria) <= _MOST_PANELS:
        pairs = list(zip(results.labels, results, strict=True))
        same = {k for k, v in results.labels[0].items() if all(label.get(k) == v for label in results.labels)}
        pairs = [({k: v for k, v in label.items() if k not in same}, one) for label, one in pairs]
        panels = [Results.of(pair for pair in pairs if pair[0].get("criterion") == name) for name in criteria]
        return [draw for panel in panels for draw in _drawings(panel)]
    if choose := display_function(kind, "pictures"):
        return list(choose(results))
    usual = topic_of(kind).function("display", "".join(display_of(kind).plots[:1]))
    return [partial(usual, results)] if usual else []
