"""Sentences and plots of results on pairs: what may be claimed of a judge's verdicts, and what not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calib.analysis.pairs.bradley_terry import BradleyTerry
from calib.analysis.pairs.length_controlled import LengthControlled
from calib.analysis.pairs.pair_shares import QUANTITIES, PairwiseAgreement, PositionBias
from calib.core.result import Interval, bracket, short
from calib.table import figure
from calib.table.results import Results
from calib.table.text import each_once, number_span, plain_text, span_of, told_apart, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def position_text(result: PositionBias) -> list[str]:
    """Whether the place decides, and what that does not say."""
    changed = f"of {result.n} pairs {result.n_first + result.n_second} change the verdict with the order"
    split = f"{result.n_first} towards what is shown first and {result.n_second} towards what is shown second"
    counts = f"{changed}, {split} (exact sign test, p = {result.p_value:.2g})"
    net = f"being shown first moves the share won by {short(result.estimate)}, {result.bracket}"
    if result.p_value > 1 - result.confidence_level:
        return [f"No position bias is shown, which does not show that there is none: {counts}; {net}."]
    side = "first" if result.n_first > result.n_second else "second"
    end = "averaging both orders takes it out of win rates, not out of single verdicts"
    return [f"The judge favours what is shown {side}: {counts}; {net}; {end}."]


position_sentences = partial(each_once, texts=position_text)


def position_fact(results: Results[PositionBias]) -> str:
    """What share of the pairs the order decides."""
    moved = [1 - result.consistency for result in results]
    favoured = sum(result.p_value <= 1 - result.confidence_level for result in results)
    many = f"; a side is favoured by {favoured} of {len(results)}" if len(results) > 1 else ""
    return f"the order changes {_share_text(moved)} of the verdicts{many}"


def pairwise_text(result: PairwiseAgreement) -> list[str]:
    """How far a judge may stand in for people on pairs."""
    level, decided, kappa = result.confidence_level, result.without_ties, result.kappa
    same = f"{_share_text([result.estimate])} of {result.n} pairs, {result.bracket}"
    text = f"Judge and people say the same of A, B and tie on {same}"
    if decided.n:
        won = f"{_share_text([decided.estimate])}, {bracket(decided.interval, level)}"
        text += f", and of the {decided.n} on which neither says tie they name the same winner on {won}"
    if not math.isnan(kappa.estimate):
        text += f"; beyond chance that is a kappa of {short(kappa.estimate)}, {bracket(kappa.interval, level)}"
    if result.n_missing:
        text += f"; {result.n_missing} pairs without a verdict of both were left out"
    return [f"{text}; it is agreement on single pairs, and does not say that boards of systems agree."]


pairwise_sentences = partial(each_once, texts=pairwise_text)


def pairwise_fact(results: Results[PairwiseAgreement]) -> str:
    """Agreement with ties, and without."""
    with_ties = _share_text([result.with_ties.estimate for result in results])
    without = _share_text([result.without_ties.estimate for result in results])
    return f"the same verdict as people on {with_ties} of the pairs, without ties {without}"


def length_text(result: LengthControlled) -> list[str]:
    """How preferences go with length; without people no bias."""
    low, high = result.slope_interval
    goes = "up with" if low > 0 else "down with" if high < 0 else "neither clearly up nor down with"
    equal = f"{short(result.estimate)}, {result.bracket}, at equal length"
    side = min(result.n_longer, result.n_shorter)
    drawn = any(text.startswith("extrapolated") for text in result.warnings)
    doubt = f" (drawn out: {side} of {result.n} pairs lie on one side of equal length)" if drawn else ""
    limit = "an association: longer outputs may be better ones, and only people on the same pairs show a bias"
    return [f"Preferences go {goes} length: A wins {short(result.win_rate)} as it is and {equal}{doubt}; {limit}."]


length_sentences = partial(each_once, texts=length_text)


def length_fact(results: Results[LengthControlled]) -> str:
    """Win rates as they are and at equal length."""
    plain, equal = [result.win_rate for result in results], [result.estimate for result in results]
    return f"win rate {_share_text(plain)}, at equal length {_share_text(equal)}"


def _share_text(shares: Sequence[float]) -> str:
    """A share, or the lowest and the highest of several."""
    span = number_span([100 * share for share in shares])
    return span if span == "none" else f"{span} %"


def board_text(one: BradleyTerry) -> list[str]:
    """Which systems may be first, how many ranks are sure, and whose strengths they are."""
    tops = [visible(name, 40) for name, low in zip(one.system, one.rank_low, strict=True) if low == 1]
    some = ", ".join(tops[:6]) + (f" and {len(tops) - 6} more" if len(tops) > 6 else "")
    first = f"{some} is first" if len(tops) == 1 else f"any of {some} may be first"
    sure = int((one.rank_low == one.rank_high).sum())
    whose = "These are strengths by these verdicts, whoever gave them."
    if one.estimator == "ppi":
        narrow = "" if math.isnan(one.width_ratio) else f" ({one.width_ratio:.2f} times as wide as from people alone)"
        whose = (
            f"These are people's strengths, from their verdicts on {one.n_labels} of {one.n} battles and the "
            f"judge's on all{narrow}, if people's are a random part."
        )
    return [
        f"At {100 * one.confidence_level:g} % for all ranks at once {first}; of {len(one.system)} systems {sure} "
        f"have a rank that is sure. {whose} Two systems whose sets of ranks overlap are not to be called better "
        "and worse."
    ]


board_sentences = partial(each_once, texts=board_text)


def board_fact(results: Results[BradleyTerry]) -> str:
    """Who is first, and how many may be."""
    tops = [int((one.rank_low == 1).sum()) for one in results]
    if len(results) > 1:
        return f"{min(tops)} to {max(tops)} systems may be first"
    return f"{visible(results[0].system[0], 30)} first" + (f", {tops[0]} may be" if tops[0] > 1 else "")


_MOVES = {  # what a pair does when its order is turned, and its colour
    "n_first": ("to the first", figure.COLOURS[1]),
    "same": ("same in both orders", "#BBBBBB"),
    "n_second": ("to the second", figure.COLOURS[0]),
}
_RATES = {"as it is": figure.colour_and_marker(1), "at equal length": figure.colour_and_marker(0)}


def position_bias(results: Results[Any] | PositionBias, *, ax: Axes | None = None) -> Axes:
    """Shares of the pairs whose verdict moves to what is shown first, stays, and moves to what is shown second.

    Examples
    --------
    >>> import calib
    >>> ax = position_bias(calib.stats.position_bias([1, 1, 1, 0, 1] * 4, [1, 0, 0, 0, 1] * 4))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['to the first', 'same in both orders', 'to the second']
    """
    results = figure.checked(PositionBias, results)
    rows = figure.rows_of(ax, results.labels, results, unnamed="judge", pitch=1.0)
    for mark in rows.marks:  # one bar of three parts, with their counts in it and the p-value
        r, pieces = mark.result, []
        counts = {"n_first": r.n_first, "same": r.n - r.n_first - r.n_second, "n_second": r.n_second}
        for name, (_, colour) in _MOVES.items():
            share, same = counts[name] / r.n, name == "same"
            words = f"{counts[name]}" + f"  (p = {r.p_value:.2g})" * same if share > (0.3 if same else 0.04) else ""
            pieces.append(figure.Piece(share, colour, words, figure.ON_LIGHT if same else figure.ON_DARK))
        figure.draw_pieces(rows.ax, rows.heights[mark.place], pieces, 0.55)
    share = f"share of the verdicts (n = {span_of([r.n for r in results])} pairs in both orders)"
    rows.ax.set_xlabel(f"{share}\np: exact sign test, first against second")
    handles = [figure.handle(words, color=colour, linewidth=7) for words, colour in _MOVES.values()]
    return rows.finished(position_fact(results), handles, columns=3)


def pairwise_agreement(results: Results[Any] | PairwiseAgreement, *, ax: Axes | None = None) -> Axes:
    """Agreement with people on pairs with ties and without, kappa, and consistency, with intervals.

    Examples
    --------
    >>> import calib
    >>> ax = pairwise_agreement(calib.stats.pairwise_agreement([1, 0, 0.5, 1] * 9, [1, 0, 0, 1] * 9))
    >>> [text.get_text() for text in ax.get_legend().get_texts()][0]
    'the same of A, B and tie'
    """
    results = figure.checked(PairwiseAgreement, results)
    entries = []
    for label, r in zip(results.labels, results, strict=True):
        for name, share in r.shares.items():
            entries.append((label, QUANTITIES[name], figure.End(share.estimate, share.interval, r.confidence_level)))
    styles = figure.styles_of({words: words for words in QUANTITIES.values()})
    rows = figure.rows_of_series(ax, entries, styles, unnamed="judge")
    figure.zero_line(rows.ax)
    n = span_of([r.n for r in results])
    rows.ax.set_xlabel(f"share of pairs, or kappa{rows.level}\nn = {n} pairs with a verdict of both")
    return rows.finished(pairwise_fact(results), against="against ")


def length_controlled(results: Results[Any] | LengthControlled, *, ax: Axes | None = None) -> Axes:
    """Win rates as they are and at equal length, with intervals.

    Examples
    --------
    >>> import calib
    >>> result = calib.stats.length_controlled([1, 0, 0, 1, 1] * 6, [9, -5, 4, 6, -3] * 6)
    >>> [text.get_text() for text in length_controlled(result).get_legend().get_texts()]
    ['as it is', 'at equal length']
    """
    results = figure.checked(LengthControlled, results)
    entries = []
    for label, r in zip(results.labels, results, strict=True):
        ends = ((r.win_rate, r.win_rate_interval), (r.estimate, r.interval))
        pairs = zip(_RATES, ends, strict=True)
        entries += [(label, name, figure.End(*end, r.confidence_level)) for name, end in pairs]
    styles = {name: figure.Style(name, *look) for name, look in _RATES.items()}
    rows = figure.rows_of_series(ax, entries, styles, unnamed="judge")
    n = span_of([r.n for r in results])
    rows.ax.set_xlabel(f"win rate of A{rows.level}\nn = {n} pairs; an association with length, no bias without people")
    return rows.finished(length_fact(results))


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
    results = figure.checked(BradleyTerry, results)
    names, entries, words = told_apart(results.labels), [], {}
    for name, label, one in zip(names, results.labels, results, strict=True):
        labelled = f", people on {one.n_labels}" if one.n_labels else ""
        words[name] = f"{plain_text(name)}{': ' * bool(name)}{one.n} battles{labelled}"
        for k, system in enumerate(one.system):
            low, high = int(one.rank_low[k]), int(one.rank_high[k])
            rank = f" (rank {low})" if low == high else f" (rank {low} to {high})"
            fact = label | {"system": f"{plain_text(system, 30)}{rank if len(results) == 1 else ''}"}
            interval = Interval(float(one.low[k]), float(one.high[k]))
            entries.append((fact, name, figure.End(float(one.strength[k]), interval, one.confidence_level)))
    rows = figure.rows_of_series(ax, entries, figure.styles_of(words), names=["system"])
    figure.zero_line(rows.ax)
    rows.ax.set_xlabel(f"strength: log-odds against an average system ({100 * results[0].confidence_level:g} % CI)")
    return rows.finished(board_fact(results), against="people: ")
