"""How often a judge of pairs prefers what people prefer: with ties and without, and beyond chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.agreement.agreement import agreement
from calib.analysis.pairs.position_bias import PairShare, few_groups, share_of, units_of, verdicts_of, win_shares
from calib.core import check
from calib.core.check import ArgumentError, Codes, Labels
from calib.core.result import Interval, Result, bracket, short

QUANTITIES = {
    "with_ties": "the same of A, B and tie",
    "without_ties": "the same winner, where neither says tie",
    "kappa": "beyond chance, of A, B and tie (kappa)",
    "consistency": "the judge's verdict is the same in both orders",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseAgreement(Result):
    """A judge's verdicts on pairs beside people's.

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
    confidence_level : float
    n : int
        Pairs with a verdict of both.
    n_ties, n_ties_people : int
        Of these, ties of the judge and of people.
    n_order_ties : int
        Ties of the judge that are a change of its verdict with the order.
    n_missing : int
        Pairs left out, as one of the two has no verdict.
    n_groups : int
        0 where each pair is on its own.
    warnings : tuple of str
    """

    with_ties: PairShare
    without_ties: PairShare
    kappa: PairShare
    consistency: PairShare
    confidence_level: float
    n: int
    n_ties: int
    n_ties_people: int
    n_order_ties: int
    n_missing: int
    n_groups: int
    warnings: tuple[str, ...]

    @property
    def estimate(self) -> float:
        """Agreement with ties."""
        return self.with_ties.estimate

    @property
    def interval(self) -> Interval:
        """Of the agreement with ties."""
        return self.with_ties.interval

    @property
    def shares(self) -> dict[str, PairShare]:
        """Each quantity that could be computed, by its name."""
        return {name: share for name in QUANTITIES if (share := getattr(self, name)).n}

    def _rows(self) -> list[dict[str, Any]]:
        counts = self._row("n_ties", "n_ties_people", "n_order_ties", "n_missing", "n_groups", "warnings")
        return [
            {"quantity": name, "estimate": share.estimate, "std_error": share.std_error, "conf_low": share.interval.low}
            | {"conf_high": share.interval.high, "n": share.n}
            | counts
            for name, share in self.shares.items()
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"pairwise": True, "ci": "wilson", "kappa-ci": "jackknife", "cl": self.confidence_level}
        return terms | {"n": self.n, "groups": self.n_groups or None, "missing": self.n_missing}

    def __str__(self) -> str:
        shares = {"agreement with ties": self.with_ties, "without ties": self.without_ties, "kappa": self.kappa}
        shares |= {"consistent over orders": self.consistency} if self.consistency.n else {}
        words = [
            f"{name} {short(share.estimate)}, {bracket(share.interval, self.confidence_level)} (n {share.n})"
            if share.n
            else f"{name}: no such pair"
            for name, share in shares.items()
        ]
        return f"{'; '.join(words)}{self._bracketed_warnings}"


def pairwise_agreement(
    judge: ArrayLike,
    people: ArrayLike,
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
    judge, people : array_like, shape (n,)
        The share of A that wins: 1, 0, .5 for a tie, or between (the mean of both orders, of several people). NaN
        leaves the pair out.
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
    >>> found = pairwise_agreement([1, 1, 0, 0.5, 1, 0] * 10, [1, 1, 0, 0, 0.5, 0] * 10)
    >>> round(found.with_ties.estimate, 3), found.without_ties.estimate, found.without_ties.n
    (0.667, 1.0, 40)
    """
    x, y = win_shares(judge, "judge"), win_shares(people, "people")
    check.same_length(judge=x, people=y)
    level = check.probability(confidence_level, "confidence_level")
    by_order = np.full((len(x), 2), np.nan) if orders is None else check.array(orders, "orders", ndim=2)
    if by_order.shape != (len(x), 2):
        raise ArgumentError("orders", f"must have the shape ({len(x)}, 2)", f"got {by_order.shape}")
    win_shares(by_order.ravel(), "orders")
    keep = np.isfinite(x) & np.isfinite(y)
    if not keep.any():
        raise ArgumentError("judge", "must have pairs that {0} has, too", "no pair is in both", mentions=("people",))
    unit = units_of(groups, keep, len(x))
    x, y, first, second = verdicts_of(x[keep]), verdicts_of(y[keep]), *by_order[keep].T
    decided, in_both = (x != 0.5) & (y != 0.5), np.isfinite(first) & np.isfinite(second)
    same = verdicts_of(first) == verdicts_of(second)
    # of the three answers; NaN where neither of the two ever says anything else
    kappa = agreement(x, y, groups=unit, method="kappa_nominal", confidence_level=level)
    return PairwiseAgreement(
        with_ties=share_of((x == y).astype(float), unit, level),
        without_ties=_share_where(decided, x == y, unit, level),
        kappa=PairShare(kappa.estimate, kappa.std_error, kappa.interval, len(x)),
        consistency=_share_where(in_both, same, unit, level),
        confidence_level=level,
        n=len(x),
        n_ties=int(np.sum(x == 0.5)),
        n_ties_people=int(np.sum(y == 0.5)),
        n_order_ties=int(np.sum((x == 0.5) & in_both & ~same)),
        n_missing=int(np.sum(~keep)),
        n_groups=0 if unit is None else int(unit.max()) + 1,
        warnings=few_groups(unit),
    )


def _share_where(rows: Any, same: Any, unit: Codes | None, level: float) -> PairShare:
    return share_of(same[rows].astype(float), None if unit is None else unit[rows], level)
