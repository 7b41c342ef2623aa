"""One row of results: how often intervals held the truth, and how wide they were."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]
Ends = Sequence[tuple[float, float]]
LEVEL = 0.95


def rows(head: Mapping[str, Any], ends: Mapping[tuple[str, str], Ends], truth: Mapping[str, float]) -> list[Row]:
    """A row for each quantity and estimator; an interval that is not there does not count."""
    out = []
    for (quantity, estimator), kept in ends.items():
        low, high = np.array(kept, dtype=float).T
        known = ~np.isnan(low)
        inside = (low[known] <= truth[quantity]) & (truth[quantity] <= high[known])
        row = {"quantity": quantity, "estimator": estimator} | dict(head) | {"runs": int(known.sum())}
        row |= {"coverage": float(inside.mean()), "mc_error": math.sqrt(LEVEL * (1 - LEVEL) / max(known.sum(), 1))}
        ends_known = known & np.isfinite(low) & np.isfinite(high)  # without an end it has no width
        out.append(row | {"width": float((high - low)[ends_known].mean()), "nominal": LEVEL})
    return out
