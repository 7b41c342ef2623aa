"""Least squares coefficients for human labels, from a few of them and many judge scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.methods import Estimated, estimator_of
from calib.analysis.means.moments import flat
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.laws import ALTERNATIVES, Student
from calib.core.numeric import matrix_product
from calib.core.result import Columns, Interval, bracket, short

_ROWS = 1 << 14  # rows that fit the processor's cache with what is computed of them
_NOTHING = 1e-20  # of a sum of squares, what rounding may leave
_PRIOR = 1.0  # items' worth of belief that the judge's score says nothing beyond the covariates


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionEstimate(Columns, Estimated):
    """Coefficients with intervals, one per column.

    Attributes
    ----------
    names : tuple of str
    estimate, std_error : ndarray, shape (d,)
    low, high : ndarray, shape (d,)
        Ends of the intervals.
    p_value : ndarray, shape (d,)
        Of "this coefficient is 0", from the same law as the interval.
    df : ndarray, shape (d,)
        Degrees of freedom of the t quantiles.
    confidence_level : float
    alternative, estimator, model : str
    lam : float
        Weight of the judge; 0 means that only the labels speak.
    n_gold, n : int
        Items with a human label; items in all.
    warnings : tuple of str
    """

    _cells = "estimator model names estimate std_error low high p_value df lam n_gold n"

    names: tuple[str, ...]
    estimate: Floats = field(compare=False)
    std_error: Floats = field(compare=False)
    low: Floats = field(compare=False)
    high: Floats = field(compare=False)
    p_value: Floats = field(compare=False, repr=False)
    df: Floats = field(compare=False, repr=False)
    confidence_level: float
    alternative: str
    estimator: str
    model: str
    lam: float
    n_gold: int
    n: int
    warnings: tuple[str, ...]

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """One per coefficient."""
        return tuple(Interval(float(a), float(b)) for a, b in zip(self.low, self.high, strict=True))

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.model: True, "method": self.estimator, "d": len(self.names)}
        terms |= {"alt": self.alternative, "cl": self.confidence_level, "lam": round(self.lam, 4)}
        return terms | {"gold": self.n_gold, "n": self.n}

    def __str__(self) -> str:
        parts = (
            f"{name} = {short(value)}, {bracket(ends, self.confidence_level)}"
            for name, value, ends in zip(self.names, self.estimate, self.intervals, strict=True)
        )
        return f"{'; '.join(parts)}; from {self.n_gold} human labels and {self.n} judge scores ({self.model})"


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
    scores on the gold items, :math:`\tilde f`, and of all of them, s^2. It is the coefficient of the judge's score as
    one more covariate, shrunk a little, so the t quantiles know that it was estimated. Variance: on the gold items
    the larger of the usual and the HC3 form, and b^2 times the sandwich of :math:`\hat\beta_{all}(f)`;
    Satterthwaite's degrees of freedom. With a column of ones alone it is the mean of `ppi_mean` without bounds.

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
    Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453 (`ppi_logistic`: sections 3 and 6); Chen and Chen
    (2000), Journal of the Royal Statistical Society B 62:449-460; MacKinnon and White (1985), Journal of Econometrics
    29:305-325, for HC3.

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


# --- what logistic regression shares ----------------------------------------------------------------------------


class Regressors(NamedTuple):
    """Covariates, labels and judge scores of the gold items, and those of the rest."""

    x: Floats
    y: Floats
    f: Floats
    x_rest: NDArray[Any]
    f_rest: NDArray[Any]
    names: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def rest(self) -> int:
        return len(self.f_rest)


class Fit(NamedTuple):
    """Coefficients, the two parts of their variances, and degrees of freedom of the first."""

    theta: Floats
    residual: Floats
    judge: Floats
    df: float
    lam: float


def regressors_of(
    given: ArrayLike, y: ArrayLike, f: ArrayLike, others: ArrayLike, f_others: ArrayLike, names: Sequence[str] | None
) -> Regressors:
    x, labels, scores = check.array(given, "X", ndim=2), check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    x_rest, f_rest = np.asarray(others), flat(f_others, "f_unlabeled")
    if x_rest.dtype.kind not in "fiub" or x_rest.ndim != 2:
        x_rest = check.array(others, "X_unlabeled", ndim=2)
    check.same_length(X=x, y=labels, f=scores)
    check.same_length(X_unlabeled=x_rest, f_unlabeled=f_rest)
    n, d = x.shape
    if x_rest.shape[1] != d:
        rule = f"must have the columns of {{0}} ({d})"
        raise ArgumentError("X_unlabeled", rule, f"has {x_rest.shape[1]}", mentions=("X",))
    if n < d + 3:
        raise ArgumentError("y", f"must have {d + 3} labels at least for {d} coefficients", f"got {n}")
    if len(f_rest) < d + 3:
        raise ArgumentError("f_unlabeled", f"must have {d + 3} scores at least", f"got {len(f_rest)}")
    for name, values in (("X", x), ("y", labels), ("f", scores), ("X_unlabeled", x_rest), ("f_unlabeled", f_rest)):
        _refuse_infinite(values, name)
    if np.linalg.matrix_rank(x) < d:
        raise ArgumentError("X", "must have columns that do not depend on each other on the gold items", "they do")
    columns = getattr(given, "columns", None) if names is None else names
    words = tuple(f"x{i}" for i in range(d)) if columns is None else tuple(map(str, columns))
    if len(words) != d:
        raise ArgumentError("names", f"must name the {d} columns of {{0}}", f"got {len(words)}", mentions=("X",))
    return Regressors(x, labels, scores, x_rest, f_rest, words)


def _refuse_infinite(values: NDArray[Any], name: str) -> None:
    for start in range(0, len(values), _ROWS):  # a sum shows it, without a mask of the whole
        block = values[start : start + _ROWS]
        if values.dtype.kind == "f" and not np.isfinite(block.sum()) and not np.isfinite(block).all():
            row = start + int(np.argwhere(~np.isfinite(block))[0][0])
            raise ArgumentError(name, "must be finite", f"has NaN or infinity at {row}")


def regression_of(
    data: Regressors, fit: Fit, estimator: str, model: str, alternative: str, confidence_level: float
) -> RegressionEstimate:
    confidence = check.probability(confidence_level, "confidence_level")
    side = check.choice(alternative, "alternative", ALTERNATIVES)
    variance = fit.residual + fit.judge
    spread = fit.residual**2 / fit.df + fit.judge**2 / (data.n + data.rest - 1)
    df = np.divide(variance**2, spread, out=np.full(len(spread), np.inf), where=(spread > 0) & np.isfinite(fit.df))
    law = Student(fit.theta, np.sqrt(variance), df)
    tail = (1 - confidence) / 2 if side == "two-sided" else 1 - confidence
    with np.errstate(invalid="ignore", divide="ignore"):
        above, below = law.tails(0.0)
    # labels without any error say nothing about their spread: no interval, rather than a point
    known = fit.residual > 0
    p_value = {"two-sided": np.minimum(1, 2 * np.minimum(above, below)), "greater": above, "less": below}[side]
    return RegressionEstimate(
        names=data.names,
        estimate=fit.theta,
        std_error=np.sqrt(variance),
        low=np.where(known, -np.inf if side == "less" else law.low(tail), np.nan),
        high=np.where(known, np.inf if side == "greater" else law.high(tail), np.nan),
        p_value=np.where(known, p_value, np.nan),
        df=df,
        confidence_level=confidence,
        alternative=side,
        estimator=estimator,
        model=model,
        lam=fit.lam,
        n_gold=data.n,
        n=data.n + data.rest,
        warnings=_label_cautions(data, model),
    )


def _label_cautions(data: Regressors, model: str) -> tuple[str, ...]:
    told = []
    rarer = int(min(np.sum(data.y >= 0.5), np.sum(data.y < 0.5))) if model == "logistic" else data.n
    if rarer < 10:
        what = "labels of the rarer outcome" if model == "logistic" else "labels"
        told.append(f"few_labels: {rarer} {what}; with fewer than 10, intervals do not hold as often as they say")
    leverage = np.sum(matrix_product(data.x, np.linalg.inv(matrix_product(data.x.T, data.x))) * data.x, axis=1)
    if leverage.max() > 1 - 1e-9:
        told.append(f"leverage: a coefficient hangs on gold item {int(leverage.argmax())} alone")
    return tuple(told)


def row_blocks(x: NDArray[Any], f: NDArray[Any]) -> Iterator[tuple[Floats, Floats]]:
    """Covariates and scores as floats, a block of rows after the other."""
    for start in range(0, len(f), _ROWS):
        stop = start + _ROWS
        yield np.asarray(x[start:stop], dtype=float), np.asarray(f[start:stop], dtype=float)


def left_out_errors(error: Floats, leverage: Floats) -> Floats:
    """Errors by fits without the item itself; of an item that alone fixes a coefficient there is none."""
    rest = 1 - leverage
    by = rest.reshape((-1,) + (1,) * (error.ndim - 1))
    return np.asarray(np.divide(error, by, out=np.zeros_like(error), where=by > 1e-9))


# --- least squares with the judge's score as one more covariate ---------------------------------------------------


def _judge_fit(parts: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[Floats, Floats, float]:
    """Least squares of judge scores on covariates: coefficients, their variances, residual variance."""
    d, n = parts[0][0].shape[1], sum(len(f) for _, f in parts)
    gram, cross = np.zeros((d, d)), np.zeros(d)
    for x, f in (block for part in parts for block in row_blocks(*part)):
        gram += matrix_product(x.T, x)
        cross += matrix_product(x.T, f)
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        raise ArgumentError("X_unlabeled", "must have columns that do not depend on each other", "they do") from None
    theta = inverse @ cross
    meat, squares = np.zeros((d, d)), 0.0
    for x, f in (block for part in parts for block in row_blocks(*part)):
        error = f - matrix_product(x, theta)
        pull = x * error[:, None]
        meat += matrix_product(pull.T, pull)
        squares += float(matrix_product(error, error))
    # HC1: with a column of ones alone the usual variance of a mean
    return theta, np.diag(inverse @ meat @ inverse) * n / (n - d), squares / (n - d)


def _fit_double_sampling(data: Regressors, fixed: float | None) -> Fit:
    """Regression under double sampling, on covariates and the judge; or with a fixed weight of the judge."""
    x, y, f, n, d = data.x, data.y, data.f, data.n, data.x.shape[1]
    rest = (data.x_rest, data.f_rest)
    judged, variance, spread = _judge_fit([(x, f), rest] if fixed is None else [rest])
    inverse = np.linalg.inv(matrix_product(x.T, x))
    hat = matrix_product(x, inverse)
    own = matrix_product(hat.T, f)
    beyond = f - matrix_product(x, own)  # of the judge, on the gold items
    square = float(matrix_product(beyond, beyond))
    base = square + _PRIOR * spread
    # else the covariates say all that the judge does
    helps = fixed is None and base > _NOTHING * float(matrix_product(f, f))
    slope = float(matrix_product(beyond, y)) / base if helps else fixed or 0.0
    shrink = 1 / base if helps else 0.0
    gap = judged - own
    corrected = y - slope * f
    theta = matrix_product(hat.T, corrected)
    error = corrected - matrix_product(x, theta)
    p = d + square * shrink
    left = float(matrix_product(error, error))
    usual = left / (n - p) * (np.diag(inverse) + gap**2 * square * shrink**2)
    leverage = np.sum(hat * x, axis=1) + beyond**2 * shrink
    pull = hat + np.outer(beyond * shrink, gap)
    robust = (n - 1) / n * np.sum((pull * left_out_errors(error, leverage)[:, None]) ** 2, axis=0)
    known = left > _NOTHING * float(matrix_product(y, y))  # else nothing is left to tell the spread
    lam = slope * data.rest / (n + data.rest) if fixed is None else fixed
    return Fit(theta + slope * judged, np.maximum(usual, robust) * known, slope**2 * variance, n - p, lam)
