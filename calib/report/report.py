"""Results -> one Markdown or HTML file, each number with its signature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.check import ArgumentError
from calib.core.result import Result
from calib.core.topic import shown
from calib.report.html import html
from calib.report.markdown import markdown
from calib.report.sections import Thing, section_of
from calib.tables.results import Results

_THINGS = (Results, Result, pd.DataFrame, str)


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
    sections = [section_of(heading, thing, pictures=ending == ".html") for heading, thing in _listed(results)]
    if not sections:
        raise ArgumentError("results", "must hold something to report", "is empty")
    text = (markdown if ending == ".md" else html)(title, sections)
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
        means = isinstance(one, Results) and len(one) > 0 and all(shown(type(result)).joined for result in one)
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
