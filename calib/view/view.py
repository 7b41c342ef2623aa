"""`calib.view`: a run as one page in the browser."""

from __future__ import annotations

import hashlib
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, CalibWarning
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import items_in
from calib.inputs.tables import checked_options
from calib.runs.compare import OF_LABELS, compare_runs
from calib.runs.trials import LogOptions
from calib.table.driver import verb
from calib.table.results import conclusions
from calib.table.text import Report, visible
from calib.table.validate import renamed_errors
from calib.view.calls import calls_by_model, calls_in, is_store
from calib.view.content import FAR, FLAGS, SURE, Content, Run, beside, content_of, read_run
from calib.view.page import page_of
from calib.view.slices import intervals, slice_columns

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
    log = LogOptions(tool, columns.get("rater"), columns.get("scale"))
    words = checked_options(columns)
    texts = None if items is None else items_in(items)
    if is_store(run):
        if labels is not None or against is not None:
            extra = "labels" if labels is not None else "against"
            raise ArgumentError(extra, "must be left out where {0} is a store of replies", mentions=("run",))
        calls = calls_in(run, texts, "run")
        content = _of_store(calls, texts)
    else:
        read = read_run(run, labels, words, log)
        calls = pd.DataFrame() if store is None else calls_in(store, _texts_of(read, texts))
        content = content_of(_with_texts(read, texts))
        calls = _at_rows(calls, content.rows)
    rows, about = content.rows, dict[str, Any]()
    if against is not None:
        of_runs: Any = {name: word for name, word in words.items() if name not in OF_LABELS}
        rows, about = _beside(rows, run, against, labels, of_runs, log)
    kept, notes = _within_limit(rows, content.draws, calls)
    run_name, name = _named(run, "run.csv"), title or f"View of {_named(run, 'a run')}"
    cut, reasons = intervals(rows, content.scores, content.pooled)
    tables = {"rows": kept[0], "draws": kept[1], "labels": content.labels, "calls": kept[2]}
    digest = hashlib.blake2b(pd.util.hash_pandas_object(rows["item"].astype(str), index=False).to_numpy().tobytes())
    labels_name = "" if labels is None else f" {shlex.quote(_named(labels, 'labels.csv'))}"
    files = f"{shlex.quote(run_name)}{labels_name}"
    about |= {
        "notes": notes, "rules": _RULES, "slices": slice_columns(rows), "intervals": cut, "reasons": reasons,
        "models": calls_by_model(calls) if len(calls) else [], "page": digest.hexdigest()[:12],
        "commands": {
            "interval": f"calib interval {files} --items slice.csv --by in_view",
            "label": f"calib label marks.csv {shlex.quote(_named(items, '') or run_name)} --out label.html",
        },
    }  # fmt: skip
    text = page_of(name, tables, FLAGS, about)
    if path is None:
        return View(text)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8", newline="")
    return View(text, Path(path))


def _named(thing: Any, default: str) -> str:
    return str(thing) if isinstance(thing, str | Path) else default


def _texts_of(read: Run, texts: pd.DataFrame | None) -> pd.DataFrame | None:
    return read.texts if texts is None else texts


def _with_texts(read: Run, texts: pd.DataFrame | None) -> Run:
    """The run with texts and columns of a table of items; what the run says itself stays."""
    if texts is None:
        return read
    if read.texts is not None:
        more = read.texts[["item", *[name for name in read.texts if name not in texts]]]
        texts = texts.astype({"item": object}).merge(more.astype({"item": object}), on="item", how="outer")
    return Run(scores=read.scores, ratings=read.ratings, people=read.people, texts=texts)


def _of_store(calls: pd.DataFrame, texts: pd.DataFrame | None) -> Content:
    """A store alone: a row for each item, or request, and what it was answered; scores are in the ratings of a run."""
    if calls.empty:
        raise ArgumentError("run", "must hold replies", "the store has none")
    ids = pd.DataFrame({"item": calls["item"].drop_duplicates().reset_index(drop=True)})
    content = content_of(Run(scores=None, texts=ids if texts is None else ids.merge(texts, on="item", how="left")))
    place = pd.Series(range(len(ids)), index=ids["item"])
    calls.insert(0, "row", calls["item"].map(place).astype(float))
    return content


def _at_rows(calls: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Calls with the first row of their item, or none."""
    if calls.empty:
        return calls
    place = pd.Series(range(len(rows)), index=rows["item"].astype(str))
    place = place[~place.index.duplicated()]
    return calls.assign(row=calls["item"].map(place).astype(float))


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
    minded = [str(one.message) for one in heard if issubclass(one.category, CalibWarning)]
    minded += [text for result in results for text in result.warnings]
    comparison = {"says": conclusions(results), "notes": list(dict.fromkeys(minded))}
    return beside(rows, other.texts, (against, run), log, words), {"comparison": comparison}


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
