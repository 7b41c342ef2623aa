"""What people are asked: criteria, scales, texts, and which of these each annotator sees in which order."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# a row of what people answered, in every file that comes back: a table of ratings, and what else a page knows
ANSWERS = (
    "item", "criterion", "rater", "scale", "method", "score", "status", "seconds", "time", "comment", "position",
    "swapped", "page",
)  # fmt: skip
CANNOT_SAY = "cannot_say"  # the status of an answer that is no score


class Level(NamedTuple):
    """One value of a scale.

    Attributes
    ----------
    value : float
    word : str
        What it means; empty where the number says all.
    """

    value: float
    word: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that is asked of each item.

    Attributes
    ----------
    name : str
    meaning : str
        In a sentence or several; empty where the name says all.
    scale : str
        As the tables write it, ``1|2|3|4|5`` or ``0..100``.
    levels : tuple of Level
        Worst first; none where the scale is continuous. Of a pair 0, 0.5 and 1: the first loses, ties, wins.
    """

    name: str
    meaning: str
    scale: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """One item as an annotator is to see it.

    Attributes
    ----------
    item : str
    texts : tuple of str
        One for each part of the task, in the order of `Task.parts`.
    swapped : bool
        Whether the two outputs of a pair, which are the last two texts, are shown the other way round. Whoever reads an
        answer back turns it round again.
    """

    item: str
    texts: tuple[str, ...]
    swapped: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The texts in the order in which they are shown."""
        return (*self.texts[:-2], self.texts[-1], self.texts[-2]) if self.swapped else self.texts


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one annotator is asked, in the order of asking.

    Attributes
    ----------
    annotator : str
        Empty where the page is to ask who labels.
    asked : tuple of Asked
    """

    annotator: str
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One labelling: the same question about items of one pool, for one annotator or several.

    Attributes
    ----------
    title : str
    page : str
        What all its files are known by, see `page_id`.
    parts : tuple of str
        Heads of the texts, such as source and output; of a pair the last two are its outputs.
    paired : bool
        Whether two outputs are held against each other.
    criteria : tuple of Criterion
    guideline : str
        Plain text.
    sheets : tuple of Sheet
    """

    title: str
    page: str
    parts: tuple[str, ...]
    paired: bool
    criteria: tuple[Criterion, ...]
    guideline: str
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
    told = [[one.name, one.meaning, one.scale, one.levels] for one in criteria]
    digest = hashlib.sha256()
    for part in (*sorted(texts), told):
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
