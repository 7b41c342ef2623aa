"""The same items as an Excel workbook with drop-downs, one file per annotator; and such a file read back.

Sheet "labels" has a hidden first row, which says what each column is, and a hidden first column, which says what each
row is: so answers find their items after rows were sorted, deleted or copied, and columns moved. The hidden sheet
"calib" has what else must come back, and of each item what its texts were, to tell a row that came apart from its key.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.progress import stoppable
from calib.core.text import needed
from calib.judge.scale import number_text
from calib.labelling.forms import (
    CANNOT,
    Filled,
    Record,
    answers_of,
    choices_of,
    coded,
    legible,
    read_record,
    record_of,
    scale_told,
    shortened,
    task_told,
)
from calib.labelling.page import Asked, Sheet, Task, veiled
from calib.table import TableError, parse_scale
from calib.table.files import whole_or_not

_KEY, _NUMBER, _COMMENT = "calib key", "number", "comment"  # codes of columns, beside text1 ... and c1 ...
_HEADS = "calib heads"  # in the place of a key
_MOST = 32_767  # UTF-16 units that a cell holds
_TALLEST = 409.0  # points that a row may have
_HEAD = 2  # rows above the first item
_LABELS, _GUIDELINE, _HIDDEN = "labels", "guideline", "calib"
_ASKS_WHO = "Who labels (type your name beside):"
_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # what Excel takes for a character's code
_HOW = (
    "Choose an answer in each yellow cell of the sheet 'labels'; 'cannot say' is an answer, too. The texts are locked "
    "against slips, without a password. Save the file as .xlsx."
)


def write_workbook(task: Task, sheet: Sheet, path: str | Path) -> Path:
    """Write what one annotator is asked as an Excel workbook.

    A text that no cell of Excel can hold (beyond 32,767 characters) is a `TableError`.
    """
    openpyxl = needed("openpyxl", extra="excel", use="Excel files")
    path = Path(path)
    book = openpyxl.Workbook()
    # codes of columns, heads, and each item; None is a cell to fill in
    parts, to_fill = [f"text{place}" for place, _ in enumerate(task.parts, start=1)], [None for _ in task.criteria]
    rows: list[list[str | None]] = [
        [_KEY, _NUMBER, *parts, *coded(task.criteria), _COMMENT],
        [_HEADS, "", *task.parts, *(one.name for one in task.criteria), "comment"],
    ]
    for position, item in enumerate(sheet.asked, start=1):
        texts = [_held(text, item, part) for text, part in zip(item.shown, task.parts, strict=True)]
        rows.append([veiled(item.item), str(position), *texts, *to_fill, None])
    book.active.title = _LABELS
    for number, row in enumerate(rows, start=1):
        for column, value in enumerate(row, start=1):
            cell = _text_cell(book.active, number, column, value)
            _styled(cell, bold=number == _HEAD, to_fill=value is None)
    _laid_out(book.active, rows, len(task.parts))
    _drop_downs(book.active, task, len(task.parts) + 3, len(rows))
    _guideline(book.create_sheet(_GUIDELINE), task, sheet)
    _hidden(book.create_sheet(_HIDDEN), task, sheet)
    path.parent.mkdir(parents=True, exist_ok=True)
    with stoppable(), whole_or_not(path) as part:
        book.save(part)
    return path


def _styled(cell: Any, *, bold: bool, to_fill: bool) -> None:
    styles = needed("openpyxl.styles", extra="excel", use="Excel files")
    cell.alignment = styles.Alignment(wrap_text=True, vertical="top")
    if bold:
        cell.font = styles.Font(bold=True)
    if to_fill:
        cell.protection = styles.Protection(locked=False)
        cell.fill = styles.PatternFill("solid", fgColor="FFF8DC")


def _held(text: str, item: Asked, part: str) -> str:
    """A text as a cell can have it."""
    text = legible(text).replace("\r\n", "\n").replace("\r", "\n")
    length = len(_escaped(text).encode("utf-16-le")) // 2
    if length > _MOST:
        rule = f"a cell of Excel holds {_MOST} characters"
        raise TableError(f"item {item.item!r}: {rule}, but its {part!r} has {length}: label it on a page (html).")
    return text


def _escaped(text: str) -> str:
    return _ESCAPE.sub("_x005F_", text)


def _text_cell(out: Any, row: int, column: int, value: str | None) -> Any:
    """A cell whose text is a text, even where it begins as a formula or an error would."""
    cell = out.cell(row, column)
    if value:
        cell.value = _escaped(legible(value))
        cell.data_type, cell.quotePrefix = "s", True
    return cell


def _laid_out(out: Any, rows: Sequence[Sequence[str | None]], n_texts: int) -> None:
    letter = needed("openpyxl.utils", extra="excel", use="Excel files").get_column_letter
    widths = [4.0, 6.0, *[0.0] * n_texts, *[22.0] * (len(rows[0]) - n_texts - 3), 36.0]
    for place in range(2, 2 + n_texts):
        longest = max(len(line) for row in rows[1:] for line in (row[place] or "").split("\n"))
        widths[place] = min(70.0, max(16.0, longest + 2.0))
    for place, width in enumerate(widths, start=1):
        out.column_dimensions[letter(place)].width = width
    for number, row in enumerate(rows[_HEAD:], start=_HEAD + 1):
        lines = [_lines(text or "", width) for text, width in list(zip(row, widths, strict=True))[1:]]
        out.row_dimensions[number].height = min(_TALLEST, 15.5 * max(lines) + 3)
    out.column_dimensions["A"].hidden = out.row_dimensions[1].hidden = True
    out.freeze_panes = f"C{_HEAD + 1}"
    out.page_setup.orientation = "landscape"
    out.protection.sheet = True
    out.protection.formatColumns = out.protection.formatRows = False  # which allows them


def _lines(text: str, width: float) -> int:
    """Lines that a text takes in a column, about."""
    return sum(max(1, math.ceil(len(line) * 1.1 / width)) for line in text.split("\n"))


def _drop_downs(out: Any, task: Task, first: int, last: int) -> None:
    validation = needed("openpyxl.worksheet.datavalidation", extra="excel", use="Excel files").DataValidation
    letter = needed("openpyxl.utils", extra="excel", use="Excel files").get_column_letter
    for place, criterion in enumerate(task.criteria):
        column = letter(first + place)
        # one of a list; on a continuous scale a number between its ends, or that one cannot say
        cell, ends, listed = f"{column}{_HEAD + 1}", parse_scale(criterion.scale), letter(place + _LISTS)
        if criterion.levels or ends is None:
            kind, formula = "list", f"{_HIDDEN}!${listed}$1:${listed}${len(choices_of(criterion))}"
        else:
            inside = f"AND(ISNUMBER({cell}),{cell}>={number_text(ends.low)},{cell}<={number_text(ends.high)})"
            kind, formula = "custom", f'OR({inside},{cell}="{CANNOT}")'
        rule = validation(type=kind, formula1=formula, allow_blank=True)
        rule.errorTitle, rule.error = "Not on the scale", shortened(scale_told(criterion), 250)
        rule.promptTitle, rule.prompt = shortened(criterion.name, 32), shortened(criterion.meaning, 250) or None
        rule.showErrorMessage, rule.showInputMessage = True, bool(rule.prompt)
        rule.add(f"{cell}:{column}{max(last, _HEAD + 1)}")
        out.add_data_validation(rule)


_LISTS = 4  # the first column of the hidden sheet with a list of choices


def _guideline(out: Any, task: Task, sheet: Sheet) -> None:
    out.column_dimensions["A"].width, out.column_dimensions["B"].width = 100, 30
    lines = [task.title, _HOW, *task_told(task).split("\n\n"), *([] if sheet.annotator else [_ASKS_WHO])]
    for number, line in enumerate(lines, start=1):
        _styled(_text_cell(out, number, 1, shortened(line, _MOST // 2)), bold=number == 1, to_fill=False)
        out.row_dimensions[number].height = min(_TALLEST, 15.5 * _lines(line, 100) + 6)
    if not sheet.annotator:
        _styled(out.cell(len(lines), 2), bold=False, to_fill=True)
    out.protection.sheet = True


def _hidden(out: Any, task: Task, sheet: Sheet) -> None:
    """Of each item what must come back with it, and the digest of its texts; and the lists of choices."""
    out.sheet_state = "hidden"
    for position, item in enumerate(sheet.asked, start=1):
        _text_cell(out, position, 1, json.dumps(record_of(task, sheet, position, item)))
        _text_cell(out, position, 2, _digest([_held(text, item, "") for text in item.shown]))
    for place, criterion in enumerate(task.criteria):
        for number, choice in enumerate(choices_of(criterion).values(), start=1):
            _text_cell(out, number, place + _LISTS, choice)


def _digest(texts: Sequence[Any]) -> str:
    """What texts are known by, however a program writes their blanks, breaks and escapes."""
    plain = ["".join(str(text if text is not None else "").replace("x005F_", "").split()) for text in texts]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


class _Note(NamedTuple):
    """What is known of an item, and the digest of its texts."""

    record: Record
    digest: str


def workbook_answers(path: str | Path) -> pd.DataFrame:
    """Read a workbook that `write_workbook` wrote and somebody filled in, in whatever program."""
    path = Path(path)
    openpyxl = needed("openpyxl", extra="excel", use="Excel files")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are no cells
            book = openpyxl.load_workbook(file, data_only=True)
            sheets = {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever openpyxl, zipfile and expat raise
        raise TableError(f"{path.name}: not an Excel file (.xlsx) that can be read: {error}.") from None
    if _HIDDEN not in sheets:
        rule = f"must have the hidden sheet {_HIDDEN!r}, with which calib wrote it"
        raise TableError(f"{path.name}: {rule}; fill in the file itself, not a copy of its first sheet.")
    rows = [row[:2] for row in sheets[_HIDDEN] if row[0]]
    items = [_Note(read_record(note, f"{path.name}, sheet {_HIDDEN!r}"), str(digest)) for note, digest in rows]
    notes = {veiled(one.record.item): one for one in items}
    # the name that was typed beside the question for it
    beside = next((row for row in sheets.get(_GUIDELINE, []) if _ASKS_WHO in row), ())
    account = " ".join(str(cell).strip() for cell in beside if cell not in (None, _ASKS_WHO)) or path.stem
    # the sheet that was written, and copies of it
    copies = {name: rows for name, rows in sheets.items() if any(_KEY in row and _NUMBER in row for row in rows)}
    if not copies:
        raise TableError(f"{path.name}: must have the sheet {_LABELS!r} with its hidden first row and column.")
    filled: list[Filled] = []
    for name, rows in copies.items():
        filled += _rows_filled(rows, notes, account, f"{path.name}, sheet {name!r}")
    return answers_of(filled)


def _rows_filled(rows: list[tuple[Any, ...]], notes: dict[str, _Note], account: str, where: str) -> Iterator[Filled]:
    """What was filled in, where a row's key, its number and its texts still belong together."""
    codes = next(row for row in rows if _KEY in row and _NUMBER in row)
    criteria = next(iter(notes.values())).record.criteria if notes else ()
    if missing := [one.name for code, one in coded(criteria).items() if code not in codes]:
        raise TableError(f"{where}: must have a column for {missing[0]!r}, but it was deleted.")
    digests = {note.digest for note in notes.values()}
    for number, row in enumerate(rows, start=1):
        place, cells = (
            f"{where}, row {number}",
            {str(code): cell for code, cell in zip(codes, row, strict=False) if code},
        )
        answers = {code: cells[code] for code in coded(criteria) if not _empty(cells.get(code))}
        if not answers or cells.get(_KEY) in (_KEY, _HEADS):
            continue
        note = notes.get(str(cells.get(_KEY)).strip())
        if note is None:
            rule = "must have the key of an item in the hidden first column"
            raise TableError(f"{place}: {rule}, but got {cells.get(_KEY)!r}.")
        texts = sorted((code for code in cells if code.startswith("text")), key=lambda code: (len(code), code))
        digest = _digest([cells[code] for code in texts])
        moved = digest != note.digest and digest in digests
        if moved or str(cells.get(_NUMBER)).removesuffix(".0") != str(note.record.position):
            rule = "its number, its texts and its hidden key must belong together"
            raise TableError(f"{place}: {rule}, but some columns were sorted or moved without the others.")
        comment = "" if _empty(cells.get(_COMMENT)) else str(cells[_COMMENT])
        yield Filled(note.record, account, answers, place, comment)


def _empty(cell: Any) -> bool:
    return cell is None or not str(cell).strip()
