"""The command line's means."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, Human, Out, Scores
from calib.console.show import show_results


@options_from("interval")
def interval(scores: Scores, gold: Human, files: Files, out: Out = None, **options: Any) -> None:
    """Mean human score of all items, from a few labels and the judge, with an interval."""
    show_results(calib.interval(*files.read([scores], gold), **options), out, conclude=True)


@options_from("difference", called={"a": "FIRST", "b": "SECOND"})
def difference(
    scores: Scores,
    gold: Human,
    first: Annotated[str, typer.Argument(help="A system.")],
    files: Files,
    second: Annotated[list[str] | None, typer.Argument(help="Other systems; without one all others.")] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """Mean human score of one system less that of others, paired by group; p-values by Holm where several."""
    judged, people = files.read([scores], gold)
    show_results(calib.difference(judged, people, first, second or None, **options), out, conclude=True)
