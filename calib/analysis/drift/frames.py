"""Drift on tables: the readings of a judge then beside those of now, item by item."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.distributions.frames import shared_by_items
from calib.core.check import Floats, as_typed
from calib.core.progress import progress
from calib.inputs.names import Columns, Data
from calib.inputs.readings import items_in, opened_sources, resolve_readings
from calib.table import TableArgumentError
from calib.table.labelled import with_warnings
from calib.table.pairs import one_scale
from calib.table.results import Results, words
from calib.table.validate import SliceKey, ValidatedTable, renamed_errors, slices

_BY_CHANCE = 1e-4  # readings that agree in their order with no more than this chance were not read anew


def drift(
    then: Data,
    now: Data,
    *,
    items: Data = None,
    groups: str | None = "group",
    unlike: bool = False,
    n_permutations: int = 9_999,
    rng: np.random.Generator | int | None = 0,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.ReadingChange]:
    """Whether a judge still reads the same items as it did, beyond its own noise.

    On the day of calibration read some fifty items or more (anchors) four times and keep the ratings; later read them
    again, and hold both against each other. No labels are needed. Each reading is a draw (or a chain of reasoning, by
    its expectation); replies that could not be read are compared too.

    Parameters
    ----------
    then, now : table, path or frame
        Ratings with several draws per item then (4 are recommended, 2 are needed), and one or more now. Of files of
        your own each row of an item is a reading, and so is each column of scores.
    items : table, path or frame, optional
        Table of items: what the items share (`groups`).
    groups : str or None, default "group"
        The column, of `items`, `then` or `now`, of what items share: the intervals are over these. None: over items.
    unlike : bool, default False
        Compare although the prompt, the name of the judge, its method or its temperature is another one: what changed
        is then known, and the question is how far it moved the readings.
    n_permutations, rng, confidence_level
        As for `calib.stats.reading_change`.
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature (of then), `n_only_then`, `n_only_now` (items of one
        side, left out), `n_unread_then` and `n_unread_now` (replies without a score).

    Raises
    ------
    TableError
        If scores are given, in which readings are averaged; no item was read twice then and again now; judge, prompt
        or scale are not the same; or the readings of now are those of then, so that nothing was read anew.

    Warns
    -----
    CalibWarning
        As `calib.stats.reading_change`, and "unread_changed": more, or fewer, replies cannot be read than then.
        "shared_readings": part of the readings were not made anew. "same_readings": all are as they were, as a judge
        without noise gives them, and a store that answers for it. "not_read_again": judges of one side alone.

    Notes
    -----
    A change is no verdict on quality: whether labels of then still correct the judge is for `calib.transport_test`, on
    fresh labels of a few items.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> prompt = calib.geval_prompt("coherence")
    >>> then, now = (calib.rate(items, prompt, calib.Judge("offline", method="sample", draws=4, seed=seed),
    ...                         progress=False) for seed in (1, 2))
    >>> result = calib.drift(then, now, items=items).one()
    >>> result.drifted, result.n, result.n_groups
    (False, 312, 24)
    """
    as_typed(drift, locals())
    sources = opened_sources(columns, then=then, now=now)
    before, after = (_judges_in(name, *source) for name, source in sources.items())
    tables = [side.frame for side in (before, after)]
    if items is not None:
        tables.insert(0, items_in(items))
    options = {"n_permutations": n_permutations, "rng": np.random.default_rng(rng)}
    options |= {"confidence_level": confidence_level}
    judges, doubts = _read_again(before, after, unlike=unlike)
    answers = [_compared(judge, tables, groups, options) for judge in progress(judges, "raters")]
    return Results.of((label, with_warnings(result, doubts)) for label, result in answers)


# --- who was read again -----------------------------------------------------------------------------------------


class _Sides(NamedTuple):
    """The ratings of one judge then and now."""

    label: dict[str, Any]
    then: pd.DataFrame
    label_now: dict[str, Any]
    now: pd.DataFrame


def _judges_in(argument: str, thing: Data, columns: Columns) -> ValidatedTable:
    """The readings of judges; those of people where there are no others."""
    table = resolve_readings(thing, argument, columns).ratings
    if not len(table.frame):
        raise TableArgumentError(argument, "must hold readings", "is empty")
    people = table.frame["method"] == "human"
    return table if people.all() else table.only(~people)


def _read_again(then: ValidatedTable, now: ValidatedTable, *, unlike: bool) -> tuple[list[_Sides], tuple[str, ...]]:
    """Each judge of then beside the same one of now, and which were left out."""
    alone, new = [*slices(then.frame)], [*slices(now.frame)]
    pairs: list[_Sides] = []
    # judges that are the same on both sides; then, if they may be unlike, those of one criterion
    for names in (SliceKey._fields, ("criterion",))[: 1 + unlike]:
        for label, rows in tuple(alone):
            same = [one for one in new if not set(_unlike(label, one[0])) & set(names)]
            if same:
                pairs.append(_Sides(label, rows, *same[0]))
                alone = [one for one in alone if one[0] is not label]
                new = [one for one in new if one[0] is not same[0][0]]
    if not pairs:
        first = alone[0][0]
        near = min((label for label, _ in new), key=lambda other: len(_unlike(first, other)))
        apart = "; ".join(f"{name} was {first[name]!r} and is {near[name]!r}" for name in _unlike(first, near))
        rule = "must hold readings of the judge of {0} by the same prompt ({1} compares anyway)"
        raise TableArgumentError("now", rule, apart, mentions=("then", "unlike"))
    readings = [sides.then[["item", "run", "draw"]].drop_duplicates().groupby("item", observed=True) for sides in pairs]
    most = [of_item.size().max() for of_item in readings]
    several = [sides for sides, number in zip(pairs, most, strict=True) if number > 1]
    once = [sides.label for sides, number in zip(pairs, most, strict=True) if number < 2] if several else []
    left = "; ".join(map(words, [*(label for label, _ in alone), *once, *(label for label, _ in new)]))
    doubts = (f"not_read_again: left out is what stands on one side alone, or was read once then: {left}.",)
    return several or pairs, doubts if left else ()  # if none was read twice the arrays say why that is refused


def _unlike(label: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What differs; no temperature is like no temperature."""
    return [
        name
        for name, one, two in zip(SliceKey._fields, SliceKey.of(label), SliceKey.of(other), strict=True)
        if one != two
    ]


# --- one judge --------------------------------------------------------------------------------------------------


def _compared(
    sides: _Sides, tables: list[pd.DataFrame], groups: str | None, options: dict[str, Any]
) -> tuple[dict[str, Any], stats.ReadingChange]:
    one_scale(sides.label, "'drift'", then=sides.then, now=sides.now)
    apart = ", ".join(f"{name} {sides.label_now[name]}" for name in _unlike(sides.label, sides.label_now))
    label = sides.label | ({"against": f"now {apart}"} if apart else {})
    then, now = (_replies_of(rows) for rows in (sides.then, sides.now))
    ids = [side.index.unique("item") for side in (then, now)]
    items = ids[0][ids[0].isin(ids[1])]
    if not len(items):
        rule = "must hold items of {0}"
        raise TableArgumentError("now", rule, "none of them is there", mentions=("then",), about=words(label))
    # readings in the order of their draws, NaN where none; lost replies: 1, 0 where it could be read, NaN where none
    readings: list[Floats] = []
    lost: list[Floats] = []
    for side in (then, now):
        for name, columns in (("score", readings), ("lost", lost)):
            plain = side[name].reset_index(["run", "draw"], drop=True)
            columns.append(plain.unstack("number").reindex(items).to_numpy(dtype=float))  # noqa: PD010 - no averages
    doubts = _not_anew(readings[0], readings[1], label)
    counts = {"n_only_then": len(ids[0]) - len(items), "n_only_now": len(ids[1]) - len(items)}
    counts |= {"n_unread_then": int(np.nansum(lost[0])), "n_unread_now": int(np.nansum(lost[1]))}
    with renamed_errors(label, groups="groups"):
        owners = shared_by_items(tables, groups, items, ("items", "then", "now"))
        result = stats.reading_change(readings[0], readings[1], groups=owners, **options)
        doubts += _lost_replies(lost, options)
    return label | counts, with_warnings(replace(result, items=items.to_numpy()[result.items]), doubts)


def _replies_of(rows: pd.DataFrame) -> pd.DataFrame:
    """The expectation of each reply (of a sampled one its score), and whether it was lost; failed calls are none."""
    rows = rows.astype({"item": object, "run": object})
    read = (rows["status"] == "ok").to_numpy()
    weight = rows["weight"].where(read, 0.0)
    parts = rows[["item", "run", "draw"]].assign(
        weight=weight, sum=(weight * rows["score"]).where(read, 0.0), failed=(rows["status"] == "failed").to_numpy()
    )
    each = parts.groupby(["item", "run", "draw"], sort=True).agg({"weight": "sum", "sum": "sum", "failed": "all"})
    each = each[~each["failed"]]
    with np.errstate(invalid="ignore"):
        each["score"] = each["sum"] / each["weight"].where(each["weight"] > 0)
    number = each.groupby("item", sort=False).cumcount().rename("number")
    return each.assign(lost=each["score"].isna().astype(float)).set_index(number, append=True)[["score", "lost"]]


# --- what was not read ------------------------------------------------------------------------------------------


def _not_anew(every_then: Floats, every_now: Floats, label: dict[str, Any]) -> tuple[str, ...]:
    """Readings that are the same one by one, in the same order, were hardly made anew; all of them are refused."""
    size = min(every_then.shape[1], every_now.shape[1])
    then, now = every_then[:, :size], every_now[:, :size]
    same = ((then == now) | (np.isnan(then) & np.isnan(now))).all(axis=1)
    chances = np.array([_chance(*sides, size) for sides in zip(every_then, every_now, strict=True)])
    varied, n_same = chances < 1, int((same & (chances < 1)).sum())
    if same.all() and not varied.any():
        return ("same_readings: all readings are as they were, as a judge without noise gives them, and a store too.",)
    if same.all() and np.log(chances).sum() < math.log(_BY_CHANCE):
        rule = "must be read anew: give `rate` another store, or none, and another seed than {0} was read with"
        rows = f"all {then.size} readings are those of then, one by one"
        raise TableArgumentError("now", rule, rows, mentions=("then",), about=words(label))
    number = np.ones(1)  # the distribution of how many are the same by chance, one item after the other
    for chance in chances[varied]:
        number = np.convolve(number, [1 - chance, chance])
    if float(number[n_same:].sum()) < _BY_CHANCE:
        part = f"{n_same} of {int(varied.sum())} items whose readings vary have the very same ones, in the same order"
        return (f"shared_readings: {part}: they come from a store, and hide a change.",)
    return ()


def _chance(then: Floats, now: Floats, size: int) -> float:
    """How likely readings that were made anew are the same one by one, at most.

    If they are the same numbers, each of their orders is as likely; of one reading now, if the readings of both sides
    are these numbers, it is a pair of them that has to be equal.
    """
    if np.isnan(then[:size]).all() or np.isnan(now[:size]).all():
        return 1.0
    if size > 1:
        counts = Counter(then[:size][np.isfinite(then[:size])].tolist())
        return math.prod(map(math.factorial, counts.values())) / math.factorial(sum(counts.values()))
    counts = Counter(side for side in [*then, *now] if math.isfinite(side))
    pairs = sum(count * (count - 1) for count in counts.values())
    return pairs / max(1, counts.total() * (counts.total() - 1))


def _lost_replies(lost: list[Floats], options: dict[str, Any]) -> tuple[str, ...]:
    """Whether more, or fewer, replies cannot be read than then: by the same test, of lost or not."""
    counts = [int(np.nansum(side)) for side in lost]
    if not any(counts) or np.isfinite(lost[0]).sum(axis=1).max() < 2 or len(lost[0]) < 2:
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.CalibWarning)
        change = stats.reading_change(lost[0], lost[1], **options)
    if change.p_shift > 1 - change.confidence_level:
        return ()
    of = [f"{count} of {int(np.isfinite(side).sum())}" for count, side in zip(counts, lost, strict=True)]
    unread = f"{of[1]} replies cannot be read, {of[0]} then (p = {change.p_shift:.2g})"
    why = "the judge answers otherwise, and readings speak only of the replies that could be read."
    return (f"unread_changed: {unread}: {why}",)
