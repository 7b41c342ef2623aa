"""Opik: `evaluate_on_dict_items` dumped as JSON, or `opik export experiment`; both keep expectations alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.logs import json_of
from calib.adapters.row import Row, number, text_of, why_missing
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
        yield from (row for result in found["test_results"] for row in _rows_of_result(result))
    elif isinstance(found, dict) and "experiment" in found:
        yield from _rows_of_export(found)
    else:
        raise TableError(f"{path.name}: must be a result of Opik's `evaluate`, or an exported experiment.")


def _rows_of_result(result: dict[str, Any]) -> Iterator[Row]:
    case = result.get("test_case") or {}
    data = case.get("dataset_item_content") or {}
    output = (case.get("task_output") or {}).get("output", case.get("task_output"))
    for score in result.get("score_results") or []:
        yield _row(case | {"trial_id": result.get("trial_id")}, data, output, score)._replace(
            draw=result.get("trial_id")
        )


def _rows_of_export(found: dict[str, Any]) -> Iterator[Row]:
    """Scores that failed are absent: the others' names tell."""
    items = found.get("items") or []
    held = [score for item in items for score in item.get("feedback_scores") or []]
    names = list(dict.fromkeys(score["name"] for score in held))
    by_judge = {score["name"] for score in held if score.get("source") != "ui"}
    about = found["experiment"]
    for item in items:
        output = (item.get("evaluation_task_output") or {}).get("output")
        data = item.get("dataset_item_data") or {}
        for name in names:
            missing = {"name": name, "value": None, "reason": "no score was exported"}
            scores = [score for score in item.get("feedback_scores") or [] if score["name"] == name]
            judged = [score for score in scores if score.get("source") != "ui"]
            for score in [*scores, *([] if judged or name not in by_judge else [missing])]:
                row = _row(item, data, output, score)
                system = row.system or text_of((about.get("metadata") or {}).get("system") or about.get("name"))
                yield row._replace(system=system, run=f"opik|{about.get('id', '')}")


def _row(record: dict[str, Any], data: dict[str, Any], output: Any, score: dict[str, Any]) -> Row:
    value = number(score.get("value"))
    missing = bool(score.get("scoring_failed")) or math.isnan(value)
    meta = score.get("metadata") or {}
    told = f"{score.get('reason') or ''} {(meta.get('error_info') or {}).get('message', '')}"
    known = str(data.get("item") or data.get("id") or record.get("dataset_item_id") or "")
    source = next((data[name] for name in ("input", "question", "prompt", "source") if name in data), None)
    return Row(
        record,
        str(score.get("name")),
        math.nan if missing else value,
        why_missing(told) if missing else "ok",
        item=None if not known or _GIVEN_ID.fullmatch(known) else known,
        system=text_of(data.get("system")),
        method="human" if score.get("source") == "ui" else "logprob",
        rater=text_of(score.get("created_by")) if score.get("source") == "ui" else None,
        scale="0..1",
        run="opik",
        source=text_of(source),
        output=text_of(output),
        reference=text_of(data.get("reference") or data.get("expected_output")),
        reply=text_of(score.get("reason")),
    )
