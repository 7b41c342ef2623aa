"""Calibrations, forecasts, sets and escalations in sentences, and tables for readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from calib.analysis.calibration.annotator_logit import averaged
from calib.core.result import Interval, bracket, short
from calib.stats import CalibrationMap, Escalation, ForecastQuality, ReliabilityCurve, ScoreSets
from calib.table.results import Results, words
from calib.table.text import Block, each_once, number_span, told_apart, visible


def map_sentences(labels: Sequence[dict[str, Any]], results: Sequence[CalibrationMap]) -> list[str]:
    """The skill of each judge, what its most frequent score means, and its lowest and highest, and what to mind."""
    sentences = []
    for label, result in zip(labels, results, strict=True):
        table = result.shown
        often, last = int(np.argmax(table.n)), len(table.x) - 1
        about = f"{words({k: v for k, v in label.items() if k != 'against'})}: " if label else ""
        about += f"{result.skill_words}. " * bool(result.skill_words)
        if result.without_skill:
            shows = f"On these {result.n} labelled items the score does not predict people's labels clearly, so what"
            what = "What" if math.isnan(result.skill) else shows
            at = " --at ".join(map(short, table.x[:5]))
            sentences.append(f"{about}{what} each score means is left out: `.to_frame()` has it, in a shell --at {at}.")
            continue
        ends = bracket(Interval(table.low[often], table.high[often]), result.confidence_level)
        interval = f"({ends} of the map)" if ends != "no interval" else "(no interval: one group of labels)"
        others = [f"; {short(table.x[i])} means {short(table.mean[i])}" for i in dict.fromkeys((0, last)) if i != often]
        top = result.levels[-2:] if len(result.levels) > 2 else result.levels[-1:]
        share = f"{100 * table.p[often, -len(top) :].sum():.0f} % of them {' or '.join(map(short, top))}"
        beside = " (on average over what else the map reads)" * (len(result.slopes) > 1 and not result.own_only)
        means = f"means: people would say {short(table.mean[often])} on average {interval}, {share}{''.join(others)}"
        begins = f"{about}{'A' if result.skill_words else 'a'} judge score of {short(table.x[often])}{beside}"
        sentence = f"{begins} {means}; from {result.n} labelled items."
        skill = {one.forecast: f"{one.skill:.3f}" for one in result.forecasters}
        if skill:
            # the spread of persons as labels: what a strict and a lenient one say of the most frequent score
            at = result.x[np.argmax(result.counts.sum(axis=1))]
            eta = result.slopes @ at + result.tau * np.array([-1.0, 1.0])
            strict, lenient = averaged(result.thresholds, eta, np.zeros(2)) @ result.levels
            sentence += (
                f" People differ (tau {short(result.tau)} on the log-odds): of a score of {short(at[0])} a strict "
                f"person, one standard deviation from the average one, says {short(strict)} on average, a lenient one "
                f"{short(lenient)}. Skill on texts not used in the fit: {skill['annotators']} from annotators alone, "
                f"{skill['judge']} from the judge alone, {skill['judge and annotators']} from both."
            )
        sentences.append(sentence)
    return sentences


def map_fact(results: Results[CalibrationMap]) -> str:
    """How far the mean of people goes while the judge goes from one end to the other."""
    spans = []
    for name, result in zip(told_apart(results.labels), results, strict=True):
        x, mean = result.shown.x, result.shown.mean
        span = f"judge {short(x[0])} to {short(x[-1])}, people on average {short(mean[0])} to {short(mean[-1])}"
        span += ", no skill shown" * result.without_skill
        spans.append(f"{visible(name, 30)}: {span}" if name else span)
    return "; ".join(spans)


def map_blocks(results: Results[CalibrationMap]) -> list[Block]:
    """Where a map knows persons: what is forecast without the judge, and each person's shift."""
    blocks = []
    for judge, result in zip(told_apart(results.labels), results, strict=True):
        if not result.shifts:
            continue
        name = f" ({visible(judge)})" if judge else ""
        skills = [(one.forecast, one.skill, one.rps, one.log_score) for one in result.forecasters]
        frame = pd.DataFrame(skills, columns=["known", "skill", "RPS", "log score"])
        blocks.append(Block(f"What labels of other texts are forecast by{name}", frame))
        shifts = [(visible(one.annotator), one.shift, one.std_error, one.n) for one in result.shifts]
        frame = pd.DataFrame(shifts, columns=["annotator", "shift", "std. error", "labels"])
        says = ["On the log-odds of a higher label: above 0 she gives higher labels than the average person."]
        blocks.append(Block(f"How each person differs{name}", frame, says))
    return blocks


def what_readers_want(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame without the ends of a second interval, and of more than 25 rows of sets equal ones as one row.

    Of maps only those with skill; in an escalation labels may count.
    """
    if "n_at" in frame:
        none = frame["skill"].isna() & ("criterion" in frame)
        frame = frame[~(frame["skill_low"] <= 0) & ~none].drop(columns=["skill", "skill_low", "skill_high"])
    frame = frame.rename(columns={"n_groups": "n_counting"}) if "accepted_share" in frame else frame
    frame = frame.drop(columns=["rps_low", "rps_high", "form"], errors="ignore")
    if not {"nearest", "n_items"} <= set(frame) or len(frame) <= 25:
        return frame
    # scores in order, a row for each run of those that have the same set, at the place of its first
    same = frame.drop(columns=["score", "nearest", "n_items"]).map(str)
    begins = (same != same.shift()).any(axis=1)
    rows = frame.drop(columns="nearest").groupby(begins.cumsum())
    ends = rows["score"].last().rename("score_to")
    runs = rows.first().assign(n_items=rows["n_items"].sum())
    runs.insert(runs.columns.get_loc("score") + 1, "score_to", ends)
    return runs.set_axis(frame.index[begins])


def forecast_text(result: ForecastQuality) -> list[str]:
    """What it brings beyond no judge, what recalibration would bring, and whether it speaks of chances."""
    what = "The judge's number as a forecast" if result.kind == "number" else "The forecast"
    sentences = [f"{what} of what people say {beside_no_judge(result)}: skill {short(result.skill)}, {result.bracket}."]
    parts = result.crossfitted
    if parts.unc > 0 and not math.isnan(parts.mcb):
        better = "be no better" if parts.mcb <= 0 else f"have a skill of {short(parts.dsc / parts.unc)}"
        sentences.append(f"Recalibrated on other groups' labels it would {better}.")
    missed = f"{result.n_impossible} of {result.n} labels"
    if result.kind == "number":
        sentences.append("A single score gives no probabilities: calibrate it first.")
    elif result.sure:
        sentences.append(f"Each forecast gives one label probability 1, and {missed} are others: calibrate first.")
    elif result.n_impossible:
        infinite = math.isinf(result.log_score)
        log = "the log score is infinite" if infinite else f"a floor of {result.floor:g} hides it"
        sentences.append(f"{missed} had no chance at all: {log}.")
    return [" ".join(sentences)]


forecast_sentences = partial(each_once, texts=forecast_text)


def beside_no_judge(result: ForecastQuality) -> str:
    """Better or worse than the shares of other labels, the same for every item."""
    low, high = result.interval
    if math.isnan(result.skill):
        return "cannot be compared with no judge, as labels are all alike or of a single group"
    if math.isnan(low):
        return f"is {'no ' * (result.skill <= 0)}better than no judge on these labels, which all score alike"
    if low > 0:
        return "is better than no judge (the labels' shares)"
    return "is worse than no judge (the labels' shares)" if high < 0 else "is not clearly better than no judge"


def forecast_fact(results: Results[ForecastQuality]) -> str:
    """The skill, or the lowest and the highest of several."""
    if len(results) == 1:
        return f"it {beside_no_judge(results[0])}, skill {results[0].skill:.2f}"
    order = sorted(range(len(results)), key=lambda i: results[i].skill)
    names = told_apart(results.labels)
    ends = " to ".join(f"{results[i].skill:.2f} ({visible(names[i], 30)})" for i in (order[0], order[-1]))
    return f"skill from {ends}"


def curve_fact(result: ForecastQuality, curve: ReliabilityCurve) -> str:
    """Where what came is farthest from what was forecast."""
    mean = math.isnan(curve.above)
    if result.kind == "number" and not mean:
        low, high = (f"{100 * curve.observed[end]:.0f} %" for end in (0, -1))
        return f"{low} of the lowest scores have a label above {short(curve.above)}, {high} of the highest"
    far = np.argmax(np.abs((curve.observed - curve.forecast) * curve.share**0.5))
    ends = curve.forecast[far], curve.observed[far]
    forecast, came = (f"{value:.2f}" if mean else f"{100 * value:.0f} %" for value in ends)
    return f"where {forecast} is forecast {f'people give {came}' if mean else f'{came} came'}"


def pit_fact(result: ForecastQuality) -> str:
    """Which way the labels lie in their forecasts, where that is more than two errors from an even spread."""
    pit = result.pit
    mean, ends, even = sum((i + 0.5) / len(pit) * share for i, share in enumerate(pit)), pit[0] + pit[-1], 2 / len(pit)
    if abs(mean - 0.5) > max(0.05, 2 * math.sqrt(1 / 12 / result.n_groups)):
        where = f"the mean PIT of the labels is {mean:.2f} (0.5 is right)"
        return f"the forecasts are too {'high' if mean < 0.5 else 'low'}: {where}"
    if abs(ends - even) > max(0.05, 2 * math.sqrt(even * (1 - even) / result.n_groups)):
        return f"the forecasts are {'too sure' if ends > even else 'not sure enough'} of themselves"
    return f"labels lie evenly in their forecasts, as far as {result.n} labels tell"


def sets_text(result: ScoreSets) -> list[str]:
    """How wide the sets are, how surely they hold, and that they are no gate where they are none."""
    level = f"{100 * result.level:g} %"
    if all(cell.k > cell.n for cell in result.cells):
        return [f"There are too few labels ({result.n}) for {level} sets: each is the whole scale."]
    cells = " in each cell" * (len(result.cells) > 1)
    surely = f"with one in twenty samples of {result.n} labels fewer than {100 * result.coverage_low:.3g} %{cells}"
    singles = f"{100 * result.singles:.3g} % of {len(result.row)} items"
    gate = "" if result.decides else "; they are too wide to decide single items"
    return [
        f"{level} of the sets hold what people would say ({surely}); they have {short(result.mean_size)} labels of "
        f"{len(result.levels)} on average, and one label for {singles}{gate}."
    ]


sets_sentences = partial(each_once, texts=sets_text)


def sets_fact(results: Results[ScoreSets]) -> str:
    """How wide the sets are."""
    most, levels = {len(result.levels) for result in results}, {f"{100 * result.level:g} %" for result in results}
    of = f" of {most.pop()}" if len(most) == 1 else ""
    return f"{' and '.join(sorted(levels))} sets have {number_span([one.mean_size for one in results])} labels{of}"


def sets_notes(results: Results[ScoreSets]) -> list[str]:
    """What sets do not say, and how they were made."""
    notes = [
        "The coverage of the sets is an average over samples of labels and new items, not a probability for each item; "
        "labelled items do not test it."
    ]
    if filled := sum(result.n_filled for result in results):
        notes.append(f"{filled} sets were empty, and have the label nearest to the middle of what people say.")
    if any(result.method == "split" for result in results):
        notes.append("In the split form one half of the labels is fitted, and the other half gives the quantile.")
    return notes


def escalation_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[Escalation]) -> list[str]:
    """What the judge may decide, what goes to people, and what that costs; a sentence or two for each."""
    names = told_apart([{k: v for k, v in label.items() if k != "rater"} for label in labels])
    sentences = []
    for name, label, result in zip(names, labels, results, strict=True):
        judge = visible(label.get("rater", "judge"))
        judge = "the judge" if judge == "judge" else judge
        costs = f" That costs {result.cost:.6g}, people for all {result.cost_of_labels:.6g}."
        cost, why = costs * (not math.isnan(result.cost)), f" {_with_capital(result.why)}." * bool(result.why)
        if result.n_accepted:
            many = " (which holds for many labels, as the confidence was learned from the same ones)"
            own = {None: "", 0: f" (on all of them {judge}'s own verdict)"}
            changed = own.get(result.n_not_own, f" (on {result.n_not_own} of them not {judge}'s own verdict)")
            does = (
                f"{result.whose.replace('the judge', judge)} may decide {100 * result.accepted_share:.3g} % of the "
                f"{result.n} items alone{changed}. {_with_capital(result.promise())}{'' if result.exact else many}. "
                f"{_with_capital(result.beside)}. {result.for_people}"
            )
        elif result.test.needless or result.test.unbeaten:
            reason = "as it adds nothing" if result.test.needless else "as the labels do not show that it adds anything"
            does = f"{judge} may decide none of the {result.n} items alone, {reason}: {result.why}"
        else:
            few = f"{result.n_labels} labels do not show, for a share of them, that {result.promise('the')}"
            does, cost = f"{judge} may decide none of the {result.n} items alone: {few}", f"{why}{cost}"
        named = judge != "the judge" and does.startswith(judge)  # a name stays as it is
        sentences.append(f"{name}{': ' * bool(name)}{does if named else _with_capital(does)}.{cost}")
    return sentences


def _with_capital(text: str) -> str:
    """As a sentence begins."""
    return text[:1].upper() + text[1:]


def accept_fact(results: Sequence[Any]) -> str:
    """The title of a picture: what share is accepted."""
    shares = [one.accepted_share if hasattr(one, "accepted_share") else one.accepted for one in results]
    decider = {"calibrated": "the map", "votes": "votes"}
    whose = dict.fromkeys(
        f"{decider.get(one.confidence, 'the judge')} ({one.verdict})" for one in results if hasattr(one, "verdict")
    )
    by = f" by {' and '.join(whose)}" * bool(whose)
    decided = f"{number_span([100 * share for share in shares])} % decided without people{by}"
    return decided if any(shares) else "nothing can be accepted"


def escalation_notes(results: Results[Escalation]) -> list[str]:
    """What the promise is not."""
    within = any("system" in label for label in results.labels)
    beyond = ", nor about the accepted items of one system, which by='system' (--by system) has"
    system = "of each system by themselves: not about one item, nor about all systems at once"
    about = system if within else f"together, if the labels are a random sample of all: not about one item{beyond}"
    return [
        f"The promise is about the accepted items {about}. It is about one rule, fixed before: to take the best of m "
        "judges or thresholds afterwards, ask each with a confidence level of 1 - (1 - level) / m."
    ] * any(result.n_accepted for result in results)
