"""Gwet's AC1 and AC2: agreement beyond chance that does not collapse where nearly all labels are one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.agreement.alpha import RatersResult, rating_table
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.result import Interval, bracket, short

WEIGHTS = ("identity", "linear", "quadratic", "ordinal")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceCorrected(RatersResult):
    """Agreement of several raters beyond chance.

    Attributes
    ----------
    coefficient : str
        "AC1", "AC2" (with weights) or "Fleiss' kappa".
    estimate, std_error : float
    interval : Interval
        By t on as many degrees of freedom as there are groups less one.
    observed, chance : float
        The (weighted) share of pairs of raters who agree, and that which chance would bring.
    levels, shares : tuple of float
        The labels, and how often raters give each.
    weights : str
    n_groups : int
    confidence_level : float
    n, n_dropped : int
        Items in use; items without any label.
    n_raters : int
    """

    coefficient: str
    estimate: float
    std_error: float
    interval: Interval
    observed: float
    chance: float
    levels: tuple[float, ...]
    shares: tuple[float, ...]
    weights: str
    n_groups: int

    def _rows(self) -> list[dict[str, Any]]:
        names = ("coefficient", "estimate", "std_error", "interval", "observed", "chance", "n", "n_dropped", "n_raters")
        return [self._row(*names)]

    def _terms(self) -> dict[str, Any]:
        terms = {self.coefficient.replace(" ", "-"): True, "weights": self.weights, "levels": len(self.levels)}
        return terms | {"groups": self.n_groups} | self._counted("linearised t")

    def __str__(self) -> str:
        return (
            f"{self.coefficient} = {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}; "
            f"{self.n_raters} raters agree on {short(self.observed)}, by chance {short(self.chance)} (n = {self.n})"
        )


class Chance(NamedTuple):
    """Chance agreement, and the share of it that each item brings."""

    whole: float
    of_items: Floats


ByChance = Callable[[Floats, Floats, Floats], Chance]  # of item shares, mean shares, weights


def gwet_ac(
    ratings: ArrayLike,
    *,
    weights: str = "identity",
    levels: ArrayLike | None = None,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> ChanceCorrected:
    r"""Gwet's AC1, with weights AC2, of two raters or more; labels may be missing.

    .. math:: AC = \frac{p_a - p_e}{1 - p_e}, \qquad
              p_a = \frac{1}{n'} \sum_i \sum_k \frac{r_{ik} (r^*_{ik} - 1)}{r_i (r_i - 1)}, \qquad
              p_e = \frac{\sum_{kl} w_{kl}}{q (q - 1)} \sum_k \pi_k (1 - \pi_k)

    with :math:`r_{ik}` raters who gave item i label k, :math:`r^*_{ik} = \sum_l w_{kl} r_{il}`, :math:`\pi_k` the mean
    share of label k, and n' the items with two labels or more. Where nearly all labels are one, kappa takes nearly all
    agreement for chance; AC1 does not.

    Parameters
    ----------
    ratings : array_like, shape (n, R)
        One column per rater, NaN where one gave none.
    weights : {"identity", "linear", "quadratic", "ordinal"}
        What two different labels are worth. ``"identity"``: nothing (AC1).
    levels : array_like, optional
        All labels that could be given; default: those that were.
    groups : sequence, shape (n,), optional
        What items share; without, items are independent.
    confidence_level : float, default 0.95

    Raises
    ------
    ValueError
        If no two raters rated one item, there are fewer than two levels, or a label is none of them.

    References
    ----------
    Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48; Gwet (2014), Handbook of
    Inter-Rater Reliability, 4th ed. (weights, missing labels and variance).

    Examples
    --------
    Feinstein and Cicchetti's paradox: of 125 items two raters call 118 positive together and none negative.

    >>> pairs = [[1, 1]] * 118 + [[1, 0]] * 5 + [[0, 1]] * 2
    >>> found = gwet_ac(pairs)
    >>> round(found.estimate, 4), round(found.observed, 3)
    (0.9408, 0.944)
    """
    kind = "AC1" if weights == "identity" else "AC2"
    return corrected_for_chance(ratings, kind, _by_gwet, weights, levels, groups, confidence_level)


def _by_gwet(shares: Floats, mean: Floats, w: Floats) -> Chance:
    q = len(mean)
    factor = w.sum() / (q * (q - 1))
    return Chance(float(factor * (mean * (1 - mean)).sum()), factor * (shares @ (1 - mean)))


def corrected_for_chance(
    ratings: ArrayLike, name: str, by_chance: ByChance, weights: str, levels: ArrayLike | None,
    groups: Labels | None, confidence_level: float,
) -> ChanceCorrected:  # fmt: skip
    """The coefficient with Gwet's linearised variance, summed over groups."""
    confidence = check.probability(confidence_level, "confidence_level")
    check.choice(weights, "weights", WEIGHTS)
    table = rating_table(ratings)
    check.same_length(ratings=table, groups=groups)
    group = np.arange(len(table)) if groups is None else check.codes(groups, "groups")
    kept = ~np.isnan(table).all(axis=1)
    known = _levels(table[kept], levels)
    counts = (table[kept][:, :, None] == known).sum(axis=1).astype(float)
    group = np.unique(group[kept], return_inverse=True)[1]
    w = _weights(known, weights)
    estimate, observed, chance, parts = _linearised(counts, w, by_chance)
    g = int(group.max()) + 1
    sums = np.bincount(group, parts - estimate) / len(parts)
    std_error = math.sqrt(g / (g - 1) * float((sums**2).sum())) if g > 1 else math.nan
    half = float(special.stdtrit(max(g - 1, 1), (1 + confidence) / 2)) * std_error
    return ChanceCorrected(
        coefficient=name,
        estimate=estimate,
        std_error=std_error,
        interval=Interval(max(estimate - half, -1.0), min(estimate + half, 1.0))
        if g > 1
        else Interval(math.nan, math.nan),
        observed=observed,
        chance=chance,
        levels=tuple(map(float, known)),
        shares=tuple(map(float, (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0))),
        weights=weights,
        n_groups=g,
        confidence_level=confidence,
        n=len(counts),
        n_dropped=int((~kept).sum()),
        n_raters=table.shape[1],
    )


def _levels(table: Floats, levels: ArrayLike | None) -> Floats:
    given = np.unique(table[~np.isnan(table)])
    known = given if levels is None else np.unique(check.array(levels, "levels", ndim=1))
    if len(known) < 2:
        raise ArgumentError("ratings", "must have two labels or more (or say `levels`)", f"has {len(known)}")
    if not np.isin(given, known).all():
        odd = given[~np.isin(given, known)][0]
        raise ArgumentError("ratings", "must be of the levels", f"has {odd:g}")
    if not ((~np.isnan(table)).sum(axis=1) > 1).any():
        raise ArgumentError("ratings", "must have an item with two labels", "has none")
    return known


def _weights(levels: Floats, kind: str) -> Floats:
    """What labels k and l of one item are worth, 1 on the diagonal."""
    apart = np.abs(levels[:, None] - levels)
    if kind == "ordinal":  # by the pairs of labels that lie between
        steps = np.abs(np.subtract.outer(np.arange(len(levels)), np.arange(len(levels)))) + 1
        apart = steps * (steps - 1) / 2
    if kind == "identity":
        return np.eye(len(levels))
    return np.asarray(1 - (apart / apart.max()) ** (2 if kind == "quadratic" else 1), dtype=float)


def _linearised(counts: Floats, w: Floats, by_chance: ByChance) -> tuple[float, float, float, Floats]:
    """Estimate, observed and chance agreement, and a value for each item whose mean is the estimate."""
    raters = counts.sum(axis=1)
    pairs = raters * (raters - 1)
    several = pairs > 0
    agreeing = (counts * (counts @ w.T - 1)).sum(axis=1)
    observed_of = np.divide(agreeing, pairs, out=np.zeros(len(pairs)), where=several)
    observed = float(observed_of[several].mean())
    shares = counts / raters[:, None]
    chance = by_chance(shares, shares.mean(axis=0), w)
    if chance.whole >= 1:
        return math.nan, observed, chance.whole, np.full(len(counts), math.nan)
    estimate = (observed - chance.whole) / (1 - chance.whole)
    scaled = np.where(several, len(counts) / several.sum() * (observed_of - chance.whole) / (1 - chance.whole), 0.0)
    return (
        estimate,
        observed,
        chance.whole,
        scaled - 2 * (1 - estimate) * (chance.of_items - chance.whole) / (1 - chance.whole),
    )
