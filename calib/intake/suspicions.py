"""What looks wrong in tables that were taken in: what no rule forbids, but nobody means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import pandas as pd

from calib.intake.question import LEAST_GOLD, Beside, is_one
from calib.intake.taken import Intake

_FEW_PEOPLE = 20  # of whom each is held against each


def suspicions(pairs: Sequence[Beside]) -> Iterator[str]:
    """What no rule forbids, but nobody means."""
    for pair in pairs:
        judged, rows = pair.frame["x"].dropna(), pair.labelled
        who = f"{pair.rater} ({pair.criterion})" if len({p.criterion for p in pairs}) > 1 else pair.rater
        if len(judged) > 1 and is_one(judged):
            yield f"{who} gives {judged.iloc[0]:g} to every item: it cannot tell them apart."
        elif len(rows) >= LEAST_GOLD and not is_one(rows["y"]) and (rows["x"] == rows["y"]).all():
            yield f"{who} says what people say of all {len(rows)} labelled items: is it a copy of the labels?"
        elif len(rows) >= LEAST_GOLD and is_one(rows["y"]):
            yield f"all {len(rows)} labels beside {who} are {rows['y'].iloc[0]:g}: they cannot tell if it is right."
        elif len(rows) >= LEAST_GOLD and (r := _rank_correlation(rows)) < -0.3:
            yield f"{who} goes against the labels (rank correlation {r:.2f}): is one of the scales reversed?"


def copied_labels(taken: Intake) -> Iterator[str]:
    """People who never differ, where there is something to differ about."""
    frame = pd.DataFrame() if taken.people is None else taken.people.astype({"item": object, "rater": object})
    for criterion, rows in frame.groupby("criterion", observed=True, sort=False) if len(frame) else ():
        if rows["rater"].nunique() > _FEW_PEOPLE:
            continue
        table = rows.pivot_table(index="item", columns="rater", values="score", sort=False)
        for one, other in combinations(table, 2):
            both = table[[one, other]].dropna()
            if len(both) >= LEAST_GOLD and not is_one(both[one]) and (both[one] == both[other]).all():
                yield f"{one} and {other} say the same of all {len(both)} items of {criterion}: is one a copy?"


def _rank_correlation(rows: pd.DataFrame) -> float:
    if is_one(rows["x"]) or is_one(rows["y"]):
        return 0.0
    ranks = rows[["x", "y"]].astype(float).rank()
    return float(ranks["x"].corr(ranks["y"]))
