"""Files of labels as one table of answers, whoever wrote them and whatever a spreadsheet did to them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.inputs.cells import decimal_commas
from calib.inputs.grids import cut, decoded, first_sheet
from calib.labelling.record import ANSWERS, CANNOT_SAY, CANNOT_SAY_LABEL
from calib.table import TableError, parse_scale
from calib.table.files import from_json, json_rows

ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".xlsx")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
# as spreadsheets write them, in the languages of most of them
_YES = ("true", "1", "1.0", "wahr", "vrai", "vero", "verdadero", "verdadeiro", "waar", "prawda", "истина")
_NO = ("", "false", "0", "0.0", "falsch", "faux", "falso", "onwaar", "fałsz", "ложь")
_REQUIRED = {"item", "criterion", "rater", "score"}
_LABEL_STUDIO = {"annotations", "annotation_id", "lead_time", "data"}
_OWN_LABELS = 'labels of your own need no such file: calib.interval("scores.csv", "labels.csv")'
_FILLED = {
    "item": "must be an id",
    "criterion": "must name what was asked",
    "rater": "must say who labelled (type the name into that column)",
    "page": "must hold the hash of the page, which tells its labels from those of others",
}
_KEY = ["item", "criterion", "rater"]


class File(NamedTuple):
    """The answers of one file: columns `ANSWERS`, and `when` as a time; where a row stands; what was forgiven."""

    name: str
    frame: pd.DataFrame
    places: list[str]
    notes: Sequence[str] = ()


# what a file holds before it is checked, the same of all forms: names of columns, rows with their places, notes
Rows = tuple[list[str], list[tuple[str, Mapping[str, Any]]], Sequence[str]]


def answers_in(path: Path) -> File:
    """The answers in a file of a page, or of another tool that people labelled with."""
    name = printable(path.name)
    names, rows, notes = _rows_in(path, name)
    if missing := [column for column in ANSWERS if column not in names]:
        lacks = f"column{'s' * (len(missing) > 1)} {', '.join(f'`{column}`' for column in missing)} missing"
        there = ", ".join(map(repr, names[:12])) + ", ..." * (len(names) > 12)
        if not set(names) >= _REQUIRED:
            raise TableError(f"{name}: is no export of a label page: {lacks}; there are {there}; {_OWN_LABELS}.")
        judged = {"prompt", "weight", "draw", "mass", "entropy"} & set(names)
        kind = "a judge's scores" if judged else "a table of scores, or an export whose header was edited"
        raise TableError(f"{name}: is no export of a label page but {kind}: {lacks}; there are {there}.")
    if not rows:
        raise TableError(f"{name}: must have an answer, but has none: nothing was labelled when it was exported.")
    cells = {column: [_cell_as_text(row.get(column)) for _, row in rows] for column in ANSWERS}
    return _checked(File(name, pd.DataFrame(cells, dtype=object), [place for place, _ in rows], notes))


def _checked(file: File) -> File:
    """The columns as what they hold: numbers, times, true and false."""
    name, frame = file.name, file.frame
    for column, rule in _FILLED.items():
        _refuse_unless(file, column, [bool(cell.strip()) for cell in frame[column]], rule)
    plain = {column: frame[column].str.strip() for column in ("rater", "criterion", "scale", "page")}
    page = plain["page"].iloc[0]
    _refuse_unless(file, "page", plain["page"] == page, f"must be of one page ({page})")
    methods = frame["method"].str.strip().isin(["human", ""])
    _refuse_unless(file, "method", methods, "must be 'human' (a judge's scores are no labels of people)")
    status = frame["status"].str.strip().str.casefold()
    _refuse_unless(file, "status", status.isin(["ok", CANNOT_SAY]), f"must be 'ok' or '{CANNOT_SAY}'")
    score, seconds, position = (_number_column(file, column) for column in ("score", "seconds", "position"))
    _refuse_unless(file, "score", (status == "ok") == score.notna(), "must be a number exactly where `status` is 'ok'")
    on_scale = score.isna()  # a person gives a value of the scale, no mean of them; any where there is no scale
    for text, cells in score.groupby(frame["scale"], sort=False):
        try:
            scale = parse_scale(text.strip())
        except TableError as error:
            raise TableError(f"{name}, {file.places[cells.index[0]]}, column `scale`: {error}") from None
        if scale is None:
            on_scale[cells.index] = True
        else:
            on_scale[cells.index] |= cells.isin(scale.values) if scale.values else cells.between(scale.low, scale.high)  # noqa: PD011
    _refuse_unless(file, "score", on_scale, "must be a value of its `scale`")
    _refuse_unless(file, "seconds", ~(seconds < 0), "must not be negative")
    moments, zoneless = [], 0
    for row, cell in enumerate(frame["time"].str.strip()):
        try:
            moment = datetime.fromisoformat(cell) if cell else None
        except ValueError:
            hint = "a spreadsheet rewrites them: export from the page again"
            _refuse_record(file, "time", row, f"must be a time such as 2026-03-01T09:30:00Z ({hint})")
        if moment is not None and moment.tzinfo is None:
            zoneless, moment = zoneless + 1, moment.replace(tzinfo=UTC)
        moments.append(moment)
    notes = [*file.notes, *[f"{zoneless} times say no zone and are taken for UTC."] * bool(zoneless)]
    swapped = frame["swapped"].str.strip().str.casefold()
    _refuse_unless(file, "swapped", swapped.isin([*_YES, *_NO]), "must be true or false")
    frame = frame.assign(
        **plain, method="human", status=status, score=score, seconds=seconds, position=position,
        swapped=swapped.isin(_YES), when=pd.Series(pd.to_datetime(moments, utc=True), index=frame.index),
    )  # fmt: skip
    return file._replace(frame=frame, notes=[f"{name}: {note}" for note in notes])


def _rows_in(path: Path, name: str) -> Rows:
    """The rows of a file in any form: an export of the page, a sheet of it, or what another tool wrote."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise TableError(f"{name}: answers are read from files that end in {', '.join(ENDINGS)}.")
    if ending == ".xlsx":
        grid, _ = first_sheet(path)
        names = [_cell_as_text(cell).strip() for cell in grid.rows[0]]
        if not set(names) >= _REQUIRED:  # a sheet that was made to be filled in
            from calib.labelling.workbook import workbook_answers

            return _frame_rows(workbook_answers(path))
        rows = [(f"row {line}", row) for line, row in zip(grid.lines, grid.rows, strict=True)][1:]
        kept = [(place, row) for place, row in rows if any(_cell_as_text(cell).strip() for cell in row)]
        return names, [(place, dict(zip(names, row, strict=True))) for place, row in kept], ()
    text, notes = decoded(path.read_bytes(), name)
    objects, table = list[tuple[str, Mapping[str, Any]]](), None
    if ending in (".json", ".jsonl", ".ndjson"):
        objects = _json_rows(text, name)
        heads = set(objects[0][1]) if objects else set()
    else:
        table = cut(text, name)
        heads = {cell.strip() for cell in next(iter(table.rows), [])}
    if not heads >= _REQUIRED and heads & _LABEL_STUDIO:
        from calib.labelling.label_studio import label_studio_answers

        return _frame_rows(label_studio_answers(path))
    if table is None:
        return list(dict.fromkeys(str(key) for _, row in objects for key in row)), objects, notes
    filled = [(line, row) for line, row in zip(table.lines, table.rows, strict=True) if any(map(str.strip, row))]
    if not filled:
        raise TableError(f"{name}: must have a line of names and rows below it, but is empty.")
    names = [cell.strip() for cell in filled[0][1]]
    for line, cells in filled[1:]:
        if len(cells) < len(names) or any(cell.strip() for cell in cells[len(names) :]):
            rule = f"must have as many cells as line {filled[0][0]} has names ({len(names)})"
            raise TableError(f"{name}, line {line}: {rule}, but has {len(cells)}.")
    if again := [column for column in names if column and names.count(column) > 1]:
        raise TableError(f"{name}: column `{again[0]}` must be there once, but is there more than once.")
    return names, [(f"line {line}", dict(zip(names, cells, strict=False))) for line, cells in filled[1:]], notes


def _frame_rows(frame: pd.DataFrame) -> Rows:
    rows = frame.astype(object).to_dict("records")
    return list(frame), [(f"answer {number}", row) for number, row in enumerate(rows, start=1)], ()


def _json_rows(text: str, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Rows of a list of objects, also under the one key of an object, or of one object a line, with their places."""
    whole: Any = None
    if text.lstrip().startswith(("[", "{")):
        try:
            whole = from_json(text)
        except ValueError as error:
            if text.lstrip().startswith("[") or not isinstance(error, json.JSONDecodeError):
                raise TableError(f"{name}: not JSON: {error}.") from None
            # else each line may be an object
    if isinstance(whole, dict):
        lists = [value for value in whole.values() if isinstance(value, list) and value]
        whole = lists[0] if len(lists) == 1 and isinstance(lists[0][0], dict) else [whole]
    if whole is not None:
        if not all(isinstance(row, dict) for row in whole):
            raise TableError(f"{name}: must be a list of objects.")
        return [(f"row {number}", row) for number, row in enumerate(whole, start=1)]
    return [(f"line {number}", row) for number, row in json_rows(text, name)]


def _cell_as_text(value: Any) -> str:
    """A value as a csv file has it."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return text.encode("utf-8", "replace").decode()  # half characters, which only JSON can hold, few programs take


def _refuse_unless(file: File, column: str, good: Any, rule: str) -> None:
    """Refuse the first row that is not good."""
    if bad := [row for row, is_good in enumerate(good) if not is_good]:
        _refuse_record(file, column, bad[0], rule)


def _refuse_record(file: File, column: str, row: int, rule: str) -> NoReturn:
    cell = file.frame[column].iloc[row]
    excerpt = cell if len(cell) <= 40 else f"{cell[:37]}..."
    raise TableError(f"{file.name}, {file.places[row]}, column `{column}`: {rule}, but got {excerpt!r}.")


def _number_column(file: File, column: str) -> pd.Series:
    """A column of numbers, blanks as NaN; with decimal commas where no cell can be taken for anything else."""
    cells = [cell.strip() for cell in file.frame[column]]
    filled = [row for row, cell in enumerate(cells) if cell]
    numbers = pd.Series(math.nan, index=file.frame.index)
    if not (odd := [row for row in filled if not _NUMBER.fullmatch(cells[row])]):
        numbers.iloc[filled] = [float(cells[row]) for row in filled]
    elif (values := decimal_commas([cells[row] for row in filled])) is not None:
        numbers.iloc[filled] = values
    else:
        hint = " (a spreadsheet makes dates of some numbers: export from the page again)"
        _refuse_record(file, column, odd[0], f"must be a number{hint * bool(re.search('[./:-]', cells[odd[0]]))}")
    return numbers


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


# --- several files ----------------------------------------------------------------------------------------------------


def joined_answers(files: Sequence[File], page: str | Path | None) -> tuple[pd.DataFrame, str, list[str]]:
    """The answers of files of one page, in the order in which each annotator gave them; the page; notes on them.

    Of an answer that was given again the later one counts.
    """
    parts = [file.frame.assign(file=number, row=range(len(file.frame))) for number, file in enumerate(files)]
    every = pd.concat(parts, ignore_index=True)
    of_page = str(every["page"].iloc[0])
    if len(others := every.loc[every["page"] != of_page]):
        both = f"{files[0].name} is of page {of_page} and {files[others['file'].iloc[0]].name} of page"
        why = "a page is made of its items, criteria and scales, and labels from two pages answer two questions"
        raise TableError(f"{both} {others['page'].iloc[0]}: {why}. Read them apart.")
    if page is not None and Path(page).is_file():
        if of_page not in Path(page).read_text("utf-8", errors="replace"):
            rule = f"must be the page that {files[0].name} comes from ({of_page})"
            raise ArgumentError("page", rule, f"{str(page)!r} has none such")
    elif page is not None and not re.fullmatch("[0-9a-f]{12}", str(page)):
        problem = f"there is no file {str(page)!r}"
        raise ArgumentError("page", "must be the path of a label page, or its hash", problem)
    elif page is not None and str(page) != of_page:
        problem = f"is {page}, and {files[0].name} is of {of_page}"
        raise ArgumentError("page", "must be the page that was labelled", problem)
    for criterion, rows in every.groupby("criterion", sort=False):
        if len(other := rows[rows["scale"] != rows["scale"].iloc[0]]):
            both = f"{rows['scale'].iloc[0]!r} before and {other['scale'].iloc[0]!r} here"
            raise TableError(f"{_places(other.head(1), files)}: {criterion!r} must have one scale, but has {both}.")
    last = every["file"].map(every.groupby("file")["when"].max())
    every = every.assign(last=last).sort_values(["when", "last"], kind="stable", na_position="first")
    notes = [note for file in files for note in file.notes]
    notes += [*_files_of_two_people(every, files), *_changed_answers(every, files)]
    spellings: dict[str, list[str]] = {}  # names that differ in case or blanks only
    for name in every["rater"].unique():
        spellings.setdefault(" ".join(name.casefold().split()), []).append(name)
    alike = [names for names in spellings.values() if len(names) > 1]
    notes += [f"{' and '.join(map(repr, names))} are taken for {len(names)} people: are they one?" for names in alike]
    # of each answer the last comment that says something
    filled = every["comment"].where(every["comment"].str.strip() != "")
    comments = filled.groupby([every[name] for name in _KEY]).transform("last").fillna("")
    latest = every.drop_duplicates(_KEY, keep="last").assign(comment=comments)
    ordered = latest.sort_values(["rater", "when", "position"], kind="stable", na_position="first")
    return ordered.drop(columns=["file", "row", "last"]).reset_index(drop=True), of_page, notes


def _places(rows: pd.DataFrame, files: Sequence[File]) -> str:
    pairs = zip(rows["file"], rows["row"], strict=True)
    return " and ".join(f"{files[file].name}, {files[file].places[row]}" for file, row in pairs)


def _changed_answers(every: pd.DataFrame, files: Sequence[File]) -> Iterator[str]:
    """Which answers were changed; two that differ, of which none is later, are refused."""
    again = every[every.duplicated(_KEY, keep=False)]
    changes: dict[str, list[str]] = {}
    for (item, criterion, rater), rows in again.groupby(_KEY, sort=False):
        if len(rows[["score", "status"]].drop_duplicates()) == 1:
            continue
        latest = rows[rows["when"] == rows["when"].iloc[-1]] if rows["when"].notna().all() else rows
        if len(latest["score"].unique()) > 1:
            twice = f"{rater!r} answered item {item!r} ({criterion}) twice, differently ({_places(latest, files)})"
            raise TableError(f"{twice}, and no time says which answer is the later one: take one of them out.")
        words = [CANNOT_SAY_LABEL if math.isnan(score) else f"{score:g}" for score in rows["score"]]
        steps = [word for word, before in zip(words, [None, *words], strict=False) if word != before]
        changes.setdefault(rater, []).append(f"item {item!r}, {criterion}: {' then '.join(steps)}")
    for rater, steps in changes.items():
        yield f"{rater!r} answered {counted(len(steps), 'question')} anew, and the later answer counts ({steps[0]})."


def _files_of_two_people(every: pd.DataFrame, files: Sequence[File]) -> Iterator[str]:
    """Files of one name that contradict each other while both were being labelled."""
    for rater, rows in every.groupby("rater", sort=False):
        for one, other in combinations(sorted(rows["file"].unique()), 2):
            first, second = rows[rows["file"] == one], rows[rows["file"] == other]
            both = first.merge(second, on=["item", "criterion"], suffixes=("", "_b"))
            apart = both[(both["score"] != both["score_b"]) & both[["score", "score_b"]].notna().any(axis=1)]
            overlap = (apart["when_b"].min() <= first["when"].max()) and (apart["when"].min() <= second["when"].max())
            if len(apart) and overlap:
                yield (
                    f"{files[one].name} and {files[other].name} are both of {rater!r}, were labelled at times that "
                    f"overlap, and differ in {len(apart)} of {len(both)} answers: are they of two "
                    "people? Then give one of them another name in the column `rater`."
                )
