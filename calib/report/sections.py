"""Results -> the sections of a report: what they say, their table, their pictures, their signatures."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from calib.core.result import Result
from calib.core.topic import shown, topic_of, words_of
from calib.report.columns import Table, digest, table_of
from calib.tables.figure import fit
from calib.tables.results import Results, conclusions
from calib.tables.text import by_text, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Thing: TypeAlias = "Results[Any] | Result | pd.DataFrame | str"


class Picture(NamedTuple):
    """A picture as a data URI, and in words."""

    uri: str
    words: str


class Section(NamedTuple):
    """Part of a report; nothing in it is escaped yet."""

    heading: str
    paragraphs: Sequence[str] = ()
    note: str = ""
    pictures: Sequence[Picture] = ()
    table: Table | None = None
    rest: str = ""
    signatures: Sequence[tuple[str, str]] = ()


def section_of(heading: str, thing: Thing, *, pictures: bool) -> Section:
    """What a report says of one thing."""
    if isinstance(thing, str):
        return Section(heading, [part for part in re.split(r"\n\s*\n", thing) if part.strip()])
    if isinstance(thing, pd.DataFrame):
        says = not isinstance(thing.index, pd.RangeIndex)
        return Section(heading, table=table_of(thing.reset_index() if says else thing))
    results = together(thing) if isinstance(thing, Results) else Results(({},), (thing,))
    if not len(results):
        return Section(heading, ["There are no results."])
    frame, rest = digest(results)
    assumed = " ".join(said_of(results, "assumptions"))
    warned = by_text(results.labels, results, lambda result: getattr(result, "warnings", ()))
    minded = [f"Mind{f' ({names})' * bool(names)}: {text.rstrip('.')}." for text, names in warned]
    signatures = _signatures(results)
    if len(signatures) > 1:
        frame.insert(0, "#", range(1, len(frame) + 1))
    return Section(
        heading,
        _sentences(results),
        visible(" ".join([*said_of(results, "notes"), *minded])),
        [_picture(draw) for draw in _drawings(results)] if pictures else [],
        table_of(frame, interval_head(results)),
        " ".join(filter(None, (rest, f"Assumed: {assumed}" * bool(assumed)))),
        signatures,
    )


def together(results: Results[Any]) -> Results[Any]:
    """Several methods for one thing one after the other."""
    keys = [{name: str(value) for name, value in label.items() if name[:2] != "n_"} for label in results.labels]
    order = sorted(range(len(keys)), key=lambda place: keys.index(keys[place]))
    return Results.of((results.labels[i], results[i]) for i in order)


def said_of(results: Results[Any], what: str) -> list[str]:
    """The notes or assumptions that the topic of each type of result has."""
    said = {kind: words_of(kind, what) for kind in map(type, results)}
    return [text for kind, say in said.items() if say for text in say([r for r in results if type(r) is kind])]


def interval_head(results: Results[Any]) -> str:
    """What the column of intervals is called: by their level, if they have one."""
    parts = [getattr(result, shown(type(result)).interval_of, result) for result in results]
    levels = {getattr(part, "confidence_level", None) for part in parts}
    return f"{100 * level:g} % CI" if len(levels) == 1 and (level := levels.pop()) else "interval"


def _sentences(results: Results[Any]) -> list[str]:
    """The results' own words where a table would not say it all."""
    if len(results) == 1:
        one = results[0]
        return [f"{str(one).removesuffix('.')}." + f" {one.conclusion}" * shown(type(one)).adds]
    return conclusions(results) if all(shown(type(result)).speaks for result in results) else []


def _signatures(results: Results[Any]) -> list[tuple[str, str]]:
    """Each signature once, with the rows of the table that it is of, unless that is all of them."""
    owners: dict[str, list[int]] = {}
    last = 0
    for result in results:
        first, last = last + 1, last + len(result.to_frame())
        owners.setdefault(result.signature, []).extend(range(first, last + 1))
    return [(_ranges(rows) if len(owners) > 1 else "", signature) for signature, rows in owners.items()]


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers with runs drawn together.

    Examples
    --------
    >>> _ranges([1, 2, 3, 7, 9, 10])
    '1-3, 7, 9-10'
    """
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _drawings(results: Results[Any]) -> list[Callable[..., Axes]]:
    """What a report shows of results of one type."""
    kind, *others = {type(result) for result in results}
    if others:
        return []
    topic, look = topic_of(kind), shown(kind)
    choose, first = (topic.function("plots", name) for name in (look.pictures, "".join(look.plots[:1])))
    if choose is not None:
        return list(choose(results))
    parts = [results[place : place + 1] for place in range(len(results))] if look.apart else [results]
    return [partial(first, part) for part in parts if first is not None]


def _picture(draw: Callable[..., Axes]) -> Picture:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # a figure of its own, not of pyplot: nothing is shown in a session or left open
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    draw(ax=ax)
    if ax.yaxis_inverted():  # rows, from the top down
        fit(ax)
    image = io.BytesIO()
    # the salt and no metadata: the same results give the same file
    with rc_context({"svg.hashsalt": "calib", "svg.fonttype": "path"}):
        figure.savefig(image, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    words = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel()))).replace("\n", ", ")
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(image.getvalue()).decode()}", f"Picture: {words}")
