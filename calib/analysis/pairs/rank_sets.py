"""Which ranks systems may have, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.result import Columns

_SIMULATED = 5_000
_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSets(Columns):
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

    Returns
    -------
    RankSets

    Raises
    ------
    ValueError
        If the shapes do not fit.

    References
    ----------
    Klein, Wright and Wieczorek (2020), Journal of the Royal Statistical Society A 183:589-606; Mogstad, Romano, Shaikh
    and Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> import numpy as np
    >>> found = rank_sets([2.0, 1.0, 0.9], 0.01 * np.eye(3))
    >>> found.rank.tolist(), found.low.tolist(), found.high.tolist()
    ([1, 2, 3], [1, 2, 2], [1, 3, 3])
    """
    confidence = check.probability(confidence_level, "confidence_level")
    at, spread = check.array(estimates, "estimates", ndim=1), check.array(covariance, "covariance", ndim=2)
    if spread.shape != (len(at), len(at)):
        raise ArgumentError("covariance", f"must have shape {(len(at), len(at))}", f"got {spread.shape}")
    variance = np.diagonal(spread)[:, None] + np.diagonal(spread) - 2 * spread
    error = np.sqrt(np.maximum(variance, 0))
    critical = _critical(spread, error, confidence, np.random.default_rng(rng))
    apart = at[:, None] - at > critical * error
    np.fill_diagonal(apart, val=False)
    rank = 1 + (at[None] > at[:, None]).sum(axis=1)
    low, high = 1 + apart.sum(axis=0), len(at) - apart.sum(axis=1)
    return RankSets(estimate=at, rank=rank, low=low, high=high, critical=critical, confidence_level=confidence)


def _critical(spread: Floats, error: Floats, confidence: float, rng: np.random.Generator) -> float:
    """The quantile of the largest |difference| in its standard errors."""
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    above = np.triu_indices(len(spread), 1)
    scale = 1 / np.maximum(error[above], 1e-300)
    largest = []
    for start in range(0, _SIMULATED, _AT_ONCE):
        drawn = rng.standard_normal((min(_AT_ONCE, _SIMULATED - start), len(spread))) @ root.T
        largest.append((np.abs(drawn[:, above[0]] - drawn[:, above[1]]) * scale).max(axis=1))
    return float(np.quantile(np.concatenate(largest), confidence))
