"""Bradley and Terry's strengths of systems from battles, with ties, clusters, ranks; from people, a judge, or both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special
from scipy.sparse import csgraph

from calib.analysis.pairs.rank_sets import rank_sets
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Columns, Interval, bracket, short

TIES = ("auto", "davidson", "half")
_STEPS, _CLOSE = 100, 1e-10
_PRIOR = 1.0  # battles against an average opponent, half won, where a system won or lost all
_NAMED = 4  # systems in a warning


@dataclass(frozen=True, slots=True, kw_only=True)
class BradleyTerry(Columns):
    """A leaderboard: strengths of systems on the log-odds, the strongest first.

    Attributes
    ----------
    system : tuple of str
    strength, std_error, low, high : ndarray, shape (K,)
        Log-odds against a system of average strength; clustered error; interval.
    win_rate, win_low, win_high : ndarray, shape (K,)
        Share of battles against the other systems that it would win, each as often, a tie as a half; the ends are those
        of the strength.
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
    n, n_gold, n_groups : int
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
    n_gold: int
    n_groups: int
    warnings: tuple[str, ...]
    _cells = "system strength std_error low high win_rate win_low win_high rank rank_low rank_high n_battles warnings"

    def interval(self, system: str) -> Interval:
        """Of the strength of one system."""
        place = self.system.index(system)
        return Interval(float(self.low[place]), float(self.high[place]))

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"bradley-terry": True, "estimator": self.estimator, "ties": self._of_ties}
        terms |= {"lambda": None if math.isnan(self.lam) else self.lam, "gold": self.n_gold or None}
        return terms | {"cl": self.confidence_level, "groups": self.n_groups, "n": self.n, "systems": len(self.system)}

    @property
    def _of_ties(self) -> str:
        return "half" if math.isnan(self.tie) else "davidson"

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

    @property
    def pair(self) -> Codes:
        return np.asarray(self.a * len(self.names) + self.b)

    def only(self, rows: Any) -> Battles:
        return Battles(self.a[rows], self.b[rows], self.score[rows], self.group[rows], self.names)


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
    scores are shares between 0, 1/2 and 1, or ties count as half a win, the same equations without nu.

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

    Returns
    -------
    BradleyTerry

    Raises
    ------
    ValueError
        If there are fewer than two systems or groups, a system meets itself, a score is no share, or systems fall into
        parts that never met.

    Warns
    -----
    CalibWarning
        "one_sided_record": systems that won all or lost all against the others, whose strengths have no end; every
        system is then given one battle more against an average opponent, half won, and errors are those of the
        likelihood and of the sandwich together.

    References
    ----------
    Bradley and Terry (1952), Biometrika 39:324-345; Davidson (1970), Journal of the American Statistical Association
    65:317-328; Ford (1957), American Mathematical Monthly 64:28-33 (when strengths exist).

    Examples
    --------
    >>> found = bradley_terry(list("xxyyzz") * 10, list("yzxzxy") * 10, [1, 1, 0.5, 1, 0, 0.5, 1, 0, 1, 1, 0, 0] * 5)
    >>> found.system, found.strength.round(3).tolist()
    (('x', 'y', 'z'), [0.749, 0.504, -1.253])
    """
    confidence = check.probability(confidence_level, "confidence_level")
    check.choice(ties, "ties", TIES)
    battles = battles_of(a, b, score, groups)
    in_thirds = bool(np.isin(battles.score, (0.0, 0.5, 1.0)).all())
    if ties == "davidson" and not in_thirds:
        raise ArgumentError("score", "must be 0, 0.5 and 1 for Davidson's ties", "has shares between")
    with_ties = ties != "half" and in_thirds and bool((battles.score == 0.5).any())
    prior, told = _prior(battles)
    theta, eta = _fitted(battles, prior, with_ties)
    scores = _scores(battles, theta, eta)
    inverse = np.asarray(np.linalg.pinv(_information(battles, theta, eta, prior)), dtype=float)
    # a strength without an end is pulled in by the prior, of which the sandwich knows nothing
    spread = _clustered(inverse, scores) + (inverse if prior else 0.0)
    covariance = _centred(spread[: len(theta), : len(theta)])
    for text in told:
        check.warn(text)
    return board(
        battles, theta, covariance, confidence, rng, tie=float(np.exp(eta)) if with_ties else math.nan, told=told
    )


def board(
    battles: Battles, theta: Floats, covariance: Floats, confidence: float, rng: Any, *, tie: float = math.nan,
    told: list[str], n_free: int | None = None,
    estimator: str = "battles", lam: float = math.nan, width_ratio: float = math.nan, n_gold: int = 0,
) -> BradleyTerry:  # fmt: skip
    """The result, the strongest first."""
    order = np.argsort(-theta, kind="stable")
    theta, covariance = theta[order] - theta.mean(), covariance[np.ix_(order, order)]
    g, error = int(battles.group.max()) + 1, np.sqrt(np.diagonal(covariance))
    half = float(special.stdtrit((n_free or g) - 1, (1 + confidence) / 2)) * error
    low, high = theta - half, theta + half
    ranks = rank_sets(theta, covariance, confidence_level=confidence, rng=rng)
    met = np.bincount(battles.a, minlength=len(theta)) + np.bincount(battles.b, minlength=len(theta))
    rate, worst, best = (_win_rates(at, theta, tie) for at in (theta, low, high))
    return BradleyTerry(
        system=tuple(str(battles.names[k]) for k in order), strength=theta, std_error=error, low=low, high=high,
        win_rate=rate, win_low=worst, win_high=best, rank=ranks.rank, rank_low=ranks.low, rank_high=ranks.high,
        n_battles=met[order], covariance=covariance, tie=tie, estimator=estimator, lam=lam, width_ratio=width_ratio,
        confidence_level=confidence, n=len(battles.score), n_gold=n_gold, n_groups=g, warnings=tuple(told),
    )  # fmt: skip


def _win_rates(at: Floats, theta: Floats, tie: float) -> Floats:
    """Share of battles won against each of the other systems equally often, a tie as a half."""
    apart = at[:, None] - theta
    nu = 0.0 if math.isnan(tie) else tie
    win, lose = np.exp(apart / 2), np.exp(-apart / 2)
    rate = (win + nu / 2) / (win + lose + nu)
    others = ~np.eye(len(theta), dtype=bool)
    return np.asarray((rate * others).sum(axis=1) / (len(theta) - 1))


# --- what comes in ----------------------------------------------------------------------------------------------


def battles_of(a: Labels, b: Labels, score: ArrayLike, groups: Labels | None) -> Battles:
    """Battles with a verdict, of systems that met."""
    share = check.array(score, "score", ndim=1)
    check.same_length(score=share, a=a, b=b, groups=groups)
    names = [*_as_list(a), *_as_list(b)]
    codes = check.codes(names, "a")
    first, second = codes[: len(share)], codes[len(share) :]
    _refuse_battles(share, first, second, names)
    kept = ~np.isnan(share)
    group = np.arange(len(share)) if groups is None else check.codes(groups, "groups")
    used, both = np.unique(np.r_[first[kept], second[kept]], return_inverse=True)
    labels = [*dict.fromkeys(names)]
    n = int(kept.sum())
    found = Battles(
        both[:n], both[n:], share[kept], np.unique(group[kept], return_inverse=True)[1], [labels[k] for k in used]
    )
    _refuse_board(found)
    return found


def _as_list(labels: Labels) -> list[Any]:
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)


def _refuse_battles(share: Floats, first: Codes, second: Codes, names: list[Any]) -> None:
    odd = ~np.isnan(share) & ((share < 0) | (share > 1))
    if odd.any():
        row = int(odd.argmax())
        raise ArgumentError("score", "must be the share of A that wins, 0 to 1", f"got {share[row]:g} at {row}")
    if (same := first == second).any():
        row = int(same.argmax())
        raise ArgumentError("b", "must be another system than {0}", f"is {names[row]!r} at {row}", mentions=("a",))


def _refuse_board(battles: Battles) -> None:
    if len(battles.names) < 2:
        raise ArgumentError("score", "must have battles of two systems or more", f"has {len(battles.names)}")
    if battles.group.max() < 1:
        raise ArgumentError("groups", "must be two or more", "all battles are in one")
    parts, of = csgraph.connected_components(_met(battles, battles.score >= 0), directed=False)
    if parts > 1:
        some = [str(battles.names[np.flatnonzero(of == part)[0]]) for part in range(2)]
        raise ArgumentError(
            "b", "must meet {0}, if only by way of others", f"{some[0]!r} and {some[1]!r} never did", mentions=("a",)
        )


def _met(battles: Battles, rows: Any) -> sparse.csr_matrix:
    k = len(battles.names)
    return sparse.csr_matrix((np.ones(int(rows.sum())), (battles.a[rows], battles.b[rows])), shape=(k, k))


def _prior(battles: Battles) -> tuple[float, list[str]]:
    """Whether strengths exist: each part of the systems must have won something from the rest (Ford)."""
    beat = _met(battles, battles.score > 0) + _met(battles, battles.score < 1).T
    parts, of = csgraph.connected_components(beat, connection="strong")
    if parts == 1:
        return 0.0, []
    biggest = np.bincount(of).argmax()
    apart = [str(battles.names[k]) for k in np.flatnonzero(of != biggest)]
    named = ", ".join(map(repr, apart[:_NAMED])) + (f" and {len(apart) - _NAMED} more" if len(apart) > _NAMED else "")
    return _PRIOR, [
        f"one_sided_record: {named} won all or lost all against the others, so strengths have no end; each system was "
        "given one battle more against an average opponent, half won."
    ]


# --- the fit ----------------------------------------------------------------------------------------------------


class _Expected(NamedTuple):
    """Of each battle half the wins less losses of A and the chance of a tie, and the variances of both."""

    margin: Floats
    tie: Floats
    margin_variance: Floats
    cross: Floats
    tie_variance: Floats


def _expected(apart: Floats, eta: float) -> _Expected:
    win, lose, nu = np.exp(apart / 2), np.exp(-apart / 2), math.exp(eta)
    total = win + lose + nu
    won, lost, tied = win / total, lose / total, nu / total
    margin = (won - lost) / 2
    return _Expected(margin, tied, (won + lost) / 4 - margin**2, -margin * tied, tied * (1 - tied))


def _fitted(battles: Battles, prior: float, with_ties: bool) -> tuple[Floats, float]:
    """Newton on the counts of each pair, with steps halved until none is too long."""
    counts = _counted(battles)
    theta, eta = np.zeros(len(battles.names)), 0.0 if with_ties else -math.inf
    for _ in range(_STEPS):
        gradient = _gradient(counts, theta, eta, prior)
        step = np.linalg.pinv(_information(counts, theta, eta, prior)) @ gradient
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        theta = theta + step[: len(theta)]
        theta -= theta.mean() if not prior else 0.0
        eta = eta + float(step[-1]) if with_ties else eta
        if np.abs(step).max() < _CLOSE:
            break
    return theta - theta.mean(), eta


class _Counts(NamedTuple):
    """Battles of each pair: how many, the sum of margins of A (score less a half), and ties."""

    a: Codes
    b: Codes
    n: Floats
    margin: Floats
    tied: Floats
    k: int


def _counted(battles: Battles, weights: Floats | None = None) -> _Counts:
    k = len(battles.names)
    w = np.ones(len(battles.score)) if weights is None else weights
    sums = [np.bincount(battles.pair, v, k * k) for v in (w, w * (battles.score - 0.5), w * (battles.score == 0.5))]
    pair = np.flatnonzero(np.bincount(battles.pair, minlength=k * k))
    n, margin, tied = (np.asarray(one[pair], dtype=float) for one in sums)
    return _Counts(pair // k, pair % k, n, margin, tied, k)


def _gradient(counts: _Counts, theta: Floats, eta: float, prior: float) -> Floats:
    of = _expected(theta[counts.a] - theta[counts.b], eta)
    off = counts.margin - counts.n * of.margin
    gradient = np.asarray(np.bincount(counts.a, off, counts.k) - np.bincount(counts.b, off, counts.k), dtype=float)
    gradient += prior * (0.5 - special.expit(theta))
    return gradient if eta == -math.inf else np.r_[gradient, float((counts.tied - counts.n * of.tie).sum())]


def _information(of: Battles | _Counts, theta: Floats, eta: float, prior: float) -> Floats:
    counts = of if isinstance(of, _Counts) else _counted(of)
    expected = _expected(theta[counts.a] - theta[counts.b], eta)
    h = laplacian(counts.a, counts.b, counts.n * expected.margin_variance, counts.k)
    h += prior * np.diag(special.expit(theta) * special.expit(-theta))
    if eta == -math.inf:
        return h
    across = counts.n * expected.cross
    beside = np.bincount(counts.a, across, counts.k) - np.bincount(counts.b, across, counts.k)
    corner = float((counts.n * expected.tie_variance).sum())
    return np.block([[h, beside[:, None]], [beside[None], np.array([[corner]])]])


def laplacian(a: Codes, b: Codes, weight: Floats, k: int) -> Floats:
    """Sum of weight (e_a - e_b)(e_a - e_b)' over battles."""
    off = np.bincount(a * k + b, weight, k * k).reshape(k, k)
    off = off + off.T
    return np.diag(off.sum(axis=1)) - off


def _scores(battles: Battles, theta: Floats, eta: float) -> sparse.csr_matrix:
    """Sums of the score function over the battles of each group, shape (G, K) or with nu (G, K + 1)."""
    of = _expected(theta[battles.a] - theta[battles.b], eta)
    found = signed_sums(battles, battles.score - 0.5 - of.margin)
    if eta == -math.inf:
        return found
    ties = np.bincount(battles.group, (battles.score == 0.5) - of.tie)
    return sparse.csr_matrix(sparse.hstack([found, sparse.csr_matrix(ties[:, None])]))


def signed_sums(battles: Battles, values: Floats) -> sparse.csr_matrix:
    """Values added for A and taken from B, in the row of their group."""
    shape = int(battles.group.max()) + 1, len(battles.names)
    where = np.r_[battles.group, battles.group], np.r_[battles.a, battles.b]
    return sparse.csr_matrix((np.r_[values, -values], where), shape=shape)


def _clustered(inverse: Floats, scores: sparse.csr_matrix) -> Floats:
    g = scores.shape[0]
    return np.asarray(g / (g - 1) * inverse @ (scores.T @ scores).toarray() @ inverse)


def _centred(covariance: Floats) -> Floats:
    """Of strengths less their mean."""
    k = len(covariance)
    less = np.eye(k) - 1 / k
    return np.asarray(less @ covariance @ less)
