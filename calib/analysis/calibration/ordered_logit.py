"""Proportional odds with a ridge: the chance of each label, given what a judge said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Result, short
from calib.core.units import units_of

_STEPS, _SMALL = 100, 1e-10  # Newton's steps at most; gain in log-likelihood that is none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderedLogit(Result):
    """The chance of each level, given the inputs.

    Attributes
    ----------
    levels : ndarray, shape (K,)
        Values of the scale, ascending.
    thresholds : ndarray, shape (K - 1,)
        On the log-odds scale, ascending.
    slopes : ndarray, shape (p,)
        Log-odds of a higher label per unit of each input.
    log_likelihood : float
        Of the labels, without penalty and pseudo-labels.
    ridge, pseudo : float
        The penalty of the standardised slopes, and the number of pseudo-labels.
    n, n_groups, n_missing : int
        Labels; independent groups of them; rows without a label or an input, left out.
    """

    levels: Floats
    thresholds: Floats
    slopes: Floats
    log_likelihood: float
    ridge: float
    pseudo: float
    n: int
    n_groups: int
    n_missing: int = 0
    counts: Floats = field(repr=False)

    def predict(self, x: ArrayLike, *, shift: ArrayLike = 0.0) -> Floats:
        """Probability of each level, shape (n, K); NaN where an input is missing.

        Parameters
        ----------
        x : array_like, shape (n,) or (n, p)
        shift : array_like, default 0
            Added to the log-odds of a higher label: how much more lenient a person is.
        """
        eta = _inputs(x, len(self.slopes)) @ self.slopes + np.asarray(shift)
        below = special.expit(self.thresholds - eta[..., None])
        return np.asarray(np.diff(below, axis=-1, prepend=0.0, append=1.0))

    def _rows(self) -> list[dict[str, Any]]:
        names = [
            *(f"threshold_{k + 1}" for k in range(len(self.thresholds))),
            *(f"slope_{j + 1}" for j in range(len(self.slopes))),
        ]
        return [
            {"term": name, "estimate": value}
            for name, value in zip(names, [*self.thresholds, *self.slopes], strict=True)
        ]

    def _terms(self) -> dict[str, Any]:
        return {"ordered_logit": True, "ridge": self.ridge, "pseudo": self.pseudo, "n": self.n, "groups": self.n_groups}

    def __str__(self) -> str:
        slopes = ", ".join(map(short, self.slopes))
        return f"ordered logit of {len(self.levels)} levels: slope {slopes} from {self.n} labels"


def ordered_logit(
    x: ArrayLike,
    y: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    ridge: float | None = 1.0,
    pseudo: float = 1.0,
    groups: Labels | None = None,
    weights: ArrayLike | None = None,
) -> OrderedLogit:
    r"""Chance of each label, given what a judge said: proportional odds with a ridge.

    .. math:: P(Y \le k \mid x) = \frac{1}{1 + e^{-(a_k - b' x)}}, \qquad a_1 < \dots < a_{K-1}
    """
    values, labels = _inputs(x), check.array(y, "y", ndim=1)
    check.same_length(x=values, y=labels, groups=groups, weights=weights)
    scale = np.unique(labels[np.isfinite(labels)] if levels is None else check.array(levels, "levels", ndim=1))
    weight = np.ones(len(labels)) if weights is None else check.array(weights, "weights", ndim=1)
    used = np.isfinite(labels) & np.isfinite(values).all(axis=1) & (weight > 0)
    table = counted(values[used], _places(labels[used], scale), len(scale), weight[used])
    z, centre, spread = standardised(table.x, table.counts.sum(axis=1))
    problem = with_pseudo(z, table.counts, pseudo)
    penalty = np.full(z.shape[-1], float(ridge or 0.0))
    a, b, _ = fitted(*problem, penalty)
    log_likelihood = _log_likelihood(a, b, z, table.counts)
    return OrderedLogit(
        levels=scale,
        thresholds=a + b / spread @ centre,
        slopes=b / spread,
        log_likelihood=float(log_likelihood),
        ridge=float(ridge or 0.0),
        pseudo=float(pseudo),
        n=int(used.sum()),
        n_groups=len(np.unique(units_of(groups, used))),
        n_missing=int((~used).sum()),
        counts=table.counts,
    )


class Counted(NamedTuple):
    """Distinct inputs (R, p), how often each came with each label (R, K), and the row of each label."""

    x: Floats
    counts: Floats
    row: Codes


def counted(x: Floats, place: Codes, n_levels: int, weight: Floats) -> Counted:
    """The table that a fit needs: a judge of few values has few rows, however many labels there are."""
    distinct, row = np.unique(x, axis=0, return_inverse=True)
    cell = row.ravel() * n_levels + place
    counts = np.bincount(cell, weight, minlength=len(distinct) * n_levels).reshape(-1, n_levels)
    return Counted(distinct, counts, row.ravel())


def standardised(x: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Inputs with mean 0 and spread 1 over the labels, their mean and spread (1 for a constant one)."""
    centre = np.average(x, axis=0, weights=weight)
    spread = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=weight))
    spread = np.where(spread > 1e-12 * np.maximum(np.abs(centre), 1.0), spread, 1.0)
    return (x - centre) / spread, centre, spread


def with_pseudo(z: Floats, counts: Floats, pseudo: float) -> tuple[Floats, Floats]:
    """One more row at the mean input, with `pseudo` labels spread evenly over the levels."""
    row = np.full((*counts.shape[:-2], 1, counts.shape[-1]), pseudo / counts.shape[-1])
    return np.concatenate([z, np.zeros((*z.shape[:-2], 1, z.shape[-1]))], axis=-2), np.concatenate(
        [counts, row], axis=-2
    )


def fitted(
    z: Floats, counts: Floats, penalty: Floats, start: tuple[Floats, Floats] | None = None
) -> tuple[Floats, Floats, Floats]:
    r"""Thresholds (..., K - 1) and slopes (..., p) of highest penalised log-likelihood, and that, of many tables at once.

    z: (..., R, p), counts: (..., R, K), penalty: (..., p). With D_k = a_k - a_{k-1} the log-likelihood is

    .. math:: \sum_k N_k \log(1 - e^{-D_k}) + \sum_{r,j} n_{rj} \log \sigma(\eta_{rj}) + n_{r,j+1} \log \sigma(-\eta_{rj}),
              \quad \eta_{rj} = a_j - b' z_r,

    since p_k = s(a_k) (1 - s(a_{k-1})) (1 - exp(-D_k)): logistic regressions at each threshold and a term that keeps
    these apart, all concave (Pratt 1981, Burridge 1981), so that Newton's steps, halved where needed, arrive.
    """
    shape = np.broadcast_shapes(z.shape[:-2], counts.shape[:-2], penalty.shape[:-1])
    p, k = z.shape[-1], counts.shape[-1]
    shares = counts.sum(axis=-2) / counts.sum(axis=(-2, -1), keepdims=False)[..., None]
    at = np.cumsum(shares, axis=-1)[..., :-1]
    a = np.broadcast_to(special.logit(np.clip(at, 1e-9, 1 - 1e-9)) + 1e-6 * np.arange(k - 1), (*shape, k - 1)).copy()
    b = np.zeros((*shape, p))
    if start is not None:
        a, b = (np.broadcast_to(part, whole.shape).copy() for part, whole in zip(start, (a, b), strict=True))
    value = _penalised(a, b, z, counts, penalty)
    for _ in range(_STEPS):
        gradient, hessian = _derivatives(a, b, z, counts, penalty)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        size = np.ones(shape)
        for _ in range(40):
            new_a, new_b = a + size[..., None] * step[..., : k - 1], b + size[..., None] * step[..., k - 1 :]
            new = _penalised(new_a, new_b, z, counts, penalty)
            worse = ~(new >= value - 1e-12 * np.abs(value))
            if not worse.any():
                break
            size = np.where(worse, size / 2, size)
        gain = np.where(worse, 0.0, new - value)
        a, b, value = (
            np.where(worse[..., None] if part.ndim > len(shape) else worse, old, part)
            for old, part in ((a, new_a), (b, new_b), (value, new))
        )
        if (gain <= _SMALL).all():
            break
    return a, b, value


def _penalised(a: Floats, b: Floats, z: Floats, counts: Floats, penalty: Floats) -> Floats:
    """Minus infinity where thresholds are not ascending."""
    value = _log_likelihood(a, b, z, counts) - (penalty * b**2).sum(axis=-1) / 2
    return np.where((np.diff(a, axis=-1) > 0).all(axis=-1), value, -np.inf)


def _log_likelihood(a: Floats, b: Floats, z: Floats, counts: Floats) -> Floats:
    eta = a[..., None, :] - (z @ b[..., None])
    below, above = counts[..., :-1], counts[..., 1:]
    sides = below * special.log_expit(eta) + above * special.log_expit(-eta)
    apart = counts.sum(axis=-2)[..., 1:-1] * np.log(-np.expm1(-np.maximum(np.diff(a, axis=-1), 1e-300)))
    return sides.sum(axis=(-2, -1)) + apart.sum(axis=-1)


def _derivatives(a: Floats, b: Floats, z: Floats, counts: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Gradient, and the negative of the matrix of second derivatives, in (a, b)."""
    m, p = a.shape[-1], b.shape[-1]
    eta = a[..., None, :] - (z @ b[..., None])
    share = special.expit(eta)
    below, above = counts[..., :-1], counts[..., 1:]
    g = below * (1 - share) - above * share
    w = (below + above) * share * (1 - share)
    gap, middle = np.diff(a, axis=-1), counts.sum(axis=-2)[..., 1:-1]
    push = middle / np.expm1(gap)
    bend = push / -np.expm1(-gap)
    grad_a = g.sum(axis=-2)
    grad_a[..., 1:] += push
    grad_a[..., :-1] -= push
    zt = np.swapaxes(z, -1, -2)
    grad_b = -(zt @ g.sum(axis=-1)[..., None])[..., 0] - penalty * b
    hessian = np.zeros((*grad_a.shape[:-1], m + p, m + p))
    i = np.arange(m)
    hessian[..., i, i] = w.sum(axis=-2)
    hessian[..., i[1:], i[1:]] += bend
    hessian[..., i[:-1], i[:-1]] += bend
    hessian[..., i[1:], i[:-1]] -= bend
    hessian[..., i[:-1], i[1:]] -= bend
    cross = -(zt @ w)
    hessian[..., m:, :m] = cross
    hessian[..., :m, m:] = np.swapaxes(cross, -1, -2)
    hessian[..., m:, m:] = zt @ (w.sum(axis=-1)[..., None] * z)
    j = np.arange(p)
    hessian[..., m + j, m + j] += np.where(penalty > 0, penalty, 0.0)
    flat = hessian[..., m + j, m + j] <= 1e-12
    hessian[..., m + j, m + j] += flat
    return np.concatenate([grad_a, grad_b], axis=-1), hessian


def _inputs(x: ArrayLike, p: int | None = None) -> Floats:
    """As (n, p)."""
    values = check.array(x, "x")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or (p is not None and values.shape[1] != p):
        wanted = "1 or 2 dimensions" if p is None else f"{p} input{'s' * (p > 1)}"
        raise ArgumentError("x", f"must have {wanted}", f"got shape {np.shape(x)}")
    return values


def _places(labels: Floats, levels: Floats) -> Codes:
    place = np.searchsorted(levels, labels).clip(max=len(levels) - 1)
    off = levels[place] != labels
    if off.any():
        first = labels[off][0]
        raise ArgumentError("y", f"must be one of the levels {', '.join(map(short, levels))}", f"got {short(first)}")
    return np.asarray(place, dtype=np.intp)
