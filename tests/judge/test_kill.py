"""Runs that end before their time: killed ten times, interrupted, and two of them on one store."""

import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from random import SystemRandom

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import calib

sys.path.insert(0, str(Path(__file__).parent))
from mock_server import Running, serve

pytestmark = pytest.mark.slow

N, CONCURRENCY, KILLS = 2000, 32, 10
LATENCY = 0.06  # seconds: all items take 3.8
PROMPT = calib.Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="json", steps=())
ITEMS = pd.DataFrame({"item": [f"i{k}" for k in range(N)], "output": [f"Text {k} says little." for k in range(N)]})

# what a run of its own process does; its last words are the ratings' file
SCRIPT = """
import json, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which tests under nohup ignore
here, url, store, out, judge = sys.argv[1:]
sys.path.insert(0, here)
import test_kill
from calib.judge.calls import run
run._GRACE = 60  # seconds for replies on their way: here they all come, on a busy machine later
test_kill.calib.table.write(test_kill.rated(url, store or None, **json.loads(judge)), out)
"""


def rated(url: str, store: Path | str | None, **judge: object) -> pd.DataFrame:
    options = {"method": "logprob", "concurrency": CONCURRENCY, "timeout": 30} | judge
    return calib.rate(ITEMS, PROMPT, calib.Judge("openai/mock", base_url=url, **options), store=store, progress=False)


def start(server: Running, store: Path | None, out: Path, **judge: object) -> subprocess.Popen:
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", SCRIPT, here, server.base_url, str(store or ""), str(out), json.dumps(judge)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def under_way(server: Running, process: subprocess.Popen, asked: float) -> bool:
    """Wait until the process has asked more often, or has ended."""
    while process.poll() is None:
        if server.stats()["requests"] > asked:
            return True
        time.sleep(0.01)
    return False


def settled(server: Running) -> dict:
    """The counts when nothing is under way."""
    while True:
        before, _, now = server.stats(), time.sleep(1.5 * LATENCY), server.stats()
        # the question itself is one open connection
        if now["open"] == 1 and all(before[name] == now[name] for name in ("requests", "full_replies", "abandoned")):
            return now


def kept(store: Path) -> int:
    """Draws in the store, of which a run that was just begun has none."""
    with closing(sqlite3.connect(store)) as db, suppress(sqlite3.OperationalError):
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return db.execute("SELECT count(*) FROM draws").fetchone()[0]
    return 0


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server():
    with serve(mode="json", latency_ms=LATENCY * 1e3) as running:
        yield running


@pytest.mark.long  # test_run has one process that is killed and goes on
def test_killed_ten_times(server, tmp_path, record_property):
    store, out = tmp_path / "s.sqlite", tmp_path / "ratings.csv"
    moments = sorted(SystemRandom().uniform(0, 0.95 * N) for _ in range(KILLS))  # after so many calls
    repeated, died = [], []
    for begin, end in zip([0.0, *moments], moments, strict=False):
        before, had = server.stats(), kept(store)
        server.hold(before["requests"] + end - begin + CONCURRENCY)  # it does not come to its end before it is killed
        with start(server, store, out) as process:
            assert under_way(server, process, before["requests"] + end - begin)
            process.kill()
        died.append(process.returncode == -signal.SIGKILL)
        after = settled(server)
        paid, asked = after["full_replies"] - before["full_replies"], after["requests"] - before["requests"]
        lost = paid - (kept(store) - had)
        repeated.append(asked - (kept(store) - had))
        assert 0 <= lost <= repeated[-1] <= CONCURRENCY
    server.hold(math.inf)
    figures = {"killed after calls": [*map(round, moments)], "calls made again": repeated}
    print(figures)
    record_property("kills", json.dumps(figures))
    assert all(died)
    assert 0 < kept(store) < N
    resumed = rated(server.base_url, store)
    total = server.stats()
    assert kept(store) == N
    assert total["requests"] == N + sum(repeated)
    assert total["delivered"] == {"distinct": N, "most": total["delivered"]["most"]}
    whole = rated(server.base_url, tmp_path / "whole.sqlite")
    assert_frame_equal(resumed, whole)
    assert server.stats()["requests"] == total["requests"] + N


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.long)])
def test_a_signal_keeps_what_arrived(server, tmp_path, name):
    number = getattr(signal, name)
    store, out = tmp_path / "s.sqlite", tmp_path / "ratings.csv"
    server.hold(0.8 * N)  # it does not come to its end before it is told to stop
    with start(server, store, out) as process:
        assert under_way(server, process, SystemRandom().uniform(0.2, 0.6) * N)
        process.send_signal(number)
        server.hold(math.inf)
        _, stderr = process.communicate(timeout=120)
    *_, before, note = stderr.splitlines() if number == signal.SIGINT else ["", stderr.rstrip()]
    assert process.returncode == (-number if number == signal.SIGINT else 128 + number)
    assert before.endswith("KeyboardInterrupt" * (number == signal.SIGINT))
    assert note == f"{kept(store)} replies are kept in {str(store)!r}: run again to go on."
    assert "Unclosed" not in stderr
    assert "never" not in stderr
    stopped, there = settled(server), kept(store)
    assert 0 < there < N
    print("paid and not kept:", stopped["full_replies"] - there)
    assert stopped["full_replies"] - there <= 4  # on the way from the kernel at that very moment
    assert stopped["requests"] - there <= CONCURRENCY
    resumed = rated(server.base_url, store)
    assert server.stats()["requests"] == stopped["requests"] + N - there
    assert_frame_equal(resumed, rated(server.base_url, None))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_a_run_without_a_store_names_the_file_of_its_replies(server, tmp_path, name, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server.hold(0.8 * N)
    with start(server, None, tmp_path / "ratings.csv") as process:
        assert under_way(server, process, 0.3 * N)
        process.send_signal(getattr(signal, name))
        server.hold(math.inf)
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 128 + getattr(signal, name)
    found = re.fullmatch(r"The (\d+) replies that arrived are kept: give store='(.+)' to go on\.\n", stderr)
    assert kept(Path(found[2])) == int(found[1]) > 0


def test_signals_that_a_program_minds_itself_stay_its_own(server, tmp_path):
    code = "import signal; signal.signal(signal.SIGTERM, lambda *_: print('minded', flush=True))\n" + SCRIPT
    command = [sys.executable, "-c", code, str(Path(__file__).parent), server.base_url, "", str(tmp_path / "r.csv")]
    server.hold(0.5 * N)
    with subprocess.Popen([*command, "{}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert under_way(server, process, 0)
        process.send_signal(signal.SIGTERM)
        server.hold(math.inf)
        assert process.communicate(timeout=120) == ("minded\n", "")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("judge", "processes", "apart"), [({}, 2, 0.7), ({}, 4, 0.0), ({"method": "sample", "draws": 2}, 3, 0.3)], ids=str
)
def test_processes_on_one_store(server, tmp_path, judge, processes, apart):
    """They share the work: nothing is asked for twice."""
    store, outs = tmp_path / "s.sqlite", [tmp_path / f"{k}.csv" for k in range(processes)]
    begun = []
    for out in outs:
        begun.append(start(server, store, out, **judge))
        time.sleep(apart)
    said = [process.communicate(timeout=300)[1] for process in begun]
    assert set(said) == {""}
    total = server.stats()["requests"]
    probes = 0 if not judge else 1  # whether a server gives several choices at once
    resumed = rated(server.base_url, store, **judge)
    assert server.stats()["requests"] == total
    for out in outs:
        assert_frame_equal(calib.table.read(out, "ratings"), resumed)
    assert total == N + probes


@pytest.mark.long
def test_one_of_two_processes_is_killed(server, tmp_path):
    """A dead writer leaves no lock behind."""
    store, outs = tmp_path / "s.sqlite", [tmp_path / "a.csv", tmp_path / "b.csv"]
    server.hold(0.8 * N)
    first, second = (start(server, store, out) for out in outs)
    with first, second:
        assert under_way(server, first, SystemRandom().uniform(0.1, 0.5) * N)
        first.kill()
        server.hold(math.inf)
        assert second.communicate(timeout=300)[1] == ""
    assert second.returncode == 0
    assert kept(store) == N
    assert not outs[0].exists()
    assert_frame_equal(calib.table.read(outs[1], "ratings"), rated(server.base_url, store))


# --- in shards, by processes of the command line -------------------------------------------------------------------


def workers_of(process: subprocess.Popen) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()]


def ended(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux for the workers")
@pytest.mark.parametrize(
    ("whom", "name", "code", "says"),
    [
        ("parent", "SIGKILL", -9, ""),
        ("parent", "SIGTERM", 143, "calib: interrupted. {n} replies are kept in {runs!r}: run again to go on.\n"),
        ("all", "SIGINT", 130, "calib: interrupted. {n} replies are kept in {runs!r}: run again to go on.\n"),
        (
            *("worker", "SIGKILL", 1),
            "calib: A process that worked on a part died (out of memory, or killed): run the same command again. "
            "{n} replies are kept in {runs!r}.\n",
        ),
    ],
)
def test_shards_end_with_whoever_is_killed_and_say_what_is_kept(server, tmp_path, monkeypatch, whom, name, code, says):
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::UserWarning:multiprocessing.resource_tracker")
    runs, number = str(tmp_path / "runs"), getattr(signal, name)
    calib.table.write(ITEMS.assign(source="-"), tmp_path / "items.csv")
    asked = ["--criterion", "fluency", "--model", "openai/mock", "--base-url", server.base_url, "--method", "logprob"]
    command = [sys.executable, "-m", "calib.cli", "rate", str(tmp_path / "items.csv"), *asked, "--store", runs]
    command += ["--shards", "8", "--workers", "3", "--concurrency", "4"]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "start_new_session": True}
    server.hold(0.25 * N)
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert under_way(server, process, 40)
        workers = workers_of(process)
        assert len(workers) == 3
        if whom == "all":
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid if whom == "parent" else workers[0], number)
        server.hold(math.inf)
        stderr = process.communicate(timeout=300)[1]
    while not all(map(ended, workers)):
        assert server.stats()["requests"] < N / 2  # orphans that go on
        time.sleep(0.05)
    stopped = settled(server)
    n = sum(kept(path) for path in Path(runs).glob("shard-*.sqlite"))
    assert process.returncode == code
    assert stderr == says.format(n=n, runs=runs)
    assert stopped["requests"] < N / 2
    assert stopped["requests"] - n <= 3 * 4
