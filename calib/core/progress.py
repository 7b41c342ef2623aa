"""A bar for what takes longer than two seconds, where somebody watches: in a terminal or a notebook."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sized
from time import monotonic
from typing import Any, TypeVar

Step = TypeVar("Step")
_SILENT = 2.0  # seconds before there is a bar


def progress(steps: Iterable[Step], what: str, *, total: int | None = None) -> Iterator[Step]:
    """The same steps, with a bar beside them from the third second on; unwatched, or without tqdm, with none.

    Parameters
    ----------
    what : str
        What is done, as the bar says it.
    total : int, optional
        How many steps there are, where `steps` does not know.

    Examples
    --------
    >>> sum(progress(range(4), "sums"))
    6
    """
    if not is_watched():
        yield from steps
        return
    known = len(steps) if total is None and isinstance(steps, Sized) else total
    start, bar = monotonic(), None
    try:
        for done, step in enumerate(steps):
            if bar is not None:
                bar.update()
            elif done and monotonic() - start > _SILENT:
                bar = _bar(what, known, done, monotonic() - start)
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
    """A bar that knows what was done before it came, and how long that took."""
    try:
        bar = bar_class()(total=total, desc=what, leave=False)
    except ImportError:
        return None
    if not bar.disable:  # which the environment may say: TQDM_DISABLE
        bar.start_t -= since
    bar.update(done)
    bar.refresh()
    return bar
