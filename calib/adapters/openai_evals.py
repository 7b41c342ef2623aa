"""OpenAI evals: the record that `oaieval` writes, one event a line."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import lines_of
from calib.adapters.row import Row, number, text_of

_LETTERS = {"Y": 1.0, "N": 0.0}


def sniff(name: str, head: str) -> bool:
    """Whether a file begins with the specification of a run."""
    return name.endswith((".jsonl", ".json")) and head.lstrip().startswith('{"spec"')


def read(path: Path) -> Iterator[Row]:
    """One row per score of a sample: its metrics, its match, or its failure."""
    spec: dict[str, Any] = {}
    asked: dict[str, Any] = {}
    scored: set[str] = set()
    finished = False
    for line in lines_of(path):
        spec, finished = line.get("spec") or spec, finished or "final_report" in line
        data, sample = line.get("data") or {}, text_of(line.get("sample_id"))
        if line.get("type") == "sampling":
            if str(sample) in scored:
                scored.discard(str(sample))
                asked.pop(str(sample), None)
            asked.setdefault(str(sample), data)  # what follows is the judge's
        if line.get("type") in ("metrics", "match", "error"):
            scored.add(str(sample))
            yield from _rows(line, data, spec, asked.get(str(sample)) or {})
    if not finished:
        warnings.warn(f"partial: {path.name} has no final report: the run broke off.", stacklevel=2)


def _rows(line: dict[str, Any], data: dict[str, Any], spec: dict[str, Any], asked: dict[str, Any]) -> Iterator[Row]:
    names, sampled = spec.get("completion_fns") or [None], asked.get("sampled")
    row = Row(
        line,
        str(spec.get("base_eval") or spec.get("eval_name") or "eval"),
        item=text_of(line.get("sample_id")),
        system=text_of(names[0]),
        rater="oaieval",
        run=f"openai_evals|{spec.get('run_id') or line.get('run_id') or ''}",
        output=text_of(sampled[0] if isinstance(sampled, list) and sampled else sampled),
    )
    if line["type"] == "match":
        yield _scored(row, row.criterion, data.get("correct"))._replace(
            scale="0|1", reference=text_of(data.get("expected"))
        )
    elif line["type"] == "error":
        yield row._replace(status="failed")
    elif "choice" in data or "score" in data:
        value = _graded(data)
        yield _scored(row, row.criterion, value)._replace(rater=text_of(names[-1]), reply=text_of(data.get("choice")))
    else:
        scores = {name: value for name, value in data.items() if value is None or isinstance(value, bool | int | float)}
        yield from (_scored(row, str(name), value) for name, value in scores.items())


def _graded(data: dict[str, Any]) -> Any:
    """The score of a choice; where none was found, the tool wrote the lowest there is."""
    if data.get("choice") == "__invalid__":
        return None
    score = data.get("score")
    return _LETTERS.get(str(data.get("choice"))) if score is None else score


def _scored(row: Row, criterion: str, value: Any) -> Row:
    score = number(value)
    return row._replace(criterion=criterion, score=score, status="unread" if math.isnan(score) else "ok")
