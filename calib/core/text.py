"""Texts of others in texts of ours: what steers a terminal or turns the reading order is not passed on."""

from __future__ import annotations

import base64
import hashlib


def printable(text: str) -> str:
    r"""A text for a message: what is not to be seen is written as Python writes it; one line stays one line.

    Examples
    --------
    >>> printable("a\x1b[31mb\nc\u202ed, cr\u00e8me")
    'a\\x1b[31mb\\nc\\u202ed, cr\xe8me'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def source_hash(source: str) -> str:
    """A script or style by its hash, as a page's content security policy lets it through.

    Examples
    --------
    >>> source_hash("alert(1)")
    'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


class PrintableError(Exception):
    """An error whose message may hold names and texts of others, and shows them harmless."""

    def __str__(self) -> str:
        return printable(super().__str__())
