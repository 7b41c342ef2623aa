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
from calib.table import TableArgumentError, TableError, check_items, parse_scale
from calib.table.gold import ends_of
from calib.table.pairs import Pair


class AskedOfGate(NamedTuple):
    """What holds for every check."""

    error: float
    looks: str
    min_gold: int
    max_unread: float

    @property
    def confidence(self) -> float:
        return 1 - 2 * self.error

    def options(self, null: float) -> dict[str, Any]:
        """As the means want them."""
        return {"target": "population", "estimator": "auto", "alternative": "two-sided", "null": null,
                "min_gold": self.min_gold, "confidence_level": self.confidence}  # fmt: skip


class Found(NamedTuple):
    """A check whose outcome is not settled: what stands in the way of one, and the data that more labels add to."""

    check: GateCheck
    blocked: str = ""
    y: Any = ()
    f: Any = ()
    ends: Mapping[str, Any] = {}
    share: float = 1.0


class Build:
    """One criterion of a build: its rows beside people's labels, and those of the baseline."""

    def __init__(
        self, pair: Pair, name: str, other: str | None, prints: Mapping[str, str], groups: str | None,
        order: Mapping[Any, int], *, named: bool,
    ) -> None:  # fmt: skip
        self.label, self.name, self.other, self.prints = pair.label | {"system": name}, name, other, prints
        self.groups, self.order = groups, order
        frame = pair.frame
        asked = frame["_merge"] != "right_only"
        if "system" not in frame or not named:  # all that was judged is the build's
            frame = frame.assign(system=frame.get("system", pd.Series(np.nan, frame.index)).where(~asked, name))
        self.pair = replace(pair, frame=frame)
        self.ends = ends_of(frame, pair.label, apart=True)

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
    def n_gold(self) -> int:
        return int(self.rows(self.name)["y"].notna().sum())

    def check(self, line: float, asked: AskedOfGate, **known: Any) -> GateCheck:
        """A check that is open, with what is known of it."""
        nothing: dict[str, Any] = {
            "estimate": np.nan,
            "std_error": np.nan,
            "interval": Interval(np.nan, np.nan),
            "p_below": np.nan,
        }
        n_unread, n = self.unread(self.name)
        about: dict[str, Any] = {
            "n": n - n_unread,
            "n_unread": n_unread,
            "n_gold": self.n_gold,
            "evidence": "none",
            "warnings": (),
        }
        about |= {"estimand": "human mean" + " difference" * (self.other is not None), "looks": asked.looks}
        return GateCheck(
            **nothing | about | known, outcome=INCONCLUSIVE, reason="", line=line, error=asked.error, p_adjusted=np.nan,
            confidence_level=asked.confidence, labels_to_decide=np.nan,
        )  # fmt: skip


def order_of(people: Any, pair: Pair) -> dict[Any, int]:
    """In which order the labels of a criterion stand in their table."""
    if people is None:
        return {}
    rows = people.frame[people.frame["criterion"].astype(str) == str(pair.label["criterion"])]
    return {item: place for place, item in enumerate(rows["item"].astype(object))}


def differences_of(frame: pd.DataFrame, build: Build, inputs: str) -> tuple[Any, Any]:
    """Differences of labels and of scores on the inputs that both answered."""
    first, second = (
        frame[(frame["system"] == name) & (frame["_merge"] != "right_only")].drop_duplicates(inputs).set_index(inputs)
        for name in (build.name, build.other)
    )
    both = first.index.intersection(second.index)
    y, f = ((first.loc[both, name] - second.loc[both, name]).to_numpy(float) for name in ("y", "x"))
    read = np.isfinite(f)
    return y[read], f[read]


# --- A gate that one may look at after every label --------------------------------------------------------------------


_HALVINGS = 30


def mean_at_any_look(build: Build, read: pd.DataFrame, line: float, asked: AskedOfGate) -> dict[str, Any]:
    """The mean with an interval that holds however often one looked."""
    if "design" in read and read["design"].isin(["strata", "active"]).any():
        raise TableError("looks='any' needs labels that were drawn simply, but they were drawn by strata or chances.")
    labelled = read[read["y"].notna()]
    labelled = labelled.loc[labelled["item"].map(build.order).sort_values(kind="stable").index]
    scaled = _on_scale_of_people(build, read["x"].astype(float))
    y, f = labelled["y"].to_numpy(float), scaled[labelled.index].to_numpy(float)
    return _sequence(y, f, scaled.to_numpy(float), build.ends.get("bounds"), line, asked)


def difference_at_any_look(
    build: Build,
    frame: pd.DataFrame,
    inputs: str,
    line: float,
    share: float,
    asked: AskedOfGate,
    ends: Mapping[str, Any],
) -> dict[str, Any]:
    """The difference, of outputs that changed times their share, with such an interval."""
    place = frame["item"].map(build.order)
    last = place.groupby(frame[inputs]).max().sort_values(kind="stable")
    scaled = frame.assign(x=_on_scale_of_people(build, frame["x"].astype(float)))
    rows = scaled.assign(at=frame[inputs].map({group: k for k, group in enumerate(last.index)})).sort_values("at")
    y, f = differences_of(rows, build, inputs)
    both = np.isfinite(y)
    found = _sequence(y[both], f[both], f, ends.get("bounds"), line / share, asked)
    interval = Interval(*(share * end for end in found["interval"]))
    return found | {"interval": interval, "estimate": share * found["estimate"]}


def _on_scale_of_people(build: Build, f: pd.Series) -> pd.Series:
    """A judge with a scale of its own, stretched to people's."""
    if build.ends.get("same_scale") is not False:
        return f
    frame, (low, high) = build.pair.frame, build.ends["bounds"]
    judged = frame.loc[frame["_merge"] != "right_only", "scale"].dropna().astype(str)
    ends = parse_scale(judged.iloc[0]) if len(judged) else None
    bottom, top = (f.min(), f.max()) if ends is None else (ends.low, ends.high)
    return low + (f - bottom) / max(top - bottom, 1e-12) * (high - low)


def _sequence(y: Any, f: Any, pool: Any, bounds: Any, line: float, asked: AskedOfGate) -> dict[str, Any]:
    def at(tail: float) -> stats.ConfidenceSequence:
        return stats.confidence_sequence(y, f, pool, bounds=bounds, confidence_level=1 - 2 * tail)

    found = at(asked.error)
    low, high = -np.log(1e9), np.log(0.5 - 1e-9)
    for _ in range(_HALVINGS if found.estimate[-1] < line else 0):  # the least error at which the line is above
        middle = (low + high) / 2
        below = at(float(np.exp(middle))).high[-1] < line
        low, high = (low, middle) if below else (middle, high)
    p_below = float(np.exp(high)) if found.estimate[-1] < line else 0.5
    ends = Interval(float(found.low[-1]), float(found.high[-1]))
    return {"estimate": float(found.estimate[-1]), "interval": ends, "p_below": p_below}


# --- the outcomes of a gate's checks ----------------------------------------------------------------------------------


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


# --- outputs that a build left as they were ---------------------------------------------------------------------------


CHANGED, UNCHANGED = "changed", "unchanged"
_NO_CHANCE, _LITTLE_CHANCE = 1e-6, 1e-3  # of scores, and of the fewer labels


def text_prints(items: pd.DataFrame) -> dict[str, str]:
    """A print of input and output for each item that has both; equal prints are the same answer to the same input.

    The input is `source`, or where it is missing the group.

    Raises
    ------
    TableArgumentError
        If the items have no outputs, or neither sources nor groups.

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
    known = table[table["output"].notna() & table[inputs].notna()]
    pairs = zip(known["item"], known[inputs].astype(str), known["output"], strict=True)
    return {str(item): _print(inputs, source, output) for item, source, output in pairs}


def _print(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def with_carried(rows: pd.DataFrame, mine: pd.Series, prints: Mapping[str, str]) -> tuple[pd.DataFrame, int]:
    """Of the rows that are `mine` those with labels of the same answer elsewhere, and how many came so.

    The column `answer` says which are unchanged, since each kind is a stratum of its own: what is unchanged is no
    random sample of all.
    """
    text = rows["item"].astype(str).map(prints)
    labelled = rows["y"].notna() & text.notna() & ~mine
    known = rows.loc[labelled, "y"].astype(float).groupby(text[labelled]).mean()
    part = rows[mine]
    carried = text[mine].map(known)
    new = part["y"].isna() & carried.notna()
    seen = set(text[~mine].dropna())
    answer = text[mine].isin(seen).map({True: UNCHANGED, False: CHANGED})
    return part.assign(y=part["y"].where(~new, carried).astype(float), answer=answer), int(new.sum())


def unchanged_groups(rows: pd.DataFrame, a: str, b: str, prints: Mapping[str, str]) -> set[object]:
    """Groups (or items) to which both systems gave the same answer."""
    inputs = "group" if "group" in rows else "item"
    text = rows["item"].astype(str).map(prints)
    sides = [text[rows["system"] == name].set_axis(rows.loc[rows["system"] == name, inputs]) for name in (a, b)]
    first, second = (side[~side.index.duplicated()].dropna() for side in sides)
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
