"""Gold-corrected means: the judge's mean over all items, less its error on the labelled ones, with a stable slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.analysis.means.moments import Moments
from calib.core.check import Codes, Floats
from calib.core.numeric import matrix_product

_DUST = 1e-13  # of a number, what rounding may leave
_FEW = 10  # labels in a stratum, below which its own slope costs more than it gains


class Rule(NamedTuple):
    """What is believed before the labels are seen.

    `prior` items' worth of belief in the slope `slope`; and where the scale has `bounds`, one
    label that was not seen, at least a `step` away from what was to be expected.
    """

    prior: float
    slope: float
    bounds: tuple[float, float] | None = None
    step: float = 0.0

    @classmethod
    def on(cls, bounds: tuple[float, float] | None, step: float, *, same_scale: bool) -> Rule:
        """The rule of a score: four items' worth of slope 1 where the judge has people's scale, else one of slope 0."""
        prior, slope = (4, 1) if bounds is not None and same_scale else (1, 0)
        return cls(prior, slope, bounds, step)

    def unseen(self, centre: Floats, shown: Floats) -> Floats:
        """Squared distance of the label that was not seen, given how many labels have shown theirs.

        After m labels none of which was as far off as can be, at the farther end of the scale, the
        next one is so with a chance of 1 / (m + 2) (Laplace's rule of succession).
        """
        if self.bounds is None:
            return np.zeros_like(shown)
        reach = np.maximum(self.bounds[1] - centre, centre - self.bounds[0])
        return np.asarray(np.maximum(self.step**2, reach**2 / (shown + 2)))


@dataclass(frozen=True, slots=True)
class Parts:
    """A corrected mean and what it is uncertain by, for each of several sets of items.

    `residual` is the variance that the labels leave, `judge` that of the judge's own mean; `df`
    those of the residuals; `slope` the regression of labels on judge scores, `lam` the judge's part.
    """

    point: Floats
    residual: Floats
    judge: Floats
    df: Floats
    slope: Floats
    lam: Floats
    n: Floats
    rest: Floats
    whole_df: bool = False  # `df` is that of the sum of both already

    @classmethod
    def of_one(cls, *numbers: float) -> Parts:
        """The parts of a single set, in the order of the fields; `df` is that of the sum."""
        point, residual, judge, df, slope, lam, n, rest = (np.array([float(number)]) for number in numbers)
        return cls(point, residual, judge, df, slope, lam, n, rest, whole_df=True)

    @property
    def variance(self) -> Floats:
        return np.asarray(self.residual + self.judge)

    @property
    def satterthwaite(self) -> Floats:
        """Degrees of freedom of the sum of the two variances."""
        if self.whole_df:
            return self.df
        spread = self.residual**2 / self.df + self.judge**2 / (self.n + self.rest - 1)
        return np.asarray(np.divide(self.variance**2, spread, out=np.array(self.df, dtype=float), where=spread > 0))


def ridge(
    y: Floats,
    f: Floats,
    code: Codes,
    rest: Moments,
    rule: Rule,
    *,
    robust: bool = True,
    strata: bool = False,
    finite: bool = False,
) -> Parts:
    r"""Corrected means of independent items, for each set that `code` numbers.

    .. math:: \hat\theta = \bar y + b \frac{N}{n+N} (\bar f_{rest} - \bar f), \qquad
              b = \frac{S_{fy} + b_0 k s_f^2}{D}, \quad D = S_{ff} + k s_f^2

    with the variance of a regression estimator under double sampling, the larger of its usual and
    its heteroscedasticity-consistent (HC3) form. Sets that are `strata` of one sample share the
    unseen label between them, and one slope where one of them has few labels.
    """
    sets = len(rest.n)

    def total(values: Floats) -> Floats:
        return np.bincount(code, values, sets).astype(float)

    n, N = np.bincount(code, minlength=sets).astype(float), rest.n.astype(float)  # noqa: N806 - as in the formula
    fy, ff = total(y) / n, total(f) / n
    dy, df = _deviations(y, fy[code]), _deviations(f, ff[code]) * (N > 0)[code]  # nothing to correct: labels alone
    square, cross = total(df * df), total(df * dy)
    apart = np.where(N > 0, _deviations(rest.mean, ff), 0.0)
    gap = N / (n + N) * apart
    pooled = (square + rest.squares + n * N / (n + N) * apart**2) / np.maximum(n + N - 1, 1)
    base, lean = square + rule.prior * pooled, cross + rule.slope * rule.prior * pooled
    known = (square > 0) & (N > 0)  # where the judge says the same of all labels, the slope is the prior's alone
    if strata and n.min() < _FEW:
        base, lean, known = np.full(sets, base.sum()), np.full(sets, lean.sum()), np.full(sets, known.any())
    b = np.divide(lean, base, out=np.zeros(sets), where=known)
    inverse = np.divide(1.0, base, out=np.zeros(sets), where=base > 0)
    error = _deviations(dy, b[code] * df)
    p = 1 + square * inverse
    low, high = rule.bounds or (-np.inf, np.inf)
    off = (total(np.where(y > low, 1.0, 0.0)), total(np.where(y < high, 1.0, 0.0)))
    parts = (*off, total(np.abs(error)), total(error**2))
    unseen = rule.unseen(fy, _shown(*(np.full(sets, part.sum()) if strata else part for part in parts)))
    one = np.where(unseen > 0, n / n.sum() if strata else 1.0, 0.0)  # it counts as one more label
    spread = (total(error**2) + one * unseen) / (n - p + one)
    residual = spread * (1 / n + gap**2 * square * inverse**2)
    if robust:
        pull = 1 / n[code] + gap[code] * df * inverse[code]
        leverage = 1 / n[code] + df**2 * inverse[code]
        residual = np.maximum(residual, (n - 1) / n * total((pull * error / (1 - leverage)) ** 2))
    judge = np.zeros(sets) if finite else b**2 * pooled / (n + N)
    return Parts(fy + b * gap, residual * N / (n + N) if finite else residual, judge, n - p, b, b * N / (n + N), n, N)


# --- items that come in groups, or with weights -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sample:
    """Gold items and the rest, with the group and the weight of each."""

    y: Floats
    f: Floats
    rest: Floats
    group: Codes
    group_rest: Codes
    weight: Floats  # of the labels
    share: Floats  # of all items in the judge's mean: gold first, then the rest


def clustered(sample: Sample, rule: Rule, *, finite: bool = False) -> Parts:
    r"""A corrected mean whose error is summed over groups before it is squared.

    With a_g and d_g what group g adds to the errors of :math:`\bar y` and of :math:`\bar f - \bar f_{all}`, the slope
    minimises :math:`\sum_g (a_g - b d_g)^2` with a prior worth of `rule.prior` groups. The unseen label has a group,
    too, which errs as much alike as the others do. The variance is the larger of CR1 and of its form with leverages,
    since CR1 alone is short below 20 groups. Groups and labels count by Kish's effective number.
    """
    sums, n = _sums(sample), kish(sample.weight)
    g, k, seen = kish(sums.count), len(sums.others), sums.judged - sums.drift
    square = float(matrix_product(seen, seen))
    own = max(square / g, sums.spread / (n * g))  # of one group, at least
    others = float(matrix_product(sums.others, sums.others))
    base = square + others + rule.prior * own
    inverse = 1 / base if base > 0 else 0.0
    known = len(sample.rest) > 0 and bool(sums.each[1].any())
    b = (float(matrix_product(sums.labels, seen)) + rule.slope * rule.prior * own) * inverse if known else 0.0
    plain = sums.labels - b * sums.judged
    error = plain * (1 + sums.apart * seen * inverse) + (0.0 if finite else b * sums.drift)
    more = _unseen(sample, sums, plain, rule) * _alike(plain, sums.each[0] - b * sums.each[1]) / (g * n)
    p = 1 + square * inverse
    usual = (float(matrix_product(error, error)) + more) * g / (g - p)
    leverage = np.minimum(sums.count + seen**2 * inverse, 0.99)
    robust = (g - 1) / g * float(np.sum((error / (1 - leverage)) ** 2))
    residual = max(usual, robust) * (1 - float(sums.labelled.mean()) if finite else 1.0)
    judge = 0.0 if finite or not k else b**2 * k / max(k - 1, 1) * others
    return Parts.of_one(sums.mean + b * sums.apart, residual, judge, g - p, b, b, g, k)


@dataclass(frozen=True, slots=True)
class _Sums:
    """What each group adds to the errors of the means, for the groups with labels unless said otherwise."""

    labels: Floats
    judged: Floats
    drift: Floats  # of the judge's mean over all items
    others: Floats  # the same of the groups without a label
    count: Floats  # share of each group among groups
    each: tuple[Floats, Floats]  # weighted deviations of each label and of each judge score beside it
    mean: float
    apart: float  # the judge's mean over all items, less that over the labelled ones
    spread: float  # variance of the judge's scores
    labelled: NDArray[np.bool_]  # of all groups


def _sums(sample: Sample) -> _Sums:
    groups = int(max(sample.group.max(initial=-1), sample.group_rest.max(initial=-1))) + 1
    scores, group = np.concatenate([sample.f, sample.rest]), np.concatenate([sample.group, sample.group_rest])
    w, v = sample.weight / sample.weight.sum(), sample.share / sample.share.sum()
    centre, mean_y, mean_f = (float(matrix_product(*pair)) for pair in ((v, scores), (w, sample.y), (w, sample.f)))

    def by_group(code: Codes, values: Floats) -> Floats:
        return np.bincount(code, values, groups).astype(float)

    held = by_group(sample.group, w)
    gold = held > 0
    # a group counts by what its labels weigh; for labels alone that weigh alike, as one (CR1 as it is known)
    alone = not len(sample.rest) and not np.ptp(sample.weight)
    count = np.full(int(gold.sum()), 1 / gold.sum()) if alone else held[gold]
    off, said = w * _deviations(sample.y, mean_y), w * _deviations(sample.f, mean_f)
    moved = _deviations(scores, centre)
    drift = by_group(group, v * moved)
    return _Sums(
        labels=by_group(sample.group, off)[gold],
        judged=by_group(sample.group, said)[gold],
        drift=drift[gold],
        others=drift[~gold],
        count=count,
        each=(off, said),
        mean=mean_y,
        apart=centre - mean_f,
        spread=float(matrix_product(v, moved**2)),
        labelled=gold,
    )


# --- what both share --------------------------------------------------------------------------------------------------


def _unseen(sample: Sample, sums: _Sums, error: Floats, rule: Rule) -> float:
    """The unseen label of `rule`, from the groups that have shown how far off theirs are."""
    low, high = rule.bounds or (-np.inf, np.inf)
    total = len(sums.labelled)
    groups = (np.bincount(sample.group[side], minlength=total) > 0 for side in (sample.y > low, sample.y < high))
    off = (kish(sums.count[group[sums.labelled]]) for group in groups)
    parts = (*off, float(np.abs(error).sum()), float(matrix_product(error, error)))
    return float(rule.unseen(np.array([sums.mean]), _shown(*(np.array([part]) for part in parts)))[0])


def _shown(above: Floats, below: Floats, size: Floats, square: Floats) -> Floats:
    """Labels that tell how far labels lie off: off the end that most are at, and off what was expected.

    Of errors that are mostly 0 it counts the others (Kish's effective number).
    """
    errors = np.divide(size**2, square, out=np.zeros_like(square), where=square > 0)
    return np.asarray(np.minimum(np.minimum(above, below), errors))


def _alike(summed: Floats, each: Floats) -> float:
    """How much more errors weigh for being summed over groups: 1 if independent, the group's size if all alike."""
    size, square = len(each) / len(summed), float(matrix_product(each, each))
    return min(max(float(matrix_product(summed, summed)) / square, 1.0), size) if square > 0 else size


def kish(weights: Floats) -> float:
    """The number of equal weights that would be as uncertain."""
    top = float(weights.max(initial=0.0))
    shares = weights / top if top > 0 else weights
    square = float(matrix_product(shares, shares))
    return float(shares.sum()) ** 2 / square if square > 0 else 0.0


def _deviations(values: Floats, centre: Floats | float) -> Floats:
    """Differences that are exactly 0 where only rounding is between the two."""
    difference = values - centre
    return np.where(np.abs(difference) <= _DUST * np.abs(centre), 0.0, difference)
