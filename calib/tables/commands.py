"""The command line's tables: summarize."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Items, Out
from calib.console.show import show_rows, write


@options_from("summarize")
def summarize(
    ratings: Annotated[Path, typer.Argument(help="Table of ratings.")],
    items: Items = None,
    out: Out = None,
    **options: Any,
) -> None:
    """One score per item, criterion and rater: the expectation of its score distribution."""
    texts = None if items is None else calib.table.read(items, "items")
    scores = calib.summarize(calib.table.read(ratings, "ratings"), texts, **options)
    show_rows(scores)
    write(scores, out)
