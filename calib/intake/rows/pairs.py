"""Preferences of one of two as win rates: of the first of two systems, or of each of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from calib.intake.cells.values import Values, blank, preferred
from calib.intake.cells.words import FIRST, SECOND, TIE, folded, loosely
from calib.intake.columns.names import key
from calib.intake.columns.roles import Seen, Value
from calib.intake.rows.ids import Rows, id_texts, item_texts
from calib.intake.taken import Columns
from calib.table import TableError

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


def in_one_order(side: Rows, found: Sequence[Seen]) -> Rows:
    """Rows of comparisons in terms of the same two, whichever a row names first, and which of them was shown first.

    Who is `first` and who `second` in a comparison is said by the first file that names them, in the first row of it.
    Where its rows name the two in both orders, that is the order in which they were shown; else a column may say it.
    """
    one = next(one for one in found if one.source is side.source)
    pairs, own = compared(found), _named_by(one, side.rows["at"])
    nameless = side.rows.assign(first=None, second=None)
    rows = nameless if pairs.empty else side.rows.merge(pairs, on="item", how="left")
    turned = ((own["first"] == rows["second"]) & (own["first"] != rows["first"])).to_numpy()
    shown = _shown(one, own, side.rows["at"])
    if shown is None:
        each = pd.Series(turned).groupby([rows[name] for name in ("item", "criterion", "rater")], dropna=False)
        listed = (each.transform("nunique") > 1).any()
        shown = pd.Series("a" if listed else "", index=rows.index)
    shown = shown.where(~turned, shown.map({"a": "b", "b": "a", "": ""}))
    return replace(side, rows=rows.assign(score=rows["score"].where(~turned, 1 - rows["score"]), shown=shown))


def _named_by(one: Seen, at: pd.Series) -> pd.DataFrame:
    """The two as each row names them."""
    cells = {name: one.cells(name) for name in ("first", "second")}
    texts = {name: [None] * len(at) if c is None else id_texts(c).to_numpy()[at] for name, c in cells.items()}
    return pd.DataFrame(texts, dtype=object)


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


def averaged_orders(side: Rows) -> Rows:
    """One row for each comparison: the mean of both orders, and beside it each order alone."""
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
