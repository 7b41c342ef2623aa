"""Batch files and recorded replies: the same ratings as from calls, and every line accounted for."""

import asyncio
import json

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import calib
from calib.judge import offline
from calib.judge.calls import batch
from calib.judge.prompt import Prompt
from calib.judge.scale import Scale
from calib.table import TableError

FORM = Prompt.from_criteria("quality", "It is good.", inputs=("output",), steps=())
THINK = Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="think", steps=())
JSON = Prompt.from_criteria("quality", "It is good.", inputs=("output",), reasoning="json", steps=())
ITEMS = pd.DataFrame({"item": [f"i{k}" for k in range(6)], "output": [f"Text {k} of 190{k}." for k in range(6)]})


def answered(line: dict) -> dict:
    """A line of batch output: what the offline judge says to a line of batch input."""
    body = asyncio.run(offline.complete(line["body"]))
    return {"id": "b", "custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}


def lines_of(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, lines: list[dict]):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def judge(**options: object) -> calib.Judge:
    return calib.Judge(**({"model": "m", "method": "logprob", "seed": 1} | options))


def said(text: str, **beside: object) -> dict:
    return beside | {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["logprob", "sample"])
@pytest.mark.parametrize("prompt", [FORM, THINK, JSON])
def test_a_batch_gives_the_ratings_that_calls_give(tmp_path, method, prompt):
    asked = calib.to_batch(ITEMS, prompt, judge(method=method, draws=3), tmp_path / "in.jsonl")
    out = write(tmp_path / "out.jsonl", [answered(line) for line in reversed(lines_of(asked))])
    got = calib.from_jsonl(out, ITEMS, prompt, judge(method=method, draws=3))
    called = calib.rate(ITEMS, prompt, judge(method=method, draws=3), complete=offline.complete, progress=False)
    order = ["item", "draw", "score"]
    assert_frame_equal(
        got.sort_values(order, ignore_index=True).drop(columns="run").astype(object),
        called.sort_values(order, ignore_index=True).drop(columns="run").astype(object),
    )
    assert set(got["run"]) == {"file:out.jsonl"}


def test_a_line_is_a_request_of_its_own(tmp_path):
    path = calib.to_batch(
        ITEMS, [FORM, THINK], judge(model="openai/gpt-4o-mini", method="sample", draws=2), tmp_path / "b"
    )
    lines = lines_of(path)
    assert len({line["custom_id"] for line in lines}) == len(lines) == 6 * 2 * 2
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    body = lines[0]["body"]
    assert (body["model"], body["temperature"], len(body["messages"])) == ("gpt-4o-mini", 1.0, 2)
    assert len({line["body"]["seed"] for line in lines}) == len(lines)


def test_items_of_one_text_share_a_line_and_both_get_its_ratings(tmp_path):
    same = ITEMS.assign(output="The same.")
    asked = calib.to_batch(same, FORM, judge(), tmp_path / "in.jsonl")
    out = write(tmp_path / "out.jsonl", [answered(line) for line in lines_of(asked)])
    assert len(lines_of(out)) == 1
    assert calib.from_jsonl(out, same, FORM, judge())["item"].nunique() == 6


def test_lines_by_item_are_its_draws_in_their_order(tmp_path):
    lines = [said("4", item="i0"), said("2", item="i1"), said("5", item="i0"), said("1", custom_id="i2")]
    lines += [said("3", item=f"i{k}") for k in (3, 4, 5)]
    ratings = calib.from_jsonl(write(tmp_path / "r.jsonl", lines), ITEMS, FORM, judge(method="sample"))
    first = ratings[ratings["item"] == "i0"]
    assert (first["score"].tolist(), first["draw"].tolist()) == ([4.0, 5.0], [0, 1])
    assert len(ratings) == 7


def test_several_choices_of_a_line_are_several_draws(tmp_path):
    reply = said("4", item="i0")
    reply["choices"] += said("2")["choices"]
    with pytest.warns(UserWarning, match=r"5 of 6 items have no line in r\.jsonl"):
        ratings = calib.from_jsonl(write(tmp_path / "r.jsonl", [reply]), ITEMS, FORM, judge(method="sample"))
    assert (ratings["score"].tolist(), ratings["draw"].tolist()) == ([4.0, 2.0], [0, 1])


def test_lines_without_ids_are_those_of_the_items(tmp_path):
    lines = [said(str(k % 5 + 1)) for k in range(6)]
    ratings = calib.from_jsonl(write(tmp_path / "r.jsonl", lines), ITEMS, FORM, judge(method="auto"), replies=True)
    assert ratings["score"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 1.0]
    assert set(ratings["run"]) == {"file:r.jsonl|auto:sample"}
    assert ratings["reply"].tolist() == list("123451")
    with pytest.raises(TableError, match="lines without ids must be as many as the items, but are 5 for 6"):
        calib.from_jsonl(write(tmp_path / "r.jsonl", lines[:5]), ITEMS, FORM, judge())


def test_a_single_choice_is_a_reply_too(tmp_path):
    top = [{"token": "M", "logprob": -0.1}, {"token": "m", "logprob": -2.4}]
    entry = {"token": "M", "logprob": -0.1, "top_logprobs": top}
    line = {"item": "i0", "finish_reason": "length", "message": {"content": "M"}, "logprobs": {"content": [entry]}}
    prompt = Prompt("win", "{{output}}", Scale(("m", "M"), (1.0, 2.0)))
    ratings = calib.from_jsonl(write(tmp_path / "r.jsonl", [line]), ITEMS.head(1), prompt, judge(method="auto"))
    assert ratings["score"].dropna().tolist() == [1.0, 2.0]
    assert ratings["status"].tolist() == ["ok", "ok", "unseen"]  # the two hold 99.5 %
    assert set(ratings["method"]) == {"logprob"}


@pytest.mark.parametrize(
    "trouble",
    [
        {"response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}, "error": None},
        {"response": None, "error": {"code": "batch_expired", "message": "expired"}},
    ],
)
def test_a_line_that_reports_an_error_is_failed(tmp_path, trouble):
    lines = [trouble | {"custom_id": "i0"}, *(said("3", item=f"i{k}") for k in range(1, 6))]
    ratings = calib.from_jsonl(write(tmp_path / "r.jsonl", lines), ITEMS, FORM, judge(method="sample"))
    assert ratings["status"].tolist() == ["failed"] + ["ok"] * 5
    assert calib.summarize(ratings)["n_unread"].tolist() == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"item": "i0"', "line 1 must be a chat completion"),
        ("[1]", "line 1 must be a chat completion"),
        ('{"item": "i0", "choices": []}', "line 1 must be a chat completion"),
        ('\n{"item": "i0", "response": {"status_code": 200}}', "line 2 must be a chat completion"),
        ('{"item": "zz", "choices": [{"message": {"content": "4"}}]}', "line 1 must belong to an item .* but is 'zz'"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path, text, message):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        calib.from_jsonl(path, ITEMS, FORM, judge(method="sample"))


def test_with_several_prompts_an_item_is_not_enough(tmp_path):
    path = write(tmp_path / "r.jsonl", [said("4", item="i0")])
    with pytest.raises(TableError, match="line 1 must belong to an item or a request of the batch, but is 'i0'"):
        calib.from_jsonl(path, ITEMS, [FORM, THINK], judge(method="sample"))


def test_what_a_file_cannot_ask_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`judge` must have the method 'logprob' or 'sample'"):
        calib.to_batch(ITEMS, FORM, judge(method="auto"), tmp_path / "b")
    bare = Prompt.from_criteria("quality", "It is good.", inputs=("output",))
    with pytest.raises(ValueError, match="`prompt` must have evaluation steps"):
        calib.to_batch(ITEMS, bare, judge(), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_hostile_texts_stay_on_their_line(tmp_path):
    texts = ["a\nb", "\u2028", "\ud800", "\x00", '"}', "é" * 1000]
    hostile = ITEMS.assign(output=pd.Series(texts, dtype=object))
    path = calib.to_batch(hostile, FORM, judge(), tmp_path / "b.jsonl")
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    assert [text in line["body"]["messages"][1]["content"] for text, line in zip(texts, lines, strict=True)] == [
        True
    ] * 6


def test_a_key_that_a_line_repeats_is_not_in_the_ratings(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-77d0b1c2e9")
    path = write(tmp_path / "out.jsonl", [said("4\nYou sent Bearer canary-77d0b1c2e9")])
    ratings = calib.from_jsonl(path, ITEMS.head(1), FORM, judge(method="sample"), replies=True)
    assert list(ratings["score"]) == [4]
    assert list(ratings["reply"]) == ["4\nYou sent Bearer ***"]


def test_an_id_that_is_null_is_none(tmp_path):
    """Read as lines without ids they would be taken for those of the items in their order."""
    lines = [said(text, item=item, custom_id=None) for item, text in (("b", "1"), ("a", "5"))]
    items = pd.DataFrame({"item": ["a", "b"], "output": ["One.", "Two."]})
    got = calib.from_jsonl(write(tmp_path / "r.jsonl", lines), items, FORM, judge(method="sample"))
    assert dict(zip(got["item"], got["score"], strict=True)) == {"a": 5, "b": 1}


def test_a_batch_that_breaks_off_leaves_what_was_there(tmp_path, monkeypatch):
    """Half a file of requests looks like a whole one of fewer items."""
    path = calib.to_batch(ITEMS.head(1), FORM, judge(), tmp_path / "in.jsonl")
    before = path.read_bytes()
    requests, make = iter(range(4)), batch.draws_request

    def breaks(*given: object) -> dict:
        next(requests)
        return make(*given)

    monkeypatch.setattr(batch, "draws_request", breaks)
    with pytest.raises((StopIteration, RuntimeError)):
        calib.to_batch(ITEMS, FORM, judge(), path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
