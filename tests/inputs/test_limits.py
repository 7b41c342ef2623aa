"""Files and numbers without an end: each is refused by its name, at once."""

import os
import re
import zipfile

import pandas as pd
import pytest

import calib
from calib.inputs.grids import refuse_long_sheets
from calib.inputs.source import source_of
from calib.table import TableError, read, read_frame

openpyxl = pytest.importorskip("openpyxl")
SHEET = "xl/worksheets/sheet1.xml"
HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
HEAD += b'<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c></row>'
EXCEL = 1_048_576


def book(path, rows):
    """A workbook with these rows below its first one."""
    openpyxl.Workbook().save(path.with_suffix(".empty"))
    with zipfile.ZipFile(path.with_suffix(".empty")) as empty, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for part in empty.namelist():
            out.writestr(part, HEAD + rows + b"</sheetData></worksheet>" if part == SHEET else empty.read(part))
    return path


@pytest.mark.parametrize("row", [b"<row/>", b'<x:row r="2">' + b" " * 40 + b"</x:row>", b'<row\nr="2"><c/></row>'])
def test_a_sheet_of_more_rows_than_excel_has_is_refused_before_it_is_read(tmp_path, row):
    with book(tmp_path / "most.xlsx", row * (EXCEL - 1)).open("rb") as file:
        refuse_long_sheets(file)
    path = book(tmp_path / "more.xlsx", row * EXCEL)
    with pytest.raises(TableError, match=rf"^more.xlsx: .*{SHEET} has more than 1,048,576 rows"):
        source_of(path, "")


def test_rows_that_are_many_by_their_numbers_are_refused(tmp_path):
    path = book(tmp_path / "b.xlsx", b'<row r="18000000"><c r="A18000000"><v>1</v></c></row>')
    with pytest.raises(TableError, match=r"^b.xlsx: .*has more than 1,048,576 rows"):
        source_of(path, "")


def test_a_workbook_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("calib.inputs.grids.MOST_BYTES", 10_000)
    with pytest.raises(TableError, match=r"b.xlsx: .*it unpacks to .* GB, and 1e-05 are the most"):
        source_of(book(tmp_path / "b.xlsx", b"<row/>" * 9_000), "")


ITEMS = pd.DataFrame({"item": ["a"], "source": ["s"], "output": ["o"]})
READERS = {
    "read_log": calib.read_log,
    "read_log of a tool": lambda path: calib.read_log(path, tool="deepeval"),
    "read_labels": calib.read_labels,
    "from_jsonl": lambda path: calib.from_jsonl(path, ITEMS, calib.geval_prompt("fluency"), calib.Judge("m")),
    "look": calib.look,
    "read_frame": read_frame,
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_a_pipe_and_a_device_behind_a_link_are_refused(tmp_path, reader, kind):
    path = tmp_path / f"{kind}.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    rule = "must be a file, but is a device or a pipe: save what comes from it first."
    with pytest.raises(TableError, match=re.escape(f"{kind}.jsonl: {rule}")):
        READERS[reader](path)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_beyond_the_limit_is_refused(tmp_path, reader):
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.truncate(2_000_000_001)  # takes no room
    rule = "must have at most 2 GB (`max_bytes`), but has 2: give it in parts (`calib.Partitions`)"
    with pytest.raises(TableError, match=re.escape(f"long.jsonl: {rule}")):
        READERS[reader](path)


def test_the_limit_is_the_caller_s_where_one_is_given(tmp_path):
    path = calib.table.write(pd.DataFrame({"item": ["a" * 2000]}), tmp_path / "t.csv")
    for read_file in (read_frame, lambda path, **limit: read(path, "items", **limit)):
        assert len(read_file(path, max_bytes=3000)) == 1
        with pytest.raises(TableError, match=r"must have at most 1e-06 GB \(`max_bytes`\), but has 2\.01e-06"):
            read_file(path, max_bytes=1000)
    with pytest.raises(TableError, match="at most 1e-06 GB"):
        calib.read_log(path, max_bytes=1000)


# --- numbers --------------------------------------------------------------------------------------------------------

FAR = r"must lie within 1e\+15 of 0, as every scale does"


@pytest.mark.parametrize("label", ["-1e308", "1e16", "-99999999999999999"])
def test_a_label_beyond_any_scale_is_refused_by_its_line(tmp_path, label):
    (tmp_path / "s.csv").write_text("id,judge_score\n" + "".join(f"i{k},{k % 5 + 1}\n" for k in range(30)))
    (tmp_path / "l.csv").write_text("id,label\n" + "".join(f"i{k},{label if k == 3 else 2}\n" for k in range(20)))
    with pytest.raises(TableError, match=rf"l.csv: column `label`, line 5: {FAR}, but got '{label}'"):
        calib.interval(tmp_path / "s.csv", tmp_path / "l.csv")


def test_a_score_of_a_table_beyond_any_scale_is_refused():
    frame = pd.DataFrame({"item": ["a", "b"], "criterion": "c", "rater": "r", "score": [1e15, -1e308]})
    for check in (calib.table.check_scores, calib.table.check_ratings):
        assert check(frame.head(1))["score"].tolist() == [1e15]
        with pytest.raises(TableError, match=f"column `score`, row 1: {FAR}"):
            check(frame)
