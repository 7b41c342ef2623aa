"""Sentences and plots of pass and fail: what may be claimed of such a judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.verdicts.confusion import Figure
from calib.analysis.verdicts.pass_fail import FIGURES, RATES_OF_PASSING, PassFail
from calib.core.result import bracket, short
from calib.table import figure
from calib.table.results import Results
from calib.table.text import each_once, number_span, title_of, told_apart

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FIGURE_NAMES = {
    "tpr": "TPR (sensitivity)", "tnr": "TNR (specificity)", "precision": "precision", "npv": "NPV",
    "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "f1": "F1", "mcc": "MCC",
    "kappa": "Cohen's kappa", "ac1": "Gwet's AC1", "auc": "area below ROC",
    "judge_rate": "judge's pass rate", "label_rate": "people's pass rate",
    "corrected": "pass rate (Rogan-Gladen)", "ppi": "pass rate (PPI)",
}  # fmt: skip


def pass_text(one: PassFail) -> list[str]:
    """How often a judge is right about pass and about fail, and the pass rate that may be reported."""
    level = one.confidence_level
    if not one.has_verdicts:
        return [
            f"People pass {_in_full(one.label_rate, level)} of {one.n_labelled} labelled items. Which items the judge "
            "passes is open: labels of one outcome choose no threshold; `judge_threshold` sets one."
        ]
    passes = one.tp + one.fn
    sides = (("pass", "passes", one.tpr, passes), ("fail", "fails", one.tnr, one.n_labelled - passes))
    parts = [
        f"of what people {verb} the judge {verbs} {_in_full(rate, level)}"
        if n
        else f"what it does with items that people {verb} is open, as no label is a {verb}"
        for verb, verbs, rate, n in sides
    ]
    text = f"{'; '.join(parts)} (from {one.n_labelled} labels, {passes} of them pass)."
    sentences = [text[:1].upper() + text[1:]]
    if one.chosen:
        threshold = f"The threshold {short(one.judge_threshold)} was chosen by the labels"
        sentences.append(f"{threshold}; each figure is of thresholds that had not seen the item.")
    rate, errs = _in_full(one.corrected, level), "as often elsewhere on what passes and on what fails"
    other = f"{rate} by Rogan-Gladen, if the judge errs {errs}"
    if one.n_production:
        sentences.append(
            f"Of the {one.n_production} production items people would pass {rate}, if the judge errs there as often on "
            "what passes and on what fails as in the test set."
        )
    elif not math.isnan(one.ppi.estimate):
        random = f"as the labelled items are a random part of them (if they are not: {other})"
        sentences.append(f"Of all {one.n} items people would pass {_in_full(one.ppi, level)}, {random}.")
    elif one.n_labelled == one.n:
        return [" ".join([*sentences, f"All items have a label: people pass {_in_full(one.label_rate, level)}."])]
    else:
        sentences.append(f"Of all {one.n} items people would pass {other}.")
    judge = f"The judge itself passes {one.judge_rate.estimate:.3g}, which is no estimate of it."
    return [" ".join([*sentences, judge])]


pass_sentences = partial(each_once, texts=pass_text)


def _in_full(figure: Figure, level: float) -> str:
    if math.isnan(figure.estimate) and not math.isnan(figure.interval.low):  # bounds alone
        low, high = map(short, figure.interval)
        return f"{low} to {high} ({100 * level:g} % bounds, no estimate)"
    return f"{short(figure.estimate)} ({bracket(figure.interval, level)})"


def pass_notes(results: Results[PassFail]) -> list[str]:
    """What must not be claimed."""
    skewed = any(min(one.tp + one.fn, one.tn + one.fp) < 0.1 * one.n_labelled for one in results if one.has_verdicts)
    base_rate = (
        "Accuracy, precision and NPV hold only where the same share of items passes as among the labelled ones. TPR "
        "and TNR hold for another share, too, if the labelled items are a random part of what people pass and of what "
        "they fail, with the same mix of easy and hard cases."
    )
    paradox = (
        "Nearly all labels are of one outcome: kappa is then near 0 or missing however often both agree. Use AC1, and "
        "the rate of the rarer outcome where it has labels."
    )
    return [base_rate, *[paradox] * skewed]


def pass_fact(results: Results[PassFail]) -> str:
    """TPR and TNR of one judge, their ranges of several."""
    if len(results) == 1:
        rates = {"TPR": results[0].tpr.estimate, "TNR": results[0].tnr.estimate}
        return ", ".join(f"{name} {'open' if math.isnan(rate) else short(rate)}" for name, rate in rates.items())
    spans = {name: number_span([getattr(one, name).estimate for one in results]) for name in ("tpr", "tnr")}
    return ", ".join(f"{name.upper()} {'open' if span == 'none' else span}" for name, span in spans.items())


def figures_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Figures by the names that readers know."""
    if "figure" not in frame:
        return frame
    return frame.assign(figure=frame["figure"].map(lambda name: FIGURE_NAMES.get(name, name)))


def confusion(results: Results[Any] | PassFail, *, ax: Axes | None = None) -> Axes:
    """What judge and people say, as a matrix; of several results each rate with its interval.

    Examples
    --------
    >>> from calib.stats import pass_fail
    >>> ax = confusion(pass_fail([1, 1, 0, 0, 1] * 10, [1, 1, 0, 1, 0] * 10))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['people pass: 30', 'people fail: 20']
    """
    results = figure.checked(PassFail, results)
    if len(results) == 1 and results[0].has_verdicts:
        return _matrix(results, ax)
    names = [_judge_name(label) for label in results.labels]
    if len(set(names)) < len(names):  # a judge with several prompts, say
        names = told_apart(results.labels)
    entries, words = [], {}
    for series, label, one in zip(names, results.labels, results, strict=True):
        for key in (name for name in (*FIGURES, *RATES_OF_PASSING) if name != "accuracy"):
            value = getattr(one, key)
            if not np.isnan(value.estimate):
                end = figure.End(value.estimate, value.interval, one.confidence_level)
                entries.append((label | {"figure": FIGURE_NAMES[key]}, series, end))
        counts = f"both pass {one.tp}, judge alone {one.fp}, people alone {one.fn}, neither {one.tn}"
        counts = counts if one.has_verdicts else "no threshold"
        words[series] = f"{series}: {counts}" if series else counts
    rows = figure.rows_of_series(ax, entries, figure.styles_of(words), names=["figure"])
    rows.ax.set_xlim(min(-0.02, rows.ax.get_xlim()[0]), 1.02)
    rows.ax.set_xlabel(f"rate ({100 * results[0].confidence_level:g} % CI)")
    return rows.finished(pass_fact(results), against="people: ")


def _matrix(results: Results[PassFail], ax: Axes | None) -> Axes:
    """What people say down, what the judge says across; the shade is the share of the row."""
    one, axes = results[0], figure.axes_of(ax)
    counts = np.array([[one.tp, one.fn], [one.fp, one.tn]])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.pcolormesh(shares[::-1], cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=2)
    ends = {(0, 0): ("TPR", one.tpr), (1, 1): ("TNR", one.tnr)}
    for (row, column), n in np.ndenumerate(counts):
        words = f"{n}\n{100 * shares[row, column]:.0f} %"
        if (row, column) in ends:
            name, rate = ends[row, column]
            words += f"\n{name} [{rate.interval.low:.2f}, {rate.interval.high:.2f}]"
        ink = figure.ON_DARK if shares[row, column] > 0.55 else figure.ON_LIGHT
        axes.text(column + 0.5, 1.5 - row, words, ha="center", va="center", color=ink)
    across, down = counts.sum(axis=0), counts.sum(axis=1)
    axes.set_xticks([0.5, 1.5], [f"judge passes: {across[0]}", f"judge fails: {across[1]}"])
    axes.set_yticks([1.5, 0.5], [f"people pass: {down[0]}", f"people fail: {down[1]}"])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(f"% of the row, {100 * one.confidence_level:g} % CI   (n = {one.n_labelled} labels)")
    figure.say_title(axes, title_of(results.labels, [], "people: "), pass_fact(results))
    return axes


def _judge_name(label: Mapping[str, object]) -> str:
    return ", ".join(str(label[name]) for name in ("criterion", "rater", "system") if name in label)


def roc(results: Results[Any] | PassFail, *, ax: Axes | None = None) -> Axes:
    """What a judge's score tells of pass and fail at each threshold, with the band of TPR and the threshold in use.

    Examples
    --------
    >>> from calib.stats import pass_fail
    >>> ax = roc(pass_fail([1, 2, 4, 5, 3] * 10, [0, 0, 1, 1, 1] * 9 + [0, 1, 0, 1, 0]))
    >>> ax.get_xlabel()
    'false passes: share of what people fail'
    """
    results = figure.checked(PassFail, results)
    pairs = [(label, one) for label, one in zip(results.labels, results, strict=True) if one.roc is not None]
    if not pairs:
        raise ValueError(
            "`results` must have scores with a threshold and labels of both outcomes, but the judge said pass or fail, "
            "or people one of them."
        )
    axes, handles = figure.axes_of(ax), []
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    areas = []
    for place, (label, one) in enumerate(pairs):
        colour, marker = figure.colour_and_marker(place)
        curve = one.roc
        assert curve is not None
        x, y = (np.r_[0.0, side[::-1], 1.0] for side in (curve.fpr, curve.tpr))
        axes.plot(x, y, color=colour, zorder=3)
        if len(pairs) == 1:
            low, high = (np.r_[0.0, side[::-1], 1.0] for side in (curve.tpr_low, curve.tpr_high))
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, zorder=2)
        at = int(np.argmin(np.abs(curve.judge_threshold - one.judge_threshold)))
        axes.plot(curve.fpr[at], curve.tpr[at], marker, color=colour, zorder=4)
        who = _judge_name(label)
        words = f"{who}{': ' * bool(who)}threshold {short(one.judge_threshold)}"
        handles.append(figure.handle(words, color=colour, marker=marker))
        areas.append(curve.auc.estimate)
    axes.set(xlabel="false passes: share of what people fail", ylabel="TPR: share of what people pass")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    figure.plain_frame(axes)
    fact = f"area {short(min(areas))}" + (f" to {short(max(areas))}" if len(areas) > 1 else "")
    figure.legend_above(axes, handles, title_of([label for label, _ in pairs], [], "people: "), fact)
    return axes


def verdict_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The rates of up to four judges, and their curves where they have scores."""
    some = results[:4]
    yield partial(confusion, some)
    if any(one.roc is not None for one in some):
        yield partial(roc, some)
