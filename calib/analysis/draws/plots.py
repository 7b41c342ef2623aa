"""Plots of what draws and prompts do to a score; `calib.plot` is their public address."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.agreement.coefficients import COEFFICIENTS
from calib.core.check import ArgumentError, Floats
from calib.stats import (
    BudgetPlan,
    Convergence,
    GStudy,
    PromptMean,
    VarianceComponents,
    attenuation,
    precision_gain,
)
from calib.tables.figure import (
    COLOURS,
    Mark,
    Style,
    axes_of,
    checked_pairs,
    fit,
    joined_words,
    lay_rows,
    level_words,
    look_of,
    place_of,
    plain_frame,
    plain_text,
    single_pair,
    span_of,
    telling,
    title_of,
)
from calib.tables.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GREY = "#6E6E6E"
_REFERENCES = {"exact": "the exact expectation", "all draws": "the mean of all draws"}


# --- draws ------------------------------------------------------------------------------------------------------


def convergence(
    results: Results | Convergence, *, show: str = "error", cost: float | None = None, ax: Axes | None = None
) -> Axes:
    """What N draws give, N on a log axis.

    Parameters
    ----------
    results : Results of `calib.convergence`, or Convergence
    show : {"error", "human"}, default "error"
        "error": measured distance (RMSE) of N-draw means from the reference as points with
        their intervals over items or groups, and the predicted one as a line. "human": their
        correlation with people with its interval, the reference's own as a dashed line, and for
        Pearson's coefficient the law as a line.
    cost : float, optional
        Price of one draw, in money or tokens: a second axis on top shows the cost per item.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result, `show` is another word, `cost` is not above 0, or there are no
        human scores to show.
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
        raise ArgumentError("show", "must be 'error' or 'human'", f"got {show!r}")
    if cost is not None and not 0 < cost < math.inf:
        raise ArgumentError("cost", "must be a finite number above 0", f"got {cost!r}")
    pairs = checked_pairs([results], Convergence)
    if show == "human" and not any(r.human_reference == r.human_reference for _, r in pairs):
        raise ArgumentError(
            "show", "'human' needs results that were computed with {0}", "these were not", mentions=("human",)
        )
    drawn = axes_of(ax)
    facts = [label for label, _ in pairs]
    names = telling(facts)
    for place, (label, result) in enumerate(pairs):
        curve = _error_curve if show == "error" else _human_curve
        # side by side on the log axis, where the intervals of several would hide each other
        shift = 1 + 0.03 * (place - (len(pairs) - 1) / 2)
        curve(drawn, result, Style(joined_words(place_of(label, names), names), *look_of(place)), shift)
    _draws_axis(drawn, [r for _, r in pairs], show)
    if cost is not None:
        _cost_axis(drawn, cost)
    drawn.set_title(title_of(facts, names), loc="left", fontsize="medium")
    return drawn


def _between(result: Convergence) -> Floats:
    return np.geomspace(min(result.sizes), max(result.sizes), 200)


def _error_curve(ax: Axes, result: Convergence, style: Style, shift: float) -> None:
    ax.vlines(
        shift * np.array(result.sizes), result.rmse_low, result.rmse_high, colors=style.colour, linewidth=1, alpha=0.7
    )
    spared = 0.0 if result.reference == "exact" else 1 / result.n_draws
    n, first = _between(result), 1 / result.sizes[0] - spared
    if first > 0:  # the variance of a draw, as the first prediction has it
        law = result.rmse_predicted[0] * np.sqrt(np.maximum(1 / n - spared, 0.0) / first)
        ax.plot(n, law, color=style.colour, linewidth=1.2)
    ax.plot(result.sizes, result.rmse, style.marker, color=style.colour, markersize=4.5, label=style.words)


def _human_curve(ax: Axes, result: Convergence, style: Style, shift: float) -> None:
    ax.vlines(
        shift * np.array(result.sizes), result.human_low, result.human_high, colors=style.colour, linewidth=1, alpha=0.7
    )
    ax.axhline(result.human_reference, color=style.colour, linewidth=1, linestyle="--")
    if _has_law(result):
        n = _between(result)
        kept = attenuation(result.r, n) / (1 if result.reference == "exact" else attenuation(result.r, result.n_draws))
        ax.plot(n, result.human_reference * kept, color=style.colour, linewidth=1.2)
    ax.plot(result.sizes, result.human, style.marker, color=style.colour, markersize=4.5, label=style.words)


def _has_law(result: Convergence) -> bool:
    return math.isfinite(result.r) and all(map(math.isfinite, result.human_predicted))


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
        ax.set_ylabel(f"{' or '.join(dict.fromkeys(COEFFICIENTS[r.coefficient] for r in results))} with people")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E4E4E4", linewidth=0.6)
    _draws_legend(ax, results, reference, show)


def _draws_legend(ax: Axes, results: Sequence[Convergence], reference: str, show: str) -> None:
    from matplotlib.lines import Line2D

    handles = [handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True) if label]
    units = " or ".join(dict.fromkeys("groups" if r.n_groups else "items" for r in results))
    levels = ", ".join(f"{100 * level:g}" for level in sorted({r.confidence_level for r in results}))
    over = f"{levels} % CI over {units}"
    dot: dict[str, Any] = {"color": _GREY, "marker": "o", "markersize": 4.5}
    if show == "error":
        handles += [
            Line2D([], [], linestyle="-", linewidth=1, label=f"measured, {over}", **dot),
            Line2D([], [], color=_GREY, linewidth=1.2, label="predicted from the variance of a draw"),
        ]
    else:
        handles += [
            Line2D([], [], linestyle="-", linewidth=1, label=f"measured, {over}", **dot),
            Line2D([], [], color=_GREY, linewidth=1, linestyle="--", label=f"{reference} itself"),
        ]
        law = Line2D([], [], color=_GREY, linewidth=1.2, label="predicted from the reference and r")
        handles += [law] * any(map(_has_law, results))
    ax.legend(handles=handles, frameon=False, fontsize="small", ncols=1 + len(handles) // 12)


def _cost_axis(ax: Axes, cost: float) -> None:
    above = ax.secondary_xaxis("top", functions=(partial(np.multiply, cost), partial(np.multiply, 1 / cost)))
    above.set_xticks([n * cost for n in ax.get_xticks()], [f"{n * cost:.3g}" for n in ax.get_xticks()])
    above.set_xticks([], minor=True)
    above.set_xlabel("cost per item")


_RATIOS = {0.04: "current judges\non absolute scores", 0.5: "", 1.5: "", 5.7: "", 20.0: ""}
_MOST_DRAWS = 20


def gain(results: Results | Convergence | VarianceComponents | None = None, *, ax: Axes | None = None) -> Axes:
    """The share of the possible gain in precision that N draws recover: a function of r.

    Thin lines are for given ratios r of within-item to between-item variance, heavy ones for
    the judges in `results`. How much 20 draws recover depends on the judge.

    Parameters
    ----------
    results : Results of `calib.convergence` or `calib.variance_components`, or one result, optional
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If `results` is empty.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> ax = gain()
    >>> [text.get_text() for text in ax.texts][1:]
    ['r = 0.5', 'r = 1.5', 'r = 5.7', 'r = 20']
    """
    pairs: list[tuple[dict[str, Any], Any]] = []
    if results is not None:
        first = results[0] if isinstance(results, Results) and len(results) else results
        kind: Any = Convergence if isinstance(first, Convergence) else VarianceComponents
        pairs = checked_pairs([results], kind)
    drawn, n = axes_of(ax), np.geomspace(1, _MOST_DRAWS, 200)
    _reference_gains(drawn, n)
    facts = [label for label, _ in pairs]
    names = telling(facts)
    known = [(label, r) for label, r in pairs if math.isfinite(r.r) and r.r > 0]  # else there is nothing to gain
    for place, (label, result) in enumerate(known):
        colour, marker = look_of(place)
        words = ": ".join(filter(None, (joined_words(place_of(label, names), names), f"r = {result.r:.3g}")))
        values = precision_gain(result.r, n)
        drawn.plot(n, values, color=colour, linewidth=2, marker=marker, markevery=[-1], markersize=5, label=words)
    _gain_axis(drawn)
    if known:
        drawn.legend(frameon=False, fontsize="small", loc="upper left", ncols=1 + len(known) // 12)
    drawn.set_title(title_of(facts, names) if facts else "", loc="left", fontsize="medium")
    return drawn


def _reference_gains(ax: Axes, n: Floats) -> None:
    height = math.inf
    for r, who in _RATIOS.items():
        values = precision_gain(r, n)
        ax.plot(n, values, color="#9A9A9A", linewidth=0.9, zorder=1.5)
        height = min(float(values[-1]), height - 0.055)  # names that do not run into each other
        words = f"r = {r:g}" + f", {who}" * bool(who)
        where: dict[str, Any] = {"va": "bottom" if who else "center", "fontsize": "small", "color": "#555555"}
        ax.text(n[-1] * 1.06, height, words, **where)


def _gain_axis(ax: Axes) -> None:
    ax.set_xscale("log")
    ticks = (1, 2, 3, 5, 10, _MOST_DRAWS)
    ax.set_xticks(ticks, [str(n) for n in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlim(1, _MOST_DRAWS)
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    ax.set_xlabel("draws per item, N")
    ax.set_ylabel("share of the possible gain\nin precision that N draws recover")
    plain_frame(ax)


# --- prompts ----------------------------------------------------------------------------------------------------

_PARTS = {  # dark and light in turn, so that neighbours differ in print as well
    "item": "#0072B2", "judge": "#4D4D4D", "prompt": "#E69F00", "item_judge": "#56B4E9", "item_prompt": "#009E73",
    "item_prompt_judge": "#8C6BB1",
    "prompt_judge": "#F0E442", "judge_prompt": "#F0E442", "residual": "#CC79A7", "draw": "#BBBBBB",
}  # fmt: skip
_NAMED_SHARE = 0.045  # a narrower piece has no room for its number


def components(results: Results | GStudy, *, ax: Axes | None = None) -> Axes:
    """Where the variance of a single score comes from: one bar per judge or criterion, its shares stacked.

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
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.normal(size=(60, 1, 1)) + rng.normal(size=(1, 5, 1)) + rng.normal(size=(60, 5, 4))
    >>> ax = components(g_study(scores))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['item', 'prompt', 'item x prompt', 'draw']
    """
    pairs = checked_pairs([results], GStudy)
    facts = [label for label, _ in pairs]
    names = telling(facts) or ["criterion"]
    marks = [Mark(place_of(fact, names), "", r) for fact, (_, r) in zip(facts, pairs, strict=True)]
    drawn = axes_of(ax)
    rows = lay_rows(drawn, marks, names, 1.2)
    for mark in marks:
        _stack(drawn, rows[mark.place], mark.result)
    drawn.set_xlim(0, 1)
    drawn.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    items, prompts = (span_of([getattr(r, name) for _, r in pairs]) for name in ("n_items", "n_prompts"))
    drawn.set_xlabel(f"share of the variance of a single score\nn = {items} items under {prompts} prompts")
    _parts_legend(drawn, [part.name for _, r in pairs for part in r.components], title_of(facts, names))
    return drawn if ax is not None else fit(drawn)


def _stack(ax: Axes, height: float, result: GStudy) -> None:
    left = 0.0
    for part in result.components:
        share = part.share if math.isfinite(part.share) else 0.0
        colour = _PARTS.get(part.name, "#888888")
        ax.barh(height, share, 0.85, left=left, color=colour, edgecolor="white", linewidth=0.8, zorder=2)
        if share >= _NAMED_SHARE:
            ink = "white" if colour in ("#0072B2", "#4D4D4D", "#009E73") else "black"
            middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small", "color": ink}
            ax.text(left + share / 2, height, f"{100 * share:.0f}", **middle)
        left += share


def _parts_legend(ax: Axes, parts: Sequence[str], title: str) -> None:
    from matplotlib.patches import Patch

    there = [*dict.fromkeys(parts)]
    handles = [Patch(color=_PARTS.get(part, "#888888"), label=part.replace("_", " x ")) for part in there]
    above: dict[str, Any] = {"bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "frameon": False, "fontsize": "small"}
    ax.legend(handles=handles, loc="lower left", ncols=min(len(handles), 5), **above)
    ax.set_title(title, loc="left", fontsize="medium", pad=8 + 14.5 * math.ceil(len(handles) / 5))


_WORTH = {"phi": "Phi (dependability of the value)", "e_rho2": "E rho² (reliability of the order)"}


def d_study(
    result: Results | GStudy,
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
    result : GStudy, or Results of `calib.sensitivity` with one
    coefficient : {"phi", "e_rho2"}, default "phi"
    most_prompts, most_draws : int, default 8
        Ends of the axes.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is not exactly one result, `coefficient` is another word, an axis would end
        below 2, or each prompt was asked once, so that nothing is known about draws.
    TypeError
        If it is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import g_study
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.normal(size=(60, 1, 1)) + rng.normal(size=(1, 5, 1)) + rng.normal(size=(60, 5, 4))
    >>> ax = d_study(g_study(scores))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('prompts', 'draws under each prompt')
    """
    if coefficient not in _WORTH:
        raise ArgumentError("coefficient", "must be 'phi' or 'e_rho2'", f"got {coefficient!r}")
    for name, most in {"most_prompts": most_prompts, "most_draws": most_draws}.items():
        if not (isinstance(most, int) and most >= 2):
            raise ArgumentError(name, "must be a whole number, 2 or more", f"got {most!r}")
    label, study = single_pair(result, GStudy)
    prompts, draws = range(1, most_prompts + 1), range(1, most_draws + 1)
    worth = np.reshape(getattr(study.d_study(prompts, draws), coefficient), (most_prompts, most_draws)).T
    drawn = axes_of(ax)
    _map(drawn, prompts, draws, worth)
    _equal_costs(drawn, most_prompts, most_draws)
    if study.n_prompts <= most_prompts and study.n_draws <= most_draws:
        drawn.plot([study.n_prompts], [study.n_draws], "o", color=COLOURS[1], mec="white", markersize=9, clip_on=False)
    drawn.set_xlabel("prompts")
    drawn.set_ylabel("draws under each prompt")
    head = title_of([label], [])
    drawn.set_title(f"{head}{': ' * bool(head)}{_WORTH[coefficient]}", loc="left", fontsize="medium")
    return drawn


def _map(ax: Axes, prompts: Sequence[int], draws: Sequence[int], worth: Floats) -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    for axis, numbers in ((ax.xaxis, prompts), (ax.yaxis, draws)):
        shown = [n for n in numbers if n <= 6 or (n % 2 == 0 and n <= 16) or n == numbers[-1]]
        axis.set_ticks(shown, labels=[str(n) for n in shown])
        axis.set_ticks([], minor=True)
    if not np.ptp(worth) > 0:  # no lines where all designs are alike, or nothing is known
        return
    ax.contourf(prompts, draws, worth, levels=7, cmap="Blues", alpha=0.75)
    lines = ax.contour(prompts, draws, worth, levels=7, colors="#08306B", linewidths=0.9)
    ax.clabel(lines, fontsize="small", fmt="%.3g")


def _equal_costs(ax: Axes, most_prompts: int, most_draws: int) -> None:
    from matplotlib.lines import Line2D

    for calls in (2**power for power in range(1, 20) if 2**power < most_prompts * most_draws):
        ends = np.array([max(1.0, calls / most_draws), min(float(most_prompts), calls)])
        ax.plot(ends, calls / ends, color=_GREY, linewidth=0.8, linestyle="--")
    handles = [
        Line2D([], [], color=_GREY, linewidth=0.8, linestyle="--", label="equal cost (2, 4, 8, ... replies)"),
        Line2D([], [], color=COLOURS[1], marker="o", linestyle="", mec="white", markersize=8, label="measured"),
    ]
    below: dict[str, Any] = {"bbox_to_anchor": (0, -0.13), "frameon": False, "fontsize": "small"}
    ax.legend(handles=handles, loc="upper left", ncols=2, **below)


def prompt_means(results: Results | PromptMean, *, ax: Axes | None = None) -> Axes:
    """The mean under each prompt with the interval it would claim alone, and the one with the prompt inside.

    Small and light: each prompt alone. Bold: all prompts, with the choice of the prompt in the
    interval; hollow where there is a single prompt and nothing is known about others.

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
    >>> from calib.stats import prompt_mean
    >>> scores = [[1, 2, 2], [3, 4, 5], [2, 2, 4], [5, 4, 5]]
    >>> ax = prompt_means(prompt_mean(scores))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one prompt alone', 'with the prompt inside']
    """
    pairs = checked_pairs([results], PromptMean)
    facts = [label for label, _ in pairs]
    names = telling(facts) or ["criterion"]
    marks = [Mark(place_of(fact, names), "", r) for fact, (_, r) in zip(facts, pairs, strict=True)]
    drawn = axes_of(ax)
    most = max(r.n_prompts for _, r in pairs)
    rows = lay_rows(drawn, marks, names, 1.0 + 0.3 * most)
    for mark in marks:
        _prompts_of(drawn, rows[mark.place] - 0.15 * most, mark.result, named=len(marks) == 1)
    drawn.set_xlabel(f"{'; '.join(dict.fromkeys(r.estimand for _, r in pairs))}{level_words([r for _, r in pairs])}")
    if any(r.estimand.startswith("difference") for _, r in pairs):
        drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    one = all(r.conditional for _, r in pairs)
    _prompts_legend(
        drawn, title_of(facts, names), "over items, of this prompt alone" if one else "with the prompt inside"
    )
    return drawn if ax is not None else fit(drawn)


def _prompts_of(ax: Axes, top: float, result: PromptMean, *, named: bool) -> None:
    each = zip(result.prompt_means, result.prompt_intervals, result.names, strict=True)
    for place, (mean, ends, name) in enumerate(each):
        height = top + 0.3 * place
        if named:
            beside: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
            ax.annotate(plain_text(name), (ends.high, height), fontsize="x-small", color=_GREY, **beside)
        ax.hlines(height, *ends, colors=COLOURS[5], linewidth=1, zorder=2)
        ax.plot([mean], [height], "o", color=COLOURS[5], markersize=3, zorder=3)
    height = top + 0.3 * result.n_prompts + 0.1
    ax.hlines(height, *result.interval, colors=COLOURS[0], linewidth=3, zorder=2)
    face = "white" if result.conditional else COLOURS[0]
    ax.plot([result.estimate], [height], "D", color=COLOURS[0], mfc=face, markersize=6, zorder=3)


def _prompts_legend(ax: Axes, title: str, whole: str) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=COLOURS[5], linewidth=1, marker="o", markersize=3, label="one prompt alone"),
        Line2D([], [], color=COLOURS[0], linewidth=3, marker="D", markersize=6, label=whole),
    ]
    above: dict[str, Any] = {"bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "frameon": False, "fontsize": "small"}
    ax.legend(handles=handles, loc="lower left", ncols=2, **above)
    ax.set_title(title, loc="left", fontsize="medium", pad=22)


# --- what to buy next -------------------------------------------------------------------------------------------


def plan(result: Results | BudgetPlan, *, ax: Axes | None = None) -> Axes:
    """What one unit of money narrows the interval by, spent on labels, items, prompts or draws.

    Parameters
    ----------
    result : BudgetPlan, or Results of `calib.plan` with one
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is not exactly one result.
    TypeError
        If it is of another kind.

    Examples
    --------
    >>> from calib.stats import budget_plan
    >>> pilot = dict(rho=0.5, sd=1.0, item=1.0, item_prompt=0.3, draw=0.5, n_gold=50, n_items=500, prompts=2, draws=2)
    >>> ax = plan(budget_plan(**pilot, prices={"label": 1.0, "judge": 0.001}, half_width=0.1))
    >>> sorted(text.get_text().split(",")[0] for text in ax.get_yticklabels())
    ['draws', 'items', 'labels', 'prompts']
    """
    label, found = single_pair(result, BudgetPlan)
    drawn, widths = axes_of(ax), [100 * step.per_money for step in found.steps]
    for place, (step, width) in enumerate(zip(found.steps, widths, strict=True)):
        best = step.what == found.next
        known = width if math.isfinite(width) else 0.0
        drawn.barh(place + 0.5, known, 0.7, color=COLOURS[0] if best else "#C8C8C8", zorder=2)
        note = ", next" * best + ", a waste" * step.waste
        words = f" {width:.2g} %{note}" if math.isfinite(width) else " not known"
        drawn.text(
            max(known, 0.0), place + 0.5, words, va="center", fontsize="small", fontweight="bold" if best else None
        )
    drawn.set_yticks(
        [place + 0.5 for place in range(len(widths))],
        [f"{s.what}, {s.more} more for {s.cost:.3g}" for s in found.steps],
    )
    drawn.set_ylim(len(widths) + 0.1, -0.1)
    drawn.tick_params(axis="y", length=0)
    drawn.margins(x=0.22)
    drawn.set_xlim(left=min(0.0, *(w for w in widths if math.isfinite(w)), 0.0))
    plain_frame(drawn, "x")
    drawn.set_xlabel("narrowing of the interval by one unit of money (%)")
    drawn.set_title(title_of([label], []), loc="left", fontsize="medium")
    return drawn if ax is not None else fit(drawn)
