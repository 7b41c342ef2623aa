"""Populations of outputs, with people's labels and a judge's scores, for a gate whose threshold is the true mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Bounds = tuple[float, float]
Judge = Callable[[np.random.Generator, Floats, Floats], Floats]
FIVE, UNIT = (1.0, 5.0), (0.0, 1.0)
VALUES: dict[Bounds, Floats] = {FIVE: np.arange(1.0, 6.0), UNIT: np.arange(2.0)}


class Build(NamedTuple):
    """Outputs of a build: shares of people's labels on a scale, and a judge of the latent quality and the label."""

    family: str
    name: str
    shares: tuple[float, ...]
    judge: Judge
    bounds: Bounds = FIVE
    size: int = 1  # outputs of a group
    alike: float = 0.0  # share of the quality's variance that outputs of a group have in common
    each: int = 0  # labels of a group that is labelled; 0: all of them

    @property
    def mean(self) -> float:
        """The true mean of people's labels."""
        return float(VALUES[self.bounds] @ np.array(self.shares))

    @property
    def slow(self) -> bool:
        """Whether sets are computed one by one."""
        return self.size > 1

    def items_for(self, labels: int) -> int:
        """How many items it takes to draw so many labels."""
        return labels // (self.each or self.size) * self.size

    @property
    def step(self) -> float:
        return float(np.diff(VALUES[self.bounds])[0])

    def labels(self, z: Floats) -> Floats:
        """Labels in the order of the latent quality, a standard normal."""
        cuts = special.ndtri(np.clip(np.cumsum(self.shares)[:-1], 0, 1))
        return VALUES[self.bounds][np.searchsorted(cuts, z)]

    def draw(self, rng: np.random.Generator, sets: int, items: int) -> tuple[Floats, Floats]:
        """Labels and scores of shape (sets, items); groups stand together."""
        z = rng.normal(size=(sets, items))
        if self.size > 1:
            common = rng.normal(size=(sets, -(-items // self.size))).repeat(self.size, axis=1)[:, :items]
            z = np.sqrt(self.alike) * common + np.sqrt(1 - self.alike) * z
        y = self.labels(z)
        return y, self.judge(rng, z, y)


class Pair(NamedTuple):
    """Two builds that answer the same inputs: the new one and the baseline."""

    family: str
    name: str
    new: Build
    old: Build
    alike: float  # share of the quality's variance that both have in common
    same: float = 0.0  # share of inputs to which both say the same
    apart: bool = False  # labels of the two are of different inputs

    @property
    def mean(self) -> float:
        """The true difference."""
        return (1 - self.same) * (self.new.mean - self.old.mean)

    @property
    def slow(self) -> bool:
        return self.apart

    def items_for(self, labels: int) -> int:
        return labels * (1 + self.apart)

    def draw(self, rng: np.random.Generator, sets: int, items: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Labels of both and scores of both."""
        common, *own = rng.normal(size=(3, sets, items))
        z = [np.sqrt(self.alike) * common + np.sqrt(1 - self.alike) * e for e in own]
        y_a, y_b = self.new.labels(z[0]), self.old.labels(z[1])
        f_a, f_b = self.new.judge(rng, z[0], y_a), self.old.judge(rng, z[1], y_b)
        same = rng.random((sets, items)) < self.same
        return np.where(same, y_b, y_a), y_b, np.where(same, f_b, f_a), f_b


# --- judges -----------------------------------------------------------------------------------------------------


def noisy(shares: tuple[float, ...], rho: float, *, rounded: bool = False) -> Judge:
    """Correlates with the latent quality, with people's spread and .4 points too kind."""
    mean = float(VALUES[FIVE] @ np.array(shares))
    sd = np.sqrt(float((VALUES[FIVE] - mean) ** 2 @ np.array(shares)))

    def scores(rng: np.random.Generator, z: Floats, _: Floats) -> Floats:
        f = mean + 0.4 + sd * (rho * z + np.sqrt(1 - rho**2) * rng.normal(size=z.shape))
        return np.clip(np.round(f) if rounded else f, *FIVE)

    return scores


def copying(rng: np.random.Generator, _: Floats, y: Floats) -> Floats:
    """People's labels, with a little noise."""
    return np.clip(y + 0.1 * rng.normal(size=y.shape), *FIVE)


def constant(value: float) -> Judge:
    return lambda _, __, y: np.full_like(y, value)


def with_errors(judge: Judge, to: float, share: float, of: Callable[[Floats], Any]) -> Judge:
    """Gives `to` to a share of the items whose label is so."""

    def scores(rng: np.random.Generator, z: Floats, y: Floats) -> Floats:
        wrong = of(y) & (rng.random(y.shape) < share)
        return np.where(wrong, to + 0.15 * (3 - to) / 2 * rng.random(y.shape), judge(rng, z, y))

    return scores


def flagging(bounds: Bounds, flags: float, found: float = 0.8) -> Judge:
    """Nearly the best to all good items but for a share that it takes for failures; it finds most bad ones."""
    low, high = bounds
    top, sd = (4.85, 0.06) if bounds == FIVE else (0.96, 0.015)

    def scores(rng: np.random.Generator, _: Floats, y: Floats) -> Floats:
        failed = rng.random(y.shape) < np.where(y == low, found, flags)
        bad = low + (high - low) * (0.05 + 0.02 * rng.normal(size=y.shape))
        return np.clip(np.where(failed, bad, top + sd * rng.normal(size=y.shape)), low, high)

    return scores


def saying(sensitivity: float, false: float) -> Judge:
    """Says yes or no."""
    return lambda rng, _, y: (rng.random(y.shape) < np.where(y == 1, sensitivity, false)).astype(float)


def chance(p: float, rho: float) -> Judge:
    """A probability of yes, .4 too much of it on the probit scale."""
    cut = special.ndtri(1 - p)

    def scores(rng: np.random.Generator, z: Floats, _: Floats) -> Floats:
        seen = rho * z + np.sqrt(1 - rho**2) * rng.normal(size=z.shape)
        return special.ndtr((rho * seen - cut) / np.sqrt(1 - rho**2) + 0.4)

    return scores


# --- the grid ---------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[float, ...]] = {
    "mean 3.7": (0.05, 0.10, 0.20, 0.40, 0.25),
    "symmetric": (0.10, 0.20, 0.40, 0.20, 0.10),
    "U": (0.35, 0.12, 0.06, 0.12, 0.35),
    "J": (0.02, 0.02, 0.04, 0.12, 0.80),
    "L": (0.80, 0.12, 0.04, 0.02, 0.02),
    "97 % at 5": (0.03, 0.0, 0.0, 0.0, 0.97),
    "90 % at 5": (0.10, 0.0, 0.0, 0.0, 0.90),
    "97 % at 1": (0.97, 0.0, 0.0, 0.0, 0.03),
}
JUDGES = {"poor": (0.7, 0.2), "good": (0.9, 0.05), "excellent": (0.98, 0.01)}  # sensitivity, false positive rate


def bad(share: float, rest: tuple[float, float] = (0.0, 1.0)) -> tuple[float, ...]:
    """A share at 1, the others at 4 and 5."""
    return (share, 0.0, 0.0, (1 - share) * rest[0], (1 - share) * rest[1])


def builds() -> Iterator[Build]:
    """One build, its outputs independent."""
    for name, rho in product(("mean 3.7", "symmetric", "U"), (0.3, 0.6, 0.9)):
        yield Build("ordinary", f"{name}, rho {rho:g}", SHAPES[name], noisy(SHAPES[name], rho))
    yield Build(
        "ordinary", "mean 3.7, rho .6, rounded", SHAPES["mean 3.7"], noisy(SHAPES["mean 3.7"], 0.6, rounded=True)
    )
    for name, rho in product(("mean 3.7", "J"), (-0.5, -0.9)):
        yield Build("anti-correlated", f"{name}, rho {rho:g}", SHAPES[name], noisy(SHAPES[name], rho))
    for name in ("mean 3.7", "J", "97 % at 5"):
        yield Build("constant judge", name, SHAPES[name], constant(4.0))
    yield Build("constant judge", "90 % yes", (0.1, 0.9), constant(1.0), UNIT)
    for name, rho in product(("J", "L", "97 % at 5", "90 % at 5", "97 % at 1"), (0.3, 0.8)):
        yield Build("skewed", f"{name}, rho {rho:g}", SHAPES[name], noisy(SHAPES[name], rho))
    for p, who in product((0.02, 0.05, 0.2, 0.5, 0.8, 0.95, 0.98), JUDGES):
        yield Build("yes or no", f"{p:.0%} yes, {who}", (1 - p, p), saying(*JUDGES[who]), UNIT)
    for p, rho in product((0.02, 0.1, 0.5, 0.9, 0.98), (0.5, 0.9)):
        yield Build("probability", f"{p:.0%} yes, rho {rho:g}", (1 - p, p), chance(p, rho), UNIT)
    for share, flags in product((0.003, 0.01, 0.02), (0.01, 0.02, 0.04)):
        yield Build("false flags", f"{share:.1%} bad, {flags:.0%} flagged", bad(share), flagging(FIVE, flags))
    for share, flags in product((0.003, 0.02), (0.01, 0.04)):
        name = f"probability: {share:.1%} bad, {flags:.0%} flagged"
        yield Build("false flags", name, (share, 1 - share), flagging(UNIT, flags), UNIT)
    for share, passed, rest in product((0.003, 0.01, 0.03, 0.05), (0.3, 0.6, 1.0), ((0.0, 1.0), (0.4, 0.6))):
        judge = with_errors(copying, 5.0, passed, lambda y: y == 1)
        goods = "4 and 5" if rest[0] else "5"
        yield Build("misses", f"{share:.1%} bad, {passed:.0%} passed, others {goods}", bad(share, rest), judge)
    for name, rho in product(("mean 3.7", "J", "97 % at 5"), (0.7, 1.0)):
        judge = copying if rho == 1 else noisy(SHAPES[name], rho)
        misread = with_errors(judge, 1.0, 0.04, lambda y: y > 0)
        yield Build("misread", f"{name}, rho {rho:g}", SHAPES[name], misread)


def clusters() -> Iterator[Build]:
    """One build, its outputs in groups, labels drawn by groups."""
    for (size, each), alike, name in product(((2, 0), (5, 0), (5, 2)), (0.4, 0.8), ("mean 3.7", "J", "90 % at 5")):
        drawn = f"groups of {size}" + f", {each} labelled" * (each > 0)
        name_ = f"{name}, {drawn}, alike {alike:g}"
        yield Build("clusters", name_, SHAPES[name], noisy(SHAPES[name], 0.6), FIVE, size, alike, each)
    for (size, each), p in product(((2, 0), (5, 0), (5, 2)), (0.1, 0.5, 0.9)):
        drawn = f"groups of {size}" + f", {each} labelled" * (each > 0)
        yield Build("clusters", f"{p:.0%} yes, {drawn}, alike 0.6", (1 - p, p), saying(0.9, 0.1), UNIT, size, 0.6, each)


LOWER: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # labels of the new build and of the baseline
    "mean 3.7": ((0.07, 0.13, 0.22, 0.37, 0.21), SHAPES["mean 3.7"]),
    "J": ((0.04, 0.03, 0.05, 0.13, 0.75), SHAPES["J"]),
    "new failures": ((0.04, 0.0, 0.0, 0.0, 0.96), (0.01, 0.0, 0.0, 0.0, 0.99)),
}


def pairs() -> Iterator[Pair]:
    """Two builds, labels of the same inputs or of different ones."""
    for (name, shares), rho, apart in product(LOWER.items(), (0.3, 0.8), (False, True)):
        sides = [Build("", "", one, noisy(one, rho)) for one in shares]
        yield Pair("unpaired" if apart else "paired", f"{name}, rho {rho:g}", *sides, 0.5, apart=apart)
    first, second = (Build("", "", one, noisy(one, 0.6)) for one in LOWER["mean 3.7"])
    yield Pair("paired", "mean 3.7, rho .6, 70 % same", first, second, 0.5, 0.7)
    yield Pair("paired", "mean 3.7, rho .6, 90 % alike", first, second, 0.9)
    for apart in (False, True):
        family = "unpaired" if apart else "paired"
        sides = [Build("", "", bad(share), flagging(FIVE, flags)) for share, flags in ((0.02, 0.04), (0.003, 0.01))]
        yield Pair(family, "false flags", *sides, 0.5, apart=apart)
        for passed in (0.5, 1.0):
            judge = with_errors(copying, 5.0, passed, lambda y: y == 1)
            sides = [Build("", "", bad(share, (0.3, 0.7)), judge) for share in (0.05, 0.01)]
            yield Pair(family, f"misses, {passed:.0%} passed", *sides, 0.5, apart=apart)
        sides = [Build("", "", (1 - p, p), saying(0.9, 0.1), UNIT) for p in (0.85, 0.9)]
        yield Pair(family, "85 against 90 % yes", *sides, 0.5, apart=apart)
        sides = [Build("", "", (1 - p, p), saying(0.9, 0.1), UNIT) for p in (0.95, 0.98)]
        yield Pair(family, "95 against 98 % yes", *sides, 0.5, apart=apart)
