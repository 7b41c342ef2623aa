"""OpenAI's two: output and error files of a batch, and the record that `oaieval` writes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, head_of, lines_of, number, text_of
from calib.table import TableError

_MOST_REQUESTS = 1 << 20  # lines of an input file that are held
_LETTERS = {"Y": 1.0, "N": 0.0}

# --- Batch: the replies, and the input beside them, which has the prompts ---------------------------------------------


def read_batch(path: Path) -> Iterator[Row]:
    """One row per choice; `custom_id` is ``criterion/item``, or else the item of a criterion called "score"."""
    requests = _requests_beside(path)
    for line in lines_of(path):
        name = str(line.get("custom_id"))
        criterion, slash, item = name.partition("/")
        criterion, item = (criterion, item) if slash else ("score", name)
        row = Row(line | {"request": requests.get(name)}, criterion, item=item, run="openai_batch")
        if request := requests.get(name):
            temperature = math.nan if request.get("temperature") is None else float(request["temperature"])
            text = "\n".join(str(message.get("content")) for message in request.get("messages") or [])
            row = row._replace(asked=text, rater=text_of(request.get("model")), temperature=temperature)
        response = line.get("response") or {}
        body = response.get("body") or {}
        if body.get("object") not in (None, "chat.completion"):
            given = f"the replies are {body['object']!r}, where only those of /v1/chat/completions can be read"
            raise TableError(f"{row.criterion}/{row.item}: {given}.")
        row, choices = row._replace(rater=text_of(body.get("model")) or row.rater), body.get("choices") or []
        if line.get("error") or response.get("status_code", 200) != 200 or not choices:
            yield row._replace(status="failed")
        for choice in choices if not line.get("error") else []:
            reply = text_of((choice.get("message") or {}).get("content"))
            yield row._replace(completion={"choices": [choice]}, reply=reply)


def _requests_beside(path: Path) -> dict[str, Any]:
    """The requests, where a file of them lies beside the replies."""
    requests: dict[str, Any] = {}
    for beside in sorted(path.parent.glob("*.jsonl")):
        head = head_of(beside)
        if beside != path and '"custom_id"' in head and '"url"' in head and '"response"' not in head:
            for line in lines_of(beside):
                if len(requests) < _MOST_REQUESTS:
                    requests[str(line.get("custom_id"))] = line.get("body") or {}
    return requests


# --- evals: one event a line ------------------------------------------------------------------------------------------


def read_evals(path: Path) -> Iterator[Row]:
    """One row per score of a sample: its metrics, its match, or its failure."""
    spec: dict[str, Any] = {}
    sampling: dict[str, Any] = {}  # by sample the first event; what follows is the judge's
    scored: set[str] = set()
    finished = False
    for line in lines_of(path):
        spec, finished = line.get("spec") or spec, finished or "final_report" in line
        data, sample = line.get("data") or {}, str(text_of(line.get("sample_id")))
        if line.get("type") == "sampling":
            if sample in scored:
                scored.discard(sample)
                sampling.pop(sample, None)
            sampling.setdefault(sample, data)
        if line.get("type") in ("metrics", "match", "error"):
            scored.add(sample)
            yield from _rows_of_event(line, data, spec, sampling.get(sample) or {})
    if not finished:
        warnings.warn(f"partial: {path.name} has no final report: the run broke off.", stacklevel=2)


def _rows_of_event(
    line: dict[str, Any], data: dict[str, Any], spec: dict[str, Any], sampling: dict[str, Any]
) -> Iterator[Row]:
    names, sampled = spec.get("completion_fns") or [None], sampling.get("sampled")
    row = Row(
        line,
        str(spec.get("base_eval") or spec.get("eval_name") or "eval"),
        item=text_of(line.get("sample_id")),
        system=text_of(names[0]),
        rater="oaieval",
        run=f"openai_evals|{spec.get('run_id') or line.get('run_id') or ''}",
        output=text_of(sampled[0] if isinstance(sampled, list) and sampled else sampled),
    )
    if line["type"] == "error":
        yield row._replace(status="failed")
        return
    scores = {row.criterion: data.get("correct")}
    if line["type"] == "match":
        row = row._replace(scale="0|1", reference=text_of(data.get("expected")))
    elif "choice" in data or "score" in data:
        choice, value = data.get("choice"), data.get("score")
        value = _LETTERS.get(str(choice)) if value is None else value
        # where no choice was found, the tool wrote the lowest score there is
        scores = {row.criterion: None if choice == "__invalid__" else value}
        row = row._replace(rater=text_of(names[-1]), reply=text_of(choice))
    else:
        scores = {str(name): one for name, one in data.items() if one is None or isinstance(one, bool | int | float)}
    for criterion, value in scores.items():
        score = number(value)
        yield row._replace(criterion=criterion, score=score, status="unread" if math.isnan(score) else "ok")
