"""The rule for bounded means of calib 0.1, to compare with: one unseen label in the variance, t, Wilson's mapping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from calib.analysis.means.moments import Moments

Floats = NDArray[np.float64]
Bounds = tuple[float, float]
PRIOR = 4  # items' worth of a slope of 1


def former(y: Floats, f: Floats, rest: Moments, bounds: Bounds, step: float, tail: float) -> tuple[Floats, Floats]:
    """Ends of the intervals of many sets of independent items; y and f have shape (sets, n)."""
    n, N = y.shape[1], rest.n  # noqa: N806 - as in the formula
    df = f - f.mean(axis=1, keepdims=True)
    square, apart = np.sum(df**2, axis=1), rest.mean - f.mean(axis=1)
    gap = N / (n + N) * apart
    pooled = (square + rest.squares + n * N / (n + N) * apart**2) / (n + N - 1)
    base = square + PRIOR * pooled
    lean = np.sum(df * (y - y.mean(axis=1, keepdims=True)), axis=1) + PRIOR * pooled
    b = np.divide(lean, base, out=np.zeros_like(base), where=square > 0)
    inverse = np.divide(1.0, base, out=np.zeros_like(base), where=base > 0)
    error = y - y.mean(axis=1, keepdims=True) - b[:, None] * df
    p = 1 + square * inverse
    usual = (np.sum(error**2, axis=1) + _unseen(y, error, bounds, step)) / (n - p + 1)
    pull, leverage = 1 / n + gap[:, None] * df * inverse[:, None], 1 / n + df**2 * inverse[:, None]
    robust = (n - 1) / n * np.sum((pull * error / (1 - leverage)) ** 2, axis=1)
    residual = np.maximum(usual * (1 / n + gap**2 * square * inverse**2), robust)
    judge = b**2 * pooled / (n + N)
    whole = residual + judge
    t = special.stdtrit(whole**2 / (residual**2 / (n - p) + judge**2 / (n + N - 1)), 1 - tail)
    return _wilson(np.clip(y.mean(axis=1) + b * gap, *bounds), whole, t, n, bounds)


def _unseen(y: Floats, error: Floats, bounds: Bounds, step: float) -> Floats:
    """Squared distance of the unseen label: that of the farther end over how many labels have shown theirs."""
    size, squares = np.sum(np.abs(error), axis=1), np.sum(error**2, axis=1)
    kish = np.divide(size**2, squares, out=np.zeros_like(squares), where=squares > 0)
    shown = np.minimum(kish, np.minimum(np.sum(y > bounds[0], axis=1), np.sum(y < bounds[1], axis=1)))
    reach = np.maximum(bounds[1] - y.mean(axis=1), y.mean(axis=1) - bounds[0])
    return np.maximum(step**2, reach**2 / (shown + 2))


def _wilson(point: Floats, variance: Floats, t: Floats, n: int, bounds: Bounds) -> tuple[Floats, Floats]:
    low, length = bounds[0], bounds[1] - bounds[0]
    x = (point - low) / length
    inner = (n * x + 0.5) / (n + 1)
    worth = t**2 * variance / length**2 / (inner * (1 - inner))
    half = np.sqrt(worth * (x * (1 - x) + worth / 4))
    ends = ((x + worth / 2 + side * half) / (1 + worth) for side in (-1, 1))
    lower, upper = (low + length * np.clip(end, 0, 1) for end in ends)
    return lower, upper
