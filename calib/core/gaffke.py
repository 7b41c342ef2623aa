"""The distribution of a mean whose observations have exponential weights, one of them an observation that was not seen.

The event that such a mean lies below t is that of a sum of gamma variables, each times a number, lying below 0. Its
probability is one integral of the characteristic function, taken through the saddlepoint along a line that bends as
that of steepest descent, where it neither oscillates nor cancels; no random number is drawn. Everything works on
many sets of observations at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from calib.core.check import Codes, Floats

_NODES = np.arange(0.0625, 14.0, 0.125)  # of the variable v of the integral, which leaves the saddlepoint as sinh(v)
_AT_ONCE = 12
_LOOKS = np.arange(0.0, 11.0)  # where it is seen before whether the integrand falls
_NOTHING = 1e-13  # of the sum, what the integral's further terms may leave out
_BLOCK = 1 << 20  # numbers that are held at once
_BESIDE = 0.8  # standard deviations: a line that is nearer to the pole at 0 goes to one
_MOST_BENT = 0.6, 0.38  # sine; with the judge's normal part that of half the angle where that part stops to fall
_NEAR = 1e-3  # standard deviations from the middle, where the saddlepoint form is 0 / 0
_STEPS = 60
_DUST = 1e-14  # of a number, what rounding may leave
_CLOSE = 1e-9  # standard deviations: saddlepoints that are this near are equal
_SAME = 1e-8  # of the standard deviation of the mean, by which the last step moves: what is left is far less


Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Gaffke:
    r"""Gaffke's interval for the mean of a bounded score, for one set of observations or for each of many.

    With independent :math:`E_i \sim` Exp(1), :math:`e \sim` Gamma(w) and a standard normal z the lower end is a
    quantile of

    .. math:: \frac{\sum_i E_i c_i x_i + e\, x_{low} + (\sum_i c_i + w)\, \sigma z}{\sum_i E_i c_i + e}

    where :math:`x_{low}` is the lowest that an observation that was not seen can be; and the upper end likewise. Sigma
    stands above the line times what is expected below it: so the whole is one linear form. With w = 1, and on yes
    or no, it is Clopper and Pearson's interval; without an unseen observation it is the Bayesian bootstrap.
    An end lies on the scale and, if it cuts off less than a half, not beyond the point.

    Parameters
    ----------
    point : float or array, shape (sets,)
        The mean.
    off, count : array, shape (observations,)
        Observations of all sets as deviations from the point, and how much each counts (1, on average over a set).
    code : array of int, shape (observations,)
        The set of each.
    error : array, shape (sets,)
        Sigma, what else the mean is uncertain by.
    weight : array, shape (sets,)
        w, how many observations the unseen one counts as.
    reach : (array, array), each of shape (sets,)
        The lowest and the highest that it can be.
    support : (float, float)
        Ends of the scale; no end lies beyond. A value beyond has a tail of 0: every interval leaves it out.

    References
    ----------
    Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable;
    Learned-Miller and Thomas (2020), arXiv:1905.06208. Saddlepoints: Lugannani and Rice (1980), Adv. Appl. Prob. 12.
    """

    point: Any
    off: Floats
    count: Floats
    code: Codes
    error: Floats
    weight: Floats
    reach: tuple[Floats, Floats]
    support: tuple[float, float]

    def low(self, tail: float) -> Any:
        return self._shaped(_end(self, tail))

    def high(self, tail: float) -> Any:
        return -self.mirrored.low(tail)

    def near(self, tail: float) -> tuple[Any, Any]:
        """Both ends by the saddlepoint alone, for simulations: about a hundredth of a width off, and much quicker."""
        low, high = (self._shaped(_end(law, tail, near=True)) for law in (self, self.mirrored))
        return low, -high

    def tails(self, null: float) -> tuple[Any, Any]:
        return self._shaped(_tail_integral(self, null)), self._shaped(_tail_integral(self.mirrored, -null))

    @property
    def mirrored(self) -> Gaffke:
        """The same with up for down."""
        (low, high), (bottom, top) = self.reach, self.support
        return replace(self, point=-self.point, off=-self.off, reach=(-high, -low), support=(-top, -bottom))

    def _shaped(self, values: Floats) -> Any:
        return values if np.ndim(self.point) else float(values[0])


def _form_of(law: Gaffke) -> _Form:
    sets = len(law.weight)
    values = law.count * (law.off + np.broadcast_to(law.point, sets)[law.code])
    total = np.bincount(law.code, law.count, sets) + law.weight
    return _Form(values, law.count, law.code, law.reach[0], law.weight, law.error * total)


def _end(law: Gaffke, tail: float, *, near: bool = False) -> Floats:
    """The lower end, within the support and below the point."""
    most = law.point if tail <= 0.5 else law.support[1]
    return np.asarray(np.clip(_root(_form_of(law), tail, near=near), law.support[0], most))


def _tail_integral(law: Gaffke, null: float) -> Floats:
    """The tail that the lower end leaves below it where it lies on `null`."""
    form = _form_of(law).at(np.full(len(law.weight), null))
    if not law.support[0] <= null <= law.support[1]:  # no end lies there
        return np.full(len(law.weight), float(null > law.support[1]))
    tail = _probability(form, _saddle(form, np.zeros_like(form.unseen)))
    return np.where(law.point <= null, np.maximum(tail, 0.5), tail)


@dataclass(frozen=True, slots=True)
class _Form:
    """sum E_i (values_i - t count_i) + e (unseen - t) + error z at t = 0; `at` moves it."""

    values: Floats
    count: Floats
    code: Codes
    unseen: Floats
    weight: Floats
    error: Floats

    def at(self, t: Floats) -> _Form:
        """The form at t, without factors that are only what rounding left."""
        moved = replace(self, values=self.values - t[self.code] * self.count, unseen=self.unseen - t)
        low, high = moved.ends()
        dust = _DUST * np.maximum(np.maximum(-low, high), np.abs(t))
        values, unseen = (
            np.where(np.abs(v) > d, v, 0.0) for v, d in ((moved.values, dust[self.code]), (moved.unseen, dust))
        )
        return replace(moved, values=values, unseen=unseen, error=np.where(self.error > dust, self.error, 0.0))

    def total(self, values: Floats) -> Floats:
        return np.bincount(self.code, values, len(self.unseen)).astype(float)

    def ends(self) -> tuple[Floats, Floats]:
        """The smallest and the largest factor of a gamma variable."""
        low, high = self.unseen.copy(), self.unseen.copy()
        np.minimum.at(low, self.code, self.values)
        np.maximum.at(high, self.code, self.values)
        return low, high

    def derivatives(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """First to third derivative of the cumulant generating function."""
        each, one = self.values / (1 - s[self.code] * self.values), self.unseen / (1 - s * self.unseen)
        first, second, third = (self.total(each**k) + self.weight * one**k for k in (1, 2, 3))
        return first + self.error**2 * s, second + self.error**2, 2 * third

    def cumulant(self, s: Floats) -> Floats:
        each = self.total(np.log1p(-s[self.code] * self.values))
        return np.asarray((self.error * s) ** 2 / 2 - each - self.weight * np.log1p(-s * self.unseen))

    def slope(self, s: Floats) -> Floats:
        """By how much the cumulant generating function falls as t rises, over s."""
        each = self.total(self.count / (1 - s[self.code] * self.values))
        return np.asarray(each + self.weight / (1 - s * self.unseen))


def _saddle(form: _Form, s: Floats) -> Floats:
    """Where the cumulant generating function is smallest, by Newton's steps from s that are kept inside its domain."""
    low, high = form.ends()
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(form.error > 0, 1e3 / form.error, 0.0)
        left, right = np.where(low < 0, 1 / low, -far), np.where(high > 0, 1 / high, far)
    s = np.where((left < s) & (s < right), s, 0.0)
    for _ in range(_STEPS):
        first, second, _ = form.derivatives(s)
        left, right = np.where(first > 0, left, s), np.where(first > 0, s, right)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = s - first / second
        step = np.where((left < step) & (step < right), step, (left + right) / 2)
        near = np.abs(step - s) * np.sqrt(second) < _CLOSE
        s = step
        if near.all():
            break
    return s


def _approximate(form: _Form, s: Floats) -> tuple[Floats, Floats, Floats]:
    """The normal deviate of the probability that the form is below 0; how fast it rises with t; the saddlepoint."""
    s = _saddle(form, s)
    second = np.sqrt(form.derivatives(s)[1])
    w, u = np.copysign(np.sqrt(np.maximum(-2 * form.cumulant(s), 0)), s), s * second
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = ~(np.abs(u) > _NEAR)
        deviate = np.where(middle, u, w + np.log(u / w) / w)
        slope = np.where(middle, form.slope(s) / second, s * form.slope(s) / w)
    return _settled(form, deviate, np.inf, -np.inf), slope, s


def _settled(form: _Form, values: Floats, sure: float, never: float) -> Floats:
    """The values, but what is `sure` where no factor is above 0 and what is `never` where none is below."""
    low, high = form.ends()
    exact = form.error == 0
    return np.where(exact & (high <= 0), sure, np.where(exact & (low >= 0), never, values))


def _probability(form: _Form, s: Floats) -> Floats:
    """That the form is below 0: the inversion integral along a line that starts at s, or beside 0 if s is there."""
    s, unit, sine = _contour(form, s)
    low, high = form.ends()
    unsettled = (form.error > 0) | (low < 0) & (high > 0)
    above, few = np.zeros_like(s), max(1, min(_AT_ONCE, _BLOCK // len(form.values)))
    for nodes in np.array_split(_NODES, range(few, len(_NODES), few)):
        z, along = _hyperbola(s, unit, sine, nodes[:, None])
        terms = (np.exp(_cumulant(form, z)) / z * along).imag
        above += terms.sum(axis=0)
        if not np.any(unsettled & (np.abs(terms).max(axis=0) > _NOTHING * np.abs(above))):
            break
    above = above * (_NODES[1] - _NODES[0]) / np.pi
    return np.clip(_settled(form, np.where(s > 0, 1 - above, -above), 1.0, 0.0), 0.0, 1.0)


def _contour(form: _Form, s: Floats) -> tuple[Floats, Floats, Floats]:
    """Where the hyperbola starts on the real axis, its unit and the sine of its bend.

    It bends as the line of steepest descent does at s. Where the integrand would grow again further out, it starts
    on the other side of 0; and where it grows there, too, it is straight.
    """
    low, high = form.ends()
    with np.errstate(divide="ignore"):
        left, right = np.where(low < 0, 0.9 / low, -np.inf), np.where(high > 0, 0.9 / high, np.inf)
    s = np.clip(s, left, right)
    unit, skew = _shape(form, np.zeros_like(s))
    beside = np.where(skew > 0, np.maximum(-unit, left), np.minimum(unit, right))  # on the side with more room
    s = np.where(np.abs(s) < _BESIDE * _shape(form, s)[0], beside, s)
    unit, sine, falls = _bent(form, s)
    if not falls.all():
        other = np.where(s > 0, np.maximum(-unit, left / 2), np.minimum(unit, right / 2))
        theirs = _bent(form, other)
        turn = ~falls & theirs[2]
        s, unit = np.where(turn, other, s), np.where(turn, theirs[0], unit)
        sine = np.where(turn, theirs[1], np.where(falls, sine, 0.0))
    return s, unit, sine


def _bent(form: _Form, s: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Unit and sine of the hyperbola through s, and whether the integrand falls along it."""
    unit, skew = _shape(form, s)
    sine = _bend(skew, np.where(form.error > 0, _MOST_BENT[1], _MOST_BENT[0]))
    size = _cumulant(form, _hyperbola(s, unit, sine, _LOOKS[:, None])[0]).real
    return unit, sine, np.all(np.diff(size, axis=0) <= 0, axis=0)


def _shape(form: _Form, s: Floats) -> tuple[Floats, Floats]:
    """One over the standard deviation of the form when it is tilted by s, and its skewness."""
    _, second, third = form.derivatives(s)
    unit = np.divide(1, np.sqrt(second), out=np.ones_like(second), where=second > 0)
    return unit, third * unit**3


def _bend(skew: Floats, most: Floats) -> Floats:
    """Sine of the angle between the vertical and the hyperbola whose bend at s is that of the steepest descent."""
    bend = np.abs(skew) / 3
    return np.asarray(np.copysign(np.minimum(2 * bend / (1 + np.sqrt(1 + 4 * bend**2)), most), skew))


def _hyperbola(s: Floats, unit: Floats, sine: Floats, v: Floats) -> tuple[Complexes, Complexes]:
    """Points on it and their derivatives by v."""
    cosine = np.sqrt(1 - sine**2)
    x, y = s + unit * sine * (np.cosh(v) - 1), unit * cosine * np.sinh(v)
    return x + 1j * y, unit * (sine * np.sinh(v) + 1j * cosine * np.cosh(v))


def _cumulant(form: _Form, z: Complexes) -> Complexes:
    """The cumulant generating function at complex arguments, of shape (any, sets)."""
    real, imaginary = 1 - z.real[:, form.code] * form.values, -z.imag[:, form.code] * form.values
    size, angle = np.log(real**2 + imaginary**2) / 2, np.arctan2(imaginary, real)
    sums = np.array([form.total(a) + 1j * form.total(b) for a, b in zip(size, angle, strict=True)])
    return np.asarray((form.error * z) ** 2 / 2 - sums - form.weight * np.log(1 - z * form.unseen))


def _root(form: _Form, tail: float, *, near: bool) -> Floats:
    """The t below which the mean lies with this probability: found by the saddlepoint, then, unless `near`, exact."""
    goal = float(special.ndtri(tail))
    low, high = replace(form, values=form.values / form.count).ends()
    whole = form.total(form.count) + form.weight
    centre = (form.total(form.values) + form.weight * form.unseen) / whole
    spread = np.sqrt(form.at(centre).derivatives(np.zeros_like(low))[1]) / whole
    t = np.clip(centre + goal * spread, low + 0.01 * (centre - low), high - 0.01 * (high - centre))
    low, high = low - 1e3 * form.error / whole, high + 1e3 * form.error / whole
    slope, s = np.zeros_like(low), np.zeros_like(low)

    def approximate(t: Floats) -> tuple[Floats, Floats]:
        nonlocal slope, s
        here, slope, s = _approximate(form.at(t), s)
        return here, slope

    def exact(t: Floats) -> tuple[Floats, Floats]:
        return np.asarray(special.ndtri(_probability(form.at(t), s))), slope

    start = _saddle_crossing(approximate, goal, t, low, high, 1e-4 * spread)
    if near:
        return start
    return _saddle_crossing(
        exact, goal, start, low, high, _SAME * spread + _DUST * np.maximum(np.abs(low), np.abs(high))
    )


def _saddle_crossing(
    deviate: Callable[[Floats], tuple[Floats, Floats]], goal: float, t: Floats, low: Floats, high: Floats, close: Floats
) -> Floats:
    """Where a deviate, which rises with t, reaches its goal, by Newton's steps that are kept in a bracket.

    The slope that comes with a deviate may be a near one: after the first step it is that of the last two.
    """
    before, last = t, np.full_like(t, np.nan)
    for _ in range(_STEPS):
        here, slope = deviate(t)
        low, high = np.where(here <= goal, t, low), np.where(here >= goal, t, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            chord = (here - last) / (t - before)
            steep = np.where((chord > slope / 2) & (chord < 2 * slope), chord, slope)
            step = t - (here - goal) / steep
        step = np.where((low <= step) & (step <= high), step, (low + high) / 2)
        before, last, t = t, here, step
        if np.all(np.abs(t - before) <= close):
            break
    return t
