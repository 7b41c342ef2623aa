"""One judge for all the items that a harness gives one at a time: one client and one event loop, in its own thread."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import math
import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.core.progress import rare_collections
from calib.core.text import printable
from calib.judge.calls.client import Client, opened_client
from calib.judge.calls.run import Run
from calib.judge.calls.transport import AnyComplete, JudgeError
from calib.judge.judge import Judge, Plan, calls_for, unread_notes
from calib.judge.prompt import Prompt
from calib.table.scores import numbers_of

_NUMBERS = ("entropy", "sd", "mass", "low", "high")
_COUNTS = ("n", "n_unread")
_IDLE = 2.0  # seconds without an item, after which connections and store are closed
_LOOK = 0.5  # seconds until it is seen again whether items are under way
_TRIES = 3  # items that go alone until one is read; after as many failures it is the judge
_AT_ONCE = 64  # calls, where the judge's limit is the default: the harness says how many samples are under way
_DEFAULT = next(field.default for field in fields(Judge) if field.name == "concurrency")


class JudgeReading(NamedTuple):
    """What a judge says of one item."""

    score: float  # the expectation over the scale; NaN if nothing could be read
    # plain JSON: entropy, sd, mass, low, high, n, n_unread (None where that is not known), status, distribution (label
    # to weight, not renormalised), prompt, judge; and what ratings are made of again: criterion, scale, method,
    # temperature, readings (lists of draw, score, weight, status, low, high)
    details: dict[str, Any]
    words: str  # the same for people, or why nothing could be read


class JudgeSession:
    """Reads items, each as soon as it comes, on the connections and with the store of one run."""

    def __init__(self, prompt: Prompt, judge: Judge, store: str | Path | None, complete: AnyComplete | None) -> None:
        check_alone(prompt, judge)
        self.prompt, self.judge, self.store = prompt, judge, store
        own = replace(judge, concurrency=_AT_ONCE) if judge.concurrency == _DEFAULT else judge
        self._open = partial(opened_client, own, complete, store)
        self._lock, self._under_way = threading.RLock(), 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._numbers, self._noted = itertools.count(), set[str]()

    def submit(self, texts: Mapping[str, Any]) -> Future[JudgeReading]:
        """The reading to come of one item, given its texts by column."""
        # the columns that the prompt shows, and no other
        for name in self.prompt.inputs:
            if texts.get(name) is None:
                raise ArgumentError("prompt", f"shows {name!r}, which this sample does not have")
        row = {"item": "1"} | {name: str(texts[name]) for name in self.prompt.inputs}
        with self._lock:
            if self._loop is None:
                ready: Future[asyncio.AbstractEventLoop] = Future()
                threading.Thread(target=self._work, args=(ready,), name="calib judge", daemon=True).start()
                try:
                    self._loop = ready.result()
                except JudgeError as error:
                    failed: Future[JudgeReading] = Future()
                    failed.set_result(self._failed(error))
                    return failed
            self._under_way += 1
            reading = asyncio.run_coroutine_threadsafe(self._reading(row), self._loop)
        reading.add_done_callback(self._end_one)
        return reading

    def read(self, texts: Mapping[str, Any]) -> JudgeReading:
        """The reading of one item, waited for."""
        return self.submit(texts).result()

    def _end_one(self, _reading: Future[JudgeReading]) -> None:
        with self._lock:
            self._under_way -= 1

    # --- in the thread ---

    def _work(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        try:
            with self._open() as client, rare_collections():
                asyncio.run(self._serve(client, ready))
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)  # to who waits for the session
                return
            with self._lock:
                self._loop = None if self._loop is ready.result() else self._loop
            raise

    async def _serve(self, client: Client, ready: Future[asyncio.AbstractEventLoop]) -> None:
        """Read items until none has come for a while, or the process ends."""
        self._client, self._first, self._tries = client, asyncio.Lock(), _TRIES
        self._plan: Plan | None = None
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        done = threading.Event()

        def end() -> None:
            loop.call_soon_threadsafe(ended.set)
            done.wait(_IDLE)

        atexit.register(end)
        ready.set_result(loop)
        try:
            quiet = 0.0
            while not ended.is_set():
                try:
                    await asyncio.wait_for(ended.wait(), _LOOK)
                except TimeoutError:
                    quiet = 0.0 if self._under_way else quiet + _LOOK
                with self._lock:
                    if ended.is_set() or (quiet >= _IDLE and not self._under_way):
                        self._loop = None
                        break
        finally:
            await client.transport.close()
            atexit.unregister(end)
            done.set()

    async def _reading(self, row: dict[str, str]) -> JudgeReading:
        try:
            if self._tries:
                async with self._first:  # the first item goes alone, and shows how the judge is asked
                    if self._tries:
                        return await self._tried(row)
            return await self._rated(row)
        except JudgeError as error:
            return self._failed(error)

    async def _tried(self, row: dict[str, str]) -> JudgeReading:
        try:
            reading = await self._rated(row)
        except JudgeError:
            self._tries -= 1
            if self._tries:  # it may have been the item
                self._client.forgive()
            raise
        self._tries = 0
        return reading

    async def _rated(self, row: dict[str, str]) -> JudgeReading:
        run = Run(self._client)
        if self.store is None:  # an output that the harness repeats is read anew
            run.calls = partial(calls_for, run.judge, f"{run.address} {next(self._numbers)}")
        self._plan = await run.rate([self.prompt], [row], self._plan)
        # of one reply the reading itself says what it is; here only what a setting may change
        counts = {status: run.sheet.counts[status] for status in ("ok", "truncated", "no_logprobs")}
        for note in run.notes + unread_notes(counts):
            if note not in self._noted:
                self._noted.add(note)
                warnings.warn(printable(note), stacklevel=2)
        return self._judged(run)

    # --- what is said of it ---

    @property
    def _names(self) -> dict[str, Any]:  # not the judge's `repr`, with an endpoint in it
        return {"prompt": printable(self.prompt.id), "judge": printable(self.judge.model)}

    def _failed(self, error: JudgeError) -> JudgeReading:
        details = dict.fromkeys((*_NUMBERS, "n_unread")) | {"n": 0, "status": "failed", "distribution": {}}
        return JudgeReading(math.nan, details | self._names, f"nothing was read (failed): {error}")

    def _judged(self, run: Run) -> JudgeReading:
        """The reading of one run, with the numbers that `summarize` gives."""
        calls, rows = zip(*run.sheet.rows(), strict=True)
        table = pd.DataFrame(rows)
        draws, reply = np.unique([call.draw for call in calls], return_inverse=True)
        columns = numbers_of(table, np.zeros(len(table), int), reply, np.zeros(len(draws), int))
        score, counts = float(columns["score"][0]), {name: int(columns[name][0]) for name in _COUNTS}
        # JSON has no NaN
        numbers = {name: _plain(columns[name][0]) for name in _NUMBERS}
        # each label's weight, the mean over all draws, so that their sum is `mass`
        prompt, names = self.prompt, self._names
        shares = {}
        for label, value in zip(prompt.scale.labels, prompt.scale.values, strict=True):
            shares[label] = sum(row.weight for row in rows if row.status == "ok" and row.score == value) / len(draws)
        if math.isnan(score):
            status = ", ".join(sorted({row.status for row in rows}))
            words = f"nothing was read ({status}) in {counts['n_unread']} draws of {names['judge']}"
        else:
            status, each = "ok", ", ".join(f"{label} {share:.2f}" for label, share in shares.items())
            spread = f"sd {numbers['sd']:.2f}, entropy {numbers['entropy']:.2f} nats, mass {numbers['mass']:.2f}"
            words = printable(f"{prompt.criterion} {score:.2f} on {prompt.scale} ({spread}); weights: {each}")
        readings = [[call.draw, *map(_plain, row)] for call, row in zip(calls, rows, strict=True)]
        how = {"criterion": prompt.criterion, "scale": str(prompt.scale), "method": calls[0].method}
        how |= {"temperature": _plain(self.judge.temperature), "readings": readings}
        details = numbers | counts | {"status": status, "distribution": shares} | names | how
        return JudgeReading(score, details, words)


def _plain(value: Any) -> Any:
    """A word, or a number; None for NaN."""
    return value if isinstance(value, str) else None if math.isnan(value) else float(value)


def check_alone(prompt: Prompt, judge: Judge) -> None:
    """Refuse what needs the whole run: pairs, steps still to be written, a method to be found out."""
    if not isinstance(prompt, Prompt):
        raise TypeError(f"`prompt` must be one calib.Prompt, such as geval_prompt makes, but got {prompt!r:.60}.")
    if not isinstance(judge, Judge):
        raise TypeError(f"`judge` must be a calib.Judge, such as calib.Judge('offline'), but got {judge!r:.60}.")
    if prompt.pair:
        rule = "must ask about one output: a harness gives one at a time, and `Prompt.pairwise` compares two"
        raise ArgumentError("prompt", rule)
    if prompt.steps is None:
        rule = "must have its steps, which would be written anew for each item: `calib.write_steps` writes them once"
        raise ArgumentError("prompt", rule)
    if judge.method == "auto" and judge.model != "offline":
        each = "a harness gives one item at a time, and 'auto' is settled by the first few"
        raise ArgumentError("judge", f"must have method='logprob' or method='sample': {each}")
