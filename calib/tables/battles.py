"""Battles of systems: verdicts on pairs as they are, or scores of outputs to one prompt, each against each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from calib.table import TableArgumentError
from calib.tables.door import Checked
from calib.tables.preferences import SYSTEMS

BATTLE = ("group", *SYSTEMS)


def battles_in(table: Checked) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """For each criterion and rater: group, system_a, system_b, score, and the pair's id."""
    pairs = {*SYSTEMS} <= set(table.frame) and table.frame[[*SYSTEMS]].notna().all(axis=None)
    for label, rows in table.slices():
        yield label, _of_pairs(rows) if pairs else _of_scores(rows, table.argument, label)


def _of_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    plain = rows.astype(dict.fromkeys(("item", *BATTLE), object))
    found = plain[["item", *BATTLE, "score"]]
    return found[found["system_a"] != found["system_b"]].reset_index(drop=True)


def _of_scores(rows: pd.DataFrame, argument: str, label: Mapping[str, Any]) -> pd.DataFrame:
    """Each output against each other to the same prompt: the higher score wins, equal ones tie."""
    for name in ("system", "group"):
        if name not in rows or rows[name].isna().any():
            rule = "must be pairs (system_a, system_b: give `summarize` the items), or scores with `system` and `group`"
            raise TableArgumentError(argument, rule, f"lacks {name!r} for {label['criterion']} by {label['rater']}")
    wide = rows.astype({"group": object, "system": object}).pivot_table(index="group", columns="system", values="score")
    parts = []
    for a, b in combinations(wide.columns, 2):
        both = wide[[a, b]].dropna()
        score = (np.sign(both[a] - both[b]) + 1) / 2
        names = {"group": both.index, "system_a": a, "system_b": b, "score": score.to_numpy()}
        parts.append(pd.DataFrame(names))
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*BATTLE, "score"])
    ids = found["group"].astype(str) + "\x1f" + found["system_a"].astype(str) + "\x1f" + found["system_b"].astype(str)
    return found.assign(item=ids)
