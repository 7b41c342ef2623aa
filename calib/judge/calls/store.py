"""A store of raw replies in SQLite: every paid reply is kept before it is read."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from calib.core.check import ArgumentError
from calib.judge.replies.reply import Choice, decode, to_json

# what was asked, what came (one call may bring several choices), and the draws that the choices are
_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    id   TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS replies (
    id      INTEGER PRIMARY KEY,
    request TEXT NOT NULL REFERENCES requests (id),
    seed    INTEGER,
    body    BLOB NOT NULL,
    arrived REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS draws (
    key    TEXT PRIMARY KEY,
    reply  INTEGER NOT NULL REFERENCES replies (id),
    choice INTEGER NOT NULL
) WITHOUT ROWID;
"""


class Store:
    """Replies by the keys of their draws; a file, or memory for None. Use it as a context manager.

    Examples
    --------
    >>> with Store(None) as store:
    ...     store.put(["k"], {"model": "offline"}, b'{"choices": [{"message": {"content": "4"}}]}')
    ...     "k" in store, "l" in store, store.get("k").text
    True
    (True, False, '4')
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = _connection(self.path or ":memory:")
        except sqlite3.DatabaseError as error:
            raise ArgumentError("store", "must be a new file or a store of calib", f"{path} is not: {error}") from None

    def put(self, keys: Sequence[str], request: Mapping[str, Any], body: bytes) -> bool:
        """Take one reply, whose choices are the draws under these keys; a key that is there keeps its first.

        It is safe on disk after `commit`, and with many replies in one commit it costs
        less. False says that some of the keys were there.
        """
        # draws of one item differ in their seed alone: the request itself is kept once
        frame = to_json({name: value for name, value in request.items() if name != "seed"})
        name = hashlib.blake2b(frame, digest_size=16).hexdigest()
        run = self._db.execute
        if not self._db.in_transaction:
            run("BEGIN IMMEDIATE")
        run("INSERT OR IGNORE INTO requests VALUES (?, ?)", (name, frame.decode()))
        row = (name, request.get("seed"), body, time.time())
        reply = run("INSERT INTO replies (request, seed, body, arrived) VALUES (?, ?, ?, ?)", row).lastrowid
        draws = [(key, reply, choice) for choice, key in enumerate(keys)]
        return self._db.executemany("INSERT OR IGNORE INTO draws VALUES (?, ?, ?)", draws).rowcount == len(draws)

    def commit(self) -> None:
        """Write what was put."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def get(self, key: str) -> Choice:
        """The choice under a key; a KeyError where there is none."""
        for _, choice in self.read([key]):
            return choice
        raise KeyError(key)

    def read(self, keys: Iterable[str]) -> Iterator[tuple[str, Choice]]:
        """Those of the keys that are there, each with its choice, in the order in which they arrived."""
        draw = "SELECT reply, choice, key FROM draws WHERE key = ?"
        found = sorted(row for key in dict.fromkeys(keys) for row in self._db.execute(draw, (key,)))
        for reply, draws in groupby(found, key=itemgetter(0)):
            (body,) = self._db.execute("SELECT body FROM replies WHERE id = ?", (reply,)).fetchone()
            choices = decode(body).choices
            for _, choice, key in draws:
                yield key, choices[choice]

    def save(self, path: str | Path) -> None:
        """Copy everything into a file."""
        self.commit()
        with closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)

    def __contains__(self, key: str) -> bool:
        return self._db.execute("SELECT 1 FROM draws WHERE key = ?", (key,)).fetchone() is not None

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM draws").fetchone()[0])

    def __repr__(self) -> str:
        return f"<Store {self.path or 'in memory'}: {len(self)} replies>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.commit()
        self._db.close()


def _connection(path: str | Path) -> sqlite3.Connection:
    # calls may run in a helper thread (inside Jupyter), one at a time
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _prepare_tables(db)
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _prepare_tables(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA busy_timeout = 30000")  # another process may be writing
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if tables and "draws" not in tables:
        raise sqlite3.DatabaseError(f"it has other tables: {', '.join(tables)}")
    db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    db.execute("SELECT id, request, seed, body, arrived FROM replies LIMIT 0")
    with suppress(sqlite3.OperationalError):  # a matter of speed, and another process may be at it
        db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
