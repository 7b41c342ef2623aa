"""Readings of a judge one by one: a table of ratings, or a user's file in which each row of an item is a reading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.inputs.alike import few
from calib.inputs.cells import nature
from calib.inputs.names import Columns, Role, Source, key
from calib.inputs.resolve import Inputs, is_calibs, opened, resolve_inputs
from calib.inputs.roles import seen, with_lists
from calib.inputs.sides import refuse_unclear, sided
from calib.inputs.source import source_of
from calib.inputs.tables import checked_options
from calib.scale.partitions import refuse_partitions
from calib.table import SCORE_KEY, TableArgumentError, TableError, check_scores, has_replies
from calib.table.labels import Labels
from calib.table.validate import ValidatedTable, scores_in, validated

_MARK = "\x1freading "  # between an id and the number of its reading
_PLACE = rf"{_MARK}(\d+) (\d+) (\d+)"  # the number of the reading, that of its prompt, the row of the file
_WORDING = re.compile(r"prompt|wording|template|phrasing")
_COUNTS = re.compile(r"reading|draw|run|repeat|replica|trial|sample|seed|time|date|day|reason|comment|status")
_MOST_WORDINGS = 50
AnySource = ValidatedTable | Source


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """The readings of a judge as ratings, and what a user's file holds beside them.

    `labels` are people's in the same file, one for each item and person; `inputs` say how the file was read, which is
    None for a table of calib's.
    """

    ratings: ValidatedTable
    labels: pd.DataFrame | None = None
    inputs: Inputs | None = None

    @property
    def items(self) -> pd.DataFrame | None:
        """The groups and systems that a user's file has of its items."""
        names = [name for name in ("group", "system") if name in self.ratings.frame]
        if self.inputs is None or not names:
            return None
        return self.ratings.frame[["item", *names]].drop_duplicates("item", ignore_index=True)

    def named(self, column: str | None) -> str | None:
        """A column of the user's file as the ratings call it."""
        return column if self.inputs is None else self.inputs.named(column)


def opened_sources(columns: Columns, **things: Any) -> dict[str, tuple[AnySource, Columns]]:
    """The source of each argument, and the words for its columns, without those that name a column of another file.

    Tables of calib's need no words: to give some beside these alone is an error.
    """
    columns = checked_options(columns)
    sources: dict[str, AnySource] = {}
    for name, thing in things.items():
        refuse_partitions(thing, name)
        content = thing
        if not isinstance(thing, ValidatedTable):
            content = opened(thing.ratings if isinstance(thing, Labels) else thing, name)
        if isinstance(content, pd.DataFrame) and is_calibs(content):
            content = Source(content, name)
        sources[name] = content if isinstance(content, AnySource) else source_of(content, name)
    columns = with_lists([source for source in sources.values() if isinstance(source, Source)], columns)
    if columns and all(map(is_calibs, sources.values())):
        word, name = next(iter(columns)), next(iter(sources))
        raise ArgumentError(word, "describes your own file", "{0} is a table of calib's", mentions=(name,))
    words_of = {}
    for name, source in sources.items():
        elsewhere = {column for other in sources.values() for column in other.frame} - set(source.frame)
        words = {word: one for word, one in columns.items() if not isinstance(one, str) or one not in elsewhere}
        words_of[name] = (source, {} if is_calibs(source) else cast(Columns, words))
    return words_of


def resolve_readings(
    thing: Any,
    argument: str,
    columns: Columns | None = None,
    *,
    prompt: str | None = None,
    session: str | None = None,
    columns_are: Literal["readings", "prompts"] = "readings",
) -> Readings:
    """The readings in a table of calib's or in a user's file.

    In a user's file each row of an item is a reading, and so is each column of scores; `prompt` names the column of
    the wording that a reading is of, and where there is none several columns may be one prompt each. Of a `session` the
    column becomes one of that name in the ratings.

    Examples
    --------
    >>> mine = pd.DataFrame({"id": ["a", "a", "b", "b"], "score": [4, 5, 2, 2]})
    >>> resolve_readings(mine, "ratings").ratings.frame[["item", "draw", "score"]].to_numpy().tolist()
    [['a', 0, 4.0], ['a', 1, 5.0], ['b', 0, 2.0], ['b', 1, 2.0]]
    """
    source, words = opened_sources(columns or {}, **{argument: thing})[argument]
    sessions = None if session is None else _sessions_in(source, session)
    if is_calibs(source):
        if prompt is not None:
            rule, table = "describes your own file", "{0} is a table of calib's"
            raise ArgumentError("prompt", rule, table, mentions=(argument,))
        return Readings(_ratings_of(source, argument, sessions))
    assert isinstance(source, Source)
    source = replace(source, frame=source.frame.drop(columns=[] if session is None else session))
    wordings: Any = None
    if prompt is not None:
        if prompt not in source.frame:
            there = ", ".join(map(repr, source.frame))
            raise ArgumentError("prompt", f"must be a column of {source.name}", f"got {prompt!r}; there are {there}")
        wordings = source.frame[prompt].astype(object).where(source.frame[prompt].notna(), "").astype(str).to_numpy()
        source = replace(source, frame=source.frame.drop(columns=prompt))
    recognised = [seen(source, "", words)]
    refuse_unclear(recognised, words)
    side = sided(recognised, words)[0]
    item = side.roles.get("item") or next(iter(side.ids), None)
    if item is None:
        rule = "must name the column of ids, by which readings of one item are found"
        raise TableArgumentError("item", rule, f"{source.name} has none that looks like it")
    _refuse_ids(source, item, side.roles)
    scores, ids = [value.column for value in side.of("judge")], source.frame[item]
    if prompt is None and (columns_are == "readings" or len(scores) > 1):
        _mind_wordings(source, ids, [one.column for one in side.columns() if one.role in ("other", "source")])
    # whole numbers without a point, however a file was read
    whole = ids.dtype.kind == "f" and (ids == ids.round()).all()
    long, roles = source.frame.assign(**{item: (ids.astype(int) if whole else ids).astype(str)}), words
    if scores and "wide" not in words:
        rest = [name for name in long if name not in scores]
        score = "score" if "score" not in rest else f"score{_MARK}"
        if wordings is not None:
            wordings = np.tile(wordings, len(scores))
        elif columns_are == "prompts" and len(scores) > 1:
            wordings = np.repeat(np.array(scores, dtype=object), len(long))
        long = pd.concat([long[rest].assign(**{score: long[name]}) for name in scores], ignore_index=True)
        roles = cast(Columns, {**words, "judge": score})
    apart = [side.roles[role] for role in ("system", "criterion", "rater") if role in side.roles]
    number = long.groupby([item, *apart], sort=False, dropna=False).cumcount().astype(str)
    code, names = pd.factorize(np.full(len(long), "", dtype=object) if wordings is None else wordings)
    rows = np.resize(np.arange(len(source.frame)), len(long))
    long = long.assign(**{item: long[item] + _MARK + number + " " + code.astype(str) + " " + rows.astype(str)})
    inputs = resolve_inputs(replace(source, frame=long), None, {**roles, "item": item}, needs=("judge",))
    if inputs.inferred is not None:  # the columns are those of the file
        of_file = [one for one in inputs.inferred.columns if one.role != "judge"]
        of_file += [one for one in side.columns() if one.role == "judge"]
        inputs = replace(inputs, inferred=replace(inputs.inferred, columns=tuple(of_file)))
    # ratings, with the ids as they were, the number of each reading as its draw, and its prompt
    table = inputs.scores.astype({"item": object})
    marks = table["item"].str.extract(_PLACE).astype(int)
    if "wide" in words and "group" in table:  # which the id is where there is no other
        table["group"] = table["group"].astype(object).replace(_PLACE, "", regex=True)
    ratings = table[[name for name in (*SCORE_KEY, "score", "group", "system") if name in table]].assign(
        item=table["item"].str.replace(_PLACE, "", regex=True), draw=marks[0], prompt=names[marks[1]],
        method="sample", temperature=_temperature_in(source.frame), scale="" if inputs.guessed else table["scale"],
        **({} if sessions is None else {"session": sessions[marks[2]]}),
    )  # fmt: skip
    labels = inputs.annotations
    if labels is not None:  # one of each person for each item, which may stand in every row of its readings
        by = ["item", "criterion", "rater"]
        labels = labels.astype(dict.fromkeys(by, object))
        labels = labels.assign(item=labels["item"].str.replace(_PLACE, "", regex=True))
        mean = labels.groupby(by, sort=False)["score"].transform("mean")
        labels = check_scores(labels.assign(score=mean).drop_duplicates(by))
    return Readings(validated(ratings, "ratings", argument), labels, inputs)


def _refuse_ids(source: Source, item: str, roles: Mapping[Role, str]) -> None:
    """Refuse readings without an id, and ids of several systems."""
    if (missing := source.frame[item].isna()).any():
        line = source.line(int(missing.to_numpy().argmax()))
        raise TableArgumentError("item", f"must name each row, and {line} of {source.name} has no {item!r}")
    if (system := roles.get("system")) is None:
        return
    each = [item, *(roles[role] for role in ("criterion", "rater") if role in roles)]
    rows = source.frame[[*each, system]].drop_duplicates()
    if (again := rows.duplicated(each)).any():
        name = rows.loc[again, item].iloc[0]
        systems = few(list(rows.loc[rows[item] == name, system].unique()))
        rule = f"must name outputs of one system each in {source.name}"
        raise TableArgumentError("item", rule, f"{str(name)!r} is of {systems} by `{system}`: keep the rows of one")


def _temperature_in(frame: pd.DataFrame) -> float:
    """The temperature of all readings, where a column has a single one."""
    cells = [pd.to_numeric(frame[name], errors="coerce").unique() for name in frame if key(name) == "temperature"]
    return float(cells[0][0]) if len(cells) == 1 and len(cells[0]) == 1 else np.nan


def _sessions_in(source: AnySource, session: str) -> Any:
    """The session of each row, which a column of that name has without gaps."""
    name = source.name if isinstance(source, Source) else source.argument
    if session not in source.frame:
        there = ", ".join(map(repr, source.frame))
        raise TableArgumentError("session", f"must be a column of {name}", f"got {session!r}; there are {there}")
    cells = source.frame[session].astype(object)
    if n := int((cells.isna() | (cells.astype(str).str.strip() == "")).sum()):
        raise TableArgumentError("session", "must say the session of every reading", f"{session!r} has {n} gaps")
    return cells.astype(str).to_numpy()


def _mind_wordings(source: Source, ids: pd.Series, unread: Sequence[str]) -> None:
    """Warn of a column that may hold the prompts of the readings, where no option names one."""
    for column in unread:
        cells, name = source.frame[column], key(column)
        says = _WORDING.search(name) or (nature(cells) == "texts" and not _COUNTS.search(name))
        if column != ids.name and says and 1 < len(cells.unique()) <= _MOST_WORDINGS:
            pairs = pd.DataFrame({"item": ids, "cell": cells}).drop_duplicates()
            if (pairs["item"].value_counts() > 1).mean() > 0.5:  # not of single items, which may be slips
                hint = "if it says the prompt, keep the rows of one, or ask `sensitivity` (prompt=, --prompt)"
                check.warn(f"{source.name}: readings of one item differ in `{column}` and are taken as alike: {hint}.")


def scores_of_source(thing: Any, argument: str, words: Columns, side: Literal["judge", "label"]) -> ValidatedTable:
    """Scores of a judge, or labels of people one by one, from a table of calib's or from a user's file."""
    if isinstance(thing, Source) and not is_calibs(thing):
        inputs = resolve_inputs(thing, None, words, names=(argument,), needs=(side,))
        thing = inputs.scores if side == "judge" else inputs.annotations
    elif isinstance(thing, Source):
        with _named_by_path(thing):
            return scores_in(thing.frame, argument)
    return scores_in(thing, argument)


def _ratings_of(source: AnySource, argument: str, sessions: Any = None) -> ValidatedTable:
    """A table of calib's as ratings; scores, which are means of readings, are refused."""
    frame = source.frame if sessions is None else source.frame.assign(session=sessions)
    if not has_replies(frame):
        if {"mass", "n_unread"} <= set(frame):
            rule = "must be ratings, one row for each reading"
            raise TableArgumentError(argument, rule, "these are scores (of `summarize`), which are means of readings")
        key = [name for name in SCORE_KEY if name in frame]  # rows of one item are its readings
        frame = frame.assign(draw=frame.groupby(key, sort=False, dropna=False, observed=True).cumcount().to_numpy())
    with _named_by_path(source):
        return validated(frame, "ratings", argument)


@contextmanager
def _named_by_path(source: AnySource) -> Iterator[None]:
    """Errors in a file name its path."""
    try:
        yield
    except TableError as error:
        if isinstance(error, TableArgumentError) or not isinstance(source, Source) or source.path is None:
            raise
        raise TableError(f"{source.path}: {str(error).partition(': ')[2]}") from None
