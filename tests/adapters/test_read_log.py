"""The door for other tools' logs: ids, repeats, scales, judges, broken files; small logs written here."""

import json
import subprocess
import sys
import zipfile

import pytest

import calib
from calib.cli import main
from calib.table import TableError


def result(source="Why?", output="So.", score=0.5, **meta):
    return {"input": source, "output": output, "expected": None, "metadata": meta, "scores": {"tone": score}}


def log(tmp_path, rows, name="results.json"):
    path = tmp_path / name
    path.write_text(json.dumps(rows))
    return path


def read(path, **said):
    return calib.read_log(path, **({"rater": "g"} | said))


# --- repeats and ids --------------------------------------------------------------------------------------------


def test_the_same_output_again_is_a_draw(tmp_path):
    items, ratings = read(log(tmp_path, [result(score=s, item="a") for s in (0.25, 0.5, 1.0)]))
    assert items["item"].tolist() == ["a"]
    assert ratings["draw"].tolist() == [0, 1, 2]


def test_another_output_to_the_same_input_is_an_item_of_its_group(tmp_path):
    rows = [result(output=out, score=s, item="a") for out, s in (("So.", 0.25), ("Or so.", 0.5), ("So.", 0.75))]
    with pytest.warns(UserWarning, match="repeated_outputs: 1 inputs were answered in 2 ways"):
        items, ratings = read(log(tmp_path, rows))
    assert items["item"].tolist() == ["a#1", "a#2"]
    assert items["group"].nunique() == 1
    assert sorted(zip(ratings["item"], ratings["draw"], strict=True)) == [("a#1", 0), ("a#1", 1), ("a#2", 0)]


def test_without_ids_texts_are_ids_and_do_not_move(tmp_path):
    rows = [result(source=f"q{k}", output=f"a{k}") for k in range(3)]
    one, other = (read(log(tmp_path, each))[0] for each in (rows, rows[::-1]))
    assert set(one["item"]) == set(other["item"])
    assert len(one) == 3


def test_the_systems_name_tells_outputs_to_one_input_apart(tmp_path):
    rows = [result(output=f"by {name}", item="q1", system=name) for name in ("alpha", "beta")]
    items, _ = read(log(tmp_path, rows))
    assert items["item"].tolist() == ["q1-alpha", "q1-beta"]
    assert items["group"].nunique() == 1
    items, _ = read(log(tmp_path, [result(item="alpha_7", system="alpha")]))
    assert items["item"].tolist() == ["alpha_7"], "an id that holds the name is left alone"


def test_ids_that_users_name_are_taken_as_they_are(tmp_path):
    items, _ = read(log(tmp_path, [result(case=7, system="alpha")]), item="metadata.case")
    assert items["item"].tolist() == ["7"]
    with pytest.raises(ValueError, match=r"`item` must be a field of each row of the log .*, but got 'metadata\.nope'"):
        read(log(tmp_path, [result()]), item="metadata.nope")


def test_one_id_of_two_inputs_is_refused_unless_it_was_named(tmp_path):
    path = log(tmp_path, [result(source=q, output=q, item="x") for q in ("one", "two")])
    with pytest.raises(ValueError, match="`item` must name the field with the items' ids, but the log's 'x' is of two"):
        read(path)
    with pytest.warns(UserWarning, match="repeated_outputs"):
        assert len(read(path, item="metadata.item")[0]) == 2


@pytest.mark.parametrize(
    ("said", "wanted"), [("v2", "v2"), ("file", "results"), ("metadata.build", "b9"), (None, None)]
)
def test_who_the_system_is(tmp_path, said, wanted):
    items, _ = read(log(tmp_path, [result(build="b9")]), system=said)
    assert (items["system"].tolist() if "system" in items else [None]) == [wanted]


# --- judges, scales ---------------------------------------------------------------------------------------------


def test_a_log_without_a_judge_asks_for_one(tmp_path):
    with pytest.raises(ValueError, match=r"`rater` must be given: the judge's name, .*criterion 'tone'"):
        calib.read_log(log(tmp_path, [result()]))


@pytest.mark.slow
def test_scales_are_said_and_never_guessed(tmp_path):
    path = log(tmp_path, [result(score=s, item=str(s)) for s in (0.25, 0.5)])
    assert set(read(path)[1]["scale"]) == {"0..1"}, "the tool's documented range"
    assert set(read(path, scale={"tone": "0|0.25|0.5|0.75|1"})[1]["scale"]) == {"0|0.25|0.5|0.75|1"}
    with pytest.raises(ValueError, match=r"`scale` must name criteria of the log \(tone\), but got 'taste'"):
        read(path, scale={"taste": "0..1"})
    with pytest.raises(ValueError, match=r"`scale` '1\|2\|3' must hold each score of 'tone', but item '0.25' has 0.25"):
        read(path, scale="1|2|3")


def test_a_score_that_is_missing_is_a_status(tmp_path):
    rows = [result(item="a"), {**result(item="b", output="other"), "scores": {}}]
    items, ratings = read(log(tmp_path, rows))
    assert len(items) == 2
    assert ratings.set_index("item")["status"].astype(str).to_dict() == {"a": "ok", "b": "failed"}


# --- files ------------------------------------------------------------------------------------------------------


def test_several_files_and_folders(tmp_path):
    for name in ("alpha", "beta"):
        log(tmp_path, [result(output=name, item="q")], f"{name}.json")
    (tmp_path / "README.md").write_text("about")
    items, _ = read(tmp_path, system="file")
    assert sorted(items["item"]) == ["q-alpha", "q-beta"]
    both, _ = read([tmp_path / "alpha.json", tmp_path / "beta.json"], system="file")
    assert set(both["item"]) == set(items["item"])


def test_logs_of_two_tools_are_refused(tmp_path):
    log(tmp_path, [result()], "one.json")
    (tmp_path / "two.json").write_text(json.dumps({"testCases": [{"name": "a", "metricsData": []}]}))
    with pytest.raises(TableError, match=r"logs of several tools cannot be read at once: one\.json .*, two\.json"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "tool", "message"),
    [("{}", "auto", "is no log of .* that can be told"), ("[]", "braintrust", "holds no scores"),
     ('{"testCases": []}', "auto", "holds no scores"), ("{", "deepeval", "line 1: must be whole JSON"),
     ("[1]", "deepeval", "must be a test run"), ("[{}]", "braintrust", "must be rows of results"),
     ("", "promptfoo", "line 1"), ("[]", "promptfoo", "must be the output of"),
     ("{}", "nonsense", "`tool` must be 'auto' or one of")],
)  # fmt: skip
def test_what_is_no_log(tmp_path, text, tool, message):
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read(path, tool=tool)


def test_a_file_that_is_not_there_and_an_empty_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no log at"):
        read(tmp_path / "gone.json")
    with pytest.raises(ValueError, match="`path` must name a log"):
        read(tmp_path)


@pytest.mark.parametrize("size", [1, 5])
def test_long_arrays_are_read_in_pieces(tmp_path, monkeypatch, size):
    from calib.adapters import row as logs

    rows = [{"a": "x" * 50, "n": [k, {"b": None}]} for k in range(20)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps(rows, indent=1))
    monkeypatch.setattr(logs, "_PIECE", size)
    assert list(logs.array_of(path)) == rows
    path.write_text(path.read_text()[:-20])
    with pytest.raises(TableError, match=r"line 1\d\d: must be whole JSON"):
        list(logs.array_of(path))


def test_a_broken_line_says_its_number(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"input": 1, "output": 2, "expected": 3, "scores": {}}\n\n{"input": ')
    with pytest.raises(TableError, match=r"log\.jsonl, line 3"):
        read(path, tool="braintrust")


def test_hostile_texts_are_data(tmp_path):
    words = "a\x00\x1b[31m</script>\ud800"
    items, _ = read(log(tmp_path, [result(source=words, output=words, item="x")]), texts=True)
    assert items["output"].tolist() == [words]


# --- other tools, as documented ---------------------------------------------------------------------------------


def test_deepeval_conversations_strict_metrics_and_names_that_say_nothing(tmp_path):
    metric = {"name": "tone [Conversational GEval]", "score": 1, "strictMode": True, "evaluationModel": "g"}
    cases = [
        {"name": f"test_case_{k}", "input": f"q{k}", "actualOutput": f"a{k}", "metricsData": [metric]} for k in (0, 1)
    ]
    talk = [
        {"name": "conversational_test_case_0", "turns": [{"role": "user", "content": "Hi"}], "metricsData": [metric]}
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testCases": cases, "conversationalTestCases": talk}))
    items, scores = calib.read_log(path)
    assert len(items) == len(scores) == 3
    assert not items["item"].str.contains("test_case").any()


def test_promptfoo_checks_that_are_no_judge_are_flagged(tmp_path):
    parts = [
        {"assertion": {"type": kind, "value": "x"}, "score": 1, "pass": True} for kind in ("contains", "llm-rubric")
    ]
    row = {"gradingResult": {"componentResults": parts}, "provider": {"id": "p"}, "response": {"output": "o"},
           "testCase": {"options": {"provider": "judge-1"}}, "vars": {"q": "1"}, "prompt": {"raw": "q"}}  # fmt: skip
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.warns(UserWarning, match="not_judged: contains are checks"):
        _, ratings = calib.read_log(path)
    assert set(ratings["rater"]) == {"contains", "judge-1"}


def test_mlflow_brings_people_along_and_leaves_out_what_was_replaced(tmp_path):
    def assessed(name, value, kind, who, **more):
        source = {"source_type": kind, "source_id": who}
        return {"assessment_name": name, "feedback": {"value": value}, "source": source, **more}

    found = [
        assessed("tone", 4, "LLM_JUDGE", "g", assessment_id="1"),
        assessed("tone", 2, "HUMAN", "ann", assessment_id="2", valid=False),
        assessed("tone", 3, "HUMAN", "ann", assessment_id="3", overrides="2"),
        assessed("tone", 5, "HUMAN", "bob", assessment_id="4"),
        {
            "assessment_name": "answer",
            "expectation": {"value": "x"},
            "source": {"source_type": "HUMAN", "source_id": "u"},
        },
    ]
    trace = {"info": {"trace_id": "t1", "assessments": found, "tags": {}}, "data": {}}
    path = tmp_path / "traces.json"
    path.write_text(json.dumps([trace]))
    _, ratings = calib.read_log(path)
    people = ratings[ratings["method"] == "human"]
    assert people.set_index("rater")["score"].to_dict() == {"ann": 3.0, "bob": 5.0}
    assert ratings.loc[ratings["method"] == "sample", "score"].tolist() == [4.0]


def eval_file(path, samples, *, status="success", packing=zipfile.ZIP_DEFLATED):
    spec = {"eval_id": "E1", "task": "t", "model": "org/m", "packages": {}}
    spec["scorers"] = [{"name": "s", "options": {"model": "g"}}]
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("header.json", json.dumps({"status": status, "eval": spec}))
        for k, sample in enumerate(samples):
            archive.writestr(f"samples/{k}.json", json.dumps(sample))
    return path


def sample(value, **more):
    scores = {"s": {"value": value}}
    return {"id": "q", "epoch": 1, "input": "Why?", "output": {"completion": "So."}, "scores": scores, **more}


@pytest.mark.parametrize(
    ("value", "score"), [("C", 1), ("P", 0.5), ("I", 0), ("N", 0), ("yes", 1), (True, 1), (4, 4), ("3.5", 3.5)]
)
def test_inspect_letters_and_numbers_in_a_deflated_file(tmp_path, value, score):
    _, ratings = calib.read_log(eval_file(tmp_path / "x.eval", [sample(value)]))
    assert ratings["score"].tolist() == [score]


def test_inspect_a_grade_that_was_not_found_is_none(tmp_path):
    """Logs from before the tool left these out have them as incorrect."""
    lost = sample("I")
    lost["scores"]["s"]["explanation"] = "Grade not found in model output: no idea"
    _, ratings = calib.read_log(eval_file(tmp_path / "x.eval", [lost]))
    assert ratings["status"].astype(str).tolist() == ["unread"]


def test_inspect_lists_and_unfinished_runs(tmp_path):
    with pytest.raises(TableError, match="scorer 's' gives lists"):
        calib.read_log(eval_file(tmp_path / "x.eval", [sample([1, 2])]))
    with pytest.warns(UserWarning, match="partial: x.eval has the status 'cancelled'"):
        calib.read_log(eval_file(tmp_path / "x.eval", [sample("C")], status="cancelled"))
    path = eval_file(tmp_path / "x.eval", [sample("C")])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(TableError, match=r"x\.eval: must be a whole \.eval file"):
        calib.read_log(path)


@pytest.mark.slow
def test_openai_evals(tmp_path):
    lines = [{"spec": {"run_id": "R", "base_eval": "facts", "completion_fns": ["gpt-x"]}}]
    lines += [
        {"sample_id": f"s{k}", "type": "match", "data": {"correct": k > 0, "expected": "a", "sampled": "b"}}
        for k in range(3)
    ]
    lines += [{"sample_id": "s3", "type": "error", "data": {"message": "x"}}]
    path = tmp_path / "record.jsonl"
    path.write_text("\n".join(map(json.dumps, [*lines, {"final_report": {}}])))
    items, ratings = calib.read_log(path)
    assert ratings["status"].astype(str).value_counts().to_dict() == {"ok": 3, "failed": 1}
    assert ratings["score"].mean() == pytest.approx(2 / 3)
    assert set(items["system"]) == {"gpt-x"}
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.warns(UserWarning, match="partial: record.jsonl has no final report"):
        calib.read_log(path)


def test_helm(tmp_path):
    def stats(k, trial, mean):
        stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": mean, "mean": mean}
        return {"instance_id": f"id{k}", "train_trial_index": trial, "perturbation": None, "stats": [stat]}

    path = tmp_path / "per_instance_stats.json"
    path.write_text(json.dumps([stats(k, t, float(k > 0)) for k in range(3) for t in range(2)]))
    (tmp_path / "run_spec.json").write_text(json.dumps({"name": "run", "adapter_spec": {"model": "org/m"}}))
    items, ratings = calib.read_log(path)
    assert (len(items), len(ratings), set(ratings["draw"])) == (3, 6, {0, 1})
    assert ratings["score"].mean() == pytest.approx(2 / 3)
    assert set(items["system"]) == {"org/m"}


# --- the command, and what is loaded ----------------------------------------------------------------------------


def test_the_command_writes_both_tables(tmp_path, capsys):
    path = log(tmp_path, [result(item=f"q{k}", output=str(k), system="v") for k in range(3)])
    out, items = tmp_path / "ratings.csv", tmp_path / "items.csv"
    with pytest.raises(SystemExit) as left:
        main(["read-log", str(path), "--rater", "g", "--out", str(out), "--items", str(items), "--scale", "tone=0..1"])
    assert left.value.code in (0, None)
    assert "3 ok" in capsys.readouterr().out
    assert len(calib.table.read(out, "ratings")) == len(calib.table.read(items, "items")) == 3


@pytest.mark.slow
def test_no_tool_is_imported(tmp_path):
    path = log(tmp_path, [result()])
    code = f"import sys, calib; calib.read_log({str(path)!r}, rater='g'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    tools = "deepeval inspect_ai promptfoo lm_eval ragas mlflow opik langsmith braintrust openai"
    assert not loaded & set(tools.split())


@pytest.mark.parametrize(
    "broken", [{"samples": {"a": 1}}, {"samples": [{"scores": [1]}]}, {"samples": [{"epoch": "x", "scores": {}}]}]
)
def test_a_form_that_no_tool_writes_is_said(tmp_path, broken):
    whole = {"status": "success", "eval": {"eval_id": "E", "task": "t", "model": "m"}, "samples": [sample("C")]}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(whole | broken))
    with pytest.raises(TableError, match=r"log\.json: has not the shape that its tool writes"):
        calib.read_log(path, tool="inspect")


def test_half_a_character_in_a_name_is_a_question_mark(tmp_path):
    items, _ = read(log(tmp_path, [result(item="a\ud800", system="s\ud800")]))
    assert items[["item", "system"]].to_numpy().tolist() == [["a?-s?", "s?"]]


def test_a_field_of_some_rows_is_no_name_in_the_others(tmp_path):
    rows = [{**result(item="a"), "judge": "gpt-4o"}, result(item="b", output="other")]
    _, ratings = calib.read_log(log(tmp_path, rows), rater="judge")
    assert set(ratings["rater"]) == {"gpt-4o"}
    with pytest.raises(ValueError, match="`system` must be a field of each row of the log, but 'judge' is one of some"):
        read(log(tmp_path, rows), system="judge")
