"""Variance components with their intervals, from leaving out items, prompts and judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calib.analysis.prompts.crossed import FACETS, Cells
from calib.core import check
from calib.core.check import Codes
from calib.core.laws import two_sided
from calib.core.result import Interval

_LOTS = 50  # of items, left out in turn
_LARGEST = 50.0  # exponent: beyond it an interval has no upper end worth a number


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One variance component.

    Attributes
    ----------
    name : str
        "item", "prompt", "item_prompt", "draw"; "residual" where the last two cannot be told apart.
    estimate : float
        In squared score points; 0 where it came out negative.
    share : float
        Of the variance of a single score.
    interval : Interval
        What other items and other prompts would give.
    interval_items : Interval
        What other items would give under these very prompts.
    clipped : bool
        Whether the estimate was negative.
    """

    name: str
    estimate: float
    share: float
    interval: Interval
    interval_items: Interval
    clipped: bool


class SquaredErrors(NamedTuple):
    """Squared standard error of each component from leaving out levels of one facet, and its degrees of freedom."""

    squares: dict[str, float]
    freedom: int


def squared_errors(
    cells: Cells, owners: Codes, fitted: Callable[[Cells], dict[str, float]], components: dict[str, float]
) -> dict[str, SquaredErrors]:
    """Jackknives over items (whole groups, in at most 50 lots), prompts and judges; none over two levels."""
    units = check.codes(owners, "groups")
    # a fixed shuffle: neighbours are often of one document, and every so many of one system
    lots = (np.random.default_rng(0).permutation(units.max() + 1) % _LOTS)[units]
    if len(lots) - np.bincount(lots).max() < 2:
        return {}
    out = {"item": _left_out(cells, lots, 0, fitted, components)}
    for axis in range(1, cells.means.ndim):
        size = cells.means.shape[axis]
        if size > 2:
            out[FACETS[axis]] = _left_out(cells, np.arange(size), axis, fitted, components)
    return out if len(out) == cells.means.ndim else {"item": out["item"]}


def _left_out(
    cells: Cells, lots: Codes, axis: int, fitted: Callable[[Cells], dict[str, float]], components: dict[str, float]
) -> SquaredErrors:
    without = [fitted(cells.take(np.flatnonzero(lots != lot), axis)) for lot in range(int(lots.max()) + 1)]
    g = len(without)
    spread = {name: (g - 1) ** 2 / g * float(np.var([fit[name] for fit in without], ddof=1)) for name in components}
    return SquaredErrors(spread, g - 1)


def components_with_intervals(
    components: dict[str, float], spread: dict[str, SquaredErrors], floors: dict[str, float], confidence: float
) -> tuple[Component, ...]:
    total = sum(max(value, 0.0) for value in components.values())
    items = [spread["item"]] if spread else []
    return tuple(
        Component(
            name=name,
            estimate=max(value, 0.0),
            share=max(value, 0.0) / total if total else math.nan,
            interval=_component_interval(
                value, floors[name], name, list(spread.values()) if len(spread) > 1 else [], confidence
            ),
            interval_items=_component_interval(value, floors[name], name, items, confidence),
            clipped=value <= 0,
        )
        for name, value in components.items()
    )


def _component_interval(
    value: float, floor: float, name: str, sources: Sequence[SquaredErrors], confidence: float
) -> Interval:
    """On the scale of the logarithm of the mean square, which is above 0 where the component is not."""
    squares = [(source.squares[name], source.freedom) for source in sources]
    total, mean_square = sum(square for square, _ in squares), value + floor
    # a likelihood that stops at 0 says nothing about how far it would have gone
    if not 0 < total < math.inf or value == 0 or mean_square <= 0:
        return Interval(math.nan, math.nan)
    freedom = total**2 / sum(square**2 / df for square, df in squares)
    reach = two_sided(freedom, confidence) * math.sqrt(total) / mean_square
    low, high = (mean_square * math.exp(end) - floor for end in (-reach, min(reach, _LARGEST)))
    return Interval(max(low, 0.0), max(high, 0.0))
