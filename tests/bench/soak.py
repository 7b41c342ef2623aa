"""A long run against a judge at which much goes wrong: is anything lost, asked twice or mixed up, does memory grow?

Run: python tests/bench/soak.py [--items 100000] [--minutes 20]. README.md says how to read what it prints. Linux only.
"""

import argparse
import json
import math
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "judge"))

import mock_server

CONCURRENCY = 48
USED = 0.5  # of the calls that may be under way: how many are, where the server refuses some
SAMPLE_EVERY = 3.0  # seconds
MOST_RUNS = 6  # with the same store, until no item is failed
TIMEOUT, DEADLINE = 10.0, 120.0  # seconds
ROW_BYTES = 41  # that a rating takes while it waits for its table: its call, a status, four numbers
OF_ATTEMPT = {
    "p429": 0.002,
    "p500": 0.003,
    "p400": 0.001,  # for good: the item is failed, and a further run asks again
    "phang": 0.0003,
    "ptruncate": 0.003,
    "preset": 0.003,
    "pdrop": 0.003,
    "pgarble": 0.003,
    "pslow": 0.01,
}
OF_ITEM = {"pempty": 0.002, "prefuse": 0.005, "pfilter": 0.002, "pbare": 0.01}
FAULTS = OF_ATTEMPT | OF_ITEM | {"retry_after": "1", "slow_ms": 4000.0}
TEXT = "The council met on Tuesday to discuss the proposed changes to the harbour wall. "


class Sample(NamedTuple):
    """What was seen at a moment."""

    minute: float
    mb: float  # in memory, of the client's process
    replies: int  # that left the server whole


# --- the client, in a process of its own ------------------------------------------------------------------------


def client(url: str, store: str, n: int) -> None:
    """Rate the items until none is failed, and print what came of it."""
    import pandas as pd

    import calib

    rows = {"item": [f"i{k}" for k in range(n)], "output": [f"Item {k}. {TEXT * (1 + k % 5)}" for k in range(n)]}
    items = pd.DataFrame(rows, dtype=object)
    prompt = calib.Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="json", steps=())
    options = {"method": "logprob", "concurrency": CONCURRENCY, "timeout": TIMEOUT, "deadline": DEADLINE}
    judge = calib.Judge("openai/mock", base_url=url, **options)
    print(json.dumps({"mb": memory("self", "VmRSS")}), flush=True)
    for _ in range(MOST_RUNS):
        wall, cpu = time.monotonic(), time.process_time()
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            ratings = calib.rate(items, prompt, judge, store=store, progress=False)
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        statuses = status_of_items(ratings)
        failed = int((statuses == "failed").sum())
        said = {"seconds": wall, "cpu": cpu, "peak_mb": memory("self", "VmHWM"), "rows": len(ratings)}
        said |= {"statuses": statuses.value_counts().to_dict(), "notes": [str(note.message) for note in notes]}
        print(json.dumps(said | {"failed": failed}), flush=True)
        if not failed:
            break
    in_order = list(ratings["item"].astype(str).drop_duplicates()) == list(items["item"])
    together = int((ratings["item"] != ratings["item"].shift()).sum())
    said = {"items": int(ratings["item"].nunique()), "in_order": in_order, "stretches": together}
    print(json.dumps(said | {"wrong": wrong_scores(url, items, prompt, ratings, statuses)}), flush=True)


def status_of_items(ratings):
    """One for each item: what stands in the way, or ok."""
    ok = ratings.assign(ok=ratings["status"] == "ok").sort_values("ok", kind="stable")
    return ok.groupby("item", observed=True)["status"].last().astype(str)


def wrong_scores(url: str, items, prompt, ratings, statuses) -> int:
    """Items whose labels have other probabilities than the server gave: another item's reply was taken."""
    port = int(url.partition("127.0.0.1:")[2].partition("/")[0])
    server = mock_server.Running(port, mock_server.Options())
    truths = server.truth()
    told = ratings[ratings["status"] == "ok"].groupby("item", observed=True)
    found = {item: dict(zip(rows["score"], rows["weight"], strict=True)) for item, rows in told}
    wrong = 0
    for row in items.to_dict("records"):
        if statuses[row["item"]] == "ok":
            truth, shares = truths[mock_server.variant_of(prompt.render(row), len(truths))], found[row["item"]]
            read = sum(shares.values())
            wrong += any(not math.isclose(shares.get(k, 0.0) / read, p, abs_tol=1e-5) for k, p in truth.items())
    return wrong


def memory(process: str, name: str) -> float:
    """Megabytes of a process, as Linux counts them."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


# --- beside it --------------------------------------------------------------------------------------------------


def watched(command: list[str], server: mock_server.Running, most: float) -> tuple[list[dict], list[Sample]]:
    """What a client prints, and what it took meanwhile."""
    samples, begun = list[Sample](), time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            while process.poll() is None and (seconds := time.monotonic() - begun) < most:
                samples.append(sample(process.pid, seconds / 60, server))
                time.sleep(SAMPLE_EVERY)
        finally:
            process.kill()
        lines = process.stdout.read().splitlines()
    return [json.loads(line) for line in lines], samples


def sample(pid: int, minute: float, server: mock_server.Running) -> Sample:
    try:
        return Sample(minute, memory(str(pid), "VmRSS"), server.stats()["full_replies"])
    except (OSError, IndexError):  # it has just ended
        return Sample(minute, math.nan, 0)


def slope(samples: list[Sample]) -> float:
    """Megabytes a minute, by least squares."""
    n = len(samples)
    x, y = sum(one.minute for one in samples) / n, sum(one.mb for one in samples) / n
    spread = sum((one.minute - x) ** 2 for one in samples)
    return sum((one.minute - x) * (one.mb - y) for one in samples) / spread


def in_store(path: str) -> dict:
    """What the store holds in the end."""
    with closing(sqlite3.connect(path)) as db:
        counts = {name: f"SELECT count(*) FROM {name}" for name in ("draws", "replies", "claims", "runs")}
        found = {name: db.execute(sql).fetchone()[0] for name, sql in counts.items()}
        found["sound"] = db.execute("PRAGMA integrity_check").fetchone()[0]
    return found | {"file_mb": round(Path(path).stat().st_size / 2**20)}


def report(n: int, said: list[dict], samples: list[Sample], stats: dict, store: dict) -> list[str]:
    """What came of it, a line each; the first says whether all is as it should be."""
    loaded, *runs, end = said
    first, left = runs[0], runs[-1]["failed"]
    asking = [one for one in samples if n / 2 <= one.replies < 0.98 * n]
    minutes = first["seconds"] / 60
    rows = first["rows"] * ROW_BYTES / 2**20 / minutes
    faults = dict(sorted(stats["faults"].items()))
    calls = stats["requests"]
    lost = n - sum(count for status, count in runs[-1]["statuses"].items() if status != "failed")
    once = end["items"] == end["stretches"] == n and end["in_order"] and stats["delivered"]["most"] == 1
    good = once and not lost and not end["wrong"] and store["draws"] == store["replies"] == n
    cpu = [1000 * run["cpu"] for run in runs]
    return [
        f"{'as it should be' if good else 'NOT AS IT SHOULD BE'}: {n} items, {left} failed, {lost} lost, "
        f"{end['wrong']} with another item's reply; each once, in order: {once}",
        f"calls: {calls} in {len(runs)} runs with one store, {calls - n} more than items; the first took {minutes:.1f} "
        f"minutes ({n / first['seconds']:.1f} items/s); failed after each: {[run['failed'] for run in runs]}",
        f"faults met: {sum(faults.values())} ({', '.join(f'{name} {count}' for name, count in faults.items())})",
        f"items by status: {runs[-1]['statuses']}",
        f"replies that left the server whole more than once: {stats['delivered']['most'] > 1}; store: {store}",
        f"memory: {loaded['mb']:.0f} MB with the items, {asking[0].mb:.0f} half-way, {asking[-1].mb:.0f} at the end of "
        f"the calls, peak {max(one.mb for one in asking):.0f} there and {runs[-1]['peak_mb']:.0f} with the table",
        f"memory, slope over the second half: {slope(asking):+.2f} MB/min, of which {rows:.2f} are the ratings' rows",
        f"CPU of the client: {cpu[0] / 1000:.0f} s in the first run, {cpu[0] / n:.2f} ms an item, "
        f"{cpu[0] / first['seconds'] / 10:.1f} % of a core; {sum(cpu[1:]) / 1000:.1f} s in the others",
        f"notes: {sorted({note for run in runs for note in run['notes']})}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        client(*options.client, options.items)
        return
    most = 60 * (1.5 * options.minutes + 5)
    latency = 60_000 * options.minutes * CONCURRENCY * USED / options.items
    how = {"mode": "json", "latency_ms": round(latency), "bodies": 0, "max_seconds": most + 60}
    with tempfile.TemporaryDirectory() as folder, mock_server.serve(**how, **FAULTS) as server:
        store = str(Path(folder) / "store.sqlite")
        command = [sys.executable, __file__, "--client", server.base_url, store, f"--items={options.items}"]
        said, samples = watched(command, server, most)
        stats = server.stats()
        if len(said) < 3 or "wrong" not in said[-1]:
            raise SystemExit(f"the client did not come to its end: {said[-1:]}, {samples[-1:]}, {stats}")
        for line in report(options.items, said, samples, stats, in_store(store)):
            print(f"- {line}", flush=True)


if __name__ == "__main__":
    main()
