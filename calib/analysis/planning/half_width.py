"""Half-widths to expect of `ppi_mean` and `mean_interval`, for normal scores that are cut to the scale and rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.means.rates import jeffreys_clopper_pearson, post_stratified
from calib.analysis.means.ridge import SlopePrior, reach_of, unseen_label
from calib.core.check import Floats

_DEVIATES = np.linspace(-4.5, 4.5, 91)
_CHANCE_OF_DEVIATE = np.exp(-(_DEVIATES**2) / 2) / np.exp(-(_DEVIATES**2) / 2).sum()
_CLOSENESS = np.append(np.sin(np.linspace(0, 1.52, 24)), 0.9999)  # correlations, dense where they are high


class Evenness(NamedTuple):
    """How deviations are spread, whatever their size."""

    even: Floats  # pi / 2 (E|d|)^2 / E d^2: 1 if they are normal, near 0 if all but a few are the same
    scatter: Floats  # of the logarithm of its estimate, times the root of n
    kurtosis: Floats  # 3 if they are normal


@dataclass(frozen=True, slots=True)
class Ideal:
    """Labels on a scale, and the errors of a judge: its correlations with them, and how these are spread."""

    bounds: tuple[float, float]
    labels: Evenness
    sides: tuple[float, float]  # standard deviations of labels below and above their mean, over that of all
    single: tuple[Floats, Evenness]  # of one whole reply
    averaged: tuple[Floats, Evenness]  # of a score between the steps


def ideal(bounds: tuple[float, float], step: float | None, mean: float, sd: float, *, same_scale: bool) -> Ideal:
    """Of labels with this mean and standard deviation; a judge on another scale is normal."""
    whole, length = step or 0.0, bounds[1] - bounds[0]
    # mean and standard deviation of the normal that has these on the scale, as nearly as one can
    centre, width = mean, sd
    for _ in range(60):
        y = _to_scale(centre + width * _DEVIATES, bounds, whole)
        got = float(_CHANCE_OF_DEVIATE @ y)
        centre = min(max(centre + mean - got, bounds[0] - 9 * length), bounds[1] + 9 * length)
        width = min(width * sd / max(float(np.sqrt(_CHANCE_OF_DEVIATE @ (y - got) ** 2)), sd / 2), 9 * length)
    y = _to_scale(centre + width * _DEVIATES, bounds, whole)
    dy, chance = y[:, None] - _CHANCE_OF_DEVIATE @ y, _CHANCE_OF_DEVIATE[:, None] * _CHANCE_OF_DEVIATE

    def errors(judge_step: float | None) -> tuple[Floats, Evenness]:
        """Correlations with the labels and the spread of errors, by the correlation of the normal scores behind."""
        correlations, spreads = [], []
        for rho in _CLOSENESS:
            judge = centre + width * (rho * _DEVIATES[:, None] + np.sqrt(1 - rho**2) * _DEVIATES)
            f = judge if judge_step is None else _to_scale(judge, bounds, judge_step)
            df = f - np.sum(chance * f)
            square, cross = float(np.sum(chance * df**2)), float(np.sum(chance * dy * df))
            both = square * float(_CHANCE_OF_DEVIATE @ dy[:, 0] ** 2)
            correlations.append(cross / np.sqrt(both) if both else 0.0)
            spreads.append(_spread(dy - (cross / square if square else 0.0) * df, chance))
        return np.array(correlations), Evenness(*map(np.array, zip(*spreads, strict=True)))

    two_valued = step is not None and step == length
    averaged = errors(0.0 if same_scale and not two_valued else None)
    single = errors(whole) if same_scale and step is not None and not two_valued else averaged
    squares = [float(_CHANCE_OF_DEVIATE @ np.maximum(side * dy[:, 0], 0) ** 2) for side in (-1, 1)]
    below, above = (math.sqrt(2 * square / sum(squares)) if any(squares) else 1.0 for square in squares)
    return Ideal(bounds, _spread(y, _CHANCE_OF_DEVIATE), (below, above), single, averaged)


def is_whole(scores: Floats, bounds: tuple[float, float] | None, step: float | None) -> bool:
    """Whether all scores are values of a scale that has steps."""
    if bounds is None or step is None:
        return False
    return bool(np.allclose(_to_scale(scores, bounds, step), scores, rtol=0, atol=1e-9 * step))


def _to_scale(values: Floats, bounds: tuple[float, float], step: float) -> Floats:
    low, high = bounds
    return np.clip(low + np.round((values - low) / step) * step if step else values, low, high)


def _spread(values: Floats, chance: Floats) -> Evenness:
    off = np.abs(values - np.sum(chance * values))
    size, square = float(np.sum(chance * off)), float(np.sum(chance * off**2))
    if square <= 1e-12 * max(float(np.max(off)), 1e-300) ** 2:
        return Evenness(*(np.array(value) for value in (1.0, 0.0, 3.0)))
    scatter = np.sum(chance * (2 * off / size - off**2 / square) ** 2) - 1
    fourth = np.sum(chance * off**4) / square**2
    return Evenness(np.array(np.pi / 2 * size**2 / square), np.sqrt(np.maximum(scatter, 0.0)), np.array(fourth))


# --- how wide the interval of a corrected mean will be ----------------------------------------------------------------


_NODES, _WEIGHTS = ((side + shift) / 2 for side, shift in zip(np.polynomial.legendre.leggauss(20), (1, 0), strict=True))
_TIMES, _CHANCES = np.polynomial.hermite_e.hermegauss(4)
_CORRELATIONS = np.linspace(0, 0.999, 1000)


class _ErrorParts(NamedTuple):
    """What the expected variances of the labels' part and of the judge's mean are made of."""

    squares: Floats  # sum of squared errors of all labels
    p: Floats  # what they are fitted with
    slope: Floats  # by how much more the slope makes of them
    judge: Floats  # variance of the judge's mean
    pull: Floats  # share of the slope that is believed
    by: Floats  # the slope


@dataclass(frozen=True, slots=True)
class HalfWidth:
    """What `ppi_mean` gives on the average at its default, for normal labels and judge scores.

    On a scale with ends these are cut to it (`ideal`). Where people say `yes_or_no` a single reply of the judge does.
    """

    sd: float
    confidence: float
    rule: SlopePrior
    mean: float = math.nan
    ideal: Ideal | None = None
    yes_or_no: bool = False

    def judged(
        self, n: ArrayLike, items: ArrayLike, rho: ArrayLike, spread: ArrayLike, *, single: ArrayLike = False
    ) -> Floats:
        """With n of the items labelled, and no more than with these alone, as `ppi_mean` takes the narrower of both.

        `spread` is that of the judge's scores, `single` if each is one whole reply.
        """
        n, items, rho, spread = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (n, items, rho, spread)))
        rest, pull = 1 - n / items, self.rule.prior / (n - 1 + self.rule.prior)
        left, own = self.sd**2 * (1 - rho**2), rho * self.sd
        off = self.rule.slope * spread - own  # by what the slope believed in misses, per sd of the judge
        squares = (n - 2) * left + pull**2 * (off**2 * (n - 1) + left)
        learned = (1 - pull) ** 2 / (n - 3)  # what the slope costs that the labels have to show
        moved = own + pull * off
        judge = (moved**2 + learned * left) / items
        parts = _ErrorParts(squares, 2 - pull, 1 + learned * rest, judge, pull, moved / spread)
        if self.ideal is None:
            robust = (0.85 + 0.75 * np.sqrt(1 - n / items)) / (n - 2.5)
            return np.minimum(self._student(n, items, parts, robust), self.alone(n))
        scores = self.ideal.single, self.ideal.averaged
        one_reply, averaged = ([np.interp(np.abs(rho), at, part) for part in evenness] for at, evenness in scores)
        errors = Evenness(*(np.where(single, one, other) for one, other in zip(one_reply, averaged, strict=True)))
        half = self._gaffke(n, items, parts, spread, errors)
        if self.yes_or_no:  # of the expected counts, for a judge that says yes as often as people do
            low, high = self.ideal.bounds
            share, rest = (self.mean - low) / (high - low), items - n
            yes, no = n * share, n * (1 - share)
            agreed = yes * (share + rho * (1 - share)), no * share * (1 - rho)
            ends = post_stratified(agreed[0], yes, agreed[1], no, rest * share, rest * (1 - share), self.confidence)
            half = np.where(single, (high - low) * (ends[2] - ends[1]) / 2, half)
        sizes, at = np.unique(n, return_inverse=True)
        return np.minimum(half, self.alone(sizes)[at].reshape(half.shape))

    def break_even(self, n: int, items: int, spread: float, *, single: bool = False) -> float:
        """The lowest correlation with which the judge narrows the interval of the labels alone; 1 if there is none."""
        pays = self.judged(n, items, _CORRELATIONS, spread, single=single) < self.alone(n)
        return float(_CORRELATIONS[np.argmax(pays)]) if pays.any() else 1.0

    def alone(self, n: ArrayLike) -> Floats:
        """With these labels and no judge."""
        labels = np.asarray(n, dtype=float)
        if self.yes_or_no:
            assert self.ideal is not None
            low, high = self.ideal.bounds
            ends = jeffreys_clopper_pearson(labels * (self.mean - low) / (high - low), labels, self.confidence)
            return np.asarray((high - low) * (ends[1] - ends[0]) / 2)
        one, nothing = np.ones_like(labels), np.zeros_like(labels)
        parts = _ErrorParts((labels - 1) * self.sd**2, one, one, nothing, one, nothing)
        if self.ideal is None:
            return self._student(labels, labels + 1, parts, nothing)
        return self._gaffke(labels, labels + 1, parts, nothing, self.ideal.labels)

    def _student(self, n: Floats, items: Floats, parts: _ErrorParts, robust: Floats) -> Floats:
        residual = parts.squares / (n - parts.p) * (parts.slope + robust) / n
        variance = residual + parts.judge
        df = variance**2 / (residual**2 / (n - parts.p) + parts.judge**2 / (items - 1))
        # the mean of a root is below the root of the mean
        reach = special.stdtrit(df, (1 + self.confidence) / 2) * np.sqrt(variance)
        return np.asarray(reach * (1 - 1 / (4 * df)))

    def _gaffke(self, n: Floats, items: Floats, parts: _ErrorParts, spread: Floats, errors: Evenness) -> Floats:
        """Gaffke's interval, with an unseen label as heavy and as far as ideal scores make it on the average."""
        assert self.ideal is not None
        (low, high), own = self.ideal.bounds, (1 - parts.pull) / n
        predicted = np.maximum(self.sd, np.abs(parts.by) * spread)
        left = np.minimum(np.sqrt(parts.squares / (n - 1)) / predicted, 1)
        ends = np.array([self.mean - low, high - self.mean]) / self.sd
        weight, reach, place = _unseen_weight(n, self.ideal, errors, left, ends, two=self.yes_or_no)
        # errors are divided by 1 - leverage, which is `own` times a chi-square
        size = np.sqrt(parts.squares / n * parts.slope * (1 + 2 * own + 9 * own**2))
        size = size * (1 - (errors.kurtosis - 1) / 8 / n)  # the mean of a root is below the root of the mean
        extreme = -special.ndtri(0.625 / (items + 0.25)) * spread  # of so many scores
        down, up = (np.minimum(extreme, end * self.sd) if self.rule.slope else extreme for end in ends)
        beyond = place * parts.by
        far = np.stack(np.broadcast_arrays(self.sd * reach[0] + beyond * up, self.sd * reach[1] + beyond * down))
        return np.asarray(_ends(size, np.sqrt(parts.judge), n, weight[:, None], far, self.confidence).mean(axis=(0, 1)))


def half_width_on(
    bounds: tuple[float, float] | None, step: float | None, mean: float | None, sd: float, confidence: float, *,
    same_scale: bool = True,
) -> HalfWidth:  # fmt: skip
    """For labels on this scale, or on none."""
    rule = SlopePrior.on(bounds, same_scale=same_scale)
    if bounds is None or mean is None:
        return HalfWidth(sd, confidence, rule)
    scores = ideal(bounds, step, float(mean), sd, same_scale=same_scale)
    return HalfWidth(sd, confidence, rule, float(mean), scores, step == bounds[1] - bounds[0])


def _unseen_weight(
    n: Floats, ideal: Ideal, errors: Evenness, left: Floats, ends: Floats, *, two: bool
) -> tuple[Floats, Floats, Floats]:
    """Weight of the unseen label, one standard deviation below and above its mean; its mean reach and place.

    They scatter with the estimates of how even scores are, and of how much the judge's scores vary. `ends` are how far
    off a label can be on either side; these and the reach are in standard deviations.
    """
    labels, at = ideal.labels, np.ix_(_TIMES, _TIMES, _TIMES)
    one, other, third = np.ix_(*[_CHANCES / _CHANCES.sum()] * 3)
    chances = one * other * third
    n, left = (part[..., None, None, None] for part in (n, left))
    if errors is labels:
        at = (at[0], at[0], at[2])
    few = (n - 1) / (n - 1.5)  # the evenness of so many normal scores over that of endless ones (Geary 1935)
    ours, theirs = (
        np.minimum(few * even[..., None, None, None] * np.exp(scatter[..., None, None, None] * times / np.sqrt(n)), 1)
        for (even, scatter, _), times in zip((labels, errors), at[:2], strict=True)
    )
    reach = np.stack(np.broadcast_arrays(*(
        np.minimum(end, reach_of(1.0, side, ours, room))
        for side, end, room in zip(ideal.sides, ends, ends[::-1], strict=True)
    )))  # fmt: skip
    size = n * np.sqrt(2 / np.pi * ours) + reach.max(axis=0)
    ours = np.minimum(np.pi / 2 * size**2 / ((n + 1) * (n + reach.max(axis=0) ** 2)), 1)
    weight, place = unseen_label(n, ours, theirs, left, 1 - at[2] * np.sqrt(2 / n), two=two)

    def mean(part: Floats) -> Floats:
        return np.asarray(np.sum(chances * part, axis=(-3, -2, -1)))

    centre = mean(weight)
    off = np.sqrt(np.maximum(mean(weight**2) - centre**2, 0))
    return np.stack([centre - off, centre + off]), mean(weight * reach) / centre, mean(weight * place) / centre


def _ends(size: Floats, judge: Floats, n: Floats, weight: Floats, far: Floats, confidence: float) -> Floats:
    r"""Distance of an end of Gaffke's interval from the point, where errors are normal and the unseen one lies `far`.

    The unseen label has a share :math:`B \sim` Beta(w, n) of all, and of what is left the mean is nearly normal: an
    integral over B, and Newton's steps on the normal deviate.
    """
    z = float(special.ndtri((1 + confidence) / 2))
    df = n + 9  # a mean with exponential weights has the kurtosis of Student's law with these
    size = size / np.sqrt(n + 1) * special.stdtrit(df, (1 + confidence) / 2) * np.sqrt(1 - 2 / df) / z
    share = np.minimum(1, 15 / n)[..., None] * _NODES ** (1 / weight[..., None])
    chance = _WEIGHTS * (1 - share) ** (n[..., None] - 1)
    chance = chance / chance.sum(axis=-1, keepdims=True)
    spread = np.sqrt(((1 - share) * size[..., None]) ** 2 + judge[..., None] ** 2)
    shift = share * far[..., None]
    low, high = np.zeros(shift.shape[:-1]), np.max(shift, axis=-1) + 5 * spread.max(axis=-1)
    end = np.sum(chance * shift, axis=-1) + z * np.sqrt(np.sum(chance * (spread**2 + shift**2), axis=-1))
    done = np.zeros(end.shape, dtype=bool)  # each end by itself: the same beside whatever others
    for _ in range(20):
        off = (end[..., None] - shift) / spread
        deviate = special.ndtri(np.sum(chance * special.ndtr(-off), axis=-1))
        slope = np.sum(chance * np.exp(-np.minimum(off**2, 1e3) / 2) / spread, axis=-1)
        low, high = np.where(deviate > -z, end, low), np.where(deviate > -z, high, end)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = end + (deviate + z) * np.exp(-(deviate**2) / 2) / slope
        step = np.where((low < step) & (step < high), step, (low + high) / 2)
        near = np.abs(step - end) <= 1e-4 * end
        end = np.where(done, end, step)
        done |= near
        if done.all():
            break
    return np.asarray(end)
