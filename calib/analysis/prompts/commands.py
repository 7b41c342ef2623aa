"""The command `calib sensitivity`: how far the wording of a prompt moves the scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import calib
from calib.console.command import options_from
from calib.console.files import By, Files, Out
from calib.console.show import paragraphs, show_lines, show_results

_RATINGS = "Ratings of the same items under several prompts, or a file of your own: each row of an item is a draw."


@options_from("sensitivity")
def sensitivity(
    ratings: Annotated[Path, typer.Argument(help=_RATINGS)],
    files: Files,
    by: By = None,
    calls: Annotated[int, typer.Option(help="Replies per item, to be spent on prompts or on draws.")] = 8,
    target: Annotated[float | None, typer.Option(help="Wanted Phi: the cheapest prompts and draws.")] = None,
    price_prompt: Annotated[float, typer.Option(help="With --target: of one more prompt, in replies.")] = 0.0,
    out: Out = None,
    **options: Any,
) -> None:
    """How far the prompt moves scores: variance components, other designs, means with the prompt inside."""
    from calib.inputs.readings import resolve_readings
    from calib.inputs.resolve import opened
    from calib.table.results import words

    judges, groups, prompt = (options.pop(name) for name in ("judges", "groups", "prompt"))
    readings = resolve_readings(opened(ratings), "ratings", files.columns, prompt=prompt, columns_are="prompts")
    table, texts = readings.ratings.frame, readings.items
    texts = texts if files.items is None else calib.table.read(files.items, "items")
    by, groups = readings.named(by), readings.named(groups)
    shared = {"groups": groups, "confidence_level": options["confidence_level"]}
    of_items = groups if texts is not None or groups != "group" else None
    studies = calib.sensitivity(table, texts, judges=judges, groups=of_items, **options)
    designs = []  # what as many replies, spent otherwise, would give
    for label, study in zip(studies.labels, cast("Sequence[calib.stats.GStudy]", studies), strict=True):
        confounded = any(part.name == "residual" for part in study.components)
        designs.append(f"{words(label)}: {study.d_study([1, calls], 1) if confounded else study.equal_calls(calls)}")
        if target is not None:
            best = study.cheapest(target, price_prompt=price_prompt, n_items=study.n_items)
            designs.append(f"{words(label)}: cheapest for Phi {target:g}: {best}")
    # all of it before the first line is printed
    means = None if judges else calib.prompt_mean(calib.summarize(table, texts), by=by, **shared)
    show_results(studies, out)
    paragraphs(*designs)
    if means is not None:
        show_lines(means)
