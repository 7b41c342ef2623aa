"""The win rate at equal length, and how preferences go with length: an association, no bias without people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from calib.analysis.pairs.pair_shares import few_groups, group_of_pairs, share_of, sums_by, win_shares
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.laws import two_sided
from calib.core.result import Estimate, Interval, bracket, short

_LEAST_SIDE = 0.1  # share of the pairs on either side of equal length
_STEEP = 30.0  # a logit that no data show: a fit that runs away
_LEAST_PAIRS, _ENOUGH_PAIRS = 10, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthControlled(Estimate):
    """The win rate of A at equal length, by the model, and how it goes with the difference of lengths.

    Attributes
    ----------
    win_rate : float
        Plain mean of the preferences.
    win_rate_interval : Interval
    win_share : float
        Share of the pairs in which A has more than half.
    slope, slope_std_error : float
        Of the logit on tanh(difference / standard deviation): above 0 the longer output is preferred.
    slope_interval : Interval
    slope_p_value : float
    intercept, std_error : float
        Logit of `estimate`, and its standard error.
    spread : float
        Standard deviation of the differences of length.
    spearman : float
        Rank correlation of difference and preference.
    n, n_longer, n_shorter : int
        Pairs; those in which A is the longer and the shorter one.
    n_missing, n_groups : int
    """

    win_rate: float
    win_rate_interval: Interval = field(metadata={"column": False})
    win_share: float
    slope: float
    slope_std_error: float
    slope_interval: Interval
    slope_p_value: float
    intercept: float
    std_error: float
    spread: float
    spearman: float
    n: int
    n_longer: int
    n_shorter: int
    n_missing: int
    n_groups: int

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"length-controlled": True, "logit": "fractional", "cl": self.confidence_level}
        terms |= {"se": "cluster" if self.n_groups else "robust", "n": self.n}
        return terms | {"groups": self.n_groups or None, "missing": self.n_missing}

    def __str__(self) -> str:
        return (
            f"win rate at equal length {short(self.estimate)}, {self.bracket}, plain {short(self.win_rate)}; slope "
            f"{short(self.slope)}, {bracket(self.slope_interval, self.confidence_level)}{self._bracketed_warnings}"
        )


def length_controlled(
    preference: ArrayLike, length_difference: ArrayLike, *, groups: Labels | None = None, confidence_level: float = 0.95
) -> LengthControlled:
    r"""Win rate at equal length, from preferences and differences of length alone.

    .. math:: logit\, E[y] = \beta_0 + \beta_1 \tanh(d / s_d)

    a fractional logit of the share of A that wins on the difference of lengths d (of A less B), with its standard
    deviation s_d; expit(beta_0) is the win rate of A at d = 0. Standard errors are robust (HC1); with groups clustered,
    with Student's quantile for one less than the groups.

    It is an association: whether the judge rewards length beyond what people do, only people's verdicts on the same
    pairs can say (`calib.bias`).

    Parameters
    ----------
    preference : array_like, shape (n,)
        The share of A that wins: 1, 0, .5 for a tie, or a probability. NaN leaves the pair out.
    length_difference : array_like, shape (n,)
        Length of A less length of B, in characters, words or tokens.
    groups : sequence, shape (n,), optional
        What pairs share, such as the prompt.
    confidence_level : float, default 0.95

    References
    ----------
    Dubois et al. (2024), Length-Controlled AlpacaEval, arXiv:2404.04475, for tanh and the idea; their model has
    terms for each model and instruction besides. Papke and Wooldridge (1996) for the fractional logit.

    Examples
    --------
    >>> d = [-300, -200, -100, -50, 50, 100, 200, 300] * 5
    >>> y = [0, 0, 1, 0, 1, 0, 1, 1] * 5
    >>> print(length_controlled(y, d))
    win rate at equal length 0.5, 95 % CI [0.3185, 0.6815], plain 0.5; slope 2.024, 95 % CI [1.002, 3.047]
    """
    y, d = win_shares(preference, "preference"), check.array(length_difference, "length_difference", ndim=1)
    check.same_length(preference=y, length_difference=d)
    level = check.probability(confidence_level, "confidence_level")
    keep = np.isfinite(y) & np.isfinite(d)
    unit = group_of_pairs(groups, keep)
    y, d = y[keep], d[keep]
    if len(y) < _LEAST_PAIRS:
        rule = f"must have {_LEAST_PAIRS} pairs or more with a difference of length"
        raise ArgumentError("preference", rule, f"has {len(y)}")
    if not 0 < y.mean() < 1:
        raise ArgumentError("preference", "must have wins of both", f"all are {y[0]:g}")
    if not (d > 0).any() or not (d < 0).any():
        rule = "must lie on both sides of 0: nothing else says what happens at equal length"
        raise ArgumentError("length_difference", rule, f"goes from {d.min():g} to {d.max():g}")
    spread = float(d.std())
    design = np.column_stack([np.ones(len(d)), np.tanh(d / spread)])
    beta = _fractional_logit(design, y)
    # robust covariance: plain, as statsmodels has it for a GLM, or by groups with their small-sample factor
    p, (n, k) = special.expit(design @ beta), design.shape
    bread = np.linalg.inv(design.T @ ((p * (1 - p))[:, None] * design))
    scores = np.column_stack([sums_by(unit, column * (y - p)) for column in design.T])
    m = len(scores)
    factor = 1.0 if unit is None else m / (m - 1) * (n - 1) / (n - k) if m > 1 else np.nan
    errors = np.sqrt(np.diag(factor * bread @ (scores.T @ scores) @ bread))
    n_groups = 0 if unit is None else int(unit.max()) + 1
    df = n_groups - 1 if n_groups else np.inf
    t = two_sided(df, level)
    ends = [Interval(float(b - t * e), float(b + t * e)) for b, e in zip(beta, errors, strict=True)]
    plain, z = share_of(y, unit, level), abs(beta[1] / errors[1])
    warnings = [*few_groups(unit)]
    if n < _ENOUGH_PAIRS and not n_groups and not np.isin(y, (0.0, 0.5, 1.0)).all():
        less = f"intervals of {n} probabilities hold a little less often than they say; {_ENOUGH_PAIRS} would do"
        warnings.append(f"few_pairs: {less}")
    share, side = min((float(np.mean(d < 0)), "shorter"), (float(np.mean(d > 0)), "longer"), key=lambda each: each[0])
    if share < _LEAST_SIDE:
        there = f"A is the {side} one in {100 * share:.1f} % of the pairs"
        warnings.append(f"extrapolated: {there}: the win rate at equal length is drawn out from the others")
    return LengthControlled(
        estimate=float(special.expit(beta[0])), interval=Interval(*(float(special.expit(end)) for end in ends[0])),
        win_rate=plain.estimate, win_rate_interval=plain.interval, win_share=float(np.mean(y > 0.5)),
        slope=float(beta[1]), slope_std_error=float(errors[1]), slope_interval=ends[1],
        slope_p_value=float(2 * (stats.t.sf(z, df) if n_groups else stats.norm.sf(z))), intercept=float(beta[0]),
        std_error=float(errors[0]), spread=spread, spearman=float(stats.spearmanr(d, y).statistic),
        confidence_level=level, n=n, n_longer=int(np.sum(d > 0)), n_shorter=int(np.sum(d < 0)),
        n_missing=int(np.sum(~keep)), n_groups=n_groups, warnings=tuple(warnings),
    )  # fmt: skip


def _fractional_logit(design: Floats, y: Floats) -> Floats:
    """Both coefficients, by Newton's steps, halved where the likelihood falls."""

    def quasi_likelihood(at: Floats) -> float:
        z = design @ at
        return float(np.sum(y * z - np.logaddexp(0, z)))

    beta = np.array([special.logit(np.clip(y.mean(), 1e-6, 1 - 1e-6)), 0.0])
    best = quasi_likelihood(beta)
    for _ in range(60):
        p = special.expit(design @ beta)
        step = np.linalg.lstsq(design.T @ ((p * (1 - p))[:, None] * design), design.T @ (y - p), rcond=None)[0]
        while (reached := quasi_likelihood(beta + step)) < best - 1e-12 * abs(best):
            step = step / 2
        beta, gain, best = beta + step, reached - best, reached
        if np.abs(beta).max() > _STEEP:
            break
        if np.abs(step).max() < 1e-10 or (gain <= 0 and np.abs(step).max() < 1e-7):
            return np.asarray(beta)
    raise ArgumentError("length_difference", "must not part wins from losses: no slope is the largest")
