"""The command line's draws."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, Out
from calib.console.show import paragraphs, show_results

_SAMPLED = "Ratings with several draws per item, or a file of your own: each row of an item is a draw."


@options_from("convergence", called={"file": "each file"})
def convergence(
    sampled: Annotated[Path, typer.Argument(help=_SAMPLED)],
    files: Files,
    exact: Annotated[Path | None, typer.Argument(help="Scores or ratings from token probabilities.")] = None,
    labels: Annotated[Path | None, typer.Option(help="People's labels of the same items.")] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """Means of N draws against the exact expectation, and against labels."""
    from calib.inputs.resolve import opened
    from calib.table.results import words

    items = None if files.items is None else calib.table.read(files.items, "items")
    results = calib.convergence(sampled, exact, labels=opened(labels), items=items, **options, **files.columns)
    show_results(results, out)
    paragraphs(*str(results).splitlines())
    for label, curve in zip(results.labels, results, strict=True):
        if isinstance(curve, calib.stats.Convergence) and math.isfinite(curve.r):
            enough = calib.stats.draws_needed(curve.r, 0.95)
            paragraphs(f"{words(label)}: {enough} draws keep 95 % of Pearson's correlation of endless draws.")
