"""What calib costs on large tables on one machine, each row with its limit and a peer in the same run.

Run: python tests/bench/scale_speed.py [row ...] [--quick]. README.md says how to read the table.
"""

import os

# before numpy is imported
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

Row = tuple[str, float, float | None]  # what was measured, the number, its limit
ROWS: dict[str, Callable[[int], list[Row]]] = {}


def row(measure: Callable[[int], list[Row]]) -> Callable[[int], list[Row]]:
    ROWS[measure.__name__.replace("_", "-")] = measure
    return measure


def cpu(work: Callable[[], object], repeats: int = 1) -> float:
    """Seconds of this process, the median of some calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return median(times)


def exponent(work: Callable[[int], object], small: int, large: int) -> float:
    """How the time grows from the small size to the large one."""
    return math.log(cpu(lambda: work(large)) / cpu(lambda: work(small), 3), large / small)


# --- made-up data -----------------------------------------------------------------------------------------------


def ratings(n: int) -> Any:
    """Token probabilities: five rows for each item, labels as categoricals."""
    import pandas as pd

    rng, items = np.random.default_rng(1), n // 5
    names = pd.Index([f"i{k:07d}" for k in range(items)], dtype=object)
    frame = {"item": pd.Categorical.from_codes(np.repeat(np.arange(items), 5), names)}
    labels = {"criterion": "quality", "rater": "judge", "prompt": "p1", "scale": "1|2|3|4|5", "method": "logprob"}
    for name, text in (labels | {"run": "r", "status": "ok"}).items():
        frame[name] = pd.Categorical.from_codes(np.zeros(5 * items, np.int8), pd.Index([text], dtype=object))
    shares = rng.dirichlet(np.ones(5), items).ravel()
    numbers = {"temperature": 1.0, "draw": 0, "score": np.tile(np.arange(1.0, 6.0), items), "weight": shares}
    return pd.DataFrame(frame | numbers)


def scores(n: int, rater: str, values: np.ndarray) -> Any:
    import pandas as pd

    names = pd.Index([f"i{k:07d}" for k in range(n)], dtype=object)
    rows = {"item": names, "criterion": "quality", "rater": rater, "score": values}
    return pd.DataFrame(rows).astype(dict.fromkeys(("item", "criterion", "rater"), object))


def levels(n: int, rng: np.random.Generator, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """What items are worth, and five levels that say so with an error."""
    worth = rng.normal(3, 1, n)
    noisy = worth.reshape(-1, *(1 for _ in shape)) + rng.normal(0, 0.7, (n, *shape))
    return worth, np.clip(np.round(noisy), 1, 5)


def pair(n: int, *, continuous: bool = False) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(2)
    worth, people = levels(n, rng)
    judge = worth + rng.normal(0, 0.5, n)
    return judge if continuous else np.clip(np.round(judge), 1, 5), people, design(n)


def design(n: int) -> dict[str, np.ndarray]:
    """Groups of sixteen items, one of each system."""
    return {"groups": np.arange(n) // 16, "systems": np.arange(n) % 16}


# --- the rows ---------------------------------------------------------------------------------------------------


@row
def summarize(by: int) -> list[Row]:
    import calib

    n = 10_000_000 // by
    table = ratings(n)
    calib.summarize(ratings(1000))
    found = [(f"summarize, {n:,} typed rows", cpu(lambda: calib.summarize(table)), 6.0)]

    def counted() -> object:
        code, weight = table["item"].cat.codes.to_numpy(), table["weight"].to_numpy()
        total = np.bincount(code, weight)
        return np.bincount(code, weight * table["score"].to_numpy()) / total

    found.append(("the expectation alone by numpy.bincount, without checks", cpu(counted), None))
    if find_spec("polars"):
        import polars as pl

        frame = pl.from_pandas(table[["item", "score", "weight"]])
        mean = (pl.col("score") * pl.col("weight")).sum() / pl.col("weight").sum()
        found.append(("the same by polars", cpu(lambda: frame.group_by("item").agg(mean)), None))
    return found


def _agreement(n: int, coefficient: str, *, continuous: bool = False) -> object:
    from calib import stats

    x, y, of = pair(n, continuous=continuous)
    return stats.agreement(x, y, coefficient=coefficient, level="item", **of)


@row
def agreement(by: int) -> list[Row]:
    large, small = 100_000 // by, 10_000 // by
    _agreement(200, "spearman")
    found: list[Row] = []
    for name, continuous, limit in (("five levels", False, 2.0), ("continuous scores", True, None)):
        once = partial(_agreement, coefficient="spearman", continuous=continuous)
        title = f"agreement of items, groups and systems, Spearman, {large:,}, {name}"
        found.append((title, cpu(partial(once, large)), limit))
        found.append((f"its exponent from {small:,} to {large:,}", exponent(once, small, large), None))
    return found


@row
def kappa(by: int) -> list[Row]:
    n = 10_000 // by
    _agreement(200, "kappa")
    return [(f"agreement of items, groups and systems, kappa, {n:,}", cpu(lambda: _agreement(n, "kappa"), 3), 0.3)]


@row
def compare(by: int) -> list[Row]:
    from calib import stats

    n = 100_000 // by
    x, y, of = pair(n)
    other = np.roll(x, 1)

    def both(m: int) -> object:
        cut = {name: values[:m] for name, values in of.items()}
        return stats.compare(x[:m], other[:m], y[:m], level="item", rng=1, **cut)

    both(320)
    return [(f"compare of items, groups and systems, {n:,}", cpu(lambda: both(n)), 5.0)]


@row
def interval(by: int) -> list[Row]:
    return _interval(1_000, 15.0) + _interval(1_000_000 // by, 4.0)


def _interval(n: int, limit: float) -> list[Row]:
    import calib
    from calib import stats

    labelled, repeats = max(100, n // 100), 9 if n < 100_000 else 3
    worth, people = levels(n, np.random.default_rng(3))
    judge = worth + 0.3
    table, gold = scores(n, "judge", judge), scores(n, "ann", people).head(labelled)
    array = cpu(lambda: stats.ppi_mean(people[:labelled], judge[:labelled], judge[labelled:]), 11)
    calib.interval(table, gold)
    frames = cpu(lambda: calib.interval(table, gold), repeats)
    made, labels = calib.table.check_scores(table), calib.table.check_scores(gold)
    typed = cpu(lambda: calib.interval(made, labels), repeats)
    found = [(f"interval on arrays, {n:,} items", array, None), (f"interval on a user's frames, {n:,}", frames, None)]
    found += [(f"interval on tables of calib, {n:,}", typed, None)]
    found += [("a user's frames over arrays, times", frames / array, limit)]
    return [*found, ("tables of calib over arrays, times", typed / array, limit)]


@row
def constant(by: int) -> list[Row]:
    del by
    return _constant(100) + _constant(9_000)


def _constant(n: int) -> list[Row]:
    import calib

    worth, people = levels(n, np.random.default_rng(3))
    judge, gold = scores(n, "judge", worth), scores(n, "ann", people)
    found: list[Row] = []
    for verb in (calib.interval, calib.agreement):
        verb(judge, gold)
        found.append((f"{verb.__name__} on a user's frames, {n:,}", cpu(partial(verb, judge, gold), 9), 0.03))
    return found


def _files(by: int, ending: str) -> list[Row]:
    import pandas as pd

    from calib.table import check_ratings, read, write

    n = 1_000_000 // by
    table = check_ratings(ratings(n))
    with tempfile.TemporaryDirectory() as folder:
        write(table.head(100), f"{folder}/first.{ending}")
        read(f"{folder}/first.{ending}", "ratings")
        path = f"{folder}/table.{ending}"
        found = [(f"{ending}, {n:,} rows: write", cpu(lambda: write(table, path)), 5.0)]
        found.append((f"{ending}, {n:,} rows: read and check", cpu(lambda: read(path, "ratings")), 4.0))
        theirs = pd.read_csv if ending == "csv" else lambda path: pd.read_json(path, lines=True)
        found.append((f"pandas alone, {ending}", cpu(lambda: theirs(path)), None))
    return found


@row
def csv(by: int) -> list[Row]:
    return _files(by, "csv")


@row
def jsonl(by: int) -> list[Row]:
    return _files(by, "jsonl")


@row
def convergence(by: int) -> list[Row]:
    from calib import stats

    n, rng = 100_000 // by, np.random.default_rng(4)
    worth, draws = levels(n, rng, 20)
    people = np.clip(np.round(worth), 1, 5)
    stats.convergence(draws[:100], labels=people[:100], rng=1)
    seconds = cpu(lambda: stats.convergence(draws, labels=people, rng=1))
    shuffled = cpu(lambda: [np.random.default_rng(1).permuted(draws, axis=1) for _ in range(20)])
    name = "drawing the 200 subsets alone, by numpy (20 of them, scaled)"
    return [(f"convergence, {n:,} x 20, with people", seconds, 15.0), (name, 10 * shuffled, None)]


@row
def sensitivity(by: int) -> list[Row]:
    import pandas as pd

    import calib
    from calib import stats

    n, rng = 100_000 // by, np.random.default_rng(5)
    _, x = levels(n, rng, 4, 5)
    item, prompt, draw = (place.ravel() for place in np.indices(x.shape))
    names = pd.Index([f"i{k:07d}" for k in range(n)], dtype=object)
    same = {"criterion": "quality", "rater": "judge", "scale": "1|2|3|4|5", "method": "sample", "temperature": 1.0}
    rows = {
        "item": names[item],
        "prompt": pd.Index(list("abcd"), dtype=object)[prompt],
        "draw": draw,
        "score": x.ravel(),
    }
    frame = pd.DataFrame(rows | same)
    table = calib.table.check_ratings(frame)
    stats.g_study(x[:50])
    calib.sensitivity(table.head(200))
    found = [(f"sensitivity on tables, {n:,} x 4 x 5", cpu(lambda: calib.sensitivity(table)), 2.5)]
    found.append(("the same on a user's frame", cpu(lambda: calib.sensitivity(frame)), None))
    return [*found, ("the same on arrays", cpu(lambda: stats.g_study(x)), None)]


@row
def start(by: int) -> list[Row]:
    del by

    def spent(*command: str) -> float:
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *command], check=False, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return median(times)

    first = "from calib import stats; stats.agreement([1, 2, 3, 4], [1, 2, 4, 3])"
    wrong = "from calib.cli import main; main(['--nonsense'])"
    found = [
        ("first use of calib.stats", spent("-c", first), 1.0),
        ("calib with a wrong option", spent("-c", wrong), 0.4),
    ]
    return [*found, ("python that imports numpy", spent("-c", "import numpy"), None)]


@row
def memory(by: int) -> list[Row]:
    """Linux only: the peak of the process over what it held before."""
    import pandas as pd

    import calib

    n = 100_000 // by
    reply = {"choices": [{"message": {"content": "4"}, "logprobs": _logprobs()}], "model": "judge"}
    prompt, judge = calib.geval_prompt("fluency"), calib.Judge("judge", method="logprob", base_url="http://none")

    def rate(m: int) -> object:
        texts = {"source": "A source.", "output": [f"Text {k}." for k in range(m)]}
        items = pd.DataFrame({"item": [f"i{k}" for k in range(m)]} | texts)
        before.append(_megabytes("VmRSS"))
        return calib.rate(items, prompt, judge, complete=lambda _: reply, progress=False)

    before: list[float] = []
    rate(50)
    seconds = cpu(lambda: rate(n))
    peak = _megabytes("VmHWM") - before[-1]
    return [(f"rate without a store, {n:,} items: peak in MB", peak, 300.0), ("its seconds", seconds, None)]


def _logprobs() -> dict[str, Any]:
    top = [{"token": str(k), "logprob": math.log(0.2), "bytes": [48 + k]} for k in range(1, 6)]
    top += [{"token": f"word{k}", "logprob": -20.0 - k, "bytes": None} for k in range(15)]
    return {"content": [{"token": "4", "logprob": math.log(0.2), "bytes": [52], "top_logprobs": top}]}


def _megabytes(name: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


# --- all of them ------------------------------------------------------------------------------------------------


def show(name: str, *, quick: bool) -> None:
    """Print what a process of its own measured."""
    command = [sys.executable, __file__, "--one", name, *(["--quick"] if quick else [])]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"| {name} | failed: {(done.stderr.strip().splitlines() or ['no word'])[-1]} | | |", flush=True)
        return
    for title, value, limit in json.loads(done.stdout.strip().splitlines()[-1]):
        kept = "" if limit is None else "yes" if value <= limit else "**no**"
        print(f"| {title} | {value:.4g} | {'' if limit is None else f'{limit:g}'} | {kept} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], help=f"of {', '.join(ROWS)}; default all")
    parser.add_argument("--quick", action="store_true", help="a tenth of all sizes")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(ROWS[options.one](10 if options.quick else 1)))
        return
    print(f"load average {os.getloadavg()[0]:.1f}\n\n| | CPU seconds | limit | kept |\n| --- | ---: | ---: | --- |")
    for name in options.rows or ROWS:
        show(name, quick=options.quick)


if __name__ == "__main__":
    main()
