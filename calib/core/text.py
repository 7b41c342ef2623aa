"""Texts of others in texts of ours: what steers a terminal or turns the reading order is not passed on."""

from __future__ import annotations


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


class PrintableError(Exception):
    """An error whose message may hold names and texts of others, and shows them harmless."""

    def __str__(self) -> str:
        return printable(super().__str__())
