"""A rate for gold that was sampled by its outcome, or that comes from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.moments import refuse_where
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.result import Interval, Result, bracket, short

_SHUFFLES = 9_999  # of the tables with the observed margins


class Corrected(NamedTuple):
    """Rogan and Gladen's rate with Lee et al.'s interval, both before they are cut to [0, 1]."""

    estimate: Floats
    std_error: Floats
    low: Floats
    high: Floats


def rogan_gladen_from_rates(
    p: ArrayLike, q0: ArrayLike, q1: ArrayLike, n: ArrayLike, m0: ArrayLike, m1: ArrayLike, confidence: ArrayLike
) -> Corrected:
    """Formula of `rogan_gladen` on rates and counts; NaN where the judge is no better than chance."""
    z = special.ndtri((1 + np.asarray(confidence, float)) / 2)
    rate, spec, sens, size, no, yes = (np.asarray(v, float) for v in (p, q0, q1, n, m0, m1))
    estimate, _ = _corrected(rate, spec, sens, size, no, yes)
    # a little of one half is mixed in, so that rates of 0 and 1 have a spread too
    size_, no_, yes_ = size + z**2, no + 2, yes + 2
    spec_, sens_ = (no * spec + 1) / no_, (yes * sens + 1) / yes_
    centre, error = _corrected((size * rate + z**2 / 2) / size_, spec_, sens_, size_, no_, yes_)
    shift = 2 * z**2 * (centre * sens_ * (1 - sens_) / yes_ - (1 - centre) * spec_ * (1 - spec_) / no_)
    return Corrected(estimate, error, centre + shift - z * error, centre + shift + z * error)


def _corrected(p: Floats, q0: Floats, q1: Floats, n: Floats, m0: Floats, m1: Floats) -> tuple[Floats, Floats]:
    gain = q0 + q1 - 1  # Youden's index
    gain = np.where(gain > 1e-12, gain, np.nan)
    theta = (p + q0 - 1) / gain
    variance = p * (1 - p) / n + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    return theta, np.sqrt(variance) / gain


@dataclass(frozen=True, slots=True, kw_only=True)
class RoganGladen(Result):
    """The rate of human yes, from the judge's rate and its two kinds of error.

    Attributes
    ----------
    estimate : float
        Cut to [0, 1]; NaN where the judge is no better than chance on the gold items.
    std_error : float
        Of the smoothed rate that the interval is built around.
    interval : Interval
        [0, 1] where the judge is no better than chance, NaN ends where the judge's rate cannot come
        from these errors.
    confidence_level : float
    sensitivity, specificity : float
        Share of the judge's yes among human yes, of its no among human no.
    judge_rate : float
        Share of the judge's yes among the items of interest.
    p_transport : float
        That sensitivity and specificity are the same in all systems; NaN without `systems`.
    n, n_positive, n_negative : int
        Items of interest; gold items with a human yes, with a human no.
    warnings : tuple of str
    """

    estimate: float
    std_error: float
    interval: Interval
    confidence_level: float
    sensitivity: float
    specificity: float
    judge_rate: float
    p_transport: float
    n: int
    n_positive: int
    n_negative: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        names = ("estimate", "std_error", "interval", "sensitivity", "specificity", "judge_rate", "n_positive")
        return [{"estimator": "rogan_gladen", **self._row(*names, "n_negative", "n", "p_transport", "warnings")}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"rogan-gladen": True, "lee": True, "cl": self.confidence_level}
        return terms | {"pos": self.n_positive, "neg": self.n_negative, "n": self.n}

    def __str__(self) -> str:
        return (
            f"human rate = {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, from the judge's "
            f"rate {short(self.judge_rate)} on {self.n} items, its sensitivity {short(self.sensitivity)} "
            f"({self.n_positive} human yes) and specificity {short(self.specificity)} ({self.n_negative} human no)"
        )


def rogan_gladen(
    f: ArrayLike, y_gold: ArrayLike, f_gold: ArrayLike, *, systems: Labels | None = None, confidence_level: float = 0.95
) -> RoganGladen:
    r"""Rate of human yes where the gold items were sampled by their outcome, or come from elsewhere.

    .. math:: \hat\theta = \frac{p + q_0 - 1}{q_0 + q_1 - 1}, \qquad
              \widehat{Var} = \frac{p(1-p)/n + (1-\theta)^2 q_0 (1-q_0)/m_0 + \theta^2 q_1 (1-q_1)/m_1}
                                   {(q_0 + q_1 - 1)^2}

    with the judge's rate p on n items, its specificity q_0 on m_0 gold items with a human no and its
    sensitivity q_1 on m_1 with a human yes. The interval is Lee et al.'s: z and m_0, m_1 + 2 for n + z^2 and so
    on, as Agresti and Coull's, and a shift of 2 z^2 (\theta q_1 (1-q_1)/m_1 - (1-\theta) q_0 (1-q_0)/m_0).

    The rate of human yes may differ between gold and target; the judge's two error rates may not. Where gold is
    a random sample of the target, `ppi_proportion` needs no such assumption and is two to three times narrower.

    Parameters
    ----------
    f : array_like, shape (n,)
        The judge's yes (1) and no (0) on the items of interest.
    y_gold, f_gold : array_like, shape (m,)
        Human's and judge's, on the gold items.
    systems : sequence, shape (m,), optional
        Who made each gold item. Judges are stricter with some systems than with others: a permutation test
        (chi-square, within human yes and within human no, Bonferroni) that they are not.
    confidence_level : float, default 0.95

    Returns
    -------
    RoganGladen

    Raises
    ------
    ValueError
        If a value is not 0 or 1, `f` is empty, or gold lacks human yes or human no.

    Warns
    -----
    CalibWarning
        "transport": errors differ between systems. "chance": the judge is no better than chance.
        "infeasible": its rate cannot come from these errors. "few_gold": under 10 human yes, or human no.

    References
    ----------
    Rogan and Gladen (1978), American Journal of Epidemiology 107:71-76; Lee et al. (2025), arXiv:2511.21140.

    Examples
    --------
    >>> f = [1] * 400 + [0] * 600
    >>> y_gold, f_gold = [1] * 200 + [0] * 200, [1] * 180 + [0] * 20 + [1] * 60 + [0] * 140
    >>> result = rogan_gladen(f, y_gold, f_gold)
    >>> round(result.estimate, 4), [round(end, 4) for end in result.interval]
    (0.1667, [0.0564, 0.2627])
    """
    judged, labels, scores = _binary(f, "f"), _binary(y_gold, "y_gold"), _binary(f_gold, "f_gold")
    check.same_length(y_gold=labels, f_gold=scores, systems=systems)
    confidence = check.probability(confidence_level, "confidence_level")
    yes = labels == 1
    if not len(judged):
        raise ArgumentError("f", "must hold one item at least", "is empty")
    if yes.all() or not yes.any():
        raise ArgumentError("y_gold", "must hold human yes and human no", f"got {int(yes.sum())} yes in {len(yes)}")
    rates = {"p": judged.mean(), "q0": 1 - scores[~yes].mean(), "q1": scores[yes].mean()}
    counts = {"n": len(judged), "m0": int((~yes).sum()), "m1": int(yes.sum())}
    parts = rogan_gladen_from_rates(**rates, **counts, confidence=confidence)
    p_value, told = (float("nan"), []) if systems is None else _transport(scores, yes, check.codes(systems, "systems"))
    told += _rate_doubts(parts, rates, counts)
    for text in told:
        check.warn(text)
    return RoganGladen(
        estimate=float(np.clip(parts.estimate, 0, 1)),
        std_error=float(parts.std_error),
        interval=_cut(parts),
        confidence_level=confidence,
        sensitivity=float(rates["q1"]),
        specificity=float(rates["q0"]),
        judge_rate=float(rates["p"]),
        p_transport=p_value,
        n=counts["n"],
        n_positive=counts["m1"],
        n_negative=counts["m0"],
        warnings=tuple(told),
    )


def _binary(value: ArrayLike, name: str) -> Floats:
    values = check.array(value, name, ndim=1)
    refuse_where(~((values == 0) | (values == 1)), values, name, "must be 0 or 1 everywhere")
    return values


def _cut(parts: Corrected) -> Interval:
    if np.isnan(parts.low) or np.isnan(parts.estimate):
        return Interval(0.0, 1.0)
    if parts.low >= 1 or parts.high <= 0:
        return Interval(float("nan"), float("nan"))  # cut to [0, 1] it would be a point
    return Interval(max(float(parts.low), 0.0), min(float(parts.high), 1.0))


def _rate_doubts(parts: Corrected, rates: dict[str, Any], counts: dict[str, int]) -> list[str]:
    told, rate, fewest = [], rates["p"], min(counts["m0"], counts["m1"])
    if np.isnan(parts.estimate):
        told.append(
            f"chance: sensitivity {rates['q1']:.3g} + specificity {rates['q0']:.3g} is not above 1, so the judge's "
            "rate says nothing of the human rate."
        )
    elif parts.low >= 1 or parts.high <= 0:
        told.append(
            f"infeasible: a judge rate of {rate:.3g} cannot come from sensitivity {rates['q1']:.3g} and specificity "
            f"{rates['q0']:.3g}: the judge errs otherwise on these items than on the gold ones."
        )
    if fewest < 10:
        told.append(f"few_gold: only {fewest} gold items of one outcome; the interval is a rough one below 10.")
    return told


def _transport(scores: Floats, yes: NDArray[np.bool_], system: NDArray[np.intp]) -> tuple[float, list[str]]:
    """One p-value that neither error rate depends on the system, and what to say if it is small."""
    parts = {"sensitivity": (scores[yes], system[yes]), "specificity": (1 - scores[~yes], system[~yes])}
    p_values = {name: _same_rate(*part) for name, part in parts.items()}
    p_value = min(1.0, 2 * min(p_values.values()))
    if p_value >= 0.05:
        return p_value, []
    name = min(p_values, key=p_values.__getitem__)
    hits, size = (np.bincount(parts[name][1], weights) for weights in (parts[name][0], None))
    rate = hits[size > 0] / size[size > 0]
    return p_value, [
        f"transport: the judge's {name} runs from {rate.min():.3g} to {rate.max():.3g} over {len(rate)} systems "
        f"(p = {p_value:.2g}); take gold from the system that the rate is for."
    ]


def _same_rate(hits: Floats, system: NDArray[np.intp]) -> float:
    """Permutation p-value of the chi-square of equal rates, exact for small tables too."""
    size = np.bincount(system)
    size, count = size[size > 0], int(hits.sum())
    if len(size) < 2 or count in {0, len(hits)}:
        return 1.0
    seen = np.bincount(system, hits)[np.bincount(system) > 0]
    drawn = np.random.default_rng(0).multivariate_hypergeometric(size, count, size=_SHUFFLES, method="marginals")
    far = [((k - size * count / len(hits)) ** 2 / size).sum(axis=-1) for k in (seen, drawn)]
    return float((1 + np.sum(far[1] >= far[0] * (1 - 1e-9))) / (1 + _SHUFFLES))
