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
from itertools import accumulate, islice
from typing import NamedTuple

from calib.judge.replies.grammar import NOTHING, Grammar, Meaning, grammar_of
from calib.judge.replies.reply import UNKNOWN, ReplyChoice, answer_start, empty_before, message_offset, unmarked
from calib.judge.scale import Scale

_MOST_FILLING = 16  # after so many blanks and marks a continuation is not asked for
_LEAST_READ = 0.1  # where something else than a label was drawn, labels must hold this much to be read
_RARE = 1e-4  # a token less likely than this, and than all that are listed beside it, was forced and not drawn
_LOG_RARE = math.log(_RARE)
_FLOAT_NOISE = 1e-6  # of sums of probabilities whose logarithms are float32
_ROUNDING = 5e-3  # by which probabilities may pass 1 in sum that are logarithms in half precision
_NOT_ASCII = re.compile(rb"[\x80-\xff]++")
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


def read_label(text: str, scale: Scale, answer: str, criterion: str = "") -> tuple[float, str]:
    r"""Score and status of a reply's text.

    The status is "ok", or "off_scale" or "unread" where the score is NaN. By `answer` the reply starts with the
    label, after marks and a short ``name:``, if any ("label"), the label follows ``Score:`` or ``Rating:`` on the
    last line that has nothing else ("line"), or it is the value of the key ``"score"`` of the last JSON object that
    shares no line with prose ("json"). What is quoted is no answer, nor is a score on another scale (3/10), nor one
    that the reply refuses to give, only supposes, or takes back.

    Examples
    --------
    >>> read_label("**4**", Scale(), "label"), read_label("Two flaws in 40 words.", Scale(), "label")
    ((4.0, 'ok'), (nan, 'unread'))
    >>> read_label("It has 4 flaws.\nScore: 2/5", Scale(), "line"), read_label("Score: 7", Scale(), "line")
    ((2.0, 'ok'), (nan, 'off_scale'))
    >>> read_label('{"reason": "4 flaws", "score": "2"}', Scale(), "json")
    (2.0, 'ok')
    >>> read_label('The text says "Score: 5".', Scale(), "line"), read_label("Score: 3/10", Scale(), "line")
    ((nan, 'unread'), (nan, 'off_scale'))
    """
    grammar = grammar_of(scale, answer, criterion)
    return _score_and_status(grammar, grammar.find(text))


def _score_and_status(grammar: Grammar, match: re.Match[str] | None) -> tuple[float, str]:
    if match is None:
        return math.nan, "unread"
    score = grammar.value(match)
    return score, "off_scale" if math.isnan(score) else "ok"


def extract(
    choice: ReplyChoice,
    scale: Scale,
    answer: str,
    criterion: str = "",
    *,
    logprobs: bool,
    floor: float = 0.0,
    continued: Mapping[str, ReplyChoice] | None = None,
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
    grammar, text = grammar_of(scale, answer, criterion), _as_text(unmarked(choice.content))
    match = grammar.find(text)
    silent = ""  # why there is no answer in the text
    if choice.refusal or choice.finish == "content_filter":
        silent = "refused"
    elif match is None:
        silent = "truncated" if choice.finish == "length" else "unread"
    if silent == "refused" or (silent and not logprobs):
        return _no_score(silent)
    if not logprobs:
        score, status = _score_and_status(grammar, match)
        # a 1 at which the reply was cut off may have become a 10
        cut_off = choice.finish == "length" and match is not None and match.end() == len(text)
        if cut_off and match and grammar.meaning(_as_bytes(match["value"])).longer:
            score, status = math.nan, "truncated"
        return Reading([RatingRow(score, 1.0, status)], [])
    # the place of the answer is declared, whichever token was drawn there
    slot = match.start("slot") if match else grammar.slot(text)
    if silent and (slot is None or not text or not choice.tokens):
        return _no_score(silent)
    # where the answer is 3/10 on a scale that ends at 5, the others in its list are meant so, too
    other = "off_scale" if match and grammar.is_of_another(match) else ""
    if not choice.has_logprobs:
        return _no_score("no_logprobs")
    # a grammar or schema forced a brace, a quote or a blank: the model did not draw from its probabilities
    own = array("f", choice.logprobs)
    signs = [i for i in choice.lists if own[i] < _LOG_RARE and not choice.tokens[i].strip(_FORM_SIGNS)]
    if status := "constrained" if any(_was_forced(choice, place) for place in signs) else other:
        return _no_score(status)
    start = _answer_offset(choice, text, grammar, match, slot)
    if start is None:
        return _no_score(silent or "unread")
    # a number off the scale can begin with one that is on it (7.5, 100)
    stray = match is not None and math.isnan(grammar.value(match))
    return _Mass(grammar, choice, continued or {}, silent, stray=stray).read(start, floor)


def _no_score(status: str) -> Reading:
    return Reading([RatingRow(math.nan, 1.0, status)], [])


def _answer_offset(
    choice: ReplyChoice, text: str, grammar: Grammar, match: re.Match[str] | None, slot: int | None
) -> int | None:
    """Where the answer begins in what the tokens spell; None where tokens and message disagree about it."""
    whole, before = b"".join(choice.tokens), _as_bytes(text[:slot])
    shift = message_offset(choice.tokens, _as_bytes(text))
    if shift >= 0:
        return answer_start(whole, shift + len(before))
    spelled = grammar.find(_as_text(whole))
    if spelled is not None and match is not None and spelled["value"] == match["value"]:
        return answer_start(whole, len(_as_bytes(_as_text(whole)[: spelled.start("slot")])))
    # tokens that do not say how other characters are spelt: as many of ASCII stand before the answer
    plain = _NOT_ASCII.sub(b"", before)
    if not match or UNKNOWN not in whole or not before[-1:].isascii():
        return None
    if not _NOT_ASCII.sub(b"", whole).startswith(plain):
        return None
    ends = (i + 1 for i, byte in enumerate(whole) if byte < 0x80)
    return next(islice(ends, len(plain) - 1, None)) if plain else 0


def _was_forced(choice: ReplyChoice, place: int) -> bool:
    """Whether a token was emitted that is less likely than all in its list, and too unlikely to be a rare draw."""
    token = choice.tokens[place]
    if choice.share(place) >= _RARE or not token:  # the end of a reply often has no text
        return False
    candidates = {text: p for text, p in choice.lists[place] if p > 0}
    listed = candidates.get(token)
    return listed is None or (listed < _RARE and listed <= min(candidates.values()))


# --- the distribution at the answer's tokens --------------------------------------------------------------------


class _Mass:
    """What the candidates say: mass per scale value, undecided between values, off the scale, not shown."""

    def __init__(
        self, grammar: Grammar, choice: ReplyChoice, continued: Mapping[str, ReplyChoice], silent: str, *, stray: bool
    ) -> None:
        self.grammar, self.choice, self.continued = grammar, choice, continued
        self.silent, self.stray = silent, stray
        self.before = b""
        self.score: dict[float, float] = {}
        self.ends: dict[float, tuple[float, float]] = {}  # of the labels that what is taken for a value may begin
        self.undecided: dict[tuple[float, float], float] = {}
        self.open: list[OpenLabel] = []
        self.off = self.hidden = 0.0
        self.absent: set[float] = set()

    def read(self, start: int, floor: float) -> Reading:
        """The rows of the distribution at an answer that starts there."""
        tokens = self.choice.tokens
        self.before = b"".join(tokens)[:start]
        begins = list(accumulate(map(len, tokens), initial=0))
        place = bisect_right(begins, start) - 1  # the token in which the answer starts
        if place == len(tokens):
            return _no_score(self.silent or "unread")
        lead = tokens[place][: start - begins[place]]  # what it says before that
        if place and not lead and not tokens[place - 1]:
            place = min((i for i in empty_before(tokens, place) if i in self.choice.lists), default=place)
        if status := self.add(self.choice, place, lead, b"", 1.0):
            return _no_score(status)
        read = sum(self.score.values())
        # where something else than a label was drawn, labels must not have been a mere possibility
        if not (read > _LEAST_READ if self.silent else read or self.undecided or (self.stray and self.off)):
            return _no_score(self.silent or "unread")
        faint = {value: p for value, p in self.score.items() if p < floor}
        certain = [(value, p) for value, p in sorted(self.score.items()) if p > 0 and value not in faint]
        rows = [RatingRow(value, p, "ok", *self.ends.get(value, ())) for value, p in certain]
        if faint:
            self._undecide([end for value in faint for end in (value, *self.ends.get(value, ()))], sum(faint.values()))
        rows += [RatingRow(math.nan, p, "ambiguous", low, high) for (low, high), p in self.undecided.items() if p > 0]
        rows += [RatingRow(math.nan, self.off, "off_scale")] if self.off > 0 else []
        hidden = [RatingRow(math.nan, self.hidden, "unseen", min(self.absent), max(self.absent))] if self.hidden else []
        return Reading(rows + hidden, self.open)

    def add(self, choice: ReplyChoice, place: int, lead: bytes, begun: bytes, share: float) -> str:
        """Spread `share` over the candidates at a place, which continue what has `begun`; says what is in the way.

        `lead` is what the token there says before the answer.
        """
        if place not in choice.lists:
            return "no_logprobs"
        listed = [(token, p) for token, p in choice.lists[place] if p > 0]
        if (shares := _spelling_shares(listed, lead)) is None:
            return "bad_logprobs"
        top, repeated = shares
        here = choice.tokens[place][len(lead) :]
        if (lead or top.get(here, 0.0) < _RARE) and _was_forced(choice, place):
            return "constrained"  # the list says what the model wanted, not what it could say
        if here not in top and not _ends_inside(begun) and any(0x80 <= int.from_bytes(one[:1]) < 0xC0 for one in top):
            # some servers show only the last part of a character: the list of the whole is not known
            self._undecide(_possible(self.grammar.meaning(begun)), share)
            return ""
        # what the list does not show may be any label that can follow, in spellings that it does not show either
        if (rest := share * (1.0 - sum(top.values()) - sum(repeated.values()))) > _FLOAT_NOISE:
            self.hidden += rest
            self.absent |= _possible(self.grammar.meaning(begun))
        for piece, p in repeated.items():  # two tokens that read the same, or one told twice
            if values := _possible(self.grammar.meaning(begun + piece)):
                self._undecide(values, share * p)
            else:
                self.off += share * p
        follow = choice is self.choice and UNKNOWN not in here and here not in repeated and place + 1 in choice.lists
        return self._spread(choice, place, lead, begun, top, share, follow=follow)

    def _spread(
        self,
        choice: ReplyChoice,
        place: int,
        lead: bytes,
        begun: bytes,
        top: Mapping[bytes, float],
        share: float,
        *,
        follow: bool,
    ) -> str:
        """Each spelling to where it belongs; with `follow` what was drawn shows how it goes on."""
        here, status = choice.tokens[place][len(lead) :], ""
        remembered = self.grammar.meanings.get  # most of them are
        meanings = [remembered(begun + piece) or self.grammar.meaning(begun + piece) for piece in top]
        listed = {meaning.value for meaning in meanings}
        for (piece, part), meaning in zip(top.items(), meanings, strict=True):
            if meaning is NOTHING and piece:  # most are
                self.off += share * part
                continue
            p, drawn = share * part, piece == here and choice is self.choice
            if not piece and not lead:
                status = self._add_empty(choice, place, begun, p, drawn=drawn) or status
            elif drawn and follow and meaning.longer:
                status = self.add(choice, place + 1, b"", begun + piece, p)
            # a 1 beside a 10 of one token goes on to nothing: it is a 1, or it would have been written so
            elif meaning.longer and (piece or lead) and (math.isnan(meaning.value) or not listed & meaning.longer):
                # the beginning of several labels: settled as another reply continues it, or left open
                text = begun + piece
                prefix = _as_text(self.before + text)
                continuation = self.continued.get(prefix)
                if continuation and not self.add(continuation, 0, b"", text, p):
                    continue
                self._undecide(_possible(meaning), p)
                # no request can end inside a character
                if len(text) <= self.grammar.longest + _MOST_FILLING and UNKNOWN not in text and not _ends_inside(text):
                    self.open.append(OpenLabel(prefix, _as_text(text), p))
            else:
                status = self._settle(meaning, p, drawn=drawn) or status
        return status

    def _add_empty(self, choice: ReplyChoice, place: int, begun: bytes, p: float, *, drawn: bool) -> str:
        """A token without text: the end of the reply, a blank alone, or a part of a character."""
        meaning = self.grammar.meaning(begun)
        once = sum(not token and p > 0 for token, p in choice.lists[place]) == 1
        if drawn and once and not any(choice.tokens[place:]):
            return self._settle(Meaning(meaning.value, frozenset()), p, drawn=True)
        if drawn and once and place + 1 in choice.lists and not self.grammar.beyond_ascii:
            return self.add(choice, place + 1, b"", begun, p)
        # neither a blank nor the end makes another label of one that is whole
        if math.isnan(meaning.value) or self.grammar.beyond_ascii:
            self._undecide(_possible(meaning), p)
        else:
            self._settle(Meaning(meaning.value, frozenset()), p)
        return ""

    def _settle(self, meaning: Meaning, p: float, *, drawn: bool = False) -> str:
        """Count a text that ends here; says what is in the way of one that was drawn."""
        value = meaning.value
        if drawn and self.silent and not math.isnan(value):
            return self.silent  # "2 flaws were found" begins like a label and is none
        if math.isnan(value) or (drawn and self.stray):
            self.off += p
            return ""
        self.score[value] = self.score.get(value, 0.0) + p
        if meaning.longer:
            ends = (*_possible(meaning), *self.ends.get(value, ()))
            self.ends[value] = (min(ends), max(ends))
        return ""

    def _undecide(self, values: Collection[float], p: float) -> None:
        ends = (min(values), max(values))
        self.undecided[ends] = self.undecided.get(ends, 0.0) + p


def _possible(meaning: Meaning) -> frozenset[float]:
    """The values of all that a text can become."""
    return meaning.longer if math.isnan(meaning.value) else meaning.longer | {meaning.value}


def _spelling_shares(
    listed: list[tuple[bytes, float]], lead: bytes
) -> tuple[dict[bytes, float], dict[bytes, float]] | None:
    """Probability of each spelling after the lead, given the lead, and what the list has of the same ones again.

    None where these are no probabilities: together above 1, or one told twice.
    """
    top, repeated, beyond = dict(listed), dict[bytes, float](), 0.0
    reported = fitting = sum(top.values() if len(top) == len(listed) else [p for _, p in listed])
    if reported > 1.0 + _ROUNDING:
        return None
    if len(top) < len(listed):  # two tokens can read the same, but not be as likely to the last digit
        readable = [one for one in listed if one[0] and UNKNOWN not in one[0]]
        if len(set(readable)) < len(readable):
            return None
    if lead or len(top) < len(listed):
        top = {}
        for token, p in listed:
            piece = token[len(lead) :]
            if not (token.startswith(lead) or lead.startswith(token)):
                beyond += p
            elif piece in top and piece and UNKNOWN not in piece:  # the smaller of the two is kept apart
                repeated[piece] = repeated.get(piece, 0.0) + min(p, top[piece])
                top[piece] = max(p, top[piece])
            else:
                top[piece] = top.get(piece, 0.0) + p
        fitting = reported - beyond
    # rounded probabilities may add up to a little more than 1
    total = max(fitting, 1.0 - beyond)
    if total not in (0.0, 1.0):
        top, repeated = ({piece: p / total for piece, p in one.items()} for one in (top, repeated))
    return top, repeated


def _ends_inside(text: bytes) -> bool:
    return "\udc80" <= _as_text(text)[-1:] <= "\udcff"


def _as_text(token: bytes) -> str:
    return token.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
