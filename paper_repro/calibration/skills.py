"""Skill of calibrators at few labels: SummEval, GPT-4o and five more judges, other documents than the labels are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import rivals
from summeval_draws import CRITERIA, JUDGE, LEVELS, SIZES, Codes, Floats, costs, draws, shares_cost, summeval, tables

from calib.stats import calibration_map

Row = dict[str, Any]
DRAWS = 100
FEWER = 20  # draws for calib with several inputs, which chooses among all and one in each
OURS = "calib"
OWN: dict[str, Callable[[Floats], Floats]] = {
    "histogram by digit": rivals.histogram,
    "IDR": rivals.idr,
    "IDR shrunk": rivals.idr_shrunk,
    "Venn-Abers by threshold": rivals.venn_abers,
    "PO, no penalty": partial(rivals.ordered, ridge=0.0, pseudo=0.01),
    "PO, ridge 1": partial(rivals.ordered, ridge=1.0),
}
MANY = {"PO, six judges": 5.0, "PO, four criteria": 5.0, "PO, six judges x four criteria": 20.0}
REFERENCE = "PO, ridge 1"


def inputs_of(criterion: str) -> dict[str, Floats]:
    """Rows (1,600, p) of each choice of several inputs; GPT-4o on the criterion itself comes first."""
    data = summeval()
    judges = [JUDGE, *(judge for judge in data.judges if judge != JUDGE)]
    criteria = [criterion, *(other for other in CRITERIA if other != criterion)]
    columns = {
        "PO, six judges": [(criterion, judge) for judge in judges],
        "PO, four criteria": [(other, JUDGE) for other in criteria],
        "PO, six judges x four criteria": [(other, judge) for other in criteria for judge in judges],
    }
    return {name: np.stack([data.digits[key] for key in keys], axis=1) + 1.0 for name, keys in columns.items()}


def skills(criterion: str, n: int, count: int = DRAWS, fewer: int = FEWER) -> dict[str, Floats]:
    """Skill of each calibrator in each draw: 1 - RPS / RPS of the shares over all, on the tested documents."""
    data, (labelled, tested) = summeval(), draws(count)
    labelled, x, y = labelled[:, :n], data.digits[criterion, JUDGE], data.label[criterion]
    shares, counts, tests = shares_cost(y, tested), tables(x, y, labelled), tables(x, y, tested)

    def of_table(pmf: Floats) -> Floats:
        return np.asarray(1 - (costs(pmf) * tests).sum(axis=(1, 2)) / tested.shape[1] / shares)

    def of_rows(pmf: Floats) -> Floats:
        cost = np.take_along_axis(costs(pmf), y[tested[: len(pmf)]][..., None], -1)[..., 0]
        return np.asarray(1 - cost.mean(axis=1) / shares[: len(pmf)])

    found = {"raw digit": of_table(np.eye(LEVELS))} | {name: of_table(make(counts)) for name, make in OWN.items()}
    columns = inputs_of(criterion)
    columns["PO, mean of six judges"] = columns["PO, six judges"].mean(axis=1, keepdims=True)
    for name, ridge in {"PO, mean of six judges": 1.0, **MANY}.items():
        value = columns[name]
        found[name] = of_rows(rivals.ordered_of_many(value[labelled], y[labelled], value[tested], LEVELS, ridge))
    digits = np.arange(1.0, LEVELS + 1)
    found[OURS] = of_table(np.stack([ours(x[rows] + 1.0, y[rows], rows, digits) for rows in labelled]))
    for name, key in {"criteria": "PO, four criteria", "raters": "PO, six judges"}.items():
        value, rows = columns[key], zip(labelled[:fewer], tested[:fewer], strict=True)
        found[f"{OURS}, inputs={name}"] = of_rows(np.stack([ours(value[a], y[a], a, value[b]) for a, b in rows]))
    return found


def ours(x: Floats, y: Codes, rows: Codes, new: Floats) -> Floats:
    """What `calib.calibrate` does with nothing chosen: folds of documents, the penalty from the labels themselves."""
    groups = summeval().document[rows]
    made = calibration_map(x, y + 1, levels=range(1, LEVELS + 1), groups=groups, n_resamples=2)
    return made.predict(new)


def rows() -> Iterator[Row]:
    """Mean skills and their Monte Carlo error; how far calib is from the reference row and above each rival."""
    for criterion in CRITERIA:
        for n in SIZES:
            found = skills(criterion, n)
            at = {"of": criterion, "at": f"n={n}"}
            for name, value in found.items():
                yield {"table": "skill", **at, "quantity": name, "value": value.mean(), "mc_error": _error(value)}
            for name in (f"{OURS}, inputs=criteria", f"{OURS}, inputs=raters"):
                gain = found[name] - found[OURS][:FEWER]
                of = {"table": "several inputs - own score", **at, "quantity": name}
                yield {**of, "value": gain.mean(), "mc_error": _error(gain)}
            for name in OWN:
                gain = found[OURS] - found[name]
                short = max(0.0, -float(gain.mean()) - 2 * _error(gain))
                yield {"table": "calib - other", **at, "quantity": name, "value": gain.mean(), "mc_error": _error(gain)}
                if name != REFERENCE:
                    yield {"table": "calib below other by more than 2 errors", **at, "quantity": name, "value": short}


def _error(value: Floats) -> float:
    return float(value.std(ddof=1) / np.sqrt(len(value))) if np.ptp(value) else 0.0
