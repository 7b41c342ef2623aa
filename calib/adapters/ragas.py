"""Ragas: the frame of `evaluate(...).to_pandas()` as csv or jsonl; a column for each metric."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import lines_of
from calib.adapters.row import Row, number, text_of
from calib.table import TableError, read_frame

_IDS = re.compile(r"|Unnamed: \d+|index|item|(?:.*_)?id", re.IGNORECASE)  # numbers that are no scores
# what is no metric
_TEXTS = {
    "user_input", "response", "reference", "retrieved_contexts", "reference_contexts", "retrieved_context_ids",
    "reference_context_ids", "multi_responses", "rubrics", "rubric", "reference_tool_calls", "reference_topics",
    "persona_name", "query_style", "query_length", "synthesizer_name",
    "", "Unnamed: 0", "index", "id",
}  # fmt: skip
_OF_SAMPLE = ("response", "retrieved_contexts", "reference")


def sniff(name: str, head: str) -> bool:
    """Whether a file has the columns of a sample."""
    first = head.partition("\n")[0]
    return name.endswith((".csv", ".jsonl")) and "user_input" in first and any(name in first for name in _OF_SAMPLE)


def read(path: Path) -> Iterator[Row]:
    """One row per metric and sample; a metric that failed left a gap, without a reason."""
    rows = [*lines_of(path)] if path.suffix == ".jsonl" else read_frame(path, texts=_TEXTS).to_dict("records")
    metrics = [name for name in dict.fromkeys(name for row in rows for name in row) if _is_metric(str(name), rows)]
    if rows and not metrics:
        raise TableError(f"{path.name}: has no column of scores beside {', '.join(map(str, rows[0]))}.")
    for row in rows:
        for name in metrics:
            value = number(row.get(name))
            yield Row(
                row,
                str(name),
                value,
                "unread" if math.isnan(value) else "ok",
                run="ragas",
                source=text_of(row.get("user_input")),
                output=text_of(row.get("response")),
                reference=text_of(row.get("reference")),
            )


def _is_metric(name: str, rows: list[Any]) -> bool:
    """Whether a column holds numbers for the most part, or nothing: a metric that failed leaves a gap, or words."""
    if name in _TEXTS or _IDS.fullmatch(name):
        return False
    cells = [row.get(name) for row in rows]
    known = [cell for cell in cells if cell is not None and cell != "" and cell == cell]  # noqa: PLR0124
    read = [cell for cell in known if not math.isnan(number(cell))]
    if 0 < 2 * len(read) <= len(known):
        told = f"column {name!r} holds {len(read)} numbers among words: it is no metric, and left out."
        warnings.warn(f"not_read: {told}", stacklevel=2)
    return not known or 2 * len(read) > len(known)
