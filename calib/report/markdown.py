"""The sections of a report as Markdown; what it says is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from calib.report.columns import Table
from calib.report.front import Answer, Front
from calib.report.sections import Section
from calib.table.text import markdown_text

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
