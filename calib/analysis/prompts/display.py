"""Sentences and pictures of prompts: shares of variance, worth of designs, means under each prompt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.prompts.g_study import GStudy, number_of
from calib.analysis.prompts.prompt_mean import PromptMean
from calib.core.check import ArgumentError
from calib.table import figure
from calib.table.results import Results
from calib.table.text import level_words, number_span, plain_text, span_of, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def variance_fact(results: Results[GStudy]) -> str:
    """What share of the variance the item and the prompt make."""
    every = [part for result in results for part in result.components]
    shares = {name: [100 * part.share for part in every if part.name == name] for name in ("item", "prompt")}
    parts = [f"the {name} makes {number_span(values)} %" for name, values in shares.items() if values]
    return f"{', '.join(parts)} of the variance" if parts else ""


def prompts_fact(results: Results[PromptMean]) -> str:
    """How far apart the prompts put the mean."""
    return f"the means under the prompts span {number_span([result.range for result in results])} points"


_PARTS = {  # dark and light in turn, so that neighbours differ in print as well
    "item": "#0072B2", "judge": "#4D4D4D", "prompt": "#E69F00", "item_judge": "#56B4E9", "item_prompt": "#009E73",
    "item_prompt_judge": "#8C6BB1", "prompt_judge": "#F0E442", "residual": "#CC79A7", "draw": "#BBBBBB",
}  # fmt: skip


def components(results: Results[Any] | GStudy, *, ax: Axes | None = None) -> Axes:
    """Where the variance of a single score comes from: one bar per result of `calib.sensitivity`, stacked.

    Examples
    --------
    >>> from calib.stats import g_study
    >>> ax = components(g_study([[[1, 2], [2, 2]], [[3, 4], [5, 4]], [[4, 4], [5, 5]]]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['item', 'prompt', 'item x prompt', 'draw']
    """
    results = figure.checked(GStudy, results)
    rows = figure.rows_of(ax, results.labels, results, pitch=1.2)
    for mark in rows.marks:
        pieces = []
        for part in mark.result.components:
            share = part.share if math.isfinite(part.share) else 0.0
            colour = _PARTS.get(part.name, "#888888")
            ink = figure.ON_DARK if colour in ("#0072B2", "#4D4D4D", "#009E73") else figure.ON_LIGHT
            words = f"{100 * share:.0f}" if share >= 0.045 else ""  # a narrower piece has no room for its number
            pieces.append(figure.Piece(share, colour, words, ink))
        figure.draw_pieces(rows.ax, rows.heights[mark.place], pieces, 0.85, edgecolor="white", linewidth=0.8)
    figure.per_cent(rows.ax.xaxis)
    items, prompts = (span_of([getattr(r, name) for r in results]) for name in ("n_items", "n_prompts"))
    rows.ax.set_xlabel(f"share of the variance of a single score\nn = {items} items under {prompts} prompts")
    parts = list(dict.fromkeys(part.name for r in results for part in r.components))
    colours = [_PARTS.get(part, "#888888") for part in parts]
    handles = figure.patches([part.replace("_", " x ") for part in parts], colours)
    return rows.finished(variance_fact(results), handles, columns=min(len(handles), 5))


_WORTH = {"phi": "Phi (dependability of the value)", "e_rho2": "E rho² (reliability of the order)"}


def d_study(
    result: Results[Any] | GStudy,
    *,
    coefficient: str = "phi",
    most_prompts: int = 8,
    most_draws: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """What a score averaged over prompts and draws is worth; dashed lines join designs of equal cost.

    The design that was measured is marked where it lies on the map.

    Parameters
    ----------
    coefficient : {"phi", "e_rho2"}, default "phi"
    most_prompts, most_draws : int, default 8
        Ends of the axes.

    Examples
    --------
    >>> from calib.stats import g_study
    >>> ax = d_study(g_study([[[1, 2], [2, 2]], [[3, 4], [5, 4]], [[4, 4], [5, 5]]]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('prompts', 'draws under each prompt')
    """
    if coefficient not in _WORTH:
        raise ArgumentError("coefficient", "must be 'phi' or 'e_rho2'", f"got {coefficient!r}")
    for name, most in {"most_prompts": most_prompts, "most_draws": most_draws}.items():
        if not (isinstance(most, int) and most >= 2):
            raise ArgumentError(name, "must be a whole number, 2 or more", f"got {most!r}")
    label, study = figure.single_pair(result, GStudy)
    prompts, draws = range(1, most_prompts + 1), range(1, most_draws + 1)
    worth = np.reshape(getattr(study.d_study(prompts, draws), coefficient), (most_prompts, most_draws)).T
    drawn = figure.axes_of(ax)
    drawn.set_xscale("log", base=2)
    drawn.set_yscale("log", base=2)
    for axis, numbers in ((drawn.xaxis, prompts), (drawn.yaxis, draws)):
        ticks = [n for n in numbers if n <= 6 or (n % 2 == 0 and n <= 16) or n == numbers[-1]]
        axis.set_ticks(ticks, labels=[str(n) for n in ticks])
        axis.set_ticks([], minor=True)
    if np.ptp(worth) > 0:  # no lines of equal worth where all designs are alike, or nothing is known
        drawn.contourf(prompts, draws, worth, levels=7, cmap="Blues", alpha=0.75)
        lines = drawn.contour(prompts, draws, worth, levels=7, colors="#08306B", linewidths=0.9)
        for text in drawn.clabel(lines, fontsize="small", fmt="%.3g"):
            x, y = drawn.transAxes.inverted().transform(drawn.transData.transform(text.get_position()))
            if not (0.05 < x < 0.95 and 0.05 < y < 0.95):  # the edge would cut it
                text.set_visible(False)
    for calls in (2**power for power in range(1, 20) if 2**power < most_prompts * most_draws):
        ends = np.array([max(1.0, calls / most_draws), min(float(most_prompts), calls)])
        drawn.plot(ends, calls / ends, color=figure.GREY, linewidth=0.8, linestyle="--")
    handles = [
        figure.handle("equal cost (2, 4, 8, ... replies)", color=figure.GREY, linewidth=0.8, linestyle="--"),
        figure.handle("measured", color=figure.COLOURS[1], marker="o", linestyle="", mec="white", markersize=8),
    ]
    below: dict[str, Any] = {"bbox_to_anchor": (0, -0.13), "frameon": False, "fontsize": "small"}
    drawn.legend(handles=handles, loc="upper left", ncols=2, **below)
    if study.n_prompts <= most_prompts and study.n_draws <= most_draws:
        look: dict[str, Any] = {"color": figure.COLOURS[1], "mec": "white", "markersize": 9, "clip_on": False}
        drawn.plot([study.n_prompts], [study.n_draws], "o", **look)
    drawn.set_xlabel("prompts")
    drawn.set_ylabel("draws under each prompt")
    # where draws are missing, with their number rounded
    read = study.n_draws if math.isinf(study.n_draws) else max(round(study.n_draws), 1)
    value = getattr(study.d_study([study.n_prompts], [read]), coefficient)[0]
    each = "exact probabilities" if math.isinf(read) else number_of(int(read), "draw")
    fact = f"{_WORTH[coefficient]} is {value:.2f} with {number_of(study.n_prompts, 'prompt')} x {each}"
    figure.say_title(drawn, title_of([label], []), fact)
    return drawn


def prompt_means(results: Results[Any] | PromptMean, *, ax: Axes | None = None) -> Axes:
    """The mean under each prompt with the interval it would claim alone, and the one with the prompt inside.

    Small and light: each prompt alone. Bold: all prompts, with the choice of the prompt in the
    interval; hollow where there is a single prompt and nothing is known about others.

    Examples
    --------
    >>> from calib.stats import prompt_mean
    >>> scores = [[1, 2, 2], [3, 4, 5], [2, 2, 4], [5, 4, 5]]
    >>> ax = prompt_means(prompt_mean(scores))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one prompt alone', 'with the prompt inside']
    """
    means = figure.checked(PromptMean, results)
    most = max(r.n_prompts for r in means)
    rows = figure.rows_of(ax, means.labels, means, pitch=1.0 + 0.3 * most)
    for mark in rows.marks:
        one: PromptMean = mark.result
        top = rows.heights[mark.place] - 0.15 * most
        for place, (mean, ends, name) in enumerate(zip(one.prompt_means, one.prompt_intervals, one.names, strict=True)):
            height = top + 0.3 * place
            if len(means) == 1:
                beside: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
                rows.ax.annotate(plain_text(name), (ends.high, height), fontsize="small", color=figure.GREY, **beside)
            rows.ax.hlines(height, *ends, colors=figure.COLOURS[5], linewidth=1, zorder=2)
            rows.ax.plot([mean], [height], "o", color=figure.COLOURS[5], markersize=3, zorder=3)
        height = top + 0.3 * one.n_prompts + 0.1
        rows.ax.hlines(height, *one.interval, colors=figure.COLOURS[0], linewidth=3, zorder=2)
        look: dict[str, Any] = {"color": figure.COLOURS[0], "markersize": 6, "zorder": 3}
        rows.ax.plot([one.estimate], [height], "D", mfc="white" if one.conditional else figure.COLOURS[0], **look)
    if len(means) == 1:  # beside the last of the intervals there is room for a name, too
        low, high = rows.ax.get_xlim()
        rows.ax.set_xlim(low, high + (high - low) * 0.013 * max(map(len, means[0].names), default=0))
    rows.ax.set_xlabel(f"{means[0].estimand}{level_words(means)}")
    whole = "over items, of this prompt alone" if all(r.conditional for r in means) else "with the prompt inside"
    handles = [
        figure.handle("one prompt alone", color=figure.COLOURS[5], linewidth=1, marker="o", markersize=3),
        figure.handle(whole, color=figure.COLOURS[0], linewidth=3, marker="D", markersize=6),
    ]
    return rows.finished(prompts_fact(means), handles, columns=2)
