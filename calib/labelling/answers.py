"""A file of people's answers as a checked frame, whoever wrote it and whatever a spreadsheet did to it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from calib.core.text import printable
from calib.inputs.cells import decimal_commas
from calib.inputs.source import Grid, cut, decoded, first_sheet
from calib.labelling.page import ANSWERS, CANNOT_SAY
from calib.table import ScaleRange, TableError, parse_scale
from calib.table.files import from_json, json_object

ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".xlsx")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
# as spreadsheets write them, in the languages of most of them
_YES = ("true", "1", "1.0", "wahr", "vrai", "vero", "verdadero", "verdadeiro", "waar", "prawda", "истина")
_NO = ("", "false", "0", "0.0", "falsch", "faux", "falso", "onwaar", "fałsz", "ложь")
_OURS = {"item", "criterion", "rater", "score"}
_LABEL_STUDIO = {"annotations", "annotation_id", "lead_time", "data"}
_OWN = 'labels of your own need no such file: calib.interval("scores.csv", "labels.csv")'


class File(NamedTuple):
    """The answers of one file: columns `ANSWERS`, and `when` as a time; where a row stands; what was forgiven."""

    name: str
    frame: pd.DataFrame
    line: Callable[[int], str]
    notes: tuple[str, ...] = ()


class _Cells(NamedTuple):
    """Rows of texts under names, the place of each, and how they were read."""

    names: list[str]
    rows: list[list[str]]
    places: list[str]
    notes: Sequence[str] = ()


def answers_in(path: Path) -> File:
    """The answers in a file of a page, or of another tool that people labelled with."""
    name = printable(path.name)
    cells = _cells_of(path, name)
    if missing := [column for column in ANSWERS if column not in cells.names]:
        lacks = f"column{'s' * (len(missing) > 1)} {', '.join(f'`{column}`' for column in missing)} missing"
        there = ", ".join(map(repr, cells.names[:12])) + ", ..." * (len(cells.names) > 12)
        if not set(cells.names) >= _OURS:
            raise TableError(f"{name}: is no export of a label page: {lacks}; there are {there}; {_OWN}.")
        judged = {"prompt", "weight", "draw", "mass", "entropy"} & set(cells.names)
        kind = "a judge's scores" if judged else "a table of scores, or an export whose header was edited"
        raise TableError(f"{name}: is no export of a label page but {kind}: {lacks}; there are {there}.")
    # half characters, which only JSON can hold, few programs take
    texts = {
        column: [row[place].encode("utf-8", "replace").decode() for row in cells.rows]
        for place, column in enumerate(cells.names)
    }
    frame = pd.DataFrame({column: texts[column] for column in ANSWERS}, dtype=object)
    return _checked(File(name, frame, cells.places.__getitem__, tuple(cells.notes)))


def _cells_of(path: Path, name: str) -> _Cells:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise TableError(f"{name}: answers are read from files that end in {', '.join(ENDINGS)}.")
    if ending == ".xlsx":
        return _of_sheet(path)
    text, notes = decoded(path.read_bytes(), name)
    objects, grid = list[tuple[str, dict[str, Any]]](), None
    if ending in (".json", ".jsonl", ".ndjson"):
        objects = _objects(text, name)
        heads = set(objects[0][1]) if objects else set()
    else:
        grid = cut(text, name)
        heads = {cell.strip() for cell in next(iter(grid.rows), [])}
    if not heads >= _OURS and heads & _LABEL_STUDIO:
        from calib.labelling.label_studio import label_studio_answers

        return _of_frame(label_studio_answers(path))
    if grid is not None:
        return _of_grid(grid, name, notes)
    names = list(dict.fromkeys(str(key) for _, row in objects for key in row))
    rows = [[_text(row.get(key)) for key in names] for _, row in objects]
    return _Cells(names, rows, [place for place, _ in objects], notes)


def _objects(text: str, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Rows of a list of objects, or of one object a line, with their places."""
    try:
        if text.lstrip().startswith("["):
            rows = from_json(text)
            if all(isinstance(row, dict) for row in rows):
                return [(f"row {number}", row) for number, row in enumerate(rows, start=1)]
            raise TableError(f"{name}: must be a list of objects.")
        whole = None
        if text.lstrip().startswith("{"):
            with suppress(json.JSONDecodeError):  # where each line is an object
                whole = from_json(text)
        if isinstance(whole, dict):
            held = [value for value in whole.values() if isinstance(value, list) and value]
            rows = held[0] if len(held) == 1 and isinstance(held[0][0], dict) else [whole]
            return [(f"row {number}", row) for number, row in enumerate(rows, start=1)]
    except ValueError as error:
        raise TableError(f"{name}: not JSON: {error}.") from None
    objects = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                objects.append((f"line {number}", json_object(line)))
            except ValueError as error:
                raise TableError(f"{name}, line {number}: must be a JSON object, but {error}.") from None
    return objects


def _of_grid(grid: Grid, name: str, notes: Sequence[str]) -> _Cells:
    kept = [(line, row) for line, row in zip(grid.lines, grid.rows, strict=True) if any(cell.strip() for cell in row)]
    if not kept:
        raise TableError(f"{name}: must have a line of names and rows below it, but is empty.")
    names = [cell.strip() for cell in kept[0][1]]
    rows = []
    for line, row in kept[1:]:
        if len(row) < len(names) or any(cell.strip() for cell in row[len(names) :]):
            rule = f"must have as many cells as line {kept[0][0]} has names ({len(names)})"
            raise TableError(f"{name}, line {line}: {rule}, but has {len(row)}.")
        rows.append(row[: len(names)])
    if again := [column for column in names if column and names.count(column) > 1]:
        raise TableError(f"{name}: column `{again[0]}` must be there once, but is there more than once.")
    return _Cells(names, rows, [f"line {line}" for line, _ in kept[1:]], notes)


def _of_sheet(path: Path) -> _Cells:
    """An export that was saved as a sheet, or a sheet that was made to be filled in."""
    grid, _ = first_sheet(path)
    names = [_text(cell).strip() for cell in grid.rows[0]]
    if set(names) >= _OURS:
        rows = [(line, [_text(cell) for cell in row]) for line, row in zip(grid.lines, grid.rows, strict=True)]
        kept = [(line, row) for line, row in rows[1:] if any(map(str.strip, row))]
        return _Cells(names, [row for _, row in kept], [f"row {line}" for line, _ in kept])
    from calib.labelling.workbook import workbook_answers

    return _of_frame(workbook_answers(path))


def _of_frame(frame: pd.DataFrame) -> _Cells:
    rows = [[_text(value) for value in row] for row in frame.astype(object).itertuples(index=False)]
    return _Cells([str(name) for name in frame], rows, [f"answer {number}" for number in range(1, len(rows) + 1)])


def _text(value: Any) -> str:
    """A value as a csv file has it."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _checked(file: File) -> File:
    """The columns as what they hold."""
    frame = file.frame
    if frame.empty:
        raise TableError(f"{file.name}: must have an answer, but has none: nothing was labelled when it was exported.")
    for column in ("item", "criterion", "rater", "page"):
        _refuse(file, column, [bool(cell.strip()) for cell in frame[column]], _MUST[column])
    same = frame["page"].str.strip() == frame["page"].iloc[0].strip()
    _refuse(file, "page", same, f"must be of one page ({frame['page'].iloc[0].strip()})")
    methods = frame["method"].str.strip()
    _refuse(file, "method", methods.isin(["human", ""]), "must be 'human' (a judge's scores are no labels of people)")
    status = frame["status"].str.strip().str.casefold()
    _refuse(file, "status", status.isin(["ok", CANNOT_SAY]), f"must be 'ok' or '{CANNOT_SAY}'")
    score, seconds, position = (_numbers(file, column) for column in ("score", "seconds", "position"))
    _refuse(file, "score", (status == "ok") == score.notna(), "must be a number exactly where `status` is 'ok'")
    _refuse(file, "score", _on_scale(file, score), "must be a value of its `scale`")
    _refuse(file, "seconds", ~(seconds < 0), "must not be negative")
    when, zoneless = _times(file)
    swapped = frame["swapped"].str.strip().str.casefold()
    _refuse(file, "swapped", swapped.isin([*_YES, *_NO]), "must be true or false")
    plain = {name: frame[name].str.strip() for name in ("rater", "criterion", "scale", "page")}
    typed = frame.assign(
        **plain, method="human", status=status, score=score, seconds=seconds, position=position,
        swapped=swapped.isin(_YES), when=when,
    )  # fmt: skip
    zones = f"{file.name}: {zoneless} times say no zone and are taken for UTC." if zoneless else ""
    return file._replace(frame=typed, notes=(*(f"{file.name}: {note}" for note in file.notes), *[zones] * bool(zones)))


_MUST = {
    "item": "must be an id",
    "criterion": "must name what was asked",
    "rater": "must say who labelled (type the name into that column)",
    "page": "must hold the hash of the page, which tells its labels from those of others",
}


def _refuse(file: File, column: str, good: Any, rule: str) -> None:
    bad = [place for place, fine in enumerate(good) if not fine]
    if bad:
        _refused(file, column, bad[0], rule)


def _refused(file: File, column: str, row: int, rule: str) -> NoReturn:
    cell = file.frame[column].iloc[row]
    excerpt = cell if len(cell) <= 40 else f"{cell[:37]}..."
    raise TableError(f"{file.name}, {file.line(row)}, column `{column}`: {rule}, but got {excerpt!r}.")


def _numbers(file: File, column: str) -> pd.Series:
    """A column of numbers, blanks as NaN; with decimal commas where no cell can be taken for anything else."""
    cells = [cell.strip() for cell in file.frame[column]]
    filled = [place for place, cell in enumerate(cells) if cell]
    out = pd.Series(math.nan, index=file.frame.index)
    plain = [place for place in filled if _NUMBER.fullmatch(cells[place])]
    if len(plain) == len(filled):
        out.iloc[filled] = [float(cells[place]) for place in filled]
    elif (values := decimal_commas([cells[place] for place in filled])) is not None:
        out.iloc[filled] = values
    else:
        odd = next(place for place in filled if place not in set(plain))
        hint = " (a spreadsheet makes dates of some numbers: export from the page again)"
        _refused(file, column, odd, f"must be a number{hint * bool(re.search('[./:-]', cells[odd]))}")
    return out


def _on_scale(file: File, score: pd.Series) -> list[bool]:
    """Whether each score is a value of the scale in its row; one without a scale may be any."""
    scales: dict[str, ScaleRange | None] = {}
    for row, text in enumerate(file.frame["scale"]):
        if text not in scales:
            try:
                scales[text] = parse_scale(text.strip())
            except TableError as error:
                raise TableError(f"{file.name}, {file.line(row)}, column `scale`: {error}") from None
    on_scale = []
    for text, value in zip(file.frame["scale"], score, strict=True):
        scale = scales[text]
        if scale is None or math.isnan(value):
            on_scale.append(True)
        else:  # a person gives one of its values, and no mean of them
            values = scale.values  # noqa: PD011 - of a scale, not of a Series
            on_scale.append(value in values if values else scale.low <= value <= scale.high)
    return on_scale


def _times(file: File) -> tuple[pd.Series, int]:
    """Times in UTC, and how many of them say no zone."""
    moments, zoneless = [], 0
    for row, cell in enumerate(file.frame["time"]):
        try:
            moment = datetime.fromisoformat(cell.strip()) if cell.strip() else None
        except ValueError:
            rule = (
                "must be a time such as 2026-03-01T09:30:00Z (a spreadsheet rewrites them: export from the page again)"
            )
            _refused(file, "time", row, rule)
        if moment is not None and moment.tzinfo is None:
            zoneless, moment = zoneless + 1, moment.replace(tzinfo=UTC)
        moments.append(moment)
    return pd.Series(pd.to_datetime(moments, utc=True), index=file.frame.index), zoneless


def counted(number: int, one: str, many: str = "") -> str:
    """A number and its noun.

    Examples
    --------
    >>> counted(1, "item"), counted(2, "item"), counted(2, "person", "people")
    ('1 item', '2 items', '2 people')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
