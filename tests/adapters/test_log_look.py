"""`calib look` on another tool's log: what it is, and what to type."""

import json
import shlex

import pytest

import calib
from calib.adapters.log_look import look_at_log
from calib.cli import main


def results(tmp_path, name="results.json", **meta):
    rows = [{"input": f"q{k}", "output": f"a{k}", "expected": None, "metadata": {"system": "s", **meta},
             "scores": {"tone": k / 4} if k else {}} for k in range(5)]  # fmt: skip
    path = tmp_path / name
    path.write_text(json.dumps(rows))
    return path


def looked(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["look", *map(str, words)])
    assert not left.value.code
    return capsys.readouterr().out


def test_a_log_says_what_it_is_and_the_lines_to_type_work(tmp_path, capsys, monkeypatch):
    path = results(tmp_path)
    text = looked(capsys, path)
    assert text.startswith("results.json is a log of braintrust.\n  5 outputs to 5 inputs, by s\n")
    assert "tone: 5 scores by JUDGE on 0..1: 4 read, 1 failed" in text
    assert "--rater must be given" in text
    line = next(line for line in text.splitlines() if "calib read-log" in line)
    assert "--rater JUDGE --out ratings.csv --items items.csv" in line
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(shlex.split(line)[1:])
    assert not left.value.code
    assert len(calib.table.read(tmp_path / "ratings.csv", "ratings")) == 5


def test_a_log_that_cannot_be_read_says_why_and_a_folder_of_logs_is_one(tmp_path, capsys):
    path = tmp_path / "run.json"
    path.write_text('{"testCases": []}')
    assert "run.json is a log of deepeval.\n\nthe log holds no scores" in looked(capsys, path)
    folder = tmp_path / "logs"
    folder.mkdir()
    results(folder)
    assert "logs is a log of braintrust." in looked(capsys, folder)


def test_a_table_of_ones_own_is_none(tmp_path, capsys):
    path = tmp_path / "mine.csv"
    path.write_text("id,gpt,label\na,1,1\nb,2,2\nc,3,1\n")
    assert look_at_log(path) is None
    assert "judge's scores" in looked(capsys, path)
    assert look_at_log(tmp_path / "gone.json") is None


def test_names_in_a_log_are_data(tmp_path, capsys):
    text = looked(capsys, results(tmp_path, system="\x1b[31mred\u202e"))
    assert "\x1b" not in text
    assert "\u202e" not in text
