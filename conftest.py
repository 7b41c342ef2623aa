"""For all tests and examples, also where there is nothing but numpy, scipy, pytest and hypothesis."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
for library in ("OMP", "OPENBLAS", "MKL"):  # before numpy is loaded: several workers share the cores already
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background; some tests interrupt themselves
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the file names of a topic that may see tables and pictures; recorded judges, and the page of a judge, come as tables
if find_spec("pandas") is None:
    names = [part.format(name) for name in ("frames*", "display*", "commands") for part in ("{}", "test_{}")]
    names += ["test_data", "test_*_data", "test_plots", "test_profile"]
    collect_ignore_glob = [f"*/{name}.py" for name in names]


def pytest_configure(config: pytest.Config) -> None:
    """Few examples of each property in the first tier, the same ones in every run; more in the second."""
    from hypothesis import HealthCheck, settings

    with suppress(ImportError, AttributeError):  # it would read the constants of every module, for 15 s of each process
        from hypothesis.internal.conjecture import providers

        providers.is_local_module_file = lambda _path: False
    quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("first", max_examples=20, derandomize=True, **quiet)
    settings.register_profile("second", max_examples=200, derandomize=True, **quiet)
    settings.load_profile("first" if config.option.markexpr == "not slow" else "second")


@pytest.fixture(autouse=True)
def _no_figure_stays() -> Iterator[None]:
    """However many examples one process runs: pyplot keeps each figure, and warns from twenty on."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look through it again and again."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Of `-n auto`: every worker gathers all tests anew, which costs more than the quick ones are worth."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 2) if config.option.markexpr == "not slow" else cores
