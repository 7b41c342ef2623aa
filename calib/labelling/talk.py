"""Conversations as people read them: who says what, tool calls and results apart, without names of models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from calib.core.text import asset
from calib.labelling.record import Record, legible
from calib.table.messages import Message, MessageError, conversation_in
from calib.table.text import visible

_LONGEST = 80  # characters of a tool's name
COLUMN, TURN = "messages", "turn"  # what the columns are called


class Said(NamedTuple):
    """One part of a conversation: `who` is a word of the page, with blanks to fill in; `folded` is shown on demand.

    `number` is that of the message.
    """

    who: str
    blanks: dict[str, Any]
    text: str
    folded: bool
    judged: bool
    number: int


def shown_talk(cell: Any, turn: Any = None) -> str:
    """The conversation of a cell as JSON; of a turn that is judged, the messages up to it, and a mark on the last.

    Examples
    --------
    >>> run = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello", "name": "gpt-4o"}]
    >>> shown_talk(run, 1)
    '[{"role": "user", "content": "Hi", "judged": true}]'
    """
    messages = conversation_in(cell).messages
    if turn is not None and turn == turn:  # noqa: PLR0124 - a gap is NaN
        try:
            number = float(turn)
        except (TypeError, ValueError):
            number = 0.0
        if number not in range(1, len(messages) + 1):
            raise MessageError(f"`turn` must be the number of a message, from 1 to {len(messages)}, but got {turn!r}")
        messages = [*messages[: int(number) - 1], messages[int(number) - 1] | {"judged": True}]
    return json.dumps(messages, ensure_ascii=False)


def talk_of(text: str) -> list[Said]:
    """The parts of a conversation that `shown_talk` wrote.

    Examples
    --------
    >>> [(one.who, one.text) for one in talk_of('[{"role": "user", "content": "Hi"}]')]
    [('role_user', 'Hi')]
    """
    return parts_of(json.loads(text) if text else ())


def parts_of(messages: Iterable[Message]) -> list[Said]:
    """The parts of a conversation: a message has its content and its tool calls."""
    parts, calls = list[Said](), dict[str, int]()
    for number, message in enumerate(messages, start=1):
        end: tuple[bool, int] = (bool(message.get("judged")), number)
        if message["role"] == "tool":
            parts.append(Said("tool_result", {"call": calls[message["tool_call_id"]]}, message["content"], True, *end))
            continue
        if message["content"] or not message.get("tool_calls"):
            folded = message["role"] in ("system", "developer")
            parts.append(Said(f"role_{message['role']}", {}, message["content"], folded, *end))
        for call in message.get("tool_calls", ()):
            calls[call["id"]] = len(calls) + 1
            blanks = {"call": calls[call["id"]], "tool": visible(call["function"]["name"], _LONGEST)}
            parts.append(Said("tool_call", blanks, call["function"]["arguments"], False, *end))
    return parts


def english_words() -> dict[str, str]:
    """What the page says, by name."""
    words: dict[str, str] = json.loads(asset("labelling", "words.json"))
    return words


def plain_texts(record: Record, parts: Sequence[str]) -> list[str]:
    """The texts of an item for files that show plain text alone."""
    words, plain = english_words(), list[str]()
    judged = f" ({words['judged']})"
    for text, head in zip(record.shown, parts, strict=True):
        blocks = []
        for one in talk_of(text) if head == COLUMN else ():
            who = words[one.who]
            for name, value in one.blanks.items():
                who = who.replace(f"{{{name}}}", str(value))
            blocks.append(f"{who}{judged * one.judged}:\n{one.text}")
        plain.append(legible("\n\n".join(blocks) if head == COLUMN else text))
    return plain
