"""Sentences and pictures of draws: error and agreement of their mean, the gain in precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.agreement.coefficients import COEFFICIENTS
from calib.analysis.draws.convergence import Convergence
from calib.core.check import ArgumentError
from calib.stats import VarianceComponents, attenuation, precision_gain
from calib.table import figure
from calib.table.results import Results
from calib.table.text import number_span, row_name, span_of, telling, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_fact(results: Results[Convergence]) -> str:
    """The distance of the most draws and of one."""
    # the mean of all draws is at distance 0 from itself
    places = [-1 if result.reference == "exact" or len(result.sizes) < 2 else -2 for result in results]
    number = span_of([result.sizes[place] for place, result in zip(places, results, strict=True)])
    most = number_span([result.rmse[place] for place, result in zip(places, results, strict=True)])
    first = number_span([result.rmse[0] for result in results])
    return f"the mean of {number} draws is {most} points from {_references(results)}, one draw {first}"


def people_fact(results: Results[Convergence]) -> str:
    """Agreement with people of the most draws and of the reference."""
    number, most = span_of([result.sizes[-1] for result in results]), number_span([r.agreement[-1] for r in results])
    reference = number_span([result.agreement_reference for result in results])
    return f"the mean of {number} draws agrees with people to {most}, {_references(results)} to {reference}"


def _references(results: Sequence[Convergence]) -> str:
    exact = dict.fromkeys(result.reference == "exact" for result in results)
    return " or ".join("the exact expectation" if each else "the mean of all draws" for each in exact)


def convergence(
    results: Results[Any] | Convergence, *, show: str = "error", cost: float | None = None, ax: Axes | None = None
) -> Axes:
    """What N draws give, N on a log axis.

    Parameters
    ----------
    show : {"error", "agreement"}, default "error"
        Of N-draw means as points with their intervals, and what is predicted as a line: the distance (RMSE) from the
        reference, and where that is the mean of all draws, of a single result, dotted, the distance from the mean of
        endless draws; or the correlation with people (predicted for Pearson's coefficient alone), the reference's own
        as a dashed line.
    cost : float, optional
        Price of one draw, in money or tokens: a second axis on top shows the cost per item.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.stats import convergence as converge
    >>> draws = np.random.default_rng(1).integers(1, 6, size=(50, 10))
    >>> convergence(converge(draws, rng=1)).get_ylabel()
    'RMSE from the mean of all draws (score points)'
    """
    if show not in ("error", "agreement"):
        raise ArgumentError("show", "must be 'error' or 'agreement'", f"got {show!r}")
    if cost is not None and not 0 < cost < math.inf:
        raise ArgumentError("cost", "must be a finite number above 0", f"got {cost!r}")
    results = figure.checked(Convergence, results)
    if show == "agreement" and all(math.isnan(r.agreement_reference) for r in results):
        rule = "'agreement' needs results that were computed with {0}"
        raise ArgumentError("show", rule, "these were not", mentions=("labels",))
    drawn, names = figure.axes_of(ax), telling(results.labels)
    for place, (label, result) in enumerate(zip(results.labels, results, strict=True)):
        # side by side on the log axis, where several would hide each other
        shift = 1.03 ** (place - (len(results) - 1) / 2)
        style = figure.Style(row_name(label, names), *figure.colour_and_marker(place))
        _draws_curve(drawn, result, style, shift, show, dotted=len(results) == 1)
    title, fact = title_of(results.labels, names), (error_fact if show == "error" else people_fact)(results)
    handles = _draws_frame(drawn, results, show)
    if ax is None:  # room for the names
        drawn.figure.set_figheight(4 + 0.1 * max(len(handles) - 4, 0))  # type: ignore[union-attr]
    if cost is not None:
        ticks, scales = drawn.get_xticks(), (partial(np.multiply, cost), partial(np.multiply, 1 / cost))
        above = drawn.secondary_xaxis("top", functions=scales)
        above.set_xticks([n * cost for n in ticks], [f"{n * cost:.3g}" for n in ticks])
        above.set_xticks([], minor=True)
        above.set_xlabel("cost per item")
        drawn.legend(handles=handles, frameon=False, fontsize="small", ncols=1 + len(handles) // 12)
        figure.say_title(drawn, title, fact)
    else:
        figure.legend_above(drawn, handles, title, fact, columns=2)
    return drawn


def _draws_curve(ax: Axes, result: Convergence, style: figure.Style, shift: float, show: str, *, dotted: bool) -> None:
    n, exact = np.geomspace(min(result.sizes), max(result.sizes), 200), result.reference == "exact"
    line: dict[str, Any] = {"color": style.colour, "linewidth": 1.2}
    sizes = np.array(result.sizes, dtype=float)
    if show == "agreement":
        ax.axhline(result.agreement_reference, color=style.colour, linewidth=1, linestyle="--")
        if _has_law(result):
            kept = 1.0 if exact else attenuation(result.r, result.n_draws)
            ax.plot(n, result.agreement_reference * (attenuation(result.r, n) / kept), **line)
    else:
        spared = 0.0 if exact else 1 / result.n_draws
        first = 1 / result.sizes[0] - spared  # the variance of a draw, as the first prediction has it
        if first > 0:
            ax.plot(n, result.rmse_predicted[0] * np.sqrt(np.maximum(1 / n - spared, 0.0) / first), **line)
        if not exact and dotted:
            ax.plot(n, result.rmse_of_all * np.sqrt(result.n_draws / n), linestyle=":", **line)
        if not exact:
            sizes[sizes == result.n_draws] = np.nan  # all draws beside themselves
    name = "rmse" if show == "error" else show
    values, low, high = (getattr(result, f"{name}{end}") for end in ("", "_low", "_high"))
    ax.vlines(shift * sizes, low, high, colors=style.colour, linewidth=1, alpha=0.7)
    ax.plot(shift * sizes, values, style.marker, color=style.colour, markersize=4.5, label=style.words)


def _has_law(result: Convergence) -> bool:
    return all(map(math.isfinite, (result.r, *result.agreement_predicted)))


def _draws_frame(ax: Axes, results: Sequence[Convergence], show: str) -> list[Any]:
    """Axes and their words, and what stands in the legend."""
    figure.log_ticks(ax, sorted({size for r in results for size in r.sizes}))
    figure.plain_frame(ax)
    ax.set_xlabel(f"draws per item, N   (n = {span_of([r.n for r in results])} items)")
    reference = _references(results)
    handles = [handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True) if label]
    units = " or ".join(dict.fromkeys("groups" if r.n_groups else "items" for r in results))
    levels = ", ".join(f"{100 * level:g}" for level in sorted({r.confidence_level for r in results}))
    grey = partial(figure.handle, color=figure.GREY)
    handles.append(grey(f"measured, {levels} % CI over {units}", linewidth=1, marker="o", markersize=4.5))
    if show == "error":
        ax.set_ylabel(f"RMSE from {reference} (score points)")
        ax.set_ylim(bottom=0)
        handles.append(grey("predicted", linewidth=1.2))
        if len(results) == 1 and results[0].reference != "exact":
            handles.append(grey("predicted, from the mean of endless draws", linewidth=1.2, linestyle=":"))
    else:
        ax.set_ylabel(f"{' or '.join(dict.fromkeys(COEFFICIENTS[r.coefficient] for r in results))} with people")
        handles.append(grey(f"{reference} itself", linewidth=1, linestyle="--"))
        if any(map(_has_law, results)):
            handles.append(grey("predicted from the reference and r", linewidth=1.2))
    return handles


_RATIOS = {0.04: "current judges\non absolute scores", 0.5: "", 1.5: "", 5.7: "", 20.0: ""}
_MOST_DRAWS = 20
_PANELS = 8  # results that a report draws one by one


def gain(results: Results[Any] | Convergence | VarianceComponents | None = None, *, ax: Axes | None = None) -> Axes:
    """The share of the possible gain in precision that N draws recover: a function of r.

    Thin lines are for given ratios r of within-item to between-item variance, heavy ones for
    the judges in `results`. How much 20 draws recover depends on the judge.

    Examples
    --------
    >>> ax = gain()
    >>> [text.get_text() for text in ax.texts][1:]
    ['r = 0.5', 'r = 1.5', 'r = 5.7', 'r = 20']
    """
    first = results[0] if isinstance(results, Results) and len(results) else results
    kind: Any = Convergence if isinstance(first, Convergence) else VarianceComponents
    judges = Results.of([]) if results is None else figure.checked(kind, results)
    drawn, n, height = figure.axes_of(ax), np.geomspace(1, _MOST_DRAWS, 200), math.inf
    for r, who in _RATIOS.items():
        values = precision_gain(r, n)
        drawn.plot(n, values, color="#9A9A9A", linewidth=0.9, zorder=1.5)
        height = min(float(values[-1]), height - 0.055)  # names that do not run into each other
        where, words = "bottom" if who else "center", f"r = {r:g}" + f", {who}" * bool(who)
        drawn.text(n[-1] * 1.06, height, words, va=where, fontsize="small", color="#555555")
    figure.log_ticks(drawn, (1, 2, 3, 5, 10, _MOST_DRAWS))
    words = "draws per item, N\nr: variance of the draws of an item over the variance between items"
    drawn.set(xlim=(1, _MOST_DRAWS), ylim=(0, 1), xlabel=words)
    figure.per_cent(drawn.yaxis)
    drawn.set_ylabel("share of the possible gain\nin precision that N draws recover")
    figure.plain_frame(drawn)
    names = telling(judges.labels)
    pairs = zip(judges.labels, judges, strict=True)
    noisy = [(label, r) for label, r in pairs if math.isfinite(r.r) and r.r > 0]  # else there is nothing to gain
    for place, (label, result) in enumerate(noisy):
        colour, marker = figure.colour_and_marker(place)
        words = ": ".join(filter(None, (row_name(label, names), f"r = {result.r:.3g}")))
        values = precision_gain(result.r, n)
        drawn.plot(n, values, color=colour, linewidth=2, marker=marker, markevery=[-1], markersize=5, label=words)
    if noisy:
        drawn.legend(frameon=False, fontsize="small", loc="upper left", ncols=1 + len(noisy) // 12)
    half = number_span([100 * float(precision_gain(r.r, 5)) for _, r in noisy])
    fact = f"5 draws recover {half} % of the possible gain" if noisy else ""
    figure.say_title(drawn, title_of(judges.labels, names) if len(judges) else "", fact)
    return drawn


def convergence_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The error, and agreement with people where there are some; a picture for each of a few results."""
    each = [results] if len(results) > _PANELS else [results[k : k + 1] for k in range(len(results))]
    yield from (partial(convergence, one) for one in each)
    people = [one for one in each if any(math.isfinite(result.agreement_reference) for result in one)]
    yield from (partial(convergence, one, show="agreement") for one in people)
