"""From recognised columns to tables: rows of both sides, matched, on their scales, pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.codes import n_summaries
from calib.inputs.ids import Rows, blank_ids, chosen_ids, n_padded, scales_of
from calib.inputs.matched import joined, of_one_spelling, refuse_larger_gold, refuse_repeated
from calib.inputs.names import Columns, Intake, is_model, is_person
from calib.inputs.roles import Seen, is_table
from calib.inputs.rows import (
    QUALITY,
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
from calib.table import SCHEMAS, TableError, check_items, check_scores
from calib.table.gold import mean_of_people
from calib.table.validate import Checked, scores_in

_SPARSE = 0.9


def tables_of(found: Sequence[Seen], said: Columns, notes: list[str], *, in_pairs: bool = False) -> Intake:
    """The tables of a study, from the columns of its files; `in_pairs`: preferences stay with the two compared."""
    pairwise, how = is_pairwise(found, said), stood(found, said)
    found = [_with_ids(one, ids) for one, ids in zip(found, chosen_ids(found), strict=True)]
    found = [_without_summaries(one, notes) for one in found]
    scale = said.get("scale", "") or ("" if pairwise else common_words(found))
    read = Reading(scale, rivals(found) if pairwise else None)
    judges, people = (_side(found, side, how, said, read) for side in ("judge", "label"))
    judges, people = _apart(judges, people, found)
    judges, people = _of_criteria(judges, people, said, notes)
    judges, people = _matched(judges, people, found, notes, pairwise=pairwise, in_pairs=in_pairs)
    scales = scales_of(judges, people, said, notes, worded=_worded(found, read), pairwise=pairwise)
    _count_forgiven(read, found, notes)
    everyone = None if people is None else _table(people, scales.of_people, found, judge=False)
    scores = None if judges is None else _table(judges, scales.of_judges, found, judge=True)
    stands = {v.column: _stands(v, how.entity(v)) for one in found for v in one.graded}
    return Intake(
        sources=tuple(one.source for one in found),
        columns=tuple(taken for one in found for taken in one.taken(stands)),
        shape="wide" if any(len(one.of(side)) > 1 for one in found for side in ("judge", "label")) else "long",
        scale=scales.text,
        guessed_scale=scales.guessed,
        scores=scores,
        people=everyone,
        gold=None if everyone is None else mean_of_people(Checked(everyone, "scores", "gold")).frame,
        items=_items(found, judges, people),
        pairwise=pairwise,
        words=() if pairwise else _words_of(read),
        notes=tuple(dict.fromkeys(notes)),
        said=said,
        apart=scales.apart,
    )


def _matched(
    judges: Rows | None, people: Rows | None, found: Sequence[Seen], notes: list[str], *, pairwise: bool, in_pairs: bool
) -> tuple[Rows | None, Rows | None]:
    """Both sides without repeats, under one spelling of systems and of items."""
    # in one file a judge's score stands beside that of each annotator, and a label beside that of each judge
    both = [one.roles for one in found if one.of("judge") and one.of("label")]
    if pairwise or in_pairs:
        judges, people = (in_one_order(side, found) for side in (judges, people))
    judges = None if judges is None else refuse_repeated(judges, notes, repeats=any("annotator" in r for r in both))
    people = None if people is None else refuse_repeated(people, notes, repeats=any("rater" in r for r in both))
    if judges is not None and people is not None:
        people = replace(people, rows=of_one_spelling(judges.rows, people.rows, "system", notes))
    if pairwise or in_pairs:
        judges, people = (averaged_orders(side) for side in (judges, people))
        stand = as_pairs if in_pairs else as_win_rates
        judges, people = (stand(side, found) for side in (judges, people))
    judges, people = joined(judges, people, notes)
    if judges is not None and people is not None:
        refuse_larger_gold(judges, people, notes, sure=_is_sure(found))
    return judges, people


def _worded(found: Sequence[Seen], read: Reading) -> str:
    """The scale of labels in words: of it a judge's numbers say nothing."""
    labels = [read.of(one, value) for one in found for value in one.of("label")]
    scales = {values.scale for values in labels if values.words}
    return scales.pop() if len(scales) == 1 else ""


def _words_of(read: Reading) -> tuple[str, ...]:
    """The words of the scale, one for each value; numbers among them stand for themselves."""
    for values in read.done.values():
        words = tuple(word for word in values.words if not word.replace(".", "", 1).isdecimal())
        if words and len(words) == len(values.scale.split("|")):
            return words
    return ()


def _is_sure(found: Sequence[Seen]) -> bool:
    """Whether anything but the order of the files says which are the labels."""
    said = (v for one in found for v in one.graded if v.why == "as was said" or v.name.side == v.side)
    return len(found) == 1 or any(v.why == "as was said" or not is_model(v.name.entity) for v in said)


def _stands(value: Any, entity: str) -> str:
    parts = (entity or value.name.person or value.name.entity, value.name.criterion)
    return ", ".join(part for part in parts if part)


def _with_ids(one: Seen, ids: str) -> Seen:
    """The ids of a source, and as groups what else is called like ids and repeats."""
    if not ids:
        return one
    why = "as was said" if one.why.get(ids) == "as was said" else "its name" if ids in one.ids[:1] else "both have it"
    frame, rest = one.source.frame, [c for c in one.ids if c != ids and c not in one.roles.values()]
    found = replace(one, roles={k: v for k, v in one.roles.items() if v != ids}).with_role("item", ids, why)
    if "group" in found.roles or not frame[ids].is_unique:
        return found
    for column in rest:
        cells = frame[column].dropna()
        if cells.duplicated().any() and 1 < cells.nunique() < len(cells):
            return found.with_role("group", column, "ids that repeat, beside ids that do not")
    return found


def _without_summaries(one: Seen, notes: list[str]) -> Seen:
    """Without rows below the others that hold their means or sums."""
    frame, ids = one.source.frame, one.cells("item")
    last = 0 if ids is None or is_table(frame) else n_summaries(ids.tolist())
    if not last:
        return one
    told = ", ".join(repr(str(name)) for name in ids.tolist()[-last:]) if ids is not None else ""
    notes.append(f"{one.source.name}: the last rows ({told}) are taken for summaries of the others and left out.")
    return replace(one, source=replace(one.source, frame=frame.iloc[:-last]))


def _side(found: Sequence[Seen], side: Any, how: Stood, said: Columns, read: Reading) -> Rows | None:
    """The rows of judges or of people, from the one file that has them."""
    for one in found:
        if is_table(one.source.frame) and one.side == side:
            return _of_table(one)
        if one.of(side):
            item = one.roles.get("item", "")
            if not item and len(found) > 1:
                word = "label_item" if one.side == "label" and "item" in said else "item"
                there = ", ".join(repr(str(name)) for name in one.source.frame)
                rule = f"must name the column of ids in {one.source.name}"
                raise ArgumentError(word, rule, f"none looks like one: {there}")
            rows = rows_of(one, side, how, said, read)
            rows = rows if side == "judge" else rows[rows["score"].notna()]
            return Rows(rows.reset_index(drop=True), one.source, item, one.roles.get("system", ""))
    return None


def _of_table(one: Seen) -> Rows:
    """A table of calib's as it is."""
    table = scores_in(one.source.frame, one.source.name).frame
    plain = table.assign(at=range(len(table)), column="score")
    names = [name for name in ("system", "group") if name in plain]
    plain = plain.assign(**{name: None for name in ("system", "group") if name not in names})
    texts = ["item", "criterion", "rater", *names]
    rows = plain.astype(dict.fromkeys(texts, object))
    rows = rows[["at", "item", "system", "group", "criterion", "rater", "score", "column"]]
    return Rows(rows, one.source, "item", "system" if names else "", table)


def _apart(judges: Rows | None, people: Rows | None, found: Sequence[Seen]) -> tuple[Rows | None, Rows | None]:
    """Judges and people in one column of scores: people by their names, or because they rated less."""
    if judges is None or people is not None or len(found) > 1 or "rater" not in found[0].roles:
        return judges, people
    counts = judges.rows.dropna(subset=["score"])["rater"].value_counts()
    theirs = {str(name) for name in counts.index if is_person(name)}
    theirs = theirs or {str(name) for name in counts.index[counts < _SPARSE * counts.max()]}
    if not theirs or theirs >= set(counts.index):
        return judges, people
    rows = judges.rows
    mine = ~rows["rater"].isin(theirs)
    labels = rows[~mine & rows["score"].notna()].reset_index(drop=True)
    return replace(judges, rows=rows[mine].reset_index(drop=True)), replace(judges, rows=labels)


def _of_criteria(
    judges: Rows | None, people: Rows | None, said: Columns, notes: list[str]
) -> tuple[Rows | None, Rows | None]:
    """Both sides with a criterion in each row: their own, the other's where that is one, or what was said."""
    sides = [side for side in (judges, people) if side is not None]
    held = [list(dict.fromkeys(side.rows["criterion"].dropna())) for side in sides]
    told = said.get("criterion", "")
    for place, side in enumerate(sides):
        other = held[1 - place] if len(sides) > 1 else []
        default = told or (other[0] if len(other) == 1 else QUALITY)
        nameless = side.rows["criterion"].isna().any()
        if nameless and len(other) > 1 and default not in other:
            given = f"{sides[1 - place].source.name} has {', '.join(map(repr, other))}, and {side.source.name} none"
            raise ArgumentError("criterion", "must say which criterion is meant", given)
        if nameless:
            sides[place] = replace(side, rows=side.rows.assign(criterion=side.rows["criterion"].fillna(default)))
    if told:
        there = [side.rows["criterion"] == told for side in sides]
        sides = [side.only(rows) if rows.any() else side for side, rows in zip(sides, there, strict=True)]
    if len(sides) > 1:
        spelled = of_one_spelling(sides[0].rows, sides[1].rows, "criterion", notes)
        sides[1] = replace(sides[1], rows=spelled)
        if not set(sides[0].rows["criterion"]) & set(spelled["criterion"]):
            ours, theirs = (", ".join(map(repr, dict.fromkeys(side.rows["criterion"]))) for side in sides)
            given = f"{sides[0].source.name} has {ours} and {sides[1].source.name} {theirs}"
            raise ArgumentError("criterion", "must be one on both sides", given)
    again = iter(sides)
    return (None if judges is None else next(again), None if people is None else next(again))


def _count_forgiven(read: Reading, found: Sequence[Seen], notes: list[str]) -> None:
    """What was read in spite of how it was written, and what words were read as."""
    ids = [(one.source.name, cells) for one in found if (cells := one.cells("item")) is not None]
    padded = [(name, cells.name, n) for name, cells in ids if (n := n_padded(cells))]
    notes += [f"{name}: `{column}`: {n} ids were read without the blanks around them." for name, column, n in padded]
    nameless = [(name, cells.name, n) for name, cells in ids if (n := int(blank_ids(cells).sum()))]
    notes += [f"{name}: `{column}`: rows without an id are left out: {n}." for name, column, n in nameless]
    for (_, column), values in read.done.items():
        many = f"{values.n_forgiven} cells were" if values.n_forgiven > 1 else "1 cell was"
        forgiven = f"`{column}`: {many} read in spite of blanks around them or how they are written."
        notes += [*values.notes, *[forgiven] * bool(values.n_forgiven)]


# --- tables ---------------------------------------------------------------------------------------------------------


def _table(side: Rows, scale: Mapping[str, str], found: Sequence[Seen], *, judge: bool) -> pd.DataFrame:
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
    if judge:
        out = out.join(_beside(side, rows, found))
    return check_scores(out)


def _beside(side: Rows, rows: pd.DataFrame, found: Sequence[Seen]) -> pd.DataFrame:
    """What else the file has, for `by`, `strata` and `weights`; where calib has a column of that name as `my_...`."""
    one = next(one for one in found if one.source is side.source)
    used = {value.column for value in one.graded}
    used |= {column for role, column in one.roles.items() if role not in ("weight", "other")}
    known = {*SCHEMAS["scores"], *SCHEMAS["ratings"], *SCHEMAS["items"]}
    names = {name: f"my_{name}" if name in known else name for name in one.source.frame if name not in used}
    return one.source.frame[list(names)].rename(columns=names).iloc[rows["at"].astype(int)].reset_index(drop=True)


def _items(found: Sequence[Seen], judges: Rows | None, people: Rows | None) -> pd.DataFrame | None:
    """The texts of each item, where a file has them."""
    for one in found:
        known = {"source": "source", "output": "output", "text": "reference"}
        names = {name: one.roles[role] for role, name in known.items() if role in one.roles}
        side = next((s for s in (judges, people) if s is not None and s.source is one.source), None)
        if not names.keys() & {"source", "output"} or side is None or side.table is not None:
            continue
        rows = side.rows.drop_duplicates("item").reset_index(drop=True)
        cells = one.source.frame.iloc[rows["at"].astype(int)].reset_index(drop=True)
        texts = {name: cells[column].fillna("").astype(str) for name, column in names.items()}
        design = [name for name in ("group", "system") if rows[name].notna().all()]
        return check_items(rows[["item", *design]].assign(**texts))
    return None
