"""Commands that belong to no topic: a demonstration, scores of ratings, a look at files, a report, the data sets."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, By, Files, Items, LabelsFile, Out, Scores
from calib.console.show import (
    add_table,
    echo,
    paragraphs,
    print_table,
    processes,
    say_next,
    show_results,
    show_rows,
    write_table,
    wrote,
)

if TYPE_CHECKING:
    import pandas as pd

    from calib.inputs.look import Look

_SEED = 1
_SYSTEMS = ("clean", "coherence-1", "coherence-2", "coherence-3")
# in a page, in one of a former version, in Markdown
_MADE = re.compile(rb'<meta name="generator" content="calib |<footer>Made with calib |`[^`]*\|v:\d')
_DEMO = (
    "The people here are SIMULATED and the judge is the one embedded in calib: "
    "the numbers show what calib does and say nothing about any model."
)
_HEADS = (
    "Agreement with the simulated people within source texts",
    "Distance (RMSE) of the mean of N draws from the exact expectation",
    "Mean score from the labels of 100 of the 312 outputs",
    "For comparison: the labels of all outputs",
    "The judge's own page: its scores, how sure it is, the outputs that deserve a look",
)


def demo(out: Annotated[Path, typer.Option(help="Folder for what it makes.")] = Path("calib-demo")) -> None:
    """Go through everything once, offline: simulated people, the embedded judge."""
    import numpy as np

    from calib.report.sections import together

    items, people = calib.load_planted()
    prompts = [calib.geval_prompt(name) for name in ("coherence", "consistency", "fluency", "relevance")]
    judges = [calib.Judge("offline", method=method) for method in ("logprob", "sample")]
    exact, sampled = (calib.rate(items, prompts, judge, store=out / "replies.sqlite") for judge in judges)
    scores, human = calib.summarize(exact, items), calib.summarize(people, items, pool="rater")
    chosen = np.random.default_rng(_SEED).choice(human["item"].unique(), 100, replace=False)
    labels = human[human["item"].isin(chosen)]
    tables = {"items": items, "ratings": exact, "sampled": sampled, "scores": scores, "all_labels": human}
    tables |= {"labels": labels, "results": side_by_side(scores, people)}
    for name, frame in tables.items():
        calib.table.write(frame, out / f"{name}.csv", for_spreadsheets=True)
    agreement = calib.agreement(scores, human, level="group")
    convergence = calib.convergence(sampled, scores, labels=human, rng=_SEED)
    first, *more = (calib.interval(scores, labels, estimator=name) for name in ("labels", "judge_only", "auto"))
    intervals, everything = sum(more, first), calib.interval(scores, human, estimator="labels")
    paragraphs(_DEMO)
    echo(f"\n{_HEADS[0]}\n")
    show_results(agreement)
    echo(f"\n{_HEADS[1]}\n")
    print_table(convergence.to_frame().pivot_table(index="draws", columns="criterion", values="rmse").reset_index())
    echo(f"\n{_HEADS[2]}\n")
    show_results(together(intervals))
    own = calib.profile(exact, people, items=items, top=5)
    parts = [_DEMO, *zip(_HEADS, (agreement, convergence, intervals, everything, own), strict=True)]
    for ending in ("md", "html"):
        calib.report(parts, out / f"report.{ending}", title="calib demo: simulated people, embedded judge")
    echo(f"\nReport: {out / 'report.html'} (and report.md); tables: the csv files beside it.")


def side_by_side(scores: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """A file as people have one: the judge beside a person, who labelled 15 of the 24 outputs of each model."""
    keys = ["item", "criterion"]
    person = people[people["rater"] == "simulated-2"].set_index(keys)["score"].astype("Int64").rename("human")
    four = scores[(scores["criterion"] == "coherence") & scores["system"].isin(_SYSTEMS)]
    drawn = calib.choose(four, 15, by="system", rng=_SEED).join(person, on=keys)
    drawn = drawn.assign(judge=drawn["score"].round(2), human=drawn["human"].where(drawn["chosen"]))
    names = {"item": "id", "group": "document", "system": "model"}
    return drawn.rename(columns=names)[["id", "document", "model", "judge", "human"]]


def data(
    name: Annotated[str | None, typer.Argument(help="A set; without one they are listed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for items.csv and ratings.csv.")] = None,
) -> None:
    """List the public data sets, or write one of them as tables."""
    about = {row.loader.removeprefix("load_"): row for row in calib.datasets.available().itertuples()}
    if name is None:
        for short, row in about.items():
            paragraphs(f"{short}: {row.title} (licence: {row.licence}; where: {row.where})")
        add_table("datasets", calib.datasets.available())
        say_next("calib data NAME --out FOLDER")
    elif name not in about:
        raise typer.BadParameter(f"NAME must be one of {', '.join(sorted(about))}, but got {name!r}.")
    elif out is None:
        raise typer.BadParameter("--out must name a folder for the tables.")
    else:
        row = about[name]
        for kind, frame in zip(("items", "ratings"), getattr(calib.datasets, row.loader)(), strict=True):
            write_table(frame, out / f"{kind}.csv")
        paragraphs(f"{row.title}. Licence: {row.licence}. {row.citation}")


def pair_items(
    items: Annotated[Path, typer.Argument(help="Table of items: item, system, output, and source or group.")],
    baseline: Annotated[
        str | None, typer.Option(help="The system to compare each other one with. Default: each with each.")
    ] = None,
    out: Out = None,
) -> None:
    """Pairs of systems' outputs on the same source: items for 'calib rate --pairwise'."""
    pairs = calib.pair_items(items, baseline)
    show_rows(pairs[["item", "group", "system_a", "system_b"]])
    write_table(pairs, out)


@options_from("summarize", without=("executor",))
def summarize(
    ratings: Annotated[Path, typer.Argument(help="Table of ratings, or a folder of its parts (.parquet).")],
    items: Items = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Write the table there ({', '.join(TABLES)}); of a folder, a folder.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that work on the parts of a folder.")] = 1,
    **options: Any,
) -> None:
    """One score per item, criterion and rater: the expectation of its score distribution."""
    if ratings.is_dir():
        if out is None:
            raise typer.BadParameter("--out must name a folder for the scores.")
        with processes(workers) as executor:
            echo(repr(calib.summarize(ratings, items, out=out, executor=executor, **options)))
        return
    if out is not None and out.suffix not in TABLES:
        raise typer.BadParameter(f"--out must end in {', '.join(TABLES)}, but got {str(out)!r}.")
    scores = calib.summarize(ratings, items, **options)
    show_rows(scores)
    write_table(scores, out)


def look(file: Scores, files: Files, labels: LabelsFile = None) -> None:
    """How your own files are read, or another tool's log; what can be computed and what not, and what to type."""
    from calib.adapters.log_look import look_at_log

    own = labels is not None or files.items is not None or files.columns  # which a log has not
    looked = (None if own else look_at_log(file)) or _looked_at(file, labels, files)
    if isinstance(looked, str):
        echo(looked)
    else:
        echo(replace(looked, lines=() if looked.commands else looked.lines))
        add_table("columns", looked.to_frame())
        intervals = [line for line in looked.commands if line.startswith("calib interval ")]
        for line in [*intervals, *looked.commands][:1]:
            say_next(line)


def _looked_at(file: Path, labels: Path | None, files: Files) -> Look:
    """A look at the files, with groups and systems from a table of items."""
    from calib.inputs.look import look_at
    from calib.inputs.names import InferredTables

    if files.items is None:
        return calib.look(file, labels, **files.columns)
    first, second = files.resolved(file, labels, names=("scores", "labels"))
    return look_at(first) if isinstance(first, InferredTables) else calib.look(first, second)


@options_from("report", called={"path": "--out", "results": "FILE"})
def report(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    out: Annotated[Path | None, typer.Option(help="A file that ends in .html or .md; here, if none is named.")] = None,
    title: Annotated[str | None, typer.Option(help="Its heading.")] = None,
    notes: Annotated[str, typer.Option(help="A text under the heading; empty lines part paragraphs.")] = "",
    by: By = None,
    **options: Any,
) -> None:
    """All that can be computed from your own files, as one page; it shows how each column was read."""
    from calib.core.check import ArgumentError
    from calib.inputs.look import columns_text, report_path

    looked = _looked_at(file, labels, files)
    path = report_path(looked.intake) if out is None else out
    # an earlier page of calib's may be replaced, another file may not
    if path.is_file() and not _MADE.search(path.read_bytes()):
        raise ArgumentError("path", "must be a new file or a report of calib's", f"{str(path)!r} is neither")
    calib.report(looked, path, title=title or f"calib report: {file.name}", notes=notes, by=by, **options)
    echo(columns_text(looked))
    wrote(path)
