"""Runs as a whole: what is lost and kept, what is paid twice, and what servers can do."""

import asyncio
import gc
import hashlib
import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from mock_server import serve
from pandas.testing import assert_frame_equal

import calib
from calib.judge.calls import (
    client as client_module,
    client as pace,
    run as round_module,
    run as run_module,
    store as store_module,
)
from calib.judge.calls.store import Store
from calib.judge.calls.transport import HttpTransport, JudgeError, RejectedError, UnavailableError
from calib.judge.prompt import Prompt
from calib.judge.scale import Scale

pytestmark = pytest.mark.usefixtures("quick")
FORM, THINK, JSON = (
    Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning=reasoning, steps=())
    for reasoning in ("form", "think", "json")
)
TO_TEN = Prompt.from_criteria("quality", "It is good.", inputs=("output",), scale=Scale.of(*range(11)), steps=())


def items(n: int) -> pd.DataFrame:
    return pd.DataFrame({"item": [f"i{k}" for k in range(n)], "output": [f"Text {k}." for k in range(n)]})


def number_of(request: dict) -> int:
    return int(re.search(r"Text (\d+)\.", request["messages"][1]["content"])[1])


def said(text: str = "4") -> dict:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


def rated(complete: object = None, n: int = 30, *, prompt: object = FORM, server: object = None, **options: object):
    names = ("store", "keep", "progress", "replies", "max_cost")
    of_run = {"progress": False} | {name: options.pop(name) for name in names if name in options}
    base = {"model": "m", "method": "logprob" if server else "sample", "draws": None if server else 1}
    judge = calib.Judge(**(base | ({"base_url": server.base_url} if server else {}) | options))
    return calib.rate(items(n), prompt, judge, complete=complete, **of_run)


def statuses(ratings: pd.DataFrame) -> dict[str, str]:
    """Of each item the status that counts."""
    read = ratings.groupby("item", observed=True)["status"]
    return {item: "ok" if "ok" in set(found) else found.iloc[0] for item, found in read}


@pytest.fixture
def store(tmp_path):
    return tmp_path / "s.sqlite"


# --- calls that fail --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("error", [RejectedError("HTTP 400: too long"), ConnectionError("reset"), b"<html>"])
def test_a_call_that_fails_for_good_is_a_row_and_a_warning(store, error, concurrency, clock):
    """`error`: what becomes of every tenth item, as long as it lasts."""

    async def complete(request: dict) -> object:
        asked.append(number_of(request))
        if number_of(request) % 10 == 5 and lasts:
            if isinstance(error, bytes):
                return error
            await served.wait()  # where nothing is served a run ends soon
            clock.now += 10
            raise error
        await asyncio.sleep(0.001)
        served.set()
        return said()

    asked, served, lasts = [], asyncio.Event(), True
    options = {"n": 100, "store": store, "concurrency": concurrency, "deadline": 60}
    with pytest.warns(
        UserWarning, match=r"^10 calls failed \(their rows have the status 'failed', .*item 'i"
    ) as warned:
        ratings = rated(complete, **options)
    assert len(warned) == 1
    failed = {f"i{k}" for k in range(5, 100, 10)}
    assert {item for item, status in statuses(ratings).items() if status == "failed"} == failed
    assert ratings.loc[ratings["status"] == "failed", "score"].isna().all()
    assert (ratings.loc[ratings["status"] != "failed", "score"] == 4).all()
    if isinstance(error, bytes):
        assert len(asked) == 90 + 10 * 5  # each of these replies has been paid for
    lasts, asked[:] = False, []
    again = rated(complete, **options)
    assert sorted(asked) == list(range(5, 100, 10))
    assert set(again["status"]) == {"ok"}


def test_where_nothing_is_accepted_the_run_ends_soon(store):
    async def complete(request: dict) -> dict:
        asked.append(request)
        await asyncio.sleep(0.001)
        raise RejectedError("HTTP 400: the account is not active")

    asked = []
    with pytest.raises(RejectedError, match=r"the call for item 'i\d' failed: HTTP 400: the account is not active"):
        rated(complete, n=1000, store=store)
    assert len(asked) <= 16 + 3


def test_the_first_items_may_all_be_too_long():
    async def complete(request: dict) -> dict:
        await asyncio.sleep(0.001 if number_of(request) < 12 else 0.05)  # it is quick to say no
        if number_of(request) < 12:
            raise RejectedError("HTTP 400: too long")
        return said()

    with pytest.warns(UserWarning, match="^12 calls failed"):
        assert list(statuses(rated(complete, n=60)).values()).count("ok") == 48


def test_where_all_of_few_fail_the_run_fails_but_not_where_one_of_two_does(store):
    async def complete(request: dict) -> dict:
        if number_of(request) in well:
            return said()
        raise RejectedError("HTTP 400: no")

    well = ()
    for n in (1, 2, 5):
        with pytest.raises(RejectedError, match="HTTP 400: no"):
            rated(complete, n=n)
    well = (0,)
    rated(complete, n=1, store=store)
    with pytest.warns(UserWarning, match="^1 calls failed"):
        assert statuses(rated(complete, n=2)) == {"i0": "ok", "i1": "failed"}


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_that_goes_away_ends_the_run_and_what_came_is_kept(store, concurrency, clock):
    async def complete(request: dict) -> dict:
        await asyncio.sleep(0.001)
        if len(answered) >= 20 and not back:
            clock.now += 10
            raise ConnectionError("refused")
        answered.append(number_of(request))
        return said()

    answered, back = [], False
    with pytest.raises(
        UnavailableError, match=r"ConnectionError: refused .*given up after \d+ attempts\) \(20 replies"
    ):
        rated(complete, n=60, store=store, concurrency=concurrency, deadline=60)
    back = True
    assert set(statuses(rated(complete, n=60, store=store)).values()) == {"ok"}
    assert sorted(answered) == list(range(60))


def test_what_concerns_all_calls_ends_the_run_at_once():
    async def complete(request: dict) -> dict:
        asked.append(request)
        if len(asked) > 10:
            raise JudgeError("HTTP 401: the key was withdrawn")
        return said()

    asked = []
    with pytest.raises(JudgeError, match="HTTP 401"):
        rated(complete, n=100, concurrency=2)
    assert len(asked) <= 12


@pytest.mark.slow
def test_token_probabilities_that_stop_half_way_are_reported():
    with serve(mode="digit", plogprobs_missing_after=20) as server:
        found = statuses(rated(server=server, n=40, concurrency=4))
    assert 15 <= list(found.values()).count("ok") <= 20
    assert set(found.values()) == {"ok", "no_logprobs"}


# the clock itself is tested in test_pace.py: here only whether what servers and judges ask for reaches it
def test_the_wait_that_the_server_asks_for_is_kept(monkeypatch):
    async def complete(request: dict) -> dict:
        if number_of(request) not in told:
            told.add(number_of(request))
            raise UnavailableError("HTTP 429", limited=True, retry_after=0.05)
        return said()

    told, plain, waits = set(), pace.Pace._wait, []
    monkeypatch.setattr(pace.Pace, "_wait", lambda self, troubles: waits.append(plain(self, troubles)) or waits[-1])
    assert len(rated(complete, n=40)) == 40
    assert len(waits) == 40
    assert min(waits) >= 0.05


@pytest.mark.parametrize("limit", [{"requests_per_minute": 6000}, {"tokens_per_minute": 600_000}])
def test_calls_go_out_no_faster_than_the_judge_may(limit, monkeypatch):
    def until_allowed(self: pace.Pace, tokens: int) -> float:
        waits.append(plain(self, tokens))
        return 0.0

    plain, waits = pace.Pace._until_allowed, []
    monkeypatch.setattr(pace.Pace, "_until_allowed", until_allowed)
    monkeypatch.setattr(pace, "monotonic", lambda: 1000.0)  # a clock that stands: waits are counted, not timed
    # a hundredth of a second for each request; or for a hundred tokens: a prompt has about 90, and 10 may come
    rated(lambda _: said(), n=20, max_tokens=10, **limit)
    assert len(waits) == 20
    assert all(0.009 * k <= wait <= 0.02 * k for k, wait in enumerate(waits))


@pytest.mark.slow
def test_each_of_several_choices_counts_as_tokens(monkeypatch):
    async def call(self: pace.Pace, attempt: object, tokens: int) -> object:
        counted.append(tokens)
        return await plain(self, attempt, tokens)

    plain, counted = pace.Pace.call, []
    monkeypatch.setattr(pace.Pace, "call", call)
    with serve(mode="digit") as server:
        rated(server=server, n=2, method="sample", draws=17, max_tokens=50)
    _, *calls = counted  # the first one is the probe
    few, many = min(calls), max(calls)
    assert sorted(calls) == [few] * 2 + [many] * 2
    assert many - few == 15 * 50


def test_a_call_has_the_judges_time_and_no_more():
    async def complete(request: dict) -> dict:
        await asyncio.sleep(5)
        return said()

    with pytest.raises(UnavailableError, match=r"no reply within 0\.05 s \(given up after .*attempts?\)$"):
        rated(complete, n=1, timeout=0.05, deadline=0.2)


FAULTS = {
    "half are refused for now": {"p429": 0.5},
    "some are cut": {"ptruncate": 0.05, "preset": 0.05, "p500": 0.05},
    "some hang": {"phang": 0.03},
    "some have nothing to say": {"pempty": 0.1, "prefuse": 0.1, "pfilter": 0.1},
    "all of it": {"p429": 0.2, "phang": 0.02, "ptruncate": 0.05, "preset": 0.05, "pempty": 0.05, "prefuse": 0.05},
}


@pytest.mark.slow
@pytest.mark.parametrize("faults", FAULTS)
def test_every_item_ends_with_a_status_and_none_is_paid_for_twice(faults, store, patient):
    with serve(mode="json", **FAULTS[faults]) as server:
        patient(server)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ratings = rated(server=server, n=250, prompt=JSON, store=store, timeout=0.5)
        stats = server.stats()
    found = statuses(ratings)
    assert len(found) == 250
    silent = {name: list(found.values()).count(name) for name in ("refused", "unread")}
    sent = {
        "refused": sum(stats["faults"].get(name, 0) for name in ("refuse", "filter")),
        "unread": stats["faults"].get("empty", 0),
    }
    assert silent == sent or faults == "all of it"  # there some were sent twice, cut
    assert all(silent[name] <= sent[name] for name in sent)
    assert set(found.values()) <= {"ok", "refused", "unread"}
    assert stats["delivered"]["distinct"] + stats["faults"].get("filter", 0) == 250
    assert stats["delivered"]["most"] == 1
    with Store(store) as kept:
        assert len(kept) == 250


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_full_disk_ends_the_run_at_once(store, monkeypatch, concurrency):
    def commit(self: Store) -> None:
        if self.path != store:  # that of a session of another test, which ends when it has been idle
            plain(self)
            return
        committed.append(len(asked))
        if len(committed) == 10:
            raise sqlite3.OperationalError("database or disk is full")
        plain(self)

    async def complete(request: dict) -> dict:
        asked.append(request)
        await asyncio.sleep(0.001 * (1 + number_of(request) % 3))
        return said()

    plain, asked, committed = Store.commit, [], []
    monkeypatch.setattr(Store, "commit", commit)
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        rated(complete, n=200, store=store, concurrency=concurrency)
    assert len(asked) <= committed[9] + concurrency


@pytest.mark.slow
def test_no_transaction_stays_open_while_calls_are_under_way(store):
    def complete(request: dict) -> dict:
        with Store(store) as other:  # where a transaction stays open it waits half a minute, and fails
            other.put([f"other {number_of(request)}"], {}, json.dumps(said()).encode())
        time.sleep(0.001 * (number_of(request) % 3))
        return said()

    rated(complete, n=40, store=store, draws=2)
    with Store(store) as kept:
        assert len(kept) == 80 + 40


@pytest.mark.slow
def test_replies_of_ten_megabytes():
    with serve(mode="line", pbig=0.2) as server:
        ratings = rated(server=server, n=20, prompt=THINK, method="sample", draws=1)
        big = server.stats()["faults"]["big"]
    assert big >= 2
    assert set(statuses(ratings).values()) == {"ok"}


# --- what the store keeps ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_kept_in_full_a_reply_is_there_byte_for_byte(store):
    with serve(mode="json") as server:
        rated(server=server, n=3, prompt=JSON, store=store, keep="full")
        with closing(sqlite3.connect(store)) as db:
            joined = "SELECT requests.body, replies.body FROM replies JOIN requests ON request = requests.id"
            kept = db.execute(joined).fetchall()
        for request, body in kept:
            url = server.base_url + "/chat/completions"
            call = urllib.request.Request(url, request.encode(), {"content-type": "application/json"})
            with urllib.request.urlopen(call, timeout=30) as reply:
                assert body == reply.read()
    assert len(kept) == 3
    assert min(len(body) for _, body in kept) > 50_000


@pytest.mark.slow
@pytest.mark.parametrize("method", ["logprob", "sample"])
@pytest.mark.parametrize(("mode", "prompt"), [("digit", FORM), ("line", THINK), ("json", JSON)])
def test_whatever_is_kept_gives_the_same_ratings(tmp_path, mode, prompt, method):
    with serve(mode=mode) as server:
        options = {
            "server": server, "n": 12, "prompt": prompt, "method": method, "draws": 3, "seed": 1, "replies": True,
        }  # fmt: skip
        frames = [rated(**options)]
        for keep in ("compact", "full"):
            frames.append(rated(**options, keep=keep, store=tmp_path / keep))
            frames.append(rated(**options, keep=keep, store=tmp_path / keep))  # read from the store
        # a store may hold some of each
        rated(**options | {"n": 5}, keep="full", store=tmp_path / "mixed")
        before = server.stats()["requests"]
        frames.append(rated(**options, keep="compact", store=tmp_path / "mixed"))
        assert server.stats()["requests"] < before + 12 * 3
        frames.append(rated(**options, keep="full", store=tmp_path / "mixed"))
    for frame in frames[1:]:
        assert_frame_equal(frame, frames[0])


@pytest.mark.slow
def test_the_compact_form_is_small(tmp_path):
    def sizes(path: Path) -> list[int]:
        with closing(sqlite3.connect(path)) as db:
            return [size for (size,) in db.execute("SELECT length(body) FROM replies")]

    with serve(mode="json") as server:
        for keep in ("compact", "full"):
            rated(server=server, n=64, prompt=JSON, store=tmp_path / keep, keep=keep)
    assert min(sizes(tmp_path / "full")) > 50_000
    assert max(sizes(tmp_path / "compact")) <= 4096


def test_what_is_no_way_to_keep_is_refused():
    with pytest.raises(ValueError, match=r"^`keep` must be one of 'compact', 'full', but got 'all'\.$"):
        rated(lambda request: said(), keep="all")


# --- several draws at once --------------------------------------------------------------------------------------


def asked_for(store: Path) -> list[tuple[int, int]]:
    """For each reply but that of the probe how many choices were asked for, and how many are draws."""
    query = (
        "SELECT requests.body, count(*) FROM draws JOIN replies ON reply = replies.id "
        "JOIN requests ON request = requests.id GROUP BY replies.id"
    )
    with closing(sqlite3.connect(store)) as db:
        found = [(json.loads(body), n) for body, n in db.execute(query)]
    return [
        (body.get("n", 1), n) for body, n in found if "Name any whole number" not in body["messages"][-1]["content"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 5])
def test_draws_come_several_at_once_where_they_differ(store, seed):
    with serve(mode="digit") as server:
        ratings = rated(server=server, n=6, method="sample", draws=20, seed=seed, store=store)
        assert server.stats()["requests"] == 1 + 6 * 2
        again = rated(server=server, n=6, method="sample", draws=20, seed=seed, store=store)
        assert server.stats()["requests"] == 1 + 6 * 2
    assert sorted(asked_for(store)) == [(4, 4)] * 6 + [(16, 16)] * 6
    assert len(ratings) == 120
    assert ratings.groupby("item", observed=True)["draw"].apply(sorted).tolist() == [list(range(20))] * 6
    assert ratings.groupby("item", observed=True)["score"].nunique().max() > 1
    assert_frame_equal(again, ratings)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"ignore_n": True}, {"copies": True}, {"reject_fields": "n"}])
def test_they_come_singly_where_they_do_not(store, options):
    with serve(mode="digit", **options) as server:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ratings = rated(server=server, n=4, method="sample", draws=20, store=store)
        assert server.stats()["requests"] - server.stats()["faults"].get("reject_fields", 0) <= 1 + 80
    assert asked_for(store) == [(1, 1)] * 80
    assert ratings.groupby("item", observed=True)["score"].nunique().max() > 1


def test_a_callable_is_never_asked_for_several_nor_about_samplers():
    async def complete(request: dict) -> dict:
        assert not {"n", "top_k", "min_p"} & set(request)
        return said()

    assert len(rated(complete, n=2, draws=20, base_url="http://h/v1")) == 40


@pytest.mark.slow
def test_one_draw_or_the_most_probable_one_needs_no_probe():
    with serve(mode="digit") as server:
        rated(server=server, n=5, method="sample", draws=1)
        rated(server=server, n=5, method="sample", draws=4, temperature=0)
        assert server.stats()["requests"] == 5 + 20


class Short:
    """A transport that gives n choices where the probe asks for them, and fewer later on."""

    def __init__(self):
        self.asked: list[int] = []

    async def __call__(self, request: dict) -> dict:
        probe = "Name any whole number" in request["messages"][-1]["content"]
        n = request.get("n", 1)
        self.asked += [] if probe else [n]
        given = n if probe else min(n, 3)
        return {"choices": [{"message": {"content": str(1 + k % 5)}} for k in range(given)]}


def test_too_few_choices_are_reported_and_the_rest_is_asked_for_singly(store, monkeypatch):
    short = Short()
    monkeypatch.setattr("calib.judge.calls.client.wrap", lambda *_: HttpTransport("short", None, short, choices=True))
    note = r"^4 replies had fewer choices than were asked for; the rest came singly\.$"
    with pytest.warns(UserWarning, match=note):
        ratings = rated(short, n=4, draws=10, store=store)
    assert sorted(short.asked) == [1] * 4 * 7 + [10] * 4
    assert ratings.groupby("item", observed=True)["draw"].apply(sorted).tolist() == [list(range(10))] * 4
    with Store(store) as kept:
        assert len(kept) == 40 + 16  # and the probe
    assert_frame_equal(rated(short, n=4, draws=10, store=store), ratings)
    assert len(short.asked) == 32


def requests_in(store: Path) -> list[dict]:
    with closing(sqlite3.connect(store)) as db:
        return [json.loads(body) for (body,) in db.execute("SELECT body FROM requests")]


@pytest.mark.slow
def test_seeds_of_groups_are_no_neighbours(store):
    with serve(mode="digit") as server:
        rated(server=server, n=8, method="sample", draws=64, seed=1, store=store)
    with closing(sqlite3.connect(store)) as db:
        seeds = sorted({seed for (seed,) in db.execute("SELECT seed FROM replies")})
    assert len(seeds) == 1 + 8 * 4  # for the draws 0, 16, 32, 48 of each item, and the question before them
    assert min(after - before for before, after in pairwise(seeds)) > 16
    assert 0 <= min(seeds) <= max(seeds) < 2**31


@pytest.mark.slow
def test_another_temperature_is_recorded_and_asked_for(store):
    with serve(mode="digit") as server:
        warm = rated(server=server, n=3, method="sample", draws=3, seed=1, store=store)
        cool = rated(server=server, n=3, method="sample", draws=3, seed=1, store=store, temperature=0.25)
    assert set(warm["temperature"]) == {1.0}
    assert set(cool["temperature"]) == {0.25}
    assert {body["temperature"] for body in requests_in(store)} == {1.0, 0.25}
    scores = calib.summarize(pd.concat([warm, cool], ignore_index=True))
    assert set(scores["temperature"]) == {1.0, 0.25}


# --- samplers of the server -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"method": "logprob"}, {"method": "sample", "draws": 3}, {"method": "auto"}])
def test_samplers_of_the_server_are_switched_off(store, options):
    with serve(mode="digit") as server:
        ratings = rated(server=server, n=5, store=store, **options)
    assert {(body["top_k"], body["min_p"], body["top_p"]) for body in requests_in(store)} == {(-1, 0.0, 1)}
    assert not any("samplers" in run for run in set(ratings["run"]))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"method": "logprob"}, {"method": "sample", "draws": 3}, {"method": "auto"}])
@pytest.mark.parametrize("rejects", ["top_k,min_p", "min_p"])
def test_unless_it_will_not_hear_of_that(store, options, rejects):
    with serve(mode="digit", reject_fields=rejects) as server:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ratings = rated(server=server, n=40, store=store, **options)
        stats = server.stats()
        probed = 16 if options["method"] == "sample" else 0
        assert len(ratings.drop_duplicates(["item", "draw"])) == 40 * options.get("draws", 1)
        assert stats["choices"] == 40 * options.get("draws", 1) + probed
        assert stats["delivered"]["most"] == 1
        assert stats["faults"]["reject_fields"] <= 16 + 3 + 3
        again = rated(server=server, n=40, store=store, **options)
        assert server.stats()["requests"] == stats["requests"]  # not even to be told no again
    assert all("|samplers:server" in run for run in set(ratings["run"]))
    assert_frame_equal(again, ratings)


# --- labels of several tokens -----------------------------------------------------------------------------------


class Splits:
    """A judge on 0 to 10 whose tokenizer has single digits; it goes on from a beginning if it is told to."""

    def __init__(self, truth: dict[int, float], *, goes_on: bool = True, fails_at: int = 0):
        self.truth, self.goes_on, self.fails_at = truth, goes_on, fails_at
        self.requests: list[dict] = []

    async def __call__(self, request: dict) -> dict:
        self.requests.append(request)
        if len(self.requests) == self.fails_at:
            raise RuntimeError("the line is down")
        *_, last = request["messages"]
        begun = last["content"] if last["role"] == "assistant" else ""
        if begun and not self.goes_on:
            raise RejectedError("HTTP 400: the last message must be of the user")
        shares = self.next_token(begun)
        text = max(shares, key=shares.__getitem__)
        places = [self.place(shares, text)]
        # of its own accord it ends where the most probable token says so
        if not begun and text == "1":
            after = self.next_token("1")
            places.append(self.place(after, max(after, key=after.__getitem__)))
            text += max(after, key=after.__getitem__).replace("<|end|>", "")
        content = text.replace("<|end|>", "")
        choice = {"message": {"content": content}, "logprobs": {"content": places}, "finish_reason": "stop"}
        return {"choices": [choice]}

    def next_token(self, begun: str) -> dict[str, float]:
        words = {str(label) + "$": p for label, p in self.truth.items() if str(label).startswith(begun)}
        shares: dict[str, float] = {}
        for word, p in words.items():
            token = word[len(begun)].replace("$", "<|end|>")
            shares[token] = shares.get(token, 0.0) + p / (sum(words.values()) or 1)
        return shares or {"<|end|>": 1.0}

    @staticmethod
    def place(shares: dict[str, float], token: str) -> dict:
        ranked = sorted(shares.items(), key=lambda pair: -pair[1])
        listed = [{"token": text, "logprob": math.log(p) if p else -9999.0} for text, p in ranked]
        return {"token": token, "logprob": math.log(shares[token]), "top_logprobs": listed}


TRUTH = {0: 0.02, 1: 0.05, 2: 0.03, 5: 0.1, 7: 0.3, 8: 0.3, 10: 0.2}
MEAN = sum(label * p for label, p in TRUTH.items())


def score(ratings: pd.DataFrame) -> pd.Series:
    return calib.summarize(ratings).iloc[0]


def test_without_a_continuation_the_mass_is_ambiguous_with_bounds():
    splits = Splits(TRUTH)
    ratings = rated(splits, n=1, prompt=TO_TEN, method="logprob")
    assert len(splits.requests) == 1
    (open_,) = ratings[ratings["status"] == "ambiguous"].itertuples()
    assert (open_.weight, open_.low, open_.high) == (pytest.approx(0.25), 1, 10)
    assert score(ratings)["low"] <= MEAN <= score(ratings)["high"]
    assert abs(score(ratings)["score"] - MEAN) > 0.05


def test_a_continuation_resolves_it_and_is_stored(store):
    splits = Splits(TRUTH)
    options = {"prompt": TO_TEN, "method": "logprob", "continuation": True}
    ratings = rated(splits, n=5, store=store, **options)
    beginnings = [request["messages"][2]["content"] for request in splits.requests if len(request["messages"]) == 3]
    assert sorted(beginnings) == ["1"] * 5 + ["7"]  # for each item, and once to see whether it goes on where it should
    gone_on = [request for request in splits.requests if len(request["messages"]) == 3]
    assert all(
        (one["add_generation_prompt"], one["continue_final_message"], one["max_tokens"]) == (False, True, 1)
        for one in gone_on
    )
    assert len(splits.requests) == 11
    ok = ratings[(ratings["status"] == "ok") & (ratings["item"] == "i0")]
    assert dict(zip(ok["score"], ok["weight"], strict=True)) == pytest.approx(TRUTH, rel=1e-6)
    assert "ambiguous" not in set(ratings["status"])
    assert score(ratings)["score"] == pytest.approx(MEAN, abs=1e-6)
    assert set(ratings["run"]) == {"callable:Splits|continued"}
    assert_frame_equal(rated(splits, n=5, store=store, **options), ratings)
    assert len(splits.requests) == 11


def test_what_the_reply_itself_shows_needs_no_continuation():
    certain = Splits({1: 0.3, 5: 0.2, 10: 0.5})  # it says 1, 0
    ratings = rated(certain, n=1, prompt=TO_TEN, method="logprob", continuation=True)
    assert len(certain.requests) == 1
    assert score(ratings)["score"] == pytest.approx(6.3)


def test_an_interrupted_continuation_goes_on(store):
    options = {"n": 6, "prompt": TO_TEN, "method": "logprob", "continuation": True, "concurrency": 1}
    whole = rated(Splits(TRUTH), **options)
    with pytest.raises(JudgeError, match=r"the call for the continuation of item 'i2' failed: RuntimeError: the line"):
        rated(Splits(TRUTH, fails_at=10), store=store, **options)
    second = Splits(TRUTH)
    assert_frame_equal(rated(second, store=store, **options), whole)
    assert len(second.requests) == 13 - 9


def test_a_server_that_does_not_go_on_leaves_it_open():
    options = {"n": 3, "prompt": TO_TEN, "method": "logprob"}
    with pytest.warns(UserWarning, match=r"could not be continued, .*ambiguous: .*HTTP 400: the last message"):
        ratings = rated(Splits(TRUTH, goes_on=False), continuation=True, **options)
    plain = rated(Splits(TRUTH), **options)
    assert_frame_equal(ratings.drop(columns="run"), plain.drop(columns="run"))


def test_a_failed_call_among_replies_that_are_all_open_is_not_the_end():
    splits = Splits(TRUTH)

    async def complete(request: dict) -> dict:
        if number_of(request) == 3:
            raise RejectedError("HTTP 400: too long")
        return await splits(request)

    with pytest.warns(UserWarning, match="^1 calls failed"):
        ratings = rated(complete, n=6, prompt=TO_TEN, method="logprob", continuation=True)
    assert list(statuses(ratings).values()).count("ok") == 5


# --- in memory --------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def named_in(error: BaseException) -> Path:
    (note,) = error.__notes__
    found = re.fullmatch(r"The (\d+) replies that arrived are kept: give store='(.+)' to go on\.", note)
    with Store(found[2]) as kept:
        assert len(kept) == int(found[1])
    return Path(found[2])


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["an error", "an interrupt", "an interrupt in a notebook", "a warning"])
def test_replies_in_memory_are_saved_whatever_ends_the_run(folder, trouble):
    async def complete(request: dict) -> dict:
        asked.append(number_of(request))
        number = len(asked)
        await asyncio.sleep(0.001)
        if number == 20 and not well:
            if trouble == "an error":
                raise RuntimeError
            if trouble == "a warning":
                raise RejectedError("HTTP 400: too long")
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            await asyncio.sleep(5)
        return said(str(1 + number_of(request) % 5))

    def run() -> None:
        rated(complete, n=60, concurrency=3)

    async def cell() -> None:
        run()

    asked, well = [], False
    kind = {"an error": JudgeError, "a warning": UserWarning}.get(trouble, KeyboardInterrupt)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # a notebook's loop leaves the signal to Python, asyncio.run does not
        with closing(asyncio.new_event_loop()) as loop, pytest.raises(kind) as caught:
            loop.run_until_complete(cell()) if "notebook" in trouble else run()
    path = named_in(caught.value)
    assert path.parent == folder
    well, before = True, set(asked)
    del asked[:]
    ratings = rated(complete, n=60, store=path)
    assert ratings["score"].tolist() == [1 + k % 5 for k in range(60)]
    assert len(set(asked) & before) <= 3  # those that were under way
    assert len(asked) + len(before) <= 63


def test_with_nothing_to_save_there_is_no_file(folder):
    with pytest.raises(JudgeError) as caught:
        rated(Splits({}, fails_at=1), concurrency=1)
    assert not hasattr(caught.value, "__notes__")
    assert not list(folder.iterdir())


def test_with_a_store_there_is_no_other_file(folder, store):
    with pytest.raises(JudgeError):
        rated(Splits(TRUTH, fails_at=5), n=10, store=store, concurrency=1)
    assert {path.name for path in folder.iterdir()} == {store.name}


# --- two at once ------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, time, hashlib
import pandas as pd
import calib, calib.judge.calls.rate
from calib.judge.prompt import Prompt
url, store, start, n = sys.argv[1:]
prompt = Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
items = pd.DataFrame({"item": [f"i{k}" for k in range(int(n))], "output": [f"Text {k}." for k in range(int(n))]})
judge = calib.Judge("m", method="logprob", base_url=url, concurrency=8)
time.sleep(max(float(start) - time.time(), 0))
ratings = calib.rate(items, prompt, judge, store=store, progress=False)
print(hashlib.sha256(ratings.to_csv().encode()).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_on_one_store_share_the_work(store):
    n = 240
    with serve(mode="digit", latency_ms=20) as server:
        command = [sys.executable, "-c", SCRIPT, server.base_url, str(store), str(time.time() + 1.5), str(n)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
        hashes = {one.communicate(timeout=300)[0].strip() for one in both}
        stats = server.stats()
        alone = rated(server=server, n=n)
    assert [one.returncode for one in both] == [0, 0]
    assert hashes == {hashlib.sha256(alone.to_csv().encode()).hexdigest()}
    assert stats["delivered"]["distinct"] == n
    assert stats["requests"] == n
    with Store(store) as kept:
        assert len(kept) == n


def at_once(runs: int, rate) -> list[pd.DataFrame]:
    """What several runs return that begin together."""
    start = threading.Barrier(runs)

    def one(_: int) -> pd.DataFrame:
        start.wait()
        return rate()

    with ThreadPoolExecutor(runs) as threads:
        return list(threads.map(one, range(runs)))


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 5])
@pytest.mark.parametrize("options", [{"draws": 1}, {"draws": 3}, {"draws": 2, "concurrency": 1}], ids=str)
def test_runs_on_one_store_ask_for_each_draw_once(store, runs, options):
    async def complete(request: dict) -> dict:
        asked.append(number_of(request))
        await asyncio.sleep(0.001 * (number_of(request) % 5))
        return said(str(1 + number_of(request) % 5))

    asked: list[int] = []
    tables = at_once(runs, lambda: rated(complete, n=60, store=store, **options))
    assert sorted(asked) == sorted([*range(60)] * options["draws"])
    alone = rated(complete, n=60, **options)
    for table in tables:
        assert_frame_equal(table, alone)


@pytest.mark.slow
def test_runs_on_one_store_share_probes_steps_and_continuations(store):
    async def steps(request: dict) -> dict:
        if len(request["messages"]) == 1 or "Text" not in str(request["messages"]):
            asked.append("steps")
            await asyncio.sleep(0.05)
            return said("1. Read.\n2. Judge.\n3. Answer.")
        return await splits(request)

    splits, asked = Splits(TRUTH), []
    prompt = Prompt.from_criteria("quality", "It is good.", inputs=("output",), scale=TO_TEN.scale)
    tables = at_once(3, lambda: rated(steps, n=20, store=store, prompt=prompt, method="auto", continuation=True))
    assert asked == ["steps"]
    beginnings = [one["messages"][2]["content"] for one in splits.requests if len(one["messages"]) == 3]
    assert beginnings.count("1") == 20
    assert beginnings.count("7") <= 3  # each run sees for itself whether the judge goes on
    assert len(splits.requests) - len(beginnings) == 20
    for table in tables:
        assert_frame_equal(table, tables[0])
        assert "ambiguous" not in set(table["status"])


@pytest.mark.slow
def test_what_one_run_cannot_get_another_tries(store):
    async def refuses(request: dict) -> dict:
        await asyncio.sleep(0.01)
        if number_of(request) == 3:
            failed.append(threading.current_thread())
            raise RejectedError("HTTP 400: too long")
        return said()

    failed: list[threading.Thread] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = at_once(2, lambda: rated(refuses, n=20, store=store))
    assert len(failed) == len(set(failed)) == 2
    assert all(statuses(table) == {f"i{k}": "failed" if k == 3 else "ok" for k in range(20)} for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 8])
def test_what_a_dead_run_was_asking_for_is_asked_for_in_the_end(store, monkeypatch, concurrency):
    async def complete(request: dict) -> dict:
        asked.append(number_of(request))
        await asyncio.sleep(0.001)
        return said()

    asked: list[int] = []
    alone = rated(complete, n=12)
    with Store(store) as kept:
        rated(complete, n=12, store=store)
        with closing(sqlite3.connect(store)) as db, db:
            keys = [key for (key,) in db.execute("SELECT key FROM draws")]
            db.execute("DELETE FROM draws")
            db.executemany("INSERT INTO claims VALUES (?, 'dead')", [(key,) for key in keys[:6]])
            db.execute("INSERT INTO runs VALUES ('dead', ?)", (time.time() - 1,))
        del asked[:]
        monkeypatch.setattr(store_module, "_LAPSE", 2.0)
        assert_frame_equal(rated(complete, n=12, store=store, concurrency=concurrency), alone)
        assert sorted(asked) == list(range(12))
        assert len(kept) == 12


@pytest.mark.slow
def test_a_run_that_waits_for_a_slow_call_of_another_hears_that_it_lives(store, monkeypatch):
    """The clock goes on by half a lapse at a time, once all have shown that they live and the others have looked."""

    async def complete(request: dict) -> dict:
        asked.append(number_of(request))
        for _ in range(6 if number_of(request) == 0 else 0):
            clock.now += store_module._LAPSE / 2
            await until(lambda: last_seen() >= clock.now)
            looked.clear()
            await until(lambda: len(looked) > 1)
        return said()

    async def until(holds) -> None:
        for _ in range(500):  # where it never does the others take over
            if holds():
                return
            await asyncio.sleep(0.01)

    def last_seen() -> float:
        with closing(sqlite3.connect(store, timeout=60)) as db:
            return db.execute("SELECT min(seen) FROM runs").fetchone()[0]

    def claim(self: Store, keys: list[str]) -> bool:
        looked.add(self._run_id)
        return plain(self, keys)

    asked: list[int] = []
    clock, looked, plain = SimpleNamespace(now=1e9), set(), Store.claim
    monkeypatch.setattr(store_module, "time", SimpleNamespace(time=lambda: clock.now))
    monkeypatch.setattr(Store, "claim", claim)
    monkeypatch.setattr(client_module, "_BEAT", 0.01)
    at_once(3, lambda: rated(complete, n=10, store=store))
    assert sorted(asked) == list(range(10))


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_store_that_another_program_locks_ends_the_run_and_says_so(store, monkeypatch, concurrency):
    async def complete(request: dict) -> dict:
        asked.append(request)
        if len(asked) == 20:
            other.execute("BEGIN IMMEDIATE")
        await asyncio.sleep(0.001)
        return said()

    monkeypatch.setattr(store_module, "_PATIENCE", 0.1)
    monkeypatch.setattr(store_module, "_LAPSE", 0.2)  # what it claimed stays claimed: that could not be written either
    asked: list[dict] = []
    Store(store).__exit__()
    said_so = re.escape(f"{store} must not be locked by another program, but was for 0.1 s (a database browser,")
    with (
        closing(sqlite3.connect(store, isolation_level=None)) as other,
        pytest.raises(sqlite3.OperationalError, match=said_so),
    ):
        rated(complete, n=100, store=store, concurrency=concurrency)
    assert len(asked) <= 20 + concurrency
    there = len(asked)
    rated(complete, n=100, store=store)
    assert len(asked) - there <= 100 - (20 - concurrency)


@pytest.mark.slow
def test_a_process_that_is_killed_and_goes_on(store):
    n = 400
    with serve(mode="digit", latency_ms=5) as server:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", SCRIPT, server.base_url, str(store), "0", str(n)]
        for _ in range(3):
            before = server.stats()["requests"]
            server.hold(before + 100)  # it does not come to its end before it is killed
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
                while server.stats()["requests"] < before + 60:
                    time.sleep(0.005)
                process.kill()
        server.hold(math.inf)
        resumed = rated(server=server, n=n, store=store)
        stats = server.stats()
        assert_frame_equal(resumed, rated(server=server, n=n))
    assert stats["requests"] <= n + 3 * 8  # repeated: what was under way


# --- progress ---------------------------------------------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch):
    """As in a terminal."""
    monkeypatch.setattr(round_module, "is_watched", lambda: True)


def test_there_is_no_bar_where_nobody_watches(capsys):
    rated(lambda request: said(), n=3, progress=True)
    assert capsys.readouterr().err == ""


def test_the_bar_shows_how_far_it_is_what_it_costs_and_how_replies_read(capsys, monkeypatch, watched):
    async def complete(request: dict) -> dict:
        await asyncio.sleep(0.002)
        usage = {"usage": {"prompt_tokens": 1000, "completion_tokens": 100}}
        return said("no idea" if number_of(request) % 4 == 0 else "4") | usage

    monkeypatch.setattr(round_module, "_SHOW_EVERY", 0.005)
    rated(complete, n=40, progress=True, price=(10.0, 100.0), concurrency=2)
    out, err = capsys.readouterr()
    assert not out
    lines = re.split(r"[\r\n]+", err.strip())
    assert all(line.startswith("rate with m: ") for line in lines)
    assert len(lines) > 5
    assert re.search(r"100%.*\b40/40 \[.*(draw/s|s/draw), \$0\.8000, ok 30, unread 10\]$", lines[-1])
    assert re.search(r"\b[1-3]?\d/40 \[.*<.*, \$0\.\d{4}, .*ok \d+", err)  # on the way, with the time left


def test_without_a_price_the_bar_shows_none_and_a_resumed_one_begins_where_it_was(capsys, store, watched):
    rated(lambda request: said(), n=30, store=store)
    assert capsys.readouterr().err == ""
    rated(lambda request: said(), n=40, store=store, progress=True)
    shown = capsys.readouterr().err
    assert "30/40" in re.split(r"[\r\n]+", shown.strip())[0]
    assert re.search(r"40/40 \[.*, ok 40\]\s*$", shown)
    assert "$" not in shown


def test_the_bar_is_closed_when_the_run_breaks_off(capsys, watched):
    with pytest.raises(JudgeError):
        rated(Splits(TRUTH, fails_at=5), n=20, progress=True, concurrency=1)
    assert capsys.readouterr().err.endswith("\n")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["p429", "p400", "ptruncate", "pgarble"])
def test_what_a_server_does_wrong_leaves_nothing_behind(fault, monkeypatch):
    """No error, and none of the frames that it came through, is left for the collector of garbage."""
    rate, left = run_module.Run._rate, []

    async def counted(self: run_module.Run, *given: object) -> None:
        gc.collect()
        gc.disable()
        try:
            await rate(self, *given)
            left.append(gc.collect())
        finally:
            gc.enable()

    monkeypatch.setattr(run_module.Run, "_rate", counted)
    texts = [f"Text {k}." for k in range(60)]
    items = pd.DataFrame({"item": texts, "output": texts})
    with serve(mode="json", retry_after="0.01", **{fault: 0.3}) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge = calib.Judge("openai/mock", method="logprob", base_url=server.base_url)
        calib.rate(items, JSON, judge, progress=False)
        faults = sum(server.stats()["faults"].values())
    assert faults > 8
    assert left[0] < faults
