"""Whether a judge of pairs favours the place: what is shown first, or what is shown second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal, stats

from calib.analysis.pairs.shares import (
    PairShare,
    few_groups,
    mean_variance,
    share_of,
    sums_by,
    units_of,
    verdicts_of,
    wilson_ends,
    win_shares,
)
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Interval, Result, bracket, short

_LOW_CONSISTENCY = 0.5
_ENOUGH = 10  # pairs, for a word on consistency


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias(Result):
    """How a judge's verdicts on pairs depend on which of the two was shown first.

    Attributes
    ----------
    estimate, std_error : float
        Net share: how much larger the share won is for an output when it is shown first, from -1 to 1. Without ties
        and probabilities the pairs in which what was shown first wins twice, less those in which what was shown
        second does, over all pairs.
    interval : Interval
    p_value : float
        Of the exact sign test on the pairs whose verdict changes with the order: as many towards the first as
        towards the second. Of groups each is turned as a whole.
    confidence_level : float
    consistency : float
        PairShare of the pairs with the same verdict in both orders.
    consistency_interval : Interval
    n : int
        Pairs judged in both orders.
    n_first, n_second : int
        Pairs whose verdict moves to what is shown first, and to what is shown second.
    n_ties : int
        Pairs that are a tie in both orders.
    n_one_order : int
        Pairs left out, as a verdict is missing in one order or both.
    n_groups : int
        0 where each pair is on its own.
    warnings : tuple of str
    """

    estimate: float
    std_error: float
    interval: Interval
    p_value: float
    confidence_level: float
    consistency: float
    consistency_interval: Interval
    n: int
    n_first: int
    n_second: int
    n_ties: int
    n_one_order: int
    n_groups: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row = self._row("estimate", "std_error", "interval", "p_value", "consistency")
        row |= {f"consistency_{end}": value for end, value in self.consistency_interval._asdict().items()}
        return [row | self._row("n_first", "n_second", "n_ties", "n", "n_one_order", "n_groups", "warnings")]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"position": True, "ci": "newcombe", "test": "sign", "cl": self.confidence_level}
        return terms | {"n": self.n, "groups": self.n_groups or None, "one-order": self.n_one_order}

    def __str__(self) -> str:
        return (
            f"shown first against shown second {self.n_first}:{self.n_second} of {self.n} pairs, net share "
            f"{short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, p = {self.p_value:.2g}, "
            f"consistent {short(self.consistency)}{self._bracketed_warnings}"
        )


def position_bias(
    first: ArrayLike, second: ArrayLike, *, groups: Labels | None = None, confidence_level: float = 0.95
) -> PositionBias:
    r"""Position bias of a judge, from pairs that it judged in both orders.

    A judge without such a bias may still change its verdict with the order, by noise; but then as often towards what
    is shown first as towards what is shown second. With f and s pairs of each kind,

    .. math:: p = \min\{1, 2 P(B \ge \max(f, s))\}, \quad B \sim Bin(f + s, 1/2), \qquad
              \text{net} = \bar y_1 - \bar y_2

    where y_1 and y_2 are what A wins when it is shown first and when it is shown second; without ties net is
    (f - s) / n. Pairs that are consistent say nothing of a bias: who pools the 2n verdicts as independent counts each
    of them as one win of the first place and one of the second, and misses what is there. With groups the test turns
    whole groups, exactly, and the interval is over groups.

    The interval is Newcombe's for paired shares (method 10): Wilson's intervals of both shares, put together by their
    correlation. With groups, ties or probabilities Wilson's are of as many verdicts as have the variance that is seen,
    with Student's quantile.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        What A wins when it is shown first, and when it is shown second: both in terms of A: 1, 0, .5 for a tie, or
        a probability between. NaN leaves the pair out.
    groups : sequence, shape (n,), optional
        What pairs share, such as the prompt.
    confidence_level : float, default 0.95

    Returns
    -------
    PositionBias

    Raises
    ------
    ValueError
        If lengths differ, an outcome is not within 0 to 1, or no pair has both.

    References
    ----------
    Newcombe (1998), Improved confidence intervals for the difference between binomial proportions based on paired
    data, Statistics in Medicine 17, 2635-2650. Wang et al. (2024), Large Language Models are not Fair Evaluators, ACL.

    Examples
    --------
    >>> first = [1] * 60 + [0] * 40 + [1] * 20 + [0] * 10
    >>> second = [1] * 60 + [0] * 40 + [0] * 20 + [1] * 10
    >>> found = position_bias(first, second)
    >>> found.n_first, found.n_second, round(found.p_value, 6), round(found.consistency, 4)
    (20, 10, 0.098737, 0.7692)
    >>> round(found.estimate, 4), [round(end, 4) for end in found.interval]
    (0.0769, [-0.0059, 0.1577])
    """
    a, b = win_shares(first, "first"), win_shares(second, "second")
    check.same_length(first=a, second=b)
    level = check.probability(confidence_level, "confidence_level")
    keep = np.isfinite(a) & np.isfinite(b)
    if not keep.any():
        raise ArgumentError("first", "must have pairs that {0} has, too", "no pair is in both", mentions=("second",))
    unit = units_of(groups, keep, len(a))
    a, b = a[keep], b[keep]
    moved = verdicts_of(a) - verdicts_of(b)
    consistent = share_of((moved == 0).astype(float), unit, level)
    return PositionBias(
        estimate=float(np.mean(a - b)),
        std_error=float(np.sqrt(mean_variance(a - b, unit))),
        interval=_newcombe(a, b, unit, level),
        p_value=_sign_test(moved, unit),
        confidence_level=level,
        consistency=consistent.estimate,
        consistency_interval=consistent.interval,
        n=len(a),
        n_first=int(np.sum(moved > 0)),
        n_second=int(np.sum(moved < 0)),
        n_ties=int(np.sum((verdicts_of(a) == 0.5) & (moved == 0))),
        n_one_order=int(np.sum(~keep)),
        n_groups=0 if unit is None else int(unit.max()) + 1,
        warnings=(*few_groups(unit), *_turned_warning(consistent)),
    )


def _turned_warning(consistent: PairShare) -> tuple[str, ...]:
    if consistent.n < _ENOUGH or consistent.estimate >= _LOW_CONSISTENCY:
        return ()
    return (
        "turned: fewer than half of the pairs keep their verdict; if the outcomes of the second order are of what was "
        "shown first there, not of A, turn them (1 - outcome)",
    )


def _sign_test(moved: Floats, unit: Codes | None) -> float:
    """Two-sided and exact: the sum of signs of each group has one sign or the other, as a coin falls."""
    sums = np.abs(sums_by(unit, np.sign(moved))).astype(int)
    found, sizes = abs(int(sums_by(unit, np.sign(moved)).sum())), np.unique(sums[sums > 0])
    if not len(sizes):
        return 1.0
    total, law = int(sums.sum()), np.ones(1)
    for size in sizes:  # the law of (total + sum of signs) / 2, one size of groups after the other
        count = int(np.sum(sums == size))
        steps = np.zeros(count * size + 1)
        steps[::size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        law = steps if len(law) == 1 else signal.convolve(law, steps)
    return float(min(1.0, 2 * np.sum(law[(total + found) // 2 :])))


def _newcombe(a: Floats, b: Floats, unit: Codes | None, level: float) -> Interval:
    """Wilson's ends of both shares, put together by the correlation of the two."""
    (p, ends_a), (q, ends_b) = wilson_ends(a, unit, level), wilson_ends(b, unit, level)
    phi, net = _correlation(a, b, unit), p - q
    down_a, up_a, down_b, up_b = p - ends_a.low, ends_a.high - p, q - ends_b.low, ends_b.high - q
    below = np.sqrt(max(down_a**2 - 2 * phi * down_a * up_b + up_b**2, 0.0))
    above = np.sqrt(max(up_a**2 - 2 * phi * up_a * down_b + down_b**2, 0.0))
    return Interval(float(max(net - below, -1.0)), float(min(net + above, 1.0)))


def _correlation(a: Floats, b: Floats, unit: Codes | None) -> float:
    """Of the two shares over units; of plain verdicts a little less where it is above 0, so that it is never 1."""
    x, y = (sums_by(unit, values - values.mean()) for values in (a, b))
    spread = float(np.sqrt(np.sum(x**2) * np.sum(y**2)))
    if spread < 1e-12:
        return 0.0
    phi = float(np.sum(x * y)) / spread
    verdicts = bool(np.isin(np.concatenate([a, b]), (0.0, 0.5, 1.0)).all())
    less = 1 / (2 * len(a) * a.std() * b.std()) if verdicts and phi > 0 else 0.0
    return max(phi - less, 0.0) if phi > 0 else phi
