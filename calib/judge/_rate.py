"""rate(): items, a prompt and a judge in, the table of ratings out. Paid work ends here."""

from __future__ import annotations

import asyncio
import os
import tempfile
import warnings
from collections.abc import Awaitable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from calib.judge._judge import Judge, questions
from calib.judge._prompt import Prompt
from calib.judge._run import Run
from calib.judge._store import Store
from calib.judge._transport import AnyComplete, Transport, connect, wrap

T = TypeVar("T")

KEEP = ("compact", "full")


def rate(
    items: pd.DataFrame,
    prompt: Prompt | Iterable[Prompt],
    judge: Judge,
    *,
    store: str | Path | None = None,
    keep: str = "compact",
    complete: AnyComplete | None = None,
    replies: bool = False,
    progress: bool = True,
    max_cost: float | None = None,
    dry_run: bool = False,
) -> Any:
    """Ask the judge about every item and return its ratings.

    Calls that fail in passing are made again; a call that fails for good gets the status
    "failed" while others get through.

    Parameters
    ----------
    items : DataFrame
        With `item` (unique id) and the columns that the prompt shows.
    prompt : Prompt or iterable of Prompt
        One question or several (one criterion each, say).
    judge : Judge
    store : path, optional
        SQLite file of raw replies. Each reply is kept before it is read: an interrupted
        run goes on where it stopped, a repeated one makes no call. Several processes may
        share it. Default: memory, which is saved to a temporary file if the run breaks off.
    keep : {"compact", "full"}, default "compact"
        What the store keeps of a reply: all that any answer on any scale could be read
        from (message, usage, tokens, the candidates wherever a label could stand), or the
        reply byte for byte. Both give the same ratings.
    complete : callable, optional
        Your own transport: ``async def f(request: dict) -> dict | bytes`` (or a plain
        function, which then runs in threads), an OpenAI chat-completions body in, its
        response out. Replies are stored under the function's name and `judge.base_url`:
        give a base_url where one function serves several endpoints. Samplers of the server
        (`top_k`, `min_p`) are the function's to switch off. Raise
        `calib.LogprobsError` where token probabilities are asked for and not to be had,
        TimeoutError or ConnectionError where the call is to be made again.
    replies : bool, default False
        Keep the text of each reply in a column `reply`.
    progress : bool, default True
        Show a progress bar: done, rate, time left, cost so far, and how the replies read.
    max_cost : float, optional
        US dollars of this run. Calls that could exceed it are not made: the ratings are
        then those of a part of the items, a warning says so, and the same run with a
        higher limit goes on.
    dry_run : bool, default False
        Make no call; return what the run would ask for.

    Returns
    -------
    DataFrame
        A table of ratings (see `calib.table`), one row per value that the judge gave a
        reply's probability to; replies that could not be read are NaN with a status.
        A `DryRun` with ``dry_run=True``.

    Raises
    ------
    TableError, ValueError
        If the items lack a column or have doubled ids, or `max_cost` is given and the
        price of the model is not known.
    JudgeError
        If no API key is set, or the judge cannot be reached; what arrived is kept.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = rate(items.head(2), calib.geval_prompt("fluency"), Judge("offline"), progress=False)
    >>> sorted(set(ratings["status"])), sorted(set(ratings["method"]))
    (['off_scale', 'ok'], ['logprob'])
    """
    if not isinstance(judge, Judge):
        raise TypeError(f"`judge` must be a calib.Judge, such as calib.Judge('offline'), but got {judge!r}.")
    if keep not in KEEP:
        raise ValueError(f"`keep` must be one of {', '.join(KEEP)}, but got {keep!r}.")
    prompts, rows = questions(items, prompt)
    transport = _transport(judge, complete)
    with Store(store) as kept:
        run = Run(judge, kept, transport, keep=keep, max_cost=max_cost, progress=progress, texts=replies)
        if max_cost is not None and run.price is None:
            raise ValueError(f"`max_cost` needs the price of {judge.model!r}: give Judge(..., price=(in, out)).")
        if dry_run:
            return run.dry(prompts, rows)
        with _rescued(kept):
            plan = in_loop(_closing(run.rate(prompts, rows), transport))
            for note in run.notes:
                warnings.warn(note, stacklevel=2)
            return run.sheet.frame(judge, plan.run)


@contextmanager
def _rescued(store: Store) -> Iterator[None]:
    """Whatever breaks off a run, what was paid for is on disk."""
    try:
        yield
    except BaseException as error:
        if store.path is None and len(store):
            handle, path = tempfile.mkstemp(prefix="calib-", suffix=".sqlite")
            os.close(handle)
            store.save(path)
            error.add_note(f"The {len(store)} replies that arrived are kept: give store={path!r} to go on.")
        raise


def write_steps(prompt: Prompt, judge: Judge, *, complete: AnyComplete | None = None) -> Prompt:
    """Have the judge write the evaluation steps once (auto-CoT) and freeze them into the prompt.

    `rate` does this by itself for a prompt without steps; do it beforehand to read the
    steps, to edit them or to use the same ones with another judge.

    Parameters
    ----------
    prompt : Prompt
    judge : Judge
    complete : callable, optional
        As for `rate`.

    Returns
    -------
    Prompt
        With `steps`; its `id` depends on them.

    Raises
    ------
    JudgeError
        If the call fails or the reply holds no list of steps.

    References
    ----------
    Liu et al. (2023), G-Eval, section 2, arXiv:2303.16634.

    Examples
    --------
    >>> bare = Prompt.from_criteria("politeness", "The answer is courteous.", inputs=("question", "answer"))
    >>> len(write_steps(bare, Judge("offline")).steps)
    3
    """
    transport = _transport(judge, complete)
    with Store(None) as kept:
        return in_loop(_closing(Run(judge, kept, transport).with_steps(prompt), transport))


def _transport(judge: Judge, complete: AnyComplete | None) -> Transport:
    if complete is not None:
        return wrap(complete, judge.base_url, judge.concurrency)
    return connect(judge.model, judge.base_url, judge.concurrency)


async def _closing(work: Awaitable[T], transport: Transport) -> T:
    try:
        return await work
    finally:
        await transport.close()


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, also where an event loop is running already, as in Jupyter."""
    if not _in_a_loop():
        return asyncio.run(work)
    tasks: list[asyncio.Task[T]] = []

    async def main() -> T:
        tasks.append(asyncio.create_task(work))
        return await tasks[0]

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(asyncio.run, main())
        try:
            return done.result()
        except KeyboardInterrupt:
            # the calls run in another thread, which does not hear of the interrupt by itself
            for task in tasks:
                with suppress(RuntimeError):  # the loop has ended by itself
                    task.get_loop().call_soon_threadsafe(task.cancel)
            raise


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
