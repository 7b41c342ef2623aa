"""`calib.view`: a run as one page in the browser."""

from __future__ import annotations

import hashlib
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from calib.adapters.read_log import tool_of
from calib.adapters.tables import LogOptions
from calib.core import check
from calib.core.check import ArgumentError, CalibWarning
from calib.inputs.names import BY_COLUMN, Columns, Data
from calib.inputs.tables import checked_options
from calib.runs.compare import OF_LABELS, compare_runs
from calib.table.driver import verb
from calib.table.results import conclusions
from calib.table.text import Report, visible
from calib.table.validate import renamed_errors
from calib.view.calls import calls_by_model, calls_in, is_store
from calib.view.content import FAR, FLAGS, SURE, Content, Run, beside, content_of, read_run
from calib.view.page import page_of, with_plain_cells
from calib.view.slices import intervals, slice_columns
from calib.view.talks import BEFORE, TALK, WORDS, texts_of, with_talks

_RUNS = {"the earlier run": "against", "this run": "run"}  # as sentences call the two, and the arguments
_MOST_TEXT = 60_000_000  # characters of texts: a page with more opens too slowly
_RULES = {
    FLAGS[0]: f"The score is at least {FAR:g} of the scale from the label, with an entropy of at most {SURE:g} nats "
    "(.9 on one value) from several readings or token probabilities.",
    FLAGS[1]: f"Labels of one item are at least {FAR:g} of the scale apart.",
    FLAGS[2]: "A reading of this row is no score.",
}


@dataclass(frozen=True, slots=True)
class View(Report):
    """A run as a page: `text` is its HTML, `path` the file that it was written to, if any. A notebook shows it."""

    @property
    def _is_page(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"view, {self._size}" if self.path is None else f"view in {visible(self.path)}, {self._size}"

    def __repr__(self) -> str:
        return f"<{self}>"


@verb
def view(
    run: Data,
    path: str | Path | None = None,
    *,
    labels: Data = None,
    against: Data = None,
    items: Data = None,
    store: str | Path | None = None,
    title: str | None = None,
    tool: str = "auto",
    **columns: Unpack[Columns],
) -> View:
    """A run in the browser: items, filters, the judge's readings beside people's labels, slices, calls.

    One self-contained page, which asks for nothing and sends nothing. Marks and notes made in it are exported as files
    that `label` takes for what was chosen.

    Parameters
    ----------
    run : log, table, path or frame
        A log of a tool that `read_log` reads, ratings, scores or items, your own file, or a store of replies.
    path : str or Path, optional
        Ends in .html. Default: written nowhere; a notebook shows the page.
    labels : table, path or frame, optional
        People's labels, where `run` has none: adds gaps, and the human mean of each slice with its interval.
    against : log, table, path or frame, optional
        An earlier run on the same tasks: adds what changed, and the interval of the difference (`compare_runs`).
    items : table, path or frame, optional
        Texts and columns of the items, where `run` has none.
    store : str or Path, optional
        The store of replies of the run: prompts, tokens, cost, retries.
    title : str, optional
    tool : str, default "auto"
        Who wrote the log; "auto" looks at what the file holds.
    {columns}

    Returns
    -------
    View
        Its `text` and its `path`.

    Warns
    -----
    CalibWarning
        "texts_left_out": texts are too long for one page. "scales_differ": there are no gaps.

    Examples
    --------
    >>> import pandas as pd
    >>> mine = pd.DataFrame({"id": ["a", "b", "c"], "gpt-4o": [4, 2, 5], "label": [5, None, 4]})
    >>> page = view(mine)
    >>> page.text.startswith("<!doctype html>"), page.path
    (True, None)
    """
    if path is not None and Path(path).suffix != ".html":
        raise ArgumentError("path", "must end in .html", f"got {str(path)!r}")
    log = LogOptions(tool=tool, rater=columns.get("rater"), scale=columns.get("scale"))
    words = checked_options(columns)
    texts = None if items is None else texts_of(items)
    if is_store(run):
        if labels is not None or against is not None:
            extra = "labels" if labels is not None else "against"
            raise ArgumentError(extra, "must be left out where {0} is a store of replies", mentions=("run",))
        calls = calls_in(run, texts, "run")
        ids = calls[["item"]].drop_duplicates(ignore_index=True)
        read = Run(scores=None, texts=ids if texts is None else ids.merge(texts, "left", on="item"))
    else:
        read = _with_texts(read_run(run, labels, words, log), texts)
        calls = pd.DataFrame() if store is None else calls_in(store, read.texts)
    content = content_of(read)
    if len(calls):
        first = content.rows["item"].astype(str).drop_duplicates()
        calls = calls.assign(row=calls["item"].map(pd.Series(first.index, index=first)).astype(float))
    rows, about = content.rows, dict[str, Any]()
    if against is not None:
        of_runs: Any = {name: word for name, word in words.items() if name not in OF_LABELS}
        rows, about = _beside(rows, run, against, labels, of_runs, log)
    rows, unread = with_talks(rows)
    rows, draws, labelled = map(with_plain_cells, (rows, content.draws, content.labels))
    kept, notes = _within_limit(rows, draws, calls)
    cut, reasons = intervals(rows, content.scores, content.pooled)
    tables = {"rows": kept[0], "draws": kept[1], "labels": labelled, "calls": kept[2]}
    digest = hashlib.blake2b(pd.util.hash_pandas_object(rows["item"].astype(str), index=False).to_numpy().tobytes())
    about |= {
        "notes": [*unread, *notes], "words": WORDS if {TALK, BEFORE} & set(rows) else {}, "rules": _RULES,
        "slices": slice_columns(rows), "intervals": cut, "reasons": reasons,
        "models": calls_by_model(calls) if len(calls) else [], "page": digest.hexdigest()[:12],
        "commands": _commands(run, labels, items, words, content),
    }  # fmt: skip
    name = title or f"View of {_named(run, 'a run')}"
    text = page_of(name, tables, FLAGS, about)
    if path is None:
        return View(text)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8", newline="")
    return View(text, Path(path))


def _named(thing: Any, default: str) -> str:
    return str(thing) if isinstance(thing, str | Path) else default


def _commands(run: Any, labels: Any, items: Any, words: Mapping[str, Any], content: Content) -> dict[str, str]:
    """What computes the interval of the items in view, and what makes a page of the marked ones."""
    file, first = shlex.quote(_named(run, "run.csv")), ""
    if isinstance(run, str | Path) and tool_of(Path(run)) is not None:
        rater = f" --rater {shlex.quote(words['rater'])}" if "rater" in words else ""
        first, file = f"calib read-log {file}{rater} --texts --out scores.csv --items items.csv; ", "scores.csv"
    texts = shlex.quote(_named(items, "items.csv" if first else _named(run, "run.csv")))
    has_own = labels is None and content.pooled is not None
    beside = "" if has_own else f" {shlex.quote(_named(labels, 'labels.csv'))}"
    for name, value in {} if first else words.items():
        each = value if isinstance(value, list | tuple) else [value]
        option = f"--column {name}=" if name in BY_COLUMN else f"--{name} "
        beside += "".join(f" {option}{shlex.quote(str(one))}" for one in each)
    criteria = content.rows["criterion"].astype(str).unique() if "criterion" in content.rows else []
    options = "".join(f" --criterion {shlex.quote(one)}" for one in criteria)
    scales = set() if content.scores is None or "scale" not in content.scores else set(content.scores["scale"].dropna())
    options += f" --scale {shlex.quote(str(scales.pop()))}" if len(scales) == 1 and "" not in scales else ""
    return {
        "interval": f"{first}calib interval {file}{beside} --items slice.csv --by in_view",
        "label": f"{first}calib label marks.csv {texts}{options} --out label.html",
    }


def _with_texts(read: Run, texts: pd.DataFrame | None) -> Run:
    """The run with texts and columns of a table of items; what the run says itself stays."""
    if texts is None:
        return read
    if read.texts is not None:
        more = read.texts[["item", *[name for name in read.texts if name not in texts]]]
        texts = texts.astype({"item": object}).merge(more.astype({"item": object}), on="item", how="outer")
    return replace(read, texts=texts)


def _beside(
    rows: pd.DataFrame, run: Any, against: Any, labels: Any, words: Any, log: LogOptions
) -> tuple[pd.DataFrame, dict[str, Any]]:
    if "score" not in rows:
        raise ArgumentError("against", "must be left out where {0} has no scores", mentions=("run",))
    other = read_run(against, None, words, log, "against")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", CalibWarning)
        with renamed_errors({}, **_RUNS):
            results = compare_runs(dict(zip(_RUNS, (against, run), strict=True)),
                                   labels=labels, tool=log.tool, **words)  # fmt: skip
    notes = [str(one.message) for one in heard if issubclass(one.category, CalibWarning)]
    notes += [text for result in results for text in result.warnings]
    comparison = {"says": conclusions(results), "notes": list(dict.fromkeys(notes))}
    return beside(rows, other, (against, run), log, words), {"comparison": comparison}


def _within_limit(*tables: pd.DataFrame) -> tuple[list[pd.DataFrame], list[str]]:
    """The tables, without their long texts where these are too much for one page."""
    sizes = {}
    for place, table in enumerate(tables):
        for name in table:
            if table[name].dtype == object or isinstance(table[name].dtype, pd.StringDtype):
                cells = table[name].dropna().drop_duplicates().astype(str)
                sizes[place, name] = int(cells.str.len().sum()), float(cells.str.len().mean() or 0)
    if sum(size for size, _ in sizes.values()) <= _MOST_TEXT:
        return list(tables), []
    left = {where for where, (_, mean) in sizes.items() if mean > 60}
    n = sum(sizes[where][0] for where in left)
    note = f"texts_left_out: {n / 1e6:.3g} million characters of texts are too much for one page and were left out."
    check.warn(f"{note} View fewer items.")
    kept = [table[[name for name in table if (place, name) not in left]] for place, table in enumerate(tables)]
    return kept, [note]
