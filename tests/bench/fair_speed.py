"""CPU time of bias, leaderboards, drift and the pass rate, beside other packages where this Python has them.

Run: python tests/bench/fair_speed.py. The data of `bias` are drawn in the shape of SummEval: 4 criteria, 16 systems.
"""

import os

# before numpy is imported
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from statistics import median

import numpy as np

Call = Callable[[], object]


def study() -> tuple[object, object, object]:
    """A judge, three people and texts: 100 documents, 16 systems, 4 criteria."""
    import pandas as pd

    import calib

    rng = np.random.default_rng(0)
    items = pd.DataFrame([(f"d{d}-s{s}", f"d{d}", f"s{s}") for d in range(100) for s in range(16)],
                         columns=["item", "group", "system"])  # fmt: skip
    items["output"] = [" ".join(["word"] * k) for k in rng.integers(20, 90, len(items))]

    def scores(rater: str, method: str) -> object:
        parts = [items.assign(criterion=f"c{c}", rater=rater, method=method, score=rng.integers(1, 6, len(items)))
                 for c in range(4)]  # fmt: skip
        return pd.concat(parts).drop(columns="output")

    quality = [scores(f"p{k}", "human") for k in range(3)]
    for one in quality[1:]:
        one["score"] = (quality[0]["score"] + rng.integers(-1, 2, len(one))).clip(1, 5)
    people = calib.table.check_scores(pd.concat(quality, ignore_index=True))
    return calib.table.check_scores(scores("judge", "sample").reset_index(drop=True)), people, items


def battles(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    theta = rng.normal(size=100)
    a = rng.integers(0, 100, n)
    b = (a + rng.integers(1, 100, n)) % 100
    return a, b, (rng.random(n) < 1 / (1 + np.exp(theta[b] - theta[a]))).astype(float)


def tasks() -> list[tuple[str, float, Call]]:
    """What is measured, its limit in seconds (none: a peer), and the call."""
    import calib
    from calib import stats

    judge, people, items = study()
    million, few = battles(1_000_000), battles(20_000)
    readings = np.random.default_rng(2).integers(1, 11, (200, 8)).astype(float)
    rng = np.random.default_rng(3)
    truth = (rng.random(1100) < 0.8).astype(float)
    said = np.where(rng.random(1100) < 0.9, truth, 1 - truth)
    known = np.where(np.arange(1100) < 100, truth, np.nan)
    found = [
        ("bias, 4 criteria x (16 systems, length)", 2.0, lambda: calib.bias(judge, people, items=items)),
        ("bradley_terry, 100 systems, 1e6 battles", 2.0, lambda: stats.bradley_terry(*million)),
        ("bradley_terry, 100 systems, 2e4 battles", np.inf, lambda: stats.bradley_terry(*few)),
        ("reading_change, 200 x 4 x 4, 9,999 permutations", 1.0,
         lambda: stats.reading_change(readings[:, :4], readings[:, 4:], n_permutations=9999)),
        ("pass_fail, 100 labels, 1,000 more", np.inf, lambda: stats.pass_fail(said, known)),
    ]  # fmt: skip
    if find_spec("choix"):
        choix = import_module("choix")
        won = [(i, j) if s else (j, i) for i, j, s in zip(*few, strict=True)]
        found.append(("  choix: ilsr_pairwise, 2e4 battles, no errors", np.nan, lambda: choix.ilsr_pairwise(100, won)))
    if find_spec("judgy"):
        judgy = import_module("judgy")
        whole = [side.astype(int) for side in (truth[:100], said[:100], said[100:])]
        found.append(("  judgy: the pass rate alone", np.nan, lambda: judgy.estimate_success_rate(*whole)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="the median is shown")
    options = parser.parse_args()
    print(f"one thread, load average {os.getloadavg()[0]:.1f}. CPU seconds.\n")
    print("| task | s | limit | ok |\n| --- | ---: | ---: | --- |")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, limit, call in tasks():
            call()
            took = []
            for _ in range(options.repeats):
                start = time.process_time()
                call()
                took.append(time.process_time() - start)
            spent, has_limit = median(took), np.isfinite(limit)
            kept = ("yes" if spent <= limit else "**no**") if has_limit else ""
            print(f"| {name} | {spent:.4f} | {f'{limit:g}' if has_limit else ''} | {kept} |", flush=True)


if __name__ == "__main__":
    main()
