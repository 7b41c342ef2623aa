"""Verdicts on pairs as tables of scores: the share of A that wins, of each order, who A and B are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.table import TableError, check_ratings, check_scores
from calib.tables.door import Checked, scores_in
from calib.tables.scores import summarize

ORDERS = {"a": "score_a_first", "b": "score_b_first"}
SYSTEMS = ("system_a", "system_b")


def preference_scores(table: Any, argument: str) -> Checked:
    """Scores or ratings of pairs in the form of preferences: one row for each pair, criterion and rater.

    Examples
    --------
    >>> each = pd.DataFrame({"item": ["p", "p"], "criterion": "better", "rater": "judge", "score": [1.0, 0.5],
    ...                      "shown_first": ["a", "b"], "system_a": "x", "system_b": "y"})
    >>> preference_scores(each, "scores").frame[["score", "score_a_first", "score_b_first", "group"]]
       score  score_a_first  score_b_first group
    0   0.75            1.0            0.5     p
    """
    if isinstance(table, pd.DataFrame) and "shown_first" in table:
        table = _of_orders(table, argument)
    found = scores_in(table, argument)
    frame = found.frame
    _refuse_no_shares(frame, argument)
    out = frame.assign(**{name: np.nan for name in ORDERS.values() if name not in frame})
    group = out["item"] if "group" not in out else out["group"].astype(object).where(out["group"] != "", out["item"])
    return replace(found, frame=check_scores(out.assign(group=group.astype(str))))


def _of_orders(ratings: pd.DataFrame, argument: str) -> pd.DataFrame:
    """Ratings of pairs, summarised, with what they say of each pair; rows name its two in the order of the first."""
    try:
        ratings = check_ratings(ratings)
    except TableError as error:
        raise TableError(f"`{argument}`: {error}") from None
    names = [name for name in (*SYSTEMS, "group") if name in ratings]
    pairs = ratings.astype(dict.fromkeys(["item", *names], object))[["item", *names]].drop_duplicates("item")
    scores = summarize(_turned(ratings, pairs))
    there = [name for name in names if name not in scores]
    return scores.merge(pairs[["item", *there]], on="item", how="left") if there else scores


def in_the_order_of(judges: Checked, people: Checked) -> Checked:
    """People's verdicts in terms of the same A as the judge's, where both name the two."""
    if not {*SYSTEMS} <= set(judges.frame) & set(people.frame):
        return people
    pairs = judges.frame[["item", *SYSTEMS]].astype(object).drop_duplicates("item")
    return replace(people, frame=check_scores(_turned(people.frame, pairs)))


def _turned(frame: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Rows in terms of the A of their pair; a row that names the two the other way round is turned."""
    if not {*SYSTEMS} <= set(pairs) & set(frame):
        return frame
    known = frame[["item"]].astype(object).merge(pairs.drop_duplicates("item"), on="item", how="left")
    own = frame[[*SYSTEMS]].astype(object).reset_index(drop=True)
    crossed = (own["system_a"] == known["system_b"]) & (own["system_b"] == known["system_a"])
    turn = (crossed & (own["system_a"] != own["system_b"])).to_numpy()
    if not turn.any():
        return frame
    out = frame.copy()
    out["score"] = out["score"].where(~turn, 1 - out["score"])
    if "shown_first" in out:
        first = out["shown_first"].astype(object)
        out["shown_first"] = first.where(~turn, first.map({"a": "b", "b": "a", "": ""}))
    if {*ORDERS.values()} <= set(out):
        a, b = (out[name].copy() for name in ORDERS.values())
        out["score_a_first"], out["score_b_first"] = a.where(~turn, 1 - b), b.where(~turn, 1 - a)
    for mine, other in (SYSTEMS, SYSTEMS[::-1]):
        out[mine] = own[mine].where(~turn, own[other]).to_numpy()
    return out


def _refuse_no_shares(frame: pd.DataFrame, argument: str) -> None:
    """A verdict on a pair is a share of A."""
    off = frame["score"].notna() & ~frame["score"].between(0, 1)
    if off.any():
        row = int(np.argmax(off.to_numpy()))
        rule = "must be the share of A that wins: 1, 0, 0.5 for a tie, or between"
        raise TableError(f"`{argument}`: column `score`, row {row}: {rule}, but got {frame['score'].iloc[row]:g}.")
