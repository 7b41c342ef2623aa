"""How many labels an interval of a width, or a difference to be found, takes with the judge and without it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from calib.analysis.means.guards import bounds_of
from calib.analysis.means.moments import refuse_where
from calib.analysis.planning.half_width import half_width_on, is_whole
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.result import NO_INTERVAL, Interval, Result, bracket, short

LEAST = 10  # labels: with fewer no interval is given


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsNeeded(Result):
    """Labels that a target asks for, with the judge and without it.

    Attributes
    ----------
    n_labels, n_labels_alone : int
        Labels in all (those of a pilot included), with the judge and with labels alone.
    half_width : float
        Of the interval at `n_labels`.
    difference, power : float or None
        To be found with this power, where that was the target.
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

    n_labels: int
    n_labels_alone: int
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
        return [dict(zip(("n_labels", "half_width", "half_width_alone"), point, strict=True)) for point in self.curve]

    def _terms(self) -> dict[str, Any]:
        goal = {"half": self.half_width} if self.difference is None else {"diff": self.difference, "power": self.power}
        terms = {"cl": self.confidence_level, "rho": self.rho, "sd": self.sd, "n": self.n_items}
        return {"labels-needed": True, "t": True, **goal, **terms}

    def __str__(self) -> str:
        goal = f"a {100 * self.confidence_level:g} % interval of +/- {short(self.half_width)}"
        if self.difference is not None:
            goal = f"a difference of {short(self.difference)} found with power {self.power:g}"
        return (
            f"{self.n_labels} labels with the judge (r = {short(self.rho)}, {self.n_items} items), "
            f"{self.n_labels_alone} without, for {goal}"
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
    mean: float | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    confidence_level: float = 0.95,
) -> LabelsNeeded:
    r"""Smallest number of labels for an interval this narrow, or a difference this small.

    With n of M items labelled the regression estimator has, for normal scores,

    .. math:: V(n) = \sigma^2 \Big[ \frac{1 - \rho^2}{n} \Big(1 + \frac{1 - n/M}{n - 3}\Big)
                     + \frac{\rho^2}{M} \Big]

    The bracket with n - 3 is what it costs to learn the slope from the same labels. The half-width is
    :math:`t_{n-2} \sqrt{V(n)}`, that of labels alone :math:`t_{n-1} \sigma / \sqrt n`, of which the narrower is taken,
    as `ppi_mean` does; power comes from the noncentral t. With `bounds` half-widths are as in `budget_plan`.

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
        Instead: distance of the mean from the value that it is tested against, to be found with probability `power`.
    power : float, default 0.8
    rho, sd, mean : float, optional
        Instead of a pilot: correlation of judge and labels; standard deviation of labels, with `bounds` their mean.
    bounds, step
        As for `ppi_mean`, for a `half_width`.
    confidence_level : float, default 0.95
        How often the interval is to hold.

    References
    ----------
    Mani et al. (2025), arXiv:2505.20178, for the price of the slope; Cochran (1977), Sampling
    Techniques, section 12.6, for the regression estimator with two sample sizes.

    Examples
    --------
    >>> print(labels_needed(rho=0.8, sd=1.1, n_items=5000, half_width=0.2))
    46 labels with the judge (r = 0.8, 5000 items), 119 without, for a 95 % interval of +/- 0.1999
    """
    confidence = check.probability(confidence_level, "confidence_level")
    scores: Floats | None = None
    texts: tuple[str, ...] = ()
    if y is not None and f is not None and rho is None and sd is None:
        labels, _, r = labels_beside_scores(y, f)
        spread, centre, scores = float(np.std(labels, ddof=1)), float(np.mean(labels)), np.asarray(f, dtype=float)
        items, scores = len(scores) if n_items is None else n_items, scores[np.isfinite(scores)]
        texts = pilot_warning(len(labels), r, confidence)
    elif y is None and f is None and rho is not None and sd is not None:
        r, spread, centre = checked_rho(rho), positive(sd, "sd"), math.nan if mean is None else float(mean)
        if n_items is None:
            raise ArgumentError("n_items", "must be given where there is no pilot", "came without")
        items = n_items
    else:
        rule, both = "and {0}, or {1} and {2}, must be given", "not both pairs and no half of one"
        raise ArgumentError("y", rule, both, mentions=("f", "rho", "sd"))
    scale = bounds_of(bounds, step)
    check.whole(items, "n_items", least=LEAST)
    if scale is not None and not scale[0] <= centre <= scale[1]:
        raise ArgumentError("mean", "must be given with {0} and lie within them", f"got {mean!r}", mentions=("bounds",))
    judged, alone = _half_widths(r, spread, centre, scores, items, scale, step, confidence)
    if (half_width is None) == (difference is None):
        raise ArgumentError("half_width", "or {0} must be given, and not both", mentions=("difference",))
    if not 1 - confidence < power < 1:
        rule = f"must be between 1 - {{0}} ({1 - confidence:g}) and 1"
        raise ArgumentError("power", rule, f"got {power!r}", mentions=("confidence_level",))
    name = "difference" if half_width is None else "half_width"
    wanted = positive(abs(difference or 0.0) if half_width is None else half_width, name)

    def enough(n: int, *, judge: bool) -> bool:
        if judge and enough(n, judge=False):
            return True  # the judge may be left out
        if half_width is not None:
            return (judged(n) if judge else alone(n)) <= wanted
        error = error_with_judge(n, items, r, spread) if judge else spread / math.sqrt(n)
        return power_of(wanted, error, n - 2 if judge else n - 1, confidence) >= power

    if not enough(items, judge=True):
        alone_error = spread / math.sqrt(items)
        best = detectable(alone_error, items - 1, power, confidence) if half_width is None else judged(items)
        rule = f"must be {short(best)} or more, which labels for all {items} items reach"
        raise ArgumentError(name, rule, f"got {wanted:g}: more items are needed")
    # the first number that is enough, by halving: the error falls as it grows
    n_labels = LEAST + bisect_left(range(LEAST, items), True, key=partial(enough, judge=True))
    n_labels_alone = 2 + bisect_left(range(2, items), True, key=partial(enough, judge=False))
    sizes = np.unique(np.geomspace(LEAST, items, 40).round().astype(int)).tolist()
    weak = n_labels < items and abs(r) < break_even(n_labels, items - n_labels)
    if weak or LEAST <= n_labels_alone <= n_labels:
        text = f"a correlation of {short(r)} does not pay with {n_labels} labels: leave the judge out."
        texts += (f"weak_judge: {text}",)
    if n_labels == LEAST:
        texts += (f"few: the target may need fewer than {LEAST} labels, but no interval is given below that.",)
    return LabelsNeeded(
        n_labels=n_labels, n_labels_alone=n_labels_alone, half_width=judged(n_labels), difference=difference,
        power=None if difference is None else power, rho=r, sd=spread, n_items=items, confidence_level=confidence,
        curve=tuple((n, judged(n), alone(n)) for n in sizes), warnings=check.warn_all(texts),
    )  # fmt: skip


def break_even(n: int, rest: int) -> float:
    r"""The correlation below which the judge makes an interval wider, about: :math:`1.6 \sqrt{1/n + 1/N}`.

    As simulated for normal scores; of the 1.6, what the slope costs that the labels have to show is 1.
    """
    return 1.6 * float(np.sqrt(1 / n + 1 / rest)) if rest else np.inf


def error_with_judge(n: int, n_items: int, rho: float, sd: float) -> float:
    """Standard error of the regression estimator with n of the items labelled."""
    slope = 1 + (1 - n / n_items) / (n - 3)
    return sd * math.sqrt((1 - rho**2) / n * slope + rho**2 / n_items)


def expected_half_widths(
    sd: float, n_items: int, *, n_labels: Sequence[int], rho: Sequence[float], confidence_level: float = 0.95
) -> Floats:
    """Half-widths before there is a pilot: a row for each number of labels, a column for each correlation.

    By t, for a mean of items whose labels have this standard deviation; NaN where there are no more items than labels.
    """
    widths = np.full((len(n_labels), len(rho)), np.nan)
    for (row, n), (column, r) in product(enumerate(n_labels), enumerate(rho)):
        if r == 0:
            widths[row, column] = stats.t.ppf((1 + confidence_level) / 2, n - 1) * sd / math.sqrt(n)
        elif n < n_items:
            widths[row, column] = stats.t.ppf((1 + confidence_level) / 2, n - 2) * error_with_judge(n, n_items, r, sd)
    return widths


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


def _half_widths(
    rho: float, sd: float, mean: float, scores: Floats | None, items: int, scale: tuple[float, float] | None,
    step: float | None, confidence: float,
) -> tuple[Callable[[int], float], Callable[[int], float]]:  # fmt: skip
    """With the judge and without, by the number of labels."""
    q = (1 + confidence) / 2
    if scale is None:

        def alone(n: int) -> float:
            return float(stats.t.ppf(q, n - 1)) * (sd / math.sqrt(n))

        return lambda n: min(float(stats.t.ppf(q, n - 2)) * error_with_judge(n, items, rho, sd), alone(n)), alone
    same = scores is None or bool(scale[0] <= scores.min() and scores.max() <= scale[1])
    width = half_width_on(scale, step, mean, sd, confidence, same_scale=same)
    spread, single = (sd, False) if scores is None else (float(np.std(scores)) or 1.0, is_whole(scores, scale, step))
    return (
        lambda n: float(width.alone(n) if n == items else width.judged(n, items, rho, spread, single=single)),
        lambda n: float(width.alone(n)),
    )


def labels_and_scores(
    y: ArrayLike, f: ArrayLike, groups: Labels | None = None, of: str = ""
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Checked arrays of one length, and which items have a label: each of them needs a score."""
    labels, scores = check.array(y, f"y{of}", ndim=1), check.array(f, f"f{of}", ndim=1)
    check.same_length(**{f"y{of}": labels, f"f{of}": scores, f"groups{of}": groups})
    labelled = ~np.isnan(labels)
    refuse_where(labelled & np.isnan(scores), scores, f"f{of}", "must have a judge score for each label")
    return labels, scores, labelled


def labels_beside_scores(y: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats, float]:
    """Labels and judge scores of the items with a label (four at least, that vary), and their correlation."""
    labels, scores, labelled = labels_and_scores(y, f)
    labels, scores = labels[labelled], scores[labelled]
    if len(labels) < 4:
        raise ArgumentError("y", "must have four labels at least", f"got {len(labels)}")
    if not np.ptp(labels):
        raise ArgumentError("y", "must vary to plan from it", f"every label is {labels[0]:g}")
    # a judge that says the same of all explains nothing
    return labels, scores, float(np.clip(np.corrcoef(labels, scores)[0, 1], -1, 1)) if np.ptp(scores) else 0.0


def rho_interval(rho: float, n: int, confidence: float) -> Interval:
    """By Fisher's z, from n pairs; NaN ends where no scatter was seen, so that none is estimated."""
    if abs(rho) > 1 - 1e-12:
        return NO_INTERVAL
    half = float(stats.norm.ppf((1 + confidence) / 2)) / math.sqrt(n - 3)
    return Interval(math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))


def pilot_warning(n: int, rho: float, confidence: float) -> tuple[str, ...]:
    """A warning where the correlation comes from few labels."""
    if n >= 30:  # labels from which a correlation says something
        return ()
    text = bracket(rho_interval(rho, n, confidence), confidence)
    return (f"pilot: a correlation of {short(rho)} from {n} labels is uncertain: {text}.",)


def checked_rho(rho: float) -> float:
    if not -1 < rho < 1:
        raise ArgumentError("rho", "must be between -1 and 1", f"got {rho!r}")
    return float(rho)


def positive(value: float, name: str) -> float:
    if not 0 < value < math.inf:
        raise ArgumentError(name, "must be above 0", f"got {value!r}")
    return float(value)


def check_components(item: float, item_prompt: float, draw: float) -> None:
    positive(item, "item")
    not_negative(item_prompt, "item_prompt")
    not_negative(draw, "draw")


def not_negative(value: float, name: str, of: str = "") -> float:
    if not 0 <= value < math.inf:
        raise ArgumentError(name, "must be 0 or more", f"got {value!r}{of}")
    return float(value)
