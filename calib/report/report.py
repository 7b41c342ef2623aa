"""Results -> one Markdown or HTML file, each number with its signature."""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
import pandas as pd

from calib import plot
from calib._version import __version__
from calib.analysis.agreement.coefficients import COEFFICIENTS, SHARES
from calib.analysis.means.mean import WORDS
from calib.core.check import ArgumentError
from calib.core.result import bracket, short
from calib.stats import (
    Agreement,
    AltTest,
    Averaging,
    BudgetPlan,
    Comparison,
    Convergence,
    GStudy,
    LabelsNeeded,
    MeanEstimate,
    PointScores,
    PromptMean,
    Ranking,
    RankStability,
    Reliability,
    Result,
    Temperature,
    VarianceComponents,
)
from calib.tables.figure import fit, telling, visible
from calib.tables.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Thing: TypeAlias = "Results | Result | pd.DataFrame | str"
_THINGS = (Results, Result, pd.DataFrame, str)

_JUDGE_ALONE = (
    "Judge alone: its interval is for the judge's own mean, whatever people think. "
    "It is not an interval for the human mean, and more judge scores do not make it one."
)
_HEADS = {
    "method": "read by", "estimator": "method", "std_error": "std. error", "p_value": "p", "n_missing": "missing",
    "n_groups": "groups", "n_systems": "systems", "n_skipped": "constant groups", "estimate_other": "other rule",
    "interval_method": "interval", "n_unmatched": "unmatched", "n_unread": "unread", "n_gold": "human labels",
    "lam": "judge's weight", "draws": "draws, N", "rmse": "RMSE", "rmse_predicted": "RMSE predicted",
    "correlation": "with the reference", "human": "with people", "human_low": "with people, low",
    "human_high": "with people, high", "rmse_low": "RMSE, low", "rmse_high": "RMSE, high",
    "human_predicted": "with people, predicted", "correlation_predicted": "with the reference, predicted",
    "items_low": "these prompts, low", "items_high": "these prompts, high", "s2_prompt": "prompt variance",
    "prompt_width": "width under one prompt", "n_prompts": "prompts", "ties_human": "people's ties",
    "step_cost": "price of the step", "per_money": "narrowing per money", "relative_error": "error of order",
    "absolute_error": "error of value", "e_rho2": "E(rho\u00b2)", "phi": "Phi", "tau_p_value": "p of tau 1",
    "estimate_other_missing": "other rule for missing", "ties_x": "judge's ties",
    "ties_y": "human ties", "levels_x": "judge's levels", "levels_y": "human levels", "n_raters": "people",
    "agreement_first": "agreement of first", "agreement_second": "agreement of second", "n_dropped": "dropped",
    "ties_first": "ties of first", "ties_second": "ties of second", "winning_rate": "winning rate",
    "width_ratio": "width against labels alone", "effective_n": "worth labels",
    "p_adjusted": "p adjusted", "n_gold_alone": "labels alone", "half_width_alone": "half-width alone",
    "half_width": "half-width", "not_distinguishable": "not told apart from", "generalises_to": "about",
}  # fmt: skip
_ESTIMATORS = WORDS | {"judge_only": "judge alone"}
_ESTIMATES = ("estimate", "std_error", "conf_low", "conf_high")


def report(
    results: Thing | Sequence[Thing | tuple[str, Thing]], path: str | Path | None = None, *, title: str = "calib report"
) -> str:
    r"""Write results down, as Markdown or as one self-contained HTML file with pictures.

    Parameters
    ----------
    results : sequence
        Of `Results`, single results, DataFrames and texts (a paragraph each), in the order
        of the report; each may be a pair (heading, thing). Means of one thing by several
        methods, one after the other, are one section with one picture.
    path : str or Path, optional
        Ends in .md or .html; folders are made. Default: Markdown, written nowhere.
    title : str

    Returns
    -------
    str
        The text of the report.

    Raises
    ------
    ValueError
        If `path` has another ending or there is nothing to report.
    TypeError
        If something is of another kind.

    Examples
    --------
    >>> from calib.stats import mean_interval
    >>> print(report([("Quality", mean_interval([3, 4, 4, 5, 4]))], title="Five labels"))  # doctest: +ELLIPSIS
    # Five labels
    <BLANKLINE>
    ## Quality
    <BLANKLINE>
    human mean = 4, 95 % CI \[3.122, 4.878\], from 5 human labels (people alone).
    <BLANKLINE>
    | estimate | std. error | 95 % CI |
    | ---: | ---: | ---: |
    | 4.000 | 0.316 | \[3.122, 4.878\] |
    <BLANKLINE>
    Also: method people alone, estimand human mean, judge's weight 0, human labels 5, n 5, ...
    <BLANKLINE>
    - `t|of:human-mean|alt:two-sided|cl:0.95|gold:5|n:5|lam:0|v:0.1.0`
    <BLANKLINE>
    """
    ending = ".md" if path is None else Path(path).suffix
    if ending not in (".md", ".html"):
        raise ArgumentError("path", "must end in .md or .html", f"got {str(path)!r}")
    sections = [_section(heading, thing, pictures=ending == ".html") for heading, thing in _listed(results)]
    if not sections:
        raise ArgumentError("results", "must hold something to report", "is empty")
    text = _markdown(title, sections) if ending == ".md" else _html(title, sections)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    return text


def _listed(results: Any) -> Iterator[tuple[str, Thing]]:
    alone = isinstance(results, _THINGS)
    for one in [results] if alone else _joined(results):
        pair = isinstance(one, tuple) and len(one) == 2
        heading, thing = one if pair else ("", one)
        if not isinstance(thing, _THINGS) or not isinstance(heading, str):
            raise TypeError(
                f"`results` must hold results, DataFrames and texts, or pairs (heading, thing), but got {one!r:.60}."
            )
        yield heading, thing


def _joined(results: Any) -> Iterator[Any]:
    """Means of one thing by several methods, given one after the other without a heading, are one section."""
    kept: Results | None = None
    for one in results:
        means = isinstance(one, Results) and len(one) > 0 and all(isinstance(r, MeanEstimate) for r in one)
        alike = kept is not None and means and one.labels == kept.labels[: len(one)]
        if alike and kept is not None:
            kept = kept + one
            continue
        if kept is not None:
            yield kept
        kept = one if means else None
        if not means:
            yield one
    if kept is not None:
        yield kept


# --- what a section says ----------------------------------------------------------------------------------------


class Table(NamedTuple):
    """A table as text: heads, rows, which columns are numbers."""

    heads: list[str]
    rows: list[list[str]]
    numeric: list[bool]


class Picture(NamedTuple):
    """A picture as a data URI, and in words."""

    uri: str
    words: str


class Section(NamedTuple):
    """Part of a report; nothing in it is escaped yet."""

    heading: str
    paragraphs: Sequence[str] = ()
    note: str = ""
    pictures: Sequence[Picture] = ()
    table: Table | None = None
    rest: str = ""
    signatures: Sequence[tuple[str, str]] = ()


def _section(heading: str, thing: Thing, *, pictures: bool) -> Section:
    if isinstance(thing, str):
        return Section(heading, [part for part in re.split(r"\n\s*\n", thing) if part.strip()])
    if isinstance(thing, pd.DataFrame):
        return Section(heading, table=_table(_flat(thing)))
    results = together(thing) if isinstance(thing, Results) else Results(({},), (thing,))
    if not len(results):
        return Section(heading, ["There are no results."])
    frame, rest = digest(results)
    assumed = " ".join(assumptions(results))
    rest = " ".join(filter(None, (rest, f"Assumed: {assumed}" * bool(assumed))))
    signatures = _signatures(results)
    if len(signatures) > 1:
        frame.insert(0, "#", range(1, len(frame) + 1))
    return Section(
        heading,
        _sentences(results),
        visible(" ".join(_notes(results))),
        _pictures(results) if pictures else [],
        _table(frame, _interval_head(results)),
        rest,
        signatures,
    )


def together(results: Results) -> Results:
    """Several methods for one thing one after the other."""
    keys = [{name: str(value) for name, value in label.items() if name[:2] != "n_"} for label in results.labels]
    order = sorted(range(len(keys)), key=lambda place: keys.index(keys[place]))
    return Results(tuple(results.labels[i] for i in order), tuple(results[i] for i in order))


def _interval_head(results: Results) -> str:
    parts = [result.ceiling if isinstance(result, Reliability) else result for result in results]
    levels = {getattr(part, "confidence_level", None) for part in parts}
    return f"{100 * level:g} % CI" if len(levels) == 1 and (level := levels.pop()) else "interval"


def informative(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A frame without its empty columns and without those that say the same in each row; what these say.

    Examples
    --------
    >>> frame = pd.DataFrame({"criterion": ["a", "b"], "rater": "judge", "prompt": "", "estimate": [0.5, 0.5]})
    >>> kept, shared = informative(frame)
    >>> list(kept), shared
    (['criterion', 'estimate'], {'rater': 'judge'})
    """
    full = frame.loc[:, [not _empty(frame[name]) for name in frame]]
    other = ("estimate_other", "estimate_other_missing")
    full = full.drop(columns=[name for name in other if name in full and full[name].equals(full.get("estimate"))])
    stay = {*_ESTIMATES, "p_value", *(["criterion"] if len(full) == 1 else [])}
    same = [name for name in full if name not in stay and len(full[name].drop_duplicates()) == 1]
    return full.drop(columns=same), {name: full[name].iloc[0] for name in same}


def digest(results: Results) -> tuple[pd.DataFrame, str]:
    """The columns of results in which the rows differ, and in words what the others say.

    Examples
    --------
    >>> from calib.stats import mean_interval
    >>> labels = ({"criterion": "fluency", "prompt": "f-1"}, {"criterion": "relevance", "prompt": "r-2"})
    >>> frame, rest = digest(Results(labels, (mean_interval([3, 4, 5]), mean_interval([1, 4, 5]))))
    >>> list(frame), rest[-32:]
    (['criterion', 'estimate', 'std_error', 'conf_low', 'conf_high'], 'In their order: prompt f-1, r-2.')
    """
    # warnings are said in words, each once
    numbers = (
        _once(results.to_frame())
        .drop(columns=["signature", "warnings", "labels_saved"], errors="ignore")
        .replace({"estimator": _ESTIMATORS})
    )
    frame, shared = informative(numbers)
    names = telling(results.labels) or ["criterion"]
    labels = dict.fromkeys(name for label in results.labels for name in label if not name.startswith("n_"))
    idle = [name for name in labels if name in frame and name not in names]
    words = ", ".join(f"{_HEADS.get(name, name)} {_cell(value)}" for name, value in shared.items())
    more = "; ".join(f"{_HEADS.get(n, n)} {', '.join(_cell(v) for v in dict.fromkeys(frame[n]))}" for n in idle)
    heads = {"The same in all rows" if len(frame) > 1 else "Also": words, "In their order": more}
    return frame.drop(columns=idle), " ".join(f"{head}: {text}." for head, text in heads.items() if text)


def _once(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame of comparisons that does not name a judge both by its label and by its name there."""
    pairs = (("rater", "first"), ("versus", "second"))
    twice = [a for a, b in pairs if {a, b} <= set(frame.columns) and (frame[a].astype(str) == frame[b]).all()]
    return frame.drop(columns=twice)


def _empty(values: pd.Series) -> bool:
    return bool((values.isna() | (values.astype(object) == "")).all())


def _sentences(results: Results) -> list[str]:
    """The results' own words where a table would not say it all."""
    if len(results) == 1:
        return [_sentence(results[0])]
    return conclusions(results) if all(isinstance(result, _SPEAKING) for result in results) else []


_SPEAKING = (
    *(Convergence, Comparison, Ranking, Reliability, AltTest),
    *(GStudy, Averaging, RankStability, BudgetPlan, PointScores, Temperature),
)


def _sentence(result: Result) -> str:
    """A result with what may be concluded from it."""
    said = str(result)
    more = f" {result.conclusion}" if isinstance(result, Comparison) else ""
    return f"{said}{'.' * (said[-1:] != '.')}{more}"


def conclusions(results: Results) -> list[str]:
    """What may be concluded: from agreements one sentence about the highest, from others a sentence each.

    Those about means can be pasted into a report.

    Examples
    --------
    >>> from calib.stats import agreement
    >>> results = Results(({},), (agreement([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], method="pearson"),))
    >>> print(*conclusions(results))
    Pearson r = 0.8286, 95 % CI [0.05193, 0.9807], which speaks about new items, each independent of the others, \
and excludes 0.
    """
    if all(isinstance(result, Agreement) for result in results):
        return [_highest(_words(results), cast("Sequence[Agreement]", results))]
    if all(isinstance(result, MeanEstimate) for result in results):
        means = zip(results.labels, cast("Sequence[MeanEstimate]", results), strict=True)
        return [_mean_sentence(label, result) for label, result in means]
    said = [f"{names}{': ' * bool(names)}{text}" for text, names in _by_text(results, lambda r: [_concluded(r)])]
    tests = sum(isinstance(result, Comparison) for result in results)
    return said + [f"These are {tests} tests; their p-values are not adjusted for that number."] * (tests > 1)


def _by_text(results: Results, said: Callable[[Any], Sequence[str]]) -> list[tuple[str, str]]:
    """What results say, each text once, and in words which of them say it."""
    found: dict[str, list[str]] = {}
    judges = ("rater", "versus") if all(isinstance(result, Comparison) for result in results) else ()
    # a comparison names its judges itself
    labels = [{name: value for name, value in label.items() if name not in judges} for label in results.labels]
    for name, result in zip(_words(Results(tuple(labels), results.results)), results, strict=True):
        for text in said(result):
            found.setdefault(text, []).append(name)
    return [(text, "; ".join(dict.fromkeys(filter(None, names)))) for text, names in found.items()]


def _concluded(result: Result) -> str:
    if isinstance(result, Comparison | Ranking):
        return result.conclusion
    return result.verdict if isinstance(result, AltTest) else f"{result}."


# labels that say how a score was read, not what it is of
_READ_BY = ("criterion", "rater", "prompt", "method", "temperature", "against", "p_adjusted")


def _mean_sentence(label: Mapping[str, Any], result: MeanEstimate) -> str:
    """A mean in words: what of, the interval, what it rests on, and what the judge was good for."""
    who = "human" if result.estimand.startswith("human") else "judge's"
    of = [f"{name} {label[name]}" for name in label if name not in _READ_BY and not name.startswith("n_")]
    apart = "Difference of mean" if "difference" in result.estimand else "Mean"
    what = " ".join(
        filter(None, (apart, who, str(label.get("criterion", "score")), *[f"of {', '.join(of)}"] * bool(of)))
    )
    labels = f"{result.n_gold} human labels" if result.n_gold else "no human label"
    scores = f" and {result.n} judge scores" if result.uses_judge else ""
    gain = 1 - result.width_ratio
    told = result.uses_judge and result.alternative == "two-sided" and abs(gain) >= 0.005  # NaN is not
    wide = f"; {abs(gain):.0%} {'narrower' if gain > 0 else 'wider'} than the labels alone".replace("%", " %")
    p = "" if math.isnan(result.p_value) else f", p = {result.p_value:.2g}"
    ends = result.bracket
    return f"{what} is {short(result.estimate)}, {ends}{p}, from {labels}{scores}{wide * told}."


def assumptions(results: Results) -> list[str]:
    """What has to be true for the intervals of means to hold, each once."""
    means = [result for result in results if isinstance(result, MeanEstimate)]
    means = [result for result in means if result.method != "judge_only"] or means
    return list(dict.fromkeys(text for result in means for text in result.assumptions))


def _highest(names: Sequence[str], results: Sequence[Agreement]) -> str:
    """Of one coefficient only: the highest of unlike ones means nothing."""
    kinds = [(result.coefficient, result.level) for result in results]
    known = [i for i, r in enumerate(results) if kinds[i] == kinds[0] and not math.isnan(r.estimate)]
    if not known:
        return "No coefficient could be computed, so nothing can be concluded."
    best = max(known, key=lambda i: results[i].estimate)
    words = f"{COEFFICIENTS[results[best].coefficient]} = {short(results[best].estimate)}, {_claim(results[best])}"
    if len(known) == 1:
        return f"{names[best]}{': ' * bool(names[best])}{words}."
    return f"The highest of {len(known)} ({names[best]}): {words}; the highest of several looks better than it is."


def _claim(result: Agreement) -> str:
    """What the interval of an agreement says, and no more."""
    low, high = result.interval
    words = bracket(result.interval, result.confidence_level)
    if math.isnan(low):
        return f"{words}: it says nothing beyond these data"
    about = f"{words}, which speaks about {result.generalises_to}"
    if result.coefficient in SHARES:
        return f"{about}; chance alone gives a share above 0, too"
    return f"{about}, and {'does not exclude 0' if low <= 0 <= high else 'excludes 0'}"


def _notes(results: Results) -> list[str]:
    """What a reader has to mind."""
    alone = any(getattr(result, "method", "") == "judge_only" for result in results)
    warned = _by_text(results, lambda result: getattr(result, "warnings", ()))
    return [_JUDGE_ALONE] * alone + [
        f"Mind{f' ({names})' * bool(names)}: {text.rstrip('.')}." for text, names in warned
    ]


def _words(results: Results) -> list[str]:
    """What tells each result from the others."""
    names = telling(results.labels)
    return [", ".join(str(label[name]) for name in names if label.get(name, "") != "") for label in results.labels]


def _signatures(results: Results) -> list[tuple[str, str]]:
    """Each signature once, with the rows of the table that it is of, unless that is all of them."""
    owners: dict[str, list[int]] = {}
    last = 0
    for result in results:
        first, last = last + 1, last + len(result.to_frame())
        owners.setdefault(result.signature, []).extend(range(first, last + 1))
    return [(_ranges(rows) if len(owners) > 1 else "", signature) for signature, rows in owners.items()]


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers with runs drawn together.

    Examples
    --------
    >>> _ranges([1, 2, 3, 7, 9, 10])
    '1-3, 7, 9-10'
    """
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


# --- numbers as text --------------------------------------------------------------------------------------------


def _table(frame: pd.DataFrame, interval: str = "interval") -> Table:
    """All columns as text; the two ends of an interval in one."""
    ends = {"conf_low", "conf_high"} <= set(frame.columns)
    digits = (
        _decimals(frame[[name for name in _ESTIMATES if name in frame]].to_numpy(float, na_value=np.nan))
        if ends
        else None
    )
    columns, numeric = {}, []
    for place, (name, values) in enumerate(frame.items()):
        if ends and name == "conf_high":
            continue
        texts = _texts(values, digits if ends and name in _ESTIMATES else None)
        if ends and name == "conf_low":
            texts = [
                f"[{a}, {b}]" if a and b else "" for a, b in zip(texts, _texts(frame["conf_high"], digits), strict=True)
            ]
        columns[place] = (interval if ends and name == "conf_low" else _HEADS.get(name, visible(name)), texts)
        numeric.append(_is_number(values))
    heads = [head for head, _ in columns.values()]
    return Table(heads, [list(row) for row in zip(*(texts for _, texts in columns.values()), strict=True)], numeric)


def _is_number(values: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def _texts(values: pd.Series, digits: int | None = None) -> list[str]:
    if not _is_number(values):
        return [_cell(value) for value in values]
    if values.name == "p_value":
        return ["" if math.isnan(p) else f"{p:.3g}" for p in values]
    places = _decimals(values.to_numpy(float, na_value=np.nan)) if digits is None else digits
    return ["" if pd.isna(value) else _fixed(float(value), places) for value in values]


def _fixed(value: float, digits: int) -> str:
    """As many decimals as the column has; a number that would read 0 and is not is written out."""
    text = f"{value:.{digits}f}"
    return short(value) if value and not float(text) else text


def _decimals(values: Any) -> int:
    """Decimals that show the largest of the numbers with four significant digits."""
    finite = np.abs(values[np.isfinite(values)])
    if not finite.size or (finite % 1 == 0).all():
        return 0
    return max(3 - math.floor(math.log10(finite.max())), 0)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else short(value)
    return "" if value is None or value is pd.NaT else visible(value)


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """The index as columns where it says something."""
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


# --- pictures ---------------------------------------------------------------------------------------------------


def _pictures(results: Results) -> list[Picture]:
    return [_picture(draw) for draw in _drawings(results)]


def _drawings(results: Results) -> Iterator[Callable[[Axes], Any]]:
    """What `calib.plot` has for results of one kind."""
    kinds = {type(result) for result in results}
    if len(kinds) > 1:
        return
    kind, every = kinds.pop(), cast("Sequence[Any]", results)
    if kind is Agreement:
        yield from _agreement_drawings(results)
    elif kind is Convergence:
        yield lambda ax: plot.convergence(results, ax=ax)
        if any(math.isfinite(result.human_reference) for result in every):
            yield lambda ax: plot.convergence(results, show="human", ax=ax)
    elif kind is MeanEstimate:
        shown = plot.difference if all("difference" in result.estimand for result in every) else plot.interval
        yield lambda ax: fit(shown(results, ax=ax))
    elif kind in _ROW_PLOTS:
        yield lambda ax: fit(_ROW_PLOTS[kind](results, ax=ax))
    elif kind in _PLAIN_PLOTS:
        yield lambda ax: _PLAIN_PLOTS[kind](results, ax=ax)
    elif kind is BudgetPlan:
        yield from (partial(_plan_drawing, results[place : place + 1]) for place in range(len(results)))


_ROW_PLOTS = {
    Comparison: plot.compare,
    Ranking: plot.ranking,
    Reliability: plot.reliability,
    PromptMean: plot.prompt_means,
}
_PLAIN_PLOTS = {LabelsNeeded: plot.labels_needed, GStudy: plot.components, VarianceComponents: plot.gain}


def _plan_drawing(results: Results, ax: Axes) -> Axes:
    return plot.plan(results, ax=ax)


def _agreement_drawings(results: Results) -> Iterator[Callable[[Axes], Any]]:
    """The pairs of a single result, a map of several judges and criteria, or a row each."""
    if len(results) == 1:
        yield lambda ax: plot.scatter(results, ax=ax)
        if getattr(results[0], "level", "") == "group":
            yield lambda ax: fit(plot.forest(results, ax=ax))
    elif all(len({str(label.get(name)) for label in results.labels}) > 1 for name in ("criterion", "rater")):
        yield lambda ax: fit(plot.heatmap(results, ax=ax), columns=len(ax.get_xticks()))
    else:
        yield lambda ax: fit(plot.agreement(results, ax=ax))


def _picture(draw: Callable[[Axes], Any]) -> Picture:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # a figure of its own, not of pyplot: nothing is shown in a session or left open
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    draw(ax)
    image = io.BytesIO()
    # the salt and no metadata: the same results give the same file
    with rc_context({"svg.hashsalt": "calib", "svg.fonttype": "path"}):
        figure.savefig(image, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    words = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel()))).replace("\n", ", ")
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(image.getvalue()).decode()}", f"Picture: {words}")


# --- the file ---------------------------------------------------------------------------------------------------


def _html(title: str, sections: Sequence[Section]) -> str:
    from jinja2 import Environment, StrictUndefined

    source = resources.files("calib.report").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    return environment.from_string(source).render(title=title, sections=sections, version=__version__)


def _markdown(title: str, sections: Sequence[Section]) -> str:
    parts = [f"# {_escaped(title)}", *(part for section in sections for part in _markdown_parts(section))]
    return "\n\n".join(parts) + "\n"


def _markdown_parts(section: Section) -> Iterator[str]:
    if section.heading:
        yield f"## {_escaped(section.heading)}"
    yield from map(_paragraph, section.paragraphs)
    if section.note:
        yield f"> {_escaped(section.note)}"
    if section.table is not None:
        yield _markdown_table(section.table)
    if section.rest:
        yield _escaped(section.rest)
    if section.signatures:
        yield "\n".join(f"- {f'row {rows}: ' * bool(rows)}`{code}`" for rows, code in section.signatures)


def _markdown_table(table: Table) -> str:
    rule = ["---:" if number else "---" for number in table.numeric]
    rows = [[_escaped(cell) for cell in row] for row in (table.heads, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _escaped(text: str) -> str:
    r"""Text that Markdown takes as it stands.

    Examples
    --------
    >>> print(_escaped("a|b <i>\n`c` [d](e) 1*2"))
    a\|b \<i\> \`c\` \[d\](e) 1\*2
    """
    return re.sub(r"([\\`*_\[\]<>|~$&])", r"\\\1", visible(text).strip())


def _paragraph(text: str) -> str:
    """The same at the start of a line, where a number or a dash would begin a list."""
    return re.sub(r"^(\d*)([#+\-.)])", r"\1\\\2", _escaped(text))
