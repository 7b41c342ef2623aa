"""Rates that were simulated twice: which of them cannot be one rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from scipy import stats

UNLIKELY = 1e-5  # of one row, of which a study has some hundred


def differing(stored: pd.DataFrame, found: pd.DataFrame, key: Sequence[str], rate: str) -> pd.DataFrame:
    """Rows whose rate cannot be the stored one (Fisher's exact test on `runs`), and rows that are not stored."""
    both = stored.merge(found, on=list(key), suffixes=("", "_again"), how="right", indicator="there")
    rows = both.to_dict("records")
    return both[[row["there"] != "both" or _p_value(row, rate) < UNLIKELY for row in rows]]


def _p_value(row: dict[str, Any], rate: str) -> float:
    pairs = [(row[f"{rate}{end}"], row[f"runs{end}"]) for end in ("", "_again")]
    counts = [(round(share * runs), round((1 - share) * runs)) for share, runs in pairs]
    return float(stats.fisher_exact(counts).pvalue)
