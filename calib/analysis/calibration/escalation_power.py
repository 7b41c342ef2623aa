"""Before labels are bought: how much of the work a judge could take over, at best and as its confidences say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.calibration.accept_threshold import fallback, grid_of, spent, zero_error_labels
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Result, short

_TRIES = 2000
_UNKNOWN = (
    "unknown_errors: how often the judge errs is not known, so that nothing depends on its scores; labels of some "
    "items, calibrated scores, or confidences that are chances would say what to expect"
)


class PowerPoint(NamedTuple):
    """One threshold.

    Attributes
    ----------
    threshold, accepted : float
        The confidence, and the share of the items that has it or more.
    labels_needed : int
        Labels to buy, so that enough without an error are to be expected there.
    assumed_risk : float
        As the confidences say; NaN where they say nothing.
    chance : float
        That this threshold or a lower one is reached, if they are right; NaN where they say nothing.
    """

    threshold: float
    accepted: float
    labels_needed: int
    assumed_risk: float
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EscalationPower(Result):
    """What labels could show, before they are bought.

    Attributes
    ----------
    at_best : float
        Share that is accepted if the judge makes no error on the labels: all that have a confidence, or nothing.
    smallest : float
        The smallest share that so many labels can show anything of, without an error.
    first_labels : int
        Labels that a first acceptance takes at least: (1 - risk) ** m <= 1 - confidence_level.
    expected, chance : float
        Share that is accepted on the average, and how often anything is, if the judge errs as was assumed; NaN else.
    possible : float
        The largest share whose assumed risk is at most `risk`: what many labels would come to.
    n_labels, n : int
    risk, confidence_level : float
    assumed : str
        What says how often the judge errs: "the confidences", "60 labels", or "nothing".
    curve : tuple of PowerPoint
        All thresholds, the strictest first.
    warnings : tuple of str
    """

    at_best: float
    smallest: float
    first_labels: int
    expected: float
    chance: float
    possible: float
    n_labels: int
    n: int
    risk: float
    confidence_level: float
    assumed: str = "nothing"
    warnings: tuple[str, ...] = ()
    curve: tuple[PowerPoint, ...] = field(repr=False)

    _cells = "expected chance possible at_best smallest first_labels n_labels n risk confidence_level assumed warnings"

    def _terms(self) -> dict[str, Any]:
        terms = {"escalation_power": True, "risk": self.risk, "level": self.confidence_level}
        return terms | {"labels": self.n_labels, "n": self.n, "assumed": self.assumed}

    def __str__(self) -> str:
        what = f"a risk of {short(self.risk)} with {100 * self.confidence_level:g} % confidence"
        if not self.at_best:
            return (
                f"{self.n_labels} labels cannot show {what}: {self.first_labels} without an error are needed at least"
            )
        ends = f"no share below {100 * self.smallest:.3g} % can be shown"
        if not self.expected >= 0:
            best = f"{self.n_labels} labels: at best {100 * self.at_best:.3g} % of {self.n} items accepted at {what}"
            return f"{best}, {ends}; that follows from the number of labels alone{self._bracketed_warnings}"
        mean = (
            f"{self.n_labels} labels: {100 * self.expected:.3g} % of {self.n} items accepted on the average at {what}"
        )
        drawn = f"something in {100 * self.chance:.3g} % of the drawings of labels"
        most = f"with many labels {100 * self.possible:.3g} %, at best {100 * self.at_best:.3g} %"
        return f"{mean}, {drawn}, judging by {self.assumed}; {most}; {ends}{self._bracketed_warnings}"


def escalation_power(
    confidence: ArrayLike,
    n_labels: int,
    *,
    errors: ArrayLike | None = None,
    risk: float = 0.1,
    confidence_level: float = 0.9,
    rng: np.random.Generator | int | None = None,
) -> EscalationPower:
    """What share of the items a judge could be allowed to decide, with so many labels; before any is bought.

    Without an error in m labels the risk is shown where (1 - risk)^m <= 1 - confidence_level: with fewer labels nothing
    can be accepted, whoever judges. With an assumed chance of error for each item, drawings of labels are simulated
    and `accept_threshold`'s tests run on them.

    Parameters
    ----------
    confidence : array_like, shape (N,)
        Of all items that are to be decided; NaN where unknown.
    n_labels : int
        Labels to be bought, at random among the items.
    errors : array_like, shape (N,), optional
        The assumed chance that each verdict is wrong, such as ``1 - confidence`` of a calibrated one.
    risk, confidence_level : float
        As for `accept_threshold`.
    rng : Generator or int, optional
        For the drawings; default: always the same.

    Returns
    -------
    EscalationPower

    Raises
    ------
    ArgumentError
        If there are more labels than items, or a chance is not within [0, 1].

    Examples
    --------
    >>> print(escalation_power([0.5, 0.7, 0.9] * 100, 20))
    20 labels cannot show a risk of 0.1 with 90 % confidence: 22 without an error are needed at least
    >>> power = escalation_power([0.5, 0.7, 0.9] * 100, 60)
    >>> power.at_best, round(power.smallest, 3), [point.labels_needed for point in power.curve]
    (1.0, 0.367, [66, 33, 22])
    """
    sure = check.array(confidence, "confidence", ndim=1)
    alpha, level = check.probability(risk, "risk"), check.probability(confidence_level, "confidence_level")
    n = check.whole(n_labels, "n_labels", least=1)
    if not np.isfinite(sure).any():
        raise ArgumentError("confidence", "must have a confidence at least", "has none")
    if n > len(sure):
        raise ArgumentError("n_labels", f"must be at most the number of items ({len(sure)})", f"got {n}")
    thresholds, accepted = grid_of(sure)
    least = zero_error_labels(alpha, level)
    wrong = None if errors is None else _chances(errors, sure)
    nan = np.full(len(thresholds), np.nan)
    assumed = nan if wrong is None else np.array([np.nanmean(wrong[sure >= at]) for at in thresholds])
    reached = nan if wrong is None else _reached(sure, wrong, n, alpha, 1 - level, np.random.default_rng(rng or 0))
    needed = np.ceil(least / accepted - 1e-9).astype(int)
    columns = (thresholds, accepted, needed, assumed, reached)
    shares = np.diff(accepted, prepend=0.0)
    below = np.flatnonzero(assumed <= alpha)
    return EscalationPower(
        at_best=float(accepted[-1]) if n * accepted[-1] >= least - 1e-9 else 0.0,
        smallest=min(1.0, least / n),
        first_labels=least,
        expected=float(reached @ shares),
        chance=float(reached[0]),
        possible=float("nan") if wrong is None else float(accepted[below[-1]]) if len(below) else 0.0,
        n_labels=n,
        n=len(sure),
        risk=alpha,
        confidence_level=level,
        assumed="nothing" if wrong is None else "the confidences",
        warnings=(_UNKNOWN,) * (wrong is None),
        curve=tuple(PowerPoint(*row) for row in zip(*(column.tolist() for column in columns), strict=True)),
    )


def _chances(errors: ArrayLike, sure: Floats) -> Floats:
    wrong = check.array(errors, "errors", ndim=1)
    check.same_length(confidence=sure, errors=wrong)
    wrong = np.where(np.isfinite(sure), wrong, np.nan)
    if (odd := (wrong < 0) | (wrong > 1)).any():
        raise ArgumentError("errors", "must be chances between 0 and 1", f"got {short(wrong[odd][0])}")
    return wrong


def _reached(sure: Floats, wrong: Floats, n: int, alpha: float, delta: float, rng: np.random.Generator) -> Floats:
    """How often each threshold or a lower one is the last that passes, over drawings of n labels."""
    thresholds, accepted = grid_of(sure)
    cell = np.searchsorted(-thresholds, -np.where(np.isfinite(sure), sure, -np.inf))
    size = np.bincount(cell, minlength=len(thresholds) + 1)
    rate = np.divide(np.bincount(cell, np.nan_to_num(wrong), len(size)), size, out=np.zeros(len(size)), where=size > 0)
    drawn = rng.multivariate_hypergeometric(size, n, size=_TRIES)[:, :-1]
    e = rng.binomial(drawn, rate[:-1]).cumsum(axis=1)
    m = drawn.cumsum(axis=1)
    p = np.where(m > 0, special.bdtr(e, np.maximum(m, 1), alpha), 1.0)
    weights = spent(accepted * n, alpha, delta)
    passed = np.array([fallback(row, weights)[1] for row in p])
    return np.asarray(np.logical_or.accumulate(passed[:, ::-1], axis=1)[:, ::-1].mean(axis=0))
