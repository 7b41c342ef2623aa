"""Bias in words: what may be claimed, and what may not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.analysis.bias.instrumented import Effect, Instrumented
from calib.analysis.bias.rater_effects import RaterEffect, RaterEffects
from calib.core.result import Interval, short
from calib.table import figure
from calib.table.results import Results
from calib.table.text import each_once, telling, title_of, told_apart, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FAVOUR, SHOWN = "favour at equal quality", "what the leaderboard will show"
_CORRECTIONS = {"holm": "Holm", "by": "Benjamini-Yekutieli", "none": "no correction"}
_MOST = 6  # claims that a sentence names on each side


def bias_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[Instrumented]) -> list[str]:
    """For each judge and criterion what it favours at equal quality, what its leaderboard shows, and what is open."""
    lines = []
    for name, at in _by_judge(labels).items():
        of = [labels[i] for i in at], [results[i] for i in at]
        about = f"{visible(name)}: " if name else ""
        sentences = _of_bracket(*of) if all(one.n_raters == 1 for one in of[1]) else _of_instrument(*of)
        lines.append(about + " ".join(sentences))
    return lines


def _by_judge(labels: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Places of the claims about each judge on each criterion."""
    told = ("feature", "level", "unit")
    names = told_apart([{k: v for k, v in label.items() if k not in told} for label in labels])
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name, []).append(place)
    return found


def _of_instrument(labels: Sequence[Mapping[str, Any]], results: Sequence[Instrumented]) -> list[str]:
    first = results[0]
    level = 1 - first.confidence_level
    how = f"{_CORRECTIONS[first.correction]}, {first.n_claims} claims" if first.n_claims > 1 else "one claim"
    claims = list(zip(map(claim_in_words, labels), results, strict=True))
    even = [(name, one) for name, one in claims if not is_uneven(one)]
    favoured = [(name, one.estimate) for name, one in even if _p_alone(one) <= level]
    shown = [(name, one.difference.estimate) for name, one in claims if _p_apart(one) <= level]
    return [
        f"{FAVOUR.capitalize()} (p adjusted: {how}): {_two_sides(favoured)}.",
        f"{SHOWN.capitalize()}, beside people's: {_two_sides(shown)}.",
        *_of_uneven([(name, one) for name, one in claims if is_uneven(one)], level),
        *_open(even, len(favoured)),
    ]


def _of_uneven(claims: Sequence[tuple[str, Instrumented]], level: float) -> list[str]:
    """What leniency moves is told by the estimate that it does not move."""
    if not claims:
        return []
    favoured = [(name, one.centred.estimate) for name, one in claims if _p_favour(one) <= level]
    return [
        f"Annotators differ in how lenient they are, which moves {len(claims)} of these claims and is taken out of "
        f"them (`centred`): {_two_sides(favoured)}."
    ]


def is_uneven(one: Instrumented) -> bool:
    """Whether annotators' leniency moves the estimate, so that `centred` stands in its place."""
    return any(text.startswith("uneven_annotators") for text in one.warnings)


def _of_bracket(labels: Sequence[Mapping[str, Any]], results: Sequence[Instrumented]) -> list[str]:
    """With one annotator only what holds at each reliability may be claimed."""
    sure = [
        (name, one) for name, one in zip(map(claim_in_words, labels), results, strict=True) if _is_sure(one.interval)
    ]
    named = [f"{name} ({short(one.bracket.low)} to {short(one.bracket.high)})" for name, one in sure[:_MOST]]
    low, high = results[0].reliability
    told = ", ".join(named) + f" and {len(sure) - _MOST} more" * (len(sure) > _MOST) if named else "nothing"
    return [
        f"One annotator, whose errors are not known: whatever her reliability between {low:g} and {high:g}, {FAVOUR} "
        f"is seen for {told} (each claim at {100 * results[0].confidence_level:g} %, not adjusted). A second "
        "annotator on the same items would give an estimate in place of a range."
    ]


def _is_sure(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


def claim_in_words(label: Mapping[str, Any]) -> str:
    """What a claim is about."""
    return visible(" ".join(filter(None, (str(label.get("feature", "x")), str(label.get("level", ""))))), 60)


def _p_alone(one: Instrumented) -> float:
    return one.p_value if math.isnan(one.p_adjusted) else one.p_adjusted


def _p_favour(one: Instrumented) -> float:
    if not is_uneven(one):
        return _p_alone(one)
    return one.centred.p_value if math.isnan(one.centred_p_adjusted) else one.centred_p_adjusted


def _p_apart(one: Instrumented) -> float:
    return one.difference.p_value if math.isnan(one.difference_p_adjusted) else one.difference_p_adjusted


def _two_sides(found: Sequence[tuple[str, float]]) -> str:
    """Which get more, and which less."""
    sides = {"more for": [one for one in found if one[1] > 0], "less for": [one for one in found if one[1] < 0]}
    parts = [f"{side} {_few(sorted(some, key=lambda one: -abs(one[1])))}" for side, some in sides.items() if some]
    return "; ".join(parts) or "nothing is told apart from 0"


def _few(found: Sequence[tuple[str, float]]) -> str:
    named = [f"{name} ({value:+.3g})" for name, value in found[:_MOST]]
    return ", ".join(named) + f" and {len(found) - _MOST} more" * (len(found) > _MOST)


def _open(claims: Sequence[tuple[str, Instrumented]], n_named: int) -> list[str]:
    """What was not seen is not ruled out: how large it may be."""
    known = [one for _, one in claims if not math.isnan(one.estimate)]
    refused = len(claims) - len(known)
    said = [f"Of {refused} claims nothing is said: annotators foretell each other too little."] if refused else []
    rest = [
        max(abs(one.interval.low), abs(one.interval.high)) for one in known if _p_alone(one) > 1 - one.confidence_level
    ]
    if rest and n_named < len(known):
        said.append(f"What is not named is not ruled out: these effects may be as large as {short(max(rest))} points.")
    return said


def bias_notes(results: Results[Instrumented]) -> list[str]:
    """What the numbers rest on."""
    said = [
        f'"{SHOWN.capitalize()}" is the judge less people, which counts a judge that spreads its scores less than '
        f'people do as kind to weak systems. "{FAVOUR.capitalize()}" compares items of one quality, and rests on '
        "annotators whose errors have nothing to do with each other: an error that all share is taken for quality."
    ]
    return said if any(one.n_raters > 1 for one in results) else []


def bias_fact(results: Results[Instrumented]) -> str:
    """How many claims hold at equal quality."""
    level = 1 - results[0].confidence_level
    if all(one.n_raters == 1 for one in results):
        return f"{sum(_is_sure(one.interval) for one in results)} of {len(results)} brackets exclude 0"
    n = sum(_p_favour(one) <= level for one in results)
    return f"at equal quality {n} of {len(results)} are not 0" + _adjusted_by(results[0])


def _adjusted_by(first: Instrumented) -> str:
    return "" if first.n_claims < 2 else f" ({_CORRECTIONS[first.correction]}, {first.n_claims} claims)"


# --- raters ---------------------------------------------------------------------------------------------------------


def rater_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[RaterEffects]) -> list[str]:
    """For each judge which of its habits lie outside people's own, and which do not."""
    return each_once(labels, results, lambda one: [_rater_sentence(one)])


def _rater_sentence(one: RaterEffects) -> str:
    sides: dict[bool, list[RaterEffect]] = {True: [], False: []}
    for effect in one.effects:
        sides[effect.inside].append(effect)
    out = "; ".join(f"{_habit(e)} {short(e.estimate)} (people {short(e.low)} to {short(e.high)})" for e in sides[False])
    inside = ", ".join(_habit(e) for e in sides[True])
    halo = "" if math.isnan(one.n_independent) else f" Its criteria count as {one.n_independent:.2g} independent ones."
    return (
        f"Outside the range of {one.n_raters} people: {out or 'nothing'}. Inside it, so no finding: "
        f"{inside or 'nothing'}.{halo} The range of a few people is not that of all people."
    )


def _habit(effect: RaterEffect) -> str:
    name = {"ends": "share of the ends", "top": "share of the top"}.get(effect.effect, effect.effect.replace("_", " "))
    return f"{name} on {visible(effect.criterion, 30)}" if effect.criterion else name


def rater_fact(results: Results[RaterEffects]) -> str:
    """How many habits lie outside people's own."""
    out = [sum(not effect.inside for effect in one.effects) for one in results]
    of = len(results[0].effects)
    return f"{min(out)}{f' to {max(out)}' if max(out) > min(out) else ''} of {of} habits outside people's own"


def estimates_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of a report: each estimator with its interval, what tells them apart left to the frame itself."""
    spare = [
        "std_error",
        "z",
        "p_value",
        "judge_less_people_p",
        "control_p",
        "control_low",
        "control_high",
        "judge_alone",
        "centred_p",
        "centred_low",
        "centred_high",
    ]
    spare += ["control_z", "judge_less_people_z", "people_alone_z", "centred_z", "n_claims", "n_raters"]
    return frame.drop(columns=[name for name in spare if name in frame])


# --- bias, drawn: both questions side by side -------------------------------------------------------------------------


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
