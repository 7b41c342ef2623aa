"""Bodies of replies, read and unpacked no further than allowed."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable
from typing import NamedTuple

ACCEPTED = "gzip, deflate"  # what a server may pack a reply with
MOST_BYTES = 16_000_000  # of a reply: a thousand tokens with twenty candidates each have 2 MB
MOST_ERROR_BYTES = 1 << 16  # of what comes with an error: its beginning says what is wrong


class Body(NamedTuple):
    """What arrived; not `whole` where reading ended at the limit."""

    data: bytes
    whole: bool


async def read_body(pieces: AsyncIterable[bytes], encoding: str, most: int) -> Body:
    """Take the pieces of a body, and unpack each as it comes; both sizes are limited.

    A ValueError says that it does not unpack.
    """
    unpack = None if encoding.strip().lower() in ("", "identity") else _Unpacking(encoding)
    data, size, arrived = list[bytes](), 0, 0
    async for piece in pieces:
        # one byte more than allowed shows that there is more
        data.append(unpack(piece, most + 1 - size) if unpack else piece)
        arrived, size = arrived + len(piece), size + len(data[-1])
        if max(arrived, size) > most:
            return Body(b"".join(data)[:most], whole=False)
    if unpack and not unpack.ended:
        raise ValueError(f"the reply, packed by {encoding[:40]!r}, has no end")
    return Body(b"".join(data), whole=True)


class _Unpacking:
    """A packed stream, piece by piece."""

    def __init__(self, encoding: str) -> None:
        self.name = encoding.strip().lower()
        if self.name not in ("gzip", "x-gzip", "deflate"):
            raise ValueError(f"the reply is packed by {encoding[:40]!r}, and {ACCEPTED} were asked for")
        self._stream = zlib.decompressobj(31)
        self._begun = False

    def __call__(self, piece: bytes, most: int) -> bytes:
        """At most so many bytes that the piece unpacks to; the rest is not asked for any more."""
        if not self._begun and piece:
            self._begun = True
            if self.name == "deflate":  # with the frame that the standard asks for, or without, as some servers have it
                self._stream = zlib.decompressobj(15 if piece[0] & 15 == 8 else -15)
        try:
            return self._stream.decompress(piece, most)
        except zlib.error as error:
            raise ValueError(f"the reply does not unpack by {self.name}: {error}") from None

    @property
    def ended(self) -> bool:
        return self._stream.eof or not self._begun
