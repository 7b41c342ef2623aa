"""The command line's look at files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import calib
from calib.console.files import Files

if TYPE_CHECKING:
    from calib.intake.look import Look

First = Annotated[Path, typer.Argument(help="A file of your own: judge, people or both side by side.")]
Second = Annotated[Path | None, typer.Argument(help="People's labels, where they are in another file.")]


def look(first: First, files: Files, second: Second = None) -> None:
    """What files of your own are taken for, what can be computed from them and what not, and what to type."""
    typer.echo(looked_at(first, second, files))


def looked_at(first: Path, second: Path | None, files: Files) -> Look:
    """The files, with groups and systems of the items where these are given."""
    from calib.intake.look import look_of
    from calib.intake.taken import Intake

    if files.items is None:
        return calib.look(first, second, **files.said)
    taken, other = files.taken(first, second, quiet=True)
    return look_of(taken) if isinstance(taken, Intake) else calib.look(taken, other)
