"""Sentences and pictures of a gate and of its plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.core.result import short
from calib.gate.judge_bars import JudgeCheck
from calib.gate.outcomes import GateCheck, GatePlan
from calib.table import figure
from calib.table.results import Results, words
from calib.table.text import place_of, plain_text, telling

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SAMPLE = "Of the build's outputs the labelled ones are a random sample."
_FIXED = "Judge, prompt, threshold and margin were fixed before anyone looked at these labels."
_CLAIMS = {
    "pass": "shown to lie above",
    "fail": "shown to lie below",
    "inconclusive": "not known to lie above or below",
}
_RESTS = {
    "own labels": _SAMPLE,
    "own and carried labels": "Of the outputs that changed, and of those that did not, the labelled ones are a random "
    "sample each; a label belongs to the text, whichever build wrote it.",
    "labels": "The labelled items are a random sample of those that the judge is to be used on.",
    "unchanged outputs": "Outputs that are the same to the letter are worth the same; of those that changed the "
    "labelled ones are a random sample.",
}


def gate_fact(results: Results[GateCheck]) -> str:
    """The outcome of one check, or how many of several have each."""
    outcomes = [one.outcome for one in results]
    if len(outcomes) == 1:
        return f"{outcomes[0]}: {results[0].numbers}"
    return ", ".join(f"{outcomes.count(kind)} {kind}" for kind in ("pass", "fail", "inconclusive") if kind in outcomes)


def gate_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[GateCheck]) -> list[str]:
    """What may be claimed of each check."""
    sentences = []
    for label, one in zip(labels, results, strict=True):
        names = {name: label[name] for name in ("criterion", "system") if label.get(name)}
        about = f"{words(names)}: " if names else ""
        of_mean = one.estimand == "human mean"
        beside = f"a threshold of {short(one.threshold)}" if of_mean else f"a margin of {short(-one.threshold)}"
        reason = f" ({one.reason})" if one.reason else ""
        numbers = "no estimate" if math.isnan(one.estimate) else f"{short(one.estimate)}, {one.bracket}"
        claim = f"is {_CLAIMS[one.outcome]} {beside}: {numbers}"
        sentences.append(f"{about}the {one.estimand} {claim}, from {one.n_labels} labels{reason}.")
    return sentences


def gate_assumptions(results: Iterable[GateCheck | JudgeCheck]) -> list[str]:
    """What must be true for the outcomes to hold."""
    rests = dict.fromkeys(_RESTS[one.evidence] for one in results if one.evidence in _RESTS)
    return [*rests, _FIXED] if rests else []


def gate_notes(results: Results[Any]) -> list[str]:
    """How often the gate is wrong."""
    errors = sorted({one.error for one in results})
    of_judge = isinstance(results[0], JudgeCheck)
    both = "A false trust and a false distrust" if of_judge else "A false pass and a false fail"
    return [f"{both} each have a chance of {100 * error:.3g} % at most." for error in errors]


def plan_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[GatePlan]) -> list[str]:
    """What a gate can tell, before it has labels."""
    named = [words({"criterion": label["criterion"]}) if label.get("criterion") else "" for label in labels]
    return [f"{name}{': ' * bool(name)}{one}." for name, one in zip(named, results, strict=True)]


_LOOKS = {"pass": ("#009E73", "o"), "fail": ("#D55E00", "s"), "inconclusive": ("#6E6E6E", "D")}


def gate(results: Results[Any] | GateCheck, *, ax: Axes | None = None) -> Axes:
    """Each check's interval beside its threshold, coloured by its outcome.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> verdict = calib.gate(judge, human, system="clean", threshold=3)
    >>> gate(verdict.checks).get_xlabel()
    'human mean less the threshold (90 % CI)'
    """
    results = figure.checked(GateCheck, results)
    drawn = figure.axes_of(ax)
    for height, one in enumerate(results):
        colour, mark = _LOOKS[one.outcome]
        low, high = (end - one.threshold for end in one.interval)
        if not np.isnan(low):
            drawn.hlines(height, low, high, colors=colour, linewidth=2)
            drawn.plot([one.estimate - one.threshold], [height], mark, color=colour, mfc="white", markersize=6)
    names = telling(results.labels) or ["criterion"]
    texts = [plain_text(" · ".join(place_of(label, names))) for label in results.labels]
    drawn.set_yticks(range(len(texts)), texts)
    drawn.set_ylim(len(texts) - 0.4, -0.6)
    drawn.axvline(0, color="black", linewidth=1)
    drawn.set_xlabel(f"{results[0].estimand} less the threshold ({100 * results[0].confidence_level:g} % CI)")
    kinds = [kind for kind in _LOOKS if any(one.outcome == kind for one in results)]
    handles = [figure.handle(kind, color=_LOOKS[kind][0], marker=_LOOKS[kind][1], mfc="white") for kind in kinds]
    figure.legend_above(drawn, handles, "", gate_fact(results))
    return figure.finished(drawn, ax)


def gate_plan(results: Results[Any] | GatePlan, *, ax: Axes | None = None) -> Axes:
    """Chances of a pass, a fail and neither over the true mean.

    Examples
    --------
    >>> from calib.stats import gate_plan as planned
    >>> gate_plan(planned(3.7, n_labels=40, n_items=100, bounds=(1, 5), step=1)).get_ylabel()
    'chance'
    """
    _, plan = figure.single_pair(results, GatePlan)
    drawn = figure.axes_of(ax)
    at, passed, failed = np.transpose(plan.curve)
    kinds = {"pass": "#009E73", "inconclusive": "#D9D9D9", "fail": "#D55E00"}
    drawn.stackplot(at, passed, 1 - passed - failed, failed, colors=list(kinds.values()), alpha=0.8, linewidth=0)
    drawn.axvline(plan.threshold, color="black", linewidth=1)
    unsure = np.flatnonzero((passed < 0.999) & (failed < 0.999))  # beyond, the outcome is sure
    drawn.set_xlim(at[max(unsure[0] - 1, 0)], at[min(unsure[-1] + 1, len(at) - 1)]) if len(unsure) else None
    drawn.set_ylim(0, 1)
    sizes = f"{plan.n_labels} labels, {plan.n_items} judge scores"
    drawn.set_xlabel(f"true mean (threshold at {plan.threshold:g}; {sizes})")
    drawn.set_ylabel("chance")
    handles = [figure.handle(name, color=colour, linewidth=6) for name, colour in kinds.items()]
    figure.legend_above(drawn, handles, "", "what the gate will say", columns=3)
    return drawn


plan_pictures = figure.one_each(gate_plan)
