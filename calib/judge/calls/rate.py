"""Ratings of items by a judge, in one run or in shards, and prompts that a judge writes: steps and rewordings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, check_types
from calib.core.progress import stoppable
from calib.core.text import printable
from calib.judge.calls.client import opened_client, run_to_end
from calib.judge.calls.run import Run, limit_note
from calib.judge.calls.shards import Shards, shards_in, shards_kept
from calib.judge.calls.transport import AnyComplete, JudgeError
from calib.judge.judge import Judge, digest, prompts_and_rows, seeded, steps_request, unread_notes
from calib.judge.prompt import Prompt, template_parts
from calib.judge.variants import Parts, layout, parse_rewording, reword_request
from calib.scale.partitions import is_partitioned

_REPLIES_A_REWORDING = 3  # replies for each rewording, at most


def rate(
    items: Any,
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
    shards: int | None = None,
    executor: Any = None,
    workers: int | None = None,
    before_sampling: Callable[[], object] | None = None,
) -> Any:
    """Ask the judge about every item and return its ratings.

    Calls that fail in passing are made again; a call that fails for good gets the status
    "failed" while others get through.

    Parameters
    ----------
    items : DataFrame, path or partitions
        With `item` (unique id) and the columns that the prompt shows; of pairs of outputs one
        row for each pair (see `calib.pair_items`). Partitions (`calib.Partitions`) go with `shards`.
    prompt : Prompt or iterable of Prompt
        One question or several (one criterion each, say). That of `Prompt.pairwise` is asked
        twice about each pair, with either output first, and `shown_first` says which.
    judge : Judge
    store : path, optional
        SQLite file of raw replies. Each reply is kept before it is read: an interrupted
        run goes on where it stopped, a repeated one makes no call. Several processes may
        share it, and none asks for what another is asking for. Default: memory, which is
        saved to a temporary file if the run breaks off. With `shards` a folder, on a disk that all workers see.
    keep : {"compact", "full"}, default "compact"
        What the store keeps of a reply: all that any answer on any scale could be read from (message, usage, tokens,
        the candidates wherever a label could stand), or the reply byte for byte. Both give the same ratings.
    complete : callable, optional
        Your own transport: ``async def f(request: dict) -> dict | bytes`` (or a plain function, which then runs in
        threads), an OpenAI chat-completions body in, its response out. Replies are stored under the function's name
        and `judge.base_url`: give a base_url where one function serves several endpoints. Samplers of the server
        (`top_k`, `min_p`) are the function's to switch off. Raise `calib.LogprobsError` where token probabilities are
        asked for and not to be had, TimeoutError or ConnectionError where the call is to be made again.
    replies : bool, default False
        Keep the text of each reply in a column `reply`.
    progress : bool, default True
        Show a progress bar in a terminal or a notebook: done, rate, time left, cost so far, and how the replies read.
    max_cost : float, optional
        US dollars of this run. Calls that could exceed it are not made: the ratings are then those of a part of the
        items, a warning says so, and a further run with the same store goes on, up to a limit of its own.
    dry_run : bool, default False
        Make no call; return what the run would ask for.
    shards : int, optional
        Into how many files the store is cut, each item by a hash of its id. Memory is then that of one shard for each
        worker. What all have in common (the prompts with their steps, how the judge is read) is settled once and kept
        in the folder's manifest. Default with an `executor`: 64. Another number goes on from what is there.
    executor : Executor or Client, optional
        Who works on the shards: anything with the `submit` of `concurrent.futures` (processes, MPI), or a client of
        dask. Default: this process, one after the other. After a worker has died, at most
        `judge.concurrency` replies are paid for again for each that died, and none is lost.
    workers : int, optional
        How many shards are rated at once, where the executor does not say. `judge.concurrency` is that of each;
        `requests_per_minute`, `tokens_per_minute` and `max_cost` are of all together.
    before_sampling : callable, optional
        Called where ``method="auto"`` finds that the model gives no token probabilities, before replies are drawn,
        which are many more calls (see `DryRun.otherwise`). What it raises ends the run.

    Returns
    -------
    DataFrame
        A table of ratings (see `calib.table`), one row per value that the judge gave a reply's probability to;
        replies that could not be read are NaN with a status. A `DryRun` with ``dry_run=True``; with `shards` the
        `Partitions` of the folder ``ratings`` in the store, beside the items' design in the folder ``items``.

    Raises
    ------
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
    check_types(rate, locals())
    if not isinstance(judge, Judge):
        raise TypeError(f"`judge` must be a calib.Judge, such as calib.Judge('offline'), but got {judge!r}.")
    check.choice(keep, "keep", ("compact", "full"))
    client_of = partial(opened_client, judge, complete, keep=keep)
    if max_cost is not None:
        with client_of() as client:
            if client.price is None:  # a limit in dollars is none where nobody knows what a call costs
                raise ArgumentError("max_cost", f"needs the price of {judge.model!r}: give Judge(..., price=(in, out))")
    is_folder = store is not None and (Path(store).is_dir() or str(store).endswith(("/", "\\")))
    if shards is not None or executor is not None or is_partitioned(items) or is_folder:
        prompts, _ = prompts_and_rows(pd.DataFrame({"item": ["-"]}), prompt)
        if store is None or Path(store).is_file():
            got = "is not given" if store is None else f"{printable(str(store))} is a file"
            rule = "must be a folder where items are rated in shards ({0}, {1}, or items in partitions)"
            raise ArgumentError("store", rule, got, mentions=("shards", "executor"))
        shards = check.whole(shards, "shards", least=1) if shards is not None else shards_in(Path(store))
        sharded = Shards(judge, prompts, Path(store), shards, client_of, replies, before_sampling)
        if dry_run:
            return sharded.dry_run(items)
        with stoppable(), shards_kept(Path(store)):
            ratings, notes = sharded.rate(items, executor, workers, max_cost)
        for note in notes:
            warnings.warn(printable(note), stacklevel=2)
        return ratings
    prompts, rows = prompts_and_rows(items, prompt)
    with client_of(store, max_cost=max_cost) as client:
        run = Run(client, progress=progress, texts=replies, before_sampling=before_sampling)
        if dry_run:
            return run.dry(prompts, rows)
        plan = run_to_end(run.rate(prompts, rows), client.transport)
        run.notes += unread_notes(run.sheet.counts)
        if missing := run.sheet.missing():
            run.notes.append(limit_note(max_cost, missing, len(run.sheet.calls)))
        for note in run.notes:  # where a warning is an error, what was paid for is kept, too
            warnings.warn(printable(note), stacklevel=2)
        return run.sheet.frame(judge, plan.run)


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
    with opened_client(judge, complete) as client:
        return run_to_end(Run(client).with_steps(prompt), client.transport)


def write_variants(
    prompt: Prompt, judge: Judge, n: int, *, store: str | Path | None = None, complete: AnyComplete | None = None
) -> tuple[Prompt, ...]:
    """Have the judge reword the task and the criterion of a prompt, to see what the wording does.

    Each rewording is a request of its own, numbered and with a seed of its own. Only the wording of task and
    criterion is taken from a reply: the texts, labels, steps and the form of the answer are put in by calib. A reply
    that brings slots, tags, numbers or a form of answer that the original has not, or repeats another one, is not
    used, and a further one is asked for. Whether the meaning is the same is for you to read.

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
        Each with its own `id` and with `changes` that say who reworded it. They can be laid out in further ways by
        their `variants`. A JudgeError says that a call failed, or that 3 (n - 1) replies do not hold n - 1 different
        rewordings.

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
    parts = template_parts(prompt, "write_variants")
    if "{{" in parts.task + parts.criteria:
        rule = "must not show a text of the items inside its task or criterion, which are to be reworded; name the "
        raise ArgumentError("prompt", f"{rule}column in {{0}} instead", mentions=("inputs",))
    with opened_client(judge, complete, store) as client:
        return run_to_end(_rewordings(Run(client), prompt, parts, n), client.transport)


async def _rewordings(run: Run, prompt: Prompt, original: Parts, n: int) -> tuple[Prompt, ...]:
    """The prompt and n - 1 rewordings, in the order of the replies that hold them."""
    prompt = await run.with_steps(prompt)
    different, rejected = {original.wording: prompt}, ""
    most = _REPLIES_A_REWORDING * (n - 1)
    for number in range(1, most + 1):
        if len(different) == n:
            break
        messages = reword_request(original, number)
        body = steps_request(run.judge, prompt) | {"messages": messages}  # the frame is the same
        body["max_tokens"] = max(body["max_tokens"], len(messages[-1]["content"]) // 2)
        body = seeded(run.judge, body, number)
        key = digest([run.address, run.judge.seed, body, number]).hexdigest()
        # kept whether it can be used or not: a run that goes on finds the same
        reply = await run.client.choice(key, f"a rewording of {prompt.criterion!r}", body)
        try:
            parts = parse_rewording(reply.text, original)
        except ValueError as error:
            rejected = f"; the last that could not be used: {error}"
            continue
        change = ("wording", f"by {run.judge.model}, reply {number}")
        one = replace(prompt, template=layout(parts), parts=parts, changes=(*prompt.changes, change))
        different.setdefault(parts.wording, one)
    if len(different) < n:
        got = f"{len(different) - 1} different rewordings of {prompt.criterion!r} in {most} replies"
        raise JudgeError(f"{run.judge.model} wrote {got}, and {n - 1} are asked for{rejected}.")
    return tuple(different.values())
