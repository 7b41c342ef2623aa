"""What threads cost: CPU and wall time of two statistics, with the threads that BLAS starts by itself and with one.

Run: python tests/bench/threads.py. README.md says how to read the table. It takes a minute at most.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
SECONDS = 4.0  # for each case of each measurement
BUSY = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


def cases() -> dict[str, Callable[[], object]]:
    """Random arrays and calls, as in interval_speed.py and agreement_speed.py."""
    import numpy as np

    from calib.stats import agreement, ppi_mean, ppi_ols

    rng = np.random.default_rng(0)
    y = rng.integers(1, 6, 1_000_000).astype(float)
    f = y + 0.4 + 0.5 * rng.standard_normal(len(y))
    x = np.column_stack([np.ones(len(y)), rng.standard_normal((len(y), 2))])
    systems, groups = np.indices((16, 100)).reshape(2, -1)
    human, judge = y[: len(groups)], np.round(f[: len(groups)])
    options = {"method": "kendall", "interval": "boot-both", "n_resamples": 1000, "rng": 0}
    return {
        "ppi_mean": lambda: ppi_mean(y[:1000], f[:1000], f[1000:]),
        "boot-both, items": lambda: agreement(judge, human, groups=groups, systems=systems, level="item", **options),
        "boot-both, groups": lambda: agreement(judge, human, groups=groups, systems=systems, level="group", **options),
        "ppi_ols, 3 covariates": lambda: ppi_ols(x[:1000], y[:1000], f[:1000], x[1000:], f[1000:]),
    }


def measured(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Milliseconds of CPU, of all threads, and of wall time; after one call that is not counted."""
    call()
    spent, end = [], time.monotonic() + SECONDS
    while len(spent) < repeats and time.monotonic() < end:
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        spent.append((1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall)))
    return median(cpu for cpu, _ in spent), median(wall for _, wall in spent)


def in_a_process(repeats: int, threads: str) -> dict[str, tuple[float, float]]:
    """The measurements of a fresh Python."""
    environ = {name: value for name, value in os.environ.items() if name not in THREADS}
    command = [sys.executable, __file__, "--once", f"--repeats={repeats}"]
    limits = dict.fromkeys(THREADS, threads) if threads else {}
    done = subprocess.run(command, env=environ | limits, check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


@contextmanager
def load(processes: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=25, help="the median is shown")
    parser.add_argument("--busy", type=int, default=8, help="processes beside which it is measured again")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps({name: measured(call, options.repeats) for name, call in cases().items()}))
        return
    print(
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before. Milliseconds of CPU / of wall time.\n"
    )
    print("| | threads | " + " | ".join(cases()) + " |\n| --- | --- |" + " ---: |" * len(cases()))
    for where, processes in {"no load added": 0, f"beside {options.busy} busy processes": options.busy}.items():
        for title, threads in {"default": "", "one": "1"}.items():
            with load(processes):
                times = in_a_process(options.repeats, threads)
            shown = [f"{cpu:,.1f} / {wall:,.1f}" for cpu, wall in times.values()]
            print(f"| {where} | {title} | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main()
