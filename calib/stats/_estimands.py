"""Other things than a mean, from a few gold labels and many judge scores: quantiles, shares, ratios, any statistic."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from calib.stats import _check
from calib.stats._check import Floats, Labels
from calib.stats._estimate import Interval, Result, bracket, short
from calib.stats._gold import gold_of
from calib.stats._interval import MeanEstimate, on_scale, ppi_mean
from calib.stats._laws import ALTERNATIVES
from calib.stats._moments import Moments, moments_of
from calib.stats._proportion import post_stratified

_BATCH = 1 << 20  # resampled scores at once
_DOUBLINGS = 40
_FEW = 1000  # labels, above which leaving each out costs more than it adds

# --- a mean in disguise -----------------------------------------------------------------------------------------


def ppi_proportion(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    above: float,
    judge_above: float | None = None,
    conservative: bool = False,
    groups: Labels | None = None,
    groups_unlabeled: Labels | None = None,
    strata: Labels | None = None,
    strata_unlabeled: Labels | None = None,
    target: str = "population",
    method: str = "auto",
    alternative: str = "two-sided",
    null: float | None = None,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    """Share of items that people score `above` or higher.

    `ppi_mean` of yes and no, with Jeffreys' intervals where the judge says yes and where it says no: it stays
    within [0, 1] and has a width even if the judge never erred on the gold items.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        As for `ppi_mean`.
    f_unlabeled : array_like, shape (N,), or Moments of the judge's yes (1) and no (0), optional
    above : float
        A label counts if it is this or more.
    judge_above : float, optional
        The same for the judge, `above` if not given. Any threshold gives a valid interval; that of a judge who is
        stricter than people should be lower.
    conservative, groups, groups_unlabeled, strata, strata_unlabeled, target, method, alternative, null, min_gold,
    confidence_level
        As for `ppi_mean`.

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        As `ppi_mean`.

    Examples
    --------
    >>> y, f = [5, 4, 2, 4, 3, 5, 1, 4, 4, 5, 2, 4], [4.8, 4.1, 2.6, 4.4, 3.2, 4.9, 1.9, 4.2, 3.8, 4.7, 2.2, 4.3]
    >>> result = ppi_proportion(y, f, [4.2, 3.1, 4.8, 2.2, 4.5, 4.1, 3.7, 4.4] * 20, above=4)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (0.698, [0.495, 0.869])
    """
    cut = above if judge_above is None else judge_above
    labels, scores = _check.array(y, "y", ndim=1), _check.array(f, "f", ndim=1)
    result = ppi_mean(
        np.where(np.isnan(labels), np.nan, labels >= above),
        np.where(np.isnan(scores), np.nan, scores >= cut),
        None if f_unlabeled is None else _said(f_unlabeled, cut),
        bounds=(0, 1),
        step=1,
        binary=True,
        conservative=conservative,
        groups=groups,
        groups_unlabeled=groups_unlabeled,
        strata=strata,
        strata_unlabeled=strata_unlabeled,
        target=target,
        method=method,
        alternative=alternative,
        null=null,
        min_gold=min_gold,
        confidence_level=confidence_level,
    )
    return replace(result, estimand=f"{result.estimand.split()[0]} share of scores from {above:g} up")


def _said(scores: ArrayLike | Moments, cut: float) -> NDArray[np.bool_] | Moments:
    if isinstance(scores, Moments):
        if not scores.binary:
            raise ValueError(f"`f_unlabeled` must be moments of 0 and 1 for a share: cut the scores at {cut:g} first.")
        return scores
    values = np.asarray(scores)
    if values.dtype.kind not in "fiub":
        values = _check.array(scores, "f_unlabeled", ndim=1)
    if values.dtype.kind == "f" and np.isnan(values.sum()):  # a missing score would pass for a no
        place = int(np.argmax(np.isnan(values)))
        raise ValueError(f"`f_unlabeled` must have a judge score for each item, but got nan at {place}.")
    return np.asarray(values >= cut)


def ppi_win_rate(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    ties: bool = True,
    groups: Labels | None = None,
    groups_unlabeled: Labels | None = None,
    target: str = "population",
    method: str = "auto",
    alternative: str = "two-sided",
    null: float = 0.5,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    """How often people prefer A to B: 1 for A, 0 for B, a tie counts one half.

    Parameters
    ----------
    y : array_like, shape (n,)
        1, 0.5 or 0; NaN where there is no label, if `f_unlabeled` is not given.
    f, f_unlabeled : array_like, shape (n,) and (N,)
        The judge's verdicts, or its probabilities that A is better, within [0, 1]. Judge both orders and take the
        mean: a judge who prefers the first answer then says one half.
    ties : bool, default True
        Whether people may say that there is no difference. Without ties the interval is that of a proportion.
    groups, groups_unlabeled, target, method, alternative, min_gold, confidence_level
        As for `ppi_mean`.
    null : float, default 0.5
        `p_value` is for this win rate.

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        If a label is none of these, a verdict is not within [0, 1], and as `ppi_mean`.

    Examples
    --------
    >>> y = [1, 0, 1, 0.5, 1, 1, 0, 1, 1, 0.5, 0, 1]
    >>> f = [1, 0, 1, 0.5, 1, 0.5, 0, 1, 1, 1, 0, 1]
    >>> result = ppi_win_rate(y, f, [1, 0, 0.5, 1, 1] * 20)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (0.694, [0.509, 0.832])
    """
    labels, scores = _check.array(y, "y", ndim=1), _check.array(f, "f", ndim=1)
    wanted = (0.0, 0.5, 1.0) if ties else (0.0, 1.0)
    odd = ~(np.isin(labels, wanted) | np.isnan(labels))
    if odd.any():
        place, words = int(np.argmax(odd)), ", ".join(f"{value:g}" for value in wanted)
        raise ValueError(f"`y` must be one of {words}, but got {labels[place]:g} at {place}.")
    rest = f_unlabeled if isinstance(f_unlabeled, Moments | None) else moments_of(f_unlabeled, "f_unlabeled")
    for name, part in (("f", moments_of(scores, "f")), ("f_unlabeled", rest)):
        if part is not None and (part.low < 0 or part.high > 1):
            raise ValueError(f"`{name}` must be within [0, 1], but goes from {part.low:g} to {part.high:g}.")
    result = ppi_mean(
        labels,
        scores,
        f_unlabeled,
        bounds=(0, 1),
        step=0.5 if ties else 1,
        binary=not ties,
        groups=groups,
        groups_unlabeled=groups_unlabeled,
        target=target,
        method=method,
        alternative=alternative,
        null=null,
        min_gold=min_gold,
        confidence_level=confidence_level,
    )
    return replace(result, estimand=f"{result.estimand.split()[0]} win rate")


# --- the ratio of two means -------------------------------------------------------------------------------------


def ppi_ratio(
    y_top: ArrayLike,
    y_bottom: ArrayLike,
    f_top: ArrayLike,
    f_bottom: ArrayLike,
    *,
    groups: Labels | None = None,
    alternative: str = "two-sided",
    null: float = 1.0,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean human score of A over that of B, paired on what both answered.

    All :math:`\theta` for which `ppi_mean` of :math:`y_{top} - \theta y_{bottom}` does not reject a mean of 0
    (Fieller's interval, with the judge's weight tuned anew for each). It holds with few labels, where a
    standard error of the ratio (the delta method) is too short; and it has no end where the labels cannot tell
    the lower mean from 0, because no interval that holds has one.

    Parameters
    ----------
    y_top, y_bottom : array_like, shape (n,)
        Human labels on the same n inputs, NaN where unlabelled; a pair counts as gold where both have a label.
    f_top, f_bottom : array_like, shape (n,)
        Judge scores of the same.
    groups : sequence, shape (n,), optional
    alternative, min_gold, confidence_level
        As for `ppi_mean`.
    null : float, default 1.0
        `p_value` is for this ratio.

    Returns
    -------
    MeanEstimate
        `std_error` is that of the delta method.

    Raises
    ------
    ValueError
        As `ppi_mean`; or if the lower mean is 0.

    References
    ----------
    Fieller (1954), Journal of the Royal Statistical Society B 16:175-185.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_a, y_b = rng.integers(2, 6, 200).astype(float), rng.integers(1, 5, 200).astype(float)
    >>> f_a, f_b = y_a + rng.normal(size=200), y_b + rng.normal(size=200)
    >>> y_a[40:] = y_b[40:] = float("nan")
    >>> result = ppi_ratio(y_a, y_b, f_a, f_b)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (1.43, [1.257, 1.641])
    """
    side = _check.choice(alternative, "alternative", ALTERNATIVES)
    level = _check.probability(confidence_level, "confidence_level")
    columns = {"y_top": y_top, "y_bottom": y_bottom, "f_top": f_top, "f_bottom": f_bottom}
    y_a, y_b, f_a, f_b = arrays = [_check.array(value, name, ndim=1) for name, value in columns.items()]
    _check.same_length(**dict(zip(columns, arrays, strict=True)), groups=groups)

    def at(theta: float, alternative: str = "two-sided") -> MeanEstimate:
        return ppi_mean(
            y_a - theta * y_b, f_a - theta * f_b, groups=groups, null=0, alternative=alternative, min_gold=min_gold
        )

    both = ~np.isnan(y_a + y_b)
    bottom = ppi_mean(np.where(both, y_b, np.nan), f_b, groups=groups, min_gold=min_gold).estimate
    if bottom == 0:
        raise ValueError("`y_bottom` must have a mean that is not 0 to divide by.")
    estimate = _root_of(lambda theta: at(theta).estimate / bottom, float(np.mean(y_a[both]) / np.mean(y_b[both])))
    here = at(estimate)
    error = here.std_error / abs(bottom)
    tail = (1 - level) if side == "two-sided" else 2 * (1 - level)
    low, high = (_end(lambda theta: at(theta).p_value - tail, estimate, sign * error) for sign in (-1, 1))
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = -np.inf, np.inf  # a set with a hole, of which only the whole line is an interval
    # where the lower mean is negative, a larger ratio is a smaller difference
    p_side = side if bottom > 0 or side == "two-sided" else {"greater": "less", "less": "greater"}[side]
    text = "unbounded: the labels do not tell the lower mean from 0, so the ratio has no interval"
    return replace(
        here,
        estimate=estimate,
        std_error=error,
        interval=Interval(low if side != "less" else -np.inf, high if side != "greater" else np.inf),
        confidence_level=level,
        alternative=side,
        estimand="human ratio of means",
        null=float(null),
        p_value=at(null, p_side).p_value,
        warnings=here.warnings if np.isfinite(low) else (*here.warnings, text),
    )


def _root_of(step: Callable[[float], float], theta: float) -> float:
    """Fixed point of theta + step(theta)."""
    for _ in range(_DOUBLINGS):
        move = step(theta)
        theta += move
        if abs(move) <= 1e-12 * (1 + abs(theta)):
            break
    return theta


def _end(kept: Callable[[float], float], start: float, step: float) -> float:
    """Where `kept` falls through 0 on the way from `start`, or infinity."""
    if not step or not np.isfinite(step):
        return np.nan
    inner, outer = start, start + step
    for _ in range(_DOUBLINGS):
        if kept(outer) < 0:
            return float(optimize.brentq(kept, inner, outer, xtol=1e-10 * abs(step), rtol=1e-12))
        inner, outer, step = outer, outer + 2 * step, 2 * step
    return float(np.copysign(np.inf, step))


# --- quantiles --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileEstimate(Result):
    """A quantile of the human scores, with an interval.

    Attributes
    ----------
    estimate : float
        The smallest score that at least a share `q` of the items has or is below.
    interval : Interval
        Both ends are scores; infinite (or the scale's own) where the labels set no bound.
    confidence_level : float
    alternative : str
    q : float
    method : str
        "mover-jeffreys" or "ppi_py".
    support : str
        "levels" (an ordinal scale) or "scores" (all that people and the judge gave).
    n_gold, n : int
        Items with a human label; items in all.
    warnings : tuple of str
    """

    estimate: float
    interval: Interval
    confidence_level: float
    alternative: str
    q: float
    method: str
    support: str
    n_gold: int
    n: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"estimator": self.method, "q": self.q, "estimate": self.estimate}
        row |= {"conf_low": self.interval.low, "conf_high": self.interval.high}
        row |= {"n_gold": self.n_gold, "n": self.n}
        return [row | {"warnings": "; ".join(text.partition(":")[0] for text in self.warnings)}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"quantile": True, "q": self.q, "method": self.method, "support": self.support}
        return terms | {"alt": self.alternative, "cl": self.confidence_level, "gold": self.n_gold, "n": self.n}

    def __str__(self) -> str:
        return (
            f"human {short(self.q)} quantile = {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}"
            f", from {self.n_gold} human labels and {self.n} judge scores"
        )


def ppi_quantile(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | None = None,
    *,
    q: float = 0.5,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    conservative: bool = False,
    method: str = "auto",
    alternative: str = "two-sided",
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> QuantileEstimate:
    r"""Quantile of the human scores, such as their median.

    The share of items with a human score up to g is a proportion for which the judge's "up to g" stands in:
    `post_stratified` at each g that occurs. The estimate is the first g where it reaches q; the interval holds
    each g at which the proportion's interval allows for q,

    .. math:: \{ g : U(g) \ge q \text{ and } L(g^-) < q \}

    with g^- the score before g. No grid is laid over the scores: gold scores are tried, and those of the judge
    between two of them by halving.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        As for `ppi_mean`.
    f_unlabeled : array_like, shape (N,), optional
    q : float, default 0.5
    bounds : (float, float), optional
        Smallest and largest score of people's scale: ends that the labels do not set.
    step : float, optional
        Distance of neighbouring scale values; the interval ends are then scale values. Without it these are the
        labels that occur, if labels repeat (fewer different ones than half of them).
    conservative : bool, default False
        Clopper and Pearson's intervals instead of Jeffreys'.
    method : {"auto", "ppi_py"}
        "ppi_py": all g with |F(g) - q| within z standard errors, where F = F_rest(f) + F_gold(y) - F_gold(f),
        as that package does with `exact_grid`. Too short with few labels.
    alternative : {"two-sided", "greater", "less"}
    min_gold : int, default 10
        "auto" refuses fewer labels.
    confidence_level : float, default 0.95

    Returns
    -------
    QuantileEstimate

    Raises
    ------
    ValueError
        If a judge score is missing, lengths differ, labels are too few or off the scale.

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
    data = gold_of(y, f, f_unlabeled)
    on_scale(data.y, bounds, "y")
    share, level = _check.probability(q, "q"), _check.probability(confidence_level, "confidence_level")
    side = _check.choice(alternative, "alternative", ALTERNATIVES)
    how = _check.choice(method, "method", ("auto", "ppi_py"))
    n, rest = len(data.y), data.n_rest
    least = _check.whole(min_gold, "min_gold", least=2) if how == "auto" else 2
    if n < least:
        raise ValueError(f"`y` must have {least} gold labels at least, but got {n}: label more, or set `min_gold`.")
    ladder = _ladder(data.y, data.f, rest, data.loose() if rest else np.empty(0))
    levels = _levels(data.y, bounds, step)
    tail = (1 - level) / 2 if side == "two-sided" else 1 - level
    if how == "ppi_py":
        if not rest:
            raise ValueError("method 'ppi_py' needs items without a label, but every item has one: use 'auto'.")
        estimate, low, high = _by_ppi_py(ladder, share, tail)
    else:
        ends = partial(_ends, ladder, tail=tail, conservative=conservative)
        reach = (4 - special.ndtri(tail)) / (2 * np.sqrt(n)) + 2 / n  # beyond, the labels alone rule a score out
        found = _on_levels(ends, levels, share) if len(levels) else _on_scores(ends, ladder, share, reach)
        estimate, low, high = found
        if ends(np.array([-np.inf]))[2][0] >= share:
            low = -np.inf  # so few are below it that all labels may be above
    floor, ceiling = bounds or (-np.inf, np.inf)
    low, high = -np.inf if side == "less" else low, np.inf if side == "greater" else high
    return QuantileEstimate(
        estimate=float(np.clip(estimate, floor, ceiling)),
        interval=Interval(float(np.clip(low, floor, ceiling)), float(np.clip(high, floor, ceiling))),
        confidence_level=level,
        alternative=side,
        q=share,
        method="ppi_py" if how == "ppi_py" else "mover-clopper-pearson" if conservative else "mover-jeffreys",
        support="levels" if len(levels) and how == "auto" else "scores",
        n_gold=n,
        n=n + rest,
        warnings=_few_beyond(n, share),
    )


def _few_beyond(n: int, q: float) -> tuple[str, ...]:
    beyond = n * min(q, 1 - q)
    if beyond >= 5:
        return ()
    return (f"tail: about {beyond:.2g} of {n} labels lie beyond the {q:g} quantile, which leaves it nearly unknown",)


def _levels(y: Floats, bounds: tuple[float, float] | None, step: float | None) -> Floats:
    """The values of an ordinal scale, or nothing."""
    if step is not None:
        if bounds is None or not 0 < step <= bounds[1] - bounds[0]:
            raise ValueError(f"`step` must be above 0 and come with `bounds`, but got {step!r} and {bounds!r}.")
        return np.arange(bounds[0], bounds[1] + step / 2, step)
    seen = np.unique(y)
    return seen if 2 * len(seen) < len(y) else np.empty(0)


class _Ladder(NamedTuple):
    """Sorted scores, by which items up to a score are counted."""

    y: Floats
    f: Floats
    both: Floats  # the larger of the two: both are up to g where this is
    rest: NDArray[Any]


def _ladder(y: Floats, f: Floats, rest: int, scores: NDArray[Any]) -> _Ladder:
    # without a judge each item is one of which it says yes: the labels alone
    judge = f if rest else np.full(len(y), -np.inf)
    return _Ladder(np.sort(y), np.sort(judge), np.sort(np.maximum(y, judge)), np.sort(scores))


def _ends(ladder: _Ladder, g: Floats, *, tail: float, conservative: bool) -> tuple[Floats, Floats, Floats]:
    """Share of human scores up to g, with its interval."""
    n, rest = len(ladder.y), len(ladder.rest)
    up = partial(np.searchsorted, v=g, side="right")
    said, agreed, rest_said = up(ladder.f), up(ladder.both), up(ladder.rest)
    counts = agreed, said, up(ladder.y) - agreed, n - said, rest_said, rest - rest_said
    return post_stratified(*counts, 1 - 2 * tail, conservative=conservative)[:3]


_Ends = Callable[[Floats], tuple[Floats, Floats, Floats]]


def _on_levels(ends: _Ends, levels: Floats, q: float) -> tuple[float, float, float]:
    share, low, high = ends(levels)
    last = np.flatnonzero(low < q)
    return (
        float(levels[np.argmax(share >= q)]),
        float(levels[np.argmax(high >= q)]),
        float(np.append(levels, np.inf)[last[-1] + 1]) if len(last) else float(levels[0]),
    )


def _on_scores(ends: _Ends, ladder: _Ladder, q: float, reach: float) -> tuple[float, float, float]:
    """Gold scores first, and the last of the rest's before each; then between two of them, by halving.

    There only the rest's count changes, and the shares rise with it, where the judge is any good.
    """
    gold = np.unique(np.concatenate([ladder.y, ladder.f[np.isfinite(ladder.f)]]))
    near = np.abs(np.searchsorted(ladder.y, gold, side="right") / len(ladder.y) - q) <= reach
    first, last = np.flatnonzero(near)[[0, -1]] if near.any() else (0, len(gold) - 1)
    gold = gold[max(first - 1, 0) : last + 2]
    before = np.searchsorted(ladder.rest, gold, side="left") - 1
    latest = np.where(before >= 0, ladder.rest[np.maximum(before, 0)], gold) if len(ladder.rest) else gold
    here, there = ends(gold), ends(np.minimum(latest, gold))
    share, _, high = (np.maximum(a, b) for a, b in zip(here, there, strict=True))
    below = np.flatnonzero(here[1] < q)
    after = int(below[-1]) + 1 if len(below) else 0
    return (
        _between(lambda g: ends(g)[0] >= q, ladder.rest, gold, int(np.argmax(share >= q))),
        _between(lambda g: ends(g)[2] >= q, ladder.rest, gold, int(np.argmax(high >= q))),
        _between(lambda g: ends(g)[1] >= q, ladder.rest, gold, after),
    )


def _between(reached: Callable[[Floats], NDArray[np.bool_]], rest: NDArray[Any], gold: Floats, at: int) -> float:
    """The first of the rest's scores, after one gold score and before another, where it is reached; else the latter."""
    start = int(np.searchsorted(rest, gold[at - 1], side="right")) if at else 0
    stop = int(np.searchsorted(rest, gold[at], side="left")) if at < len(gold) else len(rest)
    end = float(gold[at]) if at < len(gold) else np.inf
    while start < stop:
        tried = np.unique(np.linspace(start, stop - 1, 64).astype(np.intp))
        yes = np.asarray(reached(rest[tried].astype(float)))
        if not yes.any():
            return end
        first = int(np.argmax(yes))
        end, stop = float(rest[tried[first]]), int(tried[first])
        start = int(tried[first - 1]) + 1 if first else stop
    return end


def _by_ppi_py(ladder: _Ladder, q: float, tail: float) -> tuple[float, float, float]:
    grid = np.unique(np.concatenate([ladder.y, ladder.f, ladder.rest]))
    n, rest = len(ladder.y), len(ladder.rest)
    up = partial(np.searchsorted, v=grid, side="right")
    y, f, both, judge = up(ladder.y) / n, up(ladder.f) / n, up(ladder.both) / n, up(ladder.rest) / rest
    gap = (up(ladder.y) - up(ladder.f)) / n
    error = np.sqrt(np.maximum(judge * (1 - judge), 0) / rest + np.maximum(y + f - 2 * both - gap**2, 0) / n)
    kept = grid[np.abs(judge + gap - q) < -special.ndtri(tail) * error]
    kept = kept if len(kept) else np.array([np.nan])  # on an ordinal scale it may be that no score is
    return float(grid[np.argmin(np.abs(judge + gap - q))]), float(kept[0]), float(kept[-1])


# --- any other statistic ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapEstimate(Result):
    """A statistic of the human scores, with a bootstrap interval.

    Attributes
    ----------
    estimate, std_error : float
    interval : Interval
    confidence_level : float
    lam : float
        Weight of the judge; 0 means that only the labels speak.
    n_gold, n : int
        Items with a human label; items in all.
    n_resamples, n_undefined : int
        Resamples; those on which the statistic is not defined, which are left out.
    statistic : str
        Its name.
    warnings : tuple of str
    """

    estimate: float
    std_error: float
    interval: Interval
    confidence_level: float
    lam: float
    n_gold: int
    n: int
    n_resamples: int
    n_undefined: int
    statistic: str
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"estimator": "bootstrap", "statistic": self.statistic, "estimate": self.estimate}
        row |= {"std_error": self.std_error, "conf_low": self.interval.low, "conf_high": self.interval.high}
        row |= {"lam": self.lam, "n_gold": self.n_gold, "n": self.n}
        return [row | {"warnings": "; ".join(text.partition(":")[0] for text in self.warnings)}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"ppi-bootstrap": True, "of": self.statistic, "rs": self.n_resamples}
        return terms | {"cl": self.confidence_level, "gold": self.n_gold, "n": self.n, "lam": round(self.lam, 4)}

    def __str__(self) -> str:
        return (
            f"human {self.statistic} = {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, "
            f"from {self.n_gold} human labels and {self.n} judge scores ({self.n_resamples} resamples)"
        )


def ppi_bootstrap(
    statistic: Callable[..., Any],
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike,
    *,
    X: ArrayLike | None = None,  # noqa: N803 - as in `ppi_ols`
    X_unlabeled: ArrayLike | None = None,  # noqa: N803
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> BootstrapEstimate:
    r"""Any statistic of the human scores, with the judge's help.

    .. math:: \hat\theta = T(y_{gold}) - \lambda \big( T(f_{gold}) - T(f_{rest}) \big)

    Only the gold items are resampled, which costs the same however many the rest are. On the rest the statistic is
    computed once; its error is drawn from a normal distribution with the variance that the resamples have,
    times n / N. Lambda is the one that makes the variance least, from the resamples.

    Parameters
    ----------
    statistic : callable
        Of a sample of scores, one number. With a parameter `axis` (as most of numpy's and scipy's) it is called
        with a matrix, a resample in each row, and ``axis=-1``: a hundred times faster. With `X` it is called
        with two arguments, scores and covariates. It should be smooth: for quantiles there is `ppi_quantile`.
    y, f : array_like, shape (n,)
        Human labels and judge scores of the gold items.
    f_unlabeled : array_like, shape (N,)
        Judge scores of the rest.
    X, X_unlabeled : array_like, shape (n, ...) and (N, ...), optional
        What else the statistic needs of each item; resampled with it.
    n_resamples : int, default 1000
    confidence_level : float, default 0.95
    rng : Generator or int, optional

    Returns
    -------
    BootstrapEstimate

    Raises
    ------
    ValueError
        If shapes differ, a value is missing, there are fewer than 10 labels, or the statistic is not defined on
        the data or on half of the resamples.

    Notes
    -----
    The interval lies between quantiles of the resampled estimates, moved so that their mean is the estimate and
    taken further out: to where the normal distribution has the t quantile with n - 2 degrees of freedom, times
    :math:`\sqrt{n / (n - 1)}` (Hesterberg's expanded percentile interval), and by as much as the jackknife, with
    lambda tuned anew without each item, finds more spread than the resamples (up to 1,000 labels). For means and
    correlations it held 93 to 97 % of the time with 10 to 50 labels, where the plain percentile interval holds
    84 to 93 %. It is no cure for statistics that hang on few items, such as the spread of a skewed score (77 to
    89 %), nor for labels that pile up at the end of a scale: for their mean take `ppi_mean`.

    References
    ----------
    Kluger et al. (2025), Prediction-powered inference with imputed covariates, arXiv:2501.18577, algorithm 3;
    Hesterberg (2015), The American Statistician 69:371-386.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.gamma(2, size=5000)
    >>> f = y + 0.5 * rng.normal(size=5000)
    >>> result = ppi_bootstrap(np.mean, y[:100], f[:100], f[100:], rng=0)
    >>> round(result.estimate, 2), [round(end, 2) for end in result.interval]
    (2.06, [1.95, 2.17])
    """
    count = _check.whole(n_resamples, "n_resamples", least=100)
    level = _check.probability(confidence_level, "confidence_level")
    sample = _sample(y, f, f_unlabeled, X, X_unlabeled)
    n, rest = len(sample.y), len(sample.rest)
    value = _vectorised(statistic)
    draw = np.random.default_rng(rng)
    label, own, judge = (float(value(*part)) for part in sample.parts())
    if not np.isfinite([label, own, judge]).all():
        raise ValueError(f"`statistic` must be a finite number of the data, but got {label}, {own} and {judge}.")
    labels, judged = _resampled(value, sample, count, draw)
    kept = np.isfinite(labels + judged)
    if kept.sum() < count / 2:
        raise ValueError(
            f"`statistic` must be defined on most resamples, but is not on {count - kept.sum()} of {count}."
        )
    labels, judged = labels[kept], judged[kept]
    spread = float(judged.var(ddof=1))
    lam = float(np.cov(labels, judged)[0, 1] / ((1 + n / rest) * spread)) if spread > 0 else 0.0
    far = judge + np.sqrt(spread * n / rest) * draw.standard_normal(len(labels))
    drawn, estimate = labels - lam * (judged - far), label - lam * (own - judge)
    error = float(drawn.std(ddof=1)) * np.sqrt(n / (n - 1))
    left = _without_each(value, sample, judge)
    wider = max(1.0, np.sqrt(left**2 + lam**2 * spread * n / rest) / error) if error > 0 else 1.0
    return BootstrapEstimate(
        estimate=estimate,
        std_error=error * wider,
        interval=_expanded(estimate + wider * (drawn - drawn.mean()), n, level),
        confidence_level=level,
        lam=lam,
        n_gold=n,
        n=n + rest,
        n_resamples=count,
        n_undefined=int(count - kept.sum()),
        statistic=getattr(statistic, "__name__", "statistic"),
        warnings=_undefined(int(count - kept.sum()), count),
    )


def _without_each(value: Callable[..., Any], sample: _Sample, judge: float) -> float:
    """Jackknife standard error of the gold items' part, with lambda tuned anew without each item."""
    n, rest = len(sample.y), len(sample.rest)
    if n > _FEW:
        return 0.0  # both errors are the same by then
    others = np.arange(n - 1) + (np.arange(n - 1) >= np.arange(n)[:, None])
    x = () if sample.x is None else (sample.x[others],)
    with np.errstate(invalid="ignore", divide="ignore"):
        labels, judged = value(sample.y.take(others), *x), value(sample.f.take(others), *x)
    if not np.isfinite(labels + judged).all():
        return 0.0
    a, b = labels - labels.mean(), judged - judged.mean()
    # sums of the others' deviations, from the others' mean
    cross, square = (np.sum(a * c) - c * a * n / (n - 1) for a, c in ((a, b), (b, b)))
    lam = np.divide(cross, (1 + n / rest) * square, out=np.zeros(n), where=square > 0)
    return float(np.sqrt((n - 1) / n * np.sum((v := labels - lam * (judged - judge)) ** 2 - v.mean() ** 2)))


def _undefined(missing: int, count: int) -> tuple[str, ...]:
    text = f"undefined: the statistic is not defined on {missing} of {count} resamples, which are left out"
    return (text,) if missing else ()


def _expanded(drawn: Floats, n: int, level: float) -> Interval:
    if np.ptp(drawn) <= 1e-12 * np.abs(drawn).max():
        return Interval(np.nan, np.nan)  # what does not vary says nothing about its spread
    out = np.sqrt(n / (n - 1)) * special.stdtrit(n - 2, (1 + level) / 2)
    low, high = np.quantile(drawn, [special.ndtr(-out), special.ndtr(out)])
    return Interval(float(low), float(high))


class _Sample(NamedTuple):
    y: Floats
    f: Floats
    rest: NDArray[Any]
    x: NDArray[Any] | None
    x_rest: NDArray[Any] | None

    def parts(self) -> tuple[tuple[NDArray[Any], ...], ...]:
        """Arguments of the statistic: labels, the judge on the same items, the judge on the rest."""
        if self.x is None or self.x_rest is None:
            return (self.y,), (self.f,), (self.rest,)
        return (self.y, self.x), (self.f, self.x), (self.rest, self.x_rest)


def _sample(
    y: ArrayLike, f: ArrayLike, f_unlabeled: ArrayLike, x: ArrayLike | None, x_unlabeled: ArrayLike | None
) -> _Sample:
    data = gold_of(y, f, f_unlabeled)
    if len(data.y) < 10:
        raise ValueError(f"`y` must have 10 gold labels at least for a bootstrap, but got {len(data.y)}.")
    if data.n_rest < 2:
        raise ValueError(f"`f_unlabeled` must have two scores at least, but got {data.n_rest}.")
    if (x is None) != (x_unlabeled is None):
        raise ValueError("`X_unlabeled` must be given exactly when `X` is, but only one of them came.")
    if x is None or x_unlabeled is None:
        return _Sample(data.y, data.f, data.loose(), None, None)
    given, given_rest = np.asarray(x), np.asarray(x_unlabeled)
    _check.same_length(y=data.y, X=given)
    _check.same_length(f_unlabeled=data.loose(), X_unlabeled=given_rest)
    return _Sample(data.y, data.f, data.loose(), given, given_rest)


def _vectorised(statistic: Callable[..., Any]) -> Callable[..., Any]:
    """The statistic of the last axis of its first argument, whether or not it knows of axes."""
    try:
        known = "axis" in inspect.signature(statistic).parameters
    except (TypeError, ValueError):  # some compiled functions do not say
        known = False

    def by_axis(scores: NDArray[Any], *others: NDArray[Any]) -> Any:
        found = np.asarray(statistic(scores, *others, axis=-1), dtype=float)
        if found.shape != scores.shape[:-1]:
            raise ValueError(f"`statistic` must give {scores.shape[:-1]} numbers with axis=-1, but gave {found.shape}.")
        return found

    def by_row(scores: NDArray[Any], *others: NDArray[Any]) -> Any:
        if scores.ndim == 1:
            return statistic(scores, *others)
        return np.array([float(statistic(*row)) for row in zip(scores, *others, strict=True)])

    return by_axis if known else by_row


def _resampled(
    value: Callable[..., Any], sample: _Sample, count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    n = len(sample.y)
    labels, judged = np.empty(count), np.empty(count)
    size = max(1, _BATCH // n)
    for start in range(0, count, size):
        stop = min(start + size, count)
        chosen = rng.integers(0, n, (stop - start, n))
        others = () if sample.x is None else (sample.x[chosen],)
        with np.errstate(invalid="ignore", divide="ignore"):
            labels[start:stop] = value(sample.y.take(chosen), *others)
            judged[start:stop] = value(sample.f.take(chosen), *others)
    return labels, judged
