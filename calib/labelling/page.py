"""The page that an annotator labels with: one file that needs no network and sends nothing anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from importlib import resources
from typing import NamedTuple

from calib._version import __version__
from calib.core.check import ArgumentError
from calib.core.text import source_hash

_HALF = re.compile("[\0\ud800-\udfff]")  # half a character, which no file in UTF-8 can hold
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")  # besides, what could end a script or a line of it
_BUTTONS = 10  # levels of a scale; more of them, or none, are a number to type: as in page.js
_BLANK = re.compile(r"\{\w+\}")


def page_of(task: Task, sheet: Sheet, words: Mapping[str, str] | None = None) -> str:
    r"""The HTML of the page for one annotator; without a name it asks who labels, and makes an order for each name.

    `words` say what stands there instead of the English in ``words.json``, by the names there; "language" and
    "direction" (ltr or rtl) are two of them.

    Examples
    --------
    >>> from calib.labelling.page import Asked, Criterion, Level
    >>> fluency = Criterion("fluency", "", "1|2", (Level(1, "poor"), Level(2, "good")))
    >>> sheet = Sheet("ana", (Asked("a", ("A text.", "Its summary.")),))
    >>> task = Task("Summaries", "3e90d600b322", ("source", "output"), False, (fluency,), "Read both.", (sheet,))
    >>> page_of(task, sheet, {"start": "Los", "language": "de"})[:44]
    '<!doctype html>\n<html lang="de" dir="ltr">\n<'
    >>> page_of(task, sheet, {"strat": "Los"})
    Traceback (most recent call last):
        ...
    calib.core.check.ArgumentError: `words` must be words of the page, such as 'start', but 'strat' is none.
    """
    from jinja2 import Environment, StrictUndefined

    from calib.table.text import visible

    wording, style, script = _checked_words(words or {}), _file("page.css"), _file("page.js")
    texts: dict[str, int] = {}  # a text of several items stands in the data once
    items = [
        (veiled(one.item), one.swapped, [texts.setdefault(text, len(texts)) for text in one.texts])
        for one in sheet.asked
    ]
    data = {"page": task.page, "annotator": sheet.annotator, "paired": task.paired, "parts": task.parts}
    data |= {"criteria": [asdict(one) for one in task.criteria], "items": items, "texts": list(texts)}
    data |= {"columns": ANSWERS, "words": wording}
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    written = _UNSAFE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", written)  # JSON that no text can break out of
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    page = environment.from_string(_file("page.html.j2")).render(
        task=task,
        items=len(sheet.asked),
        annotator=sheet.annotator,
        words=wording,
        typed=any(not 0 < len(one.levels) <= _BUTTONS for one in task.criteria),
        style=style,
        script=script,
        data=written,
        version=__version__,
        style_hash=source_hash(style),
        script_hash=source_hash(script),
    )
    return _HALF.sub("\ufffd", page.lstrip())


def _checked_words(words: Mapping[str, str]) -> dict[str, str]:
    """The words of the page, where some are to be others."""
    english: dict[str, str] = json.loads(_file("words.json"))
    for name, text in words.items():
        if name not in english:
            near = get_close_matches(str(name), english, 1)
            hint = f"such as {near[0]!r}" if near else "as they stand in calib/labelling/words.json"
            raise ArgumentError("words", f"must be words of the page, {hint}", f"{name!r} is none")
        if not isinstance(text, str) or not text.strip():
            raise ArgumentError("words", "must be texts", f"{name!r} is {text!r}")
        blanks = _BLANK.findall(english[name])
        if unmatched := [blank for blank in _BLANK.findall(text) if blank not in blanks]:
            rule = f"may have the blanks {', '.join(blanks)} in {name!r}" if blanks else f"has no blanks in {name!r}"
            raise ArgumentError("words", rule, f"got {unmatched[0]}")
    wording = english | dict(words)
    if wording["direction"] not in ("ltr", "rtl"):
        raise ArgumentError("words", "must have 'ltr' or 'rtl' as direction", f"got {wording['direction']!r}")
    return wording


def _file(name: str) -> str:
    return resources.files("calib.labelling").joinpath(name).read_text(encoding="utf-8")


# --- what people are asked --------------------------------------------------------------------------------------------


# a row of what people answered, in every file that comes back: a table of ratings, and what else a page knows
ANSWERS = (
    "item", "criterion", "rater", "scale", "method", "score", "status", "seconds", "time", "comment", "position",
    "swapped", "page",
)  # fmt: skip
CANNOT_SAY = "cannot_say"  # the status of an answer that is no score


class Level(NamedTuple):
    """One value of a scale, and the word for it; empty where the number says all."""

    value: float
    word: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that is asked of each item."""

    name: str
    meaning: str  # in a sentence or several; empty where the name says all
    scale: str  # as the tables write it, "1|2|3|4|5" or "0..100"
    # worst first; none where the scale is continuous. Of a pair 0, 0.5 and 1: the first loses, ties, wins
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """One item as an annotator is to see it."""

    item: str
    texts: tuple[str, ...]  # in the order of `Task.parts`
    # the two outputs of a pair, the last two texts, change places; whoever reads an answer back turns it round
    swapped: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The texts in the order in which they are shown."""
        return (*self.texts[:-2], self.texts[-1], self.texts[-2]) if self.swapped else self.texts


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one annotator is asked, in the order of asking."""

    annotator: str  # empty where the page is to ask who labels
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One labelling: the same question about items of one pool, for one annotator or several."""

    title: str
    page: str  # what all its files are known by, see `page_id`
    parts: tuple[str, ...]  # heads of the texts, such as source and output; of a pair the last two are its outputs
    paired: bool  # whether two outputs are held against each other
    criteria: tuple[Criterion, ...]
    guideline: str  # plain text
    sheets: tuple[Sheet, ...]


def page_id(texts: Sequence[tuple[str, ...]], criteria: Sequence[Criterion]) -> str:
    """A hash of items (id and texts, of the whole pool, chosen or not), criteria and scales.

    A later drawing from the same pool has the same one, so that its page continues the one before.

    Examples
    --------
    >>> fluency = Criterion("fluency", "", "1|2", (Level(1, ""), Level(2, "")))
    >>> page_id([("a", "A text."), ("b", "Another.")], [fluency])
    '3e90d600b322'
    >>> page_id([("b", "Another."), ("a", "A text.")], [fluency])
    '3e90d600b322'
    """
    questions = [[one.name, one.meaning, one.scale, one.levels] for one in criteria]
    digest = hashlib.sha256()
    for part in (*sorted(texts), questions):
        digest.update(json.dumps(part).encode() + b"\n")
    return digest.hexdigest()[:12]


def veiled(item: str) -> str:
    """An id that tells a reader nothing: names of systems are often part of ids.

    It hides nothing from somebody who wants to know; it keeps the eye from it.

    Examples
    --------
    >>> veiled("gpt-4o/7"), unveiled(veiled("gpt-4o/7"))
    ('Z3B0LTRvLzc', 'gpt-4o/7')
    """
    return base64.urlsafe_b64encode(item.encode(errors="surrogatepass")).decode().rstrip("=")


def unveiled(key: str) -> str:
    """The id again; a `ValueError` if it is none."""
    return base64.b64decode(key + "=" * (-len(key) % 4), altchars=b"-_", validate=True).decode(errors="surrogatepass")
