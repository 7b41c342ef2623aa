"""Runs of turns as runs of the sessions that the turns are of."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from calib.core import check
from calib.runs.trials import Run
from calib.table import TableArgumentError
from calib.table.sessions import TURNS, to_sessions, turns_in

_READING = ["of_run", "group", "task", "trial", "criterion", "rater", "prompt", "scale"]


def runs_of_sessions(runs: Sequence[Run], turns: str) -> tuple[list[Run], list[str]]:
    """Runs whose tasks are sessions, scored in a trial where each turn is; and notes.

    Where turns have one id in several runs, those that another run has in a session are expected, too.
    """
    check.choice(turns, "turns", tuple(TURNS))
    ordered = turns == "last" and all("turn" in run.rows for run in runs)
    names = ["group", "task", *(["turn"] if ordered else [])]
    each = [_turns_of(run, names) for run in runs]
    for run in runs:
        _refuse_repeated_turns(run, turns)
    every, notes = pd.concat(each, ignore_index=True), []
    if every["task"].duplicated().any():
        if turns == "last" and not ordered:
            _refuse_other_orders(each)
        each = [pd.concat([own, every]).drop_duplicates(["group", "task"]) for own in each]
    else:
        notes.append("turns_unmatched: no turn has one id in two runs, so a session has the turns that its run has")
    rows = pd.concat([run.rows.assign(of_run=at) for at, run in enumerate(runs)], ignore_index=True)
    rows[_READING] = rows[_READING].astype(object).assign(group=rows["group"].astype(str))
    rows = rows.groupby(_READING, sort=False, as_index=False, dropna=False)["score"].mean()  # over draws of the judge
    numbers = rows[["of_run", "task", "trial"]].drop_duplicates()
    numbers["number"] = numbers.groupby(["of_run", "task"]).cumcount()
    shared = rows.groupby(["of_run", "trial"])["task"].transform("nunique").groupby(rows["of_run"]).transform("max") > 1
    rows["trial"] = rows["trial"].where(shared, rows.merge(numbers, how="left")["number"])  # of one turn each: by order
    rows["attempt"] = rows.groupby(["of_run", "group", "trial"], sort=False).ngroup()
    attempts = rows[["attempt", "of_run", "group", "trial"]].drop_duplicates()
    expected = pd.concat([own.assign(of_run=at) for at, own in enumerate(each)])
    items = attempts.drop(columns="trial").merge(expected, on=["of_run", "group"])
    items, rows = (one.assign(item=one["attempt"].astype(str) + " " + one["task"].astype(str)) for one in (items, rows))
    items["group"] = items["attempt"].astype(str)
    scores = rows[["item", "criterion", "rater", "prompt", "scale", "score"]].assign(method="sample")
    table = to_sessions(scores, turns, items=items.drop(columns=["attempt", "of_run", "task"]))
    table = table.reindex(columns=["item", *_READING[4:], "score"]).assign(attempt=table["item"].astype(int))
    table = table.drop(columns="item").merge(attempts, on="attempt").rename(columns={"group": "task"})
    table = table.assign(group=None, text=None, item=table["task"], scale=table["scale"].astype(object).fillna(""))
    plain = table.astype(dict.fromkeys(("criterion", "rater", "prompt"), object))
    return [Run(run.name, plain[plain["of_run"] == at].reset_index(drop=True)) for at, run in enumerate(runs)], notes


def _turns_of(run: Run, names: Sequence[str]) -> pd.DataFrame:
    """Each turn of a run once, in the order of its rows."""
    turns = run.rows[list(names)].drop_duplicates()
    if turns["group"].isna().all():
        rule = "must name the column of sessions, of which the tasks are turns"
        raise TableArgumentError("groups", rule, f"none was recognised in {run.name}, beside ids of turns")
    turns_in(turns.rename(columns={"task": "item"}), run.name)  # which refuses what is no turn of a session
    return turns.astype({"group": str})


def _refuse_repeated_turns(run: Run, turns: str) -> None:
    """Refuse turns that repeat without numbers of trials, unless the mean is wanted and all repeat alike."""
    rows = run.rows
    if "numbered" not in rows or rows["numbered"].all():
        return
    each = ["group", "task", "criterion", "rater", "prompt"]
    counts = rows.astype(dict.fromkeys(each, object)).groupby(each, sort=False, dropna=False)["trial"].nunique()
    most = counts.groupby(["group", "criterion", "rater", "prompt"], dropna=False).transform("max")
    if (counts != most).any() or (turns != "mean" and (counts > 1).any()):
        session, turn = counts.index[int(counts.to_numpy().argmax())][:2]
        rule = "must name the column of trials where turns of a session repeat"
        came = f"{run.name} has turn {turn!r} of session {session!r} {counts.max()} times"
        raise TableArgumentError("trial", rule, came)


def _refuse_other_orders(each: Sequence[pd.DataFrame]) -> None:
    """Refuse runs that have the same turns in other orders: which one is the last is not known."""
    held = [one.groupby("group", sort=False)["task"].agg(list).to_dict() for one in each]
    for own, other in ((one, two) for at, one in enumerate(held) for two in held[at + 1 :]):
        for session in own.keys() & other.keys():
            a, b = own[session], other[session]
            if a[-1] != b[-1] and a[-1] in b and b[-1] in a:
                rule = f"'last' needs a column `turn`, as runs order the turns of {session!r} otherwise"
                raise TableArgumentError("turns", rule, f"{a[-1]!r} and {b[-1]!r} are last")
