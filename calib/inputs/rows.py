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
_SAYS = ("winner", "prefer", "better", "choice", "vote", "verdict", "wins")
_ORDERS = ("order", "shown_order", "presentation_order", "position", "swapped", "swap", "swap_order", "flipped")
_A_FIRST = frozenset(("ab", "a, b", "a b", "a first", "false", "original", "not swapped"))
_B_FIRST = frozenset(("ba", "b, a", "b a", "b first", "true", "swapped", "reversed", "flipped"))
_SHOWN_FIRST = ("shown_first", "first_shown", "presented_first")
_WON = ("winner", "prefer", "wins")
_SIDES: tuple[Role, Role] = ("first", "second")
_CODES = frozenset(("0", "1", "2", "0.5", "0.0", "1.0", "2.0"))
ROW = ["at", "item", "system", "group", "criterion", "rater", "score", "column"]


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
        key, cells = (id(one.source.frame), value.column), one.source.frame[value.column]
        where: dict[str, Any] = {"column": value.column, "line": one.source.line}
        if key in self.done:
            return self.done[key]
        try:
            if self.wins is not None:  # 1, .5 and 0 of the first
                sides = self.wins or [one.cells(side) for side in _SIDES]
                first, second = ("" if s is None else s if isinstance(s, str) else s.astype(str) for s in sides)
                self.done[key] = preferred(cells, first, second, **where)
            else:
                # what a scale calls words in is of words; a judge beside it may give numbers of another scale
                words = scale_words(self.scale) if self.scale and ".." not in self.scale else ()
                of_words = any(word != f"{number:g}" for word, number in words)
                beside = value.side == "judge" and value.nature == "numbers" and of_words
                self.done[key] = valued(cells, "" if beside else self.scale, **where)
        except TableArgumentError:
            raise
        except TableError as error:
            raise TableError(f"{one.source.name}: {error}") from None
        return self.done[key]


def stood(files: Sequence[Seen], options: Columns) -> Stood:
    """What entities in the names of columns are: said, found in the other file, or shared by both sides."""
    judges, labels = ([v for one in files for v in one.of(side)] for side in ("judge", "label"))
    ours = list(dict.fromkeys(v.name.entity for v in judges if v.name.entity))
    theirs = {loose(name) for v in labels for name in (v.name.entity, v.name.person.rpartition("_")[2]) if name}
    spelled = {loose(name): name for name in ours}
    if "wide" in options:
        return Stood(options["wide"], {} if options["wide"] == "rater" else spelled)
    many: tuple[Stands, Stands] = ("system", "criterion")
    for stands in many:
        for one in files:
            if (cells := one.cells(stands)) is None:
                continue
            names = {loose(name): str(name) for name in cells.dropna().unique()}
            if ours and not one.of("judge") and 2 * len(spelled.keys() & names.keys()) >= len(names):
                return Stood(stands, spelled)
            if theirs and not one.of("label") and 2 * len(theirs & names.keys()) >= len(theirs):
                return Stood(stands, names)
    free = not any("system" in one.roles for one in files)
    if ours and theirs and 2 * len(theirs & spelled.keys()) >= len(theirs):
        systems = len(ours) > 1 or is_model(ours[0])
        return Stood("system" if systems and free else "criterion", spelled)
    return Stood("system" if not labels and len(ours) > 1 and free else "rater", {})


def rows_of(one: Seen, side: Side, how: Stood, options: Columns, read: Reading) -> pd.DataFrame:
    """A row for each cell of the columns of a side: who, of what, its number and where it stood."""
    ids = compared_ids(one) if read.wins is not None else item_texts(one)
    design: tuple[Role, ...] = ("system", "group", "criterion")
    texts = {name: list(id_texts(cells)) if (cells := one.cells(name)) is not None else None for name in design}
    parts = []
    for value in one.of(side):
        entity = how.entity(value)
        part = pd.DataFrame({"at": range(len(ids)), "score": read.of(one, value).numbers.to_numpy()})
        part = part.assign(column=value.column, system=texts["system"], group=texts["group"])
        if entity and how.stands == "system":
            part["system"] = entity
        preference = PREFERENCE if read.wins is not None else None
        named = value.name.criterion or str(options.get("criterion", "")) or preference
        criteria = texts["criterion"] if texts["criterion"] is not None else named
        part["criterion"] = entity if entity and how.stands == "criterion" else criteria
        part["rater"] = _rater(one, value, entity, how, options)
        parts.append(part.assign(item=ids.to_numpy(dtype=object)))
    out = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=ROW)
    return out[out["item"].notna()].reset_index(drop=True)


def _rater(one: Seen, value: Value, entity: str, how: Stood, options: Columns) -> Any:
    """Who gave the scores: a column that says it, the name of the column, or what the file is called."""
    role: Role = "rater" if value.side == "judge" else "annotator"
    cells = one.cells(role)
    if cells is not None:
        return [name if name is not None else "not named" for name in id_texts(cells)]
    columns = one.of(value.side)
    like = [v for v in columns if (how.entity(v), v.name.criterion) == (entity, value.name.criterion)]
    if value.side == "label":
        person = value.name.person or value.name.entity
        if person and not entity:
            return person
        # the name that was said for who rated, in a study where that can only be a person
        named = str(options.get("rater", "")) if one.side == "label" and "judge" not in options else ""
        return value.column if len(like) > 1 else named or "human"
    if entity and how.stands == "rater":
        return entity
    if len(like) > 1:
        return value.column
    stem = one.source.path.stem if one.source.path is not None and one.side == "judge" else ""
    return str(options.get("rater", "")) or (stem if value.name.says_nothing and stem else "judge")


def common_words(files: Sequence[Seen]) -> str:
    """A scale of the words of all columns, where they are of one common order; so that all mean the same."""
    values = [(one, v) for one in files for v in one.graded if v.side]
    if not any(v.nature == "words" for _, v in values) or len(values) < 2:
        return ""
    cells = [one.source.frame[v.column] for one, v in values]
    words = dict.fromkeys(" ".join(str(cell).split()) for part in cells for cell in part[~blank(part)].unique())
    order = dict(known_order({loosely(word) for word in words}))
    scale = {word.casefold(): f"{word}={order[loosely(word)]:g}" for word in reversed(words) if loosely(word) in order}
    return "|".join(scale.values()) if order and not any("|" in word or "=" in word for word in words) else ""


# --- preferences of one of two as win rates ---------------------------------------------------------------------------


def is_pairwise(files: Sequence[Seen], options: Columns) -> bool:
    """Whether the scores are winners of pairs."""
    values = [(one, v) for one in files for v in one.graded if v.side]
    if not values or "scale" in options:
        return False
    named, numbered = [], []
    for one, value in values:
        held = {loosely(str(cell)) for cell in _held(one, value)}
        sides = [cells for role in _SIDES if (cells := one.cells(role)) is not None]
        names = {loosely(str(name)) for cells in sides for name in cells.dropna().unique()}
        # the names of the two that are compared, or numbers of them
        names_a_side = len(sides) == 2 and (held <= _CODES or held <= names | TIE)
        named.append(value.nature == "winners" or names_a_side)
        # 1 and 2, and 0 for a tie, in a column that says who won
        codes = {word.removesuffix(".0") for word in held}
        says = any(part in key(value.column) for part in _WON)
        numbered.append(says and "2" in codes and codes <= {"0", "1", "2"} | TIE)
    return all(named) or all(numbered) or bool(rivals(files))


def _held(one: Seen, value: Value) -> pd.Series:
    cells = one.source.frame[value.column]
    return cells[~blank(cells)]


def rivals(files: Sequence[Seen]) -> tuple[str, str] | tuple[()]:
    """The two names that winners are called by, where no columns say who was compared; with ties, or by their head."""
    values = [(one, v) for one in files for v in one.graded if v.side]
    if not values or any(v.nature != "texts" or {"first", "second"} & set(one.roles) for one, v in values):
        return ()
    words = {folded(str(cell)): str(cell).strip() for one, v in values for cell in _held(one, v)}
    names = sorted(name for word, name in words.items() if loosely(word) not in TIE)
    says = len(words) > len(names) or all(any(part in key(v.column) for part in _SAYS) for _, v in values)
    return (names[0], names[1]) if len(names) == 2 and says else ()


def in_one_order(side: Rows, files: Sequence[Seen]) -> Rows:
    """Rows of comparisons in terms of the same two, whichever a row names first, and which of them was shown first.

    Who is `first` and who `second` in a comparison is said by the first file that names them, in the first row of it.
    Where its rows name the two in both orders, that is the order in which they were shown; else a column may say it.
    """
    if side.table is not None:
        return side
    one = next(one for one in files if one.source is side.source)
    at = side.rows["at"]
    cells = {name: one.cells(name) for name in _SIDES}
    texts = {name: [None] * len(at) if c is None else id_texts(c).to_numpy()[at] for name, c in cells.items()}
    pairs, own = compared(files), pd.DataFrame(texts, dtype=object)  # the two as each row names them
    nameless = side.rows.assign(first=None, second=None)
    rows = nameless if pairs.empty else side.rows.merge(pairs, on="item", how="left")
    turned = ((own["first"] == rows["second"]) & (own["first"] != rows["first"])).to_numpy()
    order = _order_shown(one, own, at)
    if order is None:
        each = pd.Series(turned).groupby([rows[name] for name in ("item", "criterion", "rater")], dropna=False)
        listed = (each.transform("nunique") > 1).any()
        order = pd.Series("a" if listed else "", index=rows.index)
    order = order.where(~turned, order.map({"a": "b", "b": "a", "": ""}))
    return replace(side, rows=rows.assign(score=rows["score"].where(~turned, 1 - rows["score"]), shown=order))


def _order_shown(one: Seen, own: pd.DataFrame, at: pd.Series) -> pd.Series | None:
    """Which was shown first, a or b of the row, where a column says so: by its name, or by all of its cells."""
    for column in (name for name in one.source.frame if key(name) in (*_SHOWN_FIRST, *_ORDERS)):
        cells = id_texts(one.source.frame[column]).fillna("").to_numpy()[at]
        sides: list[str | None] = []
        for cell, first, second in zip(cells, own["first"], own["second"], strict=True):
            word = loosely(cell)
            if not cell or cell == first or word in FIRST or word in _A_FIRST:
                sides.append("a" if cell else "")
            else:
                sides.append("b" if cell == second or word in SECOND or word in _B_FIRST else None)
        unread = [row for row, side in enumerate(sides) if side is None]
        if not unread:
            return pd.Series(sides, dtype=object)
        if key(column) in _SHOWN_FIRST:
            where = f"column `{column}`, {one.source.line(int(at.iloc[unread[0]]))}"
            rule = "must say which of two was shown first (a or b, or its name)"
            raise TableError(f"{one.source.name}: {where}: {rule}, but got {cells[unread[0]]!r}.")
    return None


def averaged_orders(side: Rows) -> Rows:
    """One row for each comparison: the mean of both orders, and beside it each order alone."""
    if side.table is not None:
        return side
    rows, by = side.rows, ["item", "criterion", "rater"]
    key_of = rows.groupby(by, dropna=False, sort=False).ngroup()
    orders = {f"score_{o}_first": rows["score"].where(rows["shown"] == o).groupby(key_of).mean() for o in ("a", "b")}
    mean = rows["score"].groupby(key_of).mean()
    kept = rows[~key_of.duplicated()].reset_index(drop=True)
    return replace(side, rows=kept.drop(columns="shown").assign(score=mean.to_numpy(), **orders))


def as_pairs(side: Rows, files: Sequence[Seen]) -> Rows:
    """Rows of comparisons as they are, with the names of the two; several answers to one question are its group."""
    if side.table is not None:
        return side
    rows = side.rows
    names = ["first", "second"] if rows["first"].notna().any() else []
    if rows["group"].isna().all():
        one = next(one for one in files if one.source is side.source)
        rows = rows.assign(group=item_texts(one).to_numpy()[rows["at"]])
    systems = rows[names].fillna("").set_axis([f"system_{side}" for side in "ab"][: len(names)], axis=1)
    return replace(side, rows=rows.drop(columns=["first", "second"]).assign(**systems, system=None))


def as_win_rates(side: Rows, files: Sequence[Seen]) -> Rows:
    """Rows of comparisons as rows of a system's wins.

    Where the two are always the same there is a row for each comparison, of the first; where they vary there are two,
    one for each system, and the comparison is their group.
    """
    all_pairs, of_first = compared(files), (rivals(files) or ("A",))[0]
    if side.table is not None:
        return replace(side, rows=side.rows.assign(system=of_first)) if all_pairs.empty else side
    plain = side.rows.drop(columns=["score_a_first", "score_b_first"])
    rows = plain.drop(columns=["first", "second"])
    if all_pairs.empty:
        return replace(side, rows=rows.assign(system=of_first))
    names = pd.unique(all_pairs[["first", "second"]].to_numpy().ravel())
    if len(names) == 2:
        turned = (plain["first"] != names[0]) & plain["first"].notna()
        return replace(side, rows=rows.assign(system=names[0], score=rows["score"].where(~turned, 1 - rows["score"])))
    parts = [plain.assign(system=plain["first"]), plain.assign(system=plain["second"], score=1 - plain["score"])]
    each = pd.concat(parts).sort_values("at", kind="stable").drop(columns=["first", "second"])
    return replace(side, rows=each.reset_index(drop=True))


def compared_ids(one: Seen) -> pd.Series:
    """The ids of comparisons: where several pairs answer one question, the question and the two."""
    ids, sides = item_texts(one), [one.cells(side) for side in _SIDES]
    if sides[0] is None or sides[1] is None:
        return ids
    first, second = map(id_texts, sides)
    pairs = pd.DataFrame({"item": ids, "first": first, "second": second})
    named = pairs.assign(first=np.minimum(first.fillna(""), second.fillna("")))
    named["second"] = np.maximum(first.fillna(""), second.fillna(""))  # the two orders of a pair are one comparison
    several = named[pairs.notna().all(axis=1)].drop_duplicates()["item"].duplicated().any()
    return ids + "/" + named["first"] + "/" + named["second"] if several else ids


def compared(files: Sequence[Seen]) -> pd.DataFrame:
    """Who was compared in each item, from the file that says it."""
    for one in files:
        if {"first", "second"} <= set(one.roles):
            sides = {name: id_texts(one.source.frame[one.roles[name]]) for name in _SIDES}
            return pd.DataFrame({"item": compared_ids(one), **sides}).dropna().drop_duplicates("item")
    return pd.DataFrame()
