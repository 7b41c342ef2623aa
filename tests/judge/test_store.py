"""The store of replies: what is kept stays kept."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given, strategies as st

from calib.core.check import ArgumentError
from calib.judge.calls import store as store_module
from calib.judge.calls.shards import shards_kept
from calib.judge.calls.store import Store
from calib.judge.replies.reply import decode

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
TEXT = st.text(st.characters(exclude_categories=()))  # half characters too


def reply(*texts: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}} for text in texts]}).encode()


def rows(path: object, query: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def texts(store: Store, keys: list[str]) -> dict[str, str]:
    return {key: choice.text for key, choice in store.read(keys)}


def resident() -> float:
    """Megabytes of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux counts a process's memory")
def test_without_a_path_replies_do_not_stay_in_memory(tmp_path):
    with Store(None) as store:
        store.put(["first"], REQUEST, reply("x"))
        before = resident()
        for k in range(64):
            store.put([f"k{k}"], REQUEST, reply(f"{k}" * 500_000))
            store.commit()
        assert resident() - before < 32
        assert len(store) == 65
        store.save(tmp_path / "kept.sqlite")
    with Store(tmp_path / "kept.sqlite") as kept:
        assert kept.get("k63").text == "63" * 500_000


# --- in and out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [None, "runs/deep/replies.sqlite"])
def test_what_is_put_is_got(path, tmp_path):
    with Store(path and tmp_path / path) as store:
        store.put(["a"], REQUEST, reply("4"))
        store.put(["b"], REQUEST, reply("5"))
        assert store.get("a").text == "4"
        assert store.get("b").text == "5"
        assert len(store) == 2
        assert "a" in store
        assert "c" not in store


def test_an_unknown_key_is_a_key_error():
    with Store(None) as store, pytest.raises(KeyError, match="nothing"):
        store.get("nothing")


def test_choices_of_one_reply_are_draws_of_their_own():
    with Store(None) as store:
        store.put(["a", "b", "c"], REQUEST, reply("1", "2", "3"))
        store.put(["d"], REQUEST, reply("4"))
        assert texts(store, ["c", "d", "a", "x"]) == {"a": "1", "c": "3", "d": "4"}
        assert len(store) == 4


def test_choices_that_nobody_asked_for_are_kept_with_the_others_and_not_counted(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.put(["a"], REQUEST, reply("1", "2"))
        assert len(store) == 1
    assert rows(tmp_path / "s.sqlite", "SELECT body FROM replies") == [(reply("1", "2"),)]


@given(st.lists(TEXT, min_size=1, max_size=3), TEXT, st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_reply_comes_back_as_it_was(said, asked, key):
    body = reply(*said)
    keys = [f"{key}{i}" for i in range(len(said))]
    with Store(None) as store:
        store.put(keys, {"content": asked}, body)
        assert [store.get(key) for key in keys] == decode(body).choices
        assert [store.get(key).text for key in keys] == said
        assert store._db.execute("SELECT body FROM replies").fetchall() == [(body,)]


@given(st.lists(TEXT, min_size=1, max_size=3))
def test_the_compact_form_says_the_same(said):
    whole = decode(reply(*said))
    keys = [str(i) for i in range(len(said))]
    with Store(None) as store:
        store.put(keys, {}, whole.pack())
        assert [store.get(key) for key in keys] == whole.choices


@pytest.mark.slow
def test_a_text_of_a_megabyte_with_what_utf8_cannot_hold():
    text = "\ud800\u202e\x00" * 350_000
    with Store(None) as store:
        store.put(["k"], {"messages": [{"content": text}]}, reply(text))
        assert store.get("k").text == text
        (asked,) = store._db.execute("SELECT body FROM requests").fetchone()
        assert json.loads(asked)["messages"][0]["content"] == text


@pytest.mark.slow
def test_keys_are_read_in_the_order_of_arrival_and_once():
    keys = [f"k{i}" for i in range(5000)]
    with Store(None) as store:
        for key in keys[::2]:
            store.put([key], REQUEST, reply(key))
        assert [key for key, _ in store.read(keys[::-1] + keys)] == keys[::2]
        assert all(key == choice.text for key, choice in store.read(keys))
        assert list(store.read([])) == []


def test_the_store_may_change_while_it_is_read():
    with Store(None) as store:
        store.put(["a", "b"], REQUEST, reply("1", "2"))
        for key, _ in store.read(["a", "b"]):
            store.put([key + "+"], REQUEST, reply("3"))
            store.commit()
        assert len(store) == 4


def test_the_first_reply_is_kept():
    with Store(None) as store:
        assert store.put(["k"], REQUEST, reply("first"))
        assert not store.put(["k"], {}, reply("second"))
        assert not store.put(["l", "k"], {}, reply("third", "fourth"))  # one of the two was there
        assert texts(store, ["k", "l"]) == {"k": "first", "l": "third"}
        assert len(store) == 2


# --- the file ---------------------------------------------------------------------------------------------------


def test_the_file_survives(tmp_path):
    path = tmp_path / "replies.sqlite"
    with Store(path) as store:
        store.put(["k"], REQUEST, reply("4"))
        assert repr(store) == f"<Store {path}: 1 replies>"
    assert [file.name for file in tmp_path.iterdir()] == ["replies.sqlite"]
    with Store(path) as store:
        assert texts(store, ["k", "l"]) == {"k": "4"}


def test_request_seed_and_time_are_kept_for_the_record(tmp_path):
    path = tmp_path / "replies.sqlite"
    with Store(path) as store:
        store.put(["k"], REQUEST | {"seed": 7}, reply("4"))
    query = "SELECT requests.body, seed, replies.body, arrived FROM replies JOIN requests ON request = requests.id"
    ((request, seed, body, arrived),) = rows(path, query)
    assert json.loads(request) == REQUEST
    assert seed == 7
    assert body == reply("4")
    assert arrived > 1.6e9


def test_requests_that_differ_in_their_seed_alone_are_kept_once(tmp_path):
    path = tmp_path / "replies.sqlite"
    with Store(path) as store:
        for seed in range(20):
            store.put([str(seed)], REQUEST | {"seed": seed}, reply("4"))
        store.put(["other"], REQUEST | {"model": "n"}, reply("4"))
    assert rows(path, "SELECT count(*) FROM requests") == [(2,)]
    assert rows(path, "SELECT seed FROM replies") == [*((seed,) for seed in range(20)), (None,)]


def test_a_copy_has_everything(tmp_path):
    with Store(None) as store:
        store.put(["k", "l"], REQUEST, reply("4", "5"))
        store.save(tmp_path / "copy.sqlite")  # committed or not
    with Store(tmp_path / "copy.sqlite") as copy:
        assert texts(copy, ["k", "l"]) == {"k": "4", "l": "5"}


# --- others at the same time ------------------------------------------------------------------------------------


def test_two_handles_on_one_file_see_each_other(tmp_path):
    path = tmp_path / "replies.sqlite"
    with Store(path) as one, Store(path) as two:
        one.put(["a"], REQUEST, reply("from one"))
        assert "a" not in two
        one.commit()
        assert "a" in two
        two.put(["b"], REQUEST, reply("from two"))
        assert not two.put(["a"], REQUEST, reply("too late"))
        two.commit()
        assert texts(one, ["a", "b"]) == texts(two, ["a", "b"]) == {"a": "from one", "b": "from two"}


def test_two_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "replies.sqlite"

    def write(name: str) -> None:
        with Store(path) as store:
            for i in range(100):
                store.put([f"{name}{i}"], REQUEST, reply(name))
                if i % 3 == 0:
                    store.commit()

    with Store(path) as store:
        threads = [Thread(target=write, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store) == 200


@pytest.mark.slow
def test_many_may_open_a_new_file_at_once(tmp_path):
    def open_it(path: object) -> None:
        start.wait()
        try:
            with Store(path) as store:
                store.put([os.urandom(4).hex()], REQUEST, reply("4"))
        except ValueError as error:
            errors.append(error)

    errors: list[ValueError] = []
    for round_ in range(15):
        start = Barrier(8)
        path = tmp_path / f"{round_}.sqlite"
        threads = [Thread(target=open_it, args=(path,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with Store(path) as store:
            assert len(store) == 8
    assert not errors


def test_what_was_committed_outlives_a_killed_process(tmp_path):
    path = tmp_path / "replies.sqlite"
    code = (
        "import os, sys; from calib.judge.calls.store import Store; store = Store(sys.argv[1])\n"
        "body = b'{\"choices\": [{}]}'\n"
        "for i in range(5): store.put([str(i)], {}, body)\n"
        "store.commit(); store.put(['late'], {}, body); os._exit(9)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False, timeout=300)
    assert done.returncode == 9
    with Store(path) as store:
        assert [key in store for key in "01234"] == [True] * 5
        assert "late" not in store


# --- who asks for what ------------------------------------------------------------------------------------------


def test_numbered_places_of_a_statement_have_names():
    """With a sequence for them Python 3.12 warns and 3.14 ends."""
    statements = [value for name, value in vars(store_module).items() if name.isupper() and isinstance(value, str)]
    assert [one for one in statements if re.search(r"\?\d", one)] == []


@pytest.mark.slow
def test_what_one_run_claims_no_other_asks_for_until_it_lets_go(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_LAPSE", 600.0)
    with Store(tmp_path / "s.sqlite") as one, Store(tmp_path / "s.sqlite") as two:
        for store in (one, two):
            store.beat()
        assert one.claim(["a", "b"])
        assert one.claim(["b"])  # its own, again
        one.commit()
        assert not two.claim(["a"])
        assert not two.claim(["c", "b"])
        two.commit()
        assert one.claim(["c"])  # all or none
        one.release(["b", "c"])
        one.put(["a"], REQUEST, reply("4"))
        one.commit()
        assert two.claim(["b", "c"])
        assert not two.claim(["a"])  # it is there
        two.commit()
        one.release(["b"])  # no longer its own
        one.commit()
        assert not one.claim(["b"])


def test_while_a_claim_is_not_written_nobody_else_can_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_PATIENCE", 0.05)
    with Store(tmp_path / "s.sqlite") as one, Store(tmp_path / "s.sqlite") as two:
        assert one.claim(["a"])
        with pytest.raises(sqlite3.OperationalError, match="must not be locked"):
            two.claim(["a"])


def test_a_run_that_ends_lets_go(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_LAPSE", 600.0)
    with Store(tmp_path / "s.sqlite") as two:
        two.beat()
        with Store(tmp_path / "s.sqlite") as one:
            one.beat()
            assert one.claim(["a"])
            one.commit()
            assert not two.claim(["a"])
            two.commit()
        assert two.claim(["a"])
        two.commit()
    for table in ("claims", "runs"):
        assert rows(tmp_path / "s.sqlite", f"SELECT * FROM {table}") == []


@pytest.mark.slow
def test_a_run_that_died_holds_its_claims_for_a_while(tmp_path, monkeypatch):
    path = tmp_path / "s.sqlite"
    code = (
        "import os, sys; from calib.judge.calls.store import Store; store = Store(sys.argv[1])\n"
        "store.beat(); assert store.claim(['a', 'b']); store.commit(); os._exit(9)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False, timeout=300)
    monkeypatch.setattr(store_module, "_LAPSE", 600.0)
    with Store(path) as store:
        store.beat()
        assert not store.claim(["a"])
        monkeypatch.setattr(store_module, "_LAPSE", 0.0)
        assert store.claim(["a"])
        store.commit()
    assert rows(path, "SELECT * FROM claims") == []  # that of `b` too


def test_in_memory_there_is_nobody_to_claim_from():
    with Store(None) as store:
        assert store.claim(["a"])
        store.release(["a"])
        assert not store._db.in_transaction


def test_a_store_of_an_earlier_version_is_a_store(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.put(["k"], REQUEST, reply("4"))
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DROP TABLE claims; DROP TABLE runs;")
    with Store(path) as store:
        store.beat()
        assert store.claim(["l"])
        assert texts(store, ["k"]) == {"k": "4"}


# --- locked, closed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_store_says_which_and_what_to_do(tmp_path, monkeypatch, lock):
    path = tmp_path / "s.sqlite"
    Store(path).__exit__()
    monkeypatch.setattr(store_module, "_PATIENCE", 0.05)
    rule = f"{path} must not be locked by another program, but was for 0.05 s (a database browser, "
    with Store(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        for work in (lambda: store.put(["k"], REQUEST, reply("4")), lambda: store.claim(["k"]), store.beat):
            with pytest.raises(sqlite3.OperationalError, match=re.escape(rule)):
                work()
        said = f"`store` must not be locked by another program, but {path} was for 0.05 s ("
        with pytest.raises(ArgumentError, match=re.escape(said)):
            Store(path)
        other.execute("COMMIT")
        assert store.put(["k"], REQUEST, reply("4"))


def test_a_closed_store_says_so(tmp_path):
    for path in (None, tmp_path / "s\x1b[2J.sqlite"):
        with Store(path) as store:
            store.put(["k"], REQUEST, reply("4"))
        name = "in memory" if path is None else str(tmp_path / r"s\x1b[2J.sqlite")
        assert repr(store) == f"<Store {name}: closed>"


# --- what is no store -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["text", "a table of that name", "another program's tables", "a folder"])
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path, other):
    path = tmp_path / "other.sqlite"
    if other == "text":
        path.write_text("item,score\n" * 100)
    elif other == "a folder":
        path.mkdir()
    else:
        name = "replies" if other == "a table of that name" else "users"
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"CREATE TABLE {name} (key TEXT, answer TEXT)")
    before = None if path.is_dir() else path.read_bytes()
    with pytest.raises(ValueError, match=rf"`store` must be a (new )?file (or a|that can) .*, but {path} is not: "):
        Store(path)
    assert before is None or path.read_bytes() == before


def test_an_empty_file_is_a_new_one(tmp_path):
    (tmp_path / "s.sqlite").touch()
    with Store(tmp_path / "s.sqlite") as store:
        assert len(store) == 0


# --- what was a store, or cannot be one ---------------------------------------------------------------------------


def test_a_table_of_the_same_name_is_left_alone(tmp_path):
    path = tmp_path / "mine.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE draws (lottery TEXT)")
    with pytest.raises(ArgumentError, match=r"must be a new file or a store of calib, .*no such column: key"):
        Store(path)
    assert rows(path, "SELECT name FROM sqlite_master") == [("draws",)]


@pytest.mark.parametrize("damage", ["DELETE FROM replies", "UPDATE replies SET body = x'93'"])
def test_a_damaged_reply_says_where_it_is(tmp_path, damage):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.put(["a"], REQUEST, reply("4"))
    with closing(sqlite3.connect(path)) as db:
        db.execute(damage)
        db.commit()
    with Store(path) as store, pytest.raises(sqlite3.DatabaseError, match=r"reply 1 in .*s\.sqlite cannot be read"):
        store.get("a")


def test_the_name_that_sqlite_has_for_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store(":memory:") as store:
        assert store.path is None
    assert not [*tmp_path.iterdir()]


FULL = """
import resource, signal, sys, pandas as pd, calib
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
items = pd.DataFrame({"item": [str(k) for k in range(5000)], "output": [f"{k} " * 50 for k in range(5000)]})
prompt = calib.Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    calib.rate(items, prompt, calib.Judge("offline", method="logprob"), store=sys.argv[1], progress=False)
except Exception as error:
    print(type(error).__name__, *error.__notes__)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="no such limit here")
def test_a_full_disk_leaves_what_was_written_and_says_so(tmp_path):
    path = tmp_path / "s.sqlite"
    run = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True)
    assert run.stdout == f"OperationalError What was written before is kept in {str(path)!r}: run again to go on.\n"
    with Store(path) as store:
        keys = [key for (key,) in rows(path, "SELECT key FROM draws")]
        assert len(dict(store.read(keys))) == len(keys)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (KeyboardInterrupt(), "3 replies are kept in '{}': run again to go on."),
        (BrokenExecutor(), "3 replies are kept in '{}'."),  # the pool says how
    ],
)
def test_a_run_in_shards_that_ends_says_what_all_of_them_keep(tmp_path, error, says):
    for shard, keys in (("shard-000000-of-000002", ["a", "b"]), ("shard-000001-of-000002", ["c"])):
        with Store(tmp_path / f"{shard}.sqlite") as store:
            store.put(keys, REQUEST, reply(*keys))
    with pytest.raises(type(error)) as ended, shards_kept(tmp_path):
        raise error
    assert ended.value.__notes__ == [says.format(tmp_path)]


@pytest.mark.parametrize(("error", "notes"), [(ValueError("v"), []), (SystemExit(2), ["0 replies are kept in"])])
def test_what_ends_a_run_by_itself_has_no_further_note(tmp_path, error, notes):
    with pytest.raises(type(error)) as ended, shards_kept(tmp_path):
        raise error
    assert [note[:21] for note in getattr(ended.value, "__notes__", [])] == notes
