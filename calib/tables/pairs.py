"""Scores of two raters side by side: aligned by item, with what does not match kept in sight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from calib.table import TableError, check_ratings, check_scores, has_replies
from calib.tables.scores import summarize

WHO = ("criterion", "rater", "prompt", "method", "temperature")
DESIGN = ("chosen", "inclusion", "stratum", "design")


@dataclass(frozen=True, slots=True)
class Pair:
    """Scores of one rater beside another's, aligned by item; NaN where the other has none."""

    label: dict[str, Any]
    frame: pd.DataFrame

    @property
    def both(self) -> pd.DataFrame:
        """The items that both have."""
        return self.frame[self.frame["_merge"] == "both"]


def slices(scores: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    for key, rows in scores.groupby(list(WHO), observed=True, dropna=False, sort=False):
        yield dict(zip(WHO, key, strict=True)), rows


def pairs_of(scores: pd.DataFrame, human: pd.DataFrame, columns: Sequence[str] = ()) -> Iterator[Pair]:
    """Every rater of `scores` beside every other rater of `human` on the same criterion.

    `columns` of the scores ride along.
    """
    first, second = ready(scores, "scores"), ready(human, "human")
    found = False
    for label, mine in slices(first):
        for other, theirs in slices(second[second["criterion"] == label["criterion"]]):
            if str(label) == str(other):  # as text, where a missing temperature equals itself
                continue
            found = True
            against = f"{other['rater']} ({other['prompt']})" if other["prompt"] else other["rater"]
            yield Pair(label | {"against": against}, aligned(mine, theirs, columns))
    if not found:
        raise TableError(
            f"scores and human must share a criterion and differ in the rater (give `scores_from` a `rater`), "
            f"but scores have {seen(first)} and human {seen(second)}."
        )


def seen(scores: pd.DataFrame) -> str:
    pairs = scores[["criterion", "rater"]].drop_duplicates().astype(str)
    return "; ".join(f"{c} by {r}" for c, r in pairs.itertuples(index=False)) or "nothing"


def ready(scores: pd.DataFrame, name: str) -> pd.DataFrame:
    """Checked scores; ratings are summarised on the way, since that is free."""
    if isinstance(scores, pd.DataFrame) and has_replies(scores):
        scores = summarize(scores)
    try:
        return check_scores(scores)
    except TableError as error:
        raise TableError(f"`{name}`: {error}") from None


def asked(ratings: pd.DataFrame, name: str = "ratings") -> pd.DataFrame:
    """Checked ratings, under the name of the argument; scores, in which draws and labels are averaged, are none."""
    try:
        return check_ratings(ratings)
    except TableError as error:
        raise TableError(f"`{name}`: {error}") from None


def aligned(mine: pd.DataFrame, theirs: pd.DataFrame, columns: Sequence[str] = ()) -> pd.DataFrame:
    """All items of both, with `x`, `y`, and group and system from whichever side has them."""
    sides = []
    for frame, value in ((mine, "x"), (theirs, "y")):
        # what `choose_items` wrote beside a judge's scores says how the labels came about
        mine_only = ["n", "n_unread", *DESIGN, *columns] if value == "x" else []
        names = [n for n in dict.fromkeys(("group", "system", "scale", *mine_only)) if n in frame]
        plain = frame[["item", "score", *names]].astype(dict.fromkeys(["item", *names], object))
        sides.append(plain.rename(columns={"score": value}))
    both = sides[0].merge(sides[1], on="item", how="outer", suffixes=("", "_y"), indicator=True, sort=False)
    for name in ("group", "system", "scale"):
        if f"{name}_y" in both:
            both[name] = both[name].where(both[name].notna(), both[f"{name}_y"])
    return both


def labels_in(frame: pd.DataFrame, name: str) -> Any:
    return frame[name].to_numpy() if name in frame and frame[name].notna().all() and len(frame) else None
