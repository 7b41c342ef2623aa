"""How work on partitions grows: ratings in a folder, summarised by two workers of dask, an interval per system of it.

    python tests/bench/scale_growth.py --rows 1e3 1e5 1e7 --folder /tmp/growth

Each rating is a token probability of a made-up judge, five to an item, 16 systems, groups of 16 items. Printed for each
number of rows: CPU seconds of all processes, and the peak memory of a worker and of the process that asks. With
`--picture` the growth is drawn on logarithmic axes from the lines that were printed before (`--figures`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd

import calib

PART = 500_000  # rows
LEVELS = 5
SYSTEMS = 16
GOLD = 2_000


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--rows", type=float, nargs="*", default=[1e3, 1e4, 1e5, 1e6])
    asked.add_argument("--folder", type=Path, default=Path("growth"))
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--figures", type=Path, help="a file of JSON lines that is added to, or drawn")
    asked.add_argument("--picture", type=Path)
    given = asked.parse_args()
    for rows in map(int, given.rows):
        line = measured(rows, given.folder / f"{rows:.0e}", given.workers)
        print(json.dumps(line), flush=True)
        if given.figures:
            with given.figures.open("a") as file:
                file.write(json.dumps(line) + "\n")
    if given.picture:
        draw([json.loads(line) for line in given.figures.read_text().splitlines()], given.picture)


def measured(rows: int, folder: Path, workers: int) -> dict[str, float]:
    """One size: the folder is made, worked on, and removed."""
    import dask
    from distributed import Client, LocalCluster

    # as dask has it a worker gives memory back after each array, and takes it anew: twice the CPU
    for name in ("TRIM", "MMAP"):
        dask.config.set({f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 1 << 28})
    gold = made(rows, folder)
    line: dict[str, float] = {"rows": rows, "parts": -(-rows // PART), "workers": workers}
    how = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        client.run(warm)
        client.run(forget)
        forget()
        line["worker_before_mb"] = max(client.run(peak).values())
        for name, work in {
            "summarize": lambda: calib.summarize(
                folder / "ratings", folder / "items", out=folder / "scores", executor=client
            ),
            "interval": lambda: calib.interval(
                calib.Partitions(folder / "scores", executor=client), gold, by="system", min_labels=5
            ),
        }.items():
            before, wall = sum(client.run(time.process_time).values()) + time.process_time(), time.monotonic()
            found = work()
            after = sum(client.run(time.process_time).values()) + time.process_time()
            line[f"{name}_cpu_s"], line[f"{name}_wall_s"] = round(after - before, 2), round(time.monotonic() - wall, 1)
        line["worker_peak_mb"], line["asking_peak_mb"] = max(client.run(peak).values()), peak()
        line["results"] = len(found)
    shutil.rmtree(folder)
    return line


def warm() -> None:
    """What is loaded once does not count."""
    tiny = pd.DataFrame({"item": ["a", "b"], "criterion": "c", "rater": "r", "score": [1.0, 2.0]})
    calib.table.write(calib.summarize(tiny), f"/tmp/warm-{os.getpid()}.parquet")


def peak() -> float:
    """The most memory that this process has held since `forget`, in MB; `getrusage` would count its parent's, too."""
    held = Path("/proc/self/status").read_text()
    return round(int(held.partition("VmHWM:")[2].split()[0]) / 1024, 0)


def forget() -> None:
    """Begin anew to look for the most memory held."""
    Path("/proc/self/clear_refs").write_text("5")


def made(rows: int, folder: Path) -> pd.DataFrame:
    """Ratings and items in parts, no item in two of them; labels of some items of the first parts."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("ratings", "items"):
        (folder / name).mkdir(parents=True)
    rng, labels = np.random.default_rng(1), []
    parts = -(-rows // PART)
    for part in range(parts):
        number = np.arange(min(PART, rows - part * PART) // LEVELS) + part * (PART // LEVELS)
        ratings, items, label = one_part(number, rng)
        ratings.to_parquet(folder / "ratings" / f"part-{part:05d}.parquet", index=False)
        items.to_parquet(folder / "items" / f"part-{part:05d}.parquet", index=False)
        share = min(len(label), -(-min(GOLD, rows // LEVELS) // parts))
        labels.append(label.iloc[rng.permutation(len(label))[:share]])
    return calib.table.check_scores(pd.concat(labels, ignore_index=True))


def one_part(number: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    names = np.array([f"item-{k}" for k in number], dtype=object)
    n, order = len(number), np.argsort(names)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    true = rng.normal(3.2, 0.8, n)
    weight = np.exp(-((np.arange(1, 6) - (true + rng.normal(0, 0.4, n))[:, None]) ** 2))
    weight *= 0.95 / weight.sum(axis=1, keepdims=True)
    item = pd.Categorical.from_codes(np.repeat(place, LEVELS), categories=pd.Index(names[order], dtype=object))
    same = {"criterion": "coherence", "rater": "judge", "prompt": "p", "scale": "1|2|3|4|5", "method": "logprob"}
    ratings = pd.DataFrame({"item": item, "score": np.tile(np.arange(1.0, 6.0), n), "weight": weight.ravel()})
    ratings = ratings.assign(
        **{k: pd.Categorical.from_codes(np.zeros(len(ratings), int), [v]) for k, v in same.items()}
    )
    design = {
        "group": np.char.add("d", (number // SYSTEMS).astype(str)),
        "system": np.char.add("s", (number % SYSTEMS).astype(str)),
    }
    items = pd.DataFrame({"item": names} | {name: pd.Categorical(values) for name, values in design.items()})
    people = items.assign(criterion="coherence", rater="people", scale=same["scale"], score=np.clip(true.round(), 1, 5))
    return ratings, items, people


def draw(lines: list[dict[str, float]], path: Path) -> None:
    import matplotlib.pyplot as plt

    rows = [line["rows"] for line in lines]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, label in (("summarize", "summarize"), ("interval", "interval by system")):
        left.loglog(rows, [line[f"{name}_cpu_s"] for line in lines], "o-", label=label)
    left.set(xlabel="rating rows", ylabel="CPU seconds, all processes")
    for name, label in (("worker_peak_mb", "a worker"), ("asking_peak_mb", "the process that asks")):
        right.loglog(rows, [line[name] for line in lines], "o-", label=label)
    right.set(xlabel="rating rows", ylabel="peak memory, MB", ylim=(100, 3000))
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
