"""Draws and prompts -> matplotlib Axes: curves, gain, components, designs, means over prompts, what to buy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calib._figure import (
    COLOURS,
    Mark,
    Style,
    axes_of,
    checked_pairs,
    draw_interval,
    fit,
    joined_words,
    labelled_pairs,
    lay_rows,
    level_words,
    look_of,
    place_of,
    plain_frame,
    single_pair,
    span_of,
    telling,
    title_of,
)
from calib._results import Results
from calib.stats import BudgetPlan, Convergence, GStudy, PromptMean, VarianceComponents, precision_gain
from calib.stats._agreement import METHODS
from calib.stats._estimate import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REFERENCES = {"exact": "the exact expectation", "all draws": "the mean of all draws"}
_GREY = "#6E6E6E"
_ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "frameon": False, "fontsize": "small",
}  # fmt: skip
_KNOWN_R = (0.04, 0.5, 1.5, 5.7, 20.0)
_PARTS = {
    "item": ("item", "#0072B2"), "prompt": ("prompt", "#D55E00"), "judge": ("judge", "#E69F00"),
    "item_prompt": ("item x prompt", "#CC79A7"), "item_judge": ("item x judge", "#EBC4D9"),
    "prompt_judge": ("prompt x judge", "#F3D49B"), "item_prompt_judge": ("item x prompt x judge", "#A98BB8"),
    "draw": ("draw", "#BDBDBD"), "residual": ("item x prompt and draw", "#BDBDBD"),
}  # fmt: skip


# --- draws ------------------------------------------------------------------------------------------------------


def convergence(
    results: Results | Convergence, *, show: str = "error", cost: float | None = None, ax: Axes | None = None
) -> Axes:
    """What N draws give, N on a log axis.

    Parameters
    ----------
    results : Results of `calib.convergence`, or Convergence
    show : {"error", "human"}, default "error"
        "error": measured distance (RMSE) of N-draw means from the reference as points with their
        intervals over items, and the predicted one as a line. "human": their correlation with
        people, the reference's own as a dashed line, and for Pearson's the law as a line.
    cost : float, optional
        Price of one draw, or its tokens: a second axis then shows the cost per item.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result, `show` is another word, `cost` is not above 0, or there are no human
        scores to show.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import convergence as converge
    >>> draws = np.random.default_rng(1).integers(1, 6, size=(50, 10))
    >>> convergence(converge(draws, rng=1)).get_ylabel()
    'RMSE from the mean of all draws (score points)'
    """
    if show not in ("error", "human"):
        raise ValueError(f"`show` must be 'error' or 'human', but got {show!r}.")
    if cost is not None and not 0 < cost < math.inf:
        raise ValueError(f"`cost` must be above 0, but got {cost!r}.")
    pairs = checked_pairs([results], Convergence)
    if show == "human" and not any(r.human_reference == r.human_reference for _, r in pairs):
        raise ValueError("`show` 'human' needs results that were computed with `human`, but these were not.")
    drawn = axes_of(ax)
    facts = [label for label, _ in pairs]
    names = telling(facts)
    for place, (label, result) in enumerate(pairs):
        curve = _error_curve if show == "error" else _human_curve
        # side by side on the log axis, or the intervals of several hide each other
        shift = 1 + 0.05 * (place - (len(pairs) - 1) / 2)
        curve(drawn, result, Style(joined_words(place_of(label, names), names), *look_of(place)), shift)
    _draws_axis(drawn, [r for _, r in pairs], show)
    if cost is not None:
        _cost_axis(drawn, cost)
    drawn.set_title(title_of(facts, names), loc="left", fontsize="medium")
    return drawn


def _error_curve(ax: Axes, result: Convergence, style: Style, shift: float) -> None:
    spared = 1 / result.n_draws if result.reference == "all draws" else 0.0
    n = np.geomspace(min(result.sizes), max(result.sizes), 200)
    ax.plot(n, np.sqrt(result.within * np.maximum(1 / n - spared, 0)), color=style.colour, linewidth=1.2)
    _points(ax, result, "rmse", style, shift)


def _human_curve(ax: Axes, result: Convergence, style: Style, shift: float) -> None:
    ax.axhline(result.human_reference, color=style.colour, linewidth=1, linestyle="--")
    if result.method == "pearson":
        ax.plot(result.sizes, result.human_predicted, color=style.colour, linewidth=1.2)
    _points(ax, result, "human", style, shift)


def _points(ax: Axes, result: Convergence, name: str, style: Style, shift: float) -> None:
    middle, low, high = (np.array(getattr(result, f"{name}{end}")) for end in ("", "_low", "_high"))
    n = np.array(result.sizes) * shift
    ax.vlines(n, low, high, colors=style.colour, linewidth=1, alpha=0.6)
    ax.plot(n, middle, style.marker, color=style.colour, markersize=5, label=style.words)


def _draws_axis(ax: Axes, results: Sequence[Convergence], show: str) -> None:
    sizes = sorted({size for r in results for size in r.sizes})
    ax.set_xscale("log")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(f"draws per item, N   (n = {span_of([r.n for r in results])} items)")
    reference = " or ".join(dict.fromkeys(_REFERENCES[r.reference] for r in results))
    if show == "error":
        ax.set_ylabel(f"RMSE from {reference} (score points)")
        ax.set_ylim(bottom=0)
    else:
        ax.set_ylabel(f"{' or '.join(dict.fromkeys(METHODS[r.method] for r in results))} with people")
    plain_frame(ax)
    _draws_legend(ax, results, reference, show)


def _draws_legend(ax: Axes, results: Sequence[Convergence], reference: str, show: str) -> None:
    from matplotlib.lines import Line2D

    handles = [handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True) if label]
    level = f"{100 * results[0].confidence_level:g} % CI over {'groups' if results[0].n_groups else 'items'}"
    handles.append(
        Line2D([], [], color=_GREY, marker="o", linestyle="-", markersize=5, linewidth=1, label=f"measured ({level})")
    )
    if show == "error":
        handles.append(Line2D([], [], color=_GREY, linewidth=1.2, label="predicted from the variance of a draw"))
    else:
        if any(r.method == "pearson" for r in results):
            handles.append(Line2D([], [], color=_GREY, linewidth=1.2, label="predicted from the variance of a draw"))
        handles.append(Line2D([], [], color=_GREY, linewidth=1, linestyle="--", label=f"{reference} itself"))
    ax.legend(handles=handles, frameon=False, fontsize="small", ncols=1 + len(handles) // 12)


def _cost_axis(ax: Axes, cost: float) -> None:
    above = ax.secondary_xaxis("top", functions=(lambda n: n * cost, lambda price: price / cost))
    ticks = [tick for tick in ax.get_xticks() if tick > 0]
    above.set_xticks([tick * cost for tick in ticks], [f"{tick * cost:g}" for tick in ticks])
    above.set_xticks([], minor=True)
    above.set_xlabel("cost per item")


def gain(
    results: Results | Convergence | VarianceComponents | None = None, *, most: int = 100, ax: Axes | None = None
) -> Axes:
    """How much of the gain from one draw to exact probabilities N draws bring, for each r.

    "20 draws recover 80 %" is one point of one of these curves.

    Parameters
    ----------
    results : Results of `calib.convergence` or `calib.variance_components`, or one of these, optional
        Judges to be shown beside the curves of r = .04 (current judges on absolute scores), .5,
        1.5, 5.7 and 20.
    most : int, default 100
        The largest N.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> gain().get_ylabel()
    'share of the gain, from 1 draw to exact'
    """
    pairs = [] if results is None else list(labelled_pairs(results))
    if results is not None and not pairs:
        raise ValueError("`results` must hold one result at least, but is empty.")
    for _, result in pairs:
        if not isinstance(result, Convergence | VarianceComponents):
            raise TypeError(f"`results` must hold VarianceComponents results, but got {type(result).__name__}.")
    drawn = axes_of(ax)
    n = np.unique(np.geomspace(1, most, 120).round())
    for r in _KNOWN_R:
        curve = precision_gain(r, n)
        drawn.plot(n, curve, color="#9A9A9A", linewidth=0.9, zorder=1)
        at = int(len(n) * 0.45)
        drawn.annotate(f"r = {r:g}", (n[at], curve[at]), fontsize="x-small", color="#6E6E6E", ha="left", va="top")
    facts = [label for label, _ in pairs]
    names = telling(facts)
    for place, (label, result) in enumerate(pairs):
        colour, marker = look_of(place)
        words = f"{joined_words(place_of(label, names), names)} (r = {short(result.r)})"
        drawn.plot(n, precision_gain(result.r, n), color=colour, linewidth=1.8, label=words)
        drawn.plot([20], [float(precision_gain(result.r, 20))], marker, color=colour, markersize=5)
    drawn.axvline(20, color="black", linewidth=0.6, linestyle=":")
    drawn.set_xscale("log")
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= most]
    drawn.set_xticks(ticks, [str(tick) for tick in ticks])
    drawn.set_xticks([], minor=True)
    drawn.set_xlabel("draws per item, N")
    drawn.set_ylabel("share of the gain, from 1 draw to exact")
    drawn.set_ylim(0, 1.02)
    plain_frame(drawn)
    if pairs:
        drawn.legend(frameon=False, fontsize="small", loc="lower right")
    return drawn


# --- prompts ----------------------------------------------------------------------------------------------------


def components(results: Results | GStudy, *, ax: Axes | None = None) -> Axes:
    """Shares of the variance of one score: item, prompt, item x prompt, draw, a bar per judge and criterion.

    Parameters
    ----------
    results : Results of `calib.sensitivity`, or GStudy
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import g_study
    >>> components(g_study(np.random.default_rng(1).normal(size=(40, 5, 3)))).get_xlabel()
    'share of the variance of one score'
    """
    from matplotlib.patches import Patch

    pairs = checked_pairs([results], GStudy)
    facts = [label for label, _ in pairs]
    names = telling(facts) or ["criterion"]
    drawn = axes_of(ax)
    for row, (_, study) in enumerate(pairs):
        start = 0.0
        for part in study.components:
            share = 0.0 if math.isnan(part.share) else part.share
            drawn.barh(row, share, 0.62, left=start, color=_PARTS[part.name][1], edgecolor="white", linewidth=0.8)
            if share >= 0.045:
                colour = "white" if part.name in ("item", "prompt") else "black"
                at = (start + share / 2, row)
                drawn.text(*at, f"{100 * share:.0f}", color=colour, ha="center", va="center", fontsize="small")
            start += share
    drawn.set_yticks(range(len(pairs)), [joined_words(place_of(label, names), names) for label in facts])
    drawn.set_ylim(len(pairs) - 0.4, -0.6)
    drawn.set_xlim(0, 1)
    drawn.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    drawn.set_xlabel("share of the variance of one score")
    drawn.spines[["top", "right", "left"]].set_visible(False)
    drawn.tick_params(axis="y", length=0)
    there = dict.fromkeys(part.name for _, study in pairs for part in study.components)
    handles = [Patch(color=_PARTS[name][1], label=_PARTS[name][0]) for name in there]
    drawn.legend(handles=handles, ncols=len(handles), columnspacing=1, handlelength=1, **_ABOVE)
    drawn.set_title(title_of(facts, names), loc="left", fontsize="medium", pad=24)
    return drawn if ax is not None else _tall(drawn, len(pairs))


def _tall(ax: Axes, count: int) -> Axes:
    """As high as its bars need."""
    from matplotlib.figure import Figure

    assert isinstance(ax.figure, Figure)
    ax.figure.set_size_inches(7, 1.5 + 0.38 * count)
    return ax


def d_study(
    result: Results | GStudy,
    *,
    coefficient: str = "phi",
    most_prompts: int = 10,
    most_draws: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Reliability of scores averaged over so many prompts and draws, with lines of equal cost.

    Parameters
    ----------
    result : Results of `calib.sensitivity` with one result, or GStudy
    coefficient : {"phi", "e_rho2"}, default "phi"
        "phi" for the values themselves, "e_rho2" for the order of the items.
    most_prompts, most_draws : int, default 10
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there are several results, the coefficient is another word, or draws were not repeated.
    TypeError
        If the result is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import g_study
    >>> rng = np.random.default_rng(1)
    >>> d_study(g_study(rng.normal(size=(40, 1, 1)) + rng.normal(size=(40, 5, 3)))).get_xlabel()
    'prompts'
    """
    if coefficient not in ("phi", "e_rho2"):
        raise ValueError(f"`coefficient` must be 'phi' or 'e_rho2', but got {coefficient!r}.")
    label, study = single_pair(result, GStudy)
    prompts, draws = list(range(1, most_prompts + 1)), list(range(1, most_draws + 1))
    found = study.d_study(prompts, draws)
    table = np.array(getattr(found, coefficient)).reshape(len(prompts), len(draws)).T
    drawn = axes_of(ax)
    contours = drawn.contour(prompts, draws, table, levels=_round_levels(table), colors=COLOURS[0], linewidths=1.4)
    drawn.clabel(contours, fontsize="small", fmt=lambda value: f"{value:g}")
    for calls in (4, 8, 16, 32, 64):
        fine = np.geomspace(max(1, calls / most_draws), min(most_prompts, calls), 60)
        if fine[0] < fine[-1]:
            drawn.plot(fine, calls / fine, color="#AAAAAA", linewidth=0.8, linestyle="--", zorder=1)
            at = fine[len(fine) // 2]
            drawn.annotate(f"{calls}", (at, calls / at), fontsize="x-small", color=_GREY, ha="center", va="center",
                           bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"})  # fmt: skip
    here = study.n_prompts, study.n_draws
    if here[0] <= most_prompts and here[1] <= most_draws:
        drawn.plot(*here, "o", color=COLOURS[1], markersize=7, clip_on=False)
        drawn.annotate("measured", here, xytext=(6, 5), textcoords="offset points", fontsize="small", color=COLOURS[1])
    drawn.set_xlabel("prompts")
    drawn.set_ylabel("draws under each")
    what = "Phi, for the values themselves" if coefficient == "phi" else "E(rho²), for the order of the items"
    head = title_of([label], [])
    drawn.set_title(f"{head}{': ' * bool(head)}{what}; dashed: equal number of replies", loc="left", fontsize="small")
    plain_frame(drawn)
    return drawn


def _round_levels(table: Any) -> list[float]:
    """A few round values within the range."""
    known = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995]
    inside = [value for value in known if table.min() < value < table.max()]
    return inside[-8:] or [float(np.median(table))]


def prompt_means(results: Results | PromptMean, *, ax: Axes | None = None) -> Axes:
    """The mean under each prompt with the interval that it claims, beside the interval with the prompt inside.

    Parameters
    ----------
    results : Results of `calib.prompt_mean` or `calib.prompt_difference`, or PromptMean
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import prompt_mean
    >>> prompt_means(prompt_mean(np.random.default_rng(1).normal(size=(40, 5)))).get_xlabel()
    'judge mean (95 % CI)'
    """
    from matplotlib.lines import Line2D

    pairs = checked_pairs([results], PromptMean)
    facts = [label for label, _ in pairs]
    names = telling(facts) or ["criterion"]
    drawn = axes_of(ax)
    marks = [Mark(place_of(label, names), "", result) for label, result in pairs]
    heights = lay_rows(drawn, marks, names, 1.7)
    for mark in marks:
        height, result = heights[mark.place], mark.result
        steps = np.linspace(-0.15, 0.5, len(result.prompt_means))
        for step, mean, (low, high) in zip(steps, result.prompt_means, result.prompt_intervals, strict=True):
            drawn.hlines(height + step, low, high, colors=COLOURS[5], linewidth=0.9, zorder=2)
            drawn.plot([mean], [height + step], ".", color=COLOURS[0], markersize=4, zorder=3)
        whole = Style("", COLOURS[1], "D", hollow=result.conditional)
        draw_interval(drawn, height - 0.45, result, whole)
    found = dict.fromkeys(result.estimand for _, result in pairs)
    drawn.set_xlabel(f"{' and '.join(found)}{level_words([r for _, r in pairs])}")
    inside = "all prompts, the choice of the prompt inside"
    handles = [
        Line2D([], [], color=COLOURS[1], marker="D", markersize=5.5, linewidth=1.6, label=inside),
        Line2D([], [], color=COLOURS[5], marker=".", mfc=COLOURS[0], mec=COLOURS[0], linewidth=0.9, label="one prompt"),
    ]
    drawn.legend(handles=handles, ncols=2, **_ABOVE)
    drawn.set_title(title_of(facts, names), loc="left", fontsize="medium", pad=24)
    return drawn if ax is not None else fit(drawn)


def plan(result: Results | BudgetPlan, *, ax: Axes | None = None) -> Axes:
    """What a little more of each would do to the interval, for its money.

    Parameters
    ----------
    result : Results of `calib.plan` from ratings, with one result, or BudgetPlan
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there are several results.
    TypeError
        If the result is of another kind.

    Examples
    --------
    >>> from calib.stats import budget_plan
    >>> facts = {"rho": 0.6, "sd": 1.0, "item": 0.5, "item_prompt": 0.2, "draw": 0.3, "n_gold": 40, "n_items": 400}
    >>> found = budget_plan(**facts, prompts=2, draws=1, prices={"label": 2, "judge": 0.01}, budget=200)
    >>> plan(found).get_xlabel()
    'narrowing of the interval by one more unit of money (%)'
    """
    label, found = single_pair(result, BudgetPlan)
    drawn = axes_of(ax)
    most = max((100 * step.per_money for step in found.steps if math.isfinite(step.per_money)), default=1.0)
    for row, step in enumerate(found.steps):
        # what costs nothing is as long as the longest
        length = max(100 * step.per_money, 0.0) if math.isfinite(step.per_money) else most
        colour = COLOURS[1] if step.what == found.next else "#BDBDBD" if step.waste else COLOURS[0]
        drawn.barh(row, length, height=0.6, color=colour)
        words = f"{step.more} more for {step.cost:g}: {100 * step.narrowing:.2g} %{', a waste' * step.waste}"
        beside: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": "small"}
        drawn.annotate(words, (length, row), annotation_clip=False, **beside)
    drawn.set_yticks(range(len(found.steps)), [step.what for step in found.steps])
    drawn.set_ylim(len(found.steps) - 0.4, -0.6)
    drawn.set_xlim(0, 1.6 * most)
    drawn.set_xlabel("narrowing of the interval by one more unit of money (%)")
    head = title_of([label], [])
    now, then = (short(design.half_width) for design in (found.present, found.plan))
    text = f"{head}{': ' * bool(head)}+/- {now} now; {found.plan} for {found.plan.cost:g}: +/- {then}"
    drawn.set_title(text, loc="left", fontsize="small")
    drawn.spines[["top", "right"]].set_visible(False)
    drawn.tick_params(axis="y", length=0)
    return drawn if ax is not None else _tall(drawn, len(found.steps))
