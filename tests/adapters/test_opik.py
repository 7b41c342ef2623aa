"""Opik's results and exports: failures, trials, people."""

import json
import os
from pathlib import Path

import pytest

import calib

LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs", "opik-2.2.122")
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="Opik's logs: CALIB_DATA has no folder tool_logs")


def result(value=0.55, *, failed=False, item="x", output=None, trial=0, **more):
    score = {"name": "m", "value": value, "scoring_failed": failed, **more}
    case = {"task_output": output or {"output": "a"}, "dataset_item_content": {"item": item, "input": "q"}}
    return {"test_case": case, "score_results": [score], "trial_id": trial}


def dumped(tmp_path, *results):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"test_results": list(results)}))
    return path


def exported(tmp_path, *scores, output=None, data=None):
    items = [
        {"id": f"i{k}", "dataset_item_id": f"d{k}", "dataset_item_data": {"input": f"q{k}", **(data or {})},
         "evaluation_task_output": output or {"output": f"a{k}"}, "feedback_scores": one}
        for k, one in enumerate(scores)
    ]  # fmt: skip
    path = tmp_path / "experiment.json"
    path.write_text(json.dumps({"experiment": {"id": "e", "name": "n", "feedback_scores": None}, "items": items}))
    return path


@needs_logs
def test_both_forms_of_a_run_are_refused():
    with pytest.raises(ValueError, match="two of the files hold scores of the same items"):
        calib.read_log(LOGS, rater="g")


@pytest.mark.parametrize("metadata", [None, {}, {"error_info": None}, {"error_info": {"message": "bad reply"}}])
def test_a_failed_metric_is_no_0(tmp_path, metadata):
    path = dumped(tmp_path, result(), result(0.0, failed=True, item="y", metadata=metadata))
    _, scores = calib.read_log(path, rater="g")
    assert scores["status"].tolist() == ["ok", "unread"]
    assert scores["score"].isna().tolist() == [False, True]


def test_trials_of_one_output_are_draws(tmp_path):
    _, scores = calib.read_log(dumped(tmp_path, result(0.5), result(0.7, trial=1)), rater="g")
    assert scores[["score", "n"]].to_numpy().tolist() == [[0.6, 2]]


def test_trials_of_two_outputs_are_items_of_a_group(tmp_path):
    path = dumped(tmp_path, result(), result(trial=1, output={"output": "b"}))
    with pytest.warns(UserWarning, match="repeated_outputs"):
        items, _ = calib.read_log(path, rater="g")
    assert (items["item"].tolist(), items["group"].nunique()) == (["x#1", "x#2"], 1)


def test_an_export_keeps_a_judge_and_a_person_apart(tmp_path):
    both = [{"name": "m", "value": 0.55}, {"name": "m", "value": 1.0, "source": "ui", "created_by": "ann"}]
    _, scores = calib.read_log(exported(tmp_path, both, []), rater="g")
    found = {(row["item"], row["rater"]): (row["method"], row["score"]) for row in scores.to_dict("records")}
    assert found["d0-n", "g"] == ("logprob", 0.55)
    assert found["d0-n", "ann"] == ("human", 1.0)
    assert scores["status"].tolist().count("unread") == 1, "the judge's of the second item; people owe none"


def test_an_export_whose_output_is_a_text_and_whose_own_id_says_nothing(tmp_path):
    path = exported(tmp_path, [{"name": "m", "value": 0.5}], None, output="plain", data={"id": "temp_item_3"})
    items, scores = calib.read_log(path, rater="g", system="s", texts=True)
    assert (items["item"].tolist(), set(items["output"])) == (["d0-s", "d1-s"], {"plain"})
    assert scores["status"].tolist() == ["ok", "unread"]


def test_what_is_no_result_says_so(tmp_path):
    with pytest.raises(ValueError, match="`test_results` must be a list of objects"):
        calib.read_log(dumped(tmp_path, None), rater="g", tool="opik")
    with pytest.raises(ValueError, match="holds no scores"):
        calib.read_log(dumped(tmp_path), rater="g", tool="opik")
