"""What can go wrong on the way to a judge, on 2,000 items each: a status for every item, none lost, none paid twice."""

import sqlite3
import sys
import time
import warnings
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import calib
from calib.judge.calls import client as pace

sys.path.insert(0, str(Path(__file__).parent))
from mock_server import Running, message_key, serve

pytestmark = pytest.mark.slow

N = 2000
OF_ATTEMPT = ("429", "500", "hang", "truncate", "reset", "drop", "garble")
PROMPT = calib.Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="json", steps=())
ITEMS = pd.DataFrame({"item": [f"i{k}" for k in range(N)], "output": [f"Text {k} says little." for k in range(N)]})
# of the server's faults those that are of an item, with the status that they end in
STATUS_OF = {"pempty": "unread", "prefuse": "refused", "pfilter": "refused", "plong": "ok"}
SAMPLES = {"method": "sample", "draws": 3, "seed": 11}


@dataclass
class Rated:
    """A run: its ratings, what the server counted, and what it took."""

    ratings: pd.DataFrame
    stats: dict
    draws: int  # in the store
    seconds: float
    cpu: float

    def statuses(self) -> pd.Series:
        """One for each item: what stands in the way, or ok."""
        ok = self.ratings["status"] == "ok"
        by_item = self.ratings.assign(ok=ok).sort_values("ok", kind="stable").groupby("item", observed=True)
        return by_item["status"].last().astype(str)


def rated(server: Running, store: Path, **judge: object) -> Rated:
    options = {"method": "logprob", "concurrency": 32, "timeout": 60.0} | judge
    before = (time.monotonic(), time.process_time())
    ratings = calib.rate(
        ITEMS, PROMPT, calib.Judge("openai/mock", base_url=server.base_url, **options), store=store, progress=False
    )
    seconds, cpu = time.monotonic() - before[0], time.process_time() - before[1]
    with closing(sqlite3.connect(store)) as db:
        draws = db.execute("SELECT count(*) FROM draws").fetchone()[0]
    return Rated(ratings, server.stats(), draws, seconds, cpu)


def of_items(options: object) -> pd.Series:
    """The status that the server's faults of items lead to: which item has one follows from its messages."""
    expected = {}
    for row in ITEMS.to_dict("records"):
        u, upto = int.from_bytes(message_key(PROMPT.render(row))[8:], "big") / 2**64, 0.0
        for name in ("pempty", "prefuse", "pfilter", "pbig", "plong"):
            upto += getattr(options, name)
            if u < upto:
                expected[row["item"]] = STATUS_OF[name]
                break
    return pd.Series({item: expected.get(item, "ok") for item in ITEMS["item"]}, name="status")


def plain(ratings: pd.DataFrame) -> pd.DataFrame:
    """Without the endpoint, whose port is another one in each run, and with labels as texts."""
    labels = ratings.select_dtypes("category").columns
    return ratings.drop(columns="run").astype(dict.fromkeys(labels.drop("run"), object)).reset_index(drop=True)


def those(ratings: pd.DataFrame, items: pd.Index) -> pd.DataFrame:
    return plain(ratings[ratings["item"].isin(items)])


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Runs without faults, by what the judge is asked."""
    folder = tmp_path_factory.mktemp("clean")

    def run(name: str, **judge: object) -> Rated:
        if name not in known:
            with serve(mode="json") as server:
                known[name] = rated(server, folder / f"{name}.sqlite", **judge)
                assert set(known[name].statuses()) == {"ok"}
        return known[name]

    known: dict[str, Rated] = {}
    return run


@pytest.fixture
def hurry(monkeypatch):
    """Some items fail ten times and more where two of three attempts fail: without half a minute between them."""
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.02)
    monkeypatch.setattr(pace, "_LONGEST_WAIT", 0.1)


@pytest.fixture
def report(record_property, request):
    def tell(run: Rated) -> None:
        figures = {
            "seconds": round(run.seconds, 2),
            "cpu_ms_per_item": round(run.cpu / N * 1e3, 3),
            "requests": run.stats["requests"],
            "faults": run.stats["faults"],
        }
        print(request.node.name, figures)
        for name, value in figures.items():
            record_property(name, value)

    return tell


def check_paid_once(run: Rated, needed: int = N) -> None:
    """As many requests as are needed and as went wrong."""
    wrong = sum(run.stats["faults"].get(name, 0) for name in OF_ATTEMPT)
    assert run.stats["requests"] == needed + wrong
    assert run.stats["delivered"]["most"] <= 1
    assert run.stats["full_replies"] == run.stats["delivered"]["distinct"]
    assert run.stats["abandoned"] == 0


# --- faults of an attempt: asked again, everything is as in a clean run ------------------------------------------

PASSING = {
    "limited": {"p429": 0.5},
    "limited, in whole seconds": {"p429": 0.002, "retry_after": "1"},
    "hangs": {"phang": 0.05},
    "truncated": {"ptruncate": 0.05},
    "reset": {"preset": 0.05},
    "dropped": {"pdrop": 0.05},
    "error 500": {"p500": 0.05},
    "no JSON": {"pgarble": 0.05},
    "10 MB replies": {"plong": 0.015},
}


@pytest.mark.parametrize("faults", PASSING.values(), ids=PASSING)
def test_what_passes_leaves_no_trace(clean, report, tmp_path, faults, patient):
    store = tmp_path / "s.sqlite"
    judge = {"timeout": 0.4} if "phang" in faults else {}
    with serve(mode="json", **faults) as server:
        patient(server)
        run = rated(server, store, **judge)
        again = rated(server, store, **judge)
    report(run)
    assert sum(run.stats["faults"].values()) >= 1
    check_paid_once(run)
    assert run.stats["delivered"]["distinct"] == run.draws == N
    assert_frame_equal(plain(run.ratings), plain(clean("logprob").ratings))
    assert again.stats["requests"] == run.stats["requests"]
    assert_frame_equal(again.ratings, run.ratings)


def test_samples_through_limits_hangs_and_resets(clean, report, tmp_path, hurry, patient):
    store = tmp_path / "s.sqlite"
    judge = SAMPLES | {"timeout": 0.4, "concurrency": 64}
    with serve(mode="json", p429=0.5, phang=0.005, preset=0.05, retry_after="0.02") as server:
        patient(server)
        run = rated(server, store, **judge)
        again = rated(server, store, **judge)
    report(run)
    assert set(run.stats["faults"]) == {"429", "hang", "reset"}
    check_paid_once(run, N + 1)  # the one shows whether several choices of a request differ, and is kept too
    assert run.draws == 3 * N + 16
    assert run.ratings.groupby("item", observed=True).size().tolist() == [3] * N
    assert_frame_equal(plain(run.ratings), plain(clean("sample", **SAMPLES).ratings))
    assert again.stats["requests"] == run.stats["requests"]
    assert_frame_equal(again.ratings, run.ratings)


# --- faults of an item: a status of its own, the others are as in a clean run ------------------------------------

LASTING = {
    "empty": {"pempty": 0.05},
    "refusals": {"prefuse": 0.05},
    "filtered": {"pfilter": 0.05},
    "everything filtered": {"pfilter": 1.0},
    "everything empty": {"pempty": 1.0},
}


@pytest.mark.parametrize("faults", LASTING.values(), ids=LASTING)
def test_what_lasts_has_a_status(clean, report, tmp_path, faults):
    store = tmp_path / "s.sqlite"
    nothing = pytest.warns(UserWarning, match=f"^no reply could be read: {N} were")
    with serve(mode="json", **faults) as server, nothing if 1.0 in faults.values() else nullcontext():
        run = rated(server, store)
        again = rated(server, store)
    report(run)
    check_statuses(run, of_items(server.options), clean("logprob").ratings)
    assert again.stats["requests"] == run.draws == N
    check_paid_once(run)
    assert run.stats["full_replies"] == N - run.stats["faults"].get("filter", 0)
    assert_frame_equal(again.ratings, run.ratings)


def check_statuses(run: Rated, expected: pd.Series, wanted: pd.DataFrame) -> None:
    """Each item has the status that its fault leads to; the others have the ratings of a clean run."""
    statuses = run.statuses()
    assert statuses.to_dict() == expected.to_dict()
    trouble = run.ratings[run.ratings["item"].isin(expected.index[expected != "ok"])]
    assert len(trouble) == (expected != "ok").sum()
    assert trouble["score"].isna().all()
    ok = expected.index[expected == "ok"]
    assert_frame_equal(those(run.ratings, ok), those(wanted, ok))


def test_probabilities_that_end_half_way(clean, report, tmp_path):
    store = tmp_path / "s.sqlite"
    with serve(mode="json", plogprobs_missing_after=N // 2) as server:
        run = rated(server, store)
        again = rated(server, store)
    report(run)
    statuses = run.statuses()
    assert statuses.value_counts().to_dict() == {"ok": N // 2, "no_logprobs": N // 2}
    check_statuses(run, statuses, clean("logprob").ratings)
    check_paid_once(run)
    assert again.stats["requests"] == run.draws == N
    assert_frame_equal(again.ratings, run.ratings)


def test_10_mb_of_text_without_tokens_to_it(report, tmp_path):
    """Tokens that do not spell the message tell nothing about it; the message itself can be read."""
    with serve(mode="json", pbig=0.001) as server:
        run = rated(server, tmp_path / "s.sqlite")
    with serve(mode="json", pbig=0.001) as server:
        drawn = rated(server, tmp_path / "t.sqlite", method="sample", draws=1)
    report(run)
    big = run.stats["faults"]["big"]
    assert big > 1
    assert run.statuses().value_counts().to_dict() == {"ok": N - big, "unread": big}
    assert set(drawn.statuses()) == {"ok"}
    check_paid_once(run)
    check_paid_once(drawn)
    assert run.draws == drawn.draws == N


# --- all at once ------------------------------------------------------------------------------------------------

# few hangs: each holds one of the few calls that are under way where half of all are refused;
# few useless replies: after five of them an item is given up, for they are paid for
OF_ATTEMPTS = {"p429": 0.5, "phang": 0.005, "ptruncate": 0.02, "preset": 0.05, "p500": 0.05}
OF_ITEMS = {"pempty": 0.05, "prefuse": 0.05, "pfilter": 0.05, "plong": 0.005}


def test_everything_at_once(clean, report, tmp_path, hurry, patient):
    store = tmp_path / "s.sqlite"
    judge = {"timeout": 0.5, "concurrency": 64}
    faults = OF_ATTEMPTS | OF_ITEMS | {"plogprobs_missing_after": 2 * N, "retry_after": "0.02"}
    with serve(mode="json", **faults) as server:
        patient(server)
        run = rated(server, store, **judge)
        again = rated(server, store, **judge)
    report(run)
    assert {name[1:] for name in (*OF_ATTEMPTS, *OF_ITEMS)} == set(run.stats["faults"])
    statuses, expected = run.statuses(), of_items(server.options)
    late = statuses == "no_logprobs"
    assert 0 < late.sum() < N / 2
    # an empty reply without probabilities is unread, one with an answer has no probabilities
    assert (expected[late[late].index] == "ok").all()
    expected[late[late].index] = "no_logprobs"
    check_statuses(run, expected, clean("logprob").ratings)
    check_paid_once(run)
    assert run.draws == N
    assert again.stats["requests"] == run.stats["requests"]
    assert_frame_equal(again.ratings, run.ratings)


def test_only_what_failed_is_asked_again(clean, report, tmp_path, hurry):
    store = tmp_path / "s.sqlite"
    with serve(mode="json", p429=0.1, p400=0.05, preset=0.05, **OF_ITEMS) as server:
        with pytest.warns(UserWarning, match="calls failed .*a run with the same store asks again.*HTTP 400"):
            run = rated(server, store)
        report(run)
        failed = (run.statuses() == "failed").sum()
        assert failed == run.stats["faults"]["400"] > 10
        assert run.draws == N - failed
        runs = [run]
        while (runs[-1].statuses() == "failed").any():
            assert len(runs) < 9
            left, lost = (runs[-1].statuses() == "failed").sum(), runs[-1].stats["faults"]["400"]
            runs.append(asked_again(server, store))
            assert (runs[-1].statuses() == "failed").sum() == runs[-1].stats["faults"]["400"] - lost < left
        last = rated(server, store)
    check_statuses(last, of_items(server.options), clean("logprob").ratings)
    check_paid_once(last, N + last.stats["faults"]["400"])
    assert last.draws == N
    assert last.stats["requests"] == runs[-1].stats["requests"]


def asked_again(server: Running, store: Path) -> Rated:
    """A run that says so if items fail again."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = rated(server, store)
    assert len(said) == (run.statuses() == "failed").any()
    return run


def test_a_server_that_goes_down_for_good_ends_the_run(tmp_path, monkeypatch, clock):
    """What arrived is kept, and the next run asks for the rest alone."""

    def wait(self: pace.Pace, errors: list) -> float:
        clock.now += 300
        return 0.01

    monkeypatch.setattr(pace.Pace, "_wait", wait)
    store = tmp_path / "s.sqlite"
    with serve(mode="json", max_replies=N // 3, latency_ms=20) as server, pytest.raises(calib.JudgeError) as caught:
        rated(server, store)
    at_error = int(str(caught.value).split(" replies are kept")[0].rpartition("(")[2])
    with closing(sqlite3.connect(store)) as db:
        kept = db.execute("SELECT count(*) FROM draws").fetchone()[0]
    assert 0 < at_error <= kept <= at_error + 32 < N  # calls under way may have come back while the run ended
    with serve(mode="json", port=server.port) as server:
        run = rated(server, store)
    assert run.stats["requests"] == N - kept
    assert set(run.statuses()) == {"ok"}
