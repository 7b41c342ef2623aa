"""Ids of items: their column in each file, and as texts that can be matched; rows that have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from unicodedata import normalize

import pandas as pd

from calib.intake.columns.roles import Seen
from calib.intake.taken import Source


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of judges, or of people, and the column of ids that they have."""

    rows: pd.DataFrame
    source: Source
    ids: str
    system: str  # the column of systems, if there is one
    table: pd.DataFrame | None = None  # where it is one of calib's

    def only(self, kept: pd.Series) -> Rows:
        """Some of its rows."""
        table = None if self.table is None else self.table[kept.to_numpy()]
        return replace(self, rows=self.rows[kept].reset_index(drop=True), table=table)

    def line(self, at: int) -> str:
        return self.source.line(int(at))

    @property
    def of(self) -> str:
        """The column of ids and its file, in words."""
        return f"`{self.ids}` of {self.source.name}" if self.ids else f"the rows of {self.source.name}"


def id_texts(cells: pd.Series) -> pd.Series:
    """Names as texts: no blanks around, accents in one form, whole numbers without a point; None for a gap."""
    empty = blank_ids(cells)
    texts = [
        None
        if missing
        else str(int(cell))
        if isinstance(cell, float) and cell.is_integer()
        else normalize("NFC", str(cell).strip())
        for cell, missing in zip(cells.astype(object), empty, strict=True)
    ]
    return pd.Series(texts, index=cells.index, dtype=object)


def item_texts(one: Seen) -> pd.Series:
    """The ids of rows; their numbers, where no column has ids."""
    ids = one.cells("item")
    return pd.Series(range(len(one.source.frame))).map("{}".format) if ids is None else id_texts(ids)


def n_padded(cells: pd.Series) -> int:
    """How many ids have blanks before or behind."""
    return sum(isinstance(cell, str) and cell != cell.strip() for cell in cells.astype(object))


def blank_ids(cells: pd.Series) -> pd.Series:
    """Which cells name nothing; "none" and "NA" may well be names."""
    return cells.isna() | (cells.astype(object).map(lambda cell: isinstance(cell, str) and not cell.strip()))


def chosen_ids(found: Sequence[Seen]) -> list[str]:
    """The column of ids of each source: of two those that have most in common."""
    if len(found) == 1 or any(not one.ids for one in found):
        return [next(iter(one.ids), "") for one in found]
    first, second = found
    best, pair = -1.0, (first.ids[0], second.ids[0])
    for mine in first.ids:
        held = set(id_texts(first.source.frame[mine]).dropna())
        for theirs in second.ids:
            wanted = set(id_texts(second.source.frame[theirs]).dropna())
            shared = len(held & wanted) / max(len(wanted), 1)
            if shared > best + 1e-9:
                best, pair = shared, (mine, theirs)
    return list(pair)
