"""Regression of human labels on covariates: what least squares and the logistic one share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.moments import flat
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.laws import ALTERNATIVES, Student
from calib.core.result import Interval, Result, bracket, short

_BLOCK = 1 << 14  # rows that fit the processor's cache with what is computed of them


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
    alternative, estimator, model : str
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
    estimator: str
    model: str
    lam: float
    n_gold: int
    n: int
    warnings: tuple[str, ...]

    @property
    def method(self) -> str:
        """What `estimator` was called."""
        return self.estimator

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """One per coefficient."""
        return tuple(Interval(float(a), float(b)) for a, b in zip(self.low, self.high, strict=True))

    def _rows(self) -> list[dict[str, Any]]:
        numbers = zip(self.estimate, self.std_error, self.low, self.high, self.p_value, self.df, strict=True)
        keys = ("estimate", "std_error", "conf_low", "conf_high", "p_value", "df")
        rest = {"lam": self.lam, "n_gold": self.n_gold, "n": self.n}
        head = {"estimator": self.estimator, "model": self.model}
        return [
            head | {"term": name} | dict(zip(keys, map(float, row), strict=True)) | rest
            for name, row in zip(self.names, numbers, strict=True)
        ]

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
    X: ArrayLike,  # noqa: N803
    y: ArrayLike,
    f: ArrayLike,
    X_unlabeled: ArrayLike,  # noqa: N803
    f_unlabeled: ArrayLike,
    names: Sequence[str] | None,
) -> Regressors:
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
        _refuse_infinite(values, name)
    if np.linalg.matrix_rank(x) < d:
        raise ArgumentError("X", "must have columns that do not depend on each other on the gold items", "they do")
    columns = getattr(X, "columns", None) if names is None else names
    words = tuple(f"x{i}" for i in range(d)) if columns is None else tuple(map(str, columns))
    if len(words) != d:
        raise ArgumentError("names", f"must name the {d} columns of {{0}}", f"got {len(words)}", mentions=("X",))
    return Regressors(x, labels, scores, x_rest, f_rest, words)


def _refuse_infinite(values: NDArray[Any], name: str) -> None:
    for start in range(0, len(values), _BLOCK):  # a sum shows it, without a mask of the whole
        block = values[start : start + _BLOCK]
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
        warnings=_doubts(data, model),
    )


def _doubts(data: Regressors, model: str) -> tuple[str, ...]:
    told = []
    rarer = int(min(np.sum(data.y >= 0.5), np.sum(data.y < 0.5))) if model == "logistic" else data.n
    if rarer < 10:
        what = "labels of the rarer outcome" if model == "logistic" else "labels"
        told.append(f"few_labels: {rarer} {what}; with fewer than 10, intervals do not hold as often as they say")
    leverage = np.sum(data.x @ np.linalg.inv(data.x.T @ data.x) * data.x, axis=1)
    if leverage.max() > 1 - 1e-9:
        told.append(f"leverage: a coefficient hangs on gold item {int(leverage.argmax())} alone")
    return tuple(told)


# --- what both models compute with ------------------------------------------------------------------------------


def row_blocks(x: NDArray[Any], f: NDArray[Any]) -> Iterator[tuple[Floats, Floats]]:
    """Covariates and scores as floats, a block of rows after the other."""
    for start in range(0, len(f), _BLOCK):
        stop = start + _BLOCK
        yield np.asarray(x[start:stop], dtype=float), np.asarray(f[start:stop], dtype=float)


def left_out_errors(error: Floats, leverage: Floats) -> Floats:
    """Errors by fits without the item itself; of an item that alone fixes a coefficient there is none."""
    rest = 1 - leverage
    by = rest.reshape((-1,) + (1,) * (error.ndim - 1))
    return np.asarray(np.divide(error, by, out=np.zeros_like(error), where=by > 1e-9))
