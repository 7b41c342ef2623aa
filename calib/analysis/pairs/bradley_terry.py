"""Bradley-Terry strengths of systems from battles: ties, groups of battles, win rates, sets of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special
from scipy.sparse import csgraph

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import units_of
from calib.core.result import ColumnarResult, Interval, bracket, short

TIES = ("auto", "davidson", "half")
_PRIOR = 1.0  # battles against an average opponent, half won, where a system won or lost all


@dataclass(frozen=True, slots=True, kw_only=True)
class BradleyTerry(ColumnarResult):
    """A leaderboard: strengths of systems on the log-odds, the strongest first.

    Attributes
    ----------
    system : tuple of str
    strength, std_error, low, high : ndarray, shape (K,)
        Log-odds against a system of average strength; clustered error; interval.
    win_rate, win_low, win_high : ndarray, shape (K,)
        Share of battles against the other systems that it would win, each as often, a tie as a half.
    rank, rank_low, rank_high : ndarray, shape (K,)
        And the set of ranks, which holds those of all systems at once as often as the confidence level says.
    n_battles : ndarray, shape (K,)
    covariance : ndarray, shape (K, K)
    tie : float
        Davidson's nu; NaN where a tie counts as half a win for each.
    estimator : {"battles", "ppi"}
        Verdicts as they are, or people's on a few battles and a judge's on all.
    lam : float
        The judge's weight; NaN without one.
    width_ratio : float
        Mean width of the intervals beside that from people alone; NaN without a judge.
    confidence_level : float
    n, n_labels, n_groups : int
        Battles, those with people's verdict where a judge has one of all, groups.
    warnings : tuple of str
    """

    system: tuple[str, ...]
    strength: Floats
    std_error: Floats
    low: Floats
    high: Floats
    win_rate: Floats
    win_low: Floats
    win_high: Floats
    rank: Codes
    rank_low: Codes
    rank_high: Codes
    n_battles: Codes
    covariance: Floats
    tie: float
    estimator: str
    lam: float
    width_ratio: float
    confidence_level: float
    n: int
    n_labels: int
    n_groups: int
    warnings: tuple[str, ...]
    _cells = "system strength std_error low high win_rate win_low win_high rank rank_low rank_high n_battles warnings"

    def interval(self, system: str) -> Interval:
        """Of the strength of one system."""
        place = self.system.index(system)
        return Interval(float(self.low[place]), float(self.high[place]))

    def _terms(self) -> dict[str, Any]:
        ties = "half" if math.isnan(self.tie) else "davidson"
        terms: dict[str, Any] = {"bradley-terry": True, "estimator": self.estimator, "ties": ties}
        terms |= {"lambda": None if math.isnan(self.lam) else self.lam, "labels": self.n_labels or None}
        return terms | {"cl": self.confidence_level, "groups": self.n_groups, "n": self.n, "systems": len(self.system)}

    def __str__(self) -> str:
        first = bracket(Interval(float(self.low[0]), float(self.high[0])), self.confidence_level)
        sure = int((self.rank_low == self.rank_high).sum())
        return (
            f"{self.system[0]} first, strength {short(float(self.strength[0]))}, {first}; the rank of {sure} of "
            f"{len(self.system)} systems is sure (n = {self.n} battles in {self.n_groups} groups)"
            f"{self._bracketed_warnings}"
        )


class Battles(NamedTuple):
    """Who met whom, and which share A won."""

    a: Codes
    b: Codes
    score: Floats
    group: Codes
    names: list[Any]

    def by_pair(self, *values: Any) -> list[Any]:
        """The two systems of each pair that met, and sums over its battles."""
        k = len(self.names)
        pair = np.asarray(self.a * k + self.b)
        at = np.flatnonzero(np.bincount(pair, minlength=k * k))
        return [at // k, at % k, *(np.asarray(np.bincount(pair, v, k * k)[at], dtype=float) for v in values)]

    def met(self, rows: Any) -> sparse.csr_matrix:
        """How often A met B in these rows, shape (K, K)."""
        k = len(self.names)
        return sparse.csr_matrix((np.ones(int(rows.sum())), (self.a[rows], self.b[rows])), shape=(k, k))

    def parts(self) -> tuple[int, Codes]:
        """How many parts of the systems won nothing from another part, or lost nothing to it, and that of each."""
        beat = self.met(self.score > 0) + self.met(self.score < 1).T
        n, part_of = csgraph.connected_components(beat, connection="strong")
        return int(n), np.asarray(part_of)


def bradley_terry(
    a: Labels,
    b: Labels,
    score: ArrayLike,
    *,
    groups: Labels | None = None,
    ties: str = "auto",
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> BradleyTerry:
    r"""Strengths of systems from battles of two, with ties by Davidson's model.

    .. math:: P(a \text{ wins}) = \frac{e^{\theta_a}}{D}, \quad P(\text{tie}) = \frac{\nu e^{(\theta_a+\theta_b)/2}}{D},
              \quad D = e^{\theta_a} + e^{\theta_b} + \nu e^{(\theta_a+\theta_b)/2}

    Errors are the sandwich :math:`H^{-1} (\sum_g s_g s_g') H^{-1}` with the sums of scores of each group, times
    G/(G-1), by t on G-1: they hold if battles on one prompt go together, and if the model is not quite right. Where
    scores are shares between 0, 1/2 and 1, or ties count as half a win, the same equations without nu. Where systems
    won all or lost all against the others ("one_sided_record"), every system is given one battle more against an
    average opponent, half won, and errors are those of the likelihood and of the sandwich together.

    Parameters
    ----------
    a, b : sequence, shape (n,)
        The two systems of each battle.
    score : array_like, shape (n,)
        1 if A wins, 0 if B wins, .5 for a tie, or a share between; NaN where there is no verdict.
    groups : sequence, shape (n,), optional
        What battles share, such as the prompt; without, battles are independent.
    ties : {"auto", "davidson", "half"}
        ``"auto"``: Davidson's model where some battles are ties and all others are won.
    confidence_level : float, default 0.95
    rng : Generator or int, optional
        Of the sets of ranks.

    References
    ----------
    Bradley and Terry (1952), Biometrika 39:324-345; Davidson (1970), Journal of the American Statistical Association
    65:317-328; Ford (1957), American Mathematical Monthly 64:28-33 (when strengths exist).

    Examples
    --------
    >>> board = bradley_terry(list("xxyyzz") * 10, list("yzxzxy") * 10, [1, 1, 0.5, 1, 0, 0.5, 1, 0, 1, 1, 0, 0] * 5)
    >>> board.system, board.strength.round(3).tolist()
    (('x', 'y', 'z'), [0.749, 0.504, -1.253])
    """
    confidence = check.probability(confidence_level, "confidence_level")
    check.choice(ties, "ties", TIES)
    battles = battles_of(a, b, score, groups)
    in_thirds = bool(np.isin(battles.score, (0.0, 0.5, 1.0)).all())
    if ties == "davidson" and not in_thirds:
        raise ArgumentError("score", "must be 0, 0.5 and 1 for Davidson's ties", "has shares between")
    with_ties = ties != "half" and in_thirds and bool((battles.score == 0.5).any())
    notes, (parts, part_of) = [], battles.parts()
    if parts > 1:  # strengths exist where each part of the systems has won something from the rest (Ford)
        apart = [str(battles.names[k]) for k in np.flatnonzero(part_of != np.bincount(part_of).argmax())]
        names = ", ".join(map(repr, apart[:4])) + (f" and {len(apart) - 4} more" if len(apart) > 4 else "")
        text = f"{names} won all or lost all against the others, so strengths have no end; each system was given one"
        notes = [f"one_sided_record: {text} battle more against an average opponent, half won."]
        check.warn(notes[0])
    prior, k = _PRIOR if notes else 0.0, len(battles.names)
    each = np.ones(len(battles.score)), battles.score - 0.5, battles.score == 0.5
    slopes = likelihood(*battles.by_pair(*each), k=k, prior=prior)
    ends = newton(slopes, np.zeros(k + with_ties))
    theta, eta = ends[:k] - ends[:k].mean(), ends[k:]
    margin, tied = _expected(theta[battles.a] - theta[battles.b], eta)[:2]
    scores = signed_sums(battles, battles.score - 0.5 - margin)
    if with_ties:
        ties_off = np.bincount(battles.group, (battles.score == 0.5) - tied)
        scores = sparse.csr_matrix(sparse.hstack([scores, sparse.csr_matrix(ties_off[:, None])]))
    inverse = np.asarray(np.linalg.pinv(slopes(np.r_[theta, eta])[1]), dtype=float)
    # a strength without an end is pulled in by the prior, of which the sandwich knows nothing
    spread = sandwich(inverse, scores, scores.shape[0]) + (inverse if prior else 0.0)
    centre = np.eye(k) - 1 / k
    covariance = centre @ spread[:k, :k] @ centre
    tie = float(np.exp(eta[0])) if with_ties else math.nan
    return board(battles, theta, covariance, confidence, rng, tie=tie, notes=notes)


def board(
    battles: Battles, theta: Floats, covariance: Floats, confidence: float, rng: Any, *, tie: float = math.nan,
    notes: list[str], n_free: int | None = None,
    estimator: str = "battles", lam: float = math.nan, width_ratio: float = math.nan, n_labels: int = 0,
) -> BradleyTerry:  # fmt: skip
    """The result, the strongest first."""
    order = np.argsort(-theta, kind="stable")
    theta, covariance = theta[order] - theta.mean(), covariance[np.ix_(order, order)]
    g, error = int(battles.group.max()) + 1, np.sqrt(np.diagonal(covariance))
    half = float(special.stdtrit((n_free or g) - 1, (1 + confidence) / 2)) * error
    low, high = theta - half, theta + half
    ranks = rank_sets(theta, covariance, confidence_level=confidence, rng=rng)
    met = np.bincount(battles.a, minlength=len(theta)) + np.bincount(battles.b, minlength=len(theta))
    # share of battles won against each of the other systems equally often, a tie as a half
    apart, nu = np.stack([theta, low, high])[:, :, None] - theta, 0.0 if math.isnan(tie) else tie
    win, lose = np.exp(apart / 2), np.exp(-apart / 2)
    rates = (win + nu / 2) / (win + lose + nu) * ~np.eye(len(theta), dtype=bool)
    rate, worst, best = rates.sum(axis=2) / (len(theta) - 1)
    return BradleyTerry(
        system=tuple(str(battles.names[k]) for k in order), strength=theta, std_error=error, low=low, high=high,
        win_rate=rate, win_low=worst, win_high=best, rank=ranks.rank, rank_low=ranks.low, rank_high=ranks.high,
        n_battles=met[order], covariance=covariance, tie=tie, estimator=estimator, lam=lam, width_ratio=width_ratio,
        confidence_level=confidence, n=len(battles.score), n_labels=n_labels, n_groups=g, warnings=tuple(notes),
    )  # fmt: skip


def battles_of(a: Labels, b: Labels, score: ArrayLike, groups: Labels | None) -> Battles:
    """Battles with a verdict, of systems that met."""
    share = check.array(score, "score", ndim=1)
    check.same_length(score=share, a=a, b=b, groups=groups)
    names = [name for side in (a, b) for name in (side.tolist() if hasattr(side, "tolist") else side)]
    codes = check.codes(names, "a")
    first, second = codes[: len(share)], codes[len(share) :]
    kept = ~np.isnan(share)
    if (off := kept & ((share < 0) | (share > 1))).any():
        row = int(off.argmax())
        raise ArgumentError("score", "must be the share of A that wins, 0 to 1", f"got {share[row]:g} at {row}")
    if (same := first == second).any():
        row = int(same.argmax())
        raise ArgumentError("b", "must be another system than {0}", f"is {names[row]!r} at {row}", mentions=("a",))
    used, both = np.unique(np.r_[first[kept], second[kept]], return_inverse=True)
    labels, n = [*dict.fromkeys(names)], int(kept.sum())
    battles = Battles(both[:n], both[n:], share[kept], units_of(groups, kept), [labels[k] for k in used])
    if len(battles.names) < 2:
        raise ArgumentError("score", "must have battles of two systems or more", f"has {len(battles.names)}")
    if battles.group.max() < 1:
        raise ArgumentError("groups", "must be two or more", "all battles are in one")
    parts, part_of = csgraph.connected_components(battles.met(battles.score >= 0), directed=False)
    if parts > 1:
        one, other = (str(battles.names[np.flatnonzero(part_of == part)[0]]) for part in range(2))
        pair = f"{one!r} and {other!r} never did"
        raise ArgumentError("b", "must meet {0}, if only by way of others", pair, mentions=("a",))
    return battles


def newton(slopes: Callable[[Floats], tuple[Floats, Floats]], start: Floats) -> Floats:
    """Where the gradient is 0, from the gradient and the information at a place; steps are cut where they are long."""
    at = start
    for _ in range(100):
        gradient, information = slopes(at)
        step = np.linalg.pinv(information) @ gradient
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        at = at + step
        if np.abs(step).max() < 1e-10:
            break
    return at


def _expected(apart: Floats, eta: Floats) -> tuple[Floats, Floats, Floats]:
    """Of each battle half the wins less losses of A, the chance of a tie, and the variance of the first.

    `eta` is the logarithm of nu, empty where there are no ties.
    """
    win, lose, nu = np.exp(apart / 2), np.exp(-apart / 2), np.exp(eta).sum()
    won, lost, tied = (each / (win + lose + nu) for each in (win, lose, nu))
    margin = (won - lost) / 2
    return margin, tied, (won + lost) / 4 - margin**2


def likelihood(
    a: Codes, b: Codes, n: Floats, margins: Floats, ties: Floats, *, k: int, prior: float = 0.0
) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Gradient of the log-likelihood in the strengths, with ties and in log nu, and the information, at a place.

    Of each pair: how many battles, the sum of margins of A (score less a half), and ties.
    """

    def slopes(at: Floats) -> tuple[Floats, Floats]:
        theta, eta = at[:k], at[k:]
        margin, tied, variance = _expected(theta[a] - theta[b], eta)
        off, across = margins - n * margin, -n * margin * tied
        gradient, beside = (np.bincount(a, each, k) - np.bincount(b, each, k) for each in (off, across))
        gradient = gradient + prior * (0.5 - special.expit(theta))
        information = laplacian(a, b, n * variance, k)
        information += prior * np.diag(special.expit(theta) * special.expit(-theta))
        if not len(eta):
            return gradient, information
        corner = np.array([[(n * tied * (1 - tied)).sum()]])
        information = np.block([[information, beside[:, None]], [beside[None], corner]])
        return np.r_[gradient, (ties - n * tied).sum()], information

    return slopes


def laplacian(a: Codes, b: Codes, weight: Floats, k: int) -> Floats:
    """Sum of weight (e_a - e_b)(e_a - e_b)' over battles."""
    off = np.bincount(a * k + b, weight, k * k).reshape(k, k)
    off = off + off.T
    return np.diag(off.sum(axis=1)) - off


def signed_sums(battles: Battles, values: Floats) -> sparse.csr_matrix:
    """Values added for A and taken from B, in the row of their group: shape (G, K)."""
    shape = int(battles.group.max()) + 1, len(battles.names)
    where = np.r_[battles.group, battles.group], np.r_[battles.a, battles.b]
    return sparse.csr_matrix((np.r_[values, -values], where), shape=shape)


def sandwich(inverse: Floats, scores: sparse.csr_matrix, n_groups: int) -> Floats:
    """G/(G-1) H^-1 (sum of s_g s_g') H^-1, with sums of scores in a row for each group."""
    return np.asarray(n_groups / (n_groups - 1) * inverse @ (scores.T @ scores).toarray() @ inverse)


# --- ranks ------------------------------------------------------------------------------------------------------


_SIMULATED, _SIMULATED_AT_ONCE = 5_000, 200  # draws of all estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSets(ColumnarResult):
    """Ranks of estimates, 1 the highest, with sets that hold all true ranks at once.

    Attributes
    ----------
    estimate : ndarray, shape (K,)
    rank, low, high : ndarray, shape (K,)
        Its rank, and the best and the worst that it may have.
    critical : float
        Standard errors by which two must differ to be told apart.
    confidence_level : float
    """

    estimate: Floats
    rank: Codes
    low: Codes
    high: Codes
    critical: float
    confidence_level: float
    _cells = "estimate rank low high"

    def _terms(self) -> dict[str, Any]:
        return {"ranks": len(self.rank), "max-t": self.critical, "cl": self.confidence_level}

    def __str__(self) -> str:
        sure = int((self.low == self.high).sum())
        return f"the rank of {sure} of {len(self.rank)} is sure at {100 * self.confidence_level:g} %, all at once"


def rank_sets(
    estimates: ArrayLike,
    covariance: ArrayLike,
    *,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> RankSets:
    r"""Sets of ranks that hold all true ranks at once.

    Two are told apart if they differ by more than c standard errors of their difference, where c is the quantile of
    the largest such ratio over all pairs (normal, with the given covariance, drawn 5,000 times). The best rank that j
    may have is one more than the number told above it, the worst K less the number told below.

    Parameters
    ----------
    estimates : array_like, shape (K,)
    covariance : array_like, shape (K, K)
    confidence_level : float, default 0.95
    rng : Generator or int, optional

    References
    ----------
    Klein, Wright and Wieczorek (2020), Journal of the Royal Statistical Society A 183:589-606; Mogstad, Romano, Shaikh
    and Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> import numpy as np
    >>> sets = rank_sets([2.0, 1.0, 0.9], 0.01 * np.eye(3))
    >>> sets.rank.tolist(), sets.low.tolist(), sets.high.tolist()
    ([1, 2, 3], [1, 2, 2], [1, 3, 3])
    """
    confidence = check.probability(confidence_level, "confidence_level")
    at, spread = check.array(estimates, "estimates", ndim=1), check.array(covariance, "covariance", ndim=2)
    if spread.shape != (len(at), len(at)):
        raise ArgumentError("covariance", f"must have shape {(len(at), len(at))}", f"got {spread.shape}")
    variance = np.diagonal(spread)[:, None] + np.diagonal(spread) - 2 * spread
    error = np.sqrt(np.maximum(variance, 0))
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    above, source = np.triu_indices(len(spread), 1), np.random.default_rng(rng)
    scale, largest = 1 / np.maximum(error[above], 1e-300), []
    for start in range(0, _SIMULATED, _SIMULATED_AT_ONCE):
        drawn = source.standard_normal((min(_SIMULATED_AT_ONCE, _SIMULATED - start), len(spread))) @ root.T
        largest.append((np.abs(drawn[:, above[0]] - drawn[:, above[1]]) * scale).max(axis=1))
    critical = float(np.quantile(np.concatenate(largest), confidence))
    apart = at[:, None] - at > critical * error
    np.fill_diagonal(apart, val=False)
    rank = 1 + (at[None] > at[:, None]).sum(axis=1)
    low, high = 1 + apart.sum(axis=0), len(at) - apart.sum(axis=1)
    return RankSets(estimate=at, rank=rank, low=low, high=high, critical=critical, confidence_level=confidence)
