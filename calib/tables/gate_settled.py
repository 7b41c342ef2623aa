"""The outcomes of a gate's checks, which hang together, and what would decide the open ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calib import stats
from calib.analysis.gate.gate_outcomes import INCONCLUSIVE, GateCheck
from calib.core.check import ArgumentError
from calib.tables.gate_build import Build, Found


def settled(builds: Sequence[Build], found: Sequence[Found], error: float) -> list[tuple[dict[str, Any], GateCheck]]:
    """The checks with their outcomes, which hang together, and what would decide the open ones."""
    fit = [not one.blocked for one in found]
    checks = [one.check for one in found]
    low, high = (np.array([one.interval[end] for one in checks]) for end in (0, 1))
    p, line = (np.array([getattr(one, name) for one in checks]) for name in ("p_below", "line"))
    ends = [np.where(fit, values, np.nan) for values in (low, high, p)]
    outcomes, adjusted = stats.gate_outcomes(*ends, line=line, error=error)
    answers = []
    for build, one, outcome, p_adjusted in zip(builds, found, outcomes, adjusted, strict=True):
        settled = replace(one.check, outcome=outcome, p_adjusted=float(p_adjusted))
        label = build.label | {"n_unmatched": int((build.pair.frame["_merge"] == "right_only").sum())}
        answers.append((label, _opened(settled, one, len(found)) if outcome == INCONCLUSIVE else settled))
    return answers


def _opened(check_: GateCheck, found: Found, n_checks: int) -> GateCheck:
    """An open check with its reason, and how many labels would do."""
    if found.blocked:
        least = float(found.blocked.split()[1]) if found.blocked.startswith("needs ") else np.nan
        return replace(check_, reason=found.blocked, labels_to_decide=least)
    below = check_.interval.high < check_.line
    reason = f"below, not after {n_checks} checks" if below else "the labels do not tell"
    needed = _labels_to_decide(check_, found)
    if np.isinf(needed):
        return replace(check_, reason=f"{reason}, and labels of all {check_.n} items would not")
    return replace(check_, reason=reason, labels_to_decide=needed)


def _labels_to_decide(check_: GateCheck, found: Found) -> float:
    """Labels in all with which the interval would end at the line; infinite if all items do not have so many."""
    half = abs(check_.estimate - check_.line) / found.share
    if not len(found.y):
        return np.nan
    if not half > 0:
        return np.inf
    try:
        with warnings.catch_warnings():  # about the pilot; here it only says what to do next
            warnings.simplefilter("ignore")
            ends: dict[str, Any] = {name: found.ends.get(name) for name in ("bounds", "step")}
            plan = stats.labels_needed(
                found.y, found.f, half_width=half, confidence_level=check_.confidence_level, **ends
            )
    except ArgumentError as error:
        return np.inf if error.argument == "half_width" else np.nan
    more = max(plan.n_gold, check_.n_gold + 1)
    return float(more) if more <= len(found.f) else np.inf
