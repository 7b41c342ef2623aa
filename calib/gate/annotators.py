"""Who labelled which of two builds: few by those who labelled both leave builds and annotators mixed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from calib.analysis.calibration.calibration_map import sha
from calib.core.text import printable
from calib.inputs.alike import looks

if TYPE_CHECKING:
    from calib.gate.evidence import Build

Annotators = dict[tuple[str, str], frozenset[str]]
_NAMELESS = r"mean of \d+ \w+|people( of .*)?|humans?|(the )?labels?|gold|experts?|crowd|annotators?|raters?"
_MANY = 20  # labels of one person
_CROWD = 10  # annotators of each build, over whom strict and kind ones even out


def annotators_in(labels: Any) -> Annotators:
    """Of each criterion and item who labelled it, as hashes of names; "" is somebody without a name of her own.

    Examples
    --------
    >>> rows = pd.DataFrame({"criterion": "tone", "item": ["a", "a", "b"], "rater": ["ann", "bo", "people"]})
    >>> [(item, sorted(map(len, who))) for (_, item), who in annotators_in(rows).items()]
    [('a', [16, 16]), ('b', [0])]
    """
    if not isinstance(labels, pd.DataFrame) or "rater" not in labels:
        return {}
    names = {name: sha(looks(name)).removeprefix("sha256:")[:16] for name in labels["rater"].unique()}
    names |= {name: "" for name in names if re.fullmatch(_NAMELESS, str(name), re.IGNORECASE)}
    who: dict[tuple[str, str], set[str]] = {}
    for criterion, item, rater in zip(labels["criterion"], labels["item"], labels["rater"], strict=True):
        who.setdefault((str(criterion), looks(item)), set()).add(names[rater])
    return {place: frozenset(those) for place, those in who.items()}


def constant_annotators(labels: Any) -> list[str]:
    """A note on each annotator who gave one label to all of many items on which others gave several."""
    if not isinstance(labels, pd.DataFrame) or "rater" not in labels:
        return []
    notes = []
    for (criterion, name), mine in labels.dropna(subset=["score"]).groupby(["criterion", "rater"], observed=True):
        others = (labels["criterion"] == criterion) & (labels["rater"] != name) & labels["item"].isin(mine["item"])
        label = mine["score"].iloc[0]
        if len(mine) >= _MANY and (mine["score"] == label).all() and labels.loc[others, "score"].nunique() > 2:
            what = f"{printable(str(name))} gave {label:g} to all {len(mine)} items"
            notes.append(f"constant_annotator: {printable(str(criterion))}: {what}, and others gave several labels")
    return notes


def annotators_apart(build: Build, sides: Iterable[pd.DataFrame]) -> tuple[str, bool]:
    """What to say where most labels of a build are by others than the other's; whether that is sure: named, and few."""
    who, counts, each_side = [], [], []
    for side in sides:
        items = side.loc[side["y"].notna(), "item"]
        each = [build.annotators.get((build.criterion, looks(item)), frozenset([""])) for item in items]
        who.append(frozenset[str]().union(*each))
        counts.append(len(items))
        each_side.append(each)
    shared = who[0] & who[1]
    of_both = [sum(not shared.isdisjoint(one) for one in each) for each in each_side]
    if all(2 * n >= count for n, count in zip(of_both, counts, strict=True)):
        return "", False
    sizes = ["who has no name" if "" in names else f"{len(names)} annotator{'s' * (len(names) > 1)}" for names in who]
    of_each = zip(counts, (build.name, build.other), sizes, strict=True)
    those = " and ".join(f"{n} labels of {name} are by {size}" for n, name, size in of_each)
    both = f"{of_both[0]} and {of_both[1]} of them" if any(of_both) else "none"
    text = f"{those}, {both} by somebody who labelled both builds: builds may differ because annotators do"
    return text, "" not in who[0] | who[1] and min(map(len, who)) < _CROWD
