"""Intervals for a mean: people alone, the judge alone, and both together (prediction-powered)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.stats import _check
from calib.stats._check import Codes, Floats, Labels
from calib.stats._estimate import Interval, Result, bracket, short

METHODS = ("auto", "classical", "judge_only", "ppi", "ppi++")
_WORDS = {
    "classical": "people alone",
    "judge_only": "judge alone: not an interval for the human mean",
    "ppi": "PPI",
    "ppi++": "PPI++",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate(Result):
    """A mean, or a difference of two means, with an interval.

    Attributes
    ----------
    estimate, std_error : float
        In score points.
    interval : Interval
        NaN ends where the labels do not vary, so that no spread can be estimated.
    confidence_level : float
    method : str
        "classical" (gold labels alone), "judge_only", "ppi" or "ppi++".
    estimand : str
        What the interval is for: "human mean", "judge mean" (the judge's own
        average, whatever people think) or the difference of either.
    df : float
        Degrees of freedom of the t quantile.
    p_value : float
        Two-sided, of "the mean is 0"; of interest for differences.
    lam : float
        Weight of the judge; 0 means that only the labels speak.
    n_gold, n : int
        Items with a human label; items in all.
    n_groups : int
        Independent groups among the labelled items (= n_gold without groups).
    """

    estimate: float
    std_error: float
    interval: Interval
    confidence_level: float
    method: str
    estimand: str
    df: float
    p_value: float
    lam: float
    n_gold: int
    n: int
    n_groups: int

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"estimator": self.method, "estimand": self.estimand, "estimate": self.estimate}
        row |= {"std_error": self.std_error, "conf_low": self.interval.low, "conf_high": self.interval.high}
        row |= {"p_value": self.p_value} if "difference" in self.estimand else {}
        return [row | {"lam": self.lam, "n_gold": self.n_gold, "n": self.n, "n_groups": self.n_groups, "df": self.df}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.method: True, "loo": True if self.method == "ppi++" else None}
        terms |= {"of": self.estimand.replace(" ", "-"), "alt": "two-sided", "cl": self.confidence_level}
        terms |= {"gold": self.n_gold, "n": self.n, "lam": round(self.lam, 4)}
        return terms | {"groups": self.n_groups if self.n_groups != self.n_gold else None}

    def __str__(self) -> str:
        labels = f"{self.n_gold} human labels" if self.method != "judge_only" else "no human labels"
        scores = f" and {self.n} judge scores" if self.method != "classical" else ""
        return (
            f"{self.estimand} = {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, "
            f"from {labels}{scores} ({_WORDS[self.method]})"
        )


def mean_interval(y: ArrayLike, *, groups: Labels | None = None, confidence_level: float = 0.95) -> MeanEstimate:
    r"""Mean of human labels alone, with a t interval.

    .. math:: \bar y \pm t_{G-1} \sqrt{V}, \qquad
              V = \frac{G}{G-1} \sum_g \Big(\sum_{i \in g} \frac{y_i - \bar y}{n}\Big)^2

    over G groups; without groups each item is its own and V is the usual variance of a mean.

    Parameters
    ----------
    y : array_like, shape (n,)
        Labels; NaN is left out.
    groups : sequence, shape (n,), optional
        Items of one group are not independent.
    confidence_level : float, default 0.95

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        If fewer than two labels (or groups) are there, or the lengths differ.

    References
    ----------
    Miller (2024), Adding error bars to evals, arXiv:2411.00640, for the clustered form.

    Examples
    --------
    >>> print(mean_interval([3, 4, 4, 5, 4]))
    human mean = 4, 95 % CI [3.122, 4.878], from 5 human labels (people alone)
    """
    labels = _check.array(y, "y", ndim=1)
    return ppi_mean(labels, np.zeros_like(labels), groups=groups, method="classical", confidence_level=confidence_level)


def ppi_mean(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | None = None,
    *,
    groups: Labels | None = None,
    groups_unlabeled: Labels | None = None,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean human score from a few gold labels and many judge scores.

    .. math:: \hat\theta = \frac1n \sum_{i \in gold} (y_i - \lambda f_i) + \lambda \bar f_{rest}

    The judge's mean over the unlabelled items, less its error measured on the gold
    items: unbiased for every fixed lambda, however wrong the judge. ``"ppi"`` has
    lambda = 1; ``"ppi++"`` tunes it for the smallest variance,
    lambda = cov(y, f) / ((1 + n/N) var f) (with groups: the minimum of the grouped
    variance), for each gold item from the other ones, so that the choice does not use
    the label that it corrects. It is kept within [0, 1]: put a judge with a much
    smaller scale than people's on theirs first. The interval takes t
    quantiles with Satterthwaite's degrees of freedom. Gold must be a random sample
    of the items, drawn before the judge was tuned on any of them.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Human labels and judge scores of the gold items; or, without `f_unlabeled`,
        of all items, with NaN in `y` where there is no label.
    f_unlabeled : array_like, shape (N,), optional
        Judge scores of the items without a label.
    groups, groups_unlabeled : sequence, shape (n,) and (N,), optional
        Items of one group (the source document) are not independent: their errors are
        summed before they are squared, and left out together when lambda is tuned.
    method : {"auto", "classical", "judge_only", "ppi", "ppi++"}
        "classical" uses the labels alone; "judge_only" the judge alone, with an
        interval for the judge's own mean, which is not one for the human mean. "auto"
        is "ppi++", or "classical" where every item has a label.
    confidence_level : float, default 0.95

    Returns
    -------
    MeanEstimate

    Raises
    ------
    ValueError
        If a judge score is missing, fewer than two gold items (or groups) are there,
        "ppi" or "ppi++" have nothing unlabelled to work with, or lengths differ.

    Notes
    -----
    Below some 30 gold items intervals of this kind are a little short on skewed
    1-to-5 scores; the coverage measured for them is in the tests.

    References
    ----------
    Angelopoulos et al. (2023), Science 382:669-674; Angelopoulos, Duchi and Zrnic
    (2023), PPI++, arXiv:2311.01453, section 6 for lambda.

    Examples
    --------
    >>> y = [4, 3, 5, 4, 2, 4]
    >>> result = ppi_mean(y, [4.2, 3.1, 4.9, 4.4, 2.3, 3.8], [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3])
    >>> round(result.estimate, 3), result.n_gold, result.n
    (3.613, 6, 14)
    """
    data = _gold(y, f, f_unlabeled, groups, groups_unlabeled)
    how = _check.choice(method, "method", METHODS)
    level = _check.probability(confidence_level, "confidence_level")
    return _mean(data, how, level, "mean")


def ppi_difference(
    y_a: ArrayLike,
    y_b: ArrayLike,
    f_a: ArrayLike,
    f_b: ArrayLike,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> MeanEstimate:
    """Mean human score of A less that of B, paired on what both answered.

    `ppi_mean` of the differences: what a group (a source document) does to both
    systems alike, and what the judge gets wrong on both alike, cancels.

    Parameters
    ----------
    y_a, y_b : array_like, shape (n,)
        Human labels of the two systems on the same n groups, NaN where unlabelled; a
        pair counts as gold where both have a label.
    f_a, f_b : array_like, shape (n,)
        Judge scores of the same.
    method, confidence_level
        As for `ppi_mean`.

    Returns
    -------
    MeanEstimate
        With `p_value` for "no difference".

    Raises
    ------
    ValueError
        As `ppi_mean`.

    Examples
    --------
    >>> nan = float("nan")
    >>> result = ppi_difference([4, 5, 4, nan, nan], [3, 3, 4, nan, nan],
    ...                         [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3], method="ppi")
    >>> print(result)
    human mean difference = 1.067, 95 % CI [-0.2189, 2.352], from 3 human labels and 5 judge scores (PPI)
    """
    first, second = _check.array(y_a, "y_a", ndim=1), _check.array(y_b, "y_b", ndim=1)
    judge_a, judge_b = _check.array(f_a, "f_a", ndim=1), _check.array(f_b, "f_b", ndim=1)
    _check.same_length(y_a=first, y_b=second, f_a=judge_a, f_b=judge_b)
    data = _gold(first - second, judge_a - judge_b, None, None, None)
    how = _check.choice(method, "method", METHODS)
    level = _check.probability(confidence_level, "confidence_level")
    return _mean(data, how, level, "mean difference")


# --- from the gold and the rest to the estimate -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Gold:
    """Labels and judge scores of the gold items, judge scores of the rest, and the group of each."""

    y: Floats
    f: Floats
    rest: Floats
    group: Codes
    group_rest: Codes

    @property
    def n_groups(self) -> int:
        return len(np.unique(self.group))

    @property
    def n_all(self) -> int:
        return int(max(self.group.max(initial=-1), self.group_rest.max(initial=-1))) + 1

    @property
    def grouped(self) -> bool:
        return self.n_all < len(self.group) + len(self.group_rest)


def _gold(
    y: ArrayLike, f: ArrayLike, f_unlabeled: ArrayLike | None, groups: Labels | None, groups_unlabeled: Labels | None
) -> _Gold:
    labels, scores = _check.array(y, "y", ndim=1), _check.array(f, "f", ndim=1)
    _check.same_length(y=labels, f=scores, groups=groups)
    if np.isnan(scores).any():
        raise ValueError(f"`f` must have a judge score for each item, but {_first_nan(scores)}.")
    if f_unlabeled is None:
        if groups_unlabeled is not None:
            raise ValueError("`groups_unlabeled` must come with `f_unlabeled`, but came alone.")
        rest, given = scores[np.isnan(labels)], ~np.isnan(labels)
        names = None if groups is None else _check.codes(groups, "groups")
        return _grouped(
            labels[given], scores[given], rest, *((None, None) if names is None else (names[given], names[~given]))
        )
    rest = _check.array(f_unlabeled, "f_unlabeled", ndim=1)
    if np.isnan(rest).any():
        raise ValueError(f"`f_unlabeled` must have a judge score for each item, but {_first_nan(rest)}.")
    _check.same_length(f_unlabeled=rest, groups_unlabeled=groups_unlabeled)
    if (groups is None) != (groups_unlabeled is None):
        raise ValueError("`groups_unlabeled` must be given exactly when `groups` is, but only one of them came.")
    if np.isnan(labels).any():
        raise ValueError(f"`y` must have a label everywhere when `f_unlabeled` is given, but {_first_nan(labels)}.")
    return _grouped(labels, scores, rest, groups, groups_unlabeled)


def _grouped(y: Floats, f: Floats, rest: Floats, groups: Labels | None, groups_rest: Labels | None) -> _Gold:
    if groups is None or groups_rest is None:
        return _Gold(y, f, rest, np.arange(len(y)), len(y) + np.arange(len(rest)))
    for name, labels in (("groups", groups), ("groups_unlabeled", groups_rest)):
        _check.codes(labels, name)
    both = _check.codes([*groups, *groups_rest], "groups")
    return _Gold(y, f, rest, both[: len(y)], both[len(y) :])


def _first_nan(values: Floats) -> str:
    return f"got NaN at {int(np.argmax(np.isnan(values)))}"


def _mean(data: _Gold, method: str, level: float, what: str) -> MeanEstimate:
    if method == "auto":
        method = "ppi++" if len(data.rest) else "classical"
    if method == "judge_only":
        scores = np.concatenate([data.f, data.rest])
        none = np.empty(0)
        every = _Gold(scores, scores, none, np.concatenate([data.group, data.group_rest]), none.astype(np.intp))
        point, variance, df = _corrected(every, np.zeros(len(scores)))
        return _result(data, method, point, variance, df, 1.0, level, f"judge {what}")
    if data.n_groups < 2:
        raise ValueError(f"`y` must have labels in two groups (or two items) at least, but got {data.n_groups}.")
    if method != "classical":
        _enough_unlabelled(data, method)
    lam = _tuned(data) if method == "ppi++" else np.full(len(data.y), float(method == "ppi"))
    point, variance, df = _corrected(data, lam)
    return _result(data, method, point, variance, df, float(lam.mean()), level, f"human {what}")


def _enough_unlabelled(data: _Gold, method: str) -> None:
    if not len(data.rest):
        raise ValueError(f"`f_unlabeled` must not be empty for method {method!r}: every item has a label.")
    if len(np.unique(data.group_rest)) < 2:
        raise ValueError(f"`f_unlabeled` must have two items (or groups) at least for method {method!r}, but got 1.")


def _corrected(data: _Gold, lam: Floats) -> tuple[float, float, float]:
    """Point, variance and degrees of freedom for one weight of the judge per gold item."""
    weight, centre = float(lam.mean()), float(data.rest.mean()) if len(data.rest) else 0.0
    rectified = data.y - lam * (data.f - centre)
    # each group's sum of deviations, so that what items of one group share is counted once
    error = _by_group(data.group, _centred(rectified) / len(rectified), data.n_all)
    if weight and len(data.rest):
        error += _by_group(data.group_rest, weight * _centred(data.rest) / len(data.rest), data.n_all)
    gold, rest = (np.bincount(group, minlength=data.n_all) > 0 for group in (data.group, data.group_rest))
    rest &= ~gold
    if rest.sum() == 1:
        gold, rest = gold | rest, rest & ~rest  # one group alone has no spread: it joins the others
    parts = [(float(k / (k - 1) * np.sum(error[m] ** 2)), k - 1) for m in (gold, rest) if (k := int(m.sum())) > 1]
    variance = sum(v for v, _ in parts)
    spread = sum(v**2 / df for v, df in parts)
    return float(rectified.mean()), variance, variance**2 / spread if spread else parts[0][1]


def _tuned(data: _Gold) -> Floats:
    """The lambda of smallest variance for each gold item, from the gold items of the other groups."""
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = _slope_by_groups(data) if data.grouped else _slope_by_items(data)
    return np.clip(np.where(np.isfinite(slope), slope, 0.0), 0.0, 1.0)


def _slope_by_items(data: _Gold) -> Floats:
    """Covariance without each item, over the variance of all judge scores, as in PPI++."""
    n, y, f = len(data.y), _centred(data.y), _centred(data.f)
    covariance = (np.sum(y * f) - n / (n - 1) * y * f) / (n - 2)
    pooled = np.var(np.concatenate([data.f, data.rest]), ddof=1)
    return np.asarray(covariance / ((1 + n / len(data.rest)) * pooled))


def _slope_by_groups(data: _Gold) -> Floats:
    """The minimum of the grouped variance, sum over groups of (A - lambda B)^2, without each group.

    With k gold items in a group, a and b the sums of their deviations in y and f, and r the
    group's share of the error of the unlabelled mean: A = a / n, B = b / n - r. Leaving a
    group out also moves the means that the deviations are taken from, by s and t.
    """
    k, a, b = (_by_group(data.group, v, data.n_all) for v in (np.ones_like(data.y), _centred(data.y), _centred(data.f)))
    r = _by_group(data.group_rest, _centred(data.rest) / len(data.rest), data.n_all)

    def others(values: Floats) -> Floats:
        return np.asarray(values.sum() - values)

    n = others(k)
    s, t = others(a) / n, others(b) / n
    cross = (others(a * b) - t * others(a * k) - s * others(b * k) + s * t * others(k * k)) / n
    square = (others(b * b) - 2 * t * others(b * k) + t * t * others(k * k)) / n
    cross -= others(a * r) - s * others(k * r)
    square += n * others(r * r) - 2 * (others(b * r) - t * others(k * r))
    return np.asarray((cross / square)[data.group])


def _centred(values: Floats) -> Floats:
    """Deviations from the mean; of a constant exactly 0, without the mean's rounding dust."""
    return np.asarray(values - values.mean()) if np.ptp(values) > 0 else np.zeros_like(values)


def _by_group(group: Codes, values: Floats, groups: int) -> Floats:
    return np.bincount(group, values, groups).astype(float)


def _result(
    data: _Gold, method: str, point: float, variance: float, df: float, lam: float, level: float, estimand: str
) -> MeanEstimate:
    error = float(np.sqrt(variance))
    # labels that do not vary say nothing about their spread: no interval is better than one of width 0
    half = float(stats.t.ppf((1 + level) / 2, df)) * error if error > 0 else float("nan")
    return MeanEstimate(
        estimate=point,
        std_error=error,
        interval=Interval(point - half, point + half),
        confidence_level=level,
        method=method,
        estimand=estimand,
        df=float(df),
        p_value=float(2 * stats.t.sf(abs(point) / error, df)) if error > 0 else float("nan"),
        lam=lam,
        n_gold=len(data.y) if method != "judge_only" else 0,
        n=len(data.y) + len(data.rest),
        n_groups=data.n_groups if method != "judge_only" else 0,
    )
