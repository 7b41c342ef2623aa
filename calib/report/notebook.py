"""Results in a notebook: what may be concluded, a table that can be read, and where the rest is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import pandas as pd

from calib.core.result import Result
from calib.core.topic import shown
from calib.report.columns import Table, digest, heads, table_of
from calib.report.sections import interval_head
from calib.tables.keys import way_to_one
from calib.tables.results import Results, conclusions
from calib.tables.text import by_text, telling, title_of, told_apart, visible

_COLUMNS, _ROWS, _SENTENCES, _LONGEST = 6, 30, 3, 200
_FIRST = ("estimate", "conf_low", "p_adjusted", "p_value")
_LAST = ("std_error", "df", "lam")  # the interval says as much, and more plainly


def html_of(given: Results[Any] | Result) -> str:
    """Sentences, a table of at most six columns, cautions, and a small line that says where all the rest is."""
    results = Results(({},), (given,)) if isinstance(given, Result) else given
    if not len(results):
        return "<p>There are no results.</p>"
    said, frame = conclusions(results), digest(results)[0]
    few = said if len(said) <= _SENTENCES else []
    table = _table(brief_table(frame, results), _caption(results))
    small = "; ".join(_ways_on(given, len(few) < len(said), len(frame)))
    below = [*map(_cut, _cautions(results)), f"{small}."]
    texts = [*(f"<p>{_html(text)}</p>" for text in few), table]
    return "\n".join(["<div>", *texts, *(f"<p><small>{_html(text)}</small></p>" for text in below), "</div>"])


def brief_table(frame: pd.DataFrame, results: Results[Any]) -> Table:
    """At most six columns: what a row is about, the number, its interval, and then what a reader wants most.

    Examples
    --------
    >>> from calib.stats import mean_interval
    >>> results = Results(({"system": "a"}, {"system": "b"}), (mean_interval([3, 4, 5]), mean_interval([1, 4, 5, 4])))
    >>> brief_table(digest(results)[0], results).heads
    ['system', 'estimate', '95 % CI', 'human labels', 'n', 'groups']
    """
    about = [name for name in telling(results.labels) if name in frame]
    if len(about) > _COLUMNS // 2 and len(frame) == len(results):
        words = pd.Series(told_apart(results.labels), index=frame.index)
        frame, about = frame.drop(columns=about).assign(of=words), ["of"]
    names = _in_order([str(name) for name in frame], about)
    whole = table_of(frame[names].head(_ROWS), interval_head(results))
    columns = [name for name in names if name != "conf_high" or "conf_low" not in names]
    return _ends_together(whole, columns)


def _in_order(names: Sequence[str], about: Sequence[str]) -> list[str]:
    """Names of columns by how much a reader wants them; both ends of an interval stay together."""
    first = [*about, *(name for name in _FIRST if name in names)]
    rest = [name for name in names if name not in {*first, *_LAST, "conf_high"}]
    rest.sort(key=lambda name: name.endswith(("_predicted", "_limit")))
    last = [name for name in _LAST if name in names and name not in first]
    ordered = [*first, *rest, *last]
    if "conf_high" in names:
        ordered.insert(ordered.index("conf_low") + 1 if "conf_low" in names else len(ordered), "conf_high")
    return ordered


def _ends_together(table: Table, names: Sequence[str]) -> Table:
    """Two columns such as `rmse_low` and `rmse_high` as one; of all columns the first six."""
    columns = dict(zip(names, zip(*table.rows, strict=True), strict=True))
    numeric = dict(zip(names, table.numeric, strict=True))
    said = dict(zip(names, table.heads, strict=True))
    for low in [name for name in names if name.endswith("_low") and f"{name[:-4]}_high" in columns]:
        high = f"{low[:-4]}_high"
        if low == "conf_low" or not (low in columns and high in columns):
            continue
        ends = zip(columns[low], columns.pop(high), strict=True)
        columns[low] = tuple(f"[{a}, {b}]" if a and b else "" for a, b in ends)
        said[low] = f"{said[low].removesuffix(', low').removesuffix('_low')}, interval"
    kept = list(columns)[:_COLUMNS]
    rows = [list(row) for row in zip(*(columns[name] for name in kept), strict=True)]
    return Table([said[name] for name in kept], rows, [numeric[name] for name in kept])


def _caption(results: Results[Any]) -> str:
    """What all rows share of what they are about."""
    shared = [title_of(results.labels, telling(results.labels), "against ")]
    for name in ("level", "coefficient"):
        values = {getattr(result, name, "") for result in results}
        shared += [f"{heads().get(name, name)} {value}" for value in values if len(values) == 1 and value]
    return "; ".join(filter(None, shared)).replace(r"\$", "$")


def _cautions(results: Results[Any]) -> Iterator[str]:
    """What has to be minded, the first few of it, and of whom."""
    found = by_text(results.labels, results, lambda result: getattr(result, "warnings", ()))
    for text, names in found[:_SENTENCES]:
        yield f"Mind{f' ({_cut(names, 80)})' * bool(names)}: {text.rstrip('.')}."
    if len(found) > _SENTENCES:
        yield f"And {len(found) - _SENTENCES} more to mind: see `warnings` of each."


def _ways_on(given: Results[Any] | Result, silent: bool, rows: int) -> Iterator[str]:
    """How many there are, and what to type for the rest."""
    many = isinstance(given, Results) and len(given) > 1
    yield f"{len(given):,} results" if isinstance(given, Results) and many else "One result"
    if rows > _ROWS:
        yield f"the first {_ROWS} of {rows:,} rows"
    yield f"all {given.to_frame().shape[1]} columns: `.to_frame()`"
    if silent:
        yield "in sentences: `.conclusion`"
    if isinstance(given, Results):
        yield from [f"one: `{way_to_one(given.labels)}`"] * many
        if any(shown(type(result)).plots for result in given):
            yield "picture: `.plot()`"
        yield 'page: `.report("page.html")`'


def _table(table: Table, caption: str) -> str:
    sides = ["right" if number else "left" for number in table.numeric]
    lines = [_row("th", table.heads, sides), *(_row("td", row, sides) for row in table.rows)]
    said = f'<caption style="text-align: left; caption-side: top">{_html(caption)}</caption>' * bool(caption)
    return "\n".join([f"<table>{said}<thead>", lines[0], "</thead><tbody>", *lines[1:], "</tbody></table>"])


def _row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    pairs = zip(cells, sides, strict=True)
    inner = (f'<{tag} style="text-align: {side}">{_html(_cut(text))}</{tag}>' for text, side in pairs)
    return f"<tr>{''.join(inner)}</tr>"


def _cut(text: str, most: int = _LONGEST) -> str:
    return visible(text, most)


def _html(text: str) -> str:
    """Escaped; what stands between backticks is code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(visible(text)))
