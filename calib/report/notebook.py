"""Results in a notebook: conclusions, a short table, and where the rest is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import escape
from typing import Any

import pandas as pd

from calib.analysis.agreement.coefficients import COEFFICIENTS, LEVEL_WORDS
from calib.core.result import Result, short
from calib.core.topic import display_of
from calib.report.columns import COUNTS, Table, heads, informative_columns, table_of
from calib.report.sections import interval_head
from calib.table.paper import NO_FORMULAS
from calib.table.results import Results, conclusions, way_to_one
from calib.table.text import by_text, telling, told_apart, visible

_COLUMNS, _ROWS, _SENTENCES, _LONGEST = 6, 30, 4, 80
_FIRST = ("estimate", "conf_low", "p_adjusted", "p_value")
_LAST = ("std_error", "df", "lam")  # the interval says as much, and more plainly


def html_of(thing: Results[Any] | Result) -> str:
    """Sentences, a table of at most six columns, cautions, and a small line with the ways to the rest."""
    results = Results(({},), (thing,)) if isinstance(thing, Result) else thing
    if not len(results):
        return "<p>There are no results.</p>"
    whole, sentences = results.to_frame(), conclusions(results)
    few = sentences
    if len(sentences) > _SENTENCES:  # from where to where the estimates go
        pairs = zip(told_apart(results.labels), results, strict=True)
        numbers = [(x, name) for name, result in pairs if not math.isnan(x := getattr(result, "estimate", math.nan))]
        few = []
        if len({type(result) for result in results}) == 1 and len(numbers) > 1:
            ends = (f"{short(x)}{f' ({visible(name, 80)})' * bool(name)}" for x, name in (min(numbers), max(numbers)))
            few = [f"{len(numbers):,} estimates, from {' to '.join(ends)}."]
    frame = brief_frame(results, whole)
    # how many there are, and what to type for the rest
    several = isinstance(thing, Results) and len(thing) > 1
    small = [f"{len(results):,} results" if several else "One result"]
    small += [f"the first {_ROWS} of {len(frame):,} rows"] * (len(frame) > _ROWS)
    small.append(f"all {whole.shape[1] - isinstance(thing, Result)} columns: `.to_frame()`")
    small += ["in sentences: `.conclusion`"] * (few != sentences)
    small += [f"one: `{visible(way_to_one(results.labels), 200)}`"] * several
    if isinstance(thing, Results):
        small += ["picture: `.plot()`"] * any(display_of(type(result)).plots for result in results)
        small.append('page: `.report("page.html")`')
    texts = [f"<p>{_escaped(text)}</p>" for text in few if text]
    table = _html_table(brief_table(frame, interval_head(results))) if len(frame) else ""
    notes = [_shared_facts(results), *_caution_lines(results), f"{'; '.join(small)}."]
    about, *below = (f"<p><small>{_escaped(text)}</small></p>" for text in notes)
    return "\n".join([f"<div {NO_FORMULAS}>", *texts, about, *filter(None, (table,)), *below, "</div>"])


def brief_frame(results: Results[Any], whole: pd.DataFrame) -> pd.DataFrame:
    """The columns in which rows differ, by how much a reader wants them: what a row is about, its number, interval."""
    frame = informative_columns(results)[0].reset_index(drop=True)
    each = len(frame) == len(results)
    about = [name for name in telling(results.labels) if name in frame and name != "p_adjusted"]
    if each and "p_adjusted" in whole:
        frame["p_adjusted"] = whole["p_adjusted"]
    if len(frame) == 1:  # what is the same in each row, too
        frame = frame.drop(columns="criterion", errors="ignore").join(whole[[n for n in COUNTS if n in whole]])
    if len(about) > _COLUMNS // 2 and each:
        frame, about = frame.drop(columns=about).assign(of=told_apart(results.labels)), ["of"]
    names = [str(name) for name in frame]
    numbers = [name for name in names if pd.api.types.is_numeric_dtype(frame[name])]
    before = names[: names.index("estimate")] if "estimate" in names else []
    about += [name for name in before if name not in {*numbers, *about}]
    first = [*about, *(name for name in _FIRST if name in names)]
    rest = [name for name in names if name not in {*first, *_LAST, "conf_high"}]
    rest.sort(key=lambda name: name.endswith(("_predicted", "_limit")))
    ordered = [*first, *rest, *(name for name in _LAST if name in names and name not in first)]
    if "conf_high" in names:  # both ends of an interval stay together
        ordered.insert(ordered.index("conf_low") + 1 if "conf_low" in names else len(ordered), "conf_high")
    return frame[ordered]


def brief_table(frame: pd.DataFrame, interval: str) -> Table:
    """The first rows and at most six columns; both ends of an interval are one.

    Examples
    --------
    >>> frame = pd.DataFrame({"draws": [1, 2], "rmse": [0.5, 0.3], "rmse_low": [0.4, 0.2], "rmse_high": [0.6, 0.5]})
    >>> brief_table(frame, "interval").rows
    [['1', '0.5000', '[0.4000, 0.6000]'], ['2', '0.3000', '[0.2000, 0.5000]']]
    """
    table = table_of(frame.head(_ROWS), interval)
    names = [name for name in frame if name != "conf_high" or "conf_low" not in frame]
    columns = dict(zip(names, zip(*table.rows, strict=True), strict=True))
    numeric = dict(zip(names, table.numeric, strict=True))
    heads_of = dict(zip(names, table.heads, strict=True))
    for low in [name for name in names if name.endswith("_low") and f"{name[:-4]}_high" in columns]:
        high = f"{low[:-4]}_high"
        if low == "conf_low" or not (low in columns and high in columns):
            continue
        ends = zip(columns[low], columns.pop(high), strict=True)
        columns[low] = tuple(f"[{a}, {b}]" if a and b else "" for a, b in ends)
        first, last = heads_of[low], heads_of[high]
        base = low[:-4] if first == low else first.rpartition(", ")[0]
        heads_of[low] = f"{base}, interval" if base and last.startswith(base) else f"{first} to {last}"
    kept = list(columns)[:_COLUMNS]
    rows = [list(row) for row in zip(*(columns[name] for name in kept), strict=True)]
    return Table([heads_of[name] for name in kept], rows, [numeric[name] for name in kept])


def _shared_facts(results: Results[Any]) -> str:
    """What all rows share: whom they are of, how they were made, how many there were."""
    skipped = {*telling(results.labels), "prompt", "method", "temperature"}
    parts = []
    for name, value in results.labels[0].items():
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        if name not in skipped and name[:2] != "n_" and text and all(v.get(name) == value for v in results.labels):
            parts.append(visible(f"{name} {text}" if name in ("against", "versus") else text, 80))
    made = {(getattr(result, "coefficient", ""), getattr(result, "level", "")) for result in results}
    coefficient, level = made.pop() if len(made) == 1 else ("", "")
    parts.append(" ".join(filter(None, (COEFFICIENTS.get(coefficient), LEVEL_WORDS.get(level)))))
    for name in COUNTS if len(results) > 1 else ():
        counts = {getattr(result, name, 0) for result in results}
        parts += [f"{heads().get(name, name)} {counts.pop():,}"] if len(counts) == 1 and counts != {0} else []
    return "; ".join(filter(None, parts))


def _caution_lines(results: Results[Any]) -> Iterator[str]:
    """Cautions: the first of each kind, what it is about, and how many more there are."""
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for text, names in by_text(results.labels, results, lambda result: getattr(result, "warnings", ())):
        by_kind.setdefault(text.partition(": ")[0], []).append((text, names))
    for texts in by_kind.values():
        text, names = texts[0]
        more = f"; {len(texts) - 1} more of this kind" if len(texts) > 1 else ""
        yield f"Caution{f' ({visible(names, 80)}{more})' * bool(names)}: {text.rstrip('.')}."


def _html_table(table: Table) -> str:
    styles = ["text-align: right; white-space: nowrap" if number else "text-align: left; white-space: normal"
              for number in table.numeric]  # fmt: skip
    lines = []
    for tag, cells in [("th", table.heads), *(("td", row) for row in table.rows)]:
        pairs = zip(cells, styles, strict=True)
        inner = (f'<{tag} style="{style}">{_escaped(visible(text, _LONGEST))}</{tag}>' for text, style in pairs)
        lines.append(f"<tr>{''.join(inner)}</tr>")
    return f"<table><thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>"


def _escaped(text: str) -> str:
    """Escaped; what stands between backticks is code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(visible(text)))
