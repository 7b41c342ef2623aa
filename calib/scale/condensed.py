"""Scores in parts beside people's labels: rows of the labelled items, and rows that stand for all others.

What a statistic has to know of items without a label are sums: how many there are, their mean and spread, for each
group, stratum or system. So a row may stand for many items (`REPRESENTED`), and a verb works as on one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.scale.partitions import Load, Partitions, concatenated, items_hashed, refuse_shared
from calib.stats import Moments
from calib.table import TableError, check_scores, has_replies
from calib.table.checks import first_places
from calib.table.frames import without_categories
from calib.table.pairs import DESIGN, FOLDED
from calib.table.scores import one_order_alone, summarized
from calib.table.validate import LITTLE, REPRESENTED, SliceKey, ValidatedTable, warned_of_mass

_ALIKE = (*SliceKey._fields, "scale", "system", *DESIGN[:1], *DESIGN[2:], *FOLDED)  # what rows that stand for one share
_AND_MORE = "\x01"  # ends the ids of such rows, which stand in the order of their first items


class _Half(NamedTuple):
    """What one part came to: its labelled rows, those that stand for the others, its items, and who share a group."""

    rows: pd.DataFrame
    others: pd.DataFrame
    items: Any
    shared: Any
    seen: pd.DataFrame  # who scores, in the order in which they come
    alone: tuple[int, int]  # pairs of outputs as `summarized` counts them


def condensed(
    parts: Partitions, labelled: pd.Series, columns: Sequence[str | None] = (), groups: str | None = None
) -> tuple[ValidatedTable, bool]:
    """Scores of the labelled items, with rows that stand for the rest; and whether any of the groups repeats.

    `columns` are those that results (the first), strata or weights are made by. Where groups repeat within a result
    each has its own rows: the parts are then gone through once more.
    """
    names = frozenset(labelled.astype(str))
    keys = [name for name in columns if name is not None]
    within = [*SliceKey._fields, *keys[: bool(columns and columns[0])], groups]
    halves = list(parts.each(_half, names, keys, None if groups is None else within, what="parts read"))
    if not halves:
        raise TableError("scores: must come in one part at least, but there is none.")
    for name in ("group", "system"):  # of one table the rows of a part without such a column would lack it
        some = [number for number, half in enumerate(halves) if len(half.items)]
        lack = [number for number in some if name not in halves[number].rows]
        if 0 < len(lack) < len(some):
            raise TableError(f"scores: column `{name}` must be in all parts or in none, but part {lack[0]} lacks it.")
    items, shared = [half.items for half in halves], [half.shared for half in halves]
    halves = [half._replace(items=None, shared=None) for half in halves]  # the largest part of what came
    refuse_shared(items, lambda k: _scores_of(parts.part(k))[0]["item"], "scores")
    n_items = sum(map(len, items))
    items.clear()
    repeat = any(one is True for one in shared)
    if groups is not None and not repeat:
        hashed = np.concatenate(shared)
        shared.clear()  # the largest part of what came
        hashed.sort()
        repeat = bool((hashed[1:] == hashed[:-1]).any())
    if repeat:
        if not parts.again:
            raise ArgumentError("scores", "must be a folder or a list where groups repeat", "got an iterator")
        halves = list(parts.each(_half, names, [*keys, groups], None, what="parts read by group"))
    elif groups is not None:
        halves = [half._replace(rows=half.rows.drop(columns="group", errors="ignore")) for half in halves]
    others = merged(pd.concat([half.others for half in halves], ignore_index=True))
    rows = concatenated([half.rows for half in halves])
    own = {name: others["item"] for name in ("group", "system_a", "system_b") if name in rows and name not in others}
    others = others.assign(**own)  # a label that rows of their own would each have
    while others["item"].isin(rows["item"]).any():
        others = others.assign(item=others["item"] + _AND_MORE)
    plain = [without_categories(frame) for frame in (rows, others)]
    frame = pd.concat([one for one in plain if len(one)] or plain[:1], ignore_index=True)
    seen = pd.concat([half.seen for half in halves], ignore_index=True)
    # in the order in which their judges (and what results are made by) come in the parts, as of one table
    design = [name for name in seen if name in frame]
    both = pd.concat([seen[design], frame[design]], ignore_index=True).astype(dict.fromkeys(design, object))
    number = first_places(both.where(both.notna(), None), design)[0][len(seen) :]
    frame = frame.iloc[np.argsort(number, kind="stable")].reset_index(drop=True)
    scores = ValidatedTable(check_scores(frame), "scores", "scores", n_items)
    if note := one_order_alone(*(sum(half.alone[k] for half in halves) for k in (0, 1))):
        check.warn(note)
    return warned_of_mass(scores), repeat


def _scores_of(part: pd.DataFrame) -> tuple[pd.DataFrame, tuple[int, int]]:
    """One part as scores, of ratings summarised on the way; and its pairs of outputs as `summarized` counts them."""
    return summarized(part, None, None) if has_replies(part) else (check_scores(part), (0, 0))


def _half(_number: int, load: Load, labelled: frozenset[str], keys: Sequence[str], within: Any) -> _Half:
    scores, alone = _scores_of(load())
    for name in (*keys, *(within or ())):
        if name not in scores and name != "group":
            raise TableError(f"scores: column `{name}` is missing; there are {', '.join(map(repr, scores))}.")
    there = scores["item"].isin(labelled)
    # each group (the last of these columns) within a result as a number of 8 bytes; True if one repeats here
    shared: Any = np.empty(0, dtype=np.uint64)
    if within and within[-1] in scores:
        read = scores[scores["score"].notna() & scores[within[-1]].notna()]
        results = [name for name in dict.fromkeys(within) if name in read]
        repeats = len(first_places(read, results)[1]) < len(read)
        shared = True if repeats else np.zeros(len(read), dtype=np.uint64)
        for name in () if repeats else results:
            values = read[name]
            if isinstance(values.dtype, pd.CategoricalDtype):
                codes = values.cat.codes
                hashes = pd.util.hash_array(values.cat.categories.to_numpy(object), categorize=False)[codes]
            else:
                plain = values.to_numpy(float) if values.dtype.kind in "fiub" else values.astype(str).to_numpy(object)
                hashes = pd.util.hash_array(plain, categorize=False)
            shared = shared * np.uint64(0x9E3779B97F4A7C15) + hashes
    others, hashed = scores[~there], items_hashed(scores["item"])
    names = [name for name in dict.fromkeys([*SliceKey._fields, *keys[:1]]) if name in scores]
    seen = scores[names].iloc[first_places(scores, names)[1]].astype(dict.fromkeys(names, object))
    return _Half(scores[there], stand_ins(others, keys), hashed, shared, seen, alone)


def stand_ins(scores: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """One row for all that are alike: how many, their mean and spread, and the least mass that they rest on.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["a", "b", "c"], "criterion": "fluency", "rater": "judge", "score": [3, 4, 5]})
    >>> stand_ins(check_scores(frame), [])[["item", "score", "n_represented"]].to_dict("records")
    [{'item': 'a', 'score': 4.0, 'n_represented': 3}]
    """
    read = scores["score"].notna()
    marked = scores.assign(_read=read, _little=read & (scores["mass"] < LITTLE))
    alike = [name for name in dict.fromkeys([*_ALIKE, *keys, "_read", "_little"]) if name in marked]
    number, begins = first_places(marked, alike)
    chunks = [(scores["score"].fillna(0.0).to_numpy(), number)] if len(begins) else []
    moments = Moments.from_chunks(chunks, n_systems=max(len(begins), 1))
    rows = without_categories(marked.iloc[begins].reset_index(drop=True))
    sides = (moments.n, moments.squares, moments.low, moments.high)
    represented = {name: values[: len(begins)] for name, values in zip(REPRESENTED, sides, strict=True)}
    mean = np.where(rows["_read"].astype(bool), moments.mean[: len(begins)], np.nan)
    first = np.full(len(begins), len(scores["item"].cat.categories))
    np.minimum.at(first, number, scores["item"].cat.codes.to_numpy())
    items = scores["item"].cat.categories.to_numpy(object)[first]
    # the least mass of those with little, and whose that is; of the others none is known
    mass, like = np.full(len(begins), np.nan), np.full(len(begins), "", dtype=object)
    little = np.flatnonzero(marked["_little"].to_numpy())
    order = little[np.argsort(marked["mass"].to_numpy()[little], kind="stable")[::-1]]
    mass[number[order]] = marked["mass"].to_numpy()[order]
    like[number[order]] = marked["item"].astype(object).to_numpy()[order]
    columns = [*alike, *(name for name in ("inclusion",) if name in rows)]
    return rows[columns].assign(item=items, score=mean, mass=mass, like=like, **represented)


def merged(others: pd.DataFrame) -> pd.DataFrame:
    """Rows of all parts that are alike as one, in the order of the parts: whoever worked, the sums are the same."""
    plain = ("item", "score", "mass", "like", "inclusion", *REPRESENTED)
    number, begins = first_places(others, [name for name in others if name not in plain])
    if not len(begins):
        return others
    n, squares, low, high = (others[name].to_numpy() for name in REPRESENTED)
    whole = Moments(n, others["score"].fillna(0.0).to_numpy(), squares, low, high).within(number, len(begins))
    order = np.argsort(-others["mass"].fillna(np.inf).to_numpy(), kind="stable")
    least = np.empty(len(begins), dtype=np.intp)
    least[number[order]] = order  # the last that is written has the least mass
    rows = others.iloc[begins].reset_index(drop=True)
    represented = dict(zip(REPRESENTED, (whole.n, whole.squares, whole.low, whole.high), strict=True))
    beside = {name: others[name].to_numpy()[least] for name in ("mass", "like")}
    score = np.where(rows["_read"].astype(bool), whole.mean, np.nan)
    ids = others["item"].astype(object).groupby(number).min().to_numpy() + _AND_MORE  # in the order of the first one
    return rows.assign(item=ids, score=score, **represented, **beside).drop(columns=["_read", "_little"])
