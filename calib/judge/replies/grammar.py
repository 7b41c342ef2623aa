"""The answer in the text of a reply: how the labels of a scale are written, and what a part of one means."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

from calib.judge.replies.reply import FILLING
from calib.judge.scale import Scale

Found = TypeVar("Found")

# part of the store's key: to be raised when a pattern comes to need what compact replies do not hold
PATTERN_VERSION = 1

_MEANINGS_KEPT = 1 << 14  # token texts whose meaning is remembered
_LONGEST_KEPT = 64  # characters of a text that is remembered

# Nothing here may take more than linear time, whatever the text: what can run on is possessive (*+) or ends with the
# line where a match may begin at each line, and no two parts in a row can share a run between them.
_MARKS = r"[\s\"'`*_#(\[{<]*"  # what may stand around a label
_NAME_BEFORE = r"[^\W\d_][^\n:=]{0,40}?[\"'*]*+\s*+[:=]"
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
# a label stands alone: not the start of a word, a number, a range, or a sentence ("2 flaws were found")
_FOLLOWS = r"\Z|\n|[.,;:!?)\]}>\"'`*_/(]|<[/|]|[-\u2013\u2014]\s|(?:out )?of \d"
_STANDS_ALONE = rf"(?!\w|\.\d|-\w|\s*+[-\u2013]\s*+\d)(?=[^\S\n]*+(?:{_FOLLOWS}))"
_GOES_ON = r"(?!\w|\.\d)"  # all that a token can tell
_LINE_START = r"(?:(?m:^)(?:[^\w\n]++|_)*+(?:(?i:final|overall|total|my|the)[^\S\n]++)*+|[\"'])"
_OF_WHAT = r"(?:\s*+\([^()\n]{0,20}\)|\s++(?:for|of)\s++[\w ]{1,30}?)?[\"'*\s]*+"
_SCORE_LINE = rf"{_LINE_START}(?i:score|rating){_OF_WHAT}[:=]"
# a numbered list is no rating of 1
_NUMBERED_LIST = re.compile(r"\s*+1[.)]\s.*^[^\S\n]*+2[.)]\s", re.DOTALL | re.MULTILINE)
_LEAD_PATTERNS = {
    "label": rf"(?:{_MARKS}+(?:-\s++)?{_NAME_BEFORE}|\s*+-\s++)?",
    "line": rf"{_SCORE_LINE}(?:{_MARKS}+{_NAME_BEFORE})?",
    "value": "",  # of a JSON key
    "token": "",  # the first token or tokens of an answer
}
_SCORE_LEAD = re.compile(_LEAD_PATTERNS["line"])
# all up to the next brace or key: other strings are skipped whole
_JSON_PART = re.compile(
    r"(?:[^\"{}\[\]]++|(?!\"score\"\s*+:)\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z))*+"
    r"(?:(?P<key>\"score\"\s*+:)|(?P<opens>[{\[])|(?P<closes>[}\]])|\Z)",
    re.IGNORECASE | re.DOTALL,
)


class Meaning(NamedTuple):
    """A scale value (NaN off the scale) if the text ends here, and those of the longer labels that it begins."""

    value: float
    longer: frozenset[float]


class Grammar:
    """A scale and a pattern, compiled, with what token texts mean on it remembered."""

    def __init__(self, scale: Scale, answer: str) -> None:
        self.answer, self.numbers = answer, frozenset(scale.values if scale.numeric else ())
        # labels that differ by case alone are kept apart
        self.fold = len({label.casefold() for label in scale.labels}) == len(scale.labels)
        self.values = {self._key(label): value for label, value in zip(scale.labels, scale.values, strict=True)}
        self.all = frozenset(scale.values)
        self.longest = max(map(len, self.values))
        self.meanings: dict[str, Meaning] = {}
        self.answers = self._compiled("value" if answer == "json" else answer, _STANDS_ALONE, scale)
        self.tokens = self._compiled("token", _GOES_ON, scale)

    def _key(self, text: str) -> str:
        return text.casefold() if self.fold else text

    def _compiled(self, lead: str, tail: str, scale: Scale) -> re.Pattern[str]:
        words = sorted((x for x in scale.labels if not re.fullmatch(_NUMBER, x)), key=len, reverse=True)
        # a label may itself begin with a mark
        marks = _MARKS if any(word[0] in FILLING for word in words) else f"{_MARKS}+"
        value = rf"(?P<value>{'|'.join([*map(re.escape, words), _NUMBER])})"
        flags = re.IGNORECASE if self.fold else re.NOFLAG
        return re.compile(rf"{_LEAD_PATTERNS[lead]}(?P<slot>){marks}{value}{tail}", flags)

    def find(self, text: str) -> re.Match[str] | None:
        """The answer by the declared pattern: of score lines the last one, of keys the last at the top."""
        if self.answer == "label":
            return None if _NUMBERED_LIST.match(text) else self.answers.match(text)
        if self.answer == "line":
            return _last_of(self.answers.finditer(text))
        start = _last_of(_score_value_starts(text))
        return None if start is None else self.answers.match(text, start)

    def slot(self, text: str) -> int | None:
        """Where the answer should be in a text that holds none."""
        if self.answer == "label":
            return 0
        if self.answer == "json":
            return _last_of(_score_value_starts(text))
        found = _last_of(_SCORE_LEAD.finditer(text))
        return found.end() if found else None

    def value(self, label: str) -> float:
        """The scale value that a label stands for; NaN off the scale."""
        if (key := self._key(label)) in self.values:
            return self.values[key]
        if self.numbers and re.fullmatch(_NUMBER, label) and float(label) in self.numbers:
            return float(label)
        return math.nan

    def meaning(self, text: str) -> Meaning:
        """What the text of tokens at the answer means."""
        if (known := self.meanings.get(text)) is None:
            known = self._meaning(text)
            if len(self.meanings) > _MEANINGS_KEPT:
                self.meanings.clear()
            if len(text) <= _LONGEST_KEPT:
                self.meanings[text] = known
        return known

    def _meaning(self, text: str) -> Meaning:
        found = self.tokens.match(text)
        value = self.value(found["value"]) if found else math.nan
        marks = len(text) - len(text.lstrip(FILLING))
        if marks == len(text):  # marks and blanks alone: any label may follow
            return Meaning(value, self.all)
        # a label may itself begin with a mark
        begun = [self._key(text[k:]) for k in range(max(len(text) - self.longest, 0), marks + 1)]
        longer = {v for label, v in self.values.items() if any(label.startswith(t) and label != t for t in begun)}
        return Meaning(value, frozenset(longer))


@lru_cache(maxsize=64)
def grammar_of(scale: Scale, answer: str) -> Grammar:
    """The grammar of a scale and a pattern, compiled once."""
    return Grammar(scale, answer)


def _last_of(found: Iterable[Found]) -> Found | None:
    return next(iter(deque(found, maxlen=1)), None)


def _score_value_starts(text: str) -> Iterator[int]:
    """Where the values of top-level keys "score" start in the JSON objects of a text."""
    start = text.find("{")
    while start >= 0:
        depth, end = 0, len(text)
        for part in _JSON_PART.finditer(text, start):
            depth += (part.lastgroup == "opens") - (part.lastgroup == "closes")
            if part.lastgroup == "key" and depth == 1:
                yield part.end()
            if not depth:
                end = part.end()
                break
        start = text.find("{", end)
