"""A run from its beginning to its end: a client with its store open; whatever breaks it off, nothing paid is lost."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import tempfile
from collections.abc import Container, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from calib.core.progress import rare_collections, stoppable
from calib.judge.calls.client import Client
from calib.judge.calls.endpoint import DryRun, input_tokens, most_output_tokens
from calib.judge.calls.round import Round, Sheet
from calib.judge.calls.store import Store
from calib.judge.calls.transport import (
    AnyComplete,
    JudgeError,
    LogprobsError,
    RejectedError,
    Transport,
    UnavailableError,
    connect,
    wrap,
)
from calib.judge.judge import (
    DEFAULT_DRAWS,
    SAMPLERS_OFF,
    Call,
    Judge,
    Plan,
    Row,
    calls_for,
    choices_request,
    continuation_request,
    digest,
    draws_request,
    steps_request,
)
from calib.judge.prompt import Prompt, parse_steps
from calib.judge.replies.extract import OpenLabel, Reading, extract
from calib.judge.replies.reply import Choice

Outcome = TypeVar("Outcome")


@contextmanager
def opened_client(
    judge: Judge,
    complete: AnyComplete | None,
    store: str | Path | None = None,
    *,
    others: Sequence[Path] = (),
    **options: Any,
) -> Iterator[Client]:
    """A client with its store open; whatever breaks off a run, what was paid for is on disk."""
    if complete is None:
        transport = connect(judge.model, judge.base_url, judge.concurrency, judge.max_reply_bytes)
    else:
        transport = wrap(complete, judge.base_url, judge.concurrency)
    with stoppable() as stop, Store(store, others) as kept:
        try:
            yield Client(judge, kept, transport, **options)
            stop.check()
        except BaseException as error:
            if kept_where := _kept_where(kept, error):
                error.add_note(kept_where)
            raise


def _kept_where(kept: Store, error: BaseException) -> str:
    """Where the replies are; an error says it of a store by itself, and of nothing there is nothing to say."""
    if kept.path and isinstance(error, sqlite3.Error):  # how many are there is not to be had
        return f"What was written before is kept in {str(kept.path)!r}: run again to go on."
    if (kept.path and isinstance(error, Exception)) or not (n := len(kept)):
        return ""
    if kept.path:
        return f"{n} replies are kept in {str(kept.path)!r}: run again to go on."
    handle, path = tempfile.mkstemp(prefix="calib-", suffix=".sqlite")
    os.close(handle)
    try:
        kept.save(path)
    except sqlite3.Error as full:  # the error that broke off the run is the one to show
        return f"The {n} replies that arrived could not be kept: {full}."
    return f"The {n} replies that arrived are kept: give store={path!r} to go on."


def finished(work: Coroutine[Any, Any, Outcome], transport: Transport) -> Outcome:
    """What the work returns, also where an event loop is running already, as in Jupyter; the transport is closed."""

    async def main() -> Outcome:
        stop.task = asyncio.current_task()
        try:
            return await work
        finally:
            await transport.close()

    # calls under way are many objects, and none of them is garbage
    with stoppable() as stop, rare_collections():
        loop = None
        with suppress(RuntimeError):  # there is one in a notebook
            loop = asyncio.get_running_loop()
        if loop is None:
            return asyncio.run(main())
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(asyncio.run, main())
            try:
                return done.result()
            except KeyboardInterrupt:
                # the calls run in another thread, which does not hear of the interrupt by itself
                if stop.task is not None:
                    with suppress(RuntimeError):  # the loop has ended by itself
                        stop.task.get_loop().call_soon_threadsafe(stop.task.cancel)
                raise


# --- the calls of a run -----------------------------------------------------------------------------------------------


_CHOICES = (16, 8, 4)  # draws asked for in one request, where the server gives as many
_WORTH_A_CALL = 1e-3  # open mass that a continuation call is made for
_END_MARK = re.compile(rb"\s*(?:<.*>\s*)?")  # no token, or a mark such as <|im_end|>
_PROBED_ITEMS = 3  # items that are tried to find out whether there are token probabilities


class Run:
    """What one client is asked for; `sheet` fills while the replies come."""

    def __init__(self, client: Client, *, progress: bool = False, texts: bool = False) -> None:
        self.client, self.progress, self.sheet = client, progress, Sheet(texts=texts)
        self.judge, self.store, self.address = client.judge, client.store, client.transport.address
        self.notes: list[str] = []  # what the user has to know in the end
        self.written: list[Prompt] = []  # the prompts with their steps

    # --- the whole ---

    async def rate(self, prompts: list[Prompt], rows: list[Row], settled: Plan | None = None) -> Plan:
        """Make all calls; what was settled for the run, if it was not before."""
        self.written = written = [await self.with_steps(prompt) for prompt in prompts]
        if settled is not None:
            await self._rate(settled, written, rows)
            return settled
        for extras in self._extras_to_try(written[0], rows[0]):
            served = self.client.pace.served
            try:
                plan = await self._settle(written[0], rows, extras)
                await self._rate(plan, written, rows)
            except RejectedError:
                if not extras or self.client.pace.served > served:
                    raise
            else:
                return plan
        raise AssertionError

    async def _rate(self, plan: Plan, prompts: list[Prompt], rows: list[Row]) -> None:
        wanted = list(self._calls(plan, prompts, rows))
        if unresolved := await self._fetch(plan, wanted):
            await self._resolve(plan, unresolved)
        if self.judge.method != plan.method == "sample":
            what = f"this run samples {self.judge.draws or DEFAULT_DRAWS['sample']} replies per item"
            self.notes.append(f"{self.judge.model} gives no token probabilities: {what}.")
        if self.sheet.missing():
            self.notes.append(self.limit_note())

    def limit_note(self) -> str:
        """That a limit was reached, and how much it left."""
        return limit_note(self.client.max_cost, self.sheet.missing(), self.sheet.expected)

    def dry(self, prompts: list[Prompt], rows: list[Row]) -> DryRun:
        """What the run would ask for, if the server gives what the judge's method needs, one draw a call."""
        # variants of a prompt share the request for its steps
        missing = {key: body for body, key in map(self._steps, prompts) if body and key not in self.store}
        steps = list(missing.values())
        prompts = [self._stepped(prompt) for prompt in prompts]
        plan = Plan(self._method(prompts[0], rows[0]), "", self._extras_to_try(prompts[0], rows[0])[0])
        wanted = {call.key: call for call in self._calls(plan, prompts, rows)}
        draws = [draws_request(self.judge, plan, [call]) for key, call in wanted.items() if key not in self.store]
        bodies = steps + draws
        tokens, most = sum(map(input_tokens, bodies)), sum(map(most_output_tokens, bodies))
        cost, stored = self.client.money(tokens, most) if self.client.price else None, len(wanted) - len(draws)
        return DryRun(calls=len(bodies), stored=stored, input_tokens=tokens, output_tokens=most, cost=cost)

    async def with_steps(self, prompt: Prompt) -> Prompt:
        """The prompt with its evaluation steps, which the judge writes if there are none."""
        body, key = self._steps(prompt)
        if body and await self.client.turn(key):
            raw, reply = await self.client.ask(f"the evaluation steps of {prompt.criterion!r}", body)
            if not parse_steps(reply.choices[0].text):
                what = f"numbered evaluation steps for {prompt.criterion!r}; give `steps`"
                raise JudgeError(f"{self.judge.model} wrote no {what}.")
            self.client.put([key], body, raw, reply)
        return self._stepped(prompt)

    def _steps(self, prompt: Prompt) -> tuple[dict[str, Any] | None, str]:
        """What asks for the steps of a prompt that has none, and the key of the reply."""
        body = steps_request(self.judge, prompt) if prompt.steps is None else None
        return body, digest([self.address, body]).hexdigest()

    def _stepped(self, prompt: Prompt) -> Prompt:
        """The prompt with the steps in the store."""
        body, key = self._steps(prompt)
        return prompt.with_steps(parse_steps(self.store.get(key).text)) if body and key in self.store else prompt

    # --- what the server can do, asked once ---

    def _extras_to_try(self, prompt: Prompt, row: Row) -> list[dict[str, Any]]:
        """A server's own samplers are switched off if it knows them; a run that goes on does as it did before."""
        every: list[dict[str, Any]] = [SAMPLERS_OFF, {}] if self._has_samplers() else [{}]
        return sorted(every, key=lambda extras: not self._begun(prompt, row, extras))

    def _begun(self, prompt: Prompt, row: Row, extras: dict[str, Any]) -> list[str]:
        """By which methods the store has the first draw of an item."""
        plans = [Plan(method, "", extras) for method in ("logprob", "sample")]
        return [plan.method for plan in plans if next(self._calls(plan, [prompt], [row])).key in self.store]

    def _method(self, prompt: Prompt, row: Row) -> str:
        """What a run is expected to do; of "auto" the store may know."""
        if self.judge.method != "auto":
            return self.judge.method
        methods = [method for extras in self._extras_to_try(prompt, row) for method in self._begun(prompt, row, extras)]
        return methods[-1] if methods else "logprob"

    def _has_samplers(self) -> bool:
        """Whether there may be samplers that the request does not name: hosted models have none by default."""
        return self.judge.base_url is not None and self.client.transport.choices

    async def _settle(self, prompt: Prompt, rows: list[Row], extras: dict[str, Any]) -> Plan:
        """The one method of this run, what is asked beside, and the words that record how that came about."""
        judge, auto = self.judge, self.judge.method == "auto"
        method = judge.method
        if auto:
            method = "logprob" if await self._gives_logprobs(prompt, rows[:_PROBED_ITEMS], extras) else "sample"
        record = {
            self.address: True,
            f"auto:{method}": auto,
            "samplers:server": self._has_samplers() and not extras,
            f"floor:{judge.noise_floor:g}": judge.noise_floor,
            "continued": judge.continuation,
        }
        run = "|".join(words for words, holds in record.items() if holds)
        return Plan(method, run, extras, await self._choices(extras) if method == "sample" else 1)

    async def _gives_logprobs(self, prompt: Prompt, rows: list[Row], extras: dict[str, Any]) -> bool:
        """Ask for the first item, for a further one where that could not be read; the replies count."""
        plan = Plan("logprob", "", extras)
        refused: RejectedError | None = None
        for row in rows:
            call = next(self._calls(plan, [prompt], [row]))
            try:
                choice = await self.client.choice(call.key, call.what, draws_request(self.judge, plan, [call]))
            except LogprobsError:
                return False
            except RejectedError as error:
                refused = error
                continue
            rows_read = extract(choice, prompt.scale, prompt.answer, logprobs=True).rows
            # not mere certainty, nor lists that lack the token emitted
            if any(0 < row.weight < 1 for row in rows_read):
                return True
            if rows_read[0].status not in ("refused", "truncated", "unread", "off_scale"):
                return False
        if refused:
            raise refused
        return False

    async def _choices(self, extras: dict[str, Any]) -> int:
        """How many draws to ask for at once: several only where as many choices came and were seen to differ."""
        judge = self.judge
        if not self.client.transport.choices or (judge.draws or 2) < 2 or not judge.temperature:
            return 1
        for choices in _CHOICES:
            body = choices_request(judge, extras, choices)
            keys = [digest([self.address, body, n]).hexdigest() for n in range(choices)]
            if await self.client.turn(keys[0]):
                try:
                    raw, reply = await self.client.ask("several choices at once", body)
                except RejectedError:
                    self.client.release(keys[:1])
                    continue  # servers have limits of their own
                self.client.put(keys[: len(reply.choices)], body, raw, reply)
            seen = [choice.text for _, choice in self.store.read(keys)]
            return choices if len(seen) == choices and len(set(seen)) > 1 else 1
        return 1

    # --- many calls ---

    def _calls(self, plan: Plan, prompts: list[Prompt], rows: list[Row]) -> Iterator[Call]:
        return calls_for(self.judge, self.address, plan, prompts, rows)

    async def _fetch(self, plan: Plan, wanted: list[Call]) -> list[Call]:
        """Read what is in the store and ask for the rest; the calls whose replies leave something open."""
        rest = self.sheet.expect(wanted)
        unresolved: list[Call] = []

        def deliver(call: Call, choice: Choice) -> None:
            reading = self._read(call, choice)
            if self.judge.continuation and _worth_continuing(reading, ()):
                unresolved.append(call)
            else:
                self.sheet.add(call, reading.rows, choice.text)

        there = len(rest)
        for key, choice in self.store.read(list(rest)):
            deliver(rest.pop(key), choice)
        made = Round(self.client, plan, self.sheet, deliver, progress=self.progress)
        self.notes += await made.work(list(rest.values()), there - len(rest))
        return unresolved

    async def _resolve(self, plan: Plan, calls: list[Call]) -> None:
        """Have the open beginnings of labels continued, until nothing significant is open."""
        trouble = await self._continues(plan, calls)
        left, waiting = [trouble] if trouble else [], iter(calls)

        async def worker() -> None:
            for call in waiting:
                choice, more = self.store.get(call.key), dict[str, Choice]()
                try:
                    while not trouble and (new := _worth_continuing(self._read(call, choice, more), more)):
                        for one in new:
                            more[one.prefix] = await self._continuation(plan, call, one.prefix)
                except (RejectedError, UnavailableError) as error:
                    left.append(str(error))
                self.sheet.add(call, self._read(call, choice, more).rows, choice.text)

        await asyncio.gather(*(worker() for _ in range(min(self.judge.concurrency, len(calls)))))
        if left:
            self.notes.append(f"replies could not be continued, what they leave open stays ambiguous: {left[0]}")

    async def _continues(self, plan: Plan, calls: list[Call]) -> str:
        """What speaks against the server going on from a beginning: a whole reply must have nothing to add."""
        for call in calls:
            choice = self.store.get(call.key)
            if choice.finish == "stop":
                break
        else:
            return "no reply came to its end by itself"
        try:
            added = await self._continuation(plan, call, choice.text)
        except RejectedError as error:
            return str(error)
        token = max(added.lists[0], key=lambda pair: pair[1])[0] if 0 in added.lists else b"".join(added.tokens[:1])
        return "" if _END_MARK.fullmatch(token) else f"after a whole reply the server goes on with {token!r}"

    async def _continuation(self, plan: Plan, call: Call, prefix: str) -> Choice:
        body = continuation_request(draws_request(self.judge, plan, [call]), prefix)
        key = digest([call.key, prefix]).hexdigest()
        return await self.client.choice(key, f"the continuation of {call.what}", body)

    def _read(self, call: Call, choice: Choice, more: Mapping[str, Choice] | None = None) -> Reading:
        floor, answer = self.judge.noise_floor, call.prompt.answer
        return extract(choice, call.scale, answer, logprobs=call.logprobs, floor=floor, continued=more)


def limit_note(max_cost: float | None, missing: int, wanted: int) -> str:
    """What a run says that was not to cost more."""
    left = f"{missing} of {wanted} draws were not asked for"
    return f"the limit of ${max_cost or 0.0:g} (max_cost) is reached: {left}; a higher one goes on."


def _worth_continuing(reading: Reading, done: Container[str]) -> list[OpenLabel]:
    return [one for one in reading.open if one.share > _WORTH_A_CALL and one.prefix not in done]
