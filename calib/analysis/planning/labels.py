"""Before the labels are paid for: how many, whether the judge helps, and what a difference costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Interval, Result, bracket, short

LEAST = 10  # labels: with fewer no interval is given
_PILOT = 30  # labels from which a correlation says something
_CEILING = 2.0  # times that labels go further, at most, with a judge no better than what it judges
_POINTS = 40  # of the curve


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsNeeded(Result):
    """Gold labels that a target asks for, with the judge and without it.

    Attributes
    ----------
    n_gold, n_gold_alone : int
        Labels in all (those of a pilot included), with the judge and with labels alone.
    saved : int
        `n_gold_alone` - `n_gold`; negative where the judge costs more than it gives.
    half_width : float
        Of the interval at `n_gold`.
    difference : float or None
        To be found with `power`, where that was the target.
    power : float or None
    rho, sd : float
        Correlation of judge and labels, standard deviation of labels.
    n_items : int
        Items in all, with a judge score each.
    confidence_level : float
    curve : tuple of (int, float, float)
        Number of labels, half-width with the judge, half-width of labels alone.
    warnings : tuple of str
        ``weak_judge``, ``pilot``, ``few``.
    """

    n_gold: int
    n_gold_alone: int
    saved: int
    half_width: float
    difference: float | None
    power: float | None
    rho: float
    sd: float
    n_items: int
    confidence_level: float
    curve: tuple[tuple[int, float, float], ...]
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        return [dict(zip(("n_gold", "half_width", "half_width_alone"), point, strict=True)) for point in self.curve]

    def _terms(self) -> dict[str, Any]:
        goal = {"half": self.half_width} if self.difference is None else {"diff": self.difference, "power": self.power}
        return {"labels-needed": True, "t": True, **goal, "cl": self.confidence_level} | {
            "rho": self.rho,
            "sd": self.sd,
            "n": self.n_items,
        }

    def __str__(self) -> str:
        goal = (
            f"a {100 * self.confidence_level:g} % interval of +/- {short(self.half_width)}"
            if self.difference is None or self.power is None
            else f"a difference of {short(self.difference)} found with power {self.power:g}"
        )
        return (
            f"{self.n_gold} labels with the judge (r = {short(self.rho)}, {self.n_items} items), "
            f"{self.n_gold_alone} without, for {goal}"
        )


def labels_needed(
    y: ArrayLike | None = None,
    f: ArrayLike | None = None,
    *,
    n_items: int | None = None,
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    rho: float | None = None,
    sd: float | None = None,
    confidence_level: float = 0.95,
) -> LabelsNeeded:
    r"""Smallest number of gold labels for an interval this narrow, or a difference this small.

    With n of M items labelled the regression estimator has, for normal scores,

    .. math:: V(n) = \sigma^2 \Big[ \frac{1 - \rho^2}{n} \Big(1 + \frac{1 - n/M}{n - 3}\Big)
                     + \frac{\rho^2}{M} \Big]

    The bracket with n - 3 is what it costs to learn the slope from the same labels; for M
    without end it is (n - 2)/(n - 3), and with every item labelled it is 1 and the judge
    leaves the formula. The half-width is :math:`t_{n-2} \sqrt{V(n)}`, that of labels alone
    :math:`t_{n-1} \sigma / \sqrt n`; power comes from the noncentral t.

    Parameters
    ----------
    y, f : array_like, shape (n,), optional
        A pilot: labels with NaN where there is none, and the judge's scores. To compare two
        systems on the same items, the differences of their labels and of their judge scores.
    n_items : int, optional
        Items that the judge will have scored, labelled ones included. Default: the
        length of `f`; needed without a pilot.
    half_width : float, optional
        Wanted half of the interval, in score points.
    difference : float, optional
        Instead: distance of the mean from the value that it is tested against, to be
        found with probability `power`.
    power : float, default 0.8
    rho, sd : float, optional
        Instead of a pilot: correlation of judge and labels, standard deviation of labels.
    confidence_level : float, default 0.95

    Returns
    -------
    LabelsNeeded

    Raises
    ------
    ValueError
        If both or neither of `half_width` and `difference`, or of a pilot and (`rho`, `sd`),
        are given; if the labels of the pilot are fewer than four or do not vary; if even
        labels for all items do not reach the target.

    References
    ----------
    Mani et al. (2025), arXiv:2505.20178, for the price of the slope; Cochran (1977), Sampling
    Techniques, section 12.6, for the regression estimator with two sample sizes.

    Examples
    --------
    >>> print(labels_needed(rho=0.8, sd=1.1, n_items=5000, half_width=0.2))
    46 labels with the judge (r = 0.8, 5000 items), 119 without, for a 95 % interval of +/- 0.1999
    """
    level = check.probability(confidence_level, "confidence_level")
    rho, sd, n_pilot, seen = _design(y, f, rho, sd)
    items = _items(n_items, seen)
    reached = _goal(half_width, difference, power, level)
    if not reached(sd / math.sqrt(items), items - 2):
        raise ValueError(_unreachable(half_width, difference, power, level, items, sd))
    n_gold = _smallest(lambda n: reached(error_with_judge(n, items, rho, sd), n - 2), LEAST, items)
    alone = _smallest(lambda n: reached(sd / math.sqrt(n), n - 1), 2, items)
    return LabelsNeeded(
        n_gold=n_gold,
        n_gold_alone=alone,
        saved=alone - n_gold,
        half_width=_half(error_with_judge(n_gold, items, rho, sd), n_gold - 2, level),
        difference=difference,
        power=None if difference is None else power,
        rho=rho,
        sd=sd,
        n_items=items,
        confidence_level=level,
        curve=_curve(items, rho, sd, level),
        warnings=_named(_labels_warnings(n_gold, rho, n_pilot, level)),
    )


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
            f"{short(self.break_even)} with {self.n_gold} labels; {_reach(self.label_factor)}"
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
    level = check.probability(confidence_level, "confidence_level")
    labels, scores = _pilot(y, f)
    n, rho = len(labels), _correlation(labels, scores)
    interval, even = _fisher(rho, n, level), 1 / math.sqrt(n - 2)
    ratio = math.sqrt((1 - rho**2) * (n - 2) / (n - 3))
    return JudgeHelp(
        helps=abs(rho) > even,
        verdict=_verdict(rho, interval, even),
        rho=rho,
        interval=interval,
        confidence_level=level,
        break_even=even,
        width_ratio=ratio,
        label_factor=1 / ratio**2 if ratio else math.inf,
        n_gold=n,
        warnings=_named({} if np.ptp(scores) else {"constant_judge": "it gives all gold items the same score."}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptimal(Result):
    """Labels and unlabelled items that are worth most for the money.

    Attributes
    ----------
    n_gold, n_unlabeled : int
        Items with a label and a judge score, and with a judge score alone. With
        `n_unlabeled` 0 the judge does not pay, and nothing is spent on it.
    cost : float
    effective_n : int
        Labels alone that would give the same standard error.
    rho : float
    warnings : tuple of str
        ``labels_alone``.
    """

    n_gold: int
    n_unlabeled: int
    cost: float
    effective_n: int
    rho: float
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"n_gold": self.n_gold, "n_unlabeled": self.n_unlabeled, "cost": self.cost}
        return [row | {"effective_n": self.effective_n, "rho": self.rho}]

    def _terms(self) -> dict[str, Any]:
        return {"cost-optimal": True, "rho": self.rho, "gold": self.n_gold, "unlabeled": self.n_unlabeled}

    def __str__(self) -> str:
        rest = f"and {self.n_unlabeled} more judge scores" if self.n_unlabeled else "and no judge"
        return (
            f"{self.n_gold} labels {rest} for {self.cost:g}: worth {self.effective_n} labels alone "
            f"(r = {short(self.rho)})"
        )


def cost_optimal(
    rho: float,
    *,
    cost_label: float,
    cost_judge: float,
    cost_item: float = 0.0,
    budget: float | None = None,
    effective_n: float | None = None,
    n_max: int | None = None,
) -> CostOptimal:
    r"""Split money between labels and judge scores.

    With n labels among M judged items the mean is worth :math:`n_0` labels alone,

    .. math:: \frac{1}{n_0} = \frac{1 - \rho^2}{n} + \frac{\rho^2}{M}, \qquad
              cost = n \, c_{label} + M \, (c_{judge} + c_{item})

    and the best pair, for either a budget or a wanted :math:`n_0`, has

    .. math:: n : M = \sqrt{\frac{1 - \rho^2}{c_{label}}} : \sqrt{\frac{\rho^2}{c_{judge} + c_{item}}}

    Where labels alone (at :math:`c_{label} + c_{item}` each) give more, they are chosen; where
    it is `n_max` that makes them so, a warning says it and the pair is left as published.
    Numbers are rounded to the nearest, so the cost can pass the budget by half a label.

    Parameters
    ----------
    rho : float
        Correlation of judge and labels.
    cost_label, cost_judge, cost_item : float
        Of a label, of a judge score, and of an item before either.
    budget : float, optional
        Money to spend.
    effective_n : float, optional
        Instead: labels alone that the pair shall be worth.
    n_max : int, optional
        Items that there are; needed where a judge score costs nothing.

    Returns
    -------
    CostOptimal

    Raises
    ------
    ValueError
        If both or neither of `budget` and `effective_n` are given, a cost is negative, or
        `effective_n` is more than `n_max`.

    References
    ----------
    Broska, Howes and van Loon (2024), The mixed subjects design, doi:10.31235/osf.io/j3bnt.

    Examples
    --------
    >>> print(cost_optimal(0.9, cost_label=1, cost_judge=0.1, budget=1000))
    605 labels and 3345 more judge scores for 1000: worth 1926 labels alone (r = 0.9)
    """
    _correlated(rho)
    _costs(cost_label, cost_judge, cost_item)
    _one_of(budget=budget, effective_n=effective_n)
    if n_max is not None:
        check.whole(n_max, "n_max", least=1)
        if effective_n is not None and effective_n > n_max:
            raise ArgumentError(
                "effective_n", f"must be at most {{0}} ({n_max})", f"got {effective_n:g}", mentions=("n_max",)
            )
    money = _Money(cost_label, cost_judge + cost_item, cost_label + cost_item, budget, effective_n)
    if not money.judged and n_max is None and rho:
        raise ArgumentError("n_max", "must be given where a judge score costs nothing", "came without")
    alone = money.alone()
    if not money.pays(rho) or (budget is not None and n_max is not None and alone >= n_max):
        n = round(alone if n_max is None else min(alone, n_max))
        return CostOptimal(n_gold=n, n_unlabeled=0, cost=n * money.label_alone, effective_n=n, rho=rho, warnings=())
    labels, items = money.pair(rho, n_max)
    n, rest = round(labels), round(items - labels)
    cost, worth = n * cost_label + (n + rest) * money.judged, n * (n + rest) / (n + (1 - rho**2) * rest)
    better = alone > worth if budget is not None else alone * money.label_alone < cost
    text = f"{round(alone)} labels alone, for {alone * money.label_alone:g}, are the better buy under this `n_max`."
    warned = _named({"labels_alone": text} if better else {})
    return CostOptimal(n_gold=n, n_unlabeled=rest, cost=cost, effective_n=round(worth), rho=rho, warnings=warned)


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
    level = check.probability(confidence_level, "confidence_level")
    _powerful(power, level)
    _correlated(rho)
    positive(sd, "sd")
    check.whole(n_gold, "n_gold", least=LEAST)
    check.whole(n_items, "n_items", least=n_gold)
    return DetectableDifference(
        difference=_found(error_with_judge(n_gold, n_items, rho, sd), n_gold - 2, power, level),
        difference_alone=_found(sd / math.sqrt(n_gold), n_gold - 1, power, level),
        power=power,
        confidence_level=level,
        n_gold=n_gold,
        n_items=n_items,
        rho=rho,
        sd=sd,
    )


# --- the error of a design --------------------------------------------------------------------------------------


def error_with_judge(n: int, n_items: int, rho: float, sd: float) -> float:
    """Standard error of the regression estimator with n of the items labelled."""
    slope = 1 + (1 - n / n_items) / (n - 3)
    return sd * math.sqrt((1 - rho**2) / n * slope + rho**2 / n_items)


def _half(error: float, df: int, level: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, df)) * error


def _power(difference: float, error: float, df: int, level: float) -> float:
    """Of the two-sided t test: the square of a noncentral t is a noncentral F."""
    t = float(stats.t.ppf((1 + level) / 2, df))
    return float(stats.ncf.sf(t**2, 1, df, (difference / error) ** 2))


def _found(error: float, df: int, power: float, level: float) -> float:
    high = float(stats.t.ppf((1 + level) / 2, df) + stats.t.ppf((1 + power) / 2, df)) * 2 * error
    return float(optimize.brentq(lambda d: _power(d, error, df, level) - power, 1e-6 * high, high, xtol=1e-12 * high))


def _goal(
    half_width: float | None, difference: float | None, power: float, level: float
) -> Callable[[float, int], bool]:
    """Whether a standard error with its degrees of freedom reaches the target."""
    _one_of(half_width=half_width, difference=difference)
    _powerful(power, level)
    if half_width is not None:
        wanted = positive(half_width, "half_width")
        return lambda error, df: _half(error, df, level) <= wanted
    delta = positive(abs(difference or 0.0), "difference")
    return lambda error, df: _power(delta, error, df, level) >= power


def _smallest(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The first n that is enough, by halving: `high` is enough, and the error falls as n grows."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _unreachable(
    half_width: float | None, difference: float | None, power: float, level: float, items: int, sd: float
) -> str:
    error = sd / math.sqrt(items)
    if half_width is not None:
        name, got, best = "half_width", half_width, _half(error, items - 2, level)
    else:
        assert difference is not None
        name, got, best = "difference", abs(difference), _found(error, items - 2, power, level)
    return (
        f"`{name}` must be {short(best)} or more, which labels for all {items} items reach, but got {got:g}: "
        "more items are needed."
    )


def _curve(items: int, rho: float, sd: float, level: float) -> tuple[tuple[int, float, float], ...]:
    sizes = np.unique(np.geomspace(LEAST, items, _POINTS).round().astype(int)).tolist()
    return tuple(
        (n, _half(error_with_judge(n, items, rho, sd), n - 2, level), _half(sd / math.sqrt(n), n - 1, level))
        for n in sizes
    )


# --- the pilot --------------------------------------------------------------------------------------------------


def _design(
    y: ArrayLike | None, f: ArrayLike | None, rho: float | None, sd: float | None
) -> tuple[float, float, int | None, int | None]:
    """Correlation, spread, labels of the pilot and items that the judge has scored."""
    if (y is None) != (f is None) or (rho is None) != (sd is None) or (y is None) == (rho is None):
        raise ArgumentError(
            "y",
            "and {0}, or {1} and {2}, must be given",
            "not both pairs and no half of one",
            mentions=("f", "rho", "sd"),
        )
    if y is not None and f is not None:
        labels, scores = _pilot(y, f)
        return _correlation(labels, scores), float(np.std(labels, ddof=1)), len(labels), len(np.asarray(f))
    assert rho is not None
    assert sd is not None
    return _correlated(rho), positive(sd, "sd"), None, None


def _items(n_items: int | None, seen: int | None) -> int:
    if n_items is None and seen is None:
        raise ArgumentError("n_items", "must be given where there is no pilot", "came without")
    return check.whole(seen if n_items is None else n_items, "n_items", least=LEAST)  # type: ignore[arg-type]


def _pilot(y: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats]:
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    check.same_length(y=labels, f=scores)
    given = ~np.isnan(labels)
    bad = given & np.isnan(scores)
    if bad.any():
        raise ArgumentError("f", "must have a judge score for each label", f"got NaN at {int(np.argmax(bad))}")
    if given.sum() < 4:
        raise ArgumentError("y", "must have four labels at least", f"got {int(given.sum())}")
    if not np.ptp(labels[given]):
        raise ArgumentError("y", "must vary to plan from it", f"every label is {labels[given][0]:g}")
    return labels[given], scores[given]


def _correlation(labels: Floats, scores: Floats) -> float:
    """Pearson's; 0 for a judge that says the same of all."""
    if not np.ptp(scores):
        return 0.0
    return float(np.clip(np.corrcoef(labels, scores)[0, 1], -1, 1))


def _fisher(rho: float, n: int, level: float) -> Interval:
    if abs(rho) > 1 - 1e-12:
        return Interval(math.nan, math.nan)  # no scatter seen, so none estimated
    return fisher(rho, n, level)


def fisher(rho: float, n: int, level: float) -> Interval:
    """Interval of a correlation from n pairs, by Fisher's z."""
    half = float(stats.norm.ppf((1 + level) / 2)) / math.sqrt(n - 3)
    return Interval(math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))


def _verdict(rho: float, interval: Interval, even: float) -> str:
    if abs(rho) <= even:
        return "the judge does not help"
    sure = interval.low > even or interval.high < -even
    return "the judge helps" if sure else "the judge seems to help, but these labels do not make it sure"


def _reach(factor: float) -> str:
    if factor <= 1:
        return "take the labels alone"
    return (
        f"labels go {short(factor)} times as far with many unlabelled items "
        f"(a judge no better than what it judges reaches {_CEILING:g} at most)"
    )


def _labels_warnings(n_gold: int, rho: float, n_pilot: int | None, level: float) -> dict[str, str]:
    warned = {} if n_pilot is None else _pilot_warning(n_pilot, rho, level)
    if abs(rho) <= 1 / math.sqrt(n_gold - 2):
        warned["weak_judge"] = f"a correlation of {short(rho)} does not pay with {n_gold} labels: leave the judge out."
    if n_gold == LEAST:
        warned["few"] = f"the target may need fewer than {LEAST} labels, but no interval is given below that."
    return warned


def _pilot_warning(n: int, rho: float, level: float) -> dict[str, str]:
    if n >= _PILOT:
        return {}
    text = bracket(_fisher(rho, n, level), level)
    return {"pilot": f"a correlation of {short(rho)} from {n} labels is uncertain: {text}."}


def _named(warned: dict[str, str]) -> tuple[str, ...]:
    texts = tuple(f"{name}: {text}" for name, text in warned.items())
    for text in texts:
        check.warn(text)
    return texts


# --- money ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Money:
    """Price of a label and of a judged item, of a label where there is no judge, and what is to be had."""

    label: float
    judged: float
    label_alone: float
    budget: float | None
    effective_n: float | None

    def alone(self) -> float:
        """Labels without a judge."""
        return self.budget / self.label_alone if self.budget is not None else float(self.effective_n or 0)

    def root(self, rho: float) -> float:
        """Square root of what one label's worth costs at the best mix."""
        return math.sqrt((1 - rho**2) * self.label) + math.sqrt(rho**2 * self.judged)

    def pays(self, rho: float) -> bool:
        """Whether the best mix has items without a label, and costs no more than labels."""
        mixed = (1 - rho**2) * self.judged < rho**2 * self.label
        return mixed and self.root(rho) ** 2 <= self.label_alone

    def pair(self, rho: float, n_max: int | None) -> tuple[float, float]:
        """Labels, and items with a judge score, as real numbers."""
        root, seen = self.root(rho), rho**2
        scale = self.budget / root if self.budget is not None else float(self.effective_n or 0) * root
        items = scale * math.sqrt(seen / self.judged) if self.judged else math.inf
        if n_max is None or items <= n_max:
            return scale * math.sqrt((1 - seen) / self.label), items
        if self.budget is not None:
            return (self.budget - self.judged * n_max) / self.label, n_max
        return (1 - seen) / (1 / float(self.effective_n or 1) - seen / n_max), n_max


# --- checks -----------------------------------------------------------------------------------------------------


def _correlated(rho: float) -> float:
    if not -1 < rho < 1:
        raise ArgumentError("rho", "must be between -1 and 1", f"got {rho!r}")
    return float(rho)


def _powerful(power: float, level: float) -> None:
    if not 1 - level < power < 1:
        raise ArgumentError(
            "power",
            f"must be between 1 - {{0}} ({1 - level:g}) and 1",
            f"got {power!r}",
            mentions=("confidence_level",),
        )


def positive(value: float, name: str) -> float:
    if not 0 < value < math.inf:
        raise ArgumentError(name, "must be above 0", f"got {value!r}")
    return float(value)


def _costs(label: float, judge: float, item: float) -> None:
    positive(label, "cost_label")
    for name, value in (("cost_judge", judge), ("cost_item", item)):
        if not 0 <= value < math.inf:
            raise ArgumentError(name, "must be 0 or more", f"got {value!r}")


def _one_of(**options: float | None) -> None:
    first, second = options
    if (options[first] is None) == (options[second] is None):
        raise ArgumentError(first, "or {0} must be given, and not both", mentions=(second,))
    for name, value in options.items():
        if value is not None and name in {"budget", "effective_n"}:
            positive(value, name)
