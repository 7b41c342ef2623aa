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
from calib.inputs.codes import n_summaries
from calib.inputs.ids import (
    Rows,
    Sides,
    blank_ids,
    chosen_ids,
    joined,
    of_criteria,
    of_one_spelling,
    parted,
    refuse_larger_labels,
    refuse_repeated,
    scales_of,
)
from calib.inputs.names import Columns, InferredTables, Source, Stands, is_model
from calib.inputs.roles import BOTH_SIDES, Seen, Side, is_table, refuse_unknown, seen, sided
from calib.inputs.rows import (
    ROW,
    Reading,
    Stood,
    as_pairs,
    as_win_rates,
    averaged_orders,
    common_words,
    in_one_order,
    is_pairwise,
    rivals,
    rows_of,
    stood,
)
from calib.inputs.source import source_of
from calib.table import SCHEMAS, SCORE_KEY, TableArgumentError, TableError, check_items, check_scores, has_replies
from calib.table.labelled import mean_of_annotators
from calib.table.validate import ValidatedTable, scores_in

_PEOPLE = ("labels", "gold", "human", "people")  # arguments that are people's


def infer_tables(
    first: Any,
    second: Any = None,
    *,
    names: Sequence[str] = ("scores", "gold"),
    in_pairs: bool = False,
    **columns: Unpack[Columns],
) -> InferredTables:
    """Files or frames of one's own, or one beside a table of calib's, as tables.

    They are what `source_of` takes: one that holds both sides, or one of each; `names` are the arguments that they came
    as, of which "labels" are people's. With `in_pairs` preferences stay shares of the first of the two
    compared, who are named in `system_a` and `system_b`; else they become win rates of systems. `columns` say what
    columns are; the rest is recognised.

    Examples
    --------
    >>> import pandas as pd
    >>> mine = pd.DataFrame({"id": ["a", "b", "c"], "gpt-4o": [4, 2, 5], "label": [5, None, None]})
    >>> found = infer_tables(mine)
    >>> [(one.column, one.role) for one in found.columns]
    [('id', 'item'), ('gpt-4o', 'judge'), ('label', 'label')]
    >>> len(found.scores), len(found.labels), found.scale
    (3, 1, '1|2|3|4|5')
    """
    things = [(thing, name) for thing, name in zip((first, second), names, strict=False) if thing is not None]
    sources = [thing if isinstance(thing, Source) else source_of(thing, name) for thing, name in things]
    if len(sources) == 2 and sources[0].name == sources[1].name:
        # two files of one name by their folders, two frames by the names of their arguments
        apart = sources[0].path != sources[1].path
        sources = [
            replace(one, name=str(one.path) if apart and one.path is not None else f"`{name}`")
            for one, (_, name) in zip(sources, things, strict=True)
        ]
    # whose scores a file holds is said by its place; one alone may hold both
    sides: list[Side] = ["label" if name in _PEOPLE else "judge" if len(things) > 1 else "" for _, name in things]
    words = _of_people(checked_words(columns), sources, sides)
    refuse_unknown([one for one in sources if not is_table(one.frame)] or sources, words)
    files = [seen(source, side, words) for source, side in zip(sources, sides, strict=True)]
    notes: list[str] = []
    files = sided(_in_order(files, words, notes), words)
    return _tables_of(files, words, notes, in_pairs=in_pairs)


def checked_words(columns: Columns) -> Columns:
    """The words that were said; None says nothing."""
    words_known = Columns.__annotations__
    for name in columns:
        if name not in words_known:
            raise TypeError(
                f"got an unexpected keyword argument {name!r}; words for columns are {', '.join(words_known)}"
            )
    words = {name: value for name, value in columns.items() if value is not None}
    as_typed(Columns, words)
    # a column may be called by a number
    words = {name: str(v) if isinstance(v, int) else v for name, v in words.items() if v not in ((), [])}
    if words.get("wide") not in (None, *get_args(Stands)):
        raise ArgumentError("wide", f"must be one of {', '.join(get_args(Stands))}", f"got {words['wide']!r}")
    return cast(Columns, words)


def _of_people(options: Columns, sources: Sequence[Source], sides: Sequence[str]) -> Columns:
    """Words for scores are about the labels, where the judge's are in a table of calib's."""
    theirs = [place for place, one in enumerate(sources) if not is_table(one.frame)]
    if len(sources) < 2 or len(theirs) != 1 or sides[theirs[0]] != "label":
        return options
    names = {"judge": "label"} | ({"rater": "annotator"} if options.get("rater") in sources[theirs[0]].frame else {})
    of_labels = {
        names.get(word, word): value for word, value in options.items() if names.get(word, word) not in options
    }
    return cast(Columns, of_labels | {word: value for word, value in options.items() if word not in names})


def _in_order(files: Sequence[Seen], options: Columns, notes: list[str]) -> list[Seen]:
    """The judge's file and people's, turned round where the names of their columns say that they were swapped.

    Both files say that they are the other, or one does, the other says nothing, and their lengths agree.
    """
    places = [one.side for one in files]
    if set(places) != {"judge", "label"} or "judge" in options or "label" in options:
        return list(files)
    says = [{value.side for value in one.graded if value.side} for one in files]
    others = [{places[1]}, {places[0]}]
    rows = {one.side: len(one.source.frame) for one in files}
    one_says = rows["label"] > rows["judge"] and says in ([others[0], set()], [set(), others[1]])
    if any(is_table(one.source.frame) for one in files) or not (says == others or one_says):
        return list(files)
    first, second = [one.source.name for one in files]
    mine, theirs = ("labels", "a judge's scores") if places[0] == "judge" else ("a judge's scores", "labels")
    notes.append(f"{first} holds {mine} and {second} {theirs}, by the names of their columns: taken in that order.")
    return [seen(one.source, places[1 - place], options) for place, one in enumerate(files)]


# --- the tables of a study ----------------------------------------------------------------------------------------


def _tables_of(files: Sequence[Seen], options: Columns, notes: list[str], *, in_pairs: bool) -> InferredTables:
    """The tables of a study, from the columns of its files; `in_pairs`: preferences stay with the two compared."""
    pairwise, how = is_pairwise(files, options), stood(files, options)
    files = [_with_ids(one, ids, notes) for one, ids in zip(files, chosen_ids(files), strict=True)]
    scale = options.get("scale", "") or ("" if pairwise else common_words(files))
    read = Reading(scale, rivals(files) if pairwise else None)
    sides = of_criteria(parted(_sides(files, how, options, read), files), options, notes)
    sides = _matched(sides, files, notes, pairwise=pairwise, in_pairs=in_pairs)
    # the scale of labels in words: of it a judge's numbers say nothing
    labels = [read.of(one, value) for one in files for value in one.of("label")]
    worded = {values.scale for values in labels if values.words}
    scales = scales_of(sides, options, notes, worded=worded.pop() if len(worded) == 1 else "", pairwise=pairwise)
    _count_forgiven(read, files, notes)
    everyone = _table(sides["label"], scales.of_people, files, judge=False) if "label" in sides else None
    scores = _table(sides["judge"], scales.of_judges, files, judge=True) if "judge" in sides else None
    stands = {}
    for value in (value for one in files for value in one.graded):
        entity = how.entity(value) or value.name.person or value.name.entity
        stands[value.column] = ", ".join(filter(None, (entity, value.name.criterion)))
    return InferredTables(
        sources=tuple(one.source for one in files),
        columns=tuple(column for one in files for column in one.inferred(stands)),
        scale=scales.text,
        guessed_scale=scales.guessed,
        scores=scores,
        annotations=everyone,
        labels=None if everyone is None else mean_of_annotators(ValidatedTable(everyone, "scores", "gold")).frame,
        items=_items(files, sides),
        pairwise=pairwise,
        words=() if pairwise else _words_of(read),
        notes=tuple(dict.fromkeys(notes)),
        options=options,
        scale_warnings=scales.apart,
    )


def _matched(sides: Sides, files: Sequence[Seen], notes: list[str], *, pairwise: bool, in_pairs: bool) -> Sides:
    """Both sides without repeats, under one spelling of systems and of items."""
    # in one file a judge's score stands beside that of each annotator, and a label beside that of each judge
    both = {role for one in files if one.of("judge") and one.of("label") for role in one.roles}
    repeating = {"judge": "annotator" in both, "label": "rater" in both}
    if pairwise or in_pairs:
        sides = {name: in_one_order(side, files) for name, side in sides.items()}
    sides = {name: refuse_repeated(side, notes, repeats=repeating[name]) for name, side in sides.items()}
    if len(sides) == 2:
        spelled = of_one_spelling(sides["judge"].rows, sides["label"].rows, "system", notes)
        sides["label"] = replace(sides["label"], rows=spelled)
    if pairwise or in_pairs:
        stand = as_pairs if in_pairs else as_win_rates
        sides = {name: stand(averaged_orders(side), files) for name, side in sides.items()}
    sides = joined(sides, notes)
    if len(sides) == 2:
        # whether anything but the order of the files says which are the labels
        says = [v for one in files for v in one.graded if v.why == "as was said" or v.name.side == v.side]
        sure = len(files) == 1 or any(v.why == "as was said" or not is_model(v.name.entity) for v in says)
        refuse_larger_labels(sides["judge"], sides["label"], notes, sure=sure)
    return sides


def _words_of(read: Reading) -> tuple[str, ...]:
    """The words of the scale, one for each value; numbers among them stand for themselves."""
    for values in read.done.values():
        words = tuple(word for word in values.words if not word.replace(".", "", 1).isdecimal())
        if words and len(words) == len(values.scale.split("|")):
            return words
    return ()


def _with_ids(one: Seen, ids: str, notes: list[str]) -> Seen:
    """The ids of a source, and as groups what else is called like ids and repeats; no rows of means or sums below."""
    if not ids:
        return one
    why = "as was said" if one.why.get(ids) == "as was said" else "its name" if ids in one.ids[:1] else "both have it"
    frame, rest = one.source.frame, [c for c in one.ids if c != ids and c not in one.roles.values()]
    one = replace(one, roles={k: v for k, v in one.roles.items() if v != ids}).with_role("item", ids, why)
    for column in rest if "group" not in one.roles and frame[ids].is_unique else ():
        cells = frame[column].dropna()
        if cells.duplicated().any() and 1 < cells.nunique() < len(cells):
            one = one.with_role("group", column, "ids that repeat, beside ids that do not")
            break
    last = 0 if is_table(frame) else n_summaries(frame[ids].tolist())
    if not last:
        return one
    names = ", ".join(repr(str(name)) for name in frame[ids].tolist()[-last:])
    notes.append(f"{one.source.name}: the last rows ({names}) are taken for summaries of the others and left out.")
    return replace(one, source=replace(one.source, frame=frame.iloc[:-last]))


def _sides(files: Sequence[Seen], how: Stood, options: Columns, read: Reading) -> Sides:
    """The rows of judges and of people, each from the first file that has them."""
    sides: Sides = {}
    for side, one in ((side, one) for side in BOTH_SIDES for one in files):
        if side in sides:
            continue
        if is_table(one.source.frame) and one.side == side:  # as it is
            table = scores_in(one.source.frame, one.source.name).frame
            names = [name for name in ("system", "group") if name in table]
            rows = table.assign(**{name: None for name in ("system", "group") if name not in names})
            rows = rows.assign(at=range(len(table)), column="score")
            rows = rows.astype(dict.fromkeys(["item", "criterion", "rater", *names], object))[ROW]
            sides[side] = Rows(rows, one.source, "item", "system" if names else "", table)
            continue
        if not one.of(side):
            continue
        item = one.roles.get("item", "")
        if not item and len(files) > 1:
            word = "label_item" if one.side == "label" and "item" in options else "item"
            there = ", ".join(repr(str(name)) for name in one.source.frame)
            rule = f"must name the column of ids in {one.source.name}"
            raise ArgumentError(word, rule, f"none looks like one: {there}")
        rows = rows_of(one, side, how, options, read)
        rows = rows if side == "judge" else rows[rows["score"].notna()]
        sides[side] = Rows(rows.reset_index(drop=True), one.source, item, one.roles.get("system", ""))
    return sides


def _count_forgiven(read: Reading, files: Sequence[Seen], notes: list[str]) -> None:
    """What was read in spite of how it was written, and what words were read as."""
    padded, nameless = [], []
    for one in files:
        if (ids := one.cells("item")) is None:
            continue
        where, blanks = f"{one.source.name}: `{ids.name}`", int(blank_ids(ids).sum())
        n = sum(isinstance(cell, str) and cell != cell.strip() for cell in ids.astype(object))
        padded += [f"{where}: {n} ids were read without the blanks around them."] * (n > 0)
        nameless += [f"{where}: rows without an id are left out: {blanks}."] * (blanks > 0)
    notes += [*padded, *nameless]
    for (_, column), values in read.done.items():
        many = f"{values.n_forgiven} cells were" if values.n_forgiven > 1 else "1 cell was"
        forgiven = f"`{column}`: {many} read in spite of blanks around them or how they are written."
        notes += [*values.notes, *[forgiven] * bool(values.n_forgiven)]


# --- tables ---------------------------------------------------------------------------------------------------------


def _table(side: Rows, scale: Mapping[str, str], files: Sequence[Seen], *, judge: bool) -> pd.DataFrame:
    """The rows of a side as a checked table of scores; what else a judge's file has rides along."""
    if side.table is not None:
        return side.table
    rows = side.rows.reset_index(drop=True)
    design = [name for name in ("group", "system") if rows[name].notna().any()]
    of_pairs = [name for name in ("system_a", "system_b", "score_a_first", "score_b_first") if name in rows]
    out = rows[["item", "criterion", "rater", "score", *design, *of_pairs]].assign(
        method="given" if judge else "human",
        scale=rows["criterion"].map(lambda name: scale.get(name, "")),
        n=rows["score"].notna().astype(int),
        n_unread=rows["score"].isna().astype(int),
    )
    for name in design:
        if out[name].isna().any():
            at = rows.loc[rows[name].isna(), "at"].iloc[0]
            rule = f"must name the {name} of each row, but this one has none"
            raise TableError(f"{side.source.name}, {side.line(at)}: {rule}.")
    if judge:  # for `by`, `strata` and `weights`; where calib has a column of that name as `my_...`
        one = next(one for one in files if one.source is side.source)
        used = {value.column for value in one.graded}
        used |= {column for role, column in one.roles.items() if role not in ("weight", "other")}
        reserved = {*SCHEMAS["scores"], *SCHEMAS["ratings"], *SCHEMAS["items"]}
        names = {name: f"my_{name}" if name in reserved else name for name in one.source.frame if name not in used}
        beside = one.source.frame[list(names)].rename(columns=names)
        out = out.join(beside.iloc[rows["at"].astype(int)].reset_index(drop=True))
    return check_scores(out)


def _items(files: Sequence[Seen], sides: Sides) -> pd.DataFrame | None:
    for one in files:
        texts = {"source": "source", "output": "output", "text": "reference"}
        names = {name: one.roles[role] for role, name in texts.items() if role in one.roles}
        side = next((side for side in sides.values() if side.source is one.source), None)
        if not names.keys() & {"source", "output"} or side is None or side.table is not None:
            continue
        rows = side.rows.drop_duplicates("item").reset_index(drop=True)
        cells = one.source.frame.iloc[rows["at"].astype(int)].reset_index(drop=True)
        columns = {name: cells[column].fillna("").astype(str) for name, column in names.items()}
        design = [name for name in ("group", "system") if rows[name].notna().all()]
        return check_items(rows[["item", *design]].assign(**columns))
    return None


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
    as_typed(scores_from, locals())
    source = source_of(frame, "frame")
    frame, named = source.frame, {"item": item, "score": score, "group": group, "system": system}
    if is_table(source.frame) and has_replies(source.frame):
        rule = "must be scores, one row per label or grade"
        raise TableArgumentError("frame", rule, f"{source.name} has ratings, one row per reply: calib.summarize them")
    columns = {column: name for column, name in named.items() if name}
    free = [name for name in ("group", "system") if name not in columns and name not in columns.values()]
    columns |= {name: name for name in free if name in frame and frame[name].notna().all()}
    _refuse_missing(frame, columns)
    out = pd.DataFrame({column: frame[name] for column, name in columns.items()})
    for column, name, default in (("criterion", criterion, "quality"), ("rater", rater, "human")):
        out[column] = frame.get(column, default) if name is None else frame.get(name, name)
    values = _values(source, out, score, scale)
    read, people = values.numbers.notna(), rater == "human" or (rater is None and "rater" not in frame)
    how = {"method": "human"} if people else {"method": "given", "n": read.astype(int), "n_unread": (~read).astype(int)}
    used = {*columns.values(), criterion or "criterion", rater or "rater", *["scale"] * bool(values.scale)}
    more = _riding(source, used)
    made = {name: cells for name, cells in (how | {"scale": values.scale}).items() if name not in more}
    table = out.assign(score=values.numbers, **made).join(more)
    table = table[read] if people else table
    _one_each(source, table, item)
    return check_scores(table)


def _refuse_missing(frame: pd.DataFrame, columns: Mapping[str, str]) -> None:
    for argument, name in columns.items():
        if name not in frame:
            there = ", ".join(map(repr, frame.columns))
            near = difflib.get_close_matches(name, frame.columns, n=1)
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
    reserved = {*SCHEMAS["ratings"], *SCHEMAS["scores"]}
    names = {name: f"my_{name}" for name in more if name in reserved and f"my_{name}" not in source.frame}
    if names:
        renamed = ", ".join(f"`{name}` rides along as `{mine}`" for name, mine in names.items())
        check.warn(f"{source.name}: column {renamed}, since a table of scores has columns of such names.")
    return more.rename(columns=names)[[names.get(name, name) for name in more if name in names or name not in reserved]]
