"""The command line's bias."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, LabelsFile, Out, Scores
from calib.console.show import show_results

_FEATURES = typer.Option(
    help="What may move the judge (repeatable): length, lists, headings, code, hedges, family, or a column such as "
    "system. Default: length, system and family, as far as they are known."
)
_FAMILY = typer.Option(help="NAME=FAMILY of a system or a judge (repeatable), for the feature family.")


@options_from("bias", without=("items", "family"))
def bias(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    features: Annotated[list[str] | None, _FEATURES] = None,
    family: Annotated[list[str] | None, _FAMILY] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """What moves the judge beyond what people see: length, who wrote it, its own family, layout, any column."""
    families = {}
    for text in family or ():
        name, _, of = text.rpartition("=")
        if not name or not of:
            raise typer.BadParameter(f"--family must be NAME=FAMILY, but got {text!r}.")
        families[name] = of
    scores, people = files.resolved(file, labels)
    if features:
        options["features"] = features
    results = calib.bias(scores, people, items=files.items, family=families or None, **options)
    show_results(results, out, conclude=True)
