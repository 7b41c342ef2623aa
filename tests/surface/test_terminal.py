"""What a terminal shows of wide and hostile tables, and what --json says of them."""

import json

import numpy as np
import pandas as pd
import pytest

from calib.console.show import answer_as_json, echo, paragraphs, print_paper, print_table, say_next
from calib.table.paper import PaperTable

HOSTILE = "\x1b[31mred\x1b]0;title\x07\u202e\nx"


def printed(capsys, frame, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(frame)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [40, 80])
def test_of_many_columns_the_main_ones_stay(capsys, monkeypatch, width):
    rows = {"judge": ["a", "b"]} | {f"more {k}": [k / 3, 1.0] for k in range(40)}
    rows |= {"estimate": [0.123456, np.nan], "conf_low": [0.1, 0.2], "conf_high": [0.3, 1e300]}
    lines = printed(capsys, pd.DataFrame(rows), monkeypatch, width)
    assert max(map(len, lines)) <= width
    assert {"judge", "estimate", "conf_low", "conf_high"} <= set(lines[0].split())
    assert lines[2].split()[0] == "b"
    left = " ".join(lines[3:])
    assert left.startswith("Left out for lack of width: more ")
    assert left.endswith("more; --json has all columns.")


def test_cells_are_harmless_in_one_line_and_cut(capsys, monkeypatch):
    frame = pd.DataFrame({HOSTILE: [HOSTILE, "y" * 300, None], "estimate": [1, 2, 3]})
    lines = printed(capsys, frame, monkeypatch, 40)
    assert [line.split()[-1] for line in lines] == ["estimate", "1", "2", "3"]
    assert "\u2026" in lines[2]
    assert not {"\x1b", "\x07", "\u202e"} & set("".join(lines))


def test_columns_of_one_name_and_wide_characters(capsys, monkeypatch):
    lines = printed(capsys, pd.DataFrame([["東京", 2, 3.5], ["x", 20, 4]], columns=["a", "b", "b"]), monkeypatch, 80)
    assert lines == ["a      b    b", "東京   2  3.5", "x     20    4"]


def test_a_papers_table_shows_the_columns_that_fit(capsys, monkeypatch):
    heads = tuple((f"criterion {k}", "r") for k in range(9))
    paper = PaperTable(("rater",), heads, (("judge",),), (("0.123",) * 9,), "n " + "60 " * 40)
    monkeypatch.setenv("COLUMNS", "80")
    print_paper(paper)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split("  ")[-1] == "criterion 4"
    assert " ".join(lines[3:]).startswith("Left out for lack of width: criterion 5 r, criterion 6 r, ")


def test_json_of_what_no_json_holds(capsys):
    rows = {"x": [np.nan, np.inf, -np.inf], "when": [pd.NaT, pd.Timestamp("2026-01-02"), None], HOSTILE: [1, 2, 3]}
    rows |= {"set": [(1, 2), np.array([1.5, np.nan]), pd.NA], "kind": pd.Categorical(["a", "b", None])}
    with answer_as_json("agreement"):
        print_table(pd.DataFrame(rows))
        paragraphs(HOSTILE)
        echo("東京")
        say_next("calib report")
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    answer = json.loads(out, parse_constant=pytest.fail)
    table = answer["tables"][0]["rows"]
    assert [row["x"] for row in table] == [None] * 3
    assert [row["set"] for row in table] == [[1, 2], [1.5, None], None]
    assert [row[HOSTILE] for row in table] == [1, 2, 3]
    assert (answer["text"][-1], answer["next"]) == ("東京", "calib report")
