"""G9, G10, G13: Mantel's test, self-preference on TriviaQA, habits of raters on SummEval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from mantel_haenszel import mantel, mantel_haenszel

import calib
from calib import datasets

EXPERTS = ["e0", "e1", "e2"]
FAMILIES = {"Llama-7B": "llama2-7b", "Llama-13B": "llama2-13b", "Mistral-7B": "mistral-7b", "GPT-4": "gpt-4t"}


def values() -> pd.DataFrame:
    """All values of this part: table, row, measure, value."""
    rows = [*_mantel(), *_self_preference(), *_habits()]
    return pd.DataFrame(rows, columns=["table", "row", "measure", "value"])


def _side_by_side(ratings: pd.DataFrame, items: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Scores, items by raters, and the system of each item."""
    plain = ratings.astype({"item": str, "rater": str})
    table = plain.pivot(index="item", columns="rater", values="score")  # noqa: PD010 - no averages
    return table, items.astype({"item": str, "system": str}).set_index("item")["system"].loc[table.index]


def _mantel() -> Iterator[tuple[str, str, str, float]]:
    items, ratings = datasets.load_summeval_judges()
    table, systems = _side_by_side(ratings[ratings["criterion"] == "coherence"], items)
    label = table[EXPERTS].median(axis=1)
    for system in sorted(set(systems)):
        found = mantel(table["gpt-4o"], systems == system, label)
        yield "G9", f"coherence {system}", "Mantel z", found.z
        yield "G9", f"coherence {system}", "Mantel points", found.estimate


def _self_preference() -> Iterator[tuple[str, str, str, float]]:
    items, ratings = datasets.load_triviaqa_judges()
    said, systems = _side_by_side(ratings, items)
    for judge, family in FAMILIES.items():
        own = systems.str.startswith(family)
        cells = [((said[judge] == yes) & (own == mine) & (said["human"] == label)).sum()
                 for label in (0, 1) for mine in (True, False) for yes in (1, 0)]  # fmt: skip
        found = mantel_haenszel(np.reshape(cells, (2, 2, 2)))
        for name in ("odds_ratio", "chi2", "breslow_day", "p_breslow_day", "delta", "log_std_error", "smallest"):
            yield "G10", judge, name, float(getattr(found, name))
        yield "G10", judge, "conf_low", found.interval.low
        yield "G10", judge, "conf_high", found.interval.high


def _habits() -> Iterator[tuple[str, str, str, float]]:
    items, ratings = datasets.load_summeval_judges()
    people = ratings["rater"].isin(EXPERTS)
    judges, human = calib.summarize(ratings[~people], items), calib.summarize(ratings[people], items)
    results = calib.rater_effects(judges, human)
    for label, found in zip(results.labels, results, strict=True):
        for effect in found.effects:
            what = f"{effect.effect} {effect.criterion}".strip()
            yield "G13", str(label["rater"]), what, effect.estimate
            if label["rater"] == "gpt-4o":
                for name, value in zip(EXPERTS, effect.labels, strict=True):
                    yield "G13", name, what, value
        yield "G13", str(label["rater"]), "independent criteria", found.n_independent
