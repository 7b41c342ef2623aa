"""Scores of two raters side by side: aligned by item, with what does not match kept in sight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from calib.table import TableError
from calib.tables.door import Checked, Who, little_mass, slices

DESIGN = ("chosen", "inclusion", "stratum", "design")


@dataclass(frozen=True, slots=True)
class Pair:
    """Scores of one rater beside another's, aligned by item; NaN where the other has none."""

    label: dict[str, Any]
    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()

    @property
    def both(self) -> pd.DataFrame:
        """The items that both have."""
        return self.frame[self.frame["_merge"] == "both"]


def pairs_of(first: Checked, second: Checked, columns: Sequence[str] = ()) -> Iterator[Pair]:
    """Every rater of the one table beside every other rater of the second on the same criterion.

    `columns` of the first ride along.
    """
    theirs_on = {criterion: list(slices(rows)) for criterion, rows in second.frame.groupby("criterion", observed=True)}
    found = False
    for label, mine in first.slices():
        for other, theirs in theirs_on.get(label["criterion"], ()):
            if Who.of(label) == Who.of(other):
                continue
            found = True
            against = f"{other['rater']} ({other['prompt']})" if other["prompt"] else other["rater"]
            yield Pair(label | {"against": against}, aligned(mine, theirs, columns), little_mass(label, mine))
    if not found:
        raise TableError(
            f"scores and human must share a criterion and differ in the rater (give `scores_from` a `rater`, --rater), "
            f"but scores have {first.holds} and human {second.holds}."
        )


def aligned(mine: pd.DataFrame, theirs: pd.DataFrame, columns: Sequence[str] = ()) -> pd.DataFrame:
    """All items of both, with `x`, `y`, and group and system from whichever side has them."""
    sides = []
    for frame, value in ((mine, "x"), (theirs, "y")):
        # what `choose_items` wrote beside a judge's scores says how the labels came about
        mine_only = ["n", "n_unread", "mass", "low", "high", *DESIGN, *columns] if value == "x" else []
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
