"""Scores of the turns of conversations as scores of the whole sessions, for judges and people alike."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.text import printable
from calib.table import SCORE_KEY, TableArgumentError, check_scores
from calib.table.frames import pandas_of, without_categories
from calib.table.labelled import mean_of_annotators
from calib.table.pairs import DESIGN
from calib.table.validate import ValidatedTable, scores_in

LEVELS = ("item", "session")
TURNS = {"mean": "mean", "worst": "min", "last": "max"}  # of one score, where all but the last are left out
HIGH_IS_BAD = re.compile(r"hallucinat|toxic|bias|harm(?!less)|error|violation|risk|unsafe|refus|defect|bug")
_NUMBERS = ["score", "low", "high"]


def to_sessions(scores: Any, by: str = "mean", *, items: Any = None) -> pd.DataFrame:
    """Scores of sessions from scores of their turns, which share a `group`.

    A session is scored by a judge where each of its turns is, and unread otherwise; people label it by labelling each
    of its turns: those of whom some lack a label are left out, with a warning. For "last" only the last turn counts.

    Parameters
    ----------
    scores : DataFrame or path
        Scores or ratings of turns, of a judge or of people, with a column `group`, the session.
    by : {"mean", "worst", "last"}
        The mean of the turns, the lowest score, or that of the last turn: by a column `turn`, or else by the order of
        the rows.
    items : DataFrame, optional
        The table that says of which session each turn is (`item`, `group`, `turn`), where `scores` does not, as labels
        often do not. Scores of other items stay as they are: they may be of whole sessions.

    Returns
    -------
    DataFrame
        Scores, whose `item` is the session; where several systems have sessions of one name, ``name/system``, with
        the name as `group`. Other columns stay where they are the same in all turns of each session.

    Warns
    -----
    CalibWarning
        "sessions_incomplete": labels are of some turns of a session alone. "worst_is_lowest": of a criterion by whose
        name a high score is a bad one. "last_by_rows": the ids of turns count otherwise than their rows.

    Examples
    --------
    >>> turns = pd.DataFrame({"item": ["a1", "a2", "b1"], "group": ["a", "a", "b"], "score": [4, 1, 3]})
    >>> to_sessions(turns.assign(criterion="tone", rater="judge", method="sample"), by="worst")[["item", "score"]]
      item  score
    0    a    1.0
    1    b    3.0
    """
    check.choice(by, "by", tuple(TURNS))
    table = scores_in(scores, "scores").frame
    _mind_the_worst(table, by)
    return _sessions(table, by, table if items is None else pandas_of(items), "scores" if items is None else "items")


def by_session(level: str, turns: str) -> bool:
    """Whether turns become sessions; if not, `turns` must be "mean".

    Examples
    --------
    >>> by_session("session", "last"), by_session("item", "mean")
    (True, False)
    """
    if check.choice(turns, "turns", tuple(TURNS)) != "mean" and level != "session":
        raise TableArgumentError("turns", "needs {0} 'session'", f"got {turns!r}", mentions=("level",))
    return level == "session"


def at_sessions(
    scores: ValidatedTable, labels: ValidatedTable | None, turns: str, *, items: Any = None, pooled: bool = True
) -> tuple[ValidatedTable, ValidatedTable | None]:
    """A judge's scores and people's labels of turns, or of sessions, as those of sessions; annotators `pooled` first.

    `items`, where they name sessions, say which turns there are.
    """
    check.choice(turns, "turns", tuple(TURNS))
    _mind_the_worst(scores.frame, turns)
    there = all_turns(items, scores.frame, None if labels is None else labels.frame)
    of_sessions = replace(scores, frame=_sessions(scores.frame, turns, there, scores.argument))
    if labels is None:
        return of_sessions, None
    people = mean_of_annotators(labels) if pooled else labels
    return of_sessions, replace(people, frame=_sessions(people.frame, turns, there, scores.argument))


def _mind_the_worst(table: pd.DataFrame, by: str) -> None:
    such = [str(name) for name in table["criterion"].unique() if HIGH_IS_BAD.search(str(name).casefold())]
    if by == "worst" and such:
        what = "the worst turn is the one with the lowest score: reverse the scores if high is bad"
        check.warn(f"worst_is_lowest: {', '.join(map(printable, such))}: {what}.")


def all_turns(*tables: pd.DataFrame | None) -> pd.DataFrame:
    """Which turns there are, by the first table that names sessions and what those after it have beside."""
    named = [table for table in tables if table is not None and "group" in table]
    there = named[0] if named else pd.DataFrame(columns=["item"])
    if "system" not in there and (others := [one[["item", "system"]] for one in named[1:] if "system" in one]):
        system_of = pd.concat(others).astype(object).drop_duplicates("item").set_index("item")["system"].dropna()
        system = there["item"].astype(object).map(system_of)
        of_session = system.groupby(there["group"].astype(object))
        if (several := of_session.transform("nunique") > 1).any():
            if (several & system.isna()).any():
                raise TableArgumentError("items", "must have a column `system`", "sessions of one name are of several")
            there = there.assign(system=system.fillna(of_session.transform("first")).fillna(""))
    names = [name for name in ("item", "group", "system", "turn") if name in there]
    for other in (table for table in named[1:] if set(names) <= set(table)):
        more = other.loc[~other["item"].isin(there["item"]) & other["group"].notna(), names]
        there = pd.concat([there[names].astype(object), more.astype(object)], ignore_index=True)
    return there


def session_of_each(turns: pd.DataFrame) -> dict[str, str]:
    """The session of each turn, as the item of its scores."""
    each = turns_in(turns, "items")
    return dict(zip(each["item"], each["session"], strict=True))


def session_items(items: pd.DataFrame) -> pd.DataFrame | None:
    """One row for each session of a table of items that names them, without texts; None of another table."""
    if "group" not in items:
        return None
    sessions = turns_in(items, "items").drop(columns="item").rename(columns={"session": "item"})
    return sessions.drop_duplicates("item").drop(columns=["is_last", "n_turns"]).reset_index(drop=True)


def turns_in(table: pd.DataFrame, argument: str) -> pd.DataFrame:
    """Each turn once, in its order within the session: `item`, `session`, `is_last`, `n_turns`; `group`, `system`."""
    if "group" not in table or "item" not in table or table["group"].isna().all():
        hint = "give the items to `summarize` (in a shell --items)"
        raise TableArgumentError(argument, f"must have a column `group`, the session of each turn ({hint})")
    names = [name for name in ("item", "group", "system", "turn") if name in table]
    turns = table[names].drop_duplicates().astype({name: object for name in names if name != "turn"})
    if (again := turns["item"].duplicated()).any():
        rule = f"must have one {' and '.join(names[1:])} for each turn"
        several = f"{str(turns.loc[again, 'item'].iloc[0])!r} has several: give each turn an id of its own"
        raise TableArgumentError(argument, rule, several)
    if turns["group"].isna().any():
        item = str(turns.loc[turns["group"].isna(), "item"].iloc[0])
        raise TableArgumentError(argument, "must have a `group`, the session, of each turn", f"{item!r} has none")
    turns = turns.astype({"item": str, "group": str}).assign(session=turns["group"].astype(str))
    if "system" in turns and turns.groupby("group")["system"].nunique().max() > 1:
        turns["session"] = turns["session"] + "/" + turns["system"].astype(str)
    else:
        turns = turns.drop(columns="group")  # which is the item
    if "turn" in turns:
        order = pd.to_numeric(turns["turn"], errors="coerce")
        if order.isna().any() or pd.DataFrame({"s": turns["session"], "o": order}).duplicated().any():
            raise TableArgumentError(argument, "must have in `turn` another number in each turn of a session")
        turns = turns.iloc[np.argsort(order.to_numpy(), kind="stable")].drop(columns="turn")
    of_session = turns.groupby("session", sort=False)["item"]
    return turns.assign(is_last=of_session.cumcount(ascending=False) == 0, n_turns=of_session.transform("size"))


def _mind_the_order(turns: pd.DataFrame) -> None:
    """Rows in the order of texts, as s-1, s-10, s-2, end with another turn than their numbers say."""
    numbered = turns["item"].str.extract(r"^(?P<name>.*?)(?P<number>[0-9]{1,15})$").assign(session=turns["session"])
    each = numbered.astype({"number": float}).groupby("session", sort=False)
    differ = each["name"].nunique(dropna=False).eq(1) & (each["number"].last() < each["number"].max())
    if differ.any():
        last = turns.loc[turns["is_last"]].set_index("session")["item"]
        where = f"in {differ.sum()} of {len(differ)} sessions the last row (such as {printable(last[differ.idxmax()])})"
        check.warn(f"last_by_rows: {where} does not have the highest number: add a column `turn`.")


def _sessions(table: pd.DataFrame, by: str, there: pd.DataFrame, argument: str) -> pd.DataFrame:
    turns, table = turns_in(there, argument), without_categories(table.reset_index(drop=True)).astype({"item": str})
    about = [name for name in ("group", "system", "turn") if name in table and name in there]
    frame = table.drop(columns=about).merge(turns, on="item", how="left")
    alone = frame["session"].isna()  # a whole session, or nothing that the judge scored
    for name in (one for one in about if one in turns):
        frame[name] = frame[name].where(~alone, table[name])
    frame = frame.drop(columns=[name for name in ("group", "system") if name in frame and frame[name].isna().any()])
    frame["session"] = frame["session"].fillna(frame["item"])
    key = ["session", *(name for name in SCORE_KEY if name != "item")]
    if (both := alone.groupby([frame[name] for name in key], dropna=False).transform("nunique") > 1).any():
        session = str(frame.loc[both, "session"].iloc[0])
        raise TableArgumentError("labels", "must be of sessions or of their turns", f"{session!r} has labels of both")
    needed = frame["n_turns"].astype(float).fillna(1.0)
    if by == "last":
        if "turn" not in there:
            _mind_the_order(turns)
        is_last = frame["is_last"].astype(object).fillna(value=True).astype(bool)
        frame[_NUMBERS], needed = frame[_NUMBERS].where(is_last), needed.clip(upper=1.0)
    each = frame.assign(needed=needed).groupby(key, dropna=False, sort=False)
    whole = each[_NUMBERS].count().ge(each["needed"].first(), axis=0)  # all turns that count have the number
    out = each[_NUMBERS].agg(TURNS[by]).where(whole)
    of_turns = {"item", "turn", "session", "is_last", "n_turns", "n", "n_unread", "entropy", "sd", "mode"}
    beside = [name for name in frame if name not in {*key, *_NUMBERS, *of_turns}]
    several = each[beside].nunique(dropna=False).max() > 1
    if drawn := [name for name in DESIGN if several.get(name, False)]:
        rule = "must have been drawn by whole sessions (`choose` with design='groups')"
        raise TableArgumentError("scores", rule, f"`{drawn[0]}` differs between turns of one session")
    out = out.join(each[["n", "n_unread"]].sum()).join(each[[name for name in beside if not several[name]]].first())
    lacking = ~whole["score"].to_numpy() & (out.index.get_level_values("method") == "human")
    if lacking.any():
        of = "have no label of their last turn" if by == "last" else "have labels of some of their turns alone"
        check.warn(f"sessions_incomplete: {int(lacking.sum())} of {len(out)} sessions {of}, and are left out.")
    return check_scores(out.reset_index().rename(columns={"session": "item"})[~lacking].reset_index(drop=True))
