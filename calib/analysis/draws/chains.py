"""Chains of reasoning: how many to buy, and how many labels after each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.analysis.draws.components import VarianceComponents
from calib.analysis.draws.spearman_brown import TOLERANCE, rounded_up
from calib.core.check import ArgumentError, Floats
from calib.core.result import Result, short

_MOST_CHAINS = 1_000_000  # chains that a plan looks through


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan(Result):
    """How many chains of reasoning, and how many labels after each.

    Attributes
    ----------
    chains, draws : int
        Chains per item; labels per chain (1 with token probabilities, `logprobs`).
    std_error, tokens : float
        Of an item's score, in score points; per item.
    logprobs : bool
    """

    chains: int
    draws: int
    std_error: float
    tokens: float
    logprobs: bool

    _cells = "chains draws std_error tokens logprobs"

    def _terms(self) -> dict[str, Any]:
        return {"chain-plan": True, "chains": self.chains, "draws": self.draws, "logprobs": self.logprobs or None}

    def __str__(self) -> str:
        label = "its token probabilities" if self.logprobs else f"{self.draws} label{'s' * (self.draws > 1)}"
        chains = f"{self.chains} chain{'s' * (self.chains > 1)}"
        return f"{chains} with {label} each: standard error {short(self.std_error)} for {self.tokens:g} tokens per item"


def chain_plan(
    between: float | VarianceComponents,
    within: float = math.nan,
    *,
    tokens_chain: float,
    tokens_label: float,
    std_error: float | None = None,
    budget: float | None = None,
    logprobs: bool = False,
) -> ChainPlan:
    r"""Cheapest chains and labels for a standard error, or the least standard error for a budget.

    With C chains and D labels after each, an item's mean has variance V and cost T,

    .. math:: V = \frac{s^2_{between}}{C} + \frac{s^2_{within}}{C D}, \qquad
              T = C \, (t_{chain} + D \, t_{label}), \qquad
              D^* = \sqrt{\frac{s^2_{within}}{s^2_{between}} \cdot \frac{t_{chain}}{t_{label}}}

    so that, but for whole numbers, the best number of labels D* does not depend on the target. With token
    probabilities D is 1 and the second term of V is gone. The plan is the best of all whole numbers.

    Parameters
    ----------
    between : VarianceComponents or float
        Of chains, see `variance_components`; or the variance between the chains of an item, its `within`.
    within : float, optional
        Where `between` is a number, the variance of the label after a chain, `label` of the components.
    tokens_chain, tokens_label : float
        Price of a chain and of a label after it; any unit, such as cents, will do.
    std_error, budget : float, optional
        What is wanted for each item: a standard error in score points, or instead a number of tokens.
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
    if isinstance(between, VarianceComponents):
        within, between = between.label, between.within
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
        chains, draws = _chains_affordable(budget, tokens_chain, tokens_label, several=drawn > 0)
    elif std_error is not None:
        chains, draws = _enough_chains(between, drawn, std_error**2)
    error = np.sqrt(between / chains + drawn / (chains * draws))
    tokens = chains * (tokens_chain + draws * tokens_label)
    best = np.lexsort((error, tokens) if budget is None else (tokens, error))[0]
    n, labels, least, price = (float(column[best]) for column in (chains, draws, error, tokens))
    return ChainPlan(chains=int(n), draws=int(labels), std_error=least, tokens=price, logprobs=logprobs)


def _enough_chains(between: float, within: float, variance: float) -> tuple[Floats, Floats]:
    """Every number of chains worth a look, each with the fewest labels that reach this variance."""
    least, one_label = (max(1, int(rounded_up(part / variance))) for part in (between, between + within))
    if not within:
        return np.array([float(least)]), np.ones(1)
    chains = _chain_numbers(least, one_label + 1)  # more chains than one label each needs are only dearer
    chains = chains[chains * variance - between > TOLERANCE * between]
    return chains, np.maximum(1, rounded_up(within / (chains * variance - between)))


def _chains_affordable(budget: float, chain: float, label: float, *, several: bool) -> tuple[Floats, Floats]:
    """Every number of chains that the budget allows, each with all the labels it allows."""
    if budget < chain + label:
        raise ArgumentError("budget", f"must pay for a chain and a label ({chain + label:g})", f"got {budget!r}")
    chains = _chain_numbers(1, int(budget / (chain + label) * (1 + TOLERANCE)))
    labels = np.floor((budget / chains - chain) / label * (1 + TOLERANCE))
    return chains, np.maximum(1, labels) if several else np.ones(len(chains))


def _chain_numbers(least: int, most: int) -> Floats:
    if most > _MOST_CHAINS:
        raise ValueError(f"the target must not take more than {_MOST_CHAINS} chains, but may take {most}.")
    return np.arange(float(least), most + 1.0)
