"""Drift on tables: a judge's readings of the same items then and now."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib import stats
from calib.analysis.distributions.frames import shared_by_items
from calib.analysis.drift.reading_change import dealt_anew
from calib.core.check import Floats
from calib.core.progress import progress
from calib.inputs.names import Columns, Data
from calib.inputs.readings import opened_sources, resolve_readings
from calib.inputs.resolve import items_in
from calib.table import TableArgumentError
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import with_warnings
from calib.table.pairs import one_scale
from calib.table.results import Results, words
from calib.table.validate import SliceKey, ValidatedTable, slices

_BY_CHANCE = 1e-4  # readings that agree in their order with no more than this chance were not read anew
_NEARLY_ALL = 0.9  # of the items, from which on readings that are the same are copies
_DUST = 1e-6


@verb
def drift(
    then: Data,
    now: Data,
    *,
    items: Data = None,
    groups: str | None = "group",
    session: str | None = None,
    unlike: bool = False,
    n_permutations: int = 9_999,
    rng: np.random.Generator | int | None = 0,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.ReadingChange]:
    """Whether a judge still reads the same items as it did, beyond its own noise.

    On the day of calibration read some fifty items or more (anchors) four times and keep the ratings; later read them
    again, and hold both against each other. No labels are needed. Each reading is a draw (or a chain of reasoning, by
    its expectation); replies that could not be read are compared too. What readings of one session share (a server, a
    version, a day) counts as a change, unless each side is read in several sessions and `session` says which.

    Results are labelled by criterion, rater, prompt, method, temperature (of then), `n_only_then`, `n_only_now` (items
    of one side, left out), `n_unread_then` and `n_unread_now` (replies without a score).

    Parameters
    ----------
    then, now : table, path or frame
        Ratings with several draws per item then (4 are recommended, 2 are needed), and one or more now. Of files of
        your own each row of an item is a reading, and so is each column of scores.
    items : table, path or frame, optional
        Table of items: what the items share (`groups`).
    groups : str or None, default "group"
        The column, of `items`, `then` or `now`, of what items share: the intervals are over these. None: over items.
    session : str, optional
        A column of `then` and `now`, such as "run" or a date: readings that were made together. Whole sessions are
        compared; two then are the least, four on each side are recommended.
    unlike : bool, default False
        Compare although the prompt, the name of the judge, its method or its temperature is another one: what changed
        is then known, and the question is how far it moved the readings.
    n_permutations, rng, confidence_level
        As for `calib.stats.reading_change`.
    {columns}

    Warns
    -----
    CalibWarning
        Where readings were hardly made anew, or not one by one, or cannot be read as often as then: see the warnings.

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
    sources = opened_sources(columns, then=then, now=now)
    sides = []
    for name, (source, words_of_columns) in sources.items():
        table = resolve_readings(source, name, words_of_columns, session=session).ratings
        if not len(table.frame):
            raise TableArgumentError(name, "must hold readings", "is empty")
        people = table.frame["method"] == "human"  # whose readings count where there are no others
        sides.append(table if people.all() else table.only(~people))
    tables = [*([] if items is None else [items_in(items)]), *(side.frame for side in sides)]
    options: dict[str, Any] = {"n_permutations": n_permutations, "rng": np.random.default_rng(rng)}
    options |= {"confidence_level": confidence_level}
    pairs, left_out = _read_again(*sides, unlike=unlike)

    def compared() -> Iterator[Slice[tuple[pd.Index, list[dict[str, Any]], Any, bool]]]:
        for label, rows_then, label_now, rows_now in progress(pairs, "raters"):
            one_scale(label, "'drift'", then=rows_then, now=rows_now)
            apart = ", ".join(f"{name} {label_now[name]}" for name in _differing(label, label_now))
            replies = [_replies_of(rows, "run" if session is None else "session") for rows in (rows_then, rows_now)]
            ids_then, ids_now = (side.index.unique("item") for side in replies)
            ids = ids_then[ids_then.isin(ids_now)]
            if not len(ids):
                rule = "must hold items of {0}"
                raise TableArgumentError("now", rule, "none of them is there", mentions=("then",), about=words(label))
            # a row for each item, its replies in the order of their draws, NaN where none: the score, 1 for an unread
            # reply and 0 for one that was read, its text, when it was made
            rows = [side.reset_index(["run", "draw"], drop=True).unstack("number").reindex(ids) for side in replies]  # noqa: PD010
            sides = [{name: side[name].to_numpy(dtype=kind) for name, kind in _REPLY.items()} for side in rows]
            counts = {"n_only_then": len(ids_then) - len(ids), "n_only_now": len(ids_now) - len(ids)}
            unread = [int(np.nansum(side["unread"])) for side in sides]
            counts |= {"n_unread_then": unread[0], "n_unread_now": unread[1]}
            owners = shared_by_items(tables, groups, ids, ("items", "then", "now"))
            against = {"against": f"now {apart}"} if apart else {}
            hot = label["temperature"] > 0 and label_now["temperature"] > 0
            yield Slice(label | against, (ids, sides, owners, hot), counts, left_out)

    def change(part: tuple[pd.Index, list[dict[str, Any]], Any, bool]) -> stats.ReadingChange:
        ids, sides, owners, hot = part
        warnings = _same_readings(sides, hot=hot)
        every = options | ({} if session is None else {"sessions": [side["made"] for side in sides]})
        result = stats.reading_change(sides[0]["score"], sides[1]["score"], groups=owners, **every)
        warnings += _unread_replies([side["unread"] for side in sides], every)
        warnings += _runs_apart(sides) if session is None else ()
        return with_warnings(replace(result, items=ids.to_numpy()[result.items]), warnings)

    return each_result(compared(), change, names={"sessions": "session"})


# a judge: its label and ratings then, its label and ratings now
_JudgeTwice = tuple[dict[str, Any], pd.DataFrame, dict[str, Any], pd.DataFrame]


def _read_again(
    then: ValidatedTable, now: ValidatedTable, *, unlike: bool
) -> tuple[list[_JudgeTwice], tuple[str, ...]]:
    """Each judge of then beside the same one of now, and which were left out."""
    alone, new = [*slices(then.frame)], [*slices(now.frame)]
    pairs: list[_JudgeTwice] = []
    # judges that are the same on both sides; then, if they may be unlike, those of one criterion
    for names in (SliceKey._fields, ("criterion",))[: 1 + unlike]:
        for label, rows in tuple(alone):
            same = [one for one in new if not set(_differing(label, one[0])) & set(names)]
            if same:
                pairs.append((label, rows, *same[0]))
                alone = [one for one in alone if one[0] is not label]
                new = [one for one in new if one[0] is not same[0][0]]
    if not pairs:
        first = alone[0][0]
        near = min((label for label, _ in new), key=lambda other: len(_differing(first, other)))
        apart = "; ".join(f"{name} was {first[name]!r} and is {near[name]!r}" for name in _differing(first, near))
        rule = "must hold readings of the judge of {0} by the same prompt ({1} compares anyway)"
        raise TableArgumentError("now", rule, apart, mentions=("then", "unlike"))
    readings = [rows[["item", "run", "draw"]].drop_duplicates()["item"].value_counts().max() for _, rows, *_ in pairs]
    several = [pair for pair, number in zip(pairs, readings, strict=True) if number > 1]
    once = [pair[0] for pair, number in zip(pairs, readings, strict=True) if number < 2] if several else []
    left = "; ".join(map(words, [*(label for label, _ in alone), *once, *(label for label, _ in new)]))
    warning = f"not_read_again: left out, as read on one side only or only once then: {left}."
    # if none was read twice the arrays say why that is refused
    return several or pairs, (warning,) if left else ()


def _differing(label: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The labels that differ; two missing temperatures do not."""
    sides = zip(SliceKey._fields, SliceKey.of(label), SliceKey.of(other), strict=True)
    return [name for name, one, two in sides if one != two]


_REPLY: dict[str, type] = {"score": float, "unread": float, "reply": object, "made": object}


def _replies_of(rows: pd.DataFrame, made: str) -> pd.DataFrame:
    """The expectation of each reply (of a sampled one its score), whether it was unread, its text (or score) and run.

    Failed calls are none. `made` is the column of when it was made.
    """
    rows = rows.astype({"item": object, "run": object})
    read = (rows["status"] == "ok").to_numpy()
    weight = rows["weight"].where(read, 0.0)
    parts = rows[["item", "run", "draw"]].assign(
        weight=weight, sum=(weight * rows["score"]).where(read, 0.0), failed=(rows["status"] == "failed").to_numpy()
    )
    parts = parts.assign(made=rows[made].astype(object), reply=rows.get("reply", ""))
    how = {"weight": "sum", "sum": "sum", "failed": "all", "made": "first", "reply": "first"}
    each = parts.groupby(["item", "run", "draw"], sort=True).agg(how)
    each = each[~each["failed"]]
    with np.errstate(invalid="ignore"):
        each["score"] = each["sum"] / each["weight"].where(each["weight"] > 0)
    number = each.groupby("item", sort=False).cumcount().rename("number")
    each["reply"] = each["reply"].where(each["reply"].fillna("") != "", each["score"]).astype(object)
    return each.assign(unread=each["score"].isna().astype(float)).set_index(number, append=True)[[*_REPLY]]


def _same_readings(sides: list[dict[str, Any]], *, hot: bool) -> tuple[str, ...]:
    """Warnings of readings that were hardly made anew, as they are those of then; if all are so they are refused."""
    every_then, every_now = (side["score"] for side in sides)
    size = min(every_then.shape[1], every_now.shape[1])
    then, now = every_then[:, :size], every_now[:, :size]
    same = ((then == now) | (np.isnan(then) & np.isnan(now))).all(axis=1)
    # how likely readings that were made anew are the same one by one, at most: if they are the same numbers, each of
    # their orders is as likely; of one reading now, if the readings of both sides are these numbers, it is a pair of
    # them that has to be equal
    chances = np.ones(len(then))
    for place in range(len(then)):
        if np.isnan(then[place]).all() or np.isnan(now[place]).all():
            continue
        if size > 1:
            counts = Counter(then[place][np.isfinite(then[place])].tolist())
            chances[place] = math.prod(map(math.factorial, counts.values())) / math.factorial(counts.total())
        else:
            counts = Counter(side for side in [*every_then[place], *every_now[place]] if math.isfinite(side))
            pairs = sum(count * (count - 1) for count in counts.values())
            chances[place] = pairs / max(1, counts.total() * (counts.total() - 1))
    varied, n_same = chances < 1, int((same & (chances < 1)).sum())
    copies = "as a store gives them: nothing is to be learned of a change from copies; read anew."
    if same.all() and not varied.any():
        fine = np.abs(every_then * 100 - np.rint(every_then * 100)) > _DUST
        if hot or np.nanmean(fine) > 0.5:
            why = "at a temperature above 0" if hot else "to the last of many digits"
            return (f"cached_copies: all readings are as they were {why}, {copies}",)
        gives = "at temperature 0 that is what an unchanged judge gives, and also what a store gives"
        return (f"same_readings: the readings are identical; {gives}.",)
    if same.all() and np.log(chances).sum() < math.log(_BY_CHANCE):
        rule = "must be read anew: give `rate` another store, or none, and another seed than {0} was read with"
        rows = f"all {then.size} readings are those of then, one by one"
        raise TableArgumentError("now", rule, rows, mentions=("then",))
    # replies that differ from each other then, and of which there is none now that was not there then
    texts = [[{*row[pd.notna(row)]} for row in side["reply"]] for side in sides]
    distinct = sum(len(one) >= n for one, n in zip(texts[0], np.isfinite(every_then).sum(axis=1), strict=True))
    again = sum(two <= one for one, two in zip(*texts, strict=True))
    if min(again, distinct) >= _NEARLY_ALL * len(same):
        letter = f"the replies of {again} of {len(same)} items are those of then to the letter"
        return (f"cached_copies: {letter}, {copies}",)
    alike, as_alike = _same_in_any_order(every_then, every_now)
    n_alike = int((alike & (as_alike < 1)).sum())
    if n_alike >= _NEARLY_ALL * (as_alike < 1).sum() and _as_many_by_chance(as_alike, n_alike) < _BY_CHANCE:
        of = f"{n_alike} of {int((as_alike < 1).sum())} items whose readings vary"
        return (f"cached_copies: the readings of {of} are those of then, in whatever order, {copies}",)
    if _as_many_by_chance(chances, n_same) < _BY_CHANCE:
        part = f"{n_same} of {int(varied.sum())} items whose readings vary have the very same ones, in the same order"
        return (f"shared_readings: {part}: they come from a store, and hide a change.",)
    return ()


def _same_in_any_order(then: Floats, now: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Items whose readings of both sides are the same numbers, and in each the chance of that if dealt anew."""
    alike, chances = np.zeros(len(then), dtype=bool), np.ones(len(then))
    for place, sides in enumerate(zip(then, now, strict=True)):
        one, two = (np.sort(side[np.isfinite(side)]) for side in sides)
        if not len(one) or len(one) != len(two):
            continue
        alike[place] = np.array_equal(one, two)
        counts = Counter([*one.tolist(), *two.tolist()]).values()
        even = all(count % 2 == 0 for count in counts)
        ways = math.prod(math.comb(count, count // 2) for count in counts) if even else 0
        chances[place] = ways / math.comb(2 * len(one), len(one))
    return alike, chances


def _as_many_by_chance(chances: Floats, n: int) -> float:
    """The chance of n items or more that are the same, each with its own chance; those that must be do not count."""
    number = np.ones(1)
    for chance in chances[chances < 1]:
        number = np.convolve(number, [1 - chance, chance])
    return float(number[n:].sum())


def _runs_apart(sides: list[dict[str, Any]]) -> tuple[str, ...]:
    """Whether the first run of a side differs from its others, by the same test as then from now."""
    for side, when in zip(sides, ("then", "now"), strict=True):
        first = side["made"] == next(iter(side["made"][~pd.isna(side["made"])]), None)
        one, rest = (np.where(run, side["score"], np.nan) for run in (first, ~first))
        both = np.isfinite(one).any(axis=1) & np.isfinite(rest).any(axis=1)
        if both.any():
            p = (1 + dealt_anew(one[both], rest[both], 999, np.random.default_rng(0)).as_far_in_all) / 1000
            if p <= 0.002:
                what = f"the first run of {when} differs from its other runs (p = {p:.2g}), so that readings are not"
                return (f"runs_apart: {what} independent and p-values too small: compare runs (session='run').",)
    return ()


def _unread_replies(unread: list[Floats], options: dict[str, Any]) -> tuple[str, ...]:
    """Whether more, or fewer, replies cannot be read than then: by the same test, of read or not."""
    counts = [int(np.nansum(side)) for side in unread]
    if not any(counts) or np.isfinite(unread[0]).sum(axis=1).max() < 2 or len(unread[0]) < 2:
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.CalibWarning)
        change = stats.reading_change(unread[0], unread[1], **options)
    if change.p_shift > 1 - change.confidence_level:
        return ()
    of = [f"{count} of {int(np.isfinite(side).sum())}" for count, side in zip(counts, unread, strict=True)]
    shares = f"{of[1]} replies cannot be read, {of[0]} then (p = {change.p_shift:.2g})"
    why = "the judge answers otherwise, and readings speak only of the replies that could be read."
    return (f"unread_changed: {shares}: {why}",)
