"""The closed form of `ppi_power` (Broska, Howes and van Loon 2024): labels and judge scores for the money.

With n labels among M judged items the mean is worth n0 labels alone, 1 / n0 = (1 - rho^2) / n + rho^2 / M, and the
best pair has n : M = sqrt((1 - rho^2) / c_label) : sqrt(rho^2 / (c_judge + c_item)). `calib.stats.budget_plan` looks
for the same with the half-width that `ppi_mean` gives on so few labels.
"""

import math
from typing import NamedTuple


class Pair(NamedTuple):
    """Items with a label, items with a judge score alone, their price, and the labels alone that they are worth."""

    n_labels: int
    n_unlabeled: int
    cost: float
    effective_n: int


def best_pair(
    rho: float,
    *,
    cost_label: float,
    cost_judge: float,
    cost_item: float = 0.0,
    budget: float | None = None,
    effective_n: float | None = None,
    n_max: int | None = None,
) -> Pair:
    """For a budget, or for a wanted number of labels alone; rounded to the nearest, as published."""
    seen, judged, each = rho**2, cost_judge + cost_item, cost_label + cost_item
    root = math.sqrt((1 - seen) * cost_label) + math.sqrt(seen * judged)  # of what one label's worth costs
    alone = float(effective_n or 0) if budget is None else budget / each
    pays = (1 - seen) * judged < seen * cost_label and root**2 <= each
    if not pays or (budget is not None and n_max is not None and alone >= n_max):
        n = round(alone if n_max is None else min(alone, n_max))
        return Pair(n, 0, n * each, n)
    scale = float(effective_n or 0) * root if budget is None else budget / root
    labels = scale * math.sqrt((1 - seen) / cost_label)
    items = scale * math.sqrt(seen / judged) if judged else math.inf
    if n_max is not None and items > n_max:
        items = n_max
        left = (1 - seen) / (1 / float(effective_n or 1) - seen / n_max)
        labels = left if budget is None else (budget - judged * n_max) / cost_label
    n, rest = round(labels), round(items - labels)
    worth = n * (n + rest) / (n + (1 - seen) * rest)
    return Pair(n, rest, n * cost_label + (n + rest) * judged, round(worth))
