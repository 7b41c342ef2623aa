"""Correlation of a judge with labels, how far labels go with it, whether it helps, and whether it transports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.analysis.means.guards import bounds_of, on_scale
from calib.analysis.means.mean import MeanEstimate, mean_interval
from calib.analysis.planning.half_width import half_width_on, is_whole
from calib.analysis.planning.labels import check_components, labels_and_scores, labels_beside_scores, rho_interval
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.result import Estimate, Interval, short, term

_MANY, _CLOSEST = 10**8, 1 - 1e-12


def judge_correlation(
    rho_inf: ArrayLike, item: float, item_prompt: float, draw: float, *, prompts: ArrayLike, draws: ArrayLike
) -> Any:
    r"""Correlation with people of a judge's score that is averaged over prompts and draws.

    .. math:: \rho(P, K)^2 = \rho_\infty^2 \,
              \frac{\sigma^2_{item}}{\sigma^2_{item} + \sigma^2_{item \times prompt} / P + \sigma^2_{draw} / (P K)}

    What a prompt does to all items alike is not in it: the same prompts score the labelled items
    and the others, so it cancels in a corrected mean.

    `rho_inf` is that of the score over endless prompts and draws. Where one prompt is taken as
    given, its own score over endless draws takes that place: with `item` the variance over items
    under this prompt (that of item and of item by prompt together), `item_prompt` 0 and
    :math:`r = \sigma^2_{draw} / \sigma^2_{item}`, it is :math:`\rho_N^2 = \rho_\infty^2 / (1 + r / N)`.

    Parameters
    ----------
    rho_inf : array_like
        Correlation with people once everything is averaged.
    item, item_prompt, draw : float
        Variance components, as `g_study` gives them.
    prompts, draws : array_like
        Prompts, and draws under each; ``inf`` for exact token probabilities.

    References
    ----------
    Brennan (2001), Generalizability Theory, for the decision study; Spearman (1904)
    for what error takes from a correlation.

    Examples
    --------
    >>> judge_correlation(0.6, 0.5, 0.2, 0.4, prompts=[1, 4, 1], draws=[1, 1, 4]).round(3)
    array([0.405, 0.526, 0.474])
    """
    check_components(item, item_prompt, draw)
    times, reads = np.asarray(prompts, dtype=float), np.asarray(draws, dtype=float)
    for name, value in {"prompts": times, "draws": reads}.items():
        if not np.all(value >= 1):
            raise ArgumentError(name, "must be 1 or more", f"got {prompts if value is times else draws!r}")
    endless = np.asarray(rho_inf, dtype=float)
    if not np.all(np.abs(endless) <= 1):
        raise ArgumentError("rho_inf", "must be between -1 and 1", f"got {rho_inf!r}")
    out = endless * np.sqrt(item / (item + item_prompt / times + draw / (times * reads)))
    return float(out) if np.ndim(out) == 0 else out


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeHelp(Estimate):
    """Whether labels go further with this judge; the estimate is the correlation, its interval Fisher's.

    Attributes
    ----------
    helps, verdict : bool, str
        Whether `width_ratio` is below 1; in words, with how sure that is.
    break_even : float
        The lowest correlation with which the judge makes the interval of so many labels narrower; 1 if there is none.
    width_ratio, label_factor : float
        Expected width with the judge over width without; how many times as far labels go: 1 / `width_ratio` squared.
    n_labels, n_items : int
        Labels, and items with a score; `n_items` is 0 where no other item came, and many are assumed.
    """

    _kind = "will-it-help|coef:pearson"
    _cells = "helps rho interval break_even width_ratio label_factor n_labels n_items"
    helps: bool
    verdict: str
    break_even: float
    width_ratio: float
    label_factor: float
    n_labels: int = term("labels")
    n_items: int

    @property
    def rho(self) -> float:
        """Pearson correlation of labels and judge on the labelled items."""
        return self.estimate

    def __str__(self) -> str:
        far = "take the labels alone"
        if self.label_factor > 1:
            items = f"{self.n_items} items" if self.n_items else "many unlabelled items"
            far = f"labels go {short(self.label_factor)} times as far with {items} "
            far += "(a judge no better than what it judges reaches 2 at most)"
        return (
            f"{self.verdict}: r = {short(self.rho)}, {self.bracket}, break-even {short(self.break_even)} with "
            f"{self.n_labels} labels; {far}"
        )


def will_it_help(
    y: ArrayLike,
    f: ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    same_scale: bool | None = None,
    confidence_level: float = 0.95,
) -> JudgeHelp:
    r"""Whether a judge narrows an interval for people's mean.

    The expected width of `ppi_mean`'s interval over that of the labels alone, as `budget_plan` knows it, for scores
    with this mean, spread and correlation. Without ends of the scale a judge pays from about
    :math:`|\rho| = 1.6 / \sqrt n` on. On a scale with ends few labels gain less (with 10 a correlation of .9 narrows
    the interval by a tenth), as with the judge the interval allows for an item on which it is grossly wrong. With a
    worse judge `ppi_mean` takes the labels alone, and the ratio is 1. A judge no better than the model that it judges
    has :math:`\rho^2 \le 1/2` on right-or-wrong answers: labels then go twice as far at most.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Labels (NaN where there is none) and judge scores. Without items that lack a label, many are assumed.
    bounds, step, same_scale
        As for `ppi_mean`.
    confidence_level : float, default 0.95

    References
    ----------
    Mani et al. (2025), arXiv:2505.20178; Dorner, Nastl and Hardt (2025), arXiv:2410.13341.

    Examples
    --------
    >>> print(will_it_help([4, 3, 5, 4, 2, 4, 1, 3], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8, 2.0, 3.6]))
    the judge helps: r = 0.9699, 95 % CI [0.838, 0.9947], break-even 0.578 with 8 labels; labels go 8.802 times as far
    with many unlabelled items (a judge no better than what it judges reaches 2 at most)
    """
    confidence, scale = check.probability(confidence_level, "confidence_level"), bounds_of(bounds, step)
    labels, scores, rho = labels_beside_scores(y, f)
    on_scale(labels, scale, "y")
    n, every = len(labels), np.asarray(f, dtype=float)
    every = every[np.isfinite(every)]
    if same_scale is None:
        same_scale = scale is not None and bool(scale[0] <= every.min() and every.max() <= scale[1])
    mean, sd = float(np.mean(labels)), float(np.std(labels, ddof=1))
    width = half_width_on(scale, step, mean, sd, confidence, same_scale=same_scale)
    items, spread = len(every) if len(every) > n else _MANY, float(np.std(every, ddof=1)) or 1.0
    single = is_whole(every, scale, step)
    even = width.break_even(n, items, spread, single=single)
    ratio = float(width.judged(n, items, min(abs(rho), _CLOSEST), spread, single=single) / width.alone(n))
    interval, helps = rho_interval(rho, n, confidence), ratio < 1
    sure = interval.low > even or interval.high < -even
    constant = [] if np.ptp(scores) else ["constant_judge: it gives all labelled items the same score."]
    verdict = "the judge helps" if sure else "the judge seems to help, but these labels are too few to show it"
    return JudgeHelp(
        helps=helps, verdict=verdict if helps else "the judge does not help", estimate=rho, interval=interval,
        confidence_level=confidence, break_even=even, width_ratio=ratio, label_factor=1 / ratio**2, n_labels=n,
        n_items=items if items < _MANY else 0, warnings=check.warn_all(constant),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport(Estimate):
    """The judge's mean error on items from elsewhere, against zero or against its error at home.

    Attributes
    ----------
    residual, residual_base : float, float or None
        Mean of label - judge score on the probe; the same at home, where a base was given.
    std_error, statistic, df, p_value : float
        Of the estimate: the residual, or the probe's less the base's.
    transports : bool
        Whether the test leaves the judge standing at this confidence level. True is no proof.
    n, n_base, n_groups : int
        Labels of the probe and of the base; independent groups in the probe.
    """

    _kind = "transport|t|alt:two-sided"
    _cells = "estimate std_error statistic df p_value interval transports n n_base n_groups"
    residual: float
    residual_base: float | None
    std_error: float
    statistic: float
    df: float
    p_value: float
    transports: bool
    n: int = term("n")
    n_base: int = term("base", unless=0)
    n_groups: int

    def _terms(self) -> dict[str, Any]:
        return super(Transport, self)._terms() | {"groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        what = "the judge's error" if self.residual_base is None else "the change of the judge's error"
        fact = f"{what} is {short(self.estimate)}, {self.bracket}, on {self.n} labels"
        if not self.transports:
            return f"{fact}: the judge does not transport (p = {short(self.p_value)})"
        reach = max(abs(self.interval.low), abs(self.interval.high))
        small = "" if math.isnan(reach) else f": an error of {short(reach)} would look the same"
        return f"{fact}: not shown to differ, which is no proof{small}"


def transport_test(
    y: ArrayLike,
    f: ArrayLike,
    *,
    y_base: ArrayLike | None = None,
    f_base: ArrayLike | None = None,
    groups: Labels | None = None,
    groups_base: Labels | None = None,
    confidence_level: float = 0.95,
) -> Transport:
    r"""Whether the judge errs elsewhere as it does at home, from a few labels there.

    A correction learned on one system (or domain, or month) holds for another only if the judge's mean error is the
    same. Without a base the mean of y - f is held against zero, with a base against the mean error there (Welch):

    .. math:: t = \frac{\overline{y - f} - \overline{y - f}_{base}}{\sqrt{V + V_{base}}}

    With groups V is that of `mean_interval`, with G - 1 degrees of freedom.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Labels (NaN where there is none) and judge scores of the probe.
    y_base, f_base : array_like, shape (m,), optional
        The same at home, of other items.
    groups, groups_base : sequence, optional
        Items of one group are not independent.
    confidence_level : float, default 0.95

    References
    ----------
    The transport audit of CJE (cimo-labs), and Welch (1947).

    Examples
    --------
    >>> print(transport_test([3, 4, 2, 4, 5, 3], [3.4, 4.5, 3.1, 4.2, 4.9, 3.8]))
    the judge's error is -0.4833, 95 % CI [-0.9306, -0.03604], on 6 labels: the judge does not transport (p = 0.03901)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    here = _mean_error(y, f, groups, "")
    if (y_base is None) != (f_base is None) or (groups_base is not None and y_base is None):
        raise ArgumentError("y_base", "and {0} must be given together", "one of them came alone", mentions=("f_base",))
    if y_base is not None and (groups is None) != (groups_base is None):
        rule = "must be given exactly when {0} is"
        raise ArgumentError("groups_base", rule, "only one of them came", mentions=("groups",))
    home = None if y_base is None or f_base is None else _mean_error(y_base, f_base, groups_base, "_base")
    sides = [here] if home is None else [here, home]
    estimate = here.estimate - (0.0 if home is None else home.estimate)
    variance = sum(side.std_error**2 for side in sides)
    spread = sum((side.std_error**2) ** 2 / (side.n_groups - 1) for side in sides)
    df, error = variance**2 / spread if spread else float(here.n_groups - 1), math.sqrt(variance)
    half = statistic = p_value = math.nan
    if error:
        half, statistic = float(stats.t.ppf((1 + confidence) / 2, df)) * error, estimate / error
        p_value = float(2 * stats.t.sf(abs(statistic), df))
    constant = ["constant_error: the judge's error does not vary here, so its spread is not known."] * (not error)
    return Transport(
        residual=here.estimate, residual_base=None if home is None else home.estimate, estimate=estimate,
        std_error=error, statistic=statistic, df=df, p_value=p_value,
        interval=Interval(estimate - half, estimate + half), confidence_level=confidence,
        transports=p_value > 1 - confidence if error else estimate == 0, n=here.n_labels,
        n_base=0 if home is None else home.n_labels, n_groups=here.n_groups, warnings=check.warn_all(constant),
    )  # fmt: skip


def shift_weights(categories: Labels, shares: Mapping[Any, float]) -> Floats:
    r"""Weights that give the items the mix of categories of a target, one for each item.

    .. math:: w_i = \frac{\text{share of } i\text{'s category in the target}}{\text{its share here}}

    with mean 1. Within a category the target has to be like the items here: `transport_test` on a probe is the check.

    Parameters
    ----------
    categories : sequence, shape (n,)
        Category (topic, language, difficulty) of each item.
    shares : mapping
        Share of each category in the target; they sum to 1. A category that the target lacks has share 0.

    Examples
    --------
    >>> shift_weights(["code", "code", "code", "law"], {"code": 0.5, "law": 0.5}).round(4)
    array([0.6667, 0.6667, 0.6667, 2.    ])
    """
    code = check.codes(categories, "categories")
    # in the order of the codes
    names = list(dict.fromkeys(categories.tolist() if hasattr(categories, "tolist") else categories))
    if not len(code):
        raise ArgumentError("categories", "must have one item at least", "got none")
    for name in names:
        if name not in shares:
            raise ArgumentError("shares", "must have a share for each category", f"{name!r} has none")
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ArgumentError("shares", "must be between 0 and 1", f"got {share!r} for {name!r}")
        if share > 0 and name not in names:
            raise ArgumentError("categories", "must hold each category of the target", f"none is {name!r}")
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise ArgumentError("shares", "must sum to 1", f"got {sum(shares.values()):g}")
    wanted = np.array([shares[name] for name in names], dtype=float)
    return np.asarray((wanted / wanted.sum() * len(code) / np.bincount(code))[code])


def _mean_error(y: ArrayLike, f: ArrayLike, groups: Labels | None, suffix: str) -> MeanEstimate:
    labels, scores, labelled = labels_and_scores(y, f, groups, suffix)
    unit = np.arange(len(labels)) if groups is None else check.codes(groups, f"groups{suffix}")
    _, unit = np.unique(unit[labelled], return_inverse=True)
    error, count = (labels - scores)[labelled], int(unit.max(initial=-1)) + 1
    if count < 2:
        raise ArgumentError(f"y{suffix}", "must have labels in two groups (or two items) at least", f"got {count}")
    return mean_interval(error, groups=unit, estimator="classical")
