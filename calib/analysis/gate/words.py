"""The gate in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.analysis.gate.gate_outcomes import GateCheck
from calib.analysis.gate.gate_plan import GatePlan
from calib.core.result import bracket, short
from calib.tables.results import words

if TYPE_CHECKING:
    from calib.tables.results import Results

_SAMPLE = "Of the build's outputs the labelled ones are a random sample."
_FIXED = "Judge, prompt, line and margin were fixed before anyone looked at these labels."
_RESTS = {
    "own labels": _SAMPLE,
    "own and carried labels": "Of the outputs that changed, and of those that did not, the labelled ones are a random "
    "sample each; a label belongs to the text, whichever build wrote it.",
    "unchanged outputs": "Outputs that are the same to the letter are worth the same; of those that changed the "
    "labelled ones are a random sample.",
}


def gate_fact(results: Results[GateCheck]) -> str:
    """Of one check its outcome, of several how many of each."""
    outcomes = [one.outcome for one in results]
    if len(outcomes) == 1:
        return f"{outcomes[0]}: {results[0].numbers}"
    return ", ".join(f"{outcomes.count(kind)} {kind}" for kind in ("pass", "fail", "inconclusive") if kind in outcomes)


def gate_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[GateCheck]) -> list[str]:
    """What may be claimed of each check."""
    return [_gate_sentence(label, one) for label, one in zip(labels, results, strict=True)]


def _gate_sentence(label: Mapping[str, Any], one: GateCheck) -> str:
    named = {name: label[name] for name in ("criterion", "system") if label.get(name)}
    about = f"{words(named)}: " if named else ""
    beside = f"a line of {short(one.line)}" if one.estimand == "human mean" else f"a margin of {short(-one.line)}"
    told = {
        "pass": f"shown to lie above {beside}",
        "fail": f"shown to lie below {beside}",
        "inconclusive": f"not known to lie above or below {beside}",
    }[one.outcome]
    reason = f" ({one.reason})" if one.reason else ""
    ends = bracket(one.interval, one.confidence_level)
    numbers = "no estimate" if math.isnan(one.estimate) else f"{short(one.estimate)}, {ends}"
    return f"{about}the {one.estimand} is {told}: {numbers}, from {one.n_gold} labels{reason}."


def gate_assumptions(results: Iterable[GateCheck]) -> list[str]:
    """What must be true for the outcomes to hold."""
    rests = dict.fromkeys(_RESTS[one.evidence] for one in results if one.evidence in _RESTS)
    return [*rests, _FIXED] if rests else []


def gate_notes(results: Results[GateCheck]) -> list[str]:
    """How often the gate is wrong."""
    errors = sorted({one.error for one in results})
    return [f"A false pass and a false fail each have a chance of {100 * error:.3g} % at most." for error in errors]


def plan_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[GatePlan]) -> list[str]:
    """What a gate can tell, before it has labels."""
    named = [{name: label[name] for name in ("criterion",) if label.get(name)} for label in labels]
    pairs = zip(named, results, strict=True)
    return [f"{f'{words(name)}: ' if name else ''}{one}." for name, one in pairs]
