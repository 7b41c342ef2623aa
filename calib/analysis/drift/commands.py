"""The command `calib drift`: the readings of a judge then against those of now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, Files, to_write
from calib.console.show import show_results, write

_THEN = typer.Argument(help="Ratings with several readings of each item, or a file of your own: each row a reading.")
_NOW = typer.Argument(help="The same items read again, once or more.")
_ITEMS = to_write(*TABLES, help_text="Write how far each item moved there")


@options_from("drift", without=("items",))
def drift(
    then: Annotated[Path, _THEN],
    now: Annotated[Path, _NOW],
    files: Files,
    out: Annotated[Path | None, _ITEMS] = None,
    **options: Any,
) -> None:
    """Whether a judge still reads the same items as it did, beyond its own noise; no labels are needed."""
    from calib.inputs.resolve import opened

    items = None if files.items is None else calib.table.read(files.items, "items")
    results = calib.drift(opened(then), opened(now), items=items, **options, **files.columns)
    show_results(results, conclude=True)
    if out is not None:
        import pandas as pd

        names = ("criterion", "rater", "prompt")
        pairs = zip(results.labels, results, strict=True)
        frames = [change.changes.assign(**{name: label[name] for name in names}) for label, change in pairs]
        write(pd.concat(frames, ignore_index=True), out)
