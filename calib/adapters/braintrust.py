"""Braintrust: the rows of an evaluation's results, `result.results` as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import rows_of
from calib.adapters.row import Row, number
from calib.table import TableError


def sniff(name: str, head: str) -> bool:
    """Whether a file holds rows of results, or the summary that the command line prints."""
    ours = all(f'"{key}"' in head for key in ("input", "output", "expected", "scores"))
    return name.endswith((".json", ".jsonl")) and ours and '"evaluation_results"' not in head


def read(path: Path) -> Iterator[Row]:
    """One row per scorer and result; a scorer that failed left no trace but that the others' rows have its name."""
    records = list(rows_of(path))
    held = [(name, value) for record in records for name, value in _scores(record, path).items()]
    names = list(dict.fromkeys(name for name, value in held if value is None or number(value) == number(value)))
    for record in records:
        scores, meta = _scores(record, path), record.get("metadata") or {}
        for name in names:
            value = number(scores.get(name))
            yield Row(
                record, name, value, "ok" if value == value else "failed",  # noqa: PLR0124
                item=_text(meta.get("item") or meta.get("id")), system=_text(meta.get("system")),
                scale="0..1", run="braintrust",
                source=_text(record.get("input")), output=_text(record.get("output")),
                reference=_text(record.get("expected")),
            )  # fmt: skip


def _scores(record: Any, path: Path) -> dict[str, Any]:
    scores = record.get("scores") if isinstance(record, dict) else None
    if not isinstance(scores, dict):
        raise TableError(f"{path.name}: must be rows of results with `scores`, as `Eval(...).results` has them.")
    return scores


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
