"""Logs that the tools themselves wrote of runs with tools: each call keeps its arguments and its own result."""

import json
import warnings
from pathlib import Path

import pytest

import calib
from calib.adapters.messages import messages_of_call, messages_text
from calib.table.messages import MessageError, conversation_in

LOGS = Path(__file__).parent / "logs" / "agents"
SEVEN, EIGHT, ANSWER = (7, "order 7: shipped"), (8, "no such order"), "Order 7 has been shipped; there is no order 8."
BOTH = ([SEVEN, EIGHT], ANSWER)
RUNS = {
    "inspect_error.json": [([SEVEN, (8, "Error: no such order")], f"[reasoning, not shown]\n{ANSWER}")],
    "inspect_events.json": [([SEVEN], "Order 7 has been shipped.")],  # the solver kept its messages to itself
    "inspect_hosted.json": [([("order 7", "shipped on Monday")], "It was shipped on Monday.")],
    "deepeval_case.json": [([(7, None), (8, '{"error": "no such order"}')], ANSWER)],  # of one call no output is there
    "deepeval_turns.json": [([SEVEN, (8, '{"error": "no such order"}')], "You are welcome.")],
    "otel_events.jsonl": [BOTH],
    "openinference.jsonl": [BOTH],
    "phoenix.json": [BOTH] * 2,
    "langfuse.json": [BOTH] * 5,
}


def read(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calib.read_log(LOGS / name, texts=True, rater="g")[0]


def run_in(cell):
    """Each call's argument and result, and what was said last."""
    messages = conversation_in(cell).messages
    results = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}
    calls = [call for one in messages for call in one.get("tool_calls", ())]
    arguments = [next(iter(json.loads(call["function"]["arguments"]).values())) for call in calls]
    return [(one, results.get(call["id"])) for one, call in zip(arguments, calls, strict=True)], messages[-1]["content"]


@pytest.mark.parametrize("name", RUNS)
def test_calls_arguments_and_results_survive(name, tmp_path):
    items = read(name)
    assert [run_in(cell) for cell in items["messages"]] == RUNS[name]
    calib.table.write(items, tmp_path / "items.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = calib.table.read(tmp_path / "items.csv", "items")
    assert again["messages"].tolist() == items["messages"].tolist()
    prompt = calib.geval_prompt("tool-use", inputs=("messages",))
    for row, (calls, answer) in zip(items.to_dict("records"), RUNS[name], strict=True):
        asked = prompt.render(row)[1]["content"]
        assert all(str(text) in asked for text in (*(part for call in calls for part in call if part), answer))


def test_every_log_of_the_folder_is_read():
    assert {path.name for path in LOGS.iterdir()} == {*RUNS}


def test_records_of_calls_stand_in_for_spans_that_are_not_there(tmp_path):
    records = (LOGS / "otel_events.jsonl").read_text().splitlines()
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(line for line in records if "resourceLogs" in line))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        items, _ = calib.read_log(path, texts=True, rater="g")
    assert [run_in(one) for one in items["messages"]] == [BOTH]
    assert items["system"].tolist() == ["stub-1"]


# --- forms of other tools ---------------------------------------------------------------------------------------------


def cell(*messages):
    return json.loads(messages_text(messages))


def test_a_call_of_langchain_keeps_its_arguments():
    call = {"name": "look_up", "args": {"order": 7}, "id": "c1", "type": "tool_call"}
    wrapped = {"lc": 1, "type": "constructor", "kwargs": {"type": "ai", "content": "", "tool_calls": [call]}}
    for message in ({"type": "ai", "data": {"type": "ai", "content": "", "tool_calls": [call]}}, wrapped):
        (one,) = cell(message)
        assert one["role"] == "assistant"
        assert one["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"order": 7}'}


def test_items_of_responses_are_messages():
    hosted = {"type": "mcp_call", "id": "m1", "name": "fetch", "arguments": "{}", "output": "404"}
    search = {"type": "web_search_call", "id": "w1", "action": {"query": "order 7"}, "status": "completed"}
    run = cell({"type": "reasoning", "id": "r1", "summary": []}, hosted, search)
    assert run[0] == {"role": "assistant", "content": "[reasoning, not shown]"}
    assert run[1]["tool_calls"][0]["function"] == {"name": "fetch", "arguments": "{}"}
    assert run[2] == {"role": "tool", "content": "404", "tool_call_id": "m1"}
    assert run[3]["tool_calls"][0]["function"] == {"name": "web_search_call", "arguments": '{"query": "order 7"}'}
    single = {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"}
    assert messages_of_call([{"role": "user", "content": "Hi"}], single)[1:] == [single]


def test_a_run_that_begins_with_its_question_is_not_doubled():
    asked = {"messages": [{"role": "user", "content": "Hi"}]}
    whole = [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello"}]
    assert [one["content"] for one in cell(*messages_of_call(asked, {"messages": whole}))] == ["Hi", "Hello"]
    assert messages_of_call({"question": "Hi"}, whole) == whole
    assert messages_of_call({"question": "Hi"}, whole[1:]) is None
    # who says the same twice in a row was answered twice
    echo = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi"}]
    assert len(messages_of_call(echo, echo[1:])) == 3


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call_output"}, {"type": ["function_call"]}, {"data": 3},
        {"data": {"data": {}}}, {"type": "tool", "content": {"a": 1}}, {"role": "tool", "error": {"message": [1]}},
    ],
)  # fmt: skip
def test_an_item_without_form_is_an_error_of_its_own_kind(item):
    with pytest.raises(MessageError):
        messages_text([item])


def test_an_answer_of_which_no_event_is_there_follows_the_question(tmp_path):
    log = json.loads((LOGS / "inspect_events.json").read_text())
    log["samples"][0]["events"].pop()
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        items, _ = calib.read_log(path, texts=True)
    contents = [one["content"] for one in json.loads(items["messages"].iloc[0])]
    assert contents == ["Where is order 7?", "Order 7 has been shipped."]
