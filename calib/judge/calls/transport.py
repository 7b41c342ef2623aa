"""Ways to a judge: ``async complete(request) -> reply``, in OpenAI's chat-completions form.

The embedded judge, the direct transport, LiteLLM and any function are such a thing. None
of them retries: that is done in one place, `calib.judge.calls.client`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
import math
import os
import re
import warnings
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial, wraps
from io import BytesIO
from time import time
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast
from urllib.parse import urlunsplit
from urllib.request import getproxies, proxy_bypass

from calib.core.text import PrintableError, needed
from calib.judge import offline
from calib.judge.calls.endpoint import (
    ACCEPTED,
    MOST_BYTES,
    MOST_ERROR_BYTES,
    excerpt,
    keep_secret,
    public_url,
    read_body,
    redact,
    url_parts,
)
from calib.judge.replies.reply import to_json

if TYPE_CHECKING:
    import aiohttp
    import httpx

RawReply = Mapping[str, Any] | bytes
Complete = Callable[[dict[str, Any]], Awaitable[RawReply]]
AnyComplete = Callable[[dict[str, Any]], Awaitable[RawReply] | RawReply]

OPENAI = "https://api.openai.com/v1"
# fields that OpenAI's own API does not know; LiteLLM hands them through
EXTENSIONS = ("top_k", "min_p", "add_generation_prompt", "continue_final_message")

_FILTER_WORDS = re.compile(r"content[_ ]?(?:filter|(?:management )?policy)", re.IGNORECASE)
_NO_CREDIT_WORDS = re.compile(r"insufficient_quota|billing_(?:hard_limit|not_active)")
_PASSING_STATUSES = (408, 409, 425, 429, *range(500, 600))
_LIMITING_STATUSES = (408, 429, 503, 504, 529)  # of these, what fewer calls at once may help against
_REDIRECTS = (301, 302, 303, 307, 308)
_LONGEST_WAIT = 32 * 86400.0  # seconds; a longer wait cannot be meant
_FINAL_STATUSES = {
    401: "check the API key in the environment",
    402: "the account has no credit",
    403: "check the API key in the environment, and what it may use",
    404: "check the model's name and the base URL",
    405: "check the base URL",
} | dict.fromkeys(_REDIRECTS, "redirects are not followed: give the final address as base URL")
_NO_URL = "the base URL must be one such as 'http://127.0.0.1:8000/v1'."
# what a provider's filter withheld is a reply too: it is kept, as a refusal, and not asked again
_WITHHELD_REPLY = b'{"choices": [{"message": {"content": null}, "finish_reason": "content_filter"}]}'


class JudgeError(PrintableError, RuntimeError):
    """A call to the judge failed. The message holds no key; replies that arrived are kept."""


class LogprobsError(JudgeError):
    """The model or its provider does not give token probabilities; a run in "auto" then samples."""


class RejectedError(JudgeError):
    """The server will not answer this request, however often it is asked."""


class UnavailableError(JudgeError):
    """Trouble that passes: the same call may go through later.

    `limited`: fewer calls at once may help. `retry_after`: seconds, where the server said
    so. `paid`: a reply came, and cannot be used.
    """

    def __init__(
        self, message: str, *, limited: bool = False, retry_after: float | None = None, paid: bool = False
    ) -> None:
        super().__init__(message)
        self.limited, self.retry_after, self.paid = limited, retry_after, paid


class HttpTransport(NamedTuple):
    """A way to a judge: its name, its endpoint as it may be shown, the call, and what to do in the end."""

    name: str
    endpoint: str | None
    complete: Complete
    close: Callable[[], Awaitable[None]] = partial(asyncio.sleep, 0)
    choices: bool = False  # whether it can be asked for several choices at once

    @property
    def address(self) -> str:
        """Name and endpoint as the ratings show them."""
        return f"{self.name}@{self.endpoint}" if self.endpoint else self.name


def connect(model: str, base_url: str | None, concurrency: int = 16, most: int = MOST_BYTES) -> HttpTransport:
    """The transport for a model.

    "offline" is the embedded judge; a model with a `base_url`, or of OpenAI, is asked
    directly; everything else, and what begins with "litellm/", goes through LiteLLM. No
    reply is read further than `most` bytes, and no redirect is followed.
    """
    if model == "offline":
        return HttpTransport("offline", None, offline.complete)
    keep_secret(base_url or os.environ.get("OPENAI_BASE_URL") or "")
    if model.startswith("litellm/") or (base_url is None and not model.startswith("openai/")):
        parts = url_parts(base_url or "")
        if parts.username is not None or parts.query:
            what = "LiteLLM cannot use a user, a password or a query in the base URL, and would log them"
            raise JudgeError(f"{what}; ask an OpenAI-compatible endpoint directly, as 'openai/<model>'.")
        through = _LiteLLM(model.removeprefix("litellm/"), base_url, most)
        return HttpTransport("litellm", base_url and public_url(base_url), through, through.close, True)
    # the variable is the one that OpenAI's own client reads
    endpoint = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    direct = _Direct(model, endpoint, concurrency, most)
    return HttpTransport("direct", public_url(endpoint), direct, direct.close, True)


def wrap(complete: AnyComplete, base_url: str | None, concurrency: int = 16) -> HttpTransport:
    """A transport made of any function; a plain one runs in as many threads as there may be calls at once."""
    keep_secret(base_url or "")
    name = getattr(complete, "__qualname__", type(complete).__name__)
    waits = inspect.iscoroutinefunction(complete) or inspect.iscoroutinefunction(type(complete).__call__)
    threads = ThreadPoolExecutor(concurrency, "calib")

    def in_thread(request: dict[str, Any]) -> Awaitable[RawReply] | RawReply:
        try:
            return complete(request)
        except StopIteration:  # asyncio cannot pass it on, and would wait for ever
            raise RuntimeError("StopIteration") from None

    async def call(request: dict[str, Any]) -> RawReply:
        try:
            if waits:
                return await cast("Awaitable[RawReply]", complete(request))
            run = contextvars.copy_context().run
            reply = await asyncio.get_running_loop().run_in_executor(threads, run, in_thread, request)
            return await reply if inspect.isawaitable(reply) else reply
        except (TimeoutError, ConnectionError) as error:
            kind = TimeoutError if isinstance(error, TimeoutError) else UnavailableError
            message = f"{type(error).__name__}: {excerpt(str(error))}"
        raise kind(message)

    async def close() -> None:
        threads.shutdown(wait=False, cancel_futures=True)

    return HttpTransport(f"callable:{name}", base_url and public_url(base_url), call, close)


def model_name(model: str) -> str:
    """A model as an OpenAI-compatible endpoint knows it."""
    return model.removeprefix("openai/").removeprefix("hosted_vllm/")


def too_long(most: int) -> RejectedError:
    """The error of a reply that was not read to its end."""
    return RejectedError(f"the reply has more than {most:,} bytes, the judge's limit (max_reply_bytes), and was left")


async def _received(status: int, headers: Mapping[str, str], pieces: AsyncIterable[bytes], most: int) -> bytes:
    """The body of a reply, whole; of an error as much as says what is wrong."""
    if status in _REDIRECTS:
        return b""
    try:
        packing = headers.get("content-encoding", "")
        body, whole = await read_body(pieces, packing, most if status == 200 else MOST_ERROR_BYTES)
    except ValueError as error:
        if status != 200:  # that says enough
            return b""
        raise UnavailableError(str(error), paid=True) from None
    if status == 200 and not whole:
        raise too_long(most)
    return body


def _http_error(status: int, reason: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> JudgeError:
    """The error that an HTTP status stands for: of this call, or of the whole run."""
    if status in _REDIRECTS:  # of an address that a server names scheme, host and port may be shown
        parts = url_parts(headers.get("location", ""))
        host = excerpt(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", "")))
        reason = f"it redirects to {host if parts.netloc else 'another path of the same host'}"
    message = f"HTTP {status}: {excerpt(reason)}"
    if _NO_CREDIT_WORDS.search(reason):
        return JudgeError(f"{message} ({_FINAL_STATUSES[402]})")
    if status in _PASSING_STATUSES:
        seconds = math.inf  # to wait, where the server said so: in milliseconds, in seconds or as a date
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            if re.fullmatch(r"[0-9]{1,20}(\.[0-9]+)?", text := headers.get(name, "").strip()):
                seconds = float(text) * unit
                break
        else:
            with suppress(ValueError, OverflowError):
                date = parsedate_to_datetime(text)
                seconds = max((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time(), 0.0)
        retry_after = seconds if seconds <= _LONGEST_WAIT else None
        return UnavailableError(message, limited=status in _LIMITING_STATUSES, retry_after=retry_after)
    if "top_logprobs" in request and "logprob" in reason:
        return LogprobsError(message)
    return JudgeError(f"{message} ({_FINAL_STATUSES[status]})") if status in _FINAL_STATUSES else RejectedError(message)


class _Direct:
    """An endpoint that is asked by aiohttp, over connections that stay open during a run."""

    def __init__(self, model: str, endpoint: str, concurrency: int, most: int) -> None:
        needed("aiohttp", extra="judge", use="calls to a judge")  # before the first call, not in it
        self.model, self.most = model_name(model), most
        parts = url_parts(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise JudgeError(_NO_URL)
        base = parts.path.rstrip("/").removesuffix("/responses")
        self.urls = [urlunsplit(parts._replace(path=base + end)) for end in ("/chat/completions", "/responses")]
        self.has_user = parts.username is not None
        self.concurrency = concurrency
        bypassed = proxy_bypass(parts.netloc.rpartition("@")[2])
        self.proxy = None if bypassed else getproxies().get(parts.scheme)
        self.session: aiohttp.ClientSession | None = None  # opened within the event loop of the calls
        self.needs_key = endpoint == OPENAI  # of the first call; a dry run makes none

    async def __call__(self, request: dict[str, Any]) -> bytes:
        import aiohttp

        if self.session is None:
            # a user in the URL takes the place of the key
            key = None if self.has_user else os.environ.get("OPENAI_API_KEY")
            if self.needs_key and not key:
                raise JudgeError(f"no API key for openai/{self.model}: set OPENAI_API_KEY in the environment.")
            headers = {"content-type": "application/json", "accept-encoding": ACCEPTED}
            self.session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self.concurrency),
                headers=headers | ({"authorization": f"Bearer {key}"} if key else {}),
                # `Pace` limits the time of a call, `read_body` the size of a reply
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
                auto_decompress=False,
            )
        body = to_json(request | {"model": self.model})
        try:
            # aiohttp warns of long bodies in other forms
            data = body if len(body) < 1 << 20 else BytesIO(body)
            url = self.urls["input" in request]
            async with self.session.post(url, data=data, allow_redirects=False, proxy=self.proxy) as response:
                status, answer = response.status, response.headers
                raw = await _received(status, answer, response.content.iter_any(), self.most)
        except aiohttp.InvalidURL:
            failure: JudgeError = JudgeError(_NO_URL)
        except (aiohttp.ClientError, OSError) as error:
            # the connection keeps the error, whose traceback would keep the reply
            failure = UnavailableError(f"{type(error).__name__}: {excerpt(str(error.with_traceback(None)))}")
        else:
            if status == 200:
                return raw
            reason = raw.decode("utf-8", "replace")
            if status == 400 and _FILTER_WORDS.search(reason):
                return _WITHHELD_REPLY
            failure = _http_error(status, reason, request, answer)
        raise failure  # out here it has no context: the first error knows the headers of the request

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()


class _LiteLLM:
    """Any provider, by LiteLLM."""

    under_way: ClassVar[set[_LiteLLM]] = set()

    def __init__(self, model: str, base_url: str | None, most: int) -> None:
        self.model, self.most, self.litellm = model, most, _quiet_litellm()
        self.extra: dict[str, Any] = {"num_retries": 0, "max_retries": 0}
        if base_url is not None:
            self.extra["base_url"] = base_url
            if not os.environ.get("OPENAI_API_KEY"):
                self.extra["api_key"] = "none"  # a local server asks for no key, but the client insists on one

    async def __call__(self, request: dict[str, Any]) -> RawReply:
        self.under_way.add(self)
        fields = {name: value for name, value in request.items() if name not in EXTENSIONS} | {"model": self.model}
        own = {name: request[name] for name in EXTENSIONS if name in request}
        watch = _Watch(self.most)
        token = _watching.set(watch)
        try:
            response = await self.litellm.acompletion(**fields, **self.extra, **({"extra_body": own} if own else {}))
        except Exception as error:  # noqa: BLE001 - providers raise what they like
            body = getattr(error, "body", None)  # with the provider's own code
            code = body.get("code") if isinstance(body, dict) else None
            reason = f"{type(error).__name__}: {error}" + (f" ({code})" if code else "")
            if watch.error_text not in reason:  # what is no whole JSON the client leaves out of its message
                reason = f"{reason} {watch.error_text}"
            status = getattr(error, "status_code", None)
            if status == 400 and _FILTER_WORDS.search(reason):
                return _WITHHELD_REPLY
            if watch.failure:
                failure = watch.failure
            elif isinstance(error, self.litellm.exceptions.UnsupportedParamsError) and "logprob" in reason:
                failure = LogprobsError(excerpt(reason))
            elif re.search(r"api[_ ]?key|credentials", reason, re.IGNORECASE) and (
                missing := self.litellm.validate_environment(model=self.model)["missing_keys"]
            ):
                failure = JudgeError(f"no API key for {self.model}: set {' or '.join(missing)} in the environment.")
            elif isinstance(status, int):
                headers = getattr(error, "litellm_response_headers", None)  # those of its `response` are empty
                failure = _http_error(status, reason, request, headers or {})
            else:
                failure = JudgeError(excerpt(reason))
        else:
            reply: dict[str, Any] = response.model_dump(mode="json", exclude_none=True)
            return reply
        finally:
            _watching.reset(token)
        raise failure

    async def close(self) -> None:
        """Close the connections of this event loop; all that LiteLLM has if no other run (in a thread) uses them."""
        self.under_way.discard(self)
        if not self.under_way:
            await self.litellm.close_litellm_async_clients()
            return
        clients = getattr(self.litellm.in_memory_llm_clients_cache, "cache_dict", {})
        mine = str(id(asyncio.get_running_loop()))  # LiteLLM's own way to tell them apart
        for client in [client for key, client in list(clients.items()) if key.endswith(mine)]:
            with suppress(Exception):
                await client.close()


@dataclass
class _Watch:
    """One call through LiteLLM: how much is read of the reply, and what ended it."""

    most: int
    failure: JudgeError | None = None
    error_text: str = ""  # of a body that is not JSON: the server's own words, or the beginning of a long reply


_watching: contextvars.ContextVar[_Watch | None] = contextvars.ContextVar("_watching", default=None)


@lru_cache(maxsize=1)
def _quiet_litellm() -> Any:
    """LiteLLM with secrets filtered from its logs and, in our own calls, the limit of a reply and no redirects.

    It has no option for either, and its clients follow redirects: httpx, which it uses, is patched for calls of ours.
    """
    # set before the import: without it the import fetches a price list from the network
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own types, which it builds when they are first used
        litellm = needed("litellm", extra="litellm", use="models of this provider")
        litellm.ModelResponse()
    litellm.suppress_debug_info = True
    for name in ("httpx", "openai._base_client", "LiteLLM"):  # they name the URLs that they ask
        logging.getLogger(name).addFilter(_without_secrets)
    import httpx

    send = httpx.AsyncClient.send

    @wraps(send)
    async def watched(client: httpx.AsyncClient, request: httpx.Request, **options: Any) -> httpx.Response:
        if (watch := _watching.get()) is None:
            return await send(client, request, **options)
        request.headers["accept-encoding"] = ACCEPTED
        response = await send(client, request, **options | {"stream": True, "follow_redirects": False})
        status, headers = response.status_code, response.headers
        try:
            if status in _REDIRECTS:
                raise _http_error(status, "", {}, headers)
            body = await _received(status, headers, response.aiter_raw(), watch.most)
        except JudgeError as failure:
            watch.failure = failure  # LiteLLM makes another error of it
            raise
        finally:
            await response.aclose()
        if status != 200:
            try:
                json.loads(body)
            except (ValueError, RecursionError):
                watch.error_text = body.decode("utf-8", "replace")
        framing = ("content-encoding", "content-length", "transfer-encoding")  # of the body as it was sent
        others = [(name, value) for name, value in headers.multi_items() if name not in framing]
        return httpx.Response(status, headers=others, content=body, request=response.request)

    httpx.AsyncClient.send = watched  # type: ignore[method-assign, assignment]
    return litellm


def _without_secrets(record: logging.LogRecord) -> bool:
    record.msg, record.args = redact(record.getMessage()), ()
    if record.exc_info:
        record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        record.exc_info = None
    return True
