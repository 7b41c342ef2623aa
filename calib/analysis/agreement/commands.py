"""The command line's agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, Human, Out, Scores
from calib.console.show import show_results, shown_text, write

_JUDGES = (
    "Two judges' scores or ratings and people's; or one file of several judges, to rank them, and people's, where it "
    "does not hold these, too."
)


@options_from("agreement")
def agree(
    file: Scores,
    files: Files,
    labels: Human = None,
    table: Annotated[bool, typer.Option("--table", help="Print the table of a paper: raters by criteria.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="The same as LaTeX.")] = False,
    out: Out = None,
    **options: Any,
) -> None:
    """Agreement of a judge with people, per criterion, and what may be concluded from it."""
    results = calib.agreement(*files.taken(file, labels), **options)
    if not (table or latex):
        show_results(results, out, conclude=True)
        return
    frame = results.table()
    typer.echo(shown_text(frame.to_latex() if latex else frame))
    write(results.to_frame(), out)


@options_from(
    "compare", called=dict.fromkeys(("scores", "scores_a", "scores_b", "judges"), "FILE") | {"human": "LABELS"}
)
def compare(
    scores: Annotated[list[Path], typer.Argument(metavar="FILE", help=_JUDGES)],
    files: Files,
    correction: Annotated[str | None, typer.Option(help="Of a ranking, whose pairs are many tests.")] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """Which of two judges agrees more with people; or all judges of one file in order."""
    if len(scores) > 3:
        one = "for a ranking put all judges into one"
        raise typer.BadParameter(f"FILE must be three at most, the last people's, but got {len(scores)}: {one}.")
    if len(scores) == 3 and correction is not None:
        raise typer.BadParameter("--correction is for the ranking of one file of several judges, but there are two.")
    if correction is not None:
        options["correction"] = correction
    results: calib.Results[Any]
    if len(scores) == 3:
        judged = [files.taken(path, scores[2], names=("scores_a", "human")) for path in scores[:2]]
        people = next((table for _, table in judged if table is not None), None)
        results = calib.compare(judged[0][0], judged[1][0], people, **options)
    else:
        results = calib.rank_judges(*files.taken(*scores, names=("scores", "human")), **options)
    show_results(results, out, conclude=True)


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
    people, judged = files.taken(file, judges)
    if annotator_test and judged is None and getattr(people, "scores", None) is None:
        raise typer.BadParameter("--annotator-test needs JUDGES, the scores of a judge.")
    if epsilon is not None and not annotator_test:
        raise typer.BadParameter("--epsilon is for --annotator-test, which was not asked for.")
    results = calib.reliability(people, judged, **options)
    show_results(results)
    if annotator_test:
        handicap: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
        both = (people, None) if judged is None else (judged, people)
        tests = calib.alternative_annotator_test(*both, **handicap)
        typer.echo()
        show_results(tests, conclude=True)
        results += tests
    write(results.to_frame(), out)
