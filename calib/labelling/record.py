"""What annotators are asked and how it comes back: one record for the page, the workbook and Label Studio."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from calib.judge.scale import number_text
from calib.table import TableError, parse_scale

# the columns of answers, in every file that comes back: a table of ratings, and what else a form knows
ANSWERS = (
    "item", "criterion", "rater", "scale", "method", "score", "status", "seconds", "time", "comment", "position",
    "swapped", "page",
)  # fmt: skip
CANNOT_SAY = "cannot_say"  # the status of an answer that is no score
CANNOT_SAY_LABEL = "cannot say"  # as people read it
# what XML, databases and UTF-8 do not take: control characters as their pictures, half characters as a question mark
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
_PICTURES |= dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), 0xFFFD)


class Level(NamedTuple):
    """One value of a scale, and the word for it; empty where the number says all."""

    value: float
    word: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that is asked of each item."""

    name: str
    meaning: str  # in a sentence or several; empty where the name says all
    scale: str  # as the tables write it, "1|2|3|4|5" or "0..100"
    # worst first; none where the scale is continuous. Of a pair 0, 0.5 and 1: the first loses, ties, wins
    levels: tuple[Level, ...]

    @property
    def choices(self) -> dict[str, str]:
        """What can be chosen, worst first: the text that is stored, and the one that is read."""
        numbers = [number_text(level.value) for level in self.levels]
        words = [level.word for level in self.levels]
        labels = {number: legible(f"{number} {word}".strip()) for number, word in zip(numbers, words, strict=True)}
        return labels | {CANNOT_SAY: CANNOT_SAY_LABEL}

    @property
    def scale_in_words(self) -> str:
        """What an answer must be."""
        if self.levels:
            return ", ".join(self.choices.values())
        low, _, high = self.scale.partition("..")
        return f"a number from {low} to {high}, or: {CANNOT_SAY_LABEL}"

    def score_of(self, answer: Any) -> float | None:
        """The score that was chosen or typed, None for "cannot say"; a `ValueError` if it is neither."""
        text = _folded(answer)
        if text in (CANNOT_SAY_LABEL, CANNOT_SAY):
            return None
        # what a level may be called, the surest last; a word that two levels share is no name
        words = [_folded(legible(level.word)) for level in self.levels]
        forms = {word: level.value for word, level in zip(words, self.levels, strict=True) if words.count(word) == 1}
        forms |= {number_text(level.value): level.value for level in self.levels}
        forms |= {_folded(f"{number_text(level.value)} {legible(level.word)}"): level.value for level in self.levels}
        if text in forms:
            return float(forms[text])
        score = float(text.replace(",", ".") if "_" not in text else "")
        ends = parse_scale(self.scale)
        values = [level.value for level in self.levels]
        if ends is None or not (score in values if values else ends.low <= score <= ends.high):
            raise ValueError
        return score


def _folded(answer: Any) -> str:
    return " ".join(str(answer).split()).casefold()


@dataclass(frozen=True, slots=True)
class Record:
    """One item of one annotator: what is asked, and what was answered once it came back."""

    item: str
    texts: tuple[str, ...] = ()  # in the order of `Task.parts`; they do not come back
    # the two outputs of a pair, the last two texts, change places; `answer_rows` turns the score round again
    swapped: bool = False
    page: str = ""
    annotator: str = ""  # whom it is for; empty where that was left open
    position: int = 0  # in that annotator's order, from 1
    criteria: tuple[Criterion, ...] = ()
    # as it came back
    account: str = ""  # who answered, as the tool calls them
    answers: Mapping[str, Any] = field(default_factory=dict)  # by the criterion's code, without what was left empty
    comment: str = ""
    seconds: float = math.nan  # of all its answers together
    time: str = ""
    place: str = ""  # file and row, or task

    @property
    def shown(self) -> tuple[str, ...]:
        """The texts in the order in which they are shown."""
        return (*self.texts[:-2], self.texts[-1], self.texts[-2]) if self.swapped else self.texts

    def to_json(self) -> dict[str, Any]:
        """What a file takes along with an item, to come back with its answers."""
        return {
            "page": self.page, "item": encoded_id(self.item), "annotator": legible(self.annotator),
            "position": self.position, "swapped": self.swapped,
            "criteria": [[one.name, one.scale, list(map(list, one.levels))] for one in self.criteria],
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Any, place: str) -> Record:
        """The record that `to_json` wrote, as an object or as text; `place` names it in errors."""
        try:
            fields = json.loads(value) if isinstance(value, str) else value
            criteria = tuple(
                Criterion(str(name), "", str(scale), tuple(Level(float(value), str(word)) for value, word in levels))
                for name, scale, levels in fields["criteria"]
            )
            return cls(
                item=decoded_id(fields["item"]), swapped=bool(fields["swapped"]), page=str(fields["page"]),
                annotator=str(fields["annotator"]), position=int(fields["position"]), criteria=criteria, place=place,
            )  # fmt: skip
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            rule = "must have what calib put beside each item ('calib': page, item, position, criteria)"
            raise TableError(f"{place}: {rule}, but that is missing or was changed.") from None


@dataclass(frozen=True, slots=True)
class LabelSheet:
    """The items of one annotator, in the order in which they are shown."""

    annotator: str
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What people are asked: the same for all forms."""

    title: str
    page: str  # a hash that all its files have, see `page_id`
    parts: tuple[str, ...]  # heads of the texts, such as source and output; of a pair the last two are its outputs
    paired: bool  # whether two outputs are held against each other
    criteria: tuple[Criterion, ...]
    guideline: str  # plain text
    sheets: tuple[LabelSheet, ...]


def by_code(criteria: Sequence[Criterion]) -> dict[str, Criterion]:
    """Criteria under names that every tool takes: c1, c2 ..."""
    return {f"c{number}": criterion for number, criterion in enumerate(criteria, start=1)}


def page_id(texts: Sequence[tuple[str, ...]], criteria: Sequence[Criterion]) -> str:
    """A hash of items (id and texts, of the whole pool, chosen or not), criteria and scales.

    A later drawing from the same pool has the same one, so that its page continues the one before.

    Examples
    --------
    >>> fluency = Criterion("fluency", "", "1|2", (Level(1, ""), Level(2, "")))
    >>> page_id([("a", "A text."), ("b", "Another.")], [fluency])
    '3e90d600b322'
    >>> page_id([("b", "Another."), ("a", "A text.")], [fluency])
    '3e90d600b322'
    """
    questions = [[one.name, one.meaning, one.scale, one.levels] for one in criteria]
    digest = hashlib.sha256()
    for part in (*sorted(texts), questions):
        digest.update(json.dumps(part).encode() + b"\n")
    return digest.hexdigest()[:12]


def encoded_id(item: str) -> str:
    """An id that tells a reader nothing: names of systems are often part of ids.

    It hides nothing from somebody who wants to know; it keeps the eye from it.
    """
    return base64.urlsafe_b64encode(item.encode(errors="surrogatepass")).decode().rstrip("=")


def decoded_id(key: str) -> str:
    """The id again; a `ValueError` if it is none."""
    return base64.b64decode(key + "=" * (-len(key) % 4), altchars=b"-_", validate=True).decode(errors="surrogatepass")


def legible(text: str) -> str:
    """A text that every file can hold: what some cannot is seen as its picture."""
    return text.translate(_PICTURES)


def answer_rows(records: Sequence[Record]) -> pd.DataFrame:
    """Rows of answers, one per item and criterion that was answered, with the columns `ANSWERS`."""
    # raters are the annotators whom the items were meant for, where each had one account; else the accounts
    pairs = {(record.annotator, record.account) for record in records}
    names, accounts = {name for name, _ in pairs}, {account for _, account in pairs}
    one_account_each = "" not in names and len(names) == len(accounts) == len(pairs)
    first = {record.page: record for record in reversed(records)}
    if len(first) > 1:
        record, other = list(first.values())[:2]
        raise TableError(f"{record.place}: is of another page than {other.place}.")
    rows: dict[Any, tuple[dict[str, Any], str]] = {}
    for record in records:
        rater, criteria = record.annotator if one_account_each else record.account, by_code(record.criteria)
        for code, answer in record.answers.items():
            criterion = criteria[code]
            try:
                score = criterion.score_of(answer)
            except ValueError:
                rule = f"{criterion.name!r} must be {criterion.scale_in_words}"
                raise TableError(f"{record.place}: {rule}, but got {answer!r}.") from None
            ends = parse_scale(criterion.scale)
            if score is not None and record.swapped and ends is not None:  # a pair that was shown the other way round
                score = ends.low + ends.high - score
            status = CANNOT_SAY if score is None else "ok"
            row = {
                "item": record.item, "criterion": criterion.name, "rater": rater, "scale": criterion.scale,
                "method": "human", "score": score, "status": status, "seconds": record.seconds / len(record.answers),
                "time": record.time, "comment": record.comment, "position": record.position,
                "swapped": record.swapped, "page": record.page,
            }  # fmt: skip
            # the same answer twice is one; of two that differ a later one may count, if there are times
            key = (record.item, criterion.name, rater, record.time)
            before, place = rows.setdefault(key, (row, record.place))
            if (before["score"], before["status"]) != (score, status):
                twice = f"{record.item!r} has another answer to {criterion.name!r} by {rater!r} than in {place}"
                raise TableError(f"{record.place}: {twice}: delete one of them.")
    kinds = {"score": float, "seconds": float, "position": int, "swapped": bool}
    columns = {name: [row[name] for row, _ in rows.values()] for name in ANSWERS}
    return pd.DataFrame({name: pd.Series(cells, dtype=kinds.get(name, object)) for name, cells in columns.items()})
