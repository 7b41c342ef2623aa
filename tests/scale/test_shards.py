"""Rating in shards: the table of one process, each reply paid for once, and what is refused."""

import json
import shutil
import sqlite3
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from conftest_scale import equal
from counted_judge import CALLS, calls, complete, made_items

import calib
from calib.core.check import ArgumentError
from calib.judge.calls import store as stores

pytestmark = pytest.mark.slow

JUDGE = calib.Judge("m", base_url="http://localhost/v1", concurrency=4)
PROMPT = calib.geval_prompt("fluency")
ITEMS = made_items(60)


@pytest.fixture(autouse=True)
def _counted(tmp_path, monkeypatch):
    monkeypatch.setenv(CALLS, str(tmp_path / "calls"))


def asked(folder, shards=5, items=ITEMS, prompt=PROMPT, judge=JUDGE, **how):
    return calib.rate(items, prompt, judge, store=folder, shards=shards, complete=complete, **how)


def one_table(items=ITEMS, prompt=PROMPT, judge=JUDGE):
    return calib.rate(items, prompt, judge, complete=complete)


def test_shards_give_the_table_of_one_process_and_pay_once(tmp_path):
    whole, n = one_table(), calls()
    found = asked(tmp_path / "s")
    equal(found.frame(), whole)
    assert calls() == 2 * n
    for shards in (5, 3, 8, 5):
        equal(asked(tmp_path / "s", shards).frame(), whole)
    assert calls() == 2 * n
    assert set(whole["run"]) == {"callable:complete@http://localhost/v1|auto:logprob"}
    scores = calib.summarize(found, tmp_path / "s" / "items", out=tmp_path / "scores")
    equal(scores.frame(), calib.summarize(whole, ITEMS))


def test_another_process_does_a_shard_and_nothing_is_asked_again(tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = asked(tmp_path / "s", executor=pool)
    n = calls()
    equal(found.frame(), one_table())
    asked(tmp_path / "s")
    assert calls() == 2 * n


def test_shards_say_together_that_nothing_could_be_read(tmp_path):
    judge = calib.Judge("m", base_url="http://localhost/v1", method="sample", draws=1)

    def prose(request: dict) -> dict:
        return {"choices": [{"message": {"content": "It is good."}, "finish_reason": "stop"}]}

    def rarely(request: dict) -> dict:
        text = "4" if "10 " in str(request["messages"]) else "It is good."
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}

    with pytest.warns(UserWarning, match=f"^no reply could be read: {len(ITEMS)} were") as warned:
        calib.rate(ITEMS, PROMPT, judge, store=tmp_path / "a", shards=5, complete=prose)
    assert len(warned) == 1
    ratings = calib.rate(ITEMS, PROMPT, judge, store=tmp_path / "b", shards=5, complete=rarely).frame()
    assert 0 < (ratings["status"] == "ok").sum() < 5  # some shards have none


def test_items_may_come_in_parts(tmp_path):
    halves = [ITEMS[:23], ITEMS[23:]]
    equal(asked(tmp_path / "s", items=halves).frame(), one_table())


def test_steps_are_written_once_for_all_shards(tmp_path):
    bare = calib.Prompt.from_criteria("politeness", "It is courteous.", inputs=("source", "output"))
    found = asked(tmp_path / "s", prompt=bare)
    assert calls() == 1 + len(ITEMS)
    assert len(found.frame()["prompt"].unique()) == 1
    asked(tmp_path / "s", 3, prompt=bare)
    assert calls() == 1 + len(ITEMS)
    assert json.loads((tmp_path / "s" / "manifest.json").read_text())["steps"] == [["Read it.", "Judge it."]]


def test_what_a_provider_allows_is_divided_by_those_who_ask(tmp_path):
    judge = calib.Judge("m", base_url="http://localhost/v1", requests_per_minute=6e5, tokens_per_minute=1e9)
    with ThreadPoolExecutor(2) as pool:
        asked(tmp_path / "s", executor=pool, judge=judge)
    limits = json.loads((tmp_path / "s" / "manifest.json").read_text())["limits"]
    assert limits == {"requests_per_minute": 3e5, "tokens_per_minute": 5e8, "workers": 2, "max_cost": None}


def test_a_limit_in_dollars_is_of_all_shards_together(tmp_path):
    judge = calib.Judge("m", base_url="http://localhost/v1", price=(1e4, 0.0), concurrency=1)
    with pytest.warns(UserWarning, match="the limit of"):
        some = asked(tmp_path / "s", judge=judge, max_cost=30).frame()  # a call costs 1, as far as can be known 15
    assert 3 < calls() <= 30
    assert some["item"].nunique() == calls()
    equal(asked(tmp_path / "s", judge=judge, max_cost=1e6).frame(), one_table(judge=judge))


def test_a_dry_run_asks_for_nothing(tmp_path):
    plan = asked(tmp_path / "s", dry_run=True)
    assert (plan.calls, plan.stored, calls()) == (60, 0, 0)
    asked(tmp_path / "s")
    again = asked(tmp_path / "s", 3, dry_run=True)
    assert (again.calls, again.stored) == (0, 60)


def test_fewer_items_leave_no_part_of_former_ones(tmp_path):
    asked(tmp_path / "s", 6)
    fewer = asked(tmp_path / "s", 6, items=ITEMS[:2])
    assert set(fewer.frame()["item"]) == {"i0", "i1"}
    assert calls() == len(ITEMS)


def test_a_number_in_a_cell_is_shown_as_in_one_process(tmp_path):
    odd = ITEMS.head(8).assign(source=[1, 2.5, "x", True, [1, 2], np.int64(4), 1e20, "ü\n=1"])
    equal(asked(tmp_path / "s", items=odd).frame(), one_table(odd))


def test_what_is_not_of_this_run_is_refused(tmp_path):
    asked(tmp_path / "s")
    with pytest.raises(ArgumentError, match=r"`store` holds shards of fluency.*give another folder"):
        asked(tmp_path / "s", prompt=calib.geval_prompt("coherence"), items=ITEMS.head(2))
    assert len(calib.Partitions(tmp_path / "s" / "items").frame()) == len(ITEMS)  # as it was
    with pytest.raises(ArgumentError, match=r"`store` holds shards of a run with temperature 1\.0"):
        asked(tmp_path / "s", judge=calib.Judge("m", base_url="http://localhost/v1", temperature=0.5))
    asked(tmp_path / "t", prompt=calib.geval_prompt("coherence"))
    strange = sorted((tmp_path / "t").glob("*.sqlite"))[2]
    shutil.copy(strange, tmp_path / "s" / strange.name)
    with pytest.raises(ArgumentError, match=f"must hold shards of one run, but {strange.name} is of another"):
        asked(tmp_path / "s")


def test_a_folder_is_asked_for_where_there_are_shards(tmp_path):
    with pytest.raises(ArgumentError, match="`store` must be a folder"):
        calib.rate(ITEMS, PROMPT, JUDGE, shards=3, complete=complete)
    (tmp_path / "one.sqlite").write_bytes(b"")
    with pytest.raises(ArgumentError, match=r"one\.sqlite is a file"):
        asked(tmp_path / "one.sqlite")
    with pytest.raises(ArgumentError, match="`workers` must say how many"):
        asked(tmp_path / "s", executor=type("Unknown", (), {"submit": None})())
    with pytest.raises(ArgumentError, match="must not be empty"):
        asked(tmp_path / "s", items=[ITEMS[:0]])


# --- network disks ------------------------------------------------------------------------------------------------


def test_a_store_on_a_network_disk_is_not_in_wal_mode(tmp_path, monkeypatch):
    local = tmp_path / "local.sqlite"
    calib.rate(ITEMS.head(2), PROMPT, JUDGE, store=local, complete=complete)
    monkeypatch.setattr(stores, "network_disk", lambda _: "nfs4")
    with pytest.raises(ArgumentError, match=r"must not be in WAL mode on a network disk.*is on nfs4"):
        calib.rate(ITEMS.head(2), PROMPT, JUDGE, store=local, complete=complete)
    asked(tmp_path / "s", 2)
    for path in (tmp_path / "s").glob("*.sqlite"):
        with sqlite3.connect(path) as held:
            assert held.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_the_kind_of_a_disk_is_that_of_the_deepest_mount(monkeypatch):
    lines = "1 0 0:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /data rw shared:1 - nfs4 host:/a rw\n"
    lines += "3 2 0:3 / /data/on\\040host rw - xfs /dev/b rw\n"
    monkeypatch.setattr(stores.Path, "read_text", lambda *_, **__: lines)
    found = [stores.network_disk(path) for path in ("/data/a.sqlite", "/data/on host/a.sqlite", "/home/a", ":memory:")]
    assert found == ["nfs4", "", "", ""]


@pytest.mark.filterwarnings("ignore")
def test_parts_on_the_command_line(tmp_path, monkeypatch, capsys):
    from calib.cli import main

    monkeypatch.chdir(tmp_path)
    items, people = calib.load_planted()
    calib.table.write(items.head(60), "items.csv")
    some = people[people["item"].isin(items["item"].head(60))]
    calib.table.write(calib.summarize(some, items, pool="rater"), "people.csv")
    for line in (
        "rate items.csv --criterion fluency --model offline --store replies --shards 3",
        "summarize replies/ratings --items replies/items --out scores",
        "interval scores people.csv",
    ):
        with pytest.raises(SystemExit) as done:
            main(line.split())
        assert not done.value.code, capsys.readouterr().err
    assert "from 60 human labels" in capsys.readouterr().out
