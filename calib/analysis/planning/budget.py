"""Where the next euro goes: to labels, items, prompts or draws, for one gold-corrected mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scipy import special

from calib.analysis.means.guards import bounds_of
from calib.analysis.planning.half_width import half_width_on
from calib.analysis.planning.judge_correlation import check_components, label_multiplier
from calib.analysis.planning.labels import LEAST, checked_rho, pilot_warning, positive, rho_interval, told
from calib.analysis.planning.purchase import Numbers, Purchase, judge_noise, shop_of
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.result import Interval, Result, short

_THINGS = ("labels", "items", "prompts", "draws")


class StudySize(NamedTuple):
    """Labels, judged items, prompts and draws under each, and what they give.

    `draws` is infinite for exact token probabilities; `prompts` 0 is labels without a judge. `rho`
    is the correlation of this score with people, `effective_n` the labels alone of the same standard
    error. `interval` is where `half_width` lies, for all that so few labels leave open about the
    correlation and the scatter of labels. `cost` is what is still to be paid.
    """

    n_gold: int
    n_items: int
    prompts: int
    draws: float
    rho: float
    effective_n: float
    half_width: float
    interval: Interval
    cost: float

    def __str__(self) -> str:
        if not self.prompts:
            return f"{self.n_gold} labels and no judge"
        read = "exact probabilities" if math.isinf(self.draws) else f"{self.draws:g} draw{'s' * (self.draws != 1)}"
        return f"{self.n_gold} labels, {self.n_items} items, {self.prompts} prompt{'s' * (self.prompts != 1)} x {read}"


class Step(NamedTuple):
    """A little more of one thing than there is now.

    `narrowing` is the share by which the half-width falls, `per_money` that share for one unit of money, `limit` the
    share if there were no end to it; where even that is below .02, more is a `waste`.
    """

    what: str
    more: int
    cost: float
    narrowing: float
    per_money: float
    limit: float
    waste: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPlan(Result):
    """What to buy next, and the best size of a study for the money.

    Attributes
    ----------
    plan, present : StudySize
        The best size, and the pilot as it is.
    steps : tuple of Step
        A little more of each, the best for its money first; none without a pilot.
    next, next_range : str, (str, str)
        What the first step buys: "labels", "items", "prompts", "draws", or "nothing" if there is none that helps;
        the same if the pilot's correlation is at the low or the high end of its interval.
    advice : str
        Both in words, with what would be a waste.
    rho, rho_inf : float
        Correlation with people in the pilot, and with endless prompts and draws.
    rho_interval : Interval
        Of `rho` (Fisher's z); NaN ends without a pilot.
    confidence_level : float
    target : str
        "half_width", "budget" or "effective_n".
    warnings : tuple of str
        ``capped``, ``no_correlation``, ``pilot``, ``one_prompt``, ``one_draw``.
    """

    plan: StudySize
    present: StudySize
    steps: tuple[Step, ...]
    next: str
    next_range: tuple[str, str]
    advice: str
    rho: float
    rho_inf: float
    rho_interval: Interval
    confidence_level: float
    target: str
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        numbers = dict(zip(_THINGS, zip(self.present, self.plan, strict=True), strict=False))
        steps = self.steps or [Step(what, 0, math.nan, math.nan, math.nan, math.nan, waste=False) for what in _THINGS]
        return [
            dict(zip(("what", "now", "plan"), (step.what, *numbers[step.what]), strict=True))
            | {"step": step.more, "step_cost": step.cost, "narrowing": step.narrowing, "per_money": step.per_money}
            | {"limit": step.limit, "waste": step.waste}
            for step in steps
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"budget-plan": True, "for": self.target, "rho-inf": self.rho_inf}
        return terms | {"cl": self.confidence_level, "gold": self.present.n_gold, "n": self.present.n_items}

    def __str__(self) -> str:
        more = self.plan.n_items - self.present.n_items if self.plan.prompts else 0
        new = f" ({more} items new)" if more > 0 and self.present.n_items else ""
        # of a score that is taken as it is, nothing is known about its prompts and draws
        size = str(self.plan)
        if self.rho_inf == max(self.rho, 0.0):
            size = size.removesuffix(", 1 prompt x 1 draw").removesuffix(", 1 prompt x exact probabilities")
        now = f" instead of {short(self.present.half_width)}; {self.advice}" if self.present.n_gold else ""
        return f"{size}{new} for {self.plan.cost:g}: +/- {short(self.plan.half_width)}{now}"


def budget_plan(
    *,
    rho: float,
    prices: Mapping[str, float],
    sd: float = 1.0,
    item: float = 1.0,
    item_prompt: float | None = None,
    draw: float | None = None,
    n_gold: int = 0,
    n_items: int = 0,
    prompts: int = 1,
    draws: float = 1,
    half_width: float | None = None,
    budget: float | None = None,
    effective_n: int | None = None,
    max_items: int | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    mean: float | None = None,
    same_scale: bool = True,
    confidence_level: float = 0.95,
) -> BudgetPlan:
    r"""The cheapest labels, items, prompts and draws for an interval, or the best for a budget.

    From a pilot: its correlation is taken to endless prompts and draws by the reliability of its
    own score, and from there to any other size by `judge_correlation`. The half-width is what
    `ppi_mean` (or, without a judge, `mean_interval`) gives on the average at its default: with
    :math:`\rho = \rho(P, K)`, n of M items labelled and the slope shrunk as there,

    .. math:: V = \frac{\sigma^2 (1 - \rho^2)}{n} \Big(1 + \frac{1 - n/M}{n - 3} + h_n\Big)
                  + \frac{\sigma^2 \rho^2}{M}, \qquad
              h_n = \frac{.85 + .75 \sqrt{1 - n/M}}{n - 2.5}

    (all but :math:`h_n` is in `labels_needed`; that is the larger of two variances, as measured for
    normal scores), times t at Satterthwaite's degrees of freedom. On a scale with ends it is Gaffke's interval of
    `ppi_mean` for ideal scores: normal ones with this mean, spread and correlation, cut at the ends and, where a
    `step` is known, labels and single replies rounded to it. The unseen label's share of all is Beta(w, n), what is
    left nearly normal; its weight w and place are those that ideal scores give on the average. What the pilot has is
    paid for:
    the cost is that of further labels, items, prompts, and of the replies that are not there yet.

    Parameters
    ----------
    rho : float
        Pearson correlation of labels and the pilot's score, averaged over its prompts and draws.
    prices : mapping
        Price of a "label" and of one "judge" reply (each item needs prompts times draws); of
        an "item" itself and of writing a "prompt", where that costs anything.
    sd : float, default 1
        Standard deviation of the labels; with 1 half-widths are in standard deviations.
    item, item_prompt, draw : float or None
        Variance components of the judge's replies, as `g_study` gives them. A shared effect of
        the prompt cancels and is not uncapped for. None for what the pilot cannot know: `item_prompt`
        after one prompt, `draw` after one draw under each. Nothing is then said about more of
        these, and their noise counts as the items' own. Both None: the score as it is.
    n_gold, n_items, prompts, draws : int
        The pilot: labels, items with a judge score (labelled ones included), prompts and draws
        under each. ``draws=inf`` for exact token probabilities, or any score between the steps: one reply each.
        Default: nothing is there yet, and `rho` is taken as known.
    half_width, budget, effective_n : float, float, int
        One of them. Wanted half of the interval, in score points, the cheapest way there; the narrowest interval
        that this much more money buys; the cheapest way to the half-width of so many labels alone.
    max_items : int, optional
        Items that there are; needed where an item and its replies cost nothing.
    bounds, step, same_scale
        As for `ppi_mean`, whose rule depends on them. A `step` as long as the scale says that labels
        and single replies are yes or no.
    mean : float, optional
        Of the labels; needed with `bounds`.
    confidence_level : float, default 0.95
        How often the interval is to hold.

    Returns
    -------
    BudgetPlan

    Raises
    ------
    ValueError
        If not one of `half_width`, `budget` and `effective_n` is given, a price is missing or negative,
        or `max_items` items with a label each do not reach the target.

    Notes
    -----
    If the pilot's numbers are right, the half-width was within 2 % of the mean of `ppi_mean`'s on 30 sizes (20 to
    200 labels, 200 to 5000 items), for normal scores and for scores from 1 to 5; within 7 % where 4 in 10 labels
    lie at one end; for yes or no within 7 %, farthest off where the judge is very good; where it gives
    probabilities within 8 % from 50 labels on, and up to 13 % too narrow with 20. They are not quite right: from
    pilots of 40 labels, 200 items, 3 prompts and 3 draws it was off by 7 % in the middle and by 18 % in one of ten,
    most of that for the standard deviation, which 40 labels tell to 11 %; `interval` held it in 94 %. What was
    bought was all the same within 2 % of the best in nine of ten. About half of all intervals come out wider than
    their mean. Items are taken as independent.

    Examples
    --------
    >>> pilot = {"rho": 0.6, "sd": 1.0, "item": 0.5, "item_prompt": 0.2, "draw": 0.3, "n_gold": 40, "n_items": 400}
    >>> plan = budget_plan(**pilot, prompts=1, draws=1, prices={"label": 2, "judge": 0.01}, budget=200)
    >>> print(plan)
    118 labels, 800 items, 6 prompts x 1 draw (400 items new) for 200: +/- 0.1258 instead of 0.2686; next
    prompts: 1 more for 4 narrow it by 8.6 %; this depends on the correlation: labels if it is 0.3548,
    prompts if it is 0.768
    >>> [(step.what, round(step.narrowing, 3), round(step.limit, 3)) for step in plan.steps]
    [('prompts', 0.086, 0.288), ('draws', 0.045, 0.112), ('labels', 0.049, 0.634), ('items', 0.002, 0.021)]

    Before there is a pilot, with a correlation from elsewhere:

    >>> print(budget_plan(rho=0.9, prices={"label": 1, "judge": 0.1}, budget=1000))
    607 labels, 3930 items for 1000: +/- 0.04471
    """
    confidence, scale = check.probability(confidence_level, "confidence_level"), bounds_of(bounds, step)
    target = _target(half_width=half_width, budget=budget, effective_n=effective_n)
    unknown = [name for name, value in (("prompts", item_prompt), ("draws", draw)) if value is None]
    item_prompt, draw = item_prompt or 0.0, draw or 0.0
    check_components(item, item_prompt, draw)
    shop = replace(shop_of(prices, (n_gold, n_items, prompts, draws), max_items), unknown=tuple(unknown))
    if scale is not None and (mean is None or not scale[0] <= mean <= scale[1]):
        raise ArgumentError("mean", "must be given with {0} and lie within them", f"got {mean!r}", mentions=("bounds",))
    width = half_width_on(scale, step, mean, positive(sd, "sd"), confidence, same_scale=same_scale)
    if effective_n is not None:
        half_width = float(width.alone(check.whole(effective_n, "effective_n", least=LEAST)))
        if effective_n > shop.most:
            text = f"must be at most {{0}} ({max_items})"
            raise ArgumentError("effective_n", text, f"got {effective_n}", mentions=("max_items",))

    def purchase(sd: float, rho: float) -> Purchase:
        return Purchase(replace(width, sd=sd), judge_noise(rho, item, item_prompt, draw, shop), shop)

    middle, between = purchase(sd, checked_rho(rho)), Interval(math.nan, math.nan)
    steps: tuple[Step, ...] = ()
    other, sides = ("nothing", "nothing"), []
    if n_gold:
        between = rho_interval(rho, n_gold, confidence)
        steps = _steps(middle)
        other = _next_buy(_steps(purchase(sd, between.low))), _next_buy(_steps(purchase(sd, between.high)))
        sides = [[purchase(*end) for end in pair] for pair in _pilot_ends(sd, rho, n_gold, confidence)]

    def size(now: Numbers) -> StudySize:
        n, items, prompts, _ = now
        if not n:
            return StudySize(n, items, 0, 0, float(rho), 0.0, math.inf, between, 0.0)
        worth = n * label_multiplier(middle.rho(now), n_gold=n, n_items=items) if prompts else n
        half, far = middle.half(now), [[end.half(now) for end in pair] for pair in sides]
        ends = Interval(
            max(half - math.hypot(*(half - min(half, *pair) for pair in far)), 0.0),
            half + math.hypot(*(max(half, *pair) - half for pair in far)),
        )
        return StudySize(*now, middle.rho(now), worth, half, ends if sides else between, float(shop.cost(*now)))

    return BudgetPlan(
        plan=size(middle.best(half_width, budget)),
        present=size(shop.now),
        steps=steps,
        next=_next_buy(steps),
        next_range=other,
        advice=_advice(steps, other, between) if n_gold else "",
        rho=float(rho),
        rho_inf=middle.judge.rho_inf,
        rho_interval=between,
        confidence_level=confidence,
        target=target,
        warnings=told(_plan_warnings(rho, middle) + (pilot_warning(n_gold, rho, confidence) if n_gold else ())),
    )


def _steps(purchase: Purchase) -> tuple[Step, ...]:
    """One more prompt, one more draw, a tenth more labels and items; the best for its money first."""
    n, items, prompts, draws = purchase.shop.now
    most, half = purchase.shop.most, purchase.half(purchase.shop.now)
    labels, others = max(1, round(n / 10)), max(1, round(items / 10))
    room = max(items, n + labels)  # where all items are labelled another label brings another item
    steps: dict[str, tuple[int, tuple[float, ...], tuple[float, ...]]] = {
        "labels": (labels, (n + labels, room, prompts, draws), (room, room, prompts, draws)),
        "items": (others, (n, items + others, prompts, draws), (n, most, prompts, draws)),
        "draws": (1, (n, items, prompts, draws + 1), (n, items, prompts, math.inf)),
        "prompts": (1, (n, items, prompts + 1, draws), (n, items, math.inf, draws)),
    }
    ranked = []
    for what, (more, then, end) in steps.items():
        if then[1] <= most and what not in purchase.shop.unknown and not (what == "draws" and math.isinf(draws)):
            cost, narrowing = float(purchase.shop.cost(*then)), 1 - purchase.half(then) / half
            each = narrowing / cost if cost else math.copysign(math.inf, narrowing) if narrowing else 0.0
            limit = 1 - purchase.half(end) / half
            ranked.append(Step(what, more, cost, narrowing, each, limit, waste=limit < 0.02))
    return tuple(sorted(ranked, key=lambda step: (step.per_money, step.narrowing), reverse=True))


def _next_buy(steps: tuple[Step, ...]) -> str:
    return steps[0].what if steps and steps[0].narrowing > 0 else "nothing"


def _advice(steps: tuple[Step, ...], other: tuple[str, str], between: Interval) -> str:
    wasted, text = [step for step in steps if step.waste], f"next {_next_buy(steps)}"
    for first in steps[: _next_buy(steps) != "nothing"]:
        text += f": {first.more} more for {first.cost:g} narrow it by {100 * first.narrowing:.2g} %"
    if set(other) != {_next_buy(steps)}:
        text += f"; this depends on the correlation: {other[0]} if it is {short(between.low)}, "
        text += f"{other[1]} if it is {short(between.high)}"
    if wasted:
        ends = (f"{step.what} ({100 * max(step.limit, 0):.2g} % if endless)" for step in wasted)
        text += f"; a waste: {', '.join(ends)}"
    return text


_FROM_ONE = {
    "prompts": "one_prompt: from one prompt it is not known what more prompts would do.",
    "draws": "one_draw: from one draw under each prompt it is not known what more draws would do.",
}


def _plan_warnings(rho: float, purchase: Purchase) -> tuple[str, ...]:
    judge, texts = purchase.judge, []
    if len(purchase.shop.unknown) == 1:  # of a score that is taken as it is, nothing else was asked
        texts += [_FROM_ONE[what] for what in purchase.shop.unknown]
    if judge.uncapped > 1:
        texts.append(
            f"capped: with endless prompts and draws the correlation would be {short(judge.uncapped)}, and is taken as "
            "1: the pilot's is too high by chance, or its replies are more reliable than the components say."
        )
    if rho <= 0:
        texts.append(f"no_correlation: a correlation of {short(rho)} in the pilot is planned with as 0.")
    return tuple(texts)


def _pilot_ends(sd: float, rho: float, n: int, confidence: float) -> list[list[tuple[float, float]]]:
    """Standard deviation and correlation where the labels' scatter about the judge, or its slope, is at either end.

    Both are independent, so what they do to a half-width can be put together as squares.
    """
    own, left, tail = rho * sd, sd * math.sqrt(1 - rho**2), (1 - confidence) / 2
    scatter = [left * math.sqrt((n - 2) / float(special.chdtri(n - 2, p))) for p in (tail, 1 - tail)]
    reach = float(special.stdtrit(n - 2, 1 - tail)) * left / math.sqrt(n - 1)
    pairs = [[(own, end) for end in scatter], [(own + side * reach, left) for side in (-1, 1)]]
    return [[(math.hypot(*end), end[0] / math.hypot(*end)) for end in pair] for pair in pairs]


def _target(**targets: float | None) -> str:
    """The name of the one that is given."""
    given = {name: value for name, value in targets.items() if value is not None}
    if len(given) != 1:
        others = ("budget", "effective_n")
        raise ArgumentError("half_width", "or {0} or {1} must be given, and only one of them", mentions=others)
    ((name, value),) = given.items()
    positive(value, name)
    return name
