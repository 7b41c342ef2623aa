"""Ragas' frames: which columns are metrics, and what is refused."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

import calib

LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs", "ragas-0.4.3")
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="Ragas' logs: CALIB_DATA has no folder tool_logs")


def frame(tmp_path, rows, name="frame.jsonl"):
    path = tmp_path / name
    rows = [{"user_input": f"q{k}", "response": "a", **row} for k, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) if path.suffix == ".jsonl" else rows_as_csv(rows))
    return path


def rows_as_csv(rows):
    return pd.DataFrame(rows).to_csv(index=False)


def scores(path, **said):
    ratings = calib.read_log(path, rater="g", **said)[1]
    return {name: each["score"].tolist() for name, each in ratings.groupby("criterion", observed=True)}


@needs_logs
def test_both_forms_of_a_frame_are_refused():
    with pytest.raises(ValueError, match=r"alpha\.csv and alpha\.jsonl hold the same run: read one of them"):
        calib.read_log([LOGS / "alpha.csv", LOGS / "alpha.jsonl"], rater="g", system="v")


def test_the_numbers_of_rows_are_no_metric(tmp_path):
    path = tmp_path / "indexed.csv"
    path.write_text(pd.DataFrame({"user_input": ["q", "p"], "response": ["a", "b"], "m": [1, 0]}).to_csv())
    assert scores(path) == {"m": [1, 0]}
    assert scores(frame(tmp_path, [{"id": 7, "m": 1}, {"id": 8, "m": 0}]), item="id") == {"m": [1, 0]}


@pytest.mark.parametrize("name", ["frame.csv", "frame.jsonl"])
def test_a_metric_that_failed_everywhere_is_not_lost(tmp_path, name):
    path = frame(tmp_path, [{"m": 1, "n": None}, {"m": 0, "n": None}], name)
    _, ratings = calib.read_log(path, rater="g")
    assert ratings.loc[ratings["criterion"] == "n", "status"].tolist() == ["unread", "unread"]


def test_numbers_among_words_are_told(tmp_path):
    path = frame(tmp_path, [{"m": 1, "n": "0.5"}, {"m": 0, "n": "error"}], "frame.csv")
    with pytest.warns(UserWarning, match="column 'n' holds 1 numbers among words"):
        assert set(scores(path)) == {"m"}


def test_metrics_of_retrieval_need_no_answer(tmp_path):
    path = tmp_path / "frame.csv"
    path.write_text("user_input,retrieved_contexts,reference,context_recall\nq,\"['a', 'b']\",r,1\n")
    assert scores(path) == {"context_recall": [1]}


def test_a_frame_that_is_cut_off_empty_or_without_metrics(tmp_path):
    path = tmp_path / "frame.csv"
    path.write_text('user_input,response,m\nq,a,1\nq,"a cut')
    with pytest.raises(ValueError, match="line 3"):
        calib.read_log(path, rater="g")
    path.write_text("user_input,response,m\n")
    with pytest.raises(ValueError, match="holds no scores"):
        calib.read_log(path, rater="g")
    with pytest.raises(ValueError, match="no column of scores"):
        calib.read_log(frame(tmp_path, [{"m": "pass"}]), rater="g")
