"""Position bias of a judge of pairs, and its agreement with people's verdicts; shares of pairs in groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import signal, stats

from calib.analysis.agreement.agreement import agreement
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.numeric import recoded, units_of, wilson
from calib.core.result import NO_INTERVAL, Estimate, Interval, bracket, short, term

_LEAST_GROUPS = 10
_FLOOR = 0.25  # of the variance of independent pairs


class PairShare(NamedTuple):
    """A share of pairs, or kappa, with its interval.

    Attributes
    ----------
    estimate, std_error : float
    interval : Interval
        NaN ends where there is none.
    n : int
        Pairs that it is of.
    """

    estimate: float
    std_error: float
    interval: Interval
    n: int


def win_shares(values: ArrayLike, name: str) -> Floats:
    """Outcomes of pairs: 1, 0, .5 for a tie, or between; NaN where there is none."""
    out = check.array(values, name, ndim=1)
    if (off := (out < 0) | (out > 1)).any():
        row = int(np.argmax(off))
        rule = "must be the share of A that wins: 1, 0, 0.5 for a tie, or between"
        raise ArgumentError(name, rule, f"got {out[row]:g} at {row}")
    return out


def winners(shares: Floats) -> Floats:
    """Who wins: 1 where A has more than half, 0 where less, .5 for a tie."""
    return np.asarray((np.sign(np.round(shares - 0.5, 9)) + 1) / 2)


def group_of_pairs(groups: Labels | None, keep: NDArray[np.bool_]) -> Codes | None:
    """The group of each pair that is kept; None where each pair is on its own."""
    unit = None if groups is None else units_of(groups, keep)
    return None if unit is None or len(np.unique(unit)) == len(unit) else unit


def sums_by(unit: Codes | None, values: Floats) -> Floats:
    """Sums over the pairs of each group."""
    return values if unit is None else np.asarray(np.bincount(unit, values), dtype=float)


def mean_variance(values: Floats, unit: Codes | None) -> float:
    """Variance of a mean of pairs; over few groups it may be very small by luck, and has a floor."""
    off, n = values - values.mean(), len(values)
    alone = float(np.sum(off**2)) / n**2
    if unit is None:
        return alone
    k = int(unit.max()) + 1
    return max(_FLOOR * alone, k / (k - 1) * float(np.sum(sums_by(unit, off) ** 2)) / n**2) if k > 1 else np.nan


def wilson_ends(values: Floats, unit: Codes | None, confidence_level: float) -> tuple[float, Interval]:
    """A mean of values of [0, 1], and Wilson's interval of as many answers as have its variance.

    With groups, or values that are no plain yes and no, the normal quantile gives way to Student's with one less than
    the units as degrees of freedom.
    """
    p, variance = float(values.mean()), mean_variance(values, unit)
    n_units = len(values) if unit is None else int(unit.max()) + 1
    if np.isnan(variance) or n_units < 2:
        return p, NO_INTERVAL
    size = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(n_units)
    plain = unit is None and bool(np.isin(values, (0.0, 1.0)).all())
    quantile = two_sided(np.inf if plain else n_units - 1, confidence_level)
    return p, Interval(*map(float, wilson(p * size, size, quantile)))


def share_of(values: Floats, unit: Codes | None, confidence_level: float) -> PairShare:
    """A share with its interval; NaN of nothing."""
    if not len(values):
        return PairShare(np.nan, np.nan, NO_INTERVAL, 0)
    unit = None if unit is None else recoded(unit)
    p, interval = wilson_ends(values, unit, confidence_level)
    return PairShare(p, float(np.sqrt(mean_variance(values, unit))), interval, len(values))


def few_groups(unit: Codes | None) -> tuple[str, ...]:
    """A warning, if groups are few."""
    n = 0 if unit is None else int(unit.max()) + 1
    text = f"an interval over {n} groups holds less often than it says; {_LEAST_GROUPS} or more would be better"
    return (f"few_groups: {text}",) if 0 < n < _LEAST_GROUPS else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias(Estimate):
    """How a judge's verdicts on pairs depend on which of the two was shown first.

    The estimate is the net share: how much larger the share won is for an output when it is shown first, from -1 to 1.

    Attributes
    ----------
    std_error : float
    p_value : float
        Of the exact sign test on the pairs whose verdict changes with the order: as many towards the first as
        towards the second. Of groups each is turned as a whole.
    consistency, consistency_interval : float, Interval
        Share of the pairs with the same verdict in both orders.
    n_first, n_second, n_ties : int
        Pairs whose verdict moves to what is shown first, to what is shown second, and that are a tie in both orders.
    n, n_one_order : int
        Pairs judged in both orders, and those left out, as a verdict is missing in one order or both.
    n_groups : int
        0 where each pair is on its own.
    """

    _kind = "position|ci:newcombe|test:sign"
    _cells = (
        "estimate std_error interval p_value consistency consistency_interval n_first n_second n_ties n n_one_order "
        "n_groups warnings"
    )
    std_error: float
    p_value: float
    consistency: float
    consistency_interval: Interval
    n_first: int
    n_second: int
    n_ties: int
    n: int = term("n")
    n_groups: int = term("groups", unless=0)
    n_one_order: int = term("one-order")

    def __str__(self) -> str:
        return (
            f"shown first against shown second {self.n_first}:{self.n_second} of {self.n} pairs, net share "
            f"{short(self.estimate)}, {self.bracket}, p = {self.p_value:.2g}, consistent {short(self.consistency)}"
            f"{self._bracketed_warnings}"
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
    (f - s) / n. With groups the test turns whole groups, exactly, and the interval is over groups.

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

    References
    ----------
    Newcombe (1998), Improved confidence intervals for the difference between binomial proportions based on paired
    data, Statistics in Medicine 17, 2635-2650. Wang et al. (2024), Large Language Models are not Fair Evaluators, ACL.

    Examples
    --------
    >>> first = [1] * 60 + [0] * 40 + [1] * 20 + [0] * 10
    >>> second = [1] * 60 + [0] * 40 + [0] * 20 + [1] * 10
    >>> bias = position_bias(first, second)
    >>> bias.n_first, bias.n_second, round(bias.p_value, 6), round(bias.consistency, 4)
    (20, 10, 0.098737, 0.7692)
    >>> round(bias.estimate, 4), [round(end, 4) for end in bias.interval]
    (0.0769, [-0.0059, 0.1577])
    """
    a, b = win_shares(first, "first"), win_shares(second, "second")
    check.same_length(first=a, second=b)
    level = check.probability(confidence_level, "confidence_level")
    keep = np.isfinite(a) & np.isfinite(b)
    if not keep.any():
        raise ArgumentError("first", "must have pairs that {0} has, too", "no pair is in both", mentions=("second",))
    unit = group_of_pairs(groups, keep)
    a, b = a[keep], b[keep]
    moved = winners(a) - winners(b)
    consistent = share_of((moved == 0).astype(float), unit, level)
    notes = few_groups(unit)
    if consistent.n >= 10 and consistent.estimate < 0.5:
        text = "turned: fewer than half of the pairs keep their verdict; if the outcomes of the second order are of"
        notes += (f"{text} what was shown first there, not of A, turn them (1 - outcome)",)
    return PositionBias(
        estimate=float(np.mean(a - b)), std_error=float(np.sqrt(mean_variance(a - b, unit))),
        interval=_newcombe(a, b, unit, level), p_value=_sign_test(moved, unit), confidence_level=level,
        consistency=consistent.estimate, consistency_interval=consistent.interval, n=len(a),
        n_first=int(np.sum(moved > 0)), n_second=int(np.sum(moved < 0)),
        n_ties=int(np.sum((winners(a) == 0.5) & (moved == 0))), n_one_order=int(np.sum(~keep)),
        n_groups=0 if unit is None else int(unit.max()) + 1, warnings=notes,
    )  # fmt: skip


def _sign_test(moved: Floats, unit: Codes | None) -> float:
    """Two-sided and exact: the sum of signs of each group has one sign or the other, as a coin falls."""
    signs = sums_by(unit, np.sign(moved)).astype(int)
    sums, net = np.abs(signs), abs(int(signs.sum()))
    sizes, counts = np.unique(sums[sums > 0], return_counts=True)
    if not len(sizes):
        return 1.0
    law = np.ones(1)  # of (total + sum of signs) / 2, one size of groups after the other
    for size, count in zip(sizes, counts, strict=True):
        steps = np.zeros(count * size + 1)
        steps[::size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        law = steps if len(law) == 1 else signal.convolve(law, steps)
    return float(min(1.0, 2 * np.sum(law[(int(sums.sum()) + net) // 2 :])))


def _newcombe(a: Floats, b: Floats, unit: Codes | None, level: float) -> Interval:
    """Wilson's ends of both shares, put together by the correlation of the two over units."""
    (p, ends_a), (q, ends_b) = wilson_ends(a, unit, level), wilson_ends(b, unit, level)
    x, y = (sums_by(unit, values - values.mean()) for values in (a, b))
    spread = float(np.sqrt(np.sum(x**2) * np.sum(y**2)))
    phi, net = float(np.sum(x * y)) / spread if spread >= 1e-12 else 0.0, p - q
    if phi > 0 and np.isin([a, b], (0.0, 0.5, 1.0)).all():  # of plain verdicts a little less, so that it is never 1
        phi = max(phi - 1 / (2 * len(a) * a.std() * b.std()), 0.0)
    down_a, up_a, down_b, up_b = p - ends_a.low, ends_a.high - p, q - ends_b.low, ends_b.high - q
    below = np.sqrt(max(down_a**2 - 2 * phi * down_a * up_b + up_b**2, 0.0))
    above = np.sqrt(max(up_a**2 - 2 * phi * up_a * down_b + down_b**2, 0.0))
    return Interval(float(max(net - below, -1.0)), float(min(net + above, 1.0)))


QUANTITIES = {
    "with_ties": "the same of A, B and tie",
    "without_ties": "the same winner, where neither says tie",
    "kappa": "beyond chance, of A, B and tie (kappa)",
    "consistency": "the judge's verdict is the same in both orders",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseAgreement(Estimate):
    """A judge's verdicts on pairs beside people's.

    The estimate is the agreement with ties.

    Attributes
    ----------
    with_ties : PairShare
        Pairs on which both say the same of A, B and tie; a verdict that changes with the order is a tie.
    without_ties : PairShare
        The same winner, of the pairs on which neither says tie.
    kappa : PairShare
        Cohen's kappa of the three answers, without weights.
    consistency : PairShare
        The judge's verdict is the same in both orders, of the pairs it judged in both.
    n_ties, n_ties_labels : int
        Of these, ties of the judge and of people.
    n_order_ties : int
    n, n_missing : int
        Pairs with a verdict of both, and those left out, as one of the two has no verdict.
    n_groups : int
        0 where each pair is on its own.
    """

    _kind = "pairwise|ci:wilson|kappa-ci:jackknife"
    with_ties: PairShare
    without_ties: PairShare
    kappa: PairShare
    consistency: PairShare
    n_ties: int
    n_ties_labels: int
    n_order_ties: int
    n: int = term("n")
    n_groups: int = term("groups", unless=0)
    n_missing: int = term("missing")

    @property
    def shares(self) -> dict[str, PairShare]:
        """Each quantity that could be computed, by its name."""
        return {name: share for name in QUANTITIES if (share := getattr(self, name)).n}

    def _rows(self) -> list[dict[str, Any]]:
        counts = self._row("n_ties", "n_ties_labels", "n_order_ties", "n_missing", "n_groups", "warnings")
        return [
            {"quantity": name, "estimate": share.estimate, "std_error": share.std_error}
            | {"conf_low": share.interval.low, "conf_high": share.interval.high, "n": share.n}
            | counts
            for name, share in self.shares.items()
        ]

    def __str__(self) -> str:
        shares = {"agreement with ties": self.with_ties, "without ties": self.without_ties, "kappa": self.kappa}
        shares |= {"consistent over orders": self.consistency} if self.consistency.n else {}
        words = []
        for name, share in shares.items():
            value = f"{short(share.estimate)}, {bracket(share.interval, self.confidence_level)} (n {share.n})"
            words.append(f"{name} {value}" if share.n else f"{name}: no such pair")
        return f"{'; '.join(words)}{self._bracketed_warnings}"


def pairwise_agreement(
    judge: ArrayLike,
    labels: ArrayLike,
    *,
    orders: ArrayLike | None = None,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> PairwiseAgreement:
    r"""Agreement of a judge's verdicts on pairs with people's.

    A verdict is A where A has more than half, B where less, and a tie at half: a judge whose verdict turns with the
    order has half on average, and so a tie. With ties both must say the same of three answers; without ties the pairs
    count on which neither says tie (setups 1 and 2 of Zheng et al.). A judge that says tie on all that is hard looks
    good without ties: read the two together, and kappa, which takes off what two such raters share by chance.

    Shares have Wilson's interval, with groups for as many pairs as the spread over groups leaves; kappa has the
    jackknife's (`calib.stats.agreement`).

    Parameters
    ----------
    judge, labels : array_like, shape (n,)
        The share of A that wins by the judge and by people: 1, 0, .5 for a tie, or between (the mean of both orders, of
        several people). NaN leaves the pair out.
    orders : array_like, shape (n, 2), optional
        The judge's verdict with A first and with B first, both in terms of A; NaN where it was not asked.
    groups : sequence, shape (n,), optional
        What pairs share, such as the prompt.
    confidence_level : float, default 0.95

    References
    ----------
    Zheng et al. (2023), Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, NeurIPS.

    Examples
    --------
    >>> agreement = pairwise_agreement([1, 1, 0, 0.5, 1, 0] * 10, [1, 1, 0, 0, 0.5, 0] * 10)
    >>> round(agreement.with_ties.estimate, 3), agreement.without_ties.estimate, agreement.without_ties.n
    (0.667, 1.0, 40)
    """
    x, y = win_shares(judge, "judge"), win_shares(labels, "labels")
    check.same_length(judge=x, labels=y)
    level = check.probability(confidence_level, "confidence_level")
    by_order = np.full((len(x), 2), np.nan) if orders is None else check.array(orders, "orders", ndim=2)
    if by_order.shape != (len(x), 2):
        raise ArgumentError("orders", f"must have the shape ({len(x)}, 2)", f"got {by_order.shape}")
    win_shares(by_order.ravel(), "orders")
    keep = np.isfinite(x) & np.isfinite(y)
    if not keep.any():
        raise ArgumentError("judge", "must have pairs that {0} has, too", "no pair is in both", mentions=("labels",))
    unit = group_of_pairs(groups, keep)
    x, y, first, second = winners(x[keep]), winners(y[keep]), by_order[keep, 0], by_order[keep, 1]
    decided, in_both = (x != 0.5) & (y != 0.5), np.isfinite(first) & np.isfinite(second)
    same = winners(first) == winners(second)
    # of the three answers; NaN where neither of the two ever says anything else
    kappa = agreement(x, y, groups=unit, method="kappa_nominal", confidence_level=level)
    every = np.ones(len(x), dtype=bool)
    with_ties, without_ties, consistency = (
        share_of(equal[rows].astype(float), None if unit is None else unit[rows], level)
        for equal, rows in ((x == y, every), (x == y, decided), (same, in_both))
    )
    return PairwiseAgreement(
        estimate=with_ties.estimate, interval=with_ties.interval, confidence_level=level, warnings=few_groups(unit),
        with_ties=with_ties, without_ties=without_ties,
        kappa=PairShare(kappa.estimate, kappa.std_error, kappa.interval, len(x)), consistency=consistency,
        n_ties=int(np.sum(x == 0.5)), n_ties_labels=int(np.sum(y == 0.5)),
        n_order_ties=int(np.sum((x == 0.5) & in_both & ~same)), n=len(x),
        n_groups=0 if unit is None else int(unit.max()) + 1, n_missing=int(np.sum(~keep)),
    )  # fmt: skip
