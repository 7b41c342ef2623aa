"""A raw reply, decoded once: what it says, its tokens, and the candidates wherever a label could stand.

Everything downstream reads this form, whether the store kept the reply byte for byte or
only this, so that both give the same ratings. Log-probabilities are float32 from here on.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

import msgspec

_LOWEST = -9999.0  # what is impossible: servers write null, -inf, -9999 or the least float for it
_LABEL_TOKENS = 8  # the longest label, in tokens
_BLANKS = 32  # the most bytes of blanks and marks before it that are read with it
_PLACES = _BLANKS + 2 * _LABEL_TOKENS  # the most tokens of both, empty ones with them
_LEADS = 16  # the first and the last score lines or keys of a reply that are looked at
_MOST = 1 << 53  # no reply has as many tokens, whatever it says
_ENDS = 2  # the most tokens that end a reply and are not in its message

FILLING = " \t\r\n\"'`*_#([{<"  # what may stand before a label
_FILLING = FILLING.encode()
_BLANK = re.compile(rb"[ \t\r\n\"'`*_#(\[{<]*+")
# where a label could stand: at the start, after a name at the start, after a score line or key
_START = re.compile(_BLANK.pattern + rb"[^\n:=]{0,160}+[:=]")
_LEAD = re.compile(rb"(?:score|rating)[^\n:=]{0,160}+[\"'*\s]*+([:=])(?:[^\n:=]{0,160}+([:=]))?", re.IGNORECASE)


class Candidates(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The most probable tokens at one place, and their log-probabilities as packed float32."""

    tokens: list[bytes]
    logprobs: bytes

    def __iter__(self) -> Iterator[tuple[bytes, float]]:
        """Each token with its probability."""
        return zip(self.tokens, _shares(self.logprobs), strict=True)


class Choice(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One choice of a reply. `lists` has the candidates at the places of the tokens where a label could stand."""

    content: bytes
    finish: str
    refusal: str
    tokens: list[bytes]
    logprobs: bytes
    lists: dict[int, Candidates]

    @property
    def text(self) -> str:
        """The message, empty where there is none."""
        return self.content.decode("utf-8", "surrogatepass")

    def share(self, place: int) -> float:
        """The probability of the token at a place."""
        return _shares(self.logprobs[4 * place : 4 * place + 4])[0]


class Reply(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one call brought."""

    choices: list[Choice]
    prompt_tokens: int
    completion_tokens: int

    def pack(self) -> bytes:
        """The compact form that the store keeps."""
        return _ENCODER.encode(self)


def decode(body: bytes | Mapping[str, Any]) -> Reply:
    """A reply from an OpenAI chat completion, as JSON or dict, or from its compact form.

    Raises
    ------
    ValueError
        If it is none: such a thing is not kept, so that the call is made again.
    """
    if not isinstance(body, bytes | bytearray):
        body = to_json(body)
    if body[:1] in _PACKED:
        try:
            return _DECODER.decode(body)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None
    try:
        return _reply(_JSON.decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _reply(_repaired(body))


def to_json(value: Any) -> bytes:
    """JSON of anything that has one, half characters and all."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def offset(tokens: Sequence[bytes], message: bytes) -> int:
    """Where the message begins in what the tokens spell; -1 where they say something else.

    What the tokens spell can be longer: hidden reasoning comes before the message, and marks of the end after it.
    """
    message, whole = message.rstrip(), b"".join(tokens)
    end = len(whole)
    # not the last occurrence at once: the message "m" is also in "<|im_end|>"
    for token in (b"", *tokens[: -_ENDS - 1 : -1]):
        end -= len(token)
        stem = whole[:end].rstrip()
        if stem.endswith(message):
            return len(stem) - len(message) if message else 0
    return whole.rfind(message)


def answer_start(whole: bytes, lead: int) -> int:
    """The start of an answer whose lead ends here, together with the blanks and marks before it, on either side."""
    before = _BLANK.match(whole, lead)
    end = before.end() if before else lead
    near = whole[max(end - _BLANKS, 0) : end]
    return end - len(near) + len(near.rstrip(_FILLING))


def _shares(logprobs: bytes) -> list[float]:
    return [math.exp(p) if _LOWEST < p < 0.0 else float(p >= 0.0) for p in array("f", logprobs)]


def unmarked(token: bytes) -> bytes:
    """A token with the blanks that tokenizers write as marks of their own (SentencePiece, byte-level)."""
    if token.isascii():
        return token
    return token.replace(b"\xe2\x96\x81", b" ").replace(b"\xc4\xa0", b" ").replace(b"\xc4\x8a", b"\n")


# --- what a server sends: the fields that are needed, and no more ------------------------------------------------


class _Candidate(msgspec.Struct, gc=False):
    token: str = ""
    logprob: float | None = None
    raw: list[int] | None = msgspec.field(default=None, name="bytes")


class _Place(_Candidate, gc=False):
    top_logprobs: msgspec.Raw = msgspec.Raw(b"null")  # decoded only where a label could stand


class _Logprobs(msgspec.Struct):
    content: list[_Place] | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Reply)
_JSON = msgspec.json.Decoder(_Body)
_LIST = msgspec.json.Decoder(list[_Candidate] | None)
_PACKED = (b"\x93",)  # how the compact form begins: an array of the three fields of Reply


def _reply(body: _Body) -> Reply:
    if not body.choices:
        raise ValueError("the reply has no `choices`")
    usage = body.usage or _Usage()
    counts = [min(max(count or 0, 0), _MOST) for count in (usage.prompt_tokens, usage.completion_tokens)]
    return Reply([_choice(choice) for choice in body.choices], *counts)


def _choice(choice: _Choice) -> Choice:
    message = choice.message or _Message()
    places = (choice.logprobs and choice.logprobs.content) or []
    tokens = _spellings(places)
    content = (message.content or "").encode("utf-8", "surrogatepass")
    lists = {i: found for i in _readable(tokens, content) if (found := _candidates(places[i].top_logprobs))}
    own = _float32([place.logprob for place in places])
    return Choice(content, choice.finish_reason or "", message.refusal or "", tokens, own, lists)


def _candidates(raw: msgspec.Raw) -> Candidates | None:
    listed = _LIST.decode(raw)
    return Candidates(_spellings(listed), _float32([one.logprob for one in listed])) if listed else None


def _spellings(entries: Sequence[_Candidate]) -> list[bytes]:
    """The bytes of tokens; their text where no bytes came."""
    tokens = [bytes(one.raw) if one.raw else one.token.encode("utf-8", "surrogatepass") for one in entries]
    return tokens if b"".join(tokens).isascii() else [unmarked(token) for token in tokens]


def _float32(logprobs: list[float | None]) -> bytes:
    try:
        return array("f", cast("list[float]", logprobs)).tobytes()
    except TypeError:
        return array("f", [_LOWEST if p is None else p for p in logprobs]).tobytes()


def _readable(tokens: list[bytes], content: bytes) -> list[int]:
    """The places at which a label, or a part of one, could stand by any pattern on any scale."""
    if not tokens:
        return []
    whole = b"".join(tokens)
    message = max(offset(tokens, unmarked(content)), 0)
    name = _START.match(whole, message)
    leads = [found.end(group) for found in _LEAD.finditer(whole, message) for group in (1, 2) if found[group]]
    begins = list(accumulate(map(len, tokens), initial=0))
    places: set[int] = set()
    for lead in {message, name.end() if name else message, *leads[:_LEADS], *leads[-_LEADS:]}:
        begin = answer_start(whole, lead)
        place = min(bisect_right(begins, begin), len(tokens)) - 1  # not an empty token, unless it ends the reply
        places.update(_label_at(tokens, place, begin - begins[place]))
    return sorted(places)


def _label_at(tokens: list[bytes], place: int, inside: int) -> Iterator[int]:
    """The places of a label that begins so far inside this token, of what may stand before it, and of its end."""
    length = 0
    for i in range(place, min(place + _PLACES, len(tokens))):
        yield i
        token = tokens[i][inside:]
        part, inside = token.lstrip(_FILLING), 0
        if b"\n" in (token if length else part):
            return
        length += bool(part)
        if length == _LABEL_TOKENS:
            return


# --- replies that are not quite in that form ---------------------------------------------------------------------


def _repaired(body: bytes) -> _Body:
    """The same in that form: wrong types left out, NaN as null.

    Raises
    ------
    ValueError
        If it is no chat completion at all.
    """
    try:
        given = json.loads(body, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        given = None
    choices = given.get("choices") if isinstance(given, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ValueError("the reply is no chat completion with `choices`")
    mended = {"choices": [_mended_choice(choice) for choice in choices], "usage": _usage(given.get("usage"))}
    return msgspec.convert(mended, _Body)


def _mended_choice(choice: Any) -> dict[str, Any]:
    message, logprobs = _dict(_dict(choice).get("message")), _dict(_dict(choice).get("logprobs"))
    content = message.get("content")
    return {
        "message": {"content": content if isinstance(content, str) else None, "refusal": _text(message.get("refusal"))},
        "finish_reason": _text(_dict(choice).get("finish_reason")),
        "logprobs": {
            "content": [_mended(place) | {"top_logprobs": _top(place)} for place in _list(logprobs.get("content"))]
        },
    }


def _mended(entry: Any) -> dict[str, Any]:
    entry = _dict(entry)
    logprob, raw = entry.get("logprob"), entry.get("bytes")
    is_bytes = isinstance(raw, list) and all(type(byte) is int and 0 <= byte < 256 for byte in raw)
    spelt = raw if is_bytes and raw else list(str(entry.get("token", "")).encode("utf-8", "surrogatepass"))
    # a whole number may be too large for a float
    share = float(min(max(logprob, _LOWEST), 0.0)) if type(logprob) in (int, float) else None
    return {"bytes": spelt, "logprob": share}


def _top(place: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps([_mended(entry) for entry in _list(_dict(place).get("top_logprobs"))]).encode())


def _usage(given: Any) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens")
    return {name: _dict(given)[name] for name in names if type(_dict(given).get(name)) is int}


def _text(value: Any) -> str:
    """A text without half characters, which the compact form cannot hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
