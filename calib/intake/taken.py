"""What files of one's own are taken for: the words in which a user may say it, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    import pandas as pd  # the shell reads its words here, and must not wait for tables

Role = Literal[
    "item", "system", "group", "criterion", "first", "second", "judge", "rater", "label", "annotator", "source",
    "output", "text", "weight", "other",
]  # fmt: skip
Stands = Literal["rater", "system", "criterion"]
# a table of calib's, or what is taken in: a path, a frame of pandas, polars, pyarrow, columns, rows; an `Intake`
Data: TypeAlias = Any


class Columns(TypedDict, total=False):
    """What a user may say of the columns of files of one's own; what is not said is recognised.

    The same words in Python and, as options, in the shell.
    """

    item: Annotated[str, "Column of ids."]
    label_item: Annotated[str, "Column of ids in the file of labels, if it has another name there."]
    judge: Annotated[str | Sequence[str], "Column or columns with a judge's scores."]
    label: Annotated[str | Sequence[str], "Column or columns with people's labels."]
    annotator: Annotated[str, "Column that says who labelled, in a long file."]
    rater: Annotated[str, "Column that says which judge scored, in a long file; or the judge's name."]
    system: Annotated[str, "Column of who wrote the output."]
    group: Annotated[str, "Column of what several outputs answer, such as the source document."]
    criterion: Annotated[str, "Column of what was rated; or the criterion that is meant."]
    scale: Annotated[str, "1|2|3|4|5, or lo..hi; words worst first, poor|fair|good; words=values, no=0|yes=1."]
    wide: Annotated[Stands, "What several columns of scores stand for: system, rater (judges) or criterion."]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file or frame as it was read.

    `line(row)` says where a row stands as its user would: "line 17" of a file, "row 15" of a frame.
    """

    frame: pd.DataFrame
    name: str  # "results.csv", "the frame", "the polars DataFrame"
    path: Path | None = None
    line: Callable[[int], str] = "row {}".format
    notes: tuple[str, ...] = ()  # how it was read, where that was a guess: separator, decimal comma, encoding, sheet


@dataclass(frozen=True, slots=True)
class Taken:
    """What one column of one source was taken for, and why."""

    source: str
    column: str
    role: Role
    why: str  # "its name", "unique in each row", "blank in 740 of 800 rows", "as was said"
    stands: str = ""  # the system, rater or criterion that a score column is of


@dataclass(frozen=True, slots=True, eq=False)
class Intake:
    """Files of one's own as tables.

    `scores` are the judges' (None where there are none), `people` the labels of each annotator, `gold` these pooled
    to one rater per criterion, `items` the texts, where there are any.
    """

    sources: tuple[Source, ...]
    columns: tuple[Taken, ...]
    shape: Literal["long", "wide"]
    scale: str
    guessed_scale: bool
    scores: pd.DataFrame | None
    people: pd.DataFrame | None
    gold: pd.DataFrame | None
    items: pd.DataFrame | None
    pairwise: bool  # preferences of one of two, as 1, 0.5 and 0 for the first
    words: tuple[str, ...]  # of the scale, in the order of its values, where labels were words
    notes: tuple[str, ...]  # what looks wrong or was forgiven, each a sentence; verbs say them as warnings
    said: Columns  # what the user said
    apart: tuple[str, ...] = ()  # notes on judges on a scale of their own, for verbs that need them on that of people
