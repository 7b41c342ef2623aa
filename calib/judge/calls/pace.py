"""When calls go out: again after what passes, as many at once as the server bears, no faster than allowed."""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

from calib.judge.calls.transport import UnavailableError

Brought = TypeVar("Brought")

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds of backoff
_MOST_ATTEMPTS = 5  # attempts for a server that has answered nothing yet, or whose replies are paid for and useless


class Pace:
    """The one place where calls wait, are given up and are made again.

    Parameters
    ----------
    most : int
        Calls under way at once. A 429 or a timeout halves the number; each round of
        replies adds one again (additive increase, multiplicative decrease).
    timeout, deadline : float
        Seconds for one attempt, and after a call's first attempt for it to be made again.
    requests_per_minute, tokens_per_minute : float, optional
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
        self.served, self.answered = 0, -math.inf
        self._busy, self._cut = 0, -math.inf
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._free = -math.inf
        self._random = random.Random()  # noqa: S311 - spreads the waits, no secret

    async def call(self, attempt: Callable[[], Awaitable[Brought]], tokens: int) -> Brought:
        """What the attempt returns, made again while the trouble is one that passes.

        An UnavailableError says that the deadline has passed, or nothing at all gets through.
        """
        troubles: list[UnavailableError] = []
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
                troubles.append(error.with_traceback(None))  # or its frames, with all that came, keep it and each other
            finally:
                self._leave()
            wait = self._wait(troubles)
            if monotonic() + wait >= end or self._hopeless(troubles):
                break
            await asyncio.sleep(wait)
        raise UnavailableError(self._given_up(troubles))

    async def _once(self, attempt: Callable[[], Awaitable[Brought]]) -> Brought:
        begun = monotonic()
        try:
            async with asyncio.timeout(min(self.timeout, self.deadline)):
                result = await attempt()
        except TimeoutError as error:
            self._shrink(begun)
            raise UnavailableError(str(error) or f"no reply within {min(self.timeout, self.deadline):g} s") from None
        except UnavailableError as error:
            if error.limited:
                self._shrink(begun)
            raise
        self.served, self.answered = self.served + 1, monotonic()
        self.limit = min(self.most, self.limit + 1 / self.limit)
        return result

    # --- again ---

    def _wait(self, troubles: list[UnavailableError]) -> float:
        if after := troubles[-1].retry_after:
            return after * self._random.uniform(1.0, 1.25)
        blind = sum(not one.retry_after for one in troubles)  # where the server did not say how long to wait
        return self._random.uniform(0.5, 1.0) * min(_FIRST_WAIT * 2.0 ** (blind - 1), _LONGEST_WAIT)

    def _hopeless(self, troubles: list[UnavailableError]) -> bool:
        paid, odd = sum(one.paid for one in troubles), sum(not one.limited for one in troubles)
        return paid >= _MOST_ATTEMPTS or (odd >= _MOST_ATTEMPTS and not self.served)

    def _given_up(self, troubles: list[UnavailableError]) -> str:
        last, n = troubles[-1], len(troubles)
        why = f"given up after {n} attempts" if n > 1 else "given up after one attempt"
        if last.retry_after:
            why += f": it asks to wait {last.retry_after:.3g} s, and a call has {self.deadline:g} s in all"
        return f"{last} ({why})"

    # --- how many at once, and when ---

    def _shrink(self, begun: float) -> None:
        if begun > self._cut:  # what was under way at the last cut says nothing new
            self.limit = max(1.0, self.limit / 2)
            self._cut = monotonic()

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
        self._admit()

    def _admit(self) -> None:
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
