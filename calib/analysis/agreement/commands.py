"""The command line's agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, LabelsFile, Out, Scores
from calib.console.show import show_results, shown_text, write


@options_from("agreement")
def agreement(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    table: Annotated[bool, typer.Option("--table", help="Print the table of a paper: raters by criteria.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="The same as LaTeX.")] = False,
    out: Out = None,
    **options: Any,
) -> None:
    """Agreement of a judge with people, per criterion, and what may be concluded from it."""
    results = calib.agreement(*files.resolved(file, labels), **options)
    if not (table or latex):
        show_results(results, out, conclude=True)
        return
    frame = results.table()
    typer.echo(shown_text(frame.to_latex() if latex else frame))
    write(results.to_frame(), out)


@options_from("compare")
def compare(
    first: Annotated[Path, typer.Argument(help="A judge's scores or ratings; or a file that holds two judges.")],
    files: Files,
    second: Annotated[Path | None, typer.Argument(help="Another judge's scores or ratings of the same items.")] = None,
    labels: LabelsFile = None,
    out: Out = None,
    **options: Any,
) -> None:
    """Which of two judges agrees more with people."""
    if labels is None:  # one file of two judges, with people's labels or beside them
        judged = (*files.resolved(first, second, names=("scores_a", "labels")), None)
    else:
        sides = [files.resolved(path, labels, names=("scores_a", "labels")) for path in (first, second)]
        judged = (sides[0][0], sides[1][0], next((table for _, table in sides if table is not None), None))
    show_results(calib.compare(*judged, **options), out, conclude=True)


@options_from("reliability")
def reliability(
    file: Annotated[Path, typer.Argument(help="People's scores or ratings one by one, or a file of your own.")],
    files: Files,
    judges: Annotated[Path | None, typer.Argument(help="Judges' scores or ratings, set beside the people.")] = None,
    annotator_test: Annotated[
        bool, typer.Option("--annotator-test", help="Test whether a judge may stand in for one of the people.")
    ] = False,
    epsilon: Annotated[float | None, typer.Option(help="Of --annotator-test: the handicap of people.")] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """How far people agree among themselves, and what ceiling that sets a judge."""
    labels, judged = files.resolved(file, judges)
    if annotator_test and judged is None and getattr(labels, "scores", None) is None:
        raise typer.BadParameter("--annotator-test needs JUDGES, the scores of a judge.")
    if epsilon is not None and not annotator_test:
        raise typer.BadParameter("--epsilon is an option of --annotator-test alone.")
    results = calib.reliability(labels, judged, **options)
    show_results(results)
    if annotator_test:
        handicap: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
        both = (labels, None) if judged is None else (judged, labels)
        tests = calib.alternative_annotator_test(*both, **handicap)
        typer.echo()
        show_results(tests, conclude=True)
        results += tests
    write(results.to_frame(), out)
