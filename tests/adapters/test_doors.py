"""Logs of Langfuse, Phoenix and OpenTelemetry, and frames: as the tools wrote them, and as none should be."""

import csv
import json
import math
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import calib
from calib.cli import main
from calib.table import TableError

LOGS = Path(__file__).parent / "logs"
WORDS = {"tone": "poor|fair|good"}
EXPERIMENTS = [LOGS / "langfuse" / f"experiment_{name}.json" for name in ("alpha", "beta")]
OTEL = LOGS / "opentelemetry"


def read(*args, **said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calib.read_log(*args, **said)


def cells(ratings):
    """Per criterion, rater and method: how many rows, how many of them were read, and their mean."""
    by = ratings.groupby(["criterion", "rater", "method"], observed=True)["score"]
    return {key: (len(rows), rows.count(), round(rows.mean(), 4)) for key, rows in by}


def annotations():
    """The frame that `get_span_annotations_dataframe` makes of what the API answers."""
    rows = pd.DataFrame(json.loads((LOGS / "phoenix" / "annotations.json").read_text())["data"])
    result = pd.json_normalize(rows["result"]).add_prefix("result.")
    rows = pd.concat([rows.drop(columns="result"), result], axis=1).rename(columns={"name": "annotation_name"})
    return rows.set_index("span_id")


def spans():
    return pd.read_json(LOGS / "phoenix" / "spans.jsonl", lines=True).set_index("context.span_id").drop(columns="name")


# --- as the tools wrote them ------------------------------------------------------------------------------------------


JUDGED = {("correctness", "gpt-4o", "sample"): (26, 25, 3.12), ("tone", "gpt-4o", "sample"): (24, 24, 0.9583)}
LABELS = {("correctness", who, "human"): (24, 24, mean) for who, mean in (("ann", 3.875), ("ben", 2.75))}
SIGNED = {(name, f"user-{who}", how): cell for (name, who, how), cell in LABELS.items()}
CASES = {
    "langfuse, experiments": (EXPERIMENTS, "gpt-4o", SIGNED | {("cites", "api", "sample"): (24, 24, 0.4583)}),
    "phoenix, as the API answers": (
        LOGS / "phoenix" / "annotations.json", None, LABELS | {("cites", "code", "sample"): (24, 24, 0.4583)},
    ),
    "opentelemetry, log records": (OTEL / "evaluations.jsonl", "attributes.helpdesk.judge", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_counts_and_means(name):
    log, rater, beside = CASES[name]
    items, ratings = read(log, rater=rater, scale=WORDS)
    assert len(items) == 24
    assert cells(ratings) == JUDGED | beside
    assert set(ratings.loc[ratings["criterion"] == "tone", "scale"]) == {"0|1|2"}
    twice = ratings[(ratings["criterion"] == "correctness") & (ratings["method"] == "sample") & (ratings["draw"] == 1)]
    assert len(twice) == 2, "what was judged twice has two draws"


def test_langfuse_has_items_systems_and_texts_of_experiments():
    items, ratings = read(EXPERIMENTS, rater="gpt-4o", texts=True)
    assert items["system"].value_counts().to_dict() == {"alpha": 12, "beta": 12}
    assert items["group"].nunique() == 12
    assert items.set_index("item").loc["q01-beta", "source"] == "What makes tides?"
    missing = ratings[ratings["score"].isna() & (ratings["criterion"] == "correctness")]
    assert missing[["item", "status", "method"]].to_numpy().tolist() == [["q05-beta", "unread", "sample"]]


def test_langfuse_scores_are_of_observations_and_their_categories_have_numbers():
    with pytest.warns(UserWarning) as said:
        items, ratings = calib.read_log(LOGS / "langfuse" / "scores.json", rater="gpt-4o")
    starts = [str(one.message).partition(":")[0] for one in said]
    assert starts == ["not_read", "not_judged"]
    assert "4 texts, corrections" in str(said[0].message)
    judged = JUDGED | {("correctness", "gpt-4o", "sample"): (25, 25, 3.12)}
    assert cells(ratings) == judged | SIGNED | {("cites", "api", "sample"): (24, 24, 0.4583)}
    assert items["item"].tolist() == items["group"].tolist(), "one observation of each trace was scored"
    worst_last = read(LOGS / "langfuse" / "scores.json", rater="g", scale={"tone": "good|fair|poor"})[1]
    assert worst_last.loc[worst_last["criterion"] == "tone", "score"].mean() == pytest.approx(2 - 0.9583, abs=1e-4)


def test_phoenix_annotations_with_their_spans():
    items, ratings = read(annotations().join(spans()), system="attributes.llm.model_name", scale=WORDS)
    assert items["system"].value_counts().to_dict() == {"alpha": 12, "beta": 12}
    assert items["group"].nunique() == 12
    assert set(ratings["rater"]) == {"gpt-4o", "code", "ann", "ben"}


def test_opentelemetry_spans_beside_the_records_and_events_on_spans():
    items, ratings = read(OTEL / "evaluations.jsonl", rater="gpt-4o", scale=WORDS, texts=True)
    assert set(items["system"]) == {"alpha-1", "beta-1"}
    assert items["output"].str.contains("come from").all()
    assert ratings.loc[ratings["status"] == "failed", "criterion"].tolist() == ["correctness"]
    items, ratings = read(OTEL / "events" / "spans.jsonl", rater="gpt-4o", scale=WORDS)
    assert (len(items), len(ratings)) == (6, 14)


def test_a_frame_of_mlflow_with_people_a_judge_and_a_check():
    frame = pd.read_json(LOGS / "mlflow" / "search_traces.jsonl", lines=True)
    items, ratings = read(frame, item="tags.item", system="tags.system", rater="gpt-4o", scale=WORDS)
    assert len(items) == 24
    assert set(cells(ratings)) == {*JUDGED, *LABELS, ("cites", "cites", "sample")}


def test_an_expectation_of_mlflow_is_no_feedback_where_arrow_gave_it_that_field():
    source = {"source_type": "LLM_JUDGE", "source_id": "gpt-4o"}
    kinds = [{"feedback": {"value": 4.0}, "expectation": None}, {"feedback": None, "expectation": {"value": 5.0}}]
    held = [{"assessment_name": "tone", "source": source, **kind} for kind in kinds]
    frame = pl.DataFrame({"trace_id": ["t1"], "assessments": [held]})
    assert read(frame.lazy())[1]["score"].tolist() == [4]


@pytest.mark.parametrize("lazy", [False, True])
def test_frames_of_polars(lazy):
    frame = pl.from_pandas(annotations().drop(columns="metadata").reset_index())
    assert cells(read(frame.lazy() if lazy else frame, rater="gpt-4o", scale=WORDS)[1]) == cells(
        read(annotations(), scale=WORDS)[1]
    )


def test_tables_with_a_column_for_each_metric(tmp_path):
    table = pd.DataFrame(
        {
            "prompt": ["Why?", "How?"], "response": ["So.", "Thus."], "coherence/score": [4.0, None],
            "coherence/explanation": ["Clear.", "Error code: 500"], "rouge_1/score": [0.5, 0.25],
            "response/llm_judged/safety/rating": ["yes", None],
            "response/llm_judged/safety/error_message": [None, "BAD"],
        }
    )  # fmt: skip
    table.to_csv(tmp_path / "table.csv", index=False)
    for log in (table, tmp_path / "table.csv", pl.from_pandas(table)):
        with pytest.warns(UserWarning, match="not_judged: rouge_1 have no column of reasons"):
            _, ratings = calib.read_log(log, rater="gemini")
        assert ratings.groupby("criterion", observed=True)["rater"].first().to_dict() == {
            "coherence": "gemini", "rouge_1": "rouge_1", "safety": "gemini",
        }  # fmt: skip
        assert ratings["status"].astype(str).tolist() == ["ok", "ok", "ok", "failed", "ok", "failed"]


def test_from_a_log_with_people_to_interval_and_gate():
    items, ratings = read(EXPERIMENTS, rater="gpt-4o", scale={"correctness": "1|2|3|4|5"})
    ratings = ratings[ratings["criterion"] == "correctness"]
    human = ratings["method"] == "human"
    scores = calib.summarize(ratings[~human], items)
    means = calib.interval(scores, ratings[human], by="system")
    assert [one["system"] for one in means.labels] == ["alpha", "beta"]
    assert str(calib.gate(scores, ratings[human], system="alpha", threshold=2)).startswith("pass")


def exit_code(words):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code or 0


def test_in_a_shell_labels_of_people_go_to_a_file_of_their_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scales = ["--scale", "tone=poor|fair|good", "--scale", "correctness=1|2|3|4|5"]
    line = [str(LOGS / "phoenix" / "annotations.json"), *scales, "--out", "ratings.csv", "--labels", "people.csv"]
    assert exit_code(["read-log", *line]) == 0
    assert set(pd.read_csv("people.csv")["rater"]) == {"ann", "ben"}
    assert set(pd.read_csv("ratings.csv")["rater"]) == {"gpt-4o", "code"}
    assert exit_code(["interval", "ratings.csv", "people.csv"]) == 0
    assert (
        exit_code(["read-log", str(OTEL / "evaluations.jsonl"), *scales, "--rater", "g", "--labels", "none.csv"]) != 0
    )
    assert "the log has no labels" in capsys.readouterr().err
    assert not Path("none.csv").exists()


# --- as none should be ------------------------------------------------------------------------------------------------


def score(**changes):
    whole = {"id": None, "name": "tone", "source": "EVAL", "dataType": "NUMERIC", "value": 1.0, "traceId": "t1"}
    return {name: cell for name, cell in (whole | changes).items() if cell != "absent"}


def annotation(**changes):
    whole = {"name": "tone", "annotator_kind": "LLM", "span_id": "s1", "result": {"score": 1.0}}
    return {name: cell for name, cell in (whole | changes).items() if cell != "absent"}


def attribute(name, value):
    kinds = {str: "stringValue", float: "doubleValue", bool: "boolValue", int: "intValue"}
    return {"key": name, "value": {kinds[type(value)]: str(value) if isinstance(value, int) else value}}


def event(*, name="tone", span="a1", trace="b1", also=(), **changes):
    held = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": 1.0}
    held |= {f"gen_ai.evaluation.{key.replace('_', '.')}": value for key, value in changes.items()}
    pairs = [attribute(key, value) for key, value in held.items() if value is not None]
    record = {"eventName": "gen_ai.evaluation.result", "spanId": span, "traceId": trace, "attributes": [*pairs, *also]}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


def refused(tmp_path, rows, *parts, tool, **said):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(rows) if tool != "opentelemetry" else "\n".join(map(json.dumps, rows)))
    path = path.rename(tmp_path / "log.jsonl") if tool == "opentelemetry" else path
    with pytest.raises(ValueError) as caught:
        read(path, tool=tool, **({"rater": "g"} | said))
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ([score(name="absent")], ("score 1: `name` must be a text, but is not there",)),
        ([score(), score(name=3)], ("score 2: `name` must be a text, but is '3'",)),
        ([score(source="absent")], ("`source` must be one of API, EVAL, ANNOTATION",)),
        ([score(source="HUMAN")], ("`source` must be one of", "but is 'HUMAN'")),
        ([score(dataType="JSON")], ("`dataType` must be one of",)),
        ([score(traceId="absent")], ("`observationId`, `traceId` or `sessionId` must be there",)),
        ([score(subject=3)], ("`subject` must be an object",)),
        ([score(subject={"kind": "user", "id": "u"})], ("`kind` must be one of trace, observation",)),
        ([score(subject={"kind": "trace"})], ("`subject`: `id` must be a text",)),
        ([score(id="x"), score(id="x", traceId="t2")], ("log.json: the score with the id 'x' is there twice",)),
        ([score(observationId="o"), score(observationId="o", traceId="t2")], ("`item`", "'o' is of two traces")),
        ([{"scores": 3, "dataType": "", "source": ""}], ("`scores` must be a list of objects",)),
        ([3], ("`data` must be a list of objects",)),
        ([], ("the log holds no scores",)),
    ],
)
def test_broken_logs_of_langfuse(tmp_path, rows, parts):
    refused(tmp_path, rows, *parts, tool="langfuse")


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ([annotation(name="absent")], ("annotation 1: `annotation_name` or `name` must be a text",)),
        ([annotation(annotator_kind="ROBOT")], ("`annotator_kind` must be one of HUMAN, LLM, CODE",)),
        ([annotation(span_id="absent")], ("`span_id`", "must be a text, but is not there")),
        ([annotation(span_id=7)], ("`span_id` must be a text, but is '7'",)),
        ([annotation(id="x"), annotation(id="x")], ("'x' is there twice",)),
        ([annotation(), 3], ("must be a list of objects",)),
    ],
)
def test_broken_logs_of_phoenix(tmp_path, rows, parts):
    refused(tmp_path, rows, *parts, tool="phoenix")


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ([event(name=None)], ("evaluation 1: `gen_ai.evaluation.name` must be a text",)),
        ([event(name=3)], ("`gen_ai.evaluation.name` must be a text, but is '3",)),
        ([event(span="")], ("`spanId` or `gen_ai.response.id` must be there",)),
        ([event(span="0" * 16)], ("`spanId` or `gen_ai.response.id` must be there",)),
        ([event(also=[attribute("a", 1), attribute("a", 2)])], ("the attribute `a` is there twice",)),
        ([{"resourceLogs": 3}], ("`resourceLogs` must be a list of objects",)),
        ([{"resourceLogs": [{"scopeLogs": [{"logRecords": [3]}]}]}], ("`logRecords` must be a list of objects",)),
        ([{"resourceLogs": [{"resource": 3}]}], ("`resource` must be a list of objects",)),
        ([{"resourceLogs": []}], ("the log holds no scores",)),
    ],
)
def test_broken_logs_of_opentelemetry(tmp_path, rows, parts):
    refused(tmp_path, rows, *parts, tool="opentelemetry")


def test_a_response_id_of_two_spans_is_refused(tmp_path):
    held = [{"spanId": f"c{k}", "traceId": "t", "attributes": [attribute("gen_ai.response.id", "r1")]} for k in (1, 2)]
    rows = [{"resourceSpans": [{"scopeSpans": [{"spans": held}]}]}]
    rows.append(event(span="", also=[attribute("gen_ai.response.id", "r1")]))
    refused(tmp_path, rows, "`gen_ai.response.id` 'r1' is that of 2 spans", tool="opentelemetry")


@pytest.mark.parametrize("tool", ["langfuse", "phoenix", "opentelemetry"])
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('[{"name": "a", "name": "b"}]', "the key `name` is there twice in one object"),
        ('[{"name": ', "must be whole JSON"),
        ("[" * 100_000, "must be whole JSON"),
        ("7", "must be a list of objects"),
    ],
)
def test_files_that_are_none(tmp_path, tool, text, part):
    for name in ("log.json", "log.jsonl"):
        (tmp_path / name).write_text(text)
        with pytest.raises(TableError, match=part):
            calib.read_log(tmp_path / name, tool=tool, rater="g")


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "high", "", [], {"a": 1}, True])
def test_a_value_that_is_no_number_is_unread(tmp_path, value):
    logs = {
        "langfuse": [score(value=value), score(traceId="t2")],
        "phoenix": [annotation(result={"score": value}), annotation(span_id="s2")],
    }
    for tool, rows in logs.items():
        (tmp_path / "log.json").write_text(json.dumps(rows))
        _, ratings = read(tmp_path / "log.json", tool=tool, rater="g")
        assert ratings["status"].astype(str).tolist() == ["unread", "ok"]
        assert ratings["score"].isna().tolist() == [True, False]


def test_numbers_of_opentelemetry(tmp_path):
    rows = [event(score_value=4), event(score_value=float("nan"), trace="b2", span="a2"), event(score_value="x")]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read(tmp_path / "log.jsonl", rater="g")[1]["score"].fillna(-1).tolist() == [4, -1, -1]


def test_whole_numbers_of_opentelemetry_are_ids_without_a_point(tmp_path):
    rows = [event(also=[attribute("case", 7)])]
    (tmp_path / "log.jsonl").write_text(json.dumps(rows[0]))
    assert read(tmp_path / "log.jsonl", rater="g", item="attributes.case")[0]["item"].tolist() == ["7"]


def langfuse(tmp_path, rows, **said):
    (tmp_path / "scores.json").write_text(json.dumps(rows))
    return calib.read_log(tmp_path / "scores.json", tool="langfuse", rater="g", **said)


def test_a_category_without_a_configuration_is_no_zero(tmp_path):
    rows = [
        score(dataType="CATEGORICAL", value=0.0, stringValue=word, traceId=f"t{k}")
        for k, word in enumerate(["good", "poor", "good"])
    ]
    with pytest.warns(
        UserWarning, match=r"words_unread: 3 rows of 'tone' hold words .* scale={'tone': 'poor\|fair\|good'}"
    ):
        _, ratings = langfuse(tmp_path, rows)
    assert ratings["score"].isna().all()
    _, ratings = langfuse(tmp_path, rows, scale="Poor|fair|Good")
    assert ratings["score"].tolist() == [2, 0, 2]
    _, ratings = read(tmp_path / "scores.json", rater="g", scale="poor|fair")
    assert ratings["status"].astype(str).tolist() == ["unread", "ok", "unread"]


def test_a_category_with_a_configuration_has_its_number(tmp_path):
    rows = [score(dataType="CATEGORICAL", value=2.0, stringValue="good", configId="c")]
    assert langfuse(tmp_path, rows)[1]["score"].tolist() == [2]


def test_booleans_are_0_and_1_or_unread(tmp_path):
    values = [True, 0.0, "True", 3, None]
    _, ratings = read_rows(
        tmp_path, [score(dataType="BOOLEAN", value=v, traceId=f"t{k}") for k, v in enumerate(values)]
    )
    assert ratings["score"].fillna(-1).tolist() == [1, 0, 1, -1, -1]


def read_rows(tmp_path, rows, **said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return langfuse(tmp_path, rows, **said)


def test_annotations_are_labels_whatever_rater_says_and_unsigned_ones_are_named(tmp_path):
    rows = [score(), score(source="ANNOTATION", value=2.0), score(source="ANNOTATION", authorUserId="u7")]
    with pytest.warns(UserWarning, match="unsigned: 1 annotations name no author"):
        _, ratings = langfuse(tmp_path, rows)
    assert ratings[["rater", "method"]].to_numpy().tolist() == [["g", "sample"], ["human", "human"], ["u7", "human"]]


def test_several_observations_of_a_trace_are_items_of_one_group(tmp_path):
    rows = [score(observationId=f"o{k}") for k in range(3)] + [score(traceId="t2")]
    with pytest.warns(UserWarning, match="subjects_differ: 'tone' has scores of observations and of traces"):
        items, _ = langfuse(tmp_path, rows)
    assert items["item"].tolist() == ["o0", "o1", "o2", "t2"]
    assert items["group"].tolist() == ["t1", "t1", "t1", "t2"]
    items, ratings = read_rows(tmp_path, rows, item="traceId")
    assert items["item"].tolist() == ["t1", "t2"]
    assert ratings["draw"].tolist() == [0, 1, 2, 0]


def test_sessions_are_items_and_whole_experiments_are_none(tmp_path):
    rows = [
        score(traceId=None, sessionId="chat"),
        score(subject={"kind": "session", "id": "talk"}),
        score(traceId=None, datasetRunId="run"),
    ]
    with pytest.warns(UserWarning, match="not_read: 1 texts, corrections, or scores of whole experiments"):
        items, ratings = langfuse(tmp_path, rows)
    assert items["item"].tolist() == ["chat", "talk"]
    assert len(ratings) == 2


def test_one_score_in_two_exports_is_refused(tmp_path):
    for name in ("monday.json", "tuesday.json"):
        (tmp_path / name).write_text(json.dumps([score(id="x"), score(id=name, traceId=name)]))
    with pytest.raises(TableError, match=r"monday\.json and tuesday\.json: the score with the id 'x' is there twice"):
        calib.read_log([tmp_path / "monday.json", tmp_path / "tuesday.json"], rater="g")


def test_names_as_the_export_to_a_bucket_has_them_and_as_csv(tmp_path):
    rows = [
        {"id": f"x{k}", "name": "tone", "source": "EVAL", "data_type": "CATEGORICAL", "string_value": word, "value": v,
         "trace_id": f"t{k}", "comment": "fine"}
        for k, (word, v) in enumerate([("poor", 0.0), ("good", 2.0), ("fair", 1.0)])
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    for name in ("rows.jsonl", "rows.csv"):
        _, ratings = calib.read_log(tmp_path / name, rater="g")
        assert ratings[["item", "score"]].to_numpy().tolist() == [["t0", 0], ["t1", 2], ["t2", 1]]


def test_a_word_beside_a_number_counts_where_the_scale_names_it(tmp_path):
    rows = [
        annotation(span_id=f"s{k}", result={"score": 0.0, "label": word}) for k, word in enumerate(["poor", "good"])
    ]
    (tmp_path / "log.json").write_text(json.dumps({"data": rows}))
    assert read(tmp_path / "log.json", rater="g")[1]["score"].tolist() == [0, 0]
    assert read(tmp_path / "log.json", rater="g", scale=WORDS)[1]["score"].tolist() == [0, 2]


def test_ids_of_digits_alone_stay_texts(tmp_path):
    (tmp_path / "log.csv").write_text("span_id,annotation_name,annotator_kind,score\n0012,tone,LLM,3\n")
    assert read(tmp_path / "log.csv", rater="g")[0]["item"].tolist() == ["0012"]


def test_documents_of_a_span_are_items_of_its_group(tmp_path):
    rows = [annotation(document_position=k) for k in (0, 1)]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    items, _ = read(tmp_path / "log.json", rater="g")
    assert items.to_dict("list") == {"item": ["s1:0", "s1:1"], "group": ["s1", "s1"]}


def test_what_judged_must_be_named_and_people_and_checks_keep_their_names(tmp_path):
    rows = [annotation(), annotation(annotator_kind="HUMAN"), annotation(annotator_kind="CODE", name="cites")]
    rows.append(annotation(annotator_kind="AGENT", identifier="triage"))
    (tmp_path / "log.json").write_text(json.dumps(rows))
    with pytest.raises(ValueError, match="`rater` must be given: the judge's name"):
        calib.read_log(tmp_path / "log.json")
    _, ratings = read(tmp_path / "log.json", rater="gpt-4o")
    assert ratings["rater"].tolist() == ["gpt-4o", "human", "code", "triage"]


@pytest.mark.parametrize(
    ("thing", "part"),
    [
        (pd.DataFrame({"a": [1]}), "`tool` must say whose log it is"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column `a` must be there once"),
        (annotations().assign(metadata=[{("a", 1): 2}] * 122), "the frame: a row is not to be written as JSON"),
        (3, "`path` must be a path, several paths, or one frame .* but got int"),
        ([annotations()], "`path` must be a path, several paths, or one frame"),
    ],
)
def test_what_is_no_log(thing, part):
    with pytest.raises(ValueError, match=part):
        calib.read_log(thing)
