"""Judges on a real inference server: llama.cpp, with the models of `tiny_model`.

The verdicts on draws are chi-square tests over the whole distribution; their seeds are fixed, not chosen.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy.stats import chi2
from tiny_model import serve

import calib
from calib.judge.prompt import Prompt
from calib.judge.replies.extract import extract
from calib.judge.replies.reply import decode
from calib.judge.scale import Scale
from calib.table import parse_scale

pytestmark = pytest.mark.slow

for package in ("xllamacpp", "gguf"):
    pytest.importorskip(package, reason=f"{package} is not installed: no real server", exc_type=ImportError)

DRAWS = 400
SAMPLERS = ("top_k", "min_p", "top_p")
# short ones: the model reads byte by byte
TEXTS = (
    "The mill closed in 1987.", "Two goals in the last minute, and the cup was theirs.", "poor dull fine sharp",
    "A minister said that a bridge would be built.", "Rain is expected; bring a coat.", "the the summary of of it",
)  # fmt: skip
ITEMS = pd.DataFrame({"item": [f"i{k}" for k in range(len(TEXTS))], "output": TEXTS})
FORM, THINK, JSON = (Prompt("quality", "Rate it.\n{{output}}", reasoning=kind) for kind in ("form", "think", "json"))
ELEVEN = Prompt("quality", "Rate it.\n{{output}}", Scale.of(*range(11)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", autouse=True)
def no_proxy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield


@pytest.fixture(scope="module")
def five(folder):
    """Answers with 1 to 5."""
    with serve(folder / "five.gguf", 600, labels=[*"12345"]) as url:
        yield url


@pytest.fixture(scope="module")
def split(folder):
    """Answers with 0 to 10, and 10 is two tokens."""
    labels = [*map(str, range(11))]
    with serve(folder / "split.gguf", 600, labels=labels, split_digits=True) as url:
        yield url


@pytest.fixture(scope="module")
def chatty(folder):
    """Answers with a score line after no, one or several lines, on which the score depends."""
    lines, scores = ["It is good.\n", "It is bad.\n", "So so.\n"], [f"Score: {k}" for k in range(1, 6)]
    with serve(folder / "chatty.gguf", 600, labels=scores, leak=0.8, leak_to=lines) as url:
        yield url


@pytest.fixture(scope="module")
def told(five):
    """Token probabilities."""
    return rated(five, method="logprob")


@pytest.fixture(scope="module")
def store(folder):
    return folder / "drawn.sqlite"


@pytest.fixture(scope="module")
def drawn(five, store):
    """Monte Carlo, as calib does it by itself; the store holds what was sent."""
    return rated(five, method="sample", draws=DRAWS, store=store)


def rated(
    base: str,
    prompt: Prompt = FORM,
    *,
    complete: Callable[[dict], bytes] | None = None,
    store: object = None,
    **judge: object,
) -> pd.DataFrame:
    options = {"model": "openai/tiny", "base_url": base, "seed": 1, "concurrency": 8, "deadline": 60} | judge
    return calib.rate(ITEMS, prompt, calib.Judge(**options), store=store, complete=complete, progress=False)


def post(base: str, body: dict) -> bytes:
    request = Request(f"{base}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    with urlopen(request) as reply:
        return reply.read()


def changed(base: str, change: Callable[[dict], dict]) -> Callable[[dict], bytes]:
    """A transport that changes each request."""

    def complete(request: dict) -> bytes:
        return post(base, change(request))

    return complete


# --- two distributions ------------------------------------------------------------------------------------------


def masses(ratings: pd.DataFrame) -> pd.DataFrame:
    """A row for each item: what each label got of its draws or of the probability, and in the end what none got."""
    ok = ratings[ratings["status"] == "ok"]
    table = ok.pivot_table(index="item", columns="score", values="weight", aggfunc="sum", observed=True)
    table = table.reindex(columns=parse_scale(ratings["scale"][0]).values).fillna(0.0)
    table["none"] = ratings.groupby("item", observed=True)["draw"].nunique() - table.sum(axis=1)
    return table


def chi_square(counts: np.ndarray, shares: np.ndarray) -> tuple[float, int]:
    """Pearson's statistic and its degrees of freedom; bins are pooled where fewer than 5 draws are expected."""
    order = np.argsort(-shares)
    counts, expected = counts[order], counts.sum() * shares[order]
    keep = int((expected >= 5).sum())
    keep -= int(expected[keep:].sum() < 5)  # nor must the pool be smaller
    counts, expected = (np.append(x[:keep], x[keep:].sum()) for x in (counts, expected))
    return float(((counts - expected) ** 2 / expected).sum()), keep


def p_values(sampled: pd.DataFrame, told: pd.DataFrame) -> tuple[np.ndarray, float]:
    """Whether the draws follow these probabilities: for each item, and for all together."""
    counts, shares = masses(sampled), masses(told)
    assert list(counts.index) == list(shares.index) == list(ITEMS["item"])
    tests = np.array([chi_square(*rows) for rows in zip(counts.to_numpy(), shares.to_numpy(), strict=True)])
    return chi2.sf(*tests.T), chi2.sf(*tests.sum(axis=0))


def z_values(sampled: pd.DataFrame, told: pd.DataFrame) -> np.ndarray:
    """Distance of the means in standard errors, which follow from the probabilities told."""
    drawn, said = calib.summarize(sampled), calib.summarize(told)
    return ((drawn["score"] - said["score"]) / (said["sd"] / np.sqrt(drawn["n"]))).to_numpy()


def test_the_chi_square_test_by_hand():
    # 41, 39, 3 and 1 are expected; 3 + 1 are too few for a bin of their own and go to the 39
    statistic, freedom = chi_square(np.array([46, 34, 4, 0]), np.array([41, 39, 3, 1]) / 84)
    assert freedom == 1
    assert statistic == pytest.approx(25 / 41 + 25 / 43)
    # nothing to pool
    assert chi_square(np.array([12, 8]), np.array([0.5, 0.5])) == (pytest.approx(0.8), 1)


# --- token probabilities against Monte Carlo --------------------------------------------------------------------


def test_token_probabilities_are_those_of_the_draws(told, drawn):
    each, together = p_values(drawn, told)
    assert each.min() > 0.001
    assert together > 0.001
    assert np.abs(z_values(drawn, told)).max() <= 4
    assert masses(told)["none"].min() > 0.002  # leaks, so that this bin is tested too


def test_the_servers_own_samplers_fail_the_same_test(five, told):
    def stripped(request: dict) -> dict:
        return {name: value for name, value in request.items() if name not in SAMPLERS}

    each, together = p_values(rated(five, method="sample", draws=DRAWS, complete=changed(five, stripped)), told)
    assert each.min() < 0.001
    assert together < 1e-4


def test_draws_of_different_items_are_independent(drawn):
    # with one seed for the same draw of all items, errors do not average out over items; standard error 0.05
    scores = drawn.pivot_table(index="draw", columns="item", values="score", observed=True)
    between = scores.corr().to_numpy()[np.triu_indices(len(ITEMS), 1)]
    assert np.abs(between).max() < 0.25


def test_several_choices_in_one_request_are_several_draws(drawn, store):
    with sqlite3.connect(store) as db:
        rows = db.execute("SELECT requests.body, seed FROM replies JOIN requests ON request = requests.id").fetchall()
    db.close()
    asked = [(json.loads(body), seed) for body, seed in rows]
    groups = [(body, seed) for body, seed in asked if "Rate it." in body["messages"][-1]["content"]]
    # 8 slots: 16 at once are refused, 8 are given, and the answers to the question that tries it differ
    assert {body["n"] for body, _ in asked} == {8}
    assert (len(asked), len(groups)) == (len(ITEMS) * DRAWS // 8 + 1, len(ITEMS) * DRAWS // 8)
    # llama.cpp counts up from the seed: no two draws may share one
    seeds = [seed + k for body, seed in groups for k in range(body["n"])]
    assert len(set(seeds)) == len(seeds) == len(drawn) == len(ITEMS) * DRAWS


def test_draws_asked_for_one_by_one(five, told, monkeypatch):
    monkeypatch.setattr("calib.judge.calls.run._CHOICES", ())
    assert p_values(rated(five, method="sample", draws=100), told)[0].min() > 0.001


# --- a label of two tokens --------------------------------------------------------------------------------------


def test_a_label_of_two_tokens_is_read_by_the_chain_rule(split):
    drawn = rated(split, ELEVEN, method="sample", draws=DRAWS)
    resolved = rated(split, ELEVEN, method="logprob", continuation=True)
    left_open = calib.summarize(rated(split, ELEVEN, method="logprob"))
    assert p_values(drawn, resolved)[0].min() > 0.001
    assert np.abs(z_values(drawn, resolved)).max() < 4

    truth = calib.summarize(drawn)
    error = truth["sd"] / np.sqrt(truth["n"])
    assert (left_open["low"] - 4 * error <= truth["score"]).all()
    assert (left_open["high"] + 4 * error >= truth["score"]).all()
    assert (left_open["high"] - left_open["low"]).max() > 0.3  # the 1 of a 10 was left open

    first = np.array([first_token_reading(split, text) for text in ITEMS.to_dict("records")])
    assert 0.3 < (truth["score"] - first).mean() < 0.8
    assert np.abs((truth["score"] - first) / error).max() > 4


def first_token_reading(base: str, item: dict) -> float:
    """The expectation over the labels that are one token, as other tools read it."""
    asked = {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}
    place = json.loads(post(base, {"messages": ELEVEN.render(item)} | asked))["choices"][0]["logprobs"]["content"][0]
    top = {one["token"]: np.exp(one["logprob"]) for one in place["top_logprobs"]}
    digits = {int(token): p for token, p in top.items() if token.isdecimal()}
    return sum(value * p for value, p in digits.items()) / sum(digits.values())


# --- constrained decoding ---------------------------------------------------------------------------------------

WORD = {"type": "string", "enum": [*"12345"]}
NUMBER = {"type": "integer", "enum": [1, 2, 3, 4, 5]}


def schema(score: dict) -> dict:
    asked = {"type": "object", "properties": {"score": score}, "required": ["score"]}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "rating", "schema": asked}}}


@pytest.mark.parametrize("prompt", [JSON, THINK, FORM])
@pytest.mark.parametrize(
    "extra",
    [schema(WORD), schema(NUMBER), {"grammar": 'root ::= "\\n\\nScore: " [1-5]'}],
    ids=["word", "number", "grammar"],
)
def test_probabilities_from_before_a_constraint_are_not_trusted(five, prompt, extra):
    constrained = changed(five, lambda request: request | extra)
    # a line where JSON was asked for is unread, and JSON where a line was
    is_read = prompt is FORM or (prompt is JSON) == ("grammar" not in extra)
    with nullcontext() if is_read else pytest.warns(UserWarning, match="^no reply could be read: 6 were without"):
        ratings = rated(five, prompt, complete=constrained, method="logprob", max_tokens=100)
    assert ratings["score"].isna().all()
    if is_read:
        assert set(ratings["status"]) == {"constrained"}


def test_a_run_under_a_constraint_samples(five):
    constrained = changed(five, lambda request: request | schema(NUMBER))
    with pytest.warns(UserWarning, match="gives no token probabilities: this run samples 2 replies"):
        ratings = rated(five, JSON, complete=constrained, method="auto", draws=2, max_tokens=100)
    assert set(ratings["method"]) == {"sample"}
    assert set(ratings["status"]) == {"ok"}


def test_free_draws_all_tell_the_same_and_raise_no_false_alarm(five):
    asked = {"logprobs": True, "top_logprobs": 20, "max_tokens": 8, "n": 8, "top_k": -1, "min_p": 0, "top_p": 1}
    for item in ITEMS.to_dict("records"):
        found = []
        for seed in range(1000, 1000 + 42):
            body = {"messages": FORM.render(item), "seed": 100 * seed} | asked
            reply = post(five, body)
            found += [extract(one, FORM.scale, "label", logprobs=True).rows for one in decode(reply).choices]
        rows = np.array([[row[:2] for row in one if row.status == "ok"] for one in found])
        assert rows.shape == (8 * 42, 5, 2)
        assert np.ptp(rows, axis=0).max() < 1e-4


# --- chains of reasoning ----------------------------------------------------------------------------------------


def test_chains_estimate_the_same_as_whole_replies_with_less_variance(chatty):
    sampled = calib.summarize(rated(chatty, THINK, method="sample", draws=200))
    chains = calib.summarize(rated(chatty, THINK, method="logprob", draws=60))
    assert set(chains["method"]) == {"chain"}
    assert chains["mass"].min() > 0.99
    # both see all of the variance, but only what lies between chains is left to chance (Rao and Blackwell)
    error = np.sqrt(sampled["sd"] ** 2 / 200 + chains["var_between"] / 60)
    assert (np.abs(chains["score"] - sampled["score"]) < 4 * error).all()
    whole = chains["var_within"] + chains["var_between"]
    assert np.log(whole / sampled["sd"] ** 2).abs().max() < 0.5
    assert (chains["var_between"] < 0.5 * whole).all()
    assert (chains["var_between"] > 0.01).all()  # each chain tells what follows from its own reasoning


# --- transports -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [{"method": "auto"}, {"method": "sample", "draws": 12}], ids=["logprob", "sample"])
def test_both_transports_give_the_same_ratings(five, method):
    direct, litellm = (rated(five, model=model, **method) for model in ("openai/tiny", "litellm/openai/tiny"))
    assert set(direct["run"]) != set(litellm["run"])
    assert set(direct["method"]) == ({"logprob"} if method["method"] == "auto" else {"sample"})
    same = direct.columns.drop(["run", "rater"])
    assert_frame_equal(direct[same], litellm[same], rtol=1e-4)
