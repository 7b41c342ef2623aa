"""Rating in shards, with items, folders, limits and executors that do not do as they should."""

import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import calib
from calib.table import TableError

pytestmark = pytest.mark.slow

PROMPT = calib.geval_prompt("fluency")
KEY = ["item", "criterion", "rater", "prompt", "run", "draw", "status", "score"]


def answer(log, request, seconds=0.0):
    """A judge that says 2, and writes down each call that is paid."""
    time.sleep(seconds)
    with Path(log).open("a") as file:
        file.write("x\n")
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    return {"choices": [{"message": {"content": "2"}, "finish_reason": "stop"}], "model": "m", "usage": usage}


class Server:
    """As a callable that can be sent to another process."""

    def __init__(self, log, **given):
        self.log, self.given = str(log), given

    def __call__(self, request):
        return answer(self.log, request, **self.given)


def paid(log):
    return len(Path(log).read_text().split()) if Path(log).exists() else 0


def judge(**given):
    asked = {"method": "sample", "draws": 1, "temperature": 1.0, "concurrency": 2, "base_url": "http://x/v1"}
    return calib.Judge("m", **asked | given)


@pytest.fixture(scope="module")
def items():
    return calib.load_planted()[0].head(12).reset_index(drop=True)


def plain(ratings):
    """In an order of their own, as shards have another than the items."""
    plain = ratings.astype(dict.fromkeys([n for n in ratings if ratings[n].dtype.kind not in "fi"], object))
    return plain.sort_values(KEY, kind="stable", ignore_index=True)


def same(items, folder, prompt=PROMPT, asked=None, *, shards=3, **options):
    """Rated in shards as in one go."""
    asked = asked or calib.Judge("offline")
    whole = pd.concat(items, ignore_index=True) if isinstance(items, list) else items
    expected = calib.rate(whole, prompt, asked, progress=False, **options)
    found = calib.rate(items, prompt, asked, store=folder, shards=shards, progress=False, **options)
    pd.testing.assert_frame_equal(plain(found.frame()), plain(expected))


# --- items and prompts -------------------------------------------------------------------------------------------

COLUMNS = {
    "whole": range(12),
    "numbers": [1.0, 2.5] * 6,
    "lists": [["a", 1]] * 12,
    "mappings": [{"a": 1}] * 12,
    "truths": [True, False] * 6,
    "times": pd.Timestamp("2024-01-01"),
}
IDS = ["\x01", "a\nb", "\u65e5", "x" * 3000, "nan", " ", "\x00", "=1", "7", "7.0", "\U0001f600", "None"]


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_that_are_no_texts(items, tmp_path, kind):
    same(items.assign(output=COLUMNS[kind]), tmp_path / "s")


@pytest.mark.parametrize("ids", [IDS, [float(k) for k in range(12)]], ids=["odd", "numbers"])
def test_odd_ids(items, tmp_path, ids):
    same(items.assign(item=list(ids)), tmp_path / "s")


def test_parts_of_other_types(items, tmp_path):
    parts = [items.head(4).assign(output=range(4), item=range(4)), items.iloc[4:8].astype({"output": "category"})]
    same([items.head(0), *parts, items.iloc[8:].assign(output=1.5)[items.columns[::-1]]], tmp_path / "s")


@pytest.mark.parametrize("shards", [1, 50])
def test_any_number_of_shards(items, tmp_path, shards):
    same(items, tmp_path / "s", [PROMPT, calib.geval_prompt("coherence")], shards=shards, replies=True)


@pytest.mark.parametrize("method", ["auto", "sample"])
def test_steps_that_are_still_to_be_written(items, tmp_path, method):
    """They are written once, and the same for all shards."""
    bare = calib.Prompt.from_criteria("politeness", "The answer is courteous.", inputs=("source", "output"))
    asked = calib.Judge("offline", method=method, **({"draws": 2} if method == "sample" else {}))
    same(items.head(5), tmp_path / "s", [bare, PROMPT], asked)


def test_an_item_in_two_parts_is_refused_before_a_call(items, tmp_path):
    log = tmp_path / "log"
    rate = partial(calib.rate, store=tmp_path / "s", shards=3, complete=Server(log), progress=False)
    with pytest.raises(TableError, match="must be unique in all parts, but 'news-harbour/consistency-2' is there"):
        rate([items.head(6), items.iloc[5:]], PROMPT, judge())
    with pytest.raises(TableError, match="all parts must have the same columns"):
        rate([items.head(6), items.iloc[6:].drop(columns="group")], PROMPT, judge())
    with pytest.raises(TableError, match="half characters"):
        texts = {"item": "a", "source": "x", "output": "\ud800"}
        half = pd.DataFrame({name: pd.Series([text], dtype=object) for name, text in texts.items()})
        rate(half, PROMPT, judge())
    assert paid(log) == 0


# --- money, folders ----------------------------------------------------------------------------------------------


def test_a_limit_without_a_price_is_refused(items, tmp_path):
    """As of one table: a limit that cannot be kept would be none."""
    for asked in ({}, {"dry_run": True}):
        with pytest.raises(ValueError, match="`max_cost` needs the price of 'offline'"):
            calib.rate(items, PROMPT, calib.Judge("offline"), store=tmp_path / "s", shards=2, max_cost=1.0, **asked)
    same(items, tmp_path / "s", asked=calib.Judge("offline", price=(1, 1)), max_cost=100.0)


def test_nothing_is_paid_twice_whatever_the_number_of_shards(items, tmp_path):
    log, folder = tmp_path / "log", tmp_path / "s"
    rate = partial(calib.rate, store=folder, complete=Server(log), progress=False)
    expected = plain(rate(items, PROMPT, judge(), shards=4).frame())
    for shards in (4, 7, 1, None, 4):
        pd.testing.assert_frame_equal(plain(rate(items, PROMPT, judge(), shards=shards).frame()), expected)
    assert len(rate(items.head(3), PROMPT, judge(), shards=4).frame()) == 3
    pd.testing.assert_frame_equal(plain(rate(items, PROMPT, judge(), shards=4).frame()), expected)
    (folder / "manifest.json").unlink()
    pd.testing.assert_frame_equal(plain(rate(items, PROMPT, judge(), shards=4).frame()), expected)
    assert paid(log) == len(items)


def test_a_folder_of_another_run_is_refused(items, tmp_path):
    log = tmp_path / "log"
    rate = partial(calib.rate, store=tmp_path / "s", shards=2, complete=Server(log), progress=False)
    rate(items, PROMPT, judge())
    for prompt, asked, rule in (
        (calib.geval_prompt("coherence"), judge(), "holds shards of fluency"),
        ([PROMPT, calib.geval_prompt("coherence")], judge(), "holds shards of fluency"),
        (PROMPT, judge(draws=2), "holds shards of a run with draws 1"),
        (PROMPT, judge(base_url="http://y/v1"), "holds shards of a run with address"),
    ):
        with pytest.raises(ValueError, match=rule):
            rate(items, prompt, asked)
    manifest = tmp_path / "s" / "manifest.json"
    good = manifest.read_text()
    for damaged in (
        "",
        "{",
        "{}",
        "null",
        "[]",
        '{"asked": 1}',
        good[:-20],
        good.replace('"plan": {', '"plan": {"z": 1,'),
    ):
        manifest.write_text(damaged)
        with pytest.raises(ValueError, match=r"must hold the manifest\.json of a run"):
            rate(items, PROMPT, judge())
    assert paid(log) == len(items)


def test_a_damaged_store_is_named(items, tmp_path):
    log, folder = tmp_path / "log", tmp_path / "s"
    rate = partial(calib.rate, store=folder, complete=Server(log), progress=False)
    rate(items, PROMPT, judge(), shards=2)
    (folder / "shard-000001-of-000002.sqlite").write_bytes(b"junk" * 1000)
    for shards in (2, 3):
        with pytest.raises(ValueError, match=r"store of calib, but .*shard-000001-of-000002\.sqlite is not"):
            rate(items, PROMPT, judge(), shards=shards)


# --- executors ---------------------------------------------------------------------------------------------------


def test_what_is_no_executor_is_refused_before_a_call(items, tmp_path):
    log = tmp_path / "log"
    for workers in (None, 2):
        with pytest.raises(ValueError, match="`executor` must have the `submit` of"):
            calib.rate(items, PROMPT, judge(), store=tmp_path / "s", executor=4, workers=workers, complete=Server(log))
    assert paid(log) == 0


def test_an_executor_that_is_closed_loses_nothing(items, tmp_path):
    log, pool = tmp_path / "log", ThreadPoolExecutor(2)
    pool.shutdown()
    rate = partial(calib.rate, store=tmp_path / "s", shards=3, complete=Server(log), progress=False)
    with pytest.raises(RuntimeError, match="after shutdown"):
        rate(items, PROMPT, judge(), executor=pool)
    rate(items, PROMPT, judge())
    assert paid(log) == len(items)


def test_a_function_that_cannot_be_sent_is_refused(items, tmp_path):
    log = tmp_path / "log"

    def complete(request):
        return answer(log, request)

    rate = partial(calib.rate, store=tmp_path / "s", shards=3, complete=complete, progress=False)
    with ProcessPoolExecutor(2) as pool, pytest.raises((AttributeError, TypeError), match="pickle"):
        rate(items, PROMPT, judge(), executor=pool)
    assert len(rate(items, PROMPT, judge()).frame()) == paid(log) == len(items)


@pytest.mark.parametrize("threads", [0, 2])
def test_an_interrupt_loses_nothing(items, tmp_path, threads):
    def complete(request):
        said = server(request)
        if paid(log) >= 4 and not stopped:
            stopped.append(request)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return said

    log, stopped = tmp_path / "log", []
    server = Server(log, seconds=0.1)
    rate = partial(calib.rate, store=tmp_path / "s", shards=4, complete=complete, progress=False)
    pool = ThreadPoolExecutor(threads) if threads else None
    with pytest.raises(KeyboardInterrupt):
        rate(items, PROMPT, judge(), executor=pool)
    if pool:
        pool.shutdown()
    before = paid(log)
    found = rate(items, PROMPT, judge()).frame()
    assert 0 < before <= len(items)
    assert sorted(found["item"]) == sorted(items["item"])
    assert paid(log) <= len(items) + max(threads, 1) * judge().concurrency
