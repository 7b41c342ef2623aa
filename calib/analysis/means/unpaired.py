"""The difference of two means whose labels need not be of the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from calib.analysis.means.gold import Design, Gold, gold_of
from calib.analysis.means.guards import cautions_on, options_of
from calib.analysis.means.methods import CUT, METHODS, Found, Options, centred, with_silent_judge
from calib.analysis.means.moments import refuse_where
from calib.core.check import Floats
from calib.core.laws import Law
from calib.core.numeric import matrix_product

_LEAST = -300.0  # log of a tail below which none is told apart
_PAIRS = 4.0  # pairs' worth of "what one label is off by says nothing of the other"


class Side(NamedTuple):
    """One system: its labels and judge scores, where they are among all inputs, and its own mean."""

    data: Gold
    options: Options
    found: Found
    labelled: NDArray[np.bool_]
    answered: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The estimator that was used."""
        return self.found.estimator or self.options.estimator

    @property
    def known(self) -> bool:
        """Whether there is an interval of its mean."""
        return self.found.has_interval(complete=self.options.finite and not self.data.n_rest)


def sides_of(
    y: tuple[Floats, Floats], f: tuple[Floats, Floats], asked: Mapping[str, Any], calibrated_folds: int = 0
) -> tuple[Side, Side]:
    """Both systems; as yes or no only if both are."""
    design = Design(calibrated_folds=calibrated_folds)
    sides = _side(y[0], f[0], "a", None, design, asked), _side(y[1], f[1], "b", None, design, asked)
    if sides[0].options.binary == sides[1].options.binary:
        return sides
    return _side(y[0], f[0], "a", False, design, asked), _side(y[1], f[1], "b", False, design, asked)


def _side(y: Floats, f: Floats, which: str, binary: bool | None, design: Design, asked: Mapping[str, Any]) -> Side:
    """The mean of one system; inputs that it did not answer have no judge score."""
    answered, labelled = ~np.isnan(f), ~np.isnan(y)
    rule = "must have a score wherever {0} has a label"
    refuse_where(labelled & ~answered, f, f"f_{which}", rule, (f"y_{which}",))
    data = gold_of(y[answered], f[answered], None, design)
    options = options_of(data, binary=binary, **asked)
    return Side(data, options, METHODS[options.estimator].law(data, options), labelled, answered)


class Difference(NamedTuple):
    """The first mean less the second, and the law of its interval."""

    point: float
    error: float
    lam: float
    law: Law
    alone: Law | None  # of the same labels without a judge
    warnings: tuple[str, ...]


def difference_of(first: Side, second: Side) -> Difference:
    """Two means put together, with what the same inputs have in common."""
    a, b, r = first.found, second.found, _correlation(first, second)
    error = float(np.sqrt(max(a.error**2 + b.error**2 - 2 * r * a.error * b.error, 0.0)))
    alone, judged = None, first.data.n_rest + second.data.n_rest > 0
    if METHODS[first.name].alone not in ("", first.name) and judged:
        silent = [_silent(side) for side in (first, second)]
        alone = Apart(silent[0].found, silent[1].found, _correlation(*silent), _length(first.options))
    told = dict.fromkeys(_told(first, "first") + _told(second, "second"))
    law = Apart(a, b, r, _length(first.options))
    return Difference(a.point - b.point, error, (a.lam + b.lam) / 2, law, alone, tuple(told))


def _length(options: Options) -> float:
    return np.inf if options.bounds is None else options.bounds[1] - options.bounds[0]


def _silent(side: Side) -> Side:
    """The same labels without the judge, by the same kind of interval."""
    data = with_silent_judge(side.data)
    return side._replace(data=data, found=METHODS[METHODS[side.name].alone].law(data, side.options)._replace(lam=0.0))


def _told(side: Side, which: str) -> tuple[str, ...]:
    """The cautions of one system, each with which of the two it is of."""
    split = (text.partition(": ") for text in cautions_on(side.data, side.options))
    return tuple(f"{name}: of the {which} system, {text}" for name, _, text in split)


# --- variance estimates recovery --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Apart:
    """The law of a - b from those of each, whose distances add as standard errors do (Zou and Donner)."""

    a: Found
    b: Found
    r: float
    length: float  # of the scale

    @property
    def support(self) -> tuple[float, float]:
        return -self.length, self.length

    def low(self, tail: float) -> float:
        reach = self._distance(_down(self.a, tail), _up(self.b, tail))
        return max(self.a.point - self.b.point - reach, -self.length)

    def high(self, tail: float) -> float:
        reach = self._distance(_up(self.a, tail), _down(self.b, tail))
        return min(self.a.point - self.b.point + reach, self.length)

    def tails(self, null: float) -> tuple[float, float]:
        return _tail(lambda tail: self.low(tail) - null), _tail(lambda tail: null - self.high(tail))

    def _distance(self, one: float, other: float) -> float:
        return float(np.sqrt(max(one**2 + other**2 - 2 * self.r * one * other, 0.0)))


def _down(found: Found, tail: float) -> float:
    return max(found.point - float(found.law.low(tail)), 0.0)  # near a half both ends may be on one side of the point


def _up(found: Found, tail: float) -> float:
    return max(float(found.law.high(tail)) - found.point, 0.0)


def _tail(beyond: Callable[[float], float]) -> float:
    """The tail (up to a half) whose end is the value, which it is not `beyond`; on the log scale."""
    if beyond(0.5) <= 0:
        return 0.5
    near, far = float(np.log(0.5)), -4.0
    while beyond(float(np.exp(far))) > 0:
        if far < _LEAST:
            return float(np.exp(far))
        near, far = far, 2 * far
    return float(np.exp(optimize.brentq(lambda log: beyond(float(np.exp(log))), far, near, xtol=1e-10)))


# --- what both means have in common -----------------------------------------------------------------------------------


def _correlation(first: Side, second: Side) -> float:
    """Of the two means' errors: the judge's scores of the same inputs, and labels of both on one input."""
    (u, v), paired = (_errors(side) for side in (first, second)), first.labelled & second.labelled
    pairs = int(paired.sum())
    trust = pairs / (pairs + _PAIRS)
    size = np.sqrt(float(matrix_product(u, u)) * float(matrix_product(v, v)))
    if first.options.finite:
        return _correlation_here(first, second, u, v, trust)
    return float(np.clip(np.sum(np.where(paired, trust, 1.0) * u * v) / size, -0.99, 0.99)) if size > 0 else 0.0


def _correlation_here(first: Side, second: Side, u: Floats, v: Floats, trust: float) -> float:
    """The same for exactly these items: labels are drawn from them, and the judge's mean over them is known."""
    n, m = (float(side.labelled.sum()) for side in (first, second))
    all_n, all_m = (float(side.answered.sum()) for side in (first, second))
    paired, common = first.labelled & second.labelled, first.answered & second.answered
    size = np.sqrt(np.mean(u[first.labelled] ** 2) * np.mean(v[second.labelled] ** 2))
    room = np.sqrt(max(1 / n - 1 / all_n, 0.0) * max(1 / m - 1 / all_m, 0.0))
    if not (paired.any() and size > 0 and room > 0):
        return 0.0
    alike = trust * float(np.mean(u[paired] * v[paired])) / size
    share = (paired.sum() / (n * m) - common.sum() / (all_n * all_m)) / room
    return float(np.clip(alike * share, -0.99, 0.99))


def _errors(side: Side) -> Floats:
    """What each input adds to the error of a system's mean; of exactly these items, how far its label is off."""
    data, n = side.data, len(side.data.y)
    lam, f, rest = _lam_of(side)
    slope = lam * data.n / max(data.n_rest, 1) if side.options.finite else lam
    own = (centred(data.y) - slope * centred(f)) / n
    blank = side.answered & ~side.labelled
    errors = np.zeros(len(side.labelled))
    errors[side.labelled] = own
    if data.n_rest and not side.options.finite:
        errors[blank] = lam * centred(rest) / data.n_rest
    return errors


def _lam_of(side: Side) -> tuple[float, Floats, Floats]:
    """The judge's weight and its scores as they were used; for yes or no the slope is the difference of both rates."""
    data, rest = side.data, np.asarray(side.data.loose(), dtype=float)
    if not np.isnan(side.found.lam):
        return side.found.lam, data.f, rest
    low, high = side.options.bounds or (0.0, 1.0)
    f, rest = (np.where(part >= low + CUT * (high - low), high, low) for part in (data.f, rest))
    off, spread = centred(f), float(np.var(np.concatenate([f, rest])))
    slope = float(matrix_product(off, data.y)) / (float(matrix_product(off, off)) + spread) if spread else 0.0
    return slope * data.n_rest / data.n, f, rest
