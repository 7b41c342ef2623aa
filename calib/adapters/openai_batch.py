"""OpenAI Batch: output and error files, and the input beside them, which has the prompts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import head_of, lines_of
from calib.adapters.row import Row, text_of
from calib.table import TableError

_ASKED = 1 << 20  # lines of an input file that are held


def sniff(name: str, head: str) -> bool:
    """Whether a file holds replies; requests alone are no log."""
    return name.endswith(".jsonl") and '"custom_id"' in head and '"response"' in head


def read(path: Path) -> Iterator[Row]:
    """One row per choice; `custom_id` is ``criterion/item``, or else the item of a criterion called "score"."""
    asked = _requests_beside(path)
    for line in lines_of(path):
        name = str(line.get("custom_id"))
        criterion, slash, item = name.partition("/")
        row = Row(
            line | {"request": asked.get(name)},
            criterion if slash else "score",
            item=item if slash else name,
            run="openai_batch",
        )
        if body := asked.get(name):
            temperature = math.nan if body.get("temperature") is None else float(body["temperature"])
            text = "\n".join(str(message.get("content")) for message in body.get("messages") or [])
            row = row._replace(asked=text, rater=text_of(body.get("model")), temperature=temperature)
        yield from _replies(row, line)


def _replies(row: Row, line: dict[str, Any]) -> Iterator[Row]:
    response = line.get("response") or {}
    body = response.get("body") or {}
    if body.get("object") not in (None, "chat.completion"):
        told = f"the replies are {body['object']!r}, where only those of /v1/chat/completions can be read"
        raise TableError(f"{row.criterion}/{row.item}: {told}.")
    choices = body.get("choices") or []
    if line.get("error") or response.get("status_code", 200) != 200 or not choices:
        yield row._replace(status="failed", rater=text_of(body.get("model")) or row.rater)
    for choice in choices if not line.get("error") else []:
        reply = text_of((choice.get("message") or {}).get("content"))
        yield row._replace(completion={"choices": [choice]}, rater=text_of(body.get("model")) or row.rater, reply=reply)


def _requests_beside(path: Path) -> dict[str, Any]:
    """The requests, where a file of them lies beside the replies."""
    found: dict[str, Any] = {}
    for beside in sorted(path.parent.glob("*.jsonl")):
        head = head_of(beside)
        if beside != path and '"custom_id"' in head and '"url"' in head and '"response"' not in head:
            for line in lines_of(beside):
                if len(found) < _ASKED:
                    found[str(line.get("custom_id"))] = line.get("body") or {}
    return found
