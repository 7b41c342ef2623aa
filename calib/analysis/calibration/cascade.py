"""Judges one after the other, cheap first: who decides which items, and which are for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.analysis.calibration.accept_threshold import AcceptThreshold, accept_threshold, nearest_in_words
from calib.core.check import Codes, Floats
from calib.core.result import Result, short
from calib.core.text import printable

if TYPE_CHECKING:
    import pandas as pd


class Stage(NamedTuple):
    """What one judge decides, of the items that those before it did not.

    Attributes
    ----------
    judge : str
    reached : int
        Items that come to it.
    decided : int
        Items that it decides.
    found : AcceptThreshold
    """

    judge: str
    reached: int
    decided: int
    found: AcceptThreshold

    def __str__(self) -> str:
        name = printable(self.judge)
        if not self.decided:
            return f"{name} decides none of {self.reached}"
        errors = f"{self.found.errors} error{'s' * (self.found.errors != 1)} in {self.found.m} labels"
        since = f"from confidence {short(self.found.threshold)} on"
        return f"{name} decides {self.decided} of {self.reached} ({since}, {errors})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Escalation(Result):
    """Which items judges may decide alone, and which are for people.

    Attributes
    ----------
    accepted_share : float
        Share of the items that judges decide.
    n, n_accepted, n_people : int
        Items; those that judges decide; those for people that have no label yet.
    n_labels, n_groups : int
        Labels that the guarantee rests on, and independent groups of them.
    risk, confidence_level : float
        At most this share of the accepted verdicts differs from people's, with this confidence.
    threshold : float
        Of the confidence of a single judge; of several, that of the last that accepts; infinite if none does.
    verdict : str
        What a verdict is, and when it is wrong.
    confidence : str
        Where the confidences come from: "votes", "draws", "calibrated", or the name of a column.
    exact : bool
        Whether the guarantee holds for any number of labels: confidences that were learned from the same labels give
        one for many labels only.
    stages : tuple of Stage
        Each judge with its threshold and accept-risk curve.
    cost, cost_of_people : float
        Of judges and people as found, and of people for all items; NaN without prices.
    items : DataFrame
        The scores with `verdict`, `confidence`, `decided_by` (empty: people) and `label`, people's where there is one.
    warnings : tuple of str
    """

    accepted_share: float
    n: int
    n_accepted: int
    n_people: int
    n_labels: int
    n_groups: int
    risk: float
    confidence_level: float
    threshold: float
    verdict: str
    confidence: str
    exact: bool
    stages: tuple[Stage, ...] = field(repr=False)
    cost: float = float("nan")
    cost_of_people: float = float("nan")
    warnings: tuple[str, ...] = ()
    items: pd.DataFrame = field(repr=False)

    _cells = (
        "accepted_share n n_accepted n_people n_labels n_groups risk confidence_level threshold verdict confidence "
        "exact cost cost_of_people warnings"
    )

    @property
    def accepted(self) -> pd.DataFrame:
        """The items that judges decide, the surest first."""
        return self.items[self.items["decided_by"] != ""].sort_values("confidence", ascending=False, kind="stable")

    @property
    def people(self) -> pd.DataFrame:
        """The items for people that have no label yet, the least sure first, for `label_page`."""
        rest = self.items[(self.items["decided_by"] == "") & self.items["label"].isna()]
        return rest.sort_values("confidence", kind="stable", na_position="first")

    @property
    def curve(self) -> pd.DataFrame:
        """The accept-risk curve of each judge on what came to it: an `AcceptPoint` a row, the strictest first."""
        import pandas as pd

        points = [{"judge": one.judge, **point._asdict()} for one in self.stages for point in one.found.curve]
        return pd.DataFrame(points)

    @property
    def by_judge(self) -> pd.DataFrame:
        """For each judge the items that came to it and those it decides, from which confidence on, and the test."""
        import pandas as pd

        found = ("threshold", "m", "errors", "bound", "confidence_level", "n")
        return pd.DataFrame([
            {"judge": one.judge, "reached": one.reached, "decided": one.decided}
            | {name: getattr(one.found, name) for name in found}
            for one in self.stages
        ])  # fmt: skip

    @property
    def in_turn(self) -> str:
        """Of several judges what each decides, in words."""
        return ", then ".join(map(str, self.stages)) if len(self.stages) > 1 else ""

    @property
    def nearest(self) -> str:
        """Where nothing is accepted, which threshold came nearest to it and how near, in words."""
        near = [(stage.judge, point) for stage in self.stages if (point := stage.found.nearest) is not None]
        if self.n_accepted or not near:
            return ""
        judge, point = min(near, key=lambda one: one[1].tested_bound)
        return nearest_in_words(point) + f" (of {printable(judge)})" * (len(self.stages) > 1)

    @property
    def for_people(self) -> str:
        """What becomes of the items that no judge decides, in words."""
        rest = self.n - self.n_accepted - self.n_people
        told = f"{self.n_people} {'is' if self.n_people == 1 else 'are'} for people"
        return told + f", {rest} more {'have' if rest > 1 else 'has'} a label already" * bool(rest)

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"escalation": True, "risk": self.risk, "level": self.confidence_level}
        terms |= {"verdict": self.verdict, "confidence": self.confidence, "exact": self.exact or None}
        return terms | {"method": self.stages[0].found.method, "stages": len(self.stages)}

    @property
    def _costs(self) -> str:
        return "" if math.isnan(self.cost) else f"; cost {self.cost:.6g}, of people for all {self.cost_of_people:.6g}"

    def __str__(self) -> str:
        most = f"at most {100 * self.risk:g} % of the verdicts ({self.verdict})"
        promised = f"with {100 * self.confidence_level:g} % confidence {most} differ from people's"
        ends = f"{self._costs}{self._bracketed_warnings}"
        if not self.n_accepted:
            near = f"; {self.nearest}" if self.nearest else ""
            return (
                f"nothing is accepted: {self.n_labels} labels do not show that {promised}{near}; of {self.n} items "
                f"{self.for_people}{ends}"
            )
        return (
            f"{self.n_accepted} of {self.n} items ({100 * self.accepted_share:.3g} %) may be decided by judges, "
            f"{promised}; {self.for_people}{f'; {self.in_turn}' if self.in_turn else ''}{ends}"
        )


def staged(
    names: Sequence[str],
    confidence: Floats,
    errors: Floats,
    *,
    risk: float,
    confidence_level: float,
    groups: NDArray[Any] | None = None,
) -> tuple[tuple[Stage, ...], Codes]:
    """Each judge on what those before it did not accept, with its part of what may go wrong; who decides each item.

    confidence, errors: shape (judges, N), errors NaN without a label. Decided by -1: people. The parts add up: where
    each judge's accepted items have the risk, so have all together.
    """
    by = np.full(confidence.shape[1], -1, dtype=np.intp)
    each = 1 - (1 - confidence_level) / len(names)
    stages = []
    for place, name in enumerate(names):
        left = np.flatnonzero(by < 0)
        sure = confidence[place, left]
        if not np.isfinite(sure).any():
            continue
        found = accept_threshold(
            sure, errors[place, left], risk=risk, confidence_level=each, groups=None if groups is None else groups[left]
        )
        taken = left[found.accepts(sure)]
        by[taken] = place
        stages.append(Stage(name, len(left), len(taken), found))
    return tuple(stages), by


def escalated(
    names: Sequence[str],
    rows: pd.DataFrame,
    facts: Mapping[str, Floats],
    *,
    risk: float,
    confidence_level: float,
    groups: NDArray[Any] | None,
    prices: Mapping[str, float] | None,
    warnings: tuple[str, ...],
    **said: Any,
) -> Escalation:
    """What becomes of the items, a row each with people's `label`.

    Of each judge the verdicts, confidences and errors: arrays of the shape (judges, items). What is said of verdicts
    and confidences goes into the result as it is.
    """
    asked: dict[str, Any] = {"risk": risk, "confidence_level": confidence_level}
    stages, by = staged(names, facts["confidence"], facts["errors"], **asked, groups=groups)
    at = by, np.arange(len(by))  # people's items have what the last judge says
    rows = rows.assign(verdict=facts["verdict"][at], confidence=facts["confidence"][at])
    rows["decided_by"] = np.array([*names, ""], dtype=object)[by]
    used = [stage for stage in stages if stage.decided]
    n_people = int(((by < 0) & rows["label"].isna()).sum())
    sums = costs(stages, len(rows), n_people + int(rows["label"].notna().sum()), prices)
    return Escalation(
        accepted_share=float((by >= 0).mean()),
        n=len(rows),
        n_accepted=int((by >= 0).sum()),
        n_people=n_people,
        n_labels=int(np.isfinite(facts["errors"]).any(axis=0).sum()),
        n_groups=stages[0].found.n_groups if stages else 0,
        threshold=used[-1].found.threshold if used else float("inf"),
        stages=stages,
        cost=sums[0],
        cost_of_people=sums[1],
        items=rows,
        warnings=(*warnings, *dict.fromkeys(_said_by_stages(stages, several=len(names) > 1))),
        **asked,
        **said,
    )


def _said_by_stages(stages: Sequence[Stage], *, several: bool) -> Iterator[str]:
    """What has to be minded of each test; of several judges with the name of the judge."""
    for stage in stages:
        for text in stage.found.warnings:
            name, _, rest = text.partition(": ")
            yield f"{name}: {printable(stage.judge)}: {rest}" if several else text


def costs(stages: Sequence[Stage], n: int, asked: int, prices: Mapping[str, float] | None) -> tuple[float, float]:
    """Of the judges on what reaches them and people for `asked` items; and of people for all. NaN without prices."""
    if prices is None:
        return math.nan, math.nan
    judges = sum(stage.reached * prices.get(stage.judge, prices.get("judge", 0.0)) for stage in stages)
    return judges + asked * prices["label"], n * prices["label"]
