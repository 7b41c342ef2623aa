"""Conversations and agents' runs in one cell: messages with roles, tool calls and results, in one canonical form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from calib.core.text import printable

ROLES = ("system", "developer", "user", "assistant", "tool")
MOST_MESSAGES = 5_000
MOST_CHARACTERS = 2_000_000  # of a conversation: far beyond what a model reads or a page shows
Message = dict[str, Any]
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}  # parts, and their keys
_ELSEWHERE = {"tool_use": "`tool_calls`", "tool_call": "`tool_calls`", "tool_result": "a message of role tool"}
_SHOWN = 60  # characters of what came


class MessageError(ValueError):
    """A conversation breaks a rule: which message, which rule, what came."""


class Conversation(NamedTuple):
    """The messages of one cell, and the tool calls in them that nothing answered.

    Attributes
    ----------
    messages : list of dict
        Each with `role` and `content`, a text; where there are such, `name`, `time`, `tool_calls` (OpenAI's form, each
        with an id of its own and its arguments as a text) and `tool_call_id`.
    unanswered : tuple of str
        Ids of calls without a result.
    """

    messages: list[Message]
    unanswered: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The canonical form: what the column `messages` of checked items holds."""
        return json.dumps(self.messages, ensure_ascii=False)

    @property
    def length(self) -> int:
        """Characters of all contents and arguments."""
        return sum(map(length_of, self.messages))


def length_of(message: Message) -> int:
    """Characters of a message's content and of the arguments of its calls."""
    return len(message["content"]) + sum(len(c["function"]["arguments"]) for c in message.get("tool_calls", ()))


def conversation_in(cell: Any, *, limited: bool = True) -> Conversation:
    r"""The conversation in a cell: a list of messages, or the same as JSON; `limited` refuses what is too long.

    Parts of a content that are texts are joined by line breaks; any other, such as an image, stays as a mark. Keys
    that stand neither here nor in `Conversation` are left out.

    Examples
    --------
    >>> conversation_in('[{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image_url"}]}]').text
    '[{"role": "user", "content": "Hi\\n[image_url, not shown]"}]'
    >>> conversation_in([{"role": "bot", "content": "Hi"}])
    Traceback (most recent call last):
        ...
    calib.table.messages.MessageError: message 1: `role` must be one of system, developer, user, assistant, tool, but
    got 'bot'
    """
    if isinstance(cell, str):
        from calib.table.files import from_json

        try:
            cell = from_json(cell)
        except json.JSONDecodeError:
            raise MessageError(f"must be a list of messages as JSON, but got {_shown(repr(cell))}") from None
        except ValueError as error:
            raise MessageError(f"must be a list of messages as JSON, but {_shown(error, 120)}") from None
    cell = _as_list(cell)
    if not isinstance(cell, list) or not cell:
        raise MessageError(f"must be a list of one or more messages, but got {_shown(repr(cell))}")
    if limited and len(cell) > MOST_MESSAGES:
        raise MessageError(f"must have at most {MOST_MESSAGES:,} messages, but has {len(cell):,}")
    messages, calls = list[Message](), dict[str, bool]()  # whether each call was answered
    for number, message in enumerate(cell, start=1):
        try:  # OpenAI's client returns objects
            messages.append(_canonical(message.model_dump() if hasattr(message, "model_dump") else message, calls))
        except MessageError as error:
            raise MessageError(f"message {number}: {error}") from None
    conversation = Conversation(messages, tuple(call for call, answered in calls.items() if not answered))
    if limited and (length := conversation.length) > MOST_CHARACTERS:
        lengths = list(map(length_of, messages))
        longest = f"{length:,}, {max(lengths):,} of them in message {lengths.index(max(lengths)) + 1}"
        rule = f"must have at most {MOST_CHARACTERS:,} characters (`calib.shorten_messages` cuts)"
        raise MessageError(f"{rule}, but has {longest}")
    return conversation


def _canonical(message: Any, calls: dict[str, bool]) -> Message:
    """One message in its canonical form; `calls` are those before it, which it adds to or answers."""
    if not isinstance(message, Mapping):
        raise MessageError(f"must be an object with `role` and `content`, but got {_shown(repr(message))}")
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in ROLES:
        raise MessageError(f"`role` must be one of {', '.join(ROLES)}, but got {_shown(repr(role))}")
    if _there(message.get("function_call")):
        raise MessageError("`function_call` must be written as `tool_calls`, with an id")
    if not isinstance(listed := _as_list(message.get("tool_calls")) or [], list):
        raise MessageError(f"`tool_calls` must be a list, but got {_shown(repr(listed))}")
    own = [_call(call, place) for place, call in enumerate(listed, start=1)]
    if own and role != "assistant":
        raise MessageError(f"`tool_calls` must be those of an assistant, but the role is {role}")
    if not _there(content) and role == "assistant" and (own or isinstance(message.get("refusal"), str)):
        content = message.get("refusal") or ""  # a message that only calls, or refuses
    out: Message = {"role": role, "content": _content(content)}
    for name, kinds in {"name": (str,), "time": (str, int, float)}.items():
        if _there(value := message.get(name)):
            if not isinstance(value, kinds) or isinstance(value, bool):
                what = "a text" if kinds == (str,) else "a text or a number"
                raise MessageError(f"`{name}` must be {what}, but got {_shown(repr(value))}")
            out[name] = value
    if own:
        out["tool_calls"] = own
        for call in own:
            if call["id"] in calls:
                raise MessageError(f"the id of a tool call must be there once, but {_shown(repr(call['id']))} is twice")
            calls[call["id"]] = False
    if role == "tool":
        answers = message.get("tool_call_id")
        if not isinstance(answers, str) or answers not in calls:
            raise MessageError(f"`tool_call_id` must be the id of a call before it, but got {_shown(repr(answers))}")
        calls[answers] = True
        out["tool_call_id"] = answers
    return out


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content := _as_list(content), list):
        raise MessageError(f"`content` must be a text or a list of parts, but got {_shown(repr(content))}")
    texts = []
    for place, part in enumerate(content, start=1):
        kind = part.get("type", "text" if "text" in part else None) if isinstance(part, Mapping) else None
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(kind, str):
            raise MessageError(f"part {place} of `content` must be an object with `type`, but got {_shown(repr(part))}")
        elif kind in _ELSEWHERE:
            raise MessageError(f"part {place} of `content`, of type {kind}, must be {_ELSEWHERE[kind]}")
        elif kind not in _TEXTS:
            texts.append(f"[{_shown(kind)}, not shown]")
        elif isinstance(text := part.get(_TEXTS[kind]), str):
            texts.append(text)
        else:
            raise MessageError(f"part {place} of `content` must have a text in `{_TEXTS[kind]}`")
    return "\n".join(texts)


def _call(call: Any, place: int) -> Message:
    """A tool call in OpenAI's form, whose arguments are a text."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(call.get("id"), str) or not call["id"]:
        raise MessageError(f"tool call {place} must have `id` and `function`, but got {_shown(repr(call))}")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        raise MessageError(f"the `name` of tool call {place} must be a text, but got {_shown(repr(name))}")
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps(arguments if _there(arguments) else {}, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            raise MessageError(f"the `arguments` of tool call {place} must be JSON or a text") from None
    return {"id": call["id"], "type": "function", "function": {"name": name, "arguments": arguments}}


def _as_list(value: Any) -> Any:
    """A list of any kind as one, such as the arrays that Parquet gives; None for a gap, anything else as it is."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, tuple) else value if _there(value) else None


def _there(value: Any) -> bool:
    """Whether a value is there: frames fill gaps with NaN."""
    return value is not None and not (isinstance(value, float) and value != value)  # noqa: PLR0124


def _shown(text: object, most: int = _SHOWN) -> str:
    line = printable(str(text)[: 4 * most])
    return line if len(line) <= most else f"{line[: most - 3]}..."
