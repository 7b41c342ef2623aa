"""Corrected means by a ridge slope: of items, strata and groups, and the label that was not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calib.analysis.means.moments import Moments
from calib.core.check import Codes, Floats
from calib.core.gaffke import Gaffke
from calib.core.numeric import matrix_product

_LEAST, _MORE_BY = 0.15, 3.5  # what an unseen label weighs at least: .15 + 3.5 / n
_MOST_BY_ERRORS, _MOST_OF_TWO = 0.5, 0.6
_GROSS = 0.3  # the least that it weighs where gross errors are allowed for, however many labels there are
_ENOUGH = 20  # labels from which on the place is what the errors say; with fewer the weight alone costs much
_NEAR = 0.3  # place of an unseen error of a judge whose errors are spread evenly and small
_REACH = 2.5  # standard deviations from the mean, to where an unseen label lies if labels are spread evenly
SPREAD = 4  # different labels from which on they are spread over the scale
_ALIKE = 1e-3  # share of the largest label by which equal ones may differ
_ROOM = 1.5  # standard deviations to the other end of the scale: with less labels are skewed, and rare ones lie further


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """What the labels show of how far off a label, or the mean of a group's labels, can lie."""

    labels: Floats  # deviations of the labels themselves
    errors: Floats  # of what the judge leaves unexplained
    off: Floats  # the same as they move the mean
    count: Floats  # how much each counts
    code: Codes  # the set of each
    low: Floats  # how much further than the ends of the scale an error can reach where the judge is as wrong as can be
    high: Floats
    part: Floats  # of the way that an unseen group's mean goes, as not all of its labels need to be alike
    predicted: Floats  # standard deviation of what the judge's scores of all items say of their labels
    sampled: Floats  # variance of its scores of labelled items over that of all
    in_squares: Floats  # how much each counts in a mean square: a group by the square of the items it stands for
    values: Floats  # number of different labels

    def total(self, values: Floats) -> Floats:
        return np.bincount(self.code, values, len(self.part)).astype(float)

    def mean(self, values: Floats) -> Floats:
        """The mean over all items, of which the drawn ones stand for as many as they count."""
        return np.asarray(self.total(self.count * values) / self.total(self.count))

    def spread(self, values: Floats, n: Floats) -> Floats:
        """The standard deviation of values whose mean is 0, of n that count alike."""
        return np.asarray(np.sqrt(self.mean_square(values) * n / (n - 1)))

    def mean_square(self, values: Floats) -> Floats:
        return np.asarray(self.total(self.in_squares * values**2) / self.total(self.in_squares))


def bounded(
    point: Any, judge: Floats, seen: LabelSpread, bounds: tuple[float, float], *, full: bool = False,
    gross: bool = False, two: bool = False, ends: tuple[float, float] | None = None,
) -> tuple[Any, Gaffke]:  # fmt: skip
    """The point within the scale and the law of its interval.

    `full` gives the unseen label all that it can have; `gross` allows for gross errors and failures of whole groups
    that no label shows: an unseen group may be all alike, and errors are as even as they are with the worst one beside
    them. `two` says that labels have two values only; `ends` are where an unseen one can lie, if not anywhere within
    the bounds.
    """
    inside = np.clip(point, *bounds)
    bottom, top = bounds if full or ends is None else ends
    part = np.sign(seen.part) if gross else seen.part
    n = seen.total(seen.count) ** 2 / seen.total(seen.count**2)
    # how far an unseen label lies below and above
    below, above = part * (inside - bottom), part * (top - inside)
    spread = seen.spread(seen.labels, n)
    if not full:
        even = _evenness(seen, seen.labels, n)
        even = np.where(seen.values < SPREAD, 0.0, even)  # labels of few values crowd, however evenly
        sides = (np.sqrt(2.0) * seen.spread(np.maximum(side * seen.labels, 0.0), n) for side in (-1, 1))
        below, above = (
            np.minimum(end, reach_of(spread, own, even, room))
            for end, own, room in zip((below, above), sides, (above, below), strict=True)
        )
    worst = np.maximum(below + part * seen.low, above + part * seen.high) if gross else 0.0
    labels, errors = _evenness(seen, seen.labels, n, np.maximum(below, above)), _evenness(seen, seen.errors, n, worst)
    spread, left = np.maximum(spread, seen.predicted), np.ones_like(n)
    np.divide(seen.spread(seen.errors, n), spread, out=left, where=spread > 0)
    weight, place = unseen_label(n, labels, errors, np.minimum(left, 1.0), seen.sampled, two=two, gross=gross)
    if full:
        weight = place = np.ones_like(seen.part)
    weight = weight * seen.mean(seen.count)  # as one that is drawn by count
    low = inside - below - part * place * seen.low
    high = inside + above + part * place * seen.high
    return inside, Gaffke(inside, seen.off, seen.count, seen.code, np.sqrt(judge), weight, (low, high), bounds)


def unseen_label(
    n: Floats, labels: Floats, errors: Floats, left: Floats, sampled: Floats, *, two: bool, gross: bool = False
) -> tuple[Floats, Floats]:
    r"""Weight of the unseen label, and its place between a judge that is right about it (0) and the worst error (1).

    Both follow from how evenly labels and errors are spread, :math:`K = \frac\pi2 (\sum|d|)^2 / n \sum d^2`: 1 if
    normal, near 0 if all but a few are the same. Where labels crowd, rare others may be missing from the sample: K of
    the labels is taken with one more label as far as an unseen one can lie. Where the judge's errors are 0 but for a
    few, or small against the spread of the labels (`left`), rare gross errors may be; and where its scores of the
    labelled items vary less than those of all (`sampled` is the ratio of variances), items are missing that it sees
    otherwise. Between two values there is no third one to be missed: there the weight is little more than that of
    Jeffreys' interval, which is 1 / 2. Where `gross` errors are allowed for, few of them may make the weight 1.
    """
    least = np.clip(_LEAST + _MORE_BY / n, _GROSS if gross else 0.0, 1.0)
    most, by_errors = _MOST_OF_TWO if two else 1.0, 1.0 if gross else _MOST_BY_ERRORS
    with np.errstate(divide="ignore"):
        weight = np.maximum(np.minimum(least / labels, most), np.minimum(least / errors, by_errors))
    missing = np.clip((1 - sampled) * np.sqrt(n / 2) - 1, 0.0, 1.0)  # in standard errors of a variance, above one
    place = np.maximum(1 - errors * (1 - _NEAR * (1 - left)), missing) * np.minimum(n / _ENOUGH, 1.0)
    return np.maximum(weight, least), place


def reach_of(spread: Floats | float, own: Floats | float, even: Floats, room: Floats | float) -> Floats:
    r"""How far from the mean an unseen label lies, if the scale goes on there.

    .. math:: 2.5 \max(s, s_{side}) / K^3 \cdot \max(1, 1.5 s / r)

    `spread` is s, the labels' standard deviation, `own` that of their side (the root of twice the mean square on it),
    `even` is K and `room` is r, how far the scale goes on the other side: labels that crowd there are skewed.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        squeezed = np.fmax(1.0, _ROOM * np.asarray(spread) / room)
        return np.where(even > 0, _REACH * np.maximum(spread, own) * squeezed / even**3, np.inf)


def different(y: Floats, code: Codes, sets: int) -> Floats:
    """The number of different labels in each set; labels that differ by a thousandth of the largest are equal."""
    order = np.lexsort((y, code))
    apart = np.diff(y[order]) > _ALIKE * np.abs(y).max(initial=0.0)
    new = np.append(True, apart | (np.diff(code[order]) > 0))[: len(y)]
    return np.bincount(code[order], new, sets).astype(float)


def _evenness(seen: LabelSpread, values: Floats, n: Floats, more: Floats | float = 0.0) -> Floats:
    """K of the values, and of one more if it is given."""
    size, square = n * seen.mean(np.abs(values)) + more, n * seen.mean_square(values) + np.square(more)
    even = np.divide(np.pi / 2 * size**2, (n + np.sign(more)) * square, out=np.zeros_like(n), where=square > 0)
    return np.minimum(even, 1.0)


def misjudged(slope: Floats, mean: Floats, lowest: Floats, highest: Floats) -> tuple[Floats, Floats]:
    """How much further down and up than the scale goes an error can be: with the judge at its other end."""
    under, over = slope * (lowest - mean), slope * (highest - mean)
    return np.maximum(under, over), -np.minimum(under, over)


_DUST = 1e-13  # of a number, what rounding may leave
_NONE = 1e-9  # of the judge's variance: less is none
_MOST = 0.9  # leverage that is corrected for
_FEW = 10  # labels in a stratum, below which its own slope costs more than it gains
_SURE = 1e9  # items' worth of belief that no labels move


class SlopePrior(NamedTuple):
    """What is believed of the slope before the labels are seen: `prior` items' worth of `slope`."""

    prior: float
    slope: float

    @classmethod
    def on(cls, bounds: tuple[float, float] | None, *, same_scale: bool, calibrated: bool = False) -> SlopePrior:
        """The rule of a score: four items' worth of slope 1 where the judge has people's scale, else one of slope 0.

        A judge that was calibrated in folds has slope 1: what a map says of labels that it has not seen goes against
        them, so that a slope fitted to these once more would be too low, and the errors it leaves too small.
        """
        if calibrated:
            return cls(_SURE, 1)
        return cls(4, 1) if bounds is not None and same_scale else cls(1, 0)


@dataclass(frozen=True, slots=True)
class CorrectedMeans:
    """A corrected mean and what it is uncertain by, for each of several sets of items."""

    point: Floats
    residual: Floats  # the variance that the labels leave
    judge: Floats  # that of the judge's own mean
    df: Floats  # of the residuals
    slope: Floats  # of labels on judge scores
    lam: Floats  # the judge's part
    n: Floats
    rest: Floats
    seen: LabelSpread
    whole_df: bool = False  # `df` is that of the sum of both already

    @classmethod
    def of_one(cls, *numbers: float, seen: LabelSpread) -> CorrectedMeans:
        """The parts of a single set, in the order of the fields; `df` is that of the sum."""
        point, residual, judge, df, slope, lam, n, rest = (np.array([float(number)]) for number in numbers)
        return cls(point, residual, judge, df, slope, lam, n, rest, seen, whole_df=True)

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
    y: Floats, f: Floats, code: Codes, rest: Moments, rule: SlopePrior, *, robust: bool = True, strata: bool = False,
    finite: bool = False,
) -> CorrectedMeans:  # fmt: skip
    r"""Corrected means of independent items, for each set that `code` numbers.

    .. math:: \hat\theta = \bar y + b \frac{N}{n+N} (\bar f_{rest} - \bar f), \qquad
              b = \frac{S_{fy} + b_0 k s_f^2}{D}, \quad D = S_{ff} + k s_f^2

    with the variance of a regression estimator under double sampling, the larger of its usual and
    its heteroscedasticity-consistent (HC3) form. Sets that are `strata` of one sample share one slope where one
    of them has few labels.
    """
    sets = len(rest.n)

    def total(values: Floats) -> Floats:
        return np.bincount(code, values, sets).astype(float)

    n, N = np.bincount(code, minlength=sets).astype(float), rest.n.astype(float)  # noqa: N806 - as in the formula
    fy, ff = total(y) / n, total(f) / n
    dy, df = _without_dust(y, fy[code]), _without_dust(f, ff[code]) * (N > 0)[code]  # nothing to correct: labels alone
    square, cross = total(df * df), total(df * dy)
    apart = np.where(N > 0, _without_dust(rest.mean, ff), 0.0)
    gap = N / (n + N) * apart
    pooled = (square + rest.squares + n * N / (n + N) * apart**2) / np.maximum(n + N - 1, 1)
    base, lean = square + rule.prior * pooled, cross + rule.slope * rule.prior * pooled
    # where the judge says the same of all labels, the slope would be the prior's alone
    varies = square > _NONE * n * pooled
    if strata and n.min() < _FEW:
        base, lean, varies = np.full(sets, base.sum()), np.full(sets, lean.sum()), np.full(sets, varies.any())
    b = np.divide(lean, base, out=np.zeros(sets), where=varies & (N > 0))
    inverse = np.divide(1.0, base, out=np.zeros(sets), where=base > 0)
    error = _without_dust(dy, b[code] * df)
    p = 1 + square * inverse
    residual = total(error**2) / (n - p) * (1 / n + gap**2 * square * inverse**2)
    pull, own = 1 + (n * gap * inverse)[code] * df, df**2 * inverse[code]
    if robust:
        leverage = 1 / n[code] + own
        residual = np.maximum(residual, (n - 1) / n**3 * total((pull * error / (1 - leverage)) ** 2))
    left = N / (n + N) if finite else np.ones(sets)  # of the variance, for a target of which the labels are a part
    judge = np.zeros(sets) if finite else b**2 * pooled / (n + N)
    off = np.sqrt(left)[code] * error * np.abs(pull) / (1 - np.minimum(own, _MOST))
    low, high = (np.atleast_1d(np.array(end, dtype=float)) for end in (rest.low, rest.high))
    low[N == 0], high[N == 0] = np.inf, -np.inf
    np.fmin.at(low, code, f)
    np.fmax.at(high, code, f)
    ends = misjudged(b, ff + gap, low, high)
    sampled = np.divide(square, (n - 1) * pooled, out=np.ones(sets), where=(pooled > 0) & (N > 0))
    predicted = np.abs(b) * np.sqrt(pooled)
    one = np.ones_like(y)
    sizes = (np.sqrt(left), predicted, sampled)
    seen = LabelSpread(dy, error, off, one, code, *ends, *sizes, one, different(y, code, sets))
    return CorrectedMeans(fy + b * gap, residual * left, judge, n - p, b, b * N / (n + N), n, N, seen)


# --- items that come in groups, or with weights -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupedItems:
    """Labelled items and the rest, in sets of items that are alike, with the group and the weight of each."""

    y: Floats
    f: Floats
    rest: Moments
    group: Codes
    group_rest: Codes | None  # None: each item is its own
    weight: Floats  # of the labels
    share: Floats  # of an item in the judge's mean: of each labelled item, then of those of each set


def clustered(sample: GroupedItems, rule: SlopePrior, *, finite: bool = False) -> CorrectedMeans:
    r"""A corrected mean whose error is summed over groups before it is squared.

    With a_g and d_g what group g adds to the errors of :math:`\bar y` and of :math:`\bar f - \bar f_{all}`, the slope
    minimises :math:`\sum_g (a_g - b d_g)^2` with a prior worth of `rule.prior` groups. The variance is the larger of
    CR1 and of its form with leverages, since CR1 alone is short below 20 groups. Groups and labels count by Kish's
    effective number.
    """
    beside = np.empty(0, dtype=np.intp) if sample.group_rest is None else sample.group_rest
    groups = int(max(sample.group.max(initial=-1), beside.max(initial=-1))) + 1

    def by_group(code: Codes, values: Floats) -> Floats:
        return np.bincount(code, values, groups).astype(float)

    n_labelled, rest = len(sample.f), sample.rest
    scores, size = np.append(sample.f, rest.mean), np.append(np.ones(n_labelled), rest.n)
    w, v = sample.weight / sample.weight.sum(), sample.share / float(matrix_product(sample.share, size))
    pairs = ((v * size, scores), (w, sample.y), (w, sample.f))
    centre, mean_y, mean_f = (float(matrix_product(*pair)) for pair in pairs)
    share = by_group(sample.group, w)
    labelled = share > 0
    # a group counts by what its labels weigh; for labels alone that weigh alike, as one (CR1 as it is known)
    alone = not len(rest.n) and not np.ptp(sample.weight)
    count = np.full(int(labelled.sum()), 1 / labelled.sum()) if alone else share[labelled]
    # what each group with labels adds to the errors of both means of the labelled items, and of the judge's over all
    off_y, off_f = w * _without_dust(sample.y, mean_y), w * _without_dust(sample.f, mean_f)
    labels, judged = by_group(sample.group, off_y)[labelled], by_group(sample.group, off_f)[labelled]
    away = _without_dust(scores, centre)
    drift = by_group(np.append(sample.group, beside), (v * size * away)[: n_labelled + len(beside)])
    within = size * away**2 + np.append(np.zeros(n_labelled), rest.squares)  # squares of all items of a set
    # the k groups without a label, and the sum of squares of what they add to the judge's mean over all
    others, k = float(matrix_product(drift[~labelled], drift[~labelled])), int((~labelled).sum())
    if sample.group_rest is None:
        others, k = float(matrix_product(v[n_labelled:] ** 2, within[n_labelled:])), int(rest.n.sum())
    drift, apart = drift[labelled], centre - mean_f
    moved, n, g = judged - drift, kish(sample.weight), kish(count)
    square = float(matrix_product(moved, moved))
    own = max(square / g, float(matrix_product(v, within)) / (n * g))  # of one group, at least
    base = square + others + rule.prior * own
    inverse = 1 / base if base > 0 else 0.0
    varies = len(rest.n) > 0 and bool(off_f.any())
    b = (float(matrix_product(labels, moved)) + rule.slope * rule.prior * own) * inverse if varies else 0.0
    plain = labels - b * judged
    error = plain * (1 + apart * moved * inverse) + (0.0 if finite else b * drift)
    p, leverage = 1 + square * inverse, moved**2 * inverse
    usual = float(matrix_product(error, error)) * g / (g - p)
    robust = (g - 1) / g * float(np.sum((error / (1 - np.minimum(count + leverage, 0.99))) ** 2))
    left = k / (k + len(count)) if finite else 1.0
    judge = 0.0 if finite or not k else b**2 * k / max(k - 1, 1) * others
    # what groups show, each by the mean of its labels
    off = np.sqrt(left) * error / (1 - np.minimum(leverage, _MOST))
    lowest, highest = np.append(sample.f, rest.low).min(), np.append(sample.f, rest.high).max()
    low, high = misjudged(*(np.array([float(part)]) for part in (b, apart + mean_f, lowest, highest)))
    # share of variance that a group's mean keeps: 1 / size if its errors are independent, 1 if they are all alike
    each = off_y - b * off_f
    alike, mean_size = float(matrix_product(each, each)), len(each) / len(plain)
    kept = float(matrix_product(plain, plain)) / alike / mean_size if alike > 0 else 1.0
    kept, code = min(max(kept, 1 / mean_size), 1.0), np.zeros(len(count), dtype=np.intp)
    variance, own = float(matrix_product(v, within)), float(matrix_product(off_f, off_f / np.where(w > 0, w, 1.0)))
    ratio = own * n / (n - 1) / variance if variance > 0 and len(rest.n) else 1.0
    sizes = np.sqrt(left * kept), abs(b) * np.sqrt(variance * kept), ratio
    part, predicted, sampled = (np.array([size]) for size in sizes)
    seen = LabelSpread(
        labels / count, plain / count, off / count, count * len(count), code, low, high, part, predicted, sampled,
        in_squares=count if len(count) == n_labelled else count**2,
        values=different(sample.y, np.zeros(n_labelled, dtype=np.intp), 1),
    )  # fmt: skip
    return CorrectedMeans.of_one(mean_y + b * apart, max(usual, robust) * left, judge, g - p, b, b, g, k, seen=seen)


def kish(weights: Floats) -> float:
    """The number of equal weights that would be as uncertain."""
    top = float(weights.max(initial=0.0))
    shares = weights / top if top > 0 else weights
    square = float(matrix_product(shares, shares))
    return float(shares.sum()) ** 2 / square if square > 0 else 0.0


def _without_dust(values: Floats, centre: Floats | float) -> Floats:
    """Differences that are exactly 0 where only rounding is between the two."""
    difference = values - centre
    return np.where(np.abs(difference) <= _DUST * np.abs(centre), 0.0, difference)
