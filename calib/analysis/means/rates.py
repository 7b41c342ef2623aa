"""Rates of yes: from counts, of labels alone or with a judge's yes and no; and from labels sampled by their outcome.

The functions of counts take any leading shape and check nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from calib.analysis.means.moments import refuse_where
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import wilson
from calib.core.result import NO_INTERVAL, Estimate, Interval, short, term

_SHUFFLES = 9_999  # of the tables with the observed margins
_MOST_ERRORS = 1.4  # of a limit, times its tail probability: one of 95 % holds in 93 % of the samples at any rate
_IN_STRATUM = 2.0, 0.02  # no more than these times and than this more: both limits of a stratum are rarely wrong


def jeffreys(k: ArrayLike, n: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    """Equal-tailed interval of Beta(k + 1/2, n - k + 1/2); 0 at k = 0, 1 at k = n, all of [0, 1] at n = 0."""
    return _beta_interval(k, n, confidence, 0.5, 0.5)


def clopper_pearson(k: ArrayLike, n: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    """All rates that a binomial test of size 1 - confidence does not reject in either tail."""
    return _beta_interval(k, n, confidence, 0.0, 1.0)


def jeffreys_clopper_pearson(
    k: ArrayLike, n: ArrayLike, confidence: ArrayLike, errors: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    r"""Jeffreys' limit, or Clopper and Pearson's of a larger tail probability, whichever is farther out.

    .. math:: l = \min\{B_\alpha(k + 1/2, n - k + 1/2),\ B_\epsilon(k, n - k + 1)\}, \qquad \alpha = (1 - c) / 2

    with the quantiles B of a beta distribution, and u its mirror image; `errors` is :math:`\epsilon`, 1.4 alpha if not
    given; with alpha it is Clopper and Pearson's interval. They fail in at most a share epsilon of the samples, at any
    rate and n, and are Jeffreys' where k and n - k are some ten and more.
    """
    level = np.asarray(confidence, float)
    most = _MOST_ERRORS * (1 - level) / 2 if errors is None else np.asarray(errors, float)
    usual, exact = jeffreys(k, n, level), clopper_pearson(k, n, 1 - 2 * most)
    return np.minimum(usual[0], exact[0]), np.maximum(usual[1], exact[1])


def _beta_interval(k: ArrayLike, n: ArrayLike, confidence: ArrayLike, down: float, up: float) -> tuple[Floats, Floats]:
    hits, size, tail = np.asarray(k, float), np.asarray(n, float), (1 - np.asarray(confidence, float)) / 2
    misses = size - hits
    # where an end is fixed the quantile is of Beta(1, 1), so that nothing is asked of Beta(0, .)
    low = special.betaincinv(np.where(hits > 0, hits + down, 1), np.where(hits > 0, misses + up, 1), tail)
    high = special.betaincinv(np.where(misses > 0, hits + up, 1), np.where(misses > 0, misses + down, 1), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def post_stratified(
    k1: ArrayLike,
    n1: ArrayLike,
    k0: ArrayLike,
    n0: ArrayLike,
    N1: ArrayLike,  # noqa: N803 - the formula's
    N0: ArrayLike,  # noqa: N803
    confidence: ArrayLike,
    *,
    conservative: bool = False,
    finite: bool = False,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    r"""Rate of human yes, with the items stratified by what the judge says: estimate, low, high, pi1, pi0 and q.

    .. math:: \hat\theta = q \pi_1 + (1 - q) \pi_0, \qquad L = \hat\theta - \max(D, D'), \qquad
              D^2 = (q (\pi_1 - l_1))^2 + ((1-q)(\pi_0 - l_0))^2 + ((\pi_1 - \pi_0)(q - q_l))^2

    and U is its mirror image. q is the share of all items of which the judge says yes, with Wilson's interval;
    \pi_1 and \pi_0 are the shares of human yes where the judge says yes and no, from the labelled items, with Jeffreys'
    intervals. One of these, that which adds most to D, is that of `jeffreys_clopper_pearson` with an epsilon of
    max(1.4 alpha, min(2 alpha, alpha + .02)) (`conservative`: both are Clopper and Pearson's). A stratum without labels
    has [0, 1] and the rate of the other one. The width never is 0 by luck.

    D takes what is skewed for symmetric: with one yes in each of two strata its L is too high, and at 99 % it
    would fail ten times as often as it says. So D is no less than

    .. math:: D' = \hat\theta - l(n' \hat\theta, n'), \qquad n' = \hat\theta (1 - \hat\theta) / V, \qquad
              V = \frac{q^2 \pi_1 (1 - \pi_1)}{n_1} + \frac{(1-q)^2 \pi_0 (1 - \pi_0)}{n_0}
                  + \frac{(\pi_1 - \pi_0)^2 q (1 - q)}{n + N}

    with l of `jeffreys_clopper_pearson` and its 1.4 alpha (`conservative`: Clopper and Pearson's): the limit of a
    simple sample that is as precise. Labels alone are a single stratum and a simple sample.

    k and n are counts of labelled items, with a human yes and in all, N those without a label, where the judge says yes
    (1) and no (0). `finite`: the target is the rate of just these items: q is known, and only the unlabelled share of
    each stratum is not, which shortens its distances by sqrt(N_g / (n_g + N_g)).

    References
    ----------
    Hofer et al. (2024), arXiv:2405.06034, for the chain rule; for D Zou and Donner, as in `ppi_mean`; for D' Korn and
    Graubard (1998), Survey Methodology 24:193-201.
    """
    *counts, level = np.broadcast_arrays(k1, k0, n1, n0, N1, N0, np.asarray(confidence, float))
    k, n, rest = (np.stack(counts[i : i + 2]).astype(float) for i in (0, 2, 4))  # of both strata
    items, pooled = n + rest, k.sum(axis=0) / np.maximum(n.sum(axis=0), 1)
    every, left = np.maximum(items.sum(axis=0), 1), rest / np.maximum(items, 1) if finite else np.ones_like(rest)
    q = items[0] / every
    share, pi = np.stack([q, 1 - q]), np.where(n > 0, k / np.maximum(n, 1), pooled)
    estimate, gap = (share * pi).sum(axis=0), pi[0] - pi[1]
    of_all = of_one = (1 - level) / 2
    if not conservative:
        more = np.minimum(_IN_STRATUM[0] * of_one, of_one + _IN_STRATUM[1])
        of_all = _MOST_ERRORS * of_all
        of_one = np.maximum(of_all, more)
    both = jeffreys(k, n, level), jeffreys_clopper_pearson(k, n, level, of_one)
    usual, wide = (left * (share * _distances(pi, ends)) ** 2 for ends in both)
    squares = wide.sum(axis=1) if conservative else usual.sum(axis=1) + (wide - usual).max(axis=1)
    of_q = _distances(q, wilson(items[0], every, special.ndtri((1 + level) / 2)))
    of_q = np.where(gap < 0, of_q[::-1], of_q)  # where yes of the judge speaks for no, a larger q lowers the rate
    within = share**2 * pi * (1 - pi) / np.maximum(n, 1)
    between = gap**2 * q * (1 - q) / every
    if finite:
        of_q, between = np.zeros_like(of_q), np.zeros_like(between)
    variance = within.sum(axis=0) + between
    variance = np.where(variance > 0, variance, np.inf)  # where there is none D stands alone
    size = estimate * (1 - estimate) / variance
    simple = _distances(estimate, jeffreys_clopper_pearson(size * estimate, size, level, of_all))
    simple = simple * np.sqrt(((left * within).sum(axis=0) + between) / variance)
    down, up = np.maximum(np.sqrt(squares + (gap * of_q) ** 2), simple)
    return estimate, np.clip(estimate - down, 0, 1), np.clip(estimate + up, 0, 1), pi[0], pi[1], q


def _distances(rate: Floats, ends: tuple[Floats, Floats]) -> Floats:
    """How far the ends are below and above the rate; at levels near 0 Jeffreys' may both be on one side of it."""
    return np.maximum(np.stack([rate - ends[0], ends[1] - rate]), 0)


def posterior_error(
    k1: ArrayLike, n1: ArrayLike, k0: ArrayLike, n0: ArrayLike, rest1: ArrayLike, rest0: ArrayLike, *, finite: bool
) -> Floats:
    """Standard deviation with Jeffreys' posterior for both rates: not 0 where the judge made no error yet."""
    yes, labels, rest = (np.stack(pair).astype(float) for pair in ((k1, k0), (n1, n0), (rest1, rest0)))
    n = (labels + rest).sum(axis=0)
    share = (labels + rest) / n
    a, b = yes + 0.5, labels - yes + 0.5
    spread, rates = a * b / (a + b) ** 2 / (a + b + 1), a / (a + b)
    unknown = rest / np.maximum(labels + rest, 1) if finite else 1.0
    drawn = 0.0 if finite else (rates[0] - rates[1]) ** 2 * share[0] * share[1] / n
    return np.asarray(np.sqrt((share**2 * spread * unknown).sum(axis=0) + drawn))


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
class RoganGladen(Estimate):
    """The rate of human yes, from the judge's rate and its two kinds of error.

    Attributes
    ----------
    estimate : float
        Cut to [0, 1]; NaN where the judge is no better than chance on the labelled items.
    std_error : float
        Of the smoothed rate that the interval is built around. The interval is [0, 1] where the judge is no better
        than chance, and has NaN ends where the judge's rate cannot come from these errors.
    sensitivity, specificity, judge_rate : float
        Share of the judge's yes among human yes, of its no among human no, of its yes among the items of interest.
    p_transport : float
        That sensitivity and specificity are the same in all systems; NaN without `systems`.
    n, n_positive, n_negative : int
        Items of interest; labelled items with a human yes, with a human no.
    """

    _kind = "rogan-gladen|lee"
    std_error: float
    sensitivity: float
    specificity: float
    judge_rate: float
    p_transport: float
    n_positive: int = term("pos")
    n_negative: int = term("neg")
    n: int = term("n")

    def _rows(self) -> list[dict[str, Any]]:
        names = ("estimate", "std_error", "interval", "sensitivity", "specificity", "judge_rate", "n_positive")
        return [{"estimator": "rogan_gladen", **self._row(*names, "n_negative", "n", "p_transport", "warnings")}]

    def __str__(self) -> str:
        return (
            f"human rate = {short(self.estimate)}, {self.bracket}, from the judge's "
            f"rate {short(self.judge_rate)} on {self.n} items, its sensitivity {short(self.sensitivity)} "
            f"({self.n_positive} human yes) and specificity {short(self.specificity)} ({self.n_negative} human no)"
        )


def rogan_gladen(
    f: ArrayLike,
    y_labelled: ArrayLike,
    f_labelled: ArrayLike,
    *,
    systems: Labels | None = None,
    confidence_level: float = 0.95,
) -> RoganGladen:
    r"""Rate of human yes where the labelled items were sampled by their outcome, or come from elsewhere.

    .. math:: \hat\theta = \frac{p + q_0 - 1}{q_0 + q_1 - 1}, \qquad
              \widehat{Var} = \frac{p(1-p)/n + (1-\theta)^2 q_0 (1-q_0)/m_0 + \theta^2 q_1 (1-q_1)/m_1}
                                   {(q_0 + q_1 - 1)^2}

    with the judge's rate p on n items, its specificity q_0 on m_0 labelled items with a human no and its
    sensitivity q_1 on m_1 with a human yes. The interval is Lee et al.'s: z and m_0, m_1 + 2 for n + z^2 and so
    on, as Agresti and Coull's, and a shift of 2 z^2 (\theta q_1 (1-q_1)/m_1 - (1-\theta) q_0 (1-q_0)/m_0).

    The rate of human yes may differ between these and the target; the judge's two error rates may not. Of a random
    sample of the target `ppi_proportion` is two to three times narrower.

    Parameters
    ----------
    f : array_like, shape (n,)
        The judge's yes (1) and no (0) on the items of interest.
    y_labelled, f_labelled : array_like, shape (m,)
        Human's and judge's, on the labelled items.
    systems : sequence, shape (m,), optional
        Who made each labelled item: for a permutation test (chi-square, within human yes and within human no,
        Bonferroni) that the judge is as strict with all of them; else there is a warning "transport".
    confidence_level : float, default 0.95

    References
    ----------
    Rogan and Gladen (1978), American Journal of Epidemiology 107:71-76; Lee et al. (2025), arXiv:2511.21140.

    Examples
    --------
    >>> f = [1] * 400 + [0] * 600
    >>> y_labelled, f_labelled = [1] * 200 + [0] * 200, [1] * 180 + [0] * 20 + [1] * 60 + [0] * 140
    >>> result = rogan_gladen(f, y_labelled, f_labelled)
    >>> round(result.estimate, 4), [round(end, 4) for end in result.interval]
    (0.1667, [0.0564, 0.2627])
    """
    judged, labels, scores = _binary(f, "f"), _binary(y_labelled, "y_labelled"), _binary(f_labelled, "f_labelled")
    check.same_length(y_labelled=labels, f_labelled=scores, systems=systems)
    confidence = check.probability(confidence_level, "confidence_level")
    yes = labels == 1
    if not len(judged):
        raise ArgumentError("f", "must hold one item at least", "is empty")
    if yes.all() or not yes.any():
        raise ArgumentError("y_labelled", "must hold human yes and human no", f"got {int(yes.sum())} yes in {len(yes)}")
    p, specificity, sensitivity = judged.mean(), 1 - scores[~yes].mean(), scores[yes].mean()
    n, negative, positive = len(judged), int((~yes).sum()), int(yes.sum())
    parts = rogan_gladen_from_rates(p, specificity, sensitivity, n, negative, positive, confidence)
    p_value, cautions = (np.nan, []) if systems is None else _transport(scores, yes, check.codes(systems, "systems"))
    interval = Interval(max(float(parts.low), 0.0), min(float(parts.high), 1.0))
    errors = f"sensitivity {sensitivity:.3g}", f"specificity {specificity:.3g}"
    if np.isnan(parts.low) or np.isnan(parts.estimate):
        interval = Interval(0.0, 1.0)
    elif parts.low >= 1 or parts.high <= 0:
        interval = NO_INTERVAL  # cut to [0, 1] it would be a point
        text = "the judge errs otherwise on these items than on the labelled ones."
        cautions.append(f"infeasible: a judge rate of {p:.3g} cannot come from {' and '.join(errors)}: {text}")
    if np.isnan(parts.estimate):
        text = "is not above 1, so the judge's rate says nothing of the human rate."
        cautions.append(f"chance: {' + '.join(errors)} {text}")
    if (fewest := min(negative, positive)) < 10:
        text = "labelled items of one outcome; the interval is a rough one below 10."
        cautions.append(f"few_labels: only {fewest} {text}")
    return RoganGladen(
        estimate=float(np.clip(parts.estimate, 0, 1)), std_error=float(parts.std_error), interval=interval,
        confidence_level=confidence, sensitivity=float(sensitivity), specificity=float(specificity),
        judge_rate=float(p), p_transport=p_value, n=n, n_positive=positive, n_negative=negative,
        warnings=check.warn_all(cautions),
    )  # fmt: skip


def _binary(value: ArrayLike, name: str) -> Floats:
    values = check.array(value, name, ndim=1)
    refuse_where(~((values == 0) | (values == 1)), values, name, "must be 0 or 1 everywhere")
    return values


def _transport(scores: Floats, yes: NDArray[np.bool_], system: NDArray[np.intp]) -> tuple[float, list[str]]:
    """One p-value that neither error rate depends on the system, and a warning if it is small.

    By permutation of the chi-square of equal rates, exact for small tables, too; times 2 for the two rates.
    """
    least, warning = 1.0, ""
    for name, part in (("sensitivity", scores[yes]), ("specificity", 1 - scores[~yes])):
        codes = system[yes if name == "sensitivity" else ~yes]
        size = np.bincount(codes)
        size, hits, count = size[size > 0], np.bincount(codes, part)[size > 0], int(part.sum())
        if len(size) < 2 or count in {0, len(part)}:
            continue
        drawn = np.random.default_rng(0).multivariate_hypergeometric(size, count, size=_SHUFFLES, method="marginals")
        far = [((k - size * count / len(part)) ** 2 / size).sum(axis=-1) for k in (hits, drawn)]
        p_value, rate = float((1 + np.sum(far[1] >= far[0] * (1 - 1e-9))) / (1 + _SHUFFLES)), hits / size
        if p_value < least:
            least = p_value
            warning = f"transport: the judge's {name} runs from {rate.min():.3g} to {rate.max():.3g}"
            warning += f" over {len(rate)} systems (p = {min(1.0, 2 * least):.2g})"
    p_value = min(1.0, 2 * least)
    return p_value, [f"{warning}; take labels of the system that the rate is for."] if p_value < 0.05 else []
