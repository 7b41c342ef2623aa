"""The seam to the network: ``async complete(request) -> reply``, in OpenAI's chat-completions form."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from calib.judge import _offline

Reply = Mapping[str, Any] | bytes
Complete = Callable[[dict[str, Any]], Awaitable[Reply]]
AnyComplete = Callable[[dict[str, Any]], Awaitable[Reply] | Reply]

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_WORD = re.compile(r"\b(?:sk|pk|gsk|xai)-[\w-]{8,}|\bBearer\s+\S+")


class JudgeError(RuntimeError):
    """A call to the judge failed. The message holds no key; replies that arrived are kept."""


class LogprobsError(JudgeError):
    """The model or its provider does not give token probabilities."""


def connect(model: str, base_url: str | None) -> tuple[str, Complete]:
    """Name and function of the transport for a model: the embedded judge, or LiteLLM for all others.

    Raises
    ------
    JudgeError
        If the provider's API key is not in the environment.
    """
    if model == "offline":
        return "offline", _offline.complete
    return "litellm", _litellm(model, base_url)


def wrap(complete: AnyComplete) -> tuple[str, Complete]:
    """Name and function of a transport made of any function, plain or async."""

    async def call(request: dict[str, Any]) -> Reply:
        reply = complete(request)
        return await reply if inspect.isawaitable(reply) else reply

    return f"callable:{getattr(complete, '__qualname__', type(complete).__name__)}", call


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
    missing = litellm.validate_environment(model=model)["missing_keys"]
    if missing and base_url is None:
        raise JudgeError(f"no API key for {model}: set {' and '.join(missing)} in the environment.")
    if missing:
        extra["api_key"] = "none"  # a local server asks for no key, but the client insists on one

    async def call(request: dict[str, Any]) -> Reply:
        try:
            response = await litellm.acompletion(**request, **extra)
        except litellm.exceptions.UnsupportedParamsError as error:
            raise LogprobsError(redact(str(error))) from None
        reply: dict[str, Any] = response.model_dump(mode="json", exclude_none=True)
        return reply

    return call
