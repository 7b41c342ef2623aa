"""A build as a gate sees it: the judge's scores beside labels, of itself and of what it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.analysis.gate.gate_outcomes import INCONCLUSIVE, GateCheck
from calib.core.result import Interval
from calib.tables.gold import ends_of
from calib.tables.pairs import Pair


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
