"""What a user has, as a frame: a path of a file, a DataFrame of pandas, polars or pyarrow, columns, rows."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.progress import no_collections
from calib.core.text import HALF, needed, printable
from calib.inputs.cells import id_texts
from calib.inputs.grids import cut, decoded, first_sheet, tidied
from calib.inputs.names import ROLE_OF, Source, key
from calib.table import TableArgumentError, TableError
from calib.table.files import frame_of, from_json, json_rows, of_form, within_limit
from calib.table.frames import collected, from_arrow

_TEXTS, _LINES = (".csv", ".tsv", ".txt"), (".jsonl", ".ndjson")
ENDINGS = (*_TEXTS, *_LINES, ".json", ".parquet", ".xlsx")
_MOST_KEYS = 50  # of objects in one column
_NAMES_JUDGE = re.compile(r"(eval|judg|grad|scor|rat)\w*model|judge", re.IGNORECASE)
_SHARED = 0.5  # of the ids of labels at least, that a field of a log must hold
_MAY_BE = (
    f"must be a path ({', '.join(ENDINGS)}), a DataFrame (of pandas, polars, pyarrow or what else speaks Arrow), "
    "a dict of columns or a list of dicts"
)


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
    frame = _without_halves(replace(source, frame=frame), notes)
    return replace(source, frame=frame, name=printable(source.name), notes=tuple(map(printable, notes)))


def _without_halves(source: Source, notes: list[str]) -> pd.DataFrame:
    """The frame without half characters (of texts that were cut), which no file can hold; in ids they are refused."""
    frame = source.frame
    for name in [name for name in frame if frame[name].dtype == object]:
        with suppress(UnicodeEncodeError):
            "".join(cell for cell in frame[name] if isinstance(cell, str)).encode()
            continue
        rows = [at for at, cell in enumerate(frame[name]) if isinstance(cell, str) and HALF.search(cell)]
        if ROLE_OF.get(key(name)) == "item":
            rule = "holds half a character, which few programs can take"
            where = f"{source.name}: column `{name}`, {source.line(rows[0])}"
            raise TableError(f"{where}: the id {frame[name].iloc[rows[0]]!r} {rule}.")
        whole = [HALF.sub("\ufffd", cell) if isinstance(cell, str) else cell for cell in frame[name]]
        frame = frame.assign(**{name: pd.Series(whole, frame.index, dtype=object)})
        where = f"{source.line(rows[0])}{' and others' * (len(rows) > 1)}"
        notes.append(f"column `{name}`: half a character became \ufffd ({where}).")
    return frame


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


@no_collections()  # which take half of the time of a long file
def _from_path(thing: str | os.PathLike[str], argument: str) -> Source:
    path, sheet = Path(thing).expanduser(), ""
    if ".xlsx#" in path.name.lower() and not os.path.exists(path):  # noqa: PTH110
        stem, _, sheet = str(path).rpartition("#")
        path = Path(stem)
    if not os.path.exists(path):  # noqa: PTH110 - False where a text is no path
        text = str(path) if len(str(path)) <= 200 else f"{str(path)[:200]}..."
        hint = "; download it first" if "://" in str(path) or ":/" in str(path) else _sheets_beside(path)
        raise FileNotFoundError(printable(f"{f'`{argument}`: ' if argument else ''}there is no file {text!r}{hint}."))
    argument = argument or "file"
    if path.is_dir():
        folder = f"{str(path)!r} is a folder{_sheets_beside(path / '*', 'in it')}"
        raise TableArgumentError(argument, "must be a file", folder)
    ending, name = within_limit(path).suffix.lower(), path.name
    if ending not in ENDINGS:
        hint = " (save the sheet as .xlsx or .csv)" if ending in (".xls", ".xlsb", ".ods", ".numbers") else ""
        raise TableArgumentError(argument, f"must end in {', '.join(ENDINGS)}", f"got {str(path)!r}{hint}")
    if ending == ".xlsx":
        grid, name = first_sheet(path, sheet)
        frame, lines, notes = tidied(grid, name, "row")
        return Source(frame, name, path, lambda row: f"row {lines[row]}", tuple(notes))
    if ending == ".parquet":
        parquet = needed("pyarrow.parquet", extra="parquet", use="Parquet files")
        with of_form(path, "Parquet"):
            return Source(from_arrow(parquet.read_table(path)), name, path)
    text, notes = decoded(path.read_bytes(), name)
    if ending in _TEXTS:
        frame, lines, tidy = tidied(cut(text, name), name, "line")
        return Source(frame, name, path, lambda row: f"line {lines[row]}", (*notes, *tidy))
    if ending == ".json":
        return Source(_from_json(text, name, notes), name, path, notes=tuple(notes))
    numbers, rows = map(list, zip(*json_rows(text, name), strict=True)) if text.strip() else ([], [])
    return Source(frame_of(rows), name, path, lambda row: f"line {numbers[row]}", tuple(notes))


def _sheets_beside(path: Path, where: str = "beside it") -> str:
    """Files in the same folder that may have been meant: those of similar names, else those that hold tables."""
    try:
        names = sorted(one.name for one in path.parent.iterdir() if one.suffix.lower() in ENDINGS)
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


# --- another tool's log where a table is expected ---------------------------------------------------------------------


@contextmanager
def logs_named(first: Any, second: Any) -> Iterator[None]:
    """Where the first file is a log whose records hold the ids of the second, the error has the lines to type."""
    try:
        yield
    except TableError:
        if not isinstance(first, str | os.PathLike) or second is None:
            raise
        path, labels = Path(first), shlex.quote(str(second)) if isinstance(second, str | os.PathLike) else "LABELS"
        field, of_judge = field_of_ids(path, second)
        if not field:
            raise
        rater = "" if of_judge else " --rater JUDGE"
        line = f"calib read-log {shlex.quote(str(path))} --item {shlex.quote(field)}{rater} --out scores.csv"
        rule = f"is another tool's log, in which `{field}` holds the ids of the labels. Type `{line}`"
        raise TableError(f"{path.name}: {rule}, then `calib interval scores.csv {labels}`.") from None


def field_of_ids(path: Path, labels: Any) -> tuple[str, bool]:
    """The field of a log's records with most ids of the labels, and whether they name a judge; "" where none has."""
    records: list[Any] = []
    frame = pd.DataFrame()
    with suppress(ValueError, OSError, RecursionError):
        frame = source_of(labels, "").frame
        records = _records(from_json(decoded(within_limit(path).read_bytes(), path.name)[0]))
    fields: dict[str, set[str]] = {}
    for record in records:
        for name, text in _texts(record):
            fields.setdefault(name, set()).add(text)
    best, shared = "", _SHARED
    for name in frame:
        with suppress(TypeError):  # of lists
            ids = set(id_texts(frame[name]).dropna())
            for field, texts in fields.items() if len(ids) > 1 else ():
                if len(ids & texts) > shared * len(ids):
                    best, shared = field, len(ids & texts) / len(ids)
    return best, _NAMES_JUDGE.search(str(records[:1])) is not None


def _records(value: Any) -> list[Any]:
    """The longest list of objects in a value."""
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        return value
    inner = value.values() if isinstance(value, Mapping) else ()
    return max(map(_records, inner), key=len, default=[])


def _texts(record: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, str]]:
    """Dotted names and texts of the fields of a record."""
    for name, cell in record.items():
        if isinstance(cell, Mapping):
            yield from _texts(cell, f"{head}{name}.")
        elif isinstance(cell, str | int) and not isinstance(cell, bool):
            yield f"{head}{name}", str(cell).strip()
