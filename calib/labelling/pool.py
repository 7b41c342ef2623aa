"""Items to label with their texts, what was drawn from them, and which annotator gets which."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.inputs.cells import id_texts
from calib.inputs.names import ROLE_OF, Columns, Source, is_model, key
from calib.inputs.resolve import opened
from calib.inputs.roles import Seen, is_table, refuse_unknown, seen
from calib.inputs.rows import compared_ids
from calib.inputs.source import source_of
from calib.labelling.record import Criterion, LabelSheet, Record
from calib.labelling.talk import COLUMN, TURN, shown_talk
from calib.table import TableArgumentError, TableError
from calib.table.messages import MessageError
from calib.table.pairs import chosen_in

_FEW, _SHORT = 12, 40  # different words, and characters of one, that are no texts
_LONGEST = 40  # characters of a name in that of a file
_SHOWN = ("source", "output", "text")  # roles of columns of texts, in the order in which they are shown


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """What was drawn, and on what the judge scored it.

    `chosen` has the ids as they stand there, by the ids as they are matched; None is all items. `texts` are columns
    that it has itself.
    """

    chosen: dict[str, str] | None = None
    strata: Mapping[str, Any] = field(default_factory=dict)  # by the ids as they stand
    firsts: Mapping[str, str] = field(default_factory=dict)  # of a pair: the system whose wins are scored
    criteria: tuple[str, ...] = ()
    scales: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, pd.Series] = field(default_factory=dict)  # of the judge, by criterion
    prompts: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    is_own: bool = False  # a table that does not say what was chosen


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Items by their ids: texts, where they stand, and of a pair whose outputs they are."""

    name: str
    parts: tuple[str, ...]
    texts: dict[str, tuple[str, ...]]
    lines: dict[str, str]
    sides: dict[str, tuple[str, str]]


def source_in(thing: Any, argument: str) -> Source:
    """A file or frame as it is read; what was read before is not read again."""
    source = opened(thing, argument)
    return source if isinstance(source, Source) else source_of(source, argument)


# --- what was drawn -------------------------------------------------------------------------------------------------


def drawn_of(drawn: Any, columns: Columns) -> Drawing:
    """What `choose` returned, rows of one's own, ids, or a file of these."""
    if drawn is None:
        return Drawing()
    drawn = list(drawn) if isinstance(drawn, Iterator) else drawn
    is_file_or_frame = isinstance(drawn, str | Path | Mapping) or hasattr(drawn, "columns")
    if isinstance(drawn, Iterable) and not is_file_or_frame and not any(isinstance(one, Mapping) for one in drawn):
        return _drawn_ids(drawn)
    source = source_in(drawn, "drawn")
    frame = source.frame
    if "chosen" in frame:
        try:
            frame = frame[chosen_in(frame)]
        except TableError as error:
            raise TableError(f"{source.name}: {error}") from None
        if frame.empty:
            problem = f"{source.name} has none where `chosen` is true"
            raise TableArgumentError("drawn", "must have chosen items", problem)
    common: dict[str, Any] = {"texts": tuple(_text_columns(source)), "is_own": "chosen" not in frame}
    if not is_table(frame):
        read = seen(replace(source, frame=frame), "", columns)
        name = next((one for one in read.ids if columns.get("item", one) == one), "")
        if not name:
            came = f"{source.name} has {listed_names(source.frame)}"
            raise TableArgumentError("drawn", "must have a column of ids", came)
        return Drawing(_by_id(_ids_of(read, name)), **common)
    # a table of calib's: ids as they stand, criterion and scale of the judge, strata
    spelled = [str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in frame["item"]]
    keys = id_texts(pd.Series(spelled, dtype=object))
    cells = frame.astype(object).where(frame.notna(), "")
    scales = cells.groupby("criterion", sort=False)["scale"].first() if "scale" in frame else {}
    return Drawing(
        chosen=dict(zip(keys, spelled, strict=True)),
        strata=dict(zip(spelled, frame["stratum"], strict=True)) if "stratum" in frame else {},
        firsts=dict(zip(keys, cells["system"].astype(str), strict=True)) if "system" in frame else {},
        criteria=tuple(dict.fromkeys(cells["criterion"].astype(str))),
        scales={str(criterion): str(scale) for criterion, scale in dict(scales).items()},
        scores={str(name): rows.dropna() for name, rows in source.frame.groupby("criterion", sort=False)["score"]},
        prompts=tuple(dict.fromkeys(cells["prompt"].astype(str))) if "prompt" in frame else (),
        **common,
    )


def _drawn_ids(drawn: Iterable[Any]) -> Drawing:
    ids = pd.Series(list(drawn), dtype=object)
    if ids.empty:
        raise ArgumentError("drawn", "must hold ids", "is empty")
    if ids.map(lambda one: type(one).__name__ in ("bool", "bool_")).any():
        problem = "got True and False: give the table that has the column `chosen`"
        raise ArgumentError("drawn", "must hold ids", problem)
    if not ids.map(lambda one: isinstance(one, str | int | float) or hasattr(one, "item")).all():
        raise ArgumentError("drawn", "must be a table, a path, or ids", f"got {list(drawn)[:3]!r}")
    texts = id_texts(ids)
    if texts.duplicated().any():
        raise ArgumentError("drawn", "must hold each id once", f"has {texts[texts.duplicated()].iloc[0]!r} again")
    return Drawing(_by_id(texts))


def _by_id(ids: pd.Series) -> dict[str, str]:
    if ids.isna().any():
        raise ArgumentError("drawn", "must have an id for each item", f"has none in row {int(ids.isna().idxmax())}")
    return {one: one for one in ids}


# --- the items ------------------------------------------------------------------------------------------------------


def texts_of_items(
    items: Any, columns: Columns, inputs: Sequence[str] | None, pair: Sequence[str] | None, drawn: Drawing
) -> Pool:
    """The texts of all items, chosen or not."""
    source = source_in(items, "items")
    refuse_unknown([source], columns)
    if drawn.is_own and "chosen" in source.frame:
        rule = "must be the table that has the column `chosen`"
        problem = f"{source.name} has it, which came as {{0}}: the two may be swapped"
        raise TableArgumentError("drawn", rule, problem, mentions=("items",))
    read = seen(source, "", columns)
    names = _columns_shown(source, inputs, pair, drawn)
    # ids are in the column that has most of what was drawn; without one they are the places of rows
    columns_of_ids = [columns["item"]] if "item" in columns else read.ids
    candidates = [_ids_of(read, name, paired=pair is not None) for name in columns_of_ids]
    if not candidates:
        candidates.append(pd.Series(range(len(source.frame))).map("{}".format))
    ids = max(candidates, key=lambda one: 0 if drawn.chosen is None else len(drawn.chosen.keys() & set(one)))
    columns_shown = [list(_cells_shown(source, name)) for name in names]
    cells = zip(*columns_shown, strict=True)
    texts: dict[str, tuple[str, ...]] = {}
    lines: dict[str, str] = {}
    for place, (item, row) in enumerate(zip(ids.tolist(), cells, strict=True)):
        if not isinstance(item, str):  # a row without an id
            continue
        own = tuple(row)
        if texts.setdefault(item, own) != own:
            where = f"{source.name}: {source.line(place)}"
            hint = "; where rows are of several systems, name their column: system" * ("system" not in read.roles)
            raise TableError(f"{where}: {item!r} has other texts than in {lines[item]}, but is one item{hint}.")
        lines.setdefault(item, source.line(place))
    # what a text is called: its column, unless that may say whose it is
    heads = ["output" if is_model(name) else name for name in names]
    sides: dict[str, tuple[str, str]] = {}
    if pair:
        heads[-2:] = ["first", "second"]
        first, second = read.cells("first"), read.cells("second")
        if first is not None and second is not None:
            sides = dict(zip(ids, zip(id_texts(first), id_texts(second), strict=True), strict=True))
    return Pool(source.name, tuple(heads), texts, lines, sides)


def _columns_shown(
    source: Source, inputs: Sequence[str] | None, pair: Sequence[str] | None, drawn: Drawing
) -> list[str]:
    """The columns of texts: those that were named, else those whose names say so."""
    has = f"{source.name} has {listed_names(source.frame)}"
    for argument, named in (("inputs", inputs), ("pair", pair)):
        for name in named or ():
            if name not in source.frame:
                raise TableArgumentError(argument, "must be columns of the items", f"got {name!r}: {has}")
    if pair is not None and (len(pair) != 2 or pair[0] == pair[1]):
        raise ArgumentError("pair", "must be two columns of outputs", f"got {pair!r}")
    two = list(pair or ())
    by_name = [name for name in _text_columns(source) if not two or ROLE_OF.get(key(name)) == "source"]
    columns = [*(name for name in (by_name if inputs is None else dict.fromkeys(inputs)) if name not in two), *two]
    if not columns and drawn.texts:
        problem = f"{source.name} has none and the other one has {listed_names(drawn.texts)}: the two may be swapped"
        raise TableArgumentError("items", "must hold the texts that people read", problem)
    if not columns and is_table(source.frame):
        rule = "must hold the texts that people read: give the file of the texts, and this one as {0}"
        raise TableArgumentError("items", rule, f"{source.name} is a table of scores", mentions=("drawn",))
    if not columns:
        problem = f"none has a name such as source, question, answer or output: {has}"
        raise TableArgumentError("inputs", "must name the columns of texts that people read", problem)
    if not two and inputs is None and all(name != COLUMN and ROLE_OF[key(name)] != "output" for name in columns):
        problem = f"{listed_names(columns)} alone would be seen: {has}"
        raise TableArgumentError("inputs", "must name the columns that people read, or {0} two outputs", problem,
                                 mentions=("pair",))  # fmt: skip
    return columns


def _text_columns(source: Source) -> list[str]:
    """The columns that are named as texts are, source before output, and may be texts.

    The prompt of a table of scores is an id; a source of few short words, such as the name of a data set or of a
    system, is nothing to read.
    """
    frame = source.frame
    roles = {name: ROLE_OF.get(key(name)) for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)}
    columns = []
    for role, name in ((role, name) for role in _SHOWN for name in roles if roles[name] == role):
        if is_table(frame) and name == "prompt":
            continue
        if role == "source":
            cells = frame[name].dropna().astype(str)
            n = cells.nunique()
            if 3 * n <= len(cells) and n <= _FEW and bool((cells.str.len() <= _SHORT).all()):
                continue
        columns.append(name)
    talks = _shown_text(next(iter(frame[COLUMN].dropna()), "")) if COLUMN in frame else ""
    return [*columns, COLUMN] if talks.startswith("[") else columns


def listed_names(names: Iterable[Any]) -> str:
    """Names in quotes, with commas."""
    return ", ".join(repr(str(name)) for name in names)


def _ids_of(read: Seen, name: str, *, paired: bool = False) -> pd.Series:
    """The ids in a column, with the system where they repeat over systems."""
    if paired and {"first", "second"} <= set(read.roles):
        return compared_ids(read.with_role("item", name, "ids"))
    ids, system = id_texts(read.source.frame[name]), read.cells("system")
    if system is None or read.roles["system"] == name:
        return ids
    systems = id_texts(system)
    repeats = pd.DataFrame({"item": ids, "system": systems}).drop_duplicates()["item"].duplicated().any()
    return ids + "/" + systems if repeats else ids


def _cells_shown(source: Source, name: str) -> Iterator[str]:
    """A column as people read it; a conversation up to the turn that is judged, where a column names one."""
    cells = source.frame[name].tolist()
    if name != COLUMN:
        yield from map(_shown_text, cells)
        return
    turns = source.frame[TURN].tolist() if TURN in source.frame else [None] * len(cells)
    for place, (cell, turn) in enumerate(zip(cells, turns, strict=True)):
        try:
            yield "" if _shown_text(cell) == "" else shown_talk(cell, turn)
        except MessageError as error:
            raise TableError(f"{source.name}: {source.line(place)}: column `{COLUMN}`: {error}.") from None


def _shown_text(cell: Any) -> str:
    """A cell as people read it; messages and lists as JSON."""
    if isinstance(cell, str):
        return cell
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    if isinstance(cell, list | dict | tuple):
        return json.dumps(cell, ensure_ascii=False, indent=1, default=str)
    if cell is None or bool(pd.isna(cell)):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def to_ask(pool: Pool, drawn: Drawing, page: str, criteria: tuple[Criterion, ...]) -> list[Record]:
    """The chosen items, each with its id as it stands where it was drawn."""
    chosen = {item: item for item in pool.texts} if drawn.chosen is None else drawn.chosen
    if unmatched := [item for item in chosen if item not in pool.texts]:
        few, there = (" and ".join(map(repr, ids[:2])) for ids in (unmatched, list(pool.texts)))
        problem = f"{len(unmatched)} of {len(chosen)} are not in {pool.name}, such as {few}; it has {there}"
        raise TableArgumentError("drawn", "must hold ids of the items", problem)
    records = []
    for item, spelled in chosen.items():
        texts, sides, where = pool.texts[item], pool.sides.get(item), f"{pool.name}, {pool.lines[item]}"
        if "\0" in spelled or spelled.encode("utf-8", "ignore").decode() != spelled:
            rule = "holds half a character or NUL, which no file of labels can"
            raise TableError(f"{where}: the id {item!r} {rule}.")
        if all(not text.strip() for text in texts):
            raise TableError(f"{where}: {item!r} has no text to show ({', '.join(pool.parts)}).")
        # of a pair the output first whose wins the judge's scores are
        turned = sides and drawn.firsts.get(item, sides[0]) == sides[1] != sides[0]
        texts = (*texts[:-2], texts[-1], texts[-2]) if turned else texts
        records.append(Record(spelled, texts, page=page, criteria=criteria))
    return records


# --- which annotator gets which item ----------------------------------------------------------------------------------


def rng_of(*words: object) -> np.random.Generator:
    """A source of draws from words.

    Examples
    --------
    >>> int(rng_of(0, "3e90d600b322", "ann").integers(1000))
    421
    """
    text = "\0".join(map(str, words)).encode("utf-8", "surrogatepass")
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(text).digest()[:16])))


def sheets_of(
    records: Sequence[Record],
    annotators: Sequence[str],
    *,
    overlap: int | None = None,
    strata: Mapping[str, object],
    seed: int,
    page: str,
    paired: bool,
) -> tuple[LabelSheet, ...]:
    """A sheet for each annotator: the common items and a share of the others, shuffled.

    Common items are drawn with the same chance each, spread over the strata, and the others are dealt out stratum by
    stratum, so that shares differ by one item at most, in each stratum too. Of a pair two annotators who share it see
    the two orders, and each annotator sees half of the pairs in either.
    """
    count = len(records) if overlap is None else overlap
    # in random order within each stratum; the order in which items came says nothing
    ordered = sorted(records, key=lambda one: one.item)
    mixed = [ordered[at] for at in rng_of(seed, page, "deal").permutation(len(ordered))]
    dealt = sorted(mixed, key=lambda one: str(strata.get(one.item, "")))
    # at one distance from a random start each place has the same chance
    start = rng_of(seed, page, "common").random()
    common = [int((start + k) * len(dealt) / count) for k in range(count)]
    shared = [dealt[place] for place in common]
    rest = [one for place, one in enumerate(dealt) if place not in set(common)]
    sheets = []
    for number, name in enumerate(annotators):
        own = rest[number :: len(annotators)]
        mine = [*shared, *own]
        if paired:
            source, n = rng_of(seed, page, "swap"), len(shared)
            base = _some(n, n // 2 + int(source.integers(2)) * (n % 2), source)
            flags = [flag != bool(number % 2) for flag in base]
            more = len(mine) // 2 - sum(flags)
            flags += _some(len(own), min(max(more, 0), len(own)), rng_of(seed, page, name, "swap"))
            mine = [replace(one, swapped=flag) for one, flag in zip(mine, flags, strict=True)]
        order = rng_of(seed, page, name, "order").permutation(len(mine))
        placed = (replace(mine[at], annotator=name, position=place) for place, at in enumerate(order, start=1))
        sheets.append(LabelSheet(name, tuple(placed)))
    return tuple(sheets)


def _some(n: int, count: int, source: np.random.Generator) -> list[bool]:
    """A flag for each of n, true for `count` of them at random."""
    picked = set(source.permutation(n)[:count].tolist())
    return [place in picked for place in range(n)]


def annotator_names(
    annotators: Sequence[str] | None, rater: str | None, overlap: int | None, n: int
) -> tuple[str, ...]:
    """The names of those who label; one that is empty where the page shall ask."""
    if annotators is None:
        if overlap is not None:
            raise ArgumentError("overlap", "needs {0}, two or more", f"got {overlap!r}", mentions=("annotators",))
        return (_name(rater, "rater") if rater is not None else "",)
    if rater is not None:
        rule = "must be left out where {0} are given"
        raise ArgumentError("rater", rule, f"got {rater!r}", mentions=("annotators",))
    names = tuple(_name(name, "annotators") for name in annotators)
    if not names or len(set(names)) < len(names):
        again = next((f"{name!r} twice" for name in names if names.count(name) > 1), "none")
        raise ArgumentError("annotators", "must be different names, one at least", f"got {again}")
    if overlap is not None:
        overlap = check.whole(overlap, "overlap", least=0)
        if len(names) < 2:
            problem = f"there is {names[0]!r} alone"
            raise ArgumentError("overlap", "needs {0}, two or more", problem, mentions=("annotators",))
        most = f"must be at most the number of items to label ({n})"
        if overlap > n:
            raise ArgumentError("overlap", most, f"got {overlap}")
        if overlap == 0 and n < len(names):
            raise ArgumentError("annotators", most, f"are {len(names)}")
    return names


def _name(text: str, argument: str) -> str:
    name = normalize("NFC", text.strip())
    if not name or not name.isprintable():
        raise ArgumentError(argument, "must be a name of characters that can be printed", f"got {text!r}")
    return name


def file_names(names: Sequence[str]) -> list[str]:
    """The names of annotators as parts of file names, all different even where case does not count."""
    plain_names: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.]+", "-", name).strip("-.")[:_LONGEST].strip("-.") or "annotator"
        tried, number = plain, 1
        while tried.casefold() in map(str.casefold, plain_names):
            number += 1
            tried = f"{plain}-{number}"
        plain_names.append(tried)
    return plain_names
