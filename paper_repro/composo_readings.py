"""Readings of RewardBench 2 by one judge, and by what it may have become: another prompt, model or temperature."""

from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import calib

Readings = NDArray[np.float64]
BASE = "no change"
CHANGED = {
    "other prompt": ("gpt-5.4", "criteria", None),
    "smaller model": ("gpt-5.4-mini", "base", None),
    "temperature .3": ("gpt-5.4", "base", 0.3),
}


@cache
def draws(judge: str, prompt: str, temperature: float | None) -> pd.DataFrame:
    """A row for each response, a column for each of its eight scores."""
    _, ratings = calib.load_composo(judge, prompt, temperature=temperature)
    table = ratings.astype({"item": object})
    return table.set_index(["item", "draw"])["score"].unstack("draw")  # noqa: PD010 - nothing is to be averaged


@cache
def complete() -> dict[str, Readings]:
    """Eight scores of each response that has them in every run, the four responses of a query one after the other."""
    runs = {BASE: draws("gpt-5.4", "base", None)} | {name: draws(*run) for name, run in CHANGED.items()}
    items = runs[BASE].index
    for run in runs.values():
        items = items.intersection(run.index[run.notna().all(axis=1)])
    query = items.str.rpartition("__").get_level_values(0)
    kept = items[pd.Series(query).groupby(query).transform("size").to_numpy() == 4].sort_values()
    return {name: run.reindex(kept).to_numpy() for name, run in runs.items()}


def then_and_now(
    name: str, items: NDArray[np.intp], r: int, s: int, rng: np.random.Generator
) -> tuple[Readings, Readings]:
    """Some of the judge's readings (r) and of what it became (s); without a change the two have none in common."""
    runs, order = complete(), rng.permutation(8)
    then = runs[BASE][items][:, order[:r]]
    if name == BASE:
        return then, runs[BASE][items][:, order[r : r + s]]
    return then, runs[name][items][:, rng.permutation(8)[:s]]
