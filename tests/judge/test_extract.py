"""Reading replies: token streams with a known truth, texts, malformed replies, and what must always hold."""

import math

import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import calib
from calib.judge import _extract
from calib.judge._extract import Row, read_label
from calib.judge._prompt import Scale
from calib.judge._reply import decode

FIVE, TEN, YES_NO = Scale(), Scale.of(*range(11)), Scale.of(no=0, yes=1)
AGREE = Scale.of(**{"strongly disagree": 1, "disagree": 2, "neutral": 3, "agree": 4, "strongly agree": 5})
BASE = {"3": 0.1, "4": 0.7, "5": 0.2}  # expectation 4.1
NOTHING = Row(math.nan, 1.0, "unread")


# --- replies ----------------------------------------------------------------------------------------------------


def log(p: float) -> float:
    return math.log(p) if p > 0 else -9999.0


def entry(token: str, top: dict[str, float] | None) -> dict:
    top = {token: 1.0} if top is None else top
    candidates = [{"token": text, "bytes": list(text.encode()), "logprob": log(p)} for text, p in top.items()]
    own = {"token": token, "bytes": list(token.encode()), "logprob": log(top.get(token, 0.0))}
    return own | {"top_logprobs": candidates}


def stream(*tokens: str | tuple[str, dict[str, float]], finish: str = "stop", **message: object) -> dict:
    """A chat completion that emitted these tokens; a pair brings the top list at its place."""
    pairs = [token if isinstance(token, tuple) else (token, None) for token in tokens]
    content = {"role": "assistant", "content": "".join(token for token, _ in pairs)} | message
    logprobs = {"content": [entry(*pair) for pair in pairs]}
    return {"choices": [{"index": 0, "message": content, "finish_reason": finish, "logprobs": logprobs}]}


def said(text: object, finish: str = "stop", **message: object) -> dict:
    """A chat completion without token probabilities."""
    return {"choices": [{"message": {"content": text} | message, "finish_reason": finish}]}


def extract(reply: dict, scale: Scale, answer: str, *, logprobs: bool) -> list[Row]:
    return _extract.extract(decode(reply).choices[0], scale, answer, logprobs=logprobs).rows


def text_of(reply: dict) -> str:
    return decode(reply).choices[0].text


def has_logprobs(reply: dict) -> bool:
    return _extract.has_logprobs(decode(reply).choices[0])


def rows_of(reply: dict, scale: Scale = TEN, answer: str = "label") -> list[Row]:
    return extract(reply, scale, answer, logprobs=True)


def shares(rows: list[Row]) -> dict[float, float]:
    return {row.score: row.weight for row in rows if row.status == "ok"}


def mass(rows: list[Row], status: str) -> float:
    return sum(row.weight for row in rows if row.status == status)


def summary(rows: list[Row], scale: Scale = TEN) -> pd.Series:
    """What `calib.summarize` makes of the rows of one reply."""
    frame = pd.DataFrame([row._asdict() for row in rows])
    about = {"item": "i", "criterion": "c", "rater": "j", "method": "logprob", "scale": str(scale)}
    return calib.summarize(frame.assign(**about)).iloc[0]


def expectation(rows: list[Row], scale: Scale = TEN) -> float:
    return float(summary(rows, scale)["score"])


# --- streams with a known truth, 0 to 10 ------------------------------------------------------------------------

SPELT = {"4": 0.4, " 4": 0.3, " 5": 0.2, "3": 0.1}
SPARSE = {"9": 0.955} | dict.fromkeys("01234", 0.009)
LINE = ("Two", " of", " the", " 9", " facts", " are", " wrong", ".", "\n", "Score", ":")
CASES = {
    "A baseline": (4.1, "line", ["Good", ".", "\n", "Score", ":", (" 4", {f" {k}": p for k, p in BASE.items()})]),
    "B same digit earlier": (4.1, "line", ["It", " has", " 4", " flaws", ".", "\n", "Score", ": ", ("4", BASE)]),
    "C score first, same digit later": (4.1, "label", [("4", BASE), "\n", "There", " are", " 4", " flaws", "."]),
    "D space inside the token": (4.1, "line", [*LINE, (" 4", {f" {k}": p for k, p in BASE.items()})]),
    "E mass split over spellings": (4.1, "label", [("4", SPELT)]),
    "F 10 is one token": (9.5, "label", [("10", {"10": 0.6, "9": 0.3, "8": 0.1})]),
    "G 10 is two tokens": (9.23, "label", [("1", {"1": 0.6, "9": 0.3, "8": 0.1}), ("0", {"0": 0.95, "\n": 0.05})]),
    "I out of range rival": (8.07216, "label", [("8", {"8": 0.7, "9": 0.17, "7": 0.1, "100": 0.03})]),
    "K score as a string": (4.1, "line", [*LINE, ' "', ("4", BASE), '"']),
    "L 4/5": (4.1, "line", [*LINE, " ", ("4", BASE), "/", "5"]),
    "M markdown": (4.1, "label", ["**", ("4", BASE), "**"]),
    "N bare with a space": (4.1, "label", [(" 4", {f" {k}": p for k, p in BASE.items()})]),
    "O bare": (4.1, "label", [("4", BASE)]),
    "R leaked mass": (4.1, "label", [("4", {k: 0.4 * p for k, p in BASE.items()} | {"The": 0.6})]),
    "U text after, other digits": (4.1, "line", [*LINE, " ", ("4", BASE), "\n", "9", " facts", ",", " 2", " wrong"]),
}


@pytest.mark.parametrize("name", CASES)
def test_streams_give_the_true_expectation(name):
    truth, answer, tokens = CASES[name]
    assert expectation(rows_of(stream(*tokens), TEN, answer)) == pytest.approx(truth, abs=1e-5)


def test_h_a_rival_that_may_begin_two_labels_is_ambiguous_and_bounded():
    rows = rows_of(stream(("9", {"9": 0.55, "1": 0.35, "8": 0.1})))
    assert [row for row in rows if row.status == "ambiguous"] == [
        Row(math.nan, pytest.approx(0.35), "ambiguous", 1, 10)
    ]
    assert shares(rows) == pytest.approx({9.0: 0.55, 8.0: 0.1})
    scores = summary(rows)
    assert scores["low"] == pytest.approx(6.1)  # the 1 means 1
    assert scores["high"] == pytest.approx(9.25)  # the 1 means 10


def test_p_rare_scores_count_and_the_doubt_about_the_1_is_bounded():
    scores = summary(rows_of(stream(("9", SPARSE))))
    assert scores["low"] == pytest.approx(8.685)  # the 1 means 1
    assert scores["mass"] == pytest.approx(1 - 0.009)


def test_i_the_rival_off_the_scale_is_counted_as_such():
    rows = rows_of(stream(("8", {"8": 0.7, "9": 0.17, "7": 0.1, "100": 0.03})))
    assert mass(rows, "off_scale") == pytest.approx(0.03)


def test_j_a_number_between_the_labels_is_off_the_scale():
    reply = stream(("7", {"7": 0.88, "8": 0.12}), ".", "5")
    assert extract(reply, TEN, "label", logprobs=False)[0].status == "off_scale"
    assert mass(rows_of(reply), "off_scale") == pytest.approx(0.88)


def test_q_a_token_outside_its_own_list_is_constrained_decoding():
    reply = stream("{", ("8", {"The": 0.9, "I": 0.1}), "}")
    assert [row.status for row in rows_of(reply)] == ["constrained"]


def test_q_a_list_of_impossible_digits_gives_no_score():
    reply = stream(("8", {"The": 0.9, "I": 0.1, "8": 0.0}))
    assert rows_of(reply) == [NOTHING]


def test_r_the_leak_is_reported():
    rows = rows_of(stream(("4", {k: 0.4 * p for k, p in BASE.items()} | {"The": 0.6})))
    assert mass(rows, "off_scale") == pytest.approx(0.6)
    assert summary(rows)["mass"] == pytest.approx(0.4)


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}])
def test_s_no_token_probabilities_is_a_status_not_the_digit(logprobs):
    reply = said("4")
    reply["choices"][0]["logprobs"] = logprobs
    assert not has_logprobs(reply)
    assert [row.status for row in rows_of(reply)] == ["no_logprobs"]
    assert extract(reply, TEN, "label", logprobs=False) == [Row(4.0, 1.0, "ok")]


@pytest.mark.parametrize("logprobs", [True, False])
@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (said(None, refusal="I cannot help with that."), "refused"),
        (said(None, "content_filter"), "refused"),
        (said("", "length"), "truncated"),
        (said(None), "unread"),
    ],
)
def test_t_a_reply_without_an_answer_says_why(reply, status, logprobs):
    assert [row.status for row in extract(reply, TEN, "line", logprobs=logprobs)] == [status]
    assert [row.status for row in extract(reply, TEN, "label", logprobs=logprobs)] == [status]


def test_v_null_is_no_score():
    assert rows_of(stream(*LINE, " null"), TEN, "line") == [NOTHING]


def test_w_an_answer_out_of_range_is_off_the_scale():
    # as for a leak, the labels in the list keep the mass that they have, and the rest is off the scale
    rows = rows_of(stream(("11", {"11": 0.9, "10": 0.1})))
    assert mass(rows, "off_scale") == pytest.approx(0.9)
    assert extract(said("11"), TEN, "label", logprobs=False)[0].status == "off_scale"


# --- more streams -----------------------------------------------------------------------------------------------


def test_the_distribution_does_not_depend_on_which_label_was_drawn():
    drawn = [shares(rows_of(stream((token, BASE)))) for token in BASE]
    assert drawn[0] == drawn[1] == drawn[2]


def test_a_reply_that_begins_otherwise_is_read_at_its_first_token():
    rows = rows_of(stream(("The", {"The": 0.5, "4": 0.3, "2": 0.2}), " text"))
    assert shares(rows) == pytest.approx({4.0: 0.3, 2.0: 0.2})
    assert mass(rows, "off_scale") == pytest.approx(0.5)


def test_yes_and_no_in_any_case():
    rows = rows_of(stream(("Yes", {"Yes": 0.5, " yes": 0.2, "NO": 0.2, "Maybe": 0.1})), YES_NO)
    assert shares(rows) == pytest.approx({1.0: 0.7, 0.0: 0.2})
    assert mass(rows, "off_scale") == pytest.approx(0.1)


def test_labels_that_differ_by_case_are_kept_apart():
    scale = Scale(("a", "A", "b"), (1.0, 2.0, 3.0))
    assert shares(rows_of(stream(("A", {"A": 0.6, "a": 0.4})), scale)) == pytest.approx({2.0: 0.6, 1.0: 0.4})
    assert read_label("a", scale, "label") == (1.0, "ok")
    assert read_label("Score: A", scale, "line") == (2.0, "ok")


def test_a_label_of_one_word_in_several_tokens():
    scale = Scale.of(poor=1, acceptable=2, excellent=3)
    tokens = [("accept", {"accept": 0.8, "excellent": 0.2}), ("able", {"able": 0.9, "ed": 0.1})]
    rows = rows_of(stream(*tokens), scale)
    assert shares(rows) == pytest.approx({2.0: 0.72, 3.0: 0.2})
    assert mass(rows, "off_scale") == pytest.approx(0.08)


def test_a_label_of_two_words():
    tokens = [("strongly", {"strongly": 0.7, "agree": 0.3}), (" agree", {" agree": 0.9, " disagree": 0.1})]
    rows = rows_of(stream(*tokens), AGREE)
    assert shares(rows) == pytest.approx({5.0: 0.63, 1.0: 0.07, 4.0: 0.3})


def test_a_label_that_ends_before_another_token_is_complete():
    tokens = [("1", {"1": 0.6, "2": 0.4}), ("\n", {"\n": 0.9, "0": 0.1}), "Good"]
    assert shares(rows_of(stream(*tokens))) == pytest.approx({1.0: 0.54, 10.0: 0.06, 2.0: 0.4})


@pytest.mark.parametrize("follows", [" out", ".", " good", " -"])
def test_a_label_that_ends_before_a_word_is_complete(follows):
    tokens = [("1", {"1": 0.6, "2": 0.4}), (follows, {follows: 0.9, "0": 0.1})]
    assert shares(rows_of(stream(*tokens))) == pytest.approx({1.0: 0.54, 10.0: 0.06, 2.0: 0.4})


def test_a_digit_after_a_blank_does_not_continue_the_label():
    tokens = [("1", {"1": 0.6, "2": 0.4}), (" 0", {" 0": 1.0})]
    assert shares(rows_of(stream(*tokens))) == pytest.approx({1.0: 0.6, 2.0: 0.4})


def test_a_hundred_in_three_tokens_is_off_the_scale():
    rows = rows_of(stream("1", "0", "0"))
    assert mass(rows, "ok") == 0


def test_a_one_beside_a_ten_of_one_token_is_a_one():
    rows = rows_of(stream(("1", {"1": 0.6, "2": 0.3, "10": 0.1})))
    assert expectation(rows) == pytest.approx(0.6 + 0.6 + 1.0)


def test_the_bound_on_unseen_labels_is_that_of_their_own_list():
    first, second = {"1": 0.9, "2": 0.02, "3": 0.02}, {"0": 0.5, "\n": 0.499999, "x": 1e-6}
    rows = rows_of(stream(("1", first), ("0", second)))
    assert mass(rows, "unseen") == pytest.approx(1 - 0.94)  # any hidden label may hold up to 0.02


@pytest.mark.parametrize("impossible", [None, -9999.0, float("-inf"), -3.4e38, float("nan")])
def test_whatever_a_server_writes_for_impossible_has_no_mass(impossible):
    reply = stream(("4", {"4": 1.0, "5": 1.0}))
    reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1]["logprob"] = impossible
    assert rows_of(reply) == [Row(4.0, 1.0, "ok")]


def test_bytes_are_believed_before_tokens():
    reply = stream(("4", BASE))
    for candidate in reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
        candidate["token"] = "<unprintable>"
    assert shares(rows_of(reply)) == pytest.approx({3.0: 0.1, 4.0: 0.7, 5.0: 0.2})


@pytest.mark.parametrize("space", ["\u2581", "\u0120", " ", "\n"])
def test_the_tokenizers_marks_for_a_space_are_spaces(space):
    top = {space + k: p for k, p in BASE.items()}
    assert shares(rows_of(stream((space + "4", top), content=" 4"))) == pytest.approx({3.0: 0.1, 4.0: 0.7, 5.0: 0.2})


def test_tokens_that_do_not_spell_the_message_are_not_read():
    assert rows_of(stream(("4", BASE), content="5")) == [NOTHING]


def test_labels_below_a_short_list_are_one_unseen_row():
    rows = rows_of(stream(("4", {"4": 0.7, "3": 0.2})), FIVE)
    assert [row for row in rows if row.status == "unseen"] == [Row(math.nan, pytest.approx(0.1), "unseen", 1, 5)]
    few = rows_of(stream(("4", {"4": 0.7, "3": 0.2, "x": 0.01})), FIVE)
    assert mass(few, "unseen") == pytest.approx(3 * 0.01)


def test_a_refusal_in_words_with_token_probabilities_is_refused():
    reply = stream(("I", {"I": 0.9999, "4": 1e-5}), " cannot", refusal="I cannot")
    assert [row.status for row in rows_of(reply)] == ["refused"]


def test_a_list_with_more_than_all_the_mass_is_not_a_distribution():
    rows = rows_of(stream(("4", {"4": 1.0, " 4": 1.0})))
    assert sum(row.weight for row in rows) <= 1 + 1e-6


# --- texts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["4", " 4", "4.", "4/5", "**4**", '"4"', "`4`", "# 4", "4.0", "[4]", "(4)", "4 - good", "4, because"]
)
@pytest.mark.parametrize("lead", ["", "Score: ", "Coherence: ", "Coherence (1-5): ", "**Rating**: ", "rating = "])
def test_a_label_at_the_start_is_read(lead, text):
    assert read_label(lead + text, FIVE, "label") == (4.0, "ok")


def test_a_label_as_a_list_item_is_read():
    assert read_label("- 4", FIVE, "label") == (4.0, "ok")


@pytest.mark.parametrize(
    "text", ["", "   ", "Two flaws in 4 words.", "I give it a 4", "four", "3-4", "1 - 5", "\u2014"]
)
def test_what_does_not_start_with_a_label_is_unread(text):
    score, status = read_label(text, FIVE, "label")
    assert math.isnan(score)
    assert status == "unread"


@pytest.mark.parametrize("text", ["0", "6", "45", "-4", "4.5", "Score: 100"])
def test_a_number_that_is_no_label_is_off_the_scale(text):
    assert read_label(text, FIVE, "label")[1] == "off_scale"


@pytest.mark.parametrize(
    "text",
    [
        "Score: 4",
        "**Score:** 4",
        "**Score**: **4**",
        "Overall score: 4/5",
        "SCORE : 4",
        "Rating: 4 out of 5",
        'a "score": "4"',
        "It has 3 flaws in 12 lines.\nScore: 4",
        "Score: 3 came to mind first.\nBut no.\nScore: 4",
        "Score: between 3 and 5.\nScore: 4\n\nThanks for 2 minutes.",
    ],
)
def test_the_last_score_line_is_read(text):
    assert read_label(text, FIVE, "line") == (4.0, "ok")


@pytest.mark.parametrize(
    "text", ["4", "I give it a 4.", "Score: four", "Score: 3-4", "underscore: 4", "Score: <label>"]
)
def test_without_a_score_line_nothing_is_read(text):
    assert read_label(text, FIVE, "line")[1] == "unread"


def test_a_label_in_angle_brackets_is_read():
    assert read_label("Score: <4>", FIVE, "line") == (4.0, "ok")


def test_a_range_of_decimals_is_not_its_first_digit():
    assert read_label("Score: 4.5-5", FIVE, "line")[1] != "ok"


def test_a_score_inside_a_later_sentence_is_not_the_score_line():
    assert read_label("Good.\nScore: 4\n\nFor a score: 5 it would need sources.", FIVE, "line") == (4.0, "ok")


@pytest.mark.parametrize(
    "text", ["1. The summary is\n2. It", "2 flaws were found", "Flaws: 2 names are", "5-point scale: 4"]
)
def test_a_number_that_belongs_to_a_sentence_is_not_a_label(text):
    score, status = read_label(text, FIVE, "label")
    assert status == "unread" or score == 4


@pytest.mark.parametrize("logprobs", [True, False])
def test_reasoning_that_was_cut_off_has_no_score(logprobs):
    reply = stream("A", " score", ":", " 3", " would", " be", " too", " low", " because", finish="length")
    assert [row.status for row in extract(reply, FIVE, "line", logprobs=logprobs)] == ["truncated"]


def test_words_as_labels():
    assert read_label("Strongly agree", AGREE, "label") == (5.0, "ok")
    assert read_label("agree strongly", AGREE, "label")[1] == "unread"  # it may mean another label
    assert read_label("No, it is not", YES_NO, "label") == (0.0, "ok")
    assert read_label("Not really", YES_NO, "label")[1] == "unread"
    assert read_label("Nothing to fault.\nScore: yes", YES_NO, "line") == (1.0, "ok")


# --- malformed replies ------------------------------------------------------------------------------------------

EMPTY = [
    {},
    {"choices": None},
    {"choices": []},
    {"choices": [None]},
    {"choices": [{}]},
    {"choices": [{"message": None}]},
    {"choices": [{"message": {"content": None}}]},
    {"choices": [{"message": {"content": ""}, "logprobs": None}]},
    {"choices": [{"text": "4"}]},
]


@pytest.mark.parametrize("reply", EMPTY)
@pytest.mark.parametrize("logprobs", [True, False])
def test_a_reply_that_holds_nothing_is_unread(reply, logprobs):
    assert text_of(reply) == ""
    assert extract(reply, FIVE, "label", logprobs=logprobs) == [NOTHING]
    assert extract(reply, FIVE, "line", logprobs=logprobs) == [NOTHING]


@pytest.mark.parametrize(
    "place",
    [
        {"token": "4"},
        {"token": "4", "top_logprobs": None},
        {"token": "4", "top_logprobs": []},
        {"token": "4", "bytes": None, "logprob": 0.0, "top_logprobs": []},
    ],
)
def test_places_without_a_list_are_no_token_probabilities(place):
    reply = said("4")
    reply["choices"][0]["logprobs"] = {"content": [place]}
    assert [row.status for row in rows_of(reply)] == ["no_logprobs"]


@pytest.mark.parametrize("choices", ["4", [{"message": "4"}], [{"message": {"content": "4"}, "logprobs": [1]}]])
def test_a_reply_of_another_form_is_unread(choices):
    assert extract({"choices": choices}, FIVE, "label", logprobs=True)[0].status in ("unread", "no_logprobs")


@pytest.mark.parametrize(
    "text", ["score: a" + " " * 200_000, " " * 1_000_000 + "x", "score:" * 100_000, "- " * 200_000]
)
def test_a_huge_reply_is_read_in_time(text):
    assert read_label(text, FIVE, "line")[1] == read_label(text, FIVE, "label")[1] == "unread"


# --- what must always hold --------------------------------------------------------------------------------------

TOKENS = st.sampled_from([*map(str, range(12)), " 4", "**4**", "4.", "x", " the", "", " ", "100", "-1", "\n", "\uff11"])
LISTS = st.dictionaries(TOKENS, st.floats(1e-6, 1), min_size=1, max_size=12).flatmap(
    lambda raw: st.floats(0.05, 1).map(lambda total: {k: total * v / sum(raw.values()) for k, v in raw.items()})
)


def same(first: list[Row], second: list[Row]) -> bool:
    def plain(rows: list[Row]) -> dict:
        return {(row.status, str(row.score), str(row.low), str(row.high)): row.weight for row in rows}

    return plain(first) == pytest.approx(plain(second), abs=1e-12)


@given(LISTS, st.randoms())
def test_the_order_of_the_list_does_not_matter(top, random):
    shuffled = list(top.items())
    random.shuffle(shuffled)
    token = max(top, key=top.get)
    assert same(rows_of(stream((token, top))), rows_of(stream((token, dict(shuffled)))))


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_label_split_over_its_spellings_is_the_same_label(first, second):
    cut = sorted([first, second])
    parts = dict(zip((" 4", "4", "**4**"), (0.7 * p for p in (cut[0], cut[1] - cut[0], 1 - cut[1])), strict=True))
    assume(parts["4"] > 0)
    split = rows_of(stream(("4", {"3": 0.1, "5": 0.2} | parts)))
    assert shares(split) == pytest.approx({3.0: 0.1, 4.0: 0.7, 5.0: 0.2})


@given(LISTS)
def test_the_rows_account_for_all_the_mass(top):
    rows = rows_of(stream((max(top, key=top.get), top)))
    assume(rows != [NOTHING])
    reported = sum(mass(rows, status) for status in ("ok", "off_scale", "ambiguous"))
    remainder = 1 - sum(top.values())
    assert reported + remainder == pytest.approx(1)
    assert mass(rows, "unseen") <= max(remainder, 0) + 1e-9


@given(LISTS)
@example({"0": 0.5, "1": 0.5})
def test_the_expectation_lies_between_its_bounds(top):
    rows = rows_of(stream((max(top, key=top.get), top)))
    scores = summary(rows)
    assume(math.isfinite(scores["score"]))
    assert scores["low"] - 1e-9 <= scores["score"] <= scores["high"] + 1e-9


@given(LISTS, LISTS)
def test_two_places_account_for_no_more_than_all_the_mass(first, second):
    token, follows = max(first, key=first.get), max(second, key=second.get)
    rows = rows_of(stream((token, first), (follows, second)))
    assert sum(row.weight for row in rows if row.status != "unseen") <= 1 + 1e-6
    assert all(0 <= row.weight <= 1 + 1e-6 for row in rows)


@given(st.text(max_size=60))
def test_any_text_is_read_or_has_a_status(text):
    for scale in (FIVE, TEN, YES_NO, AGREE):
        for answer in ("label", "line"):
            score, status = read_label(text, scale, answer)
            assert (status == "ok") == (not math.isnan(score))
            assert math.isnan(score) or score in set(scale.values)
