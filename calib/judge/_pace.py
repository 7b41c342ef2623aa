"""When calls go out: again after what passes, as many at once as the server bears, no faster than allowed."""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from time import monotonic
from typing import TypeVar

from calib.judge._transport import UnavailableError

T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds of backoff
_PATIENCE = 5  # attempts for a server that has answered nothing yet


class Pace:
    """The one place where calls wait, are given up and are made again.

    Parameters
    ----------
    most : int
        Calls under way at once. A 429 or a timeout halves the number; each round of
        replies adds one again (additive increase, multiplicative decrease).
    timeout, deadline : float
        Seconds for one attempt, and for a call with all its attempts.
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
        self._busy, self._cut = 0, 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._clocks = (_Clock(requests_per_minute), _Clock(tokens_per_minute))
        self._random = random.Random()  # noqa: S311 - spreads the waits, no secret

    async def call(self, attempt: Callable[[], Awaitable[T]], tokens: int) -> T:
        """What the attempt returns, made again while the trouble is one that passes.

        Raises
        ------
        UnavailableError
            If the deadline has passed, or nothing at all gets through.
        """
        started = monotonic()
        for number in count(1):
            await asyncio.sleep(max(clock.wait(n) for clock, n in zip(self._clocks, (1, tokens), strict=True)))
            try:
                return await self._once(attempt)
            except UnavailableError as error:
                trouble = error
            wait = self._wait(trouble, number)
            left = self.deadline - (monotonic() - started) - wait
            if left < 0 or (not self.served and not trouble.limited and number >= _PATIENCE):
                times = f"{number} attempts" if number > 1 else "one attempt"
                break
            await asyncio.sleep(wait)
        raise UnavailableError(f"{trouble} (given up after {times})") from None

    async def _once(self, attempt: Callable[[], Awaitable[T]]) -> T:
        async with self._slot():
            begun = monotonic()
            try:
                async with asyncio.timeout(self.timeout):
                    result = await attempt()
            except TimeoutError:
                self._shrink(begun)
                raise UnavailableError(f"no reply within {self.timeout:g} s") from None
            except UnavailableError as error:
                if error.limited:
                    self._shrink(begun)
                raise
        self.served, self.answered = self.served + 1, monotonic()
        self.limit = min(self.most, self.limit + 1 / self.limit)
        return result

    def _wait(self, trouble: UnavailableError, number: int) -> float:
        if trouble.retry_after is not None:
            return trouble.retry_after * self._random.uniform(1.0, 1.25)
        return self._random.uniform(0.5, 1.0) * min(_FIRST_WAIT * 2.0 ** (number - 1), _LONGEST_WAIT)

    def _shrink(self, begun: float) -> None:
        if begun > self._cut:  # what was under way at the last cut says nothing new
            self.limit = max(1.0, self.limit / 2)
            self._cut = monotonic()

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        while self._busy >= int(self.limit):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._wake()

    def _wake(self) -> None:
        room = int(self.limit) - self._busy
        while self._waiting and room > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1


class _Clock:
    """So many units a minute, evenly spread."""

    def __init__(self, per_minute: float | None) -> None:
        self.seconds = 60.0 / per_minute if per_minute else 0.0
        self.free = 0.0

    def wait(self, units: int) -> float:
        """Seconds until this many units may go out."""
        if not self.seconds:
            return 0.0
        now = monotonic()
        start = max(now, self.free)
        self.free = start + units * self.seconds
        return start - now
