"""promptfoo's outputs: forms of a run, graders, checks."""

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

import calib

LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs", "promptfoo-0.121.20")
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="promptfoo's logs: CALIB_DATA has no folder tool_logs")


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
        calib.read_log(LOGS)


@needs_logs
def test_the_rounded_form_points_to_the_whole_one_and_is_left_out_of_a_folder(tmp_path):
    with pytest.raises(ValueError, match=r"out\.csv: rounds .*read the out\.json or out\.jsonl"):
        calib.read_log(LOGS / "out.csv")
    for name in ("out.json", "out.csv"):
        shutil.copy(LOGS / name, tmp_path)
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
