"""Runs as trials of tasks: from logs of other tools, tables of calib's, and a user's own files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from calib.adapters.read_log import log_readings, tool_of
from calib.adapters.tables import LogOptions
from calib.core.check import ArgumentError
from calib.core.numeric import ratio
from calib.inputs.alike import alike_note, few, renamed, spelled_as
from calib.inputs.cells import id_texts
from calib.inputs.names import ROLE_OF, Columns, Source, key
from calib.inputs.readings import opened_sources, resolve_readings
from calib.inputs.resolve import is_calibs
from calib.inputs.roles import seen
from calib.table import TableArgumentError, has_replies
from calib.table.validate import scores_in

ROWS = ("task", "group", "text", "trial", "criterion", "rater", "prompt", "scale", "score", "item")
_TRIAL = re.compile(r"trials?|trial_(id|no|number|index)|epochs?|attempts?|repeats?|repetitions?|rollouts?|tries|try")
_MOST_CELLS = 100_000_000
_NO_RUNS = (
    "it has no column of runs or systems: name it (run=, --run), or the columns of scores of each run (judge=, "
    "--judge) with wide='system' (--column wide=system)"
)
_LONG, _HEAD = 50_000, 5_000  # rows of a file that is read by its head, and of the head


class Run(NamedTuple):
    """One run: its name, and one row a reading with the columns `ROWS`; a reading without a score is NaN."""

    name: str
    rows: pd.DataFrame


def runs_in(
    things: Mapping[str, Any], *, run: str | None, trial: str | None, groups: str, log: LogOptions, columns: Columns
) -> list[Run]:
    """The runs in some sources, each of which holds one; or in a single one, by its column of runs or systems."""
    if not things:
        raise ArgumentError("a", "must hold runs", "it is empty")
    frames = {
        name: _of_log(thing, name, log, groups)
        if _is_log(thing)
        else _of_table(thing, name, run, trial, groups, columns)
        for name, thing in things.items()
    }
    systems = {name: [str(one) for one in frame["run"].unique()] for name, frame in frames.items()}
    if len(things) == 1:
        ((_, names),) = systems.items()
        if len(names) < 2:
            came = f"it has {few(names)} alone" if names != [""] else _NO_RUNS
            raise ArgumentError("a", "must hold two runs or more where it is given alone", came)
        return [Run(str(one), rows) for one, rows in next(iter(frames.values())).groupby("run", sort=False)]
    for name, names in systems.items():
        if len(names) > 1:
            rule = "must hold one run, or be given alone to compare the runs in it"
            raise TableArgumentError(name, rule, f"holds {few(names)}")
    return [Run(name, frame) for name, frame in zip(_names_of(things, systems), frames.values(), strict=True)]


def _is_log(thing: Any) -> bool:
    """Whether a path, or each of several, is another tool's log."""
    if isinstance(thing, str | Path):
        return Path(thing).exists() and tool_of(Path(thing)) is not None
    return isinstance(thing, list | tuple) and bool(thing) and all(_is_log(one) for one in thing)


def _names_of(things: Mapping[str, Any], systems: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """What tells the runs apart: the names of a dict, else systems, files, or arguments."""
    paths = [thing.path if isinstance(thing, Source) else thing for thing in things.values()]
    stems = [Path(path).stem if isinstance(path, str | Path) else "" for path in paths]
    for names in ([names[0] for names in systems.values()], stems):
        if set(things) <= {"a", "b"} and "" not in names and len(set(names)) == len(names):
            return names
    return list(things)


def _of_log(thing: Any, name: str, log: LogOptions, groups: str) -> pd.DataFrame:
    readings, _ = log_readings(thing, log)
    readings = readings[readings["method"] != "human"]
    score = readings["score"].astype(float).to_numpy()
    for at, shares in enumerate(readings["shares"]):
        good = [(one.weight, one.score) for one in shares if one.status == "ok"]
        if shares:  # the expectation of a distribution
            score[at] = float(ratio(sum(w * s for w, s in good), sum(w for w, _ in good))) if good else np.nan
    # where the tool numbers no repeats, an output is a trial
    numbered = readings["trial"] >= 0
    trial = readings["item"].astype(str).where(~numbered, readings["trial"].astype(str))
    task = readings["task"].where(readings["task"] != "", readings["group"])
    fields = [field for field in readings["about"].iloc[0] if all(field in about for about in readings["about"])]
    if groups == "group" and "group" not in fields:  # what else a column of what tasks share is called
        groups = next((field for field in fields if ROLE_OF.get(key(field)) == "group"), groups)
    shared = [about.get(groups) for about in readings["about"]]
    turn = [about["turn"] for about in readings["about"]] if "turn" in fields else None
    if groups != "group" and not any(one is not None for one in shared):
        there = sorted({str(field) for about in readings["about"].head(_HEAD) for field in about})
        raise TableArgumentError("groups", f"must be a field of the samples of {name}", f"there are {few(there)}")
    return pd.DataFrame({
        "run": readings["system"], "task": task, "group": [None if one is None else str(one) for one in shared],
        "text": readings["group"],
        "trial": readings["file"].astype(str) + ":" + trial, "criterion": readings["criterion"],
        "rater": readings["rater"], "prompt": readings["prompt"], "scale": readings["scale"],
        "score": np.where(readings["status"] == "ok", score, np.nan), "item": readings["item"], "numbered": numbered,
        **({} if turn is None else {"turn": turn}),
    })  # fmt: skip


def _of_table(thing: Any, name: str, run: str | None, trial: str | None, groups: str, columns: Columns) -> pd.DataFrame:
    """Of a user's file each row is a trial, unless a column says which; of calib's ratings each item is one."""
    source, words = opened_sources(columns, **{name: thing})[name]
    frame = source.frame
    for word, value in (("run", run), ("trial", trial), ("groups", groups if groups != "group" else None)):
        if value is not None and value not in frame:
            there = ", ".join(map(repr, frame))
            of = source.name if isinstance(source, Source) else name
            raise TableArgumentError(word, f"must be a column of {of}", f"got {value!r}; there are {there}")
    if is_calibs(source):
        _refuse_gaps(frame, run=run, trial=trial)
        return _of_calibs(frame if groups == "group" else frame.assign(group=frame[groups]), name, run, trial)
    assert isinstance(source, Source)
    words = {**words, "group": groups} if groups != "group" else words
    run, numbered = columns_of_runs(source, run, trial, words)
    _refuse_gaps(frame, run=run, trial=numbered)
    words = cast(Columns, {word: one for word, one in words.items() if word != "system" or one != run})
    if run is not None and "group" not in words:  # which may hold each group once in a run
        shared = [one for one in frame if ROLE_OF.get(key(one)) == "group" and frame[one].duplicated().any()]
        words = {**words, **({"group": shared[0]} if shared else {})}
    parts = []
    for value, rows in [("", frame)] if run is None else frame.groupby(_names_in(frame[run]), sort=False):
        kept = rows.drop(columns=[] if run is None else run).reset_index(drop=True)
        table, inputs = _readings(replace(source, frame=kept), name, words, numbered)
        texts, turn = (_by_item(kept, inputs, one) for one in ("source", "turn"))
        parts.append(
            pd.DataFrame({
                "run": table["system"] if run is None and "system" in table else str(value), "task": table["item"],
                "group": table.get("group"), "text": table["item"].map(texts) if len(texts) else None,
                "trial": table["draw"] if numbered is None else table["session"],
                **{one: table[one].astype(object) for one in ("criterion", "rater", "prompt", "scale")},
                "score": table["score"], "item": table["item"], "numbered": numbered is not None,
                **({"turn": table["item"].map(turn)} if len(turn) else {}),
            })
        )  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def columns_of_runs(source: Source, run: str | None, trial: str | None, words: Any) -> tuple[str | None, str | None]:
    """The columns of a user's file that name the runs and number the trials, unless they are named for another role.

    Systems that share ids are runs.
    """
    named = {key(one) for word in words.values() for one in ([word] if isinstance(word, str) else word)}
    free = [one for one in source.frame if key(one) not in named]
    run = run or next((one for one in free if key(one) == "run"), None)
    if run is None:
        long = len(source.frame) > _LONG
        one = seen(replace(source, frame=source.frame.head(_HEAD)) if long else source, "", words)
        system, ids = one.roles.get("system"), next(iter(one.ids), None)
        if system is not None and ids is not None:
            shared = source.frame[[system, ids]].drop_duplicates()[ids].duplicated().any()
            run = system if shared else None
    return run, trial or next((one for one in free if one != run and _TRIAL.fullmatch(key(one))), None)


def _names_in(cells: pd.Series) -> pd.Series:
    """Names as texts; NaN for a gap."""
    kinds = cells.drop_duplicates()
    return cells.map(dict(zip(kinds, id_texts(kinds), strict=True)))


def _refuse_gaps(frame: pd.DataFrame, **columns: str | None) -> None:
    for word, column in columns.items():
        if column is not None and (gaps := int(_names_in(frame[column]).isna().sum())):
            raise TableArgumentError(word, f"must name the {word} of each row", f"{column!r} has {gaps} gaps")


def _readings(source: Source, name: str, words: Columns, numbered: str | None) -> tuple[pd.DataFrame, Any]:
    """Each row of a user's file as a reading; of a long file with one column of numbers its head says the columns."""
    frame = source.frame
    if len(frame) > _LONG:
        head = resolve_readings(replace(source, frame=frame.head(_HEAD)), name, words, session=numbered)
        assert head.inputs is not None
        assert head.inputs.inferred is not None
        used = [one for one in head.inputs.inferred.columns if one.role not in ("other", "source", "output", "text")]
        column = {one.role: one.column for one in used}
        simple = set(column) <= {"item", "judge", "system", "group"} and len(column) == len(used)
        if simple and frame[column["judge"]].dtype.kind in "biuf" and frame[column["item"]].notna().all():
            table = head.ratings.frame.iloc[:1]
            same = {one: table[one].iloc[0] for one in ("criterion", "rater", "prompt", "scale")}
            ids = frame[column["item"]]
            whole = ids.dtype.kind == "f" and (ids == ids.round()).all()
            rows: dict[str, Any] = {
                role: frame[column[role]].astype(object) for role in ("system", "group") if role in column
            }
            draw = 0 if numbered is not None else frame.groupby(column["item"], sort=False).cumcount()
            columns: dict[str, Any] = {
                "item": (ids.astype(int) if whole else ids).astype(str).astype(object), **rows, "draw": draw,
                "score": frame[column["judge"]].astype(float),
                **({} if numbered is None else {"session": frame[numbered]}),
            }  # fmt: skip
            return pd.DataFrame(columns).assign(**same), head.inputs
    readings = resolve_readings(source, name, words, session=numbered)
    return readings.ratings.frame.astype({"item": object}), readings.inputs


def _by_item(frame: pd.DataFrame, inputs: Any, word: str) -> pd.Series:
    """What the column of a role says of each task, or that which is called `turn`."""
    roles = {one.role: one.column for one in inputs.inferred.columns} if inputs and inputs.inferred else {}
    column = next((name for name in frame if key(name) == "turn"), None) if word == "turn" else roles.get(word)
    if column is None or "item" not in roles:
        return pd.Series(dtype=object)
    pairs = pd.DataFrame({"item": id_texts(frame[roles["item"]]), "cell": frame[column]}).dropna()
    pairs = pairs if word == "turn" else pairs.astype(str)
    return pairs.drop_duplicates("item").set_index("item")["cell"]


def _of_calibs(frame: pd.DataFrame, name: str, run: str | None, trial: str | None) -> pd.DataFrame:
    """Ratings: a draw is one by the judge of an item, and its expectation counts; scores: one of each item."""
    if has_replies(frame):
        read = frame["status"].astype(str).isin(["ok", ""]) & frame["score"].notna()
        weight = frame.get("weight", pd.Series(1.0, frame.index)).where(read, 0.0)
        parts = frame.assign(weight=weight, score=(weight * frame["score"]).where(read, 0.0))
        whose = [one for one in ("item", "criterion", "rater", "prompt", "method", "run", "draw") if one in frame]
        keep = {
            one: "first"
            for one in (run, trial, "scale", "system", "group", "turn")
            if one in frame and one not in whose
        }
        each = parts.groupby(whose, sort=False, observed=True, dropna=False)
        table = each.agg({"weight": "sum", "score": "sum", **keep}).reset_index()
        table["score"] = ratio(table["score"], table["weight"])
    else:
        table = scores_in(frame, name).frame.assign(**{one: frame[one] for one in (run, trial) if one is not None})
    people = table["method"].astype(str) == "human"
    table = table if people.all() else table[~people]
    whose_run = table[run] if run is not None else table.get("system", pd.Series("", table.index))
    return pd.DataFrame({
        "run": whose_run.astype(object).fillna(""), "task": table["item"].astype(object),
        "group": table["group"].astype(object) if "group" in table else None, "text": None,
        "trial": table["item"].astype(object) if trial is None else table[trial],
        **{one: table[one].astype(object) if one in table else "" for one in ("criterion", "rater", "prompt", "scale")},
        "score": table["score"].astype(float), "item": table["item"].astype(object),
        **({"turn": table["turn"]} if "turn" in table else {}),
    }).reset_index(drop=True)  # fmt: skip


# --- tasks of several runs --------------------------------------------------------------------------------------------


def matched_tasks(runs: Sequence[Run]) -> tuple[list[Run], list[str], bool]:
    """The runs with one name for each task; notes; and whether `group` says what tasks share.

    Tasks are matched by id, by what looks like it, and by their input where ids differ. Where no id is in two runs the
    column `group` names the task: what several outputs answer.
    """
    notes: list[str] = []
    ids = [set(one.rows["task"].dropna().unique()) for one in runs]
    shares = any(set(ids[0]) & other for other in ids[1:])
    by_text = all(one.rows["text"].notna().all() for one in runs)
    if not shares and not by_text and all(one.rows["group"].notna().all() for one in runs):
        runs = [Run(one.name, one.rows.assign(task=one.rows["group"], group=None)) for one in runs]
        notes.append("tasks_by_group: no id is in two runs, so the column `group` names the task")
        ids = [set(one.rows["task"]) for one in runs]
    first, matched = runs[0], [runs[0]]
    for other in runs[1:]:
        rows = other.rows
        if alike := spelled_as(first.rows["task"].unique(), rows["task"].unique()):
            rows = rows.assign(task=renamed(rows["task"], alike))
            notes.append(alike_note(alike, other.name, "task"))
        if by_text:
            rows, more = _by_text(first, Run(other.name, rows))
            notes += more
        matched.append(Run(other.name, rows))
    return matched, notes, bool(shares)


def _by_text(first: Run, other: Run) -> tuple[pd.DataFrame, list[str]]:
    """Tasks of one id and another input are not the same; those of another id and the same input are."""
    one, two = (run.rows.drop_duplicates("task").set_index("task")["text"] for run in (first, other))
    common = two.index[two.index.isin(one.index)]
    changed = common[(one[common] != two[common]).to_numpy()]
    rows, notes = other.rows, []
    sole = one[~one.index.isin(common)]
    sole = sole[~sole.duplicated(keep=False)]
    alone = two[~two.index.isin(common) | two.index.isin(changed)]
    alone = alone[alone.isin(sole) & ~alone.duplicated(keep=False)]
    if len(alone):
        names = dict(zip(alone, alone.index, strict=True))
        to = {names[text]: task for task, text in sole.items() if text in names}
        rows = rows.assign(task=renamed(rows["task"], to))
        notes.append(
            f"matched_by_text: {len(to)} tasks of {other.name} have another id in {first.name} and the same input"
        )
    left = changed.difference(alone.index)
    if len(left):
        rows = rows[~rows["task"].isin(left)]
        what = f"{len(left)} tasks have one id and another input in {first.name} and {other.name} and are left out"
        notes.append(f"other_input: {what}: {few(list(left))}")
    return rows, notes


class Arrays(NamedTuple):
    """Scores of one run by task, trial and draw; which readings of it have no score; trials without a row."""

    scores: np.ndarray
    unread: np.ndarray
    n_absent: int


def arrays_of(rows: pd.DataFrame, tasks: pd.Index, beside: pd.DataFrame) -> Arrays:
    """Trials and draws of each task in their order; a reading without a score is NaN, and counted as unread.

    So is a trial without a row, which may have crashed: see `_expected`; `beside` are the rows of the other run.
    """
    task = tasks.get_indexer(rows["task"])
    rows, task = rows[task >= 0], task[task >= 0]
    trial = pd.factorize(rows["trial"])[0]
    cells = pd.DataFrame({"task": task, "trial": trial})
    first = ~cells.duplicated()
    cells["place"] = first.groupby(cells["task"]).cumsum() - 1
    if not first.all():
        cells["place"] = cells.groupby(["task", "trial"])["place"].transform("min")
    draw = cells.groupby(["task", "trial"], sort=False).cumcount().to_numpy()
    place = cells["place"].to_numpy()
    n_trials, expected = _expected(cells[first], rows, tasks, beside)
    shape = (len(tasks), int(np.maximum(n_trials, expected).max()), int(draw.max(initial=0)) + 1)
    if np.prod([float(size) for size in shape]) > _MOST_CELLS:
        raise ArgumentError("trial", "must leave at most 1e8 cells of tasks x trials x draws", f"got {shape}")
    scores, unread = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    values = rows["score"].to_numpy(dtype=float)
    scores[task, place, draw], unread[task, place, draw] = values, np.isnan(values)
    places = np.arange(shape[1])
    absent = (places >= n_trials[:, None]) & (places < expected[:, None])
    unread[:, :, 0] |= absent
    return Arrays(scores, unread, int(absent.sum()))


def _expected(
    cells: pd.DataFrame, rows: pd.DataFrame, tasks: pd.Index, beside: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray]:
    """Trials of each task, and how many it should have.

    Where they are numbered as many as numbers are of more than half of the tasks; else as half of the tasks have, and
    no more than the other run has of this task.
    """
    n_trials = np.bincount(cells["task"], minlength=len(tasks))
    usual, numbers = np.sort(n_trials)[(len(tasks) - 1) // 2], 0
    if "numbered" in rows and rows["numbered"].all():
        numbers = (2 * np.bincount(cells["trial"]) > len(tasks)).sum()
    if n_trials.min() >= max(usual, numbers):
        return n_trials, n_trials
    others = beside.groupby("task", sort=False)["trial"].nunique().reindex(tasks).to_numpy()
    return n_trials, np.maximum(np.minimum(usual, others), numbers)
