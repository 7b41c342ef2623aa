"""What a numpydoc docstring says of each argument."""

from __future__ import annotations

import inspect
import re
from typing import Any

import calib
from calib import stats

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)


def arguments_told(function: Any) -> dict[str, str]:
    """A text for each argument; one that stands elsewhere ("As for `calib.stats.x`.") is taken from there.

    Examples
    --------
    >>> arguments_told(calib.difference)["adjust"]
    'holm or bh. How p-values are adjusted where a is compared with several.'
    """
    section = _SECTION.search(inspect.getdoc(function) or "")
    found: dict[str, str] = {}
    bare: list[str] = []
    for block in re.split(r"\n(?=\S)", section[1].strip()) if section else []:
        head, _, body = block.partition("\n")
        names, _, kind = head.partition(" : ")
        text = " ".join(inspect.cleandoc(body).partition("\n\n")[0].split())
        elsewhere = re.match(r"As for `([\w.]+)`([^:]|$)", text)
        # one reference may stand below several arguments
        about = names.split(", ") + bare * bool(elsewhere)
        there = arguments_told(_named(elsewhere[1], function)) if elsewhere else {}
        found |= {name: there.get(name) or _plain(kind, "" if elsewhere else text) for name in about}
        bare = [] if text else [*bare, *names.split(", ")]
    return found


def _named(name: str, beside: Any) -> Any:
    """The function that a docstring means: of `calib.stats`, or one beside that which mentions it."""
    inside = stats if name.startswith("calib.stats.") or not beside.__module__.endswith(".verbs") else calib
    return getattr(inside, name.rpartition(".")[2])


def _plain(kind: str, text: str) -> str:
    """The choices and the text without the marks of a docstring."""
    choices = re.findall(r'"([^"]+)"', kind.partition("}")[0]) if kind.startswith("{") else []
    said = re.sub(r"^As for `[\w.]+`: ", "", text)
    listed = " or ".join(filter(None, (", ".join(choices[:-1]), *choices[-1:])))
    return " ".join(filter(None, (f"{listed}." if listed else "", re.sub(r'[`"]', "", said))))
