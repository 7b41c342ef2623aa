"""Whose each column of scores is, a judge's or people's: by options, by names, by what stands beside it; else asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from calib.inputs.cells import blank
from calib.inputs.names import Columns, InferredColumn, Name, Side, Source, few, key, read_name
from calib.inputs.roles import BOTH_SIDES, FEW_WORDS, Seen, Value, is_table, listed
from calib.inputs.scales import guessed_scale
from calib.table import TableArgumentError, parse_scale

_SPARSE = 0.9  # a column is sparse where it is filled less than this share of the fullest
_LISTED = 8  # columns that a refusal lists one by one
_FAR = 2.5  # times as high as another: on another scale
_HOLDS: dict[Side, str] = {"judge": "a judge's scores", "label": "people's labels"}
_SETTLED = frozenset(("consensus", "majority", "final", "adjudicated", "agreed", "resolved", "adjudication"))


def sided(files: Sequence[Seen], options: Columns) -> list[Seen]:
    """Each column of scores with its side; those that are of neither have none.

    One of two files has the columns of its side, and those that name none; a single file has those of both sides, by
    their names and by the columns beside them.
    """
    by_side = []
    for one in files if len(files) > 1 else ():
        mine, free = list(one.of(one.side)), one.of("")
        options_name = [v for v in mine if v.why == "as was said"] if listed(options, one.side) else []
        if options_name:
            by_side.append(_only_role(one, options_name))
            continue
        if not mine:  # where nothing else is there, also what is the other side's by its name
            more = _scores_first(free) or [v for v in one.graded if v.why != "as was said"]
        elif one.side == "judge" and any(not v.name.entity and not v.name.criterion for v in mine):
            more = []
        else:
            more = _similar_names(one, mine, free)
        mine += [replace(v, side=one.side, why=v.why or "it is a column of scores") for v in more]
        by_side.append(_only_role(one, mine))
    if by_side:
        return by_side
    whole = files[0]
    one = _without_unnamed(whole, options)
    if one.of(""):
        one = _with_sides(one, max(value.filled for value in whole.graded), options)
    if one.side == "label" and not one.of("label"):  # in a file of people alone all scores are theirs
        one = replace(one, graded=tuple(replace(v, side="label") if v.side else v for v in one.graded))
    complete = len(one.graded) == len(whole.graded) and not one.of("")
    return [one if complete else _only_role(whole, [value for value in one.graded if value.side])]


def refuse_unclear(files: Sequence[Seen], options: Columns) -> None:
    """Refuse columns whose names do not settle whether they are scores of a side; an option says it."""
    for one, side in ((one, side) for one in files for side in BOTH_SIDES):
        if listed(options, side) or is_table(one.source.frame) or (len(files) > 1 and side != one.side):
            continue
        mine, free, named = list(one.of(side)), one.of(""), [v for v in one.graded if v.side and not v.name.by_model]
        plain = {value.name.criterion for value in mine if not value.name.person and not value.name.entity}
        doubts = [v for v in mine if v.name.criterion in plain and v.name.may_be_else]
        if mine and not plain and len(files) > 1:
            doubts = _similar_names(one, mine, free)
        if doubts:
            sure = few([value.column for value in mine if value not in doubts])
            received = f"{few([value.column for value in doubts])}, beside {sure}, may be more of them or not"
            raise TableArgumentError(side, f"must name all columns of {_HOLDS[side]} in {one.source.name}", received)
        if one.side == side and named and not mine and not free:
            received = f"{few([value.column for value in named])} says that it holds {_HOLDS[named[0].side]}"
            raise TableArgumentError(side, f"must name the column of {_HOLDS[side]} in {one.source.name}", received)


def refuse_alike(files: Sequence[Seen], options: Columns) -> None:
    """Refuse columns of one kind that may be annotators' or judges', or the mean of the others: an option says it."""
    for one in files:
        if is_table(one.source.frame) or one.side == "judge":
            continue
        kept = _without_unnamed(one, options)
        labels = () if "label" in options or "annotator" in one.roles else kept.of("label")
        who = [v for v in labels if (v.name.person or v.name.entity) and key(v.name.entity) not in _SETTLED]
        made = [v for v in labels if v not in who and v.name.criterion in {value.name.criterion for value in who}]
        if made:
            theirs, ours = (",".join(value.column for value in some) for some in (made, who))
            received = f"{few([v.column for v in made])} may be what was made of {few([v.column for v in who])}"
            received += f" (in a shell --label {theirs} or --label {ours})"
            raise TableArgumentError("label", f"must name people's labels in {one.source.name}", received)
        if columns := [value.column for value in _undecided(kept, options)]:
            such = ", ".join(f"`{name}`" for name in columns) if len(columns) <= _LISTED else few(columns)
            of_sides = ([*(value.column for value in kept.of(side)), *columns] for side in ("label", "judge"))
            mine, theirs = (",".join(names[:_LISTED]) for names in of_sides)
            more = ",..." * (len(columns) > _LISTED)
            sure = ",".join(value.column for value in kept.of("label"))
            or_none = f", or --label {sure} without them" * bool(sure)
            received = f"{such} may be these or a judge's scores"
            received += f" (in a shell --label {mine}{more} or --judge {theirs}{more}{or_none})"
            if one.side == "label":
                received = f"{such} may be annotators, or what was made of their labels"
            rule = f"must name all columns of people's labels in {one.source.name}"
            raise TableArgumentError("label", rule, received)


def may_be_labels(source: Source, columns: Sequence[InferredColumn]) -> str:
    """A hint at an unused column that may hold labels, as it is blank in places and has few values."""
    for one in (one for one in columns if one.role == "other" and one.source == source.name):
        is_blank = blank(source.frame[one.column])
        filled = source.frame.loc[~is_blank, one.column]
        if not 0.05 < (share := is_blank.mean()) < 1 or filled.map(pd.api.types.is_list_like).any():
            continue
        if 1 < filled.nunique() <= FEW_WORDS:
            return f"if `{one.column}` ({share:.0%} blank) holds labels: label={one.column!r}, --label {one.column}"
    return ""


def refuse_other_scales(before: Sequence[Seen], files: Sequence[Seen], options: Columns) -> None:
    """Refuse scores of one criterion on several scales, and a column of another scale that is filled where labels are.

    `before` are the files with all columns that may be scores.
    """
    for one, side in ((one, side) for one in files for side in BOTH_SIDES):
        values = [] if listed(options, side) or is_table(one.source.frame) or "first" in one.roles else one.of(side)
        for first in values:
            mine = [v for v in values if v.name.criterion == first.name.criterion]
            mine = [v for v in mine if side == "label" or v.name.entity == first.name.entity]
            kinds = [kind for kind in _kinds(one, mine) if len(one.source.frame[kind[0].column].dropna().unique()) > 1]
            if len(kinds) > 1:
                columns = [[value.column for value in kind] for kind in kinds]
                received = f"{few([name for kind in columns for name in kind])} are on different scales"
                received += f" (in a shell {' or '.join(f'--{side} ' + ','.join(kind) for kind in columns)})"
                raise TableArgumentError(side, f"must name {_HOLDS[side]} in {one.source.name}", received)
        people = [v for v in values if side == "label" and (v.name.entity or v.name.person)]
        if not people or people != list(values) or "label" in options:
            continue
        frame, used = one.source.frame, {value.column for value in one.graded}
        rows = ~frame[[value.column for value in people]].apply(blank).all(axis=1)
        whole = next(other for other in before if other.source is one.source)
        for value in whole.graded if not rows.all() else ():
            mine = ~blank(frame[value.column])
            few_values = value.column not in used and not value.side and frame[value.column].nunique() <= FEW_WORDS
            if few_values and mine.any() and (rows & mine).sum() > _SPARSE * mine.sum():
                theirs = [person.column for person in people]
                received = f"`{value.column}` is filled where {few(theirs)} is, on another scale"
                received += f" (in a shell --label {','.join(theirs)} or --label {value.column})"
                raise TableArgumentError("label", f"must name people's labels in {one.source.name}", received)


def _undecided(one: Seen, options: Columns) -> list[Value]:
    """Columns that are alike beside each other, of which neither a name nor an option says whose they are."""
    if {"annotator", "rater", "first"} & set(one.roles) or "label" in options:
        return []
    kinds = _kinds(one, _free(one))
    plain = [value for kind in kinds for value in kind if value.name.says_nothing]
    names = [value for kind in kinds for value in kind if value.name.entity or value.name.person]
    several = any(len(kind) > 1 and not kind[0].name.says_nothing for kind in kinds if kind[0] in names)
    settled = len(names) > 1 and any(key(value.name.entity) in _SETTLED for value in names)
    judges, labels = one.of("judge"), one.of("label")
    most = max((value.filled for value in one.graded), default=0)
    if one.side == "label":
        return [*plain, *names] if not labels and several and (plain or settled) else []
    if judges and labels:
        persons = all(value.name.entity or value.name.person for value in labels)
        return names if several or persons or all(value.name.entity for value in judges) else []
    if judges:
        return [*plain, *names] if (plain and names) or settled else []
    if labels:
        return names if several else []
    if several and not plain and _called_labels(one.source) and not settled:
        return []
    if several and (settled or not _all_sparse(names, most)):
        return [*plain, *names]
    return plain if any(len(kind) > 1 for kind in kinds if kind[0] in plain) else []


def _kinds(one: Seen, values: Sequence[Value]) -> list[list[Value]]:
    """Columns in groups of one kind: what their names say of them, and the scale of their cells."""
    kinds: list[list[Value]] = []
    for value in values:
        for kind in kinds:
            if _says(kind[0].name) == _says(value.name) and all(_one_scale(one, value, other) for other in kind):
                kind.append(value)
                break
        else:
            kinds.append([value])
    return kinds


def _says(name: Name) -> str:
    return "who" if name.entity or name.person else "what" if name.criterion else "nothing"


def _one_scale(one: Seen, *values: Value) -> bool:
    """Whether two columns may be on one scale: words both, or numbers that are whole, or not, and about as high."""
    if any(value.nature != "numbers" for value in values):
        return len({value.nature for value in values}) == 1
    numbers = [pd.to_numeric(one.source.frame[value.column], errors="coerce").dropna() for value in values]
    highest = sorted(float(cells.abs().max()) if len(cells) else 0.0 for cells in numbers)
    whole = {bool((cells % 1 == 0).all()) for cells in numbers}
    return len(whole) == 1 and highest[-1] <= _FAR * highest[0]


def _all_sparse(values: Sequence[Value], most: int) -> bool:
    return all(value.filled < _SPARSE * most for value in values)


def _called_labels(source: Source) -> bool:
    """Whether the name of a file, or of its sheet, says that it holds people's labels."""
    file, _, sheet = source.name.partition(", sheet ")
    return source.path is not None and any(read_name(name).side == "label" for name in (Path(file).stem, sheet))


def _without_unnamed(one: Seen, options: Columns) -> Seen:
    """Without columns of a side whose columns the options name, and without those that are alike beside these.

    Where labels are named and several others are alike, nobody says that these are a judge's; and where a judge's
    criterion is named, the others are not people's.
    """
    if "judge" not in options and "label" not in options:
        return one
    kept = tuple(value for value in one.graded if value.column in (listed(options, value.side) or [value.column]))
    one = replace(one, graded=kept)
    if "judge" in options and all(_says(value.name) == "what" for value in one.of("judge")):  # other criteria
        one = replace(one, graded=tuple(v for v in one.graded if v.side or _says(v.name) != "what"))
    if "label" in options:
        alone = not one.of("judge")
        others = [kind for kind in _kinds(one, _free(one)) if len(kind) > alone and _says(kind[0].name) == "who"]
        left = {value.column for kind in others for value in kind}
        one = replace(one, graded=tuple(value for value in one.graded if value.column not in left))
    return one


def _with_sides(one: Seen, most: int, options: Columns) -> Seen:
    """Sides of columns that do not say whose they are: by who rated, by blanks, by the columns beside them.

    `most` is the number of cells of the fullest column.
    """
    side, n = one.side or "judge", len(one.source.frame)
    if "annotator" in one.roles and not one.of("label"):
        who = f"`{one.roles['annotator']}` says who gave it"
        one = _assigned(one, _scores_first(_free(one)), "label", who, options)
    if "rater" in one.roles and not one.of("judge") and not one.of("label"):
        who = f"`{one.roles['rater']}` says who gave it"
        one = _assigned(one, _scores_first(_free(one))[:1], side, who, options)
    labels = [v.name for v in one.of("label")]
    if all(name.person or name.entity or name.criterion for name in labels):  # a column `human` is all labels
        for kind in _kinds(one, _free(one)):  # of one kind all are labels, or none
            for value in kind if _all_sparse(kind, most) and not (labels and kind[0].name.says_nothing) else ():
                one = _assigned(one, [value], "label", f"blank in {n - value.filled} of {n} rows", options)
    # columns whose names say nothing, by those beside them
    judges, free = one.of("judge"), _free(one)
    if judges and not one.of("label"):
        one = _assigned(one, free, "label", "scores beside a judge's", options)
    elif one.of("label") and not judges:
        free = free or [value for value in one.of("") if value.name.says_nothing]  # on a scale of its own
        one = _assigned(one, _scores_first(free), "judge", "scores beside the labels", options)
    elif not judges:
        called = _called_labels(one.source) and any(len(kind) > 1 for kind in _kinds(one, free))
        side, why = ("label", "the file is called so") if called else (side, "it is a column of scores")
        one = _assigned(one, _scores_first(free), side, why, options)
    elif all(v.name.entity for v in judges):
        more = [v for v in free if v.name.entity and not v.name.criterion]
        one = _assigned(one, more, "judge", "scores like those beside it", options)
    if one.of("judge") and not one.of("label") and one.side != "label":
        grades = []
        for kind in _kinds(one, one.of("")):  # few whole numbers, blank in places or called as grades are
            if kind[0].nature == "numbers" and (_all_sparse(kind, most) or kind[0].name.says_nothing):
                cells = one.source.frame[[value.column for value in kind]].to_numpy().ravel()
                numbers = pd.to_numeric(pd.Series(cells), errors="coerce").dropna().unique()
                grades += kind if 1 < len(numbers) <= FEW_WORDS and (numbers % 1 == 0).all() else []
        one = _assigned(one, grades, "label", "grades beside a judge's, on a scale of their own", options)
    return one


def _assigned(one: Seen, values: Sequence[Value], side: Side, why: str, options: Columns) -> Seen:
    """With these columns of scores on a side, unless the options name all columns of that side."""
    columns = set() if listed(options, side) else {value.column for value in values}
    return replace(one, graded=tuple(replace(v, side=side, why=why) if v.column in columns else v for v in one.graded))


def _scores_first(values: Sequence[Value]) -> Sequence[Value]:
    """Where some say that they are scores, only these."""
    plain = [value for value in values if value.name.says_nothing]
    return plain if len(plain) == 1 and not any(value.name.criterion for value in values) else values


def _free(one: Seen) -> list[Value]:
    """Columns of neither side yet, and like those that are."""
    return _similar_names(one, [value for value in one.graded if value.side], one.of(""))


def _similar_names(one: Seen, scores: Sequence[Value], free: Sequence[Value]) -> list[Value]:
    """Those that may be on the scale of the columns that are scores."""
    if not scores or not free:
        return list(free)
    if any(value.nature != "numbers" for value in scores):
        return [value for value in free if value.nature in {"words", *(score.nature for score in scores)}]
    columns = [value.column for value in (*scores, *free)]
    numbers = {column: pd.to_numeric(one.source.frame[column], errors="coerce") for column in columns}
    scale = parse_scale(guessed_scale(*(numbers[value.column] for value in scores)))
    alike = []
    for value in free:
        cells = numbers[value.column].dropna()
        if scale is not None and value.nature == "numbers" and len(cells) and np.all(scale.holds(cells)):
            alike.append(value)
    return alike


def _only_role(one: Seen, values: Sequence[Value]) -> Seen:
    """With these columns of scores, and for the others why they are none."""
    scores, graded, why = {value.column: value for value in values}, list[Value](), dict[str, str]()
    for value in one.graded:
        if value.column in scores:
            graded.append(scores[value.column])
        elif value.side and one.side and value.side != one.side:
            other = {"judge": "a judge's scores", "label": "labels"}[value.side]
            why[value.column] = f"by its name {other}, which are taken from the other file"
        else:
            why[value.column] = "other columns are the scores"
    return replace(one, graded=tuple(graded), why=why | one.why)
