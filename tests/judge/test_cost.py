"""What a run would cost, what it may cost, and what it did cost."""

import asyncio
import json
import math
import re
import warnings
from collections.abc import Callable

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from mock_server import serve
from pandas.testing import assert_frame_equal

import calib
from calib.judge import offline
from calib.judge.calls import endpoint as cost
from calib.judge.calls.endpoint import DryRun, input_tokens, list_price
from calib.judge.calls.transport import JudgeError, LogprobsError, _quiet_litellm
from calib.judge.prompt import Prompt
from calib.judge.scale import Scale

PROMPT = Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
THINK = Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="think", steps=())
BARE = Prompt.from_criteria("quality", "It is good.", inputs=("output",))
PRICE = (2.0, 8.0)


def items(n: int, length: Callable[[int], int] = lambda k: 1 + k * 37 % 11) -> pd.DataFrame:
    """Texts of different lengths."""
    return pd.DataFrame({"item": [f"i{k}" for k in range(n)], "output": [f"Mill {k}. " * length(k) for k in range(n)]})


class Paid:
    """A judge that counts what it takes: a token for each three characters in, and some out."""

    def __init__(self, *, usage: bool = True, logprobs: bool = True):
        self.usage, self.logprobs, self.spent, self.calls = usage, logprobs, 0.0, 0

    async def __call__(self, request: dict) -> dict:
        tokens_in = sum(len(message["content"]) for message in request["messages"]) // 3
        tokens_out = 1 + tokens_in % request["max_tokens"]
        self.spent += (tokens_in * PRICE[0] + tokens_out * PRICE[1]) / 1e6
        self.calls += 1
        await asyncio.sleep(tokens_in % 5 / 1000)
        body = request if self.logprobs else {name: v for name, v in request.items() if "logprobs" not in name}
        reply = await offline.complete(body)
        used = {"usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}}
        return reply | (used if self.usage else {})


def rated(complete: object, n: int = 40, *, prompt: object = PROMPT, frame: object = None, **options: object):
    of_run = {name: options.pop(name) for name in ("store", "max_cost", "dry_run") if name in options}
    judge = calib.Judge(**({"model": "m", "method": "logprob", "price": PRICE} | options))
    return calib.rate(items(n) if frame is None else frame, prompt, judge, complete=complete, progress=False, **of_run)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "s.sqlite"


def whole_cost() -> float:
    server = Paid()
    rated(server)
    return server.spent


# --- prices -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_prices_are_those_of_litellms_list(monkeypatch):
    litellm = _quiet_litellm()
    cost = litellm.cost_per_token("openai/gpt-4o-mini", prompt_tokens=1000, completion_tokens=1000)
    entry = litellm.model_cost["gpt-4o-mini"]
    assert cost == (entry["input_cost_per_token"] * 1000, entry["output_cost_per_token"] * 1000)
    assert list_price("openai/gpt-4o-mini") == pytest.approx([dollars * 1000 for dollars in cost])
    assert list_price("litellm/openai/gpt-4o-mini") == list_price("gpt-4o-mini") == list_price("openai/gpt-4o-mini")


@pytest.mark.slow
def test_the_whole_list_is_found(monkeypatch):
    listed = cost._price_list()
    monkeypatch.setattr(cost, "_price_list", lambda: listed)  # it is read from the disk each time
    chats = {name: one for name, one in listed.items() if one.get("mode") == "chat" and "input_cost_per_token" in one}
    assert len(chats) > 1000
    for name, one in chats.items():
        dear = [one["input_cost_per_token"] * 1e6, one["output_cost_per_token"] * 1e6]
        assert list_price(name) == pytest.approx(dear)
        provider = one["litellm_provider"]
        if f"{provider}/{name}" not in listed:
            assert list_price(f"{provider}/{name}") == pytest.approx(dear)
            assert list_price(f"litellm/{provider.split('_')[0]}/{name}") == pytest.approx(dear)
            assert list_price(f"not_{provider}/{name}") is None


@pytest.mark.parametrize("model", ["offline", "m", "openai/no-such", "hosted_vllm/gpt-4o", "elsewhere/gpt-4o", "/", ""])
def test_a_model_that_is_not_on_the_list_has_no_price(model):
    assert list_price(model) is None


# --- before the first call --------------------------------------------------------------------------------------


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(store):
    server = Paid()
    dry = rated(server, prompt=[PROMPT, THINK], draws=3, store=store, dry_run=True, max_tokens=50)
    assert server.calls == 0
    assert (dry.calls, dry.stored) == (40 + 120, 0)
    sent = [prompt.render(row) for prompt, n in ((PROMPT, 1), (THINK, 3)) for row in items(40).to_dict("records") * n]
    characters = sum(len(message["content"]) for messages in sent for message in messages)
    assert dry.input_tokens == pytest.approx(characters / 4, rel=0.01)
    assert dry.output_tokens == 50 * 160
    assert dry.cost == pytest.approx((dry.input_tokens * PRICE[0] + dry.output_tokens * PRICE[1]) / 1e6)
    assert len(rated(server, prompt=[PROMPT, THINK], draws=3, max_tokens=50)["item"].unique()) == 40
    assert server.calls == dry.calls


def test_a_dry_run_counts_what_is_in_the_store(store):
    server = Paid()
    rated(server, 15, store=store, method="sample", draws=2)
    dry = rated(server, 40, store=store, method="sample", draws=3, dry_run=True)
    assert (dry.calls, dry.stored) == (120 - 30, 30)
    assert server.calls == 30


def test_items_of_one_text_are_counted_once():
    same = items(10).assign(output="The same.")
    assert rated(Paid(), frame=same, dry_run=True).calls == 1


def test_steps_that_are_to_be_written_are_a_call(store):
    assert rated(Paid(), 5, prompt=BARE, dry_run=True).calls == 6
    server = Paid()
    rated(server, 3, prompt=BARE, store=store)
    dry = rated(server, 5, prompt=BARE, store=store, dry_run=True)
    assert (dry.calls, dry.stored) == (2, 3)


def test_of_a_run_that_had_to_sample_the_store_knows(store):
    server = Paid(logprobs=False)
    with pytest.warns(UserWarning, match="no token probabilities"):
        rated(server, 5, method="auto", draws=4, store=store)
    dry = rated(server, 6, method="auto", draws=4, store=store, dry_run=True)
    assert (dry.calls, dry.stored) == (4, 20)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"reject_fields": "top_k,min_p"}])
def test_of_a_server_with_samplers_the_store_knows(store, options):
    with serve(mode="digit", **options) as server:
        rated(None, 5, base_url=server.base_url, store=store)
        dry = rated(None, 7, base_url=server.base_url, store=store, dry_run=True)
    assert (dry.calls, dry.stored) == (2, 5)


def test_without_a_price_a_dry_run_says_so():
    dry = rated(Paid(), 3, price=None, dry_run=True)
    assert dry.cost is None
    assert str(dry).endswith("price not known")


def test_a_dry_run_reads_well():
    dry = DryRun(calls=12_000, stored=3, input_tokens=1_500_000, output_tokens=96_000, cost=12.3456)
    assert str(dry) == (
        "12,000 calls (3 draws in the store): about 1,500,000 tokens in, at most 96,000 tokens out, at most $12.3456"
    )
    assert input_tokens({"messages": [{"content": "x" * 4000}]}) == pytest.approx(1000, rel=0.01)


def test_offline_costs_nothing_to_ask_and_the_key_is_not_needed(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert rated(None, 3, model="offline", price=None, dry_run=True).calls == 3


# --- a limit ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 7, 64])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_a_limit_is_never_exceeded_and_made_use_of(part, concurrency):
    limit, server = part * whole_cost(), Paid()
    with pytest.warns(
        UserWarning, match=r"the limit of \$.* \(max_cost\) is reached: \d+ of 40 draws were not asked for"
    ):
        ratings = rated(server, concurrency=concurrency, max_cost=limit)
    assert server.calls == ratings["item"].nunique() < 40
    # one more call might have cost what its text has bytes and its longest reply has tokens
    dearest = (900 * PRICE[0] + 8 * PRICE[1]) / 1e6
    assert limit - dearest < server.spent <= limit


@pytest.mark.slow
@given(st.lists(st.integers(1, 200), min_size=1, max_size=25), st.floats(0.0, 0.02), st.integers(1, 30), st.booleans())
@settings(deadline=None)
def test_no_limit_is_ever_exceeded(lengths, limit, concurrency, usage):
    server, frame = Paid(usage=usage), items(len(lengths), lambda k: lengths[k])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ratings = rated(server, frame=frame, concurrency=concurrency, max_cost=limit, method="sample", draws=1)
    assert server.spent <= limit
    assert ratings["item"].nunique() == server.calls
    if server.calls < len(lengths):
        assert server.spent + (max(lengths) * 9 + 900) * PRICE[0] / 1e6 > limit / 4


def test_a_server_that_does_not_say_what_it_took_may_have_taken_the_most():
    server, limit = Paid(usage=False), 0.7 * whole_cost()
    with pytest.warns(UserWarning, match="max_cost"):
        rated(server, max_cost=limit)
    assert limit / 8 < server.spent <= limit


@pytest.mark.slow
def test_a_higher_limit_goes_on_to_the_same_ratings(store):
    server, limit = Paid(), 0.0
    whole = rated(server, draws=3, prompt=THINK)
    each = server.spent
    paid = Paid()
    for part in (0.2, 0.6, 0.95, 2.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ratings = rated(paid, draws=3, prompt=THINK, store=store, max_cost=part * each - paid.spent)
        limit = part * each
        assert paid.spent <= limit
        assert len(caught) == (part < 1)
    assert_frame_equal(ratings, whole)
    assert paid.calls == 120


def test_a_limit_that_is_not_reached_changes_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_frame_equal(rated(Paid(), max_cost=100.0), rated(Paid()))


def test_a_limit_that_pays_for_nothing():
    server = Paid()
    with pytest.warns(UserWarning, match="40 of 40 draws were not asked for"):
        assert len(rated(server, max_cost=1e-9)) == 0
    assert server.calls == 0


@pytest.mark.parametrize(
    ("options", "what"), [({"prompt": BARE}, "the evaluation steps of 'quality'"), ({"method": "auto"}, "item 'i2'")]
)
def test_what_comes_before_the_ratings_is_paid_for_too(options, what):
    server = Paid()
    with pytest.raises(JudgeError, match=rf"^the limit of \$1e-09 \(max_cost\) does not pay for {re.escape(what)}\.$"):
        rated(server, max_cost=1e-9, **options)
    assert server.calls == 0


def test_continuations_are_paid_for_too():
    async def splits(request: dict) -> dict:
        """A digit at a time: 1 may be the start of a 10."""
        nonlocal spent
        tokens = sum(len(message["content"]) for message in request["messages"]) // 3
        spent += (tokens * PRICE[0] + request["max_tokens"] * PRICE[1]) / 1e6
        goes_on = len(request["messages"]) == 3
        ended = goes_on and request["messages"][-1]["content"] == "5"
        top = [("", 1.0)] if ended else [("0", 0.5), ("", 0.5)] if goes_on else [("5", 0.6), ("1", 0.4)]
        listed = [{"token": token, "logprob": math.log(p)} for token, p in top]
        place = listed[0] | {"top_logprobs": listed}
        choice = {"message": {"content": top[0][0]}, "logprobs": {"content": [place]}, "finish_reason": "stop"}
        return {"choices": [choice], "usage": {"prompt_tokens": tokens, "completion_tokens": request["max_tokens"]}}

    prompt = Prompt.from_criteria("q", "c", inputs=("output",), scale=Scale.of(*range(11)), steps=())
    options = {"prompt": prompt, "frame": items(20, lambda _: 5), "continuation": True, "concurrency": 4}
    spent = 0.0
    ratings = rated(splits, **options)
    assert "ambiguous" not in set(ratings["status"])
    limit, spent = 0.8 * spent, 0.0
    with pytest.warns(
        UserWarning, match=r"stays ambiguous: the limit of \$.* \(max_cost\) does not pay for the continuation"
    ):
        ratings = rated(splits, max_cost=limit, **options)
    assert 0.7 * limit < spent <= limit
    assert ratings["item"].nunique() == 20
    assert 0 < (ratings["status"] == "ambiguous").sum() < 20


def test_a_limit_needs_a_price():
    server = Paid()
    with pytest.raises(
        ValueError, match=r"^`max_cost` needs the price of 'm': give Judge\(\.\.\., price=\(in, out\)\)"
    ):
        rated(server, price=None, max_cost=1.0)
    # what somebody else's endpoint charges is not known from the model's name
    with pytest.raises(ValueError, match="needs the price"):
        rated(server, model="openai/gpt-4o-mini", price=None, base_url="http://h/v1", max_cost=1.0)
    assert server.calls == 0


def test_the_price_on_the_list_is_used():
    server = Paid()
    dear = rated(server, model="openai/gpt-4o", price=None, dry_run=True)
    cheap = rated(server, model="openai/gpt-4o-mini", price=None, dry_run=True)
    assert dear.cost == pytest.approx((dear.input_tokens * 2.5 + dear.output_tokens * 10) / 1e6)
    assert cheap.cost == pytest.approx((cheap.input_tokens * 0.15 + cheap.output_tokens * 0.6) / 1e6)
    with pytest.warns(UserWarning, match="max_cost"):
        rated(server, model="openai/gpt-4o", price=None, max_cost=dear.cost / 2)
    assert 10 < server.calls < 40


def test_attempts_that_fail_are_not_counted_as_spent(monkeypatch):
    monkeypatch.setattr("calib.judge.calls.client._FIRST_WAIT", 0.001)
    server, seen = Paid(), []

    async def shaky(request: dict) -> dict:
        seen.append(json.dumps(request))
        if len(seen) % 2:
            raise ConnectionError
        return await server(request)

    assert rated(shaky, max_cost=1.5 * whole_cost() + 0.01)["item"].nunique() == 40


@pytest.mark.slow
def test_choices_are_paid_for_one_by_one():
    with serve(mode="digit") as server, pytest.warns(UserWarning, match="max_cost"):
        judge = {"method": "sample", "draws": 16, "base_url": server.base_url, "price": (0.0, 1e6 / 8)}
        # 8 tokens a choice at most, of which the server takes one: an eighth of a dollar
        ratings = rated(None, 10, max_cost=60.0 / 8 + 15, **judge)
        assert server.stats()["choices"] == 16 + len(ratings)
    assert len(ratings) == 48  # the fourth group might have cost 16 dollars


def test_a_model_without_token_probabilities_is_told_from_one_without_money():
    async def refuses(request: dict) -> dict:
        raise LogprobsError("not here")

    with pytest.raises(LogprobsError, match="not here"):
        rated(refuses, max_cost=10.0)
