"""Means, drawn: intervals of several estimators side by side, differences of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calib.analysis.means.methods import METHODS
from calib.analysis.means.words import mean_fact
from calib.core.check import ArgumentError
from calib.stats import MeanEstimate
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import level_words, place_of, span_of, telling, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ALONE = "judge alone (not an interval for the human mean)"
_LOOKS = {  # by what an estimator is called in words
    "people alone": ("#0072B2", "s"),
    "people alone, conservative": ("#0072B2", "v"),
    METHODS["judge_only"].words: ("#6E6E6E", "o"),
    "PPI": ("#009E73", "D"),
    "PPI++": ("#CC79A7", "^"),
    "regression estimator": ("#009E73", "v"),
    "people and judge, conservative": ("#D55E00", "D"),
    "people and judge": ("#D55E00", "o"),
}


def interval(
    *results: Results[Any] | MeanEstimate, truth: Mapping[Any, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Means with their intervals, one row per system or criterion, the methods side by side.

    The judge alone is drawn hollow and dashed: its interval is not one for the human mean.

    Parameters
    ----------
    *results : Results or MeanEstimate
        One or more, such as gold only, judge only and PPI++ of the same rows.
    truth : mapping or Series, optional
        What the mean is known to be, by row: by what names the row (a system, say), or by a
        tuple of all that does. Drawn as a line through the row.

    Raises
    ------
    ValueError
        If `truth` knows none of the rows.

    Examples
    --------
    >>> from calib.stats import ppi_mean
    >>> y, f = [4, 3, 5, 4, 2, 4], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8]
    >>> rest = [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3]
    >>> ax = interval(*(ppi_mean(y, f, rest, estimator=name) for name in ("classical", "judge_only", "ppi++")))
    >>> for text in ax.get_legend().get_texts():
    ...     print(text.get_text())
    people alone: 6 labels
    judge alone (not an interval for the human mean): 14 scores
    PPI++: 6 labels, 14 judge scores
    """
    pairs = figure.checked_pairs(results, MeanEstimate)
    facts, means = [label for label, _ in pairs], [r for _, r in pairs]
    rows = figure.rows_of(ax, facts, means, _series(pairs, telling(facts) or ["criterion"]))
    styles = _series_styles(rows.marks)
    figure.draw_series(rows, styles)
    handles = figure.style_handles([*styles.values()])
    if truth is not None:
        handles.append(_truth(rows.ax, rows.heights, truth, 0.3 * len(styles) + 0.1))
    estimands = dict.fromkeys(r.estimand for r in sorted(means, key=lambda r: r.estimator == "judge_only"))
    rows.ax.set_xlabel(f"{next(iter(estimands))}{level_words(means)}")
    shared = title_of(facts, [*rows.names, "p_adjusted"], "gold by ")
    figure.legend_above(rows.ax, handles, shared, mean_fact(Results.of(pairs)))
    return figure.finished(rows.ax, ax)


def difference(results: Results[Any] | MeanEstimate, *, ax: Axes | None = None) -> Axes:
    """Differences of two systems with their intervals, and a line where there is none.

    Examples
    --------
    >>> from calib.stats import ppi_difference
    >>> nan = float("nan")
    >>> y_a, y_b = [4, 5, 4, nan, nan], [3, 3, 4, nan, nan]
    >>> f_a, f_b = [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3]
    >>> difference(ppi_difference(y_a, y_b, f_a, f_b, estimator="ppi")).get_xlabel()
    'human mean difference (95 % CI)'
    """
    drawn = interval(results, ax=ax)
    figure.zero_line(drawn)
    return drawn


def _series(pairs: Sequence[tuple[dict[str, Any], MeanEstimate]], names: Sequence[str]) -> list[str]:
    """Which series each result is of: its method, and the number of it where a row has several of one method."""
    # rows of one estimator may differ in how the labels alone were read
    keys = [(place_of(label, names), METHODS[result.estimator].words) for label, result in pairs]
    return [f"{key[1]} {keys[: i + 1].count(key)}" for i, key in enumerate(keys)]


def _series_styles(marks: Sequence[figure.Mark]) -> dict[str, figure.Style]:
    styles: dict[str, figure.Style] = {}
    order = {words: place for place, words in enumerate(_LOOKS)}
    for mark in sorted(marks, key=lambda m: order.get(METHODS[m.result.estimator].words, len(order))):
        words, _, number = mark.series.rpartition(" ")
        again, alone = int(number) - 1, mark.result.estimator == "judge_only"
        look = figure.look_of(again + 3) if again else _LOOKS.get(words, figure.look_of(6))
        results = [m.result for m in marks if m.series == mark.series]
        labels, scores = (span_of([getattr(r, name) for r in results]) for name in ("n_gold", "n"))
        said = f"{words}: {labels} labels" + (f", {scores} judge scores" if mark.result.uses_judge else "")
        said = f"{_ALONE}: {scores} scores" if alone else said
        styles[mark.series] = figure.Style(said, *look, alone)
    return styles


def _truth(ax: Axes, rows: dict[tuple[str, ...], float], truth: Mapping[Any, float], half: float) -> Any:
    known = {tuple(map(str, key)) if isinstance(key, tuple) else str(key): value for key, value in truth.items()}
    found = {height: known.get(place, known.get(place[-1])) for place, height in rows.items()}
    drawn = {height: float(value) for height, value in found.items() if value is not None}
    if not drawn:
        there = ", ".join(repr(place[-1]) for place in list(rows)[:5])
        raise ArgumentError("truth", f"must know some of the rows (such as {there})", f"has {list(known)[:5]}")
    for height, value in drawn.items():
        ax.vlines(value, height - half, height + half, colors="black", linewidth=1.4, zorder=4)
    return figure.handle("truth", color="black", marker="|", linestyle="", markersize=9)


def mean_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """Differences with a line where there is none, or means."""
    differences = all("difference" in result.estimand for result in results if isinstance(result, MeanEstimate))
    yield partial(difference if differences else interval, results)
