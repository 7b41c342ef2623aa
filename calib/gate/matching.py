"""Whose labels count for a build, ids that look alike, and outputs that have no row in its scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.alike import alike_note, few, looks, renamed, short_name, spelled_as
from calib.inputs.cells import id_texts
from calib.inputs.names import InferredTables, is_model, loose
from calib.table import TableArgumentError, check_scores
from calib.table.scores import with_own_systems
from calib.table.validate import ValidatedTable, scores_in

if TYPE_CHECKING:
    from calib.gate.evidence import Build

_NAMES = ("item", "group", "system", "criterion")
_BY_JUDGES = frozenset(("sample", "logprob", "chain"))
_UNNAMED = (
    "The labels name no system: each was given to the very output that this build has under its id, and not to that of "
    "an earlier one."
)


class Matched(NamedTuple):
    """The tables of a gate, with one spelling of each id and without labels of other outputs."""

    scores: ValidatedTable
    labels: ValidatedTable | None
    items: pd.DataFrame | None
    left_out: Mapping[str, tuple[int, str]]  # by criterion: how many labels are of other systems, and in words
    apart: Mapping[str, int]  # labels on criteria that nothing is scored on
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]


def matched_tables(scores: Any, labels: Any, items: pd.DataFrame | None, system: str | None) -> Matched:
    """Scores, labels and items under one spelling of each id; a label counts for the output of its own system alone."""
    judged, people = _table_in(scores, "scores"), None if labels is None else _table_in(labels, "labels")
    _refuse_alike(judged.frame, "scores")
    notes, left_out, apart = list[str](), dict[str, tuple[int, str]](), Counter[str]()
    if items is not None:
        _refuse_alike(items, "items")
        items = _in_one_spelling(judged.frame, items, "items", notes)
    if people is not None:
        _refuse_alike(people.frame, "labels")
        frame = _in_one_spelling(judged.frame, people.frame, "labels", notes)
        kept, left_out = _own_labels(judged.frame, frame, system)
        notes += [f"labels_of_others: {criterion}: {text}" for criterion, (_, text) in left_out.items()]
        if kept is not people.frame:
            people = replace(people, frame=check_scores(kept))
        scored = set(judged.frame["criterion"])
        apart.update(name for name in people.frame["criterion"] if name not in scored)
        where = "on which nothing is scored"
        notes += [f"criteria_apart: {n} labels are on {short_name(name)}, {where}" for name, n in apart.items()]
    unnamed = people is not None and len(people.frame) > 0 and "system" not in people.frame
    return Matched(judged, people, items, left_out, apart, tuple(notes), (_UNNAMED,) * unnamed)


def _in_one_spelling(judged: pd.DataFrame, frame: pd.DataFrame, argument: str, notes: list[str]) -> pd.DataFrame:
    """A table with the names of the scores, where its own are the same but for what cannot be seen."""
    columns = {}
    for name in _NAMES:
        there = "item" if name == "group" and "group" not in judged else name
        if name in frame and there in judged:
            other = spelled_as(judged[there].unique(), frame[name].dropna().unique())
            if other:
                columns[name] = renamed(frame[name], other)
                notes.append(alike_note(other, argument, name))
    return frame.assign(**columns) if columns else frame


def refuse_nameless(tables: InferredTables) -> None:
    """Refuse rows without an id, which may be of any output: a gate leaves none out."""
    sources = {source.name: source.frame for source in tables.sources}
    for one in tables.columns:
        if one.role == "item" and (bare := int(id_texts(sources[one.source][one.column]).isna().sum())):
            argument = "labels" if len(sources) > 1 and one.source == tables.sources[1].name else "scores"
            raise TableArgumentError(argument, "must have an id in each row", f"{bare} rows of {one.source} have none")


def refuse_lists(table: Any, argument: str) -> None:
    """Refuse names that are lists."""
    for name in _NAMES if isinstance(table, pd.DataFrame) else ():
        for one in table[name].array if name in table and table[name].dtype == object else ():
            if not isinstance(one, Hashable):
                raise TableArgumentError(argument, f"must name each {name} by a text or a number", f"has {few([one])}")


def _table_in(table: Any, argument: str) -> ValidatedTable:
    """Scores, with the systems that ratings name; labels are people's."""
    checked = scores_in(table, argument)
    if isinstance(table, pd.DataFrame):
        checked = replace(checked, frame=with_own_systems(checked.frame, table, argument))
    if argument == "labels" and (by := _BY_JUDGES.intersection(checked.frame["method"])):
        raise TableArgumentError(argument, "must be people's", f"has scores of a judge (method {min(by)!r})")
    raters = checked.frame["rater"].unique() if argument == "labels" else ()
    if models := [str(name) for name in raters if is_model(name)]:
        came = f"has scores by {models[0]!r}, a model (a person may be called otherwise)"
        raise TableArgumentError(argument, "must be people's", came)
    return checked


def _own_labels(
    judged: pd.DataFrame, people: pd.DataFrame, system: str | None
) -> tuple[pd.DataFrame, dict[str, tuple[int, str]]]:
    """Labels whose system is that of the output with their id, or that name none; and what is left out."""
    if "system" not in people or not len(people):
        return people, {}
    theirs = people["system"].astype(object)
    if "system" in judged:
        whose_output = dict(zip(judged["item"], judged["system"], strict=True))
    elif system is None:
        came = f"the labels are of {few(theirs.unique())}, and the scores do not say whose they are"
        raise ArgumentError("system", "must name the build", came)
    else:
        whose_output = dict.fromkeys(judged["item"], str(system))
    other = pd.Series([whose_output.get(item, own) != own for item, own in zip(people["item"], theirs, strict=True)])
    if not other.any():
        return people, {}
    left_out = {}
    for criterion, rows in people[other].groupby("criterion", observed=True, sort=False):
        text = f"{len(rows)} labels of {few(rows['system'].unique())} have ids of outputs of another system"
        left_out[str(criterion)] = len(rows), f"{text} and are left out"
    return people[~other].reset_index(drop=True), left_out


def _refuse_alike(frame: pd.DataFrame, argument: str) -> None:
    """Refuse names of one table that look alike: an output may count twice, or a part of a build be missed."""
    for name in _NAMES:
        by_look: dict[str, Any] = {}
        for one in frame[name].dropna().unique() if name in frame else ():
            if (first := by_look.setdefault(looks(one), one)) != one:
                rule = f"must write each {name} in one way"
                raise TableArgumentError(argument, rule, f"has {first!r} and {one!r}, which look alike")


class Absent(NamedTuple):
    """Outputs of a build that labels, items, other criteria or other systems have, and its scores have not."""

    names: tuple[Any, ...] = ()
    n_labelled: int = 0

    @property
    def few(self) -> str:
        """The first of them, in words."""
        return few(self.names)


def absent_outputs(build: Build, system: str, items: pd.DataFrame | None, judged: pd.DataFrame) -> Absent:
    """Outputs of a system without a row on the criterion of a build; `judged` are the scores on all that is asked."""
    frame, inputs, scored = build.pair.frame, build.inputs, build.rows(system)
    is_build = system == build.name
    labelled = frame[(frame["_merge"] == "right_only") & frame["y"].notna()]
    whose = labelled["system"].replace("", np.nan)
    if items is not None and "system" in items:
        whose = whose.fillna(labelled["item"].map(items.drop_duplicates("item").set_index("item")["system"]))
    whose = whose.fillna(build.name)  # of the build are also those that name none
    labelled = labelled[whose == system]
    own = judged["system"] == system if "system" in judged else pd.Series(is_build, judged.index)
    expected = [labelled, judged[own]]
    if items is not None and "system" in items:
        expected.append(items[items["system"] == system])
    elif items is not None and is_build:  # but for those that are another's, and inputs whose output is there
        others = {*judged.loc[~own, "item"], *frame.loc[frame["system"].fillna(system) != system, "item"]}
        expected.append(items[~items["item"].isin({*others, *scored[inputs], *labelled[inputs]})])
    columns = list(dict.fromkeys(["item", inputs]))
    lacking = pd.concat([part.reindex(columns=columns).astype(object) for part in expected])
    lacking = lacking[~lacking["item"].isin(scored["item"])]
    # inputs that other systems answered; of ids alone those of systems of which nothing was read
    others = build.pair.scored[build.pair.scored["system"] != system]
    if inputs == "item":
        others = others[others.groupby("system")["x"].transform("count") == 0]
    unanswered = others[~others[inputs].isin({*scored[inputs], *lacking[inputs]})]
    return Absent(tuple(dict.fromkeys([*lacking["item"], *unanswered[inputs].dropna()])), len(labelled))


def apart_notes(build: Build, judged: pd.DataFrame) -> list[str]:
    """Systems that may be the build under another name, and its outputs that are scored on other criteria alone."""
    inputs, name, rows = build.inputs, short_name(build.name), build.rows(build.name)
    of_others = build.pair.frame[~build.pair.frame["system"].isin([build.name, build.other, ""])]
    notes = []
    for system in of_others["system"].dropna().unique():
        theirs = of_others[of_others["system"] == system]
        scored = theirs[theirs["_merge"] != "right_only"]
        short, long = sorted((loose(system), loose(build.name)), key=len)
        if not len(scored):
            what = f"{len(theirs)} labels of {short_name(system)} are of outputs without a score"
        elif scored["x"].isna().all():
            what = f"{len(scored)} outputs of {short_name(system)} have no score"
        elif scored[inputs].isin(rows[inputs]).any() or not (inputs == "group" or long.startswith(short)):
            continue
        else:
            what = f"{len(scored)} outputs of {short_name(system)} have inputs of their own"
        notes.append(f"systems_apart: {what}: if they are {name}'s, give them its name")
    mine = judged[judged["system"] == build.name] if "system" in judged else judged
    lacking = set(mine["item"]) - set(rows["item"]) - set(build.absent[build.name].names)
    if lacking:
        what = f"{len(lacking)} outputs of {name} are scored on other criteria and not on {build.criterion}"
        notes.append(f"criteria_apart: {what}: {few(sorted(lacking))}")
    return notes


def repeated_texts(build: Build, items: pd.DataFrame | None) -> list[str]:
    """A note where labelled outputs have input and text of another one, with which they share no group."""
    rows = build.rows(build.name)
    rows = rows[rows["y"].notna()]
    if items is None or not {"source", "output"} <= set(items):
        return []
    each = rows[build.groups if build.groups in rows else "item"].to_numpy()
    by_item = items.assign(item=items["item"].astype(str)).drop_duplicates("item").set_index("item")
    texts = by_item[["source", "output"]].reindex(rows["item"].astype(str)).assign(each=each).dropna().drop_duplicates()
    n = int(texts.duplicated(["source", "output"]).sum())
    what = f"{n} of {len(rows)} labelled outputs have input and text of another, and each counts"
    return [f"same_texts: {what}: keep one of each, or name what they share (group=, --group)"] if n else []
