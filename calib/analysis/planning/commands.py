"""The command line's plans: which items to label, what to buy next."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, LabelsFile, Scores, TableFile
from calib.console.show import paragraphs, show_lines, show_rows, write
from calib.inputs.names import Columns


@options_from("choose")
def choose(
    file: Scores,
    n: Annotated[int, typer.Argument(help="Labels to buy; with --by for each of its values.")],
    files: Files,
    out: Annotated[Path, TableFile],
    rng: Annotated[int | None, typer.Option(help="Seed of the drawing.")] = 1,
    **options: Any,
) -> None:
    """Which items people shall label, with a known probability each; `calib interval` reads how they were drawn."""
    from calib.inputs.resolve import is_table_file

    # in a table of calib's the criterion is one of several that are there
    is_own = not is_table_file(file)
    chosen = None if is_own else files.columns.get("criterion")
    columns = {name: value for name, value in files.columns.items() if name != "criterion" or chosen is None}
    judged, _ = replace(files, columns=cast(Columns, columns)).resolved(file)
    if chosen is not None:
        there = sorted(set(judged["criterion"].astype(str)))
        if chosen not in there:
            raise typer.BadParameter(f"--criterion must be one of {', '.join(map(repr, there))}, but got {chosen!r}.")
        judged = judged[judged["criterion"].astype(str) == chosen]
    drawn = calib.choose(judged, n, rng=rng, **options)
    rows = drawn[drawn["chosen"]]
    typer.echo(f"{len(rows)} of {len(drawn)} items to label ({drawn['design'].iloc[0]})")
    show_rows(rows[[name for name in ("item", "group", "system", "score", "inclusion", "stratum") if name in rows]])
    write(drawn, out)
    texts = shlex.quote(str(file)) if is_own else "ITEMS.csv"
    paragraphs(f"To label them: calib label {shlex.quote(str(out))} {texts} --out label.html")


@options_from("plan", called={"scores": "FILE", "prices": "the prices (--price-label, --price-judge, ...)"})
def plan(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    price_label: Annotated[float | None, typer.Option(help="Price of a label.")] = None,
    price_judge: Annotated[float | None, typer.Option(help="Price of a judge's reply.")] = None,
    price_item: Annotated[float | None, typer.Option(help="Price of an item itself.")] = None,
    price_prompt: Annotated[float | None, typer.Option(help="Ratings only: price of writing a prompt.")] = None,
    **options: Any,
) -> None:
    """From a pilot: whether the judge helps, how many labels a target needs, and what is cheapest at given prices."""
    import pandas as pd

    judged, people = files.resolved(file, labels)
    named = {"label": price_label, "judge": price_judge, "item": price_item, "prompt": price_prompt}
    prices = {name: price for name, price in named.items() if price is not None}
    pilot = replace(files, items=None).resolved(file, labels)[0] if prices and options["by"] is None else None
    # ratings under several prompts or draws, or of token probabilities, say what more of these would do
    if isinstance(pilot, pd.DataFrame) and calib.table.has_replies(pilot):
        ratings = calib.table.check_ratings(pilot)
        ratings = ratings[ratings["method"] != "human"]
        numbers = ratings.groupby(["criterion", "rater"], observed=True)[["prompt", "draw"]].nunique()
        if (numbers > 1).any(axis=None) or (ratings["method"] == "logprob").any():
            show_lines(calib.plan(pilot, people, prices=prices, **options))
            return
    if options["max_items"] is not None and not prices:
        raise typer.BadParameter("--max-items needs prices.")
    shared = {name: options[name] for name in ("by", "confidence_level")}
    answers: list[calib.Results[Any]] = []  # all of it before the first line is printed
    width = options["half_width"]
    if prices or options["budget"] is not None:
        answers.append(calib.plan(judged, people, prices=prices, **options))
    if width is not None:
        try:
            answers.append(calib.labels_needed(judged, people, half_width=width, **shared))
        except calib.ArgumentError:  # with prices the plan says what the items that there are can reach
            if not answers:
                raise
    for answer in (calib.will_it_help(judged, people, **shared), *answers):
        show_lines(answer)
