"""What of an endpoint may be shown, and what must not: keys stand in URLs too."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_WORD = re.compile(
    r"\b(?:sk|pk|gsk|xai)-[\w-]{8,}|\bBearer\s+\S+|\bBasic\s+(?!auth)[\w+/]{6,}=*|(?<=://)[^/@\s]+(?=@)"
)
_SECRET_LENGTH = 6  # letters; what is shorter could be any word
# parts of paths that name a service; another one may be a key
_PATH_WORD = re.compile(
    r"accounts?|anthropic|client|compatib(?:ility|le-mode)|completions|cortex|deployments|endpoints?|engines?|gateway|"
    r"hf-inference|inference|invoke|locations|models?|open(?:ai|api|router)|predict|projects|providers|publishers|"
    r"router|serverless|serving(?:-endpoints)?|v[0-9](?:alpha|beta)[0-9]?",
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
    if not parts.netloc:  # no URL, but it can hold the same things
        host, slash, path = re.split(r"[?#]", url.rpartition("@")[2])[0].partition("/")
        return host + _public_path(slash + path)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], _public_path(parts.path), "", ""))


def origin(url: str) -> str:
    """Scheme, host and port of a URL: what can be said of an address that a server names."""
    parts = url_parts(url)
    shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
    return excerpt(shown) if parts.netloc else "another path of the same host"


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
    named = {value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= _SECRET_LENGTH}
    for secret in sorted(named | _endpoint_secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return _SECRET_WORD.sub("***", text)


def excerpt(text: str, most: int = _MOST_SHOWN) -> str:
    """The beginning of what a server said, without secrets.

    It is shortened afterwards: half a key would not be recognised. Of a very long text so
    much is looked at that where it was cut is not shown.
    """
    return redact(text[:_MOST_LOOKED_AT])[:most]


def _public_path(path: str) -> str:
    return "/".join(_mark(part) if _may_be_key(part) else part for part in path.split("/"))


def _may_be_key(part: str) -> bool:
    return len(part) >= _SECRET_LENGTH and not _PATH_WORD.fullmatch(part)


def _mark(part: str) -> str:
    return "***" + blake2b(unquote(part).encode("utf-8", "replace"), digest_size=3).hexdigest()
