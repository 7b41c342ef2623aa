"""Rows of a tool's log, one per score of an output, and the JSON in such files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from calib.judge.replies.extract import RatingRow
from calib.table import TableError

_HEAD = 1 << 20  # characters that tell whose log it is
_PIECE = 1 << 20  # characters of an array that are held at once, and more where one element is longer
_DECODER = json.JSONDecoder()
_BLANKS, _GAP = re.compile(r"\s*"), re.compile(r"[\s,]*")

# what a message quotes, a reply or an address, tells nothing of the call
_QUOTED = re.compile(r"https?://\S+|input_value=.*", re.IGNORECASE | re.DOTALL)
_NO_SCORE = re.compile(
    r"validation error|(?:in|not )valid json|malformed|(?:could not|unable to|failed to) (?:parse|extract)",
    re.IGNORECASE,
)
_CALL_FAILED = re.compile(
    r"error code|api ?error|bad ?request|failed to invoke|http|timed? ?out|rate.?limit|connection|throttl|overloaded"
    r"|quota|exhausted|unavailable|\b[45]\d\d\b",
    re.IGNORECASE,
)
_CUT_OFF = re.compile(r"length limit was reached|finish_reason\W+length", re.IGNORECASE)


class Row(NamedTuple):
    """One score that a tool wrote, or the trace of one that is missing; None where the tool does not say."""

    # what the tool wrote about the output: dicts and lists, in which a user's dotted path finds a field
    record: Any
    criterion: str
    score: float | str = math.nan  # unless `status` is "ok"; a word is a label, whose number the scale tells
    # "ok", "unread" (the judge answered, without a score), "refused", "failed" (the call), "truncated"
    status: str = "ok"
    item: str | None = None  # the tool's id of the output or of its input, unless it says nothing
    system: str | None = None  # who wrote the output
    rater: str | None = None  # who gave the score
    is_check: bool = False  # `rater` holds whoever the user says that the judge is: code, or a judge that is sure
    prompt: str = ""  # the tool's own name or digest of what the judge was asked; or else
    question: str | None = None  # the whole text that it was sent
    method: str = "sample"  # as in the ratings table: "sample", "logprob", "human"
    temperature: float = math.nan
    draw: int | None = None  # the number that the tool gives a repeat; None where it only writes another row
    reading: int = 0  # of several draws of the judge within a repeat
    scale: str = ""  # the scale that the tool documents
    run: str = ""  # tool, version and id of the run, such as "inspect_ai 0.3.285|UX56DM"
    source: str | None = None
    task: str | None = None  # what all systems were asked, where `source` is how one of them was
    output: str | None = None
    about: Mapping[str, Any] = {}  # what the user noted of the sample: columns of the items
    reference: str | None = None
    reply: str | None = None  # what the judge said
    # the distribution over scores where the log kept token probabilities; `score` is then not looked at
    shares: tuple[RatingRow, ...] = ()
    completion: Any = None  # a chat completion that has yet to be read, on the scale that the user says
    label: str | None = None  # a word beside the number, which counts where the scale names words
    trace: str | None = None  # what the output is a step of: the steps of one trace share a group
    id: str | None = None  # the tool's id of the score, which is there once
    messages: list[Any] | None = None  # of a conversation, as the tool writes them


class Sign(NamedTuple):
    """What a file of a tool is known by."""

    texts: tuple[str, ...]  # all of them are in it
    endings: tuple[str, ...]  # its name has one of them
    begins: str = ""
    first_line: bool = False  # whether the texts are in its first line
    without: str = ""


class Tool(NamedTuple):
    """How the logs of one tool are known, and read."""

    signs: tuple[Sign, ...]  # one of them will do
    read: Callable[[Path], Iterator[Row]]
    read_replies: Callable[[Path], Iterator[Row]] | None = None  # of a model under test that is the judge
    step: float | None = None  # of scores in a log of expectations, which are no ratings
    lossy: tuple[str, ...] = ()  # endings of files that hold less than others of the same run

    def sniff(self, name: str, head: str) -> bool:
        """Whether a file is one of the tool's, by its name and how it begins."""
        return any(
            name.endswith(sign.endings)
            and head.lstrip().startswith(sign.begins)
            and all(text in (head.partition("\n")[0] if sign.first_line else head) for text in sign.texts)
            and not (sign.without and sign.without in head)
            for sign in self.signs
        )


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
        if inner is not None and (value := field(inner, path[at + 1 :])) is not None:
            return value
    return _at(record, path)


def _at(record: Any, key: str) -> Any:
    if isinstance(record, dict):
        return record.get(key)
    if isinstance(record, list) and key.isdecimal() and int(key) < len(record):
        return record[int(key)]
    return None


def first_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of these fields that holds something; None where none does."""
    return next((record[name] for name in names if record.get(name) is not None), None)


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
    own = _QUOTED.sub("", message or "")
    failed, unread = _CALL_FAILED.search(own), _NO_SCORE.search(own)  # what is said first is what went wrong
    return "failed" if failed and not (unread and unread.start() < failed.start()) else "unread"


def number_or_nan(value: Any) -> float:
    """A number, or True, False, "yes", "no" as 1 and 0; NaN for anything else.

    Examples
    --------
    >>> number_or_nan("yes"), number_or_nan(True), number_or_nan("0.25"), number_or_nan(None)
    (1.0, 1.0, 0.25, nan)
    """
    words = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
    if isinstance(value, str):
        value = words.get(value.strip().lower(), value)
    try:
        result = math.nan if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return result if math.isfinite(result) else math.nan


def score_and_status(value: Any, missing: str = "unread") -> tuple[float | str, str]:
    """A score and its status: that of one that is missing, where the value is neither a number nor a word.

    A word stays one, as the scale may name it; but for "yes", "no", "true" and "false" it is unread until then.

    Examples
    --------
    >>> score_and_status("0.5"), score_and_status(" good "), score_and_status("yes"), score_and_status(None, "failed")
    ((0.5, 'ok'), ('good', 'unread'), ('yes', 'ok'), (nan, 'failed'))
    """
    score = number_or_nan(value)
    if isinstance(value, str) and (word := value.strip()) and (math.isnan(score) or word.isalpha()):
        return (math.nan, missing) if word.casefold() == "nan" else (word, "unread" if math.isnan(score) else "ok")
    return score, missing if math.isnan(score) else "ok"


# --- files -----------------------------------------------------------------------------------------------------------


def head_of(path: Path) -> str:
    """The beginning of a file, as far as it is text."""
    with path.open("rb") as file:
        return file.read(_HEAD).decode("utf-8", "replace").removeprefix("\ufeff")


def json_of(path: Path) -> Any:
    """A whole file of JSON; a bare NaN, as some tools write, is a number that is missing."""
    try:
        return json.loads(path.read_text("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise _broken(path, getattr(error, "lineno", 1)) from None


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file with one on each line, one at a time; another line is a `TableError`."""
    with path.open("rb") as file:
        for place, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                value = json.loads(raw.decode("utf-8-sig", "replace"))
            except (ValueError, RecursionError):
                raise _broken(path, place) from None
            if not isinstance(value, dict):
                raise TableError(f"{path.name}, line {place}: must be an object, but is {type(value).__name__}.")
            yield value


def array_of(path: Path) -> Iterator[Any]:
    """The elements of a file that is one array, one at a time, whatever its length."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        text, line = file.read(_PIECE), 1
        at = _end_of(_BLANKS, text, 0)
        if not text.startswith("[", at):
            raise TableError(f"{path.name}: must be an array of JSON, but begins with {text[at : at + 10]!r}.")
        at += 1
        while True:
            at = wrong = _end_of(_GAP, text, at)
            if text.startswith("]", at):
                if (text[at + 1 :] + file.read(_PIECE)).strip():
                    raise TableError(f"{path.name}: must be one array of JSON, but goes on after its end.")
                return
            try:
                element, end = _DECODER.raw_decode(text, at)
                whole = end < len(text)  # a number may go on
            except (ValueError, RecursionError) as error:
                whole, wrong = False, getattr(error, "pos", at)
            if whole:
                at = end
                yield element
            elif more := file.read(max(_PIECE, len(text) - at)):
                line += text.count("\n", 0, at)
                text, at = text[at:] + more, 0
            else:
                raise _broken(path, line + text.count("\n", 0, wrong))


def _end_of(blank: re.Pattern[str], text: str, at: int) -> int:
    gap = blank.match(text, at)
    return gap.end() if gap else at


def json_rows(path: Path) -> Iterator[Any]:
    """The objects of an array, or of lines, by how the file begins."""
    head = head_of(path).lstrip()
    if path.suffix == ".json" and head.partition("\n")[0].strip() == "{":  # one object over many lines
        yield json_of(path)
    else:
        yield from array_of(path) if head.startswith("[") else json_lines(path)


def objects_in(value: Any, path: Path, name: str) -> list[dict[str, Any]]:
    """What a log has under a name: a list of objects, or nothing; anything else is a `TableError`."""
    rows = [] if value is None else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TableError(f"{path.name}: `{name}` must be a list of objects.")
    return rows


def _broken(path: Path, line: int) -> TableError:
    return TableError(f"{path.name}, line {line}: must be whole JSON, but is broken or cut off here.")
