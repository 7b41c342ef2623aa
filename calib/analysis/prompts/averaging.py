"""Gold labels on a judge's score that is averaged over prompts, and whether averaging helped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.means.mean import MeanEstimate, ppi_mean
from calib.analysis.prompts.prompt_mean import names_of
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import Student, interval_of
from calib.core.result import Interval, Result, bracket, short
from calib.core.units import unit_sums, units_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaging(Result):
    """The gold-corrected mean with the judge's score averaged over prompts, beside each prompt alone.

    Attributes
    ----------
    average, alone : MeanEstimate, tuple of MeanEstimate
        `ppi_mean` with the average, and with each prompt.
    r, r_alone : float, tuple of float
        Correlation of labels with the average, and with each prompt; 0 for a prompt whose scores do not vary.
    names : tuple of str
        Of the prompts.
    best : int
        The prompt with the largest squared correlation: chosen on these labels, so flattered by them.
    labels_ratio, labels_ratio_best : float
        (1 - r^2) of the average over that of a prompt alone (the geometric mean of all; the best).
        With many unlabelled items: labels that the average needs, over those that the prompt needs.
    labels_ratio_interval, labels_ratio_best_interval : Interval
        By the jackknife over labelled items or groups.
    verdict, verdict_best : str
        "helped", "did not help" or "cannot be said": the interval against 1.
    confidence_level : float
    n_gold, n, n_dropped, n_prompts : int
    warnings : tuple of str
        Those of `average`, ``optimistic_best``, ``constant``, ``dropped``.
    """

    average: MeanEstimate
    alone: tuple[MeanEstimate, ...]
    r: float
    r_alone: tuple[float, ...]
    names: tuple[str, ...]
    best: int
    labels_ratio: float
    labels_ratio_interval: Interval
    verdict: str
    labels_ratio_best: float
    labels_ratio_best_interval: Interval
    verdict_best: str
    confidence_level: float
    n_gold: int
    n: int
    n_dropped: int
    n_prompts: int
    warnings: tuple[str, ...]

    @property
    def estimate(self) -> float:
        """Human mean, with the average."""
        return self.average.estimate

    @property
    def interval(self) -> Interval:
        """Of the human mean, with the average."""
        return self.average.interval

    @property
    def half_width(self) -> float:
        """Half the width of `interval`."""
        return _half_of(self.average)

    @property
    def half_widths(self) -> tuple[float, ...]:
        """The same with each prompt alone."""
        return tuple(map(_half_of, self.alone))

    def _rows(self) -> list[dict[str, Any]]:
        estimates = zip(("average", *self.names), (self.average, *self.alone), (self.r, *self.r_alone), strict=True)
        return [
            {"prompt": name, "estimate": one.estimate, "conf_low": one.interval.low, "conf_high": one.interval.high}
            | {"half_width": _half_of(one), "r": r, "n_gold": self.n_gold, "n": self.n}
            for name, one, r in estimates
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"averaging": True, self.average.estimator: True, "cl": self.confidence_level}
        terms |= {"prompts": self.n_prompts, "gold": self.n_gold, "n": self.n, "dropped": self.n_dropped or None}
        return terms | {"groups": self.average.n_groups if self.average.n_groups != self.n_gold else None}

    def __str__(self) -> str:
        return (
            f"{self.average}; r = {short(self.r)} with the mean of {self.n_prompts} prompts, "
            f"{short(min(self.r_alone))} to {short(max(self.r_alone))} with one; "
            f"{_in_words(self.verdict)} against one of them (labels needed x {short(self.labels_ratio)}, "
            f"{bracket(self.labels_ratio_interval, self.confidence_level)}), {_in_words(self.verdict_best)} against "
            f"{self.names[self.best]}, the best on these labels"
        )


def averaging(
    y: ArrayLike,
    f: ArrayLike,
    *,
    groups: Labels | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    names: Labels | None = None,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> Averaging:
    r"""Human mean from gold labels and the judge's score averaged over prompts, and whether averaging helped.

    `ppi_mean` corrects the average as it would correct one prompt, so that what all items share under
    a prompt cancels and prompts need not be a sample of anything. What is left of the labels' variance
    decides how many labels are needed, and so averaging is compared with one prompt by

    .. math:: \log \frac{1 - r^2_{mean}}{1 - r^2_p},

    averaged over prompts p, and with the best p, with the jackknife's t interval over labelled items (or groups).

    Parameters
    ----------
    y : array_like, shape (n,)
        Human labels; NaN where there is none.
    f : array_like, shape (n, P)
        Judge scores under each of two or more prompts. An item without one of them is left out and counted.
    groups : sequence, shape (n,), optional
    bounds, step, min_gold, confidence_level
        As for `ppi_mean`.
    names : sequence, shape (P,), optional
        Of the prompts; default "1", "2", ...

    Returns
    -------
    Averaging

    Raises
    ------
    ValueError
        If there are fewer than two prompts, or as `ppi_mean`.

    Notes
    -----
    The best prompt was chosen on the labels that it is then compared on, which flatters it and its
    interval; choosing a prompt needs labels of its own. The average was not chosen.

    References
    ----------
    Angelopoulos et al. (2023), PPI++, arXiv:2311.01453: the variance with the best weight is
    (1 - r^2) of that of the labels, for unlabelled items without end. Efron and Stein (1981), Annals of
    Statistics 9:586-596, for the jackknife.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.normal(3, 1, 1000)
    >>> f = quality[:, None] + rng.normal(0, 1.5, (1000, 5)) + rng.normal(0, 1, 5)
    >>> y = np.where(np.arange(1000) < 150, quality + rng.normal(0, 0.4, 1000), np.nan)
    >>> result = averaging(y, f)
    >>> print(result.verdict, round(result.half_width, 3), [round(half, 3) for half in result.half_widths])
    helped 0.118 [0.144, 0.142, 0.142, 0.143, 0.153]
    """
    labels, scores, unit, dropped = _with_all_scores(y, f, groups)
    called = names_of(names, scores)
    means = np.column_stack([scores.mean(axis=1), scores])
    options: dict[str, Any] = {"bounds": bounds, "step": step, "min_gold": min_gold, "groups": unit}
    options["confidence_level"] = confidence_level
    average, *alone = (ppi_mean(labels, column, **options) for column in means.T)
    gold = ~np.isnan(labels)
    r, left = _unexplained(labels[gold], means[gold], units_of(unit, gold))
    best = int(np.argmax(r[1:] ** 2))
    texts: tuple[str, ...] = (f"optimistic_best: prompt {called[best]} is the best on these labels, which flatter it.",)
    if constant := int(np.sum(np.ptp(scores, axis=0) == 0)):
        texts += (f"constant: {constant} prompts give every item the same score.",)
    if dropped:
        texts += (f"dropped: {dropped} items lack a score under one of the prompts and are left out.",)
    return Averaging(
        average=average,
        alone=tuple(alone),
        r=float(r[0]),
        r_alone=tuple(map(float, r[1:])),
        names=called,
        best=best,
        **_labels_ratio(left[:, 0] - left[:, 1:].mean(axis=1), confidence_level),
        **_labels_ratio(left[:, 0] - left[:, 1 + best], confidence_level, "_best"),
        confidence_level=confidence_level,
        n_gold=int(gold.sum()),
        n=len(scores),
        n_dropped=dropped,
        n_prompts=scores.shape[1],
        warnings=average.warnings + texts,
    )


def _with_all_scores(y: ArrayLike, f: ArrayLike, groups: Labels | None) -> tuple[Floats, Floats, Codes | None, int]:
    """Labels, scores and groups of the items with a score under every prompt, and how many others there were."""
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=2)
    unit = None if groups is None else check.codes(groups, "groups")
    check.same_length(f=scores, y=labels, groups=unit)
    if scores.shape[1] < 2:
        raise ArgumentError("f", "must have two prompts at least", f"got shape {scores.shape}")
    whole = ~np.isnan(scores).any(axis=1)
    return labels[whole], scores[whole], None if unit is None else unit[whole], int(np.sum(~whole))


def _unexplained(y: Floats, f: Floats, unit: Codes) -> tuple[Floats, Floats]:
    """Correlations, and log(1 - r^2) of all labels (first row) and without each unit, from sums alone."""
    y, f = (y - y.mean())[:, None], f - f.mean(axis=0)
    terms = np.broadcast_arrays(1.0, y, f, y**2, f**2, y * f)
    sums = unit_sums(np.stack(terms, axis=1), unit)
    whole = sums.sum(axis=0)
    n, sy, sf, syy, sff, syf = np.moveaxis(np.concatenate([whole[None], whole - sums]), 1, 0)
    spread = (syy - sy**2 / n) * (sff - sf**2 / n)
    # a judge that does not vary explains nothing, whatever rounding leaves of its variance
    varies = spread > 1e-12 * whole[3] * whole[4]
    r = np.where(varies, (syf - sy * sf / n) / np.sqrt(np.where(varies, spread, 1.0)), 0.0)
    return r[0], np.log(np.maximum(1 - r**2, np.finfo(float).tiny))


def _labels_ratio(log: Floats, confidence: float, of: str = "") -> dict[str, Any]:
    """A ratio, its jackknife interval and its verdict, from its logarithm on all units and without each."""
    units = len(log) - 1
    error = math.sqrt((units - 1) / units * float(((log[1:] - log[1:].mean()) ** 2).sum()))
    ends = interval_of(Student(log[0], error, units - 1), confidence, "two-sided")
    low, high = (float(np.exp(end)) for end in ends)
    # ratios as close to 1 as 1e-9 differ by rounding
    verdict = "helped" if high < 1 - 1e-9 else "did not help" if low > 1 + 1e-9 else "cannot be said"
    ratio = {f"labels_ratio{of}": float(np.exp(log[0])), f"labels_ratio{of}_interval": Interval(low, high)}
    return ratio | {f"verdict{of}": verdict}


def _in_words(verdict: str) -> str:
    return "whether averaging helped cannot be said" if verdict == "cannot be said" else f"averaging {verdict}"


def _half_of(one: MeanEstimate) -> float:
    return (one.interval.high - one.interval.low) / 2
