"""Variance components of draws (one-way random effects), and what the mean of several draws is worth by them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.numeric import matrix_product, ratio, unit_sums, units_of
from calib.core.result import NO_INTERVAL, Interval, WithInterval, bracket, short


class SumsByCount(NamedTuple):
    """Sums over the items of each row, by the number of draws that were read."""

    reads: Floats  # (C,): these numbers
    items: Floats  # (rows, C)
    mean: Floats  # (rows, C)
    square: Floats  # (rows, C): of the means
    inside: Floats  # (rows,): squared distances of draws from their item's mean


class RatioFit(NamedTuple):
    within: Floats
    between: Floats
    ratio: Floats  # between / within, not clipped
    n0: Floats  # draws per item in the F ratio 1 + n0 ratio; infinite where the ratio itself is known

    @property
    def log_f(self) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(np.isinf(self.n0), np.log(self.ratio), np.log1p(self.n0 * self.ratio)))


def sums_without(part: Floats | Codes, unit: Codes) -> Floats:
    """Sums over all rows but those of each unit in turn."""
    rest = part.sum(axis=0) - unit_sums(part, unit)
    # what is left of a sum by rounding alone is nothing
    return np.where(np.abs(rest) > 1e-12 * np.abs(part).sum(axis=0), rest, 0.0)


@np.errstate(invalid="ignore", divide="ignore")
def moments_fit(s: SumsByCount) -> RatioFit:
    n, total = s.items.sum(axis=1), matrix_product(s.items, s.reads)
    n0 = (total - matrix_product(s.items, s.reads**2) / total) / (n - 1)
    between = (matrix_product(s.square, s.reads) - matrix_product(s.mean, s.reads) ** 2 / total) / (n - 1)
    within = s.inside / (total - n)
    return RatioFit(within, np.maximum(between - within, 0) / n0, (between / within - 1) / n0, n0)


@np.errstate(invalid="ignore", divide="ignore")
def distributions_fit(s: SumsByCount) -> RatioFit:
    n = s.items[:, 0]
    return known_fit(s.inside / n, np.maximum(s.square[:, 0] - s.mean[:, 0] ** 2 / n, 0) / (n - 1))


@np.errstate(invalid="ignore", divide="ignore")
def known_fit(within: Floats, between: Floats) -> RatioFit:
    """Two variances of which neither is part of the other: their ratio is that of an F with endless draws."""
    return RatioFit(within, between, between / within, np.full(len(within), np.inf))


def jackknife(whole: RatioFit, without: RatioFit, level: float) -> tuple[Interval, float]:
    """Of between / within, not below 0, from its logarithm or that of F; and the degrees of freedom."""
    point, values = float(whole.log_f[0]), without.log_f
    if not math.isfinite(point):
        return NO_INTERVAL, math.nan
    if len(values) < 3 or not np.isfinite(values).all():  # all that is known hangs on one unit
        return Interval(0.0, math.inf), math.nan
    if np.ptp(values) < 1e-12:  # no spread among the units says nothing about others
        return NO_INTERVAL, math.nan
    k, off = len(values), values - values.mean()
    spread = float(np.mean(off**2))
    kurtosis = float(np.mean(off**4)) / spread**2
    df = float(np.clip(2 * k / (kurtosis - (k - 3) / (k - 1)), 1, k - 1))  # those of a variance of such values
    ends, n0 = point + two_sided(df, level) * math.sqrt((k - 1) * spread) * np.array([-1, 1]), whole.n0[0]
    with np.errstate(over="ignore"):
        ratios = np.exp(ends) if math.isinf(n0) else np.expm1(ends) / n0
    return Interval(*np.maximum(ratios, 0.0).tolist()), df


def quotient(top: float, bottom: float) -> float:
    return top / bottom if bottom else math.inf if top > 0 else math.nan


def share(ratio: float) -> float:
    """The share of one variance in the sum of two, from their ratio."""
    return 1 - 1 / (1 + ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponents(WithInterval):
    """How a judge's draws vary within an item, and their expectations between items.

    Where a judge reasons first, a draw is a chain of reasoning, read by the probabilities after it. Warnings:
    ``clipped``, ``no_noise``.

    Attributes
    ----------
    within, between : float
        Variances in squared score points: of a draw around its item's expectation, and of these over items (0 or more).
    r, interval : float, Interval
        within / between; infinite where `between` is 0. The upper end is where the items may not differ at all.
    icc, icc_interval : float, Interval
        1 / (1 + r): reliability of a single draw.
    label : float
        Variance of the label after a given chain; NaN without chains, as are the next three.
    share, share_interval : float, Interval
        label / (within + label): what token probabilities after the chain remove of a reply's variance.
    r_label : float
        (within + label) / between: r of one chain with one drawn label.
    estimator : str
        "moments", or "logprob" (from exact distributions).
    clipped : bool
        Whether `between` was estimated below 0 and set to 0.
    df : float
        Degrees of freedom of the t quantile of `interval`, see `variance_components`.
    n, n_dropped, n_unread : int
        Items in use; items without a single score; draws without a score, on the items in use.
    n_draws : float
        Read draws per item (harmonic mean); infinite for exact distributions.
    n_groups : int
        Independent units: groups, or items where no groups were given.
    confidence_level : float
    warnings : tuple of str
    """

    within: float
    between: float
    r: float
    interval: Interval
    icc: float
    icc_interval: Interval
    label: float
    share: float
    share_interval: Interval
    r_label: float
    confidence_level: float
    estimator: str
    clipped: bool
    df: float
    n: int
    n_dropped: int
    n_draws: float
    n_unread: int
    n_groups: int
    warnings: tuple[str, ...]

    @property
    def _has_chains(self) -> bool:
        return not math.isnan(self.label)

    def _rows(self) -> list[dict[str, Any]]:
        ends = {"r": self.interval, "icc": self.icc_interval, "share": self.share_interval}
        names = ["within", "between", "r", "icc", *["label", "share", "r_label"] * self._has_chains]
        heads = ("quantity", "estimate", "conf_low", "conf_high", "n")
        rows = [(name, getattr(self, name), *ends.get(name, NO_INTERVAL), self.n) for name in names]
        return [dict(zip(heads, row, strict=True)) for row in rows]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"ci": "jackknife", "cl": self.confidence_level, "n": self.n, "dropped": self.n_dropped}
        groups, clipped = self.n_groups if self.n_groups != self.n else None, self.clipped or None
        if self._has_chains:
            return {"chain-components": True, **terms, "chains": self.n_draws, "clipped": clipped, "groups": groups}
        read = {"draws": self.n_draws, "unread": self.n_unread}
        return {"components": self.estimator, **terms, **read, "groups": groups, "clipped": clipped}

    def __str__(self) -> str:
        if self._has_chains:
            return (
                f"token probabilities after a chain remove {100 * self.share:.3g} % of the variance of a draw, "
                f"{bracket(self.share_interval, self.confidence_level)}; then r = {short(self.r)}, without them "
                f"{short(self.r_label)} ({self.n} items, {short(self.n_draws)} chains each){self._bracketed_warnings}"
            )
        read = "exact distributions" if math.isinf(self.n_draws) else f"{short(self.n_draws)} draws each"
        return (
            f"r = {short(self.r)}, {bracket(self.interval, self.confidence_level)}; a single draw has reliability "
            f"{short(self.icc)} ({self.n} items, {read}){self._bracketed_warnings}"
        )


def variance_components(
    samples: ArrayLike,
    variances: ArrayLike | None = None,
    *,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> VarianceComponents:
    r"""Within-item and between-item variance of repeated scores (one-way random effects).

    By moments (the analysis of variance), with :math:`m_i` read draws of item i, M in all,

    .. math:: s^2_w = MS_w, \quad s^2_b = \frac{MS_b - MS_w}{n_0}, \quad
              n_0 = \frac{M - \sum_i m_i^2 / M}{n - 1}, \quad r = s^2_w / s^2_b.

    Of exact distributions, with expectation and variance of a draw,

    .. math:: s^2_w = \frac1n \sum_i V_i, \quad s^2_b = \frac1{n-1} \sum_i (E_i - \bar E)^2

    so that no draw need be made to know what draws would be worth. A judge that reasons first and then gives a label
    draws twice. With token probabilities at the label the second draw is exact, and only the first is left to chance:

    .. math:: \mathrm{Var}(\text{label}) = \underbrace{\mathrm{Var}(E[\text{label} \mid \text{chain}])}_{within}
              + \underbrace{E[\mathrm{Var}(\text{label} \mid \text{chain})]}_{label}

    Parameters
    ----------
    samples : array_like, shape (n, K) or (n,)
        K draws for each of n items; NaN where a reply could not be read. With `variances`
        expectations: of each item, shape (n,), or of the label after each of K chains of
        reasoning, shape (n, K). Items without a read one are left out.
    variances : array_like, the shape of `samples`, optional
        Of a single draw from each distribution, see `expectation` and `variance`.
    groups : sequence, shape (n,), optional
        Items that belong together, such as the answers to one question.
    confidence_level : float, default 0.95

    Notes
    -----
    The interval leaves out items, or whole groups, one at a time: the jackknife of :math:`\log(1 + n_0 / r)`,
    the logarithm of the F ratio, or of :math:`\log r` of exact distributions. A few items often hold most of the
    noise, so that its standard error is itself uncertain: the t quantile has

    .. math:: \nu = 2k \Big/ \Big(\kappa - \frac{k - 3}{k - 1}\Big), \quad 1 \le \nu \le k - 1

    degrees of freedom, :math:`\kappa` being the kurtosis of the k leave-one-out values. The interval of the share is
    the jackknife of log(within / label). In simulations a nominal 95 % covered 92 % at least with 20 items and 94 %
    with 50 or more; with 5 or 10 groups of correlated items 87 to 96 %.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 3; Arvesen
    (1969), Annals of Mathematical Statistics 40:2076-2100, for the jackknife of log F;
    Satterthwaite (1946), Biometrics Bulletin 2:110-114, for the principle of the degrees of freedom.

    Examples
    --------
    >>> print(variance_components([[3, 4, 3], [1, 1, 2], [5, 5, 4], [2, 3, 2], [4, 4, 4]]))
    r = 0.16, 95 % CI [0.02822, 1.138]; a single draw has reliability 0.8621 (5 items, 3 draws each)
    """
    level = check.probability(confidence_level, "confidence_level")
    values = check.array(samples, "samples")
    read = np.isfinite(values)
    spread = np.zeros(values.shape) if variances is None else check.array(variances, "variances")
    if (spread < -1e-9).any():  # a difference of two moments may be a hair below 0
        raise ArgumentError("variances", "must not be negative", f"got {np.nanmin(spread):g}")
    if values.shape != spread.shape:
        rule = f"must have the shape of {{0}} {values.shape}"
        raise ArgumentError("variances", rule, f"got {spread.shape}", mentions=("samples",))
    read &= np.isfinite(spread)
    spread = np.where(read, np.maximum(spread, 0.0), 0.0)
    if variances is not None and values.ndim == 1:
        if read.sum() < 2:
            rule = "and {0} must be known for two items at least"
            raise ArgumentError("samples", rule, f"got {read.sum()}", mentions=("variances",))
        used, unit, estimator = read, units_of(groups, read), "logprob"
        count, mean, inside = np.ones(len(unit), dtype=np.intp), values[read], spread[read]
        fit: Callable[[SumsByCount], RatioFit] = distributions_fit
        n_draws, n_unread = math.inf, 0
    else:
        draws = np.where(read, check.array(values, "samples", ndim=2), np.nan)
        count = read.sum(axis=1)
        used = count > 0
        if used.sum() < 2 or count.max() < 2:
            raise ArgumentError("samples", "must have values for two items, and two for one of them", "has fewer")
        draws, read, count, unit = draws[used], read[used], count[used], units_of(groups, used)
        # from one of its draws, not from its mean: equal draws then have no noise to the last bit
        first = draws[np.arange(len(draws)), read.argmax(axis=1)]
        shifted = np.where(read, draws - first[:, None], 0.0)
        off = shifted.sum(axis=1) / count
        mean, inside = first + off, (np.where(read, shifted - off[:, None], 0.0) ** 2).sum(axis=1)
        fit, estimator = moments_fit, "moments"
        n_draws, n_unread = float(len(count) / np.sum(1 / count)), int((~read).sum())
    reads, code = np.unique(count, return_inverse=True)
    of_count = (code[:, None] == np.arange(len(reads))).astype(float)
    shifted = (mean - np.sort(mean)[len(mean) // 2])[:, None]
    sums = SumsByCount(reads.astype(float), of_count, of_count * shifted, of_count * shifted**2, inside)
    # the fit to all items, and those without each unit in turn
    whole = fit(SumsByCount(sums.reads, *(np.asarray(part.sum(axis=0, keepdims=True)) for part in sums[1:])))
    without = fit(SumsByCount(sums.reads, *(sums_without(part, unit) for part in sums[1:])))
    within, between, unclipped = (float(part[0]) for part in whole[:3])
    ends, df = jackknife(whole, without, level)
    label, kept, kept_ends = math.nan, math.nan, NO_INTERVAL  # kept: the chain's share of the variance of a label
    if variances is not None and values.ndim > 1:  # what varies in the label after a chain, beside the chains
        noise = spread.sum(axis=1)[used]
        of_label = known_fit(np.array([noise.sum() / count.sum()]), whole.within)
        label, kept = float(of_label.within[0]), share(float(of_label.ratio[0]))
        rest = known_fit(ratio(sums_without(noise, unit), sums_without(count, unit)), without.within)
        kept_ends = Interval(*map(share, jackknife(of_label, rest, level)[0]))
    clipped = "the items' means differ less than their draws alone would make them: `between` was set to 0."
    warnings = (f"clipped: {clipped}",) * (unclipped < 0)
    warnings += ("no_noise: all draws of each item are equal: no interval.",) * (within == 0 and not label > 0)
    return VarianceComponents(
        within=within, between=between, clipped=unclipped < 0, estimator=estimator, confidence_level=level, df=df,
        r=quotient(within, between), interval=Interval(quotient(1.0, ends.high), quotient(1.0, ends.low)),
        icc=share(max(unclipped, 0.0)), icc_interval=Interval(*map(share, ends)),
        label=label, share=1 - kept, share_interval=Interval(1 - kept_ends.high, 1 - kept_ends.low),
        r_label=quotient(within + label, between), n=int(used.sum()), n_dropped=int((~used).sum()), n_draws=n_draws,
        n_unread=n_unread, n_groups=len(without.ratio), warnings=check.warn_all(warnings),
    )  # fmt: skip


def spearman_brown(icc: ArrayLike, n: ArrayLike) -> Floats:
    r"""Reliability of the mean of n draws from that of one.

    .. math:: \rho_n = \frac{n \rho_1}{1 + (n - 1) \rho_1}

    Parameters
    ----------
    icc, n : array_like
        Reliability of a single draw, 0 to 1; draws. They broadcast together.

    References
    ----------
    Spearman (1910), British Journal of Psychology 3:271-295; Brown (1910), ibid. 296-322.

    Examples
    --------
    >>> spearman_brown(0.4, [1, 5, 20]).round(3)
    array([0.4  , 0.769, 0.93 ])
    """
    one, draws = np.asarray(icc, dtype=float), _checked_draws(n)
    if ((one < 0) | (one > 1)).any():
        raise ArgumentError("icc", "must be from 0 to 1", f"got {icc!r}")
    return np.asarray(one / (one + (1 - one) / draws))[()]


def attenuation(r: ArrayLike, n: ArrayLike) -> Floats:
    r"""What the mean of n draws keeps of the Pearson correlation that exact expectations would have.

    .. math:: \frac{\rho_n}{\rho_\infty} = \frac{1}{\sqrt{1 + r/n}}

    Parameters
    ----------
    r, n : array_like
        Within-item over between-item variance of a single draw; draws. They broadcast together.

    References
    ----------
    Spearman (1904), American Journal of Psychology 15:72-101, for the correction that this inverts.

    Examples
    --------
    >>> attenuation([0.04, 1.5, 20], 5).round(3)
    array([0.996, 0.877, 0.447])
    """
    return np.asarray(1 / np.sqrt(1 + _checked_ratio(r) / _checked_draws(n)))[()]


def precision_gain(r: ArrayLike, n: ArrayLike) -> Floats:
    r"""Share of the way from the correlation of one draw to that of exact expectations that n draws go.

    .. math:: g = \frac{(1 + r/n)^{-1/2} - (1 + r)^{-1/2}}{1 - (1 + r)^{-1/2}}

    How much "20 draws" recover depends on the judge and the items alone: from 93 % at r = 0.5 to 63 % at 20.
    As r goes to 0 there is less and less to gain, of which n draws recover 1 - 1/n.

    Parameters
    ----------
    r, n : array_like
        As for `attenuation`; `n` at least 1.

    Examples
    --------
    >>> precision_gain([0.5, 1.5, 5.71, 11.25, 20], 20).round(3)
    array([0.933, 0.903, 0.808, 0.72 , 0.625])
    """
    noise, draws = np.broadcast_arrays(_checked_ratio(r), _checked_draws(n, least=1))
    # differences of numbers near 1 for small r: taken between their logarithms
    one, mean = (np.expm1(-np.log1p(value) / 2) for value in (noise, noise / draws))
    return np.asarray(np.divide(mean - one, -one, out=np.array(1 - 1 / draws), where=one < 0))[()]


def draws_needed(r: float, target: float) -> int:
    r"""Fewest draws whose mean keeps this share of the correlation of exact expectations.

    .. math:: N = \left\lceil \frac{r q^2}{1 - q^2} \right\rceil, \qquad \rho_N \ge q \, \rho_\infty

    Parameters
    ----------
    r, target : float
        Within-item over between-item variance of a single draw (of an infinite one no number of draws is enough); q,
        between 0 and 1.

    Examples
    --------
    >>> [draws_needed(r, 0.95) for r in (0.04, 0.5, 1.5, 5.71, 20)]
    [1, 5, 14, 53, 186]
    """
    share = check.probability(target, "target")
    noise = float(_checked_ratio(r))
    if not math.isfinite(noise):
        raise ArgumentError("r", "must be finite", f"got {r!r}: no number of draws is enough")
    # a hair above a whole number is rounding error
    return max(1, math.ceil(noise * share**2 / (1 - share**2) * (1 - 1e-9)))


def _checked_ratio(r: ArrayLike) -> Floats:
    value = np.asarray(r, dtype=float)
    if (value < 0).any():
        raise ArgumentError("r", "must not be negative", f"got {r!r}")
    return value


def _checked_draws(n: ArrayLike, least: int = 0) -> Floats:
    value = np.asarray(n, dtype=float)
    if not ((value >= least) & (value > 0)).all():
        raise ArgumentError("n", f"must be at least {least}" if least else "must be above 0", f"got {n!r}")
    return value
