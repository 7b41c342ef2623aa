"""Proportional odds fitted to tables of counts, with shifts of persons, and the penalty chosen by cross-validation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from calib.core.check import Codes, Floats

_STEPS, _SHORTER, _LONGEST = 200, 30, 4.0  # Newton's steps and halvings of one at most; the longest, in log-odds
_SMALL = 1e-10  # gain in log-likelihood that is none
_WIDE = 700.0  # thresholds this far apart are apart: exp(-700) is the smallest number, nearly
_TENTHS, _FEWEST, _PLENTY = 10, 5, 1000  # of groups: folds of them, too few for folds, so many that no penalty is felt


class Persons(NamedTuple):
    """Whose labels each row of a table has, and how far shifts are spread.

    A shift is tau v, with v penalised as a standard normal, so that tau = 0 is a value like any other. One more row,
    of pseudo-labels, is nobody's.
    """

    row: Codes  # (R,), from 0 to J - 1
    tau: Floats  # (...)


class Arrow(NamedTuple):
    """A symmetric matrix: a block that is dense, and a diagonal of persons, each of whom is tied to the block alone."""

    head: Floats  # (..., h, h)
    side: Floats  # (..., J, h)
    own: Floats  # (..., J)

    def solved(self, right: Floats) -> Floats:
        """The solution for (..., h + J), by way of the block."""
        if not self.own.shape[-1]:
            return np.asarray(np.linalg.solve(self.head, right[..., None])[..., 0])
        h = self.head.shape[-1]
        share = self.side / self.own[..., None]
        block, persons = right[..., :h], right[..., h:]
        left = block - (persons[..., None, :] @ share)[..., 0, :]
        first = np.linalg.solve(self._schur, left[..., None])
        rest = persons / self.own - (share @ first)[..., 0]
        return np.concatenate([first[..., 0], rest], axis=-1)

    @property
    def log_determinant(self) -> Floats:
        return np.asarray(np.linalg.slogdet(self._schur)[1] + np.log(self.own).sum(axis=-1))

    @property
    def variances(self) -> Floats:
        """Variances of the persons: their part of the diagonal of the inverse, (..., J)."""
        share = self.side / self.own[..., None]
        return np.asarray(1 / self.own + ((share @ np.linalg.inv(self._schur)) * share).sum(axis=-1))

    @property
    def _schur(self) -> Floats:
        """The Schur complement: the block without what the persons take of it."""
        return np.asarray(self.head - np.swapaxes(self.side, -1, -2) @ (self.side / self.own[..., None]))


# --- the table of counts ----------------------------------------------------------------------------------------------


class Counted(NamedTuple):
    """Distinct inputs (R, p), how often each came with each label (R, K), and the row of each label."""

    x: Floats
    counts: Floats
    row: Codes

    def of_parts(self, part: Codes, n_parts: int, place: Codes, weight: Floats | None = None) -> Floats:
        """The counts of each part of the labels, such as a fold, (n_parts, R, K)."""
        shape = (n_parts, *self.counts.shape)
        cell = np.ravel_multi_index((part, self.row, place), shape)
        return np.bincount(cell, weight, minlength=math.prod(shape)).reshape(shape).astype(float)


def counted_rows(x: Floats, place: Codes, n_levels: int, weight: Floats | None = None) -> Counted:
    """The table that a fit needs: a judge of few values has few rows, however many labels there are."""
    distinct, row = distinct_rows(x)
    cell = row * n_levels + place
    counts = np.bincount(cell, weight, minlength=len(distinct) * n_levels).reshape(-1, n_levels)
    return Counted(distinct, counts.astype(float), row)


def distinct_rows(x: Floats) -> tuple[Floats, Codes]:
    """Distinct rows of (n, p) in ascending order, and which of them each row is."""
    if x.shape[1] > 1:
        values, row = np.unique(x, axis=0, return_inverse=True)
        return values, row.ravel()  # numpy 2.0 gives it another shape
    values, row = np.unique(x[:, 0], return_inverse=True)
    return values[:, None], row


def standardised(x: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Inputs with mean 0 and spread 1 over the labels, their mean and spread (1 for a constant one)."""
    size = np.abs(x).max(axis=0, initial=0.0)
    size = np.where(size > 1e-290, size, 1.0)
    centre = np.average(x / size, axis=0, weights=weight)
    apart = x / size - centre
    spread = np.sqrt(np.average(apart**2, axis=0, weights=weight))
    varies = spread > 1e-12
    spread = np.where(varies, spread, 1.0)
    return np.where(varies, apart / spread, 0.0), centre * size, np.where(varies, spread * size, 1.0)


def with_pseudo(z: Floats, counts: Floats, pseudo: float | Floats) -> tuple[Floats, Floats]:
    """One more row at the mean input, with `pseudo` labels spread evenly over the levels."""
    centre = np.zeros((*z.shape[:-2], 1, z.shape[-1]))
    labels = np.full((*counts.shape[:-2], 1, counts.shape[-1]), pseudo / counts.shape[-1])
    return np.concatenate([z, centre], axis=-2), np.concatenate([counts, labels], axis=-2)


def chances(a: Floats, at: Floats) -> Floats:
    """Probability of each level (..., K) where the log-odds of a higher label are `at` (...): never quite 0."""
    eta = a - at[..., None]
    apart = -np.expm1(-np.diff(a, axis=-1))
    one = np.ones((*eta.shape[:-1], 1))
    reached, left = np.concatenate([special.expit(eta), one], -1), np.concatenate([one, special.expit(-eta)], -1)
    return np.asarray(reached * left * np.concatenate([one, np.broadcast_to(apart, eta[..., 1:].shape), one], -1))


# --- the fit ----------------------------------------------------------------------------------------------------------


@np.errstate(all="ignore")  # BLAS leaves flags behind that mean nothing
def fitted(
    z: Floats, counts: Floats, penalty: Floats, start: tuple[Floats, Floats] | None = None,
    persons: Persons | None = None,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    r"""Thresholds (..., K - 1) and slopes (..., p) of highest penalised log-likelihood, and that, for many tables.

    z: (..., R, p), of size about 1; counts: (..., R, K), not negative; penalty: (..., p). With J `persons` the slopes
    are followed by their v, which have penalties, too: (..., p + J). With the number of labels N_k of level k,
    :math:`D_k = a_k - a_{k-1}` and :math:`\eta_{rk} = a_k - b' z_r` (less the shift of a person) the log-likelihood is

    .. math:: \sum_{k=2}^{K-1} N_k \log(1 - e^{-D_k})
              + \sum_{r} \sum_{k=1}^{K-1} n_{rk} \log \sigma(\eta_{rk}) + n_{r,k+1} \log \sigma(-\eta_{rk}),

    less :math:`\sum_j \lambda_j b_j^2 / 2`, since :math:`p_k = \sigma(\eta_k) \sigma(-\eta_{k-1}) (1 - e^{-D_k})`: a
    logistic regression at each threshold and a term that keeps these apart. All of it is concave (Pratt 1981, Burridge
    1981), so that Newton's steps, shortened where they are too long, arrive. Where there is no end (an unpenalised
    slope that separates the labels, a level without any) they stop once nothing is gained.
    """
    problem = z, counts, penalty, persons
    spread = () if persons is None else persons.tau.shape
    shape = np.broadcast_shapes(z.shape[:-2], counts.shape[:-2], penalty.shape[:-1], spread)
    if start is None:  # thresholds of the labels' shares without any slope; those of absent levels a little apart
        labels = counts.sum(axis=-2)
        labels = labels + 1e-6 * labels.sum(axis=-1, keepdims=True) + 1e-9
        below = np.cumsum(labels, axis=-1)[..., :-1]
        start = np.log(below / (labels.sum(axis=-1, keepdims=True) - below)), np.zeros(penalty.shape[-1])
    at = np.concatenate([np.broadcast_to(part, (*shape, part.shape[-1])) for part in start], axis=-1)
    value = _penalised(at, *problem)
    for _ in range(_STEPS):
        step = newton_step(at, *problem)
        # each table's step, halved until it is no loss; where it always is, no step
        size = np.minimum(1.0, _LONGEST / np.maximum(np.abs(step).max(axis=-1), 1e-300))
        for _ in range(_SHORTER):
            there = at + size[..., None] * step
            new = _penalised(there, *problem)
            loss = ~(new >= value - 1e-13 * np.abs(value))
            if not loss.any():
                break
            size = np.where(loss, size / 2, size)
        at, new = np.where(loss[..., None], at, there), np.where(loss, value, new)
        gain, value = new - value, new
        if (gain <= _SMALL).all():
            break
    a, b = _split(at, counts)
    return a, b, value


def _split(at: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Thresholds and slopes."""
    last = counts.shape[-1] - 1
    return at[..., :last], at[..., last:]


def _penalised(at: Floats, z: Floats, counts: Floats, penalty: Floats, persons: Persons | None) -> Floats:
    """Log-likelihood less the penalty; minus infinity where thresholds are not ascending."""
    a, b = _split(at, counts)
    value = log_likelihood(a, b, z, counts, persons) - (penalty * b**2).sum(axis=-1) / 2
    return np.where((a[..., 1:] > a[..., :-1]).all(axis=-1), value, -np.inf)


def log_likelihood(a: Floats, b: Floats, z: Floats, counts: Floats, persons: Persons | None = None) -> Floats:
    """Log-likelihood of the labels; the formula stands with `fitted`."""
    eta = _log_odds(a, b, z, persons)
    sides = counts[..., :-1] * special.log_expit(eta) + counts[..., 1:] * special.log_expit(-eta)
    gap = np.clip(np.diff(a, axis=-1), 1e-300, _WIDE)
    apart = counts.sum(axis=-2)[..., 1:-1] * np.log(-np.expm1(-gap))
    return np.asarray(sides.sum(axis=(-2, -1)) + apart.sum(axis=-1))


def _log_odds(a: Floats, b: Floats, z: Floats, persons: Persons | None) -> Floats:
    """Log-odds of a label up to each level but the last, (..., R, K - 1)."""
    p = z.shape[-1]
    at = (z @ b[..., :p, None])[..., 0]
    if persons is not None:
        shift = persons.tau[..., None] * b[..., p:]
        at = at + np.concatenate([shift[..., persons.row], np.zeros((*shift.shape[:-1], 1))], axis=-1)
    return a[..., None, :] - at[..., None]


def newton_step(at: Floats, z: Floats, counts: Floats, penalty: Floats, persons: Persons | None = None) -> Floats:
    gradient, information = derivatives(*_split(at, counts), z, counts, penalty, persons)
    return information.solved(gradient)


def derivatives(
    a: Floats, b: Floats, z: Floats, counts: Floats, penalty: Floats, persons: Persons | None = None
) -> tuple[Floats, Arrow]:
    """Gradient, and the negative of the matrix of second derivatives, in thresholds, slopes and v of persons.

    A trace on its diagonal keeps steps finite where there are too few labels to decide a direction.
    """
    p, eye = z.shape[-1], np.eye(a.shape[-1])
    # first and second derivatives of the labels in the log-odds of each row and level
    share = special.expit(_log_odds(a, b, z, persons))
    below, above = counts[..., :-1], counts[..., 1:]
    pull, bend = below - (below + above) * share, (below + above) * share * (1 - share)
    # those of the term that keeps thresholds apart; a gap is the difference of two thresholds
    gap, ends = np.clip(np.diff(a, axis=-1), 1e-100, _WIDE / 2), np.diff(eye, axis=0)
    push = counts.sum(axis=-2)[..., 1:-1] / np.expm1(gap)
    apart = np.swapaxes(ends, 0, 1) @ ((push / -np.expm1(-gap))[..., None] * ends)
    row_pull, weight, zt = pull.sum(axis=-1)[..., None], bend.sum(axis=-1)[..., None], np.swapaxes(z, -1, -2)
    parts = [pull.sum(axis=-2) + push @ ends, -(zt @ row_pull)[..., 0] - penalty[..., :p] * b[..., :p]]
    cross = -(zt @ bend)
    of_thresholds = bend.sum(axis=-2)[..., None] * eye + apart
    of_slopes = zt @ (weight * z) + penalty[..., :p, None] * np.eye(p)
    blocks = [
        np.concatenate([of_thresholds, np.swapaxes(cross, -1, -2)], axis=-1),
        np.concatenate([cross, np.broadcast_to(of_slopes, (*cross.shape[:-1], p))], axis=-1),
    ]
    head = np.concatenate(blocks, axis=-2)
    diagonal = np.einsum("...ii->...i", head)
    most = diagonal.max(axis=-1)
    if persons is None:
        side, own = head[..., :0, :], head[..., 0, :0]
    else:
        # sums over each person's rows
        n, tau = len(persons.row), persons.tau[..., None]
        whose = sparse.csr_matrix((np.ones(n), (persons.row, np.arange(n))), shape=(int(persons.row.max()) + 1, n))
        values = np.concatenate([row_pull, weight, -bend, weight * z], axis=-1)
        first = np.moveaxis(values[..., :-1, :], -2, 0)
        sums = np.moveaxis((whose @ first.reshape(n, -1)).reshape(-1, *first.shape[1:]), 0, -2)
        parts.append(-penalty[..., p:] * b[..., p:] - tau * sums[..., 0])
        side, own = tau[..., None] * sums[..., 2:], penalty[..., p:] + tau**2 * sums[..., 1]
        most = np.maximum(most, own.max(axis=-1))
    trace = 1e-11 * most[..., None] + 1e-12
    diagonal += trace
    return np.concatenate(parts, axis=-1), Arrow(head, side, own + trace if own.shape[-1] else own)


# --- how strong a penalty, and the first input or all: chosen by cross-validation over documents ----------------------


class RidgeCandidate(NamedTuple):
    """A set of inputs and a penalty that were tried, and how well they forecast labels of other groups.

    Attributes
    ----------
    inputs : tuple of int
        Places of the inputs.
    ridge : float
        Penalty of their standardised slopes.
    log_score, rps : float
        Mean of -log(probability of the label that came), in nats, and mean ranked probability score, both less is
        better, of labels of groups that were left out of the fit.
    chosen : bool
    """

    inputs: tuple[int, ...]
    ridge: float
    log_score: float
    rps: float
    chosen: bool


class Tabled(NamedTuple):
    """What the choice sees: standardised inputs of each row of a table, and row, level, group, weight of each label."""

    z: Floats
    table: Counted
    place: Codes
    unit: Codes
    weight: Floats

    def held_out(self, fold: Codes) -> Floats:
        """The counts of each fold."""
        return self.table.of_parts(fold, int(fold.max()) + 1, self.place, self.weight)


def reference_ridge(n_inputs: int) -> float:
    r"""The penalty that is taken where labels do not clearly ask for another: as many as inputs, 20 at most.

    Each standardised slope then has a prior with a spread of 1, of :math:`1 / \sqrt{p}` where inputs are several.
    """
    return min(float(n_inputs), 20.0)


def chosen_ridge(labels: Tabled, pseudo: float) -> tuple[RidgeCandidate, ...]:
    """The candidates, one of them chosen; none where groups are too few for folds, or nothing is to be chosen.

    First the inputs, each with its reference penalty: the first alone, unless all forecast labels of other groups
    with a better log score. Then the penalty of these: the reference, unless another is better by two standard errors
    of the difference, groups being independent: with few labels a minimum over many penalties follows noise.
    """
    n_groups = int(labels.unit.max()) + 1
    sets = sorted({(0,), tuple(range(labels.z.shape[1]))}, key=len)
    factors = (0.25, 1.0, 4.0, 16.0) if n_groups < _PLENTY else (1.0,)  # of the reference penalty
    if n_groups < _FEWEST or len(sets) * len(factors) == 1:
        return ()
    tried = [(inputs, factor * reference_ridge(len(inputs))) for inputs in sets for factor in factors]
    fold = dealt(labels, _TENTHS if n_groups < _PLENTY else _TENTHS // 2)
    others = labels.table.counts - labels.held_out(fold)
    losses = np.empty((len(tried), 2, len(fold)))
    for place, (inputs, ridge) in enumerate(tried):
        z = labels.z[:, list(inputs)]
        a, b, _ = fitted(*with_pseudo(z, others, pseudo), np.full(len(inputs), ridge))
        at = np.einsum("ij,ij->i", z[labels.table.row], b[fold])
        losses[place] = np.multiply(labels.weight, losses_of(chances(a[fold], at), labels.place))
    by_group = np.array([np.bincount(labels.unit, log) for log in losses[:, 0]])
    total, n, reference = by_group.sum(axis=1), len(factors), factors.index(1.0)
    first = int(np.argmin(total[reference::n])) * n
    best, chosen = first + int(np.argmin(total[first : first + n])), first + reference
    gain = by_group[chosen] - by_group[best]
    if gain.sum() > 2 * np.sqrt(len(gain)) * gain.std(ddof=1):
        chosen = best
    means = losses.sum(axis=2) / labels.weight.sum()
    return tuple(
        RidgeCandidate(inputs, ridge, float(log), float(rps), i == chosen)
        for i, ((inputs, ridge), (log, rps)) in enumerate(zip(tried, means, strict=True))
    )


def dealt(labels: Tabled, folds: int, deal: int = 0) -> Codes:
    """The fold of each label: groups are sorted by their labels and inputs, then shuffled and dealt out like cards.

    So folds do not depend on the order of rows. They are not made alike: shares of alike folds forecast each other
    better than they forecast a new sample.
    """
    size = np.bincount(labels.unit)
    columns = [*labels.z[labels.table.row].T[::-1], labels.place]
    keys = [np.round(np.bincount(labels.unit, column) / size, 9) for column in columns]
    fold = np.empty(len(size), dtype=np.intp)
    fold[np.lexsort(keys)] = np.random.default_rng(deal).permutation(len(size)) % min(folds, len(size))
    return fold[labels.unit]


def losses_of(p: Floats, place: Codes) -> tuple[Floats, Floats]:
    """Log score in nats and ranked probability score of forecasts (n, K) of labels at these places."""
    log = -np.log(p[np.arange(len(place)), place])
    reached = place[:, None] <= np.arange(p.shape[1] - 1)
    return log, np.asarray(np.mean((np.cumsum(p, axis=1)[:, :-1] - reached) ** 2, axis=1))
