"""Excel workbooks with drop-downs, one per annotator, written and read back.

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
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.progress import stoppable
from calib.core.text import needed
from calib.inputs.grids import refuse_long_sheets
from calib.judge.scale import number_text
from calib.labelling.record import CANNOT_SAY_LABEL, LabelSheet, Record, Task, answer_rows, by_code, encoded_id, legible
from calib.labelling.talk import plain_texts
from calib.table import TableError, parse_scale
from calib.table.files import whole_or_not, within_limit

_KEY, _NUMBER, _COMMENT = "calib key", "number", "comment"  # codes of columns, beside text1 ... and c1 ...
_HEADS = "calib heads"  # in the place of a key
_MOST = 32_767  # UTF-16 units that a cell holds
_TALLEST = 409.0  # points that a row may have
_HEAD = 2  # rows above the first item
_LISTS = 4  # the first column of the hidden sheet with a list of choices
_LABELS, _GUIDELINE, _HIDDEN = "labels", "guideline", "calib"
_ASKS_WHO = "Who labels (type your name beside):"
_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # what Excel takes for a character's code
_HOW = (
    "Choose an answer in each yellow cell of the sheet 'labels'; 'cannot say' is an answer, too. The texts are locked "
    "against slips, without a password. Save the file as .xlsx."
)


def write_workbook(task: Task, sheet: LabelSheet, path: str | Path) -> Path:
    """Write what one annotator is asked as an Excel workbook.

    A text that no cell of Excel can hold (beyond 32,767 characters) is a `TableError`.
    """
    path, book = Path(path), _openpyxl().Workbook()
    labels, guideline, hidden = book.active, book.create_sheet(_GUIDELINE), book.create_sheet(_HIDDEN)
    labels.title = _LABELS
    # codes of columns, heads, and each item; None is a cell to fill in
    parts, to_fill = [f"text{place}" for place, _ in enumerate(task.parts, start=1)], [None for _ in task.criteria]
    rows: list[list[str | None]] = [
        [_KEY, _NUMBER, *parts, *by_code(task.criteria), _COMMENT],
        [_HEADS, "", *task.parts, *(one.name for one in task.criteria), "comment"],
    ]
    for number, record in enumerate(sheet.records, start=1):
        texts = [text.replace("\r\n", "\n").replace("\r", "\n") for text in plain_texts(record, task.parts)]
        for text, head in zip(texts, task.parts, strict=True):
            length = len(_ESCAPE.sub("_x005F_", text).encode("utf-16-le")) // 2
            if length > _MOST:
                rule, mend = f"a cell of Excel holds {_MOST} characters", "label it on a page (html)"
                raise TableError(f"item {record.item!r}: {rule}, but its {head!r} has {length}: {mend}.")
        rows.append([encoded_id(record.item), str(record.position), *texts, *to_fill, None])
        _write(hidden, number, 1, json.dumps(record.to_json()))
        _write(hidden, number, 2, _texts_hash(texts))
    for number, row in enumerate(rows, start=1):
        for column, value in enumerate(row, start=1):
            _write(labels, number, column, value, bold=number == _HEAD, to_fill=value is None)
    _lay_out(labels, rows, len(task.parts))
    _add_drop_downs(labels, task, len(task.parts) + 3, len(rows))
    for place, criterion in enumerate(task.criteria):
        for number, choice in enumerate(criterion.choices.values(), start=1):
            _write(hidden, number, place + _LISTS, choice)
    hidden.sheet_state = "hidden"
    guideline.column_dimensions["A"].width, guideline.column_dimensions["B"].width = 100, 30
    heads = [f"{one.name}: {one.meaning}" if one.meaning else one.name for one in task.criteria]
    questions = [f"{name}\n{one.scale_in_words}" for name, one in zip(heads, task.criteria, strict=True)]
    paragraphs = legible("\n\n".join(filter(None, (task.guideline, *questions)))).split("\n\n")
    lines = [task.title, _HOW, *paragraphs, *([] if sheet.annotator else [_ASKS_WHO])]
    for number, line in enumerate(lines, start=1):
        _write(guideline, number, 1, _truncated(line, _MOST // 2), bold=number == 1)
        guideline.row_dimensions[number].height = min(_TALLEST, 15.5 * _n_lines(line, 100) + 6)
    if not sheet.annotator:
        _write(guideline, len(lines), 2, None, to_fill=True)
    guideline.protection.sheet = True
    path.parent.mkdir(parents=True, exist_ok=True)
    with stoppable(), whole_or_not(path) as part:
        book.save(part)
    return path


def _openpyxl(module: str = "") -> Any:
    package = needed("openpyxl", extra="excel", use="Excel files")
    return import_module(f"openpyxl{module}") if module else package


def _write(sheet: Any, row: int, column: int, value: str | None, *, bold: bool = False, to_fill: bool = False) -> None:
    """Write a cell whose text is a text, even where it begins as a formula or an error would."""
    styles, cell = _openpyxl(".styles"), sheet.cell(row, column)
    if value:
        cell.value = _ESCAPE.sub("_x005F_", legible(value))
        cell.data_type, cell.quotePrefix = "s", True
    if sheet.title == _HIDDEN:  # which nobody looks at
        return
    cell.alignment = styles.Alignment(wrap_text=True, vertical="top")
    if bold:
        cell.font = styles.Font(bold=True)
    if to_fill:
        cell.protection = styles.Protection(locked=False)
        cell.fill = styles.PatternFill("solid", fgColor="FFF8DC")


def _truncated(text: str, most: int) -> str:
    """A text of at most so many characters, where an ellipsis shows that it was longer."""
    text = legible(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _lay_out(sheet: Any, rows: Sequence[Sequence[str | None]], n_texts: int) -> None:
    """Set widths, heights, what is hidden and what is locked."""
    letter = _openpyxl(".utils").get_column_letter
    widths = [4.0, 6.0, *[0.0] * n_texts, *[22.0] * (len(rows[0]) - n_texts - 3), 36.0]
    for place in range(2, 2 + n_texts):
        longest = max(len(line) for row in rows[1:] for line in (row[place] or "").split("\n"))
        widths[place] = min(70.0, max(16.0, longest + 2.0))
    for place, width in enumerate(widths, start=1):
        sheet.column_dimensions[letter(place)].width = width
    for number, row in enumerate(rows[_HEAD:], start=_HEAD + 1):
        lines = [_n_lines(text or "", width) for text, width in list(zip(row, widths, strict=True))[1:]]
        sheet.row_dimensions[number].height = min(_TALLEST, 15.5 * max(lines) + 3)
    sheet.column_dimensions["A"].hidden = sheet.row_dimensions[1].hidden = True
    sheet.freeze_panes = f"C{_HEAD + 1}"
    sheet.page_setup.orientation = "landscape"
    sheet.protection.sheet = True
    sheet.protection.formatColumns = sheet.protection.formatRows = False  # which allows them


def _n_lines(text: str, width: float) -> int:
    """About how many lines a text takes in a column."""
    return sum(max(1, math.ceil(len(line) * 1.1 / width)) for line in text.split("\n"))


def _add_drop_downs(sheet: Any, task: Task, first: int, last: int) -> None:
    """Add to each criterion's column what a cell may hold, from the first item to the last row."""
    validation, letter = _openpyxl(".worksheet.datavalidation").DataValidation, _openpyxl(".utils").get_column_letter
    for place, criterion in enumerate(task.criteria):
        column, choices = letter(first + place), letter(place + _LISTS)
        # one of a list; on a continuous scale a number between its ends, or that one cannot say
        cell, ends = f"{column}{_HEAD + 1}", parse_scale(criterion.scale)
        if criterion.levels or ends is None:
            kind, formula = "list", f"{_HIDDEN}!${choices}$1:${choices}${len(criterion.choices)}"
        else:
            inside = f"AND(ISNUMBER({cell}),{cell}>={number_text(ends.low)},{cell}<={number_text(ends.high)})"
            kind, formula = "custom", f'OR({inside},{cell}="{CANNOT_SAY_LABEL}")'
        rule = validation(type=kind, formula1=formula, allow_blank=True)
        rule.errorTitle, rule.error = "Not on the scale", _truncated(criterion.scale_in_words, 250)
        rule.promptTitle, rule.prompt = _truncated(criterion.name, 32), _truncated(criterion.meaning, 250) or None
        rule.showErrorMessage, rule.showInputMessage = True, bool(rule.prompt)
        rule.add(f"{cell}:{column}{max(last, _HEAD + 1)}")
        sheet.add_data_validation(rule)


def _texts_hash(texts: Sequence[Any]) -> str:
    """A hash of an item's texts, the same however a program writes their blanks, breaks and escapes."""
    plain = ["".join(str(text if text is not None else "").replace("x005F_", "").split()) for text in texts]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def workbook_answers(path: str | Path) -> pd.DataFrame:
    """Read a workbook that `write_workbook` wrote and somebody filled in, in whatever program."""
    path, openpyxl = within_limit(Path(path)), _openpyxl()
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are no cells
            refuse_long_sheets(file)
            book = openpyxl.load_workbook(file, data_only=True)
            sheets = {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever openpyxl, zipfile and expat raise
        raise TableError(f"{path.name}: not an Excel file (.xlsx) that can be read: {error}.") from None
    if _HIDDEN not in sheets:
        rule = f"must have the hidden sheet {_HIDDEN!r}, with which calib wrote it"
        raise TableError(f"{path.name}: {rule}; fill in the file itself, not a copy of its first sheet.")
    # each item's record and the digest of its texts, by its key
    written = [(Record.from_json(row[0], f"{path.name}, sheet {_HIDDEN!r}"), "".join(map(str, row[1:2])))
               for row in sheets[_HIDDEN] if row[0]]  # fmt: skip
    items = {encoded_id(record.item): (record, digest) for record, digest in written}
    # the name that was typed beside the question for it
    beside = next((row for row in sheets.get(_GUIDELINE, []) if _ASKS_WHO in row), ())
    account = " ".join(str(cell).strip() for cell in beside if cell not in (None, _ASKS_WHO)) or path.stem
    # the sheet that was written, and copies of it
    copies = {name: rows for name, rows in sheets.items() if any(_KEY in row and _NUMBER in row for row in rows)}
    if not copies:
        raise TableError(f"{path.name}: must have the sheet {_LABELS!r} with its hidden first row and column.")
    records: list[Record] = []
    for name, rows in copies.items():
        records += _filled_rows(rows, items, account, f"{path.name}, sheet {name!r}")
    return answer_rows(records)


def _filled_rows(
    rows: list[tuple[Any, ...]], items: dict[str, tuple[Record, str]], account: str, place: str
) -> Iterator[Record]:
    """What was filled in, where a row's key, its number and its texts still belong together."""
    codes = next(row for row in rows if _KEY in row and _NUMBER in row)
    criteria = by_code(next(iter(items.values()))[0].criteria if items else ())
    if missing := [criterion.name for code, criterion in criteria.items() if code not in codes]:
        raise TableError(f"{place}: must have a column for {missing[0]!r}, but it was deleted.")
    digests = {digest for _, digest in items.values()}
    for number, row in enumerate(rows, start=1):
        here = f"{place}, row {number}"
        cells = {str(code): cell for code, cell in zip(codes, row, strict=False) if code}
        filled = {code: cell for code, cell in cells.items() if cell is not None and str(cell).strip()}
        answers = {code: filled[code] for code in criteria if code in filled}
        if not answers or cells.get(_KEY) in (_KEY, _HEADS):
            continue
        key = str(cells.get(_KEY)).strip()
        if key not in items:
            rule = "must have the key of an item in the hidden first column"
            raise TableError(f"{here}: {rule}, but got {cells.get(_KEY)!r}.")
        record, written = items[key]
        texts = sorted((code for code in cells if code.startswith("text")), key=lambda code: (len(code), code))
        digest = _texts_hash([cells[code] for code in texts])
        moved = digest != written and digest in digests
        if moved or str(cells.get(_NUMBER)).removesuffix(".0") != str(record.position):
            rule = "its number, its texts and its hidden key must belong together"
            raise TableError(f"{here}: {rule}, but some columns were sorted or moved without the others.")
        comment = str(filled.get(_COMMENT, ""))
        yield replace(record, account=account, answers=answers, place=here, comment=comment)
