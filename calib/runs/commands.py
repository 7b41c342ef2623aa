"""Runs compared on the command line."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, Files, to_write
from calib.console.show import say, show_results, write_table, wrote

_HEAD = 1_000  # rows by which columns are recognised
_MOST_ABSENT = 0.05  # as the gate has it
_RUNS = "Two runs or more: logs of other tools, scores, or your own files; or one file with a column of runs."
_LABELS = typer.Option(help="People's labels of some outputs: adds the difference that people would see.")
_AT_LEAST = typer.Option(
    help="Leave with 0 where the whole interval of the second run less the first is here or above, with 1 where it is "
    "below, else with 3, also where over 5 % of a run has no score or the runs look like two scales; with 2 where "
    "nothing was compared."
)
_TASKS = to_write(*TABLES, help_text="Write the change of each task there")
_PAGE = to_write(".html", ".md", help_text="Write a page there")


@options_from("compare_runs", without=("labels", "items"), called={"a": "RUNS", "b": "RUNS"})
def compare_runs(
    runs: Annotated[list[Path], typer.Argument(help=_RUNS)],
    files: Files,
    labels: Annotated[Path | None, _LABELS] = None,
    at_least: Annotated[float | None, _AT_LEAST] = None,
    tasks: Annotated[Path | None, _TASKS] = None,
    out: Annotated[Path | None, _PAGE] = None,
    **options: Any,
) -> None:
    """Whether one run scored higher than another on the same tasks, with trials and judge draws apart."""
    import pandas as pd

    from calib.adapters.read_log import tool_of
    from calib.inputs.resolve import opened

    if at_least is not None and not math.isfinite(at_least):
        raise typer.BadParameter(f"--at-least must be a number, but got {at_least}.")
    opened_runs = [path if tool_of(path) is not None else opened(path, "runs") for path in runs]
    _say_columns(files, opened_runs, options.get("run"), options.get("trial"))
    if len(runs) > 2:
        names = [path.stem for path in runs]
        if again := {name for name in names if names.count(name) > 1}:
            raise typer.BadParameter(f"RUNS must have names that differ, but {min(again)!r} is there twice.")
        first: Any = dict(zip(names, opened_runs, strict=True))
    else:
        first = opened_runs[0]
    second = opened_runs[1] if len(runs) == 2 else None
    results = calib.compare_runs(first, second, labels=opened(labels), **files.columns, **options)
    show_results(results, conclude=True)
    comparisons = [(label, one) for label, one in zip(results.labels, results, strict=True) if hasattr(one, "changes")]
    if tasks is not None:
        keys = ("criterion", "rater", "run")
        frames = [one.changes.to_frame().assign(**{name: label[name] for name in keys}) for label, one in comparisons]
        write_table(pd.concat(frames, ignore_index=True), tasks)
    if out is not None:
        calib.report([results], out, title="Runs compared")
        wrote(out)
    if at_least is not None:
        raise typer.Exit(_code(comparisons, results, at_least))


def _say_columns(files: Files, runs: list[Any], run: str | None, trial: str | None) -> None:
    """The roles of the columns of each of one's own files, by its first rows."""
    from calib.inputs.names import Source
    from calib.inputs.resolve import is_calibs
    from calib.runs.compare import OF_LABELS
    from calib.runs.trials import columns_of_runs

    words: Any = {name: word for name, word in files.columns.items() if name not in OF_LABELS}
    for at, one in enumerate(runs):
        if isinstance(one, Source) and not is_calibs(one):
            of_runs = set(columns_of_runs(one, run, trial, words)) - {None}
            head = replace(one, frame=one.frame.drop(columns=list(of_runs)).head(_HEAD))
            named: Any = {f"run {at + 1}": head}
            kept: Any = {word: one for word, one in words.items() if word != "system" or one not in of_runs}
            replace(files, columns=kept).say_readings(**named)


def _absent(label: dict[str, Any], one: Any) -> float:
    """The largest share of a run that has no score: trials that were not read, tasks that the other run has."""
    shares = []
    for side, other, part in (("a", "b", one.components_a), ("b", "a", one.components_b)):
        for absent, there in ((label[f"n_unread_{side}"], part.n_scores), (label[f"n_only_{other}"], one.n)):
            shares.append(absent / (absent + there))
    return float(max(shares))


def _code(comparisons: list[Any], results: Any, at_least: float) -> int:
    """0 where every difference passes, 1 where one fails, else 3; of people's difference where there are labels."""
    if any("p_adjusted" in label for label, _ in comparisons):
        raise typer.BadParameter("--at-least needs two runs, but there are more.")
    people = [(label, one) for label, one in zip(results.labels, results, strict=True) if hasattr(one, "n_paired")]
    labelled = {label["criterion"] for label, _ in people}
    outcomes = []
    for label, one in people + [pair for pair in comparisons if pair[0]["criterion"] not in labelled]:
        low, high = one.interval
        outcome = "pass" if low >= at_least else "fail" if high < at_least else "inconclusive"
        of_people = hasattr(one, "n_paired")
        absent = 0.0 if of_people else _absent(label, one)
        if outcome == "pass" and absent > _MOST_ABSENT:
            outcome = "inconclusive"
            say(f"up to {100 * absent:.2g} % of the trials or tasks of a run have no score, which may hide failures.")
        if outcome != "inconclusive" and any(text.startswith("other_range") for text in one.warnings):
            outcome = "inconclusive"
            say("the scores of the runs look like two scales: give the one that both are on (--scale).")
        whose = "people's scores" if of_people else f"the scores of {label['rater']}"
        name = label.get("run", label.get("system"))
        say(f"{outcome}: {label['criterion']}, {name}, by {whose}: {low:.3g} to {high:.3g}, at least {at_least:g}.")
        outcomes.append(outcome)
    return 1 if "fail" in outcomes else 3 if "inconclusive" in outcomes else 0
