"""Commands of verbs on what a judge replied, where the shell knows more than the verb."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, By, Files, LabelsFile, Out, to_write
from calib.console.show import paragraphs, print_table, show_lines, show_results, write_table, wrote

_PAGES = (".html", ".md")
_FIRST = 5  # items printed for each reason
_OUT = to_write(*_PAGES, *TABLES, help_text="A page, or the items to look at as a table")


@options_from("profile")
def profile(
    file: Annotated[Path, typer.Argument(help="A judge's ratings or scores, or your own file.")],
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
    items = files.texts
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
        wrote(out)
        return
    # all items to look at, each with whose score it is about
    frames = [result.items.assign(**label) for label, result in zip(results.labels, results, strict=True)]
    frame = pd.concat(frames, ignore_index=True).drop(columns="n_unmatched")
    first = [name for name in ("criterion", "rater", "prompt", "method", "temperature") if name in frame]
    write_table(frame[[*first, *(name for name in frame if name not in first)]], out)


_SAMPLED = "Ratings with several draws per item, or your own file: each row of an item is a draw."


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

    items = files.texts
    tables = (opened(path) for path in (sampled, exact))
    results = calib.convergence(*tables, labels=opened(labels), items=items, **options, **files.columns)
    files.say_readings(sampled=sampled, beside={"exact": exact, "labels": labels})
    show_results(results, out)
    paragraphs(*str(results).splitlines())
    for label, curve in zip(results.labels, results, strict=True):
        if isinstance(curve, calib.stats.Convergence) and math.isfinite(curve.r):
            enough = calib.stats.draws_needed(curve.r, 0.95)
            paragraphs(f"{words(label)}: {enough} draws keep 95 % of Pearson's correlation of endless draws.")


_RATINGS = "Ratings of the same items under several prompts, or your own file: each row of an item is a draw."


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
    if readings.inputs is not None and readings.inputs.inferred is not None:
        files.say_columns(readings.inputs.inferred)
    table, texts = readings.ratings.frame, readings.items
    texts = texts if files.items is None else files.texts
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


_THEN = typer.Argument(help="Ratings with several readings of each item, or your own file: each row a reading.")
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

    items = files.texts
    results = calib.drift(opened(then), opened(now), items=items, **options, **files.columns)
    files.say_readings(then=then, now=now)
    show_results(results, conclude=True)
    if out is not None:
        import pandas as pd

        names = ("criterion", "rater", "prompt")
        pairs = zip(results.labels, results, strict=True)
        frames = [change.changes.assign(**{name: label[name] for name in names}) for label, change in pairs]
        write_table(pd.concat(frames, ignore_index=True), out)
