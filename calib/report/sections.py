"""Results -> the sections of a report: what they say, their table, their pictures, their signatures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import pandas as pd

from calib.core.result import Result, sentence
from calib.core.topic import shown, words_of
from calib.report.columns import Table, digest, table_of
from calib.report.pictures import Picture, pictures_of
from calib.tables.results import Results, conclusions
from calib.tables.text import by_text, visible

Thing: TypeAlias = "Results | Result | pd.DataFrame | str"


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
    signatures = _signatures(results)
    if len(signatures) > 1:
        frame.insert(0, "#", range(1, len(frame) + 1))
    return Section(
        heading,
        _sentences(results),
        visible(" ".join(_notes(results))),
        pictures_of(results) if pictures else [],
        table_of(frame, _interval_head(results)),
        " ".join(filter(None, (rest, f"Assumed: {assumed}" * bool(assumed)))),
        signatures,
    )


def together(results: Results) -> Results:
    """Several methods for one thing one after the other."""
    keys = [{name: str(value) for name, value in label.items() if name[:2] != "n_"} for label in results.labels]
    order = sorted(range(len(keys)), key=lambda place: keys.index(keys[place]))
    return Results(tuple(results.labels[i] for i in order), tuple(results[i] for i in order))


def said_of(results: Results, what: str) -> list[str]:
    """The notes or assumptions that the topic of each type of result has."""
    kinds = dict.fromkeys(map(type, results))
    said = {kind: words_of(kind, what) for kind in kinds}
    return [text for kind, say in said.items() if say for text in say([r for r in results if type(r) is kind])]


def _interval_head(results: Results) -> str:
    parts = [getattr(result, shown(type(result)).interval_of, result) for result in results]
    levels = {getattr(part, "confidence_level", None) for part in parts}
    return f"{100 * level:g} % CI" if len(levels) == 1 and (level := levels.pop()) else "interval"


def _sentences(results: Results) -> list[str]:
    """The results' own words where a table would not say it all."""
    if len(results) == 1:
        one = results[0]
        return [sentence(one) + f" {one.conclusion}" * shown(type(one)).adds]
    return conclusions(results) if all(shown(type(result)).speaks for result in results) else []


def _notes(results: Results) -> list[str]:
    """What a reader has to mind."""
    warned = by_text(results.labels, results, lambda result: getattr(result, "warnings", ()))
    return said_of(results, "notes") + [
        f"Mind{f' ({names})' * bool(names)}: {text.rstrip('.')}." for text, names in warned
    ]


def _signatures(results: Results) -> list[tuple[str, str]]:
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
