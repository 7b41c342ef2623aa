"""Rows of cells as they stand in a csv file or on a sheet, made a frame: names, lines, and what was forgiven."""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections import Counter
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.text import needed
from calib.inputs.cells import decimal_commas
from calib.table import TableError
from calib.table.files import csv_rows, frame_of, guessed

_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
# other files than their names say
_OTHERS = {
    b"PK\x03\x04": "a zip archive or an Excel file: give it the ending .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel file or one with a password: save it as .xlsx or .csv",
    b"\x1f\x8b": "a gzip file: unpack it",
    b"PAR1": "a Parquet file: give it the ending .parquet",
}


class Grid(NamedTuple):
    """Rows of cells, the names first, with the line that each begins in, and how they were read."""

    rows: list[list[Any]]
    lines: list[int]
    notes: list[str]
    commas: bool = False  # whether commas separate the cells, and are in no number


def decoded(data: bytes, name: str) -> tuple[str, list[str]]:
    """A file's bytes as text, and a note where the encoding had to be guessed."""
    if what := known_form(data):
        raise TableError(f"{name}: must be text, but is {what}.")
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8-sig")
    try:
        text, notes = data.decode(encoding, "surrogatepass"), []
    except UnicodeDecodeError as error:
        if encoding != "utf-8-sig" or b"\0" in data:
            raise TableError(f"{name}: must be text, but {error}.") from None
        line = data.count(b"\n", 0, error.start) + 1
        text = data.decode("cp1252", "replace")
        notes = [f"line {line} is not UTF-8: the file was read as Windows-1252 (Western European); check its accents."]
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise TableError(f"{name}, line {line}: must be text, but holds a NUL byte: save the file as UTF-8.")
    return text, notes


def known_form(data: bytes) -> str:
    """What a file is by its first bytes, where it is no text."""
    return next((what for magic, what in _OTHERS.items() if data.startswith(magic)), "")


def cut(text: str, name: str) -> Grid:
    """The rows of a csv text; the separator is the one that cuts its first rows into equally many cells."""
    first = re.match(r"sep=(.)\r?\n", text)  # as Excel writes and reads it
    separator = first[1] if first else _separator(text)
    usual = "\t" if name.lower().endswith(".tsv") else ","
    notes = [] if separator == usual else [f"cells are separated by {_SEPARATORS.get(separator, repr(separator))}."]
    text = text[first.end() :] if first else text
    names = _line_of_names(text)
    # as people type: a, b, c
    spaced = f"{separator} " in names and names.count(separator) == names.count(f"{separator} ")
    notes += ["blanks after separators were passed over."] * spaced
    try:
        rows = list(csv_rows(text, separator, spaced=spaced))
    except csv.Error as error:
        quote = " (a quote is opened and not closed?)" if "end of data" in str(error) else ""
        raise TableError(f"{name}: not a csv table: {error}{quote}.") from None
    return Grid([row for _, row in rows], [line + bool(first) for line, _ in rows], notes, separator == ",")


def _separator(text: str) -> str:
    """The first in the line of names that cuts each of the first rows into as many cells as there are names."""
    names = _line_of_names(text)
    there = sorted(filter(names.__contains__, _SEPARATORS), key=names.index)
    if there:
        return next((separator for separator in there if _cuts_alike(text, separator)), there[0])
    # under a title, which nothing cuts
    below = next((line for line in text.splitlines(keepends=True)[:10] if set(_SEPARATORS) & set(line)), "")
    rest = text[text.index(below) :]
    return next((separator for separator in _SEPARATORS if separator in below and _cuts_alike(rest, separator)), ",")


def _line_of_names(text: str) -> str:
    """The first line without what stands in quotes."""
    return re.split(r"[\r\n]", re.sub(r'"[^"]*"', '""', text.lstrip("\r\n")[:1_000_000]), maxsplit=1)[0]


def _cuts_alike(text: str, separator: str) -> bool:
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(row for _, row in islice(csv_rows(text, separator, spaced=True), 50))
    least, most = (len(_without_tail(rows[0])), len(rows[0])) if rows else (0, 0)
    return least > 1 and all(len(row) >= least and len(_without_tail(row)) <= most for row in rows)


def _without_tail(row: list[Any]) -> list[Any]:
    """A row without the empty cells at its end."""
    end = len(row)
    while end and _empty(row[end - 1]):
        end -= 1
    return row[:end]


def _empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def tidied(grid: Grid, name: str, place: str = "line") -> tuple[pd.DataFrame, list[int], list[str]]:
    """A frame, the lines of its rows, and what was passed over to make it."""
    kept = [(line, row) for line, row in zip(grid.lines, grid.rows, strict=True) if _without_tail(row)]
    if len(kept) < 2:
        raise TableError(f"{name}: must have a line of names and rows below it, but has {len(kept) or 'no'} line.")
    kept, above = _without_titles(kept, place)
    (top, head), *body = kept
    names, notes = _names(head, f"{name}, {place} {top}")
    notes = [*above, *notes]
    for line, row in body:
        if len(row) < len(names) or len(_without_tail(row)) > len(head):
            rule = f"must have as many cells as {place} {top} has names ({len(names)})"
            hint = " (a cell with a comma needs quotes around it)" * (grid.commas and len(row) > len(names))
            raise TableError(f"{name}, {place} {line}: {rule}, but has {len(row)}{hint}.")
    named = {}
    for number in range(max(len(_without_tail(row)) for _, row in kept)):
        column = names[number] if number < len(names) else ""
        cells = [row[number] if number < len(row) else "" for _, row in body]
        if not column and not all(map(_empty, cells)):
            column = f"column {number + 1}"
            if number:
                raise TableError(f"{name}, {place} {top}: must name each column, but {column} has none.")
        if column:
            named[column] = cells
    frame = _typed(named, notes, commas=not grid.commas)
    gaps = sum(line < body[-1][0] and not _without_tail(row) for line, row in zip(grid.lines, grid.rows, strict=True))
    notes += [f"{gaps} empty rows were left out."] * bool(gaps) + _headless(frame, f"{place} {top}")
    return frame, [line for line, _ in body], [*grid.notes, *notes]


def _without_titles(kept: list[tuple[int, list[Any]]], place: str) -> tuple[list[tuple[int, list[Any]]], list[str]]:
    """Without lines above the names that have one cell, where the names and all rows below may have more."""
    first = next((number for number, (_, row) in enumerate(kept) if sum(not _empty(cell) for cell in row) > 1), 0)
    titles, names = [row for _, row in kept[:first]], [cell for cell in kept[first][1] if not _empty(cell)]
    scores = any(not isinstance(cell, str) or cell.strip()[0].isdigit() for cell in names)
    if not 0 < first < len(kept) - 1 or any(_empty(row[0]) for row in titles) or scores:
        return kept, []
    words = ", ".join(repr(str(next(cell for cell in row if not _empty(cell)))[:40]) for row in titles)
    return kept[first:], [f"{place} {kept[0][0]} ({words}) stands above the names of the columns and was passed over."]


def _names(head: list[Any], at: str) -> tuple[list[str], list[str]]:
    """The names without blanks around them, each once."""
    cells = ["" if _empty(cell) else str(cell) for cell in _without_tail(head)]
    names = [cell.strip() for cell in cells]
    if again := [name for name, n in Counter(filter(None, names)).items() if n > 1]:
        places = [str(number + 1) for number, name in enumerate(names) if name == again[0]]
        raise TableError(f"{at}: column `{again[0]}` must be there once, but is column {' and '.join(places)}.")
    changed = [name for name, cell in zip(names, cells, strict=True) if name != cell]
    return names, [f"blanks around the names of columns were passed over ({', '.join(changed)})."] * bool(changed)


def _typed(columns: dict[str, list[Any]], notes: list[str], *, commas: bool) -> pd.DataFrame:
    """Columns whose cells are all numbers as numbers; with decimal commas where no comma separates the cells."""
    typed = {}
    for name, cells in columns.items():
        texts = all(isinstance(cell, str) for cell in cells)
        typed[name] = guessed(cells) if texts else cells
        filled = [cell.strip() for cell in cells if not _empty(cell)] if texts and commas else []
        if any("," in cell for cell in filled) and (numbers := decimal_commas(filled)) is not None:
            left = iter(numbers)
            typed[name] = [math.nan if _empty(cell) else next(left) for cell in cells]
            notes.append(f"column `{name}`: numbers have decimal commas.")
    return frame_of(typed)


def _headless(frame: pd.DataFrame, at: str) -> list[str]:
    """A warning where the names look like cells."""
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    counted = [str(k) for k in range(len(numeric) + 1)]  # annotators may be called 1, 2, 3
    as_number = numeric and all(re.fullmatch(r"-?\d+(\.\d+)?", str(name)) for name in numeric)
    as_number = as_number and (len(numeric) == 1 or [*map(str, numeric)] not in (counted[:-1], counted[1:]))
    again = [name for name in set(frame) - set(numeric) if (frame[name] == name).any()]
    if not as_number and not again:
        return []
    listed = ", ".join(f"`{name}`" for name in list(frame)[:4])
    return [f"{at} looks like data, but is taken for the names of the columns ({listed}): is a line of names missing?"]


# --- A sheet of an Excel file as rows of cells ------------------------------------------------------------------------


def first_sheet(path: Path, wanted: str = "") -> tuple[Grid, str]:
    """The first sheet with cells, or the one that is wanted, and what to call it.

    Formulas count as the values that Excel kept for them.
    """
    sheets: dict[str, list[list[Any]]] = {}
    openpyxl = needed("openpyxl", extra="excel", use="Excel files")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are no cells
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # some writers state them wrong
                rows = sheets[sheet.title] = [list(row) for row in sheet.iter_rows(values_only=True)]
                while rows and all(cell is None for cell in rows[-1]):  # at the end
                    rows.pop()
    except Exception as error:  # noqa: BLE001 - whatever openpyxl, zipfile and expat raise
        with path.open("rb") as file:
            form = known_form(file.read(8))
        why = str(error) if form.endswith(".xlsx") or not form else f"it is {form}"
        raise TableError(f"{path.name}: not an Excel file (.xlsx) that can be read: {why}.") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if wanted and wanted not in sheets:
        raise TableError(f"{path.name}: must have a sheet {wanted!r}, but has {', '.join(map(repr, sheets))}.")
    if not filled:
        raise TableError(f"{path.name}: must have cells, but all sheets are empty.")
    name = wanted or next(iter(filled))
    rows = sheets[name]
    width = max(map(len, rows), default=0)
    grid = Grid([[*row, *[None] * (width - len(row))] for row in rows], list(range(1, len(rows) + 1)), [])
    others = [other for other in filled if other != name]
    if others and not wanted:
        listed = ", ".join(map(repr, others))
        grid.notes.append(f"sheet {name!r} was read; there is also {listed} ({path.name}#{others[0]} names one).")
    return grid, f"{path.name}, sheet {name}" if others else path.name
