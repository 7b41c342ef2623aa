"""Pairs in words: what may be claimed of a judge's verdicts, and what not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.analysis.pairs.bradley_terry import BradleyTerry
from calib.analysis.pairs.length_controlled import LengthControlled
from calib.analysis.pairs.pairwise_agreement import PairwiseAgreement
from calib.analysis.pairs.position_bias import PositionBias
from calib.core.result import bracket, short
from calib.tables.text import each_once, visible

if TYPE_CHECKING:
    from calib.tables.results import Results


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
