"""How strong a penalty, and the judge's own score or all inputs: chosen by cross-validation over documents."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calib.analysis.calibration.proportional_odds import Counted, chances, fitted, standardised, with_pseudo
from calib.core.check import Codes, Floats

_TENTHS, _FEWEST, _PLENTY = 10, 5, 1000  # of groups: folds of them, too few for folds, so many that no penalty is felt
_FACTORS = (0.25, 1.0, 4.0, 16.0)  # of the reference penalty
_MOST_RIDGE = 20.0
_CLEAR = 2.0  # standard errors by which another penalty must forecast better


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
    return min(float(n_inputs), _MOST_RIDGE)


def chosen_ridge(labels: Tabled, pseudo: float) -> tuple[RidgeCandidate, ...]:
    """The candidates, one of them chosen; none where groups are too few for folds, or nothing is to be chosen.

    First the inputs, each with its reference penalty: the first alone, unless all forecast labels of other groups
    with a better log score. Then the penalty of these: the reference, unless another is better by two standard errors
    of the difference, groups being independent. With few labels a minimum over many penalties follows noise: on
    SummEval it lost up to .02 of skill against the reference, this rule none.
    """
    n_groups = int(labels.unit.max()) + 1
    sets = sorted({(0,), tuple(range(labels.z.shape[1]))}, key=len)
    factors = _FACTORS if n_groups < _PLENTY else (1.0,)
    if n_groups < _FEWEST or len(sets) * len(factors) == 1:
        return ()
    tried = [(inputs, factor * reference_ridge(len(inputs))) for inputs in sets for factor in factors]
    fold = dealt(labels, _TENTHS if n_groups < _PLENTY else _TENTHS // 2)
    held = labels.held_out(fold)
    losses = np.array([left_out_losses(labels, fold, held, inputs, ridge, pseudo) for inputs, ridge in tried])
    by_group = np.array([np.bincount(labels.unit, one) for one in losses[:, 0]])
    taken = _chosen(by_group, len(factors), factors.index(1.0))
    means = losses.sum(axis=2) / labels.weight.sum()
    return tuple(
        RidgeCandidate(inputs, ridge, float(log), float(rps), i == taken)
        for i, ((inputs, ridge), (log, rps)) in enumerate(zip(tried, means, strict=True))
    )


def _chosen(losses: Floats, n_factors: int, reference: int) -> int:
    """The place of the chosen candidate: best set of inputs at its reference, then a clearly better penalty."""
    total = losses.sum(axis=1)
    first = int(np.argmin(total[reference::n_factors])) * n_factors
    known = first + reference
    best = first + int(np.argmin(total[first : first + n_factors]))
    gain = losses[known] - losses[best]
    error = np.sqrt(len(gain)) * gain.std(ddof=1)
    return best if gain.sum() > _CLEAR * error else known


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


def left_out_losses(
    labels: Tabled, fold: Codes, held: Floats, inputs: Sequence[int], ridge: float, pseudo: float
) -> tuple[Floats, Floats]:
    """Log score and RPS of each label, times its weight, by the fit to the other folds."""
    z = labels.z[:, list(inputs)]
    a, b, _ = fitted(*with_pseudo(z, labels.table.counts - held, pseudo), np.full(len(inputs), ridge))
    at = np.einsum("ij,ij->i", z[labels.table.row], b[fold])
    log, rps = losses_of(chances(a[fold], at), labels.place)
    return labels.weight * log, labels.weight * rps


def losses_of(p: Floats, place: Codes) -> tuple[Floats, Floats]:
    """Log score in nats and ranked probability score of forecasts (n, K) of labels at these places."""
    log = -np.log(p[np.arange(len(place)), place])
    reached = place[:, None] <= np.arange(p.shape[1] - 1)
    return log, np.asarray(np.mean((np.cumsum(p, axis=1)[:, :-1] - reached) ** 2, axis=1))


# --- how sure an unpenalised ordered logit is -------------------------------------------------------------------------


def covariance_of(x: Floats, place: Codes, thresholds: Floats, slopes: Floats, unit: Codes | None) -> Floats:
    """Of thresholds and slopes, at the maximum of the likelihood; `unit` is the cluster of each label.

    statsmodels differentiates by steps in its parameters, so that it is given inputs of size 1.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    z, centre, spread = standardised(x, np.ones(len(x)))
    gaps = np.diff(thresholds)
    best = np.concatenate([slopes * spread, thresholds[:1] - slopes @ centre, np.log(gaps)])
    clustered = {} if unit is None else {"cov_type": "cluster", "cov_kwds": {"groups": unit}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no step was made
        found = OrderedModel(place, z, distr="logit").fit(
            start_params=best, method="bfgs", maxiter=0, disp=0, **clustered
        )
    turn = _turned(gaps, centre, spread)
    return np.asarray(turn @ found.cov_params() @ turn.T)


def _turned(gaps: Floats, centre: Floats, spread: Floats) -> Floats:
    """Derivatives of thresholds and slopes in statsmodels' (standardised slopes, first threshold, log gaps)."""
    p, last = len(centre), len(gaps) + 1
    turn = np.zeros((last + p, p + last))
    turn[:last, :p] = centre / spread
    turn[:last, p] = 1.0
    turn[:last, p + 1 :] = np.tril(np.ones((last, last - 1)), -1) * gaps
    turn[last:, :p] = np.diag(1 / spread)
    return turn
