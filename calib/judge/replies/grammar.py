"""The answer in the text of a reply: how the labels of a scale are written, and what a part of one means."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

from calib.judge.replies import places
from calib.judge.replies.reply import FILLING, UNKNOWN, from_byte_level
from calib.judge.scale import Scale

Found = TypeVar("Found")

# part of the store's key: to be raised when a pattern comes to need what compact replies do not hold
PATTERN_VERSION = 1

_MEANINGS_KEPT = 1 << 14  # token texts whose meaning is remembered
_LONGEST_KEPT = 64  # bytes of a text that is remembered
_MOST_PIECES = 3  # characters that a part of one, of up to three bytes, is decoded to

_PLAIN_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_CUT = re.compile(r"[\udc80-\udcff]++\Z")  # the first bytes of a character


class Meaning(NamedTuple):
    """A scale value (NaN off the scale) if the text ends here, and those of the longer labels that it begins."""

    value: float
    longer: frozenset[float]


NOTHING = Meaning(math.nan, frozenset())  # off the scale, whatever follows


class Grammar:
    """A scale and a pattern, compiled, with what token texts mean on it remembered."""

    def __init__(self, scale: Scale, answer: str) -> None:
        self.scale, self.answer, self.numbers = scale, answer, frozenset(scale.values if scale.numeric else ())
        # labels that differ by case alone are kept apart
        self.fold = len({label.casefold() for label in scale.labels}) == len(scale.labels)
        self.values = {self._key(label): value for label, value in zip(scale.labels, scale.values, strict=True)}
        self.all, self.top = frozenset(scale.values), max(scale.values)
        self.beyond_ascii = not "".join(scale.labels).isascii()
        self.longest = max(map(len, self.values)) + _MOST_PIECES
        self.meanings: dict[bytes, Meaning] = {}
        self.answers = self._compiled(answer, scale)
        self.tokens = self._compiled("token", scale)

    def _key(self, text: str) -> str:
        return text.casefold() if self.fold else text

    def _compiled(self, answer: str, scale: Scale) -> re.Pattern[str]:
        words = sorted((x for x in scale.labels if not _PLAIN_NUMBER.fullmatch(x)), key=len, reverse=True)
        # a label may itself begin with a mark
        marks = places.MARKS if any(word[0] in FILLING for word in words) else f"{places.MARKS}+"
        value = rf"(?P<value>{'|'.join([*map(re.escape, words), places.NUMBER])})"
        flags = re.IGNORECASE if self.fold else re.NOFLAG
        return re.compile(rf"{places.LEADS[answer]}(?P<slot>){marks}{value}{places.TAILS[answer]}", flags)

    def find(self, text: str) -> re.Match[str] | None:
        """The answer by the declared pattern: of score lines the last one, of keys the last at the top."""
        start = places.after_thoughts(text)
        if self.answer == "label":
            found = self.answers.match(text, start)
            return None if found is None or places.is_list(text, start) or self._is_one_of_several(found) else found
        if self.answer == "line":
            lines = [self.answers.match(text, lead) for lead in places.score_lines(text, start)]
            if not lines or (last := lines[-1]) is None or places.is_quoted(last):
                return None  # where the last one holds no score, what came before may be quoted
            return None if places.names_another([line for line in lines if line]) else last
        value = _last_of(places.score_values(text, start))
        return None if value is None else self.answers.match(text, value)

    def _is_one_of_several(self, found: re.Match[str]) -> bool:
        """Whether a label under a criterion's name is followed by one under another."""
        name = found["name"]
        if not places.is_criterion(name):
            return False
        others = self._compiled("other", self.scale).finditer(found.string, found.end())
        return any(other["name"].casefold() != name.casefold() for other in others)

    def slot(self, text: str) -> int | None:
        """Where the answer should be in a text that holds none."""
        start = places.after_thoughts(text)
        if self.answer == "label":
            return start
        if self.answer == "json":
            return _last_of(places.score_values(text, start))
        lead = _last_of(places.score_lines(text, start))
        return None if lead is None else places.end_of_lead(text, lead)

    def value(self, found: re.Match[str]) -> float:
        """The scale value of what was found; NaN off the scale, or where it is said to be on another (3/10)."""
        if self.is_of_another(found):
            return math.nan
        label = found["value"]
        if (key := self._key(label)) in self.values:
            return self.values[key]
        if self.numbers and _PLAIN_NUMBER.fullmatch(label) and float(label) in self.numbers:
            return float(label)
        return math.nan

    def is_of_another(self, found: re.Match[str]) -> bool:
        """Whether a score is said to be on a scale that ends elsewhere."""
        top = places.said_top(found)
        return top is not None and top != self.top

    def meaning(self, text: bytes) -> Meaning:
        """What the bytes of tokens at the answer mean."""
        if (known := self.meanings.get(text)) is None:
            known = self._meaning(text.decode("utf-8", "surrogateescape"))
            if known is NOTHING and self.beyond_ascii:  # of a message that is ASCII the alphabet is not seen
                known = self._meaning(from_byte_level(text).decode("utf-8", "surrogateescape"))
            if len(self.meanings) > _MEANINGS_KEPT:
                self.meanings.clear()
            if len(text) <= _LONGEST_KEPT:
                self.meanings[text] = known
        return known

    def meanings_of(self, texts: Iterable[bytes]) -> list[Meaning]:
        """What each of many means; most of them are known."""
        known = self.meanings.get
        return [known(text) or self.meaning(text) for text in texts]

    def _meaning(self, text: str) -> Meaning:
        found = self.tokens.match(text)
        value = self.value(found) if found else math.nan
        marks = len(text) - len(text.lstrip(FILLING))
        if marks == len(text):  # marks and blanks alone: any label may follow
            return Meaning(value, self.all)
        # a label may itself begin with a mark
        begun = (text[k:] for k in range(max(len(text) - self.longest, 0), marks + 1))
        longer = frozenset(value for one in begun for value in self._begun_by(one))
        return NOTHING if math.isnan(value) and not longer else Meaning(value, longer)

    def _begun_by(self, text: str) -> Iterator[float]:
        """Values of the labels that begin with the text and go on; part of a character may end it."""
        head, unknown, _ = text.partition(UNKNOWN.decode())
        cut = _CUT.search(head)
        head, rest = (
            (head[: cut.start()], head[cut.start() :].encode("utf-8", "surrogateescape")) if cut else (head, b"")
        )
        key = self._key(head)
        for label, value in self.values.items():
            if label.startswith(key) and label != key:
                following = label[len(key)]
                if rest or unknown:
                    cases = {following, following.upper(), following.lower()} if self.fold else {following}
                    spelled = [case.encode("utf-8", "surrogatepass") for case in cases]
                    if not any(len(one) > len(rest) and one.startswith(rest) and len(one) > 1 for one in spelled):
                        continue
                yield value


@lru_cache(maxsize=64)
def grammar_of(scale: Scale, answer: str) -> Grammar:
    """The grammar of a scale and a pattern, compiled once."""
    return Grammar(scale, answer)


def _last_of(found: Iterable[Found]) -> Found | None:
    return next(iter(deque(found, maxlen=1)), None)
