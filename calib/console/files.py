"""Input files of commands: tables of calib's, or a user's own with options that name the roles of their columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calib
from calib.console.show import say

if TYPE_CHECKING:
    import pandas as pd

    from calib.inputs.names import Columns, InferredTables


def to_write(*endings: str, help_text: str) -> Any:
    """An option for a file that a command writes; its ending is checked before any work."""

    def with_ending(path: Path | None) -> Path | None:
        if path is not None and path.suffix not in endings and str(path) not in endings:
            allowed = " or ".join(filter(None, [", ".join(endings[:-1]), endings[-1]]))
            raise typer.BadParameter(f"must end in {allowed}, but got {str(path)!r}.")
        return path

    return typer.Option(callback=with_ending, help=f"{help_text} ({', '.join(endings)}).")


TABLES = (".csv", ".jsonl", ".parquet")
TableFile = to_write(*TABLES, help_text="Write the table there")
Out = Annotated[Path | None, TableFile]
_ITEMS = "Table of items: adds group, system and columns for --by to the scores."
Items = Annotated[Path | None, typer.Option(help=_ITEMS, rich_help_panel="Your columns")]
Scores = Annotated[
    Path, typer.Argument(help="A judge's scores or ratings, or your own file, which may hold the labels, too.")
]
LabelsFile = Annotated[
    Path | None, typer.Argument(help="People's scores or ratings, or your own file, where FILE has none.")
]
By = Annotated[str | None, typer.Option(help="A column of the scores or of --items, such as system.")]


@dataclass(frozen=True)
class Files:
    """How files are read: the table of items (for groups and systems), and the roles of a user's columns."""

    items: Path | None
    columns: Columns
    names: Sequence[str] = ()  # what the verb calls its first arguments
    printed: set[str] = field(default_factory=set)  # lines that stand beside the output already

    @property
    def texts(self) -> pd.DataFrame | None:
        """The table of items, from one of calib's or a user's own file."""
        from calib.inputs.resolve import items_in

        return None if self.items is None else items_in(self.items)

    def resolved(
        self, first: Path | None, second: Path | None = None, *, names: Sequence[str] = (), own_systems: bool = False
    ) -> tuple[Any, Any]:
        """The first two arguments of a verb: tables of calib's, or a user's own files with the roles of their columns.

        Of a user's file the roles are printed beside the output, a line for each file. With `own_systems` labels are
        of the systems that they say themselves.
        """
        from calib.adapters.log_look import log_beside
        from calib.inputs.resolve import opened, resolve_tables
        from calib.scale.partitions import is_partitioned

        if is_partitioned(first) and self.items is None:
            return first, opened(second)
        log = None if first is None or second is None else log_beside(first, second)
        table = opened(first) if log is None else log
        intake, texts = resolve_tables(table, opened(second), self.columns, names=names or self.names[:2]), self.texts
        unnamed = texts.drop(columns="system", errors="ignore") if own_systems and texts is not None else texts
        if isinstance(intake, tuple):
            return _with_items(intake[0], texts), _with_items(intake[1], unnamed)
        self.say_columns(intake)
        annotations, labels = (_with_items(frame, unnamed) for frame in (intake.annotations, intake.labels))
        return replace(intake, scores=_with_items(intake.scores, texts), annotations=annotations, labels=labels), None

    def say_readings(self, *, beside: Mapping[str, Path | None] | None = None, **readings: Any) -> None:
        """Print the roles of columns in files of readings, and in those of scores or labels beside them."""
        from calib.core.check import CalibWarning
        from calib.inputs.readings import opened_sources, resolve_readings
        from calib.inputs.resolve import is_calibs
        from calib.inputs.tables import infer_tables

        others = {name: path for name, path in (beside or {}).items() if path is not None}
        for name, (source, words) in opened_sources(self.columns, **readings, **others).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CalibWarning)  # which the verb gives
                if is_calibs(source):
                    continue
                if name in others:
                    self.say_columns(infer_tables(source, names=(name,), **words))
                elif (inputs := resolve_readings(source, name, words).inputs) and inputs.inferred:
                    self.say_columns(inputs.inferred)

    def say_columns(self, tables: InferredTables) -> None:
        """Print the roles of the columns, a line for each file, each line once."""
        from calib.inputs.resolve import in_words

        for line in in_words(tables):
            if line not in self.printed:
                say(line)
            self.printed.add(line)


def _with_items(frame: pd.DataFrame | None, items: pd.DataFrame | None) -> pd.DataFrame | None:
    if items is None or frame is None:
        return frame
    if "system" in frame:  # whose output it is, a table says of itself
        items = items.drop(columns="system", errors="ignore")
    schemas = calib.table.SCHEMAS
    # the columns for --by
    more = [name for name in items if name not in {*frame, *schemas["items"], *schemas["scores"]}]
    if calib.table.has_replies(frame):
        # a table with columns for --by alone need not hold every item
        described = items if {"group", "system", "system_a", "system_b"} & set(items) else None
        summarized = calib.summarize(calib.table.check_ratings(frame), described)
        scores, design = calib.table.scores.with_own_systems(summarized, frame, "file"), more
    else:
        design = [name for name in ("group", "system", *more) if name in items]
        scores = calib.table.check_scores(frame).drop(columns=design, errors="ignore")
    return scores.astype({"item": object}).merge(items[["item", *design]], on="item", how="left") if design else scores
