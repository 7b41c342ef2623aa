"""Bias, drawn: both questions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.analysis.bias.instrumented import Effect, Instrumented
from calib.analysis.bias.words import FAVOUR, SHOWN, bias_fact
from calib.core.result import Interval
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import telling, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {
    FAVOUR: figure.Style(f"{FAVOUR} (instrument)", "#D55E00", "o"),
    SHOWN: figure.Style(f"{SHOWN} (judge less people)", "#6E6E6E", "D", hollow=True),
}


def bias(results: Results[Any] | Instrumented, *, ax: Axes | None = None) -> Axes:
    """Effects with both estimators: favour at equal quality, and what the leaderboard will show.

    With one annotator the first is a bracket, drawn as its interval.

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
    series = [name for name in (FAVOUR, SHOWN) for _ in found]
    rows = figure.rows_of(ax, facts * 2, ends, series, names=names)
    figure.draw_series(rows, _STYLES)
    figure.zero_line(rows.ax)
    rows.ax.set_xlabel(f"judge points ({100 * found[0].confidence_level:g} % CI)")
    figure.legend_above(
        rows.ax, figure.style_handles([*_STYLES.values()]), title_of(facts, rows.names, "people: "),
        bias_fact(Results.of(pairs)),
    )  # fmt: skip
    return figure.finished(rows.ax, ax)


def _favour(one: Instrumented) -> Effect:
    """What is drawn of the instrument: with one annotator the middle of the bracket."""
    estimate = one.estimate if one.n_raters > 1 else sum(one.bracket) / 2
    return Effect(estimate, one.std_error, one.z, one.p_value, Interval(*one.interval))
