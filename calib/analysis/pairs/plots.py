"""Pairs, drawn: what the order does to verdicts, agreement with people, win rates at equal length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.analysis.pairs.pairwise_agreement import QUANTITIES
from calib.analysis.pairs.words import board_fact, length_fact, pairwise_fact, position_fact
from calib.core.result import Interval
from calib.stats import BradleyTerry, LengthControlled, PairwiseAgreement, PositionBias
from calib.tables import figure
from calib.tables.results import Results
from calib.tables.text import level_words, plain_text, span_of, title_of, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOVES = {  # what a pair does when its order is turned, and its colour
    "n_first": ("to the first", figure.COLOURS[1]),
    "same": ("same in both orders", "#BBBBBB"),
    "n_second": ("to the second", figure.COLOURS[0]),
}
_RATES = {"as it is": figure.look_of(1), "at equal length": figure.look_of(0)}


def position_bias(results: Results[Any] | PositionBias, *, ax: Axes | None = None) -> Axes:
    """Shares of the pairs whose verdict moves to what is shown first, stays, and moves to what is shown second.

    Examples
    --------
    >>> import calib
    >>> ax = position_bias(calib.stats.position_bias([1, 1, 1, 0, 1] * 4, [1, 0, 0, 0, 1] * 4))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['to the first', 'same in both orders', 'to the second']
    """
    pairs = figure.checked_pairs([results], PositionBias)
    facts, found = [label for label, _ in pairs], [r for _, r in pairs]
    rows = figure.rows_of(ax, facts, found, unnamed="judge", pitch=1.0)
    for mark in rows.marks:
        _stack(rows.ax, rows.heights[mark.place], mark.result)
    rows.ax.set_xlim(0, 1)
    n = span_of([r.n for r in found])
    rows.ax.set_xlabel(
        f"share of the verdicts (n = {n} pairs in both orders)\np: exact sign test, first against second"
    )
    handles = [figure.handle(words, color=colour, linewidth=7) for words, colour in _MOVES.values()]
    title = title_of(facts, rows.names)
    figure.legend_above(rows.ax, handles, title, position_fact(Results.of(pairs)), columns=3)
    return figure.finished(rows.ax, ax)


def _stack(ax: Axes, height: float, result: PositionBias) -> None:
    """One bar of three parts, with their counts in it and the p-value."""
    counts = {"n_first": result.n_first, "n_second": result.n_second}
    counts["same"] = result.n - sum(counts.values())
    left = 0.0
    for name, (_, colour) in _MOVES.items():
        share = counts[name] / result.n
        ax.barh(height, share, left=left, height=0.55, color=colour, zorder=2)
        said = f"{counts[name]}" + f"  (p = {result.p_value:.2g})" * (name == "same")
        if share > (0.3 if name == "same" else 0.04):
            ink = figure.ON_LIGHT if name == "same" else figure.ON_DARK
            ax.text(left + share / 2, height, said, ha="center", va="center", fontsize="small", color=ink, zorder=3)
        left += share


def pairwise_agreement(results: Results[Any] | PairwiseAgreement, *, ax: Axes | None = None) -> Axes:
    """Agreement with people on pairs with ties and without, kappa, and consistency, with intervals.

    Examples
    --------
    >>> import calib
    >>> ax = pairwise_agreement(calib.stats.pairwise_agreement([1, 0, 0.5, 1] * 9, [1, 0, 0, 1] * 9))
    >>> [text.get_text() for text in ax.get_legend().get_texts()][0]
    'the same of A, B and tie'
    """
    pairs = figure.checked_pairs([results], PairwiseAgreement)
    facts, series, ends, styles = [], [], [], {}
    for label, result in pairs:
        for name, share in result.shares.items():
            facts.append(dict(label))
            series.append(QUANTITIES[name])
            ends.append(figure.End(share.estimate, share.interval, result.confidence_level))
    for place, words in enumerate(QUANTITIES.values()):
        if words in series:
            styles[words] = figure.Style(words, *figure.look_of(place))
    rows = figure.rows_of(ax, facts, ends, series, unnamed="judge")
    figure.draw_series(rows, styles)
    figure.zero_line(rows.ax)
    n = span_of([r.n for _, r in pairs])
    rows.ax.set_xlabel(f"share of pairs, or kappa{level_words(ends)}\nn = {n} pairs with a verdict of both")
    title = title_of(facts, rows.names, "against ")
    figure.legend_above(rows.ax, figure.style_handles([*styles.values()]), title, pairwise_fact(Results.of(pairs)))
    return figure.finished(rows.ax, ax)


def length_controlled(results: Results[Any] | LengthControlled, *, ax: Axes | None = None) -> Axes:
    """Win rates as they are and at equal length, with intervals.

    Examples
    --------
    >>> import calib
    >>> found = calib.stats.length_controlled([1, 0, 0, 1, 1] * 6, [9, -5, 4, 6, -3] * 6)
    >>> [text.get_text() for text in length_controlled(found).get_legend().get_texts()]
    ['as it is', 'at equal length']
    """
    pairs = figure.checked_pairs([results], LengthControlled)
    facts, series, ends = [], [], []
    for label, r in pairs:
        both = zip(_RATES, ((r.win_rate, r.win_rate_interval), (r.estimate, r.interval)), strict=True)
        for name, (rate, interval) in both:
            facts.append(dict(label))
            series.append(name)
            ends.append(figure.End(rate, interval, r.confidence_level))
    rows = figure.rows_of(ax, facts, ends, series, unnamed="judge")
    styles = {name: figure.Style(name, *look) for name, look in _RATES.items()}
    figure.draw_series(rows, styles)
    n = span_of([r.n for _, r in pairs])
    note = "an association with length, no bias without people"
    rows.ax.set_xlabel(f"win rate of A{level_words(ends)}\nn = {n} pairs; {note}")
    title = title_of(facts, rows.names)
    figure.legend_above(rows.ax, figure.style_handles([*styles.values()]), title, length_fact(Results.of(pairs)))
    return figure.finished(rows.ax, ax)


# --- boards ---------------------------------------------------------------------------------------------------------


def leaderboard(results: Results[Any] | BradleyTerry, *, ax: Axes | None = None) -> Axes:
    """Strengths of systems with their intervals, the strongest on top, and the set of ranks behind each name.

    Several boards lie side by side, in the order of the first.

    Examples
    --------
    >>> from calib.stats import bradley_terry
    >>> ax = leaderboard(bradley_terry(list("xyz") * 20, list("yzx") * 20, [1, 1, 0, 1, 0, 1] * 10))
    >>> ax.get_yticklabels()[0].get_text()
    'x (rank 1 to 2)'
    """
    pairs = figure.checked_pairs([results], BradleyTerry)
    names = told_apart([label for label, _ in pairs])
    facts, ends, series = [], [], []
    for name, (_, one) in zip(names, pairs, strict=True):
        for k, system in enumerate(one.system):
            facts.append({"system": f"{plain_text(system, 30)}{_rank_words(one, k) if len(pairs) == 1 else ''}"})
            interval = Interval(float(one.low[k]), float(one.high[k]))
            ends.append(figure.End(float(one.strength[k]), interval, one.confidence_level))
            series.append(name)
    rows = figure.rows_of(ax, facts, ends, series, names=["system"])
    styles = {name: figure.Style(_of_board(name, one), *figure.look_of(k)) for k, (name, (_, one)) in
              enumerate(zip(names, pairs, strict=True))}  # fmt: skip
    figure.draw_series(rows, styles)
    figure.zero_line(rows.ax)
    rows.ax.set_xlabel(f"strength: log-odds against an average system ({100 * pairs[0][1].confidence_level:g} % CI)")
    title = title_of([label for label, _ in pairs], ["system"], "people: ")
    figure.legend_above(rows.ax, figure.style_handles([*styles.values()]), title, board_fact(Results.of(pairs)))
    return figure.finished(rows.ax, ax)


def _rank_words(one: BradleyTerry, k: int) -> str:
    low, high = int(one.rank_low[k]), int(one.rank_high[k])
    return f" (rank {low})" if low == high else f" (rank {low} to {high})"


def _of_board(name: str, one: BradleyTerry) -> str:
    gold = f", people on {one.n_gold}" if one.n_gold else ""
    return f"{plain_text(name)}{': ' * bool(name)}{one.n} battles{gold}"
