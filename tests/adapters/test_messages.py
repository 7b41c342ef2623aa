"""Conversations in logs: the same run with a tool call, as each tool writes it, is the same cell of `messages`."""

import json
import os
import warnings
from pathlib import Path

import pandas as pd
import pytest

import calib
from calib.adapters.messages import messages_of_call, messages_of_span, messages_text
from calib.core.check import CalibWarning
from calib.table.messages import MessageError, conversation_in

LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs")
OWN = Path(__file__).parent / "logs"
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 7}'}}
RUN = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is order 7?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": "shipped", "tool_call_id": "c1"},
    {"role": "assistant", "content": "It has been shipped."},
]
CELL = conversation_in(RUN).text


def read(path, **said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calib.read_log(path, texts=True, **said)


def written(tmp_path, value, name="log.json"):
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return path


# --- each tool's own form -----------------------------------------------------------------------------------------


def inspect_log(tmp_path):
    call = {"id": "c1", "function": "look_up", "arguments": {"order": 7}, "type": "function"}
    messages = [
        {"id": "m0", "role": "system", "content": "attachment://ab"},
        {"id": "m1", "role": "user", "content": RUN[1]["content"], "source": "input"},
        {"id": "m2", "role": "assistant", "content": [], "tool_calls": [call], "model": "m"},
        {"id": "m3", "role": "tool", "content": [{"type": "text", "text": "shipped"}], "tool_call_id": "c1",
         "function": "look_up"},
        {"id": "m4", "role": "assistant", "content": RUN[4]["content"]},
    ]  # fmt: skip
    output = {"completion": RUN[4]["content"], "model": "m"}
    sample = {"id": "q1", "epoch": 1, "input": RUN[1]["content"], "messages": messages, "output": output}
    sample |= {"attachments": {"ab": "Be brief."}, "scores": {"s": {"value": "C"}}}
    spec = {"eval_id": "E", "task": "t", "model": "m", "scorers": [{"name": "s", "options": {"model": "g"}}]}
    return written(tmp_path, {"status": "success", "eval": spec, "samples": [sample]})


def deepeval_log(tmp_path):
    used = [{"name": "look_up", "inputParameters": {"order": 7}, "output": "shipped"}]
    turns = [*RUN[:2], {"role": "assistant", "content": RUN[4]["content"], "toolsCalled": used, "order": 2}]
    metric = {"name": "Done [Conversational GEval]", "score": 0.5, "evaluationModel": "g"}
    case = {"name": "q1", "turns": turns, "metricsData": [metric]}
    return written(tmp_path, {"testCases": [], "conversationalTestCases": [case]})


def langfuse_log(tmp_path):
    score = {"id": "s", "name": "done", "source": "EVAL", "dataType": "NUMERIC", "value": 1, "traceId": "t1"}
    trace = {"id": "t1", "input": {"messages": RUN[:4]}, "output": RUN[4], "scores": [score]}
    return written(tmp_path, {"data": [trace]})


PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": RUN[1]["content"]}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"order": 7}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "shipped"}]},
]
OTEL = {
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.input.messages": json.dumps(PARTS),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "finish_reason": "stop",
                                           "parts": [{"type": "text", "content": RUN[4]["content"]}]}]),
}  # fmt: skip
_IN, _OUT = "llm.input_messages", "llm.output_messages.0.message"
OPENINFERENCE = {
    f"{_IN}.0.message.role": "system", f"{_IN}.0.message.content": "Be brief.",
    f"{_IN}.1.message.role": "user", f"{_IN}.1.message.contents.0.message_content.type": "text",
    f"{_IN}.1.message.contents.0.message_content.text": RUN[1]["content"],
    f"{_IN}.2.message.role": "assistant", f"{_IN}.2.message.tool_calls.0.tool_call.id": "c1",
    f"{_IN}.2.message.tool_calls.0.tool_call.function.name": "look_up",
    f"{_IN}.2.message.tool_calls.0.tool_call.function.arguments": '{"order": 7}',
    f"{_IN}.3.message.role": "tool", f"{_IN}.3.message.content": "shipped", f"{_IN}.3.message.tool_call_id": "c1",
    f"{_OUT}.role": "assistant", f"{_OUT}.content": RUN[4]["content"],
}  # fmt: skip


def otlp_log(tmp_path, attributes):
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    done = [{"key": "gen_ai.evaluation.name", "value": {"stringValue": "done"}},
            {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 1}}]  # fmt: skip
    event = {"name": "gen_ai.evaluation.result", "attributes": done}
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "attributes": pairs, "events": [event]}
    return written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


def phoenix_log(tmp_path):
    """Annotations joined with `get_spans_dataframe`, in which messages are lists of objects with dotted keys."""
    messages = [{"message.role": one["role"], "message.content": one["content"]} for one in RUN]
    call = {f"tool_call.function.{key}": value for key, value in CALL["function"].items()} | {"tool_call.id": "c1"}
    messages[2]["message.tool_calls"] = [call]
    messages[3]["message.tool_call_id"] = "c1"
    row = {"annotation_name": "done", "annotator_kind": "LLM", "span_id": "s1", "result.score": 1.0,
           "metadata": {"model": "g"}, "attributes.llm.input_messages": messages[:4],
           "attributes.llm.output_messages": messages[4:]}  # fmt: skip
    return written(tmp_path, [row])


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (inspect_log, {}), (deepeval_log, {}), (langfuse_log, {"rater": "g"}), (phoenix_log, {}),
        (lambda path: otlp_log(path, OTEL), {"rater": "g"}),
        (lambda path: otlp_log(path, OPENINFERENCE), {"rater": "g"}),
    ],
    ids=["inspect", "deepeval", "langfuse", "phoenix", "otlp", "openinference"],
)  # fmt: skip
def test_the_same_run_is_the_same_cell_whoever_wrote_it(tmp_path, log, said):
    path = log(tmp_path)
    items, table = read(path, **said)
    expected = CELL if log is not deepeval_log else CELL.replace('"c1"', '"call_1"')
    assert items["messages"].tolist() == [expected]
    assert "messages" not in table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "messages" not in calib.read_log(path, **said)[0]
    asked = calib.geval_prompt("tool-use", inputs=("messages",)).render(items.to_dict("records")[0])[1]["content"]
    assert 'look_up {"order": 7}' in asked
    assert "(tool, result of call 1)" in asked


def test_plain_lists_of_openai_are_items_as_they_are(tmp_path):
    lines = tmp_path / "runs.jsonl"
    lines.write_text("".join(json.dumps({"messages": RUN}) + "\n" for _ in range(2)))

    def complete(body):
        return {"choices": [{"message": {"content": "3"}, "finish_reason": "stop"}]}

    prompt, judge = calib.geval_prompt("tool-use", inputs=("messages",)), calib.Judge("m", method="sample", draws=1)
    with pytest.warns(CalibWarning, match="the place of a row is the item"):
        ratings = calib.rate(lines, prompt, judge, complete=complete, progress=False)
    assert ratings["score"].tolist() == [3, 3]
    assert messages_text(RUN) == CELL


def test_a_result_that_a_user_sends_stands_before_what_the_user_says():
    use, result = {"type": "tool_use", "id": "t", "name": "look_up", "input": {}}, {"type": "tool_result"}
    parts = [result | {"tool_use_id": "t", "content": "shipped"}, {"type": "text", "text": "And when?"}]
    told = [RUN[1], {"role": "assistant", "content": [use]}, {"role": "user", "content": parts}]
    messages = conversation_in(messages_text(told)).messages
    assert [(one["role"], one["content"]) for one in messages[2:]] == [("tool", "shipped"), ("user", "And when?")]


def test_deepeval_names_calls_in_two_ways():
    called = {"tools_called": [{"name": "look_up", "input_parameters": {"order": 7}, "output": "shipped"}]}
    text = messages_text([*RUN[:2], {**RUN[4], **called}])
    assert text == CELL.replace('"c1"', '"call_1"')


def test_frames_of_phoenix_are_read_too(tmp_path):
    rows = json.loads(phoenix_log(tmp_path).read_text())
    assert read(pd.DataFrame(rows), tool="phoenix")[0]["messages"].tolist() == [CELL]


@pytest.mark.skipif(not LOGS.is_dir(), reason="logs of tools: CALIB_DATA has no folder tool_logs")
def test_real_logs_of_inspect_have_their_messages():
    items, _ = read(LOGS / "inspect_ai-0.3.285" / "grade_beta.json")
    for cell, source, output in zip(items["messages"], items["source"], items["output"], strict=True):
        contents = [message["content"] for message in conversation_in(cell).messages]
        assert contents == [source, output]


def test_real_spans_of_opentelemetry_have_their_messages():
    items, _ = read(OWN / "opentelemetry", rater="g")
    asked = [[message["content"] for message in conversation_in(cell).messages] for cell in items["messages"] if cell]
    assert len(asked) >= 24
    assert all(pair in zip(items["source"], items["output"], strict=True) for pair in map(tuple, asked))


# --- what is none ---------------------------------------------------------------------------------------------------


def test_a_conversation_that_breaks_a_rule_leaves_the_cell_empty_with_a_warning(tmp_path):
    score = {"name": "done", "source": "EVAL", "dataType": "NUMERIC", "value": 1}
    traces = [
        {"id": f"t{k}", "input": asked, "output": "So.", "scores": [score | {"id": f"s{k}", "traceId": f"t{k}"}]}
        for k, asked in enumerate([RUN[:2], [{"role": "bot", "content": "x\x1b[31m"}], [RUN[3]], "Why?"])
    ]
    with pytest.warns(UserWarning, match="messages_unread: the messages of 2 items are no conversation") as caught:
        items, _ = calib.read_log(written(tmp_path, {"data": traces}), texts=True, rater="g")
    assert [bool(cell) for cell in items["messages"]] == [True, False, False, False]
    assert all(str(one.message).isprintable() for one in caught)


@pytest.mark.parametrize(
    "written_as", [None, "Hi", 3, {}, [], ["Hi"], [[]], {"messages": 3}, "[" * 10_000, '{"a"', [None], {"choices": []}]
)
def test_what_is_no_list_of_messages_is_none(written_as):
    assert messages_of_call(written_as, "So.") is None
    assert messages_of_span({"gen_ai.input.messages": written_as, "llm.input_messages": written_as}) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"role": "bot"}, {"parts": 3}, {"role": "tool", "content": "x"}, {"role": []},
        {"role": "assistant", "tool_calls": [3]}, {"role": "user", "content": {"a": 1}},
    ],
)  # fmt: skip
def test_a_message_without_form_is_an_error_of_its_own_kind(broken):
    with pytest.raises(MessageError):
        messages_text([broken])


def test_hostile_keys_of_spans_do_no_harm():
    deep = {f"llm.input_messages.{'0.' * 500}message.role": "user", "llm.input_messages": 3}
    assert messages_of_span(deep) is None
    assert messages_of_span({"llm.input_messages.0": "x", "llm.input_messages.0.message.role": "user"}) is None
    answers = messages_of_call(RUN[:1], {"choices": [{"message": {"role": "assistant", "content": "A"}}]})
    assert [one["content"] for one in answers] == ["Be brief.", "A"]
