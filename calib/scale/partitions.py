"""Tables in parts, and work on them: here, or by whatever has the `submit` of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from functools import partial
from itertools import islice, starmap
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.core.progress import progress
from calib.table import TableError, read_frame
from calib.table.frames import is_frame, pandas_of

Args = TypeVar("Args", bound=tuple[Any, ...])
Worked = TypeVar("Worked")

_WORKERS = 8  # where an executor does not say how many it has
DIED = "A process that worked on a part died (out of memory, or killed)"
_AHEAD = 3  # parts that are handed out for each worker, so that none waits


def worked(
    work: Callable[..., Worked], parts: Iterable[Args], executor: Any, most: int, *, in_order: bool
) -> Iterator[Worked]:
    """What the work makes of each part, of no more than `most` parts at once: what is handed out may hold whole frames.

    The arguments of a part are asked for when it is begun.
    """
    pool, waiting, under_way = pool_of(executor), iter(parts), list[Any]()
    try:
        while True:
            for part in islice(waiting, most - len(under_way)):
                under_way.append(pool.submit(work, *part))
            if not under_way:
                return
            done = under_way[:1] if in_order else wait(under_way, return_when=FIRST_COMPLETED).done
            for future in done:
                yield future.result()
            under_way = [future for future in under_way if future not in done]
    except BrokenExecutor as error:
        error.add_note(f"{DIED}: run again with a new executor.")
        raise
    finally:
        for future in under_way:
            future.cancel()


def pool_of(executor: Any) -> Any:
    """What has the `submit` of `concurrent.futures`.

    A dask client has an executor of its own, which with ``pure=False`` makes each call anew.
    """
    if hasattr(executor, "get_executor"):
        return executor.get_executor(pure=False)
    if not hasattr(executor, "submit"):
        rule = "must have the `submit` of concurrent.futures"
        raise ArgumentError("executor", rule, f"got {type(executor).__name__}")
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
    most = getattr(executor, "_max_workers", None)  # as the pools of the standard library and of mpi4py have it
    return most if isinstance(most, int) and most > 0 else None


# --- A table in parts -------------------------------------------------------------------------------------------------


Load = Callable[[], pd.DataFrame]


def _of_fragment(fragment: Any, columns: Any) -> pd.DataFrame:
    """A file of a dataset, with the columns that its folder's name gives."""
    # the file's own types, as categories of one may need longer codes than those of another
    schema = fragment.physical_schema
    for field in columns:
        if field.name not in schema.names:
            schema = schema.append(field)
    return fragment.to_table(schema=schema, use_threads=False).to_pandas()


class Partitions:
    """A table in parts that are worked on one by one, here or by an executor, and need not fit in memory together.

    What belongs to one item stands in one part. `calib.rate`, `summarize` and `interval` take them, and what these give
    is that of one table.

    Parameters
    ----------
    parts : path, Dataset, DataFrame of dask, or iterable of DataFrame or path
        A folder holds Parquet files, which are taken in the order of their names. An iterator serves once, a list as
        often as needed.
    executor : Executor or Client, optional
        Who works on the parts: anything with the `submit` of `concurrent.futures` (processes, threads, MPI), or a
        client of dask. Default: this process.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> halves = Partitions([people[people["item"].isin(half)] for half in (items["item"][:200], items["item"][200:])])
    >>> halves
    Partitions(2 frames)
    >>> len(calib.summarize(halves)) == len(calib.summarize(people))
    True
    """

    __slots__ = ("executor", "loads", "name")

    def __init__(self, parts: Any, *, executor: Any = None) -> None:
        if executor is not None:
            pool_of(executor)
        self.loads: Any
        self.name: str
        self.executor: Any
        if isinstance(parts, Partitions):
            self.loads, self.name, self.executor = parts.loads, parts.name, executor or parts.executor
        else:
            (self.loads, self.name), self.executor = _loads_of(parts), executor

    @property
    def again(self) -> bool:
        """Whether the parts can be gone through more than once."""
        return isinstance(self.loads, Sequence)

    def each(self, work: Callable[..., Worked], *args: Any, what: str) -> Iterator[Worked]:
        """What `work(number, load, *args)` makes of each part, in their order; ``load()`` is the frame.

        Of partitions among the arguments, cut by the same items, it gets what loads the part beside.
        """
        beside = {}
        for place, other in enumerate(args):
            if isinstance(other, Partitions):
                if not (self.again and other.again and len(self) == len(other)):
                    mine, theirs = (f"{len(one)} parts" if one.again else "an iterator" for one in (self, other))
                    rule = "must come in as many parts, cut by the same items"
                    there = f"there are {mine} ({self.name}) and {theirs}"
                    raise TableError(f"partitions that go together {rule}, but {there}.")
                beside[place] = other.loads
        parts = (
            (number, load, *(beside[k][number] if k in beside else one for k, one in enumerate(args)))
            for number, load in enumerate(self.loads)
        )
        answers: Iterator[Worked] = starmap(partial(_in_part, work), parts)
        if self.executor is not None:  # in the order of the parts, so that sums of it are the same whoever worked
            most = _AHEAD * (workers_of(self.executor) or _WORKERS)
            answers = worked(partial(_in_part, work), parts, self.executor, most, in_order=True)
        return progress(answers, what, total=len(self) if self.again else None)

    def frame(self) -> pd.DataFrame:
        """All parts in one table."""
        return concatenated([load() for load in self.loads])

    def part(self, number: int) -> pd.DataFrame:
        """One of the parts."""
        if not self.again:
            rule = "must be a folder, a dataset or a list to be asked for one"
            raise ArgumentError("parts", rule, "it is an iterator")
        return self.loads[number]()

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return (load() for load in self.loads)

    def __len__(self) -> int:
        if not self.again:
            raise TypeError("an iterator of partitions has no len()")
        return len(self.loads)

    def __repr__(self) -> str:
        return f"Partitions({self.name})"


def _in_part(work: Callable[..., Worked], number: int, *args: Any) -> Worked:
    """Errors name the part, within which they count rows."""
    try:
        return work(number, *args)
    except TableError as error:
        error.add_note(f"This is said of part {number}.")
        raise


def _loads_of(parts: Any) -> tuple[Any, str]:
    """What loads each part, and what they are in words."""
    if isinstance(parts, str | Path):
        folder = Path(parts)
        if not folder.is_dir():
            raise ArgumentError("parts", "must be a folder of Parquet files", f"{folder} is none")
        inside = [path.relative_to(folder) for path in sorted(folder.rglob("*.parquet"))]
        # what begins with a dot or an underscore is no part of a table
        names = [path for path in inside if not any(part[0] in "._" for part in path.parts)]
        if keyed := next((part for path in names for part in path.parts[:-1] if "=" in part), None):
            hive = f"`pyarrow.dataset.dataset({str(folder)!r}, partitioning='hive')`"
            raise ArgumentError("parts", f"must be {hive}, as its folders hold a column", f"there is {keyed!r}")
        if not names:
            raise ArgumentError("parts", "must be a folder of Parquet files", f"{folder} holds none")
        return [partial(read_frame, folder / name) for name in names], f"{str(parts)!r}: {len(names)} files"
    if hasattr(parts, "get_fragments"):
        loads: list[Load] = [partial(_of_fragment, one, parts.schema) for one in parts.get_fragments()]
        return loads, f"dataset of {len(loads)} files"
    if hasattr(parts, "to_delayed"):  # a part is worked out where it is needed
        loads = [partial(one.compute, scheduler="synchronous") for one in parts.to_delayed()]
        return loads, f"dask DataFrame of {len(loads)} parts"
    if isinstance(parts, list | tuple):
        return [_load_of(one) for one in parts], f"{len(parts)} frames"
    if isinstance(parts, Iterator):
        return map(_load_of, parts), "an iterator of frames"
    if isinstance(parts, Iterable) and not isinstance(parts, pd.DataFrame | dict):
        return _loads_of(list(parts))
    rule = "must be a folder of Parquet files, a dataset, a dask DataFrame, or frames one after the other"
    raise ArgumentError("parts", rule, f"got {type(parts).__name__}")


def _load_of(part: Any) -> Load:
    if isinstance(part, pd.DataFrame):
        return partial(pd.DataFrame.copy, part, deep=False)
    if isinstance(part, str | Path):
        return partial(read_frame, Path(part))
    if is_frame(part):
        return partial(pandas_of, part)
    raise ArgumentError("parts", "must be frames, or paths of Parquet files", f"one is {type(part).__name__}")


def is_partitioned(thing: Any) -> bool:
    """Whether a table comes in parts."""
    if isinstance(thing, Partitions) or hasattr(thing, "get_fragments") or hasattr(thing, "to_delayed"):
        return True
    if isinstance(thing, str | Path):
        return Path(thing).is_dir()
    frames = isinstance(thing, list | tuple) and bool(thing) and is_frame(thing[0])
    return frames or isinstance(thing, Iterator)


def refuse_other_folders(thing: Any, argument: str) -> None:
    """Refuse a folder that holds no part of a table."""
    if isinstance(thing, str | Path) and Path(thing).is_dir() and not any(Path(thing).rglob("*.parquet")):
        rule = "must be a file, or a folder of Parquet files"
        raise ArgumentError(argument, rule, f"{str(thing)!r} is a folder without .parquet files")


def refuse_partitions(thing: Any, argument: str) -> None:
    """Refuse a table in parts where only a whole one will do."""
    refuse_other_folders(thing, argument)
    if is_partitioned(thing):
        came = "got partitions, which `summarize` and `interval` take"
        raise ArgumentError(argument, "must be one table (a million scores fit in memory)", came)


def concatenated(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames as one, in which categories of parts are those of all, in their order.

    Examples
    --------
    >>> parts = [pd.DataFrame({"item": pd.Categorical([name])}) for name in "ba"]
    >>> concatenated(parts)["item"].cat.categories.tolist()
    ['a', 'b']
    """
    if len(frames) == 1:
        return frames[0]
    names = dict.fromkeys(name for frame in frames for name in frame)
    labels = [n for n in names if any(isinstance(f[n].dtype, pd.CategoricalDtype) for f in frames if n in f)]
    plain = [frame.astype({n: object for n in labels if n in frame}) for frame in frames]
    whole = pd.concat(plain, ignore_index=True)
    if "n_cannot_say" in whole:  # a part in which nobody had to say so lacks it
        whole["n_cannot_say"] = whole["n_cannot_say"].fillna(0).astype("int64")
    return whole.astype(dict.fromkeys(labels, "category"))


def items_hashed(items: pd.Series) -> Any:
    """The different items of a part as hashes of 8 bytes, all that is kept of them."""
    if isinstance(items.dtype, pd.CategoricalDtype):
        names = items.cat.categories[np.unique(items.cat.codes)].to_numpy(object)
    else:
        names = items.astype(object).unique()
    return np.sort(pd.util.hash_array(names, categorize=False))


def refuse_shared(hashed: Sequence[Any], names: Callable[[int], pd.Series], table: str) -> None:
    """Refuse an item that stands in two parts; `names` gives the items of one again."""
    everything = np.concatenate([*hashed, np.empty(0, dtype=np.uint64)])
    everything.sort()
    again = everything[1:][everything[1:] == everything[:-1]]
    for number in again:
        first, second = [k for k, part in enumerate(hashed) if number in part][:2]
        both = set(names(first).astype(str)) & set(names(second).astype(str))
        if both:  # else two names have one number by chance
            places = f"{min(both)!r} is in parts {first} and {second}"
            raise TableError(f"{table}: column `item`: all rows of an item must stand in one part, but {places}.")
