"""SummEval beside its experts, and who is labelled and who is tested in each draw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import calib

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
CRITERIA = ("coherence", "consistency", "fluency", "relevance")
JUDGE = "gpt-4o"
SIZES = (25, 50, 100, 200)
LEVELS = 5  # of the judges and of the experts: 1 to 5


@dataclass(frozen=True, slots=True)
class SummEval:
    """1,600 summaries in order of their ids: documents, digits of the judges, the experts' median (both from 0)."""

    items: pd.DataFrame
    document: Codes
    digits: dict[tuple[str, str], Codes]  # of a criterion and a judge
    label: dict[str, Codes]  # of a criterion
    judges: tuple[str, ...]


@cache
def summeval() -> SummEval:
    """Read once."""
    items, ratings = calib.datasets.load_summeval_judges()
    items = items.sort_values(["group", "item"], ignore_index=True)
    wide = ratings.astype({"rater": str}).pivot(index="item", columns=["criterion", "rater"], values="score")
    wide = wide.loc[items["item"]]
    people = sorted(set(ratings.loc[ratings["method"] == "human", "rater"].astype(str)))
    judges = tuple(sorted(set(ratings["rater"].astype(str)) - set(people)))
    digits = {(c, j): wide[c, j].to_numpy(dtype=np.intp) - 1 for c in CRITERIA for j in judges}
    label = {c: wide[c][people].median(axis=1).to_numpy(dtype=np.intp) - 1 for c in CRITERIA}
    return SummEval(items, np.unique(items["group"], return_inverse=True)[1], digits, label, judges)


@cache
def draws(count: int, seed: int = 0) -> tuple[Codes, Codes]:
    """Places of labelled summaries (count, 200), the first n of which are those of n labels, and of tested ones.

    Half of the documents in random order give the labels, all summaries of the other half are tested.
    """
    document, rng = summeval().document, np.random.default_rng(seed)
    labelled, tested = [], []
    for _ in range(count):
        chosen = np.isin(document, rng.permutation(document[-1] + 1)[: (document[-1] + 1) // 2])
        labelled.append(rng.permutation(np.flatnonzero(chosen))[: max(SIZES)])
        tested.append(np.flatnonzero(~chosen))
    return np.array(labelled), np.array(tested)


def tables(score: Codes, label: Codes, rows: Codes) -> Floats:
    """How often each digit came with each label, shape (draws, digits, labels)."""
    cells = score[rows] * LEVELS + label[rows] + LEVELS**2 * np.arange(len(rows))[:, None]
    counts = np.bincount(cells.ravel(), minlength=LEVELS**2 * len(rows))
    return counts.reshape(-1, LEVELS, LEVELS).astype(float)


def costs(pmf: Floats) -> Floats:
    """Ranked probability score of each forecast, were each label the truth: (..., K) to (..., K)."""
    below = np.cumsum(pmf, axis=-1)[..., None, :-1]
    truth = np.arange(LEVELS)[:, None] <= np.arange(LEVELS - 1)
    return ((below - truth) ** 2).mean(axis=-1)


def shares_cost(label: Codes, rows: Codes) -> Floats:
    """Score of the shares over all summaries, in each draw's tested ones."""
    return costs(np.bincount(label, minlength=LEVELS) / len(label))[label[rows]].mean(axis=-1)
