"""Conversations as cells: one form for all ways of writing them, and an error that says where each is wrong."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from calib.core.check import CalibWarning
from calib.table import TableError, check_items, read, write
from calib.table.messages import MOST_CHARACTERS, MOST_MESSAGES, ROLES, MessageError, conversation_in

CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 7}'}}
RUN = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is order 7?", "name": "ann", "time": "2026-01-05T10:00:00Z"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
    {"role": "assistant", "content": "It has been shipped."},
]


def items(*cells):
    return pd.DataFrame({"item": [f"s{place}" for place in range(len(cells))], "messages": [*cells]})


def test_all_ways_of_writing_a_run_have_one_form(tmp_path):
    parts = [{**m, "content": [{"type": "text", "text": m["content"]}] if m["content"] else None} for m in RUN]
    as_dicts = [{**RUN[2], "tool_calls": [{**CALL, "function": {"name": "look_up", "arguments": {"order": 7}}}]}]
    noisy = [{**m, "audio": None, "annotations": [], "function_call": None} for m in RUN]
    arrays = np.array([{**m, "tool_calls": np.array(m["tool_calls"]) if "tool_calls" in m else np.nan} for m in RUN])
    ways = (arrays, RUN, json.dumps(RUN), tuple(RUN), parts, [*RUN[:2], *as_dicts, *RUN[3:]], noisy)
    table = check_items(items(*ways))
    assert len({*table["messages"]}) == 1
    again = json.loads(table["messages"][0])
    assert again == [{**RUN[0]}, RUN[1], {**RUN[2], "content": ""}, {**RUN[3]}, RUN[4]]
    assert check_items(table.copy())["messages"].equals(table["messages"])
    for ending in ("csv", "jsonl"):
        assert read(write(table, tmp_path / f"items.{ending}"), "items")["messages"].equals(table["messages"])
    lines = tmp_path / "plain.jsonl"
    lines.write_text(json.dumps({"item": "s0", "messages": RUN}) + "\n")
    assert read(lines, "items")["messages"][0] == table["messages"][0]


def test_what_is_no_text_is_marked_and_what_is_not_there_is_empty():
    shown = conversation_in([{"role": "user", "content": ["Look:", {"type": "image_url", "image_url": {"url": "x"}}]}])
    assert shown.messages[0]["content"] == "Look:\n[image_url, not shown]"
    refused = conversation_in([{"role": "assistant", "content": None, "refusal": "I cannot."}])
    assert refused.messages[0]["content"] == "I cannot."
    assert check_items(items(RUN, None, float("nan"), ""))["messages"].tolist()[1:] == ["", "", ""]


DEEP = "[" * 100_000
WRONG = {
    "role": ([{"role": "bot", "content": "x"}], "message 1: `role` must be one of system, .* but got 'bot'"),
    "hostile role": ([{"role": "\x1b[31m" + "x" * 999, "content": ""}], r"but got '\\x1b\[31mx+\.\.\."),
    "no role": ([RUN[0], {"content": "x"}], "message 2: `role` must be .* but got None"),
    "list role": ([{"role": ["user"], "content": "x"}], "message 1: `role` must be .* but got ..user"),
    "no object": (["Hello"], "message 1: must be an object with `role` and `content`, but got 'Hello'"),
    "content": ([{"role": "user", "content": 7}], "message 1: `content` must be a text or a list of parts, but got 7"),
    "no content": ([{"role": "user"}], "message 1: `content` must be a text or a list of parts, but got None"),
    "part": ([{"role": "user", "content": [3]}], "message 1: part 1 of `content` must be an object .* but got 3"),
    "part text": ([{"role": "user", "content": [{"type": "text", "text": 3}]}], "must have a text in `text`"),
    "tool part": ([{"role": "user", "content": [{"type": "tool_result"}]}], "must be a message of role tool"),
    "result": ([RUN[0], RUN[3]], "message 2: `tool_call_id` must be the id of a call before it, but got 'c1'"),
    "early result": ([RUN[3], RUN[2]], "message 1: `tool_call_id` must be the id of a call before it"),
    "result of none": ([{"role": "tool", "content": "x"}], "`tool_call_id` must be .* but got None"),
    "twice": ([RUN[2], RUN[2]], "message 2: the id of a tool call must be there once, but 'c1' is twice"),
    "whose call": ([{**RUN[2], "role": "user", "content": ""}], "`tool_calls` must be those of an assistant"),
    "call": ([{**RUN[2], "tool_calls": [{"id": "c1"}]}], "tool call 1 must have `id` and `function`"),
    "calls": ([{**RUN[2], "tool_calls": "x"}], "`tool_calls` must be a list, but got 'x'"),
    "call name": ([{**RUN[2], "tool_calls": [{"id": "1", "function": {"name": 3}}]}], "the `name` of tool call 1"),
    "old call": ([{"role": "assistant", "content": "", "function_call": {"name": "f"}}], "written as `tool_calls`"),
    "name": ([{"role": "user", "content": "x", "name": 3}], "`name` must be a text, but got 3"),
    "time": ([{"role": "user", "content": "x", "time": True}], "`time` must be a text or a number, but got True"),
    "empty": ([], r"must be a list of one or more messages, but got \[\]"),
    "one object": (RUN[0], "must be a list of one or more messages, but got {'role'"),
    "number": (5, "must be a list of one or more messages, but got 5"),
    "no JSON": ("Hello", "must be a list of messages as JSON, but got 'Hello'"),
    "deep": (DEEP, "must be a list of messages as JSON, but values must be nested at most"),
    "key twice": ('[{"role": "user", "role": "tool", "content": ""}]', "the key `role` is there twice"),
    "many": ([RUN[0]] * 10_000, f"must have at most {MOST_MESSAGES:,} messages, but has 10,000"),
    "long": ([RUN[0], {"role": "user", "content": "x" * 10_000_000}],
             f"at most {MOST_CHARACTERS:,} characters .*, but has 10,000,009, 10,000,000 of them in message 2"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_an_error_names_item_message_rule_and_what_came(what):
    cell, says = WRONG[what]
    with pytest.raises(TableError) as error:
        check_items(items(RUN, cell))
    text = str(error.value)
    assert text.startswith("items: column `messages`, row 1: item 's1': ")
    assert re.search(says, text)
    assert len(text) < 400
    assert text.isprintable()


def test_a_reply_may_stand_as_its_client_gave_it():
    """The client of OpenAI gives objects of pydantic, with None for what is not there."""

    class Reply:
        def __init__(self, message: dict) -> None:
            self.message = message

        def model_dump(self) -> dict:
            return {"refusal": None, "function_call": None, "tool_calls": None} | self.message

    replies = [Reply(message) if message["role"] == "assistant" else message for message in RUN]
    assert check_items(items(replies))["messages"].equals(check_items(items(RUN))["messages"])


def test_a_call_without_a_result_is_noted_alone():
    with pytest.warns(CalibWarning, match=r"calls_unanswered: 1 tool calls in the messages of 1 items \(first: 's1'\)"):
        table = check_items(items(RUN, RUN[:3]))
    assert conversation_in(table["messages"][1]).unanswered == ("c1",)


def test_as_many_and_as_long_as_the_limits_pass():
    most = [{"role": "user", "content": "x" * (MOST_CHARACTERS // MOST_MESSAGES)}] * MOST_MESSAGES
    assert conversation_in(most).length == MOST_CHARACTERS
    with pytest.raises(MessageError):
        conversation_in([*most[:-1], {**most[0], "content": "x" * (MOST_CHARACTERS // MOST_MESSAGES + 1)}])


def test_the_roles_are_those_of_the_error():
    for role in ROLES[:4]:
        assert conversation_in([{"role": role, "content": ""}]).messages == [{"role": role, "content": ""}]
