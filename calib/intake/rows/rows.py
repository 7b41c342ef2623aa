"""Columns of scores as rows: what several columns stand for, and each cell as a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from calib.intake.cells.values import Values, blank, valued
from calib.intake.cells.words import known_order, loosely
from calib.intake.columns.names import is_model, is_person, loose
from calib.intake.columns.roles import Seen, Side, Value
from calib.intake.rows.ids import id_texts, item_texts
from calib.intake.rows.pairs import compared_ids, won
from calib.intake.taken import Columns, Role, Stands
from calib.table import TableArgumentError, TableError
from calib.table.schema import scale_words

QUALITY, PREFERENCE = "quality", "preference"
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
        person = value.name.person or (value.name.entity if not entity else "")
        return (
            person if person and not entity else (value.column if len(like) > 1 else said_rater(said, one) or "human")
        )
    if entity and how.stands == "rater":
        return entity
    if len(like) > 1:
        return value.column
    stem = one.source.path.stem if one.source.path is not None and one.side == "judge" else ""
    return str(said.get("rater", "")) or (stem if value.name.says_nothing and stem else "judge")


def said_rater(said: Columns, one: Seen) -> str:
    """The name that was said for who rated, in a study where that can only be a person."""
    return str(said.get("rater", "")) if one.side == "label" and "judge" not in said else ""


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


def people_among(names: Iterable[object]) -> set[str]:
    """Those of several raters that are people by their names."""
    return {str(name) for name in names if is_person(name)}
