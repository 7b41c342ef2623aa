"""LangSmith: rows of `evaluate` dumped as JSON, or its frame as csv."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import rows_of
from calib.adapters.row import Row, number, text_of
from calib.table import TableError, read_frame


def sniff(name: str, head: str) -> bool:
    """Whether a file holds rows of an evaluation."""
    if name.endswith(".csv"):
        first = head.partition("\n")[0]
        return "feedback." in first and "example_id" in first
    return name.endswith((".json", ".jsonl")) and '"evaluation_results"' in head


def read(path: Path) -> Iterator[Row]:
    """One row per key and run; an evaluator that failed left its function's name, and its key is missing."""
    records = (
        [_of_frame(row) for row in read_frame(path).to_dict("records")] if path.suffix == ".csv" else [*rows_of(path)]
    )
    found = [(record, _results(record, path)) for record in records]
    names = list(dict.fromkeys(one["key"] for _, results in found for one in results if _score(one) is not None))
    for record, results in found:
        for name in names:
            for one in [one for one in results if one["key"] == name] or [{}]:
                yield _row(record, name, one)


def _results(record: Any, path: Path) -> list[dict[str, Any]]:
    held = record.get("evaluation_results") if isinstance(record, dict) else None
    results = held.get("results") if isinstance(held, dict) else None
    if not isinstance(results, list):
        raise TableError(f"{path.name}: must be rows of LangSmith's `evaluate`, with `evaluation_results.results`.")
    return results


def _score(one: dict[str, Any]) -> float | None:
    value = number(one.get("score"))
    return None if math.isnan(value) else value


def _row(record: dict[str, Any], name: str, one: dict[str, Any]) -> Row:
    value, example, run = _score(one), record.get("example") or {}, record.get("run") or {}
    meta = example.get("metadata") or {}
    return Row(
        record,
        name,
        math.nan if value is None else value,
        "failed" if value is None else "ok",
        item=text_of(example.get("id")),
        system=text_of(meta.get("system")),
        run=f"langsmith|{run.get('session_name') or ''}",
        source=text_of(example.get("inputs")),
        output=text_of(run.get("outputs")),
        reference=text_of(example.get("outputs")),
        reply=text_of(one.get("comment")),
    )


def _of_frame(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the frame, as the JSON has it."""
    beside: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        head, dot, rest = str(name).partition(".")
        if dot:
            beside.setdefault(head, {})[rest] = value
    results = [{"key": name, "score": value} for name, value in beside.get("feedback", {}).items()]
    example = {"id": row.get("example_id"), "inputs": beside.get("inputs"), "outputs": beside.get("reference")}
    return {
        "run": {"outputs": beside.get("outputs")},
        "example": example,
        "evaluation_results": {"results": results},
        **row,
    }
