"""Rows of judges and of people by item: ids that are one, rows that are there twice, what has no counterpart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.ids import Rows
from calib.inputs.names import loose
from calib.table import TableError

_KEY = ["item", "system", "criterion", "rater"]
_ORDER = "shown"  # of the two of a pair, each order is asked of its own
_MOSTLY = 0.5


def refuse_repeated(side: Rows, notes: list[str], *, repeats: bool) -> Rows:
    """Rows of the same scores that are there twice count once; those that contradict each other are refused.

    `repeats` is for scores that stand in a row for each annotator of their item.
    """
    if not side.ids or side.table is not None:
        return side
    order = side.rows["score"].isna().sort_values(kind="stable").index  # what was read before what was not
    key = _key_of(side.rows)
    extra = side.rows.loc[order].duplicated(key).sort_index()
    if not extra.any():
        return side
    again = side.rows[side.rows.duplicated(key, keep=False)]
    unlike = again.groupby(key, dropna=False, sort=False)["score"].transform("nunique") > 1
    if unlike.any():
        raise TableError(_twice(side, again[unlike]))
    if not repeats:
        both = _alike_rows(again)
        lines = " and ".join(side.line(at) for at in both["at"][:2])
        such = f"such as {lines}, of {both['item'].iloc[0]!r}"
        notes.append(f"{side.source.name}: {int(extra.sum())} rows repeat others ({such}): each counts once.")
    return replace(side, rows=side.rows[~extra].reset_index(drop=True))


def _key_of(rows: pd.DataFrame) -> list[str]:
    return [*_KEY, *[_ORDER] * (_ORDER in rows)]


def _alike_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Those that have the item, system, criterion and rater of the first."""
    known = rows[_key_of(rows)].fillna("")
    return rows[(known == known.iloc[0]).all(axis=1)]


def _twice(side: Rows, rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    both = _alike_rows(rows).iloc[:2]
    lines = " and ".join(f"{side.line(at)} ({score:g})" for at, score in zip(both["at"], both["score"], strict=True))
    of = "".join(f", {name} {first[name]!r}" for name in ("system", "criterion") if first[name] is not None)
    told = (
        f"{side.source.name}: column `{side.ids}`: {first['item']!r}{of} has several scores by {first['rater']!r}, "
        f"in {lines}. Where a column tells them apart, name it: system, criterion, annotator, rater "
        f"(in a shell --system, ...); else keep one row of each."
    )
    apart = _telling_apart(side)
    return f"{told} Here {apart} does; of runs, keep one or their mean." if apart else told


def _telling_apart(side: Rows) -> str:
    """Columns that differ where all that is known of rows is the same."""
    frame, known = side.source.frame, side.rows.drop_duplicates("at").set_index("at")
    keys = known[["item", "system", "criterion"]].fillna("").astype(str).agg("/".join, axis=1)
    few = [name for name in frame if name not in (side.ids, *side.rows["column"]) and _is_short(frame[name])]
    apart = [
        f"`{name}`"
        for name in few
        if not pd.DataFrame({"key": keys, "cell": frame[name].loc[keys.index]}).duplicated().any()
    ]
    return " or ".join(apart[:2])


def _is_short(cells: pd.Series) -> bool:
    """Whether cells may name what rows are of."""
    return not pd.api.types.is_float_dtype(cells.dtype) and 1 < cells.astype(str).nunique() <= len(cells) / 2


def of_one_spelling(judges: pd.DataFrame, people: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame:
    """People's rows with systems or criteria spelled as the judge's are."""
    ours = {loose(value): value for value in judges[name].dropna().unique()}
    theirs = list(people[name].dropna().unique())
    other = {value: ours[loose(value)] for value in theirs if value not in ours.values() and loose(value) in ours}
    if other:
        told = ", ".join(f"{value!r} as {mine!r}" for value, mine in list(other.items())[:3])
        notes.append(f"the labels spell each {name} otherwise than the scores: {told} are taken as one.")
    return people.assign(**{name: people[name].map(lambda value: other.get(value, value))})


def joined(judges: Rows | None, people: Rows | None, notes: list[str]) -> list[Rows | None]:
    """Ids that are the same on both sides, and of each system where ids repeat; the groups that this makes."""
    sides = [side for side in (judges, people) if side is not None]
    sides = [_as_whole_numbers(side, sides, notes) for side in sides]
    if any(_repeats_over_systems(side.rows) for side in sides):
        _refuse_without_systems(sides)
        sides = [side if side.table is not None else _by_system(side) for side in sides]
    found = iter(sides)
    both = [None if side is None else next(found) for side in (judges, people)]
    if both[0] is not None and both[1] is not None:
        refuse_strangers(both[0], both[1], notes)
    return both


def _as_whole_numbers(side: Rows, sides: Sequence[Rows], notes: list[str]) -> Rows:
    """Ids such as 7.0, which a gap in the file made of 7."""
    ids = side.rows["item"]
    pointed = ids.map(lambda text: str(text).endswith(".0") and str(text)[:-2].isdigit())
    if not pointed.all() or not len(ids) or len(sides) < 2:
        return side
    other = {item for one in sides if one is not side for item in one.rows["item"]}
    if other & set(ids):
        return side
    notes.append(f"{side.source.name}: ids such as {ids.iloc[0]!r} are taken as {ids.iloc[0][:-2]!r}.")
    return replace(side, rows=side.rows.assign(item=ids.str.slice(0, -2)))


def _repeats_over_systems(rows: pd.DataFrame) -> bool:
    pairs = rows[["item", "system"]].drop_duplicates()
    return bool(pairs["system"].notna().any() and pairs["item"].duplicated().any())


def _refuse_without_systems(sides: Sequence[Rows]) -> None:
    """Where ids repeat over systems each row must say whose it is."""
    repeated = next(side for side in sides if _repeats_over_systems(side.rows))
    every = {f"{item}/{system}" for item, system in zip(repeated.rows["item"], repeated.rows["system"], strict=True)}
    for side in sides:
        if side.rows["system"].isna().any() and not set(side.rows["item"]) & every:
            where = f"`{repeated.system}`" if repeated.system else "one column for each"
            rule = f"must be a column of {side.source.name} as well (or one column for each system)"
            given = (
                f"{repeated.of} repeats over systems ({where}), and {side.source.name} does not say whose output it is"
            )
            raise ArgumentError("system", rule, given)


def _by_system(side: Rows) -> Rows:
    """The output of a system is an item, what several answered a group."""
    rows = side.rows
    whole = rows["system"].isna()
    group = rows["group"].where(rows["group"].notna(), rows["item"])
    item = rows["item"].where(whole, rows["item"] + "/" + rows["system"].astype(str))
    return replace(side, rows=rows.assign(item=item, group=group.where(~whole, rows["group"])))


def refuse_strangers(judges: Rows, people: Rows, notes: list[str]) -> None:
    """Labels must be of items that were scored; where most are not, that is said, and where none is, refused."""
    scored, labelled = dict.fromkeys(judges.rows["item"]), dict.fromkeys(people.rows["item"])
    shared = [item for item in labelled if item in scored]
    if labelled and scored and not shared:
        theirs, ours = list(labelled), list(scored)
        hint = _alike(theirs, ours) or "; item= and label_item= (--item, --label-item) name other columns"
        raise TableError(f"no id is in both: {judges.of} has {_two(ours)}, {people.of} has {_two(theirs)}{hint}.")
    strangers = [item for item in labelled if item not in scored]
    hint = _alike(strangers, list(scored))
    if hint or len(strangers) > _MOSTLY * len(labelled):  # fewer are counted in each result
        of = f"{len(strangers)} of {len(labelled)} labelled items have no score of the judge"
        notes.append(f"{of} and are left out, such as {_two(strangers)} ({people.of}){hint}.")


def refuse_larger_gold(judges: Rows, people: Rows, notes: list[str], *, sure: bool) -> None:
    """Labels are of some of the items that were scored; where there are more of them, the files may be swapped."""
    scored, labelled = (side.rows.loc[side.rows["score"].notna(), "item"].nunique() for side in (judges, people))
    if labelled <= scored or people.table is not None or judges.table is not None:
        return
    told = f"{people.source.name} labels {labelled} items and {judges.source.name} scores {scored} of a judge"
    if not sure:
        raise TableError(
            f"{told}: the judge's file comes first, so these two may be swapped. If they are not, say which columns "
            "hold what: judge= and label= (--judge, --label)."
        )
    notes.append(f"{told}: labels without a score are left out. Are the two columns or files the wrong way round?")


def _two(ids: Sequence[str]) -> str:
    return " and ".join(repr(item) for item in ids[:2])


def _alike(ids: Sequence[str], others: Sequence[str]) -> str:
    """What would make ids match: another case, zeros in front, something before or behind."""
    for words, made in (("case", str.casefold), ("zeros in front", lambda text: text.lstrip("0") or "0")):
        known = {made(item): item for item in others}
        if same := next((item for item in ids if made(item) in known and known[made(item)] != item), None):
            return f"; {same!r} and {known[made(same)]!r} differ in {words} alone: write them alike"
    return ""
