"""Whether labels go further with a judge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.planning.pilot import correlation_interval, labelled_pairs, pearson, told
from calib.core import check
from calib.core.result import Interval, Result, bracket, short

_CEILING = 2.0  # times that labels go further, at most, with a judge no better than what it judges


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeHelp(Result):
    """Whether labels go further with this judge.

    Attributes
    ----------
    helps : bool
        Whether ``|rho|`` is above `break_even`.
    verdict : str
        In words, with how sure that is.
    rho : float
        Pearson correlation of labels and judge on the gold items.
    interval : Interval
        Of the correlation (Fisher's z).
    confidence_level : float
    break_even : float
        1 / sqrt(n_gold - 2): below it the judge makes intervals wider.
    width_ratio : float
        Expected width with the judge over width without, for many unlabelled items.
    label_factor : float
        How many times as far labels go: 1 / `width_ratio` squared.
    n_gold : int
    warnings : tuple of str
        ``constant_judge``.
    """

    helps: bool
    verdict: str
    rho: float
    interval: Interval
    confidence_level: float
    break_even: float
    width_ratio: float
    label_factor: float
    n_gold: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"helps": self.helps, "rho": self.rho}
        row |= {"conf_low": self.interval.low, "conf_high": self.interval.high, "break_even": self.break_even}
        return [row | {"width_ratio": self.width_ratio, "label_factor": self.label_factor, "n_gold": self.n_gold}]

    def _terms(self) -> dict[str, Any]:
        return {"will-it-help": True, "coef": "pearson", "cl": self.confidence_level, "gold": self.n_gold}

    def __str__(self) -> str:
        return (
            f"{self.verdict}: r = {short(self.rho)}, {bracket(self.interval, self.confidence_level)}, break-even "
            f"{short(self.break_even)} with {self.n_gold} labels; {_how_far(self.label_factor)}"
        )


def will_it_help(y: ArrayLike, f: ArrayLike, *, confidence_level: float = 0.95) -> JudgeHelp:
    r"""Whether a judge narrows an interval for the human mean.

    The regression estimator beats labels alone, for normal scores and many unlabelled
    items, by the width ratio

    .. math:: \sqrt{(1 - \rho^2) \frac{n - 2}{n - 3}} < 1
              \iff |\rho| > \frac{1}{\sqrt{n - 2}}

    so a weak judge helps only where there are many labels. A judge no better than the
    model that it judges has :math:`\rho^2 \le 1/2` on right-or-wrong answers: labels
    then go twice as far at most, however many items it scores.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Labels (NaN where there is none) and judge scores.
    confidence_level : float, default 0.95

    Returns
    -------
    JudgeHelp

    Raises
    ------
    ValueError
        If fewer than four labels are there, or all are equal.

    References
    ----------
    Mani et al. (2025), arXiv:2505.20178; Dorner, Nastl and Hardt (2025), arXiv:2410.13341.

    Examples
    --------
    >>> print(will_it_help([4, 3, 5, 4, 2, 4, 1, 3], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8, 2.0, 3.6]))
    the judge helps: r = 0.9699, 95 % CI [0.838, 0.9947], break-even 0.4082 with 8 labels; labels go 14.06 times as far
    with many unlabelled items (a judge no better than what it judges reaches 2 at most)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    labels, scores = labelled_pairs(y, f)
    n, rho = len(labels), pearson(labels, scores)
    interval, even = correlation_interval(rho, n, confidence), 1 / math.sqrt(n - 2)
    ratio = math.sqrt((1 - rho**2) * (n - 2) / (n - 3))
    return JudgeHelp(
        helps=abs(rho) > even,
        verdict=_judge_verdict(rho, interval, even),
        rho=rho,
        interval=interval,
        confidence_level=confidence,
        break_even=even,
        width_ratio=ratio,
        label_factor=1 / ratio**2 if ratio else math.inf,
        n_gold=n,
        warnings=told({} if np.ptp(scores) else {"constant_judge": "it gives all gold items the same score."}),
    )


def _judge_verdict(rho: float, interval: Interval, even: float) -> str:
    if abs(rho) <= even:
        return "the judge does not help"
    sure = interval.low > even or interval.high < -even
    return "the judge helps" if sure else "the judge seems to help, but these labels do not make it sure"


def _how_far(factor: float) -> str:
    if factor <= 1:
        return "take the labels alone"
    return (
        f"labels go {short(factor)} times as far with many unlabelled items "
        f"(a judge no better than what it judges reaches {_CEILING:g} at most)"
    )
