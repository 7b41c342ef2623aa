"""Mean of a judge's scores over prompts, with the choice of the prompt inside the interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Labels
from calib.core.laws import two_sided
from calib.core.numeric import unit_sums, units_of
from calib.core.result import NO_INTERVAL, Estimate, Interval, short


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMean(Estimate):
    """A judge's mean score, with the choice of the prompt inside the interval.

    With one prompt the interval is over items only (`conditional`); it has NaN ends where the scores do not vary.
    Warnings: ``conditional``, ``few_prompts``, ``clipped``, ``dropped``, ``no_spread``.

    Attributes
    ----------
    std_error, df : float
        Root of the three estimated parts of the variance, and its Satterthwaite degrees of freedom.
    estimand : str
        "judge mean".
    conditional : bool
        There is one prompt, so nothing is known about others.
    names, prompt_means, prompt_intervals : tuple of str, of float, of Interval
        Of the prompts; mean over items under each, and what each alone would claim: over items only.
    range, prompt_width : float
        Largest less smallest of `prompt_means`; mean width of `prompt_intervals`.
    s2_prompt, clipped : float, bool
        Variance between prompts, less what items leave in it; 0 if that is negative (`clipped`).
    s2_prompt_interval : Interval
        From the chi-square law of the variance between prompts; NaN ends with one prompt.
    floor : float
        Half-width that these prompts would leave with items without end.
    item_variance, noise_variance : float
        Parts of the variance of the mean under one prompt: from items, from item x prompt (draws included).
    n, n_dropped, n_groups, n_prompts : int
        Items in use; items left out since a prompt has no score for them; independent groups of
        items (= n without groups); prompts.
    """

    _cells = "estimand estimate interval std_error df s2_prompt range prompt_width n n_groups n_prompts n_dropped"
    std_error: float
    estimand: str
    conditional: bool
    df: float
    names: tuple[str, ...]
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

    @property
    def estimator(self) -> str:
        """How the interval was made."""
        return "t-items" if self.conditional else "t-prompts-items"

    def _rows(self) -> list[dict[str, Any]]:
        lowest, highest = (self.names[place(self.prompt_means)] for place in (np.argmin, np.argmax))
        return [self._row(*self._cells.split()) | {"lowest": lowest, "highest": highest} | self._row("warnings")]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.estimator: True, "of": self.estimand.replace(" ", "-")}
        terms |= {"conditional-on-this-prompt": self.conditional or None, "cl": self.confidence_level}
        terms |= {"prompts": self.n_prompts, "n": self.n, "dropped": self.n_dropped or None}
        return terms | {"groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        if self.conditional:
            name = "" if self.names == ("1",) else f" ({self.names[0]})"
            return (
                f"conditional on this prompt{name}: {self.estimand} = {short(self.estimate)}, {self.bracket} over "
                f"{self.n} items only; what another prompt would give is not in it"
            )
        spans = f"the prompts' means span {short(self.range)}, the interval of one is {short(self.prompt_width)} wide"
        mean = f"{self.estimand} over {self.n_prompts} prompts = {short(self.estimate)}, {self.bracket}"
        return f"{mean}, from {self.n} items; {spans}"


def prompt_mean(
    x: ArrayLike, *, groups: Labels | None = None, names: Labels | None = None, confidence_level: float = 0.95
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

    and h at least :math:`t_{G-1} \sqrt V`. Each part keeps its own t quantile, which for independent normal parts
    covers at least as often as it says (Banerjee). In simulations 95 % intervals covered 93 to 99 % of the time, 89 to
    99 where the prompts' own effects were strongly skewed; plus and minus t(`df`) times `std_error` as little as 87 %.
    The prompts stand for others that would have done as well; it is the judge's mean, whatever people would say.

    Parameters
    ----------
    x : array_like, shape (n, P)
        Score of each item under each prompt (a mean over draws where there are several). An item
        without a score under one of the prompts is left out and counted.
    groups : sequence, shape (n,), optional
        Items of one group (the source document) are not independent.
    names : sequence, shape (P,), optional
        Of the prompts; default "1", "2", ...
    confidence_level : float, default 0.95

    References
    ----------
    Cornfield and Tukey (1956), Annals of Mathematical Statistics 27:907-949, for the variances; Satterthwaite (1946),
    Biometrics Bulletin 2:110-114; Banerjee (1960), Sankhya 22:357-358, for the two quantiles.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> x = 3 + rng.normal(0, 0.7, (300, 1)) + rng.normal(0, 0.3, 5) + rng.normal(0, 0.5, (300, 5))
    >>> result = prompt_mean(x)
    >>> print(result)
    judge mean over 5 prompts = 3.136, 95 % CI [2.748, 3.525], from 300 items; the prompts' means span
    0.7752, the interval of one is 0.2032 wide
    """
    scores, confidence = check.array(x, "x", ndim=2), check.probability(confidence_level, "confidence_level")
    prompts = scores.shape[1]
    labels = tuple(map(str, range(1, prompts + 1) if names is None else names))
    if len(labels) != prompts:
        raise ArgumentError("names", f"must be one for each of {prompts} prompts", f"got {len(labels)}")
    check.same_length(x=scores, groups=groups)
    if not prompts:
        raise ArgumentError("x", "must have one prompt at least", f"got shape {scores.shape}")
    whole = np.asarray(~np.isnan(scores).any(axis=1))
    unit = units_of(groups, whole)
    if unit.max(initial=-1) < 1:
        rule = f"must have a score under every prompt for two {'items' if groups is None else 'groups'} at least"
        raise ArgumentError("x", rule, f"got {unit.max(initial=-1) + 1}")
    kept = scores[whole]
    means, n_dropped = kept.mean(axis=0), len(scores) - len(kept)
    # each unit's share of how far the means lie from their own average, shape (units, prompts)
    sums = unit_sums((kept - means) / len(kept), unit)
    n_groups = len(sums)
    scale, by_group = n_groups / (n_groups - 1), sums.mean(axis=1)
    # variances: of the grand mean by items, of the prompts' means, of one such mean by item x prompt
    items, spread, noise = float(scale * (by_group**2).sum()), 0.0, 0.0
    df, floor, s2_ends = n_groups - 1.0, math.nan, NO_INTERVAL
    s2 = 0.0
    if prompts > 1:
        rest = prompts - 1
        spread = float(means.var(ddof=1))
        noise = float(scale * ((sums - by_group[:, None]) ** 2).sum() / rest)
        s2 = max(spread - noise, 0.0)
        terms = (spread / prompts) ** 2 / rest + items**2 / (n_groups - 1)
        terms += (noise / prompts) ** 2 / (rest * (n_groups - 1))
        df = (s2 / prompts + items) ** 2 / terms if terms > 0 else math.nan
        floor = two_sided(rest, confidence) * math.sqrt(s2 / prompts)
        low, high = (float(rest * spread / special.chdtri(rest, (1 - sign * confidence) / 2)) for sign in (1, -1))
        s2_ends = Interval(max(low - noise, 0.0), max(high - noise, 0.0))
    alone = two_sided(n_groups - 1, confidence) * np.sqrt((sums**2).sum(axis=0) * n_groups / (n_groups - 1))
    is_flat, clipped = bool(np.ptp(kept) == 0), spread < noise
    half = math.nan if is_flat else _prompt_half_width(spread, noise, items, (prompts, n_groups), confidence)
    estimate, t = float(means.mean()), short(two_sided(max(prompts - 1, 1), confidence))
    warnings = {
        "conditional: there is one prompt, so the interval is over items only, for this prompt alone.": prompts == 1,
        f"few_prompts: with {prompts} prompts the t quantile is {t}; a few more make the interval much shorter.": (
            1 < prompts < 5
        ),
        "clipped: the variance between prompts was estimated below 0 and set to 0.": clipped,
        f"dropped: {n_dropped} items lack a score under one of the prompts and are left out.": n_dropped,
        "no_spread: all scores are equal, so no interval can be given.": is_flat,
    }
    return PromptMean(
        estimate=estimate, std_error=math.sqrt(s2 / prompts + items),
        interval=Interval(estimate - half, estimate + half), confidence_level=confidence, estimand="judge mean",
        conditional=prompts == 1, df=df, names=labels, prompt_means=tuple(map(float, means)),
        prompt_intervals=tuple(Interval(float(m - h), float(m + h)) for m, h in zip(means, alone, strict=True)),
        range=float(np.ptp(means)), prompt_width=float(2 * alone.mean()), s2_prompt=math.nan if prompts == 1 else s2,
        s2_prompt_interval=s2_ends, clipped=clipped, floor=floor, item_variance=max(items - noise / prompts, 0.0),
        noise_variance=noise, n=len(kept), n_dropped=n_dropped, n_groups=n_groups, n_prompts=prompts,
        warnings=tuple(text for text, holds in warnings.items() if holds),
    )  # fmt: skip


def _prompt_half_width(spread: float, noise: float, items: float, sizes: tuple[int, int], confidence: float) -> float:
    """Half of the interval for these numbers of prompts and groups; never below that of the items alone.

    Each part has its own t quantile: the variance between prompts, and what items add to the grand mean beyond what
    already shows between prompts.
    """
    prompts, n_groups = sizes
    of_items = two_sided(n_groups - 1, confidence) ** 2
    if prompts == 1:
        return math.sqrt(of_items * items)
    between = two_sided(prompts - 1, confidence) ** 2 * spread / prompts
    return math.sqrt(max(between + of_items * max(items - noise / prompts, 0.0), of_items * items))
