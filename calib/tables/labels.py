"""What `calib.read_labels` returns: the labels of people, and how the labelling went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from calib.tables.results import Results


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Labels:
    """Labels of people as they came back, which every verb takes for people's labels.

    Attributes
    ----------
    ratings : DataFrame
        One row per answer: a table of ratings with seconds, time, comment and position. "Cannot say" is a row without a
        score whose status is "cannot_say".
    gold : DataFrame
        The scores, pooled to one rater for each criterion: the mean of those who labelled an item.
    page : str
        What the files are known by.
    annotators : DataFrame
        One row per annotator and criterion: how many labels, how fast, and whether they drift or run in a line.
    disagreements : DataFrame
        Items that annotators see differently, the farthest apart first.
    reliability : Results or None
        How far annotators agree, where they have items in common.
    notes : tuple of str
        What looks wrong, each a sentence.
    """

    ratings: pd.DataFrame
    gold: pd.DataFrame
    page: str
    annotators: pd.DataFrame
    disagreements: pd.DataFrame
    reliability: Results[Any] | None
    notes: tuple[str, ...] = ()
