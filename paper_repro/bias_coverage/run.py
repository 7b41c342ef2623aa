"""How often the intervals of bias, verdicts, pairs, leaderboards and drift hold, in simulation.

Each row of results.csv is one interval in one design: how many of the simulated data sets have an
interval that holds the truth, and how wide it is; rows of a test have its rate of alarms. `--check`
simulates each again with few data sets, and fails where one cannot be of the same rate.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import numpy as np
import pandas as pd
from rates import differing

from calib.stats import CalibWarning

FOLDER = Path(__file__).parent
PARTS = {name: import_module(name) for name in ("effects", "systems", "raters", "verdicts", "pairs", "board", "drift")}
KEY = ["quantity", "estimator", "design", "n"]
RUNS, FEW = 1000, 40


def simulated(name: str, runs: int) -> pd.DataFrame:
    """The rows of one part. Its seed comes from its name alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        rows = list(PARTS[name].cells(runs, np.random.default_rng([*name.encode()])))
    return pd.DataFrame(rows).assign(part=name)


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = check.parser(__doc__)
    arguments.add_argument("--part", choices=PARTS, action="append", help="this part alone")
    given = arguments.parse_args()
    path, names = FOLDER / "results.csv", given.part or list(PARTS)
    stored = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["part", *KEY])
    start = time.process_time()
    found = pd.concat([simulated(name, FEW if given.check else RUNS) for name in names], ignore_index=True)
    if given.check:
        off = differing(stored, found, KEY, "coverage")
        print(off.to_string() if len(off) else "", end="")
        print(f"bias_coverage: {len(found) - len(off)} of {len(found)} rows agree with results.csv.", end=" ")
    else:
        kept = stored[~stored["part"].isin(names)]
        found = pd.concat([kept, found], ignore_index=True) if len(kept) else found
        found = found.sort_values("part", key=lambda part: part.map(list(PARTS).index), kind="stable")
        found[["part", *found.columns.drop("part")]].to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
        print(found.to_string(index=False))
        off = found[:0]
    print(f"{time.process_time() - start:.0f} s of CPU.")
    return int(len(off) > 0)


if __name__ == "__main__":
    sys.exit(main())
