"""The workbook: filled in as people do in Excel, LibreOffice and Google Sheets, and read back."""

import shutil
import subprocess
import zipfile

import openpyxl
import pytest
from page_data import sheet_of

from calib.labelling.record import ANSWERS, Criterion, LabelSheet, Level, Record, Task
from calib.labelling.workbook import workbook_answers, write_workbook
from calib.table import TableError

TONE = Criterion("tone", "", "1|2|3", (Level(1, "bad"), Level(2, "fair"), Level(3, "good")))
SHARE = Criterion("share", "", "0..100", ())


def columns(sheet):
    """The column of each code in the hidden first row."""
    return {cell.value: cell.column for cell in sheet[1]}


@pytest.fixture
def filled(tmp_path, people):
    """The workbook of an annotator, filled in from the drop-downs."""
    say, comment, _ = people

    def fill(task, sheet, path=None):
        path = write_workbook(task, sheet, path or tmp_path / f"label-{task.sheets.index(sheet)}.xlsx")
        book = openpyxl.load_workbook(path)
        labels = book["labels"]
        place = columns(labels)
        for position in range(1, len(sheet.records) + 1):
            for code, value in say(task, sheet, position).items():
                labels.cell(position + 2, place[code]).value = "cannot say" if value == "cannot_say" else value
            if comment(position):
                cell = labels.cell(position + 2, place["comment"])
                cell.value, cell.data_type = comment(position), "s"
        book.save(path)
        return path

    return fill


@pytest.fixture
def small(tmp_path):
    """Six items of two criteria, and a way to change what is in the file."""
    records = [Record(f"gpt/{k}", (f"Text {k}.",)) for k in range(6)]
    sheet = sheet_of("ann", records, "0123456789ab", (TONE, SHARE))
    task = Task("T", "0123456789ab", ("text",), False, (TONE, SHARE), "", (sheet,))

    def change(edit, name="small.xlsx"):
        path = write_workbook(task, task.sheets[0], tmp_path / name)
        book = openpyxl.load_workbook(path)
        edit(book)
        book.save(path)
        return path

    return change


def first_tone(path):
    return workbook_answers(path)["score"].iloc[0]


def rounded(frame):
    return frame.assign(score=frame["score"].map(lambda score: float(f"{score:.15g}")))


@pytest.mark.parametrize("number", [0, 1])
def test_what_was_said_comes_back(task, filled, people, alike, number):
    """To the 16 digits that openpyxl writes here."""
    sheet = task.sheets[number]
    got = workbook_answers(filled(task, sheet))
    assert list(got) == list(ANSWERS)
    expected = people[2](task)
    alike(rounded(got), rounded(expected[expected["rater"] == sheet.annotator]))
    assert got["seconds"].isna().all(), "a sheet keeps no time"


def test_pairs_are_turned_back(pairs, filled, people, alike, tmp_path):
    got = workbook_answers(filled(pairs, pairs.sheets[0], tmp_path / "of-eve.xlsx"))
    alike(got, people[2](pairs, raters={"": "of-eve"}))


def test_who_labels_is_asked_where_that_was_left_open(pairs, filled):
    path = filled(pairs, pairs.sheets[0])
    book = openpyxl.load_workbook(path)
    (row,) = [row for row in book["guideline"].iter_rows() if str(row[0].value).startswith("Who labels")]
    assert not row[1].protection.locked
    row[1].value = " Eve "
    book.save(path)
    assert set(workbook_answers(path)["rater"]) == {"Eve"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_saves_what_can_be_read(task, filled, people, alike, tmp_path):
    """To the 15 digits that it writes."""
    path = filled(task, task.sheets[0])
    office = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/office"]
    saved = ["--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(tmp_path / "o"), str(path)]
    subprocess.run([*office, *saved], check=True, capture_output=True)
    expected = people[2](task)
    got = workbook_answers(tmp_path / "o" / path.name)
    alike(rounded(got), rounded(expected[expected["rater"] == "anna"]))


# --- what the file is ------------------------------------------------------------------------------------------------


def test_texts_are_texts(task, tmp_path):
    """No formula, no error value, no code of a character, nothing lost."""
    labels = openpyxl.load_workbook(write_workbook(task, task.sheets[0], tmp_path / "a.xlsx"))["labels"]
    texts = [labels.cell(row, columns(labels)["text2"]) for row in range(3, 9)]
    assert {cell.data_type for cell in texts} == {"s"}
    assert all(cell.quotePrefix for cell in texts)
    assert texts[1].value == "=1+1"
    assert texts[3].value == "nul \u2400 escape \u241b[31m half \ufffd bidi \u202e line \u2028 end"
    with zipfile.ZipFile(tmp_path / "a.xlsx") as packed:
        sheets = [packed.read(name).decode() for name in packed.namelist() if name.startswith("xl/worksheets/")]
    assert not any("<f>" in sheet for sheet in sheets), "no cell is a formula"
    assert "_x005F_x0041_" in "".join(sheets), "else Excel would read an A"


def test_answers_are_chosen_from_lists_and_texts_are_locked(task, tmp_path):
    book = openpyxl.load_workbook(write_workbook(task, task.sheets[0], tmp_path / "a.xlsx"))
    labels, hidden = book["labels"], book["calib"]
    assert (labels.freeze_panes, hidden.sheet_state, labels.protection.sheet) == ("C3", "hidden", True)
    assert labels.column_dimensions["A"].hidden
    assert labels.row_dimensions[1].hidden
    place = columns(labels)
    locked = {code: labels.cell(3, column).protection.locked for code, column in place.items()}
    assert [code for code in locked if not locked[code]] == ["c1", "c2", "c3", "comment"]
    rules = labels.data_validations.dataValidation
    assert [rule.type for rule in rules] == ["list", "custom", "list"]
    cells = hidden[rules[2].formula1.removeprefix("calib!").replace("$", "")]
    assert [cell.value for (cell,) in cells] == ["0 no", "0.1 =yes, no", "cannot say"]
    assert rules[1].formula1 == 'OR(AND(ISNUMBER(F3),F3>=0,F3<=100),F3="cannot say")'


def test_each_choice_of_a_list_is_read_as_its_level(task, tmp_path):
    path = write_workbook(task, task.sheets[0], tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(path)
    for row, cell in enumerate(["D1", "D2", "D3", "D4"], start=3):
        book["labels"].cell(row, columns(book["labels"])["c1"]).value = book["calib"][cell].value
    book.save(path)
    assert workbook_answers(path)["score"].tolist()[:3] == [1, 2, 3]
    assert workbook_answers(path)["status"].tolist()[3] == "cannot_say"


def test_the_guideline_is_in_the_file(task, tmp_path):
    book = openpyxl.load_workbook(write_workbook(task, task.sheets[0], tmp_path / "a.xlsx"))
    told = "\n".join(row[0].value or "" for row in book["guideline"].iter_rows())
    for part in ("=Title", "It costs $5 <b>.", "1 poor, 2, 3 good, cannot say", "a number from 0 to 100"):
        assert part in told


def test_a_text_that_no_cell_holds_is_refused(tmp_path):
    task = Task("T", "0" * 12, ("text",), False, (TONE,), "", (LabelSheet("", (Record("a", ("x" * 32_768,)),)),))
    with pytest.raises(TableError, match=r"item 'a': a cell of Excel holds 32767 characters, but its 'text' has 32768"):
        write_workbook(task, task.sheets[0], tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()
    emoji = Task(
        "T", "0" * 12, ("text",), False, (TONE,), "", (LabelSheet("", (Record("a", ("\U0001f600" * 16_384,)),)),)
    )
    with pytest.raises(TableError, match="has 32768"):
        write_workbook(emoji, emoji.sheets[0], tmp_path / "a.xlsx")


# --- what people do --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", [3, 3.0, "3", "3 good", "good", " Good ", "3.0", "3,0", "3  GOOD"])
def test_a_level_may_be_typed_in_many_ways(small, typed):
    assert first_tone(small(lambda book: book["labels"].cell(3, 4, typed))) == 3


@pytest.mark.parametrize(
    ("column", "typed"),
    [(4, 2.5), (4, "4"), (4, "so so"), (4, True), (5, 100.5), (5, "-1"), (5, "nan"), (5, "1_0"), (5, "good")],
)
def test_what_is_not_on_the_scale_is_refused_with_its_row(small, column, typed):
    with pytest.raises(TableError, match=r"small\.xlsx, sheet 'labels', row 3: '(tone|share)' must be .*, but got"):
        workbook_answers(small(lambda book: book["labels"].cell(3, column, typed)))


@pytest.mark.parametrize("typed", ["cannot say", "Cannot  say ", "cannot_say"])
def test_cannot_say_is_no_score(small, typed):
    (row,) = workbook_answers(small(lambda book: book["labels"].cell(3, 5, typed))).itertuples()
    assert (row.criterion, row.status) == ("share", "cannot_say")
    assert row.score != row.score


def rows_of(sheet):
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


def rewrite(sheet, rows):
    sheet.delete_rows(1, sheet.max_row)
    for row in rows:
        sheet.append(row)


def labelled(rows):
    """Scores 1, 2, 3, 1, 2, 3."""
    return [*rows[:2], *([*row[:3], 1 + k % 3, *row[4:]] for k, row in enumerate(rows[2:]))]


@pytest.mark.parametrize(
    "edit",
    [
        lambda rows: [*rows[:2], *reversed(rows[2:])],
        lambda rows: [rows[0], *reversed(rows[1:])],
        lambda rows: rows[::-1],
        lambda rows: [["my notes"], *rows[:4], [None] * 6, [None, None, "a remark"], *rows[4:]],
        lambda rows: [[*row[:2], *row[:1:-1]] for row in rows],
        lambda rows: [*rows, rows[3]],
    ],
    ids=["sorted", "heads sorted", "all sorted", "rows put in", "columns moved", "a row twice"],
)
def test_rows_find_their_items(small, edit):
    path = small(lambda book: rewrite(book["labels"], edit(labelled(rows_of(book["labels"])))))
    got = workbook_answers(path).set_index("item")["score"]
    assert got.sort_index().to_dict() == {f"gpt/{k}": 1 + k % 3 for k in range(6)}


def test_deleted_rows_and_empty_cells_are_no_answers(small):
    def edit(book):
        rows = labelled(rows_of(book["labels"]))
        rows[4][3] = "  "
        rewrite(book["labels"], [*rows[:3], *rows[4:]])

    assert workbook_answers(small(edit))["item"].tolist() == ["gpt/0", "gpt/3", "gpt/4", "gpt/5"]
    assert workbook_answers(small(lambda book: None)).empty


def turned(rows, *which):
    """Some columns sorted the other way, without the others."""
    parts = [list(column) for column in zip(*rows, strict=True)]
    for place in which:
        parts[place][2:] = reversed(parts[place][2:])
    return [list(row) for row in zip(*parts, strict=True)]


@pytest.mark.parametrize("moved", [(0,), (1,), (2,), (1, 2), (1, 2, 3, 4, 5)])
def test_rows_that_came_apart_are_refused(small, moved):
    path = small(lambda book: rewrite(book["labels"], turned(labelled(rows_of(book["labels"])), *moved)))
    with pytest.raises(TableError, match=r"row 3: its number, its texts and its hidden key must belong together"):
        workbook_answers(path)


def test_a_text_that_was_edited_is_still_its_item(small):
    def edit(book):
        book["labels"].cell(3, 3, "Text 0, with a remark.")
        book["labels"].cell(3, 4, 2)

    assert first_tone(small(edit)) == 2


def test_a_hidden_sheet_that_lost_its_other_columns_is_read(small):
    """Once it ended in a bare error of Python."""

    def edit(book):
        book["calib"].delete_cols(2, 9)
        book["labels"].cell(3, 4, 2)

    assert first_tone(small(edit)) == 2


def test_a_row_with_answers_and_no_key_is_refused(small):
    path = small(lambda book: book["labels"].append([None, None, "A new text.", 2]))
    with pytest.raises(TableError, match=r"row 9: must have the key of an item in the hidden first column"):
        workbook_answers(path)


def test_two_answers_to_one_question_are_refused(small):
    def edit(book):
        rows = labelled(rows_of(book["labels"]))
        rewrite(book["labels"], [*rows, [*rows[2][:3], 3, *rows[2][4:]]])

    with pytest.raises(TableError, match=r"row 9: 'gpt/0' has another answer to 'tone' by 'ann' than in .* row 3"):
        workbook_answers(small(edit))


def test_a_copy_of_the_sheet_counts_where_it_was_filled_in(small):
    def edit(book):
        rewrite(book.copy_worksheet(book["labels"]), labelled(rows_of(book["labels"])))
        book["labels"].title = "old"

    assert len(workbook_answers(small(edit))) == 6


def without(title):
    return lambda book: book.remove(book[title])


def retyped(cell, value):
    return lambda book: book["calib"].__setitem__(cell, value)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            without("calib"),
            r"small\.xlsx: must have the hidden sheet 'calib', with which calib wrote it; fill in the file",
        ),
        (without("labels"), r"small\.xlsx: must have the sheet 'labels'"),
        (retyped("A1", "{"), r"sheet 'calib': must have what calib put beside each item"),
        (retyped("A2", '{"page": 1}'), r"sheet 'calib': must have what calib put beside each item"),
        (retyped("A1", None), r"row 3: must have the key of an item"),
        (lambda book: book["labels"].delete_cols(4), r"must have a column for 'tone', but it was deleted"),
    ],
)
def test_workbooks_that_were_taken_apart_are_refused(small, edit, message):
    def labelled_too(book):
        book["labels"].cell(3, 5, 7)
        edit(book)

    with pytest.raises(TableError, match=message):
        workbook_answers(small(labelled_too))


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("item,score\na,1\n")
    with pytest.raises(TableError, match=r"a\.xlsx: not an Excel file"):
        workbook_answers(tmp_path / "a.xlsx")
    openpyxl.Workbook().save(tmp_path / "b.xlsx")
    with pytest.raises(TableError, match=r"b\.xlsx: must have the hidden sheet 'calib'"):
        workbook_answers(tmp_path / "b.xlsx")
