"""Laws of an estimate: interval ends from a tail probability, and a p-value from a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import special

from calib.core.gaffke import Gaffke, gaffke_ends
from calib.core.result import Interval

ALTERNATIVES = ("two-sided", "greater", "less")
_HALVINGS = 60  # to the last bit of a tail probability


class Law(Protocol):
    """Ends for a probability left in one tail, and the tails that put an end on a value.

    Fields and answers are numbers, or arrays of one shape.
    """

    @property
    def support(self) -> tuple[float, float]:
        """The values that the target can have."""

    def low(self, tail: float) -> Any:
        """The end that leaves this much probability below it."""

    def high(self, tail: float) -> Any:
        """The end that leaves this much probability above it."""

    def tails(self, null: float) -> tuple[Any, Any]:
        """The tail with `low(tail) == null`, and the one with `high(tail) == null`."""


@dataclass(frozen=True, slots=True)
class Student:
    """Point plus and minus t times the standard error; df = inf is the normal."""

    point: Any
    error: Any
    df: Any

    @property
    def support(self) -> tuple[float, float]:
        return -np.inf, np.inf

    def low(self, tail: float) -> Any:
        return self.point - quantile(self.df, tail) * self.error

    def high(self, tail: float) -> Any:
        return self.point + quantile(self.df, tail) * self.error

    def tails(self, null: float) -> tuple[Any, Any]:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(np.divide(self.point - null, self.error))  # of no error: 0 at the point, huge elsewhere
        return upper(self.df, t), upper(self.df, -t)


@dataclass(frozen=True, slots=True)
class Numeric:
    """Any interval whose ends are a function of the tail: its p-values by halving."""

    ends: Callable[[float], tuple[float, float]]
    support: tuple[float, float]

    def low(self, tail: float) -> Any:
        return self.ends(tail)[0]

    def high(self, tail: float) -> Any:
        return self.ends(tail)[1]

    def tails(self, null: float) -> tuple[Any, Any]:
        return (_halved(lambda tail: self.ends(tail)[0] > null), _halved(lambda tail: self.ends(tail)[1] < null))


def _halved(excluded: Callable[[float], bool]) -> float:
    """The smallest tail (up to a half) whose end excludes the value; on the log scale, where small tails lie."""
    if not excluded(0.5):
        return 0.5
    low, high = -700.0, float(np.log(0.5))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if excluded(float(np.exp(middle))) else (middle, high)
    return float(np.exp(high))


def interval_of(law: Law, level: float, alternative: str) -> Interval:
    """The interval of a law; a one-sided one ends where the scale does."""
    if alternative == "two-sided":
        return ends_of([law], (1 - level) / 2)[0]
    low, high = law.support
    if alternative == "greater":
        return Interval(float(law.low(1 - level)), high)
    return Interval(low, float(law.high(1 - level)))


def ends_of(laws: Sequence[Law], tail: float) -> list[Interval]:
    """Both ends of several laws, each of one estimate."""
    gaffkes = [law for law in laws if isinstance(law, Gaffke)]
    together = len(gaffkes) == len(laws)
    ends = gaffke_ends(gaffkes, tail) if together else [(law.low(tail), law.high(tail)) for law in laws]
    return [Interval(float(low), float(high)) for low, high in ends]


def p_value_of(law: Law, null: float, alternative: str) -> float:
    """What is left in the tails when an end of the interval lies on `null`."""
    above, below = (float(tail) for tail in law.tails(null))
    if alternative == "two-sided":
        return min(1.0, 2 * min(above, below))
    return above if alternative == "greater" else below


def quantile(df: Any, tail: float) -> Any:
    """The t value with this much probability above it."""
    finite = np.isfinite(df)
    return np.where(finite, -special.stdtrit(np.where(finite, df, 1.0), tail), -special.ndtri(tail))


def two_sided(df: float, level: float) -> float:
    """The t value of an interval that is to hold this often."""
    return float(quantile(df, (1 - level) / 2))


def upper(df: Any, t: Any) -> Any:
    """Probability above a t value."""
    finite = np.isfinite(df)
    return np.where(finite, special.stdtr(np.where(finite, df, 1.0), -np.asarray(t)), special.ndtr(-np.asarray(t)))
