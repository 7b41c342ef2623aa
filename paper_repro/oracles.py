"""Intervals as other programs compute them: ppi_py 0.2.3, ARES and glide, by their formulas.

calib has none of them as an estimator, since they hold less often than they say below some hundred labels
(`ppi_coverage`). tests/golden/ppi.json has what the programs themselves return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.moments import Moments, moments_of
from calib.core.laws import Student, interval_of, p_value_of
from calib.core.result import Interval
from calib.stats import ppi_logistic, ppi_ols

Floats = NDArray[np.float64]


# --- means, of many data sets at once ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Labelled:
    """Moments of the gold items of each data set: all that the formulas need."""

    n: float
    mean_y: Floats
    mean_f: Floats
    yy: Floats
    ff: Floats
    fy: Floats


def labelled(y: Floats, f: Floats) -> Labelled:
    """Of labels of shape (sets, n)."""
    mean_y, mean_f = y.mean(axis=1), f.mean(axis=1)
    dy, df = y - mean_y[:, None], f - mean_f[:, None]
    return Labelled(
        y.shape[1], mean_y, mean_f, *(np.einsum("ij,ij->i", a, b) for a, b in ((dy, dy), (df, df), (df, dy)))
    )


def tuned_lam(gold: Labelled, rest: Moments, *, ddof: int, clip: bool) -> Floats:
    """Lambda of PPI++ as ppi_py (ddof 0, within 0 and 1) and glide (ddof 1) tune it."""
    n, N = gold.n, rest.n  # noqa: N806
    pooled = (gold.ff + rest.squares + n * N / (n + N) * (gold.mean_f - rest.mean) ** 2) / (n + N - 1)
    lam = np.divide(gold.fy / (n - ddof), (1 + n / N) * pooled, out=np.zeros_like(pooled), where=pooled > 0)
    return np.clip(lam, 0, 1) if clip else lam


def corrected(gold: Labelled, rest: Moments, lam: Floats | float, ddof: int) -> tuple[Floats, Floats]:
    """Point and variance of the corrected mean."""
    errors = np.maximum(gold.yy - 2 * lam * gold.fy + lam**2 * gold.ff, 0)
    variance = errors / (gold.n - ddof) / gold.n + lam**2 * rest.squares / (rest.n - ddof) / rest.n
    return gold.mean_y + lam * (rest.mean - gold.mean_f), variance


def _lam_of(program: str, gold: Labelled, rest: Moments) -> tuple[Floats, int]:
    """Lambda, and what is taken off n in the variances."""
    ddof = int(program == "glide")
    if program == "ares":
        return np.ones_like(gold.mean_y), ddof
    return tuned_lam(gold, rest, ddof=ddof, clip=program == "ppi_py"), ddof


def normal_ends(program: str, gold: Labelled, rest: Moments, tail: float) -> tuple[Floats, Floats]:
    """The ends of a program's interval ("ppi_py", "ares", "glide")."""
    lam, ddof = _lam_of(program, gold, rest)
    point, variance = corrected(gold, rest, lam, ddof)
    half = -special.ndtri(tail) * np.sqrt(variance)
    return point - half, point + half


# --- one data set -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Peer:
    """What a program says of one data set."""

    estimate: float
    std_error: float
    interval: Interval
    p_value: float
    lam: float


def mean(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments,
    program: str,
    alternative: str = "two-sided",
    null: float = np.nan,
    confidence_level: float = 0.95,
) -> Peer:
    """Mean human score of one data set."""
    gold = labelled(np.asarray(y, float)[None], np.asarray(f, float)[None])
    one = f_unlabeled if isinstance(f_unlabeled, Moments) else moments_of(f_unlabeled, "f_unlabeled")
    rest = Moments(*(np.atleast_1d(getattr(one, name)) for name in Moments.__slots__))
    lam, ddof = _lam_of(program, gold, rest)
    point, error = (float(v[0]) for v in corrected(gold, rest, lam, ddof))
    law = Student(point, np.sqrt(error), np.inf)
    ends = interval_of(law, confidence_level, alternative)
    return Peer(point, float(law.error), ends, p_value_of(law, null, alternative), float(lam[0]))


def quantile(y: ArrayLike, f: ArrayLike, f_unlabeled: ArrayLike, q: float, confidence_level: float = 0.95) -> Peer:
    """ppi_py with `exact_grid`: all g with abs(F(g) - q) within z errors, F = F_rest(f) + F_gold(y) - F_gold(f)."""
    gold, judged, rest = (np.asarray(v, float) for v in (y, f, f_unlabeled))
    grid = np.unique(np.concatenate([gold, judged, rest]))

    def count(values: Floats) -> NDArray[np.intp]:
        return np.searchsorted(np.sort(values), grid, side="right")

    n, up, said, both = len(gold), count(gold), count(judged), count(np.maximum(gold, judged))
    far, gap = count(rest) / len(rest), (up - said) / n  # of whole counts: ties of the estimate hang on rounding
    spread = np.maximum(far * (1 - far), 0) / len(rest) + np.maximum((up + said - 2 * both) / n - gap**2, 0) / n
    off = np.abs(far + gap - q)
    kept = grid[off < special.ndtri((1 + confidence_level) / 2) * np.sqrt(spread)]
    kept = kept if len(kept) else np.array([np.nan])  # on an ordinal scale it may be that no score is
    return Peer(float(grid[np.argmin(off)]), np.nan, Interval(float(kept[0]), float(kept[-1])), np.nan, np.nan)


# --- coefficients -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Coefficients with the ends of their intervals."""

    estimate: Floats
    low: Floats
    high: Floats
    lam: float


def ols(*data: ArrayLike, lam: float | None = None, confidence_level: float = 0.95) -> Coefficients:
    """ppi_py: lambda is tuned for the least trace at the coefficients of lambda = 1, and again at those that it gives.

    Data: covariates, labels and judge scores of the gold items, covariates and judge scores of the rest.
    """
    return _coefficients(partial(ppi_ols, *data), lambda eta: (eta, np.ones_like(eta)), data, lam, confidence_level)


def logistic(*data: ArrayLike, lam: float | None = None, confidence_level: float = 0.95) -> Coefficients:
    """The same of yes and no."""

    def chance(eta: Floats) -> tuple[Floats, Floats]:
        p = special.expit(eta)
        return p, p * (1 - p)

    return _coefficients(partial(ppi_logistic, *data), chance, data, lam, confidence_level)


def _coefficients(
    fit: Callable[..., Any],
    curve: Callable[[Floats], tuple[Floats, Floats]],
    data: tuple[ArrayLike, ...],
    lam: float | None,
    confidence_level: float,
) -> Coefficients:
    arrays = tuple(np.asarray(v, float) for v in data)
    n, rest, part = len(arrays[1]), len(arrays[4]), 1.0 if lam is None else lam
    theta = fit(lam=part).estimate  # at a fixed lambda there is one minimum, whoever finds it
    for _ in range(2 if lam is None else 0):
        label, own, far, inverse = _pulls(arrays, theta, curve, part)
        cross = np.trace(inverse @ _twice(label, own) @ inverse)
        pooled = np.cov(np.concatenate([own, far]).T).reshape(inverse.shape)
        part = float(np.clip(cross / (2 * (1 + n / rest) * np.trace(inverse @ pooled @ inverse)), 0, 1))
        theta = fit(lam=part).estimate
    label, own, far, inverse = _pulls(arrays, theta, curve, part)
    gold, judge = (np.cov(v.T).reshape(inverse.shape) for v in (label - part * own, far))
    variance = inverse @ (gold / n + part**2 * judge / rest) @ inverse
    half = special.ndtri((1 + confidence_level) / 2) * np.sqrt(np.diag(variance))
    return Coefficients(theta, theta - half, theta + half, part)


def _pulls(arrays: tuple[Floats, ...], theta: Floats, curve: Callable[..., Any], lam: float) -> tuple[Floats, ...]:
    """Gradients with labels, with the judge's scores beside them and of the rest, and the inverse of the Hessian.

    Without the judge that is of the gold items alone.
    """
    x, y, f, x_rest, f_rest = arrays
    mean, weight = curve(x @ theta)
    mean_rest, weight_rest = curve(x_rest @ theta)
    hessian, count = (x * weight[:, None]).T @ x, len(y)
    if lam:
        hessian, count = hessian + (x_rest * weight_rest[:, None]).T @ x_rest, count + len(f_rest)
    pulls = x * (mean - y)[:, None], x * (mean - f)[:, None], x_rest * (mean_rest - f_rest)[:, None]
    return *pulls, np.linalg.inv(hessian / count)


def _twice(label: Floats, judge: Floats) -> Floats:
    a, b = label - label.mean(axis=0), judge - judge.mean(axis=0)
    return np.asarray((a.T @ b + b.T @ a) / len(a))
