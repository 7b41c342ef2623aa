"""The prompt as part of the result: means over prompts, differences, gold on their average, order of systems."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from calib.stats import _check
from calib.stats._check import Codes, Floats, Labels
from calib.stats._estimate import Interval, Result, bracket, short
from calib.stats._interval import MeanEstimate, ppi_mean

_FEW = 5  # prompts: below, t quantiles make the interval far wider than it need be
_MANY = 10**6  # prompts: as good as without end
_SAME = 1e-9  # ratios this close to 1 differ by rounding

# --- the mean over prompts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMean(Result):
    """A judge's mean score, or a difference of two, with the choice of the prompt inside the interval.

    Attributes
    ----------
    estimate, std_error : float
        Mean over items and prompts; `std_error` is the root of the three estimated parts.
    interval : Interval
        For the mean over all prompts and items of which these are a sample. With one prompt it is
        over items only (`conditional`). NaN ends where the scores do not vary at all.
    confidence_level : float
    estimand : str
        "judge mean" or "difference of judge means".
    conditional : bool
        There is one prompt, so nothing is known about others.
    df : float
        Satterthwaite's degrees of freedom of `std_error`.
    prompt_means : tuple of float
        Mean over items under each prompt.
    prompt_intervals : tuple of Interval
        What each prompt alone would claim: over items only.
    range : float
        Largest less smallest of `prompt_means`.
    prompt_width : float
        Mean width of `prompt_intervals`.
    s2_prompt : float
        Variance between prompts, less what items leave in it; 0 if that is negative (`clipped`).
    s2_prompt_interval : Interval
        From the chi-square law of the variance between prompts; NaN ends with one prompt.
    clipped : bool
    floor : float
        Half-width that these prompts would leave with items without end.
    item_variance, noise_variance : float
        Parts of the variance of the mean under one prompt: from items, from item x prompt (draws included).
    n, n_dropped, n_groups, n_prompts : int
        Items in use; items left out since a prompt has no score for them; independent groups of
        items (= n without groups); prompts.
    warnings : tuple of str
        ``conditional``, ``few_prompts``, ``clipped``, ``dropped``, ``no_spread``.
    """

    estimate: float
    std_error: float
    interval: Interval
    confidence_level: float
    estimand: str
    conditional: bool
    df: float
    prompt_means: tuple[float, ...]
    prompt_intervals: tuple[Interval, ...]
    range: float
    prompt_width: float
    s2_prompt: float
    s2_prompt_interval: Interval
    clipped: bool
    floor: float
    item_variance: float
    noise_variance: float
    n: int
    n_dropped: int
    n_groups: int
    n_prompts: int
    warnings: tuple[str, ...]

    @property
    def method(self) -> str:
        """How the interval was made."""
        return "t-items" if self.conditional else "t-prompts-items"

    def prompts_needed(self, half_width: float) -> int:
        """Smallest number of prompts whose interval, over these items, is expected to be this narrow.

        It takes the estimated parts for true; with few prompts they are rough (`s2_prompt_interval`).

        Parameters
        ----------
        half_width : float
            Wanted half of the interval, in score points.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If there is one prompt, or the items alone leave more than that.
        """
        if self.conditional:
            raise ValueError("`prompts_needed` needs a result of two prompts at least, but this one is of 1.")
        least = _t(self.confidence_level, self.n_groups - 1) * math.sqrt(self.item_variance)
        if not half_width >= self._half_width(_MANY):
            raise ValueError(
                f"`half_width` must be above {short(least)}, which these items leave with prompts without end, "
                f"but got {half_width!r}."
            )
        low, high = 1, 2
        while self._half_width(high) > half_width:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._half_width(middle) <= half_width else (middle, high)
        return high

    def _half_width(self, prompts: int) -> float:
        spread = self.s2_prompt + self.noise_variance
        parts = _Parts(spread, self.noise_variance, self.item_variance + self.noise_variance / prompts, prompts)
        return parts.half_width(self.confidence_level, self.n_groups)

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"prompt": "all", "estimand": self.estimand, "estimate": self.estimate}
        row |= {"conf_low": self.interval.low, "conf_high": self.interval.high, "std_error": self.std_error}
        row |= {"df": self.df, "s2_prompt": self.s2_prompt, "range": self.range, "prompt_width": self.prompt_width}
        row |= {"n": self.n, "n_groups": self.n_groups, "n_prompts": self.n_prompts, "n_dropped": self.n_dropped}
        row |= {"warnings": "; ".join(text.partition(":")[0] for text in self.warnings)}
        alone = [
            {"prompt": str(p), "estimate": mean, "conf_low": ends.low, "conf_high": ends.high}
            for p, (mean, ends) in enumerate(zip(self.prompt_means, self.prompt_intervals, strict=True))
        ]
        return [row, *alone]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.method: True, "of": self.estimand.replace(" ", "-")}
        terms |= {"conditional-on-this-prompt": self.conditional or None, "cl": self.confidence_level}
        terms |= {"prompts": self.n_prompts, "n": self.n, "dropped": self.n_dropped or None}
        return terms | {"groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        ends, items = bracket(self.interval, self.confidence_level), f"{self.n} items"
        if self.conditional:
            return (
                f"conditional on this prompt: {self.estimand} = {short(self.estimate)}, {ends} over {items} only; "
                "what another prompt would give is not in it"
            )
        return (
            f"{self.estimand} over {self.n_prompts} prompts = {short(self.estimate)}, {ends}, from {items}; "
            f"under one prompt means range over {short(self.range)}, its interval is {short(self.prompt_width)} wide"
        )


class _Parts(NamedTuple):
    """Variances: of the prompts' means, of one such mean by item x prompt, of the grand mean by items."""

    spread: float
    noise: float
    items: float
    prompts: int

    @property
    def item_alone(self) -> float:
        """What items add to the grand mean beyond what already shows between prompts."""
        return max(self.items - self.noise / self.prompts, 0.0)

    @property
    def variance(self) -> float:
        return max(self.spread - self.noise, 0.0) / self.prompts + self.items

    def df(self, groups: int) -> float:
        if self.prompts == 1:
            return groups - 1.0
        rest = self.prompts - 1
        terms = (self.spread / self.prompts) ** 2 / rest + self.items**2 / (groups - 1)
        terms += (self.noise / self.prompts) ** 2 / (rest * (groups - 1))
        return self.variance**2 / terms if terms > 0 else math.nan

    def half_width(self, level: float, groups: int) -> float:
        """Each part at its own t quantile; never below that of the items alone."""
        of_items = _t(level, groups - 1) ** 2
        if self.prompts == 1:
            return math.sqrt(of_items * self.items)
        between = _t(level, self.prompts - 1) ** 2 * self.spread / self.prompts
        return math.sqrt(max(between + of_items * self.item_alone, of_items * self.items))


def prompt_mean(
    x: ArrayLike,
    *,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> PromptMean:
    r"""Mean of a judge's scores over items and prompts, both taken as random.

    With n items under each of P prompts,

    .. math:: Var(\bar x) = \frac{\sigma^2_p}{P} + \frac{1}{n} \Big(\sigma^2_i + \frac{\sigma^2_{ip}}{P}\Big),

    where item x prompt holds the noise of draws as well. With S^2 the variance between the P means
    over items, V the variance of the mean over prompts of the items, and N the variance of one
    prompt's mean by item x prompt (all three over groups where `groups` are given: items of one group
    are summed first, so that what they share is taken neither for more items nor for a prompt effect),

    .. math:: \hat\sigma^2_p = (S^2 - N)_+, \qquad
              h^2 = t^2_{P-1} \frac{S^2}{P} + t^2_{G-1} \Big(V - \frac{N}{P}\Big)_+ ,

    and h at least :math:`t_{G-1} \sqrt V`. Each part keeps its own t quantile, which for independent
    normal parts covers at least as often as it says (Banerjee). In simulations with 20 to 300 items or
    10 to 50 groups, normal and five-level scores, 95 % intervals covered 94 to 99 % of the time with
    two or three prompts and 93 to 97 % with 5 to 10; 89 to 99 % where the prompts' own effects were
    strongly skewed. The usual interval, plus and minus t(`df`) times `std_error` with Satterthwaite's
    `df`, covered as little as 87 % with two prompts and 92 % with three, since a variance between so few
    prompts is often small by chance and is then also given many degrees of freedom; from eight prompts on
    the two hardly differ.

    Parameters
    ----------
    x : array_like, shape (n, P)
        Score of each item under each prompt (a mean over draws where there are several). An item
        without a score under one of the prompts is left out and counted.
    groups : sequence, shape (n,), optional
        Items of one group (the source document) are not independent.
    confidence_level : float, default 0.95

    Returns
    -------
    PromptMean
        With one prompt its interval is over items only, and it says so.

    Raises
    ------
    ValueError
        If fewer than two complete items (or groups) are there, or the lengths differ.

    Notes
    -----
    The prompts stand for others that would have done as well. It is the judge's mean, whatever people
    would say: for that see `averaging`.

    References
    ----------
    Cornfield and Tukey (1956), Annals of Mathematical Statistics 27:907-949, for the variances;
    Satterthwaite (1946), Biometrics Bulletin 2:110-114; Banerjee (1960), Sankhya 22:357-358, for
    the two quantiles.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> x = 3 + rng.normal(0, 0.7, (300, 1)) + rng.normal(0, 0.3, 5) + rng.normal(0, 0.5, (300, 5))
    >>> result = prompt_mean(x)
    >>> print(result)
    judge mean over 5 prompts = 3.136, 95 % CI [2.748, 3.525], from 300 items; under one prompt
    means range over 0.7752, its interval is 0.2032 wide
    >>> result.prompts_needed(0.2)
    14
    >>> prompt_mean(x[:, :1]).conditional
    True
    """
    return _over_prompts(_check.array(x, "x", ndim=2), groups, confidence_level, "x", "judge mean")


def prompt_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> PromptMean:
    r"""Difference of two systems' mean scores, a - b, over the same items and the same prompts.

    Differences d = a - b are taken item by item and prompt by prompt, and then `prompt_mean` of
    these. A prompt that is harsh to both systems cancels; one that favours one of them does not (it
    is the prompt variance of the differences), nor does item x prompt.

    Parameters
    ----------
    a, b : array_like, shape (n, P)
        Row i of both is the same document (or question), column p the same prompt.
    groups, confidence_level
        As for `prompt_mean`.

    Returns
    -------
    PromptMean

    Raises
    ------
    ValueError
        As `prompt_mean`, or if the shapes differ.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> harsh, document = rng.normal(0, 1, 6), rng.normal(0, 0.5, (100, 1))
    >>> a, b = (mean + harsh + document + rng.normal(0, 0.4, (100, 6)) for mean in (3.5, 3.2))
    >>> print(prompt_difference(a, b))
    difference of judge means over 6 prompts = 0.2811, 95 % CI [0.1845, 0.3778], from 100 items; under
    one prompt means range over 0.2583, its interval is 0.2333 wide
    """
    first, second = _check.array(a, "a", ndim=2), _check.array(b, "b", ndim=2)
    if first.shape != second.shape:
        raise ValueError(f"`b` must have the shape of `a` {first.shape}, but got {second.shape}.")
    return _over_prompts(first - second, groups, confidence_level, "a", "difference of judge means")


def _over_prompts(x: Floats, groups: Labels | None, level: float, name: str, estimand: str) -> PromptMean:
    _check.probability(level, "confidence_level")
    x, code, dropped = _complete(x, groups, name)
    sums, means = _group_sums(x, code), x.mean(axis=0)
    n_groups, prompts = sums.shape
    parts = _parts(sums, means)
    alone = _t(level, n_groups - 1) * np.sqrt((sums**2).sum(axis=0) * n_groups / (n_groups - 1))
    flat = np.ptp(x) == 0
    half = math.nan if flat else parts.half_width(level, n_groups)
    estimate, s2 = float(means.mean()), max(parts.spread - parts.noise, 0.0)
    clipped = bool(parts.spread < parts.noise)
    return PromptMean(
        estimate=estimate,
        std_error=math.sqrt(parts.variance),
        interval=Interval(estimate - half, estimate + half),
        confidence_level=level,
        estimand=estimand,
        conditional=prompts == 1,
        df=parts.df(n_groups),
        prompt_means=tuple(map(float, means)),
        prompt_intervals=tuple(Interval(float(m - h), float(m + h)) for m, h in zip(means, alone, strict=True)),
        range=float(np.ptp(means)),
        prompt_width=float(2 * alone.mean()),
        s2_prompt=math.nan if prompts == 1 else s2,
        s2_prompt_interval=_variance_interval(parts, level),
        clipped=clipped,
        floor=math.nan if prompts == 1 else _t(level, prompts - 1) * math.sqrt(s2 / prompts),
        item_variance=parts.item_alone,
        noise_variance=parts.noise,
        n=len(x),
        n_dropped=dropped,
        n_groups=n_groups,
        n_prompts=prompts,
        warnings=tuple(_warnings(prompts, clipped=clipped, dropped=dropped, flat=bool(flat), level=level)),
    )


def _complete(x: Floats, groups: Labels | None, name: str) -> tuple[Floats, Codes, int]:
    """Items with a score under every prompt, the number of the group of each, and how many others there were."""
    code = np.arange(len(x)) if groups is None else _check.codes(groups, "groups")
    _check.same_length(**{name: x, "groups": code})
    if not x.shape[1]:
        raise ValueError(f"`{name}` must have one prompt at least, but got shape {x.shape}.")
    whole = ~np.isnan(x).any(axis=1)
    kept = _check.codes(code[whole], "groups")
    if kept.max(initial=-1) < 1:
        what, found = "items" if groups is None else "groups", kept.max(initial=-1) + 1
        raise ValueError(f"`{name}` must have a score under every prompt for two {what} at least, but got {found}.")
    return x[whole], kept, int(np.sum(~whole))


def _group_sums(x: Floats, code: Codes) -> Floats:
    """Each group's share of how far the means lie from their own average, shape (groups, prompts)."""
    sums = np.zeros((int(code.max()) + 1, x.shape[1]))
    np.add.at(sums, code, (x - x.mean(axis=0)) / len(x))
    return sums


def _parts(sums: Floats, means: Floats) -> _Parts:
    groups, prompts = sums.shape
    scale, by_group = groups / (groups - 1), sums.mean(axis=1)
    items = float(scale * (by_group**2).sum())
    if prompts == 1:
        return _Parts(0.0, 0.0, items, 1)
    noise = float(scale * ((sums - by_group[:, None]) ** 2).sum() / (prompts - 1))
    return _Parts(float(means.var(ddof=1)), noise, items, prompts)


def _variance_interval(parts: _Parts, level: float) -> Interval:
    if parts.prompts == 1:
        return Interval(math.nan, math.nan)
    rest = parts.prompts - 1
    low, high = (rest * parts.spread / special.chdtri(rest, (1 - sign * level) / 2) for sign in (1, -1))
    return Interval(max(float(low) - parts.noise, 0.0), max(float(high) - parts.noise, 0.0))


def _warnings(prompts: int, *, clipped: bool, dropped: int, flat: bool, level: float) -> list[str]:
    found = []
    if prompts == 1:
        found.append("conditional: there is one prompt, so the interval is over items only, for this prompt alone.")
    elif prompts < _FEW:
        found.append(
            f"few_prompts: with {prompts} prompts the t quantile is {short(_t(level, prompts - 1))}; "
            "a few more make the interval much shorter."
        )
    if clipped:
        found.append("clipped: the variance between prompts was estimated below 0 and set to 0.")
    if dropped:
        found.append(f"dropped: {dropped} items lack a score under one of the prompts and are left out.")
    if flat:
        found.append("no_spread: all scores are equal, so no interval can be given.")
    return found


def _t(level: float, df: float) -> float:
    return float(special.stdtrit(df, (1 + level) / 2))


# --- gold on the average over prompts ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaging(Result):
    """The gold-corrected mean with the judge's score averaged over prompts, beside each prompt alone.

    Attributes
    ----------
    average : MeanEstimate
        `ppi_mean` with the average.
    alone : tuple of MeanEstimate
        The same with each prompt.
    r : float
        Correlation of labels and average.
    r_alone : tuple of float
        Of labels and each prompt; 0 for a prompt whose scores do not vary.
    best : int
        The prompt with the largest squared correlation: chosen on these labels, so flattered by them.
    labels_ratio, labels_ratio_best : float
        (1 - r^2) of the average over that of a prompt alone (the geometric mean of all; the best).
        With many unlabelled items: labels that the average needs, over those that the prompt needs.
    labels_ratio_interval, labels_ratio_best_interval : Interval
        By the jackknife over labelled items or groups.
    verdict, verdict_best : str
        "helped", "did not help" or "cannot be said": the interval against 1.
    confidence_level : float
    n_gold, n, n_dropped, n_prompts : int
    warnings : tuple of str
        Those of `average`, ``optimistic_best``, ``constant``, ``dropped``.
    """

    average: MeanEstimate
    alone: tuple[MeanEstimate, ...]
    r: float
    r_alone: tuple[float, ...]
    best: int
    labels_ratio: float
    labels_ratio_interval: Interval
    verdict: str
    labels_ratio_best: float
    labels_ratio_best_interval: Interval
    verdict_best: str
    confidence_level: float
    n_gold: int
    n: int
    n_dropped: int
    n_prompts: int
    warnings: tuple[str, ...]

    @property
    def estimate(self) -> float:
        """Human mean, with the average."""
        return self.average.estimate

    @property
    def interval(self) -> Interval:
        """Of the human mean, with the average."""
        return self.average.interval

    @property
    def half_width(self) -> float:
        """Half the width of `interval`."""
        return _half(self.average)

    @property
    def half_widths(self) -> tuple[float, ...]:
        """The same with each prompt alone."""
        return tuple(map(_half, self.alone))

    def _rows(self) -> list[dict[str, Any]]:
        names = ("average", *map(str, range(self.n_prompts)))
        found = zip(names, (self.average, *self.alone), (self.r, *self.r_alone), strict=True)
        return [
            {"prompt": name, "estimate": one.estimate, "conf_low": one.interval.low, "conf_high": one.interval.high}
            | {"half_width": _half(one), "r": r, "n_gold": self.n_gold, "n": self.n}
            for name, one, r in found
        ]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"averaging": True, self.average.method: True, "cl": self.confidence_level}
        terms |= {"prompts": self.n_prompts, "gold": self.n_gold, "n": self.n, "dropped": self.n_dropped or None}
        return terms | {"groups": self.average.n_groups if self.average.n_groups != self.n_gold else None}

    def __str__(self) -> str:
        return (
            f"{self.average}; r = {short(self.r)} with the mean of {self.n_prompts} prompts, "
            f"{short(min(self.r_alone))} to {short(max(self.r_alone))} with one; "
            f"labels needed x {short(self.labels_ratio)} "
            f"({bracket(self.labels_ratio_interval, self.confidence_level)}): averaging: {self.verdict}, "
            f"against the best prompt (chosen on the same labels): {self.verdict_best}"
        )


def averaging(
    y: ArrayLike,
    f: ArrayLike,
    *,
    groups: Labels | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    confidence_level: float = 0.95,
) -> Averaging:
    r"""Human mean from gold labels and the judge's score averaged over prompts, and whether averaging helped.

    `ppi_mean` corrects the average as it would correct one prompt, so that what all items share under
    a prompt cancels and prompts need not be a sample of anything. What is left of the labels' variance
    decides how many labels are needed, and so averaging is compared with one prompt by

    .. math:: \log \frac{1 - r^2_{mean}}{1 - r^2_p},

    averaged over prompts p, and with the best p, with the jackknife's t interval over labelled items
    (or groups).

    Parameters
    ----------
    y : array_like, shape (n,)
        Human labels; NaN where there is none.
    f : array_like, shape (n, P)
        Judge scores under each of two or more prompts. An item without one of them is left out and counted.
    groups : sequence, shape (n,), optional
    bounds, step, confidence_level
        As for `ppi_mean`.

    Returns
    -------
    Averaging

    Raises
    ------
    ValueError
        If there are fewer than two prompts, or as `ppi_mean`.

    Notes
    -----
    The best prompt was chosen on the labels that it is then compared on, which flatters it and its
    interval; choosing a prompt needs labels of its own. The average was not chosen.

    References
    ----------
    Angelopoulos et al. (2023), PPI++, arXiv:2311.01453: the variance with the best weight is
    (1 - r^2) of that of the labels, for unlabelled items without end. Efron and Stein (1981), Annals of
    Statistics 9:586-596, for the jackknife.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.normal(3, 1, 1000)
    >>> f = quality[:, None] + rng.normal(0, 1.5, (1000, 5)) + rng.normal(0, 1, 5)
    >>> y = np.where(np.arange(1000) < 150, quality + rng.normal(0, 0.4, 1000), np.nan)
    >>> result = averaging(y, f)
    >>> print(result.verdict, round(result.half_width, 3), [round(half, 3) for half in result.half_widths])
    helped 0.118 [0.144, 0.142, 0.142, 0.143, 0.153]
    """
    labels, scores = _check.array(y, "y", ndim=1), _check.array(f, "f", ndim=2)
    code = None if groups is None else _check.codes(groups, "groups")
    _check.same_length(f=scores, y=labels, groups=code)
    if scores.shape[1] < 2:
        raise ValueError(f"`f` must have two prompts at least, but got shape {scores.shape}.")
    whole = ~np.isnan(scores).any(axis=1)
    labels, scores, code = labels[whole], scores[whole], None if code is None else code[whole]
    average, *alone = (
        ppi_mean(labels, one, groups=code, bounds=bounds, step=step, confidence_level=confidence_level)
        for one in (scores.mean(axis=1), *scores.T)
    )
    gold = ~np.isnan(labels)
    units = np.arange(int(gold.sum())) if code is None else _check.codes(code[gold], "groups")
    r, left = _jackknife(labels[gold], np.column_stack([scores.mean(axis=1), scores])[gold], units)
    best = int(np.argmax(r[1:] ** 2))
    ratio, ends = _ratio(left[:, 0] - left[:, 1:].mean(axis=1), confidence_level)
    ratio_best, ends_best = _ratio(left[:, 0] - left[:, 1 + best], confidence_level)
    dropped = int(np.sum(~whole))
    return Averaging(
        average=average,
        alone=tuple(alone),
        r=float(r[0]),
        r_alone=tuple(map(float, r[1:])),
        best=best,
        labels_ratio=ratio,
        labels_ratio_interval=ends,
        verdict=_verdict(ends),
        labels_ratio_best=ratio_best,
        labels_ratio_best_interval=ends_best,
        verdict_best=_verdict(ends_best),
        confidence_level=confidence_level,
        n_gold=int(gold.sum()),
        n=len(scores),
        n_dropped=dropped,
        n_prompts=scores.shape[1],
        warnings=average.warnings + _notes(best, dropped, int(np.sum(np.ptp(scores, axis=0) == 0))),
    )


def _jackknife(y: Floats, f: Floats, code: Codes) -> tuple[Floats, Floats]:
    """Correlations, and log(1 - r^2) of all labels (first row) and without each unit, from sums alone."""
    y, f = y - y.mean(), f - f.mean(axis=0)
    terms = np.stack([np.broadcast_to(part, f.shape) for part in (np.ones((len(y), 1)), y[:, None], f)])
    terms = np.concatenate([terms, [np.broadcast_to(y[:, None] ** 2, f.shape), f**2, y[:, None] * f]])
    units = np.zeros((len(terms), int(code.max()) + 1, f.shape[1]))
    for unit, part in zip(units, terms, strict=True):
        np.add.at(unit, code, part)
    whole = units.sum(axis=1, keepdims=True)
    n, sy, sf, syy, sff, syf = np.concatenate([whole, whole - units], axis=1)
    spread = (syy - sy**2 / n) * (sff - sf**2 / n)
    # a judge that does not vary explains nothing, whatever rounding leaves of its variance
    varies = spread > 1e-12 * whole[3] * whole[4]
    r = np.where(varies, (syf - sy * sf / n) / np.sqrt(np.where(varies, spread, 1.0)), 0.0)
    return r[0], np.log(np.maximum(1 - r**2, np.finfo(float).tiny))


def _ratio(log: Floats, level: float) -> tuple[float, Interval]:
    """A ratio and its jackknife interval from its logarithm on all units and without each."""
    units = len(log) - 1
    error = math.sqrt((units - 1) / units * float(((log[1:] - log[1:].mean()) ** 2).sum()))
    half = _t(level, units - 1) * error
    return float(np.exp(log[0])), Interval(float(np.exp(log[0] - half)), float(np.exp(log[0] + half)))


def _verdict(ends: Interval) -> str:
    if ends.high < 1 - _SAME:
        return "helped"
    return "did not help" if ends.low > 1 + _SAME else "cannot be said"


def _half(one: MeanEstimate) -> float:
    return (one.interval.high - one.interval.low) / 2


def _notes(best: int, dropped: int, constant: int) -> tuple[str, ...]:
    found = [f"optimistic_best: prompt {best} is the best on these labels, which flatter it."]
    found += [f"constant: {constant} prompts give every item the same score."] if constant else []
    found += [f"dropped: {dropped} items lack a score under one of the prompts and are left out."] if dropped else []
    return tuple(found)


# --- the order of systems over prompts --------------------------------------------------------------------------


class SystemPair(NamedTuple):
    """Two systems: share of prompts that order them other than the majority, and how often two prompts differ."""

    first: str
    second: str
    minority: float
    swap: float
    swap_noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStability(Result):
    """How far the order of systems depends on the prompt.

    Attributes
    ----------
    swap : float
        Probability that two of the prompts, drawn at random, order two random systems differently.
        Where just one of them ties the systems, half.
    swap_noise : float
        The same if no prompt favoured any system: what items and draws alone would give, at the
        differences seen. NaN where only means are known.
    pairs : tuple of SystemPair
        The same for each pair; `minority` is the share of prompts that order it other than the majority
        does, a tie counted half.
    w : float
        Kendall's coefficient of concordance of the prompts' rankings, corrected for ties; 1 is one order.
    chi2, df, p_value : float
        Friedman's test that the rankings have nothing in common; an approximation.
    names : tuple of str
    winners : tuple of str
        System with the largest mean under each prompt; several are joined by " = ".
    n_systems, n_prompts, n, n_dropped : int
        `n` is 0 where only means are known.
    warnings : tuple of str
        ``few_systems``, ``dropped``.
    """

    swap: float
    swap_noise: float
    pairs: tuple[SystemPair, ...] = field(repr=False)
    w: float
    chi2: float
    df: int
    p_value: float
    names: tuple[str, ...]
    winners: tuple[str, ...]
    n_systems: int
    n_prompts: int
    n: int
    n_dropped: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        return [pair._asdict() for pair in self.pairs]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"rank-stability": True, "ties": "half", "systems": self.n_systems}
        return terms | {"prompts": self.n_prompts, "n": self.n or None, "dropped": self.n_dropped or None}

    def __str__(self) -> str:
        wins = {name: self.winners.count(name) for name in dict.fromkeys(self.winners)}
        first = ", ".join(f"{name} ({times})" for name, times in sorted(wins.items(), key=lambda item: -item[1]))
        noise = "" if math.isnan(self.swap_noise) else f" ({short(self.swap_noise)} from noise alone)"
        return (
            f"two of {self.n_prompts} prompts order two of {self.n_systems} systems differently with probability "
            f"{short(self.swap)}{noise}; Kendall's W = {short(self.w)} (p = {short(self.p_value)}); first: {first}"
        )


def rank_stability(
    x: ArrayLike,
    *,
    groups: Labels | None = None,
    names: Labels | None = None,
) -> RankStability:
    r"""How often systems swap over prompts, beside what noise alone would give, and Kendall's W.

    With the ranks of n systems under m prompts, R_j the sum of ranks of system j, and T the sum of
    t^3 - t over all groups of t tied systems within a prompt,

    .. math:: W = \frac{12 \sum_j (R_j - \bar R)^2}{m^2 (n^3 - n) - m T}, \qquad \chi^2_{n-1} = m (n - 1) W.

    From scores of the same items, the difference d_p of two systems' means under prompt p has a noise
    variance v by item x prompt. If prompts favoured neither system, the d_p would be equal but for that
    noise, and given their mean two of them have different signs with probability

    .. math:: 4 \, T\Big(\frac{|\bar d|}{\sqrt{v (1 - 1/m)}}, \sqrt{\frac{m}{m - 2}}\Big)

    (T is Owen's function), which `swap_noise` averages over pairs.

    Parameters
    ----------
    x : array_like, shape (systems, prompts) or (systems, items, prompts)
        Means, or scores of the same items. Larger is better. An item without one of its scores is
        left out and counted.
    groups : sequence, shape (items,), optional
        Items of one group are not independent.
    names : sequence, shape (systems,), optional
        Default "0", "1", ...

    Returns
    -------
    RankStability

    Raises
    ------
    ValueError
        If there are fewer than two systems or prompts, or a mean is missing.

    References
    ----------
    Kendall and Babington Smith (1939), Annals of Mathematical Statistics 10:275-287, for W; Owen
    (1956), same journal 27:1075-1090, for T.

    Examples
    --------
    >>> print(rank_stability([[4.1, 3.9, 4.4], [3.2, 3.6, 3.8], [3.3, 3.1, 3.5]], names="ABC"))
    two of 3 prompts order two of 3 systems differently with probability 0.2222; Kendall's W = 0.7778
    (p = 0.09697); first: A (3)
    """
    scores = _check.array(x, "x")
    if scores.ndim not in {2, 3} or min(scores.shape[0], scores.shape[-1]) < 2:
        raise ValueError(
            "`x` must have shape (systems, prompts) or (systems, items, prompts) with two systems and two prompts "
            f"at least, but got {scores.shape}."
        )
    systems, prompts = scores.shape[0], scores.shape[-1]
    named = tuple(map(str, range(systems) if names is None else names))
    _check.same_length(x=scores, names=named)
    means, noise, n, dropped = _means_and_noise(scores, groups)
    pairs = tuple(_pair(means, noise, named, a, b) for a, b in combinations(range(systems), 2))
    w, chi2 = _concordance(means)
    lost = [f"dropped: {dropped} items lack a score and are left out."] if dropped else []
    few = ["few_systems: the p-value is rough with fewer than 7 systems and few prompts."] if systems < 7 else []
    return RankStability(
        swap=float(np.mean([pair.swap for pair in pairs])),
        swap_noise=float(np.mean([pair.swap_noise for pair in pairs])),
        pairs=pairs,
        w=w,
        chi2=chi2,
        df=systems - 1,
        p_value=float(stats.chi2.sf(chi2, systems - 1)),
        names=named,
        winners=tuple(" = ".join(named[j] for j in np.flatnonzero(col == col.max())) for col in means.T),
        n_systems=systems,
        n_prompts=prompts,
        n=n,
        n_dropped=dropped,
        warnings=tuple(few + lost),
    )


def _means_and_noise(scores: Floats, groups: Labels | None) -> tuple[Floats, Floats, int, int]:
    """Means (systems, prompts), and the noise variance of one prompt's difference for each two systems."""
    systems, prompts = scores.shape[0], scores.shape[-1]
    if scores.ndim == 2:
        if groups is not None:
            raise ValueError("`groups` must come with scores of items, but got means in `x`.")
        if np.isnan(scores).any():
            raise ValueError("`x` must have the mean of every system under every prompt, but got NaN.")
        return scores, np.full((systems, systems), math.nan), 0, 0
    table = np.moveaxis(scores, 1, 0).reshape(scores.shape[1], -1)
    kept, code, dropped = _complete(table, groups, "x")
    sums = _group_sums(kept, code).reshape(-1, systems, prompts)
    own = sums - sums.mean(axis=2, keepdims=True)
    cross = np.einsum("gap,gbp->ab", own, own) * len(own) / (len(own) - 1) / (prompts - 1)
    noise = np.diag(cross)[:, None] + np.diag(cross) - 2 * cross
    return kept.mean(axis=0).reshape(systems, prompts), np.maximum(noise, 0.0), len(kept), dropped


def _pair(means: Floats, noise: Floats, names: tuple[str, ...], a: int, b: int) -> SystemPair:
    gap = means[a] - means[b]
    prompts, won, lost = len(gap), int(np.sum(gap > 0)), int(np.sum(gap < 0))
    tied = prompts - won - lost
    ahead = (won + tied / 2) / prompts
    swap = (won * lost + tied * (won + lost) / 2) / math.comb(prompts, 2)
    return SystemPair(names[a], names[b], min(ahead, 1 - ahead), swap, _noise_swap(gap, float(noise[a, b])))


def _noise_swap(gap: Floats, noise: float) -> float:
    """How often two prompts would differ in sign if all had one mean and this noise, given their mean."""
    if not noise > 0:
        return noise  # NaN where it is not known, 0 where there is none
    prompts = len(gap)
    slope = math.inf if prompts == 2 else math.sqrt(prompts / (prompts - 2))
    return float(4 * special.owens_t(abs(gap.mean()) / math.sqrt(noise * (1 - 1 / prompts)), slope))


def _concordance(means: Floats) -> tuple[float, float]:
    """Kendall's W and its chi-square; NaN where every prompt ties all systems."""
    systems, prompts = means.shape
    ranks = stats.rankdata(means, axis=0)
    counts = [np.unique(col, return_counts=True)[1] for col in ranks.T]
    tied = sum(float((t**3 - t).sum()) for t in counts)
    whole = prompts**2 * (systems**3 - systems) - prompts * tied
    if not whole > 0:
        return math.nan, math.nan
    total = ranks.sum(axis=1)
    w = 12 * float(((total - total.mean()) ** 2).sum()) / whole
    return w, prompts * (systems - 1) * w
