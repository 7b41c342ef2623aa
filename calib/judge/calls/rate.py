"""rate(): items, a prompt and a judge in, the table of ratings out. Paid work ends here."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, as_typed
from calib.core.stop import stoppable
from calib.core.text import printable
from calib.judge.calls.client import Client
from calib.judge.calls.run import Run
from calib.judge.calls.store import Store
from calib.judge.calls.transport import AnyComplete, JudgeError, Transport, connect, wrap
from calib.judge.judge import Judge, digest, prompts_and_rows, seeded, steps_request
from calib.judge.prompt import Prompt, parts_of
from calib.judge.variants import Parts, layout, parse_rewording, reword_request

Outcome = TypeVar("Outcome")

_REPLIES_A_REWORDING = 3  # replies for each rewording, at most


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
        With `item` (unique id) and the columns that the prompt shows; of pairs of outputs one
        row for each pair (see `calib.pair_items`).
    prompt : Prompt or iterable of Prompt
        One question or several (one criterion each, say). That of `Prompt.pairwise` is asked
        twice about each pair, with either output first, and `shown_first` says which.
    judge : Judge
    store : path, optional
        SQLite file of raw replies. Each reply is kept before it is read: an interrupted
        run goes on where it stopped, a repeated one makes no call. Several processes may
        share it, and none asks for what another is asking for. Default: memory, which is
        saved to a temporary file if the run breaks off.
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
        Show a progress bar in a terminal or a notebook: done, rate, time left, cost so far, and how the replies read.
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
    KeyboardInterrupt, SystemExit
        If the run is stopped by Ctrl-C, or by SIGTERM or SIGHUP where nothing else handles
        them; what arrived is kept, and a note (a line on stderr) says where.
    sqlite3.OperationalError
        If the store cannot be written: the disk is full, or another program locks it.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = rate(items.head(2), calib.geval_prompt("fluency"), Judge("offline"), progress=False)
    >>> sorted(set(ratings["status"])), sorted(set(ratings["method"]))
    (['off_scale', 'ok'], ['logprob'])
    """
    as_typed(rate, locals())
    if not isinstance(judge, Judge):
        raise TypeError(f"`judge` must be a calib.Judge, such as calib.Judge('offline'), but got {judge!r}.")
    check.choice(keep, "keep", ("compact", "full"))
    prompts, rows = prompts_and_rows(items, prompt)
    with _client(judge, complete, store, keep=keep, max_cost=max_cost) as client:
        run = Run(client, progress=progress, texts=replies)
        if max_cost is not None and client.price is None:
            raise ArgumentError("max_cost", f"needs the price of {judge.model!r}: give Judge(..., price=(in, out))")
        if dry_run:
            return run.dry(prompts, rows)
        plan = _finished(run.rate(prompts, rows), client.transport)
        for note in run.notes:
            warnings.warn(printable(note), stacklevel=2)
        return run.sheet.frame(judge, plan.run)


@contextmanager
def _client(
    judge: Judge, complete: AnyComplete | None, store: str | Path | None = None, **options: Any
) -> Iterator[Client]:
    """A client with its store open; whatever breaks off a run, what was paid for is on disk."""
    if complete is None:
        transport = connect(judge.model, judge.base_url, judge.concurrency, judge.max_reply_bytes)
    else:
        transport = wrap(complete, judge.base_url, judge.concurrency)
    with stoppable() as stop, Store(store) as kept:
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
    with _client(judge, complete) as client:
        return _finished(Run(client).with_steps(prompt), client.transport)


def write_variants(
    prompt: Prompt, judge: Judge, n: int, *, store: str | Path | None = None, complete: AnyComplete | None = None
) -> tuple[Prompt, ...]:
    """Have the judge reword the task and the criterion of a prompt, to see what the wording does.

    Each rewording is a request of its own, numbered and with a seed of its own. Only the
    wording of task and criterion is taken from a reply: the texts, labels, steps and the
    form of the answer are put in by calib. A reply that brings slots, tags, numbers or a
    form of answer that the original has not, or repeats another one, is not used, and a
    further one is asked for. Whether the meaning is the same is for you to read.

    Parameters
    ----------
    prompt : Prompt
        From `geval_prompt` or `Prompt.from_criteria`. If its evaluation steps are still to be
        written, that comes first: all variants share them.
    judge : Judge
        Who rewords, not necessarily who rates. At temperature 0 it may have little to say.
    n : int
        How many prompts in all. The first is the prompt itself.
    store : path, optional
        As for `rate`: what was asked before is not asked again, and gives the same prompts.
    complete : callable, optional
        As for `rate`.

    Returns
    -------
    tuple of Prompt
        Frozen, each with its own `id` and with `changes` that say who reworded it. They can
        be laid out in further ways by their `variants`.

    Raises
    ------
    ValueError
        If the template is not one that calib wrote, or shows texts inside the criterion.
    JudgeError
        If a call fails, or 3 (n - 1) replies do not hold n - 1 different rewordings.

    See Also
    --------
    Prompt.variants : by fixed templates, without a judge.

    Examples
    --------
    >>> import calib
    >>> prompt, other = write_variants(calib.geval_prompt("fluency"), Judge("offline"), 2)
    >>> other.changes
    (('wording', 'by offline, reply 1'),)
    """
    check.whole(n, "n", least=1)
    parts = parts_of(prompt, "write_variants")
    if "{{" in parts.task + parts.criteria:
        rule = "must not show a text of the items inside its task or criterion, which are to be reworded; name the "
        raise ArgumentError("prompt", f"{rule}column in {{0}} instead", mentions=("inputs",))
    with _client(judge, complete, store) as client:
        return _finished(_rewordings(Run(client), prompt, parts, n), client.transport)


async def _rewordings(run: Run, prompt: Prompt, original: Parts, n: int) -> tuple[Prompt, ...]:
    """The prompt and n - 1 rewordings, in the order of the replies that hold them."""
    prompt = await run.with_steps(prompt)
    found, trouble = {_wording_key(original): prompt}, ""
    most = _REPLIES_A_REWORDING * (n - 1)
    for number in range(1, most + 1):
        if len(found) == n:
            break
        try:
            parts = parse_rewording(await _rewording_reply(run, prompt, original, number), original)
        except ValueError as error:
            trouble = f"; the last that could not be used: {error}"
            continue
        change = ("wording", f"by {run.judge.model}, reply {number}")
        one = replace(prompt, template=layout(parts), parts=parts, changes=(*prompt.changes, change))
        found.setdefault(_wording_key(parts), one)
    if len(found) < n:
        got = f"{len(found) - 1} different rewordings of {prompt.criterion!r} in {most} replies"
        raise JudgeError(f"{run.judge.model} wrote {got}, and {n - 1} are asked for{trouble}.")
    return tuple(found.values())


def _wording_key(parts: Parts) -> tuple[str, ...]:
    """What must differ for two prompts to be worded differently."""
    return tuple(" ".join(text.casefold().split()) for text in (parts.task, parts.criteria))


async def _rewording_reply(run: Run, prompt: Prompt, original: Parts, number: int) -> str:
    """The judge's reply, which is kept whether it can be used or not: a run that goes on finds the same."""
    messages = reword_request(original, number)
    body = steps_request(run.judge, prompt) | {"messages": messages}  # the frame is the same
    body["max_tokens"] = max(body["max_tokens"], len(messages[-1]["content"]) // 2)
    body = seeded(run.judge, body, number)
    key = digest([run.address, run.judge.seed, body, number]).hexdigest()
    return (await run.client.choice(key, f"a rewording of {prompt.criterion!r}", body)).text


def _finished(work: Coroutine[Any, Any, Outcome], transport: Transport) -> Outcome:
    """What the work returns, also where an event loop is running already, as in Jupyter; the transport is closed."""

    async def main() -> Outcome:
        stop.task = asyncio.current_task()
        try:
            return await work
        finally:
            await transport.close()

    with stoppable() as stop:
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
