"""rate(): what is called, what is kept, what is paid once, and what stands in the table."""

import asyncio
import gc
import json
import re
import signal
import sqlite3
import threading
import warnings
from itertools import pairwise
from threading import Thread

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import calib
from calib.judge import offline
from calib.judge.calls import run
from calib.judge.calls.store import Store
from calib.judge.calls.transport import JudgeError, LogprobsError, UnavailableError
from calib.judge.prompt import Prompt, geval_prompt
from calib.judge.replies.extract import RatingRow, Reading
from calib.judge.replies.reply import decode
from calib.judge.scale import Scale

pytestmark = pytest.mark.usefixtures("quick")
PROMPT = Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
THINK = Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="think", steps=())
JSON = Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="json", steps=())
BARE = Prompt.from_criteria("quality", "It is good.", inputs=("output",))
CANARY = "canary-5f2c9e1a77"


def items(n: int) -> pd.DataFrame:
    texts = [f"Text {k} says that the mill closed in {1900 + k}." for k in range(n)]
    return pd.DataFrame({"item": [f"i{k}" for k in range(n)], "output": texts})


def said(text: str) -> dict:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


class Server:
    """The offline judge behind a counter; fails at one call, knows which token probabilities it gives."""

    def __init__(self, *, fail_at: int = 0, logprobs: bool = True, error: Exception | None = None):
        self.requests: list[dict] = []
        self.served = 0
        self.fail_at, self.logprobs = fail_at, logprobs
        self.error = error or RuntimeError("the line is down")

    async def __call__(self, request: dict) -> dict:
        self.requests.append(request)
        if len(self.requests) == self.fail_at:
            raise self.error
        body = request if self.logprobs else {k: v for k, v in request.items() if "logprobs" not in k}
        reply = await offline.complete(body)
        self.served += 1
        return reply

    @property
    def calls(self) -> int:
        return len(self.requests)


def rated(complete: object, *, n: int = 12, prompt: object = PROMPT, store: object = None, **judge: object):
    options = {"model": "m", "method": "sample", "draws": 2, "seed": 1} | judge
    return calib.rate(items(n), prompt, calib.Judge(**options), store=store, complete=complete, progress=False)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs" / "replies.sqlite"


# --- resume -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sample", "logprob"])
@pytest.mark.parametrize("prompt", [PROMPT, THINK, JSON])
def test_an_interrupted_run_goes_on_where_it_stopped(store, method, prompt):
    whole = rated(Server(), prompt=prompt, method=method)
    first, second, third = Server(fail_at=8), Server(), Server()
    with pytest.raises(JudgeError, match=re.escape("failed: RuntimeError: the line is down (7 replies are kept in")):
        rated(first, prompt=prompt, method=method, store=store, concurrency=1)
    resumed = rated(second, prompt=prompt, method=method, store=store)
    assert_frame_equal(resumed, whole)
    asked = [json.dumps(request) for request in first.requests[:7] + second.requests]
    assert len(asked) == len(set(asked)) == len(whole.groupby(["item", "draw"], observed=True))
    assert_frame_equal(rated(third, prompt=prompt, method=method, store=store), whole)
    assert third.calls == 0


@pytest.mark.slow
def test_a_judge_that_fails_at_item_500_of_1000(store):
    def complete(request: dict) -> dict:
        seen.append(request)
        if len(seen) == 500:
            raise OSError
        return said("4")

    seen: list[dict] = []
    with pytest.raises(JudgeError, match=r"the call for item 'i499' failed: OSError: .*499 replies are kept"):
        rated(complete, n=1000, draws=1, store=store, concurrency=1)
    ratings = rated(complete, n=1000, draws=1, store=store)
    assert len(seen) == 1001
    assert ratings["score"].tolist() == [4.0] * 1000


@pytest.mark.slow
@pytest.mark.parametrize("error", [TimeoutError, ConnectionError, ConnectionResetError("by peer")])
def test_what_passes_is_asked_again(error):
    def complete(request: dict) -> dict:
        seen.append(request["messages"][1]["content"])
        if len(seen) % 3 == 0:
            raise error
        return said("4")

    seen: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = rated(complete, n=100, draws=1)
    assert ratings["score"].tolist() == [4.0] * 100
    assert len(set(seen)) == 100
    assert len(seen) - len(seen) // 3 == 100


def test_replies_under_way_at_a_failure_are_kept(store):
    async def complete(request: dict) -> dict:
        number = next(count)
        await asyncio.sleep(0.02 if number else 0.001)
        if number == 0:
            raise RuntimeError
        return said("4")

    count = iter(range(100))
    with pytest.raises(JudgeError):
        rated(complete, n=8, draws=1, store=store, concurrency=8)
    with Store(store) as kept:
        assert len(kept) == 7


def test_a_call_that_was_cancelled_is_a_failed_call():
    async def complete(request: dict) -> dict:
        raise asyncio.CancelledError

    with pytest.raises(JudgeError):
        rated(complete)


def test_more_draws_pay_only_for_the_new_ones(store):
    first, second = Server(), Server()
    few = rated(first, store=store, draws=2)
    many = rated(second, store=store, draws=5)
    assert (first.calls, second.calls) == (24, 36)
    assert_frame_equal(many[many["draw"] < 2].reset_index(drop=True).astype(object), few.astype(object))


def test_items_of_one_text_are_paid_once():
    server = Server()
    same = items(3).assign(output="The same text.")
    ratings = calib.rate(same, PROMPT, calib.Judge("m", method="logprob"), complete=server, progress=False)
    assert server.calls == 1
    assert ratings["item"].nunique() == 3


def test_a_prompt_given_twice_is_refused_or_asked_once():
    server = Server()
    try:
        rated(server, prompt=[PROMPT, PROMPT])
    except ValueError:
        assert server.calls == 0


def test_two_runs_on_one_store_at_once(store):
    def run() -> None:
        done.append(rated(Server(), n=30, store=store))

    done: list[pd.DataFrame] = []
    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_frame_equal(done[0], done[1])
    with Store(store) as kept:
        assert len(kept) == 60


def test_another_reading_costs_nothing(store, monkeypatch):
    before = rated(Server(), store=store)
    monkeypatch.setattr(run, "extract", lambda *_, **__: Reading([RatingRow(2.0, 1.0, "ok")], []))
    server = Server()
    after = rated(server, store=store)
    assert server.calls == 0
    assert set(after["score"]) == {2.0} != set(before["score"])


CHANGES = [{"model": "other"}, {"temperature": 0.5}, {"seed": 2}, {"base_url": "http://h/v1"}, {"prompt": THINK}]


@pytest.mark.parametrize(
    ("change", "calls"),
    [*(pytest.param(change, 24, marks=pytest.mark.slow) for change in CHANGES), ({"concurrency": 1}, 0)],
)
def test_what_changes_the_request_is_asked_anew_and_nothing_else(store, change, calls):
    rated(Server(), store=store)
    server = Server()
    rated(server, store=store, **change)
    assert server.calls == calls


# a function is known by its name: the endpoint tells two of one name apart
def test_two_endpoints_do_not_share_their_replies(store):
    def client(answer: str):
        async def complete(request: dict) -> dict:
            return said(answer)

        return complete

    assert set(rated(client("2"), store=store, base_url="http://one/v1")["score"]) == {2.0}
    assert set(rated(client("5"), store=store, base_url="http://two/v1")["score"]) == {5.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "junk", [b"<html>502</html>", b"\xff", None, "4", [1], {"error": {"message": "overloaded"}}, {}]
)
def test_what_is_no_completion_is_not_kept(store, junk):
    class Line:
        def __init__(self, reply: object):
            self.reply = reply

        def __call__(self, request: dict) -> object:
            return self.reply

    with pytest.raises(JudgeError, match=r"no chat completion .*given up after 5 attempts"):
        rated(Line(junk), n=1, draws=1, store=store)
    assert rated(Line(said("4")), n=1, draws=1, store=store)["score"].tolist() == [4.0]


# --- kinds of transports ----------------------------------------------------------------------------------------


def plain(request: dict) -> dict:
    return asyncio.run(offline.complete(request))


@pytest.mark.slow
def test_every_kind_of_callable_gives_the_same_ratings():
    async def in_bytes(request: dict) -> bytes:
        return json.dumps(await offline.complete(request)).encode()

    def sync(request: dict) -> dict:
        return answers[json.dumps(request)]

    server = Server()
    first = rated(server, method="logprob")
    answers = {json.dumps(r): plain(r) for r in server.requests}
    for complete in (in_bytes, sync, lambda request: json.dumps(sync(request)).encode(), offline.complete):
        assert_frame_equal(rated(complete, method="logprob").drop(columns="run"), first.drop(columns="run"))


@pytest.mark.parametrize("model", ["offline", "m"])
def test_inside_a_running_event_loop(model, store):
    async def cell() -> pd.DataFrame:
        return rated(None if model == "offline" else Server(), model=model, prompt=BARE, store=store)

    outside = rated(None if model == "offline" else Server(), model=model, prompt=BARE)
    assert_frame_equal(asyncio.run(cell()), outside)


def test_an_error_inside_a_running_event_loop_comes_out():
    async def cell() -> None:
        rated(Server(fail_at=3))

    with pytest.raises(JudgeError, match="the line is down"):
        asyncio.run(cell())


def test_calls_go_out_at_once_and_no_more_than_allowed():
    async def complete(request: dict) -> dict:
        state["now"] += 1
        state["most"] = max(state["most"], state["now"])
        await asyncio.sleep(0.002)
        state["now"] -= 1
        return said("4")

    state = {"now": 0, "most": 0}
    rated(complete, concurrency=5)
    assert state["most"] == 5


def test_a_request_is_a_chat_completions_body():
    server = Server()
    rated(server, n=1, method="logprob", top_logprobs=7, seed=None)
    assert server.requests == [
        {
            "model": "m", "messages": PROMPT.render({"output": items(1)["output"][0]}), "temperature": 1.0,
            "max_tokens": 8, "logprobs": True, "top_logprobs": 7,
        }
    ]  # fmt: skip
    own = Server()
    rated(own, n=1, base_url="http://127.0.0.1:1/v1", max_tokens=99)
    assert own.requests[0]["top_p"] == 1  # a server of one's own may have another default
    assert own.requests[0]["max_tokens"] == 99


# --- auto -------------------------------------------------------------------------------------------------------


def test_auto_takes_token_probabilities_where_they_are():
    server = Server()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = rated(server, method="auto")
    assert server.calls == 12  # the probe is the first call of the run
    assert set(ratings["method"]) == {"logprob"}
    assert set(ratings["run"]) == {"callable:Server|auto:logprob"}


def test_auto_samples_where_there_are_none_and_warns_once(store):
    server = Server(logprobs=False)
    note = "m gives no token probabilities: this run samples 2 replies per item."
    with pytest.warns(UserWarning) as warned:
        ratings = rated(server, method="auto", prompt=[PROMPT, THINK], store=store)
    assert [str(w.message) for w in warned] == [note]
    assert warned[0].filename == __file__
    assert server.calls == 2 + 2 * 24  # one that has none may be an exception
    assert set(ratings["method"]) == {"sample"}
    assert set(ratings["run"]) == {"callable:Server|auto:sample"}
    again = Server(logprobs=False)
    with pytest.warns(UserWarning, match=note):
        assert_frame_equal(rated(again, method="auto", prompt=[PROMPT, THINK], store=store), ratings)
    assert again.calls == 0


def test_where_token_probabilities_are_refused_auto_samples_and_logprob_is_an_error():
    async def complete(request: dict) -> dict:
        if "logprobs" in request:
            raise LogprobsError("not here")
        return await offline.complete(request)

    with pytest.warns(UserWarning, match="gives no token probabilities"):
        ratings = rated(complete, method="auto")
    assert set(ratings["run"]) == {"callable:" + complete.__qualname__ + "|auto:sample"}
    with pytest.raises(LogprobsError, match="not here"):
        rated(complete, method="logprob")


@pytest.mark.parametrize("top", [[("4", 0.0), ("3", -9999.0)], [("I", -0.1), ("The", -3.0)]])
def test_auto_does_not_settle_on_lists_without_information(top):
    async def complete(request: dict) -> dict:
        listed = [{"token": token, "logprob": logprob} for token, logprob in top]
        place = {"token": "4", "logprob": 0.0, "top_logprobs": listed}
        return {"choices": [{"message": {"content": "4"}, "logprobs": {"content": [place]}}]}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert set(rated(complete, method="auto")["method"]) == {"sample"}


@pytest.mark.parametrize("method", ["sample", "logprob"])
def test_a_stated_method_is_neither_probed_nor_noted_as_auto(method):
    server = Server(logprobs=method == "logprob")
    ratings = rated(server, method=method, draws=1)
    assert server.calls == 12
    assert set(ratings["run"]) == {"callable:Server"}


# --- draws, chains, seeds ---------------------------------------------------------------------------------------


def test_reasoning_before_token_probabilities_is_a_chain():
    ratings = rated(None, model="offline", method="logprob", prompt=THINK, draws=3)
    assert set(ratings["method"]) == {"chain"}
    assert set(ratings["draw"]) == {0, 1, 2}
    assert set(rated(None, model="offline", method="logprob", prompt=THINK, draws=None)["draw"]) == {0}
    assert set(rated(None, model="offline", method="logprob", prompt=PROMPT, draws=3)["draw"]) == {0}
    assert set(rated(None, model="offline", method="sample", prompt=THINK, draws=None)["draw"]) == set(range(20))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_ratings_and_another_one_others():
    one, again, other = (rated(None, model="offline", draws=20, seed=seed) for seed in (1, 1, 2))
    assert_frame_equal(one, again)
    assert one["score"].tolist() != other["score"].tolist()


def test_no_seed_is_sent_unless_asked():
    server = Server()
    rated(server, prompt=BARE, seed=None)
    assert not any("seed" in request for request in server.requests)


def test_draws_have_seeds_that_are_no_neighbours():
    server = Server()
    rated(server, n=1, draws=20, seed=5)
    seeds = sorted(request["seed"] for request in server.requests)
    assert len(set(seeds)) == 20
    assert min(b - a for a, b in pairwise(seeds)) > 20
    assert all(0 <= seed < 2**31 for seed in seeds)


# --- steps ------------------------------------------------------------------------------------------------------


def test_steps_are_written_once_and_frozen(store):
    server = Server()
    ratings = rated(server, prompt=BARE, store=store)
    assert server.calls == 1 + 24
    assert "Write the evaluation steps" in server.requests[0]["messages"][1]["content"]
    assert len({request["messages"][1]["content"].split("BEGIN")[0] for request in server.requests[1:]}) == 1
    assert len(set(ratings["prompt"])) == 1
    again = Server()
    assert_frame_equal(rated(again, prompt=BARE, store=store), ratings)
    assert again.calls == 0


def test_steps_written_beforehand_are_those_that_rate_would_use():
    server = Server()
    judge = calib.Judge("m", method="sample", draws=2, seed=1)
    prompt = calib.write_steps(BARE, judge, complete=server)
    assert server.calls == 1
    assert len(prompt.steps) == 3
    assert calib.write_steps(prompt, judge, complete=server) is prompt
    assert server.calls == 1
    assert_frame_equal(rated(server, prompt=prompt), rated(server, prompt=BARE))


def test_a_reply_without_steps_is_an_error():
    with pytest.raises(JudgeError, match="m wrote no numbered evaluation steps for 'quality'; give `steps`"):
        rated(lambda request: said("I would rather not."), prompt=BARE)


# --- secrets ----------------------------------------------------------------------------------------------------


def leak(request: dict) -> dict:
    raise ValueError(f"401: incorrect key {CANARY}, sent as Bearer {CANARY} and sk-abcdefgh123456")


def test_an_error_that_repeats_the_key_does_not_show_it(store, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with pytest.raises(JudgeError) as caught:
        rated(leak, store=store)
    assert str(caught.value).startswith("the call for item 'i0' failed: ValueError: 401: incorrect key ***")
    assert CANARY not in repr(caught.value)
    assert "sk-abcdefgh" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("verb", [calib.rate, calib.write_steps])
def test_an_error_while_steps_are_written_does_not_show_the_key_either(monkeypatch, verb):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    judge = calib.Judge("m", method="sample", draws=1)
    arguments = (items(1), BARE, judge) if verb is calib.rate else (BARE, judge)
    with pytest.raises(JudgeError) as caught:
        verb(*arguments, complete=leak)
    assert CANARY not in str(caught.value)


def test_no_key_is_in_the_store(store, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    rated(Server(), prompt=BARE, store=store)
    with pytest.raises(JudgeError):
        rated(leak, prompt=THINK, store=store)
    files = list(store.parent.iterdir())
    assert files
    assert not any(CANARY.encode() in file.read_bytes() for file in files)


def test_no_key_of_the_endpoint_is_in_the_ratings():
    ratings = rated(Server(), base_url=f"https://user:{CANARY}@example.org/v1?api_key={CANARY}")
    assert CANARY not in ratings.to_csv()
    assert "example.org" in ratings["run"][0]


# --- the table --------------------------------------------------------------------------------------------------


def test_the_ratings_say_how_they_were_made():
    ratings = rated(Server(), n=2, temperature=0.7, base_url="http://h:1/v1", draws=1)
    row = ratings.iloc[0]
    assert row[["item", "criterion", "rater", "prompt", "scale", "method"]].tolist() == [
        "i0", "quality", "m", PROMPT.id, "1|2|3|4|5", "sample",
    ]  # fmt: skip
    assert (row["temperature"], row["run"], row["draw"], row["weight"]) == (0.7, "callable:Server@http://h:1/v1", 0, 1)
    assert "reply" not in ratings


@pytest.mark.parametrize("text", ['4 \u202e because, "so"\n', "4 \ud83d"])  # with half a character, too
def test_replies_come_on_request(text):
    judge, options = calib.Judge("m", method="sample", draws=1), {"replies": True, "progress": False}
    with pytest.warns(UserWarning, match="no reply could be read"):
        ratings = calib.rate(items(2), PROMPT, judge, complete=lambda request: said(text), **options)
    assert ratings["reply"].tolist() == [text] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is fairly good.", "2 were without a rating where the prompt asks for it (replies=True, --replies"),
        ("9", "2 were off the scale"),
    ],
)
def test_a_run_of_which_nothing_could_be_read_says_so(text, words, tmp_path):
    judge = calib.Judge("m", method="sample", draws=1)
    with pytest.warns(UserWarning, match=re.escape(f"no reply could be read: {words}")):
        calib.rate(items(2), PROMPT, judge, complete=lambda request: said(text), progress=False)
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(f"{json.dumps(said(text))}\n" for _ in range(2)))
    with pytest.warns(UserWarning, match=re.escape(f"no reply could be read: {words}")):
        calib.from_jsonl(path, items(2), PROMPT, judge)


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\u202e\u200f", "x" * 1_000_000, "{{source}} %s {0}"])
def test_hostile_texts_are_rated(text, store):
    frame = pd.DataFrame({"item": ["a"], "output": pd.Series([text], dtype=object)})
    ratings = calib.rate(frame, PROMPT, calib.Judge("offline"), store=store, progress=False)
    assert "ok" in set(ratings["status"])


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        ([1, 2], ["1", "2"]),
        (pd.Categorical(["u", "v"]), ["u", "v"]),
        (pd.array([7, 8], dtype="Int64"), ["7", "8"]),
        (["007", "7"], ["007", "7"]),
    ],
)
def test_ids_of_any_kind(ids, shown):
    ratings = calib.rate(items(2).assign(item=ids), PROMPT, calib.Judge("offline", draws=1), progress=False)
    assert list(dict.fromkeys(ratings["item"])) == shown


def test_a_column_of_numbers_is_shown_as_text():
    server = Server()
    numbers = items(2).assign(output=[41, 42])
    calib.rate(numbers, PROMPT, calib.Judge("m", method="logprob"), complete=server, progress=False)
    assert [f"\n{n}\n" in r["messages"][1]["content"] for n, r in zip((41, 42), server.requests, strict=True)]


def test_several_prompts_make_one_table():
    prompts = [geval_prompt(c, inputs=("output",)) for c in ("fluency", "coherence")]
    server = Server()
    ratings = rated(server, prompt=iter(prompts), method="logprob")
    assert server.calls == 24
    assert list(dict.fromkeys(ratings["criterion"])) == ["fluency", "coherence"]


@pytest.mark.parametrize(
    ("scale", "text", "score"), [(Scale.of(no=0, yes=1), "Yes.", 1), (Scale.of(bad=0, fair=1 / 3), "fair", 1 / 3)]
)
def test_worded_labels_stand_as_their_numbers(scale, text, score):
    prompt = Prompt.from_criteria("q", "c", inputs=("output",), scale=scale, steps=())
    assert rated(lambda _: said(text), prompt=prompt, n=1)["score"].tolist() == [score] * 2


# --- what is refused before anything is paid --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "prompt", "message"),
    [
        (items(2).assign(item=[1, 1]), PROMPT,
         "items: column `item`, row 1: must be unique, but '1' was there before."),
        (items(2).drop(columns="output").assign(words="t"), PROMPT,
         "`items` must have the columns that the prompt shows; 'output' is missing."),
        (items(0), PROMPT, "`items` and `prompt` must not be empty, but got 0 items, 1 prompts."),
        (items(2), [], "`items` and `prompt` must not be empty, but got 2 items, 0 prompts."),
        # fails: the text would be sent as the word "nan"
        (items(2).assign(context=["c", None]), Prompt("q", "{{context}}"), "context"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_without_a_call(frame, prompt, message):
    server = Server()
    with pytest.raises(ValueError, match=re.escape(message)):
        calib.rate(frame, prompt, calib.Judge("m", method="sample", draws=1), complete=server, progress=False)
    assert server.calls == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "`model` must be a model string, but got ''."),
        ({"method": "guess"}, "`method` must be one of 'auto', 'logprob', 'sample', but got 'guess'."),
        ({"temperature": -1}, "`temperature` must not be negative, but got -1."),
        ({"draws": 0}, "`draws` must be a whole number of 1 or more, but got 0."),
        ({"top_logprobs": 0}, "`top_logprobs` must be a whole number of 1 or more, but got 0."),
        ({"concurrency": 0}, "`concurrency` must be a whole number of 1 or more, but got 0."),
        ({"timeout": 0}, "`timeout` must be more than 0, but got 0."),
        ({"deadline": -1.0}, "`deadline` must be more than 0, but got -1.0."),
        ({"requests_per_minute": 0}, "`requests_per_minute` must be more than 0, but got 0."),
        ({"tokens_per_minute": float("nan")}, "`tokens_per_minute` must be more than 0, but got nan."),
        ({"noise_floor": 1.0}, "`noise_floor` must be a probability below 1, but got 1.0."),
        ({"price": (1.0, -1.0)}, "`price` must be two numbers, for tokens in and out, but got (1.0, -1.0)."),
    ],
)
def test_a_judge_that_cannot_be_called_is_refused(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        calib.Judge(**{"model": "m"} | options)


# --- a store of another program ---------------------------------------------------------------------------------


def test_the_store_is_a_plain_sqlite_file(store):
    rated(Server(), n=1, draws=1, store=store)
    db = sqlite3.connect(store)
    joined = "draws JOIN replies ON reply = replies.id JOIN requests ON request = requests.id"
    query = f"SELECT key, requests.body, replies.body FROM {joined}"
    ((key, request, reply),) = db.execute(query).fetchall()
    db.close()
    assert re.fullmatch("[0-9a-f]{32}", key)
    assert json.loads(request)["model"] == "m"
    assert decode(reply).choices[0].text in {"1", "2", "3", "4", "5"}


def test_an_interrupt_inside_a_running_loop_stops_the_calls(store):
    calls = []

    async def complete(request: dict) -> dict:
        calls.append(request)
        if len(calls) == 5:
            # what a notebook's stop button does
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        await asyncio.sleep(0.01 if len(calls) < 5 else 0.2)  # until the other thread hears of it
        return said("4")

    async def cell() -> None:
        rated(complete, store=store, concurrency=1, draws=50)

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        loop.close()
    assert 5 <= len(calls) < 50


def test_only_a_judge_can_rate():
    with pytest.raises(
        TypeError, match=r"`judge` must be a calib.Judge, such as calib.Judge\('offline'\), but got 'offline'"
    ):
        calib.rate(items(1), PROMPT, "offline")


def test_garbage_is_looked_for_less_often_only_while_calls_are_under_way():
    own, seen = gc.get_threshold(), set()

    async def complete(request: dict) -> dict:
        seen.add(gc.get_threshold())
        return await offline.complete(request)

    rated(complete)
    assert {interval[0] for interval in seen} == {max(own[0], 10_000)}
    assert gc.get_threshold() == own


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [ConnectionError, UnavailableError])
def test_calls_that_failed_leave_nothing_behind(trouble):
    def left_after(fails: bool) -> int:
        """Objects that only a search for garbage finds, of a run of which every second attempt may fail."""
        attempts, left = [], []

        async def complete(request: dict) -> dict:
            attempts.append(0)
            if fails and len(attempts) % 2:
                raise trouble("the line is down")
            if len(attempts) == 40:
                left.append(gc.collect())
            return await offline.complete(request)

        gc.collect()
        gc.disable()
        try:
            rated(complete, n=60, draws=1, concurrency=1)
        finally:
            gc.enable()
        return left[0]

    assert left_after(fails=True) < left_after(fails=False) + 20  # one for each failure
