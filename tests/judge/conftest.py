"""What tests of calls share: servers that end, waits that are short, nothing of this machine's environment."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from socketserver import BaseServer
from threading import Thread
from types import SimpleNamespace

import pytest
from mock_server import Running

_STEPS = 4  # of a time limit


@pytest.fixture(scope="module")
def litellm(request: pytest.FixtureRequest) -> None:
    """The import takes seconds: once for all tests of a module, and only where one of those that run is about it."""
    from calib.judge.calls.transport import _quiet_litellm

    if any(item.path == request.path and "litellm" in item.name for item in request.session.items):
        _quiet_litellm()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no proxies, no endpoints, and short waits."""
    from calib.judge.calls import client as pace

    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.002)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of the deadline, which a test moves: on a busy machine a call may stand still for half a second."""
    from calib.judge.calls import client as pace

    hand = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(pace, "monotonic", lambda: hand.now)
    return hand


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Callable[[Running], None]:
    """Have calls of a server timed by what it and this process do meanwhile: where one stands still no time passes."""
    from calib.judge.calls import client as pace

    def patient(server: Running) -> None:
        @asynccontextmanager
        async def timeout(seconds: float) -> AsyncIterator[None]:
            async def expire() -> None:
                for _ in range(_STEPS):
                    await asyncio.sleep(seconds / _STEPS)
                    await asyncio.to_thread(server.get, "/models")  # what came before has been answered, and read
                limit.reschedule(0)

            async with asyncio.timeout(None) as limit:
                watch = asyncio.create_task(expire())
                try:
                    yield
                finally:
                    watch.cancel()

        monkeypatch.setattr(pace, "asyncio", SimpleNamespace(**vars(asyncio) | {"timeout": timeout}))

    return patient


@pytest.fixture
def serving() -> Iterator[Callable[[BaseServer], None]]:
    """Let servers serve until the test ends."""
    running = []

    def serve(server: BaseServer) -> None:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        running.append(server)

    yield serve
    for server in running:
        server.shutdown()
        server.server_close()
