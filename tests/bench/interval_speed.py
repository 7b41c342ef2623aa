"""CPU time of the gold-corrected intervals, at a million unlabelled items and by size, beside ppi_py if it is there.

Run: python tests/bench/interval_speed.py [--peer ENV/bin/python]. README.md says how to read the table.
"""

import os

# before numpy is imported
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import argparse
import json
import platform
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

GOLD, REST, RESAMPLES = 1_000, 1_000_000, 1_000
SIZES = ((20, 2_000), (50, 2_000), (200, 2_000), (1_000, 2_000), (GOLD, REST))  # labels, items without
FEWER = 10_000  # unlabelled items for ppi_py's quantile, which takes a matrix of them by a grid of 5,000


class Task(NamedTuple):
    title: str
    ours: Callable[[], object]
    peer: str = ""  # its name among the peer's tasks
    at_most: float = 0  # milliseconds
    note: str = ""


class Data(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    f: np.ndarray
    x_rest: np.ndarray
    f_rest: np.ndarray

    @property
    def scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.y, self.f, self.f_rest


def data() -> Data:
    """Three covariates, labels, and a judge whose error is half as large as people's scores are wide."""
    rng = np.random.default_rng(0)
    size = GOLD + REST
    x = np.column_stack([np.ones(size), rng.standard_normal((size, 2))])
    y = x @ [3, 0.5, -0.3] + rng.standard_normal(size)
    f = y + 0.4 + 0.5 * rng.standard_normal(size)
    rows = slice(GOLD, None)
    return Data(x[:GOLD].copy(), y[:GOLD].copy(), f[:GOLD].copy(), x[rows].copy(), f[rows].copy())


def tasks() -> list[Task]:
    from calib import stats
    from calib.stats import ppi_mean

    given = data()
    y, f, rest = given.scores
    levels = [np.clip(np.round(v), 1, 5) for v in given.scores]
    design = given.x, y, f, given.x_rest, rest
    yes = given.x, (y > 3).astype(float), (f > 3).astype(float), given.x_rest, (rest > 3).astype(float)
    boot = stats.ppi_bootstrap
    return [
        Task("mean", lambda: ppi_mean(y, f, rest), "mean", at_most=2),
        Task("mean, 1 to 5", lambda: ppi_mean(*levels, bounds=(1, 5), step=1), at_most=2),
        Task("share from 4 up", lambda: stats.ppi_proportion(*levels, above=4), at_most=5),
        Task(
            "median", lambda: stats.ppi_quantile(y, f, rest), "quantile", at_most=20,
            note=f"peer at N = {FEWER:,}: at N = 1,000,000 it would allocate 37 GiB",
        ),
        Task("median, 1 to 5", lambda: stats.ppi_quantile(*levels, bounds=(1, 5), step=1), at_most=20),
        Task("OLS, d = 3", lambda: stats.ppi_ols(*design), "ols", at_most=80),
        Task("logistic, d = 3", lambda: stats.ppi_logistic(*yes), "logistic", at_most=400),
        Task(
            f"bootstrap of the mean, B = {RESAMPLES:,}",
            lambda: boot(np.mean, y, f, rest, n_resamples=RESAMPLES, rng=0), "boot", at_most=20,
            note="peer: 20 resamples, time scaled",
        ),
    ]  # fmt: skip


def scores_of(given: Data, labels: int, rest: int) -> list[np.ndarray]:
    """Labels, judge scores and those of the rest, on a scale from 1 to 5 on which the judge says numbers in between."""
    y, f = given.y[:labels], given.f[:labels]
    return [np.clip(np.round(y), 1, 5), np.clip(f, 1, 5), np.clip(given.f_rest[:rest], 1, 5)]


# --- the peer, in a process of its own ---------------------------------------------------------------------------


def peer() -> None:
    """Print ppi_py's CPU milliseconds as JSON; runs in a Python that need not have calib."""
    import ppi_py

    given = data()
    y, f, rest = given.scores
    design = given.x, y, f, given.x_rest, rest
    yes = given.x, (y > 3).astype(float), (f > 3).astype(float), given.x_rest, (rest > 3).astype(float)
    small = 20
    calls = {
        "mean": (lambda: ppi_py.ppi_mean_ci(y, f, rest, alpha=0.05), 1, 3),
        "quantile": (lambda: ppi_py.ppi_quantile_ci(y, f, rest[:FEWER], 0.5, alpha=0.05), 1, 1),
        "ols": (lambda: ppi_py.ppi_ols_ci(*design, alpha=0.05), 1, 1),
        "logistic": (lambda: ppi_py.ppi_logistic_ci(*yes, alpha=0.05), 1, 1),
        "boot": (lambda: ppi_py.ppboot(np.mean, y, f, rest, lam=1.0, n_resamples=small), RESAMPLES / small, 1),
    }
    for n, rest_n in SIZES:
        arrays = scores_of(given, n, rest_n)
        calls[f"{n}, {rest_n}"] = (lambda a=arrays: ppi_py.ppi_mean_ci(*a, alpha=0.05), 1, 9)
    times = {}
    for name, (call, scale, repeats) in calls.items():
        if repeats > 1 or name in {"ols", "logistic"}:
            call()  # compiles
        times[name] = scale * median(cpu_ms(call) for _ in range(repeats))
    print(json.dumps({"version": version("ppi-python"), "times": times}))


def ask(python: str) -> dict:
    command = [python, "-W", "ignore", str(Path(__file__).resolve()), "--as-peer"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


# --- the table --------------------------------------------------------------------------------------------------


def cpu_ms(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return 1000 * (time.process_time() - start)


def row(task: Task, times: dict[str, float], repeats: int) -> str:
    task.ours()
    ours = median(cpu_ms(task.ours) for _ in range(repeats))
    theirs = times.get(task.peer)
    shown, ratio = ("-", "-") if theirs is None else (f"{theirs:,.0f}", f"{theirs / ours:,.0f}")
    kept = "yes" if ours <= task.at_most else "**no**"
    return f"| {task.title} | {ours:,.2f} | {shown} | {ratio} | <= {task.at_most:g} | {kept} | {task.note} |"


def by_size(times: dict[str, float], repeats: int) -> str:
    """A table of means by the number of labels, beside what numpy takes for mean and std of the scores."""
    from calib.stats import mean_interval, ppi_mean

    given, lines = data(), []
    for labels, rest in SIZES:
        y, f, others = scores_of(given, labels, rest)
        calls = (
            lambda y=y, f=f, others=others: ppi_mean(y, f, others, bounds=(1, 5)),
            lambda y=y: mean_interval(y, bounds=(1, 5)),
            lambda y=y, f=f, others=others: ppi_mean(y, f, others),
            lambda others=others: (others.mean(), others.std()),
        )
        cells = []
        for call in calls:
            call()
            cells.append(f"{median(cpu_ms(call) for _ in range(3 * repeats)):.2f}")
        theirs = times.get(f"{labels}, {rest}")
        lines.append(" | ".join([f"| {labels:,}", f"{rest:,}", *cells, f"{theirs:.2f} |" if theirs else "- |"]))
    head = (
        "| labels | without | 1 to 5 | 1 to 5, labels alone | no bounds | numpy's mean and std of the rest | ppi_py |"
    )
    return "\n".join([head, "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |", *lines])


def memory() -> str:
    """Peak of what a mean allocates, beside the data themselves."""
    from calib.stats import ppi_mean

    given = data()
    tracemalloc.start()
    ppi_mean(*given.scores)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return f"Mean: peak {peak:.2f} MB more than the data ({given.f_rest.nbytes / 2**20:.1f} MB of judge scores)."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", default=sys.executable, help="a Python that has ppi_py")
    parser.add_argument("--repeats", type=int, default=7, help="of ours; the median is shown")
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_peer:
        peer()
        return
    try:
        theirs = ask(options.peer)
    except subprocess.CalledProcessError:
        theirs = {"version": "absent", "times": {}}
    import scipy

    import calib

    print(f"calib {calib.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, ", end="")
    print(f"SciPy {scipy.__version__}, ppi_py {theirs['version']}; one thread, ", end="")
    print(f"load average {os.getloadavg()[0]:.1f}. CPU milliseconds.\n")
    print(f"{GOLD:,} gold items, {REST:,} without a label. Ours: median of {options.repeats}.\n")
    print(
        "| task | ours, ms | ppi_py, ms | ratio | target, ms | ok | |\n| --- | ---: | ---: | ---: | --- | --- | --- |"
    )
    for task in tasks():
        print(row(task, theirs["times"], options.repeats), flush=True)
    print(f"\nMeans by size:\n\n{by_size(theirs['times'], options.repeats)}")
    print(f"\n{memory()}")


if __name__ == "__main__":
    main()
