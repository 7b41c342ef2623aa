"""Where a user's files enter the verbs; tables of calib's pass as they are. A table of scores from own columns."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, check_types
from calib.inputs.cells import blank, id_texts, valued
from calib.inputs.names import ROLE_OF, Columns, Data, InferredTables, Role, Source, few, key
from calib.inputs.roles import TABLE, is_table, seen
from calib.inputs.sides import may_be_labels
from calib.inputs.source import ENDINGS, logs_named, source_of
from calib.inputs.tables import checked_options, infer_tables
from calib.scale.partitions import refuse_partitions
from calib.table import SCHEMAS, SCORE_KEY, TableArgumentError, TableError, has_replies, read_frame
from calib.table.checks import check_items, check_ratings, check_scores, has_answers
from calib.table.files import within_limit
from calib.table.frames import collected, is_frame, pandas_of
from calib.table.labelled import mean_of_annotators
from calib.table.labels import Labels
from calib.table.validate import ValidatedTable, scores_in, validated

_ROLES = {"item": "ids", "judge": "the judge", "label": "labels", "annotator": "who labelled", "rater": "which judge",
          "first": "the first of two", "second": "the second of two", "text": "reference"}  # fmt: skip
_ONE_SIDE = "must be given beside a table of calib's, which holds a judge's scores or people's labels and not both"
_WANTED = {"judge": "the judge's scores, in one of the files or in another one",
           "label": "people's labels, in the file or in a second one"}  # fmt: skip
_OF_JUDGES = ("scores", "scores_a", "scores_b", "pilot", "preferences", "first", "second")
_SIDE = {**dict.fromkeys(_OF_JUDGES, "judge"), "labels": "label"}


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The tables that a verb works on, and how they were inferred from a user's files.

    `scores` are those of judges, `labels` people's pooled to one, `annotations` people's one by one.
    """

    scores: Any
    labels: Any
    annotations: Any
    inferred: InferredTables | None = None
    pairwise: bool = False  # preferences of one of two
    each: str | None = None  # what preferences are answered by: a win rate is of a system
    guessed: str = ""  # the scale, where no option says it

    def named(self, column: str | None, argument: str = "") -> str | None:
        """A column as the tables call it; where an argument is named, it must be one of the user's."""
        if column is None or self.inferred is None:
            return column
        columns = [one for one in self.inferred.columns if one.role in ("system", "group", "criterion", "other")]
        own = [name for source in self.inferred.sources for name in source.frame]
        if argument and column not in (*own, "group", *(() if self.scores is None else self.scores)):
            there = ", ".join(dict.fromkeys(repr(one.column) for one in columns)) or "none to choose from"
            raise TableArgumentError(argument, "must be a column of the scores", f"got {column!r}; there are {there}")
        names = {"system": "system", "group": "group", "criterion": "criterion", "judge": "score"}
        for one in self.inferred.columns:
            if one.column == column and one.role in names:
                return names[one.role]
        mine = f"my_{column}" in self.scores and any(one.column == column for one in self.inferred.columns)
        return f"my_{column}" if mine else column


def resolve_inputs(
    first: Data,
    second: Data,
    columns: Columns,
    *,
    names: Sequence[str] = ("scores", "labels"),
    needs: Sequence[str] = ("judge", "label"),
    any_scale: bool = False,
    in_pairs: bool = False,
    either_side: bool = False,
) -> Inputs:
    """Tables of calib's as they are, and tables inferred from anything else.

    What looks wrong in a user's files becomes a warning, a judge on a scale of its own only where it may not be
    (`any_scale`); a side that is needed and not there is refused. `in_pairs` keeps preferences as they are.
    With `either_side` a judge may stand in the place of people, and people in that of a judge.
    """
    tables = resolve_tables(first, second, columns, names=names, in_pairs=in_pairs)
    if not isinstance(tables, InferredTables):
        return _of_tables(tables, names, needs, either_side)
    for source in tables.sources:
        for note in source.notes:
            if note.endswith("?"):
                check.warn(f"{source.name}: {note}")
    for note in (*tables.notes, *(() if any_scale else tables.scale_warnings)):
        check.warn(note)
    for side, table in (("judge", tables.scores), ("label", tables.labels)):
        if side in needs and table is None:
            unused = [one.column for one in tables.columns if one.role == "other"]
            idle = f"; not used: {few(unused)}" if unused else ""
            if side == "label" and (hint := may_be_labels(tables.sources[-1], tables.columns)):
                idle += f"; {hint}"
            recognised = f"none was recognised: {'; '.join(in_words(tables))}{idle}"
            raise ArgumentError(side, f"must name {_WANTED[side]}", recognised)
    scores = tables.scores
    each = "system" if tables.pairwise and scores is not None and "system" in scores else None
    guessed = _scale_in_words(tables) if tables.guessed_scale else ""
    tables = replace(tables, scale_warnings=()) if any_scale else tables
    return Inputs(scores, tables.labels, tables.annotations, tables, tables.pairwise, each, guessed)


def resolve_tables(
    first: Data, second: Data, columns: Columns, *, names: Sequence[str], in_pairs: bool = False
) -> InferredTables | tuple[Any, Any]:
    """Two tables of calib's, or the tables inferred from a user's files."""
    options = checked_options(columns)
    for thing, name in zip((first, second), names, strict=False):
        if thing is not None:
            refuse_partitions(thing, name)
    if isinstance(first, InferredTables):
        if options:
            raise ArgumentError(next(iter(options)), "was said when the files were taken in, and cannot be said again")
        return infer_tables(*first.sources, names=names, in_pairs=True, **first.options) if in_pairs else first
    with logs_named(first, second):
        one, two = opened(first, names[0]), opened(second, (*names, "")[1])
    if not (one is None or is_calibs(one)) or not (two is None or is_calibs(two)):
        return infer_tables(one, two, names=names, in_pairs=in_pairs, **options)
    for word in options:
        raise ArgumentError(word, "describes your own file", "the files are tables of calib's")
    return _as_table(one), _as_table(two)


def _of_tables(things: Sequence[Any], names: Sequence[str], needs: Sequence[str], either_side: bool) -> Inputs:
    """Tables of calib's, each of which has one side."""
    order = dict(zip((_SIDE[name] for name in names), things, strict=False))
    for side, name in ((_SIDE[name], name) for name in names):
        if side in needs and order.get(side) is None:
            raise ArgumentError(name, _ONE_SIDE)
    if not either_side and names[-1] == "labels" and things[0] is not None and things[-1] is not None:
        frames = [thing.frame if isinstance(thing, ValidatedTable) else thing for thing in (things[0], things[-1])]
        scored_by, labelled_by = (set(frame["method"].unique()) if "method" in frame else set() for frame in frames)
        if scored_by == {"human"} and labelled_by and labelled_by <= {"sample", "logprob", "chain"}:
            raise ArgumentError(names[-1], "must be people's labels", "these are a judge's, and the two may be swapped")
        # labels of more items than were scored, or mostly of others
        ids, labelled = frames[0]["item"], set(frames[1]["item"].tolist())
        unmatched = len(labelled.difference(ids.tolist()))
        n_scored = things[0].n_items if isinstance(things[0], ValidatedTable) else None
        n_scored = int(ids.nunique()) if n_scored is None else n_scored
        if 0 < unmatched < len(labelled) and (len(labelled) > n_scored or 2 * unmatched > len(labelled)):
            check.warn(
                f"{len(labelled)} items are labelled, {unmatched} of them without a score, and {n_scored} are scored: "
                "what has no score is left out. Are the two the wrong way round?"
            )
    annotations = labels = order.get("label")
    if isinstance(annotations, pd.DataFrame) and has_answers(annotations):  # of a page that several may have labelled
        name = next(name for name in names if _SIDE[name] == "label")
        labels = mean_of_annotators(scores_in(annotations, name)).frame
    return Inputs(order.get("judge"), labels, annotations)


def two_judges(first: Data, second: Data, labels: Data, columns: Columns) -> tuple[Any, Any, Any]:
    """The scores of two judges and of people: from three tables or files, or where one file holds both judges."""
    refuse_partitions(second, "scores_b")
    if labels is None and is_calibs(second := opened(second)):
        raise ArgumentError("labels", "must be given, beside two tables of calib's")
    options: dict[str, Any] = {"names": ("scores_a", "labels"), "either_side": True}
    if second is not None and (labels is not None or isinstance(second, InferredTables)):
        one, two = (resolve_inputs(scores, labels, columns, **options) for scores in (first, second))
        others = two.scores
        if one.inferred is not None and two.inferred is not None:  # another name, where two files call theirs the same
            rater, again = others["rater"].astype(str), others["rater"].isin(set(one.scores["rater"]))
            others = others.assign(rater=rater.where(~again, rater + " (second)"))
        return one.scores, others, one.labels
    files = resolve_inputs(first, second if labels is None else labels, columns, **options)
    table = scores_in(files.scores, "scores_a").frame
    raters = list(dict.fromkeys(table["rater"].astype(str)))
    if len(raters) != 2:
        rule = "must hold two judges ({1} names their columns; of more: `rank_judges`) where {0} is not given"
        raise ArgumentError("scores_a", rule, f"has {', '.join(map(repr, raters))}", mentions=("scores_b", "judge"))
    mine, others = (table[table["rater"].astype(str) == name] for name in raters)
    return mine, others, files.labels


def is_calibs(thing: Any) -> bool:
    """Whether it is a table of calib's, checked or not."""
    return isinstance(thing, ValidatedTable) or is_table(thing.frame if isinstance(thing, Source) else thing)


def is_table_file(path: Path) -> bool:
    """Whether a file is a table of calib's."""
    return is_calibs(opened(path))


def opened(thing: Any, argument: str = "") -> Any:
    """A path as what is there, labels as their table; the rest as it is."""
    if isinstance(thing, Labels):
        return Source(thing.ratings, "the labels")
    if isinstance(thing, list) and thing and all(isinstance(one, str | Path) for one in thing):
        rule = "must be one file (`calib.read_labels` joins those of several annotators)"
        raise ArgumentError(argument or "file", rule, f"got {len(thing)}")
    if not isinstance(thing, str | Path):
        thing = collected(thing)
        names: Any = getattr(thing, "column_names", None) or getattr(thing, "columns", ())
        return pandas_of(thing) if is_frame(thing) and is_table(pd.DataFrame(columns=list(names))) else thing
    path, heads = within_limit(Path(thing)), []
    if path.suffix == ".csv":
        with suppress(OSError, UnicodeDecodeError, csv.Error), path.open(encoding="utf-8-sig", newline="") as file:
            heads = next(csv.reader(file), [])
    if set(heads) >= TABLE:
        return Source(read_frame(path), path.name, path)
    return source_of(thing, argument)


def _as_table(thing: Any) -> Any:
    """A table of calib's as a frame; one from a file is checked here, where its name is known."""
    if not isinstance(thing, Source):
        return thing
    frame = thing.frame
    if thing.path is None:
        return frame
    try:
        replies = {"weight", "draw", "status", "shown_first"} & set(frame) and "n_unread" not in frame
        return check_ratings(frame) if replies else check_scores(frame)
    except TableError as error:
        raise TableError(f"{thing.path}: {error}") from None


def items_in(items: Any) -> pd.DataFrame:
    """A table of items: calib's, or a file of one's own, whose ids, texts, groups and systems are recognised.

    Examples
    --------
    >>> items_in({"id": [1, 2], "model": ["m", "m"], "answer": ["Yes.", "Well, no."]}).to_dict("list")
    {'item': ['1', '2'], 'output': ['Yes.', 'Well, no.'], 'system': ['m', 'm']}
    """
    if isinstance(items, ValidatedTable):
        return validated(items, "items", "items").frame
    source = source_of(items, "items")
    frame = source.frame
    if "item" not in frame and (one := seen(source, "", {})).ids:
        name_of: dict[Role, str] = {role: role for role in ("system", "group", "source", "output")}
        name_of["text"] = "reference"
        names = {one.roles[role]: name for role, name in name_of.items() if role in one.roles}
        names = {column: name for column, name in names.items() if column == name or name not in frame}
        frame = frame.rename(columns=names | {one.ids[0]: "item"})
        frame = frame.assign(item=id_texts(frame["item"]))
    return validated(frame, "items", "items").frame


def items_to_rate(items: Any, shown: Collection[str]) -> pd.DataFrame:
    """A table of items with the columns `shown`: calib's, or recognised among one's own, which a warning names.

    Ids that repeat over systems get the system behind them; without ids they are the places of rows.

    Examples
    --------
    >>> mine = {"item": ["q1", "q1"], "system": ["a", "b"], "source": ["Why?", "Why?"], "output": ["So.", "No."]}
    >>> items_to_rate(mine, ("source", "output"))["item"].tolist()
    ['q1/a', 'q1/b']
    """
    with suppress(TableError, ArgumentError):  # what is wrong is said below, of the file
        if {"item", *shown} <= set(table := check_items(items)):
            return table
    source = source_of(items, "items")
    frame, read = source.frame, seen(source, "", {})
    roles: tuple[Role, ...] = (*[one for one in ("source", "output") if one in shown], "group", "system")
    by_name = {role: name for name in reversed(list(frame)) if (role := ROLE_OF.get(key(name)))}
    mine = {role: read.roles.get(role) or by_name.get(role, "") for role in roles if role not in frame}
    mine = {role: column for role, column in mine.items() if column}
    column = "item" if "item" in frame else next(iter(read.ids), "")
    ids = id_texts(frame[column]) if column else pd.Series(range(len(frame)), index=frame.index).map(str)
    system = mine.get("system", "system")
    if column and system in frame and ids.duplicated().any():
        ids = ids + "/" + id_texts(frame[system])
    table = check_items(frame.assign(item=ids, **{name: frame[column] for name, column in mine.items()}))
    recognised = {"item": column or "the place of a row"} | mine if column != "item" else mine
    if recognised:
        check.warn(f"{source.name}: {', '.join(f'{column} is the {name}' for name, column in recognised.items())}.")
    return table


def is_file(text: str) -> bool:
    """Whether a text names a file: one that is there, or that ends as tables do.

    Examples
    --------
    >>> is_file("results.csv"), is_file("gpt-4o")
    (True, False)
    """
    return text.casefold().partition("#")[0].endswith(ENDINGS) or Path(text).is_file()


def in_words(tables: InferredTables) -> tuple[str, ...]:
    """For each file what its columns were taken for, in a line.

    Examples
    --------
    >>> print(*in_words(infer_tables({"id": ["a", "b", "c"], "gpt-4o": [4, 2, 5], "label": [5, None, None]})))
    the dict: `id` as ids, `gpt-4o` as the judge, `label` as labels (1 of 3); scale 1|2|3|4|5 (guessed)
    """
    lines = []
    for source in tables.sources:
        if is_table(source.frame):
            lines.append(f"{source.name}: a table of calib's")
            continue
        by_role: dict[str, list[str]] = {}
        for one in tables.columns:
            if one.source == source.name and one.role != "other":
                by_role.setdefault(one.role, []).append(one.column)
        columns = [] if "item" in by_role else ["each row as an item"]
        for role in (role for role in get_args(Role) if role in by_role):
            names, word, filled = by_role[role], _ROLES.get(role, role), ""
            if role == "system" and (n := source.frame[names[0]].nunique()) > 1:
                word = f"system ({n} of them; --by system gives each its mean)"
            if role == "label":  # how many there are
                labelled = sum(~blank(source.frame[name]) for name in names) > 0
                filled = "" if labelled.all() else f" ({int(labelled.sum())} of {len(source.frame)})"
                plain = not labelled.all() and not tables.pairwise
                if plain and tables.scores is not None and tables.labels is not None:  # without repeats
                    filled = f" ({tables.labels['item'].nunique()} of {tables.scores['item'].nunique()})"
            table = {"judge": tables.scores, "label": tables.annotations}.get(role)
            if table is not None and len(names) > 1:  # what several columns of scores stand for
                scores_of = {one.score_of for one in tables.columns if one.role == role and one.column in names}
                several = {"judge": "judges", "label": "labels of several annotators"}[role]
                kinds = [("rater", several), ("system", f"{word} of several systems")]
                kinds.append(("criterion", f"{word} of several criteria"))
                values = {kind: set(table[kind].astype(str)) for kind, _ in kinds if kind in table}
                word = next((text for kind, text in kinds if scores_of <= values.get(kind, set())), word)
            columns.append(f"{few(names)} as {word}{filled}")
        lines.append(f"{source.name}: {', '.join(columns) or 'nothing'}")
    if tables.scale:
        lines[-1] += f"; scale {_scale_in_words(tables)}{' (guessed)' * tables.guessed_scale}"
    return tuple(lines)


def _scale_in_words(tables: InferredTables) -> str:
    return f"{tables.scale} for {'|'.join(tables.words)}" if tables.words else tables.scale


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

    Columns that are not named here ride along; one with a name of calib's own (`prompt`, `mode`) as `my_prompt`.

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

    Examples
    --------
    >>> mine = pd.DataFrame({"id": ["a", "b"], "rating": [4, 2]})
    >>> scores_from(mine, item="id", score="rating", criterion="fluency", scale="1|2|3|4|5")[["item", "score", "rater"]]
      item  score  rater
    0    a    4.0  human
    1    b    2.0  human
    """
    check_types(scores_from, locals())
    source = source_of(frame, "frame")
    frame, options = source.frame, {"item": item, "score": score, "group": group, "system": system}
    if is_table(frame) and has_replies(frame):
        rule = "must be scores, one row per label or grade"
        raise TableArgumentError("frame", rule, f"{source.name} has ratings, one row per reply: calib.summarize them")
    columns = {column: name for column, name in options.items() if name}
    free = [name for name in ("group", "system") if name not in columns and name not in columns.values()]
    columns |= {name: name for name in free if name in frame and frame[name].notna().all()}
    for argument, name in columns.items():
        if name not in frame:
            there = ", ".join(map(repr, frame.columns))
            near = difflib.get_close_matches(name, frame.columns, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; calib.look says what its columns may be"
            came = f"got {name!r}; there are {there}{hint}"
            raise TableArgumentError(argument, "must be a column of the frame", came)
    out = pd.DataFrame({column: frame[name] for column, name in columns.items()})
    for column, option, default in (("criterion", criterion, "quality"), ("rater", rater, "human")):
        out[column] = frame.get(column, default) if option is None else frame.get(option, option)
    try:
        values = valued(out["score"], scale, column=score, line=source.line)
    except TableArgumentError as error:
        raise error.renamed({}, about=source.name) from None
    except TableError as error:
        raise TableError(f"{source.name}: {error}") from None
    forgiven = f"column `{score}`: blanks, case or form of {values.n_forgiven} cells were passed over."
    for note in (*source.notes, *values.notes, *[forgiven] * bool(values.n_forgiven)):
        check.warn(f"{source.name}: {note}")
    read, people = values.numbers.notna(), rater == "human" or (rater is None and "rater" not in frame)
    how = {"method": "human"} if people else {"method": "given", "n": read.astype(int), "n_unread": (~read).astype(int)}
    used = {*columns.values(), criterion or "criterion", rater or "rater", *["scale"] * bool(values.scale)}
    more = _other_columns(source, used)
    made = {name: cells for name, cells in (how | {"scale": values.scale}).items() if name not in more}
    table = out.assign(score=values.numbers, **made).join(more)
    table = table[read] if people else table
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
    return check_scores(table)


def _other_columns(source: Source, used: set[str]) -> pd.DataFrame:
    """The other columns of the frame; unless it is a table of calib's, those with a name of calib's own as `my_...`."""
    more = source.frame[[name for name in source.frame if name not in used]]
    if is_table(source.frame):
        return more
    reserved = {*SCHEMAS["ratings"], *SCHEMAS["scores"]}
    names = {name: f"my_{name}" for name in more if name in reserved and f"my_{name}" not in source.frame}
    if names:
        renamed = ", ".join(f"`{name}` rides along as `{mine}`" for name, mine in names.items())
        check.warn(f"{source.name}: column {renamed}, since a table of scores has columns of such names.")
    return more.rename(columns=names)[[names.get(name, name) for name in more if name in names or name not in reserved]]
