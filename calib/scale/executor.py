"""Work on many parts: in this process, or by whatever has the `submit` of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from itertools import islice, starmap
from typing import Any, TypeVar

from calib.core.check import ArgumentError
from calib.core.progress import progress

Given = TypeVar("Given", bound=tuple[Any, ...])
Made = TypeVar("Made")

_WORKERS = 8  # where an executor does not say how many it has
_AHEAD = 3  # parts that are handed out for each worker, so that none waits


def in_order(
    work: Callable[..., Made], parts: Iterable[Given], executor: Any, what: str, *, total: int | None = None
) -> Iterator[Made]:
    """What the work makes of each part, in the order of the parts, so that sums of it are the same whoever worked.

    Parameters
    ----------
    work : callable
        Of an importable module, as it may run in another process.
    parts : iterable of tuple
        The arguments of each call.
    executor : Executor, dask Client or None
        None works here, one part after the other.
    what : str
        As a progress bar says it.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(in_order(pow, [(2, 3), (3, 2)], pool, "powers"))
    [8, 9]
    """
    most = _AHEAD * (workers_of(executor) or _WORKERS)
    made = starmap(work, parts) if executor is None else _results(work, parts, executor, most, in_order=True)
    yield from progress(made, what, total=total)


def as_done(
    work: Callable[..., Made], parts: Iterable[Given], executor: Any, workers: int, what: str, *, total: int
) -> Iterator[Made]:
    """What the work makes of each part as it is done, never of more parts at once than there are workers.

    The arguments of a part are asked for when it is begun.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     sorted(as_done(pow, [(2, 3), (3, 2)], pool, 2, "powers", total=2))
    [8, 9]
    """
    made = starmap(work, parts) if executor is None else _results(work, parts, executor, workers, in_order=False)
    yield from progress(made, what, total=total)


def _results(
    work: Callable[..., Made], parts: Iterable[Given], executor: Any, most: int, *, in_order: bool
) -> Iterator[Made]:
    """So many under way as there is use for: what is handed out may hold whole frames."""
    pool, left, under_way = pool_of(executor), iter(parts), list[Any]()
    try:
        while True:
            for part in islice(left, most - len(under_way)):
                under_way.append(pool.submit(work, *part))
            if not under_way:
                return
            done = under_way[:1] if in_order else wait(under_way, return_when=FIRST_COMPLETED).done
            for future in done:
                yield future.result()
            under_way = [future for future in under_way if future not in done]
    except BrokenExecutor as error:
        again = "A process that worked on a part died (out of memory, or killed): run it again with a new executor."
        error.add_note(again)
        raise
    finally:
        for future in under_way:
            future.cancel()


def pool_of(executor: Any) -> Any:
    """What has the `submit` of `concurrent.futures`.

    A dask client has an executor of its own; its results are not to be kept by their arguments (``pure=False``), as a
    call is paid for each time.

    Examples
    --------
    >>> pool_of(4)
    Traceback (most recent call last):
        ...
    calib.core.check.ArgumentError: `executor` must have the `submit` of concurrent.futures, but got int.
    """
    if hasattr(executor, "get_executor"):
        return executor.get_executor(pure=False)
    if not hasattr(executor, "submit"):
        raise ArgumentError(
            "executor", "must have the `submit` of concurrent.futures", f"got {type(executor).__name__}"
        )
    return executor


def workers_of(executor: Any) -> int | None:
    """How many parts an executor works on at once, as far as it says; None where it does not.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> workers_of(None), workers_of(ThreadPoolExecutor(3))
    (1, 3)
    """
    if executor is None:
        return 1
    if hasattr(executor, "nthreads") and hasattr(executor, "get_executor"):  # a dask client
        return sum(executor.nthreads().values()) or None
    said = getattr(executor, "_max_workers", None)  # as the pools of the standard library and of mpi4py have it
    return said if isinstance(said, int) and said > 0 else None
