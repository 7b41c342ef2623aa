"""Servers that send without end, packed, slowly or elsewhere: what is read of them, where keys go and what is shown."""

import asyncio
import contextlib
import gzip
import hashlib
import itertools
import json
import logging
import socketserver
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from threading import Event
from urllib.parse import unquote

import httpx
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import calib
from calib.judge.calls.endpoint import MOST_BYTES, excerpt, public_url, read_body
from calib.judge.calls.store import Store
from calib.judge.calls.transport import JudgeError, RejectedError, UnavailableError, connect
from calib.judge.prompt import Prompt
from calib.judge.replies.reply import decode

pytestmark = pytest.mark.usefixtures("litellm", "quick")
CANARY = "canary-77d0b1c2e9"
WAYS = {"direct": "openai/local", "litellm": "litellm/openai/local"}
both = pytest.mark.parametrize("way", ["direct", pytest.param("litellm", marks=pytest.mark.slow)])
PROMPT = Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
ITEMS = pd.DataFrame({"item": ["a"], "output": ["One."]})
REQUEST = {"messages": [{"role": "user", "content": "q"}]}
REPLY = {
    "id": "c-1", "object": "chat.completion", "created": 1, "model": "local",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
}  # fmt: skip
GOOD = json.dumps(REPLY).encode()
BITS = {"gzip": 31, "deflate": 15, "raw deflate": -15}  # how zlib names the three forms
MANY = 1 << 62


def packed(data: bytes, coding: str) -> bytes:
    if coding not in BITS:
        return data
    packer = zlib.compressobj(9, zlib.DEFLATED, BITS[coding])
    return packer.compress(data) + packer.flush()


def head(status: int = 200, **headers: object) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {status} Some words", "content-type: application/json", *lines, "", ""]).encode()


def whole(data: bytes, status: int = 200, coding: str = "plain") -> list[bytes]:
    encoding = {} if coding == "plain" else {"content_encoding": coding.removeprefix("raw ")}
    return [head(status, content_length=len(data), **encoding), data]


def chunked(pieces: Iterable[bytes], status: int = 200, **headers: object) -> Iterable[bytes]:
    yield head(status, transfer_encoding="chunked", **headers)
    for piece in pieces:
        yield b"%x\r\n%b\r\n" % (len(piece), piece)


class Handler(socketserver.BaseRequestHandler):
    """Takes a request and sends whatever pieces the server has, as long as somebody listens."""

    def handle(self) -> None:
        with contextlib.suppress(OSError), self.request.makefile("rb") as file:
            while first := file.readline():
                lines = iter(file.readline, b"\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
                file.read(int(headers[b"content-length"]))
                self.server.seen.append((first.split()[1].decode(), headers))
                for piece in self.server.pieces():
                    self.request.sendall(piece)


class Server(socketserver.ThreadingTCPServer):
    """Sends the same pieces to everybody."""

    daemon_threads, block_on_close = True, False

    def __init__(self, pieces: Callable[[], Iterable[bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pieces, self.seen = pieces, []
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.url = f"{self.origin}/v1"


@pytest.fixture
def start(serving):
    def start(pieces: Callable[[], Iterable[bytes]]) -> Server:
        server = Server(pieces)
        serving(server)
        return server

    return start


def asked(server: Server, way: str, most: int = MOST_BYTES) -> object:
    """What one call of a transport brings."""
    transport = connect(WAYS.get(way, way), server.url if way in WAYS else None, most=most)

    async def call() -> object:
        try:
            async with asyncio.timeout(30):
                return await transport.complete(REQUEST)
        finally:
            await transport.close()

    return asyncio.run(call())


def rated(url: str, way: str = "direct", *, store: object = None, **judge: object) -> pd.DataFrame:
    options = {"method": "sample", "draws": 1, "concurrency": 1} | judge
    judge = calib.Judge(WAYS[way], base_url=url, **options)
    return calib.rate(ITEMS, PROMPT, judge, store=store, progress=False)


def text_of(reply: object) -> str:
    return (json.loads(reply) if isinstance(reply, bytes) else reply)["choices"][0]["message"]["content"]


# --- the limit --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.binary(max_size=300), st.sampled_from(["plain", *BITS]), st.integers(1, 60), st.integers(0, 300))
def test_a_body_is_what_was_packed_or_its_beginning(data, coding, step, most):
    sent = packed(data, coding)

    async def pieces() -> AsyncIterator[bytes]:
        for i in range(0, len(sent), step):
            yield sent[i : i + step]

    encoding = "" if coding == "plain" else coding.removeprefix("raw ")
    body, whole = asyncio.run(read_body(pieces(), encoding, most))
    assert whole == (max(len(data), len(sent)) <= most)
    assert body == data if whole else data[:most].startswith(body)


@both
@pytest.mark.parametrize("coding", ["plain", *BITS])
def test_a_reply_may_be_as_long_as_the_limit(start, way, coding):
    for length, passes in ((5000, True), (5001, False)):
        data = GOOD + b" " * (length - len(GOOD))
        server = start(lambda data=data: whole(packed(data, coding), coding=coding))
        if passes:
            assert text_of(asked(server, way, 5000)) == "4"
            assert server.seen[0][1][b"accept-encoding"] == b"gzip, deflate"
            continue
        with pytest.raises(RejectedError, match="the reply has more than 5,000 bytes, the judge's limit"):
            asked(server, way, 5000)


@both
@pytest.mark.parametrize("coding", ["plain", *BITS])
@pytest.mark.parametrize("size", [1, 1 << 16])
def test_a_reply_without_end_ends_at_the_limit(start, way, coding, size):
    def pieces() -> Iterable[bytes]:
        if coding == "plain":
            yield from chunked(itertools.repeat(b" " * size))
            return
        packer = zlib.compressobj(9, zlib.DEFLATED, BITS[coding])
        each = (packer.compress(b" " * size) + packer.flush(zlib.Z_SYNC_FLUSH) for _ in itertools.count())
        yield from chunked(each, content_encoding=coding.removeprefix("raw "))

    with pytest.raises(RejectedError, match="more than 50,000 bytes"):
        asked(start(pieces), way, 50_000)


@both
def test_packed_bytes_that_unpack_to_nothing_count_too(start, way):
    nothing = b"\x00\x00\x00\xff\xff"  # a stored block of no bytes
    begun = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = begun.compress(b"") + begun.flush(zlib.Z_SYNC_FLUSH)
    server = start(lambda: chunked(itertools.chain([first], itertools.repeat(nothing * 1000)), content_encoding="gzip"))
    with pytest.raises(RejectedError, match="more than 50,000 bytes"):
        asked(server, way, 50_000)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """Half a gigabyte in half a megabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(b" " * 1_000_000) for _ in range(500)), packer.flush()])


@pytest.mark.slow
@both
@pytest.mark.parametrize(("status", "kind"), [(200, RejectedError), (400, RejectedError), (500, UnavailableError)])
def test_what_a_small_reply_unpacks_to_does_not_fill_the_memory(start, way, status, kind, bomb):
    server = start(lambda: whole(bomb, status, "gzip"))
    tracemalloc.start()
    try:
        with pytest.raises(kind):
            asked(server, way)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * MOST_BYTES


@both
@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, RejectedError), (401, JudgeError), (404, JudgeError), (429, UnavailableError), (500, UnavailableError)],
)
def test_of_an_error_the_beginning_is_enough(start, way, status, kind):
    said = b'{"error": {"message": "no, and no again' + b" and no" * 10_000
    server = start(lambda: chunked(itertools.chain([said], itertools.repeat(b" and no" * 1000)), status, retry_after=7))
    with pytest.raises(kind, match=f"^HTTP {status}: .*no, and no again") as caught:
        asked(server, way)
    assert type(caught.value) is kind
    assert len(str(caught.value)) < 700
    assert kind is not UnavailableError or caught.value.retry_after == 7


@both
@pytest.mark.parametrize("length", [8, 40, 300])
@pytest.mark.parametrize("around", ["{}", " {}", "{},"])
def test_a_key_is_not_shown_where_a_long_error_is_cut(start, way, monkeypatch, length, around):
    key = (CANARY * 20)[:length]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    server = start(lambda: chunked(itertools.repeat(around.format(key).encode() * 100), 400))
    with pytest.raises(RejectedError) as caught:
        asked(server, way)
    assert key[:8] not in str(caught.value)


@pytest.mark.slow
def test_the_beginning_of_any_text_shows_no_part_of_a_key(monkeypatch):
    for length, gap in itertools.product((6, 17, 100, 380), range(0, 40, 3)):
        key = (CANARY * 30)[:length]
        monkeypatch.setenv("OPENAI_API_KEY", key)
        assert "cana" not in excerpt((key + "." * gap) * 12_000)


def test_a_function_is_held_to_the_limit_too():
    judge = calib.Judge("m", method="sample", draws=1, max_reply_bytes=1000)
    with pytest.raises(JudgeError, match="the reply has more than 1,000 bytes"):
        calib.rate(ITEMS, PROMPT, judge, complete=lambda _: REPLY | {"more": "x" * 1000}, progress=False)
    with pytest.raises(ValueError, match="`max_reply_bytes` must be a whole number"):
        calib.Judge("m", max_reply_bytes=0)


@both
def test_the_judge_says_how_long_a_reply_may_be_and_only_its_item_is_lost(start, way):
    server = start(lambda: whole(GOOD + b" " * (3000 if len(server.seen) == 2 else 0)))
    frame = pd.DataFrame({"item": list("abcd"), "output": list("abcd")})
    judge = calib.Judge(WAYS[way], method="sample", draws=1, base_url=server.url, concurrency=1, max_reply_bytes=2000)
    with pytest.warns(UserWarning, match="1 calls failed .*more than 2,000 bytes"):
        ratings = calib.rate(frame, PROMPT, judge, progress=False)
    assert (ratings["status"] == "failed").tolist() == [False, True, False, False]
    assert len(server.seen) == 4  # it is paid for once


# --- what does not unpack, does not end, or is all head -----------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("coding", "data", "words"),
    [
        ("br", GOOD, "packed by 'br', and gzip, deflate were asked for"),
        ("zstd", GOOD, "packed by 'zstd'"),
        ("gzip, gzip", gzip.compress(gzip.compress(GOOD)), "packed by 'gzip, gzip'"),
        ("gzip", GOOD, "does not unpack by gzip"),
        ("deflate", b"\xff" * 99, "does not unpack by deflate"),
        ("gzip", gzip.compress(GOOD)[:-9], "has no end"),
    ],
)
def test_what_does_not_unpack_may_come_better_the_next_time(start, way, coding, data, words):
    with pytest.raises(UnavailableError, match=words) as caught:
        asked(start(lambda: whole(data, 200, coding)), way)
    assert caught.value.paid
    with pytest.raises(JudgeError, match=r"HTTP 401: .*check the API key"):
        asked(start(lambda: whole(data, 401, coding)), way)


@both
@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP", "deflate", "identity", ""])
def test_how_a_reply_may_be_packed(start, way, coding):
    data = packed(GOOD, coding.lower().removeprefix("x-"))
    assert text_of(asked(start(lambda: whole(data, 200, coding)), way)) == "4"


@both
def test_a_reply_that_comes_drop_by_drop_is_timed(start, way):
    def drops() -> Iterable[bytes]:
        for drop in itertools.repeat(b" "):
            yield drop
            pause.wait(0.02)

    pause = Event()
    server = start(lambda: chunked(drops()))
    with pytest.raises(JudgeError, match=r"no reply within 0.3 s \(given up after one attempt\)"):
        rated(server.url, way, timeout=0.3, deadline=0.3)


HEADS = {
    "a line": lambda: itertools.chain([b"HTTP/1.1 200 OK\r\nx: "], itertools.repeat(b"a" * 10_000)),
    "lines": lambda: itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"x: y\r\n" * 1000)),
    "a name": lambda: itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"a" * 10_000)),
    "the first line": lambda: itertools.chain([b"HTTP/1.1 200 "], itertools.repeat(b"OK" * 10_000)),
    "a chunk's size": lambda: itertools.chain([head(transfer_encoding="chunked")], itertools.repeat(b"0" * 10_000)),
}


@pytest.mark.slow
@both
@pytest.mark.parametrize("pieces", HEADS.values(), ids=HEADS)
def test_a_head_without_end(start, way, pieces):
    server = start(pieces)
    with pytest.raises(JudgeError):
        rated(server.url, way, timeout=2, deadline=2)


COMPACT = [
    b"\x93\x90\x01\x01",  # no choices: each reply would be paid for, and asked for again
    b"\x93\x91\x96\xc4\x015\xa4stop\xa0\x91\xc4\x015\xc4\x03\x00\x00\x00\x81\x00\x92\x91\xc4\x015\xc4\x03\x00\x00\x00\x01\x01",
    decode(GOOD).pack(),
]


@pytest.mark.slow
@pytest.mark.parametrize("body", COMPACT)
@pytest.mark.parametrize("method", ["sample", "logprob"])
def test_the_form_in_which_the_store_keeps_replies_is_none_for_a_server(start, body, method, tmp_path):
    server = start(lambda: whole(body))
    store = tmp_path / "s.sqlite"
    with pytest.raises(JudgeError, match="no chat completion"):
        rated(server.url, method=method, store=store)
    assert len(server.seen) <= 5
    with Store(store) as kept:
        assert not len(kept)


# --- redirects --------------------------------------------------------------------------------------------------

REDIRECTS = [301, 302, 303, 307, 308]


@pytest.mark.slow
@both
@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize("to", ["elsewhere", "here", "a path", "nowhere"])
def test_a_redirect_is_named_and_not_followed(start, monkeypatch, way, status, to):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    thief = start(lambda: whole(GOOD))
    targets = {"elsewhere": thief.origin, "here": server.origin} if (server := start(list)) else {}
    where = targets.get(to, "another path of the same host")
    path = {"a path": f"/other/{CANARY}", "nowhere": ""}.get(to, f"{where}/v1/chat/completions?key={CANARY}#{CANARY}")
    location = path.replace("//", f"//me:{CANARY}@")
    server.pieces = lambda: [head(status, location=location, content_length=0)]
    hint = "redirects are not followed: give the final address as base URL"
    with pytest.raises(JudgeError, match=f"HTTP {status}: it redirects to {where} .{hint}") as caught:
        rated(server.url, way)
    assert type(caught.value) is JudgeError
    assert CANARY not in str(caught.value)
    assert not thief.seen
    assert [headers[b"authorization"] for _, headers in server.seen] == [f"Bearer {CANARY}".encode()]


# by which variables LiteLLM finds the server, and in which header the key would travel
PROVIDERS = {
    "anthropic/claude-3-5-haiku-20241022": ("ANTHROPIC_API_BASE", "ANTHROPIC_API_KEY", b"x-api-key"),
    "hosted_vllm/m": ("HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY", b"authorization"),
    "groq/llama-3.1-8b-instant": ("GROQ_API_BASE", "GROQ_API_KEY", b"authorization"),
    "openrouter/openai/gpt-4o-mini": ("OPENROUTER_API_BASE", "OPENROUTER_API_KEY", b"authorization"),
    "ollama_chat/llama3": ("OLLAMA_API_BASE", "OLLAMA_API_KEY", b"authorization"),
    "together_ai/m": ("TOGETHER_AI_API_BASE", "TOGETHERAI_API_KEY", b"authorization"),
    "deepseek/deepseek-chat": ("DEEPSEEK_API_BASE", "DEEPSEEK_API_KEY", b"authorization"),
    "gemini/gemini-2.0-flash": ("GEMINI_API_BASE", "GEMINI_API_KEY", b"x-goog-api-key"),
    "azure/deployed": ("AZURE_API_BASE", "AZURE_API_KEY", b"api-key"),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", PROVIDERS)
def test_no_provider_of_litellm_is_followed_elsewhere(start, monkeypatch, model):
    base, name, header = PROVIDERS[model]
    thief = start(lambda: whole(GOOD))
    server = start(lambda: [head(307, location=f"{thief.origin}/v1/messages", content_length=0)])
    monkeypatch.setenv(base, server.origin)
    monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    with pytest.raises(JudgeError, match=f"HTTP 307: it redirects to {thief.origin}"):
        asked(server, model)
    assert CANARY.encode() in server.seen[0][1][header]
    assert not thief.seen


def test_what_others_do_with_httpx_is_left_alone(start):
    other = start(lambda: whole(packed(GOOD, "gzip"), coding="gzip"))
    server = start(lambda: [head(307, location=f"{other.origin}/there", content_length=0)])

    async def post() -> httpx.Response:
        async with httpx.AsyncClient(follow_redirects=True) as client:
            return await client.post(server.url, json={})

    reply = asyncio.run(post())
    assert reply.json() == REPLY
    assert len(reply.history) == len(other.seen) == 1


# --- keys in endpoints --------------------------------------------------------------------------------------------

SPELT = [CANARY, f"v1;key={CANARY}", "canary%2D77d0b1c2e9", f"{CANARY}/{CANARY}x", f"openai/{CANARY}/deployments"]


@both
@pytest.mark.parametrize("path", SPELT)
def test_a_key_in_the_path_of_an_endpoint_appears_nowhere(start, way, tmp_path, caplog, capsys, path):
    server = start(lambda: whole(GOOD))
    url, store = f"{server.origin}/{path}/v1", tmp_path / "s.sqlite"
    with caplog.at_level(logging.DEBUG):
        ratings = rated(url, way, store=store)
        server.pieces = lambda: whole(json.dumps({"error": f"no {server.seen[-1][0]}, {CANARY}"}).encode(), 404)
        with pytest.raises(JudgeError, match=r"HTTP 404: .*check the model's name") as caught:
            rated(url, way, seed=1)
    assert {unquote(asked_for) for asked_for, _ in server.seen} == {unquote(f"/{path}/v1/chat/completions")}
    (run,) = set(ratings["run"])
    assert run.startswith(f"{way}@{server.origin}/")
    shown = [
        run, str(caught.value), repr(caught.value), repr(connect(WAYS[way], url)), repr(calib.Judge("m", base_url=url)),
        caplog.text, *capsys.readouterr(),
    ]  # fmt: skip
    assert not [text for text in shown if "77d0b1c2e9" in text]
    assert not any(b"77d0b1c2e9" in file.read_bytes() for file in tmp_path.iterdir())


def test_two_endpoints_that_differ_where_a_key_may_be_do_not_share_replies(start, tmp_path):
    server = start(lambda: whole(GOOD))
    runs = set()
    for name in ("endpoint-0001", "endpoint-0002", "endpoint-0001"):
        runs |= set(rated(f"{server.origin}/{name}/v1", store=tmp_path / "s.sqlite")["run"])
    assert len(runs) == len(server.seen) == 2


def mark(part: bytes) -> str:
    return "***" + hashlib.blake2b(part, digest_size=3).hexdigest()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
        ("https://x.openai.azure.com/openai/deployments/gpt4o", "https://x.openai.azure.com/openai/deployments/gpt4o"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai/"),
        ("https://h/letmein/v1", f"https://h/{mark(b'letmein')}/v1"),
        ("https://h/let%6Dein/v1", f"https://h/{mark(b'letmein')}/v1"),
        ("h:80/secretpath/v1?k=secret", f"h:80/{mark(b'secretpath')}/v1"),
        ("http://[::1/secretpath", f"http://[::1/{mark(b'secretpath')}"),
    ],
)
def test_parts_of_a_path_are_shown_where_they_are_known(url, shown):
    assert public_url(url) == shown
