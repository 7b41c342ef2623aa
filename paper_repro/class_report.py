"""The report of a judge that gives one of several labels: each label for itself, and all together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fleiss_kappa import fleiss_kappa
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.agreement.alpha import gwet_ac
from calib.analysis.verdicts.confusion import Figure, figures_of, proportion
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import ratio
from calib.core.result import Interval, Result, bracket, short

OF_A_CLASS = ("recall", "precision", "f1")
MACRO = ("macro_recall", "macro_precision", "macro_f1")
_TOGETHER = ("accuracy", *MACRO, "kappa", "fleiss_kappa", "ac1", "ac2")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassReport(Result):
    """How often a judge's label is people's.

    Attributes
    ----------
    levels : tuple of float
    table : ndarray, shape (K, K)
        Items by label of people (rows) and of the judge (columns).
    classes : tuple of dict
        For each level its `recall`, `precision` and `f1`, each a `Figure`, as if all other labels were one.
    accuracy, macro_recall, macro_precision, macro_f1 : Figure
        Share of equal labels; plain means over the levels that occur.
    kappa, fleiss_kappa, ac1, ac2 : Figure
        Cohen's unweighted kappa, Fleiss' kappa, Gwet's AC1, and AC2 with linear weights (labels in order).
    confidence_level : float
    n, n_groups : int
    """

    levels: tuple[float, ...]
    table: Floats
    classes: tuple[dict[str, Figure], ...]
    accuracy: Figure
    macro_recall: Figure
    macro_precision: Figure
    macro_f1: Figure
    kappa: Figure
    fleiss_kappa: Figure
    ac1: Figure
    ac2: Figure
    confidence_level: float
    n: int
    n_groups: int

    def _rows(self) -> list[dict[str, Any]]:
        rows = [_row(name, "", getattr(self, name)) for name in _TOGETHER]
        each = zip(self.levels, self.classes, strict=True)
        return rows + [_row(name, f"{level:g}", of[name]) for level, of in each for name in OF_A_CLASS]

    def _terms(self) -> dict[str, Any]:
        terms = {"classes": len(self.levels), "cl": self.confidence_level}
        return terms | {"n": self.n, "groups": self.n_groups}

    def __str__(self) -> str:
        told = {"macro F1": self.macro_f1, "kappa": self.kappa, "AC1": self.ac1}
        parts = [
            f"{name} {short(f.estimate)}, {bracket(f.interval, self.confidence_level)}" for name, f in told.items()
        ]
        return f"{'; '.join(parts)}; {len(self.levels)} labels, n = {self.n}"


def _row(name: str, level: str, figure: Figure) -> dict[str, Any]:
    row = {"figure": name, "level": level, "estimate": figure.estimate}
    return row | {"conf_low": figure.interval.low, "conf_high": figure.interval.high, "n": figure.n}


def class_report(
    judge: ArrayLike,
    people: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> ClassReport:
    r"""How often a judge's label, one of several, is people's.

    Figures of a level are those of `pass_fail` with that level against all others. Macro figures and kappa have the
    jackknife's interval over groups, on the logit of their range, by t; AC1, AC2 and Fleiss' kappa are those of
    `gwet_ac` and `fleiss_kappa`.

    Parameters
    ----------
    judge, people : array_like, shape (n,)
        Labels as numbers; NaN where one gave none.
    levels : array_like, optional
        All labels that could be given; default: those that were.
    groups : sequence, shape (n,), optional
        What items share; without, items are independent.
    confidence_level : float, default 0.95

    Returns
    -------
    ClassReport

    Raises
    ------
    ValueError
        If fewer than two items have both labels, there are fewer than two levels, or a label is none of them.

    Examples
    --------
    >>> found = class_report([1, 2, 3, 3, 2, 1, 1, 3, 2, 1], [1, 2, 3, 2, 2, 1, 3, 3, 2, 1])
    >>> round(found.accuracy.estimate, 3), round(found.macro_f1.estimate, 3), round(found.kappa.estimate, 3)
    (0.8, 0.794, 0.701)
    """
    confidence = check.probability(confidence_level, "confidence_level")
    said, labels = check.array(judge, "judge", ndim=1), check.array(people, "people", ndim=1)
    check.same_length(judge=said, people=labels, groups=groups)
    kept = ~np.isnan(said) & ~np.isnan(labels)
    if kept.sum() < 2:
        raise ArgumentError("people", "must label two items that the judge labels, or more", f"left {int(kept.sum())}")
    group = np.arange(len(said)) if groups is None else check.codes(groups, "groups")
    said, labels, group = said[kept], labels[kept], np.unique(group[kept], return_inverse=True)[1]
    known = np.unique(np.r_[said, labels] if levels is None else check.array(levels, "levels", ndim=1))
    shared: dict[str, Any] = {"levels": known, "groups": group, "confidence_level": confidence}
    gwet = {
        name: gwet_ac(np.c_[said, labels], weights=w, **shared) for name, w in (("ac1", "identity"), ("ac2", "linear"))
    }
    chance = gwet | {"fleiss_kappa": fleiss_kappa(np.c_[said, labels], **shared)}
    tables = _tables(np.searchsorted(known, labels), np.searchsorted(known, said), group, len(known))
    sizes, right = tables.sum(axis=(1, 2)), np.trace(tables, axis1=1, axis2=2)
    return ClassReport(
        levels=tuple(map(float, known)),
        table=tables.sum(axis=0),
        classes=tuple(_of_class(said == level, labels == level, group, confidence) for level in known),
        accuracy=Figure(*proportion(right, sizes, confidence), len(said)),
        **{name: _jackknifed(tables, _MEASURES[name], 0.0, confidence) for name in MACRO},
        kappa=_jackknifed(tables, _kappa, -1.0, confidence),
        **{name: Figure(one.estimate, one.interval, one.n) for name, one in chance.items()},
        confidence_level=confidence,
        n=len(said),
        n_groups=len(tables),
    )


def _tables(people: Codes, judge: Codes, group: Codes, k: int) -> Floats:
    """Items of each group by both labels."""
    cells = np.bincount((group * k + people) * k + judge, minlength=(int(group.max()) + 1) * k * k)
    return cells.reshape(-1, k, k).astype(float)


def _of_class(judge: Floats, people: Floats, group: Codes, confidence: float) -> dict[str, Figure]:
    cell = np.where(people, np.where(judge, 0, 2), np.where(judge, 1, 3))
    found = figures_of(cell, group, confidence)
    return {"recall": found["tpr"], "precision": found["precision"], "f1": found["f1"]}


# --- of whole tables (..., K, K) --------------------------------------------------------------------------------


def _sides(t: Floats) -> tuple[Floats, Floats, Floats]:
    return np.diagonal(t, axis1=-2, axis2=-1), t.sum(axis=-1), t.sum(axis=-2)


def _macro(of: Callable[[Floats, Floats, Floats], Floats]) -> Callable[[Floats], Floats]:
    """The mean over labels that somebody gave."""

    def measure(t: Floats) -> Floats:
        right, people, judge = _sides(t)
        there = people + judge > 0
        values = np.where(there, np.nan_to_num(of(right, people, judge)), 0.0)
        return ratio(values.sum(axis=-1), there.sum(axis=-1))

    return measure


_MEASURES = {
    "macro_recall": _macro(lambda right, people, _: ratio(right, people)),
    "macro_precision": _macro(lambda right, _, judge: ratio(right, judge)),
    "macro_f1": _macro(lambda right, people, judge: ratio(2 * right, people + judge)),
}


def _kappa(t: Floats) -> Floats:
    right, people, judge = _sides(t)
    n = t.sum(axis=(-2, -1))
    chance = (people * judge).sum(axis=-1) / n**2
    return ratio(right.sum(axis=-1) / n - chance, 1 - chance)


def _jackknifed(tables: Floats, measure: Callable[[Floats], Floats], least: float, confidence: float) -> Figure:
    """On the logit of the range; where no group moves it there is no interval."""
    whole, g = tables.sum(axis=0), len(tables)
    estimate, n = float(measure(whole)), int(whole.sum())
    left = np.asarray(measure(whole - tables))
    error = math.sqrt((g - 1) / g * float(np.nansum((left - np.nanmean(left)) ** 2)))
    share = (estimate - least) / (1 - least)
    if g < 2 or math.isnan(share) or not 0 < share < 1 or error == 0:
        return Figure(estimate, Interval(math.nan, math.nan), n)
    half = float(special.stdtrit(g - 1, (1 + confidence) / 2)) * error / (1 - least) / (share * (1 - share))
    ends = (least + (1 - least) * float(special.expit(special.logit(share) + sign * half)) for sign in (-1, 1))
    return Figure(estimate, Interval(*ends), n)
