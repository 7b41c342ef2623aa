"""Another tool's log where a table is expected: which of its fields holds the ids of the labels, and what to type."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from calib.inputs.cells import id_texts
from calib.inputs.grids import decoded
from calib.inputs.source import source_of
from calib.table import TableError
from calib.table.files import from_json, within_limit

_NAMES_JUDGE = re.compile(r"(eval|judg|grad|scor|rat)\w*model|judge", re.IGNORECASE)
_SHARED = 0.5  # of the ids of the labels at least


@contextmanager
def logs_named(first: Any, second: Any) -> Iterator[None]:
    """Where the first file is no table but a log, whose records hold the ids of the second: the lines to type."""
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
