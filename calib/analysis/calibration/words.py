"""Calibration in words: sentences, heads, parts of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.tables.text import number_span, told_apart, visible

if TYPE_CHECKING:
    from calib.stats import Escalation

# --- the map ---------------------------------------------------------------------------------------------------------


# --- the quality of forecasts ----------------------------------------------------------------------------------------


# --- sets ------------------------------------------------------------------------------------------------------------


# --- escalation ------------------------------------------------------------------------------------------------------


def escalation_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[Escalation]) -> list[str]:
    """What the judge may decide, what goes to people, and what that costs; a sentence or two for each."""
    names = told_apart([{k: v for k, v in label.items() if k != "rater"} for label in labels])
    return [
        f"{name}{': ' * bool(name)}{_escalation_words(label, result)}"
        for name, label, result in zip(names, labels, results, strict=True)
    ]


def _escalation_words(label: Mapping[str, Any], result: Escalation) -> str:
    who = visible(label.get("rater", "The judge"))
    sure, most = f"{100 * result.confidence_level:g} %", f"{100 * result.risk:g} %"
    if not result.n_accepted:
        return (
            f"{who} may decide none of the {result.n} items alone: {result.n_labels} labels do not show, with {sure} "
            f"confidence, a share of them of which at most {most} of the verdicts differ from people's."
        )
    share, rest = 100 * result.accepted_share, 100 * (1 - result.accepted_share)
    learned = "" if result.exact else " (for many labels: the confidence was learned from the same ones)"
    text = (
        f"{who} may decide {share:.3g} % of the {result.n} items alone: with {sure} confidence at most {most} of these "
        f"verdicts differ from people's{learned}; {rest:.3g} % go to people."
    )
    if math.isnan(result.cost):
        return text
    return f"{text} That costs {result.cost:.6g}, people for all {result.cost_of_people:.6g}."


def accept_fact(results: Sequence[Any]) -> str:
    """The title of a picture: what share is accepted."""
    shares = [one.accepted_share if hasattr(one, "accepted_share") else one.accepted for one in results]
    if not any(shares):
        return "nothing can be accepted"
    return f"{number_span([100 * share for share in shares])} % decided by judges alone"


def escalation_notes(results: Sequence[Escalation]) -> list[str]:
    """What the promise is not."""
    return [
        "The promise is about the accepted items together, if the labels are a random sample of all: not about one "
        "item, nor about the accepted items of one system."
    ] * any(result.n_accepted for result in results)
