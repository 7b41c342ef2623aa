"""What is read by columns at once is what is read cell by cell, and what is not plain is left to that."""

import json

import numpy as np
import pandas as pd
import pytest

from calib.inputs.source import source_of
from calib.table import TableError, files
from calib.table.columns import csv_columns, jsonl_columns

TEXTS = ("item", "reply")
CSV = [
    "item,score\n007,1\n8,2\n", "item,score\r\n007,1.5\r\n8,", 'item,reply\na,"one\ntwo, ""three"""\nb,""\n',
    'item,reply\r\n"a","one\r\ntwo"\r\n"b",x\r\n', "item,words\na,[1]\nb,[1]\nc,[1]\nd,[1]\n",
    "item,words\na,1\nb,\nc,9007199254740993\n", "item,share\na,0.1\nb,1e-05\nc,0.00001\n",
    "item,share\na,0.1\nb,1e-05\nc,\nd,nan\n", "item,share\na,-0.0\nb,1e+16\nc,123456789012345.6\n",
    "item,share\na,.5\nb,0.25\n", "item,reply\na,'=x\nb,''=x\nc,'x\n", "item,score,score2\n a , 1,1\n\tb,2 ,2\n",
    "item,words\na,[1]\nb,1\n", "item,words\n" + "".join(f"{k},{k % 3}\n" for k in range(3000)),
    "item,share\n" + "".join(f"{k},{k / 3}\n" for k in range(3000)), "item,words\n" + "1,2\n" * 1500 + "1,x\n" * 1500,
]  # fmt: skip
ODD_CSV = [
    "", "item\na\n", "item,score\n", "item,score\na,1\n\nb,2\n", "item,score\na,1\rb,2\n", "item,score\na\nb,1,2\n",
    "item,score\na,1\nb,1,2\n", 'item,score\na,x"y\n', 'item,score\na,"x"y\n', 'item,score\na,"x\n',
    'item,score\n"a" ,1\n', "item,score\n\ufeffa,1\n", "item,score\na,\0\n", "item,'=x\na,1\n", "item,item\na,1\n",
]  # fmt: skip
JSONL = [
    '{"item": "a", "score": 3}\n{"item": "b", "score": null}\n',
    '{"item": "a", "x": 1}\n{"x": 1.0, "item": "b"}\n{"item": "a", "x": true}',
    '{"item": "a", "x": -0.0}\r\n{"item": "b", "x": 1e5}\r\n',
    '{"item": "\\u00e9\\ud83d\\ude00\\n", "x": [1, ["z"]]}\n{"item": "é", "x": "t"}\n',
    '{"item": "a", "x": 18446744073709551616}\n{"item": "b", "x": -1}\n',
    '{"item": "a", "x": "{\\"x\\": 1, \\"x\\": 2}"}\n{"item": "b", "x": null}\n',
    "".join(json.dumps({"item": f"i{k % 700}", "reply": "x" * 200 + str(k), "x": k / 7}) + "\n" for k in range(4000)),
]
TWICE = [
    '{"item": "a", "x": 1, "x": 2}\n', '{"item": "a", "x": 1}\n{"item": "a", "x" : 1, "x": 1}\n',
    '{"item": "a", "x": 1, "\\u0078": 2}\n', '{"item": "a", "x": {"y": 1, "y": 2}}\n',
    '{"item": "a", "x/y": 1, "x\\/y": 2}\n',
]  # fmt: skip
ODD_JSONL = [
    "", "[1]\n", "{}\n", '{"item": "a"}\n{"item": "b", "x": 1}\n', '{"item": "a"}\n\n{"item": "b"}\n',
    '{"item": "a"} {"item": "b"}\n\n', '{"item":\n"a"}\n', '{"item": "a"}\n7\n', '{"item": NaN}\n',
    '{"item": 1e400}\n', '{"item": "\\ud800"}\n', '{"item": "\ud800"}\n', ' {"item": "a"}\n', '{"i\\"tem": 1}\n',
    '{"item": "x", "x": 1}\n', '{"item": "a", "x": {}}\n{"item": "b", "x": null}\n',
    '{"item": "a", "x": [1, {"y": "z"}]}\n', *TWICE,
    '{"item": ' + "[" * 101 + "]" * 101 + "}\n", '{"item": ' + "[" * 100_000 + "]" * 100_000 + "}\n",
]  # fmt: skip


def read(path, text):
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    try:
        return files.read_frame(path, texts=TEXTS)
    except (TableError, ValueError) as error:
        return str(error)


def both(monkeypatch, path, text):
    """The file as it is read, and as it is read with care."""
    at_once = read(path, text)
    for name in ("csv_columns", "jsonl_columns"):
        monkeypatch.setattr(files, name, lambda *_: None)
    return at_once, read(path, text)


def same(a, b):
    if isinstance(a, str) or isinstance(b, str):
        assert a == b
        return
    pd.testing.assert_frame_equal(a, b, check_column_type="exact")
    for name in a:
        ours, theirs = a[name].tolist(), b[name].tolist()
        assert list(map(repr, ours)) == list(map(repr, theirs))
        assert list(map(type, ours)) == list(map(type, theirs))


KINDS = [("csv", csv_columns, True, CSV), ("csv", csv_columns, False, ODD_CSV)]
KINDS += [("jsonl", jsonl_columns, True, JSONL), ("jsonl", jsonl_columns, False, ODD_JSONL)]


@pytest.mark.parametrize(
    ("ending", "columns", "plain", "text"), [(*kind, text) for *kind, texts in KINDS for text in texts]
)
def test_what_is_plain_is_read_at_once_as_with_care(monkeypatch, tmp_path, ending, columns, plain, text):
    assert (columns(text.encode("utf-8", errors="surrogatepass")) is not None) == plain
    same(*both(monkeypatch, tmp_path / f"t.{ending}", text))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_csv_of_any_signs(monkeypatch, tmp_path, seed):
    rng = np.random.default_rng(seed)
    signs = np.array(["a", "1", ",", ",", "\n", '"', "\r\n", " ", "'", "=", ".", "é"][: rng.integers(5, 13)])
    body = "".join(rng.choice(signs, rng.integers(0, 30)))
    cells = [",".join(rng.choice(['"x"', "1", '"a""b"', "", '","', '"\n"', "2.5"], 2)) for _ in range(3)]
    text = f"item,score\n{body}" if seed % 2 else "\n".join(["item,score", *cells, body[: seed % 5]])
    same(*both(monkeypatch, tmp_path / "t.csv", text))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_jsonl_of_any_values(monkeypatch, tmp_path, seed):
    rng = np.random.default_rng(seed)
    values = [
        '"a"', '"b"', "1", "2.5", "null", "true", "[]", "{}", "1e3", "-0", '"\\u0041"', "NaN", '"\t"', "12345678901",
    ]  # fmt: skip
    values = values[: rng.integers(2, len(values) + 1)]
    rows = ['{"item": %s, "x": %s}' % tuple(rng.choice(values, 2)) for _ in range(rng.integers(1, 6))]  # noqa: UP031
    same(*both(monkeypatch, tmp_path / "t.jsonl", rng.choice(["\n", "\r\n"]).join(rows)))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("item", ["a", "007", "'=x", "é\n"])
def test_a_checked_table_is_the_same_either_way(monkeypatch, tmp_path, ending, item):
    rows = {"item": [item, "z", item], "criterion": "fluency", "rater": ["b", "b", "a"], "score": [1.0, 0.25, None]}
    path = files.write(pd.DataFrame(rows), tmp_path / f"t.{ending}")
    at_once = files.read(path, "ratings")
    for name in ("csv_columns", "jsonl_columns"):
        monkeypatch.setattr(files, name, lambda *_: None)
    with_care = files.read(path, "ratings")
    pd.testing.assert_frame_equal(at_once, with_care)
    assert at_once["item"].cat.categories.tolist() == sorted({item, "z"})


def test_a_jsonl_label_that_is_no_text_is_made_one(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"item": 7, "criterion": "c", "rater": "r", "score": 1}\n', encoding="utf-8")
    assert files.read(tmp_path / "t.jsonl", "ratings")["item"].tolist() == ["7"]


@pytest.mark.parametrize("text", TWICE)
def test_a_key_that_is_there_twice_is_refused(tmp_path, text):
    line = text.count("\n")
    rule = rf"t.jsonl, line {line}: must be a JSON object, but the key `[xy/]+` is there twice in one object."
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    for read_file in (files.read_frame, lambda path: source_of(path, "")):
        with pytest.raises(TableError, match=rule):
            read_file(path)
    path = tmp_path / "t.json"
    path.write_text("[" + text.strip().replace("\n", ",") + "]")
    with pytest.raises(TableError, match="is there twice in one object"):
        source_of(path, "")
