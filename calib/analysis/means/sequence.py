"""A gold-corrected mean that may be looked at after every label."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.means.guards import TARGETS, bounds_of, on_scale
from calib.analysis.means.moments import Moments, moments_of, refuse_missing
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.result import Columns, Interval, bracket, short

_START = 10  # labels before the first look
_SHRINK = 4.0  # labels' worth of "the judge says nothing" in lambda


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceSequence(Columns):
    """Intervals that all hold at once, one for each number of labels.

    Attributes
    ----------
    n_labels : ndarray of int
        Labels seen at each look, 10 and on.
    estimate, low, high : ndarray of float
        Mean and ends after so many labels; the ends are those of the scale, or infinite,
        where that few labels exclude nothing.
    lam : ndarray of float
        Weight of the judge for the label that came last.
    confidence_level : float
        Of all intervals together.
    target : str
        "population" or "benchmark".
    target_n : int
        Labels at which the sequence is made to be narrowest.
    bounds : (float, float) or None
    n_gold : int
        Labels in all.
    n_pool : int
        Judge scores that the correction leans on.
    """

    _cells = "n_labels estimate low high lam"

    n_labels: Codes = field(repr=False)
    estimate: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    lam: Floats = field(repr=False)
    confidence_level: float
    target: str
    target_n: int
    bounds: tuple[float, float] | None
    n_gold: int
    n_pool: int

    def at(self, n: int) -> Interval:
        """The interval after n labels."""
        first, last = int(self.n_labels[0]), int(self.n_labels[-1])
        if not first <= n <= last:
            raise ArgumentError("n", f"must be from {first} to {last}", f"got {n!r}")
        return Interval(float(self.low[n - first]), float(self.high[n - first]))

    def first_without(self, null: float) -> int | None:
        """Labels after which the sequence first excluded this mean; None if it never did."""
        out = (self.low > null) | (self.high < null)
        return int(self.n_labels[np.argmax(out)]) if out.any() else None

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"confidence-sequence": True, "of": "human-mean", "cl": self.confidence_level}
        terms |= {"target": self.target, "best-at": self.target_n, "gold": self.n_gold, "pool": self.n_pool}
        return terms | {"bounds": None if self.bounds is None else f"{self.bounds[0]:g}-{self.bounds[1]:g}"}

    def __str__(self) -> str:
        last = bracket(self.at(self.n_gold), self.confidence_level)
        return f"after {self.n_gold} labels the human mean = {short(float(self.estimate[-1]))}, {last}, at every look"


def confidence_sequence(
    y: ArrayLike,
    f: ArrayLike,
    f_pool: ArrayLike | Moments,
    *,
    bounds: tuple[float, float] | None,
    lam: float | None = None,
    target: str = "population",
    target_n: int = 100,
    confidence_level: float = 0.95,
) -> ConfidenceSequence:
    r"""Intervals for the human mean that hold however often one looks and whenever one stops.

    An interval for a fixed number of labels is wrong when labelling goes on until it says
    something. Here the labels come one by one, in random order, and

    .. math:: z_i = y_i - \lambda_i (f_i - \bar f_{pool}), \qquad
              \bar z_t \pm s_t \sqrt{\frac{t - 1}{t} x_t}

    hold at the same time for all t. Each :math:`\lambda_i` is the slope of the labels on the judge among the labels
    before the i-th, shrunken and within [0, 1] (put a judge with a much smaller scale than people's on theirs first).
    :math:`x_t = T^2 / (t - 1)` is where the t statistic makes the likelihood ratio of "some effect", of variance g +
    h, to "no effect but the pool's error", of variance g, reach 1 / alpha:

    .. math:: \Big(\frac{1 + x/a_0}{1 + x/a_1}\Big)^{t/2} = \frac1\alpha \sqrt{a_1 / a_0}, \qquad
              a_0 = 1 + g t, \quad a_1 = a_0 + h t

    with :math:`g = \bar\lambda^2 s_f^2 / (N s^2)`, 0 for the benchmark itself, and h such that
    the interval is narrowest at `target_n`. It is exact for normal z of unknown variance
    and becomes the asymptotic confidence sequence as t grows.

    With `bounds` one unseen deviation of half the scale is added to the variance, the ends are
    the wider ones of the above and of Wilson's interval with the same multiplier, and stay
    on the scale: so it holds on scores that are nearly all at one end.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Labels in the order in which they came, and the judge's scores of the same items.
        To compare two systems, the differences of both.
    f_pool : array_like, shape (N,), or Moments
        Judge scores of all items that those for labelling are drawn from.
    bounds : (float, float) or None
        Ends of the scale of the labels; None where there are none. Without them labels
        that crowd at an end raise more false alarms than they should.
    lam : float, optional
        A fixed weight instead: 1 for the plain correction, 0 for the labels alone.
    target : {"population", "benchmark"}
        Items like those of the pool, or the items of the pool.
    target_n : int, default 100
    confidence_level : float, default 0.95

    Returns
    -------
    ConfidenceSequence

    Raises
    ------
    ValueError
        If fewer than ten labels are there, a value is missing, a label lies out of
        bounds, or the pool has fewer than two items.

    Notes
    -----
    Looking after every tenth label up to 1,000, at most 3.2 % of the sequences ever missed the mean, in ten shapes
    tried with bounds (1 to 5 and yes or no, ordinary and crowded at an end; 10,000 runs each), and 21 to 88 % of the
    intervals for a fixed number of labels. Without bounds it was 2.6 % on ordinary 1-to-5 scores and 9 % where three
    of four labels are at the end. The price is a width of 1.6 to 2 times that of a fixed interval at `target_n`
    labels and more on both sides of it.

    References
    ----------
    Waudby-Smith et al. (2024), Annals of Statistics 52:2613, arXiv:2103.06476; Wang and Ramdas (2023),
    arXiv:2310.03722, for the unknown variance; Kilian et al. (2025), arXiv:2505.18000, for prediction-powered ones.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(1, 6, 2000)
    >>> judge = truth + 0.3 + rng.normal(size=2000)
    >>> result = confidence_sequence(truth[:300], judge[:300], judge, bounds=(1, 5))
    >>> print(result)
    after 300 labels the human mean = 3.077, 95 % CI [2.907, 3.248], at every look
    """
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    check.same_length(y=labels, f=scores)
    refuse_missing(labels, "y")
    refuse_missing(scores, "f")
    pool = f_pool if isinstance(f_pool, Moments) else moments_of(f_pool, "f_pool")
    for name, count, least in (("y", len(labels), _START), ("f_pool", int(pool.n), 2)):
        if count < least:
            raise ArgumentError(name, f"must have {least} values or more", f"got {count}")
    confidence = check.probability(confidence_level, "confidence_level")
    ends = bounds_of(bounds, None)
    on_scale(labels, ends, "y")
    whole = check.choice(target, "target", TARGETS) == "benchmark"
    best = check.whole(target_n, "target_n", least=2)
    judge = Judge(float(pool.mean), float(pool.variance), math.inf if whole else int(pool.n))
    moving = rectified(labels, scores, judge, lam)
    mean, low, high = sequence(moving, judge, ends, best, 1 - confidence)
    seen = slice(_START - 1, None)
    return ConfidenceSequence(
        n_labels=np.arange(1, len(labels) + 1)[seen],
        estimate=mean[seen],
        low=low[seen],
        high=high[seen],
        lam=moving.lam[seen],
        confidence_level=confidence,
        target=target,
        target_n=best,
        bounds=ends,
        n_gold=len(labels),
        n_pool=int(pool.n),
    )


# --- one label after the other, along the last axis -------------------------------------------------------------


class Judge(NamedTuple):
    """Mean and variance of the judge over the pool, and how many items the mean's error is of."""

    mean: Any
    variance: float
    n: float


class Moving(NamedTuple):
    """After each label: the mean of z, the sum of its squared deviations, lambda and its mean so far."""

    mean: Floats
    squares: Floats
    lam: Floats
    mean_lam: Floats


def rectified(y: Floats, f: Floats, judge: Judge, lam: float | None) -> Moving:
    """Running sums of the corrected labels, each corrected with what the labels before it taught."""
    t, x = _counts(y), f - judge.mean
    each = _learnt(y, x, judge.variance) if lam is None else np.full(y.shape, float(lam))
    z = y - each * x
    off = z - z[..., :1]  # from the first, so that what does not vary has a variance of exactly 0
    squares = np.maximum(np.cumsum(off**2, axis=-1) - np.cumsum(off, axis=-1) ** 2 / t, 0.0)
    mean = z[..., :1] + np.cumsum(off, axis=-1) / t
    return Moving(mean, squares, each, np.cumsum(each, axis=-1) / t)


def _learnt(y: Floats, x: Floats, variance: float) -> Floats:
    """Slope of the labels on the judge before each label; 0 for the first."""
    t, d = _counts(y), y - y[..., :1]
    sums = [np.cumsum(v, axis=-1) for v in (x, d, x * x, x * d)]
    cross, square = sums[3] - sums[0] * sums[1] / t, np.maximum(sums[2] - sums[0] ** 2 / t, 0.0)
    slope = cross / (square + _SHRINK * variance) if variance else np.zeros_like(cross)
    before = np.zeros_like(slope)
    before[..., 1:] = np.clip(slope[..., :-1], 0.0, 1.0)
    return before


def sequence(
    moving: Moving, judge: Judge, bounds: tuple[float, float] | None, target_n: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Means and ends after each label."""
    t = _counts(moving.mean)
    squares = moving.squares if bounds is None else moving.squares + ((bounds[1] - bounds[0]) / 2) ** 2
    variance = squares / np.maximum(t - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        pool = moving.mean_lam**2 * judge.variance / judge.n / variance
        half = np.sqrt(reach(t, pool, spread_best_at(target_n, alpha), alpha) * squares / t)
    half = np.where(variance > 0, half, np.inf)
    if bounds is None:
        return moving.mean, moving.mean - half, moving.mean + half
    return _on_scale(moving.mean, half, bounds)


def spread_best_at(target_n: int, alpha: float) -> float:
    """Prior variance, in variances of one label, with which the sequence is narrowest at so many labels."""
    return float(-special.lambertw(-(alpha**2) / math.e, -1).real - 1) / target_n


def reach(t: Floats, pool: Any, spread: float, alpha: float) -> Floats:
    """The squared t statistic over t - 1 at which the likelihood ratio is 1 / alpha; infinite where it never is."""
    none = 1 + pool * t
    some = none + spread * t
    ratio = (some / none / alpha**2) ** (1 / t)
    room = 1 / none - ratio / some
    return np.where(room > 0, (ratio - 1) / np.where(room > 0, room, 1.0), np.inf)


def _on_scale(mean: Floats, half: Floats, bounds: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
    """The wider of plus-minus and Wilson: near an end the first is too short inwards, the second outwards."""
    low, width = bounds[0], bounds[1] - bounds[0]
    t, x = _counts(mean), np.clip((mean - low) / width, 0.0, 1.0)
    inner = (t * x + 0.5) / (t + 1)
    some = np.isfinite(half)
    plain = np.where(some, half, 0.0) / width
    # Wilson's q^2 over the effective n, that with which x (1 - x) / n is the variance: the variance itself cancels
    q = plain**2 / (inner * (1 - inner))
    centre, around = (x + q / 2) / (1 + q), np.sqrt(q * x * (1 - x) + q**2 / 4) / (1 + q)
    lowest = np.where(some, np.maximum(np.minimum(centre - around, x - plain), 0.0), 0.0)
    highest = np.where(some, np.minimum(np.maximum(centre + around, x + plain), 1.0), 1.0)
    return low + width * x, low + width * lowest, low + width * highest


def _counts(values: Floats) -> Floats:
    return np.arange(1.0, values.shape[-1] + 1)
