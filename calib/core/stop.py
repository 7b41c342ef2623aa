"""Work that is told to stop: by Ctrl-C, SIGTERM or SIGHUP it ends in order, so that what was paid for can be kept."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from asyncio import Task  # half of what the command line would load

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_UNMINDED = (signal.SIG_DFL, signal.default_int_handler)
_PATIENCE = 5.0  # seconds in which a further signal changes nothing: the end is under way


class Stop:
    """The signal that was heard first, 0 before, and the task that is cancelled for it while there is one."""

    def __init__(self) -> None:
        self.heard, self.since = 0, 0.0
        self.task: Task[Any] | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """As a signal's handler."""
        if self.heard and monotonic() < self.since + _PATIENCE:
            return
        first = not self.heard
        if first:
            self.heard, self.since = number, monotonic()
        if first and self.task is not None and not self.task.done():
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)
        else:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Stop now if a signal came when nothing could be stopped any more."""
        if self.heard:
            raise KeyboardInterrupt

    @property
    def code(self) -> int:
        """How a process ends that was stopped, as a shell counts: 130, 143 or 129."""
        return 128 + (self.heard or signal.SIGINT)

    def end(self, error: BaseException) -> NoReturn:
        """Pass on what was noted of what was kept: with a KeyboardInterrupt, or on the way out."""
        notes = getattr(error, "__notes__", [])
        if self.heard == signal.SIGINT:
            interrupt = KeyboardInterrupt()
            for note in notes:
                interrupt.add_note(note)
            raise interrupt from None
        with suppress(OSError):  # the terminal may be gone
            sys.stderr.writelines(f"{note}\n" for note in notes)
        raise SystemExit(self.code) from None


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Have the signals stop the work in order where nobody else minds them: the outermost of such blocks decides.

    SIGTERM and SIGHUP, which end a process at once, then do so by SystemExit, with the code
    that a shell gives for them. In other threads than the main one Python hears no signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Stop()
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    if around := next((one for one in handlers.values() if isinstance(one, Stop)), None):
        yield around
        return
    stop = Stop()
    mine = [number for number, handler in handlers.items() if handler in _UNMINDED]
    for number in mine:
        signal.signal(number, stop)
    try:
        yield stop
    except BaseException as error:
        if not stop.heard:
            raise
        stop.end(error)
    finally:
        for number in mine:
            signal.signal(number, handlers[number])
