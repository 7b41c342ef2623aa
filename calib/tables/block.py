"""A part of a report that a topic makes of its own: beside the table that each result has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Block(NamedTuple):
    """What the function that `Shown.blocks` names gives for results: a heading, what it says, a frame.

    Its columns are called as a reader should see them. A reader may sort it by each column and
    search it; a text longer than a line or two is folded.
    """

    heading: str
    frame: pd.DataFrame
    says: Sequence[str] = ()
