"""Whether labels may decide: surely people's, of one round, by whom, and a random sample of what was scored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from calib.analysis.calibration.calibration_map import sha
from calib.analysis.means.random_draw import p_of_draw
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.inputs.alike import few, looks
from calib.inputs.cells import blank, id_texts
from calib.inputs.names import InferredColumn, InferredTables, is_model, is_person, key, read_name
from calib.table import TableArgumentError, TableError
from calib.table.pairs import DESIGN, chosen_in
from calib.table.sessions import HIGH_IS_BAD

if TYPE_CHECKING:
    from calib.gate.evidence import Build

_VERSION = re.compile(r"(?:^|_)(?:v\d+|\d{3,}|old|new|prev\w*|before|after|last|first)(?:_|$)")
_BUILDS = ("version", "commit", "sha", "revision", "release", "build")
_ROUND = ("round", "wave", "batch", "version", "iteration", "run", "date", "sheet")
_MOST_GRADES = 11  # different values of a column that may be labels
Annotators = dict[tuple[str, str], frozenset[str]]
_NAMELESS = r"mean of \d+ \w+|people( of .*)?|humans?|(the )?labels?|gold|experts?|crowd|annotators?|raters?"
_MANY = 20  # labels of one person
_CROWD = 10  # annotators of each build, over whom strict and kind ones even out
_CERTAIN = 1e-3  # p-value


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
    # a label that is a word, or off the scale, was not read
    frames = {source.name: source.frame for source in tables.sources}
    n_cells = sum(int((~blank(frames[one.source][one.column])).sum()) for one in columns)
    unread = n_cells - (0 if tables.annotations is None else int(tables.annotations["score"].notna().sum()))
    if columns and unread > max_unread * n_cells:
        rule = "must hold labels on the scale, or nothing"
        raise TableArgumentError("labels", rule, f"{unread} of {n_cells} cells hold something else, or were not used")
    if apart:
        _refuse_other_build(tables)
        notes += _other_texts(tables, max_unread, items)
    if columns and all(one.why == "as was said" for one in columns):
        return notes + _round_notes(tables, columns, frames)
    judged = {one.column for one in tables.columns if one.role == "judge" and one.source != apart}
    for one in columns:  # labels are so by their name, or as a score in a second file; not by what stands beside them
        rule = "must name the column of people's labels, for a gate takes none on a guess"
        if is_model(read_name(one.column).entity):
            raise ArgumentError("label", rule, f"`{one.column}` is called as a model")
        if one.source != apart and one.why not in ("its name", "as was said") and "who gave it" not in one.why:
            raise ArgumentError("label", rule, f"`{one.column}` of {one.source} may be labels or not ({one.why})")
        if apart and one.column in judged and one.why != "its name" and read_name(Path(apart).stem).side != "label":
            received = f"both files have `{one.column}`, and neither name says which is people's"
            raise ArgumentError("label", "must name the column of people's labels", received)
    _refuse_raters(tables, columns, apart)
    _refuse_others(tables, columns, frames)
    return notes + _round_notes(tables, columns, frames)


def _refuse_other_build(tables: InferredTables) -> None:
    """Refuse labels of another build, by a column such as `version` that says so."""
    scores, labels = tables.sources[:2]
    ours, theirs = ({key(name): cells for name, cells in source.frame.items()} for source in (scores, labels))
    for name in (name for name in _BUILDS if name in ours and name in theirs):
        scored, labelled = (id_texts(side[name]).dropna().unique() for side in (ours, theirs))
        if len(scored) and len(labelled) and not set(scored) & set(labelled):
            came = f"`{name}` is {few(labelled)} in {labels.name} and {few(scored)} in {scores.name}"
            raise TableArgumentError("labels", "must be of the build that was scored", came)


def _other_texts(tables: InferredTables, most: float, items: pd.DataFrame | None) -> list[str]:
    """Refuse labels beside another output than the one that was scored under their id; few such ones are a note."""
    texts = []
    for source in tables.sources[:2]:
        names = {one.role: one.column for one in tables.columns if one.source == source.name}
        both_there = {"item", "output"} <= names.keys()
        texts.append(_texts_by(source.frame[names["item"]], source.frame[names["output"]]) if both_there else {})
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


def _texts_by(ids: pd.Series, outputs: pd.Series) -> dict[str, set[str]]:
    """The texts of each id, but for blanks and characters that cannot be seen."""
    texts: dict[str, set[str]] = {}
    for item, text in zip(id_texts(ids), outputs, strict=True):
        if item is not None and isinstance(text, str) and text.strip():
            texts.setdefault(looks(item), set()).add(" ".join(looks(text).split()))
    return texts


def _refuse_raters(tables: InferredTables, columns: list[InferredColumn], apart: str) -> None:
    """Refuse labels by a model, or by a name among the judges."""
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


def _refuse_others(tables: InferredTables, columns: list[InferredColumn], frames: Mapping[str, pd.DataFrame]) -> None:
    """Refuse to guess which of several columns are this build's labels."""
    rule = "must name the columns of this build's labels"
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


def _round_notes(
    tables: InferredTables, columns: list[InferredColumn], frames: Mapping[str, pd.DataFrame]
) -> list[str]:
    """Cells of labels that say NA, and columns by which labels may be of several rounds."""
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
                first = ", ".join(values[:3]) + ", ..." * (len(values) > 3)
                notes.append(f"rounds: labels of all values of `{one.column}` ({first}) count as this build's")
    return notes


def more_is_worse(criteria: list[str]) -> list[str]:
    """A note on criteria by whose name a high score is a bad one, where a threshold asks for a high one."""
    such = [printable(name) for name in criteria if HIGH_IS_BAD.search(key(name))]
    what = "a high score passes: reverse the scores if high is bad"
    return [f"more_is_worse: {', '.join(such)}: {what}"] if such else []


# --- who labelled, and which outputs ----------------------------------------------------------------------------------


def annotators_in(labels: Any) -> Annotators:
    """Who labelled each criterion and item, as hashes of names; "" is somebody without a name.

    Examples
    --------
    >>> rows = pd.DataFrame({"criterion": "tone", "item": ["a", "a", "b"], "rater": ["ann", "bo", "people"]})
    >>> [(item, sorted(map(len, who))) for (_, item), who in annotators_in(rows).items()]
    [('a', [16, 16]), ('b', [0])]
    """
    if not isinstance(labels, pd.DataFrame) or "rater" not in labels:
        return {}
    names = {name: sha(looks(name)).removeprefix("sha256:")[:16] for name in labels["rater"].unique()}
    names |= {name: "" for name in names if re.fullmatch(_NAMELESS, str(name), re.IGNORECASE)}
    who: dict[tuple[str, str], set[str]] = {}
    for criterion, item, rater in zip(labels["criterion"], labels["item"], labels["rater"], strict=True):
        who.setdefault((str(criterion), looks(item)), set()).add(names[rater])
    return {place: frozenset(those) for place, those in who.items()}


def of_their_sessions(who: Mapping[tuple[str, str], frozenset[str]], session_of: Mapping[str, str]) -> Annotators:
    """Who labelled turns as who labelled their sessions.

    Examples
    --------
    >>> turns = {("tone", "t1"): frozenset(["x"]), ("tone", "t2"): frozenset(["y"]), ("tone", "s2"): frozenset(["z"])}
    >>> {place: sorted(names) for place, names in of_their_sessions(turns, {"t1": "s1", "t2": "s1"}).items()}
    {('tone', 's1'): ['x', 'y'], ('tone', 's2'): ['z']}
    """
    sessions, out = {looks(turn): looks(session) for turn, session in session_of.items()}, Annotators()
    for (criterion, item), names in who.items():
        place = criterion, sessions.get(item, item)
        out[place] = out.get(place, frozenset()) | names
    return out


def constant_annotators(labels: Any) -> list[str]:
    """A note on each annotator who gave one label to all of many items on which others gave several."""
    if not isinstance(labels, pd.DataFrame) or "rater" not in labels:
        return []
    notes = []
    for (criterion, name), mine in labels.dropna(subset=["score"]).groupby(["criterion", "rater"], observed=True):
        others = (labels["criterion"] == criterion) & (labels["rater"] != name) & labels["item"].isin(mine["item"])
        label = mine["score"].iloc[0]
        if len(mine) >= _MANY and (mine["score"] == label).all() and labels.loc[others, "score"].nunique() > 2:
            what = f"{printable(str(name))} gave {label:g} to all {len(mine)} items"
            notes.append(f"constant_annotator: {printable(str(criterion))}: {what}, and others gave several labels")
    return notes


def annotators_apart(build: Build, sides: Iterable[pd.DataFrame]) -> tuple[str, bool]:
    """A warning where two builds were mostly labelled by different people; whether that is sure: named, and few."""
    who, counts, each_side = [], [], []
    for side in sides:
        items = side.loc[side["y"].notna(), "item"]
        each = [build.annotators.get((build.criterion, looks(item)), frozenset([""])) for item in items]
        who.append(frozenset[str]().union(*each))
        counts.append(len(items))
        each_side.append(each)
    shared = who[0] & who[1]
    of_both = [sum(not shared.isdisjoint(one) for one in each) for each in each_side]
    if all(2 * n >= count for n, count in zip(of_both, counts, strict=True)):
        return "", False
    sizes = ["who has no name" if "" in names else f"{len(names)} annotator{'s' * (len(names) > 1)}" for names in who]
    of_each = zip(counts, (build.name, build.other), sizes, strict=True)
    those = " and ".join(f"{n} labels of {name} are by {size}" for n, name, size in of_each)
    both = f"{of_both[0]} and {of_both[1]} of them" if any(of_both) else "none"
    text = f"{those}, {both} by somebody who labelled both builds: builds may differ because annotators do"
    return text, "" not in who[0] | who[1] and min(map(len, who)) < _CROWD


def not_drawn(parts: Iterable[pd.DataFrame], groups: str | None, most: float) -> str:
    """Why the labels of some part are no random sample of it, or of what `choose` drew there; nothing if they may be.

    A part whose outputs share groups is one of groups, by their means.
    """
    parts = [part[part["x"].notna()] for part in parts]
    for part in parts:
        there = [name for name in DESIGN if name in part and part[name].notna().any()]
        rest, drawn, labelled = "the rest", part, part["y"].notna()
        if 0 < len(there) < len(DESIGN) and not labelled.all():
            lacking = next(name for name in DESIGN if name not in there)
            raise TableError(f"the columns of `choose` must come together, but `{lacking}` is missing.")
        if there and not labelled.all():
            chosen = chosen_in(part)
            other = int((labelled & ~chosen).sum())
            if other > most * labelled.sum():
                return f"{other} of {labelled.sum()} labels are of outputs that `choose` did not draw: leave them out"
            rest, drawn, labelled = "the others that `choose` drew", part[chosen], labelled[chosen]
        values = drawn["x"].astype(float)
        if groups in drawn and drawn[groups].notna().all() and drawn[groups].duplicated().any():
            by_group = drawn[groups]
            labelled, values = labelled.groupby(by_group).any(), values.groupby(by_group).mean()
        p = p_of_draw(values.to_numpy(), labelled.to_numpy())
        if p * len(parts) < _CERTAIN:
            apart = values[labelled].mean() - values[~labelled].mean()
            what = f"the judge scores labelled outputs {apart:+.2g} against {rest} (p < .001 in a random draw)"
            return f"{what}: are the labels of a random sample?"
    return ""
