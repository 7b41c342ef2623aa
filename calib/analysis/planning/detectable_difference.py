"""What a number of labels finds: the error with a judge, its half-width, and the power of its test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy import optimize, stats

from calib.analysis.planning.pilot import LEAST, correlation, positive
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.result import Result, short


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableDifference(Result):
    """Smallest difference that a design finds with a given power.

    Attributes
    ----------
    difference, difference_alone : float
        With the judge, and with the labels alone, score points.
    power, confidence_level : float
    n_gold, n_items : int
    rho, sd : float
    """

    difference: float
    difference_alone: float
    power: float
    confidence_level: float
    n_gold: int
    n_items: int
    rho: float
    sd: float

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"difference": self.difference, "difference_alone": self.difference_alone}
        row |= {"power": self.power, "n_gold": self.n_gold, "n_items": self.n_items}
        return [row | {"rho": self.rho, "sd": self.sd}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"detectable": True, "t": True, "power": self.power, "cl": self.confidence_level}
        return terms | {"gold": self.n_gold, "n": self.n_items, "rho": self.rho, "sd": self.sd}

    def __str__(self) -> str:
        return (
            f"{self.n_gold} labels and {self.n_items} judge scores find a difference of {short(self.difference)} "
            f"with power {self.power:g}, labels alone one of {short(self.difference_alone)}"
        )


def detectable_difference(
    n_gold: int, n_items: int, *, rho: float, sd: float, power: float = 0.8, confidence_level: float = 0.95
) -> DetectableDifference:
    r"""Smallest distance from the null value that a two-sided test finds with this power.

    The delta with :math:`P(|T| > t_{n-2}) = power`, T noncentral t with n - 2 degrees of
    freedom and noncentrality :math:`\delta / \sqrt{V(n)}`, V(n) as in `labels_needed`.

    Parameters
    ----------
    n_gold, n_items : int
        Items with a label; items with a judge score, the labelled ones included.
    rho, sd : float
        Correlation of judge and labels, and standard deviation of the labels; of paired
        differences where two systems are compared on the same items.
    power : float, default 0.8
    confidence_level : float, default 0.95

    Returns
    -------
    DetectableDifference

    Raises
    ------
    ValueError
        If fewer than ten labels are planned, or more than items.

    Examples
    --------
    >>> print(detectable_difference(50, 1000, rho=0.7, sd=1.0))
    50 labels and 1000 judge scores find a difference of 0.2985 with power 0.8, labels alone one of 0.4042
    """
    confidence = check.probability(confidence_level, "confidence_level")
    need_power(power, confidence)
    correlation(rho)
    positive(sd, "sd")
    check.whole(n_gold, "n_gold", least=LEAST)
    check.whole(n_items, "n_items", least=n_gold)
    return DetectableDifference(
        difference=detectable(error_with_judge(n_gold, n_items, rho, sd), n_gold - 2, power, confidence),
        difference_alone=detectable(sd / math.sqrt(n_gold), n_gold - 1, power, confidence),
        power=power,
        confidence_level=confidence,
        n_gold=n_gold,
        n_items=n_items,
        rho=rho,
        sd=sd,
    )


def error_with_judge(n: int, n_items: int, rho: float, sd: float) -> float:
    """Standard error of the regression estimator with n of the items labelled."""
    slope = 1 + (1 - n / n_items) / (n - 3)
    return sd * math.sqrt((1 - rho**2) / n * slope + rho**2 / n_items)


def half_width_of(error: float, df: int, confidence: float) -> float:
    """Of the t interval."""
    return float(stats.t.ppf((1 + confidence) / 2, df)) * error


def power_of(difference: float, error: float, df: int, confidence: float) -> float:
    """Of the two-sided t test: the square of a noncentral t is a noncentral F."""
    t = float(stats.t.ppf((1 + confidence) / 2, df))
    return float(stats.ncf.sf(t**2, 1, df, (difference / error) ** 2))


def detectable(error: float, df: int, power: float, confidence: float) -> float:
    """The difference that the test finds with this power."""
    high = float(stats.t.ppf((1 + confidence) / 2, df) + stats.t.ppf((1 + power) / 2, df)) * 2 * error
    return float(
        optimize.brentq(lambda d: power_of(d, error, df, confidence) - power, 1e-6 * high, high, xtol=1e-12 * high)
    )


def need_power(power: float, confidence: float) -> None:
    if not 1 - confidence < power < 1:
        raise ArgumentError(
            "power",
            f"must be between 1 - {{0}} ({1 - confidence:g}) and 1",
            f"got {power!r}",
            mentions=("confidence_level",),
        )
