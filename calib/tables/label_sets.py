"""What sets of labels need of tables: cells, how the labels were drawn, one label of each document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.analysis.calibration.conformal import one_of_each, sets_of
from calib.core.result import short
from calib.stats import ScoreSets
from calib.table import TableArgumentError, TableError, parse_scale
from calib.tables.door import in_the_names_of
from calib.tables.gold import groups_of, whole_column, with_warnings
from calib.tables.labelled import Labelled
from calib.tables.results import words

Rng = np.random.Generator | int | None


def labelled_sets(
    judged: Labelled, items: pd.Series, by: str | None, groups: str | None, one_per_group: bool, level: float, rng: Rng
) -> tuple[dict[str, Any], ScoreSets]:
    """The sets of one judge's items, in the order of `items`, and what they are of."""
    place = pd.Index(items.astype(object).unique()).get_indexer(judged.frame["item"])
    frame = judged.frame.iloc[np.argsort(place, kind="stable")]
    cell = cells_of(frame, by)
    need_one_chance(frame, cell, judged.label)
    units = None if groups is None else groups_of(frame, groups)
    y = one_label_per_group(frame, units, rng) if one_per_group else frame["y"]
    with in_the_names_of(judged.label, y="gold", x="scores"):
        found = sets_of(frame["x"], y, level=level, levels=judged.levels, groups=units, by=cell, rng=rng)
    about = {"item": frame["item"].to_numpy(), "criterion": judged.label["criterion"], "rater": judged.label["rater"]}
    about |= {name: frame[name].to_numpy() for name in ("group", "system") if name in frame}
    found = replace(found, columns=about | {"label": frame["y"].to_numpy()})
    counts = {"n_unmatched": judged.n_unmatched, "n_unread": found.n_unread}
    return judged.label | counts, with_warnings(found, (*judged.warnings, *_unsaid_scale(judged)))


def _unsaid_scale(judged: Labelled) -> tuple[str, ...]:
    """Labels beyond those that came are in no set, unless a scale says that they can be."""
    texts = [judged.frame[name].dropna() for name in ("scale", "scale_y") if name in judged.frame]
    if any(parse_scale(str(text)) for column in texts for text in column.unique()):
        return ()
    ends = f"{short(judged.levels[0])} to {short(judged.levels[-1])}"
    return (f"unsaid_scale: no scale is known, so that sets end where labels do ({ends}); of few labels they may miss "
            "what lies beyond: give people's scores the column `scale`",)  # fmt: skip


def cells_of(frame: pd.DataFrame, by: str | None) -> Any:
    """What has a quantile of its own; an item without a score is in none, and gets the whole scale."""
    if by == "score":
        return frame["x"].fillna(frame["x"].min()).fillna(0.0).to_numpy()
    return None if by is None else whole_column(frame, by, "by")


def need_one_chance(frame: pd.DataFrame, cell: Any, label: dict[str, Any]) -> None:
    """Labelled items must come in no particular order among the others, within each cell."""
    if "inclusion" not in frame or frame["inclusion"].isna().all() or frame["y"].notna().all():
        return
    chance = frame["inclusion"].astype(float).groupby(np.zeros(len(frame)) if cell is None else cell)
    if ((chance.max() - chance.min()) > 1e-6 * chance.max()).any():
        design = ", ".join(sorted(set(frame["design"].dropna().astype(str)))) if "design" in frame else ""
        raise TableError(
            f"{words(label)}: sets take labels of items that were drawn with one probability, but `choose_items` drew "
            f"these with several (design {design!r}). Draw with choose_items(scores, n) or design='groups'; for labels "
            f"of strata type by='stratum'."
        )


def one_label_per_group(frame: pd.DataFrame, units: Any, rng: Rng) -> pd.Series:
    """The labels, one of each document that has any."""
    if units is None:
        rule = "needs a column of documents (groups=, in a shell --groups)"
        raise TableArgumentError("one_per_group", rule, "there is none")
    return frame["y"].where(one_of_each(units, frame["y"].notna() & frame["x"].notna(), rng))
