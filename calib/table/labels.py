"""Labels of people and the progress of a labelling: the result of `calib.read_labels`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from calib.core.result import short
from calib.table.paper import NO_FORMULAS, PaperTable, html_table
from calib.table.text import visible

if TYPE_CHECKING:
    from calib.table.results import Results

_SHOWN, _WIDEST, _LONGEST = 5, 24, 60  # disagreements; characters of a name, of a comment


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Progress:
    """How far a labelling is.

    Attributes
    ----------
    chosen, left : int
        Items that were drawn to be labelled; those of them without a label.
    half_width : float or None
        Half of the interval that is wanted.
    needed : Results or None
        Of `labels_needed`, with the labels so far as its pilot.
    so_far : Results or None
        Of `calib.stats.confidence_sequence`, on the items in the order of their first label (by time, else by place
        on the page): its intervals hold however often one looks, as far as the order is random: not where one
        annotator begins and another, who is stricter, goes on. None where items were not drawn simply, where nothing
        tells the order, or where fewer than ten are labelled.
    notes : tuple of str
        The same in sentences, and why something of it is missing.
    """

    chosen: int
    left: int
    half_width: float | None = None
    needed: Results[Any] | None = None
    so_far: Results[Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def _lines(self) -> list[str]:
        looks = [] if self.so_far is None else zip(self.so_far.labels, self.so_far, strict=True)
        done = [f"{self.chosen - self.left} of {self.chosen} chosen items are labelled."] * bool(self.chosen)
        return [
            *done,
            *(f"{label['criterion']}: {result} (wider than that of `interval`)." for label, result in looks),
            *self.notes,
        ]

    def __str__(self) -> str:
        return "\n".join(map(visible, self._lines))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Labels:
    r"""Labels of people, read from files that they filled in; every verb accepts them as its labels.

    `print` shows how the labelling went.

    Attributes
    ----------
    ratings : DataFrame
        One row per answer: a table of ratings with seconds, time, comment, position, swapped and page. "Cannot say" is
        a row without a score whose status is "cannot_say".
    pooled : DataFrame
        Scores, pooled to one rater for each criterion: the mean of those who labelled an item. An item that
        nobody could judge has none.
    page : str
        What the files are known by.
    annotators : DataFrame
        One row per annotator and criterion: items, labels, answers without one, comments, time of the first and last
        answer, median seconds of an answer with a label, mean.
    disagreements : DataFrame
        Items that two annotators or more score differently, the farthest apart first: item, criterion, spread,
        comments, and a column for each annotator.
    overlap : int
        Items that two annotators or more labelled.
    reliability : Results or None
        Of `calib.reliability`, for each criterion of which annotators have three items in common or more.
    seconds_per_label : float
        Active seconds that a label takes on average: the price that `plan` asks for. No item counts for more than ten
        times its annotator's median, and answers without a label are paid for, too. NaN where no time is known.
    progress : Progress or None
        How far the labels are; None without `drawn`.
    notes : tuple of str
        What looks wrong, each a sentence: also where annotators differ on items in common by more than chance.

    Examples
    --------
    >>> import tempfile
    >>> import calib
    >>> head = "item,criterion,rater,scale,method,score,status,seconds,time,comment,position,swapped,page"
    >>> rows = [f"{item},tone,ann,1|2|3|4|5,human,{mark},ok,9,,,,,3e90d600b322" for item, mark in zip("abcd", "5342")]
    >>> with tempfile.NamedTemporaryFile("w+", suffix=".csv") as file:
    ...     _ = file.write("\n".join([head, *rows]))
    ...     file.flush()
    ...     labels = calib.read_labels(file.name)
    >>> labels.pooled[["item", "rater", "score"]].to_dict("list")
    {'item': ['a', 'b', 'c', 'd'], 'rater': ['ann', 'ann', 'ann', 'ann'], 'score': [5.0, 3.0, 4.0, 2.0]}
    >>> labels.seconds_per_label
    9.0
    """

    ratings: pd.DataFrame
    pooled: pd.DataFrame
    page: str
    annotators: pd.DataFrame
    disagreements: pd.DataFrame
    overlap: int
    reliability: Results[Any] | None
    seconds_per_label: float
    progress: Progress | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self._counts}, page {self.page}>"

    @property
    def _counts(self) -> str:
        people, items = self.annotators["annotator"].nunique(), self.ratings["item"].nunique()
        counts = [(int(self.annotators["n_labels"].sum()), "label"), (items, "item"), (people, "annotator")]
        labels, of, by = (f"{n:,} {word}{'s' * (n != 1)}" for n, word in counts)
        common = f"{self.overlap:,} item{'s' * (self.overlap != 1)} in common" if people > 1 else ""
        return ", ".join(filter(None, [f"{labels} of {of} by {by}", common]))

    def _sections(self) -> Iterator[tuple[str, list[str], PaperTable | None]]:
        """Each part of the report: its head, its sentences, its table."""
        yield f"{self._counts} (page {self.page})", [], _annotator_table(self.annotators)
        if self.reliability is not None:
            lines = []
            for label, result in zip(self.reliability.labels, self.reliability, strict=True):
                alpha = result.alpha  # few items in common want its interval
                ends = f"[{short(alpha.interval.low)}, {short(alpha.interval.high)}]"
                lines.append(f"{label['criterion']}: {result}; {100 * alpha.confidence_level:g} % CI of alpha {ends}")
            yield "How far they agree", lines, None
        if math.isfinite(self.seconds_per_label):
            median = short(float(self.ratings["seconds"].median()))
            price = f"{short(self.seconds_per_label)} s a label (median {median} s an answer)"
            yield "What a label costs", [f"{price}: `.seconds_per_label`, the price that `plan` asks for."], None
        if len(self.disagreements):
            yield f"To talk about ({len(self.disagreements):,} differ)", _disagreement_lines(self.disagreements), None
        if self.progress is not None:
            yield "How far it is", self.progress._lines, None  # noqa: SLF001 - of one family
        if self.notes:
            yield "To look at", list(self.notes), None

    def __str__(self) -> str:
        lines: list[str] = []
        for head, sentences, table in self._sections():
            lines += ["", visible(head)] if lines else [visible(head)]
            lines += [] if table is None else [str(table)]
            lines += [f"- {visible(text)}" for text in sentences]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<div {NO_FORMULAS}>"]
        for head, sentences, table in self._sections():
            parts.append(f"<p><b>{_labels_html(head)}</b></p>")
            parts += [] if table is None else [html_table(table)]
            parts += [f"<ul>{''.join(f'<li>{_labels_html(text)}</li>' for text in sentences)}</ul>"] * bool(sentences)
        all_of_it = "all of it: `.annotators`, `.disagreements`, `.ratings`; pooled: `.pooled`"
        return "\n".join([*parts, f"<p><small>{_labels_html(all_of_it)}</small></p>", "</div>"])


def _annotator_table(annotators: pd.DataFrame) -> PaperTable:
    names, heads = ("annotator", "criterion"), ("labels", "cannot say", "seconds", "mean")
    rows, cells = [], []
    for row in annotators.to_dict("records"):
        seconds, mean = ("" if math.isnan(row[name]) else f"{row[name]:.3g}" for name in ("seconds", "mean"))
        rows.append((visible(row["annotator"], _WIDEST), visible(row["criterion"], _WIDEST)))
        cells.append((str(row["n_labels"]), str(row["n_cannot_say"]), seconds, mean))
    return PaperTable(names, tuple((head,) for head in heads), tuple(rows), tuple(cells))


def _disagreement_lines(disagreements: pd.DataFrame) -> list[str]:
    """The first few in words, with who gave what and the comments."""
    people = list(disagreements.columns[4:])
    lines = []
    for row in disagreements.head(_SHOWN).to_dict("records"):
        gave = ", ".join(f"{visible(n, _WIDEST)} {short(row[n])}" for n in people if not math.isnan(row[n]))
        comments = f" ({visible(row['comments'], 2 * _LONGEST)})" if row["comments"] else ""
        lines.append(f"{visible(row['item'], _LONGEST)}, {visible(row['criterion'], _WIDEST)}: {gave}{comments}")
    more = len(disagreements) - _SHOWN
    return [*lines, *[f"... and {more:,} more: `.disagreements`"] * (more > 0)]


def _labels_html(text: str) -> str:
    """Escaped; what stands between backticks is code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(visible(text)))
