"""Convergence of the mean of N draws to the exact expectation, and its correlation with labels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import hypergeom

from calib.analysis.agreement.coefficients import (
    OF_ONE_SAMPLE,
    ON_ONE_SCALE,
    WithCoefficient,
    named_coefficient,
    settled,
)
from calib.analysis.agreement.scales import refuse_other_scale
from calib.analysis.distributions.distribution import expected_entropy
from calib.analysis.draws.components import variance_components
from calib.analysis.draws.subsets import correlation_with_labels, subset_correlations
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.numeric import matrix_product, row_means
from calib.core.result import NO_INTERVAL, Interval, Result, short

SIZES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100)
_MOST_LEVELS = 30  # of single draws: with more, an entropy of the draws says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence(WithCoefficient, Result):
    """Means of N draws against a reference and against labels, as N grows.

    Attributes
    ----------
    sizes : tuple of int
        N, the draws that were asked for.
    rmse, rmse_low, rmse_high, rmse_predicted : tuple of float
        Root mean squared distance from the reference in score points, over items and all subsets of the draws, with its
        interval over items; what the within-item variance alone predicts. At N = K it is 0 against "all draws", where
        a frame leaves it out.
    rmse_limit, rmse_of_all : tuple of float, float
        Distance from the mean of endless draws, extrapolated from the within-item variance; that of the mean of all K.
    correlation, correlation_predicted : tuple of float
        Mean correlation with the reference; for Pearson that of the law, else NaN.
    agreement, agreement_low, agreement_high, agreement_predicted : tuple of float
        Mean correlation with the labels, with its interval over items; NaN when no labels were given. For
        Pearson what the law says from the reference alone, else NaN.
    agreement_reference, agreement_interval : float, Interval
        Correlation of the reference itself with the labels, with its interval over items.
    agreement_limit : float
        Of the mean of endless draws with the labels; NaN but for Pearson or an exact reference.
    entropy : tuple of float
        Mean plug-in entropy of N draws (nats), over the items of which all draws were read; NaN where draws are not on
        few levels.
    reference : str
        "exact" (the logprob expectation) or "all draws".
    coefficient : str
    within, r, r_interval : float, float, Interval
        Variance of single draws within an item, squared score points; the same over that between items.
    n, n_draws, n_unread, n_groups, n_subsets : int
        Items; draws per item; draws without a score, or that were not made; groups, if any; subsets per N.
    confidence_level : float
    seed : int or None
        Where `rng` was a number.
    """

    sizes: tuple[int, ...]
    rmse: tuple[float, ...]
    rmse_low: tuple[float, ...]
    rmse_high: tuple[float, ...]
    rmse_predicted: tuple[float, ...]
    rmse_limit: tuple[float, ...]
    rmse_of_all: float
    correlation: tuple[float, ...]
    correlation_predicted: tuple[float, ...]
    agreement: tuple[float, ...]
    agreement_low: tuple[float, ...]
    agreement_high: tuple[float, ...]
    agreement_predicted: tuple[float, ...]
    agreement_reference: float
    agreement_interval: Interval
    agreement_limit: float
    entropy: tuple[float, ...]
    reference: str
    coefficient: str
    within: float
    r: float
    r_interval: Interval
    n: int
    n_draws: int
    n_unread: int
    n_groups: int | None
    n_subsets: int
    confidence_level: float
    seed: int | None

    def _rows(self) -> list[dict[str, Any]]:
        curves = self._row("sizes", *_CURVES)
        rows = [dict(zip(("draws", *_CURVES), row, strict=True)) for row in zip(*curves.values(), strict=True)]
        for row in rows:  # all draws beside themselves would look as if they had converged
            if self.reference != "exact" and row["draws"] == self.n_draws:
                row.update(dict.fromkeys(_NEAR_REFERENCE, math.nan))
        return rows

    def _terms(self) -> dict[str, Any]:
        return {
            "convergence": True, "to": self.reference.replace(" ", "-"), "coef": self.coefficient,
            "cl": self.confidence_level, "n": self.n, "groups": self.n_groups, "draws": self.n_draws,
            "unread": self.n_unread, "subsets": self.n_subsets, "seed": self.seed,
        }  # fmt: skip

    def __str__(self) -> str:
        exact = self.reference == "exact"
        # where all draws are the reference, means of most of them are near it by themselves
        places = [i for i, n in enumerate(self.sizes) if exact or 2 * n <= self.n_draws]
        to, parts = "the exact expectation" if exact else f"the mean of all {self.n_draws}", []
        if places:
            last, first = (f"{n} draw{'s' * (n > 1)}" for n in (self.sizes[places[-1]], self.sizes[places[0]]))
            near = f"the mean of {last} is {short(self.rmse[places[-1]])} points (RMSE) from {to}"
            parts = [near + f", of {first} {short(self.rmse[places[0]])}" * (len(places) > 1)]
        if not exact:
            parts.append(f"{to} is itself about {short(self.rmse_of_all)} from that of endless draws (extrapolated)")
        text = "; ".join(parts)
        if np.isfinite(self.agreement_reference) and exact:
            reached, reference = short(self.agreement[-1]), short(self.agreement_reference)
            text += f", agreement with people {reached} (reference {reference})"
        elif np.isfinite(self.agreement_reference):
            of = [f"{short(self.agreement[places[-1]])} of {self.sizes[places[-1]]}"] if places else []
            of += [f"{short(self.agreement_reference)} of all {self.n_draws}"]
            of += [f"about {short(self.agreement_limit)} of endless draws"] * bool(np.isfinite(self.agreement_limit))
            text += f"; agreement with people {', '.join(of)}"
        return f"{text}; r = {short(self.r)}"


_NEAR_REFERENCE = ("rmse", "rmse_low", "rmse_high", "rmse_predicted", "correlation", "correlation_predicted")
_CURVES = (
    *_NEAR_REFERENCE[:4], "rmse_limit", *_NEAR_REFERENCE[4:],
    "agreement", "agreement_low", "agreement_high", "agreement_predicted", "entropy",
)  # fmt: skip


def convergence(
    samples: ArrayLike,
    *,
    exact: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    groups: Labels | None = None,
    coefficient: str | None = None,
    sizes: Sequence[int] | None = None,
    n_subsets: int = 200,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> Convergence:
    r"""Means of N draws against the exact expectation, for N = 1, 2, 3, ...

    Averaged over all subsets of N of an item's K draws, the squared distance of their mean from a reference
    :math:`e_i` has a closed form, and is predicted from the within-item variance :math:`s_w^2` alone:

    .. math::

        q_i(N) = s_i^2 \Big(\frac1N - \frac1K\Big) + (\bar x_i - e_i)^2, \qquad
        RMSE_N = \sqrt{s_w^2 \, (1/N - c)}

    with c = 0 against the exact expectation, c = 1/K against the mean of all K draws. How far that is from the mean of
    endless draws (c = 0) is extrapolated beside it. Of N draws that were paid for h can be read: then the mean
    of 1/h takes the place of 1/N, here and in the law. Correlations are averaged over random subsets
    (without replacement, anew for each item); for Pearson's the law is

    .. math:: r_N = r_\infty \sqrt{\frac{N\, ICC}{1 + (N - 1)\, ICC}} = \frac{r_\infty}{\sqrt{1 + r / N}}

    Parameters
    ----------
    samples : array_like, shape (n, K)
        K draws for each of n items; NaN where a reply could not be read. A draw that was
        paid for counts towards N whether it could be read or not.
    exact : array_like, shape (n,), optional
        Expectations from token probabilities; items without one are left out. Default: means of all draws.
    labels : array_like, shape (n,), optional
        People's labels of the same items, NaN where there is none.
    groups : array_like, shape (n,), optional
        What items share, such as a source document: intervals are then over groups.
    coefficient : str, default "spearman"
        That of the two correlations, as for `agreement`, but not "spa".
    sizes : sequence of int, optional
        Default: 1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100, up to K.
    n_subsets : int, default 200
        Random subsets per N.
    confidence_level : float, default 0.95
    rng : Generator or int, optional
        Source of the subsets; default a fresh one.

    Notes
    -----
    Intervals say what other items (or groups) would give: of the mean of :math:`q_i` on the scale of its logarithm,
    of a correlation by the jackknife, for product moments on Fisher's scale.

    References
    ----------
    See `spearman_brown` for the law; Cochran (1977), Sampling Techniques, theorem 2.2, for the finite population.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.uniform(1, 5, 400)
    >>> result = convergence(truth[:, None] + rng.normal(size=(400, 20)), exact=truth, sizes=[1, 4, 16], rng=2)
    >>> [round(v, 2) for v in result.rmse], [round(v, 2) for v in result.rmse_predicted]
    ([1.0, 0.5, 0.24], [1.0, 0.5, 0.25])
    """
    draws = _enough_draws(check.array(samples, "samples", ndim=2))
    kind = named_coefficient("spearman", coefficient, OF_ONE_SAMPLE)
    check.whole(n_subsets, "n_subsets", least=1)
    level = check.probability(confidence_level, "confidence_level")
    k = draws.shape[1]
    if sizes is None:
        sizes = (*(n for n in SIZES if n < k), k) if k <= SIZES[-1] else SIZES
    elif not len(sizes) or any(not 1 <= int(n) <= k or int(n) != n for n in sizes):
        raise ArgumentError("sizes", f"must be whole numbers from 1 to {k} (the draws there are)", f"got {list(sizes)}")
    sizes = tuple(map(int, sizes))
    whole = settled(row_means(draws))
    target = whole if exact is None else check.array(exact, "exact", ndim=1)
    y = np.full(len(draws), np.nan) if labels is None else check.array(labels, "labels", ndim=1)
    for name, other in (("exact", target), ("labels", y)) if kind in ON_ONE_SCALE else ():
        refuse_other_scale("samples", draws, name, other, f"for {kind!r}")
    owners = np.arange(len(draws)) if groups is None else check.codes(groups, "groups")
    check.same_length(samples=draws, exact=target, labels=y, groups=owners)
    if exact is not None:
        kept = np.isfinite(target)  # what has no reference says nothing about the distance from it
        draws, whole, target, y = (part[kept] for part in (draws, whole, target, y))
        owners = owners[kept]
        _enough_draws(draws, "and {0} ", ("exact",))
    with warnings.catch_warnings():  # what there is to say is in `r` and its interval
        warnings.simplefilter("ignore", check.CalibWarning)
        parts = variance_components(draws, groups=None if groups is None else owners, confidence_level=level)
    errors = [_squared_distances(draws, whole, target, n) for n in sizes]
    spans = [_root_interval(q, owners, level) for q in errors]
    curves = subset_correlations(draws, sizes, (target, y), kind, n_subsets, owners, np.random.default_rng(rng))
    ends = [toward.interval(kind, level) for _, toward in curves]
    limit = correlation_with_labels(target, y, kind, owners)
    noise, of_all = np.array([_noise_of_means(draws, n) for n in sizes]), _noise_of_means(draws, k)
    left = 0.0 if exact is not None else of_all
    law, endless = np.full(len(noise), np.nan), math.nan if left else 1.0
    if kind == "pearson":  # what means of draws, and endless draws, have of the reference's correlation
        reference = parts.icc + (1 - parts.icc) * left
        law = np.sqrt(reference / (parts.icc + (1 - parts.icc) * noise))
        endless = math.sqrt(reference / parts.icc) if parts.icc > 0 else math.nan
    return Convergence(
        sizes=sizes, reference="all draws" if exact is None else "exact", coefficient=kind, confidence_level=level,
        rmse=tuple(math.sqrt(np.nanmean(q)) for q in errors), rmse_of_all=math.sqrt(parts.within * of_all),
        rmse_low=tuple(span.low for span in spans), rmse_high=tuple(span.high for span in spans),
        rmse_predicted=tuple(np.sqrt(parts.within * np.maximum(noise - left, 0.0)).tolist()),
        rmse_limit=tuple(np.sqrt(parts.within * noise).tolist()), entropy=_mean_entropies(draws, sizes),
        correlation=tuple(near for near, _ in curves), correlation_predicted=tuple(law.tolist()),
        agreement=tuple(toward.value for _, toward in curves), agreement_predicted=tuple((law * limit.value).tolist()),
        agreement_low=tuple(end.low for end in ends), agreement_high=tuple(end.high for end in ends),
        agreement_reference=limit.value, agreement_interval=limit.interval(kind, level),
        agreement_limit=limit.value * endless, within=parts.within, r=parts.r, r_interval=parts.interval,
        n=len(draws), n_draws=k, n_unread=int(np.isnan(draws).sum()), n_subsets=n_subsets,
        n_groups=None if groups is None else len(np.unique(owners)), seed=rng if isinstance(rng, int) else None,
    )  # fmt: skip


def _enough_draws(draws: Floats, beside: str = "", mentions: tuple[str, ...] = ()) -> Floats:
    if min(draws.shape) < 2:
        rule = f"{beside}must have two items and two draws at least"
        raise ArgumentError("samples", rule, f"got shape {draws.shape}", mentions=mentions)
    if np.isfinite(draws).any(axis=1).sum() < 2:
        raise ArgumentError("samples", f"{beside}must have a readable draw for two items at least", mentions=mentions)
    return draws


def _squared_distances(draws: Floats, whole: Floats, target: Floats, size: int) -> Floats:
    """Mean squared distance of each item's N-draw means from its target, over the subsets with a score."""
    read, k = np.isfinite(draws).sum(axis=1), draws.shape[1]
    off = np.nansum((draws - whole[:, None]) ** 2, axis=1)
    variance = np.divide(off, read - 1, out=np.zeros(len(draws)), where=read > 1)
    spared = _mean_inverse(read, k, size) - _mean_inverse(read, k, k)
    return np.asarray(variance * np.maximum(spared, 0.0) + (whole - target) ** 2)


def _noise_of_means(draws: Floats, size: int) -> float:
    """Mean over items of the variance of N-draw means, in variances of one draw."""
    read = np.isfinite(draws).sum(axis=1)
    return float(np.mean(_mean_inverse(read[read > 0], draws.shape[1], size)))


def _mean_inverse(read: Codes, k: int, size: int) -> Floats:
    """Mean of 1/h, where h of an item's m read draws are among N of its K: a hypergeometric number, not 0."""
    counts, place = np.unique(read, return_inverse=True)
    h = np.arange(1, size + 1)
    chance = hypergeom.pmf(h, k, counts[:, None], size)
    with np.errstate(invalid="ignore"):
        inverse = (chance / h).sum(axis=1) / chance.sum(axis=1)
    return np.asarray(inverse[place.reshape(-1)])


def _root_interval(squares: Floats, owners: Codes, level: float) -> Interval:
    """Of the root of a mean of squares that differ from item to item, on the scale of the logarithm."""
    owners, squares = owners[np.isfinite(squares)], squares[np.isfinite(squares)]
    mean = float(np.mean(squares))
    units = np.bincount(owners, squares - mean)[np.bincount(owners) > 0]
    g = len(units)
    if not mean > 0 or g < 2:
        return Interval(math.sqrt(mean), math.sqrt(mean)) if mean == 0 else NO_INTERVAL
    error = math.sqrt(g / (g - 1) * float(matrix_product(units, units))) / len(squares) / mean
    reach = two_sided(g - 1, level) * error
    return Interval(math.sqrt(mean * math.exp(-reach)), math.sqrt(mean * math.exp(min(reach, 700.0))))


def _mean_entropies(draws: Floats, sizes: tuple[int, ...]) -> tuple[float, ...]:
    """Expected plug-in entropy of N of the draws; exact, without drawing."""
    levels, place = np.unique(draws[np.isfinite(draws)], return_inverse=True)
    if len(levels) > _MOST_LEVELS:
        return (math.nan,) * len(sizes)
    rows = np.nonzero(np.isfinite(draws))[0]
    counts = np.bincount(rows * len(levels) + place.reshape(-1), minlength=len(draws) * len(levels))
    table = counts.reshape(len(draws), len(levels))
    full = table[table.sum(axis=1) == draws.shape[1]]  # an unread draw has no level to be drawn
    if not len(full):
        return (math.nan,) * len(sizes)
    each = np.ascontiguousarray(expected_entropy(full, np.array(sizes)).T)
    return tuple(float(np.mean(entropies)) for entropies in each)
