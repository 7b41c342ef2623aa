"""LiteLLM against a small server on this machine, and the other kinds of transports."""

import asyncio
import json
import math
import os
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import calib
from calib.judge import _offline
from calib.judge._prompt import Prompt
from calib.judge._transport import JudgeError, LogprobsError, connect, redact, wrap

TOP = {"4": 0.7, "5": 0.2, "3": 0.05, "x": 0.03}
PROMPT = Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
ITEMS = pd.DataFrame({"item": ["a", "b", "c"], "output": ["One.", "Zwei, drei \u2013 vier.", "四"]})
CANARY = "canary-77d0b1c2e9"


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions; what it does is up to the server's `mood`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, request, self.headers.get("authorization")))
        mood = self.server.mood
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

    def answer(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def litellm():
    """The import takes seconds: once for all tests here."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    return litellm


@pytest.fixture
def server(monkeypatch):
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    running.seen, running.mood = [], ""
    running.url = f"http://127.0.0.1:{running.server_address[1]}/v1"
    Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


def rated(server: ThreadingHTTPServer | None, *, store: object = None, complete: object = None, **judge: object):
    options = {"model": "openai/local", "method": "logprob", "base_url": server and server.url} | judge
    return calib.rate(ITEMS, PROMPT, calib.Judge(**options), store=store, complete=complete, progress=False)


# --- litellm ----------------------------------------------------------------------------------------------------


def test_token_probabilities_come_through(litellm, server):
    ratings = rated(server)
    ok = ratings[ratings["status"] == "ok"]
    assert len(ok) == 9
    assert dict(zip(ok["score"], ok["weight"], strict=False)) == pytest.approx({3.0: 0.05, 4.0: 0.7, 5.0: 0.2})
    assert ratings.loc[ratings["status"] == "off_scale", "weight"].tolist() == pytest.approx([0.03] * 3)
    assert set(ratings["run"]) == {f"litellm@{server.url}"}


def test_the_base_url_is_used_and_no_key_is_needed(litellm, server):
    rated(server)
    assert {path for path, _, _ in server.seen} == {"/v1/chat/completions"}
    assert len(server.seen) == 3
    request = server.seen[0][1]
    assert request["model"] == "local"
    assert (request["logprobs"], request["top_logprobs"], request["max_tokens"]) == (True, 20, 8)
    assert (request["temperature"], request["top_p"]) == (1.0, 1)
    assert "seed" not in request
    rendered = {PROMPT.render(row)[1]["content"] for row in ITEMS.to_dict("records")}
    assert {request["messages"][1]["content"] for _, request, _ in server.seen} == rendered


def test_draws_with_a_seed(litellm, server):
    ratings = rated(server, method="sample", draws=2, seed=3)
    assert ratings["score"].tolist() == [4.0] * 6
    assert len({request["seed"] for _, request, _ in server.seen}) == 2
    assert not any("logprobs" in request for _, request, _ in server.seen)


def test_litellm_gives_what_a_plain_function_that_posts_gives(litellm, server):
    def post(request: dict) -> bytes:
        body = json.dumps(request | {"model": "local"}).encode()
        call = urllib.request.Request(server.url + "/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(call, timeout=30) as reply:
            return reply.read()

    for method in ("logprob", "sample"):
        through = rated(server, method=method, draws=2)
        posted = rated(server, method=method, draws=2, complete=post)
        assert_frame_equal(through.drop(columns="run"), posted.drop(columns="run"))


def test_auto_over_litellm(litellm, server, recwarn):
    assert set(rated(server, method="auto")["run"]) == {f"litellm@{server.url}|auto:logprob"}
    assert len(server.seen) == 3
    assert not recwarn.list
    server.mood = "leaves out logprobs"
    with pytest.warns(UserWarning, match="gives no token probabilities"):
        ratings = rated(server, method="auto", draws=2)
    assert set(ratings["run"]) == {f"litellm@{server.url}|auto:sample"}


def test_auto_samples_where_the_server_refuses_token_probabilities(litellm, server):
    server.mood = "knows no logprobs"
    with pytest.warns(UserWarning, match="gives no token probabilities"):
        ratings = rated(server, method="auto", draws=2)
    assert set(ratings["method"]) == {"sample"}


def test_a_model_that_is_known_to_give_none_is_refused(litellm, server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none-needed")
    with pytest.raises(LogprobsError, match="logprobs"):
        rated(None, model="anthropic/claude-3-haiku-20240307")


def test_resume_over_litellm(litellm, server, tmp_path):
    first = rated(server, store=tmp_path / "s.sqlite")
    assert_frame_equal(rated(server, store=tmp_path / "s.sqlite"), first)
    assert len(server.seen) == 3


def test_inside_a_running_event_loop(litellm, server):
    async def cell() -> pd.DataFrame:
        return rated(server, method="auto")

    assert_frame_equal(asyncio.run(cell()), rated(server, method="auto"))


def test_an_error_of_the_provider_shows_no_key(litellm, server, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    server.mood = "refuses the key"
    with pytest.raises(JudgeError, match="the call for item 'a' failed: AuthenticationError") as caught:
        rated(server, store=tmp_path / "s.sqlite", concurrency=1)
    assert server.seen[0][2] == f"Bearer {CANARY}"
    assert CANARY not in str(caught.value)
    assert not any(CANARY.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_without_a_key_the_message_says_what_to_set(litellm, server):
    with pytest.raises(JudgeError) as caught:
        rated(None, model="openai/gpt-4o-mini")
    hint = "no API key for openai/gpt-4o-mini: set OPENAI_API_KEY in the environment."
    assert str(caught.value) == f"the call for item 'a' failed: {hint}"
    assert not server.seen


@pytest.mark.parametrize("model", ["ollama/llama3", "bedrock/anthropic.claude-3-sonnet-20240229-v1:0"])
def test_providers_that_need_no_key_are_not_turned_away(litellm, server, model):
    name, _ = connect(model, None)
    assert name == "litellm"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count open files")
def test_no_connection_stays_open(litellm, server):
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    rated(server)
    before = opened()
    for _ in range(4):
        rated(server)
    assert opened() <= before


# --- the other kinds --------------------------------------------------------------------------------------------


def test_the_offline_judge_is_its_own_transport():
    assert connect("offline", None) == ("offline", _offline.complete)


@pytest.mark.parametrize("asynchronous", [True, False])
def test_any_function_is_a_transport(asynchronous):
    async def later(request: dict) -> dict:
        return {"echo": request}

    name, call = wrap(later if asynchronous else lambda request: {"echo": request})
    assert name.startswith("callable:")
    assert asyncio.run(call({"model": "m"})) == {"echo": {"model": "m"}}


def test_an_object_that_can_be_called_is_known_by_its_class():
    class Client:
        def __call__(self, request: dict) -> dict:
            return request

    assert wrap(Client())[0] == "callable:Client"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing to hide", "nothing to hide"),
        ("key sk-proj-abcdefgh1234.", "key ***."),
        ("gsk-12345678 and xai-12345678", "*** and ***"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("risk-taking tasks", "risk-taking tasks"),
    ],
)
def test_what_looks_like_a_secret_is_not_shown(text, shown):
    assert redact(text) == shown


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "db_password"])
def test_secrets_of_the_environment_are_not_shown(monkeypatch, name):
    monkeypatch.setenv(name, CANARY)
    assert redact(f"a {CANARY}b {CANARY}") == "a ***b ***"


def test_the_longer_of_two_secrets_goes_first(monkeypatch):
    monkeypatch.setenv("A_KEY", "abcdef")
    monkeypatch.setenv("B_KEY", "abcdefghij")
    assert redact("abcdefghij") == "***"
