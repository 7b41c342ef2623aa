"""CPU time of `calib gate`, of the pytest plugin, and of reading a log, beside the standard library's JSON.

Run: python tests/bench/gate_speed.py. Each figure is the median of several runs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd


def tables(folder: Path, n: int) -> None:
    """A judge's scores of n outputs, and labels of a fifth of them."""
    rng = np.random.default_rng(0)
    quality, item = rng.integers(1, 6, n), [f"i{k}" for k in range(n)]
    judged = np.clip(quality + rng.normal(0, 0.7, n), 1, 5)
    shared = {"criterion": "tone", "scale": "1|2|3|4|5"}
    scores = pd.DataFrame({"item": item, "group": item, "system": "b", "rater": "judge", "score": judged, **shared})
    scores.to_csv(folder / "scores.csv", index=False)
    gold = pd.DataFrame({"item": item, "rater": "ann", "score": quality, **shared}).head(n // 5)
    gold.to_csv(folder / "gold.csv", index=False)


def log(path: Path, n: int) -> None:
    """Results of promptfoo as lines, two graders each."""
    row = {"provider": {"label": "a"}, "testCase": {"options": {"provider": "judge"}}, "vars": {"q": "x" * 200}}
    with path.open("w") as file:
        for k in range(n):
            parts = [
                {"assertion": {"type": "llm-rubric", "metric": name}, "score": k % 5 / 4, "reason": "because " * 20}
                for name in ("tone", "facts")
            ]
            more = {"gradingResult": {"componentResults": parts}, "response": {"output": f"answer {k}"}}
            file.write(json.dumps(row | more | {"prompt": {"raw": f"question {k}"}}) + "\n")


def cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def cpu_of_child(*command: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parsed(path: Path) -> int:
    with path.open("rb") as file:
        return sum(len(json.loads(line)) for line in file)


IMPORTED = "import time, pytest; t = time.perf_counter(); import calib.gate.plugin; print(time.perf_counter() - t)"


def seconds_of_import() -> float:
    program = [sys.executable, "-c", IMPORTED]
    return float(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    """Measure; 1 if a limit is passed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    given = arguments.parse_args()
    import calib

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables(folder, 1000)
        log(folder / "out.jsonl", 50_000)
        gate = ("calib", "gate", f"{folder}/scores.csv", f"{folder}/gold.csv", "--threshold", "2.5")
        imported = [seconds_of_import() for _ in range(given.repeats)]
        found = {
            "calib gate, 1,000 items (s)": (3.0, median(cpu_of_child(*gate) for _ in range(given.repeats))),
            "pytest plugin, import (ms)": (5.0, 1000 * median(imported)),
            "read_log, 50,000 results x 2 (s)": (
                None,
                median(cpu(lambda: calib.read_log(folder / "out.jsonl")) for _ in range(3)),
            ),
            "  the same lines, json alone (s)": (
                None,
                median(cpu(lambda: parsed(folder / "out.jsonl")) for _ in range(3)),
            ),
        }
    for what, (limit, value) in found.items():
        print(f"{what:36s} {value:8.3f}{'' if limit is None else f'   limit {limit:g}'}")
    return int(any(limit is not None and value > limit for limit, value in found.values()))


if __name__ == "__main__":
    sys.exit(main())
