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
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Any, cast

import msgspec

_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")
_IMPOSSIBLE = -9999.0  # what is impossible: servers write null, -inf, -9999 or the least float for it
_MOST_LOG = 700.0  # the exponential of more is not finite
_MOST_LABEL_TOKENS = 8  # the longest label, in tokens
_MOST_BLANKS = 32  # the most bytes of blanks and marks before it that are read with it
_MOST_PLACES = _MOST_BLANKS + 2 * _MOST_LABEL_TOKENS  # the most tokens of both, empty ones with them
_MOST_LEADS = 16  # the first and the last score lines or keys of a reply that are looked at
_MOST_TOKENS = 1 << 53  # no reply has as many tokens, whatever it says
_MOST_PARTS = 3  # the most tokens of a character before its last
_MOST_END_TOKENS = 2  # the most tokens that end a reply and are not in its message

_CUT_OFF = {"max_output_tokens": "length", "content_filter": "content_filter"}  # by the Responses API

UNKNOWN = b"\xef\xbf\xbd"  # what servers write for bytes that are no character
FILLING = " \t\r\n\"'`*_#([{<"  # what may stand before a label
_FILLING_BYTES = FILLING.encode()
_FILLING_RUN = re.compile(rb"[ \t\r\n\"'`*_#(\[{<]*+")
# where a label could stand: at the start, after a name at the start, after a score line or key
_UP_TO_COLON = rb"[^\n:=\xef]{0,160}+(?:\xef(?!\xbc\x9a)[^\n:=\xef]{0,160}+){0,8}+"  # or one of full width
_NAME_AT_START = re.compile(_FILLING_RUN.pattern + _UP_TO_COLON + rb"(?:[:=]|\xef\xbc\x9a)")
_SCORE_NAMES = re.compile(
    rb"(?:score|rating)%b[\"'*\s]*+([:=]|\xef\xbc\x9a)(?:%b([:=]|\xef\xbc\x9a))?" % (_UP_TO_COLON, _UP_TO_COLON),
    re.IGNORECASE,
)
# what a judge calls a score that reasons in another language, where it stands at the start of a line
SCORE_ABROAD = (
    "Bewertung|Punktzahl|Note|Nota|Puntuaci\u00f3n|Calificaci\u00f3n|Pontua\u00e7\u00e3o|Punteggio|Voto|Beoordeling|Cijfer|"
    "\u041e\u0446\u0435\u043d\u043a\u0430|\u8bc4\u5206|\u8bc4\u4ef7|\u5f97\u5206|\u5206\u6570|\u30b9\u30b3\u30a2|"
    "\u8a55\u4fa1|\u70b9\u6570"
)
_ABROAD_BYTES = re.compile(
    rb"^[^\w\n]{0,8}(?:%b)[^\w\n]{0,8}?(?:[:=]|\xef\xbc\x9a)" % SCORE_ABROAD.encode(), re.MULTILINE | re.IGNORECASE
)
# what ends the reasoning that some servers leave in the message
END_OF_THOUGHTS = (
    r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|<\|channel\|>final<\|message\|>|" "\u25c1/think\u25b7"
)
_THOUGHTS_END_BYTES = re.compile(END_OF_THOUGHTS.encode(), re.IGNORECASE)
# bytes that are no character, as servers write them in the text of a token: SentencePiece; OpenAI and DeepSeek
_BYTE_NAMES = re.compile(rb"(?:<0x[0-9A-Fa-f]{2}>)++")
_ESCAPED = re.compile(rb"(?:bytes:)?((?:[^\\]|\\x[0-9a-f]{2})*+)")
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")
# the alphabet of byte-level tokenizers: a byte that is printed stands for itself, the others for what follows Latin-1
_PRINTED = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_BYTE_LEVEL = {chr(byte): byte for byte in (*_PRINTED, *b" \n")}
_BYTE_LEVEL |= {chr(256 + n): byte for n, byte in enumerate(sorted(set(range(256)) - set(_PRINTED)))}


class Candidates(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The most probable tokens at one place, and their log-probabilities as packed float32."""

    tokens: list[bytes]
    logprobs: bytes

    def __iter__(self) -> Iterator[tuple[bytes, float]]:
        """Each token with its probability."""
        return zip(self.tokens, _probabilities(self.logprobs), strict=True)


class ReplyChoice(msgspec.Struct, frozen=True, array_like=True, gc=False):
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

    @property
    def has_logprobs(self) -> bool:
        """Whether any list of candidates came in which one is possible."""
        return any(p > _IMPOSSIBLE for listed in self.lists.values() for p in array("f", listed.logprobs))

    def share(self, place: int) -> float:
        """The probability of the token at a place."""
        return _probabilities(self.logprobs[4 * place : 4 * place + 4])[0]


class Reply(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one call brought."""

    choices: list[ReplyChoice]
    prompt_tokens: int
    completion_tokens: int

    def pack(self) -> bytes:
        """The compact form that the store keeps."""
        return _PACKER.encode(self)


def decode(body: bytes | Mapping[str, Any]) -> Reply:
    """A reply from an OpenAI chat completion, as JSON or dict, or from its compact form.

    Anything else is a ValueError and is not kept, so that the call is made again.
    """
    if not isinstance(body, bytes | bytearray):
        body = to_json(body)
    if body[:1] == b"\x93":  # how the compact form begins: an array of the three fields of Reply
        try:
            return _UNPACKER.decode(body)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None
    return decode_json(body)


def decode_json(body: bytes) -> Reply:
    """A reply as it comes over the network: only the store may hand out a compact form, which is not looked into."""
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        return _reply_of(_REPLY_JSON.decode(body))
    # not quite in that form: wrong types are left out, NaN is null
    reply: Any = None
    with suppress(ValueError, RecursionError, TypeError, AttributeError):  # of whatever types
        reply = as_chat(json.loads(body, parse_constant={"Infinity": math.inf}.get))
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ValueError("the reply is no chat completion with `choices`")
    counts = {name: _field(reply.get("usage"), name, int) for name in _USAGE}
    mended = []
    for choice in choices:
        message, entries = _field(choice, "message", dict), []
        for place in _field(_field(choice, "logprobs", dict), "content", list):
            top = json.dumps([_mended_entry(entry) for entry in _field(place, "top_logprobs", list)]).encode()
            entries.append(_mended_entry(place) | {"top_logprobs": msgspec.Raw(top)})
        # without half characters, which the compact form cannot hold
        refusal, finish = _field(message, "refusal", str), _field(choice, "finish_reason", str)
        refusal, finish = (text.encode("utf-8", "replace").decode() for text in (refusal, finish))
        mended.append({
            "message": {"content": _field(message, "content", str), "refusal": refusal},
            "finish_reason": finish,
            "logprobs": {"content": entries},
        })  # fmt: skip
    return _reply_of(msgspec.convert({"choices": mended, "usage": counts}, _SentReply))


def masked(reply: Reply, secrets: Sequence[bytes]) -> Reply:
    """A reply without these; a choice that spells one has no tokens any more."""
    pattern, choices = re.compile(b"|".join(map(re.escape, secrets))), list[ReplyChoice]()
    for choice in reply.choices:
        texts = (choice.content, choice.finish.encode(), choice.refusal.encode())
        content, finish, refusal = (pattern.sub(b"***", text) for text in texts)
        listed = (token for one in choice.lists.values() for token in one.tokens)
        spells = pattern.search(b"".join([*choice.tokens, b"\0", *listed]))
        tokens = ([], b"", {}) if spells else (choice.tokens, choice.logprobs, choice.lists)
        choices.append(ReplyChoice(content, finish.decode(), refusal.decode(), *tokens))
    return Reply(choices, reply.prompt_tokens, reply.completion_tokens)


def to_json(value: Any) -> bytes:
    """JSON of anything that has one, half characters and all."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def message_offset(tokens: Sequence[bytes], message: bytes) -> int:
    """Where the message begins in what the tokens spell; -1 where they say something else.

    What the tokens spell can be longer: hidden reasoning comes before the message, and marks of the end after it.
    """
    message, whole = message.rstrip(), b"".join(tokens)
    end = len(whole)
    # not the last occurrence at once: the message "m" is also in "<|im_end|>"
    for token in (b"", *tokens[: -_MOST_END_TOKENS - 1 : -1]):
        end -= len(token)
        stem = whole[:end].rstrip()
        if stem.endswith(message):
            return len(stem) - len(message) if message else 0
    return whole.rfind(message)


def answer_start(whole: bytes, lead: int) -> int:
    """The start of an answer whose lead ends here, together with the blanks and marks before it, on either side."""
    before = _FILLING_RUN.match(whole, lead)
    end = before.end() if before else lead
    near = whole[max(end - _MOST_BLANKS, 0) : end]
    return end - len(near) + len(near.rstrip(_FILLING_BYTES))


def _probabilities(logprobs: bytes) -> list[float]:
    """Of packed log-probabilities; above 1 where these are above 0."""
    return [math.exp(p) if _IMPOSSIBLE < p < _MOST_LOG else math.inf if p > 0.0 else 0.0 for p in array("f", logprobs)]


def unmarked(token: bytes) -> bytes:
    """A token with the blanks that tokenizers write as marks of their own (SentencePiece, byte-level)."""
    if token.isascii():
        return token
    return token.replace(b"\xe2\x96\x81", b" ").replace(b"\xc4\xa0", b" ").replace(b"\xc4\x8a", b"\n")


# --- what a server sends: the fields that are needed, and no more ------------------------------------------------


class _SentText(msgspec.Struct, gc=False):
    token: str = ""
    logprob: float | None = None


class _SentCandidate(_SentText, gc=False):
    raw: list[int] | None = msgspec.field(default=None, name="bytes")


class _SentPlace(_SentCandidate, gc=False):
    top_logprobs: msgspec.Raw = msgspec.Raw(b"null")  # decoded only where a label could stand


class _SentLogprobs(msgspec.Struct):
    content: list[_SentPlace] | None = None
    tokens: list[str] | None = None  # of the legacy shape


class _SentMessage(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _SentChoice(msgspec.Struct):
    message: _SentMessage | None = None
    finish_reason: str | None = None
    logprobs: _SentLogprobs | None = None


class _SentUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None


class _SentReply(msgspec.Struct):
    choices: list[_SentChoice]
    usage: _SentUsage | None = None


_PACKER = msgspec.msgpack.Encoder()
_UNPACKER = msgspec.msgpack.Decoder(Reply)
_REPLY_JSON = msgspec.json.Decoder(_SentReply)
_CANDIDATES_JSON = msgspec.json.Decoder(list[_SentCandidate] | None)
_TEXTS_JSON = msgspec.json.Decoder(list[list[_SentText] | None])


def _reply_of(body: _SentReply) -> Reply:
    if not body.choices:
        raise ValueError("the reply has no `choices`")
    usage = body.usage or _SentUsage()
    # some servers count reasoning only in the total
    replied = max(usage.completion_tokens or 0, (usage.total_tokens or 0) - (usage.prompt_tokens or 0))
    counts = [min(max(count or 0, 0), _MOST_TOKENS) for count in (usage.prompt_tokens, replied)]
    choices = []
    for choice in body.choices:
        message = choice.message or _SentMessage()
        places = (choice.logprobs and choice.logprobs.content) or []
        if not places and choice.logprobs and choice.logprobs.tokens:
            raise ValueError("its log-probabilities are in the legacy shape")
        content = (message.content or "").encode("utf-8", "surrogatepass")
        spell = partial(_spellings, literal=b"<0x" in content or b"\\x" in content)
        tokens = spell(places)
        if not content.isascii() and message_offset(tokens, unmarked(content)) < 0:
            by_bytes = partial(spell, byte_level=True)
            if message_offset(by_bytes(places), content) >= 0:
                spell, tokens = by_bytes, by_bytes(places)
        readable = _readable_places(tokens, content)
        # a reply long enough to show it: its tokens have bytes that say the same as their texts, or none
        texts = None
        if len(readable) < len(places):
            texts = "".join([one.token for one in places]).encode("utf-8", "surrogatepass")
        raws = [places[i].top_logprobs for i in readable]
        # decoded in one piece, and without the bytes where the texts leave no doubt: half of the time
        plain = texts == b"".join(tokens)
        sent = _TEXTS_JSON.decode(b"[%b]" % b",".join(raws)) if plain else [None] * len(raws)
        every = [one for listed in sent if listed for one in listed]
        named, logprobs = _plain_tokens(every), _packed_float32([one.logprob for one in every])
        lists, end = dict[int, Candidates](), 0
        for i, raw, listed in zip(readable, raws, sent, strict=True):
            begin, end = end, end + len(listed or ())
            if listed and (spelled := named[begin:end] or _plain_tokens(listed)):
                lists[i] = Candidates(spelled, logprobs[4 * begin : 4 * end])
            elif whole := _CANDIDATES_JSON.decode(raw):
                lists[i] = Candidates(spell(whole), _packed_float32([one.logprob for one in whole]))
        own = _packed_float32([place.logprob for place in places])
        choices.append(ReplyChoice(content, choice.finish_reason or "", message.refusal or "", tokens, own, lists))
    return Reply(choices, *counts)


def _plain_tokens(listed: Sequence[_SentText]) -> list[bytes]:
    """The bytes of tokens that their texts alone tell; none where one is empty, not ASCII or may be names of bytes."""
    whole = "\0".join([one.token for one in listed])
    if not whole.isascii() or "\\" in whole or "<0x" in whole:
        return []
    tokens = whole.encode().split(b"\0")
    return tokens if len(tokens) == len(listed) and all(tokens) else []


def _spellings(entries: Sequence[_SentCandidate], *, literal: bool, byte_level: bool = False) -> list[bytes]:
    """The bytes of tokens; their text where no bytes came. Names of bytes stand for them, unless they are `literal`.

    `byte_level`: in the alphabet of byte-level tokenizers, by which the message is seen.
    """
    tokens = [bytes(one.raw) if one.raw else one.token.encode("utf-8", "surrogatepass") for one in entries]
    whole = b"".join(tokens)
    if not literal and (b"<0x" in whole or b"\\x" in whole):
        for place, token in enumerate(tokens):
            if _BYTE_NAMES.fullmatch(token):
                tokens[place] = bytes.fromhex(token.replace(b"<0x", b"").replace(b">", b"").decode())
            elif escaped := _ESCAPED.fullmatch(token):
                tokens[place] = _ESCAPE.sub(lambda escape: bytes.fromhex(escape[1].decode()), escaped[1])
    elif whole.isascii() and not byte_level:
        return tokens
    tokens = [unmarked(token) for token in tokens]
    return [from_byte_level(token) for token in tokens] if byte_level else tokens


def from_byte_level(token: bytes) -> bytes:
    """The bytes that a token stands for in the alphabet of byte-level tokenizers; as it is where it is not in it."""
    text = token.decode("utf-8", "surrogateescape")
    return bytes(_BYTE_LEVEL[one] for one in text) if all(one in _BYTE_LEVEL for one in text) else token


def _packed_float32(logprobs: list[float | None]) -> bytes:
    try:
        return array("f", cast("list[float]", logprobs)).tobytes()
    except TypeError:
        return array("f", [_IMPOSSIBLE if p is None else p for p in logprobs]).tobytes()


def _readable_places(tokens: list[bytes], content: bytes) -> list[int]:
    """The places at which a label, or a part of one, could stand by any pattern on any scale."""
    if not tokens:
        return []
    whole = b"".join(tokens)
    message = max(message_offset(tokens, unmarked(content)), 0)
    marked = b">" in whole or b"]" in whole  # faster than the pattern
    thoughts = [mark.end() for mark in _THOUGHTS_END_BYTES.finditer(whole, message)] if marked else []
    start = thoughts[-1] if thoughts else message
    name = _NAME_AT_START.match(whole, start)
    # where score lines and keys end
    lower = whole.lower()  # the pattern is slow to find its first letter
    words = [place for word in (b"score", b"rating") if (place := lower.find(word, message)) >= 0]
    names = _SCORE_NAMES.finditer(whole, min(words)) if words else ()
    leads = [mark.end(group) for mark in names for group in (1, 2) if mark[group]]
    leads += [mark.end() for mark in _ABROAD_BYTES.finditer(whole, message)]
    begins = list(accumulate(map(len, tokens), initial=0))
    places: set[int] = set()
    for lead in {message, start, name.end() if name else start, *leads[:_MOST_LEADS], *leads[-_MOST_LEADS:]}:
        begin = answer_start(whole, lead)
        place = min(bisect_right(begins, begin), len(tokens)) - 1  # not an empty token, unless it ends the reply
        # the label begins so far inside this token; what may stand before it, and its end, are read with it
        inside, length, end = begin - begins[place], 0, min(place + _MOST_PLACES, len(tokens))
        for i in range(place, end):
            token = tokens[i][inside:] if inside else tokens[i]
            part, inside = token.lstrip(_FILLING_BYTES), 0
            length += bool(part)
            if length == _MOST_LABEL_TOKENS or b"\n" in (token if length > bool(part) else part):
                end = i + 1
                break
        places.update(range(place, end), empty_before(tokens, place))
    return sorted(places)


def empty_before(tokens: Sequence[bytes], place: int) -> range:
    """The empty tokens right before one: servers write so a blank alone, and the first parts of a character."""
    first = place
    while place - first < _MOST_PARTS and first and not tokens[first - 1]:
        first -= 1
    return range(first, place)


# --- the fields of replies that are not quite in that form -------------------------------------------------------


def _mended_entry(entry: Any) -> dict[str, Any]:
    entry = entry if isinstance(entry, dict) else {}
    raw, logprob = _field(entry, "bytes", list), entry.get("logprob")
    if not all(type(byte) is int and 0 <= byte < 256 for byte in raw):
        raw = []
    # a whole number may be too large for a float
    share = float(min(max(logprob, _IMPOSSIBLE), -_IMPOSSIBLE)) if type(logprob) in (int, float) else None
    return {"bytes": raw or list(str(entry.get("token", "")).encode("utf-8", "surrogatepass")), "logprob": share}


def _field(value: Any, name: str, kind: type) -> Any:
    """A field of an object; empty where there is none of this kind."""
    field = value.get(name) if isinstance(value, dict) else None
    return field if type(field) is kind else kind()


# --- other shapes: the Responses API, content in parts, legacy log-probabilities --------------------------------------


def as_chat(reply: Any) -> Any:
    """A reply as a chat completion; what has none of these shapes as it is.

    Examples
    --------
    >>> parts = [{"type": "output_text", "text": "4"}]
    >>> answer = as_chat({"output": [{"type": "reasoning"}, {"type": "message", "content": parts}]})
    >>> answer["choices"][0]["message"]["content"]
    '4'
    """
    if not isinstance(reply, dict):
        return reply
    if "choices" not in reply and isinstance(reply.get("output"), list):
        reply = _of_responses(reply)
    choices = reply.get("choices")
    if not isinstance(choices, list):
        return reply
    return reply | {"choices": [_choice(one) if isinstance(one, dict) else one for one in choices]}


def _of_responses(reply: dict[str, Any]) -> dict[str, Any]:
    """What the Responses API sends: the last message counts, and what the model reasoned is no part of it."""
    messages = [one for one in reply["output"] if isinstance(one, dict) and one.get("type") == "message"]
    usage, details = (reply.get(name) or {} for name in ("usage", "incomplete_details"))
    if not messages and reply.get("status") not in ("completed", "incomplete"):
        return reply  # it failed, or is under way
    parts = messages[-1].get("content") if messages else None
    parts = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    refusal = "".join(str(one["refusal"]) for one in parts if one.get("refusal"))
    places = [place for one in parts for place in (one.get("logprobs") or []) if one.get("type") == "output_text"]
    choice = {"message": {"content": parts, "refusal": refusal}, "logprobs": {"content": places}}
    choice["finish_reason"] = _CUT_OFF.get(str(details.get("reason")), "stop")
    counts = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    return {"choices": [choice], "usage": counts | {"total_tokens": usage.get("total_tokens")}}


def _choice(choice: dict[str, Any]) -> dict[str, Any]:
    """A choice with its message in one piece, and log-probabilities place by place."""
    message, logprobs = choice.get("message"), choice.get("logprobs")
    if isinstance(message, dict) and isinstance(parts := message.get("content"), list):
        texts = [one.get("text") for one in parts if isinstance(one, dict) and "thinking" not in one]
        choice = choice | {"message": message | {"content": "".join(one for one in texts if isinstance(one, str))}}
    tokens = logprobs.get("tokens") if isinstance(logprobs, dict) else None
    if not isinstance(logprobs, dict) or logprobs.get("content") or not isinstance(tokens, list):
        return choice
    own, tops = (logprobs.get(name) or [None] * len(tokens) for name in ("token_logprobs", "top_logprobs"))
    places = []
    for token, p, top in zip(tokens, own, tops, strict=False):
        listed = [{"token": token, "logprob": p} for token, p in top.items()] if isinstance(top, dict) else top
        places.append({"token": token, "logprob": p, "top_logprobs": listed if isinstance(listed, list) else []})
    text = {"message": {"content": choice["text"]}} if message is None and "text" in choice else {}
    return choice | text | {"logprobs": {"content": places}}
