"""Escalation: what a verdict is and when it is wrong, and which items a judge may decide alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration.accept_threshold import AcceptThreshold
from calib.core.check import Floats
from calib.core.result import Result, short, term

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class VerdictRule:
    """When a verdict is wrong: on the other side of a threshold of labels, or farther than `within` from the label."""

    levels: Floats
    threshold: float | None
    within: float

    def __str__(self) -> str:
        if self.threshold is not None:
            return f"whether people say {short(self.threshold)} or more"
        return f"which label, give or take {short(self.within)}" if self.within else "which label"

    def likeliest(self, p: Floats, values: Floats) -> tuple[Floats, Floats]:
        """The likeliest verdict of each item and its chance, from the chance of each value, shape (n, V).

        With a threshold the verdict is 1 or 0; else the level that most of the chance is near.
        """
        if self.threshold is not None:
            yes = p[:, values >= self.threshold].sum(axis=1)
            return np.where(np.isnan(yes), np.nan, yes >= 0.5 - 1e-9), np.maximum(yes, 1 - yes)
        near = np.abs(values[:, None] - self.levels) <= self.within + 1e-9
        chance = p @ near
        off = np.abs((p @ values)[:, None] - self.levels)
        best = np.where(chance >= chance.max(axis=1, keepdims=True) - 1e-9, off, np.inf).argmin(axis=1)
        sure = chance[np.arange(len(p)), best]
        return np.where(np.isnan(sure), np.nan, self.levels[best]), sure

    def own(self, score: Floats) -> Floats:
        """The judge's own verdict by its score on people's scale.

        Without a threshold it is the nearest level, of two the upper one: people say no number between two levels, so
        that a verdict is none either.
        """
        verdict: Any = score
        levels = self.levels
        if self.threshold is None or len(levels) == 2:
            verdict = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, score, side="right")]
        if self.threshold is not None:
            verdict = verdict >= self.threshold
        return np.where(np.isnan(score), np.nan, verdict)

    @property
    def constants(self) -> dict[str, float]:
        """The verdicts that may be said of all items without a judge, by their names."""
        if self.threshold is not None:
            return {f"{short(self.threshold)} or more": 1.0, f"less than {short(self.threshold)}": 0.0}
        return {short(level): float(level) for level in self.levels}

    def errors(self, verdict: Floats | float, y: Floats) -> Floats:
        """1 where a verdict differs from people's label, NaN where one of them is missing."""
        if self.threshold is None:
            wrong = np.abs(y - verdict) > self.within + 1e-9
        else:
            wrong = (y >= self.threshold) != (verdict > 0)
        return np.where(np.isfinite(y) & np.isfinite(verdict), wrong, np.nan).astype(float)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Escalation(Result):
    """Which items a judge may decide alone, and which are for people.

    Attributes
    ----------
    accepted_share, n, n_accepted, n_escalated : float, int
        Share of the items that the judge decides; items; those that it decides; those for people without a label yet.
    n_labels, n_groups : int
        Labels that the guarantee rests on, and independent groups of them.
    risk, confidence_level : float
        At most this share of the accepted verdicts differs from people's, with this confidence.
    threshold : float
        Of the confidence; infinite if nothing is accepted.
    verdict, confidence, whose : str
        What a verdict is, and when it is wrong; where the confidences come from ("votes", "calibrated", or the name of
        a column); whose the verdicts are.
    n_not_own : int or None
        Of a calibration map's verdicts those that are not the judge's own; None where they cannot be compared.
    constant, constant_error, constant_bound : str, float, float
        The best verdict for all items, without a judge; in how many of the labels it is wrong, and the upper end.
    exact, test : bool, AcceptThreshold
        Whether the guarantee holds for any number of labels (not where they taught the confidences); the test.
    cost, cost_of_labels : float
        Of the judge and people as found, and of people for all items; NaN without prices.
    items : DataFrame
        The scores with `verdict`, `confidence`, `decided_by` (empty: people) and `label`, people's where there is one.
    warnings : tuple of str
    """

    accepted_share: float
    n: int
    n_accepted: int
    n_escalated: int
    n_labels: int
    n_groups: int
    risk: float = term("risk")
    confidence_level: float = term("level")
    threshold: float
    verdict: str = term("verdict")
    confidence: str = term("confidence")
    whose: str
    n_not_own: int | None
    constant: str
    constant_error: float
    constant_bound: float
    exact: bool
    test: AcceptThreshold = field(repr=False)
    cost: float = math.nan
    cost_of_labels: float = math.nan
    warnings: tuple[str, ...] = ()
    items: pd.DataFrame = field(repr=False)

    _kind = "escalation"
    _names_itself = ("rater",)

    @property
    def accepted(self) -> pd.DataFrame:
        """The items that the judge decides, the surest first."""
        return self.items[self.items["decided_by"] != ""].sort_values("confidence", ascending=False, kind="stable")

    @property
    def escalated(self) -> pd.DataFrame:
        """The items for people that have no label yet, the least sure first, for `label`."""
        rest = self.items[(self.items["decided_by"] == "") & self.items["label"].isna()]
        return rest.sort_values("confidence", kind="stable", na_position="first")

    @property
    def curve(self) -> pd.DataFrame:
        """The accept-risk curve: an `AcceptPoint` a row, the strictest first."""
        import pandas as pd

        return pd.DataFrame(self.test.curve)

    @property
    def for_people(self) -> str:
        """What becomes of the items that the judge does not decide, in words."""
        rest = self.n - self.n_accepted - self.n_escalated
        words = f"{self.n_escalated} {'is' if self.n_escalated == 1 else 'are'} for people"
        return words + f", {rest} more {'have' if rest > 1 else 'has'} a label already" * bool(rest)

    def _terms(self) -> dict[str, Any]:
        return super(Escalation, self)._terms() | {"exact": self.exact or None, "method": self.test.method}

    def promise(self, which: str = "these") -> str:
        """How many of the verdicts may be wrong, how surely, and what is wrong."""
        most = f"at most {100 * self.risk:g} % of {which} verdicts ({self.verdict})"
        return f"with {100 * self.confidence_level:g} % confidence {most} differ from people's"

    @property
    def beside(self) -> str:
        """What one verdict for all items does, without a judge."""
        share = f"{100 * self.constant_error:.3g} % of {self.n_labels} labels"
        return f"one verdict for all items ({self.constant}) differs from {share}"

    @property
    def why(self) -> str:
        """Why nothing is accepted, in words; empty where something is, or no threshold came near."""
        if self.test.needless:
            most = f"with {100 * self.confidence_level:g} % confidence at most {100 * self.constant_bound:.3g} % of all"
            lower = f": set it below {100 * self.constant_error:.3g} %" if self.constant_error else ""
            return f"{self.beside} ({most}); a risk of {100 * self.risk:g} % needs no judge{lower}"
        if (point := self.test.unbeaten) is not None:
            errors = f"{point.errors} error{'s' * (point.errors != 1)} in {point.m} labels"
            share = f"the {100 * point.accepted:.3g} % from confidence {short(point.threshold)} on"
            return f"{share} meet the risk ({errors}), but may err as often as no judge: {self.beside}; label more"
        return f"{self.test.nearest_words}; {self.beside}" if self.test.nearest else ""

    def __str__(self) -> str:
        costs = f". Cost {self.cost:.6g}, of people for all {self.cost_of_labels:.6g}"
        ends = f"{'' if math.isnan(self.cost) else costs}{self._bracketed_warnings}"
        if not self.n_accepted:
            shows = f"nothing is accepted: {self.n_labels} labels do not show that {self.promise('the')}"
            if self.test.needless:
                shows = "nothing is accepted: the judge adds nothing"
            elif self.test.unbeaten:
                shows = f"nothing is accepted: {self.n_labels} labels do not show that the judge adds anything"
            return f"{_sentences(shows, self.why, f'of {self.n} items {self.for_people}')}{ends}"
        changed = f" (on {self.n_not_own} of {self.n} not the judge's own)" * bool(self.n_not_own)
        share = f"{self.n_accepted} of {self.n} items ({100 * self.accepted_share:.3g} %)"
        decided = f"{share} may be decided by {self.whose}{changed}"
        return f"{_sentences(decided, self.promise(), self.beside, self.for_people)}{ends}"


def _sentences(first: str, *others: str) -> str:
    return ". ".join([first, *(f"{text[:1].upper()}{text[1:]}" for text in others if text)])
