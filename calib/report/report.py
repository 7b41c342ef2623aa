"""Results -> one Markdown or HTML file, each number with its signature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from calib._version import __version__
from calib.core.check import ArgumentError
from calib.core.result import Result
from calib.core.topic import shown
from calib.report.parts import expanded
from calib.report.sections import Section, Thing, section_of
from calib.tables.results import Results
from calib.tables.text import visible

_THINGS = (Results, Result, pd.DataFrame, str)


def report(
    results: Thing | Sequence[Thing | tuple[str, Thing]], path: str | Path | None = None, *, title: str = "calib report"
) -> str:
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

    Returns
    -------
    str
        The text of the report.

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
    ending = ".md" if path is None else Path(path).suffix
    if ending not in (".md", ".html"):
        raise ArgumentError("path", "must end in .md or .html", f"got {str(path)!r}")
    sections = [section_of(heading, thing, pictures=ending == ".html") for heading, thing in _listed(expanded(results))]
    if not sections:
        raise ArgumentError("results", "must hold something to report", "is empty")
    text = (_markdown if ending == ".md" else _html)(title, sections)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    return text


def _listed(results: Any) -> Iterator[tuple[str, Thing]]:
    for one in [results] if isinstance(results, _THINGS) else _joined(results):
        heading, thing = one if isinstance(one, tuple) and len(one) == 2 else ("", one)
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


def _html(title: str, sections: Sequence[Section]) -> str:
    """The page; what it shows is escaped by its template."""
    from jinja2 import Environment, StrictUndefined

    source = resources.files("calib.report").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    return environment.from_string(source).render(title=title, sections=sections, version=__version__)


def _markdown(title: str, sections: Sequence[Section]) -> str:
    """The text; what it says is escaped."""
    parts = [f"# {_escaped(title)}", *(part for section in sections for part in _markdown_parts(section))]
    return "\n\n".join(parts) + "\n"


def _markdown_parts(section: Section) -> Iterator[str]:
    if section.heading:
        yield f"## {_escaped(section.heading)}"
    # at the start of a line a number or a dash would begin a list
    yield from (re.sub(r"^(\d*)([#+\-.)])", r"\1\\\2", _escaped(text)) for text in section.paragraphs)
    if section.note:
        yield f"> {_escaped(section.note)}"
    if section.table is not None:
        rule = ["---:" if number else "---" for number in section.table.numeric]
        head, *rows = ([_escaped(cell) for cell in row] for row in (section.table.heads, *section.table.rows))
        yield "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
    if section.rest:
        yield _escaped(section.rest)
    if section.signatures:
        yield "\n".join(f"- {f'row {rows}: ' * bool(rows)}`{code}`" for rows, code in section.signatures)


def _escaped(text: str) -> str:
    """Text that Markdown takes as it stands."""
    return re.sub(r"([\\`*_\[\]<>|~$&])", r"\\\1", visible(text).strip())
