"""Preferences of one of two as win rates: of the first of two systems, or of each of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from calib.intake.cells.values import Values, blank, preferred
from calib.intake.cells.words import TIE, folded, loosely
from calib.intake.columns.names import key
from calib.intake.columns.roles import Seen, Value
from calib.intake.rows.ids import Rows, id_texts, item_texts
from calib.intake.taken import Columns

_SAYS = ("winner", "prefer", "better", "choice", "vote", "verdict", "wins")
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


def as_win_rates(side: Rows | None, found: Sequence[Seen]) -> Rows | None:
    """Rows of comparisons as rows of a system's wins.

    Where the two are always the same there is a row for each comparison, of the first; where they vary there are two,
    one for each system, and the comparison is their group.
    """
    if side is None:
        return None
    rows, all_pairs = side.rows, _compared(found)
    if all_pairs.empty:
        return replace(side, rows=rows.assign(system=(rivals(found) or ("A",))[0]))
    own = _compared([one for one in found if one.source is side.source])  # each file may have its own order of the two
    both = rows.merge(all_pairs if own.empty else own, on="item", how="left")
    names = pd.unique(all_pairs[["first", "second"]].to_numpy().ravel())
    if len(names) == 2:
        turned = (both["first"] != names[0]) & both["first"].notna()
        return replace(side, rows=rows.assign(system=names[0], score=rows["score"].where(~turned, 1 - rows["score"])))
    parts = [both.assign(system=both["first"]), both.assign(system=both["second"], score=1 - both["score"])]
    each = pd.concat(parts).sort_values("at", kind="stable").drop(columns=["first", "second"])
    return replace(side, rows=each.reset_index(drop=True))


def compared_ids(one: Seen) -> pd.Series:
    """The ids of comparisons: where several pairs answer one question, the question and the two."""
    ids, sides = item_texts(one), [one.cells("first"), one.cells("second")]
    if sides[0] is None or sides[1] is None:
        return ids
    first, second = map(id_texts, sides)
    pairs = pd.DataFrame({"item": ids, "first": first, "second": second})
    several = pairs.dropna().drop_duplicates()["item"].duplicated().any()
    return ids + "/" + first.fillna("") + "/" + second.fillna("") if several else ids


def _compared(found: Sequence[Seen]) -> pd.DataFrame:
    """Who was compared in each item, from the file that says it."""
    for one in found:
        if {"first", "second"} <= set(one.roles):
            sides = {name: id_texts(one.source.frame[one.roles[name]]) for name in ("first", "second")}
            return pd.DataFrame({"item": compared_ids(one), **sides}).dropna().drop_duplicates("item")
    return pd.DataFrame()
