"""The command `calib profile`: the page of a judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, Files, LabelsFile, to_write
from calib.console.show import paragraphs, print_table, show_lines, shown_text, write

_PAGES = (".html", ".md")
_FIRST = 5  # items printed for each reason
_OUT = to_write(*_PAGES, *TABLES, help_text="A page, or the items to look at as a table")


@options_from("profile")
def profile(
    file: Annotated[Path, typer.Argument(help="A judge's ratings or scores, or a file of your own.")],
    files: Files,
    labels: LabelsFile = None,
    out: Annotated[Path | None, _OUT] = None,
    **options: Any,
) -> None:
    """What a judge does with its scale, how sure it is, and the items that deserve a look."""
    import pandas as pd

    from calib.analysis.distributions.display import came_back, look_lines
    from calib.report.columns import informative
    from calib.table.results import words

    # ratings as they are: of scores nobody knows how the replies are distributed
    judged, people = replace(files, items=None).resolved(file, labels)
    items = None if files.items is None else calib.table.read(files.items, "items")
    results = calib.profile(judged, people, items=items, **options)
    show_lines(results)
    paragraphs("", *calib.conclusions(results), "")
    kept, rest = informative(came_back(results))
    if len(kept.columns):
        print_table(kept)
    same = {name: f"{value:.4g}" if isinstance(value, float) else f"{value}" for name, value in rest.items()}
    paragraphs(", ".join(f"{name} {value}" for name, value in same.items()))
    for label, result in zip(results.labels, results, strict=True):
        paragraphs("", f"To look at, {words(label)}:", *look_lines(result, _FIRST))
    if out is not None and out.suffix in _PAGES:
        calib.report([results], out, title=f"The judge's own page: {file.name}")
        typer.echo(f"wrote {shown_text(out)}")
        return
    # all items to look at, each with whose score it is about
    frames = [result.items.assign(**label) for label, result in zip(results.labels, results, strict=True)]
    frame = pd.concat(frames, ignore_index=True).drop(columns="n_unmatched")
    first = [name for name in ("criterion", "rater", "prompt", "method", "temperature") if name in frame]
    write(frame[[*first, *(name for name in frame if name not in first)]], out)
