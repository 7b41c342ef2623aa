"""Bootstrap of any other statistic: labelled items are resampled, and what the other items add is drawn as normal."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.design import Design, mean_data
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.progress import progress
from calib.core.result import Interval, Result, bracket, short

_LUMPS = 30  # different values, below which a statistic jumps
_BATCH = 1 << 20  # resampled scores at once
_MANY = 1000  # labels, above which leaving each out costs more than it adds


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapEstimate(Result):
    """A statistic of the human scores, with a bootstrap interval.

    Attributes
    ----------
    estimate, std_error : float
    interval : Interval
    confidence_level : float
    lam : float
        Weight of the judge; 0 means that only the labels speak.
    n_labels, n : int
        Items with a human label; items in all.
    n_resamples, n_undefined : int
        Resamples; those on which the statistic is not defined, which are left out.
    statistic : str
        Its name.
    warnings : tuple of str
    """

    estimate: float
    std_error: float
    interval: Interval
    confidence_level: float
    lam: float
    n_labels: int
    n: int
    n_resamples: int
    n_undefined: int
    statistic: str
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row = self._row("statistic", "estimate", "std_error", "interval", "lam", "n_labels", "n", "warnings")
        return [{"estimator": "bootstrap", **row}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"ppi-bootstrap": True, "of": self.statistic, "rs": self.n_resamples}
        return terms | {"cl": self.confidence_level, "gold": self.n_labels, "n": self.n, "lam": round(self.lam, 4)}

    def __str__(self) -> str:
        return (
            f"human {self.statistic} = {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, "
            f"from {self.n_labels} human labels and {self.n} judge scores ({self.n_resamples} resamples)"
        )


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

    Only the labelled items are resampled, which costs the same however many the rest are. On the rest the statistic is
    computed once; its error is drawn from a normal distribution with the variance that the resamples have,
    times n / N. Lambda is the one that makes the variance least, from the resamples.

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

    Raises
    ------
    ValueError
        If there are fewer than 10 labels, or the statistic is not defined on the data or on half of the resamples.

    Notes
    -----
    The interval lies between quantiles of the resampled estimates, moved so that their mean is the estimate and
    taken further out: to where the normal distribution has the t quantile with n - 2 degrees of freedom, times
    :math:`\sqrt{n / (n - 1)}` (Hesterberg's expanded percentile interval), and by as much as the jackknife, with
    lambda tuned anew without each item, finds more spread than the resamples (up to 1,000 labels). For means and
    correlations it held 93 to 97 % of the time with 10 to 50 labels, where the plain percentile interval holds
    84 to 93 %. It is no cure for statistics that hang on few items, such as the spread of a skewed score (77 to
    89 %), nor for labels that pile up at the end of a scale: for their mean take `ppi_mean`.

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
    sample = _sample_of(y, f, f_unlabeled, X, X_unlabeled)
    n, rest = len(sample.y), len(sample.rest)
    value = _vectorised(statistic)
    draw = np.random.default_rng(rng)
    label, own = (float(value(scores, *sample.x)) for scores in (sample.y, sample.f))
    judge = float(value(sample.rest, *sample.x_rest))
    if not np.isfinite([label, own, judge]).all():
        raise ArgumentError("statistic", "must be a finite number of the data", f"got {label}, {own} and {judge}")
    labels, judged = np.empty(count), np.empty(count)
    size = max(1, _BATCH // n)
    for start in progress(range(0, count, size), "resamples"):
        stop = min(start + size, count)
        labels[start:stop], judged[start:stop] = sample.resampled(value, draw.integers(0, n, (stop - start, n)))
    kept = np.isfinite(labels + judged)
    missing = count - int(kept.sum())
    if missing > count / 2:
        raise ArgumentError("statistic", "must be defined on most resamples", f"is not on {missing} of {count}")
    labels, judged = labels[kept], judged[kept]
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
    left = _without_each(value, sample, judge)
    wider = max(1.0, np.sqrt(left**2 + lam**2 * spread * n / rest) / error) if error > 0 else 1.0
    return BootstrapEstimate(
        estimate=estimate,
        std_error=error * wider,
        interval=_expanded(estimate + wider * (drawn - drawn.mean()), n, confidence),
        confidence_level=confidence,
        lam=lam,
        n_labels=n,
        n=n + rest,
        n_resamples=count,
        n_undefined=missing,
        statistic=getattr(statistic, "__name__", "statistic"),
        warnings=tuple(cautions),
    )


def _without_each(value: Callable[..., Any], sample: _Sample, judge: float) -> float:
    """Jackknife standard error of the labelled items' part, with lambda tuned anew without each item."""
    n, rest = len(sample.y), len(sample.rest)
    if n > _MANY:
        return 0.0  # both errors are the same by then
    others = np.arange(n - 1) + (np.arange(n - 1) >= np.arange(n)[:, None])
    labels, judged = sample.resampled(value, others)
    if not np.isfinite(labels + judged).all():
        return 0.0
    a, b = labels - labels.mean(), judged - judged.mean()
    # sums of the others' deviations, from the others' mean
    cross, square = (np.sum(a * c) - c * a * n / (n - 1) for a, c in ((a, b), (b, b)))
    lam = np.divide(cross, (1 + n / rest) * square, out=np.zeros(n), where=square > 0)
    return float(np.sqrt((n - 1) / n * np.sum((v := labels - lam * (judged - judge)) ** 2 - v.mean() ** 2)))


def _expanded(drawn: Floats, n: int, confidence: float) -> Interval:
    if np.ptp(drawn) <= 1e-12 * np.abs(drawn).max():
        return Interval(np.nan, np.nan)  # what does not vary says nothing about its spread
    out = np.sqrt(n / (n - 1)) * special.stdtrit(n - 2, (1 + confidence) / 2)
    low, high = np.quantile(drawn, [special.ndtr(-out), special.ndtr(out)])
    return Interval(float(low), float(high))


class _Sample(NamedTuple):
    y: Floats
    f: Floats
    rest: NDArray[Any]
    x: tuple[NDArray[Any], ...]  # what else the statistic takes of each labelled item, and of the rest
    x_rest: tuple[NDArray[Any], ...]

    def resampled(self, value: Callable[..., Any], chosen: NDArray[Any]) -> tuple[Any, Any]:
        """The statistic of chosen items, by people and by the judge."""
        x = tuple(part[chosen] for part in self.x)
        with np.errstate(invalid="ignore", divide="ignore"):
            return value(self.y.take(chosen), *x), value(self.f.take(chosen), *x)


def _sample_of(
    y: ArrayLike, f: ArrayLike, f_unlabeled: ArrayLike, x: ArrayLike | None, x_unlabeled: ArrayLike | None
) -> _Sample:
    data = mean_data(y, f, f_unlabeled, Design())
    if len(data.y) < 10:
        raise ArgumentError("y", "must have 10 labels at least for a bootstrap", f"got {len(data.y)}")
    if data.n_rest < 2:
        raise ArgumentError("f_unlabeled", "must have two scores at least", f"got {data.n_rest}")
    if (x is None) != (x_unlabeled is None):
        rule = "must be given exactly when {0} is"
        raise ArgumentError("X_unlabeled", rule, "only one of them came", mentions=("X",))
    if x is None or x_unlabeled is None:
        return _Sample(data.y, data.f, data.loose(), (), ())
    own, beside = np.asarray(x), np.asarray(x_unlabeled)
    check.same_length(y=data.y, X=own)
    check.same_length(f_unlabeled=data.loose(), X_unlabeled=beside)
    return _Sample(data.y, data.f, data.loose(), (own,), (beside,))


def _vectorised(statistic: Callable[..., Any]) -> Callable[..., Any]:
    """The statistic of the last axis of its first argument, whether or not it knows of axes."""
    try:
        takes_axis = "axis" in inspect.signature(statistic).parameters
    except (TypeError, ValueError):  # some compiled functions do not say
        takes_axis = False

    def by_axis(scores: NDArray[Any], *others: NDArray[Any]) -> Any:
        numbers = np.asarray(statistic(scores, *others, axis=-1), dtype=float)
        if numbers.shape != scores.shape[:-1]:
            rule = f"must give {scores.shape[:-1]} numbers with axis=-1"
            raise ArgumentError("statistic", rule, f"gave {numbers.shape}")
        return numbers

    def by_row(scores: NDArray[Any], *others: NDArray[Any]) -> Any:
        if scores.ndim == 1:
            return statistic(scores, *others)
        return np.array([float(statistic(*row)) for row in zip(scores, *others, strict=True)])

    return by_axis if takes_axis else by_row
