"""What to buy next for a mean that labels correct: labels, items, prompts or draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.means.guards import bounds_of
from calib.analysis.planning.half_width import HalfWidth, half_width_on
from calib.analysis.planning.labels import LEAST, check_components, checked_rho, not_negative, pilot_warning, positive
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Result, short

_RESOURCES = ("labels", "items", "prompts", "draws")
_PRICES = ("label", "judge", "item", "prompt")
_WASTE = 0.02  # share of the half-width: more of what cannot narrow it by this is a waste
_MOST_PROMPTS, _MOST_DRAWS = 32, 128
_ENDLESS = 10**12  # items, where nobody says how many there are
_LABELS, _LEADING = 18, 5  # numbers of labels that a round of the search looks at; designs that it refines

Numbers = tuple[int, int, int, float]  # labels, items, prompts, draws


class StudySize(NamedTuple):
    """The size of a study, and what it gives."""

    n_labels: int
    n_items: int
    prompts: int  # 0: no judge
    draws: float  # under each prompt; infinite: exact token probabilities
    rho: float  # correlation of this score with labels
    half_width: float
    cost: float  # what is still to be paid

    def __str__(self) -> str:
        if not self.prompts:
            return f"{self.n_labels} labels and no judge"
        read = "exact probabilities" if math.isinf(self.draws) else f"{self.draws:g} draw{'s' * (self.draws != 1)}"
        inputs = f"{self.n_labels} labels, {self.n_items} items"
        return f"{inputs}, {self.prompts} prompt{'s' * (self.prompts != 1)} x {read}"


class Step(NamedTuple):
    """A little more of one resource than there is now."""

    what: str
    more: int
    cost: float
    narrowing: float  # share by which the half-width falls
    per_money: float  # that share for one unit of money
    limit: float  # the share if there were no end to it
    waste: bool  # whether even that is below .02


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPlan(Result):
    """What to buy next, and the best size of a study for the money.

    Attributes
    ----------
    plan, present : StudySize
        The best size, and the pilot as it is.
    reached : bool
        Whether `plan` reaches the target; where nothing does, `plan` comes nearest to it.
    steps : tuple of Step
        A little more of each, the best for its money first; none without a pilot.
    next, advice : str
        What the first step buys: "labels", "items", "prompts", "draws", or "nothing" if there is none that helps; the
        same in words, with what would be a waste, and what cannot be reached.
    rho, rho_inf : float
        Correlation with labels in the pilot, and with endless prompts and draws.
    confidence_level : float
    target : str
        "half_width" or "budget".
    warnings : tuple of str
        ``capped``, ``no_correlation``, ``pilot``, ``one_prompt``, ``one_draw``.
    """

    plan: StudySize
    present: StudySize
    reached: bool
    steps: tuple[Step, ...]
    next: str
    advice: str
    rho: float
    rho_inf: float
    confidence_level: float
    target: str
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        now, plan = (dict(zip(_RESOURCES, size, strict=False)) for size in (self.present, self.plan))
        nan = math.nan
        return [
            {"what": step.what, "now": now[step.what], "plan": plan[step.what], "step": step.more}
            | {"step_cost": step.cost, "narrowing": step.narrowing, "per_money": step.per_money}
            | {"limit": step.limit, "waste": step.waste, "reached": self.reached}
            for step in self.steps or [Step(what, 0, nan, nan, nan, nan, waste=False) for what in _RESOURCES]
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"budget-plan": True, "for": self.target, "rho-inf": self.rho_inf}
        return terms | {"cl": self.confidence_level, "labels": self.present.n_labels, "n": self.present.n_items}

    def __str__(self) -> str:
        more = self.plan.n_items - self.present.n_items if self.plan.prompts else 0
        new = f" ({more} items new)" if more > 0 and self.present.n_items else ""
        # of a score that is taken as it is, nothing is known about its prompts and draws
        size = str(self.plan)
        if self.rho_inf == max(self.rho, 0.0):
            size = size.removesuffix(", 1 prompt x 1 draw").removesuffix(", 1 prompt x exact probabilities")
        now = f" instead of {short(self.present.half_width)}" if self.present.n_labels else ""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{size}{new} for {self.plan.cost:g}: +/- {short(self.plan.half_width)}{now}{advice}"


def budget_plan(
    *,
    rho: float,
    prices: Mapping[str, float],
    sd: float = 1.0,
    item: float = 1.0,
    item_prompt: float | None = None,
    draw: float | None = None,
    n_labels: int = 0,
    n_items: int = 0,
    prompts: int = 1,
    draws: float = 1,
    half_width: float | None = None,
    budget: float | None = None,
    max_items: int | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    mean: float | None = None,
    same_scale: bool = True,
    confidence_level: float = 0.95,
) -> BudgetPlan:
    r"""The cheapest labels, items, prompts and draws for an interval, or the best for a budget.

    The pilot's correlation is taken to endless prompts and draws by the reliability of its own score, and from there to
    any other size by `judge_correlation`. The half-width is what `ppi_mean` (without a judge, `mean_interval`) gives
    on the average at its default, as in `labels_needed`: with :math:`\rho = \rho(P, K)`, n of M items labelled,

    .. math:: V = \frac{\sigma^2 (1 - \rho^2)}{n} \Big(1 + \frac{1 - n/M}{n - 3} + h_n\Big)
                  + \frac{\sigma^2 \rho^2}{M}, \qquad
              h_n = \frac{.85 + .75 \sqrt{1 - n/M}}{n - 2.5}

    times t at Satterthwaite's degrees of freedom; on a scale with ends it is the width of Gaffke's interval for normal
    scores that are cut to the scale. What the pilot has is paid for. The search is over whole numbers.

    Parameters
    ----------
    rho : float
        Pearson correlation of labels and the pilot's score, averaged over its prompts and draws.
    prices : mapping
        Price of a "label" and of one "judge" reply (each item needs prompts times draws); of an "item" itself and of
        writing a "prompt", where that costs anything.
    sd : float, default 1
        Standard deviation of the labels; with 1 half-widths are in standard deviations.
    item, item_prompt, draw : float or None
        Variance components of the judge's replies, as `g_study` gives them. A shared effect of the prompt cancels. None
        for what the pilot cannot tell: `item_prompt` after one prompt, `draw` after one draw under each. Nothing is
        then said about more of these, and their noise counts as the items' own. Both None: the score as it is.
    n_labels, n_items, prompts, draws : int
        The pilot: labels, items with a judge score (labelled ones included), prompts and draws under each;
        ``draws=inf`` for exact token probabilities. Default: nothing is there yet, and `rho` is taken as it is.
    half_width, budget : float
        One of them: the wanted half of the interval, in score points, the cheapest way there; or the narrowest interval
        that this much more money buys, which must pay for the ten labels of a first interval.
    max_items : int, optional
        Items that there are; needed where an item and its replies cost nothing. Default: a million million.
    bounds, step, same_scale
        As for `ppi_mean`, whose rule depends on them.
    mean : float, optional
        Of the labels; needed with `bounds`.
    confidence_level : float, default 0.95

    Examples
    --------
    >>> pilot = {"rho": 0.6, "sd": 1.0, "item": 0.5, "item_prompt": 0.2, "draw": 0.3, "n_labels": 40, "n_items": 400}
    >>> plan = budget_plan(**pilot, prompts=1, draws=1, prices={"label": 2, "judge": 0.01}, budget=200)
    >>> print(plan)
    118 labels, 800 items, 6 prompts x 1 draw (400 items new) for 200: +/- 0.1258 instead of 0.2686; next
    prompts: 1 more for 4 narrow it by 8.6 %
    """
    confidence, scale = check.probability(confidence_level, "confidence_level"), bounds_of(bounds, step)
    if (half_width is None) == (budget is None):
        raise ArgumentError("half_width", "or {0} must be given, and only one of them", mentions=("budget",))
    wanted = positive(half_width or budget or 0.0, "half_width" if budget is None else "budget")
    unknown = tuple(name for name, value in (("prompts", item_prompt), ("draws", draw)) if value is None)
    item_prompt, draw_noise = item_prompt or 0.0, draw or 0.0
    check_components(item, item_prompt, draw_noise)
    price_of = _checked_prices(prices)
    check.whole(n_labels, "n_labels", least=4 if n_labels else 0)
    check.whole(n_items, "n_items", least=n_labels)
    check.whole(prompts, "prompts", least=1)
    draws = draws if draws == math.inf else check.whole(draws, "draws", least=1)  # type: ignore[arg-type]
    if max_items is None and not price_of["judge"] + price_of["item"]:
        raise ArgumentError("max_items", "must be given where an item and its replies cost nothing", "came without")
    # items without end, where nothing else sets a limit
    most = _ENDLESS if max_items is None else check.whole(max_items, "max_items", least=max(n_items, LEAST))
    if max(most, n_items) > _ENDLESS:
        raise ArgumentError("max_items", f"must be at most {_ENDLESS}", f"got {max(most, n_items)}")
    if scale is not None and (mean is None or not scale[0] <= mean <= scale[1]):
        raise ArgumentError("mean", "must be given with {0} and lie within them", f"got {mean!r}", mentions=("bounds",))
    width = half_width_on(scale, step, mean, positive(sd, "sd"), confidence, same_scale=same_scale)

    noise = item + item_prompt / prompts + draw_noise / (prompts * draws)
    rho_inf, now = max(checked_rho(rho), 0.0) * math.sqrt(noise / item), (n_labels, n_items, prompts, draws)
    parts = min(rho_inf, 1.0), item, item_prompt, draw_noise
    studies = _Studies(width, *parts, price_of, now, most, unknown, half_width, budget or math.inf)
    steps, best = _steps(studies) if n_labels else (), studies.best()
    texts = _warnings(rho, rho_inf, unknown) + (pilot_warning(n_labels, rho, confidence) if n_labels else ())
    buy = next((step.what for step in steps if step.narrowing > 0 and not step.waste), "nothing")
    reached = budget is not None or studies.half(best) <= wanted * (1 + 1e-9)
    return BudgetPlan(
        plan=studies.size(best), present=studies.size(now), reached=reached, steps=steps, next=buy, rho=float(rho),
        rho_inf=studies.rho_inf, advice=_advice(studies, best, None if reached else wanted, steps, buy),
        confidence_level=confidence, target="budget" if half_width is None else "half_width",
        warnings=check.warn_all(texts),
    )  # fmt: skip


def _checked_prices(prices: Mapping[str, float]) -> dict[str, float]:
    for name, price in prices.items():
        check.choice(name, "prices", _PRICES)
        if isinstance(price, bool) or not isinstance(price, Real):
            raise ArgumentError("prices", "must be numbers", f"got {price!r} for {name!r}")
        not_negative(price, "prices", f" for {name!r}")
    for name in _PRICES[:2]:
        if name not in prices:
            has = f"has {', '.join(map(repr, prices)) or 'none'}"
            raise ArgumentError("prices", f"must have one of a {name!r}", has)
    positive(prices["label"], "prices['label']")
    return {name: float(prices.get(name, 0)) for name in _PRICES}


# --- what a study costs and gives -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Studies:
    """What labels, items, prompts and draws of any number would cost and give, and which are best."""

    width: HalfWidth
    rho_inf: float
    item: float
    item_prompt: float
    draw: float
    price_of: Mapping[str, float]
    now: Numbers
    most: int  # items that there are
    unknown: tuple[str, ...]  # of "prompts" and "draws", what more of them would do
    half_width: float | None  # what is wanted: this, or the narrowest for the budget
    budget: float

    def cost(self, n: Any, items: Any, prompts: Any, draws: Any) -> Any:
        """The price of what is not there yet."""
        n0, items0, prompts0, draws0 = self.now
        exact, price = math.isinf(draws0), self.price_of
        each = prompts * (1 if exact else draws)
        kept = np.minimum(prompts, prompts0) * (1 if exact else np.minimum(draws, draws0))
        replies = items * each - np.minimum(items, items0) * kept
        new = price["label"] * (n - n0) + price["item"] * np.maximum(items - items0, 0)
        return new + price["prompt"] * np.maximum(prompts - prompts0, 0) + price["judge"] * replies

    def rho_and_spread(self, prompts: Any, draws: Any) -> tuple[Any, Any]:
        """Correlation with labels of the averaged score, and its standard deviation over items."""
        variance = self.item + self.item_prompt / prompts + self.draw / (prompts * draws)
        return self.rho_inf * np.sqrt(self.item / variance), np.sqrt(variance)

    def halves(self, n: Any, items: Any, prompts: Any, draws: Any) -> Floats:
        rho, spread = self.rho_and_spread(prompts, draws)
        return self.width.judged(n, items, rho, spread, single=np.asarray(prompts * draws == 1))

    def half(self, numbers: tuple[float, ...]) -> float:
        n, items, prompts, _ = numbers
        return float(self.width.alone(n) if not prompts or items == n else self.halves(*numbers))

    def size(self, numbers: Numbers) -> StudySize:
        if not numbers[0]:
            return StudySize(0, numbers[1], 0, 0, 0.0, math.inf, 0.0)
        rho = float(self.rho_and_spread(*numbers[2:])[0]) if numbers[2] else 0.0
        return StudySize(*numbers, rho, self.half(numbers), float(self.cost(*numbers)))

    def best(self) -> Numbers:
        """The best size with the judge, or without; the nearest to a half-width that cannot be reached."""
        n0, wanted = max(self.now[0], LEAST), self.half_width
        if wanted is not None:
            alone = int(_first_where(lambda n: self.width.alone(n) <= wanted, n0, self.most))
        else:
            alone = int(_first_where(lambda n: self.cost(n, n, 0, 0) > self.budget, n0, self.most + 1)) - 1
            if alone < n0:
                rule = f"must pay for {n0} labels at least ({float(self.cost(n0, n0, 0, 0)):g})"
                raise ArgumentError("budget", rule, f"got {self.budget:g}")
        without: Numbers = (alone, alone, 0, 0)
        key_alone = tuple(map(float, self._rank(np.array(self.half(without)), self.cost(*without))))
        # with the judge: labels, prompts and draws on a grid, then labels of the best prompts and draws ever finer
        axes = [np.unique(np.geomspace(n0, alone, _LABELS).round())]
        for what, now, most in (("prompts", self.now[2], _MOST_PROMPTS), ("draws", self.now[3], _MOST_DRAWS)):
            fixed = what in self.unknown or math.isinf(now)
            axes.append(np.unique([now] if fixed else [*range(1, 9), 12, 16, 24, 32, most, now]).astype(float))
        grid = [side.ravel() for side in np.meshgrid(*axes, indexing="ij")]
        _, first, second = self._worth(*grid)
        order = np.lexsort((second, first))
        pairs = dict.fromkeys((float(grid[1][at]), float(grid[2][at])) for at in order)  # the best first
        ranked = []
        for prompts, draws in list(pairs)[:_LEADING]:
            labels = axes[0]
            while True:
                items, first, second = self._worth(labels, *(np.full(len(labels), each) for each in (prompts, draws)))
                at = int(np.lexsort((second, first))[0])
                near = labels[max(at - 1, 0)], labels[min(at + 1, len(labels) - 1)]
                if near[1] - near[0] <= 2:
                    break
                labels = np.unique(np.linspace(*near, _LABELS).round())
            size = (int(labels[at]), int(items[at]), int(prompts), draws if math.isinf(draws) else int(draws))
            ranked.append(((float(first[at]), float(second[at])), size))
        key, judged = min(ranked)
        return judged if key[0] < math.inf and key < key_alone else without

    def _worth(self, n: Floats, prompts: Floats, draws: Floats) -> tuple[Floats, Floats, Floats]:
        """Items for each of these labels, prompts and draws, and what comes first and second in the choice."""
        (_, items0, prompts0, draws0), most, wanted = self.now, self.most, self.half_width
        if wanted is None:
            items = _first_where(lambda m: self.cost(n, m, prompts, draws) > self.budget, n, most + 1) - 1
            half = np.where(items > n, self.halves(n, np.maximum(items, n), prompts, draws), np.inf)
        else:
            start = np.minimum(n + 1, most)  # where all are labelled the judge adds nothing
            items = _first_where(lambda m: self.halves(n, m, prompts, draws) <= wanted, start, most)
            # the pilot's items have a score already
            items = np.where((prompts <= prompts0) & (draws <= draws0), np.maximum(items, items0), items)
            half = np.where(items > n, self.halves(n, items, prompts, draws), np.inf)
        return items, *self._rank(half, self.cost(n, items, prompts, draws))

    def _rank(self, half: Floats, cost: Any) -> tuple[Floats, Floats]:
        """The narrowest for a budget; the cheapest of those that are narrow enough."""
        if self.half_width is None:
            return half, np.asarray(cost)
        money = np.round(cost / self.price_of["label"], 9)  # whatever the currency
        return np.where(half <= self.half_width, money, np.inf), half


def _first_where(holds: Callable[[Any], Any], low: ArrayLike, high: int) -> Floats:
    """The first whole number at which it holds, by halving; `high` if it never does."""
    start = np.asarray(low, dtype=float)
    end = np.full_like(start, high)
    while np.any(start < end):
        middle = np.floor((start + end) / 2)
        yes = holds(middle)
        start, end = np.where(yes, start, np.minimum(middle + 1, end)), np.where(yes, middle, end)
    return end


# --- what comes next --------------------------------------------------------------------------------------------


def _steps(studies: _Studies) -> tuple[Step, ...]:
    """One more prompt, one more draw, a tenth more labels and items; the best for its money first."""
    n, items, prompts, draws = studies.now
    half, labels, others = studies.half(studies.now), max(1, round(n / 10)), max(1, round(items / 10))
    room = max(items, n + labels)  # where all items are labelled another label brings another item
    steps: dict[str, tuple[int, tuple[float, ...], tuple[float, ...]]] = {
        "labels": (labels, (n + labels, room, prompts, draws), (room, room, prompts, draws)),
        "items": (others, (n, items + others, prompts, draws), (n, studies.most, prompts, draws)),
        "draws": (1, (n, items, prompts, draws + 1), (n, items, prompts, math.inf)),
        "prompts": (1, (n, items, prompts + 1, draws), (n, items, math.inf, draws)),
    }
    ranked = []
    for what, (more, then, end) in steps.items():
        if then[1] <= studies.most and what not in studies.unknown and not (what == "draws" and math.isinf(draws)):
            cost, narrowing = float(studies.cost(*then)), 1 - studies.half(then) / half
            each = narrowing / cost if cost else math.copysign(math.inf, narrowing) if narrowing else 0.0
            limit = 1 - studies.half(end) / half
            ranked.append(Step(what, more, cost, narrowing, each, limit, waste=limit < _WASTE))
    return tuple(sorted(ranked, key=lambda step: (step.per_money, step.narrowing), reverse=True))


def _advice(studies: _Studies, best: Numbers, unreached: float | None, steps: tuple[Step, ...], buy: str) -> str:
    """What cannot be reached, what to buy next, and what would be a waste."""
    texts = []
    if unreached is not None:
        n, most = best[0], studies.most
        what = f"labels for all {most} items give" if n == most else f"{n} labels give"
        half = short(studies.half(best))
        texts.append(f"+/- {short(unreached)} cannot be reached with {most} items: {what} +/- {half}")
    if steps:
        chosen = [step for step in steps if step.what == buy]
        effect = [f": {one.more} more for {one.cost:g} narrow it by {100 * one.narrowing:.2g} %" for one in chosen]
        texts.append("".join([f"next {buy}", *effect]))
    wasted = [f"more {step.what} ({100 * max(step.limit, 0):.2g} % narrower at most)" for step in steps if step.waste]
    texts += [f"not worth buying: {', '.join(wasted)}"] * bool(wasted)
    return "; ".join(texts)


def _warnings(rho: float, uncapped: float, unknown: tuple[str, ...]) -> tuple[str, ...]:
    texts = {
        "one_prompt: from one prompt it is not known what more prompts would do.": unknown == ("prompts",),
        "one_draw: from one draw under each prompt it is not known what more draws would do.": unknown == ("draws",),
        f"capped: with endless prompts and draws the correlation would be {short(uncapped)}, and is taken as 1: "
        "the pilot's is too high by chance, or its replies are more reliable than the components say.": uncapped > 1,
        f"no_correlation: a correlation of {short(rho)} in the pilot is planned with as 0.": rho <= 0,
    }
    return tuple(text for text, holds in texts.items() if holds)
