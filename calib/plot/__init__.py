"""Result -> matplotlib Axes. One function per kind of result; they draw and compute nothing.

Each takes the `Results` of the verb of the same name (or a single result) and `ax=None`,
and returns the Axes. What an axis shows is read from the results: level, coefficient,
confidence level, n. Colours are those of Okabe and Ito, which colour-blind readers can tell
apart; markers and line styles say the same once more.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calib.analysis.agreement.coefficients import COEFFICIENTS, SHARES
from calib.analysis.draws.plots import components, convergence, d_study, gain, plan, prompt_means
from calib.analysis.means.mean import WORDS
from calib.core.check import ArgumentError, Floats
from calib.stats import (
    Agreement,
    Comparison,
    LabelsNeeded,
    MeanEstimate,
    Ranking,
    Reliability,
    Result,
    TieCalibration,
)
from calib.tables.figure import (
    COLOURS,
    End,
    Mark,
    Style,
    axes_of,
    checked_pairs,
    draw_interval,
    fit,
    joined_words,
    lay_rows,
    level_words,
    look_of,
    place_of,
    plain_frame,
    plain_text,
    single_pair,
    span_of,
    telling,
    title_of,
    visible,
)
from calib.tables.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "agreement",
    "compare",
    "components",
    "convergence",
    "d_study",
    "difference",
    "forest",
    "gain",
    "heatmap",
    "interval",
    "labels_needed",
    "plan",
    "prompt_means",
    "ranking",
    "reliability",
    "scatter",
    "ties",
]


def __dir__() -> list[str]:
    return __all__


_WHERE = {"item": "over items", "group": "within groups", "system": "over systems"}
_COUNTS = {"item": ("n", "items"), "group": ("n_groups", "groups"), "system": ("n_systems", "systems")}


def agreement(results: Results | Agreement, *, ax: Axes | None = None) -> Axes:
    """Correlations with their intervals, one row each, grouped and coloured by criterion.

    Parameters
    ----------
    results : Results of `calib.agreement`, or Agreement
        Rows are named by what tells the results apart.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items)
    >>> results = calib.agreement(human, human, level="group").select(rater="simulated-1")
    >>> print(agreement(results).get_xlabel())
    Spearman rho within groups (95 % CI)
    n = 24 groups
    """
    pairs = checked_pairs([results], Agreement)
    facts = [label | _facts(r) for label, r in pairs]
    names = telling(facts) or ["criterion"]
    marks = [Mark(place_of(fact, names), "", r) for fact, (_, r) in zip(facts, pairs, strict=True)]
    drawn = axes_of(ax)
    drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    rows = lay_rows(drawn, marks, names, 1)
    heads = list(dict.fromkeys(mark.place[0] for mark in marks))
    for mark in marks:
        draw_interval(drawn, rows[mark.place], mark.result, Style("", *look_of(heads.index(mark.place[0]))))
    drawn.set_xlabel(_agreement_words([r for _, r in pairs]))
    drawn.set_title(title_of(facts, names, "against "), loc="left", fontsize="medium")
    return drawn if ax is not None else fit(drawn)


def interval(
    *results: Results | MeanEstimate, truth: Mapping[Any, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Means with their intervals, one row per system or criterion, the methods side by side.

    The judge alone is drawn hollow and dashed: its interval is not one for the human mean.

    Parameters
    ----------
    *results : Results of `calib.interval`, or MeanEstimate
        One or more, such as gold only, judge only and PPI++ of the same rows.
    truth : mapping or Series, optional
        What the mean is known to be, by row: by what names the row (a system, say), or by a
        tuple of all that does. Drawn as a line through the row.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result, or `truth` knows none of the rows.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> from calib.stats import ppi_mean
    >>> y, f = [4, 3, 5, 4, 2, 4], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8]
    >>> rest = [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3]
    >>> ax = interval(*(ppi_mean(y, f, rest, method=method) for method in ("classical", "judge_only", "ppi++")))
    >>> for text in ax.get_legend().get_texts():
    ...     print(text.get_text())
    people alone: 6 labels
    judge alone (not an interval for the human mean): 14 scores
    PPI++: 6 labels, 14 judge scores
    """
    return _means(checked_pairs(results, MeanEstimate), truth, ax)


def labels_needed(results: Results | LabelsNeeded, *, ax: Axes | None = None) -> Axes:
    """Half-width of the interval against the number of labels, with the judge and without.

    Dots mark where the target is reached.

    Parameters
    ----------
    results : Results of `calib.labels_needed`, or LabelsNeeded
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> from calib.stats import labels_needed as needed
    >>> ax = labels_needed(needed(rho=0.8, sd=1.1, n_items=2000, half_width=0.2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['with the judge: 48 labels', 'labels alone: 119']
    """
    pairs = checked_pairs([results], LabelsNeeded)
    drawn, facts = axes_of(ax), [label for label, _ in pairs]
    names = telling(facts)
    for place, (label, result) in enumerate(pairs):
        of = ", ".join(place_of(label, names))
        _width_curves(drawn, result, f"{of}: " * bool(of), look_of(place)[0])
    drawn.set_xscale("log")
    drawn.set_ylim(bottom=0)
    drawn.set_xlabel("gold labels")
    drawn.set_ylabel(f"half-width of the {100 * pairs[0][1].confidence_level:g} % interval (score points)")
    drawn.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    drawn.xaxis.set_minor_formatter("")
    drawn.spines[["top", "right"]].set_visible(False)
    drawn.grid(color="#E4E4E4", linewidth=0.6, which="both")
    drawn.legend(frameon=False, fontsize="small")
    return drawn


def _width_curves(ax: Axes, result: LabelsNeeded, of: str, colour: str) -> None:
    n, judged, alone = (np.array(values) for values in zip(*result.curve, strict=True))
    ax.axhline(result.half_width, color=colour, linewidth=0.8, linestyle=":")
    for width, line, words, reached in (
        (judged, "-", f"{of}with the judge: {result.n_gold} labels", result.n_gold),
        (alone, "--", f"{of}labels alone: {result.n_gold_alone}", result.n_gold_alone),
    ):
        ax.plot(n, width, line, color=colour, linewidth=1.4, label=words)
        at = float(np.exp(np.interp(np.log(reached), np.log(n), np.log(width))))
        ax.plot([reached], [at], "o", color=colour, markersize=6, zorder=3)


def difference(results: Results | MeanEstimate, *, ax: Axes | None = None) -> Axes:
    """Differences of two systems with their intervals, and a line where there is none.

    Parameters
    ----------
    results : Results of `calib.difference`, or MeanEstimate
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> from calib.stats import ppi_difference
    >>> nan = float("nan")
    >>> y_a, y_b = [4, 5, 4, nan, nan], [3, 3, 4, nan, nan]
    >>> f_a, f_b = [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3]
    >>> difference(ppi_difference(y_a, y_b, f_a, f_b, method="ppi")).get_xlabel()
    'human mean difference (95 % CI)'
    """
    drawn = _means(checked_pairs([results], MeanEstimate), None, ax)
    drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    return drawn


def scatter(result: Results | Agreement, *, ax: Axes | None = None) -> Axes:
    """Judge against human: the pairs that a coefficient is of.

    At level "system" these are the means of the systems. Scores on few levels are spread a
    little, always in the same way, so that equal ones can be seen; the axis says so. Points
    are coloured by group, or else by system, where these are at most seven.

    Parameters
    ----------
    result : Agreement, or Results of `calib.agreement` with one
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is not exactly one result.
    TypeError
        If it is of another kind.

    Examples
    --------
    >>> import calib
    >>> ax = scatter(calib.stats.agreement([1, 2, 3, 4], [2, 1, 3, 4]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('human', 'judge')
    """
    label, found = single_pair(result, Agreement)
    drawn = axes_of(ax)
    cloud = _cloud(found)
    rng = np.random.default_rng(0)
    human, judge = (_spread_out(values, rng, found.level) for values in (cloud.human, cloud.judge))
    alpha, size = (0.3 if len(human) > 200 else 0.75), (4 if len(human) > 60 else 6)
    for place, (kind, rows) in enumerate(cloud.kinds.items()):
        colour, marker = look_of(place)
        name = plain_text(kind, 24)
        drawn.plot(human[rows], judge[rows], marker, color=colour, mew=0, alpha=alpha, markersize=size, label=name)
    means = _MEANS if found.level == "system" else ""
    drawn.set_xlabel(f"{plain_text(label.get('against', 'human'), 28)}{means}{_SPREAD * (human is not cloud.human)}")
    drawn.set_ylabel(f"{plain_text(label.get('rater', 'judge'), 28)}{means}{_SPREAD * (judge is not cloud.judge)}")
    plain_frame(drawn)
    _say_above(drawn, label, found)
    if cloud.unit and cloud.kinds:
        _legend_beside(drawn, cloud.unit)
    return drawn


def forest(result: Results | Agreement, *, ax: Axes | None = None) -> Axes:
    """The coefficient inside each group, in order, with the mean and its interval as a band.

    Groups have their names where there are at most forty.

    Parameters
    ----------
    result : Agreement of level "group", or Results of `calib.agreement` with one
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is not exactly one result, or it is of another level.
    TypeError
        If it is of another kind.

    Examples
    --------
    >>> import calib
    >>> scores = [1, 2, 3, 1, 3, 2, 4, 4, 4], [1, 2, 3, 1, 2, 3, 1, 2, 3]
    >>> ax = forest(calib.stats.agreement(*scores, groups=list("aaabbbccc"), level="group"))
    >>> print(ax.get_xlabel())
    Spearman rho inside each group
    1 of 3 groups has none: a rater gives it a single value; left out of the mean
    """
    label, found = single_pair(result, Agreement)
    if found.level != "group":
        raise ArgumentError("result", "must be of level 'group'", f"is of level {found.level!r}")
    inside = found.sample.within
    shown = sorted((name for name in inside if not math.isnan(inside[name])), key=lambda name: -inside[name])
    drawn = axes_of(ax)
    drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    _band(drawn, found)
    pitch = 1.0 if len(shown) <= _NAMED else _FLAT / len(shown)
    heights = [pitch * (place + 0.5) for place in range(len(shown))]
    size = 5.5 if pitch == 1 else 3
    drawn.plot([inside[name] for name in shown], heights, "o", color=COLOURS[0], markersize=size, zorder=3)
    _rows_look(drawn, pitch * len(shown))
    drawn.set_yticks(heights if pitch == 1 else [], [plain_text(name) for name in shown] if pitch == 1 else [])
    drawn.set_ylabel("" if pitch == 1 else f"{len(shown)} groups, in order")
    drawn.set_xlabel(
        f"{COEFFICIENTS[found.coefficient]} inside each group{_without_one(found, len(inside) - len(shown))}"
    )
    _say_above(drawn, label, found)
    drawn.legend(frameon=False, fontsize="small", loc="best")
    return drawn if ax is not None else fit(drawn)


def heatmap(results: Results | Agreement, *, ax: Axes | None = None) -> Axes:
    """Judges down, criteria across: the estimate in each cell and its interval beneath.

    Cells whose interval covers 0 have a dashed frame; the axis says so. Shares, such as
    pairwise accuracy, have no frames: 0 is not "no agreement" there.

    Parameters
    ----------
    results : Results of `calib.agreement`, or Agreement
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items)
    >>> results = calib.agreement(human, human[human["rater"] == "simulated-3"], level="group")
    >>> ax = heatmap(results)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['simulated-1', 'simulated-2']
    """
    pairs = checked_pairs([results], Agreement)
    facts = [label | _facts(r) for label, r in pairs]
    names = [name for name in telling(facts) if name != "criterion"] or ["rater"]
    places = _map_places(facts, names)
    rows, columns = (list(dict.fromkeys(column)) for column in zip(*places, strict=True))
    cells = {(rows.index(row), columns.index(column)): r for (row, column), (_, r) in zip(places, pairs, strict=True)}
    drawn = axes_of(ax)
    table = np.full((len(rows), len(columns)), np.nan)
    for place, r in cells.items():
        table[place] = r.estimate
    _cells(drawn, table, cells)
    _grid_names(drawn, columns, rows)
    framed = any(_covers_zero(r) for r in cells.values())
    drawn.set_xlabel(_agreement_words([r for _, r in pairs]) + "\ndashed: the interval covers 0" * framed)
    drawn.set_title(title_of(facts, [*names, "criterion"], "against "), loc="left", fontsize="medium")
    return drawn if ax is not None else fit(drawn, columns=len(columns))


def ties(results: Results | Agreement | TieCalibration, *, ax: Axes | None = None) -> Axes:
    """The share of tied pairs of each judge and of the human it is compared with.

    Where they are far apart, tau-b and pairwise accuracy are as much about ties as about
    order. A tie calibration is drawn as the accuracy at every epsilon.

    Parameters
    ----------
    results : Results of `calib.agreement`, Agreement, or TieCalibration
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> from calib.stats import agreement, tie_calibration
    >>> x, y = [2, 1, 1.5, 5, 3], [1, 2, 2, 3, 4]
    >>> print(ties(agreement(x, y)).get_xlabel())
    share of tied pairs, over items
    n = 5 items
    >>> ties(tie_calibration(x, y)).get_xlabel()
    'scores of the judge within epsilon are ties'
    """
    if isinstance(results, TieCalibration):
        return _tie_curve(axes_of(ax), results)
    pairs = checked_pairs([results], Agreement)
    facts = [label | {"level": _WHERE[r.level]} for label, r in pairs]
    names = telling(facts) or ["rater"]
    marks = [Mark(place_of(fact, names), "", r) for fact, (_, r) in zip(facts, pairs, strict=True)]
    styles = [Style("judge", COLOURS[1], "o"), Style("human", COLOURS[0], "s", hollow=True)]
    drawn = axes_of(ax)
    rows = lay_rows(drawn, marks, names, 1)
    for mark in marks:
        height, shares = rows[mark.place], (mark.result.ties_x, mark.result.ties_y)
        drawn.hlines(height, *shares, colors="#9A9A9A", linewidth=2.5, zorder=2)
        for share, style in zip(shares, styles, strict=True):
            drawn.plot([share], [height], style.marker, color=style.colour, mfc=style.face, markersize=6, zorder=3)
    drawn.set_xlim(left=min(0.0, drawn.get_xlim()[0]))
    where = "; ".join(dict.fromkeys(_WHERE[r.level] for _, r in pairs))
    drawn.set_xlabel(f"share of tied pairs, {where}\nn = {_counts([r for _, r in pairs])}")
    _legend_above(drawn, styles, False, title_of(facts, names, "against "), lines=False)
    return drawn if ax is not None else fit(drawn)


def compare(results: Results | Comparison, *, ax: Axes | None = None) -> Axes:
    """Differences of two judges' agreement with people, with intervals, and a line where there is none.

    What the test does not tell apart is hollow and dashed.

    Parameters
    ----------
    results : Results of `calib.compare`, or Comparison
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import calib
    >>> result = calib.stats.compare([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], [1, 3, 2, 4, 5], names=("a", "b"))
    >>> ax = compare(result)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a minus b']
    """
    pairs = checked_pairs([results], Comparison)
    facts = [_contrast(label, r) for label, r in pairs]
    names = telling(facts) or ["judges"]
    marks = [Mark(place_of(fact, names), "", r) for fact, (_, r) in zip(facts, pairs, strict=True)]
    drawn = axes_of(ax)
    drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    rows = lay_rows(drawn, marks, names, 1)
    heads = list(dict.fromkeys(mark.place[0] for mark in marks))
    for mark in marks:
        apart = mark.result.p_value <= 1 - mark.result.confidence_level
        draw_interval(
            drawn, rows[mark.place], mark.result, Style("", *look_of(heads.index(mark.place[0])), hollow=not apart)
        )
    tests = ", ".join(dict.fromkeys(r.test for _, r in pairs))
    words = _agreement_words([r for _, r in pairs])
    drawn.set_xlabel(f"difference, {words}\nhollow: not told apart ({tests})")
    drawn.set_title(title_of(facts, [*names, "test"], "against "), loc="left", fontsize="medium")
    return drawn if ax is not None else fit(drawn)


def ranking(results: Results | Ranking, *, ax: Axes | None = None) -> Axes:
    """Judges in the order of their agreement with people, with intervals, coloured by cluster.

    Every judge of one cluster is told apart from every judge of another, by paired tests:
    intervals that overlap do not show that two judges are alike.

    Parameters
    ----------
    results : Results of `calib.rank_judges`, or Ranking
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import calib
    >>> result = calib.stats.rank_judges({"b": [2, 1, 4, 3, 5], "a": [1, 2, 3, 4, 5]}, [1, 3, 2, 4, 5])
    >>> ax = ranking(result)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b']
    """
    pairs = checked_pairs([results], Ranking)
    facts = [label | _facts(r) | {"judge": name} for label, r in pairs for name in r.names]
    names = [*(name for name in telling(facts) if name != "judge"), "judge"]
    clusters = [f"cluster {cluster}" for _, r in pairs for cluster in r.clusters]
    alone = [one for _, r in pairs for one in r.agreements]
    marks = [Mark(place_of(f, names), c, r) for f, c, r in zip(facts, clusters, alone, strict=True)]
    styles = {c: Style(c, *look_of(place)) for place, c in enumerate(sorted(set(clusters), key=lambda c: (len(c), c)))}
    drawn = axes_of(ax)
    rows = lay_rows(drawn, marks, names, 1)
    for mark in marks:
        draw_interval(drawn, rows[mark.place], mark.result, styles[mark.series])
    tests = ", ".join(dict.fromkeys(f"{r.test}, {_CORRECTED[r.correction]}" for _, r in pairs))
    drawn.set_xlabel(f"{_agreement_words(alone)}\nclusters are told apart from each other ({tests})")
    _legend_above(drawn, list(styles.values()), False, title_of(facts, names, "against "))
    return drawn if ax is not None else fit(drawn)


def reliability(results: Results | Reliability, *, ax: Axes | None = None) -> Axes:
    """What one person reaches against the others, and beside it each judge against the same.

    Parameters
    ----------
    results : Results of `calib.reliability`, or Reliability
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no result.
    TypeError
        If a result is of another kind.

    Examples
    --------
    >>> import calib
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> ax = reliability(calib.stats.reliability(people, [1, 2, 2, 3, 5]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one person', 'judge']
    """
    ceilings = [(label, r.ceiling) for label, r in checked_pairs([results], Reliability)]
    facts = [label | _facts(r) for label, r in ceilings]
    names = telling(facts) or ["criterion"]
    marks = []
    for fact, (_, r) in zip(facts, ceilings, strict=True):
        marks.append(Mark(place_of(fact, names), "one person", End(r.ceiling, r.ceiling_interval, r.confidence_level)))
        if r.judge_by_rater:
            marks.append(Mark(place_of(fact, names), "judge", End(r.judge, r.judge_interval, r.confidence_level)))
    styles = {s: _CEILING_STYLES[s] for s in dict.fromkeys(mark.series for mark in marks)}
    drawn = axes_of(ax)
    drawn.axvline(0, color="black", linewidth=0.8, zorder=1)
    rows = lay_rows(drawn, marks, names, 0.6 * len(styles) + 0.4)
    for mark in marks:
        offset = 0.6 * (list(styles).index(mark.series) - (len(styles) - 1) / 2)
        draw_interval(drawn, rows[mark.place] + offset, mark.result, styles[mark.series])
    heads = "; ".join(dict.fromkeys(f"{COEFFICIENTS[r.coefficient]} {_WHERE[r.level]}" for _, r in ceilings))
    level = level_words([mark.result for mark in marks])
    drawn.set_xlabel(f"{heads}, with the mean of the other people{level}\nn = {_counts([r for _, r in ceilings])}")
    _legend_above(drawn, list(styles.values()), False, title_of(facts, names))
    return drawn if ax is not None else fit(drawn)


# --- words ------------------------------------------------------------------------------------------------------


def _agreement_words(results: Sequence[Agreement] | Sequence[Comparison]) -> str:
    heads = dict.fromkeys(f"{COEFFICIENTS[r.coefficient]} {_WHERE[r.level]}" for r in results)
    return f"{'; '.join(heads)}{level_words(results)}\nn = {_counts(results)}"


def _counts(results: Sequence[Any]) -> str:
    """How many units of each level the results have."""
    return ", ".join(
        f"{span_of([getattr(r, field) for r in results if r.level == level])} {unit}"
        for level, (field, unit) in _COUNTS.items()
        if any(r.level == level for r in results)
    )


def _facts(result: Any) -> dict[str, str]:
    return {"coefficient": COEFFICIENTS[result.coefficient], "level": _WHERE[result.level]}


def _contrast(label: Mapping[str, Any], result: Comparison) -> dict[str, Any]:
    """A label with both judges in one entry, as the row of a difference is called."""
    rest = {name: value for name, value in label.items() if name not in ("rater", "versus")}
    return (
        rest
        | {"judges": " minus ".join(_short(name) for name in result.names)}
        | _facts(result)
        | {"test": result.test}
    )


def _short(name: str) -> str:
    return visible(name, 18)


def _say_above(ax: Axes, label: Mapping[str, Any], result: Result) -> None:
    """The result in one sentence, with what its axes do not name."""
    head = title_of([label], ["rater", "against"])
    lines = textwrap.wrap(f"{head}{': ' * bool(head)}{result}", 72)
    ax.set_title("\n".join(lines), loc="left", fontsize="small")


# --- rows -------------------------------------------------------------------------------------------------------


_ALONE = "judge alone (not an interval for the human mean)"
_LOOKS = {  # by what an estimator is called in words
    "people alone": ("#0072B2", "s"),
    "people alone, conservative": ("#0072B2", "v"),
    WORDS["judge_only"]: ("#6E6E6E", "o"),
    "PPI": ("#009E73", "D"),
    "PPI++": ("#CC79A7", "^"),
    "PPI++ as in ppi_py": ("#56B4E9", "P"),
    "PPI as in ARES": ("#E69F00", "X"),
    "PPI++ as in glide": ("#4D4D4D", "*"),
    "regression estimator": ("#009E73", "v"),
    "people and judge, conservative": ("#D55E00", "D"),
    "people and judge": ("#D55E00", "o"),
}


_CEILING_STYLES = {
    "one person": Style("one person", "#0072B2", "s"),
    "judge": Style("judge", "#D55E00", "o"),
}
_CORRECTED = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "not adjusted"}


# --- pairs, groups and cells ------------------------------------------------------------------------------------

_MEANS, _SPREAD = ", means of systems", "\n(equal scores spread a little)"
_FEW_SYSTEMS = _FEW_LEVELS = 20
_NAMED, _FLAT = 40, 16.0  # groups that are named; height of more of them, in rows


class _Cloud(NamedTuple):
    """The pairs of human and judge; which of them have one colour, and what these kinds are, if they are of some."""

    human: Floats
    judge: Floats
    kinds: dict[Any, Any]
    unit: str


def _cloud(result: Agreement) -> _Cloud:
    sample, one = result.sample, {"": slice(None)}
    if result.level == "system":
        systems = _members(sample.system)
        human, judge = (np.array([v[rows].mean() for rows in systems.values()]) for v in (sample.y, sample.x))
        kinds = {name: [place] for place, name in enumerate(systems)}
        return _Cloud(human, judge, kinds, "system") if len(kinds) <= _FEW_SYSTEMS else _Cloud(human, judge, one, "")
    for labels, unit in ((sample.group, "group"), (sample.system, "system")):
        found = _members(labels)
        if 1 < len(found) <= len(COLOURS):
            return _Cloud(sample.y, sample.x, found, unit)
    return _Cloud(sample.y, sample.x, one, "")


def _legend_beside(ax: Axes, title: str) -> None:
    from matplotlib.lines import Line2D

    legend = ax.legend(title=title, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")
    for handle in legend.legend_handles:
        assert isinstance(handle, Line2D)
        handle.set(alpha=1, markersize=5)


def _members(labels: Iterable[Hashable] | None) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for place, label in enumerate(() if labels is None else labels):
        found.setdefault(label, []).append(place)
    return found


def _spread_out(values: Floats, rng: np.random.Generator, level: str) -> Floats:
    """Scores on few levels moved a little, or the very same array where equal ones are rare."""
    levels = np.unique(values)
    if level == "system" or not len(levels) < len(values) or len(levels) > _FEW_LEVELS:
        return values
    gap = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
    return values + 0.3 * gap * rng.uniform(-1, 1, len(values))


def _band(ax: Axes, result: Agreement) -> None:
    low, high = result.interval
    ax.axvline(result.estimate, color=COLOURS[1], linewidth=1.4, zorder=2, label="mean")
    if not math.isnan(low):
        words = f"{100 * result.confidence_level:g} % CI of the mean"
        ax.axvspan(low, high, color=COLOURS[1], alpha=0.18, linewidth=0, zorder=1, label=words)


def _without_one(result: Agreement, number: int) -> str:
    if not number:
        return ""
    what = "left out of the mean" if result.constant == "skip" else "0 in the mean"
    noun = "group has" if len(result.sample.within) == 1 else "groups has" if number == 1 else "groups have"
    return f"\n{number} of {len(result.sample.within)} {noun} none: a rater gives it a single value; {what}"


def _rows_look(ax: Axes, end: float) -> None:
    ax.set_ylim(end + 0.2, -0.2)
    ax.tick_params(axis="y", length=0)
    plain_frame(ax, "x")


def _map_places(facts: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[tuple[str, str]]:
    """Row and column of each result; another one for the same cell has a row of its own."""
    places = [(joined_words(place_of(fact, names), names), str(fact.get("criterion", ""))) for fact in facts]
    again = [places[:i].count(place) for i, place in enumerate(places)]
    return [(f"{row} #{k + 1}" if k else row, column) for (row, column), k in zip(places, again, strict=True)]


def _covers_zero(result: Agreement) -> bool:
    return result.coefficient not in SHARES and result.interval.low <= 0 <= result.interval.high


def _cells(ax: Axes, table: Floats, cells: Mapping[tuple[int, int], Agreement]) -> None:
    """Coloured cells, two units high, with their numbers; from 0 where nothing is negative, else both ways from 0."""
    from matplotlib.patches import Rectangle

    top = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
    signed = bool((table < 0).any())
    edges = np.arange(table.shape[1] + 1), 2.0 * np.arange(table.shape[0] + 1)
    colours: dict[str, Any] = {"cmap": "RdBu" if signed else "Blues", "vmin": -top if signed else 0.0, "vmax": top}
    mesh = ax.pcolormesh(*edges, np.ma.masked_invalid(table), edgecolors="white", linewidth=1.5, **colours)
    for (row, column), result in cells.items():
        shade = mesh.to_rgba(np.ma.masked_invalid([result.estimate]))[0]
        ink = "white" if _dark(shade) else "black"
        _cell_words(ax, (column + 0.5, 2.0 * row + 1), result, ink)
        if _covers_zero(result):
            look: dict[str, Any] = {"fill": False, "linestyle": (0, (3, 2)), "linewidth": 1.1, "edgecolor": ink}
            ax.add_patch(Rectangle((column + 0.05, 2 * row + 0.2), 0.9, 1.6, **look))
    ax.figure.colorbar(mesh, ax=ax, fraction=0.04, pad=0.02)


def _cell_words(ax: Axes, centre: tuple[float, float], result: Agreement, colour: str) -> None:
    (x, y), (low, high) = centre, result.interval
    whole = not math.isnan(low)
    words: dict[str, Any] = {"ha": "center", "va": "center", "color": colour}
    number = "none" if math.isnan(result.estimate) else f"{result.estimate:.3f}"
    ax.text(x, y - 0.3 * whole, number, **words)
    if whole:
        ax.text(x, y + 0.45, f"[{low:.2f}, {high:.2f}]", fontsize="x-small", **words)


def _dark(colour: Floats) -> bool:
    red, green, blue, alpha = colour
    return bool(alpha and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def _grid_names(ax: Axes, columns: Sequence[str], rows: Sequence[str]) -> None:
    ax.set_ylim(2.0 * len(rows), 0)
    ax.set_yticks([2.0 * place + 1 for place in range(len(rows))], rows)
    lines = ["\n".join(textwrap.wrap(visible(name, 36), 14)).replace("$", r"\$") for name in columns]
    ax.set_xticks([place + 0.5 for place in range(len(columns))], lines)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _tie_curve(ax: Axes, result: TieCalibration) -> Axes:
    epsilons, accuracies = result.curve
    ax.step(epsilons, accuracies, where="post", color=COLOURS[0], linewidth=1.4)
    ax.plot([result.epsilon], [result.accuracy], "o", color=COLOURS[1], markersize=6)
    ax.set_xlabel("scores of the judge within epsilon are ties")
    ax.set_ylabel("pairwise accuracy")
    plain_frame(ax)
    _say_above(ax, {}, result)
    return ax


# --- means ------------------------------------------------------------------------------------------------------


def _means(
    pairs: Sequence[tuple[dict[str, Any], MeanEstimate]], truth: Mapping[Any, float] | None, ax: Axes | None
) -> Axes:
    facts, results = [label for label, _ in pairs], [r for _, r in pairs]
    names = telling(facts) or ["criterion"]
    series = _series(pairs, names)
    marks = [Mark(place_of(fact, names), s, r) for fact, s, r in zip(facts, series, results, strict=True)]
    styles = _series_styles(marks)
    drawn = axes_of(ax)
    rows = lay_rows(drawn, marks, names, 0.6 * len(styles) + 0.4)
    for mark in marks:
        offset = 0.6 * (list(styles).index(mark.series) - (len(styles) - 1) / 2)
        draw_interval(drawn, rows[mark.place] + offset, mark.result, styles[mark.series])
    if truth is not None:
        _truth(drawn, rows, truth, 0.3 * len(styles) + 0.1)
    estimands = dict.fromkeys(r.estimand for r in sorted(results, key=lambda r: r.method == "judge_only"))
    drawn.set_xlabel(f"{next(iter(estimands))}{level_words(results)}")
    _legend_above(drawn, list(styles.values()), truth is not None, title_of(facts, names, "gold by "))
    return drawn if ax is not None else fit(drawn)


def _series(pairs: Sequence[tuple[dict[str, Any], MeanEstimate]], names: Sequence[str]) -> list[str]:
    """Which series each result is of: its method, and the number of it where a row has several of one method."""
    seen: dict[tuple[Any, ...], int] = {}
    series = []
    for label, result in pairs:
        words = WORDS[result.method]  # rows of one estimator may differ in how the labels alone were read
        key = (place_of(label, names), words)
        seen[key] = seen.get(key, 0) + 1
        series.append(f"{words} {seen[key]}")
    return series


def _series_styles(marks: Sequence[Mark]) -> dict[str, Style]:
    styles: dict[str, Style] = {}
    for mark in sorted(marks, key=lambda m: list(_LOOKS).index(WORDS[m.result.method])):
        again, alone = int(mark.series.rpartition(" ")[2]) - 1, mark.result.method == "judge_only"
        colour, marker = _LOOKS[WORDS[mark.result.method]] if not again else look_of(again + 3)
        results = [m.result for m in marks if m.series == mark.series]
        said = _ALONE if alone else WORDS[mark.result.method]
        styles[mark.series] = Style(f"{said}: {_material(results)}", colour, marker, alone)
    return styles


def _material(results: Sequence[MeanEstimate]) -> str:
    labels, scores = (span_of([getattr(r, name) for r in results]) for name in ("n_gold", "n"))
    if results[0].method == "judge_only":
        return f"{scores} scores"
    return f"{labels} labels, {scores} judge scores" if results[0].uses_judge else f"{labels} labels"


def _truth(ax: Axes, rows: dict[tuple[str, ...], float], truth: Mapping[Any, float], half: float) -> None:
    known = {tuple(map(str, key)) if isinstance(key, tuple) else str(key): value for key, value in truth.items()}
    found = {height: known.get(place, known.get(place[-1])) for place, height in rows.items()}
    drawn = {height: float(value) for height, value in found.items() if value is not None}
    if not drawn:
        there = ", ".join(repr(place[-1]) for place in list(rows)[:5])
        raise ArgumentError("truth", f"must know some of the rows (such as {there})", f"has {list(known)[:5]}")
    for height, value in drawn.items():
        ax.vlines(value, height - half, height + half, colors="black", linewidth=1.4, zorder=4)


def _legend_above(ax: Axes, styles: Sequence[Style], known: bool, title: str, *, lines: bool = True) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=s.colour, marker=s.marker, mfc=s.face, markersize=5, linestyle=s.line, label=s.words)
        for s in styles
    ]
    for handle in () if lines else handles:
        handle.set_linestyle("")
    handles += [Line2D([], [], color="black", marker="|", linestyle="", markersize=9, label="truth")] * known
    above = {"bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "frameon": False, "fontsize": "small"}
    ax.legend(handles=handles, loc="lower left", **above)
    ax.set_title(title, loc="left", fontsize="medium", pad=8 + 14.5 * len(handles))
