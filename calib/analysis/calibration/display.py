"""The display of calibrations, forecasts, sets and escalations: sentences, tables for readers, pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from calib.analysis.calibration.annotator_logit import averaged
from calib.core.check import ArgumentError
from calib.core.result import Interval, bracket, short
from calib.stats import AcceptThreshold, CalibrationMap, Escalation, ForecastQuality, ReliabilityCurve, ScoreSets
from calib.table import figure
from calib.table.results import Results, words
from calib.table.text import Block, each_once, number_span, plain_text, title_of, told_apart, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = 7  # curves in one picture
_MARKED = 12  # forecasts that are marked one by one
_MOST_SHADES = 11  # sizes of sets that a legend names one by one
_IN_FULL = 25  # rows, from which on scores with the same set are one


def map_sentences(labels: Sequence[dict[str, Any]], results: Sequence[CalibrationMap]) -> list[str]:
    """What the most frequent score of each judge means, what its lowest and highest do, and what has to be minded."""
    sentences = []
    for label, result in zip(labels, results, strict=True):
        table = result.shown
        often, last = int(np.argmax(table.n)), len(table.x) - 1
        about = f"{words({k: v for k, v in label.items() if k != 'against'})}: " if label else ""
        ends = bracket(Interval(table.low[often], table.high[often]), result.confidence_level)
        interval = f"({ends} of the map)" if ends != "no interval" else "(no interval: one group of labels)"
        others = [f"; {short(table.x[i])} means {short(table.mean[i])}" for i in dict.fromkeys((0, last)) if i != often]
        top = result.levels[-2:] if len(result.levels) > 2 else result.levels[-1:]
        share = f"{100 * table.p[often, -len(top) :].sum():.0f} % of them {' or '.join(map(short, top))}"
        beside = " (on average over what else the map reads)" * (len(result.slopes) > 1 and not result.own_only)
        means = f"means: people would say {short(table.mean[often])} on average {interval}, {share}{''.join(others)}"
        sentence = f"{about}a judge score of {short(table.x[often])}{beside} {means}; from {result.n} labelled items."
        skill = {one.forecast: f"{one.skill:.3f}" for one in result.forecasters}
        if skill:
            # the spread of persons as labels: what a strict and a lenient one say of the most frequent score
            at = result.x[np.argmax(result.counts.sum(axis=1))]
            eta = result.slopes @ at + result.tau * np.array([-1.0, 1.0])
            strict, lenient = averaged(result.thresholds, eta, np.zeros(2)) @ result.levels
            sentence += (
                f" People differ (tau {short(result.tau)} on the log-odds): of a score of {short(at[0])} a strict "
                f"person, one standard deviation from the average one, says {short(strict)} on average, a lenient one "
                f"{short(lenient)}. Of other texts who rated, without the judge, forecasts labels with a skill of "
                f"{skill['annotators']}, the judge with {skill['judge']}, both with {skill['judge and annotators']}."
            )
        sentences.append(sentence)
    return sentences


def map_fact(results: Results[CalibrationMap]) -> str:
    """How far the mean of people goes while the judge goes from one end to the other."""
    spans = []
    for name, result in zip(told_apart(results.labels), results, strict=True):
        x, mean = result.shown.x, result.shown.mean
        span = f"judge {short(x[0])} to {short(x[-1])}, people on average {short(mean[0])} to {short(mean[-1])}"
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
    """A frame without the ends of a second interval, and scores with the same set as one row; `to_frame` has all.

    In an escalation labels may count.
    """
    frame = frame.rename(columns={"n_groups": "n_counting"}) if "accepted_share" in frame else frame
    frame = frame.drop(columns=["rps_low", "rps_high", "form"], errors="ignore")
    if not {"nearest", "n_items"} <= set(frame) or len(frame) <= _IN_FULL:
        return frame
    # scores in order, a row for each run of those that have the same set, at the place of its first
    same = frame.drop(columns=["score", "nearest", "n_items"]).astype(object).fillna("")
    begins = (same != same.shift()).any(axis=1)
    rows = frame.drop(columns="nearest").groupby(begins.cumsum())
    ends = rows["score"].last().rename("score_to")
    runs = rows.first().assign(n_items=rows["n_items"].sum())
    runs.insert(runs.columns.get_loc("score") + 1, "score_to", ends)
    return runs.set_axis(frame.index[begins])


def forecast_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[ForecastQuality]) -> list[str]:
    """For each what it brings beyond no judge, what recalibration would bring, and whether it speaks of chances."""
    return each_once(labels, results, _forecast_words)


def _forecast_words(result: ForecastQuality) -> list[str]:
    what = "The judge's number as a forecast" if result.kind == "number" else "The forecast"
    sentences = [f"{what} of what people say {beside_no_judge(result)}: skill {short(result.skill)}, {result.bracket}."]
    parts = result.crossfitted
    if parts.unc > 0 and not math.isnan(parts.mcb):
        better = "be no better" if parts.mcb <= 0 else f"have a skill of {short(parts.dsc / parts.unc)}"
        sentences.append(f"Recalibrated on other groups' labels it would {better}.")
    missed = f"{result.n_impossible} of {result.n} labels"
    if result.kind == "number":
        sentences.append("A number speaks of no chance: calibrate it to have some.")
    elif result.sure:
        sentences.append(f"Each forecast is sure of itself, and {missed} came otherwise: calibrate it to have chances.")
    elif result.n_impossible:
        infinite = math.isinf(result.log_score)
        log = "the log score is infinite" if infinite else f"a floor of {result.floor:g} hides it"
        sentences.append(f"{missed} had no chance at all: {log}.")
    return [" ".join(sentences)]


def beside_no_judge(result: ForecastQuality) -> str:
    """Better or worse than the shares of other labels, the same for every item."""
    low, high = result.interval
    if math.isnan(result.skill):
        return "cannot be compared with no judge, as labels are all alike or of a single group"
    if math.isnan(low):
        return f"is {'no ' * (result.skill <= 0)}better than no judge on these labels, which all score alike"
    if low > 0:
        return "is better than no judge (the labels' shares)"
    return "is worse than no judge (the labels' shares)" if high < 0 else "is not told apart from no judge"


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
        where = f"on average labels lie at {100 * mean:.0f} % of their way up (50 % is right)"
        return f"the forecasts are too {'high' if mean < 0.5 else 'low'}: {where}"
    if abs(ends - even) > max(0.05, 2 * math.sqrt(even * (1 - even) / result.n_groups)):
        return f"the forecasts are {'too sure' if ends > even else 'not sure enough'} of themselves"
    return f"labels lie evenly in their forecasts, as far as {result.n} labels tell"


def sets_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[ScoreSets]) -> list[str]:
    """How wide the sets are, how surely they hold, and that they are no gate where they are none."""

    def sentence(result: ScoreSets) -> list[str]:
        level = f"{100 * result.level:g} %"
        if all(cell.k > cell.n for cell in result.cells):
            return [f"There are too few labels ({result.n}) for {level} sets: each is the whole scale."]
        cells = " in each cell" * (len(result.cells) > 1)
        surely = f"with one in twenty samples of {result.n} labels fewer than {100 * result.coverage_low:.3g} %{cells}"
        gate = "" if result.decides else "; such sets are no gate"
        return [
            f"{level} of the sets hold what people would say ({surely}); they have {short(result.mean_size)} labels of "
            f"{len(result.levels)} on average, and one label for {100 * result.singles:.3g} % of {len(result.row)} "
            f"items{gate}."
        ]

    return each_once(labels, results, sentence)


def sets_fact(results: Results[ScoreSets]) -> str:
    """How wide the sets are."""
    most, levels = {len(result.levels) for result in results}, {f"{100 * result.level:g} %" for result in results}
    of = f" of {most.pop()}" if len(most) == 1 else ""
    return f"{' and '.join(sorted(levels))} sets have {number_span([one.mean_size for one in results])} labels{of}"


def sets_notes(results: Results[ScoreSets]) -> list[str]:
    """What has to be minded."""
    notes = [
        "The sets hold as often as they say on the average over samples of labels and new items, not for each item; "
        "labelled items are no test of them."
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
        who = f"{name}{': ' * bool(name)}{'The judge' if judge == 'judge' else judge}"
        sure, most = f"{100 * result.confidence_level:g} %", f"{100 * result.risk:g} %"
        costs = f" That costs {result.cost:.6g}, people for all {result.cost_of_labels:.6g}."
        cost = costs * (not math.isnan(result.cost))
        if result.n_accepted:
            many = " (which holds for many labels, as the confidence was learned from the same ones)"
            sentences.append(
                f"{who} may decide {100 * result.accepted_share:.3g} % of the {result.n} items alone: with {sure} "
                f"confidence at most {most} of these verdicts ({result.verdict}) differ from people's"
                f"{'' if result.exact else many}; {result.for_people}.{cost}"
            )
            continue
        nearest = result.test.nearest_words
        near = f" {nearest[0].upper()}{nearest[1:]}." if nearest else ""
        sentences.append(
            f"{who} may decide none of the {result.n} items alone: {result.n_labels} labels do not show, with {sure} "
            f"confidence, a share of them of which at most {most} of the verdicts ({result.verdict}) differ from "
            f"people's.{near}{cost}"
        )
    return sentences


def accept_fact(results: Sequence[Any]) -> str:
    """The title of a picture: what share is accepted."""
    shares = [one.accepted_share if hasattr(one, "accepted_share") else one.accepted for one in results]
    decided = f"{number_span([100 * share for share in shares])} % decided by judges alone"
    return decided if any(shares) else "nothing can be accepted"


def escalation_notes(results: Sequence[Escalation]) -> list[str]:
    """What the promise is not."""
    return [
        "The promise is about the accepted items together, if the labels are a random sample of all: not about one "
        "item, nor about the accepted items of one system."
    ] * any(result.n_accepted for result in results)


# --- pictures ---------------------------------------------------------------------------------------------------------


def calibration(result: Results[Any] | CalibrationMap, *, ax: Axes | None = None) -> Axes:
    """What people say on average at each score of a judge: the map with the interval of it, and the labels.

    The area of a dot is the number of labels of that value at that score. Where the map reads more than the judge's
    own score, its line is the average over what else it read.

    Parameters
    ----------
    result : Results or CalibrationMap
        One map, such as ``calibration["fluency"]``.

    Examples
    --------
    >>> from calib.stats import calibration_map
    >>> ax = calibration(calibration_map([1, 2, 3, 4] * 5, [1, 3, 2, 4, 2] * 4, levels=[1, 2, 3, 4]))
    >>> ax.get_ylabel()
    "people's label"
    """
    label, single = figure.single_pair(result, CalibrationMap)
    drawn, colour = figure.axes_of(ax), figure.COLOURS[0]
    if len(single.slopes) > 1 and not single.own_only:
        at, mean, low, high = single.shown[:4]
    else:
        x = np.zeros((101, len(single.slopes)))
        at = x[:, 0] = np.linspace(single.x[:, 0].min(), single.x[:, 0].max(), 101)
        mean = single.predict(x) @ single.levels
        low, high = single.band(x, mean)
    # one dot for each score and label that came together
    row, place = np.nonzero(single.counts)
    dots, which = np.unique(np.c_[single.x[row, 0], single.levels[place]], axis=0, return_inverse=True)
    n = np.bincount(which.ravel(), single.counts[row, place])
    drawn.scatter(dots[:, 0], dots[:, 1], 4 + 250 * n / n.max(), color=figure.GREY, alpha=0.45, linewidths=0, zorder=1)
    if not np.isnan(low).any():
        drawn.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0, zorder=2)
    drawn.plot(at, mean, color=colour, zorder=3)
    drawn.set(xlabel="judge's score", ylabel="people's label")
    if len(single.levels) <= 11:
        drawn.set_yticks(single.levels)
    margin = 0.06 * np.ptp(single.levels)
    drawn.set_ylim(single.levels[0] - margin, single.levels[-1] + margin)
    if len(scores := np.unique(single.x[:, 0])) <= _MOST_SHADES and len(single.x[0]) == 1:
        drawn.set_xticks(scores, list(map(short, scores)))
    handles = [
        figure.handle(f"mean of people, {100 * single.confidence_level:g} % band of the map", color=colour),
        figure.handle(f"labels (area: how many; {short(single.n)} items)", color=figure.GREY, marker="o", linestyle=""),
    ]
    figure.legend_above(drawn, handles, title_of([label], []), map_fact(Results.of([(label, single)])))
    return drawn


map_pictures = figure.one_each(calibration)


def corp(results: Results[Any] | ForecastQuality, *, above: float | None = None, ax: Axes | None = None) -> Axes:
    """What people said beside what was forecast: the reliability diagram of CORP, which has no bins.

    The line is the isotonic regression of the labels on the forecasts. Of several results there is a line each.

    Parameters
    ----------
    above : float, optional
        Draw the chance of a label above this level. Default: of two levels that chance, else the mean label.

    Examples
    --------
    >>> from calib.stats import forecast_quality
    >>> ax = corp(forecast_quality([0.1, 0.4, 0.4, 0.8] * 20, [0, 0, 1, 1] * 20))
    >>> ax.get_xlabel()
    'chance of a label above 0, as forecast   (n = 80 labels)'
    """
    results = figure.checked(ForecastQuality, results)
    one, curves = results[0], []
    for result in results:
        usual = result.curves[0 if len(result.levels) == 2 else -1]
        same = [usual] if above is None else [curve for curve in result.curves if curve.above == above]
        if not same:
            there = ", ".join(map(short, result.levels[:-1]))
            raise ArgumentError("above", f"must be a level of the labels but the last ({there})", f"got {above!r}")
        curves.append(same[0])
    if len(results) > _CURVES:
        rule = f"must hold {_CURVES} results at most to be drawn as lines"
        raise ArgumentError("results", rule, f"has {len(results)}")
    drawn = figure.axes_of(ax)
    for curve, name, colour in zip(curves, told_apart(results.labels), figure.COLOURS, strict=False):
        label = plain_text(name) if len(results) > 1 else ""
        drawn.plot(curve.forecast, curve.observed, color=colour, linewidth=1.6, zorder=2, label=label)
        if len(curve.forecast) <= _MARKED:
            drawn.scatter(curve.forecast, curve.observed, 12 + 250 * curve.share, color=colour, alpha=0.8, zorder=3)
        else:
            drawn.plot(curve.forecast, np.full(len(curve.forecast), drawn.get_ylim()[0]), "|", color=colour, alpha=0.5)
    mean, chances, level = math.isnan(curves[0].above), one.kind == "distribution", short(curves[0].above)
    if mean or chances:  # on the diagonal what comes is what was forecast; a number forecasts no chance
        ends = [one.levels[0], one.levels[-1]] if mean else [0.0, 1.0]
        drawn.plot(ends, ends, color=figure.GREY, linestyle="--", linewidth=1, zorder=1)
    forecast = f"{'mean label' if mean else f'chance of a label above {level}'}, as forecast" if chances else "score"
    drawn.set_xlabel(forecast + f"   (n = {one.n} labels)" * (len(results) == 1))
    drawn.set_ylabel("mean label that came" if mean else f"share of labels above {level}")
    if len(results) > 1:
        drawn.legend(frameon=False, fontsize="small")
    fact = curve_fact(one, curves[0]) if len(results) == 1 else forecast_fact(results)
    figure.say_title(drawn, title_of(results.labels, []), fact)
    figure.plain_frame(drawn)
    return drawn


def pit(results: Results[Any] | ForecastQuality, *, ax: Axes | None = None) -> Axes:
    """Where people's labels lie in their forecasts: flat, if the forecasts are calibrated.

    Each label is spread evenly over the part of its forecast that is its own (Czado, Gneiting and Held 2009), so
    that a histogram of few levels is flat, too.

    Examples
    --------
    >>> from calib.stats import forecast_quality
    >>> ax = pit(forecast_quality([[0.8, 0.2, 0.0]] * 50, [0, 1, 2, 2, 1] * 10))
    >>> ax.get_ylabel()
    'share of the labels'
    """
    label, result = figure.single_pair(results, ForecastQuality)
    drawn = figure.axes_of(ax)
    drawn.stairs(result.pit, np.linspace(0, 1, len(result.pit) + 1), fill=True, color=figure.COLOURS[0])
    drawn.axhline(1 / len(result.pit), color=figure.GREY, linestyle="--", linewidth=1)
    words = f"place of the label in its forecast   (n = {result.n} labels)"
    drawn.set(xlim=(0, 1), xlabel=words, ylabel="share of the labels")
    figure.say_title(drawn, title_of([label], []), pit_fact(result))
    figure.plain_frame(drawn, "y")
    return drawn


def forecast_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The reliability diagram, and of a single distribution where labels lie in it."""
    if len(results) <= _CURVES:
        yield partial(corp, results)
    if len(results) == 1 and results[0].kind == "distribution":
        yield partial(pit, results)


def score_sets(results: Results[Any] | ScoreSets, *, ax: Axes | None = None) -> Axes:
    """The labels that people may give, along the judge's score; of several results how large their sets are.

    A bar is the set at one score, a dot the label nearest to the middle of what people say. Of several judges
    or criteria each is a row: which share of its sets has one label, two, and so on.

    Examples
    --------
    >>> from calib.stats import full_conformal
    >>> ax = score_sets(full_conformal([1, 2, 3, 4] * 5, [1, 3, 2, 4, 2] * 4, levels=[1, 2, 3, 4]))
    >>> ax.get_ylabel()
    "people's label"
    """
    results = figure.checked(ScoreSets, results)
    if len(results) > 1:
        return _rows_of_sizes(results, ax)
    sets, drawn = results[0], figure.axes_of(ax)
    values = np.unique(sets.score)
    pitch = float(np.diff(values).min()) if len(values) > 1 else 1.0
    if len(values) > 2 * _MOST_SHADES:  # many scores: a hair each
        pitch = float(np.ptp(values)) / 200
    step = float(np.diff(sets.levels).min())
    cells = [c for c in range(len(sets.cells)) if (sets.cell == c).any()]
    beside = len(cells) if len(values) < len(sets.score) else 1  # cells that share a score lie side by side
    for place, cell in enumerate(cells):
        here, colour = sets.cell == cell, figure.colour_and_marker(place)[0]
        wide = 0.7 * pitch / beside
        at = sets.score[here] + ((place - (beside - 1) / 2) * wide * 1.1 if beside > 1 else 0.0)
        height = sets.high[here] - sets.low[here] + 0.8 * step
        drawn.bar(at, height, wide, bottom=sets.low[here] - 0.4 * step, color=colour, alpha=0.35, linewidth=0)
        drawn.plot(at, sets.nearest[here], "o", color=colour, markersize=4 if len(values) <= 30 else 1.5)
    drawn.set(xlabel=f"judge's score   (n = {len(sets.row)} items, {sets.n} labels)", ylabel="people's label")
    drawn.set_yticks(sets.levels if len(sets.levels) <= _MOST_SHADES else drawn.get_yticks(), None)
    drawn.set_ylim(sets.levels[0] - 0.6 * step, sets.levels[-1] + 0.6 * step)
    if len(values) <= _MOST_SHADES:
        drawn.set_xticks(values, list(map(short, values)))
    figure.plain_frame(drawn)
    several, handles = len(sets.cells) > 1, []
    for place, cell in enumerate(cells):
        name = plain_text(sets.cells[cell].name) if several else f"{100 * sets.level:g} % set"
        handles.append(figure.handle(name, color=figure.colour_and_marker(place)[0], linewidth=7, alpha=0.35))
    colour = figure.GREY if several else figure.COLOURS[0]
    handles.append(figure.handle("nearest label", color=colour, marker="o", linestyle=""))
    figure.legend_above(drawn, handles, title_of(results.labels, []), sets_fact(results), columns=min(len(handles), 4))
    return drawn


def _rows_of_sizes(results: Results[ScoreSets], ax: Axes | None) -> Axes:
    """Each result a row, piece by piece its sets with one label, with two, and so on."""
    most = max(len(sets.levels) for sets in results)
    rows, shades = figure.rows_of(ax, results.labels, results, pitch=1.2), figure.shades(most, 0.95, 0.2)
    for mark in rows.marks:
        sets = mark.result
        n = np.bincount(sets.size - 1, sets.n_items, minlength=most)
        n[len(sets.levels) - 1] += sets.n_unread  # of an item without a score the set is the whole scale
        pieces = figure.shaded_pieces(n / max(n.sum(), 1), shades)
        figure.draw_pieces(rows.ax, rows.heights[mark.place], pieces, 0.6, edgecolor="white")
    figure.per_cent(rows.ax.xaxis)
    rows.ax.set_xlabel("share of the items, by how many labels their sets have")
    ends = {0: "1 label", most - 1: f"{most} labels"}
    named = range(most) if most <= 7 else ends
    handles = figure.patches([ends.get(i, str(i + 1)) for i in named], [shades[i] for i in named])
    return rows.finished(sets_fact(results), handles, columns=len(handles))


def accept_risk(results: Results[Any] | Escalation | AcceptThreshold, *, ax: Axes | None = None) -> Axes:
    """Errors among the accepted items against their share, with the band that holds for all thresholds together.

    A line is the risk that was allowed, a filled dot the threshold that was taken. It draws a single result.

    Examples
    --------
    >>> from calib.stats import accept_threshold
    >>> found = accept_threshold([0.9] * 60 + [0.6] * 60, [0] * 60 + [0, 1] * 30)
    >>> accept_risk(found).get_legend().get_texts()[-1].get_text()
    'accepted: 50 %, from confidence 0.9 on'
    """
    kind: Any = AcceptThreshold if isinstance(results, AcceptThreshold) else Escalation
    label, result = figure.single_pair(results, kind)
    test: AcceptThreshold = result if kind is AcceptThreshold else result.test
    drawn, colour = figure.axes_of(ax), figure.colour_and_marker(0)[0]
    share, risk, upper = (np.array([getattr(p, name) for p in test.curve]) for name in ("accepted", "risk", "upper"))
    drawn.fill_between(share, np.nan_to_num(risk), upper, color=colour, alpha=0.15, linewidth=0)
    drawn.plot(share, risk, "-o", color=colour, markersize=4, mfc="white", linewidth=1.4)
    drawn.axhline(test.risk, color="black", linewidth=1.0, linestyle="--")
    name = f"errors among labels, upper band of all thresholds ({100 * test.confidence_level:.4g} %)"
    allowed = figure.handle(f"risk allowed: {short(test.risk)}", color="black", linestyle="--")
    handles = [figure.handle(name, color=colour, marker="o", mfc="white"), allowed]
    if test.accepted:
        drawn.plot([test.accepted], [test.errors / test.m], "o", color=colour, markersize=8, zorder=5)
        name = f"accepted: {100 * test.accepted:.3g} %, from confidence {test.threshold:.3g} on"
        handles.append(figure.handle(name, color=colour, marker="o", markersize=8, linestyle=""))
    drawn.set(xlim=(0, 1.02), ylim=(0, min(1.02, max(0.3, 2.5 * test.risk, 1.15 * np.nanmax([0.0, *risk])))))
    drawn.set(xlabel="share of the items accepted", ylabel="verdicts that differ from people's")
    for axis in (drawn.xaxis, drawn.yaxis):
        axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    figure.plain_frame(drawn, "both")
    figure.legend_above(drawn, handles, title_of([label], []), accept_fact([result]))
    return drawn


accept_pictures = figure.one_each(accept_risk)
