"""The sections of a report as Markdown; what it says is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import Any

import pandas as pd

from calib._version import __version__
from calib.core.check import ArgumentError, as_typed
from calib.core.progress import progress
from calib.core.result import Result
from calib.core.text import source_hash
from calib.core.topic import shown
from calib.gate.verdict import Verdict
from calib.report.columns import Table
from calib.report.front import Answer, Front, fronted
from calib.report.parts import expanded
from calib.report.sections import Section, Thing, item_by_item, paragraphs_of, said_of_items, section_of
from calib.table.results import Results
from calib.table.text import Report, markdown_text, visible

_LONG = 200  # characters of a cell


def markdown(title: str, notes: Sequence[str], front: Front, sections: Sequence[Section]) -> str:
    """The text: the same parts in the same order as on the page."""
    parts = [f"# {markdown_text(title)}", *map(_paragraph, notes)]
    if front.answers:
        parts.append("\n".join(map(_bullet, front.answers)))
    parts += [part for section in sections for part in _parts(section)]
    if front.left_out:
        parts.append(_paragraph(front.left_out))
    return "\n\n".join(parts) + "\n"


def _bullet(answer: Answer) -> str:
    light = f"**{answer.shape} {markdown_text(answer.says)}** " if answer.light else ""
    mind = f" (⚠ {markdown_text(answer.mind)})" if answer.mind else ""
    return f"- {light}{markdown_text(answer.text)}{mind}"


def _parts(section: Section) -> Iterator[str]:
    if section.heading:
        yield f"## {markdown_text(section.heading)}"
    yield from map(_paragraph, section.paragraphs)
    yield from (f"> {markdown_text(note)}" for note in section.notes)
    if section.table is not None:
        yield _table(section.table)
    if section.cautions:
        yield "\n".join(
            f"- ⚠ **{markdown_text(name)}**{f' ({markdown_text(of)})' * bool(of)}: {markdown_text(text)}"
            for name, of, text in section.cautions
        )
    for part in section.parts:
        yield from (f"### {markdown_text(part.heading)}", *map(_paragraph, part.says), _table(part.table))
    if section.rest:
        yield markdown_text(section.rest)
    if section.signatures:
        yield "\n".join(f"- {f'row {rows}: ' * bool(rows)}`{code}`" for rows, code in section.signatures)


def _table(table: Table) -> str:
    rule = ["---:" if number else "---" for number in table.numeric]
    head, *rows = ([markdown_text(_short(cell)) for cell in row] for row in (table.heads, *table.rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _short(cell: str) -> str:
    """In plain text nothing is folded."""
    return cell if len(cell) <= _LONG else f"{cell[:_LONG]}…"


def _paragraph(text: str) -> str:
    """At the start of a line a number or a dash would begin a list."""
    return re.sub(r"^(\d*)([#+\-.)])", r"\1\\\2", markdown_text(text))


# --- results -> one Markdown or HTML file -----------------------------------------------------------------------------


_THINGS = (Results, Result, pd.DataFrame, str)


def report(
    results: Thing | Verdict | Sequence[Thing | Verdict | tuple[str, Thing | Verdict]],
    path: str | Path | None = None,
    *,
    title: str = "calib report",
    notes: str = "",
) -> Report:
    r"""Write results down, as Markdown or as one self-contained HTML file with pictures.

    Parameters
    ----------
    results : sequence
        Of `Results`, single results, DataFrames and texts (a paragraph each), in the order
        of the report; each may be a pair (heading, thing). Means of one thing by several
        methods, one after the other, are one section with one picture. Or a `calib.look`: all that it says can be
        computed.
    path : str or Path, optional
        Ends in .md or .html; folders are made. Default: Markdown, written nowhere.
    title : str
    notes : str
        A paragraph or several, parted by empty lines, under the title.

    Returns
    -------
    Report
        Its `text` and its `path`. A notebook shows the page; `print` says where it is, or the text if nowhere.

    Raises
    ------
    ValueError
        If `path` has another ending or there is nothing to report.
    TypeError
        If something is of another kind.

    Examples
    --------
    >>> from calib.stats import mean_interval
    >>> print(report([("Quality", mean_interval([3, 4, 4, 5, 4]))], title="Five labels"))  # doctest: +ELLIPSIS
    # Five labels
    <BLANKLINE>
    - Mean human score is 4, 95 % CI \[3.122, 4.878\], from 5 human labels.
    <BLANKLINE>
    ## Quality
    <BLANKLINE>
    human mean = 4, 95 % CI \[3.122, 4.878\], from 5 human labels (people alone).
    <BLANKLINE>
    | estimate | std. error | 95 % CI |
    | ---: | ---: | ---: |
    | 4.000 | 0.316 | \[3.122, 4.878\] |
    <BLANKLINE>
    Also: method people alone, estimand human mean, judge's weight 0, human labels 5, n 5, ...
    <BLANKLINE>
    - `t|of:human-mean|alt:two-sided|cl:0.95|gold:5|n:5|lam:0|v:0.2.0`
    <BLANKLINE>
    """
    as_typed(report, locals())
    ending = ".md" if path is None else Path(path).suffix
    if ending not in (".md", ".html"):
        raise ArgumentError("path", "must end in .md or .html", f"got {str(path)!r}")
    pairs = list(_listed(expanded(results)))
    if not pairs:
        raise ArgumentError("results", "must hold something to report", "is empty")
    of_page = ending == ".html"
    of_items = [said_of_items(thing) for _, thing in pairs]
    # a table that is all about items stands in their section alone
    rest = [pair for pair, said in zip(pairs, of_items, strict=True) if said is None or isinstance(pair[1], Results)]
    sections = [
        section_of(*pair, anchor=f"s{i}", pictures=of_page)
        for i, pair in enumerate(progress(rest, "sections"), start=1)
    ]
    if said := [frame for frame in of_items if frame is not None]:
        sections.append(item_by_item(said, f"s{len(rest) + 1}"))
    # texts without a heading that come before all else
    opening = list(takewhile(lambda section: not section.heading and section.table is None, sections))
    told = [*paragraphs_of(notes), *(paragraph for section in opening for paragraph in section.paragraphs)]
    front, sections = fronted(sections[len(opening) :])
    text = (_html if of_page else markdown)(title, told, front, sections)
    if path is None:
        return Report(text)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
    return Report(text, Path(path))


def _listed(results: Any) -> Iterator[tuple[str, Thing]]:
    several = isinstance(results, Iterable) and not isinstance(results, _THINGS)
    for one in _joined(results) if several else [results]:
        heading, thing = one if isinstance(one, tuple) and len(one) == 2 else ("", one)
        if isinstance(thing, Verdict):
            heading, thing = heading or f"Gate of {thing.system}: {thing.outcome}", thing.checks
        if not isinstance(thing, _THINGS) or not isinstance(heading, str):
            wanted = "results, DataFrames and texts, or pairs (heading, thing)"
            raise TypeError(f"`results` must hold {wanted}, but got {one!r:.60}.")
        yield heading, thing


def _joined(results: Any) -> list[Any]:
    """Means of one thing by several methods, given one after the other without a heading, are one section."""
    kept: list[Any] = []
    means = False
    for one in results:
        again, means = means, isinstance(one, Results) and len(one) > 0 and all(shown(type(r)).joined for r in one)
        if again and means and one.labels == kept[-1].labels[: len(one)]:
            kept[-1] += one
        else:
            kept.append(one)
    return kept


def _html(title: str, notes: Sequence[str], front: Front, sections: Sequence[Section]) -> str:
    """The page; what it shows is escaped by its template, and the one script that runs is named by its hash."""
    from jinja2 import Environment, StrictUndefined

    template, style, script = (_file(name) for name in ("report.html.j2", "page.css", "page.js"))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    said: dict[str, Any] = {"title": title, "notes": notes, "front": front, "sections": sections}
    made: dict[str, Any] = {
        "style": style,
        "script": script,
        "script_hash": source_hash(script),
        "version": __version__,
    }
    return environment.from_string(template).render(said | made).lstrip()


def _file(name: str) -> str:
    return resources.files("calib.report").joinpath(name).read_text(encoding="utf-8")
