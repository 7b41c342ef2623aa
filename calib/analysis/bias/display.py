"""Sentences and plots of bias: what may be claimed, and what may not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calib.analysis.bias.instrumented import Effect, Instrumented
from calib.analysis.bias.rater_effects import RaterEffect, RaterEffects
from calib.core.result import Interval, short
from calib.core.text import shortlist
from calib.table import figure
from calib.table.results import Results
from calib.table.text import each_once, title_of, told_apart, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FAVOUR, SHOWN = "favour at equal quality", "what the leaderboard will show"
_CORRECTIONS = {"holm": "Holm", "by": "Benjamini-Yekutieli", "none": "no correction"}
_NOTHING = "no effect differs from 0"
_MOST = 6  # claims that a sentence names on each side
_MOST_ROWS = 30  # effects of a picture


def bias_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[Instrumented]) -> list[str]:
    """For each judge and criterion what it favours at equal quality, what its leaderboard shows, and what is open."""
    names = told_apart([{k: v for k, v in label.items() if k not in ("feature", "level", "unit")} for label in labels])
    by_judge: dict[str, list[_Claim]] = {}  # the claims about each judge on each criterion
    for name, label, one in zip(names, labels, results, strict=True):
        feature, value = (str(label.get(of, usual)) for of, usual in (("feature", "x"), ("level", "")))
        claim = _Claim(visible(f"{feature} {value}".strip(), 60), one, visible(_of_what(feature, value, one.unit), 60))
        by_judge.setdefault(name, []).append(claim)
    lines = []
    for name, claims in by_judge.items():
        about = f"{visible(name)}: " if name else ""
        if any(claim.one.n_raters > 1 for claim in claims):
            lines.append(about + " ".join(_of_instrument(claims)))
            continue
        # with one annotator only what holds at each reliability may be claimed
        sure = [claim for claim in claims if _is_sure(claim.one.interval)]
        ranges = [f"{claim.name} ({' to '.join(map(short, claim.one.bracket_interval))})" for claim in sure]
        (low, high), level = claims[0].one.reliability, claims[0].one.confidence_level
        favoured = f"{FAVOUR} for {shortlist(ranges, _MOST)}" if ranges else f"no {FAVOUR}"
        lines.append(
            f"{about}One annotator, whose errors are not known: whatever her reliability between {low:g} and {high:g}, "
            f"the data show {favoured} (each claim at {100 * level:g} %, not adjusted). A second annotator on "
            "the same items would give an estimate in place of a range."
        )
    return lines


class _Claim(NamedTuple):
    name: str
    one: Instrumented
    what: str  # what goes with one unit of it


def _of_what(feature: str, level: str, unit: str) -> str:
    if unit.startswith("doubling"):
        return f"per doubling of {feature}"
    if level or unit == "1":
        return f"of {feature} {level}" if level else f"per unit of {feature}"
    if unit.startswith("1 sd"):
        return f"per standard deviation of {feature}{unit[4:]}"
    if feature == "family":
        return "of the judge's own family"
    return f"with {feature}" if unit.startswith("1 = has") else f"with {feature} {unit.partition(' against ')[0]}"


def _of_instrument(claims: Sequence[_Claim]) -> list[str]:
    first = claims[0].one
    level = 1 - first.confidence_level
    how = f"{_CORRECTIONS[first.correction]}, {first.n_claims} claims" if first.n_claims > 1 else "one claim"
    on_board = []
    for name, one, _ in claims:
        p_value = one.judge_less_labels.p_value if math.isnan(one.difference_p_adjusted) else one.difference_p_adjusted
        if p_value <= level:
            on_board.append((name, one.judge_less_labels.estimate))
    favoured = [claim for claim in claims if _p_favour(claim.one) <= level]
    sentences = [
        f"At equal quality ({how}): {'; '.join(_favours(favoured)) or _NOTHING}.",
        f"On the leaderboard, against people's: {_two_sides(on_board)}.",
    ]
    # what was not seen is not ruled out: how large it may be
    estimated = [one for _, one, _ in claims if not math.isnan(one.estimate)]
    if refused := len(claims) - len(estimated):
        sentences.append(f"Of {refused} claims nothing is said: see their warnings.")
    unseen = [max(map(abs, one.interval)) for one in estimated if _p_favour(one) > level]
    if unseen:
        sentences.append(f"Effects that are not named may be as large as {max(unseen):.2g} points.")
    return sentences


def _favours(claims: Sequence[_Claim]) -> list[str]:
    """What the judge adds per unit of a number; and whose outputs get more than their labels explain, and less."""
    clauses, ordered = [], sorted(claims, key=lambda claim: -abs(claim.one.estimate))
    numbers = [claim for claim in ordered if claim.what.startswith("per ")]
    for _, one, what in numbers[:_MOST]:
        points = f"{'adds' if one.estimate > 0 else 'takes off'} {abs(one.estimate):.2g} points"
        clauses.append(f"{what} the judge {points} beyond what the labels show")
    clauses += [f"so for {len(numbers) - _MOST} more"] * (len(numbers) > _MOST)
    for side, sign in (("more", 1), ("less", -1)):
        some = [claim for claim in ordered if claim not in numbers and sign * claim.one.estimate > 0]
        if some:
            got = f"get {abs(some[0].one.estimate):.2g} points {side} than their labels explain"
            rest = [f"{claim.what} {abs(claim.one.estimate):.2g}" for claim in some[1:_MOST]]
            rest += [f"and {len(some) - _MOST} more"] * (len(some) > _MOST)
            clauses.append(", ".join([f"outputs {some[0].what} {got}", *rest]))
    return clauses


def _is_sure(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


def _p_favour(one: Instrumented) -> float:
    return one.p_value if math.isnan(one.p_adjusted) else one.p_adjusted


def _two_sides(effects: Sequence[tuple[str, float]]) -> str:
    """Which get more, and which less."""
    parts, ordered = [], sorted(effects, key=lambda one: -abs(one[1]))
    for side, sign in (("more for", 1), ("less for", -1)):
        named = [f"{name} ({value:+.3g})" for name, value in ordered if sign * value > 0]
        parts += [f"{side} {shortlist(named, _MOST)}"] if named else []
    return "; ".join(parts) or _NOTHING


def bias_notes(results: Results[Instrumented]) -> list[str]:
    """What the numbers rest on."""
    rests_on = [
        "At equal quality, items are compared that people rate alike. This needs annotators whose errors are "
        "independent: an error that all share counts as quality. The leaderboard shows the judge less people; a judge "
        "that spreads its scores less than people do then looks kind to weak systems."
    ]
    return rests_on if any(one.n_raters > 1 for one in results) else []


def bias_fact(results: Results[Instrumented]) -> str:
    """How many claims hold at equal quality."""
    level = 1 - results[0].confidence_level
    if all(one.n_raters == 1 for one in results):
        return f"{sum(_is_sure(one.interval) for one in results)} of {len(results)} brackets exclude 0"
    n, first = sum(_p_favour(one) <= level for one in results), results[0]
    adjusted = "" if first.n_claims < 2 else f" ({_CORRECTIONS[first.correction]}, {first.n_claims} claims)"
    return f"at equal quality {n} of {len(results)} effects differ from 0{adjusted}"


def rater_text(one: RaterEffects) -> list[str]:
    """Which of a judge's habits lie outside people's own, and which do not."""
    outside = [f"{_habit(e)} {short(e.estimate)} (people {short(e.labels_low)} to {short(e.labels_high)})"
               for e in one.effects if not e.inside]  # fmt: skip
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
        "std_error z p_value judge_less_labels_p control_p control_low control_high judge_alone control_z "
        "judge_less_labels_z labels_alone_z df n_claims n_raters"
    )
    return frame.drop(columns=[name for name in in_the_frame_alone.split() if name in frame])


_TERMS = {
    "leniency": "mean less people", "centrality": "spread over people's", "ends": "share of scores",
    "top": "share of scores", "halo": "correlation of criteria", "residual_halo": "halo beyond people's",
}  # fmt: skip
_STYLES = {
    FAVOUR: figure.Style("at equal quality", "#D55E00", "o"),
    SHOWN: figure.Style("on the leaderboard (judge less people)", "#6E6E6E", "D", hollow=True),
}


def bias(results: Results[Any] | Instrumented, *, ax: Axes | None = None) -> Axes:
    """Effects with both estimators: favour at equal quality, and what the leaderboard will show.

    With one annotator the first is a bracket, drawn as its interval. Of more than thirty effects those with the
    smallest p-values are drawn.

    Examples
    --------
    >>> from calib.stats import instrumented
    >>> raters = [[1, 2], [2, 2], [3, 4], [4, 4], [5, 4], [2, 1], [3, 3], [4, 5]] * 4
    >>> ax = bias(instrumented([2, 2, 3, 5, 4, 2, 3, 4] * 4, raters, [0, 1] * 16))
    >>> ax.get_xlabel()
    'judge points (95 % CI)'
    """
    every = figure.checked(Instrumented, results)
    kept = sorted(sorted(range(len(every)), key=lambda k: np.nan_to_num(every[k].p_value, nan=1.0))[:_MOST_ROWS])
    results, entries = Results.of((every.labels[k], every[k]) for k in kept), []
    for label, one in zip(results.labels, results, strict=True):
        what = {name: str(label.get(name, "")) for name in ("feature", "level")}
        row = f"{what['feature']} {what['level']}" if what["level"] else _of_what(what["feature"], "", one.unit)
        fact = {name: value for name, value in label.items() if name != "level"} | {"feature": row} if label else label
        # with one annotator the middle of the bracket
        estimate = one.estimate if one.n_raters > 1 else sum(one.bracket_interval) / 2
        favour = Effect(estimate, one.std_error, one.z, one.p_value, one.interval)
        entries += [(fact, FAVOUR, favour), (fact, SHOWN, one.judge_less_labels)]
    rows = figure.rows_of_series(ax, entries, _STYLES, step=0.5, unnamed="feature", pitch=1.2)
    figure.zero_line(rows.ax)
    some = f"\nthe {len(kept)} of {len(every)} with the smallest p" * (len(kept) < len(every))
    rows.ax.set_xlabel(f"judge points ({100 * results[0].confidence_level:g} % CI){some}")
    return rows.finished(bias_fact(every), against="people: ")


def rater_effects(results: Results[Any] | RaterEffects, *, ax: Axes | None = None) -> Axes:
    """Habits of judges with their intervals, beside each person's.

    Examples
    --------
    >>> from calib.stats import rater_effects as effects_of
    >>> people = [[1, 2], [2, 2], [3, 4], [4, 4], [5, 4], [4, 3], [3, 3], [1, 2]]
    >>> ax = rater_effects(effects_of([1, 2, 3, 4, 5, 4, 3, 2], people))
    >>> [text.get_text() for text in ax.get_yticklabels()][:2]
    ['leniency (mean less people)', "centrality (spread over people's)"]
    """
    results = figure.checked(RaterEffects, results)
    names, entries, dots = told_apart(results.labels), [], {}
    several = any(effect.criterion for one in results for effect in one.effects)
    for name, one in zip(names, results, strict=True):
        for effect in one.effects:
            fact = {"criterion": effect.criterion or "all criteria"} if several else {}
            fact["effect"] = f"{effect.effect.replace('_', ' ')} ({_TERMS[effect.effect]})"
            entries.append((fact, name, figure.End(effect.estimate, effect.interval, one.confidence_level)))
            dots[tuple(fact.values())] = effect.labels
    styles = figure.styles_of({name: name or "judge" for name in names})
    rows = figure.rows_of_series(ax, entries, styles, names=[*entries[0][0]])
    for place, people in dots.items():
        rows.ax.plot(people, [rows.heights[place]] * len(people), "|", color="black", markersize=11, zorder=4)
    rows.ax.set_xlabel(f"value of each habit ({100 * results[0].confidence_level:g} % CI)")
    handles = [*styles.values(), figure.handle("each person", color="black", marker="|", linestyle="")]
    return rows.finished(rater_fact(results), handles, title=title_of(results.labels, []))
