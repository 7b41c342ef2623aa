"""What a reader of a tool's log gives: one row per reading of an output, in the tool's own words for ids."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from calib.judge.replies.extract import RatingRow

_CALL_FAILED = re.compile(
    r"error code|api ?error|bad ?request|failed to invoke|http|timed? ?out|rate.?limit|connection|\b[45]\d\d\b",
    re.IGNORECASE,
)
_CUT_OFF = re.compile(r"length limit was reached|finish_reason\W+length", re.IGNORECASE)


class Row(NamedTuple):
    """One score that a tool wrote, or the trace of one that is missing; None where the tool does not say."""

    # what the tool wrote about the output: dicts and lists, in which a user's dotted path finds a field
    record: Any
    criterion: str
    score: float = math.nan  # unless `status` is "ok"
    # "ok", "unread" (the judge answered, without a score), "refused", "failed" (the call), "truncated"
    status: str = "ok"
    item: str | None = None  # the tool's id of the output or of its input, unless it says nothing
    system: str | None = None  # who wrote the output
    rater: str | None = None  # who gave the score
    prompt: str = ""  # the tool's own name or digest of what the judge was asked; or else
    asked: str | None = None  # the whole text that it was sent
    method: str = "sample"  # as in the ratings table: "sample", "logprob", "human"
    temperature: float = math.nan
    draw: int | None = None  # the number that the tool gives a repeat; None where it only writes another row
    scale: str = ""  # the scale that the tool documents
    run: str = ""  # tool, version and id of the run, such as "inspect_ai 0.3.285|UX56DM"
    source: str | None = None
    output: str | None = None
    reference: str | None = None
    reply: str | None = None  # what the judge said
    # the distribution over scores where the log kept token probabilities; `score` is then not looked at
    shares: tuple[RatingRow, ...] = ()
    completion: Any = None  # a chat completion that has yet to be read, on the scale that the user says


def field(record: Any, path: str) -> Any:
    """What stands at a dotted path of dicts and lists; None where nothing does. A key may hold dots of its own.

    Examples
    --------
    >>> field({"metadata": {"build.id": 7, "tags": ["a"]}}, "metadata.build.id"), field({"a": ["x"]}, "a.0")
    (7, 'x')
    """
    if isinstance(record, dict) and path in record:
        return record[path]
    for at in (place for place, char in enumerate(path) if char == "."):
        inner = _at(record, path[:at])
        if inner is not None and (found := field(inner, path[at + 1 :])) is not None:
            return found
    return _at(record, path)


def _at(record: Any, key: str) -> Any:
    if isinstance(record, dict):
        return record.get(key)
    if isinstance(record, list) and key.isdecimal() and int(key) < len(record):
        return record[int(key)]
    return None


def text_of(value: Any) -> str | None:
    """A text as it stands; an object that holds a single text as that, any other as JSON.

    Examples
    --------
    >>> text_of("a"), text_of({"answer": "b"}), text_of({"x": 1, "y": 2}), text_of(None)
    ('a', 'b', '{"x": 1, "y": 2}', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 1 and isinstance(one := next(iter(value.values())), str):
        return one
    return json.dumps(value, sort_keys=True, default=str)


def why_missing(message: str | None) -> str:
    """The status of a score that is not there, by what the tool says of it: a call that failed, a reply without one.

    Examples
    --------
    >>> why_missing("Error code: 400 - rejected"), why_missing("Could not extract JSON")
    ('failed', 'unread')
    """
    if _CUT_OFF.search(message or ""):
        return "truncated"
    return "failed" if _CALL_FAILED.search(message or "") else "unread"


def number(value: Any) -> float:
    """A number, or True, False, "yes", "no" as 1 and 0; NaN for anything else.

    Examples
    --------
    >>> number("yes"), number(True), number("0.25"), number(None)
    (1.0, 1.0, 0.25, nan)
    """
    words = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
    if isinstance(value, str):
        value = words.get(value.strip().lower(), value)
    try:
        found = math.nan if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) else math.nan
