"""Whether labels may be of a random sample: judges' scores of labelled outputs beside those of the rest."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from calib.core.check import Floats
from calib.table import TableError
from calib.table.pairs import DESIGN, chosen_in

_CERTAIN, _SUSPECT = 1e-3, 2.5  # p-value; standard errors below which none is worked out
_DRAWS, _VALUES = 20_000, 200


def not_drawn(parts: Iterable[pd.DataFrame], groups: str | None, most: float) -> str:
    """Why the labels of some part are no random sample of it; nothing where that may be, or another draw was made.

    A part whose outputs share groups is one of groups, by their means.
    """
    parts = [part[part["x"].notna()] for part in parts]
    for part in parts:
        labelled, values = part["y"].notna(), part["x"].astype(float)
        there = [name for name in DESIGN if name in part and part[name].notna().any()]
        if 0 < len(there) < len(DESIGN) and not labelled.all():
            lacking = next(name for name in DESIGN if name not in there)
            raise TableError(f"the columns of `choose` must come together, but `{lacking}` is missing.")
        if there and not labelled.all():
            other = int((labelled & ~chosen_in(part)).sum())
            if other > most * labelled.sum():
                return f"{other} of {labelled.sum()} labels are of outputs that `choose` did not draw: leave them out"
            continue
        if groups in part and part[groups].notna().all() and part[groups].duplicated().any():
            by_group = part[groups]
            labelled, values = labelled.groupby(by_group).any(), values.groupby(by_group).mean()
        p = p_of_draw(values.to_numpy(), labelled.to_numpy())
        if p * len(parts) < _CERTAIN:
            apart = values[labelled].mean() - values[~labelled].mean()
            what = f"the judge scores labelled outputs {apart:+.2g} against the rest (p < .001 in a random draw)"
            return f"{what}: are the labels of a random sample?"
    return ""


def p_of_draw(values: Floats, labelled: np.ndarray) -> float:
    """How often a random draw of as many would have a mean as far from that of all; 1 where that is no question.

    Draws without replacement from the values themselves: with few labels and skewed scores no law of the mean holds in
    the tails. More than 200 different values are put on an even grid.

    Examples
    --------
    >>> scores = np.repeat([1.0, 5.0], 50)
    >>> p_of_draw(scores, np.arange(100) % 5 == 0), p_of_draw(scores, np.arange(100) >= 80) < 1e-3
    (1.0, True)
    """
    n, size = int(labelled.sum()), len(values)
    spread = float(np.var(values, ddof=1)) if size > 1 else 0.0
    if not 0 < n < size or not spread > 0:
        return 1.0
    apart = abs(values[labelled].mean() - values.mean())
    if apart < _SUSPECT * np.sqrt(spread * (1 / n - 1 / size)):
        return 1.0
    if len(np.unique(values)) > _VALUES:
        step = float(np.ptp(values)) / _VALUES
        values = np.round(values / step) * step
        apart = abs(values[labelled].mean() - values.mean())
    kinds, counts = np.unique(values, return_counts=True)
    drawn = min(n, size - n)  # the rest is a draw as well
    draws = np.random.default_rng(0).multivariate_hypergeometric(counts, drawn, size=_DRAWS, method="marginals")
    reach = np.abs(draws @ kinds - drawn * values.mean())
    return float((1 + np.sum(reach >= n * apart * (1 - 1e-9))) / (1 + _DRAWS))
