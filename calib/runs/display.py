"""Sentences, tables and the picture of runs compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special

from calib.core import check
from calib.core.result import Interval
from calib.runs.comparison import RunComparison
from calib.runs.ranks import RunRanks
from calib.table import figure
from calib.table.results import Results
from calib.table.text import Block, plain_text, title_of, told_apart, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 100  # tasks of a page that can be sent
_NAMES = ("the first run", "the second run")
_ENDS = ("", "_low", "_high")


def runs_of(label: Mapping[str, Any]) -> tuple[str, str]:
    """The names of the first and the second run."""
    second, minus, first = str(label.get("run", "")).partition(" - ")
    return (first, second) if minus else _NAMES


def verdict_on(result: RunComparison) -> str:
    """Whether the interval for tasks to come lies above 0 (higher), below (lower), or neither (undecided)."""
    return "higher" if result.conf_low > 0 else "lower" if result.conf_high < 0 else "undecided"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _ends(ends: Interval) -> str:
    return f"{_number(ends.low)} to {_number(ends.high)}"


def runs_fact(results: Results[RunComparison]) -> str:
    """The difference and its interval, or how many pairs differ."""
    if len(results) > 1:
        return f"{sum(verdict_on(one) != 'undecided' for one in results)} of {len(results)} differences exclude 0"
    one = results[0]
    return f"mean difference {_number(one.estimate)}, {_ends(one.interval)}"


def runs_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[RunComparison]) -> list[str]:
    """Which run is better, by whose scores, what that does not say, and what would decide."""
    return [" ".join(_sentences(label, one)) for label, one in zip(labels, results, strict=True)]


def _sentences(label: Mapping[str, Any], one: RunComparison) -> list[str]:
    a, b = runs_of(label)
    judge = label.get("rater") or "the judge"
    criterion = f" on {label['criterion']}" if label.get("criterion") else ""
    level = f"{100 * one.confidence_level:g} %"
    way = "higher" if one.estimate > 0 else "lower"
    gap = f"{_number(abs(one.estimate))} {way} than" if one.estimate else "the same as"
    verdict, p = verdict_on(one), label.get("p_adjusted")
    if math.isnan(one.conf_low):
        return [f"{b} scored {gap} {a}{criterion}, without an interval: all scores are the same."]
    turns = str(label.get("sessions", "")).partition(" ")[0]
    unit = "session" if turns else "task"
    made = f"sessions by their {turns} turn" if turns else "tasks"
    made += f" in {one.n_groups} groups" * (one.n_groups < one.n)
    sentences = [
        f"{b} scored {gap} {a}{criterion} ({_number(one.mean_a)} to {_number(one.mean_b)}, {one.n} {made}). "
        f"For {unit}s to come the difference is {_ends(one.interval)} ({level} interval)."
    ]
    if not math.isnan(one.these_interval.low):
        sentences.append(f"For exactly these {unit}s, tried again, it is {_ends(one.these_interval)}.")
    if verdict == "undecided":
        sentences.append(f"No winner: by the scores of {judge} either run may be the higher one.")
        few = any(text.startswith("few_differences") for text in one.warnings)  # their variance is no guide
        plan = None if few or one.estimate == 0 else one.needed(one.estimate)
        if plan is not None and len(plan.tasks):
            trials = f"{plan.trials[0]} trial{'s' * int(plan.trials[0] > 1)}"
            draws = f" and {plan.draws[0]} judge draws each" * int(plan.draws[0] > 1)
            design = f"About {plan.tasks[0]} {unit}s with {trials}{draws}"
            sentences.append(f"{design} would show a difference this large 4 times in 5.")
    elif p is not None and p > 1 - one.confidence_level:
        sentences.append(f"Among all pairs of runs that is no winner (p = {_number(p)} after Holm).")
    else:
        sentences.append(f"So {b} scores {verdict} than {a} by {judge}, beyond chance.")
    if not math.isnan(one.exact_p_value):
        sentences.append(f"McNemar's exact test gives p = {_number(one.exact_p_value)}.")
    if one.n_real:
        real = f"{one.n_real} {unit}{'s' * (one.n_real > 1)}"
        sentences.append(f"{real} changed beyond chance on {'their' if one.n_real > 1 else 'its'} own.")
    elif np.isfinite(one.changes.p_value).any():
        too_few = f"With so few trials no change of a single {unit} could be beyond chance."
        sentences.append(f"No single {unit} changed beyond chance." if _may_change(one) else too_few)
    need = one.labels_to_decide()
    about = f"This is about the scores of {judge}, not what people would say"
    if math.isfinite(need):
        every = "every trial of " * (one.n_trials_a > one.n or one.n_trials_b > one.n)
        about += f": labels of {every}both runs on about {need:g} {unit}s would decide whether people see"
        about += " the same difference"
    return [*sentences, f"{about}."]


def _may_change(one: RunComparison) -> bool:
    """Whether all failures against all passes would be beyond chance; of scores that may always be."""
    a, b = (trials[np.isfinite(one.changes.p_value)] for trials in (one.changes.trials_a, one.changes.trials_b))
    least = (1 + (a == b)) / special.comb(a + b, a)  # of Fisher's test, two-sided
    times = len(a) if one.changes.adjust == "holm" else 1
    return one.attempts is None or bool(times * least.min() <= 1 - one.confidence_level)


def runs_notes(results: Results[RunComparison]) -> list[str]:
    """What the interval is."""
    made = "The interval is Student's t over tasks, or over groups of tasks; where few tasks differ it is wider."
    return [made] * bool(len(results))


def runs_blocks(results: Results[RunComparison]) -> list[Block]:
    """Tasks that scored lower and higher, where the variance comes from, pass@k and pass^k."""
    blocks = []
    for name, label, one in zip(told_apart(results.labels), results.labels, results, strict=True):
        a, b = runs_of(label)
        about = f" ({visible(name)})" if name else ""
        heads = {"a": a, "b": b, "trials_a": f"trials, {a}", "trials_b": f"trials, {b}", "p_adjusted": "p, adjusted"}
        heads["is_real"] = "beyond chance"
        frame = one.changes.to_frame().drop(columns="p_value").assign(task=lambda f: f["task"].map(visible))
        for word, part in (("lower", frame[frame["change"] < 0]), ("higher", frame[frame["change"] > 0][::-1])):
            if len(part):
                more = [f"The first {_ROWS} of {len(part)}; `.changes` has all."] * (len(part) > _ROWS)
                title = f"Tasks that scored {word} in {b}{about}"
                blocks.append(Block(title, part.head(_ROWS).rename(columns=heads), more))
        parts = [part.to_frame().assign(run=run) for run, part in ((a, one.components_a), (b, one.components_b))]
        table = pd.concat(parts)[["run", "component", "estimate", "conf_low", "conf_high", "share"]]
        says = ["A component is missing where its level was measured once: its variance is in the level above."]
        blocks.append(Block(f"Where the variance of one score comes from{about}", table, says))
        if one.attempts is not None and one.attempts.k.max(initial=1) > 1:
            rates = f"{_number(one.flip_a)} of the pairs in {a}, {_number(one.flip_b)} in {b}"
            sides = [("a", a), ("b", b)]
            columns = {f"{name}{end}": f"{run}{end.replace('_', ', ')}" for name, run in sides for end in _ENDS}
            columns |= {"difference": f"{b} less {a}", "n_tasks": "tasks"}
            frame = one.attempts.to_frame().rename(columns=columns)
            blocks.append(Block(f"pass@k and pass^k{about}", frame, [f"Two trials of a task disagree in {rates}."]))
    return blocks


def ranks_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[RunRanks]) -> list[str]:
    """The run that is best, or those that may be."""
    sentences = []
    for label, one in zip(labels, results, strict=True):
        best = [str(name) for name, low in zip(one.run, one.low, strict=True) if low == 1]
        on = f" on {label['criterion']}" if label.get("criterion") else ""
        if len(best) == 1:
            sentences.append(f"{best[0]} ranks first{on}, at {100 * one.confidence_level:g} % for all ranks at once.")
        else:
            sentences.append(f"First{on} may be any of {', '.join(best)} ({one.n} tasks, all ranks at once).")
    return sentences


def task_changes(results: Results[Any] | RunComparison, *, most: int = 2_000, ax: Axes | None = None) -> Axes:
    """The difference of each task, sorted, with the interval of the mean.

    Parameters
    ----------
    results : Results or RunComparison
        One comparison.
    most : int, default 2000
        Tasks that are drawn, evenly chosen along the order.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import compare_runs
    >>> scores = np.random.default_rng(0).integers(1, 6, (30, 4))
    >>> task_changes(compare_runs(scores, np.minimum(scores + 1, 5))).get_ylabel()
    'difference of a task'
    """
    label, one = figure.single_pair(results, RunComparison)
    a, b = runs_of(label or {})
    change = one.changes.change
    n_drawn = min(len(change), check.whole(most, "most", least=2))
    places = np.unique(np.linspace(0, len(change) - 1, n_drawn).round()).astype(int)
    drawn = figure.axes_of(ax)
    shades = (figure.GREY, figure.COLOURS[0], figure.COLOURS[1])  # by the sign: 0, 1, -1
    colours = [shades[int(np.sign(value))] for value in change[places]]
    width = max(0.6, min(3.0, 240 / n_drawn))
    drawn.vlines(places + 1, 0, change[places], colors=colours, linewidth=width, zorder=2)
    real = places[one.changes.is_real[places]]
    drawn.plot(real + 1, change[real], "o", color="black", markersize=4, zorder=4)
    drawn.axhline(0, color=figure.GREY, linewidth=0.8, zorder=1)
    drawn.axhspan(*one.interval, color=figure.COLOURS[2], alpha=0.3, linewidth=0, zorder=1)
    drawn.axhline(one.estimate, color=figure.COLOURS[2], linewidth=1.6, zorder=3)
    handles = [
        figure.handle(f"mean and {100 * one.confidence_level:g} % interval", color=figure.COLOURS[2], linewidth=4),
        figure.handle(f"task higher in {plain_text(b)}", color=figure.COLOURS[0], linewidth=2),
        figure.handle("lower", color=figure.COLOURS[1], linewidth=2),
        *([figure.handle("beyond chance", color="black", marker="o", linestyle="", markersize=4)] if len(real) else []),
    ]
    figure.plain_frame(drawn, "y")
    drawn.set_xlabel(f"tasks, sorted   ({one.n} tasks, {plain_text(b)} less {plain_text(a)})")
    drawn.set_ylabel("difference of a task")
    title = title_of([label], []) if label else ""
    figure.legend_above(drawn, handles, title, runs_fact(Results.of([(label or {}, one)])), columns=2)
    return figure.finished(drawn, ax)


run_pictures = figure.one_each(task_changes)
