"""When calls go out. The clock is a play one: it jumps from one event to the next, so that waits are exact."""

import asyncio
import math
import re
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from calib.judge.calls import client as pacing
from calib.judge.calls.client import Pace
from calib.judge.calls.transport import JudgeError, RejectedError, UnavailableError


class Clockwork(asyncio.SelectorEventLoop):
    """An event loop whose time passes only when all wait, and which fails when all wait for nothing."""

    def __init__(self):
        self.now = 1000.0
        super().__init__(selectors.SelectSelector())
        self._selector.select = self.jump

    def time(self) -> float:
        return self.now

    def jump(self, timeout: float | None) -> list:
        assert timeout is not None, "all tasks wait, and nothing is going to happen"
        self.now += timeout
        return []


def played(main: Callable[[], Coroutine]) -> object:
    """Run to the end on a play clock."""
    loop = Clockwork()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pacing, "monotonic", loop.time)
        try:
            return loop.run_until_complete(main())
        finally:
            loop.close()


def on_a_play_clock(test: Callable[..., Coroutine]) -> Callable[..., object]:
    """A test that is a coroutine, run to its end on a play clock."""
    return wraps(test)(lambda *arguments, **named: played(lambda: test(*arguments, **named)))


def now() -> float:
    return asyncio.get_running_loop().time() - 1000.0


class Server:
    """An attempt that takes some seconds and has an outcome by its number; it knows when it was made."""

    def __init__(self, *outcomes: Exception | None, then: Exception | None = None, takes: float = 0.0):
        self.outcomes, self.then, self.takes = list(outcomes), then, takes
        self.begun: list[float] = []
        self.busy = self.most = 0

    async def __call__(self) -> str:
        self.begun.append(now())
        outcome = self.outcomes.pop(0) if self.outcomes else self.then
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await asyncio.sleep(self.takes)
        finally:
            self.busy -= 1
        if outcome is not None:
            raise outcome
        return "reply"

    @property
    def waits(self) -> list[float]:
        return [after - before for before, after in pairwise(self.begun)]


def pace(most: int = 16, timeout: float = 120.0, deadline: float = 900.0, *, served: bool = True, **limits: float):
    made = Pace(most, timeout, deadline, **limits)
    made.served = int(served)
    return made


def busy(**options: float) -> UnavailableError:
    return UnavailableError("HTTP 429: slow down", limited=True, **options)


DOWN = UnavailableError("the line is down")
CUT = re.escape("HTTP 429: slow down (given up after ")


# --- again ------------------------------------------------------------------------------------------------------


@on_a_play_clock
async def test_a_reply_at_once_waits_for_nothing():
    server = Server()
    assert await pace().call(server, 1) == "reply"
    assert server.begun == [0.0]


def test_waits_double_up_to_half_a_minute_and_are_spread():
    async def main() -> list[float]:
        server = Server(*[DOWN] * 10)
        assert await pace().call(server, 1) == "reply"
        return server.waits

    longest = [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]
    runs = [played(main) for _ in range(20)]
    for waits in runs:
        assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))
    # the wait is drawn from the whole of its half: 20 of them within a tenth of it have a chance of 1e-19
    tenths = [wait / longest[0] for wait, *_ in runs]
    assert max(tenths) - min(tenths) > 0.1


@pytest.mark.parametrize("after", [0.05, 3.0, 70.0])
@on_a_play_clock
async def test_the_server_says_how_long_to_wait(after):
    server = Server(*[busy(retry_after=after)] * 3)
    await pace().call(server, 1)
    assert len(server.waits) == 3
    assert all(after <= wait <= 1.25 * after for wait in server.waits)


@on_a_play_clock
async def test_a_server_that_says_not_to_wait_is_not_hammered():
    server = Server(*[busy(retry_after=0.0)] * 3)
    await pace().call(server, 1)
    assert all(wait >= most / 2 for wait, most in zip(server.waits, [0.5, 1, 2], strict=True))


@on_a_play_clock
async def test_a_wait_beyond_the_deadline_is_no_wait():
    server = Server(busy(retry_after=3600.0))
    said = "HTTP 429: slow down (given up after one attempt: it asks to wait 3.6e+03 s, and a call has 900 s in all)"
    with pytest.raises(UnavailableError, match=f"^{re.escape(said)}$"):
        await pace().call(server, 1)
    assert now() == 0


@pytest.mark.parametrize("deadline", [1.0, 10.0, 100.0])
@on_a_play_clock
async def test_no_attempt_begins_after_the_deadline(deadline):
    server = Server(then=busy())
    with pytest.raises(UnavailableError, match=rf"^{CUT}\d+ attempts\)$"):
        await pace(deadline=deadline).call(server, 1)
    assert server.begun[-1] < deadline
    assert now() < deadline
    assert len(server.begun) >= math.log2(deadline)


@on_a_play_clock
async def test_the_deadline_counts_from_the_first_attempt_on():
    one, other = Server(takes=1), Server(*[DOWN] * 2)
    slow = pace(deadline=20, requests_per_minute=1)
    await slow.call(one, 1)
    with pytest.raises(UnavailableError):
        await slow.call(other, 1)  # the next is allowed a minute later
    assert other.begun == [60.0]


@pytest.mark.parametrize(("limits", "seconds"), [({"timeout": 10}, 10), ({"timeout": 120, "deadline": 30}, 30)])
@on_a_play_clock
async def test_an_attempt_has_a_time_limit(limits, seconds):
    with pytest.raises(UnavailableError, match=f"no reply within {seconds} s"):
        await pace(**limits).call(Server(takes=10_000), 1)


@on_a_play_clock
async def test_what_times_out_is_asked_again():
    seconds = iter([1000, 1000, 1])

    async def attempt() -> str:
        await asyncio.sleep(next(seconds))
        return "reply"

    assert await pace(timeout=10).call(attempt, 1) == "reply"
    assert 21.75 <= now() <= 22.5


@on_a_play_clock
async def test_an_attempt_that_says_timeout_is_one():
    keeper = pace()
    assert await keeper.call(Server(TimeoutError("ReadTimeout")), 1) == "reply"
    assert keeper.limit < 16
    with pytest.raises(UnavailableError, match=r"^ReadTimeout "):
        await keeper.call(Server(then=TimeoutError("ReadTimeout")), 1)


@pytest.mark.parametrize("trouble", [DOWN, TimeoutError()])
@on_a_play_clock
async def test_five_attempts_where_nothing_ever_got_through(trouble):
    server = Server(then=trouble)
    with pytest.raises(UnavailableError, match=r"\(given up after 5 attempts\)$"):
        await pace(served=False).call(server, 1)
    assert len(server.begun) == 5


@on_a_play_clock
async def test_a_server_that_asks_for_patience_gets_it():
    server = Server(*[busy()] * 20)  # a model that is being loaded
    assert await pace(served=False).call(server, 1) == "reply"


@on_a_play_clock
async def test_replies_that_are_paid_for_and_useless_are_asked_for_five_times():
    junk = UnavailableError("no chat completion", paid=True)
    server = Server(busy(), DOWN, *[junk] * 4, busy(), *[junk] * 4)
    with pytest.raises(UnavailableError, match=r"^no chat completion "):
        await pace().call(server, 1)
    assert server.outcomes == [junk] * 3


@pytest.mark.parametrize("error", [JudgeError("HTTP 401"), RejectedError("HTTP 400"), ValueError("x")])
@on_a_play_clock
async def test_what_does_not_pass_is_not_asked_again(error):
    server = Server(error)
    with pytest.raises(type(error)) as caught:
        await pace().call(server, 1)
    assert caught.value is error
    assert len(server.begun) == 1


@on_a_play_clock
async def test_an_error_has_no_other_behind_it():
    with pytest.raises(UnavailableError) as caught:
        await pace(served=False, timeout=1).call(Server(takes=5), 1)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


# --- how many at once -------------------------------------------------------------------------------------------


async def together(keeper: Pace, attempts: list) -> list:
    return await asyncio.gather(*(keeper.call(attempt, 1) for attempt in attempts), return_exceptions=True)


@pytest.mark.parametrize("trouble", [busy(), TimeoutError()])
@on_a_play_clock
async def test_a_round_of_refusals_halves_the_limit_once(trouble):
    keeper = pace(16)
    served = keeper.served
    for limit in (8, 4, 2, 1, 1):
        server = Server(*[trouble] * 16, takes=1)
        cut = [asyncio.ensure_future(keeper.call(server, 1)) for _ in range(16)]
        await asyncio.sleep(1.001)
        assert keeper.limit == limit
        for call in cut:
            call.cancel()
        await asyncio.gather(*cut, return_exceptions=True)
    assert keeper.served == served


@on_a_play_clock
async def test_what_was_under_way_at_a_cut_does_not_cut_again():
    keeper = pace(16, deadline=0.1)
    late = [Server(busy(), takes=seconds) for seconds in (1, 2, 3, 4)]
    await together(keeper, [*late, Server(busy(), takes=0.5)])
    assert keeper.limit == 8


@on_a_play_clock
async def test_other_trouble_does_not_cut():
    keeper = pace(16)
    await together(keeper, [Server(*[DOWN] * 3) for _ in range(16)])
    assert keeper.limit == 16


@on_a_play_clock
async def test_the_limit_grows_by_one_in_a_round_of_replies():
    keeper = pace(10)
    keeper.limit = 1.0
    server = Server(takes=1)
    calls = asyncio.gather(*(keeper.call(server, 1) for _ in range(200)))
    grown = []
    for _ in range(16):
        await asyncio.sleep(0.5)
        grown.append(server.busy)
        await asyncio.sleep(0.5)
    await calls
    assert grown[0] == 1
    assert {after - before for before, after in pairwise(grown)} <= {0, 1}  # a little less than 1 in the mean
    assert grown[-1] == 10
    assert server.most == keeper.limit == 10  # and no further


@given(st.lists(st.sampled_from(["reply", "busy", "down", "hangs"]), min_size=1, max_size=120), st.integers(1, 12))
@settings(deadline=None)
@on_a_play_clock
async def test_the_limit_stays_between_one_and_most_whatever_happens(fates, most):
    keeper = pace(most, timeout=5, deadline=6)
    seen, under_way = [], 0

    async def attempt(fate: str) -> str:
        nonlocal under_way
        under_way += 1
        try:
            seen.append((under_way, keeper.limit))
            await asyncio.sleep(50 if fate == "hangs" else 1)
        finally:
            under_way -= 1
        if fate != "reply":
            raise busy() if fate == "busy" else DOWN
        return fate

    await together(keeper, [lambda fate=fate: attempt(fate) for fate in fates])
    assert all(1 <= limit <= most for _, limit in seen)
    assert all(n <= most for n, _ in seen)
    assert keeper._busy == 0


@pytest.mark.slow
@on_a_play_clock
async def test_throttling_is_followed_down_and_up():
    capacity, keeper, under_way, seen = 4, pace(32), 0, []

    async def attempt() -> str:
        nonlocal under_way
        under_way += 1
        seen.append((now(), under_way))
        try:
            if now() < 100 and under_way > capacity:
                raise busy(retry_after=0.5)
            await asyncio.sleep(1)
        finally:
            under_way -= 1
        return "reply"

    await asyncio.gather(*(keeper.call(attempt, 1) for _ in range(2500)))
    assert keeper.limit == 32
    throttled = [n for when, n in seen if 30 < when < 100]
    assert max(throttled) <= 2 * capacity
    assert sum(n > capacity for n in throttled) < len(throttled) / 4  # refused
    assert max(n for when, n in seen if when > 150) == 32
    assert now() < 200  # 100 s at a capacity of 4, and then 2100 calls at up to 32


@on_a_play_clock
async def test_first_come_first_served():
    keeper, order = pace(3), []

    async def attempt(n: int) -> None:
        order.append(n)
        await asyncio.sleep(1 + n % 3)

    await asyncio.gather(*(keeper.call(lambda n=n: attempt(n), 1) for n in range(50)))
    assert order == list(range(50))


@pytest.mark.parametrize("error", [ValueError, JudgeError, asyncio.CancelledError, KeyError])
@on_a_play_clock
async def test_no_slot_is_lost_to_an_exception(error):
    keeper = pace(2)
    await together(keeper, [Server(error()) for _ in range(20)])
    server = Server(takes=1)
    await together(keeper, [server] * 20)
    assert server.most == 2
    assert now() == 10


@on_a_play_clock
async def test_a_call_stopped_in_the_moment_of_its_turn_hands_it_on():
    keeper = pace(1)
    first, second, third = (asyncio.ensure_future(keeper.call(Server(takes=1), 1)) for _ in range(3))
    first.add_done_callback(lambda _: second.cancel())  # by then it has been told that it is its turn
    assert await third == "reply"
    assert second.cancelled()


@given(st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 12))), min_size=1, max_size=40))
@settings(deadline=None)
@on_a_play_clock
async def test_no_slot_is_lost_to_calls_that_are_stopped(calls):
    keeper = pace(3, requests_per_minute=120)
    tasks = []
    for seconds, stopped in calls:
        task = asyncio.ensure_future(keeper.call(Server(takes=seconds), 1))
        if stopped is not None:
            asyncio.get_running_loop().call_later(stopped, task.cancel)
        tasks.append(task)
    await asyncio.gather(*tasks, return_exceptions=True)  # the play clock fails if one waits for ever
    assert keeper._busy == 0
    server = Server(takes=100)
    await together(keeper, [server] * 6)
    assert server.most == 3


# --- no faster than allowed -------------------------------------------------------------------------------------


@on_a_play_clock
async def test_requests_per_minute():
    server = Server(takes=0.1)
    keeper = pace(requests_per_minute=120)
    await asyncio.gather(*(keeper.call(server, 1000) for _ in range(50)))
    assert server.begun == pytest.approx([n / 2 for n in range(50)])


@on_a_play_clock
async def test_tokens_per_minute():
    server = Server(takes=0.1)
    keeper = pace(tokens_per_minute=60_000)
    await asyncio.gather(*(keeper.call(server, tokens) for tokens in (500, 2500, 100, 100)))
    assert server.begun == pytest.approx([0, 0.5, 3.0, 3.1])


@on_a_play_clock
async def test_both_hold():
    server = Server()
    keeper = pace(requests_per_minute=60, tokens_per_minute=60_000)
    await asyncio.gather(*(keeper.call(server, tokens) for tokens in (10, 5000, 10, 10)))
    assert server.begun == pytest.approx([0, 1, 6, 7])


@on_a_play_clock
async def test_attempts_count_too():
    server = Server(DOWN, DOWN)
    keeper = pace(requests_per_minute=6)
    await asyncio.gather(*(keeper.call(server, 1) for _ in range(3)))
    assert server.begun == pytest.approx([0, 10, 20, 30, 40])


@pytest.mark.parametrize("limit", [1, 16])
@on_a_play_clock
async def test_calls_that_had_to_queue_do_not_come_in_a_burst(limit):
    keeper, server = pace(16, requests_per_minute=60), Server(takes=0.1)
    keeper.limit = float(limit)
    stuck = [asyncio.ensure_future(keeper.call(Server(takes=90), 1)) for _ in range(limit)]
    await asyncio.gather(*(keeper.call(server, 1) for _ in range(40)), *stuck)
    assert min(server.waits) >= 1 - 1e-9


@on_a_play_clock
async def test_a_pause_saves_nothing_up():
    keeper, server = pace(requests_per_minute=60), Server()
    await keeper.call(server, 1)
    await asyncio.sleep(300)
    await asyncio.gather(*(keeper.call(server, 1) for _ in range(5)))
    assert server.begun == pytest.approx([0, 300, 301, 302, 303, 304])
