"""Rarer collections of garbage for work that has much under way at once and leaves hardly any."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_RARELY = 10_000  # container objects more than at the last collection; Python's own default is 700


class _Interval:
    """The interval of collections, which all threads share: the first block in and the last one out change it."""

    def __init__(self) -> None:
        self.lock, self.blocks, self.before = threading.Lock(), 0, (0, 0, 0)

    def enter(self) -> None:
        with self.lock:
            self.blocks += 1
            if self.blocks == 1:
                self.before = gc.get_threshold()
                if 0 < self.before[0] < _RARELY:
                    gc.set_threshold(_RARELY, *self.before[1:])

    def leave(self) -> None:
        with self.lock:
            self.blocks -= 1
            if not self.blocks and gc.get_threshold()[0] == _RARELY:
                gc.set_threshold(*self.before)


_interval = _Interval()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have Python look for garbage less often: each time it looks at all that is under way.

    An interval that somebody set longer, and collections that are switched off, are left as
    they are. What nobody refers to any more is freed at once all the same, but for cycles.

    Examples
    --------
    >>> before = gc.get_threshold()
    >>> with rare_collections():
    ...     gc.get_threshold()[0] >= before[0]
    True
    >>> gc.get_threshold() == before
    True
    """
    _interval.enter()
    try:
        yield
    finally:
        _interval.leave()
