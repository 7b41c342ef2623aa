"""The direct transport and LiteLLM against small servers on this machine, and the other kinds of transports."""

import asyncio
import gc
import json
import math
import os
import re
import threading
import urllib.request
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import tzset

import pandas as pd
import pytest
from hypothesis import given, strategies as st
from mock_server import serve
from pandas.testing import assert_frame_equal

import calib
from calib.judge import offline
from calib.judge.calls.endpoint import public_url, redact, sent_secrets
from calib.judge.calls.transport import (
    OPENAI,
    JudgeError,
    LogprobsError,
    RejectedError,
    UnavailableError,
    _http_error,
    connect,
    wrap,
)
from calib.judge.prompt import Prompt

pytestmark = pytest.mark.usefixtures("litellm", "quick")
TOP = {"4": 0.7, "5": 0.2, "3": 0.05, "x": 0.03}
PROMPT = Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
ITEMS = pd.DataFrame({"item": ["a", "b", "c"], "output": ["One.", "Zwei, drei \u2013 vier.", "四"]})
CANARY = "canary-77d0b1c2e9"
WAYS = {"direct": "openai/local", "litellm": "litellm/openai/local"}
both = pytest.mark.parametrize("way", WAYS)
# of headers that say how long to wait
ABSURD = (
    "", "soon", "nan", "NaN", "inf", "-inf", "-3", "1e9", "1e999", "0x10", "1_000", "\u0663", "9" * 400, "1" * 18,
    "1e-999", "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 -2359",
    "Fri, 31 Dec 9999 23:59:59 +9999",
    "Fri, 31 Dec 9999 23:59:59 -9999", "Wed, 21 Oct 2015 07:28:00 +99:99", "Wed, 21 Oct 2015 07:28:00 +999999999999",
    "Sat, 01 Jan 0001 00:00:00 +2359", "Fri, 32 Dec 2026 00:00:00 GMT", "Fri, 31 Dec 99999 23:59:59 GMT",
    "Fri, 31 Dec 2026 99:99:99 GMT", "2026-11-22T00:00:00Z", "Mon, 01 Jan 2035 00:00:00 GMT", ", , ,", "1, 2",
)  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions; what it does is up to the server's `mood`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, request, self.headers.get("authorization")))
        mood = self.server.mood
        self.server.times -= mood == "fails"
        if mood == "fails" and self.server.times >= 0:
            return self.answer(self.server.status, self.server.says, **self.server.headers)
        if mood == "refuses the key":
            return self.answer(401, {"error": {"message": f"Incorrect API key provided: {CANARY}", "code": 401}})
        if mood == "knows no logprobs" and request.get("logprobs"):
            return self.answer(400, {"error": {"message": "logprobs are not supported", "param": "logprobs"}})
        return self.answer(200, self.completion(request, logprobs=mood != "leaves out logprobs"))

    def completion(self, request: dict, *, logprobs: bool) -> dict:
        choice = {"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}
        if request.get("logprobs") and logprobs:
            listed = list(TOP.items())[: request["top_logprobs"]]
            top = [{"token": t, "bytes": list(t.encode()), "logprob": math.log(p)} for t, p in listed]
            choice["logprobs"] = {"content": [top[0] | {"top_logprobs": top}], "refusal": None}
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
        about = {"id": "c-1", "object": "chat.completion", "created": 1, "model": request["model"]}
        return about | {"choices": [choice], "usage": usage}

    def answer(self, status: int, body: dict, **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers | {"content-type": "application/json", "content-length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def start(serving):
    def start() -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.seen, server.mood, server.status, server.headers, server.times = [], "", 200, {}, 1000
        server.port = server.server_address[1]
        server.url = f"http://127.0.0.1:{server.port}/v1"
        serving(server)
        return server

    return start


@pytest.fixture
def server(start):
    return start()


def rated(server: object, *, way: str = "direct", store: object = None, complete: object = None, **judge: object):
    options = {"model": WAYS[way], "method": "logprob", "base_url": server and server.url} | judge
    return calib.rate(ITEMS, PROMPT, calib.Judge(**options), store=store, complete=complete, progress=False)


def ask(server: object, way: str) -> None:
    """One call of a transport, which nobody makes again."""

    async def call() -> None:
        try:
            await transport.complete({"messages": [{"role": "user", "content": "q"}]})
        finally:
            await transport.close()

    transport = connect(WAYS[way], server.url)
    asyncio.run(call())


def items(n: int) -> pd.DataFrame:
    return pd.DataFrame({"item": [f"i{k}" for k in range(n)], "output": [f"Text number {k}." for k in range(n)]})


# --- both ways to a server --------------------------------------------------------------------------------------


@pytest.mark.slow
@both
def test_token_probabilities_come_through(server, way):
    ratings = rated(server, way=way)
    ok = ratings[ratings["status"] == "ok"]
    assert len(ok) == 9
    assert dict(zip(ok["score"], ok["weight"], strict=False)) == pytest.approx({3.0: 0.05, 4.0: 0.7, 5.0: 0.2})
    assert ratings.loc[ratings["status"] == "off_scale", "weight"].tolist() == pytest.approx([0.03] * 3)
    assert set(ratings["run"]) == {f"{way}@{server.url}"}


@pytest.mark.slow
@both
def test_the_base_url_is_used_and_no_key_is_needed(server, way):
    rated(server, way=way)
    assert {path for path, _, _ in server.seen} == {"/v1/chat/completions"}
    assert len(server.seen) == 3
    request = server.seen[0][1]
    assert request["model"] == "local"
    assert (request["logprobs"], request["top_logprobs"], request["max_tokens"]) == (True, 20, 8)
    assert (request["temperature"], request["top_p"], request["top_k"], request["min_p"]) == (1.0, 1, -1, 0)
    assert "seed" not in request
    rendered = {PROMPT.render(row)[1]["content"] for row in ITEMS.to_dict("records")}
    assert {request["messages"][1]["content"] for _, request, _ in server.seen} == rendered
    assert {key for _, _, key in server.seen} == {None if way == "direct" else "Bearer none"}


@pytest.mark.slow
@both
def test_draws_with_a_seed(server, way):
    ratings = rated(server, way=way, method="sample", draws=2, seed=3)
    assert ratings["score"].tolist() == [4.0] * 6
    asked = [request for _, request, _ in server.seen if "n" not in request]
    assert len(asked) == 6
    # the same seed for two items would make their draws alike
    assert len({request["seed"] for request in asked}) == 6
    assert not any("logprobs" in request for _, request, _ in server.seen)


@pytest.mark.slow
@both
def test_each_gives_what_a_plain_function_that_posts_gives(server, way):
    def post(request: dict) -> bytes:
        body = json.dumps(request | {"model": "local"}).encode()
        call = urllib.request.Request(server.url + "/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(call, timeout=30) as reply:
            return reply.read()

    for method in ("logprob", "sample"):
        through = rated(server, way=way, method=method, draws=2)
        posted = rated(server, way=way, method=method, draws=2, complete=post)
        assert_frame_equal(through.drop(columns="run"), posted.drop(columns="run"))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["digit", "line", "json"])
@pytest.mark.parametrize("method", ["logprob", "sample"])
def test_the_same_request_gives_the_same_ratings_through_both(mode, method):
    reasoning = {"digit": "form", "line": "think", "json": "json"}[mode]
    prompt = Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning=reasoning, steps=())
    with serve(mode=mode) as server:
        frames = [
            calib.rate(
                items(12), prompt,
                calib.Judge(model, method=method, draws=5, seed=11, base_url=server.base_url), progress=False,
            ).drop(columns=["rater", "run"])
            for model in WAYS.values()
        ]  # fmt: skip
        truth = [server.truth_of(prompt.render(row)) for row in items(12).to_dict("records")]
    assert_frame_equal(*frames)
    if method == "logprob":
        ok = frames[0][(frames[0]["status"] == "ok") & (frames[0]["draw"] == 0)]
        weights = [dict(zip(one["score"], one["weight"], strict=True)) for _, one in ok.groupby("item", sort=False)]
        for found, true in zip(weights, truth, strict=True):
            shares = {label: weight / sum(found.values()) for label, weight in found.items()}
            assert shares == pytest.approx(true, rel=1e-5)
    else:
        assert len(frames[0]) == 60
        assert frames[0]["score"].nunique() > 2


@pytest.mark.slow
@both
def test_auto(server, way, recwarn):
    assert set(rated(server, way=way, method="auto")["run"]) == {f"{way}@{server.url}|auto:logprob"}
    assert len(server.seen) == 3
    assert not recwarn.list
    server.mood = "leaves out logprobs"
    with pytest.warns(UserWarning, match="gives no token probabilities"):
        ratings = rated(server, way=way, method="auto", draws=2)
    assert set(ratings["run"]) == {f"{way}@{server.url}|auto:sample"}


@pytest.mark.slow
@both
def test_auto_samples_where_the_server_refuses_token_probabilities(server, way):
    server.mood = "knows no logprobs"
    with pytest.warns(UserWarning, match="gives no token probabilities"):
        ratings = rated(server, way=way, method="auto", draws=2)
    assert set(ratings["method"]) == {"sample"}
    with pytest.raises(LogprobsError, match="logprobs are not supported"):
        rated(server, way=way, method="logprob")


@both
def test_resume(server, way, tmp_path):
    first = rated(server, way=way, store=tmp_path / "s.sqlite")
    assert_frame_equal(rated(server, way=way, store=tmp_path / "s.sqlite"), first)
    assert len(server.seen) == 3


@pytest.mark.slow
@both
def test_inside_a_running_event_loop(server, way):
    async def cell() -> pd.DataFrame:
        return rated(server, way=way, method="auto")

    assert_frame_equal(asyncio.run(cell()), rated(server, way=way, method="auto"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count open files")
@both
def test_no_connection_stays_open(server, way):
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    rated(server, way=way)
    before = opened()
    for _ in range(4):
        rated(server, way=way)
    assert opened() <= before


# --- what servers say no to -------------------------------------------------------------------------------------


@both
def test_an_error_of_the_provider_shows_no_key(server, way, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    server.mood = "refuses the key"
    with pytest.raises(JudgeError, match=r"the call for item 'a' failed: HTTP 401: .*check the API key") as caught:
        rated(server, way=way, store=tmp_path / "s.sqlite", concurrency=1)
    assert server.seen[0][2] == f"Bearer {CANARY}"
    assert len(server.seen) == 1
    error = caught.value
    while error is not None:
        assert CANARY not in f"{error!r} {error} {getattr(error, '__notes__', '')}"
        error = error.__cause__ or error.__context__
    assert not any(CANARY.encode() in file.read_bytes() for file in tmp_path.iterdir())


@both
@pytest.mark.parametrize(
    ("status", "says", "hint"),
    [
        (401, {}, "check the API key in the environment"),
        (403, {}, "check the API key in the environment, and what it may use"),
        (404, {"error": {"message": "no such model"}}, "check the model's name and the base URL"),
        (402, {}, "the account has no credit"),
        (429, {"error": {"message": "quota", "code": "insufficient_quota"}}, "the account has no credit"),
    ],
)
def test_what_never_passes_stops_the_run_and_says_what_to_do(server, way, status, says, hint):
    server.mood, server.status, server.says = "fails", status, says
    with pytest.raises(JudgeError, match=rf"item 'a' failed: HTTP {status}: .*\({re.escape(hint)}\)$") as caught:
        rated(server, way=way, concurrency=1)
    assert type(caught.value) is JudgeError
    assert len(server.seen) == 1


@pytest.mark.slow
@both
@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_the_server_will_not_answer_is_rejected(server, way, status):
    server.mood, server.status, server.says = "fails", status, {"error": {"message": "too long"}}
    with pytest.raises(RejectedError, match=f"HTTP {status}: .*too long"):
        rated(server, way=way, concurrency=1, base_url=server.url)
    assert len(server.seen) <= 2 * len(ITEMS)  # with and without settings of samplers; none is repeated


@pytest.mark.slow
@both
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_asked_again(server, way, status):
    server.mood, server.status, server.says, server.times = "fails", status, {"error": {"message": "busy"}}, 4
    ratings = rated(server, way=way)
    assert set(ratings["item"]) == {"a", "b", "c"}
    assert "failed" not in set(ratings["status"])
    assert len(server.seen) == 7


@both
@pytest.mark.parametrize(
    ("header", "seconds"), [({"retry-after": "7"}, 7), ({"retry-after-ms": "30"}, 0.03), ({}, None)]
)
def test_the_servers_word_on_how_long_to_wait_comes_through(server, way, header, seconds):
    server.mood, server.status, server.says, server.headers = "fails", 429, {"error": {"message": "busy"}}, header
    with pytest.raises(UnavailableError) as caught:
        ask(server, way)
    assert caught.value.limited
    assert caught.value.retry_after == seconds


@pytest.mark.slow
@both
def test_what_a_filter_withheld_is_a_refusal_and_asked_once(way, tmp_path):
    with serve(mode="digit", pfilter=0.5) as server:
        judge = calib.Judge(WAYS[way], method="logprob", base_url=server.base_url)
        for _ in range(2):
            ratings = calib.rate(items(20), PROMPT, judge, store=tmp_path / "s.sqlite", progress=False)
        stats = server.stats()
    refused = ratings[ratings["status"] == "refused"]
    assert 3 <= len(refused) == stats["faults"]["filter"]
    assert ratings["item"].nunique() == 20 == stats["requests"]


def test_nobody_there():
    with pytest.raises(JudgeError, match=r"item 'a' failed: ClientConnectorError: .*given up after 5 attempts"):
        rated(None, base_url="http://127.0.0.1:9/v1", concurrency=1)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000/v1", "localhost:8000/v1", "nowhere", "ftp://h/v1", "http://", "http:///v1"]
)
def test_what_is_no_endpoint(url):
    with pytest.raises(JudgeError, match=r"the base URL must be one such as 'http://127.0.0.1:8000/v1'"):
        rated(None, base_url=url)


# --- keys, proxies -----------------------------------------------------------------------------------


def test_a_proxy_of_the_environment_is_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    ratings = rated(None, base_url="http://judge.invalid/v1")
    assert set(ratings["run"]) == {"direct@http://judge.invalid/v1"}
    assert {path for path, _, _ in server.seen} == {"http://judge.invalid/v1/chat/completions"}


@pytest.mark.parametrize("but", ["127.0.0.1", "127.0.0.1:{port}", "*"])
def test_unless_it_is_not_meant_for_the_host(server, monkeypatch, but):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", but.format(port=server.port))
    rated(server)
    assert {path for path, _, _ in server.seen} == {"/v1/chat/completions"}


def test_a_password_of_a_proxy_is_not_shown(monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://me:{CANARY}@127.0.0.1:9")
    with pytest.raises(JudgeError) as caught:
        rated(None, base_url="http://judge.invalid/v1", concurrency=1)
    assert CANARY not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, "sk-aaaaaaaaaaaa"])
def test_a_user_and_password_in_the_url_work_and_appear_nowhere(server, monkeypatch, tmp_path, capsys, key):
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    url = server.url.replace("//", f"//me:{CANARY}@")
    store = tmp_path / "s.sqlite"
    ratings = rated(None, base_url=url, store=store)
    assert {sent for _, _, sent in server.seen} == {"Basic bWU6Y2FuYXJ5LTc3ZDBiMWMyZTk="}
    assert set(ratings["run"]) == {f"direct@{server.url}"}
    assert_frame_equal(rated(server, store=store), ratings)  # the same place, whoever asks
    assert len(server.seen) == 3
    with serve(error_status=401, echo_key=True) as angry, pytest.raises(JudgeError) as caught:
        rated(None, base_url=angry.base_url.replace("//", f"//me:{CANARY}@"))
    shown = [
        ratings.to_csv(), str(caught.value), repr(caught.value), repr(connect("openai/m", url)),
        repr(calib.Judge("m", base_url=url)), *capsys.readouterr(),
    ]  # fmt: skip
    assert not [text for text in shown if CANARY in text or "bWU6" in text or "me:" in text]
    assert not any(CANARY.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_a_query_in_the_url_stays_one(server):
    rated(None, base_url=server.url + "/?version=7")
    assert {path for path, _, _ in server.seen} == {"/v1/chat/completions?version=7"}


def test_the_environment_may_name_openais_endpoint(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    assert set(rated(None)["run"]) == {f"direct@{server.url}"}
    assert {sent for _, _, sent in server.seen} == {f"Bearer {CANARY}"}
    assert "top_p" not in server.seen[0][1]


def test_without_a_key_the_message_says_what_to_set():
    hint = "no API key for openai/gpt-4o-mini: set OPENAI_API_KEY in the environment."
    with pytest.raises(JudgeError, match=re.escape(hint)):
        rated(None, model="openai/gpt-4o-mini")
    with pytest.raises(JudgeError, match=re.escape(hint)):
        rated(None, model="litellm/openai/gpt-4o-mini")
    items = pd.DataFrame({"item": ["a"], "output": ["b"]})  # a dry run makes no call
    assert calib.rate(items, PROMPT, calib.Judge("openai/gpt-4o-mini"), dry_run=True).calls == 1


@pytest.mark.slow
@pytest.mark.parametrize("text", ["x" * 3_000_000, "\ud800" * 300_000])
def test_texts_of_megabytes_arrive_and_nobody_complains(server, text, recwarn):
    frame = pd.DataFrame({"item": ["a"], "output": pd.Series([text], dtype=object)})
    judge = calib.Judge("m", method="sample", draws=1, base_url=server.url)
    assert calib.rate(frame, PROMPT, judge, progress=False)["score"].tolist() == [4.0]
    assert f"\n{text}\n" in server.seen[0][1]["messages"][1]["content"]
    assert not recwarn.list


@pytest.mark.slow
def test_connections_are_used_again():
    with serve(mode="digit") as server:
        judge = calib.Judge("m", method="logprob", base_url=server.base_url, concurrency=8)
        assert calib.rate(items(500), PROMPT, judge, progress=False)["item"].nunique() == 500
        stats = server.stats()
    assert stats["requests"] == 500
    assert stats["connections"] - 1 <= 8  # one asked for the stats
    assert stats["open"] == 1


# --- litellm alone ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_that_is_known_to_give_none_is_refused(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none-needed")
    with pytest.raises(LogprobsError, match="logprobs"):
        rated(None, model="anthropic/claude-3-haiku-20240307")


@pytest.mark.parametrize("model", ["ollama/llama3", "bedrock/anthropic.claude-3-sonnet-20240229-v1:0"])
def test_providers_that_need_no_key_are_not_turned_away(model):
    assert connect(model, None).name == "litellm"


def test_which_way_a_model_goes():
    assert connect("openai/m", "http://h/v1").name == connect("any/name", "http://h/v1").name == "direct"
    assert connect("litellm/openai/m", "http://h/v1").name == connect("azure/m", None).name == "litellm"
    assert connect("openai/m", "http://me:secret@h/v1?k=1").endpoint == "http://h/v1"
    with pytest.raises(JudgeError, match="LiteLLM cannot use a user, a password or a query"):
        connect("litellm/openai/m", "http://me:secret@h/v1?k=1")


# LiteLLM shares its clients between threads: connections of a loop that has ended are left to the collector
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_runs_in_several_threads_do_not_close_each_others_connections():
    with serve(mode="digit", latency_ms=20) as server:
        judge = calib.Judge(WAYS["litellm"], method="logprob", base_url=server.base_url, concurrency=2, timeout=120)

        def run(n: int) -> None:
            done[n] = calib.rate(items(n), PROMPT, judge, progress=False)["item"].nunique()

        done: dict[int, int] = {}
        threads = [Thread(target=run, args=(n,)) for n in (2, 10, 25)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert server.stats()["requests"] == 37
    assert done == {n: n for n in (2, 10, 25)}
    gc.collect()


def test_it_neither_fetches_prices_nor_repeats_calls_nor_warns(litellm, server, recwarn):
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    server.mood, server.status, server.says = "fails", 500, {}
    with pytest.raises(UnavailableError):
        ask(server, "litellm")
    assert len(server.seen) == 1
    assert not recwarn.list


# --- the other kinds --------------------------------------------------------------------------------------------


def test_the_offline_judge_is_its_own_transport():
    transport = connect("offline", None)
    assert (transport.name, transport.endpoint, transport.complete) == ("offline", None, offline.complete)


def test_an_object_that_can_be_called_is_known_by_its_class():
    class Client:
        def __call__(self, request: dict) -> dict:
            return request

    assert wrap(Client(), None).name == "callable:Client"
    assert wrap(Client(), "http://me:secret@h/v1").endpoint == "http://h/v1"


def test_a_plain_function_runs_as_often_at_once_as_allowed():
    def complete(request: dict) -> dict:
        all_there.wait(timeout=60)
        return {"choices": [{"message": {"content": "4"}}]}

    all_there = threading.Barrier(40)
    judge = calib.Judge("m", method="sample", draws=1, concurrency=40)
    assert len(calib.rate(items(80), PROMPT, judge, complete=complete, progress=False)) == 80


def test_a_function_that_has_run_out_is_an_error_and_no_endless_wait():
    replies = iter([])
    with pytest.raises(JudgeError, match="StopIteration"):
        rated(None, complete=lambda request: next(replies), timeout=60)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7), ({"retry-after": " 1.5 "}, 1.5), ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "50", "retry-after": "1"}, 0.05), ({"retry-after-ms": "12.5"}, 0.0125),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2), ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -2359"}, 0), ({"retry-after": "86400"}, 86400),
        ({"retry-after-ms": "86400000"}, 86400), ({}, None), ({"retry-after": str(32 * 86400)}, 32 * 86400),
        ({"retry-after": str(32 * 86400 + 1)}, None),
    ],
)  # fmt: skip
def test_how_long_the_server_asks_to_wait(headers, seconds):
    assert _http_error(429, "", {}, headers).retry_after == seconds


@pytest.mark.parametrize("junk", ABSURD)
def test_an_absurd_word_on_how_long_to_wait_counts_for_none(junk):
    for name in ("retry-after", "retry-after-ms"):
        assert not _http_error(429, "", {}, {name: junk}).retry_after


@pytest.mark.slow
@given(
    st.text()
    | st.from_regex(r"[MTWF]..,? [0-9]{1,3} [JFMAN].. [0-9]{1,5} [0-9]{1,3}(:[0-9]{1,3}){1,2} [-+]?[0-9:]{0,9}")
)
def test_any_words_on_how_long_to_wait_are_seconds_or_nothing(words):
    for name in ("retry-after", "retry-after-ms"):
        seconds = _http_error(429, "", {}, {name: words}).retry_after
        assert seconds is None or 0 <= seconds <= 32 * 86400


@pytest.mark.slow
@both
@pytest.mark.parametrize("junk", [one for one in ABSURD if one.isascii()])
def test_an_absurd_word_on_it_does_not_stop_a_run(server, way, junk):
    server.mood, server.status, server.says, server.times = "fails", 429, {"error": {"message": "busy"}}, 2
    server.headers = {"retry-after": junk}
    assert rated(server, way=way)["item"].nunique() == 3
    assert len(server.seen) == 5


@pytest.mark.parametrize("zone", [" GMT", " +0000", "", " -0000"])
def test_how_long_it_is_to_a_date_which_without_a_zone_is_of_greenwich(zone, monkeypatch):
    date = (datetime.now(UTC) + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S") + zone
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    tzset()
    try:
        assert 87 < _http_error(429, "", {}, {"retry-after": date}).retry_after <= 90
    finally:
        monkeypatch.undo()
        tzset()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing to hide", "nothing to hide"), ("key sk-proj-abcdefgh1234.", "key ***."),
        ("gsk-12345678 and xai-12345678", "*** and ***"), ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("risk-taking tasks", "risk-taking tasks"), ("at https://me:pass@host/v1?", "at https://***@host/v1?"),
        ("Authorization: Basic bWU6cGFzcw==", "Authorization: ***"),
        ("Basic authentication is needed, ask me@host", "Basic authentication is needed, ask me@host"),
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_is_not_shown(text, shown):
    assert redact(text) == shown


# those that LiteLLM reads among them: AWS_BEARER_TOKEN_BEDROCK, SNOWFLAKE_JWT
NAMES = ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "db_password", "AWS_BEARER_TOKEN_BEDROCK", "SNOWFLAKE_JWT"]


@pytest.mark.parametrize("name", NAMES)
def test_secrets_of_the_environment_are_not_shown_and_masked_in_replies(monkeypatch, name):
    monkeypatch.setenv(name, CANARY)
    assert redact(f"a {CANARY}b {CANARY}") == "a ***b ***"
    assert CANARY.encode() in sent_secrets()


def test_the_longer_of_two_secrets_goes_first(monkeypatch):
    monkeypatch.setenv("A_KEY", "abcdef")
    monkeypatch.setenv("B_KEY", "abcdefghij")
    assert redact("abcdefghij") == "***"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (OPENAI, OPENAI),
        ("http://me@h:1/v1", "http://h:1/v1"),
        ("http://me:p@ss@h/v1?k=1#x", "http://h/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_an_endpoint_as_it_is_shown(url, shown):
    assert public_url(url) == shown
