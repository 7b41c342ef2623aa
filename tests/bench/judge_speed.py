"""CPU, speed and memory of a whole `rate()`, beside the least that a client can do: a benchmark, not a test.

Run: python tests/bench/judge_speed.py [--bench BENCH.PY --python PYTHON ...] [--profile]. README.md says more.
"""

import argparse
import contextlib
import gc
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "judge"))

import mock_server

TEXT = "The council met on Tuesday to discuss the proposed changes to the harbour wall. " * 30  # 2.4 kB
SCALE = "0|1|2|3|4|5|6|7|8|9|10"
REASONING = {"json": "json", "digit": "form"}  # of the prompt, by what the server replies
OURS = {"calib": "file", "calib, no file": "memory"}  # by where the store is
RAW_CLIENT = "aiohttp, msgspec"  # the least that any client can do: send, decode, read the expectation, keep nothing
# what a client is imported from; one of these keeps three numbers of each reply
RAW = {"aiohttp-msgspec": "orjson", "aiohttp-sqlite": "orjson"}
HEAVY = {"litellm": "litellm", "deepeval-openai": "deepeval", "deepeval-litellm": "deepeval", "opik": "opik"}
WARM = 20  # items rated before the clock starts, so that what is imported late is there


class Cell(NamedTuple):
    title: str
    mode: str
    latency_ms: int
    concurrency: int
    peers: tuple[str, ...]  # clients of the --bench script


CELLS = {
    "reasoning": Cell("reasoning and top-20 logprobs", "json", 0, 32, (*RAW, *HEAVY)),
    "latency": Cell("the same, from a server that takes 200 ms", "json", 200, 256, (*RAW, *HEAVY)),
    "score": Cell("the score alone", "digit", 0, 32, ("aiohttp-msgspec", "litellm")),
}

# where a sample of the running program belongs: the first of these that is found from the innermost frame outwards
PARTS = {
    "/calib/judge/replies/reply.py": "decode",
    "/calib/judge/replies/extract.py": "extract",
    "/calib/judge/replies/grammar.py": "extract",
    "/calib/judge/calls/store.py": "store",
    "/calib/judge/prompt.py": "render, keys",
    "/calib/judge/judge.py": "render, keys",
    "/calib/table/": "rows, table",
    "/calib/judge/calls/transport.py": "http: calib's side",
    "/calib/judge/calls/": "pace, workers, rows",
    "/aiohttp/": "http: aiohttp",
    "/asyncio/": "http: asyncio",
}
ANYWHERE = {"to_json", "pack"}  # functions that work for the part that calls them


# --- one measurement, in a process of its own -------------------------------------------------------------------


def measure(url: str, mode: str, n: int, concurrency: int, how: str) -> dict:
    """Rate n items; the names are those of the peers' own measurement."""
    import calib

    criterion = {"inputs": ("output",), "steps": ("Read it.",), "scale": SCALE, "reasoning": REASONING[mode]}
    prompt = calib.Prompt.from_criteria("quality", "The text is good.", **criterion)
    judge = calib.Judge("openai/gpt-4o", method="logprob", base_url=url, concurrency=concurrency)
    calib.rate(texts(WARM), prompt, judge, progress=False)
    gc.collect()
    bare = memory("VmRSS")
    items = texts(n)
    gc.collect()
    loaded = memory("VmRSS")
    watched = sampled() if how == "profiled" else contextlib.nullcontext(Counter())
    with tempfile.TemporaryDirectory() as folder, watched as parts:
        store = None if how == "memory" else Path(folder) / "store.sqlite"
        wall, cpu = time.perf_counter(), time.process_time()
        ratings = calib.rate(items, prompt, judge, store=store, progress=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rated = int(ratings.loc[ratings["status"] == "ok", "item"].nunique())
    return {
        "n": n,
        "items_s": n / wall,
        "cpu_ms_item": 1000 * cpu / n,
        "rss_before_mb": bare,
        "rss_peak_mb": memory("VmHWM"),
        "items_mb": loaded - bare,
        "table_mb": ratings.memory_usage(deep=True).sum() / 2**20,
        "parts": dict(parts),
        "errors": n - rated,
    }


def measure_raw(url: str, mode: str, n: int, concurrency: int) -> dict:
    """The same items asked in the same words by a loop around aiohttp, msgspec and nothing else."""
    import asyncio

    asked = iter(range(-WARM, n))
    bare = memory("VmRSS")
    begun = [0.0, 0.0]

    async def work() -> None:
        import aiohttp

        connector = aiohttp.TCPConnector(limit=concurrency)
        async with aiohttp.ClientSession(connector=connector, headers={"content-type": "application/json"}) as session:
            for _ in range(WARM):
                await raw_call(session, url, next(asked))
            begun[:] = time.perf_counter(), time.process_time()
            await asyncio.gather(*(worker(session) for _ in range(concurrency)))

    async def worker(session) -> None:
        for item in asked:
            await raw_call(session, url, item)

    asyncio.run(work())
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    speed = {"n": n, "items_s": n / wall, "cpu_ms_item": 1000 * cpu / n, "errors": 0}
    return speed | {"rss_before_mb": bare, "rss_peak_mb": memory("VmHWM")}


async def raw_call(session, url: str, item: int) -> float:
    """The expectation of one reply, at its last token that is a number."""
    import msgspec

    asked = f"Rate the text from 0 to 10.\n\nItem {item}. {TEXT}"
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": asked}], "temperature": 1.0, "top_p": 1}
    body |= {"logprobs": True, "top_logprobs": 20, "max_tokens": 1024}
    async with session.post(f"{url}/chat/completions", data=msgspec.json.encode(body)) as response:
        reply = raw_decoder().decode(await response.read())
    place = next(one for one in reversed(reply.choices[0].logprobs.content) if one.token.isdecimal())
    shares = {int(one.token): math.exp(one.logprob) for one in place.top_logprobs if one.token.isdecimal()}
    on_scale = {label: p for label, p in shares.items() if label <= 10}
    return sum(label * p for label, p in on_scale.items()) / sum(on_scale.values())


@cache
def raw_decoder():
    import msgspec

    candidate = msgspec.defstruct("Candidate", [("token", str), ("logprob", float)])
    place = msgspec.defstruct("Place", [("token", str), ("top_logprobs", list[candidate])])
    logprobs = msgspec.defstruct("Logprobs", [("content", list[place])])
    choice = msgspec.defstruct("Choice", [("logprobs", logprobs)])
    return msgspec.json.Decoder(msgspec.defstruct("Reply", [("choices", list[choice])]))


def texts(n: int):
    import pandas as pd

    rows = {"item": [f"i{k}" for k in range(n)], "output": [f"Item {k}. {TEXT}" for k in range(n)]}
    return pd.DataFrame(rows, dtype=object)


def memory(name: str) -> float:
    """Megabytes of this process, as Linux counts them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


@contextlib.contextmanager
def sampled():
    """Counts of where the program is, taken every few milliseconds of its CPU time."""
    parts = Counter()
    signal.signal(signal.SIGPROF, lambda _, frame: parts.update([part_of(frame)]))
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    try:
        yield parts
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def part_of(frame) -> str:
    while frame is not None:
        where = frame.f_code.co_filename
        if frame.f_code.co_name not in ANYWHERE:
            for path, part in PARTS.items():
                if path in where:
                    return part
        frame = frame.f_back
    return "other"


# --- all of them ------------------------------------------------------------------------------------------------


def run(command: list[str], folder: str) -> dict:
    """What the last line that a program prints says."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return json.loads(done.stdout.strip().splitlines()[-1])


def calib_cell(cell: Cell, port: int, n: int, folder: str, how: str = "file") -> dict:
    """The measurement of calib by its store ("profiled": in a file, with its parts), or of the "raw" client."""
    given = [f"http://127.0.0.1:{port}/v1", cell.mode, n, cell.concurrency, how]
    return run([sys.executable, __file__, "--one", *map(str, given)], folder)


def peer_cell(client: str, cell: Cell, port: int, n: int, folder: str, options: argparse.Namespace) -> dict | None:
    """A peer's measurement; None where none of the environments has it."""
    needed = (RAW | HEAVY)[client]
    check = f"import importlib.util as u; raise SystemExit(u.find_spec({needed!r}) is None)"
    for python in options.python or [sys.executable]:
        if subprocess.run([python, "-c", check], check=False).returncode == 0:
            settings = {"client": client, "n": n, "conc": cell.concurrency, "port": port, "out": os.devnull}
            return run([python, options.bench, *(f"--{name}={value}" for name, value in settings.items())], folder)
    return None


@contextlib.contextmanager
def judge_server(cell: Cell, bench: str | None):
    """The port of a server: that of the peers' benchmark, which lies beside it, or our own."""
    if bench is None:
        with mock_server.serve(mode=cell.mode, lo=0, hi=10, latency_ms=cell.latency_ms, max_seconds=7200) as server:
            yield server.port
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"port": port, "mode": cell.mode, "latency-ms": cell.latency_ms, "max-seconds": 7200}
    command = [sys.executable, str(Path(bench).with_name("server.py")), *(f"--{k}={v}" for k, v in settings.items())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()  # it listens
            yield port
        finally:
            process.kill()


def beside(cell: Cell, options: argparse.Namespace, folder: str) -> None:
    """Print a table of calib and its peers, who take turns."""
    found: dict[str, list[dict]] = {}
    load = os.getloadavg()[0]
    with judge_server(cell, options.bench) as port:
        for _ in range(options.repeats):
            for name, how in OURS.items():
                found.setdefault(name, []).append(calib_cell(cell, port, options.items, folder, how))
            found.setdefault(RAW_CLIENT, []).append(calib_cell(cell, port, options.items, folder, "raw"))
            for client in cell.peers if options.bench else ():
                n = options.peer_items if client in HEAVY else options.items
                if (one := peer_cell(client, cell, port, n, folder, options)) is not None:
                    found.setdefault(client, []).append(one)
    print(f"\n### {cell.title}: concurrency {cell.concurrency}, latency {cell.latency_ms} ms\n")
    print(f"runs of each, in turn: {options.repeats}; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after\n")
    heads = ("client", "items", "CPU ms/item, median", "least", f"times {RAW_CLIENT}")
    heads += ("items/s, median", "best", f"share of {RAW_CLIENT}", "peak MB")
    rows = []
    for client, runs in found.items():
        cpu, speed = ([one[name] for one in runs] for name in ("cpu_ms_item", "items_s"))
        ratio, share = (beside_raw(found, client, name) for name in ("cpu_ms_item", "items_s"))
        peak = median(one["rss_peak_mb"] - one["rss_before_mb"] for one in runs)
        errors = sum(one["errors"] for one in runs)
        name = client + (f" ({errors} errors)" if errors else "")
        numbers = f"{median(cpu):.3f}", f"{min(cpu):.3f}", f"{ratio:.2f}"
        numbers += f"{median(speed):.0f}", f"{max(speed):.0f}", f"{share:.2f}"
        rows.append((name, runs[0]["n"], *numbers, f"{peak:.0f}"))
    show(heads, rows)
    if options.bench and (absent := [client for client in cell.peers if client not in found]):
        print(f"\nin none of the environments given: {', '.join(absent)}")


def beside_raw(found: dict[str, list[dict]], client: str, name: str) -> float:
    """The median of the ratios to the bare client's runs in the same turn: a busy machine disturbs both."""
    return median(one[name] / raw[name] for one, raw in zip(found[client], found[RAW_CLIENT], strict=True))


def peaks(options: argparse.Namespace, folder: str) -> None:
    """Print what more items need in memory."""
    cell = CELLS["reasoning"]
    print("\n### memory in MB: the peak over the process with its imports, of which the items and the ratings\n")
    rows = []
    with judge_server(cell, options.bench) as port:
        for n in (options.items, 10 * options.items):
            one = calib_cell(cell, port, n, folder)
            peak, items = one["rss_peak_mb"] - one["rss_before_mb"], one["items_mb"]
            sizes = (one["rss_before_mb"], peak, items, one["table_mb"], peak - items - one["table_mb"])
            rows.append((n, *(f"{size:.0f}" for size in sizes)))
    show(("items", "imports", "peak over them", "items given", "ratings", "all else"), rows)


def profile(options: argparse.Namespace, folder: str) -> None:
    """Print where the CPU time goes, by part, in milliseconds for an item."""
    columns = {}
    for cell in (CELLS["reasoning"], CELLS["score"]):
        with judge_server(cell, options.bench) as port:
            one = calib_cell(cell, port, 10 * options.items, folder, "profiled")
        each = one["cpu_ms_item"] / sum(one["parts"].values())
        columns[cell.title] = {part: each * count for part, count in one["parts"].items()} | {"all": one["cpu_ms_item"]}
    print(f"\n### where calib's CPU goes, ms/item ({10 * options.items} items)\n")
    parts = dict.fromkeys([*PARTS.values(), "other", "all"])
    rows = [(part, *(f"{column.get(part, 0):.3f}" for column in columns.values())) for part in parts]
    show(("part", *columns), rows)


def show(heads: tuple, rows: list[tuple]) -> None:
    for row in (heads, ("---",) * len(heads), *rows):
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    named = os.environ.get("CALIB_PEERS_BENCH")
    parser.add_argument("--bench", default=named, help="script that measures one peer (default: $CALIB_PEERS_BENCH)")
    parser.add_argument("--python", action="append", help="interpreter that has peers; may be given several times")
    parser.add_argument("--only", nargs="+", choices=[*CELLS, "memory"], default=[*CELLS, "memory"])
    parser.add_argument("--items", type=int, default=2000, help="that calib and the raw clients rate; memory also x 10")
    parser.add_argument("--peer-items", type=int, default=300, help="that the slow peers rate")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="print where calib's CPU goes as well")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        url, mode, n, concurrency, how = options.one
        asked = url, mode, int(n), int(concurrency)
        print(json.dumps(measure_raw(*asked) if how == "raw" else measure(*asked, how)))
        return
    if find_spec("calib") is None:
        raise SystemExit("calib is not installed for this Python")
    options.bench = options.bench and str(Path(options.bench).resolve())
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            if name == "memory":
                peaks(options, folder)
            else:
                beside(CELLS[name], options, folder)
        if options.profile:
            profile(options, folder)


if __name__ == "__main__":
    main()
