"""Opik: `evaluate_on_dict_items` dumped as JSON, or `opik export experiment`; both keep expectations alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import json_of, objects_in
from calib.adapters.row import Row, field, number, text_of, why_missing
from calib.table import TableError

STEP = 0.1
_GIVEN_ID = re.compile(r"temp_item_\d+")  # in the order of completion


def sniff(name: str, head: str) -> bool:
    """Whether a file is a result of an evaluation, or an exported experiment."""
    ours = ('"test_results"' in head and '"test_case"' in head) or (
        '"experiment"' in head and '"feedback_scores"' in head
    )
    return name.endswith(".json") and ours


def read(path: Path) -> Iterator[Row]:
    """One row per metric and item; a metric that failed wrote a 0, or nothing."""
    found = json_of(path)
    if isinstance(found, dict) and "test_results" in found:
        results = objects_in(found["test_results"], path, "test_results")
        yield from (row for result in results for row in _rows_of_result(result, path))
    elif isinstance(found, dict) and isinstance(found.get("experiment"), dict):
        yield from _rows_of_export(found, path)
    else:
        raise TableError(f"{path.name}: must be a result of Opik's `evaluate`, or an exported experiment.")


def _rows_of_result(result: dict[str, Any], path: Path) -> Iterator[Row]:
    case = result.get("test_case") or {}
    data = case.get("dataset_item_content") or {}
    trial = result.get("trial_id")
    for score in objects_in(result.get("score_results"), path, "score_results"):
        yield _row(case | {"trial_id": trial}, data, case.get("task_output"), score)._replace(draw=trial)


def _rows_of_export(found: dict[str, Any], path: Path) -> Iterator[Row]:
    """Scores that failed are absent: the others' names tell. A judge and a person may each give one of a name."""
    items, about = objects_in(found.get("items"), path, "items"), found["experiment"]
    given = [objects_in(item.get("feedback_scores"), path, "feedback_scores") for item in items]
    names = list(dict.fromkeys(name for scores in given for name in _judged(scores)))
    for item, scores in zip(items, given, strict=True):
        data, output = item.get("dataset_item_data") or {}, item.get("evaluation_task_output")
        absent = [{"name": name, "value": None} for name in names if name not in _judged(scores)]
        for score in [*scores, *absent]:
            row = _row(item, data, output, score)
            system = row.system or text_of((about.get("metadata") or {}).get("system") or about.get("name"))
            yield row._replace(system=system, run=f"opik|{about.get('id', '')}")


def _judged(scores: list[dict[str, Any]]) -> list[Any]:
    return [score.get("name") for score in scores if score.get("source") != "ui"]


def _row(record: dict[str, Any], data: dict[str, Any], output: Any, score: dict[str, Any]) -> Row:
    value = number(score.get("value"))
    missing = bool(score.get("scoring_failed")) or math.isnan(value)
    told = f"{score.get('reason') or ''} {field(score, 'metadata.error_info.message') or ''}"
    ids = (str(one) for one in (data.get("item"), data.get("id"), record.get("dataset_item_id")) if one)
    source = next((data[name] for name in ("input", "question", "prompt", "source") if name in data), None)
    return Row(
        record,
        str(score.get("name")),
        math.nan if missing else value,
        why_missing(told) if missing else "ok",
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
