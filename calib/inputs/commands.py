"""The command line's look at files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

import calib
from calib.console.files import Files, Human, Scores

if TYPE_CHECKING:
    from calib.inputs.look import Look


def look(file: Scores, files: Files, labels: Human = None) -> None:
    """What files of your own are taken for, what can be computed from them and what not, and what to type."""
    typer.echo(looked_at(file, labels, files))


def looked_at(file: Path, labels: Path | None, files: Files) -> Look:
    """The files, with groups and systems of the items where these are given."""
    from calib.inputs.look import look_of
    from calib.inputs.names import Intake

    if files.items is None:
        return calib.look(file, labels, **files.said)
    taken, other = files.taken(file, labels)
    return look_of(taken) if isinstance(taken, Intake) else calib.look(taken, other)
