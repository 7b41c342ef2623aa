"""Where the next euro goes: to labels, items, prompts or draws, for one gold-corrected mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.means.guards import bounds_of
from calib.analysis.means.rates import posterior_error
from calib.analysis.means.ridge import Rule
from calib.analysis.planning.labels import LEAST, error_with_judge, fisher, positive
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Interval, Result, short

_MANY = 10**8  # items, where nothing else sets a limit
_PROMPTS, _DRAWS = 32, 128  # the most that are looked at
_AXIS = 9  # values of each axis that a round of the search looks at
_STARTS = 5
_WASTE = 0.02  # what endlessly more has to narrow at least
_PILOT = 30  # labels from which a correlation says something


def judge_correlation(
    rho_inf: ArrayLike, item: float, item_prompt: float, draw: float, *, prompts: ArrayLike, draws: ArrayLike
) -> Any:
    r"""Correlation with people of a judge's score that is averaged over prompts and draws.

    .. math:: \rho(P, K)^2 = \rho_\infty^2 \,
              \frac{\sigma^2_{item}}{\sigma^2_{item} + \sigma^2_{item \times prompt} / P + \sigma^2_{draw} / (P K)}

    What a prompt does to all items alike is not in it: the same prompts score the labelled items
    and the others, so it cancels in a gold-corrected mean.

    `rho_inf` is that of the score over endless prompts and draws. Where one prompt is taken as
    given, its own score over endless draws takes that place: with `item` the variance over items
    under this prompt (that of item and of item by prompt together), `item_prompt` 0 and
    :math:`r = \sigma^2_{draw} / \sigma^2_{item}`, it is :math:`\rho_N^2 = \rho_\infty^2 / (1 + r / N)`.

    Parameters
    ----------
    rho_inf : array_like
        Correlation with people once everything is averaged.
    item, item_prompt, draw : float
        Variance components, as `g_study` gives them.
    prompts, draws : array_like
        Prompts, and draws under each; ``inf`` for exact token probabilities.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If a component is negative, that of items is 0, or there is less than one prompt or draw.

    References
    ----------
    Brennan (2001), Generalizability Theory, for the decision study; Spearman (1904)
    for what error takes from a correlation.

    Examples
    --------
    >>> judge_correlation(0.6, 0.5, 0.2, 0.4, prompts=[1, 4, 1], draws=[1, 1, 4]).round(3)
    array([0.405, 0.526, 0.474])
    """
    _components(item, item_prompt, draw)
    times, reads = (_many(value, name) for value, name in ((prompts, "prompts"), (draws, "draws")))
    found = np.asarray(rho_inf, dtype=float)
    if not np.all(np.abs(found) <= 1):
        raise ArgumentError("rho_inf", "must be between -1 and 1", f"got {rho_inf!r}")
    out = found * np.sqrt(item / (item + item_prompt / times + draw / (times * reads)))
    return float(out) if np.ndim(out) == 0 else out


def label_multiplier(rho: ArrayLike, *, n_gold: int | None = None, n_items: int | None = None) -> Any:
    r"""How many times as far labels go with a judge of this correlation.

    For endless items with a judge's score :math:`1 / (1 - \rho^2)`; with `n_gold` and `n_items`
    at these numbers, the slope that has to be learned from the same labels included (the V of
    `labels_needed`). Times `n_gold` it is the effective sample size.

    Parameters
    ----------
    rho : array_like
        Correlation of judge and labels, such as `judge_correlation` gives.
    n_gold, n_items : int, optional
        Labels, and items with a judge score (labelled ones included).

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If only one of `n_gold` and `n_items` is given, or fewer items than labels.

    Examples
    --------
    >>> round(label_multiplier(0.8), 3), round(label_multiplier(0.8, n_gold=50, n_items=1000), 3)
    (2.778, 2.505)
    """
    found = np.asarray(rho, dtype=float)
    if not np.all(np.abs(found) < 1):
        raise ArgumentError("rho", "must be between -1 and 1", f"got {rho!r}")
    if (n_gold is None) != (n_items is None):
        raise ArgumentError("n_gold", "and {0} must be given together", "only one came", mentions=("n_items",))
    if n_gold is None or n_items is None:
        out = np.asarray(1 / (1 - found**2))
    else:
        check.whole(n_gold, "n_gold", least=4)
        check.whole(n_items, "n_items", least=n_gold)
        out = np.asarray([1 / (n_gold * error_with_judge(n_gold, n_items, r, 1.0) ** 2) for r in found.flat])
        out = out.reshape(found.shape)
    return float(out) if np.ndim(out) == 0 else out


class Design(NamedTuple):
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
        read = "x exact probabilities" if math.isinf(self.draws) else f"x {self.draws:g} draw{'s' * (self.draws != 1)}"
        return f"{self.n_gold} labels, {self.n_items} items, {self.prompts} prompt{'s' * (self.prompts != 1)} {read}"


class Step(NamedTuple):
    """A little more of one thing than there is now.

    `narrowing` is the share by which the half-width falls, `per_money` that share for one unit of
    money, `limit` the share if there were no end to it; where even that is below .02, more is a
    `waste`.
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
    """What to buy next, and the best design for the money.

    Attributes
    ----------
    plan, present : Design
        The best design, and the pilot as it is.
    steps : tuple of Step
        A little more of each, the best for its money first.
    next : str
        What the first step buys: "labels", "items", "prompts", "draws", or "nothing" if none helps.
    next_range : (str, str)
        The same if the pilot's correlation is at the low or the high end of its interval.
    advice : str
        Both in words, with what would be a waste.
    rho, rho_inf : float
        Correlation with people in the pilot, and with endless prompts and draws.
    rho_interval : Interval
        Of `rho` (Fisher's z).
    confidence_level : float
    target : str
        "half_width" or "budget".
    warnings : tuple of str
        ``capped``, ``no_correlation``, ``pilot``, ``one_prompt``, ``one_draw``.
    """

    plan: Design
    present: Design
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
        place = {"labels": 0, "items": 1, "prompts": 2, "draws": 3}
        rows: list[dict[str, Any]] = []
        for step in self.steps:
            now, then = self.present[place[step.what]], self.plan[place[step.what]]
            row: dict[str, Any] = {"what": step.what, "now": now, "plan": then, "step": step.more}
            row |= {"step_cost": step.cost, "narrowing": step.narrowing, "per_money": step.per_money}
            rows.append(row | {"limit": step.limit, "waste": step.waste})
        return rows

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"budget-plan": True, "for": self.target, "rho-inf": self.rho_inf}
        return terms | {"cl": self.confidence_level, "gold": self.present.n_gold, "n": self.present.n_items}

    def __str__(self) -> str:
        more = self.plan.n_items - self.present.n_items if self.plan.prompts else 0
        new = f" ({more} items new)" if more > 0 else ""
        return (
            f"{self.plan}{new} for {self.plan.cost:g}: +/- {short(self.plan.half_width)} instead of "
            f"{short(self.present.half_width)}; {self.advice}"
        )


def budget_plan(
    *,
    rho: float,
    sd: float,
    item: float,
    item_prompt: float | None,
    draw: float | None,
    n_gold: int,
    n_items: int,
    prompts: int,
    draws: float,
    prices: Mapping[str, float],
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

    From a pilot: its correlation is taken to endless prompts and draws by the reliability of its
    own score, and from there to any other design by `judge_correlation`. The half-width is what
    `ppi_mean` (or, without a judge, `mean_interval`) gives on the average at its default: with
    :math:`\rho = \rho(P, K)`, n of M items labelled and the slope shrunk as there,

    .. math:: V = \frac{\sigma^2 (1 - \rho^2)}{n} \Big(1 + \frac{1 - n/M}{n - 3} + h_n\Big)
                  + \frac{\sigma^2 \rho^2}{M}, \qquad
              h_n = \frac{.85 + .75 \sqrt{1 - n/M}}{n - 2.5}

    (all but :math:`h_n` is in `labels_needed`; that is the larger of two variances, as measured for
    normal scores), times t at Satterthwaite's degrees of freedom. What the pilot has is paid for:
    the cost is that of further labels, items, prompts, and of the replies that are not there yet.

    Parameters
    ----------
    rho : float
        Pearson correlation of labels and the pilot's score, averaged over its prompts and draws.
    sd : float
        Standard deviation of the labels.
    item, item_prompt, draw : float or None
        Variance components of the judge's replies, as `g_study` gives them. A shared effect of
        the prompt cancels and is not asked for. None for what the pilot cannot know: `item_prompt`
        after one prompt, `draw` after one draw under each. Nothing is then said about more of
        these, and their noise counts as the items' own.
    n_gold, n_items, prompts, draws : int
        The pilot: labels, items with a judge score (labelled ones included), prompts and draws
        under each. ``draws=inf`` for exact token probabilities: one reply under each prompt.
    prices : mapping
        Price of a "label" and of one "judge" reply (each item needs prompts times draws); of
        an "item" itself and of writing a "prompt", where that costs anything.
    half_width : float, optional
        Wanted half of the interval, in score points: the cheapest way there.
    budget : float, optional
        Instead: the narrowest interval that this much more money buys.
    max_items : int, optional
        Items that there are; needed where an item and its replies cost nothing.
    bounds, step, same_scale
        As for `ppi_mean`, whose rule depends on them. A `step` as long as the scale says that labels
        are yes or no; `rho` is then that of the judge's yes or no.
    mean : float, optional
        Of the labels; needed with `bounds`.
    confidence_level : float, default 0.95

    Returns
    -------
    BudgetPlan

    Raises
    ------
    ValueError
        If both or neither of `half_width` and `budget` are given, a price is missing or negative,
        or `max_items` items with a label each do not reach the target.

    Notes
    -----
    If the pilot's numbers are right, the half-width was within 1.5 % of the mean of `ppi_mean`'s on 30
    designs (20 to 200 labels, 200 to 5000 items), for normal scores and for scores from 1 to 5; for
    yes or no within 7 %, farthest off where the judge is very good. They are not quite right: from
    pilots of 40 labels, 200 items, 3 prompts and 3 draws it was off by 7 % in the middle and by 18 % in
    one of ten, most of that for the standard deviation, which 40 labels tell to 11 %; `interval`
    held it in 94 %. What was bought was all the same within 2 % of the best in nine of ten. About half of
    all intervals come out wider than their mean. Items are taken as independent.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453, and Mani et al. (2025),
    arXiv:2505.20178, for the error with a judge; Brennan (2001) for `judge_correlation`.

    Examples
    --------
    >>> pilot = {"rho": 0.6, "sd": 1.0, "item": 0.5, "item_prompt": 0.2, "draw": 0.3, "n_gold": 40, "n_items": 400}
    >>> found = budget_plan(**pilot, prompts=1, draws=1, prices={"label": 2, "judge": 0.01}, budget=200)
    >>> print(found)
    118 labels, 800 items, 6 prompts x 1 draw (400 items new) for 200: +/- 0.1258 instead of 0.2686; next
    prompts: 1 more for 4 narrow it by 8.6 %; this depends on the correlation: labels if it is 0.3548,
    prompts if it is 0.768
    >>> [(step.what, round(step.narrowing, 3), round(step.limit, 3)) for step in found.steps]
    [('prompts', 0.086, 0.288), ('draws', 0.045, 0.112), ('labels', 0.049, 0.634), ('items', 0.002, 0.021)]
    """
    level, scale = check.probability(confidence_level, "confidence_level"), bounds_of(bounds, step)
    _target(half_width, budget)
    unknown = [name for name, value in (("prompts", item_prompt), ("draws", draw)) if value is None]
    item_prompt, draw = item_prompt or 0.0, draw or 0.0
    _components(item, item_prompt, draw)
    shop = replace(_shop(prices, (n_gold, n_items, prompts, draws), max_items), unknown=tuple(unknown))
    rule = Rule.on(scale, float(step or 0), same_scale=same_scale)
    width = _Width(positive(sd, "sd"), level, rule, _middle(scale, mean))
    between = _fisher(rho, n_gold, level)

    def task(sd: float, rho: float) -> _Task:
        return _Task(replace(width, sd=sd), _judge(rho, item, item_prompt, draw, shop), shop)

    middle, sides = task(sd, rho), [[task(*end) for end in pair] for pair in _ends(sd, rho, n_gold, level)]
    steps = _steps(middle)
    other = _next(_steps(task(sd, between.low))), _next(_steps(task(sd, between.high)))

    def design(now: Numbers) -> Design:
        n, items, prompts, _ = now
        worth = n * label_multiplier(middle.rho(now), n_gold=n, n_items=items) if prompts else n
        half, far = middle.half(now), [[end.half(now) for end in pair] for pair in sides]
        ends = Interval(
            max(half - math.hypot(*(half - min(half, *pair) for pair in far)), 0.0),
            half + math.hypot(*(max(half, *pair) - half for pair in far)),
        )
        return Design(*now, middle.rho(now), worth, half, ends, float(shop.cost(*now)))

    return BudgetPlan(
        plan=design(middle.best(half_width, budget)),
        present=design(shop.now),
        steps=steps,
        next=_next(steps),
        next_range=other,
        advice=_advice(steps, other, between),
        rho=float(rho),
        rho_inf=middle.judge.rho_inf,
        rho_interval=between,
        confidence_level=level,
        target="budget" if half_width is None else "half_width",
        warnings=_warned(rho, n_gold, between, middle),
    )


# --- the half-width of a design ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Width:
    """What `ppi_mean` gives on the average at its default, for normal labels and judge scores."""

    sd: float
    level: float
    rule: Rule
    mean: float

    def judged(self, n: Floats, items: Floats, rho: Floats, spread: Floats) -> Floats:
        """With n of the items labelled; `spread` is the standard deviation of the judge's scores."""
        if self._yes_or_no:
            return self._counted(n, items, rho)
        rest, pull = 1 - n / items, self.rule.prior / (n - 1 + self.rule.prior)
        left, own = self.sd**2 * (1 - rho**2), rho * self.sd
        off = self.rule.slope * spread - own  # by what the slope believed in misses, per sd of the judge
        squares = (n - 2) * left + pull**2 * (off**2 * (n - 1) + left)
        learned = (1 - pull) ** 2 / (n - 3)  # what the slope costs that the labels have to show
        judge = ((own + pull * off) ** 2 + learned * left) / items
        robust = (0.85 + 0.75 * np.sqrt(rest)) / (n - 2.5)
        return self._half(n, squares, 2 - pull, 1 + learned * rest, robust, judge, items)

    def alone(self, n: ArrayLike) -> Floats:
        labels = np.asarray(n, dtype=float)
        if self._yes_or_no:
            return np.asarray(special.ndtri((1 + self.level) / 2) * self.sd / np.sqrt(labels + 2.5))
        return self._half(labels, (labels - 1) * self.sd**2, 1.0, 1.0, 0.0, 0.0, labels + 1)

    @property
    def _yes_or_no(self) -> bool:
        return self.rule.bounds is not None and self.rule.step == self.rule.bounds[1] - self.rule.bounds[0]

    def _counted(self, n: Floats, items: Floats, rho: Floats) -> Floats:
        """From Jeffreys' posterior of both rates, for a judge that says yes as often as people do."""
        low, high = self.rule.bounds or (0.0, 1.0)
        share = (self.mean - low) / (high - low)
        yes, no = n * share, n * (1 - share)
        agreed = yes * (share + rho * (1 - share)), no * share * (1 - rho)
        rest = items - n
        error = posterior_error(agreed[0], yes, agreed[1], no, rest * share, rest * (1 - share), finite=False)
        return np.asarray((high - low) * special.ndtri((1 + self.level) / 2) * error * (1 - 1 / (4 * n)))

    def _half(self, n: Floats, squares: Floats, p: Any, slope: Any, robust: Any, judge: Any, items: Floats) -> Floats:
        # of normal errors n 2 / pi count as having shown how far off they are (Kish)
        unseen = self.rule.unseen(np.asarray(self.mean), n * 2 / math.pi)
        one = np.where(unseen > 0, 1.0, 0.0)
        plain = squares / (n - p)
        usual = (squares + unseen) / (n - p + one)
        # the larger of two variances: the further the unseen label lifts the one, the less the other passes it
        lifted = np.maximum(usual / np.maximum(plain, 1e-300) - 1, 0)
        passed = plain * robust * np.exp(-lifted / robust) if np.any(robust) else 0.0
        residual = (usual * slope + passed) / n
        variance = residual + judge
        df = variance**2 / (residual**2 / (n - p) + judge**2 / (items - 1))
        # the mean of a root is below the root of the mean
        reach = special.stdtrit(df, (1 + self.level) / 2) * np.sqrt(variance) * (1 - 1 / (4 * df))
        if self.rule.bounds is None:
            return np.asarray(reach)
        low, high = self.rule.bounds
        x = (self.mean - low) / (high - low)
        inner = (n * x + 0.5) / (n + 1)
        worth = (reach / (high - low)) ** 2 / (inner * (1 - inner))  # Wilson's interval, as the law `Score` has it
        return np.asarray((high - low) * np.sqrt(worth * (x * (1 - x) + worth / 4)) / (1 + worth))


# --- judge, prices, and what is there ---------------------------------------------------------------------------

Numbers = tuple[int, int, int, float]  # labels, items, prompts, draws


class _Judge(NamedTuple):
    rho_inf: float
    item: float
    item_prompt: float
    draw: float
    asked: float  # `rho_inf` before it was capped

    def variance(self, prompts: Any, draws: Any) -> Any:
        return self.item + self.item_prompt / prompts + self.draw / (prompts * draws)


@dataclass(frozen=True, slots=True)
class _Shop:
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


@dataclass(frozen=True, slots=True)
class _Task:
    width: _Width
    judge: _Judge
    shop: _Shop

    def rho(self, now: tuple[float, ...]) -> float:
        return float(self._rho(*now[2:])) if now[2] else 0.0

    def _rho(self, prompts: Any, draws: Any) -> Any:
        return self.judge.rho_inf * np.sqrt(self.judge.item / self.judge.variance(prompts, draws))

    def half(self, now: tuple[float, ...]) -> float:
        n, items, prompts, _ = now
        return float(self.width.alone(n) if not prompts or items == n else self.halves(*now))

    def halves(self, n: Any, items: Any, prompts: Any, draws: Any) -> Floats:
        spread = np.sqrt(self.judge.variance(prompts, draws))
        return self.width.judged(n, items, self._rho(prompts, draws), spread)

    def best(self, half_width: float | None, budget: float | None) -> Numbers:
        """The best design with the judge, or without."""
        (n0, *_), most = self.shop.now, self.shop.most
        if half_width is not None:
            alone = int(_first(lambda n: self.width.alone(n) <= half_width, n0, most))
        else:
            alone = int(_first(lambda n: self.shop.cost(n, n, 0, 0) > budget, n0, most + 1)) - 1
        key, found = _search(partial(self._look, half_width, budget), n0, alone, self.shop)
        cost, half = float(self.shop.cost(alone, alone, 0, 0)), self.half((alone, alone, 0, 0))
        if half_width is None:
            return found if key <= (half, cost) else (alone, alone, 0, 0)
        if half <= half_width:
            return found if key <= (cost, half) else (alone, alone, 0, 0)
        if key[0] == math.inf:
            raise ArgumentError(
                "half_width",
                f"must be {short(half)} or more, which labels for all {most} items reach",
                f"got {half_width:g}: more items are needed",
            )
        return found

    def _look(
        self, half_width: float | None, budget: float | None, n: Floats, prompts: Floats, draws: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Items for each of these labels, prompts and draws, and what comes first and second in the choice."""
        (_, items0, prompts0, draws0), most = self.shop.now, self.shop.most
        if half_width is None:
            items = _first(lambda m: self.shop.cost(n, m, prompts, draws) > budget, n, most + 1) - 1
            half = np.where(items > n, self.halves(n, np.maximum(items, n), prompts, draws), np.inf)
            return items, half, np.asarray(self.shop.cost(n, items, prompts, draws))
        items = _first(lambda m: self.halves(n, m, prompts, draws) <= half_width, n, most)
        # the pilot's items have a score already
        items = np.where((prompts <= prompts0) & (draws <= draws0), np.maximum(items, items0), items)
        half = self.halves(n, items, prompts, draws)
        return items, np.where(half <= half_width, np.round(self.shop.cost(n, items, prompts, draws), 9), np.inf), half


def _first(holds: Callable[[Any], Any], low: ArrayLike, high: int) -> Floats:
    """The first whole number at which it holds, by halving; `high` if it never does."""
    start = np.asarray(low, dtype=float)
    end = np.full_like(start, high)
    while np.any(start < end):
        middle = np.floor((start + end) / 2)
        yes = holds(middle)
        start, end = np.where(yes, start, np.minimum(middle + 1, end)), np.where(yes, middle, end)
    return end


# --- the search -------------------------------------------------------------------------------------------------

_Look = Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]


def _search(look: _Look, low: int, high: int, shop: _Shop) -> tuple[tuple[float, float], Numbers]:
    """Labels, prompts and draws on a coarse grid, then finer and finer around the best of it."""
    now = {"prompts": shop.now[2], "draws": shop.now[3]}
    ends = {"prompts": (_PROMPTS, _AXIS + 2), "draws": (_DRAWS, _AXIS + 4)}
    axes = [np.unique(np.geomspace(low, high, 2 * _AXIS).round())]
    for what, (most, number) in ends.items():
        fixed = what in shop.unknown or math.isinf(now[what])
        axes.append(np.unique(np.r_[np.geomspace(1, most, number).round()[: 0 if fixed else None], now[what]]))
    mesh = _mesh(axes)
    _, first, second = look(*mesh)
    order = np.lexsort((second, first))
    # the best of each pair of prompts and draws: what is paid for makes kinks, and so more than one valley
    _, leading = np.unique(np.stack(mesh[1:])[:, order], axis=1, return_index=True)
    starts = [tuple(float(side[at]) for side in mesh) for at in order[np.sort(leading)[:_STARTS]]]
    return min(_zoom(look, axes, start) for start in starts)


def _zoom(look: _Look, axes: list[Floats], start: tuple[float, ...]) -> tuple[tuple[float, float], Numbers]:
    best, before = start, None
    while best != before or any(np.diff(axis).max(initial=0) > 1 for axis in axes):
        axes, before = [_around(axis, value) for axis, value in zip(axes, best, strict=True)], best
        mesh = _mesh(axes)
        items, first, second = look(*mesh)
        at = int(np.lexsort((second, first))[0])
        best = tuple(float(side[at]) for side in mesh)
    n, prompts, draws = best
    design = (int(n), int(items[at]), int(prompts), draws if math.isinf(draws) else int(draws))
    return (float(first[at]), float(second[at])), design


def _mesh(axes: list[Floats]) -> list[Floats]:
    return [side.ravel() for side in np.meshgrid(*axes, indexing="ij")]


def _around(axis: Floats, value: float) -> Floats:
    """Whole numbers between the neighbours of a value."""
    if math.isinf(value):
        return axis
    at = int(np.searchsorted(axis, value))
    low, high = axis[max(at - 1, 0)], axis[min(at + 1, len(axis) - 1)]
    return np.unique(np.linspace(low, high, _AXIS).round())


# --- a little more of each --------------------------------------------------------------------------------------


def _steps(task: _Task) -> tuple[Step, ...]:
    """One more prompt, one more draw, a tenth more labels and items; the best for its money first."""
    n, items, prompts, draws = task.shop.now
    most, half = task.shop.most, task.half(task.shop.now)
    labels, others = max(1, round(n / 10)), max(1, round(items / 10))
    room = max(items, n + labels)  # where all items are labelled another label brings another item
    steps: dict[str, tuple[int, tuple[float, ...], tuple[float, ...]]] = {
        "labels": (labels, (n + labels, room, prompts, draws), (room, room, prompts, draws)),
        "items": (others, (n, items + others, prompts, draws), (n, most, prompts, draws)),
        "draws": (1, (n, items, prompts, draws + 1), (n, items, prompts, math.inf)),
        "prompts": (1, (n, items, prompts + 1, draws), (n, items, math.inf, draws)),
    }
    found = []
    for what, (more, then, end) in steps.items():
        if then[1] <= most and what not in task.shop.unknown and not (what == "draws" and math.isinf(draws)):
            cost, narrowing = float(task.shop.cost(*then)), 1 - task.half(then) / half
            each = narrowing / cost if cost else math.copysign(math.inf, narrowing) if narrowing else 0.0
            limit = 1 - task.half(end) / half
            found.append(Step(what, more, cost, narrowing, each, limit, waste=limit < _WASTE))
    return tuple(sorted(found, key=lambda step: (step.per_money, step.narrowing), reverse=True))


def _next(steps: tuple[Step, ...]) -> str:
    return steps[0].what if steps[0].narrowing > 0 else "nothing"


def _advice(steps: tuple[Step, ...], other: tuple[str, str], between: Interval) -> str:
    first, wasted = steps[0], [step for step in steps if step.waste]
    text = f"next {_next(steps)}"
    if first.narrowing > 0:
        text += f": {first.more} more for {first.cost:g} narrow it by {100 * first.narrowing:.2g} %"
    if set(other) != {_next(steps)}:
        text += (
            f"; this depends on the correlation: {other[0]} if it is {short(between.low)}, "
            f"{other[1]} if it is {short(between.high)}"
        )
    if wasted:
        ends = (f"{step.what} ({100 * max(step.limit, 0):.2g} % if endless)" for step in wasted)
        text += f"; a waste: {', '.join(ends)}"
    return text


# --- checks -----------------------------------------------------------------------------------------------------


def _judge(rho: float, item: float, item_prompt: float, draw: float, shop: _Shop) -> _Judge:
    """Taken to endless prompts and draws by the reliability of the pilot's own score."""
    judge = _Judge(1.0, item, item_prompt, draw, 1.0)
    rho_inf = max(rho, 0.0) * math.sqrt(judge.variance(*shop.now[2:]) / item)
    return judge._replace(rho_inf=min(rho_inf, 1.0), asked=rho_inf)


def _warned(rho: float, n: int, between: Interval, task: _Task) -> tuple[str, ...]:
    judge, found = task.judge, {}
    for what in task.shop.unknown:
        one = "one prompt" if what == "prompts" else "one draw under each prompt"
        found[f"one_{what[:-1]}"] = f"from {one} it is not known what more {what} would do."
    if judge.asked > 1:
        found["capped"] = (
            f"with endless prompts and draws the correlation would be {short(judge.asked)}, and is taken as 1: the "
            "pilot's is too high by chance, or its replies are more reliable than the components say."
        )
    if rho <= 0:
        found["no_correlation"] = f"a correlation of {short(rho)} in the pilot is planned with as 0."
    if n < _PILOT:
        text = f"[{short(between.low)}, {short(between.high)}]"
        found["pilot"] = f"a correlation of {short(rho)} from {n} labels is uncertain: {text}."
    texts = tuple(f"{name}: {text}" for name, text in found.items())
    for text in texts:
        check.warn(text)
    return texts


def _ends(sd: float, rho: float, n: int, level: float) -> list[list[tuple[float, float]]]:
    """Standard deviation and correlation where the labels' scatter about the judge, or its slope, is at either end.

    Both are independent, so what they do to a half-width can be put together as squares.
    """
    own, left, tail = rho * sd, sd * math.sqrt(1 - rho**2), (1 - level) / 2
    scatter = [left * math.sqrt((n - 2) / float(special.chdtri(n - 2, p))) for p in (tail, 1 - tail)]
    reach = float(special.stdtrit(n - 2, 1 - tail)) * left / math.sqrt(n - 1)
    pairs = [[(own, end) for end in scatter], [(own + side * reach, left) for side in (-1, 1)]]
    return [[(math.hypot(*end), end[0] / math.hypot(*end)) for end in pair] for pair in pairs]


def _fisher(rho: float, n: int, level: float) -> Interval:
    if not -1 < rho < 1:
        raise ArgumentError("rho", "must be between -1 and 1", f"got {rho!r}")
    return fisher(rho, n, level)


def _shop(prices: Mapping[str, float], now: Numbers, max_items: int | None) -> _Shop:
    names = ("label", "judge", "item", "prompt")
    for name in prices:
        check.choice(name, "prices", names)
    for name in names[:2]:
        if name not in prices:
            raise ArgumentError(
                "prices", f"must have one of a {name!r}", f"has {', '.join(map(repr, prices)) or 'none'}"
            )
    positive(prices["label"], "prices['label']")
    for name, price in prices.items():
        if not 0 <= price < math.inf:
            raise ArgumentError("prices", "must be 0 or more", f"got {price!r} for {name!r}")
    label, judge, item, prompt = (float(prices.get(name, 0)) for name in names)
    n, items, prompts, draws = now
    check.whole(n, "n_gold", least=LEAST)
    check.whole(items, "n_items", least=n)
    check.whole(prompts, "prompts", least=1)
    reads = draws if draws == math.inf else check.whole(draws, "draws", least=1)  # type: ignore[arg-type]
    if max_items is None and not judge + item:
        raise ArgumentError("max_items", "must be given where an item and its replies cost nothing", "came without")
    most = _MANY if max_items is None else check.whole(max_items, "max_items", least=items)
    return _Shop(label, judge, item, prompt, (n, items, prompts, reads), most)


def _components(item: float, item_prompt: float, draw: float) -> None:
    positive(item, "item")
    for name, value in (("item_prompt", item_prompt), ("draw", draw)):
        if not 0 <= value < math.inf:
            raise ArgumentError(name, "must be 0 or more", f"got {value!r}")


def _target(half_width: float | None, budget: float | None) -> None:
    if (half_width is None) == (budget is None):
        raise ArgumentError("half_width", "or {0} must be given, and not both", mentions=("budget",))
    for name, value in (("half_width", half_width), ("budget", budget)):
        if value is not None:
            positive(value, name)


def _middle(bounds: tuple[float, float] | None, mean: float | None) -> float:
    if bounds is None:
        return math.nan
    if mean is None or not bounds[0] <= mean <= bounds[1]:
        raise ArgumentError("mean", "must be given with {0} and lie within them", f"got {mean!r}", mentions=("bounds",))
    return float(mean)


def _many(value: ArrayLike, name: str) -> Floats:
    out = np.asarray(value, dtype=float)
    if not np.all(out >= 1):
        raise ArgumentError(name, "must be 1 or more", f"got {value!r}")
    return out
