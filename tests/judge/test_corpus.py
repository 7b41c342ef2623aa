"""Replies of many forms, scales and languages, each with what a person reads in it (`null`: nothing that is sure).

The reader was written by replies.jsonl; replies_held.jsonl was written before it, and only its counts were looked at. A
number that is not the person's is never read; a reading that is missed is counted.
"""

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from test_extract import stream

from calib.judge.replies.extract import extract, read_label
from calib.judge.replies.reply import decode
from calib.judge.scale import Scale

SCALES = {
    "1-5": Scale(),
    "0-10": Scale.of(*range(11)),
    "1-10": Scale.of(*range(1, 11)),
    "yes/no": Scale.of(no=0, yes=1),
    "pair": Scale.of(B=0, tie=0.5, A=1),
}
PLACES = {"form": "label", "think": "line", "json": "json"}
LEAST_RIGHT = {"replies": 504, "replies_held": 214}


def corpus(name: str) -> list[dict]:
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def outcome(one: dict) -> str:
    scale = SCALES[one["scale"]]
    person = dict(zip(scale.labels, scale.values, strict=True)).get(one["reading"])
    score, _ = read_label(one["reply"], scale, PLACES[one["place"]], "quality")
    read = None if math.isnan(score) else score
    return "right" if read == person else "unread" if read is None else "wrong"


def test_there_are_enough_of_them():
    every = corpus("replies") + corpus("replies_held")
    assert len({(one["reply"], one["scale"], one["place"]) for one in every}) >= 400
    assert len({one["form"] for one in every}) >= 30
    assert len({one["language"] for one in every}) >= 10
    assert {one["scale"] for one in every} == set(SCALES)
    assert len(corpus("replies_held")) >= len(every) / 5
    assert all(one["reading"] is None or one["reading"] in SCALES[one["scale"]].labels for one in every)


@pytest.mark.parametrize("name", LEAST_RIGHT)
def test_no_reply_is_read_as_what_it_does_not_say(name):
    outcomes = Counter(map(outcome, corpus(name)))
    assert outcomes["wrong"] == 0
    assert outcomes["right"] >= LEAST_RIGHT[name]


@pytest.mark.parametrize("name", LEAST_RIGHT)
def test_tokens_that_are_certain_say_nothing_else_than_the_text(name):
    for one in corpus(name):
        scale, answer = SCALES[one["scale"]], PLACES[one["place"]]
        (choice,) = decode(stream(*one["reply"])).choices
        rows = extract(choice, scale, answer, "quality", logprobs=True).rows
        read = {row.score: row.weight for row in rows if row.status == "ok"}
        score, _ = read_label(one["reply"], scale, answer, "quality")
        assert set(read) <= {score}  # a 1 at the end of the tokens may have become a 10
