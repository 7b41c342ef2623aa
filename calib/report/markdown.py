"""Sections -> Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from calib.report.columns import Table
from calib.report.sections import Section
from calib.tables.text import visible


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The text; what it says is escaped."""
    parts = [f"# {_escaped(title)}", *(part for section in sections for part in _markdown_parts(section))]
    return "\n\n".join(parts) + "\n"


def _markdown_parts(section: Section) -> Iterator[str]:
    if section.heading:
        yield f"## {_escaped(section.heading)}"
    yield from map(_paragraph, section.paragraphs)
    if section.note:
        yield f"> {_escaped(section.note)}"
    if section.table is not None:
        yield _markdown_table(section.table)
    if section.rest:
        yield _escaped(section.rest)
    if section.signatures:
        yield "\n".join(f"- {f'row {rows}: ' * bool(rows)}`{code}`" for rows, code in section.signatures)


def _markdown_table(table: Table) -> str:
    rule = ["---:" if number else "---" for number in table.numeric]
    rows = [[_escaped(cell) for cell in row] for row in (table.heads, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _escaped(text: str) -> str:
    r"""Text that Markdown takes as it stands.

    Examples
    --------
    >>> print(_escaped("a|b <i>\n`c` [d](e) 1*2"))
    a\|b \<i\> \`c\` \[d\](e) 1\*2
    """
    return re.sub(r"([\\`*_\[\]<>|~$&])", r"\\\1", visible(text).strip())


def _paragraph(text: str) -> str:
    """The same at the start of a line, where a number or a dash would begin a list."""
    return re.sub(r"^(\d*)([#+\-.)])", r"\1\\\2", _escaped(text))
