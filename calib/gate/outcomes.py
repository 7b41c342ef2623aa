"""What a gate may say of intervals beside a line: pass, fail, or that the labels do not tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.numeric import adjusted
from calib.core.result import Interval, Result, bracket, short

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
LOOKS = ("once", "any")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck(Result):
    """One line of a gate: where the human mean lies beside it.

    Attributes
    ----------
    outcome : {"pass", "fail", "inconclusive"}
    reason : str
        Why it is inconclusive; empty otherwise.
    line : float
        What the mean, or the difference to the baseline, has to exceed.
    estimate, std_error : float
        Of the human mean or difference, score points; NaN where nothing could be estimated.
    interval : Interval
        At confidence 1 - 2 `error`: each of its ends alone errs with `error` at most.
    confidence_level, error : float
    p_below, p_adjusted : float
        One-sided p-value against "not below the line", alone and by Holm over all checks.
    n_gold, n : int
        Labels and judge scores that it rests on.
    n_unread : int
        Items whose judge reply gave no score.
    labels_to_decide : float
        Labels in all with which the interval would end at the line if the estimate stayed; NaN where there is no such
        number (the outcome is known, or all items together would not do).
    evidence : str
        "own labels"; "own and carried labels" where labels of unchanged outputs count; "unchanged outputs";
        "none".
    estimand : str
        "human mean" or "human mean difference".
    looks : {"once", "any"}
    warnings : tuple of str
    """

    outcome: str
    reason: str
    line: float
    estimate: float
    std_error: float
    interval: Interval
    confidence_level: float
    error: float
    p_below: float
    p_adjusted: float
    n_gold: int
    n: int
    n_unread: int
    labels_to_decide: float
    evidence: str
    estimand: str
    looks: str
    warnings: tuple[str, ...] = ()

    _cells = (
        "outcome line estimate std_error interval p_below p_adjusted n_gold n n_unread labels_to_decide evidence "
        "reason warnings"
    )

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"gate": True, "of": self.estimand.replace(" ", "-"), "line": self.line}
        terms |= {"error": self.error, "cl": self.confidence_level, "evidence": self.evidence.replace(" ", "-")}
        return terms | {"looks": self.looks if self.looks != "once" else None, "gold": self.n_gold, "n": self.n}

    @property
    def numbers(self) -> str:
        """Estimate, interval and line in words."""
        if np.isnan(self.estimate):
            return f"no estimate, line {short(self.line)}"
        asked = f"above {short(self.line)}" if self.estimand == "human mean" else f"above {self.line:+.4g}"
        return f"{short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, {asked}"

    def __str__(self) -> str:
        counts = f"({self.n_gold} labels, {self.n} judge scores)"
        return f"{self.outcome}: {self.numbers} {counts}{': ' * bool(self.reason)}{self.reason}"


class GateOutcomes(NamedTuple):
    """Outcomes of checks that hang together.

    Attributes
    ----------
    outcomes : tuple of str
        Of each check.
    p_adjusted : ndarray, shape (k,)
        P-values by Holm over all checks.
    """

    outcomes: tuple[str, ...]
    p_adjusted: Floats

    @property
    def outcome(self) -> str:
        """Of all together: fail if one fails, else inconclusive if one is, else pass."""
        return next((one for one in (FAIL, INCONCLUSIVE) if one in self.outcomes), PASS)


def gate_outcomes(
    low: ArrayLike, high: ArrayLike, p_below: ArrayLike, *, line: ArrayLike, error: float = 0.05
) -> GateOutcomes:
    r"""Pass, fail or inconclusive, with at most `error` of false passes and of false fails over all checks.

    With intervals [l, u] at confidence 1 - 2 `error`:

    - pass where :math:`l >` line: all checks have to pass, so that each may be tested at `error`;
    - fail where :math:`u <` line and the one-sided p-value, adjusted by Holm over the checks, is at most
      `error`: one failing check fails the gate;
    - else inconclusive, an end that lies on the line included.

    Parameters
    ----------
    low, high : array_like, shape (k,)
        Ends of the intervals; NaN where there is none, which is inconclusive.
    p_below : array_like, shape (k,)
        P-values against "not below the line"; NaN where nothing was tested.
    line : float or array_like, shape (k,)
    error : float, default 0.05

    Returns
    -------
    GateOutcomes
        `outcomes`, `p_adjusted`, and `outcome` of all together.

    Raises
    ------
    ValueError
        If lengths differ, or `error` is not between 0 and .5.

    References
    ----------
    Berger (1982), Technometrics 24:295-300, for tests that must all pass; Holm (1979), Scandinavian Journal of
    Statistics 6:65-70; D'Agostino, Massaro and Sullivan (2003), Statistics in Medicine 22:169-186, for a margin.

    Examples
    --------
    >>> found = gate_outcomes([3.2, 2.8, 1.0], [4.0, 3.6, 2.9], [0.999, 0.4, 0.03], line=3)
    >>> found.outcomes, found.outcome
    (('pass', 'inconclusive', 'inconclusive'), 'inconclusive')
    >>> gate_outcomes([1.0], [2.9], [0.03], line=3).outcome
    'fail'
    """
    error_of(error)
    named = {"low": low, "high": high, "p_below": p_below}
    ends = {name: check.array(value, name, ndim=1) for name, value in named.items()}
    check.same_length(**ends)
    lows, highs, p = ends.values()
    lines = np.broadcast_to(check.array(line, "line"), lows.shape)
    p_adjusted = adjusted(p, "holm")
    failed = (highs < lines) & (p_adjusted <= error)
    outcomes = np.where(lows > lines, PASS, np.where(failed, FAIL, INCONCLUSIVE))
    return GateOutcomes(tuple(outcomes.tolist()), p_adjusted)


def error_of(error: float) -> float:
    """A probability of error, which leaves an interval at 1 - 2 of it."""
    if not 0 < float(error) < 0.5:
        raise ArgumentError("error", "must be above 0 and below .5", f"got {error!r}")
    return float(error)
