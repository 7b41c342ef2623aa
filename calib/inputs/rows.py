"""Columns of scores as rows: what several columns stand for, and each cell as a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.inputs.cells import Values, blank, preferred, valued
from calib.inputs.codes import FIRST, SECOND, TIE, folded, known_order, loosely
from calib.inputs.ids import Rows, id_texts, item_texts
from calib.inputs.names import Columns, Role, Stands, is_model, key, loose
from calib.inputs.roles import Seen, Side, Value
from calib.table import TableArgumentError, TableError
from calib.table.schema import scale_words

PREFERENCE = "preference"
_ROW = ["at", "item", "system", "group", "criterion", "rater", "score", "column"]


@dataclass(frozen=True, slots=True)
class Stood:
    """What the columns of scores of a study stand for: their entities, and where one side spells them otherwise."""

    stands: Stands
    spelled: dict[str, str]  # loose spelling -> that of the judge's side

    def entity(self, value: Value) -> str:
        """The system, judge or criterion that a column of scores is of; nothing where it says none."""
        if value.side == "judge":
            return value.name.entity
        last = value.name.person.rpartition("_")[2]
        return self.spelled.get(loose(value.name.entity)) or (self.spelled.get(loose(last), "") if last else "")


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How cells become numbers: on a scale, or as who won of two."""

    scale: str = ""
    wins: tuple[str, str] | tuple[()] | None = None  # the two names, if winners are called by them
    done: dict[tuple[int, str], Values] = field(default_factory=dict)

    def of(self, one: Seen, value: Value) -> Values:
        """The cells of a column as numbers, read once; what cannot be read is told with the file."""
        key = id(one.source.frame), value.column
        if key not in self.done:
            self.done[key] = self._read(one, value)
        return self.done[key]

    def _read(self, one: Seen, value: Value) -> Values:
        try:
            if self.wins is not None:
                return won(one, value, self.wins)
            # what a scale calls words in is of words; a judge beside it may give numbers of another scale
            beside = value.side == "judge" and value.nature == "numbers" and not _is_of_numbers(self.scale)
            scale = "" if beside else self.scale
            return valued(one.source.frame[value.column], scale, column=value.column, line=one.source.line)
        except TableArgumentError:
            raise
        except TableError as error:
            raise TableError(f"{one.source.name}: {error}") from None


def _is_of_numbers(scale: str) -> bool:
    return not scale or ".." in scale or all(word == f"{value:g}" for word, value in scale_words(scale))


def stood(found: Sequence[Seen], said: Columns) -> Stood:
    """What entities in the names of columns are: said, found in the other file, or shared by both sides."""
    judges, labels = ([v for one in found for v in one.of(side)] for side in ("judge", "label"))
    ours = list(dict.fromkeys(v.name.entity for v in judges if v.name.entity))
    theirs = {loose(name) for v in labels for name in (v.name.entity, v.name.person.rpartition("_")[2]) if name}
    spelled = {loose(name): name for name in ours}
    if "wide" in said:
        return Stood(said["wide"], {} if said["wide"] == "rater" else spelled)
    many: tuple[Stands, Stands] = ("system", "criterion")
    for stands in many:
        for one in found:
            if (cells := one.cells(stands)) is None:
                continue
            known = {loose(name): str(name) for name in cells.dropna().unique()}
            if ours and not one.of("judge") and 2 * len(spelled.keys() & known.keys()) >= len(known):
                return Stood(stands, spelled)
            if theirs and not one.of("label") and 2 * len(theirs & known.keys()) >= len(theirs):
                return Stood(stands, known)
    if ours and theirs and 2 * len(theirs & spelled.keys()) >= len(theirs):
        systems = len(ours) > 1 or is_model(ours[0])
        taken = any("system" in one.roles for one in found)
        return Stood("system" if systems and not taken else "criterion", spelled)
    alone = not labels and len(ours) > 1 and not any("system" in one.roles for one in found)
    return Stood("system" if alone else "rater", {})


def rows_of(one: Seen, side: Side, how: Stood, said: Columns, read: Reading) -> pd.DataFrame:
    """A row for each cell of the columns of a side: who, of what, its number and where it stood."""
    columns = one.of(side)
    parts = [_part(one, value, how, said, columns, read) for value in columns]
    ids = compared_ids(one) if read.wins is not None else item_texts(one)
    rows = [part.assign(item=ids.to_numpy(dtype=object)) for part in parts]
    out = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=_ROW)
    return out[out["item"].notna()].reset_index(drop=True)


def _part(one: Seen, value: Value, how: Stood, said: Columns, columns: Sequence[Value], read: Reading) -> pd.DataFrame:
    """The rows of one column."""
    frame, entity = one.source.frame, how.entity(value)
    numbers = read.of(one, value).numbers.to_numpy()
    part = pd.DataFrame({"at": range(len(frame)), "score": numbers, "column": value.column})
    design: tuple[Role, Role] = ("system", "group")
    for name in design:
        cells = one.cells(name)
        part[name] = None if cells is None else _texts(cells)
    part["criterion"] = _criterion(one, value, entity, how, said, read)
    if entity and how.stands == "system":
        part["system"] = entity
    part["rater"] = _rater(one, value, entity, how, said, columns)
    return part


def _texts(cells: pd.Series) -> list[Any]:
    return [None if text is None else text for text in id_texts(cells)]


def _criterion(one: Seen, value: Value, entity: str, how: Stood, said: Columns, read: Reading) -> Any:
    cells = one.cells("criterion")
    if entity and how.stands == "criterion":
        return entity
    if cells is not None:
        return _texts(cells)
    told = str(said.get("criterion", ""))
    return value.name.criterion or told or (PREFERENCE if read.wins is not None else None)


def _rater(one: Seen, value: Value, entity: str, how: Stood, said: Columns, columns: Sequence[Value]) -> Any:
    """Who gave the scores: a column that says it, the name of the column, or what the file is called."""
    role: Role = "rater" if value.side == "judge" else "annotator"
    cells = one.cells(role)
    if cells is not None:
        return [name if name is not None else "not named" for name in _texts(cells)]
    like = [v for v in columns if (how.entity(v), v.name.criterion) == (entity, value.name.criterion)]
    if value.side == "label":
        person = value.name.person or value.name.entity
        if person and not entity:
            return person
        # the name that was said for who rated, in a study where that can only be a person
        named = str(said.get("rater", "")) if one.side == "label" and "judge" not in said else ""
        return value.column if len(like) > 1 else named or "human"
    if entity and how.stands == "rater":
        return entity
    if len(like) > 1:
        return value.column
    stem = one.source.path.stem if one.source.path is not None and one.side == "judge" else ""
    return str(said.get("rater", "")) or (stem if value.name.says_nothing and stem else "judge")


def common_words(found: Sequence[Seen]) -> str:
    """A scale of the words of all columns, where they are of one common order; so that all mean the same."""
    values = [(one, v) for one in found for v in one.graded if v.side]
    if not any(v.nature == "words" for _, v in values) or len(values) < 2:
        return ""
    cells = [one.source.frame[v.column] for one, v in values]
    words = dict.fromkeys(" ".join(str(cell).split()) for part in cells for cell in part[~blank(part)].unique())
    order = dict(known_order({loosely(word) for word in words}))
    told = {word.casefold(): f"{word}={order[loosely(word)]:g}" for word in reversed(words) if loosely(word) in order}
    return "|".join(told.values()) if order and not any("|" in word or "=" in word for word in words) else ""


# --- preferences of one of two as win rates ---------------------------------------------------------------------------


_SAYS = ("winner", "prefer", "better", "choice", "vote", "verdict", "wins")
_ORDERS = ("order", "shown_order", "presentation_order", "position", "swapped", "swap", "swap_order", "flipped")
_A_FIRST = frozenset(("ab", "a, b", "a b", "a first", "false", "original", "not swapped"))
_B_FIRST = frozenset(("ba", "b, a", "b a", "b first", "true", "swapped", "reversed", "flipped"))
_SHOWN_FIRST = ("shown_first", "first_shown", "presented_first")
_WON = ("winner", "prefer", "wins")
_CODES = frozenset(("0", "1", "2", "0.5", "0.0", "1.0", "2.0"))


def is_pairwise(found: Sequence[Seen], said: Columns) -> bool:
    """Whether the scores are winners of pairs."""
    values = [(one, v) for one in found for v in one.graded if v.side]
    if not values or "scale" in said:
        return False
    sure = all(v.nature == "winners" or _names_a_side(one, v) for one, v in values)
    return sure or all(_numbers_a_side(one, v) for one, v in values) or bool(rivals(found))


def _numbers_a_side(one: Seen, value: Value) -> bool:
    """Whether a column that says who won holds 1 and 2, and 0 for a tie."""
    held = {loosely(str(cell)).removesuffix(".0") for cell in _held(one, value)}
    return "2" in held and held <= {"0", "1", "2"} | TIE and any(part in key(value.column) for part in _WON)


def _names_a_side(one: Seen, value: Value) -> bool:
    """Whether the cells are the names of the two that are compared, or numbers of them."""
    first, second = one.cells("first"), one.cells("second")
    if first is None or second is None:
        return False
    held = {loosely(str(cell)) for cell in _held(one, value)}
    names = {loosely(str(name)) for side in (first, second) for name in side.dropna().unique()}
    return held <= _CODES or held <= names | TIE


def _held(one: Seen, value: Value) -> pd.Series:
    cells = one.source.frame[value.column]
    return cells[~blank(cells)]


def rivals(found: Sequence[Seen]) -> tuple[str, str] | tuple[()]:
    """The two names that winners are called by, where no columns say who was compared; with ties, or by their head."""
    values = [(one, v) for one in found for v in one.graded if v.side]
    if not values or any(v.nature != "texts" or {"first", "second"} & set(one.roles) for one, v in values):
        return ()
    words = {folded(str(cell)): str(cell).strip() for one, v in values for cell in _held(one, v)}
    names = sorted(name for word, name in words.items() if loosely(word) not in TIE)
    says = len(words) > len(names) or all(any(part in key(v.column) for part in _SAYS) for _, v in values)
    return (names[0], names[1]) if len(names) == 2 and says else ()


def won(one: Seen, value: Value, names: tuple[str, str] | tuple[()]) -> Values:
    """The cells of a column as 1, .5 and 0 of the first."""
    cells = one.source.frame[value.column]
    sides = names or [one.cells(side) for side in ("first", "second")]
    given = ["" if side is None else side if isinstance(side, str) else side.astype(str) for side in sides]
    return preferred(cells, given[0], given[1], column=value.column, line=one.source.line)


def in_one_order(side: Rows | None, found: Sequence[Seen]) -> Rows | None:
    """Rows of comparisons in terms of the same two, whichever a row names first, and which of them was shown first.

    Who is `first` and who `second` in a comparison is said by the first file that names them, in the first row of it.
    Where its rows name the two in both orders, that is the order in which they were shown; else a column may say it.
    """
    if side is None or side.table is not None:
        return side
    one = next(one for one in found if one.source is side.source)
    at = side.rows["at"]
    cells = {name: one.cells(name) for name in ("first", "second")}
    texts = {name: [None] * len(at) if c is None else id_texts(c).to_numpy()[at] for name, c in cells.items()}
    pairs, own = compared(found), pd.DataFrame(texts, dtype=object)  # the two as each row names them
    nameless = side.rows.assign(first=None, second=None)
    rows = nameless if pairs.empty else side.rows.merge(pairs, on="item", how="left")
    turned = ((own["first"] == rows["second"]) & (own["first"] != rows["first"])).to_numpy()
    shown = _shown(one, own, at)
    if shown is None:
        each = pd.Series(turned).groupby([rows[name] for name in ("item", "criterion", "rater")], dropna=False)
        listed = (each.transform("nunique") > 1).any()
        shown = pd.Series("a" if listed else "", index=rows.index)
    shown = shown.where(~turned, shown.map({"a": "b", "b": "a", "": ""}))
    return replace(side, rows=rows.assign(score=rows["score"].where(~turned, 1 - rows["score"]), shown=shown))


def _shown(one: Seen, own: pd.DataFrame, at: pd.Series) -> pd.Series | None:
    """Which was shown first, a or b of the row, where a column says so: by its name, or by all of its cells."""
    for column in (name for name in one.source.frame if key(name) in (*_SHOWN_FIRST, *_ORDERS)):
        cells = id_texts(one.source.frame[column]).fillna("").to_numpy()[at]
        told = [_side(*row) for row in zip(cells, own["first"], own["second"], strict=True)]
        unread = [row for row, side in enumerate(told) if side is None]
        if not unread:
            return pd.Series(told, dtype=object)
        if key(column) in _SHOWN_FIRST:
            where = f"column `{column}`, {one.source.line(int(at.iloc[unread[0]]))}"
            rule = "must say which of two was shown first (a or b, or its name)"
            raise TableError(f"{one.source.name}: {where}: {rule}, but got {cells[unread[0]]!r}.")
    return None


def _side(cell: str, first: str | None, second: str | None) -> str | None:
    """Which of the two a cell says was first: a, b, nothing where it is blank, None where it is neither."""
    word = loosely(cell)
    if not cell or cell == first or word in FIRST or word in _A_FIRST:
        return "a" if cell else ""
    return "b" if cell == second or word in SECOND or word in _B_FIRST else None


def averaged_orders(side: Rows | None) -> Rows | None:
    """One row for each comparison: the mean of both orders, and beside it each order alone."""
    if side is None or side.table is not None:
        return side
    rows, by = side.rows, ["item", "criterion", "rater"]
    key_of = rows.groupby(by, dropna=False, sort=False).ngroup()
    orders = {f"score_{o}_first": rows["score"].where(rows["shown"] == o).groupby(key_of).mean() for o in ("a", "b")}
    mean = rows["score"].groupby(key_of).mean()
    kept = rows[~key_of.duplicated()].reset_index(drop=True)
    return replace(side, rows=kept.drop(columns="shown").assign(score=mean.to_numpy(), **orders))


def as_pairs(side: Rows | None, found: Sequence[Seen]) -> Rows | None:
    """Rows of comparisons as they are, with the names of the two; several answers to one question are its group."""
    if side is None or side.table is not None:
        return side
    rows = side.rows
    names = ["first", "second"] if rows["first"].notna().any() else []
    if rows["group"].isna().all():
        one = next(one for one in found if one.source is side.source)
        rows = rows.assign(group=item_texts(one).to_numpy()[rows["at"]])
    said = rows[names].fillna("").set_axis([f"system_{side}" for side in "ab"][: len(names)], axis=1)
    return replace(side, rows=rows.drop(columns=["first", "second"]).assign(**said, system=None))


def as_win_rates(side: Rows | None, found: Sequence[Seen]) -> Rows | None:
    """Rows of comparisons as rows of a system's wins.

    Where the two are always the same there is a row for each comparison, of the first; where they vary there are two,
    one for each system, and the comparison is their group.
    """
    if side is None:
        return None
    if side.table is not None:
        return (
            replace(side, rows=side.rows.assign(system=(rivals(found) or ("A",))[0])) if compared(found).empty else side
        )
    plain = side.rows.drop(columns=["score_a_first", "score_b_first"])
    rows, all_pairs = plain.drop(columns=["first", "second"]), compared(found)
    if all_pairs.empty:
        return replace(side, rows=rows.assign(system=(rivals(found) or ("A",))[0]))
    names = pd.unique(all_pairs[["first", "second"]].to_numpy().ravel())
    if len(names) == 2:
        turned = (plain["first"] != names[0]) & plain["first"].notna()
        return replace(side, rows=rows.assign(system=names[0], score=rows["score"].where(~turned, 1 - rows["score"])))
    parts = [plain.assign(system=plain["first"]), plain.assign(system=plain["second"], score=1 - plain["score"])]
    each = pd.concat(parts).sort_values("at", kind="stable").drop(columns=["first", "second"])
    return replace(side, rows=each.reset_index(drop=True))


def compared_ids(one: Seen) -> pd.Series:
    """The ids of comparisons: where several pairs answer one question, the question and the two."""
    ids, sides = item_texts(one), [one.cells("first"), one.cells("second")]
    if sides[0] is None or sides[1] is None:
        return ids
    first, second = map(id_texts, sides)
    pairs = pd.DataFrame({"item": ids, "first": first, "second": second})
    named = pairs.assign(first=np.minimum(first.fillna(""), second.fillna("")))
    named["second"] = np.maximum(first.fillna(""), second.fillna(""))  # the two orders of a pair are one comparison
    several = named[pairs.notna().all(axis=1)].drop_duplicates()["item"].duplicated().any()
    return ids + "/" + named["first"] + "/" + named["second"] if several else ids


def compared(found: Sequence[Seen]) -> pd.DataFrame:
    """Who was compared in each item, from the file that says it."""
    for one in found:
        if {"first", "second"} <= set(one.roles):
            sides = {name: id_texts(one.source.frame[one.roles[name]]) for name in ("first", "second")}
            return pd.DataFrame({"item": compared_ids(one), **sides}).dropna().drop_duplicates("item")
    return pd.DataFrame()
