"""The command line's report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import By, Files, Human, Scores
from calib.console.show import shown_text

if TYPE_CHECKING:
    import pandas as pd


@options_from("agreement", only=("coefficient", "method", "confidence_level"), called={"path": "--out"})
def report(
    scores: Scores,
    human: Human,
    files: Files,
    out: Annotated[Path, typer.Option(help="A file that ends in .html or .md.")],
    title: Annotated[str, typer.Option(help="Its heading.")] = "calib report",
    by: By = None,
    **options: Any,
) -> None:
    """Agreement at every level that the columns allow, and intervals by criterion, in one file."""
    judged, people = files.read([scores], human)
    parts: list[Any] = [
        (
            f"Agreement, level {level}",
            calib.agreement(judged, people, level=level, **options),
        )
        for level in ("item", *_columns(judged, people))
    ]
    parts += _intervals(judged, people, options["confidence_level"])
    if by is not None:
        parts += _intervals(judged, people, options["confidence_level"], by)
    calib.report(parts, out, title=title)
    typer.echo(f"wrote {shown_text(out)}")


def _columns(scores: pd.DataFrame, human: pd.DataFrame) -> list[str]:
    """The levels beyond items that either table has whole columns for."""
    return [
        name
        for name in ("group", "system")
        if any(name in frame and frame[name].notna().all() for frame in (scores, human))
    ]


def _intervals(scores: pd.DataFrame, gold: pd.DataFrame, confidence_level: float, by: str | None = None) -> list[Any]:
    """Gold only, judge only and both, or why there is none."""
    import calib

    found, trouble = [], {}
    for method in ("classical", "judge_only", "auto"):
        try:
            found.append(calib.interval(scores, gold, by=by, method=method, confidence_level=confidence_level))
        except ValueError as error:
            trouble[str(error)] = method
    heading = "Mean score, by criterion" if by is None else f"Mean score, by criterion and {by}"
    parts: list[Any] = [(heading, sum(found[1:], found[0]))] if found else []
    return parts + [f"No interval ({method}): {words}" for words, method in trouble.items()]
