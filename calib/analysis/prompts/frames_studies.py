"""A judge's replies as items x prompts x draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core.numeric import row_means
from calib.table import TableArgumentError, TableError
from calib.table.checks import first_places
from calib.table.results import words
from calib.table.validate import Who, in_all_rows, ratings_in

_REPLY = ("item", "prompt", "rater", "run", "draw")
_KEY = tuple(name for name in Who._fields if name != "prompt")


class Study(NamedTuple):
    """Scores of one criterion and judge, items x prompts (x judges) x draws, and the variance of a draw, if known.

    `names` are those of prompts (and of judges), `unread` counts replies.
    """

    label: dict[str, Any]
    items: Any
    names: list[list[str]]
    x: Any
    variance: Any
    unread: int


def studies_of(ratings: Any, judges: bool) -> Iterator[Study]:
    """One for each criterion and judge, or with `judges` for all together."""
    table = ratings_in(ratings).frame
    table = table[table["method"] != "human"]
    if judges and not table["method"].eq("sample").all():
        raise TableArgumentError("judges", "needs sampled replies", "some ratings are token probabilities")
    for label, rows in over_prompts(table, "ratings", [n for n in _KEY if not (judges and n == "rater")]):
        (items, *names), x, variance = _cells(rows, judges=judges)
        reply, begins = first_places(rows, _REPLY)
        good = (rows["status"] == "ok") & rows["score"].notna()
        unread = len(begins) - int(np.count_nonzero(np.bincount(reply, good)))
        if label["method"] == "logprob":  # probabilities that were asked for more than once estimate the same
            x, variance = row_means(x), row_means(variance)
        else:
            variance = None
        yield Study(label, items, names, x, variance, unread)


def over_prompts(frame: pd.DataFrame, argument: str, key: Sequence[str] = _KEY) -> Iterator[tuple[dict[str, Any], Any]]:
    """Scores or ratings of one criterion and judge under all its prompts, on one scale."""
    if not len(frame):
        raise TableArgumentError(argument, "must hold scores of a judge", "has none")
    same = in_all_rows(frame, key)
    groups = frame.groupby(list(key), observed=True, dropna=False, sort=False) if same is None else [(same, frame)]
    for values, rows in groups:
        label = dict(zip(key, values, strict=True))
        scales = {str(text) for text in rows["scale"].unique()} - {"", "nan"} if "scale" in rows else set()
        if len(scales) > 1:
            raise TableError(f"{words(label)}: all prompts must have one scale, but have {', '.join(sorted(scales))}.")
        yield label, rows


def cells_of_replies(rows: pd.DataFrame, *, exact: bool) -> tuple[pd.Index, Any, Any]:
    """Scores as items x prompts x draws, and the variance of one draw where it is known."""
    (items, _), x, variance = _cells(rows, judges=False)
    return (items, row_means(x), row_means(variance)) if exact else (items, x, None)


def _cells(rows: pd.DataFrame, *, judges: bool) -> tuple[list[Any], Any, Any]:
    """Names of the items and of the facets, and by these and draws the scores and their variance within a reply."""
    facets = ["item", "prompt", "rater"] if judges else ["item", "prompt"]
    good = (rows["status"] == "ok") & rows["score"].notna()
    weight, score = rows["weight"].where(good, 0.0), rows["score"].where(good, 0.0)
    reply, begins = first_places(rows, _REPLY)
    sums = pd.DataFrame({"w": weight, "a": weight * score, "b": weight * score**2})
    if len(begins) < len(rows):
        sums = sums.groupby(reply, sort=False).sum()
    w, a, b = (sums[name].to_numpy() + 0.0 for name in sums)  # in the order of the replies; no zero is negative
    with np.errstate(invalid="ignore"):
        mass = np.where(w > 0, w, np.nan)
        mean, spread = a / mass, b / mass - (a / mass) ** 2
    whose = rows[facets].iloc[begins]
    codes, names = zip(*(pd.factorize(whose[name].astype(object)) for name in facets), strict=True)
    cell, _ = first_places(whose, facets)
    draw = pd.Series(cell).groupby(cell).cumcount().to_numpy()
    shape = *(len(n) for n in names), int(draw.max()) + 1
    x, variance = np.full(shape, np.nan), np.full(shape, np.nan)
    x[(*codes, draw)], variance[(*codes, draw)] = mean, np.maximum(spread, 0.0)
    return [pd.Index(names[0]), *([str(name) for name in each] for each in names[1:])], x, variance
