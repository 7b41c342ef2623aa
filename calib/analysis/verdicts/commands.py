"""The command line's verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, LabelsFile, Out, Scores
from calib.console.show import show_results

_PRODUCTION = typer.Option(help="The same judge's scores of the items whose pass rate is asked, if FILE is a test set.")


@options_from("pass_fail", without=("production",))
def pass_fail(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    production: Annotated[Path | None, _PRODUCTION] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """A judge that says pass or fail (or passes a threshold): its errors, kappa, AC1, and the pass rate to report."""
    sides = files.resolved(file, labels)
    elsewhere = None if production is None else files.resolved(production)[0]
    show_results(calib.pass_fail(*sides, production=elsewhere, **options), out, conclude=True)
