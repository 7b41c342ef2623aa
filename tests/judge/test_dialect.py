"""Models that take a request in another form, and servers with limits, by the texts with which they refuse."""

import base64
import re
import sqlite3

import pandas as pd
import pytest
from openai_server import LIMITS, REASONING, SHARES, serve

import calib
from calib import cli
from calib.judge.calls.client import Client
from calib.judge.calls.dialect import PLAIN, ROOM, dialect_of, other_way
from calib.judge.calls.store import Store
from calib.judge.calls.transport import JudgeError, LogprobsError, connect
from calib.judge.replies.reply import decode

PROMPT = calib.Prompt.from_criteria("quality", "The text is good.", inputs=("output",), steps=())
KEY = "abcdef-0123456789-zyx"
MEAN = sum(int(label) * p for label, p in SHARES.items())


def items(n: int = 20) -> pd.DataFrame:
    return pd.DataFrame({"item": [f"i{k}" for k in range(n)], "output": [f"Text {k}." for k in range(n)]})


def rated(server, n: int = 20, *, store: object = None, model: str = "openai/m", **judge: object) -> pd.DataFrame:
    judge = calib.Judge(model, base_url=server.base_url, **judge)
    return calib.rate(items(n), PROMPT, judge, store=store, progress=False)


@pytest.fixture(autouse=True)
def _quick(quick, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


# --- reasoning models -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["reasons", "fixed_temperature"])
def test_a_reasoning_model_is_asked_in_its_form(family):
    with serve(**{family: True}) as server:
        ratings = rated(server, method="sample", draws=1)
    assert (ratings["score"] == 4).all()
    assert server.paid == 20
    sent = server.requests[-1]
    assert sent["max_completion_tokens"] == 8 + ROOM
    assert not sent.keys() & {"max_tokens", "top_p"}


def test_auto_samples_from_a_reasoning_model():
    with serve(reasons=True) as server, pytest.warns(UserWarning, match="gives no token probabilities"):
        ratings = rated(server, 3, draws=5)
    assert (ratings["score"] == 4).all()
    assert len(ratings) == 15


def test_a_limit_of_ones_own_holds_for_reasoning_too():
    with serve(reasons=True) as server:
        rated(server, 2, method="sample", draws=1, max_tokens=REASONING + 50)
    assert server.requests[-1]["max_completion_tokens"] == REASONING + 50


@pytest.mark.parametrize("family", ["reasons", "fixed_temperature"])
def test_another_temperature_than_the_models_own_is_refused_and_nothing_paid(family):
    with serve(**{family: True}) as server, pytest.raises(JudgeError, match=r"no temperature but its own.*ture=1"):
        rated(server, method="sample", draws=1, temperature=0.0)
    assert server.paid == 0


@pytest.mark.parametrize("method", ["sample", "logprob", "auto"])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_first_reply_that_is_cut_off_and_empty_is_the_only_one(method, api):
    """Sixteen may be under way at once; the second is not asked for."""
    words = r"cut off at \d+ tokens \(max_tokens\) before it said anything.*max_tokens=8192"
    how = {"reasons": True, "lenient": True, "only_responses": api == "responses"}
    with serve(**how) as server, pytest.raises(JudgeError, match=words):
        rated(server, method=method, draws=2, max_tokens=20)
    assert server.paid == 1


def test_a_first_reply_that_only_thinks_is_the_only_one():
    with serve(reasons=True, lenient=True) as server:
        server.said = lambda *_: ("<think>\nThe text is", "length", 0)
        with pytest.raises(JudgeError, match="before it said anything"):
            rated(server, method="sample", draws=1)
    assert server.paid == 1


def test_reasoning_counts_in_the_cost():
    with serve(reasons=True) as server, Store(None) as store:
        judge = calib.Judge("openai/m", base_url=server.base_url, method="sample", draws=1, price=(1.0, 10.0))
        ratings = calib.rate(items(2), PROMPT, judge, progress=False, max_cost=1.0)
        assert (ratings["score"] == 4).all()
        client = Client(judge, store, connect(judge.model, server.base_url), max_cost=1.0)
        reply = decode({"choices": [{"message": {"content": "4"}}],
                        "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 401}})  # fmt: skip
        assert client.money(reply.prompt_tokens, reply.completion_tokens) == pytest.approx((100 + 301 * 10) / 1e6)


def test_the_model_list_tells_the_families(quick):
    assert dialect_of("openai/gpt-4o-mini", 1.0, ROOM, direct=True) == PLAIN
    assert dialect_of("openai/no-such", 1.0, ROOM, direct=True) == PLAIN
    assert dialect_of("openai/gpt-5", 0.0, ROOM, direct=True).without == ()  # the server says what it thinks of 0
    assert dialect_of("openai/o1-pro", 1.0, ROOM, direct=True).responses
    assert not dialect_of("openai/o1-pro", 1.0, ROOM, direct=False).responses
    assert dialect_of("gemini/gemini-2.5-flash", 1.0, ROOM, direct=False)[:2] == ("max_tokens", ROOM)
    dry = calib.rate(items(1), PROMPT, calib.Judge("openai/o3-mini", method="sample", draws=1), dry_run=True)
    assert dry.output_tokens == 8 + ROOM


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize("model", ["o3-mini", "gpt-5"])
def test_reasoning_models_by_litellm(model):
    family = {"o3-mini": "reasons", "gpt-5": "fixed_temperature"}[model]
    with serve(**{family: True}) as server:
        ratings = rated(server, 3, model=f"litellm/openai/{model}", method="sample", draws=1)
    assert (ratings["score"] == 4).all()
    assert server.paid == 3


# --- the Responses API ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reasons", [True, False])
def test_a_model_of_the_responses_api_is_asked_there(reasons):
    with serve(only_responses=True, reasons=reasons) as server:
        ratings = rated(server, method="sample", draws=1)
        said_so = sum("input" not in one for one in server.requests)
    assert (ratings["score"] == 4).all()
    assert server.paid == 20
    assert said_so <= 4


def test_token_probabilities_come_by_the_responses_api_too():
    with serve(only_responses=True) as server:
        ratings = rated(server, 3)
    assert set(ratings["method"]) == {"logprob"}
    assert (ratings["score"] * ratings["weight"]).groupby(ratings["item"]).sum().tolist() == pytest.approx([MEAN] * 3)


def test_an_endpoint_may_be_that_of_responses(monkeypatch):
    with serve() as server:
        monkeypatch.setattr(type(server), "base_url", f"http://127.0.0.1:{server.port}/v1/responses")
        assert (rated(server, 3, method="sample", draws=1)["score"] == 4).all()
        assert all("input" in one for one in server.requests)


def test_a_seed_that_the_responses_api_does_not_take_is_a_warning():
    with serve(only_responses=True) as server, pytest.warns(UserWarning, match="takes no seed"):
        rated(server, 2, method="sample", draws=1, seed=7)


@pytest.mark.parametrize(("model", "url", "name"), [
    ("o3-mini", "/v1/chat/completions", "max_completion_tokens"), ("o1-pro", "/v1/responses", "max_output_tokens"),
    ("gpt-4o", "/v1/chat/completions", "max_tokens"),
])  # fmt: skip
def test_a_batch_is_in_the_form_of_its_model(model, url, name, tmp_path):
    judge = calib.Judge(f"openai/{model}", method="sample", draws=1)
    path = calib.to_batch(items(1), PROMPT, judge, tmp_path / "batch.jsonl")
    line = pd.read_json(path, lines=True).iloc[0]
    assert line["url"] == url
    assert {key for key in line["body"] if key.startswith("max")} == {name}


# --- limits of lists --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", LIMITS)
def test_a_limit_of_the_list_is_read_and_kept_to(text, tmp_path):
    store = tmp_path / "s.sqlite"
    with serve(most=5, limit_text=text) as server, pytest.warns(UserWarning, match="at most 5 token probabilities"):
        ratings = rated(server, 2, store=store)
        assert (server.paid, len([one for one in server.requests if "top_k" not in one])) == (2, 3)
        again = rated(server, 2, store=store)
    assert set(ratings["method"]) == {"logprob"}
    assert server.paid == 2
    pd.testing.assert_frame_equal(ratings, again)
    kept = pd.read_sql("SELECT body FROM requests", sqlite3.connect(store))["body"]
    assert kept.str.contains('"top_logprobs":5').all()  # as it was sent


def test_a_list_that_is_too_short_leaves_the_rest_unseen():
    with serve(most=2) as server, pytest.warns(UserWarning, match="at most 2"):
        ratings = rated(server, 1)
    unseen = ratings[ratings["status"] == "unseen"]
    assert unseen["weight"].tolist() == pytest.approx([0.15])


# --- no token probabilities -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "most"), [({"logprobs": "silent"}, 3), ({"reasons": True}, 0)])
def test_logprob_without_logprobs_is_refused_after_the_first_calls(options, most):
    with serve(**options) as server, pytest.raises(LogprobsError, match=r"logprobs|no token probabilities"):
        rated(server, method="logprob")
    assert server.paid <= most


def test_the_legacy_shape_is_read():
    with serve(logprobs="legacy") as server:
        ratings = rated(server, 2)
    assert set(ratings["method"]) == {"logprob"}
    assert (ratings["score"] * ratings["weight"]).groupby(ratings["item"]).sum().tolist() == pytest.approx([MEAN] * 2)


def test_both_numbers_are_told_before_and_the_question_comes_before_the_draws():
    judge = {"logprobs": "silent"}

    def stop() -> None:
        raise InterruptedError

    with serve(**judge) as server:
        one = calib.Judge("openai/m", base_url=server.base_url, price=(1.0, 2.0))
        dry = calib.rate(items(), PROMPT, one, dry_run=True)
        assert server.requests == []
        assert (dry.calls, dry.otherwise.calls) == (20, 400)
        assert dry.otherwise.cost == pytest.approx(20 * dry.cost, rel=0.01)
        assert f"{dry.otherwise.cost:,.4f}" in str(dry)
        assert "without token probabilities 400 calls" in str(dry)
        with pytest.raises(InterruptedError):
            calib.rate(items(), PROMPT, one, progress=False, before_sampling=stop)
        assert server.paid == 2
    with serve() as server:  # nobody is asked where there is nothing to ask
        one = calib.Judge("openai/m", base_url=server.base_url)
        calib.rate(items(), PROMPT, one, progress=False, before_sampling=stop)
    assert calib.rate(items(), PROMPT, calib.Judge("offline"), dry_run=True).otherwise is None


@pytest.mark.filterwarnings("ignore:openai/m gives no token probabilities")
@pytest.mark.parametrize("shards", [None, 2])
def test_the_shell_says_both_and_stops_without_yes(shards, tmp_path, capsys):
    def shell(*more: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main([*command, *more])
        return ended.value.code, capsys.readouterr().err

    items(6).to_csv(tmp_path / "items.csv", index=False)
    with serve(logprobs="silent") as server:
        where = ["--store", f"{tmp_path}/folder", "--shards", "2"] if shards else ["--out", f"{tmp_path}/r.csv"]
        command = ["rate", str(tmp_path / "items.csv"), "--model", "openai/m", "--base-url", server.base_url, *where]
        command += ["--criterion", "quality", "--criteria", "Good.", "--inputs", "output", "--price", "1", "2"]
        code, said = shell()
        assert code == 2
        assert server.paid == 3  # the steps and two items
        # steps are counted once for each shard
        for words in (r"\b[78] calls", r"\b12[12] calls", r"at most \$.*at most \$", "--yes"):
            assert re.search(words, said)
        assert shell("--yes")[0] == 0
        assert server.paid >= 2 + 120 // 16


# --- first replies that are exceptions --------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["silent", "certain"])
def test_one_first_reply_without_token_probabilities_is_an_exception(first):
    with serve() as server:
        server.exceptions = {1: first}
        ratings = rated(server, 20)
    assert set(ratings["method"]) == {"logprob"}
    assert server.paid == 20


@pytest.mark.parametrize(
    ("rest", "judge", "why"),
    [
        ("silent", {}, 'gives no token probabilities: method="sample" draws replies'),
        ("silent", {"method": "logprob"}, "gives no token probabilities"),
        ("cut off", {}, "cut off at 8 tokens .max_tokens. before it said anything"),
        ("cut off", {"method": "sample", "draws": 1}, "say max_tokens=8192"),
    ],
)
def test_where_only_the_first_reply_is_of_use_the_run_ends_soon_and_keeps_what_came(rest, judge, why, tmp_path):
    store = tmp_path / "s.sqlite"
    with serve() as server:
        server.exceptions = dict.fromkeys(range(2, 1000), rest)
        with pytest.raises(JudgeError, match=rf"{why}.*so 10 replies in a row.*run again to go on"):
            rated(server, 400, store=store, **judge)
        assert server.paid <= 1 + 10 + 16
        with Store(store) as kept:
            assert len(kept) == server.paid


def test_what_ends_half_way_ends_no_run():
    with serve() as server:
        server.exceptions = dict.fromkeys(range(20, 1000), "silent")
        ratings = rated(server, 60)
    assert (ratings["status"] == "no_logprobs").sum() == 41


def test_replies_of_no_use_among_others_end_nothing():
    with serve() as server:
        server.exceptions = {k: "cut off" for k in range(2, 60) if k % 9}
        ratings = rated(server, 60, concurrency=1)
    assert (ratings["status"] == "truncated").sum() > 40
    assert (ratings["status"] == "ok").any()


# --- servers that take little -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:openai/m gives no token", "ignore:the server takes no seed")
@pytest.mark.parametrize("judge", [{}, {"method": "sample", "draws": 2, "seed": 3}], ids=["auto", "sample"])
@pytest.mark.parametrize("takes", ["max_tokens", "max_completion_tokens"])
def test_a_server_that_refuses_field_by_field_refuses_each_once(takes, judge):
    with serve(takes=(takes,)) as server:
        ratings = rated(server, 20, **judge)
        fields = ["temperature", "top_p", "top_k", *(["logprobs"] if not judge else ["seed"]), "n"]
        assert len(server.requests) - server.paid <= len(fields) + (takes != "max_tokens")
    assert (ratings["score"] == 4).all()


def test_a_field_with_which_replies_came_is_not_refused_for_good():
    """What a server says of one item may name anything."""
    with serve(samplers=True) as server:
        server.refused_item = ("Text 7.", "top_k and n are not supported words")
        with pytest.warns(UserWarning, match="1 calls failed"):
            ratings = rated(server, 20, method="sample", draws=1)
    assert (ratings["status"] == "failed").sum() == 1
    assert set(ratings["run"].str.contains("samplers:server")) == {False}


# --- other replies ----------------------------------------------------------------------------------------------


def test_a_reply_of_another_provider_points_to_litellm():
    with serve(alien=True) as server:
        with pytest.raises(JudgeError, match=r"litellm/anthropic/claude-sonnet-4-5"):
            rated(server, model="openai/claude-sonnet-4-5", method="sample", draws=1)
        assert server.paid == 1
        with pytest.raises(JudgeError) as caught:
            rated(server, model="openai/my-own", method="sample", draws=1)
    assert "litellm" not in str(caught.value)
    assert other_way("openai/gpt-4o") == ""


def test_content_in_parts_is_read():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "5?"}]}, {"type": "text", "text": "4"}]
    assert decode({"choices": [{"message": {"content": parts}}]}).choices[0].text == "4"


@pytest.mark.parametrize("echo", ["plain", "base64"])
@pytest.mark.parametrize("keep", ["compact", "full"])
@pytest.mark.parametrize("method", ["logprob", "sample"])
def test_a_key_that_a_reply_repeats_is_not_kept(echo, keep, method, tmp_path):
    store = tmp_path / "s.sqlite"
    with serve(echo=echo) as server:
        judge = calib.Judge("openai/m", base_url=server.base_url, method=method, draws=1)
        if method == "logprob":
            with pytest.warns(UserWarning, match="2 were without logprobs"):  # tokens that spell a key are not kept
                calib.rate(items(2), PROMPT, judge, store=store, keep=keep, progress=False)
        else:
            ratings = calib.rate(items(2), PROMPT, judge, store=store, keep=keep, progress=False, replies=True)
            assert (ratings["score"] == 4).all()
            assert ratings["reply"].str.contains(r"\*\*\*").all()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert len(kept) > 1000
    assert KEY.encode() not in kept
    whole = base64.b64encode(f"Bearer {KEY}".encode())
    assert whole not in kept
    assert whole[10:30] not in kept


def test_words_are_no_keys(monkeypatch, tmp_path):
    monkeypatch.setenv("LC_KEYBOARD", "english keyboard")
    monkeypatch.setenv("SOME_TOKEN", "good")
    with serve(answer="4\nThe text is good, as of an english keyboard") as server:
        judge = calib.Judge("openai/m", base_url=server.base_url, method="sample", draws=1)
        ratings = calib.rate(items(2), PROMPT, judge, progress=False, replies=True)
    assert set(ratings["reply"]) == {server.answer}
