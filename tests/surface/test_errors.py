"""What errors say of names and texts of others: nothing that steers a terminal or turns the reading order."""

import pickle
import traceback
import warnings

import pandas as pd
import pytest

import calib
from calib import stats, table
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.judge.calls import client
from calib.judge.calls.transport import RejectedError

EVIL = "\x1b[31m\x07\r\n\u202e\x9b2J\u2028\u200b"
PROMPT = calib.geval_prompt("fluency")
ITEMS = pd.DataFrame({"item": [f"a{EVIL}", "b"], "source": "s", "output": "o"})


def scores(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"item": list("abc"), "criterion": "c", "rater": "r", "score": [1.0, 2.0, 3.0]} | columns)


def raising(error: Exception):
    async def complete(request: dict) -> bytes:
        raise error

    return complete


async def garbled(request: dict) -> bytes:
    return b"<html>" + EVIL.encode()


def rated(complete=None, items=ITEMS, prompt=PROMPT, **judge: object) -> pd.DataFrame:
    judge = {"model": "offline"} | judge
    return calib.rate(items, prompt, calib.Judge(**judge), complete=complete, progress=False)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(client, "_FIRST_WAIT", 0.002)


@pytest.fixture
def folder(tmp_path):
    """A folder whose name every message about a file in it holds."""
    made = tmp_path / f"a{EVIL}b"
    made.mkdir()
    return made


FILES = {
    "empty.csv": b"", "twice.csv": f'"a{EVIL}","a{EVIL}"\r\n1,2\r\n'.encode(), "ragged.csv": b"a,b\n1\n",
    "quotes.csv": b'a,b\n"x"y,1\n', "bytes.csv": b"\xff\xfe", "cut.jsonl": b'{"a":\n',
    "list.jsonl": f'["\u202e"]{EVIL}'.encode(), "none.parquet": b"x", f"t{EVIL}.xlsx": b"",
}  # fmt: skip


@pytest.mark.parametrize("name", FILES, ids=range(len(FILES)))
def test_of_files(folder, name):
    (folder / name).write_bytes(FILES[name])
    harmless(lambda: table.read(folder / name, "items"))


def test_of_a_store_of_recorded_replies_and_of_data(folder, monkeypatch):
    (folder / "s.sqlite").write_bytes(b"none" * 100)
    harmless(lambda: calib.rate(ITEMS, PROMPT, calib.Judge("offline"), store=folder / "s.sqlite"))
    replies = folder / "r.jsonl"
    replies.write_text('{"custom_id": "z\u202e\u009b", "choices": []}\n', encoding="utf-8")
    harmless(lambda: calib.from_jsonl(replies, ITEMS, PROMPT, calib.Judge("offline")))
    monkeypatch.setenv("CALIB_DATA", EVIL)
    harmless(calib.load_summeval)


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        lambda: table.read("x.csv", EVIL),
        lambda: table.check_scores(pd.DataFrame({EVIL: [1]})),
        lambda: table.check_scores(pd.DataFrame([[1, 2]], columns=[EVIL, EVIL])),
        lambda: table.check_items(pd.DataFrame({"item": [EVIL] * 2})),
        lambda: table.check_scores(scores(score=["1", EVIL, "3"])),
        lambda: table.check_scores(scores(scale=EVIL)),
        lambda: table.check_scores(scores(method=EVIL)),
        lambda: table.check_scores(scores(item=EVIL)),
        lambda: calib.agreement(scores(), scores(rater="q"), level=EVIL),
        lambda: calib.agreement(scores(criterion=EVIL), scores(rater="q")),
        lambda: calib.agreement(scores(rater=EVIL), scores(rater=EVIL)),
        lambda: calib.agreement(scores(item=[EVIL, EVIL + "1", EVIL + "2"]), scores(rater="q")),
        lambda: calib.agreement(pd.concat([scores(rater=EVIL), scores(rater=EVIL + "2")]), scores(rater="q")).one(),
        lambda: calib.interval(scores(rater=EVIL), scores(rater="q")),
        lambda: calib.interval(scores(), scores(rater="q"), by=EVIL),
        lambda: calib.difference(scores(system=EVIL), scores(rater="q", system=EVIL), EVIL, EVIL + "2"),
        lambda: calib.scores_from(pd.DataFrame({EVIL: [1]}), item=EVIL, score="y" + EVIL, rater="r"),
        lambda: calib.choose(scores(), 2, design="strata", on=EVIL),
        lambda: calib.label([{"item": EVIL, "output": ""}], None, criteria="c", scale="0|1", path="x.html"),
        lambda: calib.label([{EVIL: EVIL, "item": "a"}], None, criteria="c", scale="0|1", path="x.html"),
        lambda: calib.label([{"item": "a", "output": "x"}], [EVIL], criteria="c", scale="0|1", path="x.html"),
        lambda: calib.label([{"item": "a", "output": "x"}], None, criteria=EVIL, scale=EVIL, path="x.html"),
        lambda: calib.label([{"item": "a", "output": "x"}], None, criteria="c", scale=EVIL, path="x.html"),
        lambda: calib.label([{"item": "a", "output": "x"}], None, criteria="c", annotators=[EVIL], path="x.html"),
        lambda: calib.label([{"item": "a", "output": "x"}], None, criteria="c", scale="0|1", path=EVIL),
        lambda: calib.report(["x"], EVIL),
        lambda: calib.geval_prompt(EVIL),
        lambda: calib.Judge("x", method=EVIL),
        lambda: stats.mean_interval([1, 2, 3], groups=EVIL),
        lambda: stats.mean_interval([EVIL, 2, 3]),
        lambda: rated(prompt=calib.Prompt.from_criteria("q", "x", inputs=("z" + EVIL,), steps=())),
        lambda: rated(model="openai/x", base_url=EVIL),
        lambda: rated(raising(RuntimeError(EVIL))),
        lambda: rated(raising(calib.JudgeError(EVIL))),
        lambda: rated(raising(ConnectionError(EVIL))),
        lambda: rated(garbled),
    ],
)
def test_of_names_ids_and_replies(work):
    harmless(work)


def harmless(work) -> None:
    with warnings.catch_warnings(record=True) as warned, pytest.raises((ValueError, RuntimeError)) as caught:
        warnings.simplefilter("always")
        work()
    assert all(str(one.message).isprintable() for one in warned)
    assert str(caught.value).isprintable()
    assert all(line.isprintable() for line in "".join(traceback.format_exception_only(caught.value)).splitlines())


def test_a_warning_of_a_lost_call():
    async def complete(request: dict) -> dict:
        if "second" in str(request["messages"]):
            raise RejectedError(EVIL)
        return {"choices": [{"message": {"content": "4"}}]}

    with pytest.warns(UserWarning, match="1 calls failed") as warned:
        rated(complete, items=ITEMS.assign(output=["first", "second"]), method="sample", draws=1)
    assert all(str(one.message).isprintable() for one in warned)


def test_harmless_texts_stay_as_they_are():
    text = "`item` 'Prüfung 日本 👍 e\u0301': must be {0}, 50 %\\n"
    assert printable(text) == text
    assert printable("a\nb\tc\x9b\ud800\U000e0001") == r"a\nb\tc\x9b\ud800\U000e0001"


def test_an_error_comes_from_another_process_as_it_was():
    error = ArgumentError(EVIL, "must not be {0}", f"got {EVIL}", mentions=(EVIL,), about=EVIL)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert str(again).isprintable()
    assert again.received == error.received == f"got {EVIL}"  # as it came, for a program
