"""Confidence intervals of a mean: from people's labels, from a judge's scores, and from both (prediction-powered)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.means.design import Design, DesignFields, MeanData, mean_data, mean_design
from calib.analysis.means.guards import cautions_of, cautions_on, options_of
from calib.analysis.means.methods import METHODS, CheckedOptions, estimator_of, labels_alone
from calib.analysis.means.moments import Moments
from calib.core import check
from calib.core.check import Labels
from calib.core.laws import Law, ends_of, interval_of, p_value_of
from calib.core.result import NO_INTERVAL, Estimate, Interval, bracket, short

_DRAWN = {
    "items": "The labelled items are a simple random sample of all items.",
    "groups": "Groups are independent; the labelled items, or whole groups of them, are a random sample.",
    "strata": "Within each stratum the labelled items are a simple random sample.",
    "systems": "Of each system the labelled items are a random sample, whatever was labelled of the other; inputs are "
    "independent.",
    "weighted": "The weights, or the probabilities with which items were chosen for labelling, are right.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate(Estimate):
    """A mean, or a difference of two means, with an interval.

    Attributes
    ----------
    std_error : float
        Of what labels show; the interval allows for what they do not show, too. A one-sided interval ends where the
        scale does; there is none where the labels do not vary and no scale is known.
    alternative : str
    estimator : str
        "auto" became one of "gaffke-ppi" (a bounded score), "t-ppi" (no bounds), "mover-jeffreys-clopper-pearson" (yes
        or no) or, with labels alone, "gaffke", "t" or "jeffreys-clopper-pearson"; where it is to be conservative
        "gaffke-ppi-conservative", "gaffke-conservative", "mover-clopper-pearson" or "clopper-pearson".
    estimand : str
        "human mean", "judge mean" (the judge's own, whatever people think) or the difference of either.
    target : str
        "population" (items to come) or "benchmark" (exactly these items).
    df : float
        Degrees of freedom of the t quantile; NaN where there is none (with `bounds`).
    null, p_value : float
        P-value of the mean `null` by inverting the interval; NaN without one. A difference is compared with 0.
    lam : float
        Weight of the judge; 0 means that only the labels speak. NaN for yes or no.
    width_ratio : float
        Width over that of the same kind of interval from the labels alone (`mean_interval`).
    effective_n, labels_saved : float
        Labels that alone would give this width, n_labels / width_ratio**2; and how many more than `n_labels` these are.
    n_labels, n, n_groups : int
        Items with a human label; items in all; independent groups among the labelled items (= n_labels without groups).
    design : {"items", "groups", "strata", "weighted", "systems"}
        How labelled items are taken to be drawn; "systems" where a difference rests on labels that are not all pairs.
    guarantee : {"proved", "measured", "asymptotic"}
        What is known of how often the interval holds.
    calibrated_folds : int
        Folds of these labels in which the judge's scores were calibrated to people (`calib.calibrate`), or 0.
    """

    std_error: float
    alternative: str
    estimator: str
    estimand: str
    target: str
    df: float
    null: float
    p_value: float
    lam: float
    width_ratio: float
    effective_n: float
    labels_saved: float
    n_labels: int
    n: int
    n_groups: int
    design: str
    calibrated_folds: int = 0

    @property
    def uses_judge(self) -> bool:
        """Whether judge scores went into it."""
        return METHODS[self.estimator].judged

    @property
    def guarantee(self) -> str:
        """What is known of how often the interval holds.

        "proved" for any population of independent items; "measured" by simulation of many populations, at 10 labels
        and more; "asymptotic" with many labels, how many depends on the population.
        """
        of_method = METHODS[self.estimator].guarantee
        own = self.design == "items" and self.target == "population" and self.n == self.n_labels
        return "measured" if of_method == "proved" and not own else of_method

    @property
    def bracket(self) -> str:
        """The interval in words; of a one-sided one the end that it has."""
        if self.alternative == "two-sided" or np.isnan(self.interval.low):
            return bracket(self.interval, self.confidence_level)
        end = f"least {short(self.conf_low)}" if self.alternative == "greater" else f"most {short(self.conf_high)}"
        return f"at {end} with {100 * self.confidence_level:g} % confidence"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for the interval to hold, in words."""
        if not METHODS[self.estimator].needs.labels:
            return ("It is about the judge's own mean: what people would say is not in it.",)
        texts = [] if self.n_labels == self.n else [_DRAWN[self.design]]
        if self.uses_judge:
            fixed = "The judge, its prompt included, was fixed before anyone looked at these labels."
            folds = " The map that calibrated the score of a labelled item was fitted without its fold."
            texts.append(fixed + folds * (self.calibrated_folds > 0))
        if self.target == "population":
            texts.append("These items are a random sample of the items to come (the target population).")
        if self.design == "items":
            texts.append("Items are independent of each other.")
        return tuple(texts)

    def _rows(self) -> list[dict[str, Any]]:
        tested = [] if np.isnan(self.null) else ["null", "p_value"]
        row = self._row("estimator", "estimand", "estimate", "std_error", "interval", *tested, "lam", "n_labels", "n")
        names = ("n_groups", "df", "width_ratio", "guarantee", "effective_n", "labels_saved", "warnings")
        return [row | self._row(*names)]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.estimator: True, "loo": True if self.estimator == "ppi++" else None}
        terms |= {"of": self.estimand.replace(" ", "-"), "alt": self.alternative, "cl": self.confidence_level}
        terms |= {"labels": self.n_labels, "n": self.n, "lam": None if np.isnan(self.lam) else round(self.lam, 4)}
        terms |= {"folds": self.calibrated_folds or None}
        terms |= {"target": self.target if self.target != "population" else None}
        terms |= {"design": self.design if self.design != "items" else None}
        terms |= {"groups": self.n_groups if self.n_groups != self.n_labels else None}
        return terms | {"guarantee": self.guarantee}

    def __str__(self) -> str:
        labels = f"{self.n_labels or 'no'} human labels"
        scores = f" and {self.n} judge scores" if self.uses_judge else ""
        made = f"from {labels}{scores} ({METHODS[self.estimator].words}){self._bracketed_warnings}"
        return f"{self.estimand} = {short(self.estimate)}, {self.bracket}, {made}"


def mean_interval(
    y: ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    groups: Labels | None = None,
    estimator: str = "auto",
    conservative: bool = False,
    alternative: str = "two-sided",
    null: float | None = None,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean of human labels alone, with an interval that fits their scale.

    Without bounds the t interval

    .. math:: \bar y \pm t_{G-1} \sqrt{V}, \qquad
              V = \frac{G}{G-1} \sum_g \Big(\sum_{i \in g} \frac{y_i - \bar y}{n}\Big)^2

    over G groups; without groups each item is its own and V is the usual variance of a mean. On a scale with `bounds`,
    Gaffke's interval (see `ppi_mean`); for labels 0 and 1 Jeffreys' limits, or Clopper and Pearson's with 1.4 times
    their tail probability where these are farther out: a limit of 95 % holds in 93 % of the samples at least.

    Parameters
    ----------
    y, groups : array_like, shape (n,)
        Labels, of which NaN is left out; items of one group are not independent.
    bounds, step, conservative, alternative, null, confidence_level
        As for `ppi_mean`.
    estimator : {"auto", "classical"}
        "classical" is the t interval, whatever the scale.

    References
    ----------
    Miller (2024), Adding error bars to evals, arXiv:2411.00640, for the clustered form; Brown, Cai
    and DasGupta (2001), Statistical Science 16:101-133, for Jeffreys' and Clopper and Pearson's.

    Examples
    --------
    >>> print(mean_interval([3, 4, 4, 5, 4]))
    human mean = 4, 95 % CI [3.122, 4.878], from 5 human labels (people alone)
    """
    labels = check.array(y, "y", ndim=1)
    keep = ~np.isnan(labels)
    codes = None if groups is None else check.codes(groups, "groups")
    check.same_length(y=labels, groups=codes)
    result = ppi_mean(
        labels[keep], np.zeros(keep.sum()), groups=None if codes is None else codes[keep],
        bounds=bounds, step=step, conservative=conservative, estimator=estimator_of(estimator, ("auto", "classical")),
        alternative=alternative, null=null, min_labels=2, confidence_level=confidence_level,
    )  # fmt: skip
    return replace(result, warnings=())


def ppi_mean(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    same_scale: bool | None = None,
    binary: bool | None = None,
    conservative: bool | str = False,
    design: Design | None = None,
    target: str = "population",
    estimator: str = "auto",
    alternative: str = "two-sided",
    null: float | None = None,
    min_labels: int = 10,
    confidence_level: float = 0.95,
    **fields: Unpack[DesignFields],
) -> MeanEstimate:
    r"""Mean human score from a few labels and many judge scores, with an interval that holds.

    The judge's mean over all items, less what labels show it to be wrong by, with its scores weighted by a slope b:

    .. math:: \hat\theta = \bar y + b \frac{N}{n+N} (\bar f_{rest} - \bar f), \qquad
              b = \frac{S_{fy} + b_0 k s_f^2}{S_{ff} + k s_f^2}

    (PPI++ with lambda = b N / (n + N)). However wrong the judge, this aims at the human mean; a good judge makes it
    precise. `estimator="auto"` chooses by the data:

    - a bounded score: k = 4, b_0 = 1 on a common scale (else k = 1, b_0 = 0), and Gaffke's interval, which allows for
      one more label that was not seen (below);
    - no bounds: plus and minus t standard errors, the larger of the usual and the HC3 one, Satterthwaite's df;
    - labels 0 and 1 (or the two ends of a scale of two values) and a judge that says yes or no: the rates where it says
      yes and no, put together by variance estimates recovery (`docs/intervals.md`); no limit is closer than that of a
      simple sample with the same variance. With a judge that gives probabilities they are a bounded score;
    - `groups`: errors summed over groups; without bounds CR1, or its form with leverages where that is larger, with
      G - 1 degrees of freedom less what the slope takes;
    - `strata`: strata's means weighted by their sizes, one common slope if a stratum has fewer than 10 labels.

    Gaffke's interval weighs labels by :math:`E_i` (exponential) and one unseen label by e (gamma, w); its
    lower end is the quantile at alpha / 2 of

    .. math:: \frac{\sum_i E_i x_i + e\, x_{low} + (n + w)\, z b s_f / \sqrt{n + N}}{\sum_i E_i + e}, \qquad
              x_i = \hat\theta + \frac{|1 + n g (f_i - \bar f) / D|}{1 - \min(h_i, .9)} d_i

    where D is the denominator of b, :math:`g = \frac{N}{n+N} (\bar f_{rest} - \bar f)`,
    :math:`h_i = (f_i - \bar f)^2 / D`, and :math:`d_i` are the residuals of labels on b f. How far off the unseen label
    lies follows from how evenly both are spread, :math:`K = \frac\pi2 (\sum|d|)^2 / n \sum d^2` (at most 1):

    .. math:: x_{low} = \hat\theta - \min\{\hat\theta - lo,\;
              2.5\, s_- K_y^{-3} \max(1, 1.5\, s / (hi - \hat\theta))\} - \lambda \max_j b (f_j - \bar f_{all})

    with s the labels' standard deviation and :math:`s_-` the larger of it and of that below the mean. It is at the end
    of the scale where labels crowd (at one value, at the other end, on fewer than four values), since rare others may
    be missing; and no further than labels that are spread evenly let expect. From there it goes :math:`\lambda` of the
    way to where a judge that is as wrong as can be puts it,

    .. math:: \lambda = \min(1, \tfrac{n}{20}) \max\{1 - K_d (1 - .3 (1 - s_d / \max(s_y, |b| s_f))),\;
              (1 - s_{f,n}^2 / s_f^2) \sqrt{n / 2} - 1\}

    (within 0 and 1): far where the judge errs rarely or little, since rare gross errors may be missing, and where its
    scores of the labelled items vary less (:math:`s_{f,n}`) than those of all. With
    :math:`w_0 = \min(1, .15 + 3.5 / n)` it counts as
    :math:`w = \max(w_0, \min(1, w_0 / K'), \min(\frac12, w_0 / K_d))` labels, K' being that of the labels with one
    more as far off as an unseen one; where labels have two values the 1 is .6. The quantile is an integral
    (`calib.core.gaffke`). `conservative` sets w and lambda to 1, and x to the ends of the scale.

    Where the interval of the labels alone is no wider, it is the result, with weight 0 for the judge and the warning
    `labels_alone`. `docs/intervals.md` says how often the intervals held in simulations.

    For a benchmark z is 0 and all deviations from the estimate are shorter by :math:`\sqrt{N / (n + N)}`. With groups
    :math:`x_i` are means of groups, which count by what their labels weigh, and the unseen group goes a part of the way
    to :math:`x_{low}`: the root of the share of an item's variance that a group's mean keeps. With strata a label
    counts by its stratum's size, and :math:`x_{low}` is the strata's mean. Where labels count differently, w is times
    :math:`\sum c^2 / \sum c`, and K is that of all items, with :math:`\sum c|d| / \sum c` and
    :math:`\sum c d^2 / \sum c`.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Human labels and judge scores of the labelled items; or, without `f_unlabeled`,
        of all items, with NaN in `y` where there is no label.
    f_unlabeled : array_like, shape (N,), or Moments, optional
        Judge scores of the items without a label, not those of the labelled items.
    bounds : (float, float), optional
    step : float, optional
        Ends of people's scale, and the distance of its values; a scale of two values is one of yes and no.
    same_scale, binary : bool, optional
        Whether the judge answers on people's scale (default: whether its scores lie within `bounds`), and whether
        labels are yes or no (default: whether they look so).
    conservative : bool or "gross errors", default False
        Give the unseen label full weight and reach; for yes or no: Clopper and Pearson's intervals. "gross errors":
        only as far as rare gross errors ask for, of a judge or of whole groups, that no label shows, as `gate` has it:
        :math:`K_d` is taken with the worst error beside those that were seen, w is .3 to 1, an unseen group all alike.
    design : Design, optional
        How the labels were drawn: groups, strata, weights, ...
    target : {"population", "benchmark"}
        The mean over items to come, or over exactly these n + N items (shorter).
    estimator : str
        "auto"; "labels" (alone, by the same kind of interval: `mean_interval`); "classical" (labels alone, t);
        "judge_only" (for the judge's own mean); "regression" (k = 0, usual variance, t); "ppi" (lambda = 1, t),
        "ppi++" (lambda tuned without the item that it corrects, t).
    alternative : {"two-sided", "greater", "less"}
        "greater" gives a lower bound, "less" an upper one.
    null : float, optional
        A mean to test; gives `p_value`.
    min_labels : int, default 10
        "auto" and "regression" refuse fewer labels: below ten no interval was found that holds.
    confidence_level : float, default 0.95
        How often the interval is to hold.
    **fields
        The fields of `Design` one by one, such as `groups=`.

    References
    ----------
    Angelopoulos et al. (2023), Science 382:669-674, and (2023) PPI++, arXiv:2311.01453; Mani et al.
    (2025), arXiv:2505.20178, and Eyre and Madras (2025), arXiv:2411.12665, for few labels; Gaffke (2005), Three test
    statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable; Zou and Donner (2008),
    Statistics in Medicine 27:1693-1702, for variance estimates recovery; Korn and Graubard (1998), Survey Methodology
    24:193-201, for the simple sample. `paper_repro/ppi_coverage` for w and lambda.

    Examples
    --------
    >>> y = [4, 3, 5, 4, 2, 4, 5, 3, 4, 4, 3, 2, 5, 4, 4, 1, 3, 4, 5, 2]
    >>> f = [4.2, 3.1, 4.9, 4.4, 2.3, 3.8, 4.6, 3.3, 4.1, 3.9, 2.6, 2.9, 4.4, 3.6, 4.5, 1.8, 3.5, 3.2, 4.7, 2.4]
    >>> rest = [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3, 2.8, 3.1, 3.7, 4.4] * 10
    >>> result = ppi_mean(y, f, rest, bounds=(1, 5), step=1)
    >>> print(result)
    human mean = 3.657, 95 % CI [3.306, 3.939], from 20 human labels and 140 judge scores (people and judge)
    """
    estimator, design = estimator_of(estimator), mean_design(design, fields)
    data = mean_data(y, f, f_unlabeled, design)
    confidence = check.probability(confidence_level, "confidence_level")
    options = options_of(
        data, bounds=bounds, step=step, same_scale=same_scale, binary=binary, conservative=conservative, target=target,
        estimator=estimator, alternative=alternative, null=null, min_labels=min_labels, confidence=confidence,
    )  # fmt: skip
    return estimated(data, options, cautions_of(design) + cautions_on(data, options))


def estimated(data: MeanData, options: CheckedOptions, warnings: tuple[str, ...]) -> MeanEstimate:
    mean, of_people = METHODS[options.estimator].law(data, options), METHODS[options.estimator].needs.labels > 0
    mean = mean._replace(estimator=mean.estimator or options.estimator)
    name = METHODS[mean.estimator].alone
    alone = labels_alone(data, options, mean.estimator) if name not in ("", mean.estimator) and data.n_rest else None
    choice = judge_or_labels(mean.law, None if alone is None else alone.law, options)
    mean, ends = alone if alone and choice.alone else mean, choice.interval
    has_interval = mean.has_interval(complete=options.finite and not data.n_rest)
    n = len(data.y) if of_people else 0
    tested = has_interval and not np.isnan(options.null)
    if options.alternative != "two-sided":
        ends = interval_of(mean.law, options.confidence, options.alternative)
    return MeanEstimate(
        estimate=mean.point, std_error=mean.error, interval=ends if has_interval else NO_INTERVAL,
        confidence_level=options.confidence, alternative=options.alternative, estimator=mean.estimator,
        estimand=f"{'human' if of_people else 'judge'} mean", target="benchmark" if options.finite else "population",
        df=mean.df, null=options.null,
        p_value=p_value_of(mean.law, options.null, options.alternative) if tested else np.nan, lam=mean.lam,
        **gain_over_labels(n, choice.ratio if name else np.nan), n_labels=n, n=data.n,
        n_groups=data.n_groups if of_people else 0, design=data.design, calibrated_folds=data.calibrated_folds,
        warnings=(*warnings, *choice.warnings),
    )  # fmt: skip


class Choice(NamedTuple):
    """The two-sided interval with the judge, or if `alone` of the labels alone; its width over that of the latter."""

    interval: Interval
    ratio: float = 1.0
    alone: bool = False
    warnings: tuple[str, ...] = ()


def judge_or_labels(judged: Law, alone: Law | None, options: CheckedOptions) -> Choice:
    """The interval with the judge beside that of the labels alone, which the default takes where it is no wider."""
    interval, *others = ends_of([law for law in (judged, alone) if law is not None], (1 - options.confidence) / 2)
    if not others:
        return Choice(interval)
    width = others[0].high - others[0].low
    ratio = (interval.high - interval.low) / width if width > 0 else np.nan
    text = f"the judge's scores do not narrow the interval ({ratio:.2f} times as wide)"
    if ratio >= 1 and options.estimator == "auto":
        return Choice(others[0], 1.0, True, (f"labels_alone: {text}, so they get weight 0",))
    return Choice(interval, ratio, False, (f"no_gain: {text}",) if ratio > 1 else ())


def gain_over_labels(n: int, ratio: float) -> dict[str, float]:
    """The width over that of the labels alone, the labels that alone would give it, and how many more these are."""
    effective_n = n / ratio**2 if ratio else np.inf
    return {"width_ratio": ratio, "effective_n": effective_n, "labels_saved": effective_n - n}
