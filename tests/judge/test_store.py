"""The store of replies: what is kept stays kept."""

import json
import os
import sqlite3
import subprocess
import sys
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.judge._store import Store

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def reply(text: str) -> dict:
    return {"choices": [{"message": {"content": text}}]}


@pytest.mark.parametrize("path", [None, "runs/deep/replies.sqlite"])
def test_what_is_put_is_got(path, tmp_path):
    with Store(path and tmp_path / path) as store:
        store.put("a", REQUEST, reply("4"))
        store.put("b", REQUEST, reply("5"))
        assert store.get("a") == reply("4")
        assert store.get("b") == reply("5")
        assert len(store) == 2


def test_an_unknown_key_is_a_key_error():
    with Store(None) as store, pytest.raises(KeyError, match="nothing"):
        store.get("nothing")


@given(st.dictionaries(st.text(), JSON, max_size=4), st.text(alphabet=st.characters(codec="utf-8")))
def test_any_reply_comes_back_as_it_was(body, key):
    with Store(None) as store:
        store.put(key, {"content": "\ud800 \x00"}, body)
        assert store.get(key) == body


def test_a_text_of_a_megabyte_with_what_utf8_cannot_hold():
    text = "\ud800\u202e\x00" * 350_000
    with Store(None) as store:
        store.put("k", reply(text), reply(text))
        assert store.get("k") == reply(text)


def test_missing_keys_come_in_their_order_and_once():
    keys = [f"k{i}" for i in range(1200)]
    with Store(None) as store:
        for key in keys[::2]:
            store.put(key, REQUEST, reply("4"))
        assert store.missing(keys[::-1] + keys) == keys[::-1][::2]
        assert store.missing([]) == []


def test_the_first_reply_is_kept():
    with Store(None) as store:
        store.put("k", REQUEST, reply("first"))
        store.put("k", {}, reply("second"))
        assert store.get("k") == reply("first")
        assert len(store) == 1


def test_the_file_survives(tmp_path):
    path = tmp_path / "replies.sqlite"
    with Store(path) as store:
        store.put("k", REQUEST, reply("4"))
        assert repr(store) == f"<Store {path}: 1 replies>"
    with Store(path) as store:
        assert store.missing(["k", "l"]) == ["l"]
        assert store.get("k") == reply("4")


def test_request_and_time_are_kept_for_the_record(tmp_path):
    path = tmp_path / "replies.sqlite"
    with Store(path) as store:
        store.put("k", REQUEST, {"choices": []})
    db = sqlite3.connect(path)
    request, body, arrived = db.execute(
        "SELECT body, reply, arrived FROM replies JOIN requests ON request = id"
    ).fetchone()
    db.close()
    assert json.loads(request) == REQUEST
    assert body == b'{"choices": []}'
    assert arrived > 1.6e9


def test_two_handles_on_one_file_see_each_other(tmp_path):
    path = tmp_path / "replies.sqlite"
    with Store(path) as one, Store(path) as two:
        one.put("a", REQUEST, reply("from one"))
        two.put("b", REQUEST, reply("from two"))
        two.put("a", REQUEST, reply("too late"))
        assert one.missing(["a", "b"]) == two.missing(["a", "b"]) == []
        assert two.get("a") == reply("from one")
        assert one.get("b") == reply("from two")


def test_two_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "replies.sqlite"

    def write(name: str) -> None:
        with Store(path) as store:
            for i in range(100):
                store.put(f"{name}{i}", REQUEST, reply(name))

    with Store(path) as store:
        threads = [Thread(target=write, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store) == 200


def test_what_was_put_outlives_a_killed_process(tmp_path):
    path = tmp_path / "replies.sqlite"
    code = (
        "import os, sys; from calib.judge._store import Store; store = Store(sys.argv[1])\n"
        "for i in range(5): store.put(str(i), {}, {'choices': []})\n"
        "os._exit(9)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False, timeout=60)
    assert done.returncode == 9
    with Store(path) as store:
        assert store.missing("01234") == []


@pytest.mark.parametrize("other", ["text", "another table"])
def test_a_file_that_is_no_store_is_refused(tmp_path, other):
    path = tmp_path / "other.sqlite"
    if other == "text":
        path.write_text("item,score\n" * 100)
    else:
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE replies (key TEXT, answer TEXT)")
        db.close()
    with pytest.raises(ValueError, match=f"`store` must be a new file or a store of calib, but {path} is not"):
        Store(path)
