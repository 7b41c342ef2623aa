"""Forms of a log that one tool or another writes: DeepEval, Opik, promptfoo, Ragas."""

import csv
import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

import calib

LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs")
PROMPTFOO = LOGS / "promptfoo-0.121.20"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="logs of tools: CALIB_DATA has no folder tool_logs")


# --- DeepEval's test runs --------------------------------------------------------------------------------------------


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
        (
            "1 validation error for Verdicts\n  Input should be a list [type=list_type, "
            "input_value={'a': 'timeout 500'}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.12/v/list_type",
            "unread",
        ),
        ("Expecting value: line 1 column 1 (char 0)", "unread"),
        ("Could not extract JSON from llm-rubric response: the connection of ideas is poor", "unread"),
        ("'Verdicts' object has no attribute 'verdicts'", "unread"),
        ("Server error '500 Internal Server Error' for url 'https://host/v1'", "failed"),
        ("HTTPStatusError: 503", "failed"),
        ("Request timed out.", "failed"),
        ("Connection error.", "failed"),
        ("RetryError[<Future at 0x7f state=finished raised RateLimitError>]", "failed"),
        ("litellm.APIConnectionError: cannot reach the host", "failed"),
        ("Error code: 529 - overloaded", "failed"),
        ("429 RESOURCE_EXHAUSTED. {'error': {'status': 'RESOURCE_EXHAUSTED'}}", "failed"),
        ("Error code: 400 - {'message': 'We could not parse the JSON body of your request'}", "failed"),
        ("An error occurred (ThrottlingException) when calling the Converse operation", "failed"),
    ],
)
def test_an_error_is_a_status_even_beside_a_score(tmp_path, error, status):
    for score in (None, 0.0):
        path = run(tmp_path, case(metric(score, error=error)), case(metric(), name="y"))
        _, scores = calib.read_log(path)
        broken = scores.set_index("item").loc["x"]
        assert broken["status"] == status
        assert broken["score"] != broken["score"], "no number"


def test_ratios_are_no_expectations(tmp_path):
    """Two of three claims hold: no token was weighted."""
    both = [metric(2 / 3, "Faithfulness"), metric(0.6666, "tone [GEval]"), metric(0.7, "plain [GEval]")]
    _, scores = calib.read_log(run(tmp_path, case(*both)))
    assert dict(zip(scores["criterion"], scores["method"], strict=True)) == {
        "Faithfulness": "sample", "tone": "logprob", "plain": "sample"
    }  # fmt: skip


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


# --- Opik's results and exports ---------------------------------------------------------------------------------------


def trial(value=0.55, *, failed=False, item="x", output=None, number=0, **more):
    score = {"name": "m", "value": value, "scoring_failed": failed, **more}
    case = {"task_output": output or {"output": "a"}, "dataset_item_content": {"item": item, "input": "q"}}
    return {"test_case": case, "score_results": [score], "trial_id": number}


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
        calib.read_log(LOGS / "opik-2.2.122", rater="g")


@pytest.mark.parametrize("metadata", [None, {}, {"error_info": None}, {"error_info": {"message": "bad reply"}}])
def test_a_failed_metric_is_no_0(tmp_path, metadata):
    path = dumped(tmp_path, trial(), trial(0.0, failed=True, item="y", metadata=metadata))
    _, scores = calib.read_log(path, rater="g")
    assert scores["status"].tolist() == ["ok", "unread"]
    assert scores["score"].isna().tolist() == [False, True]


def test_trials_of_one_output_are_draws(tmp_path):
    _, scores = calib.read_log(dumped(tmp_path, trial(0.5), trial(0.7, number=1)), rater="g")
    assert scores[["score", "n"]].to_numpy().tolist() == [[0.6, 2]]


def test_trials_of_two_outputs_are_items_of_a_group(tmp_path):
    path = dumped(tmp_path, trial(), trial(number=1, output={"output": "b"}))
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


# --- promptfoo's outputs ----------------------------------------------------------------------------------------------


def part(score=1, kind="llm-rubric", metric="m", **more):
    return {"score": score, "pass": True, "reason": "r", "assertion": {"type": kind, "metric": metric}, **more}


def result(*parts, **more):
    return {"gradingResult": {"componentResults": list(parts)}, "prompt": {"raw": "q"}, "provider": {"label": "L"},
            "response": {"output": "a"}, "testCase": {"options": {"provider": "judge"}}, **more}  # fmt: skip


def output(tmp_path, *results, name="out.json", run="e1"):
    path = tmp_path / name
    whole = {"evalId": run, "metadata": {"promptfooVersion": "0.1"}, "results": {"results": list(results)}}
    path.write_text(json.dumps(whole) if path.suffix == ".json" else "".join(json.dumps(r) + "\n" for r in results))
    return path


@needs_logs
def test_one_run_in_two_forms_is_refused():
    with pytest.raises(ValueError, match=r"out\.json and out\.jsonl hold the same run: read one of them"):
        calib.read_log(PROMPTFOO)


@needs_logs
def test_the_rounded_form_points_to_the_whole_one_and_is_left_out_of_a_folder(tmp_path):
    with pytest.raises(ValueError, match=r"out\.csv: rounds .*read the out\.json or out\.jsonl"):
        calib.read_log(PROMPTFOO / "out.csv")
    for name in ("out.json", "out.csv"):
        shutil.copy(PROMPTFOO / name, tmp_path)
    assert len(calib.read_log(tmp_path)[1]) == 192
    with pytest.raises(ValueError, match=r"out\.csv: rounds"):
        calib.read_log([tmp_path / "out.json", tmp_path / "out.csv"])


def test_another_tools_csv_is_not_claimed(tmp_path):
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["input", "note"], ["[PASS] and FAIL", "x"]])
    with pytest.raises(ValueError, match="is no log of"):
        calib.read_log(path)


def test_two_runs_with_equal_scores_are_two_runs(tmp_path):
    output(tmp_path, result(part()), name="out.json")
    output(tmp_path, result(part()), name="later.json", run="e2")
    assert calib.read_log(tmp_path)[1]["run"].nunique() == 2
    output(tmp_path, result(part(0.5)), name="out.jsonl")
    assert len(calib.read_log(tmp_path)[1]) == 3, "named alike, but with another score"


def test_a_set_of_assertions_is_not_counted_beside_its_parts(tmp_path):
    inner = [part(0, metric="a"), part(1, metric="b")]
    whole = {"score": 0.5, "pass": True, "reason": "", "assertion": None, "componentResults": inner}
    _, ratings = calib.read_log(output(tmp_path, result(whole, *inner)))
    assert dict(zip(ratings["criterion"], ratings["score"], strict=True)) == {"a": 0, "b": 1}


def asked(label, k, text, **more):
    """A result of one of several prompts, on a test with variables."""
    prompt = {"raw": f"{label} q{k}", "label": label}
    test = {"vars": {"q": f"q{k}"}, "options": {"provider": "judge"}, "metadata": {"topic": f"t{k}"}}
    return result(part(0.5), prompt=prompt, testCase=test, response={"output": text}, **more)


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_prompts_are_systems_that_share_the_groups_of_their_tests(tmp_path, name):
    long = "Answer the question in one long and winding sentence: {{q}}"
    rows = [asked(label, k, f"{label} {k}") for label in ("Brief {{q}}", long) for k in (0, 1)]
    items, _ = calib.read_log(output(tmp_path, *rows, name=name))
    systems = items["system"].tolist()
    assert systems[:2] == ["L, Brief {{q}}"] * 2
    assert len(set(systems)) == 2
    assert all(len(one) < 50 for one in systems)
    assert items.groupby("group")["system"].nunique().tolist() == [2, 2]
    assert items["topic"].tolist() == ["t0", "t1"] * 2
    one, _ = calib.read_log(output(tmp_path, *rows[:2], name=name))
    assert set(one["system"]) == {"L"}, "of one prompt the provider is the system"


@pytest.mark.parametrize(
    "asserts",
    [[{"type": "llm-rubric", "value": "Not what was asked in the end."}],
     [{"type": "assert-set", "assert": [{"type": "llm-rubric", "value": "x"}]}], [{"type": "llm-rubric"}]],
)  # fmt: skip
def test_a_crashed_provider_invents_no_criterion(tmp_path, asserts):
    graded = part(1, metric=None, assertion={"type": "llm-rubric", "value": "x"})
    test = {"vars": {"q": "1"}, "options": {"provider": "judge"}, "assert": asserts}
    whole = result(graded, testCase=test)
    crash = result(testCase=test, provider={"label": "M"}, response=None, gradingResult=None, error="timeout")
    items, ratings = calib.read_log(output(tmp_path, crash, whole))
    assert len(items) == 2
    assert len(set(ratings["criterion"])) == 1
    assert ratings["status"].astype(str).tolist() == ["failed", "ok"]
    # of another test, what the log was graded by at all
    other = {**crash, "testCase": {**test, "vars": {"q": "2"}, "assert": [{"type": "llm-rubric", "value": "x"}]}}
    assert len(set(calib.read_log(output(tmp_path, other, whole))[1]["criterion"])) == 1


def test_a_check_keeps_its_name_where_the_judge_is_named(tmp_path):
    path = output(tmp_path, result(part(), part(kind="contains", metric="c"), testCase={}))
    with pytest.warns(UserWarning, match="not_judged: contains are checks"):
        _, ratings = calib.read_log(path, rater="gpt")
    assert set(ratings["rater"]) == {"gpt", "contains"}


@pytest.mark.parametrize("grader", ["judge", {"id": "judge"}, {"text": "judge"}, {"text": {"id": "judge"}}])
def test_forms_of_a_graders_name(tmp_path, grader):
    row = result(part(), testCase={"options": {"provider": grader}})
    assert calib.read_log(output(tmp_path, row))[1]["rater"].tolist() == ["judge"]


def test_a_default_grader_has_to_be_named(tmp_path):
    path = output(tmp_path, result(part(), testCase={}))
    with pytest.raises(ValueError, match="`rater` must be given"):
        calib.read_log(path)
    assert calib.read_log(path, rater="gpt")[1]["rater"].tolist() == ["gpt"]


def test_score_counts_where_pass_says_another_thing(tmp_path):
    rows = result(part(0.2)), result(part(0, metadata={"graderError": True}), response={"output": "b"})
    _, ratings = calib.read_log(output(tmp_path, *rows))
    assert ratings["score"].tolist()[0] == 0.2
    assert ratings["status"].tolist() == ["ok", "unread"]


def test_what_is_no_output_says_so(tmp_path):
    with pytest.raises(ValueError, match="holds no scores"):
        calib.read_log(output(tmp_path))
    with pytest.raises(ValueError, match="`results` must be a list of objects"):
        calib.read_log(output(tmp_path, None, 3))


# --- Ragas' frames ----------------------------------------------------------------------------------------------------


def frame(tmp_path, rows, name="frame.jsonl"):
    path = tmp_path / name
    rows = [{"user_input": f"q{k}", "response": "a", **row} for k, row in enumerate(rows)]
    lines = path.suffix == ".jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in rows) if lines else pd.DataFrame(rows).to_csv(index=False)
    )
    return path


def scores(path, **said):
    ratings = calib.read_log(path, rater="g", **said)[1]
    return {name: each["score"].tolist() for name, each in ratings.groupby("criterion", observed=True)}


@needs_logs
def test_both_forms_of_a_frame_are_refused():
    with pytest.raises(ValueError, match=r"alpha\.csv and alpha\.jsonl hold the same run: read one of them"):
        calib.read_log([LOGS / f"ragas-0.4.3/alpha.{kind}" for kind in ("csv", "jsonl")], rater="g", system="v")


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
