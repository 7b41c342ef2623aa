"""From a judge's score to what people would say: cross-fitted ordered logits, and how well they are known."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from calib.analysis.calibration.ordered_logit import (
    Sample,
    every_level_has_an_end,
    inputs_of,
    penalties_checked,
    sample_of,
)
from calib.analysis.calibration.proportional_odds import Counted, chances, counted, fitted, standardised, with_pseudo
from calib.analysis.calibration.ridge_choice import Tabled, chosen_ridge, reference_ridge
from calib.core import check
from calib.core.check import Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.result import Interval, Result, bracket, short

_AT_ONCE = 4_000_000  # cells of tables that are fitted at a time
_FINE = 4096  # distinct scores, above which the band is worked out on a grid
_ROWS = 25  # values of a judge that are shown one by one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationMap(Result):
    """The chance of each label that people would give, for each score of a judge.

    Attributes
    ----------
    levels : ndarray, shape (K,)
        Values of people's scale, ascending.
    thresholds, slopes : ndarray, shape (K - 1,) and (p,)
        Of the map fitted to all labels; the first input is the judge's own score.
    fold_thresholds, fold_slopes : ndarray, shape (n_folds, K - 1) and (n_folds, p)
        Of the maps fitted without the labels of one fold each; the map of all labels where there are no folds.
    resampled_thresholds, resampled_slopes : ndarray, shape (n_resamples, K - 1) and (n_resamples, p)
        Of maps fitted to resampled groups; none where there is one group only.
    x, counts : ndarray, shape (R, p) and (R, K)
        The distinct inputs that have labels, and how often each label was given to them (an item counts 1, however
        many people labelled it): all that the map was fitted to.
    fold : ndarray of int, shape (n,)
        Of each row that came: the fold of its group; -1 where no label of its group was used.
    own_only : bool
        Whether the own score alone is used, although there are other inputs.
    ridge, pseudo : float
        The penalty of the standardised slopes, and the number of pseudo-labels.
    n, n_labels, n_groups, n_folds, n_missing : int
        Labelled items; labels of them; independent groups; folds (0: none); labels whose inputs are missing, left out.
    confidence_level : float
    record : mapping
        What the map is bound to, as the file of a `Calibration` has it; empty for arrays.
    warnings : tuple of str
    """

    levels: Floats
    thresholds: Floats
    slopes: Floats
    fold_thresholds: Floats = field(repr=False)
    fold_slopes: Floats = field(repr=False)
    resampled_thresholds: Floats = field(repr=False)
    resampled_slopes: Floats = field(repr=False)
    x: Floats = field(repr=False)
    counts: Floats = field(repr=False)
    fold: Codes = field(repr=False)
    own_only: bool
    ridge: float
    pseudo: float
    n: int
    n_labels: int
    n_groups: int
    n_folds: int
    n_missing: int
    confidence_level: float
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()

    def predict(self, x: ArrayLike, *, fold: ArrayLike | None = None, shift: ArrayLike = 0.0) -> Floats:
        """Probability of each level, shape (n, K); NaN where an input is missing.

        Parameters
        ----------
        x : array_like, shape (n,) or (n, p)
        fold : array_like of int, shape (n,), optional
            The fold whose map, fitted without it, is to be used; -1, as by default, is the mean over the folds' maps.
        shift : array_like, default 0
            Added to the log-odds of a higher label: how much more lenient a person is.
        """
        values = self._inputs(x)
        which = np.full(len(values), -1) if fold is None else np.asarray(fold, dtype=np.intp)
        out = np.empty((len(values), len(self.levels)))
        for one in np.unique(which):
            rows = which == one
            a, b = (part if one < 0 else part[one : one + 1] for part in (self.fold_thresholds, self.fold_slopes))
            eta = values[rows] @ b.T + (np.asarray(shift) if np.ndim(shift) == 0 else np.asarray(shift)[rows, None])
            out[rows] = chances(a, eta).mean(axis=1)
        return out

    def band(self, x: ArrayLike, mean: ArrayLike) -> tuple[Floats, Floats]:
        """Ends of the interval of the map around the mean label `mean` at the inputs, each of shape (n,).

        The spread over the resampled groups, on the log-odds of the place on the scale, with Student's t for as many
        groups as there are: it is about the map, not about what single people say. NaN for one group.
        """
        values, centre = self._inputs(x), np.asarray(mean, dtype=float)
        distinct, row = np.unique(values, axis=0, return_inverse=True)
        if distinct.shape[1] == 1 and len(distinct) > _FINE:  # smooth in one input, and many are slow
            there = distinct[np.isfinite(distinct[:, 0]), 0]
            grid = np.linspace(there[0], there[-1], _FINE)
            spread = np.interp(distinct[:, 0], grid, self._spread(grid[:, None]))[row.ravel()]
        else:
            spread = self._spread(distinct)[row.ravel()]
        low, span = self.levels[0], np.ptp(self.levels)
        at = special.logit(np.clip((centre - low) / span, 0.0, 1.0))
        out = two_sided(max(self.n_groups - 1, 1), self.confidence_level) * spread
        return low + span * special.expit(at - out), low + span * special.expit(at + out)

    def _spread(self, x: Floats) -> Floats:
        """Of the mean label over the resamples, on the log-odds of its place on the scale."""
        if not len(self.resampled_slopes):
            return np.full(len(x), np.nan)
        gaps = np.diff(self.levels) / np.ptp(self.levels)
        eta = x @ self.resampled_slopes.T
        place = sum(gap * special.expit(eta - a) for gap, a in zip(gaps, self.resampled_thresholds.T, strict=True))
        return np.asarray(np.std(special.logit(np.clip(place, 1e-12, 1 - 1e-12)), axis=1, ddof=1))

    def _inputs(self, x: ArrayLike) -> Floats:
        return inputs_of(x, len(self.slopes))

    @property
    def shown(self) -> Shown:
        """What each value of the judge means (of many values: about each tenth of the labels)."""
        own, weight = self.x[:, 0], self.counts.sum(axis=1)
        at, place = np.unique(own, return_inverse=True)
        if len(at) > _ROWS:
            edges = np.quantile(own, np.linspace(0, 1, 11)[1:-1])
            place = np.searchsorted(edges, own)
        p = self.predict(self.x)
        mean = p @ self.levels
        label = self.counts @ self.levels / weight
        columns = np.column_stack([own, mean, *self.band(self.x, mean), label, p])
        sums = np.stack([np.bincount(place, weight * column) for column in columns.T], axis=1)
        n = np.asarray(np.bincount(place, weight), dtype=float)
        means = sums[n > 0] / n[n > 0, None]
        x, mean, low, high, label = means[:, :5].T
        return Shown(x, mean, low, high, label, n[n > 0], means[:, 5:])

    def _rows(self) -> list[dict[str, Any]]:
        heads = [f"p_{short(level)}" for level in self.levels]
        shown = self.shown
        cells = zip(shown.x, shown.mean, shown.low, shown.high, shown.n, shown.label, shown.p, strict=True)
        names = ("judge", "estimate", "conf_low", "conf_high", "n_at", "label_mean")
        return [
            dict(zip((*names, *heads), (*map(float, row[:-1]), *map(float, row[-1])), strict=True)) for row in cells
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"calibration_map": True, "inputs": len(self.slopes), "own_only": self.own_only or None}
        terms |= {"ridge": self.ridge, "pseudo": self.pseudo, "n": self.n, "labels": self.n_labels}
        terms |= {"groups": self.n_groups, "folds": self.n_folds, "rs": len(self.resampled_slopes)}
        return terms | {"cl": self.confidence_level, "missing": self.n_missing or None}

    def __str__(self) -> str:
        shown = self.shown
        ends = dict.fromkeys((0, len(shown.x) - 1))
        said = "; ".join(
            f"{short(shown.x[i])} means {short(shown.mean[i])}, "
            f"{bracket(Interval(shown.low[i], shown.high[i]), self.confidence_level)}"
            for i in ends
        )
        return f"{said} (from {self.n} labelled items, {self.n_groups} groups){self._bracketed_warnings}"


class Shown(NamedTuple):
    """What some scores of a judge mean: ends of the interval around the mean; mean and number of labels; pmf."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    label: Floats
    n: Floats
    p: Floats


def calibration_map(
    x: ArrayLike,
    y: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    ridge: float | None = None,
    pseudo: float = 1.0,
    groups: Labels | None = None,
    weights: ArrayLike | None = None,
    n_folds: int = 10,
    n_resamples: int = 200,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> CalibrationMap:
    r"""The chance of each label that people would give, from a judge's score, cross-fitted by group.

    .. math:: P(Y \le k \mid x) = \frac{1}{1 + e^{-(a_k - b' x)}}, \qquad a_1 < \dots < a_{K-1}

    Fitted to the table of (score, label) counts with the penalty :math:`\lambda |b|^2 / 2` of the standardised slopes
    and `pseudo` labels at the mean score, spread evenly, so that a level that nobody gave stays possible. Where labels
    of a group were used, its rows are for the map that was fitted without their fold; all others have the mean of
    the folds' maps.

    Parameters
    ----------
    x : array_like, shape (n,) or (n, p)
        The judge's score, on any scale; with several inputs its own score is the first.
    y : array_like, shape (n,)
        A person's label, one of the levels; NaN where there is none.
    levels : array_like, shape (K,), optional
        Values that people could give. Default: those that they gave.
    ridge : float, optional
        Default: as `ordered_logit` chooses it, by cross-validation over groups, "own score only" among the candidates.
    pseudo : float, default 1
    groups : sequence, shape (n,), optional
        Labels are independent between groups: folds and resamples keep them whole. Default: each row is on its own.
        An item with several labels has a row for each, and one group at least.
    weights : array_like, shape (n,), optional
        What each label counts.
    n_folds : int, default 10
        At most; fewer where there are fewer groups.
    n_resamples : int, default 200
        Resampled sets of groups, for the interval of the map.
    confidence_level : float, default 0.95
    rng : Generator or int, optional
        For the resamples; default: always the same.

    Returns
    -------
    CalibrationMap

    Raises
    ------
    ValueError
        If lengths differ, a label is not a level, there are fewer than two levels or no label beside a score.

    References
    ----------
    Pratt (1981), Concavity of the log likelihood, JASA 76. Zrnic and Candes (2024), Cross-prediction-powered
    inference, PNAS 121, for the folds.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = rng.integers(1, 6, 120)
    >>> judge = np.clip(people + rng.integers(0, 3, 120), 1, 5)
    >>> found = calibration_map(judge, people, levels=[1, 2, 3, 4, 5])
    >>> [round(float(mean), 2) for mean in found.predict([2, 5]) @ found.levels]
    [1.37, 4.23]
    """
    check.as_typed(calibration_map, {"n_folds": n_folds, "n_resamples": n_resamples, "rng": rng})
    check.probability(confidence_level, "confidence_level")
    check.whole(n_folds, "n_folds", least=2)
    check.whole(n_resamples, "n_resamples", least=2)
    penalties_checked(calibration_map, ridge=ridge, pseudo=pseudo)
    labels = sample_of(x, y, levels, groups, weights)
    labelled, used = _rows_of(x, y, weights)
    unit, fold = _units_and_folds(groups, used, n_folds)
    sample = _folded(labels, unit[used], fold[used])
    every_level_has_an_end(sample.table.counts, labels.levels, pseudo)
    z, centre, spread = standardised(sample.table.x, sample.table.counts.sum(axis=1))
    own_only, penalty = _penalty_of(sample, z, pseudo) if ridge is None else (False, float(ridge))
    z = np.where(np.arange(z.shape[1]) > 0, 0.0, z) if own_only else z
    generator = np.random.default_rng(0 if rng is None else rng)
    fits = _fits(sample, z, np.full(z.shape[1], penalty), pseudo, n_resamples, generator)
    plain = [(a + (b / spread @ centre)[..., None], b / spread) for a, b in fits]
    n_groups = int(sample.unit.max()) + 1
    found = CalibrationMap(
        levels=labels.levels,
        thresholds=plain[0][0],
        slopes=plain[0][1],
        fold_thresholds=plain[1][0],
        fold_slopes=plain[1][1],
        resampled_thresholds=plain[2][0],
        resampled_slopes=plain[2][1],
        x=sample.table.x,
        counts=sample.table.counts,
        fold=fold if n_groups > 1 else np.full(len(fold), -1),
        own_only=own_only,
        ridge=penalty,
        pseudo=float(pseudo),
        n=round(float(sample.weight.sum())),
        n_labels=len(sample.weight),
        n_groups=n_groups,
        n_folds=len(plain[1][1]) if n_groups > 1 else 0,
        n_missing=int((labelled & ~used).sum()),
        confidence_level=confidence_level,
    )
    warned = _doubts_of(found)
    for text in warned:
        check.warn(text)
    return replace(found, warnings=warned)


class _Folded(NamedTuple):
    """The table, and of each label its level, its cell in the table, weight, unit and fold."""

    table: Counted
    place: Codes
    cell: Codes
    weight: Floats
    unit: Codes
    fold: Codes

    @property
    def by_fold(self) -> Floats:
        """Counts of each fold, (F, R, K)."""
        shape = self.table.counts.shape
        n_folds, size = int(self.fold.max()) + 1, math.prod(shape)
        counts = np.bincount(self.fold * size + self.cell, self.weight, minlength=n_folds * size)
        return np.asarray(counts, dtype=float).reshape(-1, *shape)

    def resampled(self, n: int, rng: np.random.Generator) -> Floats:
        """Counts of n resampled sets of the groups, (n, R, K)."""
        shape, n_units = self.table.counts.shape, int(self.unit.max()) + 1
        if n_units == len(self.unit) and (self.weight == 1).all():  # single labels: cells are drawn at once
            drawn = rng.multinomial(n_units, self.table.counts.ravel() / n_units, n)
            return drawn.reshape(n, *shape).astype(float)
        each = sparse.csr_matrix((self.weight, (self.unit, self.cell)), shape=(n_units, math.prod(shape)))
        times = rng.multinomial(n_units, np.full(n_units, 1 / n_units), n)
        return np.asarray((each.T @ times.T).T, dtype=float).reshape(n, *shape)


def _folded(labels: Sample, unit: Codes, fold: Codes) -> _Folded:
    table = counted(labels.x, labels.place, len(labels.levels), labels.weight)
    cell = table.row * len(labels.levels) + labels.place
    return _Folded(table, labels.place, cell, labels.each_weight, unit, fold)


def _rows_of(x: ArrayLike, y: ArrayLike, weights: ArrayLike | None) -> tuple[Any, Any]:
    """Which rows have a label that counts, and which of these have all inputs, too."""
    labelled = np.isfinite(check.array(y, "y"))
    labelled &= True if weights is None else check.array(weights, "weights") > 0
    return labelled, labelled & np.isfinite(inputs_of(x)).all(axis=1)


def _units_and_folds(groups: Labels | None, used: Any, n_folds: int) -> tuple[Codes, Codes]:
    """The number and fold of each row's group, whatever the order of the rows; -1 where no label of it is used.

    Groups with many labels are dealt out first, each to the fold that has fewest labels; those with as many in the
    order of a hash of their names, which has nothing to do with what they are.
    """
    if groups is None:
        unit, n_used = np.full(len(used), -1), int(used.sum())
        unit[used] = np.random.default_rng(0).permutation(n_used)
        return unit, np.where(used, unit % n_folds, -1)
    code = check.codes(groups, "groups")
    names = list(dict.fromkeys(groups.tolist() if hasattr(groups, "tolist") else groups))
    size = np.bincount(code[used], minlength=len(names))
    there = sorted(np.flatnonzero(size).tolist(), key=lambda g: (-size[g], hashed(names[g])))
    unit, fold = np.full((2, len(names)), -1)
    held = [(0, place) for place in range(min(n_folds, len(there)))]
    for number, group in enumerate(there):
        n, place = held[0]
        unit[group], fold[group] = number, place
        heapq.heapreplace(held, (n + int(size[group]), place))
    return unit[code], fold[code]


def hashed(name: Any) -> str:
    """The SHA-256 of a name, which may be any text."""
    return hashlib.sha256(str(name).encode("utf-8", "surrogatepass")).hexdigest()


def _penalty_of(sample: _Folded, z: Floats, pseudo: float) -> tuple[bool, float]:
    """Whether the own score alone is best, and the penalty, as `ordered_logit` chooses them."""
    tried = chosen_ridge(Tabled(z, sample.table, sample.place, sample.unit, sample.weight), pseudo)
    best = next((one for one in tried if one.chosen), None)
    if best is None:
        return z.shape[1] > 1, reference_ridge(1)
    return len(best.inputs) < z.shape[1], best.ridge


def _fits(
    sample: _Folded, z: Floats, penalty: Floats, pseudo: float, n_resamples: int, rng: np.random.Generator
) -> list[tuple[Floats, Floats]]:
    """Thresholds and slopes of all labels, of those without each fold, and of resampled groups."""
    counts = sample.table.counts
    a, b, _ = fitted(*with_pseudo(z, counts, pseudo), penalty)
    if sample.unit.max() == 0:
        return [(a, b), (a[None], b[None]), (np.empty((0, *a.shape)), np.empty((0, *b.shape)))]
    without = fitted(*with_pseudo(z, np.maximum(counts - sample.by_fold, 0.0), pseudo), penalty, (a, b))
    step = max(1, _AT_ONCE // counts.size)
    sizes = [min(step, n_resamples - done) for done in range(0, n_resamples, step)]
    drawn = [fitted(*with_pseudo(z, sample.resampled(n, rng), pseudo), penalty, (a, b)) for n in sizes]
    return [(a, b), without[:2], (np.concatenate([d[0] for d in drawn]), np.concatenate([d[1] for d in drawn]))]


def _doubts_of(found: CalibrationMap) -> tuple[str, ...]:
    """What a reader should know before the map."""
    given, slope = found.counts.sum(axis=0) > 0, found.slopes[0]
    never = ", ".join(map(short, found.levels[~given]))
    alone = found.own_only or len(found.slopes) == 1
    reversed_ = float((found.resampled_slopes[:, 0] < 0).mean()) if len(found.resampled_slopes) else math.nan
    texts = {
        "constant_judge: the judge's score is the same wherever there is a label, so that every item gets the labels' "
        "shares": bool((np.ptp(found.x, axis=0) == 0).all()),
        "negative_slope: the higher the judge's score, the lower people's labels "
        f"(in {reversed_:.0%} of the resamples, too); the map follows": alone and slope < 0,
        f"labels_alike: every label is {short(found.levels[given][0])}; nothing tells which items have another": int(
            given.sum()
        )
        == 1,
        f"unseen_levels: nobody said {never}; their chance comes from the pseudo-label alone": 1
        < int(given.sum())
        < len(given),
        "one_group: all labels are of one group, so there is neither cross-fitting nor an interval of the map; its "
        "scores of the labelled items know their labels": found.n_groups == 1,
        f"few_groups: {found.n_groups} independent groups of labels; intervals from fewer than 10 may be short": 1
        < found.n_groups
        < 10,
        f"inputs_missing: {found.n_missing} labels are of items that lack an input; they are left out": found.n_missing
        > 0,
    }
    return tuple(text for text, holds in texts.items() if holds)
