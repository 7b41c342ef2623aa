"""Ids of items: their column in each file, and as texts that can be matched; rows that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from unicodedata import normalize

import numpy as np
import pandas as pd

from calib.inputs.codes import guessed_scale, refuse_unclear_low
from calib.inputs.names import Columns, Source
from calib.inputs.roles import Seen
from calib.table import TableError, parse_scale
from calib.table.schema import scale_words


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


# --- the scale of labels and of scores --------------------------------------------------------------------------------


_WINS = "0|0.5|1"
_SLIPS = 0.1  # more of a judge's scores than these off the scale of people are on a scale of their own
_LARGER = 2.0  # times as high as the highest label
_RARE = 0.03  # share of labels that may be slips


@dataclass(frozen=True, slots=True)
class Scales:
    """The scale of each criterion on each side, and the one of all in a text."""

    text: str = ""
    guessed: bool = False
    of_people: Mapping[str, str] = field(default_factory=dict)
    of_judges: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()  # what is to be said of judges on a scale of their own


def scales_of(
    judges: Rows | None, people: Rows | None, said: Columns, notes: list[str], *, worded: str = "", pairwise: bool
) -> Scales:
    """The scales of both sides; `worded` is that of labels in words."""
    criteria = list(
        dict.fromkeys(name for side in (judges, people) if side is not None for name in side.rows["criterion"])
    )
    if pairwise:
        return Scales(_WINS, False, dict.fromkeys(criteria, _WINS), dict.fromkeys(criteria, _WINS))
    known = said.get("scale", "")
    if known and ".." not in known:  # words as their values, as the tables write a scale
        known = "|".join(f"{value:g}" for value in sorted({value for _, value in scale_words(known)}))
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    apart: list[str] = []
    guessed = False
    for name in criteria:
        f, y = (_numbers(side, name) for side in (judges, people))
        text = known or _of_table(judges, name) or _of_table(people, name)
        if not (text or worded):
            refuse_unclear_low(f, y, name, notes)
            notes += _far_off(y, name)
        guessed |= not text
        text = text or worded or _guess(f, y)
        theirs[name] = text
        ours[name] = _of_judge(f, y, text, name, judges, apart)
    texts = list(dict.fromkeys(filter(None, theirs.values())))
    return Scales("; ".join(texts), guessed and bool(texts), theirs, ours, tuple(apart))


def _numbers(side: Rows | None, criterion: str) -> pd.Series:
    if side is None:
        return pd.Series([], dtype=float)
    return side.rows.loc[side.rows["criterion"] == criterion, "score"].dropna().astype(float)


def _of_table(side: Rows | None, criterion: str) -> str:
    """What a table of calib's says of itself."""
    if side is None or side.table is None:
        return ""
    texts = side.table.loc[side.table["criterion"].astype(str) == criterion, "scale"].astype(str).unique()
    return next((text for text in texts if text), "")


def _guess(f: pd.Series, y: pd.Series) -> str:
    """The scale of the labels; scores that reach a little further on the same are heard as well."""
    if not len(y):
        return guessed_scale(f)
    alone, both = guessed_scale(y), guessed_scale(f, y)
    if not len(f) or alone == both:
        return alone
    of_two = set(y) <= {0.0, 1.0} or set(f) <= {0.0, 1.0}
    chances = f.min() >= 0 and f.max() <= 1 < y.max()
    apart = of_two or chances or not both or f.abs().max() >= _LARGER * y.abs().max()
    return alone if apart else both


def _far_off(y: pd.Series, criterion: str) -> list[str]:
    """A word on a few labels that are more than twice as high as all others: a slip would stretch the scale."""
    most = y[y <= y.quantile(1 - _RARE)] if len(y) else y
    if most.empty or y.max() <= _LARGER * most.max() or most.max() <= 0:
        return []
    far = y[y > most.max()]
    told = f"{len(far)} of {len(y)} labels of {criterion} ({far.max():g} at most) lie far above all others"
    return [f"{told}; without them the scale would be {guessed_scale(most) or 'shorter'}: --scale, scale= says it."]


def _of_judge(f: pd.Series, y: pd.Series, text: str, criterion: str, judges: Rows | None, apart: list[str]) -> str:
    """The same scale, if the scores are on it; nothing where they are on another, which is said."""
    scale = parse_scale(text)
    if scale is None or judges is None or not len(f):
        return text
    off = ~scale.holds(f)
    if not off.any():
        return text
    if off.mean() <= _SLIPS:
        rows = judges.rows.loc[off.index[off]].iloc[0]
        raise TableError(
            f"{judges.source.name}: column `{rows['column']}`, {judges.line(rows['at'])}: "
            f"must lie on the scale {text}, but got {rows['score']:g}."
        )
    if len(y):
        span = f"{np.min(f):g} to {np.max(f):g}"
        apart.append(
            f"the judge's scores of {criterion} ({span}) are on another scale than the labels ({text}): `calibrate` "
            "learns what they mean there."
        )
    return ""
