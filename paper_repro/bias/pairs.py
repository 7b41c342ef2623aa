"""G11, G12: position bias on LLMBar and the win rate at equal length on AlpacaEval."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pandas as pd
from scipy import stats as reference

import calib
from calib import datasets


def values() -> pd.DataFrame:
    """All values of this part: table, row, measure, value."""
    rows = [*_position(), *_length()]
    return pd.DataFrame(rows, columns=["table", "row", "measure", "value"])


def _position() -> Iterator[tuple[str, str, str, float]]:
    _, ratings = datasets.load_llmbar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # five replies of ChatGPT name no winner, in one order of a pair
        results = calib.position_bias(ratings[ratings["rater"] != "gold"])
    for label, found in zip(results.labels, results, strict=True):
        row = f"{label['rater']} {label['prompt']}"
        for measure in ("n", "n_first", "n_second", "p_value", "consistency", "estimate"):
            yield "G11", row, measure, float(getattr(found, measure))
        yield "G11", row, "conf_low", found.interval.low
        yield "G11", row, "conf_high", found.interval.high
        # what pooling both verdicts of a pair as independent makes of it (truescore): n first places won of 2n
        won = found.n + found.n_first - found.n_second
        yield "G11", row, "p of 2n pooled verdicts", float(reference.binomtest(won, 2 * found.n).pvalue)


def _length() -> Iterator[tuple[str, str, str, float]]:
    items, ratings = datasets.load_alpaca_eval("vicuna-7b")
    found = calib.length_controlled(ratings, items).one()
    names = ("n", "n_longer", "win_rate", "win_share", "intercept", "std_error", "slope", "slope_std_error")
    for measure in (*names, "estimate", "spearman"):
        yield "G12", "vicuna-7b", measure, float(getattr(found, measure))
    yield "G12", "vicuna-7b", "conf_low", found.interval.low
    yield "G12", "vicuna-7b", "conf_high", found.interval.high
