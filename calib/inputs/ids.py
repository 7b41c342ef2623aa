"""Rows of judges and of people: ids as texts, rows that are there twice, what has no counterpart, and the scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias
from unicodedata import normalize

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.codes import guessed_scale, refuse_unclear_low
from calib.inputs.names import Columns, Source, is_person, loose
from calib.inputs.roles import Seen, Side
from calib.table import TableError, parse_scale
from calib.table.schema import scale_words

_KEY = ["item", "system", "criterion", "rater"]
_ORDER = "shown"  # of the two of a pair, each order is asked of its own
_MOSTLY = 0.5
_SPARSE = 0.9  # people rated less than this share of what the busiest did
QUALITY = "quality"
_WINS = "0|0.5|1"
_SLIPS = 0.1  # more of a judge's scores than these off the scale of people are on a scale of their own
_LARGER = 2.0  # times as high as the highest label
_RARE = 0.03  # share of labels that may be slips


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of judges, or of people, and the column of ids that they have."""

    rows: pd.DataFrame
    source: Source
    ids: str
    system: str  # the column of systems, if there is one
    table: pd.DataFrame | None = None  # where it is one of calib's

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


def blank_ids(cells: pd.Series) -> pd.Series:
    """Which cells name nothing; "none" and "NA" may well be names."""
    return cells.isna() | (cells.astype(object).map(lambda cell: isinstance(cell, str) and not cell.strip()))


def chosen_ids(files: Sequence[Seen]) -> list[str]:
    """The column of ids of each source: of two those that have most in common."""
    if len(files) == 1 or any(not one.ids for one in files):
        return [next(iter(one.ids), "") for one in files]
    first, second = files
    best, pair = -1.0, (first.ids[0], second.ids[0])
    for mine in first.ids:
        held = set(id_texts(first.source.frame[mine]).dropna())
        for theirs in second.ids:
            wanted = set(id_texts(second.source.frame[theirs]).dropna())
            shared = len(held & wanted) / max(len(wanted), 1)
            if shared > best + 1e-9:
                best, pair = shared, (mine, theirs)
    return list(pair)


# --- rows of both sides by item ---------------------------------------------------------------------------------------


Sides: TypeAlias = dict[Side, Rows]  # the rows of judges and of people, where there are any


def parted(sides: Sides, files: Sequence[Seen]) -> Sides:
    """Judges and people in one column of scores: people by their names, or because they rated less."""
    if set(sides) != {"judge"} or len(files) > 1 or "rater" not in files[0].roles:
        return sides
    judges = sides["judge"]
    counts = judges.rows.dropna(subset=["score"])["rater"].value_counts()
    theirs = {str(name) for name in counts.index if is_person(name)}
    theirs = theirs or {str(name) for name in counts.index[counts < _SPARSE * counts.max()]}
    if not theirs or theirs >= set(counts.index):
        return sides
    rows = judges.rows
    mine = ~rows["rater"].isin(theirs)
    labels = rows[~mine & rows["score"].notna()].reset_index(drop=True)
    return {"judge": replace(judges, rows=rows[mine].reset_index(drop=True)), "label": replace(judges, rows=labels)}


def of_criteria(by_side: Sides, options: Columns, notes: list[str]) -> Sides:
    """Both sides with a criterion in each row: their own, the other's where that is one, or what was said."""
    sides = list(by_side.values())
    held = [list(dict.fromkeys(side.rows["criterion"].dropna())) for side in sides]
    criterion = options.get("criterion", "")
    for place, side in enumerate(sides):
        other = held[1 - place] if len(sides) > 1 else []
        default = criterion or (other[0] if len(other) == 1 else QUALITY)
        nameless = side.rows["criterion"].isna().any()
        if nameless and len(other) > 1 and default not in other:
            names = f"{sides[1 - place].source.name} has {', '.join(map(repr, other))}, and {side.source.name} none"
            raise ArgumentError("criterion", "must say which criterion is meant", names)
        if nameless:
            sides[place] = replace(side, rows=side.rows.assign(criterion=side.rows["criterion"].fillna(default)))
        kept = sides[place].rows["criterion"] == criterion
        if kept.any():
            table = None if side.table is None else side.table[kept.to_numpy()]
            sides[place] = replace(side, rows=sides[place].rows[kept].reset_index(drop=True), table=table)
    if len(sides) > 1:
        spelled = of_one_spelling(sides[0].rows, sides[1].rows, "criterion", notes)
        sides[1] = replace(sides[1], rows=spelled)
        if not set(sides[0].rows["criterion"]) & set(spelled["criterion"]):
            ours, theirs = (", ".join(map(repr, dict.fromkeys(side.rows["criterion"]))) for side in sides)
            names = f"{sides[0].source.name} has {ours} and {sides[1].source.name} {theirs}"
            raise ArgumentError("criterion", "must be one on both sides", names)
    return dict(zip(by_side, sides, strict=True))


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
        raise TableError(_contradiction(side, _alike_first(again[unlike])))
    if not repeats:
        both = _alike_first(again)
        lines = " and ".join(side.line(at) for at in both["at"][:2])
        such = f"such as {lines}, of {both['item'].iloc[0]!r}"
        notes.append(f"{side.source.name}: {int(extra.sum())} rows repeat others ({such}): each counts once.")
    return replace(side, rows=side.rows[~extra].reset_index(drop=True))


def _key_of(rows: pd.DataFrame) -> list[str]:
    return [*_KEY, *[_ORDER] * (_ORDER in rows)]


def _alike_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Those that have the item, system, criterion and rater of the first."""
    keys = rows[_key_of(rows)].fillna("")
    return rows[(keys == keys.iloc[0]).all(axis=1)]


def _contradiction(side: Rows, rows: pd.DataFrame) -> str:
    """Rows of one item with several scores, and which columns tell them apart."""
    first, both = rows.iloc[0], rows.iloc[:2]
    lines = " and ".join(f"{side.line(at)} ({score:g})" for at, score in zip(both["at"], both["score"], strict=True))
    of = "".join(f", {name} {first[name]!r}" for name in ("system", "criterion") if first[name] is not None)
    message = (
        f"{side.source.name}: column `{side.ids}`: {first['item']!r}{of} has several scores by {first['rater']!r}, "
        f"in {lines}. Where a column tells them apart, name it: system, criterion, annotator, rater "
        f"(in a shell --system, ...); else keep one row of each."
    )
    # columns that differ where all that is known of rows is the same, and have few values
    frame, by_line = side.source.frame, side.rows.drop_duplicates("at").set_index("at")
    keys = by_line[["item", "system", "criterion"]].fillna("").astype(str).agg("/".join, axis=1)
    apart = []
    for name in frame.columns.difference([side.ids, *side.rows["column"]], sort=False):
        cells = frame[name]
        few = not pd.api.types.is_float_dtype(cells.dtype) and 1 < cells.astype(str).nunique() <= len(cells) / 2
        if few and not pd.DataFrame({"key": keys, "cell": cells.loc[keys.index]}).duplicated().any():
            apart.append(f"`{name}`")
    return f"{message} Here {' or '.join(apart[:2])} does; of runs, keep one or their mean." if apart else message


def of_one_spelling(judges: pd.DataFrame, people: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame:
    """People's rows with systems or criteria spelled as the judge's are."""
    ours = {loose(value): value for value in judges[name].dropna().unique()}
    theirs = list(people[name].dropna().unique())
    other = {value: ours[loose(value)] for value in theirs if value not in ours.values() and loose(value) in ours}
    if other:
        such = ", ".join(f"{value!r} as {mine!r}" for value, mine in list(other.items())[:3])
        notes.append(f"the labels spell each {name} otherwise than the scores: {such} are taken as one.")
    return people.assign(**{name: people[name].map(lambda value: other.get(value, value))})


def joined(by_side: Sides, notes: list[str]) -> Sides:
    """Ids that are the same on both sides, and of each system where ids repeat; the groups that this makes."""
    sides = list(by_side.values())
    if len(sides) == 2:  # ids such as 7.0, which a gap in the file made of 7
        held = [side.rows["item"] for side in sides]
        for place, ids in enumerate(held):
            pointed = ids.map(lambda text: str(text).endswith(".0") and str(text)[:-2].isdigit())
            if len(ids) and pointed.all() and not set(held[1 - place]) & set(ids):
                side = sides[place]
                notes.append(f"{side.source.name}: ids such as {ids.iloc[0]!r} are taken as {ids.iloc[0][:-2]!r}.")
                sides[place] = replace(side, rows=side.rows.assign(item=ids.str.slice(0, -2)))
    if any(_repeats_over_systems(side.rows) for side in sides):
        sides = _by_system(sides)
    if len(sides) == 2:
        _refuse_unmatched(sides[0], sides[1], notes)
    return dict(zip(by_side, sides, strict=True))


def _repeats_over_systems(rows: pd.DataFrame) -> bool:
    pairs = rows[["item", "system"]].drop_duplicates()
    return bool(pairs["system"].notna().any() and pairs["item"].duplicated().any())


def _by_system(sides: Sequence[Rows]) -> list[Rows]:
    """The output of a system is an item, what several answered a group; each row must say whose it is."""
    repeated = next(side for side in sides if _repeats_over_systems(side.rows))
    every = {f"{item}/{system}" for item, system in zip(repeated.rows["item"], repeated.rows["system"], strict=True)}
    for side in sides:
        if side.rows["system"].isna().any() and not set(side.rows["item"]) & every:
            where = f"`{repeated.system}`" if repeated.system else "one column for each"
            rule = f"must be a column of {side.source.name} as well (or one column for each system)"
            unnamed = f"and {side.source.name} does not say whose output it is"
            raise ArgumentError("system", rule, f"{repeated.of} repeats over systems ({where}), {unnamed}")
    split = list(sides)
    for place, side in enumerate(sides):
        if side.table is None:
            rows, whole = side.rows, side.rows["system"].isna()
            group = rows["group"].where(rows["group"].notna(), rows["item"])
            item = rows["item"].where(whole, rows["item"] + "/" + rows["system"].astype(str))
            split[place] = replace(side, rows=rows.assign(item=item, group=group.where(~whole, rows["group"])))
    return split


def _refuse_unmatched(judges: Rows, people: Rows, notes: list[str]) -> None:
    """Labels must be of items that were scored; where most are not, that is said, and where none is, refused."""
    scored, labelled = dict.fromkeys(judges.rows["item"]), dict.fromkeys(people.rows["item"])
    shared = [item for item in labelled if item in scored]
    if labelled and scored and not shared:
        theirs, ours = list(labelled), list(scored)
        hint = (
            _alike(theirs, ours) or "; item= and label_item= (--column item=, --column label_item=) name other columns"
        )
        raise TableError(f"no id is in both: {judges.of} has {_two(ours)}, {people.of} has {_two(theirs)}{hint}.")
    unmatched = [item for item in labelled if item not in scored]
    hint = _alike(unmatched, list(scored))
    if hint or len(unmatched) > _MOSTLY * len(labelled):  # fewer are counted in each result
        of = f"{len(unmatched)} of {len(labelled)} labelled items have no score of the judge"
        notes.append(f"{of} and are left out, such as {_two(unmatched)} ({people.of}){hint}.")


def refuse_larger_labels(judges: Rows, people: Rows, notes: list[str], *, sure: bool) -> None:
    """Labels are of some of the items that were scored; where there are more of them, the files may be swapped."""
    scored, labelled = (side.rows.loc[side.rows["score"].notna(), "item"].nunique() for side in (judges, people))
    if labelled <= scored or people.table is not None or judges.table is not None:
        return
    counts = f"{people.source.name} labels {labelled} items and {judges.source.name} scores {scored} of a judge"
    if not sure:
        raise TableError(
            f"{counts}: the judge's file comes first, so these two may be swapped. If they are not, say which columns "
            "hold what: judge= and label= (--judge, --label)."
        )
    notes.append(f"{counts}: labels without a score are left out. Are the two columns or files the wrong way round?")


def _two(ids: Sequence[str]) -> str:
    return " and ".join(repr(item) for item in ids[:2])


def _alike(ids: Sequence[str], others: Sequence[str]) -> str:
    """What would make ids match: another case, zeros in front, something before or behind."""
    for words, made in (("case", str.casefold), ("zeros in front", lambda text: text.lstrip("0") or "0")):
        theirs = {made(item): item for item in others}
        if same := next((item for item in ids if made(item) in theirs and theirs[made(item)] != item), None):
            return f"; {same!r} and {theirs[made(same)]!r} differ in {words} alone: write them alike"
    return ""


# --- the scale of labels and of scores --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scales:
    """The scale of each criterion on each side, and the one of all in a text."""

    text: str = ""
    guessed: bool = False
    of_people: Mapping[str, str] = field(default_factory=dict)
    of_judges: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()  # what is to be said of judges on a scale of their own


def scales_of(sides: Sides, options: Columns, notes: list[str], *, worded: str, pairwise: bool) -> Scales:
    """The scales of both sides; `worded` is that of labels in words."""
    criteria = list(dict.fromkeys(name for side in sides.values() for name in side.rows["criterion"]))
    judges, people = sides.get("judge"), sides.get("label")
    if pairwise:
        return Scales(_WINS, False, dict.fromkeys(criteria, _WINS), dict.fromkeys(criteria, _WINS))
    fixed = options.get("scale", "")
    if fixed and ".." not in fixed:  # words as their values, as the tables write a scale
        fixed = "|".join(f"{value:g}" for value in sorted({value for _, value in scale_words(fixed)}))
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    apart: list[str] = []
    guessed = False
    for name in criteria:
        f, y = (
            pd.Series([], dtype=float)
            if side is None
            else side.rows.loc[side.rows["criterion"] == name, "score"].dropna().astype(float)
            for side in (judges, people)
        )
        text = fixed or _of_table(judges, name) or _of_table(people, name)
        if not (text or worded):
            refuse_unclear_low(f, y, name, notes)
            # a few labels more than twice as high as all others may be slips, and would stretch the scale
            most = y[y <= y.quantile(1 - _RARE)] if len(y) else y
            if len(most) and most.max() > 0 and y.max() > _LARGER * most.max():
                far, without = y[y > most.max()], guessed_scale(most) or "shorter"
                outliers = f"{len(far)} of {len(y)} labels of {name} ({far.max():g} at most) lie far above all others"
                notes.append(f"{outliers}; without them the scale would be {without}: --scale, scale= says it.")
        guessed |= not text
        text = text or worded or _guess(f, y)
        theirs[name] = text
        ours[name] = _of_judge(f, y, text, name, judges, apart)
    texts = list(dict.fromkeys(filter(None, theirs.values())))
    return Scales("; ".join(texts), guessed and bool(texts), theirs, ours, tuple(apart))


def _of_table(side: Rows | None, criterion: str) -> str:
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
