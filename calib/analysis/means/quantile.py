"""Confidence interval of a quantile of people's scores, from a few labels and many judge scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.design import Design, mean_data
from calib.analysis.means.guards import bounds_of, on_scale
from calib.analysis.means.methods import kind_of
from calib.analysis.means.rates import post_stratified
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.laws import ALTERNATIVES
from calib.core.result import Estimate, Interval, short


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileEstimate(Estimate):
    """A quantile of the human scores, with an interval.

    Attributes
    ----------
    estimate : float
        The smallest score that at least a share `q` of the items has or is below. Both ends of the interval are
        scores; infinite (or the scale's own) where the labels set no bound.
    alternative, q : str, float
    estimator, support : str
        "mover-jeffreys-clopper-pearson" or "mover-clopper-pearson"; "levels" (an ordinal scale) or "scores" (all).
    n_labels, n : int
        Items with a human label; items in all.
    """

    _cells = "estimator q estimate interval n_labels n warnings"

    alternative: str
    q: float
    estimator: str
    support: str
    n_labels: int
    n: int

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"quantile": True, "q": self.q, "method": self.estimator, "support": self.support}
        return terms | {"alt": self.alternative, "cl": self.confidence_level, "labels": self.n_labels, "n": self.n}

    def __str__(self) -> str:
        sources = f"from {self.n_labels} human labels and {self.n} judge scores"
        return f"human {short(self.q)} quantile = {short(self.estimate)}, {self.bracket}, {sources}"


def ppi_quantile(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | None = None,
    *,
    q: float = 0.5,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    conservative: bool = False,
    alternative: str = "two-sided",
    min_labels: int = 10,
    confidence_level: float = 0.95,
) -> QuantileEstimate:
    r"""Quantile of the human scores, such as their median.

    The share of items with a human score up to g is a proportion for which the judge's "up to g" stands in:
    `post_stratified` at each g that occurs. The estimate is the first g where it reaches q; the interval holds each g
    at which the proportion's interval allows for q, with g^- the score before g,

    .. math:: \{ g : U(g) \ge q \text{ and } L(g^-) < q \}

    Parameters
    ----------
    y, f, f_unlabeled : array_like, shape (n,), (n,) and (N,)
        As for `ppi_mean`.
    q : float, default 0.5
    bounds : (float, float), optional
        Smallest and largest score of people's scale: ends that the labels do not set.
    step : float, optional
        Distance of neighbouring scale values; the interval ends are then scale values. Without it these are the
        labels that occur, if labels repeat (fewer different ones than half of them).
    conservative, alternative, min_labels, confidence_level
        As for `ppi_mean`.

    References
    ----------
    Angelopoulos et al. (2023), Science 382:669-674, for the corrected distribution function; Woodruff (1952),
    Journal of the American Statistical Association 47:635-646, for its inversion.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(1, 6, 340).astype(float)
    >>> f = y + 0.5 * rng.normal(size=340)
    >>> print(ppi_quantile(y[:40], f[:40], f[40:], bounds=(1, 5), step=1))
    human 0.5 quantile = 3, 95 % CI [3, 4], from 40 human labels and 340 judge scores
    """
    data = mean_data(y, f, f_unlabeled, Design())
    ends = bounds_of(bounds, step)
    on_scale(data.y, ends, "y")
    share, confidence = check.probability(q, "q"), check.probability(confidence_level, "confidence_level")
    side = check.choice(alternative, "alternative", ALTERNATIVES)
    n, rest, least = len(data.y), data.n_rest, check.whole(min_labels, "min_labels", least=2)
    if n < least:
        came = f"got {n}: label more, or set {{0}}"
        raise ArgumentError("y", f"must have {least} labels at least", came, mentions=("min_labels",))
    # without a judge each item is one of which it says yes: the labels alone
    judge, loose = (data.f, data.loose()) if rest else (np.full(n, -np.inf), np.empty(0))
    y, f, larger, others = map(np.sort, (data.y, judge, np.maximum(data.y, judge), loose))
    tail = (1 - confidence) / 2 if side == "two-sided" else 1 - confidence

    def shares(g: Floats) -> tuple[Floats, Floats, Floats]:
        """Share of human scores up to g, with its interval; both scores are up to g where the larger one is."""
        up = partial(np.searchsorted, v=g, side="right")
        judged, agreed, judged_rest = up(f), up(larger), up(others)
        counts = agreed, judged, up(y) - agreed, n - judged, judged_rest, rest - judged_rest
        return post_stratified(*counts, 1 - 2 * tail, conservative=conservative)[:3]

    levels = np.unique(data.y)
    if ends is not None and step is not None:
        levels = np.arange(ends[0], ends[1] + step / 2, step)
    elif 2 * len(levels) >= n:
        levels = np.empty(0)
    if len(levels):  # of an ordinal scale
        at_level, lower, upper = shares(levels)
        estimate, low = (float(levels[np.argmax(part >= share)]) for part in (at_level, upper))
        below = np.flatnonzero(lower < share)
        high = float(np.append(levels, np.inf)[below[-1] + 1 if len(below) else 0])
    else:
        reach = (4 - special.ndtri(tail)) / (2 * np.sqrt(n)) + 2 / n  # beyond, the labels alone rule a score out
        estimate, low, high = _on_any_score(shares, y, f, others, share, reach)
    if shares(np.array([-np.inf]))[2][0] >= share:
        low = -np.inf  # so few are below it that all labels may be above
    floor, ceiling = ends or (-np.inf, np.inf)
    low, high = -np.inf if side == "less" else low, np.inf if side == "greater" else high
    beyond = n * min(share, 1 - share)
    thin = f"tail: about {beyond:.2g} of {n} labels lie beyond the {share:g} quantile, which leaves it nearly unknown"
    return QuantileEstimate(
        estimate=float(np.clip(estimate, floor, ceiling)),
        interval=Interval(float(np.clip(low, floor, ceiling)), float(np.clip(high, floor, ceiling))),
        confidence_level=confidence, alternative=side, q=share,
        estimator=kind_of(bounded=True, binary=True, conservative=conservative),
        support="levels" if len(levels) else "scores", n_labels=n, n=n + rest, warnings=(thin,) if beyond < 5 else (),
    )  # fmt: skip


def _on_any_score(
    shares: Callable[[Floats], tuple[Floats, Floats, Floats]], y: Floats, f: Floats, others: NDArray[Any], q: float,
    reach: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Scores of labelled items first, and the last of the others before each; then between two of them, by halving.

    There only the others' count changes, and the shares rise with it, where the judge is any good.
    """
    own = np.unique(np.concatenate([y, f[np.isfinite(f)]]))
    near = np.abs(np.searchsorted(y, own, side="right") / len(y) - q) <= reach
    first, last = np.flatnonzero(near)[[0, -1]] if near.any() else (0, len(own) - 1)
    own = own[max(first - 1, 0) : last + 2]
    before = np.searchsorted(others, own, side="left") - 1
    latest = np.where(before >= 0, others[np.maximum(before, 0)], own) if len(others) else own
    here, there = shares(own), shares(np.minimum(latest, own))
    share, _, high = (np.maximum(a, b) for a, b in zip(here, there, strict=True))
    below = np.flatnonzero(here[1] < q)
    after = int(below[-1]) + 1 if len(below) else 0
    return (
        _first_reached(lambda g: shares(g)[0] >= q, others, own, int(np.argmax(share >= q))),
        _first_reached(lambda g: shares(g)[2] >= q, others, own, int(np.argmax(high >= q))),
        _first_reached(lambda g: shares(g)[1] >= q, others, own, after),
    )


def _first_reached(reached: Callable[[Floats], NDArray[np.bool_]], others: NDArray[Any], own: Floats, at: int) -> float:
    """The first of the others' scores, after one of `own` and before the next, where it is reached; else the latter."""
    start = int(np.searchsorted(others, own[at - 1], side="right")) if at else 0
    stop = int(np.searchsorted(others, own[at], side="left")) if at < len(own) else len(others)
    end = float(own[at]) if at < len(own) else np.inf
    while start < stop:
        tried = np.unique(np.linspace(start, stop - 1, 64).astype(np.intp))
        yes = np.asarray(reached(others[tried].astype(float)))
        if not yes.any():
            return end
        first = int(np.argmax(yes))
        end, stop = float(others[tried[first]]), int(tried[first])
        start = int(tried[first - 1]) + 1 if first else stop
    return end
