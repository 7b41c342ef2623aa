"""Scores in partitions beside labels: what of them a verb works with fits in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calib.core.check import ArgumentError
from calib.intake.entry import is_calibs, opened
from calib.intake.taken import Source
from calib.scale.partitions import Partitions, is_partitioned
from calib.tables.condensed import condensed
from calib.tables.door import Checked


def in_memory(
    scores: Any,
    labels: Any,
    said: Mapping[str, Any],
    columns: Sequence[str | None] = (),
    groups: str | None = None,
    *,
    names: Sequence[str] = ("scores", "gold"),
) -> tuple[Any, bool]:
    """Scores that come in parts as the rows of labelled items and a few for all others; the rest as it is.

    And whether `groups` repeat, as far as that is to be known. `columns` are those that results are made by; `said` is
    what was said of files of one's own, which do not come in parts.
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
    return condensed(Partitions(scores), frame["item"], columns, groups)
