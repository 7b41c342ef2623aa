"""Bootstrap intervals of any other statistic: the labelled items are resampled, what the others add is normal."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.design import Design, mean_data
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.progress import progress
from calib.core.result import NO_INTERVAL, Estimate, Interval, short

_LUMPS = 30  # different values, below which a statistic jumps
_BATCH = 1 << 20  # resampled scores at once
_MANY = 1000  # labels, above which leaving each out costs more than it adds


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapEstimate(Estimate):
    """A statistic of the human scores, with a bootstrap interval.

    Attributes
    ----------
    std_error : float
    lam : float
        Weight of the judge; 0 means that only the labels speak.
    n_labels, n : int
        Items with a human label; items in all.
    n_resamples, n_undefined : int
        Resamples; those on which the statistic is not defined, which are left out.
    statistic : str
    """

    std_error: float
    lam: float
    n_labels: int
    n: int
    n_resamples: int
    n_undefined: int
    statistic: str

    def _rows(self) -> list[dict[str, Any]]:
        row = self._row("statistic", "estimate", "std_error", "interval", "lam", "n_labels", "n", "warnings")
        return [{"estimator": "bootstrap", **row}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"ppi-bootstrap": True, "of": self.statistic, "rs": self.n_resamples}
        return terms | {"cl": self.confidence_level, "labels": self.n_labels, "n": self.n, "lam": round(self.lam, 4)}

    def __str__(self) -> str:
        sources = f"{self.n_labels} human labels and {self.n} judge scores ({self.n_resamples} resamples)"
        return f"human {self.statistic} = {short(self.estimate)}, {self.bracket}, from {sources}"


def ppi_bootstrap(
    statistic: Callable[..., Any],
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike,
    *,
    X: ArrayLike | None = None,  # noqa: N803 - as in `ppi_ols`
    X_unlabeled: ArrayLike | None = None,  # noqa: N803
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> BootstrapEstimate:
    r"""Any statistic of the human scores, with the judge's help.

    .. math:: \hat\theta = T(y_{gold}) - \lambda \big( T(f_{gold}) - T(f_{rest}) \big)

    Only the labelled items are resampled. On the rest the statistic is computed once; its error is drawn from a normal
    distribution with the variance that the resamples have, times n / N. Lambda makes the variance least.

    Parameters
    ----------
    statistic : callable
        Of a sample of scores, one number. With a parameter `axis` (as most of numpy's and scipy's) it is called
        with a matrix, a resample in each row, and ``axis=-1``: a hundred times faster. With `X` it is called
        with two arguments, scores and covariates. It should be smooth: for quantiles there is `ppi_quantile`.
    y, f : array_like, shape (n,)
        Human labels and judge scores of the labelled items.
    f_unlabeled : array_like, shape (N,)
        Judge scores of the rest.
    X, X_unlabeled : array_like, shape (n, ...) and (N, ...), optional
        What else the statistic needs of each item; resampled with it.
    n_resamples : int, default 1000
    confidence_level : float, default 0.95
    rng : Generator or int, optional

    Notes
    -----
    The interval lies between quantiles of the resampled estimates, moved so that their mean is the estimate and
    taken further out: to where the normal distribution has the t quantile with n - 2 degrees of freedom, times
    :math:`\sqrt{n / (n - 1)}` (Hesterberg's expanded percentile interval), and by as much as the jackknife, with
    lambda tuned anew without each item, finds more spread than the resamples (up to 1,000 labels). It is no cure for
    statistics that hang on few items, nor for labels that pile up at the end of a scale (take `ppi_mean`).

    References
    ----------
    Kluger et al. (2025), Prediction-powered inference with imputed covariates, arXiv:2501.18577, algorithm 3;
    Hesterberg (2015), The American Statistician 69:371-386.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.gamma(2, size=5000)
    >>> f = y + 0.5 * rng.normal(size=5000)
    >>> result = ppi_bootstrap(np.mean, y[:100], f[:100], f[100:], rng=0)
    >>> round(result.estimate, 2), [round(end, 2) for end in result.interval]
    (2.06, [1.95, 2.17])
    """
    count = check.whole(n_resamples, "n_resamples", least=100)
    confidence = check.probability(confidence_level, "confidence_level")
    data = mean_data(y, f, f_unlabeled, Design())
    n, rest, loose = len(data.y), data.n_rest, data.loose()
    if n < 10:
        raise ArgumentError("y", "must have 10 labels at least for a bootstrap", f"got {n}")
    if rest < 2:
        raise ArgumentError("f_unlabeled", "must have two scores at least", f"got {rest}")
    if (X is None) != (X_unlabeled is None):
        rule = "must be given exactly when {0} is"
        raise ArgumentError("X_unlabeled", rule, "only one of them came", mentions=("X",))
    x, x_rest = ([] if part is None else [np.asarray(part)] for part in (X, X_unlabeled))
    check.same_length(y=data.y, X=x[0] if x else None)
    check.same_length(f_unlabeled=loose, X_unlabeled=x_rest[0] if x else None)
    value = _vectorised(statistic)

    def of_items(chosen: NDArray[Any]) -> tuple[Any, Any]:
        """The statistic of chosen items, by people and by the judge."""
        own = [part[chosen] for part in x]
        with np.errstate(invalid="ignore", divide="ignore"):
            return value(data.y.take(chosen), *own), value(data.f.take(chosen), *own)

    draw = np.random.default_rng(rng)
    label, own = (float(value(scores, *x)) for scores in (data.y, data.f))
    judge = float(value(loose, *x_rest))
    if not np.isfinite([label, own, judge]).all():
        raise ArgumentError("statistic", "must be a finite number of the data", f"got {label}, {own} and {judge}")
    labels, judged = _resampled_statistics(of_items, n, count, draw)
    missing = count - len(labels)
    undefined = f"undefined: the statistic is not defined on {missing} of {count} resamples, which are left out"
    cautions = [undefined] if missing else []
    if (values := len(np.unique(labels))) < min(_LUMPS, len(labels) / 10):
        text = f"the resamples have {values} values only, so the interval means little (quantiles: `ppi_quantile`)"
        cautions.append(f"lumpy: {text}")
    spread = float(judged.var(ddof=1))
    lam = float(np.cov(labels, judged)[0, 1] / ((1 + n / rest) * spread)) if spread > 0 else 0.0
    far = judge + np.sqrt(spread * n / rest) * draw.standard_normal(len(labels))
    drawn, estimate = labels - lam * (judged - far), label - lam * (own - judge)
    error = float(drawn.std(ddof=1)) * np.sqrt(n / (n - 1))
    left = 0.0  # with more labels both errors are the same
    if n <= _MANY:
        without = np.arange(n - 1) + (np.arange(n - 1) >= np.arange(n)[:, None])
        left = _jackknife_error(*of_items(without), judge, rest)
    wider = max(1.0, np.sqrt(left**2 + lam**2 * spread * n / rest) / error) if error > 0 else 1.0
    drawn, interval = estimate + wider * (drawn - drawn.mean()), NO_INTERVAL
    if np.ptp(drawn) > 1e-12 * np.abs(drawn).max():  # what does not vary says nothing about its spread
        out = np.sqrt(n / (n - 1)) * special.stdtrit(n - 2, (1 + confidence) / 2)
        interval = Interval(*map(float, np.quantile(drawn, [special.ndtr(-out), special.ndtr(out)])))
    return BootstrapEstimate(
        estimate=estimate, std_error=error * wider, interval=interval, confidence_level=confidence, lam=lam,
        n_labels=n, n=n + rest, n_resamples=count, n_undefined=missing,
        statistic=getattr(statistic, "__name__", "statistic"), warnings=tuple(cautions),
    )  # fmt: skip


def _resampled_statistics(
    of_items: Callable[[NDArray[Any]], tuple[Any, Any]], n: int, count: int, draw: np.random.Generator
) -> tuple[Floats, Floats]:
    """The statistic of resamples, by people and by the judge, where both are defined."""
    labels, judged = np.empty(count), np.empty(count)
    size = max(1, _BATCH // n)
    for start in progress(range(0, count, size), "resamples"):
        stop = min(start + size, count)
        labels[start:stop], judged[start:stop] = of_items(draw.integers(0, n, (stop - start, n)))
    defined = np.isfinite(labels + judged)
    if (missing := int((~defined).sum())) > count / 2:
        raise ArgumentError("statistic", "must be defined on most resamples", f"is not on {missing} of {count}")
    return labels[defined], judged[defined]


def _jackknife_error(labels: Floats, judged: Floats, judge: float, rest: int) -> float:
    """Standard error of the labelled items' part, from statistics without each, with lambda tuned anew each time."""
    n = len(labels)
    if not np.isfinite(labels + judged).all():
        return 0.0
    a, b = labels - labels.mean(), judged - judged.mean()
    # sums of the others' deviations, from the others' mean
    cross, square = (np.sum(a * c) - c * a * n / (n - 1) for a, c in ((a, b), (b, b)))
    lam = np.divide(cross, (1 + n / rest) * square, out=np.zeros(n), where=square > 0)
    return float(np.sqrt((n - 1) / n * np.sum((v := labels - lam * (judged - judge)) ** 2 - v.mean() ** 2)))


def _vectorised(statistic: Callable[..., Any]) -> Callable[..., Any]:
    """The statistic of the last axis of its first argument, whether or not it knows of axes."""
    try:
        takes_axis = "axis" in inspect.signature(statistic).parameters
    except (TypeError, ValueError):  # some compiled functions do not say
        takes_axis = False

    def of_last_axis(scores: NDArray[Any], *others: NDArray[Any]) -> Any:
        if not takes_axis and scores.ndim == 1:
            return statistic(scores, *others)
        if not takes_axis:
            return np.array([float(statistic(*row)) for row in zip(scores, *others, strict=True)])
        numbers = np.asarray(statistic(scores, *others, axis=-1), dtype=float)
        if numbers.shape != scores.shape[:-1]:
            rule = f"must give {scores.shape[:-1]} numbers with axis=-1"
            raise ArgumentError("statistic", rule, f"gave {numbers.shape}")
        return numbers

    return of_last_axis
