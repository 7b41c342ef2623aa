"""Hostile names, damaged ledgers and options that contradict each other."""

import json
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.gate.verdict import as_junit
from calib.table import TableError

_LINE = {"system": "a", "scores": "x", "labels": "y", "outcome": "pass", "checks": []}


def left_with(words):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code


def tables(system="a", criterion="tone"):
    rows = pd.DataFrame({"item": [f"q{k}" for k in range(40)], "system": system, "criterion": criterion})
    rows = rows.assign(rater="judge", scale="1|2|3|4|5", score=[3 + k % 3 for k in range(40)])
    return rows, rows.assign(rater="ann", score=[3 + (k // 2) % 3 for k in range(40)])


@pytest.mark.parametrize("name", ["a\ufffe", "a\uffff\x1b[31m"])
def test_junit_of_names_that_xml_cannot_hold_parses(name):
    verdict = calib.gate(*tables(name, name), system=name, threshold=3)
    assert ET.fromstring(as_junit(verdict)).find(".//testcase") is not None


@pytest.mark.parametrize(
    "damaged",
    [{"checks": [{}]}, {"checks": 3}, {"checks": [3]}, {"checks": None}, {"system": ["a"]}, {"scores": ["x"]}],
)
def test_a_damaged_line_of_the_ledger_is_named(tmp_path, damaged):
    ledger = tmp_path / "gates.jsonl"
    ledger.write_text(f"{json.dumps(_LINE)}\n{json.dumps(_LINE | damaged)}\n", "utf-8")
    with pytest.raises(TableError, match=r"line 2: must be a verdict of a gate.*damaged"):
        calib.gate(*tables(), system="a", threshold=3, ledger=ledger)


def test_a_ledger_that_is_no_text_or_no_file_is_refused(tmp_path):
    (tmp_path / "gates.jsonl").write_bytes(b"\xff\xfe\n")
    for ledger, told in ((tmp_path / "gates.jsonl", "UTF-8"), (tmp_path, "must be a file")):
        with pytest.raises(TableError, match=told):
            calib.gate(*tables(), system="a", threshold=3, ledger=ledger)


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "scores.csv", tmp_path / "people.csv"]
    for path, table in zip(paths, tables(), strict=True):
        table.to_csv(path, index=False)
    return [str(path) for path in paths]


def test_a_criterion_without_a_line_is_not_passed_over(files, capsys):
    assert left_with(["gate", *files, "--system", "a", "--threshold", "tone=3", "--criterion", "truth"]) == 2
    assert "truth" in capsys.readouterr().err


def test_a_junit_file_without_a_folder_does_not_hide_what_went_wrong(files, tmp_path, capsys):
    junit = str(tmp_path / "no" / "gate.xml")
    assert left_with(["gate", *files, "--system", "stranger", "--threshold", "3", "--junit", junit]) == 2
    assert "stranger" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:the judge's scores of quality")
def test_a_judge_on_a_scale_of_its_own_is_told_the_way_to_a_gate():
    """Its scores are no labels of that scale, and the scale of people would refuse them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 80)
    scores = pd.DataFrame({"id": range(80), "score": 20 * np.clip(truth + rng.integers(-1, 2, 80), 1, 5)})
    labels = pd.DataFrame({"id": range(80), "label": truth})
    with pytest.raises(ValueError, match=r"on one scale\? \(if not, gate the scores that `calibrate` makes of these\)"):
        calib.gate(scores, labels, threshold=2)
    made = calib.calibrate(scores, labels).apply(scores)
    assert calib.gate(made, labels, threshold=2, scale="1|2|3|4|5").outcome == "pass"
