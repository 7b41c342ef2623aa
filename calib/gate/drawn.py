"""Whether labels may be of a random sample: judges' scores of labelled outputs beside those of the rest."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from calib.analysis.means.random_draw import p_of_draw
from calib.table import TableError
from calib.table.pairs import DESIGN, chosen_in

_LIKE_A_COPY, _NEARLY = 20, 0.95  # labels; share of them
_CERTAIN = 1e-3  # p-value


def copies(rows: pd.DataFrame) -> tuple[str, str]:
    """Why labels that are the judge's scores throughout decide nothing, and a warning where nearly all are.

    Scores between the values of whole labels are rounded, as somebody does who fills in a form.
    """
    if len(rows) < _LIKE_A_COPY or rows["y"].nunique() <= 2:
        return "", ""
    scores = rows["x"].astype(float)
    same = int(((scores.round() if (rows["y"] % 1 == 0).all() else scores) == rows["y"]).sum())
    if same == len(rows):
        return f"all {same} labels are the judge's scores: are they of people who did not see these?", ""
    if same < _NEARLY * len(rows):
        return "", ""
    return "", f"labels_like_scores: {same} of {len(rows)} labels are the judge's scores: did people see these?"


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
