"""What a verb on tables costs over the function on arrays: `python tests/bench/door_speed.py [items]`.

CPU seconds of this process, the least of five, so that a busy machine matters little; ratios of one run.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import calib


def tables(n: int, labels: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A user's frames: ids and systems as texts, a judge's score of all items, people's of some."""
    rng = np.random.default_rng(1)
    quality = rng.integers(1, 6, n).astype(float)
    frame = pd.DataFrame(
        {
            "item": [f"item-{k}" for k in range(n)],
            "criterion": "coherence",
            "rater": "judge",
            "score": np.clip(quality + rng.normal(0, 0.7, n), 1, 5),
            "scale": "1..5",
            "group": [f"document-{k // 10}" for k in range(n)],
            "system": [f"system-{k % 10}" for k in range(n)],
        }
    )
    return frame, frame.assign(rater="people", score=quality).sample(labels, random_state=1)


def cpu(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main(n: int) -> None:
    mine, labelled = tables(n, n // 10)
    check = calib.table.check_scores
    scores, gold = check(mine), check(labelled)
    both = mine.merge(labelled[["item", "score"]], on="item", how="left", suffixes=("", "_y"))
    y, f, groups = (both[name].to_numpy() for name in ("score_y", "score", "group"))
    array = cpu(lambda: calib.stats.ppi_mean(y, f, bounds=(1, 5), groups=groups))
    rows = {
        "ppi_mean on arrays": array,
        "interval, tables as calib made them": cpu(lambda: calib.interval(scores, gold)),
        "interval, a user's frames": cpu(lambda: calib.interval(mine, labelled)),
        "check_scores alone": cpu(lambda: check(mine)),
    }
    print(f"{n} items, {n // 10} labels; calib {calib.__version__}, pandas {pd.__version__}")
    for name, seconds in rows.items():
        print(f"{name:40} {1e3 * seconds:9.1f} ms CPU  {seconds / array:6.1f} x the array function")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
