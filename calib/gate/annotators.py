"""Who labelled which of two builds: few by those who labelled both leave builds and annotators mixed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pandas as pd

from calib.core.text import printable
from calib.inputs.alike import looks

if TYPE_CHECKING:
    from calib.gate.evidence import Build

Annotators = dict[tuple[str, str], frozenset[str]]
_NAMELESS = re.compile(
    r"mean of \d+ \w+|people( of .*)?|humans?|(the )?labels?|gold|experts?|crowd|annotators?|raters?", re.IGNORECASE
)
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
    names = {name: "" if _NAMELESS.fullmatch(str(name)) else _hash(name) for name in labels["rater"].unique()}
    who: dict[tuple[str, str], set[str]] = {}
    for criterion, item, rater in zip(labels["criterion"], labels["item"], labels["rater"], strict=True):
        who.setdefault((str(criterion), looks(item)), set()).add(names[rater])
    return {place: frozenset(those) for place, those in who.items()}


def of_their_sessions(who: Mapping[tuple[str, str], frozenset[str]], session_of: Mapping[str, str]) -> Annotators:
    """Who labelled turns as who labelled their sessions.

    Examples
    --------
    >>> turns = {("tone", "t1"): frozenset(["x"]), ("tone", "t2"): frozenset(["y"]), ("tone", "s2"): frozenset(["z"])}
    >>> {place: sorted(names) for place, names in of_their_sessions(turns, {"t1": "s1", "t2": "s1"}).items()}
    {('tone', 's1'): ['x', 'y'], ('tone', 's2'): ['z']}
    """
    sessions, out = {looks(turn): looks(session) for turn, session in session_of.items()}, Annotators()
    for (criterion, item), names in who.items():
        place = criterion, sessions.get(item, item)
        out[place] = out.get(place, frozenset()) | names
    return out


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


def _hash(name: object) -> str:
    return sha256(looks(name).encode("utf-8", "surrogatepass")).hexdigest()[:16]


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
    named = "" not in who[0] | who[1]
    sizes = [
        f"{len(names)} annotator{'s' * (len(names) > 1)}" if "" not in names else "who has no name" for names in who
    ]
    of_each = zip(counts, (build.name, build.other), sizes, strict=True)
    those = " and ".join(f"{n} labels of {name} are by {size}" for n, name, size in of_each)
    both = f"{of_both[0]} and {of_both[1]} of them" if any(of_both) else "none"
    text = f"{those}, {both} by somebody who labelled both builds: builds may differ because annotators do"
    return text, named and min(map(len, who)) < _CROWD
