"""Conversations as a judge reads them, message by message between marks, and as short as its window needs."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.check import ArgumentError, whole
from calib.core.text import printable
from calib.table import TableArgumentError, check_items, read_frame
from calib.table.checks import conversations_of
from calib.table.frames import pandas_of
from calib.table.messages import Conversation, MessageError, conversation_in

_LEAST = 200  # characters that a cut text keeps at least, its note among them
_CUT = "[... {:,} characters are cut ...]"


def parsed_messages(item: Mapping[str, Any]) -> Conversation:
    """The conversation of an item."""
    try:
        return conversation_in(item["messages"])
    except MessageError as error:
        why = "it is empty" if item["messages"] == "" else error
        rule = f"must have a conversation in 'messages': item {item.get('item')!r}: {why}"
        raise ArgumentError("items", rule) from None


def shown_parts(conversation: Conversation, mark: str, turn: Any = None, item: object = "") -> dict[str, str]:
    """What stands for the columns `messages` and, where a turn is rated, `turn`; each message between marks.

    Of a turn, the number of a message from 1 on, `messages` are those before it; what comes later is not shown.

    Examples
    --------
    >>> run = conversation_in([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    >>> print(shown_parts(run, "1f", 2)["turn"])
    BEGIN MESSAGE 2 1f (assistant)
    Hello
    END MESSAGE 2 1f
    """
    blocks = list[str]()
    calls = dict[str, int]()  # the number of each, over all messages
    for number, message in enumerate(conversation.messages, start=1):
        who = message["role"] if message["role"] != "tool" else f"tool, result of call {calls[message['tool_call_id']]}"
        about = [who, *(printable(str(message[name])) for name in ("name", "time") if name in message)]
        lines = [f"BEGIN MESSAGE {number} {mark} ({', '.join(about)})", *filter(None, [message["content"]])]
        for call in message.get("tool_calls", ()):
            k = calls[call["id"]] = len(calls) + 1
            lost = " (no result came)" if call["id"] in conversation.unanswered else ""
            name, arguments = printable(call["function"]["name"]), call["function"]["arguments"]
            lines += [f"BEGIN TOOL CALL {k} {mark}{lost}", f"{name} {arguments}", f"END TOOL CALL {k} {mark}"]
        blocks.append("\n".join([*lines, f"END MESSAGE {number} {mark}"]))
    if turn is None:
        return {"messages": "\n".join(blocks)}
    place = _place(turn, blocks, item)
    return {"messages": "\n".join(blocks[:place]) or "(none)", "turn": blocks[place]}


def _place(turn: Any, messages: Sequence[Any], item: object) -> int:
    """The place of the message that a cell of `turn` names."""
    try:
        number = float(turn)
    except (TypeError, ValueError):
        number = math.nan
    if number not in range(1, len(messages) + 1):
        rule = f"must have in 'turn' the number of a message, here from 1 to {len(messages)}"
        raise ArgumentError("items", rule, f"item {item!r} has {turn!r:.60}")
    return int(number) - 1


def shorten_messages(items: Any, max_characters: int) -> pd.DataFrame:
    """Items whose conversations have at most so many characters, for a model that takes no more.

    Middles are cut, and a note stands there: of the results of tools first, then of the longest other contents and
    arguments. The last message stays whole, or the one that a column `turn` names. What cannot be made so short is
    refused.

    Parameters
    ----------
    items : DataFrame or path
        With a column `messages` (see `calib.table.check_items`), of any length. They come back checked, with a column
        `n_cut`: how many characters of the conversation are gone.
    max_characters : int
        Of all contents and arguments of one item; roles and marks of a prompt come on top, about 80 a message.

    Examples
    --------
    >>> run = [{"role": "user", "content": "Where is it? " * 100}, {"role": "assistant", "content": "On its way."}]
    >>> short = shorten_messages(pd.DataFrame({"item": ["a"], "messages": [run]}), 500)
    >>> short["n_cut"].tolist()
    [845]
    """
    most = whole(max_characters, "max_characters", least=1)
    frame = read_frame(items) if isinstance(items, str | Path) else pandas_of(items)
    if not isinstance(frame, pd.DataFrame) or not {"item", "messages"} <= set(frame):
        raise TableArgumentError("items", "must be a table with the columns `item` and `messages`")
    cells, cut = list[str](), list[int]()
    turns = frame["turn"] if "turn" in frame else [None] * len(frame)
    for item, turn, conversation in zip(frame["item"], turns, conversations_of(frame, limited=False), strict=True):
        short, n_cut = None, 0
        if conversation is not None:
            short, n_cut = shortened(conversation, most, None if pd.isna(turn) else turn)
        if short is not None and short.length > most:
            rule = "of item {!r} must have at most {:,} characters besides what is kept, but {:,} stay"
            raise TableArgumentError("items", f"{rule.format(str(item), most, short.length)}: raise `max_characters`")
        cells.append("" if short is None else short.text)
        cut.append(n_cut)
    return check_items(frame.assign(messages=cells, n_cut=frame.get("n_cut", 0) + pd.Series(cut, index=frame.index)))


def shortened(conversation: Conversation, most: int, turn: Any = None) -> tuple[Conversation, int]:
    """The conversation in at most so many characters, if that can be, and how many of its own are gone.

    Middles are cut: of tools' results first, then of all other contents and arguments, but for those of the message
    that `turn` names, or the last; the longest are cut to one length.

    Examples
    --------
    >>> run = conversation_in([{"role": "user", "content": "a" * 1000}, {"role": "assistant", "content": "b" * 100}])
    >>> short, n_cut = shortened(run, 400)
    >>> short.length, n_cut, short.messages[0]["content"][120:180]
    (398, 734, 'aaaaaaaaaaaaa[... 734 characters are cut ...]aaaaaaaaaaaaaaa')
    """
    messages = deepcopy(conversation.messages)  # of which texts may be cut
    out, n_cut = Conversation(messages, conversation.unanswered), 0
    results, others = list[tuple[Any, str]](), list[tuple[Any, str]]()  # the objects and keys that hold what may be cut
    kept = len(messages) if turn is None else _place(turn, messages, "") + 1
    for number, message in enumerate(messages, start=1):
        if message["role"] == "tool" and number != kept:
            results.append((message, "content"))
        elif number != kept:
            others.append((message, "content"))
            others += [(call["function"], "arguments") for call in message.get("tool_calls", ())]
    for pieces in (results, others):
        if (excess := out.length - most) > 0:
            # the longest are cut to one length, at which the excess is gone, or nearly
            lengths = [len(holder[key]) for holder, key in pieces]
            levels = range(_LEAST, max([_LEAST, *lengths]) + 1)
            enough = bisect_right(levels, -excess, key=lambda level: -sum(max(n - level, 0) for n in lengths))
            level = levels[max(enough - 1, 0)]
            for holder, key in (piece for piece, n in zip(pieces, lengths, strict=True) if n > level):
                text = holder[key]
                room = level - len(_CUT.format(len(text)))
                head, gone = (room + 1) // 2, len(text) - room
                holder[key] = f"{text[:head]}{_CUT.format(gone)}{text[head + gone :]}"
                n_cut += gone
    return out, n_cut
