"""MLflow: traces as JSON with their assessments, or the `eval_results` frame; people's feedback comes along."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import rows_of
from calib.adapters.row import Row, number, text_of, why_missing
from calib.table import TableError


def sniff(name: str, head: str) -> bool:
    """Whether a file holds traces with assessments."""
    return name.endswith((".json", ".jsonl")) and '"assessments"' in head and ("trace_id" in head)


def read(path: Path) -> Iterator[Row]:
    """One row per feedback; expectations are references, and feedback that another replaced does not count."""
    for record in rows_of(path):
        info = record.get("info") if isinstance(record, dict) else None
        if info is None and isinstance(record, dict) and "assessments" in record:
            info = record
        if not isinstance(info, dict):
            raise TableError(f"{path.name}: must hold traces of MLflow, with `info.assessments`.")
        found = [one for one in info.get("assessments") or [] if "feedback" in one]
        replaced = {one.get("overrides") for one in found if one.get("overrides")}
        for one in found:
            if one.get("valid") is not False and one.get("assessment_id") not in replaced:
                yield _row(record, info, one)


def _row(record: dict[str, Any], info: dict[str, Any], one: dict[str, Any]) -> Row:
    feedback, source, meta = one["feedback"] or {}, one.get("source") or {}, one.get("metadata") or {}
    error, value = feedback.get("error") or {}, number(feedback.get("value"))
    missing, tags = math.isnan(value), info.get("tags") or {}
    about = info.get("trace_metadata") or {}
    human = source.get("source_type") == "HUMAN"
    digest = str(meta.get("mlflow.assessment.scorerDigest") or "").removeprefix("sha256:")
    return Row(
        record if "info" in record else {**record, "info": info},
        str(one.get("assessment_name")),
        value,
        why_missing(error.get("error_message")) if missing else "ok",
        item=text_of(info.get("trace_id")),
        rater=text_of(source.get("source_id")) or ("human" if human else None)
        if human or source.get("source_type") == "LLM_JUDGE"
        else None,
        prompt=f"{one.get('assessment_name')}-{digest[:6]}" if digest and not human else "",
        method="human" if human else "sample",
        run=f"mlflow|{meta.get('mlflow.assessment.sourceRunId') or about.get('mlflow.sourceRun') or ''}",
        source=_plain(about.get("mlflow.traceInputs") or info.get("request_preview") or record.get("request")),
        output=_plain(about.get("mlflow.traceOutputs") or info.get("response_preview") or record.get("response")),
        reference=text_of(tags.get("reference")),
        reply=text_of(one.get("rationale")),
    )


def _plain(text: Any) -> str | None:
    """MLflow keeps inputs and outputs as JSON within a text."""
    if not isinstance(text, str):
        return text_of(text)
    try:
        return text_of(json.loads(text))
    except ValueError:
        return text
