"""Anything that holds a table, as a frame: every form, every fault of a file, and what is said about it."""

import datetime as dt
import io
import json
import re
import sys
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

from calib.core.check import ArgumentError
from calib.inputs.source import source_of
from calib.table import TableError

IN_PLACE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MINE = pd.DataFrame({"id": ["007", "8", "NA"], "gpt-4o": [4.0, 2.5, np.nan], "n": [1, 2, 3]})


def file(folder, name: str, data: str | bytes):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(folder, text: str | bytes, name: str = "mine.csv"):
    return source_of(file(folder, name, text), "scores")


def cells(source) -> dict:
    return source.frame.astype(object).where(source.frame.notna(), None).to_dict("list")


def refused(thing, *parts: str, kind: type[Exception] = TableError) -> str:
    with pytest.raises(kind) as caught:
        source_of(thing, "scores")
    message = str(caught.value)
    assert message.isprintable() and message.endswith(".")
    for part in parts:
        assert part in message
    return message


# --- forms ------------------------------------------------------------------------------------------------------


def excel(frame: pd.DataFrame, path, **options) -> object:
    frame.to_excel(path, index=False, **options)
    return path


def parquet(frame: pd.DataFrame, path) -> object:
    frame.to_parquet(path)
    return path


def csv_file(f, folder, name="m.csv", top="", encoding="utf-8", **options):
    return file(folder, name, (top + f.to_csv(index=False, **options)).encode(encoding))


def json_file(f, folder, name="m.json", under=None, **options):
    text = f.to_json(double_precision=15, **options)
    return file(folder, name, json.dumps({"v": 1, under: json.loads(text)}) if under else text)


FORMS = {
    "csv": csv_file,
    "csv of windows": partial(csv_file, lineterminator="\r\n"),
    "csv, capital ending": partial(csv_file, name="M.CSV"),
    "csv, semicolons": partial(csv_file, sep=";"),
    "csv, bars": partial(csv_file, sep="|"),
    "csv, German": partial(csv_file, sep=";", decimal=","),
    "csv, sep=": partial(csv_file, top="sep=;\r\n", sep=";"),
    "csv, utf-8 with mark": partial(csv_file, encoding="utf-8-sig"),
    "csv, utf-16": partial(csv_file, encoding="utf-16"),
    "csv, utf-16 big": partial(csv_file, top="\ufeff", encoding="utf-16-be"),
    "csv with index": lambda f, folder: file(folder, "m.csv", f.to_csv()),
    "txt": partial(csv_file, name="m.txt", sep="\t"),
    "tsv": partial(csv_file, name="m.tsv", sep="\t"),
    "jsonl": partial(json_file, name="m.jsonl", orient="records", lines=True),
    "json, rows": partial(json_file, orient="records"),
    "json, rows under a key": partial(json_file, under="results", orient="records"),
    "json, columns": json_file,
    "json, split": partial(json_file, orient="split"),
    "parquet": lambda f, folder: parquet(f, folder / "m.parquet"),
    "parquet with index": lambda f, folder: parquet(f.set_index("id"), folder / "m.parquet"),
    "xlsx": lambda f, folder: excel(f, folder / "m.xlsx"),
    "text path": lambda f, folder: str(csv_file(f, folder)),
    "pandas": lambda f, folder: f,
    "pandas, a part": lambda f, folder: pd.concat([f.head(1), f]).iloc[1:],
    "pandas, ids as index": lambda f, folder: f.set_index("id"),
    "pandas, types of Arrow": lambda f, folder: f.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda f, folder: pl.from_pandas(f),
    "polars, lazy": lambda f, folder: pl.from_pandas(f).lazy(),
    "pyarrow": lambda f, folder: pa.table(f),
    "pyarrow batch": lambda f, folder: pa.RecordBatch.from_pandas(f),
    "interchange alone": lambda f, folder: Interchange(f),
    "columns": lambda f, folder: {name: list(f[name]) for name in f},
    "columns of arrays": lambda f, folder: {name: f[name].to_numpy() for name in f},
    "rows": lambda f, folder: f.to_dict("records"),
}


class Interchange:
    """A frame of another library, which speaks the older protocol only."""

    def __init__(self, frame: pd.DataFrame):
        self.frame = pa.table(frame)

    def __dataframe__(self, **options):
        return self.frame.__dataframe__(**options)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_is_the_same_frame(form, tmp_path):
    found = source_of(form(MINE, tmp_path), "scores")
    assert cells(found) == {"id": ["007", "8", "NA"], "gpt-4o": [4.0, 2.5, None], "n": [1, 2, 3]}
    assert found.frame.index.equals(pd.RangeIndex(3))
    assert all(pd.api.types.is_numeric_dtype(found.frame[name]) for name in ("gpt-4o", "n"))


def test_a_frame_is_not_changed_and_a_plain_one_not_copied():
    before = MINE.copy()
    assert source_of(MINE, "scores").frame is MINE
    source_of(MINE.set_index("id").iloc[::-1], "scores")
    pd.testing.assert_frame_equal(MINE, before)


def test_a_series_is_one_column():
    assert cells(source_of(MINE.set_index("id")["n"], "scores")) == {"id": ["007", "8", "NA"], "n": [1, 2, 3]}


def test_how_sources_are_called(tmp_path):
    path = file(tmp_path, "mine.csv", "id,a\nx,1\n")
    named = [source_of(thing, "scores").name for thing in (path, MINE, pl.from_pandas(MINE), pa.table(MINE))]
    assert named == ["mine.csv", "the frame", "the polars DataFrame", "the pyarrow Table"]
    assert source_of(path, "scores").path == path
    assert source_of(MINE, "scores").path is None


LONG = 2**60 + 1


@pytest.mark.parametrize(
    "thing",
    [
        lambda folder: pl.DataFrame({"id": [LONG, None], "a": [1, 2]}),
        lambda folder: pa.table({"id": [LONG, None], "a": [1, 2]}),
        lambda folder: file(folder, "m.csv", f"id,a\n{LONG},1\n,2\n"),
    ],
)
def test_long_ids_stay_what_they_are_beside_a_gap(thing, tmp_path):
    assert str(source_of(thing(tmp_path), "scores").frame["id"][0]) == str(LONG)


def test_small_numbers_with_a_gap_are_numbers():
    found = source_of(pl.DataFrame({"a": [1, None], "b": [True, None]}), "scores").frame
    assert found["a"].dtype == float
    assert found["b"][0] is True


def test_decimals_of_arrow_are_numbers():
    table = pl.DataFrame({"a": ["1.5", "2.25"]}).with_columns(pl.col("a").cast(pl.Decimal(6, 2)))
    assert source_of(table, "scores").frame["a"].dtype == float


def test_an_index_with_a_name_or_of_texts_is_a_column():
    named = source_of(MINE.set_index("id"), "scores")
    assert list(named.frame) == ["id", "gpt-4o", "n"]
    assert named.notes == ("the index became a column (id).",)
    assert list(source_of(MINE.set_index("id").rename_axis(None), "scores").frame) == ["index", "gpt-4o", "n"]
    assert list(source_of(MINE.set_index(["id", "n"]), "scores").frame) == ["id", "n", "gpt-4o"]
    twice = MINE.set_index("id", drop=False)
    assert list(source_of(twice, "scores").frame) == ["id", "gpt-4o", "n"]


def test_names_that_are_no_texts_become_texts():
    assert list(source_of(pd.DataFrame({"id": ["a"], 1: [4], 2: [5]}), "scores").frame) == ["id", "1", "2"]


# --- Excel ------------------------------------------------------------------------------------------------------


def test_one_of_several_sheets(tmp_path):
    path = tmp_path / "study.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame().to_excel(book, sheet_name="Cover")
        MINE.to_excel(book, sheet_name="Judge", index=False)
        MINE.head(1).to_excel(book, sheet_name="People", index=False)
    first = source_of(path, "scores")
    assert (len(first.frame), first.name) == (3, "study.xlsx, sheet Judge")
    assert first.notes == ("sheet 'Judge' was read; there is also 'People' (study.xlsx#People names one).",)
    assert len(source_of(f"{path}#People", "scores").frame) == 1
    refused(f"{path}#Labels", "must have a sheet 'Labels', but has 'Cover', 'Judge', 'People'")


def test_rows_of_a_sheet_are_those_that_excel_shows(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in ([], ["id", "mark", None], [], ["a", 4], ["b", True], [], ["c", dt.date(2026, 5, 3)]):
        book.active.append(row)
    book.active["B4"] = "=1+3"
    book.save(tmp_path / "m.xlsx")
    found = source_of(tmp_path / "m.xlsx", "scores")
    assert found.frame["id"].tolist() == ["a", "b", "c"]
    assert [found.line(row) for row in range(3)] == ["row 4", "row 5", "row 7"]
    assert found.frame["mark"][0] is None or pd.isna(found.frame["mark"][0])  # a formula that nobody has computed
    assert found.frame["mark"][1] is True


def test_a_sheet_without_a_cell(tmp_path):
    pytest.importorskip("openpyxl").Workbook().save(tmp_path / "m.xlsx")
    refused(tmp_path / "m.xlsx", "m.xlsx: must have cells, but all sheets are empty")


@pytest.mark.parametrize(("data", "why"), [(b"", "not an Excel file"), (b"id,mark\na,4\n", "not an Excel file"),
    (b"\xd0\xcf\x11\xe0 and so on", "an old Excel file or one with a password"),
    (b"PK\x03\x04 and no more", "not an Excel file")])  # fmt: skip
def test_a_broken_excel_file(data, why, tmp_path):
    refused(file(tmp_path, "m.xlsx", data), "m.xlsx: not an Excel file (.xlsx) that can be read", why)


def test_half_an_excel_file_and_another_zip(tmp_path):
    whole = excel(MINE, tmp_path / "m.xlsx").read_bytes()
    refused(file(tmp_path, "half.xlsx", whole[: len(whole) // 2]), "half.xlsx: not an Excel file")
    with zipfile.ZipFile(tmp_path / "other.xlsx", "w") as archive:
        archive.writestr("hello.txt", "hello")
    refused(tmp_path / "other.xlsx", "other.xlsx: not an Excel file")
    with zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as archive, zipfile.ZipFile(tmp_path / "m.xlsx") as good:
        for name in good.namelist():
            archive.writestr(name, b"<broken" if "sheet1" in name else good.read(name))
    refused(tmp_path / "bad.xlsx", "bad.xlsx: not an Excel file")


# --- csv: how it was read ---------------------------------------------------------------------------------------


def test_semicolons_decimal_commas_and_tails_of_excel(tmp_path):
    text = 'id;mark;text;;\r\na;3,5;"one\r\ntwo; three";;\r\n;;;;\r\nb;4;z;;\r\n;;;;\r\n;;;;\r\n'
    found = read(tmp_path, text)
    assert cells(found) == {"id": ["a", "b"], "mark": [3.5, 4.0], "text": ["one\r\ntwo; three", "z"]}
    assert [found.line(0), found.line(1)] == ["line 2", "line 5"]
    assert found.notes == (
        "cells are separated by semicolons.",
        "column `mark`: numbers have decimal commas.",
        "1 empty rows were left out.",
    )


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("id;x\na;3,5\nb;\n", [3.5, None]),
        ("id;x\na;0,125\nb;12\n", [0.125, 12.0]),
        ("id\tx\na\t-1,25\nb\t2,5\n", [-1.25, 2.5]),
        ("id;x\na;1,234\nb;5\n", ["1,234", "5"]),  # of thousands, or of decimals
        ("id;x\na;3,5\nb;4.5\n", ["3,5", "4.5"]),
        ("id;x\na;1.234,5\nb;2,5\n", ["1.234,5", "2,5"]),
        ('id,x\na,"3,5"\nb,"4,5"\n', ["3,5", "4,5"]),  # a comma separates: nothing is taken for granted
        ("id;x\na;3,5,1\nb;4\n", ["3,5,1", "4"]),
    ],
)
def test_decimal_commas_only_where_they_are_certain(text, numbers, tmp_path):
    assert cells(read(tmp_path, text))["x"] == numbers


@pytest.mark.parametrize(("text", "names"), [("id,text\na,x;y;z\nb,p;q\n", ["id", "text"]),
    ("id;text\na;x, y, z\nb;p, q\n", ["id", "text"]), ("id;text\na;x,y\nb;p,q\n", ["id", "text"]),
    ("id;mark\na;3,5\nb;4,5\n", ["id", "mark"]), ("id|text\na|x,y\n", ["id", "text"]),
    ("id,a|b\nx,1|2\n", ["id", "a|b"]), ("id,text\na,x\ty\n", ["id", "text"]), ("only\n1\n2\n", ["only"]),
    ('id,"a;b;c"\nx,"1;2;3"\n', ["id", "a;b;c"]), ('"id";"text"\n"a";"x\n;;;y"\n', ["id", "text"]),
    ('"id\nof it";"a,b"\n"a";1\n', ["id\nof it", "a,b"]), ("id;a,b\rx;1\r", ["id", "a,b"])])  # fmt: skip
def test_the_separator_is_found(text, names, tmp_path):
    assert list(read(tmp_path, text).frame) == names


def test_a_comma_and_a_tab_need_no_word(tmp_path):
    assert read(tmp_path, "id,a\nx,1\n").notes == ()
    assert read(tmp_path, "id\ta\nx\t1\n", "m.tsv").notes == ()
    assert read(tmp_path, "id\ta\nx\t1\n").notes == ("cells are separated by tabs.",)


def test_windows_letters_are_read_and_said(tmp_path):
    found = read(tmp_path, b"id,text\na,plain\nb,caf\xe9 \x96\n")
    assert found.frame["text"].tolist() == ["plain", "caf\xe9 \u2013"]
    (note,) = found.notes
    assert note.startswith("line 3 is not UTF-8: the file was read as Windows-1252")


def test_blanks_around_names_are_forgiven_and_said(tmp_path):
    found = read(tmp_path, "id ,mark\t\na,1\n")
    assert list(found.frame) == ["id", "mark"]
    assert found.notes == ("blanks around the names of columns were passed over (id, mark).",)


def test_blanks_after_separators_as_people_type_them(tmp_path):
    found = read(tmp_path, 'id, mark, text\na b, 3, "x, y"\nc,4, z\n')
    assert cells(found) == {"id": ["a b", "c"], "mark": [3, 4], "text": ["x, y", "z"]}
    assert found.notes == ("blanks after separators were passed over.",)
    assert cells(read(tmp_path, "id,mark, text\na, 3, x\n"))["text"] == [" x"]  # not everywhere: a part of the cells


def test_an_id_may_be_called_as_a_blank_is(tmp_path):
    found = read(tmp_path, "id,mark\nNA,1\nnull,2\nNone,3\n-,4\nnan,5\n")
    assert found.frame["id"].tolist() == ["NA", "null", "None", "-", "nan"]


def test_an_index_column_is_dropped_where_others_may_be_ids(tmp_path):
    dropped = read(tmp_path, MINE.to_csv())
    assert list(dropped.frame) == list(MINE)
    assert dropped.notes == ("the first column has no name and counts rows: it was left out.",)
    assert list(source_of(MINE.rename_axis(None).reset_index(names="Unnamed: 0"), "scores").frame) == list(MINE)
    # without another column of ids it holds them itself; so it does where it is of texts
    kept = read(tmp_path, ",mark,kind\n0,0.5,x\n7,0.4,x\n")
    assert list(kept.frame) == ["column 1", "mark", "kind"]
    assert kept.notes == ("the first column has no name; it is called `column 1`.",)
    assert read(tmp_path, ",mark\na,5\nb,4\n").frame["column 1"].tolist() == ["a", "b"]


HEADLESS = [
    ("a1,4\na2,3\na3,5\n", True),
    ("a1,4,0.5\na2,3,0.2\na3,5,0.1\n", True),
    ("a1,pass\na2,fail\na3,pass\n", True),
    ("item,1,2,3\na,4,5,3\nb,3,2,2\n", False),  # annotators with numbers
    ("item,2023\na,x\nb,y\n", False),
    ("id,mark\na1,4\na2,3\n", False),
]


@pytest.mark.parametrize(("text", "warned"), HEADLESS)
def test_a_first_line_that_looks_like_data_is_warned_of(text, warned, tmp_path):
    said = [note for note in read(tmp_path, text).notes if "looks like data" in note]
    assert bool(said) is warned
    assert not said or said[0].startswith("line 1 looks like data, but is taken for the names of the columns (`a1`, `")


def test_notes_hold_nothing_that_steers_a_terminal(tmp_path):
    found = read(tmp_path, "id \x1b[31m ;mark\na;3,5\n")
    assert all(note.isprintable() for note in found.notes)


# --- csv: what is refused, with the line ------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "parts"), [("id,mark\na,1\nb,2,3\n",
    ["line 3: must have as many cells as line 1 has names (2), but has 3", "quotes"]),
    ("id,mark,who\na,1,x\nb,2\n", ["line 3: must have as many cells as line 1 has names (3), but has 2."]),
    ('id,text\na,"one\ntwo\nthree"\n\nb,x,y\n', ["line 6: must have as many cells"]),
    ("Results\n\nid,1,who\na,1,x\n", ["line 3: must have as many cells as line 1 has names (1)"]),
    ("id,mark,mark\na,1,2\n", ["line 1: column `mark` must be there once, but is column 2 and 3."]),
    ("id,mark, mark\na,1,2\n", ["column `mark` must be there once"]),
    ("id,mark,\na,1,x\n", ["line 1: must name each column, but column 3 has none."]),
    ('id,text\na,x\nb,"never closed\nc,y\n', ["in the row that begins in line 3", "a quote is opened"]),
    ('id,text\na,"x" y\n', ["in the row that begins in line 2"]),
    ("id,text\na,x\nb,\0\n", ["line 3: must be text, but holds a NUL byte"]),
    ("id,text\na,x\n".encode("utf-16-le"), ["NUL byte"]), ("", ["has no line"]), ("\n\n,,\n", ["has no line"]),
    ("id,mark\n", ["has 1 line"]), ("id,mark\n,\n", ["has 1 line"]),
    (b"PK\x03\x04...", ["is a zip archive or an Excel file: give it the ending .xlsx"]),
    (b"PAR1...", ["is a Parquet file"]), (b"\x1f\x8b...", ["is a gzip file"]),
    (b"\xd0\xcf\x11\xe0...", ["is an old Excel file"]), (b"\xff\xfea", ["must be text, but 'utf-16"])])  # fmt: skip
def test_what_is_no_csv_table(text, parts, tmp_path):
    refused(file(tmp_path, "mine.csv", text), "mine.csv", *parts)


def test_mixed_ends_of_lines(tmp_path):
    found = read(tmp_path, b"id,mark\r\na,1\nb,2\rc,3\r\n\r\nd,4")
    assert found.frame["id"].tolist() == list("abcd")
    assert [found.line(row) for row in range(4)] == ["line 2", "line 3", "line 4", "line 6"]


@pytest.mark.slow
def test_a_cell_of_ten_megabytes_and_twenty_thousand_columns(tmp_path):
    text = 'a "quoted" word, and\na line. ' * 330_000
    path = file(tmp_path, "long.csv", 'id,text\na,"' + text.replace('"', '""') + '"\nb,x\n')
    found = source_of(path, "scores")
    assert found.frame["text"][0] == text
    assert found.line(1) == f"line {3 + text.count(chr(10))}"
    wide = ",".join(f"c{k}" for k in range(20_000)) + "\n" + ",".join("1" for _ in range(20_000)) + "\n"
    assert source_of(file(tmp_path, "wide.csv", wide), "scores").frame.shape == (1, 20_000)


# --- JSON -------------------------------------------------------------------------------------------------------


def test_lines_of_jsonl(tmp_path):
    found = read(tmp_path, '{"id": "a", "mark": 4}\n\n{"id": "b"}\r\n', "m.jsonl")
    assert cells(found) == {"id": ["a", "b"], "mark": [4.0, None]}
    assert [found.line(0), found.line(1)] == ["line 1", "line 3"]


@pytest.mark.parametrize(("name", "text", "part"), [("m.jsonl", '{"id": "a"}\n{"id": "b"\n',
    "m.jsonl, line 2: must be a JSON object"), ("m.jsonl", '{"id": "a"}\n[1]\n',
    "m.jsonl, line 2: must be a JSON object"), ("m.jsonl", "\n",
    "m.jsonl: must have rows and columns, but has no column"),
    ("m.json", '[{"id": "a"},\n{"id"}]', "m.json, line 2: not JSON"),
    ("m.json", "3", "m.json: must be a list of objects or an object of columns, but is '3'"),
    ("m.json", "[1, 2]", "m.json: must be a list of objects"),
    ("m.json", '{"a": [1, 2], "b": [1]}', "m.json: columns must have one length, but `a` has 2, `b` has 1"),
    ("m.json", '{"a": 1}', "m.json: column `a`: must be a list of cells, but is '1'"),
    ("m.json", '{"columns": ["a", "b"], "data": [[1, 2], [1]]}', "m.json: each row of `data` must have 2 cells"),
    ("m.json", "[" * 100_000 + "]" * 100_000, "nested at most 100 levels deep"),
    ("m.json", b"[\0]", "line 1: must be text, but holds a NUL byte"),
    ("m.parquet", "PAR1 and no more", "m.parquet: not a table in Parquet")])  # fmt: skip
def test_what_is_no_table_in_json_or_parquet(name, text, part, tmp_path):
    refused(file(tmp_path, name, text), part)


# --- what is no table at all ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("thing", "given"), [(3, "got int"), (None, "got NoneType"), ([], "got an empty list"),
    (np.ones((2, 2)), "got numpy ndarray"), ([1, 2], "got list"),
    (pl.Series("a", [1]), "got polars Series, which is no table"),
    (io.StringIO("id,mark\n"), "got _io StringIO: give the path")])  # fmt: skip
def test_what_may_be_given_is_said(thing, given):
    said = refused(thing, "`scores` must be a path (.csv,", "a dict of columns or a list of dicts", given)
    assert "DataFrame" in said
    with pytest.raises(ArgumentError):
        source_of(thing, "scores")


@pytest.mark.parametrize(("thing", "part"), [(MINE.head(0), "the frame: must have rows and columns, but has no row"),
    (pd.DataFrame(), "the frame: must have rows and columns, but has no column"),
    ({}, "the dict: must have rows and columns, but has no column"),
    ({"a": "text"}, "`scores`: column `a`: must be a list of cells, but is 'text'"),
    ({"a": [1], "b": [1, 2]}, "columns must have one length, but `a` has 1, `b` has 2"),
    (pd.concat([MINE, MINE], axis=1), "the frame: column `id` must be there once"),
    (pd.DataFrame({("a", "b"): [1]}), "the frame: must have one level of column names, but has 2"),
    (pd.DataFrame({1: [1], "1": [2]}), "the frame: column `1` must be there once")])  # fmt: skip
def test_frames_that_are_no_tables(thing, part):
    refused(thing, part)


def test_a_missing_file_names_what_is_beside_it(tmp_path):
    for name in ("results.csv", "labels.csv", "notes.md"):
        file(tmp_path, name, "id,a\nx,1\n")
    said = refused(tmp_path / "result.csv", "`scores`: there is no file", kind=FileNotFoundError)
    assert said.endswith("; beside it there is 'results.csv'.")
    far = refused(tmp_path / "zzz.csv", kind=FileNotFoundError)
    assert far.endswith("; beside it there is 'labels.csv', 'results.csv'.")
    refused(tmp_path / "no" / "where.csv", "there is no file", kind=FileNotFoundError)
    refused("https://example.org/a.csv", "download it first", kind=FileNotFoundError)
    refused("id,mark\na,1\n", "there is no file", kind=FileNotFoundError)
    refused("x" * 100_000, "there is no file", kind=FileNotFoundError)
    refused("a\0b.csv", "there is no file", kind=FileNotFoundError)


def test_a_folder_and_another_ending(tmp_path):
    file(tmp_path, "results.csv", "id,a\nx,1\n")
    refused(tmp_path, "`scores` must be a file", "is a folder; in it there is 'results.csv'")
    refused(file(tmp_path, "m.docx", "x"), "`scores` must end in .csv, .tsv, .txt, .jsonl, .ndjson, .json, .parquet")
    refused(file(tmp_path, "m.xls", "x"), "(save the sheet as .xlsx or .csv)")


@pytest.mark.parametrize(
    ("package", "form", "extra"),
    [("openpyxl", "xlsx", "excel"), ("pyarrow", "parquet", "parquet"), ("pyarrow", "polars", "parquet")],
)
def test_without_a_package_it_says_what_to_install(package, form, extra, tmp_path, monkeypatch):
    thing = FORMS[form](MINE, tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"pip install 'calib-judge\[{extra}\]'"):
        source_of(thing, "scores")


# --- what was written is read -----------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=8)
NAME = st.from_regex(r"[a-z][a-z0-9_ ]{0,6}[a-z]", fullmatch=True)
WORDS = st.from_regex(r"[a-z][a-z ,;|\t\n\"']{0,10}[a-z]", fullmatch=True)


@st.composite
def frames(draw):
    n = draw(st.integers(1, 6))
    ids = draw(st.lists(WORDS, min_size=n, max_size=n, unique=True))
    names = draw(st.lists(NAME, min_size=1, max_size=3, unique=True))
    number = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x % 1 != 0 and abs(x) > 1e-3) | st.none()
    columns = {name: draw(st.lists(number, min_size=n, max_size=n)) for name in names}
    return pd.DataFrame({"item id": ids, **columns}).astype(dict.fromkeys(names, float))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("separator", "decimal"),
    [",.", ";,", *(pytest.param(*form, marks=pytest.mark.long) for form in (";.", "\t.", "|.", "\t,", "|,"))],
)
@settings(IN_PLACE)
@given(frame=frames())
def test_any_csv_comes_back(frame, separator, decimal, tmp_path):
    text = frame.to_csv(index=False, sep=separator, decimal=decimal, lineterminator="\n")
    assume(decimal == "." or not re.search(r"\d,\d{3}(?!\d)", text))  # commas that may be of thousands
    found = read(tmp_path, text)
    assert list(found.frame) == list(frame)
    assert found.frame["item id"].tolist() == frame["item id"].tolist()
    for name in frame.columns[1:]:
        np.testing.assert_array_equal(found.frame[name].astype(float), frame[name])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "json, rows", "json, split", "parquet", "xlsx", "polars", "columns", "rows"])
@settings(IN_PLACE)
@given(frame=frames())
def test_any_frame_comes_back(form, frame, tmp_path):
    found = source_of(FORMS[form](frame, tmp_path), "scores")
    assert found.frame["item id"].tolist() == frame["item id"].tolist()
    for name in frame.columns[1:]:
        np.testing.assert_allclose(found.frame[name].astype(float), frame[name], rtol=1e-9)


@IN_PLACE
@given(
    rows=st.lists(st.tuples(TEXT.filter(str.strip), TEXT), min_size=1, max_size=6), end=st.sampled_from(["\n", "\r\n"])
)
def test_the_line_of_a_row_is_where_it_begins(rows, end, tmp_path):
    frame = pd.DataFrame(rows, columns=["left", "right"], dtype=object)
    text = frame.to_csv(index=False, lineterminator=end, quoting=1)
    found = read(tmp_path, text)
    starts = [2]
    for left, right in rows:
        starts.append(starts[-1] + 1 + left.count("\n") + right.count("\n"))
    assert [found.line(k) for k in range(len(rows))] == [f"line {start}" for start in starts[:-1]]


@settings(IN_PLACE)
@given(data=st.binary(max_size=200) | st.text('ab,;"\n\t|\r 1.\0\ufeff', max_size=80).map(str.encode))
@example(data=b"a;\r;1\r1")
def test_any_bytes_are_read_or_refused(data, tmp_path):
    for name in ("m.csv", "m.jsonl", "m.json", "m.xlsx"):
        try:
            found = source_of(file(tmp_path, name, data), "scores")
        except TableError as error:
            assert name in str(error)
        else:
            assert len(found.frame) and found.line(len(found.frame) - 1)


@pytest.mark.parametrize("name", ["mine.jsonl", "mine.json"])
def test_half_a_character_in_a_text_is_shown_as_such_and_said(tmp_path, name):
    rows = [{"id": "a", "output": "ends in \ud83d"}, {"id": "b", "output": "whole \U0001f600"}]
    text = json.dumps(rows) if name == "mine.json" else "\n".join(map(json.dumps, rows))
    source = read(tmp_path, text, name)
    assert source.frame["output"].tolist() == ["ends in \ufffd", "whole \U0001f600"]
    (note,) = source.notes
    assert note.startswith("column `output`: half a character became \ufffd (")
    refused([{"id": "a\ud83d", "output": "x"}], "row 0", "the id 'a\\ud83d' holds half a character")
