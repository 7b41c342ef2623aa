"""Scores in partitions beside labels: what of them a verb works with fits in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calib.core.check import ArgumentError
from calib.intake.entry import is_calibs, opened, two_judges
from calib.intake.taken import Columns, Source
from calib.scale.partitions import Partitions, is_partitioned
from calib.tables.condensed import condensed
from calib.tables.counted import unlabelled_beside
from calib.tables.door import Checked, scores_in


def in_memory(
    scores: Any,
    labels: Any,
    said: Mapping[str, Any],
    columns: Sequence[str | None] = (),
    groups: str | None = None,
    *,
    names: Sequence[str] = ("scores", "gold"),
    apart: bool = False,
) -> tuple[Any, bool]:
    """Scores that come in parts as the rows of labelled items and a few for all others; the rest as it is.

    And whether `groups` repeat, as far as that is to be known. `columns` are those that results are made by; `said` is
    what was said of files of one's own, which do not come in parts; `apart` as for `condensed`.
    """
    if not is_partitioned(scores):
        return scores, True
    rule = "must be a table of calib's (`calib.read_labels`, `calib.scores_from`) where {0} come in partitions"
    for word in said:
        raise ArgumentError(word, "describes a file of your own", f"{names[0]} come in partitions")
    beside = opened(labels, names[1])
    if beside is None or not is_calibs(beside):
        came = "is not given" if beside is None else "is a file of your own"
        raise ArgumentError(names[1], rule, came, mentions=names[:1])
    frame = beside.frame if isinstance(beside, Source | Checked) else beside
    return condensed(Partitions(scores), frame["item"], columns, groups, apart=apart)


def two_in_memory(
    first: Any, second: Any, human: Any, said: Columns
) -> tuple[Checked, Checked, Checked, Callable[..., int]]:
    """Two judges and people, and how many items either of two slices has that are none of these rows."""
    names = ("scores_a", "scores_b", "human")
    sides = zip((first, second), names, strict=False)
    one, two = (in_memory(side, human, said, names=(name, "human"), apart=True)[0] for side, name in sides)
    judged = [scores_in(side, name) for side, name in zip(two_judges(one, two, human, said), names, strict=True)]
    people = judged[-1]
    one, two, beyond = unlabelled_beside(judged[0], judged[1], people)
    return one, two, people, beyond
