"""Long work: rarer garbage collections or none, an orderly stop on a signal, a progress bar."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from functools import cache
from time import monotonic, sleep
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from asyncio import Task  # half of what the command line would load

_RARELY = 10_000  # container objects more than at the last collection; Python's own default is 700


class _OpenBlocks:
    """Open blocks of all threads: the first to open and the last to close change the collection threshold."""

    lock, number, before = threading.Lock(), 0, (0, 0, 0)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have Python look for garbage less often: each time it looks at all objects of the work under way.

    A longer interval, and collections that are switched off, stay so. Only cycles are freed later.
    """
    with _OpenBlocks.lock:
        _OpenBlocks.number += 1
        if _OpenBlocks.number == 1:
            _OpenBlocks.before = gc.get_threshold()
            if 0 < _OpenBlocks.before[0] < _RARELY:
                gc.set_threshold(_RARELY, *_OpenBlocks.before[1:])
    try:
        yield
    finally:
        with _OpenBlocks.lock:
            _OpenBlocks.number -= 1
            if not _OpenBlocks.number and gc.get_threshold()[0] == _RARELY:
                gc.set_threshold(*_OpenBlocks.before)


@contextmanager
def no_collections() -> Iterator[None]:
    """Have Python not look for garbage, of which rows that are read leave none: they have no cycles."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


# --- an orderly stop --------------------------------------------------------------------------------------------------


_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_UNMINDED = (signal.SIG_DFL, signal.default_int_handler)
_PATIENCE = 5.0  # seconds in which a further signal changes nothing: the end is under way


class Stop:
    """A signal handler: it holds the first signal (0 before) and the task to cancel for it."""

    def __init__(self) -> None:
        self.heard, self.since = 0, 0.0
        self.task: Task[Any] | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
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
        """Stop now if a signal arrived when nothing could be stopped any more."""
        if self.heard:
            raise KeyboardInterrupt

    @property
    def code(self) -> int:
        """The exit code of a process that was stopped, as shells count: 130, 143 or 129."""
        return 128 + (self.heard or signal.SIGINT)

    def end(self, error: BaseException) -> NoReturn:
        """Leave with the notes of an error: in a KeyboardInterrupt, or on standard error."""
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
    """Turn signals that nobody else handles into an orderly stop; the outermost of such blocks decides.

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


_ORPHANS_WAIT = 1.0  # seconds between two signals


@cache
def end_with_parent() -> None:
    """Have this process end when the one that started it for its work is gone: nobody takes the results any more.

    SIGTERM comes until it has ended: work that is under way stops in an orderly way, and a process that waits for
    more ends at once. Without a parent of `multiprocessing`, or in another thread than the main one, nothing happens.
    """
    from multiprocessing import parent_process  # 7 ms, which only a worker needs

    parent = parent_process()
    if parent is None or threading.current_thread() is not threading.main_thread():
        return

    def watch() -> None:
        parent.join()
        while True:
            os.kill(os.getpid(), signal.SIGTERM)
            sleep(_ORPHANS_WAIT)

    threading.Thread(target=watch, daemon=True, name="end with parent").start()


# --- A bar for what takes longer than two seconds ---------------------------------------------------------------------


Step = TypeVar("Step")
_SILENT = 2.0  # seconds before there is a bar


def progress(steps: Iterable[Step], what: str, *, total: int | None = None) -> Iterator[Step]:
    """The same steps, with a bar beside them from the third second on; unwatched, or without tqdm, with none.

    `what` stands beside the bar; `total` is how many steps there are, where `steps` does not know.
    """
    if not is_watched():
        yield from steps
        return
    total = len(steps) if total is None and isinstance(steps, Sized) else total
    start, bar = monotonic(), None
    try:
        for done, step in enumerate(steps):
            if bar is not None:
                bar.update()
            elif done and monotonic() - start > _SILENT:
                bar = _bar(what, total, done, monotonic() - start)
            yield step
    finally:
        if bar is not None:
            bar.close()


def is_watched() -> bool:
    """Whether a terminal or a notebook would show a bar."""
    stream = sys.stderr
    if stream is not None and not stream.closed and stream.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def bar_class() -> Any:
    """The bar of tqdm, for a terminal or for a notebook."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets has a bar of text
        from tqdm.auto import tqdm
    return tqdm


def _bar(what: str, total: int | None, done: int, since: float) -> Any:
    """A bar that counts the steps and the time before it appeared."""
    try:
        bar = bar_class()(total=total, desc=what, leave=False)
    except ImportError:
        return None
    if not bar.disable:  # which the environment may say: TQDM_DISABLE
        bar.start_t -= since
    bar.update(done)
    bar.refresh()
    return bar
