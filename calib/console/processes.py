"""Several processes for the parts of a folder, as the command line asks for them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def processes(number: int) -> Iterator[ProcessPoolExecutor | None]:
    """An executor, or None for this process alone; new processes, as a copy of this one may hang on its threads."""
    if number < 2:
        yield None
        return
    with ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor
