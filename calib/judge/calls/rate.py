"""Ratings of items by a judge, in one run or in shards, and prompts that a judge writes: steps and rewordings."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, check_types
from calib.core.progress import progress as progress_bar
from calib.core.text import needed, printable
from calib.inputs.resolve import items_to_rate
from calib.judge.calls.client import opened_client, run_to_end
from calib.judge.calls.endpoint import DryRun, dry_run_of
from calib.judge.calls.run import Run, limit_note
from calib.judge.calls.transport import AnyComplete, JudgeError
from calib.judge.judge import Judge, Plan, digest, prompts_and_rows, seeded, steps_request
from calib.judge.prompt import Prompt, is_empty, template_parts
from calib.judge.variants import Parts, layout, parse_rewording, reword_request
from calib.scale.partitions import Partitions, is_partitioned, pool_of, worked, workers_of
from calib.table import TableError, read_frame, write
from calib.table.files import whole_or_not

_SHARDS = 64
_MANIFEST = "manifest.json"
_DESIGN = ("group", "system", "system_a", "system_b")
_PROBED_ITEMS = 3  # items that show what the server can do, before anybody else asks
# of a judge, what makes its answers; the rest may change from one run to the next
_SETTINGS = (
    "model", "method", "draws", "temperature", "top_logprobs", "seed", "max_tokens", "noise_floor", "continuation",
)  # fmt: skip
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
        items, a warning says so, and the same run with a higher limit goes on.
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
        if shards is not None:
            shards = check.whole(shards, "shards", least=1)
        else:  # as many as before
            stores = sorted(Path(store).glob("shard-*-of-*.sqlite"), key=lambda path: path.stat().st_mtime)
            shards = int(stores[-1].stem.rpartition("-")[2]) if stores else _SHARDS
        sharded = _Shards(judge, prompts, Path(store), shards, client_of, replies, before_sampling)
        if dry_run:
            return sharded.dry_run(items)
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
        Frozen, each with its own `id` and with `changes` that say who reworded it. They can
        be laid out in further ways by their `variants`. A JudgeError says that a call failed, or
        that 3 (n - 1) replies do not hold n - 1 different rewordings.

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


# --- in shards --------------------------------------------------------------------------------------------------------


class _Manifest(NamedTuple):
    """What is settled once for all shards: the prompts with their steps, and how the judge is asked."""

    settings: dict[str, Any]
    prompts: tuple[str, ...]
    steps: tuple[tuple[str, ...] | None, ...]
    plan: Plan


class _Shards(NamedTuple):
    """A run in shards: a store for each, a manifest of what all have in common, and whoever works on them.

    A worker may die, and an executor may run a task twice: that each reply is paid for once comes from the stores.
    `client` opens the way to the judge: a store, and a limit in dollars.
    """

    judge: Judge
    prompts: list[Prompt]
    folder: Path
    shards: int
    client: Callable[..., Any]
    replies: bool
    before_sampling: Callable[[], object] | None = None

    def store(self, shard: int) -> Path:
        return self.folder / f"shard-{shard:06d}-of-{self.shards:06d}.sqlite"

    def others(self) -> list[Path]:
        """Stores of the same run that was cut into another number of shards."""
        every, mine = self.folder.glob("shard-*-of-*.sqlite"), self.folder.glob(f"shard-*-of-{self.shards:06d}.sqlite")
        return sorted({*every} - {*mine})

    def part(self, table: str, shard: int) -> Path:
        """Where a shard's items or ratings are."""
        return self.folder / table / f"part-{shard:06d}.parquet"

    def settings(self) -> dict[str, Any]:
        """Of the judge, as the manifest holds them: tuples are lists there."""
        with self.client() as client:
            values = {name: getattr(self.judge, name) for name in _SETTINGS} | {"address": client.transport.address}
        return dict(json.loads(json.dumps(values)))

    def rate(
        self, items: Any, executor: Any, workers: int | None, max_cost: float | None
    ) -> tuple[Partitions, list[str]]:
        """Ratings in partitions, and what the user has to know."""
        needed("pyarrow", extra="parquet", use="ratings in shards")
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.manifest()
        if executor is not None:
            pool_of(executor)  # which refuses what takes no tasks
        at_once = workers_of(executor) if workers is None else check.whole(workers, "workers", least=1)
        if at_once is None:
            raise ArgumentError("workers", "must say how many shards are rated at once", "the executor does not say")
        self.prompts_with_steps(manifest)  # which refuses another run, before anything of this one is changed
        sizes = self._deal(items)
        # what a provider allows in a minute is divided by those who ask
        names = ("requests_per_minute", "tokens_per_minute")
        limits = {name: value / at_once for name in names if (value := getattr(self.judge, name)) is not None}
        manifest, spent = self._settle(manifest, min(sizes), max_cost)
        record = {"asked": manifest.settings, "prompts": manifest.prompts, "steps": manifest.steps}
        record |= {"plan": manifest.plan._asdict(), "limits": limits | {"workers": at_once, "max_cost": max_cost}}
        with whole_or_not(self.folder / _MANIFEST) as path:
            path.write_text(json.dumps(record, indent=1), encoding="utf-8")
        work = partial(self._replace(judge=replace(self.judge, **limits), before_sampling=None).rate_shard, manifest)
        dollars = None if max_cost is None else max_cost - spent
        to_come, shares = sum(sizes.values()), dict[int, float]()

        def tasks() -> Iterator[tuple[int, float | None]]:
            """Each shard as it is begun, with dollars by how many items it has of those that are still to come."""
            nonlocal dollars, to_come
            for shard, size in sizes.items():
                if dollars is not None:
                    shares[shard] = max(dollars, 0.0) * size / to_come
                    dollars, to_come = dollars - shares[shard], to_come - size
                yield shard, shares.get(shard)

        notes, missing, wanted = Counter[str](), 0, 0
        title = f"shards rated with {self.judge.model}"
        done: Iterator[Any] = starmap(work, tasks())
        if executor is not None:
            done = worked(work, tasks(), executor, at_once, in_order=False)
        for shard, cost, shard_notes, n_missing, n in progress_bar(done, title, total=len(sizes)):
            if dollars is not None:
                dollars += shares[shard] - cost  # what a shard has not needed is for those to come
            notes.update(shard_notes)
            missing, wanted = missing + n_missing, wanted + n
        parts = {self.part(table, shard) for table in ("items", "ratings") for shard in sizes}
        for path in {*self.folder.glob("items/part-*.parquet"), *self.folder.glob("ratings/part-*.parquet")} - parts:
            path.unlink()  # of an earlier run over other items
        messages = [limit_note(max_cost, missing, wanted)] * bool(missing)
        messages += [f"{note}{f' ({n} shards say so)' if n > 1 else ''}" for note, n in notes.most_common(3)]
        messages += [f"{len(notes) - 3} further notes of other shards"] * (len(notes) > 3)
        return Partitions(self.folder / "ratings"), messages

    def rate_shard(self, manifest: _Manifest, shard: int, max_cost: float | None) -> tuple[Any, ...]:
        """In whatever process: what the store has not is asked, and the ratings are written in one go.

        Shard, dollars spent, notes, draws that were not asked for as the limit was reached, and all draws.
        """
        prompts = self.prompts_with_steps(manifest)
        prompts, rows = prompts_and_rows(read_frame(self.part("items", shard)), prompts)
        with self.client(self.store(shard), others=self.others(), max_cost=max_cost) as client:
            # each shard's file bears a mark, so that none of another run is taken for one of this
            mark = digest([manifest.settings, manifest.prompts, manifest.plan.method, manifest.plan.run]).hexdigest()
            if client.store.marked(mark) != mark:
                raise ArgumentError("store", "must hold shards of one run", f"{self.store(shard).name} is of another")
            run = Run(client, texts=self.replies)
            plan = run_to_end(run.rate(prompts, rows, manifest.plan), client.transport)
            write(run.sheet.frame(self.judge, plan.run), self.part("ratings", shard))
            return shard, client.spent, run.notes, run.sheet.missing(), len(run.sheet.calls)

    def dry_run(self, items: Any) -> DryRun:
        """What all shards would ask for together."""
        manifest, runs = self.manifest(), []
        for frame in Partitions(items) if is_partitioned(items) else [items]:
            prompts, rows = prompts_and_rows(frame, self.prompts_with_steps(manifest))
            shard = self.shard_of(pd.Series([row["item"] for row in rows]))
            for number in np.unique(shard):
                store = self.store(int(number))
                with self.client(store if store.exists() else None, others=self.others()) as client:
                    runs.append(Run(client).dry(prompts, [rows[k] for k in np.flatnonzero(shard == number)]))
        return dry_run_of(runs)

    def shard_of(self, items: pd.Series) -> Any:
        """By a hash of the id, so that a shard is the same whatever else is rated."""
        return pd.util.hash_array(items.to_numpy(object), categorize=False) % np.uint64(self.shards)

    def _deal(self, items: Any) -> dict[int, int]:
        """Each shard's items into a file, of which no more than a part is in memory; how many items each has."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        (self.folder / "items").mkdir(exist_ok=True)
        writers: dict[int, Any] = {}
        sizes = Counter[int]()
        try:
            for frame in Partitions(items) if is_partitioned(items) else [items]:
                # what the prompts show, as they show it, and the design
                shown = [name for prompt in self.prompts for name in prompt.inputs]
                table, names = items_to_rate(frame, shown), dict.fromkeys(["item", *_DESIGN, *shown])
                columns = {n: [None if is_empty(one) else str(one) for one in table[n]] for n in names if n in table}
                table = pd.DataFrame(columns, dtype=object)
                schema = pa.schema([(name, pa.large_string()) for name in table])
                for shard, rows in table.groupby(self.shard_of(table["item"]).astype(int), sort=True):
                    part = pa.Table.from_pandas(rows, schema=schema, preserve_index=False)
                    if shard not in writers:
                        writers[shard] = pq.ParquetWriter(self.part("items", shard), schema)
                    elif writers[shard].schema != schema:
                        raise TableError("items: all parts must have the same columns, but they differ.")
                    writers[shard].write_table(part)
                    sizes[shard] += len(rows)
        except UnicodeEncodeError:
            rule = "a file of a shard holds no half characters (lone surrogates); mend the texts"
            raise TableError(f"items: {rule}.") from None
        finally:
            for writer in writers.values():
                writer.close()
        if not sizes:
            raise ArgumentError("items", "must not be empty", "got none")
        for shard in sizes:  # before the first call is paid
            # an item that stands in two parts goes to one shard, which has it twice
            stored = pq.read_table(self.part("items", shard), columns=["item"])["item"].to_pandas()
            if (again := stored.duplicated()).any():
                rule, name = "must be unique in all parts", stored[again].iloc[0]
                raise TableError(f"items: column `item`: {rule}, but {name!r} is there more than once.")
        return dict(sorted(sizes.items()))

    def _settle(self, manifest: _Manifest | None, shard: int, max_cost: float | None) -> tuple[_Manifest, float]:
        """The manifest, which is the folder's or comes of a first few items that are asked here; and what that cost."""
        if manifest is not None:
            return manifest, 0.0
        rows = prompts_and_rows(read_frame(self.part("items", shard)), self.prompts)[1][:_PROBED_ITEMS]
        with self.client(self.store(shard), max_cost=max_cost) as client:
            run = Run(client, before_sampling=self.before_sampling)
            plan = run_to_end(run.rate(self.prompts, rows), client.transport)
        ids, steps = tuple(prompt.id for prompt in self.prompts), tuple(prompt.steps for prompt in run.written)
        return _Manifest(self.settings(), ids, steps, plan), client.spent

    def manifest(self) -> _Manifest | None:
        """That of the folder; None where there is none."""
        path = self.folder / _MANIFEST
        if not path.exists():
            return None
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            steps = tuple(None if one is None else tuple(one) for one in fields["steps"])
            return _Manifest(fields["asked"], tuple(fields["prompts"]), steps, Plan(**fields["plan"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            rule = f"must hold the {_MANIFEST} of a run"
            raise ArgumentError("store", rule, f"it cannot be read: {error!r}") from None

    def prompts_with_steps(self, manifest: _Manifest | None) -> list[Prompt]:
        """The prompts with the steps of the manifest, which must be about these prompts and this judge."""
        if manifest is None:
            return self.prompts
        for name, value in self.settings().items():
            if manifest.settings.get(name) != value:
                rule = f"holds shards of a run with {name} {manifest.settings.get(name)!r}: give another folder"
                raise ArgumentError("store", rule, f"got {value!r}")
        ids = tuple(prompt.id for prompt in self.prompts)
        if manifest.prompts != ids:
            rule = f"holds shards of {', '.join(manifest.prompts)}: give another folder"
            raise ArgumentError("store", rule, f"got {', '.join(ids)}")
        both = zip(self.prompts, manifest.steps, strict=True)
        return [prompt if steps is None else prompt.with_steps(steps) for prompt, steps in both]
