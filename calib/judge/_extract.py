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

_MARKS = r"[\s\"'`*_#(\[{<]*"  # what may stand around a label
_NAME = rf"(?:[^\W\d][^\n:=]{{0,40}}?[\"'*]*\s*[:=]{_MARKS})?"
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
# a label stands alone: not the start of a word, a number, a range, or a sentence ("2 flaws were found")
_ALONE = r"(?!\w|\.\d|-\w|\s*[-\u2013]\s*\d)(?=\s*(?:\Z|\n|[.,;:!?)\]}>\"'`*_/(]|[-\u2013\u2014]\s|(?:out )?of \d))"
_GOES_ON = r"(?!\w|\.\d)"  # all that a token can tell
_LINE = r"(?:(?m:^)[\W_]*(?:(?i:final|overall|total|my|the)\s+)*|[\"'])"
_OF_WHAT = r"(?:\s*\([^()\n]{0,20}\)|\s+(?:for|of)\s+[\w ]{1,30}?)?[\"'*\s]*"
_SCORE_LINE = rf"{_LINE}(?i:score|rating){_OF_WHAT}[:=]{_MARKS}"
_LIST = re.compile(r"\s*1[.)]\s.*^\s*2[.)]\s", re.DOTALL | re.MULTILINE)  # a numbered list is no rating of 1


@lru_cache(maxsize=64)
def _pattern(scale: Scale, answer: str) -> re.Pattern[str]:
    lead = {"label": rf"\A{_MARKS}(?:-\s+)?{_NAME}", "line": _SCORE_LINE + _NAME, "token": rf"\A{_MARKS}"}[answer]
    words = sorted((label for label in scale.labels if not re.fullmatch(_NUMBER, label)), key=len, reverse=True)
    value = rf"(?P<value>{'|'.join([_NUMBER, *map(re.escape, words)])})"
    tail = _GOES_ON if answer == "token" else _ALONE
    return re.compile(lead + value + tail, re.IGNORECASE if _foldable(scale) else re.NOFLAG)


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
    if answer == "label" and _LIST.match(text):
        return None
    return found[-1] if found else None


def read_label(text: str, scale: Scale, answer: str) -> tuple[float, str]:
    r"""Score and status of a reply's text.

    Parameters
    ----------
    text : str
    scale : Scale
    answer : {"label", "line", "token"}
        "label": the reply starts with the label (after marks and a ``name:``, if any).
        "line": what follows the last ``Score:`` or ``Rating:`` that starts a line.
        "token": the text is the first token or tokens of an answer, not a whole reply.

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
    content = _message(reply).get("content")
    return content if isinstance(content, str) else ""


def has_logprobs(reply: Mapping[str, Any]) -> bool:
    """Whether any emitted token came with a list of candidates that says something."""
    return _informative(_tokens(reply))


def _informative(tokens: list[Token]) -> bool:
    return any(p > 0 for token in tokens for p in token.top.values())


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
    silent = _why_silent(reply, text, scale, answer)
    if silent == "refused" or (silent and not logprobs):
        return [Row(math.nan, 1.0, silent)]
    if not logprobs:
        return [Row(score, 1.0, status)]
    tokens = _tokens(reply)
    if silent and (answer == "line" or not text or not tokens):
        return [Row(math.nan, 1.0, silent)]
    if not _informative(tokens):
        return [Row(math.nan, 1.0, "no_logprobs")]
    # a bare label can only be the first token, whichever token was drawn there
    place = 0 if silent else _locate(tokens, text, scale, answer)
    return _at(tokens, place, scale, status) or [Row(math.nan, 1.0, silent or "unread")]


def _at(tokens: list[Token], place: int | None, scale: Scale, status: str) -> list[Row]:
    """The rows at a place; none where nothing can be read there."""
    if place is None:
        return []
    if _plain(tokens[place].text) not in tokens[place].top:
        # the decoder was constrained: the list says what the model wanted, not what it could say
        return [Row(math.nan, 1.0, "constrained")]
    rows = _distribution(tokens, place, scale, status)
    read = sum(row.weight for row in rows if row.status in ("ok", "ambiguous"))
    # where something else than a label was drawn, it must have been the less likely outcome
    return rows if read > 0 and (status != "unread" or read >= 0.5) else []


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    return _dict(next(iter(_list(reply.get("choices"))), None))


def _message(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    return _dict(_choice(reply).get("message"))


def _why_silent(reply: Mapping[str, Any], text: str, scale: Scale, answer: str) -> str:
    """Why there is no answer in the text; empty where there is one."""
    reason = _choice(reply).get("finish_reason")
    if _message(reply).get("refusal") or reason == "content_filter":
        return "refused"
    if _find(text, scale, answer) is not None:
        return ""
    return "truncated" if reason == "length" else "unread"


# --- the distribution at the answer's tokens --------------------------------------------------------------------


def _tokens(reply: Mapping[str, Any]) -> list[Token]:
    content = _list(_dict(_choice(reply).get("logprobs")).get("content"))
    return [Token(_bytes(_dict(entry)), _top(_dict(entry))) for entry in content]


def _bytes(entry: Mapping[str, Any]) -> bytes:
    given = entry.get("bytes")
    return bytes(given) if given is not None else str(entry.get("token", "")).encode("utf-8", "surrogatepass")


def _top(entry: Mapping[str, Any]) -> dict[str, float]:
    """Probability of each spelling in the top list; what servers write for "impossible" is 0."""
    top: dict[str, float] = {}
    for candidate in map(_dict, _list(entry.get("top_logprobs"))):
        logprob = candidate.get("logprob")
        p = 0.0 if logprob is None or math.isnan(logprob) else math.exp(min(logprob, 0.0))
        text = _plain(_bytes(candidate))
        top[text] = top.get(text, 0.0) + p
    total = max(sum(top.values()), 1.0)  # rounded probabilities may add up to a little more than 1
    return {text: p / total for text, p in top.items()}


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


class _Mass:
    """What the top lists say: mass per scale value, off the scale, and undecided between values."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.score: dict[float, float] = {}
        self.undecided: dict[tuple[float, float], float] = {}
        self.off = 0.0
        self.hidden = 0.0

    def add(self, tokens: list[Token], place: int, begun: str, share: float, *, beyond: bool = False) -> None:
        """Spread `share` over the candidates at `place`, which continue what has `begun`.

        `beyond`: the emitted number goes on past the label that its first token looks like (7.5, 100).
        """
        top, emitted = tokens[place].top, _plain(tokens[place].text)
        whole = {value for text in top if not math.isnan(value := self._value(begun + text))}
        for text, p in top.items():
            longer = self._longer(begun + text)
            if beyond and text == emitted:
                self.off += share * p
            elif not longer or whole & longer:  # a longer label that is listed whole is not spelt in pieces
                self._settle(begun + text, share * p)
            elif text == emitted and place + 1 < len(tokens) and tokens[place + 1].top:
                self.add(tokens, place + 1, begun + text, share * p)  # what was emitted shows how it goes on
            else:
                values = longer | {v for v in [self._value(begun + text)] if not math.isnan(v)}
                self._keep(self.undecided, (min(values), max(values)), share * p)
        least = min((p for p in top.values() if p > 0), default=0.0)
        absent = len(set(self.scale.values) - whole)
        self.hidden += share * min(max(1.0 - sum(top.values()), 0.0), absent * least)

    def _settle(self, text: str, p: float) -> None:
        value = self._value(text)
        if math.isnan(value):
            self.off += p
        else:
            self._keep(self.score, value, p)

    def _value(self, text: str) -> float:
        """What the text means if it ends here or goes on with something else."""
        return read_label(text, self.scale, "token")[0]

    def _longer(self, text: str) -> set[float]:
        """Values of the labels that the text begins without being whole."""
        begun = text.lstrip(" \t\r\n\"'`*_")
        begun = begun.casefold() if _foldable(self.scale) else begun
        return {v for label, v in _values(self.scale).items() if begun and label.startswith(begun) and label != begun}

    @staticmethod
    def _keep(store: dict[Any, float], key: Any, p: float) -> None:
        store[key] = store.get(key, 0.0) + p


def _distribution(tokens: list[Token], place: int, scale: Scale, status: str) -> list[Row]:
    mass = _Mass(scale)
    mass.add(tokens, place, "", 1.0, beyond=status == "off_scale")
    rows = [Row(score, p, "ok") for score, p in sorted(mass.score.items()) if p > 0]
    rows += [Row(math.nan, p, "ambiguous", low, high) for (low, high), p in mass.undecided.items() if p > 0]
    rows += [Row(math.nan, mass.off, "off_scale")] if mass.off > 0 else []
    hidden = [value for value in scale.values if value not in mass.score] or list(scale.values)
    # below float noise of the reported probabilities nothing was left out
    return rows + ([Row(math.nan, mass.hidden, "unseen", min(hidden), max(hidden))] if mass.hidden > 1e-9 else [])
