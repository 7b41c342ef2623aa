"""What the things of a report say of each item, side by side: items for people first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from importlib import import_module
from typing import Any

import pandas as pd

from calib.analysis import TOPICS
from calib.report.columns import informative, table_of
from calib.report.sections import Section
from calib.table.text import visible

KEYS = ("item", "criterion", "judge", "prompt", "method", "temperature")
_ROWS = 600  # of a page that can be sent
_FIRST = (*KEYS, "for", "judge's score", "set", "mean", "conf_low", "conf_high", "sd", "confidence")
_FOLDS = "A document with labels is read by a map made without its fold, so a judge's score may have several means."
_LAST = "sort"  # the column that says which rows come first; it is not shown


def said_of_items(thing: Any) -> pd.DataFrame | None:
    """What a thing says of each item, if a topic knows it."""
    topics = (import_module(name).TOPIC for name in TOPICS)
    say = (topic.function("display", topic.items) for topic in topics)
    return next((frame for tell in say if tell is not None if (frame := tell(thing)) is not None), None)


def item_by_item(frames: Sequence[pd.DataFrame], anchor: str) -> Section:
    """A section with a row for each item and judge; a number of items that nobody scrolls through is cut."""
    frame = reduce(_beside, frames).sort_values(_LAST, kind="stable", na_position="last").drop(columns=_LAST)
    first = [name for name in _FIRST if name in frame]
    frame = frame[[*first, *(name for name in frame if name not in first)]]
    kept, rest = informative(frame.head(_ROWS))
    says = [_order_of(frame), *[_FOLDS] * ("mean" in frame)]
    if len(frame) > _ROWS:
        says.append(f"The first {_ROWS} of {len(frame):,} rows; the tables themselves have all.")
    if rest:
        says.append(f"The same in all rows: {', '.join(f'{name} {visible(value)}' for name, value in rest.items())}.")
    table = table_of(kept.round(3), "interval of the mean", sortable=True)
    return Section("Item by item", says, table=table, anchor=anchor, folds=True)


def _order_of(frame: pd.DataFrame) -> str:
    if "for" in frame:
        return "Items for people come first, the least sure first; then those that the judge may decide alone."
    return "The items of which least is known come first."


def _beside(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Two frames joined by item, criterion and judge; what both say stands once, as the first says it."""
    keys = list(KEYS)
    both = one.merge(other, on=keys, how="outer", suffixes=("", " again"))
    for name in [name for name in both if str(name).endswith(" again")]:
        first = str(name).removesuffix(" again")
        # whom an item is for decides the order, whoever else had one
        both[first] = both[first].fillna(both[name]) if "for" not in other else both[name].fillna(both[first])
    return both.drop(columns=[name for name in both if str(name).endswith(" again")])
