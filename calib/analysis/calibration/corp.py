"""Miscalibration and discrimination of forecasts by isotonic regression (CORP), with no bins to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from calib.analysis.distributions.distribution import places_of
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.result import Result, short, term

_POINTS = 50  # of a curve, at most


class Ordered(NamedTuple):
    """The distinct values of an input, and which rows have each: what every fit on that input starts from."""

    x: Floats  # ascending, shape (u,)
    order: Codes  # the rows by their input, shape (n,)
    start: Codes  # where each value begins among these, shape (u,)
    weight: Floats  # of the rows of each value, shape (u,)

    def mean(self, y: Floats, weight: Floats) -> Floats:
        """The mean of the rows of each value."""
        return np.asarray(np.add.reduceat((weight * y)[self.order], self.start) / self.weight)


def ordered(x: Floats, weight: Floats) -> Ordered:
    """Rows by their input; what differs by rounding alone is one value. Weights are above 0."""
    value = np.round(x, 12)
    order = np.argsort(value)
    value = value[order]
    start = np.flatnonzero(np.concatenate([[True], value[1:] > value[:-1]]))
    return Ordered(value[start], order, start, np.add.reduceat(weight[order], start))


def monotone(mean: Floats, weight: Floats, *, increasing: bool = True) -> Floats:
    """The values nearest to `mean`, by weighted squares, that go one way: pool adjacent violators."""
    return np.asarray(isotonic_regression(mean, weights=weight, increasing=increasing).x)


def learned_elsewhere(at: Ordered, y: Floats, weight: Floats, fold: Codes) -> Floats:
    """For each row the increasing fit of the rows of other folds, on the line between its neighbours there."""
    row = np.empty(len(y), dtype=np.intp)
    row[at.order] = np.repeat(np.arange(len(at.x)), np.diff(at.start, append=len(y)))
    total, out = np.bincount(row, weight * y), np.empty(len(y))
    for one in range(int(fold.max()) + 1):
        own = fold == one
        mine = np.bincount(row[own], weight[own], minlength=len(at.x))
        left = at.weight - mine
        there = left > 1e-9 * at.weight  # more than rounding
        mean = (total - np.bincount(row[own], (weight * y)[own], minlength=len(at.x)))[there] / left[there]
        out[own] = np.interp(at.x[row[own]], at.x[there], monotone(mean, left[there]))
    return out


class ReliabilityCurve(NamedTuple):
    """What came beside what was forecast, after isotonic regression.

    Attributes
    ----------
    above : float
        The curve is of the chance of a label above this level; NaN: of the mean label.
    forecast, observed : ndarray
        Ascending; at 50 places at most.
    share : ndarray
        Of the labels, up to each of these places from the one before.
    """

    above: float
    forecast: Floats
    observed: Floats
    share: Floats


def reliability_curve(above: float, forecast: Floats, came: Floats, weight: Floats) -> ReliabilityCurve:
    """At each distinct forecast what came, or of many at as many as are drawn, each for as many rows."""
    at = ordered(forecast, weight)
    observed, share = monotone(at.mean(came, weight), at.weight), np.cumsum(at.weight) / at.weight.sum()
    grid = np.arange(len(at.x))
    if len(grid) > _POINTS:
        inner = np.searchsorted(share, np.linspace(0, 1, _POINTS)[1:-1]).clip(0, grid[-1])
        grid = np.unique(np.concatenate([[0], inner, grid[-1:]]))
    return ReliabilityCurve(above, at.x[grid], observed[grid], np.diff(share[grid], prepend=0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Corp(Result):
    """A mean score in three parts: score = mcb - dsc + unc.

    Attributes
    ----------
    score : float
        Mean ranked probability score, from 0 to 1 (of two levels the Brier score).
    mcb, dsc, unc : float
        Miscalibration: what isotonic recalibration takes off the score, 0 is best. Discrimination: how far the
        recalibrated forecasts are ahead of the labels' shares, 0 says nothing. Uncertainty: the score of these shares.
    form : str
        What was recalibrated: "by threshold", each chance of a label up to a level on itself; or "by score", the
        whole distribution on one number.
    n_levels, n, n_missing : int
        Levels; labels; rows without a label or a forecast, left out.
    """

    score: float
    mcb: float
    dsc: float
    unc: float
    form: str = term("form")
    n_levels: int = term("levels")
    n: int = term("n")
    n_missing: int = term("missing", unless=0, default=0)

    _kind = "corp"

    def _terms(self) -> dict[str, Any]:
        return super(Corp, self)._terms() | {"form": self.form.replace(" ", "-")}

    def __str__(self) -> str:
        name = "Brier score" if self.n_levels == 2 else "RPS"
        score, mcb, dsc, unc = map(short, (self.score, self.mcb, self.dsc, self.unc))
        parts = f"miscalibration {mcb} - discrimination {dsc} + uncertainty {unc}"
        return f"{name} {score} = {parts}, {self.form}, from {self.n} labels"


def corp(
    p: ArrayLike,
    y: ArrayLike,
    levels: ArrayLike | None = None,
    *,
    x: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Corp:
    r"""Split the score of forecasts into miscalibration, discrimination and uncertainty, with no bins to choose.

    .. math:: S = MCB - DSC + UNC, \quad MCB = S(F) - S(\hat F), \quad DSC = S(\bar F) - S(\hat F), \quad
              UNC = S(\bar F)

    where S is the mean ranked probability score, :math:`\frac{1}{K-1} \sum_{k<K} (F_k - 1\{Y \le k\})^2` (from 0 to 1:
    divided by K - 1, as `ranked_probability_score`; the Brier score where K = 2), the second forecast is the first
    after isotonic recalibration, and the last are the labels' shares. With few labels MCB and DSC are above 0 for any
    forecast (`forecast_quality` has both cross-fitted).

    Parameters
    ----------
    p : array_like, shape (n, K) or (n,)
        Probabilities or weights of the levels, normalised first; or the chance of the higher of two levels.
    y : array_like, shape (n,)
        Labels, each one of the levels; NaN where there is none.
    levels : array_like, shape (K,), optional
        Default: 0, 1, ..., K - 1.
    x : array_like, shape (n,), optional
        A number for each row, such as the judge's score: recalibration is then "by score", an isotonic
        distributional regression of the labels on it, which learns all that a monotone map of the number can say.
        Default: "by threshold", each F_k on itself. The two are the same where every F_k falls strictly as the number
        rises; elsewhere do not compare the parts of one with those of the other.
    weights : array_like, shape (n,), optional
        How often each row counts; rows of weight 0 are left out.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118(8).
    Henzi, Ziegel and Gneiting (2021), Isotonic distributional regression, JRSS B 83, for "by score".

    Examples
    --------
    >>> print(corp([0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1]))
    Brier score 0.1425 = miscalibration 0.0175 - discrimination 0.125 + uncertainty 0.25, by threshold, from 4 labels
    """
    below, place, used, weight = forecasts_in(p, y, levels, weights)
    number = None if x is None else check.array(x, "x", ndim=1)
    check.same_length(y=place, x=number)
    if number is not None:
        used &= np.isfinite(number)
    if not used.any():
        raise ArgumentError("y", "must have a label beside a forecast in {0}", "has none", mentions=("p",))
    parts = parts_of_score(below[used], place[used], weight[used], None if number is None else number[used])
    form = "by threshold" if x is None else "by score"
    return corp_of(*parts, form=form, n_levels=below.shape[1] + 1, n=int(used.sum()), n_missing=int((~used).sum()))


def corp_of(score: float, recalibrated: float, reference: float, **made: Any) -> Corp:
    """The parts, from the scores of the forecasts, of the recalibrated ones, and of the labels' shares."""
    return Corp(score=score, mcb=score - recalibrated, dsc=reference - recalibrated, unc=reference, **made)


def forecasts_in(
    p: ArrayLike, y: ArrayLike, levels: ArrayLike | None, weights: ArrayLike | None
) -> tuple[Floats, Codes, Any, Floats]:
    """The chance of a label up to each level but the last, (n, K - 1); places of labels; rows in use; weights.

    Levels are put in ascending order; a row without mass has no chances.
    """
    share = check.array(p, "p")
    if share.ndim not in (1, 2):
        raise ArgumentError("p", "must have 1 or 2 dimensions", f"got shape {share.shape}")
    if share.ndim == 1:
        if ((share < 0) | (share > 1)).any():
            odd = share[(share < 0) | (share > 1)][0]
            raise ArgumentError("p", "must be chances from 0 to 1 of the higher of two levels", f"got {short(odd)}")
        share = np.stack([1 - share, share], axis=1)
    values = np.arange(float(share.shape[-1])) if levels is None else check.array(levels, "levels", ndim=1)
    place = places_of(check.array(y, "y", ndim=1), values)
    check.same_length(p=share, y=place, weights=weights)
    if share.shape[1] != len(values):
        rule = f"must have a row for each item and a column for each of {len(values)} levels"
        raise ArgumentError("p", rule, f"got shape {share.shape}")
    if (share < 0).any():
        raise ArgumentError("p", "must hold weights that are not negative", f"got {short(np.nanmin(share))}")
    sums = np.cumsum(share[:, np.argsort(values)], axis=1)
    below = sums[:, :-1] / np.where(sums[:, -1:] > 0, sums[:, -1:], np.nan)
    weight = np.ones(len(place)) if weights is None else check.array(weights, "weights", ndim=1)
    if (weight < 0).any():
        raise ArgumentError("weights", "must not be negative", f"got {short(weight.min())}")
    return below, place, (place >= 0) & np.isfinite(below[:, 0]) & (weight > 0), weight


def parts_of_score(below: Floats, place: Codes, weight: Floats, x: Floats | None = None) -> tuple[float, float, float]:
    """Mean ranked probability score of the forecasts, of their isotonic recalibration, of the labels' shares."""
    total = weight.sum()
    by_score = None if x is None else ordered(x, weight)
    sums = np.zeros(3)
    for k in range(below.shape[1]):
        came = (place <= k).astype(float)
        at = ordered(-below[:, k], weight) if by_score is None else by_score
        mean = at.mean(came, weight)
        fit = monotone(mean, at.weight, increasing=False)
        share = at.weight @ mean
        # each value of a fit is the mean of what it stands for, so that its squares are all that is needed
        sums += weight @ (below[:, k] - came) ** 2, share - at.weight @ fit**2, share - share**2 / total
    score, recalibrated, reference = sums / (total * below.shape[1])
    return float(score), float(recalibrated), float(reference)
