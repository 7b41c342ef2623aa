"""What tests of calls share: servers that end, waits that are short, nothing of this machine's environment."""

import os
from collections.abc import Callable, Iterator
from socketserver import BaseServer
from threading import Thread

import pytest


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
