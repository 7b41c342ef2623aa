"""Whether the labels of a user's files are surely people's, and one round of them: a gate guesses none of that."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.inputs.alike import few, looks
from calib.inputs.cells import blank, id_texts
from calib.inputs.names import InferredColumn, InferredTables, Source, is_model, is_person, key, read_name
from calib.table import TableArgumentError
from calib.table.sessions import HIGH_IS_BAD

_VERSION = re.compile(r"(?:^|_)(?:v\d+|\d{3,}|old|new|prev\w*|before|after|last|first)(?:_|$)")
_BUILDS = ("version", "commit", "sha", "revision", "release", "build")
_ROUND = ("round", "wave", "batch", "version", "iteration", "run", "date", "sheet")
_MOST_GRADES = 11


def require_sure_labels(tables: InferredTables, max_unread: float, items: pd.DataFrame | None = None) -> list[str]:
    """Refuse labels on a guess, by a model, unread, of several rounds or of other texts than those that were scored.

    The notes are on what a reader can tell.
    """
    apart = tables.sources[1].name if len(tables.sources) > 1 else ""
    columns = [one for one in tables.columns if one.role == "label"]
    notes = [f"inputs: {note}" for note in tables.notes]
    for source in tables.sources:
        if sheets := [note for note in source.notes if "there is also" in note]:
            argument = "labels" if source.name == apart else "scores"
            raise TableArgumentError(argument, "must name one sheet of a workbook", sheets[0].rstrip("."))
        notes += [f"inputs: {source.name}: {note}" for note in source.notes if note.endswith("?")]
    _refuse_unread(tables, columns, max_unread)
    if apart:
        _refuse_other_build(tables)
        notes += _other_texts(tables, max_unread, items)
    if columns and all(one.why == "as was said" for one in columns):
        return notes + _round_notes(tables, columns)
    judged = {one.column for one in tables.columns if one.role == "judge" and one.source != apart}
    for one in columns:
        _refuse_guess(one, apart)
        if apart and one.column in judged and one.why != "its name" and read_name(Path(apart).stem).side != "label":
            received = f"both files have `{one.column}`, and neither name says which is people's"
            raise ArgumentError("label", "must name the column of people's labels", received)
    _refuse_raters(tables, columns, apart)
    _refuse_others(tables, columns)
    return notes + _round_notes(tables, columns)


def _refuse_guess(one: InferredColumn, apart: str) -> None:
    """A column is labels by its name, or as a score in a second file; not by what stands beside it."""
    rule = "must name the column of people's labels, for a gate takes none on a guess"
    if is_model(read_name(one.column).entity):
        raise ArgumentError("label", rule, f"`{one.column}` is called as a model")
    if one.source != apart and one.why not in ("its name", "as was said") and "who gave it" not in one.why:
        raise ArgumentError("label", rule, f"`{one.column}` of {one.source} may be labels or not ({one.why})")


def _refuse_unread(tables: InferredTables, columns: list[InferredColumn], most: float) -> None:
    """Cells of labels that hold a word or a value off the scale are labels that were not read."""
    frames = {source.name: source.frame for source in tables.sources}
    n_cells = sum(int((~blank(frames[one.source][one.column])).sum()) for one in columns)
    unread = n_cells - (0 if tables.annotations is None else int(tables.annotations["score"].notna().sum()))
    if columns and unread > most * n_cells:
        rule = "must hold labels on the scale, or nothing"
        raise TableArgumentError("labels", rule, f"{unread} of {n_cells} cells hold something else, or were not used")


def _refuse_other_build(tables: InferredTables) -> None:
    """A column such as `version` that says one thing in the file of labels and another in that of scores."""
    scores, labels = tables.sources[:2]
    ours, theirs = ({key(name): cells for name, cells in source.frame.items()} for source in (scores, labels))
    for name in (name for name in _BUILDS if name in ours and name in theirs):
        scored, labelled = (id_texts(side[name]).dropna().unique() for side in (ours, theirs))
        if len(scored) and len(labelled) and not set(scored) & set(labelled):
            came = f"`{name}` is {few(labelled)} in {labels.name} and {few(scored)} in {scores.name}"
            raise TableArgumentError("labels", "must be of the build that was scored", came)


def _other_texts(tables: InferredTables, most: float, items: pd.DataFrame | None) -> list[str]:
    """Refuse labels beside another output than the one that was scored under their id; few such ones are a note."""
    texts = [_texts_in(tables, source) for source in tables.sources[:2]]
    if items is not None and "output" in items and not texts[0]:
        texts[0] = _texts_by(items["item"], items["output"])
    both = texts[0].keys() & texts[1].keys()
    other = sorted(item for item in both if texts[0][item].isdisjoint(texts[1][item]))
    if not other:
        return []
    what = f"{len(other)} of {len(both)} outputs have different texts in labels and scores"
    if len(other) > most * len(both):
        raise TableArgumentError("labels", "must be of the outputs that were scored", f"{what}: {few(other)}")
    return [f"other_texts: {what}: {few(other)}"]


def _texts_in(tables: InferredTables, source: Source) -> dict[str, set[str]]:
    names = {one.role: one.column for one in tables.columns if one.source == source.name}
    if not {"item", "output"} <= names.keys():
        return {}
    return _texts_by(source.frame[names["item"]], source.frame[names["output"]])


def _texts_by(ids: pd.Series, outputs: pd.Series) -> dict[str, set[str]]:
    """The texts of each id, but for blanks and characters that cannot be seen."""
    texts: dict[str, set[str]] = {}
    for item, text in zip(id_texts(ids), outputs, strict=True):
        if item is not None and isinstance(text, str) and text.strip():
            texts.setdefault(looks(item), set()).add(" ".join(looks(text).split()))
    return texts


def _refuse_raters(tables: InferredTables, columns: list[InferredColumn], apart: str) -> None:
    """Who labelled must be people: no model, and no row of a column of judges."""
    if tables.annotations is None:
        return
    names = [str(name) for name in tables.annotations["rater"].unique()]
    if models := [name for name in names if is_model(name)]:
        received = f"has {models[0]!r} as who labelled, which is a model's name (a person may be called otherwise)"
        raise TableArgumentError("labels", "must be people's", received)
    roles = {one.role for one in tables.columns if one.source != apart}
    judges = [name for name in names if not is_person(name)]
    named = any(one.why == "its name" for one in columns)
    if judges and not (apart or named) and "rater" in roles and "annotator" not in roles:
        rule = "must be in a file of their own, or be those of annotators (--annotator names their column)"
        raise TableArgumentError("labels", rule, f"{judges[0]!r} stands among the judges")


def _refuse_others(tables: InferredTables, columns: list[InferredColumn]) -> None:
    """Of several columns that may be this build's labels a reader has to say which they are."""
    rule = "must name the columns of this build's labels"
    frames = {source.name: source.frame for source in tables.sources}
    for one in tables.columns:
        if one.role != "other" or one.source not in {label.source for label in columns}:
            continue
        cells = frames[one.source][one.column]
        numbers = pd.to_numeric(cells[~blank(cells)], errors="coerce").dropna()
        if read_name(one.column).says_nothing and len(numbers) and numbers.nunique() <= _MOST_GRADES:
            received = f"`{one.column}` of {one.source} may be labels, too, beside `{columns[0].column}`"
            raise ArgumentError("label", rule, received)
    for criterion in {read_name(one.column).criterion for one in columns}:
        alike = [one for one in columns if read_name(one.column).criterion == criterion]
        bare = [one for one in alike if not (read_name(one.column).person or read_name(one.column).entity)]
        of_round = [one for one in alike if _VERSION.search(key(one.column))]
        if len(alike) > 1 and (of_round or 0 < len(bare) < len(alike)):
            names = ", ".join(f"`{one.column}`" for one in alike)
            raise ArgumentError("label", rule, f"{names} may be annotators, or rounds of labels")


def _round_notes(tables: InferredTables, columns: list[InferredColumn]) -> list[str]:
    """Columns by which labels may be of several rounds, and criteria of which more is worse."""
    frames = {source.name: source.frame for source in tables.sources}
    labelled, notes = {one.source for one in columns}, []
    for one in columns:
        cells = frames[one.source][one.column]
        if n := int((blank(cells) & cells.notna() & (cells.astype(str).str.strip() != "")).sum()):
            what = f"{n} cells of `{one.column}` say NA or the like and count as unlabelled"
            notes.append(f"labels_refused: {what}: if annotators declined these, the rest is no random sample")
    for one in tables.columns:
        if one.role == "other" and one.source in labelled and key(one.column) in _ROUND:
            values = [printable(str(value)) for value in frames[one.source][one.column].dropna().unique()]
            if len(values) > 1:
                few = ", ".join(values[:3]) + ", ..." * (len(values) > 3)
                notes.append(f"rounds: labels of all values of `{one.column}` ({few}) count as this build's")
    return notes


def more_is_worse(criteria: list[str]) -> list[str]:
    """A note on criteria by whose name a high score is a bad one, where a threshold asks for a high one."""
    such = [printable(name) for name in criteria if HIGH_IS_BAD.search(key(name))]
    what = "a high score passes: reverse the scores if high is bad"
    return [f"more_is_worse: {', '.join(such)}: {what}"] if such else []
