"""Files of logs: JSON with what tools put into it, lines of it, arrays too long for memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.table import TableError

_HEAD = 1 << 20  # characters that tell whose log it is
_PIECE = 1 << 20  # characters of an array that are held at once, and more where one element is longer
_DECODER = json.JSONDecoder()
_BLANKS, _GAP = re.compile(r"\s*"), re.compile(r"[\s,]*")


def head_of(path: Path) -> str:
    """The beginning of a file, as far as it is text."""
    with path.open("rb") as file:
        return file.read(_HEAD).decode("utf-8", "replace").removeprefix("\ufeff")


def json_of(path: Path) -> Any:
    """A whole file of JSON; a bare NaN, as some tools write, is a number that is missing.

    Raises
    ------
    TableError
        If it is no JSON, or cut off; with the line.
    """
    try:
        return json.loads(path.read_text("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise _broken(path, getattr(error, "lineno", 1)) from None


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file with one on each line, one at a time; another line is a `TableError`."""
    with path.open("rb") as file:
        for place, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                found = json.loads(raw.decode("utf-8-sig", "replace"))
            except (ValueError, RecursionError):
                raise _broken(path, place) from None
            if not isinstance(found, dict):
                raise TableError(f"{path.name}, line {place}: must be an object, but is {type(found).__name__}.")
            yield found


def array_of(path: Path) -> Iterator[Any]:
    """The elements of a file that is one array, one at a time, whatever its length."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        text, line = file.read(_PIECE), 1
        at = _end_of(_BLANKS, text, 0)
        if not text.startswith("[", at):
            raise TableError(f"{path.name}: must be an array of JSON, but begins with {text[at : at + 10]!r}.")
        at += 1
        while True:
            at = wrong = _end_of(_GAP, text, at)
            if text.startswith("]", at):
                if (text[at + 1 :] + file.read(_PIECE)).strip():
                    raise TableError(f"{path.name}: must be one array of JSON, but goes on after its end.")
                return
            try:
                found, end = _DECODER.raw_decode(text, at)
                whole = end < len(text)  # a number may go on
            except (ValueError, RecursionError) as error:
                whole, wrong = False, getattr(error, "pos", at)
            if whole:
                at = end
                yield found
            elif more := file.read(max(_PIECE, len(text) - at)):
                line += text.count("\n", 0, at)
                text, at = text[at:] + more, 0
            else:
                raise _broken(path, line + text.count("\n", 0, wrong))


def _end_of(blank: re.Pattern[str], text: str, at: int) -> int:
    found = blank.match(text, at)
    return found.end() if found else at


def rows_of(path: Path) -> Iterator[Any]:
    """The objects of an array, or of lines, by how the file begins."""
    head = head_of(path).lstrip()
    if path.suffix == ".json" and head.partition("\n")[0].strip() == "{":  # one object over many lines
        yield json_of(path)
    else:
        yield from array_of(path) if head.startswith("[") else lines_of(path)


def objects_in(found: Any, path: Path, name: str) -> list[dict[str, Any]]:
    """What a log has under a name: a list of objects, or nothing; anything else is a `TableError`."""
    rows = [] if found is None else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TableError(f"{path.name}: `{name}` must be a list of objects.")
    return rows


def _broken(path: Path, line: int) -> TableError:
    return TableError(f"{path.name}, line {line}: must be whole JSON, but is broken or cut off here.")
