"""Least squares coefficients for human labels, with the judge's score as one more covariate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

_DUST = 1e-20  # of a sum of squares, what rounding may leave
_PRIOR = 1.0  # items' worth of belief that the judge's score says nothing beyond the covariates


def ppi_ols(
    X: ArrayLike,  # noqa: N803 - the design matrix
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
    r"""Least squares coefficients of human labels on covariates, with the judge's help.

    .. math:: \hat\theta = \hat\beta_{gold}(y - b f) + b \, \hat\beta_{all}(f), \qquad
              b = \frac{\tilde f' y}{\tilde f' \tilde f + s^2}

    with the least squares coefficients :math:`\hat\beta`, and what the covariates do not explain of the judge's
    scores on the gold items, :math:`\tilde f`, and of all of them, s^2. It is the coefficient of the judge's
    score as one more covariate, shrunk a little, so the t quantiles know that it was estimated. Variance: on
    the gold items the larger of the usual and the HC3 form, and b^2 times the sandwich of
    :math:`\hat\beta_{all}(f)`; Satterthwaite's degrees of freedom. With a column of ones alone it is the mean
    of `ppi_mean` without bounds.

    Parameters
    ----------
    X, X_unlabeled : array_like, shape (n, d) and (N, d)
        Covariates of the gold items and of the rest. No intercept is added: put a column of ones.
    y, f : array_like, shape (n,)
        Human labels and judge scores of the gold items.
    f_unlabeled : array_like, shape (N,)
        Judge scores of the rest.
    lam : float, optional
        A fixed weight of the judge: :math:`\hat\beta_{gold}(y - \lambda f) + \lambda \hat\beta_{rest}(f)`;
        0 is the classical regression with HC3, 1 is PPI without tuning.
    names : sequence of str, optional
        Of the columns.
    estimator : {"auto"}
    alternative : {"two-sided", "greater", "less"}
    confidence_level : float, default 0.95
    method : str, optional
        What `estimator` was called.

    Returns
    -------
    RegressionEstimate

    Raises
    ------
    ValueError
        If shapes differ, a value is missing, columns depend on each other or there are fewer than d + 3 labels.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453; Chen and Chen (2000), Journal of the Royal
    Statistical Society B 62:449-460; MacKinnon and White (1985), Journal of Econometrics 29:305-325, for HC3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.ones(1000), rng.normal(size=1000)])
    >>> y = X @ [3, 0.5] + rng.normal(size=1000)
    >>> f = y + 0.3 + 0.5 * rng.normal(size=1000)
    >>> print(ppi_ols(X[:50], y[:50], f[:50], X[50:], f[50:], names=["one", "length"]))
    one = 2.963, 95 % CI [2.828, 3.098]; length = 0.5951, 95 % CI [0.4501, 0.74];
    from 50 human labels and 1000 judge scores (OLS)
    """
    data = regressors_of(X, y, f, X_unlabeled, f_unlabeled, names)
    estimator = estimator_of(estimator, method, ("auto",))
    return regression_of(data, _fit_double_sampling(data, lam), estimator, "OLS", alternative, confidence_level)


class _JudgeFit(NamedTuple):
    """Least squares of judge scores on covariates: coefficients, their variances, residual variance."""

    theta: Floats
    variance: Floats
    spread: float


def _judge_fit(parts: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> _JudgeFit:
    d, n = parts[0][0].shape[1], sum(len(f) for _, f in parts)
    gram, cross = np.zeros((d, d)), np.zeros(d)
    for x, f in (block for part in parts for block in row_blocks(*part)):
        gram += x.T @ x
        cross += x.T @ f
    inverse = _inverse_gram(gram)
    theta = inverse @ cross
    meat, squares = np.zeros((d, d)), 0.0
    for x, f in (block for part in parts for block in row_blocks(*part)):
        error = f - x @ theta
        pull = x * error[:, None]
        meat += pull.T @ pull
        squares += float(error @ error)
    # HC1: with a column of ones alone the usual variance of a mean
    variance = np.diag(inverse @ meat @ inverse) * n / (n - d)
    return _JudgeFit(theta, variance, squares / (n - d))


def _inverse_gram(gram: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.inv(gram))
    except np.linalg.LinAlgError:
        raise ArgumentError("X_unlabeled", "must have columns that do not depend on each other", "they do") from None


def _fit_double_sampling(data: Regressors, fixed: float | None) -> Fit:
    """Regression under double sampling, on covariates and the judge; or with a fixed weight of the judge."""
    x, y, f, n, d = data.x, data.y, data.f, data.n, data.x.shape[1]
    rest = (data.x_rest, data.f_rest)
    judge = _judge_fit([(x, f), rest] if fixed is None else [rest])
    inverse = np.linalg.inv(x.T @ x)
    hat = x @ inverse
    own = hat.T @ f
    beyond = f - x @ own  # of the judge, on the gold items
    base = float(beyond @ beyond) + _PRIOR * judge.spread
    helps = fixed is None and base > _DUST * float(f @ f)  # else the covariates say all that the judge does
    slope = float(beyond @ y) / base if helps else fixed or 0.0
    shrink = 1 / base if helps else 0.0
    gap = judge.theta - own
    error = y - slope * f
    error = error - x @ (hat.T @ error)
    p = d + float(beyond @ beyond) * shrink
    usual = float(error @ error) / (n - p) * (np.diag(inverse) + gap**2 * float(beyond @ beyond) * shrink**2)
    leverage = np.sum(hat * x, axis=1) + beyond**2 * shrink
    pull = hat + np.outer(beyond * shrink, gap)
    robust = (n - 1) / n * np.sum((pull * left_out_errors(error, leverage)[:, None]) ** 2, axis=0)
    known = float(error @ error) > _DUST * float(y @ y)  # else nothing is left to tell the spread
    theta = hat.T @ (y - slope * f) + slope * judge.theta
    lam = slope * data.rest / (n + data.rest) if fixed is None else fixed
    return Fit(theta, np.maximum(usual, robust) * known, slope**2 * judge.variance, n - p, lam)
