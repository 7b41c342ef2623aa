"""The tables of a gate for the judge: whose labels count, columns that both tables have, texts that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from calib.gate.matching import matched_tables
from calib.gate.sure_labels import not_drawn
from calib.inputs.alike import few, looks
from calib.inputs.names import InferredTables
from calib.inputs.resolve import Inputs
from calib.table import TableArgumentError
from calib.table.labelled import Labelled
from calib.table.validate import ValidatedTable, scores_in

NO_SEGMENT = "(none)"
_UNNAMED = "The labels name no system: each was given to the very output that the judge scored under its id."


class JudgeTables(NamedTuple):
    """Scores of a judge and the labels that count for them, with the names of the columns of segments and groups."""

    judged: ValidatedTable
    people: ValidatedTable
    by: str | None
    groups: str | None
    left_out: Mapping[str, tuple[int, str]]  # by criterion: how many labels are of other systems, and in words
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]


def tables_of_judge(files: Inputs, by: str | None, groups: str | None) -> JudgeTables:
    """Both tables, checked to say the same in columns that both have; every item has a segment."""
    scored, labelled = _systems(files.scores, "scores"), _systems(files.annotations, "labels")
    if labelled and not scored:
        came = f"the labels are of {few(labelled)}, and the scores do not say whose they are"
        raise TableArgumentError("scores", "must have a column `system` where labels have one", came)
    own = matched_tables(files.scores, files.annotations, None, None)
    frame, people = own.scores.frame, scores_in(own.labels, "labels")
    if people.frame.empty and own.left_out:
        came = "; ".join(text for _, text in own.left_out.values())
        raise TableArgumentError("labels", f"must be of what was scored ({few(scored)})", came)
    judges = {looks(name) for name in frame["rater"].unique()}  # which do not label what they score
    if same := [name for name in people.frame["rater"].unique() if looks(name) in judges]:
        raise TableArgumentError("labels", "must be people's", f"has labels by {same[0]!r}, the judge of the scores")
    frame, by = _with_column(frame, people.frame, files, by, "by")
    frame, groups = _with_column(frame, people.frame, files, groups, "groups")
    notes = list(own.notes)
    if by is not None and by in frame:
        frame = frame.assign(**{by: _filled(frame, by).reindex(frame.index, fill_value=NO_SEGMENT)})
    if groups == "group" and "group" not in frame and "group" not in people.frame:
        frame, texts = _grouped_by_text(frame, people.frame, files.inferred)
        notes += texts
    for criterion, rows in frame.groupby("criterion", observed=True) if scored else ():
        these = rows["item"].astype(object).isin(people.frame["item"].astype(object))
        if bare := [name for name in rows["system"].dropna().unique() if name not in set(rows.loc[these, "system"])]:
            notes.append(f"unlabelled: {criterion}: no label is of {few(bare)}: nothing was checked there")
    assumed = (_UNNAMED,) * (bool(scored) and not labelled)
    return JudgeTables(scores_in(frame, "scores"), people, by, groups, own.left_out, tuple(notes), assumed)


def _systems(table: Any, argument: str) -> list[str]:
    """The systems that a table names, of scores or of ratings."""
    named = isinstance(table, pd.DataFrame) and "system" in table
    return list(_filled(table if named else scores_in(table, argument).frame, "system").unique())


def _filled(frame: pd.DataFrame, name: str) -> pd.Series:
    """The values of a column that are not blank."""
    column = frame[name].astype(object) if name in frame else pd.Series(dtype=object)
    return column[column.notna() & (column.astype(str).str.strip() != "")]


def _with_column(
    judged: pd.DataFrame, people: pd.DataFrame, files: Inputs, column: str | None, argument: str
) -> tuple[pd.DataFrame, str | None]:
    """The scores with a column of segments or groups, from the labels where they have none; and its name there."""
    if column is None:
        return judged, None
    own = None if files.inferred is None else files.inferred.rows.get("label")
    name = files.named(column, argument) or column
    labels, there = people, name
    if name not in people and own is not None and own.ids in own.source.frame:  # columns of a user's own file of labels
        labels, there = own.source.frame.rename(columns={own.ids: "item"}), column
    if name == "system" or there not in labels:
        return judged, name
    values = pd.DataFrame({"item": labels["item"].map(looks), "value": _filled(labels, there)}).dropna()
    values = values.drop_duplicates()
    if values["item"].duplicated().any():
        raise TableArgumentError(argument, "must be a column with one value an item", f"{column!r} has several")
    theirs = judged["item"].map(looks).astype(object).map(values.set_index("item")["value"])
    mine = _filled(judged, name).reindex(judged.index)
    differ = mine.notna() & theirs.notna() & (mine.map(looks) != theirs.map(looks))
    if differ.any():
        at = differ.idxmax()
        came = f"{column!r} differs in {int(differ.sum())} items, such as {judged['item'][at]!r}"
        rule = "must be a column of which scores and labels say the same"
        raise TableArgumentError(argument, rule, f"{came} ({mine[at]!r} and {theirs[at]!r})")
    return (judged if name == "group" else judged.assign(**{name: mine.where(mine.notna(), theirs)})), name


def _grouped_by_text(
    judged: pd.DataFrame, people: pd.DataFrame, inferred: InferredTables | None
) -> tuple[pd.DataFrame, list[str]]:
    """The scores with items of the same text in one group, and notes, also on rows without ids, which may repeat."""
    if inferred is None:
        return judged, []
    if not any(one.role == "item" for one in inferred.columns):
        text = f"no_ids: {len(judged)} rows have no ids, and each counts as an output of its own, copies too"
        return judged, [text]
    texts = inferred.items
    names = [name for name in ("source", "output") if texts is not None and name in texts]
    if texts is None or not names:
        return judged, []
    key = texts[names].fillna("").astype(str).agg("\x1f".join, axis=1).map(looks)
    group = judged["item"].astype(str).map(dict(zip(texts["item"].astype(str), key, strict=True)))
    group = group.where(group.notna() & (group.str.strip("\x1f ") != ""), judged["item"].astype(str))
    labelled = group[judged["item"].astype(str).isin(people["item"].astype(str))]
    labelled = labelled[~judged.loc[labelled.index, "item"].astype(str).duplicated()]
    if n := int(labelled.duplicated().sum()):
        text = f"same_texts: {n} of {len(labelled)} labelled items repeat the text of another: one text is one group"
        return judged.assign(group=group), [text]
    return judged, []


def refuse_several_judges(labels: Iterable[Mapping[str, Any]]) -> None:
    """A verdict is on one judge: of a criterion there must be one rater, prompt and method."""
    whose: dict[str, list[str]] = {}
    for label in labels:
        who = " / ".join(filter(None, (str(label[name]) for name in ("rater", "prompt", "method"))))
        whose.setdefault(str(label["criterion"]), []).append(who)
    for criterion, several in whose.items():
        if len(several) > 1:
            rule = "must hold one judge, prompt and method for each criterion of a gate: select one"
            raise TableArgumentError("scores", rule, f"{criterion!r} has {', '.join(several)}")


def refuse_mixed(each: Sequence[Labelled], judged: pd.DataFrame) -> None:
    """A verdict is on one judge: of a criterion there must be one rater, prompt and method, on one scale."""
    refuse_several_judges(one.label for one in each)
    for criterion in dict.fromkeys(str(one.label["criterion"]) for one in each):
        scales = _filled(judged[judged["criterion"].astype(str) == criterion], "scale").unique()
        if len(scales) > 1:
            raise TableArgumentError("scores", "must be on one scale", f"those on {criterion!r} are on {few(scales)}")


def why_not_drawn(
    judged: Labelled, people: pd.DataFrame, parts: Sequence[pd.DataFrame], groups: str | None, most: float
) -> str:
    """Why the labels of a criterion are no random sample of what was scored; a draw by unequal chances is refused."""
    labelled = judged.frame[judged.frame["y"].notna()]
    chances = _filled(labelled if "inclusion" in labelled else people, "inclusion").astype(float)
    if len(chances) and chances.max() > chances.min() * (1 + 1e-9):
        reach = f"chances of {chances.min():.2g} to {chances.max():.2g}"
        rule = "must be drawn with one chance for all, as each counts alike in a figure (`choose` with design='simple')"
        raise TableArgumentError("labels", rule, f"those on {judged.label['criterion']!r} were drawn with {reach}")
    return not_drawn(parts, groups, most)
