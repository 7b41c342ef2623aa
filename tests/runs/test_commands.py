"""The command: exit codes of a bar, what it writes, and columns of one's own files."""

import json

import numpy as np
import pandas as pd
import pytest

from calib.cli import main


def left_with(*words):
    with pytest.raises(SystemExit) as left:
        main(["compare-runs", *map(str, words)])
    return left.value.code


@pytest.fixture
def runs(tmp_path):
    """Two runs of 40 tasks, 3 trials each; the second is higher by .25 and more."""
    rng = np.random.default_rng(0)
    for name, least in (("before", 0), ("after", 1)):
        rows = [(f"t{k}", trial, rng.integers(least, 5)) for k in range(40) for trial in range(3)]
        pd.DataFrame(rows, columns=["task", "trial", "points"]).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path / "before.csv", tmp_path / "after.csv"


@pytest.mark.parametrize(("bar", "code"), [("0", 0), ("3", 1), ("0.5", 3)])
def test_a_bar_leaves_with_the_outcome(runs, capsys, bar, code):
    assert left_with(*runs, "--judge", "points", "--at-least", bar) == code
    word = {0: "pass", 1: "fail", 3: "inconclusive"}[code]
    assert f"calib: {word}: quality, after - before, by the scores of judge" in capsys.readouterr().err


def test_without_a_bar_there_is_no_outcome(runs, capsys):
    assert left_with(*runs, "--judge", "points") == 0
    out, err = capsys.readouterr()
    assert "So after scores higher than before by judge" in " ".join(out.split())
    assert "before.csv: `task` as ids, `points` as the judge; scale" in err and "pass:" not in err


@pytest.mark.parametrize(
    "words",
    [
        ["nowhere.csv", "--at-least", "0"],
        ["--judge", "absent", "--at-least=0"],
        ["--at-least", "much"],
        ["--judge", "points", "--at-least", "nan"],
        ["--judge", "points", "--at-least", "0", "--confidence-level", "2"],
        ["--judge", "points", "--at-least", "0", "--tasks", "tasks.txt"],
    ],
)
def test_what_keeps_a_bar_from_an_answer_leaves_with_2(runs, capsys, words):
    assert left_with(*runs, *words) == 2
    err = capsys.readouterr().err
    assert err.startswith("calib: ") and not any(f"{word}:" in err for word in ("pass", "fail", "inconclusive"))


def test_a_fault_behind_a_bar_leaves_with_2(runs, monkeypatch, capsys):
    import calib

    def broken(*_, **__):
        raise RuntimeError("a fault")

    monkeypatch.setattr(calib, "compare_runs", broken)
    assert left_with(*runs, "--judge", "points", "--at-least", "0") == 2
    assert "a fault" in capsys.readouterr().err


def test_three_runs_have_no_single_bar(runs, tmp_path, capsys):
    third = tmp_path / "third.csv"
    table = pd.read_csv(runs[0])
    table.assign(points=4 - table["points"]).to_csv(third, index=False)
    assert left_with(*runs, third, "--judge", "points") == 0
    assert left_with(*runs, third, "--judge", "points", "--at-least", "0") == 2
    assert "--at-least needs two runs" in capsys.readouterr().err


def test_names_that_are_one_are_refused(runs, tmp_path, capsys):
    (tmp_path / "more").mkdir()
    again = tmp_path / "more" / "before.csv"
    pd.read_csv(runs[0]).to_csv(again, index=False)
    assert left_with(*runs, again, "--judge", "points") == 2
    assert "RUNS must have names that differ, but 'before' is there twice" in capsys.readouterr().err


def test_tasks_and_a_page_are_written(runs, tmp_path, capsys):
    tasks, page = tmp_path / "tasks.csv", tmp_path / "page.html"
    assert left_with(*runs, "--judge", "points", "--tasks", tasks, "--out", page) == 0
    table = pd.read_csv(tasks)
    assert len(table) == 40 and table["change"].is_monotonic_increasing and set(table["run"]) == {"after - before"}
    text = page.read_text()
    assert "Tasks that scored lower in after" in text and "not what people would say" in text
    assert left_with(*runs, "--judge", "points", "--out", tmp_path / "page.md") == 0
    assert "after" in (tmp_path / "page.md").read_text()


def test_labels_decide_the_bar_where_there_are_some(runs, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    parts = [pd.read_csv(path).query("trial == 0 and task < 't3'").assign(system=path.stem) for path in runs]
    people = pd.concat(parts).rename(columns={"points": "human"}).drop(columns="trial")
    people.to_csv(labels, index=False)
    words = ["--judge", "points", "--label", "human", "--labels", labels, "--scale", "0|1|2|3|4"]
    assert left_with(*runs, *words, "--at-least", "-4") == 0
    assert "by people's scores" in capsys.readouterr().err


def test_no_run_is_written_over(runs, capsys):
    before = runs[0].read_text()
    for option, name in (("--tasks", runs[0]), ("--out", runs[1].with_suffix(".md"))):
        runs[1].with_suffix(".md").write_text("id,score\na,1\n")
        assert left_with(runs[0], name if option == "--out" else runs[1], "--judge", "points", option, name) == 2
    assert runs[0].read_text() == before and "must be another file than" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_runs_that_look_like_two_scales_have_no_outcome(runs, capsys):
    table = pd.read_csv(runs[0])
    table.assign(points=table["points"] / 4).to_csv(runs[0], index=False)
    for files in (runs, runs[::-1]):
        assert left_with(*files, "--judge", "points", "--at-least", "0") == 3
        assert "look like two scales: give the one that both are on (--scale)" in capsys.readouterr().err
    assert left_with(*runs, "--judge", "points", "--at-least", "0", "--scale", "0..4") == 0


def test_json_is_one_object_with_the_outcome(runs, capsys):
    assert left_with(*runs, "--judge", "points", "--at-least", "0", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["command"] == "compare-runs" and answer["tables"][0]["rows"][0]["run"] == "after - before"
    assert any(text.startswith("pass: ") for text in answer["messages"])


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("gone", ["trials", "rows", "tasks"])
def test_a_run_that_lost_its_failures_does_not_pass(runs, capsys, gone):
    table = pd.read_csv(runs[1])
    low = table["task"] < "t14" if gone == "tasks" else table["points"] <= 1
    kept = table.assign(points=table["points"].where(~low)) if gone == "trials" else table[~low]
    kept.to_csv(runs[1], index=False)
    assert left_with(*runs, "--judge", "points", "--at-least", "0") == 3
    assert "have no score, which may hide failures" in capsys.readouterr().err
    assert left_with(*runs, "--judge", "points", "--at-least", "4") == 1
