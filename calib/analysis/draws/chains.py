"""Chains of reasoning: what varies between and within them, how many to buy, how many labels after each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.draws.one_way import (
    CLIPPED,
    NONE,
    fitted,
    jackknife,
    known,
    left_out,
    moments,
    not_negative,
    over,
    read_draws,
    share,
)
from calib.analysis.draws.spearman_brown import TOLERANCE, rounded_up
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import ratio
from calib.core.result import Interval, Result, bracket, short

_MOST = 1_000_000  # chains that a plan looks through


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainComponents(Result):
    """What varies when a judge reasons first: the items, the chains of thought, the label after a chain.

    Attributes
    ----------
    item : float
        Variance of the items' expectations, not below 0.
    between : float
        Variance of the chains' expectations within an item.
    within : float
        Variance of the label after a given chain.
    share : float
        within / (between + within): the part of the variance of a draw that token
        probabilities after the chain remove.
    share_interval : Interval
    confidence_level : float
    r, r_label : float
        Within-item over between-item variance of one chain read by its probabilities
        (between / item) and of one chain with one drawn label.
    df : float
    clipped : bool
        Whether `item` was estimated below 0 and set to 0.
    n, n_dropped : int
        Items in use; items without a single chain.
    n_chains : float
        Chains per item (harmonic mean).
    n_groups : int
    warnings : tuple of str
        ``clipped``.
    """

    item: float
    between: float
    within: float
    share: float
    share_interval: Interval
    confidence_level: float
    r: float
    r_label: float
    df: float
    clipped: bool
    n: int
    n_dropped: int
    n_chains: float
    n_groups: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        ends = {"share": self.share_interval}
        return [
            {
                "quantity": name,
                "estimate": getattr(self, name),
                "conf_low": ends.get(name, NONE).low,
                "conf_high": ends.get(name, NONE).high,
                "n": self.n,
            }
            for name in ("item", "between", "within", "share", "r", "r_label")
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"chain-components": True, "ci": "jackknife", "cl": self.confidence_level, "n": self.n}
        terms |= {"dropped": self.n_dropped, "chains": self.n_chains, "clipped": self.clipped or None}
        return terms | {"groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        return (
            f"token probabilities after a chain remove {100 * self.share:.3g} % of the variance of a draw, "
            f"{bracket(self.share_interval, self.confidence_level)}; then r = {short(self.r)}, without them "
            f"{short(self.r_label)} ({self.n} items, {short(self.n_chains)} chains each)"
        )


def chain_components(
    means: ArrayLike,
    variances: ArrayLike,
    *,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> ChainComponents:
    r"""Variance between and within chains of reasoning.

    A judge that reasons first and then gives a label draws twice: a chain, and a label
    after it. With token probabilities at the label the second draw is known exactly,

    .. math:: \mathrm{Var}(\text{label}) = \underbrace{\mathrm{Var}(E[\text{label} \mid \text{chain}])}_{between}
              + \underbrace{E[\mathrm{Var}(\text{label} \mid \text{chain})]}_{within}

    and only the first is left to chance.

    Parameters
    ----------
    means, variances : array_like, shape (n, C)
        Expectation and variance of the label after each of C chains per item; NaN where a
        chain gave none.
    groups : sequence, shape (n,), optional
        Items that belong together.
    confidence_level : float, default 0.95

    Returns
    -------
    ChainComponents

    Raises
    ------
    ValueError
        If a variance is negative, shapes differ, or fewer than two items have a chain, or
        none has two.

    Notes
    -----
    `item` and `between` are those of `variance_components` for the chains' expectations,
    `within` is the mean of the variances. The interval of the share is the jackknife of
    log(between / within), which in simulations covered 90 to 96 %, least where the share
    is near 1 and there are two chains.

    Examples
    --------
    >>> result = chain_components([[3.1, 3.5], [1.2, 1.4], [4.8, 4.2]], [[0.2, 0.3], [0.1, 0.2], [0.1, 0.3]])
    >>> round(result.between, 3), round(result.within, 3), round(result.share, 3)
    (0.093, 0.2, 0.682)
    """
    first, second = check.array(means, "means", ndim=2), not_negative(variances, "variances", 2)
    level = check.probability(confidence_level, "confidence_level")
    if first.shape != second.shape:
        raise ArgumentError(
            "variances", f"must have the shape of {{0}} {first.shape}", f"got {second.shape}", mentions=("means",)
        )
    there = np.isfinite(first) & np.isfinite(second)
    read = read_draws(np.where(there, first, np.nan), "means", groups)
    noise = np.where(there, second, 0.0).sum(axis=1)[read.used]
    chains, left = fitted(moments, read.rows, read.unit)
    split = known(np.array([noise.sum() / read.draws.sum()]), chains.within)
    without = known(ratio(left_out(noise, read.unit), left_out(read.draws, read.unit)), left.within)
    ends, df = jackknife(split, without, level)
    item, between, within = (float(part[0]) for part in (chains.between, split.between, split.within))
    clipped = float(chains.ratio[0]) < 0
    warned = (CLIPPED.format("item"),) if clipped else ()
    for text in warned:
        check.warn(text)
    return ChainComponents(
        item=item,
        between=between,
        within=within,
        share=1 - share(float(split.ratio[0])),
        share_interval=Interval(1 - share(ends.high), 1 - share(ends.low)),
        confidence_level=level,
        r=over(between, item),
        r_label=over(between + within, item),
        df=df,
        clipped=clipped,
        n=len(read.unit),
        n_dropped=int((~read.used).sum()),
        n_chains=read.draws_each,
        n_groups=len(left.n0),
        warnings=warned,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan(Result):
    """How many chains of reasoning, and how many labels after each.

    Attributes
    ----------
    chains, draws : int
        Chains per item; labels per chain (1 with token probabilities).
    std_error : float
        Of an item's score, in score points.
    tokens : float
        Per item.
    logprobs : bool
    """

    chains: int
    draws: int
    std_error: float
    tokens: float
    logprobs: bool

    def _rows(self) -> list[dict[str, Any]]:
        return [{name: getattr(self, name) for name in ("chains", "draws", "std_error", "tokens", "logprobs")}]

    def _terms(self) -> dict[str, Any]:
        return {"chain-plan": True, "chains": self.chains, "draws": self.draws, "logprobs": self.logprobs or None}

    def __str__(self) -> str:
        label = "its token probabilities" if self.logprobs else f"{self.draws} label{'s' * (self.draws > 1)}"
        chains = f"{self.chains} chain{'s' * (self.chains > 1)}"
        return f"{chains} with {label} each: standard error {short(self.std_error)} for {self.tokens:g} tokens per item"


def chain_plan(
    between: float,
    within: float,
    *,
    tokens_chain: float,
    tokens_label: float,
    std_error: float | None = None,
    budget: float | None = None,
    logprobs: bool = False,
) -> ChainPlan:
    r"""Cheapest chains and labels for a standard error, or the least standard error for a budget.

    With C chains and D labels after each, an item's mean has variance and cost

    .. math:: V = \frac{s^2_{between}}{C} + \frac{s^2_{within}}{C D}, \qquad
              T = C \, (t_{chain} + D \, t_{label})

    so that, but for whole numbers, the best number of labels does not depend on the target:

    .. math:: D^* = \sqrt{\frac{s^2_{within}}{s^2_{between}} \cdot \frac{t_{chain}}{t_{label}}}

    With token probabilities D is 1 and the second term of V is gone. The plan is the best
    of all whole numbers.

    Parameters
    ----------
    between, within : float
        Variances of `chain_components`.
    tokens_chain, tokens_label : float
        Price of a chain and of a label after it; any unit, such as cents, will do.
    std_error : float, optional
        Wanted for each item, in score points.
    budget : float, optional
        Instead: tokens per item.
    logprobs : bool, default False
        Whether the label's token probabilities are read.

    Returns
    -------
    ChainPlan

    Raises
    ------
    ValueError
        If a variance is negative, a price or target not above 0, both or neither of
        `std_error` and `budget` are given, or the plan would take more than a million chains.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., chapter 10, for two-stage samples.

    Examples
    --------
    >>> print(chain_plan(0.1, 0.3, tokens_chain=300, tokens_label=20, std_error=0.2))
    4 chains with 5 labels each: standard error 0.2 for 1600 tokens per item
    >>> print(chain_plan(0.1, 0.3, tokens_chain=300, tokens_label=20, std_error=0.2, logprobs=True))
    3 chains with its token probabilities each: standard error 0.1826 for 960 tokens per item
    """
    for name, value in {"between": between, "within": within}.items():
        if not 0 <= value < math.inf:
            raise ArgumentError(name, "must be a variance, 0 or more", f"got {value!r}")
    if (std_error is None) == (budget is None):
        raise ArgumentError("std_error", "or {0} must be given, and not both", mentions=("budget",))
    given = {"tokens_chain": tokens_chain, "tokens_label": tokens_label, "std_error": std_error, "budget": budget}
    for name, wanted in given.items():
        if wanted is not None and not 0 < wanted < math.inf:
            raise ArgumentError(name, "must be above 0", f"got {wanted!r}")
    drawn = 0.0 if logprobs else within
    if budget is not None:
        chains, draws = _affordable(budget, tokens_chain, tokens_label, several=drawn > 0)
    elif std_error is not None:
        chains, draws = _enough_chains(between, drawn, std_error**2)
    error = np.sqrt(between / chains + drawn / (chains * draws))
    tokens = chains * (tokens_chain + draws * tokens_label)
    best = np.lexsort((error, tokens) if budget is None else (tokens, error))[0]
    return ChainPlan(
        chains=int(chains[best]),
        draws=int(draws[best]),
        std_error=float(error[best]),
        tokens=float(tokens[best]),
        logprobs=logprobs,
    )


def _enough_chains(between: float, within: float, variance: float) -> tuple[Floats, Floats]:
    """Every number of chains worth a look, each with the fewest labels that reach this variance."""
    least, one_label = (max(1, int(rounded_up(part / variance))) for part in (between, between + within))
    if not within:
        return np.array([float(least)]), np.ones(1)
    chains = _range(least, one_label + 1)  # more chains than one label each needs are only dearer
    spare = chains * variance - between
    chains, spare = chains[spare > TOLERANCE * between], spare[spare > TOLERANCE * between]
    return chains, np.maximum(1, rounded_up(within / spare))


def _affordable(budget: float, chain: float, label: float, *, several: bool) -> tuple[Floats, Floats]:
    """Every number of chains that the budget allows, each with all the labels it allows."""
    if budget < chain + label:
        raise ArgumentError("budget", f"must pay for a chain and a label ({chain + label:g})", f"got {budget!r}")
    chains = _range(1, int(_down(budget / (chain + label))))
    return chains, np.maximum(1, _down((budget / chains - chain) / label)) if several else np.ones(len(chains))


def _range(least: int, most: int) -> Floats:
    if most > _MOST:
        raise ValueError(f"the target must not take more than {_MOST} chains, but may take {most}.")
    return np.arange(float(least), most + 1.0)


def _down(value: ArrayLike) -> Floats:
    return np.asarray(np.floor(np.asarray(value) * (1 + TOLERANCE)))
