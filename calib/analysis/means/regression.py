"""Regression coefficients of people's labels on covariates, with a judge's help: least squares and logistic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.moments import flat
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.laws import ALTERNATIVES, Student
from calib.core.numeric import matrix_product
from calib.core.result import ColumnarResult, Interval, bracket, short

_ROWS = 1 << 14  # rows that fit the processor's cache with what is computed of them
_NOTHING = 1e-20  # of a sum of squares, what rounding may leave
_STEPS = 100
_FLAT = 1e-7  # of the curvature at the start, what is taken for none
_PRIOR = 1.0  # items' worth of belief that the judge's score says nothing beyond the covariates


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionEstimate(ColumnarResult):
    """Coefficients with intervals, one per column.

    Attributes
    ----------
    names : tuple of str
    estimate, std_error, low, high : ndarray, shape (d,)
        With the ends of the intervals.
    p_value, df : ndarray, shape (d,)
        Of "this coefficient is 0", from the same law as the interval; degrees of freedom of its t quantile.
    confidence_level : float
    alternative, model : str
    lam : float
        Weight of the judge; 0 means that only the labels speak.
    n_labels, n : int
        Items with a human label; items in all.
    warnings : tuple of str
    """

    _cells = "model names estimate std_error low high p_value df lam n_labels n"

    names: tuple[str, ...]
    estimate: Floats = field(compare=False)
    std_error: Floats = field(compare=False)
    low: Floats = field(compare=False)
    high: Floats = field(compare=False)
    p_value: Floats = field(compare=False, repr=False)
    df: Floats = field(compare=False, repr=False)
    confidence_level: float
    alternative: str
    model: str
    lam: float
    n_labels: int
    n: int
    warnings: tuple[str, ...]

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """One per coefficient."""
        return tuple(Interval(float(a), float(b)) for a, b in zip(self.low, self.high, strict=True))

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.model: True, "d": len(self.names)}
        terms |= {"alt": self.alternative, "cl": self.confidence_level, "lam": round(self.lam, 4)}
        return terms | {"labels": self.n_labels, "n": self.n}

    def __str__(self) -> str:
        parts = (
            f"{name} = {short(value)}, {bracket(ends, self.confidence_level)}"
            for name, value, ends in zip(self.names, self.estimate, self.intervals, strict=True)
        )
        return f"{'; '.join(parts)}; from {self.n_labels} human labels and {self.n} judge scores ({self.model})"


def ppi_ols(
    X: ArrayLike,  # noqa: N803 - the design matrix
    y: ArrayLike,
    f: ArrayLike,
    X_unlabeled: ArrayLike,  # noqa: N803
    f_unlabeled: ArrayLike,
    *,
    lam: float | None = None,
    names: Sequence[str] | None = None,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
) -> RegressionEstimate:
    r"""Least squares coefficients of human labels on covariates, with the judge's help.

    .. math:: \hat\theta = \hat\beta_{gold}(y - b f) + b \, \hat\beta_{all}(f), \qquad
              b = \frac{\tilde f' y}{\tilde f' \tilde f + s^2}

    with the least squares coefficients :math:`\hat\beta`, and what the covariates do not explain of the judge's
    scores on the labelled items, :math:`\tilde f`, and of all of them, s^2. It is the coefficient of the judge's score
    as one more covariate, shrunk a little, so the t quantiles know that it was estimated. Variance: on the labelled
    items the larger of the usual and the HC3 form, and b^2 times the sandwich of :math:`\hat\beta_{all}(f)`;
    Satterthwaite's degrees of freedom. With a column of ones alone it is the mean of `ppi_mean` without bounds.

    Parameters
    ----------
    X, X_unlabeled : array_like, shape (n, d) and (N, d)
        Covariates of the labelled items and of the rest. No intercept is added: put a column of ones.
    y, f : array_like, shape (n,)
        Human labels and judge scores of the labelled items.
    f_unlabeled : array_like, shape (N,)
        Judge scores of the rest.
    lam : float, optional
        A fixed weight of the judge: :math:`\hat\beta_{gold}(y - \lambda f) + \lambda \hat\beta_{rest}(f)`;
        0 is the classical regression with HC3, 1 is PPI without tuning.
    names : sequence of str, optional
        Of the columns.
    alternative : {"two-sided", "greater", "less"}
    confidence_level : float, default 0.95

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
    data = _regressors(X, y, f, X_unlabeled, f_unlabeled, names)
    # regression under double sampling, on covariates and the judge; or with a fixed weight of the judge
    x, labels, scores, n, d = data.x, data.y, data.f, data.n, data.x.shape[1]
    rest = (data.x_rest, data.f_rest)
    judged, variance, spread = _judge_fit([(x, scores), rest] if lam is None else [rest])
    inverse = np.linalg.inv(matrix_product(x.T, x))
    hat = matrix_product(x, inverse)
    own = matrix_product(hat.T, scores)
    beyond = scores - matrix_product(x, own)  # of the judge, on the labelled items
    square = float(matrix_product(beyond, beyond))
    base = square + _PRIOR * spread
    # else the covariates say all that the judge does
    helps = lam is None and base > _NOTHING * float(matrix_product(scores, scores))
    slope = float(matrix_product(beyond, labels)) / base if helps else lam or 0.0
    shrink = 1 / base if helps else 0.0
    gap = judged - own
    corrected = labels - slope * scores
    theta = matrix_product(hat.T, corrected)
    error = corrected - matrix_product(x, theta)
    p = d + square * shrink
    left = float(matrix_product(error, error))
    usual = left / (n - p) * (np.diag(inverse) + gap**2 * square * shrink**2)
    leverage = np.sum(hat * x, axis=1) + beyond**2 * shrink
    pull = hat + np.outer(beyond * shrink, gap)
    robust = (n - 1) / n * np.sum((pull * _left_out_errors(error, leverage)[:, None]) ** 2, axis=0)
    varies = left > _NOTHING * float(matrix_product(labels, labels))  # else nothing is left to tell the spread
    weight = slope * data.rest / (n + data.rest) if lam is None else lam
    fit = RegressionFit(theta + slope * judged, np.maximum(usual, robust) * varies, slope**2 * variance, n - p, weight)
    return _regression(data, fit, "OLS", alternative, confidence_level)


def _judge_fit(parts: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[Floats, Floats, float]:
    """Least squares of judge scores on covariates: coefficients, their variances, residual variance."""
    d, n = parts[0][0].shape[1], sum(len(f) for _, f in parts)
    gram, cross = np.zeros((d, d)), np.zeros(d)
    for x, f in (block for part in parts for block in _row_blocks(*part)):
        gram += matrix_product(x.T, x)
        cross += matrix_product(x.T, f)
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        raise ArgumentError("X_unlabeled", "must have columns that do not depend on each other", "they do") from None
    theta = inverse @ cross
    meat, squares = np.zeros((d, d)), 0.0
    for x, f in (block for part in parts for block in _row_blocks(*part)):
        error = f - matrix_product(x, theta)
        pull = x * error[:, None]
        meat += matrix_product(pull.T, pull)
        squares += float(matrix_product(error, error))
    # HC1: with a column of ones alone the usual variance of a mean
    return theta, np.diag(inverse @ meat @ inverse) * n / (n - d), squares / (n - d)


# --- yes or no: the corrected logistic loss ---------------------------------------------------------------------------


def ppi_logistic(
    X: ArrayLike,  # noqa: N803
    y: ArrayLike,
    f: ArrayLike,
    X_unlabeled: ArrayLike,  # noqa: N803
    f_unlabeled: ArrayLike,
    *,
    lam: float | None = None,
    names: Sequence[str] | None = None,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
) -> RegressionEstimate:
    r"""Logistic regression of human yes or no on covariates, with the judge's help.

    The coefficients minimise the corrected loss

    .. math:: L_{gold}(\theta; y) - \lambda L_{gold}(\theta; f) + \lambda L_{rest}(\theta; f)

    of mean logistic losses, which is convex for lambda within [0, 1]. Lambda is tuned for the least sum of the
    coefficients' variances, each in units of its variance without the judge. The labelled items' part of the variance
    has HC3's leverages, the quantiles are of t with Satterthwaite's degrees of freedom, where that part has 2 m (n - m)
    / n - d for m labels that are yes: it rests on those of the rarer outcome.

    Parameters
    ----------
    X, X_unlabeled : array_like, shape (n, d) and (N, d)
        Covariates; no intercept is added.
    y, f, f_unlabeled : array_like, shape (n,), (n,) and (N,)
        Human labels, 0 or 1; the judge's yes and no, or its probabilities of a yes.
    lam : float, optional
        A fixed weight of the judge, within [0, 1].
    names, alternative, confidence_level
        As for `ppi_ols`.

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
    data = _regressors(X, y, f, X_unlabeled, f_unlabeled, names)
    for name, values in (("y", data.y), ("f", data.f), ("f_unlabeled", data.f_rest)):
        if values.min() < 0 or values.max() > 1:
            raise ArgumentError(name, "must be within [0, 1]", f"goes from {values.min():g} to {values.max():g}")
    if len(np.unique(data.y)) < 2:
        raise ArgumentError("y", "must hold both outcomes", f"all {data.n} labels are {data.y[0]:g}")
    if lam is not None and not 0 <= lam <= 1:
        raise ArgumentError("lam", "must be within [0, 1]", f"got {lam!r}")
    n, rest, d = data.n, data.rest, data.x.shape[1]
    theta, weight = np.zeros(d), lam or 0.0
    if lam is None:
        # at the fit to the labels alone, or if these are separated, with the judge's help
        for share in (0.0, 0.5, 1.0):
            try:
                theta = _minimum(data, share, np.zeros(d))
                break
            except ValueError:
                if share == 1:
                    raise
        weight = _tuned_lam(data, theta)
    theta = _minimum(data, weight, theta)
    mean, label, own, hessian = _labelled_at(data, theta)
    gradient, meat, hessian_rest = _weighted_sums(data.x_rest, data.f_rest, theta)
    bread = np.linalg.inv((1 - weight) * hessian / n + weight * hessian_rest / rest)
    leverage = mean * (1 - mean) * np.sum(matrix_product(data.x, np.linalg.inv(hessian)) * data.x, axis=1)
    pull = label - weight * own
    pull = _left_out_errors(pull - pull.mean(axis=0), leverage)
    residual = np.sum(matrix_product(pull, bread) ** 2, axis=0) / n**2
    judge = weight**2 * np.diag(bread @ _covariance(gradient, meat, rest) @ bread) / rest
    # as many labels as both outcomes bring together: their harmonic mean, n / 2 where they are equally frequent
    both = float(2 * data.y.sum() * (1 - data.y).sum() / len(data.y))
    fit = RegressionFit(theta, residual, judge, min(n - d, max(both - d, 1)), weight)
    return _regression(data, fit, "logistic", alternative, confidence_level)


def _weighted_sums(
    x: NDArray[Any], y: NDArray[Any], theta: Floats, *, meat: bool = True
) -> tuple[Floats, Floats, Floats]:
    """Sums over items of x r, of x x' r^2 and of x x' w, with r the mean less the target."""
    d = len(theta)
    gradient, squares, hessian = np.zeros(d), np.zeros((d, d)), np.zeros((d, d))
    for block, goal in _row_blocks(x, y):
        mean = special.expit(matrix_product(block, theta))
        error = mean - goal
        gradient += matrix_product(block.T, error)
        hessian += matrix_product((block * (mean * (1 - mean))[:, None]).T, block)
        if meat:
            pull = block * error[:, None]
            squares += matrix_product(pull.T, pull)
    return gradient, squares, hessian


def _covariance(gradient: Floats, meat: Floats, n: int) -> Floats:
    """Of the items' gradients, from their sums."""
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
    slope, _, curve = _weighted_sums(data.x, data.y, theta, meat=False)
    if not lam:
        return slope / data.n, curve / data.n
    own, *_ = _weighted_sums(data.x, data.f, theta, meat=False)
    rest, _, curve_rest = _weighted_sums(data.x_rest, data.f_rest, theta, meat=False)
    curve = (1 - lam) * curve / data.n + lam * curve_rest / data.rest
    return (slope - lam * own) / data.n + lam * rest / data.rest, curve


def _labelled_at(data: Regressors, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Each labelled item's chance, its gradient with its label and with the judge's score, and their hessian."""
    mean = special.expit(matrix_product(data.x, theta))
    hessian = matrix_product((data.x * (mean * (1 - mean))[:, None]).T, data.x)
    return mean, data.x * (mean - data.y)[:, None], data.x * (mean - data.f)[:, None], hessian


def _tuned_lam(data: Regressors, theta: Floats) -> float:
    n, rest = data.n, data.rest
    _, label, own, hessian = _labelled_at(data, theta)
    gradient, meat, hessian_rest = _weighted_sums(data.x_rest, data.f_rest, theta)
    inverse = np.linalg.inv((hessian + hessian_rest) / (n + rest))
    alone = np.diag(inverse @ np.cov(label.T).reshape(inverse.shape) @ inverse)
    twice = matrix_product((label - label.mean(axis=0)).T, own - own.mean(axis=0))
    cross = np.diag(inverse @ ((twice + twice.T) / n) @ inverse) / 2
    every = _covariance(gradient + own.sum(axis=0), meat + matrix_product(own.T, own), n + rest)
    judge, varies = np.diag(inverse @ every @ inverse), alone > 0
    return float(np.clip(np.sum((cross / alone)[varies]) / ((1 + n / rest) * np.sum((judge / alone)[varies])), 0, 1))


class Regressors(NamedTuple):
    """Covariates, labels and judge scores of the labelled items, and those of the rest."""

    x: Floats
    y: Floats
    f: Floats
    x_rest: NDArray[Any]
    f_rest: NDArray[Any]
    names: tuple[str, ...]
    n: int
    rest: int


class RegressionFit(NamedTuple):
    """Coefficients, the two parts of their variances, and degrees of freedom of the first."""

    theta: Floats
    residual: Floats
    judge: Floats
    df: float
    lam: float


def _regressors(
    x_labelled: ArrayLike, y: ArrayLike, f: ArrayLike, others: ArrayLike, f_others: ArrayLike,
    names: Sequence[str] | None,
) -> Regressors:  # fmt: skip
    x, labels, scores = check.array(x_labelled, "X", ndim=2), check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
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
        for start in range(0, len(values), _ROWS):  # a sum shows it, without a mask of the whole
            block = values[start : start + _ROWS]
            if values.dtype.kind == "f" and not np.isfinite(block.sum()) and not np.isfinite(block).all():
                row = start + int(np.argwhere(~np.isfinite(block))[0][0])
                raise ArgumentError(name, "must be finite", f"has NaN or infinity at {row}")
    if np.linalg.matrix_rank(x) < d:
        raise ArgumentError("X", "must have columns that do not depend on each other on the labelled items", "they do")
    columns = getattr(x_labelled, "columns", None) if names is None else names
    words = tuple(f"x{i}" for i in range(d)) if columns is None else tuple(map(str, columns))
    if len(words) != d:
        raise ArgumentError("names", f"must name the {d} columns of {{0}}", f"got {len(words)}", mentions=("X",))
    return Regressors(x, labels, scores, x_rest, f_rest, words, n, len(f_rest))


def _regression(
    data: Regressors, fit: RegressionFit, model: str, alternative: str, confidence_level: float
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
    varies = fit.residual > 0
    p_value = {"two-sided": np.minimum(1, 2 * np.minimum(above, below)), "greater": above, "less": below}[side]
    cautions, logistic = [], model == "logistic"
    rarer = int(min(np.sum(data.y >= 0.5), np.sum(data.y < 0.5))) if logistic else data.n
    if rarer < 10:
        what = "labels of the rarer outcome" if logistic else "labels"
        cautions.append(f"few_labels: {rarer} {what}; with fewer than 10, intervals do not hold as often as they say")
    leverage = np.sum(matrix_product(data.x, np.linalg.inv(matrix_product(data.x.T, data.x))) * data.x, axis=1)
    if leverage.max() > 1 - 1e-9:
        cautions.append(f"leverage: a coefficient hangs on labelled item {int(leverage.argmax())} alone")
    return RegressionEstimate(
        names=data.names, estimate=fit.theta, std_error=np.sqrt(variance),
        low=np.where(varies, -np.inf if side == "less" else law.low(tail), np.nan),
        high=np.where(varies, np.inf if side == "greater" else law.high(tail), np.nan),
        p_value=np.where(varies, p_value, np.nan), df=df, confidence_level=confidence, alternative=side,
        model=model, lam=fit.lam, n_labels=data.n, n=data.n + data.rest, warnings=tuple(cautions),
    )  # fmt: skip


def _row_blocks(x: NDArray[Any], f: NDArray[Any]) -> Iterator[tuple[Floats, Floats]]:
    """Covariates and scores as floats, a block of rows after the other."""
    for start in range(0, len(f), _ROWS):
        stop = start + _ROWS
        yield np.asarray(x[start:stop], dtype=float), np.asarray(f[start:stop], dtype=float)


def _left_out_errors(error: Floats, leverage: Floats) -> Floats:
    """Errors by fits without the item itself; of an item that alone fixes a coefficient there is none."""
    rest = 1 - leverage
    by = rest.reshape((-1,) + (1,) * (error.ndim - 1))
    return np.asarray(np.divide(error, by, out=np.zeros_like(error), where=by > 1e-9))
