"""What a file takes along through another tool, and the rows that its answers make when it comes back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from calib.judge.scale import number_text
from calib.labelling.page import ANSWERS, CANNOT_SAY, Asked, Criterion, Level, Sheet, Task, unveiled, veiled
from calib.table import TableError, parse_scale

CANNOT = "cannot say"  # as people read it
# what XML, databases and UTF-8 do not take: control characters as their pictures, half characters as a question mark
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
_PICTURES |= dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), 0xFFFD)


@dataclass(frozen=True, slots=True)
class Record:
    """What has to come back with an answer."""

    page: str
    item: str
    annotator: str  # whom it is for; empty where that was left open
    position: int  # in that annotator's order, from 1
    swapped: bool
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Filled:
    """One item as somebody filled it in."""

    record: Record
    account: str  # who did, as the tool calls them
    answers: Mapping[str, Any]  # what was chosen or typed, by the criterion's code; what was left empty is missing
    where: str  # file and row, or task
    comment: str = ""
    seconds: float = math.nan  # of all its answers together
    time: str = ""


def legible(text: str) -> str:
    r"""A text that every file can hold: what some cannot is seen as its picture.

    Examples
    --------
    >>> legible("a\x00b")
    'a␀b'
    """
    return text.translate(_PICTURES)


def shortened(text: str, most: int) -> str:
    """A text that a file can hold, of at most so many characters; that it was longer is seen."""
    text = legible(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def coded(criteria: Sequence[Criterion]) -> dict[str, Criterion]:
    """Criteria under names that every tool takes: c1, c2 ..."""
    return {f"c{place}": one for place, one in enumerate(criteria, start=1)}


def choices_of(criterion: Criterion) -> dict[str, str]:
    """What can be chosen, worst first, as it is stored and as it is read.

    Examples
    --------
    >>> choices_of(Criterion("tone", "", "0|1", (Level(0, "rude"), Level(1, ""))))
    {'0': '0 rude', '1': '1', 'cannot_say': 'cannot say'}
    """
    levels = {
        number_text(one.value): legible(f"{number_text(one.value)} {one.word}".strip()) for one in criterion.levels
    }
    return levels | {CANNOT_SAY: CANNOT}


def scale_told(criterion: Criterion) -> str:
    """A scale in words."""
    if criterion.levels:
        return ", ".join(choices_of(criterion).values())
    low, _, high = criterion.scale.partition("..")
    return f"a number from {low} to {high}, or: {CANNOT}"


def task_told(task: Task) -> str:
    """The guideline, and what each criterion asks."""
    lines = [f"{one.name}: {one.meaning}\n{scale_told(one)}" if one.meaning else f"{one.name}\n{scale_told(one)}"
             for one in task.criteria]  # fmt: skip
    return legible("\n\n".join(filter(None, (task.guideline, *lines))))


def record_of(task: Task, sheet: Sheet, position: int, item: Asked) -> dict[str, Any]:
    """What a file takes along with an item, as JSON has it."""
    return {
        "page": task.page,
        "item": veiled(item.item),
        "annotator": legible(sheet.annotator),
        "position": position,
        "swapped": item.swapped,
        "criteria": [[one.name, one.scale, list(map(list, one.levels))] for one in task.criteria],
    }


def read_record(value: Any, where: str) -> Record:
    """The same, read back."""
    try:
        held = json.loads(value) if isinstance(value, str) else value
        criteria = tuple(
            Criterion(str(name), "", str(scale), tuple(Level(float(value), str(word)) for value, word in levels))
            for name, scale, levels in held["criteria"]
        )
        return Record(
            page=str(held["page"]),
            item=unveiled(held["item"]),
            annotator=str(held["annotator"]),
            position=int(held["position"]),
            swapped=bool(held["swapped"]),
            criteria=criteria,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        rule = "must have what calib put beside each item ('calib': page, item, position, criteria)"
        raise TableError(f"{where}: {rule}, but that is missing or was changed.") from None


def score_of(answer: Any, criterion: Criterion) -> float | None:
    """The score that was chosen or typed, None for "cannot say"; a `ValueError` if it is neither.

    Examples
    --------
    >>> tone = Criterion("tone", "", "0|1", (Level(0, "rude"), Level(1, "kind")))
    >>> [score_of(answer, tone) for answer in (1, "1.0", " Kind", "0 rude", "cannot say")]
    [1.0, 1.0, 1.0, 0.0, None]
    """
    text = _folded(answer)
    if text in (CANNOT, CANNOT_SAY):
        return None
    # what a level may be called, the surest first; a word that two levels have calls none of them
    words = [_folded(legible(one.word)) for one in criterion.levels]
    for forms in (
        {_folded(f"{number_text(one.value)} {legible(one.word)}"): one.value for one in criterion.levels},
        {number_text(one.value): one.value for one in criterion.levels},
        {word: one.value for word, one in zip(words, criterion.levels, strict=True) if words.count(word) == 1},
    ):
        if text in forms:
            return float(forms[text])
    score = float(text.replace(",", ".") if "_" not in text else "")
    ends = parse_scale(criterion.scale)
    values = [one.value for one in criterion.levels]
    if ends is None or not (score in values if values else ends.low <= score <= ends.high):
        raise ValueError
    return score


def _folded(answer: Any) -> str:
    return " ".join(str(answer).split()).casefold()


def answers_of(filled: Sequence[Filled]) -> pd.DataFrame:
    """Rows of answers, one per item and criterion that was answered, with the columns `ANSWERS`."""
    # those the items were meant for, where each of them had an account; else the accounts
    pairs = {(one.record.annotator, one.account) for one in filled}
    names, accounts = {name for name, _ in pairs}, {account for _, account in pairs}
    each_their_own = "" not in names and len(names) == len(accounts) == len(pairs)
    first = {one.record.page: one for one in reversed(filled)}
    if len(first) > 1:
        one, other = list(first.values())[:2]
        raise TableError(f"{one.where}: is of another page than {other.where}.")
    rows: dict[Any, tuple[dict[str, Any], str]] = {}
    for one in filled:
        for row in _rows(one, one.record.annotator if each_their_own else one.account):
            # the same answer twice is one; of two that differ a later one may count, if there are times
            key = (row["item"], row["criterion"], row["rater"], row["time"])
            before, where = rows.setdefault(key, (row, one.where))
            if (before["score"], before["status"]) != (row["score"], row["status"]):
                twice = (
                    f"{row['item']!r} has another answer to {row['criterion']!r} by {row['rater']!r} than in {where}"
                )
                raise TableError(f"{one.where}: {twice}: delete one of them.")
    kinds = {"score": float, "seconds": float, "position": int, "swapped": bool}
    columns = {name: [row[name] for row, _ in rows.values()] for name in ANSWERS}
    return pd.DataFrame({name: pd.Series(cells, dtype=kinds.get(name, object)) for name, cells in columns.items()})


def _rows(filled: Filled, rater: str) -> Iterator[dict[str, Any]]:
    item, criteria = filled.record, coded(filled.record.criteria)
    for code, answer in filled.answers.items():
        criterion = criteria[code]
        try:
            score = score_of(answer, criterion)
        except ValueError:
            rule = f"{criterion.name!r} must be {scale_told(criterion)}"
            raise TableError(f"{filled.where}: {rule}, but got {answer!r}.") from None
        ends = parse_scale(criterion.scale)
        if score is not None and item.swapped and ends is not None:  # a pair that was shown the other way round
            score = ends.low + ends.high - score
        yield {
            "item": item.item,
            "criterion": criterion.name,
            "rater": rater,
            "scale": criterion.scale,
            "method": "human",
            "score": score,
            "status": CANNOT_SAY if score is None else "ok",
            "seconds": filled.seconds / len(filled.answers),
            "time": filled.time,
            "comment": filled.comment,
            "position": item.position,
            "swapped": item.swapped,
            "page": item.page,
        }


def utc(text: Any) -> str:
    """A time as ISO 8601 in UTC; empty where it is none.

    Examples
    --------
    >>> utc("2026-03-01T10:00:00.5+02:00"), utc(None)
    ('2026-03-01T08:00:00.500000Z', '')
    """
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return ""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat().replace("+00:00", "Z")
