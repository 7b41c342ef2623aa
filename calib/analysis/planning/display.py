"""Plans, drawn: how the interval narrows with labels, and what narrows it most for the money."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.stats import BudgetPlan, LabelsNeeded
from calib.table import figure
from calib.table.results import Results
from calib.table.text import place_of, span_of, telling, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def labels_needed(results: Results[Any] | LabelsNeeded, *, ax: Axes | None = None) -> Axes:
    """Half-width of the interval against the number of labels, with the judge and without.

    Dots mark where the target is reached.

    Examples
    --------
    >>> from calib.stats import labels_needed as needed
    >>> ax = labels_needed(needed(rho=0.8, sd=1.1, n_items=2000, half_width=0.2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['with the judge: 48 labels', 'labels alone: 119']
    """
    results = figure.checked(LabelsNeeded, results)
    drawn, names = figure.axes_of(ax), telling(results.labels)
    for place, (label, result) in enumerate(zip(results.labels, results, strict=True)):
        of, colour = ", ".join(place_of(label, names)), figure.colour_and_marker(place)[0]
        n, judged, alone = (np.array(values) for values in zip(*result.curve, strict=True))
        drawn.axhline(result.half_width, color=colour, linewidth=0.8, linestyle=":")
        for width, line, who, reached in (
            (judged, "-", "with the judge", result.n_labels),
            (alone, "--", "labels alone", result.n_labels_alone),
        ):
            words = f"{of}: " * bool(of) + f"{who}: {reached}" + " labels" * (width is judged)
            drawn.plot(n, width, line, color=colour, linewidth=1.4, label=words)
            at = float(np.exp(np.interp(np.log(reached), np.log(n), np.log(width))))
            drawn.plot([reached], [at], "o", color=colour, markersize=6, zorder=3)
    drawn.set_xscale("log")
    drawn.set_ylim(bottom=0)
    drawn.set_xlabel("labels")
    drawn.set_ylabel(f"half-width of the {100 * results[0].confidence_level:g} % interval (score points)")
    drawn.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    drawn.xaxis.set_minor_formatter("")
    figure.plain_frame(drawn)
    drawn.grid(which="minor", color="#DDDDDD", linewidth=0.6)
    with_judge, without = (span_of([getattr(r, name) for r in results]) for name in ("n_labels", "n_labels_alone"))
    fact = f"with the judge {with_judge} labels do what {without} do alone"
    figure.legend_above(drawn, drawn.get_legend_handles_labels()[0], title_of(results.labels, names), fact, columns=2)
    return drawn


def plan(result: Results[Any] | BudgetPlan, *, ax: Axes | None = None) -> Axes:
    """What one unit of money narrows the interval by, spent on labels, items, prompts or draws.

    Examples
    --------
    >>> from calib.stats import budget_plan
    >>> pilot = dict(rho=0.5, sd=1.0, item=1.0, item_prompt=0.3, draw=0.5, n_labels=50, n_items=500, prompts=2, draws=2)
    >>> ax = plan(budget_plan(**pilot, prices={"label": 1.0, "judge": 0.001}, half_width=0.1))
    >>> sorted(text.get_text().split(",")[0] for text in ax.get_yticklabels())
    ['draws', 'items', 'labels', 'prompts']
    """
    label, bought = figure.single_pair(result, BudgetPlan)
    drawn, widths = figure.axes_of(ax), [100 * step.per_money for step in bought.steps]
    for place, (step, width) in enumerate(zip(bought.steps, widths, strict=True)):
        best = step.what == bought.next
        length = width if math.isfinite(width) else 0.0
        drawn.barh(place + 0.5, length, 0.7, color=figure.COLOURS[0] if best else "#C8C8C8", zorder=2)
        note = ", next" * best + ", not worth it" * step.waste
        words = f" {width:.2g} %{note}" if math.isfinite(width) else " not known"
        weight = "bold" if best else None
        drawn.text(max(length, 0.0), place + 0.5, words, va="center", fontsize="small", fontweight=weight)
    names = [f"{step.what}, {step.more} more for {step.cost:.3g}" for step in bought.steps]
    figure.plain_rows(drawn, [place + 0.5 for place in range(len(widths))], names, (len(widths) + 0.1, -0.1))
    drawn.margins(x=0.22)
    drawn.set_xlim(left=min(0.0, *(w for w in widths if math.isfinite(w)), 0.0))
    drawn.set_xlabel("narrowing of the interval by one unit of money (%)")
    figure.say_title(drawn, title_of([label], []), f"next: {bought.next}")
    return figure.finished(drawn, ax)


plan_pictures = figure.one_each(plan)
