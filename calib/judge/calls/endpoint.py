"""Endpoints: what of a URL may be shown (keys stand there, too), how much of a reply is read, and what calls cost."""

from __future__ import annotations

import json
import os
import re
import zlib
from base64 import b64encode
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|JWT", re.IGNORECASE)
_KEY_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?|JWT|BEARER_TOKEN_BEDROCK)$", re.IGNORECASE)
_SECRET_WORD = re.compile(
    r"\b(?:sk|pk|gsk|xai)-[\w-]{8,}|\bBearer\s+\S+|\bBasic\s+(?!auth)[\w+/]{6,}=*|(?<=://)[^/@\s]+(?=@)"
)
_SECRET_LENGTH, _KEY_LENGTH = 6, 8  # letters; what is shorter could be any word
# parts of paths that name a service; another one may be a key
_PATH_WORD = re.compile(
    r"accounts?|anthropic|client|compatib(?:ility|le-mode)|completions|cortex|deployments|endpoints?|engines?|gateway|"
    r"hf-inference|inference|invoke|locations|models?|open(?:ai|api|router)|predict|projects|providers|publishers|"
    r"responses|router|serverless|serving(?:-endpoints)?|v[0-9](?:alpha|beta)[0-9]?",
    re.IGNORECASE,
)
_MOST_SHOWN, _MOST_LOOKED_AT = 500, 1 << 16  # characters of what a server says
_endpoint_secrets: set[str] = set()  # what may be a key in the endpoints that were asked


def url_parts(url: str) -> SplitResult:
    """The parts of a URL, empty where it is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def public_url(url: str) -> str:
    """An endpoint without user, password and query, and with a mark for each part of the path that may be a key.

    The mark (three bytes of a hash) tells two endpoints of one host apart.

    Examples
    --------
    >>> public_url("https://me:secret@host:8000/v1?key=abc"), public_url("https://host/my-key-123/v1")
    ('https://host:8000/v1', 'https://host/***a2eeac/v1')
    """
    parts = url_parts(url)
    host, path = parts.netloc.rpartition("@")[2], parts.path
    if not parts.netloc:  # no URL, but it can hold the same things
        host, slash, path = re.split(r"[?#]", url.rpartition("@")[2])[0].partition("/")
        path = slash + path
    pieces = path.split("/")
    for place, piece in enumerate(pieces):
        if _may_be_key(piece):
            pieces[place] = "***" + blake2b(unquote(piece).encode("utf-8", "replace"), digest_size=3).hexdigest()
    path = "/".join(pieces)
    return urlunsplit((parts.scheme, host, path, "", "")) if parts.netloc else host + path


def keep_secret(url: str) -> None:
    """Have `redact` take out what `public_url` leaves out: a server may repeat it."""
    parts = url_parts(url)
    path = parts.path if parts.netloc else url.partition("/")[2]
    secrets = [parts.username or "", parts.password or "", parts.query, *(value for _, value in parse_qsl(parts.query))]
    secrets += filter(_may_be_key, re.split(r"[/;=]", path))
    spellings = {form for one in secrets for form in (one, unquote(one), quote(unquote(one)))}
    _endpoint_secrets.update(form for form in spellings if len(form) >= _SECRET_LENGTH)


def redact(text: str) -> str:
    """The text without anything that is, or looks like, a secret of this environment.

    Examples
    --------
    >>> redact("401: Incorrect API key provided: sk-abcdefgh1234.")
    '401: Incorrect API key provided: ***.'
    """
    values = {value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= _SECRET_LENGTH}
    for secret in sorted(values | _endpoint_secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return _SECRET_WORD.sub("***", text)


def sent_secrets() -> list[bytes]:
    """Keys of this environment and its endpoints as a reply may repeat them: as they are, and inside base64.

    Only what can be no word: from 8 letters on, and of an endpoint with a digit among them.
    """
    values = {value for name, value in os.environ.items() if _KEY_NAME.search(name)}
    secrets = values | {one for one in _endpoint_secrets if re.search("[0-9]", one)}
    forms = set[bytes]()
    for secret in (one.encode("utf-8", "surrogateescape") for one in secrets if len(one) >= _KEY_LENGTH):
        forms.add(secret)
        for shift in range(3):  # where it begins in a group of three bytes: the letters that it alone decides
            inside = b64encode(bytes(shift) + secret)[-(-8 * shift // 6) : (len(secret) + shift) * 8 // 6]
            forms |= {inside, inside.translate(bytes.maketrans(b"+/", b"-_"))}
    return sorted(forms, key=len, reverse=True)


def excerpt(text: str, most: int = _MOST_SHOWN) -> str:
    """The beginning of what a server said, without secrets.

    It is shortened afterwards: half a key would not be recognised. Of a very long text so
    much is looked at that where it was cut is not shown.
    """
    return redact(text[:_MOST_LOOKED_AT])[:most]


def _may_be_key(part: str) -> bool:
    return len(part) >= _SECRET_LENGTH and not _PATH_WORD.fullmatch(part)


# --- bodies of replies, read and unpacked no further than allowed -----------------------------------------------------


ACCEPTED = "gzip, deflate"  # what a server may pack a reply with
MOST_BYTES = 16_000_000  # of a reply: a thousand tokens with twenty candidates each have 2 MB
MOST_ERROR_BYTES = 1 << 16  # of what comes with an error: its beginning says what is wrong


async def read_body(pieces: AsyncIterable[bytes], encoding: str, most: int) -> tuple[bytes, bool]:
    """Take the pieces of a body, and unpack each as it comes; both sizes are limited.

    Returns what arrived, and whether that is all of it. A ValueError says that it does not unpack.
    """
    name, stream, begun = encoding.strip().lower(), zlib.decompressobj(31), False
    packed = name not in ("", "identity")
    if packed and name not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"the reply is packed by {encoding[:40]!r}, and {ACCEPTED} were asked for")
    data, size, arrived = list[bytes](), 0, 0
    async for piece in pieces:
        if not begun and piece:
            begun = True
            if name == "deflate":  # with the frame that the standard asks for, or without, as some servers have it
                stream = zlib.decompressobj(15 if piece[0] & 15 == 8 else -15)
        try:
            # one byte more than allowed shows that there is more; the rest is not asked for any more
            data.append(stream.decompress(piece, most + 1 - size) if packed else piece)
        except zlib.error as error:
            raise ValueError(f"the reply does not unpack by {name}: {error}") from None
        arrived, size = arrived + len(piece), size + len(data[-1])
        if max(arrived, size) > most:
            return b"".join(data)[:most], False
    if packed and begun and not stream.eof:
        raise ValueError(f"the reply, packed by {encoding[:40]!r}, has no end")
    return b"".join(data), True


# --- what calls cost --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a run would ask for, before its first call.

    Attributes
    ----------
    calls : int
        Calls to make; `stored` draws are in the store already.
    input_tokens : int
        An estimate: a token of English text has about four characters.
    output_tokens : int
        The most that the replies can hold.
    cost : float or None
        US dollars at most; None where the price is not known.
    otherwise : DryRun or None
        What it asks for where ``method="auto"`` finds that the model gives no token probabilities, which the first
        call shows; None where that is settled, or no more calls.

    Examples
    --------
    >>> print(DryRun(calls=2, stored=0, input_tokens=900, output_tokens=16, cost=None))
    2 calls (0 draws in the store): about 900 tokens in, at most 16 tokens out, price not known
    """

    calls: int
    stored: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    otherwise: DryRun | None = None

    def __str__(self) -> str:
        tokens = f"about {self.input_tokens:,} tokens in, at most {self.output_tokens:,} tokens out"
        price = "price not known" if self.cost is None else f"at most ${self.cost:,.4f}"
        text = f"{self.calls:,} calls ({self.stored:,} draws in the store): {tokens}, {price}"
        return f"{text}; without token probabilities {self.otherwise}" if self.otherwise else text


def dry_run_of(parts: Sequence[DryRun]) -> DryRun:
    """The sum of several dry runs."""
    cost = None if any(part.cost is None for part in parts) else sum(part.cost or 0.0 for part in parts)
    names = ("calls", "stored", "input_tokens", "output_tokens")
    sums = {name: sum(getattr(part, name) for part in parts) for name in names}
    is_open = any(part.otherwise for part in parts)
    otherwise = dry_run_of([part.otherwise or replace(part, otherwise=None) for part in parts]) if is_open else None
    return DryRun(**sums, cost=cost, otherwise=otherwise)


def input_tokens(body: Mapping[str, Any]) -> int:
    """Tokens of a request, estimated: four characters of English text each, about."""
    return sum(len(message["content"]) for message in body["messages"]) // 4 + 1


def most_output_tokens(body: Mapping[str, Any]) -> int:
    """The most that the replies to a request can hold."""
    most = body.get("max_tokens") or body.get("max_completion_tokens") or body["max_output_tokens"]
    return int(most) * int(body.get("n", 1))


def model_entry(model: str) -> dict[str, Any]:
    """What LiteLLM's list says of a model, empty where it has none."""
    listed, model = _price_list(), model.removeprefix("litellm/")
    if (entry := listed.get(model)) is None:
        provider, _, name = model.partition("/")
        entry = listed.get(name, {})
        # "bedrock" stands for "bedrock_converse" too; another provider may charge something else
        if not str(entry.get("litellm_provider")).startswith(provider):
            return {}
    return entry


@lru_cache
def list_price(model: str) -> tuple[float, float] | None:
    """US dollars per million tokens in and out by LiteLLM's price list; None where it has none.

    Examples
    --------
    >>> list_price("openai/gpt-4o-mini")
    (0.15, 0.6)
    """
    entry = model_entry(model)
    try:
        return round(entry["input_cost_per_token"] * 1e6, 9), round(entry["output_cost_per_token"] * 1e6, 9)
    except (KeyError, TypeError):
        return None


@lru_cache(maxsize=1)
def _price_list() -> dict[str, dict[str, Any]]:
    # the list is read from the installed package without importing it, which takes seconds
    package = find_spec("litellm")
    for folder in (package.submodule_search_locations if package else None) or ():
        path = Path(folder) / "model_prices_and_context_window_backup.json"
        if path.is_file():
            prices: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
            return prices
    return {}
