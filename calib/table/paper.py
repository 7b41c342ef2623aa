"""The table of a paper: numbers under heads of several levels, as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import groupby, repeat
from typing import NamedTuple

import pandas as pd

from calib.table.text import markdown_text, visible

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "\u03c1": r"$\rho$", "\u03c4": r"$\tau$", "\u2013": "--", "\u2026": r"\ldots{}",
} | {char: f"\\{char}" for char in "{}$&#_%"}  # fmt: skip
NO_FORMULAS = 'class="tex2jax_ignore mathjax_ignore"'  # a notebook would set $what stands here$ as one
_MINUS = re.compile(r"(?<![^\[\s])-(?=\d)")


class Span(NamedTuple):
    """A head above columns that stand side by side."""

    word: str
    start: int
    width: int


@dataclass(frozen=True, slots=True)
class PaperTable:
    r"""Rows of judges (or systems), columns of numbers under heads of one level or several.

    Attributes
    ----------
    names : tuple of str
        What the columns that name the rows are called.
    heads : tuple of tuple of str
        For each column of numbers its head, a word a level.
    rows : tuple of tuple of str
        What each row is about.
    cells : tuple of tuple of str
        The numbers as they are shown; a dash where there is none.
    note : str
        What all of them share.

    Examples
    --------
    >>> table = PaperTable(("rater",), (("fluency", "r"), ("fluency", "τ")), (("a_b",),), (("0.612", "0.487"),), "n 60")
    >>> print(table)
           fluency
    rater      r      τ
    a_b    0.612  0.487
    <BLANKLINE>
    n 60
    >>> print(table.to_markdown())
    | rater | fluency r | fluency τ |
    | --- | ---: | ---: |
    | a\_b | 0.612 | 0.487 |
    <BLANKLINE>
    n 60
    """

    names: tuple[str, ...]
    heads: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[str, ...], ...]
    note: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)

    def to_frame(self) -> pd.DataFrame:
        """The numbers themselves, unrounded: heads are the columns, what a row is about is its index."""
        return self.frame.copy()

    def to_markdown(self) -> str:
        """A Markdown table; names are escaped, the levels of a head stand in one line."""
        heads = [*self.names, *(" ".join(filter(None, head)) for head in self.heads)]
        rule = ["---"] * len(self.names) + ["---:"] * len(self.heads)
        lines = [list(map(markdown_text, heads)), rule, *(list(map(markdown_text, line)) for line in self._lines)]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{text}\n\n{markdown_text(self.note)}" if self.note else text

    def to_latex(self, caption: str = "", label: str = "") -> str:
        r"""A LaTeX table, which needs ``\usepackage{booktabs}``; names are escaped.

        Parameters
        ----------
        caption, label : str, optional
            In LaTeX. Default: what all numbers share, and none.

        Examples
        --------
        >>> table = PaperTable(("rater",), (("fluency", "r"), ("fluency", "τ")), (("a_b",),), (("0.612", "0.487"),))
        >>> print(table.to_latex("Summary level.", "tab:judges"))
        \begin{table}
        \centering
        \caption{Summary level.}
        \label{tab:judges}
        \begin{tabular}{lrr}
        \toprule
         & \multicolumn{2}{c}{fluency} \\
        \cmidrule(lr){2-3}
        rater & r & $\tau$ \\
        \midrule
        a\_b & 0.612 & 0.487 \\
        \bottomrule
        \end{tabular}
        \end{table}
        """
        text, n = caption or latex_text(self.note), len(self.names)
        lines = [r"\begin{table}", r"\centering", *[rf"\caption{{{text}}}"] * bool(text)]
        lines += [rf"\label{{{label}}}"] * bool(label)
        lines += [rf"\begin{{tabular}}{{{'l' * n}{'r' * len(self.heads)}}}", r"\toprule"]
        *upper, last = self._levels
        for level in upper:  # with a rule below heads of several columns
            cells = [rf"\multicolumn{{{s.width}}}{{c}}{{{latex_text(s.word)}}}" for s in level]
            rules = [rf"\cmidrule(lr){{{n + s.start + 1}-{n + s.start + s.width}}}" for s in level if s.word]
            lines += [_latex_row([*[""] * n, *cells]), " ".join(rules)]
        heads = [*self.names, *(span.word for span in last)]
        head, *body = (_latex_row(map(latex_text, line)) for line in [heads, *self._lines])
        return "\n".join([*lines, head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", r"\end{table}"])

    @property
    def _lines(self) -> list[list[str]]:
        return [[*row, *cells] for row, cells in zip(self.rows, self.cells, strict=True)]

    @property
    def _levels(self) -> list[list[Span]]:
        """The heads of each level; equal ones side by side are one, at the last level each is its own."""
        depth = max(map(len, self.heads), default=1)
        levels = []
        for level in range(depth):
            keys = [(head[: level + 1], place if level + 1 == depth else 0) for place, head in enumerate(self.heads)]
            runs = [list(run) for _, run in groupby(range(len(keys)), keys.__getitem__)]
            levels.append([Span(self.heads[run[0]][level], run[0], len(run)) for run in runs])
        return levels

    def __str__(self) -> str:
        """As wide as it is: names to the left, numbers to the right."""
        *upper, last = self._levels
        first, heads = len(self.names), [*self.names, *(span.word for span in last)]
        lines = [[visible(text) for text in line] for line in [heads, *self._lines]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for span in (span for level in upper for span in level):
            place = first + span.start
            lack = len(visible(span.word)) - sum(widths[place : place + span.width]) - 2 * (span.width - 1)
            widths[place + span.width - 1] += max(lack, 0)
        left = sum(widths[:first]) + 2 * first
        above = []
        for level in upper:
            rooms = [sum(widths[first + s.start : first + s.start + s.width]) + 2 * (s.width - 1) for s in level]
            words = [visible(span.word).ljust(room) for span, room in zip(level, rooms, strict=True)]
            above.append(" " * left + "  ".join(words))
        sides = [str.ljust if place < first else str.rjust for place in range(len(widths))]
        body = ["  ".join(s(t, w) for s, t, w in zip(sides, line, widths, strict=True)) for line in lines]
        return "\n".join([*map(str.rstrip, [*above, *body]), *["", visible(self.note)] * bool(self.note)])

    def _repr_html_(self) -> str:
        return f"<div {NO_FORMULAS}>{html_table(self)}<p><small>{escape(visible(self.note))}</small></p></div>"


def html_table(table: PaperTable) -> str:
    """The table alone, without what all of its numbers share."""
    *upper, last = table._levels  # noqa: SLF001 - of one family
    sides = [*["left"] * len(table.names), *["right"] * len(table.heads)]
    empty = f'<th colspan="{len(table.names)}"></th>'
    heads = [empty + "".join(_html_cell("th", s.word, "center", s.width) for s in level) for level in upper]
    words = [*table.names, *(span.word for span in last)]
    heads.append("".join(_html_cell("th", word, side) for word, side in zip(words, sides, strict=True)))
    body = ["".join(map(_html_cell, repeat("td"), line, sides)) for line in table._lines]  # noqa: SLF001
    parts = ["".join(f"<tr>{row}</tr>" for row in rows) for rows in (heads, body)]
    return f"<table><thead>{parts[0]}</thead><tbody>{parts[1]}</tbody></table>"


def latex_text(text: str) -> str:
    r"""Text that LaTeX takes as it stands.

    Examples
    --------
    >>> print(latex_text(r"50 % of \input{x}"), latex_text("[2pt] a"), latex_text("-0.1 [-0.3, 0.2]"))
    50 \% of \textbackslash{}input\{x\} {[}2pt] a $-$0.1 [$-$0.3, 0.2]
    """
    safe = "".join(_LATEX.get(char, char) for char in visible(text))
    # a bracket or a star after the end of a row would be its option; a number's minus is no hyphen
    safe = f"{{{safe[0]}}}{safe[1:]}" if safe[:1] in ("[", "*") and safe else safe
    return _MINUS.sub("$-$", safe)


def _latex_row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _html_cell(tag: str, text: str, side: str, width: int = 1) -> str:
    span = f' colspan="{width}"' if width > 1 else ""
    return f'<{tag}{span} style="text-align: {side}">{escape(visible(text))}</{tag}>'
