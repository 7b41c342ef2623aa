"""--json of each command: one object, no text; and the next step, which stands after text alone."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from outputs import COMMANDS, planted

from calib import cli
from calib.console.command import built
from calib.console.next_steps import step_after
from calib.console.program import commands

ALL = commands()
OF_GATES = {"gate", "gate-judge"}
KEYS = ["schema", "command", "tables", "text", "messages", "written", "next"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    planted(folder)
    return folder


def ended(line, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(shlex.split(line))
    return (end.value.code, *capsys.readouterr())


@pytest.mark.parametrize("command", ALL)
def test_each_command_has_it(command):
    assert "json" in built(ALL[command]).__annotations__


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_one_object_and_no_text(folder, monkeypatch, capsys, name):
    monkeypatch.chdir(folder)
    line = COMMANDS[name]
    code, out, err = ended(f"{line} --json", capsys)
    answer = json.loads(out, parse_constant=pytest.fail)
    assert "next: " not in err
    if line.split()[0] in OF_GATES:
        assert answer["schema"] == "calib/verdict/v1"
        return
    assert (code, list(answer), answer["command"]) == (0, KEYS, line.split()[0])
    assert answer["schema"] == "calib/answer/v1"
    assert answer["tables"] or answer["text"] or answer["written"]
    assert all(isinstance(row, dict) for table in answer["tables"] for row in table["rows"])
    assert ("--out" in line or "--tasks" in line) == bool(answer["written"])


@pytest.mark.slow
def test_rows_are_whole_and_unrounded(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    _, out, _ = ended("summarize ratings.csv --items items.csv --json", capsys)
    rows = json.loads(out)["tables"][0]["rows"]
    assert len(rows) == 78
    assert any(len(str(row["score"])) > 12 for row in rows)


def test_a_failure_prints_no_object(tmp_path, capsys):
    code, out, err = ended(f"interval {tmp_path / 'none.csv'} --json", capsys)
    assert (code, out) == (2, "")
    assert "none.csv" in err


NEXT = {
    "agreement": "calib interval scores.csv human.csv",
    "interval, own file": "calib report results.csv --judge score --label human",
    "look": "calib interval results.csv --judge score --label human",
    "choose": "calib label made/chosen.csv ITEMS.csv --out label.html",
    "label": "calib read-labels LABELS.csv --out labels.csv",
    "pair-items": "calib rate made/pairs.csv --pairwise",
    "pass-fail": "calib gate-judge passes.csv --judge score --label human --kappa 0.6",
    "difference": "calib report scores.csv gold.csv",
    "drift": "calib agreement now.csv LABELS.csv",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", NEXT)
def test_text_ends_with_the_next_step(folder, monkeypatch, capsys, name):
    monkeypatch.chdir(folder)
    _, _, err = ended(COMMANDS[name], capsys)
    assert err.splitlines()[-1].startswith(f"next: {NEXT[name]}")
    _, out, _ = ended(f"{COMMANDS[name]} --json", capsys)
    assert json.loads(out)["next"].startswith(NEXT[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name.partition(",")[0] not in OF_GATES])
def test_a_next_step_without_a_blank_to_fill_runs(folder, monkeypatch, capsys, name):
    monkeypatch.chdir(folder)
    _, _, err = ended(COMMANDS[name], capsys)
    step = next((line[6:] for line in err.splitlines() if line.startswith("next: ")), "")
    if not step or re.search(r"\b[A-Z]+(\.csv)?\b", step):
        pytest.skip("none, or one with a blank to fill")
    code, _, err = ended(step.removeprefix("calib "), capsys)
    for made in ("chosen.csv", "calibration.json", "label.html"):
        Path(made).unlink(missing_ok=True)
    assert code in (0, 3), err


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", COMMANDS)
def test_text_fits_80_columns(folder, monkeypatch, capsys, name):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = ended(COMMANDS[name], capsys)
    # what is to be copied stays in one line
    assert not [line for line in out.splitlines() if len(line) > 80 and not line.startswith(("signature:", "  calib"))]


@pytest.mark.filterwarnings("default")
def test_a_gate_prints_its_record_and_github_reads_the_rest(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    rows = [f"{k},{k % 2},{k % 2 if k < 20 else ''}" for k in range(40)]
    Path("yn.csv").write_text("\n".join(["id,judge,human", *rows]))
    for end in ("--threshold 0.3 --json", "--json --threshold 0.3", "--json - --threshold 0.3"):
        code, out, err = ended(f"gate yn.csv {end}", capsys)
        assert json.loads(out)["checks"][0]["n_labels"] == 20
        assert (code, "::" in err) == (0, True)
    _, out, _ = ended("gate yn.csv --threshold 0.3 --json v.json", capsys)
    assert out.startswith("pass: ")
    assert json.loads(Path("v.json").read_text())["schema"] == "calib/verdict/v1"
    code, _, err = ended("gate --json yn.csv --threshold 0.3", capsys)
    assert (code, "must end in .json" in err) == (2, True)


def test_files_and_columns_of_a_next_step_are_quoted():
    typed = {"file": Path("-my file.csv"), "labels": Path("l.csv"), "label": ["it's"], "judge": ["-j"]}
    typed |= {"estimator": "judge_only", "column": ["item=id", "label_item=key"]}
    step = step_after("interval", typed, ["label", "judge", "column"])
    assert step == "calib choose './-my file.csv' --judge=-j --column item=id 60 --out chosen.csv"
    assert step_after("difference", typed, ["label", "judge", "column"]) == step  # without labels there is no report
    step = step_after("agreement", typed, ["label", "judge", "column"])
    assert shlex.split(step)[2:] == [
        *("./-my file.csv", "l.csv", "--label", "it's"),
        *("--judge=-j", "--column", "item=id", "--column", "label_item=key"),
    ]


def test_the_judges_of_a_reliability_are_those_of_its_next_step():
    people = {"file": Path("people.csv")}
    assert step_after("reliability", people, []) == "calib agreement SCORES.csv people.csv"
    assert step_after("reliability", people | {"judges": Path("j.csv")}, []) == "calib agreement j.csv people.csv"


def test_the_gate_after_pass_fail_has_its_thresholds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k},{1 + 4 * (k % 40) / 39:.2f},{1 + (k % 40) // 8}" for k in range(80)]
    Path("graded.csv").write_text("\n".join(["id,judge,human", *rows]))
    for more, cuts in {"": "", " --judge-threshold 3.5": " --judge-cut 3.5"}.items():
        _, _, err = ended(f"pass-fail graded.csv --label-threshold 4{more}", capsys)
        step = err.splitlines()[-1]
        assert step == f"next: calib gate-judge graded.csv --kappa 0.6 --cut 4{cuts}"
        code, _, err = ended(step.removeprefix("next: calib "), capsys)
        assert code in (0, 1, 3), err  # it has a verdict, where scores like 4.79 were refused


@pytest.mark.filterwarnings("default")
def test_a_step_that_would_fail_is_not_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": range(12), "human": [1, 2, 3, 4, 5, 4] * 2}).to_csv("people.csv", index=False)
    pairs = pd.DataFrame({"id": range(30), "judge": ["A", "B", "tie"] * 10, "human": ["A", "B", "B"] * 10})
    pairs.to_csv("pairs.csv", index=False)
    pairs.assign(model_a=["x", "x", "y"] * 10, model_b=["y", "z", "z"] * 10).to_csv("named.csv", index=False)
    for line, step in {
        "interval people.csv": "",  # a report is about a judge
        "pairwise-agreement pairs.csv": "",  # of two that have no names
        "pairwise-agreement named.csv": "next: calib leaderboard named.csv",
    }.items():
        code, _, err = ended(line, capsys)
        assert (code, "".join(text for text in err.splitlines() if text.startswith("next: "))) == (0, step)


@pytest.mark.parametrize("scale", ["", "1|2|3|4|5", "no=0|yes=1"])
def test_a_scale_is_said_again_where_people_label(tmp_path, monkeypatch, capsys, scale):
    monkeypatch.chdir(tmp_path)
    cells = ["no", "yes"] if "yes" in scale else [1, 4]
    pd.DataFrame({"id": range(40), "answer": "Yes.", "judge": cells * 20}).to_csv("s.csv", index=False)
    _, _, err = ended(f"choose s.csv 10 --out c.csv{f' --scale {scale}' * bool(scale)}", capsys)
    step = shlex.split(err.splitlines()[-1])
    assert step[1:5] == ["calib", "label", "c.csv", "s.csv"]
    assert step[5:7] == ["--scale", scale or "SCALE"]


def test_what_was_not_written_is_no_next_step(tmp_path):
    out = tmp_path / "rated.csv"
    assert step_after("rate", {"out": out, "dry_run": False}, []) is None
    out.touch()
    assert step_after("rate", {"out": out, "dry_run": False}, []).startswith("calib choose ")
    assert step_after("rate", {"out": out, "dry_run": True}, []) is None
