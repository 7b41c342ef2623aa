"""The calls of a run: which are to be made, made, kept, and read as they come."""

from __future__ import annotations

import asyncio
import math
import random
import re
import sqlite3
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping
from time import monotonic
from typing import Any

from tqdm import tqdm

from calib.judge.calls.cost import DryRun, about, price
from calib.judge.calls.pace import Pace
from calib.judge.calls.store import Store
from calib.judge.calls.transport import (
    OPENAI,
    JudgeError,
    LogprobsError,
    RejectedError,
    Transport,
    UnavailableError,
    redact,
)
from calib.judge.judge import (
    DRAWS,
    NEUTRAL,
    Call,
    Judge,
    Plan,
    calls,
    choices_request,
    continuing,
    digest,
    place,
    request,
    steps_request,
)
from calib.judge.prompt import Prompt, parse_steps
from calib.judge.replies.extract import Open, Reading, Row, extract
from calib.judge.replies.reply import Choice, Reply, decode, to_json
from calib.judge.replies.sheet import Sheet

_CHOICES = (16, 8, 4)  # draws asked for in one request, where the server gives as many
_WORTH_A_CALL = 1e-3  # open mass that a continuation call is made for
_END = re.compile(rb"\s*(?:<.*>\s*)?")  # no token, or a mark such as <|im_end|>
_SHOW_EVERY = 0.2  # seconds
_PROBED = 3  # items that are tried to find out whether there are token probabilities
_REJECTED = 3  # calls lost with nothing getting through between: then it may be not the items
_A_MOMENT = 0.02  # seconds
_GRACE = 1.0  # seconds for replies that are on their way when a run is stopped


class Run:
    """One judge, one store, one way between them; `sheet` fills while the replies come."""

    def __init__(
        self,
        judge: Judge,
        store: Store,
        transport: Transport,
        *,
        keep: str = "compact",
        max_cost: float | None = None,
        progress: bool = False,
        texts: bool = False,
    ) -> None:
        self.judge, self.store, self.transport, self.keep = judge, store, transport, keep
        self.where = place(transport)
        pace = (judge.timeout, judge.deadline, judge.requests_per_minute, judge.tokens_per_minute)
        self.pace = Pace(judge.concurrency, *pace)
        self.price, self.max_cost = _price(judge, transport), max_cost
        self.spent = self.reserved = 0.0  # dollars; reserved is what the calls under way may cost at most
        self.progress = progress
        self.sheet = Sheet(texts=texts)
        self._to_write = False
        self.broken: sqlite3.Error | None = None  # the store could not be written
        self.notes: list[str] = []  # what the user has to know in the end

    # --- the whole ---

    async def rate(self, prompts: list[Prompt], rows: list[dict[str, Any]]) -> Plan:
        """Make all calls; what was settled for the run."""
        written = [await self.with_steps(prompt) for prompt in prompts]
        for extras in self._ways(written[0], rows[0]):
            served = self.pace.served
            try:
                plan = await self._settle(written[0], rows, extras)
                await self._rate(plan, written, rows)
            except RejectedError:
                if not extras or self.pace.served > served:
                    raise
            else:
                return plan
        raise AssertionError

    async def _rate(self, plan: Plan, prompts: list[Prompt], rows: list[dict[str, Any]]) -> None:
        wanted = [call for prompt in prompts for row in rows for call in self._calls(plan, prompt, row)]
        unresolved = await self._fetch(plan, wanted)
        if unresolved:
            await self._resolve(plan, unresolved)
        if self.judge.method != plan.method == "sample":
            what = f"this run samples {self.judge.draws or DRAWS['sample']} replies per item"
            self.notes.append(f"{self.judge.model} gives no token probabilities: {what}.")
        if missing := self.sheet.missing():
            left = f"{missing} of {len(wanted)} draws were not asked for"
            self.notes.append(f"`max_cost` of ${self.max_cost:g} is reached: {left}; a higher one goes on.")

    def dry(self, prompts: list[Prompt], rows: list[dict[str, Any]]) -> DryRun:
        """What the run would ask for, if the server gives what the judge's method needs, one draw a call."""
        # variants of a prompt share the request for its steps
        missing = {key: body for body, key in map(self._steps, prompts) if body and key not in self.store}
        steps = list(missing.values())
        prompts = [self._stepped(prompt) for prompt in prompts]
        plan = Plan(self._method(prompts[0], rows[0]), "", self._ways(prompts[0], rows[0])[0])
        wanted = {call.key: call for prompt in prompts for row in rows for call in self._calls(plan, prompt, row)}
        asked = [request(self.judge, plan, [call]) for key, call in wanted.items() if key not in self.store]
        stored, asked = len(wanted) - len(asked), steps + asked
        tokens, most = sum(map(_tokens_in, asked)), sum(body["max_tokens"] for body in asked)
        return DryRun(
            calls=len(asked),
            stored=stored,
            input_tokens=tokens,
            output_tokens=most,
            cost=self._money(tokens, most) if self.price else None,
        )

    async def with_steps(self, prompt: Prompt) -> Prompt:
        """The prompt with its evaluation steps, which the judge writes if there are none."""
        body, key = self._steps(prompt)
        if body and key not in self.store:
            raw, reply = await self.ask(f"the evaluation steps of {prompt.criterion!r}", body)
            if not parse_steps(reply.choices[0].text):
                what = f"numbered evaluation steps for {prompt.criterion!r}; give `steps`"
                raise JudgeError(f"{self.judge.model} wrote no {what}.")
            self.put([key], body, raw, reply)
        return self._stepped(prompt)

    def _steps(self, prompt: Prompt) -> tuple[dict[str, Any] | None, str]:
        """What asks for the steps of a prompt that has none, and the key of the reply."""
        body = steps_request(self.judge, prompt) if prompt.steps is None else None
        return body, digest([self.where, body]).hexdigest()

    def _stepped(self, prompt: Prompt) -> Prompt:
        """The prompt with the steps in the store."""
        body, key = self._steps(prompt)
        return prompt.with_steps(parse_steps(self.store.get(key).text)) if body and key in self.store else prompt

    # --- what the server can do, asked once ---

    def _ways(self, prompt: Prompt, row: dict[str, Any]) -> list[dict[str, Any]]:
        """A server's own samplers are switched off if it knows them; a run that goes on does as it did before."""
        ways: list[dict[str, Any]] = [NEUTRAL, {}] if self._has_samplers() else [{}]
        return sorted(ways, key=lambda extras: not self._begun(prompt, row, extras))

    def _begun(self, prompt: Prompt, row: dict[str, Any], extras: dict[str, Any]) -> list[str]:
        """By which methods the store has the first draw of an item."""
        plans = [Plan(method, "", extras) for method in ("logprob", "sample")]
        return [plan.method for plan in plans if next(self._calls(plan, prompt, row)).key in self.store]

    def _method(self, prompt: Prompt, row: dict[str, Any]) -> str:
        """What a run is expected to do; of "auto" the store may know."""
        if self.judge.method != "auto":
            return self.judge.method
        found = [method for way in self._ways(prompt, row) for method in self._begun(prompt, row, way)]
        return found[-1] if found else "logprob"

    def _has_samplers(self) -> bool:
        """Whether there may be samplers that the request does not name: hosted models have none by default."""
        return self.judge.base_url is not None and self.transport.choices

    async def _settle(self, prompt: Prompt, rows: list[dict[str, Any]], extras: dict[str, Any]) -> Plan:
        """The one method of this run, what is asked beside, and the words that record how that came about."""
        judge, auto = self.judge, self.judge.method == "auto"
        method = judge.method
        if auto:
            method = "logprob" if await self._gives_logprobs(prompt, rows[:_PROBED], extras) else "sample"
        said = {
            self.where: True,
            f"auto:{method}": auto,
            "samplers:server": self._has_samplers() and not extras,
            f"floor:{judge.noise_floor:g}": judge.noise_floor,
            "continued": judge.continuation,
        }
        run = "|".join(words for words, holds in said.items() if holds)
        return Plan(method, run, extras, await self._choices(extras) if method == "sample" else 1)

    async def _gives_logprobs(self, prompt: Prompt, rows: list[dict[str, Any]], extras: dict[str, Any]) -> bool:
        """Ask for the first item, for a further one where that could not be read; the replies count."""
        plan = Plan("logprob", "", extras)
        refused: RejectedError | None = None
        for row in rows:
            try:
                choice = await self._first(plan, next(self._calls(plan, prompt, row)))
            except LogprobsError:
                return False
            except RejectedError as error:
                refused = error
                continue
            found = extract(choice, prompt.scale, prompt.answer, logprobs=True).rows
            # not mere certainty, nor lists that lack the token emitted
            if any(0 < row.weight < 1 for row in found):
                return True
            if found[0].status not in ("refused", "truncated", "unread"):
                return False
        if refused:
            raise refused
        return False

    async def _first(self, plan: Plan, call: Call) -> Choice:
        if call.key not in self.store:
            body = request(self.judge, plan, [call])
            self.put([call.key], body, *await self.ask(call.what, body))
        return self.store.get(call.key)

    async def _choices(self, extras: dict[str, Any]) -> int:
        """How many draws to ask for at once: several only where as many choices came and were seen to differ."""
        judge = self.judge
        if not self.transport.choices or (judge.draws or 2) < 2 or not judge.temperature:
            return 1
        for choices in _CHOICES:
            body = choices_request(judge, extras, choices)
            keys = [digest([self.where, body, n]).hexdigest() for n in range(choices)]
            if keys[0] not in self.store:
                try:
                    raw, reply = await self.ask("several choices at once", body)
                except RejectedError:
                    continue  # servers have limits of their own
                self.put(keys[: len(reply.choices)], body, raw, reply)
            seen = [choice.text for _, choice in self.store.read(keys)]
            return choices if len(seen) == choices and len(set(seen)) > 1 else 1
        return 1

    # --- many calls ---

    def _calls(self, plan: Plan, prompt: Prompt, row: dict[str, Any]) -> Iterator[Call]:
        return calls(self.judge, self.where, plan, prompt, row)

    async def _fetch(self, plan: Plan, wanted: list[Call]) -> list[Call]:
        """Read what is in the store and ask for the rest; the calls whose replies leave something open."""
        rest = self.sheet.expect(wanted)
        unresolved: list[Call] = []

        def deliver(call: Call, choice: Choice) -> None:
            reading = self._read(call, choice)
            if self.judge.continuation and _significant(reading, ()):
                unresolved.append(call)
            else:
                self.sheet.add(call, reading.rows, choice.text)

        there = len(rest)
        for key, choice in self.store.read(list(rest)):
            deliver(rest.pop(key), choice)
        await _Round(self, plan, list(rest.values()), deliver, there - len(rest)).work()
        return unresolved

    async def _resolve(self, plan: Plan, calls: list[Call]) -> None:
        """Have the open beginnings of labels continued, until nothing significant is open."""
        trouble = await self._continues(plan, calls)
        left, waiting = [trouble] if trouble else [], iter(calls)

        async def worker() -> None:
            for call in waiting:
                choice, more = self.store.get(call.key), dict[str, Choice]()
                try:
                    while not trouble and (new := _significant(self._read(call, choice, more), more)):
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
        return "" if _END.fullmatch(token) else f"after a whole reply the server goes on with {token!r}"

    async def _continuation(self, plan: Plan, call: Call, prefix: str) -> Choice:
        key = digest([call.key, prefix]).hexdigest()
        if key not in self.store:
            body = continuing(request(self.judge, plan, [call]), prefix)
            self.put([key], body, *await self.ask(f"the continuation of {call.what}", body))
        return self.store.get(key)

    def _read(self, call: Call, choice: Choice, more: Mapping[str, Choice] | None = None) -> Reading:
        floor, prompt = self.judge.noise_floor, call.prompt
        return extract(choice, prompt.scale, prompt.answer, logprobs=call.logprobs, floor=floor, continued=more)

    # --- one call ---

    async def ask(self, what: str, body: dict[str, Any]) -> tuple[bytes, Reply]:
        """The reply as it came and as it reads, after as many attempts as it takes."""
        if not self.affords(body):
            raise RejectedError(f"`max_cost` of ${self.max_cost:g} does not pay for {what}.")
        worst = self._worst(body)
        self.reserved += worst
        try:
            raw, reply = await self.pace.call(lambda: self._attempt(body), _tokens_in(body) + _tokens_out(body))
        except JudgeError as error:
            kind, reason = type(error), str(error)
        else:
            # a server that does not say what it took may have taken the most
            self.spent += self._money(reply.prompt_tokens, reply.completion_tokens) or worst
            return raw, reply
        finally:
            self.reserved -= worst
        kept = (
            f" ({len(self.store)} replies are kept in {self.store.path}; run again to go on)" if self.store.path else ""
        )
        raise kind(f"the call for {what} failed: {reason}{kept}")

    async def _attempt(self, body: dict[str, Any]) -> tuple[bytes, Reply]:
        try:
            given = await self.transport.complete(body)
            raw = given if isinstance(given, bytes) else to_json(given)
        except (JudgeError, TimeoutError):
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the run itself was stopped
            failure = JudgeError("the transport cancelled it")
        except Exception as error:  # noqa: BLE001 - whatever a transport raises, the run says which item it was
            failure = JudgeError(redact(f"{type(error).__name__}: {error}"))
        else:
            try:
                return raw, decode(raw)
            except ValueError as error:
                failure = UnavailableError(f"{error}: {redact(repr(raw[:2000]))[:200]}", paid=True)
        raise failure

    def put(self, keys: list[str], body: dict[str, Any], raw: bytes, reply: Reply) -> bool:
        """Keep a reply. All that arrive in one turn of the event loop are written together at its end.

        False says that another process was faster.
        """
        new = self.store.put(keys, body, raw if self.keep == "full" else reply.pack())
        if not self._to_write:
            self._to_write = True
            asyncio.get_running_loop().call_soon(self._write)
        return new

    def _write(self) -> None:
        self._to_write = False
        try:
            self.store.commit()
        except sqlite3.Error as error:  # raised by the next worker: out of here it would only be logged
            self.broken = error

    def affords(self, body: dict[str, Any]) -> bool:
        """Whether a call, and all under way, stay below the limit at their worst."""
        return self.max_cost is None or self.spent + self.reserved + self._worst(body) <= self.max_cost

    def _worst(self, body: dict[str, Any]) -> float:
        """What a call may cost at most: a token has a byte at least, and a message has a frame of some tokens."""
        said = sum(len(message["content"].encode("utf-8", "surrogatepass")) + 16 for message in body["messages"])
        return self._money(said, _tokens_out(body))

    def _money(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6 if self.price else 0.0


class _Round:
    """Calls that are made together, and what becomes of them."""

    def __init__(
        self, run: Run, plan: Plan, calls: list[Call], deliver: Callable[[Call, Choice], None], there: int
    ) -> None:
        self.run, self.plan, self.deliver, self.there = run, plan, deliver, there
        self.waiting = deque(_groups(calls, plan.choices))
        self.under_way, self.served = 0, run.pace.served
        self.failures: list[JudgeError] = []
        self.lost: list[JudgeError] = []
        self.in_a_row: list[JudgeError] = []  # lost since `seen` replies had come
        self.seen = self.short = 0
        self.alone, self.stopping = True, False
        self.shown = monotonic()
        title = f"rate with {run.judge.model}"
        self.bar = tqdm(total=there + len(calls), initial=there, desc=title, unit="draw", disable=not run.progress)

    async def work(self) -> None:
        """Make the calls; after a failure that concerns all of them let those under way finish."""
        workers = [
            asyncio.create_task(self._worker()) for _ in range(min(self.run.judge.concurrency, len(self.waiting)))
        ]
        try:
            if workers:
                done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
                for worker in done:
                    worker.result()
        except BaseException:  # the run was stopped: what is on its way already is paid for
            self.stopping = True
            await asyncio.wait(workers, timeout=_GRACE)
            raise
        finally:
            for worker in workers:
                worker.cancel()
            self._show()
            self.bar.close()
        if self.failures or (self.lost and not self.there):
            raise (self.failures or self.lost)[0]
        if self.lost:
            again = "their rows have the status 'failed', and a run with the same store asks again"
            self.run.notes.append(f"{len(self.lost)} calls failed ({again}); the first: {self.lost[0]}")
        if self.short:
            self.run.notes.append(f"{self.short} replies had fewer choices than were asked for; the rest came singly.")

    async def _worker(self) -> None:
        while self.waiting and not self.failures and not self.stopping:
            if len(self.in_a_row) >= _REJECTED and self.seen == self.run.pace.served:
                if not self.under_way:  # they could have shown that it is not the server
                    self.failures.append(self.in_a_row[0])
                await asyncio.sleep(_A_MOMENT)
                continue
            group = self.waiting.popleft()
            if not self._affordable(group):
                self.waiting.appendleft(group)
                return
            await self._one(group)
            if monotonic() - self.shown > _SHOW_EVERY:
                self._show()
            # the reply is written before the next call goes out, and an interrupt finds a moment to come
            await asyncio.sleep(0)
            if self.run.broken:
                raise self.run.broken

    def _affordable(self, group: list[Call]) -> bool:
        """Whether the group can be paid for; the last worker goes on as long as one can."""
        run = self.run
        return run.max_cost is None or run.affords(request(run.judge, self.plan, group))

    async def _one(self, group: list[Call]) -> None:
        self.under_way += 1
        try:
            if group := [call for call in group if not self._arrived(call)]:
                body = request(self.run.judge, self.plan, group)
                self._keep(group, body, *await self.run.ask(group[0].what, body))
        except (RejectedError, UnavailableError) as error:
            self._lose(group, error)
        except JudgeError as error:
            self.failures.append(error)
        finally:
            self.under_way -= 1

    def _arrived(self, call: Call) -> bool:
        """Another process that shares the store may have been faster."""
        if there := call.key in self.run.store:
            self._take(call, self.run.store.get(call.key))
            self._part()
        return there

    def _take(self, call: Call, choice: Choice) -> None:
        self.deliver(call, choice)
        self.there += 1
        self.bar.update()

    def _part(self) -> None:
        """Another process works on the same: from here on in another order, or both would ask the same again."""
        if self.alone:
            self.alone, self.waiting = False, deque(random.sample(self.waiting, len(self.waiting)))

    def _keep(self, group: list[Call], body: dict[str, Any], raw: bytes, reply: Reply) -> None:
        arrived, choices = group[: len(reply.choices)], reply.choices
        if not self.run.put([call.key for call in arrived], body, raw, reply):
            choices = [self.run.store.get(call.key) for call in arrived]  # what came first counts
            self._part()
        for call, choice in zip(arrived, choices, strict=False):
            self._take(call, choice)
        if rest := group[len(reply.choices) :]:
            self.short += 1
            self.waiting.extend([call] for call in rest)

    def _lose(self, group: list[Call], error: JudgeError) -> None:
        """One call's failure; that of the judge if nothing gets through, or no request of these is accepted."""
        served, silent = self.run.pace.served, isinstance(error, UnavailableError)
        if silent and not served:
            self.failures.append(error)
            return
        if silent or served == self.served:
            self.in_a_row = [*(self.in_a_row if self.seen == served else []), error]
            self.seen = served
        self.lost.append(error)
        for call in group:
            self.run.sheet.add(call, [Row(math.nan, 1.0, "failed")], "")
            self.bar.update()

    def _show(self) -> None:
        """Cost so far and how the replies read, beside what the bar shows by itself: done, rate, time left."""
        self.shown = monotonic()
        if self.run.progress:
            cost = [f"${self.run.spent:.4f}"] if self.run.price else []
            counts = [f"{status} {n}" for status, n in self.run.sheet.counts.most_common()]
            self.bar.set_postfix_str(", ".join(cost + counts))


def _groups(calls: list[Call], choices: int) -> Iterator[list[Call]]:
    """Draws of one item and prompt that one request asks for."""
    group: list[Call] = []
    for call in calls:
        if group and (len(group) >= choices or call.row is not group[0].row or call.prompt is not group[0].prompt):
            yield group
            group = []
        group.append(call)
    if group:
        yield group


def _tokens_in(body: Mapping[str, Any]) -> int:
    return about(sum(len(message["content"]) for message in body["messages"]))


def _tokens_out(body: Mapping[str, Any]) -> int:
    """The most that the replies can hold."""
    return int(body["max_tokens"]) * int(body.get("n", 1))


def _significant(reading: Reading, known: Container[str]) -> list[Open]:
    return [one for one in reading.open if one.weight > _WORTH_A_CALL and one.prefix not in known]


def _price(judge: Judge, transport: Transport) -> tuple[float, float] | None:
    """Of the provider's own endpoint; what another one charges only its user knows."""
    return judge.price or (price(judge.model) if transport.endpoint in (None, OPENAI) else None)
