"""Reading replies: token streams with a known truth, texts, stored replies of a judge, and what must always hold."""

import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pandas as pd
import pytest
from hypothesis import assume, example, given, settings, strategies as st

import calib
from calib.judge.replies import extract as extraction, grammar as grammar_module
from calib.judge.replies.extract import RatingRow, read_label
from calib.judge.replies.reply import ReplyChoice, decode
from calib.judge.scale import Scale

FIVE, TEN, YES_NO = Scale(), Scale.of(*range(11)), Scale.of(no=0, yes=1)
HUNDRED, HALVES, SIGNED = Scale.of(*range(101)), Scale.of(1, 1.5, 2), Scale.of(-1, 0, 1)
AGREE = Scale.of(**{"strongly disagree": 1, "disagree": 2, "neutral": 3, "agree": 4, "strongly agree": 5})
VERDICT = Scale(("[[A]]", "[[C]]", "[[B]]"), (0.0, 1.0, 2.0))
BASE = {"3": 0.1, "4": 0.7, "5": 0.2}  # expectation 4.1
TRUE = {3.0: 0.1, 4.0: 0.7, 5.0: 0.2}
NOTHING = RatingRow(math.nan, 1.0, "unread")
FLOAT32 = 1e-6  # what rounding log-probabilities to float32 may move


# --- replies ----------------------------------------------------------------------------------------------------

Top = dict[str, float] | list[tuple[str, float]]
Token = str | tuple[str, Top]


def log(p: float) -> float:
    return math.log(p) if p > 0 else -9999.0


def entry(token: str, top: Top) -> dict:
    pairs = list(top.items()) if isinstance(top, dict) else top
    candidates = [{"token": text, "bytes": list(text.encode()), "logprob": log(p)} for text, p in pairs]
    own = {"token": token, "bytes": list(token.encode()), "logprob": log(dict(pairs).get(token, 0.0))}
    return own | {"top_logprobs": candidates}


def stream(*tokens: Token, finish: str = "stop", **message: object) -> dict:
    """A chat completion that emitted these tokens; a pair brings the top list at its place."""
    pairs = [token if isinstance(token, tuple) else (token, {token: 1.0}) for token in tokens]
    content = {"role": "assistant", "content": "".join(token for token, _ in pairs)} | message
    logprobs = {"content": [entry(*pair) for pair in pairs]}
    return {"choices": [{"index": 0, "message": content, "finish_reason": finish, "logprobs": logprobs}]}


def said(text: object, finish: str = "stop", **message: object) -> dict:
    """A chat completion without token probabilities."""
    return {"choices": [{"message": {"content": text} | message, "finish_reason": finish}]}


def in_json(*score: Token, close: Iterable[Token] = ("}",), reason: Iterable[str] = ("Two", " facts", " miss")) -> dict:
    """What a judge replies that is asked for {"reason": ..., "score": ...}, in tokens as cl100k has them."""
    return stream('{"', "reason", '":', ' "', *reason, '.",', ' "', "score", '":', *score, *close)


def extract(reply: dict, scale: Scale, answer: str, *, logprobs: bool) -> list[RatingRow]:
    return extraction.extract(decode(reply).choices[0], scale, answer, "coherence", logprobs=logprobs).rows


def rows_of(reply: dict, scale: Scale = TEN, answer: str = "label") -> list[RatingRow]:
    return extract(reply, scale, answer, logprobs=True)


def continued(
    reply: dict, goes_on: Callable[[str], dict], scale: Scale = TEN, answer: str = "label"
) -> list[RatingRow]:
    """The rows when every beginning that is left open is continued, as often as it takes."""
    choice, more = decode(reply).choices[0], dict[str, ReplyChoice]()
    while True:
        reading = extraction.extract(choice, scale, answer, logprobs=True, continued=more)
        new = [one for one in reading.open if one.prefix not in more]
        if not new:
            return reading.rows
        more |= {one.prefix: decode(goes_on(one.begun)).choices[0] for one in new}


def shares(rows: list[RatingRow]) -> dict[float, float]:
    return {row.score: row.weight for row in rows if row.status == "ok"}


def about(truth: dict[float, float]) -> object:
    return pytest.approx(truth, abs=FLOAT32)


def mass(rows: list[RatingRow], status: str) -> float:
    return sum(row.weight for row in rows if row.status == status)


def summary(rows: list[RatingRow], scale: Scale = TEN) -> pd.Series:
    """What `calib.summarize` makes of the rows of one reply."""
    frame = pd.DataFrame([row._asdict() for row in rows])
    key = {"item": "i", "criterion": "c", "rater": "j", "method": "logprob", "scale": str(scale)}
    return calib.summarize(frame.assign(**key)).iloc[0]


def expectation(rows: list[RatingRow], scale: Scale = TEN) -> float:
    return float(summary(rows, scale)["score"])


# --- the 23 streams on which DeepEval and Opik were measured, 0 to 10 ---------------------------------------------


class Case(NamedTuple):
    """A stream and how it reads: the true expectation, or a status; `drawn` is what its text alone says."""

    reply: dict
    truth: float | str
    drawn: float | str
    answer: str = "json"
    more: Top | None = None  # what follows a "1" that was not emitted, where the truth depends on it


SPACED = {f" {label}": p for label, p in BASE.items()}
SPELT = {"4": 0.4, " 4": 0.3, " 5": 0.2, "3": 0.1}
SPARSE = {"9": 0.955} | dict.fromkeys("01234", 0.009)
LEAKED = {label: 0.4 * p for label, p in BASE.items()} | {"The": 0.6}
TEN_OR_ONE = [("1", {"1": 0.6, "9": 0.3, "8": 0.1}), ("0", {"0": 0.95, "}": 0.05})]
FIRST = [
    '{"', "score", '":', " ", ("4", BASE), ",", ' "', "reason", '":', ' "', "It", " has", " ", "4", " flaws", '."}',
]  # fmt: skip
STREAMS = {
    "A baseline": Case(in_json(" ", ("4", BASE)), 4.1, 4),
    "B same digit earlier": Case(in_json(" ", ("4", BASE), reason=["It", " has", " ", "4", " flaws"]), 4.1, 4),
    "C score first, same digit later": Case(stream(*FIRST), 4.1, 4),
    "D space inside the token": Case(in_json((" 4", SPACED)), 4.1, 4),
    "E mass split over spellings": Case(in_json(("4", SPELT)), 4.1, 4),
    "F 10 is one token": Case(in_json(" ", ("10", {"10": 0.6, "9": 0.3, "8": 0.1})), 9.5, 10),
    "G 10 is two tokens": Case(in_json(" ", *TEN_OR_ONE), 9.23, 10),
    "H rival 1 means 10": Case(in_json(" ", ("9", {"9": 0.55, "1": 0.35, "8": 0.1})), 9.25, 9, more={"0": 1.0}),
    "I out of range rival": Case(in_json(" ", ("8", {"8": 0.7, "9": 0.17, "7": 0.1, "100": 0.03})), 8.0721649, 8),
    "J 7.5": Case(in_json(" ", ("7", {"7": 0.88, "8": 0.12}), ".", "5"), "off_scale", "off_scale"),
    "K score as a string": Case(in_json(' "', ("4", BASE), close=['"}']), 4.1, 4),
    "L 4/10": Case(in_json(" ", ("4", BASE), "/", "10"), 4.1, 4),
    "L 4/10 bare": Case(stream(("4", BASE), "/", "10"), 4.1, 4, "label"),
    "L 4/5": Case(in_json(" ", ("4", BASE), "/", "5"), "off_scale", "off_scale"),
    "M markdown": Case(stream("**", ("4", BASE), "**"), 4.1, 4, "label"),
    "N bare with a space": Case(stream((" 4", SPACED)), 4.1, 4, "label"),
    "O bare": Case(stream(("4", BASE)), 4.1, 4, "label"),
    "P rare scores": Case(in_json(" ", ("9", SPARSE)), 8.685, 9, more={"}": 1.0}),
    "Q grammar": Case(in_json(" ", ("8", {"The": 0.9, "I": 0.1})), "constrained", 8),
    "Q grammar, -9999": Case(in_json(" ", ("8", {"The": 0.9, "I": 0.1, "8": 0.0})), "constrained", 8),
    "R leaked mass": Case(in_json(" ", ("4", LEAKED)), 4.1, 4),
    "S no logprobs": Case(said('{"reason": "Two facts miss.", "score": 4}'), "no_logprobs", 4),
    "T refusal": Case(said(None, refusal="I cannot help with that."), "refused", "refused"),
    "T null": Case(said(None), "unread", "unread"),
    "U text after": Case(in_json(" ", ("4", BASE), close=["}", "\n", "9", " facts", ",", " ", "2", " wrong"]), 4.1, 4),
    "V null": Case(in_json(" null"), "unread", "unread"),
    "W 11": Case(in_json(" ", ("11", {"11": 0.9, "10": 0.1})), "off_scale", "off_scale"),
}
READ = [name for name, case in STREAMS.items() if isinstance(case.truth, float)]


def test_all_the_streams_of_the_comparison_are_here():
    assert sorted({name[0] for name in STREAMS}) == list("ABCDEFGHIJKLMNOPQRSTUVW")


@pytest.mark.parametrize("name", READ)
def test_streams_give_the_true_expectation(name):
    reply, truth, _, answer, more = STREAMS[name]
    rows = (
        continued(reply, lambda _: stream((next(iter(more)), more)), TEN, answer)
        if more
        else rows_of(reply, TEN, answer)
    )
    assert expectation(rows) == pytest.approx(truth, abs=FLOAT32)


@pytest.mark.parametrize("name", sorted(set(STREAMS) - set(READ)))
def test_streams_without_a_true_expectation_have_a_status(name):
    reply, status, _, answer, _ = STREAMS[name]
    rows = rows_of(reply, TEN, answer)
    assert max(rows, key=lambda row: row.weight).status == status
    assert status == "off_scale" or len(rows) == 1


@pytest.mark.parametrize("name", STREAMS)
def test_the_text_of_the_streams_alone_gives_the_label_or_a_status(name):
    reply, _, drawn, answer, _ = STREAMS[name]
    (row,) = extract(reply, TEN, answer, logprobs=False)
    assert (row.status if math.isnan(row.score) else row.score) == drawn


def test_h_a_rival_that_may_begin_two_labels_is_ambiguous_and_bounded():
    rows = rows_of(STREAMS["H rival 1 means 10"].reply, TEN, "json")
    assert [row for row in rows if row.status == "ambiguous"] == [
        RatingRow(math.nan, pytest.approx(0.35), "ambiguous", 1, 10)
    ]
    assert shares(rows) == about({9.0: 0.55, 8.0: 0.1})
    scores = summary(rows)
    assert scores["low"] == pytest.approx(6.1)  # the 1 means 1
    assert scores["high"] == pytest.approx(9.25)  # the 1 means 10


def test_p_rare_scores_count_and_the_doubt_about_the_1_is_bounded():
    scores = summary(rows_of(STREAMS["P rare scores"].reply, TEN, "json"))
    assert scores["low"] == pytest.approx(8.685)  # the 1 means 1
    assert scores["mass"] == pytest.approx(1 - 0.009)


def test_j_a_number_between_the_labels_is_off_the_scale():
    reply = STREAMS["J 7.5"].reply
    assert mass(rows_of(reply, TEN, "json"), "off_scale") == pytest.approx(0.88)
    # where the scale has halves it is read; that the rival 8 is no 8.5 is one end of its bounds
    rows = rows_of(reply, Scale.of(*(k / 2 for k in range(21))), "json")
    assert shares(rows) == about({7.5: 0.88})
    assert summary(rows)["low"] == pytest.approx(7.5)
    assert [row[3:] for row in rows if row.status == "ambiguous"] == [(8, 8.5)]


def test_r_the_leak_is_reported():
    rows = rows_of(STREAMS["R leaked mass"].reply, TEN, "json")
    assert mass(rows, "off_scale") == pytest.approx(0.6)
    assert summary(rows)["mass"] == pytest.approx(0.4)


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}])
def test_s_no_token_probabilities_is_a_status_not_the_digit(logprobs):
    reply = said("4")
    reply["choices"][0]["logprobs"] = logprobs
    assert not decode(reply).choices[0].has_logprobs
    assert [row.status for row in rows_of(reply)] == ["no_logprobs"]
    assert extract(reply, TEN, "label", logprobs=False) == [RatingRow(4.0, 1.0, "ok")]


@pytest.mark.parametrize("logprobs", [True, False])
@pytest.mark.parametrize("answer", ["label", "line", "json"])
@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (said(None, refusal="I cannot help with that."), "refused"),
        (said(None, "content_filter"), "refused"),
        (said("", "length"), "truncated"),
        (said(None), "unread"),
    ],
)
def test_t_a_reply_without_an_answer_says_why(reply, status, answer, logprobs):
    assert [row.status for row in extract(reply, TEN, answer, logprobs=logprobs)] == [status]


def test_w_an_answer_out_of_range_is_off_the_scale():
    # as for a leak, the labels in the list keep the mass that they have, and the rest is off the scale
    rows = rows_of(STREAMS["W 11"].reply, TEN, "json")
    assert mass(rows, "off_scale") == pytest.approx(0.9)
    assert summary(rows)["mass"] == pytest.approx(0.1)


# --- more streams -----------------------------------------------------------------------------------------------


def test_the_distribution_does_not_depend_on_which_label_was_drawn():
    drawn = [shares(rows_of(stream((token, BASE)))) for token in BASE]
    assert drawn[0] == drawn[1] == drawn[2]


@pytest.mark.parametrize(
    "follows", [[" out", " of", " ", "10"], ["."], [" -", " poor"], [",", " good"], ["\n", "good"], [" (", "good"]]
)
def test_a_label_that_ends_before_something_else_is_complete(follows):
    tokens = [("1", {"1": 0.6, "2": 0.4}), (follows[0], {follows[0]: 0.9, "0": 0.1}), *follows[1:]]
    assert shares(rows_of(stream(*tokens))) == about({1.0: 0.54, 10.0: 0.06, 2.0: 0.4})


@pytest.mark.parametrize("end", ["<|im_end|>", "</s>", ""])
def test_the_token_that_ends_the_reply_ends_the_label(end):
    tokens = [("1", {"1": 0.6, "2": 0.4}), (end, {end: 0.7, "0": 0.2, "th": 0.1})]
    rows = rows_of(stream(*tokens, content="1"))
    assert shares(rows) == about({1.0: 0.42, 10.0: 0.12, 2.0: 0.4})
    assert mass(rows, "off_scale") == pytest.approx(0.06)


@pytest.mark.parametrize("end", ["<|im_end|>", "</s>", ""])
@pytest.mark.parametrize("before", [[], ["\n"], ["\n\n", "**"]])
def test_an_end_that_is_listed_with_the_labels_is_no_label(end, before):
    rows = rows_of(stream(*before, ("4", BASE | {"4": 0.6, end: 0.1})))
    assert shares(rows) == about({3.0: 0.1, 4.0: 0.6, 5.0: 0.2})
    # a token without text may also be a blank: SentencePiece decodes one alone to nothing
    assert mass(rows, "off_scale" if end else "ambiguous") == pytest.approx(0.1)


@pytest.mark.parametrize("impossible", [None, -9999.0, float("-inf"), -3.4e38, float("nan")])
def test_whatever_a_server_writes_for_impossible_has_no_mass(impossible):
    reply = stream(("4", {"4": 1.0, "5": 1.0}))
    reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1]["logprob"] = impossible
    assert rows_of(reply) == [RatingRow(4.0, 1.0, "ok")]


@pytest.mark.parametrize("scale", [FIVE, TEN, HUNDRED])
def test_a_list_of_nothing_but_the_impossible_is_not_read(scale):
    reply = stream(("4", {"4": 0.0, "1": 0.0, "x": 0.0}), "!", ("5", {"5": 1.0}))
    assert [row.status for row in rows_of(reply, scale)] == ["constrained"]
    reply["choices"][0]["logprobs"]["content"][0]["logprob"] = -0.5
    assert rows_of(reply, scale) == [NOTHING]


@pytest.mark.parametrize("space", ["\u2581", "\u0120", " ", "\n"])
@pytest.mark.parametrize("in_message", [True, False])
def test_the_tokenizers_marks_for_a_space_are_spaces(space, in_message):
    top = {space + k: p for k, p in BASE.items()}
    reply = stream((space + "4", top), content=space + "4" if in_message else " 4")
    assert shares(rows_of(reply)) == about(TRUE)
    assert extract(reply, TEN, "label", logprobs=False) == [RatingRow(4.0, 1.0, "ok")]


@pytest.mark.parametrize("excess", [1e-7, 1e-3])
def test_a_list_with_more_than_all_the_mass_is_brought_down_to_it(excess):
    rows = rows_of(stream(("4", {label: p * (1 + excess) for label, p in BASE.items()})))
    assert shares(rows) == about(TRUE)
    assert len(rows) == 3
    assert sum(row.weight for row in rows_of(stream(("4", {"4": 1.0, " 4": 1.0})))) == pytest.approx(1)


def test_a_positive_logprob_is_certainty():
    reply = stream(("4", {"4": 1.0}))
    for place in reply["choices"][0]["logprobs"]["content"]:
        place["logprob"] = place["top_logprobs"][0]["logprob"] = 1e-7
    assert rows_of(reply) == [RatingRow(4.0, 1.0, "ok")]


# --- where the answer is ----------------------------------------------------------------------------------------

SLOT = ("4", BASE)
PLACES = {
    "after hidden reasoning": (["<think>", "It", " has", " 5", " flaws", "</think>", "\n\n", SLOT], "4", "label"),
    "after reasoning that is the answer too": (["4", "</think>", SLOT, "<|im_end|>"], "4", "label"),
    "a line after hidden reasoning": (["Score", ":", " 3", "</think>", "Score", ":", " ", SLOT], "Score: 4", "line"),
    "after an emoji in two tokens": (["\U0001f642", "\n", "Score", ":", " ", SLOT], None, "line"),
    "after a colon with a newline": (["Score", ":\n", SLOT], None, "line"),
    "after a mark with a colon": (["**", "Score", ":**", " ", SLOT], None, "line"),
    "after a name at the start": (["Coherence", " (", "0", "-", "10", "):", " ", SLOT], None, "label"),
    "after a name in a line": (["Score", ":", " Coherence", ":", " ", SLOT], None, "line"),
    "after a name in German": (["Gut", ".\n", "Be", "wertung", ":", " ", SLOT], None, "line"),
    "after a name in Russian": (["\u041e\u0446\u0435\u043d\u043a\u0430", ":", " ", SLOT], None, "line"),
    "after a name in Chinese": (["\u597d\u3002\n**", "\u8bc4\u5206", "**\uff1a", SLOT], None, "line"),
    "after many blanks": (["\n"] * 500 + [SLOT], None, "label"),
    "after many empty tokens": ([""] * 500 + [SLOT], None, "label"),
    "an empty token inside": ([" ", "", SLOT], None, "label"),
    "a list item": (["-", " ", SLOT], None, "label"),
    "json in a fence": (["```", "json", "\n", '{"', "score", '":', " ", SLOT, "}", "\n", "```"], None, "json"),
    "json with prose around": (["In {my}", ' "view":\n', ' {"score": ', SLOT, "}", '\nor {"a": 3}?'], None, "json"),
    "json with a nested score": (['{"a": {"score": 3}, "score": ', SLOT, ', "b": [{"score": 2}]}'], None, "json"),
    "json with a score in a text": (['{"a": "\\"score\\": 3", "score":', " ", SLOT, "}"], None, "json"),
    "json with the score before many more": (
        ['{"reason": "', *["word "] * 20, '", "score": ', SLOT, ', "of": [', *['{"score": 3},'] * 40, "{}]}"],
        None,
        "json",
    ),
    "json with the score after many more": (
        ['{"of": [', *['{"score": 3},'] * 40, '{}], "score": ', SLOT, "}"],
        None,
        "json",
    ),
    "the last json of two that agree": (['{"score": 4}\n{"score": ', SLOT, "}"], None, "json"),
    "json with keys in another case": (['{"Reason": "", "SCORE" : ', SLOT, "}"], None, "json"),
    "json with blanks around the colon": (['{"score"', "\n\t", ":", "\n\n  ", SLOT, "}"], None, "json"),
    "json that is cut off": (['{"score": ', SLOT], None, "json"),
    "json with a text behind the number": (['{"score": "', SLOT, ' - good"}'], None, "json"),
    "a text behind that says score": (["Score", ":", " ", SLOT, "\n", "Thanks"], None, "line"),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_distribution_is_read_at_the_answer(name):
    tokens, content, answer = PLACES[name]
    reply = stream(*tokens) if content is None else stream(*tokens, content=content)
    assert shares(rows_of(reply, TEN, answer)) == about(TRUE)
    assert extract(reply, TEN, answer, logprobs=False) == [RatingRow(4.0, 1.0, "ok")]


def test_tokens_split_characters_as_they_like():
    reply = stream("x", "x", "\n", "Score", ":", " ", SLOT, content="\U0001f642\nScore: 4")
    first, second = reply["choices"][0]["logprobs"]["content"][:2]
    first["bytes"], second["bytes"] = list("\U0001f642".encode()[:2]), list("\U0001f642".encode()[2:])
    assert shares(rows_of(reply, TEN, "line")) == about(TRUE)
    del first["bytes"], second["bytes"]  # a server without bytes: the tokens spell something else before the answer
    assert shares(rows_of(reply, TEN, "line")) == about(TRUE)


@pytest.mark.parametrize("end", ["", "<|im_end|>"])
def test_tokens_that_spell_another_message_with_the_same_answer_are_read(end):
    reply = stream("Cafe", "\n", "Score", ":", " ", SLOT, end, content="Caf\u00e9\nScore: 4")
    assert shares(rows_of(reply, TEN, "line")) == about(TRUE)


@pytest.mark.parametrize("unlisted", [[0], [1], [2], [0, 1, 2]])
def test_missing_lists_elsewhere_do_not_matter(unlisted):
    reply = stream("Good", "\n", "Score", ":", (" 4", SPACED))
    for place in unlisted:
        reply["choices"][0]["logprobs"]["content"][place]["top_logprobs"] = None
    assert shares(rows_of(reply, TEN, "line")) == about(TRUE)


def test_a_missing_list_at_the_answer_is_no_token_probabilities():
    reply = stream("Score", ":", " ", SLOT)
    reply["choices"][0]["logprobs"]["content"][2]["top_logprobs"] = []
    assert [row.status for row in rows_of(reply, TEN, "line")] == ["no_logprobs"]
    reply = stream("Score", ":", " ", SLOT)
    reply["choices"][0]["logprobs"]["content"][3]["top_logprobs"] = []
    assert rows_of(reply, TEN, "line") == [RatingRow(math.nan, 1.0, "ambiguous", 0, 10)]


def test_a_token_that_begins_before_the_answer_counts_given_what_it_says_there():
    # given that the token says ":", 4 has .6 of .75, and what ":" alone goes on to is open
    lists = {": 4": 0.6, ": 3": 0.1, ":": 0.05, " is": 0.25}
    rows = rows_of(stream("Score", (": 4", lists)), TEN, "line")
    assert shares(rows) == about({4.0: 0.8, 3.0: 0.1 / 0.75})
    assert [row for row in rows if row.status != "ok"] == [
        RatingRow(math.nan, pytest.approx(0.05 / 0.75), "ambiguous", 0, 10)
    ]
    more = continued(stream("Score", (": 4", lists)), lambda _: stream((" 5", {" 5": 1.0})), TEN, "line")
    assert shares(more) == about({4.0: 0.8, 3.0: 0.1 / 0.75, 5.0: 0.05 / 0.75})


@pytest.mark.parametrize(
    "tokens",
    [
        [("2", {"2": 0.7, "3": 0.3}), " flaws", " were", " found"],
        [("1", {"1": 0.7, "3": 0.3}), ".", " Good", "\n", "2", ".", " Bad"],
        [("1", {"1": 0.7, "3": 0.3}), " 0"],
        ["**", ("3", {"3": 0.7, "4": 0.3}), "-", "4", "**"],
    ],
)
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_reply_that_begins_like_a_label_and_is_none_is_not_read(tokens, finish):
    status = {"stop": "unread", "length": "truncated"}[finish]
    assert [row.status for row in rows_of(stream(*tokens, finish=finish))] == [status]


def test_a_label_that_is_cut_off_may_be_another():
    reply = stream(("1", {"1": 0.6, "2": 0.4}), finish="length")
    assert extract(reply, TEN, "label", logprobs=False)[0].status == "truncated"
    assert extract(reply, FIVE, "label", logprobs=False) == [RatingRow(1.0, 1.0, "ok")]


# --- labels -----------------------------------------------------------------------------------------------------


def test_labels_that_begin_with_marks():
    tokens = [("[[", {"[[": 0.9, "The": 0.1}), ("A", {"A": 0.6, "B": 0.3, "C": 0.1}), ("]]", {"]]": 0.8, "]": 0.2})]
    assert shares(rows_of(stream("Verdict", ":", " ", *tokens), VERDICT)) == about({0.0: 0.9 * 0.6 * 0.8})
    ends = {"B": "]]", "C": "]]", "]": "]"}
    rows = continued(stream(*tokens), lambda begun: stream(ends[begun[-1]]), VERDICT)
    assert shares(rows) == about({0.0: 0.54, 1.0: 0.09, 2.0: 0.27})


# --- what is not in the list ------------------------------------------------------------------------------------


# --- labels that are cut inside a character -----------------------------------------------------------------------

CHINESE, THUMBS = Scale.parse("差=1|中=2|好=3"), Scale.parse("👎=0|👍=1")
BAD = (b"\xe5", b"\xb7", b"\xae")  # 差; 好 begins with the same byte


def bytes_of(*tokens: tuple[bytes, list[tuple[bytes, float]]], message: str) -> dict:
    """A reply whose tokens are bytes."""
    places = []
    for token, top in tokens:
        listed = [{"token": "?", "bytes": list(one), "logprob": log(p)} for one, p in top]
        places.append({"token": "?", "bytes": list(token), "logprob": log(dict(top)[token]), "top_logprobs": listed})
    return {"choices": [{"message": {"content": message}, "logprobs": {"content": places}}]}


def test_first_bytes_in_another_case():
    scale = Scale.parse("östlich=1|ärgerlich=2|weder=3")  # Ö and Ä share their first byte, in either case
    rows = rows_of(
        bytes_of((b"weder", [(b"weder", 0.5), ("Ö".encode()[:1], 0.3), (b"\xe2", 0.2)]), message="weder"), scale
    )
    assert [row[1:] for row in rows if row.status == "ambiguous"] == [(pytest.approx(0.3), "ambiguous", 1, 2)]
    assert mass(rows, "off_scale") == pytest.approx(0.2)
    greek = Scale.parse("ωραίο=1|κακό=2")  # capital omega begins with another byte than the small one
    rows = rows_of(
        bytes_of(("κακό".encode(), [("κακό".encode(), 0.6), ("Ω".encode()[:1], 0.4)]), message="κακό"), greek
    )
    assert [row[1:] for row in rows if row.status == "ambiguous"] == [(pytest.approx(0.4), "ambiguous", 1, 2)]


def named(*tokens: tuple[str, Top], message: str) -> dict:
    """A reply of a server that sends no bytes."""
    reply = stream(*tokens, content=message)
    for place in reply["choices"][0]["logprobs"]["content"]:
        for one in (place, *place["top_logprobs"]):
            del one["bytes"]
    return reply


@pytest.mark.parametrize(
    ("first", "second", "other"),
    [
        ("bytes:\\xe5", "bytes:\\xb7\\xae", "bytes:\\xa5\\xbd"),  # OpenAI
        ("\\xe5", "\\xb7\\xae", "\\xa5\\xbd"),  # DeepSeek
        ("<0xE5>", "<0xB7><0xAE>", "<0xA5><0xBD>"),  # SentencePiece
        ("\u00e5", "\u00b7\u00ae", "\u00a5\u00bd"),  # the alphabet of byte-level tokenizers
    ],
)
def test_the_names_of_bytes_are_read(first, second, other):
    tokens = [(first, {first: 0.7, "x": 0.3}), (second, {second: 0.8, other: 0.2})]
    rows = rows_of(named(*tokens, message="差"), CHINESE)
    assert shares(rows) == about({1.0: 0.56, 3.0: 0.14})
    # where the message itself has such a text it is no name
    literal = Scale.parse(r"\xe5=1|<0xE5>=2")
    assert shares(rows_of(named(("\\xe5", {"\\xe5": 0.6, "<0xE5>": 0.4}), message="\\xe5"), literal)) == about(
        {1.0: 0.6, 2.0: 0.4}
    )


@pytest.mark.parametrize("lead", ["", "好。\nScore: "])
def test_bytes_that_a_server_does_not_tell_may_be_any_label_with_such(lead):
    # as ollama and older vLLM write them; 中 came as one token
    tokens = [
        ("\ufffd", [("\ufffd", 0.5), ("\ufffd", 0.2), ("中", 0.2), ("x", 0.1)]),
        ("\ufffd\ufffd", {"\ufffd\ufffd": 1.0}),
    ]
    scale = Scale.parse("no=0|差=1|中=2|好=3")
    rows = rows_of(named(*([lead] if lead else []), *tokens, message=lead + "差"), scale, "line" if lead else "label")
    assert shares(rows) == about({2.0: 0.2})
    assert [row[1:] for row in rows if row.status == "ambiguous"] == [(pytest.approx(0.7), "ambiguous", 1, 3)]


def test_a_list_of_last_parts_alone_says_nothing_about_the_label():
    # as llama.cpp writes it: the list of the token that makes the character whole, under all of its bytes
    place = {"token": "差", "bytes": list("差".encode()), "logprob": log(0.98)}
    place["top_logprobs"] = [
        {"token": "\ufffd", "bytes": [last], "logprob": log(p)} for last, p in ((0xAE, 0.98), (0xAA, 0.02))
    ]
    reply = {"choices": [{"message": {"content": "差"}, "logprobs": {"content": [place]}}]}
    assert rows_of(reply, CHINESE) == [RatingRow(math.nan, 1.0, "ambiguous", 1, 3)]


# --- token probabilities that are none ----------------------------------------------------------------------------

BAD_LOGPROBS = {
    "positive": [("4", 0.5), ("3", -3.0)],
    "barely positive": [("4", 0.02)],
    "probabilities in their place": [("4", 0.7), ("3", 0.2), ("5", 0.1)],
    "more than all": [("4", math.log(0.7)), ("3", math.log(0.7))],
    "a little more than all": [("4", math.log(0.9)), ("3", math.log(0.12))],
    "all are certain": [("4", 0.0), ("3", 0.0), ("5", 0.0)],
    "infinite": [("4", math.inf), ("3", -1.0)],
    "huge": [("4", 1e300), ("3", -1.0)],
    "one twice": [("4", math.log(0.3)), ("4", math.log(0.3)), ("3", math.log(0.4))],
    "a rival twice": [("4", math.log(0.5)), ("3", math.log(0.1)), ("5", math.log(0.1)), ("3", math.log(0.1))],
}


@pytest.mark.parametrize("name", BAD_LOGPROBS)
def test_probabilities_that_are_none_have_a_status(name):
    reply = stream(("4", {"4": 0.5}))
    (place,) = reply["choices"][0]["logprobs"]["content"]
    place["top_logprobs"] = [{"token": token, "logprob": logprob} for token, logprob in BAD_LOGPROBS[name]]
    body = json.dumps(reply).replace("Infinity", "1e999").encode()
    choice = decode(body).choices[0]
    assert extraction.extract(choice, FIVE, "label", logprobs=True).rows == [RatingRow(math.nan, 1.0, "bad_logprobs")]
    kept = decode(decode(body).pack()).choices[0]
    assert extraction.extract(kept, FIVE, "label", logprobs=True).rows == [RatingRow(math.nan, 1.0, "bad_logprobs")]


def test_probabilities_that_are_none_in_a_continuation_leave_it_open():
    continued_badly = continued(stream(("9", {"9": 0.6, "1": 0.4})), lambda _: stream(("0", {"0": 0.9, "\n": 0.9})))
    assert mass(continued_badly, "ambiguous") == pytest.approx(0.4)


def test_two_tokens_that_read_the_same_are_bounded():
    # as SentencePiece decodes "4" and " 4" alone: one may also be the other told again
    rows = rows_of(stream(("4", [("4", 0.5), ("4", 0.1), ("3", 0.4)])), FIVE)
    assert shares(rows) == about({4.0: 0.5, 3.0: 0.4})
    scores = summary(rows, FIVE)
    assert scores["high"] == pytest.approx(0.6 * 4 + 0.4 * 3)
    assert scores["low"] == pytest.approx((0.5 * 4 + 0.4 * 3) / 0.9)


def test_a_one_beside_a_ten_of_one_token_is_bounded():
    rows = rows_of(stream(("9", {"9": 0.6, "1": 0.3, "10": 0.1})))
    assert shares(rows) == about({9.0: 0.6, 1.0: 0.3, 10.0: 0.1})
    assert [row.score for row in rows if not math.isnan(row.low)] == [1.0]
    scores = summary(rows)
    assert scores["low"] == pytest.approx(scores["score"])
    assert scores["high"] == pytest.approx(0.6 * 9 + 0.4 * 10)


# --- continuations ----------------------------------------------------------------------------------------------

RIVAL = stream(("9", {"9": 0.6, "1": 0.4}))


@pytest.mark.parametrize("end", ["\n", "<|im_end|>", ""])
def test_a_continuation_that_ends_the_reply_settles_a_beginning(end):
    content = {} if end == "\n" else {"content": ""}
    rows = continued(RIVAL, lambda _: stream((end, {end: 0.75, "0": 0.25}), **content))
    assert shares(rows) == about({9.0: 0.6, 1.0: 0.3, 10.0: 0.1})


def test_an_answer_off_the_scale_leaves_what_else_is_continued_on_it():
    rows = continued(stream(("7", {"7": 0.6, "1": 0.4}), ".", "5"), lambda _: stream("0"))
    assert shares(rows) == about({10.0: 0.4})
    assert mass(rows, "off_scale") == pytest.approx(0.6)


@pytest.mark.parametrize(
    "useless", [said("0"), said(None), stream(("}", {"0": 0.9, "\n": 0.1})), stream(("0", []))], ids=range(4)
)
def test_a_continuation_that_says_nothing_leaves_it_open(useless):
    rows = continued(RIVAL, lambda _: useless)
    assert shares(rows) == about({9.0: 0.6})
    assert [row for row in rows if row.status == "ambiguous"] == [
        RatingRow(math.nan, pytest.approx(0.4), "ambiguous", 1, 10)
    ]


def test_blanks_without_end_are_not_continued_without_end():
    asked = []

    def goes_on(begun: str) -> dict:
        asked.append(begun)
        return stream(("\n", {"\n": 0.99, "3": 0.01}))

    rows = continued(stream(("4", {"4": 0.5, "\n": 0.5})), goes_on)
    assert len(asked) < 30
    assert sum(row.weight for row in rows) == pytest.approx(1)
    assert mass(rows, "ambiguous") > 0.3


# --- the noise floor --------------------------------------------------------------------------------------------


def test_the_noise_floor_is_off_and_counts_what_it_hides():
    choice = decode(stream(("4", {"4": 0.9, "1": 0.04, "5": 0.03, "2": 0.02, "x": 0.01}))).choices[0]

    def read(**options: float) -> list[RatingRow]:
        return extraction.extract(choice, FIVE, "label", logprobs=True, **options).rows

    assert shares(read()) == about({4.0: 0.9, 1.0: 0.04, 5.0: 0.03, 2.0: 0.02})
    assert read() == read(floor=0.0) == read(floor=0.02 - 1e-5)
    rows = read(floor=0.035)
    assert shares(rows) == about({4.0: 0.9, 1.0: 0.04})
    assert [row for row in rows if row.status == "ambiguous"] == [
        RatingRow(math.nan, pytest.approx(0.05), "ambiguous", 2, 5)
    ]
    assert mass(rows, "off_scale") == pytest.approx(0.01)
    scores = summary(rows, FIVE)
    assert scores["low"] <= expectation(read(), FIVE) <= scores["high"]


# --- texts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["4", " 4", "4.", "4/5", "**4**", '"4"', "`4`", "# 4", "4.0", "[4]", "(4)", "4 - good", "4, because"]
)
@pytest.mark.parametrize("lead", ["", "Score: ", "Coherence: ", "Coherence (1-5): ", "**Rating**: ", "rating = "])
def test_a_label_at_the_start_is_read(lead, text):
    assert read_label(lead + text, FIVE, "label", "coherence") == (4.0, "ok")


@pytest.mark.parametrize("logprobs", [True, False])
def test_reasoning_that_was_cut_off_has_no_score(logprobs):
    reply = stream("A", " score", ":", " 3", " would", " be", " too", " low", " because", finish="length")
    assert [row.status for row in extract(reply, FIVE, "line", logprobs=logprobs)] == ["truncated"]


# --- replies that hold nothing -----------------------------------------------------------------------------------

EMPTY = [
    {"choices": [{}]}, {"choices": [{"message": None}]}, {"choices": [{"message": {"content": None}}]},
    {"choices": [{"message": {"content": ""}, "logprobs": None}]}, {"choices": [{"message": "4"}]},
    {"choices": [{"text": "4"}]},
]  # fmt: skip


@pytest.mark.parametrize("reply", EMPTY)
@pytest.mark.parametrize("logprobs", [True, False])
@pytest.mark.parametrize("answer", ["label", "line", "json"])
def test_a_reply_that_holds_nothing_is_unread(reply, answer, logprobs):
    assert extract(reply, FIVE, answer, logprobs=logprobs) == [NOTHING]


@pytest.mark.parametrize(
    "place",
    [
        {"token": "4"}, {"token": "4", "top_logprobs": None}, {"token": "4", "top_logprobs": []},
        {"token": "4", "bytes": None, "logprob": 0.0, "top_logprobs": []},
        {"token": "4", "logprob": 0.0, "top_logprobs": {"4": 0.0}}, 1, None,
    ],
)  # fmt: skip
def test_places_without_a_list_are_no_token_probabilities(place):
    reply = said("4")
    reply["choices"][0]["logprobs"] = {"content": [place]}
    assert [row.status for row in rows_of(reply)] == ["no_logprobs"]


# --- what lists of candidates say, in full ------------------------------------------------------------------------

CASED, WORST_BEST = Scale(("a", "A", "b"), (1.0, 2.0, 3.0)), Scale.of(poor=1, acceptable=2, excellent=3)
STARS, ONE_OF_TWO = Scale(("4 stars", "5 stars", "1-2"), (4.0, 5.0, 1.5)), ("1", {"1": 0.6, "2": 0.4})
UP = "\U0001f44d".encode()  # its first three bytes are those of a thumb down, too
# a reply with its scale and pattern: the mass of each score, and of what is none, with its bounds
READINGS: dict[str, tuple[dict, Scale, str, dict, dict]] = {
    "another beginning": (stream(("The", {"The": 0.5, "4": 0.3, "2": 0.2}), " text"), TEN, "label",
        {4: 0.3, 2: 0.2}, {"off_scale": 0.5}),
    "a mere possibility": (stream(("The", {"The": 0.95, "4": 0.05}), " text"), TEN, "label", {}, {"unread": 1}),
    "any case": (stream(("Yes", {"Yes": 0.5, " yes": 0.2, "NO": 0.2, "Maybe": 0.1})), YES_NO, "label",
        {1: 0.7, 0: 0.2}, {"off_scale": 0.1}),
    "labels that differ by case": (stream(("A", {"A": 0.6, "a": 0.4})), CASED, "label", {2: 0.6, 1: 0.4}, {}),
    "a word in several tokens": (
        stream(("accept", {"accept": 0.8, "excellent": 0.2}), ("able", {"able": 0.9, "ed": 0.1})), WORST_BEST, "label",
        {2: 0.72, 3: 0.2}, {"off_scale": 0.08}),
    "two words": (
        stream(("strongly", {"strongly": 0.7, "agree": 0.3}), (" agree", {" agree": 0.9, " disagree": 0.1})),
        AGREE, "label", {5: 0.63, 1: 0.07, 4: 0.3}, {}),
    "a beginning beside its whole label": (
        stream(("excellent", {"excellent": 0.6, "ex": 0.3, "poor": 0.1})), Scale.of(poor=1, excellent=3), "label",
        {3: 0.6, 1: 0.1}, {"ambiguous": (0.3, 3, 3)}),
    "an end before another token": (stream(ONE_OF_TWO, ("\n", {"\n": 0.9, "0": 0.1}), "Good"), TEN, "label",
        {1: 0.54, 10: 0.06, 2: 0.4}, {}),
    "an end that holds the message": (  # as in AlpacaEval
        stream(("m", {"m": 0.7, "M": 0.3}), "<|im_end|>", content="m"), Scale(("m", "M"), (1.0, 2.0)), "label",
        {1: 0.7, 2: 0.3}, {}),
    "a label that is cut off": (stream(ONE_OF_TWO, finish="length"), TEN, "label",
        {2: 0.4}, {"ambiguous": (0.6, 1, 10)}),
    "a hundred in three tokens": (stream("1", "0", "0"), TEN, "label", {}, {"off_scale": 1}),
    "a 1 beside a 10 of one token": (stream(("1", {"1": 0.6, "2": 0.3, "10": 0.1})), TEN, "label",
        {1: 0.6, 2: 0.3, 10: 0.1}, {}),
    "what was emitted settles it": (stream(("1", {"1": 0.6, "2": 0.3, "10": 0.1}), ("0", {"0": 0.5, "\n": 0.5})),
        TEN, "label", {1: 0.3, 2: 0.3, 10: 0.4}, {}),
    "a sign": (stream("Score", ":", " ", ("-", {"-": 0.6, "0": 0.3, "1": 0.1}), ("1", {"1": 0.9, "2": 0.1})),
        SIGNED, "line", {-1: 0.54, 0: 0.3, 1: 0.1}, {"off_scale": 0.06}),
    "a point": (stream(ONE_OF_TWO, (".", {".": 0.8, "\n": 0.2}), ("5", {"5": 0.9, "0": 0.05, "7": 0.05})),
        HALVES, "label", {1: 0.12 + 0.024, 1.5: 0.432, 2: 0.4}, {"off_scale": 0.024}),
    "a number off the scale": (stream(ONE_OF_TWO, ("1", {"1": 0.5, "\n": 0.3, "0": 0.2})), TEN, "label",
        {1: 0.18, 10: 0.12, 2: 0.4}, {"off_scale": 0.3}),
    "a rival off the scale": (STREAMS["I out of range rival"].reply, TEN, "json",
        {8: 0.7, 9: 0.17, 7: 0.1}, {"off_scale": 0.03}),
    "a label that begins with a number": (stream("4", " stars"), STARS, "label", {4: 1}, {}),
    "a short list": (stream(("4", {"4": 0.7, "3": 0.2})), FIVE, "label",
        {4: 0.7, 3: 0.2}, {"unseen": (0.1, 1, 5)}),
    # each may have many spellings: how little the least one listed has bounds nothing
    "a short list with something else": (stream(("4", {"4": 0.7, "3": 0.2, "x": 0.01})), FIVE, "label",
        {4: 0.7, 3: 0.2}, {"off_scale": 0.01, "unseen": (0.09, 1, 5)}),
    # what is not shown may be any label in spellings that are not shown, of labels that are shown, too
    "a short list of some labels": (stream(("4", {"5": 0.5, "x": 0.2, "4": 2e-4})), FIVE, "label",
        {5: 0.5, 4: 2e-4}, {"off_scale": 0.2, "unseen": (0.2998, 1, 5)}),
    "a short list of all labels": (stream(("4", {"1": 0.1, "2": 0.1, "3": 0.1, "4": 0.3, "5": 0.1})), FIVE, "label",
        {1: 0.1, 2: 0.1, 3: 0.1, 4: 0.3, 5: 0.1}, {"unseen": (0.3, 1, 5)}),
    "a list of its own": (stream(("1", {"1": 0.9, "2": 0.02, "3": 0.02}), ("0", {"0": 0.5, "\n": 0.499999, "x": 1e-6})),
        TEN, "label", {1: 0.45, 2: 0.02, 3: 0.02, 10: 0.45}, {"off_scale": 1e-6, "unseen": (0.06, 0, 10)}),
    # what is not shown after a label may have ended it
    "a short list after a label": (stream(ONE_OF_TWO, ("\n", {"\n": 0.7, "0": 0.1})), TEN, "label",
        {1: 0.42, 10: 0.06, 2: 0.4}, {"unseen": (0.12, 1, 10)}),
    "a short list of blanks after a label": (stream(ONE_OF_TWO, ("\n", {"\n": 0.7, " ": 0.1})), TEN, "label",
        {1: 0.48, 2: 0.4}, {"unseen": (0.12, 1, 10)}),
    "a refusal in words": (stream(("I", {"I": 0.9999, "4": 1e-5}), " cannot", refusal="I cannot"), TEN, "label",
        {}, {"refused": 1}),
    "another message": (stream(("4", BASE), content="5"), TEN, "label", {}, {"unread": 1}),
    "a chain that was cut off before its label": (stream("Fair", ".", "\n", "Score", ":", finish="length"), TEN, "line",
        {}, {"truncated": 1}),
    "no probabilities after the first token": (stream(ONE_OF_TWO, ("0", {"0": 0.9, "\n": 0.9})), TEN, "label",
        {}, {"bad_logprobs": 1}),
    # as vLLM adds it to the list; among others that are as unlikely it may have been drawn
    "a forced token": (stream(("8", {"The": 0.9, "8": 1e-6, "I": 0.05})), TEN, "label", {}, {"constrained": 1}),
    "a rare draw": (stream(("8", BASE | {"5": 0.19, "8": 1e-5, "I": 1e-6})), TEN, "label",
        {3: 0.1, 4: 0.7, 5: 0.19, 8: 1e-5}, {"off_scale": 1e-6, "unseen": (0.009989, 0, 10)}),
    "the first byte of two labels": (
        bytes_of(("中".encode(), [(BAD[0], 0.7), ("中".encode(), 0.2), (b"x", 0.1)]), message="中"), CHINESE, "label",
        {2: 0.2}, {"ambiguous": (0.7, 1, 3), "off_scale": 0.1}),
    "the bytes of the label drawn": (
        bytes_of((BAD[0], [(BAD[0], 0.7), ("中".encode(), 0.3)]), (BAD[1], [(BAD[1], 0.9), (b"\xa5\xbd", 0.1)]),
            (BAD[2], [(BAD[2], 1.0)]), message="差"),
        CHINESE, "label", {1: 0.63, 3: 0.07, 2: 0.3}, {}),
    # as vLLM writes them: nothing, and the whole character at its last part, where it is all but certain
    "parts of a character without text": (
        stream(("", [("", 0.4), ("", 0.3), ("中", 0.3)]), ("", {"": 1.0}), ("差", {"差": 0.99, "好": 0.01})),
        CHINESE, "label", {2: 0.3}, {"ambiguous": (0.7, 1, 3)}),
    "a thumb in two tokens": (
        bytes_of((UP[:3], [(UP[:3], 1.0)]), (UP[3:], [(UP[3:], 0.6), ("👎".encode()[3:], 0.4)]), message="👍"),
        THUMBS, "label", {1: 0.6, 0: 0.4}, {}),
    "a thumb beside one that is begun": (bytes_of((UP, [(UP, 0.8), (UP[:3], 0.2)]), message="👍"), THUMBS, "label",
        {1: 0.8}, {"ambiguous": (0.2, 0, 1)}),
}  # fmt: skip


@pytest.mark.parametrize("name", READINGS)
def test_readings(name):
    reply, scale, answer, scores, others = READINGS[name]
    rows = rows_of(reply, scale, answer)
    assert shares(rows) == about(scores)
    rest = {row.status: (row.weight, row.low, row.high) for row in rows if row.status != "ok"}
    bounded = {status: one if isinstance(one, tuple) else (one, math.nan, math.nan) for status, one in others.items()}
    assert rest == {status: pytest.approx(one, abs=FLOAT32, nan_ok=True) for status, one in bounded.items()}
    assert len(rows) == len(scores) + len(others)


# --- hostile texts ----------------------------------------------------------------------------------------------

LONG = 1_000_000  # with a step for each pair of characters this were hours
HOSTILE = {
    "blanks": " " * LONG + "x", "newlines": "\n" * LONG, "blanks after a lead": "score: a" + " " * LONG,
    "blanks inside a lead": "Score of" + " " * LONG + "x", "blanks before a dash": "Score: 4" + " " * LONG + "x",
    "leads": "score:" * (LONG // 6), "list items": "- " * (LONG // 2),
    "lines that begin like a lead": "the\n" * (LONG // 4), "marks": "score: " + "_" * LONG + "x",
    "marks and blanks": "_ " * (LONG // 2), "digits": "score: " + "4" * LONG + "x", "quotes": '{"' + '"' * LONG,
    "strings": "{" + '"a"' * (LONG // 3), "backslashes": '{"' + "\\" * (LONG + 1),
    "a text without end": '{"score": {"' + "a" * LONG, "prose without end": "{" + "a" * LONG, "open braces": "{" * LONG,
    "braces": "{}" * (LONG // 2), "a key before blanks": '{"score"' + " " * LONG,
    "objects": '{"score": null}' * (LONG // 15),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_huge_reply_is_read_in_time(name):
    for scale in (FIVE, AGREE, VERDICT):
        for answer in ("label", "line", "json"):
            assert read_label(HOSTILE[name], scale, answer)[1] in ("unread", "off_scale")


def test_a_numbered_list_is_looked_for_in_time():
    assert read_label("1. x" + "\n" * LONG + "x", FIVE, "label") == (1.0, "ok")
    assert read_label("1. x" + "\n" * LONG + "2. x", FIVE, "label")[1] == "unread"


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["label", "line", "json"])
def test_the_answer_after_a_huge_text_is_found(answer):
    text = {"label": " ", "line": "score: a\n", "json": '{"score": "\\" {"}\n'}[answer] * 100_000
    text += {"label": "4", "line": "Score: 4", "json": '{"score": 4}'}[answer]
    assert read_label(text, FIVE, answer) == (4.0, "ok")


@pytest.mark.slow
@pytest.mark.parametrize("piece", [" ", "*", "4", "{", "a", '"'])
def test_huge_candidates_are_read_in_time(piece):
    rows = rows_of(stream(("4", {"4": 0.5, piece * LONG + "x": 0.3, "5": 0.2})), AGREE)
    assert len(rows) == 1
    rows = rows_of(stream(("4", {"4": 0.5, piece * LONG + "x": 0.3, "5": 0.2})))
    assert shares(rows) == about({4.0: 0.5, 5.0: 0.2})
    assert mass(rows, "off_scale") == pytest.approx(0.3)


def test_what_is_remembered_is_bounded():
    grammar = grammar_module.grammar_of(FIVE, "label")
    for k in range(grammar_module._MEANINGS_KEPT + 100):
        grammar.meaning(b"token %d" % k)
    grammar.meaning(b"x" * 1000)
    assert len(grammar.meanings) <= grammar_module._MEANINGS_KEPT + 1
    assert max(map(len, grammar.meanings)) < 100


# --- a real judge's stored token probabilities --------------------------------------------------------------------

MODELS = Scale(("m", "M"), (1.0, 2.0))
needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")


def alpaca(judged: str) -> list[tuple[float, list[RatingRow], str]]:
    """Stored preference, rows and text of each judgement of AlpacaEval 2 that carries token probabilities."""
    path = Path(os.environ["CALIB_DATA"], "alpaca_eval/results", judged, "weighted_alpaca_eval_gpt4_turbo")
    found = [
        (one["preference"], one["raw_completion"] or {}) for one in json.loads((path / "annotations.json").read_text())
    ]
    replies = [(preference, {"choices": [choice]}) for preference, choice in found if choice.get("logprobs")]
    return [(p, rows_of(reply, MODELS), decode(reply).choices[0].text) for p, reply in replies]


@needs_data
@pytest.mark.parametrize(("judged", "n"), [("gpt4_0613_concise", 800), ("vicuna-7b", 803)])
def test_alpaca_eval_s_own_reading_of_its_token_probabilities_is_ours(judged, n):
    # tatsu-lab/alpaca_eval, logprob_parser: P(M) / (P(M) + P(m)), plus 1; the order of the two texts was random
    stored = alpaca(judged)
    assert len(stored) == n
    for preference, rows, _ in stored:
        read = shares(rows)
        q = read.get(2.0, 0.0) / sum(read.values())
        assert min(abs(preference - (1 + q)), abs(preference - (2 - q))) < FLOAT32


@pytest.mark.slow
@needs_data
def test_judgements_with_little_mass_on_the_labels_are_flagged():
    rows = min((rows for _, rows, _ in alpaca("gpt4_0613_concise")), key=lambda rows: sum(shares(rows).values()))
    scores = summary(rows, MODELS)
    assert scores["mass"] == pytest.approx(1 - 0.974, abs=5e-4)
    assert mass(rows, "off_scale") == pytest.approx(0.973, abs=5e-4)
    assert scores["mass"] < 0.5 < mass(rows, "off_scale")


@needs_data
def test_a_judgement_that_drew_another_word_is_read_all_the_same():
    (rows,) = (rows for _, rows, text in alpaca("vicuna-7b") if text == "Neither")
    assert sum(shares(rows).values()) == pytest.approx(0.36, abs=5e-4)
    assert mass(rows, "off_scale") == pytest.approx(0.64, abs=1e-3)


# --- what must always hold --------------------------------------------------------------------------------------

TOKENS = st.sampled_from([*map(str, range(12)), " 4", "**4**", "4.", "x", " the", "", " ", "100", "-1", "\n", "\uff11"])
LISTS = st.dictionaries(TOKENS, st.floats(1e-6, 1), min_size=1, max_size=12).flatmap(
    lambda raw: st.floats(0.05, 1).map(lambda total: {k: total * v / sum(raw.values()) for k, v in raw.items()})
)


def same(first: list[RatingRow], second: list[RatingRow]) -> bool:
    def plain(rows: list[RatingRow]) -> dict:
        return {(row.status, str(row.score), str(row.low), str(row.high)): row.weight for row in rows}

    return plain(first) == pytest.approx(plain(second), abs=1e-12)


@pytest.mark.slow
@given(LISTS, LISTS, st.randoms())
def test_the_order_of_the_lists_does_not_matter(first, second, random):
    tokens = [(max(top, key=top.get), list(top.items())) for top in (first, second)]
    rows = rows_of(stream(*tokens))
    for _, top in tokens:
        random.shuffle(top)
    assert same(rows, rows_of(stream(*tokens)))


SPELLINGS = ["4", " 4", '"4', "**4", "*4", "\t4", "\n4", "4.", "4\n", "4/5", " 4.", "(4"]


@given(st.lists(st.floats(0.01, 1), min_size=len(SPELLINGS), max_size=len(SPELLINGS)), st.randoms())
def test_a_label_split_over_its_spellings_is_the_same_label(parts, random):
    top = [(spelling, 0.7 * part / sum(parts)) for spelling, part in zip(SPELLINGS, parts, strict=True)]
    top += [("3", 0.1), ("5", 0.15), (" 5", 0.05)]
    random.shuffle(top)
    rows = rows_of(stream(("4", top)), FIVE)
    assert shares(rows) == about(TRUE)
    assert len(rows) == 3


@given(LISTS)
def test_the_rows_account_for_all_the_mass(top):
    rows = rows_of(stream((max(top, key=top.get), top)))
    assume(len(rows) > 1 or rows[0].status in ("ok", "off_scale", "ambiguous"))
    reported = sum(mass(rows, status) for status in ("ok", "off_scale", "ambiguous"))
    remainder = 1 - sum(top.values())
    assert reported + remainder == pytest.approx(1, abs=FLOAT32)
    assert mass(rows, "unseen") <= max(remainder, 0) + FLOAT32


@pytest.mark.slow
@settings(deadline=None)
@given(LISTS, LISTS, st.sampled_from([0.0, 0.1]))
@example({"0": 0.5, "1": 0.5}, {"0": 1.0}, 0.0)
def test_the_expectation_lies_between_its_bounds(first, second, floor):
    tokens = [(max(top, key=top.get), top) for top in (first, second)]
    choice = decode(stream(*tokens)).choices[0]
    scores = summary(extraction.extract(choice, TEN, "label", logprobs=True, floor=floor).rows)
    assume(math.isfinite(scores["score"]))
    assert scores["low"] - 1e-9 <= scores["score"] <= scores["high"] + 1e-9


@given(LISTS, LISTS)
def test_two_places_account_for_no_more_than_all_the_mass(first, second):
    token, follows = max(first, key=first.get), max(second, key=second.get)
    rows = rows_of(stream((token, first), (follows, second)))
    assert sum(row.weight for row in rows if row.status != "unseen") <= 1 + FLOAT32
    assert all(0 <= row.weight <= 1 + FLOAT32 for row in rows)


@given(st.text(max_size=60))
def test_any_text_is_read_or_has_a_status(text):
    for scale in (FIVE, TEN, YES_NO, AGREE, VERDICT, HALVES):
        for answer in ("label", "line", "json"):
            score, status = read_label(text, scale, answer)
            assert (status == "ok") == (not math.isnan(score))
            assert math.isnan(score) or score in set(scale.values)


# --- a model that is known exactly --------------------------------------------------------------------------------

MARKS, ENDS = (" ", "**", '"', "\n"), ("\n", "**", "</s>", "")


class Model:
    """A random distribution over the next token after anything that it has written of its answer.

    It writes marks, then a label in pieces, then an end. With `strays` it also writes what is no label; `plain`
    leaves the marks out, so that each label has one spelling.
    """

    def __init__(self, seed: int, scale: Scale, *, strays: bool = False, plain: bool = False):
        self.seed, self.strays, self.plain, self.digits = seed, strays, plain, scale.numeric
        self.labels = dict(zip(scale.labels, scale.values, strict=True))

    def next(self, begun: str) -> dict[str, float]:
        """The distribution; empty where the answer is complete."""
        rng = Random(f"{self.seed}/{begun}")
        core = begun.lstrip("".join(MARKS))
        rests = [label[len(core) :] for label in self.labels if label.startswith(core) and label != core]
        if not rests:
            return {}
        pieces = {rest[: 1 if self.digits else rng.randint(1, len(rest))] for rest in rests}
        pieces = set(rng.sample(sorted(pieces), min(len(pieces), 5)))
        if core:
            pieces |= set(rng.sample(ENDS, 2) if core.rstrip(".") in self.labels else ["x"] * self.strays)
        else:
            pieces |= {"The", "</s>"} if self.strays else set()
            if len(begun) < 3 and not self.plain:
                pieces |= {rng.choice(MARKS) + piece for piece in pieces} | set(rng.sample(MARKS, 2))
        weights = {piece: rng.random() ** 3 + 1e-2 for piece in sorted(pieces)}
        return {piece: weight / sum(weights.values()) for piece, weight in weights.items()}

    def value(self, said: str) -> float:
        """Of a whole answer; NaN if it is no label."""
        core = said.lstrip("".join(MARKS))
        core = next((core.removesuffix(end) for end in ENDS if end and core.endswith(end)), core)
        return self.labels.get(core, self.labels.get(core.rstrip("."), math.nan))

    def truth(self, begun: str = "", share: float = 1.0, *, ended: bool = False) -> dict[float, float]:
        """The exact distribution of what it answers, by value; what is no label is left out."""
        if ended or not (top := self.next(begun)):
            value = self.value(begun)
            return {} if math.isnan(value) else {value: share}
        total: dict[float, float] = {}
        for piece, p in top.items():
            for value, part in self.truth(begun + piece, share * p, ended=not piece).items():
                total[value] = total.get(value, 0.0) + part
        return total

    def draw(self, rng: Random) -> list[tuple[str, dict[str, float]]]:
        """The tokens of one answer that is a label, with their lists."""
        while True:
            said, tokens = "", []
            while (top := self.next(said)) and (not tokens or tokens[-1][0]):
                tokens.append((rng.choice(list(top)), top))
                said += tokens[-1][0]
            if not math.isnan(self.value(said)):
                return tokens

    def reply(self, rng: Random, lead: str) -> tuple[dict, str]:
        """A reply that holds such an answer after the lead, and the pattern to read it by."""
        before, after, answer = LEADS[lead]
        drawn = self.draw(rng)
        if lead == "glued":  # the first token of the answer begins before it
            (first, top), colon = drawn[0], ":"
            top = {colon + piece: 0.8 * p for piece, p in top.items()} | {" is": 0.2}
            drawn[0] = (colon + first, top)
        whole = [*before, *drawn, *after]
        text = "".join(token if isinstance(token, str) else token[0] for token in whole)
        return stream(*whole, content=text.rpartition("</think>")[2].removesuffix("<|im_end|>").strip()), answer


LEADS = {
    "none": ([], ["\n"], "label"),
    "hidden": (["<think>", "3", "?", "</think>"], ["<|im_end|>"], "label"),
    "line": (["Good", ".", "\n", "Score", ":"], ["\n", "Bye"], "line"),
    "glued": (["Good", ".", "\n", "Score"], ["\n", "Bye"], "line"),
    "json": (['{"', "reason", '":', ' "3"', ', "', "score", '":'], ["}"], "json"),
}
SEEDS, SCALES = st.integers(0, 2**32), st.sampled_from([FIVE, TEN, HUNDRED, HALVES, SIGNED, YES_NO, AGREE])


@pytest.mark.slow
@settings(deadline=None)
@given(SEEDS, SCALES, st.sampled_from(sorted(LEADS)))
def test_with_all_continuations_the_distribution_is_exact(seed, scale, lead):
    model, rng = Model(seed, scale, strays=True), Random(seed)
    reply, answer = model.reply(rng, lead)

    def goes_on(begun: str) -> dict:
        top = model.next(begun) or {"": 1.0}
        return stream((rng.choice(list(top)), top))

    rows = continued(reply, goes_on, scale, answer)
    truth = model.truth()
    assert shares(rows) == about(truth)
    assert sum(row.weight for row in rows) == pytest.approx(1, abs=FLOAT32)
    assert mass(rows, "off_scale") == pytest.approx(1 - sum(truth.values()), abs=FLOAT32)


@pytest.mark.slow
@settings(deadline=None)
@given(SEEDS, SCALES, st.sampled_from(sorted(LEADS)))
def test_without_continuations_the_true_expectation_lies_between_the_bounds(seed, scale, lead):
    model = Model(seed, scale)
    reply, answer = model.reply(Random(seed), lead)
    truth = model.truth()
    scores = summary(rows_of(reply, scale, answer), scale)
    assume(math.isfinite(scores["score"]))
    expected = sum(value * p for value, p in truth.items())
    assert scores["low"] - 1e-5 <= expected <= scores["high"] + 1e-5


@pytest.mark.slow
@settings(deadline=None)
@given(SEEDS, st.sampled_from([FIVE, TEN, HUNDRED, YES_NO]), st.integers(1, 5))
def test_with_short_lists_the_true_expectation_lies_between_the_bounds(seed, scale, k):
    model = Model(seed, scale, plain=True)
    expected = sum(value * p for value, p in model.truth().items())
    tokens = []
    for token, top in model.draw(Random(seed)):
        best = sorted(top, key=top.get, reverse=True)[:k]
        tokens.append((token, {piece: top[piece] for piece in dict.fromkeys([*best, token])}))  # it is always listed
    scores = summary(rows_of(stream(*tokens, "\n"), scale), scale)
    assume(math.isfinite(scores["score"]))
    assert scores["low"] - 1e-5 <= expected <= scores["high"] + 1e-5


# --- what was drawn is not listed, or is no label ---------------------------------------------------------------


def with_own(reply: dict, place: int, p: float) -> dict:
    """The reply with another probability of the token emitted at a place."""
    reply["choices"][0]["logprobs"]["content"][place]["logprob"] = log(p)
    return reply


def test_a_rare_draw_from_below_the_list_is_not_constrained_decoding():
    reply = with_own(stream(("u", BASE), "4"), 0, 5e-4)
    assert shares(rows_of(reply)) == pytest.approx({3.0: 0.1, 4.0: 0.7, 5.0: 0.2})
    forced = with_own(stream(("u", BASE), "4"), 0, 5e-6)
    assert [row.status for row in rows_of(forced)] == ["constrained"]


def test_the_list_says_how_likely_a_token_is_where_its_own_entry_does_not():
    reply = in_json(" ", ("4", BASE))
    for place in reply["choices"][0]["logprobs"]["content"]:
        del place["logprob"]
    assert shares(rows_of(reply, TEN, "json")) == about(TRUE)


def test_a_brace_that_the_model_would_not_have_written_is_constrained_decoding():
    def reply(p: float) -> dict:
        answer = stream(("{", {"The": 0.9, "4": 0.1}), '"score"', ":", ("4", BASE), "}")
        return with_own(answer, 0, p)

    assert [row.status for row in rows_of(reply(1e-8), TEN, "json")] == ["constrained"]
    assert expectation(rows_of(reply(1e-3), TEN, "json")) == pytest.approx(4.1)


@pytest.mark.parametrize(
    ("answer", "lead"), [("line", ["Fair", ".", "\n", "Score", ":"]), ("json", ['{"', "score", '":'])]
)
def test_a_chain_that_drew_no_label_is_read_at_its_place(answer, lead):
    rows = rows_of(stream(*lead, (" ?", {" ?": 0.1, " 4": 0.6, " 5": 0.3})), TEN, answer)
    assert shares(rows) == pytest.approx({4.0: 0.6, 5.0: 0.3})
    assert mass(rows, "off_scale") == pytest.approx(0.1)
    unlikely = rows_of(stream(*lead, (" n/a", {" n/a": 0.95, " 4": 0.05})), TEN, answer)
    assert unlikely == [NOTHING]
