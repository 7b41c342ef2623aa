"""Logistic regression coefficients for human yes or no, with the judge's help."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.methods import estimator_of
from calib.analysis.means.regression import (
    Fit,
    RegressionEstimate,
    Regressors,
    left_out_errors,
    regression_of,
    regressors_of,
    row_blocks,
)
from calib.core.check import ArgumentError, Floats
from calib.core.numeric import matrix_product

_STEPS = 100
_FLAT = 1e-7  # of the curvature at the start, what is taken for none


def ppi_logistic(
    X: ArrayLike,  # noqa: N803
    y: ArrayLike,
    f: ArrayLike,
    X_unlabeled: ArrayLike,  # noqa: N803
    f_unlabeled: ArrayLike,
    *,
    lam: float | None = None,
    names: Sequence[str] | None = None,
    estimator: str = "auto",
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
    method: str | None = None,
) -> RegressionEstimate:
    r"""Logistic regression of human yes or no on covariates, with the judge's help.

    The coefficients minimise the corrected loss

    .. math:: L_{gold}(\theta; y) - \lambda L_{gold}(\theta; f) + \lambda L_{rest}(\theta; f)

    of mean logistic losses, which is convex for lambda within [0, 1]. Lambda is tuned for the least sum of the
    coefficients' variances, each in units of its variance without the judge, so that the units of a covariate
    do not matter. The gold items' part of the variance has HC3's leverages, the quantiles are of t with
    Satterthwaite's degrees of freedom, where that part has 2 m (n - m) / n - d for m labels that are yes: it rests on
    those of the rarer outcome.

    Parameters
    ----------
    X, X_unlabeled : array_like, shape (n, d) and (N, d)
        Covariates; no intercept is added.
    y : array_like, shape (n,)
        Human labels, 0 or 1.
    f, f_unlabeled : array_like, shape (n,) and (N,)
        Judge's yes and no, or its probabilities of a yes.
    lam : float, optional
        A fixed weight of the judge, within [0, 1].
    names, estimator, alternative, confidence_level, method
        As for `ppi_ols`.

    Returns
    -------
    RegressionEstimate

    Raises
    ------
    ValueError
        As `ppi_ols`; and if labels or scores leave [0, 1], or the labels are separated so that no finite
        coefficients fit them best.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    >>> chance = 1 / (1 + np.exp(-X @ [0.5, 1]))
    >>> y = (rng.random(2000) < chance).astype(float)
    >>> f = np.where(rng.random(2000) < 0.9, y, 1 - y)
    >>> result = ppi_logistic(X[:200], y[:200], f[:200], X[200:], f[200:])
    >>> result.estimate.round(2), round(result.lam, 2)
    (array([0.67, 1.2 ]), 0.57)
    """
    data = regressors_of(X, y, f, X_unlabeled, f_unlabeled, names)
    estimator = estimator_of(estimator, method, ("auto",))
    for name, values in (("y", data.y), ("f", data.f), ("f_unlabeled", data.f_rest)):
        if values.min() < 0 or values.max() > 1:
            raise ArgumentError(name, "must be within [0, 1]", f"goes from {values.min():g} to {values.max():g}")
    if len(np.unique(data.y)) < 2:
        raise ArgumentError("y", "must hold both outcomes", f"all {data.n} labels are {data.y[0]:g}")
    if lam is not None and not 0 <= lam <= 1:
        raise ArgumentError("lam", "must be within [0, 1]", f"got {lam!r}")
    return regression_of(data, _fit_corrected(data, lam), estimator, "logistic", alternative, confidence_level)


# --- the corrected loss -----------------------------------------------------------------------------------------


def _sums_of(x: NDArray[Any], y: NDArray[Any], theta: Floats, *, meat: bool = True) -> tuple[Floats, Floats, Floats]:
    """Sums over items of x r, of x x' r^2 and of x x' w, with r the mean less the target."""
    d = len(theta)
    gradient, squares, hessian = np.zeros(d), np.zeros((d, d)), np.zeros((d, d))
    for block, goal in row_blocks(x, y):
        mean = special.expit(matrix_product(block, theta))
        error = mean - goal
        gradient += matrix_product(block.T, error)
        hessian += matrix_product((block * (mean * (1 - mean))[:, None]).T, block)
        if meat:
            pull = block * error[:, None]
            squares += matrix_product(pull.T, pull)
    return gradient, squares, hessian


def _covariance(gradient: Floats, meat: Floats, n: int) -> Floats:
    mean = gradient / n
    return np.asarray((meat - n * np.outer(mean, mean)) / (n - 1))


def _minimum(data: Regressors, lam: float, start: Floats) -> Floats:
    """Newton's method on the corrected loss, with steps halved until the gradient shrinks."""
    theta, (slope, curve) = start, _corrected_slope(data, lam, start)
    flat_at = _FLAT * float(np.linalg.eigvalsh(curve)[0])
    for _ in range(_STEPS):
        if float(np.linalg.eigvalsh(curve)[0]) <= flat_at:
            break  # all chances are near 0 and 1: the minimum is at infinity
        step, size = np.linalg.solve(curve, slope), float(np.abs(slope).max())
        new = _corrected_slope(data, lam, theta - step)
        for _ in range(_STEPS):
            if float(np.abs(new[0]).max()) < size or np.abs(step).max() < 1e-12:
                break
            step = step / 2
            new = _corrected_slope(data, lam, theta - step)
        theta, (slope, curve) = theta - step, new
        if np.abs(step).max() < 1e-10 * (1 + np.abs(theta).max()):
            return np.asarray(theta)
    rule = "must not be separated by the columns of {0}"
    raise ArgumentError("y", rule, "no finite coefficients fit it best", mentions=("X",))


def _corrected_slope(data: Regressors, lam: float, theta: Floats) -> tuple[Floats, Floats]:
    # r = mean - y - lam (mean - f) = (1 - lam) mean - (y - lam f)
    slope, _, curve = _sums_of(data.x, data.y, theta, meat=False)
    if not lam:
        return slope / data.n, curve / data.n
    own, *_ = _sums_of(data.x, data.f, theta, meat=False)
    rest, _, curve_rest = _sums_of(data.x_rest, data.f_rest, theta, meat=False)
    curve = (1 - lam) * curve / data.n + lam * curve_rest / data.rest
    return (slope - lam * own) / data.n + lam * rest / data.rest, curve


def _gold_at(data: Regressors, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Each gold item's chance, its gradient with its label and with the judge's score, and their hessian."""
    mean = special.expit(matrix_product(data.x, theta))
    hessian = matrix_product((data.x * (mean * (1 - mean))[:, None]).T, data.x)
    return mean, data.x * (mean - data.y)[:, None], data.x * (mean - data.f)[:, None], hessian


def _fit_corrected(data: Regressors, fixed: float | None) -> Fit:
    """The corrected loss with leverages, t quantiles, and a lambda that does not depend on the units of X."""
    n, rest, d = data.n, data.rest, data.x.shape[1]
    theta, lam = np.zeros(d), fixed or 0.0
    if fixed is None:
        theta = _first_guess(data)
        lam = _tuned_lam(data, theta)
    theta = _minimum(data, lam, theta)
    mean, label, own, hessian = _gold_at(data, theta)
    gradient, meat, hessian_rest = _sums_of(data.x_rest, data.f_rest, theta)
    bread = np.linalg.inv((1 - lam) * hessian / n + lam * hessian_rest / rest)
    leverage = mean * (1 - mean) * np.sum(matrix_product(data.x, np.linalg.inv(hessian)) * data.x, axis=1)
    pull = label - lam * own
    pull = left_out_errors(pull - pull.mean(axis=0), leverage)
    residual = np.sum(matrix_product(pull, bread) ** 2, axis=0) / n**2
    judge = lam**2 * np.diag(bread @ _covariance(gradient, meat, rest) @ bread) / rest
    return Fit(theta, residual, judge, min(n - d, max(_spread_over(data.y) - d, 1)), lam)


def _spread_over(y: Floats) -> float:
    """As many labels as both outcomes bring together: their harmonic mean, n / 2 where they are equally frequent.

    A variance rests on the labels of the rarer outcome, so its degrees of freedom do, too.
    """
    return float(2 * y.sum() * (1 - y).sum() / len(y))


def _first_guess(data: Regressors) -> Floats:
    """Coefficients to tune lambda at: of the labels alone, or if these are separated, with what the judge adds."""
    start = np.zeros(data.x.shape[1])
    for lam in (0.0, 0.5):
        with suppress(ValueError):
            return _minimum(data, lam, start)
    return _minimum(data, 1.0, start)


def _tuned_lam(data: Regressors, theta: Floats) -> float:
    n, rest = data.n, data.rest
    _, label, own, hessian = _gold_at(data, theta)
    gradient, meat, hessian_rest = _sums_of(data.x_rest, data.f_rest, theta)
    inverse = np.linalg.inv((hessian + hessian_rest) / (n + rest))
    alone = np.diag(inverse @ np.cov(label.T).reshape(inverse.shape) @ inverse)
    twice = matrix_product((label - label.mean(axis=0)).T, own - own.mean(axis=0))
    cross = np.diag(inverse @ ((twice + twice.T) / n) @ inverse) / 2
    every = _covariance(gradient + own.sum(axis=0), meat + matrix_product(own.T, own), n + rest)
    judge, known = np.diag(inverse @ every @ inverse), alone > 0
    return float(np.clip(np.sum((cross / alone)[known]) / ((1 + n / rest) * np.sum((judge / alone)[known])), 0, 1))
