"""Proportional odds with a ridge: the chance of each label, given what a judge said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.calibration.proportional_odds import counted, fitted, log_likelihood, standardised, with_pseudo
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Result, short
from calib.core.units import units_of


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
    found = log_likelihood(a, b, z, table.counts)
    return OrderedLogit(
        levels=scale,
        thresholds=a + b / spread @ centre,
        slopes=b / spread,
        log_likelihood=float(found),
        ridge=float(ridge or 0.0),
        pseudo=float(pseudo),
        n=int(used.sum()),
        n_groups=len(np.unique(units_of(groups, used))),
        n_missing=int((~used).sum()),
        counts=table.counts,
    )


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
