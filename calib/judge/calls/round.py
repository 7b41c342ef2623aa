"""Many calls at once: who makes the next one, what becomes of those that fail, and the rows of what they bring."""

from __future__ import annotations

import asyncio
import math
import random
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd

from calib.core.progress import bar_class, is_watched
from calib.judge.calls.client import LOOK_AGAIN, Client
from calib.judge.calls.transport import JudgeError, RejectedError, UnavailableError
from calib.judge.judge import Call, Judge, Plan, draws_request
from calib.judge.replies.extract import RatingRow
from calib.judge.replies.reply import Choice, Reply
from calib.table import STATUSES, check_ratings

_SHOW_EVERY = 0.2  # seconds
_REJECTED_IN_A_ROW = 3  # calls lost with nothing getting through between: then it may be not the items
_A_MOMENT = 0.02  # seconds
_READ_AT_ONCE = 64  # replies; read one by one, between calls, each takes half as long again
_GRACE = 1.0  # seconds for replies that are on their way when a run is stopped
_STATUS_CODES = {status: code for code, status in enumerate(STATUSES)}


class Round:
    """Calls that are made together; `deliver` takes each reply, `sheet` the rows of the calls that are lost."""

    def __init__(
        self, client: Client, plan: Plan, sheet: Sheet, deliver: Callable[[Call, Choice], None], *, progress: bool
    ) -> None:
        self.client, self.plan, self.sheet, self.deliver = client, plan, sheet, deliver
        self.progress = progress and is_watched()
        self.waiting = deque[list[Call]]()
        self.arrived: list[tuple[Call, Choice]] = []  # kept, and to be read
        self.elsewhere: list[list[Call]] = []  # what other runs ask for, who share the store
        self.looked = monotonic()
        self.there = self.under_way = 0
        self.served = client.pace.served
        self.failures: list[JudgeError] = []
        self.lost: list[JudgeError] = []
        self.in_a_row: list[JudgeError] = []  # lost since `seen` replies had come
        self.seen = self.short = 0
        self.alone, self.stopping = True, False
        self.shown = monotonic()

    async def work(self, calls: list[Call], there: int) -> list[str]:
        """Make the calls, beside those that are there already; what the user has to know.

        After a failure that concerns all of them those under way finish.
        """
        self.waiting, self.there = deque(_request_groups(calls, self.plan.choices)), there
        title, total = f"rate with {self.client.judge.model}", there + len(calls)
        self.bar = bar_class()(total=total, initial=there, desc=title, unit="draw", disable=not self.progress)
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
        if self.failures or (self.lost and not self.there):
            raise (self.failures or self.lost)[0]
        self._read()
        again = "their rows have the status 'failed', and a run with the same store asks again"
        lost = [f"{len(self.lost)} calls failed ({again}); the first: {self.lost[0]}"] if self.lost else []
        short = f"{self.short} replies had fewer choices than were asked for; the rest came singly."
        return lost + [short] * bool(self.short)

    async def _worker(self) -> None:
        client = self.client
        while (self.waiting or self.elsewhere) and not self.failures and not self.stopping:
            if len(self.in_a_row) >= _REJECTED_IN_A_ROW and self.seen == client.pace.served:
                if not self.under_way:  # they could have shown that it is not the server
                    self.failures.append(self.in_a_row[0])
                await asyncio.sleep(_A_MOMENT)
                continue
            if not self.waiting:
                await self._look_again()
                continue
            group = self._claimed(self.waiting.popleft())
            # reply and claim are written before the next call goes out, and an interrupt finds a moment to come
            await asyncio.sleep(0)
            if client.broken:
                raise client.broken
            if not group or self.failures or self.stopping:
                continue
            # the last worker goes on as long as one call can be paid for
            if client.max_cost is not None and not client.affords(draws_request(client.judge, self.plan, group)):
                client.release([call.key for call in group])
                self.waiting.appendleft(group)
                return
            await self._one(group)
            if monotonic() - self.shown > _SHOW_EVERY:
                self._show()

    async def _one(self, group: list[Call]) -> None:
        self.under_way += 1
        try:
            body = draws_request(self.client.judge, self.plan, group)
            self._keep(group, body, *await self.client.ask(group[0].what, body))
        except (RejectedError, UnavailableError) as error:
            self._lose(group, error)
        except JudgeError as error:
            self.failures.append(error)
        finally:
            self.under_way -= 1

    def _claimed(self, group: list[Call]) -> list[Call]:
        """What of a group this run is to ask for: another that shares the store may have been faster, or be at it."""
        if self.client.claim([call.key for call in group]):
            return group
        missing = []
        for call in group:
            if call.key in self.client.store:
                self._take(call, self.client.store.get(call.key))
            else:
                missing.append(call)
        if len(missing) == len(group) or (missing and not self.client.claim([call.key for call in missing])):
            self.elsewhere.append(missing)
            if self.alone:  # from here on in another order, or both would want the same again
                self.alone, self.waiting = False, deque(random.sample(self.waiting, len(self.waiting)))
            return []
        return missing

    async def _look_again(self) -> None:
        """What others asked for may have come, or be left to us; of all workers one is enough to see."""
        await asyncio.sleep(LOOK_AGAIN)
        if monotonic() - self.looked >= LOOK_AGAIN:
            self.looked = monotonic()
            self.waiting.extend(self.elsewhere)
            self.elsewhere.clear()

    def _take(self, call: Call, choice: Choice) -> None:
        self.arrived.append((call, choice))
        self.there += 1
        self.bar.update()
        if len(self.arrived) >= _READ_AT_ONCE:
            self._read()

    def _read(self) -> None:
        for call, choice in self.arrived:
            self.deliver(call, choice)
        self.arrived.clear()

    def _keep(self, group: list[Call], body: dict[str, Any], raw: bytes, reply: Reply) -> None:
        arrived, choices = group[: len(reply.choices)], reply.choices
        if not self.client.put([call.key for call in arrived], body, raw, reply):
            choices = [self.client.store.get(call.key) for call in arrived]  # what came first counts
        for call, choice in zip(arrived, choices, strict=False):
            self._take(call, choice)
        if rest := group[len(reply.choices) :]:
            self.short += 1
            self.waiting.extend([call] for call in rest)

    def _lose(self, group: list[Call], error: JudgeError) -> None:
        """One call's failure; that of the judge if nothing gets through, or no request of these is accepted."""
        self.client.release([call.key for call in group])
        served, silent = self.client.pace.served, isinstance(error, UnavailableError)
        if silent and not served:
            self.failures.append(error)
            return
        if silent or served == self.served:
            self.in_a_row = [*(self.in_a_row if self.seen == served else []), error]
            self.seen = served
        self.lost.append(error.with_traceback(None))  # its frames hold what was asked
        for call in group:
            self.sheet.fail(call)
            self.bar.update()

    def _show(self) -> None:
        """Cost so far and how the replies read, beside what the bar shows by itself: done, rate, time left."""
        self.shown = monotonic()
        if self.progress:
            self._read()
            cost = [f"${self.client.spent:.4f}"] if self.client.price else []
            counts = [f"{status} {n}" for status, n in self.sheet.counts.most_common()]
            self.bar.set_postfix_str(", ".join(cost + counts))


def _request_groups(calls: list[Call], choices: int) -> Iterator[list[Call]]:
    """Draws of one item, prompt and order that one request asks for."""
    group: list[Call] = []
    for call in calls:
        if group:
            first = group[0]
            alike = call.row is first.row and call.prompt is first.prompt and call.shown_first == first.shown_first
            if len(group) >= choices or not alike:
                yield group
                group = []
        group.append(call)
    if group:
        yield group


# --- what they bring, in columns ------------------------------------------------------------------------------------


class Sheet:
    """Rating rows by call; a number costs eight bytes, whatever the run's length.

    Attributes
    ----------
    counts : Counter
        Draws by how they read: "ok", or what stands in the way.
    """

    def __init__(self, *, texts: bool = False) -> None:
        self.keeps_texts = texts
        self.expect([])

    def expect(self, calls: list[Call]) -> dict[str, Call]:
        """Begin with these calls, in the order of the table; the different ones by key (equal texts share a reply)."""
        self.counts: Counter[str] = Counter()
        self._calls, self._places = calls, dict[str, list[int]]()
        self._call, self._status = array("q"), array("b")
        self._numbers = {name: array("d") for name in ("score", "weight", "low", "high")}
        self._texts: dict[int, str] = {}
        for place, call in enumerate(calls):
            self._places.setdefault(call.key, []).append(place)
        return {key: calls[places[0]] for key, places in self._places.items()}

    def add(self, call: Call, rows: Sequence[RatingRow], text: str) -> None:
        """The rows of one draw."""
        self.counts["ok" if any(row.status == "ok" for row in rows) else rows[0].status] += 1
        score, weight, status, low, high = zip(*rows, strict=True)
        for place in self._places[call.key]:
            self._call.extend([place] * len(rows))
            self._status.extend([_STATUS_CODES[one] for one in status])
            for name, numbers in (("score", score), ("weight", weight), ("low", low), ("high", high)):
                self._numbers[name].extend(numbers)
            if self.keeps_texts:
                self._texts[place] = text

    def fail(self, call: Call) -> None:
        """The row of a draw that came to nothing."""
        self.add(call, [RatingRow(math.nan, 1.0, "failed")], "")

    @property
    def expected(self) -> int:
        """All draws of the run."""
        return len(self._calls)

    def missing(self) -> int:
        """Draws that were expected and have no row."""
        return len(self._calls) - len(set(self._call))

    def frame(self, judge: Judge, run: str) -> pd.DataFrame:
        """The checked table of ratings, in the order of the calls."""
        place = np.frombuffer(self._call, dtype=np.int64)
        order = np.argsort(place, kind="stable")
        place = place[order]
        calls, numbers = self._calls, {name: np.frombuffer(each)[order] for name, each in self._numbers.items()}
        frame = pd.DataFrame(
            {
                "item": _categorical([str(call.row["item"]) for call in calls], place),
                "criterion": _categorical([call.prompt.criterion for call in calls], place),
                "rater": _categorical([judge.model], np.zeros(len(place), dtype=np.int64)),
                "prompt": _categorical(_prompt_texts(calls, "id"), place),
                "scale": _categorical(_prompt_texts(calls, "scale"), place),
                "method": _categorical([call.method for call in calls], place),
                "temperature": float(judge.temperature),
                "run": _categorical([run], np.zeros(len(place), dtype=np.int64)),
                "draw": np.array([call.draw for call in calls], dtype=np.int64)[place],
                "status": pd.Categorical.from_codes(np.frombuffer(self._status, dtype=np.int8)[order], STATUSES),
                **numbers,
            }
        )
        if any(call.shown_first for call in calls):
            frame["shown_first"] = _categorical([call.shown_first for call in calls], place)
        if self.keeps_texts:
            frame["reply"] = pd.Series([self._texts[i] for i in place.tolist()], dtype=object)
        return check_ratings(frame)


def _prompt_texts(calls: Sequence[Call], name: str) -> list[str]:
    """A property of the prompt for each call; it is the same object for many."""
    prompts = {id(call.prompt): call.prompt for call in calls}
    texts = {key: str(getattr(prompt, name)) for key, prompt in prompts.items()}
    return [texts[id(call.prompt)] for call in calls]


def _categorical(values: list[str], place: Any) -> pd.Categorical:
    return pd.Categorical(pd.Index(values, dtype=object)).take(place).remove_unused_categories()
