"""Regression coefficients for human labels, from a few of them and many judge scores."""

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
from calib.core.result import Interval, Result, bracket, short

METHODS = ("auto", "ppi_py")
_BLOCK = 1 << 14  # rows that fit the processor's cache with what is computed of them
_STEPS = 100
_FLAT = 1e-7  # of the curvature at the start, what is taken for none
_DUST = 1e-20  # of a sum of squares, what rounding may leave
_PRIOR = 1.0  # items' worth of belief that the judge's score says nothing beyond the covariates


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionEstimate(Result):
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
    alternative, method, model : str
    lam : float
        Weight of the judge; 0 means that only the labels speak.
    n_gold, n : int
        Items with a human label; items in all.
    warnings : tuple of str
    """

    names: tuple[str, ...]
    estimate: Floats = field(compare=False)
    std_error: Floats = field(compare=False)
    low: Floats = field(compare=False)
    high: Floats = field(compare=False)
    p_value: Floats = field(compare=False, repr=False)
    df: Floats = field(compare=False, repr=False)
    confidence_level: float
    alternative: str
    method: str
    model: str
    lam: float
    n_gold: int
    n: int
    warnings: tuple[str, ...]

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """One per coefficient."""
        return tuple(Interval(float(a), float(b)) for a, b in zip(self.low, self.high, strict=True))

    def _rows(self) -> list[dict[str, Any]]:
        numbers = zip(self.estimate, self.std_error, self.low, self.high, self.p_value, self.df, strict=True)
        keys = ("estimate", "std_error", "conf_low", "conf_high", "p_value", "df")
        rest = {"lam": self.lam, "n_gold": self.n_gold, "n": self.n}
        head = {"estimator": self.method, "model": self.model}
        return [
            head | {"term": name} | dict(zip(keys, map(float, row), strict=True)) | rest
            for name, row in zip(self.names, numbers, strict=True)
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.model: True, "method": self.method, "d": len(self.names)}
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
    method: str = "auto",
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
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
    method : {"auto", "ppi_py"}
        "ppi_py": lambda tuned for the least trace, normal quantiles, as that package does. Too short below
        some 100 labels.
    alternative : {"two-sided", "greater", "less"}
    confidence_level : float, default 0.95

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
    data = _given(X, y, f, X_unlabeled, f_unlabeled, names)
    how = check.choice(method, "method", METHODS)
    fit = _ppi_py(data, _LINEAR, _ols_point, lam) if how == "ppi_py" else _double(data, lam)
    return _result(data, fit, how, "OLS", alternative, confidence_level)


def ppi_logistic(
    X: ArrayLike,  # noqa: N803
    y: ArrayLike,
    f: ArrayLike,
    X_unlabeled: ArrayLike,  # noqa: N803
    f_unlabeled: ArrayLike,
    *,
    lam: float | None = None,
    names: Sequence[str] | None = None,
    method: str = "auto",
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
) -> RegressionEstimate:
    r"""Logistic regression of human yes or no on covariates, with the judge's help.

    The coefficients minimise the corrected loss

    .. math:: L_{gold}(\theta; y) - \lambda L_{gold}(\theta; f) + \lambda L_{rest}(\theta; f)

    of mean logistic losses, which is convex for lambda within [0, 1]. Lambda is tuned for the least sum of the
    coefficients' variances, each in units of its variance without the judge, so that the units of a covariate
    do not matter. The gold items' part of the variance has HC3's leverages, the quantiles are of t with
    Satterthwaite's degrees of freedom.

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
    names, method, alternative, confidence_level
        As for `ppi_ols`.

    Returns
    -------
    RegressionEstimate

    Raises
    ------
    ValueError
        As `ppi_ols`; and if labels or scores leave [0, 1], or the labels are separated so that no finite
        coefficients fit them best.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453, sections 3 and 6.

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
    data = _given(X, y, f, X_unlabeled, f_unlabeled, names)
    how = check.choice(method, "method", METHODS)
    for name, values in (("y", data.y), ("f", data.f), ("f_unlabeled", data.f_rest)):
        if values.min() < 0 or values.max() > 1:
            raise ArgumentError(name, "must be within [0, 1]", f"goes from {values.min():g} to {values.max():g}")
    if len(np.unique(data.y)) < 2:
        raise ArgumentError("y", "must hold both outcomes", f"all {data.n} labels are {data.y[0]:g}")
    if lam is not None and not 0 <= lam <= 1:
        raise ArgumentError("lam", "must be within [0, 1]", f"got {lam!r}")
    fit = (_ppi_py if how == "ppi_py" else _corrected)(data, _LOGISTIC, _logistic_point, lam)
    return _result(data, fit, how, "logistic", alternative, confidence_level)


# --- input ------------------------------------------------------------------------------------------------------


class _Data(NamedTuple):
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


class _Fit(NamedTuple):
    """Coefficients, the two parts of their variances, and degrees of freedom of the first."""

    theta: Floats
    residual: Floats
    judge: Floats
    df: float
    lam: float


def _given(
    X: ArrayLike,  # noqa: N803
    y: ArrayLike,
    f: ArrayLike,
    X_unlabeled: ArrayLike,  # noqa: N803
    f_unlabeled: ArrayLike,
    names: Sequence[str] | None,
) -> _Data:
    x, labels, scores = check.array(X, "X", ndim=2), check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    x_rest, f_rest = np.asarray(X_unlabeled), flat(f_unlabeled, "f_unlabeled")
    if x_rest.dtype.kind not in "fiub" or x_rest.ndim != 2:
        x_rest = check.array(X_unlabeled, "X_unlabeled", ndim=2)
    check.same_length(X=x, y=labels, f=scores)
    check.same_length(X_unlabeled=x_rest, f_unlabeled=f_rest)
    n, d = x.shape
    if x_rest.shape[1] != d:
        raise ArgumentError(
            "X_unlabeled", f"must have the columns of {{0}} ({d})", f"has {x_rest.shape[1]}", mentions=("X",)
        )
    if n < d + 3:
        raise ArgumentError("y", f"must have {d + 3} labels at least for {d} coefficients", f"got {n}")
    if len(f_rest) < d + 3:
        raise ArgumentError("f_unlabeled", f"must have {d + 3} scores at least", f"got {len(f_rest)}")
    for name, values in (("X", x), ("y", labels), ("f", scores), ("X_unlabeled", x_rest), ("f_unlabeled", f_rest)):
        _refuse_missing(values, name)
    if np.linalg.matrix_rank(x) < d:
        raise ArgumentError("X", "must have columns that do not depend on each other on the gold items", "they do")
    found = getattr(X, "columns", None) if names is None else names
    words = tuple(f"x{i}" for i in range(d)) if found is None else tuple(map(str, found))
    if len(words) != d:
        raise ArgumentError("names", f"must name the {d} columns of {{0}}", f"got {len(words)}", mentions=("X",))
    return _Data(x, labels, scores, x_rest, f_rest, words)


def _refuse_missing(values: NDArray[Any], name: str) -> None:
    for start in range(0, len(values), _BLOCK):  # a sum shows it, without a mask of the whole
        block = values[start : start + _BLOCK]
        if values.dtype.kind == "f" and not np.isfinite(block.sum()) and not np.isfinite(block).all():
            row = start + int(np.argwhere(~np.isfinite(block))[0][0])
            raise ArgumentError(name, "must be finite", f"has NaN or infinity at {row}")


def _result(
    data: _Data, fit: _Fit, method: str, model: str, alternative: str, confidence_level: float
) -> RegressionEstimate:
    level = check.probability(confidence_level, "confidence_level")
    side = check.choice(alternative, "alternative", ALTERNATIVES)
    variance = fit.residual + fit.judge
    spread = fit.residual**2 / fit.df + fit.judge**2 / (data.n + data.rest - 1)
    df = np.divide(variance**2, spread, out=np.full(len(spread), np.inf), where=(spread > 0) & np.isfinite(fit.df))
    law = Student(fit.theta, np.sqrt(variance), df)
    tail = (1 - level) / 2 if side == "two-sided" else 1 - level
    with np.errstate(invalid="ignore", divide="ignore"):
        above, below = law.tails(0.0)
    known = (
        fit.residual > 0
    )  # labels without any error say nothing about their spread: no interval, rather than a point
    p_value = {"two-sided": np.minimum(1, 2 * np.minimum(above, below)), "greater": above, "less": below}[side]
    warned = _few(data, model)
    return RegressionEstimate(
        names=data.names,
        estimate=fit.theta,
        std_error=np.sqrt(variance),
        low=np.where(known, -np.inf if side == "less" else law.low(tail), np.nan),
        high=np.where(known, np.inf if side == "greater" else law.high(tail), np.nan),
        p_value=np.where(known, p_value, np.nan),
        df=df,
        confidence_level=level,
        alternative=side,
        method=method,
        model=model,
        lam=fit.lam,
        n_gold=data.n,
        n=data.n + data.rest,
        warnings=warned,
    )


def _few(data: _Data, model: str) -> tuple[str, ...]:
    found = []
    rarer = int(min(np.sum(data.y >= 0.5), np.sum(data.y < 0.5))) if model == "logistic" else data.n
    if rarer < 10:
        what = "labels of the rarer outcome" if model == "logistic" else "labels"
        found.append(f"few_labels: {rarer} {what}; with fewer than 10, intervals do not hold as often as they say")
    leverage = np.sum(matrix_product(data.x, np.linalg.inv(matrix_product(data.x.T, data.x))) * data.x, axis=1)
    if leverage.max() > 1 - 1e-9:
        found.append(f"leverage: a coefficient hangs on gold item {int(leverage.argmax())} alone")
    return tuple(found)


# --- least squares with the judge's score as one more covariate ---------------------------------------------------


def _blocks(x: NDArray[Any], f: NDArray[Any]) -> Iterator[tuple[Floats, Floats]]:
    for start in range(0, len(f), _BLOCK):
        stop = start + _BLOCK
        yield np.asarray(x[start:stop], dtype=float), np.asarray(f[start:stop], dtype=float)


class _Judge(NamedTuple):
    """Least squares of judge scores on covariates: coefficients, their variances, residual variance."""

    theta: Floats
    variance: Floats
    spread: float


def _judge_ols(parts: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> _Judge:
    d, n = parts[0][0].shape[1], sum(len(f) for _, f in parts)
    gram, cross = np.zeros((d, d)), np.zeros(d)
    for x, f in (block for part in parts for block in _blocks(*part)):
        gram += matrix_product(x.T, x)
        cross += matrix_product(x.T, f)
    inverse = _inverse(gram)
    theta = inverse @ cross
    meat, squares = np.zeros((d, d)), 0.0
    for x, f in (block for part in parts for block in _blocks(*part)):
        error = f - matrix_product(x, theta)
        pull = x * error[:, None]
        meat += matrix_product(pull.T, pull)
        squares += float(matrix_product(error, error))
    # HC1: with a column of ones alone the usual variance of a mean
    variance = np.diag(inverse @ meat @ inverse) * n / (n - d)
    return _Judge(theta, variance, squares / (n - d))


def _inverse(gram: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.inv(gram))
    except np.linalg.LinAlgError:
        raise ArgumentError("X_unlabeled", "must have columns that do not depend on each other", "they do") from None


def _double(data: _Data, lam: float | None) -> _Fit:
    """Regression under double sampling, on covariates and the judge; or with a fixed weight of the judge."""
    x, y, f, n, d = data.x, data.y, data.f, data.n, data.x.shape[1]
    rest = (data.x_rest, data.f_rest)
    judge = _judge_ols([(x, f), rest] if lam is None else [rest])
    inverse = np.linalg.inv(matrix_product(x.T, x))
    hat = matrix_product(x, inverse)
    own = matrix_product(hat.T, f)
    beyond = f - matrix_product(x, own)  # of the judge, on the gold items
    square = float(matrix_product(beyond, beyond))
    base = square + _PRIOR * judge.spread
    helps = lam is None and base > _DUST * float(
        matrix_product(f, f)
    )  # else the covariates say all that the judge does
    slope = float(matrix_product(beyond, y)) / base if helps else lam or 0.0
    shrink = 1 / base if helps else 0.0
    gap = judge.theta - own
    error = y - slope * f
    error = error - matrix_product(x, matrix_product(hat.T, error))
    p = d + square * shrink
    left = float(matrix_product(error, error))
    usual = left / (n - p) * (np.diag(inverse) + gap**2 * square * shrink**2)
    leverage = np.sum(hat * x, axis=1) + beyond**2 * shrink
    pull = hat + np.outer(beyond * shrink, gap)
    robust = (n - 1) / n * np.sum((pull * _left_out(error, leverage)[:, None]) ** 2, axis=0)
    known = left > _DUST * float(matrix_product(y, y))  # else nothing is left to tell the spread
    theta = matrix_product(hat.T, y - slope * f) + slope * judge.theta
    weight = slope * data.rest / (n + data.rest) if lam is None else lam
    return _Fit(theta, np.maximum(usual, robust) * known, slope**2 * judge.variance, n - p, weight)


def _left_out(error: Floats, leverage: Floats) -> Floats:
    """Errors by fits without the item itself; of an item that alone fixes a coefficient there is none."""
    rest = 1 - leverage
    by = rest.reshape((-1,) + (1,) * (error.ndim - 1))
    return np.asarray(np.divide(error, by, out=np.zeros_like(error), where=by > 1e-9))


# --- corrected losses -------------------------------------------------------------------------------------------


class _Family(NamedTuple):
    mean: Any
    weight: Any  # derivative of the mean, from the mean


_LINEAR = _Family(lambda eta: eta, np.ones_like)
_LOGISTIC = _Family(special.expit, lambda mean: mean * (1 - mean))


class _Scores(NamedTuple):
    """Sums over items of x r, of x x' r^2 and of x x' w, with r the mean less the target."""

    gradient: Floats
    meat: Floats
    hessian: Floats


def _scores(x: NDArray[Any], target: NDArray[Any], theta: Floats, family: _Family, *, meat: bool = True) -> _Scores:
    d = len(theta)
    gradient, squares, hessian = np.zeros(d), np.zeros((d, d)), np.zeros((d, d))
    for block, goal in _blocks(x, target):
        mean = family.mean(matrix_product(block, theta))
        error = mean - goal
        gradient += matrix_product(block.T, error)
        hessian += matrix_product((block * family.weight(mean)[:, None]).T, block)
        if meat:
            pull = block * error[:, None]
            squares += matrix_product(pull.T, pull)
    return _Scores(gradient, squares, hessian)


def _covariance(scores: _Scores, n: int) -> Floats:
    mean = scores.gradient / n
    return np.asarray((scores.meat - n * np.outer(mean, mean)) / (n - 1))


def _ols_point(data: _Data, lam: float, _: Floats) -> Floats:
    judge = _scores(data.x_rest, data.f_rest, np.zeros(data.x.shape[1]), _LINEAR, meat=False)
    imputed = -lam * (_inverse(judge.hessian) @ judge.gradient)
    return np.asarray(imputed + np.linalg.lstsq(data.x, data.y - lam * data.f, rcond=None)[0])


def _logistic_point(data: _Data, lam: float, start: Floats) -> Floats:
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
    raise ArgumentError(
        "y", "must not be separated by the columns of {0}", "no finite coefficients fit it best", mentions=("X",)
    )


def _corrected_slope(data: _Data, lam: float, theta: Floats) -> tuple[Floats, Floats]:
    # r = mean - y - lam (mean - f) = (1 - lam) mean - (y - lam f)
    gold = _scores(data.x, data.y, theta, _LOGISTIC, meat=False)
    if not lam:
        return gold.gradient / data.n, gold.hessian / data.n
    own = _scores(data.x, data.f, theta, _LOGISTIC, meat=False)
    rest = _scores(data.x_rest, data.f_rest, theta, _LOGISTIC, meat=False)
    slope = (gold.gradient - lam * own.gradient) / data.n + lam * rest.gradient / data.rest
    return slope, (1 - lam) * gold.hessian / data.n + lam * rest.hessian / data.rest


class _Pulls(NamedTuple):
    """Each gold item's gradient with its label and with the judge's score, and those of the rest in sum."""

    label: Floats
    judge: Floats
    rest: _Scores
    hessian_gold: Floats


def _pulls(data: _Data, theta: Floats, family: _Family) -> _Pulls:
    mean = family.mean(matrix_product(data.x, theta))
    hessian = matrix_product((data.x * family.weight(mean)[:, None]).T, data.x)
    rest = _scores(data.x_rest, data.f_rest, theta, family)
    return _Pulls(data.x * (mean - data.y)[:, None], data.x * (mean - data.f)[:, None], rest, hessian)


def _pooled(pulls: _Pulls, n: int, rest: int) -> Floats:
    """Covariance of all judge gradients."""
    every = pulls.rest.gradient + pulls.judge.sum(axis=0)
    meat = pulls.rest.meat + matrix_product(pulls.judge.T, pulls.judge)
    return _covariance(_Scores(every, meat, meat), n + rest)


def _shared(label: Floats, judge: Floats) -> Floats:
    """Symmetric covariance, twice, of two gradients."""
    a, b = label - label.mean(axis=0), judge - judge.mean(axis=0)
    cross = matrix_product(a.T, b)
    return np.asarray((cross + cross.T) / len(a))


def _ppi_py(data: _Data, family: _Family, point: Any, lam: float | None) -> _Fit:
    """As ppi_py 0.2.3: lambda is tuned at the coefficients of lambda = 1, and again at those that it gives."""
    n, rest = data.n, data.rest
    weight = 1.0 if lam is None else lam
    theta = point(data, weight, np.zeros(data.x.shape[1]))
    for _ in range(2 if lam is None else 0):
        pulls = _pulls(data, theta, family)
        # without the judge's weight the Hessian is of the gold items alone
        inverse = _inverse_hessian(pulls, n, rest, weight)
        cross = np.trace(inverse @ _shared(pulls.label, pulls.judge) @ inverse)
        weight = cross / (2 * (1 + n / rest) * np.trace(inverse @ _pooled(pulls, n, rest) @ inverse))
        weight = float(np.clip(weight, 0, 1))
        theta = point(data, weight, theta)
    pulls = _pulls(data, theta, family)
    inverse = _inverse_hessian(pulls, n, rest, weight)
    residual = np.cov((pulls.label - weight * pulls.judge).T, ddof=1).reshape(inverse.shape) / n
    judge = weight**2 * _covariance(pulls.rest, rest) / rest
    parts = [np.diag(inverse @ v @ inverse) for v in (residual, judge)]
    return _Fit(theta, parts[0], parts[1], np.inf, weight)


def _inverse_hessian(pulls: _Pulls, n: int, rest: int, weight: float) -> Floats:
    if not weight:
        return np.asarray(np.linalg.inv(pulls.hessian_gold / n))
    return np.asarray(np.linalg.inv((pulls.hessian_gold + pulls.rest.hessian) / (n + rest)))


def _corrected(data: _Data, family: _Family, point: Any, lam: float | None) -> _Fit:
    """The corrected loss with leverages, t quantiles, and a weight that does not depend on the units of X."""
    n, rest, d = data.n, data.rest, data.x.shape[1]
    theta, weight = np.zeros(d), lam or 0.0
    if lam is None:
        theta = _somewhere(data, point)
        weight = _weight(_pulls(data, theta, family), n, rest)
    theta = point(data, weight, theta)
    pulls = _pulls(data, theta, family)
    bread = np.linalg.inv((1 - weight) * pulls.hessian_gold / n + weight * pulls.rest.hessian / rest)
    mean = family.mean(matrix_product(data.x, theta))
    hat = matrix_product(data.x, np.linalg.inv(pulls.hessian_gold))
    leverage = family.weight(mean) * np.sum(hat * data.x, axis=1)
    pull = pulls.label - weight * pulls.judge
    pull = _left_out(pull - pull.mean(axis=0), leverage)
    residual = np.sum(matrix_product(pull, bread) ** 2, axis=0) / n**2
    judge = weight**2 * np.diag(bread @ _covariance(pulls.rest, rest) @ bread) / rest
    return _Fit(theta, residual, judge, n - d, weight)


def _somewhere(data: _Data, point: Any) -> Floats:
    """Coefficients to tune lambda at: of the labels alone, or if these are separated, with what the judge adds."""
    start = np.zeros(data.x.shape[1])
    for weight in (0.0, 0.5):
        try:
            return np.asarray(point(data, weight, start))
        except ValueError:
            continue
    return np.asarray(point(data, 1.0, start))


def _weight(pulls: _Pulls, n: int, rest: int) -> float:
    inverse = _inverse_hessian(pulls, n, rest, 1.0)
    alone = np.diag(inverse @ np.cov(pulls.label.T).reshape(inverse.shape) @ inverse)
    cross = np.diag(inverse @ _shared(pulls.label, pulls.judge) @ inverse) / 2
    judge = np.diag(inverse @ _pooled(pulls, n, rest) @ inverse)
    known = alone > 0
    return float(np.clip(np.sum((cross / alone)[known]) / ((1 + n / rest) * np.sum((judge / alone)[known])), 0, 1))
