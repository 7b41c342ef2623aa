"""A table of scores from columns of one's own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import pandas as pd

from calib.core import check
from calib.core.check import as_typed
from calib.inputs.cells import Values, valued
from calib.inputs.names import Source
from calib.inputs.roles import is_table
from calib.inputs.source import source_of
from calib.table import SCHEMAS, SCORE_KEY, TableArgumentError, TableError, check_scores, has_replies


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

    Raises
    ------
    TableError
        If a named column is missing, or a score is no number on the scale and none of its words; it says in which line.

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
    _not_ratings(source)
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


def _not_ratings(source: Source) -> None:
    if is_table(source.frame) and has_replies(source.frame):
        rule = "must be scores, one row per label or grade"
        raise TableArgumentError("frame", rule, f"{source.name} has ratings, one row per reply: calib.summarize them")


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
