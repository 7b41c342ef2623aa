"""CPU time of reading replies that are made to be slow: a benchmark, not a test.

Run: python tests/bench/hostile_replies.py. Where twice the reply takes more than about twice the time,
a pattern goes back over what it has read: the last column says how many times.
"""

import time
from collections.abc import Callable
from functools import partial

from calib.judge.prompt import Scale
from calib.judge.replies.extract import extract
from calib.judge.replies.reply import decode, to_json

TEN = Scale.of(*range(1, 11))
PIECES = (
    "\u201c",
    "a:\n- ",
    "A. ",
    " ",
    "\n",
    "*",
    "score:",
    "score",
    '"score": ',
    "{",
    "x",
    ":",
    "",
    "4",
    "a score of ",
)
UNITS = ("\\\\", '\\"', "{", "score: ", "\\n", "\\ud83d\\ude42", "a")


def cpu_ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def read(body: bytes) -> None:
    choice = decode(body).choices[0]
    for answer in ("label", "line", "json"):
        extract(choice, TEN, answer, logprobs=True)


def reply_of(piece: str, n: int) -> bytes:
    tokens = [{"token": piece, "logprob": 0, "top_logprobs": [{"token": piece, "logprob": -1}]}] * n
    return to_json({"choices": [{"message": {"content": piece * n}, "logprobs": {"content": tokens}}]})


def message_of(unit: str, size: int) -> bytes:
    return b'{"choices": [{"message": {"content": "%s"}}]}' % (unit.encode() * (size // len(unit)))


def table(make: Callable[[str, int], bytes], work: Callable[[bytes], object], size: int, what: str, of: tuple) -> None:
    for part in of:
        bodies = (make(part, size // 2), make(part, size))
        half, whole = (min(cpu_ms(partial(work, body)) for _ in range(3)) for body in bodies)
        print(f"{size:>10,} {what} of {part!r:15} {whole:8.1f} ms, {whole / half:.1f} x its half")


if __name__ == "__main__":
    table(reply_of, read, 100_000, "tokens", PIECES)
    table(message_of, decode, 10_000_000, "bytes ", UNITS)
