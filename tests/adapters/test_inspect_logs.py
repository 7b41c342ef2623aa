"""Logs of Inspect AI: whose output it is, who scored it, and which repeat; small logs written here."""

import json
import zipfile

import pandas as pd
import pytest

import calib
from calib.cli import main


def sample(k, epoch=1, *, text=None, model="gpt-4o-2024-08-06", value="C", **more):
    """A sample that was answered and graded; without a value it crashed."""
    if value is None:
        return {"id": f"q{k}", "epoch": epoch, "input": f"Why {k}?", "target": "", "scores": {}, "error": {}, **more}
    output = {"completion": f"So {k}." if text is None else text, "model": model}
    scores = {"s": {"value": value}}
    return {"id": f"q{k}", "epoch": epoch, "input": f"Why {k}?", "output": output, "scores": scores, **more}


def log(tmp_path, samples, *, scorers=({"name": "s", "options": {"model": "g"}},), name="log.json", **spec):
    spec = {"eval_id": "E", "task": "t", "model": "openai/gpt-4o", "scorers": list(scorers), **spec}
    path = tmp_path / name
    path.write_text(json.dumps({"status": "success", "eval": spec, "samples": samples}))
    return path


def event(kind, **more):
    return {"event": kind, **more}


def calls(scorer, *models):
    """The events of a scorer that calls models."""
    return [event("span_begin", id=scorer, type="scorer", name=scorer, parent_id="top"),
            *(event("model", span_id=scorer, model=model) for model in models)]  # fmt: skip


# --- the system ---------------------------------------------------------------------------------------------------


def test_a_crashed_sample_is_of_the_model_asked_for(tmp_path):
    items, ratings = calib.read_log(log(tmp_path, [sample(1), sample(2, value=None), sample(3)]))
    assert set(items["system"]) == {"openai/gpt-4o"}
    answered = items.set_index("item")["answered_by"]
    assert answered.isna().to_dict() == {f"q{k}-openai/gpt-4o": k == 2 for k in (1, 2, 3)}
    assert set(answered.dropna()) == {"gpt-4o-2024-08-06"}
    assert ratings["status"].astype(str).tolist() == ["ok", "ok", "failed"]


def test_a_log_of_crashes_alone_holds_its_outputs(tmp_path):
    items, ratings = calib.read_log(log(tmp_path, [sample(k, value=None) for k in range(3)]))
    assert len(items) == 3
    assert set(zip(ratings["criterion"], ratings["rater"], ratings["status"], strict=True)) == {("s", "g", "failed")}


def test_a_build_with_crashed_samples_does_not_pass(tmp_path):
    """Sixty good answers and sixty crashes: under the answering model's name the crashes were another system's."""
    samples = [sample(k, value="C" if k < 60 else None) for k in range(120)]
    path, people = log(tmp_path, samples), tmp_path / "people.csv"
    ids = [f"q{k}-openai/gpt-4o" for k in range(50)]
    frame = {"item": ids, "criterion": "s", "rater": "ann", "score": [1] * 48 + [0] * 2, "scale": "0|1"}
    pd.DataFrame(frame).to_csv(people, index=False)
    table, items = tmp_path / "ratings.csv", tmp_path / "items.csv"
    with pytest.raises(SystemExit) as left:
        main(["read-log", str(path), "--scale", "0|0.5|1", "--out", str(table), "--items", str(items)])
    assert not left.value.code
    with pytest.raises(SystemExit) as left:
        main(
            ["gate", str(table), str(people), "--items", str(items), "--system", "openai/gpt-4o", "--threshold", "0.7"]
        )
    assert left.value.code in (2, 3), "not a pass"
    with pytest.raises(SystemExit) as left:  # without the crashes it does
        rows = pd.read_csv(table)
        rows[rows["status"] == "ok"].to_csv(table, index=False)
        kept = pd.read_csv(items)
        kept[kept["item"].isin(rows.loc[rows["status"] == "ok", "item"])].to_csv(items, index=False)
        main(
            ["gate", str(table), str(people), "--items", str(items), "--system", "openai/gpt-4o", "--threshold", "0.7"]
        )
    assert left.value.code in (0, None)


def test_who_answered_in_anothers_place_is_said(tmp_path):
    path = log(tmp_path, [sample(1, model="mock/alpha")])
    with pytest.warns(UserWarning, match=r"other_model: log.json asked openai/gpt-4o and was answered by mock/alpha"):
        items, _ = calib.read_log(path)
    assert items[["system", "answered_by"]].to_numpy().tolist() == [["openai/gpt-4o", "mock/alpha"]]
    with pytest.warns(UserWarning, match="other_model"):
        assert calib.read_log(path, system="output.model")[0]["system"].tolist() == ["mock/alpha"]
    named = log(tmp_path, [sample(1, model="mock/alpha")], metadata={"system": "alpha"})
    assert calib.read_log(named)[0]["system"].tolist() == ["alpha"]
    unasked = log(tmp_path, [sample(1, model="a/b"), sample(2, value=None)], model="none/none")
    assert calib.read_log(unasked)[0]["system"].tolist() == ["a/b", "a/b"]


# --- repeats ------------------------------------------------------------------------------------------------------


def test_repeats_are_numbered_by_epoch_whatever_the_files_order(tmp_path):
    samples = [sample(1, epoch, text=f"answer {epoch}") for epoch in (1, 2, 3)]
    for order in (samples, samples[::-1], [samples[1], samples[2], samples[0]]):
        with pytest.warns(UserWarning, match="repeated_outputs: 1 inputs were answered in 3 ways"):
            items, _ = calib.read_log(log(tmp_path, order), texts=True)
        assert dict(zip(items["item"], items["output"], strict=True)) == {
            f"q1-openai/gpt-4o#{k}": f"answer {k}" for k in (1, 2, 3)
        }


@pytest.mark.filterwarnings("ignore:repeated_outputs")
def test_a_crash_leaves_its_number_free(tmp_path):
    whole = [sample(1, epoch, text=f"answer {epoch}") for epoch in (1, 2, 3)]
    broken = [whole[0], sample(1, 2, value=None), whole[2]]
    one, other = (
        calib.read_log(log(tmp_path, each), texts=True)[0].set_index("item")["output"] for each in (whole, broken)
    )
    assert set(one.index) == set(other.index), "the crash is the second"
    assert other.to_dict() == one.to_dict() | {"q1-openai/gpt-4o#2": ""}


@pytest.mark.filterwarnings("ignore:repeated_outputs")
def test_epochs_of_a_second_run_come_after_those_of_the_first(tmp_path):
    runs = [
        log(tmp_path, [sample(1, e, text=f"{run} {e}") for e in (2, 1)], name=f"{run}.json", eval_id=run)
        for run in "ab"
    ]
    items, _ = calib.read_log(runs, texts=True)
    assert sorted(zip(items["item"].str[-2:], items["output"], strict=True)) == [
        ("#1", "a 1"), ("#2", "a 2"), ("#3", "b 1"), ("#4", "b 2")
    ]  # fmt: skip


# --- who scored ---------------------------------------------------------------------------------------------------


def test_code_is_its_own_rater_and_never_the_evaluated_model(tmp_path):
    scores = {name: {"value": "C"} for name in ("match", "f1", "own", "asks")}
    scorers = [{"name": name, "options": {}} for name in scores]
    one = sample(1, events=calls("asks", "openai/gpt-4.1")) | {"scores": scores}
    with pytest.warns(UserWarning, match="not_judged: f1, match, own name no judge"):
        _, ratings = calib.read_log(log(tmp_path, [one], scorers=scorers))
    assert dict(zip(ratings["criterion"], ratings["rater"], strict=True)) == {
        "match": "match", "f1": "f1", "own": "own", "asks": "openai/gpt-4.1"
    }  # fmt: skip
    with pytest.warns(UserWarning, match="not_judged"):  # a name is of judges alone
        _, ratings = calib.read_log(log(tmp_path, [one], scorers=scorers), rater="gpt")
    assert dict(zip(ratings["criterion"], ratings["rater"], strict=True)) == {
        "match": "match", "f1": "f1", "own": "gpt", "asks": "gpt"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "roles", "grader", "rater"),
    [({"model": "a/b"}, None, "b", "a/b"), ({}, {"grader": {"model": "c/d"}}, "d", "c/d"),
     ({"model_role": "strict"}, {"strict": {"model": "e/f"}}, "f", "e/f"), ({}, None, "gpt-4o-2024", "openai/gpt-4o"),
     ({}, None, "other", "other")],
)  # fmt: skip
def test_who_graded(tmp_path, options, roles, grader, rater):
    grading = [{"content": "Grade it.", "role": "user"}, {"content": "GRADE: C", "model": grader}]
    scores = {"model_graded_qa": {"value": "C", "metadata": {"grading": grading}}}
    path = log(tmp_path, [sample(1) | {"scores": scores}], scorers=[{"name": "model_graded_qa", "options": options}],
               model_roles=roles)  # fmt: skip
    assert calib.read_log(path)[1]["rater"].tolist() == [rater]


@pytest.mark.parametrize("bound", ["options", "role"])
def test_a_panels_verdict_stands_beside_its_votes(tmp_path, bound):
    models = ["a/x", "b/y", "c/z"]
    scores = {"model_graded_qa": {"value": "C", "metadata": {"panel": {"votes": ["C", "I", "C"]}}}}
    spec = {"model_roles": {"grader": [{"model": one} for one in models]}} if bound == "role" else {}
    options = {"model": models} if bound == "options" else {}
    path = log(tmp_path, [sample(1) | {"scores": scores}, sample(2, value=None)],
               scorers=[{"name": "model_graded_qa", "options": options}], **spec)  # fmt: skip
    _, ratings = calib.read_log(path)
    one = ratings[ratings["item"].astype(str).str.startswith("q1")]
    assert dict(zip(one["rater"], one["score"], strict=True)) == {
        "a/x": 1, "b/y": 0, "c/z": 1, "panel of a/x, b/y, c/z": 1
    }  # fmt: skip
    assert ratings["status"].astype(str).value_counts().to_dict() == {"ok": 4, "failed": 4}, "the crash is each rater's"


def test_words_of_a_scorer_are_labels_and_metadata_is_columns(tmp_path):
    one, other = (
        sample(k, value=word, metadata={"topic": t}) for k, word, t in ((1, "good", "law"), (2, "poor", "art"))
    )
    items, ratings = calib.read_log(log(tmp_path, [one, other]), scale={"s": "poor|good"})
    assert ratings["score"].tolist() == [1, 0]
    assert items["topic"].tolist() == ["law", "art"]


# --- files ------------------------------------------------------------------------------------------------------


def eval_log(tmp_path):
    """A packed log of one long sample."""
    whole, path = json.loads(log(tmp_path, [sample(0, text="a" * 5000)]).read_text()), tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        (one,) = whole.pop("samples")
        archive.writestr("header.json", json.dumps(whole))
        archive.writestr("samples/q0.json", json.dumps(one))
    return path


def test_a_sample_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, monkeypatch):
    path = eval_log(tmp_path)
    assert path.stat().st_size < 1000
    assert len(calib.read_log(path)[1]) == 1
    monkeypatch.setattr("calib.adapters.inspect_ai.MOST_BYTES", 4000)
    with pytest.raises(calib.table.TableError, match=r"log.eval: 'samples/q0.json' must unpack to at most .* GB"):
        calib.read_log(path)
