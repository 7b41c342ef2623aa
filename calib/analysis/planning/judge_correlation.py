"""How closely a judge's averaged score follows people, how far labels then go, and whether it helps at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.means.guards import bounds_of, on_scale
from calib.analysis.planning.half_width import half_width_on, is_whole
from calib.analysis.planning.labels import error_with_judge, labelled_pairs, not_negative, positive, rho_interval, told
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.result import Interval, Result, bracket, short

_MANY, _CLOSEST = 10**8, 1 - 1e-12


def judge_correlation(
    rho_inf: ArrayLike, item: float, item_prompt: float, draw: float, *, prompts: ArrayLike, draws: ArrayLike
) -> Any:
    r"""Correlation with people of a judge's score that is averaged over prompts and draws.

    .. math:: \rho(P, K)^2 = \rho_\infty^2 \,
              \frac{\sigma^2_{item}}{\sigma^2_{item} + \sigma^2_{item \times prompt} / P + \sigma^2_{draw} / (P K)}

    What a prompt does to all items alike is not in it: the same prompts score the labelled items
    and the others, so it cancels in a gold-corrected mean.

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


def label_multiplier(rho: ArrayLike, *, n_gold: int | None = None, n_items: int | None = None) -> Any:
    r"""How many times as far labels go with a judge of this correlation.

    For endless items with a judge's score :math:`1 / (1 - \rho^2)`; with `n_gold` and `n_items`
    at these numbers, the slope that has to be learned from the same labels included (the V of
    `labels_needed`). Times `n_gold` it is the effective sample size.

    Parameters
    ----------
    rho : array_like
        Correlation of judge and labels, such as `judge_correlation` gives.
    n_gold, n_items : int, optional
        Labels, and items with a judge score (labelled ones included).

    Examples
    --------
    >>> round(label_multiplier(0.8), 3), round(label_multiplier(0.8, n_gold=50, n_items=1000), 3)
    (2.778, 2.505)
    """
    rhos = np.asarray(rho, dtype=float)
    if not np.all(np.abs(rhos) < 1):
        raise ArgumentError("rho", "must be between -1 and 1", f"got {rho!r}")
    if (n_gold is None) != (n_items is None):
        raise ArgumentError("n_gold", "and {0} must be given together", "only one came", mentions=("n_items",))
    if n_gold is None or n_items is None:
        out = np.asarray(1 / (1 - rhos**2))
    else:
        check.whole(n_gold, "n_gold", least=4)
        check.whole(n_items, "n_items", least=n_gold)
        worth = [1 / (n_gold * error_with_judge(n_gold, n_items, r, 1.0) ** 2) for r in rhos.flat]
        out = np.reshape(worth, rhos.shape)
    return float(out) if np.ndim(out) == 0 else out


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeHelp(Result):
    """Whether labels go further with this judge.

    Attributes
    ----------
    helps, verdict : bool, str
        Whether `width_ratio` is below 1; in words, with how sure that is.
    rho, interval : float, Interval
        Pearson correlation of labels and judge on the gold items, and its interval (Fisher's z).
    confidence_level : float
    break_even : float
        The lowest correlation with which the judge makes the interval of so many labels narrower; 1 if there is none.
    width_ratio, label_factor : float
        Expected width with the judge over width without; how many times as far labels go: 1 / `width_ratio` squared.
    n_gold, n_items : int
        Labels, and items with a score; `n_items` is 0 where no other item came, and many are assumed.
    warnings : tuple of str
        ``constant_judge``.
    """

    _cells = "helps rho interval break_even width_ratio label_factor n_gold n_items"
    helps: bool
    verdict: str
    rho: float
    interval: Interval
    confidence_level: float
    break_even: float
    width_ratio: float
    label_factor: float
    n_gold: int
    n_items: int
    warnings: tuple[str, ...]

    def _terms(self) -> dict[str, Any]:
        return {"will-it-help": True, "coef": "pearson", "cl": self.confidence_level, "gold": self.n_gold}

    def __str__(self) -> str:
        far = "take the labels alone"
        if self.label_factor > 1:
            items = f"{self.n_items} items" if self.n_items else "many unlabelled items"
            far = f"labels go {short(self.label_factor)} times as far with {items} "
            far += "(a judge no better than what it judges reaches 2 at most)"
        return (
            f"{self.verdict}: r = {short(self.rho)}, {bracket(self.interval, self.confidence_level)}, break-even "
            f"{short(self.break_even)} with {self.n_gold} labels; {far}"
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
    r"""Whether a judge narrows an interval for the human mean.

    The expected width of `ppi_mean`'s interval over that of the labels alone, as `budget_plan` knows it, for scores
    with this mean, spread and correlation. Without ends of the scale a judge pays from
    about :math:`|\rho| = 1.6 / \sqrt n` on: of that, :math:`1 / \sqrt{n - 2}` is
    the price of the slope in theory, and the rest that of an interval which also holds for scores that are not normal.
    On a scale with ends fewer than some 20 labels are often narrower alone, however good the judge: with it the
    interval allows for an item on which it is as wrong as can be. A judge no better than the
    model that it judges has :math:`\rho^2 \le 1/2` on right-or-wrong answers: labels
    then go twice as far at most, however many items it scores.

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
    labels, scores, rho = labelled_pairs(y, f)
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
    verdict = "the judge helps" if sure else "the judge seems to help, but these labels do not make it sure"
    return JudgeHelp(
        helps=helps,
        verdict=verdict if helps else "the judge does not help",
        rho=rho,
        interval=interval,
        confidence_level=confidence,
        break_even=even,
        width_ratio=ratio,
        label_factor=1 / ratio**2,
        n_gold=n,
        n_items=items if items < _MANY else 0,
        warnings=told(() if np.ptp(scores) else ("constant_judge: it gives all gold items the same score.",)),
    )


def check_components(item: float, item_prompt: float, draw: float) -> None:
    positive(item, "item")
    not_negative(item_prompt, "item_prompt")
    not_negative(draw, "draw")
