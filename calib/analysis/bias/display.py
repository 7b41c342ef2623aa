"""Sentences and plots of bias: what may be claimed, and what may not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calib.analysis.bias.instrumented import Effect, Instrumented
from calib.analysis.bias.rater_effects import RaterEffect, RaterEffects
from calib.core.result import Interval, short
from calib.table import figure
from calib.table.results import Results
from calib.table.text import each_once, title_of, told_apart, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FAVOUR, SHOWN = "favour at equal quality", "what the leaderboard will show"
_CORRECTIONS = {"holm": "Holm", "by": "Benjamini-Yekutieli", "none": "no correction"}
_MOST = 6  # claims that a sentence names on each side


def bias_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[Instrumented]) -> list[str]:
    """For each judge and criterion what it favours at equal quality, what its leaderboard shows, and what is open."""
    kinds = ("feature", "level", "unit")
    names = told_apart([{k: v for k, v in label.items() if k not in kinds} for label in labels])
    by_judge: dict[str, list[tuple[str, Instrumented]]] = {}  # the claims about each judge on each criterion
    for name, label, one in zip(names, labels, results, strict=True):
        claim = " ".join(filter(None, (str(label.get("feature", "x")), str(label.get("level", "")))))
        by_judge.setdefault(name, []).append((visible(claim, 60), one))
    lines = []
    for name, claims in by_judge.items():
        about = f"{visible(name)}: " if name else ""
        if any(one.n_raters > 1 for _, one in claims):
            lines.append(about + " ".join(_of_instrument(claims)))
            continue
        # with one annotator only what holds at each reliability may be claimed
        sure = [(name, one.bracket_interval) for name, one in claims if _is_sure(one.interval)]
        ranges = [f"{name} ({short(between.low)} to {short(between.high)})" for name, between in sure[:_MOST]]
        (low, high), level = claims[0][1].reliability, claims[0][1].confidence_level
        favoured = ", ".join(ranges) + f" and {len(sure) - _MOST} more" * (len(sure) > _MOST) if ranges else "nothing"
        lines.append(
            f"{about}One annotator, whose errors are not known: whatever her reliability between {low:g} and {high:g}, "
            f"{FAVOUR} is seen for {favoured} (each claim at {100 * level:g} %, not adjusted). A second annotator on "
            "the same items would give an estimate in place of a range."
        )
    return lines


def _of_instrument(claims: Sequence[tuple[str, Instrumented]]) -> list[str]:
    first = claims[0][1]
    level = 1 - first.confidence_level
    how = f"{_CORRECTIONS[first.correction]}, {first.n_claims} claims" if first.n_claims > 1 else "one claim"
    uneven = [(name, one) for name, one in claims if is_uneven(one)]
    even = [(name, one) for name, one in claims if not is_uneven(one)]
    favoured = [(name, one.estimate) for name, one in even if _p_alone(one) <= level]
    on_board = []
    for name, one in claims:
        p_value = one.judge_less_labels.p_value if math.isnan(one.difference_p_adjusted) else one.difference_p_adjusted
        if p_value <= level:
            on_board.append((name, one.judge_less_labels.estimate))
    sentences = [
        f"{FAVOUR.capitalize()} (p adjusted: {how}): {_two_sides(favoured)}.",
        f"{SHOWN.capitalize()}, beside people's: {_two_sides(on_board)}.",
    ]
    if uneven:  # what leniency moves is told by the estimate that it does not move
        centred = [(name, one.centred.estimate) for name, one in uneven if _p_favour(one) <= level]
        sentences.append(
            f"Annotators differ in how lenient they are, which moves {len(uneven)} of these claims and is taken out of "
            f"them (`centred`): {_two_sides(centred)}."
        )
    # what was not seen is not ruled out: how large it may be
    estimated = [one for _, one in even if not math.isnan(one.estimate)]
    if refused := len(even) - len(estimated):
        sentences.append(f"Of {refused} claims nothing is said: annotators foretell each other too little.")
    unseen = [max(map(abs, one.interval)) for one in estimated if _p_alone(one) > 1 - one.confidence_level]
    if unseen and len(favoured) < len(estimated):
        largest = f"these effects may be as large as {short(max(unseen))} points"
        sentences.append(f"What is not named is not ruled out: {largest}.")
    return sentences


def is_uneven(one: Instrumented) -> bool:
    """Whether annotators' leniency moves the estimate, so that `centred` stands in its place."""
    return any(text.startswith("uneven_annotators") for text in one.warnings)


def _is_sure(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


def _p_alone(one: Instrumented) -> float:
    return one.p_value if math.isnan(one.p_adjusted) else one.p_adjusted


def _p_favour(one: Instrumented) -> float:
    if not is_uneven(one):
        return _p_alone(one)
    return one.centred.p_value if math.isnan(one.centred_p_adjusted) else one.centred_p_adjusted


def _two_sides(effects: Sequence[tuple[str, float]]) -> str:
    """Which get more, and which less."""
    parts, ordered = [], sorted(effects, key=lambda one: -abs(one[1]))
    for side, sign in (("more for", 1), ("less for", -1)):
        named = [f"{name} ({value:+.3g})" for name, value in ordered if sign * value > 0]
        more = f" and {len(named) - _MOST} more" * (len(named) > _MOST)
        parts += [f"{side} {', '.join(named[:_MOST])}{more}"] if named else []
    return "; ".join(parts) or "nothing is told apart from 0"


def bias_notes(results: Results[Instrumented]) -> list[str]:
    """What the numbers rest on."""
    rests_on = [
        f'"{SHOWN.capitalize()}" is the judge less people, which counts a judge that spreads its scores less than '
        f'people do as kind to weak systems. "{FAVOUR.capitalize()}" compares items of one quality, and rests on '
        "annotators whose errors have nothing to do with each other: an error that all share is taken for quality."
    ]
    return rests_on if any(one.n_raters > 1 for one in results) else []


def bias_fact(results: Results[Instrumented]) -> str:
    """How many claims hold at equal quality."""
    level = 1 - results[0].confidence_level
    if all(one.n_raters == 1 for one in results):
        return f"{sum(_is_sure(one.interval) for one in results)} of {len(results)} brackets exclude 0"
    n, first = sum(_p_favour(one) <= level for one in results), results[0]
    adjusted = "" if first.n_claims < 2 else f" ({_CORRECTIONS[first.correction]}, {first.n_claims} claims)"
    return f"at equal quality {n} of {len(results)} are not 0{adjusted}"


def rater_text(one: RaterEffects) -> list[str]:
    """Which of a judge's habits lie outside people's own, and which do not."""
    outside = [
        f"{_habit(e)} {short(e.estimate)} (people {short(e.labels_low)} to {short(e.labels_high)})"
        for e in one.effects
        if not e.inside
    ]
    inside = ", ".join(_habit(e) for e in one.effects if e.inside) or "nothing"
    alone = one.n_independent
    halo = "" if math.isnan(alone) else f" Its criteria count as {alone:.2g} independent ones."
    return [
        f"Outside the range of {one.n_raters} people: {'; '.join(outside) or 'nothing'}. Inside it, so no finding: "
        f"{inside}.{halo} The range of a few people is not that of all people."
    ]


rater_sentences = partial(each_once, texts=rater_text)


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
    in_the_frame_alone = (
        "std_error z p_value judge_less_labels_p control_p control_low control_high judge_alone centred_p centred_low "
        "centred_high control_z judge_less_labels_z labels_alone_z centred_z n_claims n_raters"
    )
    return frame.drop(columns=[name for name in in_the_frame_alone.split() if name in frame])


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
    results = figure.checked(Instrumented, results)
    entries = []
    for label, one in zip(results.labels, results, strict=True):
        fact = label | {"level": label["level"] or label["feature"]} if "level" in label else label
        # with one annotator the middle of the bracket
        estimate = one.estimate if one.n_raters > 1 else sum(one.bracket_interval) / 2
        favour = Effect(estimate, one.std_error, one.z, one.p_value, Interval(*one.interval))
        effects = {FAVOUR: favour, SHOWN: one.judge_less_labels, CENTRED: one.centred}
        entries += [(fact, name, effect) for name, effect in effects.items()]
    centred = any(map(is_uneven, results))
    styles = {name: style for name, style in _STYLES.items() if name != CENTRED or centred}
    entries = [entry for entry in entries if entry[1] in styles]
    rows = figure.rows_of_series(ax, entries, styles, unnamed="feature")
    figure.zero_line(rows.ax)
    rows.ax.set_xlabel(f"judge points ({100 * results[0].confidence_level:g} % CI)")
    return rows.finished(bias_fact(results), against="people: ")


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
    results = figure.checked(RaterEffects, results)
    names, entries, dots = told_apart(results.labels), [], {}
    several = any(effect.criterion for one in results for effect in one.effects)
    for name, one in zip(names, results, strict=True):
        for effect in one.effects:
            fact = {"criterion": effect.criterion or "all criteria"} if several else {}
            fact["effect"] = effect.effect.replace("_", " ")
            entries.append((fact, name, figure.End(effect.estimate, effect.interval, one.confidence_level)))
            dots[tuple(fact.values())] = effect.labels
    styles = figure.styles_of({name: name or "judge" for name in names})
    rows = figure.rows_of_series(ax, entries, styles, names=[*entries[0][0]])
    for place, people in dots.items():
        rows.ax.plot(people, [rows.heights[place]] * len(people), "|", color="black", markersize=11, zorder=4)
    rows.ax.set_xlabel(f"judge ({100 * results[0].confidence_level:g} % CI)")
    handles = [*styles.values(), figure.handle("each person", color="black", marker="|", linestyle="")]
    return rows.finished(rater_fact(results), handles, title=title_of(results.labels, []))
