"""Labels that are words, scores off a documented scale, and what the user noted of a sample: columns of the items."""

import json

import pytest

import calib

SCALE = {"quality": "poor|good|excellent"}


def written(tmp_path, whole, name="log.json"):
    path = tmp_path / name
    path.write_text(json.dumps(whole))
    return path


def traces(*values, kind="HUMAN"):
    """Traces of MLflow with one feedback each."""
    source = {"source_type": kind, "source_id": "w"}
    return [
        {"info": {"trace_id": f"t{k}", "request_preview": f"q{k}", "assessments": [
            {"assessment_name": "quality", "feedback": {"value": value}, "source": source}
        ]}}
        for k, value in enumerate(values)
    ]  # fmt: skip


def runs(*feedback):
    """Rows of LangSmith with one result each."""
    return [
        {"run": {"outputs": {"a": str(k)}}, "example": {"id": str(k), "metadata": {"topic": f"t{k}"}},
         "evaluation_results": {"results": [{"key": "quality", **one}]}}
        for k, one in enumerate(feedback)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["HUMAN", "LLM_JUDGE"])
def test_mlflow_words_are_labels_of_the_scale(tmp_path, kind):
    path = written(tmp_path, traces("good", "Excellent ", "poor", 2, kind=kind))
    _, ratings = calib.read_log(path, scale=SCALE)
    assert ratings["score"].tolist() == [1, 2, 0, 2]
    assert set(ratings["scale"]) == {"0|1|2"}


def test_langsmith_words_are_labels_of_the_scale_and_a_failed_one_is_none(tmp_path):
    rows = runs({"value": "good"}, {"score": None, "value": "poor"}, {"score": 2, "value": "excellent"})
    rows += runs({"key": "f", "score": None, "comment": "ValueError", "extra": {"error": True}})
    rows[-1]["example"]["id"] = "3"
    _, ratings = calib.read_log(written(tmp_path, rows), rater="g", scale=SCALE)
    assert set(ratings["criterion"]) == {"quality"}
    assert ratings["score"].tolist()[:3] == [1, 0, 2]
    assert ratings["status"].astype(str).tolist() == ["ok", "ok", "ok", "failed"]


def test_langsmith_words_in_a_csv(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("example_id,inputs.q,outputs.a,feedback.quality\n1,q,a,good\n2,p,b,excellent\n3,r,c,\n")
    _, ratings = calib.read_log(path, rater="g", scale=SCALE)
    assert ratings["score"].tolist()[:2] == [1, 2]
    assert ratings["status"].astype(str).tolist() == ["ok", "ok", "failed"]


@pytest.mark.parametrize("rows", [traces("good", "excellent", "poor"), runs({"value": "good"}, {"value": "poor"})])
def test_words_without_a_scale_are_unread_and_named_with_the_scale_to_type(tmp_path, rows):
    path = written(tmp_path, rows)
    words = r"words_unread: \d rows of 'quality' hold words .*'good'.*: name them worst first, scale={'quality': 'poor|"
    with pytest.warns(UserWarning, match=words.replace("|", r"\|")):
        _, ratings = calib.read_log(path, rater="g")
    assert set(ratings["status"].astype(str)) == {"unread"}


def test_a_word_off_the_scale_is_unread_and_people_are_not_lost_among_the_judges_numbers(tmp_path):
    _, ratings = calib.read_log(written(tmp_path, traces("good", "no idea", "poor")), scale=SCALE)
    assert ratings["status"].astype(str).tolist() == ["ok", "unread", "ok"]
    both = [*traces(1, 2, 2, kind="LLM_JUDGE"), *traces("fine", "fine")]
    for k, one in enumerate(both):
        one["info"]["trace_id"] = f"t{k}"
    with pytest.warns(UserWarning, match="words_unread: 2 rows of 'quality'"):
        calib.read_log(written(tmp_path, both))


def test_yes_is_what_the_scale_says(tmp_path):
    """A judge of harm: yes is the worse."""
    path = written(tmp_path, traces("yes", "no", kind="LLM_JUDGE"))
    assert calib.read_log(path)[1]["score"].tolist() == [1, 0]
    _, ratings = calib.read_log(path, scale="yes=0|no=1")
    assert ratings["score"].tolist() == [0, 1]
    assert set(ratings["scale"]) == {"0|1"}


def test_a_score_outside_the_documented_scale_is_named_and_the_rest_is_read(tmp_path):
    metrics = [[{"name": name, "score": score, "evaluationModel": "g"} for name, score in each] for each in (
        [("rouge", 1.4), ("tone", 0.5)], [("rouge", 0.2), ("tone", 0.7)])]  # fmt: skip
    cases = [{"name": f"c{k}", "input": "q", "actualOutput": "a", "metricsData": one} for k, one in enumerate(metrics)]
    path = written(tmp_path, {"testCases": cases})
    message = r"off_scale: item 'c0' has 1\.4 of 'rouge', outside the scale 0\.\.1 that the tool documents"
    with pytest.warns(UserWarning, match=message):
        _, scores = calib.read_log(path)
    assert scores["score"].tolist() == [1.4, 0.5, 0.2, 0.7]
    assert scores.groupby("criterion")["scale"].first().to_dict() == {"rouge": "", "tone": "0..1"}
    with pytest.raises(ValueError, match=r"`scale` '0\.\.1' must hold each score of 'rouge', but item 'c0' has 1\.4"):
        calib.read_log(path, scale="0..1")
    assert set(calib.read_log(path, scale={"rouge": "0..2"})[1]["scale"]) == {"0..2", "0..1"}


# --- what the user noted of a sample --------------------------------------------------------------------------------


def noted(tmp_path, **meta):
    metrics = [{"name": "tone", "score": 0.5, "evaluationModel": "g"}]
    case = {"name": "c", "input": "q", "actualOutput": "a", "metricsData": metrics, "metadata": meta}
    return written(tmp_path, {"testCases": [case]})


def test_metadata_is_columns_of_the_items(tmp_path):
    meta = {"topic": "law", "difficulty": 3, "hard": True, "tags": ["a"], "_own": 1, "score": 5, "system": "s"}
    items, _ = calib.read_log(noted(tmp_path, **meta))
    assert items[["topic", "difficulty", "hard", "metadata.score", "system"]].to_numpy().tolist() == [
        ["law", 3, True, 5, "s"]
    ]
    assert not {"tags", "_own", "score", "metadata.system"} & set(items)


def test_texts_in_metadata_come_on_request_alone(tmp_path):
    path = noted(tmp_path, topic="law", answer="a long text " * 20)
    assert "answer" not in calib.read_log(path)[0]
    assert calib.read_log(path, texts=True)[0]["answer"].str.startswith("a long text").all()


def test_langsmith_keeps_metadata_of_examples(tmp_path):
    items, _ = calib.read_log(written(tmp_path, runs({"score": 1}, {"score": 0})), rater="g")
    assert items["topic"].tolist() == ["t0", "t1"]
