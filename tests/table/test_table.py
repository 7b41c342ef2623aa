"""The three tables: every rule with its message, the defaults, and files that bring back what was written."""

import csv
import json
import math
import os
import re
import subprocess
import sys
from itertools import product
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pandas.testing import assert_frame_equal

from calib import table
from calib.table import ScaleRange, TableError, check_items, check_ratings, check_scores, parse_scale, read, write

ENDINGS = (".csv", ".jsonl", ".parquet")
NAN = math.nan


def texts(*values: str) -> pd.Series:
    """Text as Python strings, which may hold what Arrow cannot."""
    return pd.Series(values, dtype=object)


def items(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"item": ["a", "b"]} | columns)


def ratings(**columns: object) -> pd.DataFrame:
    base = {"item": ["a", "b"], "criterion": "fluency", "rater": "ann", "score": [4.0, 2.0]}
    return pd.DataFrame(base | columns)


def scores(**columns: object) -> pd.DataFrame:
    return ratings(**columns)


def shown_in(error: str) -> str:
    return f"^{re.escape(error)}$"


# --- rules and their messages -----------------------------------------------------------------------------------

OPTIONS = "human, sample, logprob, chain, given"
STATUSES = (
    "ok, off_scale, unseen, ambiguous, unread, refused, truncated, no_logprobs, bad_logprobs, constrained, failed, "
    "cannot_say"
)
RULES = {
    "items": [
        (pd.DataFrame({"id": ["a"], "text": ["x"]}), "column `item` is missing; there are 'id', 'text'."),
        (pd.DataFrame({0: ["a"], 1: ["x"]}), "column `item` is missing; there are '0', '1'."),
        (pd.DataFrame({"item": ["a", "b", "a"]}), "column `item`, row 2: must be unique, but 'a' was there before."),
        (pd.DataFrame({"item": [1, "1"]}), "column `item`, row 1: must be unique, but '1' was there before."),
        (pd.DataFrame({"item": ["a", ""]}), "column `item`, row 1: must not be empty, but got ''."),
        (pd.DataFrame({"item": ["a", None]}), "column `item`, row 1: must not be missing."),
        (items(output=["x", None]), "column `output`, row 1: must not be missing."),
        (items(group=[NAN, "g"]), "column `group`, row 0: must not be missing."),
        (items(system=[pd.NA, "g"]), "column `system`, row 0: must not be missing."),
    ],
    "ratings": [
        (ratings().drop(columns="rater"), "column `rater` is missing; there are 'item', 'criterion', 'score'."),
        (ratings(score=["4", "x"]), "column `score`, row 1: must be a number, but got 'x'."),
        (ratings(score=["4", "nan"]), "column `score`, row 1: must be a number, but got 'nan'."),
        (ratings(score=["4,5", "1"]), "column `score`, row 0: must be a number, but got '4,5'."),
        (ratings(score=[[4], 1]), "column `score`, row 0: must be a number, but got [4]."),
        (ratings(score=[1, np.inf]), "column `score`, row 1: must be finite, but got inf."),
        (ratings(temperature=[1, -np.inf]), "column `temperature`, row 1: must be finite, but got -inf."),
        (ratings(draw=[0, 0.5]), "column `draw`, row 1: must be a whole number, but got 0.5."),
        (ratings(draw=[0, -1]), "column `draw`, row 1: must not be negative, but got -1."),
        (ratings(weight=[0.5, 1.5]), "column `weight`, row 1: must lie between 0 and 1, but got 1.5."),
        (ratings(weight=[-0.1, 1]), "column `weight`, row 0: must lie between 0 and 1, but got -0.1."),
        (ratings(method="guess"), f"column `method`, row 0: must be one of {OPTIONS}, but got 'guess'."),
        (ratings(status=["ok", "fine"]), f"column `status`, row 1: must be one of {STATUSES}, but got 'fine'."),
        (ratings(status=["ok", "unread"]),
         "column `score`, row 1: must be a number exactly where `status` is 'ok', but got 2.0."),
        (ratings(status="ok", score=[4, None]),
         "column `score`, row 1: must be a number exactly where `status` is 'ok', but got nan."),
        (ratings(scale="1|2|3"), "column `score`, row 0: must lie on the scale '1|2|3', but got 4.0."),
        (ratings(scale=["0..100", "3..5"]), "column `score`, row 1: must lie on the scale '3..5', but got 2.0."),
        (
            pd.concat([ratings(), ratings()]),
            "column `item`, row 2: must be unique over item, criterion, rater, prompt, method, temperature, run, "
            "draw, score, but 'a', 'fluency', 'ann' was there before.",
        ),
        (ratings(criterion=["fluency", None]), "column `criterion`, row 1: must not be missing."),
    ],
    "scores": [
        (scores().drop(columns="score"), "column `score` is missing; there are 'item', 'criterion', 'rater'."),
        (scores(score=["high", 1]), "column `score`, row 0: must be a number, but got 'high'."),
        (scores(method="both"), f"column `method`, row 0: must be one of {OPTIONS}, but got 'both'."),
        (scores(scale="1..3"), "column `score`, row 0: must lie on the scale '1..3', but got 4.0."),
        (scores(n=[1, 0.5]), "column `n`, row 1: must be a whole number, but got 0.5."),
        (
            scores(item=["a", "a"]),
            "column `item`, row 1: must be unique over item, criterion, rater, prompt, method, temperature, "
            "but 'a', 'fluency', 'ann' was there before.",
        ),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "frame", "rule"), [(kind, *case) for kind, cases in RULES.items() for case in cases])
def test_a_broken_rule_is_named_with_table_column_row_and_value(kind, frame, rule):
    with pytest.raises(TableError, match=shown_in(f"{kind}: {rule}")):
        table.CHECKS[kind](frame)


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("value", [None, [{"item": "a"}], {"item": ["a"]}, np.zeros(3)])
def test_only_frames_are_tables(kind, value):
    message = f"{kind}: must be a pandas DataFrame, but got {type(value).__name__}."
    with pytest.raises(TableError, match=shown_in(message)):
        table.CHECKS[kind](value)


def test_the_row_is_the_place_whatever_the_index():
    frame = ratings(score=["4", "x"]).set_index(pd.Index([17, 17]))
    with pytest.raises(TableError, match="row 1"):
        check_ratings(frame)


@pytest.mark.parametrize("levels", [["item"], ["group", "item"]])
def test_what_the_index_names_is_a_column(levels):
    frame = items(group=["g", "h"], output=["A.", "B."])
    indexed = frame.set_index(levels)
    assert_frame_equal(check_items(indexed), check_items(frame), check_like=True)
    assert list(indexed.index.names) == levels


@pytest.mark.parametrize("scale", ["one to five", "1..2..3", "5..1", "4", "1..inf"])
def test_a_scale_that_is_none_is_named_like_every_other_value(scale):
    with pytest.raises(TableError, match=r"^ratings: column `scale`, row 0: .*" + re.escape(repr(scale))):
        check_ratings(ratings(scale=scale))


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        (ratings(item=["a", "a"]), "weight"),  # one draw weighs no more than one
        *(
            (ratings(score=[4, None], status=["ok", s], weight=0.5, method="logprob"), "low")
            for s in ("ambiguous", "unseen")
        ),
        (ratings(weight=[0.4, None], method="logprob"), "weight"),  # a missing probability is not made up
        (pd.concat([ratings(), ratings()[["score"]]], axis=1), "score"),
    ],
)
def test_a_table_that_cannot_be_is_refused_by_a_column(frame, column):
    with pytest.raises(TableError, match=column):
        check_ratings(frame)


# --- scales -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "low", "high", "values"),
    [("1|2|3", 1, 3, (1, 2, 3)), ("3|1|2", 1, 3, (1, 2, 3)), ("0|0.5|1", 0, 1, (0, 0.5, 1)), ("-1..1", -1, 1, ()),
     ("0..100", 0, 100, ())],
)  # fmt: skip
def test_scales_are_read(text, low, high, values):
    scale = parse_scale(text)
    assert scale == ScaleRange(low, high, values)
    assert scale.holds(pd.Series([low, high, (low + high) / 2])).all()
    assert not scale.holds(pd.Series([low - 1e-9, high + 1e-9, NAN])).any()


FORM, EXTENT = "must read '1|2|3' or 'lo..hi'", "must have two different finite values"


@pytest.mark.parametrize(
    ("text", "rule"),
    [*product(["a", "1|a", "1..2..3", "..", "|"], [FORM]),
     *product(["1", "2|2", "5..1", "1..1", "nan..1", "0..inf"], [EXTENT])],
)  # fmt: skip
def test_what_is_no_scale_is_refused_and_none_is_unknown(text, rule):
    with pytest.raises(TableError, match=shown_in(f"a scale {rule}, but got {text!r}.")):
        parse_scale(text)
    assert parse_scale("") is None
    assert check_ratings(ratings(score=[-1e9, 1e9]))["scale"].tolist() == ["", ""]


# --- what a check makes of a table ------------------------------------------------------------------------------


def test_defaults_of_ratings_scores_and_items():
    row = check_ratings(ratings()).iloc[0].to_dict()
    assert {k: v for k, v in row.items() if not isinstance(v, float)} == {
        "item": "a", "criterion": "fluency", "rater": "ann", "prompt": "", "scale": "", "method": "human", "run": "",
        "draw": 0, "status": "ok",
    }  # fmt: skip
    assert (row["score"], row["weight"]) == (4.0, 1.0)
    assert all(math.isnan(row[name]) for name in ("temperature", "low", "high"))
    row = check_scores(scores()).iloc[0]
    assert (row["prompt"], row["method"], row["scale"], row["n"], row["n_unread"]) == ("", "human", "", 1, 0)
    assert row[["entropy", "sd", "mode", "mass", "low", "high", "temperature"]].isna().all()
    assert "group" not in row
    assert list(check_items(items()).columns) == ["item"]


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, ""])
def test_every_kind_of_missing_score_is_unread_unless_it_says_why(missing):
    checked = check_ratings(ratings(score=pd.Series([4, missing], dtype=object)))
    assert checked["score"].isna().tolist() == [False, True]
    assert checked["status"].tolist() == ["ok", "unread"]
    checked = check_ratings(ratings(score=pd.Series([missing, 2], dtype=object), status=["refused", ""]))
    assert checked["status"].tolist() == ["refused", "ok"]
    assert len(check_ratings(ratings(item=["a", "a"], score=None))) == 2, "unread draws are no doubles"


@pytest.mark.parametrize("values", [[4, 2], ["4", "2"], pd.Categorical([4, 2]), pd.array([4, 2], dtype="Int64")])
def test_every_kind_of_number(values):
    checked = check_ratings(ratings(score=values))
    assert checked["score"].tolist() == [4.0, 2.0]
    assert checked["score"].dtype == float


def test_types_and_order_of_columns():
    frame = ratings(note=["x", "y"], draw=[0, 1])[["note", "score", "rater", "draw", "criterion", "item"]]
    checked = check_ratings(frame)
    assert list(checked.columns) == [*(name for name in table.RATINGS if name not in ("shown_first", "reply")), "note"]
    labels = [name for name, column in table.RATINGS.items() if column.kind == "label" and name in checked]
    assert all(isinstance(checked[name].dtype, pd.CategoricalDtype) for name in labels)
    assert checked["draw"].dtype == "int64"


def test_a_check_copies_and_changes_nothing_when_repeated():
    frame = ratings()
    before = frame.copy()
    once = check_ratings(frame)
    once.loc[0, "score"] = 1.0
    assert_frame_equal(frame, before)
    assert_frame_equal(check_ratings(check_ratings(frame)), check_ratings(frame))


def test_an_empty_table_is_a_table_and_comes_back(tmp_path):
    for check, frame in ((check_items, items()), (check_ratings, ratings()), (check_scores, scores())):
        assert len(check(frame.iloc[:0])) == 0
    frame = check_items(items(output=["x", "y"]).iloc[:0])
    for ending in (".csv", ".parquet"):
        assert list(back(frame, tmp_path, ending, "items").columns) == ["item", "output"]


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        ([1, 2], ["1", "2"]),
        (pd.Categorical(["u", "v"]), ["u", "v"]),
        (pd.Categorical([7, 8]), ["7", "8"]),
        ([7.0, 8.0], ["7", "8"]),  # the same with and without a point
    ],
)
def test_ids_and_labels_become_text(values, ids):
    assert check_items(pd.DataFrame({"item": values}))["item"].tolist() == ids
    assert check_ratings(ratings(item=values))["item"].tolist() == ids
    half = check_items(items(output=texts("\ud800", "x"), group=texts("\ud800", "x")))  # an id may not hold it
    assert half["output"].tolist() == half["group"].tolist() == ["\ud800", "x"]


def test_tables_of_people_and_judges_can_be_put_together_also_with_the_judges_replies():
    judge = ratings(rater="judge", method="sample", temperature=1.0, run="offline", scale="1|2|3|4|5")
    both = check_ratings(pd.concat([ratings(), check_ratings(judge)]))
    assert both["method"].tolist() == ["human"] * 2 + ["sample"] * 2
    assert both["draw"].tolist() == [0] * 4
    both = check_ratings(pd.concat([ratings(), check_ratings(judge.assign(reply=["4, since", "2"]))]))
    assert both["reply"].tolist() == ["", "", "4, since", "2"]


# --- files ------------------------------------------------------------------------------------------------------

HOSTILE = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "", " ", ",", '"', '""', "'", "\n", "\r", "\r\n", "a\rb", "a\nb", "\t", "\0", "\x1a", "\u2028", "\ufeff",
            "007", "7", "1.0", "1e5", "NA", "nan", "NaN", "None", "null", "inf", "True", "=1+1", "-1", "[1]", "{}",
            "\\N", "'=1+1", "''-x", "'-1", " @a", "\x1b[31m", "\t=1", "\uff1d1",
            "#", ";", "\u202eabc", "\U0001f600", "e\u0301", "\u00e9",
        ]
    ),
)  # fmt: skip
SURROGATES = st.text(alphabet=st.sampled_from('a\ud800\udfff\r\n,"'), max_size=8)
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def back(frame: pd.DataFrame, folder, ending: str, kind: str, **options: bool) -> pd.DataFrame:
    path = folder / "made" / f"t{ending}"
    assert write(frame, path, **options) == path
    return read(path, kind)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@FILES
@given(first=st.lists(HOSTILE, min_size=2, max_size=2), second=HOSTILE)
@example(first=["a\rb", "\r"], second="\r")
def test_items_come_back(tmp_path, ending, first, second):
    frame = check_items(items(output=texts(*first), group=texts("g", second), system=["007", "7"]))
    again = back(frame, tmp_path, ending, "items")
    assert_frame_equal(again, frame)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending", [pytest.param(one, marks=pytest.mark.long) if one != ".csv" else one for one in ENDINGS]
)
@FILES
@given(
    ids=st.lists(HOSTILE.filter(bool), min_size=2, max_size=2, unique=True),
    label=HOSTILE,
    score=st.lists(st.none() | st.floats(-1e15, 1e15), min_size=2, max_size=2),
    weight=st.floats(0, 1),
)
def test_ratings_come_back(tmp_path, ending, ids, label, score, weight):
    columns = {"item": texts(*ids), "rater": texts(label, "x"), "score": score, "weight": weight}
    frame = check_ratings(ratings(**columns, reply=texts(label, ""), temperature=[1.0, NAN]))
    assert_frame_equal(back(frame, tmp_path, ending, "ratings"), frame)


@pytest.mark.parametrize("ending", ENDINGS)
def test_scores_defaults_and_a_text_of_a_megabyte_come_back(tmp_path, ending):
    frame = check_scores(scores(n=[1, 20], mass=[0.92, NAN], low=[1 / 3, 2], system=["s", "t"], scale="0..5"))
    assert_frame_equal(back(frame, tmp_path, ending, "scores"), frame)
    required = ratings(score=[4.0, NAN])
    assert_frame_equal(back(required, tmp_path, ending, "ratings"), check_ratings(required))
    text = 'a,"b"\r\n' * 150_000
    assert back(check_items(items(output=[text, "x"])), tmp_path, ending, "items")["output"][0] == text


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@FILES
@given(output=st.lists(SURROGATES, min_size=2, max_size=2))
@example(output=["\ud800", "x"])
def test_lone_surrogates_come_back(tmp_path, ending, output):
    frame = check_items(items(output=texts(*output)))
    assert back(frame, tmp_path, ending, "items")["output"].tolist() == output


EXTRAS = {
    "whole": [1, 2], "real": [0.1, 1e22], "gaps": [0.5, NAN], "text": ["x", "007"], "lists": [["a\n", "b,"], []],
    "numbers": [[1, 2.5], [3]],
}  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_other_columns_ride_along(tmp_path, ending):
    frame = check_items(items(**EXTRAS))
    again = back(frame, tmp_path, ending, "items")
    assert list(again.columns) == ["item", *EXTRAS]
    assert again["whole"].dtype == "int64"
    for name, values in EXTRAS.items():
        given_back = [list(v) if isinstance(v, np.ndarray) else v for v in again[name]]
        assert given_back == pytest.approx(values, nan_ok=True) if name == "gaps" else given_back == values


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@pytest.mark.parametrize(
    "values", [pd.array([1, None], dtype="Int64"), pd.Series([[np.int64(1)], [np.int64(2)]], dtype=object)]
)
def test_other_columns_of_pandas_own_kinds_ride_along(tmp_path, ending, values):
    again = back(check_items(items(extra=values)), tmp_path, ending, "items")["extra"].tolist()
    assert again in ([1, NAN], [[1], [2]]) or (again[0] == 1 and math.isnan(again[1]))


def test_jsonl_keeps_what_csv_has_to_guess(tmp_path):
    again = back(check_items(items(a=["7", "8"], b=["[1]", "[2]"], c=["", ""])), tmp_path, ".jsonl", "items")
    assert again[["a", "b", "c"]].to_dict("list") == {"a": ["7", "8"], "b": ["[1]", "[2]"], "c": ["", ""]}
    # a column of a CSV file holds numbers only as Python writes them
    path = tmp_path / "t.csv"
    path.write_text("item,a,b,c,d\nx,1,1.5,01,1\ny,2,,1,\n", encoding="utf-8")
    frame = table.read_frame(path, texts=["item"])
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].tolist() == pytest.approx([1.5, NAN], nan_ok=True)
    assert frame["c"].tolist() == ["01", "1"]
    assert frame["d"].tolist() == pytest.approx([1, NAN], nan_ok=True)


@pytest.mark.parametrize(
    ("ending", "data"),
    [
        (".csv", b"item,output\r\na,x\r\nb,y\r\n"),  # of Windows
        (".csv", b"\xef\xbb\xbfitem,output\na,x\nb,y\n"),  # a byte order mark is no text
        (".jsonl", b'\xef\xbb\xbf{"item": "a", "output": "x"}\n{"item": "b", "output": "y"}\n'),
        (".csv", b"item,output\na,x\nb,y\n\n"),  # empty lines are no rows
    ],
)
def test_files_of_other_programs(tmp_path, ending, data):
    path = tmp_path / f"t{ending}"
    path.write_bytes(data)
    assert read(path, "items").to_dict("list") == {"item": ["a", "b"], "output": ["x", "y"]}


# --- spreadsheets -----------------------------------------------------------------------------------------------

# as the OWASP lists them for CSV injection, with what may stand before them unseen, and the escape of a terminal
STEERING = [sign + "x" for sign in "=+-@\t\r\n\x1b\uff1d\uff0b\uff0d\uff20"] + [" =x", "\n@x", "\ufeff=x", "\0+x"]
FORMULA = re.compile(r"[\s\x00\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n\x1b]")


def cells(path) -> list[list[str]]:
    with path.open(encoding="utf-8", errors="surrogatepass", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(
    "text", [*STEERING, "=cmd|' /C calc'!A0", "+1+1", "-2+3", "--1", "-", "-0.3.1", "-1 day", "+inf"]
)
def test_for_spreadsheets_no_text_is_a_formula_and_every_text_comes_back(tmp_path, text):
    frame = pd.DataFrame({"item": texts("a", "b"), text: texts(text, "'" + text)})
    path = write(frame, tmp_path / "t.csv", for_spreadsheets=True)
    assert cells(path) == [["item", "'" + text], ["a", "'" + text], ["b", "''" + text]]
    assert_frame_equal(table.read_frame(path, texts=[text]), frame)
    raw = write(frame, tmp_path / "raw.csv")
    assert cells(raw)[1] == ["a", text]
    assert_frame_equal(table.read_frame(raw, texts=[text]), frame)


@pytest.mark.slow
@pytest.mark.parametrize("for_spreadsheets", [True, False])
@FILES
@given(ids=st.lists(HOSTILE | st.text("'=+-@\t\x1b0. ", max_size=5), min_size=2, max_size=2, unique=True).filter(all))
def test_ids_written_for_spreadsheets_are_the_same_ids(tmp_path, ids, for_spreadsheets):
    frame = check_items(items(item=texts(*ids), output=texts(*ids[::-1])))
    assert_frame_equal(back(frame, tmp_path, ".csv", "items", for_spreadsheets=for_spreadsheets), frame)
    if for_spreadsheets:
        rows = cells(tmp_path / "made" / "t.csv")[1:]
        assert all(is_number(cell) or not FORMULA.match(cell) for row in rows for cell in row)


def is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


@pytest.mark.parametrize("number", [-0.3, -1.0, -1e-05, -1.5e300, -7])
def test_for_spreadsheets_a_number_stays_one(tmp_path, number):
    frame = pd.DataFrame({"item": texts("a", str(number)), "difference": [number, 1 + abs(number)]})
    path = write(frame, tmp_path / "t.csv", for_spreadsheets=True)
    assert cells(path)[1:] == [["a", repr(number)], [repr(number), repr(1 + abs(number))]]
    assert_frame_equal(table.read_frame(path, texts=["item"]), frame)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_other_forms_have_no_formulas(tmp_path, ending):
    frame = check_items(items(output=texts("=1+1", "'@x")))
    write(frame, tmp_path / f"a{ending}", for_spreadsheets=True)
    assert (tmp_path / f"a{ending}").read_bytes() == write(frame, tmp_path / f"b{ending}").read_bytes()


def test_a_quote_that_protects_nothing_is_left_alone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,output\n'a',''tis\n=b,-c\n", encoding="utf-8")
    assert read(path, "items").to_numpy().tolist() == [["'a'", "''tis"], ["=b", "-c"]]


# --- what cannot be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "must have a header line, but the file is empty."),
        ("item,output\na,x\nb\n", "row 1: must have 2 cells, but got 1."),
        ("item,output\na,x,y\n", "row 0: must have 2 cells, but got 3."),
        ('item,output\na,"x\n', "not a csv table: unexpected end of data, in the row that begins in line 2."),
        ('item,output\na,"x"y\n', "not a csv table: ',' expected after '\"', in the row that begins in line 2."),
    ],
)
def test_a_file_that_is_no_csv_table(tmp_path, text, rule):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=shown_in(f"{path}: {rule}")):
        read(path, "items")


@pytest.mark.parametrize(
    ("ending", "data"),
    [(".jsonl", b'{"item": "a"}\n{"item":\n'), (".jsonl", b"[1]\n"), (".csv", b"item\n\xe9\n"),
     (".csv", b"item,output,output\na,x,y\n"), (".parquet", b"PAR1 and no more"), (".parquet", b"")],
)  # fmt: skip
def test_a_file_that_is_something_else_is_named(tmp_path, ending, data):
    path = tmp_path / f"t{ending}"
    path.write_bytes(data)
    with pytest.raises(TableError, match=re.escape("output" if b"output" in data else str(path))):
        read(path, "items")


@pytest.mark.parametrize("depth", [101, 400, 600, 990, 100_000])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_a_line_nested_too_deep_is_refused(tmp_path, depth, opened, closed):
    path = tmp_path / "t.jsonl"
    line = '{"item": "a", "deep": ' + opened * depth + "1" + closed * depth + "}"
    path.write_text(line + "\n", encoding="utf-8")
    rule = f"must be a JSON object, but values must be nested at most 100 levels deep, but one is {line[:40]!r}."
    with pytest.raises(TableError, match=shown_in(f"{path}, line 1: {rule}")):
        read(path, "items")


@pytest.mark.parametrize("depth", [99, 101, 600, 100_000])
def test_a_cell_nested_deep_is_a_text(tmp_path, depth):
    cell = "[" * depth + "1" + "]" * depth
    path = tmp_path / "t.csv"
    path.write_text(f"item,deep\na,{cell}\n", encoding="utf-8")
    (value,) = read(path, "items")["deep"]
    assert (json.dumps(value) == cell) if depth < 100 else (value == cell)


def test_as_deep_as_allowed_a_line_is_read_and_written(tmp_path):
    frame = items(deep=[json.loads("[" * 99 + "]" * 99), [1]])  # in a row, which is a level itself
    for ending in (".jsonl", ".csv"):
        assert_frame_equal(back(check_items(frame), tmp_path, ending, "items"), check_items(frame))


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.csv.gz", "t.txt"])
def test_other_endings_are_refused(tmp_path, name):
    message = f"a table's file must end in .csv, .jsonl or .parquet, but got {str(tmp_path / name)!r}."
    for attempt in (lambda: read(tmp_path / name, "items"), lambda: write(items(), tmp_path / name)):
        with pytest.raises(TableError, match=shown_in(message)):
            attempt()


def test_a_file_is_there_of_a_known_kind_and_checked(tmp_path):
    for ending in ENDINGS:
        with pytest.raises(FileNotFoundError):
            read(tmp_path / f"none{ending}", "items")
    with pytest.raises(TableError, match=shown_in("`table` must be one of items, ratings, scores, but got 'labels'.")):
        read(tmp_path / "t.csv", "labels")
    write(items(item=["a", "a"]), tmp_path / "t.csv")
    with pytest.raises(TableError, match="row 1: must be unique"):
        read(tmp_path / "t.csv", "items")


# --- a file is whole or as it was -----------------------------------------------------------------------------------


class Unwritable:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("there", [True, False])
def test_a_table_that_breaks_off_leaves_what_was_there(tmp_path, ending, there):
    path = tmp_path / f"t{ending}"
    before = write(items(), path).read_bytes() if there else None
    long = pd.DataFrame({"item": [*map(str, range(10_000)), Unwritable()]})
    with pytest.raises(Exception):  # noqa: B017 - each format has its own
        write(long, path)
    assert (path.read_bytes() if path.exists() else None) == before
    assert [*tmp_path.iterdir()] == [path] * there


STOPPED = """
import os, signal, sys, pandas as pd, calib.table
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which tests under nohup ignore
class Last:
    def __str__(self):
        os.kill(os.getpid(), int(sys.argv[2]))
        return "x"
calib.table.write(pd.DataFrame({"item": [*map(str, range(10_000)), Last(), *map(str, range(10_000))]}), sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "left"), [(2, 130, 0), (15, 143, 0), (1, 129, 0), (9, -9, 1)])
def test_a_signal_while_a_table_is_written(tmp_path, number, code, left):
    path = write(items(), tmp_path / "t.csv")
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", STOPPED, path, str(number)], check=False, capture_output=True)
    assert run.returncode in (code, -number)
    assert path.read_bytes() == before
    assert len([*tmp_path.iterdir()]) == 1 + left


def test_a_table_goes_where_a_link_leads_and_keeps_who_may_read_it(tmp_path):
    path, link = write(items(), tmp_path / "t.csv"), tmp_path / "link.csv"
    path.chmod(0o640)
    link.symlink_to(path)
    write(items(item=["c", "d"]), link)
    assert link.is_symlink()
    assert read(path, "items")["item"].tolist() == ["c", "d"]
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_table_goes_through_a_pipe(tmp_path):
    path, got = tmp_path / "pipe.csv", []
    os.mkfifo(path)
    reader = Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    write(items(), path)
    reader.join(10)
    assert got == [b"item\r\na\r\nb\r\n"]
    assert path.is_fifo()
