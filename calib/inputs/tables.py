"""Tables of scores and of labels from a user's files: columns recognised, rows matched by item, scales settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast, get_args

from calib.core.check import ArgumentError, check_types
from calib.inputs.cells import folded, id_texts
from calib.inputs.match import Sides, matched, of_one_spelling, reversed_judges
from calib.inputs.names import Columns, InferredTables, Rows, Side, Source, Wide, few, is_person
from calib.inputs.roles import BOTH_SIDES, Seen, is_table, of_criteria, refuse_unknown, seen, with_ids, with_lists
from calib.inputs.rows import (
    ROW,
    Cells,
    WideColumns,
    column_values,
    common_words,
    item_table,
    score_rows,
    score_table,
    wide_columns,
    winners_named,
)
from calib.inputs.scales import scales_of
from calib.inputs.sides import refuse_alike, refuse_other_scales, refuse_unclear, sided
from calib.inputs.source import source_of
from calib.table import TableArgumentError, scale_words
from calib.table.labelled import mean_of_annotators
from calib.table.schema import SCALE_FORMS
from calib.table.validate import ValidatedTable, scores_in

QUALITY = "quality"
_SPARSE = 0.9  # people rated less than this share of what the busiest did


def infer_tables(
    first: Any,
    second: Any = None,
    *,
    names: Sequence[str] = ("scores", "labels"),
    in_pairs: bool = False,
    **columns: Unpack[Columns],
) -> InferredTables:
    """A user's files or frames as tables, or one of them beside a table of calib's.

    They are what `source_of` takes: one that holds both sides, or one of each; `names` are the arguments that they came
    as, of which "labels" are people's. With `in_pairs` preferences stay shares of the first of the two
    compared, who are named in `system_a` and `system_b`; else they become win rates of systems. `columns` say what
    columns are; the rest is recognised.

    Examples
    --------
    >>> import pandas as pd
    >>> mine = pd.DataFrame({"id": ["a", "b", "c"], "gpt-4o": [4, 2, 5], "label": [5, None, None]})
    >>> tables = infer_tables(mine)
    >>> [(one.column, one.role) for one in tables.columns]
    [('id', 'item'), ('gpt-4o', 'judge'), ('label', 'label')]
    >>> len(tables.scores), len(tables.labels), tables.scale
    (3, 1, '1|2|3|4|5')
    """
    options, both = checked_options(columns), first is not None and second is not None
    sources: list[Source] = []
    sides: list[Side] = []
    for thing, name in zip((first, second), names, strict=False):
        if thing is not None:
            sources.append(thing if isinstance(thing, Source) else source_of(thing, name))
            # the place of a file says whose scores it holds; one alone may hold both
            sides.append("label" if name == "labels" else "judge" if both else "")
    if both and sources[0].frame.equals(sources[1].frame):
        same = f"has the rows of {{0}} ({sources[0].name}): one that holds both sides is given once, alone"
        raise TableArgumentError(names[1], "must be another file or frame", same, mentions=(names[0],))
    if both and sources[0].name == sources[1].name:  # told apart by their folders, or by the names of the arguments
        files = sources[0].path != sources[1].path
        for place, (one, name) in enumerate(zip(sources, names, strict=False)):
            sources[place] = replace(one, name=str(one.path) if files and one.path is not None else f"`{name}`")
    own = [place for place, one in enumerate(sources) if not is_table(one.frame)]
    if both and len(own) == 1 and sides[own[0]] == "label":
        # the judge's scores are in a table of calib's: the options for scores are about the labels
        word_for = {"judge": "label"}
        if options.get("rater") in sources[own[0]].frame:
            word_for["rater"] = "annotator"
        renamed = {word_for[word]: value for word, value in options.items() if word in word_for}
        rest = {word: value for word, value in options.items() if word not in word_for}
        options = cast(Columns, renamed | rest)
    if options:
        options = with_lists(sources, options)
        refuse_unknown([sources[place] for place in own] or sources, options)
    recognised = of_criteria([seen(source, side, options) for source, side in zip(sources, sides, strict=True)])
    notes: list[str] = []
    if len(own) == 2 and set(sides) == {"judge", "label"} and "judge" not in options and "label" not in options:
        # swapped, by the names of their columns: both name the other side, or one does, the other names none, and there
        # are more labels than scores
        says = [{value.side for value in one.graded if value.side} for one in recognised]
        others: list[set[Side]] = [{sides[1]}, {sides[0]}]
        rows = {side: len(source.frame) for source, side in zip(sources, sides, strict=True)}
        one_says = rows["label"] > rows["judge"] and says in ([others[0], set()], [set(), others[1]])
        if says == others or one_says:
            mine, theirs = ("labels", "a judge's scores") if sides[0] == "judge" else ("a judge's scores", "labels")
            holds = f"{sources[0].name} holds {mine} and {sources[1].name} {theirs}"
            notes.append(f"{holds}, by the names of their columns: taken in that order.")
            recognised = [seen(source, side, options) for source, side in zip(sources, sides[::-1], strict=True)]
            recognised = of_criteria(recognised)
    refuse_unclear(recognised, options)
    refuse_alike(recognised, options)
    by_side = sided(recognised, options)
    refuse_other_scales(recognised, by_side, options)
    return _side_tables(by_side, options, notes, in_pairs=in_pairs)


def checked_options(columns: Columns) -> Columns:
    """The options for columns that the user wrote; None leaves one open."""
    if not columns:
        return columns
    allowed = Columns.__annotations__
    for name in columns:
        if name not in allowed:
            raise TypeError(f"got an unexpected keyword argument {name!r}; words for columns are {', '.join(allowed)}")
    options = {name: value for name, value in columns.items() if value is not None}
    if not isinstance(scale := options.get("scale", ""), str | int):
        raise ArgumentError("scale", SCALE_FORMS, f"got {scale!r:.60}")
    check_types(Columns, options)
    # a column may be called by a number
    options = {name: str(v) if isinstance(v, int) else v for name, v in options.items() if v not in ((), [])}
    if options.get("wide") not in (None, *get_args(Wide)):
        raise ArgumentError("wide", f"must be one of {', '.join(get_args(Wide))}", f"got {options['wide']!r}")
    return cast(Columns, options)


def _side_tables(files: Sequence[Seen], options: Columns, notes: list[str], *, in_pairs: bool) -> InferredTables:
    """The tables of a study, from the columns of its files; `in_pairs`: preferences stay with the two compared."""
    graded = [(one, value) for one in files for value in one.graded]
    winners = winners_named(graded) if graded and "scale" not in options else None
    pairwise, wide = winners is not None, wide_columns(files, options)
    files = with_ids(files, notes)
    scale = options.get("scale", "")
    several = len(graded) > 1 and any(value.nature == "words" for _, value in graded)
    if not scale and not pairwise and several and (scale := common_words(graded)):
        in_order = sorted(scale_words(scale), key=lambda pair: pair[1])
        for one, value in graded:
            mine = {folded(str(cell)) for cell in one.source.frame[value.column].unique()}
            such = ", ".join(f"{word} = {number:g}" for word, number in in_order if folded(word) in mine)
            notes.append(f"column `{value.column}`: words are read as {such}.")
    sides, values = _read_sides(files, options, wide, scale, winners)
    sides = _with_criteria(sides, options, notes)
    sides = matched(sides, files, notes, pairwise=pairwise, in_pairs=in_pairs, first=winners[0] if winners else "A")
    # a scale in words is that of the labels: a judge's numbers do not show it
    worded, words = set[str](), tuple[str, ...]()
    for (side, _), cells in values.items():
        if cells.words and not pairwise:
            worded |= {cells.scale} if side == "label" else set()
            # one for each value; numbers among them stand for themselves
            named = tuple(word for word in cells.words if not word.replace(".", "", 1).isdecimal())
            words = words or (named if len(named) == len(cells.scale.split("|")) else ())
    scales = scales_of(sides, options, notes, worded=worded.pop() if len(worded) == 1 else "", pairwise=pairwise)
    if ".." not in scales.text and len(words) != len(scales.text.split("|")):
        words = ()  # of a judge on a scale of its own
    notes += [*_forgiven(files, values), *reversed_judges(sides, files, scale, pairwise=pairwise)]
    annotations = score_table(sides["label"], scales.of_labels, files, judge=False) if "label" in sides else None
    scores = score_table(sides["judge"], scales.of_judges, files, judge=True) if "judge" in sides else None
    labels = None
    if annotations is not None:
        labels = mean_of_annotators(ValidatedTable(annotations, "scores", "labels")).frame
    return InferredTables(
        sources=tuple([one.source for one in files]), scale=scales.text, guessed_scale=scales.guessed, scores=scores,
        columns=tuple([column for one in files for column in one.columns(wide.name_of)]), annotations=annotations,
        labels=labels, items=item_table(files, sides), pairwise=pairwise, words=words, options=options, rows=sides,
        notes=tuple(dict.fromkeys(notes)), scale_warnings=scales.warnings,
    )  # fmt: skip


def _read_sides(
    files: Sequence[Seen], options: Columns, wide: WideColumns, scale: str, winners: tuple[str, str] | tuple[()] | None
) -> tuple[Sides, Cells]:
    """The rows of judges and of people, each from the first file that has them, and the cells of their columns."""
    sides, values = Sides(), Cells()
    for side in BOTH_SIDES:
        one = next((one for one in files if one.of(side)), None)
        if one is None:
            continue
        if is_table(one.source.frame) and one.side == side:  # as it is
            table = scores_in(one.source.frame, one.source.name).frame
            rows = table.assign(at=range(len(table)), column="score")
            for name in ("system", "group"):
                rows[name] = rows[name].astype(object) if name in table else None
            rows = rows.astype(dict.fromkeys(["item", "criterion", "rater"], object))[ROW]
            sides[side] = Rows(rows, one.source, "item", "system" * ("system" in table), table)
            continue
        item = one.roles.get("item", "")
        if not item and len(files) > 1:
            word = "label_item" if one.side == "label" and "item" in options else "item"
            there = ", ".join(repr(str(name)) for name in one.source.frame)
            rule = f"must name the column of ids in {one.source.name}"
            raise ArgumentError(word, rule, f"none looks like one: {there}")
        for value in one.of(side):
            values[side, value.column] = column_values(one, value, scale, winners)
        rows = score_rows(one, side, wide, options, values, pairwise=winners is not None)
        sides[side] = Rows(rows, one.source, item, one.roles.get("system", ""))
    if set(sides) == {"judge"} and len(files) == 1 and "rater" in files[0].roles:
        # judges and people in one column of scores: people by their names, or because they rated less
        mixed, rows = sides["judge"], sides["judge"].rows
        counts = rows.dropna(subset=["score"])["rater"].value_counts()
        people = {str(name) for name in counts.index if is_person(name)}
        people = people or {str(name) for name in counts.index[counts < _SPARSE * counts.max()]}
        if people and not people >= set(counts.index):
            judged = ~rows["rater"].isin(people)
            sides["judge"] = replace(mixed, rows=rows[judged].reset_index(drop=True))
            sides["label"] = replace(mixed, rows=rows[~judged & rows["score"].notna()].reset_index(drop=True))
    return sides, values


def _with_criteria(by_side: Sides, options: Columns, notes: list[str]) -> Sides:
    """Both sides with a criterion in each row: their own, the other's where that is one, or that of the options."""
    sides = list(by_side.values())
    criteria = [list(dict.fromkeys(side.rows["criterion"].dropna())) for side in sides]
    criterion = options.get("criterion", "")
    for place, side in enumerate(sides):
        other = criteria[1 - place] if len(sides) > 1 else []
        default = criterion or (other[0] if len(other) == 1 else QUALITY)
        nameless = side.rows["criterion"].isna().any()
        if nameless and len(other) > 1 and default not in other:
            names = f"{few(list(dict.fromkeys(sides[1 - place].rows['column'])))} are of {', '.join(map(repr, other))}"
            names += f", and {few(list(dict.fromkeys(side.rows['column'])))} of {side.source.name} says none"
            rule = f"must say which criterion is meant ({' or '.join(map(repr, other[:4]))})"
            raise ArgumentError("criterion", rule, names)
        if nameless:
            sides[place] = replace(side, rows=side.rows.assign(criterion=side.rows["criterion"].fillna(default)))
        kept = sides[place].rows["criterion"] == criterion
        if kept.any():
            table = None if side.table is None else side.table[kept.to_numpy()]
            sides[place] = replace(side, rows=sides[place].rows[kept].reset_index(drop=True), table=table)
    if len(sides) > 1:
        sides[1] = of_one_spelling(sides[0], sides[1], "criterion", notes)
        one_each = [list(dict.fromkeys(side.rows["criterion"])) for side in sides]
        if criterion and all(len(names) == 1 for names in one_each) and one_each[0] != one_each[1]:
            other, place = (one_each[1][0], 1) if one_each[0] == [criterion] else (one_each[0][0], 0)
            if criterion in (one_each[0][0], one_each[1][0]):  # one on each side, and the option names one of them
                notes.append(f"{other!r} of {sides[place].source.name} is taken as {criterion!r}.")
                sides[place] = replace(sides[place], rows=sides[place].rows.assign(criterion=criterion))
        if not set(sides[0].rows["criterion"]) & set(sides[1].rows["criterion"]):
            ours, theirs = (", ".join(map(repr, dict.fromkeys(side.rows["criterion"]))) for side in sides)
            names = f"{sides[0].source.name} has {ours} and {sides[1].source.name} {theirs}"
            hint = f" (judge= and label= name one column of each, and criterion={criteria[0][0]!r} takes them as one)"
            raise ArgumentError("criterion", f"must be one on both sides{hint * (not criterion)}", names)
        for mine, beside, what in ((sides[1], sides[0], "score of a judge"), (sides[0], sides[1], "label")):
            lacking = mine.rows[~mine.rows["criterion"].isin(beside.rows["criterion"])]
            if len(lacking):
                where = f"{few(list(lacking['column'].unique()))} of " * (mine.table is None) + mine.source.name
                such = ", ".join(map(repr, lacking["criterion"].unique()))
                notes.append(f"no {what} is of {such} ({where}): left out of all that needs both.")
    return dict(zip(by_side, sides, strict=True))


def _forgiven(files: Sequence[Seen], values: Cells) -> list[str]:
    """Notes on cells that were read in spite of how they are written, and on rows without an id."""
    padded, nameless, notes = list[str](), list[str](), list[str]()
    for one in files:
        if "item" in one.roles:
            ids = one.source.frame[one.roles["item"]]
            where, missing = f"{one.source.name}: `{ids.name}`", int(id_texts(ids).isna().sum())
            n = sum(isinstance(cell, str) and cell != cell.strip() for cell in ids.astype(object))
            padded += [f"{where}: {n} ids were read without the blanks around them."] * (n > 0)
            nameless += [f"{where}: rows without an id are left out: {missing}."] * (missing > 0)
    for (side, column), cells in values.items():
        notes += cells.notes
        if cells.n_forgiven:
            texts = next(one.source.frame[column] for one in files if one.of(side))
            blanks = any(isinstance(cell, str) and cell != cell.strip() for cell in texts.tolist())
            how = ["blanks around them"] * blanks + ["upper and lower case"] * bool(cells.words)
            many = f"{cells.n_forgiven} cells were" if cells.n_forgiven > 1 else "1 cell was"
            notes.append(f"`{column}`: {many} read in spite of {' or '.join([*how, 'how they are written'])}.")
    return [*padded, *nameless, *notes]
