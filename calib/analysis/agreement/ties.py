"""Tie calibration: how close two of a judge's scores must be to count as equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.agreement.coefficients import members_of
from calib.analysis.agreement.levels import Design, design_of, table_of
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import ratio
from calib.core.result import Result, short

_MOST_PAIRS = 20_000_000  # pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class TieCalibration(Result):
    """Pairwise accuracy at the best epsilon.

    Attributes
    ----------
    epsilon : float
        Scores of the judge that differ by at most this count as tied: the largest distance
        that does, where several are equal up to rounding.
    accuracy : float
        Share of pairs that judge and human order alike or both tie, at `epsilon`; the
        mean over groups where groups were given. It is the best on these very data.
    accuracy_uncalibrated : float
        At epsilon 0: only equal scores are tied.
    ties_x, ties_y : float
        Share of pairs that the judge ties at `epsilon`, and the human.
    ties_uncalibrated : float
        Share of pairs that the judge ties at epsilon 0.
    n, n_missing, n_groups : int
        Scores used; pairs of scores left out; groups with a pair (0 without groups).
    curve : ndarray, shape (2, candidates)
        Every candidate epsilon, and the accuracy at it.
    """

    epsilon: float
    accuracy: float
    accuracy_uncalibrated: float
    ties_x: float
    ties_y: float
    ties_uncalibrated: float
    n: int
    n_missing: int
    n_groups: int
    curve: Floats = field(repr=False, compare=False)

    _cells = "epsilon accuracy accuracy_uncalibrated ties_x ties_y ties_uncalibrated n n_missing n_groups"

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"pairs": True, "ties": "calibrated", "epsilon": self.epsilon, "n": self.n}
        return terms | {"missing": self.n_missing, "groups": self.n_groups or None}

    def __str__(self) -> str:
        return (
            f"pairwise accuracy {short(self.accuracy)} where scores within {short(self.epsilon)} are ties "
            f"({short(self.accuracy_uncalibrated)} where only equal ones are)"
        )


def tie_calibration(x: ArrayLike, y: ArrayLike, *, groups: Labels | None = None) -> TieCalibration:
    """The epsilon below which differences of a judge's scores are best taken as ties.

    Pairwise accuracy rewards a tie where the human ties, which a judge with fine scores
    never earns. All distances within groups are tried, and 0; of those with the highest
    accuracy the smallest is taken. It is exact: no distance is left out.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Scores of the judge and of the human; a pair with a NaN is left out.
    groups : sequence, shape (n,), optional
        Pairs are formed within groups, and the accuracies of the groups averaged; one
        epsilon serves all.

    Returns
    -------
    TieCalibration

    Raises
    ------
    ValueError
        If lengths differ, no group has two items, or there are more than 20 million pairs.

    References
    ----------
    Deutsch, Foster and Freitag (2023), Ties matter: meta-evaluating modern metrics with
    pairwise accuracy and tie calibration, EMNLP.

    Examples
    --------
    >>> result = tie_calibration([2, 1, 1.5, 5, 3], [1, 2, 2, 3, 4])
    >>> result.epsilon, result.accuracy, result.accuracy_uncalibrated
    (0.5, 0.7, 0.6)
    """
    rules = {"level": "item" if groups is None else "group", "coefficient": "pairs", "constant": "skip"}
    design, keep = design_of(x, y, groups=groups, systems=None, **rules)
    _check_size(design)
    distance, tied, concordant, weight, share = _weighted_pairs(design)
    if not len(distance):
        raise ArgumentError("x", "must hold two scored items in some group", f"has no pair among {design.n} items")
    epsilons, accuracies = _accuracy_by_epsilon(distance, tied * weight, concordant * weight)
    # what differs by rounding alone is the same accuracy, and the smallest epsilon is taken
    best = int(np.flatnonzero(accuracies >= accuracies.max() - 1e-12)[0])
    return TieCalibration(
        epsilon=float(epsilons[best]),
        accuracy=float(accuracies[best]),
        accuracy_uncalibrated=float(accuracies[0]),
        ties_x=float((distance <= epsilons[best]).mean()),
        ties_y=float(tied.mean()),
        ties_uncalibrated=float((distance == 0).mean()),
        n=design.n,
        n_missing=int((~keep).sum()),
        n_groups=0 if groups is None else round(1 / share),
        curve=np.array([epsilons, accuracies]),
    )


def _check_size(design: Design) -> None:
    sizes = np.array([design.n]) if design.group is None else np.bincount(design.group)
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    if pairs > _MOST_PAIRS:
        rule = f"must have at most {_MOST_PAIRS:,} pairs (within {{0}})"
        raise ArgumentError("x", rule, f"has {pairs:,}", mentions=("groups",))


def _weighted_pairs(design: Design) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Of every pair within a group: the judge's distance, whether the human ties, whether both agree, the weight.

    Last, the weight of a group, which its pairs share.
    """
    parts = [_pairs_of_columns(x, y) for x, y in _tables_of_groups(design)]
    distance, tied, concordant, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    of_group = 1 / max(round(share.sum()), 1)
    return distance, tied, concordant, share * of_group, of_group


def _tables_of_groups(design: Design) -> list[tuple[Floats, Floats]]:
    """Scores as items x groups: all groups at once where they fit into one table, else one by one."""
    table = None if design.group is None else table_of(design)
    if table is not None:
        return [table]
    groups = [np.arange(design.n)] if design.group is None else members_of(design.group)
    return [(design.x[i][:, None], design.y[i][:, None]) for i in groups]


def _pairs_of_columns(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The pairs of each column; the weights of a column's pairs add up to 1."""
    first, second = np.triu_indices(len(x), 1)
    apart, human = x[first] - x[second], y[first] - y[second]
    there = np.isfinite(apart)
    share = np.broadcast_to(ratio(1.0, there.sum(axis=0)), there.shape)[there]
    apart, human = apart[there], human[there]
    return np.abs(apart), (human == 0).astype(float), (apart * human > 0).astype(float), share


def _accuracy_by_epsilon(distance: Floats, tied: Floats, concordant: Floats) -> tuple[Floats, Floats]:
    """Each candidate epsilon with its accuracy: a pair that becomes a tie wins where the human ties, else may lose."""
    order = np.argsort(distance)
    ranked = distance[order]
    reached = concordant.sum() + np.cumsum((tied - concordant)[order])
    # distances that differ by rounding alone are one; the largest of them stands for all
    last = np.flatnonzero(np.append(np.diff(ranked) > 1e-13 * ranked[-1], True))
    if ranked[last[0]] == 0:
        return ranked[last], reached[last]
    return np.append(0.0, ranked[last]), np.append(concordant.sum(), reached[last])
