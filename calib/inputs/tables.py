"""Files of one's own as tables: what the columns hold, put into rows, matched by item, checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, cast, get_args

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, as_typed
from calib.inputs.cells import Values, valued
from calib.inputs.names import Columns, Intake, Source, Stands
from calib.inputs.roles import Seen, is_table, refuse_unknown, seen, sided
from calib.inputs.source import source_of
from calib.inputs.study import tables_of
from calib.table import SCHEMAS, SCORE_KEY, TableArgumentError, TableError, check_scores, has_replies

_PEOPLE = ("gold", "human", "people")  # arguments that are people's


def taken_in(
    first: Any,
    second: Any = None,
    *,
    names: Sequence[str] = ("scores", "gold"),
    in_pairs: bool = False,
    **columns: Unpack[Columns],
) -> Intake:
    """Files or frames of one's own, or one beside a table of calib's, as tables.

    They are what `source_of` takes: one that holds both sides, or one of each; `names` are the arguments that they came
    as, of which "gold" and "human" are people's. With `in_pairs` preferences stay shares of the first of the two
    compared, who are named in `system_a` and `system_b`; else they become win rates of systems. `columns` say what
    columns are; the rest is recognised.

    Examples
    --------
    >>> import pandas as pd
    >>> mine = pd.DataFrame({"id": ["a", "b", "c"], "gpt-4o": [4, 2, 5], "label": [5, None, None]})
    >>> found = taken_in(mine)
    >>> [(one.column, one.role) for one in found.columns]
    [('id', 'item'), ('gpt-4o', 'judge'), ('label', 'label')]
    >>> len(found.scores), len(found.gold), found.scale
    (3, 1, '1|2|3|4|5')
    """
    things = [(thing, name) for thing, name in zip((first, second), names, strict=False) if thing is not None]
    sources = [thing if isinstance(thing, Source) else source_of(thing, name) for thing, name in things]
    sources = [_told_apart(one, name, sources) for one, (_, name) in zip(sources, things, strict=True)]
    # whose scores a file holds is said by its place; one alone may hold both
    sides: list[Any] = ["label" if name in _PEOPLE else "judge" if len(things) > 1 else "" for _, name in things]
    said = _of_people(checked_words(columns), sources, sides)
    refuse_unknown([one for one in sources if not is_table(one.frame)] or sources, said)
    found = [seen(source, side, said) for source, side in zip(sources, sides, strict=True)]
    notes: list[str] = []
    found = sided(_in_order(found, said, notes), said)
    return tables_of(found, said, notes, in_pairs=in_pairs)


def checked_words(columns: Columns) -> Columns:
    """The words that were said; None says nothing."""
    known = Columns.__annotations__
    for name in columns:
        if name not in known:
            raise TypeError(f"got an unexpected keyword argument {name!r}; words for columns are {', '.join(known)}")
    said = {name: value for name, value in columns.items() if value is not None}
    as_typed(Columns, said)
    # a column may be called by a number
    said = {
        name: str(value) if isinstance(value, int) else value for name, value in said.items() if value not in ((), [])
    }
    if said.get("wide") not in (None, *get_args(Stands)):
        raise ArgumentError("wide", f"must be one of {', '.join(get_args(Stands))}", f"got {said['wide']!r}")
    return cast(Columns, said)


def _told_apart(one: Source, name: str, sources: Sequence[Source]) -> Source:
    """Two files of one name by their folders, two frames by the names of their arguments."""
    alike = [other.path for other in sources if other.name == one.name]
    if len(alike) < 2:
        return one
    return replace(one, name=str(one.path) if one.path is not None and alike.count(one.path) < 2 else f"`{name}`")


def _of_people(said: Columns, sources: Sequence[Source], sides: Sequence[str]) -> Columns:
    """Words for scores are about the labels, where the judge's are in a table of calib's."""
    theirs = [place for place, one in enumerate(sources) if not is_table(one.frame)]
    if len(sources) < 2 or len(theirs) != 1 or sides[theirs[0]] != "label":
        return said
    names = {"judge": "label"} | ({"rater": "annotator"} if said.get("rater") in sources[theirs[0]].frame else {})
    told = {names.get(word, word): value for word, value in said.items() if names.get(word, word) not in said}
    return cast(Columns, told | {word: value for word, value in said.items() if word not in names})


def _in_order(found: Sequence[Seen], said: Columns, notes: list[str]) -> list[Seen]:
    """The judge's file and people's; where the names of their columns say that they were swapped, turned round."""
    if len(found) < 2 or {one.side for one in found} != {"judge", "label"} or "judge" in said or "label" in said:
        return list(found)
    if any(is_table(one.source.frame) for one in found) or not _are_swapped(found):
        return list(found)
    places, (first, second) = [one.side for one in found], [one.source.name for one in found]
    mine, theirs = ("labels", "a judge's scores") if places[0] == "judge" else ("a judge's scores", "labels")
    notes.append(f"{first} holds {mine} and {second} {theirs}, by the names of their columns: taken in that order.")
    return [seen(one.source, places[1 - place], said) for place, one in enumerate(found)]


def _are_swapped(found: Sequence[Seen]) -> bool:
    """Whether both files say that they are the other, or one does, the other says nothing, and their lengths agree."""
    says = [{value.side for value in one.graded if value.side} for one in found]
    others = [{found[1].side}, {found[0].side}]
    if says == others:
        return True
    rows = {one.side: len(one.source.frame) for one in found}
    return rows["label"] > rows["judge"] and (says in ([others[0], set()], [set(), others[1]]))


# --- A table of scores from columns of one's own ----------------------------------------------------------------------


def scores_from(
    frame: Any,
    *,
    item: str = "item",
    score: str = "score",
    criterion: str | None = None,
    rater: str | None = None,
    scale: str = "",
    group: str | None = None,
    system: str | None = None,
) -> pd.DataFrame:
    """A table of scores from your own columns.

    Parameters
    ----------
    frame : DataFrame, path, dict or list
        A pandas, polars or pyarrow frame; a .csv, .tsv, .jsonl, .json, .parquet or .xlsx file; columns; rows.
    item : str
        The column of ids.
    score : str
        The column of scores: numbers, or words of a scale.
    criterion : str, optional
        A column, or, where there is none of that name, the criterion of all rows. Default: the column `criterion`
        where there is one, else "quality".
    rater : str, optional
        A column, or, where there is none of that name, the rater of all rows. Default: the column `rater` where
        there is one. Without either the scores are labels of people ("human"): where one is empty there is no label,
        and the row is left out. A rater's empty score stays, and counts as unread.
    scale : str, optional
        ``"1|2|3|4|5"`` or ``"lo..hi"``; words worst first, ``"poor|fair|good"``, which are 0, 1, 2; words with their
        values, ``"no=0|yes=1"``. Blanks around words and their case do not matter. Pass and fail, yes and no, low,
        medium and high and their like are known without it.
    group : str, optional
        The column of what several outputs answer, such as the source document. Default: the column `group`.
    system : str, optional
        The column of who wrote the output. Default: the column `system`.

    Returns
    -------
    DataFrame
        Columns that are not named here ride along; one with a name of calib's own (`prompt`, `mode`) as `my_prompt`.

    Examples
    --------
    >>> mine = pd.DataFrame({"id": ["a", "b"], "rating": [4, 2]})
    >>> scores_from(mine, item="id", score="rating", criterion="fluency", scale="1|2|3|4|5")[["item", "score", "rater"]]
      item  score  rater
    0    a    4.0  human
    1    b    2.0  human
    """
    as_typed(scores_from, locals())
    source = source_of(frame, "frame")
    given, said = source.frame, {"item": item, "score": score, "group": group, "system": system}
    if is_table(source.frame) and has_replies(source.frame):
        rule = "must be scores, one row per label or grade"
        raise TableArgumentError("frame", rule, f"{source.name} has ratings, one row per reply: calib.summarize them")
    taken = {column: name for column, name in said.items() if name} | _unsaid(given, said)
    _there(given, taken)
    out = pd.DataFrame({column: given[name] for column, name in taken.items()})
    for column, name, default in (("criterion", criterion, "quality"), ("rater", rater, "human")):
        out[column] = given.get(column, default) if name is None else given.get(name, name)
    values = _values(source, out, score, scale)
    read, people = values.numbers.notna(), rater == "human" or (rater is None and "rater" not in given)
    how = {"method": "human"} if people else {"method": "given", "n": read.astype(int), "n_unread": (~read).astype(int)}
    whose = [name or column for column, name in (("criterion", criterion), ("rater", rater))]
    more = _riding(source, {*taken.values(), *whose, *["scale"] * bool(values.scale)})
    known = {name: cells for name, cells in (how | {"scale": values.scale}).items() if name not in more}
    table = out.assign(score=values.numbers, **known).join(more)
    table = table[read] if people else table
    _one_each(source, table, item)
    return check_scores(table)


def _unsaid(given: pd.DataFrame, said: Mapping[str, str | None]) -> dict[str, str]:
    """Columns of the design that are called as calib calls them, if nothing else was said and they have no gaps."""
    free = [name for name in ("group", "system") if not said[name] and name not in said.values()]
    return {name: name for name in free if name in given and given[name].notna().all()}


def _there(given: pd.DataFrame, taken: Mapping[str, str]) -> None:
    for argument, name in taken.items():
        if name not in given:
            there = ", ".join(map(repr, given.columns))
            near = difflib.get_close_matches(name, given.columns, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; calib.look says what its columns may be"
            raise TableArgumentError(
                argument, "must be a column of the frame", f"got {name!r}; there are {there}{hint}"
            )


def _one_each(source: Source, table: pd.DataFrame, item: str) -> None:
    """Refuse an item without an id, and one that a rater scored twice."""
    where, key = f"{source.name}: column `{item}`", [name for name in SCORE_KEY if name in table]
    missing = table["item"].isna() | (table["item"].astype(object) == "")
    if missing.any():
        raise TableError(f"{where}, {source.line(missing.idxmax())}: must hold an id, but is empty.")
    again = table.duplicated(key)
    if again.any():
        row = again.idxmax()
        first = (table[key].astype(object).fillna("") == table.loc[row, key].fillna("")).all(axis=1).idxmax()
        rule = f"must be there once for each rater and criterion, but {str(table['item'][row])!r} is in"
        hint = "`rater` and `criterion` name the columns of these; of several systems each output is an item"
        raise TableError(f"{where}, {source.line(row)}: {rule} {source.line(first)}, too ({hint}).")


def _values(source: Source, out: pd.DataFrame, score: str, scale: str) -> Values:
    """The numbers of the scores, after a look at ids; what was forgiven is said."""
    try:
        values = valued(out["score"], scale, column=score, line=source.line)
    except TableArgumentError as error:
        raise error.renamed({}, about=source.name) from None
    except TableError as error:
        raise TableError(f"{source.name}: {error}") from None
    forgiven = f"column `{score}`: blanks, case or form of {values.n_forgiven} cells were passed over."
    for note in (*source.notes, *values.notes, *[forgiven] * bool(values.n_forgiven)):
        check.warn(f"{source.name}: {note}")
    return values


def _riding(source: Source, used: set[str]) -> pd.DataFrame:
    """What else the frame has, under names that are not read as something of a table, unless it is one of calib's."""
    more = source.frame[[name for name in source.frame if name not in used]]
    if is_table(source.frame):
        return more
    taken = {*SCHEMAS["ratings"], *SCHEMAS["scores"]}
    names = {name: f"my_{name}" for name in more if name in taken and f"my_{name}" not in source.frame}
    if names:
        told = ", ".join(f"`{name}` rides along as `{mine}`" for name, mine in names.items())
        check.warn(f"{source.name}: column {told}, since a table of scores has columns of such names.")
    return more.rename(columns=names)[[names.get(name, name) for name in more if name in names or name not in taken]]
