"""Outcomes of a gate: pass, fail or inconclusive from intervals beside a threshold, and the plan of a gate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.means.guards import bounds_of
from calib.analysis.means.mean import ppi_mean
from calib.analysis.means.methods import GROSS
from calib.analysis.planning.half_width import half_width_on
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.numeric import adjusted_p_values
from calib.core.result import Estimate, Result, short

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
_LEAST = 10  # labels
MUCH_UNREAD = 0.5  # of the outputs
_MOST_ERROR = 0.2  # beyond, a verdict is hardly more than the estimate
_EVEN = 0.29  # standard deviation of scores that are even on their scale, in parts of its length


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck(Estimate):
    """One check of a gate: where the human mean lies beside the threshold.

    Attributes
    ----------
    outcome : {"pass", "fail", "inconclusive"}
    reason : str
        Why it is inconclusive; empty otherwise.
    threshold : float
        What the mean, or the difference to the baseline, has to exceed.
    std_error, error : float
        The interval is at confidence 1 - 2 `error`: each of its ends alone errs with `error` at most. NaN where
        nothing could be estimated.
    p_below, p_adjusted : float
        One-sided p-value against "not below the threshold", alone and by Holm over all checks.
    n_labels, n : int
        Labels and judge scores that it rests on.
    n_carried : int
        Labels among them that are another system's, on outputs that did not change.
    carried_from : str
        Whose labels these are.
    n_unread : int
        Items whose judge reply gave no score.
    labels_to_decide : float
        Labels in all with which the interval would end at the threshold if the estimate stayed; NaN where there is no
        such number (the outcome is known, or all items together would not do).
    evidence : str
        "own labels"; "own and carried labels" where labels of unchanged outputs count; "unchanged outputs"; "none".
    scales : str
        Those of labels and scores, in words, where they differ.
    estimand : str
        "human mean" or "human mean difference".
    sequential : bool
        Whether the interval holds at every look.
    """

    outcome: str
    reason: str
    threshold: float
    std_error: float
    error: float
    p_below: float
    p_adjusted: float
    n_labels: int
    n: int
    n_unread: int
    labels_to_decide: float
    evidence: str
    estimand: str
    sequential: bool
    n_carried: int = 0
    carried_from: str = ""
    scales: str = ""

    _cells = (
        "outcome threshold estimate std_error interval p_below p_adjusted n_labels n_carried n n_unread "
        "labels_to_decide evidence reason warnings"
    )

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"gate": True, "of": self.estimand.replace(" ", "-"), "threshold": self.threshold}
        terms |= {"error": self.error, "cl": self.confidence_level, "evidence": self.evidence.replace(" ", "-")}
        return terms | {"sequential": self.sequential or None, "labels": self.n_labels, "n": self.n}

    @property
    def numbers(self) -> str:
        """Estimate, interval and threshold in words."""
        if np.isnan(self.estimate):
            return f"no estimate, threshold {short(self.threshold)}"
        threshold = short(self.threshold) if self.estimand == "human mean" else f"{self.threshold:+.4g}"
        return f"{short(self.estimate)}, {self.bracket}, above {threshold}"

    @property
    def share_unread(self) -> float:
        """Of the outputs that were to be scored those without a score."""
        return self.n_unread / max(1, self.n + self.n_unread)

    @property
    def counts(self) -> str:
        """How many labels and scores it rests on."""
        labels = f"{self.n_labels} labels"
        if self.n_carried:
            labels = f"{self.n_labels - self.n_carried} own labels, {self.n_carried} carried from {self.carried_from}"
        return f"{labels}, {self.n} judge scores{'; ' * bool(self.scales)}{self.scales}"

    def __str__(self) -> str:
        return f"{self.outcome}: {self.numbers} ({self.counts}){': ' * bool(self.reason)}{self.reason}"


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
    low: ArrayLike, high: ArrayLike, p_below: ArrayLike, *, threshold: ArrayLike, error: float = 0.05
) -> GateOutcomes:
    r"""Pass, fail or inconclusive, with at most `error` of false passes and of false fails over all checks.

    With intervals [l, u] at confidence 1 - 2 `error`:

    - pass where :math:`l >` threshold: all checks have to pass, so that each may be tested at `error`;
    - fail where :math:`u <` threshold and the one-sided p-value, adjusted by Holm over the checks, is at most
      `error`: one failing check fails the gate;
    - else inconclusive, an end that lies on the threshold included.

    Parameters
    ----------
    low, high : array_like, shape (k,)
        Ends of the intervals; NaN where there is none, which is inconclusive.
    p_below : array_like, shape (k,)
        P-values against "not below the threshold"; NaN where nothing was tested.
    threshold : float or array_like, shape (k,)
    error : float, default 0.05

    References
    ----------
    Berger (1982), Technometrics 24:295-300, for tests that must all pass; Holm (1979), Scandinavian Journal of
    Statistics 6:65-70; D'Agostino, Massaro and Sullivan (2003), Statistics in Medicine 22:169-186, for a margin.

    Examples
    --------
    >>> found = gate_outcomes([3.2, 2.8, 1.0], [4.0, 3.6, 2.9], [0.999, 0.4, 0.03], threshold=3)
    >>> found.outcomes, found.outcome
    (('pass', 'inconclusive', 'inconclusive'), 'inconclusive')
    >>> gate_outcomes([1.0], [2.9], [0.03], threshold=3).outcome
    'fail'
    """
    error_of(error)
    named = {"low": low, "high": high, "p_below": p_below}
    ends = {name: check.array(value, name, ndim=1) for name, value in named.items()}
    check.same_length(**ends)
    lows, highs, p = ends.values()
    lines = np.broadcast_to(check.array(threshold, "threshold"), lows.shape)
    p_adjusted = adjusted_p_values(p, "holm")
    failed = (highs < lines) & (p_adjusted <= error)
    outcomes = np.where(lows > lines, PASS, np.where(failed, FAIL, INCONCLUSIVE))
    return GateOutcomes(tuple(outcomes.tolist()), p_adjusted)


def error_of(error: float) -> float:
    """A probability of error, which leaves an interval at 1 - 2 of it."""
    if not 0 < float(error) <= _MOST_ERROR:
        raise ArgumentError("error", f"must be above 0 and at most {_MOST_ERROR:g}", f"got {error!r}")
    return float(error)


# --- before there are labels ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan(Result):
    """Which means a gate tells from its threshold.

    Attributes
    ----------
    threshold : float
    passes_at, fails_at : float
        True mean (or difference) at which it passes, or fails, with probability `power`; NaN where none does.
    best_low : float
        Lower end of the interval if every label were the best there is; NaN without a scale.
    half_width : float
        Of the interval at the threshold, at confidence 1 - 2 `error`.
    n_labels, n_items : int
    rho, sd : float
        Correlation of judge and people, standard deviation of people's scores.
    error, power : float
    curve : tuple of (float, float, float)
        True mean, chance of a pass, chance of a fail.
    """

    threshold: float
    passes_at: float
    fails_at: float
    best_low: float
    half_width: float
    n_labels: int
    n_items: int
    rho: float
    sd: float
    error: float
    power: float
    curve: tuple[tuple[float, float, float], ...]

    @property
    def can_pass(self) -> bool:
        """Whether any result would pass."""
        return not self.best_low <= self.threshold

    def chances(self, mean: float) -> tuple[float, float]:
        """Chance of a pass and of a fail at a true mean, between the points of `curve` by straight lines."""
        at, passed, failed = np.transpose(self.curve)
        return float(np.interp(mean, at, passed)), float(np.interp(mean, at, failed))

    def _terms(self) -> dict[str, Any]:
        names = {"threshold": "threshold", "error": "error", "power": "power", "labels": "n_labels", "n": "n_items",
                 "rho": "rho", "sd": "sd"}  # fmt: skip
        return {"gate-plan": True} | {term: getattr(self, name) for term, name in names.items()}

    def __str__(self) -> str:
        made = f"{self.n_labels} labels and {self.n_items} judge scores (r = {short(self.rho)}, sd {short(self.sd)})"
        if not self.can_pass:
            best = f"even if every label were the best there is, the interval would begin at {short(self.best_low)}"
            return f"cannot pass: with {made} {best}, not above {short(self.threshold)}"
        chance = f"{100 * self.power:g} %"
        powers = [f"passes with {chance} a true mean of {short(self.passes_at)}"] * math.isfinite(self.passes_at)
        powers += [f"fails with {chance} one of {short(self.fails_at)}"] * math.isfinite(self.fails_at)
        never = f"neither passes nor fails any mean with {chance}"
        return f"a gate at {short(self.threshold)} {' and '.join(powers) or never}, from {made}"


def gate_plan(
    threshold: float,
    *,
    n_labels: int,
    n_items: int,
    rho: float = 0.5,
    sd: float | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    difference: bool = False,
    error: float = 0.05,
    power: float = 0.8,
) -> GatePlan:
    r"""Which true means a gate passes and fails with probability `power`, and whether it can pass at all.

    With h the half-width that `ppi_mean` makes on the average at confidence 1 - 2 `error` (without the gate's allowance
    for gross errors, which makes it 1 to 3 % wider with rho = .5), and s the standard error,

    .. math:: P(\text{pass} \mid \theta) = \Phi\Big(\frac{\theta - \text{threshold} - h}{s}\Big), \qquad
              P(\text{fail} \mid \theta) = \Phi\Big(\frac{\text{threshold} - h - \theta}{s}\Big), \qquad
              s^2 = \sigma^2 \Big[\frac{1 - \rho^2}{n} \Big(1 + \frac{1 - n/N}{n - 3}\Big) + \frac{\rho^2}{N}\Big]

    Parameters
    ----------
    threshold : float
        What the mean has to exceed; of a difference minus the margin.
    n_labels, n_items : int
        Items with a label, and with a judge score, of the build (of a difference: pairs).
    rho : float, default 0.5
        Correlation of judge and people (of a difference: of both's differences).
    sd : float, optional
        Standard deviation of people's scores (of a difference: of the differences). Default: that of scores that
        are even on their scale.
    bounds, step
        People's scale, as for `ppi_mean`.
    difference : bool, default False
        Whether a difference of two builds is compared.
    error, power : float

    Examples
    --------
    >>> plan = gate_plan(3.7, n_labels=40, n_items=100, rho=0.5, sd=0.99, bounds=(1, 5), step=1)
    >>> print(plan)
    a gate at 3.7 passes with 80 % a true mean of 4.08 and fails with 80 % one of 3.321, from 40 labels and 100 judge
    scores (r = 0.5, sd 0.99)
    >>> gate_plan(4.9, n_labels=10, n_items=100, sd=0.9, bounds=(1, 5), step=1).can_pass
    False
    """
    level = error_of(error)
    wanted = check.probability(power, "power")
    check.whole(n_labels, "n_labels", least=_LEAST)
    check.whole(n_items, "n_items", least=_LEAST)
    if n_labels > n_items:
        raise ArgumentError("n_labels", "must not be more than {0}", f"got {n_labels}", mentions=("n_items",))
    if not -1 <= rho <= 1:
        raise ArgumentError("rho", "must lie between -1 and 1", f"got {rho!r}")
    ends = bounds_of(bounds, step)
    if ends is not None and difference:
        ends = ends[0] - ends[1], ends[1] - ends[0]
    if sd is None:
        if ends is None:
            raise ArgumentError("sd", "must be given where no scale is", mentions=("bounds",))
        sd = _EVEN * (ends[1] - ends[0])
    elif not 0 < float(sd) < math.inf:
        raise ArgumentError("sd", "must be above 0", f"got {sd!r}")
    if ends is not None and not ends[0] <= threshold < ends[1]:
        rule = f"must lie on the scale and below its top ({ends[0]:g} to {ends[1]:g})"
        raise ArgumentError("threshold", rule, f"got {threshold!r}")
    threshold, sd, rho, confidence = float(threshold), float(sd), float(rho), 1 - 2 * level
    low, high = ends or (threshold - 4 * sd, threshold + 4 * sd)
    means = np.unique(np.concatenate([np.linspace(low, high, 60), [threshold]]))

    def half_width(mean: float) -> float:
        spread = sd
        if ends is not None:  # near an end scores cannot scatter as far
            spread = min(sd, 0.99 * math.sqrt(max((mean - ends[0]) * (ends[1] - mean), 0.0)))
        if spread <= 0:
            return 0.0
        law = half_width_on(ends, step, mean, spread, confidence)
        return float(law.alone(n_labels) if n_labels == n_items else law.judged(n_labels, n_items, abs(rho), spread))

    half = np.array([half_width(mean) for mean in means])
    learned = 1 + (1 - n_labels / n_items) / (n_labels - 3)
    error_at = sd * math.sqrt((1 - rho**2) / n_labels * learned + rho**2 / n_items)
    passed = special.ndtr((means - threshold - half) / error_at)
    failed = special.ndtr((threshold - half - means) / error_at)
    best_low = math.nan
    if ends is not None:  # where the interval begins if people and judge give each item the best score
        top, rest = np.full(n_labels, ends[1]), np.full(n_items - n_labels, ends[1])
        best = ppi_mean(top, top, rest, bounds=ends, step=step, conservative=GROSS, confidence_level=confidence)
        best_low = best.interval.low
    return GatePlan(
        threshold=threshold, passes_at=_where(means, passed, wanted), best_low=float(best_low), rho=rho, sd=sd,
        fails_at=_where(means[::-1], failed[::-1], wanted), half_width=float(np.interp(threshold, means, half)),
        n_labels=n_labels, n_items=n_items, error=level, power=wanted,
        curve=tuple(zip(means.tolist(), passed.tolist(), failed.tolist(), strict=True)),
    )  # fmt: skip


def _where(means: Floats, chance: Floats, power: float) -> float:
    """The mean at which a chance that grows reaches the power; NaN where it never does."""
    reached = np.flatnonzero(chance >= power)
    if not len(reached):
        return math.nan
    k = int(reached[0])
    if k == 0:
        return float(means[0])
    share = (power - chance[k - 1]) / (chance[k] - chance[k - 1])
    return float(means[k - 1] + share * (means[k] - means[k - 1]))
