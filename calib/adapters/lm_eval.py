"""lm-evaluation-harness: `samples_<task>_<date>.jsonl`, one line per document and filter, and `results_*.json`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import json_of, lines_of
from calib.adapters.row import Row, number, text_of

_OF_TWO = ("acc", "acc_norm", "exact_match", "acc_mutual_info", "em")
_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT.*)\.jsonl")


def sniff(name: str, head: str) -> bool:
    """Whether a file holds samples."""
    return name.endswith(".jsonl") and '"doc_id"' in head and '"filtered_resps"' in head


def read(path: Path) -> Iterator[Row]:
    """One row per metric, document and filter, from the harness itself as rater."""
    task, model, run = _about(path)
    for line in lines_of(path):
        names = line.get("metrics") or []
        used = "" if line.get("filter") in (None, "none") else f",{line['filter']}"
        for metric in names:
            for part, value in _parts(metric, line.get(metric)):
                yield _row(line, task, model, run)._replace(
                    criterion=f"{task}/{part}{used}",
                    score=value,
                    status="unread" if math.isnan(value) else "ok",
                    rater="lm_eval",
                    scale="0|1" if metric in _OF_TWO else "",
                )


def read_replies(path: Path) -> Iterator[Row]:
    """Where the model under test is the judge: its replies are the draws, each document once whatever its filters."""
    task, _, run = _about(path)
    seen = set()
    for line in lines_of(path):
        if line.get("doc_id") in seen:
            continue
        seen.add(line.get("doc_id"))
        doc = line.get("doc") or {}
        for draw, reply in enumerate((line.get("resps") or [[]])[0]):
            value = number(reply)
            yield _row(line, task, None, run)._replace(
                score=value,
                status="unread" if math.isnan(value) else "ok",
                draw=draw,
                system=text_of(doc.get("system")),
                source=text_of(doc.get("source") or doc.get("question")),
                output=text_of(doc.get("output")),
                reply=text_of(reply),
            )


def _row(line: dict[str, Any], task: str, model: str | None, run: str) -> Row:
    doc = line.get("doc") or {}
    known = doc.get("item") or doc.get("id") if isinstance(doc, dict) else None
    said = (line.get("resps") or [None])[0]
    return Row(
        line,
        task,
        item=str(known) if known is not None else f"{task}-{line.get('doc_id')}",
        system=model,
        run=run,
        source=text_of(doc) if doc else None,  # two tasks may have one id
        output=text_of(said[0] if isinstance(said, list) and said and isinstance(said[0], str) else said),
        reference=text_of(line.get("target")),
    )


def _parts(metric: str, value: Any) -> Iterator[tuple[str, float]]:
    """A metric may be a number, a list of its parts, or an object of them."""
    if isinstance(value, dict):
        yield from ((f"{metric}.{name}", number(inner)) for name, inner in value.items())
    elif isinstance(value, list):
        yield from ((f"{metric}.{place}", number(inner)) for place, inner in enumerate(value))
    else:
        yield metric, number(value)


def _about(path: Path) -> tuple[str, str | None, str]:
    """Task, model and run, from the file's name and the results beside it."""
    found = _NAME.fullmatch(path.name)
    task, date = (found["task"], found["date"]) if found else (path.stem.removeprefix("samples_"), "")
    for beside in sorted(path.parent.glob("results*.json")):
        if (date and date in beside.name) or beside.name == "results.json" or not date:
            about = json_of(beside)
            version, model = about.get("lm_eval_version", ""), about.get("model_name")
            return task, text_of(model), f"lm_eval {version}|{task} {about.get('date', date)}"
    return task, None, f"lm_eval|{task} {date}"
