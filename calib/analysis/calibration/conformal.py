"""Conformal sets of labels: they hold what people would say of an item as often as was asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from calib.analysis.calibration.ordered_logit import LogitSample, penalties_checked, sample_of, warned
from calib.analysis.calibration.proportional_odds import counted_rows, distinct_rows, fitted, standardised, with_pseudo
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Result, short

if TYPE_CHECKING:
    import pandas as pd

_TIE = 1e-7  # scores this close are one: rounding of two fits makes no order
_CHUNK = 400_000  # cells of tables that are refitted at once
POOLED = "all others"  # what the cell of those with too few labels is called


class Cell(NamedTuple):
    """Items that have a quantile of their own: the value of the column, labels, and a law of their coverage.

    The quantile is the k-th score from the lowest (k > n: none is), `coverage_low` the 5 % point of the law of the
    realised coverage, Beta(k, n + 1 - k). The name is empty where there is one cell alone.
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
    level, method : float, str
        How often the sets hold the label, on the average over samples of labels and new items; "full" (each label is in
        the fit and in the quantile) or "split" (half in the fit, half in the quantile).
    score, low, high, size, nearest : ndarray, shape (S,)
        Distinct scores (in each cell) of the items; lowest and highest label of their sets; labels from one to the
        other; and the label of the highest p-value, which is in every set.
    cell, filled, n_items : ndarray, shape (S,)
        Place in `cells`; whether the set was empty, and has the nearest label instead; items with this score.
    p_values : ndarray, shape (S, K)
        Of each label: the set holds those above 1 - level, and what lies between them.
    row : ndarray of int, shape (M,)
        Place of each item's set; -1 where its score is missing: its set is the whole scale.
    cells : tuple of Cell
    n, n_groups, n_missing, n_unread, n_filled : int
        Labels that count (in the fit or the quantile); independent groups of them; rows without a label or score; items
        without a score; items whose set was filled.
    mean_size, singles : float
        Mean number of labels in the sets of the items, and share of the sets that have one label.
    ridge, pseudo : float
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
        return self.singles >= 0.5

    @property
    def items(self) -> pd.DataFrame:
        """One row per item, in their order (needs pandas): its score and its set."""
        import pandas as pd

        read, at = self.row >= 0, self.row.clip(0)
        ends = {"low": self.low, "high": self.high, "size": self.size}
        whole = {"low": self.levels[0], "high": self.levels[-1], "size": len(self.levels)}
        columns = {"score": np.where(read, self.score[at], np.nan)}
        columns |= {name: np.where(read, part[at], whole[name]) for name, part in ends.items()}
        columns["filled"] = read & self.filled[at]
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
        sizes = f"{short(self.mean_size)} labels of {len(self.levels)} on average, one label for"
        gate = "" if self.decides else ": do not decide single items by them"
        law = f"one in twenty such samples covers less than {100 * self.coverage_low:.3g} %"
        sets = f"{100 * self.level:g} % sets: {sizes} {100 * self.singles:.3g} % of {len(self.row)} items{gate}"
        return f"{sets}, from {self.n} labels ({law}){self._bracketed_warnings}"


def quantile_place(n: int, level: float) -> int:
    """Which of n scores, from the lowest, is the quantile: the least k of which k / (n + 1) is `level`."""
    return math.ceil((n + 1) * level - 1e-9)


def least_labels(level: float) -> int:
    """Labels without which every set is the whole scale."""
    return math.ceil(level / (1 - level) - 1e-9)


def coverage_point(n: int, level: float) -> float:
    """5 % point of the realised coverage of one sample of n labels: of Beta(k, n + 1 - k), 1 where k > n."""
    k = quantile_place(n, level)
    return 1.0 if k > n else float(stats.beta.ppf(0.05, k, n + 1 - k))


def full_conformal(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.9,
    levels: ArrayLike | None = None,
    ridge: float = 1.0,
    pseudo: float = 1.0,
    x_new: ArrayLike | None = None,
    groups: Labels | None = None,
    by: Labels | None = None,
) -> ScoreSets:
    r"""For each score of a judge the labels that people may give, from a few labels: no label is lost to a split.

    For a new item with score v each label c is tried: proportional odds are fitted to the labels and (v, c), and

    .. math:: p(v, c) = \frac{\#\{i \le n + 1 : s_i \ge s_{n+1}\}}{n + 1}, \qquad
              s_i = | F(y_i - 1 \mid x_i) + \frac{1}{2} p(y_i \mid x_i) - \frac{1}{2} |

    where ties count against the new item. The set has the labels with p above 1 - level and those between them; where
    there are none, the label of the highest p. Where labelled items and a new one come in no particular order, it holds
    the new label with probability `level` or more, whatever the judge is: fit, mean and spread of the scores do
    not know which of the n + 1 rows is the new one.

    Parameters
    ----------
    x : array_like, shape (n,)
        The judge's scores, on any scale. NaN where one could not be read.
    y : array_like, shape (n,)
        A person's label of the same item, one of the levels; NaN where there is none.
    level : float, default 0.9
    levels : array_like, shape (K,), optional
        Values that a label can have, ascending. Default: the labels there are.
    ridge, pseudo : float, default 1
        As for `ordered_logit`; above 0, so that every refit has one answer.
    x_new : array_like, shape (M,), optional
        Scores of the items that sets are wanted for. Default: `x`. What it costs goes by distinct scores.
    groups : sequence, shape (n,), optional
        The document of each item. Where labels share one, new items are as likely covered only if they come from
        these documents, which is said; labels of one item per document cover items of new documents.
    by : sequence, shape (n,), optional
        Cells of the items, such as the system or the score itself: each has its own quantile, so that sets hold in
        each. Cells with fewer labels than the level takes (9 for 0.9, 19 for 0.95) are taken together. Without `x_new`.

    References
    ----------
    Vovk, Gammerman and Shafer (2022), Algorithmic learning in a random world; Vovk (2012), Conditional validity of
    inductive conformal predictors, ACML, for the law of the coverage (exact for the split form).

    Examples
    --------
    >>> judge, labels = [1, 2, 3, 4, 5] * 10, [1, 2, 2, 4, 5, 2, 1, 3, 3, 4] * 5
    >>> sets = full_conformal(judge, labels, x_new=[1, 3, 5])
    >>> sets.low.tolist(), sets.high.tolist()
    ([1.0, 2.0, 4.0], [2.0, 3.0, 5.0])
    """
    problem = _problem(x, y, levels, groups, by, x_new, level=level, ridge=ridge, pseudo=pseudo)
    sample = problem.sample
    table = counted_rows(sample.x, sample.place, len(sample.levels))
    of_cell = table.of_parts(problem.of_label, len(problem.names), sample.place)
    values, which = np.unique(problem.score, return_inverse=True)
    base = _ConformalFit.of(problem)
    # how many labels of each cell are as strange as each label (S, K, C) tried at each score, in the refit with it
    k, r = table.counts.shape[-1], len(table.x)
    tried = np.concatenate([np.broadcast_to(table.counts, (k, r, k)), np.eye(k)[:, None, :]], axis=1)
    weight, penalty = np.append(table.counts.sum(axis=1), 1.0), np.array([problem.ridge])
    own = of_cell.reshape(len(of_cell), -1).T
    n_above = np.empty((len(values), k, own.shape[1]))
    size = max(1, _CHUNK // (k * (r + 2) * k))
    for start in range(0, len(values), size):
        some = values[start : start + size]
        rows = np.concatenate([np.broadcast_to(table.x, (r, len(some))), some[None]])
        z = standardised(rows, weight)[0].T[:, None, :, None]
        a, b, _ = fitted(*with_pseudo(z, tried, problem.pseudo), penalty, (base.a, base.b))
        strange = _strangeness(a[..., None, :], (z @ b[..., None])[..., 0])
        new = strange[:, np.arange(k), -1, np.arange(k)]
        above = strange[:, :, :-1] >= new[..., None, None] - _TIE
        n_above[start : start + size] = above.reshape(len(some), k, -1).astype(float) @ own
    return _result(problem, "full", n_above[which, :, problem.of_set], base.strangeness(problem.score))


def split_conformal(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.9,
    levels: ArrayLike | None = None,
    ridge: float = 1.0,
    pseudo: float = 1.0,
    x_new: ArrayLike | None = None,
    groups: Labels | None = None,
    by: Labels | None = None,
    rng: np.random.Generator | int | None = 0,
) -> ScoreSets:
    r"""Sets as those of `full_conformal`, from one fit: for many labels, or a judge of many scores.

    One half of the labels, drawn at random (by document, where `groups` are given), is fitted; the others' scores
    s give the quantile, the k-th lowest with :math:`k = \lceil (n + 1) \, level \rceil` of n (if k > n every set is the
    whole scale). A label is in the set where its score is at most that. With 25 labels these sets have .2 to 1 labels
    more than the full form's, with 200 up to .1. `n`, and that of the cells, are labels of the quantile.

    Parameters
    ----------
    x, y, level, levels, ridge, pseudo, x_new, groups, by
        As for `full_conformal`.
    rng : Generator or int, default 0
        Which half is fitted.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-free predictive inference for regression, JASA.

    Examples
    --------
    >>> judge, labels = [1, 2, 3, 4, 5] * 20, [1, 2, 2, 4, 5, 2, 1, 3, 3, 4] * 10
    >>> sets = split_conformal(judge, labels, x_new=[1, 3, 5])
    >>> sets.low.tolist(), sets.high.tolist(), sets.n
    ([1.0, 2.0, 4.0], [2.0, 3.0, 5.0], 50)
    """
    options: dict[str, Any] = {"level": level, "ridge": ridge, "pseudo": pseudo, "split": np.random.default_rng(rng)}
    problem = _problem(x, y, levels, groups, by, x_new, **options)
    sample, counts, base = problem.sample, problem.counts, _ConformalFit.of(problem)
    own_scores = base.strangeness(sample.x[counts, 0])[np.arange(counts.sum()), sample.place[counts]]
    tried = base.strangeness(problem.score)
    n_above = np.empty(tried.shape)
    for cell in range(len(problem.names)):
        own, here = np.sort(own_scores[problem.of_label == cell]), problem.of_set == cell
        n_above[here] = len(own) - np.searchsorted(own, tried[here] - _TIE)
    return _result(problem, "split", n_above, tried)


def sets_of(
    x: ArrayLike, y: ArrayLike, *, levels: ArrayLike, rng: np.random.Generator | int | None = 0, **options: Any
) -> ScoreSets:
    """The full form where all its refits take some seconds at most, which they do of a judge with few scores."""
    score, label, k = np.asarray(x, dtype=float), np.asarray(y, dtype=float), len(np.asarray(levels))
    new = len(np.unique(score[np.isfinite(score)]))
    labelled = len(np.unique(score[np.isfinite(score) & np.isfinite(label)]))
    if new * k * (labelled + 2) * k <= 20_000_000:  # cells of all refits
        return full_conformal(x, y, levels=levels, **options)
    result = split_conformal(x, y, levels=levels, rng=rng, **options)
    text = (
        f"split_form: the judge has {new} distinct scores ({labelled} labelled), too many for the full conformal form; "
        f"half of the labels fit the map, the other half sets the quantile"
    )
    return replace(result, warnings=(text, *result.warnings))


def one_of_each(groups: Labels, labelled: ArrayLike, rng: np.random.Generator | int | None = 0) -> NDArray[np.bool_]:
    """One labelled item of each group, drawn at random."""
    place = np.random.default_rng(rng).permutation(np.flatnonzero(np.asarray(labelled, dtype=bool)))
    _, first = np.unique(check.codes(groups, "groups")[place], return_index=True)
    chosen = np.zeros(len(groups), dtype=bool)
    chosen[place[first]] = True
    return chosen


class _Problem(NamedTuple):
    """Labels in use, which of them are fitted and which count in quantiles, and the cells of those and of the sets."""

    sample: LogitSample
    fits: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    names: tuple[str, ...]  # of the cells, which have labels enough
    pooled: tuple[str, ...]  # cells that are taken together
    of_label: Codes  # the cell of each label that counts
    of_set: Codes
    score: Floats  # of each set
    n_items: Codes  # of each set
    row: Codes  # the set of each item; -1 without a score
    level: float
    ridge: float
    pseudo: float


def _problem(
    x: ArrayLike, y: ArrayLike, levels: ArrayLike | None, groups: Labels | None, by: Labels | None,
    x_new: ArrayLike | None, *, level: float, ridge: float, pseudo: float,
    split: np.random.Generator | None = None,
) -> _Problem:  # fmt: skip
    """The arguments, checked; with `split` half of the labels are fitted and the others count, by document."""
    check.probability(level, "level")
    penalties_checked(full_conformal, ridge=ridge, pseudo=pseudo)
    for name, value in {"ridge": ridge, "pseudo": pseudo}.items():
        if not value:
            raise ArgumentError(name, "must be above 0, so that every refit has one answer", f"got {value!r}")
    scores, labels = check.array(x, "x", ndim=1), check.array(y, "y", ndim=1)
    check.same_length(x=scores, y=labels, groups=groups, by=by)
    new = scores if x_new is None else check.array(x_new, "x_new", ndim=1)
    if by is not None and x_new is not None:
        raise ArgumentError("by", "must be left out where {0} is given: put these items into `x`", mentions=("x_new",))
    sample = sample_of(scores, labels, levels, groups, None)
    fits = counts = np.ones(len(sample.place), dtype=bool)
    if split is not None:
        n_units = int(sample.unit.max()) + 1
        fits = np.isin(sample.unit, split.permutation(n_units)[: (n_units + 1) // 2])
        counts = ~fits
    # cells by name; those with too few labels, and the smallest of the others until there are enough, are one
    code, of_new, texts = np.zeros(len(scores), dtype=np.intp), np.zeros(len(new), dtype=np.intp), [""]
    if by is not None:
        code = of_new = check.codes(by, "by")
        values = dict.fromkeys(by)
        texts = [short(float(one)) if isinstance(one, float | np.floating) else str(one) for one in values]
    own = code[sample.used][counts]
    n, least = np.bincount(own, minlength=len(texts)), least_labels(level)
    small = (n < least) & (len(texts) > 1)
    for cell in np.argsort(n, kind="stable") if small.any() else ():
        small[cell] |= n[small].sum() < least
    kept = np.flatnonzero(~small)
    place = np.full(len(texts), len(kept))
    place[kept] = np.arange(len(kept))
    names = (*(texts[cell] for cell in kept), *[POOLED] * bool(small.any()))
    pooled = tuple(texts[cell] for cell in np.flatnonzero(small))
    # a set for each distinct score in each cell
    read, total = np.isfinite(new), len(names)
    distinct, which = distinct_rows(new[read][:, None])
    pair = which * total + place[of_new[read]]
    there = np.bincount(pair, minlength=len(distinct) * total)
    sets, row = np.flatnonzero(there), np.full(len(new), -1)
    row[read] = (np.cumsum(there > 0) - 1)[pair]
    cells = names, pooled, place[own], sets % total, distinct[sets // total, 0], there[sets], row
    return _Problem(sample, fits, counts, *cells, level, ridge, pseudo)


class _ConformalFit(NamedTuple):
    """Proportional odds of one judge: thresholds and slope of standardised scores."""

    a: Floats
    b: Floats
    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, problem: _Problem) -> _ConformalFit:
        sample, fits = problem.sample, problem.fits
        table = counted_rows(sample.x[fits], sample.place[fits], len(sample.levels))
        z, centre, spread = standardised(table.x, table.counts.sum(axis=1))
        a, b, _ = fitted(*with_pseudo(z, table.counts, problem.pseudo), np.array([problem.ridge]))
        return cls(a, b, centre, spread)

    def strangeness(self, score: Floats) -> Floats:
        """The strangeness of each level (n, K) at these scores."""
        return _strangeness(self.a, (score - self.centre) / self.spread * self.b)


def _strangeness(a: Floats, at: Floats) -> Floats:
    """Distance of the middle of each level's piece of the distribution from the middle of all, at these log-odds."""
    below = special.expit(a - at[..., None])
    ends = np.zeros_like(below[..., :1])
    edges = np.concatenate([ends, below, ends + 1.0], axis=-1)
    return np.asarray(np.abs((edges[..., 1:] + edges[..., :-1]) / 2 - 0.5))


def _result(problem: _Problem, method: str, n_above: Floats, strange: Floats) -> ScoreSets:
    """The sets, from how many labels are as strange as each label would be at each score."""
    levels, k, level = problem.sample.levels, len(problem.sample.levels), problem.level
    n = np.bincount(problem.of_label, minlength=len(problem.names))
    place = np.array([quantile_place(int(number), level) for number in n])
    member = n_above > (n - place)[problem.of_set, None]
    nearest = (n_above - _TIE * strange).argmax(axis=1)
    filled = ~member.any(axis=1)
    member[filled, nearest[filled]] = True
    low, high = member.argmax(axis=1), k - 1 - member[:, ::-1].argmax(axis=1)
    size, n_unread = high - low + 1, int((problem.row < 0).sum())
    n_filled, total = int(problem.n_items[filled].sum()), len(problem.row)
    n_groups = len(np.unique(problem.sample.unit[problem.counts]))
    laws = (coverage_point(int(number), level) for number in n)
    least, own = least_labels(level), int(n.sum())
    pooled = ", ".join(map(repr, problem.pooled[:5])) + ", ..." * (len(problem.pooled) > 5)
    some_pooled = len(problem.pooled) > 0 and own >= least
    texts = {
        f"too_few_labels: sets at {100 * level:g} % take {least} labels and there are {own}, so that every set is "
        f"the whole scale": own < least,
        f"pooled_cells: {pooled} have one quantile together, as a cell takes {least} labels of its own": some_pooled,
        f"repeated_documents: {own} labels are of {n_groups} documents: sets hold as often as they say for items of "
        f"such documents together, and less surely for one new document; one_per_group=True (--one-per-group) is exact "
        f"for these": (n_groups < own),
        f"filled_sets: the sets of {n_filled} items were empty and have the label nearest to the middle": n_filled > 0,
    }
    return ScoreSets(
        levels=levels, level=level, method=method, score=problem.score, low=levels[low], high=levels[high], size=size,
        nearest=levels[nearest], cell=problem.of_set, filled=filled,
        p_values=(n_above + 1) / (n + 1)[problem.of_set, None], n_items=problem.n_items, row=problem.row,
        cells=tuple(map(Cell, problem.names, n.tolist(), place.tolist(), laws)), n=own, n_groups=n_groups,
        n_missing=problem.sample.n_missing, n_unread=n_unread, n_filled=n_filled,
        mean_size=(size @ problem.n_items + n_unread * k) / total if total else np.nan,
        singles=problem.n_items[size == 1].sum() / total if total else np.nan, ridge=float(problem.ridge),
        pseudo=float(problem.pseudo), warnings=warned(texts),
    )  # fmt: skip
