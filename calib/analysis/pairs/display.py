"""Pairs in words: what may be claimed of a judge's verdicts, and what not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.analysis.pairs.bradley_terry import BradleyTerry
from calib.analysis.pairs.length_controlled import LengthControlled
from calib.analysis.pairs.pairwise_agreement import QUANTITIES, PairwiseAgreement
from calib.analysis.pairs.position_bias import PositionBias
from calib.core.result import Interval, bracket, short
from calib.table import figure
from calib.table.results import Results
from calib.table.text import each_once, level_words, plain_text, span_of, title_of, told_apart, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# --- position -------------------------------------------------------------------------------------------------------


def position_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[PositionBias]) -> list[str]:
    """Whether the place decides, in a sentence each, and what that does not say."""
    return each_once(labels, results, lambda result: [_position_sentence(result)])


def _position_sentence(result: PositionBias) -> str:
    moved = result.n_first + result.n_second
    counts = f"of {result.n} pairs {moved} change the verdict with the order"
    split = f"{result.n_first} towards what is shown first and {result.n_second} towards what is shown second"
    told = f"{counts}, {split} (exact sign test, p = {result.p_value:.2g})"
    net = f"being shown first moves the share won by {short(result.estimate)}, {_in_brackets(result)}"
    if result.p_value > 1 - result.confidence_level:
        return f"No position bias is shown, which does not show that there is none: {told}; {net}."
    side = "first" if result.n_first > result.n_second else "second"
    end = "averaging both orders takes it out of win rates, not out of single verdicts"
    return f"The judge favours what is shown {side}: {told}; {net}; {end}."


def _in_brackets(result: Any) -> str:
    return bracket(result.interval, result.confidence_level)


def position_fact(results: Results[PositionBias]) -> str:
    """What share of the pairs the order decides."""
    moved = [1 - result.consistency for result in results]
    shown = sum(result.p_value <= 1 - result.confidence_level for result in results)
    many = f"; a side is favoured by {shown} of {len(results)}" if len(results) > 1 else ""
    return f"the order changes {_percent(moved)} of the verdicts{many}"


# --- agreement with people ------------------------------------------------------------------------------------------


def pairwise_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[PairwiseAgreement]) -> list[str]:
    """How far a judge may stand in for people on pairs, in a sentence each."""
    return each_once(labels, results, lambda result: [_pairwise_sentence(result)])


def _pairwise_sentence(result: PairwiseAgreement) -> str:
    level = result.confidence_level
    same = f"{_percent([result.estimate])} of {result.n} pairs, {bracket(result.interval, level)}"
    told = f"Judge and people say the same of A, B and tie on {same}"
    decided = result.without_ties
    if decided.n:
        won = f"{_percent([decided.estimate])}, {bracket(decided.interval, level)}"
        told += f", and of the {decided.n} on which neither says tie they name the same winner on {won}"
    left = f"; {result.n_missing} pairs without a verdict of both were left out" if result.n_missing else ""
    chance = "" if math.isnan(result.kappa.estimate) else f"; beyond chance that is a kappa of {_with_bracket(result)}"
    unlike = "; it is agreement on single pairs, and does not say that boards of systems agree"
    return f"{told}{chance}{left}{unlike}."


def _with_bracket(result: PairwiseAgreement) -> str:
    return f"{short(result.kappa.estimate)}, {bracket(result.kappa.interval, result.confidence_level)}"


def pairwise_fact(results: Results[PairwiseAgreement]) -> str:
    """With ties, and without."""
    with_ties = _percent([result.with_ties.estimate for result in results])
    without = _percent([result.without_ties.estimate for result in results])
    return f"the same verdict as people on {with_ties} of the pairs, without ties {without}"


# --- length ---------------------------------------------------------------------------------------------------------


def length_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[LengthControlled]) -> list[str]:
    """How preferences go with length, in a sentence each; without people no bias."""
    return each_once(labels, results, lambda result: [_length_sentence(result)])


def _length_sentence(result: LengthControlled) -> str:
    low, high = result.slope_interval
    goes = "up with" if low > 0 else "down with" if high < 0 else "neither clearly up nor down with"
    rates = f"{short(result.win_rate)} as it is and {short(result.estimate)}, {_in_brackets(result)}, at equal length"
    side = min(result.n_longer, result.n_shorter)
    drawn = any(text.startswith("extrapolated") for text in result.warnings)
    doubt = f" (drawn out: {side} of {result.n} pairs lie on one side of equal length)" if drawn else ""
    limit = "an association: longer outputs may be better ones, and only people on the same pairs show a bias"
    return f"Preferences go {goes} length: A wins {rates}{doubt}; {limit}."


def length_fact(results: Results[LengthControlled]) -> str:
    """Win rates as they are and at equal length."""
    plain, equal = ([getattr(result, name) for result in results] for name in ("win_rate", "estimate"))
    return f"win rate {_percent(plain)}, at equal length {_percent(equal)}"


def _percent(shares: Sequence[float]) -> str:
    """A share, or the lowest and the highest of several."""
    known = [f"{100 * share:.3g}" for share in sorted(shares) if not math.isnan(share)]
    return f"{' to '.join(dict.fromkeys((known[0], known[-1])))} %" if known else "none"


# --- boards ---------------------------------------------------------------------------------------------------------


def board_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[BradleyTerry]) -> list[str]:
    """For each board which systems may be first, how many ranks are sure, and whose strengths they are."""
    return each_once(labels, results, lambda one: [_board_sentence(one)])


def _board_sentence(one: BradleyTerry) -> str:
    level = f"{100 * one.confidence_level:g} %"
    tops = [visible(name, 40) for name, low in zip(one.system, one.rank_low, strict=True) if low == 1]
    first = f"{tops[0]} is first" if len(tops) == 1 else f"any of {_few_systems(tops)} may be first"
    sure = int((one.rank_low == one.rank_high).sum())
    return (
        f"At {level} for all ranks at once {first}; of {len(one.system)} systems {sure} have a rank that is sure. "
        f"{_whose_strengths(one)} Two systems whose sets of ranks overlap are not to be called better and worse."
    )


def _whose_strengths(one: BradleyTerry) -> str:
    if one.estimator != "ppi":
        return "These are strengths by these verdicts, whoever gave them."
    narrow = "" if math.isnan(one.width_ratio) else f" ({one.width_ratio:.2f} times as wide as from people alone)"
    return (
        f"These are people's strengths, from their verdicts on {one.n_gold} of {one.n} battles and the judge's on all"
        f"{narrow}, if people's are a random part."
    )


def _few_systems(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def board_fact(results: Results[BradleyTerry]) -> str:
    """Who is first, and how many may be."""
    tops = [int((one.rank_low == 1).sum()) for one in results]
    if len(results) > 1:
        return f"{min(tops)} to {max(tops)} systems may be first"
    return f"{visible(results[0].system[0], 30)} first" + (f", {tops[0]} may be" if tops[0] > 1 else "")


# --- pairs ------------------------------------------------------------------------------------------------------------


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
