"""How sharp a judge's probabilities are beside people's labels: the temperature that fits them best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from calib.analysis.distributions.distribution import entropy, expectation, places_of, ranked_probability_score, temper
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.numeric import units_of
from calib.core.result import Interval, Result, bracket, short

_NO_INFORMATION = 1e-20
_FORECASTS = ("before", "after", "climatology")
_NONE = Interval(np.nan, np.nan)


class Forecast(NamedTuple):
    """A judge's probabilities at one temperature, or the base rates of labels, averaged over items.

    Attributes
    ----------
    tau, mean, entropy : float
        Temperature, NaN for base rates; expected score, score points; entropy, nats.
    rps, skill, nll : float
        Ranked probability score; 1 - RPS / RPS of the base rates: below 0, they tell more; negative
        log-likelihood of a label in nats, without impossible labels. NaN without labels.
    """

    tau: float
    mean: float
    entropy: float
    rps: float = np.nan
    skill: float = np.nan
    nll: float = np.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperature(Result):
    """At which temperature a judge's probabilities fit people's labels best.

    Attributes
    ----------
    forecasts : tuple of Forecast
        Three: the judge at temperature 1 ("before") and at `tau` ("after"), and the labels' own base rates, the same
        for every item ("climatology").
    tau, std_error, interval : float, float, Interval
        Above 1: the judge is too sure of itself. Infinity: labels come no more often where the judge expects
        them; 0: every label is the judge's mode; then the standard error is NaN.
    confidence_level : float
    estimator : str
        "likelihood-ratio", or "likelihood-ratio, clustered".
    n, n_groups : int
        Labels; independent groups of them (= n without groups).
    n_missing, n_impossible : int
        Rows without a label or without mass; labels to which the judge gives probability 0 (after the floor).
    floor : float
        What was added to every probability.
    warnings : tuple of str
        What a reader should know first, each as "name: text".
    """

    forecasts: tuple[Forecast, ...]
    tau: float = np.nan
    std_error: float = np.nan
    interval: Interval = _NONE
    confidence_level: float = np.nan
    estimator: str = ""
    n: int
    n_groups: int = 0
    n_missing: int = 0
    n_impossible: int = 0
    floor: float = 0.0
    warnings: tuple[str, ...] = ()

    def _rows(self) -> list[dict[str, Any]]:
        ends = (_NONE, self.interval, _NONE)
        return [
            {"forecast": name, "tau": f.tau, "conf_low": low, "conf_high": high}
            | {"nll": f.nll, "rps": f.rps, "skill": f.skill, "mean": f.mean}
            for name, f, (low, high) in zip(_FORECASTS, self.forecasts, ends, strict=True)
        ]

    def _terms(self) -> dict[str, Any]:
        made = self.estimator.replace(", ", "-")
        terms: dict[str, Any] = {"temperature": True, "ci": made, "cl": self.confidence_level, "n": self.n}
        terms |= {"missing": self.n_missing, "groups": self.n_groups if self.n_groups != self.n else None}
        return terms | {"impossible": self.n_impossible or None, "floor": self.floor or None}

    def __str__(self) -> str:
        before, after, base_rates = (short(one.rps) for one in self.forecasts)
        return (
            f"tau = {short(self.tau)}, {bracket(self.interval, self.confidence_level)}, from {self.n} human labels: "
            f"RPS {before} -> {after} (base rates {base_rates}){self._bracketed_warnings}"
        )


def _forecast(tau: float, q: Floats, levels: ArrayLike) -> Forecast:
    return Forecast(float(tau), float(np.nanmean(expectation(q, levels))), float(np.nanmean(entropy(q))))


class _Labelled(NamedTuple):
    """Log probabilities, largest 0, of the levels in ascending order; which level the label is; its group."""

    log_p: Floats
    place: Codes
    group: Codes


def fit_temperature(
    p: ArrayLike,
    y: ArrayLike,
    levels: ArrayLike,
    *,
    groups: Labels | None = None,
    floor: float = 0.0,
    confidence_level: float = 0.95,
) -> Temperature:
    r"""Fit one temperature to human labels by maximum likelihood.

    .. math:: \hat\tau = \arg\max_\tau \sum_i \log p_{\tau,i}(y_i), \qquad
              p_{\tau,i}(k) = p_{ik}^{1/\tau} \Big/ \sum_l p_{il}^{1/\tau}

    The likelihood is concave in 1 / tau. The interval holds the values of tau whose deviance
    from the best one is at most

    .. math:: t^2_{G-1} \, \frac{J}{I}, \qquad J = \sum_g \Big(\frac{1}{1 - h_g} \sum_{i \in g} u_i\Big)^2

    where u are the scores, I is the information in 1 / tau and h the share of it in group g: a likelihood-ratio
    interval, as wide as the spread of the scores over independent groups says (each left out in turn), whether
    or not labels follow any power of the judge's probabilities. The likelihood alone is too sure where labels
    come in copies, and not sure enough where people differ less than any tempered judge says.
    Scores are measured on the labels that tau and the base rates were fitted to.

    Parameters
    ----------
    p : array_like, shape (n, K)
        The judge's probabilities of the levels at temperature 1; normalised first.
    y : array_like, shape (n,)
        A person's label of the same item, one of the levels; NaN where there is none. An item
        with several labels has a row for each (and is a group).
    levels : array_like, shape (K,)
    groups : sequence, shape (n,), optional
        Labels are independent between groups. Default: each is on its own.
    floor : float, default 0
        Added to every probability, to make labels possible to which the judge gives none. Default: these
        are counted and left out of the likelihood, which flatters the judge; with a floor, tau depends on it.
    confidence_level : float, default 0.95

    Returns
    -------
    Temperature

    Raises
    ------
    ValueError
        If lengths differ, a label is not a level, or there are not two independent labels of
        items with two levels of unlike probability, so that temperature changes nothing.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, ICML, for the scaling. Chandler and Bate (2007),
    Inference for clustered data using the independence loglikelihood, Biometrika 94, for the interval.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.dirichlet([1, 1, 1, 1], 400)
    >>> y = [rng.choice([1, 2, 3, 4], p=row) for row in temper(p, 2.0)]
    >>> print(fit_temperature(p, y, [1, 2, 3, 4]))
    tau = 1.924, 95 % CI [1.544, 2.516], from 400 human labels: RPS 0.1909 -> 0.1842 (base rates 0.2016)
    """
    check.probability(confidence_level, "confidence_level")
    shares, labels, unit, n_missing = _labelled_shares(p, y, levels, groups, floor)
    values = np.sort(check.array(levels, "levels", ndim=1))
    place, log_p = places_of(labels, values), _log_shares(shares)
    possible = np.isfinite(log_p[np.arange(len(place)), place])
    data = _Labelled(log_p[possible], place[possible], units_of(unit, possible))
    n_groups, n_impossible = _n_groups(data), int((~possible).sum())
    tau, std_error, interval = _tau_and_interval(data, n_groups, confidence_level)
    forecasts = _scored(shares, tau, place, possible, values)
    warned = _warnings(forecasts, len(labels), n_impossible, n_groups)
    for text in warned:
        check.warn(text)
    return Temperature(
        forecasts=forecasts,
        tau=tau,
        std_error=std_error,
        interval=interval,
        confidence_level=confidence_level,
        estimator="likelihood-ratio" if groups is None else "likelihood-ratio, clustered",
        n=len(labels),
        n_groups=n_groups,
        n_missing=n_missing,
        n_impossible=n_impossible,
        floor=float(floor),
        warnings=warned,
    )


def _scored(shares: Floats, tau: float, place: Codes, known: NDArray[np.bool_], values: Floats) -> tuple[Forecast, ...]:
    """Probabilities at temperature 1 and at `tau`, and the base rates, beside the labels."""
    base = np.tile(np.bincount(place, minlength=len(values)) / len(place), (len(place), 1))
    forecasts = []
    for t, q in ((1.0, shares), (tau, temper(shares, tau)), (np.nan, base)):
        rps = float(np.mean(ranked_probability_score(q, values[place], values)))
        nll = float(-np.mean(np.log(q[known, place[known]])) + 0.0)
        forecasts.append(_forecast(t, q, values)._replace(rps=rps, nll=nll))
    *told, base_rates = forecasts
    worst = base_rates.rps or np.nan
    return *(one._replace(skill=1 - one.rps / worst) for one in told), base_rates._replace(skill=0.0)


def _labelled_shares(
    p: ArrayLike, y: ArrayLike, levels: ArrayLike, groups: Labels | None, floor: float
) -> tuple[Floats, Floats, Codes, int]:
    """Shares, labels and groups of the rows that have a label and mass, and how many have not."""
    weights, labels = check.array(p, "p", ndim=2), check.array(y, "y", ndim=1)
    check.same_length(p=weights, y=labels, groups=groups)
    weights = weights[:, np.argsort(levels)]
    if not 0 <= floor < 1:
        raise ArgumentError("floor", "must be at least 0 and below 1", f"got {floor!r}")
    shares = temper(temper(weights, 1.0) + floor, 1.0)
    keep = np.isfinite(labels) & np.isfinite(shares).all(axis=1)
    return shares[keep], labels[keep], units_of(groups, keep), int((~keep).sum())


def _log_shares(shares: Floats) -> Floats:
    """Log probabilities of each row, less the largest: minus infinity where there is none."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares) - np.log(shares.max(axis=1, keepdims=True)))


def _n_groups(data: _Labelled) -> int:
    """The number of groups, once two of them at least can speak about temperature."""
    telling = np.bincount(data.group, _label_scores(1.0, data)[2]) > _NO_INFORMATION
    if telling.sum() < 2:
        rule = (
            "and {0} must have two independent labels at least of items with two possible levels of unlike "
            "probability, or temperature changes nothing"
        )
        raise ArgumentError("p", rule, f"got {int(telling.sum())}", mentions=("y",))
    return len(telling)


def _label_scores(power: float, data: _Labelled) -> tuple[Floats, Floats, Floats]:
    """Log-likelihood of each label at power 1 / tau, its derivative, and the variance of log p under it."""
    possible = np.isfinite(data.log_p)
    log_p = np.where(possible, data.log_p, 0.0)
    own = log_p[np.arange(len(log_p)), data.place]
    tempered = np.multiply(power, log_p, where=log_p < 0, out=np.zeros_like(log_p))  # 0 at the mode at any power
    weight = np.exp(tempered) * possible
    mass = weight.sum(axis=1)
    mean = (weight * log_p).sum(axis=1) / mass
    spread = (weight * (log_p - mean[:, None]) ** 2).sum(axis=1) / mass
    return tempered[np.arange(len(own)), data.place] - np.log(mass), own - mean, spread


def _tau_and_interval(data: _Labelled, n_groups: int, confidence_level: float) -> tuple[float, float, Interval]:
    """Of highest likelihood, with its standard error; all are worked out for its inverse, the power."""
    power = _best_power(data)
    log_likelihood, score, spread = _label_scores(power, data)
    excess = _excess_variance(score, spread, data.group)
    most = two_sided(n_groups - 1, confidence_level) ** 2 * excess

    def beyond(b: float) -> float:
        return float(2 * (log_likelihood.sum() - _label_scores(b, data)[0].sum()) - most)

    low, high = 0.0, np.inf
    if beyond(0.0) > 0:
        low = optimize.brentq(beyond, 0.0, power if power < high else _doubled(1.0, lambda b: beyond(b) <= 0))
    if power < high:
        high = optimize.brentq(beyond, power, _doubled(max(2 * power, 1.0), lambda b: beyond(b) > 0))
    error = float(np.sqrt(excess / spread.sum()) / power**2) if 0 < power < np.inf else np.nan
    return _inverse_power(power), error, Interval(_inverse_power(high), _inverse_power(low))


def _best_power(data: _Labelled) -> float:
    """1 / tau of the highest likelihood, which is concave in it; at least 0."""

    def slope(b: float) -> float:
        return float(_label_scores(b, data)[1].sum())

    if (data.log_p[np.arange(len(data.place)), data.place] == 0).all():
        return float("inf")  # every label is a mode: lower temperatures fit ever better
    if slope(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(slope, 0.0, _doubled(1.0, lambda b: slope(b) <= 0), xtol=1e-12))


def _excess_variance(score: Floats, spread: Floats, group: Codes) -> float:
    """Variance of the summed scores between groups over that of the likelihood, each group left out in turn."""
    information, by_group = np.bincount(group, spread), np.bincount(group, score)
    if information.sum() <= _NO_INFORMATION:  # tau = 0 leaves no score; labels of one group may be copies
        return len(group) / len(by_group)
    left_out = (by_group - by_group.mean()) / (1 - information / information.sum())
    return float((left_out**2).sum() / information.sum())


def _doubled(start: float, reached: Callable[[float], bool]) -> float:
    """The first of start, 2 start, 4 start, ... that has reached it."""
    while not reached(start):
        start *= 2
    return start


def _inverse_power(value: float) -> float:
    return 1 / value if value else float("inf")


def _warnings(forecasts: tuple[Forecast, ...], n: int, n_impossible: int, n_groups: int) -> tuple[str, ...]:
    """What a reader should know before the temperature."""
    _, after, base_rates = forecasts
    # base rates of all labels know each label too; those of the other labels have exactly this score
    others = base_rates.rps * (n / (n - 1)) ** 2
    tau, few = after.tau, n_groups < 10
    found = {
        f"impossible_labels: {n_impossible} of {n} labels have probability 0 from the judge; they are not in the "
        "likelihood, which flatters the judge and makes tau too low": n_impossible > 0,
        "uninformative: labels come no more often where the judge expects them; no temperature helps": tau == np.inf,
        "all_at_mode: every label is the judge's mode, so that tau has no lower end but 0": tau == 0,
        f"no_skill: even at the best temperature the ranked probability score, {after.rps:.4f}, is no better than "
        f"that of the base rates of the other labels, {others:.4f}": after.rps >= others,
        f"few_groups: {n_groups} independent groups of labels; intervals from fewer than 10 may be short": few,
    }
    return tuple(text for text, holds in found.items() if holds)


def draws_temperature(counts: Floats, share: Floats) -> float:
    """The temperature at which probabilities fit draws of the same items best; NaN where all are flat."""
    row, place = np.repeat(np.nonzero(counts), counts[counts > 0].astype(int), axis=1)
    data = _Labelled(_log_shares(share)[row], place, row)
    return _inverse_power(_best_power(data)) if _label_scores(1.0, data)[2].sum() > _NO_INFORMATION else float("nan")
