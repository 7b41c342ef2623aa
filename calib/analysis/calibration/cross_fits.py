"""Maps fitted to all labels, without each fold of the groups, and to resampled groups, all from one table."""

from __future__ import annotations

import hashlib
import heapq
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from calib.analysis.calibration.annotator_logit import AnnotatorLogit
from calib.analysis.calibration.ordered_logit import Sample, inputs_of
from calib.analysis.calibration.proportional_odds import Counted, Persons, counted, fitted, standardised, with_pseudo
from calib.analysis.calibration.ridge_choice import Tabled, chosen_ridge, reference_ridge
from calib.core import check
from calib.core.check import Codes, Floats, Labels

_MANY = 1000  # distinct scores, beyond which neighbours are fitted together in folds and resamples
_AT_ONCE = 4_000_000  # cells of tables that are fitted at a time


class Folded(NamedTuple):
    """The table, and of each label its level, weight, unit and fold."""

    table: Counted
    place: Codes
    weight: Floats
    unit: Codes
    fold: Codes

    @property
    def by_fold(self) -> Floats:
        """Counts of each fold."""
        return self.table.of_parts(self.fold, int(self.fold.max()) + 1, self.place, self.weight)

    def resampled(self, n: int, rng: np.random.Generator) -> Floats:
        """Counts of n resampled sets of the groups, (n, R, K)."""
        shape, n_units = self.table.counts.shape, int(self.unit.max()) + 1
        if n_units == len(self.unit) and (self.weight == 1).all():  # single labels: cells are drawn at once
            drawn = rng.multinomial(n_units, self.table.counts.ravel() / n_units, n)
            return drawn.reshape(n, *shape).astype(float)
        cell = self.table.row * shape[1] + self.place
        each = sparse.csr_matrix((self.weight, (self.unit, cell)), shape=(n_units, math.prod(shape)))
        times = rng.multinomial(n_units, np.full(n_units, 1 / n_units), n)
        return np.asarray((each.T @ times.T).T, dtype=float).reshape(n, *shape)


class Design(NamedTuple):
    """Standardised inputs (R, p) and persons, the penalty of both, and the way back to the judge's units."""

    z: Floats
    penalty: Floats
    own_only: bool
    centre: Floats
    spread: Floats
    persons: Persons | None = None

    def on_own_units(self, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
        """Thresholds, slopes per unit of each input, shifts."""
        p = len(self.centre)
        slopes = b[..., :p] / self.spread
        tau = 0.0 if self.persons is None else self.persons.tau
        return a + (slopes @ self.centre)[..., None], slopes, tau * b[..., p:]


def designed(sample: Folded, p: int, people: AnnotatorLogit | None, ridge: float | None, pseudo: float) -> Design:
    z, centre, spread = standardised(sample.table.x[:, :p], sample.table.counts.sum(axis=1))
    if people is not None:
        own_only, penalty = len(people.inputs_used) < p, people.ridge
    else:
        own_only, penalty = _penalty_of(sample, z, pseudo) if ridge is None else (False, float(ridge))
    z = np.where(np.arange(p) > 0, 0.0, z) if own_only else z
    if people is None:
        return Design(z, np.full(p, penalty), own_only, centre, spread)
    weak = np.concatenate([np.full(p, penalty), np.ones(len(people.shifts))])
    persons = Persons(sample.table.x[:, p].astype(np.intp), np.array(people.tau))
    return Design(z, weak, own_only, centre, spread, persons)


def persons_of(people: AnnotatorLogit | None, annotators: Labels | None, used: Any) -> Floats | None:
    """Of each label in use the place of its person in `shifts`."""
    if people is None or annotators is None:
        return None
    place = {one.annotator: number for number, one in enumerate(people.shifts)}
    names = annotators.tolist() if hasattr(annotators, "tolist") else list(annotators)
    return np.array([place[name] for name, kept in zip(names, used, strict=True) if kept], dtype=float)


def folded(labels: Sample, unit: Codes, fold: Codes, person: Floats | None) -> Folded:
    x = labels.x if person is None else np.column_stack([labels.x, person])
    table = counted(x, labels.place, len(labels.levels), labels.weight)
    return Folded(table, labels.place, labels.each_weight, unit, fold)


def rows_of(x: ArrayLike, y: ArrayLike, weights: ArrayLike | None) -> tuple[Any, Any]:
    """Which rows have a label that counts, and which of these have all inputs, too."""
    labelled = np.isfinite(check.array(y, "y"))
    labelled &= True if weights is None else check.array(weights, "weights") > 0
    return labelled, labelled & np.isfinite(inputs_of(x)).all(axis=1)


def units_and_folds(groups: Labels | None, used: Any, n_folds: int) -> tuple[Codes, Codes]:
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


def _penalty_of(sample: Folded, z: Floats, pseudo: float) -> tuple[bool, float]:
    """Whether the own score alone is best, and the penalty, as `ordered_logit` chooses them."""
    tried = chosen_ridge(Tabled(z, sample.table, sample.place, sample.unit, sample.weight), pseudo)
    best = next((one for one in tried if one.chosen), None)
    if best is None:
        return z.shape[1] > 1, reference_ridge(1)
    return len(best.inputs) < z.shape[1], best.ridge


def coarser(sample: Folded, z: Floats) -> tuple[Folded, Floats]:
    """Neighbouring scores taken together where there are very many of a single input; a thousand are as good."""
    if sample.table.x.shape[1] > 1 or len(z) <= _MANY:
        return sample, z
    part = np.arange(len(z)) * _MANY // len(z)  # rows are in order
    weight = sample.table.counts.sum(axis=1)
    counts = np.zeros((_MANY, sample.table.counts.shape[1]))
    np.add.at(counts, part, sample.table.counts)
    mean = np.bincount(part, weight * z[:, 0]) / np.bincount(part, weight)
    return sample._replace(table=Counted(mean[:, None], counts, part[sample.table.row])), mean[:, None]


def fits_of(
    sample: Folded, design: Design, pseudo: float, n_resamples: int, rng: np.random.Generator
) -> list[tuple[Floats, Floats]]:
    """Thresholds and slopes of all labels, of those without each fold, and of resampled groups."""
    counts, z, penalty = sample.table.counts, design.z, design.penalty
    a, b, _ = fitted(*with_pseudo(z, counts, pseudo), penalty, None, design.persons)
    if sample.unit.max() == 0:
        return [(a, b), (a[None], b[None]), (np.empty((0, *a.shape)), np.empty((0, *b.shape)))]
    sample, z = coarser(sample, z)
    counts = sample.table.counts

    def begun(some: Floats, extra: float | Floats) -> tuple[Floats, Floats, Floats]:
        return fitted(*with_pseudo(z, some, extra), penalty, (a, b), design.persons)

    without = begun(np.maximum(counts - sample.by_fold, 0.0), pseudo)
    step = max(1, _AT_ONCE // counts.size)
    sizes = [min(step, n_resamples - done) for done in range(0, n_resamples, step)]
    # the pseudo-label counts as an unseen one may: of labels at one end of the scale it is nearly all that varies
    unseen = [pseudo * rng.exponential(size=(n, 1, 1)) for n in sizes]
    drawn = [begun(sample.resampled(len(w), rng), w) for w in unseen]
    return [(a, b), without[:2], (np.concatenate([d[0] for d in drawn]), np.concatenate([d[1] for d in drawn]))]


def hashed(name: Any) -> str:
    """The SHA-256 of a name, which may be any text."""
    return hashlib.sha256(str(name).encode("utf-8", "surrogatepass")).hexdigest()
