"""What can be seen in a text without reading it: how long it is, and how it is laid out."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from calib.core.check import Floats

_HEDGES = (
    "maybe", "perhaps", "possibly", "probably", "might", "could", "likely", "unlikely", "seems", "seem",
    "appears", "appear", "suggests", "suggest", "i think", "i believe", "it is possible", "in my opinion", "not sure",
    "unclear", "generally", "typically", "tend to", "tends to", "somewhat", "arguably",
)  # fmt: skip
FLAGS: dict[str, re.Pattern[str]] = {
    # a line that starts as an item of a list does: -, *, +, a bullet, 1. or 1)
    "lists": re.compile(r"^[ \t]{0,8}(?:[-*+\u2022\u2023\u25aa]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE),
    # a line of Markdown's or HTML's headings, or one that is bold and nothing else
    "headings": re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+\S|<h[1-6][ >]|\*\*[^*\n]{1,120}\*\*:?[ \t]*$)", re.MULTILINE),
    # a block between fences, a word between backticks, or HTML's <code>
    "code": re.compile(r"^[ \t]{0,3}(?:```|~~~)|`[^`\n]+`|<code[ >]|<pre[ >]", re.MULTILINE),
    # a word by which a writer is not held to what follows; May is a month
    "hedges": re.compile(rf"\b(?:may|(?i:{'|'.join(_HEDGES)}))\b"),
}


def n_words(text: str) -> int:
    """Stretches between blanks.

    Examples
    --------
    >>> n_words("Two words, or five.")
    4
    """
    return len(text.split())


_LENGTHS: dict[str, Callable[[str], int]] = {"words": n_words, "characters": len}


def log_length(texts: pd.Series, unit: str = "words") -> Floats:
    """The logarithm of one more than the words or characters of each text where one is empty; NaN without a text.

    Examples
    --------
    >>> log_length(pd.Series(["a b c", None])).round(3)
    array([1.099,   nan])
    """
    sizes = np.array([_LENGTHS[unit](text) if isinstance(text, str) else np.nan for text in texts], dtype=float)
    empty = (sizes == 0).any()
    return np.asarray(np.log(sizes + empty), dtype=float)


def flag(texts: pd.Series, name: str) -> Floats:
    r"""1 where a text has lists, headings, code or hedges, else 0; NaN without a text.

    Examples
    --------
    >>> flag(pd.Series(["- one\n- two", "none - here"]), "lists"), flag(pd.Series(["Perhaps so."]), "hedges")
    (array([1., 0.]), array([1.]))
    """
    found = [bool(FLAGS[name].search(text)) if isinstance(text, str) else np.nan for text in texts]
    return np.array(found, dtype=float)
