"""DeepEval's test runs: errors, kinds of metrics, files of several forms."""

import json

import pytest

import calib


def metric(score=0.7, name="tone [GEval]", **more):
    return {"name": name, "evaluationModel": "gpt", **({} if score is None else {"score": score}), **more}


def case(*metrics, name="x", **more):
    return {"name": name, "input": "q", "actualOutput": "a", "metricsData": list(metrics), **more}


def run(tmp_path, *cases, name="run.json", wrap=None):
    path = tmp_path / name
    whole = {"testCases": list(cases)}
    path.write_text(json.dumps({wrap: whole} if wrap else whole))
    return path


def test_the_kinds_of_geval_are_no_part_of_a_criterion(tmp_path):
    kinds = ["a [GEval]", "b [Conversational GEval]", "c [Arena GEval]", "d [DAG]"]
    _, scores = calib.read_log(run(tmp_path, case(*(metric(name=kind) for kind in kinds))))
    assert set(scores["criterion"]) == {"a", "b", "c", "d [DAG]"}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("Error code: 400 - rejected", "failed"),
        ("Evaluation LLM outputted an invalid JSON. Please use a better evaluation model.", "unread"),
        ("Could not parse response content as the length limit was reached (450 tokens)", "truncated"),
    ],
)
def test_an_error_is_a_status_even_beside_a_score(tmp_path, error, status):
    for score in (None, 0.0):
        path = run(tmp_path, case(metric(score, error=error)), case(metric(), name="y"))
        _, scores = calib.read_log(path)
        broken = scores.set_index("item").loc["x"]
        assert broken["status"] == status
        assert broken["score"] != broken["score"], "no number"


def test_a_rolling_file_with_the_run_one_level_down(tmp_path):
    path = run(tmp_path, case(metric()), name=".latest_test_run.json", wrap="testRunData")
    assert calib.read_log(path)[1]["score"].tolist() == [0.7]
    run(tmp_path, case(metric()), name=".latest_run_full.json")
    with pytest.raises(ValueError, match="two of the files hold scores of the same items"):
        calib.read_log(tmp_path)


def test_cases_without_metrics_and_runs_without_cases(tmp_path):
    path = run(tmp_path, case(), case(metric(), name="y"), {"name": "z", "input": "q", "metricsData": None})
    assert calib.read_log(path)[0]["item"].tolist() == ["y"]
    with pytest.raises(ValueError, match="holds no scores"):
        calib.read_log(run(tmp_path))


def test_what_is_no_run_says_so(tmp_path):
    with pytest.raises(ValueError, match=r"run\.json: `testCases` must be a list of objects"):
        calib.read_log(run(tmp_path, None, "x"))
    with pytest.raises(ValueError, match="must be a test run of DeepEval"):
        calib.read_log(run(tmp_path, wrap="other"), tool="deepeval")
