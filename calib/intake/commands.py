"""The command line's look at files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import calib
from calib.console.files import Files

First = Annotated[Path, typer.Argument(help="A file of your own: judge, people or both side by side.")]
Second = Annotated[Path | None, typer.Argument(help="People's labels, where they are in another file.")]


def look(first: First, files: Files, second: Second = None) -> None:
    """What files of your own are taken for, what can be computed from them and what not, and what to type."""
    typer.echo(calib.look(first, second, **files.said))
