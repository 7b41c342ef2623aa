"""Prediction-powered Bradley-Terry strengths: people's, from a judge on all battles and people on a few."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special

from calib.analysis.pairs import bradley_terry as bt
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels


def ppi_bradley_terry(
    a: Labels,
    b: Labels,
    judge: ArrayLike,
    labels: ArrayLike,
    *,
    groups: Labels | None = None,
    lam: float | None = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> bt.BradleyTerry:
    r"""Prediction-powered strengths: people's on a random part of the battles, a judge's on all.

    With :math:`d_i = e_{a_i} - e_{b_i}` and :math:`p_i = 1/(1 + e^{-d_i'\theta})`, people alone solve
    :math:`\sum_{labelled} (y_i - p_i) d_i = 0`. A judge's share f has such an equation of its own, and what it says of
    the rest less what it says of the labelled battles is an error of known size; the strengths solve

    .. math:: \frac{1}{n} \sum_{labelled} \big(y_i - p_i - \lambda (f_i - p_i)\big) d_i
              + \frac{\lambda}{N} \sum_{rest} (f_i - p_i) d_i = 0

    which is right for every :math:`\lambda`, however wrong the judge: with these drawn at random both sums over f
    cancel on average. Errors are the sandwich of this equation with sums over groups; :math:`\lambda` is where the sum
    of the strengths' variances is least, between 0 (people alone) and 1. A tie counts as half a win.

    Parameters
    ----------
    a, b : sequence, shape (n,)
        The two systems of each battle.
    judge, labels : array_like, shape (n,)
        The share of A by the judge (1, 0, .5 or between; battles without one are left out), and by people; NaN where
        there is none. The battles that have one must be a random part.
    groups : sequence, shape (n,), optional
        What battles share, such as the prompt.
    lam : float, optional
        The judge's weight; default: that with the least variance.
    confidence_level, rng
        As for `bradley_terry`.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453 (PPI++, for estimating equations).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.permuted(np.tile(np.arange(4), (4000, 1)), axis=1)[:, :2].T
    >>> labels = (rng.random(4000) < 1 / (1 + np.exp(0.5 * (a - b)))).astype(float)
    >>> judge = np.where(rng.random(4000) < 0.85, labels, 1 - labels)
    >>> labels[400:] = np.nan
    >>> board = ppi_bradley_terry(a, b, judge, labels)
    >>> board.system, round(board.lam, 2), round(board.width_ratio, 2)
    (('0', '1', '2', '3'), 0.58, 0.77)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    f, y = check.array(judge, "judge", ndim=1), check.array(labels, "labels", ndim=1)
    check.same_length(judge=f, labels=y)
    battles = bt.battles_of(a, b, f, groups)
    y = y[~np.isnan(f)]
    labelled = ~np.isnan(y)
    if not 0 < labelled.sum() < len(labelled):
        have = f"are of {int(labelled.sum())} of {len(labelled)}"
        raise ArgumentError("labels", "must be of some of the battles and not of all", have)
    if ((y[labelled] < 0) | (y[labelled] > 1)).any():
        raise ArgumentError("labels", "must be the share of A that wins, 0 to 1", f"got {y[labelled].max():g}")
    data = _Verdicts(battles, labelled, np.where(labelled, y, 0.0))
    if data.n_label_groups < 2:
        raise ArgumentError("labels", "must be of battles of two groups or more", "are of one")
    weight = data.best(data.solved(1.0)) if lam is None else check.array([lam], "lam")[0]
    theta = data.solved(float(weight))
    weight = data.best(theta) if lam is None else weight
    theta = data.solved(float(weight))
    covariance, ratio = data.covariance(theta, float(weight)), math.nan
    # whether people's verdicts alone tell all strengths, none without an end
    some = bt.Battles(battles.a[labelled], battles.b[labelled], y[labelled], battles.group[labelled], battles.names)
    if some.parts()[0] == 1:
        alone = data.covariance(data.solved(0.0), 0.0)
        ratio = float(np.sqrt(np.diagonal(covariance)).mean() / np.sqrt(np.diagonal(alone)).mean())
    notes = []
    if data.n_label_groups < 10:
        notes.append(f"few_groups: people's verdicts are in {data.n_label_groups} groups, and carry the intervals.")
        check.warn(notes[0])
    return bt.board(
        battles, theta, covariance, confidence, rng, notes=notes, n_free=data.n_label_groups, estimator="ppi",
        lam=float(weight), width_ratio=ratio, n_labels=int(labelled.sum()),
    )  # fmt: skip


class _Verdicts(NamedTuple):
    """Battles with the judge's share, those with people's, and these."""

    battles: bt.Battles
    labelled: NDArray[np.bool_]
    labels: Floats

    @property
    def n_label_groups(self) -> int:
        return len(np.unique(self.battles.group[self.labelled]))

    def shares(self, lam: float) -> tuple[Floats, Floats]:
        """What each battle adds to the equation: a share, and how much of its expectation is taken off."""
        n, rest = self.labelled.sum(), (~self.labelled).sum()
        share = np.where(self.labelled, (self.labels - lam * self.battles.score) / n, lam * self.battles.score / rest)
        return share, np.where(self.labelled, (1 - lam) / n, lam / rest)

    def solved(self, lam: float) -> Floats:
        share, weight = self.shares(lam)
        a, b, n, margins, ties = self.battles.by_pair(weight, share - weight / 2, np.zeros(len(share)))
        k = len(self.battles.names)
        theta = bt.newton(bt.likelihood(a, b, n, margins, ties, k=k), np.zeros(k))
        return np.asarray(theta - theta.mean())

    def parts(self, theta: Floats) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Sums of each group of what does not depend on the judge's weight, and of what it is multiplied with."""
        p = special.expit(theta[self.battles.a] - theta[self.battles.b])
        n, rest = self.labelled.sum(), (~self.labelled).sum()
        own = np.where(self.labelled, (self.labels - p) / n, 0.0)
        judged = (self.battles.score - p) * np.where(self.labelled, -1 / n, 1 / rest)
        return bt.signed_sums(self.battles, own), bt.signed_sums(self.battles, judged)

    def inverse(self, theta: Floats, lam: float) -> Floats:
        p, (_, weight) = special.expit(theta[self.battles.a] - theta[self.battles.b]), self.shares(lam)
        information = bt.laplacian(self.battles.a, self.battles.b, weight * p * (1 - p), len(theta))
        return np.asarray(np.linalg.pinv(information))

    def best(self, theta: Floats) -> float:
        """The weight with the least sum of variances."""
        own, judged = self.parts(theta)
        square = self.inverse(theta, 0.5)
        square = square @ square
        cross, alone = (float((square * (judged.T @ side).toarray()).sum()) for side in (own, judged))
        return min(max(-cross / alone, 0.0), 1.0) if alone > 0 else 0.0

    def covariance(self, theta: Floats, lam: float) -> Floats:
        own, judged = self.parts(theta)
        return bt.sandwich(self.inverse(theta, lam), own + lam * judged, self.n_label_groups)
