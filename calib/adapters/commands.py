"""The command line's door for other tools' logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, to_write
from calib.console.show import echo, show_rows, write_table

_LOGS = typer.Argument(help="A log, several of one tool, or a folder of them.")
_SCALE = typer.Option(help="The judge's scale, 1|2|3|4|5 or 0..1, or CRITERION=SCALE; repeatable.")


@options_from("read_log", without=("scale",), called={"path": "LOG"})
def read_log(
    logs: Annotated[list[Path], _LOGS],
    out: Annotated[Path | None, to_write(*TABLES, help_text="Write the ratings (or scores) there")] = None,
    items: Annotated[Path | None, to_write(*TABLES, help_text="Write the items there")] = None,
    labels: Annotated[Path | None, to_write(*TABLES, help_text="Write people's labels there, and not to --out")] = None,
    scale: Annotated[list[str] | None, _SCALE] = None,
    **options: Any,
) -> None:
    """Ratings and items from the log of another tool: DeepEval, Inspect AI, promptfoo, lm-eval, Ragas, MLflow, ..."""
    scales: Any = None
    if scale and len(scale) == 1 and ("=" not in scale[0] or "|" in scale[0].partition("=")[0]):
        scales = scale[0]  # of every criterion; it may hold the sign itself: no=0|yes=1
    elif scale:
        scales = dict(text.partition("=")[::2] for text in scale)
    table, ratings = calib.read_log(logs, scale=scales, **options)
    unseen = ("prompt", "run", "weight", "low", "high", "temperature")
    show_rows(ratings[[name for name in ratings if name not in unseen]])
    counts = ratings["status"].astype(str).value_counts()
    echo(", ".join(f"{n} {status}" for status, n in counts.items()))
    if labels is not None:
        human = ratings["method"] == "human"
        if not human.any():
            rule = "must be left out where people labelled nothing"
            raise calib.ArgumentError("labels", rule, "the log has no labels")
        write_table(ratings[human], labels)
        ratings = ratings[~human]
    write_table(ratings, out)
    write_table(table, items)
