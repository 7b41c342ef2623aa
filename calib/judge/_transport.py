"""The seam to the network: ``async complete(request) -> reply``, in OpenAI's chat-completions form."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from calib.judge import _offline

Reply = Mapping[str, Any] | bytes
Complete = Callable[[dict[str, Any]], Awaitable[Reply]]
AnyComplete = Callable[[dict[str, Any]], Awaitable[Reply] | Reply]

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_WORD = re.compile(r"\b(?:sk|pk|gsk|xai)-[\w-]{8,}|\bBearer\s+\S+")


class JudgeError(RuntimeError):
    """A call to the judge failed. The message holds no key; replies that arrived are kept."""


class LogprobsError(JudgeError):
    """The model or its provider does not give token probabilities; a run in "auto" then samples."""


def connect(model: str, base_url: str | None) -> tuple[str, Complete]:
    """Name and function of the transport for a model: the embedded judge, or LiteLLM for all others."""
    if model == "offline":
        return "offline", _offline.complete
    return "litellm", _litellm(model, base_url)


def wrap(complete: AnyComplete) -> tuple[str, Complete]:
    """Name and function of a transport made of any function; a plain one runs in threads."""
    name = getattr(complete, "__qualname__", type(complete).__name__)

    async def call(request: dict[str, Any]) -> Reply:
        if inspect.iscoroutinefunction(complete) or inspect.iscoroutinefunction(type(complete).__call__):
            return await cast("Awaitable[Reply]", complete(request))
        reply = await asyncio.to_thread(complete, request)
        return await reply if inspect.isawaitable(reply) else reply

    return f"callable:{name}", call


def decode(reply: Reply) -> Mapping[str, Any]:
    """A reply as a dict, if it is a chat completion at all.

    Raises
    ------
    JudgeError
        If it is not: such a thing is not kept, so that the call is made again.
    """
    try:
        body = json.loads(reply) if isinstance(reply, bytes | bytearray) else reply
    except ValueError:
        body = None
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise JudgeError(f"the reply is no chat completion with `choices`: {redact(repr(reply))[:200]}")
    return cast("Mapping[str, Any]", body)


def public(url: str) -> str:
    """An endpoint without user, password and query.

    Examples
    --------
    >>> public("https://me:secret@host:8000/v1?key=abc")
    'https://host:8000/v1'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def redact(text: str) -> str:
    """The text without anything that is, or looks like, a secret of this environment.

    Examples
    --------
    >>> redact("401: Incorrect API key provided: sk-abcdefgh1234.")
    '401: Incorrect API key provided: ***.'
    """
    secrets = [value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= 6]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return _SECRET_WORD.sub("***", text)


def _litellm(model: str, base_url: str | None) -> Complete:
    # set before the import: without it the import fetches a price list from the network
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    extra: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    if base_url is not None and not os.environ.get("OPENAI_API_KEY"):
        extra["api_key"] = "none"  # a local server asks for no key, but the client insists on one

    async def call(request: dict[str, Any]) -> Reply:
        try:
            response = await litellm.acompletion(**request, **extra)
        except Exception as error:  # noqa: BLE001 - providers raise what they like
            raise _reason(model, request, error) from None
        reply: dict[str, Any] = response.model_dump(mode="json", exclude_none=True)
        return reply

    return call


def _reason(model: str, request: dict[str, Any], error: Exception) -> JudgeError:
    """What went wrong, in words that say what to do where that is known."""
    from litellm import validate_environment

    said = str(error)
    if "logprobs" in request and "logprob" in said:
        return LogprobsError(redact(said))
    missing = validate_environment(model=model)["missing_keys"]
    if missing and re.search(r"api[_ ]?key|credentials", said, re.IGNORECASE):
        return JudgeError(f"no API key for {model}: set {' or '.join(missing)} in the environment.")
    return JudgeError(f"{type(error).__name__}: {redact(said)}")


async def hang_up() -> None:
    """Close the connections that LiteLLM keeps open, before the event loop that they belong to ends."""
    if litellm := sys.modules.get("litellm"):
        await litellm.close_litellm_async_clients()
