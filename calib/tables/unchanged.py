"""Outputs that a build left as they were: their labels carry over, and their difference is 0."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib.table import TableArgumentError, check_items

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
