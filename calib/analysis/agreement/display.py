"""Words and pictures of agreement: conclusions, headlines, and the plots of `calib.plot`."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.agreement.agreement import Agreement
from calib.analysis.agreement.coefficients import COEFFICIENTS, LEVEL_WORDS, SHARES
from calib.analysis.agreement.compare import CORRECTIONS
from calib.core.check import ArgumentError
from calib.core.result import bracket, short
from calib.stats import Comparison, Ranking, Reliability
from calib.table import figure, text
from calib.table.results import Results
from calib.table.text import told_apart, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def highest_agreement(labels: Sequence[Mapping[str, Any]], results: Sequence[Agreement]) -> list[str]:
    """One sentence about the highest, of one coefficient only: the highest of unlike ones means nothing."""
    kinds = [(result.coefficient, result.level) for result in results]
    defined = [i for i, r in enumerate(results) if kinds[i] == kinds[0] and not math.isnan(r.estimate)]
    if not defined:
        return ["No coefficient could be computed, so nothing can be concluded."]
    place = max(defined, key=lambda i: results[i].estimate)
    name, best = told_apart(labels)[place], results[place]
    low, high = best.interval
    if math.isnan(low):
        claim = f"{f' ({best.reason})' if best.reason else ''}: it says nothing beyond these data"
    else:
        zero = f", and {'does not exclude 0' if low <= 0 <= high else 'excludes 0'}"
        share = "; chance alone gives a share above 0, too"
        claim = f", which generalises to {best.generalises_to}{share if best.coefficient in SHARES else zero}"
    ends = bracket(best.interval, best.confidence_level)
    words = f"{COEFFICIENTS[best.coefficient]} = {short(best.estimate)}, {ends}{claim}"
    none = [f"{name} ({r.reason}, n = {r.n})" for name, r in zip(told_apart(labels), results, strict=True) if r.reason]
    rest = [f"Without an interval: {'; '.join(none)}."] * bool(none and len(results) > 1)
    if len(defined) == 1:
        return [f"{name}{': ' * bool(name)}{words}.", *rest]
    too_high = f"the highest of {len(defined)} is probably too high"
    return [f"The highest of {len(defined)} ({name}): {words}; {too_high}.", *rest]


def agreement_fact(results: Results[Agreement]) -> str:
    """How far they agree: one coefficient, or the lowest and the highest of several alike."""
    defined = [i for i, r in enumerate(results) if not math.isnan(r.estimate)]
    kinds = {(results[i].coefficient, results[i].level) for i in defined}
    if len(kinds) != 1:
        return ""
    symbol, names = COEFFICIENTS[results[defined[0]].coefficient], told_apart(results.labels)
    excludes = {}  # of intervals beside which 0 says something, whether they exclude it
    for i in defined:
        bottom, top = results[i].interval
        if not math.isnan(bottom) and results[i].coefficient not in SHARES:
            excludes[i] = not bottom <= 0 <= top
    low, high = (choose(defined, key=lambda i: results[i].estimate) for choose in (min, max))
    if low == high:
        beside = f", the interval {'excludes' if excludes[low] else 'includes'} 0" if low in excludes else ""
        return f"{symbol} {results[low].estimate:.2f}{beside}"
    ends = " to ".join(f"{results[i].estimate:.2f} ({visible(names[i], 30)})" for i in (low, high))
    number = f"; {sum(excludes.values())} of {len(defined)} intervals exclude 0" if excludes else ""
    return f"{symbol} from {ends}{number}"


def comparison_fact(results: Results[Comparison]) -> str:
    """Which judge is ahead, or how many differences are clear."""
    if len(results) == 1:
        where, sentence = side_of_zero({}, results[0])
        return f"{' and '.join(results[0].names)} do not differ clearly" if where == "open" else sentence
    ahead = sum(side_of_zero({"n_beside": len(results)}, result)[0] != "open" for result in results)
    return f"{ahead} of {len(results)} differences differ from 0"


def ranking_fact(results: Results[Ranking]) -> str:
    """Who leads, and who does not differ clearly from that judge."""
    facts = []
    for result in results:
        ranked = [place for place, cluster in enumerate(result.clusters) if cluster and place]
        alike = [result.names[place] for place in ranked if not result.distinct[0, place]]
        if not result.clusters[0]:
            facts.append("no coefficient could be computed")
        elif not result.distinct.any():
            facts.append("these data show no difference between the judges")
        elif alike:
            all_alike = " and ".join(filter(None, (", ".join(alike[:-1]), alike[-1])))
            facts.append(f"{result.names[0]} leads, but does not differ clearly from {all_alike}")
        else:
            facts.append(f"{result.names[0]} leads, ahead of all others")
    if len(set(facts)) == 1:
        return facts[0]
    return "; ".join(f"{name}: {fact}" for name, fact in zip(told_apart(results.labels), facts, strict=True))


def reliability_fact(results: Results[Reliability]) -> str:
    """What one person reaches, and the judge beside."""
    fact = f"one person reaches {text.number_span([r.ceiling.ceiling for r in results])} with the other people"
    judged = [r.ceiling.judge for r in results if r.ceiling.judge_by_rater]
    return fact + (f", the judge {text.number_span(judged)}" if judged else "")


def reliability_text(result: Reliability) -> list[str]:
    """What one person reaches with the others, and the judge; the table has the rest."""
    of, name = result.ceiling, COEFFICIENTS[result.ceiling.coefficient]
    others = "another" if result.icc is None else f"the mean of the other {result.alpha.n_raters - 1}"
    judge = f", the judge {short(of.judge)}" * bool(of.judge_by_rater)
    return [f"One person reaches {name} {short(of.ceiling)} with {others}{judge}; from {result.alpha.n} items."]


reliability_sentences = partial(text.each_once, texts=reliability_text)


def compared(labels: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> list[str]:
    """Each conclusion once, and how many tests that makes."""
    number = f"These are {len(results)} tests; their p-values are not adjusted for that number."
    return text.each_once(labels, results, lambda result: [result.conclusion]) + [number] * (len(results) > 1)


def verdicts(labels: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> list[str]:
    """Whether the judge may stand in for a person."""
    return text.each_once(labels, results, lambda result: [result.verdict])


def side_of_zero(label: Mapping[str, Any], result: Comparison) -> tuple[str, str]:
    """Whether the test tells the two judges apart, and which agrees more; of several, by Bonferroni's rule."""
    if not result.p_value * label.get("n_beside", 1) <= 1 - result.confidence_level:
        return "open", "not decided"
    return ("above", f"{result.names[0]} is ahead") if result.estimate > 0 else ("below", f"{result.names[1]} is ahead")


def against_one_person(_label: Mapping[str, Any], result: Reliability) -> tuple[str, str] | None:
    """The judge against what one person reaches; None without a judge."""
    where = text.side_of(result.ceiling.difference_interval)
    sentence = "not decided: judge or one person" if where == "open" else f"{where} one person"
    return (where, sentence) if result.ceiling.judge_by_rater else None


def without_repeats(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame that names no judge both by label and by name, and has another rule only where it changes something."""
    pairs = (("rater", "first"), ("versus", "second"))
    twice = [a for a, b in pairs if {a, b} <= set(frame.columns) and (frame[a].astype(str) == frame[b]).all()]
    other = [name for name in ("estimate_other", "estimate_other_missing") if name in frame]
    return frame.drop(columns=[*twice, *(name for name in other if frame[name].equals(frame["estimate"]))])


_COUNTS = {"item": ("n", "items"), "group": ("n_groups", "groups"), "system": ("n_systems", "systems")}
_MOST_POINTS, _NAMED_SYSTEMS = 2000, 20  # points of which each is drawn; systems that are named
_NAMED, _FLAT = 40, 16.0  # groups that are named; height of more of them, in rows
_CEILINGS = {
    "one person": figure.Style("one person", figure.COLOURS[0], "s"),
    "judge": figure.Style("judge", figure.COLOURS[1], "o"),
}


def agreement(results: Results[Any] | Agreement, *, ax: Axes | None = None) -> Axes:
    """Correlations with their intervals, a row for what tells each apart, grouped and coloured by criterion.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> labels = calib.summarize(people, items)
    >>> results = calib.agreement(labels, labels, level="group").select(rater="simulated-1")
    >>> print(agreement(results).get_xlabel())
    Spearman rho within groups (95 % CI)
    n = 24 groups
    """
    results = figure.checked(Agreement, results)
    rows = figure.rows_of(ax, _labels_with_facts(results), results)
    _rows_by_head(rows)
    rows.ax.set_xlabel(_agreement_words(results, rows.level))
    return rows.finished(agreement_fact(results), against="against ")


def compare(results: Results[Any] | Comparison, *, ax: Axes | None = None) -> Axes:
    """Differences of two judges' agreement with people, with intervals, and a line where there is none.

    No clear difference is hollow and dashed.

    Examples
    --------
    >>> import calib
    >>> result = calib.stats.compare([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], [1, 3, 2, 4, 5], names=("a", "b"))
    >>> ax = compare(result)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a minus b']
    """
    results = figure.checked(Comparison, results)
    facts = []
    for label, r in zip(results.labels, results, strict=True):  # both judges name the row of a difference
        rest = {name: value for name, value in label.items() if name not in ("rater", "versus")}
        judges = " minus ".join(visible(name, 18) for name in r.names)
        facts.append(rest | {"judges": judges} | _agreement_facts(r) | {"test": r.test})
    rows = figure.rows_of(ax, facts, results, unnamed="judges")
    _rows_by_head(rows, hollow=lambda r: r.p_value > 1 - r.confidence_level)
    tests = ", ".join(dict.fromkeys(r.test for r in results))
    rows.ax.set_xlabel(f"difference, {_agreement_words(results, rows.level)}\nhollow: no clear difference ({tests})")
    return rows.finished(comparison_fact(results), against="against ", left_out=["test"])


def ranking(results: Results[Any] | Ranking, *, ax: Axes | None = None) -> Axes:
    """Judges in the order of their agreement with people, with intervals, coloured by cluster: of `calib.rank_judges`.

    Every judge of one cluster differs from every judge of another, by paired tests: intervals that overlap do not
    show that two judges are alike.

    Examples
    --------
    >>> import calib
    >>> result = calib.stats.rank_judges({"b": [2, 1, 4, 3, 5], "a": [1, 2, 3, 4, 5]}, [1, 3, 2, 4, 5])
    >>> ax = ranking(result)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b']
    """
    results = figure.checked(Ranking, results)
    pairs = zip(_labels_with_facts(results), results, strict=True)
    facts = [label | {"judge": name} for label, r in pairs for name in r.names]
    names = [*(name for name in text.telling(facts) if name != "judge"), "judge"]
    clusters: list[str] = []
    for r in results:
        words = [f"cluster {cluster}" for cluster in r.clusters]
        if len(set(r.clusters) - {0}) < 2:  # one cluster holds all
            apart = r.distinct[0, : len(r.names)].tolist()
            words = ["differs from the first" if a else "the first, or not clearly different" for a in apart]
        clusters += [w if cluster else "no coefficient" for w, cluster in zip(words, r.clusters, strict=True)]
    alone = [one for r in results for one in r.agreements]
    styles = figure.styles_of({c: c for c in sorted(set(clusters), key=lambda c: (len(c), c))})
    rows = figure.rows_of_series(ax, zip(facts, clusters, alone, strict=True), styles, step=0.0, names=names, pitch=1)
    tests = ", ".join(dict.fromkeys(f"{r.test}, {CORRECTIONS[r.correction]}" for r in results))
    several = any(len(set(r.clusters)) > 1 for r in results)
    how = "clusters differ from each other" if several else "different from the first or not"
    rows.ax.set_xlabel(f"{_agreement_words(alone, rows.level)}\n{how} ({tests})")
    return rows.finished(ranking_fact(results), against="against ")


def reliability(results: Results[Any] | Reliability, *, ax: Axes | None = None) -> Axes:
    """What one person reaches against the others, and beside it each judge against the same.

    Examples
    --------
    >>> import calib
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> ax = reliability(calib.stats.reliability(people, [1, 2, 2, 3, 5]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one person', 'judge']
    """
    results = figure.checked(Reliability, results)
    ceilings, entries = [r.ceiling for r in results], []
    for label, r in zip(results.labels, ceilings, strict=True):
        fact = label | _agreement_facts(r)
        entries.append((fact, "one person", figure.End(r.ceiling, r.ceiling_interval, r.confidence_level)))
        if r.judge_by_rater:
            entries.append((fact, "judge", figure.End(r.judge, r.judge_interval, r.confidence_level)))
    rows = figure.rows_of_series(ax, entries, _CEILINGS)
    figure.zero_line(rows.ax)
    rows.ax.set_xlabel(_agreement_words(ceilings, f", with the mean of the other people{rows.level}"))
    return rows.finished(reliability_fact(results))


def _rows_by_head(rows: figure.RowAxes, hollow: Callable[[Any], bool] = lambda _: False) -> None:
    """Intervals coloured by the heading that they stand under, and a line at 0."""
    figure.zero_line(rows.ax)
    for mark in rows.marks:
        look = figure.colour_and_marker(rows.heads.index(mark.place[0]))
        style = figure.Style("", *look, hollow=hollow(mark.result))
        figure.draw_interval(rows.ax, rows.heights[mark.place], mark.result, style)


def _agreement_words(results: Sequence[Any], more: str) -> str:
    heads = dict.fromkeys(" ".join(_agreement_facts(r).values()) for r in results)
    return f"{'; '.join(heads)}{more}\nn = {_count_words(results)}"


def _count_words(results: Sequence[Any]) -> str:
    """How many units of each level the results have."""
    return ", ".join(
        f"{text.span_of([getattr(r, field) for r in results if r.level == level])} {unit}"
        for level, (field, unit) in _COUNTS.items()
        if any(r.level == level for r in results)
    )


def _agreement_facts(result: Any) -> dict[str, str]:
    return {"coefficient": COEFFICIENTS[result.coefficient], "level": LEVEL_WORDS[result.level]}


def _labels_with_facts(results: Results[Any]) -> list[dict[str, Any]]:
    return [label | _agreement_facts(result) for label, result in zip(results.labels, results, strict=True)]


def scatter(result: Results[Any] | Agreement, *, ax: Axes | None = None) -> Axes:
    """Judge against labels: the pairs that one result of `calib.agreement` is of.

    At level "system" these are the means of the systems, each with its name beside it, of at most twenty. Scores on few
    levels are spread a little, always in the same way, so that equal ones can be seen; the axis says so. Points are
    coloured by group, or else by system, where these are at most seven. More than 2,000 pairs are counted in bins.

    Examples
    --------
    >>> import calib
    >>> ax = scatter(calib.stats.agreement([1, 2, 3, 4], [2, 1, 3, 4]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('labels', 'judge')
    """
    label, one = figure.single_pair(result, Agreement)
    axes = figure.axes_of(ax)
    scores_y, scores_x, unit = one.sample.y, one.sample.x, ""
    kinds: dict[Any, Any] = {"": slice(None)}  # which pairs have one colour
    named: Sequence[Hashable] = ()  # the systems that points are of
    if one.level == "system":
        systems = _members(one.sample.system)
        scores_y, scores_x = (np.array([v[rows].mean() for rows in systems.values()]) for v in (scores_y, scores_x))
        named = list(systems) if len(systems) <= _NAMED_SYSTEMS else ()
    else:
        for labels_of_pairs, name in ((one.sample.system, "system"), (one.sample.group, "group")):
            members = _members(labels_of_pairs)
            if 1 < len(members) <= len(figure.COLOURS):
                kinds, unit = members, name
    labels, scores = scores_y, scores_x
    if len(labels) > _MOST_POINTS:
        figure.draw_counts(axes, labels, scores, "pairs")
    else:
        if one.level != "system":
            rng = np.random.default_rng(0)
            labels, scores = figure.spread_out(labels, rng), figure.spread_out(scores, rng)
        alpha, size = (0.3 if len(labels) > 200 else 0.75), (4 if len(labels) > 60 else 6)
        for place, (kind, rows) in enumerate(kinds.items()):
            colour, marker = figure.colour_and_marker(place)
            name = text.plain_text(kind, 24)
            axes.plot(labels[rows], scores[rows], marker, color=colour, mew=0, alpha=alpha, ms=size, label=name)
    means, spread = ", means of systems" * (one.level == "system"), "\n(equal scores spread a little)"
    axes.set_xlabel(f"{text.plain_text(label.get('against', 'labels'), 28)}{means}{spread * (labels is not scores_y)}")
    axes.set_ylabel(f"{text.plain_text(label.get('rater', 'judge'), 28)}{means}{spread * (scores is not scores_x)}")
    figure.plain_frame(axes)
    figure.name_points(axes, labels, scores, [text.plain_text(name, 24) for name in named])
    figure.say_title(axes, text.title_of([label], ["rater", "against"]), str(one))
    if unit and kinds and len(labels) <= _MOST_POINTS:
        legend = axes.legend(title=unit, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")
        for handle in legend.get_lines():
            handle.set(alpha=1, markersize=5)
    return axes


def _members(labels: Iterable[Hashable] | None) -> dict[Any, list[int]]:
    members: dict[Any, list[int]] = {}
    for place, label in enumerate(() if labels is None else labels):
        members.setdefault(label, []).append(place)
    return members


def forest(result: Results[Any] | Agreement, *, ax: Axes | None = None) -> Axes:
    """The coefficient of one `Agreement` inside each group, in order, with the mean and its interval as a band.

    Groups have their names where there are at most forty.

    Examples
    --------
    >>> import calib
    >>> scores = [1, 2, 3, 1, 3, 2, 4, 4, 4], [1, 2, 3, 1, 2, 3, 1, 2, 3]
    >>> ax = forest(calib.stats.agreement(*scores, groups=list("aaabbbccc"), level="group"))
    >>> print(ax.get_xlabel())
    Spearman rho inside each group
    1 of 3 groups has none: a rater gives it a single value; left out of the mean
    """
    label, one = figure.single_pair(result, Agreement)
    if one.level != "group":
        raise ArgumentError("result", "must be of level 'group'", f"is of level {one.level!r}")
    inside = one.sample.within
    ordered = sorted((name for name in inside if not math.isnan(inside[name])), key=lambda name: -inside[name])
    axes = figure.axes_of(ax)
    figure.zero_line(axes)
    axes.axvline(one.estimate, color=figure.COLOURS[1], linewidth=1.4, zorder=2, label="mean")
    if not math.isnan(one.interval.low):
        words = f"{100 * one.confidence_level:g} % CI of the mean"
        axes.axvspan(*one.interval, color=figure.COLOURS[1], alpha=0.18, linewidth=0, zorder=1, label=words)
    pitch = 1.0 if len(ordered) <= _NAMED else _FLAT / len(ordered)
    heights = [pitch * (place + 0.5) for place in range(len(ordered))]
    values, look = [inside[name] for name in ordered], "o"
    if len(values) > _MOST_POINTS:  # a curve through some of them
        some = np.linspace(0, len(values) - 1, _MOST_POINTS // 4).round().astype(int)
        values, heights, look = [values[i] for i in some], [heights[i] for i in some], "-"
    axes.plot(values, heights, look, color=figure.COLOURS[0], markersize=5.5 if pitch == 1 else 3, zorder=3)
    most = 18 if figure.is_narrow(axes) else 40
    names = [text.plain_text(name, most) for name in ordered] if pitch == 1 else []
    figure.plain_rows(axes, heights if names else [], names, (pitch * len(ordered) + 0.2, -0.2))
    axes.set_ylabel("" if pitch == 1 else f"{len(ordered)} groups, in order")
    without = ""
    if number := len(inside) - len(ordered):
        what = "left out of the mean" if one.constant == "skip" else "0 in the mean"
        noun = "group has" if len(inside) == 1 else "groups has" if number == 1 else "groups have"
        without = f"\n{number} of {len(inside)} {noun} none: a rater gives it a single value; {what}"
    axes.set_xlabel(f"{COEFFICIENTS[one.coefficient]} inside each group{without}")
    above = f"above 0 in {sum(inside[name] > 0 for name in ordered)} of {len(ordered)} groups"
    where = f"from {text.number_span(list(inside.values()))}" if one.coefficient in SHARES else above
    fact = f"{COEFFICIENTS[one.coefficient]} {where}, {one.estimate:.2f} in the mean" if ordered else ""
    handles, title = axes.get_legend_handles_labels()[0], text.title_of([label], ["rater", "against"])
    figure.legend_above(axes, handles, title, fact, columns=2)
    return figure.finished(axes, ax)


def heatmap(results: Results[Any] | Agreement, *, ax: Axes | None = None) -> Axes:
    """Judges down, criteria across: the estimate of `calib.agreement` in each cell, its interval beneath.

    Cells whose interval covers 0 have a dashed frame; the axis says so. Shares, such as pairwise accuracy, have no
    frames: 0 is not "no agreement" there.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> labels = calib.summarize(people, items)
    >>> results = calib.agreement(labels, labels[labels["rater"] == "simulated-3"], level="group")
    >>> ax = heatmap(results)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['simulated-1', 'simulated-2']
    """
    results = figure.checked(Agreement, results)
    facts = _labels_with_facts(results)
    names = [name for name in text.telling(facts) if name != "criterion"] or ["rater"]
    places = [(text.row_name(fact, names), str(fact.get("criterion", ""))) for fact in facts]
    again = [places[:i].count(place) for i, place in enumerate(places)]
    # another result for the same cell has a row of its own
    places = [(f"{row} #{k + 1}" if k else row, column) for (row, column), k in zip(places, again, strict=True)]
    rows, columns = (list(dict.fromkeys(column)) for column in zip(*places, strict=True))
    cells = {(rows.index(row), columns.index(column)): r for (row, column), r in zip(places, results, strict=True)}
    axes = figure.axes_of(ax)
    framed = {p for p, r in cells.items() if r.coefficient not in SHARES and r.interval.low <= 0 <= r.interval.high}
    figure.draw_cells(axes, rows, columns, cells, framed)
    dashed = "\ndashed: the interval covers 0" * bool(framed)
    axes.set_xlabel(_agreement_words(results, text.level_words(results)) + dashed)
    figure.say_title(axes, text.title_of(facts, [*names, "criterion"], "against "), agreement_fact(results))
    return figure.finished(axes, ax)


def ties(results: Results[Any] | Agreement, *, ax: Axes | None = None) -> Axes:
    """The share of tied pairs of each judge and of the labels it is compared with.

    Where they are far apart, tau-b and pairwise accuracy are as much about ties as about order.

    Examples
    --------
    >>> from calib.stats import agreement
    >>> print(ties(agreement([2, 1, 1.5, 5, 3], [1, 2, 2, 3, 4])).get_xlabel())
    share of tied pairs, over items
    n = 5 items
    """
    results = figure.checked(Agreement, results)
    styles = [
        figure.Style("judge", figure.COLOURS[1], "o"),
        figure.Style("labels", figure.COLOURS[0], "s", hollow=True),
    ]
    facts = [label | {"level": LEVEL_WORDS[r.level]} for label, r in zip(results.labels, results, strict=True)]
    rows = figure.rows_of(ax, facts, results, unnamed="rater")
    for mark in rows.marks:
        height, shares = rows.heights[mark.place], (mark.result.ties_x, mark.result.ties_y)
        rows.ax.hlines(height, *shares, colors="#9A9A9A", linewidth=2.5, zorder=2)
        for share, style in zip(shares, styles, strict=True):
            rows.ax.plot([share], [height], style.marker, color=style.colour, mfc=style.face, markersize=6, zorder=3)
    rows.ax.set_xlim(left=min(0.0, rows.ax.get_xlim()[0]))
    where = "; ".join(dict.fromkeys(LEVEL_WORDS[r.level] for r in results))
    rows.ax.set_xlabel(f"share of tied pairs, {where}\nn = {_count_words(results)}")
    scores, labels = (text.number_span([100 * getattr(r, name) for r in results]) for name in ("ties_x", "ties_y"))
    fact = f"the judge ties {scores} % of the pairs, people {labels} %"
    return rows.finished(fact, [style.handle(line=False) for style in styles], "against ")


def agreement_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The pairs of a single result, a map of several judges and criteria, or a row each."""
    if len(results) == 1:
        yield partial(scatter, results)
        if getattr(results[0], "level", "") == "group":
            yield partial(forest, results)
    elif all(len({str(label.get(name)) for label in results.labels}) > 1 for name in ("criterion", "rater")):
        yield partial(heatmap, results)
    else:
        yield partial(agreement, results)
