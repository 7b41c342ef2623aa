"""Columns of scores as rows: ids as texts, what each column is of, who gave the scores, scales, winners of pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from calib.inputs.cells import (
    FIRST,
    PAIRS,
    SECOND,
    TIE,
    Values,
    blank,
    folded,
    id_texts,
    known_order,
    loosely,
    preferred,
    valued,
)
from calib.inputs.names import Columns, Role, Rows, Side, Wide, is_model, key, loose
from calib.inputs.roles import Seen, Value
from calib.table import SCHEMAS, TableArgumentError, TableError, check_items, check_scores
from calib.table.schema import CellError, scale_words

PREFERENCE = "preference"
ROW = ["at", "item", "system", "group", "criterion", "rater", "score", "column"]
_RESERVED = frozenset((*SCHEMAS["scores"], *SCHEMAS["ratings"], *SCHEMAS["items"]))  # names of calib's columns
_SAYS = ("winner", "prefer", "better", "choice", "vote", "verdict", "wins")
_WON = re.compile("winner|prefer|wins")
_SIDES: tuple[Role, Role] = ("first", "second")
_CODES = frozenset(("0", "1", "2", "0.5", "0.0", "1.0", "2.0"))
_ORDERS = ("order", "shown_order", "presentation_order", "position", "swapped", "swap", "swap_order", "flipped")
_SHOWN_FIRST = ("shown_first", "first_shown", "presented_first")
_A_FIRST = frozenset(("ab", "a, b", "a b", "a first", "false", "original", "not swapped"))
_B_FIRST = frozenset(("ba", "b, a", "b a", "b first", "true", "swapped", "reversed", "flipped"))


def item_ids(one: Seen) -> pd.Series:
    """The ids of rows; their numbers, where no column has ids."""
    frame = one.source.frame
    return id_texts(frame[one.roles["item"]]) if "item" in one.roles else pd.Series(map(str, range(len(frame))))


# --- what columns of scores are of ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WideColumns:
    """What the names of columns of scores stand for, and how the judge's side spells them."""

    kind: Wide
    spelled: dict[str, str]  # loose spelling -> that of the judge's side

    def entity(self, value: Value) -> str:
        """The system, judge or criterion that a column of scores is of; nothing where it says none."""
        if value.side == "judge":
            return value.name.entity
        if not self.spelled:
            return ""
        last = value.name.person.rpartition("_")[2]
        return self.spelled.get(loose(value.name.entity)) or (self.spelled.get(loose(last), "") if last else "")

    def name_of(self, value: Value) -> str:
        """The entity and the criterion of a column of scores, in words."""
        entity = self.entity(value) or value.name.person or value.name.entity
        return ", ".join(filter(None, (entity, value.name.criterion)))


def wide_columns(files: Sequence[Seen], options: Columns) -> WideColumns:
    """What the names of columns of scores stand for: by the options, by the other file, or by both sides."""
    ours, theirs = dict[str, None](), set[str]()  # names in the names of columns
    for value in (value for one in files for value in one.graded):
        if value.side == "judge" and value.name.entity:
            ours[value.name.entity] = None
        if value.side == "label" and (value.name.entity or value.name.person):
            theirs |= {loose(name) for name in (value.name.entity, value.name.person.rpartition("_")[2]) if name}
    if not ours and not theirs and "wide" not in options:
        return WideColumns("rater", {})
    spelled = {loose(name): name for name in ours}
    if "wide" in options:
        return WideColumns(options["wide"], {} if options["wide"] == "rater" else spelled)
    kinds: tuple[Wide, Wide] = ("system", "criterion")
    for kind, one in ((kind, one) for kind in kinds for one in files if kind in one.roles):
        names = {loose(name): str(name) for name in one.source.frame[one.roles[kind]].dropna().unique()}
        if ours and not one.of("judge") and 2 * len(spelled.keys() & names.keys()) >= len(names):
            return WideColumns(kind, spelled)
        if theirs and not one.of("label") and 2 * len(theirs & names.keys()) >= len(theirs):
            return WideColumns(kind, names)
    free = not any("system" in one.roles for one in files)
    if ours and theirs and 2 * len(theirs & spelled.keys()) >= len(theirs):
        systems = len(ours) > 1 or is_model(next(iter(ours)))
        return WideColumns("system" if systems and free else "criterion", spelled)
    labels = any(one.of("label") for one in files)
    return WideColumns("system" if not labels and len(ours) > 1 and free else "rater", {})


def column_values(one: Seen, value: Value, scale: str, pair: tuple[str, str] | tuple[()] | None) -> Values:
    """The cells of a column as numbers on a scale, or as winners of a `pair` (two names for all rows, or none)."""
    cells, line = one.source.frame[value.column], one.source.line
    try:
        if pair is not None:  # 1, .5 and 0 of the first
            sides = [one.cells(role) for role in _SIDES]
            first, second = pair or ("" if side is None else side.astype(str) for side in sides)
            return preferred(cells, first, second, column=value.column, line=line)
        # a scale with words is of words; a judge beside them may give numbers of another scale
        if "|" in scale and value.side == "judge" and value.nature == "numbers":
            scale = "" if any(word != f"{number:g}" for word, number in scale_words(scale)) else scale
        return valued(cells, scale, column=value.column, line=line)
    except TableArgumentError:
        raise
    except TableError as error:
        raise TableError(f"{one.source.name}: {error}") from None


Cells: TypeAlias = dict[tuple[Side, str], Values]  # of the columns of scores of both sides, as numbers


def score_rows(
    one: Seen, side: Side, wide: WideColumns, options: Columns, cells: Cells, *, pairwise: bool
) -> pd.DataFrame:
    """A row for each of the `cells` of the columns of a side: who, of what, the number, and the row of the file."""
    ids = compared_ids(one) if pairwise else item_ids(one)
    texts: dict[str, Any] = {"system": None, "group": None}
    for role in ("system", "group", "criterion", "rater" if side == "judge" else "annotator"):
        if role in one.roles:
            texts[role] = id_texts(one.source.frame[one.roles[role]]).to_numpy()
    criterion, rater = texts.get("criterion"), texts.get("rater" if side == "judge" else "annotator")
    parts = []
    for value in one.of(side):
        entity = wide.entity(value)
        numbers = cells[side, value.column].numbers.to_numpy()
        part = pd.DataFrame({"at": range(len(ids)), "item": ids.to_numpy(dtype=object), "score": numbers})
        part = part.assign(column=value.column, system=texts["system"], group=texts["group"])
        if entity and wide.kind == "system":
            part["system"] = entity
        if entity and wide.kind == "criterion":
            part["criterion"] = entity
        else:
            default = value.name.criterion or str(options.get("criterion", "")) or (PREFERENCE if pairwise else None)
            part["criterion"] = default if criterion is None else criterion
        # who gave the scores: by a column, by the name of this one, by the options, or by what the file is called
        rater_name, name = str(options.get("rater", "")), value.name
        alike = [v for v in one.of(side) if (wide.entity(v), v.name.criterion) == (entity, name.criterion)]
        if rater is not None:
            part["rater"] = ["not named" if who is None else who for who in rater]
        elif side == "label" and not entity and (name.person or name.entity):
            part["rater"] = name.person or name.entity
        elif side == "judge" and entity and wide.kind == "rater":
            part["rater"] = entity
        elif len(alike) > 1:
            part["rater"] = value.column
        elif side == "label":  # the option names who rated, in a study where that can only be a person
            part["rater"] = (one.side == "label" and "judge" not in options and rater_name) or "human"
        else:
            stem = one.source.path.stem if one.source.path is not None and one.side == "judge" else ""
            part["rater"] = rater_name or (stem if name.says_nothing and stem else "judge")
        parts.append(part)
    rows = pd.concat(parts, ignore_index=True)
    return rows[rows["item"].notna() & (rows["score"].notna() | (side == "judge"))].reset_index(drop=True)


def common_words(graded: Sequence[tuple[Seen, Value]]) -> str:
    """A scale of the words of all columns, where they are of one common order; so that all mean the same."""
    cells = [one.source.frame[value.column] for one, value in graded]
    words = dict.fromkeys(" ".join(str(cell).split()) for part in cells for cell in part[~blank(part)].unique())
    order = known_order({loosely(word) for word in words})
    scale = {word.casefold(): f"{word}={order[loosely(word)]:g}" for word in reversed(words) if loosely(word) in order}
    if len(order) == 1:  # one word throughout, and its opposite
        opposite = next((pair for pair in PAIRS if set(pair) & set(order)), ())
        scale |= {word: f"{word}={value}" for value, word in enumerate(opposite) if word not in order}
    return "|".join(scale.values()) if order and not any("|" in word or "=" in word for word in words) else ""


# --- rows as tables ---------------------------------------------------------------------------------------------------


def score_table(side: Rows, scale: Mapping[str, str], files: Sequence[Seen], *, judge: bool) -> pd.DataFrame:
    """The rows of a side as a checked table of scores; what else a judge's file has rides along."""
    if side.table is not None:
        return side.table
    rows = side.rows.reset_index(drop=True)
    names = ["item", "criterion", "rater", "score"]
    for name in ("group", "system"):
        if rows[name].notna().any():
            names.append(name)
            if rows[name].isna().any():
                at = rows.loc[rows[name].isna(), "at"].iloc[0]
                rule = f"must name the {name} of each row, but this one has none"
                raise TableError(f"{side.source.name}, {side.line(at)}: {rule}.")
    names += [name for name in ("system_a", "system_b", "score_a_first", "score_b_first") if name in rows]
    out = rows[names].assign(
        method="given" if judge else "human", scale=rows["criterion"].map(scale).fillna(""),
        n=rows["score"].notna().astype(int), n_unread=rows["score"].isna().astype(int),
    )  # fmt: skip
    if judge:  # for `by`, `strata` and `weights`; where calib has a column of that name as `my_...`
        frame = side.source.frame
        one = next(one for one in files if one.source is side.source)
        used = set(one.roles.values()) - {one.roles.get("weight")} | {value.column for value in one.graded}
        others = {name: f"my_{name}" if name in _RESERVED else name for name in frame if name not in used}
        beside = frame[list(others)].rename(columns=others)
        out = out.join(beside.iloc[rows["at"].astype(int)].reset_index(drop=True))
    try:
        return check_scores(out)
    except CellError as error:
        raise in_file(error, side) from None


def in_file(error: CellError, side: Rows) -> TableError:
    """An error of a cell, in terms of the user's file."""
    row = side.rows.iloc[error.row]
    column = row["column"] if error.column == "score" else error.column
    return TableError(f"{side.source.name}: column `{column}`, {side.line(row['at'])}: {error.rule}.")


def item_table(files: Sequence[Seen], sides: Mapping[Side, Rows]) -> pd.DataFrame | None:
    """The texts of the items, from the first file that has some."""
    for one in files:
        if not one.roles.keys() & {"source", "output"}:
            continue
        side = next((side for side in sides.values() if side.source is one.source), None)
        if side is None or side.table is not None:
            continue
        rows = side.rows.drop_duplicates("item").reset_index(drop=True)
        cells = one.source.frame.iloc[rows["at"].astype(int)].reset_index(drop=True)
        names: dict[Role, str] = {"source": "source", "output": "output", "text": "reference"}
        texts = {name: cells[one.roles[role]] for role, name in names.items() if role in one.roles}
        design = [name for name in ("group", "system") if rows[name].notna().all()]
        return check_items(rows[["item", *design]].join(pd.DataFrame(texts).fillna("").astype(str)))
    return None


# --- preferences of one of two as win rates ---------------------------------------------------------------------------


def winners_named(graded: Sequence[tuple[Seen, Value]]) -> tuple[str, str] | tuple[()] | None:
    """Where the scores are winners of pairs: the two names of all pairs, or () where cells or columns say them.

    None where they are scores. Names of winners are of all pairs where no columns say who was compared, and there are
    ties or columns called as winners are.
    """
    named, numbered, texts = [], [], dict[str, str]()
    for one, value in graded:
        two = {"first", "second"} <= set(one.roles)
        says = _WON.search(key(value.column)) is not None
        if value.nature == "numbers" and not two and not says:
            return None
        cells = one.source.frame[value.column]
        cells = cells[~blank(cells)]
        words = {loosely(str(cell)) for cell in cells.unique()}
        sides = [one.source.frame[one.roles[role]] for role in _SIDES if two]
        names = {loosely(str(name)) for side in sides for name in side.dropna().unique()}
        # the two that are compared, by name or by number
        named.append(value.nature == "winners" or (two and (words <= _CODES or words <= names | TIE)))
        # 1 and 2, and 0 for a tie, in a column that says who won
        codes = {word.removesuffix(".0") for word in words}
        numbered.append(says and "2" in codes and codes <= {"0", "1", "2"} | TIE)
        texts |= {folded(str(cell)): str(cell).strip() for cell in cells}
    if any(value.nature != "texts" or {"first", "second"} & set(one.roles) for one, value in graded):
        return () if all(named) or all(numbered) else None
    two_names = sorted(name for word, name in texts.items() if loosely(word) not in TIE)
    says = len(texts) > len(two_names) or all(any(part in key(v.column) for part in _SAYS) for _, v in graded)
    if len(two_names) == 2 and says:
        return two_names[0], two_names[1]
    return () if all(named) or all(numbered) else None


def in_one_order(side: Rows, files: Sequence[Seen]) -> Rows:
    """Comparisons in terms of the same two, whichever a row names first; and which of them was shown first.

    Who is `first` and who `second` in a comparison is said by the first file that names them, in the first row of it.
    Where its rows name the two in both orders, that is the order in which they were shown; else a column may say it.
    """
    if side.table is not None:
        return side
    one = next(one for one in files if one.source is side.source)
    at = side.rows["at"]
    cells = {name: one.cells(name) for name in _SIDES}
    texts = {name: [None] * len(at) if c is None else id_texts(c).to_numpy()[at] for name, c in cells.items()}
    pairs, own = _compared(files), pd.DataFrame(texts, dtype=object)  # the two as each row names them
    nameless = side.rows.assign(first=None, second=None)
    rows = nameless if pairs.empty else side.rows.merge(pairs, on="item", how="left")
    turned = ((own["first"] == rows["second"]) & (own["first"] != rows["first"])).to_numpy()
    order: pd.Series | None = None
    # a or b of the row, where a column says so: by its name, or by all of its cells
    for column in (name for name in one.source.frame if key(name) in (*_SHOWN_FIRST, *_ORDERS)):
        names = id_texts(one.source.frame[column]).fillna("").to_numpy()[at]
        letters: list[str | None] = []
        for cell, first, second in zip(names, own["first"], own["second"], strict=True):
            word = loosely(cell)
            if not cell or cell == first or word in FIRST or word in _A_FIRST:
                letters.append("a" if cell else "")
            else:
                letters.append("b" if cell == second or word in SECOND or word in _B_FIRST else None)
        unread = [row for row, letter in enumerate(letters) if letter is None]
        if not unread:
            order = pd.Series(letters, dtype=object)
            break
        if key(column) in _SHOWN_FIRST:
            where = f"column `{column}`, {one.source.line(int(at.iloc[unread[0]]))}"
            rule = "must say which of two was shown first (a or b, or its name)"
            raise TableError(f"{one.source.name}: {where}: {rule}, but got {names[unread[0]]!r}.")
    if order is None:
        each = pd.Series(turned).groupby([rows[name] for name in ("item", "criterion", "rater")], dropna=False)
        order = pd.Series("a" if (each.transform("nunique") > 1).any() else "", index=rows.index)
    order = order.where(~turned, order.map({"a": "b", "b": "a", "": ""}))
    return replace(side, rows=rows.assign(score=rows["score"].where(~turned, 1 - rows["score"]), shown=order))


def averaged_orders(side: Rows) -> Rows:
    """One row for each comparison: the mean of both orders, and beside it each order alone."""
    if side.table is not None:
        return side
    rows, by = side.rows, ["item", "criterion", "rater"]
    key_of = rows.groupby(by, dropna=False, sort=False).ngroup()
    orders = {f"score_{o}_first": rows["score"].where(rows["shown"] == o).groupby(key_of).mean() for o in ("a", "b")}
    mean = rows["score"].groupby(key_of).mean()
    first = rows[~key_of.duplicated()].reset_index(drop=True)
    return replace(side, rows=first.drop(columns="shown").assign(score=mean.to_numpy(), **orders))


def as_pairs(side: Rows, files: Sequence[Seen]) -> Rows:
    """Rows of comparisons as they are, with the names of the two; several answers to one question are its group."""
    if side.table is not None:
        return side
    rows = side.rows
    names = ["first", "second"] if rows["first"].notna().any() else []
    if rows["group"].isna().all():
        one = next(one for one in files if one.source is side.source)
        rows = rows.assign(group=item_ids(one).to_numpy()[rows["at"]])
    systems = rows[names].fillna("").set_axis([f"system_{side}" for side in "ab"][: len(names)], axis=1)
    return replace(side, rows=rows.drop(columns=["first", "second"]).assign(**systems, system=None))


def as_win_rates(side: Rows, files: Sequence[Seen], first: str) -> Rows:
    """Rows of comparisons as rows of a system's wins.

    Where the two are always the same there is a row for each comparison, of the first; where they vary there are two,
    one for each system, and the comparison is their group. `first` is the first of two that no columns name.
    """
    all_pairs = _compared(files)
    if side.table is not None:
        return replace(side, rows=side.rows.assign(system=first)) if all_pairs.empty else side
    plain = side.rows.drop(columns=["score_a_first", "score_b_first"])
    rows = plain.drop(columns=["first", "second"])
    if all_pairs.empty:
        return replace(side, rows=rows.assign(system=first))
    names = pd.unique(all_pairs[["first", "second"]].to_numpy().ravel())
    if len(names) == 2:
        turned = (plain["first"] != names[0]) & plain["first"].notna()
        return replace(side, rows=rows.assign(system=names[0], score=rows["score"].where(~turned, 1 - rows["score"])))
    parts = [plain.assign(system=plain["first"]), plain.assign(system=plain["second"], score=1 - plain["score"])]
    each = pd.concat(parts).sort_values("at", kind="stable").drop(columns=["first", "second"])
    return replace(side, rows=each.reset_index(drop=True))


def compared_ids(one: Seen) -> pd.Series:
    """The ids of comparisons: where several pairs answer one question, the question and the two."""
    ids = item_ids(one)
    if not {"first", "second"} <= set(one.roles):
        return ids
    sides = pd.DataFrame({name: id_texts(one.source.frame[one.roles[name]]) for name in _SIDES})
    texts = sides.fillna("")
    low, high = np.minimum(texts["first"], texts["second"]), np.maximum(texts["first"], texts["second"])
    # the two orders of a pair are one comparison
    pairs = pd.DataFrame({"item": ids, "first": low, "second": high})
    several = pairs[ids.notna() & sides.notna().all(axis=1)].drop_duplicates()["item"].duplicated().any()
    return ids + "/" + low + "/" + high if several else ids


def _compared(files: Sequence[Seen]) -> pd.DataFrame:
    """Who was compared in each item, from the file that says it."""
    for one in files:
        if {"first", "second"} <= set(one.roles):
            sides = {name: id_texts(one.source.frame[one.roles[name]]) for name in _SIDES}
            return pd.DataFrame({"item": compared_ids(one), **sides}).dropna().drop_duplicates("item")
    return pd.DataFrame()
