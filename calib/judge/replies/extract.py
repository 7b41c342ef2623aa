"""From a reply to rating rows: pure functions, no network, no table.

The answer is found by the prompt's declared pattern in the text, mapped to the tokens
that spell it, and the distribution is read there; a digit anywhere else is never taken.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import NamedTuple

from calib.judge.replies.grammar import Grammar, Meaning, grammar_of
from calib.judge.replies.reply import Candidates, Choice, answer_start, message_offset, unmarked
from calib.judge.scale import Scale

_MOST_FILLING = 16  # after so many blanks and marks a continuation is not asked for
_LEAST_READ = 0.1  # where something else than a label was drawn, labels must hold this much to be read
_RARE = 1e-4  # a token less likely than this, and than all that are listed beside it, was forced and not drawn
_LOG_RARE = math.log(_RARE)
_FLOAT_NOISE = 1e-6  # of sums of probabilities whose logarithms are float32
_FORM_SIGNS = b" \t\r\n\"'`*_#()[]{}<>:,"


class RatingRow(NamedTuple):
    """One row of a rating, in the vocabulary of the ratings table."""

    score: float
    weight: float
    status: str
    low: float = math.nan
    high: float = math.nan


class OpenLabel(NamedTuple):
    """Mass on a beginning of several labels: `prefix` is the reply up to there, `begun` the part from the answer on."""

    prefix: str
    begun: str
    share: float


class Reading(NamedTuple):
    """The rating rows of a reply, at least one, and the beginnings whose continuation was not observed."""

    rows: list[RatingRow]
    open: list[OpenLabel]


def read_label(text: str, scale: Scale, answer: str) -> tuple[float, str]:
    r"""Score and status of a reply's text.

    The status is "ok", or "off_scale" or "unread" where the score is NaN. By `answer` the
    reply starts with the label, after marks and a ``name:``, if any ("label"), the label
    follows the last ``Score:`` or ``Rating:`` that starts a line ("line"), or it is the
    value of the key ``"score"`` of the last JSON object ("json").

    Examples
    --------
    >>> read_label("**4**", Scale(), "label"), read_label("Two flaws in 40 words.", Scale(), "label")
    ((4.0, 'ok'), (nan, 'unread'))
    >>> read_label("It has 4 flaws.\nScore: 2/5", Scale(), "line"), read_label("Score: 7", Scale(), "line")
    ((2.0, 'ok'), (nan, 'off_scale'))
    >>> read_label('{"reason": "4 flaws", "score": "2"}', Scale(), "json")
    (2.0, 'ok')
    """
    grammar = grammar_of(scale, answer)
    return _score_and_status(grammar, grammar.find(text))


def _score_and_status(grammar: Grammar, found: re.Match[str] | None) -> tuple[float, str]:
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
    """Rating rows of one reply: the distribution at the answer's tokens if `logprobs`, otherwise the answer alone.

    What cannot be read is one row with NaN and a status. Labels with less probability than
    `floor` are not told apart: their mass becomes ambiguous. `continued` has by prefix the
    reply that goes on from it, for mass that the reply itself leaves open.

    Examples
    --------
    >>> from calib.judge.replies.reply import decode
    >>> extract(decode(b'{"choices": [{"message": {"content": "4"}}]}').choices[0], Scale(), "label", logprobs=False)
    Reading(rows=[RatingRow(score=4.0, weight=1.0, status='ok', low=nan, high=nan)], open=[])
    """
    grammar, text = grammar_of(scale, answer), _as_text(unmarked(choice.content))
    found = grammar.find(text)
    silent = _why_silent(choice, found)
    if silent == "refused" or (silent and not logprobs):
        return _no_score(silent)
    if not logprobs:
        return Reading([_drawn_row(choice, grammar, text, found)], [])
    # the place of the answer is declared, whichever token was drawn there
    slot = found.start("slot") if found else grammar.slot(text)
    if silent and (slot is None or not text or not choice.tokens):
        return _no_score(silent)
    if trouble := _why_untrusted(choice):
        return _no_score(trouble)
    start = _answer_offset(choice, text, grammar, found, slot)
    if start is None:
        return _no_score(silent or "unread")
    # a number off the scale can begin with one that is on it (7.5, 100)
    stray = found is not None and math.isnan(grammar.value(found["value"]))
    return _Mass(grammar, choice, continued or {}, silent, stray=stray).read(start, floor)


def has_logprobs(choice: Choice) -> bool:
    """Whether any list of candidates came that says something."""
    return any(p > 0 for listed in choice.lists.values() for _, p in listed)


def _no_score(status: str) -> Reading:
    return Reading([RatingRow(math.nan, 1.0, status)], [])


def _why_silent(choice: Choice, found: re.Match[str] | None) -> str:
    """Why there is no answer in the text; empty where there is one."""
    if choice.refusal or choice.finish == "content_filter":
        return "refused"
    if found is not None:
        return ""
    return "truncated" if choice.finish == "length" else "unread"


def _drawn_row(choice: Choice, grammar: Grammar, text: str, found: re.Match[str] | None) -> RatingRow:
    """The row of a reply that is one draw."""
    score, status = _score_and_status(grammar, found)
    # a 1 at which the reply was cut off may have become a 10
    if choice.finish == "length" and found and found.end() == len(text) and grammar.meaning(found["value"]).longer:
        score, status = math.nan, "truncated"
    return RatingRow(score, 1.0, status)


def _answer_offset(
    choice: Choice, text: str, grammar: Grammar, found: re.Match[str] | None, slot: int | None
) -> int | None:
    """Where the answer begins in what the tokens spell; None where tokens and message disagree about it."""
    whole = b"".join(choice.tokens)
    shift = message_offset(choice.tokens, _as_bytes(text))
    if shift < 0:
        text, there = _as_text(whole), grammar.find(_as_text(whole))
        if there is None or found is None or there["value"] != found["value"]:
            return None
        shift, slot = 0, there.start("slot")
    return answer_start(whole, shift + len(_as_bytes(text[:slot])))


def _why_untrusted(choice: Choice) -> str:
    """What keeps the reported probabilities from being those that the model drew from."""
    if not has_logprobs(choice):
        return "no_logprobs"
    # a grammar or schema puts a brace, a quote or a blank where the model would not have
    own = array("f", choice.logprobs)
    signs = [i for i in choice.lists if own[i] < _LOG_RARE and not choice.tokens[i].strip(_FORM_SIGNS)]
    return "constrained" if any(_was_forced(choice, place) for place in signs) else ""


def _was_forced(choice: Choice, place: int) -> bool:
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
        self, grammar: Grammar, choice: Choice, continued: Mapping[str, Choice], silent: str, *, stray: bool
    ) -> None:
        self.grammar, self.choice, self.continued = grammar, choice, continued
        self.silent, self.stray = silent, stray
        self.before = ""
        self.score: dict[float, float] = {}
        self.undecided: dict[tuple[float, float], float] = {}
        self.open: list[OpenLabel] = []
        self.off = self.hidden = 0.0
        self.absent: set[float] = set()

    def read(self, start: int, floor: float) -> Reading:
        """The rows of the distribution at an answer that starts there."""
        self.before = _as_text(b"".join(self.choice.tokens)[:start])
        place, lead = _token_at(self.choice.tokens, start)
        if place == len(self.choice.tokens):
            return _no_score(self.silent or "unread")
        if trouble := self.add(self.choice, place, lead, "", 1.0):
            return _no_score(trouble)
        read = sum(self.score.values())
        # where something else than a label was drawn, labels must not have been a mere possibility
        if not (read > _LEAST_READ if self.silent else read or self.undecided):
            return _no_score(self.silent or "unread")
        return Reading(self.rows(floor), self.open)

    def add(self, choice: Choice, place: int, lead: str, begun: str, share: float) -> str:
        """Spread `share` over the candidates at a place, which continue what has `begun`; says what is in the way.

        `lead` is what the token there says before the answer.
        """
        if (listed := choice.lists.get(place)) is None:
            return "no_logprobs"
        top, here = _spelling_shares(listed, lead), _as_text(choice.tokens[place]).removeprefix(lead)
        if (lead or top.get(here, 0.0) < _RARE) and _was_forced(choice, place):
            return "constrained"  # the list says what the model wanted, not what it could say
        meanings = [self.grammar.meaning(begun + piece) for piece in top]
        whole = {meaning.value for meaning in meanings}
        self._unseen(top, here, begun, whole, share)
        trouble = ""
        for (piece, p), meaning in zip(top.items(), meanings, strict=True):
            drawn = piece == here and choice is self.choice
            if drawn and meaning.longer and place + 1 in choice.lists:
                # what was drawn shows how it goes on
                trouble = self.add(choice, place + 1, "", begun + piece, share * p)
            # a 1 beside a 10 of one token goes on to nothing: it is a 1
            elif meaning.longer and (piece or lead) and (math.isnan(meaning.value) or not meaning.longer & whole):
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

    def _begin(self, text: str, meaning: Meaning, p: float) -> None:
        """The beginning of several labels: settled as another reply continues it, or left open."""
        more = self.continued.get(self.before + text)
        if more and not self.add(more, 0, "", text, p):
            return
        self._undecide(meaning.longer if math.isnan(meaning.value) else meaning.longer | {meaning.value}, p)
        if len(text) <= self.grammar.longest + _MOST_FILLING:
            self.open.append(OpenLabel(self.before + text, text, p))

    def _undecide(self, values: Collection[float], p: float) -> None:
        ends = (min(values), max(values))
        self.undecided[ends] = self.undecided.get(ends, 0.0) + p

    def _unseen(self, top: Mapping[str, float], here: str, begun: str, whole: set[float], share: float) -> None:
        """Labels that are not in the list hold at most as much each as the least that is."""
        if share * (rest := 1.0 - sum(top.values())) <= _FLOAT_NOISE:
            return
        ended, possible = self.grammar.meaning(begun)
        absent = possible - whole
        if not math.isnan(ended):  # what ends a label is one of many tokens
            absent, most = absent | {ended}, 1.0
        else:
            # the token drawn is listed even where it is less probable than what is not
            most = len(absent) * min((p for piece, p in top.items() if piece != here), default=top.get(here, 0.0))
        if (hidden := share * min(rest, most)) > _FLOAT_NOISE:
            self.hidden += hidden
            self.absent |= absent

    def rows(self, floor: float) -> list[RatingRow]:
        faint = {value: p for value, p in self.score.items() if p < floor}
        rows = [RatingRow(value, p, "ok") for value, p in sorted(self.score.items()) if p > 0 and value not in faint]
        if faint:
            self._undecide(faint, sum(faint.values()))
        rows += [RatingRow(math.nan, p, "ambiguous", low, high) for (low, high), p in self.undecided.items() if p > 0]
        rows += [RatingRow(math.nan, self.off, "off_scale")] if self.off > 0 else []
        hidden = [RatingRow(math.nan, self.hidden, "unseen", min(self.absent), max(self.absent))] if self.hidden else []
        return rows + hidden


def _token_at(tokens: list[bytes], start: int) -> tuple[int, str]:
    """The token in which the answer starts, and what it says before that."""
    begins = list(accumulate(map(len, tokens), initial=0))
    place = bisect_right(begins, start) - 1
    return place, _as_text(tokens[place][: start - begins[place]]) if place < len(tokens) else ""


def _spelling_shares(listed: Candidates, lead: str) -> dict[str, float]:
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


def _as_text(token: bytes) -> str:
    return token.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
