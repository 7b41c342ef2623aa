"""The loaders: where files come from, what is refused, and what the sets are known to hold."""

import hashlib
import os
import re
from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pooch
import pytest
import requests
from pandas.testing import assert_frame_equal

from calib import datasets, table
from calib.datasets import DatasetError, registry as files, texts
from calib.datasets.texts import HANNA_CRITERIA, HANNA_JUDGES, TRIVIA_JUDGES

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")

PLAIN, BLOB = b'{"a": 1}', b'[{"b": 2}]'
SHA256, GIT_BLOB = hashlib.sha256(PLAIN).hexdigest(), hashlib.sha1(b"blob 10\0" + BLOB).hexdigest()
OWN = b"put together by hand"
OWN_SHA256 = hashlib.sha256(OWN).hexdigest()
COMMIT = "c" * 40


def registry(sha256=SHA256, git_blob=GIT_BLOB):
    plain = {"path": "data/plain.json", "sha256": sha256}
    blob = {"path": "data/blob.json", "place": "blob.json", "git_blob": git_blob, "own_sha256": OWN_SHA256}
    about = dict.fromkeys(("loader", "title", "licence", "citation"), "")
    return {"toy": {"repository": "someone/toy", "commit": COMMIT, "files": [plain, blob]} | about}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        self.server.requests.append(args)


@pytest.fixture
def remote(tmp_path, monkeypatch):
    """A host of the toy repository on this machine; no folder with data, an empty cache."""
    folder = tmp_path / "host" / "someone" / "toy" / COMMIT / "data"
    folder.mkdir(parents=True)
    (folder / "plain.json").write_bytes(PLAIN)
    (folder / "blob.json").write_bytes(BLOB)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "host"))
    server.requests = []
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("CALIB_DATA", raising=False)
    monkeypatch.setattr(files, "HOST", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setattr(files, "registered_sets", registry)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    yield server
    server.shutdown()
    server.server_close()


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "content"), [("data/plain.json", PLAIN), ("data/blob.json", BLOB)])
def test_a_download_is_verified_and_kept(remote, tmp_path, path, content):
    assert files.read_file("toy", path) == content
    assert (tmp_path / "cache" / "calib" / "toy" / COMMIT / path).read_bytes() == content
    assert files.read_file("toy", path) == content
    assert len(remote.requests) == 1


@pytest.mark.parametrize(("path", "field"), [("data/plain.json", "sha256"), ("data/blob.json", "git_blob")])
def test_a_download_that_is_another_file_is_refused_and_not_kept(remote, tmp_path, monkeypatch, path, field):
    monkeypatch.setattr(files, "registered_sets", lambda: registry(**{field: "0" * 64}))
    with pytest.raises(DatasetError, match="could not be downloaded from") as caught:
        files.read_file("toy", path)
    assert "0" * 64 in str(caught.value)
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]


@pytest.mark.parametrize("kind", [requests.ConnectionError, requests.HTTPError, TimeoutError])
def test_without_a_connection_the_message_says_how_to_provide_the_file(remote, monkeypatch, kind):
    def fail(*args):
        raise kind("no way")

    monkeypatch.setattr(pooch, "HTTPDownloader", lambda progressbar: fail)
    url = f"{files.HOST}/someone/toy/{COMMIT}/data/blob.json"
    message = (
        f"toy: data/blob.json could not be downloaded from {url} ({kind.__name__}: no way). To provide it, set the "
        "environment variable CALIB_DATA to a folder that holds it as toy/blob.json."
    )
    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$") as caught:
        files.read_file("toy", "data/blob.json")
    assert caught.value.__suppress_context__


def test_a_file_in_the_folder_of_calib_data_comes_first(remote, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIB_DATA", str(tmp_path))
    (tmp_path / "toy" / "data").mkdir(parents=True)
    (tmp_path / "toy" / "data" / "plain.json").write_bytes(PLAIN)
    (tmp_path / "toy" / "blob.json").write_bytes(OWN)
    assert files.read_file("toy", "data/plain.json") == PLAIN
    assert files.read_file("toy", "data/blob.json") == OWN
    (tmp_path / "toy" / "blob.json").write_bytes(BLOB)  # that of the repository is as good
    assert files.read_file("toy", "data/blob.json") == BLOB
    assert not remote.requests


@pytest.mark.parametrize(
    ("path", "place", "known"),
    [("data/plain.json", "data/plain.json", SHA256), ("data/blob.json", "blob.json", OWN_SHA256)],
)
@pytest.mark.parametrize("content", [b"{}", OWN + b"\n", PLAIN[:-1], b""])
def test_a_file_that_differs_from_the_registry_is_refused(remote, tmp_path, monkeypatch, path, place, known, content):
    monkeypatch.setenv("CALIB_DATA", str(tmp_path))
    file = tmp_path / "toy" / place
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    message = (
        f"{file}: is not {path} of someone/toy as the registry knows it: its sha256 must be {known}, "
        f"but is {hashlib.sha256(content).hexdigest()}. Replace it, or take it away to have it downloaded."
    )
    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$"):
        files.read_file("toy", path)


def test_calib_data_must_name_a_folder(monkeypatch):
    monkeypatch.setenv("CALIB_DATA", "/no/such/folder")
    with pytest.raises(DatasetError, match=r"^`CALIB_DATA` must name a folder, but got '/no/such/folder'\.$"):
        datasets.load_summeval()


def test_where_a_set_comes_from(remote, tmp_path, monkeypatch):
    assert files.available()["where"].item() == "download"
    for path in ("data/plain.json", "data/blob.json"):
        files.read_file("toy", path)
    assert files.available()["where"].item() == "cache"
    for path in ("data/plain.json", "blob.json"):
        (tmp_path / "toy" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "toy" / path).touch()
    monkeypatch.setenv("CALIB_DATA", str(tmp_path))
    assert files.available()["where"].item() == "CALIB_DATA"


def test_git_blob_id():
    assert files.git_blob(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git hash-object /dev/null


def test_the_registry_names_each_file_by_commit_and_hash():
    for entry in files.registered_sets().values():
        assert entry["title"] and entry["licence"] and hasattr(datasets, entry["loader"])
        assert re.fullmatch("[0-9a-f]{40}", entry["commit"]) if entry["files"] else not entry["commit"]
        for file in entry["files"]:
            own, downloaded = ("own_sha256", "git_blob") if "git_blob" in file else ("sha256", "sha256")
            assert re.fullmatch("[0-9a-f]{64}", file[own])
            assert re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", file[downloaded])


@pytest.mark.slow
@needs_data
def test_every_file_of_the_folder_has_the_bytes_and_the_hash_of_the_registry():
    for name, entry in files.registered_sets().items():
        for file in entry["files"]:
            content = files.read_file(name, file["path"])
            assert len(content) == file.get("bytes", file.get("own_bytes"))
            assert hashlib.sha256(content).hexdigest() == file.get("sha256", file.get("own_sha256"))


def test_each_set_has_a_card():
    cards = Path(__file__).parents[2] / "datasets"
    assert {path.stem for path in cards.glob("*.md")} == {"README", *files.registered_sets()}


def test_available_lists_the_sets():
    frame = datasets.available()
    assert list(frame) == ["set", "loader", "title", "licence", "citation", "where"]
    names = "summeval alt_test topical_chat llm_rubric unieval triviaqa_judges composo llm_summeval hanna planted"
    assert list(frame["set"]) == [*names.split(), "alpaca_eval", "llmbar"]


# --- arguments, small files -------------------------------------------------------------------------------------


def test_options_are_checked_before_any_file_is_read():
    with pytest.raises(ValueError, match=r"^`prompt` must be one of 'analyze_rate', .*, but got 'cot'\.$"):
        datasets.load_topical_chat("cot")
    with pytest.raises(ValueError, match=r"^`reading` must be one of 'calib', 'chiang-lee', but got 'first'\.$"):
        datasets.load_topical_chat(reading="first")
    with pytest.raises(ValueError, match=r"^`part` must be one of 'real', 'synth', but got 'both'\.$"):
        datasets.load_llm_rubric("both")
    with pytest.raises(ValueError, match=r"^`judge` must be one of 'gpt-5.4', .*, but got 'gpt-4'\.$"):
        datasets.load_composo("gpt-4")
    with pytest.raises(ValueError, match=r"^`prompts` must be one of 'base', 'criteria', but got 'combined'\.$"):
        datasets.load_composo("claude-haiku-4-5", ["base", "combined"])
    with pytest.raises(ValueError, match=r"^`prompts` must be one of 'base', but got ''\.$"):
        datasets.load_composo("gpt-5.4-nano", [])
    for judge, temperature in {"gpt-5.4-mini": 0.3, "gpt-5.4": 1.0}.items():
        message = (
            f"`temperature` must be 0.0, 0.3 or 0.7, with judge gpt-5.4, or None, but got {temperature} with {judge}."
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            datasets.load_composo(judge, temperature=temperature)
    with pytest.raises(ValueError, match=r"^`model` must be one of 'vicuna-7b', .*, but got 'gpt-4'\.$"):
        datasets.load_alpaca_eval("gpt-4")
    with pytest.raises(ValueError, match=r"^`judge` must be one of 'gpt-3.5-turbo-0301', .*, but got 'gpt-4'\.$"):
        datasets.load_llm_summeval("gpt-4")
    with pytest.raises(ValueError, match=r"^`people` must be one of 'experts', 'crowd', but got 'all'\.$"):
        datasets.load_llm_summeval(people="all")
    with pytest.raises(ValueError, match=r"^`reading` must be one of 'calib', 'shen', but got 'chiang-lee'\.$"):
        datasets.load_llm_summeval(reading="chiang-lee")


@pytest.mark.parametrize(
    ("reply", "prompt", "ours", "theirs"),
    [
        ("Well put. Score: 3.5/5", "rts", 3.5, 3.5),
        ("Final score: four", "altrts", 4, 4),
        ("It earns a score of two.", "rts", 2, 2),
        ("It earns a score of 3 out of 5.", "rts", 3, 3),
        ("It is a 4 out of 5 in terms of fluency", "rts", 4, 5),
        ("A wrong score (2-2 instead of 4-3): 1/5", "rts", 1, 2),
        ("It scores a 2 for coherence.", "rts", 2, 2),
        ("Disjointed. 2.", "rts", 2, 2),
        ("It is of little use (1).", "rts", None, 1),
        ("Hardly a flaw. 4.5", "rts", 4.5, 5),
        ("It is of little use.", "rts", None, None),
        ("Score: 7", "rts", None, None),
        ("B", "mcq", 2, 2),
        (" E\n", "altmcq", 5, 5),
        ("Both", "mcq", None, None),
        ("Four stars. 2 facts are missing", "stareval", 4, 4),
        ("3 stars", "stareval", 3, 3),
        ("Good", "stareval", None, None),
    ],
)
def test_replies_to_the_five_formats(reply, prompt, ours, theirs):
    for reading, wanted in {"calib": ours, "shen": theirs}.items():
        score, status = texts.read_summary_reply(reply, prompt, reading)
        assert score == wanted if wanted else np.isnan(score)
        assert (status == "ok") == (wanted is not None)


def test_a_file_with_other_counts_is_refused(monkeypatch):
    record = {"doc_id": "d1", "system_id": "M1", "source": "long", "system_output": "short", "reference": "brief"}
    monkeypatch.setattr(texts, "read_json", lambda *_: [{**record, "scores": {"coherence": 2.5}}])
    with pytest.raises(DatasetError, match=r"^summeval: must have 1600 items, but the files have 1\.$"):
        datasets.load_summeval()


def test_a_summary_has_its_references_only_where_the_file_has_them(monkeypatch):
    record = {"doc_id": "d1", "system_id": "M1", "source": "long", "system_output": "short", "reference": "brief"}
    wanted = {"item": "d1__M1", "source": "long", "output": "short", "group": "d1", "system": "M1"}
    monkeypatch.setattr(texts, "checked_tables", lambda _, items, __: items)
    for more in ({}, {"references": ["brief", "in short"]}):
        one = {**record, **more, "scores": {}}
        monkeypatch.setattr(texts, "read_json", lambda *_, one=one: [one])
        assert datasets.load_summeval() == [wanted | {"reference": "brief"} | more]


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("2", 2),
        ("Rating: 3\nRationale: it has 2 facts", 3),
        ("Rating: 1\n...\nrating: 2", 2),
        ("On the scale 1-3: Engagingness: 2", 2),
        ("0.5", 0),
        ("31 years", 3),
        ("Good", np.nan),
        ("Score 2. Rating: good", np.nan),
    ],
)
def test_the_published_reading(reply, score):
    assert datasets.read_chiang_lee(reply) == pytest.approx(score, nan_ok=True)


def test_planted_set_is_there_without_any_data(monkeypatch):
    monkeypatch.delenv("CALIB_DATA", raising=False)
    items, ratings = datasets.load_planted()
    assert set(ratings["item"]) == set(items["item"])
    assert set(ratings["method"]) == {"human"}
    assert set(ratings["scale"]) == {"1|2|3|4|5"}


# --- the real sets ----------------------------------------------------------------------------------------------


def raters(ratings: pd.DataFrame) -> dict[str, int]:
    return {str(rater): int(count) for rater, count in ratings["rater"].value_counts().items()}


@pytest.mark.slow
@needs_data
def test_summeval():
    items, ratings = datasets.load_summeval()
    assert (len(items), items["group"].nunique(), items["system"].nunique()) == (1600, 100, 16)
    assert items["references"].map(len).eq(11).all()
    assert raters(ratings) == {"expert_mean": 6400}
    assert list(ratings["criterion"].unique()) == list(datasets.CRITERIA)


@pytest.mark.slow
@needs_data
def test_summeval_means_are_those_of_the_three_experts():
    _, mean = datasets.load_summeval()
    items, ratings = datasets.load_summeval_judges()
    judges = ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03")
    assert raters(ratings) == dict.fromkeys(("e0", "e1", "e2", *judges), 6400)
    assert set(ratings.loc[ratings["method"] == "human", "rater"]) == {"e0", "e1", "e2"}
    key = ["item", "criterion"]
    experts = ratings[ratings["method"] == "human"].groupby(key, observed=True)["score"].mean()
    pairs = mean.set_index(key)["score"].to_frame("mean").join(experts)
    assert len(pairs) == 6400
    assert np.isclose(pairs["mean"], pairs["score"], atol=1e-9).sum() == 6400
    assert set(items["item"]) == set(ratings["item"])


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("prompt", "replies"),
    # 20 replies for each item that a result file has; 1,440 items would make 28,800
    [
        ("analyze_rate", 28760),
        ("analyze_rate_auto_cot", 28420),
        ("geval", 28600),
        ("geval_no_auto_cot", 28380),
        ("llm_eval_no_cot", 28540),
        ("rate_explain", 28720),
        ("rate_explain_auto_cot", 28580),
    ],
)
def test_topical_chat(prompt, replies):
    items, ratings = datasets.load_topical_chat(prompt)
    assert (len(items), items["group"].nunique(), items["system"].nunique()) == (360, 60, 6)
    assert raters(ratings) == {"expert_mean": 2160, "gpt-3.5": replies}
    judge = ratings[ratings["rater"] == "gpt-3.5"]
    assert judge.groupby(["item", "criterion"], observed=True)["draw"].agg(set).eq(set(range(20))).all()
    assert set(judge["prompt"]) == {prompt}
    assert (judge["status"] == "ok").mean() > 0.97
    assert judge.loc[judge["status"] == "ok", "reply"].str.len().gt(0).all()


@pytest.mark.slow
@needs_data
def test_the_reading_of_topical_chat_changes_scores_and_keeps_replies():
    ours, theirs = (
        datasets.load_topical_chat("geval_no_auto_cot", reading=reading)[1] for reading in ("calib", "chiang-lee")
    )
    assert ours["reply"].equals(theirs["reply"])
    halves = ours["reply"] == "0.5"
    assert halves.sum() > 100
    assert set(ours.loc[halves, "status"]) == {"off_scale"}
    assert set(theirs.loc[halves, "score"]) == {0.0}
    assert set(theirs.loc[theirs["rater"] == "gpt-3.5", "scale"]) == {""}


@needs_data
@pytest.mark.parametrize(
    ("part", "n_people", "n_judge", "n_raters"), [("real", 2007, 8028, 13), ("synth", 6687, 8100, 24)]
)
def test_llm_rubric(part, n_people, n_judge, n_raters):
    items, ratings = datasets.load_llm_rubric(part)
    people, judge = ratings[ratings["method"] == "human"], ratings[ratings["method"] == "logprob"]
    assert (len(people), len(judge), people["rater"].nunique()) == (n_people, n_judge, n_raters)
    assert set(ratings["item"]) == set(items["item"])
    assert list(ratings["criterion"].cat.categories) == [f"Q{n}" for n in range(9)]
    mass = judge.groupby(["item", "criterion"], observed=True)["weight"].agg(["sum", "size"])
    assert set(mass["size"]) == {4}
    np.testing.assert_allclose(mass["sum"], 1, atol=2e-6)


@needs_data
def test_llm_rubric_people_may_say_that_a_question_does_not_apply():
    _, ratings = datasets.load_llm_rubric("synth")
    people = ratings[ratings["method"] == "human"]
    assert (people["status"] == "off_scale").sum() == 739  # zeros in the file
    assert (people["status"] == "unread").sum() == 2  # empty cells in the file
    assert (people["draw"] == 1).sum() == 9 * 9  # nine dialogues seen twice by the same annotator


@pytest.mark.slow
@needs_data
def test_unieval_holds_the_same_dialogues_as_topical_chat():
    items, ratings = datasets.load_unieval()
    dialogues, replies = datasets.load_topical_chat()
    assert dict(items["set"].value_counts()) == {"topical_chat": 360, "qags_xsum": 239, "qags_cnndm": 235}
    ours = items[items["set"] == "topical_chat"].drop(columns="set")
    assert_frame_equal(ours.astype(object), dialogues.astype(object), check_like=True)
    key = ["item", "criterion"]
    first = ratings[(ratings["rater"] == "human") & ratings["item"].isin(ours["item"])].set_index(key)["score"]
    second = replies[replies["rater"] == "expert_mean"].set_index(key)["score"]
    assert dict(first) == dict(second)


def side_by_side(ratings: pd.DataFrame) -> pd.DataFrame:
    """A row an item, a column a rater."""
    return ratings.pivot_table("score", "item", "rater", observed=True)


@needs_data
def test_triviaqa_judges():
    items, ratings = datasets.load_triviaqa_judges()
    assert raters(ratings) == dict.fromkeys(("human", *TRIVIA_JUDGES), 3200)
    assert len(TRIVIA_JUDGES) == 9
    assert set(items["system"].value_counts()) == {400}
    assert set(items["group"].value_counts()) == {8}
    assert set(ratings.loc[ratings["method"] == "human", "rater"]) == {"human"}
    assert set(ratings["score"]) == {0.0, 1.0}
    assert (items["reference"] == items["references"].str[0]).all()
    verdicts = side_by_side(ratings)
    # counts of the cells "True" in the columns of the file
    assert verdicts[["human", "GPT-4", "JudgeLM"]].sum().to_dict() == {"human": 2039, "GPT-4": 2011, "JudgeLM": 659}
    assert np.isclose((verdicts["GPT-4"] == verdicts["human"]).mean(), 0.95)
    gpt = verdicts.loc[items.loc[items["system"] == "gpt-4t", "item"]]
    assert np.isclose(gpt["human"].mean(), 0.8525)


@pytest.mark.slow
@needs_data
def test_composo_prompts_and_draws():
    items, ratings = datasets.load_composo("gpt-5.4", ["cal-low", "base"])
    assert raters(ratings) == {"gpt-5.4": 32 * (1744 + 1730)}
    assert dict(ratings["prompt"].value_counts()) == {"cal-low": 32 * 1744, "base": 32 * 1730}
    assert ratings.groupby(["item", "prompt"], observed=True)["draw"].agg(set).eq(set(range(8))).all()
    assert set(ratings["item"].cat.categories) == set(items["item"])
    assert dict(items["response"].value_counts()) == dict.fromkeys((1, 2, 3, 4), items["group"].nunique())
    assert (items["best"] == (items["response"] == 1)).all()
    assert set(ratings["temperature"]) == {1.0}


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("judge", "options", "temperature", "n_draws", "gaps"),
    [
        # cells of the files that are null, by the error beside them
        ("gpt-5.4", {}, 1.0, 32 * 12196, {"refused": 381, "unread": 1}),
        ("gpt-5.4", {"temperature": 0}, 0.0, 32 * 1730, {"refused": 18}),
        ("gpt-5.4-mini", {"prompts": "cal-both"}, 1.0, 32 * 1733, {"failed": 1144, "refused": 103, "unread": 4}),
        ("gpt-5.4-nano", {}, 1.0, 32 * 1718, {"refused": 54}),
        ("claude-sonnet-4-6", {"prompts": ["base"]}, None, 32 * 1763, {"failed": 37, "refused": 361, "unread": 27}),
        ("claude-haiku-4-5", {}, None, 64 * 1763, {"failed": 116, "unread": 104}),
    ],
)
def test_composo_judges(judge, options, temperature, n_draws, gaps):
    _, ratings = datasets.load_composo(judge, **options)
    assert raters(ratings) == {judge: n_draws}
    assert dict(ratings["status"].value_counts()) == {"ok": n_draws - sum(gaps.values())} | gaps
    assert (ratings["score"].notna() == (ratings["status"] == "ok")).all()
    assert ratings["temperature"].isna().all() if temperature is None else set(ratings["temperature"]) == {temperature}


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("judge", "prompt", "n", "accuracy"),
    # README of the repository: how often the mean of 8 draws puts the best response above the other three
    [
        ("gpt-5.4", "base", 1730, 81.5),
        ("gpt-5.4", "criteria", 1741, 83.6),
        ("gpt-5.4", "combined", 1746, 82.6),
        ("gpt-5.4-mini", "base", 1730, 79.2),
    ],
)
def test_composo_accuracy_as_published(judge, prompt, n, accuracy):
    items, ratings = datasets.load_composo(judge, [prompt])
    mean = ratings.groupby("item", observed=True, sort=False)["score"].mean().reindex(items["item"])
    mean = mean.to_numpy().reshape(-1, 4)
    mean = mean[np.isfinite(mean).all(axis=1)]
    assert len(mean) == n
    assert 100 * (mean[:, 0] > mean[:, 1:].max(axis=1)).mean() == pytest.approx(accuracy, abs=0.055)


@pytest.mark.slow
@needs_data
def test_composo_numbers_are_unique_only_with_their_subset():
    items, _ = datasets.load_composo(prompts=["base"])
    numbers = items["group"].astype(str).drop_duplicates().str.rpartition("-")[2]
    assert (len(numbers), numbers.nunique()) == (1730, 1692)


@pytest.mark.slow
@needs_data
def test_llm_summeval():
    items, ratings = datasets.load_llm_summeval()
    assert raters(ratings) == {"gpt-3.5-turbo-0301": 24000, "e0": 4800, "e1": 4800, "e2": 4800}
    assert set(ratings["item"]) == set(items["item"])
    judge = ratings[ratings["method"] == "sample"]
    assert Counter(judge["prompt"]) == dict.fromkeys(datasets.LLM_SUMMEVAL_PROMPTS, 4800)
    assert Counter(judge["status"]) == {"ok": 23998, "unread": 2}
    assert not judge.duplicated(["item", "criterion", "prompt"]).any()
    assert set(judge.loc[judge["prompt"].isin(["mcq", "altmcq"]), "reply"]) == set("ABCDE")


@pytest.mark.slow
@needs_data
def test_llm_summeval_has_the_experts_and_the_items_of_the_other_copies():
    items, ratings = datasets.load_llm_summeval()
    assert set(items["item"]) < set(datasets.load_summeval()[0]["item"])
    key = ["item", "criterion", "rater"]
    people, others = (
        frame[frame["method"] == "human"].set_index(key)["score"]
        for frame in (ratings, datasets.load_summeval_judges()[1])
    )
    assert people.eq(others.reindex(people.index)).all()


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("judge", "differ", "relevance"),
    # replies that the two readings read differently; Spearman with the mean of the experts under each
    [("gpt-4-0314", 17, (0.422, 0.427)), ("llama-2-70b-chat-hf", 480, (0.329, 0.248))],
)
def test_the_two_readings_of_llm_summeval(judge, differ, relevance):
    ours, theirs = (datasets.load_llm_summeval(judge, reading=reading)[1] for reading in ("calib", "shen"))
    assert ours["reply"].equals(theirs["reply"])
    assert (ours["score"].fillna(0) != theirs["score"].fillna(0)).sum() == differ
    for ratings, wanted in zip((ours, theirs), relevance, strict=True):
        scores = side_by_side(ratings[ratings["criterion"] == "relevance"])
        experts = scores[["e0", "e1", "e2"]].mean(axis=1)
        assert scores[judge].corr(experts, method="spearman") == pytest.approx(wanted, abs=6e-4)


@pytest.mark.slow
@needs_data
def test_llm_summeval_crowd():
    _, ratings = datasets.load_llm_summeval("llama-2-7b-chat-hf", people="crowd")
    assert raters(ratings) == dict.fromkeys(("c0", "c1", "c2", "c3", "c4", "llama-2-7b-chat-hf"), 4800)


def test_llm_summeval_counts_the_last_reply_of_an_item(monkeypatch):
    lines = [{"id": "a", "resp": "B"}, {"id": "b", "resp": "C"}, {"id": "a", "resp": "D"}]
    monkeypatch.setattr(texts, "read_jsonl", lambda name, path: lines)
    rows = list(texts.summary_replies("gpt-3.5-turbo-0301", "mcq", "calib"))
    assert [(row["item"], row["score"]) for row in rows[:2]] == [("a__M8", 4), ("b__M8", 3)]
    assert len(rows) == 2 * 12 * 4


@pytest.mark.slow
@needs_data
def test_hanna():
    items, ratings = datasets.load_hanna()
    assert (len(items), items["group"].nunique(), items["system"].nunique()) == (1056, 96, 11)
    assert raters(ratings) == {"human_mean": 6336} | dict.fromkeys(HANNA_JUDGES, 25344)
    assert set(ratings["criterion"]) == set(HANNA_CRITERIA.values())
    judges = ratings[ratings["method"] == "sample"]
    assert Counter(judges["prompt"]) == dict.fromkeys("1234", 31680)
    # means below the scale, which a run that was not read makes
    below = judges["score"].lt(1).groupby(judges["rater"], observed=True).mean()
    assert below["ChatGPT"] == pytest.approx(0.00055, abs=1e-5)
    assert below.drop("ChatGPT").between(0.006, 0.016).all()
    assert (judges["score"].min(), judges["score"].max()) == (-1, 5)


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tables_survive_a_file(tmp_path, ending):
    for name, loader in {"items": datasets.load_summeval, "ratings": datasets.load_topical_chat}.items():
        frame = dict(zip(("items", "ratings"), loader(), strict=True))[name]
        again = table.read(table.write(frame, tmp_path / f"{name}.{ending}"), name)
        lists = [column for column in frame if column == "references"]
        assert_frame_equal(again.drop(columns=lists), frame.drop(columns=lists), check_categorical=False)
        assert all(again[column].map(list).tolist() == frame[column].tolist() for column in lists)


@needs_data
def test_the_data_here_are_found():
    assert set(datasets.available()["where"]) <= {"CALIB_DATA", "package"}


# --- pairs ------------------------------------------------------------------------------------------------------


@needs_data
def test_llmbar_has_both_orders_and_a_winner_for_each_pair():
    items, ratings = datasets.load_llmbar()
    assert (len(items), len(ratings)) == (419, 419 * 9)
    assert items["subset"].value_counts().to_dict() == {
        "Neighbor": 134, "Natural": 100, "GPTInst": 92, "GPTOut": 47, "Manual": 46,
    }  # fmt: skip
    judged = ratings[ratings["rater"] != "gold"]
    assert (judged.groupby(["rater", "prompt", "shown_first"], observed=True).size() == 419).all()
    assert (judged["status"] == "unread").sum() == 5


@needs_data
def test_alpaca_eval_is_in_terms_of_the_model():
    items, ratings = datasets.load_alpaca_eval()
    assert (len(items), len(ratings)) == (805, 805)
    assert set(items["system_a"]) == {"vicuna-7b"}
    assert 100 * ratings["score"].mean() == pytest.approx(4.1626, abs=5e-5)  # the reference's win rate
    longer = items["output_a"].str.len() > items["output_b"].str.len()
    assert longer.sum() == 65
