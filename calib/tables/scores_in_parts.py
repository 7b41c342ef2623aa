"""Scores of ratings that come in parts: the same as of one table, for each part a file."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.text import printable
from calib.scale.partitions import Load, Partitions, is_partitioned, items_hashed, refuse_shared, together
from calib.table import TableArgumentError, check_items, check_ratings, check_scores, write
from calib.tables.scores import asked_in, summarized

_DESIGN = ("item", "group", "system", "system_a", "system_b")


class _Part(NamedTuple):
    """What one part came to: its scores, or None where they are in a file; its items; orders as `summarized` counts."""

    scores: pd.DataFrame | None
    items: Any
    alone: tuple[int, int]


def summarized_parts(
    ratings: Partitions, items: Any, pool: str | None, out: str | Path | None
) -> tuple[Any, tuple[int, int]]:
    """Scores of all parts, as one table or in a folder; and of how many pairs one order alone could be read."""
    asked = None if pool is None else _asked_in_all(ratings)
    if items is not None:
        items = Partitions(items) if is_partitioned(items) else _design_of(check_items(items))
    with _folder(out) as folder:
        parts = list(ratings.each(_summarized_part, items, pool, asked, folder, what="parts summarized"))
        refuse_shared([part.items for part in parts], lambda k: ratings.part(k)["item"], "ratings")
    alone = sum(part.alone[0] for part in parts), sum(part.alone[1] for part in parts)
    if out is not None:
        return Partitions(out), alone
    return check_scores(together([part.scores for part in parts if part.scores is not None])), alone


def _summarized_part(number: int, load: Load, items: Any, pool: str | None, asked: Any, folder: Path | None) -> _Part:
    """In whatever process: read, summarise, write; what goes back is small."""
    table = check_ratings(load())
    beside = items() if callable(items) else _needed(items, table)
    scores, alone = summarized(table, beside, pool, asked)
    mine = items_hashed(table["item"])
    if folder is None:
        return _Part(scores, mine, alone)
    write(scores, folder / _file_name(number))
    return _Part(None, mine, alone)


def _file_name(number: int) -> str:
    return f"scores-{number:06d}.parquet"


def _design_of(items: pd.DataFrame) -> pd.DataFrame:
    """What of the items goes with each part: their texts stay behind."""
    return items[[name for name in _DESIGN if name in items]]


def _needed(items: pd.DataFrame | None, table: pd.DataFrame) -> pd.DataFrame | None:
    """Those that were rated here; what is missing, `summarize` says by name."""
    return None if items is None else items[items["item"].isin(table["item"].cat.categories)]


def _asked_in_all(ratings: Partitions) -> pd.DataFrame:
    """The raters and prompts of all parts, without which a mean over them would be of those of one part."""
    if not ratings.again:
        rule = "needs the raters of all parts first: give a folder or a list"
        raise TableArgumentError("pool", rule, "got an iterator, which can be gone through once")
    return pd.concat([*ratings.each(_asked_in_part, what="parts looked at")], ignore_index=True).drop_duplicates()


def _asked_in_part(_number: int, load: Load) -> pd.DataFrame:
    return asked_in(check_ratings(load()))


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path | None]:
    """A folder within the one that is to hold the scores, whose files move there when all are whole."""
    if out is None:
        yield None
        return
    folder = Path(out)
    others = [path.name for path in folder.glob("*")] if folder.is_dir() else [folder.name] * folder.exists()
    if strange := next((name for name in others if not name.startswith(("scores-", ".calib-"))), None):
        rule = "must be a new folder, or one that `summarize` wrote"
        raise TableArgumentError("out", rule, f"{printable(str(folder))} holds {printable(strange)!r}")
    inside = folder / f".calib-{uuid.uuid4().hex}"
    inside.mkdir(parents=True)
    try:
        yield inside
        for path in folder.glob("scores-*.parquet"):  # of an earlier run, which may have had more parts
            path.unlink()
        for path in inside.iterdir():
            path.replace(folder / path.name)
    finally:
        shutil.rmtree(inside, ignore_errors=True)
