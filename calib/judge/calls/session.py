"""A run from its beginning to its end: a client with its store open; whatever breaks it off, nothing paid is lost."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from calib.core.garbage import rare_collections
from calib.core.stop import stoppable
from calib.judge.calls.client import Client
from calib.judge.calls.store import Store
from calib.judge.calls.transport import AnyComplete, Transport, connect, wrap
from calib.judge.judge import Judge

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
        if not _is_in_loop():
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


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
