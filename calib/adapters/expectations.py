"""DeepEval's `test_run_*.json` and Opik's results: both keep expectations, not the distributions that they are of."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, field, json_of, number, objects_in, text_of, why_missing
from calib.table import TableError

_UNNAMED = re.compile(r"(?:conversational_)?test_case_\d+")
_STEPS = re.compile(r"Evaluation Steps:\s*(\[.*?\])\s*\n", re.DOTALL)
_GIVEN_ID = re.compile(r"temp_item_\d+")  # in the order of completion


def read_deepeval(path: Path) -> Iterator[Row]:
    """One row per metric and test case; repeats are further test cases of the same name."""
    run = json_of(path)
    run = run.get("testRunData", run) if isinstance(run, dict) else run  # as `.latest_test_run.json` has it
    if not isinstance(run, dict) or "testCases" not in run:
        raise TableError(f"{path.name}: must be a test run of DeepEval, with `testCases`.")
    beside = run.get("hyperparameters") or {}
    for kind in ("testCases", "conversationalTestCases"):
        for case in objects_in(run.get(kind), path, kind):
            name, meta = str(case.get("name") or ""), case.get("metadata") or case.get("additionalMetadata") or {}
            for metric in objects_in(case.get("metricsData"), path, "metricsData"):
                score, steps = number(metric.get("score")), _STEPS.search(str(metric.get("verboseLogs") or ""))
                missing = math.isnan(score) or bool(metric.get("error"))
                yield Row(
                    {**case, "hyperparameters": beside},
                    re.sub(r" \[(?:Conversational ?|Arena )?GEval\]$", "", str(metric.get("name"))),
                    math.nan if missing else score,
                    why_missing(metric.get("error")) if missing else "ok",
                    item=None if not name or _UNNAMED.fullmatch(name) else name,
                    system=text_of(meta.get("system") or beside.get("system")),
                    rater=text_of(metric.get("evaluationModel")),
                    # a name of the evaluation steps, which is all that is kept of the prompt; an error has none
                    prompt=f"steps-{hashlib.sha256(steps[1].encode()).hexdigest()[:6]}" if steps else "",
                    method="logprob",
                    scale="0..1",
                    run="deepeval",
                    source=text_of(case.get("input") if "input" in case else case.get("turns")),
                    output=text_of(case.get("actualOutput") if "actualOutput" in case else case.get("turns")),
                    reference=text_of(case.get("expectedOutput") or case.get("expectedOutcome")),
                    reply=text_of(metric.get("reason")),
                )


# --- Opik: `evaluate_on_dict_items` dumped as JSON, or `opik export experiment` ---------------------------------------


def is_opik(name: str, head: str) -> bool:
    """Whether a file is a result of an evaluation, or an exported experiment."""
    is_result = '"test_results"' in head and '"test_case"' in head
    return name.endswith(".json") and (is_result or ('"experiment"' in head and '"feedback_scores"' in head))


def read_opik(path: Path) -> Iterator[Row]:
    """One row per metric and item; a metric that failed wrote a 0, or nothing."""
    held = json_of(path)
    if isinstance(held, dict) and "test_results" in held:
        for result in objects_in(held["test_results"], path, "test_results"):
            case, trial = result.get("test_case") or {}, result.get("trial_id")
            data = case.get("dataset_item_content") or {}
            for score in objects_in(result.get("score_results"), path, "score_results"):
                row = _opik_row(case | {"trial_id": trial}, data, case.get("task_output"), score)
                yield row._replace(draw=trial)
        return
    if not isinstance(held, dict) or not isinstance(held.get("experiment"), dict):
        raise TableError(f"{path.name}: must be a result of Opik's `evaluate`, or an exported experiment.")
    items, about = objects_in(held.get("items"), path, "items"), held["experiment"]
    by_item = [objects_in(item.get("feedback_scores"), path, "feedback_scores") for item in items]
    # scores that failed are absent: the others' names tell; a judge and a person may each give one of a name
    judged = [[score.get("name") for score in scores if score.get("source") != "ui"] for scores in by_item]
    names = dict.fromkeys(name for present in judged for name in present)
    for item, scores, present in zip(items, by_item, judged, strict=True):
        data, output = item.get("dataset_item_data") or {}, item.get("evaluation_task_output")
        absent = [{"name": name, "value": None} for name in names if name not in present]
        for score in [*scores, *absent]:
            row = _opik_row(item, data, output, score)
            system = row.system or text_of((about.get("metadata") or {}).get("system") or about.get("name"))
            yield row._replace(system=system, run=f"opik|{about.get('id', '')}")


def _opik_row(record: dict[str, Any], data: dict[str, Any], output: Any, score: dict[str, Any]) -> Row:
    value = number(score.get("value"))
    missing = bool(score.get("scoring_failed")) or math.isnan(value)
    reasons = f"{score.get('reason') or ''} {field(score, 'metadata.error_info.message') or ''}"
    ids = (str(one) for one in (data.get("item"), data.get("id"), record.get("dataset_item_id")) if one)
    source = next((data[name] for name in ("input", "question", "prompt", "source") if name in data), None)
    return Row(
        record,
        str(score.get("name")),
        math.nan if missing else value,
        why_missing(reasons) if missing else "ok",
        item=next((one for one in ids if not _GIVEN_ID.fullmatch(one)), None),
        system=text_of(data.get("system")),
        method="human" if score.get("source") == "ui" else "logprob",
        rater=text_of(score.get("created_by")) if score.get("source") == "ui" else None,
        scale="0..1",
        run="opik",
        source=text_of(source),
        output=text_of(output.get("output", output) if isinstance(output, dict) else output),
        reference=text_of(data.get("reference") or data.get("expected_output")),
        reply=text_of(score.get("reason")),
    )
