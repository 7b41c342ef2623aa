"""From a reply to rating rows: pure functions, no network, no table.

The answer is found by the prompt's declared pattern in the text, mapped to the tokens
that spell it, and the distribution is read there; a digit anywhere else is never taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from calib.judge._prompt import Scale
from calib.judge._reply import FILLING, Candidates, Choice, answer_start, offset, spelt

# part of the store's key: to be raised when a pattern comes to need what compact replies do not hold
PATTERN_VERSION = 1

_MEMORY = 1 << 16  # token texts whose meaning is remembered
_LEAST = 0.1  # where something else than a label was drawn, labels must hold this much to be read


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

_MARKS = r"[\s\"'`*_#(\[{<]*"  # what may stand around a label
_NAME = r"[^\W\d][^\n:=]{0,40}?[\"'*]*\s*[:=]"
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
# a label stands alone: not the start of a word, a number, a range, or a sentence ("2 flaws were found")
_ALONE = r"(?!\w|\.\d|-\w|\s*[-\u2013]\s*\d)(?=\s*(?:\Z|\n|[.,;:!?)\]}>\"'`*_/(]|[-\u2013\u2014]\s|(?:out )?of \d))"
_GOES_ON = r"(?!\w|\.\d)"  # all that a token can tell
_LINE = r"(?:(?m:^)[\W_]*(?:(?i:final|overall|total|my|the)\s+)*|[\"'])"
_OF_WHAT = r"(?:\s*\([^()\n]{0,20}\)|\s+(?:for|of)\s+[\w ]{1,30}?)?[\"'*\s]*"
_SCORE_LINE = rf"{_LINE}(?i:score|rating){_OF_WHAT}[:=]"
_LIST = re.compile(r"\s*1[.)]\s.*^\s*2[.)]\s", re.DOTALL | re.MULTILINE)  # a numbered list is no rating of 1
_LEADS = {
    "label": rf"\A(?:{_MARKS}(?:-\s+)?{_NAME}|\s*-\s+)?",
    "line": rf"{_SCORE_LINE}(?:{_MARKS}{_NAME})?",
    "value": "",  # of a JSON key
    "token": r"\A",  # the first token or tokens of an answer
}
_JSON_PART = re.compile(r"\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)|[{}\[\]]", re.DOTALL)
_JSON_KEY = re.compile(r"\"score\"\Z", re.IGNORECASE)
_JSON_COLON = re.compile(r"\s*:")


class _Meaning(NamedTuple):
    """A scale value (NaN off the scale) if the text ends here, and those of the longer labels that it begins."""

    value: float
    longer: frozenset[float]
    blank: bool  # marks and blanks alone: any label may follow


class _Grammar:
    """A scale and a pattern, compiled, with what token texts mean on it remembered."""

    def __init__(self, scale: Scale, answer: str) -> None:
        self.scale, self.answer = scale, answer
        # labels that differ by case alone are kept apart
        self.fold = len({label.casefold() for label in scale.labels}) == len(scale.labels)
        self.values = {self._key(label): value for label, value in zip(scale.labels, scale.values, strict=True)}
        self.meanings: dict[str, _Meaning] = {}
        self.answers = self._compiled("value" if answer == "json" else answer)
        self.tokens = self._compiled("token")

    def _key(self, text: str) -> str:
        return text.casefold() if self.fold else text

    def _compiled(self, lead: str) -> re.Pattern[str]:
        words = sorted((x for x in self.scale.labels if not re.fullmatch(_NUMBER, x)), key=len, reverse=True)
        value = rf"(?P<value>{'|'.join([_NUMBER, *map(re.escape, words)])})"
        tail = _GOES_ON if lead == "token" else _ALONE
        flags = re.IGNORECASE if self.fold else re.NOFLAG
        return re.compile(rf"{_LEADS[lead]}(?P<slot>){_MARKS}{value}{tail}", flags)

    def find(self, text: str) -> re.Match[str] | None:
        """The answer by the declared pattern: of score lines the last one, of keys the last at the top."""
        if self.answer == "json":
            found = [self.answers.match(text, start) for start in _score_keys(text)]
        elif self.answer == "label" and _LIST.match(text):
            return None
        else:
            found = list(self.answers.finditer(text))  # a bare label is anchored: at most one
        return found[-1] if found else None

    def value(self, label: str) -> float:
        """The scale value that a label stands for; NaN off the scale."""
        if (key := self._key(label)) in self.values:
            return self.values[key]
        if self.scale.numeric and re.fullmatch(_NUMBER, label) and float(label) in self.scale.values:
            return float(label)
        return math.nan

    def meaning(self, text: str) -> _Meaning:
        """What the text of tokens at the answer means."""
        if (known := self.meanings.get(text)) is None:
            if len(self.meanings) > _MEMORY:
                self.meanings.clear()
            known = self.meanings[text] = self._meaning(text)
        return known

    def _meaning(self, text: str) -> _Meaning:
        found = self.tokens.match(text)
        value = self.value(found["value"]) if found else math.nan
        marks = len(text) - len(text.lstrip(FILLING))
        if marks == len(text):  # nothing at all ends the reply
            return _Meaning(value, frozenset(self.values.values() if text else ()), bool(text))
        begun = [self._key(text[k:]) for k in range(marks + 1)]  # a label may itself begin with a mark
        longer = {v for label, v in self.values.items() if any(label.startswith(t) and label != t for t in begun)}
        return _Meaning(value, frozenset(longer), blank=False)


@lru_cache(maxsize=64)
def _grammar(scale: Scale, answer: str) -> _Grammar:
    return _Grammar(scale, answer)


def _score_keys(text: str) -> Iterator[int]:
    """Where the values of top-level keys "score" start in the JSON objects of a text."""
    start = text.find("{")
    while start >= 0:
        depth, end = 0, len(text)
        for part in _JSON_PART.finditer(text, start):
            depth += (part[0] in "{[") - (part[0] in "}]")
            if depth == 1 and _JSON_KEY.match(part[0]) and (colon := _JSON_COLON.match(text, part.end())):
                yield colon.end()
            if depth == 0:
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
    >>> from calib.judge._reply import decode
    >>> extract(decode(b'{"choices": [{"message": {"content": "4"}}]}').choices[0], Scale(), "label", logprobs=False)
    Reading(rows=[Row(score=4.0, weight=1.0, status='ok', low=nan, high=nan)], open=[])
    """
    grammar, text = _grammar(scale, answer), _plain(choice.content)
    found = grammar.find(text)
    silent = _why_silent(choice, found)
    if silent == "refused" or (silent and not logprobs):
        return _nothing(silent)
    if not logprobs:
        score, status = _label(grammar, found)
        return Reading([Row(score, 1.0, status)], [])
    if silent and (answer != "label" or not text or not choice.tokens):
        return _nothing(silent)
    if not has_logprobs(choice):
        return _nothing("no_logprobs")
    # a bare label can only be the first token, whichever token was drawn there
    start = _locate(choice, text, grammar, found)
    if start is None:
        return _nothing(silent or "unread")
    return _Mass(grammar, choice, continued or {}, start).read(found, silent, floor)


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


def _locate(choice: Choice, text: str, grammar: _Grammar, found: re.Match[str] | None) -> int | None:
    """Where the answer begins in what the tokens spell; None where tokens and message disagree about it."""
    whole = spelt(choice)
    shift = offset(whole, text)
    if shift >= 0:
        return answer_start(whole, shift + (found.start("slot") if found else 0))
    there = grammar.find(whole)
    if there is None or found is None or there["value"] != found["value"]:
        return None
    return answer_start(whole, there.start("slot"))


# --- the distribution at the answer's tokens --------------------------------------------------------------------


class _Mass:
    """What the candidates say: mass per scale value, undecided between values, off the scale, not shown."""

    def __init__(self, grammar: _Grammar, choice: Choice, continued: Mapping[str, Choice], start: int) -> None:
        self.grammar, self.choice, self.continued = grammar, choice, continued
        self.said = spelt(choice)[:start]
        self.score: dict[float, float] = {}
        self.undecided: dict[tuple[float, float], float] = {}
        self.open: list[Open] = []
        self.off = self.hidden = 0.0
        self.absent: set[float] = set()
        self.beyond = False

    def read(self, found: re.Match[str] | None, silent: str, floor: float) -> Reading:
        """The rows of the distribution at the answer."""
        # a number off the scale can begin with one that is on it (7.5, 100)
        self.beyond = found is not None and math.isnan(self.grammar.value(found["value"]))
        place, lead = _token_at(self.choice.tokens, self.said)
        if trouble := self.add(self.choice, place, lead, "", 1.0):
            return _nothing(trouble)
        read = sum(self.score.values())
        # where something else than a label was drawn, labels must not have been a mere possibility
        if not (read > _LEAST if silent else read or self.undecided):
            return _nothing(silent or "unread")
        return Reading(self.rows(floor), self.open)

    def add(self, choice: Choice, place: int, lead: str, begun: str, share: float) -> str:
        """Spread `share` over the candidates at a place, which continue what has `begun`; says what is in the way.

        `lead` is what the token there says before the answer.
        """
        if (listed := choice.lists.get(place)) is None:
            return "no_logprobs"
        top, other = _merged(listed, lead)
        here = _plain(choice.tokens[place]).removeprefix(lead)
        if here not in top:
            return "constrained"  # the list says what the model wanted, not what it could say
        self.off += share * other
        whole = {value for text in top if not math.isnan(value := self.grammar.meaning(begun + text).value)}
        for text, p in top.items():
            if trouble := self._one(choice, place, begun + text, share * p, whole, emitted=text == here):
                return trouble
        self._unseen(1.0 - other - sum(top.values()), top, whole, share)
        return ""

    def _one(self, choice: Choice, place: int, text: str, p: float, whole: set[float], *, emitted: bool) -> str:
        """Settle one candidate, or go on with what follows it."""
        value, longer, blank = self.grammar.meaning(text)
        if emitted and self.beyond and not blank:
            self.off += p
        elif not longer or (not blank and whole & longer):  # a label that is listed whole is not spelt in pieces
            self._settle(value, p)
        elif emitted and place + 1 in choice.lists:
            return self.add(choice, place + 1, "", text, p)  # what was emitted shows how it goes on
        elif (more := self.continued.get(self.said + text)) and 0 in more.lists:
            return self.add(more, 0, "", text, p)
        else:
            self._leave_open(text, p, longer | {v for v in (value,) if not math.isnan(v)})
        return ""

    def _settle(self, value: float, p: float) -> None:
        if math.isnan(value):
            self.off += p
        else:
            self.score[value] = self.score.get(value, 0.0) + p

    def _leave_open(self, text: str, p: float, values: set[float] | frozenset[float]) -> None:
        ends = (min(values), max(values))
        self.undecided[ends] = self.undecided.get(ends, 0.0) + p
        self.open.append(Open(self.said + text, text, p))

    def _unseen(self, rest: float, top: Mapping[str, float], whole: set[float], share: float) -> None:
        """Labels that are not in the list hold at most as much each as the least that is."""
        absent = set(self.grammar.values.values()) - whole
        least = min((p for p in top.values() if p > 0), default=0.0)
        hidden = share * min(max(rest, 0.0), len(absent) * least)
        if hidden > 1e-9:  # below the float noise of the reported probabilities nothing was left out
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


def _token_at(tokens: list[bytes], said: str) -> tuple[int, str]:
    """The token that follows what was said, and how much of what was said it holds itself."""
    left = len(said.encode("utf-8", "surrogateescape"))
    for place, token in enumerate(tokens):
        if left < len(token):
            return place, _plain(token[:left])
        left -= len(token)
    return len(tokens), ""


def _merged(listed: Candidates, lead: str) -> tuple[dict[str, float], float]:
    """Probability of each spelling after the lead, and of candidates that do not begin with the lead."""
    top: dict[str, float] = {}
    for token, p in listed:
        text = _plain(token)
        top[text] = top.get(text, 0.0) + p
    total = max(sum(top.values()), 1.0)  # rounded probabilities may add up to a little more than 1
    fitting = {text[len(lead) :]: p / total for text, p in top.items() if text.startswith(lead)}
    return fitting, (sum(top.values()) / total - sum(fitting.values()) if lead else 0.0)


def _plain(token: bytes) -> str:
    return token.decode("utf-8", "surrogateescape")
