"""What must come out on a cluster: two workers of dask and a pool of processes, one of which is killed."""

import gc
import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest_scale import equal
from counted_judge import CALLS, calls, complete, made_items

import calib

# what distributed warns of is its own
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CONCURRENCY = 8
JUDGE = calib.Judge("m", base_url="http://localhost/v1", concurrency=CONCURRENCY)
PROMPT = calib.geval_prompt("fluency")
ITEMS = made_items(400)


@pytest.fixture(autouse=True)
def _what_it_leaves():
    """Sockets and tasks of distributed that are closed as garbage are none of the next test's."""
    yield
    for _ in range(3):
        gc.collect()


@contextmanager
def dask_cluster():
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        yield client, list(client.run(os.getpid).values())


@contextmanager
def process_pool():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        yield pool, list(pool._processes)


CLUSTERS = {"dask": dask_cluster, "processes": process_pool}


@pytest.fixture(autouse=True)
def _counted(tmp_path, monkeypatch):
    monkeypatch.setenv(CALLS, str(tmp_path / "calls"))


@pytest.fixture
def folder(ratings, cut, tmp_path):
    for k, part in enumerate(cut(ratings, 8)):
        calib.table.write(calib.table.check_ratings(part), tmp_path / "ratings" / f"part-{k}.parquet")
    return tmp_path / "ratings"


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_scores_and_interval_are_the_same_whoever_worked(cluster, folder, ratings, items, tmp_path):
    whole = calib.summarize(ratings, items)
    rng = np.random.default_rng(3)
    gold = whole[whole["rater"] == "few"].sample(150, random_state=1).assign(rater="ann", method="human", mass=np.nan)
    gold = gold.assign(score=rng.integers(1, 6, len(gold)).astype(float))
    here = calib.interval(calib.Partitions(calib.summarize(folder, items, out=tmp_path / "a")), gold)
    with CLUSTERS[cluster]() as (executor, _):
        scores = calib.summarize(folder, items, out=tmp_path / "b", executor=executor)
        equal(scores.frame(), whole)
        there = calib.interval(calib.Partitions(scores, executor=executor), gold)
    pd.testing.assert_frame_equal(here.to_frame(), there.to_frame(), check_exact=True)
    one = calib.interval(whole, gold)
    pd.testing.assert_frame_equal(there.to_frame(), one.to_frame(), rtol=1e-12, atol=1e-12)


def killed(processes, after, tmp_path):
    """Kill one of the processes once so many calls have been made."""

    def wait_and_kill():
        end = time.monotonic() + 60
        while calls() < after and time.monotonic() < end:
            time.sleep(0.005)
        os.kill(processes[0], signal.SIGKILL)

    thread = threading.Thread(target=wait_and_kill)
    thread.start()
    return thread


def shards(store, executor, number=None):
    return calib.rate(ITEMS, PROMPT, JUDGE, store=store, shards=number, executor=executor, complete=complete)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_worker_killed_costs_at_most_the_calls_on_their_way(cluster, tmp_path):
    store, dead = tmp_path / "replies", 1
    with CLUSTERS[cluster]() as (executor, processes):
        thread = killed(processes, len(ITEMS) // 3, tmp_path)
        try:
            found = shards(store, executor, 10)
        except BrokenExecutor as error:  # a pool of processes goes down as a whole
            assert cluster == "processes"
            assert "run again with a new executor" in error.__notes__[0]
            assert "replies are kept in" in error.__notes__[1]
            dead, found = 2, None
        thread.join()
    if found is None:
        with process_pool() as (executor, _):
            found = shards(store, executor)
    paid = calls()
    assert len(ITEMS) <= paid <= len(ITEMS) + dead * CONCURRENCY
    table = found.frame()
    assert table["item"].nunique() == len(ITEMS)
    assert (table["status"] != "failed").all()
    for number in (None, 7):  # the same again by this process alone, and cut anew
        equal(shards(store, None, number).frame(), table)
    assert calls() == paid
    equal(table, calib.rate(ITEMS, PROMPT, JUDGE, complete=complete))


@pytest.mark.long
def test_the_memory_of_a_worker_does_not_grow_with_the_parts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "bench"))
    import scale_growth

    monkeypatch.setattr(scale_growth, "PART", 100_000)
    few, many = (scale_growth.measured(n * 100_000, tmp_path / f"{n}", 2)["worker_peak_mb"] for n in (8, 24))
    assert many < 1.25 * few
