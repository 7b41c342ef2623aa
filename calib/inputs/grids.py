"""Rows of cells from csv texts and Excel sheets: separators, titles, the line of names, and a frame of them."""

from __future__ import annotations

import csv
import math
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import compress, islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pandas as pd

from calib.core.text import needed
from calib.inputs.cells import decimal_commas
from calib.inputs.names import read_name
from calib.table import TableError
from calib.table.files import MOST_BYTES, csv_rows, frame_of, guessed

_EXCEL_ROWS, _XML_ROW = 1_048_576, re.compile(rb"<(?:\w+:)?row[\s/>]")
_MERGED = re.compile(rb'mergeCell ref="([A-Z]{1,3})(\d{1,7}):\1(\d{1,7})"')  # rows of one column
_TOO_LONG = f"more than {_EXCEL_ROWS:,} rows, the most that Excel has: save it as csv or Parquet"
_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
# those of UTF-32 first, as they begin as those of UTF-16
_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
# files that are not what their names say
_OTHERS = {
    b"PK\x03\x04": "a zip archive or an Excel file: give it the ending .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel file or one with a password: save it as .xlsx or .csv",
    b"\x1f\x8b": "a gzip file: unpack it",
    b"PAR1": "a Parquet file: give it the ending .parquet",
}


# --- csv --------------------------------------------------------------------------------------------------------


class Grid(NamedTuple):
    """Rows of cells, the names first, with the line that each begins in, and how they were read."""

    rows: list[list[Any]]
    lines: list[int]
    notes: list[str]
    commas: bool = False  # whether commas separate the cells, and are in no number


def decoded(data: bytes, name: str) -> tuple[str, list[str]]:
    """A file's bytes as text, and a note where the encoding had to be guessed."""
    if form := _other_form(data):
        raise TableError(f"{name}: must be text, but is {form}.")
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


def _other_form(data: bytes) -> str:
    """What a file is by its first bytes, where it is no text."""
    return next((form for magic, form in _OTHERS.items() if data.startswith(magic)), "")


def cut(text: str, name: str) -> Grid:
    """The rows of a csv text; the separator is the one that cuts its first rows into equally many cells."""
    first = re.match(r"sep=(.)\r?\n", text)  # as Excel writes and reads it
    text = text[first.end() :] if first else text
    # the line of names, without the texts in quotes
    names = re.split(r"[\r\n]", re.sub(r'"[^"]*"', '""', text.lstrip("\r\n")[:1_000_000]), maxsplit=1)[0]
    candidates = sorted(filter(names.__contains__, _SEPARATORS), key=names.index)
    separator, below = first[1] if first else next(iter(candidates), ","), text
    if len(candidates) == 1:  # no other may be meant
        candidates = []
    elif not candidates:  # under a title, which nothing cuts
        line = next((line for line in text.splitlines(keepends=True)[:10] if set(_SEPARATORS) & set(line)), "")
        below, candidates = text[text.index(line) :], list(filter(line.__contains__, _SEPARATORS))
    for mark in candidates if not first else ():
        top: list[list[str]] = []
        with suppress(csv.Error):
            top = [row for _, row in csv_rows(below, mark, spaced=True, most=50)]
        least, most = (_width(top[0]), len(top[0])) if top else (0, 0)
        if least > 1 and all(len(row) >= least and _width(row) <= most for row in top):
            separator = mark
            break
    usual = "\t" if name.lower().endswith(".tsv") else ","
    notes = [] if separator == usual else [f"cells are separated by {_SEPARATORS.get(separator, repr(separator))}."]
    # as people type: a, b, c
    spaced = f"{separator} " in names and names.count(separator) == names.count(f"{separator} ")
    notes += ["blanks after separators were passed over."] * spaced
    try:
        rows = csv_rows(text, separator, spaced=spaced)
    except csv.Error as error:
        quote = " (a quote is opened and not closed?)" if "end of data" in str(error) else ""
        raise TableError(f"{name}: not a csv table: {error}{quote}.") from None
    lines, cells = map(list, zip(*rows, strict=True)) if rows else ([], [])
    return Grid(cells, [line + 1 for line in lines] if first else lines, notes, separator == ",")


def _width(row: list[Any]) -> int:
    """The number of cells without the empty ones at the end."""
    n = len(row)
    while n and _empty(row[n - 1]):
        n -= 1
    return n


def _empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _line_of_names(
    rows: list[list[Any]], lines: list[int], name: str, place: str, notes: list[str]
) -> tuple[int, list[str]]:
    """Which row holds the names of columns, and the names, each once, without blanks around them."""
    top = 0
    if _width(rows[0]) == 1:  # the names may stand below lines of one cell, where they and all rows below have more
        top = next((number for number, row in enumerate(rows) if sum(not _empty(cell) for cell in row) > 1), 0)
        heads = [cell for cell in rows[top] if not _empty(cell)]
        scores = any(not isinstance(cell, str) or cell.strip()[0].isdigit() for cell in heads)
        top = 0 if scores or top == len(rows) - 1 or any(_empty(row[0]) for row in rows[:top]) else top
    top = _below_titles(rows, top)
    if top:
        words = ", ".join(repr(str(next(cell for cell in row if not _empty(cell)))[:40]) for row in rows[:top])
        notes.append(f"{place} {lines[0]} ({words}) stands above the names of the columns and was passed over.")
    texts = ["" if _empty(cell) else str(cell) for cell in rows[top][: _width(rows[top])]]
    names = list(map(str.strip, texts))
    (most, n), *_ = Counter(filter(None, names)).most_common(1)
    if n > 1:
        places = " and ".join(str(number + 1) for number, column in enumerate(names) if column == most)
        where = f"{name}, {place} {lines[top]}"
        raise TableError(f"{where}: column `{most}` must be there once, but is column {places}.")
    if names != texts:
        padded = ", ".join(column for column, text in zip(names, texts, strict=True) if column != text)
        notes.append(f"blanks around the names of columns were passed over ({padded}).")
    return top, names


def _below_titles(rows: list[list[Any]], top: int) -> int:
    """The row of names: `top`, or the first row below it that alone names each column filled further down."""
    width = max(map(len, rows))
    for number, row in enumerate(rows[: min(top + 10, len(rows) - 1)]):
        filled = [place for place, cell in enumerate(row) if not _empty(cell)]
        if number == top and len(filled) == width:
            return top
        names = [str(row[place]).strip() for place in filled]
        used = {place for below in rows[number + 1 :] for place in range(1, len(below)) if not _empty(below[place])}
        if number >= top and used <= set(filled):
            plain = all(isinstance(row[place], str) for place in filled) and len(set(names)) == len(names)
            return number if number == top or (plain and not any(name[0].isdigit() for name in names)) else top
    return top


def tidied(grid: Grid, name: str, place: str) -> tuple[pd.DataFrame, list[int], list[str]]:
    """A frame, the lines of its rows, and notes on what was passed over."""
    filled = list(map(_width, grid.rows))
    lines, rows = list(compress(grid.lines, filled)), list(compress(grid.rows, filled))
    widths = list(filter(None, filled))
    if len(rows) < 2:
        raise TableError(f"{name}: must have a line of names and rows below it, but has {len(rows) or 'no'} line.")
    notes = [*grid.notes]
    top, names = _line_of_names(rows, lines, name, place, notes)
    at, width = f"{name}, {place} {lines[top]}", max(widths[top:])
    for line, row, n in zip(lines[top + 1 :], rows[top + 1 :], widths[top + 1 :], strict=True):
        if len(row) < len(names) or n > len(rows[top]):
            rule = f"must have as many cells as {place} {lines[top]} has names ({len(names)})"
            hint = " (a cell with a comma needs quotes around it)" * (grid.commas and len(row) > len(names))
            raise TableError(f"{name}, {place} {line}: {rule}, but has {len(row)}{hint}.")
    columns = {}
    for number, cells in enumerate(islice(zip_longest(*rows[top + 1 :], fillvalue=""), width)):
        column = names[number] if number < len(names) else ""
        if not column and not all(map(_empty, cells)):
            column = f"column {number + 1}"
            if number:
                raise TableError(f"{at}: must name each column, but {column} has none.")
        if column:
            # cells that are all numbers as numbers; with decimal commas where no comma separates the cells
            numbers, texts = None, set(map(type, cells)) == {str}
            if texts and not grid.commas and any("," in cell for cell in cells):
                numbers = decimal_commas([cell.strip() for cell in cells if not _empty(cell)])
            if numbers is None:
                columns[column] = guessed(list(cells)) if texts else list(cells)
            else:
                notes.append(f"column `{column}`: numbers have decimal commas.")
                values = iter(numbers)
                columns[column] = [math.nan if _empty(cell) else next(values) for cell in cells]
    frame = frame_of(columns)
    if gaps := grid.lines.index(lines[-1]) + 1 - len(lines):
        notes.append(f"{gaps} empty rows were left out.")
    # names that look like cells
    numeric = [str(column) for column in frame if pd.api.types.is_numeric_dtype(frame[column])]
    counted = list(map(str, range(len(numeric) + 1)))  # annotators may be called 1, 2, 3
    as_number = bool(numeric) and all(map(re.compile(r"-?\d+(\.\d+)?").fullmatch, numeric))
    as_number = as_number and (len(numeric) == 1 or numeric not in (counted[:-1], counted[1:]))
    if as_number or any((frame[column] == column).any() for column in set(frame) - set(numeric)):
        data = f"{place} {lines[top]} looks like data, but is taken for the names of the columns"
        notes.append(f"{data} ({', '.join(f'`{column}`' for column in list(frame)[:4])}): is a line of names missing?")
    return frame, lines[top + 1 :], notes


# --- sheets of Excel ----------------------------------------------------------------------------------------------


def refuse_long_sheets(file: BinaryIO) -> dict[str, set[tuple[bytes, ...]]]:
    """The cells of each part that are merged over rows (column, first row, last row).

    A workbook longer than Excel allows is a ValueError before all of it is read.
    """
    merged: dict[str, set[tuple[bytes, ...]]] = {}
    book = zipfile.ZipFile(file)
    if (size := sum(part.file_size for part in book.infolist())) > MOST_BYTES:
        most = f"{MOST_BYTES / 1e9:g} are the most; save it as Parquet"
        raise ValueError(f"it unpacks to {size / 1e9:.3g} GB, and {most}")
    for part in book.infolist():
        if part.filename.endswith(".xml") and "/worksheets/" in part.filename:
            with book.open(part) as sheet:
                n, end = 0, b""
                while piece := sheet.read(1_000_000):
                    # the tag of a row may be cut between two pieces
                    merged.setdefault(part.filename, set()).update(_MERGED.findall(end + piece))
                    n, end = n + len(_XML_ROW.findall(end + piece)) - len(_XML_ROW.findall(end)), (end + piece)[-50:]
                    if n > _EXCEL_ROWS:
                        raise ValueError(f"{part.filename} has {_TOO_LONG}")
    return merged


def first_sheet(path: Path, wanted: str = "") -> tuple[Grid, str]:
    """The first sheet with cells, or the one that is wanted, and what to call it.

    Formulas count as the values that Excel kept for them.
    """
    sheets: dict[str, list[list[Any]]] = {}
    n_merged: dict[str, int] = {}
    openpyxl = needed("openpyxl", extra="excel", use="Excel files")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are no cells
            merged = refuse_long_sheets(file)
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # some writers state them wrong
                cells = islice(sheet.iter_rows(values_only=True), _EXCEL_ROWS + 1)
                rows = sheets[sheet.title] = list(map(list, cells))
                if len(rows) > _EXCEL_ROWS:  # by their numbers, where most are empty
                    raise ValueError(f"sheet {sheet.title!r} has {_TOO_LONG}")  # noqa: TRY301 - as from openpyxl
                while rows and all(cell is None for cell in rows[-1]):  # at the end
                    rows.pop()
                part = sheet._worksheet_path.lstrip("/")  # noqa: SLF001 - openpyxl has no merged cells of what it only reads
                n_merged[sheet.title] = _fill_merged(rows, merged.get(part, ()))
    except Exception as error:  # noqa: BLE001 - whatever openpyxl, zipfile and expat raise
        with path.open("rb") as file:
            magic = file.read(8)
        form = _other_form(magic)
        why = str(error) if form.endswith(".xlsx") or not form else f"it is {form}"
        raise TableError(f"{path.name}: not an Excel file (.xlsx) that can be read: {why}.") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if wanted and wanted not in sheets:
        raise TableError(f"{path.name}: must have a sheet {wanted!r}, but has {', '.join(map(repr, sheets))}.")
    if not filled:
        raise TableError(f"{path.name}: must have cells, but all sheets are empty.")
    both = []  # sheets with names of columns of a judge and of people
    for title, rows in filled.items():
        sides = [{read_name(one).side for one in row if isinstance(one, str) and len(one) < 40} for row in rows[:10]]
        both += [title] * any({"judge", "label"} <= side for side in sides)
    name = wanted or next(iter([*both, *filled]))
    rows = sheets[name]
    width = max(map(len, rows), default=0)
    grid = Grid([[*row, *[None] * (width - len(row))] for row in rows], list(range(1, len(rows) + 1)), [])
    if n_merged[name]:
        grid.notes.append(f"{n_merged[name]} merged texts stand for each of their rows.")
    others = [other for other in filled if other != name]
    if others and not wanted:
        listed, more = ", ".join(map(repr, others)), [title for title in both if title != name]
        grid.notes.append(f"sheet {name!r} was read; there is also {listed} ({path.name}#{others[0]} names one).")
        if more:
            text = f"{more[0]!r} has scores and labels, too ({path.name}#{more[0]})?"
            grid.notes.append(f"sheet {name!r} was read: {text}")
    return grid, f"{path.name}, sheet {name}" if others else path.name


def _fill_merged(rows: list[list[Any]], merged: Iterable[tuple[bytes, ...]]) -> int:
    """Write the text of cells merged over rows into each row; returns how many such texts there are."""
    n = 0
    for letters, first, last in merged:
        column, top, end = -1, int(first) - 1, int(last)
        for letter in letters:
            column = 26 * (column + 1) + letter - ord("A")
        if 0 <= top < end <= len(rows) and column < len(rows[top]) and isinstance(text := rows[top][column], str):
            n += 1
            for row in rows[top + 1 : end]:
                row.extend([None] * (column + 1 - len(row)))
                row[column] = text
    return n
