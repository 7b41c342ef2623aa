"""Conversations in a view: the parts of each as JSON, with a statement where one is too long for a page."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.text import HALF, printable
from calib.inputs.resolve import items_in
from calib.inputs.source import source_of
from calib.labelling.talk import COLUMN, TURN, Said, english_words, parts_of
from calib.table.messages import MessageError, conversation_in
from calib.table.validate import ValidatedTable

TALK, BEFORE = "conversation", "conversation before"  # what a page calls the columns
_MOST_PARTS, _ENDS, _AROUND = 1_000, 300, 200  # parts of one on a page; else so many of each end and around a turn
_MOST_CHARACTERS = 1_000_000  # of one on a page
_NAMES = ("judged", "nothing", "find", "found", "on", "back", "tool_call", "tool_result")
WORDS = {name: text for name, text in english_words().items() if name in _NAMES or name.startswith("role_")} | {
    "judged": "judged",
    "left_out": "{n} parts of the conversation are left out here",
    "cut": "{n} characters are left out here",
    "before": "before",
    "now": "now",
}


def talks_in(frame: pd.DataFrame | None) -> pd.Series | None:
    """The column of conversations, where a frame has one."""
    for name in (COLUMN, f"my_{COLUMN}"):  # as one's own file and tables of scores call it
        if frame is not None and name in frame:
            first = next((cell for cell in frame[name].tolist() if not _is_gap(cell)), None)
            if isinstance(first, list | tuple | np.ndarray) or str(first).lstrip().startswith("["):
                return frame[name]
    return None


def texts_of(items: Any) -> pd.DataFrame:
    """A table of items; of its conversations, which may be of any length here, nothing is checked yet."""
    if isinstance(items, ValidatedTable) or COLUMN not in (frame := source_of(items, "items").frame):
        return items_in(items)
    return items_in(frame.drop(columns=COLUMN)).assign(**{COLUMN: frame[COLUMN].to_numpy()})


def with_talks(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The rows with their conversations as JSON of parts, and a note where a cell is none: it stays as its text.

    Examples
    --------
    >>> run = [{"role": "user", "content": "Hi"}]
    >>> rows, notes = with_talks(pd.DataFrame({"item": ["a", "b"], "messages": [run, run]}))
    >>> rows["conversation"].tolist(), notes
    (['[["role_user",{},"Hi",false,false,1]]', '[["role_user",{},"Hi",false,false,1]]'], [])
    """
    notes, written = list[str](), rows[TURN] if TURN in rows else pd.Series(np.nan, rows.index)
    turns = pd.to_numeric(written, errors="coerce")
    for cells, name in ((talks_in(rows), TALK), (rows.get(BEFORE), BEFORE)):
        if cells is None:
            continue
        parts, wrong, astray = list[str](), dict[str, Any](), dict[str, Any]()
        for item, cell, turn, as_written in zip(rows["item"], cells, turns, written, strict=True):
            try:
                messages = [] if _is_gap(cell) else conversation_in(cell, limited=False).messages
            except MessageError as error:
                wrong[str(item)] = error
                parts.append(_written(str(cell)))
                continue
            parts.append(_written(_bounded(parts_of(messages), turn)) if messages else "")
            if name == TALK and messages and not _is_gap(as_written) and turn not in range(1, len(messages) + 1):
                astray[str(item)] = as_written
        notes += _noted("messages of {} items are no conversation", wrong)
        notes += _noted("turn of {} items is no number of their messages", astray)
        rows = rows.drop(columns=cells.name).assign(**{name: pd.Series(parts, rows.index, dtype=object)})
    if TALK in rows and TURN in rows and turns.notna().equals(written.notna()):
        rows = rows.assign(**{TURN: turns})  # a file may have numbers as texts
    return rows, notes


def _noted(rule: str, such: dict[str, Any]) -> list[str]:
    if not such:
        return []
    first, why = next(iter(such.items()))
    note = f"messages_unread: {printable(f'the {rule.format(len(such))} (first: {first!r}, {why})')}."
    check.warn(note)
    return [note]


def _is_gap(cell: Any) -> bool:
    return len(cell) == 0 if hasattr(cell, "__len__") else bool(pd.isna(cell))


def _written(parts: Any) -> str:
    return HALF.sub("\ufffd", json.dumps(parts, ensure_ascii=False, separators=(",", ":")))


def _bounded(parts: list[Said], turn: float) -> list[Any]:
    """The parts that a page has room for: both ends and those around a turn, the longest texts without their middle."""
    n = len(parts)
    judged = next((place for place, part in enumerate(parts) if part.number == turn), -n)
    kept, last = list[Any](), -1
    for place in range(n):
        if n <= _MOST_PARTS or min(place, n - 1 - place) < _ENDS or abs(place - judged) < _AROUND:
            if place > last + 1:
                kept.append(["left_out", {"n": f"{place - last - 1:,}"}, "", False, False, 0])
            kept.append(list(parts[place]))
            last = place
    if sum(len(part[2]) for part in kept) > _MOST_CHARACTERS:
        lengths, tops = [len(part[2]) for part in kept], range(_MOST_CHARACTERS)
        most = bisect_right(tops, _MOST_CHARACTERS, key=lambda top: sum(min(n, top) for n in lengths)) - 1
        for part in kept:
            if (gone := len(text := part[2]) - most) > 0:
                part[2] = [text[: most - most // 2], gone, text[len(text) - most // 2 :]]
    return kept
