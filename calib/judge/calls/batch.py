"""Batch files: requests as OpenAI batch input, and ratings from batch output or from recorded responses."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.check import ArgumentError
from calib.core.progress import stoppable
from calib.core.text import printable
from calib.judge.calls.dialect import ROOM, dialect_of
from calib.judge.calls.endpoint import sent_secrets
from calib.judge.calls.transport import model_name
from calib.judge.judge import Call, Judge, Plan, Row, Sheet, calls_for, draws_request, prompts_and_rows, unread_notes
from calib.judge.prompt import Prompt
from calib.judge.replies.extract import extract
from calib.judge.replies.reply import ReplyChoice, decode, masked, to_json
from calib.table import TableError
from calib.table.files import whole_or_not, within_limit

_BATCH_ADDRESS = "batch"  # part of the keys, in place of a transport


def to_batch(items: Any, prompt: Prompt | Iterable[Prompt], judge: Judge, path: str | Path) -> Path:
    """Write the requests of a run as OpenAI batch input, one line per draw (of a pair in each order).

    Parameters
    ----------
    items : DataFrame or path
    prompt : Prompt or iterable of Prompt
        With evaluation steps (see `calib.write_steps`).
    judge : Judge
        Its `method` must be "logprob" or "sample": a file cannot be asked what a model gives.
    path : path
        A .jsonl file.

    Examples
    --------
    >>> import calib, json, tempfile
    >>> items, _ = calib.load_planted()
    >>> judge = calib.Judge("openai/gpt-4o-mini", method="logprob")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = to_batch(items.head(2), calib.geval_prompt("fluency"), judge, f"{folder}/batch.jsonl")
    ...     lines = [json.loads(line) for line in path.read_text().splitlines()]
    >>> len(lines), lines[0]["url"], lines[0]["body"]["model"]
    (2, '/v1/chat/completions', 'gpt-4o-mini')
    """
    prompts, rows = prompts_and_rows(items, prompt)
    if judge.method == "auto":
        raise ArgumentError("judge", "must have the method 'logprob' or 'sample' for a batch", "has 'auto'")
    if any(one.steps is None for one in prompts):
        rule = "must have evaluation steps for a batch; have them written by `calib.write_steps`"
        raise ArgumentError("prompt", rule)
    plan, room = Plan(judge.method, "", {}), ROOM if judge.max_tokens is None else 0
    dialect = dialect_of(judge.model, judge.temperature, room, direct=True)
    url = "/v1/responses" if dialect.responses else "/v1/chat/completions"
    with stoppable(), whole_or_not(Path(path)) as part, part.open("wb") as file:
        for call in {call.key: call for call in calls_for(judge, _BATCH_ADDRESS, plan, prompts, rows)}.values():
            body = dialect.body(draws_request(judge, plan, [call])) | {"model": model_name(judge.model)}
            line = {"custom_id": call.key, "method": "POST", "url": url, "body": body}
            file.write(to_json(line) + b"\n")
    return Path(path)


def from_jsonl(
    path: str | Path, items: Any, prompt: Prompt | Iterable[Prompt], judge: Judge, *, replies: bool = False
) -> pd.DataFrame:
    r"""Ratings from replies that were recorded elsewhere: OpenAI-style responses or batch output.

    Lines that report an error have the status "failed"; a warning counts items that have no line.

    Parameters
    ----------
    path : path
        A .jsonl file. Each line is a chat completion, or a line of OpenAI batch output. It says what it belongs to by
        `custom_id` (as `to_batch` wrote it, or an item's id) or by `item`; lines of one item are its draws. Without
        any ids there must be one line for each item, in their order. About pairs a line with an item's id says by
        `shown_first` ("a" or "b") which output the judge was shown first.
    items : DataFrame or path
    prompt : Prompt or iterable of Prompt
        What was asked: it says on which scale and by which pattern the replies are read.
    judge : Judge
        Who answered. Method "auto" reads token probabilities if the first reply has them.
    replies : bool, default False
        Keep the text of each reply in a column `reply`.

    Examples
    --------
    >>> import calib, tempfile
    >>> items, _ = calib.load_planted()
    >>> line = '{"choices": [{"message": {"content": "4"}}]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "replies.jsonl")
    ...     _ = path.write_text(line + "\n" + line)
    ...     ratings = from_jsonl(path, items.head(2), calib.geval_prompt("fluency"), calib.Judge("someone"))
    >>> ratings[["score", "method"]].to_dict("records")
    [{'score': 4.0, 'method': 'sample'}, {'score': 4.0, 'method': 'sample'}]
    """
    prompts, rows = prompts_and_rows(items, prompt)
    lines: list[_Line] = []
    secrets = sent_secrets()
    with within_limit(Path(path)).open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                line = json.loads(raw)
                name = next((str(line[key]) for key in ("custom_id", "item") if line.get(key) is not None), None)
                body = line.get("response", line)
                failed = line.get("error") or (body or {}).get("status_code", 200) != 200
                body = (body or {}).get("body", body)
                if body and "message" in body and "choices" not in body:
                    body = {"choices": [body]}  # a single choice, as some logs keep it
                choices = []
                if not failed:
                    reply = decode(body)
                    choices = (masked(reply, secrets) if secrets else reply).choices
            except (ValueError, AttributeError, TypeError, RecursionError):
                rule = "must be a chat completion or a line of batch output, but is not"
                raise TableError(f"line {number} {rule}.") from None
            lines.append(_Line(number, name, choices, line.get("shown_first")))
    exact = next((line.choices[0].has_logprobs for line in lines if line.choices), False)
    method = judge.method if judge.method != "auto" else "logprob" if exact else "sample"
    drawn = _draws_in(lines, judge, method, prompts, rows)
    sheet = Sheet(texts=replies)
    sheet.expect([call for call, _ in drawn])
    for call, choice in drawn:
        if choice is None:
            sheet.fail(call)
            continue
        prompt, floor = call.prompt, judge.noise_floor
        reading = extract(choice, call.scale, prompt.answer, prompt.criterion, logprobs=call.logprobs, floor=floor)
        sheet.add(call, reading.rows, choice.text)
    for note in unread_notes(sheet.counts):
        warnings.warn(note, stacklevel=2)
    if without := len(rows) - len({call.row["item"] for call, _ in drawn}):
        warnings.warn(f"{without} of {len(rows)} items have no line in {printable(Path(path).name)}.", stacklevel=2)
    auto = f"|auto:{method}" if judge.method == "auto" else ""
    return sheet.frame(judge, f"file:{Path(path).name}{auto}")


class _Line(NamedTuple):
    """One line of a file; `choices` is empty where it reports an error."""

    number: int
    name: str | None
    choices: list[ReplyChoice]
    shown_first: str | None = None


def _draws_in(
    lines: list[_Line], judge: Judge, method: str, prompts: list[Prompt], rows: list[Row]
) -> list[tuple[Call, ReplyChoice | None]]:
    """The draws in the file, each with its choice; None where the line reports an error."""
    by_name: dict[str, list[Call]] = {}
    # what a line that names an item may answer: one question, of a pair in either order
    for row in rows if len(prompts) == 1 else ():
        about, orders = f"item {row['item']}", enumerate(prompts[0].orders)
        calls = [Call(f"{about}{order}", prompts[0], row, draw, method == "logprob", order) for draw, order in orders]
        by_name[row["item"]] = calls
    by_key: dict[str, list[Call]] = {}
    for call in calls_for(judge, _BATCH_ADDRESS, Plan(method, "", {}), prompts, rows):
        by_key.setdefault(call.key, []).append(call)  # items of one text share a request
    by_name |= by_key
    if all(line.name is None for line in lines):  # lines without ids are those of the items, in their order
        if len(lines) != len(rows):
            raise TableError(f"lines without ids must be as many as the items, but are {len(lines)} for {len(rows)}.")
        lines = [line._replace(name=row["item"]) for line, row in zip(lines, rows, strict=True)]
    counts: Counter[tuple[str, str]] = Counter()
    drawn: list[tuple[Call, ReplyChoice | None]] = []
    for line in lines:
        calls, place = by_name.get(line.name or "", []), f"line {line.number}"
        if not calls:
            raise TableError(f"{place} must belong to an item or a request of the batch, but is {line.name!r}.")
        if len({call.shown_first for call in calls}) > 1:  # about a pair the line has to say which
            calls = [call for call in calls if call.shown_first == line.shown_first]
        if not calls:
            rule = 'must say by `shown_first` which output of the pair came first, "a" or "b"'
            raise TableError(f"{place} {rule}, but has {line.shown_first!r}.")
        choices: Sequence[ReplyChoice | None] = line.choices or [None]
        for call, choice in product(calls, choices):
            same = (call.key, call.row["item"])
            number = call.draw + counts[same]
            drawn.append((call._replace(key=f"{call.key}/{len(drawn)}", draw=number), choice))
            counts[same] += len(call.prompt.orders)
    return drawn
