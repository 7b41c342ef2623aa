"""Rows of results: Ragas' frame, MLflow's traces, LangSmith's and Braintrust's evaluations."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, json_lines, json_rows, number_or_nan, score_and_status, text_of, why_missing
from calib.table import TableError, read_frame
from calib.table.files import from_json

_IDS = re.compile(r"|Unnamed: \d+|index|item|(?:.*_)?id", re.IGNORECASE)  # numbers that are no scores
# what is no metric
_TEXTS = {
    "user_input", "response", "reference", "retrieved_contexts", "reference_contexts", "retrieved_context_ids",
    "reference_context_ids", "multi_responses", "rubrics", "rubric", "reference_tool_calls", "reference_topics",
    "persona_name", "query_style", "query_length", "synthesizer_name",
    "", "Unnamed: 0", "index", "id",
}  # fmt: skip

# --- Ragas: the frame of `evaluate(...).to_pandas()` as csv or jsonl; a column for each metric ------------------------


def read_ragas(path: Path) -> Iterator[Row]:
    """One row per metric and sample; a metric that failed left a gap, without a reason."""
    rows = [*json_lines(path)] if path.suffix == ".jsonl" else read_frame(path, texts=_TEXTS).to_dict("records")
    metrics = []
    for name in dict.fromkeys(name for row in rows for name in row):
        if str(name) in _TEXTS or _IDS.fullmatch(str(name)):
            continue
        # a metric holds numbers for the most part, or nothing: where it failed it leaves a gap, or words
        cells = [row.get(str(name)) for row in rows]
        filled = [cell for cell in cells if cell is not None and cell != "" and cell == cell]  # noqa: PLR0124
        n_read = sum(not math.isnan(number_or_nan(cell)) for cell in filled)
        if not filled or 2 * n_read > len(filled):
            metrics.append(name)
        elif n_read:
            message = f"column {str(name)!r} holds {n_read} numbers among words: it is no metric, and left out."
            warnings.warn(f"not_read: {message}", stacklevel=2)
    if rows and not metrics:
        raise TableError(f"{path.name}: has no column of scores beside {', '.join(map(str, rows[0]))}.")
    for row in rows:
        for name in metrics:
            yield Row(
                row, str(name), *score_and_status(row.get(name)), run="ragas", source=text_of(row.get("user_input")),
                output=text_of(row.get("response")), reference=text_of(row.get("reference")),
            )  # fmt: skip


# --- MLflow: traces as JSON with their assessments, or the `eval_results` frame; people's feedback comes along --------


def read_mlflow(path: Path) -> Iterator[Row]:
    """One row per feedback; expectations are references, and feedback that another replaced does not count."""
    for record in json_rows(path):
        info = record.get("info") if isinstance(record, dict) else None
        if info is None and isinstance(record, dict) and "assessments" in record:
            info = record
        if not isinstance(info, dict):
            raise TableError(f"{path.name}: must hold traces of MLflow, with `info.assessments`.")
        feedbacks = [one for one in info.get("assessments") or [] if "feedback" in one and not one.get("expectation")]
        replaced = {one.get("overrides") for one in feedbacks if one.get("overrides")}
        for one in feedbacks:
            if one.get("valid") is False or one.get("assessment_id") in replaced:
                continue
            feedback, source, meta = one["feedback"] or {}, one.get("source") or {}, one.get("metadata") or {}
            error, tags, about = feedback.get("error") or {}, info.get("tags") or {}, info.get("trace_metadata") or {}
            human, judged = (source.get("source_type") == kind for kind in ("HUMAN", "LLM_JUDGE"))
            is_check = source.get("source_type") == "CODE" and not error and feedback.get("value") is not None
            rater = text_of(source.get("source_id")) or ("human" if human else "code" if is_check else None)
            name, run = str(one.get("assessment_name")), meta.get("mlflow.assessment.sourceRunId")
            digest = str(meta.get("mlflow.assessment.scorerDigest") or "").removeprefix("sha256:")
            inputs = about.get("mlflow.traceInputs") or info.get("request_preview") or record.get("request")
            outputs = about.get("mlflow.traceOutputs") or info.get("response_preview") or record.get("response")
            yield Row(
                record if "info" in record else {**record, "info": info}, name,
                *score_and_status(feedback.get("value"), why_missing(error.get("error_message"))),
                item=text_of(info.get("trace_id")), rater=rater if human or judged or is_check else None,
                is_check=is_check, prompt=f"{name}-{digest[:6]}" if digest and not human else "",
                method="human" if human else "sample", run=f"mlflow|{run or about.get('mlflow.sourceRun') or ''}",
                source=_json_or_text(inputs), output=_json_or_text(outputs), reference=text_of(tags.get("reference")),
                reply=text_of(one.get("rationale")),
            )  # fmt: skip


def _json_or_text(text: Any) -> str | None:
    """MLflow keeps inputs and outputs as JSON within a text."""
    if not isinstance(text, str):
        return text_of(text)
    try:
        return text_of(from_json(text))
    except ValueError:
        return text


# --- LangSmith: rows of `evaluate` dumped as JSON, or its frame as csv ------------------------------------------------


def read_langsmith(path: Path) -> Iterator[Row]:
    """One row per key and run; an evaluator that failed left its function's name, and its key is missing."""
    records: list[Any] = []
    for row in read_frame(path).to_dict("records") if path.suffix == ".csv" else ():  # in the form of the JSON
        beside: dict[str, dict[str, Any]] = {}
        for name, value in row.items():
            head, dot, rest = str(name).partition(".")
            if dot:
                beside.setdefault(head, {})[rest] = value
        feedback = [{"key": name, "score": value} for name, value in beside.get("feedback", {}).items()]
        example = {"id": row.get("example_id"), "inputs": beside.get("inputs"), "outputs": beside.get("reference")}
        run = {"outputs": beside.get("outputs")}
        records.append({"run": run, "example": example, "evaluation_results": {"results": feedback}, **row})
    if path.suffix != ".csv":
        records = list(json_rows(path))
    results: list[list[dict[str, Any]]] = []
    for record in records:
        evaluation = record.get("evaluation_results") if isinstance(record, dict) else None
        rows = evaluation.get("results") if isinstance(evaluation, dict) else None
        if not isinstance(rows, list):
            raise TableError(f"{path.name}: must be rows of LangSmith's `evaluate`, with `evaluation_results.results`.")
        results.append(rows)
    names = list(dict.fromkeys(one["key"] for each in results for one in each if _langsmith_score(one) is not None))
    for record, each in zip(records, results, strict=True):
        example, run = record.get("example") or {}, record.get("run") or {}
        meta = example.get("metadata") or {}
        for name in names:
            for one in [one for one in each if one["key"] == name] or [{}]:
                yield Row(
                    record, name, *score_and_status(_langsmith_score(one), "failed"), item=text_of(example.get("id")),
                    system=text_of(meta.get("system")), about=meta, run=f"langsmith|{run.get('session_name') or ''}",
                    source=text_of(example.get("inputs")), output=text_of(run.get("outputs")),
                    reference=text_of(example.get("outputs")), reply=text_of(one.get("comment")),
                )  # fmt: skip


def _langsmith_score(feedback: dict[str, Any]) -> Any:
    """A number, or the word of categorical feedback; None where there is neither, as where an evaluator failed."""
    score, value = feedback.get("score"), feedback.get("value")
    if not math.isnan(number_or_nan(score)):
        return score
    return next((word for word in (score, value) if isinstance(word, str) and word.strip()), None)


# --- Braintrust: the rows of an evaluation's results, `result.results` as JSON ----------------------------------------


def read_braintrust(path: Path) -> Iterator[Row]:
    """One row per scorer and result; a scorer that failed left no trace but that the others' rows have its name."""
    records = list(json_rows(path))
    for record in records:
        if not isinstance(record, dict) or not isinstance(record.get("scores"), dict):
            raise TableError(f"{path.name}: must be rows of results with `scores`, as `Eval(...).results` has them.")
    pairs = [pair for record in records for pair in record["scores"].items()]
    names = list(dict.fromkeys(name for name, value in pairs if value is None or not math.isnan(number_or_nan(value))))
    for record in records:
        meta = record.get("metadata") or {}
        texts = {name: record.get(name) for name in ("input", "output", "expected")}
        texts |= {"item": meta.get("item") or meta.get("id"), "system": meta.get("system")}
        texts = {name: None if value is None else str(value) for name, value in texts.items()}
        for name in names:
            yield Row(
                record, name, *score_and_status(record["scores"].get(name), "failed"),
                item=texts["item"], system=texts["system"], scale="0..1", run="braintrust", about=meta,
                source=texts["input"], output=texts["output"], reference=texts["expected"],
            )  # fmt: skip
