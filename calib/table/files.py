"""Tables in files: csv, jsonl, Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from calib.core.progress import stoppable
from calib.core.text import needed, printable
from calib.table.checks import CHECKS
from calib.table.columns import DEEPEST, Columns, csv_columns, depth_of, jsonl_columns, labels_of
from calib.table.frames import pandas_of
from calib.table.schema import SCHEMAS, TableArgumentError, TableError

# what makes a cell a formula, or controls a terminal; a number does neither
_STEERING = r"(?:[\t\r\n\x1b]|[\s\x00-\x1f\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20])"
_STEERS, _QUOTED = re.compile(_STEERING), re.compile(f"'+{_STEERING}")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

MOST_BYTES = 2_000_000_000  # of a file, by default


def read(path: str | Path, table: str, *, max_bytes: float = MOST_BYTES) -> pd.DataFrame:
    """Read and check a table of one kind from a .csv, .jsonl or .parquet file.

    Parameters
    ----------
    path : str or Path
    table : {"items", "ratings", "scores"}
    max_bytes : float, default 2e9
        A longer file is refused, as is a device or a pipe.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(pd.DataFrame({"item": ["007"], "output": ["A summary."]}), f"{folder}/items.csv")
    ...     read(path, "items")
      item      output
    0  007  A summary.
    """
    if table not in CHECKS:
        raise TableArgumentError("table", f"must be one of {', '.join(CHECKS)}", f"got {table!r}")
    kinds = {name: column.kind for name, column in SCHEMAS[table].items()}
    labels = {name for name, kind in kinds.items() if kind == "label"}
    texts = labels | {name for name, kind in kinds.items() if kind in ("text", "messages")}
    return CHECKS[table](_frame_in(within_limit(Path(path), max_bytes), texts, labels))


def read_frame(path: str | Path, *, texts: Collection[str] = (), max_bytes: float = MOST_BYTES) -> pd.DataFrame:
    """Read any .csv, .jsonl or .parquet file, unchecked.

    A csv column becomes numbers only if it is not one of `texts` and each of its cells
    is written as Python writes that number, so that ids such as 007 keep their zeros. Of
    the quotes before a sign that would make a formula of a cell one is taken away: it was
    put there by `write`. A file longer than `max_bytes` is refused, as is a device or a pipe.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(pd.DataFrame({"id": ["007", "8"], "words": [12, 9]}), f"{folder}/mine.csv")
    ...     read_frame(path)
        id  words
    0  007     12
    1    8      9
    """
    return _frame_in(within_limit(Path(path), max_bytes), texts, ())


def within_limit(path: Path, max_bytes: float = MOST_BYTES) -> Path:
    """A path whose file, if there is one, can be read as a whole: no device or pipe without an end, nor too long."""
    if os.path.exists(path) and not path.is_dir():  # noqa: PTH110 - False where a text is no path
        if not path.is_file():
            raise TableError(f"{path}: must be a file, but is a device or a pipe: save what comes from it first.")
        if (size := path.stat().st_size) > max_bytes:
            rule = f"must have at most {max_bytes / 1e9:.3g} GB (`max_bytes`), but has {size / 1e9:.3g}"
            more = "`calib.table.read_frame` and `calib.read_log` take a larger `max_bytes`"
            raise TableError(f"{path}: {rule}: give it in parts (`calib.Partitions`); {more}.")
    return path


def _frame_in(path: Path, texts: Collection[str], labels: Collection[str]) -> pd.DataFrame:
    """The frame of a file, in which `labels` may be categoricals already."""
    if (ending := _ending(path)) == ".parquet":
        needed("pyarrow", extra="parquet", use="Parquet files")  # pandas would name other packages, too
        with of_form(path, "Parquet"):
            return pd.read_parquet(path)
    # a byte order mark is how spreadsheets sign their csv files
    data = path.read_bytes().removeprefix("\ufeff".encode())
    columns = csv_columns(data) if ending == ".csv" else jsonl_columns(data, labels)
    if columns is None:
        with of_form(path, "UTF-8"):
            text = data.decode("utf-8", errors="surrogatepass")
        if ending == ".jsonl":
            return frame_of([row for _, row in json_rows(text, str(path))])
        columns = _cells_in(text, path)
    elif ending == ".csv" and b"'" in data:
        columns = {name: _object_array(map(_unquoted, cells), len(cells)) for name, cells in columns.items()}
    if ending == ".csv":
        for name, cells in columns.items():
            if name in labels:
                columns[name] = labels_of(cells)
            elif name not in texts:
                values = _object_array(guessed(cells.tolist()), len(cells))
                columns[name] = pd.Series(values, dtype=object).infer_objects().to_numpy()
    return pd.concat([pd.Series(each, name=name, dtype=each.dtype) for name, each in columns.items()], axis=1)


def _cells_in(text: str, path: Path) -> Columns:
    """The cells of a csv file by their columns; each row must have a cell for each name."""
    try:
        rows = [row for _, row in csv_rows(text)]
    except csv.Error as error:
        raise TableError(f"{path}: not a csv table: {error}.") from None
    if not rows:
        raise TableError(f"{path}: must have a header line, but the file is empty.")
    names = rows[0]
    if again := [name for name in names if names.count(name) > 1]:
        raise TableError(f"{path}: column `{again[0]}` must be there once, but is there more than once.")
    for number, row in enumerate(rows[1:]):
        if len(row) != len(names):
            raise TableError(f"{path}: row {number}: must have {len(names)} cells, but got {len(row)}.")
    return {name: _object_array([row[i] for row in rows[1:]], len(rows) - 1) for i, name in enumerate(names)}


def _object_array(values: Iterable[Any], n: int) -> Any:
    return np.fromiter(values, dtype=object, count=n)


def write(frame: pd.DataFrame, path: str | Path, *, for_spreadsheets: bool = False) -> Path:
    """Write a table as .csv, .jsonl or .parquet, by the ending of `path`; folders are made.

    The path comes back. The table takes the place of what was there when it is whole: where
    writing breaks off (a full disk, a signal) the file is as it was.

    Parameters
    ----------
    frame : DataFrame
    path : str or Path
    for_spreadsheets : bool, default False
        In csv, put a quote before texts that a spreadsheet would take for a formula: those
        that begin with ``=``, ``+``, ``-`` or ``@`` and are no numbers, with a tab, a line
        break or an escape. `read` and `read_frame` take it away again. The command line
        writes in this way.

    Examples
    --------
    >>> write(pd.DataFrame({"item": ["a"]}), "items.xlsx")
    Traceback (most recent call last):
        ...
    calib.table.schema.TableError: a table's file must end in .csv, .jsonl or .parquet, but got 'items.xlsx'.
    """
    path, frame = Path(path), pandas_of(frame)
    if (ending := _ending(path)) == ".parquet":
        needed("pyarrow", extra="parquet", use="Parquet files")
    path.parent.mkdir(parents=True, exist_ok=True)
    with stoppable(), whole_or_not(path) as part:
        if ending == ".parquet":
            try:
                frame.to_parquet(part, index=False)
            except UnicodeEncodeError:
                raise TableError(f"a parquet file holds no half characters; write {path.stem}.csv or .jsonl.") from None
            return path
        with part.open("w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            if ending == ".jsonl":
                heads = [f"{json.dumps(str(name), ensure_ascii=False)}: " for name in frame.columns]
                columns = [_written_column(frame.iloc[:, k], partial(_json_cell, head)) for k, head in enumerate(heads)]
                file.writelines(f"{{{', '.join(row)}}}\n" for row in _rows_of(columns, len(frame)))
            else:
                writer = csv.writer(file, quoting=csv.QUOTE_MINIMAL, lineterminator="\r\n")
                writer.writerow([_quoted_cell(str(name), for_spreadsheets) for name in frame.columns])
                columns = [
                    _written_column(column, lambda value: _quoted_cell(_csv_cell(value), for_spreadsheets))
                    for _, column in frame.items()
                ]
                writer.writerows(_rows_of(columns, len(frame)))
    return path


@contextmanager
def whole_or_not(path: Path) -> Iterator[Path]:
    """A file beside, which replaces the path in the end: half a table looks like a short one."""
    target = Path(os.path.realpath(path))
    if (path.exists() and not path.is_file()) or not os.access(target.parent, os.W_OK):
        yield path  # a pipe or a device; a file in a folder that holds no further one
        return
    part = target.with_name(f".calib-{uuid.uuid4().hex}")
    try:
        yield part
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _quoted_cell(cell: str, for_spreadsheets: bool) -> str:
    """A cell as it is written; one that begins with such a quote gets another, which reading takes away."""
    if cell[:1].isalnum():
        return cell
    steers = for_spreadsheets and _STEERS.match(cell) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if steers or _QUOTED.match(cell) else cell


def _unquoted(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and _QUOTED.match(cell) else cell


def _ending(path: Path) -> str:
    if path.suffix not in (".csv", ".jsonl", ".parquet"):
        raise TableError(f"a table's file must end in .csv, .jsonl or .parquet, but got {str(path)!r}.")
    return path.suffix


@contextmanager
def of_form(path: Path, form: str) -> Iterator[None]:
    """Errors name the file and the form that it does not have."""
    try:
        yield
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
            raise  # it cannot be read at all
        raise TableError(f"{path}: not a table in {form}: {error}.") from None


def json_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object in each line that is not blank, with the line's number."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json_object(line)
            except ValueError as error:
                raise TableError(f"{name}, line {number}: must be a JSON object, but {error}.") from None


def json_object(line: str) -> dict[str, Any]:
    value = from_json(line)
    if not isinstance(value, dict):
        raise ValueError(f"it is {line.strip()[:40]!r}")
    return value


def from_json(text: str, **options: Any) -> Any:
    """The value of a JSON text; a ValueError where it is nested too deeply to walk through."""
    try:
        value = json.loads(text, object_pairs_hook=_each_once, **options)
        deep = text.count("[") + text.count("{") > DEEPEST and depth_of(value) > DEEPEST
    except RecursionError:
        deep = True
    if deep:
        raise ValueError(f"values must be nested at most {DEEPEST} levels deep, but one is {text.strip()[:40]!r}")
    return value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that is there twice is refused."""
    value = dict(pairs)
    if len(value) < len(pairs):
        (again, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key `{printable(again)[:60]}` is there twice in one object")
    return value


def csv_rows(
    text: str, separator: str = ",", *, spaced: bool = False, most: int | None = None
) -> list[tuple[int, list[str]]]:
    r"""Each row with the line that it begins in, which is not its number: a cell may hold line breaks.

    Empty lines are no rows; with `spaced` blanks after a separator are no part of a cell; `most` reads only the first.

    Examples
    --------
    >>> csv_rows('item,output\na,"one\ntwo"\n\nb,x')
    [(1, ['item', 'output']), (2, ['a', 'one\ntwo']), (5, ['b', 'x'])]
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator, skipinitialspace=spaced)
    rows: list[tuple[int, list[str]]] = []
    limit, line, quoted = csv.field_size_limit(2**31 - 1), 1, "'" in text  # 128 kB by default
    try:
        while len(rows) != most and (row := next(reader, None)) is not None:
            if row:
                rows.append((line, [_unquoted(cell) for cell in row] if quoted else row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f"{error}, in the row that begins in line {line}") from None
    finally:
        csv.field_size_limit(limit)
    return rows


def frame_of(values: Any) -> pd.DataFrame:
    """A frame whose texts stay Python strings and whose numbers are numbers."""
    frame = pd.DataFrame(values, dtype=object)
    columns = [
        column if any(issubclass(kind, str) for kind in set(map(type, column))) else column.infer_objects()
        for _, column in frame.items()
    ]
    return pd.concat(columns, axis=1) if columns else frame


def guessed(cells: list[str]) -> list[Any]:
    """Cells as numbers or lists, where each is written as Python writes it; else as they are."""
    distinct = list(dict.fromkeys(cells))
    if cells and 2 * len(distinct) <= len(cells) and not isinstance((values := guessed(distinct))[-1], list):
        return cells if values is distinct else list(map(dict(zip(distinct, values, strict=True)).get, cells))
    for kind in (int, float, from_json):
        try:
            values = [math.nan if cell == "" else kind(cell) for cell in cells]
        except ValueError:
            continue
        if kind is from_json:
            fit = all(isinstance(value, list) for value in values)
        else:  # a gap makes floats of whole numbers, and long ids would not stay what they are
            gap = any(value != value for value in values)  # noqa: PLR0124 - NaN
            long = gap and any(isinstance(value, int) and abs(value) > 2**53 for value in values)
            fit = not long and _as_written(values, cells)
        if fit:
            return values
    return cells


def _as_written(values: list[Any], cells: list[str]) -> bool:
    """Whether each cell is how Python writes its value; for most floats the JSON encoder tells sooner."""
    if set(map(type, values)) != {float}:
        return [_csv_cell(value) for value in values] == cells
    size = np.abs(values)
    plain = (size >= 1e-4) & (size < 1e16)
    both = list(zip(values, cells, strict=True))
    if any(_csv_cell(value) != cell for value, cell in compress(both, ~plain)):
        return False
    text = ",".join(compress(cells, plain))
    return msgspec.json.encode(list(compress(values, plain))) == f"[{text}]".encode()


def _csv_cell(value: Any) -> str:
    if isinstance(value, list | tuple | np.ndarray):
        return json.dumps(_plain_value(value))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _written_column(column: pd.Series, cell: Callable[[Any], str]) -> list[str]:
    """The cells of a column as texts; equal values are converted once."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        texts = [cell(_plain_value(value)) for value in column.cat.categories.astype(object)] + [cell(None)]
        return [texts[code] for code in column.cat.codes.tolist()]
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        values = column.to_numpy()
        if values.dtype.kind == "f":  # by their bits: 0.0 is not -0.0
            number, bits = pd.factorize(values.astype(np.float64).view(np.int64))
            distinct = bits.view(np.float64)
        else:
            number, distinct = pd.factorize(values)
        texts = [cell(_plain_value(value)) for value in distinct.tolist()]
        return [texts[place] for place in number.tolist()]
    return [cell(_plain_value(value)) for value in column.astype(object).tolist()]


def _rows_of(columns: list[list[str]], n: int) -> Iterable[Sequence[str]]:
    """The rows of a table, also of one without columns."""
    return zip(*columns, strict=True) if columns else [()] * n


def _json_cell(head: str, value: Any) -> str:
    return head + json.dumps(value, ensure_ascii=False)


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain_value(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if value is pd.NA or (isinstance(value, float) and math.isnan(value)) else value
