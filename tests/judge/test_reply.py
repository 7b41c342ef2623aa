"""Decoding replies: the full and the compact form say the same, and whatever a server sends is decoded or refused."""

import json
import math
from array import array

import msgspec
import pytest
from hypothesis import given, strategies as st
from mock_server import Options, Replies
from test_extract import AGREE, BASE, FIVE, HUNDRED, STREAMS, TEN, VERDICT, YES_NO, in_json, said, stream

from calib.judge.replies.extract import extract
from calib.judge.replies.reply import Reply, ReplyChoice, answer_start, decode, message_offset, to_json, unmarked


def choice_of(body: bytes | dict) -> ReplyChoice:
    (choice,) = decode(body).choices
    return choice


def with_logprob(logprob: str) -> bytes:
    """A reply whose one candidate has this for its log-probability, as it stands in the JSON."""
    return json.dumps(stream(("4", {"4": 0.5}))).replace(str(math.log(0.5)), logprob).encode()


# --- what is kept -----------------------------------------------------------------------------------------------


def test_a_reply_is_its_choices_and_its_usage():
    body = stream(("4", BASE), finish="length") | {"usage": {"prompt_tokens": 12, "completion_tokens": 1, "other": {}}}
    reply = decode(body)
    assert (reply.prompt_tokens, reply.completion_tokens) == (12, 1)
    (choice,) = reply.choices
    assert (choice.text, choice.finish, choice.refusal, choice.tokens) == ("4", "length", "", [b"4"])
    assert dict(choice.lists[0]) == pytest.approx({b"3": 0.1, b"4": 0.7, b"5": 0.2})
    assert array("f", choice.logprobs).tolist() == pytest.approx([math.log(0.7)])


def test_several_choices_stay_apart():
    labels = ["4", "5", "no"]
    body = {"choices": [stream((label, {label: 0.5})).get("choices")[0] for label in labels]}
    body["choices"][2]["logprobs"] = None
    for reply in (decode(body), decode(decode(body).pack())):
        assert [choice.text for choice in reply.choices] == labels
        assert [choice.tokens for choice in reply.choices] == [[b"4"], [b"5"], []]
        assert [sorted(choice.lists) for choice in reply.choices] == [[0], [0], []]


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4)), ({"prompt_tokens": 3}, (3, 0)),
        ({"prompt_tokens": None, "completion_tokens": 4}, (0, 4)),
        ({"prompt_tokens": "3", "completion_tokens": 4}, (0, 4)),
        ({"prompt_tokens": -3, "completion_tokens": 10**30}, (0, 2**53)), ({}, (0, 0)), (None, (0, 0)),
        ("much", (0, 0)),
    ],
)  # fmt: skip
def test_usage(usage, counts):
    reply = decode(said("4") | {"usage": usage})
    assert (reply.prompt_tokens, reply.completion_tokens) == counts
    assert decode(reply.pack()) == reply


@pytest.mark.parametrize("message", [None, {}, {"content": None}, {"content": ""}])
def test_no_message_is_an_empty_text(message):
    assert choice_of({"choices": [{"message": message}]}).text == ""


def test_bytes_are_believed_before_the_text_of_a_token():
    entry = {"token": "?", "bytes": [0xF0, 0x9F], "logprob": 0, "top_logprobs": [{"token": "?", "bytes": [52]}]}
    choice = choice_of({"choices": [{"message": {"content": "?"}, "logprobs": {"content": [entry]}}]})
    assert choice.tokens == [b"\xf0\x9f"]
    assert choice.lists[0].tokens == [b"4"]


@pytest.mark.parametrize("raw", [None, [], "4", [300], [-1], [4.5], {}])
def test_the_text_of_a_token_stands_where_no_bytes_are(raw):
    for after in ([], WORDS):  # a long reply may be read by its texts alone
        reply = stream((" 4", {" 4": 0.6, " 5": 0.4}), *after)
        for one in (*reply["choices"][0]["logprobs"]["content"], *_candidates(reply)):
            one["bytes"] = raw
        assert choice_of(reply).tokens[0] == b" 4"
        assert choice_of(reply).lists[0].tokens == [b" 4", b" 5"]


def _candidates(reply: dict) -> list[dict]:
    return [one for place in reply["choices"][0]["logprobs"]["content"] for one in place["top_logprobs"]]


WORDS = [" word"] * 40
BYTES_OF = {  # by the text of a candidate, what a server has for its bytes
    "\ufffd": [0xE5, 0xB7], "\\xe5\\xb7": [0xE5, 0xB7], "<0xE5>": [0xE5], "\u0120four": list(b" four"),
    "\u2581four": list(b" four"), "": [0xE5], "\x00": [0], "a\x00b": [97, 0, 98],
    "\U0001f642": list("\U0001f642".encode()), "\u00e9": None, "bytes": [], " plain": list(b" plain"),
    '\n"4': list(b'\n"4'),
}  # fmt: skip


@pytest.mark.parametrize("rare", BYTES_OF)
def test_in_a_long_reply_the_bytes_of_candidates_are_theirs(rare):
    reply = stream((" 4", {" 4": 0.5, rare: 0.2, " 5": 0.2}), *WORDS, content="4" + "".join(WORDS))
    for one in _candidates(reply):
        one["bytes"] = BYTES_OF.get(one["token"], list(one["token"].encode()))
    said = {one["token"]: bytes(one["bytes"] or one["token"].encode()) for one in _candidates(reply)[:3]}
    assert choice_of(reply).lists[0].tokens == list(said.values())


@pytest.mark.parametrize("rare", BYTES_OF)
def test_a_list_with_rare_candidates_leaves_its_neighbours_as_they_are(rare):
    beside = {" 3": 0.5, rare: 0.2, " 5": 0.2}
    reply = stream(("The", {"The": 0.5, " A": 0.3}), (" 3", beside), (" of", {}), (" 4", {" 4": 1.0}), *WORDS)
    for one in _candidates(reply):
        one["bytes"] = BYTES_OF.get(one["token"], list(one["token"].encode()))
    sent = reply["choices"][0]["logprobs"]["content"]
    sent[0]["top_logprobs"][1]["logprob"] = None
    sent[2]["top_logprobs"] = None
    lists = choice_of(reply).lists
    assert list(lists)[:3] == [0, 1, 3]
    assert dict(lists[0]) == pytest.approx({b"The": 0.5, b" A": 0.0})
    said = [bytes(one["bytes"] or one["token"].encode()) for one in sent[1]["top_logprobs"]]
    assert lists[1].tokens == said
    assert [p for _, p in lists[1]] == pytest.approx([0.5, 0.2, 0.2])
    assert dict(lists[3]) == {b" 4": 1.0}


def test_a_short_reply_does_not_show_that_texts_say_the_same_as_bytes():
    reply = stream(("4", {"4": 0.6, "5": 0.4}))
    _candidates(reply)[1]["bytes"] = list(b" 5")
    assert choice_of(reply).lists[0].tokens == [b"4", b" 5"]


def test_where_the_tokens_of_a_reply_have_other_texts_than_bytes_so_have_candidates():
    reply = stream(("token_id:19", {"token_id:19": 0.6, "token_id:20": 0.4}), *WORDS, content="4" + "".join(WORDS))
    places = reply["choices"][0]["logprobs"]["content"]
    for one in (places[0], *_candidates(reply)[:2]):
        one["bytes"] = list(one["token"].replace("token_id:19", "4").replace("token_id:20", "5").encode())
    assert choice_of(reply).lists[0].tokens == [b"4", b"5"]


@pytest.mark.parametrize("mark", ["\u2581", "\u0120", " "])
def test_the_blanks_of_tokenizers_are_blanks(mark):
    choice = choice_of(stream((mark + "4", {mark + "4": 0.5, mark + "5": 0.5}), content=" 4"))
    assert choice.tokens == [b" 4"]
    assert choice.lists[0].tokens == [b" 4", b" 5"]
    assert unmarked("\u010a4\u2581\u0120\u00e4".encode()) == "\n4  \u00e4".encode()


@pytest.mark.parametrize(
    ("logprob", "p"),
    [
        ("0", 1.0),
        ("-0.5", math.exp(-0.5)),
        ("1e-7", 1.0),
        ("3", math.exp(3)),  # none, and seen as such when it is read
        ("1e999", math.inf),
        ("Infinity", math.inf),
        ("1e300", math.inf),
        ("-100", math.exp(-100)),
        ("null", 0.0),
        ("-9999", 0.0),
        ("-9999.0", 0.0),
        ("-3.4028235e38", 0.0),
        ("-1e300", 0.0),
        ("-1e999", 0.0),
        ("-Infinity", 0.0),
        ("NaN", 0.0),
        ("-1" + "0" * 400, 0.0),
        ('"-0.5"', 0.0),
        ("true", 0.0),
        ("[]", 0.0),
    ],
)
def test_a_log_probability_is_a_probability_whatever_it_is_written_as(logprob, p):
    assert dict(choice_of(with_logprob(logprob)).lists[0]) == {b"4": pytest.approx(p, rel=1e-5, abs=0)}


@pytest.mark.parametrize("logprob", [None, -math.inf, math.nan, -9999, -3.4e38])
def test_the_impossible_in_a_dict_is_impossible(logprob):
    reply = stream(("4", {"4": 0.5}))
    _candidates(reply)[0]["logprob"] = logprob
    assert dict(choice_of(reply).lists[0]) == {b"4": 0.0}


# --- what is no reply -------------------------------------------------------------------------------------------

NO_REPLY = [
    {}, {"choices": None}, {"choices": []}, {"choices": {}}, {"choices": "4"}, {"choices": [None]}, {"choices": ["4"]},
    {"error": {"message": "overloaded"}},
]  # fmt: skip


@pytest.mark.parametrize("body", NO_REPLY)
def test_what_is_no_chat_completion_is_refused(body):
    for form in (body, json.dumps(body).encode(), bytearray(json.dumps(body).encode())):
        with pytest.raises(ValueError, match=r"^the reply (is no chat completion with|has no) `choices`$"):
            decode(form)


BODY = json.dumps(in_json(" ", ("4", BASE))).encode()
BROKEN = {
    "nothing": b"", "a blank": b" ", "a page": b"<html>Bad gateway</html>", "null": b"null",
    "a list": b"[" + BODY + b"]", "two": BODY + BODY, "half": BODY[: len(BODY) // 2],
    "half a character": BODY.replace(b"facts", b"\xf0\x9f"),
    "deep": b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "choices": [{}]}',
    "without end": b'{"choices": ' + b"[" * 100_000, "half packed": decode(BODY).pack()[:-3],
    "more than packed": decode(BODY).pack() + b"\x00", "packed otherwise": msgspec.msgpack.encode([1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_bodies_are_refused(name):
    with pytest.raises(ValueError):  # whichever parser found it
        decode(BROKEN[name])


@pytest.mark.parametrize(
    "choice",
    [
        {"message": "4"}, {"message": {"content": 4}}, {"message": {"content": ["4"]}},
        {"message": {"content": "4"}, "finish_reason": 4}, {"message": {"content": "4"}, "logprobs": [1]},
        {"message": {"content": "4"}, "logprobs": {"content": "4"}},
        {"message": {"content": "4"}, "logprobs": {"content": [1, None, "4", {}, {"top_logprobs": 1}]}},
        {"message": {"content": "4"}, "logprobs": {"content": [{"token": 4, "top_logprobs": [1, None, {}]}]}},
        {"message": {"content": "4"}, "logprobs": {"content": [{"token": "4", "top_logprobs": {"4": 0.0}}]}},
        {"message": {"content": "4"}, "logprobs": {"tokens": ["4"], "token_logprobs": [0.0]}},
    ],
)  # fmt: skip
def test_wrong_types_are_left_out_and_the_rest_is_kept(choice):
    reply = decode({"choices": [choice, *said("5")["choices"], None]})
    assert [one.text for one in reply.choices[1:]] == ["5", ""]
    assert reply.choices[0].text in ("", "4")
    assert decode(reply.pack()) == reply


@pytest.mark.parametrize("where", ["content", "refusal", "token", "finish_reason"])
def test_half_characters_are_kept_or_replaced(where):
    half = {"message": {"content": "\ud83d 4"}} if where == "content" else said("4")["choices"][0]
    if where == "token":
        place = {"token": "\ud83d", "logprob": 0.0}
        half["logprobs"] = {"content": [place | {"top_logprobs": [place]}]}
    elif where != "content":
        (half["message"] if where == "refusal" else half)[where] = "\ud83d"
    for body in ({"choices": [half]}, json.dumps({"choices": [half]}).encode()):
        choice = choice_of(body)
        assert choice_of(decode(body).pack()) == choice
        assert choice.text == half["message"]["content"]
        assert where != "token" or choice.lists[0].tokens == choice.tokens
    assert json.loads(to_json({"choices": [half]})) == {"choices": [half]}


# --- the compact form -------------------------------------------------------------------------------------------

SCALES = [FIVE, TEN, HUNDRED, YES_NO, AGREE, VERDICT]


def plain(reply: Reply) -> list[str]:
    """All readings of a reply, as text: NaN is unlike itself."""
    return [
        repr(extract(choice, scale, answer, logprobs=logprobs))
        for choice in reply.choices
        for scale in SCALES
        for answer in ("label", "line", "json")
        for logprobs in (True, False)
    ]


@pytest.mark.parametrize("name", STREAMS)
def test_the_streams_read_the_same_from_the_compact_form(name):
    full = decode(STREAMS[name].reply)
    compact = decode(full.pack())
    assert compact == full == decode(to_json(STREAMS[name].reply)) == decode(compact.pack())
    assert plain(compact) == plain(full)


PIECES = (
    st.sampled_from(["Score", "score", '"score"', ":", ": ", ":\n", ' "', "{", "}", "</think>", "<|im_end|>", "The"])
    | st.sampled_from(["4", " 4", "\u25814", "\u01201", "10", "1", "0", "yes", "strongly", " agree", "A", "-", "."])
    | st.sampled_from(["", " ", "\n", "**", "[[", "]]", "\U0001f642"])
)
LOGPROBS = st.floats(-12, 0.001) | st.sampled_from([None, -9999.0, -math.inf, math.nan, -3.4e38, 0.0])
CANDIDATES = st.fixed_dictionaries({"token": PIECES, "logprob": LOGPROBS})


@st.composite
def replies(draw: st.DrawFn) -> dict:
    """Replies that hold leads, labels, marks, ends and lists in any order, with and without what belongs to them."""
    content = []
    for token in draw(st.lists(PIECES, max_size=12)):
        top = draw(st.none() | st.lists(CANDIDATES, max_size=6))
        own = {"token": token, "logprob": -0.5}
        content.append(own | ({} if top is None else {"top_logprobs": [own, *top] if draw(st.booleans()) else top}))
    whole = "".join(one["token"] for one in content)
    text = draw(st.sampled_from([whole, whole.strip(), whole.rpartition("</think>")[2].strip(), "4", "", None]))
    finish = draw(st.sampled_from(["stop", "length", "content_filter", None]))
    logprobs = draw(st.sampled_from([{"content": content}, None])) if not content else {"content": content}
    return {"choices": [{"message": {"content": text}, "finish_reason": finish, "logprobs": logprobs}]}


@pytest.mark.slow
@given(replies())
def test_any_reply_reads_the_same_from_the_compact_form(body):
    full = decode(body)
    compact = decode(full.pack())
    assert compact == full == decode(to_json(body))
    assert plain(compact) == plain(full)


@pytest.mark.slow
@given(replies())
def test_readings_account_for_no_more_than_all_the_mass(body):
    for scale in SCALES:
        for answer in ("label", "line", "json"):
            rows, left = extract(choice_of(body), scale, answer, logprobs=True)
            assert rows
            assert sum(row.weight for row in rows if row.status != "unseen") <= 1 + 1e-6
            assert all(0 < row.weight <= 1 + 1e-6 for row in rows)
            assert all((row.status == "ok") == (not math.isnan(row.score)) for row in rows)
            assert all(one.prefix.endswith(one.begun) for one in left)


FIELDS = ["choices", "message", "content", "refusal", "finish_reason", "logprobs", "usage"]
FIELDS += ["token", "bytes", "logprob", "top_logprobs"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["4", -0.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.lists(JSON, min_size=1, max_size=2), JSON, JSON)
def test_any_json_is_decoded_or_refused(choices, content, usage):
    kept = {"message": {"content": "4"}, "logprobs": {"content": content}}
    for body in ({"choices": choices, "usage": usage}, {"choices": [kept]}, {"choices": content}):
        for form in (body, json.dumps(body).encode()):
            try:
                reply = decode(form)
            except ValueError:
                continue
            assert decode(reply.pack()) == reply
            plain(reply)


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(body):
    for form in (body, b"\x93" + body):
        try:
            decode(form)
        except ValueError:
            continue


# --- how much is kept, and how fast -----------------------------------------------------------------------------


def body_of(mode: str, lo: int = 0, hi: int = 10) -> bytes:
    """What the mock server sends: a label after 30 words, 20 candidates everywhere."""
    return Replies(Options(mode=mode, lo=lo, hi=hi, variants=1)).single(0, 20).partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize(
    ("mode", "full", "compact"), [("json", 61_000, 4_000), ("line", 64_000, 4_000), ("digit", 1_800, 260)]
)
def test_the_compact_form_is_a_fraction_of_the_reply(mode, full, compact):
    body = body_of(mode)
    assert len(body) > full
    assert len(decode(body).pack()) <= compact
    assert plain(decode(decode(body).pack())) == plain(decode(body))


def test_lists_are_kept_only_where_a_label_could_stand():
    words = [f" word{k}" for k in range(2000)]
    tokens = ["It", " is", *words, ".", "\n", "Score", ":", " ", ("4", BASE), "\n", "Bye"]
    lists = choice_of(stream(*tokens)).lists
    assert sorted(lists) == [*range(8), 2006, 2007, 2008]  # at the start; the score line until its end
    many = choice_of(stream(*["score", ":", " 3", "\n"] * 2000)).lists
    assert len(many) < 150


def test_a_label_of_several_tokens_is_kept_to_its_end():
    tokens = ["Score", ":", " ", "strongly", " dis", "agree", "\n", "Bye"]
    assert sorted(choice_of(stream(*tokens)).lists) == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", [" ", "\n", "*", "score:", "score", '"score": ', "{", "x", ":", "", "4", "a score of "]
)
def test_hostile_replies_are_decoded_in_few_steps(piece, count_calls):
    """Seconds, and what is slow within one call: tests/bench/hostile_replies.py."""
    tokens = [{"token": piece, "logprob": 0, "top_logprobs": [{"token": piece, "logprob": -1}]}] * 20_000
    body = to_json({"choices": [{"message": {"content": piece * 20_000}, "logprobs": {"content": tokens}}]})

    def read() -> None:
        choice = choice_of(body)
        for answer in ("label", "line", "json"):
            extract(choice, TEN, answer, logprobs=True)
        assert len(choice.lists) < 2_000

    read()  # patterns are compiled once
    assert count_calls(read).total() < 4 * 20_000


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["\\\\", '\\"', "{", "score: ", "\\n", "\\ud83d\\ude42", "a"])
def test_messages_of_ten_megabytes_are_decoded_in_few_steps(unit, count_calls):
    body = b'{"choices": [{"message": {"content": "%s"}}]}' % (unit.encode() * (10_000_000 // len(unit)))
    assert count_calls(lambda: decode(body)).total() < 100
    assert len(decode(body).choices[0].content) > 1_000_000


# --- where things begin -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "message", "start"),
    [
        (["4"], "4", 0), ([" 4"], "4", 1), (["4", "\n", "<|im_end|>"], "4", 0), (["m", "<|im_end|>"], "m", 0),
        (["a", "\n", "</s>", "<|end|>"], "a", 0), (["<think>", "4", "</think>", "4"], "4", 16),
        (["4", "</think>", "\n\n", "4", "</s>"], "4\n", 11), (["4", "x", "y", "z"], "4", 0), (["4"], "5", -1),
        (["<|im_end|>"], "", 0), ([" "], " ", 0), ([], "4", -1),
    ],
)  # fmt: skip
def test_where_the_message_begins(tokens, message, start):
    assert message_offset([token.encode() for token in tokens], message.encode()) == start


@pytest.mark.parametrize(
    ("whole", "lead", "start"),
    [("Score: 4", 6, 6), ("4", 0, 0), ("</think>\n\n**4", 10, 8), ("- 4", 2, 1), (" " * 100 + "4", 0, 68), ("", 0, 0)],
)
def test_where_an_answer_starts(whole, lead, start):
    assert answer_start(whole.encode(), lead) == start
