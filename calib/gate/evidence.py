"""A build as a gate sees it: the judge's scores beside labels, of itself and of what it is held against."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from calib import stats
from calib.core.check import ArgumentError
from calib.core.result import Interval
from calib.gate.outcomes import INCONCLUSIVE, GateCheck
from calib.table import TableArgumentError, check_items, parse_scale
from calib.table.labelled import ends_of
from calib.table.pairs import Pair
from calib.table.validate import ValidatedTable


class GateOptions(NamedTuple):
    """What holds for every check."""

    error: float
    sequential: bool
    min_labels: int
    max_unread: float

    @property
    def confidence(self) -> float:
        return 1 - 2 * self.error

    def of_mean(self, null: float) -> dict[str, Any]:
        """As the means want them."""
        return {"target": "population", "estimator": "auto", "alternative": "two-sided", "null": null,
                "min_labels": self.min_labels, "confidence_level": self.confidence}  # fmt: skip


class Evidence(NamedTuple):
    """A check whose outcome is not settled: what stands in the way of one, and the data that more labels add to."""

    check: GateCheck
    blocked: str = ""
    y: Any = ()
    f: Any = ()
    scale: Mapping[str, Any] = {}
    share: float = 1.0


class Build:
    """One criterion of a build: its rows beside people's labels, and those of the baseline."""

    def __init__(
        self, pair: Pair, people: ValidatedTable | None, name: str, other: str | None, prints: Mapping[str, str],
        groups: str | None, *, named: bool,
    ) -> None:  # fmt: skip
        self.label, self.name, self.other, self.prints = pair.label | {"system": name}, name, other, prints
        self.groups, self.order, frame = groups, {}, pair.frame
        if people is not None:  # in which order the labels of a criterion stand in their table
            labels = people.frame[people.frame["criterion"].astype(str) == str(pair.label["criterion"])]
            self.order = {item: place for place, item in enumerate(labels["item"].astype(object))}
        if "system" not in frame or not named:  # all that was judged is the build's
            systems, judged = frame.get("system", pd.Series(np.nan, frame.index)), frame["_merge"] != "right_only"
            frame = frame.assign(system=systems.where(~judged, name))
        self.pair = replace(pair, frame=frame)
        self.ends = ends_of(frame, pair.label, apart=True)
        self.inputs = "group" if "group" in frame else "item"  # the column of what was answered
        # of what is compared with the threshold
        self.scale = {name: value for name, value in self.ends.items() if name != "same_scale"}
        if other is not None and "bounds" in self.scale:
            low, high = self.scale["bounds"]
            self.scale["bounds"] = (low - high, high - low)

    @property
    def criterion(self) -> str:
        return str(self.label["criterion"])

    def rows(self, system: str) -> pd.DataFrame:
        """The items of a system that the judge was asked about."""
        frame = self.pair.frame
        return frame[(frame["system"] == system) & (frame["_merge"] != "right_only")]

    def unread(self, system: str) -> tuple[int, int]:
        """Items whose reply gave no score, and items in all."""
        rows = self.rows(system)
        return int(rows["x"].isna().sum()), len(rows)

    @property
    def n_labels(self) -> int:
        return int(self.rows(self.name)["y"].notna().sum())

    def check(self, threshold: float, options: GateOptions, **fields: Any) -> GateCheck:
        """A check that is open, with the fields that the evidence gives."""
        n_unread, n = self.unread(self.name)
        cells: dict[str, Any] = dict.fromkeys(("estimate", "std_error", "p_below", "p_adjusted"), np.nan)
        cells |= {"interval": Interval(np.nan, np.nan), "labels_to_decide": np.nan, "evidence": "none", "warnings": ()}
        cells |= {"n": n - n_unread, "n_unread": n_unread, "n_labels": self.n_labels}
        cells |= {"estimand": "human mean" + " difference" * (self.other is not None), "sequential": options.sequential}
        cells |= {"error": options.error, "confidence_level": options.confidence, "threshold": threshold}
        return GateCheck(**cells | fields, outcome=INCONCLUSIVE, reason="")


def differences_of(build: Build, frame: pd.DataFrame) -> tuple[Any, Any]:
    """Differences of labels and of scores on the inputs that both answered."""
    judged = frame[frame["_merge"] != "right_only"]
    first, second = (
        judged[judged["system"] == name].drop_duplicates(build.inputs).set_index(build.inputs)
        for name in (build.name, build.other)
    )
    both = first.index.intersection(second.index)
    y, f = ((first.loc[both, name] - second.loc[both, name]).to_numpy(float) for name in ("y", "x"))
    read = np.isfinite(f)
    return y[read], f[read]


# --- A gate that one may look at after every label --------------------------------------------------------------------


_HALVINGS = 30


def mean_at_any_look(build: Build, read: pd.DataFrame, threshold: float, options: GateOptions) -> dict[str, Any]:
    """The mean with an interval that holds however often one looked."""
    if "design" in read and read["design"].isin(["strata", "active"]).any():
        came = "they were drawn by strata or chances"
        raise TableArgumentError("sequential", "needs labels that were drawn simply", came)
    labelled = read[read["y"].notna()]
    labelled = labelled.loc[labelled["item"].map(build.order).sort_values(kind="stable").index]
    scaled = _on_scale_of_people(build, read["x"].astype(float))
    y, f = labelled["y"].to_numpy(float), scaled[labelled.index].to_numpy(float)
    return _sequence(y, f, scaled.to_numpy(float), build.ends.get("bounds"), threshold, options)


def difference_at_any_look(
    build: Build, frame: pd.DataFrame, threshold: float, share: float, options: GateOptions
) -> dict[str, Any]:
    """The difference, of outputs that changed times their share, with such an interval."""
    place, inputs = frame["item"].map(build.order), frame[build.inputs]
    last = place.groupby(inputs).max().sort_values(kind="stable")
    scaled = frame.assign(x=_on_scale_of_people(build, frame["x"].astype(float)))
    rows = scaled.assign(at=inputs.map({group: k for k, group in enumerate(last.index)})).sort_values("at")
    y, f = differences_of(build, rows)
    both = np.isfinite(y)
    fields = _sequence(y[both], f[both], f, build.scale.get("bounds"), threshold / share, options)
    interval = Interval(*(share * end for end in fields["interval"]))
    return fields | {"interval": interval, "estimate": share * fields["estimate"]}


def _on_scale_of_people(build: Build, f: pd.Series) -> pd.Series:
    """A judge with a scale of its own, stretched to people's."""
    if build.ends.get("same_scale") is not False:
        return f
    frame, (low, high) = build.pair.frame, build.ends["bounds"]
    judged = frame.loc[frame["_merge"] != "right_only", "scale"].dropna().astype(str)
    ends = parse_scale(judged.iloc[0]) if len(judged) else None
    bottom, top = (f.min(), f.max()) if ends is None else (ends.low, ends.high)
    return low + (f - bottom) / max(top - bottom, 1e-12) * (high - low)


def _sequence(y: Any, f: Any, pool: Any, bounds: Any, threshold: float, options: GateOptions) -> dict[str, Any]:
    def at(tail: float) -> stats.ConfidenceSequence:
        return stats.confidence_sequence(y, f, pool, bounds=bounds, confidence_level=1 - 2 * tail)

    sequence = at(options.error)
    low, high = -np.log(1e9), np.log(0.5 - 1e-9)
    for _ in range(
        _HALVINGS if sequence.estimate[-1] < threshold else 0
    ):  # the least error at which the threshold is above
        middle = (low + high) / 2
        below = at(float(np.exp(middle))).high[-1] < threshold
        low, high = (low, middle) if below else (middle, high)
    p_below = float(np.exp(high)) if sequence.estimate[-1] < threshold else 0.5
    ends = Interval(float(sequence.low[-1]), float(sequence.high[-1]))
    return {"estimate": float(sequence.estimate[-1]), "interval": ends, "p_below": p_below}


# --- the outcomes of a gate's checks ----------------------------------------------------------------------------------


def settled(
    builds: Sequence[Build], evidence: Sequence[Evidence], error: float
) -> list[tuple[dict[str, Any], GateCheck]]:
    """The checks with their outcomes, which hang together, and what would decide the open ones."""
    fit = [not one.blocked for one in evidence]
    checks = [one.check for one in evidence]
    low, high = (np.array([one.interval[end] for one in checks]) for end in (0, 1))
    p, threshold = (np.array([getattr(one, name) for one in checks]) for name in ("p_below", "threshold"))
    ends = [np.where(fit, values, np.nan) for values in (low, high, p)]
    outcomes, adjusted = stats.gate_outcomes(*ends, threshold=threshold, error=error)
    answers = []
    for build, one, outcome, p_adjusted in zip(builds, evidence, outcomes, adjusted, strict=True):
        check_, reason, needed = one.check, "", np.nan
        if outcome == INCONCLUSIVE and one.blocked:
            reason = one.blocked
            needed = float(reason.split()[1]) if reason.startswith("needs ") else np.nan
        elif outcome == INCONCLUSIVE:
            below = check_.interval.high < check_.threshold
            reason = f"below, not after {len(checks)} checks" if below else "the labels do not tell"
            needed = _labels_to_decide(check_, one)
            if np.isinf(needed):
                reason, needed = f"{reason}, and labels of all {check_.n} items would not", np.nan
        settled = replace(check_, outcome=outcome, p_adjusted=float(p_adjusted), reason=reason, labels_to_decide=needed)
        label = build.label | {"n_unmatched": int((build.pair.frame["_merge"] == "right_only").sum())}
        answers.append((label, settled))
    return answers


def _labels_to_decide(check_: GateCheck, evidence: Evidence) -> float:
    """Labels in all with which the interval would end at the threshold; infinite if all items do not have so many."""
    half = abs(check_.estimate - check_.threshold) / evidence.share
    if not len(evidence.y):
        return np.nan
    if not half > 0:
        return np.inf
    try:
        with warnings.catch_warnings():  # about the pilot; here it only says what to do next
            warnings.simplefilter("ignore")
            scale: dict[str, Any] = {name: evidence.scale.get(name) for name in ("bounds", "step")}
            plan = stats.labels_needed(
                evidence.y, evidence.f, half_width=half, confidence_level=check_.confidence_level, **scale
            )
    except ArgumentError as error:
        return np.inf if error.argument == "half_width" else np.nan
    more = max(plan.n_labels, check_.n_labels + 1)
    return float(more) if more <= len(evidence.f) else np.inf


# --- outputs that a build left as they were ---------------------------------------------------------------------------


CHANGED, UNCHANGED = "changed", "unchanged"
_NO_CHANCE, _LITTLE_CHANCE = 1e-6, 1e-3  # of scores, and of the fewer labels


def text_prints(items: pd.DataFrame) -> dict[str, str]:
    """A print of input and output for each item that has both; equal prints are the same answer to the same input.

    The input is `source`, or where it is missing the group.

    Examples
    --------
    >>> items = pd.DataFrame({"item": ["a", "b", "c"], "source": ["q"] * 3, "output": ["x", "x", "y"]})
    >>> prints = text_prints(items)
    >>> prints["a"] == prints["b"], prints["a"] == prints["c"]
    (True, False)
    """
    table = check_items(items)
    inputs = next((name for name in ("source", "group") if name in table), None)
    if "output" not in table or inputs is None:
        there = ", ".join(map(repr, table.columns))
        rule = "must have the columns `output` and `source` (or `group`) to tell what is unchanged"
        raise TableArgumentError("items", rule, f"have {there}")
    rows = table[table["output"].notna() & table[inputs].notna()]
    prints = {}
    for item, *texts in zip(rows["item"], rows[inputs].astype(str), rows["output"], strict=True):
        text = "\0".join([inputs, *texts])
        prints[str(item)] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return prints


def with_carried(rows: pd.DataFrame, mine: pd.Series, prints: Mapping[str, str]) -> tuple[pd.DataFrame, int]:
    """Of the rows that are `mine` those with labels of the same answer elsewhere, and how many came so.

    The column `answer` says which are unchanged, since each kind is a stratum of its own: what is unchanged is no
    random sample of all.
    """
    text = rows["item"].astype(str).map(prints)
    labelled = rows["y"].notna() & text.notna() & ~mine
    labels = rows.loc[labelled, "y"].astype(float).groupby(text[labelled]).mean()
    part = rows[mine]
    elsewhere = text[mine].map(labels)
    new = part["y"].isna() & elsewhere.notna()
    seen = set(text[~mine].dropna())
    answer = text[mine].isin(seen).map({True: UNCHANGED, False: CHANGED})
    return part.assign(y=part["y"].where(~new, elsewhere).astype(float), answer=answer), int(new.sum())


def unchanged_inputs(build: Build) -> set[object]:
    """Inputs to which both systems gave the same answer."""
    rows, sides = build.pair.frame, []
    text = rows["item"].astype(str).map(build.prints)
    for name in (build.name, build.other):
        side = text[rows["system"] == name].set_axis(rows.loc[rows["system"] == name, build.inputs])
        sides.append(side[~side.index.duplicated()].dropna())
    first, second = sides
    both = first.index.intersection(second.index)
    return set(both[(first[both] == second[both]).to_numpy()])


def alike_throughout(y: Any, f: Any, rows: pd.DataFrame) -> str:
    """Of two builds without texts: that they are one, where nothing differs and scores are too many for chance."""
    both = np.isfinite(y)
    if not len(f) or np.any(f != 0) or np.any(y[both] != 0):
        return ""
    chances = [_chance_alike(rows["x"], len(f)), _chance_alike(rows["y"], int(both.sum()))]
    if chances[0] > _NO_CHANCE or chances[1] > _LITTLE_CHANCE:
        return ""
    return f"same_tables: each of {len(f)} inputs has the same score in both builds: taken as the same outputs"


def _chance_alike(values: pd.Series, n: int) -> float:
    """How often n inputs would all agree if the values of two builds were drawn apart."""
    shares = values.dropna().value_counts(normalize=True)
    return float((shares**2).sum() ** n) if n else 1.0


# --- the share of outputs that a build changed ------------------------------------------------------------------------


def share_reach(share: float, n: int, confidence_level: float) -> float:
    """How far off the share of n inputs may be from that of all inputs, by the normal law.

    Examples
    --------
    >>> round(share_reach(0.3, 100, 0.9), 4)
    0.0754
    """
    return float(special.ndtri((1 + confidence_level) / 2)) * math.sqrt(share * (1 - share) / n)


def largest_share(share: float, n: int, confidence_level: float) -> float:
    """Clopper and Pearson's upper end of a share of n inputs.

    Examples
    --------
    >>> round(largest_share(0.01, 100, 0.9), 4)
    0.0466
    """
    k = round(share * n)
    return 1.0 if k >= n else float(special.betaincinv(k + 1, n - k, (1 + confidence_level) / 2))
