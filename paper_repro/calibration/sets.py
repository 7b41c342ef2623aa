"""Conformal sets at few labels: how often they hold the label of summaries of other documents, and their size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from summeval_draws import CRITERIA, JUDGE, LEVELS, SIZES, Floats, draws, summeval, tables

from calib.stats import full_conformal, split_conformal

LEVEL = 0.9
DRAWS = {"full": 100, "split": 200}
REFERENCE_DRAWS = {"full": 40, "split": 200}
SIZE_OF = {  # the reference's, which calib's may be above by .05 at most
    "full": {
        "coherence": (3.64, 3.39, 3.37, 3.38),
        "consistency": (1.53, 1.23, 1.20, 1.16),
        "fluency": (1.80, 1.44, 1.32, 1.37),
        "relevance": (3.20, 2.86, 2.85, 2.85),
    },
    "split": {
        "coherence": (3.88, 3.66, 3.44, 3.41),
        "consistency": (2.49, 1.75, 1.27, 1.22),
        "fluency": (2.41, 1.96, 1.50, 1.44),
        "relevance": (3.37, 3.14, 2.91, 2.89),
    },
}
FORMS: dict[str, Callable[..., Any]] = {"full": full_conformal, "split": split_conformal}


def rows() -> Iterator[dict[str, Any]]:
    """Coverage and size, whether the coverage is short of the level, the size above the reference's."""
    for form, criterion in ((form, criterion) for form in FORMS for criterion in CRITERIA):
        for n, size in zip(SIZES, SIZE_OF[form][criterion], strict=True):
            coverage, labels = over_draws(form, criterion, n)
            at = {"table": f"{form} conformal, 90%", "of": criterion, "at": f"n={n}"}
            error = coverage.std(ddof=1) / np.sqrt(len(coverage))
            short = max(0.0, LEVEL - float(coverage.mean()) - 2 * error)
            size_error = labels.std(ddof=1) / np.sqrt(len(labels))
            both = size_error * np.sqrt(1 + len(labels) / REFERENCE_DRAWS[form])
            large = max(0.0, float(labels.mean()) - size - 0.05 - 2 * both)
            yield {**at, "quantity": "coverage", "value": coverage.mean(), "mc_error": error}
            yield {**at, "quantity": "coverage short of the level by more than 2 errors", "value": short}
            yield {**at, "quantity": "mean size", "value": labels.mean(), "mc_error": size_error}
            yield {**at, "quantity": "mean size above the reference by more than .05 and 2 errors", "value": large}


def over_draws(form: str, criterion: str, n: int) -> tuple[Floats, Floats]:
    """Coverage and mean size in each draw, on all summaries of the other documents."""
    data, (labelled, tested) = summeval(), draws(DRAWS[form])
    x, y, scale = data.digits[criterion, JUDGE], data.label[criterion], np.arange(LEVELS)
    tests = tables(x, y, tested)
    held, size = np.empty(len(tests)), np.empty(len(tests))
    for draw, chosen in enumerate(labelled[:, :n]):
        sets = FORMS[form](x[chosen], y[chosen], level=LEVEL, levels=scale, x_new=scale)
        inside = (scale >= sets.low[sets.row, None]) & (scale <= sets.high[sets.row, None])
        share = tests[draw] / tests[draw].sum()
        held[draw], size[draw] = (share * inside).sum(), share.sum(axis=1) @ inside.sum(axis=1)
    return held, size
