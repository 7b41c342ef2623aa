"""Sets of labels that hold what people would say of an item as often as was asked for: conformal prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.calibration.ordered_logit import Sample, penalties_checked, sample_of
from calib.analysis.calibration.proportional_odds import counted, distinct_rows, fitted, standardised, with_pseudo
from calib.analysis.calibration.score_sets import Cell, ScoreSets, coverage_point, least_labels, quantile_place
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import short

_TIE = 1e-7  # scores this close are one: rounding of two fits makes no order
_CHUNK = 400_000  # cells of tables that are refitted at once
_MOST_CELLS = 20_000_000  # of all refits: some seconds; the split form takes over above
POOLED = "all others"  # what the cell of those with too few labels is called


# --- the two forms ----------------------------------------------------------------------------------------------------


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
    by_new: Labels | None = None,
) -> ScoreSets:
    r"""For each score of a judge the labels that people may give, from a few labels: no label is lost to a split.

    For a new item with score v each label c is tried: proportional odds are fitted to the labels and (v, c), and

    .. math:: p(v, c) = \frac{\#\{i \le n + 1 : s_i \ge s_{n+1}\}}{n + 1}, \qquad
              s_i = | F(y_i - 1 \mid x_i) + \frac{1}{2} p(y_i \mid x_i) - \frac{1}{2} |

    where the new item counts, and ties count against it. The set has the labels with p above 1 - level and those
    between them; where there are none, the label of the highest p. Where labelled items and a new one come in no
    particular order, it holds the new label with probability `level` or more, whatever the judge is: the fit must not
    know which of the n + 1 rows is the new one. So the mean and spread of the scores, which place the pseudo-labels
    and scale the ridge, are those of all n + 1, and the penalty is fixed beforehand, not chosen with the labels.

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
        Cells, such as the system or the score itself: each has its own quantile, so that sets hold in each. Cells
        with fewer labels than the level takes (9 for 0.9, 19 for 0.95) are taken together.
    by_new : sequence, shape (M,), optional
        Cells of `x_new`.

    References
    ----------
    Vovk, Gammerman and Shafer (2022), Algorithmic learning in a random world; Vovk (2012), Conditional validity of
    inductive conformal predictors, ACML, for the law of the coverage (exact for the split form).

    Examples
    --------
    >>> judge, people = [1, 2, 3, 4, 5] * 10, [1, 2, 2, 4, 5, 2, 1, 3, 3, 4] * 5
    >>> found = full_conformal(judge, people, x_new=[1, 3, 5])
    >>> found.low.tolist(), found.high.tolist()
    ([1.0, 2.0, 4.0], [2.0, 3.0, 5.0])
    """
    task = _task(x, y, levels, groups, by, x_new, by_new, level, ridge, pseudo)
    everything = np.ones(len(task.sample.place), dtype=bool)
    cells = _cells(task, everything)
    table = counted(task.sample.x, task.sample.place, len(task.sample.levels))
    of_cell = table.of_parts(cells.of_label, len(cells.names), task.sample.place)
    values, which = np.unique(cells.score, return_inverse=True)
    base = _Fit.of(task.sample.x, task.sample.place, task)
    n_above = _refitted(values, table.x, table.counts, of_cell, base, task)[which, :, cells.of_set]
    return _answer(task, "full", cells, n_above, base.strangeness(cells.score), everything)


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
    by_new: Labels | None = None,
    rng: np.random.Generator | int | None = 0,
) -> ScoreSets:
    r"""Sets as those of `full_conformal`, from one fit: for many labels, or a judge of many scores.

    One half of the labels, drawn at random (by document, where `groups` are given), is fitted; the others' scores
    s give the quantile, the k-th lowest with :math:`k = \lceil (n + 1) \, level \rceil` of n. A label is in the set
    where its score is at most that. If k > n every set is the whole scale. With 25 labels these sets have .2 to 1
    labels more than the full form's, with 200 labels up to .1.

    Parameters
    ----------
    x, y, level, levels, ridge, pseudo, x_new, groups, by, by_new
        As for `full_conformal`.
    rng : Generator or int, default 0
        Which half is fitted.

    Returns
    -------
    ScoreSets
        Its `n` and the cells' are the labels of the quantile.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-free predictive inference for regression, JASA.

    Examples
    --------
    >>> judge, people = [1, 2, 3, 4, 5] * 20, [1, 2, 2, 4, 5, 2, 1, 3, 3, 4] * 10
    >>> found = split_conformal(judge, people, x_new=[1, 3, 5])
    >>> found.low.tolist(), found.high.tolist(), found.n
    ([1.0, 2.0, 4.0], [2.0, 3.0, 5.0], 50)
    """
    task = _task(x, y, levels, groups, by, x_new, by_new, level, ridge, pseudo)
    n_units = int(task.sample.unit.max()) + 1
    order = np.random.default_rng(rng).permutation(n_units)
    fits = np.isin(task.sample.unit, order[: (n_units + 1) // 2])
    cells = _cells(task, ~fits)
    base = _Fit.of(task.sample.x[fits], task.sample.place[fits], task)
    own_scores = base.strangeness(task.sample.x[~fits, 0])[np.arange((~fits).sum()), task.sample.place[~fits]]
    tried = base.strangeness(cells.score)
    n_above = np.empty(tried.shape)
    for cell in range(len(cells.names)):
        own, here = np.sort(own_scores[cells.of_label == cell]), cells.of_set == cell
        n_above[here] = len(own) - np.searchsorted(own, tried[here] - _TIE)
    return _answer(task, "split", cells, n_above, tried, ~fits)


def sets_of(
    x: ArrayLike, y: ArrayLike, *, levels: ArrayLike, rng: np.random.Generator | int | None = 0, **options: Any
) -> ScoreSets:
    """The full form where all its refits take some seconds at most, which they do of a judge with few scores."""
    score, label, k = np.asarray(x, dtype=float), np.asarray(y, dtype=float), len(np.asarray(levels))
    new = len(np.unique(score[np.isfinite(score)]))
    labelled = len(np.unique(score[np.isfinite(score) & np.isfinite(label)]))
    if new * k * (labelled + 2) * k <= _MOST_CELLS:
        return full_conformal(x, y, levels=levels, **options)
    result = split_conformal(x, y, levels=levels, rng=rng, **options)
    text = (
        f"split_form: the judge has {new} distinct scores, each of which the full form would refit to {labelled} "
        f"others; here one half of the labels is fitted and the other gives the quantile"
    )
    return replace(result, warnings=(text, *result.warnings))


def one_of_each(groups: Labels, labelled: ArrayLike, rng: np.random.Generator | int | None = 0) -> NDArray[np.bool_]:
    """One labelled item of each group, drawn at random.

    Examples
    --------
    >>> one_of_each(["a", "a", "b", "b"], [True, False, True, False])
    array([ True, False,  True, False])
    """
    place = np.random.default_rng(rng).permutation(np.flatnonzero(np.asarray(labelled, dtype=bool)))
    _, first = np.unique(check.codes(groups, "groups")[place], return_index=True)
    chosen = np.zeros(len(groups), dtype=bool)
    chosen[place[first]] = True
    return chosen


# --- what comes in ----------------------------------------------------------------------------------------------------


class _Task(NamedTuple):
    """Labels in use, the cells of these, and what sets are wanted for."""

    sample: Sample
    by: Codes  # of each label in use
    x_new: Floats
    by_new: Codes
    names: tuple[str, ...]
    level: float
    ridge: float
    pseudo: float


def _task(
    x: ArrayLike,
    y: ArrayLike,
    levels: ArrayLike | None,
    groups: Labels | None,
    by: Labels | None,
    x_new: ArrayLike | None,
    by_new: Labels | None,
    level: float,
    ridge: float,
    pseudo: float,
) -> _Task:
    check.probability(level, "level")
    for name, value in {"ridge": ridge, "pseudo": pseudo}.items():
        penalties_checked(full_conformal, **{name: value})
        if not value:
            raise ArgumentError(name, "must be above 0, so that every refit has one answer", f"got {value!r}")
    score, label = check.array(x, "x", ndim=1), check.array(y, "y", ndim=1)
    check.same_length(x=score, y=label, groups=groups, by=by)
    new = score if x_new is None else check.array(x_new, "x_new", ndim=1)
    cells = by if x_new is None else by_new
    if (by is None) != (cells is None):
        raise ArgumentError("by_new", "must be given where {0} and {1} are", mentions=("by", "x_new"))
    check.same_length(x_new=new, by_new=cells)
    sample = sample_of(score, label, levels, groups, None)
    used = np.isfinite(score) & np.isfinite(label)
    if by is None or cells is None:
        return _Task(sample, np.zeros(used.sum(), int), new, np.zeros(len(new), int), ("",), level, ridge, pseudo)
    code = check.codes([*by, *cells], "by")
    values = dict.fromkeys([*by, *cells])
    names = tuple(short(float(one)) if isinstance(one, float | np.floating) else str(one) for one in values)
    return _Task(sample, code[: len(score)][used], new, code[len(score) :], names, level, ridge, pseudo)


class _Cells(NamedTuple):
    """Cells with labels enough: their names, the cell of each label and of each set, score and items of each set."""

    names: tuple[str, ...]
    of_label: Codes
    of_set: Codes
    score: Floats
    n_items: Codes
    row: Codes  # the set of each item; -1 without a score
    pooled: tuple[str, ...]


def _cells(task: _Task, counts: NDArray[np.bool_]) -> _Cells:
    """Cells of the labels that count in quantiles; those with too few are one."""
    n = np.bincount(task.by[counts], minlength=len(task.names))
    small = n < least_labels(task.level)
    for cell in np.argsort(n, kind="stable") if small.any() else ():
        if n[small].sum() < least_labels(task.level):
            small[cell] = True  # the smallest of the others, until there are enough
    kept = np.flatnonzero(~small)
    place = np.full(len(task.names), len(kept))
    place[kept] = np.arange(len(kept))
    alone = len(task.names) == 1
    names = task.names if alone else (*(task.names[cell] for cell in kept), *[POOLED] * bool(small.any()))
    read, total = np.isfinite(task.x_new), len(names)
    values, which = distinct_rows(task.x_new[read][:, None])
    pair = which if total == 1 else which * total + place[task.by_new[read]]
    there = np.bincount(pair, minlength=len(values) * total)
    sets = np.flatnonzero(there)
    row = np.full(len(task.x_new), -1)
    row[read] = (np.cumsum(there > 0) - 1)[pair]
    of_label = np.zeros(counts.sum(), int) if alone else place[task.by[counts]]
    pooled = () if alone else tuple(task.names[cell] for cell in np.flatnonzero(small))
    return _Cells(names, of_label, sets % total, values[sets // total, 0], there[sets], row, pooled)


# --- fits and refits --------------------------------------------------------------------------------------------------


class _Fit(NamedTuple):
    """Proportional odds of one judge: thresholds and slope of standardised scores."""

    a: Floats
    b: Floats
    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, x: Floats, place: Codes, task: _Task) -> _Fit:
        table = counted(x, place, len(task.sample.levels))
        z, centre, spread = standardised(table.x, table.counts.sum(axis=1))
        a, b, _ = fitted(*with_pseudo(z, table.counts, task.pseudo), np.array([task.ridge]))
        return cls(a, b, centre, spread)

    def strangeness(self, score: Floats) -> Floats:
        """Of each level (n, K) at these scores, some at a time, so that they stay in the cache."""
        at, step = (score - self.centre) / self.spread * self.b, _CHUNK // (8 * (len(self.a) + 1))
        return np.concatenate([_strangeness(self.a, at[i : i + step]) for i in range(0, max(len(at), 1), step)])


def _strangeness(a: Floats, at: Floats) -> Floats:
    """Distance of the middle of each level's piece of the distribution from the middle of all, at these log-odds."""
    eta = a - at[..., None]
    below = np.empty((*eta.shape[:-1], eta.shape[-1] + 2))
    below[..., 0], below[..., -1] = 0.0, 1.0
    special.expit(eta, out=below[..., 1:-1])
    middle = below[..., 1:] + below[..., :-1]
    middle *= 0.5
    middle -= 0.5
    return np.asarray(np.abs(middle, out=middle))


def _refitted(values: Floats, x: Floats, counts: Floats, of_cell: Floats, base: _Fit, task: _Task) -> Floats:
    """How many labels of each cell are as strange as each label (S, K, C) tried at each score, in the refit with it."""
    k, r = counts.shape[-1], len(x)
    tried = np.concatenate([np.broadcast_to(counts, (k, r, k)), np.eye(k)[:, None, :]], axis=1)
    weight, penalty = np.append(counts.sum(axis=1), 1.0), np.array([task.ridge])
    own = of_cell.reshape(len(of_cell), -1).T
    n_above = np.empty((len(values), k, own.shape[1]))
    size = max(1, _CHUNK // (k * (r + 2) * k))
    for start in range(0, len(values), size):
        some = values[start : start + size]
        rows = np.concatenate([np.broadcast_to(x, (r, len(some))), some[None]])
        z = standardised(rows, weight)[0].T[:, None, :, None]
        a, b, _ = fitted(*with_pseudo(z, tried, task.pseudo), penalty, (base.a, base.b))
        strange = _strangeness(a[..., None, :], (z @ b[..., None])[..., 0])
        new = strange[:, np.arange(k), -1, np.arange(k)]
        above = strange[:, :, :-1] >= new[..., None, None] - _TIE
        n_above[start : start + size] = above.reshape(len(some), k, -1).astype(float) @ own
    return n_above


# --- what comes out ---------------------------------------------------------------------------------------------------


def _answer(
    task: _Task, method: str, cells: _Cells, n_above: Floats, strange: Floats, counts: NDArray[np.bool_]
) -> ScoreSets:
    levels, k = task.sample.levels, len(task.sample.levels)
    n = np.bincount(cells.of_label, minlength=len(cells.names))
    place = np.array([quantile_place(int(number), task.level) for number in n])
    member = n_above > (n - place)[cells.of_set, None]
    nearest = (n_above - _TIE * strange).argmax(axis=1)
    filled = ~member.any(axis=1)
    member[filled, nearest[filled]] = True
    low, high = member.argmax(axis=1), k - 1 - member[:, ::-1].argmax(axis=1)
    size, n_unread = high - low + 1, int((cells.row < 0).sum())
    n_filled, total = int(cells.n_items[filled].sum()), len(task.x_new)
    n_groups = len(np.unique(task.sample.unit[counts]))
    laws = (coverage_point(int(number), task.level) for number in n)
    result = ScoreSets(
        levels=levels,
        level=task.level,
        method=method,
        score=cells.score,
        low=levels[low],
        high=levels[high],
        size=size,
        nearest=levels[nearest],
        cell=cells.of_set,
        filled=filled,
        p_values=(n_above + 1) / (n + 1)[cells.of_set, None],
        n_items=cells.n_items,
        row=cells.row,
        cells=tuple(map(Cell, cells.names, n.tolist(), place.tolist(), laws)),
        n=int(counts.sum()),
        n_groups=n_groups,
        n_missing=task.sample.n_missing,
        n_unread=n_unread,
        n_filled=n_filled,
        mean_size=(size @ cells.n_items + n_unread * k) / total if total else np.nan,
        singles=cells.n_items[size == 1].sum() / total if total else np.nan,
        ridge=float(task.ridge),
        pseudo=float(task.pseudo),
        warnings=_doubts_of_sets(task, cells, n, n_groups, n_filled),
    )
    for text in result.warnings:
        check.warn(text)
    return result


def _doubts_of_sets(task: _Task, cells: _Cells, n: Codes, n_groups: int, n_filled: int) -> tuple[str, ...]:
    """What a reader should know before the sets."""
    least, level, labels = least_labels(task.level), f"{100 * task.level:g} %", int(n.sum())
    names = ", ".join(map(repr, cells.pooled[:5])) + ", ..." * (len(cells.pooled) > 5)
    pooled = len(cells.pooled) > 0 and labels >= least
    texts = {
        f"too_few_labels: sets at {level} take {least} labels and there are {labels}, so that every set is the whole "
        f"scale": labels < least,
        f"pooled_cells: {names} have one quantile together, as a cell takes {least} labels of its own": pooled,
        f"repeated_documents: {labels} labels are of {n_groups} documents: sets hold as often as they say for items of "
        f"such documents together, and less surely for one new document; one_per_group=True is exact for these": (
            n_groups < labels
        ),
        f"filled_sets: the sets of {n_filled} items were empty and have the label nearest to the middle": n_filled > 0,
    }
    return tuple(text for text, holds in texts.items() if holds)
