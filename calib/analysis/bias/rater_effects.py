"""How a judge uses its scale beside people's own spread: leniency, centrality, ends, halo."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import jackknife_variance, ratio, row_means, units_of
from calib.core.result import Interval, Result, short, term

_BLOCKS = 100  # of groups, left out one after the other
_LEAST = 8  # items


class RaterEffect(NamedTuple):
    """One habit of a judge beside people's.

    Attributes
    ----------
    effect, criterion : str
        Such as "leniency"; empty where it is about all criteria together.
    estimate, interval : float, Interval
        The judge's.
    labels : tuple of float
        Each annotator's.
    """

    effect: str
    criterion: str
    estimate: float
    interval: Interval
    labels: tuple[float, ...]

    @property
    def labels_low(self) -> float:
        """The lowest person's."""
        return min((value for value in self.labels if not math.isnan(value)), default=math.nan)

    @property
    def labels_high(self) -> float:
        """The highest person's."""
        return max((value for value in self.labels if not math.isnan(value)), default=math.nan)

    @property
    def inside(self) -> bool:
        """Whether the judge's lies within people's."""
        return self.labels_low <= self.estimate <= self.labels_high


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterEffects(Result):
    """How a judge uses its scale beside how people do.

    Attributes
    ----------
    effects : tuple of RaterEffect
        ``leniency``: mean less people's mean. ``centrality``: sd over people's (root of their mean variance). ``ends``,
        ``top``: shares of scores at either end of the scale, and at the top. ``halo``: mean correlation between the
        criteria. ``residual_halo``: the same of what people's means of all criteria do not explain.
    n_independent : float
        As how many criteria the judge's count, K / (1 + (K - 1) halo); NaN with one criterion.
    n_raters, n_groups, n, confidence_level : int, float
        Annotators, groups, items.
    """

    _kind = "rater-effects"
    effects: tuple[RaterEffect, ...]
    n_independent: float
    n_raters: int = term("annotators")
    confidence_level: float = term("cl")
    n_groups: int = term("groups")
    n: int = term("n")

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"effect": one.effect, "of": one.criterion, "estimate": one.estimate, "conf_low": one.interval.low,
             "conf_high": one.interval.high, "labels_low": one.labels_low,
             "labels_high": one.labels_high, "inside": one.inside}
            for one in self.effects
        ]  # fmt: skip

    def one(self, effect: str, criterion: str = "") -> RaterEffect:
        """The effect of that name, on that criterion; where there is one criterion it need not be named."""
        for one in self.effects:
            if one.effect == effect and criterion in ("", one.criterion):
                return one
        names = ", ".join(sorted({one.effect for one in self.effects}))
        raise KeyError(f"no effect {effect!r} on {criterion!r}; there are {names}")

    def __str__(self) -> str:
        outside = "; ".join(
            f"{one.effect.replace('_', ' ')}{f' on {one.criterion}' if one.criterion else ''} {short(one.estimate)} "
            f"(people {short(one.labels_low)} to {short(one.labels_high)})" for one in self.effects if not one.inside
        ) or "nothing"  # fmt: skip
        return f"outside the range of {self.n_raters} people: {outside} ({len(self.effects)} looked at, n = {self.n})"


def rater_effects(
    judge: ArrayLike,
    labels: ArrayLike,
    *,
    criteria: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> RaterEffects:
    r"""Leniency, centrality, use of the ends, and halo of a judge, each beside those of people.

    Each figure of the judge stands beside the range of people's own. Residual halo is the mean correlation of the
    residuals of :math:`s_{ic} = \alpha_c + \sum_k \beta_{ck} \bar h_{ik} + r_{ic}`, with people's means
    :math:`\bar h_{ik}` of all criteria k; for a person the means of the others. Intervals are the jackknife's over
    groups (up to 100 parts of them), by t.

    Parameters
    ----------
    judge : array_like, shape (n,) or (n, C)
        Scores on each criterion.
    labels : array_like, shape (n, R) or (n, R, C)
        Of the same items and criteria, NaN where one gave none.
    criteria : sequence of str, optional
        What these are called.
    levels : sequence of float, optional
        The lowest and the highest score that could be given; default: people's and the judge's.
    groups : sequence, shape (n,), optional
        What items share; without, items are independent.
    confidence_level : float, default 0.95

    References
    ----------
    Saal, Downey and Lahey (1980), Psychological Bulletin 88:413-428; Murphy and Cleveland (1995), Understanding
    Performance Appraisal.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.integers(1, 6, 200)
    >>> labels = np.clip(quality[:, None] + rng.integers(-1, 2, (200, 3)), 1, 5)
    >>> one = rater_effects(np.clip(quality + 1, 1, 5), labels).one("leniency")
    >>> round(one.estimate, 2), one.inside
    (0.77, False)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    s, h = check.array(judge, "judge"), check.array(labels, "labels")
    s, h = (s[:, None] if s.ndim == 1 else s), (h[:, :, None] if h.ndim == 2 else h)
    if s.ndim != 2 or h.ndim != 3 or s.shape != (h.shape[0], h.shape[2]):
        rule = "must have shape (n, R, C) for {0} of shape (n, C)"
        raise ArgumentError("labels", rule, f"got {h.shape} for {s.shape}", mentions=("judge",))
    check.same_length(judge=s, groups=groups)
    # items that have both on some criterion
    kept = np.asarray((~np.isnan(s) & ~np.isnan(h).all(axis=1)).any(axis=1))
    if kept.sum() < _LEAST:
        raise ArgumentError("judge", f"must have {_LEAST} items with a label", f"has {int(kept.sum())}")
    s, h, group = s[kept], h[kept], units_of(groups, kept)
    names = [str(k) for k in range(s.shape[1])] if criteria is None else [str(name) for name in criteria]
    if len(names) != s.shape[1]:
        raise ArgumentError("criteria", f"must name {s.shape[1]}", f"got {len(names)}")
    everything = np.concatenate([s[:, None], h], axis=1)
    ends = (np.nanmin(everything), np.nanmax(everything)) if levels is None else (min(levels), max(levels))
    whole = _all_effects(s, h, ends)
    # errors of the judge's effects, by leaving out one part of the groups after the other
    part = group % _BLOCKS
    left = [_all_effects(s[part != k], h[part != k], ends, judge_only=True)[:, 0] for k in np.unique(part)]
    error = np.sqrt(jackknife_variance(np.array(left))[0])
    g = int(group.max()) + 1
    t = float(special.stdtrit(max(min(g, _BLOCKS) - 1, 1), (1 + confidence) / 2))
    several = len(names) > 1
    rows = [(effect, name if several else "") for name in names for effect in ("leniency", "centrality", "ends", "top")]
    rows += [(effect, "") for effect in ("halo", "residual_halo") if several]
    effects = []
    for place, (effect, at) in enumerate(rows):
        value, half = float(whole[place, 0]), t * float(error[place])
        inside = Interval(value - half, value + half)
        effects.append(RaterEffect(effect, at, value, inside, tuple(map(float, whole[place, 1:]))))
    halo = next((one.estimate for one in effects if one.effect == "halo"), math.nan)
    return RaterEffects(
        effects=tuple(effects), n_independent=len(names) / (1 + (len(names) - 1) * halo), confidence_level=confidence,
        n=len(s), n_groups=g, n_raters=h.shape[1],
    )  # fmt: skip


def _all_effects(s: Floats, h: Floats, ends: tuple[float, float], *, judge_only: bool = False) -> Floats:
    """Effects (rows) of the judge and of each person (columns)."""
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # of people who rated nothing of a part
        raters = s[:, None] if judge_only else np.concatenate([s[:, None], h], axis=1)
        rows = []
        for c in range(s.shape[1]):  # leniency, centrality, shares of the ends and of the top
            scores, labels = raters[:, :, c], h[:, :, c]
            rows.append(np.nanmean(scores - row_means(labels)[:, None], axis=0))
            of_people = math.sqrt(float(np.nanmean(np.nanvar(labels, axis=0, ddof=1))))
            rows.append(np.nanstd(scores, axis=0, ddof=1) / of_people)
            n = (~np.isnan(scores)).sum(axis=0)
            rows += [ratio(sum(np.isclose(scores, end).sum(axis=0) for end in some), n) for some in (ends, ends[1:])]
        if s.shape[1] > 1:
            rows.append(np.array([_mean_correlation(raters[:, r]) for r in range(raters.shape[1])]))
            residual = []
            for r in range(raters.shape[1]):  # beside the means of people, for a person those of the others
                others = h if r == 0 else np.delete(h, r - 1, axis=1)
                means = np.stack([row_means(others[:, :, c]) for c in range(h.shape[2])], axis=1)
                x, whole = raters[:, r], ~np.isnan(raters[:, r]).any(axis=1) & ~np.isnan(means).any(axis=1)
                if whole.sum() < means.shape[1] + 3:
                    residual.append(math.nan)
                    continue
                design = np.c_[np.ones(int(whole.sum())), means[whole]]
                residual.append(_mean_correlation(x[whole] - design @ np.linalg.lstsq(design, x[whole])[0]))
            rows.append(np.array(residual))
    return np.array(rows)


def _mean_correlation(x: Floats) -> float:
    """Between the columns, of the rows that have them all."""
    whole = x[~np.isnan(x).any(axis=1)]
    if len(whole) < 3:
        return math.nan
    table = np.atleast_2d(np.corrcoef(whole.T))
    return float(np.nanmean(table[np.triu_indices(len(table), 1)]))
