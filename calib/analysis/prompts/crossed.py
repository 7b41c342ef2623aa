"""Variance components of crossed effects, from mean squares or by restricted likelihood, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.laws import two_sided
from calib.core.progress import progress
from calib.core.result import NO_INTERVAL, Interval

_FACETS = ("item", "prompt", "judge")

Effect = tuple[int, ...]  # the facets that an effect belongs to, by their place


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One variance component.

    Attributes
    ----------
    name : str
        "item", "prompt", "item_prompt", "draw"; "residual" where the last two cannot be separated.
    estimate, clipped : float, bool
        In squared score points; 0 where it came out negative (`clipped`).
    share : float
        Of the variance of a single score.
    interval, interval_items : Interval
        What other items and other prompts would give; what other items would give under these very prompts.
    """

    name: str
    estimate: float
    share: float
    interval: Interval
    interval_items: Interval
    clipped: bool


class Cells(NamedTuple):
    """Scores by item and prompt (and judge): means over draws, how many draws, and their spread."""

    means: Floats  # NaN where nothing could be read
    counts: Floats  # infinite where the mean is an exact expectation
    squares: Floats  # sum of squared distances of the draws from their mean
    freedom: Floats  # draws less one

    def take(self, places: Any, axis: int) -> Cells:
        return Cells(*(np.take(values, places, axis) for values in self))


Fitting = Callable[[Cells], dict[str, float]]  # components by name


def cells_of_array(x: ArrayLike, draw_variance: ArrayLike | None) -> Cells:
    values = check.array(x, "x")
    if values.ndim not in (2, 3, 4):
        raise ArgumentError("x", "must have the axes item, prompt, (judge,) draw", f"got shape {values.shape}")
    if draw_variance is not None:
        variance = check.array(draw_variance, "draw_variance")
        if values.ndim != 2 or variance.shape != values.shape:
            rule, got = "must have the shape of {0}, (items, prompts)", f"got {variance.shape} and {values.shape}"
            raise ArgumentError("draw_variance", rule, got, mentions=("x",))
        if (variance < 0).any():
            raise ArgumentError("draw_variance", "must not be negative", f"got {float(np.nanmin(variance))}")
        seen = np.isfinite(values) & np.isfinite(variance)
        means, variance = np.where(seen, values, np.nan), np.where(seen, variance, 0.0)
        return Cells(means, np.where(seen, np.inf, 0.0), variance, seen.astype(float))
    draws = values[..., None] if values.ndim == 2 else values
    read = np.isfinite(draws)
    counts = read.sum(axis=-1).astype(float)
    with np.errstate(invalid="ignore"):
        means = np.where(read, draws, 0.0).sum(axis=-1) / np.where(counts, counts, np.nan)
    off = np.where(read, draws - means[..., None], 0.0)
    return Cells(means, counts, np.einsum("...k,...k->...", off, off), np.maximum(counts - 1, 0))


def _mean_squares(means: Floats) -> dict[Effect, float]:
    """Mean squares of a table of cell means by the facets of each effect; the effects are orthogonal."""
    axes = range(means.ndim)
    rest, out = means - means.mean(), {}
    for effect in chain.from_iterable(combinations(axes, size) for size in range(1, means.ndim + 1)):
        part = rest.mean(axis=tuple(axis for axis in axes if axis not in effect), keepdims=True)
        rest = rest - part
        freedom = math.prod(means.shape[axis] - 1 for axis in effect)
        out[effect] = float(np.sum(part**2)) * _replicates(means.shape, effect) / freedom
    return out


def _replicates(shape: Sequence[int], effect: Effect) -> int:
    """Cells that share one level of an effect."""
    return math.prod(size for axis, size in enumerate(shape) if axis not in effect)


def moments(cells: Cells) -> dict[str, float]:
    """Components that make the mean squares what they are; negative ones are left so."""
    squares, shape = _mean_squares(cells.means), cells.means.shape
    free = float(cells.freedom.sum())
    draw = float(cells.squares.sum()) / free if free else math.nan
    noise = draw * float(np.mean(1 / cells.counts)) if free else 0.0
    components: dict[Effect, float] = {}
    for effect in sorted(squares, key=len, reverse=True):
        above = sum(v * _replicates(shape, other) for other, v in components.items() if {*effect} < {*other})
        components[effect] = (squares[effect] - noise - above) / _replicates(shape, effect)
    return _with_draws({"_".join(_FACETS[axis] for axis in effect): components[effect] for effect in squares}, cells)


class _Patterns(NamedTuple):
    """Items by their pattern of counts: what restricted likelihood needs of the data."""

    seen: Floats  # (patterns, C): 1 where there is a score
    spread: Floats  # (patterns, C): one over the number of draws
    items: Floats  # (patterns,)
    sums: Floats  # (patterns, C)
    products: Floats  # (patterns, C, C)
    squares: float
    freedom: float
    # for each effect, the item's own set aside, which cells of one item share a level: (C, C) of 0 and 1
    kernels: dict[str, Floats]


def _blocks(cells: Cells) -> _Patterns:
    """Items with the same counts share one covariance, so that a likelihood costs their patterns, not the items."""
    places = np.indices(cells.means.shape[1:]).reshape(cells.means.ndim - 1, -1)
    kernels = {}
    for effect in _mean_squares(np.zeros(cells.means.shape)):
        alike = [places[axis - 1][:, None] == places[axis - 1] for axis in effect if axis]
        kernels["_".join(_FACETS[axis] for axis in effect)] = np.prod([np.ones((places.shape[1],) * 2), *alike], axis=0)
    flat = [values.reshape(len(values), -1) for values in cells]
    y, counts = np.nan_to_num(flat[0]), flat[1]
    patterns, owner = np.unique(counts, axis=0, return_inverse=True)
    owner = owner.reshape(-1)
    sums, products = np.zeros(patterns.shape), np.zeros((*patterns.shape, patterns.shape[1]))
    np.add.at(sums, owner, y)
    np.add.at(products, owner, y[:, :, None] * y[:, None, :])
    seen = (patterns > 0).astype(float)
    spread = np.divide(1.0, patterns, out=np.zeros_like(patterns), where=patterns > 0)
    exact = bool(np.isinf(counts).any())
    within = (0.0, 0.0) if exact else (float(cells.squares.sum()), float(cells.freedom.sum()))
    return _Patterns(seen, spread, np.bincount(owner).astype(float), sums, products, *within, kernels)


def reml(cells: Cells, start: dict[str, float] | None = None) -> dict[str, float]:
    """Restricted maximum likelihood under normal effects, none of them negative."""
    centre, spread = float(np.nanmean(cells.means)), float(np.nanstd(cells.means))
    scale = spread or 1.0
    blocks = _blocks(cells._replace(means=(cells.means - centre) / scale, squares=cells.squares / scale**2))
    if not spread:
        return _with_draws(dict.fromkeys(blocks.kernels, 0.0), cells)
    names = [*blocks.kernels, "draw"] if blocks.freedom else list(blocks.kernels)
    # something must be left at random in each cell: its draws (their own spread says how much), or what is its own
    least = 0.1 if blocks.freedom else 1e-8
    ends = [(least if name == names[-1] else 0.0, None) for name in names]
    # away from the ends, where a component could stay for good; and in units of their own, or draws that
    # hardly differ would be lost beside items that do
    unit = np.full(len(names), 1 / len(names))
    if blocks.freedom:
        unit[-1] = max(blocks.squares / blocks.freedom, 1e-8)
    first = np.ones(len(names))
    if start is not None:
        first = np.maximum(np.array(list(start.values()))[: len(names)] / scale**2 / unit, 0.01)

    def in_units(values: Floats) -> tuple[float, Floats]:
        value, slopes = _restricted(values * unit, names, blocks)
        return value, slopes * unit

    options: dict[str, Any] = {"bounds": ends, "options": {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-7}}
    fit = optimize.minimize(in_units, first, jac=True, method="L-BFGS-B", **options)
    components = dict(zip(names, (float(v) * scale**2 for v in fit.x * unit), strict=True))
    return components if blocks.freedom else _with_draws(components, cells)


def _with_draws(components: dict[str, float], cells: Cells) -> dict[str, float]:
    """With the variance of draws from their own spread; without repeated draws the last effect is the residual."""
    if free := float(cells.freedom.sum()):
        return components | {"draw": float(cells.squares.sum()) / free}
    *_, own = components
    return {("residual" if name == own else name): value for name, value in components.items()}


def _restricted(values: Floats, names: Sequence[str], blocks: _Patterns) -> tuple[float, Floats]:
    r"""-2 log restricted likelihood and its gradient.

    With :math:`B_i` the covariance within an item and D that of what all items share, over C cells,
    :math:`S = \sum B_i^{-1}`, :math:`t = \sum B_i^{-1} y_i`, and :math:`W = (I + S D)^{-1}`,
    Woodbury's identity leaves matrices of the size of one item.
    """
    parts = dict(zip(names, values, strict=True))
    draw = parts.pop("draw", 0.0)
    kinds = {name: name.startswith("item") for name in parts}
    inner, shared = (
        sum((parts[name] * blocks.kernels[name] for name, mine in kinds.items() if mine is kind), np.zeros((1, 1)))
        for kind in (True, False)
    )
    pair = blocks.seen[:, :, None] * blocks.seen[:, None, :]
    own = np.eye(blocks.seen.shape[1])
    covariance = pair * inner + own * (draw * blocks.spread + 1 - blocks.seen)[:, None, :]
    inverse = np.linalg.inv(covariance) * pair
    total = np.tensordot(blocks.items, inverse, 1)
    lead = np.einsum("ucd,ud->c", inverse, blocks.sums)
    root = np.linalg.inv(own + total @ shared)
    precision = float((root @ total).sum())
    mean = float((root @ lead).sum()) / precision
    value = float(blocks.items @ np.linalg.slogdet(covariance)[1]) - float(np.linalg.slogdet(root)[1])
    value += math.log(precision) - precision * mean**2 - float(lead @ shared @ root @ lead)
    value += float(np.sum(inverse * blocks.products))
    whole = own.sum(axis=0) - shared @ root @ total.sum(axis=1)  # the weights of the mean, before B
    ahead = mean + shared @ root @ (lead - mean * total.sum(axis=1))  # what is expected of each cell

    def slope(kernel: Floats) -> float:
        """By a component whose covariance within an item is this kernel."""
        middle = inverse @ kernel @ inverse
        squares = np.tensordot(blocks.items, middle, 1)
        cross = blocks.sums[:, :, None] * ahead
        off = blocks.products - cross - cross.swapaxes(1, 2) + blocks.items[:, None, None] * np.outer(ahead, ahead)
        trace = float(blocks.items @ (inverse * kernel).sum(axis=(1, 2)))
        rest = np.sum(shared @ root * squares.T) + whole @ squares @ whole / precision + np.sum(middle * off)
        return trace - float(rest)

    slopes = []
    for name in parts:
        kernel = blocks.kernels[name]
        if kinds[name]:
            slopes.append(slope(kernel))
        else:
            left, across = lead - total @ ahead, total @ whole
            trace = float(np.sum(kernel * (root @ total).T))
            slopes.append(float(trace - across @ kernel @ across / precision - left @ kernel @ left))
    if blocks.freedom:
        value += blocks.freedom * math.log(draw) + blocks.squares / draw
        kernel = own * blocks.spread[:, None, :]
        slopes.append(slope(kernel) + blocks.freedom / draw - blocks.squares / draw**2)
    return value, np.array(slopes)


def _facet_errors(
    cells: Cells, owners: Codes, fitted: Fitting, names: Sequence[str]
) -> list[tuple[dict[str, float], int]]:
    """Squared errors of the components and their degrees of freedom, by the jackknife over each facet.

    Items are left out by whole groups, in at most 50 lots; there is no jackknife over two prompts or judges.
    """
    units = check.codes(owners, "groups")
    # a fixed shuffle: neighbours are often of one document, and every so many of one system
    lots = (np.random.default_rng(0).permutation(units.max() + 1) % 50)[units]
    if len(lots) - np.bincount(lots).max() < 2:
        return []
    sizes = cells.means.shape[1:]
    facets = [lots, *map(np.arange, sizes if min(sizes) > 2 else ())]
    out = []
    for axis, of in enumerate(facets):
        left_out = progress(range(int(of.max()) + 1), "fits")
        fits = [fitted(cells.take(np.flatnonzero(of != lot), axis)) for lot in left_out]
        g = len(fits)
        squares = {name: (g - 1) ** 2 / g * float(np.var([fit[name] for fit in fits], ddof=1)) for name in names}
        out.append((squares, g - 1))
    return out


def components_with_intervals(
    components: dict[str, float], cells: Cells, owners: Codes, fitted: Fitting, confidence: float | None
) -> tuple[Component, ...]:
    """By how far a fit moves when items, prompts or judges are left out; no intervals without a confidence."""
    errors = [] if confidence is None else _facet_errors(cells, owners, fitted, [*components])
    total = sum(max(value, 0.0) for value in components.values())
    # what draws and the effects above it add to each component before they are taken away
    shape, read = cells.means.shape, cells.counts[cells.counts > 0]
    noise = components.get("draw", 0.0) * float(np.mean(1 / read))
    whole, names = tuple(range(len(shape))), [name for name in components if name != "draw"]
    places = {name: whole if name == "residual" else tuple(map(_FACETS.index, name.split("_"))) for name in names}
    floors = {"draw": 0.0}
    for name, effect in places.items():
        above = sum(_replicates(shape, other) * components[n] for n, other in places.items() if {*effect} < {*other})
        floors[name] = (noise + above) / _replicates(shape, effect)

    def interval(name: str, errors: list[tuple[dict[str, float], int]]) -> Interval:
        """On the scale of the logarithm of the mean square, which is above 0 where the component is not."""
        total, mean_square = sum(squares[name] for squares, _ in errors), components[name] + floors[name]
        # a likelihood that stops at 0 says nothing about how far it would have gone
        if not 0 < total < math.inf or components[name] == 0 or mean_square <= 0:
            return NO_INTERVAL
        freedom = total**2 / sum(squares[name] ** 2 / df for squares, df in errors)
        reach = two_sided(freedom, confidence or math.nan) * math.sqrt(total) / mean_square
        # beyond an exponent of 50 an interval has no upper end worth a number
        low, high = (mean_square * math.exp(end) - floors[name] for end in (-reach, min(reach, 50.0)))
        return Interval(max(low, 0.0), max(high, 0.0))

    return tuple(
        Component(
            name=name, estimate=max(value, 0.0), share=max(value, 0.0) / total if total else math.nan,
            interval=interval(name, errors if len(errors) > 1 else []), interval_items=interval(name, errors[:1]),
            clipped=value <= 0,
        )
        for name, value in components.items()
    )  # fmt: skip
