"""Sentences and pictures of means: for a report, with what is assumed and what an interval is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calib.analysis.means.contrast import DifferenceEstimate
from calib.analysis.means.mean import MeanEstimate
from calib.analysis.means.methods import METHODS
from calib.core.check import ArgumentError
from calib.core.result import short
from calib.table import figure
from calib.table.results import Results
from calib.table.text import level_words, place_of, side_of, span_of, telling, told_apart, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_JUDGE_ALONE = (
    "Judge alone: its interval is for the judge's own mean, not for the human mean. "
    "It is not an interval for the human mean, and more judge scores do not make it one."
)
_MANY = 12  # things that a picture still shows with several methods
# labels that say whose scores they are, where that differs
_JUDGES = {"rater": "judge", "prompt": "prompt", "method": "scoring method", "temperature": "temperature"}
# labels that say how a score was read, not what it is of
_READ_BY = ("criterion", "rater", "prompt", "method", "temperature", "against", "p_adjusted", "scale")


def mean_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[MeanEstimate]) -> list[str]:
    """A sentence for each, which can be pasted into a report.

    What of, the interval, what it rests on, and what the judge was good for; of several judges, which.
    """
    names, sentences = [name for name in telling(labels) if name in _JUDGES], []
    for label, result in zip(labels, results, strict=True):
        judge = " ".join(f"{_JUDGES[name]} {label[name]}" for name in names if name in label)
        sources = f"{result.n_labels} human labels" if result.n_labels else "no human label"
        scores = f"{result.n} scores of {judge}" if judge else f"{result.n} judge scores"
        if isinstance(result, DifferenceEstimate) and result.n_labels:
            sources = result.labels_in_words
            scores = f"{f'scores of {judge} for' if judge else 'judge scores of'} {result.n} inputs"
        sources += f" and {scores}" if result.uses_judge else f", without {judge}" * bool(judge)
        gain = 1 - result.width_ratio
        if result.uses_judge and result.alternative == "two-sided" and abs(gain) >= 0.005:  # NaN is not
            wide = f"{abs(gain):.0%} {'narrower' if gain > 0 else 'wider'} than the labels alone"
            sources += f"; {wide.replace('%', ' %')}"
        p = "" if math.isnan(result.p_value) else f", p = {result.p_value:.2g}"
        p += f", adjusted {label['p_adjusted']:.2g}" if _is_adjusted(label) else ""
        # what is not in the numbers: labels without a judge score, items whose judge score could not be read
        paired = "n_unscored" in label
        left_out = [
            (label.get("n_unscored" if paired else "n_unmatched", 0), "label of an item", "labels of items",
             "without a judge score"),
            (label.get("n_unread", 0), "item", "items", "whose judge score is missing"),
            (label.get("n_unmatched", 0) if paired else 0, "input", "inputs", "that only one of them answered"),
        ]  # fmt: skip
        texts = [f"{n} {one if n == 1 else many} {rest}" for n, one, many, rest in left_out if n]
        if texts and result.uses_judge:
            sources += f"; {' and '.join(texts)} {'was' if sum(n for n, *_ in left_out) == 1 else 'were'} left out"
        sources += f"; scale {label['scale']}" if "scale" in label else ""
        # what it is of: a mean of a criterion, or of preferences a win rate, and of which system
        who = "human" if result.estimand.startswith("human") else "judge's"
        of = [f"{name} {label[name]}" for name in label if name not in _READ_BY and not name.startswith("n_")]
        is_difference = "difference" in result.estimand
        what = f"{'Difference of mean' if is_difference else 'Mean'} {who} {label.get('criterion', 'score')}"
        if "win rate" in result.estimand:
            what = f"Difference of {who} win rates" if is_difference else f"{who.capitalize()} win rate"
            of = [text.removeprefix("system ") for text in of]
        what += f" of {', '.join(of)}" if of else ""
        sentences.append(f"{what} is {short(result.estimate)}, {result.bracket}{p}, from {sources}.")
    return sentences


def main_means(results: Results[MeanEstimate]) -> Results[MeanEstimate]:
    """One mean of each thing, for the report: people with the judge, else people, else the judge alone."""
    best: dict[str, tuple[tuple[bool, bool], int]] = {}
    for place, (label, result) in enumerate(zip(results.labels, results, strict=True)):
        thing = thing_of(label)
        rank = (result.estimator != "judge_only", result.uses_judge)
        if thing not in best or rank > best[thing][0]:
            best[thing] = rank, place
    return results.of((results.labels[place], results[place]) for _, place in best.values())


def verdict_sentences(results: Results[MeanEstimate]) -> list[str]:
    """What people would say, how far the judge is from it, and what to use, for each thing that `main_means` keeps.

    Examples
    --------
    >>> from calib.stats import ppi_mean
    >>> y, f, rest = [4, 3, 5, 4, 2, 4], [4.9, 3.9, 5.9, 5.2, 3.1, 4.7], [4.8, 4.3, 5.2, 3.7, 4.9, 4.4, 5.6, 4.1]
    >>> pairs = [({}, ppi_mean(y, f, rest, estimator=name)) for name in ("judge_only", "ppi++")]
    >>> verdict_sentences(Results.of(pairs))
    ["People would give this 3.6 ± 0.59 (95 % CI); the judge's mean is 1 too high; use it with these 6 labels \
(45 % narrower than the labels alone)."]
    """
    main, verdicts = main_means(results), []
    pairs = [(thing_of(label), result) for label, result in zip(results.labels, results, strict=True)]
    judges = {thing: result for thing, result in pairs if result.estimator == "judge_only"}
    judged_by = [str(label.get("rater", "")) for label in main.labels]
    several = len(set(judged_by)) > 1  # what is graded is not the judge
    graded = [{name: label[name] for name in label if name != "rater" or not several} for label in main.labels]
    names = told_apart(graded) if len(main) > 1 else [""]
    for place, (label, result, name) in enumerate(zip(main.labels, main, names, strict=True)):
        number, judge = _with_half_width(result), judges.get(thing_of(label))
        if place == 0:
            level = f"{100 * result.confidence_level:g} % CI"
            number = number.replace("(", f"({level} ") if number.endswith(")") else f"{number} ({level})"
        what = "this" if not name else visible(name, 60)
        judged = f"judge {visible(judged_by[place], 60)}" if several else "the judge"
        if result.estimator == "judge_only":
            gives = f"{judged[0].upper()}{judged[1:]} gives {what} {number}"
            verdicts.append(f"{gives}; without labels that is no estimate for people.")
            continue
        start = f"people would give {what} {number}"
        if "difference" in result.estimand:
            start = f"people's difference {'' if what == 'this' else f'({what}) '}is {number}"
        elif "win rate" in result.estimand:
            start = f"people's win rate {'' if what == 'this' else f'of {what} '}is {number}"
        start = f"With {judged}, {start}" if several else f"{start[0].upper()}{start[1:]}"
        if judge is not None and not math.isnan(judge.estimate):
            apart = judge.estimate - result.estimate
            low, high = result.interval
            far = f"{abs(apart):.2g} too {'high' if apart > 0 else 'low'}"
            inside = f"{judge.estimate:.3g}, within that interval"
            start += f"; the judge's mean is {inside if low <= judge.estimate <= high else far}"
        gain = 1 - result.width_ratio
        use = f"from {result.n_labels} labels"
        if result.uses_judge:
            narrower = f"{100 * gain:.0f} % narrower than the labels alone"
            no_gain = "no narrower than the labels alone"
            use = f"use it with these {result.n_labels} labels ({narrower if gain >= 0.005 else no_gain})"
        elif judge is not None:
            use = f"use the {result.n_labels} labels alone, the judge would not narrow this"
            if result.n_labels >= judge.n:
                use = f"all {judge.n} are labelled, so no judge is needed"
        verdicts.append(f"{start}; {use}.")
    return verdicts


def thing_of(label: Mapping[str, Any]) -> str:
    """What a mean is of, whatever it was counted from."""
    return str({name: label[name] for name in label if name[:2] != "n_"})


def _with_half_width(result: MeanEstimate) -> str:
    """An estimate, plus and minus the larger side of its interval; one that is far from its middle has both ends."""
    low, high = result.interval
    below, above = result.estimate - low, high - result.estimate
    if not math.isfinite(below + above):
        return f"{result.estimate:.3g}, {result.bracket}"
    if min(below, above) < 0.75 * max(below, above):
        return f"{result.estimate:.3g} ({low:.3g} to {high:.3g})"
    half = max(below, above)
    return f"{result.estimate:.3g} ± {half:.{1 if half < 0.1 else 2}g}"


def _is_adjusted(label: Mapping[str, Any]) -> bool:
    """Whether the p-value was adjusted for those beside it."""
    return not math.isnan(label.get("p_adjusted", math.nan))


def where_it_lies(label: Mapping[str, Any], result: MeanEstimate) -> tuple[str, str] | None:
    """Where the interval of people's mean lies from the value it was asked to be compared with; None without one.

    Of several differences nothing is decided that the p-value does not decide after it was adjusted for their number.
    """
    compared = not math.isnan(result.null) or "difference" in result.estimand
    if not compared or result.estimator == "judge_only":
        return None
    value = 0.0 if math.isnan(result.null) else result.null
    where = side_of(result.interval, value)
    if _is_adjusted(label) and label["p_adjusted"] > 1 - result.confidence_level:
        where = "open"
    return where, "not decided" if where == "open" else f"{where} {short(value)}"


def mean_fact(results: Results[MeanEstimate]) -> str:
    """The mean, or the lowest and the highest of several; of differences, how many are not 0."""
    main = main_means(results)
    bare = [{name: label[name] for name in label if name != "p_adjusted"} for label in main.labels]
    # say that it is a judge, or its name would read as that of a system
    names = told_apart([label | ({"rater": f"judge {label['rater']}"} if "rater" in label else {}) for label in bare])
    estimated = [i for i, result in enumerate(main) if not math.isnan(result.estimate)]
    if not estimated or len({result.estimand for result in main}) > 1:
        return ""
    low, high = (choose(estimated, key=lambda i: main[i].estimate) for choose in (min, max))
    if "difference" in main[0].estimand and len(estimated) > 1:
        apart = [i for i in estimated if (where_it_lies(main.labels[i], main[i]) or ("open", ""))[0] != "open"]
        adjusted = ", p adjusted within judge and criterion" * any(map(_is_adjusted, main.labels))
        # a title names three at most
        which = f": {'; '.join(visible(names[i], 40) for i in apart)}" if 0 < len(apart) <= 3 else ""
        return f"{len(apart) or 'none'} of {len(estimated)} differences differ from 0{adjusted}{which}"
    if low == high:
        one, where = main[low], where_it_lies(main.labels[low], main[low])
        return f"{one.estimand} {short(one.estimate)}, {one.bracket}{f': {where[1]}' if where else ''}"
    ends = []
    for i in (low, high):
        bottom, top = main[i].interval
        bracket = f" [{bottom:.3g}, {top:.3g}]" if math.isfinite(bottom + top) else ""
        ends.append(f"{main[i].estimate:.3g}{bracket} ({visible(names[i], 30)})")
    return f"{main[low].estimand} from {' to '.join(ends)}"


def assumed(results: Sequence[MeanEstimate]) -> list[str]:
    """What has to be true for the intervals to hold, each once; for the judge alone only if there is no other."""
    of_people = [result for result in results if result.estimator != "judge_only"]
    return list(dict.fromkeys(text for result in of_people or results for text in result.assumptions))


def of_judge_alone(results: Sequence[MeanEstimate]) -> list[str]:
    """What the interval of the judge alone is not."""
    return [_JUDGE_ALONE] * any(result.estimator == "judge_only" for result in results)


def estimators_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame that calls each estimator as a reader would; of differences labels are counted by inputs."""
    frame = frame.rename(columns={"n_labels": "n_labelled"}) if "n_paired" in frame else frame
    words = {name: method.words for name, method in METHODS.items()} | {"judge_only": "judge alone"}
    return frame.drop(columns="labels_saved", errors="ignore").replace({"estimator": words})


_ALONE = "judge alone (not an interval for the human mean)"
_LOOKS = {  # by what an estimator is called in words
    "people alone": ("#0072B2", "s"),
    "people alone, conservative": ("#0072B2", "v"),
    METHODS["judge_only"].words: ("#6E6E6E", "o"),
    "PPI": ("#009E73", "D"),
    "PPI++": ("#CC79A7", "^"),
    "regression estimator": ("#009E73", "v"),
    "people and judge, conservative": ("#D55E00", "D"),
    "people and judge": ("#D55E00", "o"),
}


def interval(
    *results: Results[Any] | MeanEstimate, truth: Mapping[Any, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Means with their intervals, one row per system or criterion, the methods side by side.

    The judge alone is drawn hollow and dashed: its interval is not one for the human mean.

    Parameters
    ----------
    *results : Results or MeanEstimate
        One or more, such as labels only, judge only and PPI++ of the same rows.
    truth : mapping or Series, optional
        What the mean is known to be, by what names the row (a system, say), or by a tuple of all that does.

    Examples
    --------
    >>> from calib.stats import ppi_mean
    >>> y, f = [4, 3, 5, 4, 2, 4], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8]
    >>> rest = [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3]
    >>> ax = interval(*(ppi_mean(y, f, rest, estimator=name) for name in ("classical", "judge_only", "ppi++")))
    >>> for text in ax.get_legend().get_texts():
    ...     print(text.get_text())
    people alone: 6 labels
    judge alone (not an interval for the human mean): 14 scores
    PPI++: 6 labels, 14 judge scores
    """
    means = figure.checked(MeanEstimate, *results)
    # a series is of a method, and of the number of it where a row has several; rows of one estimator may differ in how
    # the labels alone were read
    names = telling(means.labels) or ["criterion"]
    places = [place_of(label, names) for label in means.labels]
    keys = [(place, METHODS[r.estimator].words) for place, r in zip(places, means, strict=True)]
    series = [f"{key[1]} {keys[: i + 1].count(key)}" for i, key in enumerate(keys)]
    rows = figure.rows_of(ax, means.labels, means, series)
    styles: dict[str, figure.Style] = {}
    order = {words: place for place, words in enumerate(_LOOKS)}
    for mark in sorted(rows.marks, key=lambda m: order.get(METHODS[m.result.estimator].words, len(order))):
        words, _, number = mark.series.rpartition(" ")
        again, alone = int(number) - 1, mark.result.estimator == "judge_only"
        look = figure.colour_and_marker(again + 3) if again else _LOOKS.get(words, figure.colour_and_marker(6))
        of_series = [m.result for m in rows.marks if m.series == mark.series]
        labels, scores = (span_of([getattr(r, name) for r in of_series]) for name in ("n_labels", "n"))
        text = f"{words}: {labels} labels" + (f", {scores} judge scores" if mark.result.uses_judge else "")
        styles[mark.series] = figure.Style(f"{_ALONE}: {scores} scores" if alone else text, *look, alone)
    figure.draw_series(rows, styles)
    handles: list[Any] = [*styles.values()]
    if truth is not None:
        values = {tuple(map(str, key)) if isinstance(key, tuple) else str(key): value for key, value in truth.items()}
        at = {height: values.get(place, values.get(place[-1])) for place, height in rows.heights.items()}
        drawn = {height: float(value) for height, value in at.items() if value is not None}
        if not drawn:
            there = ", ".join(repr(place[-1]) for place in list(rows.heights)[:5])
            raise ArgumentError("truth", f"must know some of the rows (such as {there})", f"has {list(values)[:5]}")
        half = 0.3 * len(styles) + 0.1
        for height, value in drawn.items():
            rows.ax.vlines(value, height - half, height + half, colors="black", linewidth=1.4, zorder=4)
        handles.append(figure.handle("truth", color="black", marker="|", linestyle="", markersize=9))
    estimands = dict.fromkeys(r.estimand for r in sorted(means, key=lambda r: r.estimator == "judge_only"))
    rows.ax.set_xlabel(f"{next(iter(estimands))}{level_words(means)}")
    return rows.finished(mean_fact(means), handles, "labels by ", left_out=["p_adjusted"])


def difference(results: Results[Any] | MeanEstimate, *, ax: Axes | None = None) -> Axes:
    """Differences of two systems with their intervals, and a line where there is none.

    Examples
    --------
    >>> from calib.stats import ppi_difference
    >>> nan = float("nan")
    >>> y_a, y_b = [4, 5, 4, nan, nan], [3, 3, 4, nan, nan]
    >>> f_a, f_b = [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3]
    >>> difference(ppi_difference(y_a, y_b, f_a, f_b, estimator="ppi")).get_xlabel()
    'human mean difference (95 % CI)'
    """
    drawn = interval(results, ax=ax)
    figure.zero_line(drawn)
    return drawn


def mean_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """Differences with a line where there is none, or means; of many things the main one of each."""
    main = main_means(results)
    results = main if len(main) > _MANY else results
    differences = all("difference" in result.estimand for result in results if isinstance(result, MeanEstimate))
    yield partial(difference if differences else interval, results)
