"""Means on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, Out
from calib.console.show import show_results

_FILES = (
    "One file or two, then a system, then others to hold it against (without them all others). A file is what is there "
    "or ends in .csv, .xlsx, .parquet and the like."
)


@options_from("difference", called={"scores": "FILE", "labels": "LABELS", "a": "SYSTEM", "b": "SYSTEM"})
def difference(
    arguments: Annotated[list[str], typer.Argument(metavar="FILE [LABELS] SYSTEM", help=_FILES)],
    files: Files,
    out: Out = None,
    **options: Any,
) -> None:
    """Mean human score of one system less that of others, paired by group; p-values by Holm where several."""
    from calib.inputs.resolve import is_file

    n = 1 + (len(arguments) > 1 and is_file(arguments[1]))
    judged = files.resolved(*map(Path, arguments[:n]))
    first, others = next(iter(arguments[n:]), None), arguments[n + 1 :]
    show_results(calib.difference(*judged, first, others or None, **options), out, conclude=True)
