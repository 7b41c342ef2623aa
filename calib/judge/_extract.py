"""From a raw reply to rating rows: pure functions, no network, no table.

A reply is an OpenAI chat-completions response as a dict. The answer is found by the
prompt's declared pattern in the text, mapped to the tokens that spell it, and the
distribution is read there; a digit anywhere else is never taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from calib.judge._prompt import Scale


class Row(NamedTuple):
    """One row of a rating, in the vocabulary of the ratings table."""

    score: float
    weight: float
    status: str
    low: float = math.nan
    high: float = math.nan


class Token(NamedTuple):
    """One emitted token and the most probable ones at its place."""

    text: bytes
    top: dict[str, float]


# --- the answer in the text -------------------------------------------------------------------------------------

_DECORATION = r"[\s\"'`*_#(\[{]*"
_NAME = rf"(?:[^\W\d][^\n:=]{{0,40}}?[\"'*]*\s*[:=]{_DECORATION})?"
_NUMBER = r"[-+]?\d+(?:\.\d+)?"


@lru_cache(maxsize=64)
def _pattern(scale: Scale, answer: str) -> re.Pattern[str]:
    words = sorted((label for label in scale.labels if not re.fullmatch(_NUMBER, label)), key=len, reverse=True)
    value = rf"(?P<value>{'|'.join([_NUMBER, *map(re.escape, words)])})(?!\w)(?!\s*[-\u2013]\s*\d)"
    lead = (
        rf"\A{_DECORATION}(?:-\s+)?{_NAME}"
        if answer == "label"
        else rf"\b(?i:score|rating)\b[\"'*\s]*[:=]{_DECORATION}{_NAME}"
    )
    return re.compile(lead + value, re.IGNORECASE if _foldable(scale) else re.NOFLAG)


@lru_cache(maxsize=64)
def _foldable(scale: Scale) -> bool:
    return len({label.casefold() for label in scale.labels}) == len(scale.labels)


@lru_cache(maxsize=64)
def _values(scale: Scale) -> dict[str, float]:
    fold = _foldable(scale)
    return {label.casefold() if fold else label: value for label, value in zip(scale.labels, scale.values, strict=True)}


def _value(text: str, scale: Scale) -> float:
    """The scale value that a label stands for; NaN off the scale."""
    values = _values(scale)
    key = text.casefold() if _foldable(scale) else text
    if key in values:
        return values[key]
    if scale.numeric and re.fullmatch(_NUMBER, text) and float(text) in scale.values:
        return float(text)
    return math.nan


def _find(text: str, scale: Scale, answer: str) -> re.Match[str] | None:
    """The answer by the declared pattern; for score lines the last one."""
    found = list(_pattern(scale, answer).finditer(text))  # a bare label is anchored: at most one
    return found[-1] if found else None


def read_label(text: str, scale: Scale, answer: str) -> tuple[float, str]:
    r"""Score and status of a reply's text.

    Parameters
    ----------
    text : str
    scale : Scale
    answer : {"label", "line"}
        "label": the reply starts with the label (after marks and a ``name:``, if any).
        "line": what follows the last ``Score:`` or ``Rating:``.

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
    """
    found = _find(text, scale, answer)
    if found is None:
        return math.nan, "unread"
    score = _value(found["value"], scale)
    return score, "off_scale" if math.isnan(score) else "ok"


# --- the reply --------------------------------------------------------------------------------------------------


def reply_text(reply: Mapping[str, Any]) -> str:
    """The message of the first choice, empty where there is none."""
    return str(_message(reply).get("content") or "")


def has_logprobs(reply: Mapping[str, Any]) -> bool:
    """Whether any emitted token came with a list of candidates."""
    return any(token.top for token in _tokens(reply))


def extract(reply: Mapping[str, Any], scale: Scale, answer: str, *, logprobs: bool) -> list[Row]:
    """Rating rows of one reply: one for a drawn reply, the distribution for token probabilities.

    Parameters
    ----------
    reply : mapping
        An OpenAI chat-completions response.
    scale : Scale
    answer : {"label", "line"}
    logprobs : bool
        Read the distribution at the answer's tokens; otherwise the answer alone.

    Returns
    -------
    list of Row
        At least one; what cannot be read is one row with NaN and a status.

    Examples
    --------
    >>> extract({"choices": [{"message": {"content": "4"}}]}, Scale(), "label", logprobs=False)
    [Row(score=4.0, weight=1.0, status='ok', low=nan, high=nan)]
    """
    text = reply_text(reply)
    score, status = read_label(text, scale, answer)
    tokens = _tokens(reply)
    # a bare label can only be the first token, whichever token was drawn there
    bare = logprobs and answer == "label" and bool(text) and bool(tokens)
    if status == "unread" and not bare:
        return [Row(math.nan, 1.0, _why_unread(reply))]
    if not logprobs:
        return [Row(score, 1.0, status)]
    if not has_logprobs(reply):
        return [Row(math.nan, 1.0, "no_logprobs")]
    place = 0 if status == "unread" else _locate(tokens, text, scale, answer)
    if place is None:
        return [Row(math.nan, 1.0, "unread")]
    if _plain(tokens[place].text) not in tokens[place].top:
        # the decoder was constrained: the list says what the model wanted, not what it could say
        return [Row(math.nan, 1.0, "constrained")]
    return _distribution(tokens, place, scale)


def _message(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    return _choice(reply).get("message") or {}


def _choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = reply.get("choices") or [{}]
    return choices[0] or {}


def _why_unread(reply: Mapping[str, Any]) -> str:
    reason = _choice(reply).get("finish_reason")
    if _message(reply).get("refusal") or reason == "content_filter":
        return "refused"
    return "truncated" if reason == "length" else "unread"


# --- the distribution at the answer's tokens --------------------------------------------------------------------


def _tokens(reply: Mapping[str, Any]) -> list[Token]:
    content = (_choice(reply).get("logprobs") or {}).get("content") or []
    return [Token(_bytes(entry), _top(entry)) for entry in content]


def _bytes(entry: Mapping[str, Any]) -> bytes:
    given = entry.get("bytes")
    return bytes(given) if given is not None else str(entry.get("token", "")).encode("utf-8", "surrogatepass")


def _top(entry: Mapping[str, Any]) -> dict[str, float]:
    """Probability of each spelling in the top list; what servers write for "impossible" is 0."""
    top: dict[str, float] = {}
    for candidate in entry.get("top_logprobs") or []:
        logprob = candidate.get("logprob")
        p = 0.0 if logprob is None or math.isnan(logprob) else min(math.exp(min(logprob, 0.0)), 1.0)
        text = _plain(_bytes(candidate))
        top[text] = top.get(text, 0.0) + p
    return top


def _plain(token: bytes) -> str:
    return token.decode("utf-8", "surrogateescape").replace("\u2581", " ").replace("\u0120", " ")


def _locate(tokens: list[Token], text: str, scale: Scale, answer: str) -> int | None:
    """The token in which the answer starts; None where tokens and message disagree about it."""
    spelt = "".join(_plain(token.text) for token in tokens)
    there, said = _find(spelt, scale, answer), _find(text, scale, answer)
    if there is None or said is None or there["value"] != said["value"]:
        return None
    end = 0
    for place, token in enumerate(tokens):
        end += len(_plain(token.text))
        if end > there.start("value"):
            return place
    return None


def _label_part(token: str) -> str:
    return token.strip().strip("\"'`*").strip()


class _Mass:
    """What the top lists say: mass per scale value, off the scale, and undecided between values."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.score: dict[float, float] = {}
        self.off = 0.0
        self.undecided: dict[tuple[float, float], float] = {}
        self.reported = 0.0
        self.smallest = 1.0

    def add(self, tokens: list[Token], place: int, prefix: str, share: float) -> None:
        """Spread `share` over the candidates at `place`, which continue `prefix`."""
        emitted = _plain(tokens[place].text)
        for token, p in tokens[place].top.items():
            self.smallest = min(self.smallest, share * p) if p > 0 else self.smallest
            follows = place + 1 < len(tokens) and token == emitted
            self._candidate(tokens, place, prefix, _label_part(token), share * p, follows)

    def _candidate(self, tokens: list[Token], place: int, prefix: str, part: str, p: float, follows: bool) -> None:
        whole, starts = _value(prefix + part, self.scale), self._starting_with(prefix + part)
        if part and len(starts) > (not math.isnan(whole)):
            # the token begins a longer label: only what was emitted shows how it goes on
            if follows and tokens[place + 1].top:
                return self.add(tokens, place + 1, prefix + part, p)
            ends = starts if math.isnan(whole) else [whole, *starts]
            self._keep(self.undecided, (min(ends), max(ends)), p)
        elif not math.isnan(whole):
            self._keep(self.score, whole, p)
        elif prefix and not re.match(r"[\w.]", part) and not math.isnan(_value(prefix, self.scale)):
            self._keep(self.score, _value(prefix, self.scale), p)  # the label ended before this token
        else:
            self.off += p
        self.reported += p
        return None

    def _starting_with(self, text: str) -> list[float]:
        key = text.casefold() if _foldable(self.scale) else text
        return [value for label, value in _values(self.scale).items() if label.startswith(key)] if key else []

    def _keep(self, store: dict[Any, float], key: Any, p: float) -> None:
        store[key] = store.get(key, 0.0) + p


def _distribution(tokens: list[Token], place: int, scale: Scale) -> list[Row]:
    mass = _Mass(scale)
    mass.add(tokens, place, "", 1.0)
    rows = [Row(score, p, "ok") for score, p in sorted(mass.score.items()) if p > 0]
    rows += [Row(math.nan, p, "ambiguous", low, high) for (low, high), p in mass.undecided.items() if p > 0]
    rows += [Row(math.nan, mass.off, "off_scale")] if mass.off > 0 else []
    hidden = [value for value in scale.values if value not in mass.score]
    unseen = min(max(1.0 - mass.reported, 0.0), len(hidden) * mass.smallest)
    # below float noise of the reported probabilities nothing was left out
    rows += [Row(math.nan, unseen, "unseen", min(hidden), max(hidden))] if unseen > 1e-9 else []
    if any(row.status in ("ok", "ambiguous") for row in rows):
        return rows
    return [Row(math.nan, 1.0, "unread")]
