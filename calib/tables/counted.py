"""Two raters whose scores both come in parts: how often each pair of scores occurs, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.scale.partitions import Load, Partitions, items_hashed, refuse_shared
from calib.stats import Counts
from calib.table import TableArgumentError, TableError
from calib.tables.condensed import merged, scores_of, stand_ins
from calib.tables.door import Checked, Who, little_mass
from calib.tables.pairs import FOLDED, aligned, labels_in, one_scale

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
        sides = {name: rows[["score", "scale"]] for name, rows in self.reach.groupby("side")}
        return one_scale(self.label, purpose, **sides)


class _PartOfPair(NamedTuple):
    label: dict[str, Any]
    counts: Counts
    n_unmatched: int
    reach: pd.DataFrame
    all_scores: pd.DataFrame  # of the first rater, condensed


def pairs_in_parts(scores: Any, human: Any, level: str, missing: str) -> list[CountedPair]:
    """Every rater of the one beside every other rater of the second, where both are cut by the same items."""
    if missing != "drop":
        raise ArgumentError("missing", "must be 'drop' where both sides come in partitions", f"got {missing!r}")
    mine = Partitions(scores)
    hashed, found = [], dict[Any, list[_PartOfPair]]()
    for items, pairs in mine.each(_pairs_of_part, Partitions(human), level, what="parts counted"):
        hashed.append(items)
        for pair in pairs:
            found.setdefault((Who.of(pair.label), pair.label["against"]), []).append(pair)
    refuse_shared(hashed, lambda k: scores_of(mine.part(k))["item"], "scores")
    if not found:
        raise TableError("scores and human must share a criterion and differ in the rater, in each of their parts.")
    return [_whole_pair(parts) for parts in found.values()]


def _whole_pair(parts: Sequence[_PartOfPair]) -> CountedPair:
    counts = reduce(Counts.merge, [part.counts for part in parts])
    if len(counts) > MOST_PAIRS:
        rule = f"must have at most {MOST_PAIRS:,} different pairs of scores"
        given = f"have {len(counts):,}: round a continuous judge's (scores.round({{'score': 2}})), or take some items"
        raise TableArgumentError("scores", rule, given)
    label, reach = parts[0].label, pd.concat([part.reach for part in parts], ignore_index=True)
    told = little_mass(label, merged(pd.concat([part.all_scores for part in parts], ignore_index=True)))
    return CountedPair(label, counts, sum(part.n_unmatched for part in parts), reach, told)


def _pairs_of_part(_number: int, load: Load, load_human: Load, level: str) -> tuple[Any, list[_PartOfPair]]:
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
                pairs.append(_part_of_pair(label | {"against": against}, rows, labels, level))
    return items_hashed(mine.frame["item"]), pairs


def _part_of_pair(label: dict[str, Any], rows: pd.DataFrame, labels: pd.DataFrame, level: str) -> _PartOfPair:
    whole = aligned(rows, labels)
    both = whole[whole["_merge"] == "both"]
    design = {name: labels_in(both, name) for name in ("group", "system")}
    if level in design and design[level] is None and len(both):
        raise TableError(f"level {level!r} needs a column `{level}` in every part.")
    counts = Counts.from_chunks([(both["x"].astype(float), both["y"].astype(float), *design.values())])
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
    return _PartOfPair(label, counts, len(whole) - len(both), pd.concat(reach), stand_ins(rows, []))


def unlabelled_beside(first: Checked, second: Checked, human: Checked) -> tuple[Checked, Checked, int]:
    """Where a judge's scores came in parts: those of labelled items, and how many other items either judge has."""
    if first.unlabelled is None and second.unlabelled is None:
        return first, second, 0
    known = set(human.frame["item"].astype(str))
    kept, others = [], []
    for judge in (first, second):
        labelled = judge.frame["item"].isin(known)
        rest = items_hashed(judge.frame["item"][~labelled]) if judge.unlabelled is None else judge.unlabelled
        kept.append(replace(judge, frame=judge.frame[labelled]))
        others.append(rest)
    return kept[0], kept[1], len(np.union1d(*others))
