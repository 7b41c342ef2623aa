"""How often the intervals of bias, verdicts, pairs, leaderboards and drift hold, in simulation.

Each row of results.csv is one interval in one design: how many of the simulated data sets have an
interval that holds the truth, and how wide it is; rows of a test have its rate of alarms. `--check`
simulates each again with few data sets, and fails where one cannot be of the same rate.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from rates import study

FOLDER = Path(__file__).parent
PARTS = {
    name: import_module(name).cells for name in ("effects", "systems", "raters", "verdicts", "pairs", "board", "drift")
}
KEY = ["quantity", "estimator", "design", "n"]
RUNS, FEW = 1000, 40


if __name__ == "__main__":
    runs = dict.fromkeys(PARTS, RUNS)
    sys.exit(study(FOLDER, __doc__, PARTS, KEY, runs=runs, few=FEW, rate="coverage"))
