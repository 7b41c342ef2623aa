"""The command line's pairs: position-bias, pairwise-agreement, length-controlled, leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, Out, Scores
from calib.console.show import show_results

_SECOND = typer.Argument(help="The other order, where it has a file of its own; FILE then is that with A shown first.")
_ITEMS = typer.Argument(help="A table of items with output_a and output_b, or length_a and length_b, if FILE has none.")


@options_from("position_bias")
def position_bias(
    file: Scores, files: Files, second: Annotated[Path | None, _SECOND] = None, out: Out = None, **options: Any
) -> None:
    """Whether a judge of pairs favours what is shown first or second, from pairs judged in both orders."""
    first, other = (None if path is None else files.resolved(path)[0] for path in (file, second))
    show_results(calib.position_bias(first, other, **options), out, conclude=True)


@options_from("length_controlled", called={"items": "TEXTS"})
def length_controlled(
    file: Scores, files: Files, texts: Annotated[Path | None, _ITEMS] = None, out: Out = None, **options: Any
) -> None:
    """Win rate at equal length, and how preferences go with length: an association, no bias without people."""
    show_results(calib.length_controlled(files.resolved(file)[0], texts, **options), out, conclude=True)
