"""Files in: tables of calib's, or files of one's own with options that say how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calib

if TYPE_CHECKING:
    import pandas as pd


def _table_file(path: Path | None) -> Path | None:
    # before any work: a run should not fail at its last line
    if path is not None and path.suffix not in (".csv", ".jsonl", ".parquet"):
        raise typer.BadParameter(f"must end in .csv, .jsonl or .parquet, but got {str(path)!r}.")
    return path


TableFile = typer.Option(callback=_table_file, help="Write the table there (.csv, .jsonl, .parquet).")
Out = Annotated[Path | None, TableFile]
Items = Annotated[Path | None, typer.Option(help="Table of items: adds group and system to the scores.")]
Scores = Annotated[Path, typer.Argument(help="A judge's scores or ratings, or a file of your own.")]
Human = Annotated[Path, typer.Argument(help="People's scores or ratings, or a file of your own.")]
By = Annotated[str | None, typer.Option(help="A column of the scores, such as system.")]


@dataclass(frozen=True)
class Files:
    """How files are read: the items that give groups and systems, and what was said of files of one's own."""

    items: Path | None
    own: Mapping[str, str]

    def read(self, judges: Sequence[Path | None], human: Path | None = None) -> list[Any]:
        """The scores in the files of judges and people, each of scores, of ratings, or of one's own."""
        texts = None if self.items is None else calib.table.read(self.items, "items")
        paths = [*judges, human]
        frames = [None if path is None else calib.table.read_frame(path) for path in paths]
        if self.own and all(frame is None or is_table(frame) for frame in frames):
            option = next(iter(self.own)).replace("_", "-")
            raise typer.BadParameter(f"--{option} describes a file of your own, but the files are tables of calib's.")
        return [
            None if frame is None else _scored(path, frame, _own_of(self.own, paths, frames, place), texts)
            for place, (path, frame) in enumerate(zip(paths, frames, strict=True))
        ]


def is_table(frame: pd.DataFrame) -> bool:
    return {"item", "criterion", "rater", "score"} <= set(frame.columns)


def _own_of(own: Mapping[str, str], paths: list[Path | None], frames: list[Any], place: int) -> dict[str, str]:
    """The options as they go for one file; the last is people's."""
    path, mine = paths[place], frames[place]
    human = {option: column for option, column in own.items() if option[:6] == "human_"}
    named = {option: column for option, column in own.items() if option not in human}
    if place == len(paths) - 1:
        named = {option: column for option, column in named.items() if f"human_{option}" not in human} | human
    elif path is not None and own.get("rater") not in (mine if mine is not None else ()):
        # in two files of one's own the raters must differ: the judge is called as its file is
        named["rater"] = path.stem
    others = {name for i, frame in enumerate(frames) if i != place and frame is not None for name in frame}
    # columns of the design that only another file has
    elsewhere = [name for name in ("group", "system") if mine is not None and named.get(name, "") in others - set(mine)]
    return {name: column for name, column in named.items() if name not in elsewhere}


def _scored(path: Path | None, frame: pd.DataFrame, own: dict[str, str], items: pd.DataFrame | None) -> pd.DataFrame:
    """The scores in a frame, with the groups and systems of the items, if these are given."""
    from calib.table import TableArgumentError, TableError

    names = {name.removeprefix("human_"): name for name in own}
    try:
        if is_table(frame) and {"weight", "draw", "status"} & set(frame.columns):
            return calib.summarize(frame, items)
        columns = {argument: own[name] for argument, name in names.items()}
        scores = calib.table.check_scores(frame) if is_table(frame) else calib.scores_from(frame, **columns)
    except TableArgumentError as error:
        raise error.renamed(names, about=str(path)) from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    if items is None:
        return scores
    design = [name for name in ("group", "system") if name in items]
    known = scores.astype({"item": object}).drop(columns=design, errors="ignore")
    return known.merge(items[["item", *design]], on="item", how="left")
