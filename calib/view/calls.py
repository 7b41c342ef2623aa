"""Calls of a run from its store of replies: what was asked and answered, tokens, cost, replies that were not used."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.core.text import HALF
from calib.judge.calls.endpoint import list_price
from calib.judge.conversation import shown_parts
from calib.judge.replies.reply import decode
from calib.labelling.talk import COLUMN, TURN
from calib.table.files import within_limit
from calib.table.messages import conversation_in

_BLOCK = re.compile(r"BEGIN ([A-Z_ ]+) ([0-9a-f]{16})\n(.*?)\nEND \1 \2", re.DOTALL)  # as prompts have the texts
_REPLIES = """
SELECT replies.id, replies.request, replies.body, replies.arrived, requests.body, count(draws.key) FROM replies
JOIN requests ON requests.id = replies.request LEFT JOIN draws ON draws.reply = replies.id
GROUP BY replies.id ORDER BY replies.id
"""
_KINDS = ("source", "output", "output_a", "output_b", COLUMN, TURN)
_MOST = 20_000  # characters of a raw reply


def is_store(thing: Any) -> bool:
    """Whether it is the path of a store of replies."""
    if not isinstance(thing, str | Path) or not Path(thing).is_file():
        return False
    with Path(thing).open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def calls_in(store: str | Path, texts: pd.DataFrame | None, argument: str = "store") -> pd.DataFrame:
    """A row for each reply: request, item (by the texts in the prompt), model, prompt, reply, tokens, cost.

    A reply without a draw is a retry: an earlier one of the same draws counts.
    """
    if not is_store(store):
        raise ArgumentError(argument, "must be a store of replies, as `rate` writes it", f"got {str(store)!r}")
    item_of = _item_finder(texts)
    rows = []
    try:
        with closing(sqlite3.connect(f"{within_limit(Path(store)).resolve().as_uri()}?mode=ro", uri=True)) as db:
            for _, request, body, arrived, query, draws in db.execute(_REPLIES):
                rows.append(_call(str(request), bytes(body), arrived, _query_in(query), draws, item_of))
    except sqlite3.DatabaseError as error:
        rule = "must be a store of replies, as `rate` writes it"
        raise ArgumentError(argument, rule, f"{store} is not: {error}") from None
    if not rows:
        raise ArgumentError(argument, "must hold replies", f"{store} has none")
    return pd.DataFrame(rows)


def _item_finder(texts: pd.DataFrame | None) -> Callable[[str], str]:
    """A function that finds the item of a prompt by the texts in it, "" where there is none."""

    @cache
    def items_by_texts(kinds: tuple[str, ...]) -> dict[tuple[str, ...], str]:
        items = dict[tuple[str, ...], str]()
        for row in texts[["item", *kinds]].to_dict("records") if texts is not None and kinds else ():
            parts = {name: str(row[name]) for name in kinds}
            if COLUMN in kinds:
                with suppress(ValueError):  # no conversation, or no such turn
                    parts |= shown_parts(conversation_in(row[COLUMN]), "", row.get(TURN))
            whole = (HALF.sub("\ufffd", text.strip()) for text in parts.values())
            items.setdefault(tuple(sorted(whole)), str(row["item"]))
        return items

    def item_of(prompt: str) -> str:
        blocks = {kind.lower().replace(" ", "_"): text.replace(mark, "") for kind, mark, text in _BLOCK.findall(prompt)}
        kinds = tuple(name for name in _KINDS if texts is not None and name in texts and name in blocks)
        return items_by_texts(kinds).get(tuple(sorted(blocks[name].strip() for name in kinds)), "")

    return item_of


def _query_in(body: Any) -> dict[str, Any]:
    """What the judge was sent; of a damaged request nothing."""
    with suppress(ValueError, TypeError, RecursionError):
        query = json.loads(body)
        return query if isinstance(query, dict) else {}
    return {}


def _call(
    request: str, body: bytes, arrived: float, query: dict[str, Any], draws: int, item_of: Callable[[str], str]
) -> dict[str, Any]:
    listed = query.get("messages")
    messages = listed if isinstance(listed, list) else []
    text = "\n\n".join(f"{one.get('role')}: {one.get('content')}" for one in messages if isinstance(one, dict))
    prompt = HALF.sub("\ufffd", text)
    item = item_of(prompt)
    model, reply, tokens = str(query.get("model", "")), "", (0, 0)
    finish, raw = "broken", "" if body[:1] == b"\x93" else body[:_MOST].decode("utf-8", "replace")
    try:
        read = decode(body)
        reply, tokens = "\n".join(one.text for one in read.choices), (read.prompt_tokens, read.completion_tokens)
        finish = ", ".join(dict.fromkeys(one.finish or one.refusal for one in read.choices))
    except ValueError as error:
        raw = raw or str(error)
    price = list_price(model)
    cost = (tokens[0] * price[0] + tokens[1] * price[1]) / 1e6 if price else float("nan")
    call = {
        "item": item or request[:12], "matched": bool(item), "model": model, "prompt": prompt, "reply": reply,
        "finish": finish, "tokens in": float(tokens[0]), "tokens out": float(tokens[1]), "cost": cost,
        "used": float(draws > 0),
        "arrived": str(np.datetime64(int(min(max(arrived, 0), 1e10)), "s")).replace("T", " "), "raw": raw,
    }  # fmt: skip
    return {name: HALF.sub("\ufffd", value) if isinstance(value, str) else value for name, value in call.items()}


def calls_by_model(calls: pd.DataFrame) -> list[dict[str, Any]]:
    """Of each model calls, retries, tokens and cost."""
    rows = []
    for model, part in calls.groupby("model", sort=False):
        rows.append({
            "model": str(model), "calls": len(part), "retries": int((part["used"] == 0).sum()),
            "tokens in": int(part["tokens in"].sum()), "tokens out": int(part["tokens out"].sum()),
            "cost": float(part["cost"].sum()) if part["cost"].notna().all() else None,
            "broken": int((part["finish"] == "broken").sum()),
        })  # fmt: skip
    return rows
