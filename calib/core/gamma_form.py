"""The probability that a sum of gamma variables, each times a number, and of a normal one lies below 0.

It is one integral of the characteristic function, taken through the saddlepoint along a line that bends as that of
steepest descent, where it neither oscillates nor cancels; no random number is drawn. Everything works on many sums at
once.

References
----------
Lugannani and Rice (1980), Advances in Applied Probability 12:475-490, for the saddlepoint form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from calib.core.check import Codes, Floats

# steps of the variable v of the integral, which leaves the saddlepoint as sinh(v): along a straight line, by how much
# less along one that is bent by an angle of 1, and at least
_STEP, _BENT_STEP, _LEAST_STEP = 0.2, 0.2, 0.1
_NODES = 140  # at most
_LOOKS, _LOOK_TO = np.arange(0.0, 9.0)[:, None], 30.0  # where the integrand is compared, down to how small (logarithm)
_HARDLY_BENT = 0.1  # an angle at which that is not needed
_MORE = 8  # nodes that are added where the first ones do not reach
_EQUAL = 0.4  # of the gamma variables of a set, as many with equal factors fall about as fast
_AT_ONCE = 1 << 13  # factors times nodes
_NOTHING = 1e-12  # of the sum, what the integral's further terms may leave out
_BLOCK = 1 << 15  # factors that are worked on at once
_MOST_BENT = 0.6, 0.38  # sine; with the judge's normal part that of half the angle where that part stops to fall
_NEAR = 1e-3  # standard deviations from the middle, where the saddlepoint form is 0 / 0
_STEPS = 60
_DUST = 1e-14  # of a number, what rounding may leave
_CLOSE = 0.01  # standard deviations: the last step to a saddlepoint, whose square is left and allowed for
_ROUGH, _FINE = 0.2, 1e-4  # standard deviations: the last step where the saddlepoint form starts, or is, the search
_LITTLE = 0.3, 0.5, 0.01  # a step after which line and slope are good: deviations, room left before a pole, share
_MENDS = 2
_SAME = 1e-10  # standard deviations of what a step may leave

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class GammaForm:
    """sum_i Gamma(copies_i) count_i (value_i - t) + error z; the unseen observation is one of its gamma variables.

    Everything stands set by set.
    """

    value: Floats  # off the point
    count: Floats
    copies: Floats
    code: Codes
    error: Floats
    level: Floats  # how far the point is from 0
    start: Codes  # where each set stands
    size: Codes

    @classmethod
    def of(cls, value: Floats, count: Floats, copies: Floats, code: Codes, error: Floats, level: Floats) -> GammaForm:
        size = np.bincount(code, minlength=len(error))
        return cls(value, count, copies, code, error, level, np.cumsum(size) - size, size)

    def part(self, first: int, last: int) -> GammaForm:
        """Some of the sets."""
        ends = np.append(self.start, len(self.code))
        here, sets = slice(ends[first], ends[last]), slice(first, last)
        columns = (self.value[here], self.count[here], self.copies[here], self.code[here] - first)
        return GammaForm.of(*columns, self.error[sets], self.level[sets])

    def at(self, t: Floats) -> _Moved:
        """The form at t, without factors that are only what rounding left."""
        factor = (self.value - t[self.code]) * self.count
        low, high = np.minimum.reduceat(factor, self.start), np.maximum.reduceat(factor, self.start)
        dust = _DUST * np.maximum(np.maximum(-low, high), np.abs(t) + self.level)
        factor[np.abs(factor) <= dust[self.code]] = 0.0
        low, high, error = (np.where(np.abs(part) > dust, part, 0.0) for part in (low, high, self.error))
        return _Moved(self, factor, low, high, error)


@dataclass(frozen=True, slots=True)
class _Moved:
    """The form at some t: the factor of each gamma variable, the least and the greatest of each set, and the error."""

    form: GammaForm
    factor: Floats
    low: Floats
    high: Floats
    error: Floats

    def tilted(self, s: Floats) -> Floats:
        """The cumulant generating function, its derivatives to the third, and how fast it falls as t rises, over s."""
        form = self.form
        left = 1 - s[form.code] * self.factor
        each = self.factor / left
        rows = np.empty((5, len(each)))
        np.multiply(form.copies, np.log(left), out=rows[0])
        np.multiply(form.copies, each, out=rows[1])
        np.multiply(rows[1], each, out=rows[2])
        np.multiply(rows[2], each, out=rows[3])
        np.divide(form.copies * form.count, left, out=rows[4])
        sums, square = np.add.reduceat(rows, form.start, axis=1), self.error**2
        sums[0] = square * s**2 / 2 - sums[0]
        sums[1] += square * s
        sums[2] += square
        sums[3] *= 2
        return sums

    def saddle(self, s: Floats) -> tuple[Floats, Floats]:
        """Where the cumulant generating function is smallest, and what `tilted` says of it there.

        By Newton's steps, for the derivative times its distance from the pole ahead, from s; they are kept inside the
        domain, and the last one is allowed for by the derivatives.
        """
        far = np.divide(1e3, self.error, out=np.zeros_like(s), where=self.error > 0)
        left = np.divide(1, self.low, out=-far, where=self.low < 0)
        right = np.divide(1, self.high, out=far, where=self.high > 0)
        s = np.where((left < s) & (s < right), s, 0.0)
        for _ in range(_STEPS):
            sums = self.tilted(s)
            first, second = sums[1], sums[2]
            left, right = np.where(first > 0, left, s), np.where(first > 0, s, right)
            pole = np.where(first > 0, self.low, self.high)
            step = s - first / (second - first * pole / (1 - s * pole))
            step = np.where((left < step) & (step < right), step, (left + right) / 2)
            move, s = step - s, step
            if (move * move * second < _CLOSE**2).all():
                break
        sums[0] += move * (first + move * second / 2)
        sums[2] += move * sums[3]
        return s, sums

    def factors(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """One less each factor times x + iy: the real part, the imaginary one with its sign turned, the square."""
        real, imaginary = np.repeat(x, self.form.size, axis=1), np.repeat(y, self.form.size, axis=1)
        real *= -self.factor
        real += 1
        imaginary *= self.factor
        return real, imaginary, real**2 + imaginary**2

    def size(self, x: Floats, y: Floats) -> Floats:
        """The real part of the cumulant generating function at x + iy."""
        each = np.log(self.factors(x, y)[2]) * self.form.copies
        return np.asarray((self.error**2 * (x * x - y * y) - np.add.reduceat(each, self.form.start, axis=1)) / 2)

    def settled(self, values: Floats, sure: float, never: float) -> Floats:
        """The values, but what is `sure` where no factor is above 0 and what is `never` where none is below."""
        exact = self.error == 0
        return np.where(exact & (self.high <= 0), sure, np.where(exact & (self.low >= 0), never, values))


def blockwise(function: Callable[..., Floats], form: GammaForm, *columns: Floats) -> Floats:
    """What the function says of the sets, of so many at once that their factors fit the processor's cache."""
    sets, size = len(form.error), len(form.value)
    many = max(1, sets * _BLOCK // size)
    if many >= sets:
        return function(form, *columns)
    firsts = range(0, sets, many)
    parts = ((form.part(i, min(i + many, sets)), *(column[i : i + many] for column in columns)) for i in firsts)
    return np.concatenate([function(*part) for part in parts])


# --- the saddlepoint and the integral ---------------------------------------------------------------------------------


def _approximate(here: _Moved, s: Floats) -> tuple[Floats, Floats, Floats]:
    """The normal deviate of the probability that the form is below 0; how fast it rises with t; the saddlepoint."""
    s, (cumulant, _, second, _, fall) = here.saddle(s)
    root = np.sqrt(second)
    w, u = np.copysign(np.sqrt(np.maximum(-2 * cumulant, 0)), s), s * root
    middle = ~(np.abs(u) > _NEAR)
    deviate = np.where(middle, u, w + np.log(u / w) / w)
    slope = np.where(middle, fall / root, s * fall / w)
    return here.settled(deviate, np.inf, -np.inf), slope, s


class _Line(NamedTuple):
    """A hyperbola for each set: where it starts on the real axis, its unit, the angle of its bend, the nodes' step."""

    s: Floats
    unit: Floats
    angle: Floats
    step: Floats

    @classmethod
    def steepest(cls, here: _Moved, s: Floats) -> _Line:
        """From the saddlepoint, which is looked for from s, with the bend that steepest descent has there.

        Where the integrand would be larger than along a straight line, further out, the line is straight.
        """
        s, (_, _, second, third, _) = here.saddle(s)
        unit = np.divide(1, np.sqrt(second), out=np.ones_like(s), where=second > 0)
        bend = third * unit**3 / 3
        most = np.where(here.error > 0, _MOST_BENT[1], _MOST_BENT[0])
        sine = np.minimum(2 * np.abs(bend) / (1 + np.sqrt(1 + 4 * bend**2)), most)
        angle = np.arcsin(np.copysign(sine, bend))
        line = cls(s, unit, angle, np.maximum(_STEP - _BENT_STEP * np.abs(angle), _LEAST_STEP))
        if np.abs(angle).max() < _HARDLY_BENT:
            return line
        straight = line._replace(angle=np.zeros_like(s), step=np.full_like(s, _LEAST_STEP))
        size, sized = (here.size(*path.points(_LOOKS)) for path in (line, straight))
        good = (size <= np.maximum(sized, size[0] - _LOOK_TO) + 1).all(axis=0)
        return cls(s, unit, np.where(good, angle, 0.0), np.where(good, line.step, straight.step))

    def points(self, v: Floats) -> tuple[Floats, Floats]:
        """Real and imaginary part."""
        x = self.s + self.unit * np.sin(self.angle) * (np.cosh(v) - 1)
        return x, self.unit * np.cos(self.angle) * np.sinh(v)

    def tail(self, here: _Moved, order: int) -> Floats:
        """The inversion integral: the probability that the form is below 0, and derivatives by t up to this order."""
        unsettled = (here.error > 0) | (here.low < 0) & (here.high > 0)
        above, nodes = np.zeros((order + 1, len(self.s))), 0
        first, few = math.ceil(_reach(here.form) / self.step.min() + 0.5), max(_AT_ONCE // len(here.factor), 1)
        while nodes < _NODES:
            more = min(few, first - nodes if nodes < first else _MORE)
            v = np.arange(nodes + 0.5, nodes + more)[:, None] * self.step
            terms = _terms(here, self, v, order)
            above += terms.imag.sum(axis=1)
            nodes += more
            if not (unsettled & (np.abs(terms[0, -1]) > _NOTHING * np.abs(above[0]))).any():
                break
        p = above * (self.step / -np.pi)
        p[0] += (self.s > 0) - self.missed()
        p[0] = np.clip(here.settled(p[0], 1.0, 0.0), 0.0, 1.0)
        return p

    def missed(self) -> Floats:
        """What the sum leaves of the integral, since it has a pole at 0: by the sum's kernel there."""
        sine = np.sin(self.angle) - self.s / self.unit
        height = 2 * np.pi / self.step * (self.angle - np.arcsin(np.clip(sine, -1, 1)))
        return np.where(np.abs(sine) < 1, np.copysign(1 / (1 + np.exp(np.abs(height))), height), 0.0)

    def room(self, here: _Moved) -> Floats:
        """How far the nearest pole on its side of 0 is from where it starts, over the pole's distance from 0."""
        return np.asarray(1 - np.maximum(self.s * here.low, self.s * here.high))


def _reach(form: GammaForm) -> float:
    """The v where gamma variables with equal factors, nearly as many as in the smallest set, leave nothing."""
    n = _EQUAL * float(np.add.reduceat(form.copies, form.start).min())
    return math.asinh(math.sqrt(n * math.expm1(min(-2 * math.log(0.03 * _NOTHING) / n, 40.0))))


def _terms(here: _Moved, line: _Line, v: Floats, order: int) -> Complexes:
    """The integrand at v of each set, and its derivatives by t up to this order: shape (order + 1, v, sets).

    In real numbers, whose logarithms take a hundredth of the time.
    """
    form, (x, y) = here.form, line.points(v)
    rows = np.empty((2, *v.shape[:1], len(here.factor)))
    real, imaginary, square = here.factors(x, y)
    np.log(square, out=rows[0])
    np.arctan2(imaginary, real, out=rows[1])
    rows *= form.copies
    size, turn = np.add.reduceat(rows, form.start, axis=2)
    size = here.error**2 * (x * x - y * y) / 2 - size / 2
    turn = here.error**2 * x * y + turn
    z, along = x + 1j * y, 1j * line.unit * (np.cos(line.angle) * np.cosh(v) - 1j * np.sin(line.angle) * np.sinh(v))
    terms = np.empty((order + 1, *z.shape), dtype=complex)
    terms[0] = np.exp(size) * (np.cos(turn) + 1j * np.sin(turn)) / z * along
    if order:
        each = np.empty(square.shape, dtype=complex)
        square /= form.count
        np.divide(real, square, out=each.real)
        np.divide(imaginary, square, out=each.imag)
        power, sums = form.copies, []
        for k in range(1, order + 1):
            power = power * each
            sums.append(np.add.reduceat(power, form.start, axis=1) * z**k)
        one, two, three = sums
        terms[1] = -terms[0] * one
        terms[2] = terms[0] * (one * one + two)
        terms[3] = -terms[0] * (one * (one * one + 3 * two) + 2 * three)
    return terms


# --- the search -------------------------------------------------------------------------------------------------------


def tail_integral(form: GammaForm, t: Floats) -> Floats:
    with np.errstate(all="ignore"):
        here = form.at(t)
        return np.asarray(_Line.steepest(here, np.zeros_like(t)).tail(here, 0)[0])


def root_of(form: GammaForm, goal: float, *, near: bool) -> Floats:
    """The t below which the mean lies with this probability: found by the saddlepoint, then, unless `near`, exact."""
    with np.errstate(all="ignore"):
        t, s, spread, low, high = _guess(form, goal)
        before = last = np.full_like(t, np.nan)

        def approximate(t: Floats) -> tuple[Floats, Floats, Floats]:
            """By Newton's steps, after the first one with the slope of the last two, unless that is far off."""
            nonlocal s, before, last
            deviate, slope, s = _approximate(form.at(t), s)
            chord = (deviate - last) / (t - before)
            steep = np.where((chord > slope / 2) & (chord < 2 * slope), chord, slope)
            before, last, step = t, deviate, (goal - deviate) / steep
            return deviate, step, np.abs(step)

        def exact(t: Floats) -> tuple[Floats, Floats, Floats]:
            """By the series of the deviate to the third order, turned round, and once more along the same line."""
            nonlocal s
            here = form.at(t)
            line = _Line.steepest(here, s)
            s, p = line.s, line.tail(here, 3)
            deviate, one, two, three = _deviates(p)
            step, miss = _reverted((goal - deviate) / one, two / one / 2, three / one / 6, one)
            miss *= np.maximum(1, one * spread)  # where labels are nearly all alike, the deviate rises faster
            share = 4 * miss / np.abs(step)  # by how much the slope may be off
            for _ in range(_MENDS):
                if (miss <= _SAME * spread).all():
                    break
                there = form.at(t + step)
                rest = (goal - special.ndtri(line.tail(there, 0)[0])) / (one + step * (two + step * three / 2))
                good = (np.abs(step) < _LITTLE[0] * spread) & (line.room(there) > _LITTLE[1] * line.room(here))
                good &= share < _LITTLE[2]
                step, miss = np.where(good, step + rest, step), np.where(good, np.abs(rest) * share, miss)
            return deviate, step, miss

        t = _crossing(approximate, goal, t, low, high, (_FINE if near else _ROUGH) * spread)
        return t if near else _crossing(exact, goal, t, low, high, _SAME * spread)


def _guess(form: GammaForm, goal: float) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Where the root may be by Cornish and Fisher, its saddlepoint, the standard deviation, and ends for the root."""
    weight = form.copies * form.count
    whole, centre = np.add.reduceat((weight, weight * form.value), form.start, axis=1)
    centre /= whole
    off = (form.value - centre[form.code]) * form.count
    square = form.copies * off**2
    second, third = np.add.reduceat((square, square * off), form.start, axis=1)
    root = np.sqrt(second * whole / (whole + 1) + form.error**2)
    skew = np.divide(2 * third, root**3, out=np.zeros_like(root), where=root > 0)
    low, high = np.minimum.reduceat(form.value, form.start), np.maximum.reduceat(form.value, form.start)
    spread, far = root / whole, 1e3 * form.error / whole
    t = np.clip(
        centre + spread * (goal + np.clip(skew, -1, 1) * (goal**2 - 1) / 6),
        low + 0.01 * (centre - low),
        high - 0.01 * (high - centre),
    )
    return t, goal / root, spread, low - far, high + far


def _crossing(
    look: Callable[[Floats], tuple[Floats, Floats, Floats]], goal: float, t: Floats, low: Floats, high: Floats,
    close: Floats,
) -> Floats:  # fmt: skip
    """Where a deviate, which rises with t, reaches its goal: by steps that are kept in a bracket.

    `look` says the deviate at t, the step to take, and by how much that may miss.
    """
    close = close + _DUST * np.maximum(np.abs(low), np.abs(high))
    for _ in range(_STEPS):
        here, step, miss = look(t)
        low, high = np.where(here <= goal, t, low), np.where(here >= goal, t, high)
        step = t + step
        inside = (low <= step) & (step <= high)
        t = np.where(inside, step, (low + high) / 2)
        if (np.where(inside, miss, high - low) <= close).all():
            break
    return t


def _deviates(p: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The normal deviate of a probability, and its derivatives, from that and its derivatives."""
    deviate = special.ndtri(p[0])
    one, two, three = p[1:] * np.sqrt(2 * np.pi) * np.exp(deviate**2 / 2)
    return (deviate, one, two + deviate * one**2, three + 3 * deviate * one * two + (1 + 2 * deviate**2) * one**3)


def _reverted(first: Floats, two: Floats, three: Floats, steep: Floats) -> tuple[Floats, Floats]:
    """The x at which x + two x^2 + three x^3 is `first`, nearly, and the size of the term after."""
    second, third = -two * first, (2 * two**2 - three) * first**2  # over the first
    ratio = np.maximum(np.abs(second), np.sqrt(np.abs(third))) + 0.1 * np.abs(steep * first)
    return first * (1 + second + third), np.abs(first) * ratio**3
