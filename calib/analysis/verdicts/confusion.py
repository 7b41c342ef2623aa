"""What a confusion table says, with intervals that know of groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from calib.core.check import Codes, Floats
from calib.core.numeric import ratio, wilson
from calib.core.result import Interval

TP, FP, FN, TN = range(4)
Measure = Callable[[Floats], Floats]  # of tables (..., 4): judge and people pass, judge alone, people alone, neither
_STEP = 1e-6  # of a share, for derivatives


class Figure(NamedTuple):
    """One figure of a table.

    Attributes
    ----------
    estimate : float
        NaN where it divides by nothing.
    interval : Interval
    n : int
        Labelled items that it rests on.
    """

    estimate: float
    interval: Interval
    n: int


# shares of a total, whose intervals are a proportion's: what is counted, and of which cells
RATES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "tpr": ((TP,), (TP, FN)),
    "tnr": ((TN,), (TN, FP)),
    "precision": ((TP,), (TP, FP)),
    "npv": ((TN,), (TN, FN)),
    "accuracy": ((TP, TN), (TP, FP, FN, TN)),
}


def f1(t: Floats) -> Floats:
    return ratio(2 * t[..., TP], 2 * t[..., TP] + t[..., FP] + t[..., FN])


def mcc(t: Floats) -> Floats:
    """Matthews' correlation, the correlation of two yes-or-no columns."""
    a, b, c, d = (t[..., k] for k in range(4))
    return ratio(a * d - b * c, np.sqrt((a + b) * (a + c) * (d + b) * (d + c)))


def kappa(t: Floats) -> Floats:
    """Cohen's, of two labels."""
    a, b, c, d = (t[..., k] for k in range(4))
    return ratio(2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d))


def ac1(t: Floats) -> Floats:
    """Gwet's, of two labels."""
    n = t.sum(axis=-1)
    observed = ratio(t[..., TP] + t[..., TN], n)
    yes = ratio(2 * t[..., TP] + t[..., FP] + t[..., FN], 2 * n)
    chance = 2 * yes * (1 - yes)
    return ratio(observed - chance, 1 - chance)


# the others, and the least that each can be
COMPOSITES: dict[str, tuple[Measure, float]] = {
    "f1": (f1, 0.0),
    "mcc": (mcc, -1.0),
    "kappa": (kappa, -1.0),
    "ac1": (ac1, -1.0),
}


def figures_of(cell: Codes, group: Codes, confidence: float) -> dict[str, Figure]:
    """All figures of items whose cells are given."""
    tables = np.bincount(4 * group + cell, minlength=4 * (int(group.max()) + 1)).reshape(-1, 4).astype(float)
    figures = {}
    for name, parts in RATES.items():
        hits, sizes = (tables[:, list(cells)].sum(axis=1) for cells in parts)
        figures[name] = Figure(*proportion(hits, sizes, confidence), int(sizes.sum()))
    # from the intervals of both (Zou and Donner 2008): the far ends of one are not those of the other
    one, other = figures["tpr"], figures["tnr"]
    mean = (one.estimate + other.estimate) / 2
    gaps = [(one.estimate - a, other.estimate - b) for a, b in zip(one.interval, other.interval, strict=True)]
    low, high = (math.hypot(*gap) / 2 for gap in gaps)
    figures["balanced_accuracy"] = Figure(mean, Interval(mean - low, mean + high), one.n + other.n)
    return figures | {name: _of_composite(tables, *parts, confidence) for name, parts in COMPOSITES.items()}


def proportion(hits: Floats, sizes: Floats, confidence: float) -> tuple[float, Interval]:
    """A share of items that come in groups, by Wilson with as many as the groups leave: hits and items of each."""
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    n, g = float(sizes.sum()), len(sizes)
    if g == 0:
        return math.nan, Interval(math.nan, math.nan)
    p = float(hits.sum()) / n
    effective, df = effective_size(hits, sizes), max(g - 1, 1)
    quantile = float(special.stdtrit(df, (1 + confidence) / 2)) if g < n else float(special.ndtri((1 + confidence) / 2))
    return p, Interval(*map(float, wilson(p * effective, effective, quantile)))


def effective_size(hits: Floats, sizes: Floats) -> float:
    """As how many independent items those of these groups count, for their share of hits."""
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    n, g, total = float(sizes.sum()), len(sizes), float(hits.sum())
    if g == n:
        return n
    if g < 2 or total in (0.0, n):  # how far items of a group go together is not seen
        return float(g)
    p = total / n
    variance = g / (g - 1) * float(((hits - p * sizes) ** 2).sum()) / n**2
    return min(p * (1 - p) / max(variance, 1e-300), n)


def _of_composite(tables: Floats, measure: Measure, least: float, confidence: float) -> Figure:
    """By the delta method on the logit of the range, half an item added to each cell, times the design effect."""
    whole = tables.sum(axis=0)
    estimate, n, g = float(measure(whole)), float(whole.sum()), len(tables)
    smoothed = (whole + 0.5) / (n + 2)
    steps = _STEP * np.eye(4)
    centre, gradient = float(measure(smoothed)), (measure(smoothed + steps) - measure(smoothed - steps)) / (2 * _STEP)
    variance = float(smoothed @ (gradient - smoothed @ gradient) ** 2) / (n + 2)
    variance *= _design_effect(tables, gradient)
    quantile = float(special.stdtrit(max(g - 1, 1), (1 + confidence) / 2))
    if math.isnan(estimate) or g < 2:
        return Figure(estimate, Interval(math.nan, math.nan), int(n))
    span = 1 - least
    share = (centre - least) / span
    half = quantile * math.sqrt(variance) / span / (share * (1 - share))
    middle = special.logit(share)
    low, high = (least + span * float(special.expit(middle + sign * half)) for sign in (-1, 1))
    return Figure(estimate, Interval(min(low, estimate), max(high, estimate)), int(n))


def _design_effect(tables: Floats, gradient: Floats) -> float:
    """How much more the figure varies than if items were independent; 1 at least."""
    sizes, whole = tables.sum(axis=1), tables.sum(axis=0)
    n, g = float(sizes.sum()), len(sizes)
    if g in (1, n):
        return 1.0
    mean = float(whole @ gradient) / n
    alone = float(whole @ (gradient - mean) ** 2)
    apart = g / (g - 1) * float(((tables @ gradient - mean * sizes) ** 2).sum())
    return max(apart / alone, 1.0) if alone > 0 else n / g
