"""Bias, drawn: both questions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.analysis.bias.instrumented import Effect, Instrumented
from calib.analysis.bias.rater_effects import RaterEffects
from calib.analysis.bias.words import FAVOUR, SHOWN, bias_fact, is_uneven, rater_fact
from calib.core.result import Interval
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import telling, title_of, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CENTRED = "annotators centred"
_STYLES = {
    FAVOUR: figure.Style(f"{FAVOUR} (instrument)", "#D55E00", "o"),
    SHOWN: figure.Style(f"{SHOWN} (judge less people)", "#6E6E6E", "D", hollow=True),
    CENTRED: figure.Style(f"{FAVOUR}, annotators' leniency taken out", "#0072B2", "s"),
}


def bias(results: Results[Any] | Instrumented, *, ax: Axes | None = None) -> Axes:
    """Effects with both estimators: favour at equal quality, and what the leaderboard will show.

    With one annotator the first is a bracket, drawn as its interval. Where annotators' leniency moves an estimate, the
    one without it stands beside it.

    Examples
    --------
    >>> from calib.stats import instrumented
    >>> raters = [[1, 2], [2, 2], [3, 4], [4, 4], [5, 4], [2, 1], [3, 3], [4, 5]] * 2
    >>> ax = bias(instrumented([2, 2, 3, 5, 4, 2, 3, 4] * 2, raters, [0, 1] * 8))
    >>> ax.get_xlabel()
    'judge points (95 % CI)'
    """
    pairs = figure.checked_pairs([results], Instrumented)
    facts = [label | {"level": label["level"] or label["feature"]} if "level" in label else label for label, _ in pairs]
    found = [one for _, one in pairs]
    names = telling(facts) or ["feature"]
    ends = [_favour(one) for one in found] + [one.difference for one in found]
    drawn = {name: style for name, style in _STYLES.items() if name != CENTRED or any(map(is_uneven, found))}
    if CENTRED in drawn:
        ends += [one.centred for one in found]
    series = [name for name in drawn for _ in found]
    rows = figure.rows_of(ax, facts * len(drawn), ends, series, names=names)
    figure.draw_series(rows, drawn)
    figure.zero_line(rows.ax)
    rows.ax.set_xlabel(f"judge points ({100 * found[0].confidence_level:g} % CI)")
    figure.legend_above(
        rows.ax, figure.style_handles([*drawn.values()]), title_of(facts, rows.names, "people: "),
        bias_fact(Results.of(pairs)),
    )  # fmt: skip
    return figure.finished(rows.ax, ax)


def _favour(one: Instrumented) -> Effect:
    """What is drawn of the instrument: with one annotator the middle of the bracket."""
    estimate = one.estimate if one.n_raters > 1 else sum(one.bracket) / 2
    return Effect(estimate, one.std_error, one.z, one.p_value, Interval(*one.interval))


def rater_effects(results: Results[Any] | RaterEffects, *, ax: Axes | None = None) -> Axes:
    """Habits of judges with their intervals, beside each person's.

    Examples
    --------
    >>> from calib.stats import rater_effects as effects_of
    >>> people = [[1, 2], [2, 2], [3, 4], [4, 4], [5, 4], [4, 3], [3, 3], [1, 2]]
    >>> ax = rater_effects(effects_of([1, 2, 3, 4, 5, 4, 3, 2], people))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['leniency', 'centrality', 'ends', 'top']
    """
    pairs = figure.checked_pairs([results], RaterEffects)
    names = told_apart([label for label, _ in pairs])
    facts, ends, series, dots = [], [], [], {}
    for name, (_, one) in zip(names, pairs, strict=True):
        several = any(effect.criterion for effect in one.effects)
        for effect in one.effects:
            fact = {"criterion": effect.criterion or "all criteria"} if several else {}
            facts.append(fact | {"effect": effect.effect.replace("_", " ")})
            ends.append(figure.End(effect.estimate, effect.interval, one.confidence_level))
            series.append(name)
            dots[tuple(facts[-1].values())] = effect.people
    rows = figure.rows_of(ax, facts, ends, series, names=[*facts[0]])
    styles = {name: figure.Style(name or "judge", *figure.look_of(k)) for k, name in enumerate(names)}
    figure.draw_series(rows, styles)
    for place, people in dots.items():
        rows.ax.plot(people, [rows.heights[place]] * len(people), "|", color="black", markersize=11, zorder=4)
    rows.ax.set_xlabel(f"judge ({100 * pairs[0][1].confidence_level:g} % CI)")
    handles = [
        *figure.style_handles([*styles.values()]),
        figure.handle("each person", color="black", marker="|", linestyle=""),
    ]
    figure.legend_above(rows.ax, handles, title_of([label for label, _ in pairs], []), rater_fact(Results.of(pairs)))
    return figure.finished(rows.ax, ax)
