"""How far two leaderboards agree, and how well one tells its systems apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.verdicts.confusion import Figure
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Interval, Result, bracket, short

_DRAWS = 2_000
FIGURES = ("kendall", "spearman", "separability", "agreement_with_confidence", "brier")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardAgreement(Result):
    """Agreement of a board with a reference, over all pairs of systems.

    Attributes
    ----------
    kendall, spearman : Figure
        Correlation of the strengths' order.
    separability : Figure
        Share of pairs that the board tells apart: whose intervals do not overlap.
    agreement_with_confidence : Figure
        Mean over pairs of 1 where both boards tell them apart and agree, -1 where they disagree, 0 elsewhere.
    brier : Figure
        Mean squared distance of the board's chance that the one is above the other from the reference's order.
    confidence_level : float
    n : int
        Systems on both.
    """

    kendall: Figure
    spearman: Figure
    separability: Figure
    agreement_with_confidence: Figure
    brier: Figure
    confidence_level: float
    n: int

    def _rows(self) -> list[dict[str, Any]]:
        found = [(name, getattr(self, name)) for name in FIGURES]
        return [
            {"figure": name, "estimate": one.estimate, "conf_low": one.interval.low, "conf_high": one.interval.high}
            for name, one in found
        ]

    def _terms(self) -> dict[str, Any]:
        return {"boards": True, "systems": self.n, "cl": self.confidence_level}

    def __str__(self) -> str:
        told = {
            "Kendall": self.kendall,
            "Spearman": self.spearman,
            "agreement with confidence": self.agreement_with_confidence,
        }
        parts = [
            f"{name} {short(one.estimate)}, {bracket(one.interval, self.confidence_level)}"
            for name, one in told.items()
        ]
        apart = f"separability {short(self.separability.estimate)}, Brier {short(self.brier.estimate)}"
        return f"{'; '.join(parts)}; {apart} ({self.n} systems)"


def board_agreement(
    strengths: ArrayLike,
    covariance: ArrayLike,
    reference: ArrayLike,
    reference_covariance: ArrayLike,
    *,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> BoardAgreement:
    """Agreement of a board with a reference: rank correlations, and Arena-Hard's three figures of pairs.

    Intervals speak about boards made from other prompts, as many: the figure more and less z standard deviations of it
    when both boards' strengths are drawn anew from their covariances, which a sandwich over prompts has made. Boards
    that were made from the same prompts or the same labels agree more than that.

    Parameters
    ----------
    strengths, reference : array_like, shape (K,)
        Of the same systems in the same order.
    covariance, reference_covariance : array_like, shape (K, K)
    confidence_level : float, default 0.95
    rng : Generator or int, optional

    Returns
    -------
    BoardAgreement

    Raises
    ------
    ValueError
        If there are fewer than 3 systems, or shapes do not fit.

    References
    ----------
    Li et al. (2024), arXiv:2406.11939 (separability, agreement with confidence, Brier score of pair ranks).

    Examples
    --------
    >>> import numpy as np
    >>> spread = 0.01 * np.eye(4)
    >>> found = board_agreement([3, 2, 1, 0], spread, [3, 1, 2, 0], spread)
    >>> round(found.kendall.estimate, 3), found.separability.estimate
    (0.667, 1.0)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    one, other = _board(strengths, covariance, ""), _board(reference, reference_covariance, "reference_")
    if len(one[0]) != len(other[0]):
        raise ArgumentError(
            "reference", "must have the systems of {0}", f"has {len(other[0])}", mentions=("strengths",)
        )
    if len(one[0]) < 3:
        raise ArgumentError("strengths", "must be of three systems or more", f"got {len(one[0])}")
    generator, z = np.random.default_rng(rng), float(special.ndtri((1 + confidence) / 2))
    seen = _figures(one[0][None], other[0][None], one[1], other[1], z)
    mine, theirs = (generator.multivariate_normal(at, spread, _DRAWS, method="eigh") for at, spread in (one, other))
    again = _figures(mine, theirs, one[1], other[1], z)
    made = {}
    for name in FIGURES:
        estimate, half = float(seen[name][0]), z * float(again[name].std())
        least = 0.0 if name in ("separability", "brier") else -1.0
        made[name] = Figure(estimate, Interval(max(estimate - half, least), min(estimate + half, 1.0)), len(one[0]))
    return BoardAgreement(**made, confidence_level=confidence, n=len(one[0]))


def _board(strengths: ArrayLike, covariance: ArrayLike, prefix: str) -> tuple[Floats, Floats]:
    at = check.array(strengths, prefix.rstrip("_") or "strengths", ndim=1)
    spread = check.array(covariance, f"{prefix}covariance", ndim=2)
    if spread.shape != (len(at), len(at)):
        raise ArgumentError(f"{prefix}covariance", f"must have shape {(len(at), len(at))}", f"got {spread.shape}")
    return at, spread


def _figures(one: Floats, other: Floats, spread: Floats, other_spread: Floats, z: float) -> dict[str, Floats]:
    """Of boards (B, K), with the errors that they have."""
    a, b = np.triu_indices(one.shape[1], 1)
    mine, theirs = one[:, a] - one[:, b], other[:, a] - other[:, b]
    error = np.sqrt(np.maximum(np.diagonal(spread)[a] + np.diagonal(spread)[b] - 2 * spread[a, b], 1e-300))
    apart = [np.abs(side) > z * (np.sqrt(np.diagonal(v))[a] + np.sqrt(np.diagonal(v))[b])
             for side, v in ((mine, spread), (theirs, other_spread))]  # fmt: skip
    agree = np.sign(mine) * np.sign(theirs)
    return {
        "kendall": agree.mean(axis=1),
        "spearman": _spearman(one, other),
        "separability": apart[0].mean(axis=1),
        "agreement_with_confidence": (agree * (apart[0] & apart[1])).mean(axis=1),
        "brier": ((special.ndtr(mine / error) - (theirs > 0)) ** 2).mean(axis=1),
    }


def _spearman(one: Floats, other: Floats) -> Floats:
    ranks = [side.argsort(axis=1).argsort(axis=1) for side in (one, other)]
    k = one.shape[1]
    return np.asarray(1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum(axis=1) / (k * (k**2 - 1)))
