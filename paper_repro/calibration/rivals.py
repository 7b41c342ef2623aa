"""Calibrators of a judge's own score, of many draws at once: tables of counts (..., V, K) to chances (..., V, K)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calib.analysis.calibration.proportional_odds import fitted, with_pseudo

Floats = NDArray[np.float64]


def shares(counts: Floats) -> Floats:
    """What the labels are, whatever the judge says."""
    all_of = counts.sum(axis=-2, keepdims=True)
    return np.broadcast_to(all_of / all_of.sum(axis=-1, keepdims=True), counts.shape)


def histogram(counts: Floats) -> Floats:
    """Shares of the labels of each score; of all labels for a score that none has."""
    n = counts.sum(axis=-1, keepdims=True)
    return np.where(n > 0, counts / np.maximum(n, 1), shares(counts))


def isotonic(yes: Floats, n: Floats) -> Floats:
    """Rising shares (..., V) that fit best, by the formula of largest and smallest block means; between them linear."""
    sums, sizes = (np.concatenate([np.zeros((*v.shape[:-1], 1)), np.cumsum(v, axis=-1)], axis=-1) for v in (yes, n))
    # of the block from a to b, its last score: (..., a, b)
    means, size = (part[..., None, 1:] - part[..., :-1, None] for part in (sums, sizes))
    means = means / np.maximum(size, 1e-300)
    ahead = np.tri(yes.shape[-1], dtype=bool).T
    least = np.minimum.accumulate(np.where(ahead, means, np.inf)[..., ::-1], axis=-1)[..., ::-1]
    fit = np.max(np.where(ahead, least, -np.inf), axis=-2)
    return _between(np.where(n > 0, fit, np.nan))


def _between(fit: Floats) -> Floats:
    """Gaps filled on the line between their neighbours, level at the ends."""
    flat = fit.reshape(-1, fit.shape[-1]).copy()
    place = np.arange(fit.shape[-1])
    for row in flat[np.isnan(flat).any(axis=1)]:
        seen = ~np.isnan(row)
        row[~seen] = np.interp(place[~seen], place[seen], row[seen])
    holes = np.isnan(flat).any(axis=1)
    for i in np.flatnonzero(holes):
        seen = ~np.isnan(flat[i])
        flat[i] = np.interp(place, place[seen], flat[i, seen])
    return flat.reshape(fit.shape)


def _pmf(above: Floats) -> Floats:
    """From the chances (..., V, K - 1) of a label above each threshold."""
    return -np.diff(above, axis=-1, prepend=1.0, append=0.0)


def _above(counts: Floats) -> tuple[Floats, Floats]:
    """Labels above each threshold (..., K - 1, V), and all of them (..., 1, V)."""
    yes = counts[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:]
    return np.swapaxes(yes, -1, -2), counts.sum(axis=-1)[..., None, :]


def idr(counts: Floats) -> Floats:
    """Isotonic distributional regression (Henzi, Ziegel, Gneiting 2021): each threshold for itself, no two cross."""
    yes, n = _above(counts)
    return _pmf(np.swapaxes(isotonic(yes, n), -1, -2))


def idr_shrunk(counts: Floats) -> Floats:
    """The same, n/(n + 10) of it, the rest the shares."""
    n = counts.sum(axis=(-2, -1), keepdims=True)
    return (n * idr(counts) + 10 * shares(counts)) / (n + 10)


def venn_abers(counts: Floats) -> Floats:
    """Venn-Abers at each threshold, merged p1/(1 - p0 + p1); the chances above made falling by a running minimum."""
    yes, n = _above(counts)
    above = np.empty(yes.shape)
    for v in range(yes.shape[-1]):
        one = np.eye(yes.shape[-1])[v]
        p0, p1 = isotonic(yes, n + one)[..., v], isotonic(yes + one, n + one)[..., v]
        above[..., v] = p1 / (1 - p0 + p1)
    return _pmf(np.minimum.accumulate(np.swapaxes(above, -1, -2), axis=-1))


def ordered(counts: Floats, ridge: float, pseudo: float = 1.0) -> Floats:
    """Proportional odds on the score, standardised over the labels of each draw."""
    x, n = np.arange(counts.shape[-2], dtype=float), counts.sum(axis=-1)
    centre = (n * x).sum(axis=-1, keepdims=True) / n.sum(axis=-1, keepdims=True)
    spread = np.sqrt((n * (x - centre) ** 2).sum(axis=-1, keepdims=True) / n.sum(axis=-1, keepdims=True))
    z = ((x - centre) / np.where(spread > 0, spread, 1.0))[..., None]
    a, b, _ = fitted(*with_pseudo(z, counts, pseudo), np.array([ridge]))
    return chances(a, b, z)


def ordered_of_many(x: Floats, y: NDArray[np.intp], new: Floats, levels: int, ridge: float) -> Floats:
    """Proportional odds on several inputs: (draws, n, p) and labels (draws, n) to chances of `new` (draws, m, p)."""
    centre, spread = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True)
    spread = np.where(spread > 0, spread, 1.0)
    a, b, _ = fitted(*with_pseudo((x - centre) / spread, np.eye(levels)[y], 1.0), np.full(x.shape[-1], ridge))
    return chances(a, b, (new - centre) / spread)


def chances(a: Floats, b: Floats, z: Floats) -> Floats:
    """Of each level, at inputs (..., R, p)."""
    from scipy.special import expit

    below = expit(a[..., None, :] - z @ b[..., None])
    return np.diff(below, axis=-1, prepend=0.0, append=1.0)
