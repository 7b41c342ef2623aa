"""Logs that were made to be misread: other shapes, ids that merge, replies that are no score."""

import copy
import json

import pandas as pd
import pytest

import calib
from calib.table import TableError


def rows(*outputs, **meta):
    return [
        {"input": "Why?", "output": out, "expected": None, "metadata": meta, "scores": {"tone": 0.5}} for out in outputs
    ]


def write(path, found):
    path.parent.mkdir(exist_ok=True)
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, found)) if lines else json.dumps(found))
    return path


# --- shapes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "kind"), [({"metadata": "x"}, "AttributeError"), ({"metadata": [1]}, "Attribute")])
def test_another_shape_is_refused_with_the_files_name(tmp_path, change, kind):
    path = write(tmp_path / "x.json", [rows("a")[0] | change])
    with pytest.raises(TableError, match=rf"x\.json: has not the shape that its tool writes \({kind}"):
        calib.read_log(path, rater="g")


def test_numbers_too_large_are_no_scores(tmp_path):
    found = rows("a", "b")
    found[0]["scores"]["tone"] = 10**400
    _, ratings = calib.read_log(write(tmp_path / "x.json", found), rater="g")
    assert sorted(ratings["status"].astype(str)) == ["failed", "ok"]


def test_two_arrays_in_one_file_are_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(rows("a")) + "\n" + json.dumps(rows("b")))
    with pytest.raises(TableError, match=r"x\.json: must be one array of JSON, but goes on"):
        calib.read_log(path, rater="g")


def test_one_object_over_many_lines_is_one_row(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(rows("a")[0], indent=1))
    assert len(calib.read_log(path, rater="g")[1]) == 1


def test_a_long_first_output_does_not_lose_the_file_of_a_folder(tmp_path):
    long = [{"run": {"outputs": {"a": "x" * 200_000}}, "example": {"id": "1"},
             "evaluation_results": {"results": [{"key": "tone", "score": 1}]}}]  # fmt: skip
    short = copy.deepcopy(long)
    short[0]["run"]["outputs"]["a"] = "y"
    write(tmp_path / "a.json", long), write(tmp_path / "b.json", short)
    assert len(calib.read_log(tmp_path, rater="g", system="file")[1]) == 2


def test_a_file_that_was_named_is_not_left_out(tmp_path):
    paths = [write(tmp_path / "a.json", rows("a")), write(tmp_path / "b.json", [{"scores": {"tone": 1}}])]
    _, ratings = calib.read_log(paths, tool="braintrust", rater="g")
    assert len(ratings) == 2


# --- files and ids ----------------------------------------------------------------------------------------------


def test_files_of_one_name_are_told_apart(tmp_path):
    paths = [write(tmp_path / folder / "results.json", rows(folder, item="q")) for folder in ("alpha", "beta")]
    with pytest.raises(ValueError, match="`system` 'file' must be one name a file"):
        calib.read_log(paths, rater="g", system="file")
    again = [write(tmp_path / folder / "results.json", rows("same", item="q")) for folder in ("alpha", "beta")]
    _, ratings = calib.read_log(again, rater="g")
    assert ratings["run"].nunique() == 2


def test_a_copy_of_a_run_under_the_same_name_is_refused(tmp_path):
    found = [{"run": {"session_name": "S", "outputs": {"a": "x"}}, "example": {"id": "1"},
              "evaluation_results": {"results": [{"key": "tone", "score": 1}]}}]  # fmt: skip
    paths = [write(tmp_path / folder / "rows.json", found) for folder in ("a", "b")]
    with pytest.raises(TableError, match="hold the same run"):
        calib.read_log(paths, rater="g")


def test_an_id_that_holds_both_systems_is_of_neither(tmp_path):
    found = rows("one", item="alpha-beta-1", system="alpha") + rows("two", item="alpha-beta-1", system="beta")
    items, _ = calib.read_log(write(tmp_path / "x.json", found), rater="g")
    assert items["item"].tolist() == ["alpha-beta-1-alpha", "alpha-beta-1-beta"]


def test_ids_that_would_merge_are_refused(tmp_path):
    found = rows("one", item="x", system="s") + rows("two", item="x-s", system="s")
    with pytest.raises(ValueError, match="'x-s' is the id of two of the log's outputs"):
        calib.read_log(write(tmp_path / "x.json", found), rater="g")
    with pytest.raises(ValueError, match="'a#1' is an id of the log"):
        calib.read_log(write(tmp_path / "x.json", rows("1", "2", item="a") + rows("3", item="a#1")), rater="g")


def test_a_judge_with_a_version_in_its_name_is_no_path(tmp_path):
    path = write(tmp_path / "x.json", rows("a"))
    items, ratings = calib.read_log(path, rater="gpt-4.1", system="llama-3.1-70b")
    assert (set(ratings["rater"]), set(items["system"])) == ({"gpt-4.1"}, {"llama-3.1-70b"})


# --- tools ------------------------------------------------------------------------------------------------------


def test_lm_eval_documents_of_two_tasks_do_not_merge(tmp_path):
    for task in ("one", "two"):
        line = {"doc_id": 0, "doc": {"id": 0, "q": task}, "resps": [["A"]], "filtered_resps": ["A"], "filter": "none",
                "metrics": ["acc"], "acc": 1.0}  # fmt: skip
        write(tmp_path / f"samples_{task}_2026-01-01T00-00-00.jsonl", [line])
    with pytest.raises(ValueError, match="the log's '0' is of two inputs"):
        calib.read_log(tmp_path)


def test_helm_instances_of_two_scenarios_do_not_merge(tmp_path):
    stat = {"name": {"name": "em", "split": "test"}, "count": 1, "sum": 1, "mean": 1}
    for subject in ("law", "art"):
        write(tmp_path / subject / "per_instance_stats.json", [{"instance_id": "id0", "stats": [stat]}])
        scenario = {"class_name": "helm.scenarios.MMLU", "args": {"subject": subject}}
        write(tmp_path / subject / "run_spec.json", {"name": f"mmlu:{subject}", "scenario_spec": scenario})
    items, _ = calib.read_log(tmp_path)
    assert sorted(items["item"]) == ["MMLU,subject=art/id0", "MMLU,subject=law/id0"]


def test_openai_evals_an_invalid_choice_is_no_lowest_score(tmp_path):
    lines = [{"spec": {"base_eval": "e", "completion_fns": ["sys", "judge"]}}]
    for k, data in enumerate([{"choice": "__invalid__", "score": 0.0}, {"choice": "Y", "score": None}]):
        lines += [{"sample_id": f"s{k}", "type": "sampling", "data": {"sampled": [said]}} for said in ("out", "grade")]
        lines += [{"sample_id": f"s{k}", "type": "metrics", "data": data}]
    path = write(tmp_path / "record.jsonl", [*lines, {"final_report": {}}])
    items, ratings = calib.read_log(path, texts=True)
    assert ratings["status"].astype(str).tolist() == ["unread", "ok"]
    assert ratings["score"].tolist()[1] == 1
    assert set(items["output"]) == {"out"}, "what the judge said is not the output"


def test_openai_batch_of_the_other_endpoint_is_no_failed_call(tmp_path):
    body = {"object": "response", "model": "g", "output": [{"content": [{"text": "4"}]}]}
    path = write(tmp_path / "o.jsonl", [{"custom_id": "tone/a", "response": {"status_code": 200, "body": body}}])
    with pytest.raises(TableError, match=r"tone/a: the replies are 'response', where only .*chat/completions"):
        calib.read_log(path, scale="1|2|3|4|5")


def test_ragas_index_columns_are_no_metrics_and_an_errors_text_loses_no_metric(tmp_path):
    frame = pd.DataFrame({"user_input": ["a", "b", "c"], "response": ["x", "y", "z"], "row_id": [1, 2, 3]})
    frame["tone"] = ["0.5", "timeout", "1"]
    frame.to_csv(tmp_path / "x.csv")
    _, ratings = calib.read_log(tmp_path / "x.csv", rater="g")
    assert set(ratings["criterion"]) == {"tone"}
    assert ratings["status"].astype(str).tolist() == ["ok", "unread", "ok"]


def test_langsmith_two_results_of_one_key_are_two_readings(tmp_path):
    results = [{"key": "tone", "score": score} for score in (0, 1)]
    found = [{"run": {"outputs": {"a": "x"}}, "example": {"id": "1"}, "evaluation_results": {"results": results}}]
    _, ratings = calib.read_log(write(tmp_path / "x.json", found), rater="g")
    assert ratings["score"].tolist() == [0, 1]


def test_opik_people_stay_people(tmp_path):
    scores = [{"name": "tone", "value": 0.25}, {"name": "tone", "value": 1.0, "source": "ui", "created_by": "ann"}]
    items = [{"dataset_item_id": f"i{k}", "dataset_item_data": {"input": f"q{k}"}, "feedback_scores": scores[k:]}
             for k in (0, 1)]  # fmt: skip
    path = write(tmp_path / "x.json", {"experiment": {"id": "e"}, "items": items})
    _, found = calib.read_log(path, rater="g")
    people = found[found["method"] == "human"]
    assert set(people["rater"]) == {"ann"}
    assert people["score"].tolist() == [1, 1]
    assert found[found["rater"] == "g"]["status"].astype(str).tolist() == ["ok", "unread"]


def test_mlflow_people_are_not_renamed_to_the_judge(tmp_path):
    found = [{"assessment_name": "tone", "feedback": {"value": value}, "source": source} for value, source in (
        (1, {"source_type": "LLM_JUDGE", "source_id": "x"}), (2, {"source_type": "HUMAN", "source_id": "ann"}),
        (3, {"source_type": "HUMAN", "source_id": "bob"}), (4, {"source_type": "HUMAN"}))]  # fmt: skip
    path = write(tmp_path / "x.json", [{"info": {"trace_id": "t", "assessments": found}}])
    _, ratings = calib.read_log(path, rater="gpt-4o")
    assert ratings.set_index("rater")["score"].to_dict() == {"gpt-4o": 1, "ann": 2, "bob": 3, "human": 4}


def test_inspect_logs_with_a_single_score(tmp_path):
    sample = {"id": 1, "epoch": 1, "input": "q", "output": {"completion": "a"}, "score": {"value": "C"}}
    whole = {"status": "success", "eval": {"eval_id": "E", "task": "t", "model": "m"}, "samples": [sample],
             "results": {"scorer": {"name": "match"}}}  # fmt: skip
    with pytest.warns(UserWarning, match="not_judged: match name no judge"):
        _, ratings = calib.read_log(write(tmp_path / "x.json", whole))
    assert ratings[["criterion", "rater", "score"]].to_numpy().tolist() == [["match", "match", 1]]
