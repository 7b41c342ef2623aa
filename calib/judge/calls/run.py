"""A run: what the judge is asked about all items, many calls at once, and the rating rows of what they bring."""

from __future__ import annotations

import asyncio
import random
import re
from collections import deque
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from time import monotonic
from typing import Any

from calib.core.progress import bar_class, is_watched
from calib.judge import offline
from calib.judge.calls.client import LOOK_AGAIN, Client
from calib.judge.calls.endpoint import DryRun, input_tokens, most_output_tokens
from calib.judge.calls.transport import JudgeError, LogprobsError, RejectedError, UnavailableError
from calib.judge.judge import (
    DEFAULT_DRAWS,
    SAMPLERS_OFF,
    Call,
    Judge,
    Plan,
    Row,
    Sheet,
    calls_for,
    choices_request,
    digest,
    draws_request,
    steps_request,
)
from calib.judge.prompt import Prompt, parse_steps
from calib.judge.replies.extract import OpenLabel, Reading, extract
from calib.judge.replies.reply import ReplyChoice

_CHOICES = (16, 8, 4)  # draws asked for in one request, where the server gives as many
_WORTH_A_CALL = 1e-3  # open mass that a continuation call is made for
_END_MARK = re.compile(rb"\s*(?:<.*>\s*)?")  # no token, or a mark such as <|im_end|>
_MOST_BARE = 2  # probing replies without token probabilities: one may be an exception
_PROBED_ITEMS = 3  # items that are tried to find out whether there are token probabilities
_SHOW_EVERY = 0.2  # seconds
_REJECTED_IN_A_ROW = 3  # calls lost with nothing getting through between: then it may be not the items
_READ_AT_ONCE = 64  # replies; read one by one, between calls, each takes half as long again
_GRACE = 1.0  # seconds for replies that are on their way when a run is stopped


class Run:
    """What one client is asked for; `sheet` fills while the replies come."""

    def __init__(
        self,
        client: Client,
        *,
        progress: bool = False,
        texts: bool = False,
        before_sampling: Callable[[], object] | None = None,
    ) -> None:
        self.client, self.progress, self.sheet = client, progress, Sheet(texts=texts)
        self.before_sampling = before_sampling
        self.judge, self.store, self.address = client.judge, client.store, client.transport.address
        self.calls = partial(calls_for, client.judge, self.address)
        # whether there may be samplers that the request does not name: hosted models have none by default
        self.has_samplers = client.judge.base_url is not None and client.transport.choices
        self.notes: list[str] = []  # what the user has to know in the end
        self.written: list[Prompt] = []  # the prompts with their steps

    async def rate(self, prompts: list[Prompt], rows: list[Row], settled: Plan | None = None) -> Plan:
        """Make all calls; returns the plan of the run, which is settled first if it was not before."""
        self.written = written = [await self.with_steps(prompt) for prompt in prompts]
        unknown = [prompt.criterion for prompt in prompts if prompt.criterion not in offline.CRITERIA]
        if self.judge.model == "offline" and unknown:
            what = "means nothing: it is the mean of what it sees of coherence, consistency, fluency and relevance"
            self.notes.append(f"what the embedded judge says of {', '.join(map(repr, dict.fromkeys(unknown)))} {what}.")
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
        made = Round(self.client, plan, self.sheet, progress=self.progress)
        self.notes += await made.work(list(self.calls(plan, prompts, rows)))
        if made.unresolved:
            await self._resolve(plan, made.unresolved)
        if self.judge.method != plan.method == "sample":
            what = f"this run samples {self.judge.draws or DEFAULT_DRAWS['sample']} replies per item"
            self.notes.append(f"{self.judge.model} gives no token probabilities: {what}.")
        self.notes += self.client.dialect.notes(self.judge.top_logprobs, self.judge.seed)

    def dry(self, prompts: list[Prompt], rows: list[Row]) -> DryRun:
        """What the run would ask for, one draw a call; `otherwise` if "auto" is left to samples."""
        steps: dict[str, dict[str, Any]] = {}  # variants of a prompt share the request for its steps
        written = []
        for prompt in prompts:
            body, key = self._steps_request(prompt)
            if body and key in self.store:
                written.append(prompt.with_steps(parse_steps(self.store.get(key).text)))
                continue
            written.append(prompt)
            if body:
                steps[key] = body
        tried, methods = self._extras_to_try(written[0], rows[0]), [self.judge.method]
        if methods == ["auto"]:  # the store may know
            begun = [name for extras in tried for name in self._begun(written[0], rows[0], extras)]
            methods = begun[-1:] or ["logprob", *["sample"] * (self.judge.model != "offline")]
        runs = [self._dry(Plan(method, "", tried[0]), written, rows, [*steps.values()]) for method in methods]
        dearer = len(runs) > 1 and runs[1].calls > runs[0].calls
        return replace(runs[0], otherwise=runs[1]) if dearer else runs[0]

    def _dry(self, plan: Plan, prompts: list[Prompt], rows: list[Row], steps: list[dict[str, Any]]) -> DryRun:
        calls = {call.key: call for call in self.calls(plan, prompts, rows)}
        draws = [draws_request(self.judge, plan, [call]) for key, call in calls.items() if key not in self.store]
        bodies = [*steps, *draws]
        tokens = sum(map(input_tokens, bodies))
        most = sum(most_output_tokens(self.client.dialect.body(body)) for body in bodies)
        cost, stored = self.client.money(tokens, most) if self.client.price else None, len(calls) - len(draws)
        return DryRun(calls=len(bodies), stored=stored, input_tokens=tokens, output_tokens=most, cost=cost)

    async def with_steps(self, prompt: Prompt) -> Prompt:
        """The prompt with its evaluation steps, which the judge writes if there are none."""
        body, key = self._steps_request(prompt)
        if body is None:
            return prompt
        if await self.client.turn(key):
            kept, reply = await self.client.ask(f"the evaluation steps of {prompt.criterion!r}", body)
            if not parse_steps(reply.choices[0].text):
                what = f"numbered evaluation steps for {prompt.criterion!r}; give `steps`"
                raise JudgeError(f"{self.judge.model} wrote no {what}.")
            self.client.put([key], body, kept)
        return prompt.with_steps(parse_steps(self.store.get(key).text))

    def _steps_request(self, prompt: Prompt) -> tuple[dict[str, Any] | None, str]:
        """What asks for the steps of a prompt that has none, and the key of the reply."""
        body = steps_request(self.judge, prompt) if prompt.steps is None else None
        return body, digest([self.address, body]).hexdigest()

    # --- what the server can do, asked once ---

    def _extras_to_try(self, prompt: Prompt, row: Row) -> list[dict[str, Any]]:
        """Extra fields to try in turn: those that switch samplers off, and none; first those of an earlier run."""
        every: list[dict[str, Any]] = [SAMPLERS_OFF, {}] if self.has_samplers else [{}]
        return sorted(every, key=lambda extras: not self._begun(prompt, row, extras))

    def _begun(self, prompt: Prompt, row: Row, extras: dict[str, Any]) -> list[str]:
        """By which methods the store has the first draw of an item."""
        plans = [Plan(method, "", extras) for method in ("logprob", "sample")]
        return [plan.method for plan in plans if next(self.calls(plan, [prompt], [row])).key in self.store]

    async def _settle(self, prompt: Prompt, rows: list[Row], extras: dict[str, Any]) -> Plan:
        """The plan of this run, whose words record how it came about."""
        judge, auto = self.judge, self.judge.method == "auto"
        method = judge.method
        if auto:
            method = "logprob" if await self._gives_logprobs(prompt, rows[:_PROBED_ITEMS], extras) else "sample"
            if method == "sample" and self.before_sampling and "sample" not in self._begun(prompt, rows[0], extras):
                self.before_sampling()
        record = {
            self.address: True,
            f"auto:{method}": auto,
            "samplers:server": self.has_samplers and not extras,
            f"floor:{judge.noise_floor:g}": judge.noise_floor,
            "continued": judge.continuation,
        }
        run = "|".join(words for words, holds in record.items() if holds)
        return Plan(method, run, extras, await self._choices(extras) if method == "sample" else 1)

    async def _gives_logprobs(self, prompt: Prompt, rows: list[Row], extras: dict[str, Any]) -> bool:
        """Ask for the first item, for further ones where it does not tell or has none; the replies count."""
        plan, bare = Plan("logprob", "", extras), 0
        refused: RejectedError | None = None
        for row in rows:
            call = next(self.calls(plan, [prompt], [row]))
            try:
                choice = await self.client.choice(call.key, call.what, draws_request(self.judge, plan, [call]))
            except LogprobsError:
                return False
            except RejectedError as error:
                refused = error
                continue
            read = extract(choice, prompt.scale, prompt.answer, prompt.criterion, logprobs=True).rows
            # not mere certainty, nor lists that lack the token emitted
            if any(0 < one.weight < 1 for one in read):
                return True
            bare += read[0].status not in ("refused", "truncated", "unread", "off_scale")
            if bare == _MOST_BARE:
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
                    kept, reply = await self.client.ask("several choices at once", body)
                except RejectedError:
                    self.client.release(keys[:1])
                    continue  # servers have limits of their own
                self.client.put(keys[: len(reply.choices)], body, kept)
            seen = [choice.text for _, choice in self.store.read(keys)]
            return choices if len(seen) == choices and len(set(seen)) > 1 else 1
        return 1

    # --- what a reply leaves open ---

    async def _resolve(self, plan: Plan, calls: list[Call]) -> None:
        """Have the open beginnings of labels continued, until nothing significant is open."""
        obstacle = await self._continues(plan, calls)
        failures, waiting = [obstacle] if obstacle else [], iter(calls)

        async def worker() -> None:
            for call in waiting:
                choice, continued = self.store.get(call.key), dict[str, ReplyChoice]()
                try:
                    while not obstacle and (
                        new := _worth_continuing(_read_reply(self.judge, call, choice, continued), continued)
                    ):
                        for one in new:
                            continued[one.prefix] = await self._continuation(plan, call, one.prefix)
                except (RejectedError, UnavailableError) as error:
                    failures.append(str(error))
                self.sheet.add(call, _read_reply(self.judge, call, choice, continued).rows, choice.text)

        await asyncio.gather(*(worker() for _ in range(min(self.judge.concurrency, len(calls)))))
        if failures:
            self.notes.append(f"replies could not be continued, what they leave open stays ambiguous: {failures[0]}")

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

    async def _continuation(self, plan: Plan, call: Call, prefix: str) -> ReplyChoice:
        """The reply to a request for the one token after a beginning of a reply."""
        body = draws_request(self.judge, plan, [call])
        body["messages"] = [*body["messages"], {"role": "assistant", "content": prefix}]
        body |= {"max_tokens": 1, "add_generation_prompt": False, "continue_final_message": True}
        key = digest([call.key, prefix]).hexdigest()
        return await self.client.choice(key, f"the continuation of {call.what}", body)


def _read_reply(
    judge: Judge, call: Call, choice: ReplyChoice, more: Mapping[str, ReplyChoice] | None = None
) -> Reading:
    options: dict[str, Any] = {"logprobs": call.logprobs, "floor": judge.noise_floor, "continued": more}
    return extract(choice, call.scale, call.prompt.answer, call.prompt.criterion, **options)


def _worth_continuing(reading: Reading, done: Container[str]) -> list[OpenLabel]:
    return [one for one in reading.open if one.share > _WORTH_A_CALL and one.prefix not in done]


def limit_note(max_cost: float | None, missing: int, wanted: int) -> str:
    """The note of a run that stopped at its limit of cost."""
    left = f"{missing} of {wanted} draws were not asked for"
    further = "a run with the same store goes on, up to a limit of its own"
    return f"the limit of ${max_cost or 0.0:g} (max_cost) is reached: {left}; {further}."


class Round:
    """Calls that are made together: their rows go to `sheet`, and to `unresolved` what leaves an open beginning."""

    def __init__(self, client: Client, plan: Plan, sheet: Sheet, *, progress: bool) -> None:
        self.client, self.plan, self.sheet = client, plan, sheet
        self.progress = progress and is_watched()
        self.unresolved: list[Call] = []  # calls whose replies a further call may have to continue
        self.waiting = deque[list[Call]]()  # by request
        self.arrived: list[tuple[Call, ReplyChoice]] = []  # in the store, and to be read
        self.elsewhere: list[list[Call]] = []  # what other runs ask for, who share the store
        self.alone, self.looked = True, monotonic()  # whether no other run was met, and when it was last looked for
        self.n_done = self.under_way = self.short = 0
        self.served_before = client.pace.served
        self.failures: list[JudgeError] = []  # of the run
        self.lost: list[JudgeError] = []  # of single calls
        self.in_a_row: list[JudgeError] = []  # lost since `served_then` replies had come
        self.served_then = 0
        self.stopping, self.last_shown = False, monotonic()

    async def work(self, calls: list[Call]) -> list[str]:
        """Read what is in the store and ask for the rest; returns notes for the user.

        After a failure that concerns all of them the calls under way finish.
        """
        rest = self.sheet.expect(calls)
        n = len(rest)
        for key, choice in self.client.store.read(list(rest)):
            self.arrived.append((rest.pop(key), choice))
            self._read()
        self.n_done, choices = n - len(rest), self.plan.choices
        for _, draws in groupby(rest.values(), key=lambda call: (id(call.row), id(call.prompt), call.shown_first)):
            alike = list(draws)  # of one item, prompt and order: one request asks for several
            self.waiting.extend(alike[k : k + choices] for k in range(0, len(alike), choices))
        title = f"rate with {self.client.judge.model}"
        self.bar = bar_class()(total=n, initial=self.n_done, desc=title, unit="draw", disable=not self.progress)
        most = min(self.client.judge.concurrency, len(self.waiting))
        workers = [asyncio.create_task(self._worker()) for _ in range(most)]
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
        if self.client.broken:
            raise self.client.broken
        if self.failures or (self.lost and not self.n_done):
            raise (self.failures or self.lost)[0]
        self._read()
        again = "their rows have the status 'failed', and a run with the same store asks again"
        lost = [f"{len(self.lost)} calls failed ({again}); the first: {self.lost[0]}"] if self.lost else []
        short = f"{self.short} replies had fewer choices than were asked for; the rest came singly."
        return lost + [short] * bool(self.short)

    async def _worker(self) -> None:
        client = self.client
        while (self.waiting or self.elsewhere) and not self.failures and not self.stopping:
            if len(self.in_a_row) >= _REJECTED_IN_A_ROW and self.served_then == client.pace.served:
                if not self.under_way:  # they could have shown that it is not the server
                    self.failures.append(self.in_a_row[0])
                await asyncio.sleep(0.02)
                continue
            if not self.waiting:
                # what other runs asked for may have come, or be given up; one worker is enough to look
                await asyncio.sleep(LOOK_AGAIN)
                if monotonic() - self.looked >= LOOK_AGAIN:
                    self.looked = monotonic()
                    self.waiting.extend(self.elsewhere)
                    self.elsewhere.clear()
                continue
            group = self._claimed(self.waiting.popleft())
            # reply and claim are written before the next call goes out, and an interrupt can arrive
            await asyncio.sleep(0)
            if client.broken:
                raise client.broken
            if not group or self.failures or self.stopping:
                continue
            body = draws_request(client.judge, self.plan, group)
            # the last worker goes on as long as one call can be paid for
            if not client.affords(body):
                client.release([call.key for call in group])
                self.waiting.appendleft(group)
                return
            await self._ask(group, body)
            if monotonic() - self.last_shown > _SHOW_EVERY:
                self._show()

    def _claimed(self, group: list[Call]) -> list[Call]:
        """What of a group this run is to ask for: another that shares the store may have been faster, or be at it."""
        if self.client.claim([call.key for call in group]):
            return group
        missing = []
        for call in group:
            if call.key in self.client.store:
                self._arrive(call, self.client.store.get(call.key))
            else:
                missing.append(call)
        if len(missing) == len(group) or (missing and not self.client.claim([call.key for call in missing])):
            self.elsewhere.append(missing)
            if self.alone:  # from here on in another order, or both would want the same again
                self.alone, self.waiting = False, deque(random.sample(self.waiting, len(self.waiting)))
            return []
        return missing

    async def _ask(self, group: list[Call], body: dict[str, Any]) -> None:
        """Have one request answered and kept; what fails is these draws alone, or the run."""
        self.under_way += 1
        try:
            kept, reply = await self.client.ask(group[0].what, body)
            calls, rest, choices = group[: len(reply.choices)], group[len(reply.choices) :], reply.choices
            if not self.client.put([call.key for call in calls], body, kept):
                choices = [self.client.store.get(call.key) for call in calls]  # what came first counts
            for call, choice in zip(calls, choices, strict=False):
                self._arrive(call, choice)
            self.short += bool(rest)
            self.waiting.extend([call] for call in rest)
        except (RejectedError, UnavailableError) as error:
            self.client.release([call.key for call in group])
            served, silent = self.client.pace.served, isinstance(error, UnavailableError)
            if silent and not served:  # nothing gets through: that is the judge's
                self.failures.append(error)
                return
            if silent or served == self.served_before:  # or no request of these is accepted
                self.in_a_row = [*(self.in_a_row if self.served_then == served else []), error]
                self.served_then = served
            self.lost.append(error.with_traceback(None))  # its frames hold what was asked
            for call in group:
                self.sheet.fail(call)
                self.bar.update()
        except JudgeError as error:
            self.failures.append(error)
        finally:
            self.under_way -= 1

    def _arrive(self, call: Call, choice: ReplyChoice) -> None:
        self.arrived.append((call, choice))
        self.n_done += 1
        self.bar.update()
        if len(self.arrived) >= _READ_AT_ONCE:
            self._read()

    def _read(self) -> None:
        for call, choice in self.arrived:
            reading = _read_reply(self.client.judge, call, choice)
            if self.client.judge.continuation and _worth_continuing(reading, ()):
                self.unresolved.append(call)
            else:
                self.sheet.add(call, reading.rows, choice.text)
        self.arrived.clear()

    def _show(self) -> None:
        """Cost so far and how the replies read, beside what the bar shows by itself: done, rate, time left."""
        self.last_shown = monotonic()
        if self.progress:
            self._read()
            cost = [f"${self.client.spent:.4f}"] if self.client.price else []
            counts = [f"{status} {n}" for status, n in self.sheet.counts.most_common()]
            self.bar.set_postfix_str(", ".join(cost + counts))
