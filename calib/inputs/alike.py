"""Names that look alike: one spelling of each id, and names in sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from calib.core.text import printable

_SHOWN, _LONGEST = 3, 40  # names in a sentence, characters of each


def looks(name: object) -> str:
    r"""A name as a reader sees it: in NFKC form, without invisible characters and blanks around it.

    Examples
    --------
    >>> looks("q\u200b1 ") == looks("q1") == looks("\uff511"), looks("\u0441ase") == looks("case")
    (True, False)
    """
    text = str(name)
    if not (text.isascii() and text.isprintable()):
        seen = (char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) not in ("Cf", "Cc"))
        text = unicodedata.normalize("NFKC", "".join(seen))
    return text.strip()


def spelled_as(names: Iterable[Any], others: Iterable[Any]) -> dict[Any, Any]:
    """Those of the others that differ from a name only in what cannot be seen, with that name."""
    names = set(names)
    left = [name for name in others if name not in names]
    by_look = {looks(name): name for name in names} if left else {}
    return {name: by_look[looks(name)] for name in left if looks(name) in by_look}


def renamed(column: pd.Series, names: Mapping[Any, Any]) -> pd.Series:
    """A column with these names replaced, of objects: Arrow has no text with half a character."""
    return pd.Series([names.get(name, name) for name in column], index=column.index, dtype=object)


def alike_note(other: Mapping[Any, Any], argument: str, name: str) -> str:
    """A note on names that match although they are spelled differently."""
    such = ", ".join(f"{short_name(one)} as {short_name(to)}" for one, to in list(other.items())[:_SHOWN])
    many = f"{len(other)} {name} names" if len(other) > 1 else f"1 {name} name"
    return f"look_alike: {many} of `{argument}` differ from the scores' in unseen characters or forms: {such}"


def short_name(name: object) -> str:
    text = printable(str(name))
    return repr(name) if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def few(names: Collection[Any]) -> str:
    return ", ".join(map(short_name, list(names)[:_SHOWN])) + ", ..." * (len(names) > _SHOWN)
