"""What labels, items, prompts and draws cost and what half-width they give; the cheapest, or the best for a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.planning.half_width import HalfWidth
from calib.analysis.planning.labels import LEAST, not_negative, positive
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import short

_PROMPTS, _DRAWS = 32, 128  # the most that are looked at
_AXIS = 9  # values of each axis that a round of the search looks at

Numbers = tuple[int, int, int, float]  # labels, items, prompts, draws


class JudgeNoise(NamedTuple):
    """A judge's correlation with people where everything is averaged, and the parts of the variance of one reply."""

    rho_inf: float
    item: float
    item_prompt: float
    draw: float
    uncapped: float  # `rho_inf` before it was capped

    def variance(self, prompts: Any, draws: Any) -> Any:
        return self.item + self.item_prompt / prompts + self.draw / (prompts * draws)


def judge_noise(rho: float, item: float, item_prompt: float, draw: float, shop: Shop) -> JudgeNoise:
    """Taken to endless prompts and draws by the reliability of the pilot's own score."""
    judge = JudgeNoise(1.0, item, item_prompt, draw, 1.0)
    rho_inf = max(rho, 0.0) * math.sqrt(judge.variance(*shop.now[2:]) / item)
    return judge._replace(rho_inf=min(rho_inf, 1.0), uncapped=rho_inf)


@dataclass(frozen=True, slots=True)
class Shop:
    """Prices, and what is paid for."""

    label: float
    judge: float
    item: float
    prompt: float
    now: Numbers
    most: int  # items that there are
    unknown: tuple[str, ...] = ()  # of "prompts" and "draws", what more of them would do

    def cost(self, n: Any, items: Any, prompts: Any, draws: Any) -> Any:
        """Of what is not there yet."""
        n0, items0, prompts0, draws0 = self.now
        exact = math.isinf(draws0)
        each = prompts * (1 if exact else draws)
        kept = np.minimum(prompts, prompts0) * (1 if exact else np.minimum(draws, draws0))
        replies = items * each - np.minimum(items, items0) * kept
        new = self.label * (n - n0) + self.item * np.maximum(items - items0, 0)
        return new + self.prompt * np.maximum(prompts - prompts0, 0) + self.judge * replies


def shop_of(prices: Mapping[str, float], now: Numbers, max_items: int | None) -> Shop:
    names = ("label", "judge", "item", "prompt")
    for name, price in prices.items():
        check.choice(name, "prices", names)
        if isinstance(price, bool) or not isinstance(price, Real):
            raise ArgumentError("prices", "must be numbers", f"got {price!r} for {name!r}")
        not_negative(price, "prices", f" for {name!r}")
    for name in names[:2]:
        if name not in prices:
            has = f"has {', '.join(map(repr, prices)) or 'none'}"
            raise ArgumentError("prices", f"must have one of a {name!r}", has)
    positive(prices["label"], "prices['label']")
    label, judge, item, prompt = (float(prices.get(name, 0)) for name in names)
    n, items, prompts, draws = now
    check.whole(n, "n_gold", least=4 if n else 0)
    check.whole(items, "n_items", least=n)
    check.whole(prompts, "prompts", least=1)
    reads = draws if draws == math.inf else check.whole(draws, "draws", least=1)  # type: ignore[arg-type]
    if max_items is None and not judge + item:
        raise ArgumentError("max_items", "must be given where an item and its replies cost nothing", "came without")
    # items without end, where nothing else sets a limit
    most = 10**8 if max_items is None else check.whole(max_items, "max_items", least=max(items, LEAST))
    return Shop(label, judge, item, prompt, (n, items, prompts, reads), most)


@dataclass(frozen=True, slots=True)
class Purchase:
    """What labels, items, prompts and draws of any number would give, and which are best."""

    width: HalfWidth
    judge: JudgeNoise
    shop: Shop

    def rho(self, now: tuple[float, ...]) -> float:
        return float(self._rho(*now[2:])) if now[2] else 0.0

    def _rho(self, prompts: Any, draws: Any) -> Any:
        return self.judge.rho_inf * np.sqrt(self.judge.item / self.judge.variance(prompts, draws))

    def half(self, now: tuple[float, ...]) -> float:
        n, items, prompts, _ = now
        return float(self.width.alone(n) if not prompts or items == n else self.halves(*now))

    def halves(self, n: Any, items: Any, prompts: Any, draws: Any) -> Floats:
        spread = np.sqrt(self.judge.variance(prompts, draws))
        single = np.asarray(prompts * draws == 1)
        return self.width.judged(n, items, self._rho(prompts, draws), spread, single=single)

    def best(self, half_width: float | None, budget: float | None) -> Numbers:
        """The best size with the judge, or without."""
        n0, most = max(self.shop.now[0], LEAST), self.shop.most
        if half_width is not None:
            alone = int(_first_where(lambda n: self.width.alone(n) <= half_width, n0, most))
        else:
            alone = int(_first_where(lambda n: self.shop.cost(n, n, 0, 0) > budget, n0, most + 1)) - 1
            if alone < n0:
                raise ArgumentError("budget", f"must pay for {n0} labels at least", f"got {budget:g}")
        key, judged = _best_numbers(partial(self._worth_of, half_width, budget), n0, alone, self.shop)
        cost, half = float(self.shop.cost(alone, alone, 0, 0)), self.half((alone, alone, 0, 0))
        if half_width is None:
            return judged if key <= (half, cost) else (alone, alone, 0, 0)
        if half <= half_width:
            return judged if key <= (cost, half) else (alone, alone, 0, 0)
        if key[0] == math.inf:
            rule = f"must be {short(half)} or more, which labels for all {most} items reach"
            raise ArgumentError("half_width", rule, f"got {half_width:g}: more items are needed")
        return judged

    def _worth_of(
        self, half_width: float | None, budget: float | None, n: Floats, prompts: Floats, draws: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Items for each of these labels, prompts and draws, and what comes first and second in the choice."""
        (_, items0, prompts0, draws0), most = self.shop.now, self.shop.most
        if half_width is None:
            items = _first_where(lambda m: self.shop.cost(n, m, prompts, draws) > budget, n, most + 1) - 1
            half = np.where(items > n, self.halves(n, np.maximum(items, n), prompts, draws), np.inf)
            return items, half, np.asarray(self.shop.cost(n, items, prompts, draws))
        items = _first_where(lambda m: self.halves(n, m, prompts, draws) <= half_width, n, most)
        # the pilot's items have a score already
        items = np.where((prompts <= prompts0) & (draws <= draws0), np.maximum(items, items0), items)
        half = self.halves(n, items, prompts, draws)
        return items, np.where(half <= half_width, np.round(self.shop.cost(n, items, prompts, draws), 9), np.inf), half


def _first_where(holds: Callable[[Any], Any], low: ArrayLike, high: int) -> Floats:
    """The first whole number at which it holds, by halving; `high` if it never does."""
    start = np.asarray(low, dtype=float)
    end = np.full_like(start, high)
    while np.any(start < end):
        middle = np.floor((start + end) / 2)
        yes = holds(middle)
        start, end = np.where(yes, start, np.minimum(middle + 1, end)), np.where(yes, middle, end)
    return end


_WorthOf = Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]


def _best_numbers(worth_of: _WorthOf, low: int, high: int, shop: Shop) -> tuple[tuple[float, float], Numbers]:
    """Labels, prompts and draws on a coarse grid, then finer and finer around the best of it."""
    now = {"prompts": shop.now[2], "draws": shop.now[3]}
    ends = {"prompts": (_PROMPTS, _AXIS + 2), "draws": (_DRAWS, _AXIS + 4)}
    axes = [np.unique(np.geomspace(low, high, 2 * _AXIS).round())]
    for what, (most, number) in ends.items():
        fixed = what in shop.unknown or math.isinf(now[what])
        axes.append(np.unique(np.r_[np.geomspace(1, most, number).round()[: 0 if fixed else None], now[what]]))
    mesh = _points(axes)
    _, first, second = worth_of(*mesh)
    order = np.lexsort((second, first))
    # the best of each pair of prompts and draws: what is paid for makes kinks, and so more than one valley
    _, leading = np.unique(np.stack(mesh[1:])[:, order], axis=1, return_index=True)
    starts = [tuple(float(side[at]) for side in mesh) for at in order[np.sort(leading)[:5]]]
    return min(_refined(worth_of, axes, start) for start in starts)


def _refined(worth_of: _WorthOf, axes: list[Floats], start: tuple[float, ...]) -> tuple[tuple[float, float], Numbers]:
    best, before = start, None
    while best != before or any(np.diff(axis).max(initial=0) > 1 for axis in axes):
        axes, before = [_neighbours(axis, value) for axis, value in zip(axes, best, strict=True)], best
        mesh = _points(axes)
        items, first, second = worth_of(*mesh)
        at = int(np.lexsort((second, first))[0])
        best = tuple(float(side[at]) for side in mesh)
    n, prompts, draws = best
    numbers = (int(n), int(items[at]), int(prompts), draws if math.isinf(draws) else int(draws))
    return (float(first[at]), float(second[at])), numbers


def _points(axes: list[Floats]) -> list[Floats]:
    return [side.ravel() for side in np.meshgrid(*axes, indexing="ij")]


def _neighbours(axis: Floats, value: float) -> Floats:
    """Whole numbers between the neighbours of a value."""
    if math.isinf(value):
        return axis
    at = int(np.searchsorted(axis, value))
    low, high = axis[max(at - 1, 0)], axis[min(at + 1, len(axis) - 1)]
    return np.unique(np.linspace(low, high, _AXIS).round())
