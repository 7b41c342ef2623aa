"""The variance of a mean over items and prompts: what each of them adds to it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.result import Interval
from calib.core.units import unit_sums, units_of


def with_all_prompts(x: Floats, groups: Labels | None, name: str) -> tuple[Floats, Codes, int]:
    """Items with a score under every prompt, the unit of each, and how many others there were."""
    check.same_length(**{name: x, "groups": groups})
    if not x.shape[1]:
        raise ArgumentError(name, "must have one prompt at least", f"got shape {x.shape}")
    whole = np.asarray(~np.isnan(x).any(axis=1))
    unit = units_of(groups, whole)
    if unit.max(initial=-1) < 1:
        what, count = "items" if groups is None else "groups", unit.max(initial=-1) + 1
        raise ArgumentError(name, f"must have a score under every prompt for two {what} at least", f"got {count}")
    return x[whole], unit, int(np.sum(~whole))


def unit_deviations(x: Floats, unit: Codes) -> Floats:
    """Each unit's share of how far the means lie from their own average, shape (units, prompts)."""
    return unit_sums((x - x.mean(axis=0)) / len(x), unit)


class PromptParts(NamedTuple):
    """Variances: of the prompts' means, of one such mean by item x prompt, of the grand mean by items."""

    spread: float
    noise: float
    items: float
    prompts: int

    @property
    def item_alone(self) -> float:
        """What items add to the grand mean beyond what already shows between prompts."""
        return max(self.items - self.noise / self.prompts, 0.0)

    @property
    def variance(self) -> float:
        return max(self.spread - self.noise, 0.0) / self.prompts + self.items

    def df(self, groups: int) -> float:
        if self.prompts == 1:
            return groups - 1.0
        rest = self.prompts - 1
        terms = (self.spread / self.prompts) ** 2 / rest + self.items**2 / (groups - 1)
        terms += (self.noise / self.prompts) ** 2 / (rest * (groups - 1))
        return self.variance**2 / terms if terms > 0 else math.nan

    def half_width(self, confidence: float, groups: int) -> float:
        """Each part at its own t quantile; never below that of the items alone."""
        of_items = two_sided(groups - 1, confidence) ** 2
        if self.prompts == 1:
            return math.sqrt(of_items * self.items)
        between = two_sided(self.prompts - 1, confidence) ** 2 * self.spread / self.prompts
        return math.sqrt(max(between + of_items * self.item_alone, of_items * self.items))


def parts_of_variance(sums: Floats, means: Floats) -> PromptParts:
    groups, prompts = sums.shape
    scale, by_group = groups / (groups - 1), sums.mean(axis=1)
    items = float(scale * (by_group**2).sum())
    if prompts == 1:
        return PromptParts(0.0, 0.0, items, 1)
    noise = float(scale * ((sums - by_group[:, None]) ** 2).sum() / (prompts - 1))
    return PromptParts(float(means.var(ddof=1)), noise, items, prompts)


def prompt_variance_interval(parts: PromptParts, confidence: float) -> Interval:
    if parts.prompts == 1:
        return Interval(math.nan, math.nan)
    rest = parts.prompts - 1
    low, high = (rest * parts.spread / special.chdtri(rest, (1 - sign * confidence) / 2) for sign in (1, -1))
    return Interval(max(float(low) - parts.noise, 0.0), max(float(high) - parts.noise, 0.0))


def names_of(names: Labels | None, x: Floats) -> tuple[str, ...]:
    """Of the prompts, the columns of x; their numbers if they have none."""
    called = tuple(map(str, range(1, x.shape[1] + 1) if names is None else names))
    if len(called) != x.shape[1]:
        raise ArgumentError("names", f"must be one for each of {x.shape[1]} prompts", f"got {len(called)}")
    return called
