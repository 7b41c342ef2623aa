"""What a user has, as a frame: a path of a file, a DataFrame of pandas, polars or pyarrow, columns, rows."""

from __future__ import annotations

import csv
import difflib
import json
import math
import os
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import compress, islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pandas as pd

from calib.core.text import needed, printable
from calib.inputs.cells import decimal_commas
from calib.inputs.names import Source, read_name
from calib.table import TableArgumentError, TableError
from calib.table.files import MOST_BYTES, csv_rows, frame_of, from_json, guessed, json_rows, of_form, within_limit
from calib.table.frames import collected, from_arrow

_TEXTS, _LINES = (".csv", ".tsv", ".txt"), (".jsonl", ".ndjson")
_ENDINGS = (*_TEXTS, *_LINES, ".json", ".parquet", ".xlsx")
_MOST_KEYS = 50  # of objects in one column
_EXCEL_ROWS, _XML_ROW = 1_048_576, re.compile(rb"<(?:\w+:)?row[\s/>]")
_TOO_LONG = f"more than {_EXCEL_ROWS:,} rows, the most that Excel has: save it as csv or Parquet"
_MAY_BE = (
    f"must be a path ({', '.join(_ENDINGS)}), a DataFrame (of pandas, polars, pyarrow or what else speaks Arrow), "
    "a dict of columns or a list of dicts"
)
_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
# other files than their names say
_OTHERS = {
    b"PK\x03\x04": "a zip archive or an Excel file: give it the ending .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel file or one with a password: save it as .xlsx or .csv",
    b"\x1f\x8b": "a gzip file: unpack it",
    b"PAR1": "a Parquet file: give it the ending .parquet",
}


def source_of(thing: Any, argument: str) -> Source:
    r"""Anything that holds a table, as a frame that says how it was read.

    It is the path of a .csv, .tsv, .txt, .jsonl, .json, .parquet or .xlsx file (``"file.xlsx#Sheet"``: one of its
    sheets); a DataFrame of pandas or of anything that speaks Arrow or the dataframe interchange protocol; a dict of
    columns; a list of dicts. `argument` is what the caller calls it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "mine.csv")
    ...     _ = path.write_text("id;mark\n007;3,5\n\n8;4\n")
    ...     source = source_of(path, "scores")
    >>> source.frame.to_dict("list"), source.line(1)
    ({'id': ['007', '8'], 'mark': [3.5, 4.0]}, 'line 4')
    >>> source.notes
    ('cells are separated by semicolons.', 'column `mark`: numbers have decimal commas.')
    """
    source = _from_path(thing, argument) if isinstance(thing, str | os.PathLike) else _framed(thing, argument)
    frame, notes = source.frame, [*source.notes]
    if frame.empty:
        lacking = "row" if len(frame.columns) else "column"
        raise TableError(f"{source.name}: must have rows and columns, but has no {lacking}.")
    if isinstance(frame.columns, pd.MultiIndex):
        raise TableError(f"{source.name}: must have one level of column names, but has {frame.columns.nlevels}.")
    # an index that is more than a count of rows may hold the ids
    levels = frame.index.nlevels
    if levels > 1 or frame.index.name is not None or not pd.api.types.is_integer_dtype(frame.index.dtype):
        unnamed = [f"index {k + 1}" if levels > 1 else "index" for k in range(levels)]
        names = [name if own is None else str(own) for own, name in zip(frame.index.names, unnamed, strict=True)]
        if not set(names) & set(map(str, frame.columns)):
            notes.append(f"the index became a column ({', '.join(names)}).")
            frame = frame.reset_index(names=names)
    counted = isinstance(frame.index, pd.RangeIndex) and frame.index.start == 0 and frame.index.step == 1
    if not counted or frame.index.name is not None:
        frame = frame.reset_index(drop=True)
    if set(map(type, frame.columns)) != {str}:
        frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    if not frame.columns.is_unique:
        again = frame.columns[frame.columns.duplicated()][0]
        raise TableError(f"{source.name}: column `{again}` must be there once, but is there more than once.")
    if frame.columns[0] in ("column 1", "Unnamed: 0"):
        frame = _without_counter(frame, notes)
    place = 0
    while place < len(frame.columns):
        # a column of objects as one column for each of their keys: `scores` as `scores.fluency`, `scores.tone`
        name, cells = frame.columns[place], frame.iloc[:, place]
        objects = [cell for cell in cells if isinstance(cell, dict)] if cells.dtype == object else []
        keys = {f"{name}.{key}" for cell in objects for key in cell}
        place += 1
        if not 0 < len(keys) <= _MOST_KEYS or keys & set(frame.columns):
            continue
        if all(isinstance(cell, dict) or cell is None or cell != cell for cell in cells):  # noqa: PLR0124
            inner = frame_of([cell if isinstance(cell, dict) else {} for cell in cells]).add_prefix(f"{name}.")
            frame = pd.concat([frame.iloc[:, : place - 1], inner, frame.iloc[:, place:]], axis=1)
            such = ", ".join(inner.columns[:4])
            notes.append(f"`{name}` holds objects: each of their keys became a column ({such}).")
            place = 0
    return replace(source, frame=frame, name=printable(source.name), notes=tuple(map(printable, notes)))


def _without_counter(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without a first column that only counts rows, as pandas writes and reads it, where another may be of ids."""
    first = str(frame.columns[0])
    if not pd.api.types.is_integer_dtype(frame[first].dtype):
        return frame
    for name in frame.columns[1:] if frame[first].is_unique else ():
        cells = frame[name]
        with suppress(TypeError):  # of lists
            if not pd.api.types.is_float_dtype(cells.dtype) and cells.is_unique and cells.notna().all():
                notes.append("the first column has no name and counts rows: it was left out.")
                return frame.drop(columns=first)
    notes.append(f"the first column has no name; it is called `{first}`.")
    return frame


# --- in memory --------------------------------------------------------------------------------------------------


def _framed(thing: Any, argument: str) -> Source:
    if isinstance(thing, pd.DataFrame):
        return Source(thing, "the frame")
    if isinstance(thing, pd.Series):
        return Source(thing.to_frame("0" if thing.name is None else thing.name), "the series")
    thing = collected(thing)
    home = type(thing).__module__.partition(".")[0]
    name = f"the {home} {type(thing).__name__}"
    if hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__dataframe__"):
        pa = needed("pyarrow", extra="parquet", use="frames of other libraries than pandas")
        convert = needed("pyarrow.interchange", extra="parquet", use="frames of other libraries").from_dataframe
        try:
            table = pa.table(thing) if hasattr(thing, "__arrow_c_stream__") else convert(thing)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise TableArgumentError(argument, _MAY_BE, f"got {name[4:]}, which is no table: {error}") from None
        return Source(from_arrow(table), name)
    if isinstance(thing, Mapping):
        return Source(_from_columns(thing, f"`{argument}`"), "the dict")
    if isinstance(thing, Sequence) and thing and all(isinstance(row, Mapping) for row in thing):
        return Source(frame_of([dict(row) for row in thing]), "the list")
    hint = ": give the path" if hasattr(thing, "read") else ""
    kind = f"an empty {type(thing).__name__}" if isinstance(thing, list | tuple) and not thing else name[4:]
    raise TableArgumentError(argument, _MAY_BE, f"got {kind.removeprefix('builtins ')}{hint}")


def _from_columns(columns: Mapping[Any, Any], name: str) -> pd.DataFrame:
    """Columns of one length; each may be a dict by row, as pandas writes it to JSON. Or rows by their ids."""
    rows = list(columns.values())
    if rows and all(isinstance(row, Mapping) and row for row in rows):
        # rows are dicts that have names in common, of which there are fewer than rows
        names = {str(name) for row in rows for name in row}
        if len(names) < len(rows) and "id" not in names and not any(name.isdigit() for name in names):
            return frame_of([{"id": key, **row} for key, row in columns.items()])
    lists = {}
    for column, cells in columns.items():
        if isinstance(cells, str | bytes) or not hasattr(cells, "__len__"):
            by_id = f" (scores by id are {{'id': [{str(column)!r}, ...], 'score': [...]}})"
            hint = by_id if isinstance(cells, int | float) else ""
            raise TableError(f"{name}: column `{column}`: must be a list of cells, but is {str(cells)[:40]!r}{hint}.")
        lists[str(column)] = list(cells.values() if isinstance(cells, Mapping) else cells)
    lengths = {len(cells): column for column, cells in lists.items()}
    if len(lengths) > 1:
        counts = ", ".join(f"`{column}` has {length}" for length, column in lengths.items())
        raise TableError(f"{name}: columns must have one length, but {counts}.")
    return frame_of(lists)


# --- files ------------------------------------------------------------------------------------------------------


def _from_path(thing: str | os.PathLike[str], argument: str) -> Source:
    path, sheet = Path(thing).expanduser(), ""
    if ".xlsx#" in path.name.lower() and not os.path.exists(path):  # noqa: PTH110
        stem, _, sheet = str(path).rpartition("#")
        path = Path(stem)
    if not os.path.exists(path):  # noqa: PTH110 - False where a text is no path
        text = str(path) if len(str(path)) <= 200 else f"{str(path)[:200]}..."
        hint = "; download it first" if "://" in str(path) or ":/" in str(path) else _sheets_beside(path)
        raise FileNotFoundError(printable(f"{f'`{argument}`: ' if argument else ''}there is no file {text!r}{hint}."))
    named = argument or "file"
    if path.is_dir():
        folder = f"{str(path)!r} is a folder{_sheets_beside(path / '*', 'in it')}"
        raise TableArgumentError(named, "must be a file", folder)
    ending, name = within_limit(path).suffix.lower(), path.name
    if ending not in _ENDINGS:
        hint = " (save the sheet as .xlsx or .csv)" if ending in (".xls", ".xlsb", ".ods", ".numbers") else ""
        raise TableArgumentError(named, f"must end in {', '.join(_ENDINGS)}", f"got {str(path)!r}{hint}")
    if ending == ".xlsx":
        grid, name = first_sheet(path, sheet)
        frame, lines, notes = _tidied(grid, name, "row")
        return Source(frame, name, path, lambda row: f"row {lines[row]}", tuple(notes))
    if ending == ".parquet":
        parquet = needed("pyarrow.parquet", extra="parquet", use="Parquet files")
        with of_form(path, "Parquet"):
            return Source(from_arrow(parquet.read_table(path)), name, path)
    text, notes = decoded(path.read_bytes(), name)
    if ending in _TEXTS:
        frame, lines, tidy = _tidied(cut(text, name), name, "line")
        return Source(frame, name, path, lambda row: f"line {lines[row]}", (*notes, *tidy))
    if ending == ".json":
        return Source(_from_json(text, name, notes), name, path, notes=tuple(notes))
    numbers, rows = map(list, zip(*json_rows(text, name), strict=True)) if text.strip() else ([], [])
    return Source(frame_of(rows), name, path, lambda row: f"line {numbers[row]}", tuple(notes))


def _sheets_beside(path: Path, where: str = "beside it") -> str:
    """Files in the same folder that may have been meant: those of similar names, else those that hold tables."""
    try:
        names = sorted(one.name for one in path.parent.iterdir() if one.suffix.lower() in _ENDINGS)
    except (OSError, ValueError):
        return ""
    folded = {name.lower(): name for name in names}
    near = [folded[name] for name in difflib.get_close_matches(path.name.lower(), folded, n=3, cutoff=0.7)]
    likely = near or names[:5]
    return f"; {where} there is {', '.join(map(repr, likely))}" if likely else ""


def _from_json(text: str, name: str, notes: list[str]) -> pd.DataFrame:
    """A list of objects, also under one key; a dict of columns; what pandas writes with orient="split"."""
    try:
        value = from_json(text)
    except json.JSONDecodeError as error:
        raise TableError(f"{name}, line {error.lineno}: not JSON: {error.msg}.") from None
    except ValueError as error:
        raise TableError(f"{name}: {error}.") from None
    while isinstance(value, dict) and len(keys := [key for key, inner in value.items() if _holds_rows(inner)]) == 1:
        notes.append(f"rows are those under {keys[0]!r}.")
        value = value[keys[0]]
    if _is_rows(value):
        return frame_of(value)
    if not isinstance(value, dict):
        raise TableError(f"{name}: must be a list of objects or an object of columns, but is {text.strip()[:40]!r}.")
    if not {"columns", "data"} <= set(value):
        return _from_columns(value, name)
    columns, rows = value["columns"], value["data"]
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
        raise TableError(f"{name}: each row of `data` must have {len(columns)} cells, as there are `columns`.")
    return frame_of({str(column): [row[place] for row in rows] for place, column in enumerate(columns)})


def _holds_rows(value: Any, depth: int = 3) -> bool:
    """Whether it is rows, or an object with rows under one of its keys."""
    inner = value.values() if isinstance(value, dict) and depth else ()
    return _is_rows(value) or sum(_holds_rows(one, depth - 1) for one in inner) == 1


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


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
    encoding = "utf-8-sig"
    for mark, other in reversed(_MARKS):  # those of UTF-32 begin as those of UTF-16
        encoding = other if data.startswith(mark) else encoding
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
    for magic, form in _OTHERS.items():
        if data.startswith(magic):
            return form
    return ""


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
    """The first row with a name for each column that is filled below it; `top` where it has these, or no row has."""
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


def _tidied(grid: Grid, name: str, place: str) -> tuple[pd.DataFrame, list[int], list[str]]:
    """A frame, the lines of its rows, and what was passed over to make it."""
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


def refuse_long_sheets(file: BinaryIO) -> None:
    """A ValueError where a workbook is longer than Excel's are: some rows are counted before all are read."""
    book = zipfile.ZipFile(file)
    if (size := sum(part.file_size for part in book.infolist())) > MOST_BYTES:
        raise ValueError(
            f"it unpacks to {size / 1e9:.3g} GB, and {MOST_BYTES / 1e9:g} are the most; save it as Parquet"
        )
    for part in book.infolist():
        if part.filename.endswith(".xml") and "/worksheets/" in part.filename:
            with book.open(part) as sheet:
                n, end = 0, b""
                while piece := sheet.read(1_000_000):
                    # a row may begin in one piece and be told from others by the next
                    n, end = n + len(_XML_ROW.findall(end + piece)) - len(_XML_ROW.findall(end)), (end + piece)[-20:]
                    if n > _EXCEL_ROWS:
                        raise ValueError(f"{part.filename} has {_TOO_LONG}")


def _two_sides(row: list[Any]) -> bool:
    """Whether cells are names of columns of a judge and of people."""
    return {"judge", "label"} <= {read_name(cell).side for cell in row if isinstance(cell, str) and len(cell) < 40}


def first_sheet(path: Path, wanted: str = "") -> tuple[Grid, str]:
    """The first sheet with cells, or the one that is wanted, and what to call it.

    Formulas count as the values that Excel kept for them.
    """
    sheets: dict[str, list[list[Any]]] = {}
    openpyxl = needed("openpyxl", extra="excel", use="Excel files")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are no cells
            refuse_long_sheets(file)
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # some writers state them wrong
                cells = islice(sheet.iter_rows(values_only=True), _EXCEL_ROWS + 1)
                rows = sheets[sheet.title] = list(map(list, cells))
                if len(rows) > _EXCEL_ROWS:  # by their numbers, where most are empty
                    raise ValueError(f"sheet {sheet.title!r} has {_TOO_LONG}")  # noqa: TRY301 - as from openpyxl
                while rows and all(cell is None for cell in rows[-1]):  # at the end
                    rows.pop()
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
    both = [title for title, rows in filled.items() if any(_two_sides(row) for row in rows[:10])]
    name = wanted or next(iter([*both, *filled]))
    rows = sheets[name]
    width = max(map(len, rows), default=0)
    grid = Grid([[*row, *[None] * (width - len(row))] for row in rows], list(range(1, len(rows) + 1)), [])
    others = [other for other in filled if other != name]
    if others and not wanted:
        listed, more = ", ".join(map(repr, others)), [title for title in both if title != name]
        grid.notes.append(f"sheet {name!r} was read; there is also {listed} ({path.name}#{others[0]} names one).")
        if more:
            grid.notes.append(
                f"sheet {name!r} was read: {more[0]!r} has scores and labels, too ({path.name}#{more[0]})?"
            )
    return grid, f"{path.name}, sheet {name}" if others else path.name
