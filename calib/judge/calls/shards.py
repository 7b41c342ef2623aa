"""A run in shards: a store for each, whoever works on them, and what all have in common."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.core.progress import end_with_parent, progress as progress_bar
from calib.core.text import needed
from calib.inputs.resolve import items_to_rate
from calib.judge.calls.client import run_to_end
from calib.judge.calls.endpoint import DryRun, dry_run_of
from calib.judge.calls.run import Run, limit_note
from calib.judge.judge import Judge, Plan, digest, prompts_and_rows, unread_notes
from calib.judge.prompt import Prompt, is_empty
from calib.scale.partitions import Partitions, is_partitioned, pool_of, worked, workers_of
from calib.table import TableError, read_frame, write
from calib.table.files import whole_or_not

_SHARDS = 64
_MANIFEST = "manifest.json"
_DESIGN = ("group", "system", "system_a", "system_b")
_PROBED_ITEMS = 3  # items that show what the server can do, before anybody else asks
# of a judge, what decides its answers; the rest may change from one run to the next
_SETTINGS = (
    "model", "method", "draws", "temperature", "top_logprobs", "seed", "max_tokens", "noise_floor", "continuation",
)  # fmt: skip


@contextmanager
def shards_kept(folder: Path) -> Iterator[None]:
    """Have an interrupt, or the death of a worker, say how many replies are kept in a folder, and how to go on."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, BrokenExecutor | ChildProcessError):
            raise  # which says so by itself
        n = 0
        for path in folder.glob(f"shard-*-of-{shards_in(folder):06d}.sqlite"):
            with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
                n += db.execute("SELECT count(*) FROM draws").fetchone()[0]
        kept = f"replies are kept in {str(folder)!r}"
        again = "." if isinstance(error, Exception) else ": run again to go on."
        error.__notes__ = [note for note in getattr(error, "__notes__", ()) if kept not in note]  # as of before
        error.add_note(f"{n} {kept}{again}")
        raise


def shards_in(folder: Path) -> int:
    """Into how many shards the newest run of a folder was cut; 64 where there is none."""
    stores = sorted(folder.glob("shard-*-of-*.sqlite"), key=lambda path: path.stat().st_mtime)
    return int(stores[-1].stem.rpartition("-")[2]) if stores else _SHARDS


class Manifest(NamedTuple):
    """What is settled once for all shards: the prompts with their steps, and how the judge is asked."""

    settings: dict[str, Any]
    prompts: tuple[str, ...]
    steps: tuple[tuple[str, ...] | None, ...]
    plan: Plan


class Shards(NamedTuple):
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
        """Ratings in partitions, and notes for the user."""
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
        # shards that are rated at once share what a provider allows in a minute
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

        notes, counts, missing, wanted = Counter[str](), Counter[str](), 0, 0
        title = f"shards rated with {self.judge.model}"
        done: Iterator[Any] = starmap(work, tasks())
        if executor is not None:
            done = worked(work, tasks(), executor, at_once, in_order=False)
        for shard, cost, shard_notes, shard_counts, n_missing, n in progress_bar(done, title, total=len(sizes)):
            if dollars is not None:
                dollars += shares[shard] - cost  # what a shard has not needed is for those to come
            notes.update(shard_notes)
            counts.update(shard_counts)
            missing, wanted = missing + n_missing, wanted + n
        parts = {self.part(table, shard) for table in ("items", "ratings") for shard in sizes}
        for path in {*self.folder.glob("items/part-*.parquet"), *self.folder.glob("ratings/part-*.parquet")} - parts:
            path.unlink()  # of an earlier run over other items
        messages = unread_notes(counts) + [limit_note(max_cost, missing, wanted)] * bool(missing)
        messages += [f"{note}{f' ({n} shards say so)' if n > 1 else ''}" for note, n in notes.most_common(3)]
        messages += [f"{len(notes) - 3} further notes of other shards"] * (len(notes) > 3)
        return Partitions(self.folder / "ratings"), messages

    def rate_shard(self, manifest: Manifest, shard: int, max_cost: float | None) -> tuple[Any, ...]:
        """In any process: ask for what the store lacks, and write the ratings in one go.

        Returns the shard, dollars spent, notes, draws by how they read, draws not asked for at the limit of cost, and
        all draws.
        """
        end_with_parent()
        prompts = self.prompts_with_steps(manifest)
        prompts, rows = prompts_and_rows(read_frame(self.part("items", shard)), prompts)
        with self.client(self.store(shard), others=self.others(), is_part=True, max_cost=max_cost) as client:
            # a mark in each shard's file says which run it is of
            mark = digest([manifest.settings, manifest.prompts, manifest.plan.method, manifest.plan.run]).hexdigest()
            if client.store.marked(mark) != mark:
                raise ArgumentError("store", "must hold shards of one run", f"{self.store(shard).name} is of another")
            run = Run(client, texts=self.replies)
            plan = run_to_end(run.rate(prompts, rows, manifest.plan), client.transport)
            write(run.sheet.frame(self.judge, plan.run), self.part("ratings", shard))
            return shard, client.spent, run.notes, run.sheet.counts, run.sheet.missing(), len(run.sheet.calls)

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
        """Write each shard's items into a file, part by part; returns how many items each has."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        (self.folder / "items").mkdir(exist_ok=True)
        writers: dict[int, Any] = {}
        sizes = Counter[int]()
        try:
            for frame in Partitions(items) if is_partitioned(items) else [items]:
                # what the prompts show, as they show it, and the design
                inputs = [name for prompt in self.prompts for name in prompt.inputs]
                table, names = items_to_rate(frame, inputs), dict.fromkeys(["item", *_DESIGN, *inputs])
                columns = {n: [None if is_empty(one) else str(one) for one in table[n]] for n in names if n in table}
                table = pd.DataFrame(columns, dtype=object)
                schema = pa.schema([(name, pa.large_string()) for name in table])
                for shard, rows in table.groupby(self.shard_of(table["item"]).astype(int), sort=True):
                    if shard not in writers:
                        writers[shard] = pq.ParquetWriter(self.part("items", shard), schema)
                    elif writers[shard].schema != schema:
                        raise TableError("items: all parts must have the same columns, but they differ.")
                    writers[shard].write_table(pa.Table.from_pandas(rows, schema=schema, preserve_index=False))
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

    def _settle(self, manifest: Manifest | None, shard: int, max_cost: float | None) -> tuple[Manifest, float]:
        """The folder's manifest, or a new one, for which the first few items are rated here; and what that cost."""
        if manifest is not None:
            return manifest, 0.0
        rows = prompts_and_rows(read_frame(self.part("items", shard)), self.prompts)[1][:_PROBED_ITEMS]
        with self.client(self.store(shard), is_part=True, max_cost=max_cost) as client:
            run = Run(client, before_sampling=self.before_sampling)
            plan = run_to_end(run.rate(self.prompts, rows), client.transport)
        ids, steps = tuple(prompt.id for prompt in self.prompts), tuple(prompt.steps for prompt in run.written)
        return Manifest(self.settings(), ids, steps, plan), client.spent

    def manifest(self) -> Manifest | None:
        """That of the folder; None where there is none."""
        path = self.folder / _MANIFEST
        if not path.exists():
            return None
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            steps = tuple(None if one is None else tuple(one) for one in fields["steps"])
            return Manifest(fields["asked"], tuple(fields["prompts"]), steps, Plan(**fields["plan"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            rule = f"must hold the {_MANIFEST} of a run"
            raise ArgumentError("store", rule, f"it cannot be read: {error!r}") from None

    def prompts_with_steps(self, manifest: Manifest | None) -> list[Prompt]:
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
