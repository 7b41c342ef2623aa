"""Conversations as tools write them, in the form of the column `messages`: roles, tool calls and their results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from calib.adapters.row import first_of
from calib.table.files import from_json
from calib.table.messages import conversation_in

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}  # LangChain's and Gemini's
_FLAT = (("llm.input_messages", "llm.output_messages"), ("gen_ai.prompt", "gen_ai.completion"))
_DEEPEST = 20  # dots of a key
_CALLS = ("tool_call", "tool_use")  # kinds of parts: OpenTelemetry's, Anthropic's
_RESULTS = ("tool_call_response", "tool_result")
# OpenAI's items without a role
_ITEM = re.compile(
    r"(?:(?:function|custom_tool|mcp|\w+_search|code_interpreter|computer|\w*shell)_call(?:_output)?|reasoning)"
)


def messages_text(written: Any) -> str:
    """A conversation as a tool wrote it, as the text of a cell of `messages`; a MessageError where it is none.

    Calls and results without ids are numbered, and belong to one another in their order.

    Examples
    --------
    >>> parts = [{"type": "tool_call", "name": "look_up", "arguments": {"order": 7}}]
    >>> answer = {"type": "tool_call_response", "response": "shipped"}
    >>> text = messages_text([{"role": "assistant", "parts": parts}, {"role": "tool", "parts": [answer]}])
    >>> [(one["role"], one["content"]) for one in conversation_in(text).messages]
    [('assistant', ''), ('tool', 'shipped')]
    """
    messages, open_calls, n = list[dict[str, Any]](), list[str](), 0
    for one in (plain for message in written for plain in _plain(message)):
        for call in one.get("tool_calls") or ():
            n += 1
            call["id"] = call["id"] or f"call_{n}"
            open_calls.append(call["id"])
        if one.get("role") == "tool":
            own = one.pop("call", {}).get("id")
            one["tool_call_id"] = own or one.get("tool_call_id") or (open_calls[0] if open_calls else None)
            open_calls = [call for call in open_calls if call != one["tool_call_id"]]
        messages.append(one)
    return conversation_in(messages).text


def messages_of_call(asked: Any, answered: Any, instructions: Any = None) -> list[Any] | None:
    """What a model was sent and what it answered, as one conversation; None where it was sent none.

    An agent's answer may be the whole run, from the question on.
    """
    before, after = _listed(asked), _listed(answered)
    if before is None:
        return after if any(_role(one) == "user" for one in after or ()) else None
    if after and len(after) > len(before) and _in_plain(before) == _in_plain(after[: len(before)]):
        return after
    if after is None and isinstance(answered, str) and answered:
        after = [{"role": "assistant", "content": answered}]
    if parts := _listed(instructions):
        before = [{"role": "system", "parts": parts}, *before]
    return [*before, *(after or ())]


def _in_plain(messages: list[Any]) -> list[tuple[Any, Any]]:
    return [(one.get("role"), one.get("content")) for message in messages for one in _plain(message)]


def _listed(value: Any) -> list[Any] | None:
    """A list of messages, whatever is around it: a text of JSON, an object with `messages` or `choices`; or one."""
    if isinstance(value, str):
        try:
            value = from_json(value) if value.lstrip()[:1] in ("[", "{") else None
        except ValueError:
            return None
    if isinstance(value, Mapping):
        if isinstance(choices := value.get("choices"), list) and choices and isinstance(choices[0], Mapping):
            value = choices[0].get("message")
        elif "role" not in value and not _is_item(value):
            value = first_of(value, ("messages", "input"))
        value = [value] if isinstance(value, Mapping) else value
    value = value.tolist() if hasattr(value, "tolist") else value
    return value if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value) else None


def messages_of_span(span: Mapping[str, Any]) -> list[Any] | None:
    """The conversation in a span's attributes, by OpenTelemetry's or OpenInference's names."""
    sent = _listed(span.get("gen_ai.input.messages"))
    if sent is not None:
        instructions = span.get("gen_ai.system_instructions")
        return messages_of_call(sent, span.get("gen_ai.output.messages"), instructions)
    whole = messages_of_call(span.get("input.value"), span.get("output.value"))
    for before, after in _FLAT:
        if sent := flattened_messages(span, before):
            answered = flattened_messages(span, after)
            # what holds a model's call, such as a chain, repeats the question alone
            return whole if whole and not answered else messages_of_call(sent, answered)
    return whole


def flattened_messages(attributes: Mapping[str, Any], prefix: str) -> list[Any] | None:
    """The messages under a name of a span's attributes, flat or lists of objects, in which keys are dotted.

    Examples
    --------
    >>> flat = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi"}
    >>> flattened_messages(flat, "llm.input_messages")
    [{'role': 'user', 'content': 'Hi'}]
    """
    if (there := _listed(attributes.get(prefix))) is not None:
        return [_nested(one).get("message", one) for one in there]
    own = (key for key in attributes if key.startswith(f"{prefix}.") and key.count(".") <= _DEEPEST)
    messages = _in_lists(_nested({key.removeprefix(f"{prefix}."): attributes[key] for key in own}))
    if not isinstance(messages, list):
        return None
    return [one.get("message", one) for one in messages if isinstance(one, dict)]


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as objects in objects, at every depth."""
    nested: dict[str, Any] = {}
    for key, cell in flat.items():
        *outer, last = str(key).split(".")
        place = nested
        for name in outer:
            inner = place.setdefault(name, {})
            place = inner if isinstance(inner, dict) else {}
        value = cell.tolist() if hasattr(cell, "tolist") else cell
        is_list = isinstance(value, list) and all(isinstance(one, Mapping) for one in value)
        place[last] = [_nested(one) for one in value] if is_list else value
    return nested


def _in_lists(value: Any) -> Any:
    """Objects whose keys are all numbers as lists, in the order of the numbers."""
    if not isinstance(value, dict):
        return value
    inner = {key: _in_lists(one) for key, one in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


# --- one message ----------------------------------------------------------------------------------------------------


def _plain(message: Any) -> Iterator[dict[str, Any]]:
    """A message in OpenAI's form, with ids that may be None; the results that it holds as messages of their own."""
    message = _unwrapped(message)
    role, content, calls = _role(message), list[Any](), list[Any](message.get("tool_calls") or ())
    called = message.get("toolsCalled") or message.get("tools_called")  # DeepEval's hold their results
    used, results = list[Any](called or ()), list[dict[str, Any]]()
    parts = first_of(message, ("parts", "contents", "content"))
    for part in parts if isinstance(parts, list) else [parts] if parts is not None else []:
        inner = part.get("message_content", part) if isinstance(part, Mapping) else part
        kind = inner.get("type") if isinstance(inner, Mapping) else None
        if kind in _CALLS:
            (calls if _result(inner) is None else used).append(inner)
        elif kind in _RESULTS:
            answers = inner.get("id") or inner.get("tool_use_id")
            results.append({"role": "tool", "tool_call_id": answers, "content": _result(inner) or ""})
        elif kind == "text":
            content.append(str(inner["text"] if "text" in inner else inner.get("content", "")))
        else:
            content.append(inner)
    if used:  # called before it answered
        plain = [_plain_call(call) for call in used]
        yield {"role": role, "content": "", "tool_calls": plain}
        answered = ((call, _result(one)) for call, one in zip(plain, used, strict=True))
        yield from ({"role": "tool", "call": call, "content": text} for call, text in answered if text is not None)
    own = {"role": role, "content": content} | {key: message[key] for key in ("name", "time") if message.get(key)}
    if role == "tool":
        failed = _result(message) if isinstance(message.get("error"), Mapping) else None
        own |= {"tool_call_id": message.get("tool_call_id"), "content": failed or content}
    if calls:
        own["tool_calls"] = [_plain_call(call) for call in calls]
    own_too = [own] if content or calls or not (results or used) else []
    yield from (*results, *own_too) if role == "user" else (*own_too, *results)  # who answers calls does so first


def _role(message: Any) -> Any:
    message = _unwrapped(message)
    role = message.get("role") or message.get("type")  # LangChain's
    return _ROLES.get(str(role), role)


def _is_item(value: Mapping[str, Any]) -> bool:
    return "role" not in value and _ITEM.fullmatch(str(value.get("type"))) is not None


def _unwrapped(message: Any) -> dict[str, Any]:
    """A message out of what LangChain puts around it, an item of OpenAI's Responses as a message."""
    if not isinstance(message, Mapping):
        return {}
    around = (message.get(name) for name in ("data", "kwargs"))
    message = next((inner for inner in around if isinstance(inner, Mapping)), message)
    if not _is_item(message):
        return dict(message)
    kind, own = str(message["type"]), message.get("call_id") or message.get("id")
    if kind.endswith("_output"):
        return {"role": "tool", "tool_call_id": own, "content": _result(message)}
    part = {"name": kind, **message, "type": "tool_call", "id": own} if kind.endswith("_call") else {"type": kind}
    return {"role": "assistant", "content": [part]}


def _plain_call(call: Any) -> dict[str, Any]:
    call = call.get("tool_call", call) if isinstance(call, Mapping) else {}
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else {"name": function or call.get("name")} | dict(call)
    name = inner.get("name") or function
    arguments = first_of(inner, ("arguments", "input", "args", "inputParameters", "input_parameters", "action"))
    arguments = {} if arguments is None else arguments
    return {"id": call.get("id"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _result(held: Any) -> str | None:
    """What a tool answered as a text: that of its parts, or JSON; None where nothing says it."""
    if not isinstance(held, Mapping):
        return None
    if error := held.get("error"):
        return f"Error: {error.get('message') or error}" if isinstance(error, Mapping) else f"Error: {error}"
    value = first_of(held, ("response", "result", "output", "content"))
    if isinstance(value, list) and all(isinstance(one, Mapping) and isinstance(one.get("text"), str) for one in value):
        return "\n".join(one["text"] for one in value)
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
