"""A raw reply, decoded once: what it says, its tokens, and the candidates wherever a label could stand.

Everything downstream reads this form, whether the store kept the reply byte for byte or
only this, so that both give the same ratings. Log-probabilities are float32 from here on.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

_LOWEST = -9999.0  # what is impossible: servers write null, -inf, -9999 or the least float for it
_LABEL_TOKENS = 8  # the longest label, in tokens
_LEADS = 16  # the last score lines or keys of a reply that are looked at

# where a label could stand: at the start, after a name at the start, after a score line or key
_START = re.compile(r"\A\s*[^\n:=]{0,60}[:=]")
_LEAD = re.compile(r"(?:score|rating)[^\n:=]{0,60}([:=])(?:[^\n:=]{0,60}([:=]))?", re.IGNORECASE)
FILLING = " \t\r\n\"'`*_#([{<"  # what may stand between that and the label


class Candidates(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The most probable tokens at one place, and their log-probabilities as packed float32."""

    tokens: list[bytes]
    logprobs: bytes

    def __iter__(self) -> Iterator[tuple[bytes, float]]:
        """Each token with its probability."""
        return zip(self.tokens, map(_probability, array("f", self.logprobs)), strict=True)


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
        return _DECODER.decode(body)
    try:
        return _reply(_JSON.decode(body))
    except (msgspec.MsgspecError, ValueError):
        return _reply(_repaired(body))


def to_json(value: Any) -> bytes:
    """JSON of anything that has one, half characters and all."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def spelt(choice: Choice) -> str:
    """The text that the tokens spell, which can be longer than the message: it holds hidden reasoning too."""
    return b"".join(choice.tokens).decode("utf-8", "surrogateescape")


def offset(whole: str, text: str) -> int:
    """Where the message begins in what the tokens spell; -1 where they say something else."""
    return whole.rfind(_unmarked(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogateescape"))


def answer_start(whole: str, start: int) -> int:
    """The start of an answer together with the blanks and marks before it, which tokens may hold or not."""
    return len(whole[:start].rstrip(FILLING))


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
    return Reply([_choice(choice) for choice in body.choices], usage.prompt_tokens or 0, usage.completion_tokens or 0)


def _choice(choice: _Choice) -> Choice:
    message = choice.message or _Message()
    places = (choice.logprobs and choice.logprobs.content) or []
    tokens = _spellings(places)
    text = message.content or ""
    lists = {i: found for i in _readable(tokens, text) if (found := _candidates(places[i].top_logprobs))}
    own = _float32([place.logprob for place in places])
    content = text.encode("utf-8", "surrogatepass")
    return Choice(content, choice.finish_reason or "", message.refusal or "", tokens, own, lists)


def _candidates(raw: msgspec.Raw) -> Candidates | None:
    listed = _LIST.decode(raw)
    return Candidates(_spellings(listed), _float32([one.logprob for one in listed])) if listed else None


def _spellings(entries: Sequence[_Candidate]) -> list[bytes]:
    """The bytes of tokens; their text where no bytes came."""
    tokens = [one.token.encode("utf-8", "surrogatepass") if one.raw is None else bytes(one.raw) for one in entries]
    return tokens if b"".join(tokens).isascii() else [_unmarked(token) for token in tokens]


def _float32(logprobs: list[float | None]) -> bytes:
    return array("f", [_LOWEST if p is None or not p > _LOWEST else min(p, 0.0) for p in logprobs]).tobytes()


def _probability(logprob: float) -> float:
    return math.exp(logprob) if logprob > _LOWEST else 0.0


def _unmarked(token: bytes) -> bytes:
    """A token with the blanks that tokenizers write as marks of their own (SentencePiece, byte-level)."""
    return token.replace(b"\xe2\x96\x81", b" ").replace(b"\xc4\xa0", b" ").replace(b"\xc4\x8a", b"\n")


def _readable(tokens: list[bytes], text: str) -> list[int]:
    """The places at which a label, or a part of one, could stand by any pattern on any scale."""
    whole = b"".join(tokens).decode("utf-8", "surrogateescape")
    shift = max(offset(whole, text), 0)
    message = whole[shift:]
    starts = [0, *(found.end() for found in [_START.match(message)] if found)]
    leads = list(_LEAD.finditer(message))[-_LEADS:]
    starts += [found.end(group) for found in leads for group in (1, 2) if found[group]]
    ends = list(accumulate(map(len, tokens)))
    places: set[int] = set()
    for start in starts:
        begin = len(whole[: answer_start(whole, shift + start)].encode("utf-8", "surrogateescape"))
        places.update(_label_at(tokens, next((i for i, end in enumerate(ends) if end > begin), len(ends))))
    return sorted(places)


def _label_at(tokens: list[bytes], place: int) -> Iterator[int]:
    """The places of a label that begins here, with what may stand before it."""
    length = 0
    while place < len(tokens) and length < _LABEL_TOKENS:
        yield place
        length += bool(tokens[place].decode("latin-1").lstrip(FILLING))
        if length and b"\n" in tokens[place]:
            return
        place += 1


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
    said = {name: message[name] for name in ("content", "refusal") if isinstance(message.get(name), str)}
    content = [_mended(place) | {"top_logprobs": _top(place)} for place in _list(logprobs.get("content"))]
    finish = _dict(choice).get("finish_reason")
    return {
        "message": said,
        "finish_reason": finish if isinstance(finish, str) else None,
        "logprobs": {"content": content},
    }


def _mended(entry: Any) -> dict[str, Any]:
    entry = _dict(entry)
    logprob, raw = entry.get("logprob"), entry.get("bytes")
    is_number = isinstance(logprob, int | float) and not isinstance(logprob, bool)
    is_bytes = isinstance(raw, list) and all(type(byte) is int and 0 <= byte < 256 for byte in raw)
    given = {"token": str(entry.get("token", "")), "logprob": float(logprob) if is_number else None}
    return given | ({"bytes": raw} if is_bytes else {})


def _top(place: Any) -> msgspec.Raw:
    listed = [_mended(entry) for entry in _list(_dict(place).get("top_logprobs"))]
    return msgspec.Raw(json.dumps(listed, ensure_ascii=False).encode("utf-8", "replace"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _usage(given: Any) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens")
    return {name: _dict(given)[name] for name in names if type(_dict(given).get(name)) is int}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
