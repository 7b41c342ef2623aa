"""Rows that are alike, by numbers: a groupby that makes no text of a category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd


def first_places(table: pd.DataFrame, names: Sequence[str]) -> tuple[Any, Any]:
    """Rows that agree in these columns have one number, from 0 in their first order; and where each number begins.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["b", "a", "b"], "draw": [0, 0, 0]})
    >>> first_places(table, ["item", "draw"])
    (array([0, 1, 0]), array([0, 1]))
    """
    whole, width = np.zeros(len(table), dtype=np.int64), 1
    for name in names:
        values = table[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            codes, n = values.cat.codes.to_numpy(np.int64), len(values.cat.categories)
        else:
            codes, found = pd.factorize(values.to_numpy(), use_na_sentinel=False)
            n = len(found)
        if width * n >= 2**62:
            whole = pd.factorize(whole)[0]
            width = int(whole.max(initial=0)) + 1
        whole, width = whole * n + codes, width * n
    # rows that are alike mostly stand together: only the first of each run is looked at
    runs = np.flatnonzero(np.append(True, whole[1:] != whole[:-1])) if len(whole) else np.empty(0, dtype=np.intp)
    number = pd.factorize(whole[runs])[0]
    begins = np.empty(int(number.max(initial=-1)) + 1, dtype=np.intp)
    begins[number[::-1]] = runs[::-1]
    return np.repeat(number, np.diff(np.append(runs, len(whole)))), begins
