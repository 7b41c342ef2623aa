"""A sheet of an Excel file as rows of cells."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from calib.core.extras import needed
from calib.intake.files.grid import Grid, known_form
from calib.table import TableError


def first_sheet(path: Path, wanted: str = "") -> tuple[Grid, str]:
    """The first sheet with cells, or the one that is wanted, and what to call it.

    Formulas count as the values that Excel kept for them.
    """
    sheets = _sheets(path)
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
        told = ", ".join(map(repr, others))
        grid.notes.append(f"sheet {name!r} was read; there is also {told} ({path.name}#{others[0]} names one).")
    return grid, f"{path.name}, sheet {name}" if others else path.name


def _sheets(path: Path) -> dict[str, list[list[Any]]]:
    """Each sheet's rows, from the first on; those at its end without a cell are none."""
    openpyxl = needed("openpyxl", extra="excel", use="Excel files")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are no cells
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            found = {}
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # some writers state them wrong
                found[sheet.title] = _filled([list(row) for row in sheet.iter_rows(values_only=True)])
    except Exception as error:  # noqa: BLE001 - whatever openpyxl, zipfile and expat raise
        with path.open("rb") as file:
            form = known_form(file.read(8))
        why = str(error) if form.endswith(".xlsx") or not form else f"it is {form}"
        raise TableError(f"{path.name}: not an Excel file (.xlsx) that can be read: {why}.") from None
    return found


def _filled(rows: list[list[Any]]) -> list[list[Any]]:
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    return rows
