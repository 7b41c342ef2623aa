"""Conversations as tools write them, in the form of the column `messages`: roles, tool calls and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calib.adapters.row import text_of
from calib.table.files import from_json
from calib.table.messages import conversation_in

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}  # LangChain's and Gemini's
_FLAT = (("llm.input_messages", "llm.output_messages"), ("gen_ai.prompt", "gen_ai.completion"))
_DEEPEST = 20  # dots of a key
_CALLS = ("tool_call", "tool_use")  # kinds of parts: OpenTelemetry's, Anthropic's
_RESULTS = ("tool_call_response", "tool_result")


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
            one["tool_call_id"] = one.get("tool_call_id") or (open_calls[0] if open_calls else None)
            open_calls = [call for call in open_calls if call != one["tool_call_id"]]
        messages.append(one)
    return conversation_in(messages).text


def messages_of_call(asked: Any, answered: Any, instructions: Any = None) -> list[Any] | None:
    """What a model was sent and what it answered, as one conversation; None where it was sent none."""
    before, after = _listed(asked), _listed(answered)
    if before is None:
        return None
    if after is None and isinstance(answered, str) and answered:
        after = [{"role": "assistant", "content": answered}]
    if parts := _listed(instructions):
        before = [{"role": "system", "parts": parts}, *before]
    return [*before, *(after or ())]


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
        elif "role" not in value:
            value = value.get("messages")
        value = [value] if isinstance(value, Mapping) else value
    value = value.tolist() if hasattr(value, "tolist") else value
    return value if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value) else None


def messages_of_span(span: Mapping[str, Any]) -> list[Any] | None:
    """The conversation in a span's attributes, by OpenTelemetry's or OpenInference's names."""
    asked = _listed(span.get("gen_ai.input.messages"))
    if asked is not None:
        instructions = span.get("gen_ai.system_instructions")
        return messages_of_call(asked, span.get("gen_ai.output.messages"), instructions)
    for before, after in _FLAT:
        if asked := flattened_messages(span, before):
            return messages_of_call(asked, flattened_messages(span, after))
    return messages_of_call(span.get("input.value"), span.get("output.value"))


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
    return (
        [one.get("message", one) for one in messages if isinstance(one, dict)] if isinstance(messages, list) else None
    )


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as objects in objects, at every depth."""
    nested: dict[str, Any] = {}
    for key, held in flat.items():
        *outer, last = str(key).split(".")
        place = nested
        for name in outer:
            inner = place.setdefault(name, {})
            place = inner if isinstance(inner, dict) else {}
        value = held.tolist() if hasattr(held, "tolist") else held
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
    if not isinstance(message, Mapping):
        yield {"role": None}
        return
    role = _ROLES.get(str(message.get("role")), message.get("role"))
    content, calls, results = list[Any](), list[Any](message.get("tool_calls") or ()), list[dict[str, Any]]()
    held = next((message[name] for name in ("parts", "contents", "content") if message.get(name) is not None), None)
    for part in held if isinstance(held, list) else [held] if held is not None else []:
        inner = part.get("message_content", part) if isinstance(part, Mapping) else part
        kind = inner.get("type") if isinstance(inner, Mapping) else None
        if kind in _CALLS:
            calls.append(inner)
        elif kind in _RESULTS:
            said = next((inner[name] for name in ("response", "result", "content") if inner.get(name) is not None), "")
            answers = inner.get("id") or inner.get("tool_use_id")
            results.append({"role": "tool", "tool_call_id": answers, "content": _said(said)})
        elif kind == "text":
            content.append(str(inner["text"] if "text" in inner else inner.get("content", "")))
        else:
            content.append(inner)
    own = {"role": role, "content": content} | {key: message[key] for key in ("name", "time") if message.get(key)}
    if role == "tool":
        own["tool_call_id"] = message.get("tool_call_id")
    for used in message.get("toolsCalled") or ():  # DeepEval's, which hold their results
        calls.append({"name": used.get("name"), "arguments": used.get("inputParameters")})
        if used.get("output") is not None:
            results.append({"role": "tool", "content": _said(used["output"])})
    if calls:
        if "toolsCalled" in message and results:  # called before it answered
            yield {"role": role, "content": "", "tool_calls": [_plain_call(call) for call in calls]}
            yield from results
            yield own
            return
        own["tool_calls"] = [_plain_call(call) for call in calls]
    if content or calls or not results:
        yield own
    yield from results


def _plain_call(call: Any) -> dict[str, Any]:
    call = call.get("tool_call", call) if isinstance(call, Mapping) else {}
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else {"name": function or call.get("name")} | dict(call)
    name = inner.get("name") or function
    arguments: Any = next((inner[key] for key in ("arguments", "input") if inner.get(key) is not None), {})
    return {"id": call.get("id"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _said(value: Any) -> str:
    """The result of a tool as a text: that of its parts, or JSON."""
    if isinstance(value, list) and all(isinstance(one, Mapping) and isinstance(one.get("text"), str) for one in value):
        return "\n".join(one["text"] for one in value)
    return text_of(value) or ""
