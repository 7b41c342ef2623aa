"""One judge with a store: each call made as often as it takes, at a pace that the server allows, and its reply kept."""

from __future__ import annotations

import asyncio
import math
import os
import random
import re
import sqlite3
import tempfile
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from calib.core.progress import rare_collections, stoppable
from calib.judge.calls.dialect import PLAIN, ROOM, dialect_of, other_way, refused_names
from calib.judge.calls.endpoint import excerpt, input_tokens, list_price, most_output_tokens, sent_secrets
from calib.judge.calls.store import Store
from calib.judge.calls.transport import (
    OPENAI,
    AnyComplete,
    HttpTransport,
    JudgeError,
    LogprobsError,
    RejectedError,
    UnavailableError,
    connect,
    too_long,
    wrap,
)
from calib.judge.judge import SAMPLERS_OFF, Judge
from calib.judge.replies.reply import Reply, ReplyChoice, decode_json, masked, to_json

Outcome = TypeVar("Outcome")

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds of backoff
_MOST_ATTEMPTS = 5  # attempts for a server that has answered nothing yet, or whose replies are paid for and useless
_MOST_REFUSALS = 8  # of one request, each in another form
_OPTIONAL = {"n", "logprobs", *SAMPLERS_OFF}  # fields without which a run does as well, in requests of other keys
_EXCEPTIONS, _MOST_USELESS = 3, 10  # a run ends after so few useful replies and so many useless ones in a row
_MOST_BARE = 3  # replies without the token probabilities asked for, as one may be for another reason
_UNFINISHED_THOUGHT = re.compile(r"<think(?:ing)?>(?!.*</think)", re.DOTALL)
_BEAT = 2.0  # seconds between two signs of life
LOOK_AGAIN = 0.2  # seconds until replies that another run asks for are looked for again


@contextmanager
def opened_client(
    judge: Judge,
    complete: AnyComplete | None,
    store: str | Path | None = None,
    *,
    others: Sequence[Path] = (),
    is_part: bool = False,
    **options: Any,
) -> Iterator[Client]:
    """A client with its store open; whatever breaks off a run, what was paid for is on disk.

    Where it `is_part` of a run, the run says what is kept.
    """
    if complete is None:
        transport = connect(judge.model, judge.base_url, judge.concurrency, judge.max_reply_bytes)
    else:
        transport = wrap(complete, judge.base_url, judge.concurrency)
    with stoppable() as stop, Store(store, others) as replies:
        try:
            yield Client(judge, replies, transport, **options)
            stop.check()
        except BaseException as error:
            if replies.path and isinstance(error, sqlite3.Error):  # how many are there cannot be read
                error.add_note(f"What was written before is kept in {str(replies.path)!r}: run again to go on.")
            elif replies.path and (is_part or isinstance(error, Exception)):
                pass  # the error says so by itself
            elif (n := len(replies)) and replies.path:
                error.add_note(f"{n} replies are kept in {str(replies.path)!r}: run again to go on.")
            elif n:
                handle, path = tempfile.mkstemp(prefix="calib-", suffix=".sqlite")
                os.close(handle)
                try:
                    replies.save(path)
                except sqlite3.Error as full:  # the error that broke off the run is the one to show
                    error.add_note(f"The {n} replies that arrived could not be kept: {full}.")
                else:
                    error.add_note(f"The {n} replies that arrived are kept: give store={path!r} to go on.")
            raise


def run_to_end(work: Coroutine[Any, Any, Outcome], transport: HttpTransport) -> Outcome:
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


class Pace:
    """The one place where calls wait, are given up and are made again.

    At most `most` are under way at once. A 429 or a timeout halves the number; each round of replies adds one again
    (additive increase, multiplicative decrease). One attempt has `timeout` seconds; after a call's first attempt it is
    made again for `deadline` seconds.
    """

    def __init__(
        self,
        most: int,
        timeout: float,
        deadline: float,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self.most, self.timeout, self.deadline = most, timeout, deadline
        self.limit = float(most)
        self.served = self._busy = 0
        self._cut = self._free = -math.inf
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._random = random.Random()  # noqa: S311 - spreads the waits, no secret

    async def call(self, attempt: Callable[[], Awaitable[Outcome]], tokens: int) -> Outcome:
        """What the attempt returns, made again while the trouble is one that passes.

        An UnavailableError says that the deadline has passed, or nothing at all gets through.
        """
        errors: list[UnavailableError] = []
        end = math.inf
        while True:
            await self._turn()
            try:
                if wait := self._until_allowed(tokens):
                    await asyncio.sleep(wait)
                if (now := monotonic()) >= end:
                    break
                end = min(end, now + self.deadline)
                return await self._once(attempt)
            except UnavailableError as error:
                errors.append(error.with_traceback(None))  # or its frames, with all that came, keep it and each other
            finally:
                self._leave()
            wait = self._wait(errors)
            paid, odd = sum(one.paid for one in errors), sum(not one.limited for one in errors)
            hopeless = paid >= _MOST_ATTEMPTS or (odd >= _MOST_ATTEMPTS and not self.served)
            if monotonic() + wait >= end or hopeless:
                break
            await asyncio.sleep(wait)
        last, n = errors[-1], len(errors)
        why = f"given up after {n} attempts" if n > 1 else "given up after one attempt"
        if last.retry_after:
            why += f": it asks to wait {last.retry_after:.3g} s, and a call has {self.deadline:g} s in all"
        raise UnavailableError(f"{last} ({why})")

    async def _once(self, attempt: Callable[[], Awaitable[Outcome]]) -> Outcome:
        begun = monotonic()
        try:
            async with asyncio.timeout(min(self.timeout, self.deadline)):
                result = await attempt()
        except (TimeoutError, UnavailableError) as error:
            limited = isinstance(error, TimeoutError) or error.limited
            if limited and begun > self._cut:  # what was under way at the last cut says nothing new
                self.limit, self._cut = max(1.0, self.limit / 2), monotonic()
            if isinstance(error, UnavailableError):
                raise
            raise UnavailableError(str(error) or f"no reply within {min(self.timeout, self.deadline):g} s") from None
        self.served += 1
        self.limit = min(self.most, self.limit + 1 / self.limit)
        return result

    def _wait(self, errors: list[UnavailableError]) -> float:
        if after := errors[-1].retry_after:
            return after * self._random.uniform(1.0, 1.25)
        blind = sum(not one.retry_after for one in errors)  # where the server did not say how long to wait
        return self._random.uniform(0.5, 1.0) * min(_FIRST_WAIT * 2.0 ** (blind - 1), _LONGEST_WAIT)

    async def _turn(self) -> None:
        """Wait until one more call may be under way, of which `_leave` says that it no longer is."""
        if not self._waiting and self._busy < int(self.limit):
            self._busy += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was stopped just when its turn had come
                self._leave()
            raise

    def _leave(self) -> None:
        self._busy -= 1
        while self._waiting and self._busy < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._busy += 1
                turn.set_result(None)

    def _until_allowed(self, tokens: int) -> float:
        """Seconds until a call may go out, the calls of a minute evenly spread."""
        now = monotonic()
        start = max(now, self._free)
        self._free = start + max(self._per_request, tokens * self._per_token)
        return start - now


class Client:
    """One judge, with its store and transport."""

    def __init__(
        self,
        judge: Judge,
        store: Store,
        transport: HttpTransport,
        *,
        keep: str = "compact",
        max_cost: float | None = None,
    ) -> None:
        self.judge, self.store, self.transport, self.keep = judge, store, transport, keep
        limits = (judge.timeout, judge.deadline, judge.requests_per_minute, judge.tokens_per_minute)
        self.pace = Pace(judge.concurrency, *limits)
        # only its user knows what another endpoint than the provider's charges
        is_listed = transport.endpoint in (None, OPENAI)
        self.price = judge.price or (list_price(judge.model) if is_listed else None)
        self.room = ROOM if judge.max_tokens is None else 0  # a limit of the user's own holds for all
        self.dialect = PLAIN
        is_direct = transport.name == "direct"
        if transport.name == "litellm" or (is_direct and is_listed):
            self.dialect = dialect_of(judge.model, judge.temperature, self.room, direct=is_direct)
        if is_direct and str(transport.endpoint).rstrip("/").endswith("/responses"):
            self.dialect = self.dialect._replace(responses=True)
        # the first call goes alone, and shows what the server takes; `_refused`: what it says against all calls
        self._alone, self._heard, self._bare = asyncio.Lock(), False, 0
        self._refused: JudgeError | None = None
        # fields of requests that the server refused, with its error, and fields that it took
        self._refused_fields, self._taken_fields = dict[str, JudgeError](), set[str]()
        self._useless = self._useful = 0  # replies: in a row, and in all
        self._secrets = sent_secrets() if transport.name != "offline" else []
        self.max_cost = max_cost
        self.spent = self.reserved = 0.0  # dollars; reserved is what the calls under way may cost at most
        self._to_write = self._beats = False
        self.broken: sqlite3.Error | None = None  # the store could not be written

    def forgive(self) -> None:
        """Have the next call tried, though the first one was refused."""
        self._refused = None

    async def choice(self, key: str, what: str, body: dict[str, Any]) -> ReplyChoice:
        """The reply under a key, for which the judge is asked once, by this run or another."""
        if await self.turn(key):
            try:
                kept, _ = await self.ask(what, body)
                self.put([key], body, kept)
            except JudgeError:
                self.release([key])
                raise
        return self.store.get(key)

    async def turn(self, key: str) -> bool:
        """Wait until a draw is this run's to ask for, or is there: then False."""
        while key not in self.store:
            if self.claim([key]):
                return True
            await asyncio.sleep(LOOK_AGAIN)
        return False

    async def ask(self, what: str, body: dict[str, Any]) -> tuple[bytes, Reply]:
        """The reply as it is kept and as it reads, after as many attempts as it takes."""
        if not self.affords(body):
            raise RejectedError(f"the limit of ${self.max_cost:g} (max_cost) does not pay for {what}.")
        worst = self._worst(body)
        self.reserved += worst
        try:
            kept, reply = await (self._answer(body) if self._heard else self._first_answer(body))
            self._watch(body, reply)
            await asyncio.sleep(0)  # as in `_attempt`
        except JudgeError as error:
            kind, reason = type(error), str(error.with_traceback(None))  # as in `Pace.call`
        else:
            # a server that does not say what it took may have taken the most
            self.spent += self.money(reply.prompt_tokens, reply.completion_tokens) or worst
            return kept, reply
        finally:
            self.reserved -= worst
        where = f" ({len(self.store)} replies are kept in {self.store.path}; run again to go on)"
        raise kind(f"the call for {what} failed: {reason}{where if self.store.path else ''}")

    async def _first_answer(self, body: dict[str, Any]) -> tuple[bytes, Reply]:
        """What `_answer` returns; the reply that comes first is to say something, and a server's is waited for."""
        async with self._alone if self.transport.choices else nullcontext():
            if not self._heard:
                try:
                    kept, reply = await self._answer(body)
                    self._check(body, reply)
                except RejectedError:  # of this request
                    raise
                except JudgeError as error:
                    self._heard = isinstance(error, UnavailableError)
                    if not self._heard and (self.judge.method != "auto" or not isinstance(error, LogprobsError)):
                        self._refused = error
                    raise
                return kept, reply
        return await self._answer(body)

    def _check(self, body: dict[str, Any], reply: Reply) -> None:
        """Refuse a first reply that is cut off and empty, and the third without the token probabilities asked for."""
        useless = self._useless_for(body, reply)
        if isinstance(useless, LogprobsError):
            self._bare += self.judge.method == "logprob"
            if self._bare == _MOST_BARE:
                raise useless
            self._heard = self.judge.method != "logprob"
            return
        if useless:
            raise useless
        self._heard = True

    def _watch(self, body: dict[str, Any], reply: Reply) -> None:
        """Make no further call where the first replies were of use and those after them are not: they were exceptions.

        What ends half way is no exception: its rows say so by their status.
        """
        useless = self._useless_for(body, reply)
        self._useless, self._useful = (self._useless + 1, self._useful) if useless else (0, self._useful + 1)
        if useless and self._useless == _MOST_USELESS and self._useful <= _EXCEPTIONS:
            self._refused = type(useless)(f"{useless} (so {_MOST_USELESS} replies in a row)")

    def _useless_for(self, body: dict[str, Any], reply: Reply) -> JudgeError | None:
        """What is wrong with a reply that is cut off and empty, or without the token probabilities asked for."""
        texts = [choice.text.strip() for choice in reply.choices]
        if all(  # each ended at its limit before it said anything but thoughts
            choice.finish == "length" and not choice.refusal and (not text or _UNFINISHED_THOUGHT.match(text))
            for choice, text in zip(reply.choices, texts, strict=True)
        ):
            most = most_output_tokens(self.dialect.body(body | {"n": 1}))
            what = f"{self.judge.model} was cut off at {most:,} tokens (max_tokens) before it said anything"
            why = "a model that reasons before its reply needs room for both"
            return JudgeError(f"{what}: {why}, say max_tokens={max(ROOM, 4 * most)}")
        bare = not any(choice.has_logprobs or choice.refusal or not choice.content for choice in reply.choices)
        if bare and "top_logprobs" in body:
            return LogprobsError(f'{self.judge.model} gives no token probabilities: method="sample" draws replies')
        return None

    async def _answer(self, body: dict[str, Any]) -> tuple[bytes, Reply]:
        """A reply to the request in the form that the model takes, which the server's refusals show."""
        for refused in (self._refused, *map(self._refused_fields.get, body)):
            if refused:
                raise type(refused)(str(refused))
        for _ in range(_MOST_REFUSALS):
            dialect = self.dialect
            sent = dialect.body(body)
            try:
                tokens = input_tokens(body) + most_output_tokens(sent)
                kept, reply = await self.pace.call(partial(self._attempt, sent), tokens)
            except UnavailableError:
                raise
            except JudgeError as error:
                failure = error
            else:
                self._taken_fields |= body.keys()
                return kept, reply
            try:
                learned = dialect.after(str(failure), body, self.room)
            except ValueError as error:
                failure, learned = JudgeError(f"{failure} ({error}: give Judge(temperature=1))"), None
            if learned is None or (learned.responses and self.transport.name != "direct"):
                break
            if self.dialect == dialect:  # no other call was faster
                self.dialect = learned
        fields = refused_names(str(failure), _OPTIONAL & body.keys() - self._taken_fields)
        self._refused_fields |= dict.fromkeys(fields, failure.with_traceback(None))
        raise failure

    async def _attempt(self, body: dict[str, Any]) -> tuple[bytes, Reply]:
        try:
            reply_body = await self.transport.complete(body)
            raw = reply_body if isinstance(reply_body, bytes) else to_json(reply_body)
        except (JudgeError, TimeoutError):
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the run itself was stopped
            failure = JudgeError("the transport cancelled it")
        except Exception as error:  # noqa: BLE001 - whatever a transport raises, the run says which item it was
            failure = JudgeError(excerpt(f"{type(error).__name__}: {error}"))
        else:
            if len(raw) > self.judge.max_reply_bytes:  # of a function that reads for itself
                raise too_long(self.judge.max_reply_bytes)
            # all replies of one turn of the event loop wait here for each other: to take each step for all of them is
            # a quarter faster than to take all steps of one reply before the next
            await asyncio.sleep(0)
            try:
                return self._kept(raw, decode_json(raw))
            except ValueError as error:
                failure = UnavailableError(f"{error}: {excerpt(repr(raw[:2000]), 200)}", paid=True)
                other = self.transport.name == "direct" and raw[:1] == b"{" and b'"error"' not in raw
                if other and not self._heard and (way := other_way(self.judge.model)):
                    failure = JudgeError(f"{failure}; model={way!r} asks in the form of its own provider")
        raise failure

    # --- what is kept ---

    def _kept(self, raw: bytes, reply: Reply) -> tuple[bytes, Reply]:
        """What the store keeps of a reply, and the reply, without keys that the server repeats."""
        kept = raw if self.keep == "full" else reply.pack()
        spelled = b"\0".join([kept, *[b"".join(choice.tokens) for choice in reply.choices]])
        for secret in self._secrets:
            if secret in spelled:  # such a reply is not kept byte for byte
                reply = masked(reply, self._secrets)
                return reply.pack(), reply
        return kept, reply

    def put(self, keys: list[str], body: dict[str, Any], kept: bytes) -> bool:
        """Keep a reply. All that arrive in one turn of the event loop are written together at its end.

        False says that another process was faster.
        """
        return self._to_store(self.store.put, keys, self.dialect.body(body), kept)

    def claim(self, keys: list[str]) -> bool:
        """Whether this run is to ask for these draws; if not, one is there or another run asks for it."""
        if not self._beats and self.store.path is not None:
            self._beat()
        return self._to_store(self.store.claim, keys)

    def release(self, keys: list[str]) -> None:
        """Leave draws that came to nothing to other runs."""
        self._to_store(self.store.release, keys)

    def _beat(self) -> None:
        """Show now and then that this run lives, or others take over what it claimed."""
        self._beats = True
        asyncio.get_running_loop().call_later(_BEAT, self._beat)
        with suppress(sqlite3.Error):
            self._to_store(self.store.beat)

    def _to_store(self, do: Callable[..., Outcome], *arguments: Any) -> Outcome:
        """Write it at the end of this turn of the event loop; after one long wait for a lock no worker waits again."""
        if self.broken:
            raise self.broken
        try:
            done = do(*arguments)
        except sqlite3.Error as error:
            self.broken = error
            raise
        if not self._to_write:
            self._to_write = True
            asyncio.get_running_loop().call_soon(self._write)
        return done

    def _write(self) -> None:
        self._to_write = False
        try:
            self.store.commit()
        except sqlite3.Error as error:  # raised by the next worker: out of here it would only be logged
            self.broken = error

    # --- what it costs ---

    def affords(self, body: dict[str, Any]) -> bool:
        """Whether a call, and all under way, stay below the limit at their worst."""
        return self.max_cost is None or self.spent + self.reserved + self._worst(body) <= self.max_cost

    def _worst(self, body: dict[str, Any]) -> float:
        """What a call may cost at most: a token has a byte at least, and a message has a frame of some tokens."""
        if self.price is None:
            return 0.0
        sent = sum(len(message["content"].encode("utf-8", "surrogatepass")) + 16 for message in body["messages"])
        return self.money(sent, most_output_tokens(self.dialect.body(body)))

    def money(self, tokens_in: int, tokens_out: int) -> float:
        """US dollars for so many tokens; 0 where the price is not known."""
        return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6 if self.price else 0.0
