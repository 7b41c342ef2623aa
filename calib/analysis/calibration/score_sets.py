"""Sets of labels and how surely they hold: the result of conformal prediction, and the law of its coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calib.core.check import Codes, Floats
from calib.core.result import Result, short

if TYPE_CHECKING:
    import pandas as pd

_LOW = 0.05  # which point of the law of the coverage is printed
_GATE = 0.5  # share of the sets that have one label, from which on they decide something


class Cell(NamedTuple):
    """Items that have a quantile of their own.

    Attributes
    ----------
    name : str
        Value of the column; empty where there is one cell alone, "all others" of cells with too few labels.
    n, k : int
        Labels that count in it, and which of their scores, from the lowest, is the quantile; k > n: none is.
    coverage_low : float
        5 % point of the law of the realised coverage, Beta(k, n + 1 - k).
    """

    name: str
    n: int
    k: int
    coverage_low: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreSets(Result):
    """For each score of a judge the labels that people may give.

    Attributes
    ----------
    levels : ndarray, shape (K,)
        Values of people's scale, ascending.
    level : float
        How often the sets hold the label, on the average over samples of labels and new items.
    method : str
        "full" (each label is in the fit and in the quantile) or "split" (one half in the fit, the other in the
        quantile).
    score, low, high, size, nearest : ndarray, shape (S,)
        Distinct scores (in each cell) of the items; lowest and highest label of their sets, the number of labels in
        between, both ends counted; and the label of the highest p-value, the one nearest to the middle of what people
        say, which is in every set.
    cell : ndarray of int, shape (S,)
        Place of its cell in `cells`.
    filled : ndarray of bool, shape (S,)
        The set was empty, and has the nearest label instead.
    p_values : ndarray, shape (S, K)
        Of each label: the set holds those above 1 - level, and what lies between them.
    n_items : ndarray of int, shape (S,)
        Items with this score.
    row : ndarray of int, shape (M,)
        Place of each item's set; -1 where its score is missing: its set is the whole scale.
    cells : tuple of Cell
    n, n_groups, n_missing : int
        Labels that count (in the fit or the quantile); independent groups of them; rows without a label or score.
    n_unread, n_filled : int
        Items without a score; items whose set was filled.
    mean_size, singles : float
        Mean number of labels in the sets of the items, and share of the sets that have one label.
    ridge, pseudo : float
        The penalty of the slope and the number of pseudo-labels.
    columns : mapping
        What rides along in `items`: ids, groups, systems, labels.
    warnings : tuple of str
    """

    levels: Floats
    level: float
    method: str
    score: Floats
    low: Floats
    high: Floats
    size: Codes
    nearest: Floats
    cell: Codes = field(repr=False)
    filled: NDArray[np.bool_] = field(repr=False)
    p_values: Floats = field(repr=False)
    n_items: Codes = field(repr=False)
    row: Codes = field(repr=False)
    cells: tuple[Cell, ...]
    n: int
    n_groups: int
    n_missing: int
    n_unread: int
    n_filled: int
    mean_size: float
    singles: float
    ridge: float
    pseudo: float
    warnings: tuple[str, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def coverage_low(self) -> float:
        """In one sample of labels out of twenty the sets hold the label less often than this (the worst cell's)."""
        return min(cell.coverage_low for cell in self.cells)

    @property
    def decides(self) -> bool:
        """Whether half of the sets have one label; others are too wide to let an item pass, or not."""
        return self.singles >= _GATE

    @property
    def items(self) -> pd.DataFrame:
        """One row per item, in their order (needs pandas): its score and its set."""
        import pandas as pd

        read, at = self.row >= 0, self.row.clip(0)
        ends = {"low": self.low, "high": self.high, "size": self.size}
        whole = {"low": self.levels[0], "high": self.levels[-1], "size": len(self.levels)}
        columns = {"score": np.where(read, self.score[at], np.nan)}
        columns |= {name: np.where(read, part[at], whole[name]) for name, part in ends.items()}
        columns |= {"filled": read & self.filled[at]}
        if len(self.cells) > 1:
            columns["cell"] = np.where(read, np.array([c.name for c in self.cells], dtype=object)[self.cell[at]], "")
        return pd.DataFrame(self.columns | columns)

    def _rows(self) -> list[dict[str, Any]]:
        names = ("score", "low", "high", "size", "nearest", "n_items", "filled")
        rows = zip(*(getattr(self, name).tolist() for name in names), strict=True)
        sets = [dict(zip(names, row, strict=True)) for row in rows]
        if len(self.cells) == 1:
            return sets
        return [{"cell": self.cells[cell].name} | row for cell, row in zip(self.cell, sets, strict=True)]

    def _terms(self) -> dict[str, Any]:
        terms = {"sets": self.method, "score": "mid-cdf", "level": self.level, "ridge": self.ridge}
        return terms | {"pseudo": self.pseudo, "n": self.n, "cells": len(self.cells) if len(self.cells) > 1 else None}

    def __str__(self) -> str:
        return (
            f"{100 * self.level:g} % sets: {short(self.mean_size)} labels of {len(self.levels)} on average, one label "
            f"for {100 * self.singles:.3g} % of {len(self.row)} items{'' if self.decides else ': no gate'}, from "
            f"{self.n} labels (one in twenty such samples covers less than {100 * self.coverage_low:.3g} %)"
            f"{self._bracketed_warnings}"
        )


# --- the law of the coverage -----------------------------------------------------------------------------------------


def quantile_place(n: int, level: float) -> int:
    """Which of n scores, from the lowest, is the quantile: the least k of which k / (n + 1) is `level`.

    Examples
    --------
    >>> quantile_place(9, 0.9), quantile_place(8, 0.9), quantile_place(160, 0.9)
    (9, 9, 145)
    """
    return math.ceil((n + 1) * level - 1e-9)


def least_labels(level: float) -> int:
    """Labels without which every set is the whole scale.

    Examples
    --------
    >>> [least_labels(level) for level in (0.8, 0.9, 0.95)]
    [4, 9, 19]
    """
    return math.ceil(level / (1 - level) - 1e-9)


def coverage_point(n: int, level: float, at: float = _LOW) -> float:
    """Quantile of the realised coverage of one sample of n labels: of Beta(k, n + 1 - k), 1 where k > n.

    Examples
    --------
    >>> [round(coverage_point(n, 0.9), 4) for n in (25, 50, 100, 200)]
    [0.8239, 0.8262, 0.8482, 0.8637]
    """
    k = quantile_place(n, level)
    return 1.0 if k > n else float(stats.beta.ppf(at, k, n + 1 - k))
