"""From a reply to rating rows: pure functions, no network, no table.

The answer is found by the prompt's declared pattern in the text, mapped to the tokens
that spell it, and the distribution is read there; a digit anywhere else is never taken.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, TypeVar

from calib.judge.prompt import Scale
from calib.judge.replies.reply import FILLING, Candidates, Choice, answer_start, offset, unmarked

T = TypeVar("T")

# part of the store's key: to be raised when a pattern comes to need what compact replies do not hold
PATTERN_VERSION = 1

_MEMORY = 1 << 14  # token texts whose meaning is remembered
_SHORT = 64  # the longest of them
_PATIENCE = 16  # after so many blanks and marks a continuation is not asked for
_LEAST = 0.1  # where something else than a label was drawn, labels must hold this much to be read
_RARE = 1e-4  # a token less likely than this, and than all that are listed beside it, was forced and not drawn
_LOG_RARE = math.log(_RARE)
_NOISE = 1e-6  # of sums of probabilities whose logarithms are float32


class Row(NamedTuple):
    """One row of a rating, in the vocabulary of the ratings table."""

    score: float
    weight: float
    status: str
    low: float = math.nan
    high: float = math.nan


class Open(NamedTuple):
    """Mass on a beginning of several labels: `prefix` is the reply up to there, `begun` the part from the answer on."""

    prefix: str
    begun: str
    weight: float


class Reading(NamedTuple):
    """The rating rows of a reply, at least one, and the beginnings whose continuation was not observed."""

    rows: list[Row]
    open: list[Open]


# --- the answer in the text -------------------------------------------------------------------------------------

# Nothing here may take more than linear time, whatever the text: what can run on is possessive (*+) or ends with the
# line where a match may begin at each line, and no two parts in a row can share a run between them.
_MARKS = r"[\s\"'`*_#(\[{<]*"  # what may stand around a label
_NAME = r"[^\W\d_][^\n:=]{0,40}?[\"'*]*+\s*+[:=]"
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
# a label stands alone: not the start of a word, a number, a range, or a sentence ("2 flaws were found")
_FOLLOWS = r"\Z|\n|[.,;:!?)\]}>\"'`*_/(]|<[/|]|[-\u2013\u2014]\s|(?:out )?of \d"
_ALONE = rf"(?!\w|\.\d|-\w|\s*+[-\u2013]\s*+\d)(?=[^\S\n]*+(?:{_FOLLOWS}))"
_GOES_ON = r"(?!\w|\.\d)"  # all that a token can tell
_LINE = r"(?:(?m:^)(?:[^\w\n]++|_)*+(?:(?i:final|overall|total|my|the)[^\S\n]++)*+|[\"'])"
_OF_WHAT = r"(?:\s*+\([^()\n]{0,20}\)|\s++(?:for|of)\s++[\w ]{1,30}?)?[\"'*\s]*+"
_SCORE_LINE = rf"{_LINE}(?i:score|rating){_OF_WHAT}[:=]"
_LIST = re.compile(r"\s*+1[.)]\s.*^[^\S\n]*+2[.)]\s", re.DOTALL | re.MULTILINE)  # a numbered list is no rating of 1
_LEADS = {
    "label": rf"(?:{_MARKS}+(?:-\s++)?{_NAME}|\s*+-\s++)?",
    "line": rf"{_SCORE_LINE}(?:{_MARKS}+{_NAME})?",
    "value": "",  # of a JSON key
    "token": "",  # the first token or tokens of an answer
}
_SCORE_LEAD = re.compile(_LEADS["line"])
_SIGNS = b" \t\r\n\"'`*_#()[]{}<>:,"
# all up to the next brace or key: other strings are skipped whole
_JSON_PART = re.compile(
    r"(?:[^\"{}\[\]]++|(?!\"score\"\s*+:)\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z))*+"
    r"(?:(?P<key>\"score\"\s*+:)|(?P<opens>[{\[])|(?P<closes>[}\]])|\Z)",
    re.IGNORECASE | re.DOTALL,
)


class _Meaning(NamedTuple):
    """A scale value (NaN off the scale) if the text ends here, and those of the longer labels that it begins."""

    value: float
    longer: frozenset[float]


class _Grammar:
    """A scale and a pattern, compiled, with what token texts mean on it remembered."""

    def __init__(self, scale: Scale, answer: str) -> None:
        self.answer, self.numbers = answer, frozenset(scale.values if scale.numeric else ())
        # labels that differ by case alone are kept apart
        self.fold = len({label.casefold() for label in scale.labels}) == len(scale.labels)
        self.values = {self._key(label): value for label, value in zip(scale.labels, scale.values, strict=True)}
        self.all = frozenset(scale.values)
        self.longest = max(map(len, self.values))
        self.meanings: dict[str, _Meaning] = {}
        self.answers = self._compiled("value" if answer == "json" else answer, _ALONE, scale)
        self.tokens = self._compiled("token", _GOES_ON, scale)

    def _key(self, text: str) -> str:
        return text.casefold() if self.fold else text

    def _compiled(self, lead: str, tail: str, scale: Scale) -> re.Pattern[str]:
        words = sorted((x for x in scale.labels if not re.fullmatch(_NUMBER, x)), key=len, reverse=True)
        # a label may itself begin with a mark
        marks = _MARKS if any(word[0] in FILLING for word in words) else f"{_MARKS}+"
        value = rf"(?P<value>{'|'.join([*map(re.escape, words), _NUMBER])})"
        return re.compile(rf"{_LEADS[lead]}(?P<slot>){marks}{value}{tail}", re.IGNORECASE if self.fold else re.NOFLAG)

    def find(self, text: str) -> re.Match[str] | None:
        """The answer by the declared pattern: of score lines the last one, of keys the last at the top."""
        if self.answer == "label":
            return None if _LIST.match(text) else self.answers.match(text)
        if self.answer == "line":
            return _last(self.answers.finditer(text))
        start = _last(_score_keys(text))
        return None if start is None else self.answers.match(text, start)

    def slot(self, text: str) -> int | None:
        """Where the answer should be in a text that holds none."""
        if self.answer == "label":
            return 0
        if self.answer == "json":
            return _last(_score_keys(text))
        found = _last(_SCORE_LEAD.finditer(text))
        return found.end() if found else None

    def value(self, label: str) -> float:
        """The scale value that a label stands for; NaN off the scale."""
        if (key := self._key(label)) in self.values:
            return self.values[key]
        if self.numbers and re.fullmatch(_NUMBER, label) and float(label) in self.numbers:
            return float(label)
        return math.nan

    def meaning(self, text: str) -> _Meaning:
        """What the text of tokens at the answer means."""
        if (known := self.meanings.get(text)) is None:
            known = self._meaning(text)
            if len(self.meanings) > _MEMORY:
                self.meanings.clear()
            if len(text) <= _SHORT:
                self.meanings[text] = known
        return known

    def _meaning(self, text: str) -> _Meaning:
        found = self.tokens.match(text)
        value = self.value(found["value"]) if found else math.nan
        marks = len(text) - len(text.lstrip(FILLING))
        if marks == len(text):  # marks and blanks alone: any label may follow
            return _Meaning(value, self.all)
        # a label may itself begin with a mark
        begun = [self._key(text[k:]) for k in range(max(len(text) - self.longest, 0), marks + 1)]
        longer = {v for label, v in self.values.items() if any(label.startswith(t) and label != t for t in begun)}
        return _Meaning(value, frozenset(longer))


@lru_cache(maxsize=64)
def _grammar(scale: Scale, answer: str) -> _Grammar:
    return _Grammar(scale, answer)


def _last(found: Iterable[T]) -> T | None:
    return next(iter(deque(found, maxlen=1)), None)


def _score_keys(text: str) -> Iterator[int]:
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


def read_label(text: str, scale: Scale, answer: str) -> tuple[float, str]:
    r"""Score and status of a reply's text.

    Parameters
    ----------
    text : str
    scale : Scale
    answer : {"label", "line", "json"}
        "label": the reply starts with the label (after marks and a ``name:``, if any).
        "line": what follows the last ``Score:`` or ``Rating:`` that starts a line.
        "json": the value of the key ``"score"`` of the last JSON object.

    Returns
    -------
    score : float
        NaN where there is none.
    status : {"ok", "off_scale", "unread"}

    Examples
    --------
    >>> read_label("**4**", Scale(), "label"), read_label("Two flaws in 40 words.", Scale(), "label")
    ((4.0, 'ok'), (nan, 'unread'))
    >>> read_label("It has 4 flaws.\nScore: 2/5", Scale(), "line"), read_label("Score: 7", Scale(), "line")
    ((2.0, 'ok'), (nan, 'off_scale'))
    >>> read_label('{"reason": "4 flaws", "score": "2"}', Scale(), "json")
    (2.0, 'ok')
    """
    grammar = _grammar(scale, answer)
    return _label(grammar, grammar.find(text))


def _label(grammar: _Grammar, found: re.Match[str] | None) -> tuple[float, str]:
    if found is None:
        return math.nan, "unread"
    score = grammar.value(found["value"])
    return score, "off_scale" if math.isnan(score) else "ok"


# --- the reply --------------------------------------------------------------------------------------------------


def extract(
    choice: Choice,
    scale: Scale,
    answer: str,
    *,
    logprobs: bool,
    floor: float = 0.0,
    continued: Mapping[str, Choice] | None = None,
) -> Reading:
    """Rating rows of one reply: one for a drawn reply, the distribution for token probabilities.

    Parameters
    ----------
    choice : Choice
    scale : Scale
    answer : {"label", "line", "json"}
    logprobs : bool
        Read the distribution at the answer's tokens; otherwise the answer alone.
    floor : float, default 0
        Labels with less probability than this are not told apart: their mass becomes ambiguous.
    continued : mapping, optional
        By prefix the reply that goes on from it, for mass that the reply itself leaves open.

    Returns
    -------
    Reading
        What cannot be read is one row with NaN and a status.

    Examples
    --------
    >>> from calib.judge.replies.reply import decode
    >>> extract(decode(b'{"choices": [{"message": {"content": "4"}}]}').choices[0], Scale(), "label", logprobs=False)
    Reading(rows=[Row(score=4.0, weight=1.0, status='ok', low=nan, high=nan)], open=[])
    """
    grammar, text = _grammar(scale, answer), _plain(unmarked(choice.content))
    found = grammar.find(text)
    silent = _why_silent(choice, found)
    if silent == "refused" or (silent and not logprobs):
        return _nothing(silent)
    if not logprobs:
        return Reading([_drawn(choice, grammar, text, found)], [])
    # the place of the answer is declared, whichever token was drawn there
    slot = found.start("slot") if found else grammar.slot(text)
    if silent and (slot is None or not text or not choice.tokens):
        return _nothing(silent)
    if trouble := _untrusted(choice):
        return _nothing(trouble)
    start = _locate(choice, text, grammar, found, slot)
    if start is None:
        return _nothing(silent or "unread")
    # a number off the scale can begin with one that is on it (7.5, 100)
    stray = found is not None and math.isnan(grammar.value(found["value"]))
    return _Mass(grammar, choice, continued or {}, silent, stray=stray).read(start, floor)


def has_logprobs(choice: Choice) -> bool:
    """Whether any list of candidates came that says something."""
    return any(p > 0 for listed in choice.lists.values() for _, p in listed)


def _nothing(status: str) -> Reading:
    return Reading([Row(math.nan, 1.0, status)], [])


def _why_silent(choice: Choice, found: re.Match[str] | None) -> str:
    """Why there is no answer in the text; empty where there is one."""
    if choice.refusal or choice.finish == "content_filter":
        return "refused"
    if found is not None:
        return ""
    return "truncated" if choice.finish == "length" else "unread"


def _drawn(choice: Choice, grammar: _Grammar, text: str, found: re.Match[str] | None) -> Row:
    """The row of a reply that is one draw."""
    score, status = _label(grammar, found)
    # a 1 at which the reply was cut off may have become a 10
    if choice.finish == "length" and found and found.end() == len(text) and grammar.meaning(found["value"]).longer:
        score, status = math.nan, "truncated"
    return Row(score, 1.0, status)


def _locate(choice: Choice, text: str, grammar: _Grammar, found: re.Match[str] | None, slot: int | None) -> int | None:
    """Where the answer begins in what the tokens spell; None where tokens and message disagree about it."""
    whole = b"".join(choice.tokens)
    shift = offset(choice.tokens, _bytes(text))
    if shift < 0:
        text, there = _plain(whole), grammar.find(_plain(whole))
        if there is None or found is None or there["value"] != found["value"]:
            return None
        shift, slot = 0, there.start("slot")
    return answer_start(whole, shift + len(_bytes(text[:slot])))


def _untrusted(choice: Choice) -> str:
    """What keeps the reported probabilities from being those that the model drew from."""
    if not has_logprobs(choice):
        return "no_logprobs"
    # a grammar or schema puts a brace, a quote or a blank where the model would not have
    own = array("f", choice.logprobs)
    signs = [i for i in choice.lists if own[i] < _LOG_RARE and not choice.tokens[i].strip(_SIGNS)]
    return "constrained" if any(_is_unlikely(choice, place) for place in signs) else ""


def _is_unlikely(choice: Choice, place: int) -> bool:
    """Whether a token was emitted that is less likely than all in its list, and too unlikely to be a rare draw."""
    token = choice.tokens[place]
    if choice.share(place) >= _RARE or not token:  # the end of a reply often has no text
        return False
    beside = {text: p for text, p in choice.lists[place] if p > 0}
    listed = beside.get(token)
    return listed is None or (listed < _RARE and listed <= min(beside.values()))


# --- the distribution at the answer's tokens --------------------------------------------------------------------


class _Mass:
    """What the candidates say: mass per scale value, undecided between values, off the scale, not shown."""

    def __init__(
        self, grammar: _Grammar, choice: Choice, continued: Mapping[str, Choice], silent: str, *, stray: bool
    ) -> None:
        self.grammar, self.choice, self.continued = grammar, choice, continued
        self.silent, self.stray = silent, stray
        self.said = ""
        self.score: dict[float, float] = {}
        self.undecided: dict[tuple[float, float], float] = {}
        self.open: list[Open] = []
        self.off = self.hidden = 0.0
        self.absent: set[float] = set()

    def read(self, start: int, floor: float) -> Reading:
        """The rows of the distribution at an answer that starts there."""
        self.said = _plain(b"".join(self.choice.tokens)[:start])
        place, lead = _token_at(self.choice.tokens, start)
        if place == len(self.choice.tokens):
            return _nothing(self.silent or "unread")
        if trouble := self.add(self.choice, place, lead, "", 1.0):
            return _nothing(trouble)
        read = sum(self.score.values())
        # where something else than a label was drawn, labels must not have been a mere possibility
        if not (read > _LEAST if self.silent else read or self.undecided):
            return _nothing(self.silent or "unread")
        return Reading(self.rows(floor), self.open)

    def add(self, choice: Choice, place: int, lead: str, begun: str, share: float) -> str:
        """Spread `share` over the candidates at a place, which continue what has `begun`; says what is in the way.

        `lead` is what the token there says before the answer.
        """
        if (listed := choice.lists.get(place)) is None:
            return "no_logprobs"
        top, here = _merged(listed, lead), _plain(choice.tokens[place]).removeprefix(lead)
        if (lead or top.get(here, 0.0) < _RARE) and _is_unlikely(choice, place):
            return "constrained"  # the list says what the model wanted, not what it could say
        meanings = [self.grammar.meaning(begun + piece) for piece in top]
        whole = {meaning.value for meaning in meanings}
        self._unseen(top, here, begun, whole, share)
        trouble = ""
        for (piece, p), meaning in zip(top.items(), meanings, strict=True):
            drawn = piece == here and choice is self.choice
            if drawn and meaning.longer and place + 1 in choice.lists:
                trouble = self.add(
                    choice, place + 1, "", begun + piece, share * p
                )  # what was drawn shows how it goes on
            elif meaning.longer and (piece or lead) and _is_beginning(meaning, whole):
                self._begin(begun + piece, meaning, share * p)
            elif drawn:
                trouble = self._settle_drawn(meaning.value, share * p)
            else:
                self._settle(meaning.value, share * p)
        return trouble

    def _settle_drawn(self, value: float, p: float) -> str:
        if self.silent and not math.isnan(value):
            return self.silent  # "2 flaws were found" begins like a label and is none
        self._settle(math.nan if self.stray else value, p)
        return ""

    def _settle(self, value: float, p: float) -> None:
        if math.isnan(value):
            self.off += p
        else:
            self.score[value] = self.score.get(value, 0.0) + p

    def _begin(self, text: str, meaning: _Meaning, p: float) -> None:
        """The beginning of several labels: settled as another reply continues it, or left open."""
        more = self.continued.get(self.said + text)
        if more and not self.add(more, 0, "", text, p):
            return
        values = meaning.longer if math.isnan(meaning.value) else meaning.longer | {meaning.value}
        ends = (min(values), max(values))
        self.undecided[ends] = self.undecided.get(ends, 0.0) + p
        if len(text) <= self.grammar.longest + _PATIENCE:
            self.open.append(Open(self.said + text, text, p))

    def _unseen(self, top: Mapping[str, float], here: str, begun: str, whole: set[float], share: float) -> None:
        """Labels that are not in the list hold at most as much each as the least that is."""
        if share * (rest := 1.0 - sum(top.values())) <= _NOISE:
            return
        ended, possible = self.grammar.meaning(begun)
        absent = possible - whole
        if not math.isnan(ended):  # what ends a label is one of many tokens
            absent, most = absent | {ended}, 1.0
        else:
            most = len(absent) * _least(top, here)
        if (hidden := share * min(rest, most)) > _NOISE:
            self.hidden += hidden
            self.absent |= absent

    def rows(self, floor: float) -> list[Row]:
        faint = {value: p for value, p in self.score.items() if p < floor}
        rows = [Row(value, p, "ok") for value, p in sorted(self.score.items()) if p > 0 and value not in faint]
        undecided = dict(self.undecided)
        if faint:
            ends = (min(faint), max(faint))
            undecided[ends] = undecided.get(ends, 0.0) + sum(faint.values())
        rows += [Row(math.nan, p, "ambiguous", low, high) for (low, high), p in undecided.items() if p > 0]
        rows += [Row(math.nan, self.off, "off_scale")] if self.off > 0 else []
        hidden = [Row(math.nan, self.hidden, "unseen", min(self.absent), max(self.absent))] if self.hidden else []
        return rows + hidden


def _is_beginning(meaning: _Meaning, whole: set[float]) -> bool:
    """Whether a text that may go on to longer labels does so; a 1 beside a 10 of one token does not: it is a 1."""
    return math.isnan(meaning.value) or not meaning.longer & whole


def _token_at(tokens: list[bytes], start: int) -> tuple[int, str]:
    """The token in which the answer starts, and what it says before that."""
    begins = list(accumulate(map(len, tokens), initial=0))
    place = bisect_right(begins, start) - 1
    return place, _plain(tokens[place][: start - begins[place]]) if place < len(tokens) else ""


def _merged(listed: Candidates, lead: str) -> dict[str, float]:
    """Probability of each spelling after the lead, given the lead."""
    top: dict[str, float] = {}
    for token, p in listed:
        if p > 0:
            text = token.decode("utf-8", "surrogateescape")
            top[text] = top.get(text, 0.0) + p
    reported = fitting = sum(top.values())
    if lead:
        top = {text[len(lead) :]: p for text, p in top.items() if text.startswith(lead)}
        fitting = sum(top.values())
    # rounded probabilities may add up to a little more than 1
    total = max(fitting, 1.0 - (reported - fitting))
    return top if total in (0.0, 1.0) else {text: p / total for text, p in top.items()}


def _least(top: Mapping[str, float], here: str) -> float:
    """The least probability that a list shows, but of the token drawn, which is listed even where it is less."""
    return min((p for piece, p in top.items() if piece != here), default=top.get(here, 0.0))


def _plain(token: bytes) -> str:
    return token.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
