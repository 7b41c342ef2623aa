"""Two raters whose scores both come in parts: how often each pair of scores occurs, part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.scale.partitions import Load, Partitions, items_hashed, refuse_shared
from calib.stats import Counts
from calib.table import TableArgumentError, TableError
from calib.tables.condensed import merged, scores_of, stand_ins
from calib.tables.door import Checked, Who, little_mass, slices
from calib.tables.pairs import FOLDED, aligned, labels_in, one_scale
from calib.tables.results import words

MOST_PAIRS = 20_000_000  # different pairs of scores that are kept, 40 bytes each


@dataclass(frozen=True, slots=True)
class CountedPair:
    """Scores of one rater beside another's, as counts."""

    label: dict[str, Any]
    counts: Counts
    n_unmatched: int
    reach: pd.DataFrame  # lowest and highest score of each side on each scale
    warnings: tuple[str, ...] = ()

    def on_one_scale(self, purpose: str) -> bool:
        """Whether both sides say their scale, which must be one."""
        names = [name for name in ("scores", "human") if name in set(self.reach["side"])]
        sides = {name: self.reach.loc[self.reach["side"] == name, ["score", "scale"]] for name in names}
        return one_scale(self.label, purpose, **sides)


class _PartOfPair(NamedTuple):
    label: dict[str, Any]
    other: Who
    counts: Counts | None  # None where no item has both
    n: int
    reach: pd.DataFrame


class _Slice(NamedTuple):
    """The scores of one rater in a part, condensed."""

    label: dict[str, Any]
    n: int
    others: pd.DataFrame


class _PartOfBoth(NamedTuple):
    items: tuple[Any, Any]
    slices: tuple[list[_Slice], list[_Slice]]
    pairs: list[_PartOfPair]


class _WholeSlice(NamedTuple):
    place: int
    n: int
    little: tuple[str, ...]


def pairs_in_parts(scores: Any, human: Any, level: str, missing: str) -> list[CountedPair]:
    """Every rater of the one beside every other rater of the second, where both are cut by the same items."""
    if missing != "drop":
        raise ArgumentError("missing", "must be 'drop' where both sides come in partitions", f"got {missing!r}")
    mine, theirs = Partitions(scores), Partitions(human)
    parts = list(mine.each(_pairs_of_part, theirs, level, what="parts counted"))
    both = [[part.items[side] for part in parts] for side in (0, 1)]
    names = [lambda k, side=side: scores_of(side.part(k))["item"] for side in (mine, theirs)]
    for hashed, name, argument in zip(both, names, ("scores", "human"), strict=True):
        refuse_shared(hashed, name, argument)
    _refuse_crossed(both, names)
    sides = [_whole_slices([part.slices[side] for part in parts]) for side in (0, 1)]
    found = dict[Any, list[_PartOfPair]]()
    for pair in (one for part in parts for one in part.pairs):
        found.setdefault((Who.of(pair.label), pair.other), []).append(pair)
    if not found:
        raise TableError("scores and human must share a criterion and differ in the rater, in each of their parts.")
    in_their_order = sorted(found, key=lambda who: (sides[0][who[0]].place, sides[1][who[1]].place))
    return [_whole_pair(found[who], sides[0][who[0]], sides[1][who[1]]) for who in in_their_order]


def _refuse_crossed(both: Sequence[Sequence[Any]], names: Sequence[Any]) -> None:
    """Refuse an item whose scores stand in another part than its labels."""
    everything = [np.concatenate([*hashed, np.empty(0, dtype=np.uint64)]) for hashed in both]
    part = [np.repeat(np.arange(len(hashed)), [len(one) for one in hashed]) for hashed in both]
    _, mine, theirs = np.intersect1d(everything[0], everything[1], return_indices=True)
    for first, second in {*zip(part[0][mine].tolist(), part[1][theirs].tolist(), strict=True)}:
        if first != second and (shared := set(names[0](first).astype(str)) & set(names[1](second).astype(str))):
            rule = "partitions that go together must be cut by the same items"
            given = f"{min(shared)!r} is in part {first} of the scores and in part {second} of human"
            raise TableError(f"{rule}, but {given}.")


def _whole_slices(parts: Sequence[Sequence[_Slice]]) -> dict[Who, _WholeSlice]:
    """Each rater of one side, in the order in which they come; what rests on little is said."""
    found = dict[Who, list[_Slice]]()
    for one in (one for part in parts for one in part):
        found.setdefault(Who.of(one.label), []).append(one)
    whole = dict[Who, _WholeSlice]()
    for who, held in found.items():
        told = little_mass(held[0].label, merged(pd.concat([one.others for one in held], ignore_index=True)))
        for text in told:
            check.warn(text)
        whole[who] = _WholeSlice(len(whole), sum(one.n for one in held), told)
    return whole


def _whole_pair(parts: Sequence[_PartOfPair], mine: _WholeSlice, theirs: _WholeSlice) -> CountedPair:
    known = [part.counts for part in parts if part.counts is not None]
    if not known:
        raise TableError("scores and human must share items, but no item is in both.")
    for name in ("groups", "systems"):
        if len({getattr(one, name) is None for one in known}) > 1:
            rule = f"partitions must have a `{name[:-1]}` in every part or in none, but only some have one"
            raise TableError(f"{words(parts[0].label)}: {rule}.")
    counts = reduce(Counts.merge, known)
    if len(counts) > MOST_PAIRS:
        rule = f"must have at most {MOST_PAIRS:,} different pairs of scores"
        given = f"have {len(counts):,}: round a continuous judge's (scores.round({{'score': 2}})), or take some items"
        raise TableArgumentError("scores", rule, given)
    label = parts[0].label
    reach = pd.concat([part.reach for part in parts], ignore_index=True)
    beyond = mine.n + theirs.n - 2 * sum(part.n for part in parts)
    return CountedPair(label, counts, beyond, reach, mine.little)


def _pairs_of_part(_number: int, load: Load, load_human: Load, level: str) -> _PartOfBoth:
    mine, theirs = (
        Checked(scores_of(one()), "scores", name) for one, name in ((load, "scores"), (load_human, "human"))
    )
    if FOLDED[1] in mine.frame:
        rule = "must be a judge's own where people's labels come in partitions, too"
        raise TableArgumentError("scores", rule, "are calibrated in folds")
    pairs = []
    for label, rows in mine.slices():
        for other, labels in theirs.slices():
            if other["criterion"] == label["criterion"] and Who.of(other) != Who.of(label):
                against = f"{other['rater']} ({other['prompt']})" if other["prompt"] else other["rater"]
                pairs.append(_part_of_pair(label | {"against": against}, Who.of(other), rows, labels, level))
    sides = [[_Slice(one, len(rows), stand_ins(rows, [])) for one, rows in side.slices()] for side in (mine, theirs)]
    items = items_hashed(mine.frame["item"]), items_hashed(theirs.frame["item"])
    return _PartOfBoth(items, (sides[0], sides[1]), pairs)


def _part_of_pair(
    label: dict[str, Any], other: Who, rows: pd.DataFrame, labels: pd.DataFrame, level: str
) -> _PartOfPair:
    whole = aligned(rows, labels)
    both = whole[whole["_merge"] == "both"]
    design = {name: labels_in(both, name) for name in ("group", "system")}
    if level in design and design[level] is None and len(both):
        raise TableError(f"level {level!r} needs a column `{level}` in every part.")
    scores = (both["x"].astype(float), both["y"].astype(float))
    counts = Counts.from_chunks([(*scores, *design.values())]) if len(both) else None
    sides = [both[["x", "scale"]], both[["y", "scale_y"]]] if "scale_y" in both else []
    reach = [
        side.set_axis(["score", "scale"], axis=1)
        .groupby("scale", dropna=False)["score"]
        .agg(["min", "max"])
        .melt(ignore_index=False, value_name="score")
        .reset_index()
        .assign(side=name)
        for side, name in zip(sides, ("scores", "human"), strict=False)
    ]
    return _PartOfPair(label, other, counts, len(both), pd.concat(reach))


def unlabelled_beside(
    first: Checked, second: Checked, human: Checked
) -> tuple[Checked, Checked, Callable[[Mapping[str, Any], Mapping[str, Any]], int]]:
    """Where a judge's scores came in parts: those of labelled items, and how many others two of the slices have."""
    if first.unlabelled is None and second.unlabelled is None:
        return first, second, lambda _one, _two: 0
    known = set(human.frame["item"].astype(str))
    kept, others = [], []
    for judge in (first, second):
        labelled = judge.frame["item"].isin(known)
        rest = judge.unlabelled
        if rest is None:
            rest = {Who.of(label): items_hashed(rows["item"]) for label, rows in slices(judge.frame[~labelled])}
        kept.append(replace(judge, frame=judge.frame[labelled]))
        others.append(rest)
    none = np.empty(0, dtype=np.uint64)

    def beyond(one: Mapping[str, Any], two: Mapping[str, Any]) -> int:
        found = (rest.get(Who.of(label), none) for rest, label in zip(others, (one, two), strict=True))
        return len(reduce(np.union1d, found))

    return kept[0], kept[1], beyond
