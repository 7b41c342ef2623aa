"""CPU time of the agreement statistics, beside nlpstats in the same process where it is installed.

Run: python tests/bench/agreement_speed.py [--peer-resamples 1000]. README.md says how to read the table.
"""

import os

# before numpy is imported
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import platform
import time
import tracemalloc
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import NamedTuple

import numpy as np
import scipy

import calib
from calib.stats import agreement, compare

SYSTEMS, GROUPS, RESAMPLES = 16, 100, 1000
NOT_FROM_THIS_RUN = "mt-metrics-eval 0.0.3, not from this run"


class Task(NamedTuple):
    title: str
    ours: Callable[[], object]
    peer: Callable[[], object] | None = None  # of nlpstats, with --peer-resamples of its own
    ratio: float = 0  # as many times faster than the peer
    at_most: float = 0  # milliseconds
    stored: str = ""  # what another program was measured to take, on another day


# --- data -------------------------------------------------------------------------------------------------------


class Design(NamedTuple):
    """Matrices of systems by groups, and the labels of their cells."""

    human: np.ndarray
    levels: tuple[np.ndarray, np.ndarray]
    continuous: tuple[np.ndarray, np.ndarray]
    labels: dict


def design(systems: int, groups: int) -> Design:
    """A human who is the mean of three raters of five levels; two judges with five levels, two continuous."""
    rng = np.random.default_rng(0)
    shape = (systems, groups)
    true = 3 + 0.5 * rng.normal(size=(systems, 1)) + 0.5 * rng.normal(size=(1, groups)) + 0.7 * rng.normal(size=shape)
    human = np.mean([np.clip(np.round(true + 0.8 * rng.normal(size=shape)), 1, 5) for _ in range(3)], axis=0)
    judges = [true + spread * rng.normal(size=shape) for spread in (0.8, 1.0)]
    whole = [np.clip(np.round(judge), 1, 5) for judge in judges]
    labels = dict(zip(("systems", "groups"), np.indices(shape).reshape(2, -1), strict=True))
    return Design(human, tuple(whole), tuple(judges), labels)


# --- what is measured -------------------------------------------------------------------------------------------


def flat(*matrices: np.ndarray) -> list[np.ndarray]:
    return [matrix.ravel() for matrix in matrices]


def tasks(data: Design, kind: str, peer: "Peer | None") -> list[Task]:
    one, two = data.levels if kind == "levels" else data.continuous
    x1, x2, y = flat(one, two, data.human)

    def boot(level: str, method: str) -> Callable[[], object]:
        options = {"level": level, "method": method, "interval": "boot-both", "n_resamples": RESAMPLES, "rng": 0}
        return lambda: agreement(x1, y, **data.labels, **options)

    def perm(test: str) -> Callable[[], object]:
        options = {"level": "group", "method": "kendall", "test": test, "n_resamples": RESAMPLES, "rng": 0}
        return lambda: compare(x1, x2, y, **data.labels, **options)

    def theirs(name: str, *args: object) -> Callable[[], object] | None:
        return None if peer is None else lambda: getattr(peer, name)(one, two, data.human, *args)

    return [
        Task("boot-both, groups, tau-b", boot("group", "kendall"), theirs("boot", "input", "kendall"), ratio=2000),
        Task("boot-both, groups, Spearman", boot("group", "spearman"), theirs("boot", "input", "spearman"), ratio=800),
        Task("boot-both, items, tau-b", boot("item", "kendall"), theirs("boot", "global", "kendall"), ratio=10),
        Task("perm-axes, groups, tau-b", perm("perm-axes"), theirs("perm", "both"), ratio=250),
        Task("perm-cells, groups, tau-b", perm("perm-cells"), theirs("perm", swap_cells), ratio=250),
        Task("the same", perm("perm-cells"), at_most=160, stored=f"12,500 ({NOT_FROM_THIS_RUN})"),
        Task(
            "two-way jackknife, groups, tau-b",
            lambda: agreement(x1, y, **data.labels, level="group", method="kendall"),
            at_most=2,
        ),
    ]


def large() -> list[Task]:
    rng = np.random.default_rng(1)
    y = rng.integers(1, 6, 1_000_000).astype(float)
    x = np.clip(y + rng.integers(-1, 2, len(y)), 1, 5)
    u = rng.normal(size=100_000)
    v = u + rng.normal(size=len(u))
    options = {"method": "kendall", "interval": "boot-items", "n_resamples": RESAMPLES, "rng": 0}
    return [
        Task("5 x 5 levels, n = 1,000,000, boot-items, tau-b", lambda: agreement(x, y, **options), at_most=20),
        Task("continuous, n = 100,000, jackknife, tau-b", lambda: agreement(u, v, method="kendall"), at_most=1000),
        Task("continuous, n = 100,000, jackknife, Spearman", lambda: agreement(u, v), at_most=1000),
    ]


# --- the peer ---------------------------------------------------------------------------------------------------


def swap_cells(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The other meaning of PERM-BOTH, given to nlpstats as a function."""
    mask = np.random.rand(*x.shape) > 0.5  # noqa: NPY002 - the generator that nlpstats uses
    return np.where(mask, y, x), np.where(mask, x, y)


class Peer:
    def __init__(self, n_resamples: int) -> None:
        self.n_resamples = n_resamples

    def boot(self, x1: np.ndarray, _: np.ndarray, y: np.ndarray, level: str, method: str) -> object:
        from nlpstats.correlations.bootstrap import bootstrap

        return bootstrap(x1, y, level, method, "both", n_resamples=self.n_resamples)

    def perm(self, x1: np.ndarray, x2: np.ndarray, y: np.ndarray, how: object) -> object:
        from nlpstats.correlations.permutation import permutation_test

        return permutation_test(x1, x2, y, "input", "kendall", how, n_resamples=self.n_resamples)


# --- the table --------------------------------------------------------------------------------------------------


def cpu_ms(function: Callable[[], object]) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant group, of which scipy warns nlpstats each time
        function()
    return 1000 * (time.process_time() - start)


def row(task: Task, kind: str, scale: float, repeats: int) -> str:
    task.ours()
    ours = median(cpu_ms(task.ours) for _ in range(repeats))
    theirs = None if task.peer is None else scale * cpu_ms(task.peer)
    target = f">= {task.ratio:,.0f} x" if task.ratio else f"<= {task.at_most:g} ms"
    times, kept = "-", ours <= task.at_most
    if theirs is not None:
        times, kept = f"{theirs / ours:,.0f}", theirs / ours >= task.ratio
    ok = "no peer" if task.ratio and theirs is None else "yes" if kept else "**no**"
    peer = task.stored or ("-" if theirs is None else f"{theirs:,.0f}")
    return f"| {task.title} | {kind} | {ours:,.2f} | {peer} | {times} | {target} | {ok} |"


def memory() -> str:
    """Peak of what is allocated on the way, beside the data themselves."""
    data = design(200, 2000)
    (x, y), options = flat(data.levels[0], data.human), {"level": "group", "method": "kendall", "rng": 0}
    tracemalloc.start()
    spent = cpu_ms(lambda: agreement(x, y, **data.labels, interval="boot-both", n_resamples=RESAMPLES, **options))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return (
        f"200 systems x 2,000 groups, boot-both, {RESAMPLES:,} resamples, tau-b within groups: "
        f"peak {peak:,.0f} MB more than the data ({x.nbytes / 2**20:.1f} MB each), {spent / 1000:,.1f} s CPU (traced)."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-resamples", type=int, default=200, help="resamples of the peer; times are scaled")
    parser.add_argument("--repeats", type=int, default=7, help="of ours; the median is shown")
    options = parser.parse_args()
    there = find_spec("nlpstats") is not None
    peer = Peer(options.peer_resamples) if there else None
    scale = RESAMPLES / options.peer_resamples
    print(f"calib {calib.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, ", end="")
    print(f"SciPy {scipy.__version__}, nlpstats {version('nlpstats') if there else 'absent'}; ", end="")
    print(f"one thread, load average {os.getloadavg()[0]:.1f}. CPU milliseconds.\n")
    print(
        f"{SYSTEMS} systems x {GROUPS} groups, {RESAMPLES:,} resamples; the human is the mean of three raters of five"
    )
    print("levels (13 levels, ties); judges: five whole levels, or continuous scores without ties.")
    print(
        f"nlpstats: {options.peer_resamples:,} resamples, times {scale:g}, once. Ours: median of {options.repeats}.\n"
    )
    print(
        "| task | judge | ours, ms | peer, ms | ratio | target | ok |\n| --- | --- | ---: | ---: | ---: | --- | --- |"
    )
    data = design(SYSTEMS, GROUPS)
    for kind in ("levels", "continuous"):
        for task in tasks(data, kind, peer):
            print(row(task, kind, scale, options.repeats), flush=True)
    for task in large():
        print(row(task, "no groups", scale, options.repeats), flush=True)
    print(f"\n{memory()}")


if __name__ == "__main__":
    main()
