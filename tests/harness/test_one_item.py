"""What is refused, and one item's reading against the table's; needs no harness."""

import json
import math
import subprocess
import sys
import threading
import time

import pytest
from harness_judges import OFFLINE, PROMPT, SAMPLED, SECRET, by_turns, fails, said, unreadable

import calib
from calib.adapters.harness import to_deepeval_metric, to_inspect_scorer, to_opik_metric
from calib.adapters.session import JudgeSession
from calib.judge.calls.client import opened_client

ALL = pytest.mark.parametrize("made", [to_inspect_scorer, to_deepeval_metric, to_opik_metric])
TEXTS = {"source": "The boat sank at noon.", "output": "A boat sank."}


@ALL
def test_pairs_are_refused(made):
    pairwise = calib.Prompt.pairwise("The clearer text.")
    with pytest.raises(ValueError, match=r"`prompt` must ask about one output"):
        made(pairwise, OFFLINE)


@ALL
def test_what_each_item_would_settle_anew_is_refused(made):
    with pytest.raises(ValueError, match=r"`prompt` must have its steps.*calib.write_steps"):
        made(calib.Prompt.from_criteria("clarity", "The text is clear."), OFFLINE)
    with pytest.raises(ValueError, match=r"`judge` must have method='logprob'"):
        made(PROMPT, calib.Judge("openai/gpt-4o-mini"))


@ALL
def test_other_things_than_prompt_and_judge_are_refused(made):
    with pytest.raises(TypeError, match="prompt"):
        made("coherence", OFFLINE)
    with pytest.raises(TypeError, match="judge"):
        made(PROMPT, "offline")


@pytest.mark.slow
def test_the_numbers_are_those_of_the_tables(items, expected):
    read = JudgeSession(PROMPT, OFFLINE, None, None).read
    for row in items.to_dict("records"):
        reading, want = read(row), expected.loc[row["item"]]
        assert reading.score == want["score"]
        assert {name: reading.details[name] for name in ("entropy", "sd", "mass", "low", "high", "n", "n_unread")} == {
            name: want[name] for name in ("entropy", "sd", "mass", "low", "high", "n", "n_unread")
        }
        assert sum(reading.details["distribution"].values()) == pytest.approx(want["mass"])
        assert json.loads(json.dumps(reading.details, allow_nan=False)) == reading.details


def test_draws_that_cannot_be_read_are_counted_and_leave_their_mass_out():
    reading = JudgeSession(PROMPT, SAMPLED, None, by_turns()).read(TEXTS)
    assert (reading.score, reading.details["n"], reading.details["n_unread"]) == (3.0, 2, 1)
    assert reading.details["distribution"] == pytest.approx({"1": 0, "2": 1 / 3, "3": 0, "4": 1 / 3, "5": 0})
    assert reading.details["mass"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(("complete", "status"), [(fails, "failed"), (unreadable, "unread")])
def test_nothing_read_is_no_score_and_holds_no_key(complete, status):
    reading = JudgeSession(PROMPT, SAMPLED, None, complete).read(TEXTS)
    assert math.isnan(reading.score)
    assert reading.details["status"] == status
    assert status in reading.words
    assert SECRET not in str(reading)
    json.dumps(reading.details, allow_nan=False)


def test_an_endpoint_with_a_key_is_in_no_detail():
    judge = calib.Judge("m", method="sample", draws=1, base_url=f"https://me:{SECRET}@host/v1?key={SECRET}")
    assert SECRET not in str(JudgeSession(PROMPT, judge, None, by_turns()).read(TEXTS))


def test_words_of_a_scale_are_its_labels():
    prompt = calib.geval_prompt("fluency", scale="poor=0|fair=1|good=2")
    reading = JudgeSession(prompt, SAMPLED, None, lambda _request: said("good")).read(TEXTS)
    assert reading.details["distribution"] == {"poor": 0.0, "fair": 0.0, "good": 1.0}
    assert reading.score == 2.0


def test_a_column_that_the_sample_lacks_is_named():
    prompt = calib.geval_prompt("fluency", inputs=("reference", "output"))
    with pytest.raises(ValueError, match=r"`prompt` shows 'reference', which this sample does not have"):
        JudgeSession(prompt, OFFLINE, None, None).read(TEXTS)


def test_with_a_store_nothing_is_asked_twice(tmp_path):
    first = JudgeSession(PROMPT, SAMPLED, tmp_path / "replies.sqlite", one := by_turns()).read(TEXTS)
    assert JudgeSession(PROMPT, SAMPLED, tmp_path / "replies.sqlite", one).read(TEXTS) == first


@pytest.mark.parametrize(
    ("made", "package"), [(to_inspect_scorer, "inspect_ai"), (to_deepeval_metric, "deepeval"), (to_opik_metric, "opik")]
)
def test_a_harness_that_is_not_there_is_asked_for(made, package, monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    extra = package.partition("_")[0]
    with pytest.raises(ImportError, match=rf"{package}.*pip install 'calib-judge\[{extra}\]'"):
        made(PROMPT, OFFLINE)


@pytest.mark.slow
def test_no_harness_is_loaded_before_it_is_called():
    code = "import calib.adapters.harness, sys"
    code += "; print({'inspect_ai', 'deepeval', 'opik', 'anyio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "set()"


# --- one session for all items ---------------------------------------------------------------------------------------


def test_items_under_way_share_one_opened_judge_and_are_asked_at_once(monkeypatch):
    import asyncio

    from calib.adapters import session as home

    opened, calls, release = [], [], threading.Event()
    monkeypatch.setattr(home, "opened_client", lambda *a, **k: opened.append(1) or opened_client(*a, **k))

    async def complete(request):
        calls.append(request)
        if len(calls) > 1:  # the first goes alone
            await asyncio.to_thread(release.wait, 30)
        return said("4")

    session = JudgeSession(PROMPT, calib.Judge("m", method="sample", draws=1), None, complete)
    coming = [session.submit(TEXTS) for _ in range(30)]
    for _ in range(1000):
        if len(calls) == 30:
            break
        time.sleep(0.01)
    assert len(calls) == 30, "all that the harness has under way, though the texts are the same"
    release.set()
    assert [one.result().score for one in coming] == [4.0] * 30
    assert len(opened) == 1


def test_a_limit_of_calls_holds_over_all_items():
    import asyncio

    state = {"now": 0, "peak": 0}

    async def complete(request):
        state["now"] += 1
        state["peak"] = max(state["peak"], state["now"])
        await asyncio.sleep(0)
        state["now"] -= 1
        return said("4")

    session = JudgeSession(PROMPT, calib.Judge("m", method="sample", draws=2, concurrency=3), None, complete)
    assert {one.result().score for one in [session.submit(TEXTS) for _ in range(12)]} == {4.0}
    assert state["peak"] <= 3


def test_a_session_that_was_idle_is_opened_anew(monkeypatch, tmp_path):
    from calib.adapters import session as home

    monkeypatch.setattr(home, "_IDLE", 0.0)
    monkeypatch.setattr(home, "_LOOK", 0.01)
    session = JudgeSession(PROMPT, SAMPLED, tmp_path / "replies.sqlite", by_turns())
    first = session.read(TEXTS)
    for _ in range(500):
        if session._loop is None:
            break
        time.sleep(0.01)
    assert session._loop is None
    assert session.read(TEXTS) == first, "from the store"


def test_an_odd_first_item_spoils_no_other_and_a_broken_judge_is_asked_three_times():
    def complete(request):
        calls.append(request)
        if broken or "ODD" in str(request):
            raise ValueError("no")
        return said("4")

    calls, broken = [], False
    judge = calib.Judge("m", method="sample", draws=1)
    session = JudgeSession(PROMPT, judge, None, complete)
    coming = [session.submit(TEXTS | {"output": text}) for text in ("ODD", *"abcdef")]
    assert [one.result().details["status"] for one in coming] == ["failed", *["ok"] * 6]
    calls.clear()
    broken = True
    session = JudgeSession(PROMPT, judge, None, complete)
    coming = [session.submit(TEXTS) for _ in range(20)]
    assert {one.result().details["status"] for one in coming} == {"failed"}
    assert len(calls) == 3


def test_a_judge_that_cannot_be_opened_is_a_failed_reading(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    judge = calib.Judge("openai/gpt-4o-mini", method="logprob")
    readings = [JudgeSession(PROMPT, judge, None, None).read(TEXTS) for _ in range(2)]
    assert [one.details["status"] for one in readings] == ["failed"] * 2


def test_what_the_run_has_to_say_is_said_once():
    prompt = calib.Prompt.from_criteria("charm", "The text charms.", steps=["Read it.", "Rate its charm."])
    session = JudgeSession(prompt, OFFLINE, None, None)
    with pytest.warns(UserWarning, match="embedded judge says of 'charm'") as said_of_it:
        # the warning is another thread's: that it came at all is seen by its sentence
        assert [session.read(TEXTS).score > 0 for _ in range(3)] == [True] * 3
    assert len(said_of_it) == 1
