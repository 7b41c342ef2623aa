"""Many items rated in shards: a store for each, a manifest of what all have in common, and whoever works on them.

A worker may die, and an executor may run a task twice: that each reply is paid for once comes from the stores.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.core.text import needed
from calib.judge.calls.endpoint import DryRun
from calib.judge.calls.run import Run, finished, limit_note
from calib.judge.judge import Judge, Plan, digest, prompts_and_rows
from calib.judge.prompt import Prompt, is_empty
from calib.scale.partitions import Partitions, as_done, is_partitioned, pool_of, workers_of
from calib.table import TableError, check_items, read_frame, write
from calib.table.files import whole_or_not

SHARDS = 64
_MANIFEST = "manifest.json"
_DESIGN = ("group", "system", "system_a", "system_b")
_SETTLES = 3  # items that show what the server can do, before anybody else asks
# of a judge, what makes its answers; the rest may change from one run to the next
_ASKED = (
    "model", "method", "draws", "temperature", "top_logprobs", "seed", "max_tokens", "noise_floor", "continuation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is settled once for all shards: the prompts with their steps, and how the judge is asked."""

    asked: dict[str, Any]
    prompts: tuple[str, ...]
    steps: tuple[tuple[str, ...] | None, ...]
    plan: Plan
    limits: dict[str, Any]

    @property
    def mark(self) -> str:
        """What each shard's file bears, so that none of another run is taken for one of this."""
        return digest([self.asked, self.prompts, self.plan.method, self.plan.run]).hexdigest()

    def write(self, folder: Path) -> None:
        """Keep it beside the shards."""
        frozen = {name: getattr(self, name) for name in self.__slots__} | {"plan": self.plan._asdict()}
        with whole_or_not(folder / _MANIFEST) as path:
            path.write_text(json.dumps(frozen, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest | None:
        """That of a folder; None where there is none."""
        path = folder / _MANIFEST
        if not path.exists():
            return None
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            steps = tuple(None if one is None else tuple(one) for one in held["steps"])
            return cls(held["asked"], tuple(held["prompts"]), steps, Plan(**held["plan"]), held["limits"])
        except (ValueError, KeyError, TypeError) as error:
            raise ArgumentError(
                "store", f"must hold the {_MANIFEST} of a run", f"it cannot be read: {error!r}"
            ) from None


class Job(NamedTuple):
    """What a run in shards was asked for; `client` opens the way to the judge: a store, and a limit in dollars."""

    judge: Judge
    prompts: list[Prompt]
    folder: Path
    shards: int
    client: Callable[..., Any]
    replies: bool

    def path(self, shard: int) -> Path:
        return self.folder / f"shard-{shard:06d}-of-{self.shards:06d}.sqlite"

    def others(self) -> list[Path]:
        """Stores of the same run that was cut into another number of shards."""
        mine = f"-of-{self.shards:06d}.sqlite"
        return [path for path in sorted(self.folder.glob("shard-*-of-*.sqlite")) if not path.name.endswith(mine)]


class _Done(NamedTuple):
    shard: int
    spent: float
    notes: tuple[str, ...]
    missing: int  # draws that were not asked for, as the limit was reached
    wanted: int


def rated_in_shards(job: Job, items: Any, executor: Any, workers: int | None, max_cost: float | None) -> Any:
    """Ratings in partitions, and what the user has to know."""
    needed("pyarrow", extra="parquet", use="ratings in shards")
    job.folder.mkdir(parents=True, exist_ok=True)
    held = Manifest.read(job.folder)
    if executor is not None:
        pool_of(executor)  # which refuses what takes no tasks
    at_once = workers_of(executor) if workers is None else check.whole(workers, "workers", least=1)
    if at_once is None:
        raise ArgumentError("workers", "must say how many shards are rated at once", "the executor does not say")
    _with_steps_of(job, held)  # which refuses another run, before anything of this one is changed
    sizes = _deal(items, job)
    settled, spent = _settle(job, held, min(sizes), at_once, max_cost)
    shared = replace(job.judge, **_shared_limits(job.judge, at_once))
    work = partial(_rate_shard, job._replace(judge=shared), settled)
    budget = _Budget(max_cost, spent, sizes)
    tasks = ((shard, budget.share(shard)) for shard in sizes)
    notes, missing, wanted = Counter[str](), 0, 0
    for done in as_done(work, tasks, executor, at_once, f"shards rated with {job.judge.model}", total=len(sizes)):
        budget.back(done.shard, done.spent)
        notes.update(done.notes)
        missing, wanted = missing + done.missing, wanted + done.wanted
    parts = {_part(job.folder, shard).name for shard in sizes}
    for path in [*(job.folder / "items").glob("part-*.parquet"), *(job.folder / "ratings").glob("part-*.parquet")]:
        if path.name not in parts:  # of an earlier run over other items
            path.unlink()
    messages = [limit_note(max_cost, missing, wanted)] * bool(missing)
    messages += [f"{note}{f' ({n} shards say so)' if n > 1 else ''}" for note, n in notes.most_common(3)]
    messages += [f"{len(notes) - 3} further notes of other shards"] * (len(notes) > 3)
    return Partitions(job.folder / "ratings"), messages


def dry_run_of_shards(job: Job, items: Any) -> DryRun:
    """What all shards would ask for together."""
    held, runs = Manifest.read(job.folder), []
    frames = Partitions(items) if is_partitioned(items) else [items]
    for frame in frames:
        prompts, rows = prompts_and_rows(frame, _with_steps_of(job, held))
        shard = _shard_of(pd.Series([row["item"] for row in rows]), job.shards)
        for number in np.unique(shard):
            there = job.path(int(number))
            with job.client(store=there if there.exists() else None, others=job.others()) as client:
                runs.append(Run(client).dry(prompts, [rows[k] for k in np.flatnonzero(shard == number)]))
    cost = None if any(run.cost is None for run in runs) else sum(run.cost or 0.0 for run in runs)
    sums = {n: sum(getattr(run, n) for run in runs) for n in ("calls", "stored", "input_tokens", "output_tokens")}
    return DryRun(**sums, cost=cost)


# --- items to shards ----------------------------------------------------------------------------------------------


def _shard_of(items: pd.Series, shards: int) -> Any:
    """By a hash of the id, so that a shard is the same whatever else is rated."""
    return pd.util.hash_array(items.to_numpy(object), categorize=False) % np.uint64(shards)


def _deal(items: Any, job: Job) -> dict[int, int]:
    """Each shard's items into a file, of which no more than a part is in memory; how many items each has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = job.folder / "items"
    folder.mkdir(exist_ok=True)
    writers: dict[int, Any] = {}
    sizes = Counter[int]()
    try:
        for frame in Partitions(items) if is_partitioned(items) else [items]:
            # what the prompts show, as they show it, and the design
            table = check_items(frame)
            names = dict.fromkeys(["item", *_DESIGN, *(name for prompt in job.prompts for name in prompt.inputs)])
            columns = {n: [None if is_empty(one) else str(one) for one in table[n]] for n in names if n in table}
            table = pd.DataFrame(columns, dtype=object)
            for shard, rows in table.groupby(_shard_of(table["item"], job.shards).astype(int), sort=True):
                part = _arrow(pa, rows)
                if shard not in writers:
                    writers[shard] = pq.ParquetWriter(_part(folder, shard), part.schema)
                elif writers[shard].schema != part.schema:
                    raise TableError("items: all parts must have the same columns, but they differ.")
                writers[shard].write_table(part)
                sizes[shard] += len(rows)
    finally:
        for writer in writers.values():
            writer.close()
    if not sizes:
        raise ArgumentError("items", "must not be empty", "got none")
    for shard in sizes:  # before the first call is paid
        # an item that stands in two parts goes to one shard, which has it twice
        stored = pq.read_table(_part(folder, shard), columns=["item"])["item"].to_pandas()
        if (again := stored.duplicated()).any():
            rule, name = "must be unique in all parts", stored[again].iloc[0]
            raise TableError(f"items: column `item`: {rule}, but {name!r} is there more than once.")
    return dict(sorted(sizes.items()))


def _arrow(pa: Any, rows: pd.DataFrame) -> Any:
    schema = pa.schema([(name, pa.large_string()) for name in rows])
    try:
        return pa.Table.from_pandas(rows, schema=schema, preserve_index=False)
    except UnicodeEncodeError:
        raise TableError(
            "items: a file of a shard holds no half characters (lone surrogates); mend the texts."
        ) from None


def _part(folder: Path, shard: int) -> Path:
    return folder / f"part-{shard:06d}.parquet"


# --- what is settled once -----------------------------------------------------------------------------------------


def _settle(
    job: Job, held: Manifest | None, shard: int, workers: int, max_cost: float | None
) -> tuple[Manifest, float]:
    """The manifest: that of the folder, or of a first few items that are asked here; and what that cost."""
    limits = _shared_limits(job.judge, workers) | {"workers": workers, "max_cost": max_cost}
    if held is not None:
        settled, spent = replace(held, limits=limits), 0.0
    else:
        rows = prompts_and_rows(read_frame(_part(job.folder / "items", shard)), job.prompts)[1][:_SETTLES]
        with job.client(store=job.path(shard), max_cost=max_cost) as client:
            run = Run(client)
            plan = finished(run.rate(job.prompts, rows), client.transport)
            frozen = {name: getattr(job.judge, name) for name in _ASKED} | {"address": client.transport.address}
            spent = client.spent
        prompts, steps = tuple(p.id for p in job.prompts), tuple(p.steps for p in run.written)
        settled = Manifest(_as_json(frozen), prompts, steps, plan, limits)
    settled.write(job.folder)
    return settled, spent


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    """As it will be read: tuples are lists there."""
    return dict(json.loads(json.dumps(values)))


def _with_steps_of(job: Job, held: Manifest | None) -> list[Prompt]:
    """The prompts with the steps of the manifest, which must be about these prompts and this judge."""
    if held is None:
        return job.prompts
    mine = _as_json({name: getattr(job.judge, name) for name in _ASKED})
    with job.client(store=None) as client:
        mine["address"] = client.transport.address
    for name, value in mine.items():
        if held.asked.get(name) != value:
            rule = f"holds shards of a run with {name} {held.asked.get(name)!r}: give another folder"
            raise ArgumentError("store", rule, f"got {value!r}")
    ids = tuple(prompt.id for prompt in job.prompts)
    if held.prompts != ids:
        rule = f"holds shards of {', '.join(held.prompts)}: give another folder"
        raise ArgumentError("store", rule, f"got {', '.join(ids)}")
    both = zip(job.prompts, held.steps, strict=True)
    return [prompt if steps is None else prompt.with_steps(steps) for prompt, steps in both]


def _shared_limits(judge: Judge, workers: int) -> dict[str, Any]:
    """What a provider allows in a minute, divided by those who ask."""
    names = ("requests_per_minute", "tokens_per_minute")
    return {name: value / workers for name in names if (value := getattr(judge, name)) is not None}


class _Budget:
    """Dollars for each shard as it is begun: what is left, by how many items it has of those that are still to come."""

    def __init__(self, most: float | None, spent: float, sizes: dict[int, int]) -> None:
        self.left = None if most is None else most - spent
        self.sizes, self.to_come = sizes, sum(sizes.values())
        self.given: dict[int, float] = {}

    def share(self, shard: int) -> float | None:
        if self.left is None:
            return None
        part = self.given[shard] = max(self.left, 0.0) * self.sizes[shard] / self.to_come
        self.left, self.to_come = self.left - part, self.to_come - self.sizes[shard]
        return part

    def back(self, shard: int, spent: float) -> None:
        """What a shard has not needed is for those to come."""
        if self.left is not None:
            self.left += self.given[shard] - spent


def _rate_shard(job: Job, settled: Manifest, shard: int, max_cost: float | None) -> _Done:
    """In whatever process: what the store has not is asked, and the ratings are written in one go."""
    path = job.path(shard)
    prompts = _with_steps_of(job, settled)
    prompts, rows = prompts_and_rows(read_frame(_part(job.folder / "items", shard)), prompts)
    with job.client(store=path, others=job.others(), max_cost=max_cost) as client:
        if client.store.marked(settled.mark) != settled.mark:
            raise ArgumentError("store", "must hold shards of one run", f"{path.name} is of another")
        run = Run(client, texts=job.replies)
        plan = finished(run.rate(prompts, rows, settled.plan), client.transport)
        write(run.sheet.frame(job.judge, plan.run), _part(job.folder / "ratings", shard))
        notes = tuple(note for note in run.notes if note != run.limit_note())
        return _Done(shard, client.spent, notes, run.sheet.missing(), run.sheet.expected)
