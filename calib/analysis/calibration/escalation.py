"""Escalation: which items a judge may decide alone, which are for people, and when a verdict is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.calibration.accept_threshold import AcceptThreshold
from calib.core.check import Floats
from calib.core.result import Result, short

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Escalation(Result):
    """Which items a judge may decide alone, and which are for people.

    Attributes
    ----------
    accepted_share : float
        Share of the items that the judge decides.
    n, n_accepted, n_escalated : int
        Items; those that the judge decides; those for people that have no label yet.
    n_labels, n_groups : int
        Labels that the guarantee rests on, and independent groups of them.
    risk, confidence_level : float
        At most this share of the accepted verdicts differs from people's, with this confidence.
    threshold : float
        Of the confidence; infinite if nothing is accepted.
    verdict : str
        What a verdict is, and when it is wrong.
    confidence : str
        Where the confidences come from: "votes", "calibrated", or the name of a column.
    exact : bool
        Whether the guarantee holds for any number of labels: confidences that were learned from the same labels give
        one for many labels only.
    test : AcceptThreshold
        The threshold with the test of it.
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
    risk: float
    confidence_level: float
    threshold: float
    verdict: str
    confidence: str
    exact: bool
    test: AcceptThreshold = field(repr=False)
    cost: float = float("nan")
    cost_of_labels: float = float("nan")
    warnings: tuple[str, ...] = ()
    items: pd.DataFrame = field(repr=False)

    _cells = (
        "accepted_share n n_accepted n_escalated n_labels n_groups risk confidence_level threshold verdict confidence "
        "exact cost cost_of_labels warnings"
    )
    _names_itself = ("rater",)

    @property
    def accepted(self) -> pd.DataFrame:
        """The items that the judge decides, the surest first."""
        return self.items[self.items["decided_by"] != ""].sort_values("confidence", ascending=False, kind="stable")

    @property
    def people(self) -> pd.DataFrame:
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
        terms: dict[str, Any] = {"escalation": True, "risk": self.risk, "level": self.confidence_level}
        terms |= {"verdict": self.verdict, "confidence": self.confidence, "exact": self.exact or None}
        return terms | {"method": self.test.method}

    def __str__(self) -> str:
        most = f"at most {100 * self.risk:g} % of the verdicts ({self.verdict})"
        promised = f"with {100 * self.confidence_level:g} % confidence {most} differ from people's"
        costs = f"; cost {self.cost:.6g}, of people for all {self.cost_of_labels:.6g}"
        ends = f"{'' if math.isnan(self.cost) else costs}{self._bracketed_warnings}"
        if not self.n_accepted:
            near = f"; {self.test.nearest_words}" if self.test.nearest else ""
            return (
                f"nothing is accepted: {self.n_labels} labels do not show that {promised}{near}; of {self.n} items "
                f"{self.for_people}{ends}"
            )
        return (
            f"{self.n_accepted} of {self.n} items ({100 * self.accepted_share:.3g} %) may be decided by judges, "
            f"{promised}; {self.for_people}{ends}"
        )


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

    def errors(self, verdict: Floats, y: Floats) -> Floats:
        """1 where a verdict differs from people's label, NaN where one of them is missing."""
        if self.threshold is None:
            wrong = np.abs(y - verdict) > self.within + 1e-9
        else:
            wrong = (y >= self.threshold) != (verdict > 0)
        return np.where(np.isfinite(y) & np.isfinite(verdict), wrong, np.nan).astype(float)
