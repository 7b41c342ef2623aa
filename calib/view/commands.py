"""A run as a page, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, to_write
from calib.console.show import wrote

_RUN = "A log of another tool, ratings, scores or items, your own file, or a store of replies."


@options_from("view", without=("labels", "against", "store", "items"), called={"run": "RUN", "path": "--out"})
def view(
    run: Annotated[Path, typer.Argument(help=_RUN)],
    files: Files,
    out: Annotated[Path, to_write(".html", help_text="Write the page there")],
    labels: Annotated[Path | None, typer.Option(help="People's labels, where RUN has none.")] = None,
    against: Annotated[Path | None, typer.Option(help="An earlier run on the same tasks.")] = None,
    store: Annotated[Path | None, typer.Option(help="The store of replies of the run: prompts, tokens, cost.")] = None,
    items: Annotated[Path | None, typer.Option(help="Texts and columns of the items, where RUN has none.")] = None,
    **options: Any,
) -> None:
    """A run in the browser: items, filters, readings beside labels, slices, what changed; one file, no network."""
    calib.view(run, out, labels=labels, against=against, items=items, store=store, **files.columns, **options)
    wrote(out)
