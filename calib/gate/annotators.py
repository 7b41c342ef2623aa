"""Who labelled which of two builds: where nobody labelled both, builds and annotators cannot be told apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pandas as pd

from calib.gate.matching import looks

if TYPE_CHECKING:
    from calib.gate.evidence import Build

Annotators = dict[tuple[str, str], frozenset[str]]
_NAMELESS = re.compile(
    r"mean of \d+ \w+|people( of .*)?|humans?|(the )?labels?|gold|experts?|crowd|annotators?|raters?", re.IGNORECASE
)
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


def _hash(name: object) -> str:
    return sha256(looks(name).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def annotators_apart(build: Build, sides: Iterable[pd.DataFrame]) -> tuple[str, bool]:
    """What to say where nobody labelled both builds, and whether that is sure: all have names, and are few."""
    who, counts = [], []
    for side in sides:
        items = side.loc[side["y"].notna(), "item"]
        each = [build.annotators.get((build.criterion, looks(item)), frozenset([""])) for item in items]
        who.append(frozenset[str]().union(*each))
        counts.append(len(items))
    if who[0] & who[1]:
        return "", False
    named = "" not in who[0] | who[1]
    sizes = [
        f"{len(names)} annotator{'s' * (len(names) > 1)}" if "" not in names else "who has no name" for names in who
    ]
    of_each = zip(counts, (build.name, build.other), sizes, strict=True)
    those = " and ".join(f"{n} labels of {name} are by {size}" for n, name, size in of_each)
    text = f"{those}, and nobody labelled both: annotators and builds cannot be told apart"
    return text, named and min(map(len, who)) < _CROWD
